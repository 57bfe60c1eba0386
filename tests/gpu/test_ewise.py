"""The evidence of scalar compositions is of today's contract and PTX; on a GPU, some of it again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.gpu.evidence import has_gpu, stale  # noqa: F401 (a skipif names has_gpu)
from tests.gpu.ewise import APPROXIMATIONS, sample_row
from tests.gpu.ewise_forms import SAMPLES, ewise_forms
from tests.scalar.calls import operations
from tests.scalar.mutants import MUTANTS, TABLE
from tilecheck.document import read_call
from tilecheck.reconstruct import read_evidence, reconstruct

EVIDENCE = Path(__file__).parents[2] / "docs" / "evidence"
FORMS = {form.name: form for form in ewise_forms()}
ROWS = read_evidence(EVIDENCE / "ewise.json")


def test_every_form_was_reconstructed_and_nothing_has_changed_since():
    assert {row["form"] for row in ROWS if "contract" in row} == FORMS.keys()
    assert stale(EVIDENCE / "ewise.json", FORMS) == []


def test_every_result_was_as_the_evaluator_says():
    for row in (row for row in ROWS if "contract" in row):
        counts = row["compared"]
        assert isinstance(counts, dict)
        assert row["matches"] is True
        assert counts["different"] == 0
        some = counts["exact"] + counts["within_error"]
        assert some > 0 or row["values"] == {"n": 0}
        if any(name.removeprefix("ewise, ") == row["form"] for name in operations()):
            assert some > 0.8 * (some + counts["unspecified"])


def test_every_sample_agreed_with_its_numpy_reference():
    rows = {str(row["form"]): row for row in ROWS}
    for one in SAMPLES:
        row = rows[f"ewise, {one.name}, against NumPy"]
        assert row["matches"] is True
        assert row["compared"]["values"] > 500


def test_every_measured_error_is_within_the_documented_one():
    found = {(row["op"], row["type"]): row["measured"] for row in ROWS if "measured" in row}
    assert found.keys() == set(APPROXIMATIONS)
    assert TABLE.scalar is not None
    for one in TABLE.scalar.instructions:
        measured = found.get((one.op, one.result), {}) if one.relative or one.absolute else {}
        relative, absolute = (float(said.removeprefix("2^") or -1000) for said in (one.relative, one.absolute))
        for kind, most in (("relative", relative if one.relative else absolute), ("absolute", max(relative, absolute))):
            if kind in measured:
                assert float(measured[kind].removeprefix("2^")) <= most + 0.001, (one, measured)


def test_every_wrong_table_was_noticed():
    rows = json.loads((EVIDENCE / "mutants-ewise.json").read_text(encoding="utf-8"))
    assert [row["what"] for row in rows] == [what for _, _, _, what, _ in MUTANTS]
    assert all(row["matches"] is False and row["different_bytes"] > 0 for row in rows)


@pytest.mark.gpu
@pytest.mark.skipif("not has_gpu()", reason="no GPU of compute capability 9.0 or later")
@pytest.mark.parametrize("name", [name for name in FORMS if " of " not in name])
def test_a_form_on_this_gpu(name):
    found = reconstruct(read_call(FORMS[name].document), FORMS[name].values)
    assert found.matches, found.differences


@pytest.mark.gpu
@pytest.mark.skipif("not has_gpu()", reason="no GPU of compute capability 9.0 or later")
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda one: one.name)
def test_a_sample_on_this_gpu(sample):
    assert sample_row(sample)["matches"]
