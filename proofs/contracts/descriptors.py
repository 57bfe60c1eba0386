"""Theorems and claims about matrices read through a descriptor: canonical layouts, steps along K inside a line, strides that alias."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilecheck import (
    Call,
    ComposeLayout,
    Launch,
    S,
    Tensor,
    Theorem,
    TileLayout,
    all_of,
    any_of,
    apply,
    axis,
    claim,
    eq,
    not_,
    symbol,
    theorem,
)
from tilecheck.contracts.descriptors import ENCODINGS, MODES
from tilecheck.layout.view import View
from tilecheck.spec.descriptor import UNIT_BYTES, Mode, decode, encode
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term

K_MAJOR = tuple(mode for mode in MODES if mode.major == "k" and mode.swizzle)
STEP_BYTES = 32
"""What one instruction reads of a line along K."""
LINES, LINE_BYTES = 2, 128


def compact(mode: Mode) -> dict[str, int]:
    """Strides without a gap: groups of lines follow each other, then spans."""
    group = mode.lines * mode.span_bytes
    return {"ldo_bytes": 0, mode.next_lines: group, **({} if mode.next_span is None else {mode.next_span: LINES * group})}


def name(mode: Mode, bits: int = 0) -> str:
    """`k-major swizzle 3, 16 bits`."""
    return f"{mode.major}-major swizzle {mode.swizzle}" + (f", {bits} bits" if bits else "")


@theorem
def a_swizzle_is_an_involution(t: Theorem) -> None:
    """Applied twice it changes nothing: the origin is where it takes the first element, and no two elements meet by it."""
    for k, mode in enumerate(MODES):
        bit = t.symbol(f"bit{k}", min=0)
        t.show(eq(mode.hashed(mode.hashed(bit)), bit), name(mode))


@theorem
def a_swizzle_keeps_units_and_spans(t: Theorem) -> None:
    """Sixteen bytes stay together, and in their span: an origin is at a multiple of 16 bytes where its element is, and a block of spans is itself."""
    for k, mode in enumerate(MODES):
        bit = t.symbol(f"bit{k}", min=0)
        for size, what in ((8 * UNIT_BYTES, "the place in a unit"), (8 * mode.span_bytes, "the span")):
            if size == 8 * UNIT_BYTES:
                t.show(eq(terms.mod(mode.hashed(bit), size), terms.mod(bit, size)), f"{name(mode)}: {what}")
            else:
                t.show(eq(terms.floordiv(mode.hashed(bit), size), terms.floordiv(bit, size)), f"{name(mode)}: {what}")


def place(t: Theorem, mode: Mode, bits: int, label: str) -> tuple[Term, Term]:
    """(line, inner) of an element, over two groups of lines and two spans."""
    spans = 1 if mode.next_span is None else LINES
    return (
        t.symbol(f"line_{label}", min=0, max=LINES * mode.lines - 1),
        t.symbol(f"inner_{label}", min=0, max=spans * mode.elements(bits) - 1),
    )


@theorem
def a_canonical_layout_is_injective(t: Theorem) -> None:
    """Two elements of a compact matrix lie at one bit only where they are the same element, from whatever origin."""
    for k, mode in enumerate(MODES):
        origin = t.symbol(f"origin{k}", min=0, multiple_of=8 * UNIT_BYTES)
        for bits in mode.widths:
            one, other = (place(t, mode, bits, f"{k}_{bits}_{side}") for side in "ab")
            first, second = (mode.hashed(terms.add(origin, mode.offset(bits, compact(mode), *at))) for at in (one, other))
            same = all_of(*(eq(a, b) for a, b in zip(one, other, strict=True)))
            t.show(any_of(not_(eq(first, second)), same), name(mode, bits))


@theorem
def a_step_inside_a_line_is_an_offset_before_the_swizzle(t: Theorem) -> None:
    """From a base at a multiple of the period, the view that is swizzled as a whole is what is read from a start some steps of 32 bytes on."""
    for k, mode in enumerate(K_MAJOR):
        base = t.symbol(f"base{k}", min=0, multiple_of=8 * mode.period_bytes)
        step = t.symbol(f"step{k}", min=0, max=mode.span_bytes // STEP_BYTES - 1)
        line, byte = t.symbol(f"line{k}", min=0, max=255), t.symbol(f"byte{k}", min=0, max=STEP_BYTES - 1)
        inside = terms.mul(8 * STEP_BYTES, step)
        walked = mode.offset(8, {"ldo_bytes": 0, "sdo_bytes": mode.lines * mode.span_bytes}, line, byte)
        view = terms.add(base, mode.hashed(terms.add(inside, walked)))
        origin = mode.hashed(terms.add(base, mode.hashed(inside)))
        t.show(eq(view, mode.hashed(terms.add(origin, walked))), name(mode))


def legal(mode: Mode, base: int, step: int) -> bool:
    """Whether the instruction that starts `step` times 32 bytes inside the lines of a tile, swizzled from its own start at `base`, reads its units."""
    strides = {"ldo_bytes": 0, "sdo_bytes": mode.lines * mode.span_bytes}
    inside = 8 * STEP_BYTES * step
    origin = mode.hashed(terms.add(8 * base, mode.hashed(inside)))
    walks = [mode.offset(8, strides, line, unit) for line in range(4 * mode.lines) for unit in (0, UNIT_BYTES)]
    return all(terms.add(8 * base, mode.hashed(terms.add(inside, walked))) == mode.hashed(terms.add(origin, walked)) for walked in walks)


@theorem
def a_step_inside_a_line_is_legal_exactly_where_base_offset_zero_is(t: Theorem) -> None:
    """At every place of the period: each step of 32 bytes is read right with a base offset of 0 if and only if the tile itself is."""
    for mode in K_MAJOR:
        for base in range(0, mode.period_bytes, LINE_BYTES):
            for step in range(mode.span_bytes // STEP_BYTES):
                t.holds(legal(mode, base, step) == legal(mode, base, 0), f"{name(mode)}, base at {base}, step {step}")


@theorem
def strides_that_alias_read_one_bit_twice(t: Theorem) -> None:
    """Where lines of two groups, or two spans, start at one place, two elements are read from it: no view of distinct elements is read like that."""
    for k, mode in enumerate(MODES):
        bits = mode.widths[-1]
        origin = t.symbol(f"origin{k}", min=0, multiple_of=8 * UNIT_BYTES)
        line, inner = t.symbol(f"line{k}", min=0, max=mode.lines - 1), t.symbol(f"inner{k}", min=0, max=mode.elements(bits) - 1)
        none = {"ldo_bytes": 0, "sdo_bytes": 0}
        here = mode.hashed(terms.add(origin, mode.offset(bits, none, line, inner)))
        there = mode.hashed(terms.add(origin, mode.offset(bits, none, terms.add(line, mode.lines), inner)))
        t.show(eq(here, there), f"{name(mode)}: lines")
        if mode.next_span is not None:
            further = mode.hashed(terms.add(origin, mode.offset(bits, none, line, terms.add(inner, mode.elements(bits)))))
            t.show(eq(here, further), f"{name(mode)}: spans")


@theorem
def a_word_is_read_as_it_was_written(t: Theorem) -> None:
    """Decoding is the inverse of encoding, at every power of two of every field."""
    for encoding in ENCODINGS:
        for ours, _ in encoding.codes:
            for unit in (UNIT_BYTES << k for k in range(14)):
                for fields in ((unit, 0, 0), (0, unit, 0), (0, 0, unit)):
                    word = encode(encoding, fields[0], (fields[1], fields[2], ours))
                    wanted = {"start_bytes": fields[0], "ldo_bytes": fields[1], "sdo_bytes": fields[2], "swizzle": ours}
                    t.holds(decode(encoding, word) == wanted, f"{encoding.name} {word:#x}")


# --- claims -----------------------------------------------------------------------------------------------------------

LANE, WARP = axis("laneid"), axis("wid_in_wg")
WARPGROUP = Launch((128,))


def product(b: View | Tensor, fields: tuple[int, int, int], *, steps: int = 1, major: str = "k") -> Call:
    """A of registers times a B of half words of shape (1, steps, N, 16)."""
    n = b.shape[2]
    assert isinstance(n, int)
    sums = TileLayout(S[(1, 1, 4, 2, 8, n // 8, 4, 2) : (0, 0, 1 @ WARP, 2, 4 @ LANE, 4, 1 @ LANE, 1)])
    words = TileLayout(S[(1, steps, 4, 2, 8, 2, 4) : (0, 4, 1 @ WARP, 1, 4 @ LANE, 2, 1 @ LANE)])
    d = Tensor("D", (1, 1, 64, n), "float32", space="register", layout=sums)
    a = Tensor("A", (1, steps, 64, 8), "uint32", space="register", layout=words)
    parameters: dict[str, Any] = {"b_descriptor": fields, "b_major": major}
    return apply(f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16", d, a, b, scope="warpgroup", launch=WARPGROUP, **parameters)


def shared(layout: TileLayout, swizzle: int, shape: tuple[int, ...], **keys: Any) -> Tensor:
    """Half words in shared memory."""
    return Tensor("B", shape, "float16", space="shared", layout=ComposeLayout(3, swizzle, 3, layout) if swizzle else layout, **keys)


def tile(swizzle: int, residue: int = 0, n: int = 64) -> Tensor:
    """N rows of the span of a swizzle, swizzled from their own start on, which is at a residue modulo the period."""
    width = 8 << swizzle
    return shared(TileLayout(S[(n, width) : (width, 1)]), swizzle, (n, width), base=(128 << swizzle, residue))


def step_along_k(swizzle: int, step: int, residue: int) -> Call:
    """The instruction that starts `step` times 32 bytes inside each line."""
    b = tile(swizzle, residue).sub((0, 16 * step), (64, 16)).reshape(1, 1, 64, 16)
    return product(b, (16, 8 * (16 << swizzle), swizzle))


@claim
def every_canonical_layout_is_accepted() -> Iterator[Call]:
    """All swizzles of both majors, compact and with gaps between groups and between spans."""
    for swizzle in range(4):
        span = 8 << swizzle
        for gap in (1, 3):
            group = 8 * span * gap
            if swizzle:
                k = S[(1, 1, 8, 8, 16) : (0, 0, group, span, 1)]
                mn = S[(1, 1, 64 // span, span, 2, 8) : (0, 0, 2 * group, 1, group, span)]
                yield product(shared(TileLayout(k), swizzle, (1, 1, 64, 16), align=1024), (16, 2 * group, swizzle))
                yield product(shared(TileLayout(mn), swizzle, (1, 1, 64, 16), align=1024), (4 * group, 2 * group, swizzle), major="mn")
            else:
                k = S[(1, 1, 8, 8, 2, 8) : (0, 0, group, 8, 8 * group, 1)]
                mn = S[(1, 1, 8, 8, 2, 8) : (0, 0, group, 1, 8 * group, 8)]
                yield product(shared(TileLayout(k), 0, (1, 1, 64, 16), align=16), (16 * group, 2 * group, 0))
                yield product(shared(TileLayout(mn), 0, (1, 1, 64, 16), align=16), (16 * group, 2 * group, 0), major="mn")


@claim
def a_step_along_k_inside_the_span_is_legal_at_base_offset_zero() -> Iterator[Call]:
    """Every step of 32 bytes that a line has room for."""
    for swizzle in (1, 2, 3):
        for residue in (0,) if swizzle == 1 else (0, LINE_BYTES << swizzle - 1):
            yield from (step_along_k(swizzle, step, residue) for step in range(1 << (swizzle - 1)))


@claim(refuted="b.descriptor")
def a_step_along_k_is_illegal_where_the_base_offset_is_not_zero() -> Iterator[Call]:
    """A tile that is swizzled from its own start needs a base-offset field where that is at another line of the period: so does each of its steps.

    Half a period away the XOR flips the highest bit of the place in the line alone, which a start elsewhere in the line makes good.
    """
    for swizzle in (1, 2, 3):
        for residue in range(LINE_BYTES, LINE_BYTES << swizzle, LINE_BYTES):
            if swizzle == 1 or residue != LINE_BYTES << swizzle - 1:
                yield from (step_along_k(swizzle, step, residue) for step in range(1 << (swizzle - 1)))


@claim
def four_steps_along_k_in_a_ring_of_four_stages() -> Call:
    """N = 256, a stage that is known at run time only."""
    i = symbol("i", min=0, max=1_000_000)
    ring = shared(TileLayout(S[(4, 256, 64) : (16384, 64, 1)]), 3, (4, 256, 64), align=1024)
    stage = ring.sub((i % 4, 0, 0), (1, 256, 64)).rearrange("s n (k e) -> s k n e", e=16)
    return product(stage, (16, 1024, 3), steps=4)


@claim(refuted="b.descriptor")
def strides_that_alias_are_refuted() -> Iterator[Call]:
    """A stride of 0, one that is shorter than a group, and one that lets spans overlap."""
    for sdo in (0, 16, 512, 1008):
        yield product(shared(TileLayout(S[(1, 1, 64, 16) : (0, 0, 64, 1)]), 3, (1, 1, 64, 16), align=1024), (16, sdo, 3))
    for ldo, sdo in ((0, 128), (128, 0), (128, 128), (64, 128)):
        yield product(shared(TileLayout(S[(1, 1, 8, 8, 2, 8) : (0, 0, 64, 8, 512, 1)]), 0, (1, 1, 64, 16), align=16), (ldo, sdo, 0))
    for ldo in (0, 128, 1024):
        mn = TileLayout(S[(1, 1, 2, 64, 16) : (0, 0, 1024, 1, 64)])
        yield product(shared(mn, 3, (1, 1, 128, 16), align=1024), (ldo, 1024, 3), major="mn")
