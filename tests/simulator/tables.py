"""What the Triton compiler computed for tensor memory: which register of which lane an instruction fills, and where rows stand (tests/data/vectors/tmem.json)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.simulator.cute import Numbers

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent.parent / "data" / "vectors" / "tmem.json").read_text(encoding="utf-8"))[
    "vectors"
]
SOURCES = {"32x32b": "32x32b", "16x64b": "16x64b", "16x128b": "16x128b", "16x256b": "16x256b", "16x32bx2": "32x32b"}
"""The variant whose table of 64 rows (16 to a warp), or of 128 (32 to a warp), is one instruction of a shape."""
ROWS = {"32x32b": 32, "16x64b": 16, "16x128b": 16, "16x256b": 16, "16x32bx2": 32}
COLUMNS = {"32x32b": 1, "16x64b": 2, "16x128b": 4, "16x256b": 8, "16x32bx2": 1}
"""Columns of 32 bits in .x1."""
REGISTERS = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}


def vector(op: str, **inputs: Any) -> dict[str, Any]:
    """The layout of the one vector with these inputs."""
    found = [v for v in VECTORS if v["op"] == op and all(v["inputs"].get(key) == value for key, value in inputs.items())]
    assert len(found) == 1, (op, inputs, len(found))
    return found[0]["expect"]["linear_layout"]


def linear(number: Numbers, bases: list[list[int]]) -> Numbers:
    """The exclusive or of the vectors that the set bits of a number choose; the coordinates are the last axis."""
    total = np.zeros((*number.shape, 2), dtype=np.int64)
    for bit, base in enumerate(bases):
        total ^= ((number >> bit) & 1)[..., None] * np.array(base, dtype=np.int64)
    return total


def continued(bases: list[list[int]], bits: int) -> list[list[int]]:
    """So many bases: the tables stop at 128 columns, a basis behind them doubles the one before."""
    found = [list(base) for base in bases[:bits]]
    while len(found) < bits:
        found.append([2 * step for step in found[-1]])
    return found


@cache
def register_image(shape: str, times: int) -> Numbers:
    """[lane, register] -> (row, column) of tcgen05.ld and .st; rows 16..31 of .16x32bx2 are the second access."""
    source, tall = SOURCES[shape], shape == "32x32b"
    wide = vector(
        "tmem_reg", instr_variant=source, block=[128 if tall else 64, 128], shape=[128 if tall else 64, 128], dtype="f32", num_warps=4
    )
    count = REGISTERS[shape] * times
    lanes = [list(base) for base in wide["lane_bases"]]
    if shape == "16x32bx2":
        lanes[4] = [16, 0]  # the table's second access is 64 columns on; an instruction's is where its immediate says
    lane, register = np.arange(32)[:, None], np.arange(count)[None, :]
    return linear(lane, lanes) ^ linear(register, continued(wide["reg_bases"], count.bit_length() - 1))


@cache
def row_lanes(rows: int) -> Numbers:
    """The lane of each row of an accumulator of 64 or 128 rows of one CTA (not .ws)."""
    bases = vector("tmem", block=[rows, 128], shape=[rows, 128], col_stride=1)["rows"]
    lanes = np.zeros(rows, dtype=np.int64)
    for bit, (row, _) in enumerate(bases):
        if row:
            lanes[(np.arange(rows) & row) != 0] |= 1 << bit
    return lanes
