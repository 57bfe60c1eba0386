"""Span, equality and injectivity, against enumeration."""

from __future__ import annotations

import random
import time
from itertools import product as cartesian

import plain_model as model
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilecheck.errors import InputError
from tilecheck.layout import ComposeLayout, Iter, Layout, TileLayout, parse_layout
from tilecheck.layout.exact import equal, injective
from tilecheck.layout.span import limits, span
from tilecheck.layout.tile import base_tile, swizzles

SEEDS = st.integers(0, 1 << 60)
MANY = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
P = parse_layout


def random_layout(rng: random.Random, total: int, *, chained: bool = True) -> Layout:
    extents = rng.choice(model.factorisations(total)) if total > 1 else (1,)
    wide = rng.random() < 0.5
    running = 1
    factors = []
    for extent in reversed(extents):
        stride = running if rng.random() < 0.6 else rng.randint(-9, 40) if wide else rng.randint(0, 6)
        running *= extent
        factors.append(Iter(extent, stride, rng.choice(["m", "m", "m", "laneid"])))
    rng.random() < 0.3 and rng.shuffle(factors)
    replica = [Iter(rng.randint(1, 3), rng.randint(-4, 40), rng.choice(["m", "laneid"])) for _ in range(rng.choice([0, 0, 0, 1, 2]))]
    layout: Layout = TileLayout(factors[::-1], replica, {"m": rng.choice([0, 0, 5, 8, -3])})
    for _ in range(rng.choice([0, 1, 1, 2]) if chained else 0):
        length = rng.randint(0, 3)
        layout = ComposeLayout(rng.randint(0, 3), length, rng.randint(length, 4), layout, rng.random() < 0.6)
    return layout


def number(value: object) -> int:
    assert isinstance(value, int)
    return value


def images(layout: Layout) -> list[frozenset[tuple[int, int]]]:
    """For every index the set of its (laneid, m)."""
    base = base_tile(layout)
    factors = [(number(one.extent), number(one.stride), one.axis) for one in base.shard]
    replica = [(number(one.extent), number(one.stride), one.axis) for one in base.replica]
    chain = [(one.per_element, one.swizzle_len, one.atom_len, one.swizzle_inner) for one in swizzles(layout)]
    offset = {name: number(value) for name, value in base.offset}
    found = []
    for digits in cartesian(*(range(extent) for extent, _, _ in factors)):
        places = set()
        for copies in cartesian(*(range(extent) for extent, _, _ in replica)):
            value = {"m": offset.get("m", 0), "laneid": offset.get("laneid", 0)}
            for digit, (_, stride, axis) in zip((*digits, *copies), (*factors, *replica), strict=True):
                value[axis] += digit * stride
            m = value["m"]
            for one in chain:
                m = model.swizzle(m, one)
            places.add((value["laneid"], m))
        found.append(frozenset(places))
    return found


def total_of(rng: random.Random) -> int:
    return rng.choice([1, 2, 4, 6, 8, 12, 24, 32, 48, 64, 96])


@MANY
@given(SEEDS)
def test_the_span_is_the_largest_place_plus_one(seed: int) -> None:
    rng = random.Random(seed)
    layout = random_layout(rng, total_of(rng))
    places = [place for image in images(layout) for place in image]
    assert span(layout, "m") == max(m for _, m in places) + 1
    assert span(layout, "laneid") == max(lane for lane, _ in places) + 1
    assert limits(layout, "laneid")[0] == min(lane for lane, _ in places)


@MANY
@given(SEEDS)
def test_injective_means_that_no_two_elements_share_a_place(seed: int) -> None:
    rng = random.Random(seed)
    layout = random_layout(rng, total_of(rng))
    found = images(layout)
    assert injective(layout) is (sum(map(len, found)) == len(frozenset().union(*found)))


@MANY
@given(SEEDS)
def test_equal_means_the_same_places_for_every_index(seed: int) -> None:
    rng = random.Random(seed)
    total = total_of(rng)
    a = random_layout(rng, total)
    b = random_layout(random.Random(seed), total) if rng.random() < 0.2 else random_layout(rng, total)
    if rng.random() < 0.5:
        b = a
        for _ in range(rng.choice([0, 1])):
            b = ComposeLayout(rng.randint(0, 5), 1, rng.randint(1, 5), b)
    assert equal(a, b) is (images(a) == images(b))


