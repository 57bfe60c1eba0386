"""What the calls of a kernel share: each rule, held and broken, with the evaluator asked the same."""

from __future__ import annotations

import pytest
from kernels import alloc, call, close, commit, free, loaded, product

from tilecheck import InputError, NotLegal, check, check_kernel, kernel
from tilecheck.call import Call
from tilecheck.document import read_kernel
from tilecheck.prove.kernel import KernelVerdict, shared_verdict

CLUSTER = {"block": [128], "cluster": [2]}
N = {"name": "n", "min": 0, "max": 3}


def answer(*calls: Call) -> KernelVerdict:
    """The verdicts; what is shared is audited, the calls are in tests of their own."""
    whole = kernel(calls)
    verdicts = tuple(check(call) for call in calls)
    return KernelVerdict(verdicts, shared_verdict(whole, verdicts, audit=True))


def test_an_audit_of_a_kernel_is_one_of_its_calls_too() -> None:
    assert check_kernel([alloc(64), commit(), free(64)], audit=True).status == "proved"


def failing(*calls: Call) -> set[str]:
    found = answer(*calls)
    assert all(one.status == "proved" for one in found.calls), [one.summary() for one in found.calls]
    return {clause.id for clause in found.shared.failing}


HELD = {
    "one call": (commit(),),
    "all columns": (alloc(512), close(), commit(), free(512)),
    "some columns": (alloc(256), alloc(128), alloc(128), free(256), free(128, 256), free(128, 384)),
    "again": (alloc(512), free(512), alloc(512), free(512)),
    "a hole is filled": (alloc(256), alloc(256), free(256), alloc(256, taddr=0), free(256), free(256, 256)),
    "an address that is an expression": (alloc(64, taddr=64), free(64, "32*n", symbols=[N], assume=["n == 2"])),
    "one warp": (alloc(64, guard="warpid == 3"), free(64, guard="warpid == 2")),
    "a warp that a symbol chooses": (alloc(64, guard="warpid == n", symbols=[N]),),
    "a lane that is elected": (commit(guard="elected and warpid == 1"),),
    "a thread that a symbol chooses": (commit(guard="tx == 17 * n", symbols=[N]),),
    "a predicate": (commit(guard=True, pred="tx == 5"),),
    "a block of one warp": (alloc(32, guard=True, launch={"block": [32]}),),
    "pairs": (alloc(64, 2, launch=CLUSTER), commit(2, guard="tx == 0 and cbx == 0", launch=CLUSTER), free(64, 0, 2, launch=CLUSTER)),
    "other warps of a pair": (alloc(64, 2, launch=CLUSTER, guard="warpid == cbx"),),
    "a commit of each CTA": (commit(1, launch=CLUSTER),),
    "a product in what is allocated": (alloc(128), product(64), loaded(64), commit(guard="elected and warpid == 0"), free(128)),
    "a stage of a ring": (alloc(512), product("64*n", symbols=[N]), loaded("64*n + 32", symbols=[N]), free(512)),
    "in two allocations": (alloc(256), alloc(128), product(192), loaded(320), loaded(224, 64)),
    "where the kernel counts it": (alloc(64, taddr=192), product(192), free(64, 192)),
    "columns of a kernel that allocates elsewhere": (product(448), loaded(0)),
    "A beside D": (alloc(512), product(0, 64), product(64, 0), free(512)),
    "A behind D by a symbol": (product("64*n", "64*n + 64", symbols=[N]),),
    "an access that is never made": (alloc(64), product(448, pred=False), free(64)),
    "a load of what is allocated": (alloc(128), loaded(96), free(128)),
    "a stage that is loaded": (alloc(512), loaded("32*n", symbols=[N]), free(512)),
    "in one of two allocations": (alloc(256), alloc(64), loaded(224, 64), free(256), free(64, 256)),
    "a kernel that allocates elsewhere": (loaded(448),),
    "the second of a pair": (commit(2, guard="tx == 0 and cbx % 2 == 1", launch={"block": [32], "cluster": [4]}),),
}
BROKEN = {
    "608 columns": (("allocation.footprint",), (alloc(512), alloc(32), alloc(32), alloc(32))),
    "513 columns and more": (("allocation.footprint",), (alloc(256), alloc(256), alloc(32))),
    "one column twice": (("allocation.footprint",), (alloc(128), alloc(64, taddr=96))),
    "behind the last column": (("allocation.footprint",), (alloc(64, taddr=480),)),
    "larger than before": (("allocation.shape",), (alloc(64), alloc(128))),
    "larger than one that is freed": (("allocation.shape",), (alloc(64), free(64), alloc(128), free(128))),
    "freed twice": (("allocation.operands",), (alloc(64), free(64), free(64))),
    "another size": (("allocation.operands",), (alloc(64), free(32))),
    "another place": (("allocation.operands",), (alloc(64, taddr=32), free(64, 0))),
    "nothing to free": (("allocation.operands",), (free(64),)),
    "one of two is freed": (("allocation.operands",), (alloc(64), alloc(64), free(64))),
    "after the permit": (("allocation.operands",), (alloc(64), close(), alloc(64))),
    "two groups": (("cta_group.opcode",), (commit(1, launch=CLUSTER), commit(2, guard="tx == 0 and cbx == 0", launch=CLUSTER))),
    "a product before its allocation": (("columns.footprint",), (product(0), alloc(64), free(64))),
    "a product behind its allocation": (("columns.footprint",), (alloc(64), product(32), free(64))),
    "a load of what is freed": (("columns.footprint",), (alloc(128), product(0), free(128), loaded(0))),
    "the last stage": (("columns.footprint",), (alloc(128), product("64*n", symbols=[N]))),
    "between two allocations": (("columns.footprint",), (alloc(64), alloc(64, taddr=128), loaded(64, 128), product(0))),
    "A in D": (("d.distinct",), (alloc(512), product(0, 56), free(512))),
    "A in D for one symbol": (("d.distinct",), (product(64, "8*n", symbols=[{**N, "max": 8}]),)),
    "a product of each warp": (("issue.participation",), (product(0, guard="elected"),)),
    "a load before its allocation": (("columns.footprint",), (loaded(0), alloc(64), free(64))),
    "a load of 64 freed columns": (("columns.footprint",), (alloc(64), free(64), loaded(0))),
    "a load behind what is allocated": (("columns.footprint",), (alloc(64), loaded(48), free(64))),
    "the last stage that is loaded": (("columns.footprint",), (alloc(64), loaded("32*n", symbols=[N]), free(64))),
    "loaded between two allocations": (("columns.footprint",), (alloc(64), alloc(64, taddr=128), loaded(64, 128))),
    "two lanes": (("issue.participation",), (commit(guard="tx < 2"),)),
    "a lane of each warp": (("issue.participation",), (commit(guard="elected"),)),
    "every thread": (("issue.participation",), (commit(guard=True),)),
    "two warps": (("issue.participation",), (alloc(64, guard="warpid < 2"),)),
    "warps of a symbol each": (("issue.participation",), (alloc(64, guard="warpid == n", symbols=[{**N, "varies": "warp"}]),)),
    "both CTAs of a pair": (("issue.participation",), (commit(2, launch=CLUSTER),)),
    "one CTA of a pair": (("issue.participation",), (alloc(64, 2, launch=CLUSTER, guard="warpid == 0 and cbx == 1"),)),
    "two warps of one CTA of a pair": (("issue.participation",), (alloc(64, 2, launch=CLUSTER, guard="warpid <= cbx"),)),
}


