"""The word in a register that says shape, types and the rest of an instruction: a number, but for what depends on where operands start."""

from __future__ import annotations

from tilecheck.emit.binding import Binding
from tilecheck.emit.errors import EmissionError
from tilecheck.sizing import shape_of, word_values
from tilecheck.spec.descriptor import NotEncodableError
from tilecheck.spec.instruction import ENTRIES, encode_word
from tilecheck.symbolic.terms import Term


def instruction_word(binding: Binding, repeat: tuple[int, ...]) -> Term:
    """The word of one instruction. Raises EmissionError where a field does not fit, or the call says no shape."""
    word = binding.contract.word
    assert word is not None
    shape = shape_of(binding.call, binding.contract)
    if shape is None or len(shape) != len(ENTRIES):
        raise EmissionError(f"{binding.contract.opcode} needs the shape of one instruction: M, N and K")
    started = {str(one.source[1]) for one in word.fields if one.source[0] == "byte"}
    bytes_ = {name: binding.byte_of_cell(name, repeat) for name in started}
    try:
        return encode_word(word, word_values(binding.call, binding.contract, bytes_))
    except NotEncodableError as fault:
        raise EmissionError(str(fault)) from None
