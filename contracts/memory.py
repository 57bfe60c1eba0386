"""`ld` and `st`: raw-bit copies between the registers of one thread and consecutive memory.

Sources: PTX ISA 9.7.9.8 (ld), 9.7.9.9 (ld.global.nc), 9.7.9.11 (st), 6.4.1 (alignment), 9.7.9.1-.2 (cache operators, eviction).
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
    Register,
    Slot,
    both,
    either,
    is_,
    other_than,
    written,
)
from tilecheck.symbolic import var

TYPES = ("b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64")
L1_EVICT = ("L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate")
L2_EVICT = ("L2::evict_normal", "L2::evict_first", "L2::evict_last")
SHARED = ("shared", "shared::cta", "shared::cluster")

OF_8 = is_("type", "b8", "u8", "s8")
OF_16 = is_("type", "b16", "u16", "s16")
OF_32 = is_("type", "b32", "u32", "s32", "f32")
OF_64 = is_("type", "b64", "u64", "s64", "f64")
WIDE = either(both(is_("vec", "v8"), OF_32), both(is_("vec", "v4"), OF_64))
GLOBAL_OR_GENERIC = is_("space", "global", "")
ORDERED = either(is_("order", "volatile", "relaxed", "acquire", "release"), written("mmio"))

# fmt: off
COMMON = (
    Exclusion(both(is_("vec", "v8"), either(OF_8, OF_16, OF_64)), "vec", ".v8 takes 32-bit types only; no vector moves more than 256 bits"),
    Exclusion(both(written("vec"), is_("type", "b128")), "vec", "b128 is a scalar type: no vector moves more than 256 bits"),
    Exclusion(both(WIDE, other_than(GLOBAL_OR_GENERIC)), "vec", "256-bit vectors exist in global memory only"),
    Exclusion(both(is_("order", "relaxed", "acquire", "release"), is_("scope", "")), "order", "needs a scope: .cta, .cluster, .gpu or .sys"),
    Exclusion(both(written("scope"), is_("order", "", "weak", "volatile")), "scope", "a scope belongs to .relaxed, .acquire or .release"),
    Exclusion(both(written("mmio"), other_than(both(is_("order", "relaxed"), is_("scope", "sys")))), "mmio", "exists as .mmio.relaxed.sys only"),
    Exclusion(both(is_("order", "relaxed", "acquire", "release"), is_("space", "local", "const", "param", "param::func")), "order",
              "ordered accesses exist in global and shared memory only"),
    Exclusion(both(written("mmio"), other_than(GLOBAL_OR_GENERIC)), "mmio", "exists in global memory only"),
    Exclusion(both(written("cop"), ORDERED), "cop", "a cache operator cannot be combined with .volatile, .relaxed, .acquire or .release"),
    Exclusion(both(written("cop"), either(written("l1"), written("l2"))), "cop", "a cache operator cannot be combined with an eviction priority"),
    Exclusion(both(written("l1"), other_than(GLOBAL_OR_GENERIC)), "l1", "eviction priorities exist in global memory only"),
    Exclusion(both(written("l2"), other_than(GLOBAL_OR_GENERIC)), "l2", "eviction priorities exist in global memory only"),
    Exclusion(both(written("l2"), other_than(WIDE)), "l2", "L2 eviction priorities exist on 256-bit forms only (.v8.b32, .v4.b64)"),
    Exclusion(both(written("l1"), either(is_("order", "volatile"), written("mmio"))), "l1", "cannot be combined with .volatile or .mmio"),
    Exclusion(both(written("l2"), either(is_("order", "volatile"), written("mmio"))), "l2", "cannot be combined with .volatile or .mmio"),
    Exclusion(both(written("mmio"), written("vec")), "vec", ".mmio accesses are scalar"),
    Exclusion(both(written("hint"), other_than(GLOBAL_OR_GENERIC)), "hint", "a cache hint exists in global memory only"),
    Exclusion(both(written("hint"), either(is_("order", "volatile"), written("mmio"))), "hint", "cannot be combined with .volatile"),
)
LOAD_ONLY = (
    Exclusion(both(written("nc"), other_than(is_("space", "global"))), "nc", "exists in global memory only"),
    Exclusion(both(written("nc"), either(written("order"), written("mmio"))), "nc", "cannot be combined with a memory ordering"),
    Exclusion(both(written("nc"), is_("cop", "lu", "cv")), "cop", "with .nc only .ca, .cg and .cs exist"),
    Exclusion(both(written("prefetch"), written("mmio")), "prefetch", "cannot be combined with .mmio"),
    Exclusion(both(written("prefetch"), other_than(GLOBAL_OR_GENERIC)), "prefetch", "prefetch sizes exist in global memory only"),
)
# fmt: on
FLOORS = (
    Floor(both(), "sm_75"),
    Floor(either(is_("prefetch", "L2::256B"), written("hint")), "sm_80"),
    Floor(either(is_("scope", "cluster"), is_("space", "shared::cluster")), "sm_90"),
    Floor(WIDE, "sm_100"),
)


def _slots(
    orders: tuple[str, ...], spaces: tuple[str, ...], operators: tuple[str, ...], extra: tuple[Slot, ...], late: tuple[Slot, ...]
) -> tuple[Slot, ...]:
    return (
        Slot("mmio", ("mmio",)),
        Slot("order", orders),
        Slot("scope", ("cta", "cluster", "gpu", "sys")),
        Slot("space", spaces),
        Slot("cop", operators),
        *extra,
        Slot("l1", L1_EVICT),
        Slot("l2", L2_EVICT),
        Slot("hint", ("L2::cache_hint",)),
        *late,
        Slot("vec", ("v2", "v4", "v8")),
        Slot("type", TYPES, required=True),
    )


LD = Grammar(
    "ld",
    _slots(
        ("weak", "volatile", "relaxed", "acquire"),
        ("const", "global", "local", "param", "param::entry", "param::func", *SHARED),
        ("ca", "cg", "cs", "lu", "cv"),
        (Slot("nc", ("nc",)),),
        (Slot("prefetch", ("L2::64B", "L2::128B", "L2::256B")),),
    ),
    (*COMMON, *LOAD_ONLY),
    FLOORS,
    "PTX ISA 9.7.9.8",
)
ST = Grammar(
    "st",
    _slots(("weak", "volatile", "relaxed", "release"), ("global", "local", "param::func", *SHARED), ("wb", "cg", "cs", "wt"), (), ()),
    COMMON,
    FLOORS,
    "PTX ISA 9.7.9.11",
)


def _contract(grammar: Grammar, q: Mapping[str, str]) -> Contract:
    """One vector of `vec` elements: consecutive in memory, aligned to its whole size, in any distinct registers of the thread."""
    load = grammar is LD
    bits, words = int(q["type"][1:]), int(q["vec"][1:] or 1)
    word = var("word")
    space = q["space"].split("::")[0]
    register = Register("dst" if load else "src", bits=bits, register=word, write=load)
    memory = Memory("src" if load else "dst", space, bits=bits, row=("word",), align_bytes=words * bits // 8, write=not load)
    hint = (Parameter("cache_policy", "u64", required=True, operand=True),) if q["hint"] else ()
    preserve = (Parameter("preserve_dst", "flag", needs="pred"),) if load else ()
    policy = ", {cache_policy}" if hint else ""
    return Contract(
        opcode=grammar.spell(q),
        mnemonic=grammar.mnemonic,
        arch=grammar.arch_floor(q),
        source=f"{grammar.source}, 6.4.1",
        collective="thread",
        atom=(AtomAxis("word", words),),
        operands=(register, memory) if load else (memory, register),
        parameters=(Parameter("pred", "predicate"), *preserve, *hint),
        move=Move("dst", "src", source=(word,)),
        issue="{opcode} {dst}, [{src}]" + policy + ";" if load else "{opcode} [{dst}], {src}" + policy + ";",
        qualifiers=q,
        space_written=space in {"global", "shared", "local"},
    )


def ld(q: Mapping[str, str]) -> Contract:
    """The load of one vector."""
    return _contract(LD, q)


def st(q: Mapping[str, str]) -> Contract:
    """The store of one vector."""
    return _contract(ST, q)


FAMILY = Family("memory", (Entry(LD, ld), Entry(ST, st)))
