"""Layouts: shards, replicas and offsets on named axes, optionally seen through XOR swizzles of `m`; the `S[...]` and `R[...]` builders."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from tilecheck.errors import InputError
from tilecheck.layout.axes import STORAGE, Offset, OffsetLike, OnAxis, as_offset, axis
from tilecheck.symbolic.from_sympy import from_sympy, is_sympy
from tilecheck.symbolic.terms import Expr, Term, bit_and, mul, shl, shr, xor

MAX_FACTORS = 128
MAX_SWIZZLES = 16
MAX_SWIZZLE_BITS = 64
MAX_BITS = 256


def as_term(value: object, what: str) -> Term:
    """`value` as an integer term (strings are parsed); the InputError says that `what` must be one."""
    if type(value) is int and value.bit_length() <= MAX_BITS:
        return value
    if is_sympy(value):
        value = from_sympy(value)
    if isinstance(value, bool) or (isinstance(value, Expr) and value.is_truth):
        raise InputError(f"{what}: found a truth value, expected an integer")
    if isinstance(value, Expr):
        return value
    if isinstance(value, str):
        from tilecheck.symbolic.parse import parse

        return parse(value)
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InputError(f"{what}: found {type(value).__name__}, expected an integer or an expression") from None
    if number.bit_length() > MAX_BITS:
        raise InputError(f"{what}: found an integer of {number.bit_length()} bits, expected at most {MAX_BITS}")
    return number


@dataclass(frozen=True, slots=True)
class Iter:
    """One factor: coordinate c in [0, extent) adds c * stride to `axis` (elements on `m`, units of the coordinate elsewhere)."""

    extent: Term
    stride: Term
    axis: str = STORAGE

    def __post_init__(self) -> None:
        axis(self.axis)
        object.__setattr__(self, "extent", as_term(self.extent, "an extent"))
        object.__setattr__(self, "stride", as_term(self.stride, "a stride"))
        if isinstance(self.extent, int) and self.extent < 1:
            raise InputError(f"found the extent {self.extent}, expected at least 1")

    @property
    def effective(self) -> bool:
        """Whether the factor can move anything: an extent other than 1 and a stride other than 0."""
        return not (_is(self.extent, 1) or _is(self.stride, 0))


def _is(term: Term, value: int) -> bool:
    return isinstance(term, int) and term == value


NOWHERE = Offset(())


@dataclass(frozen=True, slots=True)
class Spec:
    """What `S[...]`, `R[...]` and their sums make: the parts of a TileLayout."""

    shard: tuple[Iter, ...] = ()
    replica: tuple[Iter, ...] = ()
    offset: Offset = NOWHERE

    def __post_init__(self) -> None:
        count = len(self.shard) + len(self.replica)
        if count > MAX_FACTORS:
            raise InputError(f"found a layout of {count} factors, expected at most {MAX_FACTORS}")

    def __add__(self, other: Spec | OffsetLike) -> Spec:
        if isinstance(other, Spec):
            return Spec(self.shard + other.shard, self.replica + other.replica, self.offset + other.offset)
        return Spec(self.shard, self.replica, self.offset + as_offset(other))

    def __radd__(self, other: OffsetLike) -> Spec:
        return Spec(self.shard, self.replica, as_offset(other) + self.offset)

    def __sub__(self, other: OffsetLike) -> Spec:
        return Spec(self.shard, self.replica, self.offset - as_offset(other))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class TileLayout:
    """Element i, written as lexicographic digits c_0 ... c_k of the shard extents, lies at offset + sum of c_j * stride_j, per axis.

    Each replica factor repeats that image at r * stride, r in [0, extent).
    """

    shard: tuple[Iter, ...]
    replica: tuple[Iter, ...]
    offset: tuple[tuple[str, Term], ...]

    def __init__(
        self, shard: Spec | Iterable[Iter] = (), replica: Iterable[Iter] = (), offset: Mapping[str, Term] | Iterable[tuple[str, Term]] = ()
    ) -> None:
        spec = shard if isinstance(shard, Spec) else Spec(tuple(shard))
        spec = Spec(spec.shard, spec.replica + tuple(replica), spec.offset)
        pairs: Iterable[tuple[str, Term]] = cast("Mapping[str, Term]", offset).items() if isinstance(offset, Mapping) else offset
        total = spec.offset
        for name, value in pairs:
            total += OnAxis(as_term(value, "an offset"), axis(name).name)
        object.__setattr__(self, "shard", spec.shard)
        object.__setattr__(self, "replica", spec.replica)
        object.__setattr__(self, "offset", total.terms)

    def __repr__(self) -> str:
        from tilecheck.layout.notation import format_layout

        return format_layout(self)


@dataclass(frozen=True, slots=True, repr=False)
class ComposeLayout:
    """`tile` seen through an XOR of `m`, with c = m >> per_element and mask = 2^swizzle_len - 1.

    inner: c ^ ((c >> atom_len) & mask); outer: c ^ ((c & mask) << atom_len); the low per_element bits stay. `tile` acts first.
    """

    per_element: int
    swizzle_len: int
    atom_len: int
    tile: TileLayout | ComposeLayout
    swizzle_inner: bool = True

    def __post_init__(self) -> None:
        for name in ("per_element", "swizzle_len", "atom_len"):
            value: object = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_SWIZZLE_BITS:
                raise InputError(f"found {name} {str(value)[:40]}, expected an integer from 0 to {MAX_SWIZZLE_BITS}")
        if self.atom_len < self.swizzle_len:
            raise InputError(f"found atom_len {self.atom_len} below swizzle_len {self.swizzle_len}, expected atom_len >= swizzle_len")
        if isinstance(self.tile, Spec):
            object.__setattr__(self, "tile", TileLayout(self.tile))
        if not isinstance(self.tile, TileLayout | ComposeLayout):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputError(f"found {type(self.tile).__name__} under a swizzle, expected a layout")
        if len(swizzles(self)) > MAX_SWIZZLES:
            raise InputError(f"found more than {MAX_SWIZZLES} swizzles on each other")

    def __repr__(self) -> str:
        from tilecheck.layout.notation import format_layout

        return format_layout(self)

    def swizzle(self, m: Term) -> Term:
        """The XOR alone: inner m ^ (((m >> (per_element + atom_len)) & mask) << per_element), outer with the shifts exchanged."""
        if self.swizzle_len == 0:
            return m
        mask = (1 << self.swizzle_len) - 1
        low, high = self.per_element, self.per_element + self.atom_len
        source, target = (high, low) if self.swizzle_inner else (low, high)
        return xor(m, shl(bit_and(shr(m, source), mask), target))


Layout = TileLayout | ComposeLayout


def swizzles(layout: Layout) -> tuple[ComposeLayout, ...]:
    """The swizzles of a layout in the order in which they act (the innermost, rightmost in the notation, first)."""
    found: list[ComposeLayout] = []
    while isinstance(layout, ComposeLayout):
        found.append(layout)
        layout = layout.tile
    return tuple(reversed(found))


def base_tile(layout: Layout) -> TileLayout:
    """The layout without its swizzles."""
    while isinstance(layout, ComposeLayout):
        layout = layout.tile
    return layout


def with_tile(layout: Layout, tile: TileLayout) -> Layout:
    """The same swizzles over another tile."""
    result: Layout = tile
    for one in swizzles(layout):
        result = ComposeLayout(one.per_element, one.swizzle_len, one.atom_len, result, one.swizzle_inner)
    return result


def map_layout(layout: Layout, change: Callable[[Term], Term]) -> Layout:
    """The layout with `change` applied to every extent, stride and offset."""
    tile = base_tile(layout)
    factors = [tuple(Iter(change(one.extent), change(one.stride), one.axis) for one in group) for group in (tile.shard, tile.replica)]
    return with_tile(layout, TileLayout(factors[0], factors[1], tuple((name, change(value)) for name, value in tile.offset)))


def swizzled(layout: Layout, m: Term) -> Term:
    """The storage offset after all swizzles of `layout`, in elements."""
    for one in swizzles(layout):
        m = one.swizzle(m)
    return m


def compact(shape: Iterable[Term]) -> TileLayout:
    """The row-major layout of `shape`: stride_j is the product of the extents behind j."""
    return TileLayout(_factors(tuple(shape), None))


def _factors(extents: tuple[object, ...], strides: tuple[object, ...] | None) -> tuple[Iter, ...]:
    if len(extents) > MAX_FACTORS:
        raise InputError(f"found {len(extents)} factors, expected at most {MAX_FACTORS}")
    sizes = [as_term(extent, "an extent") for extent in extents]
    if strides is None:
        running: Term = 1
        dense: list[Iter] = []
        for size in reversed(sizes):
            dense.append(Iter(size, running))
            running = mul(running, size)
        return tuple(reversed(dense))
    if len(strides) != len(sizes):
        raise InputError(f"found {len(sizes)} extents and {len(strides)} strides, expected as many strides as extents")
    found: list[Iter] = []
    for size, stride in zip(sizes, strides, strict=True):
        if isinstance(stride, OnAxis):
            found.append(Iter(size, stride.value, stride.axis))
        else:
            found.append(Iter(size, as_term(stride, "a stride")))
    return tuple(found)


def _tuple(value: object) -> tuple[object, ...]:
    if isinstance(value, tuple | list):
        return tuple(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return (value,)


class _Builder:
    """`S[shape:strides]`, `S[e1, e2]` (row-major compact), `S[e]`."""

    def __init__(self, *, replica: bool) -> None:
        self._replica = replica

    def __getitem__(self, key: object) -> Spec:
        if isinstance(key, slice):
            pair = cast("slice[object, object, object]", key)
            if pair.step is not None:
                raise InputError("found two colons, expected shape:strides")
            factors = _factors(_tuple(pair.start), _tuple(pair.stop))
        else:
            factors = _factors(_tuple(key), None)
        return Spec(replica=factors) if self._replica else Spec(factors)


S = _Builder(replica=False)
R = _Builder(replica=True)
