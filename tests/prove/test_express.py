"""The express lane says what the whole way says, clause for clause and word for word, or nothing."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from known_cases import call_of, cases
from own_cases import CASES
from random_campaign import items

from tilecheck.call import INDEX_DTYPES, Call
from tilecheck.document import read_call
from tilecheck.errors import InputError
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


def views(document: Json) -> list[Json]:
    """The operands that are no numbers."""
    return [operand for operand in document["operands"] if "space" in operand]


def other_launch(document: Json, rng: random.Random) -> None:
    document["launch"] = {"block": [rng.choice((1, 20, 32, 64, 96, 128, 256))], "cluster": rng.choice((None, [2]))}


def other_guard(document: Json, rng: random.Random) -> None:
    document["guard"] = rng.choice(("laneid < 7", "warpid == 0", "elected", "warpid % 2 == 1", "laneid >= 0"))


def other_scope(document: Json, rng: random.Random) -> None:
    document["scope"] = rng.choice(("thread", "warp", "warpgroup", "cta"))


def other_symbols(document: Json, rng: random.Random) -> None:
    for declared in document["symbols"]:
        declared |= {"min": rng.choice((-4, 0, 1)), "max": rng.choice((3, 7, 1 << 20))}
        declared["varies"] = rng.choice(("grid", "cta", "warp", "thread"))


def other_memory(document: Json, rng: random.Random) -> None:
    operand = rng.choice(views(document))
    key, values = rng.choice(
        (("align", (1, 2, 4, 8, 32)), ("size_bytes", (4, 64, 1 << 18)), ("tensor", ("T",)), ("base", ({"mod": 64, "is": 4},)))
    )
    operand[key] = rng.choice(values)
    if key == "tensor":
        for one in views(document):
            one["tensor"] = "T"


def other_layout(document: Json, rng: random.Random) -> None:
    operand = rng.choice(views(document))
    more = rng.choice((" + 1", " + 1@warpid", " + R[2:1@warpid]", " + R[2:64]", " + 4@laneid", " + -1@laneid"))
    operand["layout"] = str(operand.get("layout", "S[1:1]")) + more


def other_place(document: Json, _: random.Random) -> None:
    """Every layout is cut from a larger one, whose first axis names a thread."""
    for operand in document["operands"]:
        if operand.get("space") == "register" and operand["layout"].startswith("S[("):
            extents, strides = operand["layout"][3:].split("):(", 1)
            shape = list(operand["shape"])
            operand["layout"] = f"S[(2,{extents}):(1@warpid,{strides}"
            operand["shape"] = [2, *shape]
            cut = [{"op": "slice", "begin": [0, *(0 for _ in shape)], "extent": [1, *shape]}, {"op": "reshape", "shape": shape}]
            operand["view"] = [*cut, *operand.get("view", [])]


def other_type(document: Json, rng: random.Random) -> None:
    document["index_dtype"] = rng.choice(("int32", "uint32", "int64"))
    document["arch"] = rng.choice(("sm_75", "sm_80", "sm_90a"))


CHANGES = (other_launch, other_guard, other_scope, other_symbols, other_memory, other_layout, other_place, other_type)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_is_known_of_one_call_is_not_said_of_a_changed_one(change):
    """Each changed call after the one that took the lane; then again, should it have become a kind of its own."""
    taken, wrong, changed = 0, list[str](), 0
    for case_id in cases():
        call = call_of(case_id)
        if whole(call).status != "proved" or quick(call) is None:
            continue
        taken += 1
        for k in range(2):
            document = json.loads(json.dumps(call.to_json()))
            change(document, random.Random(f"{case_id} {k}"))
            try:
                other = read_call(document)
            except InputError:
                continue
            changed += 1
            expected = timeless(whole(other))
            wrong += [f"{case_id}: {json.dumps(document)}" for _ in range(2) if timeless(check(other)) != expected]
            if k == 0 and taken % 5 == 0:  # the forms themselves, by SMT and brute force: DisagreementError where they are wrong
                assert check(other, audit=True).status == expected["status"]
    assert taken > 80
    assert changed > 100
    assert not wrong, wrong[:3]


def test_a_number_in_the_place_of_a_is_not_one_in_the_place_of_b():
    operands = [{"name": name, "space": "register", "dtype": "float32", "shape": [1]} for name in ("D", "X")]
    number = {"name": "number", "value": 1.5}

    def ids(*sources: object) -> list[str]:
        document = {"schema": "tilecheck/call@1", "opcode": "sub.f32", "scope": "thread", "operands": [operands[0], *sources]}
        return [clause.id for clause in check(read_call(document)).clauses]

    for _ in range(2):
        assert "a.owner" in ids(operands[1], number)
        assert "a.owner" not in ids(number, operands[1])
        assert "b.owner" in ids(number, operands[1])
