"""Calls of wgmma.mma_async, one for each rule: what is done to a legal call, and the clause that then fails ("" for none)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from tests.gpu.wgmma_forms import Stored, grouped, opcode_of, ring, wgmma_document

Json = dict[str, Any]
N = 16
HALF = opcode_of("f16", N, "f32")


def shared(**rest: Any) -> Json:
    """A and B in shared memory, two steps along K."""
    return copy.deepcopy(wgmma_document(HALF, Stored(), Stored(), (1, 1, 2), **rest))


def fragments(**rest: Any) -> Json:
    """A in registers."""
    return copy.deepcopy(wgmma_document(HALF, None, Stored(), (1, 2, 2), **rest))


def operand(document: Json, index: int, **changes: Any) -> Json:
    """The call with parts of an operand replaced; a layout is changed by a pair (old, new)."""
    one = document["operands"][index]
    for name, value in changes.items():
        if isinstance(value, tuple):
            assert value[0] in one[name], one[name]
        one[name] = one[name].replace(*value) if isinstance(value, tuple) else value
    return document


def halves(stride: int = 1, offset: str = "", a: Stored | None = None) -> Json:
    """D of halves, handed in as halves: columns 2 q and 2 q + 1 `stride` slots apart."""
    document = copy.deepcopy(wgmma_document(opcode_of("f16", 24, "f16"), a, Stored("mn", 0)))
    layout = f"S[(1,1,4,2,8,3,4,2):(0,0,1@wid_in_wg,{2 * stride},4@laneid,{4 * stride},1@laneid,{stride})]{offset}"
    document["operands"][0] |= {"dtype": "float16", "shape": [1, 1, 64, 24], "layout": layout}
    return document


def parameters(document: Json, **changes: Any) -> Json:
    """The call with parameters replaced; None leaves one out."""
    document["parameters"] = {name: value for name, value in {**document["parameters"], **changes}.items() if value is not None}
    return document


def without(document: Json, index: int) -> Json:
    """The call without an operand."""
    del document["operands"][index]
    return document


def uniform(document: Json, begin: str, **rest: Any) -> Json:
    """The call whose B is a stage of a ring, chosen by an expression."""
    one = document["operands"][2]
    rows = one["shape"][2]
    one["shape"], one["layout"] = [4, *one["shape"]], one["layout"].replace("S[(", "S[(4,").replace(":(", f":({64 * rows},")
    one["view"] = [
        {"op": "slice", "begin": [begin, 0, 0, 0, 0], "extent": [1, None, None, None, None]},
        {"op": "reshape", "shape": one["shape"][1:]},
    ]
    return {**document, **rest}


def two_warpgroups(**rest: Any) -> Json:
    """The same call at cta scope, of two warpgroups of three."""
    return {**copy.deepcopy(grouped(HALF, [384], "wgid != 1", 2)), **rest}


def varying(name: str, level: str) -> list[Json]:
    return [{"name": name, "min": 0, "max": 3, "varies": level}]


CASES: dict[str, tuple[Callable[[], Json], str]] = {
    "both factors in shared memory": (shared, ""),
    "A in registers": (fragments, ""),
    "D of halves": (lambda: wgmma_document(opcode_of("f16", 24, "f16"), None, Stored("mn", 0)), ""),
    "halves of D": (halves, ""),
    "halves of D in slots of their own": (lambda: halves(stride=2), "d.storage"),
    "halves of D from an odd slot on": (lambda: halves(offset=" + 1"), "d.storage"),
    "halves of D in other lanes": (lambda: operand(halves(), 0, layout=("1@laneid", "2@laneid")), "d.owner"),
    "halves of D, A in shared memory": (lambda: halves(a=Stored("mn", 1)), ""),
    "halves of another type": (lambda: operand(halves(), 0, dtype="bfloat16"), "d.storage"),
    "halves of sums in single precision": (lambda: operand(shared(), 0, dtype="float16"), "d.storage"),
    "a sparse A in registers": (lambda: wgmma_document(opcode_of("s8", 8, "s32", "u8", sparse=True), None, Stored()), ""),
    "a sparse A in shared memory": (
        lambda: wgmma_document(opcode_of("bf16", 32, "f32", sparse=True), Stored(), Stored("mn", 2), (1, 1, 2)),
        "",
    ),
    # architecture and spelling
    "a later architecture": (lambda: shared(arch="sm_100a"), "opcode"),
    "the plain architecture": (lambda: shared(arch="sm_90"), "opcode"),
    "its architecture": (lambda: shared(arch="sm_90a"), ""),
    # operands and parameters
    "no descriptor of B": (lambda: parameters(shared(), b_descriptor=None), "operands"),
    "no descriptor of A": (lambda: parameters(shared(), a_descriptor=None), "operands"),
    "a descriptor of an A in registers": (lambda: parameters(fragments(), a_descriptor=[16, 1024, 3]), "operands"),
    "a major of an A in registers": (lambda: parameters(fragments(), a_major="k"), "operands"),
    "a major of words": (
        lambda: parameters(copy.deepcopy(wgmma_document(opcode_of("tf32", 8, "f32"), Stored(), Stored())), b_major="k"),
        "operands",
    ),
    "an unknown major": (lambda: parameters(shared(), b_major="row"), "operands"),
    "no B": (lambda: without(shared(), 2), "operands"),
    "an unknown parameter": (lambda: parameters(shared(), cta_mask=1), "operands"),
    "a sign of 0": (lambda: parameters(shared(), imm_scale_a=0), "operands"),
    "a sign of 2": (lambda: parameters(shared(), imm_scale_b=2), "operands"),
    "signs": (lambda: parameters(shared(), imm_scale_a=-1, imm_scale_b=1), ""),
    "signs of integers": (
        lambda: parameters(copy.deepcopy(wgmma_document(opcode_of("s8", 8, "s32"), None, Stored())), imm_scale_a=1),
        "operands",
    ),
    "accum as a number": (lambda: parameters(shared(), accum=1), "operands"),
    "sums that start from nothing": (lambda: parameters(shared(), accum=False), ""),
    "a selector that bytes do not have": (
        lambda: parameters(copy.deepcopy(wgmma_document(opcode_of("e4m3", 8, "f32", sparse=True), None, Stored())), sp_sel=1),
        "operands",
    ),
    "no metadata": (lambda: without(copy.deepcopy(wgmma_document(opcode_of("f16", 8, "f32", sparse=True), None, Stored())), 3), "operands"),
    "the shape of the instruction": (lambda: parameters(shared(), instruction_shape=[64, N, 16]), ""),
    "another shape of the instruction": (lambda: parameters(shared(), instruction_shape=[64, 128, 16]), "instruction_shape.shape"),
    "a shape of the instruction of two numbers": (lambda: parameters(shared(), instruction_shape=[64, N]), "instruction_shape.shape"),
    "a shape of the instruction that is a word": (lambda: parameters(shared(), instruction_shape=64), "operands"),
    # storage and type
    "B in registers": (lambda: operand(shared(), 2, space="register"), "b.storage"),
    "A in global memory": (lambda: operand(shared(), 1, space="global"), "a.storage"),
    "D in shared memory": (lambda: operand(shared(), 0, space="shared"), "d.storage"),
    "B of words": (lambda: operand(shared(), 2, dtype="float32"), "b.storage"),
    "B of another type": (lambda: operand(shared(), 2, dtype="bfloat16"), "b.type"),
    "B of integers": (lambda: operand(shared(), 2, dtype="int16"), "b.type"),
    "raw B": (lambda: operand(shared(), 2, dtype="bits16"), ""),
    "D of integers": (lambda: operand(shared(), 0, dtype="int32"), "d.type"),
    # scope and participation
    "one warp": (lambda: shared(scope="warp", launch={"block": [128]}), "participation"),
    "one thread": (lambda: shared(scope="thread", launch={"block": [128]}), "participation"),
    "three warps": (lambda: shared(launch={"block": [96]}), "participation"),
    "a partial last warp": (lambda: shared(launch={"block": [120]}), "participation"),
    "without the last lane": (lambda: shared(guard="laneid < 31"), "participation"),
    "without the first warp": (lambda: shared(guard="warpid > 0"), "participation"),
    "half of a warpgroup": (lambda: shared(launch={"block": [256]}, guard="warpid < 6"), "participation"),
    "the second of two warpgroups": (lambda: shared(launch={"block": [256]}, guard="warpid >= 4"), ""),
    "a warpgroup by a symbol of the CTA": (
        lambda: shared(launch={"block": [256]}, guard="wgid == n", symbols=[{"name": "n", "min": 0, "max": 1, "varies": "cta"}]),
        "",
    ),
    "warps by a symbol of their own": (
        lambda: shared(launch={"block": [256]}, guard="n == 0", symbols=[{"name": "n", "min": 0, "max": 1, "varies": "warp"}]),
        "participation",
    ),
    "two of three warpgroups": (two_warpgroups, ""),
    "the second of three warpgroups": (lambda: copy.deepcopy(grouped(HALF, [384], "wgid == 1", 1)), ""),
    "a group axis of warps": (lambda: operand(two_warpgroups(), 0, shape=[8, 1, 1, 64, N], layout=("S[(2,", "S[(8,")), "d.shape"),
    "three groups of two warpgroups": (lambda: two_warpgroups(guard="wgid < 3"), "d.shape"),
    "three of four warps of a second warpgroup": (lambda: two_warpgroups(guard="wgid == 0 or warpid > 8"), "participation"),
    # one value for all four warps
    "pred by lane": (lambda: parameters(shared(), pred="laneid < 16"), "participation"),
    "pred by warp": (lambda: parameters(shared(), pred="warpid % 4 == 0"), "participation"),
    "pred by warpgroup": (lambda: parameters(shared(launch={"block": [256]}), pred="warpid // 4 == 0"), ""),
    "accum by warp": (lambda: parameters(shared(), accum="wid_in_wg > 1"), "participation"),
    "accum by warpgroup": (lambda: parameters(shared(launch={"block": [256]}), accum="wgid > 0"), ""),
    "accum by a symbol of the grid": (lambda: parameters(shared(symbols=[{"name": "n", "min": 0, "max": 9}]), accum="n > 0"), ""),
    "accum by a symbol of warps": (lambda: parameters(shared(symbols=varying("n", "warp")), accum="n > 0"), "participation"),
    "a stage by warp": (lambda: uniform(shared(), "warpid"), "participation"),
    "a stage by warpgroup": (lambda: uniform(shared(launch={"block": [512]}), "wgid"), ""),
    "a stage by warps of a warpgroup": (lambda: uniform(shared(launch={"block": [512]}), "warpid // 4"), ""),
    "a stage by halves of a warpgroup": (lambda: uniform(shared(launch={"block": [256]}), "warpid // 2"), "participation"),
    "a stage by a symbol of warps": (lambda: uniform(shared(symbols=varying("n", "warp")), "n"), "participation"),
    "a stage by a symbol of threads": (lambda: uniform(shared(symbols=varying("n", "thread")), "n"), "participation"),
    "a stage by a symbol of the CTA": (lambda: uniform(shared(symbols=varying("n", "cta")), "n"), ""),
    "a stage of a ring": (lambda: uniform(shared(symbols=[{"name": "n", "min": 0, "max": 9}]), "n % 4"), ""),
    "a stage past the ring": (lambda: uniform(shared(symbols=[{"name": "n", "min": 0, "max": 9}]), "n % 5"), "b.bounds"),
    "stages of both factors": (lambda: {**copy.deepcopy(ring(HALF, steps=2)), "symbols": [{"name": "stage", "min": 0, "max": 6}]}, ""),
    # shapes
    "B with rows for another N": (lambda: operand(shared(), 2, shape=[1, 2, 8, 16], layout="S[(1,2,8,16):(0,16,64,1)]"), "b.shape"),
    "another repeat along K": (lambda: operand(shared(), 2, shape=[1, 1, N, 16], layout=f"S[(1,1,{N},16):(0,0,64,1)]"), "b.shape"),
    "no repeat axes": (lambda: operand(shared(), 0, shape=[1, 64, N]), "d.shape"),
    "B in registers beside A in registers": (lambda: operand(fragments(), 2, space="register"), "b.storage"),
    "D in shared memory beside A in registers": (
        lambda: operand(fragments(), 0, space="shared", layout="S[(1,2,64,16):(2048,1024,16,1)]"),
        "d.storage",
    ),
    "metadata in shared memory beside A in registers": (
        lambda: operand(
            copy.deepcopy(wgmma_document(opcode_of("f16", 8, "f32", sparse=True), None, Stored())),
            3,
            space="shared",
            layout="S[(1,1,128):(128,128,1)]",
        ),
        "sp_meta.storage",
    ),
    "A in registers with a wrong width beside B in registers": (
        lambda: operand(operand(fragments(), 1, dtype="uint64"), 2, space="register"),
        "a.storage",
    ),
    "a descriptor of A in registers": (lambda: parameters(fragments(), a_descriptor=[16, 1024, 3]), "operands"),
    # registers
    "rows of D in other warps": (lambda: operand(shared(), 0, layout=("1@wid_in_wg", "3@wid_in_wg")), "d.owner"),
    "columns of D in other lanes": (lambda: operand(shared(), 0, layout=("1@laneid", "2@laneid")), "d.owner"),
    "D by the thread in the warpgroup": (
        lambda: operand(shared(), 0, layout=("1@wid_in_wg,2,4@laneid", "32@tid_in_wg,2,4@tid_in_wg")),
        "d.owner",
    ),
    "D wholly by the thread in the warpgroup": (
        lambda: operand(shared(), 0, layout="S[(1,1,4,2,8,2,4,2):(0,0,32@tid_in_wg,2,4@tid_in_wg,4,1@tid_in_wg,1)]"),
        "",
    ),
    "D by warp": (lambda: operand(shared(), 0, layout=("@wid_in_wg", "@warpid")), ""),
    "D by warp in a second warpgroup": (
        lambda: operand(shared(launch={"block": [256]}, guard="wgid == 1"), 0, layout=("@wid_in_wg", "@warpid")),
        "d.owner",
    ),
    "no warp in D": (lambda: operand(shared(), 0, layout=("1@wid_in_wg", "64")), "d.owner"),
    "two columns of D in one slot": (lambda: operand(shared(), 0, layout=(",1@laneid,1)", ",1@laneid,0)")), "d.distinct"),
    "replicas of D": (lambda: operand(shared(), 0, layout=("1)]", "1)] + R[2:64]")), "d.replica"),
    "spread registers of D": (lambda: operand(shared(), 0, layout=(",4,1@laneid,1)", ",8,1@laneid,4)")), ""),
    "rows of A in other lanes": (lambda: operand(fragments(), 1, layout=("4@laneid", "8@laneid")), "a.owner"),
    "A in other warps": (lambda: operand(fragments(), 1, layout=("1@wid_in_wg", "2@wid_in_wg")), "a.owner"),
    # matrices in shared memory
    "LDO and SDO exchanged without a swizzle": (
        lambda: parameters(copy.deepcopy(wgmma_document(HALF, None, Stored("mn", 0))), b_descriptor=[256, 128, 0]),
        "b.descriptor",
    ),
    "LDO that nothing reads": (lambda: parameters(shared(), b_descriptor=[4096, 1024, 3]), ""),
    "SDO of another stride": (lambda: parameters(shared(), b_descriptor=[16, 2048, 3]), "b.descriptor"),
    "another swizzle": (lambda: parameters(shared(), a_descriptor=[16, 1024, 2]), "a.descriptor"),
    "no swizzle": (lambda: parameters(shared(), a_descriptor=[16, 1024, 0]), "a.descriptor"),
    "the swizzle of 32-byte atoms": (lambda: parameters(shared(), a_descriptor=[16, 1024, 4]), "a.descriptor"),
    "the other major": (lambda: parameters(shared(), a_major="mn"), "a.descriptor"),
    "SDO past its field": (lambda: parameters(shared(), b_descriptor=[16, 1 << 18, 3]), "b.descriptor"),
    "SDO of 8 bytes more": (lambda: parameters(shared(), b_descriptor=[16, 1032, 3]), "b.descriptor"),
    "an origin off 16 bytes": (
        lambda: operand(copy.deepcopy(wgmma_document(HALF, None, Stored())), 2, layout=("1)]", "1)] + 4"), size_bytes=16384),
        "b.aligned",
    ),
    "a base aligned to half the period": (lambda: operand(shared(), 2, align=512), "b.base.period"),
    "a row inside the span": (lambda: wgmma_document(HALF, Stored("k", 3, start=96), Stored("k", 3, start=32)), ""),
    "a sparse B of rows wider than the span": (
        lambda: wgmma_document(opcode_of("f16", 8, "f32", sparse=True), None, Stored("k", 1)),
        "b.descriptor",
    ),
    "a sparse B whose rows repeat themselves": (
        lambda: operand(
            copy.deepcopy(wgmma_document(opcode_of("f16", 8, "f32", sparse=True), Stored(), Stored("k", 1))),
            2,
            layout="Swizzle(3,1,3) o S[(1,1,8,2,16):(0,0,16,0,1)]",
        ),
        "b.descriptor",
    ),
    "a row of half a span without its block": (
        lambda: operand(copy.deepcopy(wgmma_document(opcode_of("f16", 8, "f32"), None, Stored("mn", 1))), 2, size_bytes=496),
        "b.backing",
    ),
    "an allocation beyond the machine": (lambda: operand(shared(), 2, size_bytes=1 << 19), "b.backing"),
}
