"""Numbers and expressions in the place of register operands: the lines that put them into registers."""

from __future__ import annotations

from tilecheck.emit.arithmetic import Arithmetic
from tilecheck.emit.binding import Binding, Number, Written
from tilecheck.emit.parameters import checked
from tilecheck.symbolic.terms import Term

REGISTERS = {8: "h", 16: "h", 32: "u", 64: "s"}


def scalars(binding: Binding) -> dict[str, Term]:
    """The expressions over base variables, by the contract's names; EmissionError where 64-bit arithmetic does not give one."""
    found = {name: number for name, number in binding.numbers.items() if isinstance(number, Written)}
    return {
        name: checked(binding, name, number.term, ring=number.type[0] in "usb" and number.type != "bf16") for name, number in found.items()
    }


def written(number: Number | Written, term: Term, arithmetic: Arithmetic) -> str:
    """A register that holds a number, as often as the instruction names it. term: an expression over base variables."""
    if isinstance(number, Written):
        return ", ".join([_converted(number, arithmetic.register(term), arithmetic)] * number.count)
    register = arithmetic.fresh(REGISTERS[number.bits])
    arithmetic.write(f"mov.b{max(number.bits, 16)} {register}, {number.pattern:#x};")
    return ", ".join([register] * number.count)


def _converted(number: Written, wide: str, arithmetic: Arithmetic) -> str:
    """A register of the type, from one that holds the integer in 64 bits; exact, as the type holds the integer."""
    found = arithmetic.fresh(REGISTERS[number.entry])
    if number.type == "bf16":  # cvt has it from integers on later architectures only
        single = arithmetic.fresh("u")
        arithmetic.write(f"cvt.rn.f32.s64 {single}, {wide};")
        arithmetic.write(f"shr.b32 {single}, {single}, 16;")
        arithmetic.write(f"cvt.u16.u32 {found}, {single};")
    elif number.type in {"f16", "f32", "f64"}:
        arithmetic.write(f"cvt.rn.{number.type}.s64 {found}, {wide};")
    elif number.entry == 64:
        return wide
    else:
        arithmetic.write(f"cvt.u{number.entry}.u64 {found}, {wide};")
    if number.bits == number.entry:
        return found
    whole = arithmetic.fresh(REGISTERS[number.bits])
    arithmetic.write(f"mov.b{number.bits} {whole}, {{{', '.join([found] * (number.bits // number.entry))}}};")
    return whole
