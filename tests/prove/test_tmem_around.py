"""tcgen05.shift, wait and fence: what stands around products and transfers; rows and lanes of a shift held and broken."""

from __future__ import annotations

from typing import Any

import pytest

from tests.prove.kernels import call, commit, free, product, shift
from tilecheck import check, check_kernel


def failing(layout: str, shape: tuple[int, ...] = (32, 8), **more: Any) -> set[str]:
    found = check(shift(layout, shape, **more), audit=True)
    assert found.status in {"proved", "refuted"}
    return {clause.id for clause in found.failing}


@pytest.mark.parametrize("lane", range(0, 128, 32))
def test_a_slab_of_32_lanes_is_shifted(lane: int):
    assert failing(f"S[(32,8):(1@TLane,1@TCol)] + {lane}@TLane + 5@TCol") == set()


@pytest.mark.parametrize(
    ("layout", "shape", "clauses"),
    [
        ("S[(32,8):(1@TLane,1@TCol)] + 16@TLane", (32, 8), {"dst.image"}),
        ("S[(32,8):(1@TLane,1@TCol)] + 1@TLane", (32, 8), {"dst.image"}),
        ("S[(32,8):(2@TLane,1@TCol)]", (32, 8), {"dst.image"}),
        ("S[(32,8):(1@TLane,2@TCol)]", (32, 8), {"dst.image"}),
        ("S[(32,8):(1@TLane,1@TCol)] + 505@TCol", (32, 8), {"dst.footprint", "dst.backing"}),
        ("S[(128,8):(1@TLane,1@TCol)]", (128, 8), {"dst.shape"}),
        ("S[(32,4):(1@TLane,1@TCol)]", (32, 4), {"dst.shape"}),
    ],
)
def test_a_rule_is_broken(layout: str, shape: tuple[int, ...], clauses: set[str]):
    assert failing(layout, shape) == clauses


def test_slabs_and_columns_are_repeats():
    assert failing("S[(4,4,32,8):(32@TLane,8@TCol,1@TLane,1@TCol)]", (4, 4, 32, 8)) == set()
    assert failing("S[(4,4,32,8):(16@TLane,8@TCol,1@TLane,1@TCol)]", (4, 4, 32, 8)) == {"dst.image"}


def test_the_lane_may_be_a_symbol():
    view = [{"op": "slice", "begin": ["32*i", 0], "extent": [32, None]}]
    wide = ("S[(128,8):(1@TLane,1@TCol)]", (128, 8))
    assert failing(*wide, view=view, symbols=[{"name": "i", "min": 0, "max": 3}]) == set()
    assert failing(*wide, view=[{**view[0], "begin": ["8*i", 0]}], symbols=[{"name": "i", "min": 0, "max": 3}]) == {"dst.image"}


def test_words_of_other_widths_are_no_cells():
    assert failing("S[(32,16):(1@TLane,1@TCol)]", (32, 16), dtype="float16") == {"dst.shape", "dst.storage"}


def test_two_ctas_need_a_cluster_and_a_kernel_has_one_group():
    alone = check(shift("S[(32,8):(1@TLane,1@TCol)]", group=2), audit=True)
    assert {c.id for c in alone.failing} == {"cluster"}
    whole = check_kernel([product(64), shift("S[(32,8):(1@TLane,1@TCol)]", group=2, launch={"block": [128], "cluster": [2]})])
    assert whole.shared.status == "refuted"


@pytest.mark.parametrize(
    ("opcode", "scope", "guard", "status"),
    [
        ("tcgen05.wait::ld.sync.aligned", "warp", "warpid == 0", "proved"),
        ("tcgen05.wait::st.sync.aligned", "warpgroup", True, "proved"),
        ("tcgen05.wait::ld.sync.aligned", "warp", "laneid < 16", "refuted"),
        ("tcgen05.fence::before_thread_sync", "thread", "tx == 0", "proved"),
        ("tcgen05.fence::after_thread_sync", "cta", True, "proved"),
        ("tcgen05.wait.sync.aligned", "warp", True, "refuted"),
        ("tcgen05.fence", "thread", True, "refuted"),
    ],
)
def test_waits_and_fences_ask_who_executes_them(opcode: str, scope: str, guard: object, status: str):
    found = check(call(opcode, scope=scope, guard=guard), audit=True)
    assert found.status == status, found.summary()


@pytest.mark.parametrize(
    ("group", "scope", "guard", "hazards"),
    [
        (1, "thread", "tx == 0", set()),
        (1, "warp", "warpid == 0", {"issue.many"}),
        (1, "warp", "tx == 32", set()),
        (1, "cta", True, {"issue.many"}),
        (2, "thread", "tx == 0", {"issue.many"}),
        (2, "thread", "tx == 0 and cbx == 1", set()),
        (2, "warp", "warpid == 0 and cbx == 1", {"issue.many"}),
    ],
)
def test_a_commit_of_several_threads_is_a_hazard_at_every_scope(group: int, scope: str, guard: object, hazards: set[str]):
    found = check(commit(group, scope=scope, guard=guard, launch={"block": [128], "cluster": [2]}), audit=True)
    assert (found.status, {hazard.id for hazard in found.hazards}) == ("proved", hazards)


def test_waits_and_fences_share_nothing_in_a_kernel():
    found = check_kernel([product(0), call("tcgen05.fence::before_thread_sync", scope="thread"), call("tcgen05.wait::ld.sync.aligned")])
    assert found.shared.status in {"proved", "vacuous"}, found.shared.summary()


N = {"name": "n", "min": 0, "max": 3}


@pytest.mark.parametrize(
    ("taddr", "clauses"),
    [
        (0, set()),
        (480, set()),
        ("32*n", set()),
        ("warpid * 32", set()),
        ("laneid // 32 * 64", set()),
        (33, {"taddr.bounds"}),
        (512, {"taddr.bounds"}),
        (-32, {"taddr.bounds"}),
        ("3*n + 1", {"taddr.bounds"}),
        ("480 + 32*n", {"taddr.bounds"}),
        ("32 * laneid", {"participation", "taddr.bounds"}),
        ("laneid % 2 * 32", {"participation"}),
        ("select(elected, 32, 0)", {"participation"}),
        ("32*v", {"participation"}),
    ],
)
def test_what_is_freed_begins_at_a_multiple_of_32_that_a_warp_agrees_on(taddr: object, clauses: set[str]):
    symbols = [N, {"name": "v", "min": 0, "max": 1, "varies": "thread"}]
    found = check(free(64, taddr, symbols=symbols), audit=True)
    assert {clause.id for clause in found.failing} == clauses


def test_an_address_of_each_warp_is_one_number():
    assert check(free(64, "32*v", symbols=[{"name": "v", "min": 0, "max": 1, "varies": "warp"}]), audit=True).status == "proved"
