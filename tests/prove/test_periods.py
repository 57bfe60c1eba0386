"""A symbol that matters modulo a period: a question has the same answer one period further, and the values left hold the least of each residue."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilecheck.prove.obligation import Obligation, Variable
from tilecheck.prove.periods import LONGEST, shortened
from tilecheck.prove.tiers import Tiers
from tilecheck.symbolic import terms
from tilecheck.symbolic.parse import parse
from tilecheck.symbolic.terms import evaluate, var

INT64 = -(1 << 63), (1 << 63) - 1
N = Variable("n", "symbol", None, None)
LEAVES = st.sampled_from(["n", "w", "3", "-5", "16"])


def grown(inner):
    numbers = st.sampled_from(["1", "2", "3", "4", "6", "7", "8", "12"])
    return st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "^", "&", "|"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, st.sampled_from(["%", "%", "%", "//", ">>", "<<", "&", "*"]), numbers).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, st.sampled_from(["min", "max", "tdiv", "tmod"]), numbers).map(lambda t: f"{t[1]}({t[0]}, {t[2]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"select({t[0]} < {t[1]}, {t[1]}, {t[2]})"),
    )


EXPRESSIONS = st.recursive(LEAVES, grown, max_leaves=8)


@settings(max_examples=600, deadline=None)
@given(EXPRESSIONS, st.integers(-200, 200), st.integers(-5, 5), st.integers(-3, 3))
def test_a_term_is_the_same_one_period_further(text, n, w, times):
    term = terms.eq(parse(text), 1)
    if isinstance(term, int):
        return
    (short,) = shortened((N,), (), (term,), INT64)
    if short is N:
        return
    period = short.high
    assert 0 < period <= LONGEST
    assert evaluate(term, {"n": n, "w": w}) == evaluate(term, {"n": n + times * period, "w": w})


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("n % 4", 4),
        ("(n + w) % 5", 5),
        ("8 * (n % 8)", 8),
        ("(6 * n) % 8", 4),
        ("(n // 3) % 4", 12),
        ("(n >> 2) & 3", 16),
        ("n & 6", 8),
        ("(n * n) % 6", 6),
        ("n % 4 + n % 6", 12),
        ("(n % 4) ^ w", 4),
        ("((n ^ w) + 2 * n) % 8", 8),
        ("min(n % 4, 2)", 4),
        ("select(n % 2 < w, n % 3, w)", 6),
    ],
)
def test_the_period_of(text, period):
    (short,) = shortened((N,), (), (terms.eq(parse(text), var("w")),), INT64)
    assert (short.low, short.high) == (-period, period)


@pytest.mark.parametrize(
    "text",
    ["n", "n + n % 4", "n // 4", "n >> 2", "tmod(n, 4)", "n % w", "n % -4", "n & -4", "w % n", "min(n, 4)", "(n ^ w) % 6", "n % 65537"],
)
def test_no_period_of(text):
    assert shortened((N,), (), (terms.eq(parse(text), var("w")),), INT64) == (N,)


@pytest.mark.parametrize(
    ("low", "high", "step", "expected"),
    [
        (0, 1000, 1, (0, 4)),
        (-2, 1000, 1, (-2, 4)),
        (10, 1000, 1, (10, 14)),
        (-1000, -10, 1, (-14, -10)),
        (0, 1000, 6, (0, 12)),
        (0, 7, 1, (0, 7)),
    ],
)
def test_the_values_nearest_to_0_are_kept(low, high, step, expected):
    variable = Variable("n", "symbol", low, high, step)
    (short,) = shortened((variable,), (), (terms.eq(parse("n % 4"), 1),), INT64)
    assert (short.low, short.high) == expected


@settings(max_examples=150, deadline=None)
@given(
    st.integers(-60, 60), st.integers(0, 120), st.integers(1, 3), st.integers(2, 7), st.integers(2, 7), st.integers(0, 6), st.integers(0, 6)
)
def test_the_least_counterexample_is_among_the_values_left(low, size, step, c, d, a, b):
    """Over n and m, against a look at all their values."""
    variables = (Variable("n", "symbol", low, low + size, step), Variable("m", "symbol", -30, 30))
    goal = terms.negate(
        terms.conj(terms.eq(terms.mod(terms.add(var("n"), var("m")), c), a), terms.eq(terms.mod(terms.mul(3, var("n")), d), b))
    )
    found = Tiers(INT64, solver=False).decide(Obligation(variables, True, goal))
    failing = ({"n": n, "m": m} for n in variables[0].ordered() for m in variables[1].ordered() if not evaluate(goal, {"n": n, "m": m}))
    assert found.witness == next(failing, None)


def test_a_fact_about_the_symbol_itself_keeps_its_range():
    premise = terms.le(7, var("n"))
    found = Tiers(INT64).decide(Obligation((N,), premise, terms.ne(terms.mod(var("n"), 4), 1)))
    assert found.witness == {"n": 9}


def test_an_unbounded_ring_stage_is_enumerated():
    found = Tiers(INT64, solver=False).decide(Obligation((N,), True, parse("(3 * (n % 5)) ^ 1 != 9", truth=True)))
    assert found.holds is True


def test_unsigned_indices_stay_so():
    found = Tiers((0, (1 << 32) - 1), solver=False).decide(Obligation((N,), True, terms.ne(terms.mod(var("n"), 4), 3)))
    assert found.witness == {"n": 3}


def test_a_comparison_in_the_goal_is_no_fact():
    """n <= 5 asked, not known: 6 is a counterexample, whatever n % 4 is asked too."""
    goal = terms.disj(terms.le(var("n"), 5), terms.ne(terms.mod(var("n"), 4), 2))
    assert Tiers(INT64).decide(Obligation((N,), True, goal)).witness == {"n": 6}
    assert Tiers(INT64).decide(Obligation((N,), True, terms.le(var("n"), 5))).witness == {"n": 6}


def test_a_comparison_among_the_facts_is_part_of_the_range():
    fact = terms.conj(terms.lt(var("n"), (1 << 63) - 8), terms.le(100, var("n")))
    (short,) = shortened((N,), (fact,), (terms.eq(terms.mod(var("n"), 7), 1),), INT64)
    assert (short.low, short.high) == (100, 107)
    found = Tiers(INT64, solver=False).decide(Obligation((N,), fact, terms.ne(terms.mod(var("n"), 7), 1)))
    assert found.witness == {"n": 106}
