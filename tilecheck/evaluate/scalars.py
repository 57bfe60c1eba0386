"""Scalar compositions: the contract that a call's function makes of one, and which slots each element is computed from."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from tilecheck.evaluate.case import Case, Operand
from tilecheck.evaluate.launch import Thread
from tilecheck.evaluate.parameters import number
from tilecheck.evaluate.predict import Image, Place, Replay, Row, Unit, UnpredictedError, Values
from tilecheck.evaluate.views import Coordinate


class Compositions(Replay):
    """What a call that applies a scalar function leaves: each slot with what each parameter of the function is there."""

    def __init__(self, case: Case, values: Values, elected: int) -> None:
        super().__init__(case, values, elected)
        self.target, *sources = case.operands
        self.sources = {operand.name: operand for operand in sources}

    def image(self) -> Image:
        """Every slot that the call writes; UnpredictedError where an application reads what an earlier one wrote."""
        rows: list[Row] = []
        repeats = list(product(*(range(extent) for extent in self.case.repeat_axes[0] or ())))
        for thread in self.executing():
            if self.scene(thread).predicate(thread):
                rows.extend(self._rows(thread, repeats))
            elif not self.case.parameters.get("preserve_dst"):
                rows.extend([*_slot(self._unit(self.target, thread, repeat)), None, "undefined"] for repeat in repeats)
        return Image(sorted(rows, key=lambda row: row[:5]), [])

    def _unit(self, operand: Operand, thread: Thread, repeat: Coordinate) -> Unit:
        return self.unit(operand, Place(thread, self.group(thread), repeat), (), 0, operand.bits)

    def _rows(self, thread: Thread, repeats: list[Coordinate]) -> Iterator[Row]:
        written: set[int] = set()
        for repeat in repeats:
            made = [[type_, self._argument(name, thread, repeat, written)] for name, type_ in self.case.function["params"]]
            unit = self._unit(self.target, thread, repeat)
            written.update(_bytes(unit))
            yield [*_slot(unit), None, "computed", {"by": self.case.opcode, "type": self.case.function["result"], "of": made}]

    def _argument(self, name: str, thread: Thread, repeat: Coordinate, written: set[int]) -> Any:
        """[operand, [cta, warp, lane, slot]], or the number that stands there."""
        operand = self.sources.get(name)
        if operand is None:
            return number(self.scene(thread), name, thread)
        unit = self._unit(operand, thread, repeat)
        label, *where = _slot(unit)
        if operand.tensor == self.target.tensor and not written.isdisjoint(_bytes(unit)):
            raise UnpredictedError(f"{label} {where[:3]} slot {where[3]} is read after an earlier application wrote it")
        return [label, where]


def _slot(unit: Unit) -> Row:
    """[operand, cta, warp, lane, slot] of an element."""
    return [unit.operand.label, *unit.thread, unit.slot]


def _bytes(unit: Unit) -> range:
    """The bytes of a thread's registers of the tensor that an element fills."""
    return range(unit.bit // 8, (unit.bit + unit.bits) // 8)
