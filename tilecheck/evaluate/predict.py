"""Prediction: what every register slot and memory byte holds after a proved call, under one value of every symbol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, NamedTuple

from tilecheck.evaluate.case import Case, Operand, Scene
from tilecheck.evaluate.clauses import repeats
from tilecheck.evaluate.domain import ELECTED, grid
from tilecheck.evaluate.expressions import term
from tilecheck.evaluate.launch import Thread
from tilecheck.evaluate.parameters import copies, value
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


class Zero(NamedTuple):
    """A run of bits that the instruction clears."""

    bits: int


class Place(NamedTuple):
    """One execution of the instruction: by a thread (for collectives: lane 0 of a warp), with its group, at a repeat."""

    thread: Thread
    group: Coordinate
    repeat: Coordinate


class UnpredictedError(ValueError):
    """A legal call whose image nothing here predicts."""


class Replay:
    """One call with a value for every symbol: a number, or one value per lane, warp or CTA."""

    def __init__(self, case: Case, values: Values, elected: int) -> None:
        if case.problem is not None:
            raise ValueError("the operands of the call are not right: there is nothing to predict")
        self.case = case
        self.values = {**values, ELECTED: elected}
        self.levels = {symbol.name: symbol.varies for symbol in case.facts.symbols}
        self.scenes: dict[tuple[int, ...], Scene] = {}

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
        holder = place.thread if lane is None else self.case.launch.member(place.thread, lane)
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

    def executing(self) -> Iterator[Thread]:
        """The threads that execute the instruction (of a collective: its first lane), in order."""
        launch = self.case.launch
        for thread in launch.threads:
            if (launch.number(thread) == 0 or not launch.collective) and self.active(thread):
                yield thread


class Prediction(Replay):
    """What a call that copies bits leaves."""

    def __init__(self, case: Case, values: Values, elected: int) -> None:
        super().__init__(case, values, elected)
        operands = {operand.name: operand for operand in case.operands}
        self.move = case.move
        self.source, self.target = operands[str(case.move["src"])], operands[str(case.move["dst"])]
        self.parts: list[tuple[str, int]] = [(str(name), int(extent)) for name, extent in case.move["parts"]]
        self.unit_bits = self.target.bits // prod(extent for _, extent in self.parts)
        self.in_place = self.target.register and self.source.register and self.source.tensor == self.target.tensor
        self.written: dict[tuple[Thread, int], Row] = {}
        self.copies = not self.target.register and not self.source.register
        if (self.in_place or not self.target.register) and self.unit_bits % 8 and not self.copies:
            raise ValueError(f"memory and registers that are read again are written in whole bytes, not in units of {self.unit_bits} bits")

    def places(self, thread: Thread) -> Iterator[Place]:
        """The executions of the instruction by one thread (for collectives: one warp), in order."""
        group = self.group(thread)
        for repeat in grid(repeats(self.scene(thread), self.target)):
            yield Place(thread, group, repeat)

    def moves(self, place: Place, *, skipped: bool) -> Iterator[tuple[Unit, Unit | Zero | None]]:
        """Every destination unit of one execution with its source unit (None: skipped)."""
        names = [*self.target.atom_names, *(name for name, _ in self.parts)]
        zero, bits = self.move.get("zero", False), self.unit_bits
        for atom in self.target.atoms:
            for part in product(*(range(extent) for _, extent in self.parts)):
                target = self.unit(self.target, place, atom, self._number(part), bits)
                at = dict(zip(names, (*atom, *part), strict=True))
                if skipped or term(zero, at):
                    yield target, None if skipped else Zero(bits)
                    continue
                found = tuple(term(form, at) for form in self.move["source"])
                yield target, self.unit(self.source, place, found[: len(atom)], self._number(found[len(atom) :]), bits)

    def _number(self, part: Coordinate) -> int:
        """The number of a part in its element, low bits first: the last part axis is the lowest."""
        number = 0
        for digit, (_, extent) in zip(part, self.parts, strict=True):
            number = number * extent + digit
        return number

    def image(self) -> Image:
        """Everything the call writes."""
        if self.copies:
            return Copies(self).image()
        registers: dict[tuple[str, Thread, int], list[Piece]] = {}
        bytes_: dict[tuple[str, tuple[int, ...], int], list[Row]] = {}
        for thread in self.executing():
            skipped = not self.scene(thread).predicate(thread)
            if skipped and (not self.target.register or self.case.parameters.get("preserve_dst")):
                continue
            for place in self.places(thread):
                moved = self.moves(place, skipped=skipped)
                if self.target.register:
                    self._load(registers, moved)
                    continue
                for target, origin in moved:
                    assert origin is not None
                    self._store(bytes_, target, origin)
        return Image(sorted(register_rows(registers), key=lambda row: row[:5]), sorted(memory_rows(bytes_), key=memory_row_order))

    def _load(self, found: dict[tuple[str, Thread, int], list[Piece]], moved: Iterable[tuple[Unit, Unit | Zero | None]]) -> None:
        """One execution: every source is read before a destination is written, and holds what earlier executions wrote there."""
        fresh: dict[tuple[Thread, int], Row] = {}
        for target, origin in moved:
            pieces = found.setdefault((self.target.label, target.thread, target.slot), [])
            for piece in () if origin is None else pieces_of(target.bit % target.operand.view.bits, origin):
                now = piece._replace(source=self._now(piece.source)) if self.in_place else piece
                pieces.append(now)
                fresh[target.thread, target.slot * target.operand.view.bits // 8 + piece.at // 8] = now.source
        if self.in_place:
            self.written.update(fresh)

    def _now(self, source: Row) -> Row:
        """What a byte of a register holds, as the byte that it held first."""
        name, where = source
        if name is None:
            return source
        *thread, slot, byte = where
        return self.written.get((Thread(*thread), slot * self.source.view.bits // 8 + byte), source)

    def _store(self, found: dict[tuple[str, tuple[int, ...], int], list[Row]], target: Unit, origin: Unit | Zero) -> None:
        copy = next(iter(copies(self.scene(target.thread), self.target, target.thread)))
        for k in range(0, target.bits, 8):
            key = (self.target.label, copy, (target.bit + k) // 8)
            found.setdefault(key, []).append(written_from(origin, k))


class Write(NamedTuple):
    """What one execution leaves in a byte of memory: a byte of a copy of the source's tensor, or a fill ("zero", "nan", "undefined")."""

    copy: tuple[int, ...]
    byte: int | str


