"""`ldmatrix`, `stmatrix` and `movmatrix`: a warp moves matrices of 16-, 8-, 6- or 4-bit values between shared rows and registers.

All operands are views of 32-bit words. A row of a matrix in shared memory is four words (16 bytes): eight 16-bit values, sixteen 8-bit values, or
sixteen packed 6-bit (4-bit) values behind which four (eight) bytes are padding. Sources: PTX ISA 9.7.14.5.15 (ldmatrix), 9.7.14.5.16 (stmatrix),
9.7.14.5.17 (movmatrix); the layouts of CUTLASS (cute/atom/copy_traits_sm75.hpp, sm90, sm100); for m8n8 register images reconstructed on a GPU.
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
    is_,
    other_than,
    written,
)
from tilecheck.symbolic import terms, var

CONTAINERS = ("float32", "int32", "uint32", "bits32")
SHAPE_8BIT = Floor(other_than(is_("shape", "m8n8")), "sm_100f", also=("sm_110f", "sm_120f"))
MATRIX, ROW, WORD, HALF, BYTE, PAIR = (var(name) for name in ("matrix", "row", "word", "half", "byte", "pair"))
HALVES, BYTES, PAIRS = (AtomAxis("half", 2),), (AtomAxis("byte", 4),), (AtomAxis("byte", 4), AtomAxis("pair", 4))
"""The parts of a word: 16-bit halves, bytes, and pairs of bits."""


def _slots(shapes: tuple[str, ...], types: tuple[str, ...]) -> tuple[Slot, ...]:
    return (
        Slot("sync", ("sync",), required=True),
        Slot("aligned", ("aligned",), required=True),
        Slot("shape", shapes, required=True),
        Slot("num", ("x1", "x2", "x4"), required=True),
        Slot("trans", ("trans",)),
        Slot("space", ("shared", "shared::cta")),
        Slot("type", types, required=True),
    )


def _mandatory_trans(shape: str) -> Exclusion:
    return Exclusion(both(is_("shape", shape), is_("trans", "")), "trans", f"{shape} needs .trans")


LDMATRIX = Grammar(
    "ldmatrix",
    (*_slots(("m8n8", "m16n16", "m8n16"), ("b16", "b8", "b8x16")), Slot("format", ("b6x16_p32", "b4x16_p64"))),
    exclusions=(
        _mandatory_trans("m16n16"),
        Exclusion(both(is_("shape", "m8n16"), written("trans")), "trans", "m8n16 takes no .trans"),
        Exclusion(both(is_("shape", "m16n16"), is_("num", "x4")), "num", "m16n16 is loaded as .x1 or .x2"),
        Exclusion(both(is_("shape", "m8n8"), other_than(is_("type", "b16"))), "type", "m8n8 has elements of type .b16"),
        Exclusion(both(is_("shape", "m16n16"), is_("type", "b16")), "type", "m16n16 has elements of type .b8 or .b8x16"),
        Exclusion(both(is_("shape", "m8n16"), other_than(is_("type", "b8x16"))), "type", "m8n16 has elements of type .b8x16"),
        Exclusion(both(is_("type", "b8x16"), is_("format", "")), "format", ".b8x16 needs the format of the source"),
        Exclusion(both(other_than(is_("type", "b8x16")), written("format")), "format", "only .b8x16 has a source format"),
    ),
    floors=(Floor(both(), "sm_75"), SHAPE_8BIT),
    source="PTX ISA 9.7.14.5.15",
)
STMATRIX = Grammar(
    "stmatrix",
    _slots(("m8n8", "m16n8"), ("b16", "b8")),
    exclusions=(
        _mandatory_trans("m16n8"),
        Exclusion(both(is_("shape", "m8n8"), is_("type", "b8")), "type", "m8n8 has elements of type .b16"),
        Exclusion(both(is_("shape", "m16n8"), is_("type", "b16")), "type", "m16n8 has elements of type .b8"),
    ),
    floors=(Floor(both(), "sm_90"), SHAPE_8BIT),
    source="PTX ISA 9.7.14.5.16",
)
MOVMATRIX = Grammar(
    "movmatrix",
    tuple(
        Slot(name, (value,), required=True)
        for name, value in (("sync", "sync"), ("aligned", "aligned"), ("shape", "m8n8"), ("trans", "trans"), ("type", "b16"))
    ),
    exclusions=(),
    floors=(Floor(both(), "sm_75"),),
    source="PTX ISA 9.7.14.5.17",
)


def _move(q: Mapping[str, str]) -> Move:
    """Which part of a shared row, or of a register, each part of the destination comes from.

    m8n8: columns 2*word (low half) and 2*word + 1 of a row; with .trans the register matrix is the transpose of the shared one.
    m16n16, m8n16: bytes 4*word to 4*word + 3 of a row of the register matrix, which for m16n16 is the transpose; the value of a packed element stands
    in the low bits of its byte, zeros above it (docs/decisions/0020). m16n8: a register holds columns 2*word and 2*word + 1 of rows `row` (its low
    bytes) and row + 8; column c of that matrix is shared row c.
    """
    if q["type"] == "b16":
        transposed = (MATRIX, 2 * WORD + HALF, ROW // 2, ROW % 2)
        return Move("dst", "src", transposed if q["trans"] else (MATRIX, ROW, WORD, HALF), HALVES)
    column = 4 * WORD + BYTE
    if q["shape"] == "m16n8":
        return Move("dst", "src", (MATRIX, column % 8, ROW // 2, 2 * (column // 8) + ROW % 2), BYTES)
    row, element = (column, ROW) if q["shape"] == "m16n16" else (ROW, column)
    if q["type"] == "b8":
        return Move("dst", "src", (MATRIX, row, element // 4, element % 4), BYTES)
    pairs = int(q["format"][1]) // 2
    place = pairs * element + PAIR
    return Move("dst", "src", (MATRIX, row, place // 16, place // 4 % 4, place % 4), PAIRS, zero=terms.le(pairs, PAIR))


def _contract(grammar: Grammar, q: Mapping[str, str]) -> Contract:
    """Word (matrix, row, word) of the register matrices: four lanes hold a row, eight rows a register; one lane gives the address of a shared row.

    Lanes beyond the last row repeat the addresses of lower lanes (ISA: needed on sm_75).
    """
    load, rows = grammar is LDMATRIX, 16 if q["shape"] == "m16n16" else 8
    register = Register(
        "dst" if load else "src",
        bits=32,
        register=rows // 8 * MATRIX + ROW // 8 if rows > 8 else MATRIX,
        write=load,
        lane=4 * (ROW % 8 if rows > 8 else ROW) + WORD,
        dtypes=CONTAINERS,
    )
    memory = Memory(
        "src" if load else "dst",
        "shared",
        bits=32,
        row=("word",),
        align_bytes=16,
        write=not load,
        provider=rows * MATRIX + ROW,
        surplus="repeat",
        dtypes=CONTAINERS,
    )
    return Contract(
        opcode=grammar.spell(q),
        mnemonic=grammar.mnemonic,
        arch=grammar.arch_floor(q),
        source=grammar.source,
        collective="warp",
        atom=(AtomAxis("matrix", int(q["num"][1:])), AtomAxis("row", rows), AtomAxis("word", 4)),
        operands=(register, memory) if load else (memory, register),
        parameters=(Parameter("pred", "predicate"), *((Parameter("preserve_dst", "flag", needs="pred"),) if load else ())),
        move=_move(q),
        issue="{opcode} {{{dst}}}, [{src}];" if load else "{opcode} [{dst}], {{{src}}};",
        qualifiers=q,
        space_written=bool(q["space"]),
        also=grammar.arch_also(q),
    )


def ldmatrix(q: Mapping[str, str]) -> Contract:
    """The load of `num` matrices."""
    return _contract(LDMATRIX, q)


def stmatrix(q: Mapping[str, str]) -> Contract:
    """The store of `num` matrices."""
    return _contract(STMATRIX, q)


def movmatrix(q: Mapping[str, str]) -> Contract:
    """The transpose of one matrix of 16-bit values that lies in registers: value (row, column) comes from (column, row)."""
    lane = 4 * ROW + WORD
    return Contract(
        opcode=MOVMATRIX.spell(q),
        mnemonic="movmatrix",
        arch=MOVMATRIX.arch_floor(q),
        source=MOVMATRIX.source,
        collective="warp",
        atom=(AtomAxis("row", 8), AtomAxis("word", 4)),
        operands=(
            Register("dst", bits=32, register=0, write=True, lane=lane, dtypes=CONTAINERS),
            Register("src", bits=32, register=0, write=False, lane=lane, dtypes=CONTAINERS),
        ),
        parameters=(Parameter("pred", "predicate"), Parameter("preserve_dst", "flag", needs="pred")),
        move=Move("dst", "src", (2 * WORD + HALF, ROW // 2, ROW % 2), HALVES),
        issue="{opcode} {dst}, {src};",
        qualifiers=q,
    )


FAMILY = Family("matrix", (Entry(LDMATRIX, ldmatrix), Entry(STMATRIX, stmatrix), Entry(MOVMATRIX, movmatrix)))
