"""The named hardware coordinates a layout may send an element to, and the `1 @ laneid` notation."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from tilecheck.errors import InputError
from tilecheck.symbolic.terms import Expr, Term, add, mul

STORAGE = "m"
"""The storage offset, in elements of the tensor's dtype."""

THREAD_AXES = ("laneid", "warpid", "wid_in_wg", "wgid", "tid_in_wg", "tx", "cbx", "cby", "cbz")
"""Coordinates of the executing thread, its warp, its warpgroup and its CTA in the cluster."""

TMEM_AXES = ("TLane", "TCol")
"""Tensor memory: the lane, and the column in elements of the tensor's dtype."""

AXES = (STORAGE, *THREAD_AXES, *TMEM_AXES)


@dataclass(frozen=True, slots=True)
class OnAxis:
    """A number of units on one axis: what `1 @ laneid` makes; sums of them are offsets."""

    value: Term
    axis: str

    def __add__(self, other: OffsetLike) -> Offset:
        return Offset(((self.axis, self.value),)).__add__(other)

    def __radd__(self, other: Term) -> Offset:
        return Offset(((STORAGE, other),)) + self

    def __neg__(self) -> OnAxis:
        return OnAxis(mul(-1, self.value), self.axis)

    def __sub__(self, other: OffsetLike) -> Offset:
        return self + _negated(other)


@dataclass(frozen=True, slots=True)
class Offset:
    """A sum of values on axes, one entry an axis, zeros dropped."""

    terms: tuple[tuple[str, Term], ...]

    def __add__(self, other: OffsetLike) -> Offset:
        if not isinstance(other, OnAxis | Offset | int | Expr):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        found = dict(self.terms)
        for axis_name, value in as_offset(other).terms:
            found[axis_name] = add(found.get(axis_name, 0), value)
        return Offset(tuple((name, value) for name, value in found.items() if not (isinstance(value, int) and value == 0)))

    def __radd__(self, other: OnAxis | Term) -> Offset:
        return as_offset(other) + self

    def __sub__(self, other: OffsetLike) -> Offset:
        return self + _negated(other)


OffsetLike = OnAxis | Offset | Term


def as_offset(value: object) -> Offset:
    """An offset; a number without an axis is on `m`."""
    if isinstance(value, Offset):
        return value
    if isinstance(value, OnAxis):
        return Offset(((value.axis, value.value),))
    if isinstance(value, int | Expr) and not isinstance(value, bool):
        return Offset(((STORAGE, value),))
    raise InputError(f"found the offset {value!r}, expected an integer, an expression or `value @ axis`")


def _negated(value: OffsetLike) -> Offset:
    return Offset(tuple((name, mul(-1, term)) for name, term in as_offset(value).terms))


@dataclass(frozen=True, slots=True)
class Axis:
    """One named coordinate; `stride @ axis` puts a stride or an offset on it."""

    name: str

    def __rmatmul__(self, value: Term) -> OnAxis:
        return OnAxis(value, self.name)

    def __str__(self) -> str:
        return self.name


_BY_NAME = {name: Axis(name) for name in AXES}


def axis(name: str) -> Axis:
    """The axis called `name`; InputError with near matches for any other name."""
    found = _BY_NAME.get(name)
    if found is None:
        raise InputError(f"found the axis {name[:60]!r}, expected one of {', '.join(AXES)}{near(name, AXES)}")
    return found


def near(name: str, names: tuple[str, ...]) -> str:
    """A hint ` (did you mean ...?)`, or nothing."""
    close = difflib.get_close_matches(name[:60], names, n=3)
    return f" (did you mean {' or '.join(close)}?)" if close else ""
