"""`cp.async.bulk`, its prefetch and `cp.reduce.async.bulk`: one thread moves a run of bytes between global and shared memory, or to another CTA.

A chunk is a positive multiple of 16 bytes, consecutive and aligned to 16 bytes on both sides. Loads into shared memory complete on a barrier,
to which they add their bytes in every CTA they write; stores to global memory complete as a bulk group. Destination, source and barrier of a copy to
another CTA are named by their addresses in the executing CTA. Sources: PTX ISA 9.7.9.25.4.1 (cp.async.bulk), 9.7.9.25.4.2 (cp.reduce.async.bulk),
9.7.9.25.4.3 (cp.async.bulk.prefetch), 9.7.13.15 (mbarrier).
"""

from __future__ import annotations

from collections.abc import Mapping

from tilecheck.spec import (
    AtomAxis,
    Contract,
    Entry,
    Exclusion,
    Family,
    Floor,
    Grammar,
    Memory,
    Move,
    Parameter,
    Slot,
    both,
    is_,
    other_than,
    written,
)
from tilecheck.symbolic import var

DTYPES = {
    "f16": ("float16",),
    "bf16": ("bfloat16",),
    "f32": ("float32",),
    "f64": ("float64",),
    "u32": ("uint32",),
    "s32": ("int32",),
    "u64": ("uint64",),
    "s64": ("int64",),
    "b32": None,
    "b64": None,
}
"""The element type that a reduction of each PTX type takes; None: any of that width."""
HINT = Slot("hint", ("L2::cache_hint",))
COMPLETION = Slot("completion", ("mbarrier::complete_tx::bytes", "bulk_group"), required=True)
TO_GLOBAL = is_("dst", "global")
FROM_SHARED = is_("src", "shared::cta")
REMOTE = both(is_("dst", "shared::cluster"), FROM_SHARED)

# fmt: off
COMMON = (
    Exclusion(both(TO_GLOBAL, is_("completion", "mbarrier::complete_tx::bytes")), "completion", "a store to global memory completes as .bulk_group"),
    Exclusion(both(other_than(TO_GLOBAL), is_("completion", "bulk_group")), "completion", "a copy into shared memory completes on a barrier"),
    Exclusion(both(REMOTE, written("hint")), "hint", "a cache hint belongs to global memory"),
)
BULK = Grammar(
    "cp.async.bulk",
    (
        Slot("dst", ("shared::cluster", "shared::cta", "global"), required=True),
        Slot("src", ("global", "shared::cta"), required=True),
        COMPLETION,
        Slot("multicast", ("multicast::cluster",)),
        HINT,
        Slot("mask", ("cp_mask",)),
    ),
    exclusions=(
        Exclusion(both(TO_GLOBAL, is_("src", "global")), "src", "global memory is written from .shared::cta"),
        Exclusion(both(is_("dst", "shared::cta"), FROM_SHARED), "src", "shared memory is copied to .shared::cluster"),
        *COMMON,
        Exclusion(both(written("multicast"), other_than(both(is_("dst", "shared::cluster"), is_("src", "global")))), "multicast",
                  "exists from .global to .shared::cluster only"),
        Exclusion(both(written("mask"), other_than(TO_GLOBAL)), "mask", "exists for stores to global memory only"),
    ),
    floors=(Floor(both(), "sm_90"), Floor(written("mask"), "sm_100")),
    source="PTX ISA 9.7.9.25.4.1",
)
REDUCE = Grammar(
    "cp.reduce.async.bulk",
    (
        Slot("dst", ("shared::cluster", "global"), required=True),
        Slot("src", ("shared::cta",), required=True),
        COMPLETION,
        HINT,
        Slot("op", ("add", "min", "max", "inc", "dec", "and", "or", "xor"), required=True),
        Slot("noftz", ("noftz",)),
        Slot("type", tuple(DTYPES), required=True),
    ),
    exclusions=(
        *COMMON,
        Exclusion(both(is_("op", "and", "or", "xor"), other_than(is_("type", "b32", "b64"))), "type", "bitwise operators take .b32 or .b64"),
        Exclusion(both(is_("op", "inc", "dec"), other_than(is_("type", "u32"))), "type", ".inc and .dec take .u32"),
        Exclusion(both(is_("op", "add"), is_("type", "b32", "b64", "s64")), "type", ".add takes .u32, .s32, .u64, and in global memory floats"),
        Exclusion(both(is_("op", "min", "max"), is_("type", "b32", "b64", "f32", "f64")), "type",
                  ".min and .max take .u32, .s32, and in global memory .u64, .s64, .f16, .bf16"),
        Exclusion(both(is_("op", "add"), is_("type", "f16", "bf16"), is_("noftz", "")), "noftz", ".add of .f16 and .bf16 needs .noftz"),
        Exclusion(both(written("noftz"), other_than(both(is_("op", "add"), is_("type", "f16", "bf16")))), "noftz",
                  "belongs to .add of .f16 and .bf16"),
        Exclusion(both(is_("dst", "shared::cluster"), is_("type", "f16", "bf16", "f32", "f64", "s64", "b64")), "type",
                  "in shared memory there are .u32, .s32, .b32 and .add.u64 only"),
        Exclusion(both(is_("dst", "shared::cluster"), is_("type", "u64"), other_than(is_("op", "add"))), "type",
                  "in shared memory .u64 has .add only"),
    ),
    floors=(Floor(both(), "sm_90"),),
    source="PTX ISA 9.7.9.25.4.2",
)
PREFETCH = Grammar(
    "cp.async.bulk.prefetch",
    (Slot("level", ("L2",), required=True), Slot("src", ("global",), required=True), HINT),
    exclusions=(),
    floors=(Floor(both(), "sm_90"),),
    source="PTX ISA 9.7.9.25.4.3",
)
# fmt: on


