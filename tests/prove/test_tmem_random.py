"""Random views of tensor memory: every tier, SMT alone and the evaluator's brute force say the same of tcgen05.ld, ld.red and st."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_campaign import judged

from tilecheck.contracts.tmem import SHAPES, SPLIT

Json = dict[str, Any]
HELD = {
    "32x32b": ((32, "N"), "(32,{n}):(1@laneid,{r})"),
    "16x64b": ((16, "2N"), "(2,8,{n},2):(1@laneid,4@laneid,{r},2@laneid)"),
    "16x128b": ((16, "4N"), "(2,8,{n},4):({r},4@laneid,{r2},1@laneid)"),
    "16x256b": ((16, "8N"), "(2,8,{n},4,2):({r2},4@laneid,{r4},1@laneid,{r})"),
    SPLIT: ((2, 16, "N"), "(2,16,{n}):(16@laneid,1@laneid,{r})"),
}
"""For each shape its register suffix and layout; r: the stride between registers."""
FOUND: Counter[str] = Counter()


def registers(shape: str, count: int, group: list[tuple[int, str]], repeats: int, step: int) -> Json:
    suffix, inner = HELD[shape]
    extents = [int(e) if isinstance(e, int) else count * int(e.removesuffix("N") or 1) for e in suffix]
    names = {"n": count, "r": step, "r2": 2 * step, "r4": 4 * step}
    own, strides = inner.format(**names).split("):(")
    each = 128 * step
    front = [(extent, f"1@{axis}") for extent, axis in group] + ([(repeats, str(each))] if repeats else [])
    shards = ",".join([*(str(e) for e, _ in front), own[1:]])
    steps = ",".join([*(s for _, s in front), strides[:-1]])
    return {
        "name": "R",
        "space": "register",
        "dtype": "uint32",
        "shape": [*(e for e, _ in front), *extents],
        "layout": f"S[({shards}):({steps})]",
    }


@st.composite
def documents(draw: st.DrawFn) -> Json:
    """A call that is often legal: then one thing or two are off."""
    shape = draw(st.sampled_from(list(SHAPES)))
    split, load = shape == SPLIT, draw(st.booleans())
    packed = draw(st.booleans())
    count = draw(st.sampled_from([1, 2, 4]))
    red = load and not packed and shape in {"32x32b", SPLIT} and count > 1 and draw(st.integers(0, 3)) == 0
    scope, block, guard = draw(
        st.sampled_from([("warp", 32, None), ("warp", 128, "warpid == 2"), ("warp", 128, "warpid < 2"), ("warpgroup", 128, None), ("warpgroup", 256, None), ("cta", 64, None), ("cta", 256, None), ("cta", 128, "warpid >= 2")])
    )  # fmt: skip
    off = draw(st.sets(st.sampled_from([2, 3, *range(12)]), max_size=draw(st.sampled_from([0, 0, 1, 1, 2]))))
    rows, wide, _ = SHAPES[shape]
    columns = wide * count
    unit, bits = (4, 16) if packed else (1, 32)
    warps = {"warp": 1, "warpgroup": 4, "cta": block // 32 if guard is None else 2}[scope]
    group = [] if scope == "warp" else [(warps, "wid_in_wg" if scope == "warpgroup" else "warpid")]
    repeats = draw(st.sampled_from([0, 0, 2]))
    first = 64 if guard in {"warpid == 2", "warpid >= 2"} else 0
    half = draw(st.sampled_from([0, 16])) if rows == 16 else 0
    lane = first + half + (draw(st.sampled_from([-32, -8, 1, 8, 16, 32])) if 0 in off else 0)
    start = draw(st.sampled_from([0, 3, 64, 500 if not split else 300])) + (draw(st.sampled_from([-70, 200])) if 1 in off else 0)
    stride = unit * (2 if 2 in off else 1)
    down = draw(st.sampled_from([0, 2, -1])) if 3 in off else 1
    slabs = draw(st.sampled_from([0, 16, 64])) if 4 in off else 32
    pitch = columns if 5 not in off else draw(st.sampled_from([0, 1, columns + 3]))
    symbol = draw(st.sampled_from([None, None, "n", "n % 3", "2 * n + 1", "min(n, 2)"]))
    room = columns if symbol is None else 8 * columns
    factors: list[tuple[int, str]] = []
    if group:
        factors = [(warps // 4, f"{unit * columns}@TCol"), (4, f"{slabs}@TLane")] if warps > 4 else [(warps, f"{slabs}@TLane")]
    tail = [(repeats, f"{unit * pitch}@TCol")] if repeats else []
    inner = [(rows, f"{down}@TLane"), (room, f"{stride}@TCol"), *([(2, "2@TCol")] if packed else [])]

    laned = draw(st.sampled_from([f"32 * (warpid % 4) + {half}", f"{first + half}", "32 * warpid", "16 * warpid", "8 * (warpid % 4)"]))
    laned = laned if scope == "warp" and not repeats and not split and draw(st.booleans()) else ""
    if laned:
        inner[0], lane = (128, "1@TLane"), 0

    def matrix(lane: int, start: int, name: str) -> Json:
        every = [*factors, *tail, *inner]
        offset = f" + {lane}@TLane + {start * unit // (2 if packed else 1) if packed else start}@TCol"
        copies = " + R[2:32@TLane]" if 6 in off else ""
        layout = f"S[({','.join(str(e) for e, _ in every)}):({','.join(s for _, s in every)})]{copies}{offset}"
        extents = [*(e for e, _ in group), *(e for e, _ in tail), 128 if laned else rows, room, *([2] if packed else [])]
        found: Json = {"name": name, "space": "tmem", "dtype": "float16" if packed else "uint32", "shape": extents, "layout": layout}
        if split:
            found["tensor"] = "T"
        if 7 in off:
            found["size_bytes"] = draw(st.sampled_from([512 * 64, 512 * 512, 512 * 600, 1000]))
        if symbol is not None or laned:
            at = len(extents) - (2 if packed else 1)
            begin: list[Any] = [0] * at + [symbol or 0] + ([0] if packed else [])
            kept: list[int | None] = [None] * len(begin)
            kept[at] = columns
            if laned:
                begin[at - 1], kept[at - 1] = laned, rows
            found["view"] = [{"op": "slice", "begin": begin, "extent": kept}]
        return found

    held = registers(shape, count, group, repeats, draw(st.sampled_from([1, 1, 2, 0 if 8 in off else 1])))
    if 9 in off:
        held["layout"] = held["layout"].replace("1@laneid", "2@laneid", 1)
    parameters: Json = {}
    regions = [matrix(lane, start, "T")]
    if split:
        down_by, right = draw(st.sampled_from([(16 - 2 * half, 0), (0, 2 * columns + 1), (16 - 2 * half, 7), (0, 0), (0, 1)]))
        regions.append(matrix(lane + down_by, start + right, "T2"))
        bytes_ = right * unit // (2 if packed else 1) * bits // 32 if packed else right
        parameters["imm_half_splitoff"] = (down_by << 16) + (bytes_ if 10 not in off else bytes_ + 1)
    if 11 in off:
        parameters["pred"] = draw(st.sampled_from(["laneid < 40", "warpid < 1", "1 < 0"]))
    operands = [held, *regions] if load else [*regions, held]
    name = f"tcgen05.{'ld' if load else 'st'}{'.red' if red else ''}.sync.aligned.{shape}.x{count}"
    if red:
        outer = [int(e) for e in held["shape"]][: len(group) + bool(repeats)]
        lanes = "2,16" if split else "32"
        steps = "16@laneid,1@laneid" if split else "1@laneid"
        front = ",".join([*(f"1@{axis}" for _, axis in group), *(["1"] if repeats else [])])
        extents = ",".join(map(str, outer))
        layout = f"S[({extents}{',' if outer else ''}{lanes}):({front}{',' if front else ''}{steps})]"
        operands.insert(
            1, {"name": "M", "space": "register", "dtype": "uint32", "shape": [*outer, *([2, 16] if split else [32])], "layout": layout}
        )
        name += ".max.u32"
    else:
        name += (f".{'' if load else 'un'}pack::16b" if packed else "") + ".b32"
    symbols = [] if symbol is None else [{"name": "n", "min": draw(st.sampled_from([0, 0, -1])), "max": draw(st.integers(1, 4))}]
    return {
        "schema": "tilecheck/call@1",
        "id": "t",
        "opcode": name,
        "scope": scope,
        "launch": {"block": [block], "cluster": None},
        "symbols": symbols,
        "operands": operands,
        "parameters": parameters,
        **({} if guard is None else {"guard": guard}),
    }


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None)
@given(documents(), st.integers(0, 4))
def test_every_tier_and_brute_force_say_the_same(document: Json, alone: int) -> None:
    sample = judged(document, alone=alone == 0)
    FOUND[sample.status] += 1
    FOUND.update(clause.rpartition(".")[2] for clause in sample.failing)
    assert not sample.problems, f"{sample.problems}: {json.dumps(document)}"


def test_many_were_proved_and_many_refuted() -> None:
    if not FOUND:
        test_every_tier_and_brute_force_say_the_same()
    assert FOUND["proved"] >= 10, FOUND
    assert FOUND["refuted"] >= 10, FOUND
    assert len({"partition", "image", "footprint", "bounds"} & set(FOUND)) >= 3, FOUND
