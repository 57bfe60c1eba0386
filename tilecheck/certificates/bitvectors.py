"""Formulas in bit-vectors of one width, and beside them the proof that at this width nothing wraps.

The width holds the claimed interval of every node. The first text asks the formula at this width; the second asks whether a step of
arithmetic can leave the claimed interval of its result while its arguments keep theirs, with the step computed at twice the width, which
holds the exact result of any operation on two numbers of the first. Where both are unsatisfiable the formula has no solution in integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilecheck.certificates.formula import DIVISIONS, Formula, NoForm, ends
from tilecheck.certificates.text import Text, all_of, any_of, comment, looked_up, shown, variable_name
from tilecheck.prove.obligation import Variable
from tilecheck.symbolic import terms
from tilecheck.symbolic.bounds import Interval
from tilecheck.symbolic.terms import Expr, Term, entries, var

WIDEST = 160
LOGIC = "QF_BV"
PLAIN = {"+": "bvadd", "-": "bvsub", "*": "bvmul", "^": "bvxor", "&": "bvand", "|": "bvor", "<<": "bvshl", ">>": "bvashr"}
COMPARED = {"==": "=", "<": "bvslt", "<=": "bvsle"}
TRUNCATING = {"tdiv": "bvsdiv", "tmod": "bvsrem"}


@dataclass(frozen=True, slots=True)
class BitVectors:
    """Signed bit-vectors of one width. formula: whose claimed intervals say which dividends are never negative."""

    width: int
    formula: Formula

    @property
    def sort(self) -> str:
        """The sort of this width."""
        return f"(_ BitVec {self.width})"

    def number(self, value: int) -> str:
        """A literal; it fits the width."""
        return f"(_ bv{value} {self.width})" if value >= 0 else f"(bvneg (_ bv{-value} {self.width}))"

    def compare(self, op: str, a: str, b: str) -> str:
        """A signed comparison."""
        return f"({COMPARED[op]} {a} {b})"

    def between(self, interval: Interval, text: str) -> str:
        """low <= text <= high."""
        return f"(and (bvsle {self.number(interval[0])} {text}) (bvsle {text} {self.number(interval[1])}))"

    def operation(self, node: Expr, args: list[str], text: Text) -> str:
        """One operation, exact where its result fits."""
        del text
        op = node.op
        if op == "+":
            return _chain("bvadd", args)
        if op == "select":
            return f"(ite {' '.join(args)})"
        if op == "table":
            return looked_up(self, args[0], entries(node))
        a, b = args
        if op in {"min", "max"}:
            return f"(ite (bvsle {a} {b}) {a if op == 'min' else b} {b if op == 'min' else a})"
        if op in PLAIN:
            return f"({PLAIN[op]} {a} {b})"
        if op in TRUNCATING:
            return f"({TRUNCATING[op]} {a} {b})"
        return self._floored(node, a, b)

    def _floored(self, node: Expr, a: str, b: str) -> str:
        """// and %, rounded down."""
        dividend, divisor = terms.arguments(node)
        quotient = node.op == "//"
        if not isinstance(divisor, int) or divisor <= 0:
            if not quotient:
                return f"(bvsmod {a} {b})"
            down = (
                f"(and (distinct (bvsrem {a} {b}) {self.number(0)}) (distinct (bvslt {a} {self.number(0)}) (bvslt {b} {self.number(0)})))"
            )
            return f"(ite {down} (bvsub (bvsdiv {a} {b}) {self.number(1)}) (bvsdiv {a} {b}))"
        if divisor & (divisor - 1) == 0:
            bits = divisor.bit_length() - 1
            return f"(bvashr {a} {self.number(bits)})" if quotient else f"(bvand {a} {self.number(divisor - 1)})"
        if self.formula.interval(dividend)[0] >= 0:
            return f"({'bvudiv' if quotient else 'bvurem'} {a} {b})"
        return f"(ite (bvslt {a} {self.number(0)}) (bvnot (bvudiv (bvnot {a}) {b})) (bvudiv {a} {b}))" if quotient else f"(bvsmod {a} {b})"


def _chain(op: str, args: list[str]) -> str:
    text = args[0]
    for arg in args[1:]:
        text = f"({op} {text} {arg})"
    return text


def width_of(formula: Formula) -> int:
    """The bits of a signed number that can be any claimed value and any constant of the formula; NoForm where that is too wide."""
    found: list[int] = [0, *(end for interval in formula.bounds.values() for end in interval)]
    for v in formula.narrowed:
        found.extend(ends(v))
    for node in formula.nodes:
        found.extend(arg for arg in terms.children(node) if isinstance(arg, int))
        found.extend(entries(node) if node.op == "table" else (len(entries(node)),) if node.op == "true_in" else ())
    width = max(max(value, -value - 1).bit_length() for value in found) + 2  # the sign, and the negation of the least value
    if width > WIDEST:
        raise NoForm(f"numbers of {width} bits")
    return width


