"""Products on a GPU: registers filled with small numbers whose sums are exact, results computed again from what the evaluator says they are made of.

The numbers differ from register to register and from run to run; what no entry of a product lies in keeps the fill of its place.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from math import prod
from typing import Any, cast

import numpy as np

from tilecheck.evaluate.predict import Image
from tilecheck.reconstruct.arena import RUNS, Arena, Bytes, Region
from tilecheck.reconstruct.numbers import bits_of, finite, real

Number = int | float
SMALL = frozenset({"e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "ue4m3"})
"""The floats of at most eight bits."""
SCALES = {"ue8m0": (127, 128, 129), "ue4m3": (0x38, 0x40, 0x44, 0x48)}
"""The bits of the scales that are drawn: 1, 2 and 4, and 1, 2, 3 and 4."""
MOST = {"f16": 4, "bf16": 8, "tf32": 8, "f64": 1000, "e4m3": 4, "e5m2": 4, "e3m2": 4, "e2m3": 3, "e2m1": 4, "f32": 1000}
"""The largest number of each float type that is drawn, where it is multiplied; all are whole."""
LARGEST_SUM = {"f16": 64, "f32": 1000, "f64": 100_000, "s32": 1 << 20}
"""The largest number that a sum starts from."""


def decoded(type_: str, bits: int) -> Number:
    """The number that the bits of a type are."""
    if type_ == "b1":
        return bits
    if type_[0] in "su":
        size = int(type_[1:])
        return bits - (1 << size) if type_[0] == "s" and bits >> (size - 1) else bits
    if type_ in SMALL or type_ == "ue8m0":
        return float(real(type_, bits).value)
    raw, packed = {"f16": ("<H", "<e"), "bf16": ("<I", "<f"), "tf32": ("<I", "<f"), "f32": ("<I", "<f"), "f64": ("<Q", "<d")}[type_]
    return struct.unpack(packed, struct.pack(raw, bits << 16 if type_ == "bf16" else bits))[0]


def encoded(type_: str, value: Number) -> int:
    """The bits of a number that a type holds exactly; ValueError for another."""
    if type_ == "b1":
        return int(value)
    if type_ in SMALL:
        return bits_of(type_, finite(Fraction(value)))
    if type_[0] in "su":
        return int(value) % (1 << int(type_[1:]))
    packed, raw = {"f16": ("<e", "<H"), "bf16": ("<f", "<I"), "tf32": ("<f", "<I"), "f32": ("<f", "<I"), "f64": ("<d", "<Q")}[type_]
    found = struct.unpack(raw, struct.pack(packed, value))[0]
    bits = found >> 16 if type_ == "bf16" else found
    if decoded(type_, bits) != value:
        raise ValueError(f"{value} is no {type_}")
    return bits


def drawn(type_: str, rng: random.Random, *, starts: bool) -> int:
    """The bits of a random number; starts: one that a sum starts from."""
    if type_ == "b1":
        return rng.getrandbits(1)
    if type_ in SCALES:
        return rng.choice(SCALES[type_])
    if starts or type_[0] not in "su":
        most = (LARGEST_SUM if starts else MOST)[type_]
        return encoded(type_, rng.randint(-most, most))
    return rng.getrandbits(int(type_[1:]))


@dataclass(frozen=True, slots=True)
class DrawnArena(Arena):
    """An arena in which some bytes of each run are given."""

    given: tuple[Mapping[int, int], ...] = field(default=())

    def fill(self, run: int) -> Bytes:
        """As run `run` begins."""
        found = Arena.fill(self, run)
        places = self.given[run]
        found[np.fromiter(places, dtype=np.int64, count=len(places))] = np.fromiter(places.values(), dtype=np.uint8, count=len(places))
        return found


class Registers:
    """The banks of an arena by operand and thread. tensors: the allocation behind each operand's label; threads: of one CTA."""

    def __init__(self, arena: Arena, tensors: Mapping[str, str], threads: int) -> None:
        self.tensors, self.threads = tensors, threads
        self.regions: dict[tuple[str, str], Region] = {(one.role, one.name): one for one in arena.regions}

    def at(self, role: str, label: str, where: Sequence[int]) -> tuple[int, int]:
        """(the first byte of the slot [cta, warp, lane, slot] of an operand, its bytes)."""
        cta, warp, lane, slot = where
        region = self.regions[role, self.tensors[label]]
        return region.at + (cta * self.threads + 32 * warp + lane) * region.size + slot * region.slot_bytes, region.slot_bytes


