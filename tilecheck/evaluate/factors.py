"""Prediction of products as two lists of rows: what `products` says entry by entry, for matrices too large to be written out so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tilecheck.evaluate.launch import Thread
from tilecheck.evaluate.predict import Row, UnpredictedError
from tilecheck.evaluate.products import Products
from tilecheck.evaluate.views import Coordinate


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a destination: the slot [operand, cta, warp, lane, slot], its bits there, what the sum starts from, its row and column."""

    slot: Row
    bit: int
    plus: Any
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """Where the entries of a sparse factor belong: entry t of line i has the index first[t] + offsets[the bits words[i][t]][number[t]]."""

    words: list[list[Row]]
    first: list[int]
    number: list[int]
    offsets: dict[int, list[int]]


@dataclass(frozen=True, slots=True)
class Factors:
    """What one step of the destination is: entry (i, j) is `plus` + (or, negated, -) the sum over t of left[i][t] * right[j][t].

    left, right: sources of entries, as in the images of `products`. types: of the destination, left, right. chosen: where left[i] is sparse, the t
    of each of its entries.
    """

    left: list[list[Row]]
    right: list[list[Row]]
    entries: list[Entry]
    bits: int
    types: tuple[str, str, str]
    combine: str
    negated: bool
    chosen: Chosen | None = None


class Factored(Products):
    """A dense product as its factors."""

    def factors(self) -> Iterator[Factors]:
        """Every step of the destination; UnpredictedError where a predicate is false, and for products that are not of two matrices."""
        dst, left, right = (self.sides[name].names for name in ("dst", "left", "right"))
        if (
            self.scales
            or not self.target.register
            or len(dst) != 2
            or {*left[:2]} ^ {*right} != {*dst}
            or len(right) != 2
            or len(left) != (2 if self.choice is None else 3)
        ):
            raise UnpredictedError("the product is not one of two matrices in registers")
        for thread in self.executing():
            if not self.scene(thread).predicate(thread):
                raise UnpredictedError("pred is false in some executing thread")
            for free in self._free():
                for step in self._steps(self.target.loops, {}):
                    yield self._step(thread, free, step)

    def _step(self, thread: Thread, free: Coordinate, step: dict[str, int]) -> Factors:
        dst, left, right = (self.sides[name] for name in ("dst", "left", "right"))
        (rows, lines), (columns, others) = (self._lines(name, thread, free, step) for name in ("left", "right"))
        first = next(k for k, name in enumerate(dst.names) if name in left.names)
        entries: list[Entry] = []
        for index, spot in dst.places.items():
            unit = self.unit(self.target, self._place(thread, self.target, free, step), spot.atom, spot.part, dst.unit_bits)
            slot: Row = [self.target.label, *unit.thread, unit.slot]
            plus = self._addend(thread, free, step, index)[1]
            entries.append(Entry(slot, unit.bit % self.target.view.bits, plus, rows[index[first]], columns[index[1 - first]]))
        chosen = None if self.choice is None else self._choices(self.choice, thread, free, step)
        return Factors(lines, others, entries, dst.unit_bits, (dst.type, left.type, right.type), self.combine, self.negated, chosen)

    def _lines(self, name: str, thread: Thread, free: Coordinate, step: dict[str, int]) -> tuple[dict[int, int], list[list[Row]]]:
        """(place of each row of a factor by its number, the sources of each row over the index that is summed over and its loop)."""
        side, found = self.sides[name], self._by_line(name)
        inner = self._inner(step)
        lines = [[self._source(side, thread, free, one, at) for one in inner for at in places] for places in found.values()]
        return {number: k for k, number in enumerate(found)}, lines

    def _by_line(self, name: str) -> dict[int, list[Coordinate]]:
        """The indices of the entries of each line of a factor, in order."""
        side = self.sides[name]
        own = next(k for k, one in enumerate(side.names) if one in self.sides["dst"].names)
        found: dict[int, list[Coordinate]] = {}
        for at in sorted(side.places, key=lambda at: (at[own], at)):
            found.setdefault(at[own], []).append(at)
        return found

    def _inner(self, step: dict[str, int]) -> list[dict[str, int]]:
        """The steps of the loops that are summed over."""
        return list(self._steps(tuple(one for one in self.case.loops if one not in self.target.loops), step))

    def _choices(self, choice: Mapping[str, Any], thread: Thread, free: Coordinate, step: dict[str, int]) -> Chosen:
        """Where the entries of a sparse left factor belong, over all steps of its loop."""
        left, right = self.sides["left"], self.sides["right"]
        at_index = left.names.index(str(choice["index"]))
        depth = len({at[right.names.index(str(choice["index"]))] for at in right.places})
        words: list[list[Row]] = []
        first: list[int] = []
        number: list[int] = []
        for line, places in enumerate(self._by_line("left").values()):
            words.append([])
            for k, one in enumerate(self._inner(step)):
                for at in places:
                    lane, bit, entry = self._terms(left, at, choice, ("lane", "bit", "entry"))
                    words[-1].append(self._part(str(choice["operand"]), thread, free, one, (lane, bit, choice["bits"])))
                    if not line:
                        first.append(k * depth + at[at_index])
                        number.append(entry)
        return Chosen(words, first, number, {value: list(offsets) for value, offsets in choice["offsets"]})
