"""The polynomial tier: walk differences that expand to zero, and divisibility by the common divisor of coefficients.

For goals that are conjunctions of `a == b` and `x % c == 0` over products of symbols, such as symbolic strides. Exact, or it abstains; it only
proves. SymPy does the algebra and is loaded only when symbols meet symbolic strides.
"""

# SymPy has no stubs: what its functions take and give is unknown to the type checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import Any

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
        return _divides(a.args[1], arguments(a)[0], steps)
    return _expanded(terms.sub(a, b), {}) == []


def _divides(modulus: int, term: Term, steps: Mapping[str, int]) -> bool:
    """Every coefficient, times the steps of its variables, is a multiple of the modulus; so is the constant."""
    monomials = _expanded(term, steps)
    return gcd(*monomials) % modulus == 0 if monomials else monomials is not None


def _expanded(term: Term, steps: Mapping[str, int]) -> list[int] | None:
    """The coefficients of the expansion; [] for zero, None where the term is no polynomial. Anything else than + - * counts as a variable."""
    import sympy

    atoms: dict[Term, Any] = {}

    def of(node: Term) -> Any:
        if isinstance(node, int):
            return sympy.Integer(int(node))
        args = list(terms.children(node))
        if node.op == "+":
            return sympy.Add(*(of(arg) for arg in args))
        if node.op == "-":
            return of(args[0]) - of(args[1])
        if node.op == "*":
            return sympy.Mul(*(of(arg) for arg in args))
        step = steps.get(str(node.args[0]), 1) if node.op == "var" else 1
        if node not in atoms:
            atoms[node] = sympy.Dummy(f"a{len(atoms)}", integer=True)
        return step * atoms[node]

    expanded = sympy.expand(of(term))
    if expanded == 0:
        return []
    return [int(c) for c in sympy.Poly(expanded, *atoms.values()).coeffs()] if atoms else [int(expanded)]
