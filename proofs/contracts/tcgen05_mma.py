"""Theorems and claims about tcgen05.mma: data paths are one to one and are what tcgen05.ld reads back, factors have a byte each, words read back as their fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from tilecheck import Launch, R, S, Tensor, Theorem, TileLayout, all_of, any_of, apply, axis, claim, eq, le, lt, not_, theorem
from tilecheck.call import Call
from tilecheck.contracts.tcgen05_kinds import instruction_word
from tilecheck.contracts.tcgen05_mma import GRAMMAR, mma, sizes
from tilecheck.contracts.tcgen05_places import DATA_PATHS, data_paths
from tilecheck.spec import Contract, TensorMemory, data, find_contract
from tilecheck.spec.contract import listed
from tilecheck.spec.instruction import decode_word, encode_word
from tilecheck.symbolic import Term, substitute, terms

LANE, COLUMN = axis("TLane"), axis("TCol")
ONE = Launch(block=(128,))
FIRST = "warpid == 0 and laneid == 0"
F16 = "tcgen05.mma.cta_group::1.kind::f16"


def forms() -> Iterator[tuple[dict[str, str], Contract]]:
    """Every spelling without a buffer, and each with its variants."""
    for q in GRAMMAR.legal():
        if not q["buffer"]:
            contract = mma(q)
            for one in (contract, *contract.variants):
                yield q, one


def named(contract: Contract, name: str) -> TensorMemory | None:
    """An operand in tensor memory."""
    found = next((o for o in contract.operands if o.name == name), None)
    return found if isinstance(found, TensorMemory) else None


def accumulators() -> Iterator[tuple[str, str, int, int, TensorMemory]]:
    """(what it is, data path, M, rows of a CTA, D) for every path and width, each once."""
    seen: set[tuple[str, int, int]] = set()
    for q, contract in forms():
        d = named(contract, "d")
        assert d is not None
        for m in dict.fromkeys(size.m for size in sizes(q, "")):
            letter = data_paths(q)[m]
            if (letter, d.bits, m) not in seen:
                seen.add((letter, d.bits, m))
                yield f"path {letter}, M {m}, D of {d.bits} bits", letter, m, m // int(q["group"][-1]), d


def place(operand: TensorMemory, at: Mapping[str, Term]) -> tuple[Term, Term]:
    """(lane, column in elements) of an element."""
    return substitute(operand.lane, at), substitute(operand.column, at)


COLUMNS = (64, 96, 256)
"""N that the theorems look at: those of .ws and one that is no power of two."""


@theorem
def data_paths_are_one_to_one_and_keep_halves_in_low_halves(t: Theorem) -> None:
    """(row, column) -> (lane, cell) is one to one, in 128 lanes, and a 16-bit number is the low half of its cell."""
    for k, (name, letter, m, rows, d) in enumerate(accumulators()):
        for n in COLUMNS:
            here, there = (
                {"row": t.symbol(f"r{k}_{n}{s}", min=0, max=rows - 1), "column": t.symbol(f"c{k}_{n}{s}", min=0, max=n - 1), "M": m, "N": n}
                for s in "ab"
            )
            (lane, column), (other, second) = place(d, here), place(d, there)
            same = all_of(eq(lane, other), eq(column, second))
            equal = all_of(eq(here["row"], there["row"]), eq(here["column"], there["column"]))
            t.show(any_of(not_(same), equal), f"{name}, N {n}: one to one")
            t.show(all_of(le(0, lane), lt(lane, 128), le(0, column)), f"{name}, N {n}: in the lanes")
            t.show(eq(terms.mod(column, 32 // d.bits), 0), f"{name}, N {n}: the low part of a cell")
            t.holds(letter in DATA_PATHS, name)


def read_back(letter: str, n: int, row: Term, column: Term) -> tuple[Term, Term, Term]:
    """(warp, row of its slab, column) at which a warpgroup reads an element back, as the tables of the ISA have it."""
    if letter in "AD":
        return terms.floordiv(row, 32), terms.mod(row, 32), column
    if letter in "CF":
        return terms.floordiv(row, 16), terms.mod(row, 16), column
    if letter in "BE":
        half = terms.floordiv(column, n // 2)
        return terms.add(terms.floordiv(row, 32), terms.mul(2, half)), terms.mod(row, 32), terms.mod(column, n // 2)
    return terms.floordiv(column, n // 4), row, terms.mod(column, n // 4)


@theorem
def a_warpgroup_reads_d_back_with_the_load_of_its_data_path(t: Theorem) -> None:
    """Warp w, element (row, column) of .32x32b (of a shape of 16 rows for C and F) is in lane 32 w + row: where D has the element that the table names."""
    wide, narrow = (find_contract(f"tcgen05.ld.sync.aligned.{shape}.x1.b32") for shape in ("32x32b", "16x64b"))
    assert isinstance(wide, Contract)
    assert isinstance(narrow, Contract)
    for k, (name, letter, m, rows, d) in enumerate(accumulators()):
        source = named(narrow if letter in "CF" else wide, "src")
        assert source is not None
        for n in COLUMNS:
            row, column = t.symbol(f"r{k}_{n}", min=0, max=rows - 1), t.symbol(f"c{k}_{n}", min=0, max=n - 1)
            lane, cell = place(d, {"row": row, "column": column, "M": m, "N": n})
            warp, own, at = read_back(letter, n, row, column)
            read, _ = place(source, {"row": own, "column": at})
            t.show(eq(lane, terms.add(terms.mul(32, warp), read)), f"{name}, N {n}: lane")
            t.show(eq(terms.floordiv(terms.mul(d.bits, cell), 32), at), f"{name}, N {n}: cell")
            t.show(all_of(le(0, warp), lt(warp, 4), lt(own, 16 if letter in "CF" else 32)), f"{name}, N {n}: in reach")
            t.holds(source.slab and (letter not in "CF" or source.first_lanes == (0, 16)), name)


@theorem
def factors_have_a_byte_each_in_every_slab(t: Theorem) -> None:
    """(row, factor) -> (lane, byte) is one to one, in 32 lanes; four copies 32 lanes apart make 128; the factors of a row share a cell."""
    for count in (1, 2, 4):
        kind = {1: "mxf8f6f4.block_scale", 2: "mxf4.block_scale", 4: "mxf4nvf4.block_scale.scale_vec::4X"}[count]
        contract = find_contract(f"tcgen05.mma.cta_group::1.kind::{kind}")
        assert isinstance(contract, Contract)
        factors = named(contract, "sfa")
        assert factors is not None
        here, there = (
            {"row": t.symbol(f"r{count}{s}", min=0, max=127), "factor": t.symbol(f"f{count}{s}", min=0, max=count - 1), "K": 64}
            for s in "ab"
        )
        (lane, byte), (other, second) = place(factors, here), place(factors, there)
        equal = all_of(eq(here["row"], there["row"]), eq(here["factor"], there["factor"]))
        t.show(any_of(not_(all_of(eq(lane, other), eq(byte, second))), equal), f"{count}: one to one")
        t.show(all_of(le(0, lane), lt(lane, 32), lt(terms.mod(byte, 4), count)), f"{count}: in its slab and cell")
        t.holds(factors.replicas == ((4, 32),) and factors.shifts == (0, 32, 64, 96), f"{count}: in every slab")


@theorem
def words_read_back_as_their_fields(t: Theorem) -> None:
    """Whatever the fields hold, bits low to low + bits - 1 of the word are the field; decoding a number and encoding its fields is the number."""
    for name, word in {instruction_word(q).name + q["sp"]: instruction_word(q) for q in GRAMMAR.legal()}.items():
        free = [one for one in word.fields if one.source[0] != "always"]
        key = "".join(c for c in name if c.isalnum())
        values: dict[str, Term] = {one.name: t.symbol(f"{key}_{one.name}", min=0, max=one.mask) for one in free}
        whole = encode_word(word, values)
        for one in free:
            t.show(eq(terms.mod(terms.floordiv(whole, 1 << one.low), 1 << one.bits), values[one.name]), f"{name}: {one.name}")
        for ones in ((), tuple(one.name for one in free), *((one.name,) for one in free)):
            number = encode_word(word, {one.name: one.mask for one in free if one.name in ones})
            assert isinstance(number, int)
            t.holds(encode_word(word, decode_word(word, number)) == number, f"{name}: {number:#x}")
        taken = sorted((one.low, one.low + one.bits) for one in word.fields)
        t.holds(all(a[1] <= b[0] for a, b in pairwise(taken)) and taken[-1][1] <= 32, f"{name}: fields are apart")


@theorem
def contracts_survive_json_and_name_their_operands_once(t: Theorem) -> None:
    """The data of every contract reads back as itself, its spelling as its qualifiers; the statement names every operand once."""
    for q in GRAMMAR.legal():
        contract = mma(q)
        t.holds(json.loads(json.dumps(data(contract))) == listed(data(contract)), f"{contract.opcode}: JSON")
        t.holds(GRAMMAR.read(contract.opcode) == q, f"{contract.opcode}: spelling")
        for one in (contract, *contract.variants):
            t.holds(all(one.issue.count("{" + o.name + "}") == 1 for o in one.operands), f"{contract.opcode}: operands")


# --- claims -----------------------------------------------------------------------------------------------------------


def product(n: int = 64, repeats: int = 1, columns: TileLayout | None = None) -> Call:
    """M 128, N columns, steps along K in the 128 bytes of a line."""
    layout = columns or TileLayout(S[(1, 1, 128, n) : (0 @ COLUMN, 0 @ COLUMN, 1 @ LANE, 1 @ COLUMN)])
    d = Tensor("D", (1, 1, 128, n), "float32", space="tmem", layout=layout)
    left = Tensor("A", (1, repeats, 128, 16), "float16", space="shared", align=128, layout=unswizzled(repeats, 128))
    right = Tensor("B", (1, repeats, n, 16), "float16", space="shared", align=128, layout=unswizzled(repeats, n))
    fields: dict[str, Any] = {"instruction_shape": (128, n, 16), "a_descriptor": (128 * 16, 128, 0), "b_descriptor": (n * 16, 128, 0)}
    return apply(F16, d, left, right, scope="thread", launch=ONE, guard=FIRST, accum=False, **fields)


def unswizzled(repeats: int, rows: int) -> TileLayout:
    """Chunks of 16 bytes, eight lines a group."""
    return TileLayout(S[(1, repeats, rows // 8, 8, 2, 8) : (0, rows * 16, 64, 8, rows * 8, 1)])


@claim
def four_steps_along_k() -> Call:
    return product(repeats=4)


@claim(refuted="d.image")
def rows_in_pairs_are_no_data_path() -> Call:
    return product(columns=TileLayout(S[(1, 1, 64, 2, 64) : (0 @ COLUMN, 0 @ COLUMN, 1 @ LANE, 64 @ LANE, 1 @ COLUMN)]))


@claim(refuted="d.replica")
def an_accumulator_has_no_copies() -> Call:
    plain = TileLayout(S[(1, 1, 128, 64) : (0 @ COLUMN, 0 @ COLUMN, 1 @ LANE, 1 @ COLUMN)] + R[2 : 64 @ COLUMN])
    return product(columns=plain)
