"""Prediction of arithmetic: for every slot of the destination, which operator is applied to which parts of which slots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from tilecheck.evaluate.case import Case
from tilecheck.evaluate.launch import Thread
from tilecheck.evaluate.parameters import number
from tilecheck.evaluate.predict import Image, Place, Replay, Row, Unit, UnpredictedError, Values
from tilecheck.evaluate.views import Coordinate


class Computations(Replay):
    """What a call that computes in each thread leaves: each slot with its parts, and what each part is computed from."""

    def __init__(self, case: Case, data: Mapping[str, Any], values: Values, elected: int) -> None:
        super().__init__(case, values, elected)
        self.operands = {operand.name: operand for operand in case.operands}
        self.target = self.operands[str(data["dst"])]
        self.by = ".".join([str(data["operator"]), *data["words"]])
        self.results: list[Mapping[str, Any]] = list(data["results"])
        places: dict[str, set[int]] = {}
        for one in self.results:
            for name, bit, _ in one["of"]:
                places.setdefault(str(name), set()).add(int(bit))
        self.part_bits = {name: sorted(bits)[1] - min(bits) for name, bits in places.items() if len(bits) > 1}
        """The bits of one part of an operand whose register holds several numbers: a number in its place is the bits of all of them."""

    def image(self) -> Image:
        """Every slot that the call writes; UnpredictedError where an instruction reads what an earlier one wrote."""
        rows: list[Row] = []
        repeats = list(product(*(range(extent) for extent in self.case.repeat_axes[0] or ())))
        for thread in self.executing():
            if self.scene(thread).predicate(thread):
                rows.extend(self._rows(thread, repeats))
            elif not self.case.parameters.get("preserve_dst"):
                rows.extend([*_slot(self._unit(self.target.name, thread, repeat)), None, "undefined"] for repeat in repeats)
        return Image(sorted(rows, key=lambda row: row[:5]), [])

    def _unit(self, name: str, thread: Thread, repeat: Coordinate) -> Unit:
        operand = self.operands[name]
        return self.unit(operand, Place(thread, self.group(thread), repeat), (0,) * len(operand.atom_extents), 0, operand.bits)

    def _rows(self, thread: Thread, repeats: list[Coordinate]) -> Iterator[Row]:
        written: set[int] = set()
        for repeat in repeats:
            entries = [
                {
                    "bit": int(one["bit"]),
                    "bits": int(one["bits"]),
                    "type": str(one["type"]),
                    "of": [[type_, self._source(name, bit, thread, repeat, written)] for name, bit, type_ in one["of"]],
                }
                for one in self.results
            ]
            target = self._unit(self.target.name, thread, repeat)
            written.update(_bytes(target))
            yield [*_slot(target), None, "computed", {"by": self.by, "entries": entries}]

    def _source(self, name: str, bit: int, thread: Thread, repeat: Coordinate, written: set[int]) -> Any:
        """[operand, [cta, warp, lane, slot], bit], a number, or {"bits": n} where a number stands for the bits of several."""
        operand = self.operands.get(name)
        if operand is None:
            found = number(self.scene(thread), name, thread)
            bits = self.part_bits.get(name)
            return found if bits is None else {"bits": int(found) >> bit & ((1 << bits) - 1)}
        unit = self._unit(name, thread, repeat)
        if operand.tensor == self.target.tensor and not written.isdisjoint(_bytes(unit)):
            raise UnpredictedError(
                f"{operand.label} {list(thread)} slot {unit.slot} is read after an earlier instruction of the call wrote it"
            )
        return [operand.label, [*unit.thread, unit.slot], bit]


def _slot(unit: Unit) -> Row:
    """[operand, cta, warp, lane, slot] of an element."""
    return [unit.operand.label, *unit.thread, unit.slot]


def _bytes(unit: Unit) -> range:
    """The bytes of a thread's registers that an element fills."""
    return range(unit.bit // 8, (unit.bit + unit.bits) // 8)
