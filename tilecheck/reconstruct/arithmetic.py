"""What arithmetic gives, computed exactly: every rounding, flush, clamp and special case of PTX ISA 9.7.1, 9.7.3, 9.7.4 and 9.7.9.21.

Approximations have a bound in the ISA: any value within it is right. So is any NaN where the result is one, and anything where the ISA leaves it open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

from tilecheck.reconstruct.numbers import FORMATS, NAN, Real, bits_of, ends, finite, flushed, integer, is_float, real, root, rounded

Input = tuple[str, int]
"""A PTX type and the bits of a number of it."""
DIGITS = Context(prec=60, Emax=999_999, Emin=-999_999)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a result may be: its bits; where `around` is given, any number no farther from it than `within`; None and None: anything.

    nan: whether any NaN will do.
    """

    bits: int | None
    around: Fraction | None = None
    within: Fraction = Fraction(0)
    nan: bool = False

    def takes(self, type_: str, bits: int) -> bool:
        """Whether the bits of a result are right."""
        if self.bits == bits or (self.bits is None and self.around is None):
            return True
        if not is_float(type_):
            return False
        found = real(type_, bits)
        if self.nan:
            return found.nan
        return self.around is not None and not found.nan and not found.infinite and abs(found.value - self.around) <= self.within


ANYTHING = Answer(None)


def answer(by: str, type_: str, inputs: Sequence[Input]) -> Answer:
    """What an operator with its modifiers ("fma.rn.relu") gives of some inputs in a type. KeyError for an operator that is not known."""
    operator, *words = by.split(".")
    if operator == "mov":
        return Answer(inputs[0][1])
    if operator == "cvt":
        return converted(words, type_, *inputs[0])
    if not is_float(type_):
        return _integers(operator, words, type_, [integer(*one) for one in inputs])
    numbers = [_read(words, *one) for one in inputs]
    if "oob" in words and any(bits == 0xFFFF for _, bits in inputs[:2]):
        return Answer(0)
    if "approx" in words or "full" in words:
        return _approximate(operator, words, type_, numbers)
    return _finished(type_, words, FLOATS[operator](type_, words, numbers))


def _read(words: Sequence[str], type_: str, bits: int) -> Real:
    found = real(type_, bits)
    return flushed(type_, found) if "ftz" in words else found


def _finished(type_: str, words: Sequence[str], number: Real) -> Answer:
    """A result with what comes last: flushing, clamping."""
    if "sat" in words:
        size = number.size
        if number.nan or number.sign or not size:
            return Answer(0)
        if number.infinite or (isinstance(size, Fraction) and size > 1):
            number = Real(0, Fraction(1))
    if "relu" in words and not number.nan and number.sign:
        number = Real(0, Fraction(0))
    if "ftz" in words:
        number = flushed(type_, number)
    return Answer(bits_of(type_, number), nan=number.nan)


# --- floats ----------------------------------------------------------------------------------------------------------


def _mode(words: Sequence[str]) -> str:
    return next((word for word in words if word in {"rn", "rz", "rm", "rp", "rna"}), "rn")


def _sum(type_: str, words: Sequence[str], a: Real, b: Real) -> Real:
    """a + b, rounded once."""
    mode = _mode(words)
    if a.nan or b.nan or (a.infinite and b.infinite and a.sign != b.sign):
        return NAN
    if a.infinite or b.infinite:
        return a if a.infinite else b
    total = a.value + b.value
    if not total:
        return Real(a.sign if a.sign == b.sign else int(mode == "rm"), Fraction(0))
    return rounded(FORMATS[type_], finite(total), mode)


def _times(a: Real, b: Real) -> Real:
    """a * b, exactly."""
    sign = a.sign ^ b.sign
    if a.nan or b.nan or (a.infinite and b.zero) or (a.zero and b.infinite):
        return NAN
    return Real(sign, "inf") if a.infinite or b.infinite else Real(sign, abs(a.value * b.value))


