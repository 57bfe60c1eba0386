"""Ownership: which lane holds each element, in which slot, as the instruction has it beside what the layout says; and who executes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod

from tilecheck.evaluate.case import Operand
from tilecheck.evaluate.clauses import slot
from tilecheck.evaluate.launch import COORDINATES, Thread
from tilecheck.evaluate.views import Coordinate
from tilecheck.report.pictures.seen import MOST_ROWS, Seen
from tilecheck.report.pictures.svg import CHARACTER, Canvas, Picture

WIDE, TALL = 62, 36
MOST_DOWN, MOST_ACROSS, MOST_PANELS = 32, 16, 8
MOST_AROUND = 16
"""The most rows around a marked element."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One element: its thread, its coordinate in the view, the owner it should have and the one it has, and its slot."""

    coordinate: Coordinate
    expected: str
    actual: str
    slot: str
    hue: int


@dataclass(frozen=True, slots=True)
class Panel:
    """A grid of cells with labels for its rows and columns."""

    title: str
    down: Sequence[str]
    across: Sequence[str]
    cells: Sequence[Sequence[Cell]]


def ownership(
    seen: Seen, operand: Operand, thread: Thread, repeat: Coordinate, *, axis: str = "", marked: Coordinate | None = None
) -> Picture | None:
    """The grid of a register operand. axis: the thread coordinate that is compared (all that the layout writes without one).

    With a marked element only the panel that has it.
    """
    panels = _panels(seen, operand, thread, repeat, axis)
    notes = ["In a cell: the lane that executes the element, and the register slot that the layout gives it."]
    if marked is not None:
        panels = [one for one in panels if any(cell.coordinate == marked for line in one.cells for cell in line)]
        notes = [f"In a cell: the {axis or 'lane'} that the instruction has for the element, and below it the one that the layout says."]
    if not panels:
        return None
    if len(panels) > MOST_PANELS:
        notes.append(f"The first {MOST_PANELS} of {len(panels)} grids.")
    canvas = Canvas()
    across = len(panels) if len(panels) < 4 else 2
    x = y = bottom = 0
    for number, one in enumerate(panels[:MOST_PANELS]):
        if number % across == 0:
            x, y = 0, bottom
        x = _draw(canvas, x, y, one, marked) + 28
        bottom = canvas.height + 14
    notes += _cut(panels[0], MOST_DOWN if marked is None else MOST_AROUND)
    if marked is None and (seen.case.launch.group_rank or operand.holder_term is not None) and prod(seen.repeats(operand) or ()) > 1:
        notes.append(f"Repeat {', '.join(map(str, repeat))} is drawn.")
    return canvas.picture(f"Ownership of {operand.name} ({operand.label})", notes)


def _cut(panel: Panel, most: int) -> list[str]:
    found: list[str] = []
    if len(panel.down) > most:
        found.append(f"{most} rows are drawn; there are more.")
    if len(panel.across) > MOST_ACROSS:
        found.append(f"{MOST_ACROSS} of {len(panel.across)} columns are drawn.")
    return found


def _panels(seen: Seen, operand: Operand, thread: Thread, repeat: Coordinate, axis: str) -> list[Panel]:
    group = seen.group(thread)
    names, extents = operand.atom_names, operand.atom_extents
    if operand.holder_term is not None and len(extents) > 1:
        down, across = [f"{names[-2]} {k}" for k in range(extents[-2])], [f"{names[-1]} {k}" for k in range(extents[-1])]
        panels: list[Panel] = []
        for outer in product(*(range(extent) for extent in extents[:-2])):
            atoms = [[(*outer, i, j) for j in range(extents[-1])] for i in range(extents[-2])]
            cells = [
                [_cell(seen, operand, seen.case.launch.member(thread, operand.holder(a) or 0), (*group, *repeat, *a), axis) for a in line]
                for line in atoms
            ]
            panels.append(Panel(", ".join(f"{n} {k}" for n, k in zip(names, outer, strict=False)), down, across, cells))
        return panels
    across = [" ".join(f"{n} {k}" for n, k in zip(names, atom, strict=True)) for atom in operand.atoms]
    if seen.case.launch.group_rank:
        lanes = seen.lanes(thread)
        cells = [[_cell(seen, operand, one, (*seen.group(one), *repeat, *a), axis) for a in operand.atoms] for one in lanes]
        return [Panel(f"warp {thread.warp}", [f"lane {one.lane}" for one in lanes], across, cells)]
    extents = seen.repeats(operand) or ()
    repeats = list(islice(product(*(range(extent) for extent in extents)), MOST_DOWN + 1))
    cells = [[_cell(seen, operand, thread, (*at, *a), axis) for a in operand.atoms] for at in repeats]
    return [Panel("one thread", [f"repeat {', '.join(map(str, at))}" if at else "" for at in repeats], across, cells)]


