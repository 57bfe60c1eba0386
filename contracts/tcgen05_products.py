"""What `tcgen05.mma` computes: D is the sum over K of rows of A times columns of B, times the factors of their blocks, plus D.

An entry of D is made where it lies: with the A of its own lanes, where there is one for each part of the columns, and with the factors in its own slab
of 32 lanes. For a pair, rows and columns are those of both CTAs: row r of the second one is row M / 2 + r, column c of its B is column N / 2 + c.
Sources: PTX ISA 9.7.16.10 (the instructions), 9.7.16.10.4 (packing), 9.7.16.10.5 (data paths), 9.7.16.10.7 (factors); docs/decisions/0092, 0094 to 0097, 0099.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilecheck.contracts.tcgen05_kinds import KINDS, count_of, kind_of
from tilecheck.contracts.tcgen05_places import BANK, COLUMN, DEPTH, FACTOR, ROW, M, N, accumulator
from tilecheck.spec import Entries, Narrow, Product
from tilecheck.symbolic import Term, var
from tilecheck.symbolic.terms import eq, select

CTA, COPY = var("cta"), var("copy")
CONTAINERS = (Narrow("e2m1", 4, 2), Narrow("e2m3", 6, 0), Narrow("e3m2", 6, 0))
"""In tensor memory a number of four or six bits has a byte of its own, as `tcgen05.cp` widens it."""
PACKED = tuple(Narrow(one.type, one.bits, 0, 16) for one in CONTAINERS)
"""In shared memory sixteen of them stand side by side at the start of sixteen bytes."""
SPARSE = "which elements of A there are is said by metadata, whose meaning is not modelled"
SHIFTED = "which rows of A .ashift takes is not modelled"
UNKNOWN = (
    ("zero_column_mask", "which columns of B count as zero is read differently in different places of the ISA, docs/decisions/0094"),
    ("scale_input_d", "D is scaled again in each step along K, which is not modelled"),
)


def why_not(q: Mapping[str, str]) -> str:
    """Why the product of a form is not said; "" where it is."""
    return SPARSE if q["sp"] else SHIFTED if q["shift"] else ""


def product(q: Mapping[str, str], reading: str, *, shared: bool) -> Product | None:
    """The product of a form; shared: whether A lies in shared memory."""
    if why_not(q):
        return None
    kind, scaled, pair = kind_of(q), bool(q["scaled"]), q["group"] == "cta_group::2"
    rows, cta = M // int(q["group"][-1]), "cta" if pair else ""
    lane = accumulator(q, 32).lane
    m: tuple[str, Term] = ("m", ROW + rows * CTA if pair else ROW)
    n: tuple[str, Term] = ("n", COLUMN + N // 2 * CTA if pair else COLUMN)
    banked, copied = not shared and bool(q["ws"]), not shared and pair
    narrow = {space: found if KINDS[kind].bits == 8 and kind != "i8" else () for space, found in (("", CONTAINERS), ("shared", PACKED))}
    d = Entries(
        "d",
        "",
        (
            m,
            ("n", COLUMN),
            *((("part", lane // rows),) if banked or copied else ()),
            *((("slab", lane // 32),) if scaled else ()),
            *((("cta", CTA),) if scaled and pair else ()),
        ),
        cta=cta,
    )
    part = (("part", BANK if banked else COPY),) if banked or copied else ()
    block = (("block", DEPTH // (KINDS[kind].depth // count_of(q))),) if scaled else ()
    a = Entries(
        "a", "", (m, *part, ("k", DEPTH), *block), narrow=narrow["shared" if shared else ""], cta=cta, copy="copy" if copied else ""
    )
    return Product(
        d,
        a,
        Entries("b", "", (n, ("k", DEPTH)), narrow=narrow["shared"], cta=cta),
        d,
        accumulates="accum",
        signs=("neg_a", "neg_b") if kind != "i8" else (),
        factors=_factors(m, reading, pair=pair) if scaled else None,
        saturates="sat_d" if kind == "i8" else None,
        skips=None if scaled or q["ws"] else "disable_output_lane",
        unknown=UNKNOWN[:1] if q["ws"] else UNKNOWN[1:] if kind in {"f16", "tf32"} else (),
    )


def _factors(m: tuple[str, Term], reading: str, *, pair: bool) -> tuple[Entries, Entries]:
    """Those of a row of A in its own CTA; those of B, all N in each CTA."""
    cta, slab = "cta" if pair else "", COPY
    if pair and reading == "cutlass":  # of M 128 the halves of N have two slabs each
        slab = select(eq(M, 128), COPY + 2 * (COLUMN // (N // 2)), COPY)
    block: tuple[str, Term] = ("block", FACTOR)
    own = (("cta", CTA),) if pair else ()
    return (
        Entries("sfa", "", (m, block, ("slab", COPY)), cta=cta, copy="copy"),
        Entries("sfb", "", (("n", COLUMN), block, ("slab", slab), *own), cta=cta, copy="copy"),
    )
