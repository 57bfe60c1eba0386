"""Distinct registers: the slots that one thread writes differ between all elements it holds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tilecheck.errors import DisagreementError
from tilecheck.prove import structure
from tilecheck.prove.clause import within
from tilecheck.prove.enumeration import Grid, make_grid
from tilecheck.prove.obligation import Obligation, Outcome, Variable, confirmed, relevant
from tilecheck.prove.problem import Problem, Side, atom_variables, fixed, repeat_terms, repeat_variables
from tilecheck.spec.contract import Register
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term, var

if TYPE_CHECKING:
    from tilecheck.prove.tiers import Tiers


def distinct(problem: Problem, side: Side, repeats: tuple[int, ...], tiers: Tiers) -> Outcome:
    """For each thread: no two (repeat, atom) elements share a slot; the witness is the later one of the least pair.

    Elements of slices that leave their axes do not count.
    """
    assert isinstance(side.spec, Register)
    proved = structure.distinct(problem, side) and tiers.proved("structure")
    if proved and not tiers.audit:
        return proved
    outcome, pair = _distinct(problem, side, repeats, tiers, within(side))
    if proved and outcome.holds is False:
        raise DisagreementError(
            f"internal error, please report: the structure proves the slots of {side.name} distinct; enumeration says {outcome.witness}"
        )
    tiers.compared(outcome, pair)
    return outcome


def _distinct(problem: Problem, side: Side, repeats: tuple[int, ...], tiers: Tiers, within: Term) -> tuple[Outcome, Obligation]:
    import numpy as np

    outer, inner, active, slot, lane = _elements(problem, side, repeats, within)
    parts, rest = relevant(active, terms.eq(slot, 0))
    used = set(terms.variables(terms.conj(terms.eq(slot, 0), *parts)))
    pair = _pair(active, [*outer, *inner], inner, slot, lane)
    grid = make_grid([*outer, *inner], parts, used | {v.name for v in inner}, tiers.limit)
    if isinstance(grid, str):
        found = tiers.solved(pair, grid)
        if found.holds is False:
            found = confirmed(found, _distinct(fixed(problem, found.witness or {}), side, repeats, tiers, within)[0])
        return found, pair
    if not grid.points:
        return Outcome(holds=True), pair
    lead = len(grid.variables) - len(inner)
    count = int(np.prod([len(v) for v in grid.values[lead:]], dtype=np.int64)) if inner else 1
    slots = np.broadcast_to(grid.array(slot), grid.shape).reshape(-1, count)
    holds = grid.truth(terms.conj(*parts)).reshape(-1, count)
    owners = None if lane is None else np.broadcast_to(grid.array(lane), grid.shape).reshape(-1, count)
    for row in range(slots.shape[0]):
        if not holds[row].any():
            continue
        found = _collision(slots[row].tolist(), None if owners is None else owners[row].tolist())
        if found is not None:
            index = np.unravel_index(row * count + found, grid.shape)
            return _refuted(grid, grid.at(tuple(int(i) for i in index)), [*outer, *inner], rest, tiers), pair
    return Outcome(holds=True, points=grid.points), pair


def pair(problem: Problem, side: Side, repeats: tuple[int, ...], within: Term) -> Obligation:
    """What `distinct` decides, as a formula."""
    outer, inner, active, slot, lane = _elements(problem, side, repeats, within)
    return _pair(active, [*outer, *inner], inner, slot, lane)


def _elements(
    problem: Problem, side: Side, repeats: tuple[int, ...], within: Term
) -> tuple[list[Variable], list[Variable], Term, Term, Term | None]:
    """(symbols and thread, repeat and atom, which elements count, the slot of one, the lane that holds it where the atom says)."""
    assert isinstance(side.spec, Register)
    atom = tuple(var(axis.name) for axis in problem.atom(side))
    coordinates = (*problem.group_coordinates(), *repeat_terms(len(repeats)), *atom)
    slot = side.trace.locate(coordinates).bit
    lane = None if side.spec.lane is None else terms.normal(side.spec.lane)
    outer = [*problem.symbols, *problem.thread_variables(lane=lane is None)]
    inner = [*repeat_variables(repeats), *atom_variables(problem.contract, of=side.spec)]
    active = terms.conj(problem.active, side.defined, within)
    if lane is not None:
        held = problem.holder(lane)
        slot, active = terms.substitute(slot, held), terms.substitute(active, held)
    return outer, inner, active, slot, lane


def _pair(active: Term, variables: list[Variable], inner: list[Variable], slot: Term, lane: Term | None) -> Obligation:
    """Two different elements of one thread have different slots."""
    rename = {v.name: var(f"{v.name}@1") for v in inner}
    different = terms.disj(*(terms.ne(var(v.name), rename[v.name]) for v in inner))
    together = True if lane is None else terms.eq(terms.substitute(lane, rename), lane)
    others = tuple(replace(v, name=f"{v.name}@1") for v in inner)
    return Obligation((*variables, *others), terms.conj(active, different, together), terms.ne(terms.substitute(slot, rename), slot))


def _collision(slots: list[int], owners: list[int] | None) -> int | None:
    """The position of the least (owner, position) whose slot an earlier position of the same owner has."""
    seen: set[tuple[int, int]] = set()
    best: tuple[int, int] | None = None
    for position, slot in enumerate(slots):
        owner = 0 if owners is None else owners[position]
        if (owner, slot) in seen:
            best = (owner, position) if best is None else min(best, (owner, position))
            if owners is None:
                break
        seen.add((owner, slot))
    return None if best is None else best[1]


def _refuted(grid: Grid, witness: dict[str, int], variables: list[Variable], rest: tuple[Term, ...], tiers: Tiers) -> Outcome:
    others = tiers.least([v for v in variables if v.name not in witness], rest)
    if others is None:
        return Outcome(holds=True, points=grid.points)
    if isinstance(others, str):
        return Outcome(holds=None, points=grid.points, reason=others)
    return Outcome(holds=False, points=grid.points, witness={v.name: witness.get(v.name, others.get(v.name, 0)) for v in variables})
