"""Prediction of products: for every entry of the destination, which entries of the other operands it is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

from tilecheck.evaluate.case import Case, Operand
from tilecheck.evaluate.expressions import term
from tilecheck.evaluate.launch import Thread
from tilecheck.evaluate.parameters import number as number_of
from tilecheck.evaluate.predict import Image, Place, Replay, Row, Unit, UnpredictedError, Values
from tilecheck.evaluate.tmem import replica_bits
from tilecheck.evaluate.views import Coordinate

Index = tuple[int, ...]


class Spot(NamedTuple):
    """Where an entry lies: an element, which part of it, of a pair the CTA (None: that of the executing thread), and how many bits its copy is away."""

    atom: Coordinate
    part: int
    rank: int | None
    shift: int


class Entries:
    """The entries of one operand of a product by their indices. operand: None where a number stands in its place, for all."""

    def __init__(self, data: Mapping[str, Any], operand: Operand | None) -> None:
        self.operand = operand
        self.type = str(data["type"])
        self.names = tuple(str(name) for name, _ in data["at"])
        self.places: dict[Index, Spot] = {}
        self.points: dict[Index, dict[str, int]] = {}
        self.bits, self.low, self.run = int(data["bits"]), int(data["low"]), 1
        for one in data.get("narrow", ()):
            if one["type"] == self.type:
                self.bits, self.low, self.run = int(one["bits"]), int(one["low"]), int(one["run"])
        if operand is None:
            return
        parts = [(str(name), int(extent)) for name, extent in data["parts"]]
        self.unit_bits = operand.bits // prod(extent for _, extent in parts)
        cta, copy = str(data.get("cta", "")), str(data.get("copy", ""))
        shifts = list(enumerate(replica_bits(operand.matrix))) if copy and operand.matrix is not None else [(0, 0)]
        for atom in operand.atoms:
            for part in product(*(range(extent) for _, extent in parts)):
                at = {**dict(zip(operand.atom_names, atom, strict=True)), **{name: k for (name, _), k in zip(parts, part, strict=True)}}
                number = 0
                for digit, (_, extent) in zip(part, parts, strict=True):
                    number = number * extent + digit
                for rank, (k, shift) in product((0, 1) if cta else (None,), shifts):
                    point = {**at, **({} if rank is None else {cta: rank}), **({copy: k} if copy else {})}
                    index = tuple(term(form, point) for _, form in data["at"])
                    self.places[index], self.points[index] = Spot(atom, number, rank, shift), point

    def first(self, spot: Spot) -> tuple[Coordinate, int]:
        """The element in which an entry, or the run that it stands in, begins, and the bit from there on."""
        *outer, last = spot.atom or (0,)
        if self.run == 1:
            return spot.atom, self.low
        return (*outer, last - last % self.run), self.low + self.bits * (last % self.run)


class Products(Replay):
    """What a call that computes products leaves: each slot with the entries in it, each entry with what it is the sum of."""

    def __init__(self, case: Case, data: Mapping[str, Any], values: Values, elected: int) -> None:
        super().__init__(case, values, elected)
        operands = {operand.name: operand for operand in case.operands}
        self.sides = {name: Entries(data[name], operands.get(str(data[name]["operand"]))) for name in ("dst", "left", "right", "addend")}
        self.combine = str(data["combine"])
        self.choice: Mapping[str, Any] | None = data.get("choice")
        self.scales: Sequence[Mapping[str, Any]] = data.get("scales") or ()
        self.operands = operands
        self.selectors = {
            name: case.parameters[name] for name, spec in case.specs.items() if spec["kind"] == "selector" and name in case.parameters
        }
        left, right = self.sides["left"].type, self.sides["right"].type
        self.weights = [Entries(one, operands[str(one["operand"])]) for one in data.get("factors") or ()]
        self.types = [left, right, *(str(scale["type"]) for scale in self.scales), *(side.type for side in self.weights)]
        self.addend = str(data["addend"]["operand"])
        self.accumulates: str | None = data.get("accumulates")
        self.signs: tuple[str, ...] = tuple(data.get("signs", ()))
        self.saturates: str | None = data.get("saturates")
        for name, why in data.get("unknown", ()):
            if case.parameters.get(name, 0) != 0:
                raise UnpredictedError(f"what is left with {name} is not predicted: {why}")
        self.sources: dict[tuple[Any, ...], Row] = {}
        self.known: dict[tuple[str, Index], Index] = {}
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

    @property
    def count(self) -> int:
        """How many products the image names."""
        free, extents = self.case.repeat_axes
        own = self.sides["dst"]
        of_entry = sum(len(self._left_entries(dict(zip(own.names, index, strict=True)))) for index in own.places)
        writing = sum(self.scene(thread).predicate(thread) for thread in self.executing())
        return writing * prod(free or ()) * prod(extents[name] for name in self.case.loops) * of_entry

    def _left_entries(self, own: Mapping[str, int]) -> list[Index]:
        """The entries of left that an entry of the destination is made of."""
        names = self.sides["left"].names
        return self.rows_of[tuple(own[names[k]] for k in self.kept)]

    def image(self) -> Image:
        """Every slot that the call writes; UnpredictedError where an instruction reads what an earlier one wrote."""
        rows: list[Row] = []
        if any(operand.tensor == self.target.tensor for operand in self.operands.values() if operand is not self.target):
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
                for spot in entries.places.values():
                    unit = self.unit(self.target, self._place(thread, self.target, free, step), spot.atom, spot.part, entries.unit_bits)
                    found.add((unit.thread, unit.slot))
        return ([self.target.label, *holder, slot] for holder, slot in found)

    def _note_writes(self) -> None:
        for thread in self.executing():
            for free in self._free():
                for step in self._steps(self.target.loops, dict.fromkeys(self.case.loops, 0)):
                    order = (*free, *(step[name] for name in self.case.loops))
                    for spot in self.sides["dst"].places.values():
                        place = self._place(thread, self.target, free, step)
                        unit = self.unit(self.target, place, spot.atom, spot.part, self.sides["dst"].unit_bits)
                        known = self.written.setdefault((unit.thread, unit.slot), order)
                        self.written[unit.thread, unit.slot] = min(known, order)

    def _free(self) -> Iterator[Coordinate]:
        return product(*(range(extent) for extent in self.case.repeat_axes[0] or ()))

    def _place(self, thread: Thread, operand: Operand, free: Coordinate, step: Mapping[str, int]) -> Place:
        return Place(thread, self.group(thread), (*free, *(step[name] for name in operand.loops)))

    def _rows(self, thread: Thread) -> Iterator[Row]:
        dst = self.sides["dst"]
        slots: dict[tuple[Thread, int], list[dict[str, Any]]] = {}
        for free in self._free():
            for step in self._steps(self.target.loops, {}):
                for index, spot in dst.places.items():
                    unit = self.unit(self.target, self._place(thread, self.target, free, step), spot.atom, spot.part, dst.unit_bits)
                    entry = self._entry(thread, free, step, index, unit.bit % self.target.view.bits)
                    slots.setdefault((unit.thread, unit.slot), []).append(entry)
        for (holder, slot), entries in slots.items():
            yield [self.target.label, *holder, slot, None, "computed", {"by": self.combine, "entries": sorted(entries, key=_bit)}]

    def _entry(self, thread: Thread, free: Coordinate, step: Mapping[str, int], index: Index, bit: int) -> dict[str, Any]:
        """What an entry of the destination is the sum of."""
        dst, summed = self.sides["dst"], tuple(name for name in self.case.loops if name not in self.target.loops)
        clamped = {"saturated": len(self._left_entries(dict(zip(dst.names, index, strict=True))))}
        return {
            "bit": bit,
            "bits": dst.unit_bits,
            "type": dst.type,
            "plus": self._addend(thread, free, step, index),
            "of": self.types,
            "products": [pair for one in self._steps(summed, step) for pair in self._pairs(thread, free, one, index)],
            **({"negated": True} if self.negated else {}),
            **(clamped if self.saturates is not None and self.case.parameters.get(self.saturates) else {}),
        }

    def _addend(self, thread: Thread, free: Coordinate, step: Mapping[str, int], index: Index) -> Row:
        """The entry that the sum starts from, with its type: a source, or a number."""
        side = self.sides["addend"]
        if not self._accumulating(thread):
            return [side.type, 0]
        if side.operand is None:
            return [side.type, number_of(self.scene(thread), self.addend, thread)]
        first = {**dict.fromkeys(self.case.loops, 0), **step}
        return [side.type, self._source(side, thread, free, first, index)]

    def _accumulating(self, thread: Thread) -> bool:
        """Whether the first step adds anything."""
        if self.accumulates is None:
            return True
        given = self.case.conditional.get(self.accumulates)
        return bool(self.case.specs[self.accumulates]["default"] if given is None else given.value(self.scene(thread).environment(thread)))

    @property
    def negated(self) -> bool:
        """Whether the products are subtracted: an odd number of signs is -1, or a flag that is true."""
        values = [self.case.parameters.get(name, self.case.specs[name]["default"]) for name in self.signs]
        return sum(value is True or (value is not False and value < 0) for value in values) % 2 == 1

    def _pairs(self, thread: Thread, free: Coordinate, step: Mapping[str, int], index: Index) -> Iterator[list[Any]]:
        """The entries that are multiplied in one step, in the order of the index that is summed over: of left, of right, and their scales."""
        left, right, own = self.sides["left"], self.sides["right"], dict(zip(self.sides["dst"].names, index, strict=True))
        for at in self._left_entries(own):
            named = {**own, **dict(zip(left.names, at, strict=True))}
            other = tuple(named[name] for name in right.names)
            pair: list[Any] = [self._source(left, thread, free, step, at)]
            if self.choice is None:
                pair.append(self._source(right, thread, free, step, other))
            else:
                pair.append(self._chosen(self.choice, thread, free, step, at, named))
            for scale, side, place in zip(self.scales, (left, right), (at, other), strict=False):
                pair.append(self._scale(scale, side, thread, free, step, place))
            pair.extend(self._source(side, thread, free, step, tuple(named[name] for name in side.names)) for side in self.weights)
            yield pair

    def _chosen(
        self, choice: Mapping[str, Any], thread: Thread, free: Coordinate, step: Mapping[str, int], at: Index, named: Mapping[str, int]
    ) -> dict[str, Any]:
        """{"by": the bits of a word, "among": [value, entry of right], ...}: which entry of right an entry of left is multiplied by."""
        left, right = self.sides["left"], self.sides["right"]
        lane, bit, number = self._terms(left, at, choice, ("lane", "bit", "entry"))
        word, index = self._part(str(choice["operand"]), thread, free, step, (lane, bit, choice["bits"])), str(choice["index"])
        among: list[list[Any]] = []
        for value, offsets in choice["offsets"]:
            moved = {**named, index: named[index] + offsets[number]}
            among.append([value, self._source(right, thread, free, step, tuple(moved[name] for name in right.names))])
        return {"by": word, "among": among}

    def _scale(self, scale: Mapping[str, Any], side: Entries, thread: Thread, free: Coordinate, step: Mapping[str, int], at: Index) -> Row:
        lane, bit = self._terms(side, at, scale, ("lane", "bit"))
        return self._part(str(scale["operand"]), thread, free, step, (lane, bit, 8))

    def _terms(self, side: Entries, at: Index, data: Mapping[str, Any], names: tuple[str, ...]) -> Index:
        """What terms over the axes of an entry of a factor, and the selectors, are."""
        key = (str(data["operand"]), at)
        if key not in self.known:
            point = {**self.selectors, **side.points[at]}
            self.known[key] = tuple(term(data[name], point) for name in names)
        return self.known[key]

    def _part(self, name: str, thread: Thread, free: Coordinate, step: Mapping[str, int], where: Index) -> Row:
        """[operand, [cta, warp, lane, slot], bit, bits] of some bits of the word that a lane has of an operand; where: lane, bit, bits."""
        key = (name, thread, free, *(step[one] for one in self.case.loops), *where)
        if key not in self.sources:
            operand, (lane, *bits) = self.operands[name], where
            unit = self.unit(operand, self._place(thread, operand, free, step), (lane,), 0, operand.bits)
            self._unwritten(operand, unit, free, step)
            self.sources[key] = [operand.label, [*unit.thread, unit.slot], *bits]
        return self.sources[key]

    def _source(self, side: Entries, thread: Thread, free: Coordinate, step: Mapping[str, int], index: Index) -> Row:
        """[operand, [cta, warp, lane, slot], bit, bits] of an entry in registers, [tensor, byte, bit, bits] of one in memory."""
        assert side.operand is not None
        key = (side.operand.name, thread, free, *(step[name] for name in self.case.loops), index)
        if key not in self.sources:
            self.sources[key] = self._found(side, side.operand, thread, free, step, index)
        return self.sources[key]

    def _found(self, side: Entries, operand: Operand, thread: Thread, free: Coordinate, step: Mapping[str, int], index: Index) -> Row:
        spot = side.places[index]
        atom, low = side.first(spot)
        unit = self.unit(operand, self._place(thread, operand, free, step), atom, spot.part, side.unit_bits)
        bits = side.bits or side.unit_bits
        if not operand.register:
            bit, cta = unit.bit + spot.shift + low, self._cta(thread, spot)
            self._intact(operand, cta, bit, bits, free, step)
            several = [{"cta": cta}] if self.case.launch.ctas > 1 and operand.view.space in {"shared", "tmem"} else []
            return [operand.tensor, bit // 8, bit % 8, bits, *several]
        self._unwritten(operand, unit, free, step)
        return [operand.label, [*unit.thread, unit.slot], unit.bit % operand.view.bits + low, bits]

    @staticmethod
    def _cta(thread: Thread, spot: Spot) -> int:
        """The CTA that has an entry: of a pair, whose ranks differ in the last bit, the one that is said."""
        return thread.cta if spot.rank is None else thread.cta & ~1 | spot.rank

    def _intact(self, operand: Operand, cta: int, bit: int, bits: int, free: Coordinate, step: Mapping[str, int]) -> None:
        """UnpredictedError where bits of memory that are read were written by an earlier instruction."""

    def _unwritten(self, operand: Operand, unit: Unit, free: Coordinate, step: Mapping[str, int]) -> None:
        """UnpredictedError where a slot that is read was written by an earlier instruction."""
        order = (*free, *(step[name] for name in self.case.loops))
        if operand.tensor == self.target.tensor and self.written.get((unit.thread, unit.slot), order) < order:
            where = f"{operand.label} {list(unit.thread)} slot {unit.slot}"
            raise UnpredictedError(f"{where} is read after an earlier instruction of the call wrote it")


def _bit(entry: Mapping[str, Any]) -> int:
    return int(entry["bit"])
