"""The documents of the benchmarks: all different, legal where they should be, and decided without solvers. Nothing is timed here."""

from __future__ import annotations

import json
import random

import pytest

from tests.benchmarks.documents import DAMAGES, KINDS, Kind, damaged, different, operand_keys, stream
from tests.benchmarks.many import agrees
from tests.benchmarks.measure import ROOT, ours
from tests.benchmarks.record import page, read
from tilecheck import check
from tilecheck.document import call_to_json, read_call

KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@KIND
def test_no_operand_occurs_twice_in_the_documents_of_a_kind(kind: Kind):
    documents = different(kind, 1, 420)
    operands = [key for document in documents for key in operand_keys(document)]
    assert len(set(operands)) == len(operands) == 420 * len(documents[0]["operands"])


@KIND
def test_documents_differ_as_calls_too(kind: Kind):
    calls = [call_to_json(read_call({**document, "id": ""})) for document in different(kind, 2, 100)]
    assert len({json.dumps(call, sort_keys=True) for call in calls}) == 100


@KIND
def test_a_seed_gives_the_same_documents_and_another_seed_others(kind: Kind):
    first, again, other = different(kind, 1, 30), different(kind, 1, 30), different(kind, 2, 30)
    assert first == again
    assert not {key for d in first for key in operand_keys(d)} >= {key for d in other for key in operand_keys(d)}


@KIND
def test_every_document_of_a_kind_is_proved(kind: Kind):
    assert {check(read_call(document)).status for document in different(kind, 3, 40)} == {"proved"}


def test_more_documents_than_a_kind_has_are_refused():
    same = Kind("same", "always the same", lambda _: KINDS[0].draw(random.Random(1)))
    with pytest.raises(ValueError, match="same has no 2 documents"):
        different(same, 1, 2)


@pytest.mark.parametrize(
    ("kind", "damage"), [(k, n) for k in KINDS for n in range(len(DAMAGES[k.name]))], ids=lambda part: getattr(part, "name", str(part))
)
def test_every_damage_is_refuted_by_its_clause(kind: Kind, damage: int):
    rng = random.Random(4)
    for document in different(kind, 4, 5):
        copy = json.loads(json.dumps(document))
        clause = DAMAGES[kind.name][damage](rng, copy)
        verdict = check(read_call(copy))
        assert verdict.status == "refuted"
        assert clause in {c.id for c in verdict.failing}


def test_a_damaged_copy_leaves_the_document_alone():
    document = different(KINDS[3], 5, 1)[0]
    before = json.dumps(document)
    damaged(random.Random(5), KINDS[3], document)
    assert json.dumps(document) == before


def test_the_stream_has_different_calls_and_the_share_of_refuted_ones():
    drawn = stream(6, 2000, 0.1)
    assert len({json.dumps({**document, "id": ""}, sort_keys=True) for document, _ in drawn}) == 2000
    assert 0.07 < sum(clause is not None for _, clause in drawn) / 2000 < 0.13
    for document, clause in drawn[:150]:
        verdict = check(read_call(document))
        assert (clause in {c.id for c in verdict.failing}) if clause else verdict.status == "proved"


def test_brute_force_agrees_with_a_right_verdict_and_contradicts_a_wrong_one():
    legal = different(KINDS[2], 7, 1)[0]
    illegal, _ = damaged(random.Random(7), KINDS[2], legal)
    right, wrong = check(read_call(legal)), check(read_call(illegal))
    assert agrees(legal, right)
    assert agrees(illegal, wrong)
    assert not agrees(legal, wrong)
    assert not agrees(illegal, right)


@KIND
def test_the_first_verdict_of_a_process_loads_neither_solver_nor_numpy(kind: Kind):
    script = ROOT / "tests" / "benchmarks" / "once.py"
    answer = json.loads(ours(str(script), text=json.dumps(different(kind, 8, 1)[0])).stdout)
    assert answer["status"] == "proved"
    assert not {"z3", "sympy", "numpy"} & set(answer["loaded"])


def test_a_verdict_that_needs_a_solver_says_that_it_loaded_one():
    """So that the test above can fail."""
    document = different(KINDS[0], 9, 1)[0]
    document["symbols"] = [{"name": "n"}]
    document["assume"] = ["(n ^ 5) % 8 == 3"]
    answer = json.loads(ours(str(ROOT / "tests" / "benchmarks" / "once.py"), text=json.dumps(document)).stdout)
    assert {"z3", "numpy"} & set(answer["loaded"])


@pytest.mark.parametrize("name", ["benchmarks", "benchmarks-tensor-memory"])
def test_the_page_is_written_from_the_raw_samples(name: str):
    record = read(ROOT / "docs" / "evidence" / f"{name}.json")
    assert (ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8") == page(record, name)


def test_a_file_of_another_kind_is_no_record(tmp_path):
    other = tmp_path / "other.json"
    other.write_text('{"schema": "tilecheck/evidence@1"}', encoding="utf-8")
    with pytest.raises(ValueError, match="expected tilecheck/benchmarks@1"):
        read(other)
