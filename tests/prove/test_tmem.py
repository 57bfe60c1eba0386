"""tcgen05.ld and st: every rule, once where it holds and once where it does not, with the words of the counterexample; prover and brute force agree."""

from __future__ import annotations

from typing import Any

import pytest

from tilecheck.document import read_call
from tilecheck.prove.check import check
from tilecheck.prove.verdict import Verdict

Json = dict[str, Any]
REGISTERS = "S[(4,32,8):(1@wid_in_wg,1@laneid,1)]"
SLABS = "S[(4,32,8):(32@TLane,1@TLane,1@TCol)]"


def registers(shape: list[int], layout: str, **more: Any) -> Json:
    return {"name": "R", "space": "register", "dtype": "uint32", "shape": shape, "layout": layout} | more


def cells(shape: list[int], layout: str, dtype: str = "uint32", name: str = "T", **more: Any) -> Json:
    return {"name": name, "space": "tmem", "dtype": dtype, "shape": shape, "layout": layout, **more}


def document(opcode: str, *operands: Json, scope: str = "warpgroup", block: int = 128, **more: Any) -> Json:
    launch = {"block": [block], "cluster": more.pop("cluster", None)}
    found = {"schema": "tilecheck/call@1", "id": "t", "opcode": f"tcgen05.{opcode}", "scope": scope, "launch": launch}
    return {**found, "symbols": more.pop("symbols", []), "operands": list(operands), "parameters": more.pop("parameters", {}), **more}


def load(layout: str = SLABS, shape: list[int] | None = None, *, of: Json | None = None, into: Json | None = None, **more: Any) -> Json:
    matrix = cells(shape or [4, 32, 8], layout, **(of or {}))
    return document("ld.sync.aligned.32x32b.x8.b32", into or registers([4, 32, 8], REGISTERS), matrix, **more)


def store(layout: str = SLABS, shape: list[int] | None = None, *, of: Json | None = None, **more: Any) -> Json:
    out = more.pop("out", registers([4, 32, 8], REGISTERS))
    return document("st.sync.aligned.32x32b.x8.b32", cells(shape or [4, 32, 8], layout, **(of or {})), out, **more)


def split(
    low: str, high: str, offset: Any, *, opcode: str = "st", count: int = 1, packing: str = "", dtype: str = "uint32", **more: Any
) -> Json:
    """One warp with two regions."""
    shape = [16, count, 2] if packing else [16, count]
    tensor = more.pop("tensor", "T")
    own = {"tensor": tensor} if tensor else {}
    regions = [cells(shape, low, dtype, **own), cells(shape, high, dtype, **own)]
    held = registers([2, 16, count], f"S[(2,16,{count}):(16@laneid,1@laneid,1)]")
    operands = [held, *regions] if opcode == "ld" else [*regions, held]
    given = {"imm_half_splitoff": offset} if offset is not None else {}
    name = f"{opcode}.sync.aligned.16x32bx2.x{count}{packing}.b32"
    return document(name, *operands, scope="warp", block=32, parameters=given, **more)


def warp(layout: str, shape: list[int] | None = None, *, of: Json | None = None, **more: Any) -> Json:
    """One warp of four, or of as many as `block` says."""
    held = registers([32, 8], "S[(32,8):(1@laneid,1)]")
    return document("ld.sync.aligned.32x32b.x8.b32", held, cells(shape or [32, 8], layout, **(of or {})), scope="warp", **more)


def reduction(dtype: str = "float32", result: str = "S[(32):(1@laneid)]", **own: Any) -> Json:
    """One warp of four that loads and compares."""
    held = registers([32, 8], "S[(32,8):(1@laneid,1)]", dtype=dtype, **own)
    one = [{**registers([32], result, dtype=dtype, **own), "name": "M"}] if result else []
    matrix = cells([32, 8], "S[(32,8):(1@TLane,1@TCol)]", dtype)
    return document("ld.red.sync.aligned.32x32b.x8.max.f32", held, *one, matrix, scope="warp", guard="warpid == 0")


PLAIN = "S[(32,8):(1@TLane,1@TCol)]"
N = {"name": "n", "min": 0, "max": 3}
OWN_SLAB: Json = {"view": [{"op": "slice", "begin": ["32 * (warpid % 4)", 0], "extent": [32, None]}]}
EIGHT = registers([8, 32, 8], "S[(8,32,8):(1@warpid,1@laneid,1)]")
TWO = "S[(16,1):(1@TLane,1@TCol)]"
FOUR = "S[(16,1,2):(1@TLane,4@TCol,2@TCol)]"

