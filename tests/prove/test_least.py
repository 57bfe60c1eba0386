"""The least assignment of conditions, against every assignment tried one by one in the order of counterexamples."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilecheck.prove import smt
from tilecheck.prove.enumeration import least
from tilecheck.prove.obligation import Obligation, Variable
from tilecheck.prove.tiers import RLIMIT
from tilecheck.symbolic import evaluate, parse, terms
from tilecheck.symbolic.terms import var

SYMBOLS = [*sorted(range(-9, 10), key=lambda value: (abs(value), value < 0))]


def conditions(rng: random.Random) -> list[str]:
    """Conditions that name one, two or three variables, some never true, some undefined at places."""
    plain = ["i == 3", "i >= 2", "j < 0", "lane == 5", "lane < 3", "i % 4 == 2", "not (i == 0)", "lane >= 1"]
    mixed = ["i + j == 4", "lane == i", "j * i > 6", "(i ^ j) == 1", "i // j == 2", "1 << j == 4", "lane % 3 == j", "i + lane > 9"]
    return rng.sample(plain, rng.randint(0, 3)) + rng.sample(mixed, rng.randint(0, 2))


def brute(variables: list[Variable], texts: list[str]) -> dict[str, int] | None:
    parts = [parse(text, truth=True) for text in texts]
    orders = [SYMBOLS if v.role == "symbol" else range(v.low or 0, (v.high or 0) + 1) for v in variables]
    for values in product(*([x for x in order if (v.low or 0) <= x <= (v.high or 0)] for v, order in zip(variables, orders, strict=True))):
        point = {v.name: value for v, value in zip(variables, values, strict=True)}
        if all(evaluate(part, point) for part in parts):
            return point
    return None


@pytest.mark.parametrize("seed", range(300))
def test_the_least_assignment_is_the_first_that_satisfies_all(seed: int):
    rng = random.Random(seed)
    low = rng.choice((-9, 0, 1, 2))
    variables = [Variable("i", "symbol", low, rng.randint(max(low, 2), 9)), Variable("j", "symbol", -3, 5), Variable("lane", "lane", 0, 7)]
    texts = [text for text in conditions(rng) if "//" not in text and "<<" not in text]
    assert least(variables, tuple(parse(text, truth=True) for text in texts)) == brute(variables, texts)


def test_a_symbol_without_bounds_is_0_unless_a_condition_says_otherwise():
    n, m = Variable("n", "symbol", None, None), Variable("m", "symbol", None, None, step=4)
    assert least((n, m), ()) == {"n": 0, "m": 0}
    assert least((n, m), (parse("n > 2", truth=True), parse("m > n", truth=True))) == {"n": 3, "m": 4}


def test_where_the_first_values_are_undefined_others_are_tried():
    n = Variable("n", "symbol", 0, 8)
    assert least((n,), (parse("8 // n == 2", truth=True),)) == {"n": 3}
    assert least((n,), (parse("n > 8", truth=True),)) is None


@settings(max_examples=60, deadline=None)
@given(st.integers(-3, 2), st.integers(0, 6), st.integers(-9, 9), st.integers(2, 9), st.booleans())
def test_few_values_of_a_multiplied_symbol_are_asked_one_by_one(low, size, target, modulus, second):
    """Over n and m, n with few values, in either order, against a look at all their values."""
    n, m = Variable("n", "symbol", low, low + size), Variable("m", "symbol", -40, 40)
    variables = (m, n) if second else (n, m)
    product = terms.mul(terms.floordiv(terms.add(var("n"), 1), 2), var("m"))
    goal = terms.disj(terms.ne(terms.mod(terms.add(product, var("m")), modulus), 1), terms.lt(product, target))
    found = smt.decide(Obligation(variables, True, goal), RLIMIT)
    values = ({a.name: x, b.name: y} for a, b in [variables] for x in a.ordered() for y in b.ordered())
    failing = next((v for v in values if not evaluate(goal, v)), None)
    assert found.holds is (failing is None)
    assert found.witness == failing


def test_a_case_that_no_fact_admits_needs_no_value():
    """A shift by n - 1 has no value at n = 0, where the premise does not hold."""
    n, m = Variable("n", "symbol", 0, 3), Variable("m", "symbol", 0, 9)
    goal = terms.ne(parse("m >> (n - 1)"), 2)
    found = smt.decide(Obligation((n, m), terms.le(1, var("n")), goal), RLIMIT)
    assert found.witness == {"n": 1, "m": 2}
