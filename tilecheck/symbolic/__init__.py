"""Integers with facts: terms over symbols and hardware coordinates, their text, their intervals."""

from tilecheck.symbolic.bounds import bounds
from tilecheck.symbolic.parse import parse
from tilecheck.symbolic.show import show
from tilecheck.symbolic.terms import Expr, Term, evaluate, substitute, var, variables

__all__ = ["Expr", "Term", "bounds", "evaluate", "parse", "show", "substitute", "var", "variables"]
