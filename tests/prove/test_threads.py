"""Who executes, who owns, what is owed under which facts: our own cases, one for each sentence of clauses.md and of the rulings."""

from __future__ import annotations

import dataclasses
from functools import cache

import pytest
from known_cases import disagreements, failing, names, partial
from own_cases import CASES, at, call, halves, load, matrix, matrix_at, memory, one, registers, shared, start, symbol, vector

from tilecheck.call import Call
from tilecheck.document import read_call
from tilecheck.errors import InputError
from tilecheck.prove.check import check
from tilecheck.prove.verdict import Verdict
from tilecheck.scopes import ELECTED, execution

BOTH = "S[(2,32,1):(1@warpid,1@laneid,1)]"
WORDS = {"op": "view", "dtype": "uint32"}


@cache
def answer(sentence: str) -> tuple[Call, Verdict]:
    found = read_call(CASES[sentence].document)
    return found, check(found)


@pytest.mark.parametrize("sentence", list(CASES))
def test_it_is_as_the_sentence_says(sentence):
    own, (_, verdict) = CASES[sentence], answer(sentence)
    assert verdict.status == own.expect, verdict.summary()
    if own.clause is not None:
        assert names(own.clause, failing(verdict)), f"failing {sorted(failing(verdict))}, expected {own.clause}"
        assert not own.alone or all(names(own.clause, [one_of]) for one_of in failing(verdict)), f"also failing: {sorted(failing(verdict))}"
    if verdict.status == "proved":
        assert {hazard.id for hazard in verdict.hazards} == ({own.hazard} if own.hazard else set())


LARGE = frozenset(
    {
        "a guard uniform in the grid",
        "a start below a symbolic extent",
        "a start at a symbolic extent",
        "a least value beyond the index type",
        "a largest value below the index type",
        "no multiple inside the index type",
        "an assumption beyond the index type",
    }
)
"""Cases whose symbols have no bounds: brute force looks at the first points only."""


@pytest.mark.parametrize("sentence", list(CASES))
def test_brute_force_says_so_too(sentence):
    found = disagreements(*answer(sentence), 20_000)
    assert (found is None) is (sentence in LARGE)
    assert not (partial(*answer(sentence)) if found is None else found)


# --- what a table does not say ---------------------------------------------------------------------------------------


def guarded(varies: str, low: int = 0, high: int = 1) -> Call:
    return read_call(load([2, 32], BOTH, "cta", (64,), guard="v > 0", symbols=[symbol("v", low, high, varies)]))


def test_calls_that_differ_in_the_facts_of_a_symbol_are_different_calls():
    assert guarded("grid") == guarded("grid")
    assert guarded("grid") != guarded("warp")
    assert guarded("grid", 0, 1) != guarded("grid", 0, 2)


def test_the_order_of_checks_does_not_matter_where_calls_differ_in_how_a_symbol_varies():
    assert [check(guarded(varies)).status for varies in ("grid", "warp", "grid", "thread", "cta")] == [
        "proved",
        "refuted",
        "proved",
        "refuted",
        "proved",
    ]


def test_the_order_of_checks_does_not_matter_where_calls_differ_in_the_range_of_a_symbol():
    calls = [read_call(at("n", 4, symbols=[symbol("n", 0, high)])) for high in (9, 3, 5, 2)]
    assert [check(found).status for found in calls] == ["refuted", "proved", "refuted", "proved"]
    assert [check(found).status for found in reversed(calls)] == ["proved", "refuted", "proved", "refuted"]


@pytest.mark.parametrize(
    ("size", "floor"),
    [(4, "sm_75"), (65_536, "sm_75"), (65_537, "sm_80"), (101_377, "sm_80"), (166_912, "sm_80"), (166_913, "sm_90"), (232_448, "sm_90")],
)
def test_a_large_shared_allocation_raises_the_floor(size, floor):
    verdict = check(read_call(shared(size)))
    assert (verdict.status, verdict.arch_floor) == ("proved", floor)


def test_the_floor_is_that_of_the_opcode_where_the_allocation_needs_less():
    document = call(
        "stmatrix.sync.aligned.m8n8.x1.shared.b16",
        [memory([1, 8, 4], space="shared", size_bytes=66_000), registers([1, 8, 4], "S[(1,8,4):(1,4@laneid,1@laneid)]")],
        "warp",
    )
    assert check(read_call(document)).arch_floor == "sm_90"


