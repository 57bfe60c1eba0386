"""index.range, against the evaluator's walk of the same text: every intermediate result that counts, every divisor and shift amount."""

from __future__ import annotations

import random

import pytest

from tilecheck.evaluate.expressions import Expression, LimitError, Limits
from tilecheck.prove.addresses import in_range
from tilecheck.symbolic import evaluate, parse, show

SEED = 11
NAMES = ("i", "j")
RANGES = {"i": (-40, 40), "j": (-3, 9)}
BINARY = ("+", "-", "*", "//", "%", "^", "&", "|", "<<", ">>")
LIMITS = ((-8, 7), (0, 15), (-100, 100), (-(1 << 31), (1 << 31) - 1))


def integer(rng: random.Random, depth: int) -> str:
    kind = rng.random()
    if depth == 0 or kind < 0.1:
        return rng.choice((*NAMES, *NAMES, "0", "1", "2", "3", "4", "7"))
    if kind < 0.7:
        return f"({integer(rng, depth - 1)} {rng.choice(BINARY)} {integer(rng, depth - 1)})"
    if kind < 0.8:
        return f"{rng.choice(('min', 'max', 'tdiv', 'tmod'))}({integer(rng, depth - 1)}, {integer(rng, depth - 1)})"
    if kind < 0.87:
        return f"(-{integer(rng, depth - 1)})"
    return f"select({condition(rng, depth - 1)}, {integer(rng, depth - 1)}, {integer(rng, depth - 1)})"


def condition(rng: random.Random, depth: int) -> str:
    plain = f"{integer(rng, depth)} {rng.choice(('<', '<=', '==', '!=', '>', '>='))} {integer(rng, max(0, depth - 1))}"
    kind = rng.random()
    if kind < 0.6:
        return plain
    if kind < 0.7:
        return f"not ({plain})"
    return f"({plain} {rng.choice(('and', 'or'))} {condition(rng, max(0, depth - 1))})"


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_the_condition_holds_where_the_evaluator_finds_nothing_out_of_range(limits):
    print(f"seed {SEED}")
    rng = random.Random(f"{SEED}-{limits}")
    seen = {True: 0, False: 0}
    for _ in range(250):
        text = show(parse(integer(rng, 3)))  # what the evaluator is given: constants are folded
        goal = in_range(parse(text), *limits, RANGES)
        for _ in range(6):
            values = {name: rng.randint(*RANGES[name]) for name in NAMES}
            try:
                Expression(text).check(values, Limits(*limits))
            except LimitError:
                expected = False
            else:
                expected = True
            seen[expected] += 1
            assert bool(evaluate(goal, values)) is expected, (text, values, limits)
    assert min(seen.values()) > 100


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("i", True),
        ("i * 4", False),
        ("i * 4 // 4", False),
        ("i + 10 - 10", True),
        ("i + 40 - 40", False),
        ("i - 60 + 60", False),
        ("j * 4", True),
        ("min(i * 4, 3)", False),
        ("select(i < 10, i * 4, 0)", True),
        ("select(i * 4 < 10, 1, 0)", False),
        ("j // 2", True),
        ("2 // j", False),
        ("1 << j", False),
        ("select(j > 0, 2 // j, 0)", True),
        ("select(j > 0 and 8 // j > 2, 1, 0)", True),
        ("select(8 // j > 2 and j > 0, 1, 0)", False),
    ],
)
def test_the_usual_indices(text, holds):
    """In -50..50, for i in 0..20 and j in 0..9."""
    goal = in_range(parse(text), -50, 50, {"i": (0, 20), "j": (0, 9)})
    assert all(evaluate(goal, {"i": i, "j": j}) for i in range(21) for j in range(10)) is holds


def test_a_literal_counts_beside_a_coordinate_that_is_constant_in_the_launch():
    """With 64 threads wgid is 0, and 8 * wgid - 2147483648 would fold to an int32; the literal is none."""
    from tilecheck import Launch, Tensor, apply, check

    registers = Tensor("R", (4,), "float32", space="register")
    memory = Tensor("A", (64,), "float32", align=16)
    start = memory.sub(["8*wgid - 2147483648 + 2147483647 + 1"], [4])
    verdict = check(apply("ld.global.v4.b32", registers, start, scope="thread", launch=Launch((64,)), index_dtype="int32"), audit=True)
    assert [clause.id for clause in verdict.failing] == ["src.index.range"]
