"""Our own cases of asynchronous copies come out as they say, in an audit too, and brute force agrees; random ones are judged alike."""

from __future__ import annotations

import json
import os
import random

import pytest
from async_cases import CASES
from known_cases import disagreements, failing, names
from random_async import random_async_call

from tilecheck.document import read_call
from tilecheck.prove.check import check

SEED = os.environ.get("TILECHECK_SEED", "async")
COUNT = 12


@pytest.mark.parametrize("name", list(CASES))
def test_a_case_of_our_own(name):
    case = CASES[name]
    verdict = check(read_call(case.document), audit=True)
    assert verdict.status == case.expect, verdict.summary()
    if case.clause is not None:
        assert names(case.clause, failing(verdict)), sorted(failing(verdict))
        assert not case.alone or all(names(case.clause, [one]) for one in failing(verdict)), sorted(failing(verdict))
    hazards = {hazard.id for hazard in verdict.hazards}
    assert case.expect == "refuted" or hazards == set((case.hazard or "").split()), hazards


@pytest.mark.parametrize("name", list(CASES))
def test_brute_force_agrees_with_a_case_of_our_own(name):
    call = read_call(CASES[name].document)
    assert disagreements(call, check(call), 60_000) in (None, [])


@pytest.mark.parametrize("part", range(10))
def test_random_copies_are_judged_alike(part):
    print(f"seed {SEED} (TILECHECK_SEED sets another)")
    wrong: list[str] = []
    for k in range(COUNT * part, COUNT * (part + 1)):
        document = random_async_call(random.Random(f"{SEED}-{k}"))
        call = read_call(document)
        try:
            found = disagreements(call, check(call, audit=k % 4 == 0), 10_000, strict=False)
        except Exception as error:  # noqa: BLE001 (every fault is listed)
            found = [f"{type(error).__name__}: {error}"]
        if found:
            wrong.append(f"{k}: {found}: {json.dumps(document)}")
    assert not wrong, "\n".join(wrong)


def test_random_copies_are_of_many_kinds():
    found = [random_async_call(random.Random(f"{SEED}-{k}")) for k in range(60)]
    statuses = [check(read_call(document)).status for document in found]
    assert statuses.count("proved") >= 10
    assert statuses.count("refuted") >= 10
    assert {document["scope"] for document in found} >= {"thread", "warp", "cta", "cluster"}
