"""Prediction of products: for every entry of the destination, which entries of the other operands it is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Any

from tilecheck.evaluate.case import Case, Operand
from tilecheck.evaluate.expressions import term
from tilecheck.evaluate.launch import Thread
from tilecheck.evaluate.parameters import number as number_of
from tilecheck.evaluate.predict import Image, Place, Replay, Row, UnpredictedError, Values
from tilecheck.evaluate.views import Coordinate

Index = tuple[int, ...]


class Entries:
    """The entries of one operand of a product by their indices. numbers: where a number stands in the operand's place, None for all."""

    def __init__(self, data: Mapping[str, Any], operand: Operand | None) -> None:
        self.operand = operand
        self.type = str(data["type"])
        self.names = tuple(str(name) for name, _ in data["at"])
        self.places: dict[Index, tuple[Coordinate, int]] = {}
        self.bits, self.low = int(data["bits"]), int(data["low"])
        if operand is None:
            return
        parts = [(str(name), int(extent)) for name, extent in data["parts"]]
        self.unit_bits = operand.bits // prod(extent for _, extent in parts)
        for atom in operand.atoms:
            for part in product(*(range(extent) for _, extent in parts)):
                at = {**dict(zip(operand.atom_names, atom, strict=True)), **{name: k for (name, _), k in zip(parts, part, strict=True)}}
                number = 0
                for digit, (_, extent) in zip(part, parts, strict=True):
                    number = number * extent + digit
                self.places[tuple(term(form, at) for _, form in data["at"])] = (atom, number)


