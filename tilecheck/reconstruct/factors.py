"""Products of matrices on a GPU, all entries at once: small numbers whose sums are exact go in, the product of the same numbers is compared.

As `products`, for operands in memory and for matrices too large to be looked at entry by entry; what no entry lies in keeps the fill of its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tilecheck.evaluate.factors import Factors
from tilecheck.reconstruct.arena import RUNS, Arena, Bytes, Numbers
from tilecheck.reconstruct.products import LARGEST_SUM, MOST, DrawnArena, Registers, decoded, encoded

Words = npt.NDArray[np.uint64]
Reals = npt.NDArray[np.float64]
WIDTHS = {"b1": 1, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8, "f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "s32": 32, "f64": 64}


@dataclass(frozen=True, slots=True)
class Places:
    """Where entries lie in an arena: the byte, the bit in it, and the bits of each (all have as many)."""

    at: Numbers
    bit: Numbers
    bits: int

    def read(self, content: Bytes) -> Words:
        """The bits of every entry."""
        if self.bits < 8:
            return (content[self.at].astype(np.uint64) >> self.bit.astype(np.uint64)) & np.uint64((1 << self.bits) - 1)
        found = np.zeros(self.at.shape, dtype=np.uint64)
        for k in range(self.bits // 8):
            found |= content[self.at + k].astype(np.uint64) << np.uint64(8 * k)
        return found

    def write(self, content: Bytes, values: Words) -> None:
        """Puts bits into every entry; of entries in one place, those of the first."""
        if self.bits < 8:
            _, first = np.unique(8 * self.at + self.bit, return_index=True)
            at, bit = self.at[first], self.bit[first]
            np.bitwise_and.at(content, at, ~(((1 << self.bits) - 1) << bit).astype(np.uint8))
            np.bitwise_or.at(content, at, (values[first].astype(np.int64) << bit).astype(np.uint8))
            return
        for k in range(self.bits // 8):
            content[self.at + k] = (values >> np.uint64(8 * k)).astype(np.uint8)


@dataclass(frozen=True, slots=True)
class Placed:
    """Factors whose entries have places: left (rows, depth), right (columns, depth), and for each entry of the destination what it starts from.

    chosen: the bits that say where the entries of a sparse left factor belong.
    """

    factors: Factors
    left: Places
    right: Places
    out: Places
    plus: Places | None
    constant: Reals
    row: Numbers
    column: Numbers
    chosen: Places | None = None


class Finder:
    """The places of sources in an arena. tensors: the allocation behind each operand's label; threads: of one CTA."""

    def __init__(self, arena: Arena, tensors: Mapping[str, str], threads: int) -> None:
        self.registers = Registers(arena, tensors, threads)

    def place(self, source: Sequence[Any], role: str = "before") -> tuple[int, int]:
        """(byte, bit in it) of a source [operand, [cta, warp, lane, slot], bit, bits] or [tensor, byte, bit, bits]."""
        if isinstance(source[1], list):
            at, _ = self.registers.at(role, source[0], cast("list[int]", source[1]))
            return at + source[2] // 8, source[2] % 8
        region = self.registers.regions["before", source[0]]  # a staged copy
        cta = source[4]["cta"] if len(source) > 4 else 0
        return region.at + cta * region.size + source[1], source[2]

    def places(self, sources: Sequence[Sequence[Any]], bits: int, role: str = "before") -> Places:
        """Those of several sources of as many bits."""
        found = np.array([self.place(source, role) for source in sources], dtype=np.int64).reshape(-1, 2)
        return Places(found[:, 0], found[:, 1], bits)

    def placed(self, one: Factors) -> Placed:
        """Factors with their places."""
        kind, left, right = one.types
        flat = [[source for line in lines for source in line] for lines in (one.left, one.right)]
        slots = [[entry.slot[0], entry.slot[1:], entry.bit, one.bits] for entry in one.entries]
        starts = [entry.plus for entry in one.entries]
        from_registers = bool(starts) and isinstance(starts[0], list)
        return Placed(
            one,
            self.places(flat[0], WIDTHS[left]),
            self.places(flat[1], WIDTHS[right]),
            self.places(slots, WIDTHS[kind], "after"),
            self.places(starts, WIDTHS[kind]) if from_registers else None,
            np.array([0.0 if from_registers else float(value) for value in (() if from_registers else starts)]),
            np.array([entry.row for entry in one.entries], dtype=np.int64),
            np.array([entry.column for entry in one.entries], dtype=np.int64),
            None if one.chosen is None else self.places([word for line in one.chosen.words for word in line], one.chosen.words[0][0][3]),
        )


