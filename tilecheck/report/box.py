"""Where the chunks of the image of a box lie: the widest swizzle that every architecture of the instruction has, drawn."""

from __future__ import annotations

from collections.abc import Iterator

from tilecheck.spec import BoxCopy, Pattern

CHUNK = 16
LINE = 128


def box_images(copy: BoxCopy) -> Iterator[tuple[str, str]]:
    """(title, grid) of the image of rows as long as the span of a swizzle, in chunks of 16 bytes and lines of 128; none where nothing is moved."""
    patterns = [pattern for pattern in copy.patterns if pattern.xors and not pattern.arch]
    if copy.image is None or not copy.modelled or not patterns:
        return
    pattern = max(patterns, key=lambda one: one.span_bytes)
    title = f"image of a box with rows of {pattern.span_bytes} bytes under swizzle {pattern.code}, row.chunk of 16 bytes at each place of a period"
    yield title, image(pattern)


def image(pattern: Pattern) -> str:
    """The row and chunk that lie at each place of a period."""
    head = "byte in line " + " ".join(f"{k * CHUNK:>4}" for k in range(LINE // CHUNK))
    lines = [head]
    for line in range(pattern.period_bytes // LINE):
        cells: list[str] = []
        for k in range(LINE // CHUNK):
            place = line * LINE + k * CHUNK
            moved = place
            for shift, mask in pattern.xors:
                moved ^= (place >> shift) & mask
            row, chunk = divmod(moved, pattern.span_bytes)
            cells.append(f"{row}.{chunk // CHUNK}".rjust(4))
        lines.append(f"line {line} (+{line * LINE:>4})".ljust(len("byte in line")) + " " + " ".join(cells))
    return "\n".join(lines)
