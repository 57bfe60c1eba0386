"""Coordinates as sums of bounded digits, so that flattening and splitting them again leaves no division where boundaries align."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from tilecheck.layout.poly import quotient, same
from tilecheck.symbolic.bounds import HUGE, bounds
from tilecheck.symbolic.terms import Expr, Term, add, floordiv, mod, mul, normal, variables

Ranges = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Part:
    """coefficient * term, where 0 <= term < extent if an extent is known; `origin` is what a quotient or remainder was taken of."""

    term: Expr
    coefficient: Term
    extent: Term | None
    origin: Sum | None = None

    def times(self, coefficient: Term) -> Part:
        """The same term with another coefficient."""
        return Part(self.term, coefficient, self.extent, self.origin)

    @property
    def span(self) -> tuple[int, int] | None:
        """The smallest and the largest value, where they are known integers."""
        if isinstance(self.coefficient, int) and isinstance(self.extent, int):
            far = self.coefficient * (self.extent - 1)
            return min(0, far), max(0, far)
        return None


@dataclass(frozen=True, slots=True)
class Sum:
    """constant + the sum of the parts."""

    parts: tuple[Part, ...] = ()
    constant: int = 0

    def term(self) -> Term:
        """The sum as one term."""
        return add(*(mul(part.coefficient, part.term) for part in self.parts), self.constant)

    def scaled(self, factor: Term) -> Sum:
        """factor * self."""
        if isinstance(factor, int):
            if factor == 0:
                return Sum()
            return Sum(tuple(part.times(mul(part.coefficient, factor)) for part in self.parts), self.constant * factor)
        factor = normal(factor)
        if isinstance(factor, int):
            return self.scaled(factor)
        parts = [part.times(mul(part.coefficient, factor)) for part in self.parts]
        if self.constant:
            parts.append(Part(factor, self.constant, None))
        return Sum(tuple(parts))

    def plus(self, other: Sum) -> Sum:
        """self + other; parts of one term are merged, and k * (x // k) + x % k becomes x."""
        if not other.parts:
            return Sum(self.parts, self.constant + other.constant)
        found: dict[Expr, Part] = {part.term: part for part in self.parts}
        for part in other.parts:
            old = found.get(part.term)
            if old is None:
                found[part.term] = part
                continue
            coefficient = add(old.coefficient, part.coefficient)
            if isinstance(coefficient, int) and coefficient == 0:
                del found[part.term]
            else:
                found[part.term] = old.times(coefficient)
        return _rejoined(found, self.constant + other.constant)

    @property
    def span(self) -> tuple[int, int] | None:
        """The smallest and the largest value, where they are known integers."""
        low = high = self.constant
        for part in self.parts:
            ends = part.span
            if ends is None:
                return None
            low, high = low + ends[0], high + ends[1]
        return low, high


def _rejoined(found: dict[Expr, Part], constant: int) -> Sum:
    """The sum with every c*k * (x // k) + c * (x % k) replaced by c * x."""
    for rest in found.values():
        if rest.origin is None or rest.term.op != "%":
            continue
        x, k = rest.term.args
        whole = found.get(Expr("//", (x, k)))
        if whole is not None and isinstance(k, int | Expr) and same(whole.coefficient, mul(k, rest.coefficient)):
            others = tuple(part for part in found.values() if part is not rest and part is not whole)
            return Sum(others, constant).plus(rest.origin.scaled(rest.coefficient))
    return Sum(tuple(found.values()), constant)


def coordinate(value: Term, extent: Term) -> Sum:
    """A coordinate known to lie in [0, extent)."""
    if isinstance(value, int):
        return Sum((), int(value))
    return Sum((Part(value, 1, extent),))


def free(value: Term, ranges: Ranges) -> Sum:
    """Any term, taken apart into the parts of its sum; ranges that follow from the term itself are found."""
    value = normal(value)
    if isinstance(value, int):
        return Sum((), int(value))
    parts: list[Part] = []
    constant = 0
    for piece in value.args if value.op == "+" else (value,):
        if isinstance(piece, int):
            constant += piece
            continue
        assert isinstance(piece, Expr)
        first, last = piece.args[0], piece.args[-1]
        if piece.op == "*" and isinstance(first, int) and isinstance(last, Expr):
            parts.append(Part(last, first, _extent(last, ranges)))
        else:
            parts.append(Part(piece, 1, _extent(piece, ranges)))
    return Sum((), constant).plus(Sum(tuple(parts)))


def _extent(term: Expr, ranges: Ranges) -> int | None:
    """e with 0 <= term < e, if the term's own form shows one."""
    known = {name: ranges.get(name, (-HUGE, HUGE)) for name in variables(term)}
    low, high = bounds(term, known)
    return high + 1 if low >= 0 and high < HUGE else None


Digit = tuple[Sum, Term]
"""A value and its extent: 0 <= value < extent, given that coordinates and slices are in bounds."""


def regroup(digits: Sequence[Digit], extents: Sequence[Term], ranges: Ranges) -> list[Sum]:
    """The digits of the same row-major index in another radix; the products of the extents are equal."""
    source = [digit for digit in digits if not _one(digit[1])]
    result: list[Sum] = []
    for target in reversed(extents):
        if _one(target):
            result.append(Sum())
            continue
        value, extent = source.pop() if source else (Sum(), 1)
        while not same(extent, target):
            left = quotient(extent, target)
            if left is not None:
                low, high = split(value, target, ranges)
                source.append((high, left))
                value = low
                break
            if not source:
                break
            above, size = source.pop()
            value = above.scaled(extent).plus(value)
            extent = mul(extent, size)
        result.append(value)
    result.reverse()
    return result


def _one(extent: Term) -> bool:
    return isinstance(extent, int) and extent == 1


def split(value: Sum, radix: Term, ranges: Ranges) -> tuple[Sum, Sum]:
    """(value mod radix, value div radix), rounded down; a division stays only where a part is cut or its range is unknown."""
    if isinstance(radix, int):
        return _split_int(_opened(value, radix, ranges), radix)
    high: list[Part] = []
    low: list[Part] = []
    for part in value.parts:
        whole = quotient(part.coefficient, radix)
        if whole is None:
            low.append(part)
        else:
            high.append(part.times(whole))
    rest = Sum(tuple(low), value.constant)
    if _fills(rest, radix):
        return rest, Sum(tuple(high))
    cut = rest.term()
    return _atom(mod(cut, radix), radix, rest), Sum(tuple(high)).plus(_atom(floordiv(cut, radix), None, rest))


def _atom(term: Term, extent: Term | None, origin: Sum) -> Sum:
    return Sum((Part(term, 1, extent, origin),)) if isinstance(term, Expr) else Sum((), int(term))


def _fills(rest: Sum, radix: Term) -> bool:
    """Whether the parts are the digits of a number below `radix`: each weight is the product of the extents under it.

    The last product divides the radix; both are positive, as some coordinate is in range.
    """
    if rest.constant:
        return False
    weight: Term = 1
    parts = list(rest.parts)
    while parts:
        for part in parts:
            if part.extent is not None and same(part.coefficient, weight):
                weight = mul(weight, part.extent)
                parts.remove(part)
                break
        else:
            return False
    return quotient(radix, weight) is not None


def _opened(value: Sum, radix: int, ranges: Ranges) -> Sum:
    """The sum with parts that are sums themselves taken apart, where that brings out a multiple of the radix."""
    total = Sum((), value.constant)
    for part in value.parts:
        inner = Sum((part,))
        if isinstance(part.coefficient, int) and part.coefficient % radix and part.term.op in {"+", "*"}:
            inside = free(part.term, ranges).scaled(part.coefficient)
            if (inside.constant % radix == 0 and inside.constant) or any(_multiple(piece.coefficient, radix) for piece in inside.parts):
                inner = inside
        total = total.plus(inner)
    return total


def _multiple(coefficient: Term, radix: int) -> bool:
    return quotient(coefficient, radix) is not None


def _split_int(value: Sum, radix: int) -> tuple[Sum, Sum]:
    high: list[Part] = []
    low: list[Part] = []
    for part in value.parts:
        whole = quotient(part.coefficient, radix)
        if whole is None:
            low.append(part)
        else:
            high.append(part.times(whole))
    carry, constant = divmod(value.constant, radix)
    for rest, extra in _candidates(low, constant, radix):
        ends = rest.span
        if ends is not None and ends[0] // radix == ends[1] // radix:
            more = ends[0] // radix
            return Sum(rest.parts, rest.constant - more * radix), Sum(tuple(high), carry + more).plus(extra)
    return _divided(Sum(tuple(low), constant), Sum(tuple(high), carry), radix)


def _candidates(low: list[Part], constant: int, radix: int) -> Iterable[tuple[Sum, Sum]]:
    """The low parts as they are, then with every coefficient reduced below the radix and the surplus handed up."""
    yield Sum(tuple(low), constant), Sum()
    if any(isinstance(part.coefficient, int) and not 0 <= part.coefficient < radix for part in low):
        kept: list[Part] = []
        moved: list[Part] = []
        for part in low:
            if not isinstance(part.coefficient, int):
                return
            kept.append(part.times(part.coefficient % radix))
            if part.coefficient // radix:
                moved.append(part.times(part.coefficient // radix))
        yield Sum(tuple(kept), constant), Sum(tuple(moved))


def _divided(rest: Sum, high: Sum, radix: int) -> tuple[Sum, Sum]:
    """With g dividing the radix and all coefficients, rest = g*x + c: rest mod radix = g*(x mod radix/g) + c, rest div radix = x div radix/g."""
    g = radix
    for part in rest.parts:
        g = gcd(g, part.coefficient) if isinstance(part.coefficient, int) else 1
    left = rest.constant % g
    parts = rest.parts if g == 1 else tuple(part.times(_exact(part.coefficient, g)) for part in rest.parts)
    inner = Sum(parts, rest.constant // g)
    ends = inner.span
    x, small = inner.term(), radix // g
    upper = ends[1] // small + 1 if ends is not None and ends[0] >= 0 else None
    remainder, whole = _atom(mod(x, small), small, inner), _atom(floordiv(x, small), upper, inner)
    return remainder.scaled(g).plus(Sum((), left)), high.plus(whole)


def _exact(coefficient: Term, g: int) -> Term:
    assert isinstance(coefficient, int)
    return coefficient // g
