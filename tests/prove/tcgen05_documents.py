"""Call documents of tcgen05.mma that are legal unless something is changed: matrices in the plainest layouts, D from column 0 on."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
BITS = {
    "float16": 16,
    "bfloat16": 16,
    "float32": 32,
    "float8_e4m3fn": 8,
    "float8_e5m2": 8,
    "int8": 8,
    "uint8": 8,
    "float4_e2m1fn": 4,
    "bits8": 8,
}
TYPES = {
    "f16": ("float16", "float32", 16),
    "tf32": ("float32", "float32", 8),
    "f8f6f4": ("float8_e4m3fn", "float32", 32),
    "i8": ("int8", "int32", 32),
    "mxf8f6f4": ("float8_e4m3fn", "float32", 32),
    "mxf4": ("float4_e2m1fn", "float32", 64),
    "mxf4nvf4": ("float4_e2m1fn", "float32", 64),
}
"""Dtypes of A and B, and of D, and K."""


def kind_of(opcode: str) -> str:
    return opcode.split(".kind::")[1].split(".", maxsplit=1)[0]


def operand(name: str, space: str, dtype: str, shape: list[int], layout: str, **more: Any) -> Json:
    return {"name": name, "space": space, "dtype": dtype, "shape": shape, "layout": layout, **more}


def shared(name: str, dtype: str, repeats: tuple[int, int], rows: int, depth: int) -> Json:
    """A K-major matrix without swizzle: chunks of 16 bytes, eight lines a group, the chunks of a line one behind the other over all lines."""
    each = 128 // BITS[dtype]
    groups, tall = -(-rows // 8), -(-rows // 8) * 8
    chunk = tall * each
    size = depth // each * chunk
    eight = f"{groups},8" if rows % 8 == 0 else f"1,{rows}"
    layout = f"S[({repeats[0]},{repeats[1]},{eight},{depth // each},{each}):({repeats[1] * size},{size},{8 * each},{each},{chunk},1)]"
    return operand(name, "shared", dtype, [*repeats, rows, depth], layout, align=128)


def fields(rows: int) -> list[int]:
    """The descriptor of such a matrix."""
    return [-(-rows // 8) * 8 * 16, 128, 0]


def accumulator(dtype: str, repeats: tuple[int, int], path: str, rows: int, columns: int) -> Json:
    """D on a data path; its repeats one behind the other in columns."""
    step = 2 if dtype == "float16" else 1
    parts = {"whole": 1, "scattered": 1, "halves": 2, "quarters": 4}[path]
    wide = step * columns // parts
    outer = f"{repeats[0]},{repeats[1]}", f"{repeats[1] * wide}@TCol,{wide}@TCol"
    lanes = {
        "whole": (f"{rows},{columns}", f"1@TLane,{step}@TCol"),
        "scattered": (f"{rows // 16},16,{columns}", f"32@TLane,1@TLane,{step}@TCol"),
        "halves": (f"{rows},2,{columns // 2}", f"1@TLane,64@TLane,{step}@TCol"),
        "quarters": (f"{rows},4,{columns // 4}", f"1@TLane,32@TLane,{step}@TCol"),
    }[path]
    return operand("D", "tmem", dtype, [*repeats, rows, columns], f"S[({outer[0]},{lanes[0]}):({outer[1]},{lanes[1]})]")


def scales(name: str, dtype: str, rows: int, count: int, column: int, repeats: tuple[int, int] = (1, 1)) -> Json:
    """Scale factors from a byte column on, in four copies."""
    groups = -(-rows // 32)
    layout = f"S[({repeats[0]},{repeats[1]},{groups},32,{count}):(0@TCol,0@TCol,4@TCol,1@TLane,1@TCol)] + R[4:32@TLane] + {column}@TCol"
    cut = [{"op": "slice", "begin": [0, 0, 0, 0], "extent": [None, None, rows, None]}]
    return operand(name, "tmem", dtype, [*repeats, 32 * groups, count], layout, **({"view": cut} if rows % 32 else {}))


def path_of(opcode: str, m: int) -> str:
    if ".ws" in opcode:
        return {128: "whole", 64: "halves", 32: "quarters"}[m]
    if "cta_group::2" in opcode:
        return {256: "whole", 128: "scattered" if ".sp" in opcode else "halves"}[m]
    return {128: "whole", 64: "scattered"}[m]


def in_cells(dtype: str, repeats: tuple[int, int], opcode: str, m: int, depth: int, column: int) -> Json:
    """A in tensor memory, from a column (of 32 bits) on."""
    group, bits = int(opcode.split("cta_group::")[1][0]), BITS[dtype]
    rows, start = m // group, column * 32 // bits
    outer, far = f"{repeats[0]},{repeats[1]}", f"{repeats[1] * depth}@TCol,{depth}@TCol"
    if ".ws" in opcode and m < 128:
        banks = 128 // m
        layout = f"S[({outer},{banks},{rows},{depth}):({far},{m}@TLane,1@TLane,1@TCol)]"
        return operand("A", "tmem", dtype, [*repeats, banks, rows, depth], f"{layout} + {start}@TCol")
    path = path_of(opcode, m)
    if path == "scattered":
        layout = f"S[({outer},{rows // 16},16,{depth}):({far},32@TLane,1@TLane,1@TCol)]"
    else:
        layout = f"S[({outer},{rows},{depth}):({far},1@TLane,1@TCol)]" + (" + R[2:64@TLane]" if path == "halves" else "")
    return operand("A", "tmem", dtype, [*repeats, rows, depth], f"{layout} + {start}@TCol")


def mma(
    opcode: str,
    m: int,
    n: int,
    *,
    repeats: tuple[int, int, int] = (1, 1, 1),
    in_tmem: bool = False,
    dtype: str | None = None,
    sums: str | None = None,
    k: int | None = None,
    parameters: Json | None = None,
    **more: Any,
) -> Json:
    """A call of one thread, elected in warp 0. parameters: changed ones, None for one that is not given."""
    kind, group = kind_of(opcode), int(opcode.split("cta_group::")[1][0])
    own, wide, depth = TYPES[kind]
    own, wide, depth = dtype or own, sums or wide, k or depth * (2 if ".sp" in opcode else 1)
    held = depth // 2 if ".sp" in opcode else depth
    mr, nr, kr = repeats
    rows, columns = m // group, n // group
    operands = [
        accumulator(wide, (mr, nr), path_of(opcode, m), rows, n),
        in_cells(own, (mr, kr), opcode, m, held, 384) if in_tmem else shared("A", own, (mr, kr), rows, held),
        shared("B", own, (nr, kr), columns, depth),
    ]
    if ".sp" in opcode:
        words = 1 if BITS[own] > 8 else 2
        layout = f"S[({mr},{kr},128,{words}):(0@TCol,0@TCol,1@TLane,1@TCol)] + 480@TCol"
        operands.append(operand("E", "tmem", "uint32", [mr, kr, 128, words], layout))
    if "block_scale" in opcode:
        count = 1 if kind == "mxf8f6f4" else 4 if "4X" in opcode or "block16" in opcode else 2
        count = 3 if depth == 96 else count
        operands += [
            scales("SFA", "float8_e8m0fnu", rows, count, 4 * 448, (mr, kr)),
            scales("SFB", "float8_e8m0fnu", n, count, 4 * 464, (nr, kr)),
        ]
    given: Json = {"instruction_shape": [m, n, depth], "b_descriptor": fields(columns), "accum": False}
    if not in_tmem:
        given["a_descriptor"] = fields(rows)
    if kind == "tf32":
        given |= {"a_format": "tf32", "b_format": "tf32"}
    given = {name: value for name, value in (given | (parameters or {})).items() if value is not None}
    launch = {"block": [128], "cluster": [2, 1, 1] if group == 2 else None}
    document = {"schema": "tilecheck/call@1", "id": "mma", "opcode": opcode, "scope": "thread", "launch": launch}
    return {**document, "guard": "elected and warpid == 0", "operands": operands, "parameters": given, **more}
