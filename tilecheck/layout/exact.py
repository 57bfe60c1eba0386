"""Two questions about layouts, answered exactly: are they the same function, and do no two elements share a place."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as cartesian
from math import gcd

from tilecheck.layout.algebra import apply_linear, canonicalize, size
from tilecheck.layout.axes import AXES, STORAGE
from tilecheck.layout.poly import same
from tilecheck.layout.tile import Iter, Layout, TileLayout, base_tile, swizzled, swizzles
from tilecheck.symbolic.terms import Term

MAX_POINTS = 1 << 20


def equal(a: Layout, b: Layout) -> bool | None:
    """Whether a(i) == b(i) for every linear index i, on every axis; with replicas, whether the sets of places are equal.

    Equal normal forms decide equality of swizzle-free integer layouts and of layouts under the same swizzles (a bijection); other
    swizzles are compared on the bases of GF(2) where nothing carries, else point by point up to `MAX_POINTS`. None where that does not
    decide (symbols, or too many points).
    """
    left, right = canonicalize(a), canonicalize(b)
    if left == right:
        return True
    if not (_integral(left) and _integral(right)):
        return _equal_symbolic(left, right)
    if size(left) != size(right):
        return False
    if _chain(left) == _chain(right):
        return _equal_tiles(base_tile(left), base_tile(right))
    if not base_tile(left).replica and not base_tile(right).replica:
        bases = _bases(left), _bases(right)
        if bases[0] is not None and bases[1] is not None:
            return bases[0] == bases[1]
    return _equal_points(left, right)


def _integral(layout: Layout) -> bool:
    tile = base_tile(layout)
    factors = (*tile.shard, *tile.replica)
    return all(isinstance(one.extent, int) and isinstance(one.stride, int) for one in factors) and all(
        isinstance(v, int) for _, v in tile.offset
    )


def _chain(layout: Layout) -> tuple[tuple[int, int, int, bool], ...]:
    return tuple((one.per_element, one.swizzle_len, one.atom_len, one.swizzle_inner) for one in swizzles(layout))


def _equal_symbolic(a: Layout, b: Layout) -> bool | None:
    left, right = base_tile(a), base_tile(b)
    parts = ((left.shard, right.shard), (left.replica, right.replica))
    if _chain(a) != _chain(b) or any(len(x) != len(y) for x, y in parts):
        return None
    for x, y in parts:
        for one, two in zip(x, y, strict=True):
            if one.axis != two.axis or not same(one.extent, two.extent) or not same(one.stride, two.stride):
                return None
    first, second = dict(left.offset), dict(right.offset)
    return True if all(same(first.get(name, 0), second.get(name, 0)) for name in AXES) else None


def _equal_tiles(a: TileLayout, b: TileLayout) -> bool | None:
    """Shards equal in normal form, and offset + replicas equal as sets: a finite set is no translate of itself."""
    if a.shard != b.shard:
        return False
    if a.replica == b.replica:
        return dict(a.offset) == dict(b.offset)
    first, second = _places(a.replica, a.offset), _places(b.replica, b.offset)
    return None if first is None or second is None else first == second


def _places(replica: Sequence[Iter], offset: Sequence[tuple[str, Term]]) -> set[tuple[int, ...]] | None:
    """The set of displacements, as vectors over AXES."""
    start = dict(offset)
    found = {tuple(_int(start.get(name, 0)) for name in AXES)}
    for one in replica:
        if len(found) * _int(one.extent) > MAX_POINTS:
            return None
        at = AXES.index(one.axis)
        found = {(*v[:at], v[at] + k * _int(one.stride), *v[at + 1 :]) for v in found for k in range(_int(one.extent))}
    return found


def _int(value: Term) -> int:
    assert isinstance(value, int)
    return value


def _bases(layout: Layout) -> tuple[dict[str, int], ...] | None:
    """The places of index 0 and of the indices 2^k, if every index bit lands in storage bits of its own: these decide the function."""
    tile = base_tile(layout)
    used = {name: _int(value) for name, value in tile.offset}
    if any(value < 0 for value in used.values()):
        return None
    for one in tile.shard:
        extent, stride = _int(one.extent), _int(one.stride)
        if extent & (extent - 1) or stride < 0 or stride & (stride - 1):
            return None
        bits = (extent - 1) * stride
        if bits & used.get(one.axis, 0):
            return None
        used[one.axis] = used.get(one.axis, 0) | bits
    count = _int(size(layout)).bit_length() - 1
    return tuple(_place(layout, index) for index in (0, *(1 << k for k in range(count))))


def _place(layout: Layout, index: int) -> dict[str, int]:
    return {name: _int(value) for name, value in apply_linear(layout, index).items() if value}


def _equal_points(a: Layout, b: Layout) -> bool | None:
    images = [_images(a), _images(b)]
    if images[0] is None or images[1] is None:
        return None
    return images[0] == images[1]


def _images(layout: Layout) -> list[frozenset[tuple[int, ...]]] | None:
    """The set of places of each index in turn."""
    tile = base_tile(layout)
    places = _places(tile.replica, tile.offset)
    if places is None or _int(size(layout)) * len(places) > MAX_POINTS // 4:
        return None
    storage = AXES.index(STORAGE)
    found: list[frozenset[tuple[int, ...]]] = []
    for digits in cartesian(*(range(_int(one.extent)) for one in tile.shard)):
        vector = [0] * len(AXES)
        for digit, one in zip(digits, tile.shard, strict=True):
            vector[AXES.index(one.axis)] += digit * _int(one.stride)
        moved = [[x + y for x, y in zip(vector, place, strict=True)] for place in places]
        for one in moved:
            one[storage] = _int(swizzled(layout, one[storage]))
        found.append(frozenset(tuple(one) for one in moved))
    return found


def injective(layout: Layout) -> bool | None:
    """Whether no two different elements (replicas included) share a place.

    Swizzles are bijections of `m` and do not matter. Every factor moves one axis, so the axes are decided one by one: sorted by stride,
    each stride beyond the reach of the smaller ones is enough; else a search for digit differences d != 0 with sum d_j * stride_j = 0
    decides exactly. None for symbols, or when the search visits more than `MAX_POINTS` nodes.
    """
    tile = base_tile(layout)
    for one in tile.shard:
        if isinstance(one.extent, int) and one.extent > 1 and isinstance(one.stride, int) and one.stride == 0:
            return False
    if not _integral(TileLayout(tile.shard, tile.replica)):
        return None
    undecided = False
    for name in AXES:
        shard = [(abs(_int(one.stride)), _int(one.extent), True) for one in tile.shard if one.axis == name and one.effective]
        replica = [(abs(_int(one.stride)), _int(one.extent), False) for one in tile.replica if one.axis == name and one.effective]
        answer = _axis_injective(sorted(shard + replica)) if shard else True
        if answer is False:
            return False
        undecided |= answer is None
    return None if undecided else True


def _axis_injective(factors: list[tuple[int, int, bool]]) -> bool | None:
    reach = 0
    for stride, extent, _ in factors:
        if stride <= reach:
            break
        reach += stride * (extent - 1)
    else:
        return True
    return _search(factors)


def _search(factors: list[tuple[int, int, bool]]) -> bool | None:
    """False if differences d, |d_j| < extent_j, some shard d nonzero, add up to zero; depth first from the largest stride."""
    reach = [0]
    common = [0]
    for stride, extent, _ in factors:
        reach.append(reach[-1] + stride * (extent - 1))
        common.append(gcd(common[-1], stride))
    todo: list[tuple[int, int, bool]] = [(len(factors), 0, False)]
    visited = 0
    while todo:
        count, total, moved = todo.pop()
        visited += 1
        if visited > MAX_POINTS:
            return None
        if count == 0:
            if moved:
                return False
            continue
        stride, extent, owns = factors[count - 1]
        least = max(1 - extent, -((total + reach[count - 1]) // stride))
        most = min(extent - 1, (reach[count - 1] - total) // stride)
        for d in range(least, most + 1):
            value = total + d * stride
            if (value % common[count - 1] if common[count - 1] else value) == 0:
                todo.append((count - 1, value, moved or (owns and d != 0)))
        if len(todo) > MAX_POINTS:
            return None
    return True
