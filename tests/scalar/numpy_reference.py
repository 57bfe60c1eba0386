"""Scalar functions computed by NumPy (and ml_dtypes), which knows nothing of the evaluator.

Values are NumPy arrays of the node's type. `loose` marks elements that no document fixes: quotients by 0 and those that overflow, the least integer's
magnitude, the bits of NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import ml_dtypes
import numpy as np

from tilecheck.scalar import Node

Array = np.ndarray
DTYPES = {"bfloat16": ml_dtypes.bfloat16, "bool": np.bool_}


def dtype(type_: str):
    return np.dtype(DTYPES.get(type_, type_))


def raw(type_: str):
    """The unsigned type of the width."""
    return np.dtype(f"u{dtype(type_).itemsize}")


class Reference:
    """Evaluates typed nodes on arrays of arguments."""

    def __init__(self, arguments: Mapping[str, Array]) -> None:
        self.arguments = dict(arguments)
        self.count = len(next(iter(arguments.values())))

    def value(self, node: Node, names: Mapping[str, tuple[Array, Array]]) -> tuple[Array, Array]:
        """(values, loose)."""
        if node.op == "parameter":
            return self.arguments[node.name], np.zeros(self.count, dtype=bool)
        if node.op == "name":
            return names[node.name]
        if node.op == "number":
            one = (
                np.full(self.count, node.bits, dtype=raw(node.type)).view(dtype(node.type))
                if node.type != "bool"
                else np.full(self.count, bool(node.bits))
            )
            return one, np.zeros(self.count, dtype=bool)
        if node.op == "let":
            return self.value(node.args[1], {**names, node.name: self.value(node.args[0], names)})
        found = [self.value(arg, names) for arg in node.args]
        values, loose = [v for v, _ in found], np.logical_or.reduce([loose for _, loose in found])
        if node.op == "select":
            (test, a), (then, b), (otherwise, c) = found
            return np.where(test, then, otherwise), a | np.where(test, b, c)
        if node.op in {"both", "either"}:
            (x, a), (y, b) = found
            decides = node.op == "either"
            sure = (~a & (x == decides)) | (~b & (y == decides))
            return (x | y if decides else x & y), (a | b) & ~sure
        with np.errstate(all="ignore"):
            value, more = applied(node, values)
        return value, loose | more


def applied(node: Node, values: list[Array]) -> tuple[Array, Array]:
    """One operation on arrays of its arguments."""
    a, b = values[0], values[-1]
    nothing = np.zeros(len(a), dtype=bool)
    type_, from_ = node.type, node.args[0].type
    if node.op == "not":
        return ~a, nothing
    if node.op in {"eq", "ne", "lt", "le"}:
        return {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal}[node.op](a, b), nothing
    if node.op == "cast":
        return cast(a, from_, type_), nothing
    if node.op == "as":
        return a.view(dtype(type_)), np.isnan(a) if is_float(from_) else nothing
    if is_float(type_):
        return floating(node.op, type_, values), nothing
    return whole(node.op, type_, a, b)


def is_float(type_: str) -> bool:
    return "float" in type_


def floating(op: str, type_: str, values: list[Array]) -> Array:
    a, b = values[0], values[-1]
    if op == "fma":
        return fused(type_, *values)
    if op in {"min", "max"}:
        return chosen(op, a, b)
    single: dict[str, Callable[[Array], Array]] = {
        "neg": np.negative,
        "abs": np.abs,
        "sqrt": np.sqrt,
        "floor": np.floor,
        "ceil": np.ceil,
        "trunc": np.trunc,
        "round": np.rint,
    }
    if op in single:
        return single[op](a)
    return {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[op](a, b)


def chosen(op: str, a: Array, b: Array) -> Array:
    """The one that is a number, then by value, then by the sign of zero."""
    pick = np.where((a < b) if op == "min" else (a > b), a, b)
    signs = np.signbit(a) if op == "min" else ~np.signbit(a)
    pick = np.where((a == 0) & (b == 0), np.where(signs, a, b), pick)
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, pick))


def fused(type_: str, a: Array, b: Array, c: Array) -> Array:
    """For floats of 16 and 32 bits by the 64 bits of the exact product and a sum that is rounded to odd, so that rounding again does no harm; else by fractions."""
    if type_ == "float64":
        exact = np.array([fused_double(float(x), float(y), float(z)) for x, y, z in zip(a, b, c, strict=True)])
        return np.where(exact == 0, np.where((a == 0) | (b == 0), a * b + c, exact), exact)
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + addend
    rest = np.where(np.isfinite(total), two_sum_error(product, addend, total), 0.0)
    odd = total.view(np.int64) & 1
    towards = np.where(
        (rest > 0) == (total > 0), total.view(np.int64) | 1, np.where(odd == 1, total.view(np.int64), total.view(np.int64) - 1)
    )
    total = np.where((rest != 0) & np.isfinite(total) & (total != 0), towards.view(np.float64), total)
    return narrowed(total, "float64", type_)


def fused_double(x: float, y: float, z: float) -> float:
    """x * y + z by fractions, rounded once by Python."""
    if not np.isfinite([x, y, z]).all():
        return x * y + z if not np.isfinite([x, y]).all() else z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


def two_sum_error(a: Array, b: Array, total: Array) -> Array:
    """What a rounded sum leaves out (Knuth)."""
    part = total - a
    return (a - (total - part)) + (b - part)


def whole(op: str, type_: str, a: Array, b: Array) -> tuple[Array, Array]:
    nothing = np.zeros(len(a), dtype=bool)
    info, bits = np.iinfo(dtype(type_)), dtype(type_).itemsize * 8
    if op in {"tdiv", "tmod", "floordiv", "mod"}:
        loose = (b == 0) | ((a == info.min) & (b == -1) if info.min else nothing)
        divisor = np.where(loose, 1, b).astype(a.dtype)
        floor, rest = a // divisor, a % divisor
        if op in {"floordiv", "mod"}:
            return (floor if op == "floordiv" else rest), loose
        up = (rest != 0) & ((a < 0) != (divisor < 0))
        quotient = (floor + up).astype(a.dtype)
        return (quotient if op == "tdiv" else a - quotient * divisor), loose
    if op in {"shl", "shr"}:
        amount = b.view(raw(type_))
        inside = np.minimum(amount, bits - 1).astype(a.dtype)
        far = amount >= bits
        if op == "shl":
            return np.where(far, 0, a << inside).astype(a.dtype), nothing
        return np.where(far & (a >= 0), 0, a >> inside).astype(a.dtype), nothing
    if op == "abs":
        return np.abs(a), a == info.min
    if op == "mulhi":
        return np.array([(int(x) * int(y)) >> bits for x, y in zip(a, b, strict=True)], dtype=object).astype(a.dtype), nothing
    if op in {"popc", "clz", "brev"}:
        return counted(op, type_, a), nothing
    two = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
        "min": np.minimum,
        "max": np.maximum,
    }
    return (two[op](a, b) if op in two else {"neg": np.negative, "inv": np.invert}[op](a)), nothing


def counted(op: str, type_: str, a: Array) -> Array:
    """By the bits of each byte."""
    table = np.unpackbits(a.view(raw(type_)).byteswap().view(np.uint8).reshape(len(a), -1), axis=1)
    if op == "popc":
        return table.sum(axis=1).astype(a.dtype)
    if op == "clz":
        return np.where(table.any(axis=1), table.argmax(axis=1), table.shape[1]).astype(a.dtype)
    return np.packbits(table[:, ::-1], axis=1).view(raw(type_)).reshape(len(a)).byteswap().view(a.dtype)


def cast(a: Array, from_: str, to: str) -> Array:
    if is_float(to):
        return narrowed(a, from_, to)
    if not is_float(from_):
        return a.astype(dtype(to))
    info = np.iinfo(dtype(to))
    wide = a.astype(np.float64)
    inside = np.where(np.isnan(wide) | (wide <= info.min) | (wide >= float(info.max)), 0, np.trunc(wide))
    found = inside.astype(np.int64 if info.min else np.uint64).astype(dtype(to))
    found = np.where(wide >= float(info.max), info.max, np.where(wide <= info.min, info.min, found)).astype(dtype(to))
    least = info.min or (info.max >> 1) + 1
    return np.where(np.isnan(wide), dtype(to).type(least if from_ == "float64" or dtype(to).itemsize == 8 else 0), found)


def narrowed(a: Array, from_: str, to: str) -> Array:
    """To bfloat16 from wider types once, not by float32."""
    if to != "bfloat16" or from_ in {"bfloat16", "float16", "float32", "bool", "int8", "uint8", "int16", "uint16"}:
        if from_ in {"int64", "uint64"} and to == "float16":
            return np.array([np.float16(min(max(int(x), -(1 << 20)), 1 << 20)) for x in a])
        return a.astype(dtype(to))
    found: list[float] = []
    for x in a:
        value = float(x) if from_ == "float64" else int(x)
        if value == 0 or (isinstance(value, float) and not np.isfinite(value)):
            found.append(float(value))
            continue
        exact = Fraction(value)
        single = np.float32(float(exact))
        ends = sorted(
            {float(np.nextafter(single, np.float32(s * np.inf)).astype(ml_dtypes.bfloat16)) for s in (-1, 1)}
            | {float(single.astype(ml_dtypes.bfloat16))}
        )
        near = [one for one in ends if np.isfinite(one)]
        if len(near) < len(ends):
            found.append(float(single.astype(ml_dtypes.bfloat16)))
            continue
        even = [(abs(Fraction(one) - exact), int(np.array(one, dtype=ml_dtypes.bfloat16).view(np.uint16)) & 1, one) for one in near]
        found.append(float(np.copysign(min(even)[2], value)))
    return np.array(found).astype(ml_dtypes.bfloat16)
