"""The canonical form of most views: every axis a list of (extent, axis, stride) factors, one start. What a strided form says is exact.

A view that has none (an axis cut inside a factor, a symbolic extent or stride, a slice that may leave its axis) gives None: its trace decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import gcd, prod

from tilecheck.layout.axes import STORAGE
from tilecheck.layout.dtypes import dtype_bits
from tilecheck.layout.steps import Broadcast, Permute, Rearrange, Reshape, Retype, Slice
from tilecheck.layout.tile import base_tile, swizzles
from tilecheck.layout.trace import Trace
from tilecheck.symbolic.domain import Env, Known, known
from tilecheck.symbolic.terms import Expr, Term

Factor = tuple[int, str, int]
"""Digit d in [0, extent) adds d * stride to an axis: bits on `m` (and on TCol, which is `m` here), units of the coordinate elsewhere. An extent is never 1."""
Axis = tuple[Factor, ...]
"""The digits of one coordinate, the most significant first."""


class NoStridedForm(Exception):  # noqa: N818 (control flow inside this package)
    """The view has no strided form, or none that these rules find."""


class Strided:
    """Element (c0, c1, ...) of the view lies at `start` + the sum of its digits times their strides, before the swizzles.

    axes: the digits of each coordinate. start: known values of the constant part (bits on `m`). other: the constant on each other axis that the
    declared layout writes, 0 included: an axis that a slice cuts to one coordinate is written all the same.
    lanes: begins on lanes of tensor memory that are no numbers, each with the lanes that one adds. far: the greatest begin that is written as a number. bits: of one element. fine: the XORs permute aligned blocks of so many bits as wholes (0: no swizzle).
    """

    __slots__ = ("axes", "bits", "far", "fine", "lanes", "other", "start")

    def __init__(
        self,
        axes: tuple[Axis, ...],
        start: Known,
        other: dict[str, int],
        bits: int,
        fine: int,
        far: int,
        lanes: tuple[tuple[Term, int], ...] = (),
    ) -> None:
        self.axes = axes
        self.start = start
        self.other = other
        self.bits = bits
        self.fine = fine
        self.far = far
        self.lanes = lanes

    def ends(self) -> tuple[int, int]:
        """The lowest and the highest first bit of an element, before the swizzles."""
        low, high = self.start.low, self.start.high
        for axis in self.axes:
            for extent, name, stride in axis:
                if name == STORAGE:
                    far = (extent - 1) * stride
                    low, high = (low + far, high) if far < 0 else (low, high + far)
        return low, high

    @property
    def storage_only(self) -> bool:
        """Whether no thread axis is written."""
        return not self.other and all(name == STORAGE for axis in self.axes for _, name, _ in axis)


def strided(trace: Trace, ground: Callable[[Term], Term], env: Env, memo: dict[Term, Known] | None = None) -> Strided | None:
    """The strided form of a traced view whose begins are as `env` says, or None.

    ground: takes a begin to base variables and symbols. memo: what is known of terms under `env`, to which more is added.
    """
    try:
        return _Builder(trace, ground, env, {} if memo is None else memo).build()
    except NoStridedForm:
        return None


def coalesced(factors: Iterable[Factor]) -> list[Factor]:
    """The same digits in as few factors as possible: (e1, e2*s), (e2, s) is (e1*e2, s)."""
    result: list[Factor] = []
    for factor in factors:
        if result:
            extent, name, stride = result[-1]
            if name == factor[1] and stride == factor[0] * factor[2]:
                result[-1] = (extent * factor[0], name, factor[2])
                continue
        result.append(factor)
    return result


def injective(factors: Iterable[tuple[int, int]], width: int) -> bool:
    """Whether elements of `width` at the sums of digits (extent, stride) never overlap: each stride passes all that lies under it."""
    reach = width
    for stride, extent in sorted((abs(stride), extent) for extent, stride in factors):
        if stride < reach:
            return False
        reach += (extent - 1) * stride
    return True


class _Builder:
    def __init__(self, trace: Trace, ground: Callable[[Term], Term], env: Env, memo: dict[Term, Known]) -> None:
        self.trace, self.ground, self.env, self.memo = trace, ground, env, memo
        self.bits = dtype_bits(trace.tensor.dtype)
        self.constant: dict[str, int] = {}
        self.begins: list[tuple[Known, int]] = []
        self.lanes: list[tuple[Term, int]] = []
        self.declared = self.bits
        self.fine = 0
        self.far = 0

    def build(self) -> Strided:
        layout = self.trace.tensor.layout
        columns = "TCol" if self.trace.tensor.space == "tmem" else STORAGE  # columns of tensor memory are storage
        tile = base_tile(layout)
        for one in swizzles(layout):
            if one.swizzle_len:
                if columns != STORAGE:
                    raise NoStridedForm
                keeps = self.declared << one.per_element
                self.fine = keeps if not self.fine else min(self.fine, keeps)
        factors: list[Factor] = []
        for one in tile.shard:
            extent, stride = one.extent, one.stride
            if isinstance(extent, Expr) or isinstance(stride, Expr):
                raise NoStridedForm
            if extent != 1:
                name = STORAGE if one.axis == columns else one.axis
                if stride and name != STORAGE:
                    self.constant.setdefault(name, 0)
                factors.append((extent, name, stride * self.declared if name == STORAGE else stride))
        for name, value in tile.offset:
            if isinstance(value, Expr):
                raise NoStridedForm
            name = STORAGE if name == columns else name  # noqa: PLW2901
            self.constant[name] = self.constant.get(name, 0) + (value * self.declared if name == STORAGE else value)
        axes = _regrouped(factors, self.trace.tensor.shape)
        for stage in self.trace.stages:
            step = stage.step
            if isinstance(step, Slice):
                axes = self.sliced(axes, step, stage.before)
            elif isinstance(step, Permute):
                axes = [axes[k] for k in step.order]
            elif isinstance(step, Rearrange):
                fitted = stage.fitted
                assert fitted is not None
                atoms = _regrouped_axes(axes, stage.before, fitted.left)
                axes = _regrouped_axes([atoms[k] for k in fitted.order], fitted.right, stage.after)
            elif isinstance(step, Reshape):
                axes = _regrouped_axes(axes, stage.before, stage.after)
            elif isinstance(step, Broadcast):
                axes = _broadcast(axes, stage.before, stage.after)
            else:
                axes = self.retyped(axes, step)
        kept = tuple(tuple(axis) for axis in axes)
        return Strided(kept, self.start(), self.others(), self.trace.bits, self.fine, self.far, tuple(self.lanes))

    def start(self) -> Known:
        low = high = residue = self.constant.get(STORAGE, 0)
        modulus = 0
        for one, factor in self.begins:
            ends = (one.low * factor, one.high * factor)
            low, high = low + min(ends), high + max(ends)
            modulus, residue = gcd(modulus, one.modulus * factor), residue + one.residue * factor
        return Known(low, high, modulus, residue % modulus if modulus else residue)

    def others(self) -> dict[str, int]:
        return {name: value for name, value in self.constant.items() if name != STORAGE}

    def sliced(self, axes: list[list[Factor]], step: Slice, before: Sequence[Term]) -> list[list[Factor]]:
        result: list[list[Factor]] = []
        for factors, begin, extent, limit in zip(axes, step.begin, step.extent, before, strict=True):
            if isinstance(limit, Expr):
                raise NoStridedForm
            wanted = limit if extent is None else extent
            if isinstance(begin, int):
                if begin < 0 or begin + wanted > limit:
                    raise NoStridedForm
                self.far = max(self.far, begin)
                result.append(factors if wanted == limit else self.cut(coalesced(factors), begin, wanted))
                continue
            grounded = self.ground(begin)
            one = known(grounded, self.env, self.memo)
            if one.low < 0 or one.high + wanted > limit:
                raise NoStridedForm
            result.append(self.cut_at(coalesced(factors), one, wanted, grounded))
        return result

    def cut(self, factors: list[Factor], begin: int, extent: int) -> list[Factor]:
        """`extent` elements from a constant on."""
        if not factors:
            return []
        (_, name, stride), rest = factors[0], factors[1:]
        inner = prod(size for size, _, _ in rest)
        first, within = divmod(begin, inner)
        if within == 0 and extent % inner == 0:
            self.add(name, first * stride)
            return rest if extent == inner else [(extent // inner, name, stride), *rest]
        if within + extent > inner:
            raise NoStridedForm
        self.add(name, first * stride)
        return self.cut(rest, within, extent)

    def cut_at(self, factors: list[Factor], begin: Known, extent: int, term: Term) -> list[Factor]:
        """`extent` elements from a begin that is not constant: whole inner digits, so that it is a multiple of what lies under it."""
        if not factors:
            return []
        (_, name, stride), rest = factors[0], factors[1:]
        inner = prod(size for size, _, _ in rest)
        if name not in {STORAGE, "TLane"} or stride % inner or extent % inner or not begin.divisible(inner):
            raise NoStridedForm
        if name == "TLane":
            self.lanes.append((term, stride // inner))
        else:
            self.begins.append((begin, stride // inner))
        return rest if extent == inner else [(extent // inner, name, stride), *rest]

    def add(self, name: str, value: int) -> None:
        if value:
            self.constant[name] = self.constant.get(name, 0) + value

    def retyped(self, axes: list[list[Factor]], step: Retype) -> list[list[Factor]]:
        new, old = dtype_bits(step.dtype), self.bits
        if new == old:
            return axes
        if self.trace.refusal is not None or not axes:
            raise NoStridedForm
        last = coalesced(axes[-1])
        if new < old:
            if len(last) > 1 or (last and last[0][1:] != (STORAGE, old)):
                raise NoStridedForm
            size = last[0][0] if last else 1
            self.bits = new
            return [*axes[:-1], [(size * (old // new), STORAGE, new)]]
        group = new // old
        if not last or last[-1][1:] != (STORAGE, old) or last[-1][0] % group:
            raise NoStridedForm
        rest = last[-1][0] // group
        kept = [*axes[:-1], [*last[:-1], *([(rest, STORAGE, new)] if rest != 1 else [])]]
        whole = all(stride % new == 0 for axis in kept for _, name, stride in axis if name == STORAGE)
        if not whole or not self.start().divisible(new) or (self.fine and self.fine % new):
            raise NoStridedForm
        self.bits = new
        return kept


def _regrouped(factors: Sequence[Factor], extents: Sequence[Term]) -> list[list[Factor]]:
    """The digits of a row-major index taken apart into coordinates of other extents."""
    plain = _one_each(factors, extents)
    if plain is not None:
        return plain
    source = coalesced(factors)
    result: list[list[Factor]] = []
    for target in reversed(extents):
        if isinstance(target, Expr):
            raise NoStridedForm
        own: list[Factor] = []
        left = target
        while left > 1:
            if not source:
                raise NoStridedForm
            extent, name, stride = source.pop()
            if left % extent == 0:
                own.append((extent, name, stride))
                left //= extent
            elif extent % left == 0:
                own.append((left, name, stride))
                source.append((extent // left, name, stride * left))
                left = 1
            else:
                raise NoStridedForm
        own.reverse()
        result.append(own)
    result.reverse()
    return result


def _one_each(factors: Sequence[Factor], extents: Sequence[Term]) -> list[list[Factor]] | None:
    """The coordinates where each is one digit (or none, of extent 1); None where one is not."""
    result: list[list[Factor]] = []
    used = 0
    for extent in extents:
        if isinstance(extent, Expr):
            return None
        if extent == 1:
            result.append([])
        elif used < len(factors) and factors[used][0] == extent:
            result.append([factors[used]])
            used += 1
        else:
            return None
    return result if used == len(factors) else None


def _regrouped_axes(axes: list[list[Factor]], before: Sequence[Term], after: Sequence[Term]) -> list[list[Factor]]:
    return axes if before == after else _regrouped([factor for axis in axes for factor in axis], after)


def _broadcast(axes: list[list[Factor]], before: Sequence[Term], after: Sequence[Term]) -> list[list[Factor]]:
    front = len(after) - len(before)
    result: list[list[Factor]] = []
    for k, new in enumerate(after):
        if isinstance(new, Expr):
            raise NoStridedForm
        old = 1 if k < front else before[k - front]
        result.append(([(new, STORAGE, 0)] if new != 1 else []) if old == 1 else axes[k - front])
    return result