@pytest.mark.parametrize(
    ("layout", "answer"),
    [
        ("S[(2,4):(3,2)]", True),
        ("S[(2,4):(2,2)]", False),
        ("S[(3,4):(1,3)]", True),
        ("S[(2,4):(4,1)] + R[2:1]", False),
        ("S[(2,4):(4,1)] + R[2:8]", True),
        ("S[(2,4):(4,1)] + R[2:0]", True),
        ("S[(2,1):(4,0)]", True),
        ("S[(2,2):(4,0)]", False),
        ("S[(4,32,4):(1@warpid,1@laneid,1)]", True),
        ("S[(4,32,4):(32@tx,1@tx,1)]", True),
        ("S[(4,32,4):(31@tx,1@tx,1)]", False),
        ("Swizzle(3,3,3) o S[(1024,64):(64,1)]", True),
        ("S[(100,101,103):(10403,10300,10100)]", True),
        ("S[(101,102,104):(10403,10300,10100)]", None),
        ("S[(1000000,1000000):(1000000,1)]", True),
        ("S[(n,4):(4,1)]", None),
        ("S[(n,4):(4,0)]", False),
    ],
)
def test_injectivity_of_known_layouts(layout: str, answer: bool | None) -> None:
    start = time.process_time()
    found = injective(P(layout))
    assert found is answer or (answer is None and found is not None and "n" not in layout)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        ("S[(2,3,4):(12,4,1)]", "S[24:1]", True),
        ("S[(2,3,4):(12,4,1)]", "S[24:1] + 1", False),
        ("S[(2,1,4):(4,9@laneid,1)]", "S[8:1]", True),
        ("S[(2,4):(0@laneid,1)]", "S[(2,4):(0,1)]", True),
        ("S[(2,4):(1@laneid,1)]", "S[(2,4):(1@warpid,1)]", False),
        ("S[8:1]", "S[4:1]", False),
        ("Swizzle(0,2,3) o S[8:1]", "S[8:1]", True),
        ("Swizzle(0,2,3) o S[16:1]", "S[16:1]", False),
        ("Swizzle(0,0,3) o S[16:1]", "S[16:1]", True),
        ("Swizzle(3,3,3) o S[(1048576,1048576):(1048576,1)]", "Swizzle(3,2,3) o S[1099511627776:1]", False),
        ("Swizzle(3,3,3) o Swizzle(3,3,3) o S[(1048576,1048576):(1048576,1)]", "S[1099511627776:1]", True),
        ("S[4:1] + R[(2,2):(4,8)]", "S[4:1] + R[4:4]", True),
        ("S[4:1] + R[(2,2):(8,4)]", "S[4:1] + R[4:-4] + 12", True),
        ("S[4:1] + R[(2,3):(2,1)]", "S[4:1] + R[(3,2):(1,2)]", True),
        ("S[4:1] + R[(2,3):(2,1)]", "S[4:1] + R[5:1]", True),
        ("S[4:1] + R[(2,3):(2,1)]", "S[4:1] + R[6:1]", False),
        ("S[(n,4):(4,1)]", "S[4*n:1]", True),
        ("S[(n,4):(4*k,k)]", "S[n*4:k]", True),
        ("S[(n,4):(4,1)]", "S[(m,4):(4,1)]", None),
    ],
)
def test_equality_of_known_layouts(a: str, b: str, answer: bool | None) -> None:
    start = time.process_time()
    assert equal(P(a), P(b)) is answer
    assert equal(P(b), P(a)) is answer
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("layout", "answer"),
    [
        ("Swizzle(3,3,3) o S[(1024,64):(64,1)]", 65536),
        ("Swizzle(3,3,3) o S[(1024,65536):(65536,1)] + 8", 67108864 + 8),
        ("Swizzle(3,3,3) o S[(1000000,1000000):(1000000,1)]", 10**12),
        ("Swizzle(0,3,3) o S[8:9]", 57),
        ("Swizzle(3,3,3) o S[(8,40):(64,1)]", 512),
        ("Swizzle(3,3,3) o S[(2,8):(64,1)]", 64 + 16),
        ("Swizzle(0,3,3,outer) o S[(1048576,64):(64,1)]", 1 << 26),
        ("Swizzle(30,3,3) o S[(1024,65536):(65536,1)] + 8", 67108864 + 8),
        ("S[4:-1] + 3", 4),
        ("S[4:-1]", 1),
        ("S[(4,8):(8,1)] + R[2:100]", 132),
        ("S[4:1@laneid]", 1),
    ],
)
def test_the_span_of_large_layouts_is_exact_and_quick(layout: str, answer: int) -> None:
    start = time.process_time()
    assert span(P(layout)) == answer
    assert time.process_time() - start < 0.5


def test_a_symbolic_span_is_a_term_and_rounds_up_under_a_swizzle() -> None:
    assert str(span(P("S[(n,4):(4,1)]"))) == "4*(n + (-1)) + 4"
    assert "<<" in str(span(P("Swizzle(3,3,3) o S[(n,64):(64,1)]")))


def test_a_span_that_takes_too_many_points_is_an_input_error() -> None:
    with pytest.raises(InputError, match="more than 1048576 points"):
        span(P("Swizzle(0,64,64) o S[1099511627776:1]"))
