"""Tensor memory: 128 lanes by 512 columns, the slab of the executing warp, the cells of one instruction, and the one that is wrong."""

from __future__ import annotations

from collections.abc import Iterable

from tilecheck.evaluate.case import Operand
from tilecheck.evaluate.launch import Thread
from tilecheck.evaluate.tmem import CELL, COLUMNS, LANES, SLAB
from tilecheck.evaluate.views import Coordinate
from tilecheck.report.pictures.seen import Seen
from tilecheck.report.pictures.svg import CHARACTER, Canvas, Picture

Place = tuple[int, int]
"""A lane and a column."""
DOWN = 2
"""Pixels of a lane; a column has one."""
LEFT, TOP = 9 * CHARACTER, 22
SMALLEST = 8
Box = tuple[int, int, int, int]
"""First lane, lanes, first column, columns."""


def tensor_memory(
    seen: Seen,
    operand: Operand,
    thread: Thread,
    group: Coordinate,
    repeat: Coordinate,
    *,
    marked: Coordinate | None = None,
    wanted: Place | None = None,
) -> Picture | None:
    """The cells of one instruction. marked: the coordinate of an element that is framed; wanted: where it should lie."""
    fixed = seen.fixed(operand, thread)
    if fixed is None or operand.matrix is None:
        return None
    places = {_cell(fixed.cell((*group, *repeat, *atom))) for atom in operand.atoms}
    canvas = Canvas()
    canvas.rect(LEFT, TOP, COLUMNS, DOWN * LANES, "area")
    for column in (0, 128, 256, 384, 511):
        canvas.text(LEFT + column, 14, column, "c")
    for slab in range(LANES // SLAB):
        y = TOP + DOWN * SLAB * slab
        canvas.text(LEFT - CHARACTER, y + 12, SLAB * slab, "e")
        canvas.line(LEFT, y, LEFT + COLUMNS, y, "faint")
    if operand.matrix["slab"]:
        canvas.rect(LEFT, TOP + DOWN * SLAB * (thread.warp % 4), COLUMNS, DOWN * SLAB, "to")
    inside = {place for place in places if 0 <= place[0] < LANES and 0 <= place[1] < COLUMNS}
    for lane, lanes, column, columns in _boxes(inside):
        title = f"lanes {lane} to {lane + lanes - 1}, columns {column} to {column + columns - 1}"
        canvas.rect(LEFT + column, TOP + DOWN * lane, columns, DOWN * lanes, "cell c2", title)
    notes = [f"Lanes downwards, columns to the right; the cells that {operand.name} ({operand.label}) has in one instruction."]
    if operand.matrix["slab"]:
        notes.append(f"Blue: the lanes that warp {thread.warp} reaches.")
    if wanted is not None:
        _framed(canvas, wanted, "ghost")
        notes.append("Dashed: where the element should lie.")
    if marked is not None:
        where = _cell(fixed.cell(marked))
        x, y, width, height = _frame(where)
        if where not in inside:
            canvas.rect(x, y, width, height, "wrong")
            notes.append(f"Lane {where[0]}, column {where[1]} is not there.")
        canvas.offender(x, y, width, height, marked)
    return canvas.picture(f"Tensor memory of {operand.name} ({operand.label})", notes)


def _cell(place: Place) -> Place:
    lane, bit = place
    return lane, bit // CELL


def _frame(place: Place) -> tuple[int, int, int, int]:
    """A square around a cell; of one that is not there at the edge."""
    lane, column = min(max(place[0], -4), LANES + 3), min(max(place[1], -8), COLUMNS + 7)
    return LEFT + column - SMALLEST // 2, TOP + DOWN * lane - SMALLEST // 2, SMALLEST, SMALLEST


def _framed(canvas: Canvas, place: Place, name: str) -> None:
    canvas.rect(*_frame(place), name)


def _boxes(places: Iterable[Place]) -> list[Box]:
    """The cells as rectangles: runs of columns, of lanes that follow each other and have the same runs."""
    rows: dict[int, list[int]] = {}
    for lane, column in sorted(places):
        rows.setdefault(lane, []).append(column)
    found: list[Box] = []
    begun: tuple[int, tuple[tuple[int, int], ...]] | None = None
    last = -2
    for lane in (*sorted(rows), LANES + 1):
        runs = _runs(rows.get(lane, []))
        if begun is not None and (lane != last + 1 or runs != begun[1]):
            found += [(begun[0], last - begun[0] + 1, column, columns) for column, columns in begun[1]]
            begun = None
        begun = begun or (lane, runs)
        last = lane
    return found


def _runs(columns: list[int]) -> tuple[tuple[int, int], ...]:
    """(first, how many) of columns that follow each other."""
    found: list[tuple[int, int]] = []
    for column in columns:
        if found and sum(found[-1]) == column:
            found[-1] = found[-1][0], found[-1][1] + 1
        else:
            found.append((column, 1))
    return tuple(found)
