"""Seeded call documents for the benchmarks: of each kind as many as are asked for, no two with a common operand, all legal unless damaged.

A kind is one case of the table of benchmarks.md; what it says (shapes of the example, swizzle, form of the start) stays, everything else
varies: sizes, strides, padding, slots, starts, names, dtypes, alignment, blocks. Sizes are in elements, alignments in bytes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Document = dict[str, Any]
WORDS = ("float32", "int32", "uint32")
HALVES = ("float16", "bfloat16")
INDEX = ("int32", "uint32", "int64")


@dataclass(frozen=True)
class Kind:
    """One case: its name, what it is in words, and how a document is drawn.

    times: how many times faster than the peer it should be, 0 for no such goal of its own. peer_most: documents that the peer gets at most, 0 for no limit.
    mixed: whether it is one of the kinds of the stream. warm_ms: what a check may take; json_ms: with reading its JSON, 0 for no such goal.
    """

    name: str
    title: str
    draw: Callable[[random.Random], Document]
    times: int = 0
    peer_most: int = 0
    mixed: bool = True
    warm_ms: float = 0.5
    json_ms: float = 1.0


def packed_strides(rng: random.Random, extents: Sequence[int], unit: int, pads: Sequence[int]) -> list[int]:
    """Strides without overlap: the axes in a random order, each padded; all multiples of `unit`."""
    found, running = [0] * len(extents), unit
    for axis in rng.sample(range(len(extents)), len(extents)):
        found[axis] = running
        running = running * extents[axis] + unit * rng.choice(pads)
    return found


def layout(extents: Sequence[int], strides: Sequence[int | str], offset: int = 0) -> str:
    text = f"S[({','.join(map(str, extents))}):({','.join(map(str, strides))})]"
    return f"{text} + {offset}" if offset else text


def call(
    opcode: str, scope: str, threads: int, registers: Document, memory: Document, *symbols: Document, index: str = "int32"
) -> Document:
    return {
        "schema": "tilecheck/call@1",
        "opcode": opcode,
        "scope": scope,
        "launch": {"block": [threads], "cluster": None},
        "index_dtype": index,
        "symbols": list(symbols),
        "operands": [registers, memory],
        "parameters": {},
    }


def warps(rng: random.Random) -> int:
    """The threads of a block of one to eight warps."""
    return 32 * rng.randint(1, 8)


# --- ld ---------------------------------------------------------------------------------------------------------------


def ld_thread(rng: random.Random) -> Document:
    """About a hundred vector loads of one thread: A[i, b, j, d] as (j, i, word), the word running over b and d."""
    i, j = rng.randint(12, 18), rng.randint(5, 9)
    outer, word = rng.choice(("j i", "i j")), rng.choice(("(d b)", "(b d)"))
    b, d = (1, 2) if word == "(d b)" else (2, 1)
    steps = [{"op": "rearrange", "pattern": f"i b j d -> {outer} {word}"}]
    rows = packed_strides(rng, (i, j), 4, range(5))
    gap = rng.randint(1, 4)
    slots = packed_strides(rng, (i, j), 4 * gap, range(3))
    shape, dtype = [i, 2, j, 2], rng.choice(WORDS)

    def tensor(name: str, space: str, outer_strides: list[int], scale: int) -> Document:
        strides = (outer_strides[0], b * scale, outer_strides[1], d * scale)
        return {"name": name, "space": space, "dtype": dtype, "shape": shape, "layout": layout(shape, strides), "view": steps}

    memory = tensor("A", "global", rows, 1) | {"align": rng.choice((16, 32, 64, 128, 256))}
    return call("ld.global.v4.b32", "thread", warps(rng), tensor("R", "register", slots, gap), memory, index=rng.choice(INDEX))


def ld_cta(rng: random.Random) -> Document:
    """A few vector loads of every thread of a CTA."""
    count = rng.randint(2, 8)
    shape, dtype = [count, 32, rng.randint(2, 6), 4], rng.choice(WORDS)
    slots = packed_strides(rng, shape[2:], rng.randint(1, 4), range(4))
    rows = packed_strides(rng, shape[:3], 4, range(5))
    registers = {
        "name": "R",
        "space": "register",
        "dtype": dtype,
        "shape": shape,
        "layout": layout(shape, ("1@warpid", "1@laneid", *slots)),
    }
    memory = {"name": "A", "space": "global", "dtype": dtype, "shape": shape, "layout": layout(shape, (*rows, 1))}
    memory["align"] = rng.choice((16, 32, 64, 128, 256))
    return call("ld.global.v4.b32", "cta", 32 * count, registers, memory, index=rng.choice(INDEX))


# --- ldmatrix ---------------------------------------------------------------------------------------------------------


def ldmatrix_x2(rng: random.Random) -> Document:
    """Even and odd rows (or upper and lower ones) of 16 rows in any order, as two matrices for each k."""
    k, dtype = rng.randint(2, 5), rng.choice(WORDS)
    rows = packed_strides(rng, (16, k), 4, range(16))
    slots = packed_strides(rng, (k, 2), rng.randint(1, 4), range(4))
    shape = [k, 2, 8, 4]
    own = layout(shape, (*slots, "4@laneid", "1@laneid"), rng.randint(0, 63))
    registers = {"name": "R", "space": "register", "dtype": dtype, "shape": shape, "layout": own}
    memory = {
        "name": "SM",
        "space": "shared",
        "dtype": dtype,
        "shape": [16, 4, k],
        "layout": layout((16, 4, k), (rows[0], 1, rows[1])),
        "align": rng.choice((16, 32, 64, 128)),
        "view": [{"op": "rearrange", "pattern": f"{rng.choice(('(r m)', '(m r)'))} w k -> k m r w", "sizes": {"r": 8, "m": 2}}],
    }
    return call("ldmatrix.sync.aligned.m8n8.x2.shared.b16", "warp", warps(rng), registers, memory, index=rng.choice(INDEX))


def fragments(rng: random.Random, outer: int) -> Document:
    """Registers of four matrices behind `outer` axes of extent 1."""
    ones = [1] * outer
    slots = packed_strides(rng, (2, 2), rng.randint(1, 8), range(6))
    return {
        "name": "R",
        "space": "register",
        "dtype": rng.choice(WORDS),
        "shape": [*ones, 4, 8, 4],
        "layout": layout((*ones, 2, 2, 8, 4), (*ones, *slots, "4@laneid", "1@laneid"), rng.randint(0, 63)),
    }


def tiles(rng: random.Random, count: int) -> Document:
    """So many 64x64 tiles of 16-bit elements, each swizzled by 128 bytes, some periods apart."""
    pitch = 4096 + 512 * rng.randint(0, 8)
    return {
        "name": "SM",
        "space": "shared",
        "dtype": rng.choice(HALVES),
        "shape": [count, 64, 64],
        "layout": "Swizzle(3,3,3) o " + layout((count, 64, 64), (pitch, 64, 1)),
        "align": rng.choice((1024, 2048, 4096)),
    }


def quarters(rng: random.Random, count: int, begin: Sequence[int | str]) -> Document:
    """A 16 by 16 block of a tile as four matrices; begin: tile, block row, block column (in blocks)."""
    order = rng.choice(("(n m)", "(m n)"))
    pattern = {
        "op": "rearrange",
        "pattern": f"t (a m r) (b n w) -> t a b {order} r w",
        "sizes": {"a": 4, "m": 2, "r": 8, "b": 4, "n": 2, "w": 4},
    }
    cut = {"op": "slice", "begin": [*begin, 0, 0, 0], "extent": [1, 1, 1, None, None, None]}
    return tiles(rng, count) | {"view": [{"op": "view", "dtype": "uint32"}, pattern, cut]}


X4 = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"


def x4_static(rng: random.Random) -> Document:
    count = rng.randint(1, 8)
    memory = quarters(rng, count, (rng.randrange(count), rng.randrange(4), rng.randrange(4)))
    return call(X4, "warp", warps(rng), fragments(rng, 3), memory, index=rng.choice(INDEX))


def x4_loops(rng: random.Random) -> Document:
    count, (i, j) = rng.randint(1, 8), names(rng, 2)
    begin = rng.choice(((i, j), (j, i)))
    memory = quarters(rng, count, (rng.randrange(count), *begin))
    loops = [{"name": name, "min": 0, "max": 3} for name in (i, j)]
    return call(X4, "warp", warps(rng), fragments(rng, 3), memory, *loops)


def x4_start(rng: random.Random) -> Document:
    """Eight rows from `(n%8)*8`, n any number; the four matrices lie side by side in half a row."""
    count, (n,) = rng.randint(1, 8), names(rng, 1)
    pattern = {"op": "rearrange", "pattern": "t r (k m w) -> t k m r w", "sizes": {"k": 2, "m": 4, "w": 4}}
    begin = [rng.randrange(count), rng.randrange(2), 0, f"({n}%8)*8", 0]
    cut = {"op": "slice", "begin": begin, "extent": [1, 1, None, 8, None]}
    memory = tiles(rng, count) | {"view": [{"op": "view", "dtype": "uint32"}, pattern, cut]}
    return call(X4, "warp", warps(rng), fragments(rng, 2), memory, {"name": n})


def x4_ring(rng: random.Random) -> Document:
    """Stage `i % 4` of a ring of four tiles, i counting on without end."""
    (i,) = names(rng, 1)
    memory = quarters(rng, 4, (f"{i} % 4", rng.randrange(4), rng.randrange(4)))
    return call(X4, "warp", warps(rng), fragments(rng, 3), memory, {"name": i, "min": 0})


def names(rng: random.Random, count: int) -> list[str]:
    """Names of symbols, so that no start is written twice."""
    return [f"{letter}{rng.randrange(100_000)}" for letter in rng.sample("nijkst", count)]


# --- tensor copies ----------------------------------------------------------------------------------------------------

BOX = "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes"


def box(rng: random.Random, rows: int, count: int, stage: int | str, row: int | str, *symbols: Document) -> Document:
    """One thread loads a box of so many rows of 64 halves from a padded tensor into one of `count` swizzled tiles, some periods apart."""
    pitch, dtype = 64 * rows + 512 * rng.randint(0, 15), rng.choice(HALVES)
    height, width = 8 * rng.randint(rows // 2, 8 * rows), 64 * rng.randint(1, 64)
    image = {
        "name": "SM",
        "space": "shared",
        "dtype": dtype,
        "shape": [count, rows, 64],
        "layout": "Swizzle(3,3,3) o " + layout((count, rows, 64), (pitch, 64, 1)),
        "align": rng.choice((1024, 2048, 4096)),
        "view": [{"op": "slice", "begin": [stage, 0, 0], "extent": [1, None, None]}],
    }
    tensor = {"name": "A", "space": "global", "dtype": dtype, "shape": [height, width], "align": rng.choice((16, 32, 64, 128, 256))}
    tensor["layout"] = layout((height, width), (width + 8 * rng.randint(0, 15), 1))
    found = call(BOX, "thread", 32, image, tensor, *symbols)
    fields = {"box": [rows, 64], "coords": [row, 8 * rng.randrange(width // 8)], "coord_steps": [[0, 0]], "swizzle": 3, "mbar": "shared"}
    return {**found, "guard": "laneid == 0", "parameters": fields}


def box_64(rng: random.Random) -> Document:
    count = rng.randint(1, 8)
    return box(rng, 64, count, rng.randrange(count), rng.randrange(512))


def box_256(rng: random.Random) -> Document:
    count = rng.randint(1, 4)
    return box(rng, 256, count, rng.randrange(count), rng.randrange(2048))


def box_loop(rng: random.Random) -> Document:
    """Four stages, one after the other."""
    (i,) = names(rng, 1)
    return box(rng, 128, 4, i, f"128 * {i}", {"name": i, "min": 0, "max": 3})


def box_ring(rng: random.Random) -> Document:
    """Stage `i % 4` of a ring of four tiles, i counting on without end."""
    (i,) = names(rng, 1)
    return box(rng, 128, 4, f"{i} % 4", f"{i} % 16 * 128", {"name": i, "min": 0})


# --- tensor memory ----------------------------------------------------------------------------------------------------

MMA = "tcgen05.mma.cta_group::1.kind::f16"


def product(rng: random.Random, steps: int, stages: int, stage: int | str, *symbols: Document) -> Document:
    """One thread multiplies 128 x 16 by 16 x 256, `steps` times along K, out of one of `stages` 128B-swizzled tiles, some periods apart."""
    dtype, column = rng.choice(HALVES), rng.randint(0, 256)
    d = {
        "name": f"D{rng.randrange(10_000)}",
        "space": "tmem",
        "dtype": "float32",
        "shape": [1, 1, 128, 256],
        "layout": layout((1, 1, 128, 256), ("256@TCol", "256@TCol", "1@TLane", "1@TCol")) + (f" + {column}@TCol" if column else ""),
    }

    def tile(name: str, rows: int) -> Document:
        pitch = 64 * rows + 512 * rng.randint(0, 15)
        return {
            "name": f"{name}{rng.randrange(10_000)}",
            "space": "shared",
            "dtype": dtype,
            "shape": [stages, steps, rows, 16],
            "layout": "Swizzle(3,3,3) o " + layout((stages, steps, rows, 16), (pitch, 16, 64, 1)),
            "align": rng.choice((1024, 2048, 4096)),
            "view": [{"op": "slice", "begin": [stage, 0, 0, 0], "extent": [1, None, None, None]}],
        }

    found = {**call(MMA, "thread", 128, d, {}, *symbols), "operands": [d, tile("A", 128), tile("B", 256)], "guard": "tx == 0"}
    fields = {"instruction_shape": [128, 256, 16], "a_descriptor": [16, 1024, 3], "b_descriptor": [16, 1024, 3], "accum": False}
    return {**found, "parameters": fields}


def mma_one(rng: random.Random) -> Document:
    return product(rng, 1, 1, 0)


def mma_steps(rng: random.Random) -> Document:
    """Four steps along K in the lines of one tile."""
    return product(rng, 4, 1, 0)


def mma_loop(rng: random.Random) -> Document:
    """The same out of four stages, one after the other."""
    (i,) = names(rng, 1)
    return product(rng, 4, 4, i, {"name": i, "min": 0, "max": 3})


def tmem_load(rng: random.Random) -> Document:
    """A warpgroup loads 128 lanes of 64 columns; slots side by side or apart."""
    slot, column = rng.randint(1, 3), rng.randrange(449)
    registers = {
        "name": f"R{rng.randrange(10_000)}",
        "space": "register",
        "dtype": "float32",
        "shape": [4, 32, 64],
        "layout": layout((4, 32, 64), ("1@wid_in_wg", "1@laneid", slot), rng.randint(0, 7)),
    }
    cells = {
        "name": f"T{rng.randrange(10_000)}",
        "space": "tmem",
        "dtype": "float32",
        "shape": [4, 32, 64],
        "layout": layout((4, 32, 64), ("32@TLane", "1@TLane", "1@TCol")) + (f" + {column}@TCol" if column else ""),
    }
    return call("tcgen05.ld.sync.aligned.32x32b.x64.b32", "warpgroup", 128, registers, cells)


KINDS = (
    Kind("ld-thread", "ld.global.v4.b32, about 105 loads of a thread (SPEC)", ld_thread),
    Kind("ld-cta", "ld.global.v4.b32, every thread of a CTA (SPEC)", ld_cta),
    Kind("ldmatrix-x2", "ldmatrix.x2, interleaved rows (SPEC)", ldmatrix_x2),
    Kind("x4-static", "ldmatrix.x4, 128B-swizzled 64x64 f16, static start", x4_static),
    Kind("x4-loops", "the same, 4x4 loop variables", x4_loops),
    Kind("x4-start", "the same, start (n%8)*8", x4_start),
    Kind("x4-ring", "the same, ring stage i % 4", x4_ring),
    Kind("box-64", "cp.async.bulk.tensor.2d, 128B-swizzled box (64,64) f16", box_64, times=500, mixed=False),
    Kind("box-256", "the same, box (256,64)", box_256, times=500, mixed=False),
    Kind("box-loop", "the same, box (128,64) in a loop over 4 stages", box_loop, times=5000, peer_most=6, mixed=False),
    Kind("box-ring", "the same, ring stage i % 4", box_ring, peer_most=6, mixed=False),
    Kind("tmem-ld", "tcgen05.ld.32x32b.x64", tmem_load, mixed=False, warm_ms=1.0, json_ms=0),
    Kind("mma", "tcgen05.mma 128x256x16, f16", mma_one, times=500, peer_most=20, mixed=False, warm_ms=1.0, json_ms=0),
    Kind("mma-k4", "the same, 4 steps along K", mma_steps, times=500, peer_most=20, mixed=False, warm_ms=1.0, json_ms=0),
    Kind("mma-loop", "the same in a loop over 4 stages", mma_loop, times=500, peer_most=6, mixed=False, warm_ms=1.0, json_ms=0),
)


def operand_keys(document: Document) -> list[str]:
    """Each operand as text."""
    return [json.dumps(operand, sort_keys=True) for operand in document["operands"]]


def different(kind: Kind, seed: int, count: int) -> list[Document]:
    """So many documents of a kind, every operand of every one unlike all others; the same for the same seed."""
    rng = random.Random(f"{kind.name} {seed}")
    found: list[Document] = []
    seen: set[str] = set()
    for _ in range(50 * count + 1000):
        if len(found) == count:
            break
        document = kind.draw(rng)
        keys = operand_keys(document)
        if seen.isdisjoint(keys):
            seen.update(keys)
            found.append({**document, "id": f"{kind.name}-{seed}-{len(found)}"})
    if len(found) < count:
        raise ValueError(f"{kind.name} has no {count} documents without a common operand")
    return found


# --- a stream of calls, as a CI run sees it ---------------------------------------------------------------------------


def swapped_lanes(rng: random.Random, document: Document) -> str:
    """Registers that belong to other lanes."""
    registers = document["operands"][0]
    registers["layout"] = registers["layout"].replace("4@laneid,1@laneid", "1@laneid,8@laneid").replace("1@warpid", "2@warpid")
    return "dst.owner"


def swapped_lanes_of_warps(rng: random.Random, document: Document) -> str:
    """Warps that read the lanes of other warps."""
    cells = document["operands"][1]
    cells["layout"] = cells["layout"].replace("32@TLane", f"{rng.choice((0, 64))}@TLane")
    return "src.partition"


def low_base(rng: random.Random, document: Document) -> str:
    """A base that is known to be aligned to 8 bytes only."""
    document["operands"][1]["align"] = 8
    return "src.aligned"


def half_a_warp(rng: random.Random, document: Document) -> str:
    """A guard that leaves out lanes of a collective."""
    document["guard"] = f"laneid < {rng.randint(1, 31)}"
    return "participation"


def one_warp_short(rng: random.Random, document: Document) -> str:
    """A guard that leaves out a warp that the shape counts."""
    document["guard"] = "warpid < 1"
    return "dst.shape"


def far_slice(rng: random.Random, document: Document) -> str:
    """A start past the end of the first axis."""
    step = document["operands"][1]["view"][-1]
    step["begin"][0] = document["operands"][1]["shape"][0]
    return "src.bounds"


def narrow_base(rng: random.Random, document: Document) -> str:
    """A swizzled image on a base that is known to be aligned to 128 bytes only."""
    document["operands"][0]["align"] = 128
    return "dst.base.period"


def half_a_chunk(rng: random.Random, document: Document) -> str:
    """A column that is no multiple of 16 bytes."""
    document["parameters"]["coords"][1] += rng.choice((1, 2, 4))
    return "coords"


def compact_rows(rng: random.Random, document: Document) -> str:
    """An image with the swizzle of another span."""
    image = document["operands"][0]
    image["layout"] = image["layout"].replace("Swizzle(3,3,3)", f"Swizzle(3,{rng.randint(1, 2)},3)")
    return "dst.image"


def far_stage(rng: random.Random, document: Document) -> str:
    """A stage behind the last."""
    step = document["operands"][0]["view"][-1]
    step["begin"][0] = document["operands"][0]["shape"][0]
    return "dst.bounds"


def far_columns(rng: random.Random, document: Document) -> str:
    """A matrix past the last column."""
    cells = next(one for one in document["operands"] if one["space"] == "tmem")
    cells["layout"] = cells["layout"].split(" + ", maxsplit=1)[0] + f" + {rng.randint(480, 511)}@TCol"
    return "d.footprint" if document["scope"] == "thread" else "src.footprint"


def other_rows(rng: random.Random, document: Document) -> str:
    """Rows in other lanes."""
    cells = next(one for one in document["operands"] if one["space"] == "tmem")
    cells["layout"] = cells["layout"].replace("1@TLane", f"{rng.choice((0, 2))}@TLane", 1)
    return "d.image"


def other_pitch(rng: random.Random, document: Document) -> str:
    """A descriptor of groups that are another pitch apart."""
    document["parameters"]["b_descriptor"][1] = 1024 + 16 * rng.randint(1, 63)
    return "b.descriptor"


def low_tile(rng: random.Random, document: Document) -> str:
    """A swizzled tile on a base that is known to be aligned to half of the period only."""
    document["operands"][1]["align"] = 512
    return "a.base.period"


OF_PRODUCTS = (far_columns, other_rows, other_pitch, low_tile)
OF_BOXES = (low_base, narrow_base, half_a_chunk, compact_rows, far_stage)
DAMAGES: dict[str, tuple[Callable[[random.Random, Document], str], ...]] = {
    "ld-thread": (low_base,),
    "ld-cta": (low_base, swapped_lanes, one_warp_short),
    "ldmatrix-x2": (low_base, swapped_lanes, half_a_warp),
    "x4-static": (low_base, swapped_lanes, half_a_warp, far_slice),
    "x4-loops": (low_base, swapped_lanes, half_a_warp, far_slice),
    "x4-start": (low_base, swapped_lanes, half_a_warp, far_slice),
    "x4-ring": (low_base, swapped_lanes, half_a_warp, far_slice),
    **dict.fromkeys(("box-64", "box-256", "box-loop", "box-ring"), OF_BOXES),
    **dict.fromkeys(("mma", "mma-k4", "mma-loop"), OF_PRODUCTS),
    "tmem-ld": (far_columns, swapped_lanes_of_warps),
}


def damaged(rng: random.Random, kind: Kind, document: Document) -> tuple[Document, str]:
    """A copy with one thing wrong, and the clause that refutes it."""
    copy: Document = json.loads(json.dumps(document))
    clause = rng.choice(DAMAGES[kind.name])(rng, copy)
    return copy, clause


LAYOUTS = 3
"""How many layouts a shape of registers has in a library."""


def usual(rng: random.Random, document: Document, fragments_of: dict[str, list[str]]) -> None:
    """Gives the registers one of the layouts that such registers have in the library."""
    registers = document["operands"][0]
    use = json.dumps([document["opcode"], document["scope"], document.get("launch"), {**registers, "layout": ""}], sort_keys=True)
    known = fragments_of.setdefault(use, [])
    if len(known) < LAYOUTS:
        known.append(registers["layout"])
    registers["layout"] = rng.choice(known)


def stream(seed: int, count: int, refuted: float) -> list[tuple[Document, str | None]]:
    """So many different documents of the kinds that load registers mixed, this share of them refuted: each with the clause at fault, None where legal.

    Fragments come again and again, as they do in one library: a register operand has one of a few layouts of its shape. Memory operands and their
    starts are drawn anew each time; whole documents never come twice.
    """
    rng = random.Random(f"stream {seed}")
    fragments_of: dict[str, list[str]] = {}
    kinds = [kind for kind in KINDS if kind.mixed]
    found: list[tuple[Document, str | None]] = []
    seen: set[str] = set()
    while len(found) < count:
        kind = rng.choice(kinds)
        document, clause = kind.draw(rng), None
        usual(rng, document, fragments_of)
        if rng.random() < refuted:
            document, clause = damaged(rng, kind, document)
        key = json.dumps(document, sort_keys=True)
        if key not in seen:
            seen.add(key)
            found.append(({**document, "id": f"stream-{seed}-{len(found)}"}, clause))
    return found
