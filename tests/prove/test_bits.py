"""The bits tier: what it proves holds of every value, and it proves what XOR swizzles need."""

from __future__ import annotations

import itertools
import random

import pytest

from tilecheck.prove import bits
from tilecheck.prove.obligation import Obligation, Variable
from tilecheck.symbolic import evaluate, parse
from tilecheck.symbolic.terms import Expr, Term, eq, mod

NAMES = ("a", "b", "n")
VARIABLES = (Variable("a", "atom", 0, 3), Variable("b", "atom", 0, 7), Variable("n", "symbol", 0, 40, 4))


def random_term(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.15:
        return rng.choice([*NAMES, str(rng.choice([0, 1, 2, 4, 8, 12, 16, 64]))])
    a, b = random_term(rng, depth - 1), random_term(rng, depth - 1)
    power = rng.choice([1, 2, 4, 8, 16, 32])
    return rng.choice(
        [
            f"({a} + {b})",
            f"({a} ^ {b})",
            f"({a} * {power})",
            f"({a} // {power})",
            f"({a} % {power})",
            f"({a} & {rng.randint(0, 63)})",
            f"({a} | {b})",
        ]
    )


def holds(goal: Term) -> bool:
    values = [list(v.ordered()) for v in VARIABLES]
    return all(evaluate(goal, dict(zip(NAMES, point, strict=True))) for point in itertools.product(*values))


def test_what_it_proves_holds_of_every_value():
    rng = random.Random(20)
    proved = 0
    for _ in range(1500):
        left = parse(random_term(rng, 3))
        right = parse(random_term(rng, 2)) if rng.random() < 0.5 else mod(left, 16)
        goal = eq(left, right) if rng.random() < 0.5 else eq(mod(left, rng.choice([2, 4, 8])), 0)
        if isinstance(goal, Expr) and bits.proves(Obligation(VARIABLES, True, goal)):
            proved += 1
            assert holds(goal), str(goal)
    assert proved > 40


SWIZZLED = "(({m}) ^ ((({m}) // 8 // 8 % 8) * 8))"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{SWIZZLED.format(m='64 * b + 2 * a')} % 2 == 0", True),
        (f"{SWIZZLED.format(m='64 * b + 2 * a + 1')} == {SWIZZLED.format(m='64 * b + 2 * a')} + 1", True),
        (f"{SWIZZLED.format(m='64 * b + 8 * (n % 32 // 4) + a')} == {SWIZZLED.format(m='64 * b + 8 * (n % 32 // 4)')} + a", True),
        (f"{SWIZZLED.format(m='64 * b + a')} == 64 * b + a", False),
        (f"{SWIZZLED.format(m='60 * b + a')} % 4 == a % 4", False),
        ("(4 * b + a) ^ (4 * b) == a", True),
        ("(3 * b + a) ^ (3 * b) == a", False),
    ],
)
def test_xor_swizzles_are_linear_where_nothing_carries(text, expected):
    assert bits.proves(Obligation(VARIABLES, True, parse(text, truth=True))) is expected


def test_a_range_of_the_premise_counts():
    goal = parse("(n ^ 16) == n + 16", truth=True)
    assert not bits.proves(Obligation(VARIABLES, True, goal))
    assert bits.proves(Obligation(VARIABLES, parse("n < 16", truth=True), goal))


def test_negative_numbers_are_left_to_others():
    assert not bits.proves(Obligation((Variable("n", "symbol", -4, 4),), True, parse("(n ^ 0) == n", truth=True)))
