"""The domain tier: intervals and congruences of terms, symbols included. It proves or abstains; it never looks at a value.

A `Known` says of an integer x: low <= x <= high, and x == residue (mod modulus); modulus 0 stands for x == residue.
Sources of the transfer functions: Granger, "Static analysis of arithmetical congruences" (1989), for congruences; intervals are those of `bounds`.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import NamedTuple

from tilecheck.symbolic import terms
from tilecheck.symbolic.bounds import HUGE, node_bounds
from tilecheck.symbolic.terms import Expr, Term, arguments, entries


class Known(NamedTuple):
    """What is known of an integer: low <= x <= high and x == residue (mod modulus)."""

    low: int
    high: int
    modulus: int = 1
    residue: int = 0

    def divisible(self, by: int) -> bool:
        """Whether every such integer is a multiple of `by`."""
        return self.residue % by == 0 and self.modulus % by == 0

    def remainder(self, by: int) -> int | None:
        """The one remainder modulo `by`, None where there are several."""
        return self.residue % by if self.modulus % by == 0 else None


Env = Mapping[str, Known]
ANYTHING = Known(-HUGE, HUGE)


def constant(value: int) -> Known:
    """One integer."""
    return Known(value, value, 0, value)


def ranged(low: int, high: int, step: int = 1) -> Known:
    """The multiples of `step` from low to high."""
    return _tight(low, high, step, 0)


def joined(a: Known, b: Known) -> Known:
    """Either."""
    modulus = gcd(a.modulus, b.modulus, a.residue - b.residue)
    return Known(min(a.low, b.low), max(a.high, b.high), modulus, a.residue % modulus if modulus else a.residue)


def met(a: Known, low: int | None, high: int | None) -> Known:
    """With more bounds."""
    return _tight(a.low if low is None else max(a.low, low), a.high if high is None else min(a.high, high), a.modulus, a.residue)


def _tight(low: int, high: int, modulus: int, residue: int) -> Known:
    """The interval without the ends that the congruence excludes."""
    if modulus == 0:
        return Known(residue, residue, 0, residue)
    if modulus > 1:
        low = low if low <= -HUGE else low + (residue - low) % modulus
        high = high if high >= HUGE else high - (high - residue) % modulus
    if low == high:
        return Known(low, low, 0, low)
    return Known(low, high, modulus, residue % modulus)


def known(term: Term, env: Env, memo: dict[Term, Known] | None = None) -> Known:
    """What is known of a term where its variables are as `env` says; divisors and shift amounts are taken to be valid."""
    if isinstance(term, int):
        return Known(term, term, 0, int(term))
    if term.op == "var":
        return env.get(str(term.args[0]), ANYTHING)
    found = {} if memo is None else memo
    if term in found:
        return found[term]
    result = _node(term, env, found)
    found[term] = result
    return result


def _node(node: Expr, env: Env, memo: dict[Term, Known]) -> Known:
    op = node.op
    if node.is_truth:
        answer = truth(node, env, memo)
        return Known(0, 1) if answer is None else constant(int(answer))
    if op == "table":
        values = entries(node)
        first = constant(values[0])
        for value in values[1:]:
            first = joined(first, constant(value))
        return first
    parts = _remainders(list(arguments(node))) if op == "+" else arguments(node)
    args = [known(arg, env, memo) for arg in parts]
    if op == "select":
        answer = truth(arguments(node)[0], env, memo)
        return joined(args[1], args[2]) if answer is None else args[1] if answer else args[2]
    if op == "+":
        return _sum(args)
    a, b = args
    if a.modulus == 0 and op == "*":
        a, b = b, a
    if b.modulus == 0 and b.residue > 0 and a.modulus and op in {"*", "%"}:
        found = _scaled(a, b.residue) if op == "*" else _reduced(a, b.residue)
        if found is not None:
            return found
    low, high = node_bounds(op, [(a.low, a.high), (b.low, b.high)])
    modulus, residue = _congruence(op, a, b)
    return _tight(low, high, modulus, residue)


def _remainders(parts: list[Term]) -> list[Term]:
    """The parts of a sum with k*x - k*c*(x // c) as k*(x % c)."""
    for part in parts:
        if not isinstance(part, Expr) or part.op != "*" or not isinstance(part.args[0], int):
            continue
        weight, quotient = arguments(part)
        if not isinstance(quotient, Expr) or quotient.op != "//" or not isinstance(weight, int):
            continue
        dividend, divisor = arguments(quotient)
        if not isinstance(divisor, int) or divisor <= 0 or weight % divisor:
            continue
        whole = terms.mul(-weight // divisor, dividend)
        if whole in parts:
            rest = [one for one in parts if one is not part]
            rest.remove(whole)
            return _remainders([*rest, terms.mul(-weight // divisor, terms.mod(dividend, divisor))])
    return parts


def _scaled(one: Known, by: int) -> Known | None:
    """A multiple, by a positive number; None where an end is too large to write."""
    low, high = one.low * by, one.high * by
    return Known(low, high, one.modulus * by, one.residue * by) if low > -HUGE and high < HUGE else None


def _reduced(one: Known, by: int) -> Known:
    """The remainder by a positive number."""
    low, high = (one.low, one.high) if one.low >= 0 and one.high < by else (0, by - 1)
    modulus, residue = (0, one.residue % by) if one.modulus % by == 0 else (gcd(one.modulus, by), one.residue)
    return _tight(low, high, modulus, residue)


def _sum(args: list[Known]) -> Known:
    low = high = modulus = residue = 0
    for one in args:
        low, high = low + one.low, high + one.high
        modulus, residue = gcd(modulus, one.modulus), residue + one.residue
    return _tight(max(-HUGE, low), min(HUGE, high), modulus, residue)


def _congruence(op: str, a: Known, b: Known) -> tuple[int, int]:
    if op == "-":
        return gcd(a.modulus, b.modulus), a.residue - b.residue
    if op == "*":
        return gcd(a.modulus * b.modulus, a.modulus * b.residue, b.modulus * a.residue), a.residue * b.residue
    if op in {"min", "max"}:
        return gcd(a.modulus, b.modulus, a.residue - b.residue), a.residue
    if b.modulus == 0:
        by = b.residue
        if op == "<<" and 0 <= by <= terms.MAX_SHIFT:
            return a.modulus << by, a.residue << by
        if op == ">>" and 0 <= by <= terms.MAX_SHIFT:
            op, by = "//", 1 << by
        if op in {"tdiv", "tmod"} and a.low >= 0:
            op = "//" if op == "tdiv" else "%"
        if op == "//" and by > 0:
            return (a.modulus // by, a.residue // by) if a.modulus % by == 0 else (1, 0)
        if op == "%" and by > 0:
            return (0, a.residue % by) if a.modulus % by == 0 else (gcd(a.modulus, by), a.residue)
    if op in {"^", "&", "|"}:
        return _bitwise(op, a, b)
    return 1, 0


def _bitwise(op: str, a: Known, b: Known) -> tuple[int, int]:
    """The low bits that are known of both; of `&`, those that one side has as zeros too."""
    both = gcd(_power(a.modulus), _power(b.modulus))
    x, y = a.residue, b.residue
    residue = x ^ y if op == "^" else x & y if op == "&" else x | y
    if op == "&":
        zeros = max((_power(gcd(one.modulus, one.residue)) or 1) for one in (a, b))
        if both and zeros > both:
            return zeros, 0
    return both, residue


def _power(modulus: int) -> int:
    """The largest power of two that divides it (0 for 0, an exact value)."""
    return modulus & -modulus


def truth(term: Term, env: Env, memo: dict[Term, Known] | None = None) -> bool | None:
    """Whether a condition holds for all values, for none (False), or nobody knows (None)."""
    if isinstance(term, int):
        return bool(term)
    found = {} if memo is None else memo
    op = term.op
    if op in {"and", "or"}:
        answers = [truth(arg, env, found) for arg in arguments(term)]
        ends = op == "or"
        return ends if ends in answers else None if None in answers else not ends
    if op == "not":
        answer = truth(arguments(term)[0], env, found)
        return None if answer is None else not answer
    if op not in {"==", "<", "<="}:
        return None
    first, second = arguments(term)
    return _compared(op, known(first, env, found), known(second, env, found))


def _compared(op: str, a: Known, b: Known) -> bool | None:
    if op == "==":
        if a.modulus == 0 and b.modulus == 0:
            return a.residue == b.residue
        shared = gcd(a.modulus, b.modulus)
        apart = a.high < b.low or b.high < a.low or (shared > 1 and (a.residue - b.residue) % shared != 0)
        return False if apart else None
    if op == "<":
        return True if a.high < b.low else False if a.low >= b.high else None
    return True if a.high <= b.low else False if a.low > b.high else None


def stays_inside(term: Term, env: Env, low: int, high: int, memo: dict[Term, Known]) -> bool:
    """Whether every intermediate result of a term, as written, surely lies in low..high, every divisor is positive, every shift amount fits."""
    if isinstance(term, int):
        return isinstance(term, bool) or low <= term <= high
    if term.op == "var":
        one = known(term, env)
        return low <= one.low and one.high <= high
    args = list(arguments(term))
    if not all(stays_inside(arg, env, low, high, memo) for arg in args):
        return False
    if term.op in {"//", "%", "tdiv", "tmod"} and known(args[1], env, memo).low <= 0:
        return False
    if term.op in {"<<", ">>"}:
        by = known(args[1], env, memo)
        if by.low < 0 or by.high > terms.MAX_SHIFT:
            return False
    one = known(term, env, memo)
    return term.is_truth or (low <= one.low and one.high <= high)
