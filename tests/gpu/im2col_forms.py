"""Walks over pixels (im2col) that a GPU reconstructs: ranks, corners, offsets, element strides, swizzles, slices, what lies outside, clusters, reductions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.gpu.documents import Form
from tests.gpu.tma_forms import DTYPES, KEEPS, SLICES, SPANS, bytes_of, compact, listed

LOAD = "cp.async.bulk.tensor.{}d.shared::{}.global.im2col.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.tensor.{}d.global.shared::cta.im2col_no_offs.bulk_group"
REDUCE = "cp.reduce.async.bulk.tensor.{}d.global.shared::cta.{}.im2col_no_offs.bulk_group"
PREFETCH = "cp.async.bulk.prefetch.tensor.{}d.L2.global.im2col"
FOUR = LOAD.format(4, "cluster")
SHAPES: dict[int, list[Any]] = {3: [4, 9, 32], 4: [3, 5, 6, 32], 5: [2, 3, 3, 4, 32]}
Document = dict[str, Any]


def image(pixels: int, row: int, size: int, swizzle: int, *, interleave: int = 0, stages: int = 1, phase: int = 0) -> Document:
    """The shape and layout of what a walk fills: pixels at their pitch, stages at multiples of 128 bytes, `phase` lines behind the base."""
    row = SLICES[interleave] // size if interleave else row
    pitch = row if interleave else max(row, SPANS[swizzle] // size)
    shape, steps = [pixels, row], [pitch, 1]
    if stages > 1:
        shape, steps = [stages, *shape], [-(-pitch * pixels * size // 128) * 128 // size, *steps]
    pattern = f"Swizzle({KEEPS[size]},{swizzle},3) o " if swizzle else ""
    offset = f" + {phase * 128 // size}" if phase else ""
    return {"shape": shape, "layout": f"{pattern}S[({listed(shape)}):({listed(steps)})]{offset}", "align": 1024, "size_bytes": 16 << 10}


def form(name: str, opcode: str, lower: list[int], upper: list[int], *, dtype: str = "uint16", swizzle: int = 0, **fields: Any) -> Form:
    """A walk: `shape` and `pitch` are the tensor's; the other fields are the call's."""
    rank, size = int(opcode.split("tensor.")[1][0]), bytes_of(dtype)
    pixels, channels, interleave = fields.pop("pixels", 40), fields.pop("channels", 16), fields.get("interleave", 0)
    own = {key: fields.pop(key) for key in ("stages", "phase") if key in fields}
    shared = {"name": "S", "space": "shared", "dtype": dtype} | image(pixels, channels, size, swizzle, interleave=interleave, **own)
    shape = fields.pop("shape", None) or SHAPES[rank]
    whole = [shape[0], 4, *shape[1:-1], SLICES[interleave] // size] if interleave else shape
    strides = fields.pop("pitch", None) or compact(whole)
    tensor = {"name": "T", "space": "global", "dtype": dtype, "shape": whole, "layout": f"S[({listed(whole)}):({listed(strides)})]"}
    tensor |= {"align": 64, "size_bytes": 48 << 10}
    launch: Document = {"block": [32], "cluster": fields.pop("cluster", None)}
    guard = fields.pop("guard", "laneid == 0 and cbx == 0" if launch["cluster"] else "laneid == 0")
    values, symbols = fields.pop("values", {}), fields.pop("symbols", [])
    parameters: Document = {
        "pixel_box_lower_corner": lower,
        "pixel_box_upper_corner": upper,
        "channels_per_pixel": channels,
        "pixels_per_column": pixels,
        "coords": [0] * rank,
        "swizzle": swizzle,
    }
    stores, loads = ".global.shared::cta" in opcode, "mbarrier" in opcode
    parameters |= ({} if stores else {"im2col_offsets": [0] * (rank - 2)}) | fields | ({"mbar": "shared"} if loads else {})
    found: Document = {"schema": "tilecheck/call@1", "id": name, "opcode": opcode, "arch": "sm_90a", "scope": "thread", "launch": launch}
    found |= {"guard": guard, "symbols": symbols, "parameters": parameters}
    found["operands"] = [tensor] if "prefetch" in opcode else [tensor, shared] if stores else [shared, tensor]
    return Form("tma", name, found, values)


def ranks() -> Iterator[Form]:
    """Every rank, corners that differ along each axis, offsets into a filter; loads to both windows, stores, reductions, prefetches."""
    corners = {3: ([-1], [-2]), 4: ([-1, 0], [0, -2]), 5: ([0, -1, -2], [-1, 1, 0])}
    inside = {3: ([1], [-2]), 4: ([1, 0], [0, -2]), 5: ([0, 1, 0], [-1, 0, -1])}
    for rank in (3, 4, 5):
        lower, upper = corners[rank]
        start = [0, *lower, 0]
        for space in ("cta", "cluster"):
            for swizzle in (0, 1, 3):
                name = f"im2col of rank {rank} to shared::{space}, swizzle {swizzle}"
                offsets = [k + 1 for k in range(rank - 2)]
                yield form(name, LOAD.format(rank, space), lower, upper, swizzle=swizzle, coords=start, im2col_offsets=offsets)
        first, last = inside[rank]
        begin = [0, *first, 0]
        yield form(f"im2col store of rank {rank}", STORE.format(rank), first, last, coords=begin, swizzle=2)
        yield form(f"im2col reduction of rank {rank}", REDUCE.format(rank, "add"), first, last, dtype="uint32", coords=begin, swizzle=2)
        yield form(f"im2col prefetch of rank {rank}", PREFETCH.format(rank), lower, upper, coords=start)


def swizzled() -> Iterator[Form]:
    """Channels below and at the span, elements of 1 to 8 bytes, phases of a line."""
    for swizzle in range(4):
        span = SPANS[swizzle] or 128
        for width in sorted({16, span // 2, span}):
            for size in (1, 2, 4, 8):
                name = f"im2col, swizzle {swizzle}, {width} bytes of {size}"
                tensor: Document = {"shape": [3, 4, 5, 256 // size], "dtype": DTYPES[size]}
                yield form(name, FOUR, [0, -1], [-1, 0], swizzle=swizzle, pixels=19, channels=width // size, **tensor)
        yield form(f"im2col, swizzle {swizzle}, phase 3", FOUR, [0, 0], [0, 0], swizzle=swizzle, pixels=11, channels=8, phase=3)


def sampled() -> Iterator[Form]:
    """Element strides of every axis, from starts on and off the lower corner's grid."""
    for strides in ([1, 1, 2, 1], [1, 2, 1, 1], [2, 1, 1, 1], [1, 2, 3, 1], [2, 3, 4, 1], [1, 8, 8, 1]):
        for start in ([0, -1, -1, 0], [0, 0, 1, 0], [0, 3, 4, 0]):
            name = f"im2col, strides {strides} from {start}"
            yield form(name, FOUR, [-1, -1], [-1, -1], element_strides=strides, coords=start, im2col_offsets=[1, 0])
        yield form(
            f"im2col store, strides {strides}", STORE.format(4), [0, 1], [-1, 0], element_strides=strides, coords=[0, 1, 2, 0], pixels=12
        )
    yield form("im2col of rank 5, strides", LOAD.format(5, "cluster"), [0, -1, 0], [0, 0, -1], element_strides=[1, 2, 2, 3, 1])


