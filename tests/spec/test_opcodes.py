"""The rows of tests/data/opcodes.tsv as calls: legal ones pass `opcode`, `operands`, `storage` and `shape`, illegal ones fail one of them.

`ask` rows are open questions and left out. A row with a sink `_`, or with an address that no operand can stand for (a constant, const or param
memory), is about its spelling only.
"""

from __future__ import annotations

import csv
import dataclasses
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tilecheck.document import read_call
from tilecheck.prove.check import check
from tilecheck.spec import BadSpelling, Contract, find_contract

ROOT = Path(__file__).parent.parent.parent
FAMILIES = ("ld", "st", "ldmatrix", "stmatrix", "movmatrix")
ABOUT = ("opcode", "operands", "storage", "shape")
ARCHITECTURES = tuple(f"sm_{n}" for n in ["75", "80", "86", "89", "90", "90a", "100", "100f", "100a", "103a", "110a", "120", "120a"])
SPACES = {"ga": "global", "sa": "shared", "la": "local"}
WIDTHS = {"h": 16, "r": 32, "f": 32, "u": 32, "d": 64, "fd": 64, "x": 128, "p": 16}
"""The bits of each class of registers of the table; a predicate is none of them, and no row with one is legal."""


@dataclasses.dataclass(frozen=True)
class Row:
    """A line of the table: `registers` and `address` as they are written, `accepted` by ptxas 13.5 on these architectures."""

    opcode: str
    operands: str
    expect: str
    accepted: tuple[str, ...]
    note: str

    @property
    def id(self) -> str:
        return f"{self.opcode} {self.operands}"

    @property
    def registers(self) -> tuple[str, ...]:
        outside = re.sub(r"\[[^]]*\]", "", self.operands)
        return tuple(re.findall(r"\b(?:[a-z]+\d+|_)(?!\w)", outside))

    @property
    def address(self) -> str:
        found = re.search(r"\[([^]]*)\]", self.operands)
        return found[1] if found else ""

    @property
    def spelling_only(self) -> bool:
        return "_" in self.registers or (self.address != "" and re.fullmatch(r"ga|sa|la|d0", self.address) is None)


@cache
def rows() -> tuple[Row, ...]:
    with (ROOT / "tests" / "data" / "opcodes.tsv").open(encoding="utf-8") as file:
        lines = [line for line in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if line["family"] in FAMILIES]
    return tuple(Row(x["opcode"], x["operands"], x["expect"], _architectures(x["accepted_13.5"]), x["note"]) for x in lines)


def _architectures(cell: str) -> tuple[str, ...]:
    return () if cell == "-" else tuple(f"sm_{part}" for part in cell.split(","))


ROWS = rows()
LEGAL = [row for row in ROWS if row.expect == "legal"]
ILLEGAL = [row for row in ROWS if row.expect == "illegal"]


# --- a row as a call -------------------------------------------------------------------------------------------------


def register(name: str, row: Row, registers: tuple[str, ...], opcode: str) -> dict[str, Any]:
    """A view of as many registers as are listed, of the width of their class; a .b16 register holds one 8-bit element."""
    bits = WIDTHS[re.sub(r"\d", "", registers[0])]
    bits = 8 if bits == 16 and re.search(r"\.[bus]8$", opcode) else bits
    count = len(registers)
    if "matrix" not in opcode:
        return view(name, "register", bits, [count])
    if opcode.startswith("movmatrix"):
        return view(name, "register", bits, [8, 4], "S[(8,4):(4@laneid,1@laneid)]")
    if ".m16n16." in opcode and count % 2 == 0:
        return view(name, "register", bits, [count // 2, 16, 4], f"S[({count // 2},2,8,4):(2,1,4@laneid,1@laneid)]")
    return view(name, "register", bits, [count, 8, 4], f"S[({count},8,4):(1,4@laneid,1@laneid)]")


def view(name: str, space: str, bits: int, shape: list[int], layout: str = "") -> dict[str, Any]:
    found = {"name": name, "space": space, "dtype": f"bits{bits}", "shape": shape, "align": 32}
    return found | ({"layout": layout} if layout else {})


def call_of(row: Row, arch: str | None = None) -> Any:
    """The call that a row writes; the memory operand is as the contract wants it, the registers are those of the row."""
    contract = find_contract(row.opcode)
    operands: list[dict[str, Any]]
    if "movmatrix" in row.opcode:
        operands = [register(name, row, (name,), row.opcode) for name in row.registers]
    else:
        shape = list(contract.suffix) if isinstance(contract, Contract) else [1]
        bits = contract.operands[0].bits if isinstance(contract, Contract) else 32
        space = SPACES.get(row.address, "shared" if "matrix" in row.opcode else "global")
        names = tuple(name for name in row.registers if name != "pol")
        operands = [register("R", row, names, row.opcode), view("A", space, bits, shape)]
        operands = operands if row.operands.index("[") > 0 else operands[::-1]
    policy = {"cache_policy": 0} if re.search(r", pol$", row.operands) else {}
    collective = "matrix" in row.opcode
    document = {"schema": "tilecheck/call@1", "opcode": row.opcode, "scope": "warp" if collective else "thread", "operands": operands}
    return read_call(document | {"parameters": policy} | ({"arch": arch} if arch else {}))


def faults(row: Row, arch: str | None = None) -> set[str]:
    """The failing clauses of a row's call that its legality is about; of one about spelling only, `opcode`."""
    if row.spelling_only:
        found = find_contract(row.opcode)
        return {"opcode"} if isinstance(found, BadSpelling) else set()
    return {clause.id for clause in check(call_of(row, arch)).failing if clause.id.split(".")[-1] in ABOUT}


# --- agreement -------------------------------------------------------------------------------------------------------


def test_the_table_has_as_many_rows_as_we_think():
    assert (len(LEGAL), len(ILLEGAL), len([row for row in ROWS if row.spelling_only and row.expect != "ask"])) == (248, 154, 10)


@pytest.mark.parametrize("row", LEGAL, ids=lambda row: row.id)
def test_a_legal_row_passes(row):
    assert faults(row) == set()


SINKS = {
    "ld.global.v4.b32 {r0, _, r2, r3}, [ga]": "no view has a sink: the spelling is legal, the operands cannot be written",
    "st.global.v4.b32 [ga], {r0, _, r2, r3}": "no view has a sink: the spelling is legal, the operands cannot be written",
}
"""Illegal rows that are about a sink, which no call can express, under a legal spelling."""


@pytest.mark.parametrize("row", [row for row in ILLEGAL if row.id not in SINKS], ids=lambda row: row.id)
def test_an_illegal_row_fails(row):
    assert faults(row) != set()


def test_the_rows_that_no_call_can_write_are_the_two_with_sinks():
    unseen = {row.id for row in ILLEGAL if row.spelling_only and not faults(row)}
    assert unseen == set(SINKS)


@pytest.mark.parametrize("row", LEGAL, ids=lambda row: row.id)
def test_the_architectures_of_a_legal_row_are_those_that_assemble_it(row):
    found = find_contract(row.opcode)
    assert isinstance(found, Contract)
    assert tuple(arch for arch in ARCHITECTURES if found.runs_on(arch)) == row.accepted


@pytest.mark.parametrize("row", [row for row in LEGAL if "matrix" in row.opcode and ".shared." in row.opcode], ids=lambda row: row.id)
def test_a_call_for_an_architecture_without_the_form_fails_by_opcode(row):
    for arch in ARCHITECTURES:
        assert faults(row, arch) == (set() if arch in row.accepted else {"opcode"}), arch
