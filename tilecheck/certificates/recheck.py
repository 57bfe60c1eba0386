"""recheck: a solver answers every certificate of a folder, and its answers are compared with the expected ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tilecheck.certificates.folder import Certificate, read
from tilecheck.certificates.obligations import SAT, UNKNOWN, UNSAT
from tilecheck.certificates.solvers import SOLVERS, Limits

SKIPPED = "skipped"
STATUS = re.compile(r"^\(set-info :status \w+\)$", re.MULTILINE)
"""What a solver is not told: the answer that is expected of it."""
OK, DISAGREES, OPEN = 0, 1, 3


@dataclass(frozen=True, slots=True)
class Rechecked:
    """One certificate and what the solver said: unsat, sat, unknown (why), or skipped for its logic."""

    certificate: Certificate
    answer: str
    why: str = ""

    @property
    def disagrees(self) -> bool:
        """Whether the answer contradicts the expected one."""
        return {self.answer, self.certificate.expected} == {UNSAT, SAT}

    def to_json(self) -> dict[str, object]:
        """One entry of `answers`."""
        one = self.certificate
        return {
            "file": one.name,
            "clause": one.clause,
            "logic": one.logic,
            "expected": one.expected,
            "answer": self.answer,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """What came out of one run."""

    directory: str
    solver: str
    version: str
    answers: tuple[Rechecked, ...]

    def count(self, answer: str) -> int:
        """How many files got an answer."""
        return sum(one.answer == answer for one in self.answers)

    @property
    def disagreements(self) -> tuple[Rechecked, ...]:
        """Answers that contradict the expected ones."""
        return tuple(one for one in self.answers if one.disagrees)

    @property
    def unanswered(self) -> tuple[Rechecked, ...]:
        """Files that the solver reads and does not answer."""
        return tuple(one for one in self.answers if one.answer == UNKNOWN)

    @property
    def status(self) -> int:
        """The exit status: 1 for a disagreement, 3 where something is unanswered, else 0."""
        return DISAGREES if self.disagreements else OPEN if self.unanswered else OK

    def to_json(self) -> dict[str, object]:
        """The document of the command."""
        return {
            "schema": "tilecheck/recheck@1",
            "directory": self.directory,
            "solver": {"name": self.solver, "version": self.version},
            "counts": {answer: self.count(answer) for answer in (UNSAT, SAT, UNKNOWN, SKIPPED)},
            "disagreements": [one.to_json() for one in self.disagreements],
            "answers": [one.to_json() for one in self.answers],
        }

    def text(self) -> str:
        """The report as lines: counts, disagreements, what is not answered, how much was skipped."""
        counts = ", ".join(f"{self.count(answer)} {answer}" for answer in (UNSAT, SAT, UNKNOWN, SKIPPED))
        lines = [f"{self.directory}: {len(self.answers)} files, {self.solver}: {counts}"]
        lines.extend(
            f"  disagreement: {one.certificate.name}: found {one.answer}, expected {one.certificate.expected}" for one in self.disagreements
        )
        lines.extend(f"  unknown: {one.certificate.name}: {one.why}" for one in self.unanswered)
        logics = sorted({one.certificate.logic for one in self.answers if one.answer == SKIPPED})
        if logics:
            lines.append(f"  skipped: {self.solver} does not read {', '.join(logics)}")
        return "\n".join(lines) + "\n"


def recheck(directory: str | Path, solver: str, limits: Limits | None = None) -> Report:
    """The report of one solver (cvc5, bitwuzla or z3) on a folder; InputError for a folder that is none or has changed, or a missing package."""
    chosen = SOLVERS[solver]
    version = chosen.require(solver)
    given = limits or Limits()
    own = Limits(chosen.rlimit if given.rlimit is None else given.rlimit, given.seconds)
    return Report(str(directory), solver, version, tuple(_asked(read(directory), solver, own)))


def _asked(certificates: Sequence[Certificate], solver: str, limits: Limits) -> list[Rechecked]:
    chosen = SOLVERS[solver]
    found: list[Rechecked] = []
    for one in certificates:
        if chosen.logics is not None and one.logic not in chosen.logics:
            found.append(Rechecked(one, SKIPPED))
            continue
        try:
            answer, why = chosen.ask(STATUS.sub("", one.text), one.logic, limits)
        except Exception as error:  # noqa: BLE001 (each solver has its own; what it cannot read it has not answered)
            answer, why = UNKNOWN, " ".join(str(error).split())[:200] or type(error).__name__
        found.append(Rechecked(one, answer, why))
    return found
