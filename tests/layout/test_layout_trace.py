"""`trace` against a model in plain ints that knows neither terms nor digits."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product as cartesian
from math import prod

import plain_model as model
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilecheck.errors import InputError
from tilecheck.layout import (
    Broadcast,
    ComposeLayout,
    Iter,
    Permute,
    Rearrange,
    Reshape,
    Retype,
    S,
    Slice,
    Tensor,
    TileLayout,
    Trace,
    View,
    axis,
    parse_layout,
    step_from_json,
    trace,
)
from tilecheck.symbolic import evaluate, parse, var
from tilecheck.symbolic.terms import Expr, Term, subterms

DTYPES = {4: "uint4", 8: "uint8", 16: "float16", 32: "float32"}
SHARED = "shared"


@dataclass
class Case:
    view: View
    cells: model.Grid
    bits: int
    values: dict[str, int]
    plain: bool
    """Whether the slices are free of symbols."""


def factors_of(rng: random.Random, total: int) -> tuple[int, ...]:
    return rng.choice(model.factorisations(total)) if total > 1 else ()


def with_units(rng: random.Random, shape: Sequence[int]) -> tuple[int, ...]:
    found = list(shape)
    while rng.random() < 0.3:
        found.insert(rng.randint(0, len(found)), 1)
    return tuple(found) or (1,)


def random_layout(rng: random.Random, total: int, *, tame: bool) -> tuple[list[model.Factor], dict[str, int], list[model.Swizzle]]:
    """Factors, offset and swizzles; tame ones are mostly compact, so that dtype views are often legal."""
    extents = with_units(rng, factors_of(rng, total))
    factors: list[model.Factor] = []
    running = 1
    for extent in reversed(extents):
        if tame and rng.random() < 0.9:
            factors.append((extent, running, "m"))
            running *= extent if rng.random() < 0.8 else rng.choice([extent + 2, 8 * extent])
        else:
            factors.append((extent, rng.randint(-9, 40), rng.choice(["m", "m", "laneid", "warpid"])))
    offset = {rng.choice(["m", "laneid", "tx"]): rng.choice([0, 1, 8, 16, -3, 64]) for _ in range(rng.choice([0, 0, 1, 2]))}
    chain: list[model.Swizzle] = []
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        length = rng.randint(0, 3)
        chain.append((rng.randint(0, 4), length, rng.randint(length, 4), rng.random() < 0.6))
    return factors[::-1], offset, chain


def random_step(rng: random.Random, case: Case) -> None:
    """Adds one legal step to the view and to the model."""
    shape = model.shape_of(case.cells)
    kind = rng.choice(["slice", "permute", "reshape", "rearrange", "retype", "broadcast"])
    if kind == "slice":
        begin, extent, written = [], [], []
        for k, size in enumerate(shape):
            length = rng.randint(1, size)
            start = rng.randint(0, size - length)
            begin.append(start)
            extent.append(length)
            written.append(symbolic_begin(rng, case, start, f"n{len(case.values)}_{k}") if rng.random() < 0.4 else start)
        case.cells = model.slice_(case.cells, begin, extent)
        given_extent = tuple(
            None if length == size and b == 0 and isinstance(w, int) else length
            for length, size, b, w in zip(extent, shape, begin, written, strict=True)
        )
        case.view = case.view.then(Slice(tuple(written), given_extent))
    elif kind == "permute":
        order = rng.sample(range(len(shape)), len(shape))
        case.cells = model.permute(case.cells, order)
        case.view = case.view.permute(*order) if order else case.view
    elif kind == "reshape":
        new = with_units(rng, factors_of(rng, prod(shape)))
        case.cells = model.reshape(case.cells, new)
        case.view = case.view.reshape(*new)
    elif kind == "rearrange":
        random_rearrange(rng, case, shape)
    elif kind == "retype":
        bits = rng.choice([4, 8, 16, 32])
        if shape[-1] * case.bits % bits == 0:
            case.cells = model.retype(case.cells, bits)
            case.bits = bits
            case.view = case.view.view(DTYPES[bits])
    elif len(case.cells) <= 64:
        grown = tuple(rng.choice([1, 2, 3]) if size == 1 else size for size in shape)
        new = (*([2] if rng.random() < 0.3 else []), *grown)
        case.cells = model.broadcast(case.cells, new)
        case.view = case.view.broadcast(*new)


def symbolic_begin(rng: random.Random, case: Case, start: int, name: str) -> Term:
    """A term of value `start`."""
    case.plain = False
    for factor in rng.sample([2, 3, 4, 8], 4):
        if start % factor == 0 and rng.random() < 0.7:
            case.values[name] = start // factor
            return parse(f"{factor} * {name}")
    shift = rng.randint(0, 3)
    case.values[name] = start - shift
    return parse(f"{name} + {shift}")


def random_rearrange(rng: random.Random, case: Case, shape: tuple[int, ...]) -> None:
    left, names, sizes, atoms = [], [], {}, []
    for size in shape:
        parts = factors_of(rng, size) if rng.random() < 0.6 else (size,)
        group = [f"a{len(names) + k}" for k in range(len(parts))]
        names += group
        atoms += parts
        sizes |= dict(list(zip(group, parts, strict=True))[1:] if rng.random() < 0.7 else zip(group, parts, strict=True))
        left.append(f"({' '.join(group)})" if len(group) != 1 or rng.random() < 0.3 else group[0])
    order = rng.sample(range(len(names)), len(names))
    groups: list[list[int]] = []
    for k in order:
        if groups and rng.random() < 0.4:
            groups[-1].append(k)
        else:
            groups.append([k])
        if rng.random() < 0.1:
            groups.append([])
    if not groups:
        groups = [[]]
    right = " ".join(f"({' '.join(names[k] for k in group)})" if len(group) != 1 else names[group[0]] for group in groups)
    cells = model.permute(model.reshape(case.cells, atoms), order) if atoms else case.cells
    case.cells = model.reshape(cells, [prod(atoms[k] for k in group) for group in groups])
    case.view = case.view.rearrange(f"{' '.join(left)} -> {right}", **sizes)


def random_case(rng: random.Random, *, tame: bool) -> Case:
    shape = tuple(rng.choice([1, 2, 3, 4, 6, 8]) for _ in range(rng.randint(1, 3)))
    bits = rng.choice([4, 8, 16, 32])
    factors, offset, chain = random_layout(rng, prod(shape), tame=tame)
    layout: TileLayout | ComposeLayout = TileLayout([Iter(*one) for one in factors], (), offset)
    for per_element, length, atom, inner in chain:
        layout = ComposeLayout(per_element, length, atom, layout, inner)
    tensor = Tensor("T", shape, DTYPES[bits], space=SHARED, layout=layout)
    case = Case(View(tensor), model.grid(shape, bits, factors, offset, chain), bits, {}, plain=True)
    for _ in range(rng.randint(0, 5)):
        random_step(rng, case)
    return case


def value_of(term: Term, values: Mapping[str, int]) -> int:
    return evaluate(term, values)


def check_place(traced: Trace, coords: Sequence[Term], values: Mapping[str, int], run: tuple[model.Cell, ...]) -> None:
    found = traced.locate(coords)
    assert tuple(sorted((name, value_of(value, values)) for name, value in found.axes.items())) == run[0][0]
    assert value_of(found.bit, values) == run[0][1] * model.GRAIN


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 60), st.booleans())
def test_every_element_of_a_random_view_lies_where_the_plain_model_says(seed: int, tame: bool) -> None:
    rng = random.Random(seed)
    case = random_case(rng, tame=tame)
    traced = trace(case.view)
    assert traced.shape == model.shape_of(case.cells)
    assert traced.bits == case.bits
    names = [f"c{k}" for k in range(len(traced.shape))]
    symbols = [var(name) for name in names]
    legal = all(retype_holds(traced, case, k) for k in range(len(traced.retypes)))
    for coords in rng.sample(sorted(case.cells), min(len(case.cells), 24)):
        run = case.cells[coords]
        check_place(traced, coords, case.values, run)
        check_place(traced, symbols, {**case.values, **dict(zip(names, coords, strict=True))}, run)
        if legal:
            assert [cell[1] - run[0][1] for cell in run] == list(range(len(run)))
    for one in traced.slices:
        begin = value_of(one.begin, case.values)
        assert begin in range(value_of(one.limit, case.values) - value_of(one.extent, case.values) + 1)


def retype_holds(traced: Trace, case: Case, index: int) -> bool:
    """What RetypeCheck says is needed, tried at every coordinate."""
    one = traced.retypes[index]
    assert (one.refusal, one.divisible, one.whole) == (None, True, True)
    for coords in cartesian(*(range(value_of(extent, case.values)) for extent in one.domain)):
        bits = [value_of(one.bit_of(coords, j), case.values) for j in range(one.group)]
        axes = [{name: value_of(term, case.values) for name, term in one.axes_of(coords, j).items()} for j in range(one.group)]
        if any(bit != bits[0] + j * one.old_bits for j, bit in enumerate(bits)) or any(value != axes[0] for value in axes):
            return False
        if one.widens and bits[0] % one.new_bits:
            return False
    return True


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 60))
def test_a_widening_view_is_legal_exactly_when_every_element_is_one_aligned_run(seed: int) -> None:
    rng = random.Random(seed)
    case = random_case(rng, tame=True)
    if any(isinstance(step, Retype) for step in case.view.steps):
        return
    shape = model.shape_of(case.cells)
    wider = [bits for bits in (8, 16, 32) if bits > case.bits and shape[-1] * case.bits % bits == 0]
    if not wider:
        return
    bits = rng.choice(wider)
    case.cells, case.view = model.retype(case.cells, bits), case.view.view(DTYPES[bits])
    assert retype_holds(trace(case.view), case, 0) == model.sound(case.cells, bits)


def operations(term: Term) -> set[str]:
    return {node.op for node in subterms(term) if isinstance(node, Expr)}


def located(view: View | Tensor, *names: str) -> str:
    return str(trace(view).locate([var(name) for name in names]).linear)


def test_the_ldmatrix_view_of_the_specification_has_strides_128_8_16_1() -> None:
    shared = Tensor("SM", (16, 4, 2), "float32", space=SHARED, layout="S[(16,4,2):(8,1,128)]")
    view = shared.rearrange("(r m) w k -> k m r w", r=8, m=2)
    for k, m, r, w in cartesian(range(2), range(2), range(8), range(4)):
        assert trace(view).locate([k, m, r, w]).linear == 128 * k + 8 * m + 16 * r + w
    assert not {"//", "%"} & set(located(view, "k", "m", "r", "w").split())


@pytest.mark.parametrize(
    "view",
    [
        Tensor("T", (64, 64), "float16", space=SHARED).reshape(8, 8, 8, 8).permute(2, 0, 1, 3).reshape(64, 64).reshape(8, 8, 8, 8),
        Tensor("T", (4096,), "float16", space=SHARED).reshape(8, 512)[3].reshape(512).reshape(8, 64)[:, 8:16],
        Tensor("T", (60, 7), "float16", space=SHARED).rearrange("(a b c) d -> (c a) d b", a=3, b=4, c=5).reshape(5, 3, 7, 2, 2),
        Tensor("T", (64, 64), "uint8", space=SHARED)[var("n") * 8 : var("n") * 8 + 8].reshape(512).view("uint32").reshape(2, 64),
        Tensor("T", (64, 64), "uint8", space=SHARED).view("uint32").view("uint8").reshape(4096).view("uint16"),
        Tensor("T", (var("n") * 4, var("k")), "uint8").reshape(var("n"), 4, var("k")).reshape(var("n"), 4 * var("k")),
        Tensor("T", (var("n"), 4, 8), "uint8", layout=TileLayout(S[(var("n"), 32) : (var("s"), 1)])).reshape(var("n"), 2, 16),
    ],
)
def test_no_division_is_left_where_boundaries_align(view: View) -> None:
    found = trace(view).locate([var(f"c{k}") for k in range(len(view.shape))])
    assert not operations(found.linear) & {"//", "%"}
    assert not operations(found.bit) & {"//", "%"}


def test_a_digit_sum_below_the_radix_is_not_divided() -> None:
    view = Tensor("T", (2, 2, 4), "uint8", space="register", layout="S[(2,8):(1@warpid,1@laneid)]")
    found = trace(view).locate([var("a"), var("b"), var("c")])
    assert {name: str(value) for name, value in found.axes.items()} == {"warpid": "a", "laneid": "4*b + c"}


def test_known_ranges_of_symbols_save_divisions() -> None:
    view = Tensor("T", (4, 8), "uint8", space=SHARED, layout="S[(2,16):(100,1)]")[var("n") : var("n") + 1]
    assert "//" in operations(trace(view).locate([0, var("c")]).linear)
    assert "//" not in operations(trace(view, {"n": (0, 1)}).locate([0, var("c")]).linear)


def test_a_ring_stage_needs_no_range_as_its_term_shows_it() -> None:
    view = Tensor("T", (4, 64), "uint8", space=SHARED, layout="S[(2,2,64):(1000,64,1)]")[parse("i % 2") : parse("i % 2 + 1")]
    assert operations(trace(view).locate([0, var("c")]).linear) <= {"+", "*", "%", "var"}
    assert "//" not in operations(trace(view).locate([0, 5]).linear)


def test_the_two_spellings_of_one_view_give_one_term() -> None:
    tensor = Tensor("T", (16, 64), "float16", space=SHARED)
    a = tensor.rearrange("(a b) c -> b a c", a=4)
    b = tensor.reshape(4, 4, 64).permute(1, 0, 2)
    coords = [var("i"), var("j"), var("k")]
    assert trace(a).locate(coords) == trace(b).locate(coords)


def test_thread_axes_are_listed_only_where_written_effectively() -> None:
    layout = TileLayout(S[(1, 4, 8, 2) : (3 @ axis("warpid"), 0 @ axis("tx"), 1 @ axis("laneid"), 1)] + 2 @ axis("wgid"))
    found = trace(Tensor("T", (64,), "uint8", space="register", layout=layout)).locate([17])
    assert found.axes == {"laneid": 0, "wgid": 2}
    assert found.m == 1


def test_replicas_are_listed_and_do_not_move_the_location() -> None:
    layout = parse_layout("S[8:1@laneid] + R[(1,4,2,3):(5@warpid,8@laneid,0@tx,1@warpid)]")
    traced = trace(Tensor("T", (8,), "uint8", space="register", layout=layout))
    assert traced.replicas == (("laneid", 4, 8), ("warpid", 3, 1))
    assert traced.locate([3]).axes == {"laneid": 3}


def test_tensor_memory_columns_count_bits_of_the_dtype() -> None:
    traced = trace(Tensor("D", (128, 64), "float16", space="tmem", layout="S[(128,64):(1@TLane,2@TCol)] + 32@TCol"))
    found = traced.locate([5, 3])
    assert (found.axes, found.bit) == ({"TLane": 5, "TCol": 38}, 38 * 16)
    wide = trace(Tensor("A", (128, 64), "float16", space="tmem", layout="S[(128,64):(1@TLane,1@TCol)]").view("uint32"))
    assert wide.locate([5, 3]).bit == 3 * 32
    check = wide.retypes[0]
    assert (check.axes_of([5, 3], 1), check.bit_of([5, 3], 1)) == ({"TLane": 5}, 7 * 16)


def test_slices_report_begin_extent_and_limit_of_every_axis_not_kept_whole() -> None:
    view = Tensor("T", (16, var("n"), 4), "uint8").sub([var("i"), 3, 0], [2, None, None])
    checks = trace(view).slices
    assert [(one.step, one.axis, str(one.begin), str(one.extent), str(one.limit)) for one in checks] == [
        (0, 0, "i", "2", "16"),
        (0, 1, "3", "n", "n"),
    ]
    assert view.shape == (2, var("n"), 4)


@pytest.mark.parametrize(
    ("shape", "old", "new", "words"),
    [
        ((4, 3), "float16", "uint32", "no multiple of 2"),
        ((4, 4), "float6_e2m3fn", "uint8", "without splitting bits"),
        ((4, 4), "uint8", "float6_e2m3fn", "without splitting bits"),
        ((), "uint8", "uint16", "no last axis"),
    ],
)
def test_a_retype_without_a_shape_is_a_refusal_and_no_error(shape: tuple[int, ...], old: str, new: str, words: str) -> None:
    view = Tensor("T", shape, old, space=SHARED).view(new)
    assert words in str(trace(view).refusal)
    assert not trace(view).retypes[0].whole
    assert len(trace(view.reshape(7)).shape) <= 2
    trace(view).locate([0] * len(view.shape))


def test_a_retype_of_a_symbolic_extent_asks_for_divisibility() -> None:
    n = var("n")
    assert str(trace(Tensor("T", (4, n), "float16").view("uint32")).retypes[0].divisible) == "n % 2 == 0"
    even = trace(Tensor("T", (4, 2 * n), "float16").view("uint32"))
    assert (even.retypes[0].divisible, even.shape) == (True, (4, n))


def test_narrowing_asks_for_stride_one_before_the_swizzle() -> None:
    chunked = Tensor("T", (8, 64), "float16", space=SHARED, layout="Swizzle(3,3,3) o S[(8,64):(64,1)]").view("uint8")
    check = trace(chunked).retypes[0]
    assert (check.domain, check.widens) == ((8, 63), False)
    assert all(check.bit_of([r, c], 1) == check.bit_of([r, c], 0) + 16 for r in range(8) for c in range(63))
    strided = trace(Tensor("T", (8,), "float16", space=SHARED, layout="S[8:2]").view("uint8")).retypes[0]
    assert strided.bit_of([0], 1) != strided.bit_of([0], 0) + 16
    single = trace(Tensor("T", (8, 1), "float16", space=SHARED, layout="S[8:2]").view("uint8")).retypes[0]
    assert single.trivial


def test_a_dtype_view_scales_with_the_swizzle() -> None:
    half = Tensor("T", (8, 64), "float16", space=SHARED, layout="Swizzle(3,3,3) o S[(8,64):(64,1)]").view("uint32")
    word = trace(Tensor("T", (8, 32), "uint32", space=SHARED, layout="Swizzle(2,3,3) o S[(8,32):(32,1)]"))
    for r, c in cartesian(range(8), range(32)):
        assert trace(half).locate([r, c]).bit == word.locate([r, c]).bit


def test_the_number_of_coordinates_is_checked() -> None:
    with pytest.raises(InputError, match="found 1 coordinates, expected 2"):
        trace(Tensor("T", (2, 2), "uint8")).locate([0])


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 60))
def test_view_steps_survive_json(seed: int) -> None:
    view = random_case(random.Random(seed), tame=False).view
    assert tuple(step_from_json(step.to_json(), "$") for step in view.steps) == view.steps
    assert {type(step) for step in view.steps} <= {Slice, Permute, Rearrange, Reshape, Retype, Broadcast}
