"""Small pictures in ASCII that mark where a counterexample lies: a row among its alignment lines, an element among the lanes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tilecheck.report.hints import short_name
from tilecheck.report.place import byte_of, multiple_of
from tilecheck.spec.contract import AtomAxis, Contract, Memory, Register
from tilecheck.symbolic.terms import Term, evaluate

if TYPE_CHECKING:
    from tilecheck.prove.verdict import ClauseResult, Counterexample

COLUMNS = 64


def picture(clause: ClauseResult, contract: Contract | None) -> str | None:
    """The picture of a failing clause, or None where it has none."""
    example = clause.counterexample
    name, operand = short_name(clause.id, contract)
    if example is None or contract is None or operand is None:
        return None
    if name == "aligned" and isinstance(operand, Memory):
        return _aligned(example, max(1, _row_elements(operand, contract) * operand.bits // 8), "row")
    if name == "storage":
        return _aligned(example, multiple_of(example.expected) or 1, "word")
    if name == "contiguous" and isinstance(operand, Memory):
        return _contiguous(example, operand)
    if name == "bounds":
        return _bounds(example)
    if name == "owner" and isinstance(operand, Register) and operand.lane is not None:
        return _owner(example, operand.lane, operand, contract)
    return None


def _aligned(example: Counterexample, length: int, what: str) -> str | None:
    at, need = byte_of(example.actual), multiple_of(example.expected)
    if at is None or need is None or need < 2:
        return None
    first = at - at % need
    lines = max(2, -(-(at + length - first) // need))
    scale = max(1, -(-lines * need // COLUMNS))
    ruler = "".join("|" + "-" * (need // scale - 1) for _ in range(lines)) + "|"
    row = " " * ((at - first) // scale) + "#" * max(1, length // scale)
    numbers = _labels([(first + k * need, k * (need // scale)) for k in range(lines + 1)])
    mark = " " * ((at - first) // scale) + f"^ the {what} starts at byte {at}"
    return f"{numbers}\n{ruler}\n{row}\n{mark}"


def _row_elements(operand: Memory, contract: Contract) -> int:
    total = 1
    for axis in contract.atom:
        total *= axis.extent if axis.name in operand.row else 1
    return total


def _labels(places: list[tuple[int, int]]) -> str:
    """Numbers at columns, those left out that would run into the one before."""
    text = ""
    for number, column in places:
        if column >= len(text) + (1 if text else 0):
            text = text.ljust(column) + str(number)
    return text


def _contiguous(example: Counterexample, operand: Memory) -> str | None:
    expected, actual = byte_of(example.expected), byte_of(example.actual)
    width = max(1, operand.bits // 8)
    if expected is None or actual is None or abs(expected - actual) + 3 * width > COLUMNS:
        return None
    first = min(expected - width, actual)
    cells = {expected - width: "=" * width, expected: "." * width, actual: "#" * width}
    row = "".join(_placed(cells, first))
    marks = _labels([(place, place - first) for place in sorted({expected, actual})])
    return f"{marks}\n{row}\n= the element before, . where this one belongs, # where it is"


def _placed(cells: dict[int, str], first: int) -> list[str]:
    line: list[str] = []
    for place in sorted(cells):
        line.extend(" " * (place - first - len(line)))
        line[place - first :] = list(cells[place])
    return line


_AXIS = re.compile(r"<= (\d+)$")
_RANGE = re.compile(r"begin (-?\d+), end (-?\d+)")
AXIS_COLUMNS = 40


def _bounds(example: Counterexample) -> str | None:
    """The axis as a line from 0 to its extent, and the slice below it."""
    axis, slice_ = _AXIS.search(example.expected), _RANGE.search(example.actual)
    if axis is None or slice_ is None:
        return None
    extent, begin, end = int(axis[1]), int(slice_[1]), int(slice_[2])
    low, high = min(0, begin), max(extent, end)
    if extent < 1 or high - low > 4 * extent:
        return None
    scale = AXIS_COLUMNS / extent
    zero, first = round(-low * scale), round((begin - low) * scale)
    width = max(1, round((end - begin) * scale))
    numbers = _labels([(0, zero), (extent, zero + AXIS_COLUMNS)])
    return f"{numbers}\n{' ' * zero}|{'-' * (AXIS_COLUMNS - 1)}|\n{' ' * first}{'#' * width}  {begin} to {end}"


MOST_MARKED = 16
"""The coordinates of an axis that are shown around a marked one."""


def _owner(example: Counterexample, lane: Term, operand: Register, contract: Contract) -> str | None:
    axes = contract.atom_of(operand)
    if len(axes) < 2 or len(example.atom) != len(axes):
        return None
    outer = dict(zip((axis.name for axis in axes[:-2]), example.atom, strict=False))
    return lane_grid(lane, axes[-2], axes[-1], outer, marked=example.atom[-2:])


def lane_grid(lane: Term, down: AtomAxis, across: AtomAxis, outer: dict[str, int], *, marked: tuple[int, ...] = ()) -> str:
    """Which lane holds each element of two atom axes; `marked` stands in brackets, of large maps with the elements around it."""
    head = f"{down.name} \\ {across.name}"
    rows, columns = (_around(axis.extent, at) for axis, at in zip((down, across), marked or (None, None), strict=False))
    numbers = [[evaluate(lane, {**outer, down.name: i, across.name: j}) for j in columns] for i in rows]
    wide = max(2, *(len(str(number)) for line in numbers for number in line))
    lines = [head + "".join(f"{k:>{wide + 3}} " for k in columns)]
    for i, line in zip(rows, numbers, strict=True):
        cells = [f" [{n:>{wide}}] " if (i, j) == tuple(marked) else f"  {n:>{wide}}  " for j, n in zip(columns, line, strict=True)]
        lines.append(str(i).rjust(len(head)) + "".join(cells))
    return "\n".join(line.rstrip() for line in lines)


def _around(extent: int, at: int | None) -> range:
    """All coordinates of an axis; where something is marked on a long one, the aligned part around it."""
    first = 0 if at is None or extent <= MOST_MARKED else at - at % MOST_MARKED
    return range(first, extent if at is None else min(extent, first + MOST_MARKED))


def register_grid(operand: Register, down: AtomAxis, across: AtomAxis, outer: dict[str, int]) -> str:
    """Lane and register of each element of two atom axes, as the ISA draws fragments: `T5:a1`."""
    assert operand.lane is not None
    head, width = f"{down.name} \\ {across.name}", len(operand.name) + 6
    lines = [head + "".join(str(k).rjust(width) for k in range(across.extent))]
    for i in range(down.extent):
        points = [{**outer, down.name: i, across.name: j} for j in range(across.extent)]
        cells = [f"T{evaluate(operand.lane, point)}:{operand.name}{evaluate(operand.register, point)}" for point in points]
        lines.append(str(i).rjust(len(head)) + "".join(cell.rjust(width) for cell in cells))
    return "\n".join(lines)
