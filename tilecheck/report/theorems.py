"""Theorems of check files: proved one by one, each a line of text and a document of its own."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilecheck.claims import TheoremClaim
from tilecheck.errors import InputError

if TYPE_CHECKING:
    from tilecheck.prove.theorem import Shown, TheoremVerdict


@dataclass(frozen=True, slots=True)
class TheoremItem:
    """One theorem at one rank (None: it takes none)."""

    theorem: TheoremClaim
    rank: int | None = None

    @property
    def where(self) -> str:
        """`file.py::name`, or `file.py::name[rank=2]`."""
        return f"{self.theorem.path}::{self.theorem.case_name(self.rank)}"


@dataclass(frozen=True, slots=True)
class TheoremOutcome:
    """A theorem and its verdict."""

    item: TheoremItem
    verdict: TheoremVerdict

    @property
    def as_expected(self) -> bool:
        """Whether it is proved: nothing else is expected of a theorem."""
        return self.verdict.status == "proved"

    def exit_status(self, *, strict: bool) -> int:  # noqa: ARG002 (a theorem has no hazards)
        """0 for a theorem that is proved, else 1."""
        return 0 if self.as_expected else 1

    def to_json(self) -> dict[str, object]:
        """The document tilecheck/theorem@1."""
        from tilecheck.schema import THEOREM_SCHEMA
        from tilecheck.version import version

        found = self.verdict
        goals = [
            {
                "label": g.label,
                "status": g.status,
                "method": method(g),
                "ms": round(g.ms, 3),
                "values": dict(g.values),
                "reason": g.reason or None,
            }
            for g in found.goals
        ]
        return {
            "schema": THEOREM_SCHEMA,
            "id": self.item.where,
            "status": found.status,
            "ms": round(found.ms, 3),
            "reason": found.reason or None,
            "goals": goals,
            "as_expected": self.as_expected,
            "tool": {"version": version()},
        }


def theorem_items(one: TheoremClaim) -> list[TheoremItem]:
    """A theorem at each of its ranks."""
    return [TheoremItem(one, rank) for rank in one.cases]


def proved(item: TheoremItem, *, audit: bool = False, rlimit: int | None = None) -> TheoremOutcome:
    """Runs the function of a theorem and decides its goals; InputError where the function goes wrong."""
    from tilecheck.prove.theorem import Theorem, prove

    def build(context: Theorem) -> None:
        item.theorem.build(context, item.rank)

    limits = {} if rlimit is None else {"rlimit": rlimit}
    try:
        return TheoremOutcome(item, prove(item.where, build, audit=audit, **limits))
    except InputError as error:
        raise InputError(error.message, path=error.path, where=error.where or f"{item.theorem.path}:{item.theorem.line}") from error


def method(goal: Shown) -> str:
    """The tier that decided a goal, "" for none."""
    return goal.method if goal.status in {"proved", "refuted"} else ""


def line(outcome: TheoremOutcome) -> str:
    """`48 goals in 69 ms (SMT, bit-vectors)`, or how many of them are not proved."""
    found = outcome.verdict
    wrong = Counter(goal.status for goal in found.goals if goal.status != "proved")
    bad = "".join(f", {count} {status}" for status, count in wrong.items())
    count = len(found.goals)
    goals = f"{count} goal{'' if count == 1 else 's'}{bad}"
    how = _methods(found.goals)
    return f"{goals} in {_time(found.ms)}" + (f" ({how})" if how else "")


def failures(outcome: TheoremOutcome) -> list[tuple[str, str]]:
    """(status, text) of the theorem and of each goal that is not proved: its label, the least values, the reason."""
    found = outcome.verdict
    rows = [("reason", found.reason)] if found.reason else []
    for goal in found.goals:
        if goal.status == "proved":
            continue
        values = ", ".join(f"{name} = {value}" for name, value in goal.values.items())
        rows.append((goal.status, f"{goal.label}{': it fails for ' + values if values else ''}{': ' + goal.reason if goal.reason else ''}"))
    return rows


def summary(outcomes: list[TheoremOutcome]) -> str:
    """`14 theorems: 14 proved in 812 ms`."""
    counts = Counter(outcome.verdict.status for outcome in outcomes)
    found = ", ".join(f"{count} {status}" for status, count in counts.items())
    wrong = len(outcomes) - counts["proved"]
    total = sum(outcome.verdict.ms for outcome in outcomes)
    bad = f"; {wrong} NOT proved" if wrong else ""
    return f"{len(outcomes)} theorem{'' if len(outcomes) == 1 else 's'}: {found} in {_time(total)}{bad}"


def _methods(goals: tuple[Shown, ...]) -> str:
    """The tier where it is one; else each with the number of its goals."""
    counts = Counter(_tier(goal) for goal in goals if goal.status == "proved")
    if len(counts) < 2:
        return next(iter(counts), "")
    return ", ".join(f"{count} by {tier}" for tier, count in counts.most_common())


def _tier(goal: Shown) -> str:
    name, _, detail = goal.method.partition(", ")
    return name if name == "enumeration" else f"{name}, {detail}" if detail else name


def _time(ms: float) -> str:
    return f"{ms:.1f} ms" if ms < 10 else f"{ms:.0f} ms" if ms < 10_000 else f"{ms / 1000:.1f} s"
