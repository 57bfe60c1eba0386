"""`mma.sync`: a warp multiplies two matrices whose fragments lie in its registers and adds a third.

A is M x K, B is K x N, C and D are M x N. Operands are views of registers: A of shape (row, word) and B of shape (column, word), a word being a register with as many
neighbours along K as it holds; C and D of shape (row, column), or (row, word) where a register holds two neighbours of a row. Registers of 32 bits, of
64 for doubles. Sources: PTX ISA 9.7.14.1 to 9.7.14.5 (shapes, types, fragments); the traits of CUTLASS (cute/atom/mma_traits_sm80.hpp, sm89, sm120).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilecheck.spec import (
    AtomAxis,
    Choice,
    Contract,
    Entries,
    Entry,
    Exclusion,
    Family,
    Floor,
    Grammar,
    Move,
    Parameter,
    Product,
    Register,
    Scale,
    Slot,
    both,
    either,
    is_,
    other_than,
    written,
)
from tilecheck.symbolic import var
from tilecheck.symbolic.terms import Term

PACKED = ("float32", "int32", "uint32", "bits32")
ACCUMULATORS = {"f16": PACKED, "f32": ("float32", "bits32"), "f64": ("float64", "bits64"), "s32": ("int32", "uint32", "bits32")}
"""The containers that C and D are taken in: a word of two halves is raw bits, a number keeps its type."""
BITS = {
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    "f64": 64,
    "s8": 8,
    "u8": 8,
    "s4": 4,
    "u4": 4,
    "b1": 1,
    "s32": 32,
    "f32": 32,
    "e4m3": 8,
    "e5m2": 8,
    "e3m2": 8,
    "e2m3": 8,
    "e2m1": 8,
}
"""The bits that an element fills in a register; those narrower than eight bits stand in bytes of their own here."""
HALVES, BYTES, TINY = ("f16", "bf16"), ("e4m3", "e5m2"), ("e3m2", "e2m3", "e2m1")
INTEGERS = ("s8", "u8"), ("s4", "u4")
FLOATS = (*HALVES, "tf32", *BYTES, *TINY)
ROW, COLUMN, WORD, PART, PROBLEM = (var(name) for name in ("row", "column", "word", "part", "problem"))

SHAPES = {
    "f16": ("m8n8k4", "m16n8k8", "m16n8k16"),
    "bf16": ("m16n8k8", "m16n8k16"),
    "tf32": ("m16n8k4", "m16n8k8"),
    "f64": ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"),
    "s8": ("m8n8k16", "m16n8k16", "m16n8k32"),
    "u8": ("m8n8k16", "m16n8k16", "m16n8k32"),
    "s4": ("m8n8k32", "m16n8k32", "m16n8k64"),
    "u4": ("m8n8k32", "m16n8k32", "m16n8k64"),
    "b1": ("m8n8k128", "m16n8k128", "m16n8k256"),
    "e4m3": ("m16n8k16", "m16n8k32"),
    "e5m2": ("m16n8k16", "m16n8k32"),
    "e3m2": ("m16n8k32",),
    "e2m3": ("m16n8k32",),
    "e2m1": ("m16n8k32",),
}
SPARSE_SHAPES = {
    **dict.fromkeys(HALVES, ("m16n8k16", "m16n8k32")),
    "tf32": ("m16n8k8", "m16n8k16"),
    **dict.fromkeys(INTEGERS[0], ("m16n8k32", "m16n8k64")),
    **dict.fromkeys(INTEGERS[1], ("m16n8k64", "m16n8k128")),
    **dict.fromkeys((*BYTES, *TINY), ("m16n8k64",)),
    "f64": (),
    "b1": (),
}
"""The shapes of products whose A has two (for .tf32 one) of every four (two) neighbours, the others being zero."""
PACKED_KINDS = ("kind::mxf4", "kind::mxf4nvf4")
"""Kinds that hold two 4-bit floats in a byte."""
KINDS = ("kind::f8f6f4", "kind::mxf8f6f4", *PACKED_KINDS)
SCALED = is_("kind", *KINDS[1:])
QUARTERS = both(is_("shape", "m8n8k4"), is_("a", "f16"))
"""The form that multiplies four pairs of 8 x 4 and 4 x 8 matrices, the only one with a choice of layouts."""
DENSE, SPARSE = is_("sparse", ""), written("sparse")
PACKED_PAIRS = is_("kind", *PACKED_KINDS)


def _shapes() -> tuple[str, ...]:
    every = (shape for shapes in (*SHAPES.values(), *SPARSE_SHAPES.values()) for shape in shapes)
    return tuple(dict.fromkeys(every))


def _shape_rules() -> tuple[Exclusion, ...]:
    found = [
        Exclusion(
            both(is_("a", a), when, other_than(PACKED_PAIRS), other_than(is_("shape", *shapes))),
            "shape",
            f"{a}{text} has {_listed(shapes)}",
        )
        for table, when, text in ((SHAPES, DENSE, ""), (SPARSE_SHAPES, SPARSE, ", sparse,"))
        for a, shapes in table.items()
    ]
    found += [
        Exclusion(
            both(is_("kind", *kinds), when, other_than(is_("shape", shape))), "shape", f".{' and .'.join(kinds)} have the shape {shape}"
        )
        for kinds, when, shape in (
            (KINDS[:2], DENSE, "m16n8k32"),
            (KINDS[:2], SPARSE, "m16n8k64"),
            (PACKED_KINDS, DENSE, "m16n8k64"),
            (PACKED_KINDS, SPARSE, "m16n8k128"),
        )
    ]
    return tuple(found)


def _listed(shapes: tuple[str, ...]) -> str:
    return f"the shapes {', '.join(shapes)}" if shapes else "no shape"


# fmt: off
MMA = Grammar(
    "mma",
    (
        Slot("sparse", ("sp", "sp::ordered_metadata")),
        Slot("sync", ("sync",), required=True),
        Slot("aligned", ("aligned",), required=True),
        Slot("shape", _shapes(), required=True),
        Slot("alayout", ("row", "col"), required=True),
        Slot("blayout", ("row", "col"), required=True),
        Slot("kind", KINDS),
        Slot("scaling", ("block_scale",)),
        Slot("vector", ("scale_vec::1X", "scale_vec::2X", "scale_vec::4X")),
        Slot("satfinite", ("satfinite",)),
        Slot("rounding", ("rn", "rz", "rm", "rp")),
        Slot("d", tuple(ACCUMULATORS), required=True),
        Slot("a", tuple(SHAPES), required=True),
        Slot("b", tuple(SHAPES), required=True),
        Slot("c", tuple(ACCUMULATORS), required=True),
        Slot("scale", ("ue8m0", "ue4m3")),
        Slot("op", ("xor", "and")),
        Slot("popc", ("popc",)),
    ),
    exclusions=(
        *(Exclusion(both(is_("a", a), other_than(is_("b", a))), "b", f"with A of .{a} B is .{a} too")
          for a in (*HALVES, "tf32", "f64", "b1")),
        *(Exclusion(both(is_("a", *group), other_than(is_("b", *group))), "b", f"with A of {' or '.join('.' + a for a in group)} B is one of them")
          for group in (*INTEGERS, (*BYTES, *TINY))),
        *_shape_rules(),
        *(Exclusion(both(is_(slot, layout), other_than(is_(*what))), slot, f"{slot[0].upper()} is .{usual}")
          for slot, layout, usual in (("alayout", "col", "row"), ("blayout", "row", "col")) for what in (("shape", "m8n8k4"), ("a", "f16"))),
        Exclusion(both(either(is_("a", *TINY), is_("b", *TINY)), is_("kind", "")), "kind", "6-bit and 4-bit floats need a .kind"),
        Exclusion(both(written("kind"), other_than(is_("a", *BYTES, *TINY))), "kind", "is a kind of 8-, 6- and 4-bit floats"),
        Exclusion(both(written("kind"), is_("sparse", "sp")), "sparse", "the kinds need .sp::ordered_metadata"),
        *(Exclusion(both(PACKED_PAIRS, other_than(is_(side, "e2m1"))), side, ".kind::mxf4 and .kind::mxf4nvf4 are kinds of .e2m1") for side in "ab"),
        Exclusion(both(SCALED, is_("scaling", "")), "scaling", "the mx kinds need .block_scale"),
        Exclusion(both(written("scaling"), other_than(SCALED)), "scaling", "belongs to the mx kinds"),
        Exclusion(both(written("vector"), other_than(SCALED)), "vector", "belongs to .block_scale"),
        Exclusion(both(is_("kind", "kind::mxf8f6f4"), is_("vector", "scale_vec::2X", "scale_vec::4X")), "vector", ".kind::mxf8f6f4 has .scale_vec::1X"),
        Exclusion(both(is_("kind", "kind::mxf4"), is_("vector", "scale_vec::1X", "scale_vec::4X")), "vector", ".kind::mxf4 has .scale_vec::2X"),
        Exclusion(both(is_("kind", "kind::mxf4nvf4"), is_("vector", "", "scale_vec::1X")), "vector",
                  ".kind::mxf4nvf4 needs .scale_vec::2X or .scale_vec::4X"),
        Exclusion(both(SCALED, is_("scale", "")), "scale", "the type of the scales is missing"),
        Exclusion(both(is_("scale", "ue4m3"), other_than(is_("vector", "scale_vec::4X"))), "scale", "scales of .ue4m3 are those of .scale_vec::4X"),
        Exclusion(both(written("scale"), other_than(SCALED)), "scale", "belongs to .block_scale"),
        Exclusion(both(SCALED, other_than(is_("d", "f32"))), "d", "the mx kinds give .f32"),
        Exclusion(both(SPARSE, is_("a", *BYTES), is_("kind", ""), is_("d", "f16")), "d", "sparse products of 8-bit floats give .f32"),
        Exclusion(both(is_("a", "f16", *BYTES, *TINY), other_than(is_("d", "f16", "f32"))), "d", "floats of at most 16 bits give .f16 or .f32"),
        Exclusion(both(is_("a", "bf16", "tf32"), other_than(is_("d", "f32"))), "d", ".bf16 and .tf32 give .f32"),
        Exclusion(both(is_("a", "f64"), other_than(is_("d", "f64"))), "d", ".f64 gives .f64"),
        Exclusion(both(is_("a", *INTEGERS[0], *INTEGERS[1], "b1"), other_than(is_("d", "s32"))), "d", "integers give .s32"),
        Exclusion(both(is_("d", "f16"), other_than(is_("c", "f16"))), "c", "C is .f16 as D is"),
        Exclusion(both(is_("d", "f32"), other_than(is_("c", "f32")), other_than(both(QUARTERS, is_("c", "f16")))), "c", "C is .f32 as D is"),
        Exclusion(both(is_("d", "f64"), other_than(is_("c", "f64"))), "c", "C is .f64 as D is"),
        Exclusion(both(is_("d", "s32"), other_than(is_("c", "s32"))), "c", "C is .s32 as D is"),
        Exclusion(both(written("satfinite"), other_than(is_("d", "s32"))), "satfinite", "belongs to integers of 8 or 4 bits"),
        Exclusion(both(written("rounding"), other_than(is_("d", "f64"))), "rounding", "belongs to .f64"),
        Exclusion(both(written("satfinite"), other_than(is_("a", *INTEGERS[0], *INTEGERS[1]))), "satfinite", "belongs to integers of 8 or 4 bits"),
        Exclusion(both(written("rounding"), other_than(is_("a", "f64"))), "rounding", "belongs to .f64"),
        Exclusion(both(is_("a", "b1"), is_("op", "")), "op", "single bits need .xor or .and"),
        Exclusion(both(is_("a", "b1"), is_("popc", "")), "popc", "single bits need .popc"),
        Exclusion(both(written("op"), other_than(is_("a", "b1"))), "op", "belongs to .b1"),
        Exclusion(both(written("popc"), other_than(is_("a", "b1"))), "popc", "belongs to .b1"),
    ),
    floors=(
        Floor(both(), "sm_75"),
        Floor(SPARSE, "sm_80"),
        Floor(is_("shape", "m16n8k16", "m16n8k4", "m16n8k32", "m16n8k64", "m16n8k128", "m16n8k256"), "sm_80"),
        Floor(either(is_("a", "bf16", "tf32", "f64"), is_("op", "and")), "sm_80"),
        Floor(is_("a", *BYTES), "sm_89"),
        Floor(both(is_("a", "f64"), other_than(is_("shape", "m8n8k4"))), "sm_90"),
        Floor(written("kind"), "sm_120f"),
        Floor(both(SPARSE, PACKED_PAIRS), "sm_120a"),
    ),
    source="PTX ISA 9.7.14.5.14, 9.7.14.6",
)
# fmt: on


def shape_of(text: str) -> tuple[int, int, int]:
    """M, N and K of a shape such as m16n8k16."""
    m, rest = text[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def factor(name: str, axis: str, extent: int, depth: int, bits: int) -> tuple[Register, Entries]:
    """A (axis `row`) or B (axis `column`): register w of lane 4*g + q holds word q + 4*w of row (column) g; A has rows 8 to 15 in between.

    depth: K. bits: of an element. A word holds 32 // bits neighbours along K, the first in the lowest bits; a double is a word of its own.
    """
    across, each = var(axis), max(1, 32 // bits)
    words = depth // each
    lane, register = 4 * (across % 8 if extent > 8 else across) + WORD % 4, WORD // 4
    if extent > 8:
        register = across // 8 + 2 * register
    parts = (AtomAxis("part", each),) if each > 1 else ()
    at = (("m" if axis == "row" else "n", across), ("k", each * WORD + PART if parts else WORD))
    atom = (AtomAxis(axis, extent), AtomAxis("word", words))
    found = Register(
        name,
        bits=max(32, bits),
        register=register,
        write=False,
        lane=lane,
        dtypes=PACKED if bits < 64 else ACCUMULATORS["f64"],
        atom=atom,
        over=("m", "k") if axis == "row" else ("n", "k"),
    )
    return found, Entries(name, "", at, parts)


def accumulator(name: str, rows: int, type_: str, write: bool) -> tuple[Register, Entries]:
    """C or D: lane 4*g + q holds columns 2*q and 2*q + 1 of row g, in two registers or as the halves of one; rows 8 to 15 follow."""
    lane_row = ROW % 8 if rows > 8 else ROW
    block = ROW // 8 if rows > 8 else 0
    if type_ == "f16":
        return _sum(
            name, type_, (AtomAxis("row", rows), AtomAxis("word", 4)), 4 * lane_row + WORD, block + 0 * WORD, write, (ROW, 2 * WORD + PART)
        )
    register = 2 * block + COLUMN % 2
    return _sum(name, type_, (AtomAxis("row", rows), AtomAxis("column", 8)), 4 * lane_row + COLUMN // 2, register, write, (ROW, COLUMN))


def _sum(
    name: str, type_: str, atom: tuple[AtomAxis, ...], lane: Term, register: Term, write: bool, at: tuple[Term, ...]
) -> tuple[Register, Entries]:
    names = ("m", "n") if len(at) == 2 else ("problem", "m", "n")
    parts = (AtomAxis("part", 2),) if type_ == "f16" else ()
    found = Register(
        name,
        bits=64 if type_ == "f64" else 32,
        register=register,
        write=write,
        lane=lane,
        dtypes=ACCUMULATORS[type_],
        atom=atom,
        over=("m", "n"),
        then=None if write else "d",
        number="" if write else type_,
    )
    return found, Entries(name, type_, tuple(zip(names, at, strict=True)), parts)


FOUR = AtomAxis("problem", 4)


def quarter_factor(name: str, index: str, q: Mapping[str, str]) -> tuple[Register, Entries]:
    """A or B of m8n8k4.f16, four problems at once: problem p lies in lanes 4*p to 4*p + 3 and 16 + 4*p to 19 + 4*p, which hold the upper half of M (of N).

    Where K is the faster index of the layout a lane holds the four k of one row (column) in two words of two; else four rows (columns) of one k.
    """
    inner_is_k = q["alayout"] == "row" if name == "a" else q["blayout"] == "col"
    axis = "row" if index == "m" else "column"
    if inner_is_k:
        across = var(axis)
        atom = (FOUR, AtomAxis(axis, 8), AtomAxis("word", 2))
        lane, register, at = 4 * PROBLEM + across % 4 + 16 * (across // 4), WORD, (across, 2 * WORD + PART)
    else:
        atom = (FOUR, AtomAxis("depth", 4), AtomAxis("word", 4))
        lane, register, at = 4 * PROBLEM + var("depth") + 16 * (WORD // 2), WORD % 2, (2 * WORD + PART, var("depth"))
    over = ("m", "k") if index == "m" else ("n", "k")
    found = Register(name, bits=32, register=register, write=False, lane=lane, dtypes=PACKED, atom=atom, over=over)
    return found, Entries(name, "f16", (("problem", PROBLEM), (index, at[0]), ("k", at[1])), (AtomAxis("part", 2),))


def quarter_accumulator(name: str, type_: str, write: bool) -> tuple[Register, Entries]:
    """C or D of m8n8k4.f16: halves as rows of eight, four words to a lane; single precision in blocks of 2 x 2 spread over four lanes."""
    if type_ == "f16":
        atom = (FOUR, AtomAxis("row", 8), AtomAxis("word", 4))
        return _sum(name, type_, atom, 4 * PROBLEM + ROW % 4 + 16 * (ROW // 4), WORD, write, (PROBLEM, ROW, 2 * WORD + PART))
    atom = (FOUR, AtomAxis("row", 8), AtomAxis("column", 8))
    lane = 4 * PROBLEM + ROW % 2 + 2 * (COLUMN // 2 % 2) + 16 * (ROW // 4)
    register = COLUMN % 2 + 2 * (ROW // 2 % 2) + 4 * (COLUMN // 4)
    return _sum(name, type_, atom, lane, register, write, (PROBLEM, ROW, COLUMN))


def _typed(side: tuple[Register, Entries], type_: str) -> tuple[Register, Entries]:
    """The entries with their type; a number of less than eight bits in a byte of its own is four bits from bit 2 on, or six from bit 0 on."""
    register, entries = side
    if entries.parts and entries.parts[0].extent > 4:
        return register, replace(entries, type=type_)
    narrow = {"e2m1": (4, 2), "e3m2": (6, 0), "e2m3": (6, 0)}.get(type_, (0, 0))
    return register, replace(entries, type=type_, bits=narrow[0], low=narrow[1])


def _one_step(register: Register) -> Register:
    """The operand of a form whose D has another type than C: no step can add the D of a step before it, so there is no loop over K."""
    assert register.over is not None
    return replace(register, over=tuple(name for name in register.over if name != "k"), then=None)


SHARE = {16: (4, 2), 8: (4, 2), 32: (2, 1), 4: (8, 4)}
"""Of elements of so many bits: how many neighbours along K four bits of metadata are about, and how many of those A has."""
ORDERED = tuple((low | high << 2, (low, high)) for low in range(4) for high in range(low + 1, 4))
"""The metadata of two of four, and which two: the lower one in the lower bits."""
OFFSETS = {
    16: ORDERED,
    8: ORDERED,
    32: ((0b0100, (0,)), (0b1110, (1,))),
    4: tuple((value, (2 * low, 2 * low + 1, 2 * high, 2 * high + 1)) for value, (low, high) in ORDERED),
}
"""The values of metadata that mean something, and the neighbours that they choose: of .tf32 as of two halves, of 4-bit elements in pairs."""


def _bits(q: Mapping[str, str], side: str) -> int:
    """The bits that an element of A or B fills."""
    return 4 if q["kind"] in PACKED_KINDS else BITS[q[side]]


def _chosen(side: tuple[Register, Entries], q: Mapping[str, str]) -> tuple[tuple[Register, Entries], Choice]:
    """A with some of every group of neighbours: its entries are numbered in their group, and metadata says which of the neighbours each is.

    A row has as many groups of four bits as there are groups of neighbours; the low bits are about the first. Where that is half a word, one lane of
    four (the selector says which) has row g in the low half of its word and row g + 8 in the high half. Where it is a word, two lanes do: of types of
    16 bits and more each has half of K of both rows, of narrower ones all of one row. Where it is two words, four lanes: rows g and g + 8 of the
    lower half of K, then of the upper.
    """
    register, entries = side
    bits, depth = _bits(q, "a"), shape_of(q["shape"])[2]
    wide, kept = SHARE[bits]
    place = dict(entries.at)["k"]
    group = place // kept
    at = (("m", ROW), ("k", wide * group), ("entry", place % kept))
    words, half, selector = 4 * depth // wide, ROW // 8, var("f")
    if words == 16:
        lane, bit = selector, 16 * half + 4 * group
    elif words == 32 and bits >= 16:
        lane, bit = 2 * selector + group // 4, 16 * half + 4 * (group % 4)
    elif words == 32:
        lane, bit = 2 * selector + half, 4 * group
    else:
        lane, bit = half + 2 * (group // 8), 4 * (group % 8)
    choice = Choice("e", 4 * (ROW % 8) + lane, bit, 4, "k", place % kept, OFFSETS[bits])
    return (register, replace(entries, at=at)), choice


def _scaling(a: Entries, b: Entries, q: Mapping[str, str]) -> tuple[Scale, Scale]:
    """The scales of a row of A and of a column of B, one for each K / N neighbours: bytes of words that lanes of the row's (column's) four give."""
    chunk = shape_of(q["shape"])[2] // vector_size(q)
    (row, left), (column, right) = ((dict(side.at)[name], dict(side.at)["k"] // chunk) for side, name in ((a, "m"), (b, "n")))
    return (
        Scale("scale_a", q["scale"], 4 * (row % 8) + 2 * var("thread_id_a") + row // 8, 8 * (var("byte_id_a") + left)),
        Scale("scale_b", q["scale"], 4 * column + var("thread_id_b"), 8 * (var("byte_id_b") + right)),
    )


def vector_size(q: Mapping[str, str]) -> int:
    """How many scales a row of A (a column of B) has."""
    return int(q["vector"][11:-1]) if q["vector"] else 2 if q["kind"] == "kind::mxf4" else 1


def _every_lane(name: str, over: tuple[str, ...]) -> Register:
    """A word that the instruction names in every lane, whichever lanes it takes: metadata, scales."""
    return Register(
        name, bits=32, register=0 * var("lane"), write=False, lane=var("lane"), dtypes=PACKED, atom=(AtomAxis("lane", 32),), over=over
    )


def _selector(name: str, choices: tuple[int, ...], bits: int = 32) -> Parameter:
    return Parameter(name, "selector", required=True, operand=True, bits=bits, choices=choices)


def _metadata(q: Mapping[str, str], depth: int) -> Parameter:
    """The selector: which of the lanes of a group of four (which pair of them) give the metadata."""
    bits = _bits(q, "a")
    lanes = {(16, 16): 4, (32, 8): 4, (16, 32): 2, (32, 16): 2, (8, 32): 2, (4, 64): 2}.get((bits, depth), 1)
    return _selector("f", tuple(range(lanes)))


def _scales(q: Mapping[str, str]) -> tuple[Parameter, ...]:
    """Which byte of the word of a scale is the first used, and which lanes (pairs of lanes) of four give it."""
    first = {1: (0, 1, 2, 3), 2: (0, 2), 4: (0,)}[vector_size(q)]
    sides = (("a", (0, 1)), ("b", (0, 1, 2, 3)))
    return tuple(
        one for side, lanes in sides for one in (_selector(f"byte_id_{side}", first, 16), _selector(f"thread_id_{side}", lanes, 16))
    )


def _operands(q: Mapping[str, str]) -> tuple[tuple[Register, Entries], ...]:
    """D, A, B and C."""
    m, n, k = shape_of(q["shape"])
    if q["shape"] == "m8n8k4" and q["a"] == "f16":
        a, b = quarter_factor("a", "m", q), quarter_factor("b", "n", q)
        d, c = quarter_accumulator("d", q["d"], write=True), quarter_accumulator("c", q["c"], write=False)
    else:
        bits = {side: _bits(q, side) for side in "ab"}
        kept = k // 2 if q["sparse"] else k
        a, b = factor("a", "row", m, kept, bits["a"]), factor("b", "column", n, k, bits["b"])
        d, c = accumulator("d", m, q["d"], write=True), accumulator("c", m, q["c"], write=False)
    return d, _typed(a, q["a"]), _typed(b, q["b"]), c


def _version(q: Mapping[str, str]) -> str:
    """The PTX version that has the form, where it is above the oldest that we write."""
    if q["scale"] == "ue8m0" and q["vector"] == "scale_vec::4X":
        return "9.1"
    late = q["kind"] or (q["a"] in BYTES and (q["shape"] == "m16n8k16" or q["d"] == "f16"))
    return "8.7" if late else "8.5" if q["sparse"] == "sp::ordered_metadata" else ""


def mma(q: Mapping[str, str]) -> Contract:
    """D = A * B + C; over K repeats the first step adds C and the later ones D."""
    d, a, b, c = _operands(q)
    a, choice = _chosen(a, q) if q["sparse"] else (a, None)
    operands, loops = (d[0], a[0], b[0], c[0]), ("m", "n", "k")
    if q["d"] != q["c"]:
        operands, loops = tuple(_one_step(register) for register in operands), ("m", "n")
    issue, parameters = (
        "{opcode} {{{d}}}, {{{a}}}, {{{b}}}, {{{c}}}",
        (Parameter("pred", "predicate"), Parameter("preserve_dst", "flag", needs="pred")),
    )
    if q["sparse"]:
        operands, parameters = (*operands, _every_lane("e", ("m", "k"))), (*parameters, _metadata(q, shape_of(q["shape"])[2]))
        issue += ", {e}, {f}"
    if q["scaling"]:
        operands = (*operands, _every_lane("scale_a", ("m", "k")), _every_lane("scale_b", ("n", "k")))
        parameters = (*parameters, *_scales(q))
        issue += ", {scale_a}, {{{byte_id_a}, {thread_id_a}}}, {scale_b}, {{{byte_id_b}, {thread_id_b}}}"
    scales = _scaling(a[1], b[1], q) if q["scaling"] else None
    return Contract(
        opcode=MMA.spell(q),
        mnemonic="mma",
        arch=MMA.arch_floor(q),
        source=MMA.source,
        collective="warp",
        atom=(),
        operands=operands,
        parameters=parameters,
        move=Move("", "", source=()),
        issue=f"{issue};",
        qualifiers=q,
        also=MMA.arch_also(q),
        isa=_version(q),
        loops=loops,
        product=Product(d[1], a[1], b[1], c[1], q["op"] or "mul", choice=choice, scales=scales),
    )


FAMILY = Family("mma", (Entry(MMA, mma),))
