"""What an instruction computes, as data: results from parts of registers, and which entries a sparse or scaled product is made of."""

from __future__ import annotations

from dataclasses import dataclass

from tilecheck.symbolic.terms import Term

Part = tuple[str, int, str]
"""An operand, the lowest bit of a part of its register, and the PTX type of that part."""


@dataclass(frozen=True, slots=True)
class Result:
    """One part of the destination's register: its lowest bit, its bits, its PTX type, and the parts of the sources that it is computed from, in order."""

    bit: int
    bits: int
    type: str
    of: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Computed:
    """What one instruction computes of one register of each operand in the executing thread.

    dst: the destination. operator: add, fma, cvt, ... words: what is written of rounding, flushing, saturation and the like, in the order of the grammar.
    """

    dst: str
    operator: str
    words: tuple[str, ...]
    results: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which index an entry of a sparse factor has: `bits` bits of a word, in the lane and from the bit on that terms over the factor's axes and the selectors say.

    index: the index that is chosen; the factor's own entry for it says the first that is possible. entry: the number of an entry among those that
    share the bits, a term. offsets: for each value of the bits that means something, what is added to the first index for each of those entries.
    """

    operand: str
    lane: Term
    bit: Term
    bits: int
    index: str
    entry: Term
    offsets: tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class Scale:
    """The number that an entry of a factor is multiplied by: a part of a word of an operand, in the lane and from the bit on that terms say.

    type: its PTX type, of eight bits. The terms are over the factor's axes and the selectors.
    """

    operand: str
    type: str
    lane: Term
    bit: Term


@dataclass(frozen=True, slots=True)
class Narrow:
    """How entries of a type lie that are narrower than their units: `bits` bits each, from bit `low` on of the first of `run` units, side by side.

    The units of a run follow each other along the last axis; a run of one is a unit of its own for each entry.
    """

    type: str
    bits: int
    low: int
    run: int = 1
