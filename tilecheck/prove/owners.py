"""Clauses about owners: the thread that holds an element, replicas, distinct registers; the copy of a memory operand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from tilecheck.layout.axes import THREAD_AXES
from tilecheck.prove import structure
from tilecheck.prove.clause import NOTHING, Clause, coordinates, element, within
from tilecheck.prove.obligation import Obligation
from tilecheck.prove.problem import Problem, Side, atom_variables, repeat_variables
from tilecheck.prove.tiers import Tiers
from tilecheck.prove.tmem import replicated
from tilecheck.scopes import LANES, hardware_terms
from tilecheck.spec.contract import Register
from tilecheck.spec.tmem import TensorMemory
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term, var

CTAS = {"cbx", "cby", "cbz"}


def ownership(problem: Problem, side: Side, repeats: tuple[int, ...], tiers: Tiers) -> Iterator[Clause]:
    """owner, replica and distinct."""
    yield _owner(problem, side, repeats)
    name = side.spec.name
    if isinstance(side.spec, TensorMemory):
        yield replicated(side, side.spec)
    elif side.spec.write:
        statement = f"every element of {side.name} is in one place only (its replicas would not be written)"
        copies = side.trace.replicas if side.replicas else ()
        alone = terms.conj(*(terms.disj(terms.le(extent, 1), terms.eq(stride, 0)) for _, extent, stride in copies))
        variables, premise = (problem.symbols, problem.facts) if side.replicas and side.declared else ((), True)
        yield Clause(f"{name}.replica", statement, Obligation(variables, premise, alone), point="symbols")
    if isinstance(side.spec, Register) and side.spec.write:
        from tilecheck.prove.distinct import distinct

        yield Clause(
            f"{name}.distinct",
            f"the registers of {side.name} that one thread writes are distinct",
            NOTHING,
            outcome=distinct(problem, side, repeats, tiers),
        )
        for other in problem.sides[: problem.sides.index(side)] if side.tensor.tensor is not None else ():
            if isinstance(other.spec, Register) and other.spec.write and other.tensor.tensor == side.tensor.tensor:
                yield _apart(problem, side, side.spec, other, other.spec)


def _apart(problem: Problem, side: Side, spec: Register, other: Side, first: Register) -> Clause:
    """No register of a destination is one of an earlier destination in the same thread."""

    def obligation() -> Obligation:
        from tilecheck.prove.operands import own_repeats

        repeats, earlier = own_repeats(problem, side), own_repeats(problem, other)
        own = (*repeat_variables(earlier), *atom_variables(problem.contract, of=first))
        rename = {v.name: var(f"{v.name}@1") for v in own}
        here = side.trace.locate(coordinates(problem, repeats, side=side)).bit
        there = terms.substitute(other.trace.locate(coordinates(problem, earlier, side=other)).bit, rename)
        together: Term = True
        if spec.lane is not None and first.lane is not None:
            together = terms.eq(terms.normal(spec.lane), terms.substitute(terms.normal(first.lane), rename))
        disjoint = terms.disj(terms.le(terms.add(here, spec.bits), there), terms.le(terms.add(there, first.bits), here))
        premise = terms.conj(problem.active, other.defined, together, within(side), within(other))
        found = element(problem, side, repeats, premise, disjoint)
        return replace(found, variables=(*found.variables, *(replace(v, name=f"{v.name}@1") for v in own)))

    return Clause(f"{spec.name}.distinct", f"no register of {side.name} is one of {other.name} in the same thread", obligation)


def _owner(problem: Problem, side: Side, repeats: tuple[int, ...]) -> Clause:
    register = side.spec if isinstance(side.spec, Register) else None
    lane = register.lane if register is not None else None
    who = _lane_text(lane, problem.contract.collective) if lane is not None else "the executing thread"
    statement = (
        f"every element of {side.name} belongs to {who}" if register is not None else f"{side.name} is the copy of the executing thread"
    )

    def obligation() -> Obligation:
        return element(problem, side, repeats, terms.conj(problem.active, within(side)), owner_goal(problem, side, repeats))

    proof = structure.memory_owner(side) if register is None else structure.owner(problem, side, register)
    return Clause(f"{side.spec.name}.owner", statement, obligation, proof=proof)


@lru_cache(maxsize=256)
def _lane_text(lane: Term, collective: str) -> str:
    return f"{'thread' if collective == 'warpgroup' else 'lane'} {lane} of the executing {collective}"


def owner_goal(problem: Problem, side: Side, repeats: tuple[int, ...]) -> Term:
    """The thread that the layout names is the one that executes the element, over the base variables of that thread."""
    located = side.trace.locate(coordinates(problem, repeats, side=side)).axes
    thread = {name: value for name, value in located.items() if name in THREAD_AXES}
    copies = [(axis, extent, stride) for axis, extent, stride in side.trace.replicas if axis in THREAD_AXES]
    for axis, _, _ in copies:
        thread.setdefault(axis, 0)
    if problem.call.scope == "thread":
        return not thread
    if not isinstance(side.spec, Register):
        return _memory_owner(problem, side, thread)
    here = hardware_terms(problem.call.launch)
    uncovered = terms.conj(*(terms.eq(value, 0) for value in _uncovered(problem, set(thread), here)))
    choices = [
        terms.conj(*(terms.eq(terms.add(value, shift.get(axis, 0)), here[axis]) for axis, value in thread.items()))
        for shift in _shifts(copies)
    ]
    return terms.conj(uncovered, terms.disj(*choices))


def _shifts(copies: list[tuple[str, Term, Term]]) -> Iterator[dict[str, int]]:
    """Every choice of replicas, as the shift of each axis."""
    if not copies:
        yield {}
        return
    axis, extent, stride = copies[0]
    assert isinstance(extent, int)
    assert isinstance(stride, int)
    for rest in _shifts(copies[1:]):
        for k in range(extent):
            yield {**rest, axis: rest.get(axis, 0) + k * stride}


def _memory_owner(problem: Problem, side: Side, thread: Mapping[str, Term]) -> Term:
    allowed = {"local": set(THREAD_AXES), "shared": CTAS, "tmem": CTAS}.get(side.tensor.space, set[str]())
    here = hardware_terms(problem.call.launch)
    return terms.conj(*(terms.eq(value, here[axis]) if axis in allowed else False for axis, value in thread.items()))


def _uncovered(problem: Problem, written: set[str], here: Mapping[str, Term]) -> Iterator[Term]:
    """The base coordinates inside the scope that no written axis covers."""
    covers = {
        "laneid": {"lane"},
        "warpid": {"wid", "wg"},
        "wid_in_wg": {"wid"},
        "wgid": {"wg"},
        "tid_in_wg": {"lane", "wid"},
        "tx": {"lane", "wid", "wg"} if here["tx"] == terms.add(terms.mul(LANES, here["warpid"]), here["laneid"]) else set[str](),
        "cbx": {"cbx"},
        "cby": {"cby"},
        "cbz": {"cbz"},
    }
    covered = set[str]().union(*(covers[axis] for axis in written))
    inside = {
        "warp": ("lane",),
        "warpgroup": ("lane", "wid"),
        "cta": ("lane", "wid", "wg"),
        "cluster": ("lane", "wid", "wg", "cbx", "cby", "cbz"),
    }
    names = {"lane": "laneid", "wid": "wid_in_wg", "wg": "wgid", "cbx": "cbx", "cby": "cby", "cbz": "cbz"}
    for base in inside.get(problem.call.scope, ()):
        if base not in covered:
            yield here[names[base]]
