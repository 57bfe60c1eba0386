"""What a scalar function gives for given numbers: exactly, or between two numbers where an instruction only approximates.

An interval is what the documented errors of the instructions allow. What no document fixes (a quotient by 0), and what depends on it, is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

from tilecheck.evaluate.scalar_numbers import DIGITS, FLOATING, WHOLE, Number, computed, decoded, nearest, rounded
from tilecheck.evaluate.scalar_text import Reader, Tree, operations

SLOP = 2.0**-48
"""The error, relative to the value, of the functions of Python's math that stand for the exact ones."""


class Value(NamedTuple):
    """A value of a type between two numbers, ends included; low None: any value."""

    type: str
    low: Number | None
    high: Number | None

    @property
    def exact(self) -> bool:
        """Whether there is one value."""
        if isinstance(self.low, float) and isinstance(self.high, float):
            both_nan = math.isnan(self.low) and math.isnan(self.high)
            return both_nan or (self.low == self.high and math.copysign(1.0, self.low) == math.copysign(1.0, self.high))
        return self.low is not None and self.low == self.high

    def admits(self, bits: int) -> bool:
        """Whether the bits of the type are such a value; any NaN stands for NaN."""
        if self.low is None or self.high is None:
            return True
        found = decoded(self.type, bits)
        if isinstance(found, float) and math.isnan(found):
            return isinstance(self.low, float) and math.isnan(self.low)
        if self.exact:
            signs = not isinstance(found, float) or math.copysign(1.0, found) == math.copysign(1.0, self.low)
            return found == self.low and signs
        return self.low <= found <= self.high


def just(type_: str, number: Number) -> Value:
    """A value that is one number."""
    return Value(type_, number, number)


APPROXIMATED: dict[str, Callable[[float], float]] = {
    "exp2": lambda x: math.inf if x >= 1024 else 2.0**x if x > -1200 else 0.0,
    "log2": lambda x: math.nan if x < 0 else -math.inf if x == 0 else math.log2(x),
    "rsqrt": lambda x: math.nan if x < 0 else math.copysign(math.inf, x) if x == 0 else 1 / math.sqrt(x),
    "tanh": math.tanh,
}
"""The functions that instructions approximate, all of them monotone."""
MONOTONE = frozenset({"add", "sub", "mul", "div", "fma", "sqrt", "neg", "min", "max", "floor", "ceil", "trunc", "round", "cast"})
"""Exact operations whose values between the ends of their arguments lie between the values at the ends (div: where the divisor is not around 0)."""
Key = tuple[str, tuple[str, ...], str]


class ScalarFunction:
    """A function of a call, under what the contract says of its operations."""

    def __init__(self, function: Mapping[str, Any], scalar: Mapping[str, Any]) -> None:
        self.scalar = scalar
        self.reader = Reader(function)
        self.table: dict[Key, Mapping[str, Any]] = {
            (str(one["op"]), tuple(map(str, one["types"])), str(one["result"])): one for one in scalar["instructions"]
        }
        self.definitions: dict[tuple[str, str], Mapping[str, Any]] = {
            (str(one["op"]), str(one["type"])): one for one in scalar["definitions"]
        }

    @property
    def fault(self) -> str | None:
        """An operation that is neither an instruction nor defined."""
        for op, types, result in operations(self.reader.tree):
            if (op, types, result) not in self.table and (op, result) not in self.definitions:
                return f"{op} of {', '.join(types)}"
        return None

    def value(self, args: Sequence[Value]) -> Value:
        """The value for the arguments."""
        names = {name: arg for (name, _), arg in zip(self.reader.params, args, strict=True)}
        return self._value(self.reader.tree, names)

    def argument(self, number: int, value: Number) -> Value:
        """A number in the place of a parameter, rounded to its type."""
        type_ = self.reader.params[number][1]
        return just(type_, nearest(type_, value) if type_ in DIGITS else value)

    def _value(self, tree: Tree, names: Mapping[str, Value]) -> Value:
        op, type_, *parts = tree
        if op == "number":
            return just(type_, nearest(type_, parts[0]) if type_ in DIGITS else parts[0])
        if op == "name":
            return names[parts[0]]
        if op == "let":
            return self._value(parts[2], {**names, parts[0]: self._value(parts[1], names)})
        return self._applied(op, type_, [self._value(part, names) for part in parts])

    def _applied(self, op: str, type_: str, args: list[Value]) -> Value:
        if op in {"both", "either", "not"}:
            return _logic(op, args)
        if op == "select":
            return _selected(type_, *args)
        key = (op, tuple(arg.type for arg in args), type_)
        if op in APPROXIMATED:
            return _approximated(op, type_, args[0], self.table[key])
        if op not in FLOATING and op not in WHOLE and key not in self.table:
            return self._defined(op, type_, args)
        if any(arg.low is None for arg in args):
            return Value(type_, None, None)
        if all(arg.exact for arg in args):
            found = computed(op, key[1], type_, [arg.low for arg in args if arg.low is not None])
            return Value(type_, found, found)
        return _between(op, type_, args)

    def _defined(self, op: str, type_: str, args: list[Value]) -> Value:
        """An operation that is a function of others."""
        body = str(self.definitions[op, type_]["body"])
        params = [[name, type_] for name in "abc"[: len(args)]]
        return ScalarFunction({"params": params, "result": type_, "body": body}, self.scalar).value(args)