CASES: dict[str, tuple[Json, str, set[str], set[str]]] = {
    # the lanes of a warp
    "every warp has its own 32 lanes": (load(), "proved", set(), set()),
    "lanes of the next warp": (load(f"{SLABS} + 32@TLane"), "refuted", {"src.partition", "src.footprint", "src.backing"}, set()),
    "the lane field is 0 for all warps": (load("S[(4,32,8):(0@TLane,1@TLane,1@TCol)]"), "refuted", {"src.partition"}, set()),
    "a start inside the slab": (load(f"{SLABS} + 8@TLane"), "refuted", {"src.partition", "src.footprint", "src.backing"}, set()),
    "a warp that a guard selects": (warp(f"{PLAIN} + 96@TLane", guard="warpid == 3"), "proved", set(), set()),
    "a warp that an assumption selects": (warp(f"{PLAIN} + 64@TLane", assume=["warpid >= 2", "warpid < 3"]), "proved", set(), set()),
    "another warp": (warp(f"{PLAIN} + 96@TLane", guard="warpid == 2"), "refuted", {"src.partition"}, set()),
    "a slab of the executing warp": (warp("S[(128,8):(1@TLane,1@TCol)]", [128, 8], of=OWN_SLAB), "proved", set(), set()),
    "a slab of the executing warp, of eight": (warp("S[(128,8):(1@TLane,1@TCol)]", [128, 8], of=OWN_SLAB, block=256), "proved", set(), set()),
    "a slab by the number of the warp": (
        warp("S[(256,8):(1@TLane,1@TCol)]", [256, 8], of={"view": [{"op": "slice", "begin": ["32 * warpid", 0], "extent": [32, None]}]}, block=256),
        "refuted",
        {"src.partition", "src.footprint", "src.backing"},
        set(),
    ),
    "a warp by a symbol": (warp(f"{PLAIN} + 32@TLane", guard="warpid == n", symbols=[N]), "refuted", {"src.partition"}, set()),
    "a slab by the symbol that selects the warp": (
        warp(
            "S[(128,8):(1@TLane,1@TCol)]",
            [128, 8],
            of={"view": [{"op": "slice", "begin": ["32 * n", 0], "extent": [32, None]}]},
            guard="warpid == n",
            symbols=[N],
        ),
        "proved",
        set(),
        set(),
    ),
    "eight warps share four slabs": (
        load("S[(2,4,32,8):(64@TCol,32@TLane,1@TLane,1@TCol)]", [8, 32, 8], into=EIGHT, scope="cta", block=256),
        "proved",
        set(),
        set(),
    ),
    "eight warps in eight slabs": (
        load("S[(8,32,8):(32@TLane,1@TLane,1@TCol)]", [8, 32, 8], into=EIGHT, scope="cta", block=256),
        "refuted",
        {"src.partition", "src.footprint", "src.backing"},
        set(),
    ),
    # footprint and backing
    "the last columns": (load(f"{SLABS} + 504@TCol"), "proved", set(), set()),
    "a column behind the last": (load(f"{SLABS} + 505@TCol"), "refuted", {"src.footprint", "src.backing"}, set()),
    "a column below the first": (load(f"{SLABS} + -1@TCol"), "refuted", {"src.footprint", "src.backing"}, set()),
    "a declared layout that leaves tensor memory": (
        load("S[(4,32,1024):(32@TLane,1@TLane,1@TCol)]", [4, 32, 1024], of={"view": [{"op": "slice", "begin": [0, 0, 0], "extent": [4, 32, 8]}]}),
        "refuted",
        {"src.backing"},
        set(),
    ),
    "an allocation of 32 columns": (load(f"{SLABS} + 24@TCol", of={"size_bytes": 32 * 512}), "proved", set(), set()),
    "behind an allocation of 32 columns": (
        load(f"{SLABS} + 25@TCol", of={"size_bytes": 32 * 512}),
        "refuted",
        {"src.footprint", "src.backing"},
        set(),
    ),
    "an allocation larger than tensor memory": (load(of={"size_bytes": 513 * 512}), "refuted", {"src.backing"}, set()),
    # the map
    "reversed columns": (load("S[(4,32,8):(32@TLane,1@TLane,-1@TCol)] + 7@TCol"), "refuted", {"src.image"}, set()),
    "reversed rows": (load("S[(4,32,8):(32@TLane,-1@TLane,1@TCol)] + 31@TLane"), "refuted", {"src.partition", "src.image"}, set()),
    "columns on the storage axis": (load("S[(4,32,8):(32@TLane,1@TLane,1)]"), "proved", set(), set()),
    "a copy that no load reads": (load(f"{SLABS} + R[2:8@TCol]"), "refuted", {"src.replica"}, set()),
    "two columns apart in one word": (
        load("S[(4,32,16):(32@TLane,1@TLane,1@TCol)]", [4, 32, 16], of={"dtype": "float16", "view": [{"op": "view", "dtype": "uint32"}]}),
        "proved",
        set(),
        set(),
    ),
    "halves that are no word": (
        load("S[(4,32,16):(32@TLane,1@TLane,2@TCol)]", [4, 32, 16], of={"dtype": "float16", "view": [{"op": "view", "dtype": "uint32"}]}),
        "refuted",
        {"src.storage"},
        set(),
    ),
    "halves in the wrong half of a cell": (
        document(
            "ld.sync.aligned.32x32b.x4.pack::16b.b32",
            registers([4, 32, 4], "S[(4,32,4):(1@wid_in_wg,1@laneid,1)]"),
            cells([4, 32, 4, 2], "S[(4,32,4,2):(32@TLane,1@TLane,4@TCol,2@TCol)] + 1@TCol", "float16"),
        ),
        "refuted",
        {"src.image"},
        set(),
    ),
    "packed halves under pack": (
        document(
            "ld.sync.aligned.32x32b.x4.pack::16b.b32",
            registers([4, 32, 4], "S[(4,32,4):(1@wid_in_wg,1@laneid,1)]"),
            cells([4, 32, 4, 2], "S[(4,32,4,2):(32@TLane,1@TLane,2@TCol,1@TCol)]", "float16"),
        ),
        "refuted",
        {"src.image"},
        set(),
    ),
    "a type of another width": (load(of={"dtype": "float16"}), "refuted", {"src.storage"}, set()),
    "raw bits": (load(of={"dtype": "bits32"}), "proved", set(), set()),
    "global memory": (
        document(
            "ld.sync.aligned.32x32b.x8.b32",
            registers([4, 32, 8], REGISTERS),
            {**cells([4, 32, 8], "S[(4,32,8):(256,8,1)]"), "space": "global"},
        ),
        "refuted",
        {"src.storage"},
        set(),
    ),
    "a thread axis": (load("S[(4,32,8):(1@wid_in_wg,1@TLane,1@TCol)]"), "refuted", {"src.owner", "src.partition"}, set()),
    # who executes
    "half a warp": (load(guard="laneid < 16"), "refuted", {"participation"}, set()),
    "a start that differs by lane": (
        load("S[(4,32,64):(32@TLane,1@TLane,1@TCol)]", [4, 32, 64], of={"view": [{"op": "slice", "begin": [0, 0, "laneid"], "extent": [4, 32, 8]}]}),
        "refuted",
        {"participation"},
        set(),
    ),
    "a start by the warp": (
        load("S[(4,32,64):(32@TLane,1@TLane,1@TCol)]", [4, 32, 64], of={"view": [{"op": "slice", "begin": [0, 0, "8 * warpid"], "extent": [4, 32, 8]}]}),
        "proved",
        set(),
        set(),
    ),
    # stores
    "a store": (store(), "proved", set(), set()),
    "two repeats store to one cell": (
        store(
            "S[(4,2,32,8):(32@TLane,4@TCol,1@TLane,1@TCol)]",
            [4, 2, 32, 8],
            out=registers([4, 2, 32, 8], "S[(4,2,32,8):(1@wid_in_wg,8,1@laneid,1)]"),
        ),
        "proved",
        set(),
        {"memory.race"},
    ),
    "two warpgroups store to one cell": (store(block=256), "proved", set(), {"memory.race"}),
    "eight warps store to one cell": (
        store("S[(2,4,32,8):(0@TCol,32@TLane,1@TLane,1@TCol)]", [8, 32, 8], out=EIGHT, scope="cta", block=256),
        "proved",
        set(),
        {"memory.race"},
    ),
    "eight warps store to cells of their own": (
        store("S[(2,4,32,8):(8@TCol,32@TLane,1@TLane,1@TCol)]", [8, 32, 8], out=EIGHT, scope="cta", block=256),
        "proved",
        set(),
        set(),
    ),
    "each CTA has its own tensor memory": (store(cluster=[2]), "proved", set(), set()),
    "a start below column 0": (
        load("S[(4,32,8):(32@TLane,1@TLane,1@TCol)]", [4, 32, 8], of={"view": [{"op": "slice", "begin": [0, 0, -1], "extent": [4, 32, 8]}]}),
        "refuted",
        {"src.bounds"},
        set(),
    ),
    "pred holds nowhere": (load(f"{SLABS} + 505@TCol", parameters={"pred": "1 < 0"}), "refuted", {"src.backing"}, set()),
    "pred holds nowhere, and all lies in tensor memory": (load("S[(4,32,8):(0@TLane,1@TLane,1@TCol)]", parameters={"pred": "1 < 0"}), "proved", set(), set()),
    "pred bounds the start": (
        load(
            "S[(4,32,64):(32@TLane,1@TLane,1@TCol)]",
            [4, 32, 64],
            of={"view": [{"op": "slice", "begin": [0, 0, "8 * n"], "extent": [4, 32, 8]}]},
            symbols=[{"name": "n", "min": 0, "max": 9}],
            parameters={"pred": "n < 8", "preserve_dst": True},
        ),
        "proved",
        set(),
        set(),
    ),
    "pred differs by lane": (store(parameters={"pred": "laneid < 4"}), "refuted", {"participation"}, set()),
    "a store that pred keeps to one warpgroup": (store(block=256, parameters={"pred": "warpid < 4"}), "proved", set(), set()),
    # the least or the greatest
    "a reduction": (reduction(), "proved", set(), set()),
    "a reduction of raw bits": (reduction(dtype="bits32"), "proved", set(), set()),
    "a reduction of another type": (reduction(dtype="int32"), "refuted", {"dst.type", "redval.type", "src.type"}, set()),
    "the result in another lane": (reduction(result="S[(32):(1@laneid)] + 1@laneid"), "refuted", {"redval.owner"}, set()),
    "the result in a register of its own": (reduction(result="S[(32):(1@laneid)] + 8", tensor="R"), "proved", set(), set()),
    "the result in one of the registers": (reduction(result="S[(32):(1@laneid)] + 7", tensor="R"), "refuted", {"redval.distinct"}, set()),
    "no result": (reduction(result=""), "refuted", {"operands"}, set()),
    "a result for each half": (
        document(
            "ld.red.sync.aligned.16x32bx2.x2.min.abs.NaN.f32",
            registers([2, 16, 2], "S[(2,16,2):(16@laneid,1@laneid,1)]", dtype="float32"),
            {**registers([2, 16], "S[(2,16):(16@laneid,1@laneid)]", dtype="float32"), "name": "M"},
            cells([16, 2], "S[(16,2):(1@TLane,1@TCol)]", "float32", tensor="T"),
            cells([16, 2], "S[(16,2):(1@TLane,1@TCol)] + 16@TLane", "float32", tensor="T"),
            scope="warp",
            block=32,
            parameters={"imm_half_splitoff": 1 << 20},
        ),
        "proved",
        set(),
        set(),
    ),
    # two regions
    "two regions side by side": (split(TWO, f"{TWO} + 1@TCol", 1), "proved", set(), set()),
    "two regions below each other": (split(TWO, f"{TWO} + 16@TLane", 16 << 16), "proved", set(), set()),
    "the second region before the first": (split(f"{TWO} + 8@TCol", TWO, -8), "proved", set(), set()),
    "the second region above and behind the first": (split(f"{TWO} + 16@TLane", f"{TWO} + 8@TCol", 8 - (16 << 16)), "proved", set(), set()),
    "one region twice is stored twice": (split(TWO, TWO, 0), "refuted", {"high.distinct"}, set()),
    "one region twice is loaded twice": (split(TWO, TWO, 0, opcode="ld"), "proved", set(), set()),
    "unpacked regions share a cell": (split(FOUR, f"{FOUR} + 2@TCol", 1, packing=".unpack::16b", dtype="float16"), "refuted", {"high.distinct"}, set()),
    "unpacked regions side by side": (split(FOUR, f"{FOUR} + 4@TCol", 2, packing=".unpack::16b", dtype="float16"), "proved", set(), set()),
    "packed regions share a cell": (split(FOUR, f"{FOUR} + 2@TCol", 1, opcode="ld", packing=".pack::16b", dtype="float16"), "proved", set(), set()),
    "the second region is elsewhere": (split(TWO, f"{TWO} + 2@TCol", 1), "refuted", {"high.image"}, set()),
    "rows that no immediate names": (split(TWO, f"{TWO} + 16@TLane", 0, opcode="ld"), "refuted", {"high.image"}, set()),
    "regions of two allocations": (split(TWO, f"{TWO} + 1@TCol", 1, tensor=None), "refuted", {"high.image"}, set()),
    "the immediate is missing": (split(TWO, f"{TWO} + 1@TCol", None), "refuted", {"operands"}, set()),
    "the immediate is an expression": (split(TWO, f"{TWO} + 1@TCol", "n", symbols=[{"name": "n", "min": 1, "max": 1}]), "refuted", {"operands"}, set()),
    "the immediate is too wide": (split(TWO, f"{TWO} + 1@TCol", 1 << 31), "refuted", {"operands"}, set()),
    "the second region in the slab of another warp": (
        split(f"{TWO} + 16@TLane", f"{TWO} + 32@TLane", 16 << 16),
        "refuted",
        {"high.partition"},
        set(),
    ),
    "the second region starts at row 8": (split(TWO, f"{TWO} + 8@TLane + 4@TCol", (8 << 16) + 4), "refuted", {"high.partition"}, set()),
    "the second region of one repeat is the first of the next": (
        document(
            "st.sync.aligned.16x32bx2.x1.b32",
            cells([2, 16, 1], "S[(2,16,1):(1@TCol,1@TLane,1@TCol)]", tensor="T"),
            cells([2, 16, 1], "S[(2,16,1):(1@TCol,1@TLane,1@TCol)] + 1@TCol", tensor="T"),
            registers([2, 2, 16, 1], "S[(2,2,16,1):(1,16@laneid,1@laneid,1)]"),
            scope="warp",
            block=32,
            parameters={"imm_half_splitoff": 1},
        ),
        "proved",
        set(),
        {"memory.race"},
    ),
}  # fmt: skip


