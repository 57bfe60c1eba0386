"""Symbols without bounds of which a goal sees one combination that the facts bound: `i - j` where 0 <= i - j and i - j <= 1.

The combination becomes a variable of its own. What holds for all its values within those bounds holds; where it fails for some of them, the question
that is left names symbols in sums alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import gcd
from typing import NamedTuple

from tilecheck.prove.obligation import Obligation, Outcome, Variable, relevant
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Expr, Term, arguments, var

Form = tuple[tuple[str, int], ...]
"""Names with their factors, in order of names; the first factor is positive, and they have no common divisor."""
NAME = "@sum"
MANY = 1 << 16
"""Symbols with fewer values are enumerated as they are."""
FEW = 64
"""The most values of a combination that are looked at one by one."""


class Combination(NamedTuple):
    """The combination, its bounds, and the obligation over it as a variable: more general than the one it was made of."""

    form: Form
    low: int
    high: int
    obligation: Obligation

    @property
    def term(self) -> Term:
        """The combination over its symbols."""
        return terms.add(*(terms.mul(factor, var(name)) for name, factor in self.form))


def combined(obligation: Obligation) -> Combination | None:
    """The first combination that takes all its symbols out of the goal, None where there is none."""
    wide = {v.name for v in obligation.variables if v.role == "symbol" and (v.count is None or v.count > MANY)}
    if len(wide & terms.variables(obligation.goal)) < 2:
        return None
    whole = terms.normal(obligation.goal)
    parts, _ = relevant(terms.normal(obligation.premise), whole)
    for form, (low, high) in _bounded(parts):
        names = {name for name, _ in form}
        if not names <= wide or high - low >= MANY:
            continue
        goal = _without(whole, form)
        if terms.variables(goal) & names:
            continue
        kept = (part for part in (_without(part, form) for part in parts) if not terms.variables(part) & names)
        own = Variable(NAME, "symbol", low, high)
        others = (own if v.name == form[0][0] else v for v in obligation.variables if v.name == form[0][0] or v.name not in names)
        return Combination(form, low, high, replace(obligation, variables=tuple(others), premise=terms.conj(*kept), goal=goal))
    return None


def decide(obligation: Obligation, settle: Callable[[Obligation], Outcome]) -> tuple[Outcome | None, Obligation]:
    """(the outcome where the combination proves the goal, else None; the obligation left, whose goal may be one about sums alone)."""
    found = combined(obligation)
    if found is None:
        return None, obligation
    outcome = settle(found.obligation)
    if outcome.holds is not False:
        return (outcome, obligation) if outcome.holds else (None, obligation)
    others = terms.variables(found.obligation.goal) | terms.variables(found.obligation.premise)
    if found.high - found.low >= FEW or any(v.role == "symbol" and v.name != NAME and v.name in others for v in obligation.variables):
        return None, obligation
    failing: list[int] = []
    for value in range(found.low, found.high + 1):
        held = (terms.substitute(term, {NAME: value}) for term in (found.obligation.premise, found.obligation.goal))
        there = settle(Obligation(tuple(v for v in found.obligation.variables if v.name != NAME), *held, lane=obligation.lane))
        if there.holds is None:
            return None, obligation
        if not there.holds:
            failing.append(value)
    return None, replace(obligation, goal=terms.conj(*(terms.ne(found.term, value) for value in failing)))


def _bounded(parts: tuple[Term, ...]) -> Iterator[tuple[Form, tuple[int, int]]]:
    """Combinations of at least two variables that comparisons bound on both sides."""
    ends: dict[Form, tuple[int | None, int | None]] = {}
    for part in parts:
        for form, low, high in _bounds(part):
            least, most = ends.get(form, (None, None))
            least = low if least is None else least if low is None else max(least, low)
            most = high if most is None else most if high is None else min(most, high)
            ends[form] = least, most
    yield from ((form, (low, high)) for form, (low, high) in ends.items() if low is not None and high is not None and low <= high)


def _bounds(part: Term) -> Iterator[tuple[Form, int | None, int | None]]:
    """(combination, low end, high end) of a comparison of sums."""
    negated = isinstance(part, Expr) and part.op == "not"
    inner = part.args[0] if negated and isinstance(part, Expr) else part
    if not isinstance(inner, Expr) or inner.op not in {"<", "<=", "=="} or (negated and inner.op == "=="):
        return
    a, b = arguments(inner)
    if negated:  # not (a < b) is b <= a
        a, b = b, a
    strict = inner.op == ("<=" if negated else "<")
    found = linear(terms.add(a, terms.mul(-1, b)))
    if found is None:
        return
    constant = found.pop("", 0) + strict  # the sum is at most -constant
    names = sorted(name for name, factor in found.items() if factor)
    if len(names) < 2:
        return
    divisor = gcd(*(found[name] for name in names)) * (1 if found[names[0]] > 0 else -1)
    form = tuple((name, found[name] // divisor) for name in names)
    if inner.op == "==":
        if constant % divisor == 0:
            yield form, -constant // divisor, -constant // divisor
    elif divisor > 0:
        yield form, None, -constant // divisor
    else:
        yield form, -(constant // divisor), None


def linear(term: Term) -> dict[str, int] | None:
    """A term as a sum of variables times integers, the constant under ""; None where it is none."""
    if isinstance(term, int):
        return {"": int(term)}
    if term.op == "var":
        return {str(term.args[0]): 1}
    if term.op == "*" and isinstance(term.args[0], int):
        found = linear(arguments(term)[1])
        return None if found is None else {name: term.args[0] * factor for name, factor in found.items()}
    if term.op != "+":
        return None
    total: dict[str, int] = {}
    for arg in arguments(term):
        found = linear(arg)
        if found is None:
            return None
        for name, factor in found.items():
            total[name] = total.get(name, 0) + factor
    return total


def _without(term: Term, form: Form) -> Term:
    """The term with the combination as a variable, wherever a sum holds a multiple of it."""
    factors, memo = dict(form), dict[Term, Term]()

    def whole(node: Expr) -> Term | None:
        """A sum in which the names stand for a multiple of the combination."""
        total: dict[str, int] = {}
        rest: list[Term] = []
        for arg in arguments(node):
            found = linear(arg)
            if found is None or not found.keys() & factors.keys():
                rest.append(arg)
                continue
            for name, factor in found.items():
                total[name] = total.get(name, 0) + factor
        multiple = total.get(form[0][0], 0) // form[0][1]
        if not multiple or any(total.get(name, 0) != multiple * factor for name, factor in factors.items()):
            return None
        others = (terms.mul(factor, var(name) if name else 1) for name, factor in total.items() if name not in factors)
        return terms.add(terms.mul(multiple, var(NAME)), *others, *(walk(one, factors) for one in rest))

    def walk(node: Term, names: Mapping[str, int]) -> Term:
        if not isinstance(node, Expr) or not terms.variables(node) & names.keys():
            return node
        if node not in memo:
            summed = whole(node) if node.op == "+" else None
            memo[node] = summed if summed is not None else rebuilt(node, names)
        return memo[node]

    def rebuilt(node: Expr, names: Mapping[str, int]) -> Term:
        if node.op == "var":
            return node
        if node.op in {"table", "true_in"}:
            maker: Callable[..., Term] = terms.table if node.op == "table" else terms.true_in
            return maker(walk(arguments(node)[0], names), terms.entries(node))
        return terms.build(node.op, tuple(walk(arg, names) for arg in arguments(node)))

    return walk(term, factors)
