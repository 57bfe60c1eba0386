"""Numbers as the bits of a register."""

from __future__ import annotations

import struct

from tilecheck.emit.errors import EmissionError
from tilecheck.scalar.types import float_bits

FORMATS = {"f16": ("<e", "<H"), "f32": ("<f", "<I"), "f64": ("<d", "<Q")}


def encoded(type_: str, value: float) -> tuple[int, int]:
    """(bits of the type, the number in it): floats rounded to nearest even, integers in two's complement."""
    if type_ == "bf16":
        whole = float_bits("bfloat16", value)
        if whole is None:
            raise EmissionError(f"{value} is too large for .bf16")
        return 16, whole
    if type_ in FORMATS:
        packed, raw = FORMATS[type_]
        try:
            return 8 * struct.calcsize(raw), struct.unpack(raw, struct.pack(packed, value))[0]
        except OverflowError:
            raise EmissionError(f"{value} is too large for .{type_}") from None
    bits = int(type_[1:])
    return bits, int(value) % (1 << bits)
