"""Views: the zero-copy steps from a declared tensor to an operand, followed backwards from a coordinate to a bit of storage.

Every step maps a place of the new view, a coordinate and a bit inside that element, to a place of the view before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from tilecheck.evaluate.expressions import Expression
from tilecheck.evaluate.layouts import FixedLayout, parse_layout

BITS = {
    "bool": 8,
    "int8": 8,
    "int16": 16,
    "int32": 32,
    "int64": 64,
    "uint8": 8,
    "uint16": 16,
    "uint32": 32,
    "uint64": 64,
    "float16": 16,
    "float32": 32,
    "float64": 64,
    "complex64": 64,
    "complex128": 128,
    "bfloat16": 16,
    "float8_e3m4": 8,
    "float8_e4m3": 8,
    "float8_e4m3b11fnuz": 8,
    "float8_e4m3fn": 8,
    "float8_e4m3fnuz": 8,
    "float8_e5m2": 8,
    "float8_e5m2fnuz": 8,
    "float8_e8m0fnu": 8,
    "float6_e2m3fn": 6,
    "float6_e3m2fn": 6,
    "float4_e2m1fn": 4,
    "int4": 4,
    "uint4": 4,
    "int2": 2,
    "uint2": 2,
    "int1": 1,
    "uint1": 1,
    "bits8": 8,
    "bits16": 16,
    "bits32": 32,
    "bits64": 64,
    "bits128": 128,
}

LANE_BITS = 512 * 32
"""The bits of one lane of tensor memory."""
Coordinate = tuple[int, ...]
Values = Mapping[str, int]
Back = Callable[[Coordinate, int], tuple[Coordinate, int]]
Extents = tuple[int | None, ...]  # None: known only once the symbols are


def width(dtype: str) -> int:
    """Bits of one element."""
    if dtype not in BITS:
        raise ValueError(f"unknown dtype {dtype!r}")
    return BITS[dtype]


def times(extents: Sequence[int | None]) -> int | None:
    """The product, None where a factor is unknown."""
    known = [extent for extent in extents if extent is not None]
    return prod(known) if len(known) == len(extents) else None


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the shape after it, and the way back. Values are None while symbols are unknown."""

    op: str
    expressions: tuple[Expression, ...]
    shape: Callable[[Extents, Values | None], Extents]
    back: Callable[[Coordinate, Coordinate, Values], Back]
    old_bits: int = 0
    new_bits: int = 0
    extents: Extents = ()


def known(expression: Expression, values: Values | None) -> int | None:
    """The value of an expression, None while its symbols are unknown."""
    return expression.constant if values is None else expression.value(values)


def slice_step(form: Mapping[str, Any]) -> Step:
    """slice(begin, extent): new[c] = old[begin + c]; a null extent keeps the axis."""
    begins = tuple(Expression(begin) for begin in form["begin"])
    extents: Extents = tuple(form["extent"])

    def shape(old: Extents, _values: Values | None) -> Extents:
        return tuple(before if extent is None else extent for before, extent in zip(old, extents, strict=True))

    def back(_old: Coordinate, _new: Coordinate, values: Values) -> Back:
        start = [begin.value(values) for begin in begins]
        return lambda coordinate, bit: (tuple(c + s for c, s in zip(coordinate, start, strict=True)), bit)

    return Step("slice", begins, shape, back, extents=extents)


def permute_step(form: Mapping[str, Any]) -> Step:
    """permute(order): axis k of the new view is axis order[k] of the old one."""
    order: list[int] = list(form["order"])
    place = [order.index(axis) for axis in range(len(order))]

    def shape(old: Extents, _values: Values | None) -> Extents:
        return tuple(old[axis] for axis in order)

    def back(_old: Coordinate, _new: Coordinate, _values: Values) -> Back:
        return lambda coordinate, bit: (tuple(coordinate[k] for k in place), bit)

    return Step("permute", (), shape, back)


def flat(coordinate: Sequence[int], shape: Sequence[int]) -> int:
    """The row-major number of a coordinate."""
    index = 0
    for c, extent in zip(coordinate, shape, strict=True):
        index = index * extent + c
    return index


def unflat(index: int, shape: Sequence[int]) -> Coordinate:
    """The coordinate of a row-major number; one past the end runs on in the first axis."""
    found: list[int] = []
    for extent in reversed(shape[1:]):
        index, digit = divmod(index, extent or 1)
        found.append(digit)
    return (index, *reversed(found)) if shape else ()


