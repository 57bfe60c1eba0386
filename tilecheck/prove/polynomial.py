"""The polynomial tier: walk differences that expand to zero, and divisibility by the common divisor of coefficients.

For goals that are conjunctions of `a == b` and `x % c == 0` over products of symbols, such as symbolic strides. Exact, or it abstains; it only
proves. Tests compare the expansion with SymPy's.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilecheck.layout.poly import common, same
from tilecheck.prove.obligation import Obligation
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Expr, Term, arguments


def applies(goal: Term) -> bool:
    """Whether a goal has a product of variables."""
    return isinstance(goal, Expr) and any(
        isinstance(node, Expr) and node.op == "*" and all(isinstance(arg, Expr) for arg in node.args) for node in terms.subterms(goal)
    )


def proves(obligation: Obligation) -> bool:
    """Whether every conjunct of the goal is a polynomial identity, or a multiple by its coefficients."""
    if not applies(obligation.goal):
        return False
    steps = {v.name: v.step for v in obligation.variables if v.step != 1}
    return all(_holds(part, steps) for part in terms.conjuncts(obligation.goal))


def _holds(part: Term, steps: Mapping[str, int]) -> bool:
    if not isinstance(part, Expr) or part.op != "==":
        return part is True
    a, b = arguments(part)
    if isinstance(a, Expr) and a.op == "%" and b == 0 and isinstance(a.args[1], int):
        return a.args[1] != 0 and common(arguments(a)[0], steps) % a.args[1] == 0
    return same(a, b)
