"""The numbers that `tcgen05.mma` multiplies and adds, by kind, and the instruction descriptor: the 32-bit word that says them.

Sources: PTX ISA 9.7.16.4.2 (the word), 9.7.16.5 (types); CUTLASS 4.7, cute/arch/mma_sm100_desc.hpp.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilecheck.spec import NumberType, Word, WordField

F16 = NumberType("f16", 0, ("float16",), ("bits16",))
BF16 = NumberType("bf16", 1, ("bfloat16",), ("bits16",))
TF32 = NumberType("tf32", 2, (), ("float32", "bits32"))
RAW = ("uint8", "int8", "bits8")
EIGHT = (NumberType("e4m3", 0, ("float8_e4m3fn",), RAW), NumberType("e5m2", 1, ("float8_e5m2",), RAW))
NARROW = tuple(NumberType(name, code, (), RAW) for name, code in (("e2m3", 3), ("e3m2", 4), ("e2m1", 5)))
"""Types of four and six bits lie in containers of eight."""
E2M1 = NumberType("e2m1", 1, ("float4_e2m1fn",), ("uint4",))
INTEGERS = (NumberType("u8", 0, ("uint8",), ("bits8",)), NumberType("s8", 1, ("int8",), ("bits8",)))
UE8M0, UE4M3 = NumberType("ue8m0", 1, ("float8_e8m0fnu",)), NumberType("ue4m3", 0, ("float8_e4m3fn",))
SUM16, SUM32 = NumberType("f16", 0, ("float16", "bits16")), NumberType("f32", 1, ("float32", "bits32"))
SUMS = NumberType("s32", 2, ("int32", "bits32"))


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of numbers: bits of an element of A and B, their types, those of D, K of a dense instruction."""

    bits: int
    types: tuple[NumberType, ...]
    sums: tuple[NumberType, ...]
    depth: int


# fmt: off
KINDS: Mapping[str, Kind] = {
    "f16": Kind(16, (F16, BF16), (SUM32, SUM16), 16),
    "tf32": Kind(32, (TF32,), (SUM32,), 8),
    "f8f6f4": Kind(8, (*EIGHT, *NARROW), (SUM32, SUM16), 32),
    "i8": Kind(8, INTEGERS, (SUMS,), 32),
    "mxf8f6f4": Kind(8, (*EIGHT, *NARROW), (SUM32,), 32),
    "mxf4": Kind(4, (E2M1,), (SUM32,), 64),
    "mxf4nvf4": Kind(4, (E2M1,), (SUM32,), 64),
}
# fmt: on
FACTORS = {"scale_vec::1X": 1, "scale_vec::2X": 2, "scale_vec::4X": 4, "block32": 0, "block16": 4}
"""How many factors a row has; of .block32 as many as the kind has blocks of 32."""


def kind_of(q: Mapping[str, str]) -> str:
    """The name of the kind that is written."""
    return q["kind"].removeprefix("kind::")


def count_of(q: Mapping[str, str]) -> int:
    """The factors of a row (K 64 or 32)."""
    return FACTORS.get(q["factors"], 0) or (1 if kind_of(q) == "mxf8f6f4" else 2)


def instruction_word(q: Mapping[str, str]) -> Word:
    """The fields of PTX ISA 9.7.16.4.2: for kinds without factors, for mxf8f6f4, for mxf4 and mxf4nvf4."""
    kind, scaled = kind_of(q), bool(q["scaled"])
    four = kind in {"mxf4", "mxf4nvf4"}
    found = [WordField("sparse", 2, 1, ("always", int(bool(q["sp"]))))]
    if not scaled:
        found += [
            WordField("saturate", 3, 1, ("flag", "sat_d") if kind == "i8" else ("always", 0)),
            WordField("d_type", 4, 2, ("type", "d")),
        ]
    else:
        found.append(WordField("sfb_id", 4, 2, ("byte", "sfb")))
    found += [WordField("a_type", 7, 3, ("type", "a")), WordField("b_type", 10, 2 if four else 3, ("type", "b"))]
    if kind != "i8":
        found += [WordField("negate_a", 13, 1, ("flag", "neg_a")), WordField("negate_b", 14, 1, ("flag", "neg_b"))]
    if not four:
        found += [WordField("transpose_a", 15, 1, ("major", "a_major")), WordField("transpose_b", 16, 1, ("major", "b_major"))]
    found.append(WordField("n", 17, 6, ("size", "N", 8)))
    if not scaled:
        found += [WordField("m", 24, 5, ("size", "M", 16)), WordField("max_shift", 30, 2, ("always", 0))]
    else:
        found += [
            WordField("scale_type", 23, 1, ("type", "sfa")),
            WordField("m", 27, 2, ("size", "M", 128)),
            WordField("sfa_id", 29, 2, ("byte", "sfa")),
        ]
        if four:
            found.append(WordField("k_96", 31, 1, ("is", "K", 96)))
    name = "mxf4" if four else kind if scaled else "dense"
    return Word(f"the instruction descriptor ({name})", tuple(found), "PTX ISA 9.7.16.4.2")
