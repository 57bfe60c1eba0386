"""What a clause is: a finding that needs no symbols, or an obligation; and what the obligations of all clauses share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tilecheck.call import INDEX_DTYPES
from tilecheck.layout.trace import SliceCheck
from tilecheck.prove.obligation import Obligation, Outcome, Variable
from tilecheck.prove.problem import Problem, Side, atom_variables, repeat_terms, repeat_variables
from tilecheck.prove.verdict import Counterexample
from tilecheck.spec.contract import Operand, Register
from tilecheck.spec.tmem import TensorMemory
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term, var


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong whatever the symbols are."""

    sentence: str
    expected: str = ""
    actual: str = ""

    def example(self) -> Counterexample | None:
        """As a counterexample without a thread; None where there is nothing to compare."""
        if not self.expected and not self.actual:
            return None
        return Counterexample((), None, None, None, (), (), (), self.expected, self.actual, self.sentence)


class Clause:
    """One clause: its id, what it asks, and the obligation (or, where it was decided on the way, the outcome).

    obligation: made when it is first asked for. proof: the tier (structure, domain, bits) that has proved it from the canonical form of the view.
    point: what a counterexample names: "row" (thread, repeat, atom), "warp" (the thread), "symbols", "none", or "coordinates" of a view
    (`coordinates` are its variables; `narrows`: how many new elements an old one has).
    """

    __slots__ = ("_obligation", "coordinates", "id", "narrows", "outcome", "point", "proof", "source", "statement")

    def __init__(
        self,
        id: str,  # noqa: A002 (the documents' name)
        statement: str,
        obligation: Obligation | Callable[[], Obligation],
        point: str = "row",
        source: str = "",
        outcome: Outcome | None = None,
        coordinates: tuple[str, ...] = (),
        narrows: int = 0,
        proof: str | None = None,
    ) -> None:
        self.id = id
        self.statement = statement
        self._obligation = obligation
        self.point = point
        self.source = source
        self.outcome = outcome
        self.coordinates = coordinates
        self.narrows = narrows
        self.proof = proof

    @property
    def idle(self) -> bool:
        """Whether nothing is asked: a clause that stands in the verdict because it holds of every such call, or whose goal is the constant true."""
        return self.outcome is None and isinstance(self._obligation, Obligation) and self._obligation.goal is True

    def asking(self, obligation: Obligation) -> Clause:
        """The same clause with another obligation, unproved."""
        return Clause(self.id, self.statement, obligation, self.point, self.source, self.outcome, self.coordinates, self.narrows)

    @property
    def obligation(self) -> Obligation:
        """The clause as a formula."""
        if not isinstance(self._obligation, Obligation):
            self._obligation = self._obligation()
        return self._obligation


NOTHING = Obligation((), True, True)


def coordinates(
    problem: Problem, repeats: tuple[int, ...], atom: Mapping[str, Term] | None = None, *, side: Side | None = None
) -> tuple[Term, ...]:
    """Group, repeat and atom coordinates as terms; `atom` gives some atom axes other terms. side: an operand that may have its own atom."""
    replaced = atom or {}
    axes = problem.contract.atom if side is None else problem.atom(side)
    own = tuple(replaced.get(axis.name, var(axis.name)) for axis in axes)
    return (*problem.group_coordinates(), *repeat_terms(len(repeats)), *own)


def variables_of(
    problem: Problem, side: Side, repeats: tuple[int, ...], *, lane: bool = True, without: tuple[str, ...] = ()
) -> tuple[Variable, ...]:
    """Symbols, thread, repeat and atom, in counterexample order."""
    return (
        *problem.symbols,
        *problem.thread_variables(lane=lane),
        *repeat_variables(repeats),
        *atom_variables(problem.contract, of=side.spec, without=without),
    )


def element(
    problem: Problem,
    side: Side,
    repeats: tuple[int, ...],
    premise: Term,
    goal: Term,
    extra: tuple[Variable, ...] = (),
    without: tuple[str, ...] = (),
) -> Obligation:
    """An obligation about every accessed element; in a collective its lane is the owner or the provider, a function of the atom."""
    spec = side.spec
    premise = terms.conj(premise, side.defined)
    lane = answering(problem, spec)
    if lane is not None:
        held = problem.holder(lane)
        premise, goal = (terms.substitute(term, held) for term in (premise, goal))
    rest = variables_of(problem, side, repeats, lane=lane is None, without=without)[len(problem.symbols) :]
    return Obligation((*problem.symbols, *extra, *rest), premise, goal, lane)


def answering(problem: Problem, spec: Operand) -> Term | None:
    """The lane that answers for an element of a collective, a function of the atom: its owner, who provides its row, or the first; None: the executing thread."""
    if isinstance(spec, TensorMemory):
        return 0 if problem.collective else None
    written = spec.lane if isinstance(spec, Register) else spec.provider
    return None if written is None else terms.normal(written)


def ranges_of(problem: Problem) -> dict[str, tuple[int, int]]:
    """The interval of every symbol (of the index type where it has no bound) and base variable."""
    known = {v.name: (v.low, v.high) for v in problem.symbols if v.low is not None and v.high is not None}
    first, last = INDEX_DTYPES[problem.call.index_dtype]
    known |= {
        v.name: (first if v.low is None else v.low, last if v.high is None else v.high) for v in problem.symbols if v.name not in known
    }
    return known | problem.run.ranges


def within(side: Side) -> Term:
    """Every slice of the view stays inside its axis: elsewhere an element is nowhere."""
    return terms.conj(*(inside(check) for check in side.trace.slices))


def inside(check: SliceCheck) -> Term:
    """A slice stays inside its axis."""
    begin = terms.normal(check.begin)
    return terms.conj(terms.le(0, begin), terms.le(terms.add(begin, check.extent), terms.normal(check.limit)))
