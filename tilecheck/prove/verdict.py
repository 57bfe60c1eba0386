"""Verdicts: what a call is, clause by clause, with the counterexample of every clause that fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tilecheck.errors import TilecheckError

if TYPE_CHECKING:
    from tilecheck.prove.facts import Premise
    from tilecheck.symbolic.terms import Term

PROVED, REFUTED, UNPROVED, VACUOUS, ERROR = "proved", "refuted", "unproved", "vacuous", "error"


class NotLegal(TilecheckError):  # noqa: N818 (the name says what the call is)
    """Raised by `Verdict.raise_for_status` for every status but `proved`."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.summary())
        self.verdict = verdict


@dataclass(frozen=True, slots=True)
class Counterexample:
    """One point at which a clause fails, replayed by the evaluator.

    symbols: values by declaration, unknown base residues as `base(tensor)` in bytes. cta, warp, lane: None where the clause has none.
    """

    symbols: tuple[tuple[str, int], ...]
    cta: int | None
    warp: int | None
    lane: int | None
    group: tuple[int, ...]
    repeat: tuple[int, ...]
    atom: tuple[int, ...]
    expected: str
    actual: str
    sentence: str

    def to_json(self) -> dict[str, object]:
        """The `counterexample` object of tilecheck/verdict@1."""
        return {
            "symbols": dict(self.symbols),
            "cta": self.cta,
            "warp": self.warp,
            "lane": self.lane,
            "group": list(self.group),
            "repeat": list(self.repeat),
            "atom": list(self.atom),
            "expected": self.expected,
            "actual": self.actual,
            "sentence": self.sentence,
        }


class ClauseResult(NamedTuple):
    """The verdict on one clause.

    id: the clause, with the contract's operand in front where it belongs to one. method: the tier that decided, or "" for none.
    statement: what the clause asks here. source: document and section. reason: why it is unproved, vacuous or not owed.
    """

    id: str
    status: str
    method: str
    ms: float
    statement: str
    source: str
    reason: str | None = None
    counterexample: Counterexample | None = None

    def to_json(self) -> dict[str, object]:
        """One entry of `clauses`."""
        return {
            "id": self.id,
            "status": self.status,
            "method": self.method,
            "ms": round(self.ms, 3),
            "statement": self.statement,
            "source": self.source,
            "reason": self.reason,
            "counterexample": None if self.counterexample is None else self.counterexample.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Hazard:
    """Something legal but suspicious: its id and a sentence."""

    id: str
    sentence: str

    def to_json(self) -> dict[str, object]:
        """One entry of `hazards`."""
        return {"id": self.id, "sentence": self.sentence}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer about one call. Only `proved` is legal; a verdict has no truth value.

    asked: the conditions on symbols, with what they ask. instructions: the PTX instructions one executing thread or warp issues (repeats), None where the shape is not right.
    """

    id: str
    opcode: str
    status: str
    arch_floor: str | None
    instructions: int | None
    clauses: tuple[ClauseResult, ...]
    hazards: tuple[Hazard, ...] = ()
    conditions: tuple[str, ...] = ()
    asked: tuple[tuple[str, Term], ...] = field(default=(), repr=False, compare=False)
    premises: tuple[Premise, ...] = ()
    contract_hash: str | None = None
    reason: str | None = None

    def __bool__(self) -> bool:
        raise TypeError("a verdict has no truth value: compare .status, or call .raise_for_status()")

    @property
    def failing(self) -> tuple[ClauseResult, ...]:
        """The refuted clauses."""
        return tuple(c for c in self.clauses if c.status == REFUTED)

    @property
    def counterexample(self) -> Counterexample | None:
        """The counterexample of the first refuted clause that has one."""
        return next((c.counterexample for c in self.failing if c.counterexample is not None), None)

    def raise_for_status(self) -> None:
        """NotLegal unless the call is proved."""
        if self.status != PROVED:
            raise NotLegal(self)

    def summary(self) -> str:
        """One line: the call, its status, and the first reason."""
        name = f"{self.id}: " if self.id else ""
        first = next((c for c in self.clauses if c.status == self.status), None)
        why = self.reason or ""
        if first is not None:
            sentence = first.counterexample.sentence if first.counterexample is not None else first.reason or first.statement
            why = f"{first.id}: {sentence}"
        return f"{name}{self.opcode} is {self.status}" + (f" ({why})" if why and self.status != PROVED else "")

    def to_json(self, *, expect: str | None = None, as_expected: bool | None = None) -> dict[str, object]:
        """The answer document (schema tilecheck/verdict@1)."""
        from tilecheck.version import version

        return {
            "schema": "tilecheck/verdict@1",
            "id": self.id,
            "status": self.status,
            "arch_floor": self.arch_floor,
            "instructions": self.instructions,
            "reason": self.reason,
            "clauses": [c.to_json() for c in self.clauses],
            "hazards": [h.to_json() for h in self.hazards],
            "conditions": list(self.conditions),
            "premises": [p.to_json() for p in self.premises],
            "expect": expect,
            "as_expected": as_expected,
            "tool": {"version": version(), "contract_hash": self.contract_hash},
        }
