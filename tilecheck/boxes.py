"""The box of a call: its fields as given, and the image that follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import cast

from tilecheck.call import Call, Value
from tilecheck.layout.view import View
from tilecheck.spec.box import BoxCopy, Format, Interleave, Packing, Pattern
from tilecheck.spec.contract import Contract
from tilecheck.symbolic.terms import Term


@dataclass(frozen=True, eq=False)
class Box:
    """The fields of one call, outer to inner. dtype, bits: of the tensor operand. steps: one vector for each group and repeat axis."""

    copy: BoxCopy
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    coords: tuple[Term, ...]
    steps: tuple[tuple[Term, ...], ...]
    rows: tuple[Term, ...]
    swizzle: int
    interleave: int
    fill: int
    promotion: int
    format_name: str | None
    dtype: str
    bits: int

    @cached_property
    def pattern(self) -> Pattern | None:
        """The swizzle."""
        return self.copy.pattern(self.swizzle)

    @cached_property
    def slices(self) -> Interleave | None:
        """The interleaving, where there is one."""
        return self.copy.interleave(self.interleave)

    @cached_property
    def format(self) -> Format | None:
        """The element type of the tensor map."""
        return self.copy.format(self.format_name, self.dtype)

    @cached_property
    def packing(self) -> Packing | None:
        """How the image is padded, where it is."""
        return self.copy.packing if self.format is not None and self.format.name == self.copy.packing.format else None

    @cached_property
    def measured(self) -> bool:
        """Whether box and element strides have as many entries as the tensor map has dimensions, all of them positive."""
        rank = self.copy.rank
        return len(self.extents) == len(self.strides) == rank and min(*self.extents, *self.strides) > 0

    @cached_property
    def align_bytes(self) -> int:
        """The multiple of which the address and the outer strides of the tensor are, in bytes."""
        packed, sliced = self.packing, self.slices
        return packed.align_bytes if packed is not None else sliced.align_bytes if sliced is not None else self.copy.limits.multiple_bytes

    @cached_property
    def image(self) -> tuple[int, ...] | None:
        """The extents of the image, None where the fields give none."""
        if not self.measured:
            return None
        counts = tuple(-(-extent // stride) for extent, stride in zip(self.extents, self.strides, strict=True))
        if self.copy.rows:
            return (self.copy.rows, *counts[1:])
        if not self.interleave:
            return counts
        sliced = self.slices
        if sliced is None or self.copy.rank not in self.copy.limits.interleaved_ranks or 8 * sliced.slice_bytes % self.bits:
            return None
        return (counts[0], 1, *counts[2:], 8 * sliced.slice_bytes // self.bits)

    @cached_property
    def row_bits(self) -> int:
        """The bits of a row of the image, padding included."""
        assert self.image is not None
        packed = self.packing
        if packed is None:
            return self.image[-1] * self.bits
        return -(-self.image[-1] // packed.values) * 8 * packed.block_bytes

    @cached_property
    def pitches(self) -> tuple[int, ...]:
        """The bits between neighbours along each outer axis of the image."""
        assert self.image is not None
        span = self.pattern.span_bytes if self.pattern is not None and not self.interleave else 0
        pitch = max(self.row_bits, 8 * span)
        found: list[int] = []
        for extent in reversed(self.image[1:-1]):
            found.append(pitch)
            pitch *= extent
        return (*([pitch] if len(self.image) > 1 else []), *reversed(found))

    @property
    def inner(self) -> tuple[tuple[int, int], ...]:
        """The row axis as (extent, bits) digits, the most significant first."""
        assert self.image is not None
        packed = self.packing
        if packed is None or self.image[-1] <= packed.values:
            return ((self.image[-1], self.bits),)
        return ((self.image[-1] // packed.values, 8 * packed.block_bytes), (packed.values, self.bits))

    @property
    def transaction_bytes(self) -> int:
        """What one instruction adds to a barrier: the bytes of the image, without padding."""
        assert self.image is not None
        return prod(self.image) * self.bits // 8


def box_of(call: Call, contract: Contract) -> Box | None:
    """The box of a call whose operands and parameters are of the right kinds; None for an instruction without a box."""
    copy = contract.box
    if copy is None or len(call.operands) != len(contract.operands):
        return None
    place = next(k for k, spec in enumerate(contract.operands) if spec.name == copy.tensor)
    tensor = call.operands[place]
    if not isinstance(tensor, View):
        return None
    key = (contract.opcode, call.parameters, tensor.trace.dtype)
    known = _boxes.get(key)
    if known is None or known[0] is not copy:
        if len(_boxes) >= MOST_BOXES:
            _boxes.clear()
        known = _boxes[key] = (copy, _read(copy, dict(call.parameters), tensor))
    return known[1]


MOST_BOXES = 1024
_boxes: dict[tuple[str, tuple[tuple[str, Value], ...], str], tuple[BoxCopy, Box | None]] = {}
"""The boxes of calls seen before, by opcode, parameters and dtype."""


def _read(copy: BoxCopy, given: dict[str, Value], tensor: View) -> Box | None:
    box = given.get("box")
    if not isinstance(box, tuple):
        return None
    extents = numbers(box)
    ones = (1,) * copy.rank
    name = given.get("format")
    return Box(
        copy,
        extents,
        ones if given.get("element_strides") is None else numbers(given["element_strides"]),
        items(given.get("coords")),
        tuple(items(step) for step in items_of(given.get("coord_steps"))),
        items(given.get("gather4")),
        number(given.get("swizzle")),
        number(given.get("interleave")),
        number(given.get("oob_fill")),
        number(given.get("l2_promotion")),
        name if isinstance(name, str) else None,
        tensor.trace.dtype,
        tensor.trace.bits,
    )


def items_of(value: Value) -> tuple[Value, ...]:
    """A list parameter, () where none is given."""
    return value if isinstance(value, tuple) else ()


def items(value: Value) -> tuple[Term, ...]:
    """A list of terms."""
    return cast("tuple[Term, ...]", items_of(value))


def numbers(value: Value) -> tuple[int, ...]:
    """A list of integers; () where it is none."""
    found = items_of(value)
    return tuple(one for one in found if isinstance(one, int)) if all(isinstance(one, int) for one in found) else ()


def number(value: Value) -> int:
    """An integer, 0 where none is given."""
    return value if isinstance(value, int) else 0