def _cell(seen: Seen, operand: Operand, thread: Thread, coordinate: Coordinate, axis: str) -> Cell:
    fixed = seen.fixed(operand, thread)
    if fixed is None:
        return Cell(coordinate, f"lane {thread.lane}", "?", "", 0)
    own = slot(fixed, coordinate)
    if axis:
        found = seen.owners(operand, thread, coordinate, axis)
        expected, actual = ("?", "?") if found is None else (str(found[0]), str(found[1]))
        return Cell(coordinate, expected, actual, f"slot {own}", thread.lane // 4 % 8)
    pairs = [(one, seen.owners(operand, thread, coordinate, one)) for one in sorted(fixed.layout.axes() & set(COORDINATES))]
    wrong = [f"{one} {pair[1]}" for one, pair in pairs if pair is not None and pair[0] != pair[1]]
    hue = thread.lane // 4 % 8 if operand.holder_term is not None else own % 8
    return Cell(coordinate, f"lane {thread.lane}", wrong[0] if wrong else f"lane {thread.lane}", f"slot {own}", hue)


def _draw(canvas: Canvas, left: int, above: int, panel: Panel, marked: Coordinate | None) -> int:
    """Draws a panel from a corner on and gives its right end."""
    first, most = 0, MOST_DOWN if marked is None else MOST_AROUND
    if marked is not None:
        row = next(k for k, line in enumerate(panel.cells) if any(cell.coordinate == marked for cell in line))
        first = max(0, min(row - most // 2, len(panel.cells) - most))
    lines = [line[:MOST_ACROSS] for line in panel.cells[first : first + most]]
    down, across = panel.down[first : first + most], panel.across[:MOST_ACROSS]
    start = left + (max((len(text) for text in down), default=0) + 1) * CHARACTER
    wide = max(WIDE, (max(len(text) for text in across) + 1) * CHARACTER)
    top = above + (38 if panel.title else 20)
    if panel.title:
        canvas.text(start, above + 12, panel.title, "b")
    for j, text in enumerate(across):
        canvas.text(start + j * wide + wide // 2, top - 6, text, "c m")
    for i, line in enumerate(lines):
        y = top + i * TALL
        canvas.text(start - CHARACTER, y + 22, down[i], "e m")
        for j, cell in enumerate(line):
            _draw_cell(canvas, start + j * wide, y, wide, cell, compared=marked is not None)
    for i, line in enumerate(lines):
        for j, cell in enumerate(line):
            if cell.coordinate == marked:
                canvas.offender(start + j * wide, top + i * TALL, wide, TALL, cell.coordinate)
    return start + len(across) * wide


def _draw_cell(canvas: Canvas, x: int, y: int, wide: int, cell: Cell, *, compared: bool) -> None:
    wrong = cell.expected != cell.actual
    title = f"element ({', '.join(map(str, cell.coordinate))}), {cell.slot}"
    canvas.rect(x, y, wide, TALL, "wrong" if wrong else f"cell c{cell.hue}", title)
    middle = x + wide // 2
    canvas.text(middle, y + 15, cell.expected, "c")
    below = cell.actual if compared or wrong else cell.slot
    canvas.text(middle, y + 30, below, "c x b" if wrong else "c m")


def slots(seen: Seen, operand: Operand, thread: Thread, marked: Coordinate) -> Picture | None:
    """The slots of the elements that one thread holds, up to the marked one and a little beyond; equal ones framed."""
    fixed, extents = seen.fixed(operand, thread), seen.repeats(operand)
    if fixed is None or extents is None:
        return None
    group, atoms = seen.group(thread), operand.atoms_of(seen.case.launch.number(thread))
    elements = list(islice(((*group, *at, *a) for at in product(*map(range, extents)) for a in atoms), MOST_ROWS))
    if marked not in elements:
        return None
    taken = slot(fixed, marked)
    twin = next(k for k, element in enumerate(elements) if slot(fixed, element) == taken)
    where = elements.index(marked)
    first = min(twin, max(0, where - 47)) if where - twin < 64 else max(0, where - 47)
    canvas = Canvas()
    wide = max(WIDE, (len(str(list(marked))) + 3) * CHARACTER)
    for k, element in enumerate(elements[first : max(where + 9, first + 8)]):
        x, y, own = k % 8 * wide, k // 8 * TALL, slot(fixed, element)
        canvas.rect(x, y, wide, TALL, "wrong" if own == taken else f"cell c{own % 8}")
        canvas.text(x + wide // 2, y + 15, f"[{', '.join(map(str, element))}]", "c m")
        canvas.text(x + wide // 2, y + 30, f"slot {own}", "c x b" if own == taken else "c")
        if element == marked:
            canvas.offender(x, y, wide, TALL, marked)
    notes = [
        f"The elements that lane {thread.lane} of warp {thread.warp} holds, in order: element {list(elements[twin])} has slot {taken} already."
    ]
    return canvas.picture(f"Register slots of {operand.name} ({operand.label})", notes)


def executing(seen: Seen, thread: Thread, *, most: int = 8) -> Picture:
    """Who executes: a line a warp of the thread's CTA, at most so many, a cell a lane."""
    launch = seen.case.launch
    count = max(launch.warps, thread.warp + 1)
    first = max(0, min(thread.warp - most // 2, count - most))
    canvas = Canvas()
    left, size = 9 * CHARACTER, 22
    for lane in range(0, 32, 4):
        canvas.text(left + lane * size + size // 2, 11, lane, "c s m")
    for line, warp in enumerate(range(first, min(count, first + most))):
        y = 18 + line * size
        canvas.text(0, y + 15, f"warp {warp}", "m")
        for lane in range(32):
            one = thread._replace(warp=warp, lane=lane)
            exists = launch.exists(one)
            on = exists and seen.active(one)
            x = left + lane * size
            canvas.rect(x + 1, y + 1, size - 2, size - 2, "cell c1" if on else "cell" if exists else "off")
            canvas.text(x + size // 2, y + 15, "1" if on else "0" if exists else "-", "c" if on else "c m")
            if one == thread:
                canvas.offender(x + 1, y + 1, size - 2, size - 2, thread)
    notes = ["1: the thread executes; 0: it is switched off; -: there is no such thread."]
    if count > most:
        notes.append(f"{most} of {count} warps are drawn.")
    return canvas.picture("Who executes", notes)
