"""A made-up instruction that reads one matrix of any extents through a descriptor: all canonical layouts, widths of 4 to 32 bits, no fragment around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from tilecheck.contracts.descriptors import MODES
from tilecheck.spec import AtomAxis, Contract, Described, Entry, Family, Floor, Grammar, Memory, Move, Parameter, Slot, both, table

ROWS = (4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
COLUMNS = (4, 8, 16, 32, 64)
BITS = (4, 8, 16, 32)
DTYPES = {4: "float4_e2m1fn", 8: "uint8", 16: "float16", 32: "float32"}
READER = Grammar(
    "reader",
    (
        Slot("together", ("warp",)),
        Slot("bits", tuple(f"b{bits}" for bits in BITS), required=True),
        Slot("rows", tuple(f"r{rows}" for rows in ROWS), required=True),
        Slot("columns", tuple(f"c{columns}" for columns in COLUMNS), required=True),
    ),
    exclusions=(),
    floors=(Floor(both(), "sm_90"),),
    source="The toy book, chapter 2",
)


def reader(q: Mapping[str, str]) -> Contract:
    """Row is M, column is K."""
    bits, rows, columns = (int(q[name][1:]) for name in ("bits", "rows", "columns"))
    matrix = Memory(
        "a",
        "shared",
        bits=bits,
        row=(),
        align_bytes=16,
        write=False,
        atom=(AtomAxis("row", rows), AtomAxis("column", columns)),
        described=Described("a_descriptor", "a_major", across="row", along="column", modes=MODES),
    )
    return Contract(
        opcode=READER.spell(q),
        mnemonic="reader",
        arch=READER.arch_floor(q),
        source=READER.source,
        collective=q["together"] or "thread",
        atom=(),
        operands=(matrix,),
        parameters=(Parameter("a_descriptor", "descriptor", required=True), Parameter("a_major", "major"), Parameter("pred", "predicate")),
        move=Move("", "a", source=()),
        issue="{opcode} {a};",
        qualifiers=q,
    )


FAMILY = Family("reader", (Entry(READER, reader),))


def known(patch: pytest.MonkeyPatch) -> None:
    """The instruction is known, as that of a plugin."""
    import importlib.metadata

    def entry_points(*, group: str) -> list[EntryPoint]:
        return [EntryPoint("reader", "matrix_reader:FAMILY", group)]

    patch.setattr(importlib.metadata, "entry_points", entry_points)
    patch.setattr(table, "_contracts", {})


@pytest.fixture(autouse=True)
def reads() -> Iterator[None]:
    """For modules that import it: every test knows the instruction."""
    with pytest.MonkeyPatch.context() as patch:
        known(patch)
        yield


def document(
    rows: int,
    columns: int,
    bits: int,
    fields: tuple[int, int, int] | list[int],
    layout: str,
    *,
    major: str = "k",
    align: int | None = 1024,
    **more: Any,
) -> dict[str, Any]:
    """A call that reads one matrix; `operand` has further keys of the operand."""
    operand = {"name": "X", "space": "shared", "dtype": DTYPES[bits], "shape": [rows, columns], "layout": layout} | more.pop("operand", {})
    if align is not None:
        operand.setdefault("align", align)
    parameters = {"a_descriptor": list(fields), "a_major": major} | more.pop("parameters", {})
    together = ".warp" if more.pop("warp", False) else ""
    opcode = f"reader{together}.b{bits}.r{rows}.c{columns}"
    return {"schema": "tilecheck/call@1", "opcode": opcode, "scope": "thread", "operands": [operand], "parameters": parameters} | more