def outside() -> Iterator[Form]:
    """Starts before and after the batch, channels on both sides, fills, tails of stores."""
    for start in ([-2, 3, 4, 0], [2, 4, 5, 0], [3, 0, 0, 0], [0, 0, 0, -8], [0, 0, 0, 24], [0, 0, 0, 32]):
        yield form(f"im2col load at {start}", FOUR, [0, 0], [0, 0], coords=start)
    for dtype in ("float16", "float32"):
        yield form(f"im2col, NaN outside of {dtype}", FOUR, [-1, -1], [0, 0], coords=[0, -1, -1, 24], dtype=dtype, oob_fill=1)
    yield form("im2col, the largest offsets", FOUR, [-128, -128], [127, 127], coords=[0, -128, -128, 0], im2col_offsets=[130, 255])
    yield form("im2col, tf32", FOUR, [-1, -1], [0, 0], coords=[0, -1, -1, 0], dtype="float32", format="tf32", channels=8)
    yield form("im2col store past the batch", STORE.format(4), [0, 0], [0, 0], coords=[2, 4, 3, 0])
    for inner in (28, 25):
        ends: Document = {"shape": [3, 5, 6, inner], "pitch": [960, 192, 32, 1], "coords": [0, 1, 2, 16]}
        yield form(f"im2col store past {inner} channels", STORE.format(4), [0, 0], [0, 0], **ends)
        yield form(f"im2col sums past {inner} channels", REDUCE.format(4, "add"), [0, 0], [0, 0], dtype="float16", **ends)


