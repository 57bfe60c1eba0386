"""The calls of a kernel are one program: one launch, one architecture that has them all."""

from __future__ import annotations

from typing import Any

import pytest
from kernels import alloc, call, commit, free, loaded, product
from test_kernel import answer

from tilecheck import check, check_kernel, kernel
from tilecheck.call import Call
from tilecheck.prove.verdict import Verdict


def reduced(**more: Any) -> Call:
    """A load that reduces: sm_103f or sm_110f."""
    columns = {"name": "R", "space": "register", "dtype": "uint32", "shape": [32, 2], "layout": "S[(32,2):(1@laneid,1)]"}
    found = {"name": "M", "space": "register", "dtype": "uint32", "shape": [32], "layout": "S[(32):(1@laneid)]"}
    cells = {"name": "X", "space": "tmem", "dtype": "uint32", "shape": [32, 2], "layout": "S[(32,2):(1@TLane,1@TCol)]"}
    return call("tcgen05.ld.red.sync.aligned.32x32b.x2.max.u32", (columns, found, cells), **more)


def integers(**more: Any) -> Call:
    """A product of integers: sm_100a or sm_110a."""
    target = {"name": "D", "space": "tmem", "dtype": "int32", "shape": [1, 1, 128, 64]}
    left = {"name": "A", "space": "shared", "dtype": "int8", "shape": [1, 1, 128, 32], "align": 128}
    right = {"name": "B", "space": "shared", "dtype": "int8", "shape": [1, 1, 64, 32], "align": 128}
    target["layout"] = "S[(1,1,128,64):(64@TCol,64@TCol,1@TLane,1@TCol)]"
    left["layout"] = "S[(1,1,16,8,2,16):(4096,4096,128,16,2048,1)]"
    right["layout"] = "S[(1,1,8,8,2,16):(2048,2048,128,16,1024,1)]"
    fields: dict[str, Any] = {
        "instruction_shape": [128, 64, 32],
        "accum": False,
        "a_descriptor": [2048, 128, 0],
        "b_descriptor": [1024, 128, 0],
    }
    own: dict[str, Any] = {"scope": "thread", "guard": "elected and warpid == 0", **fields}
    return call("tcgen05.mma.cta_group::1.kind::i8", (target, left, right), **{**own, **more})


def moved(**more: Any) -> Call:
    slots = tuple({"name": name, "space": "register", "dtype": "uint32", "shape": [1]} for name in "DS")
    return call("mov.b32", slots, **{"scope": "thread", **more})


def scaled(**more: Any) -> Call:
    """A product whose result is scaled: sm_100f."""
    return product(0, scale_input_d=1, accum=True, **more)


def shared(*calls: Call) -> Verdict:
    return answer(*calls).shared


FLOORS = {
    "one form": ((alloc(64), free(64)), "sm_100f"),
    "a form of one family": ((integers(), alloc(64)), "sm_100a"),
    "two families, of which one has both": ((integers(), reduced()), "sm_110a"),
    "a later number of one family": ((alloc(64), reduced()), "sm_103f"),
    "a parameter of one family": ((scaled(), commit()), "sm_100f"),
    "a form that every architecture has": ((moved(), moved()), None),
}


@pytest.mark.parametrize("name", FLOORS)
def test_the_floor_of_a_kernel_has_every_call(name: str) -> None:
    calls, floor = FLOORS[name]
    found = shared(*calls)
    assert floor is None or found.arch_floor == floor
    assert found.arch_floor is not None
    assert "arch.opcode" not in {clause.id for clause in found.failing}
    assert all(check(_for(one, found.arch_floor)).failing == () for one in calls)


def _for(one: Call, arch: str) -> Call:
    from dataclasses import replace

    return replace(one, arch=arch)


APART = {
    "no architecture has both": (scaled(), reduced(), integers()),
    "said to be different": (alloc(64, arch="sm_100a"), free(64, arch="sm_110a")),
    "one that the said one lacks": (alloc(64, arch="sm_100a"), reduced()),
    "a family": (alloc(64, arch="sm_100f"), integers()),
}


@pytest.mark.parametrize("name", APART)
def test_calls_that_no_architecture_has_together_are_refuted(name: str) -> None:
    found = shared(*APART[name])
    [clause] = [one for one in found.failing if one.id == "arch.opcode"]
    assert clause.counterexample is not None
    assert clause.counterexample.sentence.count("calls[") >= 2
    assert clause.counterexample.expected
    assert clause.counterexample.actual


def test_one_said_architecture_is_enough() -> None:
    assert "arch.opcode" not in {one.id for one in shared(alloc(64, arch="sm_110a"), reduced(), integers(arch="sm_110a")).failing}


LAUNCHES = ({"block": [256]}, {"block": [64, 2]}, {"block": [128], "cluster": [2]})


@pytest.mark.parametrize("launch", LAUNCHES, ids=["block", "shape", "cluster"])
def test_calls_of_two_launches_are_refuted(launch: dict[str, Any]) -> None:
    [clause] = [one for one in shared(alloc(64), commit(launch=launch)).failing if one.id == "launch.participation"]
    assert clause.counterexample is not None
    assert "calls[1]" in clause.counterexample.sentence
    assert "calls[0]" in clause.counterexample.sentence


def test_extents_of_1_are_no_other_launch() -> None:
    one = {"block": [128, 1, 1], "cluster": [1]}
    assert shared(alloc(64), free(64, launch=one)).status == "proved"


def test_calls_that_share_nothing_are_of_one_launch_as_well() -> None:
    assert [one.id for one in shared(moved(), moved(launch={"block": [64]})).failing] == ["launch.participation"]


def test_a_kernel_is_audited_as_a_program() -> None:
    assert check_kernel(kernel([alloc(64), loaded(0, launch={"block": [256]})]), audit=True).status == "refuted"