def _rounded(type_: str, words: Sequence[str], number: Real) -> Real:
    return number if number.nan or number.infinite else rounded(FORMATS[type_], number, _mode(words))


def _add(type_: str, words: Sequence[str], n: Sequence[Real]) -> Real:
    return _sum(type_, words, n[0], n[1])


def _sub(type_: str, words: Sequence[str], n: Sequence[Real]) -> Real:
    return _sum(type_, words, n[0], n[1].negated())


def _mul(type_: str, words: Sequence[str], n: Sequence[Real]) -> Real:
    return _rounded(type_, words, _times(n[0], n[1]))


def _fma(type_: str, words: Sequence[str], n: Sequence[Real]) -> Real:
    return _sum(type_, words, _times(n[0], n[1]), n[2])


def _div(type_: str, words: Sequence[str], n: Sequence[Real]) -> Real:
    a, b = n
    return _rounded(type_, words, quotient(a, b))


def quotient(a: Real, b: Real) -> Real:
    """a / b, exactly."""
    sign = a.sign ^ b.sign
    if a.nan or b.nan or (a.infinite and b.infinite) or (a.zero and b.zero):
        return NAN
    if a.infinite or b.zero:
        return Real(sign, "inf")
    return Real(sign, Fraction(0)) if b.infinite else Real(sign, abs(a.value / b.value))


def _rcp(type_: str, words: Sequence[str], n: Sequence[Real]) -> Real:
    return _rounded(type_, words, quotient(Real(0, Fraction(1)), n[0]))


def _sqrt(type_: str, words: Sequence[str], n: Sequence[Real]) -> Real:
    (a,) = n
    if a.nan or a.zero:
        return a
    if a.sign or a.infinite:
        return NAN if a.sign else a
    return _rounded(type_, words, finite(root(a.value, FORMATS[type_].mantissa)))


def _least(type_: str, words: Sequence[str], n: Sequence[Real], *, greatest: bool) -> Real:
    """The lesser (greater) of some numbers: NaN only where all are, or .NaN is written; -0 is less than +0; .xorsign: of magnitudes, under the product of the signs."""
    del type_
    if (any if "NaN" in words else all)(one.nan for one in n):
        return NAN
    sign = sum(one.sign for one in n) % 2
    found = [Real(0, one.size) if "abs" in words else one for one in n if not one.nan]
    best = (max if greatest else min)(found, key=_order)
    return Real(sign, best.size) if "xorsign" in words else best


def _order(number: Real) -> tuple[int, Fraction, int]:
    if number.infinite:
        return (-1 if number.sign else 1, Fraction(0), 0)
    return (0, number.value, -number.sign)


def _min(type_: str, words: Sequence[str], n: Sequence[Real]) -> Real:
    return _least(type_, words, n, greatest=False)


def _max(type_: str, words: Sequence[str], n: Sequence[Real]) -> Real:
    return _least(type_, words, n, greatest=True)


def _abs(type_: str, words: Sequence[str], n: Sequence[Real]) -> Real:
    del type_, words
    return Real(0, n[0].size)


def _neg(type_: str, words: Sequence[str], n: Sequence[Real]) -> Real:
    del type_, words
    return n[0].negated()


FLOATS = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "fma": _fma,
    "div": _div,
    "rcp": _rcp,
    "sqrt": _sqrt,
    "min": _min,
    "max": _max,
    "abs": _abs,
    "neg": _neg,
}


# --- approximations --------------------------------------------------------------------------------------------------


def _ulp(type_: str, value: Fraction) -> Fraction:
    """The distance of neighbouring numbers of a type around a value."""
    form = FORMATS[type_]
    near = rounded(form, finite(abs(value)), "rz")
    power = form.least
    if isinstance(near.size, Fraction) and near.size:
        while near.size >= Fraction(2) ** (power + 1):
            power += 1
    return Fraction(2) ** (power - form.mantissa)


