"""The evidence of mma.sync and of register instructions: every form of sm_90 matches, later ones are assembled, mutants are noticed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.gpu import products
from tests.gpu.evidence import has_gpu, stale  # noqa: F401 (a skipif names has_gpu)
from tests.gpu.mma_forms import later_mma_forms
from tests.gpu.register_forms import later_register_forms
from tilecheck.document import read_call
from tilecheck.prove.check import check
from tilecheck.reconstruct import read_evidence

EVIDENCE = Path(__file__).parents[2] / "docs" / "evidence"
FORMS = {form.name: form for form in products.all_forms()}
LATER = [*later_mma_forms(), *later_register_forms()]


def test_forms_have_names_of_their_own():
    assert len(FORMS) == len(products.all_forms())


def test_every_form_with_something_of_its_own_is_proved():
    own = [form for form in FORMS.values() if form.name != form.document["opcode"]]
    assert len(own) > 50
    assert {form.name: check(read_call(form.document)).status for form in own} == {form.name: "proved" for form in own}


@pytest.mark.parametrize("family", ["mma", "registers"])
def test_evidence_covers_every_form(family):
    entries = {str(entry["form"]): entry for entry in read_evidence(EVIDENCE / f"{family}.json")}
    assert [form.name for form in FORMS.values() if form.family == family and entries[form.name]["matches"] is not True] == []
    later = [form for form in LATER if form.family == family]
    assert later
    assert all(entries[form.name]["status"] == "assembled, not reconstructed" for form in later)


@pytest.mark.parametrize("family", ["mma", "registers"])
def test_evidence_is_of_the_ptx_and_contracts_that_stand_here(family):
    old = stale(EVIDENCE / f"{family}.json", FORMS)
    if old:  # an error for a release only
        pytest.skip(f"stale evidence, run tests/gpu/products.py again: {len(old)} forms, the first is {old[0]}")


def test_results_with_bits_of_their_own_are_most_of_those_compared():
    """NaN, what the ISA leaves open and approximations aside, a result has one right value."""
    entries = [e for e in read_evidence(EVIDENCE / "registers.json") if isinstance(e.get("compared"), dict) and "exact" in e["compared"]]
    assert len(entries) > 1200
    loose = [e for e in entries if not {"approx", "full"} & set(str(e["opcode"]).split("."))]
    assert sum(e["compared"]["exact"] for e in loose) > 0.8 * 256 * len(loose)


def test_every_mutant_was_noticed():
    rows = json.loads((EVIDENCE / "mutants-mma.json").read_text(encoding="utf-8"))
    assert sorted((row["form"], row["what"]) for row in rows) == sorted((form, what) for form, what, _ in products.MUTANTS)
    assert all(row["matches"] is False for row in rows)


@pytest.mark.gpu
@pytest.mark.skipif("not has_gpu()", reason="needs a GPU of compute capability 9.0")
def test_the_campaign_matches_on_this_gpu(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["products", "--out", str(tmp_path)])
    assert products.main() == 0
