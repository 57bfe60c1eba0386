"""The rows of tests/data/opcodes.tsv about mma: spelling, architectures, and the number of registers of every operand."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from tests.gpu.mma_forms import count
from tilecheck.spec import BadSpelling, Contract, Register, find_contract, find_entry

DATA = Path(__file__).parent.parent / "data"
ARCHITECTURES = tuple(f"sm_{n}" for n in ["75", "80", "86", "89", "90", "90a", "100", "100f", "100a", "103a", "110a", "120", "120a"])
with (DATA / "opcodes.tsv").open(encoding="utf-8") as file:
    ROWS = [row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if row["family"].split(".")[0] == "mma"]
LEGAL = [row for row in ROWS if row["expect"] == "legal"]
ILLEGAL = [row for row in ROWS if row["expect"] == "illegal"]
WIDTHS = {"r": 32, "f": 32, "fd": 64, "h": 16}


def name(row: dict[str, str]) -> str:
    return f"{row['opcode']} {row['operands']}"


def groups(row: dict[str, str]) -> list[list[str]]:
    """The registers of each operand, in the order of the row."""
    found = re.findall(r"\{([^}]*)\}|\b([a-z]+\d+|0x[0-9a-f]+)\b", row["operands"])
    return [[one.strip() for one in braced.split(",")] if braced else [single] for braced, single in found]


def fits(contract: Contract, row: dict[str, str]) -> bool:
    """Whether a row has as many registers, of the widths of the contract, in each operand."""
    given = groups(row)
    given = [group for group in groups(row) if not group[0].startswith("0x")]
    immediates = sum(group[0].startswith("0x") for group in groups(row))
    selectors = [p for p in contract.parameters if p.kind == "selector"]
    inside = [(len(group), WIDTHS[re.sub(r"\d+$", "", group[0])]) for group in given]
    if immediates and int(row["operands"].rsplit("0x", 1)[1][:1], 16) not in selectors[0].choices:
        return False
    return sorted(inside) == sorted(_words(contract, immediates))


def _words(contract: Contract, immediates: int) -> list[tuple[int, int]]:
    """(registers, bits) of every group that a form names; two selectors of scales make one."""
    registers = [(count(contract, o), o.bits) for o in contract.operands if isinstance(o, Register)]
    pairs = (sum(p.kind == "selector" for p in contract.parameters) - immediates) // 2
    return [*registers, *[(2, 16)] * pairs]


def test_the_table_has_as_many_rows_as_we_think():
    assert (len(ROWS), len(LEGAL), len(ILLEGAL)) == (184, 106, 64)


EIGHT_BIT_KINDS = re.compile(r"kind::f8f6f4\.f(16|32)\.e[45]m[23]\.e[45]m[23]")
"""An assembler has .kind::f8f6f4 of 8-bit floats from sm_100f on; the ISA from sm_120a or sm_120f on only."""


@pytest.mark.parametrize("row", LEGAL, ids=name)
def test_a_legal_row_is_read_for_its_architectures_with_its_registers(row):
    found = find_contract(row["opcode"])
    assert isinstance(found, Contract), found
    assert found.opcode == row["opcode"]
    accepted = {f"sm_{arch}" for arch in row["accepted_13.5"].split(",")}
    ours = {arch for arch in ARCHITECTURES if found.runs_on(arch)}
    assert ours <= accepted
    assert (ours == accepted) == (EIGHT_BIT_KINDS.search(row["opcode"]) is None)
    assert fits(found, row)


@pytest.mark.parametrize("row", ILLEGAL, ids=name)
def test_an_illegal_row_is_refused(row):
    found = find_contract(row["opcode"])
    if isinstance(found, Contract):
        assert not fits(found, row)
        return
    assert isinstance(found, BadSpelling)
    assert found.why
    entry = find_entry("mma")
    assert entry is not None
    slots = {slot.name for slot in entry.grammar.slots} | {f".{slot.values[0]}" for slot in entry.grammar.slots}
    assert found.qualifier in {f".{token}" for token in row["opcode"].split(".")[1:]} | slots
    assert all(isinstance(find_contract(near), Contract) for near in found.nearest)


AT_FAULT = {
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16": ".f16",
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32": ".bf16",
    "mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16": ".f16",
    "mma.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32": ".m16n8k16",
    "mma.sync.aligned.m16n8k16.col.row.f32.f16.f16.f32": ".col",
    "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32": ".row",
    "mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32": ".satfinite",
    "mma.sync.aligned.m16n8k16.row.col.rn.f32.f16.f16.f32": ".rn",
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s4.s32": ".s4",
    "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.xor": "popc",
    "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32": "op",
    "mma.sync.aligned.m16n8k32.row.col.f32.e2m1.e2m1.f32": "kind",
    "mma.sync.aligned.m16n8k16.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32": ".m16n8k16",
    "mma.sync.m16n8k16.row.col.f32.f16.f16.f32": ".aligned",
    "mma.sync.aligned.m16n8k16.f32.f16.f16.f32": "alayout",
    "mma.sync.aligned.m16n16k16.row.col.f32.f16.f16.f32": ".m16n16k16",
}


@pytest.mark.parametrize("opcode", AT_FAULT)
def test_the_qualifier_at_fault_is_named(opcode):
    found = find_contract(opcode)
    assert isinstance(found, BadSpelling)
    assert found.qualifier == AT_FAULT[opcode]
