"""SymPy expressions as terms. SymPy is imported only where the caller already has."""

# SymPy has no stubs: what its functions take and give is unknown to the type checker.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import reduce
from typing import Any

from tilecheck.errors import InputError
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term


def is_sympy(value: object) -> bool:
    """Whether a value is a SymPy expression or condition."""
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(value, sympy.Basic)


def from_sympy(value: object) -> Term:
    """The term of a SymPy expression: `floor(a/b)` is `a // b`, `Mod` is `%`, `Piecewise` is select; names are symbols to declare.

    InputError: a function or a number that no integer term has.
    """
    return _term(value)


def _term(value: Any) -> Term:
    import sympy

    if value is sympy.true or value is sympy.false:
        return bool(value)
    if isinstance(value, sympy.Integer):
        return int(value)
    if isinstance(value, sympy.Symbol):
        return terms.var(str(value.name))
    if isinstance(value, sympy.floor | sympy.ceiling):
        return _rounded(value)
    if isinstance(value, sympy.Piecewise):
        return _piecewise(value)
    if isinstance(value, sympy.Pow) and isinstance(value.exp, sympy.Integer) and 0 < int(value.exp) <= 8:
        base = _term(value.base)
        return reduce(terms.mul, [base] * int(value.exp))
    name = type(value).__name__
    if name in _NARY:
        return reduce(_NARY[name], [_term(arg) for arg in value.args])
    if name in _BINARY:
        return _BINARY[name](*(_term(arg) for arg in value.args))
    if isinstance(value, sympy.Not):
        return terms.negate(_term(value.args[0]))
    raise InputError(f"the SymPy expression {str(value)[:60]} has no integer term (found {name})")


_NARY: dict[str, Callable[[Term, Term], Term]] = {
    "Add": terms.add,
    "Mul": terms.mul,
    "Min": terms.minimum,
    "Max": terms.maximum,
    "And": terms.conj,
    "Or": terms.disj,
}
_BINARY: dict[str, Callable[[Term, Term], Term]] = {
    "Mod": terms.mod,
    "Equality": terms.eq,
    "Unequality": terms.ne,
    "StrictLessThan": terms.lt,
    "LessThan": terms.le,
    "StrictGreaterThan": lambda a, b: terms.lt(b, a),
    "GreaterThan": lambda a, b: terms.le(b, a),
}


def _rounded(value: Any) -> Term:
    """floor(p/q) = p // q and ceiling(p/q) = -(-p // q), q a positive integer or a symbol."""
    import sympy

    numerator, denominator = sympy.fraction(sympy.together(value.args[0]))
    top, bottom = _term(numerator), _term(denominator)
    if isinstance(bottom, int) and bottom < 0:
        top, bottom = terms.mul(-1, top), -bottom
    if isinstance(value, sympy.floor):
        return terms.floordiv(top, bottom)
    return terms.mul(-1, terms.floordiv(terms.mul(-1, top), bottom))


def _piecewise(value: Any) -> Term:
    *pairs, last = value.args
    if last.cond is not True and str(last.cond) != "True":
        raise InputError(f"the SymPy expression {str(value)[:60]} has no value where no condition holds; end it with (value, True)")
    result = _term(last.expr)
    for pair in reversed(pairs):
        result = terms.select(_term(pair.cond), _term(pair.expr), result)
    return result
