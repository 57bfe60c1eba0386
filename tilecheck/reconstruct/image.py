"""A predicted image laid over an arena: for every byte, the place its value must come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilecheck.errors import TilecheckError
from tilecheck.evaluate.predict import Image
from tilecheck.reconstruct.arena import Arena, Bytes, Region, shown

CONSTANTS = {"zero": 0}
"""Fills of an image with one value in every byte."""


@dataclass(frozen=True, slots=True)
class Expected:
    """source: the place whose value each byte of the arena must hold; constant: its value where it has one, else -1; undefined: not compared."""

    source: npt.NDArray[np.int64]
    constant: npt.NDArray[np.int16]
    undefined: npt.NDArray[np.bool_]

    def wrong(self, runs: Sequence[Bytes]) -> npt.NDArray[np.int64]:
        """The places at which some run differs."""
        bad = np.zeros(self.source.size, dtype=np.bool_)
        fixed = self.constant >= 0
        for run, content in enumerate(runs):
            wanted = shown(self.source.astype(np.uint32), run)
            wanted[fixed] = self.constant[fixed].astype(np.uint8)
            bad |= wanted != content
        return np.flatnonzero(bad & ~self.undefined)


class _Writer:
    """Applies the rows of an image. `tensors`: the allocation behind each operand's label; `threads`: of one CTA."""

    def __init__(self, arena: Arena, tensors: Mapping[str, str], threads: int) -> None:
        self.arena, self.tensors, self.threads = arena, tensors, threads
        self.regions = {(one.role, one.name): one for one in arena.regions}
        self.source = np.arange(arena.bytes, dtype=np.int64)
        self.constant = np.full(arena.bytes, -1, dtype=np.int16)
        self.undefined = np.zeros(arena.bytes, dtype=np.bool_)
        for at, raw in arena.fixed_bytes():
            self.constant[at : at + raw.size] = raw
        for region in arena.regions:
            if region.role == "after":
                before = self.regions["before", region.name]
                self.source[region.at : region.end] = np.arange(before.at, before.end)

    def old(self, name: str) -> Region:
        """Where a tensor or bank stood before."""
        return self.regions.get(("tensor", name)) or self.regions["before", name]

    def new(self, name: str) -> Region:
        """Where a tensor or bank shows what it became."""
        return self.regions.get(("tensor", name)) or self.regions["after", name]

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
        for k, source in enumerate(sources):
            if len(source) != 2:
                raise TilecheckError(f"the image cuts a byte of {label}: {source}")
            self.source[at + k] = self.copy(self.old(source[0]), cta, warp, lane) + source[1]

    def memory(self, row: Sequence[Any]) -> None:
        """[operand, byte, null, word], or [operand, byte, register operand, [cta, warp, lane, slot, byte]]."""
        label, byte, name, source = row
        region = self.new(self.tensors[label])
        if name is None:
            for copy in range(region.copies):
                at = region.at + copy * region.size + byte
                self.word(slice(at, at + 1), source)
            return
        if isinstance(source, int):
            raise TilecheckError(f"the image moves memory to memory: {row}")
        cta, warp, lane, slot, inside = source
        bank = self.old(name)
        self.source[self.copy(region, cta, warp, lane) + byte] = self.copy(bank, cta, warp, lane) + slot * bank.slot_bytes + inside

    def word(self, where: slice, word: str) -> None:
        """A fill: undefined, or a constant."""
        if word in CONSTANTS:
            self.constant[where] = CONSTANTS[word]
        else:
            self.undefined[where] = True


def expected(arena: Arena, image: Image, tensors: Mapping[str, str], threads: int) -> Expected:
    """What an image says of an arena: bytes no row names keep their own value, dumps show what stood before."""
    writer = _Writer(arena, tensors, threads)
    for row in image.registers:
        writer.register(row)
    for row in image.memory:
        writer.memory(row)
    return Expected(writer.source, writer.constant, writer.undefined)
