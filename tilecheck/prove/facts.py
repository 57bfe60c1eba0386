"""Facts that a premise is made of: a congruence or a range, of a symbol, an expression or a base address; and how each is written down."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilecheck.call import Call, Symbol
from tilecheck.layout.view import View
from tilecheck.symbolic.terms import Expr
from tilecheck.symbolic.written import all_of, eq, le


@dataclass(frozen=True, slots=True)
class Subject:
    """What a fact is about: a symbol (`symbol` is its name), an expression that joins several, or the base of an operand (`operand` is its place).

    step, start: what the call says already, value % step == start; bases in bytes. low, high: the declared range, ends included (that of the index
    type where none is declared).
    """

    text: str
    term: Expr | None
    step: int = 1
    start: int = 0
    low: int = 0
    high: int = 0
    symbol: str | None = None
    operand: int | None = None


@dataclass(frozen=True, slots=True)
class Congruence:
    """subject % modulus == residue; the modulus is a multiple of the subject's step."""

    subject: Subject
    modulus: int
    residue: int

    @property
    def text(self) -> str:
        """The fact as an expression."""
        return f"{self.subject.text} % {self.modulus} == {self.residue}" if self.condition is None else str(self.condition)

    @property
    def condition(self) -> Expr | None:
        """The fact as an assumption; None for a base, which expressions cannot name."""
        term = self.subject.term
        return None if term is None else eq(term % self.modulus, self.residue)

    @property
    def values(self) -> int:
        """How many values of a symbol or expression it leaves."""
        subject = self.subject
        return max(0, (subject.high - self.residue) // self.modulus - (subject.low - 1 - self.residue) // self.modulus)

    @property
    def declaration(self) -> dict[str, object] | None:
        """The keys of the symbol or operand that say it; None where only an assumption can."""
        if self.subject.symbol is not None and self.residue == 0:
            return {"multiple_of": self.modulus}
        if self.subject.operand is None:
            return None
        return {"align": self.modulus} if self.residue == 0 else {"base": {"mod": self.modulus, "is": self.residue}}

    def weaker(self, grid: int) -> Iterator[Congruence | None]:  # noqa: ARG002 (as for ranges)
        """One step weaker: the modulus without one of its primes; None where nothing is left to say."""
        for prime in primes(self.modulus // self.subject.step):
            modulus = self.modulus // prime
            yield None if modulus == self.subject.step else Congruence(self.subject, modulus, self.residue % modulus)


@dataclass(frozen=True, slots=True)
class Range:
    """low <= subject <= high; an end that is the subject's own says nothing."""

    subject: Subject
    low: int
    high: int

    @property
    def says_low(self) -> bool:
        """Whether the lower end is a fact."""
        return self.low > self.subject.low

    @property
    def says_high(self) -> bool:
        """Whether the upper end is a fact."""
        return self.high < self.subject.high

    @property
    def single(self) -> bool:
        """Whether one value is left."""
        return self.low == self.high

    @property
    def values(self) -> int:
        """How many values of the symbol or expression it leaves."""
        return self.high // self.subject.step - (self.low - 1) // self.subject.step

    @property
    def text(self) -> str:
        """The fact as an expression."""
        return str(self.condition)

    @property
    def condition(self) -> Expr:
        """The fact as an assumption."""
        term = self.subject.term
        assert term is not None
        if self.single:
            return eq(term, self.low)
        parts = [le(self.low, term)] if self.says_low else []
        parts += [le(term, self.high)] if self.says_high else []
        return parts[0] if len(parts) == 1 else all_of(*parts)

    @property
    def declaration(self) -> dict[str, object] | None:
        """The keys of the symbol that say it; None for an expression."""
        if self.subject.symbol is None:
            return None
        keys: dict[str, object] = {}
        if self.says_low:
            keys["min"] = self.low
        if self.says_high:
            keys["max"] = self.high
        return keys

    def weaker(self, grid: int) -> Iterator[Range | None]:
        """One step weaker: an end moved out to the next value, which is `grid` away; None where nothing is left to say."""
        if self.says_low:
            yield _said(Range(self.subject, max(self.low - grid, self.subject.low), self.high))
        if self.says_high:
            yield _said(Range(self.subject, self.low, min(self.high + grid, self.subject.high)))

    def on_grid(self, modulus: int, residue: int) -> Range | None:
        """The same values of those that are `residue` modulo `modulus`, with ends that are such values; None where no value is excluded."""
        low, high = self.low + (residue - self.low) % modulus, self.high - (self.high - residue) % modulus
        low = self.subject.low if low - modulus < self.subject.low else low
        high = self.subject.high if high + modulus > self.subject.high else high
        return _said(Range(self.subject, low, high))


Fact = Congruence | Range
Facts = tuple[Fact, ...]


def _said(fact: Range) -> Range | None:
    return fact if fact.says_low or fact.says_high else None


def primes(number: int) -> list[int]:
    """The primes that divide a number."""
    found: list[int] = []
    candidate = 2
    while number > 1:
        if number % candidate == 0:
            found.append(candidate)
            while number % candidate == 0:
                number //= candidate
        candidate += 1
    return found


def grid(subject: Subject, facts: Sequence[Fact]) -> tuple[int, int]:
    """(modulus, residue) of the subject's values under the facts."""
    for fact in facts:
        if isinstance(fact, Congruence) and fact.subject == subject:
            return fact.modulus, fact.residue
    return subject.step, subject.start


def declared(call: Call, facts: Sequence[Fact]) -> Call:
    """The call with the facts said of its symbols and operands; those that no declaration can say are assumed."""
    for fact in facts:
        keys = fact.declaration
        if keys is None or (fact.subject.symbol is None and fact.subject.operand is None):
            call = assumed(call, (fact,))
        elif fact.subject.operand is not None:
            assert isinstance(fact, Congruence)
            call = _with_base(call, fact)
        else:
            call = dataclasses.replace(call, symbols=tuple(_said_of(s, keys) if s.name == fact.subject.symbol else s for s in call.symbols))
    return call


def assumed(call: Call, facts: Sequence[Fact]) -> Call:
    """The call with the facts as assumptions; those about bases are declared."""
    for fact in facts:
        condition = fact.condition
        call = declared(call, (fact,)) if condition is None else dataclasses.replace(call, assume=(*call.assume, condition))
    return call


def _said_of(symbol: Symbol, keys: dict[str, object]) -> Symbol:
    said: dict[str, object] = {"min": symbol.min, "max": symbol.max, "multiple_of": symbol.multiple_of, **keys}
    low, high, multiple = said["min"], said["max"], said["multiple_of"]
    assert low is None or isinstance(low, int)
    assert high is None or isinstance(high, int)
    assert isinstance(multiple, int)
    return Symbol(symbol.name, low, high, multiple, symbol.varies)


def _with_base(call: Call, fact: Congruence) -> Call:
    place = fact.subject.operand
    assert place is not None
    view = call.operands[place]
    assert isinstance(view, View)
    if fact.residue == 0:
        tensor = dataclasses.replace(view.tensor, align=fact.modulus)
    else:
        tensor = dataclasses.replace(view.tensor, base=(fact.modulus, fact.residue))
    return dataclasses.replace(call, operands=(*call.operands[:place], View(tensor, view.steps), *call.operands[place + 1 :]))


@dataclass(frozen=True, slots=True)
class Premise:
    """Facts that together make a call legal.

    call: the call with them, declared where a declaration can say them. weakest: whether every step weaker is refuted (False: one of them is
    undecided). assumable: whether the call is proved, too, with assumptions in place of declarations of symbols.
    """

    facts: Facts
    call: Call
    weakest: bool
    assumable: bool

    @property
    def text(self) -> str:
        """The facts as one expression."""
        return " and ".join(fact.text for fact in self.facts)

    def to_json(self) -> dict[str, object]:
        """An entry of `premises` in tilecheck/verdict@1."""
        return {"text": self.text, "weakest": self.weakest, "facts": [self._fact(fact) for fact in self.facts]}

    def _fact(self, fact: Fact) -> dict[str, object]:
        keys, condition, place = fact.declaration, fact.condition, fact.subject.operand
        symbol = {"name": fact.subject.symbol, **keys} if keys is not None and place is None else None
        operand = None
        if keys is not None and place is not None:
            operand = {"index": place, "name": operand_name(self.call, place), **keys}
        say = condition is not None and (self.assumable or symbol is None)
        return {"text": fact.text, "assume": str(condition) if say else None, "symbol": symbol, "operand": operand}


def operand_name(call: Call, place: int) -> str:
    """The name of an operand."""
    view = call.operands[place]
    return view.tensor.name if isinstance(view, View) else view.name
