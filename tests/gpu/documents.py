"""Forms and the pieces of their call documents (DESIGN, "Interchange")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Json = dict[str, object]

WIDTHS = {"b8": 8, "b16": 16, "b32": 32, "b64": 64, "b128": 128}
DTYPES = {8: "bits8", 16: "bits16", 32: "bits32", 64: "bits64", 128: "bits128"}
TYPED = {
    "u8": "uint8",
    "s8": "int8",
    "u16": "uint16",
    "s16": "int16",
    "u32": "uint32",
    "s32": "int32",
    "f32": "float32",
    "u64": "uint64",
    "s64": "int64",
    "f64": "float64",
}
POLICIES = {"normal": 0x1000000000000000, "first": 0x12F0000000000000, "last": 0x14F0000000000000}
"""L2 cache policies as createpolicy.fractional makes them (CUTLASS 4, cute/arch/copy_sm90_desc.hpp)."""


@dataclass(frozen=True, slots=True)
class Form:
    """One call to reconstruct: `values` for its symbols (a list holds one value a CTA, warp or thread)."""

    family: str
    name: str
    document: Json
    values: Mapping[str, int | list[int]] = field(default_factory=dict[str, "int | list[int]"])
    elected: int = 0


def document(name: str, opcode: str, operands: list[Json], scope: str, **rest: object) -> Json:
    """A call document."""
    return {"schema": "tilecheck/call@1", "id": name, "opcode": opcode, "scope": scope, "operands": operands, **rest}


def register(shape: list[int], layout: str, dtype: str, **rest: object) -> Json:
    """The register operand R."""
    return {"name": "R", "space": "register", "dtype": dtype, "shape": shape, "layout": layout, **rest}


def slots(vec: int, *, permuted: bool) -> tuple[int, str, str]:
    """(slots of one repeat, strides, offset) of `vec` words: every second slot, ascending or descending."""
    return 2 * vec, f"{-2 if permuted else 2}", f" + {2 * vec - 1}" if permuted else ""


def bank(vec: int, dtype: str, *, permuted: bool, lanes: int = 32, repeat: int = 3) -> Json:
    """Warp-scope registers (lane, repeat, word)."""
    step, stride, offset = slots(vec, permuted=permuted)
    return register([lanes, repeat, vec], f"S[({lanes},{repeat},{vec}):(1@laneid,{step},{stride})]{offset}", dtype)


def warp_memory(space: str, vec: int, bits: int, dtype: str, begin: str = "n") -> Json:
    """Warp-scope memory (lane, repeat, word): rows of 4 vectors, of which the one at `begin` is accessed; padded so that strides differ."""
    row = 4 * vec
    lane = "1@laneid" if space == "local" else str(3 * row + vec)
    return {
        "name": "A",
        "space": space,
        "dtype": dtype,
        "shape": [32, 3, row],
        "align": vec * bits // 8,
        "layout": f"S[(32,3,{row}):({lane},{row},1)]",
        "view": [{"op": "slice", "begin": [0, 0, begin], "extent": [32, 3, vec]}],
    }


def starts(vec: int, name: str = "n") -> list[Json]:
    """The symbol that moves the start by whole vectors."""
    return [{"name": name, "min": 0, "max": 3 * vec, "multiple_of": vec}]


def ordered(opcode: str, registers: Json, memory: Json) -> list[Json]:
    """Operands in PTX order."""
    return [registers, memory] if opcode.startswith(("ld.", "ldmatrix.")) else [memory, registers]
