"""The documents of a GEMM around its product: A and scales into tensor memory, D out of it into registers and to global memory."""

from __future__ import annotations

from typing import Any

from tests.simulator.documents import bits_of
from tests.simulator.programs import TMA, Call, Gemm, columns_of, text

A_COLUMN = 384
"""Where A starts in tensor memory, where it is there."""
SCALE_COLUMNS = {"SFA": 448, "SFB": 480}
IMAGES: dict[str, list[tuple[int, str]]] = {
    "32x32b": [(32, "1@laneid"), (1, "1")],
    "16x64b": [(2, "1@laneid"), (8, "4@laneid"), (1, "1"), (2, "2@laneid")],
    "16x128b": [(2, "1"), (8, "4@laneid"), (1, "2"), (4, "1@laneid")],
    "16x256b": [(2, "2"), (8, "4@laneid"), (1, "4"), (4, "1@laneid"), (2, "1")],
}
"""(row, column) of one instruction as registers have it; the factor of extent 1 is the one that .xN repeats."""
COLUMNS = {"32x32b": 1, "16x64b": 2, "16x128b": 4, "16x256b": 8, "16x32bx2": 1}
LANES = {"32x32b": "l", "16x64b": "(b c a)", "16x128b": "(b c)", "16x256b": "(b c)"}
OUTPUTS = {"32x32b": ("l", "(q v)"), "16x64b": ("a b", "(q c v)"), "16x128b": ("a b", "(q c v)"), "16x256b": ("a b", "(q c v)")}
VECTORS = {"32x32b": 4, "16x64b": 1, "16x128b": 1, "16x256b": 2}


def registers(gemm: Gemm, shape: list[int], layout: str, size: int, **more: Any) -> Call:
    return {
        "name": "R",
        "tensor": "R",
        "space": "register",
        "dtype": "uint32",
        "shape": shape,
        "layout": layout,
        "size_bytes": size,
        **more,
    }


