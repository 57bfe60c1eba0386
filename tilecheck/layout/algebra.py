"""Layouts as functions: applying, normal forms, grouping, slicing, tiling, packing, as `tvm.tirx.layout` means them.

Where that implementation departs from its own equations (thread strides scaled by pack, offsets left unscaled, floor-divided strides),
the equation holds here. A layout operation that has no exact answer is an InputError, never a guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilecheck.errors import InputError
from tilecheck.layout.axes import STORAGE
from tilecheck.layout.digits import Sum, coordinate, free, regroup
from tilecheck.layout.poly import difference, product, quotient, same
from tilecheck.layout.span import span
from tilecheck.layout.steps import shape_text
from tilecheck.layout.tile import ComposeLayout, Iter, Layout, TileLayout, base_tile, compact, swizzled, swizzles, with_tile
from tilecheck.symbolic.terms import Term, floordiv, mul

__all__ = [
    "apply",
    "apply_linear",
    "canonicalize",
    "group",
    "pack",
    "permute",
    "permute_groups",
    "size",
    "slice",
    "span",
    "tile",
    "tile_to",
    "unpack",
]


def size(layout: Layout) -> Term:
    """The number of logical elements: the product of the shard extents (replicas add none)."""
    return product(one.extent for one in base_tile(layout).shard)


def apply_linear(layout: Layout, index: Term) -> dict[str, Term]:
    """Axis -> offset + sum of digit_j * stride_j, the digits of `index` row-major in the shard extents; `m` after the swizzles."""
    return _located(layout, [(coordinate(index, size(layout)), size(layout))])


def apply(layout: Layout, coords: Sequence[Term], shape: Sequence[Term] | None = None) -> dict[str, Term]:
    """`apply_linear` at the row-major index of `coords` in `shape` (the shard extents when None); coordinates are assumed in range."""
    extents = [one.extent for one in base_tile(layout).shard] if shape is None else list(shape)
    if len(coords) != len(extents):
        raise InputError(f"found {len(coords)} coordinates, expected {len(extents)}")
    if not same(product(extents), size(layout)):
        raise InputError(f"found the shape {shape_text(extents)}, expected {size(layout)} elements, those of the layout")
    return _located(layout, [(coordinate(value, extent), extent) for value, extent in zip(coords, extents, strict=True)])


def _located(layout: Layout, digits: Sequence[tuple[Sum, Term]]) -> dict[str, Term]:
    shard = base_tile(layout).shard
    sums: dict[str, Sum] = {}
    for one, value in zip(shard, regroup(digits, [one.extent for one in shard], {}), strict=True):
        sums[one.axis] = sums.get(one.axis, Sum()).plus(value.scaled(one.stride))
    for name, value in base_tile(layout).offset:
        sums[name] = sums.get(name, Sum()).plus(free(value, {}))
    found = {name: value.term() for name, value in sums.items()}
    if STORAGE in found or swizzles(layout):
        found[STORAGE] = swizzled(layout, found.get(STORAGE, 0))
    return found


def canonicalize(layout: Layout) -> Layout:
    """The same function in normal form: no unit factors, zero strides on `m`, a:b*s next to b:s fused to a*b:s, replicas fused and sorted.

    Two swizzle-free layouts with integer extents and strides and no replicas are the same function exactly when these forms are equal.
    """
    tile = base_tile(layout)
    shard = fused(tile.shard) or (Iter(1, 1),)
    replica, extra = _replicas(tile.replica)
    plain = TileLayout(shard, replica, (*tile.offset, *extra))
    result: Layout = plain
    for one in swizzles(layout):
        if one.swizzle_len:
            result = ComposeLayout(one.per_element, one.swizzle_len, one.atom_len, result, one.swizzle_inner)
    return result


def fused(factors: Sequence[Iter]) -> tuple[Iter, ...]:
    """The factors without units, zero strides moved to `m`, neighbours a:b*s, b:s on one axis joined to a*b:s."""
    found: list[Iter] = []
    for one in factors:
        if isinstance(one.extent, int) and one.extent == 1:
            continue
        name = STORAGE if isinstance(one.stride, int) and one.stride == 0 else one.axis
        last = found[-1] if found else None
        if last is not None and last.axis == name and same(last.stride, mul(one.extent, one.stride)):
            found[-1] = Iter(mul(last.extent, one.extent), one.stride, name)
        else:
            found.append(Iter(one.extent, one.stride, name))
    return tuple(found)


def _replicas(factors: Sequence[Iter]) -> tuple[tuple[Iter, ...], tuple[tuple[str, Term], ...]]:
    """The same set of displacements: no ineffective factors, positive strides (the shift goes to the offset), sorted and fused."""
    shift: list[tuple[str, Term]] = []
    kept: list[Iter] = []
    for one in factors:
        if not one.effective:
            continue
        if isinstance(one.stride, int) and isinstance(one.extent, int) and one.stride < 0:
            shift.append((one.axis, (one.extent - 1) * one.stride))
            kept.append(Iter(one.extent, -one.stride, one.axis))
        else:
            kept.append(one)
    if all(isinstance(one.stride, int) for one in kept):
        kept.sort(key=lambda one: (one.axis, one.stride), reverse=True)
    return fused(kept), tuple(shift)


def group(layout: Layout, shape: Sequence[Term]) -> tuple[Layout, tuple[int, ...]]:
    """The same function with its factors split so that factors [seps[k], seps[k+1]) make up axis k of `shape`; (layout, seps).

    InputError where a boundary of `shape` cuts a factor unevenly.
    """
    tile = base_tile(layout)
    source = [one for one in tile.shard if not same(one.extent, 1)]
    groups: list[list[Iter]] = []
    for extent in reversed(shape):
        taken: list[Iter] = []
        left = extent
        while not same(left, 1):
            one = source.pop() if source else None
            rest = None if one is None else quotient(left, one.extent)
            cut = None if one is None else quotient(one.extent, left)
            if one is not None and rest is not None:
                taken.append(one)
                left = rest
            elif one is not None and cut is not None:
                taken.append(Iter(left, one.stride, one.axis))
                source.append(Iter(cut, mul(left, one.stride), one.axis))
                left = 1
            else:
                raise InputError(f"found the shape {shape_text(shape)}, expected one whose axes do not cut the factors of {tile}")
        groups.append(taken[::-1] or [Iter(1, 1)])
    if source:
        raise InputError(f"found the shape {shape_text(shape)} of {product(shape)} elements, expected {size(layout)}, those of {tile}")
    groups.reverse()
    seps = [0]
    for one in groups:
        seps.append(seps[-1] + len(one))
    return with_tile(layout, TileLayout([one for part in groups for one in part], tile.replica, tile.offset)), tuple(seps)


def permute(layout: Layout, order: Sequence[int]) -> Layout:
    """Factor k of the result is factor order[k]."""
    tile = base_tile(layout)
    if sorted(order) != list(range(len(tile.shard))):
        raise InputError(f"found the order {list(order)}, expected each of the {len(tile.shard)} factors once")
    return with_tile(layout, TileLayout([tile.shard[k] for k in order], tile.replica, tile.offset))


def permute_groups(layout: Layout, seps: Sequence[int], order: Sequence[int]) -> Layout:
    """`permute` of whole groups of factors, separated as `group` says."""
    if sorted(order) != list(range(len(seps) - 1)):
        raise InputError(f"found the order {list(order)}, expected each of the {len(seps) - 1} groups once")
    return permute(layout, [k for one in order for k in range(seps[one], seps[one + 1])])


def tile(inner: Layout, outer: TileLayout, outer_shape: Sequence[Term], inner_shape: Sequence[Term]) -> Layout:
    """T(o_1, i_1, ..., o_n, i_n) = inner(i) + span(inner) * outer(o), per axis and before the swizzles of `inner`.

    `outer`'s replicas and offset scale with its shards. Strides and offsets must not be negative, or copies would overlap.
    """
    if len(outer_shape) != len(inner_shape):
        raise InputError(f"found {len(outer_shape)} outer and {len(inner_shape)} inner extents, expected as many")
    base = base_tile(inner)
    for one in (*base.shard, *base.replica, *outer.shard, *outer.replica):
        if isinstance(one.stride, int) and one.stride < 0:
            raise InputError(f"found the negative stride {one.stride}, expected none in a tiling")
    scale: dict[str, Term] = {}

    def scaled(one: Iter) -> Iter:
        if one.axis not in scale:
            scale[one.axis] = span(base, one.axis)
        return Iter(one.extent, mul(scale[one.axis], one.stride), one.axis)

    inside, inside_seps = group(TileLayout(fused(base.shard)), inner_shape)
    outside, outside_seps = group(TileLayout(fused(outer.shard)), outer_shape)
    shard: list[Iter] = []
    for k in range(len(outer_shape)):
        shard += [scaled(one) for one in base_tile(outside).shard[outside_seps[k] : outside_seps[k + 1]]]
        shard += base_tile(inside).shard[inside_seps[k] : inside_seps[k + 1]]
    replica = [*base.replica, *(scaled(one) for one in outer.replica)]
    offset = [*base.offset, *((name, mul(span(base, name), value)) for name, value in outer.offset)]
    return canonicalize(with_tile(inner, TileLayout(shard, replica, offset)))


def tile_to(layout: Layout, to_shape: Sequence[Term], current_shape: Sequence[Term]) -> Layout:
    """`tile` by the row-major layout of to_shape / current_shape, which must divide."""
    counts: list[Term] = []
    for whole, part in zip(to_shape, current_shape, strict=True):
        count = quotient(whole, part)
        if count is None:
            raise InputError(f"found {shape_text(to_shape)}, expected multiples of {shape_text(current_shape)}")
        counts.append(count)
    return tile(layout, compact(counts), counts, current_shape)


def _packed_axis(base: TileLayout, num: int) -> str:
    last = base.shard[-1] if base.shard else Iter(1, 1)
    whole = quotient(last.extent, num) is not None
    if not (whole and isinstance(last.stride, int) and last.stride == 1 and last.axis in (STORAGE, "TCol")):
        raise InputError(
            f"found the last factor {last.extent}:{last.stride}@{last.axis}, expected stride 1 in storage and an extent divisible by {num}"
        )
    return last.axis


def pack(layout: Layout, num: int) -> Layout:
    """`num` neighbours become one element: packed(i) = layout(num * i) / num on the storage axis; other axes stay.

    The last factor needs stride 1 and an extent divisible by `num`, every other stride and offset of that axis divisibility by `num`,
    a swizzle a power of two not above 2^per_element (per_element falls by log2 num).
    """
    base = base_tile(layout)
    along = _packed_axis(base, num)

    def divided(value: Term, name: str) -> Term:
        if name != along:
            return value
        found = quotient(value, num)
        if found is None:
            raise InputError(f"found {value} on {name}, expected a multiple of {num} to pack by {num}")
        return found

    last = base.shard[-1]
    shard = [Iter(one.extent, divided(one.stride, one.axis), one.axis) for one in base.shard[:-1]]
    shard.append(Iter(floordiv(last.extent, num) if quotient(last.extent, num) is None else _quotient(last.extent, num), 1, along))
    replica = [Iter(one.extent, divided(one.stride, one.axis), one.axis) for one in base.replica]
    packed = TileLayout(shard, replica, [(name, divided(value, name)) for name, value in base.offset])
    return _rescaled(layout, packed, -_log2(layout, num))


def _quotient(value: Term, by: int) -> Term:
    found = quotient(value, by)
    assert found is not None
    return found


def unpack(layout: Layout, num: int) -> Layout:
    """Each element becomes `num` neighbours: unpacked(num * i + j) = num * layout(i) + j on `m`; other axes stay."""
    if num < 1:
        raise InputError(f"found {num}, expected a positive number of elements")
    base = base_tile(layout)

    def times(value: Term, name: str) -> Term:
        return mul(num, value) if name == STORAGE else value

    shard = [*(Iter(one.extent, times(one.stride, one.axis), one.axis) for one in base.shard), Iter(num, 1)]
    replica = [Iter(one.extent, times(one.stride, one.axis), one.axis) for one in base.replica]
    return _rescaled(layout, TileLayout(shard, replica, [(name, times(value, name)) for name, value in base.offset]), _log2(layout, num))


def _log2(layout: Layout, num: int) -> int:
    if swizzles(layout) and (num < 1 or num & (num - 1)):
        raise InputError(f"found {num}, expected a power of two under a swizzle")
    return num.bit_length() - 1


def _rescaled(layout: Layout, tile: TileLayout, shift: int) -> Layout:
    result: Layout = tile
    for one in swizzles(layout):
        if one.per_element + shift < 0:
            raise InputError(
                f"found per_element {one.per_element}, expected at least {-shift}: the elements packed together must stay together"
            )
        result = ComposeLayout(one.per_element + shift, one.swizzle_len, one.atom_len, result, one.swizzle_inner)
    return result


def slice(layout: Layout, shape: Sequence[Term], region: Sequence[tuple[Term, Term]]) -> Layout | None:  # noqa: A001 (its name in the algebra)
    """The layout of the elements with begin_k <= c_k < end_k of the row-major `shape`: sliced(c) = layout(begin + c).

    None where no such layout was found: the interval cuts several factors, or a symbolic begin cuts one. The begin goes into the offset
    before the swizzles, so the slice keeps its phase.
    """
    if len(shape) != len(region):
        raise InputError(f"found {len(region)} intervals, expected {len(shape)}, one an axis")
    whole = base_tile(layout)
    grouped, seps = group(with_tile(layout, TileLayout(fused(whole.shard), whole.replica, whole.offset)), shape)
    base = base_tile(grouped)
    shard: list[Iter] = []
    offset: list[tuple[str, Term]] = list(base.offset)
    for k, (begin, end) in enumerate(region):
        found = _interval(fused(base.shard[seps[k] : seps[k + 1]]), begin, end)
        if found is None:
            return None
        shard += found[0]
        offset += found[1].items()
    return with_tile(grouped, TileLayout(shard, base.replica, offset))


def _interval(factors: tuple[Iter, ...], begin: Term, end: Term) -> tuple[list[Iter], Mapping[str, Term]] | None:
    """The factors and the offset of indices [begin, end) of one group."""
    extent = difference(end, begin)
    if isinstance(extent, int) and extent < 1:
        raise InputError(f"found the interval {begin}:{end}, expected a positive extent")
    if not factors:
        return [], {}
    if len(factors) == 1:
        one = factors[0]
        return [Iter(extent, one.stride, one.axis)], {one.axis: mul(begin, one.stride)}
    if not isinstance(begin, int) or not isinstance(extent, int) or not all(isinstance(one.extent, int) for one in factors):
        return None
    whole = TileLayout(factors)
    at_begin = apply_linear(whole, begin)
    below = 1
    for k in reversed(range(len(factors))):
        size_k = factors[k].extent
        assert isinstance(size_k, int)
        if begin % below == 0 and extent % below == 0:
            digit, count = begin // below % size_k, extent // below
            if digit + count <= size_k:
                return [Iter(count, factors[k].stride, factors[k].axis), *factors[k + 1 :]], at_begin
            half = size_k - digit
            if count == 2 * half:
                return _across(whole, begin, half * below, [Iter(half, factors[k].stride, factors[k].axis), *factors[k + 1 :]])
        below *= size_k
    return None


def _across(whole: TileLayout, begin: int, half: int, lower: list[Iter]) -> tuple[list[Iter], Mapping[str, Term]] | None:
    """Two equal halves on both sides of a boundary: one factor of extent 2, if they differ on one axis only."""
    first, second = apply_linear(whole, begin), apply_linear(whole, begin + half)
    steps = {name: value - first[name] for name, value in second.items() if value != first[name]}
    if len(steps) > 1:
        return None
    name, step = next(iter(steps.items()), (STORAGE, 0))
    return [Iter(2, step, name), *lower], first
