"""Symbolic coordinates of boxes: what is proved from ranges and congruences alone, from formulas, by SMT and by the evaluator is the same."""

from __future__ import annotations

import random

import pytest
from test_tma import LOAD, STORE, call, symbol

from tilecheck.document import read_call
from tilecheck.prove.check import check

ROWS = ("n", "n % 5", "laneid + n", "4 * n - 3", "select(n < 3, n, 0)", 0)
COLUMNS = (
    "8 * n", "n % 4 * 8", "(n + laneid) * 8", "8 * (n - 3)", "n // 2 * 16", "(n ^ 1) * 8", "select(n < 3, 8, 16)", "n * 4",
    "16 * laneid", "(n << 3) + 8", "min(n, 7) * 8", "select(elected, 8, 16)", "n * 8 % 64", "-8 * n", "(n & 6) * 4",
)  # fmt: skip
GUARDS = (True, "laneid == 0", "laneid < 4", "n < 3 and laneid == 1", "laneid % 8 == 0")


@pytest.mark.parametrize("seed", range(30))
def test_every_way_to_decide_coordinates_agrees(seed: int):
    rng = random.Random(seed)
    low = rng.choice((-5, 0, 0, 1))
    document = call(
        rng.choice((LOAD, STORE)),
        coords=[rng.choice(ROWS), rng.choice(COLUMNS)],
        symbols=[symbol("n", low, low + rng.choice((0, 3, 9, 40)))],
        launch={"block": [rng.choice((1, 32))]},
        guard=rng.choice(GUARDS),
    )
    audited, plain = check(read_call(document), audit=True), check(read_call(document))
    assert audited.status == plain.status
    assert {clause.id for clause in audited.failing} == {clause.id for clause in plain.failing}
