"""What an instruction that moves a box names: the origin of the image, 32-bit coordinates, and the tensor map that the host encodes, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilecheck.boxes import Box, box_of
from tilecheck.emit.arithmetic import exact_quotient, simplified
from tilecheck.emit.binding import Binding, Bound
from tilecheck.emit.errors import EmissionError
from tilecheck.layout.tile import swizzles
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term


@dataclass(frozen=True, slots=True)
class TensorMap:
    """The arguments of cuTensorMapEncodeTiled, dimension 0 innermost.

    start: bytes from the base of the allocation to globalAddress. Extents in elements, strides in bytes; a symbolic one is text over the symbols.
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

    def __str__(self) -> str:
        fields = (
            f"dataType={self.data_type}, rank={self.rank}, globalAddress=base+{self.start}, globalDim={_listed(self.global_dim)}, "
            f"globalStrides={_listed(self.global_strides)}, boxDim={_listed(self.box_dim)}, elementStrides={_listed(self.element_strides)}, "
            f"interleave={self.interleave}, swizzle={self.swizzle}, l2Promotion={self.l2_promotion}, oobFill={self.oob_fill}"
        )
        return f"cuTensorMapEncodeTiled({fields})"


def _listed(values: tuple[int | str, ...]) -> str:
    return "{" + ", ".join(map(str, values)) + "}"


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


def tensor_map(binding: Binding) -> TensorMap | None:
    """The tensor map that the host encodes for a bound call."""
    box = box_of_binding(binding)
    if box is None or box.format is None:
        return None
    tensor = next(o for o in binding.operands if o.spec.name == box.copy.tensor)
    shape, zero = tensor.trace.shape, (0,) * len(tensor.trace.shape)
    first = tensor.trace.locate(zero).bit

    def stride(k: int) -> Term:
        if shape[k] == 1:
            return 8 * box.align_bytes
        neighbour = tensor.trace.locate(tuple(1 if j == k else 0 for j in range(len(shape)))).bit
        return simplified(terms.sub(neighbour, first), binding.ranges)

    outer = range(box.copy.rank - 1)
    return TensorMap(
        tensor.tensor,
        box.format.code,
        box.copy.rank,
        _written(first),
        tuple(_plain(shape[k]) for k in reversed(range(box.copy.rank))),
        tuple(_written(stride(k)) for k in reversed(outer)),
        tuple(reversed(box.extents)),
        tuple(reversed(box.strides)),
        box.interleave,
        box.swizzle,
        box.promotion,
        box.fill,
    )


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
        "boxDim": list(found.box_dim),
        "elementStrides": list(found.element_strides),
        "interleave": found.interleave,
        "swizzle": found.swizzle,
        "l2Promotion": found.l2_promotion,
        "oobFill": found.oob_fill,
    }
