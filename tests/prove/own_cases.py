"""Cases of our own, one for each sentence of docs/explanation/clauses.md and of the rulings that the case files do not reach.

Each name is the sentence; `expect` is the status, `clause` the failing clause that must be named ("only" with `alone`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Document = dict[str, Any]
Extents = Sequence[int]


@dataclass(frozen=True)
class Own:
    """One case: what it says, what is expected of it, which clauses fail (all of them, by short name or full id)."""

    expect: str
    document: Document
    clause: str | None = None
    hazard: str | None = None
    alone: bool = True


CASES: dict[str, Own] = {}


def case(
    name: str, document: Document, expect: str = "proved", clause: str | None = None, hazard: str | None = None, *, alone: bool = True
) -> None:
    assert name not in CASES, name
    CASES[name] = Own(expect, document, clause, hazard, alone)


def refuted(name: str, clause: str, document: Document, *, alone: bool = True) -> None:
    case(name, document, "refuted", clause, alone=alone)


def symbol(name: str = "n", low: int | None = 0, high: int | None = 3, varies: str = "grid", multiple_of: int = 1) -> Document:
    found: Document = {"name": name, "multiple_of": multiple_of, "varies": varies}
    return found | ({} if low is None else {"min": low}) | ({} if high is None else {"max": high})


def compact(shape: Extents) -> str:
    strides, running = list[int](), 1
    for extent in reversed(shape):
        strides.insert(0, running)
        running *= extent
    return f"S[({','.join(map(str, shape))}):({','.join(map(str, strides))})]" if shape else "S[1:1]"


def registers(shape: Extents, layout: str | None = None, dtype: str = "uint32", **more: Any) -> Document:
    return {"name": "R", "space": "register", "dtype": dtype, "shape": list(shape), "layout": layout or compact(shape), **more}


def memory(
    shape: Sequence[int | str], layout: str | None = None, dtype: str = "uint32", space: str = "global", align: int = 16, **more: Any
) -> Document:
    text = layout or compact([n for n in shape if isinstance(n, int)])
    return {"name": "A", "space": space, "dtype": dtype, "shape": list(shape), "layout": text, "align": align, **more}


def start(*begin: int | str, extent: Sequence[int | None]) -> Document:
    return {"op": "slice", "begin": list(begin), "extent": list(extent)}


def call(
    opcode: str,
    operands: Sequence[Document],
    scope: str = "thread",
    block: Extents | None = (32,),
    cluster: Extents | None = None,
    **more: Any,
) -> Document:
    document: Document = {
        "schema": "tilecheck/call@1",
        "opcode": opcode,
        "scope": scope,
        "operands": list(operands),
        "symbols": [],
        "parameters": {},
    }
    if block is not None:
        document["launch"] = {"block": list(block), "cluster": None if cluster is None else list(cluster)}
    return document | more


def load(group: Extents, layout: str, scope: str, block: Extents, **more: Any) -> Document:
    """ld.global.b32 of one word a thread; `layout` is that of the registers, whose last axis is the word."""
    shape = (*group, 1)
    return call("ld.global.b32", [registers(shape, layout), memory(shape)], scope, block, **more)


def matrix(
    group: Extents = (), layout: str = "S[(1,8,4):(1,4@laneid,1@laneid)]", scope: str = "warp", block: Extents = (32,), **more: Any
) -> Document:
    """ldmatrix x1; `layout` is that of the registers."""
    shape = (*group, 1, 8, 4)
    return call("ldmatrix.sync.aligned.m8n8.x1.shared.b16", [registers(shape, layout), memory(shape, space="shared")], scope, block, **more)


def one(**more: Any) -> Document:
    """ld.global.b32 of one word by each thread."""
    return call("ld.global.b32", [registers([1]), memory([1])], **more)


def at(begin: int | str, size: int = 16, opcode: str = "ld.global.b32", **more: Any) -> Document:
    """A word at a start in a row of `size` words, at thread scope."""
    return call(opcode, [registers([1]), memory([size], view=[start(begin, extent=[1])])], **more)


def matrix_at(begin: int | str, size: int = 4, **more: Any) -> Document:
    """ldmatrix x1 of one of `size` tiles."""
    view = [start(begin, 0, 0, 0, extent=[1, 1, 8, 4]), {"op": "reshape", "shape": [1, 8, 4]}]
    source = memory([size, 1, 8, 4], space="shared", view=view)
    document = matrix(**more)
    document["operands"][1] = source
    return document


LANES = "S[(32,1):(1@laneid,1)]"
BOTH = "S[(2,32,1):(1@warpid,1@laneid,1)]"
WARPS = "S[(2,1,8,4):(1@warpid,1,4@laneid,1@laneid)]"

# --- thread scope ----------------------------------------------------------------------------------------------------

case("every second thread may execute a thread instruction at thread scope", one(guard="laneid % 2 == 0"))
case("a data-dependent guard is fine at thread scope", one(guard="v > 0", symbols=[symbol("v", 0, 1, "thread")]))
case("the default launch of thread scope is one thread", one(block=None))
case("a last partial warp is fine at thread scope", one(block=(40,)))
case("a thread axis of extent one is not written", call("ld.global.b32", [registers([1, 1], "S[(1,1):(1@laneid,1)]"), memory([1, 1])]))
case("an offset of zero on a thread axis is not written", call("ld.global.b32", [registers([1], "S[1:1] + 0@laneid"), memory([1])]))
case(
    "a thread axis of stride zero is not written",
    call("st.global.b32", [memory([4, 1]), registers([4, 1], "S[(4,1):(0@laneid,1)]")], block=(1,)),
)
refuted(
    "no thread axis is written at thread scope",
    "owner",
    call("st.global.b32", [memory([4, 1]), registers([4, 1], "S[(4,1):(1@laneid,1)]")], block=(1,)),
)
refuted(
    "no offset on a thread axis is written at thread scope",
    "owner",
    call("ld.global.b32", [registers([1], "S[1:1] + 1@warpid"), memory([1])], block=(64,)),
)
refuted(
    "a warp instruction at thread scope",
    "participation",
    call("ldmatrix.sync.aligned.m8n8.x1.shared.b16", [registers([1, 8, 4]), memory([1, 8, 4], space="shared")]),
)

# --- warp scope ------------------------------------------------------------------------------------------------------

case("a whole warp", load([32], LANES, "warp", (32,)))
case("the default launch of warp scope is one warp", load([32], LANES, "warp", (32,)) | {"launch": None})
case("the lower half of a warp has extent 16", load([16], "S[(16,1):(1@laneid,1)]", "warp", (32,), guard="laneid < 16"))
case("coordinate k is the k-th active lane", load([16], "S[(16,1):(1@laneid,1)] + 16@laneid", "warp", (32,), guard="laneid >= 16"))
case("the even lanes", load([16], "S[(16,1):(2@laneid,1)]", "warp", (32,), guard="laneid % 2 == 0"))
case(
    "lanes in two runs", load([4], "S[(2,2,1):(16@laneid,1@laneid,1)]", "warp", (32,), guard="laneid < 2 or (laneid >= 16 and laneid < 18)")
)
case("one warp of two executes", load([32], LANES, "warp", (64,), guard="warpid == 1"))
case("an axis beyond the scope that is right", load([32], LANES + " + 1@warpid", "warp", (64,), guard="warpid == 1"))
case("lane 0 needs no lane axis", load([1], "S[(1,1):(1,1)]", "warp", (32,), guard="laneid == 0"))
refuted("the group extent counts active lanes", "shape", load([32], LANES, "warp", (32,), guard="laneid < 16"))
refuted(
    "coordinate 0 is the first active lane, not lane 0", "owner", load([16], "S[(16,1):(1@laneid,1)]", "warp", (32,), guard="laneid >= 16")
)
refuted(
    "a hole among the lanes moves the lanes behind it", "owner", load([31], "S[(31,1):(1@laneid,1)]", "warp", (32,), guard="laneid != 3")
)
refuted(
    "warps with different numbers of lanes",
    "participation",
    load([16], "S[(16,1):(1@laneid,1)]", "warp", (64,), guard="laneid < 16 + warpid"),
)
refuted("an axis beyond the scope that is wrong", "owner", load([32], LANES + " + 1@warpid", "warp", (64,)))
refuted("an axis beyond the scope is the executing warp's in every warp", "owner", load([32], LANES + " + 1@wgid", "warp", (256,)))
refuted("a missing lane axis means lane 0", "owner", load([32], "S[(32,1):(0,1)]", "warp", (32,)))
refuted("a lane axis of stride zero counts as missing", "owner", load([32], "S[(32,1):(0@laneid,1)]", "warp", (32,)))
refuted("a partial last warp has another extent", "participation", load([32], LANES, "warp", (40,)))
case("a partial last warp left out", load([32], LANES, "warp", (40,), guard="warpid == 0"))
case("lanes that every warp has", load([8], "S[(8,1):(1@laneid,1)]", "warp", (40,), guard="laneid < 8"))

# --- warp collectives ------------------------------------------------------------------------------------------------

case("a warp executes ldmatrix", matrix())
case("each of two warps executes ldmatrix", matrix(block=(64,)))
case("a guard on whole warps", matrix(block=(128,), guard="warpid % 2 == 0"))
case("a guard on tx that is a guard on whole warps", matrix(block=(64,), guard="tx < 32"))
case("a guard that holds for every lane", matrix(guard="laneid <= 31"))
case("a guard uniform in the grid", matrix(guard="n > 3", symbols=[symbol("n", None, None)]))
case("a guard uniform in a warp", matrix(block=(64,), guard="v > 0", symbols=[symbol("v", 0, 1, "warp")]))
refuted("half a warp", "participation", matrix(guard="laneid < 16"))
refuted("a guard that splits the second warp", "participation", matrix(block=(64,), guard="tx < 40"))
refuted("a guard that splits a warp for some values only", "participation", matrix(guard="laneid < n", symbols=[symbol("n", 31, 32)]))
case("a guard that splits no warp for the values there are", matrix(guard="laneid < n", symbols=[symbol("n", 32, 40)]))
refuted("a guard that each thread decides", "participation", matrix(guard="v > 0", symbols=[symbol("v", 0, 1, "thread")]))
refuted("a last warp that is not whole", "participation", matrix(block=(40,)))
case("a last warp that is not whole left out", matrix(block=(40,), guard="warpid < 1"))
refuted("the elected lane alone", "participation", matrix(guard="elected"))
case("elected or not", matrix(guard="elected or not elected"))
refuted("two runs of lanes of a warp", "participation", matrix(guard="laneid < 16 or laneid > 20"))

# --- warpgroup scope -------------------------------------------------------------------------------------------------

GROUP = "S[(4,32,1):(1@wid_in_wg,1@laneid,1)]"
case("a whole warpgroup", load([4, 32], GROUP, "warpgroup", (128,)))
case("the default launch of warpgroup scope is four warps", load([4, 32], GROUP, "warpgroup", (128,)) | {"launch": None})
case("two warpgroups", load([4, 32], GROUP, "warpgroup", (256,)))
case("the second warpgroup", load([4, 32], GROUP, "warpgroup", (256,), guard="wgid == 1"))
case(
    "the second warpgroup by its warps",
    load([4, 32], "S[(4,32,1):(1@warpid,1@laneid,1)] + 4@warpid", "warpgroup", (256,), guard="wgid == 1"),
)
case("tid_in_wg names the threads of a warpgroup", load([4, 32], "S[(128,1):(1@tid_in_wg,1)]", "warpgroup", (256,)))
case(
    "eight lanes of each warp of a warpgroup", load([4, 8], "S[(4,8,1):(1@wid_in_wg,1@laneid,1)]", "warpgroup", (128,), guard="laneid < 8")
)
refuted(
    "warpid names no warp of a warpgroup where there are two",
    "owner",
    load([4, 32], "S[(4,32,1):(1@warpid,1@laneid,1)]", "warpgroup", (256,)),
)
refuted(
    "two warps of a warpgroup",
    "participation",
    load([2, 32], "S[(2,32,1):(1@wid_in_wg,1@laneid,1)]", "warpgroup", (128,), guard="warpid < 2"),
)
refuted("three warps are no warpgroup", "participation", load([3, 32], "S[(3,32,1):(1@wid_in_wg,1@laneid,1)]", "warpgroup", (96,)))
refuted("a partial second warpgroup", "participation", load([4, 32], GROUP, "warpgroup", (160,)))
refuted("four warps across two warpgroups", "participation", load([4, 32], GROUP, "warpgroup", (256,), guard="warpid >= 2 and warpid < 6"))
refuted(
    "warpgroups with different numbers of lanes",
    "participation",
    load([4, 8], "S[(4,8,1):(1@wid_in_wg,1@laneid,1)]", "warpgroup", (256,), guard="laneid < 8 + wgid"),
)
refuted(
    "one warp of a warpgroup with fewer lanes", "participation", load([4, 32], GROUP, "warpgroup", (128,), guard="laneid < 32 - wid_in_wg")
)
case("a warpgroup executes ldmatrix", matrix([4], "S[(4,1,8,4):(1@wid_in_wg,1,4@laneid,1@laneid)]", "warpgroup", (128,)))
refuted(
    "three warps of a warpgroup execute ldmatrix",
    "participation",
    matrix([4], "S[(4,1,8,4):(1@wid_in_wg,1,4@laneid,1@laneid)]", "warpgroup", (128,), guard="wid_in_wg != 3"),
)

# --- cta scope -------------------------------------------------------------------------------------------------------

case("a CTA of two warps", load([2, 32], BOTH, "cta", (64,)))
case("the warps from 2 on", load([2, 32], BOTH + " + 2@warpid", "cta", (128,), guard="warpid >= 2"))
case("the even warps", load([2, 32], "S[(2,32,1):(2@warpid,1@laneid,1)]", "cta", (128,), guard="warpid % 2 == 0"))
case("eight lanes of each warp", load([2, 8], "S[(2,8,1):(1@warpid,1@laneid,1)]", "cta", (64,), guard="laneid < 8"))
case("warp 0 needs no warp axis", load([1, 32], "S[(1,32,1):(1,1@laneid,1)]", "cta", (64,), guard="warpid == 0"))
case("lanes that a partial last warp has too", load([2, 8], "S[(2,8,1):(1@warpid,1@laneid,1)]", "cta", (40,), guard="laneid < 8"))
case("a partial only warp", load([1, 20], "S[(1,20,1):(1,1@laneid,1)]", "cta", (20,)))
case("a partial last warp left out at cta scope", load([1, 32], "S[(1,32,1):(1,1@laneid,1)]", "cta", (40,), guard="warpid == 0"))
refuted("the even warps are not the first ones", "owner", load([2, 32], BOTH, "cta", (128,), guard="warpid % 2 == 0"))
refuted("a missing warp axis means warp 0", "owner", load([1, 32], "S[(1,32,1):(1,1@laneid,1)]", "cta", (64,), guard="warpid == 1"))
refuted("forty threads are no product", "participation", load([2, 32], BOTH, "cta", (64,), guard="tx < 40"))
refuted(
    "one warp and half of another are no product", "participation", load([2, 32], BOTH, "cta", (64,), guard="laneid < 16 or warpid == 0")
)
refuted(
    "a diagonal is no product", "participation", load([2, 2], "S[(2,2,1):(1@warpid,1@laneid,1)]", "cta", (64,), guard="laneid == warpid")
)
refuted("a partial last warp at cta scope", "participation", load([2, 32], BOTH, "cta", (40,)))
refuted("the group extents are warps, then lanes", "shape", load([32, 2], "S[(32,2,1):(1@laneid,1@warpid,1)]", "cta", (64,)))
case("each warp of a CTA executes ldmatrix", matrix([2], WARPS, "cta", (64,)))
refuted("the second warp's matrix is not warp 0's", "owner", matrix([2], "S[(2,1,8,4):(4,1,4@laneid,1@laneid)]", "cta", (64,)))
refuted(
    "ldmatrix has no lane axis: it is a repeat, whose words are in the same lanes",
    "owner",
    matrix([2, 32], "S[(2,32,1,8,4):(1@warpid,1@laneid,1,4@laneid,1@laneid)]", "cta", (64,)),
    alone=False,
)
case("ldmatrix of 32 repeats", matrix([2, 32], "S[(2,32,1,8,4):(1@warpid,1,1,4@laneid,1@laneid)]", "cta", (64,)))
case("extents that depend on a symbol and match", load([2, 32], BOTH, "cta", (128,), guard="warpid < n", symbols=[symbol("n", 2, 2)]))
refuted(
    "extents that depend on a symbol and do not match for one value",
    "shape",
    load([2, 32], BOTH, "cta", (64,), guard="warpid < n", symbols=[symbol("n", 1, 2)]),
)
case("extents that a fact fixes", load([2, 32], BOTH, "cta", (128,), guard="warpid < n", symbols=[symbol("n", 0, 4)], assume=["n == 2"]))
case(
    "a window of warps that moves with a symbol",
    load(
        [2, 32],
        "S[(2,32,1):(0,1@laneid,1)] + R[4:1@warpid]",
        "cta",
        (128,),
        guard="warpid >= n and warpid < n + 2",
        symbols=[symbol("n", 0, 2)],
    ),
    "refuted",
    "replica",
)
case(
    "a source that every warp holds may be read in a moving window",
    call(
        "st.global.b32",
        [memory([2, 32, 1]), registers([2, 32, 1], "S[(2,32,1):(0,1@laneid,1)] + R[4:1@warpid]")],
        "cta",
        (128,),
        guard="warpid >= n and warpid < n + 2",
        symbols=[symbol("n", 0, 2)],
    ),
)

# --- ownership coordinates -------------------------------------------------------------------------------------------

case("tx names the threads of a one-dimensional block", load([2, 32], "S[(64,1):(1@tx,1)]", "cta", (64,)))
case("trailing extents of one are no dimension", load([2, 32], "S[(64,1):(1@tx,1)]", "cta", (64, 1, 1)))
case("tx in two factors", load([2, 32], "S[(2,32,1):(32@tx,1@tx,1)]", "cta", (64,)))
refuted("tx with the warps' weight wrong", "owner", load([2, 32], "S[(2,32,1):(1@tx,2@tx,1)]", "cta", (64,)))
case("wgid and wid_in_wg name eight warps", load([8, 32], "S[(2,4,32,1):(1@wgid,1@wid_in_wg,1@laneid,1)]", "cta", (256,)))
refuted("wgid and wid_in_wg exchanged", "owner", load([8, 32], "S[(4,2,32,1):(1@wid_in_wg,1@wgid,1@laneid,1)]", "cta", (256,)))
case("wgid and tid_in_wg name the threads of eight warps", load([8, 32], "S[(2,128,1):(1@wgid,1@tid_in_wg,1)]", "cta", (256,)))
refuted("tid_in_wg alone leaves the warpgroup open", "owner", load([8, 32], "S[(2,128,1):(0,1@tid_in_wg,1)]", "cta", (256,)))
case("tid_in_wg alone names the threads of four warps", load([4, 32], "S[(128,1):(1@tid_in_wg,1)]", "cta", (128,)))
case("wid_in_wg alone names four warps", load([4, 32], GROUP, "cta", (128,)))
refuted("wid_in_wg alone does not name eight warps", "owner", load([8, 32], "S[(8,32,1):(1@wid_in_wg,1@laneid,1)]", "cta", (256,)))
case("the lanes of two warps by warpid and tx would need both right", load([2, 32], "S[(2,32,1):(32@tx,1@tx,1)] + 0@warpid", "cta", (64,)))
refuted("two axes must both be right", "owner", load([2, 32], "S[(2,32,1):(1@warpid,1@tx,1)]", "cta", (64,)))
case("an offset on a thread axis", load([2, 32], BOTH + " + 1@warpid", "cta", (96,), guard="warpid >= 1"))
refuted("an offset on a thread axis that is one too many", "owner", load([2, 32], BOTH + " + 1@warpid", "cta", (96,), guard="warpid < 2"))
case(
    "an offset that makes up for a negative stride",
    load([2, 32], "S[(2,32,1):(1@warpid,-1@laneid,1)] + 31@laneid", "cta", (64,)),
    "refuted",
    "owner",
)
case("lanes and warps in factors of their own shape", load([2, 32], "S[(2,4,8,1):(1@warpid,8@laneid,1@laneid,1)]", "cta", (64,)))
refuted("lanes in the wrong order", "owner", load([2, 32], "S[(2,4,8,1):(1@warpid,1@laneid,4@laneid,1)]", "cta", (64,)))
refuted("matrix words in the wrong lanes", "owner", matrix(layout="S[(1,8,4):(1,1@laneid,8@laneid)]"))
refuted("matrix words transposed by the wrong permutation", "owner", matrix(layout="S[(1,2,4,4):(1,4@laneid,8@laneid,1@laneid)]"))
case("matrix words owned by tx", matrix(layout="S[(1,8,4):(1,4@tx,1@tx)]"))

# --- blocks of two and three dimensions ------------------------------------------------------------------------------

case("warpid and laneid count linear threads of a two-dimensional block", load([2, 32], BOTH, "cta", (8, 8)))
case("and of a three-dimensional one", load([2, 32], BOTH, "cta", (4, 4, 4)))
refuted("tx alone identifies no thread of a two-dimensional block", "owner", load([32], "S[(32,1):(1@tx,1)]", "warp", (32, 2)))
refuted("tx counts x only", "owner", load([2, 32], "S[(64,1):(1@tx,1)]", "cta", (8, 8)))
case(
    "a guard on tx in a two-dimensional block", load([2, 16], "S[(2,4,4,1):(1@warpid,8@laneid,1@laneid,1)]", "cta", (8, 8), guard="tx < 4")
)
case("a guard on tx in a three-dimensional block", load([2, 8], "S[(2,8,1):(1@warpid,4@laneid,1)]", "cta", (4, 4, 4), guard="tx == 0"))
refuted(
    "rows of twelve threads do not divide a warp",
    "participation",
    load([3, 16], "S[(3,16,1):(1@warpid,1@laneid,1)]", "cta", (12, 8), guard="tx < 6"),
)
case("a two-dimensional block of whole warps executes ldmatrix", matrix([2], WARPS, "cta", (16, 4)))
refuted("a two-dimensional block with a partial last warp does not", "participation", matrix([2], WARPS, "cta", (10, 5)))
refuted("a column of a two-dimensional block is no warp", "participation", matrix(block=(8, 4), guard="tx == 0"))

# --- clusters --------------------------------------------------------------------------------------------------------

X = "S[(2,1,32,1):(1@cbx,1,1@laneid,1)]"
case("a cluster of two CTAs has one axis", load([2, 1, 32], X, "cluster", (32,), cluster=(2, 1, 1)))
case("trailing extents may be left out", load([2, 1, 32], X, "cluster", (32,), cluster=(2,)))
case(
    "a cluster [2,1,2] has three axes, z first",
    load([2, 1, 2, 1, 32], "S[(2,1,2,1,32,1):(1@cbz,1@cby,1@cbx,1,1@laneid,1)]", "cluster", (32,), cluster=(2, 1, 2)),
)
case("a cluster [1,2] has two axes", load([2, 1, 1, 32], "S[(2,1,1,32,1):(1@cby,1,1,1@laneid,1)]", "cluster", (32,), cluster=(1, 2)))
case(
    "a cluster of one CTA has one axis of extent one",
    load([1, 1, 32], "S[(1,1,32,1):(1,1,1@laneid,1)]", "cluster", (32,), cluster=(1, 1, 1)),
)
refuted(
    "a cluster of one CTA has an axis all the same",
    "shape",
    load([1, 32], "S[(1,32,1):(1,1@laneid,1)]", "cluster", (32,), cluster=(1, 1, 1)),
)
refuted(
    "undeclared axes are left out",
    "shape",
    load([1, 1, 2, 1, 32], "S[(1,1,2,1,32,1):(1,1,1@cbx,1,1@laneid,1)]", "cluster", (32,), cluster=(2, 1, 1)),
)
refuted(
    "the axes come z, y, x", "owner", load([2, 2, 1, 32], "S[(2,2,1,32,1):(1@cbx,1@cby,1,1@laneid,1)]", "cluster", (32,), cluster=(2, 2))
)
refuted("a missing CTA axis means CTA 0", "owner", load([2, 1, 32], "S[(2,1,32,1):(0,1,1@laneid,1)]", "cluster", (32,), cluster=(2,)))
case("CTA 0 needs no axis", load([1, 1, 32], "S[(1,1,32,1):(1,1,1@laneid,1)]", "cluster", (32,), cluster=(2,), guard="cbx == 0"))
case("CTA 1 by an offset", load([1, 1, 32], "S[(1,1,32,1):(1,1,1@laneid,1)] + 1@cbx", "cluster", (32,), cluster=(2,), guard="cbx == 1"))
refuted("CTA 1 without one", "owner", load([1, 1, 32], "S[(1,1,32,1):(1,1,1@laneid,1)]", "cluster", (32,), cluster=(2,), guard="cbx == 1"))
case(
    "one row of a cluster of two rows",
    load([1, 2, 1, 32], "S[(1,2,1,32,1):(1,1@cbx,1,1@laneid,1)] + 1@cby", "cluster", (32,), cluster=(2, 2), guard="cby == 1"),
)
refuted(
    "a diagonal of a cluster is no product",
    "participation",
    load([1, 1, 1, 32], "S[(1,1,1,32,1):(1,1,1,1@laneid,1)]", "cluster", (32,), cluster=(2, 2), guard="cbx == cby"),
)
refuted(
    "CTAs with different warps are no product",
    "participation",
    load([2, 2, 32], "S[(2,2,32,1):(1@cbx,1@warpid,1@laneid,1)]", "cluster", (64,), cluster=(2,), guard="warpid <= cbx"),
)
case("the rank counts x first", load([2, 2, 1, 32], "S[(2,2,1,32,1):(1@cby,1@cbx,1,1@laneid,1)]", "cluster", (32,), cluster=(2, 2)))
case("at cta scope each CTA of a cluster executes on its own", load([2, 32], BOTH, "cta", (64,), cluster=(2,)))
refuted("an axis of another CTA at cta scope", "owner", load([2, 32], BOTH + " + 1@cbx", "cta", (64,), cluster=(2,)))
case("an axis of the executing CTA at cta scope", load([2, 32], BOTH + " + 1@cbx", "cta", (64,), cluster=(2,), guard="cbx == 1"))
case(
    "the warps of a cluster execute ldmatrix",
    matrix([2, 2], "S[(2,2,1,8,4):(1@cbx,1@warpid,1,4@laneid,1@laneid)]", "cluster", (64,), cluster=(2,)),
)
case("a guard by CTA at thread scope", one(cluster=(2, 2, 2), guard="cbz == 1 and cby == 0"))

# --- memory with ownership -------------------------------------------------------------------------------------------


def cluster_shared(layout: str, **more: Any) -> Document:
    """ld.shared.b32 by a cluster of two CTAs of a warp."""
    shape = [2, 1, 32, 1]
    return call("ld.shared.b32", [registers(shape, X), memory(shape, layout, space="shared")], "cluster", (32,), (2,), **more)


def warp_local(layout: str, **more: Any) -> Document:
    """ld.local.b32 by a warp."""
    return call("ld.local.b32", [registers([32, 1], LANES), memory([32, 1], layout, space="local")], "warp", (32,), **more)


case("shared memory without CTA axes is the executing CTA's own", cluster_shared("S[(2,1,32,1):(32,32,1,1)]"))
case("shared memory with the executing CTA's axis", cluster_shared("S[(2,1,32,1):(1@cbx,32,1,1)]"))
refuted("shared memory of the other CTA", "owner", cluster_shared("S[(2,1,32,1):(-1@cbx,32,1,1)] + 1@cbx"))
refuted("shared memory of one CTA for both", "owner", cluster_shared("S[(2,1,32,1):(0,32,1,1)] + 1@cbx"))
refuted("shared memory has no lanes", "owner", cluster_shared("S[(2,1,32,1):(1@cbx,32,1@laneid,1)]"))
case("local memory without axes is the executing thread's own", warp_local("S[(32,1):(1,1)]"))
case("local memory with the executing lane's axis", warp_local("S[(32,1):(1@laneid,1)]"))
refuted("local memory of another lane", "owner", warp_local("S[(32,1):(-1@laneid,1)] + 31@laneid"))
refuted("local memory of lane 1 for all", "owner", warp_local("S[(32,1):(1,1)] + 1@laneid"))
refuted(
    "global memory has no thread axis",
    "owner",
    call("ld.global.b32", [registers([32, 1], LANES), memory([32, 1], "S[(32,1):(1@laneid,1)]")], "warp"),
)
refuted(
    "global memory has no CTA axis",
    "owner",
    call("ld.global.b32", [registers([2, 1, 32, 1], X), memory([2, 1, 32, 1], "S[(2,1,32,1):(1@cbx,32,1,1)]")], "cluster", (32,), (2,)),
)
refuted(
    "a thread axis of memory at thread scope",
    "owner",
    call("ld.local.b32", [registers([1]), memory([1], "S[1:1] + 1@laneid", space="local")], block=(2,), guard="laneid == 1"),
)

# --- replicas --------------------------------------------------------------------------------------------------------


def store(layout: str, **more: Any) -> Document:
    """st.global.b32 of one word of each lane of a warp."""
    return call("st.global.b32", [memory([32, 1]), registers([32, 1], layout)], "warp", (32,), **more)


case("a source may be read from any replica", store("S[(32,1):(0,1)] + R[32:1@laneid]"))
refuted("no replica is the executing lane", "owner", store("S[(32,1):(0,1)] + R[16:1@laneid]"))
case("a replica beside the owner", store("S[(32,1):(1@laneid,1)] + R[2:32@laneid]"))
case("replicas of even lanes and odd lanes", store("S[(32,1):(0,1)] + R[(16,2):(2@laneid,1@laneid)]"))
refuted("replicas of the even lanes only", "owner", store("S[(32,1):(0,1)] + R[16:2@laneid]"))
refuted("a destination has no replica", "replica", call("ld.global.b32", [registers([1], "S[1:1] + R[2:8]"), memory([1])]))
refuted(
    "a destination has no replica in other lanes", "replica", load([32], LANES + " + R[2:1@warpid]", "warp", (64,), guard="warpid == 0")
)
case("a replica of extent one is none", call("ld.global.b32", [registers([1], "S[1:1] + R[1:8]"), memory([1])]))
COPIES = memory([1], "S[1:1] + R[k:8]")
case(
    "a replica that is one for all values is none", call("st.global.b32", [COPIES, registers([1])], block=(1,), symbols=[symbol("k", 0, 1)])
)
refuted("a replica that may be two", "replica", call("st.global.b32", [COPIES, registers([1])], block=(1,), symbols=[symbol("k", 0, 2)]))
PITCHED = memory(["n", 1], "S[(n,1):(n,1)] + R[2:1]", view=[start(0, 0, extent=[1, 1])])
refuted(
    "a replica beside a symbolic stride",
    "replica",
    call("st.global.b32", [PITCHED, registers([1, 1])], block=(1,), symbols=[symbol("n", -1, 3)], assume=["n >= 1"]),
)
case("a replica of stride zero is none", call("ld.global.b32", [registers([1], "S[1:1] + R[4:0]"), memory([1])]))
case(
    "stmatrix reads a matrix that both warps hold",
    call(
        "stmatrix.sync.aligned.m8n8.x1.shared.b16",
        [memory([2, 1, 8, 4], space="shared"), registers([2, 1, 8, 4], "S[(2,1,8,4):(0,1,4@laneid,1@laneid)] + R[2:1@warpid]")],
        "cta",
        (64,),
    ),
)
refuted(
    "memory that is written has no replica", "replica", call("st.global.b32", [memory([1], "S[1:1] + R[2:8]"), registers([1])], block=(1,))
)

# --- elected ---------------------------------------------------------------------------------------------------------

case("the elected lane at thread scope", one(guard="elected"))
case("the elected lane may be any of 32", at("laneid", 32, guard="elected"))
refuted("the elected lane may be lane 31", "bounds", at("laneid", 31, guard="elected"))
case("the elected lane of a partial warp exists", at("laneid", 20, block=(20,), guard="elected"))
refuted("the elected lane has group extent one", "shape", load([32], LANES, "warp", (32,), guard="elected"))
refuted("the elected lane's register needs its lane", "owner", load([1], "S[(1,1):(1,1)]", "warp", (32,), guard="elected"))
case(
    "a guard on elected that every thread satisfies, under a false pred",
    load([32], LANES, "warp", (64,), guard="wid_in_wg < 4 or elected", parameters={"pred": "false"}),
)
case(
    "a source register that every lane holds",
    call("st.global.b32", [memory([1, 1]), registers([1, 1], "S[(1,1):(1,1)] + R[32:1@laneid]")], "warp", (32,), guard="elected"),
)
refuted("all lanes but the elected one", "owner", load([31], "S[(31,1):(1@laneid,1)]", "warp", (32,), guard="not elected"))
refuted(
    "elected at cta scope is one lane of each warp, and not the same one",
    "owner",
    load([2, 1], "S[(2,1,1):(1@warpid,1,1)]", "cta", (64,), guard="elected"),
)

# --- symbols that vary -----------------------------------------------------------------------------------------------

for level in ("grid", "cluster", "cta", "warp", "thread"):
    case(f"a start of a thread instruction may vary by {level}", at("v", 4, symbols=[symbol("v", 0, 3, level)]))
for level in ("grid", "cluster", "cta", "warp"):
    case(f"a start of ldmatrix may vary by {level}", matrix_at("v", symbols=[symbol("v", 0, 3, level)]))
    case(f"a predicate of ldmatrix may vary by {level}", matrix(parameters={"pred": "v > 0"}, symbols=[symbol("v", 0, 3, level)]))
refuted("a start of ldmatrix may not vary by thread", "participation", matrix_at("v", symbols=[symbol("v", 0, 3, "thread")]))
case("a start of ldmatrix that varies by thread and has one value", matrix_at("v // 4", symbols=[symbol("v", 0, 3, "thread")]))
refuted(
    "a predicate of ldmatrix may not vary by thread",
    "participation",
    matrix(parameters={"pred": "v > 0"}, symbols=[symbol("v", 0, 3, "thread")]),
)
case("a predicate of ld may vary by thread", one(parameters={"pred": "v > 0"}, symbols=[symbol("v", 0, 3, "thread")]))
for level in ("grid", "cluster", "cta"):
    case(f"a guard at cta scope may vary by {level}", load([2, 32], BOTH, "cta", (64,), guard="v > 0", symbols=[symbol("v", 0, 1, level)]))
for level in ("warp", "thread"):
    refuted(
        f"a guard at cta scope may not vary by {level}",
        "participation",
        load([2, 32], BOTH, "cta", (64,), guard="v > 0", symbols=[symbol("v", 0, 1, level)]),
        alone=False,
    )
refuted(
    "a guard at cluster scope may not vary by cta",
    "participation",
    load([2, 1, 32], X, "cluster", (32,), cluster=(2,), guard="v > 0", symbols=[symbol("v", 0, 1, "cta")]),
    alone=False,
)
case(
    "a guard at cluster scope may vary by cluster",
    load([2, 1, 32], X, "cluster", (32,), cluster=(2,), guard="v > 0", symbols=[symbol("v", 0, 1, "cluster")]),
)
case("a guard of ldmatrix at warp scope may vary by warp", matrix(block=(128,), guard="v == 0", symbols=[symbol("v", 0, 1, "warp")]))
refuted(
    "a guard of ldmatrix at warpgroup scope may not vary by warp",
    "participation",
    matrix([4], "S[(4,1,8,4):(1@wid_in_wg,1,4@laneid,1@laneid)]", "warpgroup", (128,), guard="v > 0", symbols=[symbol("v", 0, 1, "warp")]),
    alone=False,
)
refuted("a varying start must be in bounds for each value", "bounds", at("v", 3, symbols=[symbol("v", 0, 3, "thread")]))

refuted(
    "an assumption that names a coordinate is an activity condition as a whole",
    "participation",
    load([2, 32], BOTH, "cta", (64,), assume=["v > 0 and tid_in_wg >= 0"], symbols=[symbol("v", 0, 1, "thread")]),
    alone=False,
)
case(
    "an assumption that names none is a fact, even of a symbol that varies",
    load([2, 32], BOTH, "cta", (64,), guard="v > 0", assume=["v > 0"], symbols=[symbol("v", 0, 1, "thread")]),
)
case(
    "a fact that ties a symbol of threads to one of the grid excludes values, not threads",
    load([2, 32], BOTH, "cta", (64,), guard="v != 0", assume=["v + k >= 1"], symbols=[symbol("k", -1, 0), symbol("v", 0, 3, "thread")]),
)
refuted(
    "a fact that leaves a symbol of threads two values does not decide the guard",
    "participation",
    load([2, 32], BOTH, "cta", (64,), guard="v != 1", assume=["v + k >= 1"], symbols=[symbol("k", -1, 0), symbol("v", 0, 3, "thread")]),
    alone=False,
)

# --- uniformity of collectives ---------------------------------------------------------------------------------------

refuted("a start of ldmatrix depends on the lane", "participation", matrix_at("laneid % 4"))
case("a start of ldmatrix is the same for all lanes", matrix_at("laneid // 32"))
case("a start of ldmatrix by warp", matrix_at("warpid", block=(128,)))
case("a start of ldmatrix by tx // 32", matrix_at("tx // 32", block=(128,)))
case("a start of ldmatrix by tid_in_wg // 32", matrix_at("tid_in_wg // 32", block=(256,)))
refuted("a start of ldmatrix by tx // 16", "participation", matrix_at("tx // 16", block=(64,)))
refuted("a start of ldmatrix by select on the lane", "participation", matrix_at("select(laneid < 16, 0, 1)"))
case("a start of ldmatrix by select that takes one arm", matrix_at("select(laneid < 32, 0, 1)"))
refuted("a predicate of ldmatrix by lane", "participation", matrix(parameters={"pred": "laneid < 16"}))
case("a predicate of ldmatrix that holds for every lane", matrix(parameters={"pred": "laneid < 32"}))
case("a predicate of ldmatrix by warp", matrix(block=(64,), parameters={"pred": "warpid == 0"}))
refuted("an elected predicate of ldmatrix", "participation", matrix(parameters={"pred": "elected"}))
refuted("a start that differs only in one warp", "participation", matrix_at("select(warpid == 1, laneid // 16, 0)", block=(64,)))
case(
    "a start that differs only in a warp that does not execute",
    matrix_at("select(warpid == 1, laneid // 16, 0)", block=(64,), guard="warpid == 0"),
)
refuted(
    "a start of the register operand counts too",
    "participation",
    call(
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16",
        [
            registers([2, 1, 8, 4], "S[(2,1,8,4):(1,1,4@laneid,1@laneid)]", view=[start("laneid % 2", 0, 0, 0, extent=[1, 1, 8, 4])]),
            memory([1, 1, 8, 4], space="shared"),
        ],
        "warp",
    ),
)

# --- starts that depend on the thread --------------------------------------------------------------------------------


def moving(size: int, begin: str, **more: Any) -> Document:
    """A warp reads word begin + k in lane k of a row of `size` words."""
    return call("ld.global.b32", [registers([32, 1], LANES), memory([size, 1], view=[start(begin, 0, extent=[32, 1])])], "warp", **more)


case("each thread evaluates its own start for its own coordinate", moving(63, "laneid"))
refuted("each thread's whole region must be inside", "bounds", moving(62, "laneid"))
case("a start by warp", moving(96, "warpid * 32", block=(96,)))
refuted("a start by warp of a warp too many", "bounds", moving(96, "warpid * 32", block=(128,)))
case("a start by warp of a warp that does not execute", moving(96, "warpid * 32", block=(128,), guard="warpid < 3"))
case("a start at thread scope by tx", at("tx", 64, block=(64,)))
refuted("a start at thread scope by tx one too far", "bounds", at("tx + 1", 64, block=(64,)))
case("a start by tx in a two-dimensional block", at("tx", 8, block=(8, 8)))
case("a start by CTA", at("cbx + 2 * cby", 4, block=(1,), cluster=(2, 2)))
refuted(
    "alignment of every thread's start",
    "aligned",
    call("ld.global.v2.b32", [registers([2]), memory([64], view=[start("laneid", extent=[2])])]),
)
case("alignment of even starts", call("ld.global.v2.b32", [registers([2]), memory([64], view=[start("laneid * 2", extent=[2])])]))
case("a start that is in bounds for the threads that execute", at("laneid", 16, guard="laneid < 16"))
case("a start that is in bounds for the threads whose pred holds", at("laneid", 16, parameters={"pred": "laneid < 16"}))

# --- facts -----------------------------------------------------------------------------------------------------------

case("no warp 5 in a block of two warps", load([2, 32], BOTH, "cta", (64,), guard="warpid == 5"), "vacuous")
case("no lane 32", one(guard="laneid == 32"), "vacuous")
case("a guard that is false", one(guard="false"), "vacuous")
case("an assumption that no value satisfies", at("n", symbols=[symbol("n", 0, 2)], assume=["n > 3"]), "vacuous")
case("a range without values", at("n", symbols=[symbol("n", 3, 2)]), "vacuous")
case("a range without a multiple", at("n", symbols=[symbol("n", 1, 3, multiple_of=4)]), "vacuous")
case("a guard that contradicts an assumption", at("n", symbols=[symbol("n", 0, 9)], assume=["n < 3"], guard="n > 5"), "vacuous")
case("an assumption on coordinates that no thread satisfies", one(assume=["laneid > 40"]), "vacuous")
case(
    "align and base that contradict each other", call("ld.global.b32", [registers([1]), memory([1], base={"mod": 32, "is": 8})]), "vacuous"
)
case("align and base that agree", call("ld.global.b32", [registers([1]), memory([1], base={"mod": 64, "is": 48})]))
case("a fact said twice", at("n", 4, symbols=[symbol("n", 0, 9)], assume=["n < 4", "n < 4"], guard="n < 4"))
case("a fact that bounds a start", at("n", 4, symbols=[symbol("n", 0, 9)], assume=["n < 4"]))
case("a guard that bounds a start", at("n", 4, symbols=[symbol("n", -9, 9)], guard="0 <= n and n < 4"))
refuted("a fact that bounds a start one too loosely", "bounds", at("n", 4, symbols=[symbol("n", 0, 9)], assume=["n <= 4"]))
case("a relation between symbols", at("n + k", 8, symbols=[symbol("n", 0, 9), symbol("k", 0, 9)], assume=["n + k < 8"]))
case("an assumption about coordinates is an activity condition", at("laneid", 16, assume=["laneid < 16"]))
case(
    "a multiple",
    call("ld.global.v4.b32", [registers([4]), memory([16], view=[start("n", extent=[4])])], symbols=[symbol("n", 0, 12, multiple_of=4)]),
)
refuted(
    "a multiple of two only",
    "aligned",
    call("ld.global.v4.b32", [registers([4]), memory([16], view=[start("n", extent=[4])])], symbols=[symbol("n", 0, 12, multiple_of=2)]),
)
case(
    "a ring stage",
    call(
        "ld.global.v4.b32",
        [registers([4]), memory([16], view=[start("n % 4 * 4", extent=[4])])],
        symbols=[symbol("n", -50, 50)],
        block=(1,),
    ),
)

# --- pred ------------------------------------------------------------------------------------------------------------

case("addresses are owed under pred", at("n", 4, symbols=[symbol("n", 0, 9)], parameters={"pred": "n < 4"}))
refuted("addresses are owed where pred holds", "bounds", at("n", 4, symbols=[symbol("n", 0, 9)], parameters={"pred": "n < 5"}))
case("addresses are not owed where pred is false everywhere", at(99, 4, parameters={"pred": "false"}))
refuted(
    "shapes are owed where pred is false everywhere",
    "shape",
    call("ld.global.v2.b32", [registers([1]), memory([1])], parameters={"pred": "false"}),
)
refuted(
    "storage is owed where pred is false everywhere",
    "storage",
    call("ld.global.b64", [registers([1]), memory([1])], parameters={"pred": "false"}),
)
refuted(
    "distinct registers are owed where pred is false everywhere",
    "distinct",
    call("ld.global.v2.b32", [registers([2], "S[2:0]"), memory([2], align=8)], parameters={"pred": "false"}),
)
refuted(
    "owners are owed where pred is false everywhere", "owner", load([32], "S[(32,1):(0,1)]", "warp", (32,), parameters={"pred": "false"})
)
case("indices are not owed where pred is false", at("4 // n", 16, symbols=[symbol("n", 0, 3)], parameters={"pred": "n > 0"}))

# --- bounds and address clauses (rulings 15, 18) ---------------------------------------------------------------------

case("a region up to the end", call("ld.global.v4.b32", [registers([4]), memory([16], view=[start(12, extent=[4])])]))
refuted("a region past the end", "bounds", call("ld.global.v4.b32", [registers([4]), memory([16], view=[start(16, extent=[4])])]))
refuted("a negative start", "bounds", at(-1))
refuted(
    "a whole extent with a start keeps the whole extent",
    "bounds",
    call("ld.global.v4.b32", [registers([4]), memory([4], view=[start(1, extent=[None])])]),
)
case("a whole extent without a start", call("ld.global.v4.b32", [registers([4]), memory([4], view=[start(0, extent=[None])])]))
refuted(
    "a region past an axis but inside the allocation",
    "bounds",
    call("ld.global.b32", [registers([1, 1]), memory([2, 4], view=[start(0, 4, extent=[1, 1])])]),
)
refuted("an element below the base", "bounds", call("ld.global.b32", [registers([2, 1]), memory([2, 1], "S[(2,1):(-4,1)]")]))
case("a negative stride with an offset", call("ld.global.b32", [registers([2, 1]), memory([2, 1], "S[(2,1):(-4,1)] + 4")]))
refuted(
    "two slices, the second past the first's extent",
    "bounds",
    call("ld.global.b32", [registers([1]), memory([16], view=[start(2, extent=[4]), start(4, extent=[1])])]),
)
case("a slice inside a slice", call("ld.global.b32", [registers([1]), memory([16], view=[start(2, extent=[4]), start(3, extent=[1])])]))
refuted("min bounds the wrong arm", "bounds", at("min(n, k)", 4, symbols=[symbol("n", 0, 9), symbol("k", -1, 3)]))
case("min and max clamp", at("min(max(n, 0), 3)", 4, symbols=[symbol("n", -9, 9)]))
case("floor division of a negative start rounds down", at("n // 4 + 3", 4, symbols=[symbol("n", -12, 3)]))
refuted("floor division of a negative start reaches lower than truncation", "bounds", at("n // 4 + 2", 4, symbols=[symbol("n", -9, 3)]))
case("truncated division of the same start", at("tdiv(n, 4) + 2", 4, symbols=[symbol("n", -9, 3)]))
case("floor remainder is never negative", at("n % 4", 4, symbols=[symbol("n", -9, 9)]))
refuted("truncated remainder may be negative", "bounds", at("tmod(n, 4)", 4, symbols=[symbol("n", -9, 9)]))

# --- alignment -------------------------------------------------------------------------------------------------------


def vector(align: int, layout: str = "S[4:1]", **more: Any) -> Document:
    """ld.global.v4.b32 at the start of a tensor."""
    return call("ld.global.v4.b32", [registers([4]), memory([4], layout, align=align, **more)])


case("a base of the vector's alignment", vector(16))
case("a base of more", vector(128))
refuted("a base of half the vector's alignment", "aligned", vector(8))
refuted("an alignment that is no power of two", "aligned", vector(24))
case("an alignment that is three times the vector's", vector(48))
refuted("a known residue that is off", "aligned", vector(8, base={"mod": 32, "is": 24}))
case("a known residue that an offset makes up for", vector(8, "S[4:1] + 2", base={"mod": 32, "is": 24}))
case("a residue of the period that is a multiple", vector(4, base={"mod": 64, "is": 48}))
case("an alignment beside a residue of a larger modulus", vector(16, base={"mod": 24, "is": 0}))
case("an alignment beside a residue that alone is off", vector(16, base={"mod": 24, "is": 8}))
case("two facts that together give the alignment", vector(48, base={"mod": 64, "is": 48}))
refuted("two facts that together do not give the alignment", "aligned", vector(12, base={"mod": 8, "is": 4}))
refuted("an offset in the layout", "aligned", vector(16, "S[4:1] + 2"))
refuted("the second repeat off", "aligned", call("ld.global.v4.b32", [registers([2, 4]), memory([2, 4], "S[(2,4):(6,1)]")]))
refuted(
    "the second lane off",
    "aligned",
    call("ld.global.v4.b32", [registers([32, 4], "S[(32,4):(1@laneid,1)]"), memory([32, 4], "S[(32,4):(6,1)]")], "warp"),
)
refuted(
    "the second warp off",
    "aligned",
    call(
        "ld.global.v4.b32",
        [registers([2, 32, 4], "S[(2,32,4):(1@warpid,1@laneid,1)]"), memory([2, 32, 4], "S[(2,32,4):(130,4,1)]")],
        "cta",
        (64,),
    ),
)
refuted(
    "the last row of a matrix off",
    "aligned",
    call(
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16",
        [registers([1, 8, 4], "S[(1,8,4):(1,4@laneid,1@laneid)]"), memory([1, 8, 4], "S[(1,2,2,2,4):(32,18,8,4,1)]", space="shared")],
        "warp",
    ),
)
case(
    "an allocation shared with an operand of known alignment", call("ld.global.v4.b32", [registers([4]), memory([4], align=16, tensor="T")])
)

# --- dtype views (ruling 10) -----------------------------------------------------------------------------------------

WORDS = {"op": "view", "dtype": "uint32"}


def halves(shape: Sequence[int], layout: str, view: Sequence[Document], **more: Any) -> Document:
    """ld.global.b32 of 16-bit data read as words, one a repeat."""
    return call("ld.global.b32", [registers([2, 1]), memory(shape, layout, "float16", view=list(view))], **more)


case("halves read as words", halves([2, 2], "S[(2,2):(2,1)]", [WORDS]))
case("halves in padded rows read as words", halves([2, 2], "S[(2,2):(6,1)]", [WORDS]))
refuted("rows that begin inside a word", "storage", halves([2, 2], "S[(2,2):(3,1)]", [WORDS]))
refuted("halves that are not neighbours", "storage", halves([2, 2], "S[(2,2):(4,2)]", [WORDS]))
refuted("an offset inside a word", "storage", halves([2, 2], "S[(2,2):(2,1)] + 1", [WORDS]))
refuted("a start inside a word", "storage", halves([2, 4], "S[(2,4):(4,1)]", [start(0, 1, extent=[2, 2]), WORDS]))
case("a start between words", halves([2, 4], "S[(2,4):(4,1)]", [start(0, 2, extent=[2, 2]), WORDS]))
refuted(
    "a symbolic start inside a word",
    "storage",
    halves([2, 8], "S[(2,8):(8,1)]", [start(0, "n", extent=[2, 2]), WORDS], symbols=[symbol("n", 0, 6)]),
)
case(
    "a symbolic start between words",
    halves([2, 8], "S[(2,8):(8,1)]", [start(0, "n", extent=[2, 2]), WORDS], symbols=[symbol("n", 0, 6, multiple_of=2)]),
)
case(
    "a start between words under a fact",
    halves([2, 8], "S[(2,8):(8,1)]", [start(0, "n", extent=[2, 2]), WORDS], symbols=[symbol("n", 0, 6)], assume=["n % 2 == 0"]),
)
refuted(
    "a row that is no whole number of words",
    "storage",
    call("ld.global.b32", [registers([1]), memory([3], "S[3:1]", "float16", view=[WORDS])]),
)
refuted(
    "the base's own alignment is a matter of aligned",
    "aligned",
    call("ld.global.b32", [registers([2, 1]), memory([2, 2], "S[(2,2):(2,1)]", "float16", align=2, view=[WORDS])]),
)
case(
    "words read as halves",
    call(
        "ld.global.b16",
        [
            registers([2, 1], dtype="uint16"),
            memory(
                [2],
                "S[2:1]",
                "uint32",
                view=[
                    {"op": "view", "dtype": "uint16"},
                    {"op": "reshape", "shape": [4]},
                    start(0, extent=[2]),
                    {"op": "reshape", "shape": [2, 1]},
                ],
            ),
        ],
    ),
)
refuted(
    "a swizzle that splits the words of a wider view",
    "storage",
    call(
        "ld.shared.b32",
        [
            registers([16, 1]),
            memory([32], "Swizzle(0,2,3) o S[32:1]", "float16", "shared", view=[WORDS, {"op": "reshape", "shape": [16, 1]}]),
        ],
    ),
)
case(
    "a swizzle that keeps the words of a wider view",
    call(
        "ld.shared.b32",
        [
            registers([16, 1]),
            memory([32], "Swizzle(1,2,2) o S[32:1]", "float16", "shared", view=[WORDS, {"op": "reshape", "shape": [16, 1]}]),
        ],
    ),
)
refuted("a wrong width", "storage", call("ld.global.b64", [registers([1]), memory([1])]), alone=False)
refuted("a wrong space", "storage", call("ld.shared.b32", [registers([1]), memory([1])]))
refuted("registers where memory is expected", "storage", call("ld.global.b32", [registers([1]), registers([1], name="A") | {"name": "A"}]))

# --- types -----------------------------------------------------------------------------------------------------------

case("float data under a u32 opcode is raw bits", call("ld.global.u32", [registers([1], dtype="float32"), memory([1], dtype="float32")]))
case("raw bits", call("ld.global.b128", [registers([1], dtype="bits128"), memory([1], dtype="bits128")]))

# --- index.range (ruling 18) -----------------------------------------------------------------------------------------

WIDE = 1 << 31
refuted(
    "an intermediate result that wraps",
    "index.range",
    at("(n * 4 + 4) % 4", 16, index_dtype="int32", symbols=[symbol("n", (1 << 29) - 2, (1 << 29) - 1)], block=(1,)),
)
case("the same in 64 bits", at("(n * 4 + 4) % 4", 16, symbols=[symbol("n", (1 << 29) - 2, (1 << 29) - 1)], block=(1,)))
case(
    "an intermediate result that just fits",
    at("(n * 4) % 4", 16, index_dtype="int32", symbols=[symbol("n", (1 << 29) - 2, (1 << 29) - 1)], block=(1,)),
)
refuted(
    "a sum with a literal that does not fit",
    "index.range",
    at(f"n + {WIDE} - {WIDE}", 16, index_dtype="int32", symbols=[symbol("n", 0, 3)]),
)
refuted(
    "a negative intermediate result of an unsigned index",
    "index.range",
    at("n - 1 + 1", 16, index_dtype="uint32", symbols=[symbol("n", 0, 3)]),
)
case("a negative intermediate result of a signed index", at("n - 1 + 1", 16, index_dtype="int32", symbols=[symbol("n", 0, 3)]))
refuted("a divisor that may be zero", "index.range", at("4 // n", 16, symbols=[symbol("n", 0, 3)]))
refuted("a divisor that may be negative", "index.range", at("12 + 4 // n", 17, symbols=[symbol("n", -3, 3)], assume=["n != 0"]))
case("a divisor that is positive", at("4 // n", 16, symbols=[symbol("n", 1, 3)]))
refuted("a shift amount that may be negative", "index.range", at("1 << n", 16, symbols=[symbol("n", -1, 3)]), alone=False)
refuted("a shift amount beyond all indices", "index.range", at("1 << 1000000000000"), alone=False)
refuted("a shift of a shift beyond all indices", "index.range", at("1 << (1 << (1 << 40))"), alone=False)
refuted(
    "a symbolic shift amount beyond all indices", "index.range", at("0 << n", symbols=[symbol("n", 4090, 4100)], block=(1,)), alone=False
)
case("a shift amount that is not", at("1 << n", 16, symbols=[symbol("n", 0, 3)]))
case("an arm of select that is not taken", at("select(n > 0, 4 // n, 0)", 16, symbols=[symbol("n", 0, 3)]))
refuted("an arm of select that is taken", "index.range", at("select(n >= 0, 4 // n, 0)", 16, symbols=[symbol("n", 0, 3)]))
case("the second part of a conjunction that is not reached", at("select(n > 0 and 4 // n > 1, n, 0)", 16, symbols=[symbol("n", 0, 3)]))
refuted(
    "the second part of a conjunction that is reached",
    "index.range",
    at("select(n >= 0 and 4 // n > 1, n, 0)", 16, symbols=[symbol("n", 0, 3)]),
)
case("a guard is read in mathematical integers", one(guard=f"n * {1 << 62} * {1 << 62} >= 0", symbols=[symbol("n", 0, 3)]))
case("an assumption is read in mathematical integers", one(assume=[f"n * {1 << 62} * {1 << 62} >= 0"], symbols=[symbol("n", 0, 3)]))
refuted("a divisor of the guard", "index.range", one(guard="4 // n >= 1 or n == 0", symbols=[symbol("n", 0, 3)]))
case("a divisor of the guard that is not reached", one(guard="n == 0 or 4 // n >= 1", symbols=[symbol("n", 0, 3)]))
refuted("a divisor of an assumption", "index.range", one(assume=["4 // n >= 1 or n == 0"], symbols=[symbol("n", 0, 3)]))
refuted("a divisor of pred", "index.range", one(parameters={"pred": "4 // n >= 1"}, symbols=[symbol("n", 0, 3)]))
case("a divisor of pred under a fact", one(parameters={"pred": "4 // n >= 1"}, symbols=[symbol("n", 0, 3)], assume=["n > 0"]))
refuted("a divisor that a lane makes zero", "index.range", one(guard="32 // laneid >= 1"))
case("a divisor of a lane that does not execute", at("32 // laneid", 33, guard="laneid > 0"))
refuted(
    "an accessed offset that wraps",
    "index.range",
    call("ld.global.b32", [registers([3, 1]), memory([3, 1], f"S[(3,1):({1 << 30},1)]")], index_dtype="int32"),
)
case(
    "an accessed offset that does not wrap in 64 bits",
    call("ld.global.b32", [registers([3, 1]), memory([3, 1], f"S[(3,1):({1 << 30},1)]")]),
)
case(
    "an accessed offset that does not wrap in unsigned 32 bits",
    call("ld.global.b32", [registers([3, 1]), memory([3, 1], f"S[(3,1):({1 << 30},1)]")], index_dtype="uint32"),
)
refuted(
    "a negative offset of an unsigned index",
    "index.range",
    call("ld.global.b32", [registers([1]), memory([1], "S[1:1] - 4")], index_dtype="uint32", block=(1,)),
    alone=False,
)
case(
    "an offset that is not accessed",
    call(
        "ld.global.b32",
        [registers([1, 1]), memory([8, 1], f"S[(8,1):({1 << 30},1)]", view=[start(1, 0, extent=[1, 1])])],
        index_dtype="int32",
    ),
)
case("a wrap in lanes that do not execute", at(f"laneid * {1 << 27} // {1 << 27}", 32, index_dtype="int32", guard="laneid < 16"))
refuted(
    "a wrap in a lane that executes", "index.range", at(f"laneid * {1 << 27} // {1 << 27}", 32, index_dtype="int32", guard="laneid <= 16")
)

# --- symbolic tensors ------------------------------------------------------------------------------------------------


def dynamic(begin: str, **more: Any) -> Document:
    """A word of a row of n."""
    return call("ld.global.b32", [registers([1]), memory(["n"], "S[n:1]", view=[start(begin, extent=[1])])], **more)


case("a start below a symbolic extent", dynamic("i", symbols=[symbol("n", None, None), symbol("i", 0, None)], assume=["i < n"]))
refuted("a start at a symbolic extent", "bounds", dynamic("i", symbols=[symbol("n", None, None), symbol("i", 0, None)], assume=["i <= n"]))
case("a symbolic extent is not negative", dynamic("n - 1", symbols=[symbol("n", -3, 8)], assume=["n != 0"]))
refuted("a symbolic extent may be zero", "bounds", dynamic("n - 1", symbols=[symbol("n", -3, 8)]))
refuted(
    "the span of a symbolic layout fits its allocation",
    "backing",
    call(
        "ld.global.b32", [registers([1]), memory(["n"], "S[n:1]", size_bytes=16, view=[start(0, extent=[1])])], symbols=[symbol("n", 1, 5)]
    ),
)
case(
    "a symbolic layout that fits its allocation",
    call(
        "ld.global.b32", [registers([1]), memory(["n"], "S[n:1]", size_bytes=20, view=[start(0, extent=[1])])], symbols=[symbol("n", 1, 5)]
    ),
)
case(
    "a symbolic stride of the alignment",
    call("ld.global.v4.b32", [registers([2, 4]), memory([2, 4], "S[(2,4):(s,1)]")], symbols=[symbol("s", 4, 64, multiple_of=4)]),
)
refuted(
    "a symbolic stride of half the alignment",
    "aligned",
    call("ld.global.v4.b32", [registers([2, 4]), memory([2, 4], "S[(2,4):(s,1)]")], symbols=[symbol("s", 4, 64, multiple_of=2)]),
)

# --- backing (ruling 9) ----------------------------------------------------------------------------------------------


def shared(size: int, arch: str | None = None, opcode: str = "ld.shared.b32") -> Document:
    return call(opcode, [registers([1]), memory([1], space="shared", size_bytes=size)], **({} if arch is None else {"arch": arch}))


LIMITS = {
    "sm_75": 65_536,
    "sm_80": 166_912,
    "sm_86": 101_376,
    "sm_89": 101_376,
    "sm_90": 232_448,
    "sm_90a": 232_448,
    "sm_100": 232_448,
    "sm_100a": 232_448,
    "sm_120": 101_376,
}
for arch, limit in LIMITS.items():
    case(f"the largest shared allocation of {arch}", shared(limit, arch))
    refuted(f"one byte more than the largest shared allocation of {arch}", "backing", shared(limit + 1, arch))
case("the largest shared allocation of any architecture", shared(232_448))
refuted("one byte more than the largest shared allocation of any", "backing", shared(232_449))
refuted(
    "a span larger than the allocation",
    "backing",
    call("ld.global.b32", [registers([1]), memory([4], size_bytes=12, view=[start(0, extent=[1])])]),
)
case("a span of the allocation", call("ld.global.b32", [registers([1]), memory([4], size_bytes=16, view=[start(0, extent=[1])])]))
refuted(
    "a swizzle that widens the span",
    "backing",
    call(
        "ld.shared.b32",
        [registers([1]), memory([9], "Swizzle(0,2,3) o S[9:1]", space="shared", size_bytes=36, view=[start(0, extent=[1])])],
    ),
)
case(
    "a swizzle and an allocation of its whole span",
    call(
        "ld.shared.b32",
        [registers([1]), memory([9], "Swizzle(0,2,3) o S[9:1]", space="shared", size_bytes=40, view=[start(0, extent=[1])])],
    ),
)
refuted(
    "a register file larger than the thread's", "backing", call("ld.global.b32", [registers([1], "S[1:1] + 3", size_bytes=12), memory([1])])
)
case("a large global allocation", call("ld.global.b32", [registers([1]), memory([1], size_bytes=1 << 40)]))

# --- spelling (ruling 34) --------------------------------------------------------------------------------------------

for opcode in ("ld.b32", "ld.const.b32", "ld.param.b32", "ld.volatile.b32"):
    refuted(f"{opcode} writes no explicit space", "space.explicit", call(opcode, [registers([1]), memory([1])]), alone=False)
refuted(
    "ldmatrix without a space",
    "space.explicit",
    call(
        "ldmatrix.sync.aligned.m8n8.x1.b16",
        [registers([1, 8, 4], "S[(1,8,4):(1,4@laneid,1@laneid)]"), memory([1, 8, 4], space="shared")],
        "warp",
    ),
)
case("shared::cluster takes shared memory", call("ld.shared::cluster.b32", [registers([1]), memory([1], space="shared")]))
case("shared::cta takes shared memory", call("ld.shared::cta.b32", [registers([1]), memory([1], space="shared")]))
refuted("a vector of three", "opcode", call("ld.global.v3.b32", [registers([3]), memory([3])]))
refuted("a 256-bit vector in shared memory", "opcode", call("ld.shared.v8.b32", [registers([8]), memory([8], space="shared", align=32)]))
refuted("qualifiers in another order", "opcode", call("ld.b32.global", [registers([1]), memory([1])]))
for arch in ("sm_90", "sm_90a"):
    refuted(f"a 256-bit vector on {arch}", "opcode", call("ld.global.v8.b32", [registers([8]), memory([8], align=32)], arch=arch))
for arch in ("sm_100", "sm_100a", "sm_100f", "sm_120"):
    case(f"a 256-bit vector on {arch}", call("ld.global.v8.b32", [registers([8]), memory([8], align=32)], arch=arch))
refuted(
    "stmatrix before sm_90",
    "opcode",
    call(
        "stmatrix.sync.aligned.m8n8.x1.shared.b16",
        [memory([1, 8, 4], space="shared"), registers([1, 8, 4], "S[(1,8,4):(1,4@laneid,1@laneid)]")],
        "warp",
        arch="sm_89",
    ),
)
case("ldmatrix on sm_75", matrix(arch="sm_75"))

# --- operands and parameters -----------------------------------------------------------------------------------------

refuted("an operand too few", "operands", call("ld.global.b32", [registers([1])]))
refuted("an operand too many", "operands", call("ld.global.b32", [registers([1]), memory([1]), memory([1])]))
refuted("a scalar where a view is expected", "operands", call("ld.global.b32", [registers([1]), {"name": "A", "value": 3}]))
refuted("an unknown parameter", "operands", one(parameters={"box": [1]}))
refuted("preserve_dst without pred", "operands", one(parameters={"preserve_dst": True}))
case("preserve_dst with pred", one(parameters={"preserve_dst": True, "pred": "n > 0"}, symbols=[symbol()]))
refuted(
    "preserve_dst of a store",
    "operands",
    call("st.global.b32", [memory([1]), registers([1])], block=(1,), parameters={"preserve_dst": True, "pred": "true"}),
)
refuted("a cache hint without a policy", "operands", call("ld.global.L2::cache_hint.b32", [registers([1]), memory([1])]))
refuted("a policy without a cache hint", "operands", one(parameters={"cache_policy": 1}))
refuted(
    "a policy that is no unsigned number",
    "operands",
    call("ld.global.L2::cache_hint.b32", [registers([1]), memory([1])], parameters={"cache_policy": -1}),
)

# --- shape -----------------------------------------------------------------------------------------------------------

refuted("an atom of two words under v4", "shape", call("ld.global.v4.b32", [registers([2]), memory([2])]))
refuted(
    "a rank below the atom's",
    "shape",
    call(
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16",
        [registers([8, 4], "S[(8,4):(4@laneid,1@laneid)]"), memory([8, 4], space="shared")],
        "warp",
    ),
)
refuted("repeats that differ", "shape", call("ld.global.b32", [registers([2, 1]), memory([3, 1])]))
refuted("repeats in another order", "shape", call("ld.global.b32", [registers([2, 3, 1]), memory([3, 2, 1])]))
case("any number of repeats", call("ld.global.b32", [registers([2, 3, 1, 2, 1]), memory([2, 3, 1, 2, 1])]))
refuted(
    "a symbolic extent of a region", "shape", call("ld.global.b32", [registers([1]), memory(["n"], "S[n:1]")], symbols=[symbol("n", 1, 1)])
)

# --- distinct --------------------------------------------------------------------------------------------------------

case("slots that interleave", call("ld.global.v4.b32", [registers([2, 4], "S[(2,4):(3,2)]"), memory([2, 4])]))
refuted(
    "slots that meet at a later repeat", "distinct", call("ld.global.b32", [registers([4, 2, 1], "S[(4,2,1):(2,6,1)]"), memory([4, 2, 1])])
)
case("a source may repeat slots", call("st.global.v4.b32", [memory([2, 4]), registers([2, 4], "S[(2,4):(0,1)]")], block=(1,)))
case("two lanes may use one slot", load([32], LANES, "warp", (32,)) | {"id": "slots"})
refuted(
    "two matrices in one register",
    "distinct",
    call(
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16",
        [registers([2, 8, 4], "S[(2,8,4):(0,4@laneid,1@laneid)]"), memory([2, 8, 4], space="shared")],
        "warp",
    ),
)

# --- contiguous ------------------------------------------------------------------------------------------------------

refuted("words two apart", "contiguous", call("ld.global.v2.b32", [registers([2]), memory([2], "S[2:2]")]))
refuted("words in reverse", "contiguous", call("ld.global.v2.b32", [registers([2]), memory([2], "S[2:-1] + 1")]), alone=False)
refuted(
    "a swizzle inside the row",
    "contiguous",
    call("ld.shared.v4.b32", [registers([8, 4]), memory([8, 4], "Swizzle(0,2,3) o S[(8,4):(4,1)]", space="shared")]),
    alone=False,
)
case(
    "a swizzle of whole rows",
    call("ld.shared.v4.b32", [registers([8, 4]), memory([8, 4], "Swizzle(2,2,2) o S[(8,4):(4,1)]", space="shared")]),
)

# --- hazards ---------------------------------------------------------------------------------------------------------


def put(layout: str = "S[1:1]", shape: Extents = (1,), space: str = "global", **more: Any) -> Document:
    return call(f"st.{space}.b32", [memory(shape, layout, space=space), registers(shape)], **more)


case("all threads store to one word", put(), hazard="memory.race")
case("one thread stores", put(block=(1,)))
case("one thread of a block stores to a word that is not the first", put("S[1:1] + 1", guard="laneid == 1"))
case("one elected thread stores", put(guard="elected"))
case("elected threads of two warps store to one word", put(block=(64,), guard="elected"), hazard="memory.race")
case("two repeats store to one word", put("S[(2,1):(0,1)]", (2, 1), block=(1,)), hazard="memory.race")
case("threads store to their own local word", put(space="local"))
case("two CTAs store to their own shared word", put(space="shared", block=(1,), cluster=(2,)))
case("two CTAs store to one global word", put(block=(1,), cluster=(2,)), hazard="memory.race")
case(
    "grid-uniform starts are no second access",
    call("st.global.b32", [memory([4], view=[start("n", extent=[1])]), registers([1])], block=(1,), symbols=[symbol("n", 0, 3)]),
)
case("threads store at starts of their own", call("st.global.b32", [memory([32], view=[start("laneid", extent=[1])]), registers([1])]))
case(
    "varying starts may meet",
    call("st.global.b32", [memory([4], view=[start("v", extent=[1])]), registers([1])], block=(2,), symbols=[symbol("v", 0, 3, "thread")]),
    hazard="memory.race",
)
case("threads whose pred is false do not store", put(parameters={"pred": "laneid == 3"}))
case("vectors that overlap", call("st.global.v2.b32", [memory([2, 2], "S[(2,2):(2,1)]"), registers([2, 2])], block=(1,)))
case(
    "two lanes' rows overlap in stmatrix",
    call(
        "stmatrix.sync.aligned.m8n8.x2.shared.b16",
        [memory([2, 8, 4], "S[(2,8,4):(0,4,1)]", space="shared"), registers([2, 8, 4], "S[(2,8,4):(1,4@laneid,1@laneid)]")],
        "warp",
    ),
    hazard="memory.race",
)

# --- matrices of bytes, and in registers -----------------------------------------------------------------------------

SIXTEEN = "S[(1,2,8,4):(2,1,4@laneid,1@laneid)]"
EIGHT = "S[(1,8,4):(1,4@laneid,1@laneid)]"
FRAGMENT = "S[(8,4):(4@laneid,1@laneid)]"
LOAD_BYTES = "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8"
LOAD_PACKED = "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32"
STORE_BYTES = "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8"
AS_WORDS: Document = {"op": "view", "dtype": "uint32"}


def tile_of(rows: int, layout: str | None = None, **more: Any) -> Document:
    """Shared rows of sixteen bytes, seen as one matrix of words."""
    return memory([1, rows, 16], layout, "uint8", "shared", view=[AS_WORDS], **more)


def bytes_loaded(layout: str = SIXTEEN, source: Document | None = None, opcode: str = LOAD_BYTES, **more: Any) -> Document:
    return call(opcode, [registers([1, 16, 4], layout), source or tile_of(16)], "warp", **more)


def packed_loaded(source: Document | None = None, layout: str = EIGHT, opcode: str = LOAD_PACKED, **more: Any) -> Document:
    return call(opcode, [registers([1, 8, 4], layout), source or tile_of(8)], "warp", **more)


def bytes_stored(target: Document | None = None, layout: str = EIGHT, opcode: str = STORE_BYTES, **more: Any) -> Document:
    return call(opcode, [target or tile_of(8), registers([1, 8, 4], layout)], "warp", **more)


def in_registers(
    target: str = FRAGMENT, source: str = FRAGMENT, shape: Extents = (8, 4), tensor: str | None = None, **more: Any
) -> Document:
    shared = {} if tensor is None else {"tensor": tensor}
    operands = [registers(shape, target, **shared), {**registers(shape, source, **shared), "name": "F"}]
    return call("movmatrix.sync.aligned.m8n8.trans.b16", operands, "warp", **more)


case("a 16x16 matrix of bytes is two registers in each lane", bytes_loaded())
case("a 16x16 matrix of bytes in separated registers", bytes_loaded("S[(1,2,8,4):(9,-3,4@laneid,1@laneid)] + 3"))
refuted("rows 8 to 15 belong to the lanes of rows 0 to 7", "owner", bytes_loaded("S[(1,16,4):(1,2@laneid,1@laneid)]"), alone=False)
refuted("both registers of a 16x16 matrix are one", "distinct", bytes_loaded("S[(1,2,8,4):(2,0,4@laneid,1@laneid)]"))
refuted("a 16x16 matrix of bytes has sixteen rows", "shape", call(LOAD_BYTES, [registers([1, 8, 4], EIGHT), tile_of(8)], "warp"))
refuted("the ninth row of a 16x16 matrix is aligned too", "aligned", bytes_loaded(source=tile_of(16, "S[(1,2,8,16):(0,136,16,1)]")))
case("rows of a 16x16 matrix may lie anywhere at multiples of 16 bytes", bytes_loaded(source=tile_of(16, "S[(1,2,8,16):(0,16,48,1)]")))
refuted("a row of bytes is consecutive", "contiguous", bytes_loaded(source=tile_of(16, "S[(1,16,2,8):(0,32,16,1)]")))
refuted(
    "elements of 8 bits are seen as words first", "storage", bytes_loaded(source=memory([1, 16, 16], None, "uint8", "shared")), alone=False
)
refuted("two matrices are no one matrix of thirty-two rows", "shape", bytes_loaded(opcode=LOAD_BYTES.replace("x1", "x2")))
case("m16n16 in the family of sm_100", bytes_loaded(arch="sm_103a"))
case("m16n16 in the family of sm_110", bytes_loaded(arch="sm_110f"))
case("m16n16 in the family of sm_120", bytes_loaded(arch="sm_121a"))
refuted("m16n16 on plain sm_100", "opcode", bytes_loaded(arch="sm_100"))
refuted("m16n16 on plain sm_120", "opcode", bytes_loaded(arch="sm_120"))
refuted("m16n16 before sm_100", "opcode", bytes_loaded(arch="sm_90a"))
refuted("m16n16 without .trans", "opcode", bytes_loaded(opcode=LOAD_BYTES.replace(".trans", "")))
refuted("a generic m16n16", "space.explicit", bytes_loaded(opcode=LOAD_BYTES.replace(".shared", ""), source=tile_of(16)))
refuted("half a warp loads bytes", "participation", bytes_loaded(guard="laneid < 16"))

case("packed rows of sixteen bytes", packed_loaded())
refuted("packed rows without their padding", "shape", packed_loaded(memory([1, 8, 12], None, "uint8", "shared", view=[AS_WORDS])))
refuted("rows of twelve payload bytes one behind the other", "aligned", packed_loaded(tile_of(8, "S[(1,8,16):(0,12,1)]")))
refuted("an 8x16 fragment in the lanes of its columns", "owner", packed_loaded(layout="S[(1,8,4):(1,1@laneid,8@laneid)]"))
refuted("m8n16 with .trans", "opcode", packed_loaded(opcode=LOAD_PACKED.replace(".x1", ".x1.trans")))
refuted("m8n16 on plain sm_100", "opcode", packed_loaded(arch="sm_100"))

case("a 16x8 matrix of bytes is stored as eight rows", bytes_stored())
refuted("a 16x8 matrix stored to rows 8 bytes off", "aligned", bytes_stored(tile_of(8, "S[(1,8,16):(0,24,1)]")))
refuted("a 16x8 fragment in the lanes of its columns", "owner", bytes_stored(layout="S[(1,8,4):(1,1@laneid,8@laneid)]"))
case("two rows of a 16x8 matrix at one place", bytes_stored(tile_of(8, "S[(1,2,4,16):(0,0,16,1)]")), hazard="memory.race")
refuted("m16n8 on sm_90", "opcode", bytes_stored(arch="sm_90"))
refuted("m16n8 without .trans", "opcode", bytes_stored(opcode=STORE_BYTES.replace(".trans", "")))

case("a warp transposes a matrix in its registers", in_registers())
case("three repeats of movmatrix", in_registers("S[(3,8,4):(2,4@laneid,1@laneid)]", "S[(3,8,4):(1,4@laneid,1@laneid)]", (3, 8, 4)))
case("movmatrix reads any replica of its source", in_registers(source="S[(8,4):(4@laneid,1@laneid)] + R[2:7]"))
refuted("movmatrix writes no replica", "replica", in_registers("S[(8,4):(4@laneid,1@laneid)] + R[2:7]"))
refuted("the source of movmatrix in the lanes of its columns", "src.owner", in_registers(source="S[(8,4):(1@laneid,8@laneid)]"))
refuted("the result of movmatrix in the lanes of its columns", "dst.owner", in_registers("S[(8,4):(1@laneid,8@laneid)]"))
refuted(
    "two repeats of movmatrix into one register",
    "distinct",
    in_registers("S[(2,8,4):(0,4@laneid,1@laneid)]", "S[(2,8,4):(1,4@laneid,1@laneid)]", (2, 8, 4)),
)
refuted("half a warp executes movmatrix", "participation", in_registers(guard="laneid >= 16"))
refuted("movmatrix at thread scope", "participation", {**in_registers(), "scope": "thread"})
refuted("movmatrix by a predicate of lanes", "participation", in_registers(parameters={"pred": "laneid < 4"}))
case("movmatrix by a predicate of the warp", in_registers(parameters={"pred": "n > 1", "preserve_dst": True}, symbols=[symbol()]))
refuted("movmatrix has a source", "operands", call("movmatrix.sync.aligned.m8n8.trans.b16", [registers([8, 4], FRAGMENT)], "warp"))
refuted(
    "movmatrix reads no memory",
    "src.storage",
    call("movmatrix.sync.aligned.m8n8.trans.b16", [registers([8, 4], FRAGMENT), memory([8, 4], space="shared")], "warp"),
)
case("a leading axis of movmatrix is a repeat", in_registers(EIGHT, EIGHT, (1, 8, 4)))
refuted("movmatrix before sm_75", "opcode", in_registers(arch="sm_70"))
case("movmatrix in place reads everything before it writes", in_registers(tensor="X"))
case(
    "the second repeat of movmatrix writes what the first read",
    in_registers("S[(2,8,4):(1,4@laneid,1@laneid)]", "S[(2,8,4):(1,4@laneid,1@laneid)] + 1", (2, 8, 4), "X"),
)
case("movmatrix from one half of an allocation to the other", in_registers("S[(8,4):(4@laneid,1@laneid)] + 1", tensor="X"))
case(
    "the second repeat of movmatrix reads what the first wrote",
    in_registers("S[(2,8,4):(1,4@laneid,1@laneid)] + 1", "S[(2,8,4):(1,4@laneid,1@laneid)]", (2, 8, 4), "X"),
    hazard="alias",
)


# --- axes that a slice cuts to one coordinate are written all the same -----------------------------------------------


def cut(layout: str, shape: Extents, row: int = 0) -> Document:
    """Registers of which a slice takes one row."""
    view = [start(row, *(0 for _ in shape[1:]), extent=[1, *shape[1:]]), {"op": "reshape", "shape": list(shape[1:])}]
    return registers(shape, layout, view=view)


refuted(
    "warp 1 is handed the registers of warp 0",
    "owner",
    call("ld.global.b32", [cut("S[(2,32,1):(1@warpid,1@laneid,1)]", (2, 32, 1)), memory([32, 1])], "warp", (64,)),
)
case(
    "warp 0 alone is handed the registers of warp 0",
    call("ld.global.b32", [cut("S[(2,32,1):(1@warpid,1@laneid,1)]", (2, 32, 1)), memory([32, 1])], "warp", (64,), guard="warpid == 0"),
)
refuted(
    "an offset that a slice takes back is written",
    "owner",
    call("ld.global.b32", [cut("S[(2,32,1):(1@warpid,1@laneid,1)] + -1@warpid", (2, 32, 1), 1), memory([32, 1])], "warp", (64,)),
)
refuted(
    "matrix registers of another warp",
    "owner",
    call(
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16",
        [cut("S[(2,1,8,4):(1@warpid,1,4@laneid,1@laneid)]", (2, 1, 8, 4)), memory([1, 8, 4], space="shared")],
        "warp",
        (64,),
    ),
)
refuted(
    "a thread axis at thread scope that a slice cuts",
    "owner",
    call("ld.global.v4.b32", [cut("S[(8,4):(1@laneid,1)]", (8, 4)), memory([4])], block=(1,)),
)
refuted(
    "shared memory of CTA 0 in CTA 1",
    "owner",
    call(
        "ld.shared.b32",
        [
            registers((32, 1), "S[(32,1):(1@laneid,1)]"),
            memory(
                [2, 32, 1],
                "S[(2,32,1):(1@cbx,1,1)]",
                space="shared",
                view=[start(0, 0, 0, extent=[1, 32, 1]), {"op": "reshape", "shape": [32, 1]}],
            ),
        ],
        "warp",
        (32,),
        (2,),
    ),
)
# --- a symbol without a bound keeps to the index type ----------------------------------------------------------------

case("a least value beyond the index type", at("n", symbols=[symbol("n", 1 << 31, None)], index_dtype="int32"), "vacuous")
case("a largest value below the index type", at("4 * (n % 2)", symbols=[symbol("n", None, -(1 << 31) - 1)], index_dtype="int32"), "vacuous")
case("no multiple inside the index type", at("n", symbols=[symbol("n", 1, None, multiple_of=1 << 40)], index_dtype="int32"), "vacuous")
case(
    "an assumption beyond the index type",
    at("n", symbols=[symbol("n", None, None)], assume=["n >= 2147483648"], index_dtype="int32"),
    "vacuous",
)
