"""Theorems: for all ... given ... show ..., proved once and for every value.

    @theorem(ranks=(1, 2, 3))
    def a_slice_moves_the_start(t, rank):
        layout = t.layout(rank)
        ...
        t.given(fact)
        t.show(goal)

Symbols are unbounded integers unless declared otherwise. The given facts must be satisfiable together: a theorem about nothing is `vacuous`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tilecheck.call import Symbol, as_term
from tilecheck.layout.tile import Iter, TileLayout
from tilecheck.prove.obligation import Obligation, Variable, relevant
from tilecheck.prove.tiers import RLIMIT, Tiers
from tilecheck.prove.verdict import PROVED, REFUTED, UNPROVED, VACUOUS
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term
from tilecheck.symbolic.written import lt

WIDE = 1 << 120
"""Stands for no bound where bits matter: symbols without bounds range over -2^120 .. 2^120 there."""


class Theorem:
    """What a theorem declares: symbols, facts, and what is to be shown."""

    def __init__(self) -> None:
        self.variables: list[Variable] = []
        self.facts: list[Term] = []
        self.goals: list[tuple[str, Term]] = []

    def symbol(self, name: str, *, min: int | None = None, max: int | None = None, multiple_of: int = 1) -> Symbol:  # noqa: A002 (as `symbol`)
        """An integer with facts; without bounds, any integer."""
        self.variables.append(Variable(name, "symbol", min, max, multiple_of))
        return Symbol(name, min, max, multiple_of, "grid")

    def index(self, name: str, extent: Term) -> Symbol:
        """A coordinate: 0 <= name < extent."""
        found = self.symbol(name, min=0, max=extent - 1 if isinstance(extent, int) else None)
        if not isinstance(extent, int):
            self.given(lt(found, extent))
        return found

    def layout(self, rank: int, name: str = "L") -> TileLayout:
        """A layout of symbolic extents (at least 1) and strides (any integer) on `m`."""
        factors = [Iter(self.symbol(f"{name}_e{k}", min=1), self.symbol(f"{name}_s{k}"), "m") for k in range(rank)]
        return TileLayout(tuple(factors))

    def given(self, fact: object) -> None:
        """A fact that holds: a term or text."""
        self.facts.append(terms.normal(as_term(fact, truth=True)))

    def holds(self, fact: bool, label: str = "") -> None:
        """Something that Python computed and that must be true."""
        self.goals.append((label or f"goal {len(self.goals) + 1}", bool(fact)))

    def show(self, goal: object, label: str = "") -> None:
        """What is to be shown under all facts given, also those given later."""
        term = terms.normal(as_term(goal, truth=True))
        self.goals.append((label or f"goal {len(self.goals) + 1}", term))


@dataclass(frozen=True, slots=True)
class Shown:
    """One goal of a theorem: its status, the tier that decided, the time in milliseconds, and for a refuted one the least values."""

    label: str
    status: str
    method: str
    ms: float
    values: dict[str, int] = field(default_factory=dict[str, int])
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TheoremVerdict:
    """The verdict on a theorem at one choice of parameters: the worst of its goals."""

    name: str
    status: str
    goals: tuple[Shown, ...]
    ms: float
    reason: str = ""


def prove(name: str, build: Callable[[Theorem], object], *, rlimit: int = RLIMIT, audit: bool = False) -> TheoremVerdict:
    """Runs a theorem's function and decides each of its goals."""
    started = time.perf_counter()
    stated = Theorem()
    build(stated)
    tiers = Tiers((-WIDE, WIDE), rlimit=rlimit, audit=audit)
    if not stated.goals:
        return TheoremVerdict(name, VACUOUS, (), _ms(started), "it shows nothing")
    known = tiers.least(stated.variables, stated.facts)
    if known is None:
        return TheoremVerdict(name, VACUOUS, (), _ms(started), "the given facts contradict each other")
    goals = tuple(_shown(stated, label, goal, tiers) for label, goal in stated.goals)
    states = {goal.status for goal in goals}
    status = REFUTED if REFUTED in states else UNPROVED if UNPROVED in states or isinstance(known, str) else PROVED
    return TheoremVerdict(name, status, goals, _ms(started), known if isinstance(known, str) else "")


def _shown(stated: Theorem, label: str, goal: Term, tiers: Tiers) -> Shown:
    started = time.perf_counter()
    outcome = tiers.decide(Obligation(tuple(stated.variables), terms.conj(*stated.facts), goal))
    status = UNPROVED if outcome.holds is None else PROVED if outcome.holds else REFUTED
    linked = terms.variables(terms.conj(goal, *relevant(terms.conj(*stated.facts), goal)[0]))
    values = {name: value for name, value in (outcome.witness or {}).items() if name in linked}
    return Shown(
        label, status, outcome.reason or "structure", _ms(started), values, (outcome.reason or "") if outcome.holds is None else ""
    )


def _ms(started: float) -> float:
    return (time.perf_counter() - started) * 1e3
