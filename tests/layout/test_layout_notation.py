"""The layout notation: read, written, pasted, and hostile."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilecheck.errors import InputError
from tilecheck.layout import ComposeLayout, Iter, Layout, R, S, TileLayout, axis, dtype_bits, format_layout, parse_layout
from tilecheck.layout.axes import AXES
from tilecheck.symbolic import parse, var

laneid, warpid = axis("laneid"), axis("warpid")

EXPRESSIONS = st.sampled_from(
    ["n", "n*4", "n//4", "n + 1", "(n + 1)*4", "min(n, 8)", "select(n < 4, n, 4)", "-n", "n - 1", "n % 8", "n ^ 3", "1 << k"]
)
TERMS = st.one_of(st.integers(-(1 << 70), 1 << 70), EXPRESSIONS.map(parse))
EXTENTS = st.one_of(st.integers(1, 1 << 70), EXPRESSIONS.map(parse))
FACTORS = st.lists(st.builds(Iter, EXTENTS, TERMS, st.sampled_from(AXES)), max_size=5)
TILES = st.builds(TileLayout, FACTORS, FACTORS, st.dictionaries(st.sampled_from(AXES), TERMS, max_size=3))


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    layout: Layout = draw(TILES)
    for _ in range(draw(st.integers(0, 3))):
        length = draw(st.integers(0, 8))
        layout = ComposeLayout(draw(st.integers(0, 8)), length, draw(st.integers(length, 12)), layout, draw(st.booleans()))
    return layout


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(layouts())
def test_every_layout_is_read_back_as_written(layout: Layout) -> None:
    text = repr(layout)
    assert parse_layout(text) == layout
    assert repr(parse_layout(text)) == text == format_layout(layout)


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("S[4:1]", TileLayout(S[4:1])),
        ("S[5:1@laneid]", TileLayout(S[5 : 1 @ laneid])),
        ("S[4:-1] + 3", TileLayout(S[4:-1] + 3)),
        ("S[4:-1]+3@m", TileLayout(S[4:-1] + 3)),
        ("S[4:1] - 3@laneid", TileLayout(S[4:1] - 3 @ laneid)),
        ("S[4:1] + 2@warpid", TileLayout(S[4:1] + 2 @ warpid)),
        ("S[n*4:1]", TileLayout(S[var("n") * 4 : 1])),
        ("S[(n//4,4):(4,1)]", TileLayout(S[(var("n") // 4, 4) : (4, 1)])),
        ("S[(2,32,3,4):(1@warpid,1@laneid,8,2)]", TileLayout(S[(2, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 8, 2)])),
        ("S[(1024,64):(64,1)]", TileLayout(S[(1024, 64) : (64, 1)])),
        ("S[1024,64]", TileLayout(S[1024, 64])),
        ("S[ ( 4 , 8 ) ]", TileLayout(S[4, 8])),
        ("S[(4,):(1,)]", TileLayout(S[4:1])),
        ("S[():()]", TileLayout()),
        ("S[8:1] + R[(2,4):(8,1@warpid)] + 5@warpid - 1", TileLayout(S[8:1] + R[(2, 4) : (8, 1 @ warpid)] + 5 @ warpid - 1)),
        ("S[8:1] + R[2:8] + R[4:1@warpid]", TileLayout(S[8:1] + R[(2, 4) : (8, 1 @ warpid)])),
        ("Swizzle(3,3,3) o S[(8,64):(64,1)]", ComposeLayout(3, 3, 3, TileLayout(S[(8, 64) : (64, 1)]))),
        ("Swizzle(1,2,3,outer) o S[64:1]", ComposeLayout(1, 2, 3, TileLayout(S[64:1]), swizzle_inner=False)),
        ("Swizzle(0,1,2) o Swizzle(1,2,3) o S[64:1] + 8", ComposeLayout(0, 1, 2, ComposeLayout(1, 2, 3, TileLayout(S[64:1] + 8)))),
    ],
)
def test_the_notation_reads_as_the_builders_do(text: str, layout: Layout) -> None:
    assert parse_layout(text) == layout
    assert parse_layout(repr(layout)) == layout


def test_extents_alone_are_row_major_and_compact() -> None:
    assert repr(TileLayout(S[2, 3, 4])) == "S[(2,3,4):(12,4,1)]"
    assert repr(TileLayout(S[8])) == "S[8:1]"


def test_the_rightmost_swizzle_is_the_innermost() -> None:
    layout = parse_layout("Swizzle(0,1,2) o Swizzle(1,2,3) o S[64:1]")
    assert isinstance(layout, ComposeLayout)
    assert isinstance(layout.tile, ComposeLayout)
    assert (layout.per_element, layout.tile.per_element) == (0, 1)


def test_offsets_on_one_axis_add_up_and_zeros_vanish() -> None:
    assert TileLayout(S[4:1] + 1 @ laneid + 2 @ laneid).offset == (("laneid", 3),)
    assert TileLayout(S[4:1] + 1 @ laneid - 1 @ laneid + 0).offset == ()
    assert TileLayout(1 @ laneid + S[4:1] + (2 @ warpid + 3)).offset == (("laneid", 1), ("warpid", 2), ("m", 3))
    assert TileLayout(S[4:1] + (3 + 2 @ warpid)).offset == (("m", 3), ("warpid", 2))


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("", 1, "found the end, expected `S["),
        ("R[3:1]", 1, "found 'R'"),
        ("S[]", 3, "expected an integer expression"),
        ("S[4:1", 6, "found the end, expected `]`"),
        ("S[4:1@lane]", 7, "did you mean laneid"),
        ("S[4:1@laneid@m]", 13, "one axis only"),
        ("S[4:1] +", 9, "expected an integer expression"),
        ("S[4:1] x", 8, "found 'x'"),
        ("S[4::1]", 5, "found ':'"),
        ("S[4:n+*3]", 5, "column 3 of 'n+*3': found '*'"),
        ("S[(4,3):(1)]", 3, "found 2 extents and 1 strides"),
        ("S[(2,(3,4)):(1,2)]", 6, "found ','"),
        ("S[0:1]", 3, "found the extent 0, expected at least 1"),
        ("S[4:1.5]", 5, "column 1"),
        ("S[(4]:1)", 5, "found ']'"),
        ("S[4:1] ]", 8, "found ']'"),
        ("Swizzle(3,3) o S[4]", 1, "expected `S[` or `Swizzle("),
        ("Swizzle(3,3,3) S[4]", 1, "expected `S[` or `Swizzle("),
        ("Swizzle(3,3,2) o S[4]", 1, "expected atom_len >= swizzle_len"),
        ("Swizzle(3,3,99999999) o S[4]", 1, "found atom_len 99999999"),
        ("S[n < 4:1]", 3, "expected an integer"),
    ],
)
def test_an_error_names_the_column_what_was_found_and_what_was_expected(text: str, column: int, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)) as caught:
        parse_layout(text)
    assert caught.value.message.startswith(f"column {column} of ")


HOSTILE = [
    "S[" * 100_000,
    "S[" + "(" * 100_000 + "4" + ")" * 100_000 + "]",
    "S[" + "(" * 20_000 + "4" + ")" * 20_000 + "]",
    "S[4:" + "9" * 50_000 + "]",
    "S[4:" + "9" * 1_000_000 + "]",
    "S[" + "4," * 20_000 + "4]",
    "S[" + "n*" * 20_000 + "n]",
    "S[" + "-" * 50_000 + "4]",
    "S[4:1]" + " + 1" * 12_000,
    "S[4:1]" + "+R[2:1]" * 8_000,
    "Swizzle(0,0,0) o " * 3_000 + "S[4]",
    "Swizzle(" + "9" * 50_000 + ",0,0) o S[4]",
    " " * 1_000_000,
    "S[4:1] + " + "@" * 50_000,
    "S[4:1" + "]" * 50_000,
    "\x00" * 1000,
    "S[" + "é" * 1000 + "]",
    "S[4:1]+" * 8_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_ends_quickly_and_in_an_input_error(text: str) -> None:
    start = time.process_time()
    try:
        layout = parse_layout(text)
    except InputError as error:
        length = len(str(error))
    else:
        assert parse_layout(repr(layout)) == layout
        length = 0
    assert length < 1000
    assert time.process_time() - start < 2


@settings(max_examples=500, deadline=None)
@given(st.text(alphabet="SR[](),:@+-o 0123456789nmlaneidSwizzle*/%<", max_size=60))
def test_any_text_gives_a_layout_or_an_input_error(text: str) -> None:
    try:
        layout = parse_layout(text)
    except InputError:
        return
    assert parse_layout(repr(layout)) == layout


@pytest.mark.parametrize(
    "make",
    [
        lambda: ComposeLayout(3, 4, 3, TileLayout(S[64])),
        lambda: ComposeLayout(-1, 1, 3, TileLayout(S[64])),
        lambda: ComposeLayout(0, -1, 3, TileLayout(S[64])),
        lambda: ComposeLayout(0, 1, 1 << 40, TileLayout(S[64])),
        lambda: TileLayout(S[(2, 3) : (1,)]),
        lambda: TileLayout(S[0:1]),
        lambda: TileLayout(S[-4:1]),
        lambda: TileLayout(S[2.5:1]),
        lambda: TileLayout(S[True:1]),
        lambda: TileLayout(S[4:1:1]),
        lambda: TileLayout(S[tuple([2] * 500)]),
        lambda: Iter(4, 1, "lane"),
        lambda: axis("thread"),
        lambda: TileLayout(S[4:1] + "x@y"),  # type: ignore[operator]
    ],
)
def test_an_ill_formed_layout_is_an_input_error(make: object) -> None:
    with pytest.raises(InputError):
        make()  # type: ignore[operator]


def test_swizzles_cannot_be_stacked_without_end() -> None:
    layout: Layout = TileLayout(S[4])
    for _ in range(16):
        layout = ComposeLayout(0, 0, 0, layout)
    with pytest.raises(InputError, match="more than 16 swizzles"):
        ComposeLayout(0, 0, 0, layout)


def test_dtypes_have_the_widths_that_ml_dtypes_gives_them() -> None:
    numpy = pytest.importorskip("numpy")
    ml_dtypes = pytest.importorskip("ml_dtypes")
    from tilecheck.layout.dtypes import DTYPE_BITS

    for name, bits in DTYPE_BITS.items():
        if name.startswith("bits"):
            assert bits == int(name[4:])
        elif hasattr(ml_dtypes, name) and name[0] in "bf":
            assert bits == ml_dtypes.finfo(getattr(ml_dtypes, name)).bits
        elif hasattr(ml_dtypes, name):
            assert bits == int(name.lstrip("uint"))
        else:
            assert bits == numpy.dtype(name).itemsize * 8


def test_an_unknown_dtype_names_its_neighbours() -> None:
    with pytest.raises(InputError, match=r"did you mean .*float16"):
        dtype_bits("flaot16")