def failing(verdict: Verdict) -> set[str]:
    return {clause.id for clause in verdict.failing}


@pytest.mark.parametrize("name", CASES)
def test_it_is_as_the_name_says(name):
    made, status, clauses, hazards = CASES[name]
    verdict = check(read_call(made), audit=True)
    assert (verdict.status, failing(verdict)) == (status, clauses), verdict.summary()
    assert status == "refuted" or {hazard.id for hazard in verdict.hazards} == hazards
    assert verdict.reason is None  # brute force looked at all of it


@pytest.mark.parametrize("name", CASES)
def test_a_second_time_it_is_the_same(name):
    made, status, clauses, hazards = CASES[name]
    for _ in range(2):  # the second time by the express lane, where it may
        verdict = check(read_call(made))
        assert (verdict.status, failing(verdict)) == (status, clauses)
        assert status == "refuted" or {hazard.id for hazard in verdict.hazards} == hazards


def sentence(name: str, clause: str) -> str:
    verdict = check(read_call(CASES[name][0]))
    found = next(c.counterexample for c in verdict.failing if c.id == clause)
    assert found is not None
    return found.sentence


@pytest.mark.parametrize(
    ("name", "clause", "says"),
    [
        (
            "the lane field is 0 for all warps",
            "src.partition",
            "lane 0 of warp 1: src atom [0, 0] is out of reach of the warp: expected a lane from 32 to 63, found lane 0, column 0.",
        ),
        ("the second region starts at row 8", "high.partition", "starts an instruction: expected lane 0 or 16, found lane 8, column 4."),
        ("a column behind the last", "src.footprint", "src atom [0, 7] is not there: expected a place in 128 lanes of 512 columns, found lane 0, column 512."),
        ("reversed columns", "src.image", "src atom [0, 1] is elsewhere in the instruction: expected lane 0, column 8, found lane 0, column 6."),
        ("halves in the wrong half of a cell", "src.image", "expected a multiple of 32 bits, found lane 0, column 0 bit 16."),
        ("one region twice is stored twice", "high.distinct", "shares a cell: expected a cell of its own, found lane 0, column 0, already written as low [0, 0]."),
        (
            "rows that no immediate names",
            "high.image",
            "starts the second region: expected lane 0, column 0 (lane 0, column 0 of low plus imm_half_splitoff 0), found lane 16, column 0.",
        ),
    ],
)  # fmt: skip
def test_a_counterexample_names_warp_coordinates_lanes_and_columns(name, clause, says):
    assert sentence(name, clause).endswith(says)


def test_a_race_names_the_cell():
    (hazard,) = check(read_call(CASES["eight warps store to one cell"][0])).hazards
    assert hazard.sentence.startswith("two accesses store to lane 0, column 0 of T: (")
    assert "warp 0, row 0, column 0) and (" in hazard.sentence
    assert "warp 4, row 0, column 0)" in hazard.sentence
