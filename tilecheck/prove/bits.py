"""The bits tier: terms that are linear over GF(2) in the bits of their variables. It proves equalities, or abstains.

A term is carry-free where it adds numbers without a common bit and multiplies by powers of two; then addition is XOR, and XOR, shifts, quotients and
remainders by powers of two are linear maps of bits: two such terms are equal for all values when they have the same constant and the same column
for every bit of every variable. A variable counts as every number of its width: more than its values, never fewer.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilecheck.prove.domain import environment
from tilecheck.prove.obligation import Obligation, relevant
from tilecheck.symbolic import terms
from tilecheck.symbolic.domain import Env, Known
from tilecheck.symbolic.terms import Expr, Term, arguments

WIDEST = 128
Bit = tuple[str, int]


class _NotLinear(Exception):  # noqa: N818 (control flow inside this file)
    """The term is not linear, or these rules do not show it."""


class _Linear:
    """constant XOR the columns of the bits that are set."""

    __slots__ = ("columns", "constant", "support")

    def __init__(self, constant: int, columns: Mapping[Bit, int]) -> None:
        self.constant = constant
        self.columns = columns
        self.support = constant
        for column in columns.values():
            self.support |= column

    def mapped(self, left: int = 0, mask: int = -1) -> _Linear:
        """Shifted (left, or right where negative) and masked."""

        def one(value: int) -> int:
            return (value << left if left >= 0 else value >> -left) & mask

        return _Linear(one(self.constant), {bit: moved for bit, column in self.columns.items() if (moved := one(column))})

    def xor(self, other: _Linear) -> _Linear:
        columns = dict(self.columns)
        for bit, column in other.columns.items():
            together = columns.pop(bit, 0) ^ column
            if together:
                columns[bit] = together
        return _Linear(self.constant ^ other.constant, columns)


def proves(obligation: Obligation) -> bool:
    """Whether the goal is a conjunction of equalities between terms that are the same linear map."""
    goals = terms.conjuncts(obligation.goal)
    if not all(isinstance(goal, Expr) and goal.op == "==" for goal in goals):
        return False
    parts, _ = relevant(obligation.premise, obligation.goal)
    reader = _Reader(environment(obligation.variables, parts))
    try:
        return all(reader.equal(*arguments(goal)) for goal in goals if isinstance(goal, Expr))
    except _NotLinear:
        return False


class _Reader:
    def __init__(self, env: Env) -> None:
        self.env = env
        self.memo: dict[Term, _Linear] = {}

    def equal(self, a: Term, b: Term) -> bool:
        one, other = self.read(a), self.read(b)
        return one.constant == other.constant and one.columns == other.columns

    def read(self, term: Term) -> _Linear:
        if isinstance(term, int):
            if term < 0:
                raise _NotLinear
            return _Linear(int(term), {})
        if term not in self.memo:
            self.memo[term] = self.node(term)
        return self.memo[term]

    def node(self, node: Expr) -> _Linear:
        op = node.op
        if op == "var":
            return self.variable(str(node.args[0]))
        if node.is_truth or op in {"select", "table", "min", "max", "tdiv", "tmod", "-"}:
            raise _NotLinear
        args = [self.read(arg) for arg in arguments(node)]
        if op == "+":
            total = args[0]
            for one in args[1:]:
                total = _added(total, one)
            return total
        a, b = args
        if op == "*":
            factor, inner = (a, b) if not a.columns else (b, a)
            return _multiplied(inner, _constant(factor))
        if op == "^":
            return a.xor(b)
        if op == "|":
            return _added(a, b)
        if op == "&":
            mask, inner = (a, b) if not a.columns else (b, a)
            return inner.mapped(mask=_constant(mask))
        by = _constant(b)
        if op in {"<<", ">>"} and by <= WIDEST:
            return a.mapped(by if op == "<<" else -by)
        if op in {"//", "%"} and by > 0 and by & (by - 1) == 0:
            return a.mapped(1 - by.bit_length()) if op == "//" else a.mapped(mask=by - 1)
        raise _NotLinear

    def variable(self, name: str) -> _Linear:
        one: Known | None = self.env.get(name)
        if one is None or one.low < 0 or one.high.bit_length() > WIDEST:
            raise _NotLinear
        if one.modulus == 0:
            return _Linear(one.residue, {})
        step = one.modulus & -one.modulus if one.residue % (one.modulus & -one.modulus) == 0 else 1
        return _Linear(0, {(name, k): 1 << k for k in range(step.bit_length() - 1, one.high.bit_length())})


def _constant(form: _Linear) -> int:
    if form.columns:
        raise _NotLinear
    return form.constant


def _added(a: _Linear, b: _Linear) -> _Linear:
    """The sum of numbers without a common bit."""
    if a.support & b.support:
        raise _NotLinear
    return a.xor(b)


def _multiplied(form: _Linear, factor: int) -> _Linear:
    total = _Linear(0, {})
    k = 0
    while factor:
        if factor & 1:
            total = _added(total, form.mapped(k))
        factor >>= 1
        k += 1
    return total
