"""The least assignment: symbols by declaration, values 0, 1, -1, 2, -2, ..., under facts, guard and pred."""

from __future__ import annotations

import pytest

from tilecheck.call import Launch, apply, symbol
from tilecheck.errors import InputError
from tilecheck.layout import S
from tilecheck.layout.view import Tensor
from tilecheck.reconstruct import least_assignment
from tilecheck.symbolic import parse


def call_of(symbols, *, guard="true", assume=(), pred=None, threads=32):
    registers, memory = Tensor("R", (4,), "float32", "register"), Tensor("A", (4,), "float32", align=16)
    parameters = {} if pred is None else {"pred": pred}
    return apply(
        "ld.global.v4.b32",
        registers,
        memory,
        scope="thread",
        launch=Launch((threads,)),
        symbols=symbols,
        guard=guard,
        assume=[parse(one, truth=True) for one in assume],
        **parameters,
    )


@pytest.mark.parametrize(
    ("assume", "expected"),
    [([], 0), (["n != 0"], 1), (["n < 0"], -1), (["n > 1 or n < -1"], 2), (["n * n == 49"], 7), (["n % 5 == 3"], -2), (["n % 5 == 4"], -1)],
)
def test_values_are_tried_from_zero_outwards(assume, expected):
    assert least_assignment(call_of([symbol("n", min=-50, max=50)], assume=assume)) == {"n": expected}


def test_unbounded_symbols_are_tried_near_zero():
    assert least_assignment(call_of([symbol("n")], assume=["n >= 1000"])) == {"n": 1000}


def test_multiples_and_ends_of_the_range_count():
    assert least_assignment(call_of([symbol("n", min=5, max=50, multiple_of=8)])) == {"n": 8}
    assert least_assignment(call_of([symbol("n", min=-50, max=-5, multiple_of=8)])) == {"n": -8}


def test_the_first_symbol_is_the_least():
    n, m = symbol("n", min=0, max=9), symbol("m", min=0, max=9)
    assert least_assignment(call_of([n, m], assume=["n + m == 7"])) == {"n": 0, "m": 7}
    assert least_assignment(call_of([m, n], assume=["n + m == 12"])) == {"m": 3, "n": 9}


def test_guard_and_pred_need_one_thread():
    n = symbol("n", min=0, max=99)
    assert least_assignment(call_of([n], guard="laneid + n == 40")) == {"n": 9}
    assert least_assignment(call_of([n], pred="n > laneid + 3")) == {"n": 4}
    assert least_assignment(call_of([n], guard="elected and laneid == n")) == {"n": 0}


def test_a_symbolic_extent_is_not_negative():
    rows = symbol("rows", max=9)
    memory = Tensor("A", (rows, 4), "float32", align=16, layout=S[(rows, 4) : (4, 1)])
    call = apply(
        "ld.global.v4.b32",
        Tensor("R", (4,), "float32", "register"),
        memory[0:1, :].reshape(4),
        scope="thread",
        assume=["rows != 0", "rows != 1"],
    )
    assert least_assignment(call) == {"rows": 2}


def test_no_assignment_is_said():
    with pytest.raises(InputError, match="no values of the symbols"):
        least_assignment(call_of([symbol("n", min=0, max=3)], assume=["n > 3"]))
