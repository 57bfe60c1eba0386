"""Random register layouts of mma operands: the prover and the evaluator's brute force say the same, clause by clause, at the same points."""

from __future__ import annotations

import random

import pytest
from known_cases import disagreements

from tests.gpu.mma_forms import mma_document
from tilecheck.document import read_call
from tilecheck.prove.check import check

SEED = 20261
OPCODES = (
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32",
    "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16",
    "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32",
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
)
ROUNDS = 12


def disturbed(layout: str, rng: random.Random) -> str:
    """A layout with some strides exchanged, zeroed or changed, factors of two joined or an offset added."""
    inside, strides = layout[3:].split("):(")
    extents, steps = inside.split(","), strides.rstrip(")]").split(",")
    for _ in range(rng.choice((0, 1, 1, 2))):
        a, b = rng.randrange(len(steps)), rng.randrange(len(steps))
        kind = rng.random()
        if kind < 0.5:
            steps[a], steps[b] = steps[b], steps[a]
        elif kind < 0.7:
            steps[a] = rng.choice(("0", "1", "2", "3", "4", "8", "1@laneid", "2@laneid", "16@laneid"))
        elif kind < 0.8:
            steps[a] = steps[b]
    tail = rng.choice(("", "", "", " + 1", " + 1@laneid", " + R[2:8]", " + R[2:1@laneid]"))
    return f"S[({','.join(extents)}):({','.join(steps)})]{tail}"


@pytest.mark.parametrize("opcode", OPCODES)
def test_prover_and_evaluator_agree_on_random_layouts(opcode):
    rng = random.Random(f"{SEED}-{opcode}")
    seen = set()
    for _ in range(ROUNDS):
        document = mma_document(opcode, {"m": rng.choice((1, 2)), "k": rng.choice((1, 2))}, launch={"block": [32]})
        for operand in document["operands"]:
            operand["layout"] = disturbed(operand["layout"], rng)
        if rng.random() < 0.4:
            for operand in rng.sample(document["operands"], 2):
                operand["tensor"] = "X"
        call = read_call(document)
        verdict = check(call)
        seen.add(verdict.status)
        assert disagreements(call, verdict, 2_000_000) == [], document
    assert seen >= {"refuted"}
