"""What the symbols may be: declared ranges, facts, the residues of base addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd
from typing import Any

from tilecheck.evaluate.expressions import Expression, LimitError, Limits
from tilecheck.evaluate.launch import THREAD_NAMES
from tilecheck.evaluate.views import View

RANGES = {"int32": (-(1 << 31), (1 << 31) - 1), "uint32": (0, (1 << 32) - 1), "int64": (-(1 << 63), (1 << 63) - 1)}
LISTED = 4096
ELECTED = "elected"


class TooLargeError(ValueError):
    """A domain too large to enumerate."""


MOST = 1 << 20
"""The longest axis whose coordinates are counted one by one."""


def grid(extents: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every coordinate of a box, the last axis the fastest. TooLargeError where an axis is too long."""
    if max(extents, default=0) > MOST:
        raise TooLargeError(f"an axis of {max(extents)} elements")
    return product(*(range(extent) for extent in extents))


@dataclass(frozen=True, slots=True)
class Symbol:
    """A declared symbol, with its range and the level at which it varies."""

    name: str
    low: int
    high: int
    step: int
    varies: str
    bounded: bool

    def admits(self, value: int) -> bool:
        """Whether the declaration allows a value."""
        return self.low <= value <= self.high and value % self.step == 0

    def count(self) -> int:
        """How many values it has."""
        return max(0, self.high // self.step - -(-self.low // self.step) + 1)

    def values(self) -> list[int]:
        """Every value, in the order 0, 1, -1, 2, -2, ...; of a vast range the values near 0 and near its ends."""
        first, last = -(-self.low // self.step), self.high // self.step
        if self.count() <= LISTED:
            multiples = set(range(first, last + 1))
        else:
            near = {k for centre in (0, first, last) for k in range(centre - 8, centre + 9)}
            multiples = {k for k in near if first <= k <= last}
        return sorted((k * self.step for k in multiples), key=lambda value: (abs(value), value < 0))


def symbol(form: Mapping[str, Any], index_range: tuple[int, int]) -> Symbol:
    """The symbol that a document declares."""
    low, high = form.get("min"), form.get("max")
    return Symbol(
        str(form["name"]),
        index_range[0] if low is None else int(low),
        index_range[1] if high is None else int(high),
        abs(int(form.get("multiple_of") or 1)) or 1,
        str(form.get("varies") or "grid"),
        low is not None and high is not None,
    )


class Facts:
    """The declared symbols, the assumptions that bind them, and what symbolic tensors imply."""

    def __init__(self, call: Mapping[str, Any], views: Sequence[View]) -> None:
        self.index_range = RANGES[str(call.get("index_dtype") or "int64")]
        self.symbols = tuple(symbol(form, self.index_range) for form in call.get("symbols") or ())
        assumptions = [Expression(text) for text in call.get("assume") or ()]
        self.facts = tuple(fact for fact in assumptions if not fact.names & THREAD_NAMES)
        self.conditions = tuple(fact for fact in assumptions if fact.names & THREAD_NAMES)
        self.symbolic = tuple(view for view in views if view.declared_names)

    def declared(self, values: Mapping[str, int]) -> bool:
        """Whether every symbol is within its declaration."""
        return all(symbol.admits(values[symbol.name]) for symbol in self.symbols)

    def hold(self, values: Mapping[str, int]) -> bool:
        """Whether the facts hold; one without a value (a division by 0) does not."""
        try:
            return all(fact.value(values) for fact in self.facts) and all(self._implied(view, values) for view in self.symbolic)
        except LimitError:
            return False

    def possible(self, values: Mapping[str, int]) -> bool:
        """Whether no fact that has a value is false."""
        for fact in self.facts:
            try:
                fact.check(values, Limits())
            except LimitError:
                continue
            if not fact.value(values):
                return False
        return True

    def _implied(self, view: View, values: Mapping[str, int]) -> bool:
        """Symbolic extents are not negative, and the span of the layout fits the index type."""
        extents = (*view.shape, *(factor.extent for factor in view.layout.shards))
        if any(extent.names and extent.value(values) < 0 for extent in extents):
            return False
        return view.tensor(values).span() <= self.index_range[1]

    def assignments(self, symbols: Sequence[Symbol], fixed: Mapping[str, int]) -> Iterator[dict[str, int]]:
        """Every assignment that extends `fixed` by values of `symbols`, in order, whether or not the facts hold."""
        if not symbols:
            yield dict(fixed)
            return
        first, *rest = symbols
        for value in first.values():
            yield from self.assignments(rest, {**fixed, first.name: value})


class Base:
    """The base address of one allocation: what `align` and `base` of all its operands say together."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.facts: list[tuple[int, int]] = []

    def add(self, form: Mapping[str, Any], declared_bits: int) -> None:
        """One operand's facts: (modulus, residue)."""
        self.facts.append((int(form.get("align") or max(1, declared_bits // 8)), 0))
        if form.get("base"):
            self.facts.append((int(form["base"]["mod"]), int(form["base"]["is"])))

    def allows(self, residue: int, modulus: int) -> bool:
        """Whether some base has this residue (pairwise agreement suffices, by the Chinese remainder theorem)."""
        return all((residue - r) % gcd(modulus, m) == 0 for m, r in self.facts)

    def consistent(self) -> bool:
        """Whether any base at all is left."""
        return all((r1 - r2) % gcd(m1, m2) == 0 for m1, r1 in self.facts for m2, r2 in self.facts)

    def residues(self, modulus: int) -> list[int]:
        """The residues the base may have, ascending."""
        return [residue for residue in range(modulus) if self.allows(residue, modulus)]
