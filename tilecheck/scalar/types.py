"""The types of scalars, and numbers as their bits.

A number is rounded once, to nearest, ties to even; text like `0.1` is a float64 first.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction

BITS = {
    "float16": 16,
    "bfloat16": 16,
    "float32": 32,
    "float64": 64,
    **{f"{kind}{bits}": bits for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
}
"""The bits of each type that a parameter or a result may have."""
SCALAR_TYPES = tuple(BITS)
BOOL = "bool"
"""The type of a condition, which is no type of a parameter or result."""
FLOATS = {"float16": (11, -24), "bfloat16": (8, -133), "float32": (24, -149), "float64": (53, -1074)}
"""The bits of the significand of each float type, and the power of two that its least subnormal is."""
PTX = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    **{f"{kind}{bits}": f"{letter}{bits}" for kind, letter in (("int", "s"), ("uint", "u")) for bits in (8, 16, 32, 64)},
}
"""What PTX calls each type."""


def integer_range(type_: str) -> tuple[int, int]:
    """The least and the greatest integer of an integer type."""
    bits = BITS[type_]
    return (0, (1 << bits) - 1) if type_.startswith("u") else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def float_bits(type_: str, value: float) -> int | None:
    """The bits of a float type nearest to a number; None where a finite number is beyond its range."""
    precision, least = FLOATS[type_]
    size = BITS[type_]
    exponent_bits = size - precision
    sign = (1 << (size - 1)) if math.copysign(1.0, value) < 0 else 0
    infinity = ((1 << exponent_bits) - 1) << (precision - 1)
    if math.isnan(value):
        return infinity | 1 << (precision - 2)
    if math.isinf(value):
        return sign | infinity
    if value == 0:
        return sign
    quantum = max(math.frexp(value)[1] - precision, least)
    whole = round(abs(Fraction(value)) / Fraction(2) ** quantum)
    # a significand that fills up to 2^precision carries into the exponent by itself
    found = ((quantum - least) << (precision - 1)) + whole
    return None if found >= infinity else sign | found


def float_value(type_: str, bits: int) -> float:
    """The number that the bits of a float type are."""
    if type_ == "bfloat16":
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    raw, packed = {"float16": ("<H", "<e"), "float32": ("<I", "<f"), "float64": ("<Q", "<d")}[type_]
    return struct.unpack(packed, struct.pack(raw, bits))[0]
