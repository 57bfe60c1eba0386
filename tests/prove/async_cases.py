"""Cases of our own of cp.async, the bulk copies and reductions: one for each sentence of the semantics about them, legal and illegal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from own_cases import Document, Own, call, memory, start, symbol

CASES: dict[str, Own] = {}
BARRIER = "mbarrier::complete_tx::bytes"
CA, CG = "cp.async.ca.shared.global", "cp.async.cg.shared.global"
LOAD = f"cp.async.bulk.shared::cluster.global.{BARRIER}"
MANY = f"{LOAD}.multicast::cluster"
REMOTE = f"cp.async.bulk.shared::cluster.shared::cta.{BARRIER}"
STORE = "cp.async.bulk.global.shared::cta.bulk_group"
REDUCE = "cp.reduce.async.bulk.global.shared::cta.bulk_group"
FETCH = "cp.async.bulk.prefetch.L2.global"
FIRST = "laneid == 0"


def proved(name: str, document: Document, hazard: str | None = None) -> None:
    assert name not in CASES, name
    CASES[name] = Own("proved", document, None, hazard)


def refuted(name: str, clause: str, document: Document, *, alone: bool = True) -> None:
    assert name not in CASES, name
    CASES[name] = Own("refuted", document, clause, None, alone)


def pair(target: Document, source: Document) -> list[Document]:
    return [target | {"name": "D"}, source | {"name": "S"}]


def side(space: str, shape: Sequence[int], layout: str | None = None, dtype: str = "float32", **more: Any) -> Document:
    return memory(shape, layout, dtype, space, **more)


def copy(
    opcode: str = CA,
    size: Any = 16,
    shape: Sequence[int] = (4,),
    target: Document | None = None,
    source: Document | None = None,
    **more: Any,
) -> Document:
    """cp.async of one chunk by each executing thread, one thread unless the launch says otherwise."""
    parameters = {"chunk_bytes": size, **more.pop("parameters", {})}
    operands = pair(target or side("shared", shape), source or side("global", shape))
    return call(opcode, operands, block=more.pop("block", (1,)), parameters=parameters, **more)


def bulk(opcode: str, *, size: int = 64, shape: Sequence[int] = (16,), cluster: Sequence[int] | None = (2,), **more: Any) -> Document:
    """A bulk copy by lane 0 of every CTA of a cluster of two."""
    spaces = ("global", "shared") if ".global.shared" in opcode else ("shared", "shared") if "cta." in opcode else ("shared", "global")
    barrier = {"mbar": "shared"} if BARRIER in opcode else {}
    parameters = {"chunk_bytes": size, **barrier, **more.pop("parameters", {})}
    dtype = more.pop("dtype", "float32")
    target, source = more.pop("target", None), more.pop("source", None)
    operands = pair(target or side(spaces[0], shape, dtype=dtype), source or side(spaces[1], shape, dtype=dtype))
    return call(opcode, operands, block=(32,), cluster=cluster, parameters=parameters, **{"guard": FIRST, **more})


# --- chunks ------------------------------------------------------------------------------------------------------------

for _size, _count in ((4, 1), (8, 2), (16, 4)):
    proved(f".ca copies {_size} bytes", copy(size=_size, shape=(_count,)))
proved(".cg copies 16 bytes", copy(CG))
for _size, _count in ((4, 1), (8, 2)):
    refuted(f".cg does not copy {_size} bytes", "chunk_bytes.shape", copy(CG, _size, (_count,)))
for _size, _count in ((12, 3), (32, 8), (64, 16)):
    refuted(f".ca does not copy {_size} bytes", "chunk_bytes.shape", copy(size=_size, shape=(_count,)))
refuted("a chunk of no bytes", "chunk_bytes.shape", copy(size=0))
refuted("a chunk of a negative size", "chunk_bytes.shape", copy(size=-16))
refuted("a chunk that is no number", "operands", copy(size="n", symbols=[symbol(low=4, high=4)]))
refuted("a chunk is required", "operands", copy(size=None))
refuted(
    "half an element is no chunk",
    "chunk_bytes.shape",
    copy(size=4, shape=(1,), target=side("shared", [1], dtype="float64"), source=side("global", [1], dtype="float64")),
)
refuted("the last axis holds more than the chunk", "shape", copy(size=8))
proved(
    "sixteen bytes are eight halves",
    copy(shape=(8,), target=side("shared", [8], dtype="float16"), source=side("global", [8], dtype="float16")),
)
proved(
    "four bytes are eight 4-bit values",
    copy(size=4, target=side("shared", [8], dtype="float4_e2m1fn"), source=side("global", [8], dtype="float4_e2m1fn")),
)
refuted("elements of both sides have one width", "src.storage", copy(shape=(4,), source=side("global", [8], dtype="float16")), alone=False)
proved("an element type of one width may differ", copy(source=side("global", [4], dtype="int32")))
proved("several chunks a thread", copy(shape=(3, 4)))
refuted("repeats of both sides are the same", "src.shape", copy(shape=(3, 4), source=side("global", [2, 4])))
for _size in (16, 48, 65536):
    proved(f"a bulk copy of {_size} bytes", bulk(STORE, size=_size, shape=(_size // 4,), cluster=None))
for _size in (8, 24, 0, -16):
    refuted(f"no bulk copy of {_size} bytes", "chunk_bytes.shape", bulk(STORE, size=_size, shape=(max(1, _size // 4),), cluster=None))

refuted(
    "the size of a bulk copy is a 32-bit number",
    "chunk_bytes.shape",
    call(FETCH, [side("global", [1 << 30])], block=(1,), parameters={"chunk_bytes": 1 << 32}),
)

# --- addresses ---------------------------------------------------------------------------------------------------------

proved(
    "four bytes need an alignment of four",
    copy(size=4, shape=(1,), target=side("shared", [1], align=4), source=side("global", [1], align=4)),
)
refuted("eight bytes need an alignment of eight", "src.aligned", copy(size=8, shape=(2,), source=side("global", [2], align=4)))
refuted("the destination is aligned to the chunk", "dst.aligned", copy(target=side("shared", [4], align=8)))
refuted("the second chunk is aligned too", "dst.aligned", copy(shape=(2, 4), target=side("shared", [2, 4], "S[(2,4):(6,1)]")))
refuted("a chunk of the source is consecutive", "src.contiguous", copy(source=side("global", [4], "S[4:2]")))
refuted("a chunk of the destination is consecutive", "dst.contiguous", copy(target=side("shared", [4], "S[4:2]")))
proved("a swizzle of whole chunks", copy(shape=(8, 4), target=side("shared", [8, 4], "Swizzle(2,3,3) o S[(8,4):(32,1)]", align=128)))
refuted(
    "a swizzle inside a chunk",
    "dst.contiguous",
    copy(shape=(8, 4), target=side("shared", [8, 4], "Swizzle(0,1,2) o S[(8,4):(4,1)]", align=128)),
    alone=False,
)
refuted(
    "a bulk copy of a swizzled tile",
    "src.contiguous",
    bulk(STORE, size=128, shape=(8, 32), source=side("shared", [8, 32], "Swizzle(2,3,3) o S[(8,32):(32,1)]", align=1024)),
)
refuted("a bulk destination at 8 modulo 16", "dst.aligned", bulk(STORE, target=side("global", [16], align=8)))
refuted("a bulk source at 8 modulo 16", "src.aligned", bulk(STORE, source=side("shared", [18], align=16, view=[start(2, extent=[16])])))
proved(
    "a bulk copy needs no more than 16",
    bulk(STORE, cluster=None, target=side("global", [16], align=16), source=side("shared", [16], align=16)),
)
refuted(
    "past the end of the source",
    "src.bounds",
    copy(source=side("global", [8], view=[start("n", extent=[4])]), symbols=[symbol(high=8, multiple_of=4)]),
)
proved(
    "up to the end of the source", copy(source=side("global", [8], view=[start("n", extent=[4])]), symbols=[symbol(high=4, multiple_of=4)])
)
refuted("a bulk copy past its allocation", "src.backing", bulk(LOAD, source=side("global", [16], size_bytes=60)))
refuted("the source is in global memory", "src.storage", copy(source=side("shared", [4])))
refuted("the destination is in shared memory", "dst.storage", copy(target=side("global", [4])))
refuted("the offset of the source wraps", "src.index.range", copy(
    source=side("global", [1 << 20, 4096], "S[(1048576,4096):(4096,1)]", view=[start("n", 0, extent=[1, 4]), {"op": "reshape", "shape": [4]}]),
    symbols=[symbol(high=(1 << 20) - 1)], index_dtype="int32"))  # fmt: skip

# --- zero fill and predicates ------------------------------------------------------------------------------------------


def filled(size: Any, low: int | None = 0, high: int | None = 3, **more: Any) -> Document:
    return copy(parameters={"src_size": size, **more.pop("parameters", {})}, symbols=[symbol(low=low, high=high)], **more)


def four_lanes(**parameters: Any) -> Document:
    """A chunk of each of four lanes."""
    tile = {"target": side("shared", [4, 4]), "source": side("global", [4, 4])}
    return copy(shape=(4, 4), scope="warp", block=(4,), parameters=parameters, **tile)


proved("all bytes of the chunk", filled(16))
proved("no byte of the chunk", filled(0))
proved("a source size that a symbol gives", filled("4 * n + 4"))
refuted("a source size beyond the chunk", "src_size.bounds", filled(17))
refuted("a source size that may be beyond the chunk", "src_size.bounds", filled("4 * n + 5"))
refuted("a negative source size", "src_size.bounds", filled("n - 1"))
refuted("a source size beyond a smaller chunk", "src_size.bounds", copy(size=8, shape=(2,), parameters={"src_size": 16}))
proved("a source size in each lane", four_lanes(src_size="4 * laneid"))
refuted("a source size too large in one lane", "src_size.bounds", four_lanes(src_size="6 * laneid"))
proved("a source size too large under a false predicate", filled("8 * n", parameters={"pred": "n <= 2"}))
proved(
    "a source size too large in lanes that do not execute",
    copy(shape=(3, 4), scope="warp", block=(4,), guard="laneid < 3", parameters={"src_size": "8 * laneid"}),
)
proved("a source size too large outside the guard", filled("8 * n", guard="n <= 2"))
refuted("a source size that wraps on the way", "src_size.index.range", filled("(n + 2147483647) - 2147483647", index_dtype="int32"))
refuted("a source size divided by zero", "src_size.index.range", filled("16 // n"))
refuted("a source size that is a truth value", "operands", filled(True))
proved("the source is ignored", copy(parameters={"ignore_src": "n > 0"}, symbols=[symbol()]))
proved("the source is ignored in each second lane", four_lanes(ignore_src="laneid % 2 == 0"))
refuted("the source is ignored and has a size", "operands", filled(8, parameters={"ignore_src": "n > 0"}))
refuted("ignoring is a condition", "operands", copy(parameters={"ignore_src": 1}))
refuted(
    "an ignored source is aligned all the same", "src.aligned", copy(parameters={"ignore_src": True}, source=side("global", [4], align=4))
)
refuted(
    "nothing is read, and the address is in bounds all the same",
    "src.bounds",
    filled(0, source=side("global", [4], view=[start("n", extent=[4])])),
    alone=False,
)
proved(
    "out of bounds under a false predicate",
    copy(parameters={"pred": "n == 0"}, source=side("global", [4], view=[start("n", extent=[4])]), symbols=[symbol()]),
)
refuted("a divisor of the condition", "index.range", copy(parameters={"ignore_src": "4 // n == 1"}, symbols=[symbol()]))
proved("a hint has its policy", copy(f"{CA}.L2::cache_hint", parameters={"cache_policy": 0}))
refuted("a hint without a policy", "operands", copy(f"{CA}.L2::cache_hint"))
refuted("a policy without a hint", "operands", copy(parameters={"cache_policy": 0}))
for _low, _high, _text in ((0, 100, "n"), (-5, -1, "-n"), (-3, 3, "n + 3"), (-5, 5, "max(n, 0)"), (0, 1, "n * 9223372036854775808")):
    proved(
        f"a policy {_text} from {_low} to {_high} is a number of 64 bits",
        copy(f"{CA}.L2::cache_hint", parameters={"cache_policy": _text}, symbols=[symbol(low=_low, high=_high)]),
    )
for _low, _high, _text in ((-5, -1, "n"), (-1, 3, "n"), (0, 2, "n * 9223372036854775808"), (1, 1, "laneid - n")):
    refuted(
        f"a policy {_text} from {_low} to {_high} is no number of 64 bits",
        "cache_policy.bounds",
        copy(f"{CA}.L2::cache_hint", parameters={"cache_policy": _text}, symbols=[symbol(low=_low, high=_high)]),
    )
proved(
    "a policy of a thread that does not copy",
    copy(f"{CA}.L2::cache_hint", parameters={"cache_policy": "n", "pred": "n >= 0"}, symbols=[symbol(low=-1, high=3)]),
)
refuted("a divisor of the policy", "index.range", copy(f"{CA}.L2::cache_hint", parameters={"cache_policy": "4 // n"}, symbols=[symbol()]))
proved("a prefetch size", copy(f"{CG}.L2::256B"))
refuted("no prefetch of 512 bytes", "opcode", copy(f"{CG}.L2::512B"))
refuted("sm_75 has no cp.async", "opcode", copy(arch="sm_75"))
refuted("bulk copies have no source size", "operands", bulk(LOAD, parameters={"src_size": 16}))

# --- other CTAs --------------------------------------------------------------------------------------------------------


def remote(
    rank: Any, cluster: Sequence[int] | None = (2,), opcode: str = REMOTE, parameters: dict[str, Any] | None = None, **more: Any
) -> Document:
    return bulk(opcode, cluster=cluster, parameters={"remote_cta_id": rank, **(parameters or {})}, **more)


proved("to the other CTA", remote("1 - cbx"))
proved("from CTA 0 to CTA 1", remote(1, guard="cbx == 0 and laneid == 0"))
refuted("one of two names itself", "remote_cta_id.cluster", remote(1))
refuted("every CTA names itself", "remote_cta_id.cluster", remote("cbx"))
refuted("a rank outside the cluster", "remote_cta_id.cluster", remote(2))
refuted("a rank that is beyond the cluster in its last CTA", "remote_cta_id.cluster", remote("cbx + 1"))
refuted("a negative rank", "remote_cta_id.cluster", remote("cbx - 1"))
refuted("no cluster, no other CTA", "remote_cta_id.cluster", remote(1, None))
refuted("CTA 0 of no cluster is the own one", "remote_cta_id.cluster", remote(0, None))
proved("a ring in two dimensions", remote("(cbx + 2 * cby + 1) % 4", (2, 2)))
proved("the second row copies to the first", remote("cbx", (2, 2), guard="cby == 1 and laneid == 0"))
refuted("the first row copies to itself", "remote_cta_id.cluster", remote("cbx", (2, 2)))
proved("a rank that a symbol gives", remote("(cbx + n) % 4", (4,), symbols=[symbol(low=1, high=3)]))
refuted(
    "a rank that a symbol may make the own one", "remote_cta_id.cluster", remote("(cbx + n) % 4", (4,), symbols=[symbol(low=1, high=4)])
)
proved("the own rank under a false predicate", remote(1, parameters={"pred": "cbx == 0"}))
refuted("a rank is required", "operands", bulk(REMOTE))
refuted("a load has no rank", "operands", bulk(LOAD, parameters={"remote_cta_id": 1}))
refuted("a barrier is required", "operands", remote("1 - cbx", parameters={"mbar": None}))
refuted("a barrier in global memory", "mbar.storage", remote("1 - cbx", parameters={"mbar": "global"}))
refuted("a store has no barrier", "operands", bulk(STORE, parameters={"mbar": "shared"}))
refuted(
    "a reduction into the own CTA",
    "remote_cta_id.cluster",
    remote("cbx", opcode=f"cp.reduce.async.bulk.shared::cluster.shared::cta.{BARRIER}.add.u32", dtype="uint32"),
)
proved(
    "a reduction into the other CTA",
    remote("1 - cbx", opcode=f"cp.reduce.async.bulk.shared::cluster.shared::cta.{BARRIER}.add.u32", dtype="uint32"),
)
proved("two CTAs write to a third", remote(2, (3,), guard="cbx < 2 and laneid == 0"), "memory.race")
proved("two CTAs exchange", remote("1 - cbx", (2,)))


def many(mask: Any, cluster: Sequence[int] | None = (2,), parameters: dict[str, Any] | None = None, **more: Any) -> Document:
    return bulk(MANY, cluster=cluster, parameters={"cta_mask": mask, **(parameters or {})}, **{"guard": "cbx == 0 and laneid == 0", **more})


proved("to both CTAs", many(3))
proved("to the own CTA alone", many(1))
refuted("a mask with a CTA too many", "cta_mask.cluster", many(7))
refuted("an empty mask", "cta_mask.cluster", many(0))
refuted("a negative mask", "cta_mask.cluster", many(-1))
refuted("a mask without a cluster", "cta_mask.cluster", many(3, None))
proved("a mask of one without a cluster", many(1, None))
proved("a mask that a symbol gives", many("n", (4,), symbols=[symbol(low=1, high=15)]))
refuted("a mask that a symbol may empty", "cta_mask.cluster", many("n", (4,), symbols=[symbol(low=0, high=15)]))
refuted("a mask is required", "operands", bulk(MANY))
proved("two multicasts to one CTA", many(3, guard=FIRST), "memory.race")
proved("two multicasts to different CTAs", many("1 << cbx", guard=FIRST))

# --- barriers ----------------------------------------------------------------------------------------------------------


def load(expected: Any, **more: Any) -> Document:
    return bulk(LOAD, parameters={"expected_bytes": expected, **more.pop("parameters", {})}, **more)


proved("a chunk is expected", load(64))
refuted("half a chunk is expected", "expected_bytes.operands", load(32))
proved("two chunks are expected of two repeats", load(128, shape=(2, 16)))
refuted("one chunk is expected of two repeats", "expected_bytes.operands", load(64, shape=(2, 16)))
proved("four lanes, four chunks", load(256, shape=(4, 16), scope="warp", guard="laneid < 4"))
refuted("four lanes, one chunk expected", "expected_bytes.operands", load(64, shape=(4, 16), scope="warp", guard="laneid < 4"))
proved("each CTA of a multicast gets all bytes", many(3, parameters={"expected_bytes": 64}))
refuted("a multicast is no sum over CTAs", "expected_bytes.operands", many(3, parameters={"expected_bytes": 128}))
refuted("two multicasts add up in each CTA", "expected_bytes.operands", many(3, guard=FIRST, parameters={"expected_bytes": 64}))
proved("two multicasts in each CTA", many(3, guard=FIRST, parameters={"expected_bytes": 128}), "memory.race")
refuted(
    "one CTA gets more than another",
    "expected_bytes.operands",
    many("select(cbx == 0, 3, 2)", guard=FIRST, parameters={"expected_bytes": 64}),
)
proved("a CTA that gets nothing expects nothing", remote(1, guard="cbx == 0 and laneid == 0", parameters={"expected_bytes": 64}))
proved(
    "what is expected depends on a symbol", load("64 * n", guard="laneid < n", scope="warp", shape=(3, 16), symbols=[symbol(low=3, high=3)])
)
refuted("what is expected is right for some values", "expected_bytes.operands", load("64 * n", symbols=[symbol(low=1, high=2)]))
proved("nothing is copied under a false predicate", load(7, parameters={"pred": "n > 0"}, symbols=[symbol(low=0, high=0)]))
refuted("what is expected names no thread", "operands", load("64 * (cbx + 1)"))
refuted("what a store expects", "operands", bulk(STORE, parameters={"expected_bytes": 64}))
proved("the elected thread's bytes", load(64, guard="elected and warpid == 0"))

# --- one thread, one allocation, reductions ------------------------------------------------------------------------------

proved("32 lanes issue one copy", bulk(LOAD, guard="true"), "issue.many memory.race")
proved("one lane issues a copy", bulk(LOAD))
proved("the elected lane issues a copy", bulk(LOAD, guard="elected"))
proved("each lane issues its own chunk", bulk(LOAD, scope="warp", guard="true", shape=(32, 16)))
proved("cp.async is issued by all lanes", copy(block=(32,)), "memory.race")
HALF = {"tensor": "T", "size_bytes": 512}
proved(
    "two halves of one allocation",
    remote("1 - cbx", target=side("shared", [16], **HALF), source=side("shared", [16], "S[16:1] + 16", **HALF)),
)
proved("one half of one allocation", remote("1 - cbx", target=side("shared", [16], **HALF), source=side("shared", [16], **HALF)), "alias")
proved(
    "the same offset of a CTA that does not read",
    remote(1, guard="cbx == 0 and laneid == 0", target=side("shared", [16], **HALF), source=side("shared", [16], **HALF)),
)
proved("sums of floats in global memory", bulk(f"{REDUCE}.add.f32"))
refuted("a sum of floats takes floats", "dst.type", bulk(f"{REDUCE}.add.f32", dtype="int32"), alone=False)
refuted(
    "signed numbers are not unsigned", "src.type", bulk(f"{REDUCE}.max.s32", dtype="int32", source=side("shared", [16], dtype="uint32"))
)
proved("bits of any type", bulk(f"{REDUCE}.xor.b32", dtype="float32"))
refuted("a sum of halves takes halves", "storage", bulk(f"{REDUCE}.add.noftz.f16"), alone=False)
refuted("halves are added with .noftz", "opcode", bulk(f"{REDUCE}.add.f16", dtype="float16"))
refuted(
    "no sum of floats in shared memory",
    "opcode",
    remote("1 - cbx", opcode=f"cp.reduce.async.bulk.shared::cluster.shared::cta.{BARRIER}.add.f32"),
)
proved(
    "two lanes add to one element",
    bulk(
        f"{REDUCE}.add.u32",
        dtype="uint32",
        guard="laneid < 2",
        scope="warp",
        shape=(2, 16),
        target=side("global", [2, 16], "S[(2,16):(0,1)]", dtype="uint32"),
    ),
)
proved("a prefetch", call(FETCH, [side("global", [16])], block=(1,), parameters={"chunk_bytes": 64}))
refuted(
    "a prefetch past the end", "src.backing", call(FETCH, [side("global", [16], size_bytes=32)], block=(1,), parameters={"chunk_bytes": 64})
)
refuted(
    "a prefetch has one operand",
    "operands",
    call(FETCH, [side("global", [16]), side("global", [16])], block=(1,), parameters={"chunk_bytes": 64}),
)
proved("bytes that a mask chooses", bulk(f"{STORE}.cp_mask", cluster=None, parameters={"byteMask": 0x00FF}))


def masked(mask: Any, guard: str, **more: Any) -> Document:
    """Lanes that store to one place, each the bytes that its mask chooses."""
    return bulk(f"{STORE}.cp_mask", cluster=None, guard=guard, parameters={"byteMask": mask, **more})


proved("each lane stores a byte of its own", masked("1 << laneid", "laneid < 16"), "issue.many")
proved("two lanes store one byte", masked("1 << laneid // 2", "laneid < 4"), "issue.many memory.race")
proved("no byte is stored", masked(0, "true"), "issue.many")
proved("lanes that share no byte are predicated", masked("1 << laneid % 4", "true", pred="laneid // 4 == 0"), "issue.many")
refuted("a mask of more than sixteen bytes", "byteMask.bounds", bulk(f"{STORE}.cp_mask", parameters={"byteMask": 1 << 16}))
refuted("sm_90 masks no bytes", "opcode", bulk(f"{STORE}.cp_mask", parameters={"byteMask": 1}, arch="sm_90"))
