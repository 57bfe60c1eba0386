"""The forms and walks of the wgmma campaign: all in the evidence, none stale; on a GPU, some of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.gpu import wgmma, wgmma_walks
from tests.gpu.evidence import has_gpu, stale  # noqa: F401 (a skipif names has_gpu)
from tests.gpu.wgmma_forms import COMPACT, MIXED, wgmma_forms
from tests.gpu.wgmma_walks import walks
from tilecheck.document import read_call
from tilecheck.emit import emit_unchecked
from tilecheck.prove.check import check
from tilecheck.reconstruct import read_evidence
from tilecheck.reconstruct.run import contract_of
from tilecheck.spec import contract_hash

EVIDENCE = Path(__file__).parents[2] / "docs" / "evidence"
FORMS = {form.name: form for form in wgmma_forms()}
WALKS = {walk.name: walk for walk in walks()}
ENTRIES = {str(entry["form"]): entry for entry in read_evidence(EVIDENCE / "wgmma.json")}


def test_every_form_and_walk_is_in_the_evidence_and_came_out_as_predicted():
    assert set(ENTRIES) == {*FORMS, *WALKS}
    assert {name for name, entry in ENTRIES.items() if entry["matches"] is not True} == set()
    assert {entry["arch"] for entry in ENTRIES.values()} == {"sm_90a"}


def test_the_evidence_is_of_the_contracts_as_they_are():
    calls = {name: read_call(form.document) for name, form in FORMS.items()}
    assert {name for name, call in calls.items() if ENTRIES[name]["contract"] != contract_hash(contract_of(call))} == set()


def test_the_evidence_is_of_the_instructions_as_they_are():
    some = {name: form for k, (name, form) in enumerate(FORMS.items()) if k % 15 == 0}
    assert stale(EVIDENCE / "wgmma.json", some) == []


def test_every_type_size_major_and_swizzle_is_among_the_forms():
    for kind in MIXED:
        assert any(f".{kind}." in name and "A registers" in name for name in FORMS)
    for n in (8, 24, 64, 96, 128, 256):
        assert any(f"m64n{n}k16.f32.f16.f16, A shared" in name for name in FORMS)
    for side in "AB":
        for major, swizzle in COMPACT:
            assert f"{side} {major} swizzle {swizzle}" in FORMS
            assert f"walk of {side}, f16 {major} swizzle {swizzle}" in WALKS


def test_every_walk_is_of_a_proved_call_and_reads_every_element():
    for k, (name, walk) in enumerate(WALKS.items()):
        counts = ENTRIES[name]["compared"]
        assert (counts["wrong"], counts["foreign"]) == (0, 0)
        assert counts["elements"] == 64 * 256 // wgmma_walks.WIDTHS[walk.kind]
        if k % 9 == 0:
            assert check(read_call(walk.document())).status == "proved", name


def test_every_mutant_was_noticed_and_changes_the_instructions():
    rows = json.loads((EVIDENCE / "mutants-wgmma.json").read_text(encoding="utf-8"))
    assert {(row["form"], row["what"]) for row in rows} == {(form, what) for form, what, _ in wgmma.MUTANTS}
    assert all(row["matches"] is False and row["different_bytes"] > 0 for row in rows)
    for form, what, change in wgmma.MUTANTS:
        call = read_call(FORMS[form].document)
        right = emit_unchecked(call, "sm_90a").ptx
        assert emit_unchecked(call, "sm_90a", contract=change(contract_of(call))).ptx != right, what


@pytest.mark.skipif("not has_gpu()")
def test_some_forms_and_a_walk_on_a_gpu():
    for name in list(FORMS)[::40]:
        assert wgmma.one_form(FORMS[name])["matches"]
    assert wgmma.one_walk(next(iter(WALKS.values())))["matches"]
