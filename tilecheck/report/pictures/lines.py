"""Lengths on a line: a slice on its axis, a layout in its allocation."""

from __future__ import annotations

from tilecheck.report.pictures.svg import CHARACTER, Canvas, Picture

WIDTH = 480
APART = 20
"""Where one length is this many times another they are drawn side by side, not to scale."""


def slice_on_axis(begin: int, end: int, limit: int, at: tuple[int, ...]) -> Picture:
    """An axis from 0 to its extent, and below it the slice that leaves it. at: the coordinate of the element."""
    low, high = min(0, begin), max(limit, end)
    axis, part = max(limit, 1), max(end - begin, 1)
    to_scale = high - low <= APART * axis and high - low <= WIDTH // 4 * part
    canvas = Canvas()
    if to_scale:
        first, last = (low, high)
        ends = [_scaled(k, first, last) for k in (0, limit, begin, end)]
    elif begin >= 0:
        ends = [0, WIDTH // 3, 2 * WIDTH // 3, WIDTH]
    else:
        ends = [2 * WIDTH // 3, WIDTH, 0, WIDTH // 3]
    zero, extent, start, stop = (x + 10 * CHARACTER for x in ends)
    stop = max(stop, start + 4)
    canvas.text(0, 36, "axis", "m")
    canvas.text(0, 66, "slice", "m")
    canvas.text(zero, 14, 0, "c")
    canvas.text(max(extent, zero + 2 * CHARACTER), 14, limit, "c")
    canvas.rect(zero, 22, max(extent - zero, 2), 20, "area")
    canvas.rect(start, 52, stop - start, 20, "cell c0")
    for left, right in ((start, min(stop, zero)), (max(start, extent), stop)):
        if right > left and (begin < 0 or end > limit):
            canvas.rect(left, 52, right - left, 20, "wrong")
    for x in (zero, extent):
        canvas.line(x, 18, x, 76, "edge")
    canvas.text(start, 90, begin, "c" if stop - start > 8 * CHARACTER else "e")
    canvas.text(stop + (0 if stop - start > 8 * CHARACTER else CHARACTER), 90, end, "c" if stop - start > 8 * CHARACTER else "")
    canvas.offender(start, 52, stop - start, 20, at)
    notes = ["The end is the first index behind the slice; what is outside the axis is red.", "" if to_scale else "Not to scale."]
    return canvas.picture("The slice on its axis", notes)


def _scaled(k: int, first: int, last: int) -> int:
    return (k - first) * WIDTH // max(last - first, 1)


def span_in_allocation(size: int, span: int) -> Picture:
    """An allocation, and below it the span of the layout that does not fit. Both in bytes."""
    canvas = Canvas()
    left, most = 12 * CHARACTER, max(size, span, 1)
    held, needed = max(size * WIDTH // most, 2), max(span * WIDTH // most, 2)
    canvas.text(0, 16, "allocation", "m")
    canvas.text(0, 44, "span", "m")
    canvas.rect(left, 2, held, 20, "area")
    canvas.rect(left, 30, min(held, needed), 20, "cell c0")
    if needed > held:
        canvas.rect(left + held, 30, needed - held, 20, "wrong")
    canvas.line(left + held, 0, left + held, 54, "edge")
    canvas.text(left + WIDTH + CHARACTER, 16, f"{size} bytes")
    canvas.text(left + WIDTH + CHARACTER, 44, f"{span} bytes: {span - size} too many", "x")
    return canvas.picture("The layout in its allocation")
