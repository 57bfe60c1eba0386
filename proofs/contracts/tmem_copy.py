"""Theorems and claims about tcgen05.cp: rows and copies fill the lanes that the opcode names, each once; widened values are those that were packed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilecheck import (
    ComposeLayout,
    Launch,
    R,
    S,
    Tensor,
    Theorem,
    TileLayout,
    View,
    all_of,
    any_of,
    apply,
    axis,
    claim,
    eq,
    kernel,
    le,
    lt,
    ne,
    not_,
    symbol,
    theorem,
)
from tilecheck.call import Call
from tilecheck.contracts.tmem_copy import PACKED
from tilecheck.kernels import Kernel
from tilecheck.spec import Contract, TensorMemory, find_contract, find_entry
from tilecheck.spec.tmem import CELL_BITS, LANES
from tilecheck.symbolic import Term, evaluate, substitute, terms

ENTRY = find_entry("tcgen05.cp")
assert ENTRY is not None
GRAMMAR = ENTRY.grammar
LANE, COLUMN = axis("TLane"), axis("TCol")
NAMED: Mapping[str, tuple[int, ...]] = {
    "128x256b": tuple(range(128)),
    "128x128b": tuple(range(128)),
    "4x256b": (0, 32, 64, 96),
    "64x128b": tuple(range(128)),
    "32x128b": tuple(range(128)),
}
"""The lanes that a copy of each shape writes, all its multicast included."""
PAIRS: Mapping[str, Mapping[int, tuple[int, int]]] = {
    "warpx2::02_13": {0: (0, 2), 1: (1, 3)},
    "warpx2::01_23": {0: (0, 1), 1: (2, 3)},
    "warpx4": {},
}
"""The slabs of 32 lanes that hold rows 32 k to 32 k + 31, by k: warps 0 and 2 share the first half, or warps 0 and 1."""
ONE_THREAD = "elected and warpid == 0"
LAUNCH = Launch(block=(128,))


def forms() -> Iterator[tuple[str, Contract, TensorMemory]]:
    """(shape and multicast, a form, its operand in tensor memory), each map once."""
    seen: set[object] = set()
    for qualifiers in GRAMMAR.legal():
        found = find_contract(GRAMMAR.spell(qualifiers))
        assert isinstance(found, Contract)
        target = found.operands[0]
        assert isinstance(target, TensorMemory)
        if (key := (qualifiers["shape"], qualifiers["multicast"])) not in seen:
            seen.add(key)
            yield ".".join(part for part in key if part), found, target


def element(t: Theorem, form: Contract, suffix: str) -> dict[str, Term]:
    """Axis name -> a symbol over its extent."""
    return {one.name: t.symbol(f"{one.name}{suffix}", min=0, max=one.extent - 1) for one in form.atom}


def places(target: TensorMemory, at: Mapping[str, Term]) -> list[tuple[Term, Term]]:
    """(lane, column) of an element and of each of its copies."""
    lane, column = substitute(target.lane, at), substitute(target.column, at)
    return [(terms.add(lane, shift), column) for shift in target.shifts]


@theorem
def no_two_elements_and_no_two_copies_share_a_cell(t: Theorem) -> None:
    """(row, word, copy) -> (lane, column) is one to one: every shape's map is injective, and so are all its replicas together."""
    for k, (name, form, target) in enumerate(forms()):
        a, b = element(t, form, f"_a{k}"), element(t, form, f"_b{k}")
        for i, (lane, column) in enumerate(places(target, a)):
            for j, (other, there) in enumerate(places(target, b)):
                apart = any_of(ne(lane, other), ne(column, there))
                same = all_of(*(eq(a[axis], b[axis]) for axis in a))
                t.show(apart if i != j else any_of(apart, same), f"{name}: copies {i} and {j}")


