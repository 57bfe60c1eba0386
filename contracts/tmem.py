"""`tcgen05.ld`, `tcgen05.ld.red` and `tcgen05.st`: a warp moves a matrix between its registers and the 32 lanes of tensor memory that it reaches.

Views end in (row, column): a register and a cell of 32 bits each. With `.pack::16b` and `.unpack::16b` the view of tensor memory ends in
(row, column, half): the low halves of two neighbouring cells are the halves of one register. `.16x32bx2` has two matrices of 16 rows, views of one
allocation, and registers (access, row, column). `.red` gives the least or greatest word of each lane's registers besides, in `redval`. The caller waits: registers are there after `tcgen05.wait::ld`, cells after `tcgen05.wait::st`.
Sources: PTX ISA 9.7.16.2, 9.7.16.8 (shapes, packing, lanes of a warp); the maps as in CUTLASS 4.7, cute/atom/copy_traits_sm100.hpp.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilecheck.contracts.tensor_memory import FLOORS, WORDS, shared
from tilecheck.spec import (
    AtomAxis,
    Contract,
    Entry,
    Exclusion,
    Family,
    Floor,
    Grammar,
    Move,
    Parameter,
    Register,
    Slot,
    TensorMemory,
    both,
    is_,
    other_than,
    written,
)
from tilecheck.symbolic import Expr, var

ACCESS, ROW, COLUMN, HALF = (var(name) for name in ("access", "row", "column", "half"))
COUNTS = tuple(f"x{1 << k}" for k in range(8))
SPLIT = "16x32bx2"
SHAPES: Mapping[str, tuple[int, int, int]] = {
    "32x32b": (32, 1, 128),
    "16x64b": (16, 2, 128),
    "16x128b": (16, 4, 64),
    "16x256b": (16, 8, 32),
    SPLIT: (16, 1, 128),
}
"""Rows, cells of a row in x1, and the largest count."""
OFFSET = "imm_half_splitoff"
NUMBERS = {"f32": ("float32", "bits32"), "u32": ("uint32", "bits32"), "s32": ("int32", "bits32")}
"""The containers of words that are compared."""
HALVES = ("float16", "bfloat16", "int16", "uint16", "bits16")


def held(shape: str) -> tuple[Expr, Expr]:
    """(lane, register) of the element (row, column) of a shape: the maps of the ISA from (lane, register) to (row, column), turned round."""
    if shape == "32x32b":
        return ROW, COLUMN
    if shape == SPLIT:  # access l//16, (l%16, r)
        return 16 * ACCESS + ROW, COLUMN
    if shape == "16x64b":  # (l//4 + 8*(l%2), (l//2)%2 + 2*r)
        return 4 * (ROW % 8) + 2 * (COLUMN % 2) + ROW // 8, COLUMN // 2
    if shape == "16x128b":  # (l//4 + 8*(r%2), l%4 + 4*(r//2))
        return 4 * (ROW % 8) + COLUMN % 4, ROW // 8 + 2 * (COLUMN // 4)
    # (l//4 + 8*((r//2)%2), r%2 + 2*(l%4) + 8*(r//4))
    return 4 * (ROW % 8) + COLUMN // 2 % 4, COLUMN % 2 + 2 * (ROW // 8) + 4 * (COLUMN // 8)


def _grammar(
    mnemonic: str, shapes: tuple[str, ...], more: tuple[Slot, ...], exclusions: tuple[Exclusion, ...], floor: Floor, types: tuple[str, ...]
) -> Grammar:
    most = (
        Exclusion(
            both(is_("shape", shape), other_than(is_("count", *COUNTS[: SHAPES[shape][2].bit_length()]))),
            "count",
            f".{shape} has at most x{SHAPES[shape][2]}",
        )
        for shape in shapes
        if SHAPES[shape][2] < 128
    )
    slots = (Slot("sync", ("sync",), required=True), Slot("aligned", ("aligned",), required=True), Slot("shape", shapes, required=True))
    slots = (*slots, Slot("count", COUNTS, required=True), *more, Slot("type", types, required=True))
    return Grammar(mnemonic, slots, (*most, *exclusions), (floor,), "PTX ISA 9.7.16.8")


LOAD = _grammar("tcgen05.ld", tuple(SHAPES), (Slot("packing", ("pack::16b",)),), (), FLOORS[0], ("b32",))
STORE = _grammar("tcgen05.st", tuple(SHAPES), (Slot("packing", ("unpack::16b",)),), (), FLOORS[0], ("b32",))
REDUCE = _grammar(
    "tcgen05.ld.red",
    ("32x32b", SPLIT),
    (Slot("op", ("min", "max"), required=True), Slot("abs", ("abs",)), Slot("nan", ("NaN",))),
    (
        Exclusion(is_("count", "x1"), "count", "at least two registers are compared"),
        Exclusion(both(written("abs"), other_than(is_("type", "f32"))), "abs", "belongs to .f32"),
        Exclusion(both(written("nan"), other_than(is_("type", "f32"))), "nan", "belongs to .f32"),
    ),
    Floor(both(), "sm_103f", ("sm_110a",)),
    tuple(NUMBERS),
)


def _matrix(
    name: str, atom: tuple[AtomAxis, ...], dtypes: tuple[str, ...], *, packed: bool, write: bool, behind: tuple[str, str] | None = None
) -> TensorMemory:
    """The view of tensor memory: cells, or the low halves of cells."""
    return TensorMemory(
        name,
        bits=16 if packed else 32,
        lane=ROW,
        column=4 * COLUMN + 2 * HALF if packed else COLUMN,
        write=write,
        dtypes=HALVES if packed else dtypes,
        atom=(*atom, AtomAxis("half", 2)) if packed else atom,
        first_lanes=(0, 16) if atom[0].extent == 16 else (0,),
        slab=True,
        behind=behind,
    )


def _form(q: Mapping[str, str], grammar: Grammar, *, load: bool) -> Contract:
    (rows, cells, _), split, packed = SHAPES[q["shape"]], q["shape"] == SPLIT, bool(q.get("packing"))
    matrix = (AtomAxis("row", rows), AtomAxis("column", cells * int(q["count"][1:])))
    atom = (AtomAxis("access", 2), *matrix) if split else matrix
    (lane, number), dtypes = held(q["shape"]), NUMBERS.get(q["type"], WORDS)
    registers = [Register("dst" if load else "src", bits=32, register=number, write=load, lane=lane, dtypes=dtypes, atom=atom)]
    if grammar is REDUCE:
        registers.append(Register("redval", bits=32, register=0 * ROW, write=True, lane=lane, dtypes=dtypes, atom=atom[:-1]))
    names = ("low", "high") if split else ("src" if load else "dst",)
    regions = [
        _matrix(name, matrix, dtypes, packed=packed, write=not load, behind=("low", OFFSET) if name == "high" else None) for name in names
    ]
    held_in = ", ".join(("{{{" + one.name + "}}}" if one.name != "redval" else "{redval}") for one in registers)
    offset = (Parameter(OFFSET, "immediate", required=True, operand=True),) if split else ()
    where, after = f"[{{{names[0]}}}]", f", {{{OFFSET}}}" if split else ""
    return Contract(
        opcode=grammar.spell(q),
        mnemonic=grammar.mnemonic,
        arch=grammar.arch_floor(q),
        also=grammar.arch_also(q),
        source=grammar.source,
        collective="warp",
        atom=atom,
        operands=(*registers, *regions) if load else (*regions, *registers),
        parameters=(*offset, Parameter("pred", "predicate"), *((Parameter("preserve_dst", "flag", needs="pred"),) if load else ())),
        move=Move("", "", source=()) if split or grammar is REDUCE else Move("dst", "src", source=(ROW, COLUMN)),
        issue=f"{{opcode}} {held_in}, {where}{after};" if load else f"{{opcode}} {where}{after}, {held_in};",
        qualifiers=q,
        isa="8.8" if grammar is REDUCE else "8.6",
        completion=("tcgen05.wait::ld.sync.aligned;" if load else "tcgen05.wait::st.sync.aligned;",),
        shared=shared(q),
    )


def load(q: Mapping[str, str]) -> Contract:
    """Registers from tensor memory."""
    return _form(q, LOAD, load=True)


def reduce(q: Mapping[str, str]) -> Contract:
    """Registers from tensor memory, and the least or greatest of them in each lane."""
    return _form(q, REDUCE, load=True)


def store(q: Mapping[str, str]) -> Contract:
    """Tensor memory from registers."""
    return _form(q, STORE, load=False)


FAMILY = Family("tmem", (Entry(LOAD, load), Entry(REDUCE, reduce), Entry(STORE, store)))