def test_a_refused_dtype_view_names_the_first_coordinate_that_splits_a_word():
    """Report A01: k = 1, byte 6, 6 mod 4 = 2."""
    verdict = check(read_call(halves([2, 2], "S[(2,2):(3,1)]", [WORDS])))
    (clause,) = verdict.failing
    assert clause.id == "src.storage"
    assert clause.counterexample is not None
    assert clause.counterexample.atom == (1, 0)
    assert "6 mod 4 = 2" in clause.counterexample.actual


@pytest.mark.parametrize(
    "step",
    [
        {"op": "reshape", "shape": [5]},
        {"op": "reshape", "shape": [2, 3]},
        {"op": "rearrange", "pattern": "(a b) -> a b", "sizes": {"a": 3}},
    ],
)
def test_sizes_that_do_not_multiply_out_are_wrong_input(step):
    with pytest.raises(InputError):
        read_call(call("ld.global.b32", [registers([4, 1]), memory([4], view=[step])]))


def test_no_address_clause_is_owed_after_a_bounds_failure():
    document = call("ld.global.v2.b32", [registers([2]), memory([4], "S[4:3]", view=[start(3, extent=[2])])])
    verdict = check(read_call(document))
    assert failing(verdict) == {"src.bounds"}
    assert not {"src.aligned", "src.contiguous"} & {clause.id for clause in verdict.clauses}


def test_every_failing_clause_is_listed():
    document = call("ld.global.v4.b32", [registers([2, 4], "S[(2,4):(1,1)]"), memory([2, 4], "S[(2,4):(9,2)]", size_bytes=8)])
    assert failing(check(read_call(document))) == {"dst.distinct", "src.contiguous", "src.aligned", "src.backing"}


def test_an_unknown_base_is_reported_by_its_least_failing_residue():
    (clause,) = check(read_call(vector(4))).failing
    assert clause.counterexample is not None
    assert dict(clause.counterexample.symbols) == {"base(A)": 4}


def test_an_unknown_base_of_a_shared_allocation_is_named_by_the_allocation():
    (clause,) = check(read_call(vector(4, tensor="pool"))).failing
    assert clause.counterexample is not None
    assert dict(clause.counterexample.symbols) == {"base(pool)": 4}


def test_symbols_are_least_by_declaration():
    document = at("n + k", 4, symbols=[symbol("k", -9, 9), symbol("n", -9, 9)])
    (clause,) = check(read_call(document)).failing
    assert clause.counterexample is not None
    assert dict(clause.counterexample.symbols) == {"k": 0, "n": -1}


def test_the_elected_lane_is_the_least_that_fails():
    (clause,) = check(read_call(at("laneid", 20, guard="elected"))).failing
    assert clause.counterexample is not None
    assert dict(clause.counterexample.symbols) == {"elected": 20}
    assert clause.counterexample.lane == 20


def test_a_row_of_a_collective_is_reported_at_the_lane_that_provides_it():
    document = call(
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16",
        [registers([2, 8, 4], "S[(2,8,4):(1,4@laneid,1@laneid)]"), memory([2, 8, 4], "S[(2,8,4):(34,4,1)]", space="shared")],
        "warp",
    )
    (clause,) = check(read_call(document)).failing
    assert clause.counterexample is not None
    assert (clause.id, clause.counterexample.lane, clause.counterexample.atom) == ("src.aligned", 8, (1, 0, 0))


def test_an_owner_of_a_collective_is_reported_at_the_lane_that_owns_the_element():
    (clause,) = check(read_call(matrix(layout="S[(1,8,4):(1,4@laneid,1@laneid)] + 1@laneid"))).failing
    assert clause.counterexample is not None
    assert (clause.id, clause.counterexample.lane, clause.counterexample.atom) == ("dst.owner", 0, (0, 0, 0))


def test_instructions_counts_the_repeats_of_one_thread():
    assert check(read_call(call("ld.global.b32", [registers([2, 3, 1]), memory([2, 3, 1])]))).instructions == 6
    assert check(read_call(matrix())).instructions == 1


def test_a_vacuous_call_says_why():
    assert "no thread executes" in (check(read_call(one(guard="laneid == 32"))).reason or "")
    assert "contradict" in (check(read_call(vector(16, base={"mod": 32, "is": 8}))).reason or "")


