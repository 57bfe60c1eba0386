"""Intervals: the smallest and largest value a term can take, computed in Python ints so that nothing wraps."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tilecheck.symbolic.terms import Expr, Term, entries, subterms, trunc_div

Interval = tuple[int, int]
HUGE = 1 << 300
"""Stands for no bound; saturating, so that shifts and products of it stay finite."""


def bounds(term: Term, ranges: Mapping[str, Interval]) -> Interval:
    """An interval that holds every value of `term` while each variable stays in its range."""
    return all_bounds(term, ranges)[term] if isinstance(term, Expr) else (int(term), int(term))


def all_bounds(term: Term, ranges: Mapping[str, Interval]) -> dict[Term, Interval]:
    """The interval of every node of the term."""
    found: dict[Term, Interval] = {}

    def of(node: Term) -> Interval:
        return found[node] if isinstance(node, Expr) else (int(node), int(node))

    for node in subterms(term):
        assert isinstance(node, Expr)
        found[node] = _clamp(_node(node, [of(arg) for arg in node.args if isinstance(arg, int | Expr)], ranges))
    return found


def _clamp(interval: Interval) -> Interval:
    low, high = interval
    return max(-HUGE, min(low, HUGE)), min(HUGE, max(high, -HUGE))


def _node(node: Expr, args: list[Interval], ranges: Mapping[str, Interval]) -> Interval:
    op = node.op
    if op == "var":
        return ranges[str(node.args[0])]
    if node.is_truth:
        return 0, 1
    if op == "+":
        return sum(a[0] for a in args), sum(a[1] for a in args)
    if op == "select":
        return min(args[1][0], args[2][0]), max(args[1][1], args[2][1])
    if op == "table":
        values = entries(node)
        return min(values), max(values)
    return _binary(op, args)


def node_bounds(op: str, args: list[Interval]) -> Interval:
    """The interval of a binary operation on values in two intervals, saturating at HUGE."""
    return _clamp(_binary(op, args))


def _binary(op: str, args: list[Interval]) -> Interval:
    (a0, a1), (b0, b1) = args
    if op == "-":
        return a0 - b1, a1 - b0
    if op == "*":
        corners = (a0 * b0, a0 * b1, a1 * b0, a1 * b1)
        return min(corners), max(corners)
    if op == "min":
        return min(a0, b0), min(a1, b1)
    if op == "max":
        return max(a0, b0), max(a1, b1)
    if op in {"//", "tdiv"}:
        return _division(op, args)
    if op in {"%", "tmod"}:
        return _remainder(op, args)
    if op in {"<<", ">>"}:
        return _shift(op, args)
    width = max(abs(v).bit_length() for v in (a0, a1, b0, b1))
    if min(a0, b0) >= 0:
        return 0, min(a1, b1) if op == "&" else (1 << width) - 1
    return -(1 << width), (1 << width) - 1


def _division(op: str, args: list[Interval]) -> Interval:
    (a0, a1), (b0, b1) = args
    if b0 <= 0:
        if b1 <= 0:
            largest = max(abs(a0), abs(a1))
            return -largest, largest
        if b0 < 0:
            largest = max(abs(a0), abs(a1))
            return -largest, largest
        b0 = 1
    divide: Callable[[int, int], int] = trunc_div if op == "tdiv" else lambda a, b: a // b
    corners = [divide(a, b) for a in (a0, a1) for b in (b0, b1)]
    return min(*corners, 0) if a0 < 0 else min(corners), max(corners) if a1 < 0 else max(*corners, 0)


def _remainder(op: str, args: list[Interval]) -> Interval:
    (a0, a1), (b0, b1) = args
    if b0 <= 0 or op == "tmod":
        largest = max(abs(b0), abs(b1), 1)
        low, high = -(largest - 1), largest - 1
        return (0 if a0 >= 0 and op == "tmod" else low), (min(high, max(a1, 0)) if op == "tmod" else high)
    if a0 >= 0 and a1 < b0:
        return a0, a1
    return 0, b1 - 1


def _shift(op: str, args: list[Interval]) -> Interval:
    (a0, a1), (b0, b1) = args
    low, high = max(0, min(b0, 600)), max(0, min(b1, 600))
    corners = [a << b if op == "<<" else a >> b for a in (a0, a1) for b in (low, high)]
    return min(corners), max(corners)
