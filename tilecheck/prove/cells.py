"""Cells of a pool that calls of a kernel access: inside what is allocated, and apart where an instruction writes some and reads others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from tilecheck.prove.clause import coordinates, element, ranges_of
from tilecheck.prove.executed import Under
from tilecheck.prove.obligation import Obligation
from tilecheck.prove.operands import own_repeats
from tilecheck.prove.problem import Problem, Side, atom_variables, repeat_variables
from tilecheck.prove.shared import Asked, Member, Place
from tilecheck.scopes import CTA, LANES
from tilecheck.spec.tmem import CELL_BITS
from tilecheck.symbolic import terms
from tilecheck.symbolic.bounds import all_bounds
from tilecheck.symbolic.terms import Expr, Term, var

Columns = tuple[int, int]
"""The first column and the one behind the last."""


def sides_in(member: Member, problem: Problem) -> list[Side]:
    """The operands that lie in the pool."""
    return [side for side in problem.sides if side.tensor.space == member.shared.pool.space]


def held_cells(
    member: Member, problem: Problem, held: Sequence[Columns], where: Under, known: Callable[[Mapping[str, int], Under], Mapping[str, int]]
) -> Iterator[Asked]:
    """Every accessed cell of an operand is in a column that is allocated when the call is reached; where: in which state, in which CTA."""
    statement = f"every column of {member.shared.pool.name} that is accessed is allocated before and not freed"
    reason = "what is allocated there depends on a symbol that varies inside a CTA" if where.open else ""
    for side in sides_in(member, problem):
        repeats = own_repeats(problem, side)
        goal = _inside(problem, side, repeats, held)
        obligation = element(problem, side, repeats, terms.conj(problem.accessing, where.premise), goal, extra=where.extra)
        place = _element(problem, side, repeats, obligation)

        def there(witness: Mapping[str, int], place: Callable[[Mapping[str, int]], Place] = place) -> Place:
            return replace(place(witness), known=known(witness, where))

        question = ("held", side.spec.name, where.peer)
        symbols = (*problem.symbols, *where.extra)
        yield Asked("columns.footprint", statement, member.shared.source, obligation, symbols, question, there, reason)


def _inside(problem: Problem, side: Side, repeats: tuple[int, ...], held: Sequence[Columns]) -> Term:
    """Some allocation has the cell; decided from intervals where they are enough."""
    bit = side.trace.locate(coordinates(problem, repeats, side=side)).bit
    low, high = _reach(problem, side, repeats, bit)
    if any(first * CELL_BITS <= low and high + side.trace.bits <= last * CELL_BITS for first, last in held):
        return True
    ends = ((CELL_BITS * first, CELL_BITS * last - side.trace.bits) for first, last in held)
    return terms.disj(*(terms.conj(terms.le(first, bit), terms.le(bit, last)) for first, last in ends))


def _reach(problem: Problem, side: Side, repeats: tuple[int, ...], bit: Term) -> tuple[int, int]:
    """An interval that holds a term over the coordinates of an operand."""
    if isinstance(bit, int):
        return bit, bit
    ranges = ranges_of(problem) | {
        v.name: (0, v.high or 0) for v in (*repeat_variables(repeats), *atom_variables(problem.contract, of=side.spec))
    }
    return all_bounds(bit, ranges)[bit]


def _element(problem: Problem, side: Side, repeats: tuple[int, ...], obligation: Obligation) -> Callable[[Mapping[str, int]], Place]:
    def place(witness: Mapping[str, int]) -> Place:
        lane = witness.get("laneid", 0) if obligation.lane is None else terms.evaluate(obligation.lane, witness)
        thread = (witness.get(CTA, 0), witness.get("warpid", 0) + lane // LANES, lane % LANES)
        here = {**witness, CTA: thread[0], "warpid": thread[1], "laneid": thread[2]}
        group = tuple(terms.evaluate(axis.coordinate, here) for axis in problem.groups)
        repeat = tuple(witness.get(f"@r{k}", 0) for k in range(len(repeats)))
        return Place(thread, group, repeat, tuple(witness.get(axis.name, 0) for axis in side.atom))

    return place


def overlaps(member: Member, problem: Problem) -> Iterator[Asked]:
    """What an instruction of the call writes is no cell that one of them reads."""
    by_name = {side.spec.name: side for side in sides_in(member, problem)}
    for first, second in member.shared.apart:
        if first in by_name and second in by_name:
            yield _apart(member, problem, by_name[first], by_name[second])


def _apart(member: Member, problem: Problem, target: Side, source: Side) -> Asked:
    mine, theirs = own_repeats(problem, target), own_repeats(problem, source)
    own = (*repeat_variables(theirs), *atom_variables(problem.contract, of=source.spec))
    rename = {v.name: var(f"{v.name}@1") for v in own}
    here = target.trace.locate(coordinates(problem, mine, side=target))
    there = source.trace.locate(coordinates(problem, theirs, side=source))
    (low, high), (first, last) = _reach(problem, target, mine, here.bit), _reach(problem, source, theirs, there.bit)
    statement = f"no cell that is written as one of {target.name} is read as one of {source.name}"
    goals: list[Term] = []
    cells = (_copies(target, here.bit, here.axes), _copies(source, there.bit, there.axes))
    for (column, row), (other, line) in product(*cells):
        moved, at = terms.substitute(other, rename), terms.substitute(line, rename)
        goals.append(terms.disj(terms.ne(row, at), terms.ne(terms.floordiv(column, CELL_BITS), terms.floordiv(moved, CELL_BITS))))
    still = all(name not in {"TCol", "m"} for side in (target, source) for name, _, _ in side.trace.replicas)
    clear = still and (high + target.trace.bits <= first or last + source.trace.bits <= low)
    premise = terms.conj(problem.accessing, target.defined, source.defined)
    variables = (*problem.symbols, *problem.thread_variables(), *repeat_variables(mine), *atom_variables(problem.contract, of=target.spec))
    renamed = (replace(v, name=f"{v.name}@1") for v in own)
    obligation = Obligation((*variables, *renamed), premise, True if clear else terms.conj(*goals))

    def place(witness: Mapping[str, int]) -> Place:
        thread = (witness.get(CTA, 0), witness.get("warpid", 0), witness.get("laneid", 0))
        group = tuple(terms.evaluate(axis.coordinate, {**witness, CTA: thread[0]}) for axis in problem.groups)
        repeat, again = (tuple(witness.get(f"@r{k}{suffix}", 0) for k in range(len(axes))) for suffix, axes in (("", mine), ("@1", theirs)))
        atom = tuple(witness.get(axis.name, 0) for axis in target.atom)
        other = tuple(witness.get(f"{axis.name}@1", 0) for axis in source.atom)
        return Place(thread, group, repeat, atom, other=(thread, again, other))

    question = ("apart", target.spec.name, source.spec.name)
    return Asked(f"{target.spec.name}.distinct", statement, member.shared.source, obligation, problem.symbols, question, place)


def _copies(side: Side, bit: Term, axes: Mapping[str, Term]) -> list[tuple[Term, Term]]:
    """(bit, lane) of a cell and of its replicas."""
    found: list[tuple[Term, Term]] = [(bit, axes.get("TLane", 0))]
    for name, extent, stride in side.trace.replicas:
        assert not isinstance(extent, Expr)
        along = (terms.mul(side.tensor.bits, stride), 0)
        step = {"TLane": (0, stride), "TCol": along, "m": along}.get(name, (0, 0))
        found = [
            (terms.add(column, terms.mul(k, step[0])), terms.add(row, terms.mul(k, step[1])))
            for column, row in found
            for k in range(extent)
        ]
    return found
