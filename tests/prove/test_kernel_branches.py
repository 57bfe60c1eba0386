"""Calls of a kernel that execute for some values of the symbols, or in some CTAs: what is allocated there, in every CTA."""

from __future__ import annotations

from typing import Any

import pytest
from kernels import alloc, call, close, free, loaded, product
from test_kernel import answer, failing

from tilecheck import check_kernel, kernel
from tilecheck.call import Call
from tilecheck.document import read_call

CLUSTER = {"block": [128], "cluster": [2]}
FOUR = {"block": [128], "cluster": [4]}
N = {"name": "n", "min": 0, "max": 1}
N3 = {"name": "n", "min": 0, "max": 3}
W = {"name": "w", "min": 0, "max": 1, "varies": "cta"}
V = {"name": "v", "min": 0, "max": 1, "varies": "warp"}


def when(condition: str) -> dict[str, Any]:
    """Warp 0, under a condition on n."""
    return {"guard": f"warpid == 0 and ({condition})", "symbols": [N3]}


def in_cta(rank: str, **more: Any) -> dict[str, Any]:
    return {"guard": f"warpid == 0 and {rank}", "launch": CLUSTER, **more}


def issued(rank: str, **more: Any) -> dict[str, Any]:
    """A product by an elected thread of warp 0, in some CTAs of a pair."""
    return {"guard": f"elected and warpid == 0 and {rank}", "launch": CLUSTER, **more}


def paired(column: int = 0, guard: str = "tx == 0 and cbx == 0", **more: Any) -> Call:
    """Rows of both CTAs of a pair moved down by one."""
    cells: dict[str, Any] = {"name": "A", "space": "tmem", "dtype": "uint32", "shape": [32, 8]}
    cells["layout"] = f"S[(32,8):(1@TLane,1@TCol)] + {column}@TCol"
    return call("tcgen05.shift.cta_group::2.down", (cells,), **{"scope": "thread", "guard": guard, "launch": CLUSTER, **more})


def repeated(ncols: int, times: int) -> Call:
    """An allocation that is executed `times` times, each with a handle of its own."""
    document = alloc(ncols).to_json()
    operands: Any = document["operands"]
    operands[0] |= {"shape": [times, 1], "layout": f"S[({times},1):(1,1)]"}
    return read_call(document)


