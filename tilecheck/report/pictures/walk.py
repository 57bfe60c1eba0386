"""The address walk: the rows that an instruction touches, who gives each address, and where it lies in its 128-byte line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tilecheck.evaluate.case import Operand
from tilecheck.report.pictures.seen import MOST_ROWS, Row, Seen
from tilecheck.report.pictures.svg import CHARACTER, Canvas, Picture

LINE_BYTES, SCALE = 128, 3
ROW = 20
MOST_CELLS = 8
MOST_DRAWN = 32


def address_walk(
    seen: Seen, operand: Operand, rows: Sequence[Row], *, most: int, offender: Row | None = None, residue: int = 0
) -> Picture | None:
    """A line a row, at most so many, around the offending one. residue: of the base, in bytes; need not be 0 for a counterexample."""
    if not rows:
        return None
    where = next((k for k, row in enumerate(rows) if row == offender), 0)
    first = max(0, min(where - most // 2, len(rows) - most))
    shown = rows[first : first + most]
    whole = [row.bits // 8 + residue for row in shown]
    base = f"the base at {residue} mod {operand.align_bytes}" if residue else "the base"
    return _draw(seen, operand, list(shown), whole, [first, len(rows) - first - len(shown)], offender, base)


def _draw(seen: Seen, operand: Operand, rows: list[Row], at: list[int], left_out: list[int], offender: Row | None, base: str) -> Picture:
    need, length = operand.align_bytes, max(1, _elements(operand) * operand.bits // 8)
    heads = ["lane", "row", "element", "byte", "hex", *([f"mod {need}"] if need > 1 else [])]
    texts = [_texts(seen, operand, row, byte, need) for row, byte in zip(rows, at, strict=True)]
    if not any(cells[1] for cells in texts):
        heads, texts = _without(heads, 1), [_without(cells, 1) for cells in texts]
    ends = _columns([heads, *texts])
    canvas = Canvas()
    left = ends[-1] + 16
    for x, head in zip(ends, heads, strict=True):
        canvas.text(x, 12, head, "e m")
    step = max(need, 16)
    for byte in range(0, LINE_BYTES + 1, step):
        canvas.text(left + byte * SCALE, 12, byte, "c s m")
    top, bottom = 20, 20 + ROW * len(rows)
    canvas.rect(left, top, LINE_BYTES * SCALE, bottom - top, "area")
    for byte in range(step, LINE_BYTES, step):
        canvas.line(left + byte * SCALE, top, left + byte * SCALE, bottom, "" if need > 1 else "faint")
    for number, (row, byte, cells) in enumerate(zip(rows, at, texts, strict=True)):
        y, wrong = top + number * ROW, bool(row.bits % 8) or byte % need != 0
        for x, text in zip(ends, cells, strict=True):
            canvas.text(x, y + 14, text, "e x" if wrong else "e")
        _bar(canvas, left, y, byte, length, "wrong" if wrong else f"cell c{row.thread.lane % 8}")
        if row == offender:
            if wrong:
                x = left + byte % LINE_BYTES * SCALE
                canvas.rect(x - byte % need * SCALE, y + 3, length * SCALE, ROW - 6, "ghost")
                canvas.line(x, y - 2, x, y + ROW + 1, "edge")
            canvas.offender(0, y + 1, left + LINE_BYTES * SCALE, ROW - 2, row.coordinate, byte)
    banks = " (all 32 banks once)" if operand.view.space == "shared" else ""
    start = f"; it must start at a grid line, every {need} bytes." if need > 1 else "."
    notes = [
        f"Each bar is a row of {length} bytes in its line of {LINE_BYTES} bytes{banks}, counted from {base}{start}",
        "The dashed frame is the place before, where the marked row could start." if offender is not None and need > 1 else "",
        _left_out(left_out),
    ]
    return canvas.picture(f"Address walk of {operand.name} ({operand.label})", notes)


def _texts(seen: Seen, operand: Operand, row: Row, byte: int, need: int) -> list[str]:
    axes = len(operand.atom_extents) - operand.row_axes
    names = [f"{name} {k}" for name, k in zip(operand.atom_names[:axes], row.atom, strict=False)]
    repeat = [f"repeat {', '.join(map(str, row.repeat))}"] if row.repeat and (any(row.repeat) or not names) else []
    warp = f"{row.thread.warp}:" if row.thread.warp or seen.case.launch.warps > 1 else ""
    bit = f".{row.bits % 8}" if row.bits % 8 else ""
    text = [f"{warp}{row.thread.lane}", ", ".join([*repeat, *names]), seen.element(operand, row.thread, row.coordinate)]
    return [*text, f"{byte}{bit}", hex(byte), *([str(byte % need)] if need > 1 else [])]


def _without(cells: list[str], place: int) -> list[str]:
    return cells[:place] + cells[place + 1 :]


def _columns(lines: Sequence[Sequence[str]]) -> list[int]:
    """The right end of each column."""
    x, ends = 0, list[int]()
    for column in zip(*lines, strict=True):
        x += (max(map(len, column)) + (2 if x else 1)) * CHARACTER
        ends.append(x)
    return ends


def _bar(canvas: Canvas, left: int, y: int, byte: int, length: int, name: str) -> None:
    """A bar; what runs past the end of its line goes on at the start, dashed (it lies in the next line)."""
    start = byte % LINE_BYTES
    inside = min(length, LINE_BYTES - start)
    canvas.rect(left + start * SCALE, y + 3, inside * SCALE, ROW - 6, name)
    if inside < length:
        canvas.rect(left, y + 3, min(length - inside, LINE_BYTES) * SCALE, ROW - 6, "off")


def _left_out(counts: Sequence[int]) -> str:
    words = [f"{count} {word}" for count, word in zip(counts, ("before", "behind"), strict=True) if count]
    more = " and more" if sum(counts) + MOST_DRAWN >= MOST_ROWS else ""
    return f"Rows that are not drawn: {', '.join(words)}{more}." if words else ""


def _elements(operand: Operand) -> int:
    total = 1
    for extent in operand.atom_extents[len(operand.atom_extents) - operand.row_axes :]:
        total *= extent
    return total


def neighbours(seen: Seen, operand: Operand, row: Row, marked: tuple[int, ...]) -> Picture | None:
    """The elements of one row, each with the byte where it belongs (behind the one before) and the byte where it is."""
    fixed = seen.fixed(operand, row.thread)
    if fixed is None:
        return None
    atoms = [atom for atom in operand.atoms if operand.row_start(atom) == row.atom]
    places = [fixed.address((*row.group, *row.repeat, *atom)) for atom in atoms]
    expected = [places[0], *(before + operand.bits for before, _ in pairwise(places))]
    texts = [seen.element(operand, row.thread, (*row.group, *row.repeat, *atom)) for atom in atoms]
    cells = list(zip(texts, expected, places, strict=True))
    where = atoms.index(marked) if marked in atoms else 0
    first = max(0, min(where - 4, len(cells) - MOST_CELLS))
    coordinate = (*row.group, *row.repeat, *marked)
    return strip(
        cells[first : first + MOST_CELLS], (where - first, where - first), coordinate, places[where] // 8, "Byte by byte along the row"
    )


def strip(
    cells: Sequence[tuple[str, int, int]], marked: tuple[int, int], at: Sequence[int], byte: int, title: str, size: int = 0
) -> Picture:
    """Elements in a line: (text, expected bits, actual bits). marked: the first and last of those that make up the element `at`.

    byte: where the failing one is.

    size: words of so many bytes, whose numbers are shown, too, and a line where one ends.
    """
    canvas = Canvas()
    width = 2 + max(len(word) for text, expected, actual in cells for word in (text, place(expected), place(actual)))
    labels = ["element", "belongs at", "is at", "", *([f"{size}-byte word"] if size else [])]
    step, left, high = max(width, 10) * CHARACTER, (max(map(len, labels)) + 2) * CHARACTER, ROW * len(labels) + 4
    for number, label in enumerate(labels):
        canvas.text(0, 18 + number * ROW, label, "m")
    words = [actual // 8 // size if size else 0 for _, _, actual in cells]
    for number, (text, expected, actual) in enumerate(cells):
        x, wrong = left + number * step, expected != actual
        canvas.rect(x, 2, step, high, "wrong" if wrong else "cell")
        middle = x + step // 2
        canvas.text(middle, 18, text, "c b")
        canvas.text(middle, 18 + ROW, place(expected), "c" if wrong else "c m")
        canvas.text(middle, 18 + 2 * ROW, place(actual), "c x b" if wrong else "c")
        canvas.text(middle, 18 + 3 * ROW, hex(actual // 8), "c s m")
        if size:
            canvas.text(middle, 18 + 4 * ROW, words[number], "c")
        if number and words[number] != words[number - 1]:
            canvas.line(x, 0, x, high + 6, "edge")
    first, last = marked
    canvas.offender(left + first * step, 2, (last - first + 1) * step, high, at, byte)
    return canvas.picture(title, ["The line inside the frame is the end of a word." if len(set(words)) > 1 else ""])


def place(bits: int) -> str:
    """A bit offset in bytes."""
    return f"byte {bits // 8}" + (f".{bits % 8}" if bits % 8 else "")