def asked(formula: Formula) -> Text:
    """The formula at the width that its claimed intervals need: declarations, ranges, premise, negated goal."""
    encoding = BitVectors(width_of(formula), formula)
    text = Text(encoding)
    for declared, within in zip(formula.variables, formula.narrowed, strict=True):
        text.lines.append(f"(declare-const {variable_name(declared.name)} {encoding.sort})")
        text.lines.extend(f"(assert {one})" for one in _range(encoding, within))
    for part in formula.premise:
        _told(text, "premise", part)
    _told(text, "the goal does not hold", formula.goal, negated=True)
    return text


def _told(text: Text, what: str, part: Term, *, negated: bool = False) -> None:
    name = text.of(part)
    told = shown(part)
    text.lines.extend(comment(f"{what}: {told}" if told else what))
    text.lines.append(f"(assert (not {name}))" if negated else f"(assert {name})")


def _range(encoding: BitVectors, variable: Variable) -> list[str]:
    name = variable_name(variable.name)
    if variable.values is not None:
        return [any_of(encoding.compare("==", name, encoding.number(value)) for value in variable.values)]
    found = [encoding.between(ends(variable), name)]
    if variable.step != 1:
        found.append(f"(= ((_ extract {variable.step.bit_length() - 2} 0) {name}) (_ bv0 {variable.step.bit_length() - 1}))")
    return found


def no_wrap(formula: Formula, names: Mapping[Term, str]) -> list[str]:
    """Whether some step of arithmetic leaves the claimed interval of its result; no lines where there is no step to look at.

    names: of the nodes in the formula's own text.
    """
    narrow = BitVectors(width_of(formula), formula)
    declared_bits = max((max(abs(end) for end in ends(v)).bit_length() + 2 for v in formula.variables), default=0)
    wide = BitVectors(max(2 * narrow.width, declared_bits), formula)
    lines: list[str] = []
    steps = _narrowings(formula, wide, lines)
    for node in formula.nodes:
        if node.is_truth:
            continue
        interval = formula.interval(node)
        lines.append(f"(declare-const {names[node]} {narrow.sort}) ; {interval[0]} to {interval[1]}")
        lines.append(f"(assert {narrow.between(interval, names[node])})")
        if node.op != "var":
            steps.append(_step(node, names, narrow, wide, lines))
    return [*lines, f"(assert {any_of(steps)})"] if steps else []


def _step(node: Expr, names: Mapping[Term, str], narrow: BitVectors, wide: BitVectors, lines: list[str]) -> str:
    """Writes the exact result of one operation on its arguments; gives that it leaves its interval though it has a value."""
    name, args = names[node], list[str]()
    for k, arg in enumerate(terms.children(node)):
        if node.op == "select" and k == 0:
            lines.append(f"(declare-const {name}.chosen Bool)")
            args.append(f"{name}.chosen")
        else:
            args.append(wide.number(arg) if isinstance(arg, int) else f"((_ sign_extend {wide.width - narrow.width}) {names[arg]})")
    lines.append(f"(define-fun {name}.exact () {wide.sort} {wide.operation(node, args, Text(wide))})")
    leaves = f"(not {wide.between(wide.formula.interval(node), f'{name}.exact')})"
    defined = _defined(node, args, wide)
    return all_of([*defined, leaves])


def _defined(node: Expr, args: list[str], wide: BitVectors) -> list[str]:
    """That a division or shift has a value; what it is elsewhere no obligation depends on."""
    if node.op not in DIVISIONS | {"<<", ">>"}:
        return []
    right, division = terms.arguments(node)[1], node.op in DIVISIONS
    if isinstance(right, int):
        has_value = right != 0 if division else right >= 0
        return [] if has_value else ["false"]
    return [f"(distinct {args[1]} {wide.number(0)})" if division else f"(bvsle {wide.number(0)} {args[1]})"]


def _limits(part: Term, name: str) -> bool:
    """Whether a part of the premise compares the variable with constants and does nothing else."""
    return terms.variables(part) == frozenset({name}) and all(
        node.op == "var" or node.is_truth for node in terms.subterms(part) if isinstance(node, Expr)
    )


def _narrowings(formula: Formula, wide: BitVectors, lines: list[str]) -> list[str]:
    """For each variable whose interval the premise narrows: that its declared range and the premise leave it."""
    steps: list[str] = []
    for declared, within in zip(formula.variables, formula.narrowed, strict=True):
        if ends(declared) == ends(within):
            continue
        name = f"declared.{variable_name(declared.name)}"
        lines.append(f"(declare-const {name} {wide.sort})")
        text = Text(wide, {var(declared.name): name}, prefix=f"{name}.")
        known = [wide.between(ends(declared), name), *(text.of(part) for part in formula.premise if _limits(part, declared.name))]
        lines.extend(text.lines)
        steps.append(all_of([*known, f"(not {wide.between(ends(within), name)})"]))
    return steps
