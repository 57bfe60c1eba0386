"""Answers recorded from other projects: CuTe layouts (reversed to lexicographic order) and Triton's shared encodings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import product as cartesian
from pathlib import Path
from typing import Any

import pytest

from tilecheck.errors import InputError
from tilecheck.layout import ComposeLayout, Iter, Layout, Tensor, TileLayout, trace
from tilecheck.layout.algebra import apply_linear, canonicalize, pack, size, span, unpack
from tilecheck.layout.exact import equal, injective
from tilecheck.layout.tile import base_tile

FILES: dict[str, Any] = json.loads((Path(__file__).parents[1] / "data" / "vectors" / "layouts.json").read_text())["files"]
NUMBERS = ("tensor_layouts", "cute_ir")


def flat(nested: Any) -> Iterator[int]:
    if isinstance(nested, list):
        for one in nested:
            yield from flat(one)
    else:
        yield nested


def cute(value: dict[str, Any]) -> Layout:
    """A CuTe layout, or a swizzle over offset + layout."""
    if "composed" in value:
        parts = value["composed"]
        inner = cute(parts["inner"] if "layout" in parts["inner"] else {"layout": parts["inner"]})
        if parts["offset"]:
            assert isinstance(inner, TileLayout)
            inner = TileLayout(inner.shard, (), {"m": parts["offset"]})
        return swizzled(parts["outer"]["swizzle"], inner)
    layout = value["layout"]
    factors = [Iter(extent, stride) for extent, stride in zip(flat(layout["shape"]), flat(layout["stride"]), strict=True)]
    tile = TileLayout(reversed(factors))
    return swizzled(layout["swizzle"], tile) if "swizzle" in layout else tile


def swizzled(numbers: list[int], inner: Layout) -> Layout:
    bits, base, shift = numbers
    return ComposeLayout(base, bits, shift, inner)


def image(layout: Layout) -> list[int]:
    count = size(layout)
    assert isinstance(count, int)
    return [number(apply_linear(layout, index).get("m", 0)) for index in range(count)]


def number(value: object) -> int:
    assert isinstance(value, int)
    return value


def vectors(op: str, *files: str) -> list[Any]:
    found = [one for name in files or FILES for one in FILES[name]["vectors"] if one["op"] == op]
    assert found
    return [pytest.param(one, id=one["id"]) for one in found]


def test_every_file_of_vectors_has_a_source_and_a_licence() -> None:
    for one in FILES.values():
        assert one["source"]["licence"] in {"MIT", "BSD-3-Clause", "Apache-2.0"}


@pytest.mark.parametrize("one", vectors("cosize", *NUMBERS))
def test_the_span_is_the_cosize(one: Any) -> None:
    layout = cute(one["inputs"][0])
    expected = one["expect"].get("value", one["expect"].get("int_tuple"))
    places = image(layout)
    assert span(layout) == max(places) + 1
    if not isinstance(layout, ComposeLayout) and min(places) >= 0:
        assert span(layout) == expected


@pytest.mark.parametrize("one", vectors("size", "tensor_layouts"))
def test_the_size_is_the_recorded_one(one: Any) -> None:
    assert size(cute(one["inputs"][0])) == one["expect"]["value"]


@pytest.mark.parametrize("one", vectors("coalesce", "tensor_layouts", "cute_ir", "pycute"))
def test_the_normal_form_is_the_coalesced_layout(one: Any) -> None:
    layout, expected = cute(one["inputs"][0]), cute(one["expect"])
    assert equal(layout, expected) is True
    if "table" in one:
        assert image(layout) == one["table"]
    factors = [(factor.extent, factor.stride) for factor in base_tile(canonicalize(layout)).shard if factor.extent != 1]
    assert factors == [(factor.extent, factor.stride) for factor in base_tile(expected).shard if factor.extent != 1]


@pytest.mark.parametrize("one", vectors("functionally_equal"))
def test_equality_is_equality_of_functions(one: Any) -> None:
    assert equal(cute(one["inputs"][0]), cute(one["inputs"][1])) is one["expect"]["value"]


@pytest.mark.parametrize("one", vectors("is_injective"))
def test_injectivity_is_the_recorded_one(one: Any) -> None:
    assert injective(cute(one["inputs"][0])) is one["expect"]["value"]


@pytest.mark.parametrize("one", vectors("image"))
def test_the_image_is_the_recorded_one(one: Any) -> None:
    assert sorted(set(image(cute(one["inputs"][0])))) == one["expect"]["value"]


@pytest.mark.parametrize("one", vectors("crd2idx", "pycute"))
def test_applying_a_layout_gives_the_recorded_index(one: Any) -> None:
    index, shape, stride = (value["value"] for value in one["inputs"])
    if isinstance(index, list):
        pytest.skip("a nested coordinate")
    assert apply_linear(cute({"layout": {"shape": shape, "stride": stride}}), index).get("m", 0) == one["expect"]["value"]


def along_the_last_axis(values: list[Any]) -> list[Any]:
    """CuTe recasts along any mode of stride 1; here the last axis is meant, CuTe's first."""
    return [one for one in values if base_tile(cute(one.values[0]["inputs"][0])).shard[-1].stride == 1]


