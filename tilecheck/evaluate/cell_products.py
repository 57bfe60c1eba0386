"""Prediction of products that end in tensor memory: for every cell that is written, in both CTAs of a pair, which entries it is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tilecheck.evaluate.case import Case, Operand
from tilecheck.evaluate.expressions import Expression
from tilecheck.evaluate.launch import Thread
from tilecheck.evaluate.predict import Image, Row, UnpredictedError, Values
from tilecheck.evaluate.products import Index, Products
from tilecheck.evaluate.tmem import CELL, LANES
from tilecheck.evaluate.views import LANE_BITS, Coordinate

Made = tuple[Thread, Coordinate, dict[str, int], Index]
"""Which instruction, of which thread, and which of its entries."""
WORD = 32


class CellProducts(Products):
    """What a product leaves in tensor memory."""

    def __init__(self, case: Case, data: Mapping[str, Any], values: Values, elected: int) -> None:
        super().__init__(case, data, values, elected)
        skips = data.get("skips")
        self.skips: list[Any] = list(case.parameters.get(skips) or ()) if skips else []
        self.first: dict[tuple[int, int], Coordinate] = {}
        """The first instruction (by its steps) that writes a cell of a CTA."""

    def image(self) -> Image:
        """A row for every cell, at its first byte; what stands beside a narrower entry is undefined, and a cell that is written twice."""
        found: dict[tuple[int, int], list[Made]] = {}
        for cta, bit, made in self._written():
            found.setdefault((cta, bit), []).append(made)
            _, free, step, _ = made
            order = self._order(free, {**dict.fromkeys(self.case.loops, 0), **step})
            self.first[cta, bit // CELL] = min(self.first.get((cta, bit // CELL), order), order)
        rows = [row for (cta, bit), several in found.items() for row in self._cell(cta, bit, several)]
        return Image([], sorted(rows, key=lambda row: (row[1], row[4].get("cta", 0) if len(row) > 4 else 0)))

    def _written(self) -> Iterator[tuple[int, int, Made]]:
        """(CTA, bit of tensor memory, what made it) of every entry that is written."""
        dst = self.sides["dst"]
        for thread in self.executing():
            if not self.scene(thread).predicate(thread):
                continue
            skipped = self._skipped(thread)
            for free in self._free():
                for step in self._steps(self.target.loops, {}):
                    place = self._place(thread, self.target, free, step)
                    for index, spot in dst.places.items():
                        bit = self.unit(self.target, place, spot.atom, spot.part, dst.unit_bits).bit + spot.shift
                        if (spot.rank or 0, bit // LANE_BITS) not in skipped:
                            yield self._cta(thread, spot), bit, (thread, free, step, index)

    def _skipped(self, thread: Thread) -> set[tuple[int, int]]:
        """The lanes that are left alone, with the place of their CTA in its pair."""
        environment = self.scene(thread).environment(thread)
        words = [Expression(word).value(environment) for word in self.skips]
        lanes = (WORD * k + bit for k, word in enumerate(words) for bit in range(WORD) if word >> bit & 1)
        return {divmod(lane, LANES) for lane in lanes}

    def _cell(self, cta: int, bit: int, several: list[Made]) -> Iterator[Row]:
        where = {"cta": cta} if self.case.launch.ctas > 1 else {}
        label, byte, beside = self.target.label, bit // 8, range(self.sides["dst"].unit_bits // 8, CELL // 8)
        if len(several) == 1:
            entry = self._entry(*several[0], 0)
            yield [label, byte, None, "computed", {**where, "by": self.combine, "entries": [entry]}]
        else:
            beside = range(CELL // 8)
        for k in beside:
            yield [label, byte + k, None, "undefined", *([where] if where else [])]

    def _order(self, free: Coordinate, step: Mapping[str, int]) -> Coordinate:
        return (*free, *(step[name] for name in self.case.loops))

    def _intact(self, operand: Operand, cta: int, bit: int, bits: int, free: Coordinate, step: Mapping[str, int]) -> None:
        if operand.tensor != self.target.tensor or operand is self.target:
            return
        order = self._order(free, step)
        for cell in range(bit // CELL, (bit + bits - 1) // CELL + 1):
            if self.first.get((cta, cell), order) < order:
                lane, column = divmod(cell, LANE_BITS // CELL)
                raise UnpredictedError(
                    f"lane {lane}, column {column}, is read as {operand.name} after an earlier instruction of the call wrote it"
                )
