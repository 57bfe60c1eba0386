"""Scalar compositions on a GPU: registers filled with numbers of their types, results compared with what the evaluator says the function gives for them.

An exact result must have the very bits (any NaN stands for NaN); one that an instruction approximates must lie within the documented errors; one that no
document fixes (a quotient by 0) is not compared.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tilecheck.evaluate.predict import Image
from tilecheck.evaluate.scalar_numbers import DIGITS, LARGEST, LEAST, WIDTH, decoded, encoded, ends, nearest
from tilecheck.evaluate.scalar_values import ScalarFunction, Value, just
from tilecheck.reconstruct.arena import RUNS, Arena, Bytes
from tilecheck.reconstruct.products import DrawnArena, Registers

Where = Sequence[int]


@dataclass(frozen=True, slots=True)
class Result:
    """One computed slot of one run: where, the values of the arguments, what is expected, and the bits that came out."""

    row: Sequence[Any]
    run: int
    arguments: tuple[Value, ...]
    expected: Value
    found: int

    @property
    def place(self) -> str:
        """Where, and with what arguments."""
        label, cta, warp, lane, slot = self.row[:5]
        return f"{label} cta {cta} warp {warp} lane {lane} slot {slot} of run {self.run}, of {', '.join(str(one.low) for one in self.arguments)}"

    @property
    def wanted(self) -> str:
        """What is expected."""
        return str(self.expected.low) if self.expected.exact else f"{self.expected.low} to {self.expected.high}"

    @property
    def got(self) -> str:
        """What came out."""
        return f"{decoded(self.expected.type, self.found)} ({self.found:#x})"


def drawn(type_: str, rng: random.Random) -> int:
    """The bits of a random number of a type: often one at an end of its range, often a small one."""
    kind = rng.random()
    if type_ not in DIGITS:
        low, high = ends(type_)
        if kind < 0.3:
            return encoded(type_, rng.choice((0, 1, 2, low, low + 1, high, high - 1, high // 2, 1 << rng.randrange(WIDTH[type_] - 1))))
        return encoded(type_, rng.randint(-40, 40) if kind < 0.6 else rng.randint(low, high))
    if kind < 0.25:
        least, largest = 2.0 ** LEAST[type_], LARGEST[type_]
        size = rng.choice((0.0, 1.0, 0.5, 2.0, 1.5, least, least * 3, least * 2.0 ** DIGITS[type_], largest, float("inf"), float("nan")))
        return encoded(type_, rng.choice((size, -size)))
    if kind < 0.7:
        return encoded(type_, nearest(type_, rng.uniform(-8, 8)))
    if kind < 0.85:
        return encoded(type_, nearest(type_, rng.choice((-1, 1)) * 2.0 ** rng.uniform(-20, 14)))
    return rng.getrandbits(WIDTH[type_])


def computed_rows(image: Image) -> Iterator[tuple[Sequence[Any], Mapping[str, Any]]]:
    """The computed slots of an image, each with what it is computed from."""
    return ((row, row[7]) for row in image.registers if len(row) > 7)


def sources_of(made: Mapping[str, Any]) -> list[Any]:
    """What stands for each parameter: [operand, [cta, warp, lane, slot], bit], or a number."""
    (entry,) = made["entries"]
    return [source for _, source in entry["of"]]


def with_scalars(arena: Arena, image: Image, tensors: Mapping[str, str], threads: int, types: Sequence[str], seed: int = 1) -> DrawnArena:
    """The arena with a random number of its type in every register that the function reads. types: of its parameters."""
    registers, rng = Registers(arena, tensors, threads), random.Random(seed)  # noqa: S311 (numbers to compute with)
    read = ((type_, source) for _, made in computed_rows(image) for type_, source in zip(types, sources_of(made), strict=True))
    places = {registers.at("before", *_place(source)): type_ for type_, source in read if isinstance(source, list)}
    given: list[dict[int, int]] = []
    for _ in range(RUNS):
        found: dict[int, int] = {}
        for (at, size), type_ in places.items():
            found.update(dict(enumerate(drawn(type_, rng).to_bytes(size, "little"), at)))
        given.append(found)
    return DrawnArena(*(getattr(arena, one.name) for one in fields(Arena)), given=tuple(given))


def results(
    arena: DrawnArena, image: Image, function: ScalarFunction, tensors: Mapping[str, str], threads: int, runs: Sequence[Bytes]
) -> Iterator[Result]:
    """What came out in every computed slot of every run, beside what the evaluator says."""
    registers = Registers(arena, tensors, threads)
    for run, content in enumerate(runs):
        before = arena.fill(run)
        for row, made in computed_rows(image):
            arguments: list[Value] = []
            for k, source in enumerate(sources_of(made)):
                if isinstance(source, list):
                    at, size = registers.at("before", *_place(source))
                    type_ = function.reader.params[k][1]
                    arguments.append(just(type_, decoded(type_, _word(before, at, size))))
                else:
                    arguments.append(function.argument(k, source))
            at, size = registers.at("after", row[0], row[1:5])
            yield Result(row, run, tuple(arguments), function.value(arguments), _word(content, at, size))


def untouched(arena: DrawnArena, image: Image, tensors: Mapping[str, str], threads: int, runs: Sequence[Bytes]) -> list[int]:
    """The places that no slot of the image names, at which some run differs from what stood there before."""
    registers, bad = Registers(arena, tensors, threads), set[int]()
    written = np.zeros(arena.bytes, dtype=np.bool_)
    for row in image.registers:
        at, size = registers.at("after", row[0], row[1:5])
        written[at : at + size] = True
    for run, content in enumerate(runs):
        expected = arena.fill(run)
        for region in arena.regions:
            if region.role == "after":
                old = registers.regions["before", region.name]
                expected[region.at : region.end] = expected[old.at : old.end]
        bad.update(np.flatnonzero((expected != content) & ~written).tolist())
    return sorted(bad)


def _place(source: Any) -> tuple[str, Where]:
    """Operand and [cta, warp, lane, slot] of a source."""
    operand, where, _ = source
    return str(operand), where


def _word(content: Bytes, at: int, size: int) -> int:
    return int.from_bytes(content[at : at + size].tobytes(), "little")
