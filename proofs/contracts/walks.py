"""Theorems and claims about walks over pixels: pixels are numbered along the walk, none is visited twice, convolutions, tensor maps of the caller."""

from __future__ import annotations

from typing import Any

from tilecheck import Call, ComposeLayout, Launch, S, Tensor, Theorem, TileLayout, apply, claim, eq, symbol, theorem
from tilecheck.boxes import Box, box_of
from tilecheck.prove.box_hazards import numbered, visited
from tilecheck.spec import Contract, find_contract
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term

LOAD = "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group"
WIDE = "cp.async.bulk.tensor.4d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes"
ONE = Launch((32,))
IMAGES = (3, 5, 6, 64)


def convolution(opcode: str = LOAD, *, pixels: int = 40, tensor: Tensor | None = None, **fields: Any) -> Call:
    """A walk over the output pixels of a 3 x 3 filter with a margin of 1, one tap of it."""
    plain = TileLayout(S[(pixels, 64) : (64, 1)])
    image = Tensor("SM", (pixels, 64), "float16", space="shared", align=1024, layout=ComposeLayout(3, 3, 3, plain))
    there = tensor or Tensor("A", IMAGES, "float16", align=16)
    stores = opcode == STORE
    corner = (0, 0) if stores else (-1, -1)
    given: dict[str, Any] = {
        "pixel_box_lower_corner": corner,
        "pixel_box_upper_corner": corner,
        "channels_per_pixel": 64,
        "pixels_per_column": pixels,
        "coords": (0, *corner, 0),
        "swizzle": 3,
        **({} if stores else {"im2col_offsets": (1, 2), "mbar": "shared"}),
        **fields,
    }
    operands = (there, image) if stores else (image, there)
    return apply(opcode, *operands, scope="thread", launch=ONE, guard="laneid == 0", **given)


def box(call: Call) -> Box:
    """The fields of a call."""
    found = find_contract(call.opcode)
    assert isinstance(found, Contract)
    fields = box_of(call, found)
    assert fields is not None
    return fields


def start(t: Theorem) -> tuple[Term, ...]:
    """A start inside the bounding box."""
    return (t.symbol("n", min=0, max=2), t.symbol("h", min=-1, max=3), t.symbol("w", min=-1, max=4), 0)


@theorem
def pixels_are_numbered_along_a_walk(t: Theorem) -> None:
    """Without element strides pixel p of a walk has the number of its start plus p: two walks meet where their numbers are near."""
    fields, at = box(convolution()), start(t)
    walked, p = fields.walked, t.symbol("p", min=0, max=39)
    assert walked is not None
    there = (*visited(fields, walked, at, IMAGES, p), 0)
    first, place = numbered(fields, walked, at, IMAGES), numbered(fields, walked, there, IMAGES)
    assert first is not None
    assert place is not None
    t.show(eq(place[0], terms.add(first[0], p)), "the number of pixel p")


@theorem
def a_walk_stays_in_its_bounding_box(t: Theorem) -> None:
    """Whatever the element strides are, and wherever in the box it starts."""
    at, p = start(t), t.symbol("p", min=0, max=39)
    for strides in ((1, 1, 1, 1), (1, 2, 3, 1), (2, 3, 4, 1)):
        fields = box(convolution(element_strides=strides))
        assert fields.walked is not None
        _, row, column = visited(fields, fields.walked, at, IMAGES, p)
        inside = terms.conj(terms.le(-1, row), terms.le(row, 3), terms.le(-1, column), terms.le(column, 4))
        t.show(inside, f"element strides {strides}")


@theorem
def no_pixel_is_visited_twice(t: Theorem) -> None:
    """From a start on the grid of the lower corner two pixels of one walk are different."""
    fields = box(convolution(element_strides=(1, 2, 2, 1)))
    walked = fields.walked
    assert walked is not None
    p, q = (t.symbol(name, min=0, max=39) for name in "pq")
    one, other = (visited(fields, walked, (0, -1, -1, 0), IMAGES, number) for number in (p, q))
    same = terms.conj(*(eq(a, b) for a, b in zip(one, other, strict=True)))
    t.show(terms.disj(eq(p, q), terms.negate(same)), "p = q or the pixels differ")


# --- claims ------------------------------------------------------------------------------------------------------------


@claim
def a_tap_of_a_filter() -> Call:
    """Pixels of 128 bytes fill the span of swizzle 3."""
    return convolution()


@claim
def a_start_anywhere_in_the_box() -> Call:
    """Rows of output pixels, by a symbol."""
    row = symbol("row", min=-1, max=3)
    return convolution(coords=(0, row, -1, 0))


@claim(refuted="coords.bounds")
def a_start_behind_the_box() -> Call:
    """The upper corner leaves the last row out."""
    row = symbol("row", min=-1, max=4)
    return convolution(coords=(0, row, -1, 0))


@claim(refuted="box")
def a_store_around_the_tensor() -> Call:
    """A store stays inside."""
    return convolution(STORE, pixel_box_lower_corner=(-1, -1))


@claim
def a_store_of_pixels() -> Call:
    """All pixels of the tensor and some behind the batch, which are dropped."""
    return convolution(STORE, pixels=96)


@claim
def a_map_of_the_caller() -> Call:
    """An opaque tensor map, whose fields the call states."""
    return convolution(tensor=Tensor("D", IMAGES, "float16", space="tensormap"))


@claim(refuted="coords")
def an_offset_of_nine_bits() -> Call:
    """The hardware would drop the highest one."""
    return convolution(im2col_offsets=(0, 256))