def _logic(op: str, args: list[Value]) -> Value:
    """`and` is false where a part is, `or` true where one is, whatever the other is."""
    if op == "not":
        known = args[0].exact
        return just("bool", not args[0].low) if known else Value("bool", None, None)
    decides = op == "either"
    if any(arg.exact and bool(arg.low) == decides for arg in args):
        return just("bool", decides)
    return just("bool", not decides) if all(arg.exact for arg in args) else Value("bool", None, None)


def _selected(type_: str, test: Value, then: Value, otherwise: Value) -> Value:
    if test.exact:
        return then if test.low else otherwise
    lows, highs = (
        [one.low for one in (then, otherwise) if one.low is not None],
        [one.high for one in (then, otherwise) if one.high is not None],
    )
    if type_ not in DIGITS or len(lows) < 2 or any(math.isnan(end) for end in (*lows, *highs)):
        same = then.exact and otherwise.exact and then == otherwise
        return then if same else Value(type_, None, None)
    return Value(type_, min(lows), max(highs))


def _between(op: str, type_: str, args: list[Value]) -> Value:
    """An operation of which an argument is an interval."""
    unknown = Value(type_, None, None)
    if op in {"lt", "le", "eq", "ne"}:
        return _compared(op, *args)
    if any(arg.type not in DIGITS for arg in args):
        return unknown
    if op == "abs":
        return _between("max", type_, [args[0], _between("neg", type_, [args[0]])])._replace(**_zero_inside(args[0]))
    if op in {"mul", "fma"} and _meets(args[0], args[1]):
        return unknown
    if op not in MONOTONE or (op == "div" and args[1].low <= 0 <= args[1].high):  # type: ignore[operator]
        return unknown
    found: list[Number] = []
    for corner in product(*((arg.low, arg.high) for arg in args)):
        value = computed(op, [arg.type for arg in args], type_, [end for end in corner if end is not None])
        if value is None or math.isnan(value):
            return unknown
        found.append(value)
    return Value(type_, min(found), max(found))


def _meets(a: Value, b: Value) -> bool:
    """Whether one factor may be infinite where the other may be 0, which gives NaN."""

    def infinite(one: Value) -> bool:
        return any(end is not None and math.isinf(end) for end in (one.low, one.high))

    def zero(one: Value) -> bool:
        return one.low is not None and one.high is not None and one.low <= 0 <= one.high

    return (infinite(a) and zero(b)) or (infinite(b) and zero(a))


def _zero_inside(arg: Value) -> dict[str, Number]:
    """The least magnitude of an interval."""
    low, high = arg.low, arg.high
    assert low is not None
    assert high is not None
    return {"low": 0.0 if low <= 0 <= high else min(abs(low), abs(high))}


def _compared(op: str, a: Value, b: Value) -> Value:
    """A comparison, where the intervals decide it; of NaN only `ne` holds."""
    ends = (a.low, a.high, b.low, b.high)
    if any(isinstance(end, float) and math.isnan(end) for end in ends):
        return just("bool", op == "ne")
    low, high, other_low, other_high = (end for end in ends if end is not None)
    if op in {"eq", "ne"}:
        apart = high < other_low or other_high < low
        return just("bool", op == "ne") if apart else Value("bool", None, None)
    if high < other_low or (op == "le" and high <= other_low):
        return just("bool", True)
    if low > other_high or (op == "lt" and low >= other_high):
        return just("bool", False)
    return Value("bool", None, None)


def _approximated(op: str, type_: str, arg: Value, instruction: Mapping[str, Any]) -> Value:
    """What an instruction may give whose largest error is documented."""
    if arg.low is None or arg.high is None:
        return Value(type_, None, None)
    if any(map(math.isnan, (arg.low, arg.high))):
        return just(type_, math.nan)
    reached = [APPROXIMATED[op](float(end)) for end in (arg.low, arg.high)]
    if any(map(math.isnan, reached)):
        return just(type_, math.nan) if arg.exact else Value(type_, None, None)
    found: list[float] = []
    for value in reached:
        found.extend(_ends(type_, value, _power(instruction["relative"]), _power(instruction["absolute"])))
    return Value(type_, min(found), max(found))


def _power(text: str) -> float:
    return 2.0 ** float(text.removeprefix("2^")) if text else 0.0


def _ends(type_: str, value: float, relative: float, absolute: float) -> tuple[float, float]:
    """The least and greatest result: the exact value with the error, rounded outwards."""
    if not math.isfinite(value):
        return value, value
    error = max(Fraction(relative) * abs(Fraction(value)), Fraction(absolute)) + Fraction(SLOP) * abs(Fraction(value))
    if error == 0:
        return value, value
    return rounded(type_, Fraction(value) - error, "down"), rounded(type_, Fraction(value) + error, "up")
