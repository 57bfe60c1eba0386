"""`tcgen05.mma`: one thread has the tensor cores of a CTA, or of a pair of CTAs, multiply A by B and leave the product in tensor memory, or add it there.

The call says the shape of one instruction, M of all its CTAs together. For each CTA D ends in (row, column) with M / group rows, A in (row, depth), B,
which is shared memory, in (column, depth) with N / group columns. A lies in shared or, packed, in tensor memory. Where `.block_scale` is
written two operands more, in tensor memory, hold a factor for each row of A, each column of B (all N in each CTA) and each block of K.
Operands repeat over M, N and K, in this order; the first step along K adds to D where `accum` holds, the later ones always.

A 32-bit word in a register, the instruction descriptor, says shape, types and the rest: it is made from the call. The caller elects the thread, commits and
waits: the product is there after `tcgen05.commit` has arrived at a barrier.

Sources: PTX ISA 9.7.16.2 (shapes, data paths), 9.7.16.4 (descriptors), 9.7.16.5 (types), 9.7.16.10 (the instructions); CUTLASS 4.7,
cute/atom/mma_traits_sm100.hpp and cute/arch/mma_sm100_desc.hpp; the reference of the tile patterns. Where they disagree: docs/decisions/0090 to 0096.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tilecheck.contracts.descriptors import TCGEN05, modes
from tilecheck.contracts.tensor_memory import FLOORS, GROUP
from tilecheck.contracts.tensor_memory import shared as in_common
from tilecheck.spec import (
    READINGS,
    AtomAxis,
    Contract,
    Described,
    Entry,
    Exclusion,
    Family,
    Floor,
    Grammar,
    Memory,
    Move,
    NumberType,
    Operand,
    Parameter,
    Size,
    Sized,
    Slot,
    TensorMemory,
    Typed,
    Word,
    WordField,
    both,
    is_,
    other_than,
    written,
)
from tilecheck.symbolic import Term, var
from tilecheck.symbolic.terms import eq, select

ROW, COLUMN, DEPTH, FACTOR, BANK = (var(name) for name in ("row", "column", "depth", "factor", "bank"))
M, N, K = (var(name) for name in ("M", "N", "K"))
F16 = NumberType("f16", 0, ("float16",), ("bits16",))
BF16 = NumberType("bf16", 1, ("bfloat16",), ("bits16",))
TF32 = NumberType("tf32", 2, (), ("float32", "bits32"))
RAW = ("uint8", "int8", "bits8")
EIGHT = (NumberType("e4m3", 0, ("float8_e4m3fn",), RAW), NumberType("e5m2", 1, ("float8_e5m2",), RAW))
NARROW = tuple(NumberType(name, code, (), RAW) for name, code in (("e2m3", 3), ("e3m2", 4), ("e2m1", 5)))
"""Types of four and six bits lie in containers of eight."""
E2M1 = NumberType("e2m1", 1, ("float4_e2m1fn",), ("uint4",))
INTEGERS = (NumberType("u8", 0, ("uint8",), ("bits8",)), NumberType("s8", 1, ("int8",), ("bits8",)))
UE8M0, UE4M3 = NumberType("ue8m0", 1, ("float8_e8m0fnu",)), NumberType("ue4m3", 0, ("float8_e4m3fn",))
SUM16, SUM32 = NumberType("f16", 0, ("float16", "bits16")), NumberType("f32", 1, ("float32", "bits32"))
SUMS = NumberType("s32", 2, ("int32", "bits32"))


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of numbers: bits of an element of A and B, their types, those of D, K of a dense instruction."""

    bits: int
    types: tuple[NumberType, ...]
    sums: tuple[NumberType, ...]
    depth: int


# fmt: off
KINDS: Mapping[str, Kind] = {
    "f16": Kind(16, (F16, BF16), (SUM32, SUM16), 16),
    "tf32": Kind(32, (TF32,), (SUM32,), 8),
    "f8f6f4": Kind(8, (*EIGHT, *NARROW), (SUM32, SUM16), 32),
    "i8": Kind(8, INTEGERS, (SUMS,), 32),
    "mxf8f6f4": Kind(8, (*EIGHT, *NARROW), (SUM32,), 32),
    "mxf4": Kind(4, (E2M1,), (SUM32,), 64),
    "mxf4nvf4": Kind(4, (E2M1,), (SUM32,), 64),
}
# fmt: on
FLOATS, SCALED = ("f16", "tf32", "f8f6f4"), ("mxf8f6f4", "mxf4", "mxf4nvf4")
FACTORS = {"scale_vec::1X": 1, "scale_vec::2X": 2, "scale_vec::4X": 4, "block32": 0, "block16": 4}
"""How many factors a row has; of .block32 as many as the kind has blocks of 32."""
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