def test_align_and_base_of_two_operands_of_one_allocation_count_together():
    """The store's operand alone says 4 bytes; no contract here has two memory operands, so the facts of one tensor name meet in one operand only."""
    assert check(read_call(vector(8, base={"mod": 16, "is": 0}, tensor="T"))).status == "proved"


def test_a_cluster_scope_needs_a_cluster():
    with pytest.raises(InputError, match="cluster"):
        read_call(load([1, 1, 32], "S[(1,1,32,1):(1,1,1@laneid,1)]", "cluster", (32,)))


def test_a_cta_scope_needs_a_launch():
    with pytest.raises(InputError, match="launch"):
        read_call(load([2, 32], BOTH, "cta", (64,)) | {"launch": None})


def test_uniform_parts_of_the_guard_are_facts_and_the_others_activity():
    found = execution(read_call(one(guard="n > 1 and laneid < 4", symbols=[symbol()], assume=["n < 3", "warpid == 0"])))
    assert str(found.facts) == "1 < n and n < 3"
    assert str(found.activity) == "laneid < 4 and warpid == 0"
    assert ELECTED == "@elected"


def test_a_verdict_has_no_truth_value():
    with pytest.raises(TypeError):
        bool(check(read_call(one())))


def test_a_substituted_call_keeps_its_facts():
    document = at("n", 4, symbols=[symbol("n", 0, 9)], assume=["n < 4"], guard="n >= 0", parameters={"pred": "n != 2"})
    call_ = read_call(document)
    assert check(call_.substitute(n=3)).status == "proved"
    assert check(call_.substitute(n=5)).status == "vacuous"
    assert check(call_.substitute(n=-1)).status == "vacuous"
    assert dataclasses.replace(call_, id="x").substitute(n=1).symbols == ()


INSTANCES = {
    "warp": ([64], None, (32,)),
    "warpgroup": ([256], None, (4, 32)),
    "cta": ([64], None, (2, 32)),
    "cluster": ([32], [2], (2, 1, 32)),
}
OWNERS = {
    "warpgroup": "S[(4,32,1):(1@wid_in_wg,1@laneid,1)]",
    "warp": "S[(32,1):(1@laneid,1)]",
    "cta": BOTH,
    "cluster": "S[(2,1,32,1):(1@cbx,1@warpid,1@laneid,1)]",
}


@pytest.mark.parametrize("scope", list(INSTANCES))
@pytest.mark.parametrize("varies", ["grid", "cta", "warp", "thread"])
@pytest.mark.parametrize(
    "guard",
    [
        "v % 3 != 1",
        "v < 0",
        "v % 5 == 2 or v % 7 == laneid",
        "(v + warpid) % 3 == 1",
        "laneid < v % 5 + warpid // 4",
        "laneid <= v % 4 + warpid % 2",
        "v % 2 == n % 2",
    ],
)
def test_a_guard_over_an_unbounded_varying_symbol_is_answered_as_over_a_bounded_one(scope, varies, guard):
    block, cluster, group = INSTANCES[scope]

    def answered(low: int | None, high: int | None) -> Verdict:
        used = [symbol("v", low, high, varies), *([symbol("n")] if "n" in guard.replace("laneid", "") else [])]
        return check(
            read_call(
                load(group, OWNERS[scope], scope, (32,), guard=guard, symbols=used) | {"launch": {"block": block, "cluster": cluster}}
            )
        )

    small, large = answered(-12, 12), answered(None, None)
    assert small.status == large.status
    assert [(c.id, c.counterexample) for c in small.failing] == [(c.id, c.counterexample) for c in large.failing]


@pytest.mark.parametrize("begin", ["v", "v % 3 * 4", "(v ^ 3) & 12", "laneid // 16 * 4", "v % 2 * laneid"])
def test_a_start_over_an_unbounded_varying_symbol_is_answered_as_over_a_bounded_one(begin):
    def answered(low: int | None, high: int | None) -> Verdict:
        return check(read_call(matrix_at(begin, symbols=[symbol("v", low, high, "thread")])))

    small, large = answered(-12, 12), answered(None, None)
    assert [(c.id, c.counterexample) for c in small.failing if c.id == "participation"] == [
        (c.id, c.counterexample) for c in large.failing if c.id == "participation"
    ]
    assert any(c.id == "participation" for c in small.failing)
