"""Conditions and functions that Python has no operator for, kept as written: nothing folds, so that what is shown is what was said.

`==` and `!=` of terms are Python's (they compare how terms are written); `and`, `or` and `not` are Python's too.
"""

from __future__ import annotations

from tilecheck.symbolic.terms import Expr, Term


def eq(a: Term, b: Term) -> Expr:
    """a == b."""
    return Expr("==", (a, b))


def ne(a: Term, b: Term) -> Expr:
    """a != b."""
    return not_(eq(a, b))


def lt(a: Term, b: Term) -> Expr:
    """a < b."""
    return Expr("<", (a, b))


def le(a: Term, b: Term) -> Expr:
    """a <= b."""
    return Expr("<=", (a, b))


def all_of(*conditions: Term) -> Expr:
    """Every condition holds."""
    return Expr("and", conditions)


def any_of(*conditions: Term) -> Expr:
    """At least one condition holds."""
    return Expr("or", conditions)


def not_(condition: Term) -> Expr:
    """The condition does not hold."""
    return Expr("not", (condition,))


def select(condition: Term, then: Term, otherwise: Term) -> Expr:
    """`then` where the condition holds, else `otherwise`."""
    return Expr("select", (condition, then, otherwise))


def minimum(a: Term, b: Term) -> Expr:
    """The smaller of two integers."""
    return Expr("min", (a, b))


def maximum(a: Term, b: Term) -> Expr:
    """The larger of two integers."""
    return Expr("max", (a, b))


def tdiv(a: Term, b: Term) -> Expr:
    """a / b, rounded towards zero."""
    return Expr("tdiv", (a, b))


def tmod(a: Term, b: Term) -> Expr:
    """The remainder of tdiv, with the sign of a."""
    return Expr("tmod", (a, b))
