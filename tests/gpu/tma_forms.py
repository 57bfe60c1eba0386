"""Tensor copies that a GPU reconstructs: swizzles, widths and phases, ranks, element strides, slices, what lies outside, clusters, reductions.

The image of a box lies in a buffer of its own, pitched as the hardware wants it; the allocation of the tensor is larger than its extents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from tests.gpu.documents import POLICIES, Form
from tilecheck.contracts.tma import REDUCTIONS

LOAD = "cp.async.bulk.tensor.{}d.shared::{}.global.tile.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.tensor.{}d.global.shared::cta.tile.bulk_group"
REDUCE = "cp.reduce.async.bulk.tensor.{}d.global.shared::cta.{}.tile.bulk_group"
PREFETCH = "cp.async.bulk.prefetch.tensor.{}d.L2.global.tile"
FLAT, CAST = LOAD.format(2, "cta"), LOAD.format(2, "cluster") + ".multicast::cluster"
KEEPS = {1: 4, 2: 3, 4: 2, 8: 1}
"""log2 of the elements in a chunk of 16 bytes, by bytes of an element."""
DTYPES = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}
SPANS = {0: 0, 1: 32, 2: 64, 3: 128}
SLICES = {1: 16, 2: 32}
Document = dict[str, Any]


def listed(values: list[Any]) -> str:
    return ",".join(map(str, values))


def compact(shape: list[int]) -> list[int]:
    return [prod(shape[k + 1 :]) for k in range(len(shape))]


def bytes_of(dtype: str) -> int:
    return max(8, int("".join(c for c in dtype.partition("_")[0] if c.isdigit())[-2:])) // 8


def image(
    box: list[int], size: int, swizzle: int, *, stages: int = 1, phase: int = 0, atoms: str = "", rows: int = 0, **fields: Any
) -> Document:
    """The shape and layout of what a box fills: rows at their pitch, stages at multiples of 128 bytes, `phase` lines behind the base; atoms: the swizzle written."""
    strides, interleave = fields.get("element_strides", [1] * len(box)), fields.get("interleave", 0)
    shape = [-(-extent // stride) for extent, stride in zip(box, strides, strict=True)]
    shape[0] = rows or shape[0]
    if interleave:
        shape = [shape[0], 1, *shape[2:], SLICES[interleave] // size]
    pitch = max(shape[-1], 0 if interleave else SPANS.get(swizzle, 128) // size)
    steps = [1]
    for extent in reversed(shape[:-1]):
        steps.insert(0, pitch)
        pitch *= extent
    if stages > 1:
        shape, steps = [stages, *shape], [-(-pitch * size // 128) * 128 // size, *steps]
    pattern = f"{atoms or f'Swizzle({KEEPS[size]},{swizzle},3)'} o " if swizzle else ""
    offset = f" + {phase * 128 // size}" if phase else ""
    return {"shape": shape, "layout": f"{pattern}S[({listed(shape)}):({listed(steps)})]{offset}", "align": 1024, "size_bytes": 16 << 10}


def form(name: str, opcode: str, shape: list[Any], box: list[int], *, dtype: str = "uint16", swizzle: int = 0, **fields: Any) -> Form:
    """A copy of one box: `pitch` are the strides of the tensor, compact where none are given; the other fields are the call's."""
    own = {key: fields.pop(key) for key in ("stages", "phase", "atoms", "rows") if key in fields}
    shared = {"name": "S", "space": "shared", "dtype": dtype} | image(box, bytes_of(dtype), swizzle, **own, **fields)
    whole = [*shape, SLICES[fields["interleave"]] // bytes_of(dtype)] if fields.get("interleave") else shape
    strides = fields.pop("pitch", None) or compact(whole)
    tensor = {"name": "T", "space": "global", "dtype": dtype, "shape": whole, "layout": f"S[({listed(whole)}):({listed(strides)})]"}
    tensor |= {"align": 64, "size_bytes": 48 << 10}
    launch: Document = {"block": [32], "cluster": fields.pop("cluster", None)}
    guard = fields.pop("guard", "laneid == 0 and cbx == 0" if launch["cluster"] else "laneid == 0")
    values: Mapping[str, int] = fields.pop("values", {})
    symbols = fields.pop("symbols", [])
    loads, arch = "mbarrier" in opcode, fields.pop("arch", "sm_90a")
    parameters = {"box": box, "coords": fields.pop("coords", [0] * len(box)), "swizzle": swizzle, **fields}
    found: Document = {"schema": "tilecheck/call@1", "id": name, "opcode": opcode, "arch": arch, "scope": "thread", "launch": launch}
    found |= {"guard": guard, "symbols": symbols, "parameters": parameters | ({"mbar": "shared"} if loads else {})}
    found["operands"] = [tensor] if "prefetch" in opcode else [shared, tensor] if loads else [tensor, shared]
    return Form("tma", name, found, values)


def swizzled() -> Iterator[Form]:
    """Rows below and at the span, elements of 1 to 8 bytes, every phase of a line."""
    for swizzle in range(4):
        span = SPANS[swizzle] or 128
        for width in sorted({16, span // 2, span}):
            for size in (1, 2, 4, 8):
                name = f"swizzle {swizzle}, rows of {width} bytes of {size}"
                yield form(name, FLAT, [32, 256 // size], [9, width // size], dtype=DTYPES[size], swizzle=swizzle)
        for phase in (1, 3, 7):
            yield form(f"swizzle {swizzle}, phase {phase}", FLAT, [32, 64], [6, span // 2 // 2], swizzle=swizzle, phase=phase)
    for dtype in ("float16", "bfloat16", "float32", "float64", "int32", "int64"):
        yield form(f"{dtype}, cut", FLAT, [30, 64], [8, 16], dtype=dtype, swizzle=0, coords=[26, 0])
    for at in ([3, 8], [-2, 56]):
        yield form(f"rounded to tf32 at {at}", FLAT, [32, 64], [4, 32], dtype="float32", swizzle=3, coords=at, format="tf32")
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        yield form(f"{dtype}, NaN outside", FLAT, [32, 64], [4, 16], dtype=dtype, coords=[-2, 56], oob_fill=1)
    for stages in (2, 4):
        yield form(f"{stages} stages", FLAT, [64, 64], [8, 64], swizzle=3, stages=stages, coord_steps=[[8, 0]])


def ranks() -> Iterator[Form]:
    """Every rank, to both windows and to global memory."""
    shape, box = [2, 3, 4, 5, 32], [1, 2, 3, 2, 16]
    for rank in range(1, 6):
        there, here = shape[-rank:], box[-rank:]
        for space in ("cta", "cluster"):
            for swizzle in (0, 1, 3):
                name = f"rank {rank} to shared::{space}, swizzle {swizzle}"
                yield form(name, LOAD.format(rank, space), there, here, swizzle=swizzle)
        yield form(f"store of rank {rank}", STORE.format(rank), there, here, dtype="uint32", swizzle=2)
        yield form(f"reduction of rank {rank}", REDUCE.format(rank, "add"), there, here, dtype="uint32", swizzle=2)
        yield form(f"prefetch of rank {rank}", PREFETCH.format(rank), there, here, swizzle=1)


def sampled() -> Iterator[Form]:
    """Element strides, and slices of channels."""
    for strides in ([2, 1], [3, 1], [8, 1]):
        for swizzle in (0, 3):
            yield form(f"strides {strides}, swizzle {swizzle}", FLAT, [64, 64], [24, 32], swizzle=swizzle, element_strides=strides)
    four = LOAD.format(4, "cta")
    yield form("strides (1, 3, 2), swizzle 2", four, [2, 9, 9, 32], [1, 9, 6, 16], swizzle=2, element_strides=[1, 3, 2, 1])
    shape, box = [2, 3, 4, 5, 12], [2, 1, 2, 2, 8]
    for interleave, swizzle in ((1, 0), (1, 1), (1, 2), (1, 3), (2, 1)):
        for rank in (3, 4, 5):
            there, here = shape[:2] + shape[7 - rank :], box[:2] + box[7 - rank :]
            at = [0, 1, *[0] * (rank - 2)]
            name = f"interleave {interleave}, swizzle {swizzle}, rank {rank}"
            yield form(name, LOAD.format(rank, "cta"), there, here, swizzle=swizzle, interleave=interleave, coords=at)


def outside() -> Iterator[Form]:
    """Boxes that cross each side of the tensor, loaded, stored and combined."""
    for at in ([-3, 0], [-3, -8], [30, 0], [0, 56], [30, 56], [0, -8], [40, 0], [0, 128]):
        yield form(f"load at {at}", FLAT, [32, 64], [8, 32], swizzle=2, coords=at)
        if min(at) >= 0:
            yield form(f"store at {at}", STORE.format(2), [32, 64], [8, 32], swizzle=2, coords=at)
            yield form(f"reduction at {at}", REDUCE.format(2, "xor"), [32, 64], [8, 16], dtype="int32", swizzle=2, coords=at)
    for inner in (100, 97):
        ends: dict[str, Any] = {"coords": [4, 80], "pitch": [112, 1]}
        yield form(f"store past an extent of {inner}", STORE.format(2), [16, inner], [8, 32], **ends)
        yield form(f"sums past an extent of {inner}", REDUCE.format(2, "add"), [16, inner], [8, 32], dtype="float16", **ends)
        yield form(f"bits past an extent of {inner}", REDUCE.format(2, "or"), [16, inner], [8, 32], dtype="uint32", **ends)


def views() -> Iterator[Form]:
    """Parts of tensors, axes in another order, rows that overlap, rows that are all one."""
    part: Document = {"op": "slice", "begin": [5, 16], "extent": [20, 40]}
    for opcode in (FLAT, STORE.format(2), REDUCE.format(2, "add")):
        found = form(f"part of a tensor, {opcode.split('.tile')[0]}", opcode, [32, 64], [8, 16], dtype="uint32", swizzle=2, coords=[15, 28])
        tensor = next(one for one in found.document["operands"] if one["name"] == "T")  # type: ignore[attr-defined]
        tensor["view"] = [part]
        yield found
    three = LOAD.format(3, "cta")
    yield form("axes in another order", three, [6, 4, 32], [3, 2, 16], swizzle=1, coords=[1, 1, 8], pitch=[32, 256, 1])
    yield form("rows that overlap", FLAT, [32, 64], [8, 32], swizzle=2, coords=[3, 16], pitch=[8, 1])
    yield form("one row many times", FLAT, [32, 64], [8, 32], swizzle=2, coords=[28, 16], pitch=[0, 1])


def clusters() -> Iterator[Form]:
    """Two CTAs: multicast to each set of them, a copy by each, a store by one."""
    two: dict[str, Any] = {"swizzle": 3, "cluster": [2]}
    for mask in (1, 2, 3):
        yield form(f"multicast {mask}", CAST, [32, 64], [8, 64], cta_mask=mask, **two)
    each: dict[str, Any] = {"guard": "laneid == 0", "coords": ["8 * cbx", 0], **two}
    yield form("multicast to the other", CAST, [32, 64], [8, 64], cta_mask="2 - cbx", **each)
    yield form("a load by each CTA", LOAD.format(2, "cluster"), [32, 64], [8, 64], **each)
    yield form("a store by each CTA", STORE.format(2), [32, 64], [8, 64], **each)
    yield form("a reduction by each CTA", REDUCE.format(2, "add"), [32, 64], [8, 32], dtype="uint32", **{**each, "coords": ["4 * cbx", 0]})


def symbolic() -> Iterator[Form]:
    """Coordinates, extents and strides that the host is given; cache policies."""
    n: Document = {"name": "n", "min": 0, "max": 3}
    k: Document = {"name": "K", "min": 64, "max": 256, "multiple_of": 8}
    rows: Document = {"name": "M", "min": 1, "max": 64}
    yield form("start n", FLAT, [32, 64], [8, 32], swizzle=2, coords=["3 * n", "8 * n"], symbols=[n], values={"n": 3})
    given: dict[str, Any] = {"pitch": ["K", 1], "symbols": [k, rows], "values": {"K": 72, "M": 5}}
    yield form("symbolic tensor", FLAT, ["M", "K"], [8, 32], swizzle=2, coords=[1, 48], **given)
    yield form("store to a symbolic tensor", STORE.format(2), ["M", "K"], [8, 32], swizzle=2, coords=[1, 48], **given)
    policy: dict[str, Any] = {"symbols": [{"name": "policy", "min": 0}], "values": {"policy": POLICIES["first"]}, "cache_policy": "policy"}
    for opcode in (FLAT, STORE.format(2), PREFETCH.format(2), REDUCE.format(2, "add")):
        yield form(f"{opcode}.L2::cache_hint", f"{opcode}.L2::cache_hint", [32, 64], [8, 32], dtype="uint32", swizzle=3, **policy)


def reductions() -> Iterator[Form]:
    """Every operator with every type it takes."""
    for operator, dtypes in REDUCTIONS.items():
        for k, dtype in enumerate(dtypes):
            swizzle = k % 4
            width = (SPANS[swizzle] or 128) // bytes_of(dtype)
            yield form(
                f"{operator} of {dtype}", REDUCE.format(2, operator), [20, 80], [8, width], dtype=dtype, swizzle=swizzle, coords=[3, 16]
            )
    met: dict[str, Any] = {"stages": 3, "coord_steps": [[1, 0]]}
    for operator in ("add", "max", "xor", "inc"):
        yield form(f"{operator} of boxes that meet", REDUCE.format(2, operator), [20, 80], [4, 32], dtype="uint32", swizzle=3, **met)


def tma_forms() -> list[Form]:
    """Every form of sm_90 that moves a box."""
    return [*swizzled(), *ranks(), *sampled(), *outside(), *views(), *clusters(), *symbolic(), *reductions()]


def later_tma_forms() -> list[Form]:
    """Chosen rows, packed nibbles, pairs of CTAs and wider atoms, which sm_100 has."""
    later: dict[str, Any] = {"arch": "sm_100a"}
    gather, scatter = FLAT.replace(".tile.", ".tile::gather4."), STORE.format(2).replace(".tile.", ".tile::scatter4.")
    packed = {
        "name": "S",
        "space": "shared",
        "dtype": "float4_e2m1fn",
        "shape": [4, 128],
        "layout": "S[(4,8,16):(256,32,1)]",
        "align": 1024,
    }
    nibbles = form("packed nibbles", FLAT, [16, 256], [4, 128], dtype="float4_e2m1fn", coords=[2, 128], **later)
    nibbles.document["operands"][0] = packed  # type: ignore[index]
    pair = f"{LOAD.format(2, 'cluster')}.cta_group::2"
    wider = {4: "Swizzle(4,2,2)", 5: "Swizzle(2,1,4) o Swizzle(4,2,2)", 6: "Swizzle(5,1,1)"}
    chosen: dict[str, Any] = {"gather4": [3, 1, 17, 8], "rows": 4, "swizzle": 3, **later}
    return [
        form("gathered rows", gather, [32, 64], [1, 64], **chosen),
        form("scattered rows", scatter, [32, 64], [1, 64], **chosen),
        nibbles,
        *(form(f"swizzle {k}", FLAT, [32, 64], [8, 64], swizzle=k, atoms=text, **later) for k, text in wider.items()),
        form("a pair of CTAs", pair, [32, 64], [8, 64], swizzle=3, cluster=[2], **later),
    ]
