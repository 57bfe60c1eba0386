"""The algebra of layouts: against its equations by enumeration, and against tvm.tirx.layout where that is right."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from itertools import product as cartesian
from math import prod
from typing import Any

import plain_model as model
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilecheck.errors import InputError
from tilecheck.layout import ComposeLayout, Iter, Layout, TileLayout, parse_layout
from tilecheck.layout.algebra import (
    apply,
    apply_linear,
    canonicalize,
    group,
    pack,
    permute,
    permute_groups,
    size,
    slice,  # noqa: A004
    span,
    tile,
    tile_to,
    unpack,
)
from tilecheck.layout.tile import base_tile, swizzles
from tilecheck.symbolic import var

SEEDS = st.integers(0, 1 << 60)
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
P = parse_layout


def random_tile(
    rng: random.Random, total: int, *, positive: bool = True, axes: Sequence[str] = ("m", "m", "laneid", "warpid")
) -> TileLayout:
    factors = []
    running = 1
    for extent in reversed(rng.choice(model.factorisations(total)) if total > 1 else ()):
        stride = running if rng.random() < 0.5 else rng.randint(0 if positive else -9, 30)
        running *= extent
        factors.append(Iter(extent, stride, rng.choice(axes)))
        if rng.random() < 0.15:
            factors.append(Iter(1, rng.randint(0, 9), rng.choice(axes)))
    offset = {rng.choice(axes): rng.randint(0 if positive else -9, 40) for _ in range(rng.choice([0, 0, 1, 2]))}
    replica = [Iter(rng.randint(1, 3), rng.randint(0 if positive else -5, 50), rng.choice(axes)) for _ in range(rng.choice([0, 0, 1, 2]))]
    return TileLayout(factors[::-1], replica, offset)


def random_layout(rng: random.Random, total: int) -> Layout:
    layout: Layout = random_tile(rng, total, positive=False)
    for _ in range(rng.choice([0, 1, 2])):
        length = rng.randint(0, 3)
        layout = ComposeLayout(rng.randint(0, 3), length, rng.randint(length, 4), layout, rng.random() < 0.6)
    return layout


def number(value: object) -> int:
    assert isinstance(value, int)
    return value


def plain(layout: Layout, index: int) -> dict[str, int]:
    """The value on every axis, by the plain model; axes of value 0 left out."""
    base = base_tile(layout)
    factors = [(number(one.extent), number(one.stride), one.axis) for one in base.shard]
    chain = [(one.per_element, one.swizzle_len, one.atom_len, one.swizzle_inner) for one in swizzles(layout)]
    values, m = model.place(index, factors, {name: number(value) for name, value in base.offset}, chain)
    return {name: value for name, value in {**values, "m": m}.items() if value}


def nonzero(values: dict[str, Any]) -> dict[str, int]:
    return {name: int(value) for name, value in values.items() if int(value)}


def total_of(rng: random.Random) -> int:
    return rng.choice([1, 2, 4, 6, 8, 12, 24, 36, 60, 64])


@QUICK
@given(SEEDS)
def test_applying_a_layout_follows_its_equation(seed: int) -> None:
    rng = random.Random(seed)
    total = total_of(rng)
    layout = random_layout(rng, total)
    shape = rng.choice(model.factorisations(total))
    assert size(layout) == total
    for index in range(total):
        assert nonzero(apply_linear(layout, index)) == plain(layout, index)
        assert nonzero(apply(layout, model.digits(index, shape), shape)) == plain(layout, index)


@QUICK
@given(SEEDS)
def test_the_normal_form_is_the_same_function(seed: int) -> None:
    rng = random.Random(seed)
    total = total_of(rng)
    layout = TileLayout(random_tile(rng, total, positive=False).shard)
    normal = canonicalize(layout)
    assert canonicalize(normal) == normal
    assert all(plain(normal, index) == plain(layout, index) for index in range(total))


@QUICK
@given(SEEDS)
def test_grouping_keeps_the_function_and_separates_the_axes(seed: int) -> None:
    rng = random.Random(seed)
    total = total_of(rng)
    layout = random_layout(rng, total)
    shape = list(rng.choice(model.factorisations(total)))
    shape.insert(rng.randint(0, len(shape)), 1)
    try:
        grouped, seps = group(layout, shape)
    except InputError as error:
        if "do not cut" not in str(error):
            raise
        return
    shard = base_tile(grouped).shard
    assert (seps[0], seps[-1]) == (0, len(shard))
    assert [prod(number(one.extent) for one in shard[a:b]) for a, b in pairwise(seps)] == shape
    assert all(plain(grouped, index) == plain(layout, index) for index in range(total))


@QUICK
@given(SEEDS)
def test_a_permuted_layout_reads_its_coordinates_in_the_new_order(seed: int) -> None:
    rng = random.Random(seed)
    layout = random_layout(rng, total_of(rng))
    extents = [number(one.extent) for one in base_tile(layout).shard]
    order = rng.sample(range(len(extents)), len(extents))
    permuted = permute(layout, order)
    for coords in cartesian(*map(range, extents)):
        there = model.ravel([coords[k] for k in order], [extents[k] for k in order])
        assert plain(permuted, there) == plain(layout, model.ravel(coords, extents))


@QUICK
@given(SEEDS)
def test_a_slice_is_the_layout_of_its_region(seed: int) -> None:
    rng = random.Random(seed)
    total = total_of(rng)
    layout = random_layout(rng, total)
    shape = rng.choice(model.factorisations(total))
    region = []
    for extent in shape:
        begin = rng.randint(0, extent - 1)
        region.append((begin, rng.randint(begin + 1, extent)))
    try:
        sliced = slice(layout, shape, region)
    except InputError:
        return
    if sliced is None:
        assert any(end - begin > 1 for begin, end in region)
        return
    assert is_slice(sliced, layout, shape, region)


def is_slice(sliced: Layout, layout: Layout, shape: Sequence[int], region: Sequence[tuple[int, int]]) -> bool:
    """Whether sliced(c) == layout(begin + c) everywhere."""
    extents = [end - begin for begin, end in region]
    return all(
        plain(sliced, model.ravel(coords, extents))
        == plain(layout, model.ravel([c + begin for c, (begin, _) in zip(coords, region, strict=True)], shape))
        for coords in cartesian(*map(range, extents))
    )


@QUICK
@given(SEEDS)
def test_a_tiling_is_the_inner_layout_plus_scaled_outer_steps(seed: int) -> None:
    rng = random.Random(seed)
    rank = rng.randint(1, 2)
    inner_shape = [rng.choice([1, 2, 4, 6]) for _ in range(rank)]
    outer_shape = [rng.choice([1, 2, 3]) for _ in range(rank)]
    inner, outer = random_tile(rng, prod(inner_shape)), random_tile(rng, prod(outer_shape))
    try:
        tiled = tile(inner, outer, outer_shape, inner_shape)
    except InputError as error:
        if "do not cut" not in str(error):
            raise
        return
    mixed = [extent for pair in zip(outer_shape, inner_shape, strict=True) for extent in pair]
    for coords in cartesian(*map(range, mixed)):
        expected = plain(inner, model.ravel(coords[1::2], inner_shape))
        for name, value in plain(outer, model.ravel(coords[::2], outer_shape)).items():
            expected[name] = expected.get(name, 0) + number(span(inner, name)) * value
        assert plain(tiled, model.ravel(coords, mixed)) == nonzero(expected)


@QUICK
@given(SEEDS, st.sampled_from([1, 2, 3, 4, 8]))
def test_unpacking_multiplies_storage_and_packing_undoes_it(seed: int, num: int) -> None:
    rng = random.Random(seed)
    total = total_of(rng)
    layout = random_layout(rng, total)
    if swizzles(layout) and num == 3:
        with pytest.raises(InputError, match="power of two"):
            unpack(layout, num)
        return
    wide = unpack(layout, num)
    for index in range(total):
        small = plain(layout, index)
        for j in range(num):
            expected = {**small, "m": num * small.get("m", 0) + j}
            assert plain(wide, num * index + j) == nonzero(expected)
    packed = pack(wide, num)
    assert all(plain(packed, index) == plain(layout, index) for index in range(total))


@pytest.mark.parametrize(
    ("layout", "num", "words"),
    [
        ("S[(4,6):(6,1)]", 4, "an extent divisible by 4"),
        ("S[(4,8):(8,2)]", 2, "stride 1 in storage"),
        ("S[(4,8):(8,1@laneid)]", 2, "stride 1 in storage"),
        ("S[(4,8):(9,1)]", 2, "found 9 on m"),
        ("S[(4,8):(8,1)] + 3", 2, "found 3 on m"),
        ("S[(4,8):(8,1)] + R[2:33]", 2, "found 33 on m"),
        ("Swizzle(1,2,3) o S[(4,8):(8,1)]", 4, "must stay together"),
    ],
)
def test_what_cannot_be_packed_is_refused(layout: str, num: int, words: str) -> None:
    with pytest.raises(InputError, match=words):
        pack(P(layout), num)


def test_packing_leaves_thread_axes_alone() -> None:
    assert pack(P("S[(32,8):(1@laneid,1)] + 4"), 2) == P("S[(32,4):(1@laneid,1)] + 2")
    assert pack(P("Swizzle(3,3,3) o S[(8,64):(64,1)]"), 8) == P("Swizzle(0,3,3) o S[(8,8):(8,1)]")


def test_slices_cut_and_join_factors() -> None:
    assert slice(P("S[(2,4):(6,1)]"), [8], [(2, 6)]) == P("S[(2,2):(4,1)] + 2")
    assert slice(P("S[(4,4,4):(100,10,1)]"), [64], [(20, 28)]) == P("S[(2,4):(10,1)] + 110")
    assert slice(P("S[(4,4,4):(100,10,1)]"), [64], [(5, 20)]) is None
    assert slice(P("S[(2,4):(1@laneid,1)]"), [8], [(2, 6)]) is None
    assert slice(P("Swizzle(3,3,3) o S[(8,64):(64,1)]"), [8, 64], [(1, 8), (8, 16)]) == P("Swizzle(3,3,3) o S[(7,8):(64,1)] + 72")
    n = var("n")
    moved = slice(P("S[(8,64):(64,1)]"), [8, 64], [(n, n + 2), (0, 64)])
    assert moved is not None
    assert str(apply_linear(moved, 65)["m"]) == "64*n + 65"


def test_symbolic_layouts_group_and_fuse_as_polynomials() -> None:
    layout = P("S[(n,4,k):(4*k,k,1)]")
    assert repr(canonicalize(layout)) == "S[4*n*k:1]"
    grouped, seps = group(P("S[(4*n,k):(s,1)]"), [var("n"), 4, var("k")])
    assert seps == (0, 1, 2, 3)
    assert str(apply(grouped, [var("a"), var("b"), var("c")])["m"]) == "4*s*a + s*b + c"


def test_seps_permute_whole_groups() -> None:
    grouped, seps = group(P("S[(2,3,4):(12,4,1)]"), [6, 4])
    assert permute_groups(grouped, seps, [1, 0]) == P("S[(4,2,3):(1,12,4)]")


def test_tiling_to_a_shape_repeats_the_layout_row_major() -> None:
    assert tile_to(P("S[(8,8):(8,1)]"), [16, 24], [8, 8]) == P("S[(2,8,3,8):(192,8,64,1)]")
    with pytest.raises(InputError, match="expected multiples"):
        tile_to(P("S[(8,8):(8,1)]"), [12, 24], [8, 8])


@cache
def tirx() -> Any:
    return pytest.importorskip("tvm.tirx.layout")


def theirs(layout: Layout) -> Any:
    module = tirx()
    if isinstance(layout, ComposeLayout):
        return module.ComposeLayout(layout.per_element, layout.swizzle_len, layout.atom_len, theirs(layout.tile), layout.swizzle_inner)
    shard = [module.Iter(one.extent, one.stride, one.axis) for one in layout.shard]
    replica = [module.Iter(one.extent, one.stride, one.axis) for one in layout.replica]
    return module.TileLayout.from_iters(shard, replica, dict(layout.offset))


def ours(layout: Any) -> Layout:
    if hasattr(layout, "per_element"):
        return ComposeLayout(
            int(layout.per_element), int(layout.swizzle_len), int(layout.atom_len), ours(layout.tile_layout), bool(layout.swizzle_inner)
        )
    iters = [[Iter(int(one.extent), int(one.stride), one.axis.name) for one in part] for part in (layout.shard, layout.replica)]
    return TileLayout(iters[0], iters[1], {name.name: int(value) for name, value in layout.offset.items()})


def one_swizzle(rng: random.Random, total: int) -> Layout:
    if rng.random() < 0.5:
        return random_tile(rng, total)
    inner = random_tile(rng, total, axes=("m",))
    if not inner.shard:
        return inner
    length = rng.randint(1, 3)
    return ComposeLayout(rng.randint(0, 3), length, rng.randint(length, 4), TileLayout(inner.shard, (), inner.offset))


def same_function(a: Layout, b: Layout) -> bool:
    return size(a) == size(b) and all(plain(a, index) == plain(b, index) for index in range(number(size(a))))


@QUICK
@given(SEEDS)
def test_tirx_agrees_on_apply_size_and_normal_form(seed: int) -> None:
    rng = random.Random(seed)
    total = total_of(rng)
    layout = one_swizzle(rng, total)
    other = theirs(layout)
    assert int(other.size()) == size(layout)
    for index in rng.sample(range(total), min(total, 8)):
        assert nonzero(dict(other.apply(index))) == nonzero(apply_linear(layout, index))
    normal = other.canonicalize()
    assert same_function(ours(normal), canonicalize(layout))
    if isinstance(layout, TileLayout) and layout.shard and not any(one.stride == 0 for one in layout.shard):
        assert ours(normal).shard == base_tile(canonicalize(layout)).shard  # type: ignore[union-attr]


@QUICK
@given(SEEDS)
def test_tirx_agrees_on_spans(seed: int) -> None:
    rng = random.Random(seed)
    layout = random_tile(rng, total_of(rng))
    for name in ("m", "laneid", "warpid", "tx"):
        assert int(theirs(layout).span(name)) == span(layout, name)


@QUICK
@given(SEEDS)
def test_tirx_agrees_on_grouping(seed: int) -> None:
    rng = random.Random(seed)
    total = total_of(rng)
    layout = random_tile(rng, total)
    shape = list(rng.choice(model.factorisations(total)))
    if rng.random() < 0.3:
        shape.insert(rng.randint(0, len(shape)), 1)
    try:
        expected = theirs(layout).group(shape)
    except Exception:  # noqa: BLE001 (it may refuse in any way)
        return
    grouped, seps = group(layout, shape)
    assert list(seps) == [int(one) for one in expected[1]]
    units = [one for one in base_tile(grouped).shard if one.extent != 1]
    assert units == [one for one in base_tile(ours(expected[0])).shard if one.extent != 1]


@QUICK
@given(SEEDS)
def test_tirx_agrees_on_slices_it_can_make(seed: int) -> None:
    rng = random.Random(seed)
    total = total_of(rng)
    layout = one_swizzle(rng, total)
    shape = rng.choice(model.factorisations(total))
    region = [(begin := rng.randint(0, extent - 1), rng.randint(begin + 1, extent)) for extent in shape]
    try:
        expected = theirs(layout).slice(list(shape), region)
    except Exception:  # noqa: BLE001 (it may refuse in any way)
        return
    if expected is not None and is_slice(ours(expected), layout, shape, region):  # it errs when a zero stride stands between
        found = slice(layout, shape, region)
        assert found is not None
        assert same_function(found, ours(expected))


@QUICK
@given(SEEDS)
def test_tirx_agrees_on_tilings_by_plain_outer_layouts(seed: int) -> None:
    rng = random.Random(seed)
    inner_shape = [rng.choice([1, 2, 4, 6]) for _ in range(2)]
    outer_shape = [rng.choice([1, 2, 3]) for _ in range(2)]
    inner, outer = (TileLayout(random_tile(rng, prod(shape)).shard) for shape in (inner_shape, outer_shape))
    try:
        expected = theirs(inner).tile(theirs(outer), outer_shape, inner_shape)
    except Exception:  # noqa: BLE001 (it may refuse in any way)
        return
    assert same_function(tile(inner, outer, outer_shape, inner_shape), ours(expected))


@QUICK
@given(SEEDS, st.sampled_from([1, 2, 4]))
def test_tirx_agrees_on_packing_storage(seed: int, num: int) -> None:
    rng = random.Random(seed)
    extents = [rng.choice([2, 3, 4]), rng.choice([4, 8])]
    layout: Layout = TileLayout([Iter(extents[0], num * rng.randint(1, 9)), Iter(extents[1], 1)])
    if rng.random() < 0.5:
        layout = ComposeLayout(2, 1, 2, layout)
    assert same_function(ours(theirs(layout).pack(num)), pack(layout, num))
    assert same_function(ours(theirs(layout).unpack(num)), unpack(layout, num))
