"""What means the same has the same verdict: every case under seeded transformations of its document."""

from __future__ import annotations

import json
import os
import random
from functools import cache

import pytest
from known_cases import THOROUGH, cases, failing, verdict_of
from transformations import EVERY, transformed

from tilecheck.document import read_call
from tilecheck.prove.check import check

SEED = int(os.environ.get("TILECHECK_SEED", "20251129"))
LEAST = 30
EACH = 6
RARE = ("repeats_permuted", "facts_moved_between_guard_and_assumptions")
"""Transformations that apply to few cases: tried on every case, beside EACH others."""


@cache
def chosen(case_id: str) -> frozenset[str]:
    """The transformations of one case: a seeded set; all of them with TILECHECK_THOROUGH=1."""
    if THOROUGH:
        return frozenset(EVERY)
    others = [name for name in EVERY if name not in RARE]
    return frozenset((*RARE, *random.Random(f"{SEED}-{case_id}").sample(others, EACH)))


@pytest.mark.parametrize("name", list(EVERY))
def test_a_case_keeps_its_status_and_its_failing_clauses(name):
    print(f"seed {SEED} (TILECHECK_SEED sets another)")
    applied, wrong = 0, []
    for case_id, case in cases().items():
        if name not in chosen(case_id):
            continue
        document = transformed(name, case.document, random.Random(f"{SEED}-{name}-{case_id}"))
        if document is None:
            continue
        applied += 1
        before = verdict_of(case_id)
        try:
            after = check(read_call(document))
        except Exception as error:  # noqa: BLE001 (every fault is listed)
            wrong.append(f"{case_id}: {type(error).__name__}: {error}: {json.dumps(document)}")
            continue
        if (after.status, failing(after)) != (before.status, failing(before)):
            wrong.append(
                f"{case_id}: {before.status} {sorted(failing(before))} -> {after.status} {sorted(failing(after))}: {json.dumps(document)}"
            )
        elif before.status == "proved" and {h.id for h in after.hazards} != {h.id for h in before.hazards}:
            wrong.append(f"{case_id}: hazards {before.hazards} -> {after.hazards}: {json.dumps(document)}")
    assert not wrong, f"seed {SEED}, {len(wrong)} of {applied}:\n" + "\n".join(wrong)
    assert applied >= LEAST, f"applies to {applied} cases only"
    print(f"{name}: {applied} cases")
