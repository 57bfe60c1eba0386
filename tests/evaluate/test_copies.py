"""Images of copies from memory to memory, against plain arithmetic: zero fill, masks, other CTAs, reductions, what is untouched."""

from __future__ import annotations

from typing import Any

import pytest
from calls import call, cut, model, tensor

BARRIER = "mbarrier::complete_tx::bytes"
CA, CG = "cp.async.ca.shared.global", "cp.async.cg.shared.global"
LOAD = f"cp.async.bulk.shared::cluster.global.{BARRIER}"
REMOTE = f"cp.async.bulk.shared::cluster.shared::cta.{BARRIER}"
STORE = "cp.async.bulk.global.shared::cta.bulk_group"


def image(opcode: str, target: dict[str, Any], source: dict[str, Any], values: dict[str, Any] | None = None, **more: Any) -> list[Any]:
    parameters = {"chunk_bytes": 16, **({"mbar": "shared"} if BARRIER in opcode else {}), **more.pop("parameters", {})}
    return (
        model(call(opcode, target, source, parameters=parameters, **{"launch": {"block": [1], "cluster": None}, **more}))
        .predict(values or {})
        .memory
    )


def shared(dtype: str = "float32", shape: Any = (4,), layout: str = "S[4:1]", *view: Any, name: str = "D") -> dict[str, Any]:
    return tensor(name, "shared", dtype, list(shape), layout, *view, align=16)


def far(dtype: str = "float32", shape: Any = (4,), layout: str = "S[4:1]", *view: Any) -> dict[str, Any]:
    return tensor("A", "global", dtype, list(shape), layout, *view, align=16)


def test_a_chunk_is_sixteen_bytes_and_nothing_else_is_written():
    assert image(CA, shared(), far()) == [["D", k, "A", k] for k in range(16)]


def test_starts_move_both_sides():
    target = shared("float32", (8,), "S[8:1]", cut(4, extent=[4]))
    source = far("float32", (12,), "S[12:1]", cut("4*n", extent=[4]))
    found = image(CA, target, source, {"n": 2}, symbols=[{"name": "n", "min": 0, "max": 2}])
    assert found == [["D", 16 + k, "A", 32 + k] for k in range(16)]


@pytest.mark.parametrize("size", [0, 1, 6, 15, 16])
def test_bytes_behind_the_source_size_are_zero(size: int):
    assert image(CA, shared(), far(), parameters={"src_size": size}) == [
        ["D", k, "A", k] if k < size else ["D", k, None, "zero"] for k in range(16)
    ]


@pytest.mark.parametrize(("n", "ignored"), [(0, False), (1, True)])
def test_an_ignored_source_leaves_zeros(n: int, ignored: bool):
    found = image(CA, shared(), far(), {"n": n}, symbols=[{"name": "n", "min": 0, "max": 1}], parameters={"ignore_src": "n > 0"})
    assert found == [["D", k, None, "zero"] if ignored else ["D", k, "A", k] for k in range(16)]


def test_a_false_predicate_writes_nothing_whatever_is_ignored():
    assert image(CA, shared(), far(), parameters={"pred": "1 > 2", "ignore_src": True}) == []


def test_each_lane_has_a_source_size_of_its_own():
    target, source = (one("float32", (4, 4), "S[(4,4):(4,1)]") for one in (shared, far))
    found = image(CA, target, source, scope="warp", launch={"block": [4], "cluster": None}, parameters={"src_size": "4*laneid + 2"})
    assert found == [["D", k, "A", k] if k % 16 < 4 * (k // 16) + 2 else ["D", k, None, "zero"] for k in range(64)]


def test_a_swizzled_destination_gets_its_chunks_where_the_layout_says():
    layout = "Swizzle(2,3,3) o S[(8,4):(32,1)]"
    found = image(CG, shared("float32", (8, 4), layout), far("float32", (8, 4), "S[(8,4):(4,1)]"))
    places = {row[3]: row[1] for row in found}
    assert places == {16 * row + k: 16 * (8 * row ^ row) + k for row in range(8) for k in range(16)}


def test_four_bit_elements_are_copied_in_bytes():
    found = image(CA, shared("float4_e2m1fn", (32,), "S[32:1]"), far("float4_e2m1fn", (32,), "S[32:1]"), parameters={"src_size": 3})
    assert found == [["D", k, "A", k] if k < 3 else ["D", k, None, "zero"] for k in range(16)]


@pytest.mark.parametrize("mask", [0x0001, 0x8421, 0x00FF, 0xFFFF])
def test_a_mask_chooses_bytes_of_each_sixteen(mask: int):
    target, source = far("uint8", (48,), "S[48:1]"), shared("uint8", (48,), "S[48:1]")
    found = image(f"{STORE}.cp_mask", target, source, parameters={"chunk_bytes": 48, "byteMask": mask})
    assert found == [["A", k, "D", k] for k in range(48) if mask >> k % 16 & 1]


PAIR = {"block": [1], "cluster": [2]}


def test_a_copy_to_another_cta_says_from_which_to_which():
    source = shared(name="S")
    found = image(REMOTE, shared(), source, launch=PAIR, parameters={"remote_cta_id": "1 - cbx"})
    assert found == [["D", k, "S", k, {"cta": cta, "from": 1 - cta}] for k in range(16) for cta in range(2)]


def test_a_load_in_a_cluster_says_where_it_lands():
    found = image(LOAD, shared(), far(), launch=PAIR, guard="cbx == 1")
    assert found == [["D", k, "A", k, {"cta": 1}] for k in range(16)]


def test_a_store_in_a_cluster_says_where_it_comes_from():
    found = image(STORE, far(), shared(), launch=PAIR, guard="cbx == 1")
    assert found == [["A", k, "D", k, {"from": 1}] for k in range(16)]


@pytest.mark.parametrize("mask", [1, 2, 5, 15])
def test_a_multicast_writes_the_ctas_of_its_mask(mask: int):
    found = image(
        f"{LOAD}.multicast::cluster",
        shared(),
        far(),
        launch={"block": [1], "cluster": [2, 2]},
        guard="cbx == 1 and cby == 0",
        parameters={"cta_mask": mask},
    )
    assert found == [["D", k, "A", k, {"cta": cta}] for k in range(16) for cta in range(4) if mask >> cta & 1]


def test_two_copies_of_one_byte_leave_it_undefined():
    found = image(f"{LOAD}.multicast::cluster", shared(), far(), launch=PAIR, parameters={"cta_mask": 2})
    assert found == [["D", k, None, "undefined", {"cta": 1}] for k in range(16)]


def test_a_reduction_names_its_sources_and_its_operator():
    target, source = far("uint32"), shared("uint32")
    found = image("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32", target, source, launch=PAIR)
    assert found == [["A", k, None, "combined", {"by": "max.u32", "sources": [["D", k, 0], ["D", k, 1]]}] for k in range(16)]


def test_a_prefetch_writes_nothing():
    assert model(call("cp.async.bulk.prefetch.L2.global", far(), parameters={"chunk_bytes": 16})).predict({}).to_json() == {
        "registers": [],
        "memory": [],
    }
