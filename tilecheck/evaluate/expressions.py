"""Expressions of a call: read with Python's `ast`, evaluated by walking a short list of allowed nodes, never by `eval`.

`//` and `%` floor, `tdiv` and `tmod` truncate, integers are unbounded. What an index may not do (leave its range, divide by
less than 1, shift by less than 0) is a `LimitError`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ALLOWED = (
    ast.Constant,
    ast.Name,
    ast.Load,
    ast.BinOp,
    ast.operator,
    ast.UnaryOp,
    ast.unaryop,
    ast.Compare,
    ast.cmpop,
    ast.BoolOp,
    ast.boolop,
    ast.Call,
)
FUNCTIONS = {"min", "max", "select", "tdiv", "tmod"}
TRUTHS = {"true": True, "false": False}
MAX_SHIFT = 4096


class LimitError(ValueError):
    """Raised for a value that an index expression must not take: what was expected, and what was found."""

    def __init__(self, expected: str, actual: str) -> None:
        super().__init__(f"{actual}, expected {expected}")
        self.expected = expected
        self.actual = actual


@dataclass(frozen=True, slots=True)
class Limits:
    """What every intermediate result must keep to: a range (None: unbounded); divisors are then positive too."""

    low: int | None = None
    high: int | None = None

    def admit(self, value: int, text: str) -> int:
        """The value, or LimitError where it is outside."""
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            if text == str(value):
                raise LimitError(f"an index from {self.low} to {self.high}", f"the index {value}")
            raise LimitError(f"{self.low} <= {text} <= {self.high}", f"{text} = {value}")
        return value


class Expression:
    """An integer or a condition over named values."""

    __slots__ = ("constant", "names", "node", "text")

    def __init__(self, source: int | str) -> None:
        self.text = str(source)
        self.constant: int | None = None
        if isinstance(source, int):
            self.constant = source
            self.names: frozenset[str] = frozenset()
            self.node: ast.expr = ast.Constant(source)
            return
        plain = re.sub(r"\b0+(?=[0-9])", "", source)
        try:
            self.node = ast.parse(f"({plain}\n)", mode="eval").body
        except (SyntaxError, RecursionError, MemoryError) as error:
            raise ValueError(f"{source!r} is no expression") from error
        nodes = list(ast.walk(self.node))
        strange = [type(node).__name__ for node in nodes if not isinstance(node, ALLOWED)]
        if strange:
            raise ValueError(f"{source!r} is no expression: it has a {strange[0]}")
        called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        names = {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in called}
        self.names = frozenset(names - set(TRUTHS))
        if not self.names:
            try:
                self.constant = walk(self.node, {}, None)
            except LimitError:
                self.constant = None

    def value(self, values: Mapping[str, int]) -> int:
        """The value; LimitError only where there is none (a division by 0)."""
        return self.constant if self.constant is not None else walk(self.node, values, None)

    def check(self, values: Mapping[str, int], limits: Limits) -> None:
        """LimitError where an intermediate result that counts breaks the limits."""
        walk(self.node, values, limits)

    @property
    def is_condition(self) -> bool:
        """Whether this is a condition rather than an integer."""
        return _is_condition(self.node)


def _is_condition(node: ast.expr) -> bool:
    if isinstance(node, ast.Compare | ast.BoolOp):
        return True
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    if isinstance(node, ast.Name):
        return node.id in TRUTHS or node.id == "elected"
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)


def truncated(a: int, b: int) -> int:
    """The quotient a / b, rounded towards zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def walk(node: ast.expr, values: Mapping[str, int], limits: Limits | None) -> int:
    """The value of a node; arms of `select` not taken, and parts of and/or not reached, are not evaluated."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return _admit(node, node.value, limits)
    if isinstance(node, ast.Name):
        if node.id in TRUTHS:
            return TRUTHS[node.id]
        if node.id not in values:
            raise ValueError(f"no value for {node.id!r}")
        return _admit(node, values[node.id], limits)
    if isinstance(node, ast.BinOp):
        return _admit(node, _binary(node, values, limits), limits)
    if isinstance(node, ast.UnaryOp):
        return _unary(node, values, limits)
    if isinstance(node, ast.Compare):
        return _compare(node, values, limits)
    if isinstance(node, ast.BoolOp):
        parts = (walk(part, values, limits) for part in node.values)
        return all(parts) if isinstance(node.op, ast.And) else any(parts)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS and not node.keywords:
        return _admit(node, _call(node, node.func.id, values, limits), limits)
    raise ValueError(f"{ast.unparse(node)!r} is not part of an expression")


def _admit(node: ast.expr, value: int, limits: Limits | None) -> int:
    if limits is None or isinstance(value, bool):
        return value
    if limits.low is None or limits.low <= value <= (value if limits.high is None else limits.high):
        return value
    return limits.admit(value, ast.unparse(node))


def _binary(node: ast.BinOp, values: Mapping[str, int], limits: Limits | None) -> int:
    a, b = walk(node.left, values, limits), walk(node.right, values, limits)
    kind = type(node.op)
    if kind is ast.Add:
        return a + b
    if kind is ast.Sub:
        return a - b
    if kind is ast.Mult:
        return a * b
    if kind is ast.FloorDiv:
        return a // _divisor(node.right, b, limits)
    if kind is ast.Mod:
        return a % _divisor(node.right, b, limits)
    if kind is ast.BitXor:
        return a ^ b
    if kind is ast.BitAnd:
        return a & b
    if kind is ast.BitOr:
        return a | b
    if kind is ast.LShift or kind is ast.RShift:
        if not 0 <= b <= MAX_SHIFT:
            raise LimitError(f"a shift by 0 to {MAX_SHIFT} bits", f"{ast.unparse(node.right)} = {b}")
        return a << b if kind is ast.LShift else a >> b
    raise ValueError(f"{ast.unparse(node)!r} is not part of an expression")


def _divisor(node: ast.expr, value: int, limits: Limits | None) -> int:
    if value == 0 or (limits is not None and value < 0):
        raise LimitError("a positive divisor", f"{ast.unparse(node)} = {value}")
    return value


def _unary(node: ast.UnaryOp, values: Mapping[str, int], limits: Limits | None) -> int:
    if isinstance(node.op, ast.Not):
        return not walk(node.operand, values, limits)
    literal = isinstance(node.operand, ast.Constant)
    value = walk(node.operand, values, None if literal else limits)
    if isinstance(node.op, ast.USub):
        return _admit(node, -value, limits)
    if isinstance(node.op, ast.UAdd):
        return _admit(node, value, limits)
    raise ValueError(f"{ast.unparse(node)!r} is not part of an expression")


def _compare(node: ast.Compare, values: Mapping[str, int], limits: Limits | None) -> bool:
    left = walk(node.left, values, limits)
    for operator, part in zip(node.ops, node.comparators, strict=True):
        right = walk(part, values, limits)
        kind = type(operator)
        holds = (
            left == right
            if kind is ast.Eq
            else left != right
            if kind is ast.NotEq
            else left < right
            if kind is ast.Lt
            else left <= right
            if kind is ast.LtE
            else left > right
            if kind is ast.Gt
            else left >= right
            if kind is ast.GtE
            else None
        )
        if holds is None:
            raise ValueError(f"{ast.unparse(node)!r} is not part of an expression")
        if not holds:
            return False
        left = right
    return True


def _call(node: ast.Call, name: str, values: Mapping[str, int], limits: Limits | None) -> int:
    if name == "select":
        condition, then, otherwise = node.args
        return walk(then if walk(condition, values, limits) else otherwise, values, limits)
    numbers = [walk(arg, values, limits) for arg in node.args]
    if name in {"min", "max"}:
        return min(numbers) if name == "min" else max(numbers)
    a, b = numbers
    b = _divisor(node.args[1], b, limits)
    quotient = truncated(a, b)
    return quotient if name == "tdiv" else a - b * quotient


def term(form: Any, values: Mapping[str, int]) -> int:
    """The value of a contract's term: an int, a name, or (operator, argument, ...)."""
    if isinstance(form, int):
        return form
    if isinstance(form, str):
        return values[form]
    operator, *args = form
    if operator in {"table", "true_in"}:
        return args[1][term(args[0], values)]
    if operator == "select":
        return term(args[1] if term(args[0], values) else args[2], values)
    return _apply(operator, [term(arg, values) for arg in args])


def _apply(operator: str, numbers: Sequence[int]) -> int:
    if operator == "+":
        return sum(numbers)
    if operator in {"and", "or"}:
        return all(numbers) if operator == "and" else any(numbers)
    if operator == "not":
        return not numbers[0]
    a, b = numbers
    results = {
        "*": lambda: a * b,
        "//": lambda: a // b,
        "%": lambda: a % b,
        "tdiv": lambda: truncated(a, b),
        "tmod": lambda: a - b * truncated(a, b),
        "^": lambda: a ^ b,
        "&": lambda: a & b,
        "|": lambda: a | b,
        "<<": lambda: a << b,
        ">>": lambda: a >> b,
        "min": lambda: min(a, b),
        "max": lambda: max(a, b),
        "==": lambda: a == b,
        "<": lambda: a < b,
        "<=": lambda: a <= b,
    }
    if operator not in results:
        raise ValueError(f"unknown operator {operator!r} in a contract")
    return results[operator]()
