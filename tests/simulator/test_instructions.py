"""One instruction at a time on memory filled at random: the hardware's image is what the views say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.simulator.configurations import GEMMS, MASK
from tests.simulator.documents import Document
from tests.simulator.forms import copies, transfer, transfers
from tests.simulator.judge import judged
from tests.simulator.machine import Machine
from tests.simulator.programs import Gemm, build
from tests.simulator.run import carry_out

CASES = [json.loads(line) for line in (Path(__file__).parent.parent / "data" / "rules.jsonl").read_text(encoding="utf-8").splitlines()]
TENSOR = [case for case in CASES if "tcgen05" in case["call"]["opcode"]]
UNSEEN = {
    "tld-loop-col-oob": "only the last step of the loop leaves tensor memory",
    "cp-4x256b-4row-backing": "the walk does not touch the rows that the block must have",
    "cp-swz128-align": "half a period on, the XOR of all addresses differs by one bit, also that of the start",
    "mma5-align": "the same",
    "mma5-N-24": "sources disagree whether M 128 takes it",
}
"""Refuted cases whose image is right all the same."""


@pytest.mark.parametrize("kind", ["ld", "st"])
def test_every_transfer_moves_what_its_views_say(kind: str):
    for call in transfers(kind):
        assert judged(call, {}) == "", call["id"]


def test_every_copy_moves_what_its_views_say():
    for call in copies():
        assert judged(call, {}) == "", call["id"]


@pytest.mark.parametrize("case", TENSOR, ids=lambda case: case["id"])
def test_cases_come_out_as_expected(case: dict[str, Any]):
    """What is proved moves what its views say; what is refuted does not, or cannot be carried out."""
    symbols = {symbol["name"]: min(3, symbol["max"]) for symbol in case["call"]["symbols"]}
    right = judged(case["call"], symbols) == ""
    assert right == (case["expect"] == "proved" or case["id"] in UNSEEN)


def test_what_is_stored_is_loaded_again():
    """By every shape, into registers of another instance of the same file."""
    for store, load in zip(transfers("st"), transfers("ld"), strict=True):
        source, target = Document(store), Document(load)
        machine = Machine(1, 3)
        machine.allocate([source, target])
        before = machine.registers["R"].copy()
        carry_out(machine, source, {})
        machine.registers["R"][:] = 0
        carry_out(machine, target, {})
        used = target.operands[0].span
        assert np.array_equal(machine.registers["R"][:, :128, :used], before[:, :128, :used]), store["id"]


def test_a_warp_cannot_reach_the_lanes_of_another():
    call = transfer("ld", "32x32b", 4)
    call["operands"][1]["layout"] = call["operands"][1]["layout"].replace("32@TLane", "0@TLane", 1)
    assert judged(call, {}).startswith("fault")


@pytest.mark.parametrize("gemm", GEMMS, ids=lambda gemm: gemm.name)
def test_products_are_numpys(gemm: Gemm):
    program = build(gemm)
    assert np.array_equal(program.result(), program.product)


@pytest.mark.parametrize("gemm", GEMMS, ids=lambda gemm: gemm.name)
def test_each_call_of_a_product_does_what_its_views_say(gemm: Gemm):
    for name, call in build(gemm).documents.items():
        assert judged(call, {symbol["name"]: symbol["max"] for symbol in call["symbols"]}) == "", name


@pytest.mark.parametrize("name", ["f16, 128B", "f16 into f16, M 64, negated", "pair, M 128"])
def test_masked_lanes_keep_what_they_held(name: str):
    gemm = next(gemm for gemm in GEMMS if gemm.name == name)
    call = build(gemm).documents["mma next"]
    free = judged(call, {"stage": 1})
    call["parameters"]["disable_output_lane"] = [*MASK, *MASK[::-1]][: 4 * gemm.group]
    assert (free, judged(call, {"stage": 1})) == ("", "")
