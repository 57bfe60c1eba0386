"""A predicted image laid over an arena: for every byte, the place its value must come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilecheck.evaluate.predict import Image
from tilecheck.reconstruct import combine
from tilecheck.reconstruct.arena import Arena, Bytes, Region, shown
from tilecheck.reconstruct.combine import Combined

CONSTANTS = {"zero": (0, 0), "nan": (0xF7, 0x7F)}
"""Fills of an image: what even and odd bytes hold. The NaN outside of a tensor is 7FF7 in every half word, measured on an H200 for f16, bf16, f32 and f64."""


@dataclass(frozen=True, slots=True)
class Part:
    """Bits of a byte: `bits` of them, from bit `bit` of place `source` on, at bit `at`."""

    source: int
    bit: int
    bits: int
    at: int

    def value(self, run: int) -> int:
        """What the part adds to its byte in a run."""
        byte = int(shown(np.array([self.source], dtype=np.uint32), run)[0])
        return (byte >> self.bit & (1 << self.bits) - 1) << self.at


@dataclass(frozen=True, slots=True)
class Expected:
    """source: the place whose value each byte of the arena must hold; constant: its value where it has one, else -1; undefined: not compared.

    cut: the bytes that are put together from parts of others (of none: zeros). combined: the elements of a reduction, and those that are rounded.
    """

    source: npt.NDArray[np.int64]
    constant: npt.NDArray[np.int16]
    undefined: npt.NDArray[np.bool_]
    cut: Mapping[int, tuple[Part, ...]]
    combined: tuple[Combined, ...] = ()

    def wrong(self, runs: Sequence[Bytes]) -> npt.NDArray[np.int64]:
        """The places at which some run differs."""
        bad = np.zeros(self.source.size, dtype=np.bool_)
        fixed = self.constant >= 0
        for run, content in enumerate(runs):
            wanted = shown(self.source.astype(np.uint32), run)
            wanted[fixed] = self.constant[fixed].astype(np.uint8)
            for place, parts in self.cut.items():
                wanted[place] = sum(one.value(run) for one in parts)
            for one in self.combined:
                wanted[list(one.at)] = content[list(one.at)]
            bad |= wanted != content
            bad[combine.wrong([one for one in self.combined if one.settled], run, content)] = True
        return np.flatnonzero(bad & ~self.undefined)


class _Writer:
    """Applies the rows of an image. `tensors`: the allocation behind each operand's label; `threads`: of one CTA."""

    def __init__(self, arena: Arena, tensors: Mapping[str, str], threads: int) -> None:
        self.arena, self.tensors, self.threads = arena, tensors, threads
        self.regions = {(one.role, one.name): one for one in arena.regions}
        self.source = np.arange(arena.bytes, dtype=np.int64)
        self.constant = np.full(arena.bytes, -1, dtype=np.int16)
        self.undefined = np.zeros(arena.bytes, dtype=np.bool_)
        self.cut: dict[int, tuple[Part, ...]] = {}
        self.combined: list[tuple[int, int, str, list[int]]] = []
        for at, raw in arena.fixed_bytes():
            self.constant[at : at + raw.size] = raw
        for region in arena.regions:
            if region.role == "after":
                before = self.regions["before", region.name]
                self.source[region.at : region.end] = np.arange(before.at, before.end)

    def old(self, tensor: str) -> Region:
        """Where a tensor or bank stood before."""
        return self.regions.get(("tensor", tensor)) or self.regions["before", tensor]

    def new(self, name: str) -> Region:
        """Where the tensor or bank of an operand shows what it became."""
        tensor = self.tensors[name]
        return self.regions.get(("tensor", tensor)) or self.regions["after", tensor]

    def copy(self, region: Region, cta: int, warp: int, lane: int) -> int:
        """The first byte of the copy that a thread sees."""
        number = {"grid": 0, "cta": cta, "thread": cta * self.threads + 32 * warp + lane}[region.per]
        return region.at + number * region.size

    def register(self, row: Sequence[Any]) -> None:
        """[operand, cta, warp, lane, slot, sources]: the slot's bytes, low byte first; sources null: the next entry says what it is."""
        label, cta, warp, lane, slot, sources = row[:6]
        region = self.new(label)
        at = self.copy(region, cta, warp, lane) + slot * region.slot_bytes
        if sources is None:
            self.word(slice(at, at + region.slot_bytes), row[6])
            return
        bit = 0
        for source in sources:
            place, (first, bits) = at + bit // 8, source[2:] or (0, 8)
            if source[0] is None and bits == 8:
                self.word(slice(place, place + 1), source[1])
            elif source[0] is not None:
                origin = self.place(source[0], source[1], cta, warp, lane)
                self.source[place] = origin
                if bits < 8:
                    self.cut[place] = (*self.cut.get(place, ()), Part(origin, first, bits, bit % 8))
            bit += bits

    def place(self, name: str, where: int | Sequence[int], cta: int, warp: int, lane: int) -> int:
        """The place of a byte of a tensor as a thread sees it, or of [cta, warp, lane, slot, byte] of a register operand."""
        if isinstance(where, int):
            return self.copy(self.old(name), cta, warp, lane) + where
        region = self.old(self.tensors[name])
        slot, byte = where[3:]
        return self.copy(region, *where[:3]) + slot * region.slot_bytes + byte

    def memory(self, row: Sequence[Any]) -> None:
        """[operand, byte, null, word], [operand, byte, register operand, [cta, warp, lane, slot, byte]] or [operand, byte, tensor, byte].

        A last entry {"cta", "from"} says which copies of shared memory the byte and its source lie in.
        """
        label, byte, name, source = row[:4]
        where: Mapping[str, Any] = row[4] if len(row) > 4 else {}
        region = self.new(label)
        if source in ("combined", "rounded"):
            sources = [self.place(one[0], one[1], one[2] if len(one) > 2 else 0, 0, 0) for one in where["sources"]]
            at, before = (self.copy(one, where.get("cta", 0), 0, 0) + byte for one in (region, self.old(self.tensors[label])))
            self.combined.append((at, before, where["by"] if source == "combined" else f"round.{where['to']}", sources))
            return
        if name is None:
            for copy in (where["cta"],) if "cta" in where else range(region.copies):
                at = region.at + copy * region.size + byte
                self.word(slice(at, at + 1), source, byte)
            return
        if isinstance(source, int):
            self.source[self.copy(region, where.get("cta", 0), 0, 0) + byte] = self.place(name, source, where.get("from", 0), 0, 0)
            return
        self.source[self.copy(region, *source[:3]) + byte] = self.place(name, source, *source[:3])

    def word(self, where: slice, word: str, byte: int = 0) -> None:
        """A fill: undefined, or a constant; byte: where in a tensor it stands."""
        if word in CONSTANTS:
            self.constant[where] = CONSTANTS[word][byte % 2]
        else:
            self.undefined[where] = True


def expected(arena: Arena, image: Image, tensors: Mapping[str, str], threads: int) -> Expected:
    """What an image says of an arena: bytes no row names keep their own value, dumps show what stood before."""
    writer = _Writer(arena, tensors, threads)
    for row in image.registers:
        writer.register(row)
    for row in image.memory:
        writer.memory(row)
    return Expected(writer.source, writer.constant, writer.undefined, writer.cut, tuple(elements(writer.combined)))


def elements(found: Sequence[tuple[int, int, str, list[int]]]) -> Iterator[Combined]:
    """Bytes in ascending order (place, place before, operator, sources), put together as elements: from the first byte of every run on."""
    held: list[tuple[int, int, str, list[int]]] = []
    for one in sorted(found):
        held.append(one)
        if len(held) == combine.element_bytes(one[2]):
            at, before, _, sources = zip(*held, strict=True)
            yield Combined(one[2], at, before, tuple(zip(*sources, strict=True)))
            held = []
