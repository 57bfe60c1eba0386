"""Walks of wgmma descriptors on a GPU: every element of a region is numbered, the other factor is a part of the unit matrix, and D spells which element
each row and column was read from.

The numbers are written in digits that the type of the elements holds exactly, a digit a run; the last runs hold random digits, so that no sum of other
elements can look like one. What the GPU read is compared with the image of the evaluator and with the walk of the contract's data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tests.gpu.documents import Json
from tests.gpu.wgmma_forms import COMPACT, GAPPED, INSIDE, SPANS, Stored, opcode_of, wgmma_document
from tilecheck.call import Call
from tilecheck.contracts.descriptors import MODES
from tilecheck.document import read_call
from tilecheck.reconstruct.arena import RUNS, Arena, Bytes, Numbers
from tilecheck.reconstruct.factors import WIDTHS, Fill, Placed, bits_of, numbers_of
from tilecheck.reconstruct.run import Observed, evidence_of, observe_factors
from tilecheck.spec.descriptor import described_walk

DIGITS = {"f16": 10, "bf16": 8, "tf32": 10, "e4m3": 4, "e5m2": 3, "s8": 7, "u8": 8, "b1": 1}
"""The bits of a number that an element of a type holds."""


@dataclass(frozen=True, slots=True)
class Walk:
    """One walk: the factor ("A" or "B") of type `kind` whose elements are numbered, and how it is stored."""

    side: str
    kind: str
    stored: Stored

    @property
    def name(self) -> str:
        """In words."""
        return f"walk of {self.side}, {self.kind} {self.stored.name}"

    def document(self) -> Json:
        """The call: D starts from nothing."""
        n = max(64, 256 // WIDTHS[self.kind] if self.kind != "b1" else 64)
        opcode = opcode_of(self.kind, n, "s32" if self.kind in {"s8", "u8", "b1"} else "f32")
        a, b = (self.stored, Stored()) if self.side == "A" else (Stored(), self.stored)
        return {**wgmma_document(opcode, a, b, parameters={"accum": False}), "id": self.name}


def walks() -> Iterator[Walk]:
    """Every major and swizzle, gapped strides and starts inside a row, of both factors; every type."""
    for side in "AB":
        for major, swizzle in COMPACT:
            yield Walk(side, "f16", Stored(major, swizzle))
        for stored in (*GAPPED, *INSIDE):
            yield Walk(side, "f16", stored)
        for kind in ("bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "b1"):
            for swizzle in SPANS:
                yield Walk(side, kind, Stored("k", swizzle))


def _places(one: Placed, side: str) -> Numbers:
    """Where the elements of the walked factor lie, (rows, depth), in bits of the arena."""
    places, lines = (one.left, one.factors.left) if side == "A" else (one.right, one.factors.right)
    return (8 * places.at + places.bit).reshape(len(lines), len(lines[0]))


def _digit(kind: str, run: int, first: int, numbers: Numbers) -> Numbers:
    """What run `run` of a pass shows of numbers: digit `first + run`, or random digits behind the last."""
    bits = DIGITS[kind]
    if first + run < -(-17 // bits):
        return numbers >> (bits * (first + run)) & ((1 << bits) - 1)
    return np.random.default_rng(first + run).integers(0, 1 << bits, int(numbers.max()) + 1)[numbers]


def numbered(walk: Walk, first: int, begin: int) -> Fill:
    """Numbers every element of the tensor; the other factor has ones where its row is its depth - begin."""
    bits = WIDTHS[walk.kind]

    def fill(arena: Arena, run: int, content: Bytes, one: Placed) -> None:
        region = arena.region("before", walk.side)
        digits = _digit(walk.kind, run, first, np.arange(8 * region.size // bits))
        if walk.kind == "b1":
            content[region.at : region.at + region.size] = np.packbits(digits.astype(np.uint8), bitorder="little")
        else:
            raw = bits_of(walk.kind, digits.astype(np.float64)).astype({8: np.uint8, 16: np.uint16, 32: np.uint32}[bits])
            content[region.at : region.at + region.size] = raw.view(np.uint8)
        other = one.right if walk.side == "A" else one.left
        rows = len(one.factors.right if walk.side == "A" else one.factors.left)
        unit = np.eye(rows, other.at.size // rows, begin).reshape(-1)
        other.write(content, bits_of(walk.kind, unit))

    return fill


@dataclass(slots=True)
class Seen:
    """What the runs of a walk showed: elements read, those that were others than predicted, and sums that should be 0 and are not."""

    elements: int = 0
    wrong: int = 0
    foreign: int = 0


def walk_row(walk: Walk) -> Json:
    """Walks on GPU 0; the evidence."""
    call = read_call(walk.document())
    depth, begin, seen = 256 // WIDTHS[walk.kind], 0, Seen()
    observed = _window(walk, call, 0, seen)
    while (begin := begin + 64) < depth:
        observed = _window(walk, call, begin, seen)
    different = seen.wrong + seen.foreign
    counts: Json = {"elements": seen.elements, "wrong": seen.wrong, "foreign": seen.foreign, "different": different}
    return {**evidence_of(call, observed, counts, form=walk.name), "status": "different" if different else "reconstructed"}


def _window(walk: Walk, call: Call, begin: int, seen: Seen) -> Observed:
    """The part of the walk whose depth is at least `begin` and at most 63 more."""
    digits = -(-17 // DIGITS[walk.kind])
    observed, (one,) = observe_factors(call, fill=numbered(walk, 0, begin))
    read, wanted, inside = _read(walk, observed, one, begin)
    number = np.zeros(read.shape, dtype=np.int64)
    for first in range(0, digits + 1, RUNS):  # at least one run of random digits
        if first:
            observed, (one,) = observe_factors(call, fill=numbered(walk, first, begin), factors=[one.factors])
        for run in range(RUNS):
            found = numbers_of(one.factors.types[0], one.out.read(observed.runs[run])).astype(np.int64)
            seen.wrong += int((found[inside] != _digit(walk.kind, run, first, np.arange(1 << 18))[wanted]).sum())
            seen.foreign += int((found[~inside] != 0).sum())
            if first + run < digits:
                number += found[inside] << (DIGITS[walk.kind] * (first + run))
    seen.elements += int(inside.sum())
    seen.wrong += int((number * WIDTHS[walk.kind] // 8 != read).sum())
    return observed


def _read(walk: Walk, observed: Observed, one: Placed, begin: int) -> tuple[Numbers, Numbers, npt.NDArray[np.bool_]]:
    """(the bytes that the walk of the data reads, the elements that the evaluator says, for every entry of D that shows one; which those are)."""
    numbers = (_places(one, walk.side) - 8 * observed.arena.region("before", walk.side).at) // WIDTHS[walk.kind]
    lines = np.array([entry.row for entry in one.factors.entries]), np.array([entry.column for entry in one.factors.entries])
    line, depth = lines if walk.side == "A" else lines[::-1]
    depth = depth + begin
    inside = depth < numbers.shape[1]
    return _walked(walk, numbers.shape)[line[inside], depth[inside]], numbers[line[inside], depth[inside]], inside


def _walked(walk: Walk, shape: tuple[int, ...]) -> Numbers:
    """The byte of every element of the walked factor, by the walk of the contract's data."""
    each = 8 if walk.kind == "b1" else 1
    width = WIDTHS[walk.kind] * each
    fields = read_call(walk.document()).parameter(f"{walk.side.lower()}_descriptor")
    assert isinstance(fields, tuple)
    ldo, sdo = (int(str(value)) for value in fields[:2])
    mode = next(m for m in MODES if (m.major, m.swizzle) == (walk.stored.major, walk.stored.swizzle) and width in m.widths)
    found = np.zeros(shape, dtype=np.int64)
    for row, column, byte in described_walk(mode, width, ldo, sdo, shape[0], shape[1] // each, walk.stored.start):
        found[row, each * column : each * (column + 1)] = byte
    return found