HELD = {
    "512 columns in each CTA by a call of its own": (alloc(512, **in_cta("cbx == 0")), alloc(512, **in_cta("cbx == 1"))),
    "one of two sizes": (alloc(256, **when("n == 0")), alloc(512, **when("n == 1"))),
    "one of two sizes, freed": (
        alloc(256, **when("n == 0")),
        alloc(512, **when("n > 0")),
        free(512, **when("n != 0")),
        free(256, **when("n < 1")),
    ),
    "a product of the CTA that allocates": (alloc(64, **in_cta("cbx == 1")), product(0, **issued("cbx == 1"))),
    "a product where something is allocated": (
        alloc(64, **when("n == 1")),
        product(0, guard="elected and warpid == 0 and n == 1", symbols=[N3]),
    ),
    "a product where an assumption says so": (alloc(64, **when("n == 1")), product(0, symbols=[N3], assume=["n == 1"])),
    "another place in each case": (
        alloc(256, **when("n == 0")),
        alloc(64),
        product("256", guard="elected and warpid == 0 and n == 0", symbols=[N3]),
        product(0, guard="elected and warpid == 0 and n != 0", symbols=[N3]),
    ),
    "a place by the symbol": (alloc(128, **when("n == 0")), alloc(64), product("select(n == 0, 128, 0)", symbols=[N3])),
    "nothing is closed where something is allocated": (close(**when("n == 0")), alloc(64, **when("n > 0"))),
    "a value of each CTA": (
        alloc(64, guard="warpid == 0 and w == 1", launch=CLUSTER, symbols=[W]),
        product(0, **issued("w == 1", symbols=[W])),
        free(64, 0, guard="warpid == 0 and w == 1", launch=CLUSTER, symbols=[W]),
    ),
    "a warp that has a say of its own": (alloc(512, guard="warpid == 0 and v == 1", symbols=[V]),),
    "a warp of a symbol always": (alloc(64, guard="warpid == n", symbols=[N3]), product(0), free(64)),
    "a range that another call narrows": (alloc(512, **when("n < 2")), product(0, symbols=[N]), free(512, **when("n <= 1"))),
    "in both CTAs of a pair": (alloc(64, 2, launch=CLUSTER), paired(), free(64, 0, 2, launch=CLUSTER)),
    "a warp of each CTA of a pair": (alloc(64, 2, guard="warpid == w", launch=CLUSTER, symbols=[W]),),
    "whatever a warp of the pair has": (alloc(64, 2, guard="warpid == 1 and v < 2", launch=CLUSTER, symbols=[V]),),
    "a pair by a value that both have": (
        alloc(64, 2, guard="warpid == 0 and n == 1", launch=CLUSTER, symbols=[{**N, "varies": "cluster"}]),
        paired(0, "tx == 0 and cbx == 0 and n == 1", symbols=[{**N, "varies": "cluster"}]),
    ),
    "either of two is freed": (alloc(64), alloc(64), free(64, "64*n", symbols=[N]), free(64, "64 - 64*n", symbols=[N])),
    "what is left of two": (
        alloc(64),
        alloc(64),
        free(64, "64*n", symbols=[N]),
        product("64 - 64*n", symbols=[N]),
        free(64, "64 - 64*n", symbols=[N]),
    ),
    "the place of each CTA": (
        alloc(64, taddr=64, **in_cta("cbx == 1")),
        alloc(64, **in_cta("cbx == 0")),
        free(64, "64*cbx", launch=CLUSTER),
    ),
    "two allocations by one call": (repeated(256, 2), loaded(480), free(256, 0), free(256, 256)),
}
BROKEN = {
    "an allocation that is never made": (("columns.footprint",), (alloc(512, pred=False), product(0))),
    "an allocation that may not be made": (("columns.footprint",), (alloc(512, **when("n == 1")), product(0))),
    "an allocation under a predicate": (("columns.footprint",), (alloc(512, pred="n == 1", symbols=[N]), product(0))),
    "an allocation of the other CTA": (("columns.footprint",), (alloc(512, **in_cta("cbx == 0")), product(0, **issued("cbx == 1")))),
    "a value of another CTA": (
        ("columns.footprint",),
        (alloc(64, guard="warpid == 0 and w == 1", launch=CLUSTER, symbols=[W]), product(0, **issued("w == 0", symbols=[W]))),
    ),
    "freed in one case": (("columns.footprint", "allocation.operands"), (alloc(64), free(64, **when("n == 0")), product(0))),
    "kept in one case": (("allocation.operands",), (alloc(64), free(64, **when("n == 0")))),
    "kept in one CTA": (("allocation.operands",), (alloc(64, launch=CLUSTER), free(64, **in_cta("cbx == 0")))),
    "freed where it is not allocated": (("allocation.operands",), (alloc(64, **when("n == 0")), free(64))),
    "two at once for one value": (("allocation.footprint",), (alloc(512, **when("n <= 1")), alloc(256, **when("n >= 1")))),
    "larger than before for one value": (("allocation.shape",), (alloc(64, **when("n <= 1")), alloc(128, **when("n >= 1")))),
    "closed for one value": (("allocation.operands",), (close(**when("n == 0")), alloc(64))),
    "closed in one CTA": (("allocation.operands",), (close(**in_cta("cbx == 1")), alloc(64, launch=CLUSTER))),
    "another place in one case": (
        ("columns.footprint",),
        (alloc(256, **when("n == 0")), alloc(64), product(0, symbols=[N3], assume=["n < 2"]), product(256)),
    ),
    "a pair of which one allocates": (("columns.footprint", "issue.participation"), (alloc(64, 2, **in_cta("cbx == 0")), paired())),
    "a pair of which one has freed": (
        ("columns.footprint", "issue.participation", "allocation.operands"),
        (alloc(64, 2, launch=CLUSTER), free(64, 0, 2, **in_cta("cbx == 1")), paired()),
    ),
    "a place that is none": (("allocation.operands",), (alloc(64), free(64, "32 + 32*n", symbols=[N3]))),
    "a place that is one for some values": (("allocation.operands",), (alloc(64), free(64, "32*n", symbols=[N]))),
    "one of two is freed twice": (
        ("allocation.operands",),
        (alloc(64), alloc(64), free(64, "64*n", symbols=[N]), free(64, "64*n", symbols=[N])),
    ),
    "the one that is freed": (
        ("columns.footprint", "allocation.operands"),
        (alloc(64), alloc(64), free(64, "64*n", symbols=[N]), product(64), free(64, 0, guard="warpid == 0 and n == 1", symbols=[N])),
    ),
    "an allocation that is repeated": (("allocation.footprint",), (repeated(256, 3),)),
    "the other CTA of a pair by its own value": (
        ("issue.participation",),
        (alloc(64, 2, guard="warpid == 0 and w == 0", launch=CLUSTER, symbols=[W]),),
    ),
    "warps of the other CTA by their own values": (
        ("issue.participation",),
        (alloc(64, 2, guard="warpid == 0 and v == 0", launch=CLUSTER, symbols=[V]),),
    ),
    "the place of another CTA": (
        ("columns.footprint",),
        (
            alloc(64, 2, launch=CLUSTER),
            alloc(64, 2, launch=CLUSTER),
            free(64, "64*w", 2, launch=CLUSTER, symbols=[W]),
            paired(0, "tx == 0 and cbx == 0 and w == 1", symbols=[W]),
            free(64, "64 - 64*w", 2, launch=CLUSTER, symbols=[W]),
        ),
    ),
}


