"""The express lane says what the whole way says, clause for clause and word for word, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from known_cases import call_of, cases
from own_cases import CASES
from random_campaign import items

from tilecheck.call import INDEX_DTYPES, Call
from tilecheck.document import read_call
from tilecheck.prove import check as checking
from tilecheck.prove import express
from tilecheck.prove.check import check
from tilecheck.prove.tiers import Tiers
from tilecheck.prove.verdict import Verdict
from tilecheck.spec import Contract, find_contract

Json = dict[str, Any]


def whole(call: Call) -> Verdict:
    """The verdict without the express lane."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checking, "express", lambda *_: None)
        return check(call)


def timeless(verdict: Verdict) -> Json:
    found = verdict.to_json()
    assert isinstance(found["clauses"], list)
    return {**found, "clauses": [{**clause, "ms": 0} for clause in found["clauses"]]}


def quick(call: Call) -> Verdict | None:
    """The express lane alone, once the kind of call is known."""
    contract = find_contract(call.opcode)
    if not isinstance(contract, Contract) or not checking._spelled(call, contract):  # pyright: ignore[reportPrivateUsage]
        return None
    return express.express(call, contract, Tiers(INDEX_DTYPES[call.index_dtype]))


def differing(calls: Iterator[Call]) -> tuple[int, list[str]]:
    """(how many calls took the lane, where it differs)."""
    taken, found = 0, list[str]()
    for call in calls:
        expected = whole(call)  # which also makes the kind known
        own = quick(call)
        if own is not None:
            taken += 1
            if timeless(own) != timeless(expected):
                found.append(f"{call.id}: {expected.summary()}")
    return taken, found


def test_it_agrees_on_every_case_and_takes_many():
    taken, found = differing(call_of(case_id) for case_id in cases())
    assert not found
    assert taken > 80


def test_it_agrees_on_our_own_cases():
    taken, found = differing(read_call(own.document) for own in CASES.values())
    assert not found
    assert taken > 60


@pytest.mark.parametrize("family", ["memory", "matrix"])
def test_it_agrees_on_random_calls(family):
    taken, found = differing(read_call(document) for _, document, _ in items(family, 150, 11, points=2000))
    assert not found
    assert taken > 15


def test_a_kind_met_for_the_first_time_goes_the_whole_way():
    call = call_of("ld-doc-105-compact")
    express.forget()
    assert quick(call) is None
    assert check(call).status == "proved"
    assert quick(call) is not None


def test_audits_take_no_lane(monkeypatch):
    call = call_of("ld-doc-105-compact")
    check(call)
    monkeypatch.setattr(express, "prepare", lambda *_: pytest.fail("an audit took the lane"))
    assert check(call, audit=True).status == "proved"


@pytest.mark.parametrize(
    "change",
    [
        {"opcode": "ld.global.v2.b32"},
        {"guard": "laneid < 3"},
        {"index_dtype": "int32"},
        {"scope": "warp", "launch": {"block": [32]}},
        {"parameters": {"pred": "false"}},
        {"arch": "sm_75"},
    ],
)
def test_a_call_of_another_kind_is_not_answered_for_the_first(change):
    call = call_of("ld-doc-105-compact")
    check(call)
    other = read_call({**call.to_json(), **change})
    assert timeless(check(other)) == timeless(whole(other))