@pytest.mark.parametrize("one", along_the_last_axis(vectors("recast") + vectors("upcast") + vectors("downcast")))
def test_packing_and_unpacking_are_the_recorded_recasts(one: Any) -> None:
    layout, expected = cute(one["inputs"][0]), cute(one["expect"])
    scale = Fraction(one["inputs"][1].get("scale", one["inputs"][1].get("value")))
    if one["op"] == "downcast":
        scale = 1 / scale
    last = base_tile(layout).shard[-1]
    if scale < 1:
        assert equal(unpack(layout, scale.denominator), expected) is True
    elif any(number(value) % scale for value in (last.extent, *(one.stride for one in base_tile(layout).shard[:-1]))):
        with pytest.raises(InputError):
            pack(layout, scale.numerator)
    else:
        assert equal(pack(layout, scale.numerator), expected) is True


def log2(value: int) -> int:
    assert value.bit_count() == 1
    return value.bit_length() - 1


def triton_swizzled(inputs: dict[str, Any]) -> Layout:
    rows, columns = inputs["shape"] if inputs["order"] == [1, 0] else inputs["shape"][::-1]
    chunks = columns // inputs["vec"]
    tile = TileLayout([Iter(rows, columns), Iter(columns, 1)])
    phases = min(inputs["max_phase"], chunks)
    return ComposeLayout(log2(inputs["vec"]), log2(phases), log2(chunks * inputs["per_phase"]), tile)


def triton_nvmma(inputs: dict[str, Any]) -> Layout:
    rows, columns = inputs["shape"][::-1] if inputs["transposed"] else inputs["shape"]
    bits, width = inputs["element_bitwidth"], inputs["swizzle_byte_width"]
    if width == 0:
        return TileLayout([Iter(rows, columns), Iter(columns, 1)])
    panel = width * 8 // bits
    tile = TileLayout([Iter(rows, panel), Iter(columns // panel, rows * panel), Iter(panel, 1)])
    return ComposeLayout(log2(128 // bits), log2(width // 16), 3, tile)


@pytest.mark.parametrize("one", vectors("swizzled_shared") + vectors("nvmma_shared"))
def test_swizzles_place_elements_where_triton_does(one: Any) -> None:
    inputs = one["inputs"]
    swapped = inputs.get("transposed", inputs.get("order") == [0, 1])
    layout = triton_swizzled(inputs) if one["op"] == "swizzled_shared" else triton_nvmma(inputs)
    shape = tuple(inputs["shape"][::-1] if swapped else inputs["shape"])
    traced = trace(Tensor("T", shape, "uint8", space="shared", layout=layout))
    bases = one["expect"]["linear_layout"]["offset_bases"]
    for bit, coordinate in enumerate(bases):
        assert traced.locate(coordinate[::-1] if swapped else coordinate).m == 1 << bit
    for index in cartesian((0, 1), repeat=min(len(bases), 6)):
        reached = [0, 0]
        for bit, on in enumerate(index):
            reached = [x ^ (y if on else 0) for x, y in zip(reached, bases[bit], strict=True)]
        expected = sum(on << bit for bit, on in enumerate(index))
        assert traced.locate(reached[::-1] if swapped else reached).m == expected