@pytest.mark.parametrize("name", HELD)
def test_what_holds_is_proved(name: str) -> None:
    assert failing(*HELD[name]) == set()


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_refuted(name: str) -> None:
    clauses, calls = BROKEN[name]
    assert failing(*calls) == set(clauses)


@pytest.mark.parametrize("name", BROKEN)
def test_every_refutation_says_what_was_expected_and_names_the_call(name: str) -> None:
    for clause in answer(*BROKEN[name][1]).shared.failing:
        example = clause.counterexample
        assert example is not None
        assert example.expected
        assert example.actual
        assert "calls[" in example.sentence


def test_a_finding_names_both_calls() -> None:
    first, second = commit(1, id="early", launch=CLUSTER), commit(2, id="late", guard="tx == 0 and cbx == 0", launch=CLUSTER)
    [clause] = answer(first, second).shared.failing
    assert clause.counterexample is not None
    assert "calls[1] (late, tcgen05.commit.cta_group::2" in clause.counterexample.sentence
    assert "calls[0] (early, tcgen05.commit.cta_group::1" in clause.counterexample.sentence


def test_a_column_that_is_not_allocated_is_told() -> None:
    example = answer(alloc(128), product("64*n", symbols=[N], id="stages")).shared.counterexample
    assert example is not None
    assert (dict(example.symbols), example.repeat, example.atom) == ({"n": 2, "elected": 0}, (0, 0), (0, 0))
    assert (example.expected, example.actual) == ("a column among 0 to 127", "column 128")
    assert example.sentence.startswith("calls[1] (stages, tcgen05.mma")


