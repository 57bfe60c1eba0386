"""What a scalar function may be made of, as rows for people: an operation as it is written, its types, its PTX, its error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tilecheck.scalar.nodes import COMPARISONS, FUNCTIONS, SYMBOLS
from tilecheck.scalar.types import PTX
from tilecheck.spec import Composition, Instruction, arch_rank

SIGNS = {op: sign for sign, op in (*SYMBOLS.items(), *COMPARISONS.items())}
WRITTEN = {
    "neg": "-a",
    "inv": "~a",
    "both": "a and b",
    "either": "a or b",
    "not": "not a",
    "select": "select(a, b, c)",
    "cast": "T(a)",
    "as": "as_T(a)",
}
MANY = 12
"""More types than this are counted."""


@dataclass(frozen=True, slots=True)
class Row:
    """An operation at some types that have the same PTX but for the types in it (T; N bits)."""

    written: str
    types: str
    ptx: str
    error: str
    arch: str


def written(op: str) -> str:
    """An operation as it stands in a function."""
    if op in SIGNS:
        return f"a {SIGNS[op]} b"
    return WRITTEN.get(op) or f"{op}({', '.join('abc'[: FUNCTIONS[op]])})"


def rows(composition: Composition) -> list[Row]:
    """Every operation, those with the same PTX on one row."""
    groups: dict[tuple[str, ...], list[Instruction]] = {}
    for one in composition.instructions:
        groups.setdefault((one.op, _pattern(one), one.relative, one.absolute), []).append(one)
    found = [_row(op, ptx, group) for (op, ptx, *_), group in groups.items()]
    for op in dict.fromkeys(one.op for one in composition.definitions):
        bodies: dict[str, list[str]] = {}
        for one in composition.definitions:
            if one.op == op:
                bodies.setdefault(re.sub(rf"^{one.type}\(", "T(", one.body), []).append(one.type)
        found.extend(Row(written(op), ", ".join(types), f"= {body}", "", "") for body, types in bodies.items())
    return found


def _pattern(one: Instruction) -> str:
    """The statements with T for a type and N for a width."""
    names = sorted({PTX[type_] for type_ in (*one.types, one.result) if type_ in PTX}, key=len, reverse=True)
    text = " ".join(one.statements)
    for name in names:
        text = re.sub(rf"\.{name}\b", ".T", text)
    text = re.sub(r"\.[bs](16|32|64)\b", ".bN", text)
    return re.sub(r"\b0x3[0-9A-Fa-f]{3,}\b", "1", text)


def _row(op: str, ptx: str, group: list[Instruction]) -> Row:
    types = list(dict.fromkeys(_types(one) for one in group))
    first = group[0]
    error = " or ".join(
        text
        for text in (f"{first.relative} relative" if first.relative else "", f"{first.absolute} absolute" if first.absolute else "")
        if text
    )
    shown = ", ".join(types) if len(types) <= MANY else f"{len(types)} pairs of types"
    return Row(written(op), shown, ptx, error, ", ".join(_floors(group)))


def _types(one: Instruction) -> str:
    """`float32`, or `int8 to float32`."""
    own = [type_ for type_ in one.types if type_ != "bool"] or [one.types[0]]
    return f"{own[0]} to {one.result}" if one.op in {"cast", "as"} else own[0]


def _floors(group: list[Instruction]) -> Iterator[str]:
    floors = {one.arch for one in group if one.arch}
    for floor in sorted(floors, key=arch_rank):
        late = [_types(one) for one in group if one.arch == floor]
        yield floor if len(late) == len(group) else f"{floor} ({', '.join(dict.fromkeys(late)) if len(late) <= MANY else 'bfloat16'})"