def reshape_step(form: Mapping[str, Any]) -> Step:
    """reshape(shape): the same elements, row-major."""
    extents = tuple(Expression(extent) for extent in form["shape"])

    def shape(_old: Extents, values: Values | None) -> Extents:
        return tuple(known(extent, values) for extent in extents)

    def back(old: Coordinate, new: Coordinate, _values: Values) -> Back:
        return lambda coordinate, bit: (unflat(flat(coordinate, new), old), bit)

    return Step("reshape", extents, shape, back)


def broadcast_step(form: Mapping[str, Any]) -> Step:
    """broadcast(shape): axes of extent 1 repeat, new leading axes ignore their coordinate."""
    extents = tuple(Expression(extent) for extent in form["shape"])

    def shape(_old: Extents, values: Values | None) -> Extents:
        return tuple(known(extent, values) for extent in extents)

    def back(old: Coordinate, new: Coordinate, _values: Values) -> Back:
        lead = len(new) - len(old)
        moving = [before == after for before, after in zip(old, new[lead:], strict=True)]
        return lambda coordinate, bit: (tuple(c if m else 0 for c, m in zip(coordinate[lead:], moving, strict=True)), bit)

    return Step("broadcast", extents, shape, back)


def view_step(form: Mapping[str, Any], old_bits: int) -> Step:
    """view(dtype): the bits of the last axis, cut into elements of another width."""
    new_bits = width(form["dtype"])

    def shape(old: Extents, _values: Values | None) -> Extents:
        return (*old[:-1], None if old[-1] is None else old[-1] * old_bits // new_bits)

    def back(_old: Coordinate, _new: Coordinate, _values: Values) -> Back:
        def one(coordinate: Coordinate, bit: int) -> tuple[Coordinate, int]:
            position = coordinate[-1] * new_bits + bit
            return (*coordinate[:-1], position // old_bits), position % old_bits

        return one

    return Step("view", (), shape, back, old_bits, new_bits)


def rearrange_step(form: Mapping[str, Any]) -> Step:
    """rearrange(pattern, sizes): einops patterns, "(r m) w -> m r w"."""
    left, right = (_groups(side) for side in str(form["pattern"]).split("->"))
    given: Mapping[str, Any] = form.get("sizes") or {}
    sizes = {str(name): Expression(size) for name, size in given.items()}

    def named(old: Extents, values: Values | None) -> dict[str, int | None]:
        found: dict[str, int | None] = {name: known(size, values) for name, size in sizes.items()}
        for group, extent in zip(left, old, strict=True):
            missing = [name for name in group if name not in found]
            rest = times([found[name] for name in group if name in found])
            if len(missing) > 1:
                raise ValueError(f"sizes of {missing} are not given in {form['pattern']!r}")
            if missing:
                found[missing[0]] = None if extent is None or rest is None else extent // max(rest, 1)
        return found

    def shape(old: Extents, values: Values | None) -> Extents:
        found = named(old, values)
        return tuple(times([found[name] for name in group]) for group in right)

    def back(old: Coordinate, _new: Coordinate, values: Values) -> Back:
        found = {name: extent or 0 for name, extent in named(old, values).items()}
        inner = [[found[name] for name in group] for group in left]
        outer = [[found[name] for name in group] for group in right]

        def one(coordinate: Coordinate, bit: int) -> tuple[Coordinate, int]:
            digits: dict[str, int] = {}
            for c, group, extents in zip(coordinate, right, outer, strict=True):
                digits.update(zip(group, unflat(c, extents), strict=True))
            return tuple(flat([digits.get(n, 0) for n in group], ext) for group, ext in zip(left, inner, strict=True)), bit

        return one

    return Step("rearrange", tuple(sizes.values()), shape, back)


def _groups(side: str) -> list[list[str]]:
    """The axes of one side of a pattern, each a list of names; `1` and `()` are axes of extent 1."""
    tokens = re.findall(r"\([^()]*\)|[^\s()]+", side)
    return [[name for name in token.strip("()").split() if name != "1"] for token in tokens]


STEPS = {"slice": slice_step, "permute": permute_step, "reshape": reshape_step, "broadcast": broadcast_step, "rearrange": rearrange_step}


class View:
    """An operand of a call: a declared tensor and its steps."""

    def __init__(self, form: Mapping[str, Any]) -> None:
        self.space = str(form["space"])
        self.dtype = str(form["dtype"])
        self.bits = self.declared_bits = width(self.dtype)
        self.shape = tuple(Expression(extent) for extent in form["shape"])
        self.layout = parse_layout(str(form["layout"]))
        steps: list[Step] = []
        for step in form.get("view") or ():
            if step["op"] == "view":
                steps.append(view_step(step, self.bits))
                self.dtype, self.bits = str(step["dtype"]), steps[-1].new_bits
            elif step["op"] in STEPS:
                steps.append(STEPS[step["op"]](step))
            else:
                raise ValueError(f"unknown view step {step['op']!r}")
        self.steps = tuple(steps)
        self.memo: dict[tuple[int, ...], FixedView] = {}

    def declared(self) -> Iterator[Expression]:
        """The expressions of the declared tensor."""
        yield from self.shape
        yield from self.layout.expressions()

    def starts(self) -> Iterator[Expression]:
        """The expressions of the steps."""
        for step in self.steps:
            yield from step.expressions

    @cached_property
    def indices(self) -> tuple[Expression, ...]:
        """Every expression an address depends on."""
        return (*self.declared(), *self.starts())

    @cached_property
    def declared_names(self) -> frozenset[str]:
        """The names the declared tensor depends on."""
        return frozenset(name for expression in self.declared() for name in expression.names)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names an address depends on, sorted."""
        return tuple(sorted({name for expression in self.indices for name in expression.names}))

    @cached_property
    def static_shape(self) -> Extents:
        """The final shape; None for an extent that depends on symbols."""
        shape: Extents = tuple(extent.constant for extent in self.shape)
        for step in self.steps:
            shape = step.shape(shape, None)
        return shape

    @cached_property
    def refused(self) -> bool:
        """Whether a dtype view does not divide the last axis, so that there is no shape after it."""
        shape: Extents = tuple(extent.constant for extent in self.shape)
        for step in self.steps:
            if step.op == "view" and shape[-1] is not None and shape[-1] * step.old_bits % step.new_bits:
                return True
            shape = step.shape(shape, None)
        return False

    def fixed(self, values: Values) -> FixedView:
        """The view in numbers. LimitError where an expression has no value."""
        key = tuple(values[name] for name in self.names)
        if key not in self.memo:
            self.memo[key] = FixedView(self, values)
        return self.memo[key]

    def tensor(self, values: Values) -> FixedLayout:
        """The declared layout in numbers."""
        return self.layout.fixed(values, [extent.value(values) for extent in self.shape])


class FixedView:
    """A view under one assignment of everything it depends on."""

    def __init__(self, view: View, values: Values) -> None:
        self.view = view
        self.values = dict(values)
        self.layout = view.tensor(values)
        self.shapes: list[Coordinate] = [self.layout.shape]
        self.backs: list[Back] = []
        self.slots: dict[Coordinate, int] = {}  # what clauses have found out before
        self.taken: dict[object, set[tuple[int, int]]] = {}
        self.in_range = False
        self.outside: list[tuple[int, str, str]] | None = None
        for step in view.steps:
            old = self.shapes[-1]
            new = tuple(extent or 0 for extent in step.shape(old, values))
            self.backs.append(step.back(old, new, values))
            self.shapes.append(new)

    def source(self, coordinate: Coordinate, bit: int = 0, level: int | None = None) -> tuple[Coordinate, int]:
        """The declared element and the bit in it under a bit of an element of the view after `level` steps (None: all)."""
        for back in reversed(self.backs[:level]):
            coordinate, bit = back(coordinate, bit)
        return coordinate, bit

    def linear(self, declared: Coordinate) -> int:
        """The offset of a declared element before swizzles, in elements of the declared dtype; in tensor memory from column 0 of its lane."""
        return self.layout.value(declared, "m") + self._column(declared)

    def element(self, declared: Coordinate) -> int:
        """The offset of a declared element after swizzles."""
        return self.layout.swizzled(self.layout.value(declared, "m")) + self._column(declared)

    def _column(self, declared: Coordinate) -> int:
        return self.layout.value(declared, "TCol") if self.view.space == "tmem" else 0

    def address(self, coordinate: Coordinate, bit: int = 0, level: int | None = None) -> int:
        """The bit offset from the base of a bit of an element; in tensor memory lane k begins at bit k * 512 * 32."""
        declared, bit = self.source(coordinate, bit, level)
        lane = self.layout.value(declared, "TLane") * LANE_BITS if self.view.space == "tmem" else 0
        return self.element(declared) * self.view.declared_bits + bit + lane

    def cell(self, coordinate: Coordinate) -> tuple[int, int]:
        """(lane, bit from column 0) of an element in tensor memory."""
        declared, bit = self.source(coordinate)
        return self.layout.value(declared, "TLane"), self.element(declared) * self.view.declared_bits + bit

    def axis(self, coordinate: Coordinate, axis: str) -> int:
        """What the layout says of a thread axis for an element."""
        return self.layout.value(self.source(coordinate)[0], axis)
