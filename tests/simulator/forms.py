"""Calls of tcgen05.ld, .st and .cp in every shape, each with the views that its map wants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.simulator.epilogue import COLUMNS, IMAGES
from tests.simulator.programs import ONE, Call, pattern, text

REGISTERS = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}
COPIES: dict[str, tuple[list[tuple[int, str]], str]] = {
    "128x256b": ([(128, "1@TLane")], ""),
    "128x128b": ([(128, "1@TLane")], ""),
    "4x256b": ([(4, "32@TLane")], ""),
    "64x128b.warpx2::02_13": ([(64, "1@TLane")], " + R[2:64@TLane]"),
    "64x128b.warpx2::01_23": ([(2, "64@TLane"), (32, "1@TLane")], " + R[2:32@TLane]"),
    "32x128b.warpx4": ([(32, "1@TLane")], " + R[4:32@TLane]"),
}
PACKINGS = ("", ".b8x16.b6x16_p32", ".b8x16.b4x16_p64")


def call(name: str, opcode: str, operands: list[Call], parameters: Call, scope: str, **more: Any) -> Call:
    launch = {"block": [128], "cluster": more.pop("cluster", None)}
    found: Call = {
        "schema": "tilecheck/call@1",
        "id": name,
        "opcode": opcode,
        "scope": scope,
        "launch": launch,
        "symbols": more.pop("symbols", []),
    }
    return found | {"operands": operands, "parameters": parameters} | more


def transfer(
    kind: str, shape: str, times: int, *, packed: bool = False, column: int = 5, lane: int = 0, offset: tuple[int, int] = (16, 0)
) -> Call:
    """`offset`: how many lanes and columns the second access of .16x32bx2 lies behind the first."""
    rows, width = int(shape.partition("x")[0]), times * COLUMNS[shape]
    column = min(column, 512 - width * (2 if packed else 1) - (offset[1] if shape == "16x32bx2" else 0))
    suffix = {True: ".pack::16b" if kind == "ld" else ".unpack::16b", False: ""}[packed]
    opcode = f"tcgen05.{kind}.sync.aligned.{shape}.x{times}{suffix}.b32"
    dtype, cells = ("float16", [(width, "4@TCol"), (2, "2@TCol")]) if packed else ("uint32", [(width, "1@TCol")])
    registers: Call = {"name": "R", "space": "register", "dtype": "uint32"}
    regions: list[Call] = []
    twice = shape == "16x32bx2"
    for dl, dc in ((0, 0), offset)[: 1 + twice]:
        factors = [(4, "32@TLane"), (16 if twice else rows, "1@TLane"), *cells]
        layout = text(factors) + f" + {lane + dl}@TLane + {(column + dc) * (2 if packed else 1)}@TCol"
        region: Call = {"name": "TM", "tensor": "TM", "space": "tmem", "dtype": dtype, "shape": [n for n, _ in factors], "layout": layout}
        regions.append(region)
    if twice:
        registers |= {"shape": [4, 2, 16, width], "layout": f"S[(4,2,16,{width}):(1@wid_in_wg,16@laneid,1@laneid,1)]"}
    else:
        image = [(times, step) if extent == 1 else (extent, step) for extent, step in IMAGES[shape]]
        registers |= {"shape": [4, rows, width], "layout": text([(4, "1@wid_in_wg"), *image])}
    operands = [registers, *regions] if kind == "ld" else [*regions, registers]
    parameters = {"imm_half_splitoff": (offset[0] << 16) + offset[1]} if twice else {}
    return call(f"{kind} {shape}.x{times}{suffix} at {lane}, {column}", opcode, operands, parameters, "warpgroup")


def transfers(kind: str) -> Iterator[Call]:
    """Every shape and number, packed and not, each half of a partition."""
    for shape, registers in REGISTERS.items():
        for power in range(8):
            times = 1 << power
            if times * registers > 128:
                continue
            for packed in (False, True):
                half = power % 2 * 16 if shape in ("16x64b", "16x128b", "16x256b") else 0
                yield transfer(kind, shape, times, packed=packed, lane=half, offset=(16, (0, 3)[power % 2]))
    yield transfer(kind, "16x32bx2", 8, offset=(0, 8))
    yield transfer(kind, "16x32bx2", 4, offset=(0, 100), lane=16)


def copy(shape: str, swizzle: int, packing: str = "", *, group: int = 1) -> Call:
    """A source of whole groups of eight rows, two chunks of 16 bytes into its lines; without a swizzle the chunks lie apart."""
    lanes, replicas = COPIES[shape]
    rows, words = (int(part) for part in shape.partition(".")[0].rstrip("b").split("x"))
    words //= 32
    span = (4, 8, 16, 32)[swizzle]
    held = max(rows, 8)
    target: Call = {
        "name": "TM",
        "space": "tmem",
        "dtype": "uint32",
        "shape": [rows, words],
        "layout": text([*lanes, (words, "1@TCol")]) + replicas + " + 12@TCol",
    }
    source: Call = {"name": "SM", "space": "shared", "dtype": "uint32", "align": 1024}
    if swizzle:
        wide = max(span, words)
        source |= {"shape": [held, wide], "layout": pattern(swizzle, 32) + text([(held, wide), (wide, 1)])}
        begin = [0, (wide - words) // 4 * 4]
        fields = [16, 32 * span, swizzle]
    else:
        chunks = words // 4
        source |= {"shape": [held, words], "layout": text([(held, 4), (chunks, held * 4 + 32), (4, 1)])}
        begin, fields = [0, 0], [held * 16 + 128, 128, 0]
    source["view"] = [{"op": "slice", "begin": begin, "extent": [rows, words]}]
    more: dict[str, Any] = {"cluster": [2, 1, 1], "guard": f"cbx == 0 and {ONE}"} if group == 2 else {"guard": ONE}
    spelling = f"tcgen05.cp.cta_group::{group}.{shape}{packing}"
    return call(
        f"cp {shape}{packing}, swizzle {swizzle}, group {group}", spelling, [target, source], {"descriptor": fields}, "thread", **more
    )


def copies() -> Iterator[Call]:
    """Every shape, multicast and decompression, swizzled and not; a line of 256 bits fits in every span but 16 bytes."""
    for shape in COPIES:
        for swizzle in range(4):
            for packing in PACKINGS:
                yield copy(shape, swizzle, packing)
        yield copy(shape, 3, group=2)