def _approximate(operator: str, words: Sequence[str], type_: str, n: Sequence[Real]) -> Answer:
    """An approximation within the bound of the ISA, beyond what rounding adds.

    ex2: 2 ulp of the rounded result (.f16 2^-9.9, .bf16 2^-7 of the value); lg2: 2^-22 (of the value, outside of 0.5 to 2); rcp: 1 ulp; sqrt: 2^-23 of the value;
    div: 2 ulp. For rcp of .f64 the ISA gives no bound but the 20 bits that it computes.
    """
    exact = _limit(operator, n)
    if not isinstance(exact, Fraction):
        return _finished(type_, words, exact)
    low = Fraction(2) ** FORMATS[type_].least
    ulp = _ulp(type_, exact)
    bound = {
        "ex2": {"f32": Fraction(5, 2) * ulp, "f16": abs(exact) * Fraction(2**60) / int(2**69.9), "bf16": abs(exact) / 128}.get(type_, ulp),
        "lg2": Fraction(1, 1 << 22) * (1 if n[0].value > Fraction(1, 2) and n[0].value < 2 else abs(exact)),
        "rcp": Fraction(3, 2) * ulp if type_ == "f32" else abs(exact) / (1 << 19),
        "sqrt": abs(exact) / (1 << 23),
        "div": Fraction(5, 2) * ulp,
    }[operator]
    if operator == "div" and "approx" in words and not Fraction(2) ** -126 <= abs(n[1].value) <= Fraction(2) ** 126:
        return ANYTHING if abs(n[1].value) < Fraction(2) ** -126 else Answer(bits_of(type_, Real(n[0].sign ^ n[1].sign, Fraction(0))))
    if abs(exact) > FORMATS[type_].largest - ulp:
        return ANYTHING  # what is above the largest number is infinite or not, as the bound allows
    if abs(exact) < low and "ftz" in words:
        sign = int(exact < 0) if exact else (n[0].sign ^ n[1].sign if operator == "div" else n[0].sign)
        return Answer(bits_of(type_, Real(sign, Fraction(0))), around=exact if abs(exact) + bound >= low else None, within=bound)
    return Answer(
        bits_of(type_, rounded(FORMATS[type_], finite(exact), "rn")), around=exact, within=max(bound, ulp if abs(exact) < low else bound)
    )


def _limit(operator: str, n: Sequence[Real]) -> Fraction | Real:
    """The exact value, or where it is none of the special results."""
    (a, *others) = n
    if any(one.nan for one in n):
        return NAN
    if operator == "div":
        found = quotient(a, others[0])
        return found if not isinstance(found.size, Fraction) or not found.size else found.value
    if operator == "rcp":
        found = quotient(Real(0, Fraction(1)), a)
        return found if not isinstance(found.size, Fraction) or not found.size else found.value
    if operator == "sqrt":
        if a.zero or a.infinite or a.sign:
            return a if a.zero or not a.sign else NAN
        return root(a.value, 64)
    if operator == "ex2":
        if a.infinite:
            return Real(0, "inf") if not a.sign else Real(0, Fraction(0))
        if a.value > 2000 or a.value < -2000:
            return Real(0, "inf") if not a.sign else Real(0, Fraction(0))
        return _power(a.value)
    if a.zero:
        return Real(1, "inf")
    if a.sign:
        return NAN
    return a if a.infinite else _logarithm(a.value)


def _power(value: Fraction) -> Fraction:
    """2 ** value, to 60 digits."""
    whole = value.numerator // value.denominator
    rest = value - whole
    exponent = DIGITS.multiply(_decimal(rest), DIGITS.ln(Decimal(2)))
    return Fraction(DIGITS.exp(exponent)) * Fraction(2) ** whole


