"""The rows of tests/data/opcodes.tsv of tensor copies as calls: legal ones are proved, illegal ones are refuted.

`ask` rows are open questions and left out.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest

from tilecheck.document import read_call
from tilecheck.prove.check import check
from tilecheck.spec import Contract, find_contract

ROOT = Path(__file__).parent.parent.parent
ARCHITECTURES = tuple(f"sm_{n}" for n in ["75", "80", "86", "89", "90", "90a", "100", "100f", "100a", "103a", "110a", "120", "120a"])
FAMILIES = ("tma.load", "tma.store", "tma.reduce", "tma.prefetch")
with (ROOT / "tests" / "data" / "opcodes.tsv").open(encoding="utf-8") as file:
    ROWS = [row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if row["family"] in FAMILIES]
LEGAL = [row for row in ROWS if row["expect"] == "legal"]
ILLEGAL = [row for row in ROWS if row["expect"] == "illegal"]
NARROW = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [sa], [tm, {h0,h1}], [mb]"
"""Illegal for its 16-bit coordinate registers, which a call does not choose: the emitter writes 32-bit ones."""


def names(row: dict[str, str]) -> str:
    return f"{row['opcode']} {row['operands']}"


def listed(text: str) -> list[str]:
    return [name for name in text.split(",") if name.strip()]


def walk(opcode: str, rank: int, shared: dict[str, Any]) -> dict[str, Any]:
    """The fields of a walk over eight pixels of eight channels (128 pixels where that is fixed), and the shape of its image."""
    wide, fixed = "::w." in opcode or "::w::128" in opcode, "::w::128" in opcode
    pixels = 128 if fixed else 8
    shared["shape"] = [pixels, 8]
    if wide:
        shared |= {"align": 1024, "layout": f"Swizzle(2,2,3) o S[({pixels},8):(16,1)]"}
    corner = [0] * (1 if wide else rank - 2)
    column = {} if fixed else {"pixels_per_column": pixels}
    corners = {"pixel_box_lower_corner": corner, "pixel_box_upper_corner": corner}
    return {**corners, "channels_per_pixel": 8, **column, **({"swizzle": 2} if wide else {})}


def call_of(row: dict[str, str]) -> Any:
    """The call that a row writes, on views and fields of which none is at fault."""
    opcode, operands = row["opcode"], row["operands"]
    groups = re.findall(r"\{([^}]*)\}", operands)
    coords, rank = listed(groups[0]), int((re.search(r"\.(\d)d\.", opcode) or [0, "2"])[1])
    gathers = "gather4" in opcode or "scatter4" in opcode
    axes = [8] * (rank - 1)
    box, image = ([1, 8], [4, 8]) if gathers else ([*axes, 8][-max(rank, 1) :], [*axes, 8][-max(rank, 1) :])
    dtype = "uint32"
    shared = {"name": "S", "space": "shared", "dtype": dtype, "shape": image, "align": 128}
    tensor = {"name": "T", "space": "global", "dtype": dtype, "shape": [*axes, 8][-max(rank, 1) :], "align": 128}
    pair = [tensor] if "prefetch" in opcode else [tensor, shared] if operands.startswith("[tm") else [shared, tensor]
    parameters: dict[str, Any] = {"box": box, "coords": [0] * len(coords)}
    if "im2col" in opcode and rank > 2:
        parameters = walk(opcode, rank, shared) | {"coords": [0] * len(coords)}
    if gathers and len(coords) == 5:
        parameters |= {"coords": [0, 0], "gather4": [0, 1, 2, 3]}
    if "[mb]" in operands:
        parameters["mbar"] = "shared"
    if len(groups) > 1:
        parameters["im2col_offsets"] = [0] * len(listed(groups[1]))
    if re.search(r"\bh0(, pol)?$", operands):
        parameters["cta_mask"] = 1
    if operands.endswith("pol"):
        parameters["cache_policy"] = 0
    document = {"schema": "tilecheck/call@1", "opcode": opcode, "scope": "thread", "operands": pair, "parameters": parameters}
    return read_call(document | ({"launch": {"block": [1], "cluster": [2]}} if "cta_group::2" in opcode else {}))


def test_the_table_has_as_many_rows_as_we_think():
    assert (len(LEGAL), len(ILLEGAL)) == (80, 27)


@pytest.mark.parametrize("row", LEGAL, ids=names)
def test_a_legal_row_is_proved(row):
    verdict = check(call_of(row), audit=True)
    assert verdict.status == "proved", verdict.summary()


@pytest.mark.parametrize("row", [row for row in ILLEGAL if names(row) != NARROW], ids=names)
def test_an_illegal_row_is_refuted(row):
    verdict = check(call_of(row), audit=True)
    assert verdict.status == "refuted"
    assert {clause.id for clause in verdict.failing} & {"opcode", "operands", "coords", "im2col_offsets.shape"}


@pytest.mark.parametrize("row", LEGAL, ids=names)
def test_the_architectures_of_a_legal_row_are_those_that_assemble_it(row):
    found = find_contract(row["opcode"])
    assert isinstance(found, Contract)
    assert [arch.removeprefix("sm_") for arch in ARCHITECTURES if found.runs_on(arch)] == row["accepted_13.5"].split(",")