Written = dict[tuple[tuple[int, ...], int], list[Write]]
"""What is written to each byte of each copy of the destination."""


class Copies:
    """The image of a call that moves memory to memory, row by row of consecutive bytes."""

    def __init__(self, call: Prediction) -> None:
        self.call, self.move = call, call.move
        self.case, self.source, self.target = call.case, call.source, call.target
        self.found: Written = {}

    def image(self) -> Image:
        """Every byte that is written, with the copies it lies in where there are several."""
        for thread in self.call.executing():
            if self.call.scene(thread).predicate(thread):
                for place in self.call.places(thread):
                    self._row(place)
        return Image([], copied_rows(self.case, self.source, self.target, self.found, self.move.get("combine")))

    def _row(self, place: Place) -> None:
        """One execution: the bytes of its row, each where the views have it on both sides."""
        thread = place.thread
        scene, size = self.call.scene(thread), prod(self.target.atom_extents) * self.target.bits // 8
        own = next(iter(copies(scene, self.source, thread)))
        length = self._value(scene, thread, "length", size)
        length = 0 if self._value(scene, thread, "blank", 0) else length
        mask = self._value(scene, thread, "bytes", 0xFFFF)
        written = [k for k in range(size) if mask >> k % 16 & 1]
        moved = [(self._byte(self.target, place, k), self._byte(self.source, place, k) if k < length else "zero") for k in written]
        for copy in copies(scene, self.target, thread):
            for to, come in moved:
                self.found.setdefault((copy, to), []).append(Write(own, come))

    def _byte(self, operand: Operand, place: Place, k: int) -> int:
        """Where byte k of a row lies."""
        number = 8 * k // operand.bits
        fixed = self.call.scene(place.thread).fixed(operand, place.thread)
        return fixed.address((*place.group, *place.repeat, *operand.atoms[number]), 8 * k - number * operand.bits) // 8

    def _value(self, scene: Scene, thread: Thread, role: str, default: int) -> int:
        """The value of the parameter that the move names for a role, where the call gives it."""
        name = self.move.get(role)
        return value(scene, name, thread) if name is not None and name in self.case.parameters else default


