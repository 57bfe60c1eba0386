"""`tcgen05.mma`: one thread has the tensor cores of a CTA, or of a pair of CTAs, multiply A by B and leave the product in tensor memory, or add it there.

The call says the shape of one instruction, M of all its CTAs together. For each CTA D ends in (row, column) with M / group rows, A in (row, depth), B,
which is shared memory, in (column, depth) with N / group columns. A lies in shared or, packed, in tensor memory. Where `.block_scale` is
written two operands more, in tensor memory, hold a factor for each row of A, each column of B (all N in each CTA) and each block of K.
Operands repeat over M, N and K, in this order; the first step along K adds to D where `accum` holds, the later ones always.

A 32-bit word in a register, the instruction descriptor, says shape, types and the rest: it is made from the call. The caller elects the thread, commits and
waits: the product is there after `tcgen05.commit` has arrived at a barrier.

Sources: PTX ISA 9.7.16.2 (shapes, data paths), 9.7.16.4 (descriptors), 9.7.16.5 (types), 9.7.16.10 (the instructions); CUTLASS 4.7,
cute/atom/mma_traits_sm100.hpp and cute/arch/mma_sm100_desc.hpp; the reference of the tile patterns. Where they disagree: docs/decisions/0090 to 0096.
What it computes: tcgen05_products.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilecheck.contracts.descriptors import TCGEN05
from tilecheck.contracts.tcgen05_kinds import FACTORS, KINDS, NARROW, SUM16, UE4M3, UE8M0, count_of, instruction_word, kind_of
from tilecheck.contracts.tcgen05_places import (
    K,
    M,
    N,
    accumulator,
    by_m,
    factor_in_cells,
    factor_in_memory,
    factors,
    first_lanes,
    halved,
    metadata,
)
from tilecheck.contracts.tcgen05_products import product, why_not
from tilecheck.contracts.tensor_memory import FLOORS, GROUP
from tilecheck.contracts.tensor_memory import shared as in_common
from tilecheck.spec import (
    READINGS,
    Contract,
    Entry,
    Exclusion,
    Family,
    Floor,
    Grammar,
    Move,
    NumberType,
    Operand,
    Parameter,
    Size,
    Sized,
    Slot,
    TensorMemory,
    Typed,
    both,
    is_,
    other_than,
    written,
)
from tilecheck.symbolic import Term
from tilecheck.symbolic.terms import eq, select

FLOATS, SCALED = ("f16", "tf32", "f8f6f4"), ("mxf8f6f4", "mxf4", "mxf4nvf4")
NAMED = ("scale_vec::1X", "scale_vec::2X", "scale_vec::4X")
A_BUFFERS = tuple(f"collector::a::{op}" for op in ("fill", "use", "lastuse", "discard"))
B_BUFFERS = tuple(f"collector::b{k}::{op}" for k in range(4) for op in ("fill", "use", "lastuse", "discard"))
LOW_A = ("collector::a::fill", "collector::a::use")

# fmt: off
GRAMMAR = Grammar(
    "tcgen05.mma",
    (
        Slot("ws", ("ws",)),
        Slot("sp", ("sp",)),
        GROUP,
        Slot("kind", tuple(f"kind::{kind}" for kind in KINDS), required=True),
        Slot("scaled", ("block_scale",)),
        Slot("factors", tuple(FACTORS)),
        Slot("shift", ("ashift",)),
        Slot("buffer", (*A_BUFFERS, *B_BUFFERS)),
    ),
    exclusions=(
        Exclusion(both(written("ws"), is_("group", "cta_group::2")), "group", ".ws works in one CTA"),
        Exclusion(both(written("ws"), is_("kind", *(f"kind::{k}" for k in SCALED))), "kind", ".ws has no factors"),
        Exclusion(both(is_("kind", *(f"kind::{k}" for k in SCALED)), is_("scaled", "")), "scaled", "this kind needs .block_scale"),
        Exclusion(both(written("scaled"), other_than(is_("kind", *(f"kind::{k}" for k in SCALED)))), "scaled", "belongs to the kinds mx..."),
        Exclusion(both(written("factors"), is_("scaled", "")), "factors", "belongs to .block_scale"),
        Exclusion(both(is_("kind", "kind::mxf8f6f4"), other_than(is_("factors", "", "scale_vec::1X", "block32"))), "factors", "kind::mxf8f6f4 has blocks of 32, one factor a row"),
        Exclusion(both(is_("kind", "kind::mxf4"), other_than(is_("factors", "", "scale_vec::2X", "block32"))), "factors", "kind::mxf4 has blocks of 32, two factors a row"),
        Exclusion(both(is_("kind", "kind::mxf4nvf4"), is_("factors", "", "scale_vec::1X")), "factors", "kind::mxf4nvf4 says two or four factors a row"),
        Exclusion(both(written("shift"), written("scaled")), "shift", "does not go with .block_scale"),
        Exclusion(both(written("shift"), written("ws")), "shift", "does not go with .ws"),
        Exclusion(both(written("shift"), is_("buffer", *LOW_A)), "buffer", "does not go with .ashift"),
        Exclusion(both(written("ws"), is_("buffer", *A_BUFFERS)), "buffer", ".ws keeps B, in .collector::b0 to .collector::b3"),
        Exclusion(both(is_("ws", ""), is_("buffer", *B_BUFFERS)), "buffer", "belongs to .ws"),
    ),
    floors=(
        *FLOORS,
        Floor(is_("kind", "kind::i8"), "sm_100a", ("sm_110a",)),
        Floor(is_("factors", *NAMED), "sm_100a", ("sm_103a", "sm_110a")),
        Floor(both(written("sp"), is_("kind", "kind::mxf4", "kind::mxf4nvf4")), "sm_100a", ("sm_103a", "sm_110a")),
    ),
    source="PTX ISA 9.7.16.10",
)
# fmt: on


# --- the shapes of an instruction -------------------------------------------------------------------------------------


def steps(first: int, last: int, step: int) -> tuple[int, ...]:
    """Every number of N."""
    return tuple(range(first, last + 1, step))


STATIONARY = (64, 128, 256)
FEW = (8, 16, *steps(32, 256, 16))
"""N of integers that all documents take; the ISA and the tile patterns take 24 too."""
WHY_N = "the documents disagree about the steps of N, docs/decisions/0091"
WHY_K = "the documents disagree about K 96, docs/decisions/0093"


def sizes(q: Mapping[str, str], reading: str, *, shared: bool = True) -> tuple[Size, ...]:
    """The shapes of a form, as documents are read: "" as all accept, "isa", "cutlass" or "tirx". shared: whether A lies in shared memory."""
    fine = reading == "isa" or (reading == "cutlass" and shared)
    kind, pair = kind_of(q), q["group"] == "cta_group::2"
    if q["ws"]:
        found = dict.fromkeys((32, 64, 128), STATIONARY)
    elif kind in SCALED:
        found = dict.fromkeys((128, 256), steps(16, 256, 16)) if pair else {128: steps(8, 256, 8)}
    elif pair:
        step = 16 if kind != "i8" and fine else 32
        found = dict.fromkeys((128, 256), steps(step, 256, step))
    elif kind == "i8":
        found = dict.fromkeys((64, 128), (8, 16, 24, *FEW[2:]) if reading in {"isa", "tirx"} else FEW)
    else:
        wide = 8 if fine else 16
        found = {64: steps(8, 256, 8), 128: steps(wide, 256, wide)}
    if q["sp"]:
        return tuple(Size(m, _sparse(q, n), 2 * KINDS[kind].depth) for m, n in found.items() if m == 128 * int(q["group"][-1]))
    dense = [Size(m, n, KINDS[kind].depth) for m, n in found.items() if not q["shift"] or m >= 128]
    if _has_96(q):
        dense += [Size(m, n, 96, "sm_103a") for m, n in found.items() if m == 256 or (not pair and reading == "tirx")]
    return tuple(dense)


def _has_96(q: Mapping[str, str]) -> bool:
    """Whether K may be 96: with blocks of 32, for `.scale_vec::2X` means two factors of a row for every K."""
    return kind_of(q) in {"mxf4", "mxf4nvf4"} and q["factors"] in {"", "block32"}


def _sparse(q: Mapping[str, str], n: tuple[int, ...]) -> tuple[int, ...]:
    """N of a sparse form."""
    return STATIONARY[:2] if q["ws"] else n


# --- forms ------------------------------------------------------------------------------------------------------------


def _types(q: Mapping[str, str], sums: tuple[NumberType, ...]) -> tuple[Typed, ...]:
    kind = KINDS[kind_of(q)]
    along = tuple(one.name for one in NARROW) + (("e2m1",) if kind.bits == 4 else ())
    halves = tuple(("f16", name, ("f16",)) for name in "ab") if kind_of(q) == "f16" else ()
    found = [Typed(name, kind.types, f"{name}_format", along=along) for name in "ab"]
    found.append(Typed("d", sums, needs=halves))
    if q["scaled"]:
        # blocks of 16 take both types, those of 32 the powers of two
        own = (UE8M0, UE4M3) if kind_of(q) == "mxf4nvf4" and count_of(q) == 4 else (UE8M0,)
        found.append(Typed("sfa", own))
        found.append(Typed("sfb", own, needs=tuple((one.name, "sfa", (one.name,)) for one in own)))
    return tuple(found)


def _parameters(q: Mapping[str, str], *, shared: bool) -> tuple[Parameter, ...]:
    """shared: whether A lies in shared memory."""
    kind, masks = kind_of(q), 4 * int(q["group"][-1])
    found = [Parameter("instruction_shape", "shape", required=True)]
    found += [Parameter(f"{name}_descriptor", "descriptor", required=True) for name in ("ab" if shared else "b")]
    found.append(Parameter("a_major", "major" if shared else "fixed", default="k"))
    found.append(Parameter("b_major", "major", default="k"))
    found += [Parameter(f"{name}_format", "word") for name in "ab"]
    found.append(Parameter("accum", "predicate", operand=True, default=True, then=True))
    found += [Parameter(f"neg_{name}", "flag" if kind != "i8" else "fixed", default=False) for name in "ab"]
    if not q["scaled"]:
        found.append(Parameter("sat_d", "flag" if kind == "i8" else "fixed", default=False))
    if q["ws"]:
        found.append(Parameter("zero_column_mask", "u64", operand=True, most=(1 << 56) - 1))
    elif not q["scaled"]:
        found.append(Parameter("disable_output_lane", "words", operand=True, bits=32, choices=(masks,)))
    if kind in {"f16", "tf32"} and not q["ws"]:
        found.append(Parameter("scale_input_d", "selector", operand=True, choices=tuple(range(16)), arch="sm_100f"))
    return (*found, Parameter("pred", "predicate"))


def _issue(q: Mapping[str, str], *, shared: bool) -> str:
    fields = "[{d}], " + ("{a}" if shared else "[{a}]") + ", {b}" + (", [{sp_meta}]" if q["sp"] else "") + ", {word}"
    if q["scaled"]:
        return "{opcode} " + fields + ", [{sfa}], [{sfb}], {accum};"
    if q["ws"]:
        return "{opcode} " + fields + ", {accum}{, zero_column_mask};"
    return "{opcode} " + fields + "{, disable_output_lane}, {accum}{, scale_input_d};"


def _extents(q: Mapping[str, str], *, shared: bool) -> tuple[tuple[str, tuple[Term, ...]], ...]:
    group = int(q["group"][-1])
    rows: Term = M // group
    bank = () if shared or not q["ws"] else (by_m({32: 4, 64: 2, 128: 0}),)
    held = K // 2 if q["sp"] else K
    found: list[tuple[str, tuple[Term, ...]]] = [("d", (rows, N)), ("a", (*bank, rows, held)), ("b", (N // group, K))]
    if q["scaled"]:
        count = select(eq(K, 96), 3, count_of(q)) if _has_96(q) else count_of(q)
        found += [("sfa", (rows, count)), ("sfb", (N, count))]
    return tuple(found)


def _sized(q: Mapping[str, str], reading: str, *, shared: bool) -> Sized:
    group, own = int(q["group"][-1]), sizes(q, reading, shared=shared)
    others = tuple((name, found) for name in READINGS if name != reading and (found := sizes(q, name, shared=shared)) != own)
    starts: tuple[tuple[str, Term], ...] = ()
    if q["scaled"] and kind_of(q) != "mxf8f6f4":
        start = 8 * count_of(q)
        starts = tuple((name, select(eq(K, 96), 32, start) if _has_96(q) else start) for name in ("sfa", "sfb"))
    copies = (("a", 128, ((2, 64),)),) if not shared and group == 2 else ()
    halves = bool(q["scaled"]) and group == 2 and reading == "cutlass"
    notes: list[tuple[str, int, str]] = []
    if q["scaled"] and group == 2 and not halves:
        notes.append(("sfb", 128, "that each CTA has all N in every slab stands in no document of NVIDIA, docs/decisions/0103"))
    if q["ws"] and not shared:
        notes.append(("a", 32, "that it has four banks is by analogy with the two of M 64, docs/decisions/0092"))
    return Sized(
        "instruction_shape",
        own,
        _extents(q, shared=shared),
        starts,
        (*copies, *((("sfb", 128, ((2, 32),)),) if halves else ())),
        begins=first_lanes(q, reading, shared=shared),
        multiples=(("b_major", "mn", 16 * group),) if KINDS[kind_of(q)].bits == 8 else (),
        notes=tuple(notes),
        others=others,
        why=WHY_K if q["scaled"] else WHY_N,
    )


def _form(q: Mapping[str, str], reading: str, bits: int, *, shared: bool) -> Contract:
    """One form: D of so many bits, A in shared or in tensor memory."""
    kind, name, pair = KINDS[kind_of(q)], kind_of(q), q["group"] == "cta_group::2"
    sums = tuple(one for one in kind.sums if (one is SUM16) == (bits == 16))
    a = factor_in_memory("a", "row", ("m", "k"), name) if shared else factor_in_cells(q, kind.bits, reading)
    operands: list[Operand] = [accumulator(q, bits), a, factor_in_memory("b", "column", ("n", "k"), name)]
    if q["sp"]:
        operands.append(metadata(1 if kind.bits > 8 else 2))
    if q["scaled"]:
        sfb = factors("sfb", "column", ("n", "k"), count_of(q))
        operands += [factors("sfa", "row", ("m", "k"), count_of(q)), halved(sfb) if pair and reading == "cutlass" else sfb]
    return Contract(
        opcode=GRAMMAR.spell(q),
        mnemonic="tcgen05.mma",
        arch=GRAMMAR.arch_floor(q),
        also=GRAMMAR.arch_also(q),
        source=GRAMMAR.source,
        collective="thread",
        atom=(),
        operands=tuple(operands),
        parameters=_parameters(q, shared=shared),
        move=Move("", "", source=()),
        issue=_issue(q, shared=shared),
        qualifiers=q,
        isa="8.6",
        single=True,
        pair=pair,
        loops=("m", "n", "k"),
        proxy="async",
        encoding=TCGEN05,
        sized=_sized(q, reading, shared=shared),
        typed=_types(q, sums),
        word=instruction_word(q),
        shared=in_common(
            q, issuer="pair" if pair else "cta", apart=tuple(("d", o.name) for o in operands[1:] if isinstance(o, TensorMemory))
        ),
        product=product(q, reading, shared=shared),
        unpredicted=why_not(q),
        reading=reading,
    )


def read_as(q: Mapping[str, str], reading: str) -> Contract:
    """The contract under a reading of the documents: A in shared memory and D of 32 bits, with the other cases as variants."""
    halves = SUM16 in KINDS[kind_of(q)].sums
    forms = [(bits, shared) for shared in (True, False) for bits in ((32, 16) if halves else (32,)) if not (shared and q["shift"])]
    first, *others = (_form(q, reading, bits, shared=shared) for bits, shared in forms)
    return replace(first, variants=tuple(others))


def mma(q: Mapping[str, str]) -> Contract:
    """D = A * B, plus D where `accum` holds; over K repeats the later steps add to D whatever it says."""
    return read_as(q, "")


FAMILY = Family("tcgen05_mma", (Entry(GRAMMAR, mma, read_as),))
