"""Laws of the layout algebra, for symbolic extents, strides and starts at fixed rank."""

from __future__ import annotations

from tilecheck import ComposeLayout, S, Tensor, Theorem, TileLayout, View, eq, le, theorem
from tilecheck.layout import Iter, trace
from tilecheck.symbolic import Term, terms

SWIZZLES = tuple((per, length, atom) for per in (0, 2, 3, 4) for length in (1, 2, 3) for atom in (3, 4) if atom >= length)


def swizzle(per: int, length: int, atom: int, *, inner: bool = True) -> ComposeLayout:
    """One XOR over a layout of one element."""
    return ComposeLayout(per, length, atom, TileLayout(S[1:1]), inner)


def place(view: View | Tensor, coordinates: tuple[Term, ...]) -> Term:
    """The storage offset of an element."""
    return trace(view).locate(coordinates).m


@theorem
def swizzles_are_involutions(t: Theorem) -> None:
    """Applied twice, an XOR of either kind is the identity."""
    m = t.symbol("m", min=0)
    for per, length, atom in SWIZZLES:
        for inner in (True, False):
            one = swizzle(per, length, atom, inner=inner)
            t.show(eq(one.swizzle(one.swizzle(m)), m), f"{one!r}")


@theorem
def swizzles_keep_their_runs(t: Theorem) -> None:
    """2^per_element elements that start at a multiple of it stay together and in order."""
    for per, length, atom in SWIZZLES:
        run = 1 << per
        start = t.symbol(f"start_{per}_{length}_{atom}", min=0, multiple_of=run)
        inside = t.index(f"inside_{per}_{length}_{atom}", run)
        one = swizzle(per, length, atom)
        t.show(eq(one.swizzle(terms.add(start, inside)), terms.add(one.swizzle(start), inside)), f"{one!r}")


@theorem
def swizzles_stay_in_their_period(t: Theorem) -> None:
    """An XOR moves nothing out of its block of 2^(per_element + atom_len + swizzle_len) elements."""
    m = t.symbol("m", min=0)
    for per, length, atom in SWIZZLES:
        period = 1 << (per + atom + length)
        one = swizzle(per, length, atom)
        t.show(eq(terms.floordiv(one.swizzle(m), period), terms.floordiv(m, period)), f"{one!r}")


def tensor(t: Theorem, rank: int) -> tuple[Tensor, tuple[Term, ...]]:
    """A tensor of symbolic extents and strides, and its extents."""
    layout = t.layout(rank)
    extents = tuple(one.extent for one in layout.shard)
    return Tensor("T", extents, "float32", layout=layout), extents


@theorem(ranks=(1, 2, 3))
def a_slice_moves_the_origin(t: Theorem, rank: int) -> None:
    """T[b + c] = T[c] + sum of b_k * stride_k."""
    whole, extents = tensor(t, rank)
    begins = tuple(t.symbol(f"b{k}", min=0) for k in range(rank))
    inside = tuple(t.index(f"c{k}", 4) for k in range(rank))
    for begin, extent in zip(begins, extents, strict=True):
        t.given(le(terms.add(begin, 4), extent))
    part = whole.sub(begins, [4] * rank)
    strides = [one.stride for one in whole.layout.shard] if isinstance(whole.layout, TileLayout) else []
    moved = terms.add(place(whole, inside), *(terms.mul(begin, stride) for begin, stride in zip(begins, strides, strict=True)))
    t.show(eq(place(part, inside), moved), "the offset of a slice")


@theorem(ranks=(2, 3))
def a_permutation_permutes_coordinates(t: Theorem, rank: int) -> None:
    """permute(reversed)[c] = T[reversed c]."""
    whole, extents = tensor(t, rank)
    order = tuple(reversed(range(rank)))
    inside = tuple(t.index(f"c{k}", extents[axis]) for k, axis in enumerate(order))
    t.show(eq(place(whole.permute(order), inside), place(whole, tuple(reversed(inside)))), "reversed axes")


@theorem(ranks=(1, 2))
def splitting_an_axis_changes_nothing(t: Theorem, rank: int) -> None:
    """(4 n, ...) read as (n, 4, ...): element (a, b) is element 4 a + b."""
    outer = t.symbol("n", min=1)
    stride = t.symbol("s")
    rest = t.layout(rank - 1, "rest").shard if rank > 1 else ()
    layout = TileLayout((Iter(terms.mul(4, outer), stride, "m"), *rest))
    whole = Tensor("T", tuple(one.extent for one in layout.shard), "float32", layout=layout)
    split = whole.reshape(outer, 4, *(one.extent for one in rest))
    a, b = t.index("a", outer), t.index("b", 4)
    others = tuple(t.index(f"c{k}", one.extent) for k, one in enumerate(rest))
    t.show(eq(place(split, (a, b, *others)), place(whole, (terms.add(terms.mul(4, a), b), *others))), "the split axis")


@theorem
def floor_division_splits_only_where_nothing_carries(t: Theorem) -> None:
    """(8 n + x) // 8 = n for 0 <= x < 8, and (8 n + x) % 8 = x; for every n, negative ones too."""
    n, x = t.symbol("n"), t.index("x", 8)
    total = terms.add(terms.mul(8, n), x)
    t.show(eq(terms.floordiv(total, 8), n), "quotient")
    t.show(eq(terms.mod(total, 8), x), "remainder")
