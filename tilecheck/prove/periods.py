"""Symbols that matter only modulo some number: the ring stage `i % 4` of a run-time i, a start `8 * (n % 8)`.

Where every occurrence of a symbol in a question lies under remainders, the question has the same answer at n and at n + P. Then the values nearest to 0 of
each residue modulo P stand for all: the least counterexample is among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd, lcm

from tilecheck.prove.obligation import Variable, bounds_alone, narrowed
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Expr, Term

LONGEST = 1 << 16
"""The longest period that is of use: symbols with fewer values than twice this stay as they are where their period is longer."""


def shortened(
    variables: Sequence[Variable], facts: Sequence[Term], asked: Sequence[Term], index_range: tuple[int, int]
) -> tuple[Variable, ...]:
    """The variables, symbols that matter modulo a period with the values of that period nearest to 0.

    facts: what holds; a comparison of a symbol with a number is part of its range. asked: every other term of the question.
    """
    facts = [one for fact in facts for one in terms.conjuncts(fact)]
    return tuple(_shortened(v, facts, asked, index_range) if v.role == "symbol" and v.values is None else v for v in variables)


def _shortened(variable: Variable, facts: Sequence[Term], asked: Sequence[Term], index_range: tuple[int, int]) -> Variable:
    within = narrowed((variable,), tuple(facts))[0]
    low = index_range[0] if within.low is None else within.low
    high = index_range[1] if within.high is None else within.high
    period = variable.step
    for part in (*(fact for fact in facts if not bounds_alone(fact, variable.name)), *asked):
        if variable.name in terms.variables(part):
            own = _period(part, variable.name, {})
            if own is None:
                return variable
            period = lcm(period, own)
    if period > LONGEST or high - low < 2 * period:
        return variable
    if low > 0:
        return replace(variable, low=low, high=low + period)
    if high < 0:
        return replace(variable, low=high - period, high=high)
    return replace(variable, low=max(low, -period), high=min(high, period))


Memo = dict[tuple[Term, int], int | None]


def _period(term: Term, name: str, memo: Memo) -> int | None:
    """P such that a term has the same value at name and at name + P; None where none is known."""
    return _change(term, name, 0, memo)


def _change(term: Term, name: str, modulus: int, memo: Memo) -> int | None:
    """P such that a term at name + P differs from the term at name by a multiple of the modulus (0: by nothing); None where none is known."""
    if not isinstance(term, Expr) or name not in terms.variables(term):
        return 1
    if term.op == "var":
        return modulus or None
    key = term, modulus
    if key not in memo:
        memo[key] = _node(term, name, modulus, memo)
    return memo[key]


def _node(term: Expr, name: str, modulus: int, memo: Memo) -> int | None:
    number, other = _constant(term)
    if other is not None:
        if term.op == "%" and number > 0:
            return _change(other, name, number, memo)
        if term.op == "&" and number >= 0:
            return _change(other, name, 1 << number.bit_length(), memo)
        if modulus and term.op == "//" and number > 0:
            return _change(other, name, modulus * number, memo)
        if modulus and term.op == ">>" and 0 <= number < LONGEST.bit_length():
            return _change(other, name, modulus << number, memo)
        if modulus and term.op == "*" and number != 0:
            return _change(other, name, modulus // gcd(modulus, number), memo)
    bitwise = term.op in {"^", "&", "|"} and modulus & (modulus - 1) == 0
    return _together(term, name, modulus if term.op in {"+", "-", "*"} or bitwise else 0, memo)


def _constant(term: Expr) -> tuple[int, Term | None]:
    """(the number in a node of two arguments, the other argument); (0, None) for other nodes. Numbers that divide or shift stand on the right."""
    if term.op not in {"%", "//", ">>", "&", "*"}:
        return 0, None
    left, right = terms.arguments(term)
    if isinstance(right, int):
        return right, left
    return (left, right) if isinstance(left, int) and term.op in {"&", "*"} else (0, None)


def _together(term: Expr, name: str, modulus: int, memo: Memo) -> int | None:
    """The period that all arguments of a node have."""
    period = 1
    for child in terms.children(term):
        own = _change(child, name, modulus, memo)
        if own is None:
            return None
        period = lcm(period, own)
    return period