def through_tensor(gemm: Gemm) -> dict[str, Call]:
    """A from global memory to registers (ld), to tensor memory (st), and the view of it there; one row to a thread."""
    words = gemm.depth * bits_of(gemm.a.dtype) // 32
    copies = 128 // gemm.rows
    whole = [copies, gemm.rows, gemm.depth * gemm.tiles]
    scattered = gemm.rows == 64 and not gemm.stationary
    if scattered:
        whole[0] = 1
    source: Call = {
        "name": "Ag",
        "space": "global",
        "dtype": gemm.a.dtype,
        "shape": whole,
        "layout": text([(whole[0], 0), (whole[1], whole[2]), (whole[2], 1)]),
    }
    lanes = 16 if scattered else 32  # 16 lanes of each warp have a row; else every bank holds all of A
    source |= {
        "align": 128,
        "view": [
            {"op": "slice", "begin": [0, 0, f"kt*{gemm.depth}"], "extent": [None, None, gemm.depth]},
            {"op": "view", "dtype": "uint32"},
            {"op": "rearrange", "pattern": "j (w l) (q v) -> (j w) l q v", "sizes": {"l": lanes, "v": 4}},
        ],
    }
    own = f"S[(4,{lanes},{words // 4},4):(1@wid_in_wg,1@laneid,4,1)]"
    size = words * 4
    load = gemm.call(
        "ld A", "ld.global.v4.b32", [registers(gemm, [4, lanes, words // 4, 4], own, size, name="RA", tensor="RA"), source], {},
        scope="warpgroup", guard="laneid < 16" if scattered else None,
    )  # fmt: skip
    column = f"stage*{words}"
    target: Call = {"name": "T", "tensor": "T", "space": "tmem", "dtype": "uint32", "shape": [4, 32, gemm.stages * words]}
    target |= {"layout": f"S[(4,32,{gemm.stages * words}):(32@TLane,1@TLane,1@TCol)] + {A_COLUMN}@TCol"}
    target["view"] = [{"op": "slice", "begin": [0, 0, column], "extent": [None, None, words]}]
    held = registers(gemm, [4, 32, words], f"S[(4,32,{words}):(1@wid_in_wg,1@laneid,1)]", size, name="RA", tensor="RA")
    store = gemm.call("st A", f"tcgen05.st.sync.aligned.32x32b.x{words}.b32", [target, held], {}, scope="warpgroup", guard=None)
    per_cell = 32 // bits_of(gemm.a.dtype)
    stage, k = words * per_cell, gemm.k
    path: list[tuple[int, str]] = [(gemm.rows, "1@TLane")]
    shape = [gemm.stages, 1, gemm.steps, gemm.rows, k]
    if scattered:
        path = [(4, "32@TLane"), (16, "1@TLane")]
    elif gemm.rows == 64:
        path, shape = [(2, "64@TLane"), (64, "1@TLane")], [gemm.stages, 1, gemm.steps, 2, gemm.rows, k]
    factors = [(gemm.stages, f"{stage}@TCol"), (1, "0@TCol"), (gemm.steps, f"{k}@TCol"), *path, (k, "1@TCol")]
    a: Call = {
        "name": "A",
        "tensor": "T",
        "space": "tmem",
        "dtype": gemm.a.dtype,
        "shape": shape,
        "layout": f"{text(factors)} + {A_COLUMN * per_cell}@TCol",
    }
    a["view"] = [
        {"op": "slice", "begin": ["stage", *[0] * (len(shape) - 1)], "extent": [1, *[None] * (len(shape) - 1)]},
        {"op": "reshape", "shape": shape[1:]},
    ]
    return {"ld A": load, "st A": store, "A": a}


def scales_to_tensor(gemm: Gemm) -> dict[str, Call]:
    """Four scales of 128 rows are 32 rows of 16 bytes: one TMA load, one tcgen05.cp into four replicas."""
    found: dict[str, Call] = {}
    for name, rows in (("SFA", gemm.m * gemm.across[0]), ("SFB", gemm.n * gemm.across[1])):
        blocks = rows // 128 * gemm.blocks
        image: Call = {"name": name, "tensor": f"s{name}", "space": "shared", "dtype": "uint8", "shape": [gemm.stages * blocks, 32, 16]}
        image |= {"layout": f"S[({gemm.stages * blocks},32,16):(512,16,1)]", "align": 128}
        begin, extent = [f"stage*{blocks}", 0, 0], [blocks, None, None]
        image["view"] = [{"op": "slice", "begin": begin, "extent": extent}]
        source: Call = {"name": f"{name}g", "space": "global", "dtype": "uint8", "shape": [gemm.tiles * blocks, 32, 16], "align": 128}
        source |= {"layout": f"S[({gemm.tiles * blocks},32,16):(512,16,1)]"}
        load = {"box": [blocks, 32, 16], "coords": [f"kt*{blocks}", 0, 0], "swizzle": 0, "mbar": "shared"}
        found[f"load {name}"] = gemm.call(f"load {name}", TMA.format(3), [image, source], load)
        words: Call = dict(image, dtype="uint8", view=[*image["view"], {"op": "view", "dtype": "uint32"}])
        cells = {"name": "T", "tensor": "T", "space": "tmem", "dtype": "uint32", "shape": [blocks, 32, 4]}
        cells |= {"layout": f"S[({blocks},32,4):(4@TCol,1@TLane,1@TCol)] + R[4:32@TLane] + {SCALE_COLUMNS[name]}@TCol"}
        found[f"cp {name}"] = gemm.call(
            f"cp {name}", "tcgen05.cp.cta_group::1.32x128b.warpx4", [cells, words], {"descriptor": [16, 128, 0]}
        )
        repeats, each = (gemm.across[0], gemm.m) if name == "SFA" else (gemm.across[1], gemm.n)
        block, inside = each // 32 * 4, gemm.steps // gemm.blocks  # bytes of four scales of all rows; steps that share them
        factors = [(repeats, f"{gemm.blocks * block}@TCol"), (gemm.blocks, f"{block}@TCol"), (inside, f"{gemm.scales}@TCol")]
        factors += [(each // 32, "4@TCol"), (32, "1@TLane"), (gemm.scales, "1@TCol")]
        found[name] = {
            "name": name, "tensor": "T", "space": "tmem", "dtype": gemm.scale, "shape": [repeats, gemm.steps, each, gemm.scales],
            "layout": f"{text(factors)} + R[4:32@TLane] + {SCALE_COLUMNS[name] * 4}@TCol",
        }  # fmt: skip
    return found


def registers_to_global(gemm: Gemm) -> dict[str, Call]:
    """D from tensor memory to registers and to C, by an instruction shape that has its rows."""
    packed, columns = gemm.result == "float16", columns_of(gemm)
    tiles = gemm.across[0] * gemm.across[1]
    scattered = gemm.rows == 64 and not gemm.stationary and gemm.group == 1
    words = columns // 2 if packed else columns
    shape = gemm.shape
    times = words // COLUMNS[shape]
    times = min(times & -times, 32)
    width, parts = times * COLUMNS[shape], words // (times * COLUMNS[shape])
    halves = 1 if scattered or shape == "32x32b" else 2
    rows = int(shape.partition("x")[0])
    per_part = width * rows // 32
    size = tiles * parts * halves * per_part * 4
    image = [(times, s) if n == 1 else (n, s) for n, s in IMAGES[shape]]
    image_shape = [tiles, parts, halves]
    before = [(tiles, parts * halves * per_part), (parts, halves * per_part), (halves, per_part)]
    held = registers(gemm, [4, *image_shape, rows, width], text([(4, "1@wid_in_wg"), *before, *image]), size)
    cells: Call = {"name": "T", "tensor": "T", "space": "tmem", "dtype": "uint32", "shape": [4, *image_shape, rows, width]}
    steps = [
        (4, "32@TLane"),
        (tiles, f"{columns}@TCol"),
        (parts, f"{width}@TCol"),
        (halves, "16@TLane"),
        (rows, "1@TLane"),
        (width, "1@TCol"),
    ]
    if packed:
        cells |= {"dtype": "float16", "shape": [*cells["shape"], 2]}
        steps = [
            (4, "32@TLane"),
            (tiles, f"{2 * columns}@TCol"),
            (parts, f"{4 * width}@TCol"),
            (halves, "16@TLane"),
            (rows, "1@TLane"),
            (width, "4@TCol"),
            (2, "2@TCol"),
        ]
    cells["layout"] = text(steps)
    opcode = f"tcgen05.ld.sync.aligned.{shape}.x{times}{'.pack::16b' if packed else ''}.b32"
    found = {"ld D": gemm.call("ld D", opcode, [held, cells], {}, scope="warpgroup", guard=None)}
    return found | {"st C": store(gemm, words, (tiles, parts, halves, times, per_part, size))}


def store(gemm: Gemm, words: int, counts: tuple[int, ...]) -> Call:
    """Every thread stores what it has, in vectors where neighbours along N stand in neighbouring registers."""
    tiles, parts, halves, times, per_part, size = counts
    shape, vector = gemm.shape, VECTORS[gemm.shape]
    local = gemm.rows * gemm.across[0]
    total = [local * gemm.group, gemm.n * gemm.across[1]]
    target: Call = {"name": "C", "tensor": "C", "space": "global", "dtype": gemm.result, "shape": total, "align": 128}
    target["layout"] = text([(total[0], total[1]), (total[1], 1)])
    view: list[Call] = []
    if gemm.group == 2:
        view.append({"op": "slice", "begin": [f"cbx*{local}", 0], "extent": [local, None]})
    if bits_of(gemm.result) == 16:
        view.append({"op": "view", "dtype": "uint32"})
    scattered = gemm.rows == 64 and not gemm.stationary and gemm.group == 1
    banks = 1 if scattered else 128 // gemm.rows
    inner, columns = OUTPUTS[shape]
    half = "h " if halves == 2 else ""
    left = f"(y w {half}{inner}) (x j p {columns[1:]}"
    lanes = LANES[shape]
    right = f"(j w) {lanes} (y x) p {'h' if halves == 2 else ''} q {'a' if 'x128' in shape or 'x256' in shape else ''} v"
    sizes = {"y": gemm.across[0], "w": 4 // banks, "x": gemm.across[1], "j": banks, "p": parts, "v": vector}
    sizes |= {"h": 2} if halves == 2 else {}
    sizes |= {"l": 32} if shape == "32x32b" else {"a": 2, "b": 8, "c": {"16x64b": 2}.get(shape, 4)}
    view.append({"op": "rearrange", "pattern": f"{left} -> {' '.join(right.split())}", "sizes": sizes})
    target["view"] = view
    inside = {
        "32x32b": [(times // 4, 4), (4, 1)],
        "16x64b": [(times, 1), (1, 1)],
        "16x128b": [(times, 2), (2, 1), (1, 1)],
        "16x256b": [(times, 4), (2, 2), (2, 1)],
    }[shape]
    before = [(tiles, parts * halves * per_part), (parts, halves * per_part), *([(2, per_part)] if halves == 2 else [])]
    factors: list[tuple[int, Any]] = [(4, "1@wid_in_wg"), (32, "1@laneid"), *before, *inside]
    held = registers(gemm, [n for n, _ in factors], text(factors), size)
    return gemm.call("st C", f"st.global{f'.v{vector}' if vector > 1 else ''}.b32", [target, held], {}, scope="warpgroup", guard=None)