def _logarithm(value: Fraction) -> Fraction:
    """log2(value), to 60 digits."""
    return Fraction(DIGITS.divide(DIGITS.ln(_decimal(value)), DIGITS.ln(Decimal(2))))


def _decimal(value: Fraction) -> Decimal:
    return DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


# --- integers --------------------------------------------------------------------------------------------------------


def _integers(operator: str, words: Sequence[str], type_: str, n: Sequence[int]) -> Answer:
    size = int(type_[1:])
    low, high = ends(type_)
    if operator == "mul":
        product = n[0] * n[1]
        return Answer((product >> size if "hi" in words else product) % (1 << size))
    if operator == "div":
        if n[1] == 0 or (n[0] == low and n[1] == -1):
            return ANYTHING
        found = abs(n[0]) // abs(n[1])
        return Answer((found if (n[0] < 0) == (n[1] < 0) else -found) % (1 << size))
    found = {
        "add": lambda: n[0] + n[1],
        "sub": lambda: n[0] - n[1],
        "min": lambda: min(n),
        "max": lambda: max(n),
        "abs": lambda: abs(n[0]),
        "neg": lambda: -n[0],
    }[operator]()
    if "sat" in words:
        found = min(max(found, low), high)
    if "relu" in words:
        found = max(found, 0)
    return Answer(found % (1 << size))


# --- conversions -----------------------------------------------------------------------------------------------------

TO_INTEGER = {"rni": "rn", "rzi": "rz", "rmi": "rm", "rpi": "rp"}


def converted(words: Sequence[str], to: str, source: str, bits: int) -> Answer:
    """A number of one type as one of another."""
    whole = next((TO_INTEGER[word] for word in words if word in TO_INTEGER), None)
    if not is_float(source) and not is_float(to):
        value = integer(source, bits)
        low, high = ends(to)
        return Answer((min(max(value, low), high) if "sat" in words else value) % (1 << int(to[1:])))
    if not is_float(source):
        number = finite(Fraction(integer(source, bits)))
        return _narrowed(to, words, number)
    number = real(source, bits)
    if "ftz" in words and source == "f32" and to != "f16":  # MEASURED on an H200: to .f16 no input is flushed, which .rm and .rp show
        number = flushed(source, number)
    if whole is not None:
        number = _whole(number, whole)
    if not is_float(to):
        return _to_integer(to, source, number)
    return _narrowed(to, words, number)


def _whole(number: Real, mode: str) -> Real:
    """A number rounded to an integer."""
    if not isinstance(number.size, Fraction):
        return number
    down, rest = divmod(number.size, 1)
    up = {
        "rn": rest * 2 > 1 or (rest * 2 == 1 and down % 2 == 1),
        "rz": False,
        "rm": bool(rest) and number.sign == 1,
        "rp": bool(rest) and number.sign == 0,
    }[mode]
    return Real(number.sign, Fraction(down + up))


def _to_integer(to: str, source: str, number: Real) -> Answer:
    """An integer from a rounded float, clamped; NaN is 0, or with 64 bits on a side the top bit alone."""
    size = int(to[1:])
    low, high = ends(to)
    if number.nan:
        return Answer(1 << (size - 1) if source == "f64" or size == 64 else 0)
    found = (low if number.sign else high) if number.infinite else min(max(int(number.value), low), high)
    return Answer(found % (1 << size))


def _narrowed(to: str, words: Sequence[str], number: Real) -> Answer:
    """A float of another type, rounded where it must be; .satfinite: the largest number for what is beyond it."""
    form = FORMATS[to]
    if "relu" in words and not number.nan and number.sign:
        number = Real(0, Fraction(0))
    if isinstance(number.size, Fraction):
        number = rounded(form, number, _mode(words))
    if number.infinite and ("satfinite" in words or form.special != "ieee"):
        number = Real(number.sign, form.largest)
    return _finished(to, [word for word in words if word == "sat" or (word == "ftz" and to == "f32")], number)