def rows_of(image: Image) -> Iterator[tuple[Sequence[Any], Mapping[str, Any]]]:
    """The computed slots of an image, each with what it is computed from."""
    return ((row, row[7]) for row in image.registers if len(row) > 7)


Kind = str | tuple[int, ...]
"""What is read somewhere: a number of a type, or one of some bit patterns."""


def mentioned(image: Image) -> Iterator[tuple[Kind, Sequence[Any], bool]]:
    """(what, source, whether a sum starts from it) of everything that is read."""
    for _, made in rows_of(image):
        for entry in made["entries"]:
            kind, start = entry["plus"]
            if isinstance(start, list):
                yield kind, start, True
            for factors in entry["products"]:
                for type_, source in zip(entry["of"], factors, strict=True):
                    if isinstance(source, list):
                        yield type_, source, False
                        continue
                    yield tuple(value for value, _ in source["among"]), source["by"], False
                    yield from ((type_, one, False) for _, one in source["among"])


def with_numbers(arena: Arena, image: Image, tensors: Mapping[str, str], threads: int, seed: int = 1) -> DrawnArena:
    """The arena with a random number in every entry that the product reads."""
    registers, rng = Registers(arena, tensors, threads), random.Random(seed)  # noqa: S311 (numbers to multiply)
    entries = {
        (*registers.at("before", source[0], source[1]), source[2], source[3]): (type_, starts) for type_, source, starts in mentioned(image)
    }
    given: list[dict[int, int]] = []
    for run in range(RUNS):
        plain, found = Arena.fill(arena, run), dict[int, int]()
        for (at, size, bit, bits), (type_, starts) in entries.items():
            whole = int.from_bytes(bytes(found.get(at + k, int(plain[at + k])) for k in range(size)), "little")
            value = rng.choice(type_) if isinstance(type_, tuple) else drawn(type_, rng, starts=starts)
            whole = whole & ~(((1 << bits) - 1) << bit) | value << bit
            found.update({at + k: byte for k, byte in enumerate(whole.to_bytes(size, "little"))})
        given.append(found)
    return DrawnArena(*(getattr(arena, one.name) for one in fields(Arena)), given=tuple(given))


def value_of(entry: Mapping[str, Any], combine: str, read: Any) -> Number:
    """The sum that an entry is."""
    kind, start = entry["plus"]
    total = read(kind, start) if isinstance(start, list) else start
    sign = -1 if entry.get("negated") else 1
    for factors in entry["products"]:
        x, y, *scales = (read(type_, source) for type_, source in zip(entry["of"], factors, strict=True))
        total += sign * (x * y * prod(scales) if combine == "mul" else (x ^ y if combine == "xor" else x & y))
    return total


def wrong(arena: DrawnArena, image: Image, tensors: Mapping[str, str], threads: int, runs: Sequence[Bytes]) -> tuple[list[int], int]:
    """(the places at which some run differs from the product computed again, how many places are computed)."""
    registers, bad, computed = Registers(arena, tensors, threads), set[int](), set[int]()
    for run, content in enumerate(runs):
        before = arena.fill(run)
        expected = before.copy()
        for region in arena.regions:
            if region.role == "after":
                old = registers.regions["before", region.name]
                expected[region.at : region.end] = before[old.at : old.end]

        def found_in(source: Sequence[Any], before: Bytes = before) -> int:
            at, size = registers.at("before", source[0], source[1])
            word = int.from_bytes(before[at : at + size].tobytes(), "little")
            return word >> source[2] & (1 << source[3]) - 1

        def read(type_: str, source: Any, found_in: Callable[[Sequence[Any]], int] = found_in) -> Number:
            """The number in a source, or in the one of several that bits of a word choose."""
            if isinstance(source, Mapping):
                choice = cast("Mapping[str, Any]", source)
                source = dict(choice["among"])[found_in(choice["by"])]
            return decoded(type_, found_in(source))

        for row, made in rows_of(image):
            at, size = registers.at("after", row[0], row[1:5])
            word = int.from_bytes(expected[at : at + size].tobytes(), "little")
            for entry in made["entries"]:
                bits = encoded(entry["type"], value_of(entry, made["by"], read))
                word = word & ~(((1 << entry["bits"]) - 1) << entry["bit"]) | bits << entry["bit"]
            expected[at : at + size] = np.frombuffer(word.to_bytes(size, "little"), dtype=np.uint8)
            computed.update(range(at, at + size))
        for row in image.registers:
            if len(row) == 7:
                at, size = registers.at("after", row[0], row[1:5])
                expected[at : at + size] = content[at : at + size]
        bad.update(np.flatnonzero(expected != content).tolist())
    return sorted(bad), len(computed)
