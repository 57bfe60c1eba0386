"""Prediction: what every register slot and memory byte holds after a proved call, under one value of every symbol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, NamedTuple

from tilecheck.evaluate.case import Case, Operand, Scene
from tilecheck.evaluate.clauses import repeats
from tilecheck.evaluate.domain import ELECTED
from tilecheck.evaluate.expressions import term
from tilecheck.evaluate.hazards import copy_of
from tilecheck.evaluate.launch import Thread
from tilecheck.evaluate.views import Coordinate

Row = list[Any]
Values = Mapping[str, int | Sequence[int]]


@dataclass(frozen=True, slots=True)
class Image:
    """Rows of registers and of memory, sorted; what is not listed is unchanged."""

    registers: list[Row]
    memory: list[Row]

    def to_json(self) -> dict[str, list[Row]]:
        """The document that `predict --format json` prints."""
        return {"registers": self.registers, "memory": self.memory}


@dataclass(frozen=True, slots=True)
class Unit:
    """A run of bits of one element of one operand, as the thread that answers for it sees it."""

    operand: Operand
    thread: Thread
    bit: int  # from the base of the tensor, or of the thread's registers
    bits: int

    @property
    def slot(self) -> int:
        """The register slot, counted in elements of the final dtype."""
        return self.bit // self.operand.view.bits


class Place(NamedTuple):
    """One execution of the instruction: by a thread (for collectives: lane 0 of a warp), with its group, at a repeat."""

    thread: Thread
    group: Coordinate
    repeat: Coordinate


class Prediction:
    """One call with a value for every symbol: a number, or one value per lane, warp or CTA."""

    def __init__(self, case: Case, values: Values, elected: int) -> None:
        if case.problem is not None:
            raise ValueError("the operands of the call are not right: there is nothing to predict")
        self.case = case
        self.values = {**values, ELECTED: elected}
        self.levels = {symbol.name: symbol.varies for symbol in case.facts.symbols}
        self.scenes: dict[tuple[int, ...], Scene] = {}
        operands = {operand.name: operand for operand in case.operands}
        self.source, self.target = operands[str(case.move["src"])], operands[str(case.move["dst"])]
        self.parts: list[tuple[str, int]] = [(str(name), int(extent)) for name, extent in case.move["parts"]]

    def scene(self, thread: Thread) -> Scene:
        """The scene with the values that a thread has."""
        index = {"thread": thread.lane, "warp": thread.warp, "cta": thread.cta}
        found: dict[str, int] = {}
        for symbol in self.case.symbols:
            found[symbol.name] = self._value(symbol.name, index)
        key = tuple(found.values())
        return self.scenes.setdefault(key, Scene(self.case, found))

    def _value(self, name: str, index: Mapping[str, int]) -> int:
        given = self.values.get(name)
        if given is None:
            raise ValueError(f"no value for {name}")
        if isinstance(given, int):
            return given
        at = index.get(self.levels[name])
        if at is None or at >= len(given):
            raise ValueError(f"{name} varies by {self.levels[name]} and has {len(given)} values")
        return given[at]

    def active(self, thread: Thread) -> bool:
        """Whether a thread executes, with its own values."""
        return self.case.launch.exists(thread) and self.scene(thread).active(thread)

    def group(self, thread: Thread) -> Coordinate:
        """The group coordinate among the threads that execute, each with its own values."""
        return self.scene(thread).group(thread, self.active)

    def unit(self, operand: Operand, place: Place, atom: Coordinate, number: int, bits: int) -> Unit:
        """Part `number` of an element, in the thread that holds it or provides its address."""
        lane = operand.holder(atom)
        holder = place.thread if lane is None else place.thread._replace(lane=lane)
        fixed = self.scene(holder).fixed(operand, holder)
        coordinate = (*place.group, *place.repeat, *atom)
        if operand.register and fixed.layout.replicas:
            return Unit(operand, holder, self._replica(operand, holder, coordinate, number * bits), bits)
        return Unit(operand, holder, fixed.address(coordinate, number * bits), bits)

    def _replica(self, operand: Operand, holder: Thread, coordinate: Coordinate, bit: int) -> int:
        """The bit in the first replica that the holder owns."""
        fixed = self.scene(holder).fixed(operand, holder)
        declared, inside = fixed.source(coordinate, bit)
        own = self.case.launch.coordinates(holder)
        for copy in fixed.layout.copies():
            if all(fixed.layout.value(declared, axis) + copy.get(axis, 0) == own[axis] for axis in fixed.layout.axes()):
                m = fixed.layout.value(declared, "m") + copy.get("m", 0)
                return fixed.layout.swizzled(m) * fixed.view.declared_bits + inside
        raise ValueError(f"{operand.name} {list(coordinate)} is not in lane {holder.lane}")

    def moves(self, thread: Thread, *, skipped: bool) -> Iterator[tuple[Unit, Unit | None]]:
        """Every destination unit with its source unit (None: skipped), as one thread (for collectives: one warp) executes."""
        names = [*self.target.atom_names, *(name for name, _ in self.parts)]
        bits = self.target.bits // prod(extent for _, extent in self.parts)
        group = self.group(thread)
        for repeat in product(*(range(extent) for extent in repeats(self.scene(thread), self.target))):
            place = Place(thread, group, repeat)
            for atom in self.target.atoms:
                for part in product(*(range(extent) for _, extent in self.parts)):
                    target = self.unit(self.target, place, atom, self._number(part), bits)
                    at = dict(zip(names, (*atom, *part), strict=True))
                    found = tuple(term(form, at) for form in self.case.move["source"])
                    number = self._number(found[len(atom) :])
                    yield target, None if skipped else self.unit(self.source, place, found[: len(atom)], number, bits)

    def _number(self, part: Coordinate) -> int:
        """The number of a part in its element, low bits first: the last part axis is the lowest."""
        number = 0
        for digit, (_, extent) in zip(part, self.parts, strict=True):
            number = number * extent + digit
        return number

    def image(self) -> Image:
        """Everything the call writes."""
        registers: dict[tuple[str, Thread, int], list[tuple[int, Row]]] = {}
        bytes_: dict[tuple[str, tuple[int, ...], int], list[Row]] = {}
        for thread in self._executing():
            skipped = not self.scene(thread).predicate(thread)
            if skipped and (not self.target.register or self.case.parameters.get("preserve_dst")):
                continue
            for target, origin in self.moves(thread, skipped=skipped):
                if origin is not None and not self.target.register:
                    self._store(bytes_, target, origin)
                    continue
                pieces = registers.setdefault((self.target.label, target.thread, target.slot), [])
                if origin is not None:
                    pieces.extend((target.bit + at, piece) for at, piece in pieces_of(origin))
        return Image(sorted(_register_rows(registers), key=lambda row: row[:5]), sorted(_memory_rows(bytes_), key=_memory_order))

    def _executing(self) -> Iterator[Thread]:
        for thread in self.case.launch.threads:
            if (thread.lane == 0 or not self.case.launch.collective) and self.active(thread):
                yield thread

    def _store(self, found: dict[tuple[str, tuple[int, ...], int], list[Row]], target: Unit, origin: Unit) -> None:
        copy = copy_of(self.target.view.space, target.thread)
        for k in range(0, target.bits, 8):
            key = (self.target.label, copy, (target.bit + k) // 8)
            found.setdefault(key, []).append(_written_from(origin, k))


def _written_from(origin: Unit, k: int) -> Row:
    bit = origin.bit + k
    if not origin.operand.register:
        return [origin.operand.tensor, bit // 8]
    return [origin.operand.label, [*origin.thread, origin.slot, bit % origin.operand.view.bits // 8]]


def pieces_of(origin: Unit) -> Iterator[tuple[int, Row]]:
    """The source of a unit, cut at byte boundaries: (bit in the unit, [tensor, byte] or [tensor, byte, bit, bits])."""
    at = 0
    while at < origin.bits:
        bit = origin.bit + at
        bits = min(8 - bit % 8, origin.bits - at)
        yield at, [origin.operand.tensor, bit // 8] if bits == 8 else [origin.operand.tensor, bit // 8, bit % 8, bits]
        at += bits


def _register_rows(found: Mapping[tuple[str, Thread, int], list[tuple[int, Row]]]) -> Iterator[Row]:
    for (label, thread, slot), pieces in found.items():
        if pieces:
            yield [label, *thread, slot, [piece for _, piece in sorted(pieces)]]
        else:  # no source: the predicate was false
            yield [label, *thread, slot, None, "undefined"]


def _memory_rows(found: Mapping[tuple[str, tuple[int, ...], int], list[Row]]) -> Iterator[Row]:
    undefined: set[tuple[str, int]] = set()
    for (label, _, byte), writers in found.items():
        if len(writers) == 1:
            yield [label, byte, *writers[0]]
        elif (label, byte) not in undefined:
            undefined.add((label, byte))
            yield [label, byte, None, "undefined"]


def _memory_order(row: Row) -> tuple[Any, ...]:
    return (*row[:2], "", 0) if row[2] is None else tuple(row)
