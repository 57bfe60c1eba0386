"""Numbers of scalar types: bits, rounding, and the operations whose results are exact or correctly rounded, in plain integers and fractions.

Floats of every type are Python floats, which hold them all. None is a result that no document fixes: a quotient by 0, one that overflows.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from fractions import Fraction

Number = int | float

WIDTH = {"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64} | {f"{k}{n}": n for k in ("int", "uint") for n in (8, 16, 32, 64)}
DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
LEAST = {"float16": -24, "bfloat16": -133, "float32": -149, "float64": -1074}
LARGEST = {"float16": 65504.0, "bfloat16": 255 * 2.0**120, "float32": (2.0**24 - 1) * 2.0**104, "float64": (2.0**53 - 1) * 2.0**971}
CODES = {"float16": ("<H", "<e"), "float32": ("<I", "<f"), "float64": ("<Q", "<d")}


def decoded(type_: str, bits: int) -> Number:
    """The number that the bits of a type are."""
    if type_ in CODES:
        raw, packed = CODES[type_]
        return struct.unpack(packed, struct.pack(raw, bits))[0]
    if type_ == "bfloat16":
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    return wrapped(type_, bits)


def encoded(type_: str, value: Number) -> int:
    """The bits of a number that a type holds."""
    if type_ in CODES:
        raw, packed = CODES[type_]
        return struct.unpack(raw, struct.pack(packed, value))[0]
    if type_ == "bfloat16":
        return struct.unpack("<I", struct.pack("<f", value))[0] >> 16
    return int(value) % (1 << WIDTH[type_])


def wrapped(type_: str, value: int) -> int:
    """An integer modulo the width of a type."""
    width = WIDTH[type_]
    value %= 1 << width
    return value - (1 << width) if type_.startswith("int") and value >> (width - 1) else value


def ends(type_: str) -> tuple[int, int]:
    """The least and greatest integer of a type."""
    width = WIDTH[type_]
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if type_.startswith("int") else (0, (1 << width) - 1)


def rounded(type_: str, exact: Fraction, towards: str = "nearest") -> float:
    """A fraction as a float type: the nearest (ties to even), or the next `down` or `up`."""
    if exact == 0:
        return 0.0
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > size
    quantum = max(exponent - DIGITS[type_] + 1, LEAST[type_])
    steps = exact / Fraction(2) ** quantum
    count = {"nearest": round, "down": math.floor, "up": math.ceil}[towards](steps)
    sign = -1.0 if exact < 0 else 1.0
    if abs(count) * Fraction(2) ** quantum > Fraction(LARGEST[type_]):
        inward = (towards == "down") == (exact > 0) and towards != "nearest"
        return sign * (LARGEST[type_] if inward else math.inf)
    return math.copysign(math.ldexp(abs(count), quantum), sign)


def nearest(type_: str, value: Number) -> float:
    """A number as a float type; infinities, NaN and the sign of zero stay."""
    if isinstance(value, float) and (value == 0.0 or not math.isfinite(value)):
        return value
    return rounded(type_, Fraction(value))


def _finite(*values: float) -> bool:
    return all(map(math.isfinite, values))


def _sum(type_: str, a: float, b: float) -> float:
    exact = Fraction(a) + Fraction(b) if _finite(a, b) else Fraction(0)
    return rounded(type_, exact) if exact else a + b


def _product(type_: str, a: float, b: float) -> float:
    exact = Fraction(a) * Fraction(b) if _finite(a, b) else Fraction(0)
    return rounded(type_, exact) if exact else a * b


def _quotient(type_: str, a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)
    exact = Fraction(a) / Fraction(b) if _finite(a, b) else Fraction(0)
    return rounded(type_, exact) if exact else a / b


def _fused(type_: str, a: float, b: float, c: float) -> float:
    if not _finite(a, b):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact:
        return rounded(type_, exact)
    return 0.0 if a and b else a * b + c


def _root(type_: str, a: float) -> float:
    if math.isnan(a) or a < 0:
        return math.nan
    if a == 0 or math.isinf(a):
        return a
    exact = Fraction(a)
    shift = 2 * max(0, DIGITS[type_] + 8) + abs(exact.numerator.bit_length() - exact.denominator.bit_length())
    scaled = exact * Fraction(4) ** shift
    whole = math.isqrt(math.floor(scaled))
    rest = whole * whole != scaled
    return rounded(type_, Fraction(2 * whole + rest, 2) / Fraction(2) ** shift)


def _chosen(pick: Callable[[float, float], float], sign: float) -> Callable[[str, float, float], float]:
    def choose(type_: str, a: float, b: float) -> float:
        del type_
        if math.isnan(a) or math.isnan(b):
            return b if math.isnan(a) else a
        if a == 0 and b == 0:
            return a if math.copysign(1.0, a) == sign else b
        return pick(a, b)

    return choose


def _integral(step: Callable[[Fraction], int]) -> Callable[[str, float], float]:
    def whole(type_: str, a: float) -> float:
        del type_
        return math.copysign(float(abs(step(Fraction(a)))), a) if math.isfinite(a) else a

    return whole


OF_FLOAT: dict[str, Callable[[str, float], float]] = {
    "sqrt": _root,
    "neg": lambda _, a: -a,
    "abs": lambda _, a: math.fabs(a),
    "floor": _integral(math.floor),
    "ceil": _integral(math.ceil),
    "trunc": _integral(math.trunc),
    "round": _integral(round),
}
OF_FLOATS: dict[str, Callable[[str, float, float], float]] = {
    "add": _sum,
    "sub": lambda t, a, b: _sum(t, a, -b),
    "mul": _product,
    "div": _quotient,
    "min": _chosen(min, -1.0),
    "max": _chosen(max, 1.0),
}
FLOATING = frozenset({*OF_FLOAT, *OF_FLOATS, "fma"})
"""The operations of floats that are exact or correctly rounded."""


def _truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _divided(result: Callable[[int, int], int]) -> Callable[[str, int, int], int | None]:
    def divide(type_: str, a: int, b: int) -> int | None:
        return None if b == 0 or not ends(type_)[0] <= _truncated(a, b) <= ends(type_)[1] else result(a, b)

    return divide


def _left(type_: str, a: int, b: int) -> int:
    amount = b % (1 << WIDTH[type_])
    return 0 if amount >= WIDTH[type_] else wrapped(type_, a << amount)


def _right(type_: str, a: int, b: int) -> int:
    return a >> min(b % (1 << WIDTH[type_]), WIDTH[type_])


def _magnitude(type_: str, a: int) -> int | None:
    return None if abs(a) > ends(type_)[1] else abs(a)


def _pattern(type_: str, a: int) -> str:
    return f"{a % (1 << WIDTH[type_]):0{WIDTH[type_]}b}"


OF_INTEGER: dict[str, Callable[[str, int], int | None]] = {
    "neg": lambda t, a: wrapped(t, -a),
    "inv": lambda t, a: wrapped(t, ~a),
    "abs": _magnitude,
    "popc": lambda t, a: _pattern(t, a).count("1"),
    "clz": lambda t, a: len(_pattern(t, a)) - len(_pattern(t, a).lstrip("0")),
    "brev": lambda t, a: wrapped(t, int(_pattern(t, a)[::-1], 2)),
}
OF_INTEGERS: dict[str, Callable[[str, int, int], int | None]] = {
    "add": lambda t, a, b: wrapped(t, a + b),
    "sub": lambda t, a, b: wrapped(t, a - b),
    "mul": lambda t, a, b: wrapped(t, a * b),
    "mulhi": lambda t, a, b: wrapped(t, (a * b) >> WIDTH[t]),
    "and": lambda t, a, b: wrapped(t, a & b),
    "or": lambda t, a, b: wrapped(t, a | b),
    "xor": lambda t, a, b: wrapped(t, a ^ b),
    "shl": _left,
    "shr": _right,
    "min": lambda _, a, b: min(a, b),
    "max": lambda _, a, b: max(a, b),
    "tdiv": _divided(_truncated),
    "tmod": _divided(lambda a, b: a - b * _truncated(a, b)),
    "floordiv": _divided(lambda a, b: a // b),
    "mod": _divided(lambda a, b: a % b),
}
WHOLE = frozenset({*OF_INTEGER, *OF_INTEGERS})
"""The operations of integers."""
COMPARED: dict[str, Callable[[Number, Number], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}


def converted(from_: str, to: str, value: Number) -> Number:
    """A cast. To an integer: towards zero and clamped; NaN is 0, or 2^(n-1) as bits from float64 or to 64 bits (PTX ISA 9.7.9.21)."""
    if to in DIGITS:
        return nearest(to, value)
    if not isinstance(value, float):
        return wrapped(to, int(value))
    low, high = ends(to)
    if math.isnan(value):
        return wrapped(to, 1 << (WIDTH[to] - 1)) if from_ == "float64" or WIDTH[to] == 64 else 0
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(math.trunc(value), low), high)


def computed(op: str, types: Sequence[str], result: str, args: Sequence[Number]) -> Number | None:
    """The result of an operation on numbers; KeyError for one that is not exact or correctly rounded."""
    if op == "cast":
        return converted(types[0], result, args[0])
    if op == "as":
        nan = isinstance(args[0], float) and math.isnan(args[0])
        return None if nan else decoded(result, encoded(types[0], args[0]))
    if op in COMPARED:
        return COMPARED[op](args[0], args[1])
    if op == "fma":
        a, b, c = args
        return _fused(result, a, b, c)
    if result in DIGITS:
        return OF_FLOAT[op](result, args[0]) if op in OF_FLOAT else OF_FLOATS[op](result, args[0], args[1])
    first, *rest = (int(arg) for arg in args)
    return OF_INTEGER[op](result, first) if op in OF_INTEGER else OF_INTEGERS[op](result, first, rest[0])