def _side(name: str, space: str, bits: int, dtypes: tuple[str, ...] | None, cta: str | None = None) -> Memory:
    where = space.split("::", maxsplit=1)[0]
    return Memory(name, where, bits=bits, row=("element",), align_bytes=16, write=name == "dst", dtypes=dtypes, cta=cta)


def _contract(grammar: Grammar, q: Mapping[str, str]) -> Contract:
    """A run of elements from src to dst, copied or (for a reduction) combined with what stands there."""
    to_global, remote = q["dst"] == "global", q["src"] == "shared::cta" and q["dst"] != "global"
    multicast, masked = bool(q.get("multicast")), bool(q.get("mask"))
    combine = f"{q['op']}.{q['type']}" if "op" in q else None
    bits, dtypes = (0, None) if combine is None else (16 if q["type"] == "bf16" else int(q["type"][1:]), DTYPES[q["type"]])
    cta = "remote_cta_id" if remote else "cta_mask" if multicast else None
    completes = () if to_global else (Parameter("mbar", "barrier", required=True, operand=True), Parameter("expected_bytes", "bytes"))
    return Contract(
        opcode=grammar.spell(q),
        mnemonic=grammar.mnemonic,
        arch=grammar.arch_floor(q),
        source=grammar.source,
        collective="thread",
        atom=(AtomAxis("element", 0),),
        chunk="chunk_bytes",
        operands=(_side("dst", q["dst"], bits, dtypes, cta), _side("src", q["src"], bits, dtypes)),
        parameters=(
            Parameter("pred", "predicate"),
            Parameter("chunk_bytes", "chunk", required=True, operand=True, step=16),
            *completes,
            *((Parameter("remote_cta_id", "rank", required=True),) if remote else ()),
            *((Parameter("cta_mask", "mask", required=True, operand=True, bits=16),) if multicast else ()),
            *((Parameter("cache_policy", "u64", required=True, operand=True),) if q["hint"] else ()),
            *((Parameter("byteMask", "integer", required=True, operand=True, bits=16, most=0xFFFF),) if masked else ()),
        ),
        move=Move("dst", "src", source=(var("element"),), bytes="byteMask" if masked else None, combine=combine),
        issue="{opcode} [{dst}], [{src}], {chunk_bytes}"
        + ("" if to_global else ", [{mbar}]")
        + "{, cta_mask}{, cache_policy}{, byteMask};",
        qualifiers=q,
        isa="8.6" if q["dst"] == "shared::cta" or masked else "",
        single=True,
        proxy="async",
        completion=("cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;") if to_global else (),
    )


def bulk(q: Mapping[str, str]) -> Contract:
    """The copy of one run of bytes."""
    return _contract(BULK, q)


def reduce(q: Mapping[str, str]) -> Contract:
    """The reduction of one run of elements into the destination."""
    return _contract(REDUCE, q)


def prefetch(q: Mapping[str, str]) -> Contract:
    """The prefetch of one run of bytes into L2; nothing is written."""
    return Contract(
        opcode=PREFETCH.spell(q),
        mnemonic=PREFETCH.mnemonic,
        arch=PREFETCH.arch_floor(q),
        source=PREFETCH.source,
        collective="thread",
        atom=(AtomAxis("element", 0),),
        chunk="chunk_bytes",
        operands=(_side("src", "global", 0, None),),
        parameters=(
            Parameter("pred", "predicate"),
            Parameter("chunk_bytes", "chunk", required=True, operand=True, step=16),
            *((Parameter("cache_policy", "u64", required=True, operand=True),) if q["hint"] else ()),
        ),
        move=Move("", "src", source=()),
        issue="{opcode} [{src}], {chunk_bytes}{, cache_policy};",
        qualifiers=q,
        single=True,
        proxy="async",
    )


FAMILY = Family("bulk", (Entry(BULK, bulk), Entry(PREFETCH, prefetch), Entry(REDUCE, reduce)))
