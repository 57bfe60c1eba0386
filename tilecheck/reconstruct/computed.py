"""Arithmetic on a GPU: registers filled with numbers of every kind, results computed again, exactly, from what the evaluator says they are made of.

The numbers differ from register to register and from run to run; beside ordinary ones there are zeros, subnormal and largest numbers, infinities and NaN.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, cast

import numpy as np

from tilecheck.emit.numbers import encoded
from tilecheck.evaluate.predict import Image
from tilecheck.reconstruct.arena import RUNS, Arena, Bytes
from tilecheck.reconstruct.arithmetic import answer
from tilecheck.reconstruct.numbers import FORMATS, ends, is_float
from tilecheck.reconstruct.products import DrawnArena, Registers, rows_of

ORDINARY = 0.6
"""How many of the floats drawn are not far from 1, so that sums cancel and roundings matter."""


def width(type_: str) -> int:
    """The bits of a number of a type."""
    return 8 if type_ == "ue8m0" else FORMATS[type_].bits if is_float(type_) else int(type_[1:])


def drawn(type_: str, rng: random.Random) -> int:
    """The bits of a random number of a type."""
    size = width(type_)
    if not is_float(type_) or type_ == "ue8m0":
        low, high = (0, 254) if type_ == "ue8m0" else ends(f"u{size}" if type_[0] == "b" else type_)
        chosen = rng.choice((rng.randint(low, high), rng.randint(low, high), rng.randint(max(low, -9), min(high, 9)), low, high))
        return chosen % (1 << size)
    form = FORMATS[type_]
    if rng.random() < ORDINARY:
        span = min(6, form.bias - 1)
        power = form.bias + rng.randint(-span, span)
        return (rng.getrandbits(1) << (size - 1)) | ((power << form.mantissa) | rng.getrandbits(form.mantissa)) << form.pad
    top = ((1 << form.exponent) - 1) << form.mantissa
    specials = (0, 1, (1 << form.mantissa) - 1, 1 << form.mantissa, top - 1, top, top | 1 << (form.mantissa - 1))
    found = rng.choice((*specials, *(rng.getrandbits(form.exponent + form.mantissa) for _ in specials)))
    return (rng.getrandbits(1) << (size - 1)) | found << form.pad


def mentioned(image: Image) -> Iterator[tuple[str, Sequence[Any]]]:
    """(type, source) of everything that is read."""
    for _, made in rows_of(image):
        for entry in made["entries"]:
            yield from ((type_, source) for type_, source in entry["of"] if isinstance(source, list))


def with_numbers(arena: Arena, image: Image, tensors: Mapping[str, str], threads: int, seed: int = 1) -> DrawnArena:
    """The arena with a random number in every part of a register that is read."""
    registers, rng = Registers(arena, tensors, threads), random.Random(seed)  # noqa: S311 (numbers to compute with)
    parts = {(*registers.at("before", source[0], source[1]), source[2]): type_ for type_, source in mentioned(image)}
    given: list[dict[int, int]] = []
    for run in range(RUNS):
        plain, found = Arena.fill(arena, run), dict[int, int]()
        for (at, size, bit), type_ in parts.items():
            whole = int.from_bytes(bytes(found.get(at + k, int(plain[at + k])) for k in range(size)), "little")
            whole = whole & ~(((1 << width(type_)) - 1) << bit) | drawn(type_, rng) << bit
            found.update({at + k: byte for k, byte in enumerate(whole.to_bytes(size, "little"))})
        given.append(found)
    return DrawnArena(*(getattr(arena, one.name) for one in fields(Arena)), given=tuple(given))


def input_bits(type_: str, source: Any, word: int) -> int:
    """The bits of an input: of a part of a register that holds `word`, of a number, or of the bits that stand for several."""
    mask = (1 << width(type_)) - 1
    if isinstance(source, list):
        return word >> cast("int", source[2]) & mask
    if isinstance(source, Mapping):
        return cast("Mapping[str, int]", source)["bits"] & mask
    return encoded(type_, source)[1]


def wrong(arena: DrawnArena, image: Image, tensors: Mapping[str, str], threads: int, runs: Sequence[Bytes]) -> tuple[list[int], int, int]:
    """(the places at which some run differs from what is right, how many places are computed, how many results have bits of their own to be right)."""
    registers, bad, computed, exact = Registers(arena, tensors, threads), set[int](), set[int](), 0
    for run, content in enumerate(runs):
        before = arena.fill(run)
        expected = before.copy()
        for region in arena.regions:
            if region.role == "after":
                old = registers.regions["before", region.name]
                expected[region.at : region.end] = before[old.at : old.end]
        for row, made in rows_of(image):
            at, size = registers.at("after", row[0], row[1:5])
            word, got = (int.from_bytes(one[at : at + size].tobytes(), "little") for one in (expected, content))
            for entry in made["entries"]:
                inputs = [(type_, input_bits(type_, source, _word(registers, before, source))) for type_, source in entry["of"]]
                mask = (1 << entry["bits"]) - 1
                found = got >> entry["bit"] & mask
                wanted = answer(made["by"], entry["type"], inputs)
                exact += wanted.bits is not None and wanted.around is None and not wanted.nan
                right = found if wanted.takes(entry["type"], found) else ~found if wanted.bits is None else wanted.bits
                word = word & ~(mask << entry["bit"]) | (right & mask) << entry["bit"]
            expected[at : at + size] = np.frombuffer(word.to_bytes(size, "little"), dtype=np.uint8)
            computed.update(range(at, at + size))
        for row in image.registers:
            if len(row) == 7:
                at, size = registers.at("after", row[0], row[1:5])
                expected[at : at + size] = content[at : at + size]
        bad.update(np.flatnonzero(expected != content).tolist())
    return sorted(bad), len(computed), exact


def _word(registers: Registers, content: Bytes, source: Any) -> int:
    """The register that a source is a part of."""
    if not isinstance(source, list):
        return 0
    label, where, _ = cast("list[Any]", source)
    at, size = registers.at("before", label, where)
    return int.from_bytes(content[at : at + size].tobytes(), "little")
