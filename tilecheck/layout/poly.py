"""Polynomials with integer coefficients over terms: deciding equality and exact division of symbolic extents and strides.

What is neither a sum nor a product (a variable, a division, a minimum) is an indeterminate. Small and exact; a polynomial that
would grow past `MAX_MONOMIALS` is left as one indeterminate, so that the answer can only err towards "not known equal".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd, prod

from tilecheck.symbolic.terms import Expr, Term, add, mul, subterms

MAX_MONOMIALS = 400
MAX_DEGREE = 32

Monomial = tuple[int, ...]
Polynomial = dict[Monomial, int]


class Ring:
    """The indeterminates met so far; a monomial is the sorted tuple of their numbers."""

    __slots__ = ("atoms", "numbers")

    def __init__(self) -> None:
        self.numbers: dict[Expr, int] = {}
        self.atoms: list[Expr] = []

    def polynomial(self, term: Term) -> Polynomial:
        """The expansion of a term."""
        if isinstance(term, int):
            return {(): int(term)} if term else {}
        found: dict[Expr, Polynomial] = {}

        def of(node: object) -> Polynomial:
            if isinstance(node, Expr):
                return found[node]
            return {(): node} if isinstance(node, int) and node else {}

        for node in subterms(term):
            if isinstance(node, Expr):
                expanded: Polynomial | None = None
                if node.op == "+":
                    expanded = _sum(of(arg) for arg in node.args)
                elif node.op == "-":
                    expanded = _sum((of(node.args[0]), _product(of(node.args[1]), {(): -1}) or {}))
                elif node.op == "*":
                    expanded = _product(of(node.args[0]), of(node.args[1]))
                found[node] = {(self._number(node),): 1} if expanded is None else expanded
        return found[term]

    def _number(self, node: Expr) -> int:
        if node not in self.numbers:
            self.numbers[node] = len(self.atoms)
            self.atoms.append(node)
        return self.numbers[node]

    def term(self, poly: Polynomial) -> Term:
        """The polynomial as a term, highest monomial first."""
        parts: list[Term] = []
        for monomial in sorted(poly, key=_order, reverse=True):
            product: Term = 1
            for number in monomial:
                product = mul(product, self.atoms[number])
            parts.append(mul(poly[monomial], product))
        return add(*parts)


def _order(monomial: Monomial) -> tuple[int, tuple[int, ...]]:
    return len(monomial), tuple(-number for number in monomial)


def _sum(parts: Iterable[Polynomial]) -> Polynomial | None:
    total: Polynomial = {}
    for part in parts:
        for monomial, coefficient in part.items():
            value = total.get(monomial, 0) + coefficient
            if value:
                total[monomial] = value
            else:
                total.pop(monomial, None)
    return total if len(total) <= MAX_MONOMIALS else None


def _product(a: Polynomial, b: Polynomial) -> Polynomial | None:
    if len(a) * len(b) > 4 * MAX_MONOMIALS:
        return None
    total: Polynomial = {}
    for left, x in a.items():
        for right, y in b.items():
            monomial = tuple(sorted(left + right))
            if len(monomial) > MAX_DEGREE:
                return None
            total[monomial] = total.get(monomial, 0) + x * y
    return {monomial: value for monomial, value in total.items() if value} if len(total) <= MAX_MONOMIALS else None


def difference(a: Term, b: Term) -> Term:
    """a - b expanded, with everything that cancels gone."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    ring = Ring()
    total = _sum((ring.polynomial(a), {monomial: -value for monomial, value in ring.polynomial(b).items()}))
    return add(a, mul(-1, b)) if total is None else ring.term(total)


def same(a: Term, b: Term) -> bool:
    """Whether a and b are equal as polynomials, hence for every value of the symbols."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    if a is b or a == b:
        return True
    left = difference(a, b)
    return isinstance(left, int) and left == 0


def product(terms: Iterable[Term]) -> Term:
    """The product, as a term; 1 for none."""
    total: Term = 1
    for term in terms:
        total = mul(total, term)
    return total


def quotient(a: Term, b: Term) -> Term | None:
    """The polynomial q with q * b == a, or None when there is none with integer coefficients."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b if b and a % b == 0 else None
    if isinstance(b, int) and b == 1:
        return a
    ring = Ring()
    rest, divisor = dict(ring.polynomial(a)), ring.polynomial(b)
    if not divisor:
        return None
    lead = max(divisor, key=_order)
    result: Polynomial = {}
    for _ in range(MAX_MONOMIALS):
        if not rest:
            return ring.term(result)
        top = max(rest, key=_order)
        step = _monomial_quotient(top, lead)
        if step is None or rest[top] % divisor[lead]:
            return None
        factor = rest[top] // divisor[lead]
        result[step] = factor
        for monomial, value in divisor.items():
            target = tuple(sorted(monomial + step))
            left = rest.get(target, 0) - factor * value
            if left:
                rest[target] = left
            else:
                rest.pop(target, None)
    return None


def _monomial_quotient(a: Monomial, b: Monomial) -> Monomial | None:
    left = list(a)
    for number in b:
        if number not in left:
            return None
        left.remove(number)
    return tuple(left)


def common(term: Term, steps: Mapping[str, int]) -> int:
    """The greatest common divisor of the coefficients of a term, each times the steps of its variables; 0 for zero."""
    ring = Ring()
    expanded = ring.polynomial(term)

    def step(number: int) -> int:
        node = ring.atoms[number]
        return steps.get(str(node.args[0]), 1) if node.op == "var" else 1

    return gcd(*(coefficient * prod(map(step, monomial)) for monomial, coefficient in expanded.items()))
