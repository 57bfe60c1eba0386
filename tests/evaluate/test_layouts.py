"""Layouts and views, against tables worked out by hand or by definition."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilecheck.evaluate.layouts import Swizzle, parse_layout
from tilecheck.evaluate.views import View


def offsets(text: str, shape: list[int], **values: int) -> list[int]:
    """The storage offsets of a layout, row-major."""
    fixed = parse_layout(text).fixed(values, shape)
    return [fixed.swizzled(fixed.value(c, "m")) for c in itertools.product(*map(range, shape))]


@pytest.mark.parametrize(
    ("text", "shape", "expected"),
    [
        ("S[4:2]", [4], [0, 2, 4, 6]),
        ("S[(2,3):(1,2)]", [2, 3], [0, 2, 4, 1, 3, 5]),
        ("S[2,3]", [2, 3], [0, 1, 2, 3, 4, 5]),
        ("S[(2,3)]", [2, 3], list(range(6))),
        ("S[4:-1] + 3", [4], [3, 2, 1, 0]),
        ("S[(2,2):(1,2)] + 1 + 4", [4], [5, 7, 6, 8]),
        ("S[6:1]", [2, 3], list(range(6))),
        ("S[(4,):(3,)]", [4], [0, 3, 6, 9]),
        ("S[(n,2):(2,1)] + k*2 - 1", [2, 2], [5, 6, 7, 8]),
        ("S[2:1] - k + 5 + 2*-1 - (n-1)", [2], [-1, 0]),
        ("S[(min(n,9))*1:n+1]", [2], [0, 3]),
        ("S[(1,4,1):(7,1,9)]", [4, 1], [0, 1, 2, 3]),
        ("S[ ( 2 , 2 ) : ( 1 @ laneid , 5 ) ]", [2, 2], [0, 5, 0, 5]),
        ("S[2,n,2]", [2, 2, 2], list(range(8))),
        ("Swizzle(0,1,1) o S[4:1]", [4], [0, 1, 3, 2]),
        ("Swizzle(0,1,1,outer) o S[4:1]", [4], [0, 3, 2, 1]),
        ("Swizzle(0,1,1,inner) o S[4:1]", [4], [0, 1, 3, 2]),
        ("Swizzle(1,1,1) o S[8:1]", [8], [0, 1, 2, 3, 6, 7, 4, 5]),
        ("Swizzle(0,0,3) o S[4:1] + 1", [4], [1, 2, 3, 4]),
        ("Swizzle(0,1,1) o S[2:1] + 2", [2], [3, 2]),
        ("Swizzle(0,1,1) o Swizzle(0,1,1,outer) o S[4:1]", [4], [0, 2, 3, 1]),
    ],
)
def test_layouts_mean_what_they_say(text: str, shape: list[int], expected: list[int]):
    assert offsets(text, shape, n=2, k=3) == expected


def test_the_128_byte_swizzle_of_halves_permutes_16_byte_chunks_by_the_row():
    table = offsets("Swizzle(3,3,3) o S[(8,64):(64,1)]", [8, 64])
    assert table == [64 * row + 8 * (chunk ^ row) + word for row in range(8) for chunk in range(8) for word in range(8)]


def test_axes_replicas_and_offsets_are_kept_apart():
    fixed = parse_layout("S[(2,4):(1@warpid,2@laneid)] + R[(2,3):(8@laneid,0)] + 3@warpid").fixed({}, [2, 4])
    assert [fixed.value((1, 3), axis) for axis in ("warpid", "laneid", "m", "tx")] == [4, 6, 0, 0]
    assert fixed.axes() == {"warpid", "laneid"}
    assert [copy["laneid"] for copy in fixed.copies()] == [0, 0, 0, 8, 8, 8]
    assert parse_layout("S[(1,4):(1@warpid,0@laneid)] + 0@tx").fixed({}, [1, 4]).axes() == set()


@pytest.mark.parametrize("text", ["S[(2,3):(1)]", "S[2:1:1]", "S[(2,2):(1,2", "T[2:1]", "S[4:k!]"])
def test_what_is_no_layout_is_refused(text: str):
    with pytest.raises(ValueError, match=r"stride|expression|extent"):
        parse_layout(text)


def test_extents_that_do_not_make_up_the_shape_are_refused():
    with pytest.raises(ValueError, match="do not make up the shape"):
        parse_layout("S[(2,3):(3,1)]").fixed({}, [4])


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(-5, 9)), min_size=1, max_size=3),
    st.integers(0, 20),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2), st.booleans()), max_size=2),
)
def test_the_span_through_swizzles_is_that_of_the_last_element(
    factors: list[tuple[int, int]], offset: int, swizzles: list[tuple[int, int, int, bool]]
):
    shape, strides = [e for e, _ in factors], [s for _, s in factors]
    if offset + sum((e - 1) * min(s, 0) for e, s in factors) < 0:
        offset = -sum((e - 1) * min(s, 0) for e, s in factors)
    front = "".join(f"Swizzle({p},{s},{max(s, a)}{',outer' if o else ''}) o " for p, s, a, o in swizzles)
    text = f"{front}S[({','.join(map(str, shape))}):({','.join(map(str, strides))})] + {offset}"
    assert parse_layout(text).fixed({}, shape).span() == max(offsets(text, shape)) + 1


@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2), st.booleans(), st.integers(-300, 300))
def test_a_swizzle_is_an_involution_that_keeps_low_and_high_bits(per_element: int, length: int, more: int, outer: bool, m: int):
    swizzle = Swizzle(per_element, length, length + more, outer)
    image = swizzle.apply(m)
    assert swizzle.apply(image) == m
    assert image % (1 << per_element) == m % (1 << per_element)
    assert image >> swizzle.period_bits == m >> swizzle.period_bits


def test_a_large_tile_has_its_span_at_once():
    assert parse_layout("Swizzle(3,3,3) o S[(65536,4096):(4096,1)]").fixed({}, [65536, 4096]).span() == 1 << 28


def addresses(shape: list[Any], layout: str, *steps: dict[str, Any], dtype: str = "float32", **values: int) -> tuple[list[int], list[int]]:
    """The final shape of a view, and the bit address of every element."""
    view = View({"space": "global", "dtype": dtype, "shape": shape, "layout": layout, "view": steps})
    fixed = view.fixed(values)
    return list(fixed.shapes[-1]), [fixed.address(c) for c in itertools.product(*map(range, fixed.shapes[-1]))]


def test_slice_and_permute():
    shape, bits = addresses([4, 4], "S[4,4]", {"op": "slice", "begin": ["n", 1], "extent": [2, 3]}, {"op": "permute", "order": [1, 0]}, n=1)
    assert shape == [3, 2]
    assert bits == [32 * (4 * row + column) for column in (1, 2, 3) for row in (1, 2)]


def test_permute_of_three_axes_follows_the_order():
    shape, bits = addresses([2, 3, 4], "S[2,3,4]", {"op": "permute", "order": [2, 0, 1]})
    assert shape == [4, 2, 3]
    assert bits == [32 * (12 * a + 4 * b + c) for c in range(4) for a in range(2) for b in range(3)]


@pytest.mark.parametrize("sizes", [{"a": 2}, {"b": 3}, {"a": 2, "b": 3}, {"a": "2"}])
def test_rearrange_splits_and_joins(sizes: dict[str, int]):
    shape, bits = addresses([6, 2], "S[6,2]", {"op": "rearrange", "pattern": "(a b) c -> b 1 (c a) ()", "sizes": sizes})
    assert shape == [3, 1, 4, 1]
    assert bits == [32 * (2 * (3 * a + b) + c) for b in range(3) for c in range(2) for a in range(2)]


def test_a_size_that_is_not_given_is_refused():
    with pytest.raises(ValueError, match="not given"):
        addresses([6], "S[6:1]", {"op": "rearrange", "pattern": "(a b) -> a b"})


def test_reshape_and_broadcast():
    shape, bits = addresses(
        [2, 3],
        "S[(2,3):(10,1)]",
        {"op": "reshape", "shape": [3, 2]},
        {"op": "reshape", "shape": [3, 1, 2]},
        {"op": "broadcast", "shape": [2, 3, 2, 2]},
    )
    assert shape == [2, 3, 2, 2]
    table = [0, 1, 2, 10, 11, 12]
    assert bits == [32 * table[2 * i + j] for _ in range(2) for i in range(3) for _ in range(2) for j in range(2)]


def test_dtype_views_widen_and_narrow_the_last_axis():
    assert addresses([2, 8], "S[(2,8):(16,1)]", {"op": "view", "dtype": "float32"}, dtype="float16") == (
        [2, 4],
        [0, 32, 64, 96, 256, 288, 320, 352],
    )
    assert addresses([2], "S[2:1]", {"op": "view", "dtype": "uint8"}, dtype="float32") == ([8], [8 * k for k in range(8)])
    assert addresses([6], "S[6:1]", {"op": "view", "dtype": "bits8"}, dtype="float4_e2m1fn") == ([3], [0, 8, 16])


def test_a_swizzled_tile_keeps_its_bits_under_a_dtype_view():
    _, words = addresses([8, 64], "Swizzle(3,3,3) o S[8,64]", {"op": "view", "dtype": "uint32"}, dtype="float16")
    _, scaled = addresses([8, 32], "Swizzle(2,3,3) o S[8,32]", dtype="uint32")
    assert words == scaled


def test_symbolic_extents_are_known_once_the_symbols_are():
    view = View(
        {
            "space": "global",
            "dtype": "float32",
            "shape": ["n", 4],
            "layout": "S[n,4]",
            "view": [{"op": "rearrange", "pattern": "a b -> b a"}, {"op": "slice", "begin": [0, "k"], "extent": [None, 2]}],
        }
    )
    assert view.static_shape == (4, 2)
    assert view.names == ("k", "n")
    assert view.fixed({"n": 5, "k": 3}).address((1, 1)) == 32 * (4 * 4 + 1)


@pytest.mark.parametrize(("shape", "layout"), [([1, 0, 16, 1], "S[(0,16):(1,4)]"), ([0, 3], "S[(2,0):(1,1)]"), ([0], "S[(4,0,7):(1,1,1)]")])
def test_a_tensor_without_elements_has_a_layout(shape: list[int], layout: str):
    fixed = parse_layout(layout).fixed({}, shape)
    assert fixed.shape == tuple(shape)
    assert fixed.span() == 0


def test_the_digits_of_a_tensor_without_elements_are_those_of_any_other():
    assert parse_layout("S[(1,n):(16,1)]").fixed({"n": 0}, [1, 0]).blocks == parse_layout("S[(1,n):(16,1)]").fixed({"n": 7}, [1, 7]).blocks


def test_unknown_steps_and_dtypes_are_refused():
    with pytest.raises(ValueError, match="unknown view step 'flip'"):
        addresses([2], "S[2:1]", {"op": "flip"})
    with pytest.raises(ValueError, match="unknown dtype 'float33'"):
        addresses([2], "S[2:1]", dtype="float33")


def test_offsets_have_signs_and_axes():
    fixed = parse_layout("S[2:1] - 4 + 3@laneid - 1@laneid - n*2@warpid").fixed({"n": 3}, [2])
    assert [fixed.value((1,), axis) for axis in ("m", "laneid", "warpid")] == [-3, 2, -6]
