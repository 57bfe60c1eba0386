"""Writers and readers of one allocation: views that are handed from one instruction to another."""

from __future__ import annotations

from tilecheck import ComposeLayout, S, Tensor, TileLayout, View, apply, axis, claim, symbol
from tilecheck.call import Call

LANE = axis("laneid")
STAGE = symbol("stage", min=0, max=3)


def seen(writer: Tensor | View, reader: Tensor | View) -> Call:
    """The question whether two views are one image."""
    return apply("agree", writer, reader, scope="thread")


def tile(dtype: str, columns: int, per_element: int) -> Tensor:
    """A swizzled tile of 64 rows of 128 bytes."""
    layout = ComposeLayout(per_element, 3, 3, TileLayout(S[(64, columns) : (columns, 1)]))
    return Tensor("SM", (64, columns), dtype, space="shared", align=1024, tensor="SM", layout=layout)


@claim
def a_swizzle_scales_with_the_elements() -> Call:
    """128-byte swizzles of halves and of words are one function of the address."""
    return seen(tile("float16", 64, 3).view("uint32"), tile("uint32", 32, 2))


@claim(refuted="image")
def constants_of_another_width() -> Call:
    """The same constants for elements of another width are another swizzle."""
    return seen(tile("float16", 64, 3).view("uint32"), tile("uint32", 32, 3))


@claim
def every_stage_of_a_ring() -> Call:
    """Rows 16 * stage to 16 * stage + 15, cut at once or out of four stages."""
    ring = tile("float16", 64, 3)
    return seen(ring.sub((16 * STAGE, 0), (16, 64)), ring.reshape((4, 16, 64)).sub((STAGE, 0, 0), (1, 16, 64)).reshape((16, 64)))


@claim
def two_accumulators_are_one_factor_in_words() -> Call:
    """D of two tiles of eight columns, packed in pairs: register 2 * tile + block holds word (row, 4 * tile + lane % 4), as A of m16n8k16 wants it."""
    words = Tensor("P", (2, 16, 4), "uint32", space="register", tensor="P", layout=TileLayout(S[(2, 2, 8, 4) : (2, 1, 4 @ LANE, 1 @ LANE)]))
    factor = Tensor("P", (16, 8), "uint32", space="register", tensor="P", layout=TileLayout(S[(2, 8, 2, 4) : (1, 4 @ LANE, 2, 1 @ LANE)]))
    return seen(words.rearrange("t r w -> r (t w)"), factor)


@claim(refuted="image")
def registers_of_a_factor_in_row_then_k_order() -> Call:
    """Registers 1 and 2 of each lane exchanged."""
    words = Tensor("P", (2, 16, 4), "uint32", space="register", tensor="P", layout=TileLayout(S[(2, 2, 8, 4) : (1, 2, 4 @ LANE, 1 @ LANE)]))
    factor = Tensor("P", (16, 8), "uint32", space="register", tensor="P", layout=TileLayout(S[(2, 8, 2, 4) : (1, 4 @ LANE, 2, 1 @ LANE)]))
    return seen(words.rearrange("t r w -> r (t w)"), factor)
