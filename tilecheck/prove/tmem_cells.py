"""The clauses about the places of an operand in tensor memory, in order; cells written twice, or written and read.

A written element takes its whole cell. Cells are numbered through all lanes, `LANE_BITS` bits to a lane.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tilecheck.call import COORDINATES
from tilecheck.layout.axes import STORAGE
from tilecheck.layout.strided import Strided, injective
from tilecheck.prove import structure, tmem
from tilecheck.prove.clause import Clause, answering, element
from tilecheck.prove.decisions import Decisions
from tilecheck.prove.obligation import Obligation, Variable
from tilecheck.prove.operands import own_repeats
from tilecheck.prove.problem import Problem, Side, atom_variables, copied, copied_variables, repeat_variables, tied
from tilecheck.scopes import CTA, names_thread
from tilecheck.spec.tmem import CELL_BITS, LANE_BITS, TensorMemory
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term, var

LEVELS = frozenset({"cta", "warp", "thread"})
COPY, REGION = "@twin", "@second"
MOST_CELLS = 1 << 22
"""Cells that are counted one by one."""
Cells = tuple[tuple[Variable, ...], tuple[Variable, ...], Term, Term, int]
"""(thread, what chooses a cell, whether it is accessed, its first bit, its bits)."""


def accesses(
    checker: Decisions, problem: Problem, side: Side, spec: TensorMemory, repeats: tuple[int, ...], inside: set[str], placed: set[str]
) -> None:
    """partition, footprint and image of an operand that is in bounds; distinct, where it and the one ahead of it lie as they must.

    inside: the names of the operands that are in bounds. placed: of those whose image is right; this one is added.
    """
    if spec.slab:
        checker.clauses(problem, tmem.partition(problem, side, spec, repeats))
    checker.clauses(problem, iter((tmem.footprint(problem, side, spec, repeats),)))
    first = spec.behind[0] if spec.behind is not None else spec.name
    if checker.clauses(problem, tmem.image(problem, side, spec, repeats, apart=spec.behind is not None and first in inside)):
        placed.add(spec.name)
        if owes(spec) and first in placed:
            checker.clauses(problem, distinct(problem, side, spec))


def following(problem: Problem, side: Side) -> Side | None:
    """The region that lies behind an operand in the same instruction."""
    return next(
        (s for s in problem.sides if isinstance(s.spec, TensorMemory) and s.spec.behind and s.spec.behind[0] == side.spec.name), None
    )


def second(spec: object) -> bool:
    """Whether an operand is such a region."""
    return isinstance(spec, TensorMemory) and spec.behind is not None


def first_bit(problem: Problem, side: Side, spec: TensorMemory) -> Term:
    """The number of the cell of an element, or of the copy `@twin` of it, in bits."""
    lane, bit = tmem.place(problem, side, own_repeats(problem, side))
    if len(spec.shifts) > 1:
        lane = terms.add(lane, terms.table(var(COPY), spec.shifts))
    cell = terms.sub(bit, terms.mod(bit, CELL_BITS)) if spec.bits < CELL_BITS else bit
    return terms.add(terms.mul(LANE_BITS, lane), cell)


def cells(problem: Problem, side: Side) -> Cells:
    """The cells of an operand, and of the region behind it."""
    spec = side.spec
    assert isinstance(spec, TensorMemory)
    start, rows = first_bit(problem, side, spec), list(atom_variables(problem.contract, of=spec))
    if len(spec.shifts) > 1:
        rows.append(Variable(COPY, "atom", 0, len(spec.shifts) - 1))
    other = following(problem, side)
    if other is not None and isinstance(other.spec, TensorMemory):
        rows.append(Variable(REGION, "atom", 0, 1))
        start = terms.select(terms.eq(var(REGION), 0), start, first_bit(problem, other, other.spec))
    accessing = problem.accessing
    if problem.collective:
        accessing, start = (terms.substitute(term, {"laneid": 0}) for term in (accessing, start))
    return problem.thread_variables(lane=not problem.collective), tuple(rows), accessing, start, CELL_BITS


def apart(problem: Problem, side: Side) -> bool:
    """Whether no two accesses meet in a cell: all executing threads are indices of the view, whose digits number different cells."""
    spec, form = side.spec, side.strided
    assert isinstance(spec, TensorMemory)
    if form is None or side.view.symbolic or any(s.varies not in {"grid", "cluster"} for s in problem.call.symbols):
        return False
    if not structure.one_instance(problem, side):
        return False
    factors = _numbers(form, spec)
    other = following(problem, side)
    if other is not None:
        there = other.strided
        if there is None or other.view.symbolic or not isinstance(other.spec, TensorMemory) or _numbers(there, other.spec) != factors:
            return False
        factors = [*factors, (2, _start(there) - _start(form))]
    return _whole(spec, form, factors) and injective(factors, max(spec.bits, CELL_BITS))


def distinct_digits(side: Side) -> bool:
    """Whether no two elements of one thread meet in a cell: the digits of the view number different ones, wherever it starts."""
    spec, form = side.spec, side.strided
    assert isinstance(spec, TensorMemory)
    if form is None:
        return False
    factors = _numbers(form, spec)
    return _whole(spec, form, factors) and injective(factors, max(spec.bits, CELL_BITS))


def meeting(problem: Problem, side: Side) -> bool | None:
    """Whether two repeats of one thread write one cell: the digits of the view decide, wherever it starts; None where they do not."""
    import numpy as np

    spec, form = side.spec, side.strided
    assert isinstance(spec, TensorMemory)
    start = None if form is None else form.start.remainder(CELL_BITS)
    if form is None or start is None:
        return None
    front, back = len(problem.groups), len(form.axes) - len(side.atom)
    sums: list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]] = []
    for axes in (form.axes[front:back], form.axes[back:]):
        total = np.zeros(1, dtype=np.int64)
        for extent, name, stride in (factor for axis in axes for factor in axis):
            far = stride * LANE_BITS if name == tmem.LANE else stride
            total = (total[:, None] + far * np.arange(extent, dtype=np.int64)).ravel()
            if total.size > MOST_CELLS:
                return None
        sums.append(total)
    if sums[0].size * sums[1].size > MOST_CELLS:
        return None
    cells_ = (start + sums[0][:, None] + sums[1]) // CELL_BITS
    apart_ = [np.unique(row) for row in cells_]
    return np.unique(np.concatenate(apart_)).size < sum(row.size for row in apart_)


def uniform(problem: Problem, side: Side) -> bool:
    """Whether all threads of a CTA see the same cells."""
    varying = any(s.varies not in {"grid", "cluster", "cta"} for s in problem.call.symbols)
    return not varying and not any(names_thread(term) for term in side.view.terms())


def _numbers(form: Strided, spec: TensorMemory) -> list[tuple[int, int]]:
    """The digits of a view, and of its copies, with what they add to the number of a cell in bits."""
    digits = [(extent, stride * LANE_BITS if name == tmem.LANE else stride) for axis in form.axes for extent, name, stride in axis]
    return sorted([*digits, *((count, apart * LANE_BITS) for count, apart in spec.replicas)])


def _start(form: Strided) -> int:
    """Where a view without symbols starts."""
    return form.start.low + LANE_BITS * form.other.get(tmem.LANE, 0)


def _whole(spec: TensorMemory, form: Strided, factors: list[tuple[int, int]]) -> bool:
    """Whether an element is a whole cell, or has one to itself."""
    if spec.bits >= CELL_BITS:
        return True
    return form.start.remainder(CELL_BITS) is not None and all(stride % CELL_BITS == 0 for _, stride in factors)


# --- the clause distinct ----------------------------------------------------------------------------------------------


def distinct(problem: Problem, side: Side, spec: TensorMemory) -> Iterator[Clause]:
    """Cells that one instruction, or the threads of one instance of the scope, may not both write."""
    name = f"{spec.name}.distinct"
    if spec.behind is not None:
        other, _ = tmem.ahead(problem, spec)
        says = f"no cell of {side.name} is written by both accesses of one instruction"
        yield Clause(name, says, lambda: _split(problem, side, other), proof=_split_proof(side, other))
    if spec.alone:
        says = f"no cell of {side.name} is written by two threads of one {problem.call.scope}"
        idle = problem.call.scope == "thread" or problem.collective
        proof = "structure" if idle or _alone_proof(problem, side, spec) else None
        yield Clause(name, says, Obligation((), True, True) if idle else lambda: _alone(problem, side, spec), proof=proof)


def owes(spec: TensorMemory) -> bool:
    """Whether there is such a clause."""
    return spec.write and (spec.behind is not None or spec.alone)


def _split(problem: Problem, side: Side, other: Side) -> Obligation:
    """An element of the second region is outside the rectangle of the first."""
    spec = other.spec
    assert isinstance(spec, TensorMemory)
    repeats = own_repeats(problem, side)
    (lane, bit), (first, start) = tmem.place(problem, side, repeats), tmem.place(problem, other, repeats, first=True)
    (rows, width) = rectangle(spec, other)
    down, right = terms.sub(lane, first), terms.sub(terms.floordiv(bit, CELL_BITS), terms.floordiv(start, CELL_BITS))
    goal = terms.disj(terms.lt(down, 0), terms.le(rows, down), terms.lt(right, 0), terms.le(width, right))
    return element(problem, side, repeats, terms.conj(problem.accessing, other.defined), goal)


def rectangle(spec: TensorMemory, side: Side) -> tuple[int, int]:
    """Lanes and columns of a region, which is a rectangle."""
    wanted = tmem.digits(spec, tuple((axis.name, axis.extent) for axis in side.atom))
    assert wanted is not None
    lanes = sum((extent - 1) * stride for found, _ in wanted for extent, _, stride in found)
    bits = sum((extent - 1) * stride for _, found in wanted for extent, _, stride in found)
    return lanes + 1, (bits + spec.bits - 1) // CELL_BITS + 1


def _split_proof(side: Side, other: Side) -> str | None:
    """Constant starts whose rectangles are beside or below each other; that both step alike outside the atom is known from `image`."""
    form, before, spec = side.strided, other.strided, other.spec
    assert isinstance(spec, TensorMemory)
    if form is None or before is None or form.start.modulus or before.start.modulus or form.lanes or before.lanes:
        return None
    outside = [_outside(one, s) for one, s in ((form, side), (before, other))]
    if outside[0] != outside[1]:
        return None
    rows, width = rectangle(spec, other)
    down = form.other.get(tmem.LANE, 0) - before.other.get(tmem.LANE, 0)
    right = form.start.residue // CELL_BITS - before.start.residue // CELL_BITS
    return structure.method(side, through=False) if abs(down) >= rows or abs(right) >= width else None


def _outside(form: Strided, side: Side) -> list[list[tuple[int, str, int]]]:
    return [[one for one in axis if one[1] in {tmem.LANE, STORAGE}] for axis in form.axes[: len(form.axes) - len(side.atom)]]


def _alone_proof(problem: Problem, side: Side, spec: TensorMemory) -> bool:
    """The digits of a view number different cells, and the group axes tell the threads of an instance apart."""
    form = side.strided
    if form is None or any(s.varies not in {"grid", "cluster"} for s in problem.call.symbols):
        return False
    if any(terms.variables(written) & COORDINATES for written in side.view.symbolic):
        return False
    factors = _numbers(form, spec)
    return _whole(spec, form, factors) and injective(factors, max(spec.bits, CELL_BITS))


def _alone(problem: Problem, side: Side, spec: TensorMemory) -> Obligation:
    """A cell is written by no other thread of the same CTA and instance."""
    repeats = own_repeats(problem, side)
    start = first_bit(problem, side, spec)
    own = [*repeat_variables(repeats), *atom_variables(problem.contract, of=spec)]
    own += [Variable(COPY, "atom", 0, len(spec.shifts) - 1)] if len(spec.shifts) > 1 else []
    rename = {v.name: var(f"{v.name}@1") for v in own}

    def there(term: Term) -> Term:
        return terms.substitute(copied(problem, term, "@1", LEVELS), rename)

    here = {"warp": [var(CTA), var("warpid")], "warpgroup": [var(CTA), terms.floordiv(var("warpid"), 4)]}.get(
        problem.call.scope, [var(CTA)]
    )
    together = terms.conj(*(terms.eq(one, there(one)) for one in here))
    other = terms.disj(*(terms.ne(var(name), var(f"{name}@1")) for name in ("warpid", "laneid")))
    defined = terms.conj(problem.accessing, side.defined)
    premise = terms.conj(defined, there(defined), together, other, tied(problem, ("", "@1"), LEVELS))
    renamed = (replace(v, name=f"{v.name}@1") for v in own)
    variables = (*problem.symbols, *problem.thread_variables(), *own, *copied_variables(problem, "@1", LEVELS), *renamed)
    return Obligation(variables, premise, terms.ne(start, there(start)))


# --- what is written and read -----------------------------------------------------------------------------------------


def clear(target: Side, source: Side) -> bool:
    """Whether two views have no column in common, from their canonical forms."""
    one, other = target.strided, source.strided
    if one is None or other is None:
        return False
    (low, high), (first, last) = one.ends(), other.ends()
    return (high + target.spec.bits - 1) // CELL_BITS < first // CELL_BITS or (last + source.spec.bits - 1) // CELL_BITS < low // CELL_BITS


def unread(problem: Problem, target: Side, source: Side) -> Obligation:
    """No cell that one thread writes is read by a thread of the same CTA."""
    assert isinstance(target.spec, TensorMemory)
    assert isinstance(source.spec, TensorMemory)
    sides: Mapping[str, tuple[Side, TensorMemory]] = {"": (target, target.spec), "@1": (source, source.spec)}
    numbers: list[Term] = []
    premises: list[Term] = []
    variables: list[Variable] = []
    for suffix, (side, spec) in sides.items():
        own = [*repeat_variables(own_repeats(problem, side)), *atom_variables(problem.contract, of=spec)]
        own += [Variable(COPY, "atom", 0, len(spec.shifts) - 1)] if len(spec.shifts) > 1 else []
        rename = {v.name: var(f"{v.name}{suffix}") for v in own} if suffix else {}
        number, premise = first_bit(problem, side, spec), terms.conj(problem.accessing, side.defined)
        lane = answering(problem, spec)
        if lane is not None:
            number, premise = (terms.substitute(term, {"laneid": lane}) for term in (number, premise))
        if suffix:
            number, premise = (terms.substitute(copied(problem, term, suffix, LEVELS), rename) for term in (number, premise))
            variables += copied_variables(problem, suffix, LEVELS)
        else:
            variables += [*problem.symbols, *problem.thread_variables(lane=lane is None)]
        variables += [replace(v, name=f"{v.name}{suffix}") for v in own]
        numbers.append(number)
        premises.append(premise)
    same = terms.conj(terms.eq(var(CTA), var(f"{CTA}@1")), tied(problem, ("", "@1"), LEVELS))
    return Obligation(tuple(variables), terms.conj(*premises, same), terms.ne(*numbers))
