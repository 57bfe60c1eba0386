"""A combination of symbols that the facts bound stands for them: what it proves holds, what it refutes is refuted at the least values."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilecheck.prove.combined import combined
from tilecheck.prove.obligation import Obligation, Variable
from tilecheck.prove.tiers import Tiers
from tilecheck.symbolic import evaluate, parse, terms

INT64 = -(1 << 63), (1 << 63) - 1
FIRST, SECOND = (Variable(name, "symbol", None, None) for name in "ij")
W = Variable("w", "atom", 0, 5)


def obligation(premise: str, goal: str, *variables: Variable) -> Obligation:
    return Obligation(variables or (FIRST, SECOND, W), parse(premise, truth=True), parse(goal, truth=True))


@pytest.mark.parametrize(
    ("premise", "form", "low", "high"),
    [
        ("i >= j and i - j <= 1", (("i", 1), ("j", -1)), 0, 1),
        ("i < j + 5 and j < i", (("i", 1), ("j", -1)), 1, 4),
        ("2 * i + 3 <= 2 * j and 2 * j <= 2 * i + 9", (("i", 1), ("j", -1)), -4, -2),
        ("not (i + j < 2) and not (7 <= i + j)", (("i", 1), ("j", 1)), 2, 6),
        ("3 * j - 2 * i >= 0 and 3 * j - 2 * i <= 8", (("i", 2), ("j", -3)), -8, 0),
        ("i == j + 3", (("i", 1), ("j", -1)), 3, 3),
    ],
)
def test_the_bounds_of_a_combination(premise, form, low, high):
    goal = " + ".join(f"{factor} * {name}" for name, factor in form)
    found = combined(obligation(premise, f"16 * (4 * w + {goal}) % 7 != 1"))
    assert found is not None
    assert (found.form, found.low, found.high) == (form, low, high)


@pytest.mark.parametrize(
    ("premise", "goal"),
    [
        ("i >= j", "(i - j) % 7 < 9"),
        ("i >= j and i - j <= 1", "(i - j + i) % 7 < 9"),
        ("i >= j and i - j <= 1", "(i - 2 * j) % 7 < 9"),
        ("i >= j and i <= 3", "(i - j) % 7 < 9"),
    ],
)
def test_no_combination(premise, goal):
    assert combined(obligation(premise, goal)) is None


XORED = "((20 * w + 40 * (i - j) >> 6 & 7) << 2 ^ 20 * w + 40 * (i - j)) < {}"


def test_an_xor_of_a_difference_is_decided():
    """z3 gives up on 64 bits of either symbol under an XOR."""
    tiers = Tiers(INT64)
    assert tiers.decide(obligation("i >= j and i - j <= 1", XORED.format(200))).holds is True
    found = tiers.decide(obligation("i >= j and i - j <= 1", XORED.format(130)))
    assert found.witness == {"i": 0, "j": -1, "w": 5}


@settings(max_examples=120, deadline=None)
@given(
    st.integers(-4, 4),
    st.integers(0, 4),
    st.sampled_from([(1, -1), (1, 1), (2, -1), (1, -3)]),
    st.integers(0, 120),
    st.sampled_from([3, 8, 20]),
)
def test_the_outcome_is_that_of_every_value(low, size, factors, limit, stride):
    a, b = factors
    sum_ = f"({a} * i + {b} * j)"
    premise = f"{low} <= {sum_} and {sum_} <= {low + size} and i <= 9"
    goal = f"(({stride} * w + 8 * {sum_}) ^ 5) < {limit}"
    asked = obligation(premise, goal)
    found = Tiers(INT64).decide(asked)
    order = sorted(range(-14, 15), key=lambda value: (abs(value), value < 0))
    values = ({"i": i, "j": j, "w": w} for i in order for j in order for w in range(6))
    failing = next((v for v in values if evaluate(asked.premise, v) and not evaluate(asked.goal, v)), None)
    assert found.holds is (failing is None)
    assert found.witness == failing


def test_what_no_values_of_the_symbols_reach_is_not_refuted():
    """4 * i - 2 * j is even: the combination 2 * i - j takes every value, a further fact makes it even."""
    premise = "0 <= 2 * i - j and 2 * i - j <= 3 and j % 2 == 0"
    goal = "((2 * i - j) ^ 1) != 2"  # fails at 3 alone
    assert Tiers(INT64).decide(obligation(premise, goal, FIRST, SECOND)).holds is True
    assert terms.variables(combined(obligation(premise, goal, FIRST, SECOND)).obligation.premise) <= {"@sum"}
