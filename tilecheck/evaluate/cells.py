"""Prediction of warps that move registers to cells of tensor memory or back."""

from __future__ import annotations

from collections.abc import Iterator

from tilecheck.evaluate.case import Case
from tilecheck.evaluate.clauses import repeats
from tilecheck.evaluate.domain import grid
from tilecheck.evaluate.launch import Thread
from tilecheck.evaluate.parameters import copies
from tilecheck.evaluate.predict import (
    Image,
    Piece,
    Place,
    Replay,
    Row,
    Unit,
    UnpredictedError,
    Values,
    memory_row_order,
    memory_rows,
    pieces_of,
    register_rows,
    written_from,
)
from tilecheck.evaluate.tmem import CELL


class CellImage(Replay):
    """What a collective leaves that moves every element of its matrices in tensor memory from or to a register.

    An axis that only the registers have counts the matrices; one that only a matrix has counts the parts of a register, low bits first.
    """

    def __init__(self, case: Case, values: Values, elected: int) -> None:
        super().__init__(case, values, elected)
        held = [operand for operand in case.operands if operand.register]
        self.matrices = [operand for operand in case.operands if operand.matrix is not None]
        if len(held) != 1:
            raise UnpredictedError(f"what {case.opcode} computes is not predicted")
        self.registers = held[0]

    def image(self) -> Image:
        """Everything the call writes."""
        slots: dict[tuple[str, Thread, int], list[Piece]] = {}
        cells: dict[tuple[str, tuple[int, ...], int], list[Row]] = {}
        for thread in self.executing():
            skipped = not self.scene(thread).predicate(thread)
            if skipped and (not self.registers.write or self.case.parameters.get("preserve_dst")):
                continue
            group = self.group(thread)
            for repeat in grid(repeats(self.scene(thread), self.registers)):
                for register, cell in self._pairs(Place(thread, group, repeat)):
                    if self.registers.write:
                        pieces = slots.setdefault((register.operand.label, register.thread, register.slot), [])
                        pieces += () if skipped else pieces_of(register.bit % register.operand.view.bits, cell)
                    else:
                        self._store(cells, cell, register)
        return Image(sorted(register_rows(slots), key=lambda row: row[:5]), sorted(memory_rows(cells), key=memory_row_order))

    def _pairs(self, place: Place) -> Iterator[tuple[Unit, Unit]]:
        """Every part of a register with its place in tensor memory, of one execution."""
        for number, matrix in enumerate(self.matrices):
            for atom in matrix.atoms:
                at = dict(zip(matrix.atom_names, atom, strict=True))
                own = tuple(at.pop(name, number) for name in self.registers.atom_names)
                part = next(iter(at.values()), 0)
                yield self.unit(self.registers, place, own, part, matrix.bits), self.unit(matrix, place, atom, 0, matrix.bits)

    def _store(self, found: dict[tuple[str, tuple[int, ...], int], list[Row]], cell: Unit, register: Unit) -> None:
        """The bytes of a cell: those beside a narrower element are undefined."""
        copy = next(iter(copies(self.scene(cell.thread), cell.operand, cell.thread)))
        first = cell.bit // CELL * CELL
        for bit in range(first, first + CELL, 8):
            inside = cell.bit <= bit < cell.bit + cell.bits
            row: Row = written_from(register, bit - cell.bit) if inside else [None, "undefined"]
            found.setdefault((cell.operand.label, copy, bit // 8), []).append(row)
