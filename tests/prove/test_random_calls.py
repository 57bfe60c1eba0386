"""Seeded random calls of every scope: the prover and the evaluator's brute force say the same, to the point of each counterexample."""

from __future__ import annotations

import json
import os
import random
from collections import Counter

import pytest
from known_cases import disagreements
from random_calls import random_call

from tilecheck.document import read_call
from tilecheck.prove.check import check

SEED = os.environ.get("TILECHECK_SEED", "calls")
COUNT = 3


@pytest.mark.parametrize("part", range(20))
def test_random_calls_are_judged_alike(part):
    print(f"seed {SEED} (TILECHECK_SEED sets another)")
    wrong: list[str] = []
    for k in range(COUNT * part, COUNT * (part + 1)):
        document = random_call(random.Random(f"{SEED}-{k}"))
        call = read_call(document)
        try:
            found = disagreements(call, check(call), 10_000, strict=False)
        except Exception as error:  # noqa: BLE001 (every fault is listed)
            found = [f"{type(error).__name__}: {error}"]
        if found:
            wrong.append(f"{k}: {found}: {json.dumps(document)}")
    assert not wrong, "\n".join(wrong)


def test_random_calls_are_of_many_kinds():
    found = [random_call(random.Random(f"{SEED}-{k}")) for k in range(200)]
    scopes = Counter(document["scope"] for document in found)
    assert set(scopes) == {"thread", "warp", "warpgroup", "cta", "cluster"}
    assert min(scopes.values()) >= 10
    statuses = Counter(check(read_call(document)).status for document in found[:60])
    assert statuses["proved"] >= 10
    assert statuses["refuted"] >= 10
