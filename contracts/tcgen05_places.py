"""Where the operands of `tcgen05.mma` lie: D by its data path, A packed beside it, metadata and scale factors in tensor memory; A and B in shared memory.

Sources: PTX ISA 9.7.16.2 and 9.7.16.10.5 (shapes, data paths), 9.7.16.10.7 (factors); CUTLASS 4.7, cute/atom/mma_traits_sm100.hpp; docs/decisions/0092.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilecheck.contracts.descriptors import modes
from tilecheck.contracts.tcgen05_kinds import KINDS
from tilecheck.spec import AtomAxis, Described, Memory, TensorMemory
from tilecheck.symbolic import Term, var
from tilecheck.symbolic.terms import eq, select

ROW, COLUMN, DEPTH, FACTOR, BANK = (var(name) for name in ("row", "column", "depth", "factor", "bank"))
M, N, K = (var(name) for name in ("M", "N", "K"))

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


def first_lanes(q: Mapping[str, str], reading: str, *, shared: bool) -> tuple[tuple[str, int, tuple[int, ...]], ...]:
    """The lanes in which D, and A in tensor memory, may start with each M: those of 16 rows in each slab in either half of it."""
    found: list[tuple[str, int, tuple[int, ...]]] = []
    for m, path in data_paths(q).items():
        lanes = (0, 16) if path in "CF" else (0,)
        found.append(("d", m, lanes))
        if not shared:
            found.append(("a", m, (0,) if reading == "tirx" else lanes))
    return tuple(found)


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
        first_lanes=(),
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
        first_lanes=(),
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
