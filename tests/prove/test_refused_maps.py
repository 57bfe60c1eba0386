"""What the driver refuses to encode is refuted: one row for each rule, which the docs list and a driver has refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from known_cases import DISPUTED, disagreements

from tests.gpu.refused_maps import ACCEPTED, SLICED, TILED, WALK, base_map, disputed, document, rows
from tilecheck.document import read_call
from tilecheck.prove.check import check
from tilecheck.reconstruct import read_evidence

ROOT = Path(__file__).parents[2]
ROWS = {row.name: row for row in rows()}
PAGE = (ROOT / "docs" / "explanation" / "boxes.md").read_text(encoding="utf-8")
RECORDS = {str(entry["form"]): entry for entry in read_evidence(ROOT / "docs" / "evidence" / "maps.json")}


@pytest.mark.parametrize("base", [TILED, SLICED, WALK])
def test_what_the_rows_differ_from_is_proved(base):
    assert check(read_call(document(base))).status == "proved"


@pytest.mark.parametrize("name", ROWS)
def test_what_the_driver_refuses_is_refuted_by_one_clause(name):
    row, call = ROWS[name], read_call(ROWS[name].document)
    verdict = check(call, audit=True)
    assert (verdict.status, [clause.id for clause in verdict.failing]) == ("refuted", [row.clause])
    assert disagreements(call, verdict, 200_000) in ([], None)


@pytest.mark.parametrize("name", ROWS)
def test_the_arguments_of_a_row_differ_from_its_base(name):
    row = ROWS[name]
    assert replace(base_map(row.base), **row.map) != base_map(row.base)


@pytest.mark.parametrize("name", ROWS)
def test_the_page_of_boxes_lists_the_row_with_its_clause(name):
    clause = ROWS[name].clause.replace("src.", "T.")
    assert re.search(rf"^\| {re.escape(name)} \| `{re.escape(clause)}` \|", PAGE, re.MULTILINE)


def test_a_driver_has_refused_every_row_and_encoded_every_base():
    assert set(ROWS) <= RECORDS.keys()
    assert [name for name in ROWS if RECORDS[name]["status"] != 1] == []
    accepted = [f"base: {base}" for base in (TILED, SLICED, WALK)] + [f"accepted: {name}" for name, _, _ in ACCEPTED]
    assert [name for name in accepted if RECORDS[name]["status"] != 0] == []


def test_a_driver_has_refused_what_the_disputed_labels_take_for_legal():
    assert {name for name, _ in disputed()} == DISPUTED.keys()
    assert [(RECORDS[f"case {name}"]["status"], RECORDS[f"case {name}, 16 bytes"]["status"]) for name in DISPUTED] == [(1, 0), (1, 0)]
