"""Symbolic extents and strides of a tensor map: what is a condition, what is refuted, and in which words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from known_cases import disagreements
from test_im2col import call as walk
from test_opaque import MAP
from test_tma import call, symbol

from tilecheck.document import read_call
from tilecheck.prove.check import check
from tilecheck.prove.verdict import Verdict

Document = dict[str, Any]
ROWS = {"shape": ["M", 64], "layout": "S[(M,64):(P,1)]"}
FIXED = {"shape": ["M", 64], "layout": "S[(M,64):(4,1)]"}
PLANES = "cp.async.bulk.tensor.3d.shared::cta.global.tile.mbarrier::complete_tx::bytes"


def free(name: str) -> Document:
    return {"name": name}


def planes(second: str, first: str = "P", *, rows: str | int = 4, more: Sequence[Document] = ()) -> Document:
    """Planes and rows whose pitches depend on one symbol."""
    image = {"shape": [1, 8, 64], "layout": "Swizzle(3,3,3) o S[(1,8,64):(512,64,1)]"}
    tensor = {"shape": [rows, 4, 64], "layout": f"S[({rows},4,64):({first},{second},1)]"}
    return call(PLANES, image, tensor, box=[1, 8, 64], coords=[0, 0, 0], symbols=[symbol("P", 64, 128), *more])


def rows(low: int, high: int, *pitch: int, tensor: Document | None = None, **fields: Any) -> Document:
    """M rows, P elements apart."""
    return call(tensor=tensor or ROWS, symbols=[symbol("M", low, high), *([symbol("P", *pitch)] if pitch else [])], **fields)


def tall(lower: int, upper: int, row: int, low: int, high: int, **tensor: Any) -> Document:
    """A walk over images of H rows."""
    shape: Document = {"shape": [3, "H", 6, 64], **tensor}
    corners = {"pixel_box_lower_corner": [lower, -1], "pixel_box_upper_corner": [upper, -1]}
    return walk(tensor=shape, symbols=[symbol("H", low, high)], coords=[0, row, 0, 0], **corners)


def slanted(start: str) -> Document:
    """Rows of an opaque map that start as far from a multiple of 16 bytes as their pitch says."""
    tensor = MAP | {"align": 16, "shape": [8, 64], "layout": f"S[(8,64):(P,1)] + {start}"}
    return call(tensor=tensor, symbols=[symbol("P", 64, 128)])


def area(bound: str) -> Document:
    return call(
        tensor={"shape": ["M", "K"], "layout": "S[(M,K):(64,1)]"},
        symbols=[symbol("M", 0, 64), symbol("K", 0, 64)],
        assume=[f"M * K {bound}"],
    )


CONDITIONAL: dict[str, tuple[int, Document]] = {
    "a pitch that only one row has": (1, rows(1, 9, 1, 7)),
    "no row, or one": (2, rows(0, 9, 1, 7)),
    "a written pitch that only one row has": (1, rows(1, 9, tensor=FIXED)),
    "a pitch that may be negative in an opaque map": (3, rows(2, 9, -64, 64, tensor=MAP | ROWS)),
    "anything in an opaque map": (4, call(tensor=MAP | ROWS, symbols=[free("M"), free("P")])),
    "two pitches that can be right at once": (2, planes("P+8")),
    "an address and a pitch that can be right at once": (3, slanted("P+8")),
    "extents of some area": (2, area("<= 8")),
    "a bounding box that may be empty below": (1, tall(3, -1, 3, 1, 20)),
    "a bounding box that may be empty above": (1, tall(-1, -5, -1, 1, 20)),
    "a bounding box of an opaque map": (3, tall(3, -1, 3, 1, 20, **MAP)),
}
REFUTED: dict[str, tuple[str, Document]] = {
    "a pitch that no value makes right": ("descriptor", rows(2, 9, 1, 7)),
    "a written pitch of rows": ("descriptor", rows(2, 9, tensor=FIXED)),
    "rows in one place, and another pitch that may be negative": ("src.bounds", planes("-P", "0", rows="M", more=[symbol("M", 1, 3)])),
    "a written pitch of rows beside a symbolic one": ("descriptor", planes("4")),
    "a pitch that is negative in every opaque map": ("descriptor", rows(2, 9, -64, -8, tensor=MAP | ROWS)),
    "a pitch that may be negative in memory": ("src.bounds", rows(2, 9, -64, 64)),
    "two pitches that cannot be right at once": ("descriptor", planes("P+4")),
    "extents without an area": ("descriptor", area("== 0")),
    "an address and a pitch that cannot be right at once": ("descriptor", slanted("P+4")),
    "a bounding box that is always empty": ("descriptor", tall(3, -1, 3, 1, 3)),
    "a start outside of a bounding box of what lies below the base": (
        "src.bounds",
        tall(2, 1, 0, 4, 4, layout="S[(3,H,6,64):(-384*H,384,64,1)]"),
    ),
    "a start outside of a bounding box that may be empty": ("coords.bounds", tall(3, -1, 5, 1, 20)),
}


def decided(document: Document) -> Verdict:
    """The verdict, which brute force shares."""
    parsed = read_call(document)
    verdict = check(parsed)
    assert disagreements(parsed, verdict, 200_000) in ([], None)
    return verdict


@pytest.mark.parametrize("name", CONDITIONAL)
def test_what_some_values_meet_is_a_condition(name):
    count, document = CONDITIONAL[name]
    verdict = decided(document)
    assert (verdict.status, len(verdict.conditions)) == ("proved", count), (verdict.summary(), verdict.conditions)


@pytest.mark.parametrize("name", REFUTED)
def test_what_no_values_meet_together_is_refuted(name):
    clause, document = REFUTED[name]
    verdict = decided(document)
    assert {found.id for found in verdict.failing} == {clause}
    assert verdict.failing[0].counterexample is not None
    assert verdict.failing[0].counterexample.symbols


def test_conditions_are_in_bytes_and_name_the_axis_of_one_element_where_it_can_be_one():
    (one,), (more,) = decided(rows(1, 9, 1, 7)).conditions, decided(rows(2, 9, 8, 80)).conditions
    assert one.endswith("from 0 to below 2^40, or the axis has one element: 2*P bytes")
    assert more.endswith("from 0 to below 2^40: 2*P bytes")


def test_a_counterexample_of_a_stride_is_in_bytes():
    (failed,) = decided(rows(2, 9, 1, 7)).failing
    assert failed.counterexample is not None
    assert "the stride of axis 0 a multiple of 16 bytes" in failed.counterexample.sentence
    assert failed.counterexample.actual == "2 bytes"


SLICED = "cp.async.bulk.tensor.3d.shared::cta.global.tile.mbarrier::complete_tx::bytes"


def sliced(low: int, high: int) -> Document:
    """Interleaved slices of E elements, where the map has 16."""
    image = {"shape": [2, 1, 8, 16], "layout": "Swizzle(3,1,3) o S[(2,1,8,16):(128,128,16,1)]"}
    fields: Document = {"box": [2, 1, 8], "coords": [0, 0, 0], "interleave": 2, "swizzle": 1}
    return call(SLICED, image, {"shape": [4, 2, 8, "E"], "align": 32}, symbols=[symbol("E", low, high)], **fields)


def test_a_slice_may_be_symbolic_where_every_value_is_that_of_the_map():
    known, open_, other = (decided(sliced(*ends)) for ends in ((16, 16), (16, 17), (8, 8)))
    assert (known.status, known.conditions) == ("proved", ())
    assert [[found.id for found in verdict.failing] for verdict in (open_, other)] == [["src.shape"]] * 2


def test_a_parameter_of_the_wrong_kind_is_shown_as_it_is_written():
    (failed,) = check(read_call(call(box=["n", 64], symbols=[symbol("n", 1, 8)]))).failing
    assert "the parameter box is [n, 64], expected" in (failed.reason or "")


def test_large_strides_are_written_in_full():
    verdict = check(read_call(call(tensor={"shape": [8, 128], "layout": "S[(4,2,128):(2147483649,130,1)]"})))
    (failed,) = (one for one in verdict.failing if one.id == "descriptor")
    assert "4 x 2147483649 and 2 x 130 elements" in (failed.reason or "")
