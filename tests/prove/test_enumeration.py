"""Grids: numbers that NumPy's integers do not hold are Python's."""

from __future__ import annotations

import pytest

from tilecheck.document import read_call
from tilecheck.prove import enumeration
from tilecheck.prove.check import check
from tilecheck.prove.obligation import Obligation, Variable
from tilecheck.symbolic import evaluate, parse

VARIABLES = (Variable("n", "symbol", 0, 7),)


@pytest.mark.parametrize(
    "text",
    [
        "n * n - n < 18446744073709551616",
        "n * n != 9223372036854775808",
        "min(n * n - n, 9223372036854775808) < 30",
        "(n * n - n) // 9223372036854775808 == 0",
        "n * 18446744073709551615 % 3 == 0",
        "select(n > 3, 1 << 64, n) < 9223372036854775808",
        "n + 4611686018427387903 > 4611686018427387905",
    ],
)
def test_large_numbers_in_small_grids(text):
    goal = parse(text, truth=True)
    expected = all(evaluate(goal, {"n": n}) for n in range(8))
    assert enumeration.decide(Obligation(VARIABLES, True, goal)).holds is expected


def test_expressions_for_unsigned_64_bit_operands_are_enumerated():
    def sums(value: str) -> str:
        registers = [{"name": name, "space": "register", "dtype": "uint64", "shape": [1]} for name in "DA"]
        document = {
            "schema": "tilecheck/call@1",
            "opcode": "add.u64",
            "scope": "thread",
            "symbols": [{"name": "n", "min": 0, "max": 3}],
            "operands": [*registers, {"name": "s", "value": value}],
        }
        return check(read_call(document), audit=True).status

    assert [sums("n * n - n"), sums("-n")] == ["proved", "refuted"]


def test_calls_that_are_equal_but_for_the_kind_of_a_number_are_replayed_each_for_itself():
    def moved(value: object) -> str:
        operands = [{"name": "D", "space": "register", "dtype": "int32", "shape": [1]}, {"name": "s", "value": value}]
        return check(
            read_call({"schema": "tilecheck/call@1", "opcode": "mov.b32", "scope": "thread", "operands": operands}), audit=True
        ).status

    assert [moved(value) for value in (2.0, 2, 2.0, 2)] == ["refuted", "proved", "refuted", "proved"]
