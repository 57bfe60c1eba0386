"""What an instruction that moves a box names: the origin of the image, 32-bit coordinates, and the tensor map that the host encodes, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from tilecheck.boxes import Box, Walked, box_of
from tilecheck.emit.arithmetic import exact_quotient, known, simplified
from tilecheck.emit.binding import Binding, Bound
from tilecheck.emit.errors import EmissionError
from tilecheck.layout.poly import common, difference
from tilecheck.layout.tile import swizzles
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Expr, Term


@dataclass(frozen=True, slots=True)
class PixelBox:
    """What the map of a walk says in place of a box; corners innermost first. wide: "" or the suffix of CU_TENSOR_MAP_IM2COL_WIDE_MODE_."""

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    channels: int
    pixels: int
    wide: str = ""


@dataclass(frozen=True, slots=True)
class TensorMap:
    """The arguments of cuTensorMapEncodeTiled, or with `walk` those of cuTensorMapEncodeIm2col or cuTensorMapEncodeIm2colWide; dimension 0 innermost.

    start: bytes from the base of the allocation to globalAddress. Extents in elements, strides in bytes; a symbolic one is text over the symbols.
    box_dim: empty where there is a walk.
    """

    tensor: str
    data_type: int
    rank: int
    start: int | str
    global_dim: tuple[int | str, ...]
    global_strides: tuple[int | str, ...]
    box_dim: tuple[int, ...]
    element_strides: tuple[int, ...]
    interleave: int
    swizzle: int
    l2_promotion: int
    oob_fill: int
    walk: PixelBox | None = None

    @property
    def function(self) -> str:
        """The driver's function that makes it."""
        return "cuTensorMapEncode" + ("Tiled" if self.walk is None else "Im2colWide" if self.walk.wide else "Im2col")

    @property
    def region(self) -> dict[str, object]:
        """The arguments between strides and element strides, by the names of the driver's parameters."""
        walk = self.walk
        if walk is None:
            return {"boxDim": self.box_dim}
        counts = {"channelsPerPixel": walk.channels, "pixelsPerColumn": walk.pixels}
        if walk.wide:
            return {"pixelBoxLowerCornerWidth": walk.lower[0], "pixelBoxUpperCornerWidth": walk.upper[0], **counts}
        return {"pixelBoxLowerCorner": walk.lower, "pixelBoxUpperCorner": walk.upper, **counts}

    def __str__(self) -> str:
        region = "".join(f", {name}={_shown(value)}" for name, value in self.region.items())
        mode = f", mode={self.walk.wide}" if self.walk is not None and self.walk.wide else ""
        fields = (
            f"dataType={self.data_type}, rank={self.rank}, globalAddress=base+{self.start}, globalDim={_shown(self.global_dim)}, "
            f"globalStrides={_shown(self.global_strides)}{region}, elementStrides={_shown(self.element_strides)}, "
            f"interleave={self.interleave}{mode}, swizzle={self.swizzle}, l2Promotion={self.l2_promotion}, oobFill={self.oob_fill}"
        )
        return f"{self.function}({fields})"


def _shown(value: object) -> str:
    return "{" + ", ".join(map(str, cast("tuple[object, ...]", value))) + "}" if isinstance(value, tuple) else str(value)


def box_of_binding(binding: Binding) -> Box | None:
    """The box of a bound call, None where its contract moves none."""
    return box_of(binding.call, binding.contract)


def origin(binding: Binding, box: Box, operand: Bound, repeat: tuple[int, ...]) -> Term:
    """The byte offset of an operand's address: the tensor map's own, or the origin of the image before the swizzle of the hardware."""
    if operand.spec.name == box.copy.tensor:
        return 0
    atom = (0,) * len(binding.contract.atom)
    located = operand.trace.locate((*binding.group, *repeat, *atom))
    pattern, own = box.pattern, [one for one in swizzles(operand.view.tensor.layout) if one.swizzle_len]
    swizzled = simplified(binding.ground(located.bit), binding.ranges)
    plain = simplified(binding.ground(located.plain_bit), binding.ranges)
    if pattern is None or not pattern.xors:
        return exact_quotient(swizzled, 8)
    if own:
        return exact_quotient(plain, 8)
    if not isinstance(swizzled, int):
        raise EmissionError(f"the origin of {operand.label} depends on symbols, and its layout does not write the swizzle")
    base = operand.view.tensor.base[1] if operand.view.tensor.base else 0
    address = moved = swizzled // 8 + base
    for shift, mask in pattern.xors:
        moved ^= (address >> shift) & mask
    return moved - base


