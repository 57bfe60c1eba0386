"""The rows of tests/data/opcodes.tsv about tcgen05.cp: spelling, architectures, operands; every spelling read back; the qualifier at fault."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from tilecheck.contracts.tmem_copy import GRAMMAR
from tilecheck.spec import BadSpelling, Contract, find_contract

DATA = Path(__file__).parent.parent / "data"
ARCHITECTURES = tuple(f"sm_{n}" for n in ["75", "80", "86", "89", "90", "90a", "100", "100f", "100a", "103a", "110a", "120", "120a"])
with (DATA / "opcodes.tsv").open(encoding="utf-8") as file:
    ROWS = [row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if row["family"] == "tcgen05.cp"]
LEGAL = [row for row in ROWS if row["expect"] == "legal"]
ILLEGAL = [row for row in ROWS if row["expect"] == "illegal"]
FORM = re.compile(r"\[ta\], d\d")
"""An address in brackets, and a 64-bit register."""


def fits(row: dict[str, str]) -> bool:
    found = find_contract(row["opcode"])
    return isinstance(found, Contract) and found.issue == "{opcode} [{dst}], {src};" and FORM.fullmatch(row["operands"]) is not None


def name(row: dict[str, str]) -> str:
    return f"{row['opcode']} {row['operands']}"


def test_the_table_has_as_many_rows_as_we_think() -> None:
    assert (len(ROWS), len(LEGAL), len(ILLEGAL)) == (52, 30, 20)


@pytest.mark.parametrize("row", LEGAL, ids=name)
def test_a_legal_row_is_read_for_its_architectures(row: dict[str, str]) -> None:
    assert fits(row)
    found = find_contract(row["opcode"])
    assert isinstance(found, Contract)
    assert {arch for arch in ARCHITECTURES if found.runs_on(arch)} == {f"sm_{arch}" for arch in row["accepted_13.5"].split(",")}


@pytest.mark.parametrize("row", ILLEGAL, ids=name)
def test_an_illegal_row_is_refused(row: dict[str, str]) -> None:
    assert not fits(row)


def test_qualifiers_stand_in_the_order_of_the_isa() -> None:
    """The assembler takes them in any order; the ISA writes one."""
    late = [row for row in ROWS if row["expect"] == "ask"]
    assert {row["note"] for row in late} == {"order"}
    for row in late:
        found = find_contract(row["opcode"])
        assert isinstance(found, BadSpelling)
        assert sorted(found.nearest[0].split(".")) == sorted(row["opcode"].split("."))


AT_FAULT = {
    "tcgen05.cp.cta_group::1.64x128b": "multicast",
    "tcgen05.cp.cta_group::1.32x128b": "multicast",
    "tcgen05.cp.cta_group::1.32x128b.warpx2::02_13": ".warpx2::02_13",
    "tcgen05.cp.cta_group::1.64x128b.warpx4": ".warpx4",
    "tcgen05.cp.cta_group::1.4x256b.warpx4": ".warpx4",
    "tcgen05.cp.cta_group::1.64x256b": ".64x256b",
    "tcgen05.cp.cta_group::1.64x128b.warpx2::03_12": ".warpx2::03_12",
    "tcgen05.cp.cta_group::1.128x256b.b8x16": "packed",
    "tcgen05.cp.cta_group::1.128x256b.b4x16_p64": ".b4x16_p64",
    "tcgen05.cp.cta_group::1.128x256b.b4x16_p64.b8x16": ".b8x16",
    "tcgen05.cp.cta_group::1.128x256b.b8x16.b8x16": ".b8x16",
    "tcgen05.cp.128x256b": "group",
    "tcgen05.cp.cta_group::3.128x256b": ".cta_group::3",
    "tcgen05.cp": "group",
}


@pytest.mark.parametrize("opcode", AT_FAULT)
def test_the_qualifier_at_fault_is_named(opcode: str) -> None:
    found = find_contract(opcode)
    assert isinstance(found, BadSpelling)
    assert found.qualifier == AT_FAULT[opcode]
    assert found.nearest
    assert all(isinstance(find_contract(near), Contract) for near in found.nearest)


def test_every_legal_spelling_is_read_back() -> None:
    spellings = [GRAMMAR.spell(q) for q in GRAMMAR.legal()]
    assert len(spellings) == len(set(spellings)) == 36
    for opcode in spellings:
        assert GRAMMAR.spell(GRAMMAR.read(opcode)) == opcode  # type: ignore[arg-type]
