"""Clauses about tensor memory: the lanes that a warp reaches, the footprint, and the map of the instruction against that of the view.

The place of an element is its lane and its first bit from column 0 of the lane (`TCol` and `m` count together, in elements).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from math import prod

from tilecheck.layout.axes import STORAGE
from tilecheck.layout.strided import Axis, Factor, Strided, coalesced
from tilecheck.layout.tile import base_tile
from tilecheck.prove import structure
from tilecheck.prove.clause import Clause, coordinates, element
from tilecheck.prove.lanes import Digit, lane_digits
from tilecheck.prove.obligation import Obligation
from tilecheck.prove.problem import Problem, Side
from tilecheck.spec.tmem import CELL_BITS, COLUMNS, LANE_SHIFT, LANES, SLAB, TensorMemory
from tilecheck.symbolic import terms
from tilecheck.symbolic.domain import known
from tilecheck.symbolic.terms import Expr, Term, var

LANE = "TLane"
ALLOCATED_BYTES = LANES * CELL_BITS // 8
"""The bytes of one column of an allocation."""
FEW = 1 << 12
"""Sums of digits that the structure tier looks at."""


def place(problem: Problem, side: Side, repeats: tuple[int, ...], *, first: bool = False) -> tuple[Term, Term]:
    """(lane, bit from column 0) of an element; first: of the first one of an instruction."""
    atom = {axis.name: 0 for axis in side.atom} if first else None
    found = side.trace.locate(coordinates(problem, repeats, atom, side=side))
    return found.axes.get(LANE, 0), found.bit


def columns(problem: Problem, side: Side) -> int:
    """The columns that are there: of tensor memory, or of the allocation where its size is given."""
    sizes = (other.tensor.size_bytes for other in problem.sharing(side))
    return min([COLUMNS, *(size // ALLOCATED_BYTES for size in sizes if isinstance(size, int))])


def proofs(problem: Problem, side: Side, spec: TensorMemory) -> dict[str, str] | None:
    """The tiers that prove these clauses, and `replica`, from the canonical form; None where one is open, or another operand has a say."""
    there = columns(problem, side)
    found = {
        "partition": partition_proof(problem, side, spec) if spec.slab else "structure",
        "footprint": footprint_proof(side, spec, there, LANES - 1 - max(spec.shifts)),
        "image": begin_proof(side, spec),
    }
    if spec.behind is not None or None in found.values() or image_proof(side, spec) is None or not same_copies(side, spec):
        return None
    return {f"{spec.name}.{short}": tier for short, tier in found.items() if tier is not None and (spec.slab or short != "partition")}


# --- the lanes of a warp ----------------------------------------------------------------------------------------------


def partition(problem: Problem, side: Side, spec: TensorMemory, repeats: tuple[int, ...]) -> Iterator[Clause]:
    """Every element lies in the slab of the executing warp, the first in one of its lanes where an instruction may start."""
    starts = f", the first in lane {' or '.join(map(str, spec.first_lanes))} of them" if spec.first_lanes else ""
    says = f"every element of {side.name} is in the {SLAB} lanes from {SLAB} * (warpid % 4) on{starts}"
    name, proof = f"{spec.name}.partition", partition_proof(problem, side, spec)

    def reached() -> Obligation:
        lane, _ = place(problem, side, repeats)
        slab = terms.mul(SLAB, terms.mod(var("warpid"), 4))
        goal = terms.conj(terms.le(slab, lane), terms.lt(lane, terms.add(slab, SLAB)))
        return element(problem, side, repeats, problem.accessing, goal)

    def started() -> Obligation:
        lane, _ = place(problem, side, repeats, first=True)
        goal = terms.disj(*(terms.eq(terms.mod(lane, SLAB), one) for one in spec.first_lanes))
        return element(problem, side, repeats, problem.accessing, goal, without=_axes(side))

    yield Clause(name, says, reached, proof=proof)
    if spec.first_lanes:
        yield Clause(name, says, started, proof=proof)


def partition_proof(problem: Problem, side: Side, spec: TensorMemory) -> str | None:
    """For each warp that may execute: the lanes of the view there, from the lane of its group on."""
    form = side.strided
    if form is None:
        return None
    front, back = len(problem.groups), len(form.axes) - len(side.atom)
    among = problem.context.environment["warpid"]
    low, high = _reach(form.axes[front:])
    begins = _sums(form.axes[front:back])
    if among.high - among.low >= SLAB or begins is None:
        return None
    if any(not terms.variables(term) <= {"warpid"} for term, _ in form.lanes):
        return None
    moving = [(axis.coordinate, form.axes[k]) for k, axis in enumerate(problem.groups) if any(name == LANE for _, name, _ in form.axes[k])]
    if any(not terms.variables(coordinate) <= {"warpid"} for coordinate, _ in moving):
        return None
    for warp in range(among.low, among.high + 1, max(1, among.modulus)):
        steps = [_lane_at(axis, terms.evaluate(coordinate, {"warpid": warp})) for coordinate, axis in moving]
        if None in steps:
            return None
        own = sum(step or 0 for step in steps)
        own += sum(terms.evaluate(term, {"warpid": warp}) * step for term, step in form.lanes)
        lane = form.other.get(LANE, 0) + own - SLAB * (warp % 4)
        if lane + low < 0 or lane + high >= SLAB or (spec.first_lanes and any(lane + begin not in spec.first_lanes for begin in begins)):
            return None
    return structure.method(side, through=False)


def _reach(axes: Iterable[Axis]) -> tuple[int, int]:
    """The least and the greatest sum of digits on lanes."""
    far = [(extent - 1) * stride for axis in axes for extent, name, stride in axis if name == LANE]
    return sum(f for f in far if f < 0), sum(f for f in far if f > 0)


def _sums(axes: Iterable[Axis]) -> set[int] | None:
    """Every sum of digits on lanes; None where there are too many."""
    digits = [(extent, stride) for axis in axes for extent, name, stride in axis if name == LANE]
    if prod(extent for extent, _ in digits) > FEW:
        return None
    return {sum(d * stride for d, (_, stride) in zip(point, digits, strict=True)) for point in product(*(range(e) for e, _ in digits))}


def begins(form: Strided, side: Side) -> set[int] | None:
    """The lanes in which the first element of an instruction may lie; None where there are too many, or the start is no number."""
    if form.lanes:
        return None
    sums = _sums(form.axes[: len(form.axes) - len(side.atom)])
    return None if sums is None else {form.other.get(LANE, 0) + one for one in sums}


def _lane_at(axis: Axis, coordinate: int) -> int | None:
    """What a coordinate adds to the lane; None where it is none of the axis."""
    lane = 0
    for extent, name, stride in reversed(axis):
        coordinate, digit = divmod(coordinate, extent)
        lane += digit * stride if name == LANE else 0
    return lane if coordinate == 0 else None


# --- the footprint ----------------------------------------------------------------------------------------------------


def footprint(problem: Problem, side: Side, spec: TensorMemory, repeats: tuple[int, ...]) -> Clause:
    """Every element, and every copy of it, lies in the lanes and columns that there are."""
    there, last = columns(problem, side), LANES - 1 - max(spec.shifts)
    whose = "tensor memory has" if there == COLUMNS else f"the allocation of {side.name} has"
    says = f"every element of {side.name} is in the {LANES} lanes and {there} columns that {whose}"

    def obligation() -> Obligation:
        lane, bit = place(problem, side, repeats)
        inside = terms.conj(terms.le(0, lane), terms.le(lane, last))
        goal = terms.conj(inside, terms.le(0, bit), terms.le(terms.add(bit, spec.bits), CELL_BITS * there))
        return element(problem, side, repeats, problem.accessing, goal)

    return Clause(f"{spec.name}.footprint", says, obligation, proof=footprint_proof(side, spec, there, last))


def footprint_proof(side: Side, spec: TensorMemory, there: int, last: int) -> str | None:
    """The ends of all sums of digits are inside."""
    form = side.strided
    if form is None:
        return None
    low, high = form.ends()
    first, far = _reach(form.axes)
    lane = form.other.get(LANE, 0)
    for term, step in form.lanes:
        one = known(term, side.context.environment, side.context.known)
        first, far = first + min(one.low * step, one.high * step), far + max(one.low * step, one.high * step)
    inside = low >= 0 and high + spec.bits <= CELL_BITS * there and lane + first >= 0 and lane + far <= last
    return structure.method(side, through=False) if inside else None


# --- the map of the instruction ---------------------------------------------------------------------------------------


def image(problem: Problem, side: Side, spec: TensorMemory, repeats: tuple[int, ...], *, apart: bool) -> Iterator[Clause]:
    """The first element lies where an instruction may start, every other as far behind it as the instruction says.

    apart: whether the operand that it lies behind has places to compare with.
    """
    name, says = f"{spec.name}.image", f"{side.name} is laid out as the instruction has it: {spec.asks}"
    yield Clause(name, says, lambda: _begin(problem, side, spec, repeats), proof=begin_proof(side, spec))
    if apart:
        yield Clause(name, says, lambda: _behind(problem, side, spec, repeats), proof=behind_proof(problem, side, spec))

    def walked() -> Obligation:
        (lane, bit), (first, start) = place(problem, side, repeats), place(problem, side, repeats, first=True)
        there = terms.eq(lane, terms.add(first, terms.normal(spec.lane)))
        goal = terms.conj(there, terms.eq(bit, terms.add(start, terms.mul(spec.bits, terms.normal(spec.column)))))
        return element(problem, side, repeats, problem.accessing, goal)

    yield Clause(name, says, walked, proof=image_proof(side, spec))


def _begin(problem: Problem, side: Side, spec: TensorMemory, repeats: tuple[int, ...]) -> Obligation:
    lane, bit = place(problem, side, repeats, first=True)
    lanes = True if spec.slab or not spec.first_lanes else terms.disj(*(terms.eq(lane, one) for one in spec.first_lanes))
    goal = terms.conj(terms.eq(terms.mod(bit, spec.first_bits), 0), lanes)
    return element(problem, side, repeats, problem.accessing, goal, without=_axes(side))


def begin_proof(side: Side, spec: TensorMemory) -> str | None:
    """The start, and every stride outside the atom, is a multiple of what it must be; the lanes are among those allowed."""
    form = side.strided
    if form is None or form.start.remainder(spec.first_bits) != 0:
        return None
    outside = form.axes[: len(form.axes) - len(side.atom)]
    even = all(stride % spec.first_bits == 0 for axis in outside for _, name, stride in axis if name == STORAGE)
    if not even:
        return None
    if not spec.slab and spec.first_lanes:
        found = begins(form, side)
        if found is None or any(lane not in spec.first_lanes for lane in found):
            return None
    return structure.method(side, through=False)


def image_proof(side: Side, spec: TensorMemory) -> str | None:
    """The digits of the atom axes are those of the instruction."""
    form, wanted = side.strided, digits(spec, tuple((axis.name, axis.extent) for axis in side.atom))
    if form is None or wanted is None:
        return None
    for axis, (lanes, bits) in zip(form.axes[len(form.axes) - len(side.atom) :], wanted, strict=True):
        if _on(axis, LANE) != lanes or _on(axis, STORAGE) != bits:
            return None
    return structure.method(side, through=False)


def _on(axis: Axis, name: str) -> list[Factor]:
    """The digits of a coordinate with what they add to one axis."""
    return coalesced((extent, name, stride if own == name else 0) for extent, own, stride in axis)


@lru_cache(maxsize=1024)
def digits(spec: TensorMemory, atom: tuple[tuple[str, int], ...]) -> tuple[tuple[list[Factor], list[Factor]], ...] | None:
    """For each atom axis its digits on lanes and on bits, as the instruction has them; None where they are no sums of digits."""
    from tilecheck.spec.contract import AtomAxis

    axes = tuple(AtomAxis(name, extent) for name, extent in atom)
    lanes, bits = lane_digits(spec.lane, axes), lane_digits(spec.column, axes)
    if lanes is None or bits is None:
        return None

    def one(found: tuple[Digit, ...], name: str, unit: int) -> list[Factor]:
        return coalesced((extent, name, unit * weight) for extent, weight in found)

    return tuple((one(a, LANE, 1), one(b, STORAGE, spec.bits)) for a, b in zip(lanes, bits, strict=True))


# --- a second region --------------------------------------------------------------------------------------------------


def ahead(problem: Problem, spec: TensorMemory) -> tuple[Side, int]:
    """The operand that another one lies behind, and how far, as an address."""
    assert spec.behind is not None
    operand, parameter = spec.behind
    far = problem.call.parameter(parameter)
    assert isinstance(far, int)
    return next(side for side in problem.sides if side.spec.name == operand), far


def _behind(problem: Problem, side: Side, spec: TensorMemory, repeats: tuple[int, ...]) -> Obligation:
    other, far = ahead(problem, spec)
    if not shared(side, other):
        return Obligation((*problem.symbols, *problem.thread_variables(lane=False)), problem.accessing, False, 0)
    (lane, bit), (first, start) = place(problem, side, repeats, first=True), place(problem, other, repeats, first=True)

    def address(lane: Term, bit: Term) -> Term:
        return terms.add(terms.mul(CELL_BITS << LANE_SHIFT, lane), bit)

    goal = terms.eq(address(lane, bit), terms.add(address(first, start), CELL_BITS * far))
    premise = terms.conj(problem.accessing, other.defined)
    return element(problem, side, repeats, premise, goal, without=_axes(side))


def behind_proof(problem: Problem, side: Side, spec: TensorMemory) -> str | None:
    """Both step alike outside the atom, and their constant starts are so far apart."""
    other, far = ahead(problem, spec)
    form, before = side.strided, other.strided
    if not shared(side, other) or form is None or before is None or form.start.modulus or before.start.modulus:
        return None
    if form.lanes or before.lanes:
        return None
    outside, steps = (one.axes[: len(one.axes) - len(s.atom)] for one, s in ((form, side), (before, other)))
    if len(outside) != len(steps) or any(_on(a, n) != _on(b, n) for a, b in zip(outside, steps, strict=True) for n in (LANE, STORAGE)):
        return None
    apart = (form.other.get(LANE, 0) - before.other.get(LANE, 0)) * (CELL_BITS << LANE_SHIFT)
    apart += form.start.residue - before.start.residue
    return structure.method(side, through=False) if apart == CELL_BITS * far else None


def shared(side: Side, other: Side) -> bool:
    """Whether two views are of one allocation."""
    return side.tensor.tensor is not None and side.tensor.tensor == other.tensor.tensor


# --- copies and allocations -------------------------------------------------------------------------------------------


def replicated(side: Side, spec: TensorMemory) -> Clause:
    """The clause `replica`: the copies of the view are those of the instruction."""
    copies = ", ".join(f"{count} copies {apart} lanes apart" for count, apart in spec.replicas) or "no copies"
    says = f"the replicas of {side.name} are those of the instruction: {copies}"
    return Clause(f"{spec.name}.replica", says, Obligation((), True, same_copies(side, spec)), point="symbols")


def same_copies(side: Side, spec: TensorMemory) -> bool:
    """Whether the replicas of a view are those of the instruction."""
    if not spec.replicas and not any(one.effective for one in side.replicas):
        return True
    return _shifts(side) == [(shift, 0, ()) for shift in spec.shifts]


def _shifts(side: Side) -> list[tuple[int, int, tuple[tuple[str, int], ...]]]:
    """How far (lanes, columns, other axes) each copy lies behind the first, ascending."""
    found: list[dict[str, int]] = [{}]
    for one in base_tile(side.tensor.layout).replica:
        extent, stride = one.extent, one.stride
        assert isinstance(extent, int)
        assert isinstance(stride, int)
        if one.effective:
            found = [{**shift, one.axis: shift.get(one.axis, 0) + k * stride} for shift in found for k in range(extent)]
    names = (LANE, "TCol", STORAGE)
    return sorted(
        (
            shift.get(LANE, 0),
            shift.get("TCol", 0) + shift.get(STORAGE, 0),
            tuple(sorted((n, v) for n, v in shift.items() if n not in names and v)),
        )
        for shift in found
    )


def backing(problem: Problem, side: Side, spec: TensorMemory) -> Clause:
    """The clause `backing`: the declared layout lies in the lanes and columns that there are, and the allocation in tensor memory."""
    there = columns(problem, side)
    says = f"the declared layout of {side.name} has room in {LANES} lanes of {there} columns"
    return Clause(f"{spec.name}.backing", says, Obligation((), True, backed(problem, side)), point="symbols")


def backed(problem: Problem, side: Side) -> bool:
    """Whether the declared layout is where there is tensor memory, and its allocation no larger than that."""
    there, size = columns(problem, side), side.tensor.size_bytes
    fits = not isinstance(size, int) or size <= ALLOCATED_BYTES * COLUMNS
    lanes, bits = declared(side)
    return fits and lanes[0] >= 0 and lanes[1] < LANES and bits[0] >= 0 and bits[1] <= CELL_BITS * there


def declared(side: Side) -> tuple[tuple[int, int], tuple[int, int]]:
    """(first and last lane, first bit and end) of the declared layout with its replicas."""
    tile, offsets = base_tile(side.tensor.layout), dict(base_tile(side.tensor.layout).offset)
    ends = {LANE: [_number(offsets.get(LANE, 0))] * 2, STORAGE: [_number(offsets.get("TCol", 0)) + _number(offsets.get(STORAGE, 0))] * 2}
    for one in (*tile.shard, *tile.replica):
        name = STORAGE if one.axis == "TCol" else one.axis
        far = (_number(one.extent) - 1) * _number(one.stride)
        if name in ends:
            ends[name][far > 0] += far
    low, high = ends[STORAGE]
    return (ends[LANE][0], ends[LANE][1]), (low * side.tensor.bits, (high + 1) * side.tensor.bits)


def _number(value: Term) -> int:
    """A number of a static layout."""
    assert not isinstance(value, Expr)
    return value


def _axes(side: Side) -> tuple[str, ...]:
    return tuple(axis.name for axis in side.atom)
