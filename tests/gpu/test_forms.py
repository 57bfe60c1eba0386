"""The forms of the campaign: all proved, nearly nothing undefined, mutants that say something; on a GPU, all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gpu import arithmetic, campaign
from tests.gpu.async_mutants import async_mutants
from tests.gpu.evidence import has_gpu, stale  # noqa: F401 (a skipif names has_gpu)
from tests.gpu.forms import all_forms, later_forms
from tests.gpu.mutants import contract_data, mutants
from tests.gpu.tma_mutants import tma_mutants
from tilecheck.document import read_call
from tilecheck.emit import emit_kernel_unchecked
from tilecheck.prove.check import check
from tilecheck.reconstruct import predicted, read_evidence
from tilecheck.reconstruct.run import contract_of

EVIDENCE = Path(__file__).parents[2] / "docs" / "evidence"
FORMS = {form.name: form for form in all_forms()}


def test_forms_have_names_of_their_own():
    assert len(FORMS) == len(all_forms())


def test_every_form_is_proved():
    verdicts = {form.name: check(read_call(form.document)).status for form in [*all_forms(), *later_forms()]}
    assert {name: status for name, status in verdicts.items() if status != "proved"} == {}


def test_stores_leave_less_than_one_percent_undefined():
    for form in all_forms():
        call = read_call(form.document)
        if call.opcode.startswith("st"):
            rows = predicted(call, form.values, form.elected).memory
            assert sum(row[2] is None for row in rows) <= 0.01 * len(rows), form.name


def test_there_are_mutants_of_every_image_bearing_part():
    found = [*mutants(), *async_mutants(), *tma_mutants()]
    assert len(mutants()) >= 20
    assert {one.part for one in mutants()} == {"owner", "provider", "walk", "word order", "width", "transposition"}
    assert {one.part for one in async_mutants()} == {"zero fill", "destination CTA", "operator", "walk"}
    assert {one.part for one in tma_mutants()} == {"pitch", "swizzle", "phase", "walk", "destination CTA", "tail", "operator", "type"}
    assert all([one.predicts, one.emits, one.calls].count(None) == 2 for one in found)


def test_every_mutant_changes_the_prediction_or_the_kernel():
    for one in (*mutants(), *async_mutants(), *tma_mutants()):
        form = FORMS[one.form]
        call = read_call(form.document)
        if one.predicts or one.calls:
            wrong, changed = contract_data(call.opcode), read_call(one.calls(form.document)) if one.calls else call
            if one.predicts:
                one.predicts(wrong)
            right, other = predicted(call, form.values, form.elected), predicted(changed, form.values, form.elected, wrong)
            assert (right.registers, right.memory) != (other.registers, other.memory), one.what
        else:
            assert one.emits
            kernel = emit_kernel_unchecked(call, "sm_90", contract=one.emits(contract_of(call)))
            assert kernel.ptx != emit_kernel_unchecked(call, "sm_90").ptx, one.what


@pytest.mark.parametrize("family", ["memory", "matrix", "async", "tma"])
def test_evidence_covers_every_form(family):
    entries = {str(entry["form"]): entry for entry in read_evidence(EVIDENCE / f"{family}.json")}
    for form in all_forms():
        if form.family == family:
            assert entries[form.name]["matches"] is True, form.name
    later = [form for form in later_forms() if form.family == family]
    assert later
    assert all(entries[form.name]["status"] == "assembled, not reconstructed" for form in later)


@pytest.mark.parametrize("family", ["memory", "matrix", "async", "tma"])
def test_evidence_is_of_the_ptx_and_contracts_that_stand_here(family):
    old = stale(EVIDENCE / f"{family}.json", FORMS)
    if old:  # an error for a release only
        pytest.skip(f"stale evidence, run tests/gpu/campaign.py again: {len(old)} forms, the first is {old[0]}")


@pytest.mark.gpu
@pytest.mark.skipif("not has_gpu()", reason="needs a GPU of compute capability 9.0")
def test_the_campaign_matches_on_this_gpu(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["campaign", "--out", str(tmp_path)])
    assert campaign.main() == 0


@pytest.mark.gpu
@pytest.mark.skipif("not has_gpu()", reason="needs a GPU of compute capability 9.0")
def test_arithmetic_agrees_with_the_gpu():
    assert arithmetic.run(seed=2)[1] == []
