"""The rows of tests/data/opcodes.tsv about allocations of tensor memory, commits, waits, fences and shifts: spelling, architectures and operands."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from tilecheck.spec import BadSpelling, Contract, find_contract

DATA = Path(__file__).parent.parent / "data"
ARCHITECTURES = tuple(f"sm_{n}" for n in ["75", "80", "86", "89", "90", "90a", "100", "100f", "100a", "103a", "110a", "120", "120a"])
with (DATA / "opcodes.tsv").open(encoding="utf-8") as file:
    ROWS = [
        row
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        if row["opcode"].startswith(
            tuple(f"tcgen05.{one}" for one in ("alloc", "dealloc", "relinquish", "commit", "wait", "fence", "shift"))
        )
    ]


def faults(row: dict[str, str]) -> bool:
    """Whether the spelling or the operands of a row are wrong."""
    found = find_contract(row["opcode"])
    if not isinstance(found, Contract):
        return True
    written = [text for text in row["operands"].split(", ") if text]
    names = re.findall(r"\{(\w+)\}", found.issue.replace("{opcode}", ""))
    if len(written) != len(names):
        return True
    sizes = found.by_name("ncols").choices if "ncols" in names else ()
    return any(name == "ncols" and text.isdigit() and int(text) not in sizes for name, text in zip(names, written, strict=True))


def name(row: dict[str, str]) -> str:
    return f"{row['opcode']} {row['operands']}"


def test_the_table_has_as_many_rows_as_we_think() -> None:
    assert [len([row for row in ROWS if row["expect"] == expect]) for expect in ("legal", "illegal", "ask")] == [22, 9, 6]


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_a_row_is_legal_where_it_is_accepted(row: dict[str, str]) -> None:
    late = row["note"] == "doc example order"  # the assembler takes any order
    assert faults(row) == (row["expect"] == "illegal" or row["accepted_13.5"] == "-" or late)
    found = find_contract(row["opcode"])
    if isinstance(found, Contract) and row["accepted_13.5"] != "-":
        assert {a for a in ARCHITECTURES if found.runs_on(a)} == {f"sm_{a}" for a in row["accepted_13.5"].split(",")}


AT_FAULT = {
    "tcgen05.alloc.cta_group::3.sync.aligned.shared::cta.b32": ".cta_group::3",
    "tcgen05.alloc.sync.aligned.shared::cta.b32": "group",
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cluster.b32": ".shared::cluster",
    "tcgen05.commit.cta_group::1.b64": ".mbarrier::arrive::one",
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cta.b64": ".shared::cta",
    "tcgen05.dealloc.2cta": ".2cta",
    "tcgen05.wait.sync.aligned": "for",
    "tcgen05.wait::cp.sync.aligned": "::cp",
    "tcgen05.wait.ld.sync.aligned": ".ld",
    "tcgen05.wait::ld::st.sync.aligned": "::ld::st",
    "tcgen05.fence": "side",
    "tcgen05.fence.before_thread_sync": ".before_thread_sync",
    "tcgen05.shift.cta_group::1.up": ".up",
    "tcgen05.shift.down.cta_group::1": "group",
}


@pytest.mark.parametrize("opcode", AT_FAULT)
def test_the_qualifier_at_fault_is_named(opcode: str) -> None:
    found = find_contract(opcode)
    assert isinstance(found, BadSpelling)
    assert found.qualifier == AT_FAULT[opcode]
    assert all(isinstance(find_contract(near), Contract) for near in found.nearest)
