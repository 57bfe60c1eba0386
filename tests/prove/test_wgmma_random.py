"""Random calls of wgmma.mma_async: prover and evaluator say the same, clause by clause; audited ones are proved again by the solver."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.prove.random_wgmma import random_call
from tilecheck import check
from tilecheck.document import read_call
from tilecheck.errors import InputError
from tilecheck.prove.replay import model_of
from tilecheck.spec import find_contract

SEEDS = range(60)
POINTS = 400_000


def compared(seed: int) -> str:
    """The status that both give, "too-large" where the evaluator does not enumerate, "unread" for what is no call."""
    try:
        call = read_call(random_call(seed))
    except InputError:
        return "unread"
    verdict = check(call)
    answer = model_of(call, find_contract(call.opcode)).check(POINTS)
    if answer.status != "too-large":
        assert (answer.status, set(answer.failures)) == (verdict.status, {one.id for one in verdict.failing}), call.to_json()
    return answer.status


def test_prover_and_evaluator_agree_on_random_calls():
    found = Counter(compared(seed) for seed in SEEDS)
    assert found["proved"] >= 10
    assert found["refuted"] >= 10
    assert found["too-large"] <= 20


@pytest.mark.parametrize("seed", [1, 4, 11])
def test_an_audit_finds_nothing(seed):
    try:
        call = read_call(random_call(seed))
    except InputError:
        pytest.skip("no call")
    check(call, audit=True)