def copied_rows(case: Case, source: Operand, target: Operand, found: Written, combine: str | None, rounded: str | None = None) -> list[Row]:
    """The rows of what is copied from memory to memory, combined by an operator and type with what stands there, or rounded to a type, in order."""
    several = case.launch.ctas > 1 and "shared" in {source.view.space, target.view.space}

    def row(copy: tuple[int, ...], byte: int, writes: Sequence[Write]) -> Row:
        where: dict[str, Any] = {"cta": copy[0]} if several and copy else {}
        if combine is not None:
            sources = [[source.tensor, w.byte, *([w.copy[0]] if several and w.copy else [])] for w in writes]
            return [target.label, byte, None, "combined", {**where, "by": combine, "sources": sources}]
        (one, *others) = writes
        word = "undefined" if others else one.byte
        if isinstance(word, int) and rounded is not None:
            return [target.label, byte, None, "rounded", {**where, "to": rounded, "sources": [[source.tensor, word]]}]
        if isinstance(word, int) and several and one.copy:
            where["from"] = one.copy[0]
        rest: Row = [None, word] if isinstance(word, str) else [source.tensor, word]
        return [target.label, byte, *rest, *([where] if where else [])]

    return sorted((row(copy, byte, writes) for (copy, byte), writes in found.items()), key=_copy_order)


def _copy_order(row: Row) -> tuple[Any, ...]:
    return (*row[:2], row[4].get("cta", 0) if len(row) > 4 else 0)


class Piece(NamedTuple):
    """Bits of a register slot that come from one byte: `bits` of them from bit `bit` of the byte `source` on, at bit `at` of the slot."""

    at: int
    source: Row
    bit: int
    bits: int

    def ends_where(self, after: Piece) -> bool:
        """Whether another piece of the same byte follows, in the same byte of the slot."""
        return (self.at + self.bits, self.bit + self.bits, self.at // 8) == (after.at, after.bit, after.at // 8)

    def row(self) -> Row:
        """[tensor, byte], or [tensor, byte, bit, bits] of a part of a byte; zeros have the tensor null."""
        return self.source if self.bits == 8 else [*self.source, self.bit, self.bits]


def written_from(origin: Unit | Zero, k: int) -> Row:
    """The byte that holds bit k of a source: [tensor, byte], [register operand, [cta, warp, lane, slot, byte]] or [null, "zero"]."""
    if isinstance(origin, Zero):
        return [None, "zero"]
    bit = origin.bit + k
    if not origin.operand.register:
        return [origin.operand.tensor, bit // 8]
    slot, inside = divmod(bit, origin.operand.view.bits)
    return [origin.operand.label, [*origin.thread, slot, inside // 8]]


def pieces_of(target: int, origin: Unit | Zero) -> Iterator[Piece]:
    """The source of a unit at bit `target` of its slot, cut where a byte of the slot or of the source ends."""
    first, at = 0 if isinstance(origin, Zero) else origin.bit, 0
    while at < origin.bits:
        bit = (target + at if isinstance(origin, Zero) else first + at) % 8
        bits = min(8 - bit, 8 - (target + at) % 8, origin.bits - at)
        yield Piece(target + at, written_from(origin, at), bit, bits)
        at += bits


def joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Pieces in order, neighbours of one byte of the source and one byte of the slot made one."""
    found: list[Piece] = []
    for piece in sorted(pieces, key=lambda one: one.at):
        last = found[-1] if found else None
        if last is not None and last.source == piece.source and last.ends_where(piece):
            found[-1] = last._replace(bits=last.bits + piece.bits)
            continue
        found.append(piece)
    return found


def register_rows(found: Mapping[tuple[str, Thread, int], list[Piece]]) -> Iterator[Row]:
    """A row for every written slot."""
    for (label, thread, slot), pieces in found.items():
        if pieces:
            yield [label, *thread, slot, [piece.row() for piece in joined(pieces)]]
        else:  # no source: the predicate was false
            yield [label, *thread, slot, None, "undefined"]


def memory_rows(found: Mapping[tuple[str, tuple[int, ...], int], list[Row]]) -> Iterator[Row]:
    """A row for every written byte; one that is written twice is undefined."""
    undefined: set[tuple[str, int]] = set()
    for (label, _, byte), writers in found.items():
        if len(writers) == 1:
            yield [label, byte, *writers[0]]
        elif (label, byte) not in undefined:
            undefined.add((label, byte))
            yield [label, byte, None, "undefined"]


def memory_row_order(row: Row) -> tuple[Any, ...]:
    """Rows by tensor and byte."""
    return (*row[:2], "", 0) if row[2] is None else tuple(row)