@pytest.mark.parametrize("name", HELD)
def test_what_holds_in_every_case_is_proved(name: str) -> None:
    assert failing(*HELD[name]) == set()
    assert answer(*HELD[name]).shared.status == "proved"


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_in_one_case_is_refuted(name: str) -> None:
    clauses, calls = BROKEN[name]
    assert failing(*calls) == set(clauses)


@pytest.mark.parametrize("calls", [(alloc(512), product(0), free(512, pred=False)), (alloc(512),)], ids=["never", "no call"])
def test_what_is_never_freed_is_a_hazard(calls: tuple[Call, ...]) -> None:
    found = answer(*calls).shared
    assert found.status == "proved"
    assert [hazard.id for hazard in found.hazards] == ["allocation.kept"]


def test_a_case_is_told_with_its_values() -> None:
    [clause] = answer(alloc(64), free(64, **when("n == 0"))).shared.failing
    example = clause.counterexample
    assert example is not None
    assert (example.symbols, example.cta) == ((("n", 1),), 0)
    assert example.sentence.endswith("which no call frees, in CTA 0 where n is 1")


def test_a_cta_is_told() -> None:
    [clause] = answer(close(**in_cta("cbx == 1")), alloc(64, launch=CLUSTER)).shared.failing
    assert clause.counterexample is not None
    assert clause.counterexample.cta == 1


def test_a_symbol_of_the_allocation_is_told_beside_those_of_the_access() -> None:
    example = answer(alloc(512, **when("n == 1")), product("64*m", symbols=[{**N, "name": "m"}])).shared.counterexample
    assert example is not None
    assert dict(example.symbols) == {"n": 0, "m": 0, "elected": 0}


def test_what_depends_on_a_symbol_of_a_warp_is_open() -> None:
    found = answer(alloc(512, guard="warpid == 0 and v == 1", symbols=[V]), product(0)).shared
    assert found.status == "unproved"
    [clause] = [one for one in found.clauses if one.status == "unproved"]
    assert clause.id == "columns.footprint"
    assert clause.reason is not None
    assert "varies inside a CTA" in clause.reason
    kept = answer(alloc(64), free(64, guard="warpid == 0 and v == 1", symbols=[V])).shared
    assert [(one.id, one.status) for one in kept.clauses if one.status != "proved"] == [("allocation.operands", "unproved")]
    outside = answer(alloc(64, guard="warpid == 0 and v == 1", symbols=[V]), product(0, pred=False)).shared
    assert outside.status == "proved"


def test_facts_that_no_kernel_has_prove_nothing() -> None:
    high = {"name": "n", "min": 2, "max": 3}
    found = answer(alloc(64, symbols=[N], guard="warpid == 0 and n >= 0"), product("64*n", symbols=[high])).shared
    assert [(one.id, one.status) for one in found.clauses if one.status != "proved"] == [("columns.footprint", "unproved")]
    two = answer(alloc(64, symbols=[N], guard="warpid == 0 and n >= 0"), free(64, "32*n - 64", symbols=[high])).shared
    assert {one.status for one in two.clauses if one.id.startswith("allocation")} == {"unproved"}


def test_more_cases_than_are_looked_at_are_unproved() -> None:
    names = [f"n{k}" for k in range(9)]
    calls = [alloc(32, taddr=32 * k, guard=f"warpid == 0 and {n} == 1", symbols=[{**N, "name": n}]) for k, n in enumerate(names)]
    found = check_kernel(kernel([*calls, product(448)])).shared
    assert found.status == "unproved"
    assert all("more than 128 cases" in str(one.reason) for one in found.clauses if one.status != "proved")
    assert {one.id for one in found.clauses if one.status != "proved"} == {
        "allocation.shape", "allocation.footprint", "allocation.operands", "columns.footprint"
    }  # fmt: skip


def test_one_name_of_two_levels_is_two_symbols() -> None:
    calls = (alloc(64, **when("n == 1")), product(0, guard="elected and warpid == 0 and n == 1", symbols=[{**N, "varies": "cta"}]))
    example = answer(*calls).shared.counterexample
    assert example is not None
    assert "columns.footprint" in {one.id for one in answer(*calls).shared.failing}


def test_the_other_cta_of_a_pair_is_told_with_its_values() -> None:
    example = answer(alloc(64, 2, guard="warpid == 0 and w == 0", launch=CLUSTER, symbols=[W])).shared.counterexample
    assert example is not None
    assert example.sentence.endswith("warp 0 of CTA 0 executes it, no warp of CTA 1, where w is 1, does")


def test_symbols_without_bounds_are_decided() -> None:
    free_n = {"name": "n"}
    held = answer(alloc(256, guard="warpid == 0 and n < 0", symbols=[free_n]), alloc(512, guard="warpid == 0 and n >= 0", symbols=[free_n]))
    assert held.shared.status == "proved"
    broken = answer(
        alloc(256, guard="warpid == 0 and n < 1", symbols=[free_n]), alloc(512, guard="warpid == 0 and n >= 0", symbols=[free_n])
    )
    assert {one.id for one in broken.shared.failing} == {"allocation.footprint", "allocation.shape"}