def sliced() -> Iterator[Form]:
    """Slices of channels: one is visited, whatever channels are asked for."""
    shapes = {3: [3, 7, 0], 4: [2, 3, 5, 0], 5: [2, 2, 3, 4, 0]}
    for interleave, swizzle in ((1, 0), (1, 1), (1, 2), (1, 3), (2, 1)):
        for rank in (3, 4, 5):
            spatial = rank - 2
            fields: Document = {"interleave": interleave, "shape": shapes[rank], "coords": [0, 2, *[-1] * spatial], "pixels": 21}
            name = f"im2col, interleave {interleave}, swizzle {swizzle}, rank {rank}"
            yield form(
                name, LOAD.format(rank, "cluster"), [-1] * spatial, [0] * spatial, swizzle=swizzle, im2col_offsets=[1] * spatial, **fields
            )
    strided: Document = {"interleave": 1, "shape": shapes[4], "coords": [0, 3, 0, 1], "element_strides": [1, 1, 2, 3], "pixels": 9}
    yield form("im2col, interleave 1, strides", FOUR, [0, -1], [0, 0], channels=8, **strided)
    yield form("im2col store, interleave 1", STORE.format(4), [0, 1], [0, 0], channels=32, **strided | {"coords": [0, 3, 0, 2]})


def clusters() -> Iterator[Form]:
    """Multicasts, stages, and what depends on symbols."""
    two: Document = {"swizzle": 2, "cluster": [2], "pixels": 12, "coords": [0, 1, 1, 0]}
    for mask in (1, 2, 3):
        yield form(f"im2col multicast {mask}", FOUR + ".multicast::cluster", [0, 0], [0, 0], cta_mask=mask, **two)
    yield form("im2col store by each CTA", STORE.format(4), [0, 0], [0, 0], **two | {"guard": "laneid == 0", "coords": ["cbx", 1, 1, 0]})
    yield form("im2col, 3 stages", FOUR, [0, 0], [0, 0], swizzle=3, stages=3, pixels=24, coord_steps=[[0, 2, 1, 8]])
    n: Document = {"name": "n", "min": 0, "max": 3}
    yield form(
        "im2col, offsets n", FOUR, [-1, -1], [0, 0], im2col_offsets=["n", "2 * n"], coords=[0, "n - 1", 2, 0], symbols=[n], values={"n": 2}
    )
    w: Document = {"name": "W", "min": 3, "max": 9}
    wide: Document = {"shape": [3, 5, "W", 32], "pitch": ["160 * W", "32 * W", 32, 1], "symbols": [w], "values": {"W": 7}}
    yield form("im2col, W pixels wide", FOUR, [0, -1], [0, 0], coords=[0, 1, "W - 2", 0], **wide)
    yield form("im2col store, W pixels wide", STORE.format(4), [0, 1], [0, 0], coords=[0, 1, "W - 2", 0], **wide)


def walk_forms() -> list[Form]:
    """Every form of sm_90 that walks over pixels."""
    return [*ranks(), *swizzled(), *sampled(), *outside(), *sliced(), *clusters()]
