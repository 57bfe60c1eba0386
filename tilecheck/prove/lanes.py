"""The lane that holds an element of a collective, as a sum of digits of its atom coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product

from tilecheck.layout.strided import Axis
from tilecheck.spec.contract import AtomAxis
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Expr, Term

Digit = tuple[int, int]
"""Digit d in [0, extent) adds d * weight to the lane. An extent is never 1."""
Piece = tuple[int, str, int, int]
"""Digit d in [0, extent) adds d * stride to an axis of the layout and d * weight to the lane: (extent, axis, stride, weight)."""


@lru_cache(maxsize=1024)
def lane_digits(lane: Term | None, atom: tuple[AtomAxis, ...]) -> tuple[tuple[Digit, ...], ...] | None:
    """The digits of each atom axis, the most significant first, whose sum is the lane at every coordinate; None where there are none.

    Without a lane every axis is one digit of weight 0.
    """
    if lane is None:
        return tuple(((axis.extent, 0),) if axis.extent > 1 else () for axis in atom)
    lane = terms.normal(lane)
    alone = _summands(lane, atom)
    if alone is not None:
        found = [_digits(column) for column in alone]
        return None if any(one is None for one in found) else tuple(one for one in found if one is not None)
    names = tuple(axis.name for axis in atom)
    values = {
        point: terms.evaluate(lane, dict(zip(names, point, strict=True))) for point in product(*(range(axis.extent) for axis in atom))
    }
    alone = [[values[tuple(c if k == own else 0 for k in range(len(atom)))] for c in range(atom[own].extent)] for own in range(len(atom))]
    if any(value != sum(column[c] for column, c in zip(alone, point, strict=True)) for point, value in values.items()):
        return None
    found = [_digits(column) for column in alone]
    return None if any(one is None for one in found) else tuple(one for one in found if one is not None)


def _summands(lane: Term, atom: tuple[AtomAxis, ...]) -> list[list[int]] | None:
    """What each axis adds to a sum whose summands are about one axis each; None for any other term."""
    parts = terms.children(lane) if isinstance(lane, Expr) and lane.op == "+" else (lane,)
    columns = {axis.name: [0] * axis.extent for axis in atom}
    for part in parts:
        names = terms.variables(part)
        if len(names) > 1 or (not names and part != 0):
            return None
        for name in names:
            column = columns[name]
            for c in range(len(column)):
                column[c] += terms.evaluate(part, {name: c})
    return list(columns.values())


def _digits(values: list[int]) -> tuple[Digit, ...] | None:
    """values[c] as the sum of the digits of c times weights."""
    if values[0] != 0:
        return None
    if len(values) == 1:
        return ()
    weight, size = values[1], len(values)
    extent = next(e for e in range(size, 1, -1) if size % e == 0 and values[:e] == [weight * c for c in range(e)]) if size > 1 else 1
    outer = values[::extent]
    if any(value != outer[c // extent] + weight * (c % extent) for c, value in enumerate(values)):
        return None
    rest = _digits(outer)
    return None if rest is None else (*rest, (extent, weight))


def atom_pieces(factors: Sequence[Axis], lane: Term | None, atom: tuple[AtomAxis, ...]) -> list[Piece] | None:
    """The common refinement of the atom axes of a view and the digits of the lane; None where there is none."""
    digits = lane_digits(lane, atom)
    found: list[Piece] = []
    for axis, own in zip(factors, digits, strict=True) if digits is not None else ():
        split = pieces(axis, own)
        if split is None:
            return None
        found.extend(split)
    return None if digits is None else found


def pieces(factors: Axis, digits: tuple[Digit, ...]) -> list[Piece] | None:
    """The common refinement of the factors of an axis and its digits, the most significant first; None where one cuts the other inside."""
    left, right = list(factors), list(digits)
    found: list[Piece] = []
    while left and right:
        (extent, name, stride), (size, weight) = left.pop(), right.pop()
        common = min(extent, size)
        if extent % common or size % common:
            return None
        found.append((common, name, stride, weight))
        if extent > common:
            left.append((extent // common, name, stride * common))
        if size > common:
            right.append((size // common, weight * common))
    return None if left or right else found[::-1]
