"""Formulas in unbounded integers: for products of variables that would need wide bit-vectors. Nothing can wrap here.

A division by a constant is a digit: x = c*q + r with 0 <= r < c. Bit operations are taken apart into bits.
"""

from __future__ import annotations

from tilecheck.certificates.formula import Formula, NoForm, ends, has_product
from tilecheck.certificates.text import Text, any_of, comment, looked_up, shown, variable_name
from tilecheck.prove.obligation import Variable
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Expr, Term, entries

BITS = 72
SHIFTS = 64
JOIN = {"^": "xor", "&": "and", "|": "or"}


class Integers:
    """Unbounded integers. formula: whose intervals say how many bits a bit operation has, and which divisors are positive."""

    sort = "Int"

    def __init__(self, formula: Formula) -> None:
        self.formula = formula

    def number(self, value: int) -> str:
        """A literal."""
        return str(value) if value >= 0 else f"(- {-value})"

    def compare(self, op: str, a: str, b: str) -> str:
        """A comparison."""
        return f"({'=' if op == '==' else op} {a} {b})"

    def operation(self, node: Expr, args: list[str], text: Text) -> str:
        """One operation; digits and bits are declared and defined in `text`."""
        op = node.op
        if op in {"+", "-", "*"}:
            return f"({op} {' '.join(args)})"
        if op == "select":
            return f"(ite {' '.join(args)})"
        if op == "table":
            return looked_up(self, args[0], entries(node))
        a, b = args
        if op in {"min", "max"}:
            return f"(ite (<= {a} {b}) {a if op == 'min' else b} {b if op == 'min' else a})"
        if op in JOIN:
            return self._bits(node, a, b, text)
        if op in {"<<", ">>"}:
            return self._shifted(node, a, b, text)
        return self._divided(node, a, b, text)

    def _digit(self, text: Text, a: str, radix: int) -> tuple[str, str]:
        """(a div radix, a mod radix) for a positive constant."""
        text.count += 1
        quotient, remainder = f"q{text.count}", f"r{text.count}"
        text.lines.extend(f"(declare-const {name} Int)" for name in (quotient, remainder))
        text.lines.append(f"(assert (and (= {a} (+ (* {radix} {quotient}) {remainder})) (<= 0 {remainder}) (< {remainder} {radix})))")
        return quotient, remainder

    def _divided(self, node: Expr, a: str, b: str, text: Text) -> str:
        divisor = terms.arguments(node)[1]
        if isinstance(divisor, int) and divisor > 0 and node.op in {"//", "%"}:
            return self._digit(text, a, divisor)[0 if node.op == "//" else 1]
        floored = f"(ite (> {b} 0) (div {a} {b}) (div (- {a}) (- {b})))"
        if node.op in {"//", "%"}:
            return floored if node.op == "//" else f"(- {a} (* {b} {floored}))"
        truncated = f"(ite (= (>= {a} 0) (> {b} 0)) (div (abs {a}) (abs {b})) (- (div (abs {a}) (abs {b}))))"
        return truncated if node.op == "tdiv" else f"(- {a} (* {b} {truncated}))"

    def _bits(self, node: Expr, a: str, b: str, text: Text) -> str:
        sides = terms.arguments(node)
        low = min(self.formula.interval(side)[0] for side in sides)
        high = max(self.formula.interval(side)[1] for side in sides)
        width = max(high, -low - 1, 0).bit_length() + (1 if low < 0 else 0)
        if width > BITS:
            raise NoForm(f"a bit operation of {width} bits in integers")
        bits = [self._bits_of(side, name, width, text) for side, name in zip(sides, (a, b), strict=True)]
        weights = [(-1 if low < 0 and k == width - 1 else 1) << k for k in range(width)]
        ones = (f"(ite ({JOIN[node.op]} {one} {other}) {self.number(weight)} 0)" for one, other, weight in zip(*bits, weights, strict=True))
        parts = list(ones)
        return f"(+ {' '.join(parts)})" if len(parts) > 1 else parts[0] if parts else "0"

    def _bits_of(self, side: Term, name: str, width: int, text: Text) -> list[str]:
        """Whether each bit of a number is 1."""
        if isinstance(side, int):
            return ["true" if side >> k & 1 else "false" for k in range(width)]
        found: list[str] = []
        rest = name
        for _ in range(width):
            rest, bit = self._digit(text, rest, 2)
            found.append(f"(= {bit} 1)")
        return found

    def _shifted(self, node: Expr, a: str, b: str, text: Text) -> str:
        amount = terms.arguments(node)[1]
        low, high = self.formula.interval(amount)
        if high > (terms.MAX_SHIFT if isinstance(amount, int) else SHIFTS):
            raise NoForm(f"a shift by up to {high} bits in integers")
        result = self.number(0)
        for k in range(max(high, 0), max(low, 0) - 1, -1):
            there = f"(* {1 << k} {a})" if node.op == "<<" else self._digit(text, a, 1 << k)[0]
            result = there if isinstance(amount, int) else f"(ite (= {b} {k}) {there} {result})"
        return result


def logic(formula: Formula) -> str:
    """The logic that a formula needs."""
    return "QF_NIA" if has_product(formula) or any(node.op in {"tdiv", "tmod"} for node in formula.nodes) else "QF_LIA"


def asked(formula: Formula) -> list[str]:
    """The formula in integers: declarations, ranges, premise, negated goal."""
    encoding = Integers(formula)
    text = Text(encoding)
    for variable in formula.variables:
        text.lines.append(f"(declare-const {variable_name(variable.name)} Int)")
        text.lines.extend(f"(assert {one})" for one in _range(variable, encoding, text))
    for part in formula.premise:
        name = text.of(part)
        text.lines.extend(comment(f"premise: {shown(part)}"))
        text.lines.append(f"(assert {name})")
    name = text.of(formula.goal)
    text.lines.extend(comment(f"the goal does not hold: {shown(formula.goal)}"))
    text.lines.append(f"(assert (not {name}))")
    return text.lines


def _range(variable: Variable, encoding: Integers, text: Text) -> list[str]:
    name = variable_name(variable.name)
    if variable.values is not None:
        return [any_of(f"(= {name} {encoding.number(value)})" for value in variable.values)]
    low, high = ends(variable)
    found = [f"(<= {encoding.number(low)} {name} {encoding.number(high)})"]
    if variable.step != 1:
        text.lines.append(f"(declare-const {name}.steps Int)")
        found.append(f"(= {name} (* {variable.step} {name}.steps))")
    return found
