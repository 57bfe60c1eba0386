"""The polynomial tier: it proves what SymPy's expansion proves, and nothing else."""

from __future__ import annotations

import re
from math import gcd

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from tilecheck.prove import polynomial
from tilecheck.prove.obligation import Obligation, Variable
from tilecheck.prove.tiers import Tiers
from tilecheck.symbolic import evaluate, parse
from tilecheck.symbolic.terms import eq, mod

NAMES = ("a", "b", "n")
VARIABLES = (Variable("a", "atom", 0, 3), Variable("b", "symbol", -9, 40), Variable("n", "symbol", 0, 40, 4))
STEPS = {"n": 4}
TEXTS = st.recursive(
    st.sampled_from(NAMES) | st.integers(-8, 8).map(lambda n: f"({n})"),
    lambda inner: st.tuples(inner, st.sampled_from("+-**"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
    max_leaves=8,
)


def coefficients(text: str) -> list[int]:
    """Of SymPy's expansion, n being four times a number."""
    found = {name: sympy.Symbol(name, integer=True) for name in NAMES}
    return [int(c) for c in sympy.Poly(sympy.sympify(text, locals=found | {"n": 4 * found["n"]}), *found.values()).coeffs()]


@settings(deadline=None, max_examples=300)
@given(TEXTS, st.sampled_from([2, 3, 4, 8, 16]))
def test_a_multiple_is_proved_where_it_divides_the_coefficients(text, modulus):
    goal = eq(mod(parse(text), modulus), 0)
    expected = gcd(*coefficients(text)) % modulus == 0
    if polynomial.applies(goal):
        assert polynomial.proves(Obligation(VARIABLES, True, goal)) == expected


@settings(deadline=None, max_examples=300)
@given(TEXTS, TEXTS, st.booleans())
def test_an_identity_is_proved_where_the_difference_is_zero(left, right, same):
    if same:  # a power has no operator here
        right = re.sub(r"(\w)\*\*(\d+)", lambda power: "*".join([power[1]] * int(power[2])), str(sympy.expand(sympy.sympify(left))))
    goal = eq(parse(left), parse(right))
    if polynomial.applies(goal):
        assert polynomial.proves(Obligation(VARIABLES, True, goal)) == (coefficients(f"{left} - ({right})") == [0])


@settings(deadline=None, max_examples=200)
@given(TEXTS, TEXTS, st.sampled_from([2, 4, 6, 8]), st.data())
def test_what_it_proves_holds_of_every_value(left, right, modulus, data):
    for goal in (eq(mod(parse(f"{left} // 3 * 8 + {right}"), modulus), 0), eq(parse(left), parse(right))):
        if polynomial.proves(Obligation(VARIABLES, True, goal)):
            values = {v.name: data.draw(st.sampled_from(list(v.ordered())[:40])) for v in VARIABLES}
            assert evaluate(goal, values)


@pytest.mark.parametrize(
    ("text", "tier"),
    [
        ("(a * n + 8 * b) % 4 == 0", "polynomial"),
        ("(a + 1) * b == a * b + b", "polynomial"),
        ("n % 4 == 0", "domain"),
        ("a * b % 5 < 5", "domain"),
    ],
)
def test_products_of_symbols_are_its_own(text, tier):
    outcome = Tiers((-(1 << 63), (1 << 63) - 1)).decide(Obligation(VARIABLES, True, parse(text, truth=True)))
    assert (outcome.holds, outcome.reason) == (True, tier)
