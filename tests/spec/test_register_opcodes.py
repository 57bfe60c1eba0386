"""The rows of tests/data/opcodes.tsv about register instructions: spelling, architectures, the number and width of registers."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from tests.gpu.register_forms import forms_of, spellings
from tilecheck.spec import BadSpelling, Contract, find_contract, find_entry, mnemonic_of

DATA = Path(__file__).parent.parent / "data"
FAMILIES = ("mov", "add", "sub", "mul", "fma", "div", "min", "max", "abs", "neg", "sqrt", "rcp", "ex2", "lg2", "cvt")
ARCHITECTURES = tuple(f"sm_{n}" for n in ["75", "80", "86", "89", "90", "90a", "100", "100f", "100a", "103a", "110a", "120", "120a"])
WIDTHS = {"h": 16, "sh": 16, "uh": 16, "r": 32, "f": 32, "s": 32, "u": 32, "d": 64, "fd": 64, "sd": 64, "ud": 64, "x": 128, "p": 1, "b": 8}
with (DATA / "opcodes.tsv").open(encoding="utf-8") as file:
    ROWS = [row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if row["family"] in FAMILIES]
LEGAL = [row for row in ROWS if row["expect"] == "legal"]
ILLEGAL = [row for row in ROWS if row["expect"] == "illegal"]
UNSEEN = {"mov.b32 {h0, _}, r0": "no view has a sink", "mov.b16 h0, {b0, b1}": "registers of eight bits are not emitted"}
"""Legal rows whose operands no call can write."""


def name(row: dict[str, str]) -> str:
    return f"{row['opcode']} {row['operands']}"


def groups(row: dict[str, str]) -> list[tuple[int, int]]:
    """(registers, bits of each) of every operand."""
    found = re.findall(r"\{([^}]*)\}|\b([a-z]+\d+)\b", row["operands"])
    listed = [[one.strip() for one in braced.split(",")] if braced else [single] for braced, single in found]
    return [(len(group), WIDTHS[re.sub(r"\d+$", "", group[0])]) for group in listed]


def fitting(row: dict[str, str]) -> Contract | None:
    """The form of the opcode that has as many registers, as wide, in each operand."""
    for contract in forms_of(row["opcode"]):
        if [(contract.atom_of(o)[-1].extent, 16 if o.bits == 8 and not o.ptx else o.bits) for o in contract.operands] == groups(row):
            return contract
    return None


def test_the_table_has_as_many_rows_as_we_think():
    assert (len(ROWS), len(LEGAL), len(ILLEGAL)) == (567, 393, 134)


@pytest.mark.parametrize("row", [row for row in LEGAL if name(row) not in UNSEEN], ids=name)
def test_a_legal_row_is_read_for_its_architectures_with_its_registers(row):
    found = find_contract(row["opcode"])
    assert isinstance(found, Contract), found
    assert found.opcode == row["opcode"]
    form = fitting(row)
    assert form is not None
    accepted = tuple(f"sm_{arch}" for arch in row["accepted_13.5"].split(","))
    assert tuple(arch for arch in ARCHITECTURES if form.runs_on(arch)) == accepted


@pytest.mark.parametrize("row", ILLEGAL, ids=name)
def test_an_illegal_row_is_refused(row):
    found = find_contract(row["opcode"])
    if isinstance(found, Contract):
        assert fitting(row) is None
        return
    assert isinstance(found, BadSpelling)
    assert found.why
    entry = find_entry(mnemonic_of(row["opcode"]))
    assert entry is not None
    slots = {slot.name for slot in entry.grammar.slots} | {f".{slot.values[0]}" for slot in entry.grammar.slots}
    assert found.qualifier in {f".{token}" for token in row["opcode"].split(".")[1:]} | slots
    assert all(isinstance(find_contract(near), Contract) for near in found.nearest)


def test_every_spelling_reads_back_as_itself():
    every = list(spellings())
    assert len(every) == len(set(every))
    assert all(contract.opcode == opcode for opcode in every for contract in forms_of(opcode))


def test_instructions_that_begin_like_ours_have_no_contract():
    for opcode in ("add.cc.s32", "sub.cc.u32", "cvt.pack.sat.u8.s32.b32"):
        assert find_contract(opcode) is None
