"""How far a layout reaches on an axis, exactly, through swizzles too."""

from __future__ import annotations

from collections.abc import Sequence

from tilecheck.errors import InputError
from tilecheck.layout.axes import STORAGE
from tilecheck.layout.tile import ComposeLayout, Layout, base_tile, swizzled, swizzles
from tilecheck.symbolic.terms import Term, add, maximum, minimum, mul, shl, shr, sub

MAX_POINTS = 1 << 20


def limits(layout: Layout, axis: str = STORAGE) -> tuple[Term, Term]:
    """The smallest and the largest value that an element (or a replica of it) has on `axis`, before the swizzles.

    offset + the sum of min(0, (extent - 1) * stride), or max, over the factors of that axis; 0, 0 for an axis not written.
    """
    tile = base_tile(layout)
    low: Term = 0
    high: Term = 0
    for name, value in tile.offset:
        if name == axis:
            low, high = value, value
    for one in (*tile.shard, *tile.replica):
        if one.axis == axis and one.effective:
            far = mul(sub(one.extent, 1), one.stride)
            positive = isinstance(one.stride, int) and one.stride > 0
            negative = isinstance(one.stride, int) and one.stride < 0
            high = high if negative else add(high, far if positive else maximum(0, far))
            low = low if positive else add(low, far if negative else minimum(0, far))
    return low, high


def span(layout: Layout, axis: str = STORAGE) -> Term:
    """The largest value on `axis` plus 1; for `m` the largest value after the swizzles plus 1, in elements.

    Exact. For a symbolic layout under a swizzle it is rounded up to a whole swizzle block, which no element leaves.
    """
    high = limits(layout, axis)[1]
    chain = [one for one in swizzles(layout) if one.swizzle_len]
    if axis != STORAGE or not chain:
        return add(high, 1)
    block = max(_top_bit(one) for one in chain)
    tile = base_tile(layout)
    factors = [one for one in (*tile.shard, *tile.replica) if one.axis == STORAGE and one.effective]
    numbers = [(one.extent, one.stride) for one in factors if isinstance(one.extent, int) and isinstance(one.stride, int)]
    start = dict(tile.offset).get(STORAGE, 0)
    if not isinstance(high, int) or not isinstance(start, int) or len(numbers) < len(factors):
        return shl(add(shr(high, block), 1), block)
    return _largest(layout, start, numbers, high) + 1


def _top_bit(one: ComposeLayout) -> int:
    """Bits at and above this one stay as they are."""
    return one.per_element + one.swizzle_len + (0 if one.swizzle_inner else one.atom_len)


def _largest(layout: Layout, start: int, factors: Sequence[tuple[int, int]], high: int) -> int:
    """The largest swizzled value.

    A swizzle permutes aligned blocks of 2^block elements, so only elements of the last block count; and it keeps the lower `fine` bits,
    so of a run of neighbours only the last of each aligned 2^fine counts.
    """
    chain = [one for one in swizzles(layout) if one.swizzle_len]
    block, fine = max(_top_bit(one) for one in chain), min(one.per_element for one in chain)
    positive = sorted((abs(stride), extent) for extent, stride in factors)
    low = start + sum((extent - 1) * stride for extent, stride in factors if stride < 0)
    run = 1
    gaps: list[tuple[int, int]] = []
    for stride, extent in positive:
        if stride <= run:
            run += (extent - 1) * stride
        else:
            gaps.append((stride, extent))
    threshold = high >> block << block
    rest = sum((extent - 1) * stride for stride, extent in gaps)
    begins = {low}
    for stride, extent in reversed(gaps):
        rest -= (extent - 1) * stride
        reached: set[int] = set()
        for begin in begins:
            least = max(0, -((begin + rest + run - 1 - threshold) // stride))
            reached.update(begin + stride * k for k in range(least, extent))
            _afford(len(reached))
        begins = reached
    best = None
    for begin in begins:
        first, last = max(begin, threshold), begin + run - 1
        _afford((last >> fine) - (first >> fine) + len(begins))
        for chunk in range(first >> fine, (last >> fine) + 1):
            value = swizzled(layout, min(last, (chunk << fine) + (1 << fine) - 1))
            assert isinstance(value, int)
            best = value if best is None or value > best else best
    assert best is not None
    return best


def _afford(points: int) -> None:
    if points > MAX_POINTS:
        raise InputError(f"the span through this swizzle takes more than {MAX_POINTS} points to compute, expected a swizzle of fewer bits")
