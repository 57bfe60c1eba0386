"""The vocabulary of copies of boxes: a tensor map describes global memory, a box of it is moved to or from an image in shared memory.

Box, coordinates and strides are written outer to inner. Element c of the image lies, before the swizzle, at origin + the sum of its coordinates
times the pitches; the swizzle then acts on the absolute address. A row is the innermost axis; rows follow each other row by row over all outer axes,
pitched at the bytes of a row, or, without interleave, at the span of the swizzle where that is longer.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pattern:
    """A swizzle: what would lie at the absolute byte address a lies at a ^ x, x the XOR of (a >> shift) & mask over `xors`.

    code: its number in the call and in the tensor map. span_bytes: the longest row it takes (0: any). period_bytes: an address counts modulo this.
    arch: the lowest architecture that has it, "" for that of the instruction.
    """

    code: int
    name: str
    span_bytes: int
    period_bytes: int
    xors: tuple[tuple[int, int], ...]
    arch: str = ""


@dataclass(frozen=True, slots=True)
class Interleave:
    """A layout in slices of channels: global axes (N, slices, spatial..., slice), one slice visited by an instruction.

    slice_bytes: the bytes of a slice. align_bytes: of the base and the outer strides. patterns: the codes of the swizzles it takes.
    """

    code: int
    slice_bytes: int
    align_bytes: int
    patterns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Format:
    """An element type of tensor maps: its name, its number there, the storage dtypes it is taken for (its own first), whether it has a NaN.

    rounded: whether what is loaded is rounded to it, to nearest even.
    """

    name: str
    code: int
    dtypes: tuple[str, ...]
    floating: bool = False
    rounded: bool = False


@dataclass(frozen=True, slots=True)
class Packing:
    """A format whose image is padded: every `values` elements fill the low `payload_bytes` of a block of `block_bytes`, the rest is undefined.

    row: the innermost extent of the box, whose multiples the innermost coordinate and extent of the tensor are. align_bytes: of the base and the
    outer strides. patterns: the codes of the swizzles it takes. It is loaded only.
    """

    format: str
    values: int
    payload_bytes: int
    block_bytes: int
    row: int
    align_bytes: int
    patterns: tuple[int, ...]
    arch: str


@dataclass(frozen=True, slots=True)
class Limits:
    """The ranges of a tensor map: box extents, element strides, extents and strides of the tensor, alignments in bytes."""

    box: int = 256
    element_stride: int = 8
    extent: int = 1 << 32
    stride_below_bytes: int = 1 << 40
    multiple_bytes: int = 16
    image_align_bytes: int = 128
    interleaved_ranks: tuple[int, ...] = (3, 4, 5)
    promotions: int = 4


@dataclass(frozen=True, slots=True)
class BoxCopy:
    """What an instruction does with a tensor map.

    rank: of the map. mode: "tile", or how rows are chosen. image, tensor: the operands in shared and in global memory (image None: nothing is
    moved there). store: whether global memory is written. rows: how many row coordinates are given one by one (0: the box has its own rows).
    types: the formats a reduction takes, None for any. offsets: how many further operands the mode has (im2col). modelled: whether the image of the mode is known here; no call is proved where it is not.
    """

    rank: int
    mode: str
    image: str | None
    tensor: str
    store: bool
    rows: int
    patterns: tuple[Pattern, ...]
    interleaves: tuple[Interleave, ...]
    formats: tuple[Format, ...]
    packing: Packing
    types: tuple[str, ...] | None = None
    offsets: int = 0
    modelled: bool = True
    limits: Limits = Limits()

    def asks(self, operand: str) -> str:
        """What is asked of the addresses of an operand, in words."""
        limits = self.limits
        if operand == self.tensor:
            return (
                f"the tensor of the map: one stride for each axis; address and outer strides at multiples of {limits.multiple_bytes} bytes"
            )
        return (
            f"the image of the box: rows that follow each other, or are the span of the swizzle apart where that is longer, then swizzled by absolute "
            f"address; it starts at a multiple of {limits.image_align_bytes} bytes"
        )

    @property
    def moves(self) -> str:
        """What is moved where, in words."""
        if not self.modelled:
            return f"the image of the mode {self.mode} is not modelled: no call of it is proved"
        there = f"{self.tensor}[{'rows' if self.rows else 'coords'} + c * element_strides]"
        if self.image is None:
            return f"nothing; {there} is read into L2"
        return f"{there} <- {self.image}[c]" if self.store else f"{self.image}[c] <- {there}, or the fill outside of {self.tensor}"

    def pattern(self, code: int) -> Pattern | None:
        """The swizzle with a number."""
        return next((one for one in self.patterns if one.code == code), None)

    def interleave(self, code: int) -> Interleave | None:
        """The interleaving with a number; None for 0 and unknown ones."""
        return next((one for one in self.interleaves if one.code == code), None)

    def format(self, name: str | None, dtype: str) -> Format | None:
        """The format of that name for a storage dtype, without a name its default one."""
        return next((one for one in self.formats if dtype in one.dtypes and name in {None, one.name}), None)