def sizes(q: Mapping[str, str], reading: str) -> tuple[Size, ...]:
    """The shapes of a form, as documents are read: "" as all accept, "isa", "cutlass" or "tirx"."""
    kind, pair = _kind(q), q["group"] == "cta_group::2"
    if q["ws"]:
        found = dict.fromkeys((32, 64, 128), STATIONARY)
    elif kind in SCALED:
        found = dict.fromkeys((128, 256), steps(16, 256, 16)) if pair else {128: steps(8, 256, 8)}
    elif pair:
        step = 16 if kind != "i8" and reading in {"isa", "cutlass"} else 32
        found = dict.fromkeys((128, 256), steps(step, 256, step))
    elif kind == "i8":
        found = dict.fromkeys((64, 128), (8, 16, 24, *FEW[2:]) if reading in {"isa", "tirx"} else FEW)
    else:
        wide = 8 if reading in {"isa", "cutlass"} else 16
        found = {64: steps(8, 256, 8), 128: steps(wide, 256, wide)}
    if q["sp"]:
        return tuple(Size(m, _sparse(q, n), 2 * KINDS[kind].depth) for m, n in found.items() if m == 128 * int(q["group"][-1]))
    dense = [Size(m, n, KINDS[kind].depth) for m, n in found.items() if not q["shift"] or m >= 128]
    if kind in {"mxf4", "mxf4nvf4"} and _count(q) == 2:
        dense += [Size(m, n, 96, "sm_103a") for m, n in found.items() if m == 256 or (not pair and reading == "tirx")]
    return tuple(dense)


def _sparse(q: Mapping[str, str], n: tuple[int, ...]) -> tuple[int, ...]:
    """N of a sparse form."""
    return STATIONARY[:2] if q["ws"] else n


def _kind(q: Mapping[str, str]) -> str:
    return q["kind"].removeprefix("kind::")


def _count(q: Mapping[str, str]) -> int:
    """The factors of a row (K 64 or 32)."""
    return FACTORS.get(q["factors"], 0) or (1 if _kind(q) == "mxf8f6f4" else 2)


# --- the data paths ---------------------------------------------------------------------------------------------------

