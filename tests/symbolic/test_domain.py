"""The domain: intervals and congruences hold of every value, and say enough to be of use."""

from __future__ import annotations

import pytest
from expression_texts import NAMES, SETTINGS, conditions, integers
from hypothesis import given
from hypothesis import strategies as st

from tilecheck.symbolic import evaluate, parse
from tilecheck.symbolic.domain import Known, joined, known, met, ranged, stays_inside, truth
from tilecheck.symbolic.terms import normal

UNDEFINED = (ZeroDivisionError, OverflowError, ValueError)


@st.composite
def environments(draw):
    """What is known of each name, and a value that keeps to it."""
    env, values = {}, {}
    for name in NAMES:
        step, low, count = draw(st.sampled_from([1, 1, 2, 3, 4, 8])), draw(st.integers(-40, 40)), draw(st.integers(0, 40))
        env[name] = ranged(low, low + step * count + draw(st.integers(0, step - 1)), step)
        first = low + -low % step
        values[name] = first + step * draw(st.integers(0, max(0, (env[name].high - first) // step)))
        if not low <= values[name] <= env[name].high:
            env[name], values[name] = ranged(0, 0), 0
    return env, values


def holds(one: Known, value: int) -> bool:
    return one.low <= value <= one.high and (value == one.residue if one.modulus == 0 else (value - one.residue) % one.modulus == 0)


@SETTINGS
@given(integers(), environments())
def test_what_is_known_of_a_term_holds_of_its_value(text, given_values):
    env, values = given_values
    for term in (parse(text), normal(parse(text))):
        try:
            value = evaluate(term, values)
        except UNDEFINED:
            return
        if stays_inside(parse(text), env, -(1 << 200), 1 << 200, {}):  # every divisor is positive, every shift amount one
            assert holds(known(term, env), value)


@SETTINGS
@given(conditions(), environments())
def test_a_condition_decided_by_the_domain_is_decided_right(text, given_values):
    env, values = given_values
    term = parse(text, truth=True)
    answer = truth(term, env)
    if answer is not None and stays_inside(term, env, -(1 << 200), 1 << 200, {}):
        assert bool(evaluate(term, values)) is answer


@SETTINGS
@given(integers(), environments())
def test_a_term_that_stays_inside_has_no_intermediate_value_outside(text, given_values):
    env, values = given_values
    term = parse(text)
    if stays_inside(term, env, -1000, 1000, {}):
        assert -1000 <= evaluate(term, values) <= 1000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8 * (n % 8)", (0, 56, 8, 0)),
        ("4 * i + 64 * (n % 4)", (0, 204, 4, 0)),
        ("(n // 4) * 4 + 2", (2, 1_000_002, 4, 2)),
        ("(8 * i) // 4", (0, 6, 2, 0)),
        ("(8 * n + 3) % 8", (3, 3, 0, 3)),
        ("(4 * n) ^ (4 * i)", (0, 4_194_303 - 3, 4, 0)),
        ("n & 0xFFF8", (0, 65_528, 8, 0)),
        ("(n << 3) >> 1", (0, 4_000_000, 4, 0)),
        ("select(i > 1, 6, 10)", (6, 10, 4, 2)),
        ("min(4 * i, 8)", (0, 8, 4, 0)),
        ("n - 3 * (n // 3)", (0, 2, 1, 0)),
        ("5 + 4 * n - n // 3 * 12", (5, 13, 4, 1)),
        ("n - n // 3 * 3 + 2 * i - 10 * (i // 5)", (0, 8, 1, 0)),
        ("3 * (n // 3) - n", (-2, 0, 1, 0)),
    ],
)
def test_a_usual_start_is_known_exactly_enough(text, expected):
    found = known(normal(parse(text)), {"n": ranged(0, 1_000_000), "i": ranged(0, 3)})
    assert (found.low, found.high, found.modulus, found.residue) == expected


def test_bounds_are_cut_to_the_congruence():
    assert (ranged(1, 10, 4).low, ranged(1, 10, 4).high) == (4, 8)
    assert met(ranged(0, 100, 8), 9, 17) == Known(16, 16, 0, 16)
    assert joined(ranged(4, 4), ranged(10, 10)) == Known(4, 10, 6, 4)


@pytest.mark.parametrize("weight", [1, -2, 4])
@pytest.mark.parametrize("divisor", [2, 3, 8])
def test_what_a_quotient_leaves_is_a_remainder(weight, divisor):
    term = normal(parse(f"7 + {weight} * n - {weight * divisor} * (n // {divisor}) + i"))
    one = known(term, {"n": ranged(-40, 40), "i": ranged(0, 3)})
    assert one.high - one.low == abs(weight) * (divisor - 1) + 3
    assert all(holds(one, evaluate(term, {"n": n, "i": i})) for n in range(-40, 41) for i in range(4))
