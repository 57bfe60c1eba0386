"""The rows of tests/data/opcodes.tsv about cp.async, the bulk copies and reductions, as calls: legal ones pass, illegal ones fail."""

from __future__ import annotations

import csv
import dataclasses
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tilecheck.document import read_call
from tilecheck.prove.check import check
from tilecheck.spec import NEIGHBOURS, BadSpelling, Contract, find_contract, mnemonic_of

ROOT = Path(__file__).parent.parent.parent
FAMILIES = ("cp.async", "cp.async.bulk", "cp.reduce.async.bulk")
ABOUT = ("opcode", "operands", "storage", "shape", "bounds")
ARCHITECTURES = tuple(f"sm_{n}" for n in ["75", "80", "86", "89", "90", "90a", "100", "100f", "100a", "103a", "110a", "120", "120a"])
SPACES = {"ga": "global", "gb": "global", "sa": "shared", "ca": "shared", "la": "local"}
DTYPES = {"u": "uint", "s": "int", "f": "float", "b": "bits"}


@dataclasses.dataclass(frozen=True)
class Row:
    """A line of the table; `accepted` by ptxas 13.5 on these architectures."""

    opcode: str
    operands: tuple[str, ...]
    expect: str
    accepted: tuple[str, ...]
    note: str

    @property
    def id(self) -> str:
        return f"{self.opcode} {', '.join(self.operands)}"

    @property
    def without_contract(self) -> bool:
        return mnemonic_of(self.opcode) in NEIGHBOURS


@cache
def rows() -> tuple[Row, ...]:
    with (ROOT / "tests" / "data" / "opcodes.tsv").open(encoding="utf-8") as file:
        lines = [line for line in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if line["family"] in FAMILIES]
    return tuple(
        Row(
            x["opcode"],
            tuple(part for part in x["operands"].split(", ") if part),
            x["expect"],
            architectures(x["accepted_13.5"]),
            x["note"] or "",
        )
        for x in lines
    )


def architectures(cell: str) -> tuple[str, ...]:
    return () if cell == "-" else tuple(f"sm_{part}" for part in cell.split(","))


LEGAL = [row for row in rows() if row.expect == "legal" and not row.without_contract]
ILLEGAL = [row for row in rows() if row.expect == "illegal" and not row.without_contract]
UNSEEN = {
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sa], [ga], d0, [mb]": "a size is a number of a call, not a register"
}
"""Illegal rows about the width of a register, which no call can express, under a legal spelling."""


def parameters(row: Row) -> dict[str, Any]:
    """What the operands behind the addresses say; registers are symbols or plain values."""
    contract = find_contract(row.opcode)
    known = {p.name: p for p in contract.parameters} if isinstance(contract, Contract) else {}
    bulk = "bulk" in row.opcode
    found: dict[str, Any] = {"remote_cta_id": 1} if "remote_cta_id" in known else {}
    rest = [part for part in row.operands if part[1:-1] not in SPACES]
    size, *others = rest or ["r0"]
    found["chunk_bytes"] = int(size) if size.isdigit() else 64 if bulk else "n"
    for part in others:
        if part == "[mb]":
            found["mbar"] = "shared"
        elif part == "pol":
            found["cache_policy"] = 0
        elif part.startswith("h"):
            found["byteMask" if "cp_mask" in row.opcode else "cta_mask"] = 3
        elif part.startswith("p"):
            found["ignore_src"] = "n > 0"
        else:
            found["src_size"] = int(part) if part.isdigit() else "n"
    return found


def call_of(row: Row, arch: str | None = None) -> Any:
    """The call that a row writes, one thread of CTA 0 of two."""
    given = parameters(row)
    kind = row.opcode.rsplit(".", 1)[1]
    bits = int(kind.lstrip("bfus")) if row.opcode.startswith("cp.reduce") else 32
    dtype = "bfloat16" if kind == "bf16" else f"{DTYPES[kind[0]]}{bits}" if row.opcode.startswith("cp.reduce") else "bits32"
    size = given["chunk_bytes"] if isinstance(given["chunk_bytes"], int) else 16
    spaces = [SPACES[part[1:-1]] for part in row.operands if part[1:-1] in SPACES]
    views = [
        {"name": f"V{k}", "space": space, "dtype": dtype, "shape": [max(1, 8 * size // bits)], "align": 128}
        for k, space in enumerate(spaces)
    ]
    document = {
        "schema": "tilecheck/call@1",
        "opcode": row.opcode,
        "scope": "thread",
        "launch": {"block": [32], "cluster": [2, 1, 1]},
        "guard": "cbx == 0 and laneid == 0",
        "symbols": [{"name": "n", "min": 0, "max": 4}],
        "operands": views,
        "parameters": given,
    }
    return read_call(document | ({"arch": arch} if arch else {}))


def faults(row: Row, arch: str | None = None) -> set[str]:
    """The failing clauses of a row's call that its legality is about."""
    return {clause.id for clause in check(call_of(row, arch)).failing if clause.id.split(".")[-1] in ABOUT}


def test_the_table_has_as_many_rows_as_we_think():
    assert (len(LEGAL), len(ILLEGAL)) == (70, 44)


@pytest.mark.parametrize("row", LEGAL, ids=lambda row: row.id)
def test_a_legal_row_passes(row):
    assert faults(row) == set()


@pytest.mark.parametrize("row", [row for row in ILLEGAL if row.id not in UNSEEN], ids=lambda row: row.id)
def test_an_illegal_row_fails(row):
    assert faults(row) != set()


def test_the_rows_that_no_call_can_write_are_about_registers():
    assert {row.id for row in ILLEGAL if not faults(row)} == set(UNSEEN)


@pytest.mark.parametrize("row", LEGAL, ids=lambda row: row.id)
def test_the_architectures_of_a_legal_row_are_those_that_assemble_it(row):
    found = find_contract(row.opcode)
    assert isinstance(found, Contract)
    assert tuple(arch for arch in ARCHITECTURES if found.runs_on(arch)) == row.accepted


@pytest.mark.parametrize("row", LEGAL[::4], ids=lambda row: row.id)
def test_a_call_for_an_architecture_without_the_form_fails_by_opcode(row):
    for arch in ARCHITECTURES:
        assert faults(row, arch) == (set() if arch in row.accepted else {"opcode"}), arch


def test_sizes_that_the_isa_leaves_undefined_are_refuted():
    asked = {row.id: faults(row) for row in rows() if row.expect == "ask" and not row.without_contract}
    assert asked == {
        "cp.async.cg.shared.global [sa], [ga], 16, 8": set(),
        "cp.async.ca.shared.global [sa], [ga], 8, 16": {"src_size.bounds"},
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [sa], [ca], 8, [mb]": {"chunk_bytes.shape"},
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [sa], [ca], 20, [mb]": {"chunk_bytes.shape"},
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [sa], [ca], 0, [mb]": {"chunk_bytes.shape"},
        "cp.async.bulk.shared.global.mbarrier::complete_tx::bytes [sa], [ga], r0, [mb]": {"opcode"},
    }


@pytest.mark.parametrize("row", [row for row in rows() if row.without_contract], ids=lambda row: row.id)
def test_commits_waits_and_arrivals_have_no_contract(row):
    verdict = check(call_of(row))
    assert (verdict.status, verdict.clauses) == ("error", ())


def test_a_spelling_that_is_none_of_the_neighbours_is_a_bad_one():
    for opcode in ("cp.async.commit", "cp.async.bulk.tensors.2d", "cp.async", "cp.async.bulk"):
        assert isinstance(find_contract(opcode), BadSpelling)
    assert find_contract("cp.sync") is None
