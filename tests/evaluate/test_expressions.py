"""What expressions mean."""

from __future__ import annotations

import pytest

from tilecheck.evaluate.expressions import Expression, LimitError, Limits, term

INT32 = Limits(-(1 << 31), (1 << 31) - 1)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-7 // 2", -4),
        ("-7 % 2", 1),
        ("7 // -2", -4),
        ("tdiv(-7, 2)", -3),
        ("tmod(-7, 2)", -1),
        ("tdiv(7, 2)", 3),
        ("tmod(7, 2)", 1),
        ("-n >> 1", -2),
        ("n ^ -1", -4),
        ("n & 6", 2),
        ("n | 4", 7),
        ("1 << n", 8),
        ("min(n, 2, 1)", 1),
        ("max(n, 2)", 3),
        ("select(n == 3, 10, 1 // 0)", 10),
        ("0x10 + 0b11 + 1_000 + 007", 1026),
        ("2 * (n\n+ 1)", 8),
        (" n ", 3),
    ],
)
def test_integers_floor_and_truncate_as_written(text: str, value: int):
    assert Expression(text).value({"n": 3}) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n < 4 and n != 2", True),
        ("1 <= n < 3", False),
        ("not n > 5", True),
        ("true or 1 // 0 == 0", True),
        ("false", False),
        ("n == 0 or 6 // n == 2", True),
        ("n > 5 and 1 // 0 == 0", False),
        ("n >= 3", True),
    ],
)
def test_conditions_short_circuit(text: str, value: bool):
    assert bool(Expression(text).value({"n": 3})) is value
    assert Expression(text).is_condition


@pytest.mark.parametrize("text", ["n + 1", "select(n > 0, 1, 2)", "-n", "3"])
def test_integers_are_no_conditions(text: str):
    assert not Expression(text).is_condition


@pytest.mark.parametrize(
    "text", ["__import__('os')", "n.bit_length()", "[n][0]", "n / 2", "n ** 2", "lambda: 0", "f(n)", "min(n, key=n)", "~n", "n if n else 0"]
)
def test_nothing_else_is_evaluated(text: str):
    with pytest.raises(ValueError, match=r"no expression|not part of an expression"):
        Expression(text).value({"n": 3})


@pytest.mark.parametrize("text", ["n +", "", "()", "1 2", "(" * 300])
def test_broken_text_is_no_expression(text: str):
    with pytest.raises(ValueError, match="no expression"):
        Expression(text)


def test_an_unknown_name_has_no_value():
    with pytest.raises(ValueError, match="no value for 'k'"):
        Expression("n + k").value({"n": 3})


@pytest.mark.parametrize(
    ("text", "n", "actual"),
    [
        ("n * n * 4 // 8", 1 << 15, "n * n * 4 = 4294967296"),
        ("n + 1 - 1", (1 << 31) - 1, "n + 1 = 2147483648"),
        ("-n", -(1 << 31), "-n = 2147483648"),
        ("min(n + 1, 5)", (1 << 31) - 1, "n + 1 = 2147483648"),
        ("8 // n", 0, "n = 0"),
        ("8 % n", -2, "n = -2"),
        ("1 << n", -1, "n = -1"),
        ("tdiv(8, n)", -1, "n = -1"),
        ("select(8 // n > 1, 0, 1)", 0, "n = 0"),
        ("3000000000", 0, "the index 3000000000"),
    ],
)
def test_every_intermediate_result_counts(text: str, n: int, actual: str):
    with pytest.raises(LimitError) as caught:
        Expression(text).check({"n": n}, INT32)
    assert caught.value.actual == actual


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("select(n > 0, 8 // n, 0)", 0),
        ("select(n == 0, 0, 8 // n)", 0),
        ("-2147483648", 0),
        ("n % 7 * 4", (1 << 31) - 1),
        ("select(n == 0 or 8 // n > 1, 1, 2)", 0),
        ("select(n > 0 and 8 // n > 1, 1, 2)", 0),
    ],
)
def test_parts_that_are_not_reached_do_not_count(text: str, n: int):
    Expression(text).check({"n": n}, INT32)


def test_only_divisors_and_shifts_count_without_a_range():
    Expression("n * n > 0").check({"n": 1 << 70}, Limits())
    with pytest.raises(LimitError, match="positive divisor"):
        Expression("n % (0 - 2) > 0").check({"n": 1}, Limits())


@pytest.mark.parametrize(
    ("form", "value"),
    [
        (["+", ["*", 4, "row"], "word"], 22),
        (["//", "row", 2], 2),
        (["%", "row", 2], 1),
        (["^", "row", 3], 6),
        (["table", "word", [3, 1, 7]], 7),
        (["select", ["<", "row", 3], 1, 2], 2),
        (["min", "row", "word"], 2),
        (["max", "row", "word"], 5),
        (["tdiv", -7, 2], -3),
        (["tmod", -7, 2], -1),
        (["&", "row", 4], 4),
        (["|", "row", 2], 7),
        (["<<", 1, "word"], 4),
        ([">>", "row", 1], 2),
        (["and", True, ["==", "row", 5]], True),
        (["or", False, ["<=", "row", 4]], False),
        (["not", False], True),
        (("+", 1, 2, 3), 6),
    ],
)
def test_terms_of_contracts(form: object, value: int):
    assert term(form, {"row": 5, "word": 2}) == value


def test_an_unknown_operator_of_a_contract_is_refused():
    with pytest.raises(ValueError, match="unknown operator 'pow'"):
        term(["pow", 2, 3], {})
