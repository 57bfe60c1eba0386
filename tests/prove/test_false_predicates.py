"""Where pred is false everywhere, shapes, storage, types and the fields of descriptors bind; addresses and periods do not."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.prove.wgmma_cases import fragments, operand, parameters, shared
from tilecheck import check
from tilecheck.document import read_call
from tilecheck.prove.replay import model_of
from tilecheck.spec import find_contract

POINTS = 3_000_000
NEVER: list[dict[str, Any]] = [
    {"pred": "false"},
    {"pred": "n > 100", "symbols": [{"name": "n", "min": 0, "max": 9}]},
    {"pred": "wgid == 0", "guard": "wgid == 1", "launch": {"block": [256]}},
]
SOMETIMES: list[dict[str, Any]] = [
    {"pred": "n > 8", "symbols": [{"name": "n", "min": 0, "max": 9}]},
    {"pred": "wgid == 1", "guard": "wgid == 1", "launch": {"block": [256]}},
]
LOAD = {
    "schema": "tilecheck/call@1",
    "id": "load",
    "scope": "thread",
    "opcode": "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes",
    "operands": [
        {
            "name": "SM",
            "space": "shared",
            "dtype": "float16",
            "shape": [8, 64],
            "align": 1024,
            "layout": "Swizzle(3,3,3) o S[(8,64):(64,1)]",
        },
        {"name": "A", "space": "global", "dtype": "float16", "shape": [64, 64], "align": 16},
    ],
    "parameters": {"coords": [0, 0], "mbar": "shared", "box": [8, 64], "swizzle": 3},
}


def decided(document: dict[str, Any]) -> dict[str, str]:
    """The status of each clause, with the evaluator's answer compared."""
    call = read_call(document)
    verdict = check(call)
    answer = model_of(call, find_contract(call.opcode)).check(POINTS)
    assert (answer.status, set(answer.failures)) == (verdict.status, {one.id for one in verdict.failing})
    return {"": verdict.status, **{one.id: one.status for one in verdict.clauses}}


def with_pred(document: dict[str, Any], when: dict[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in when.items() if name != "pred"}
    document = {**copy.deepcopy(document), **rest}
    return parameters(document, pred=when["pred"])


@pytest.mark.parametrize("when", NEVER)
def test_no_period_is_owed_where_nothing_is_read(when):
    found = decided(with_pred(operand(shared(), 2, align=512), when))
    assert [found[name] for name in ("", "b.base.period", "b.aligned", "b.descriptor")] == ["proved", "vacuous", "vacuous", "vacuous"]
    assert found["a.shape"] == "proved"


@pytest.mark.parametrize("when", SOMETIMES)
def test_the_period_is_owed_where_something_is_read(when):
    found = decided(with_pred(operand(shared(), 2, align=512), when))
    assert [found[name] for name in ("", "b.base.period")] == ["refuted", "refuted"]


def test_a_walk_that_is_never_gone_is_vacuous_and_its_fields_bind():
    wrong = operand(fragments(), 2, layout=("64,1", "128,1"))
    assert decided(with_pred(wrong, {"pred": "true"}))["b.descriptor"] == "refuted"
    found = decided(with_pred(wrong, {"pred": "false"}))
    assert (found[""], found["b.descriptor"]) == ("proved", "vacuous")
    found = decided(with_pred(parameters(wrong, b_descriptor=[8, 1024, 3]), {"pred": "false"}))
    assert (found[""], found["b.descriptor"]) == ("refuted", "refuted")


@pytest.mark.parametrize("change", [{"align": 512}, {"align": 2}, {"layout": "S[(8,64):(64,1)]"}])
def test_the_image_of_a_box_that_is_never_copied_is_nowhere(change):
    document = copy.deepcopy(LOAD)
    document["operands"][0] |= change
    assert decided(document)[""] == "refuted"
    found = decided(with_pred(document, {"pred": "false"}))
    short = {"dst.base.period", "dst.aligned", "dst.image"}
    assert {found.get(name) for name in short} == {"vacuous"}, found
    assert found[""] == "proved"
