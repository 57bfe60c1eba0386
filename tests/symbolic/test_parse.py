"""Expressions are read, printed and read again; what is wrong in one is named with its column; hostile ones are refused at once."""

from __future__ import annotations

import time

import pytest
from expression_texts import SETTINGS, conditions, integers, values
from hypothesis import given

from tilecheck.errors import InputError
from tilecheck.evaluate.expressions import Expression, LimitError, Limits
from tilecheck.symbolic import evaluate, parse, show, var, variables
from tilecheck.symbolic.terms import Expr, definedness, normal

UNDEFINED = (ZeroDivisionError, OverflowError, ValueError)


def value(text, given_values, *, truth):
    """What our parser makes of it; None where it has no value."""
    term = parse(text, truth=truth)
    try:
        return evaluate(term, given_values)
    except UNDEFINED:
        return None


def other_value(text, given_values):
    """What the evaluator's own parser makes of it."""
    try:
        return Expression(text).value(given_values)
    except LimitError:
        return None


@SETTINGS
@given(integers())
def test_what_is_printed_reads_back_as_the_same_term(text):
    term = parse(text)
    assert parse(show(term)) == term


@SETTINGS
@given(conditions())
def test_a_condition_that_is_printed_reads_back_as_the_same_term(text):
    term = parse(text, truth=True)
    assert parse(show(term), truth=True) == term


@SETTINGS
@given(integers(), values)
def test_a_normal_form_that_is_printed_reads_back_with_the_same_value(text, given_values):
    term = normal(parse(text))
    again = parse(show(term))
    assert normal(again) == term
    try:
        expected = evaluate(term, given_values)
    except UNDEFINED:
        return
    assert evaluate(again, given_values) == expected


@SETTINGS
@given(integers(), values)
def test_two_independent_parsers_agree_on_integers(text, given_values):
    assert value(text, given_values, truth=False) == other_value(text, given_values)


@SETTINGS
@given(conditions(), values)
def test_two_independent_parsers_agree_on_conditions(text, given_values):
    ours, theirs = value(text, given_values, truth=True), other_value(text, given_values)
    assert (None if ours is None else bool(ours)) == (None if theirs is None else bool(theirs))


@SETTINGS
@given(integers())
def test_two_independent_parsers_agree_on_the_names(text):
    """Constants fold in ours, so that `select(true, i, j)` names only i there."""
    assert variables(parse(text)) <= Expression(text).names


@SETTINGS
@given(integers(), values)
def test_what_is_printed_means_the_same_to_the_other_parser(text, given_values):
    assert other_value(show(parse(text)), given_values) == value(text, given_values, truth=False)


@SETTINGS
@given(integers(), values)
def test_a_term_is_defined_where_the_evaluator_finds_every_divisor_positive(text, given_values):
    term = parse(text)
    try:
        Expression(show(term)).check(given_values, Limits())
    except LimitError:
        expected = False
    else:
        expected = True
    assert bool(evaluate(definedness(term), given_values)) is expected


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("7 // 2", 3),
        ("-7 // 2", -4),
        ("-(7 // 2)", -3),
        ("(-7) // 2", -4),
        ("7 % 4", 3),
        ("-7 % 4", 1),
        ("(0 - 7) % 4", 1),
        ("tdiv(7, 2)", 3),
        ("tdiv(-7, 2)", -3),
        ("tmod(7, 4)", 3),
        ("tmod(-7, 4)", -3),
        ("-1 >> 3", -1),
        ("-8 >> 1", -4),
        ("-1 & 7", 7),
        ("-1 ^ 5", -6),
        ("-8 | 3", -5),
        ("1 << 3 + 1", 16),
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("10 - 3 - 2", 5),
        ("100 // 7 // 2", 7),
        ("100 % 7 % 2", 0),
        ("2 * 3 % 4", 2),
        ("1 | 2 ^ 3 & 1", 3),
        ("6 & 3 << 1", 6),
        ("--3", 3),
        ("---3", -3),
        ("min(3, 1, 2)", 1),
        ("max(3, 1, 7, 2)", 7),
        ("select(1 < 2, 10, 20)", 10),
        ("select(2 < 1 or 3 < 2, 10, 20)", 20),
        ("0x1F", 31),
        ("0b101", 5),
        ("1_000", 1000),
        ("007", 7),
        ("0X_ff", 255),
        (" 1\t+ \n2 ", 3),
    ],
)
def test_arithmetic_floors_and_binds_as_in_python(text, found):
    assert evaluate(parse(text), {}) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1 < 2 < 3", True),
        ("1 < 3 < 2", False),
        ("3 > 2 >= 2 == 2 != 1", True),
        ("1 < 2 and 2 < 1", False),
        ("1 < 2 or 1 // 1 > 5", True),
        ("not 1 < 2", False),
        ("not not 1 < 2", True),
        ("not 1 < 2 or 2 < 3", True),
        ("not (1 < 2 or 2 < 3)", False),
        ("true", True),
        ("False", False),
        ("true and not false", True),
        ("1 + 1 == 2", True),
        ("2 & 1 == 0", True),
        ("1 < 2 or 1 < 2 and 2 < 1", True),
        ("(1 < 2 or 1 < 2) and 2 < 1", False),
    ],
)
def test_conditions_bind_as_in_python(text, found):
    assert bool(evaluate(parse(text, truth=True), {})) is found


