"""Where each element of a view lies: its thread axes, its storage offset before and after swizzles, its first bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tilecheck.errors import InputError
from tilecheck.layout.axes import STORAGE
from tilecheck.layout.digits import Ranges, Sum, coordinate, free, regroup, split
from tilecheck.layout.dtypes import dtype_bits
from tilecheck.layout.pattern import Rearrangement, fit
from tilecheck.layout.poly import difference
from tilecheck.layout.steps import Broadcast, Permute, Rearrange, Reshape, Retype, Shape, Slice, Step
from tilecheck.layout.tile import base_tile, swizzled, swizzles
from tilecheck.symbolic.terms import Expr, Term, add, mul

if TYPE_CHECKING:
    from tilecheck.layout.view import Tensor, View


@dataclass(frozen=True, slots=True)
class Location:
    """Where one element lies.

    axes: the value on each axis but `m` that the layout writes effectively (TCol in declared elements), offset included.
    linear, m: the storage offset before and after the swizzles, in declared elements, offset included.
    bit: the first bit of the element from the tensor's base; in tensor memory, from column 0 of its lane.
    """

    axes: Mapping[str, Term]
    linear: Term
    m: Term
    bit: Term
    plain_bit: Term
    """As `bit`, before the swizzles."""


@dataclass(frozen=True, slots=True)
class SliceCheck:
    """Axis `axis` of step `step` stays inside when 0 <= begin and begin + extent <= limit."""

    step: int
    axis: int
    begin: Term
    extent: Term
    limit: Term


@dataclass(frozen=True, slots=True)
class RetypeCheck:
    """What a `view(dtype)` step needs.

    Widening (`widens`), for all coordinates c in `domain` and all j < group = new_bits / old_bits: bit_of(c, j) == bit_of(c, 0) + j * old_bits,
    bit_of(c, 0) % new_bits == 0, axes_of(c, j) == axes_of(c, 0). Narrowing, for all c in `domain` and j < group = 2: the same first and last
    equation, with `bit_of` before the swizzles, as the last axis must have stride 1 (its domain is one shorter, and may be empty).
    """

    step: int
    shape: Shape
    dtype: str
    old_bits: int
    new_bits: int
    divisible: Term
    """The truth term: the last extent is a whole number of new elements."""
    refusal: str | None
    domain: Shape
    group: int
    inner: Trace = field(repr=False, compare=False)

    @property
    def widens(self) -> bool:
        """Whether several old elements make one new one."""
        return self.new_bits > self.old_bits

    @property
    def whole(self) -> bool:
        """Whether the step is not refused for its sizes alone."""
        return self.refusal is None

    @property
    def trivial(self) -> bool:
        """Whether nothing is to be checked: equal widths, or a last axis of one element that is split."""
        return self.refusal is None and self.divisible is True and (self.group == 1 or self.domain[-1] == 0)

    def locate(self, coords: Sequence[Term], j: Term) -> Location:
        """Where old element j of the group at `coords` (in `domain`) lies."""
        sums = [coordinate(value, extent) for value, extent in zip(coords, self.domain, strict=True)]
        if sums and self.group > 1:
            step = self.group if self.widens else 1
            sums[-1] = sums[-1].scaled(step).plus(coordinate(j, self.group))
        return self.inner.at(sums)

    def bit_of(self, coords: Sequence[Term], j: Term) -> Term:
        """The first bit of old element j of the group at `coords`: after the swizzles when widening, before them when narrowing."""
        found = self.locate(coords, j)
        return found.bit if self.widens else found.plain_bit

    def axes_of(self, coords: Sequence[Term], j: Term) -> Mapping[str, Term]:
        """The axes of that element, without TCol, which is storage."""
        return {name: value for name, value in self.locate(coords, j).axes.items() if name != "TCol"}


@dataclass(frozen=True, slots=True)
class _Stage:
    step: Step
    before: Shape
    after: Shape
    old_bits: int
    new_bits: int
    fitted: Rearrangement | None
    """The pattern of a Rearrange fitted to the shape before it."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A view as a function: `locate` takes coordinates of `shape` to the location of the element, through all steps backwards."""

    tensor: Tensor
    shape: Shape
    dtype: str
    bits: int
    slices: tuple[SliceCheck, ...]
    retypes: tuple[RetypeCheck, ...]
    refusal: str | None
    ranges: Ranges = field(repr=False)
    stages: tuple[_Stage, ...] = field(repr=False)

    @property
    def replicas(self) -> tuple[tuple[str, Term, Term], ...]:
        """(axis, extent, stride) of the replica factors with an extent other than 1 and a stride other than 0; `locate` ignores them."""
        return tuple((one.axis, one.extent, one.stride) for one in base_tile(self.tensor.layout).replica if one.effective)

    def locate(self, coords: Sequence[Term]) -> Location:
        """The location of the element at `coords`, which are assumed to be in range; plain ints give plain ints."""
        if len(coords) != len(self.shape):
            raise InputError(f"found {len(coords)} coordinates, expected {len(self.shape)}")
        return self.at([coordinate(value, extent) for value, extent in zip(coords, self.shape, strict=True)])

    def at(self, coords: Sequence[Sum]) -> Location:
        """`locate` for coordinates that are sums of digits."""
        current, bit = list(coords), Sum()
        for stage in reversed(self.stages):
            current, bit = _backwards(stage, current, bit, self.ranges)
        layout = self.tensor.layout
        tile = base_tile(layout)
        digits = regroup(list(zip(current, self.tensor.shape, strict=True)), [one.extent for one in tile.shard], self.ranges)
        sums: dict[str, Sum] = {}
        for one, value in zip(tile.shard, digits, strict=True):
            if one.effective:
                sums[one.axis] = sums.get(one.axis, Sum()).plus(value.scaled(one.stride))
        for name, value in tile.offset:
            sums[name] = sums.get(name, Sum()).plus(free(value, self.ranges))
        storage = sums.pop(STORAGE, Sum())
        declared = dtype_bits(self.tensor.dtype)
        linear = storage.term()
        m = swizzled(layout, linear)
        beside = sums.get("TCol", Sum()) if self.tensor.space == "tmem" else Sum()
        plain = storage.plus(beside).scaled(declared).plus(bit).term()
        hashed = plain if not swizzles(layout) else add(mul(declared, m), beside.scaled(declared).plus(bit).term())
        return Location({name: value.term() for name, value in sums.items()}, linear, m, hashed, plain)


