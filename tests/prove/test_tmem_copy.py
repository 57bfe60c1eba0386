"""tcgen05.cp: every rule held and broken, audited by SMT and the evaluator; hazards, counts, and what counterexamples say."""

from __future__ import annotations

import pytest

from tests.prove.tmem_copy_cases import CASES, column, plain, repeated
from tests.simulator.forms import copies
from tilecheck import check
from tilecheck.document import read_call
from tilecheck.prove.verdict import Verdict


def verdict(name: str) -> Verdict:
    return check(read_call(CASES[name][0]()), audit=True)


@pytest.mark.parametrize("name", CASES)
def test_a_case_comes_out_as_it_says(name: str) -> None:
    found, clause = verdict(name), CASES[name][1]
    if not clause:
        assert found.status == "proved", found.summary()
        assert found.hazards == ()
    else:
        assert found.status == "refuted"
        assert clause in {one.id for one in found.failing}


@pytest.mark.parametrize("document", list(copies()), ids=lambda document: document["id"])
def test_what_the_simulator_copies_as_its_views_say_is_proved(document: dict[str, object]) -> None:
    assert check(read_call(document)).status == "proved"


def test_all_threads_that_issue_a_copy_are_a_hazard() -> None:
    every = check(read_call(plain(guard=True)), audit=True)
    assert every.status == "proved"
    assert {hazard.id for hazard in every.hazards} == {"issue.many", "memory.race"}
    two = check(read_call(plain(guard="tx < 2")), audit=True)
    assert "issue.many" in {hazard.id for hazard in two.hazards}


def test_an_elected_lane_of_each_warp_is_several_threads() -> None:
    """Too many threads and elements to count, with every symbol at its least value, too: the solver's word is enough."""
    found = check(read_call(column("4*k", guard="elected", symbols=[{"name": "k", "min": 0, "max": 3}])))
    assert found.status == "proved"
    assert [hazard.id for hazard in found.hazards] == ["memory.race", "issue.many"]


def test_at_warp_scope_every_lane_has_a_copy_of_its_own() -> None:
    """The group axis of lanes is one of the views; that all write the same lanes of tensor memory is a race."""
    target = {"shape": [32, 128, 4], "layout": "S[(32,128,4):(4@TCol,1@TLane,1@TCol)]"}
    source = {"shape": [32, 128, 4], "layout": "S[(32,128,4):(512,4,1)]", "view": []}
    own = plain(target=target, source=source, scope="warp", guard="warpid == 0", parameters={"descriptor": [0, 128, 0]})
    assert check(read_call(own), audit=True).status == "proved"
    missing = plain(scope="warp", guard="warpid == 0")
    assert {one.id for one in check(read_call(missing)).failing} >= {"dst.shape", "src.shape"}


def test_repeats_that_meet_are_a_race() -> None:
    found = check(read_call(repeated(2, apart=0)), audit=True)
    assert found.status == "proved"
    assert [hazard.id for hazard in found.hazards] == ["memory.race"]


def test_an_instruction_is_counted_for_every_repeat() -> None:
    assert check(read_call(repeated(4))).instructions == 4


def test_the_column_of_a_counterexample_is_the_least() -> None:
    found = check(read_call(column("n", symbols=[{"name": "n", "min": 0, "max": 9}]))).counterexample
    assert found is not None
    assert dict(found.symbols) == {"n": 1}
    assert found.expected == "a multiple of 4 columns"
    assert found.actual == "lane 0, column 1"


def test_a_wrong_stride_is_told_with_the_right_one() -> None:
    found = verdict("SDO of another pitch").counterexample
    assert found is not None
    assert found.atom == (8, 0)
    assert "sdo_bytes 128 would" in found.sentence


def test_the_floor_is_that_of_the_family() -> None:
    assert check(read_call(plain())).arch_floor == "sm_100f"
    for arch in ("sm_100a", "sm_103a", "sm_100f", "sm_110a"):
        assert check(read_call(plain(arch=arch))).status == "proved"