def numbers_of(kind: str, bits: Words) -> Reals:
    """The numbers that bits of a type are."""
    width = WIDTHS[kind]
    if width <= 8:
        patterns, which = np.unique(bits, return_inverse=True)
        return np.array([decoded(kind, int(one)) for one in patterns], dtype=np.float64)[which].reshape(bits.shape)
    if kind == "s32":
        return bits.astype(np.uint32).view(np.int32).astype(np.float64)
    if kind == "f16":
        return bits.astype(np.uint16).view(np.float16).astype(np.float64)
    if kind == "f64":
        return bits.view(np.float64)
    shift = np.uint64(16 if kind == "bf16" else 0)
    return (bits << shift).astype(np.uint32).view(np.float32).astype(np.float64)


def bits_of(kind: str, numbers: Reals) -> Words:
    """The bits of numbers that a type holds exactly."""
    whole = np.unique(numbers)
    table = np.array([encoded(kind, int(value) if kind[0] in "su" else float(value)) for value in whole], dtype=np.uint64)
    return table[np.searchsorted(whole, numbers)]


def _drawn(kind: str, count: int, rng: np.random.Generator, *, starts: bool) -> Words:
    """Random numbers of a type, as bits."""
    if kind == "b1" or (kind[0] in "su" and not starts):
        return rng.integers(0, 1 << WIDTHS[kind], count, dtype=np.uint64)
    most = (LARGEST_SUM if starts else MOST)[kind]
    return bits_of(kind, rng.integers(-most, most + 1, count).astype(np.float64))


def rows_of(one: Placed, content: Bytes) -> Reals:
    """The rows of the left factor, those of a sparse one with its zeros."""
    kept = numbers_of(one.factors.types[1], one.left.read(content)).reshape(len(one.factors.left), -1)
    chosen = one.factors.chosen
    if chosen is None or one.chosen is None:
        return kept
    bits = one.chosen.read(content).astype(np.int64).reshape(kept.shape)
    table = np.zeros((1 << one.chosen.bits, 1 + max(chosen.number)), dtype=np.int64)
    for value, offsets in chosen.offsets.items():
        table[value, : len(offsets)] = offsets
    whole = np.zeros((kept.shape[0], len(one.factors.right[0])))
    at = np.array(chosen.first) + table[bits, np.array(chosen.number)]
    np.add.at(whole, (np.arange(kept.shape[0])[:, None], at), kept)
    return whole


Fill = Callable[[Arena, int, Bytes, Placed], None]
"""Fills the sources of factors for a run."""


def _random(seed: int) -> Fill:
    def fill(arena: Arena, run: int, content: Bytes, one: Placed) -> None:
        del arena
        rng = np.random.default_rng((seed, run))
        kind, left, right = one.factors.types
        for places, type_ in ((one.left, left), (one.right, right)):
            places.write(content, _drawn(type_, places.at.size, rng, starts=False))
        if one.chosen is not None and one.factors.chosen is not None:
            one.chosen.write(content, rng.choice(np.array(list(one.factors.chosen.offsets), dtype=np.uint64), one.chosen.at.size))
        if one.plus is not None:
            one.plus.write(content, _drawn(kind, one.plus.at.size, rng, starts=True))

    return fill


def filled(arena: Arena, placed: Sequence[Placed], fill: Fill | None = None) -> DrawnArena:
    """The arena with a number in every entry that a product reads, a random one by default."""
    given: list[dict[int, int]] = []
    fill = fill or _random(1)
    for run in range(RUNS):
        plain = Arena.fill(arena, run)
        content = plain.copy()
        for one in placed:
            fill(arena, run, content, one)
        changed = np.flatnonzero(content != plain)
        given.append(dict(zip(changed.tolist(), content[changed].tolist(), strict=True)))
    return DrawnArena(*(getattr(arena, one.name) for one in fields(Arena)), given=tuple(given))


def expected(arena: DrawnArena, placed: Sequence[Placed], run: int) -> Bytes:
    """What run `run` leaves: registers and memory as they were, and the products."""
    before = arena.fill(run)
    found = before.copy()
    regions = {(one.role, one.name): one for one in arena.regions}
    for region in arena.regions:
        if region.role == "after":
            old = regions["before", region.name]
            found[region.at : region.end] = before[old.at : old.end]
    for one in placed:
        kind, _, right = one.factors.types
        rows = rows_of(one, before)
        columns = numbers_of(right, one.right.read(before)).reshape(len(one.factors.right), -1)
        product = rows @ columns.T  # of whole numbers below 2^53: exact, `and` of single bits included
        start = one.constant if one.plus is None else numbers_of(kind, one.plus.read(before))
        sums = start + (-1 if one.factors.negated else 1) * product[one.row, one.column]
        one.out.write(found, bits_of(kind, sums))
    return found


def wrong(arena: DrawnArena, placed: Sequence[Placed], runs: Sequence[Bytes]) -> tuple[list[int], int]:
    """(the places at which some run differs from the product computed again, how many places are computed)."""
    bad: set[int] = set()
    for run, content in enumerate(runs):
        bad.update(np.flatnonzero(expected(arena, placed, run) != content).tolist())
    return sorted(bad), sum(one.out.at.size * max(1, one.out.bits // 8) for one in placed)