def coordinates(binding: Binding, box: Box, repeat: tuple[int, ...]) -> tuple[Term, ...]:
    """The coordinates of one instruction, innermost first; where rows are chosen the column, then the rows."""
    axes = (*binding.group, *repeat)

    def at(k: int) -> Term:
        moved = (terms.mul(binding.ground(step[k]), axis) for step, axis in zip(box.steps, axes, strict=True))
        return simplified(terms.add(binding.ground(box.coords[k]), *moved), binding.ranges)

    if box.copy.rows:
        return (at(box.copy.rank - 1), *(simplified(binding.ground(row), binding.ranges) for row in box.rows))
    return tuple(at(k) for k in reversed(range(box.copy.rank)))


def offsets(binding: Binding, box: Box) -> tuple[Term, ...]:
    """The operands that move a walk, innermost first (of a wide one halo, offset)."""
    if box.walked is None:
        return ()
    found = tuple(simplified(binding.ground(offset), binding.ranges) for offset in box.walked.offsets)
    return found if box.walked.mode.wide else tuple(reversed(found))


def pixel_box(walked: Walked) -> PixelBox:
    """The walk as the driver's arguments."""
    mode = walked.mode
    wide = ("W128" if mode.pixels else "W") if mode.wide else ""
    return PixelBox(tuple(reversed(walked.lower)), tuple(reversed(walked.upper)), walked.channels, walked.pixels, wide)


def tensor_map(binding: Binding) -> TensorMap | None:
    """The tensor map that the host encodes for a bound call; None where there is none, or the caller has encoded it."""
    box = box_of_binding(binding)
    if box is None or box.format is None:
        return None
    tensor = next(o for o in binding.operands if o.spec.name == box.copy.tensor)
    if tensor.view.tensor.space == "tensormap":
        return None
    shape, zero = tensor.trace.shape, (0,) * len(tensor.trace.shape)
    first = tensor.trace.locate(zero).bit

    def stride(k: int) -> Term:
        neighbour = tensor.trace.locate(tuple(1 if j == k else 0 for j in range(len(shape)))).bit
        return stride_bytes(binding, box, shape[k], difference(neighbour, first))

    outer = range(box.copy.rank - 1)
    return TensorMap(
        tensor.tensor,
        box.format.code,
        box.copy.rank,
        _written(first),
        tuple(_plain(shape[k]) for k in reversed(range(box.copy.rank))),
        tuple(_plain(stride(k)) for k in reversed(outer)),
        tuple(reversed(box.extents)) if box.walked is None else (),
        tuple(reversed(box.strides)),
        box.interleave,
        box.swizzle,
        box.promotion,
        box.fill,
        None if box.walked is None else pixel_box(box.walked),
    )


def stride_bytes(binding: Binding, box: Box, extent: Term, bits: Term) -> Term:
    """A stride in bytes, one that the driver takes where it is that of an axis of one element, which has none."""
    single = simplified(terms.eq(terms.normal(extent), 1), binding.ranges)
    stride, least = simplified(bits, binding.ranges), 8 * box.align_bytes
    if single is True:
        return box.align_bytes
    low, high = known(stride, binding.ranges)[stride] if isinstance(stride, Expr) else (stride, stride)
    steps = {symbol.name: symbol.multiple_of for symbol in binding.call.symbols}
    right = common(stride, steps) % least == 0 and low >= 0 and high < 8 * box.copy.limits.stride_below_bytes
    whole = exact_quotient(stride, 8)
    return whole if single is False or right else terms.select(single, box.align_bytes, whole)


def _written(bits: Term) -> int | str:
    return _plain(exact_quotient(bits, 8))


def _plain(term: Term) -> int | str:
    return term if isinstance(term, int) else str(term)


def map_data(found: TensorMap) -> Mapping[str, object]:
    """The arguments by the names of the driver's parameters."""
    return {
        "tensor": found.tensor,
        "tensorDataType": found.data_type,
        "tensorRank": found.rank,
        "globalAddress": found.start,
        "globalDim": list(found.global_dim),
        "globalStrides": list(found.global_strides),
        **{name: list(cast("tuple[object, ...]", one)) if isinstance(one, tuple) else one for name, one in found.region.items()},
        "elementStrides": list(found.element_strides),
        "interleave": found.interleave,
        **({"mode": found.walk.wide} if found.walk is not None and found.walk.wide else {}),
        "swizzle": found.swizzle,
        "l2Promotion": found.l2_promotion,
        "oobFill": found.oob_fill,
    }
