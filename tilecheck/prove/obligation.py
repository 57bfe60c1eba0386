"""Obligations: a clause at a call, as a formula over symbols, thread, repeat and atom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count

from tilecheck.errors import DisagreementError
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Expr, Term

ROLES = ("symbol", "base", "elected", "cta", "warp", "lane", "repeat", "group", "atom")
"""The order in which counterexamples are minimal."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One quantified variable: its name, what it stands for, and its values.

    low, high: ends included, None for no bound. step: the values are multiples of it. values: an explicit ascending list instead.
    """

    name: str
    role: str
    low: int | None
    high: int | None
    step: int = 1
    values: tuple[int, ...] | None = None

    @property
    def count(self) -> int | None:
        """How many values there are, None for unbounded."""
        if self.values is not None:
            return len(self.values)
        if self.low is None or self.high is None:
            return None
        return max(0, self.high // self.step - -(-self.low // self.step) + 1)

    def ordered(self) -> Iterator[int]:
        """The values in counterexample order: symbols 0, 1, -1, 2, -2, ...; everything else ascending."""
        if self.values is not None:
            yield from self.values
        elif self.role != "symbol":
            assert self.low is not None
            first = -(-self.low // self.step) * self.step
            yield from count(first, self.step) if self.high is None else range(first, self.high + 1, self.step)
        else:
            yield from self._spiral()

    def _spiral(self) -> Iterator[int]:
        low, high, step = self.low, self.high, self.step
        if low is not None and low > 0:
            start, up, down = -(-low // step) * step, True, False
        elif high is not None and high < 0:
            start, up, down = -(-high // step) * step, False, True
            if start > high:
                start -= step
        else:
            start, up, down = 0, True, True
        if self.count == 0:
            return
        for k in count():
            ends = {start + k * step, start - k * step} if up and down else {start + k * step} if up else {start - k * step}
            inside = [v for v in ends if (low is None or v >= low) and (high is None or v <= high)]
            if not inside and (low is not None or not down) and (high is not None or not up):
                return
            yield from sorted(inside, key=lambda v: (abs(v), -v))


@dataclass(frozen=True, slots=True)
class Obligation:
    """For all values of the variables: premise implies goal.

    lane: the lane that a counterexample names, where it is a function of the atom (collectives; 32 and more: of a later warp); None: the variable `laneid`.
    """

    variables: tuple[Variable, ...]
    premise: Term
    goal: Term
    lane: Term | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tier says: `holds` True or False, or None where it abstains (`reason`).

    witness: the least failing values by variable name, for False. points: how many points were looked at.
    """

    holds: bool | None
    points: int = 0
    witness: Mapping[str, int] | None = None
    reason: str | None = None

    @property
    def method(self) -> str:
        """The tier that decided."""
        return self.reason or (f"enumeration, {self.points} points" if self.points else "structure")


def confirmed(found: Outcome, there: Outcome) -> Outcome:
    """What enumeration says at the values that refute, in the name of the tier that found them; DisagreementError where it proves the goal there."""
    if there.holds is True:
        raise DisagreementError(f"internal error, please report: a tier refutes at {found.witness}, enumeration finds nothing wrong there")
    return replace(there, reason=found.reason) if there.holds is False else there


def relevant(premise: Term, goal: Term) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """(conjuncts of the premise that share variables with the goal, directly or through others; the rest)."""
    names = set(terms.variables(goal))
    rest = list(terms.conjuncts(premise))
    chosen: list[Term] = []
    while True:
        linked = [part for part in rest if terms.variables(part) & names]
        if not linked:
            return tuple(chosen), tuple(rest)
        for part in linked:
            names |= terms.variables(part)
            rest.remove(part)
        chosen.extend(linked)


def narrowed(variables: tuple[Variable, ...], parts: tuple[Term, ...]) -> tuple[Variable, ...]:
    """The variables with bounds that single comparisons `variable <= constant` and the like give."""
    ends: dict[str, list[tuple[int | None, int | None]]] = {}
    for part in parts:
        found = _bound(part)
        if found is not None:
            ends.setdefault(found[0], []).append(found[1:])
    result: list[Variable] = []
    for variable in variables:
        low, high = variable.low, variable.high
        if variable.values is None:
            for lower, upper in ends.get(variable.name, ()):
                low = lower if low is None else low if lower is None else max(low, lower)
                high = upper if high is None else high if upper is None else min(high, upper)
        result.append(Variable(variable.name, variable.role, low, high, variable.step, variable.values))
    return tuple(result)


def bounds_alone(part: Term, name: str) -> bool:
    """Whether a condition compares the variable of this name with a number, which `narrowed` takes into its range."""
    found = _bound(part)
    return found is not None and found[0] == name


def _bound(part: Term) -> tuple[str, int | None, int | None] | None:
    """(name, lower, upper) of a comparison of one variable with a constant."""
    negated = isinstance(part, Expr) and part.op == "not"
    inner = part.args[0] if negated and isinstance(part, Expr) else part
    if not isinstance(inner, Expr) or inner.op not in {"<", "<=", "=="} or (negated and inner.op == "=="):
        return None
    a, b = inner.args
    if isinstance(a, Expr) and a.op == "var" and isinstance(b, int):
        name = str(a.args[0])
        if inner.op == "==":
            return name, b, b
        limit = b - 1 if inner.op == "<" else b
        return (name, limit + 1, None) if negated else (name, None, limit)
    if isinstance(b, Expr) and b.op == "var" and isinstance(a, int):
        name = str(b.args[0])
        if inner.op == "==":
            return name, a, a
        limit = a + 1 if inner.op == "<" else a
        return (name, None, limit - 1) if negated else (name, limit, None)
    return None