@pytest.mark.parametrize(
    ("i", "quotient", "remainder", "truncated", "rest"),
    [(-9, -3, 3, -2, -1), (-8, -2, 0, -2, 0), (-1, -1, 3, 0, -1), (0, 0, 0, 0, 0), (3, 0, 3, 0, 3), (9, 2, 1, 2, 1)],
)
def test_negative_values_floor_and_truncate(i, quotient, remainder, truncated, rest):
    found = [evaluate(parse(text), {"i": i}) for text in ("i // 4", "i % 4", "tdiv(i, 4)", "tmod(i, 4)")]
    assert found == [quotient, remainder, truncated, rest]


def test_a_chain_names_its_middle_once_and_compares_it_twice():
    term = parse("0 <= i < 4", truth=True)
    assert [bool(evaluate(term, {"i": i})) for i in (-1, 0, 3, 4)] == [False, True, True, False]
    assert parse("0 <= i and i < 4", truth=True) == term


def test_nothing_is_reordered_or_folded_but_constants():
    assert str(parse("i + 1 - 1")) == "i + 1 - 1"
    assert str(parse("(i * 4) // 4")) == "i*4 // 4"
    assert parse("2 * 3 + i") == 6 + var("i")


def test_elected_is_a_condition_on_the_lane():
    term = parse("elected", truth=True)
    assert variables(term) == {"laneid", "@elected"}
    assert str(term) == "elected"
    for text in ("elected", "not elected", "not (elected and i < 3)", "elected or not elected", "elected and laneid == 3"):
        assert parse(str(parse(text, truth=True)), truth=True) == parse(text, truth=True)


@pytest.mark.parametrize(
    ("text", "column", "found", "expected"),
    [
        ("1 +", 4, "the end", "an integer, a name"),
        ("", 1, "the end", "an integer, a name"),
        ("1 + * 2", 5, "'*'", "an integer, a name"),
        ("(1 + 2", 7, "the end", "`)`"),
        ("1 2", 3, "number '2'", "an operator or the end"),
        ("i j", 3, "name 'j'", "an operator or the end"),
        ("i / 2", 3, "'/'", "integer operator"),
        ("1.5", 1, "'1'", "an integer"),
        ("i ** 2", 4, "'*'", "an integer, a name"),
        ("i = 2", 3, "'='", "`==`"),
        ("i + $", 5, "'$'", "an integer, a name or an operator"),
        ("foo(1)", 1, "name 'foo'", "one of the functions"),
        ("min 1", 5, "number '1'", "an operator or the end"),
        (")", 1, "')'", "an integer, a name"),
        ("i +\n  @", 7, "'@'", "an operator"),
        ("0x", 1, "", "an integer"),
        ("1e5", 1, "", "an integer"),
        ("i < 1 and", 10, "the end", "an integer, a name"),
        ("i % ", 5, "the end", "an integer, a name"),
        ("~i", 1, "'~'", "an operator"),
        ("i if j else 0", 3, "name 'if'", "an operator or the end"),
        ("i[0]", 2, "'['", "an operator"),
        ("i.j", 2, "'.'", "an integer"),
        ("'a'", 1, '"\'"', "an operator"),
        ("lambda: 0", 7, "':'", "an operator"),
        ("+-1", 2, "'-'", "an integer, a name"),
    ],
)
def test_an_error_names_the_column_what_was_found_and_what_was_expected(text, column, found, expected):
    with pytest.raises(InputError) as caught:
        parse(text)
    assert f"column {column} " in caught.value.message
    assert f"found {found}" in caught.value.message
    assert expected in caught.value.message