@theorem
def the_copies_cover_exactly_the_named_lanes(t: Theorem) -> None:
    """Every element lies in a named lane, in a column of the matrix; there are as many rows and copies as lanes."""
    for k, (name, form, target) in enumerate(forms()):
        at, lanes = element(t, form, f"_{k}"), NAMED[form.qualifiers["shape"]]
        rows, words = form.suffix
        for lane, column in places(target, at):
            t.show(
                any_of(*(eq(lane, one) for one in lanes)) if len(lanes) < LANES else all_of(le(0, lane), lt(lane, LANES)), f"{name}: lanes"
            )
            t.show(all_of(le(0, column), lt(column, words)), f"{name}: columns")
        t.holds(rows * len(target.shifts) == len(lanes), f"{name}: as many rows and copies as lanes")


@theorem
def both_warps_of_a_pair_have_the_same_half(t: Theorem) -> None:
    """Rows 32 k to 32 k + 31 lie in the slabs of the two warps that share half k, row by row; with .warpx4 in all four."""
    for k, (name, form, target) in enumerate(forms()):
        multicast = form.qualifiers["multicast"]
        if not multicast:
            continue
        row = t.symbol(f"r_{k}", min=0, max=31)
        for half, slabs in (PAIRS[multicast] or {0: (0, 1, 2, 3)}).items():
            found = sorted(evaluate(target.lane, {"row": 32 * half}) + shift for shift in target.shifts)
            t.holds([lane // 32 for lane in found] == sorted(slabs), f"{name}: slabs of half {half}")
            lane = substitute(target.lane, {"row": terms.add(32 * half, row)})
            t.show(eq(lane, terms.add(evaluate(target.lane, {"row": 32 * half}), row)), f"{name}: rows of half {half}")


@theorem
def a_widened_value_is_the_packed_one(t: Theorem) -> None:
    """Byte k is bits b k to b k + b - 1 of its block, moved up; values and padding fill 16 bytes; what is added are zeros of a byte of 8 bits."""
    for name, one in PACKED.items():
        padding = int(name.partition("_p")[2])
        t.holds(16 * one.bits + padding == 128, f"{name}: values and padding fill a block")
        value = t.symbol(f"v_{name}", min=0, max=(1 << one.bits) - 1)
        byte = terms.mul(1 << one.low, value)
        t.show(all_of(le(0, byte), lt(byte, 256)), f"{name}: a byte holds it")
        t.show(eq(terms.floordiv(byte, 1 << one.low), value), f"{name}: nothing is lost")
        t.show(eq(terms.mod(byte, 1 << one.low), 0), f"{name}: zeros below")
        t.show(lt(byte, 1 << one.bits + one.low), f"{name}: zeros above")


@theorem
def a_copy_has_as_many_bytes_on_both_sides(t: Theorem) -> None:
    """Decompressed or not, an atom is rows x words of 32 bits in both operands; the shape says the bits of a row."""
    for name, form, target in forms():
        rows, width = (int(part) for part in form.qualifiers["shape"].removesuffix("b").split("x"))
        t.holds(form.suffix == (rows, width // CELL_BITS), f"{name}: the atom")
        t.holds([operand.bits for operand in form.operands] == [target.bits, CELL_BITS] == [32, 32], f"{name}: words")


@theorem
def columns_start_where_a_copy_may(t: Theorem) -> None:
    """A copy to column c, a multiple of four, of a tensor in all lanes stays in four, or eight, columns."""
    column = t.symbol("c", min=0, max=504, multiple_of=4)
    for k, (name, form, target) in enumerate(forms()):
        at = element(t, form, f"_{k}")
        for _, own in places(target, at):
            t.show(lt(terms.add(column, own), 512), f"{name}: inside")
        t.holds(target.first_bits == 4 * CELL_BITS, f"{name}: four cells")
    t.show(not_(ne(terms.mod(column, 4), 0)), "multiples of four cells")


def scales(columns: int = 4) -> Tensor:
    """32 rows of words in the first lanes of each slab."""
    return Tensor(
        "TM", (32, columns), "uint32", space="tmem", layout=TileLayout(S[(32, columns) : (1 @ LANE, 1 @ COLUMN)] + R[4 : 32 @ LANE])
    )


def rows(count: int, words: int) -> Tensor:
    """Rows of eight in blocks of 128 bytes, block by block along the words."""
    return Tensor(
        "SM", (count, words), "uint32", space="shared", align=128, layout=TileLayout(S[(count, words // 4, 4) : (4, 4 * count, 1)])
    )


def call(opcode: str, target: Tensor | View, source: Tensor | View, descriptor: tuple[int, int, int]) -> Call:
    """A copy by one thread."""
    return apply(
        f"tcgen05.cp.cta_group::1.{opcode}", target, source, scope="thread", launch=LAUNCH, guard=ONE_THREAD, descriptor=descriptor
    )


@claim
def scales_go_to_all_four_slabs() -> Call:
    """32 rows of four words, as scale factors are staged."""
    return call("32x128b.warpx4", scales(), rows(32, 4), (0, 128, 0))


@claim(refuted="dst.replica")
def one_slab_is_not_enough() -> Call:
    """The same, of a view of the first slab alone."""
    first = Tensor("TM", (32, 4), "uint32", space="tmem", layout=TileLayout(S[(32, 4) : (1 @ LANE, 1 @ COLUMN)]))
    return call("32x128b.warpx4", first, rows(32, 4), (0, 128, 0))


@claim
def any_stage_of_a_ring_to_any_fourth_column() -> Call:
    """Both starts are symbols: the stage of a swizzled ring, and the column."""
    stage, column = symbol("stage", min=0, max=7), symbol("column", min=0, max=504, multiple_of=4)
    target = Tensor("TM", (128, 512), "uint32", space="tmem", layout=TileLayout(S[(128, 512) : (1 @ LANE, 1 @ COLUMN)]))
    layout = ComposeLayout(2, 3, 3, TileLayout(S[(8, 128, 32) : (4096, 32, 1)]))
    ring = Tensor("SM", (8, 128, 32), "uint32", space="shared", align=1024, layout=layout)
    source = ring[stage : stage + 1, :, 8:16].reshape(128, 8)
    return call("128x256b", target[:, column : column + 8], source, (0, 1024, 3))


@claim(refuted="dst.image")
def not_to_any_column() -> Call:
    """A column that is no multiple of four."""
    column = symbol("column", min=0, max=504)
    target = Tensor("TM", (128, 512), "uint32", space="tmem", layout=TileLayout(S[(128, 512) : (1 @ LANE, 1 @ COLUMN)]))
    return call("128x128b", target[:, column : column + 4], rows(128, 4), (0, 128, 0))


def pipeline(group: int, columns: int) -> Kernel:
    """A kernel that allocates, copies scales behind the first 256 columns, and commits."""
    handle = Tensor("H", (1,), "uint32", space="shared")
    alloc = apply(
        f"tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32",
        handle,
        scope="warp",
        launch=LAUNCH,
        guard="warpid == 0",
        ncols=columns,
    )
    layout = TileLayout(S[(32, 4) : (1 @ LANE, 1 @ COLUMN)] + R[4 : 32 @ LANE] + 256 @ COLUMN)
    target = Tensor("TM", (32, 4), "uint32", space="tmem", layout=layout)
    copied = call("32x128b.warpx4", target, rows(32, 4), (0, 128, 0))
    commit = apply(
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64",
        scope="thread",
        launch=LAUNCH,
        guard=ONE_THREAD,
        mbar="shared",
    )
    free = apply(
        f"tcgen05.dealloc.cta_group::{group}.sync.aligned.b32", scope="warp", launch=LAUNCH, guard="warpid == 0", ncols=columns, taddr=0
    )
    return kernel([alloc, copied, commit, free])


@claim
def a_kernel_that_copies_into_what_it_allocates() -> Kernel:
    """512 columns hold the scales."""
    return pipeline(1, 512)


@claim(refuted="columns.footprint")
def a_kernel_that_copies_behind_what_it_allocates() -> Kernel:
    """256 columns do not."""
    return pipeline(1, 256)
