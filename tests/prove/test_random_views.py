"""Random calls: every tier, the audit and the evaluator's brute force say the same. The campaign of `random_campaign.py`, a fixed part of it."""

from __future__ import annotations

import json
import os
from functools import cache

import pytest
import views
from random_campaign import QUARTERS, Sample, alone, items, judged_item

SEED = int(os.environ.get("TILECHECK_SEED", "20"))
COUNT = int(os.environ.get("TILECHECK_COUNT", "150"))
UNBOUNDED = COUNT // 15
POINTS = 150
"""Brute force looks at fewer points here than in the campaign."""


@cache
def samples(family: str) -> list[tuple[str, Sample]]:
    print(f"seed {SEED} (TILECHECK_SEED sets another)")
    return [(json.dumps(item[1]), judged_item(item)) for item in items(family, COUNT, SEED, points=POINTS)]


@pytest.mark.parametrize("family", views.FAMILIES)
def test_every_tier_and_brute_force_say_the_same(family):
    wrong = [f"{sample.problems}: {document}" for document, sample in samples(family) if sample.problems]
    assert not wrong, f"seed {SEED}:\n" + "\n".join(wrong)


@pytest.mark.parametrize("family", views.FAMILIES)
def test_a_call_with_unbounded_symbols_agrees_with_itself_in_small_ranges(family):
    judged = [(item[1], judged_item(item)) for item in items(family, UNBOUNDED, SEED, points=POINTS, unbounded_too=True)]
    wrong = [f"{sample.problems}: {json.dumps(document)}" for document, sample in judged if sample.problems]
    assert not wrong, f"seed {SEED}:\n" + "\n".join(wrong)


@pytest.mark.parametrize("family", views.FAMILIES)
def test_many_calls_are_proved_and_many_are_refuted(family):
    statuses = [sample.status for _, sample in samples(family)]
    assert {status: statuses.count(status) >= 0.3 * COUNT for status in ("proved", "refuted")} == {"proved": True, "refuted": True}


@pytest.mark.parametrize("family", views.FAMILIES)
@pytest.mark.parametrize("feature", QUARTERS)
def test_a_quarter_of_the_calls_has_the_feature(family, feature):
    assert sum(feature in sample.features for _, sample in samples(family)) >= COUNT / 4


def test_every_clause_is_the_only_failing_one_of_some_call():
    counts = alone([sample for family in views.FAMILIES for _, sample in samples(family)])
    assert [clause for clause, count in counts.items() if not count] == []
