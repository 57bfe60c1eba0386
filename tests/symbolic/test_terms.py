"""Terms: substitution, folding, intervals, definedness."""

from __future__ import annotations

import pickle

import pytest
from expression_texts import NAMES, SETTINGS, conditions, integers, values
from hypothesis import given
from hypothesis import strategies as st

from tilecheck.symbolic import bounds, evaluate, parse, substitute, terms, var, variables
from tilecheck.symbolic.bounds import all_bounds
from tilecheck.symbolic.terms import (
    Expr,
    conj,
    conjuncts,
    definedness,
    disj,
    negate,
    normal,
    replace,
    select,
    subterms,
    trunc_div,
    trunc_mod,
)

UNDEFINED = (ZeroDivisionError, OverflowError, ValueError)
ONE, TWO = var("i"), var("j")


def value(term, given_values):
    """The value, None where there is none."""
    try:
        return evaluate(term, given_values)
    except UNDEFINED:
        return None


@SETTINGS
@given(integers(), values)
def test_folding_keeps_the_value(text, given_values):
    term = parse(text)
    expected = value(term, given_values)
    assert expected is None or value(normal(term), given_values) == expected


@SETTINGS
@given(conditions(), values)
def test_folding_keeps_the_truth(text, given_values):
    term = parse(text, truth=True)
    expected = value(term, given_values)
    assert expected is None or bool(value(normal(term), given_values)) is bool(expected)


@SETTINGS
@given(integers())
def test_a_folded_term_folds_no_further(text):
    once = normal(parse(text))
    assert normal(once) == once


@SETTINGS
@given(integers(), values, st.sets(st.sampled_from(NAMES)))
def test_substituted_numbers_are_as_values(text, given_values, chosen):
    term = parse(text)
    expected = value(term, given_values)
    some = {name: given_values[name] for name in chosen}
    for change in (substitute, replace):
        changed = change(term, some)
        assert variables(changed).isdisjoint(chosen)
        assert expected is None or value(changed, given_values) == expected


@SETTINGS
@given(integers(), integers(), values)
def test_a_substituted_term_is_as_its_value(text, other, given_values):
    term, inner = parse(text), parse(other)
    here = value(inner, given_values)
    if here is None:
        return
    expected = value(term, {**given_values, "i": here})
    for change in (substitute, replace):
        assert expected is None or value(change(term, {"i": inner}), given_values) == expected


def test_substitution_is_simultaneous():
    term = parse("i + 2*j")
    assert evaluate(substitute(term, {"i": TWO, "j": ONE}), {"i": 1, "j": 10}) == 12
    assert evaluate(replace(term, {"i": TWO, "j": ONE}), {"i": 1, "j": 10}) == 12


def test_replace_changes_nothing_else():
    assert str(replace(parse("i + 1 - 1 + j"), {"j": 5})) == "i + 1 - 1 + 5"
    assert replace(parse("i + 1 - 1"), {"j": 5}) == parse("i + 1 - 1")
    assert replace(parse("select(i < 2, j, 7 // i)"), {"i": 0}) == TWO


@st.composite
def boxes(draw):
    """Ranges of the names, and values in them."""
    ranges, chosen = {}, {}
    for name in NAMES:
        low = draw(st.one_of(st.integers(-40, 40), st.integers(-(1 << 66), 1 << 66)))
        high = low + draw(st.one_of(st.integers(0, 9), st.integers(0, 1 << 20)))
        ranges[name] = (low, high)
        chosen[name] = draw(st.one_of(st.integers(low, high), st.sampled_from([low, high])))
    return ranges, chosen


@SETTINGS
@given(integers(), boxes())
def test_every_value_is_in_the_interval(text, box):
    ranges, chosen = box
    term = parse(text)
    intervals = all_bounds(term, ranges)
    for node in subterms(term):
        found = value(node, chosen)
        assert (
            found is None or node.is_truth or max(-(1 << 300), intervals[node][0]) <= found <= intervals[node][1] or abs(found) > 1 << 300
        ), str(node)
    found = value(term, chosen)
    low, high = bounds(term, ranges)
    assert found is None or low <= found <= high or abs(found) > 1 << 300


@SETTINGS
@given(integers(), boxes())
def test_a_single_point_has_an_interval_around_its_value(text, box):
    _, chosen = box
    term = parse(text)
    found = value(term, chosen)
    low, high = bounds(term, {name: (number, number) for name, number in chosen.items()})
    assert low <= high
    assert found is None or low <= found <= high or abs(found) > 1 << 300


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i", (-3, 12)),
        ("4*i + 2", (-10, 50)),
        ("-i", (-12, 3)),
        ("i - j", (-8, 12)),
        ("i // 4", (-1, 3)),
        ("tdiv(i, 4)", (0, 3)),
        ("i % 4", (0, 3)),
        ("j % 8", (0, 5)),
        ("j % 4", (0, 3)),
        ("min(i, j)", (-3, 5)),
        ("max(i, j)", (0, 12)),
        ("min(max(i, 0), 3)", (0, 3)),
        ("select(i < 0, 7, j)", (0, 7)),
        ("j << 2", (0, 20)),
        ("i >> 1", (-2, 6)),
        ("j & 3", (0, 3)),
        ("j ^ 2", (0, 7)),
        ("i * j", (-15, 60)),
        ("7", (7, 7)),
        ("i < 3", (0, 1)),
    ],
)
def test_intervals_of_the_usual_starts_are_tight(text, expected):
    term = parse(text, truth="<" in text and "<<" not in text and "select" not in text)
    assert bounds(term, {"i": (-3, 12), "j": (0, 5)}) == expected


