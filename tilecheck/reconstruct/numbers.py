"""Numbers of every PTX type, exactly: bits to numbers, and numbers to bits under every rounding. No floating point of the host is used."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Format:
    """A float format. special: "ieee" (the top exponent is infinity and NaN), "one" (all ones are NaN, there is no infinity), "none"; pad: unused low bits."""

    exponent: int
    mantissa: int
    special: str = "ieee"
    pad: int = 0

    @property
    def bits(self) -> int:
        """The bits of a number."""
        return 1 + self.exponent + self.mantissa + self.pad

    @property
    def bias(self) -> int:
        """What is added to an exponent."""
        return (1 << (self.exponent - 1)) - 1

    @property
    def least(self) -> int:
        """The exponent of the least normal number."""
        return 1 - self.bias

    @property
    def largest(self) -> Fraction:
        """The largest finite number."""
        top = (1 << self.exponent) - (2 if self.special == "ieee" else 1)
        last = (1 << self.mantissa) - (2 if self.special == "one" else 1)
        return (Fraction(last, 1 << self.mantissa) + 1) * Fraction(2) ** (top - self.bias)


FORMATS = {
    "f16": Format(5, 10),
    "bf16": Format(8, 7),
    "tf32": Format(8, 10, pad=13),
    "f32": Format(8, 23),
    "f64": Format(11, 52),
    "e4m3": Format(4, 3, "one"),
    "e5m2": Format(5, 2),
    "e3m2": Format(3, 2, "none"),
    "e2m3": Format(2, 3, "none"),
    "e2m1": Format(2, 1, "none"),
    "ue4m3": Format(4, 3, "one"),
}


class Real(NamedTuple):
    """A number: its sign (1: negative) and its magnitude, or "inf" or "nan"."""

    sign: int
    size: Fraction | str

    @property
    def nan(self) -> bool:
        """Whether it is no number."""
        return self.size == "nan"

    @property
    def infinite(self) -> bool:
        """Whether it is an infinity."""
        return self.size == "inf"

    @property
    def zero(self) -> bool:
        """Whether it is a zero."""
        return self.size == 0

    @property
    def value(self) -> Fraction:
        """A finite number, with its sign."""
        assert isinstance(self.size, Fraction)
        return -self.size if self.sign else self.size

    def negated(self, times: int = 1) -> Real:
        """With the other sign, where `times` is odd."""
        return Real(self.sign ^ times & 1, self.size)


NAN = Real(0, "nan")


def finite(value: Fraction, zero: int = 0) -> Real:
    """A finite number; zero: the sign of 0."""
    return Real(int(value < 0) if value else zero, abs(value))


def is_float(type_: str) -> bool:
    """Whether a type is one of floats."""
    return type_ in FORMATS or type_ == "ue8m0"


def ends(type_: str) -> tuple[int, int]:
    """The least and the greatest integer of an integer type."""
    size = int(type_[1:])
    return (-(1 << (size - 1)), (1 << (size - 1)) - 1) if type_[0] == "s" else (0, (1 << size) - 1)


def integer(type_: str, bits: int) -> int:
    """The integer that the bits of a type are."""
    size = int(type_[1:])
    bits &= (1 << size) - 1
    return bits - (1 << size) if type_[0] == "s" and bits >> (size - 1) else bits


def real(type_: str, bits: int) -> Real:
    """The number that the bits of a float type are."""
    if type_ == "ue8m0":
        return NAN if bits == 0xFF else Real(0, Fraction(2) ** (bits - 127))
    form = FORMATS[type_]
    bits >>= form.pad
    sign, power, rest = bits >> (form.exponent + form.mantissa), bits >> form.mantissa, bits & (1 << form.mantissa) - 1
    sign, power = sign & 1 if type_ != "ue4m3" else 0, power & (1 << form.exponent) - 1
    top = power == (1 << form.exponent) - 1
    if top and form.special == "ieee":
        return Real(sign, "nan" if rest else "inf")
    if top and form.special == "one" and rest == (1 << form.mantissa) - 1:
        return Real(sign, "nan")
    scale = Fraction(2) ** ((power or 1) - form.bias - form.mantissa)
    return Real(sign, (rest + (bool(power) << form.mantissa)) * scale)


def rounded(form: Format, number: Real, mode: str) -> Real:
    """A finite number rounded to a format: rn (to nearest, ties to even), rna (ties away), rz, rm (down), rp (up); an infinity beyond the largest where the mode goes there."""
    size = number.size
    assert isinstance(size, Fraction)
    if not size:
        return number
    unit = Fraction(2) ** (max(_exponent(size), form.least) - form.mantissa)
    whole, rest = divmod(size, unit)
    up = {
        "rn": rest * 2 > unit or (rest * 2 == unit and whole % 2 == 1),
        "rna": rest * 2 >= unit,
        "rz": False,
        "rm": bool(rest) and number.sign == 1,
        "rp": bool(rest) and number.sign == 0,
    }[mode]
    found = (whole + up) * unit
    if found <= form.largest:
        return Real(number.sign, Fraction(found))
    outwards = mode in {"rn", "rna"} or mode == ("rm" if number.sign else "rp")
    return Real(number.sign, "inf" if outwards else form.largest)


def _exponent(size: Fraction) -> int:
    """The e of 2^e <= size < 2^(e + 1)."""
    found = size.numerator.bit_length() - size.denominator.bit_length()
    return found if Fraction(2) ** found <= size else found - 1


def bits_of(type_: str, number: Real) -> int:
    """The bits of a number that a float type has; NaN is the one with all bits set behind the sign."""
    form = FORMATS[type_]
    exponent_bits, ones = (1 << form.exponent) - 1, (1 << form.mantissa) - 1
    if number.nan:
        return ((exponent_bits << form.mantissa) | ones) << form.pad
    if number.infinite:
        found = exponent_bits << form.mantissa
    else:
        size = number.size
        assert isinstance(size, Fraction)
        power = max(_exponent(size), form.least) if size else form.least
        found = int(size / Fraction(2) ** (power - form.mantissa))
        found += (power - form.least) << form.mantissa
    return (number.sign << (form.exponent + form.mantissa) | found) << form.pad


def flushed(type_: str, number: Real) -> Real:
    """The number, a subnormal one as a zero of its sign."""
    size = number.size
    return Real(number.sign, Fraction(0)) if isinstance(size, Fraction) and size < Fraction(2) ** FORMATS[type_].least else number


def root(size: Fraction, bits: int) -> Fraction:
    """A number that rounds as the square root does, to at most `bits` bits: the root cut far behind them, and a little more where it is not exact."""
    shift = 2 * (bits + 8) + 2 * max(0, size.denominator.bit_length() - size.numerator.bit_length())
    scaled = (size.numerator << (2 * shift)) // size.denominator
    exact = scaled * size.denominator == size.numerator << (2 * shift)
    found = isqrt(scaled)
    exact = exact and found * found == scaled
    return Fraction(2 * found + (not exact), 2 << shift)
