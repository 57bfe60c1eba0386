"""Element types by their NumPy, ml_dtypes or raw name, and how many bits one element takes when packed."""

from __future__ import annotations

from tilecheck.errors import InputError
from tilecheck.layout.axes import near

DTYPE_BITS: dict[str, int] = {
    "bool": 8,
    "int1": 1,
    "int2": 2,
    "int4": 4,
    "int8": 8,
    "int16": 16,
    "int32": 32,
    "int64": 64,
    "uint1": 1,
    "uint2": 2,
    "uint4": 4,
    "uint8": 8,
    "uint16": 16,
    "uint32": 32,
    "uint64": 64,
    "float16": 16,
    "float32": 32,
    "float64": 64,
    "complex64": 64,
    "complex128": 128,
    "bfloat16": 16,
    "float8_e3m4": 8,
    "float8_e4m3": 8,
    "float8_e4m3b11fnuz": 8,
    "float8_e4m3fn": 8,
    "float8_e4m3fnuz": 8,
    "float8_e5m2": 8,
    "float8_e5m2fnuz": 8,
    "float8_e8m0fnu": 8,
    "float6_e2m3fn": 6,
    "float6_e3m2fn": 6,
    "float4_e2m1fn": 4,
    "bits8": 8,
    "bits16": 16,
    "bits32": 32,
    "bits64": 64,
    "bits128": 128,
}


def dtype_bits(name: str) -> int:
    """Bits of one packed element; the NumPy containers of sub-byte types (a byte each) are not meant."""
    bits = DTYPE_BITS.get(name)
    if bits is None:
        names = tuple(DTYPE_BITS)
        raise InputError(f"found the dtype {name[:60]!r}, expected a NumPy or ml_dtypes name or bits8 to bits128{near(name, names)}")
    return bits
