"""The vocabulary of copies of boxes: a tensor map describes global memory, a box of it is moved to or from an image in shared memory.

Box, coordinates and strides are written outer to inner. Element c of the image lies, before the swizzle, at origin + the sum of its coordinates
times the pitches; the swizzle then acts on the absolute address. A row is the innermost axis; rows follow each other row by row over all outer axes,
pitched at the bytes of a row, or, without interleave, at the span of the swizzle where that is longer.

Where an instruction *walks* over pixels (im2col), the image has two axes, the pixels in the order in which they are visited and their channels. The tensor
is a batch of images: axes (batch, spatial..., channels), with interleave (batch, slices, spatial..., slice). The walk starts at the coordinates and goes
along the last spatial axis by its element stride; past the upper corner of the bounding box it goes on at the lower corner and one step along the axis
before, at last one step along the batch. What it reads of a pixel lies at its place plus the offsets.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilecheck.spec.grammar import arch_has, same_family


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
    """The ranges of a tensor map: box extents, element strides, extents and strides of the tensor, alignments in bytes.

    region_bytes: the most that the elements which the map describes as one box (or walk) may have, slices not counted (measured on an H200: 228 KiB).
    """

    box: int = 256
    element_stride: int = 8
    extent: int = 1 << 32
    stride_below_bytes: int = 1 << 40
    multiple_bytes: int = 16
    image_align_bytes: int = 128
    region_bytes: int = 228 << 10
    interleaved_ranks: tuple[int, ...] = (3, 4, 5)
    promotions: int = 4


@dataclass(frozen=True, slots=True)
class Walk:
    """How a mode visits pixels.

    spatial: how many axes the bounding box has, the last spatial ones. corner_bits: of a corner, a signed number; both are offsets, the lower one from
    the first and the upper one from the last pixel of an axis. offset_bits: of the offset along an axis, 0 where the mode has none.
    wide: it walks along the last spatial axis and the batch only; its two operands are how many halo pixels are loaded, less than `halo_below`, and the offset
    along that axis, less than `offset_below`. halo_every: after how many pixels the halo is loaded, 0: after all. pixels: how many are visited, 0: as a field says.
    patterns: the codes of the swizzles it takes, () for all. The limits are those of the fields.
    """

    spatial: int
    corner_bits: int
    offset_bits: int = 0
    wide: bool = False
    halo_below: int = 0
    halo_every: int = 0
    offset_below: int = 0
    pixels: int = 0
    patterns: tuple[int, ...] = ()
    most_channels: int = 256
    most_pixels: int = 1024


@dataclass(frozen=True, slots=True)
class BoxCopy:
    """What an instruction does with a tensor map.

    rank: of the map. mode: "tile", or how rows are chosen. image, tensor: the operands in shared and in global memory (image None: nothing is
    moved there). store: whether global memory is written. rows: how many row coordinates are given one by one (0: the box has its own rows).
    types: the formats a reduction takes, None for any. walk: how pixels are visited, None where there is a box. offsets: how many operands say by how much
    a walk is moved. basic: the families of architectures on which the instruction takes only formats and swizzles that need no architecture of their own,
    e.g. `sm_120f`.
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
    walk: Walk | None = None
    offsets: int = 0
    limits: Limits = Limits()
    basic: tuple[str, ...] = ()

    def has(self, arch: str, floor: str) -> bool:
        """Whether this instruction takes, on an architecture, a format or swizzle whose own floor is `floor` ("" for none)."""
        return not floor or (arch_has(arch, floor) and not any(same_family(arch, one) for one in self.basic))

    def needs(self, floor: str) -> str:
        """The architectures on which it takes a format or swizzle with that floor, in words."""
        return f"{floor} or later" + "".join(f", except the family of {family.rstrip('f')}" for family in self.basic)

    def asks(self, operand: str) -> str:
        """What is asked of the addresses of an operand, in words."""
        limits = self.limits
        if operand == self.tensor:
            return (
                f"the tensor of the map: one stride for each axis; address and outer strides at multiples of {limits.multiple_bytes} bytes; "
                "or, in the space tensormap, a map that the caller has encoded, whose fields the view states"
            )
        what = "box" if self.walk is None else "walk, pixel by pixel"
        return (
            f"the image of the {what}: rows that follow each other, or are the span of the swizzle apart where that is longer, then swizzled by absolute "
            f"address; it starts at a multiple of {limits.image_align_bytes} bytes"
        )

    @property
    def moves(self) -> str:
        """What is moved where, in words."""
        if self.walk is not None:
            return self._walked
        there = f"{self.tensor}[{'rows' if self.rows else 'coords'} + c * element_strides]"
        if self.image is None:
            return f"nothing; {there} is read into L2"
        return (
            f"{there} <- {self.image}[c]{self._combined}"
            if self.store
            else f"{self.image}[c] <- {there}, or the fill outside of {self.tensor}"
        )

    @property
    def _combined(self) -> str:
        return "" if self.types is None else f", combined with what stands there, elements of {', '.join(self.types)}"

    @property
    def _walked(self) -> str:
        moved = " + im2col_offsets" if self.offsets else ""
        there = f"{self.tensor}[pixel p of the walk from coords{moved}, channel coords + c]"
        if self.image is None:
            return f"nothing; {there} is read into L2"
        if self.store:
            return f"{there} <- {self.image}[p, c]{self._combined}"
        return f"{self.image}[p, c] <- {there}, or the fill outside of {self.tensor}"

    def pattern(self, code: int) -> Pattern | None:
        """The swizzle with a number."""
        return next((one for one in self.patterns if one.code == code), None)

    def interleave(self, code: int) -> Interleave | None:
        """The interleaving with a number; None for 0 and unknown ones."""
        return next((one for one in self.interleaves if one.code == code), None)

    def format(self, name: str | None, dtype: str) -> Format | None:
        """The format of that name for a storage dtype, without a name its default one."""
        return next((one for one in self.formats if dtype in one.dtypes and name in {None, one.name}), None)
