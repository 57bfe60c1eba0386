"""Calls of tcgen05.cp: what is legal, and each rule broken once; by sentence, with the clause that fails ("" for none)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.simulator.forms import PACKINGS, copy

Document = dict[str, Any]
N = {"name": "n", "min": 0, "max": 3}
GUARD = "elected and warpid == 0"


def changed(document: Document, *, target: Document | None = None, source: Document | None = None, **more: Any) -> Document:
    """A call with other keys, of its operands too."""
    first, second = document["operands"]
    return {**document, "operands": [{**first, **(target or {})}, {**second, **(source or {})}], **more}


def plain(shape: str = "128x128b", swizzle: int = 0, **more: Any) -> Document:
    return changed(copy(shape, swizzle), **more)


def column(term: object, shape: str = "128x128b", **more: Any) -> Document:
    """A copy to a column of a wider view."""
    found = copy(shape, 0)
    rows, words = found["operands"][0]["shape"]
    layout = (
        found["operands"][0]["layout"]
        .replace(f"({rows},{words})", f"({rows},512)")
        .replace(" + 12@TCol", "")
        .replace(f",{words})", ",512)")
    )
    target = {"shape": [rows, 512], "layout": layout, "view": [{"op": "slice", "begin": [0, term], "extent": [None, words]}]}
    return changed(found, target=target, **more)


def staged(term: object, stages: int = 4, align: int = 1024, **more: Any) -> Document:
    """A source that is one stage of a ring, under the swizzle of 128 bytes."""
    source = {
        "align": align,
        "shape": [stages, 128, 32],
        "layout": f"Swizzle(2,3,3) o S[({stages},128,32):(4096,32,1)]",
        "view": [{"op": "slice", "begin": [term, 0, 8], "extent": [1, None, 8]}, {"op": "reshape", "shape": [128, 8]}],
    }
    return changed(copy("128x256b", 3), source=source, **more)


def repeated(count: int = 4, *, apart: int = 4, chunk: int = 512) -> Document:
    """`count` copies side by side: words of a row in shared memory 16 bytes apart, in tensor memory `apart` columns."""
    target = {"shape": [count, 128, 4], "layout": f"S[({count},128,4):({apart}@TCol,1@TLane,1@TCol)]"}
    source = {"shape": [count, 128, 4], "layout": f"S[({count},128,4):({chunk},4,1)]", "view": []}
    return plain(target=target, source=source, parameters={"descriptor": [0, 128, 0]})


def short(count: int) -> Document:
    """Four rows of eight words in an allocation of `count` bytes."""
    return changed(copy("4x256b", 0), source={"size_bytes": count})


PAIR = {"block": [128], "cluster": [2]}
CASES: dict[str, tuple[Callable[[], Document], str]] = {
    **{
        f"{shape}{packing}, swizzle {swizzle}": (lambda s=shape, p=packing, w=swizzle: copy(s, w, p), "")
        for shape in ("128x256b", "128x128b", "4x256b", "64x128b.warpx2::02_13", "64x128b.warpx2::01_23", "32x128b.warpx4")
        for swizzle, packing in ((0, ""), (1, PACKINGS[1]), (2, PACKINGS[2]), (3, ""))
    },
    "a pair": (lambda: copy("128x256b", 3, group=2), ""),
    "a column that a symbol chooses": (lambda: column("4*n", symbols=[{**N, "max": 127}]), ""),
    "the last columns": (lambda: column(508), ""),
    "a column by a fact": (lambda: column("n", symbols=[{**N, "max": 508}], assume=["n % 4 == 0"]), ""),
    "a stage": (lambda: staged("n", symbols=[N]), ""),
    "a stage by the CTA": (lambda: staged("cbx", launch={"block": [128], "cluster": [4]}), ""),
    "four in a row": (repeated, ""),
    "a predicate": (lambda: plain(parameters={"descriptor": [2176, 128, 0], "pred": "n > 0"}, symbols=[N]), ""),
    "a predicate that is never true": (lambda: column(2, parameters={"descriptor": [2176, 128, 0], "pred": False}), ""),
    "raw words": (lambda: plain(target={"dtype": "bits32"}, source={"dtype": "float32"}), ""),
    "words of bytes": (
        lambda: plain(
            source={"dtype": "uint8", "shape": [128, 16], "layout": "S[(128,16):(16,1)]", "view": [{"op": "view", "dtype": "uint32"}]}
        ),
        "",
    ),
    "LDO of a row of one chunk": (lambda: plain(parameters={"descriptor": [0, 128, 0]}), ""),
    "rows of the first group alone": (lambda: plain("4x256b", parameters={"descriptor": [256, 0, 0]}), ""),
    "a whole block of eight rows": (lambda: short(384), ""),
    # broken
    "a column that is no multiple of four": (lambda: column("n", symbols=[N]), "dst.image"),
    "a copy that starts in lane 32": (lambda: plain("4x256b", target={"layout": "S[(4,8):(32@TLane,1@TCol)] + 32@TLane"}), "dst.image"),
    "a lane on": (lambda: plain("4x256b", target={"layout": "S[(4,8):(32@TLane,1@TCol)] + 1@TLane"}), "dst.image"),
    "rows in neighbouring lanes": (lambda: plain("4x256b", target={"layout": "S[(4,8):(1@TLane,1@TCol)]"}), "dst.image"),
    "rows in turns": (lambda: plain(target={"layout": "S[(2,64,4):(1@TLane,2@TLane,1@TCol)]"}), "dst.image"),
    "words two columns apart": (lambda: plain(target={"layout": "S[(128,4):(1@TLane,2@TCol)]"}), "dst.image"),
    "01_23 as 02_13": (
        lambda: plain("64x128b.warpx2::01_23", target={"layout": "S[(64,4):(1@TLane,1@TCol)] + R[2:64@TLane]"}),
        "dst.replica",
    ),
    "02_13 with the lanes of 01_23": (
        lambda: plain("64x128b.warpx2::02_13", target={"layout": "S[(2,32,4):(64@TLane,1@TLane,1@TCol)] + R[2:64@TLane]"}),
        "dst.image",
    ),
    "no replica": (lambda: plain("32x128b.warpx4", target={"layout": "S[(32,4):(1@TLane,1@TCol)]"}), "dst.replica"),
    "three replicas": (lambda: plain("32x128b.warpx4", target={"layout": "S[(32,4):(1@TLane,1@TCol)] + R[3:32@TLane]"}), "dst.replica"),
    "a replica too many": (lambda: plain(target={"layout": "S[(128,4):(1@TLane,1@TCol)] + R[2:4@TCol]"}), "dst.replica"),
    "replicas 16 lanes apart": (
        lambda: plain("32x128b.warpx4", target={"layout": "S[(32,4):(1@TLane,1@TCol)] + R[4:16@TLane]"}),
        "dst.replica",
    ),
    "behind the last column": (lambda: plain(target={"layout": "S[(128,4):(1@TLane,1@TCol)] + 512@TCol"}), "dst.footprint"),
    "past the size": (lambda: plain(target={"layout": "S[(128,4):(1@TLane,1@TCol)] + 32@TCol", "size_bytes": 32 * 512}), "dst.footprint"),
    "past the view": (lambda: column("4*n", symbols=[{**N, "max": 128}]), "dst.bounds"),
    "a shape of more rows": (
        lambda: plain("32x128b.warpx4", target={"shape": [64, 4], "layout": "S[(64,4):(1@TLane,1@TCol)] + R[2:32@TLane]"}),
        "dst.shape",
    ),
    "a source of fewer words": (
        lambda: plain("128x256b", source={"view": [{"op": "slice", "begin": [0, 0], "extent": [128, 4]}]}),
        "src.shape",
    ),
    "repeats that differ": (lambda: changed(repeated(4), source=repeated(2)["operands"][1]), "src.shape"),
    "repeats two columns apart": (lambda: repeated(2, apart=6), "dst.image"),
    "halves in tensor memory": (lambda: plain(target={"dtype": "float16"}), "dst.storage"),
    "bytes in shared memory": (lambda: plain(source={"dtype": "uint8"}), "src.storage"),
    "a source in global memory": (lambda: plain(source={"space": "global"}), "src.storage"),
    "a target in registers": (lambda: plain(target={"space": "register", "layout": "S[(128,4):(4,1)]"}), "dst.storage"),
    "SDO of another pitch": (lambda: plain(parameters={"descriptor": [2176, 256, 0]}), "src.descriptor"),
    "LDO of another pitch": (lambda: plain("128x256b", parameters={"descriptor": [2048, 128, 0]}), "src.descriptor"),
    "another swizzle": (lambda: plain("128x256b", 3, parameters={"descriptor": [16, 1024, 2]}), "src.descriptor"),
    "a swizzle of elements of other majors": (lambda: plain("128x256b", 3, parameters={"descriptor": [16, 1024, 4]}), "src.descriptor"),
    "a stride that is no multiple of 16": (lambda: plain(parameters={"descriptor": [2176, 120, 0]}), "src.descriptor"),
    "a stride that is too long": (lambda: plain("128x256b", 3, parameters={"descriptor": [1 << 18, 1024, 3]}), "src.descriptor"),
    "a start inside 16 bytes": (
        lambda: plain(source={"layout": "S[(128,4):(4,1)] + 2"}, parameters={"descriptor": [0, 128, 0]}),
        "src.aligned",
    ),
    "a base of which too little is known": (lambda: staged("n", symbols=[N], align=512), "src.base.period"),
    "five rows behind four": (lambda: short(256), "src.backing"),
    "four rows and no more": (
        lambda: plain(
            "4x256b", source={"shape": [4, 8], "layout": "S[(4,2,4):(4,16,1)]", "view": []}, parameters={"descriptor": [64, 128, 0]}
        ),
        "src.backing",
    ),
    "a row short of the block": (lambda: short(368), "src.backing"),
    "more shared memory than there is": (lambda: plain(source={"size_bytes": 232_449}), "src.backing"),
    "no descriptor": (lambda: plain(parameters={}), "operands"),
    "two fields": (lambda: plain(parameters={"descriptor": [16, 128]}), "operands"),
    "a major": (lambda: plain(parameters={"descriptor": [16, 128, 0], "a_major": "k"}), "operands"),
    "one operand": (lambda: {**plain(), "operands": plain()["operands"][:1]}, "operands"),
    "no cluster for a pair": (lambda: {**copy("128x128b", 0, group=2), "launch": {"block": [128]}, "guard": GUARD}, "cluster"),
    "an odd cluster": (lambda: {**copy("128x128b", 0, group=2), "launch": {"block": [128], "cluster": [3]}}, "cluster"),
    "a plain architecture": (lambda: plain(arch="sm_100"), "opcode"),
    "an architecture without tensor memory": (lambda: plain(arch="sm_120a"), "opcode"),
    "32 rows without a qualifier": (lambda: plain(opcode="tcgen05.cp.cta_group::1.32x128b"), "opcode"),
}
