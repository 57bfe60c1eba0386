"""What the order of clauses asks of whoever decides them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from tilecheck.prove.clause import Clause, Finding
from tilecheck.prove.problem import Problem
from tilecheck.prove.tiers import Tiers
from tilecheck.symbolic.terms import Term


class Decisions(Protocol):
    """What decides clauses and notes the results."""

    tiers: Tiers
    arch_floor: str
    instructions: int | None
    found_hazards: tuple[object, ...]
    never: str
    conditions: list[str]
    asked: list[tuple[str, Term]]

    def status(self) -> str:
        """What the clauses decided so far say together."""
        ...

    def static(self, name: str, statement: str, findings: list[Finding]) -> None:
        """A clause that needs no symbols."""

    def addressing(self, name: str, statement: str, findings: list[Finding]) -> None:
        """A clause that needs no symbols, and is owed where some thread executes with pred."""

    def clauses(self, problem: Problem, clauses: Iterator[Clause]) -> bool:
        """Clauses by their obligations; whether all of them hold."""
        ...

    def storage(self, problem: Problem) -> set[str]:
        """Storage and type of each operand; the names of those that are right."""
        ...

    def predicated(self, problem: Problem) -> None:
        """Notes where pred is false wherever the call executes."""

    def backing(self, problem: Problem, good: set[str]) -> None:
        """The backing clauses."""
