"""The canonical form of a view against its trace and against the plain model."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product as cartesian
from math import prod

import plain_model as model
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_layout_trace import Case, random_case, retype_holds, value_of

from tilecheck.layout import Tensor, View, trace
from tilecheck.layout.axes import STORAGE
from tilecheck.layout.strided import Axis, Strided, coalesced, injective, strided
from tilecheck.symbolic.domain import Known, constant, ranged
from tilecheck.symbolic.parse import parse
from tilecheck.symbolic.terms import Term


def same(term: Term) -> Term:
    return term


def placed(form: Strided, start: int, coords: Sequence[int]) -> dict[str, int]:
    """The axes of an element, `start` being the bit of the first."""
    found = {STORAGE: start, **form.other}
    for axis, coordinate in zip(form.axes, coords, strict=True):
        left = coordinate
        for extent, name, stride in reversed(axis):
            if stride:  # a stride of 0 writes no axis
                found[name] = found.get(name, 0) + left % extent * stride
            left //= extent
        assert left == 0
    return found


def formed(case: Case) -> Strided | None:
    return strided(trace(case.view), same, {name: constant(value) for name, value in case.values.items()})


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 60), st.booleans())
def test_every_element_lies_where_the_canonical_form_says(seed: int, tame: bool) -> None:
    rng = random.Random(seed)
    case = random_case(rng, tame=tame)
    form, traced = formed(case), trace(case.view)
    if form is None:
        return
    assert all(retype_holds(traced, case, k) for k in range(len(traced.retypes)))
    assert form.bits == case.bits
    assert form.start.modulus == 0
    for coords in rng.sample(sorted(case.cells), min(len(case.cells), 24)):
        place = traced.locate(coords)
        found = placed(form, form.start.residue, coords)
        assert found.pop(STORAGE) == value_of(place.plain_bit, case.values)
        assert found == {name: value_of(value, case.values) for name, value in place.axes.items()}  # which axes are written, too
        if form.fine:
            assert (value_of(place.bit, case.values) - value_of(place.plain_bit, case.values)) % form.fine == 0
    low, high = form.ends()
    bits = [value_of(traced.locate(coords).plain_bit, case.values) for coords in sorted(case.cells)]
    assert low <= min(bits)
    assert max(bits) <= high


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 60))
def test_most_tame_views_have_one(seed: int) -> None:
    """Abstaining everywhere would pass the test above; here compact tensors under permutes, joins and whole slices must not."""
    rng = random.Random(seed)
    shape = [rng.choice([2, 4, 8]) for _ in range(3)]
    view = View(Tensor("T", shape, "uint8", space="shared")).permute(*rng.sample(range(3), 3)).reshape(*[prod(shape)])
    view = view.reshape(*rng.choice(model.factorisations(prod(shape))))
    assert strided(trace(view), same, {}) is not None


def view_of(*steps: str) -> View:
    view = View(Tensor("A", (64, 64), "float16", "shared", "Swizzle(3,3,3) o S[(64,64):(64,1)]"))
    for step in steps:
        view = view.view(step) if step.startswith("uint") else view.sub([0, parse(step)], [16, 16])
    return view


@pytest.mark.parametrize(
    ("begin", "low", "high", "modulus"),
    [("8 * (n % 8)", 0, None, None), ("16 * i", 0, 48 * 16, 256), ("min(i, 3) * 8", 0, 24 * 16, 128), ("48", 48 * 16, 48 * 16, 0)],
)
def test_a_symbolic_start_keeps_its_range_and_its_multiple(begin: str, low: int, high: int | None, modulus: int | None) -> None:
    form = strided(trace(view_of(begin)), same, {"n": ranged(0, 1 << 40), "i": ranged(0, 3)})
    if high is None:
        assert form is None  # 8 * 7 + 16 leaves the axis
    else:
        assert form is not None
        assert (form.start.low, form.start.high, form.start.modulus) == (low, high, modulus)


@pytest.mark.parametrize("begin", ["i", "2 * i", "16 * i + 1"])
def test_words_that_a_start_may_split_have_no_form(begin: str) -> None:
    assert (strided(trace(view_of(begin, "uint32")), same, {"i": ranged(0, 2)}) is None) == (begin != "2 * i")


@given(st.lists(st.tuples(st.integers(2, 4), st.integers(-20, 20)), max_size=4), st.integers(1, 4))
def test_an_injective_sum_never_overlaps(factors: list[tuple[int, int]], width: int) -> None:
    starts = sorted(
        sum(d * stride for d, (_, stride) in zip(digits, factors, strict=True)) for digits in cartesian(*(range(e) for e, _ in factors))
    )
    overlap = any(b - a < width for a, b in zip(starts, starts[1:], strict=False))
    if injective(factors, width):
        assert not overlap


@given(st.lists(st.tuples(st.integers(2, 4), st.just(STORAGE), st.integers(-6, 6)), max_size=4))
def test_coalescing_keeps_every_place(factors: Axis) -> None:
    def places(some: Axis) -> list[int]:
        return [sum(d * s for d, (_, _, s) in zip(digits, some, strict=True)) for digits in cartesian(*(range(e) for e, _, _ in some))]

    assert places(factors) == places(tuple(coalesced(factors)))


def test_a_known_start_is_a_known_number() -> None:
    assert constant(5) == Known(5, 5, 0, 5)


def test_an_axis_that_a_slice_cuts_to_one_coordinate_is_written_all_the_same() -> None:
    view = View(Tensor("R", (2, 32), "uint32", "register", "S[(2,32):(1@warpid,1@laneid)] + -1@warpid")).sub([1, 0], [1, 32])
    form = strided(trace(view), same, {})
    assert form is not None
    assert form.other == {"warpid": 0, "laneid": 0}
    assert not form.storage_only
