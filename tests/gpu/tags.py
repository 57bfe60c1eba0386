"""A number for every bit of an arena, and the runs that spell it: one for each binary digit of the number, one for its complement.

Place i (bit i % 8 of byte i // 8, the lowest bit is 0) has the tag top + i with top a power of two above every place. In run (digit, straight)
every bit of the arena holds that digit of its tag, in run (digit, complemented) the opposite. A bit that the device copied spells the tag of
the place it came from; one that it inverted lacks the top digit, a constant says the same in both runs of a digit, and whatever depends on
several bits spells no complement of itself or the tag of a place that the contract does not name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilecheck.reconstruct.arena import Arena, Bytes
from tilecheck.reconstruct.image import Expected

Numbers = npt.NDArray[np.int64]

ZERO, ONE, INVERTED, MIXED, UNDEFINED = -1, -2, -3, -4, -5
"""Origins that are no place: a constant 0 or 1, the opposite of some bit, no copy of any one bit, or (only predicted) anything."""
WORDS = {ZERO: "the constant 0", ONE: "the constant 1", INVERTED: "an inverted bit", MIXED: "no copy of one bit", UNDEFINED: "anything"}


@dataclass(frozen=True, slots=True)
class Tags:
    """The tags of `bytes` bytes."""

    bytes: int

    @property
    def places(self) -> int:
        """How many bits have a tag."""
        return 8 * self.bytes

    @property
    def digits(self) -> int:
        """Binary digits of a tag, the top one (1 in all of them) included."""
        return (self.places - 1).bit_length() + 1

    def shown(self, digit: int, *, complemented: bool) -> Bytes:
        """The bytes in the run of a digit."""
        if digit == self.digits - 1:
            found = np.full(self.bytes, 0xFF, dtype=np.uint8)
        elif digit < 3:
            found = np.full(self.bytes, (0xAA, 0xCC, 0xF0)[digit], dtype=np.uint8)
        else:
            found = ((np.arange(self.bytes) >> (digit - 3) & 1) * 0xFF).astype(np.uint8)
        return ~found if complemented else found

    def origins(self, straight: Sequence[Bytes], complemented: Sequence[Bytes]) -> Numbers:
        """For every bit the place that it spells, or ZERO, ONE, INVERTED, MIXED; one content for each digit in both sequences."""
        top = 1 << (self.digits - 1)
        spelled = np.zeros(self.places, dtype=np.int64)
        opposite = np.full(self.bytes, 0xFF, dtype=np.uint8)
        always, ever = opposite.copy(), np.zeros(self.bytes, dtype=np.uint8)
        for digit, (one, other) in enumerate(zip(straight, complemented, strict=True)):
            spelled |= bits(one).astype(np.int64) << digit
            opposite &= one ^ other
            always &= one & other
            ever |= one | other
        copied = bits(opposite) == 1
        found = np.full(self.places, MIXED, dtype=np.int64)
        found[bits(always) == 1] = ONE
        found[bits(ever) == 0] = ZERO
        found[copied & (spelled < top)] = INVERTED
        named = copied & (spelled >= top) & (spelled < top + self.places)
        found[named] = spelled[named] - top
        return found


def bits(content: Bytes) -> Bytes:
    """The bits of bytes, the lowest first."""
    return np.unpackbits(content, bitorder="little")


def predicted_origins(expected: Expected) -> Numbers:
    """What a predicted image says of every bit of its arena: the place it comes from, ZERO, ONE or UNDEFINED."""
    found = np.repeat(8 * expected.source, 8) + np.tile(np.arange(8), expected.source.size)
    fixed = np.repeat(expected.constant >= 0, 8)
    found[fixed] = np.where(bits(expected.constant.clip(0).astype(np.uint8))[fixed] == 1, ONE, ZERO)
    for byte, parts in expected.cut.items():
        found[8 * byte : 8 * byte + 8] = ZERO
        for part in parts:
            found[8 * byte + part.at : 8 * byte + part.at + part.bits] = 8 * part.source + part.bit + np.arange(part.bits)
    found[np.repeat(expected.undefined, 8)] = UNDEFINED
    return found


def counts(arena: Arena, wanted: Numbers, found: Numbers) -> dict[str, int]:
    """How many bits were compared, by what the prediction says of them, and how many differ.

    moved, kept: of registers and tensors, from another place or from their own. around: of everything else (gaps, inputs), all kept or
    constant. undefined: not compared.
    """
    rest = np.repeat(8 * resting(arena), 8) + np.tile(np.arange(8), arena.bytes)
    inside = np.zeros(wanted.size, dtype=np.bool_)
    for region in arena.regions:
        if region.role in {"tensor", "after"}:
            inside[8 * region.at : 8 * region.end] = True
    compared = wanted != UNDEFINED
    moved = compared & (wanted != rest)
    return {
        "moved_bits": int((inside & moved).sum()),
        "kept_bits": int((inside & compared & ~moved).sum()),
        "around_bits": int((~inside & compared).sum()),
        "undefined_bits": int((~compared).sum()),
        "different": int(different(wanted, found).size),
    }


def resting(arena: Arena) -> Numbers:
    """For every byte the place whose value it shows where a call leaves it alone: a dump shows what stood before."""
    found = np.arange(arena.bytes)
    for region in arena.regions:
        if region.role == "after":
            before = arena.region("before", region.name)
            found[region.at : region.end] = np.arange(before.at, before.end)
    return found


def different(wanted: Numbers, found: Numbers) -> Numbers:
    """The places at which a map is not the predicted one."""
    return np.flatnonzero((wanted != found) & (wanted != UNDEFINED))


def describe(arena: Arena, origin: int) -> str:
    """An origin in words."""
    return WORDS[origin] if origin < 0 else f"{arena.describe(origin // 8)}, bit {origin % 8}"