def test_a_cell_that_is_written_and_read_is_told() -> None:
    example = answer(product(64, "8*n", symbols=[{**N, "max": 8}])).shared.counterexample
    assert example is not None
    assert dict(example.symbols) == {"n": 8, "elected": 0}
    assert example.actual == "lane 0, column 64"


def test_the_total_is_told() -> None:
    [clause] = answer(alloc(512), alloc(32), alloc(32), alloc(32)).shared.failing
    assert clause.counterexample is not None
    assert clause.counterexample.actual == "608 columns in all"
    assert clause.reason is not None
    assert clause.reason.count("brings what is allocated") == 1


def test_issuers_are_the_least_ones() -> None:
    example = answer(commit(guard="tx >= 40")).shared.counterexample
    assert example is not None
    assert (example.cta, example.warp, example.lane) == (0, 1, 8)
    assert "lane 9 of warp 1" in example.sentence


def test_what_is_allocated_in_part_is_a_condition() -> None:
    assert answer(alloc(512), free(512)).shared.conditions == ()
    [condition] = answer(alloc(64, taddr=32), free(64, 32)).shared.conditions
    assert "column 32" in condition


def test_what_is_never_freed_is_a_hazard() -> None:
    assert [h.id for h in answer(alloc(64)).shared.hazards] == ["allocation.kept"]
    assert answer(alloc(64), free(64)).shared.hazards == ()


def test_a_refuted_call_fails_the_kernel_and_counts_all_the_same() -> None:
    found = answer(alloc(48), alloc(512))
    assert found.status == "refuted"
    assert [one.status for one in found.every] == ["refuted", "proved", "refuted"]
    assert {clause.id for clause in found.shared.failing} == {"allocation.shape", "allocation.footprint"}
    with pytest.raises(NotLegal, match="ncols is 48"):
        found.raise_for_status()


def test_calls_that_share_nothing_are_proved_with_a_note() -> None:
    found = answer(call("mov.b32", (_slot("D"), _slot("S")), scope="thread"))
    assert found.status == "proved"
    assert found.shared.reason == "its calls share nothing that a contract speaks of"
    found.raise_for_status()


def _slot(name: str) -> dict[str, object]:
    return {"name": name, "space": "register", "dtype": "uint32", "shape": [1]}


def test_a_kernel_verdict_has_no_truth_value() -> None:
    with pytest.raises(TypeError):
        bool(answer(commit()))


def test_a_kernel_is_read_back_from_its_document() -> None:
    one = kernel([alloc(64), commit()], id="k")
    assert read_kernel(one.to_json()) == one


@pytest.mark.parametrize(
    ("calls", "path"),
    [([], "$.calls"), ([alloc(64), "alloc"], "$.calls[1]"), ([commit()] * 10_001, "$.calls")],
    ids=["none", "text", "many"],
)
def test_a_kernel_of_something_else_is_an_input_error(calls: list[Call], path: str) -> None:
    with pytest.raises(InputError) as caught:
        kernel(calls)
    assert caught.value.path == path
