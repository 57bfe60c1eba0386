"""Hazards: legal but suspicious."""

from __future__ import annotations

from typing import Any

import pytest
from calls import call, cut, model, tensor


def store(memory: str, *, space: str = "global", begin: Any = None, repeat: int = 2, opcode: str = "", **more: Any) -> dict[str, Any]:
    """`st.b32` of `repeat` words at thread scope, from `begin` on where it is given."""
    view = () if begin is None else (cut(begin, 0, extent=[repeat, None]),)
    shape = [repeat if begin is None else 64, 1]
    return call(
        opcode or f"st.{space}.b32",
        tensor("A", space, "float32", shape, memory, *view),
        tensor("R", "register", "float32", [repeat, 1], f"S[({repeat},1):(1,1)]"),
        **{"block": [1], **more},
    )


N = {"name": "n", "min": 0, "max": 3}


@pytest.mark.parametrize(
    ("subject", "race"),
    [
        (store("S[(2,1):(1,1)]"), False),
        (store("S[(2,1):(0,1)]"), True),
        (store("S[(2,1):(1,1)]", block=[2]), True),
        (store("S[(2,1):(1,1)]", block=[2], guard="laneid == 1"), False),
        (store("S[(2,1):(1,1)]", block=[2], parameters={"pred": "laneid == 1"}), False),
        (store("S[(2,1):(1,1)]", space="local", block=[2]), False),
        (store("S[(2,1):(1,1)]", space="shared", cluster=[2, 1, 1]), False),
        (store("S[(2,1):(1,1)]", space="global", cluster=[2, 1, 1]), True),
        (store("S[(64,1):(1,1)]", begin="2 * laneid", block=[32]), False),
        (store("S[(64,1):(1,1)]", begin="laneid", block=[32]), True),
        (store("S[(64,1):(1,1)]", begin="2 * n", symbols=[N]), False),
        (store("S[(64,1):(1,1)]", begin="2 * n + 8 * laneid", block=[2], symbols=[{**N, "varies": "thread"}]), False),
        (store("S[(64,1):(1,1)]", begin="2 * n + 6 * laneid", block=[2], symbols=[{**N, "varies": "thread"}]), True),
        (store("S[(64,1):(1,1)]", begin="2 * n + 6 * laneid", block=[2], symbols=[{**N, "varies": "warp"}]), False),
        (store("S[(64,1):(1,1)]", begin="2 * n", cluster=[2, 1, 1], symbols=[{**N, "varies": "cta"}]), True),
        (store("S[(64,1):(1,1)]", begin="2 * n + 8 * cbx", cluster=[2, 1, 1], symbols=[{**N, "varies": "cta"}]), False),
        (store("S[(64,1):(1,1)]", begin="8 * (laneid // 2)", block=[4], guard="elected"), False),
    ],
)
def test_two_stores_to_one_byte_are_a_race(subject: dict[str, Any], race: bool):
    answer = model(subject).check()
    assert answer.status == "proved"
    assert answer.hazards == ({"memory.race"} if race else set())


def test_rows_of_stmatrix_that_overlap_are_a_race():
    def stmatrix(rows: int) -> dict[str, Any]:
        memory = tensor("SM", "shared", "uint32", [1, 8, 4], f"S[(1,8,4):(0,{rows},1)]", align=16)
        registers = tensor("R", "register", "uint32", [1, 8, 4], "S[(1,8,4):(1,4@laneid,1@laneid)]")
        return call("stmatrix.sync.aligned.m8n8.x1.shared.b16", memory, registers, scope="warp")

    assert model(stmatrix(4)).check().hazards == set()
    assert model(stmatrix(0)).check().hazards == {"memory.race"}


def test_loads_race_with_nobody():
    subject = call("ld.global.b32", tensor("R", "register", "float32", [1], "S[1:1]"), tensor("A", "global", "float32", [1], "S[1:1]"))
    assert model(subject).check().hazards == set()


def test_a_destination_that_overlaps_its_source_is_an_alias():
    """No instruction of today has two memory operands; a made-up contract shows that the hazard is seen."""
    from tilecheck.evaluate import Model

    operand = {
        "kind": "memory",
        "bits": 32,
        "dtypes": None,
        "space": "shared",
        "row": ["word"],
        "align_bytes": 4,
        "provider": None,
        "surplus": None,
    }
    contract = {
        "opcode": "copy",
        "collective": "thread",
        "atom": [["word", 2]],
        "parameters": [],
        "operands": [{**operand, "name": "dst", "write": True}, {**operand, "name": "src", "write": False}],
        "move": {"dst": "dst", "src": "src", "parts": [], "source": ["word"]},
    }

    def copy(begin: int, **named: str) -> Model:
        whole = tensor("X", "shared", "float32", [8], "S[8:1]", cut(0, extent=[2]), **named)
        return Model(contract, call("copy", whole, {**whole, "view": [cut(begin, extent=[2])]}, block=[1]))

    assert copy(1, tensor="buffer").check().hazards == {"alias"}
    assert copy(2, tensor="buffer").check().hazards == set()
    assert copy(1).check().hazards == set()
    assert copy(1).predict({}).memory[0] == ["X", 0, "X#2", 4]
