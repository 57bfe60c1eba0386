"""The rows of tests/data/opcodes.tsv about tcgen05.ld, .ld.red and .st: spelling, architectures, and how many registers and operands there are."""

from __future__ import annotations

import csv
import re
from itertools import product
from pathlib import Path

import pytest

from tilecheck.contracts.tmem import LOAD, REDUCE, STORE
from tilecheck.spec import BadSpelling, Contract, Register, find_contract
from tilecheck.symbolic import terms

DATA = Path(__file__).parent.parent / "data"
ARCHITECTURES = tuple(f"sm_{n}" for n in ["75", "80", "86", "89", "90", "90a", "100", "100f", "100a", "103a", "110a", "120", "120a"])
with (DATA / "opcodes.tsv").open(encoding="utf-8") as file:
    ROWS = [
        row
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        if row["opcode"].startswith(("tcgen05.ld", "tcgen05.st"))
    ]
ASSEMBLER_ALONE = {
    "tcgen05.ld.red.sync.aligned.32x32b.x4.f32.min": "the type before the operator, which the text of the ISA has beside the other order"
}
"""Rows without an expectation that an assembler takes and we do not, and why."""


def registers(contract: Contract, name: str) -> int:
    operand = next(o for o in contract.operands if o.name == name)
    assert isinstance(operand, Register)
    axes = contract.atom_of(operand)
    points = (dict(zip((a.name for a in axes), atom, strict=True)) for atom in product(*(range(a.extent) for a in axes)))
    return 1 + max(terms.evaluate(operand.register, point) for point in points)


def fits(row: dict[str, str]) -> bool:
    """Whether the spelling is legal and the operands are those of the issue template, in its order."""
    contract = find_contract(row["opcode"])
    if not isinstance(contract, Contract):
        return False
    wanted = re.findall(r"\{\{\{(\w+)\}\}\}|\[\{(\w+)\}\]|\{(\w+)\}", contract.issue.replace("{opcode}", ""))
    given = re.findall(r"\{([^}]*)\}|\[(\w+)\]|([\w-]+)", row["operands"])
    if len(wanted) != len(given):
        return False
    for (braced, place, single), (listed, address, one) in zip(wanted, given, strict=True):
        if braced and len(listed.split(",")) != registers(contract, braced):
            return False
        if (place and address != "ta") or (single == "redval" and not re.fullmatch(r"[rf]\d+", one)):
            return False
        if single and single != "redval" and not re.fullmatch(r"-?\d+", one):
            return False
    return True


def name(row: dict[str, str]) -> str:
    return f"{row['opcode']} {row['operands'].count('r')} {row['note']}"


def test_the_table_has_as_many_rows_as_we_think():
    assert [len([row for row in ROWS if row["expect"] == expect]) for expect in ("legal", "illegal", "ask")] == [112, 31, 14]


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_a_row_is_legal_where_it_is_accepted(row):
    expected = row["expect"] == "legal" or (row["expect"] == "ask" and row["opcode"] not in ASSEMBLER_ALONE)
    assert fits(row) == expected
    if expected:
        contract = find_contract(row["opcode"])
        assert contract.opcode == row["opcode"]
        accepted = {f"sm_{arch}" for arch in row["accepted_13.5"].split(",")}
        assert {arch for arch in ARCHITECTURES if contract.runs_on(arch)} == accepted


@pytest.mark.parametrize(("grammar", "count"), [(LOAD, 74), (STORE, 74), (REDUCE, 168)])
def test_there_are_as_many_forms_as_we_think(grammar, count):
    opcodes = [grammar.spell(q) for q in grammar.legal()]
    assert len(set(opcodes)) == len(opcodes) == count
    for opcode in opcodes:
        contract = find_contract(opcode)
        assert isinstance(contract, Contract)
        assert registers(contract, "src" if grammar is STORE else "dst") <= 128


AT_FAULT = {
    "tcgen05.ld.sync.aligned.16x128b.x128.b32": ".x128",
    "tcgen05.ld.sync.aligned.16x256b.x64.b32": ".x64",
    "tcgen05.st.sync.aligned.16x256b.x64.unpack::16b.b32": ".x64",
    "tcgen05.ld.sync.aligned.32x32b.x3.b32": ".x3",
    "tcgen05.ld.sync.aligned.32x32b.x1.unpack::16b.b32": ".unpack::16b",
    "tcgen05.st.sync.aligned.32x32b.x1.pack::16b.b32": ".pack::16b",
    "tcgen05.ld.sync.aligned.x1.32x32b.b32": "shape",
    "tcgen05.ld.sync.aligned.32x32b.b32": "count",
    "tcgen05.ld.aligned.32x32b.x1.b32": ".sync",
    "tcgen05.ld.red.sync.aligned.32x32b.x1.min.f32": ".x1",
    "tcgen05.ld.red.sync.aligned.32x32b.x4.min.abs.u32": ".abs",
    "tcgen05.ld.red.sync.aligned.32x32b.x4.max.NaN.s32": ".NaN",
    "tcgen05.ld.red.sync.aligned.16x64b.x4.min.f32": ".16x64b",
    "tcgen05.ld.red.sync.aligned.32x32b.x4.f32.min": "op",
    "tcgen05.ld.red.sync.aligned.32x32b.x4.pack::16b.min.u32": ".pack::16b",
}


@pytest.mark.parametrize("opcode", AT_FAULT)
def test_the_qualifier_at_fault_is_named(opcode):
    found = find_contract(opcode)
    assert isinstance(found, BadSpelling)
    assert found.qualifier == AT_FAULT[opcode]
    assert found.nearest
    assert all(isinstance(find_contract(near), Contract) for near in found.nearest)
