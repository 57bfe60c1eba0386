"""What a file says is what the term says: z3 and bitwuzla against evaluation in Python ints, for every operation."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tilecheck.certificates import bitvectors, integers
from tilecheck.certificates.formula import Formula, NoForm, formula, has_product
from tilecheck.certificates.obligations import UNSAT, Stating
from tilecheck.certificates.script import scripts
from tilecheck.certificates.solvers import SOLVERS, Limits
from tilecheck.prove.obligation import Obligation, Variable
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Expr, Term, var

VARIABLES = (Variable("a", "symbol", -37, 41), Variable("b", "symbol", -3, 9), Variable("c", "symbol", 0, 36, step=12))
NUMBERS = ("+", "-", "*", "//", "%", "tdiv", "tmod", "^", "&", "|", "<<", ">>", "min", "max", "select", "table")
BIT = {"^", "&", "|"}
SEED = 5


def number(rng: random.Random, depth: int) -> Term:
    if depth == 0 or rng.random() < 0.15:
        return rng.choice((var("a"), var("b"), var("c"), rng.randint(-9, 9), 8, 5))
    op = rng.choice(NUMBERS)
    left = number(rng, depth - 1)
    if op == "select":
        return Expr(op, (truth(rng, depth - 1), left, number(rng, depth - 1)))
    if op == "table":
        return Expr(op, (Expr("%", (left, 4)), tuple(rng.randint(-20, 20) for _ in range(4))))
    if op in {"<<", ">>"}:
        return Expr(op, (left, rng.choice((0, 1, 3, Expr("%", (var("a"), 5))))))
    right = number(rng, depth - 1)
    return Expr(op, (left, right))


def truth(rng: random.Random, depth: int) -> Term:
    kind = rng.random()
    if kind < 0.6 or depth == 0:
        return Expr(rng.choice(("==", "<", "<=")), (number(rng, max(depth - 1, 0)), number(rng, 0)))
    if kind < 0.7:
        return Expr("not", (truth(rng, depth - 1),))
    if kind < 0.8:
        return Expr("true_in", (Expr("%", (number(rng, depth - 1), 3)), (True, False, True)))
    return Expr(rng.choice(("and", "or")), (truth(rng, depth - 1), truth(rng, depth - 1)))


def ask(name: str, lines: list[str], logic: str) -> str:
    text = "\n".join([f"(set-logic {logic})", *lines, "(check-sat)"])
    answer, why = SOLVERS[name].ask(text, logic, Limits(seconds=60))
    assert not why, why
    return answer


def pinned(term: Term, values: dict[str, int], claim: int) -> Formula:
    """The term is `claim` where the variables have these values."""
    premise = tuple(terms.eq(var(name), value) for name, value in values.items())
    variables = tuple(replace(v, name=v.name) for v in VARIABLES)
    return formula(Obligation(variables, True, Expr("==", (term, claim))), premise)


def cases(seed: int, count: int = 60) -> list[tuple[Term, dict[str, int], int]]:
    """Terms, values, and what Python says the term is there."""
    rng, found = random.Random(seed), list[tuple[Term, dict[str, int], int]]()
    while len(found) < count:
        term = number(rng, 3)
        values = {"a": rng.randint(-37, 41), "b": rng.randint(-3, 9), "c": 12 * rng.randint(0, 3)}
        try:
            found.append((term, values, terms.evaluate(term, values)))
        except (ZeroDivisionError, OverflowError, ValueError):
            continue
    return found


@pytest.mark.parametrize("seed", range(SEED, SEED + 4))
def test_a_term_in_bit_vectors_has_its_value_and_no_other(seed):
    pytest.importorskip("bitwuzla")
    for term, values, expected in cases(seed):
        for claim in (expected, expected + 1):
            try:
                found = pinned(term, values, claim)
                text = bitvectors.asked(found)
            except NoForm:
                continue
            assert ask("bitwuzla", text.lines, "QF_BV") == ("unsat" if claim == expected else "sat"), f"{term} at {values} is {expected}"


@pytest.mark.parametrize("seed", range(SEED, SEED + 2))
def test_a_term_in_integers_has_its_value_and_no_other(seed):
    for term, values, expected in cases(seed, count=30):
        for claim in (expected, expected + 1):
            found = pinned(term, values, claim)
            try:
                lines = integers.asked(found)
            except NoForm:
                continue
            assert ask("z3", lines, integers.logic(found)) == ("unsat" if claim == expected else "sat"), f"{term} at {values} is {expected}"


def linear_cases() -> list[Term]:
    """Terms without products of variables and without symbolic divisors: what bit-vectors are for."""
    rng, found = random.Random(SEED), list[Term]()
    while len(found) < 40:
        term = number(rng, 3)
        if isinstance(term, Expr) and not has_product(formula(Obligation(VARIABLES, True, terms.eq(term, 0)), ())):
            found.append(term)
    return found


def test_nothing_wraps_at_the_chosen_width():
    pytest.importorskip("bitwuzla")
    asked = 0
    for term in linear_cases():
        found = formula(Obligation(VARIABLES, True, terms.eq(term, 0)), ())
        try:
            lines = bitvectors.no_wrap(found, bitvectors.asked(found).names)
        except NoForm:
            continue
        asked += bool(lines)
        assert not lines or ask("bitwuzla", lines, "QF_BV") == "unsat", str(term)
    assert asked > 20


def test_a_claimed_range_that_is_too_small_is_found():
    pytest.importorskip("bitwuzla")
    found = 0
    for term in linear_cases():
        asked = formula(Obligation(VARIABLES, True, terms.eq(term, 0)), ())
        tight = {"a": (-37, 41), "b": (-3, 9), "c/12": (0, 3)}
        reached = (
            {terms.evaluate(term, {"a": a, "b": b, "c": c}) for a in range(-37, 42, 3) for b in (-3, 0, 1, 9) for c in (0, 12, 36)}
            if (terms.has_value(term) is True)
            else set()
        )
        root = asked.goal.args[0] if isinstance(asked.goal, Expr) else None
        if len(reached) < 2 or not isinstance(root, Expr) or root.op == "var":
            continue
        assert tight.keys() >= {v.name for v in asked.variables}
        least = min(reached)
        wrong = replace(asked, bounds=asked.bounds | {root: (least + 1, asked.bounds[root][1])})
        names = bitvectors.asked(asked).names
        assert ask("bitwuzla", bitvectors.no_wrap(wrong, names), "QF_BV") == "sat", str(term)
        found += 1
    assert found > 5


def test_a_range_that_the_premise_narrows_is_part_of_the_proof():
    wide = Variable("n", "symbol", -(1 << 63), (1 << 63) - 1)
    premise = (terms.le(0, var("n")), terms.lt(var("n"), 1000))
    found = formula(Obligation((wide,), True, terms.lt(terms.mul(3, var("n")), 3000)), premise)
    assert bitvectors.width_of(found) < 20
    lines = bitvectors.no_wrap(found, bitvectors.asked(found).names)
    assert ask("z3", lines, "QF_BV") == "unsat"
    unfounded = replace(found, premise=premise[:1])
    assert ask("z3", bitvectors.no_wrap(unfounded, bitvectors.asked(found).names), "QF_BV") == "sat"


def test_products_of_wide_symbols_are_asked_in_integers():
    n, m = (Variable(name, "symbol", 0, (1 << 62)) for name in "nm")
    product = terms.mul(var("n"), var("m"))
    stating = Stating("c", "s", "", "", Obligation((n, m), True, terms.le(0, product)), (), UNSAT)
    main, wrap = scripts(stating, "test")
    assert (main.logic, wrap) == ("QF_NIA", None)
    assert SOLVERS["z3"].ask(main.text, main.logic, Limits())[0] == "unsat"


def test_divisions_of_wide_symbols_are_asked_in_integers():
    n = Variable("n", "symbol", -(1 << 63), (1 << 63) - 1)
    remainder = terms.sub(var("n"), terms.mul(3, terms.floordiv(var("n"), 3)))
    stating = Stating("c", "s", "", "", Obligation((n,), True, terms.le(0, remainder)), (), UNSAT)
    main, wrap = scripts(stating, "test")
    assert (main.logic, wrap) == ("QF_LIA", None)
    assert SOLVERS["z3"].ask(main.text, main.logic, Limits())[0] == "unsat"


def test_bit_operations_that_integers_do_not_hold_stay_bit_vectors():
    n, m = (Variable(name, "symbol", 0, 1 << 73) for name in "nm")
    goal = terms.le(terms.floordiv(terms.xor(var("n"), var("m")), 3), 1 << 74)
    main, wrap = scripts(Stating("c", "s", "", "", Obligation((n, m), True, goal), (), UNSAT), "test")
    assert main.logic == "QF_BV"
    assert wrap is not None


def test_a_symbol_without_a_value_makes_the_formula_unsatisfiable():
    empty = Variable("n", "symbol", 3, 2)
    stating = Stating("facts", "s", "", "", Obligation((empty,), True, False), (), UNSAT)
    main, _ = scripts(stating, "test")
    assert SOLVERS["z3"].ask(main.text, main.logic, Limits())[0] == "unsat"