@pytest.mark.parametrize(
    ("text", "truth", "part"),
    [
        ("i < 3", False, "is a condition, expected an integer"),
        ("i + 3", True, "is an integer, expected a condition"),
        ("(i < 3) + 1", False, "is a condition, expected an integer"),
        ("i and j", True, "is an integer, expected a condition"),
        ("not i", True, "is an integer, expected a condition"),
        ("select(i, 1, 2)", False, "is an integer, expected a condition"),
        ("select(i < 1, i < 2, 3)", False, "is a condition, expected an integer"),
        ("min(i < 1, 2)", False, "is a condition, expected an integer"),
        ("(i < 2) < 3", True, "is a condition, expected an integer"),
        ("min(1)", False, "takes 2 arguments, found 1"),
        ("select(i < 1, 2)", False, "takes 3 arguments, found 2"),
        ("tdiv(1, 2, 3)", False, "takes 2 arguments, found 3"),
        ("true", False, "is a condition"),
        ("-(i < 2)", False, "is a condition, expected an integer"),
    ],
)
def test_integers_and_conditions_are_not_mixed(text, truth, part):
    with pytest.raises(InputError, match=part.replace("(", r"\(")):
        parse(text, truth=truth)


HOSTILE = {
    "deep parentheses": "(" * 100_000 + "1" + ")" * 100_000,
    "parentheses just too deep": "(" * 100 + "1" + ")" * 100,
    "deep functions": "min(" * 2_000 + "1",
    "a million characters": "i + " * 250_000 + "1",
    "a million spaces": " " * 1_000_000,
    "a long name": "i" * 1_000_000,
    "a long number": "9" * 9_000,
    "a long number in hexadecimal": "0x" + "f" * 200,
    "a number just too wide": "0x" + "f" * 65,
    "many minus signs": "-" * 9_000 + "1",
    "many nots": "not " * 2_400 + "true",
    "a chain of comparisons": "i" + " < i" * 2_400,
    "a product of shifts": "(1 << 4000) * (1 << 4000)",
    "a power by products": "*".join(["0xffffffffffffffff"] * 150),
    "nested shifts of names": "i << " * 3_000 + "i",
    "underscores": "1" + "_" * 5_000,
    "a null byte": "1 + \0",
    "full-width digits": "\uff11\uff12",
    "Arabic digits": "\u0661\u0662",
    "a lambda": "(lambda: 1)()",
    "an import": "__import__('os').system('true')",
    "an attribute": "i.__class__",
    "an f-string": "f'{i}'",
    "a walrus": "(i := 3)",
    "a comprehension": "[i for i in j]",
    "a line continuation": "1 + \\\n 2",
    "a comment": "1 # + 2",
    "a semicolon": "1; 2",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_expression_is_refused_at_once(name):
    started = time.process_time()
    for truth in (False, True):
        with pytest.raises(InputError) as caught:
            parse(HOSTILE[name], truth=truth)
        assert len(str(caught.value)) < 400
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    "text",
    [
        "i << 4097",
        "i << j",
        "1 << i",
        "i // 0",
        "i % 0",
        "i // (1 - 1)",
        "1 // 0",
        "1 >> -1",
        "2 << -1",
        "tdiv(1, 0)",
        "1 << 1000000000000",
        "1 << (1 << (1 << 40))",
    ],
)
def test_what_has_no_value_is_read_and_left_to_index_range(text):
    assert isinstance(parse(text), Expr)


def test_a_term_as_deep_as_is_read_can_be_printed_compared_and_evaluated():
    text = "(" * 58 + "i" + " + 1)" * 58
    term = parse(text)
    assert evaluate(term, {"i": 0}) == 58
    assert parse(show(term)) == term
    assert hash(parse(text)) == hash(term)


def test_a_term_as_long_as_is_read_can_be_printed_compared_and_evaluated():
    text = " + ".join(["i"] * 199)
    term = parse(text)
    assert evaluate(term, {"i": 2}) == 398
    assert parse(show(term)) == term
    assert evaluate(definedness(parse("i // " * 150 + "1")), {"i": 1})
