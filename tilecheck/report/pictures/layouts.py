"""A layout alone: its elements by their logical coordinates, and, where it is in memory, its 128-byte lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice, pairwise, product
from math import prod

from tilecheck.evaluate.layouts import FixedLayout
from tilecheck.evaluate.views import Coordinate, unflat
from tilecheck.layout.axes import AXES
from tilecheck.report.pictures.bits import swizzled
from tilecheck.report.pictures.svg import CHARACTER, Canvas, Picture

LINE_BITS = 1024
"""The bits of one line: 32 banks of 4 bytes."""
CHUNK_BITS = 128
WIDE, TALL = 54, 30
MOST_DOWN, MOST_ACROSS, MOST_LINES = 32, 32, 32
JOINED = 16
"""Trailing axes are drawn side by side up to so many elements."""
SHORT = {"laneid": "l", "warpid": "w", "wid_in_wg": "ww", "wgid": "wg", "tid_in_wg": "t", "tx": "tx"}


def layout_pictures(layout: FixedLayout, bits: int, title: str) -> list[Picture]:
    """A grid of the elements (and the lines of memory, where no thread holds them). bits: the width of one element."""
    if not layout.shape or prod(layout.shape) <= 0:
        return []
    found = [_grid(layout, bits, title)]
    if not layout.axes():
        found.append(_lines(layout, bits, title))
    moved = next((c for line in _coordinates(layout)[1] for c in line if layout.swizzled(at := layout.value(c, "m")) != at), None)
    drawn = None if moved is None else swizzled(layout, moved, bits)
    return found if drawn is None or moved is None else [*found, replace(drawn, title=f"{drawn.title} of element {list(moved)}")]


def _split(shape: Sequence[int]) -> int:
    """The first of the axes that are drawn side by side."""
    first, total = len(shape) - 1, shape[-1]
    while first > 1 and total * shape[first - 1] <= JOINED:
        first -= 1
        total *= shape[first]
    return first


def _chunk(layout: FixedLayout, bits: int, coordinates: Sequence[Sequence[Coordinate]]) -> int:
    """How many elements are drawn as one: a power of two that stay together, at most 16 bytes, at a multiple of their size."""
    count, best = 2, 1
    while count * bits <= CHUNK_BITS and all(len(line) % count == 0 for line in coordinates):
        for line in coordinates:
            at = [layout.swizzled(layout.value(c, "m")) for c in line]
            if any(at[k] % count or any(at[k + j] != at[k] + j for j in range(count)) for k in range(0, len(at), count)):
                return best
        best, count = count, count * 2
    return best


def _coordinates(layout: FixedLayout) -> tuple[list[Coordinate], list[list[Coordinate]]]:
    """The coordinates of the rows, and of the elements of each row, as many rows as are drawn."""
    shape = layout.shape
    first = _split(shape) if len(shape) > 1 else 0
    outer = list(islice(product(*(range(extent) for extent in shape[:first])), MOST_DOWN))
    count = min(prod(shape[first:]), MOST_ACROSS * CHUNK_BITS)
    return outer, [[(*one, *unflat(k, shape[first:])) for k in range(count)] for one in outer]


def _grid(layout: FixedLayout, bits: int, title: str) -> Picture:
    outer, lines = _coordinates(layout)
    axes = _placed(layout)
    chunk = 1 if axes else _chunk(layout, bits, lines)
    across = min(len(lines[0]) // chunk, MOST_ACROSS)
    canvas = Canvas()
    rows = len(outer[0])
    heads = [f"({', '.join(map(str, one))}{',' if one else ''} …)" if rows < len(layout.shape) else "" for one in outer]
    left = (max(map(len, heads)) + 1) * CHARACTER
    texts = [[_cell(layout, bits, line[k * chunk], axes) for k in range(across)] for line in lines]
    wide = max(WIDE, (max(len(text) for line in texts for pair in line for text in pair[:2]) + 1) * CHARACTER)
    for k in range(across):
        inner = lines[0][k * chunk][rows:]
        canvas.text(left + k * wide + wide // 2, 12, ",".join(map(str, inner)), "c m s")
    y = 18
    for number, (head, line) in enumerate(zip(heads, texts, strict=True)):
        if number and rows > 1 and outer[number][-1] == 0:
            y += 8
        canvas.text(left - CHARACTER, y + 19, head, "e m")
        for k, (above, below, hue) in enumerate(line):
            canvas.rect(left + k * wide, y, wide, TALL, f"cell c{hue}")
            middle = left + k * wide + wide // 2
            canvas.text(middle, y + 13, above, "c")
            canvas.text(middle, y + 26, below, "c m s")
        y += TALL
    notes = [_legend(layout, bits, axes, chunk), *_cut(layout, rows, len(outer), across * chunk)]
    return canvas.picture(f"{title} by coordinate", notes)


def _placed(layout: FixedLayout) -> list[str]:
    """The thread axes that the first copy of an element is placed on, the outermost first."""
    shifted = {axis for axis, value in layout.offsets.items() if value}
    written = shifted | {axis for extent, stride, axis in layout.shards if extent > 1 and stride}
    return [axis for axis in reversed(AXES) if axis in written and axis != "m"]


def _cell(layout: FixedLayout, bits: int, coordinate: Coordinate, axes: Sequence[str]) -> tuple[str, str, int]:
    m = layout.swizzled(layout.value(coordinate, "m"))
    if not axes:  # in memory
        at = m * bits
        byte = f"{at // 8}" + (f".{at % 8}" if at % 8 else "")
        return byte, hex(at // 8), at // CHUNK_BITS % 8
    values = {axis: layout.value(coordinate, axis) for axis in axes}
    owner = " ".join(f"{SHORT.get(axis, axis)}{value}" for axis, value in values.items())
    main = "laneid" if "laneid" in values else axes[0]
    return owner, f"m {m}", values[main] // (4 if main == "laneid" else 1) % 8


def _legend(layout: FixedLayout, bits: int, axes: Sequence[str], chunk: int) -> str:
    if not axes:
        what = f"{chunk} elements of {bits} bits that stay together" if chunk > 1 else f"one element of {bits} bits"
        bit = "; 0.4 is bit 4 of byte 0" if bits % 8 and chunk * bits % 8 else ""
        return f"A cell is {what}; in it the byte where it starts{bit}. Cells of one colour lie in the same four banks (16 bytes of a 128-byte line, counted from the base)."
    names = ", ".join(f"{SHORT[axis]} {axis}" if axis in SHORT else axis for axis in axes)
    copies = any(extent > 1 and stride for extent, stride, _ in layout.replicas)
    extra = " Replicas hold each element again; the first copy is drawn." if copies else ""
    return f"In a cell: who holds the element ({names}), and m, its slot there, in elements.{extra}"


def _cut(layout: FixedLayout, rows: int, down: int, across: int) -> Iterator[str]:
    total_down, total_across = prod(layout.shape[:rows]), prod(layout.shape[rows:])
    if down < total_down:
        yield f"The first {down} of {total_down} rows are drawn."
    if across < total_across:
        yield f"The first {across} of {total_across} columns are drawn."


def _lines(layout: FixedLayout, bits: int, title: str) -> Picture:
    """Where the drawn elements lie: the lines of 128 bytes from the lowest on, in cells that hold what stays together."""
    outer, rows = _coordinates(layout)
    unit = bits * _chunk(layout, bits, rows)
    placed: dict[int, list[Coordinate]] = {}
    for row in rows:
        for c in row[:: unit // bits]:
            placed.setdefault(layout.swizzled(layout.value(c, "m")) * bits, []).append(c)
    order = sorted(placed)
    step = min([unit, *(b - a for a, b in pairwise(order))])
    length = LINE_BITS
    while length > MOST_ACROSS * step and length > CHUNK_BITS:
        length //= 2
    lines = [(line, list(found)) for line, found in groupby(order, key=lambda bit: bit // length)]
    pixels = max((max(len(_name(cs)) for cs in placed.values()) + 1) * CHARACTER, 24)
    canvas = Canvas()
    hue = {one: number % 8 for number, one in enumerate(outer)}
    _draw_lines(canvas, lines[:MOST_LINES], placed, hue, (length, unit, lambda distance: distance * pixels // step))
    banks = " (all 32 banks once)" if length == LINE_BITS else ""
    notes = [
        f"A line is {length // 8} bytes{banks}; a cell names the coordinate that starts there, coloured by its row.",
        f"{MOST_LINES} of {len(lines)} lines are drawn." if len(lines) > MOST_LINES else "",
        "Red: several elements lie on the same bytes." if any(len(one) > 1 for one in placed.values()) else "",
    ]
    return canvas.picture(f"{title} in memory", notes)


def _draw_lines(
    canvas: Canvas,
    lines: Sequence[tuple[int, Sequence[int]]],
    placed: Mapping[int, Sequence[Coordinate]],
    hue: Mapping[Coordinate, int],
    sizes: tuple[int, int, Callable[[int], int]],
) -> None:
    """Draws lines, a gap where some are left out. sizes: the bits of a line and of a cell, and how many pixels so many bits take."""
    length, unit, pixels = sizes
    last = lines[-1][0] * length // 8
    left = (len(str(last)) + len(hex(last)) + 3) * CHARACTER
    for tick in range(0, length + 1, max(CHUNK_BITS // 4, length // 8)):
        canvas.text(left + pixels(tick), 12, f"+{tick // 8}", "c s m")
    rows = len(next(iter(hue)))
    y, previous = 18, lines[0][0] - 1
    for line, bits in lines:
        y += 0 if line == previous + 1 else 8
        start = line * length // 8
        canvas.text(left - CHARACTER, y + 18, f"{start} {hex(start)}", "e m")
        canvas.rect(left, y, pixels(length), TALL - 2, "area")
        for bit in bits:
            found = placed[bit]
            x, wide = left + pixels(bit % length), pixels(unit)
            name = "wrong" if len(found) > 1 else f"cell c{hue[found[0][:rows]]}"
            canvas.rect(x, y, wide, TALL - 2, name, "; ".join(map(str, found[:4])))
            canvas.text(x + wide // 2, y + 18, _name(found), "c x" if len(found) > 1 else "c")
        y, previous = y + TALL, line


def _name(found: Sequence[Coordinate]) -> str:
    return ",".join(map(str, found[0])) + (f" +{len(found) - 1}" if len(found) > 1 else "")