class Products(Replay):
    """What a call that computes products leaves: each slot with the entries in it, each entry with what it is the sum of."""

    def __init__(self, case: Case, data: Mapping[str, Any], values: Values, elected: int) -> None:
        super().__init__(case, values, elected)
        operands = {operand.name: operand for operand in case.operands}
        self.sides = {name: Entries(data[name], operands.get(str(data[name]["operand"]))) for name in ("dst", "left", "right", "addend")}
        self.combine = str(data["combine"])
        self.addend = str(data["addend"]["operand"])
        target = self.sides["dst"].operand
        assert target is not None
        self.target = target
        self.written: dict[tuple[Thread, int], Index] = {}
        """The first instruction (by its steps) that writes a slot of an allocation that is also read."""
        left, own = self.sides["left"], self.sides["dst"].names
        self.kept = tuple(k for k, name in enumerate(left.names) if name in own)
        self.rows_of: dict[Index, list[Index]] = {}
        for at in left.places:
            self.rows_of.setdefault(tuple(at[k] for k in self.kept), []).append(at)

    def image(self) -> Image:
        """Every slot that the call writes; UnpredictedError where an instruction reads what an earlier one wrote."""
        rows: list[Row] = []
        if any(
            side.operand is not None and side.operand.tensor == self.target.tensor for name, side in self.sides.items() if name != "dst"
        ):
            self._note_writes()
        for thread in self.executing():
            if self.scene(thread).predicate(thread):
                rows.extend(self._rows(thread))
            elif not self.case.parameters.get("preserve_dst"):
                rows.extend([*row, None, "undefined"] for row in self._slots(thread))
        return Image(sorted(rows, key=lambda row: row[:5]), [])

    def _steps(self, loops: tuple[str, ...], fixed: Mapping[str, int]) -> Iterator[dict[str, int]]:
        """Every step of some loops, beside fixed ones."""
        extents = self.case.repeat_axes[1]
        for step in product(*(range(extents[name]) for name in loops)):
            yield {**fixed, **dict(zip(loops, step, strict=True))}

    def _slots(self, thread: Thread) -> Iterator[Row]:
        """[operand, cta, warp, lane, slot] of every slot of the destination."""
        entries = self.sides["dst"]
        found: set[tuple[Thread, int]] = set()
        for free in self._free():
            for step in self._steps(self.target.loops, {}):
                for atom, number in entries.places.values():
                    unit = self.unit(self.target, self._place(thread, self.target, free, step), atom, number, entries.unit_bits)
                    found.add((unit.thread, unit.slot))
        return ([self.target.label, *holder, slot] for holder, slot in found)

    def _note_writes(self) -> None:
        for thread in self.executing():
            for free in self._free():
                for step in self._steps(self.target.loops, dict.fromkeys(self.case.loops, 0)):
                    order = (*free, *(step[name] for name in self.case.loops))
                    for atom, number in self.sides["dst"].places.values():
                        place = self._place(thread, self.target, free, step)
                        unit = self.unit(self.target, place, atom, number, self.sides["dst"].unit_bits)
                        known = self.written.setdefault((unit.thread, unit.slot), order)
                        self.written[unit.thread, unit.slot] = min(known, order)

    def _free(self) -> Iterator[Coordinate]:
        return product(*(range(extent) for extent in self.case.repeat_axes[0] or ()))

    def _place(self, thread: Thread, operand: Operand, free: Coordinate, step: Mapping[str, int]) -> Place:
        return Place(thread, self.group(thread), (*free, *(step[name] for name in operand.loops)))

    def _rows(self, thread: Thread) -> Iterator[Row]:
        dst = self.sides["dst"]
        slots: dict[tuple[Thread, int], list[dict[str, Any]]] = {}
        summed = tuple(name for name in self.case.loops if name not in self.target.loops)
        for free in self._free():
            for step in self._steps(self.target.loops, {}):
                for index, (atom, number) in dst.places.items():
                    unit = self.unit(self.target, self._place(thread, self.target, free, step), atom, number, dst.unit_bits)
                    entry = {
                        "bit": unit.bit % self.target.view.bits,
                        "bits": dst.unit_bits,
                        "type": dst.type,
                        "plus": self._addend(thread, free, step, index),
                        "of": [self.sides["left"].type, self.sides["right"].type],
                        "products": [pair for one in self._steps(summed, step) for pair in self._pairs(thread, free, one, index)],
                    }
                    slots.setdefault((unit.thread, unit.slot), []).append(entry)
        for (holder, slot), entries in slots.items():
            yield [self.target.label, *holder, slot, None, "computed", {"by": self.combine, "entries": sorted(entries, key=_bit)}]

    def _addend(self, thread: Thread, free: Coordinate, step: Mapping[str, int], index: Index) -> Row:
        """The entry that the sum starts from, with its type: a source, or a number."""
        side = self.sides["addend"]
        if side.operand is None:
            return [side.type, number_of(self.scene(thread), self.addend, thread)]
        first = {**dict.fromkeys(self.case.loops, 0), **step}
        return [side.type, self._source(side, thread, free, first, index)]

    def _pairs(self, thread: Thread, free: Coordinate, step: Mapping[str, int], index: Index) -> Iterator[list[Row]]:
        """The entries that are multiplied in one step, in the order of the index that is summed over."""
        left, right, own = self.sides["left"], self.sides["right"], dict(zip(self.sides["dst"].names, index, strict=True))
        for at in self.rows_of[tuple(own[left.names[k]] for k in self.kept)]:
            named = {**own, **dict(zip(left.names, at, strict=True))}
            other = tuple(named[name] for name in right.names)
            yield [self._source(left, thread, free, step, at), self._source(right, thread, free, step, other)]

    def _source(self, side: Entries, thread: Thread, free: Coordinate, step: Mapping[str, int], index: Index) -> Row:
        """[operand, [cta, warp, lane, slot], bit, bits] of an entry."""
        assert side.operand is not None
        atom, number = side.places[index]
        unit = self.unit(side.operand, self._place(thread, side.operand, free, step), atom, number, side.unit_bits)
        order = (*free, *(step[name] for name in self.case.loops))
        if side.operand.tensor == self.target.tensor and self.written.get((unit.thread, unit.slot), order) < order:
            raise UnpredictedError(
                f"{side.operand.label} {list(unit.thread)} slot {unit.slot} is read after an earlier instruction of the call wrote it"
            )
        bit = unit.bit % side.operand.view.bits + side.low
        return [side.operand.label, [*unit.thread, unit.slot], bit, side.bits or side.unit_bits]


def _bit(entry: Mapping[str, Any]) -> int:
    return int(entry["bit"])
