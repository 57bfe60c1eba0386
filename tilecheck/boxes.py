"""The box of a call: its fields as given, and the image that follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import cast

from tilecheck.call import Call, Value
from tilecheck.layout.view import View
from tilecheck.once import once
from tilecheck.spec.box import BoxCopy, Format, Interleave, Packing, Pattern, Walk
from tilecheck.spec.contract import Contract
from tilecheck.symbolic.terms import Term


@dataclass(frozen=True, slots=True)
class Walked:
    """The fields of a walk over pixels. lower, upper: the corners, outer to inner. pixels: how many are visited, the halo of a wide mode not counted."""

    mode: Walk
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    channels: int
    pixels: int
    offsets: tuple[Term, ...]

    @property
    def halo(self) -> Term:
        """The halo pixels that are loaded beside the others, 0 where there are none or none is given."""
        return self.offsets[0] if self.mode.wide and self.offsets else 0

    @property
    def plain(self) -> bool:
        """Whether the image may be known: the halo is not written as a number other than 0."""
        return not isinstance(self.halo, int) or self.halo == 0


def offset_limits(walked: Walked) -> tuple[tuple[str, int], ...]:
    """The operands that move a walk: what each is, and what it stays below."""
    mode = walked.mode
    if mode.wide:
        return (("wHalo", mode.halo_below), ("wOffset", mode.offset_below))
    return tuple((f"im2col_offsets[{k}]", 1 << mode.offset_bits) for k in range(mode.spatial if mode.offset_bits else 0))


@dataclass(frozen=True, eq=False)
class Box:
    """The fields of one call, outer to inner. dtype, bits: of the tensor operand. steps: one vector for each group and repeat axis.

    extents: of the box; of a walk over pixels the channels of one alone.
    """

    copy: BoxCopy
    walked: Walked | None
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

    @once
    def pattern(self) -> Pattern | None:
        """The swizzle."""
        return self.copy.pattern(self.swizzle)

    @once
    def slices(self) -> Interleave | None:
        """The interleaving, where there is one."""
        return self.copy.interleave(self.interleave)

    @once
    def format(self) -> Format | None:
        """The element type of the tensor map."""
        return self.copy.format(self.format_name, self.dtype)

    @once
    def packing(self) -> Packing | None:
        """How the image is padded, where it is."""
        return self.copy.packing if self.format is not None and self.format.name == self.copy.packing.format else None

    @once
    def measured(self) -> bool:
        """Whether box and element strides have as many entries as the tensor map has dimensions, all of them positive."""
        rank = self.copy.rank
        extents = self.extents if self.walked is None else (*self.extents, self.walked.pixels)
        right = len(self.extents) == (rank if self.walked is None else 1) and len(self.strides) == rank
        return right and min(*extents, *self.strides) > 0

    @once
    def align_bytes(self) -> int:
        """The multiple of which the address and the outer strides of the tensor are, in bytes."""
        packed, sliced = self.packing, self.slices
        return packed.align_bytes if packed is not None else sliced.align_bytes if sliced is not None else self.copy.limits.multiple_bytes

    def asked_bytes(self, operand: str) -> int:
        """The bytes modulo which the base of an operand has a say: for the image the period of the swizzle, and the alignment of an origin."""
        if operand == self.copy.tensor:
            return self.align_bytes
        return max(self.copy.limits.image_align_bytes, self.pattern.period_bytes if self.pattern is not None else 0)

    @once
    def spatial(self) -> range:
        """The axes of the tensor that the bounding box of a walk has, the last one the fastest."""
        assert self.walked is not None
        last = self.copy.rank - (0 if self.interleave else 1)
        return range(last - self.walked.mode.spatial, last)

    @once
    def image(self) -> tuple[int, ...] | None:
        """The extents of the image, None where the fields give none."""
        if not self.measured:
            return None
        if self.walked is not None:
            row = self._slice if self.interleave else self.walked.channels
            return None if row is None or not self.walked.plain else (self.walked.pixels, row)
        counts = tuple(-(-extent // stride) for extent, stride in zip(self.extents, self.strides, strict=True))
        if self.copy.rows:
            return (self.copy.rows, *counts[1:])
        if not self.interleave:
            return counts
        return None if self._slice is None else (counts[0], 1, *counts[2:], self._slice)

    @once
    def _slice(self) -> int | None:
        """The elements of a slice, None where there is none of this dtype in this rank."""
        sliced = self.slices
        if sliced is None or self.copy.rank not in self.copy.limits.interleaved_ranks or 8 * sliced.slice_bytes % self.bits:
            return None
        return 8 * sliced.slice_bytes // self.bits

    @once
    def row_bits(self) -> int:
        """The bits of a row of the image, padding included."""
        assert self.image is not None
        packed = self.packing
        if packed is None:
            return self.image[-1] * self.bits
        return -(-self.image[-1] // packed.values) * 8 * packed.block_bytes

    @once
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
    def region_bits(self) -> int:
        """The bits of the elements that the map describes as one box or walk, slices not counted."""
        if self.walked is not None:
            return self.walked.channels * self.walked.pixels * self.bits
        return prod(-(-extent // stride) for extent, stride in zip(self.extents, self.strides, strict=True)) * self.bits

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
    walked = None if copy.walk is None else _walked(copy.walk, given)
    box = given.get("box")
    if not isinstance(box, tuple) and walked is None:
        return None
    ones = (1,) * copy.rank
    name = given.get("format")
    return Box(
        copy,
        walked,
        numbers(box) if walked is None else (walked.channels,),
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


def _walked(walk: Walk, given: dict[str, Value]) -> Walked:
    corners = [numbers(given.get(f"pixel_box_{which}_corner")) for which in ("lower", "upper")]
    pixels = walk.pixels or number(given.get("pixels_per_column"))
    return Walked(walk, corners[0], corners[1], number(given.get("channels_per_pixel")), pixels, items(given.get("im2col_offsets")))


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
