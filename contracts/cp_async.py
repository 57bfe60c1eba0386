"""`cp.async`: each thread copies one chunk of 4, 8 or 16 bytes from global to shared memory, asynchronously.

A chunk lies on consecutive bytes on both sides and is aligned to its size. Behind `src_size` bytes the destination is filled with zeros, entirely where
`ignore_src` holds; where `pred` is false nothing is written. Source: PTX ISA 9.7.9.25.3.1 (cp.async).
"""

from __future__ import annotations

from collections.abc import Mapping

from tilecheck.spec import AtomAxis, Contract, Entry, Family, Floor, Grammar, Memory, Move, Parameter, Slot, both
from tilecheck.symbolic import var

CP_ASYNC = Grammar(
    "cp.async",
    (
        Slot("cop", ("ca", "cg"), required=True),
        Slot("dst", ("shared", "shared::cta"), required=True),
        Slot("src", ("global",), required=True),
        Slot("hint", ("L2::cache_hint",)),
        Slot("prefetch", ("L2::64B", "L2::128B", "L2::256B")),
    ),
    exclusions=(),
    floors=(Floor(both(), "sm_80"),),
    source="PTX ISA 9.7.9.25.3.1",
)


def cp_async(q: Mapping[str, str]) -> Contract:
    """The copy of one chunk; `.cg` (past L1) takes 16 bytes only."""
    hint = (Parameter("cache_policy", "u64", required=True, operand=True),) if q["hint"] else ()
    return Contract(
        opcode=CP_ASYNC.spell(q),
        mnemonic=CP_ASYNC.mnemonic,
        arch=CP_ASYNC.arch_floor(q),
        source=CP_ASYNC.source,
        collective="thread",
        atom=(AtomAxis("element", 0),),
        chunk="chunk_bytes",
        operands=(
            Memory("dst", "shared", bits=0, row=("element",), align_bytes=0, write=True),
            Memory("src", "global", bits=0, row=("element",), align_bytes=0, write=False),
        ),
        parameters=(
            Parameter("pred", "predicate"),
            Parameter("chunk_bytes", "chunk", required=True, operand=True, choices=(16,) if q["cop"] == "cg" else (4, 8, 16)),
            Parameter("src_size", "integer", operand=True, bits=32, most="chunk_bytes", unless="ignore_src"),
            Parameter("ignore_src", "predicate", operand=True),
            *hint,
        ),
        move=Move("dst", "src", source=(var("element"),), length="src_size", blank="ignore_src"),
        issue="{opcode} [{dst}], [{src}], {chunk_bytes}{, src_size}{, ignore_src}{, cache_policy};",
        qualifiers=q,
        completion=("cp.async.commit_group;", "cp.async.wait_all;"),
    )


FAMILY = Family("cp_async", (Entry(CP_ASYNC, cp_async),))
