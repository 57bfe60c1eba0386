"""The case files: what the evaluator says of every call whose symbols are bounded."""

from __future__ import annotations

from typing import Any

import pytest
from calls import cases, contract

from tilecheck.evaluate import Model
from tilecheck.spec import BadSpelling, find_contract

SPELLING = {"opcode", "space.explicit"}  # decided elsewhere


def decidable(name: str) -> list[Any]:
    """The cases that the evaluator decides: a legal spelling, and symbols that can be enumerated."""
    found = [
        case
        for case in cases(name)
        if case.get("clause") not in SPELLING and not isinstance(find_contract(case["call"]["opcode"]), BadSpelling)
    ]
    bounded = [case for case in found if all("min" in symbol and "max" in symbol for symbol in case["call"]["symbols"])]
    return [pytest.param(case, id=case["id"]) for case in bounded]


def test_the_case_files_are_there():
    assert len(decidable("rules")) > 50
    assert len(decidable("fuzz")) > 190


@pytest.mark.parametrize("case", [*decidable("rules"), *decidable("fuzz")])
def test_the_evaluator_agrees_with_the_case(case: dict[str, Any]):
    call = case["call"]
    model = Model(contract(call["opcode"]), call)
    answer = model.check()
    assert answer.status == case["expect"], (case["why"], answer)
    if "clause" in case:
        assert any(clause == case["clause"] or clause.endswith("." + case["clause"]) for clause in answer.failures), (case["why"], answer)
    for clause, point in answer.failures.items():
        seen = Model(contract(call["opcode"]), call).observe(clause, point)
        assert seen is not None, (clause, point)
        assert seen.expected != seen.actual
        assert seen.sentence
