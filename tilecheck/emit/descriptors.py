"""The words through which an instruction reads matrices in shared memory: constants, and where each instruction starts."""

from __future__ import annotations

from tilecheck.emit.arithmetic import simplified
from tilecheck.emit.binding import Binding, Bound
from tilecheck.emit.errors import EmissionError
from tilecheck.spec.contract import Memory
from tilecheck.spec.descriptor import MAJORS, STRIDE_BELOW_BYTES, UNIT_BYTES, Mode, NotEncodableError, encode
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term


def word(binding: Binding, operand: Bound, pointer: Term, offset: Term) -> Term:
    """The descriptor of an operand whose first element lies, after the swizzle, `offset` bytes behind the base `pointer`.

    Raises EmissionError where a field does not fit.
    """
    mode, fields = _mode(binding, operand)
    encoding = binding.contract.encoding
    assert encoding is not None
    try:
        constant = encode(encoding, 0, fields)
    except NotEncodableError as fault:
        raise EmissionError(f"operand {operand.label}: {fault}") from None
    first = terms.bit_and(_unswizzled(binding, operand, mode, pointer, offset), STRIDE_BELOW_BYTES - 1)
    return terms.bit_or(terms.shr(first, UNIT_BYTES.bit_length() - 1), constant)


def _mode(binding: Binding, operand: Bound) -> tuple[Mode, tuple[int, ...]]:
    spec, call = operand.spec, binding.call
    assert isinstance(spec, Memory)
    assert spec.described is not None
    fields = call.parameter(spec.described.descriptor)
    numbers = tuple(value for value in fields if isinstance(value, int)) if isinstance(fields, tuple) else ()
    if len(numbers) != 3:
        raise EmissionError(f"{binding.contract.opcode} needs the parameter {spec.described.descriptor}: ldo_bytes, sdo_bytes, swizzle")
    major = call.parameter(spec.described.major) if spec.described.major else None
    major = major if isinstance(major, str) else MAJORS[0]
    mode = spec.described.mode(major, numbers[2], spec.bits)
    if mode is None:
        raise EmissionError(f"operand {operand.label}: no canonical layout is {major}-major with swizzle {numbers[2]} and {spec.bits} bits")
    return mode, numbers


def _unswizzled(binding: Binding, operand: Bound, mode: Mode, pointer: Term, offset: Term) -> Term:
    """The address before the swizzle: known by its offset where the base and the offset are known modulo the period, else computed from the address."""
    residue, inside = _residue(operand, mode.period_bytes), simplified(terms.mod(offset, mode.period_bytes), binding.ranges)
    if residue is not None and isinstance(inside, int):
        moved = (residue + inside) % mode.period_bytes
        return terms.add(pointer, offset, _swizzled(mode, moved), -moved)
    return _swizzled(mode, terms.add(pointer, offset))


def _residue(operand: Bound, period: int) -> int | None:
    """The residue of the base modulo the period, None where the declaration does not say it."""
    tensor = operand.view.tensor
    if (tensor.align or 1) % period == 0:
        return 0
    if tensor.base is not None and tensor.base[0] % period == 0:
        return tensor.base[1] % period
    return None


def _swizzled(mode: Mode, byte: Term) -> Term:
    """Where the swizzle puts a byte address, and the address that it puts there."""
    moved = byte
    for shift, mask in mode.xors:
        moved = terms.xor(moved, terms.bit_and(terms.shr(byte, shift), mask))
    return moved
