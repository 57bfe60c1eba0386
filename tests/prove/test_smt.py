"""Least counterexamples of the solver: small where brute force over small ranges says what is least."""

from __future__ import annotations

import pytest

from tilecheck.prove import smt
from tilecheck.prove.obligation import Obligation, Variable
from tilecheck.prove.tiers import RLIMIT
from tilecheck.symbolic import evaluate, parse

INDEX = (-(1 << 63), (1 << 63) - 1)
UNBOUNDED = tuple(Variable(name, "symbol", *INDEX) for name in ("i", "j"))


def order(value: int) -> tuple[int, bool]:
    return abs(value), value < 0


@pytest.mark.parametrize(
    ("premise", "goal"),
    [
        ("j != 0 and i >= 0", "i // j * j == i"),
        ("j > 4", "i * j % 8 == 0"),
        ("i * j > 20", "i < 3"),
        ("i > 3", "i << j != 80"),
        ("j > 1 and i % 5 == 3", "i % j != 1"),
    ],
)
def test_products_have_least_values_among_the_first(premise, goal):
    fact, wanted = parse(premise, truth=True), parse(goal, truth=True)
    outcome = smt.decide(Obligation(UNBOUNDED, fact, wanted), RLIMIT)
    assert outcome.holds is False
    near = sorted(range(-40, 41), key=order)
    least = next({"i": i, "j": j} for i in near for j in near if _fails(fact, wanted, {"i": i, "j": j}))
    assert outcome.witness == least


def _fails(fact, wanted, values) -> bool:
    try:
        return bool(evaluate(fact, values)) and not evaluate(wanted, values)
    except (ZeroDivisionError, ValueError):
        return False


@pytest.mark.parametrize(
    ("premise", "goal", "witness"),
    [
        ("j > 100 and i > 0", "i // j == 0", {"i": 101, "j": 101}),
        ("i * j > 1000", "i < 30", {"i": 30, "j": 34}),
        ("i > 50 and j > 60", "i * j % 4 == 1", {"i": 51, "j": 61}),
    ],
)
def test_products_beyond_the_first_values_are_small(premise, goal, witness):
    outcome = smt.decide(Obligation(UNBOUNDED, parse(premise, truth=True), parse(goal, truth=True)), RLIMIT)
    assert (outcome.holds, outcome.witness) == (False, witness)


def test_a_factor_beside_zero_is_free():
    variables = (Variable("a", "symbol", 0, 1), Variable("k", "symbol", -7, -4, 3))
    outcome = smt.decide(Obligation(variables, parse("a * k >= 0", truth=True), parse("a * k != 0", truth=True)), RLIMIT)
    assert (outcome.holds, outcome.witness) == (False, {"a": 0, "k": -6})
