"""wgmma.mma_async: every rule by a legal call and by one that breaks it, prover and evaluator alike."""

from __future__ import annotations

import copy
import time

import pytest

from tests.gpu.wgmma_forms import Stored, opcode_of, ring, wgmma_document, wgmma_forms
from tests.prove.wgmma_cases import CASES, fragments, parameters, shared
from tilecheck import InputError, apply, check
from tilecheck.document import read_call
from tilecheck.evaluate.model import Point
from tilecheck.prove.replay import model_of
from tilecheck.report.hints import hint
from tilecheck.spec import find_contract

POINTS = 3_000_000


@pytest.mark.parametrize("name", CASES)
def test_a_rule_is_kept_or_broken_as_its_case_says(name):
    make, clause = CASES[name]
    call = read_call(make())
    verdict = check(call)
    failing = {one.id for one in verdict.failing}
    assert (verdict.status, clause in failing or not clause) == ("refuted" if clause else "proved", True), failing
    if clause != "opcode":
        answer = model_of(call, find_contract(call.opcode)).check(POINTS)
        assert answer.status == verdict.status
        assert set(answer.failures) == failing


@pytest.mark.parametrize("value", [7, 0, "imm", [1], True])
def test_the_numbers_that_a_selector_takes_are_named(value):
    document = parameters(shared(), imm_scale_a=value) | {"symbols": [{"name": "imm"}]}
    (failing,) = check(read_call(document)).failing
    assert failing.id == "operands"
    assert failing.counterexample is not None
    assert failing.counterexample.expected == "the number 1 or -1"


def test_every_form_that_a_gpu_runs_is_proved():
    for form in wgmma_forms()[::9]:
        verdict = check(read_call(form.document))
        assert verdict.status == "proved", (form.name, [one.id for one in verdict.failing])


def counterexample(document, clause):
    verdict = check(read_call(document))
    return next(one.counterexample for one in verdict.clauses if one.id == clause)


def test_an_owner_is_reported_at_the_warp_and_lane_that_hold_the_element():
    found = counterexample(CASES["rows of D in other warps"][0](), "d.owner")
    assert (found.warp, found.lane, found.atom) == (1, 0, (16, 0))
    found = counterexample(CASES["columns of D in other lanes"][0](), "d.owner")
    assert (found.warp, found.lane, found.atom) == (0, 1, (0, 2))


def test_what_differs_between_warps_is_reported_at_the_first_that_differs():
    found = counterexample(CASES["accum by warp"][0](), "participation")
    assert (found.warp, found.lane) == (2, 0)
    found = counterexample(CASES["a stage by halves of a warpgroup"][0](), "participation")
    assert (found.warp, found.lane) == (2, 0)


@pytest.mark.parametrize(
    ("level", "condition", "here", "there"),
    [
        ("warp", "t > 0", (0, 0), "lane 0 of warp 1"),
        ("thread", "t > 0", (0, 0), "lane 1 of warp 0"),
        ("thread", "t > 0 and warpid == 2", (2, 0), "lane 0 of warp 0"),
    ],
)
def test_two_values_of_a_symbol_are_those_of_two_threads(level, condition, here, there):
    symbols = [{"name": "t", "min": 0, "max": 1, "varies": level}]
    found = counterexample(parameters(shared(symbols=symbols), accum=condition), "participation")
    assert (found.warp, found.lane) == here
    assert f"and False in {there}" in found.sentence


@pytest.mark.parametrize("value", [True, 2])
def test_a_selector_says_which_numbers_it_takes(value):
    call = read_call(parameters(shared(), imm_scale_a=value))
    clause = next(one for one in check(call).failing if one.id == "operands")
    assert "expected the number 1 or -1" in (clause.reason or "")
    point = model_of(call, find_contract(call.opcode))
    assert point.observe("operands", Point()).expected == "imm_scale_a to be the number 1 or -1"


def test_what_is_no_parameter_and_no_operand_is_an_input_error():
    with pytest.raises(InputError, match=r"imm_scale_a: found 1\.0, expected an integer"):
        read_call(parameters(shared(), imm_scale_a=1.0))
    call = read_call(fragments())
    with pytest.raises(InputError, match=r"operands\[2\]: found a NoneType, expected a view"):
        apply(call.opcode, *call.operands[:2], None, scope="warpgroup")


def test_the_advice_counts_the_lanes_of_a_warpgroup():
    call = read_call(CASES["accum by warp"][0]())
    clause = next(one for one in check(call).clauses if one.id == "participation")
    advice = hint(clause, call, find_contract(call.opcode)) or ""
    assert "all 128 lanes of a warpgroup" in advice


def test_a_missing_warp_of_a_warpgroup_is_named():
    found = counterexample(CASES["half of a warpgroup"][0](), "participation")
    assert (found.warp, found.lane) == (6, 0)
    found = counterexample(CASES["three warps"][0](), "participation")
    assert (found.warp, found.lane) == (3, 0)


def test_a_wrong_walk_names_the_first_row_and_column():
    found = counterexample(CASES["SDO of another stride"][0](), "b.descriptor")
    assert found.atom == (8, 0)


def test_the_floor_is_its_own_architecture():
    assert check(read_call(shared())).arch_floor == "sm_90a"


def test_as_many_instructions_as_steps():
    assert check(read_call(fragments())).instructions == 4
    assert check(read_call(wgmma_document(opcode_of("f16", 32, "f32"), Stored("mn", 3), Stored("k", 2), (2, 3, 4)))).instructions == 24


def test_no_k_step_leaves_the_rows_of_the_swizzle_unnoticed():
    """Four steps of 32 bytes inside a row of 128; a fifth, 32 bytes on, begins in the next row."""
    document = copy.deepcopy(wgmma_document(opcode_of("f16", 64, "f32"), None, Stored(), (1, 1, 4)))
    assert check(read_call(document)).status == "proved"
    a, b = document["operands"][1], document["operands"][2]
    a["shape"], a["layout"] = [1, 5, 64, 8], a["layout"].replace("S[(1,4", "S[(1,5")
    b["shape"], b["layout"] = [1, 5, 64, 16], "Swizzle(3,3,3) o S[(1,5,8,8,16):(0,16,512,64,1)]"
    verdict = check(read_call(document))
    assert verdict.status == "proved"  # the walk is the same linear one: it reads the next row, as the view does
    b["layout"] = "Swizzle(3,3,3) o S[(1,5,8,8,16):(0,16,512,128,1)]"
    assert {one.id for one in check(read_call(document)).failing} >= {"b.descriptor"}


def test_a_ring_of_four_stages_with_four_steps_is_proved_in_a_millisecond():
    call = read_call(ring(opcode_of("f16", 256, "f32")))
    assert check(call).status == "proved"
    times = []
    for _ in range(15):
        started = time.process_time()
        check(call)
        times.append(time.process_time() - started)
    assert min(times) < 0.002  # 1 ms on an idle machine: see the benchmarks
