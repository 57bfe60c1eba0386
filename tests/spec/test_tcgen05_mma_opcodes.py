"""The tcgen05.mma rows of tests/data/opcodes.tsv as calls: legal ones pass `opcode`, `operands`, `storage` and `shape`, illegal ones fail one of them."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest

from tests.prove.tcgen05_documents import accumulator, in_cells, kind_of, mma
from tilecheck.document import read_call
from tilecheck.prove.check import check
from tilecheck.spec import BadSpelling, Contract, find_contract

FILE = Path(__file__).parent.parent / "data" / "opcodes.tsv"
ABOUT = ("opcode", "operands", "storage", "shape")
with FILE.open(encoding="utf-8") as lines:
    ROWS = [row for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE) if row["family"].startswith("tcgen05.mma")]
REGISTERS = {
    "32-bit descriptor": "registers of operands are made by the emitter",
    "64-bit idesc": "registers of operands are made by the emitter",
    "64-bit A address": "registers of operands are made by the emitter",
    "D not an address": "the statement is written by the emitter",
    "predicate operand": "the statement is written by the emitter",
    "predicate missing": "a condition that a call does not give is true",
    "scale-input-d register": "the parameter is a written number",
}
"""Illegal rows about PTX operands that no call can write, with why, by their notes."""


def written(row: dict[str, str]) -> tuple[list[str], dict[str, Any]]:
    """(operands as written, the parameters that they are)."""
    parts = re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s]+", row["operands"])
    found: dict[str, Any] = {}
    masks = next((part for part in parts if part.startswith("{")), None)
    if masks is not None:
        found["disable_output_lane"] = [0] * len(masks.split(","))
    last = parts[-1]
    if parts[-2].startswith("p") and re.fullmatch(r"-?\d+", last):
        found["zero_column_mask" if ".ws" in row["opcode"] else "scale_input_d"] = int(last)
    if parts[-2].startswith("p") and re.fullmatch(r"d\d", last):
        found["zero_column_mask"] = 0
    return parts, found


def call_of(row: dict[str, str], arch: str | None = None) -> Any:
    """The call that a row writes, with the smallest legal shape."""
    opcode, (parts, parameters) = row["opcode"], written(row)
    contract = find_contract(opcode)
    assert isinstance(contract, Contract)
    assert contract.sized is not None
    size = contract.sized.sizes[0]
    in_tmem = parts[1].startswith("[")
    document = mma(opcode, size.m, size.n[-1] if ".ws" in opcode else size.n[0], k=size.k, in_tmem=in_tmem, parameters=parameters)
    if parts[2].startswith("["):  # B
        document["operands"][2] = {**in_cells("float16", (1, 1), opcode, size.m, size.k, 384), "name": "B"}
        del document["parameters"]["b_descriptor"]
    brackets = sum(part.startswith("[") for part in parts[3:])
    document["operands"] = document["operands"][: 3 + brackets]
    return read_call(document | ({"arch": arch} if arch else {}))


def faults(row: dict[str, str], arch: str | None = None) -> set[str]:
    if isinstance(find_contract(row["opcode"]), BadSpelling):
        return {"opcode"}
    return {clause.id for clause in check(call_of(row, arch)).failing if clause.id.split(".")[-1] in ABOUT}


def name(row: dict[str, str]) -> str:
    return f"{row['opcode']} {row['operands']}"


LEGAL = [row for row in ROWS if row["expect"] == "legal"]
ILLEGAL = [row for row in ROWS if row["expect"] == "illegal"]


def test_the_table_has_as_many_rows_as_we_think():
    assert (len(ROWS), len(LEGAL), len(ILLEGAL)) == (214, 157, 52)


@pytest.mark.parametrize("row", LEGAL, ids=name)
def test_a_legal_row_passes(row: dict[str, str]):
    assert faults(row) == set()


@pytest.mark.parametrize("row", [row for row in ILLEGAL if row["note"] not in REGISTERS], ids=name)
def test_an_illegal_row_fails(row: dict[str, str]):
    assert faults(row) != set()


def test_the_rows_that_no_call_can_write_are_named():
    assert {row["note"] for row in ILLEGAL} >= set(REGISTERS)
    assert all(find_contract(row["opcode"]) is not None for row in ILLEGAL)


@pytest.mark.parametrize("row", LEGAL[::3], ids=name)
def test_the_floors_are_those_of_the_assembler(row: dict[str, str]):
    """A form exists on every architecture on which the assembler takes it, and on no other of the table (sm_110f is not in it)."""
    contract = find_contract(row["opcode"])
    assert isinstance(contract, Contract)
    accepted = {f"sm_{part}" for part in row["accepted_13.5"].split(",")}
    every = {f"sm_{one}" for one in ("75", "80", "90", "90a", "100", "100f", "100a", "103a", "110a", "120", "120a")}
    assert {arch for arch in every if not faults(row, arch)} == accepted


def test_the_kinds_of_the_helper_are_those_of_the_opcode():
    assert kind_of("tcgen05.mma.ws.cta_group::1.kind::i8.collector::b0::fill") == "i8"
    assert accumulator("float32", (1, 1), "whole", 128, 8)["shape"] == [1, 1, 128, 8]