@SETTINGS
@given(integers(), values)
def test_what_is_defined_has_a_value(text, given_values):
    term = parse(text)
    if evaluate(definedness(term), given_values):
        assert value(term, given_values) is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4 // i", "0 < i"),
        ("4 % i", "0 < i"),
        ("tmod(4, i)", "0 < i"),
        ("1 << i", "0 <= i and i <= 4096"),
        ("i // 4", "true"),
        ("select(i > 0, 4 // i, 0)", None),
        ("i + j", "true"),
    ],
)
def test_definedness_is_a_condition_on_divisors_and_shifts(text, expected):
    found = definedness(parse(text))
    if expected is not None:
        assert str(found).lower() == expected
    assert evaluate(found, {"i": 3, "j": 0})


def test_an_arm_that_is_not_taken_need_not_be_defined():
    term = parse("select(i > 0, 4 // i, 0)")
    assert all(evaluate(definedness(term), {"i": i}) for i in (-1, 0, 1))
    assert evaluate(term, {"i": 0}) == 0


@pytest.mark.parametrize(
    ("text", "i", "defined"),
    [
        ("i > 0 and 4 // i > 1", 0, True),
        ("4 // i > 1 and i > 0", 0, False),
        ("i == 0 or 4 // i > 1", 0, True),
        ("4 // i > 1 or i == 0", 0, False),
        ("not 4 // i > 1", 0, False),
        ("i > 0 and 4 // i > 1", 2, True),
        ("4 // i > 1 and i > 0", -1, False),
    ],
)
def test_a_part_that_is_not_reached_need_not_be_defined(text, i, defined):
    assert bool(evaluate(definedness(parse(text, truth=True)), {"i": i})) is defined


@given(st.integers(-1000, 1000), st.integers(-50, 50).filter(bool))
@SETTINGS
def test_truncated_division_is_that_of_c(a, b):
    assert trunc_div(a, b) == int(a / b)
    assert trunc_mod(a, b) == a - b * int(a / b)


def test_python_operators_build_what_the_parser_reads():
    assert parse("i + 2*j - 3") == ONE + 2 * TWO - 3
    assert parse("i // 4 % 2") == (ONE // 4) % 2
    assert parse("(i ^ 3) & 7 | 8") == (ONE ^ 3) & 7 | 8
    assert parse("-i << 2") == -ONE << 2
    assert parse("5 - i") == 5 - ONE
    assert (ONE < TWO) & (ONE >= 0) == parse("i < j and i >= 0", truth=True)
    assert ~(ONE < TWO) == parse("not i < j", truth=True)
    assert parse("1 << i") == 1 << ONE
    assert evaluate(~ONE, {"i": 5}) == -6


def test_a_term_has_no_truth_value_and_cannot_be_changed():
    with pytest.raises(TypeError):
        bool(ONE < 3)
    with pytest.raises(AttributeError):
        ONE.op = "+"


def test_a_term_survives_pickling():
    term = parse("select(i < 3, i // 2, min(j, 4))")
    assert pickle.loads(pickle.dumps(term)) == term


def test_huge_shifts_are_refused_when_evaluated():
    with pytest.raises(OverflowError):
        evaluate(parse("1 << i"), {"i": 1 << 40})
    assert evaluate(parse("0 << i"), {"i": 5000}) == 0
    assert isinstance(terms.shl(1, 1 << 40), Expr)
    assert isinstance(terms.shl(1, -1), Expr)
    assert isinstance(terms.floordiv(1, 0), Expr)


def test_conjunctions_and_disjunctions_fold():
    a, b = ONE < 1, TWO < 2
    assert conj() is True
    assert disj() is False
    assert conj(True, a) == a
    assert conj(a, False, b) is False
    assert disj(a, True) is True
    assert conj(a, b, a) == conj(a, b)
    assert conjuncts(conj(a, conj(b, ONE < 9))) == (a, b, ONE < 9)
    assert conjuncts(True) == ()
    assert negate(negate(a)) == a
    assert negate(True) is False
    assert select(True, 1, 2) == 1
    assert select(a, 3, 3) == 3
    assert isinstance(select(a, 1, True), Expr)


def test_a_term_with_itself_folds_but_stays_as_written_in_text():
    assert (terms.xor(ONE, ONE), terms.sub(ONE, ONE), terms.bit_and(ONE, ONE), terms.bit_or(ONE, ONE)) == (0, 0, ONE, ONE)
    assert all(isinstance(op(ONE, TWO), Expr) for op in (terms.xor, terms.sub, terms.bit_and, terms.bit_or))
    for text in ("i ^ i", "i - i", "i & i", "i | i"):
        assert parse(text) not in {0, ONE}
        assert normal(parse(text)) in {0, ONE}


def test_tables_are_lines_where_they_can_be():
    assert terms.table(ONE, (0, 2, 4)) == normal(parse("2*i"))
    looked = terms.table(ONE, (0, 1, 4))
    assert [evaluate(looked, {"i": i}) for i in range(3)] == [0, 1, 4]
    assert bounds(looked, {"i": (0, 2)}) == (0, 4)
    assert terms.table(2, (5, 6, 8)) == 8
    assert terms.true_in(ONE, (True, True)) is True
    assert terms.true_in(ONE, (False, False)) is False
    assert [bool(evaluate(terms.true_in(ONE, (True, False)), {"i": i})) for i in (0, 1)] == [True, False]