def _backwards(stage: _Stage, coords: list[Sum], bit: Sum, ranges: Ranges) -> tuple[list[Sum], Sum]:
    """The coordinates before one step, and the bit inside that element."""
    step = stage.step
    if isinstance(step, Slice):
        return [free(begin, ranges).plus(value) for begin, value in zip(step.begin, coords, strict=True)], bit
    if isinstance(step, Permute):
        before = [Sum()] * len(coords)
        for value, axis in zip(coords, step.order, strict=True):
            before[axis] = value
        return before, bit
    if isinstance(step, Reshape):
        return regroup(list(zip(coords, stage.after, strict=True)), stage.before, ranges), bit
    fitted = stage.fitted
    if fitted is not None:
        atoms = [Sum()] * len(fitted.left)
        for value, axis in zip(regroup(list(zip(coords, stage.after, strict=True)), fitted.right, ranges), fitted.order, strict=True):
            atoms[axis] = value
        return regroup(list(zip(atoms, fitted.left, strict=True)), stage.before, ranges), bit
    if isinstance(step, Broadcast):
        kept = coords[len(stage.after) - len(stage.before) :]
        return [Sum() if _one(old) else value for value, old in zip(kept, stage.before, strict=True)], bit
    return _retyped(stage, coords, bit, ranges)


def _retyped(stage: _Stage, coords: list[Sum], bit: Sum, ranges: Ranges) -> tuple[list[Sum], Sum]:
    old, new = stage.old_bits, stage.new_bits
    if old == new or not coords or (old % new and new % old):
        return coords, bit
    last = coords[-1]
    if new > old:
        inside, element = split(bit, old, ranges)
        return [*coords[:-1], last.scaled(new // old).plus(element)], inside
    piece, element = split(last, old // new, ranges)
    return [*coords[:-1], element], piece.scaled(new).plus(bit)


def _one(extent: Term) -> bool:
    return isinstance(extent, int) and extent == 1


def trace(view: View | Tensor, ranges: Ranges | None = None) -> Trace:
    """The view as a function, with what its slices and dtype views need.

    `ranges` may give known inclusive bounds of symbols; terms then stay free of more divisions.
    """
    tensor, steps = view.parts
    known: Ranges = {} if ranges is None else ranges
    current = Trace(tensor, tensor.shape, tensor.dtype, dtype_bits(tensor.dtype), (), (), None, known, ())
    for index, step in enumerate(steps):
        current = _advanced(current, index, step)
    return current


def _advanced(old: Trace, index: int, step: Step) -> Trace:
    refusal, retypes, bits, dtype = old.refusal, old.retypes, old.bits, old.dtype
    try:
        shape = step.after(old.shape, old.bits)
    except InputError:
        if refusal is None:
            raise
        return old
    slices = old.slices
    if isinstance(step, Slice):
        slices += _slice_checks(index, step, old.shape, shape)
    elif isinstance(step, Retype):
        dtype, bits = step.dtype, dtype_bits(step.dtype)
        check = _retype_check(old, index, step, shape)
        retypes = (*retypes, check)
        refusal = refusal or check.refusal
    fitted = fit(step.pattern, old.shape, dict(step.sizes)) if isinstance(step, Rearrange) else None
    stage = _Stage(step, old.shape, shape, old.bits, bits, fitted)
    return Trace(old.tensor, shape, dtype, bits, slices, retypes, refusal, old.ranges, (*old.stages, stage))


def _slice_checks(index: int, step: Slice, before: Shape, after: Shape) -> tuple[SliceCheck, ...]:
    """One check for each axis that is not plainly kept whole."""
    found: list[SliceCheck] = []
    for axis, (begin, extent, limit) in enumerate(zip(step.begin, after, before, strict=True)):
        whole = extent is limit or (isinstance(extent, int) and isinstance(limit, int) and extent == limit)
        if not (whole and isinstance(begin, int) and begin == 0):
            found.append(SliceCheck(index, axis, begin, extent, limit))
    return tuple(found)


def _retype_check(old: Trace, index: int, step: Retype, shape: Shape) -> RetypeCheck:
    new_bits = dtype_bits(step.dtype)
    refusal = step.refusal(old.shape, old.bits)
    group, domain = 1, shape
    if refusal is None and new_bits > old.bits:
        group = new_bits // old.bits
    elif refusal is None and new_bits < old.bits:
        group, domain = 2, (*old.shape[:-1], difference(old.shape[-1], 1))
    divisible = refusal is None and step.divisible(old.shape, old.bits)
    return RetypeCheck(index, shape, step.dtype, old.bits, new_bits, divisible, refusal, domain, group, old)


def is_symbolic(term: Term) -> bool:
    """Whether a term is no plain integer."""
    return isinstance(term, Expr)