WHOLE: tuple[Term, Term] = (ROW, COLUMN)
"""Row r in lane r."""
SCATTERED: tuple[Term, Term] = (16 * (ROW // 16) + ROW, COLUMN)
"""16 rows in each of the four slabs of 32 lanes."""


def folded(parts: int, lanes: int) -> tuple[Term, Term]:
    """The columns in so many equal parts, one beside the other in lanes."""
    each = N // parts
    return ROW + lanes * (COLUMN // each), COLUMN % each


DATA_PATHS: Mapping[str, tuple[Term, Term]] = {
    "A": WHOLE,
    "B": folded(2, 64),
    "C": SCATTERED,
    "D": WHOLE,
    "E": folded(2, 64),
    "F": SCATTERED,
    "G": folded(4, 32),
}
"""(lane, column) of element (row, column) of D, the columns counted in cells: table of PTX ISA 9.7.16.10.5."""


def data_paths(q: Mapping[str, str]) -> dict[int, str]:
    """The data path of each M of a form."""
    if q["ws"]:
        return {32: "G", 64: "E", 128: "D"}
    if q["group"] == "cta_group::2":
        return {128: "C" if q["sp"] else "B", 256: "A"}
    return {64: "F", 128: "D"}


def by_m(choices: Mapping[int, Term]) -> Term:
    """A term for each M; the last one is that of the remaining M."""
    *others, (_, found) = choices.items()
    for m, term in reversed(others):
        found = select(eq(M, m), term, found)
    return found


def accumulator(q: Mapping[str, str], bits: int) -> TensorMemory:
    """D: each number in a cell of its own, one of 16 bits in the low half."""
    paths = {m: DATA_PATHS[letter] for m, letter in data_paths(q).items()}
    column = by_m({m: column for m, (_, column) in paths.items()})
    return TensorMemory(
        "d",
        bits=bits,
        lane=by_m({m: lane for m, (lane, _) in paths.items()}),
        column=2 * column if bits == 16 else column,
        write=True,
        atom=(AtomAxis("row", 0), AtomAxis("column", 0)),
        over=("m", "n"),
        first_lanes=(0, 16),
        alone=True,
    )


def factor_in_cells(q: Mapping[str, str], bits: int, reading: str) -> TensorMemory:
    """A in tensor memory, packed: rows as those of D, all of K in each part of the lanes that holds columns of D.

    With .ws and M of 64 or 32 the view has an axis for these parts, in front; for a pair of CTAs with M 128 the view has a replica.
    """
    own = {m: SCATTERED[0] if letter in "CF" and reading != "tirx" else ROW for m, letter in data_paths(q).items()}
    bank = select(eq(M, 64), 64, 32) * BANK if q["ws"] else 0
    return TensorMemory(
        "a",
        bits=bits,
        lane=by_m(own) + bank,
        column=DEPTH,
        write=False,
        atom=(*((AtomAxis("bank", 0),) if q["ws"] else ()), AtomAxis("row", 0), AtomAxis("depth", 0)),
        over=("m", "k"),
        first_lanes=(0, 16),
        beside="" if q["ws"] or reading == "tirx" else "d",
    )


def metadata(words: int) -> TensorMemory:
    """Which elements of A a sparse form has: words of 32 bits in the lanes of A."""
    return TensorMemory(
        "sp_meta",
        bits=32,
        lane=ROW,
        column=var("word"),
        write=False,
        dtypes=("uint32", "int32", "bits32"),
        atom=(AtomAxis("row", 128), AtomAxis("word", words)),
        over=("m", "k"),
        first_bits=128,
    )


def factors(name: str, axis: str, over: tuple[str, str], count: int) -> TensorMemory:
    """Scale factors: those of row r in lane r % 32, in byte 4 * (r // 32) and up to three behind it, in each of the four slabs."""
    place = var(axis)
    return TensorMemory(
        name,
        bits=8,
        lane=place % 32,
        column=4 * (place // 32) + FACTOR,
        write=False,
        atom=(AtomAxis(axis, 0), AtomAxis("factor", 0)),
        over=over,
        first_bits=8 * count,
        replicas=((4, 32),),
    )


def halved(one: TensorMemory) -> TensorMemory:
    """Factors of B as CUTLASS has them for M 128 of two CTAs: those of each half of N in two slabs of its own."""
    half = N // 2
    place = COLUMN % half
    lane, column = place % 32 + 64 * (COLUMN // half), 4 * (place // 32) + FACTOR
    return replace(one, lane=select(eq(M, 128), lane, one.lane), column=select(eq(M, 128), column, one.column))


def factor_in_memory(name: str, axis: str, over: tuple[str, str], kind: str) -> Memory:
    """A or B in shared memory."""
    bits = KINDS[kind].bits
    return Memory(
        name,
        "shared",
        bits=bits,
        row=(),
        align_bytes=16,
        write=False,
        atom=(AtomAxis(axis, 0), AtomAxis("depth", 0)),
        over=over,
        described=Described(f"{name}_descriptor", f"{name}_major", across=axis, along="depth", modes=modes(bits, "k", "mn")),
    )


# --- the instruction descriptor ---------------------------------------------------------------------------------------


def instruction_word(q: Mapping[str, str]) -> Word:
    """The fields of PTX ISA 9.7.16.4.2: for kinds without factors, for mxf8f6f4, for mxf4 and mxf4nvf4."""
    kind, scaled = _kind(q), bool(q["scaled"])
    four = kind in {"mxf4", "mxf4nvf4"}
    found = [WordField("sparse", 2, 1, ("always", int(bool(q["sp"]))))]
    if not scaled:
        found += [
            WordField("saturate", 3, 1, ("flag", "sat_d") if kind == "i8" else ("always", 0)),
            WordField("d_type", 4, 2, ("type", "d")),
        ]
    else:
        found.append(WordField("sfb_id", 4, 2, ("byte", "sfb")))
    found += [WordField("a_type", 7, 3, ("type", "a")), WordField("b_type", 10, 2 if four else 3, ("type", "b"))]
    if kind != "i8":
        found += [WordField("negate_a", 13, 1, ("flag", "neg_a")), WordField("negate_b", 14, 1, ("flag", "neg_b"))]
    if not four:
        found += [WordField("transpose_a", 15, 1, ("major", "a_major")), WordField("transpose_b", 16, 1, ("major", "b_major"))]
    found.append(WordField("n", 17, 6, ("size", "N", 8)))
    if not scaled:
        found += [WordField("m", 24, 5, ("size", "M", 16)), WordField("max_shift", 30, 2, ("always", 0))]
    else:
        found += [
            WordField("scale_type", 23, 1, ("type", "sfa")),
            WordField("m", 27, 2, ("size", "M", 128)),
            WordField("sfa_id", 29, 2, ("byte", "sfa")),
        ]
        if four:
            found.append(WordField("k_96", 31, 1, ("is", "K", 96)))
    name = "mxf4" if four else kind if scaled else "dense"
    return Word(f"the instruction descriptor ({name})", tuple(found), "PTX ISA 9.7.16.4.2")


# --- forms ------------------------------------------------------------------------------------------------------------


def _types(q: Mapping[str, str], sums: tuple[NumberType, ...]) -> tuple[Typed, ...]:
    kind = KINDS[_kind(q)]
    along = tuple(one.name for one in NARROW) + (("e2m1",) if kind.bits == 4 else ())
    halves = tuple(("f16", name, ("f16",)) for name in "ab") if _kind(q) == "f16" else ()
    found = [Typed(name, kind.types, f"{name}_format", along=along) for name in "ab"]
    found.append(Typed("d", sums, needs=halves))
    if q["scaled"]:
        # blocks of 16 take both types, those of 32 the powers of two
        own = (UE8M0, UE4M3) if _kind(q) == "mxf4nvf4" and _count(q) == 4 else (UE8M0,)
        found.append(Typed("sfa", own))
        found.append(Typed("sfb", own, needs=tuple((one.name, "sfa", (one.name,)) for one in own)))
    return tuple(found)


def _parameters(q: Mapping[str, str], *, shared: bool) -> tuple[Parameter, ...]:
    """shared: whether A lies in shared memory."""
    kind, masks = _kind(q), 4 * int(q["group"][-1])
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
    if kind in {"f16", "tf32"} and not q["ws"] and not q["sp"]:
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
        count = select(eq(K, 96), 3 * _count(q) // 2, _count(q)) if _kind(q) != "mxf8f6f4" else 1
        found += [("sfa", (rows, count)), ("sfb", (N, count))]
    return tuple(found)


def _sized(q: Mapping[str, str], reading: str, *, shared: bool) -> Sized:
    group, own = int(q["group"][-1]), sizes(q, reading)
    others = tuple((name, found) for name in READINGS if name != reading and (found := sizes(q, name)) != own)
    starts: tuple[tuple[str, Term], ...] = ()
    if q["scaled"] and _kind(q) != "mxf8f6f4":
        starts = tuple((name, select(eq(K, 96), 32, 8 * _count(q))) for name in ("sfa", "sfb"))
    copies = (("a", 128, ((2, 64),)),) if not shared and group == 2 else ()
    halves = bool(q["scaled"]) and group == 2 and reading == "cutlass"
    notes = (("sfb", 128, "that each CTA has all N in every slab stands in no document of NVIDIA, docs/decisions/0092"),)
    return Sized(
        "instruction_shape",
        own,
        _extents(q, shared=shared),
        starts,
        (*copies, *((("sfb", 128, ((2, 32),)),) if halves else ())),
        multiples=(("b_major", "mn", 16 * group),) if KINDS[_kind(q)].bits == 8 else (),
        notes=notes if q["scaled"] and group == 2 and not halves else (),
        others=others,
        why=WHY_K if q["scaled"] else WHY_N,
    )


def _form(q: Mapping[str, str], reading: str, bits: int, *, shared: bool) -> Contract:
    """One form: D of so many bits, A in shared or in tensor memory."""
    kind, name, pair = KINDS[_kind(q)], _kind(q), q["group"] == "cta_group::2"
    sums = tuple(one for one in kind.sums if (one is SUM16) == (bits == 16))
    a = factor_in_memory("a", "row", ("m", "k"), name) if shared else factor_in_cells(q, kind.bits, reading)
    operands: list[Operand] = [accumulator(q, bits), a, factor_in_memory("b", "column", ("n", "k"), name)]
    if q["sp"]:
        operands.append(metadata(1 if kind.bits > 8 else 2))
    if q["scaled"]:
        sfb = factors("sfb", "column", ("n", "k"), _count(q))
        operands += [factors("sfa", "row", ("m", "k"), _count(q)), halved(sfb) if pair and reading == "cutlass" else sfb]
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
        reading=reading,
    )


def read_as(q: Mapping[str, str], reading: str) -> Contract:
    """The contract under a reading of the documents: A in shared memory and D of 32 bits, with the other cases as variants."""
    halves = SUM16 in KINDS[_kind(q)].sums
    forms = [(bits, shared) for shared in (True, False) for bits in ((32, 16) if halves else (32,)) if not (shared and q["shift"])]
    first, *others = (_form(q, reading, bits, shared=shared) for bits, shared in forms)
    return replace(first, variants=tuple(others))


def mma(q: Mapping[str, str]) -> Contract:
    """D = A * B, plus D where `accum` holds; over K repeats the later steps add to D whatever it says."""
    return read_as(q, "")


FAMILY = Family("tcgen05_mma", (Entry(GRAMMAR, mma, read_as),))
