"""A layout and its view steps in plain ints, written without the library: every element is the tuple of its 4-bit cells.

A cell is (axes, address): the values on the thread axes, and the address in units of 4 bits from the tensor's base.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

GRAIN = 4

Cell = tuple[tuple[tuple[str, int], ...], int]
Factor = tuple[int, int, str]
Swizzle = tuple[int, int, int, bool]
Grid = dict[tuple[int, ...], tuple[Cell, ...]]


def digits(index: int, extents: Sequence[int]) -> list[int]:
    """Row-major digits, the last fastest."""
    found = []
    for extent in reversed(extents):
        found.append(index % extent)
        index //= extent
    return found[::-1]


def ravel(coords: Sequence[int], extents: Sequence[int]) -> int:
    index = 0
    for coordinate, extent in zip(coords, extents, strict=True):
        index = index * extent + coordinate
    return index


def swizzle(m: int, one: Swizzle) -> int:
    """The equation of DESIGN on the chunk number."""
    per_element, length, atom, inner = one
    low, c = m % (1 << per_element), m >> per_element
    mask = (1 << length) - 1
    c = c ^ ((c >> atom) & mask) if inner else c ^ ((c & mask) << atom)
    return (c << per_element) + low


def place(index: int, factors: Sequence[Factor], offset: dict[str, int], chain: Sequence[Swizzle]) -> tuple[dict[str, int], int]:
    """The values on thread axes that are written effectively, and m after the swizzles (first one first)."""
    values = dict.fromkeys([axis for extent, stride, axis in factors if extent != 1 and stride != 0], 0)
    for axis, value in offset.items():
        if value:
            values[axis] = value
    for digit, (_, stride, axis) in zip(digits(index, [extent for extent, _, _ in factors]), factors, strict=True):
        if axis in values:
            values[axis] += digit * stride
    m = values.pop("m", 0)
    for one in chain:
        m = swizzle(m, one)
    return values, m


def grid(shape: Sequence[int], bits: int, factors: Sequence[Factor], offset: dict[str, int], chain: Sequence[Swizzle]) -> Grid:
    """Every element of a tensor."""
    found: Grid = {}
    width = bits // GRAIN
    for coords in product(*map(range, shape)):
        values, m = place(ravel(coords, shape), factors, offset, chain)
        axes = tuple(sorted(values.items()))
        found[coords] = tuple((axes, m * width + k) for k in range(width))
    return found


def shape_of(cells: Grid) -> tuple[int, ...]:
    return tuple(extent + 1 for extent in map(max, zip(*cells, strict=True))) if next(iter(cells)) else ()


def slice_(cells: Grid, begin: Sequence[int], extent: Sequence[int]) -> Grid:
    return {c: cells[tuple(b + x for b, x in zip(begin, c, strict=True))] for c in product(*map(range, extent))}


def permute(cells: Grid, order: Sequence[int]) -> Grid:
    return {tuple(c[k] for k in order): value for c, value in cells.items()}


def reshape(cells: Grid, shape: Sequence[int]) -> Grid:
    old = shape_of(cells)
    return {tuple(digits(ravel(c, old), shape)): value for c, value in cells.items()}


def broadcast(cells: Grid, shape: Sequence[int]) -> Grid:
    old = shape_of(cells)
    found: Grid = {}
    for c in product(*map(range, shape)):
        tail = c[len(shape) - len(old) :]
        found[c] = cells[tuple(0 if extent == 1 else x for x, extent in zip(tail, old, strict=True))]
    return found


def retype(cells: Grid, bits: int) -> Grid:
    """Cells along the last axis joined and cut anew."""
    shape = shape_of(cells)
    width = bits // GRAIN
    found: Grid = {}
    for head in product(*map(range, shape[:-1])):
        line = [cell for k in range(shape[-1]) for cell in cells[(*head, k)]]
        assert len(line) % width == 0
        for k in range(len(line) // width):
            found[(*head, k)] = tuple(line[k * width : (k + 1) * width])
    return found


def sound(cells: Grid, bits: int) -> bool:
    """Whether every element is one aligned run of bits on one thread."""
    width = bits // GRAIN
    return all(
        cell[0] == run[0][0] and cell[1] == run[0][1] + k and run[0][1] % width == 0 for run in cells.values() for k, cell in enumerate(run)
    )


def factorisations(total: int) -> list[tuple[int, ...]]:
    """A few ordered factorisations of a number."""
    found: list[tuple[int, ...]] = [(total,)]
    for first in range(2, total):
        if total % first == 0:
            found.extend((first, *rest) for rest in factorisations(total // first))
    assert all(prod(one) == total for one in found)
    return found
