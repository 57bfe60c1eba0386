"""Copies of boxes in reports: where the chunks of an image lie, drawn, and what would make a clause about a box hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tilecheck.boxes import Box, Walked, box_of, offset_limits
from tilecheck.spec import BoxCopy, Contract, Pattern

if TYPE_CHECKING:
    from tilecheck.call import Call
    from tilecheck.prove.verdict import ClauseResult

CHUNK = 16
LINE = 128


def box_images(copy: BoxCopy) -> Iterator[tuple[str, str]]:
    """(title, grid) of the image of rows as long as the span of a swizzle, in chunks of 16 bytes and lines of 128; none where nothing is moved."""
    patterns = [pattern for pattern in copy.patterns if pattern.xors and not pattern.arch]
    if copy.image is None or not patterns:
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


# --- advice -----------------------------------------------------------------------------------------------------------

_STRIDE = re.compile(r"stride of axis \d+ .* is a multiple of (\d+) bytes")
_BYTES = re.compile(r"^(\d+) bytes$")


def box_advice(name: str, clause: ClauseResult, call: Call, contract: Contract) -> str | None:
    """One sentence, None where the contract moves no box or nothing can be said; name: the clause without its operand."""
    box = box_of(call, contract)
    if box is None:
        return None
    unit = box.copy.limits.multiple_bytes
    if name == "box":
        span = box.pattern.span_bytes if box.pattern is not None and not box.interleave else 0
        rows = (
            f"of at most {span} bytes, or take swizzle 0, whose rows may be any multiple of {unit} bytes"
            if span
            else f"of a multiple of {unit} bytes"
        )
        if box.walked is not None:
            return _walk(box.walked, rows)
        if 0 < box.extents[-1] * box.bits < 8 * unit and not box.interleave:
            least = -(-8 * unit // box.bits)
            return (
                f"Let a row of the box have at least {unit} bytes, {least} elements: widen it along the last axis of the tensor, "
                "or make another axis the one of unit stride, and the last one of the view."
            )
        return f"Split the box: extents from 1 to {box.copy.limits.box}, rows {rows}."
    if clause.id == "coords.bounds" and box.walked is not None:
        return "Start inside the bounding box, from the lower corner to the last pixel plus the upper one, or bound the symbols (min, max, assume)."
    if name == "descriptor":
        return _descriptor(clause)
    if name == "coords":
        packed = f"{box.packing.row} elements" if box.packing is not None else f"{8 * unit // box.bits} elements ({unit} bytes)"
        low = ", and every coordinate at least 0" if box.copy.store else ""
        moves = "".join(f"; {what} from 0 to {below - 1}" for what, below in offset_limits(box.walked)) if box.walked is not None else ""
        each = "Give one coordinate for each dimension and one step for each group and repeat axis"
        inner = f", the innermost a multiple of {packed}" if box.slices is None else ""
        return f"{each}{inner}{low}{moves}."
    if name == "base.period" and box.pattern is not None:
        return f"Say align={box.pattern.period_bytes} on the image, or where its base lies in the period (base)."
    return _layout(box) if name == "image" else None


def _walk(walked: Walked, rows: str) -> str:
    """The limits of a walk."""
    mode, half = walked.mode, 1 << (walked.mode.corner_bits - 1)
    pixels = "" if mode.pixels else f", and {mode.most_pixels} pixels at most"
    return f"Give {mode.spatial} entries to each corner, from {-half} to {half - 1}; rows {rows}, {mode.most_channels} channels{pixels}."


def _descriptor(clause: ClauseResult) -> str | None:
    """A pitch that is no multiple."""
    example = clause.counterexample
    wanted = None if example is None else _STRIDE.search(example.expected)
    found = None if example is None else _BYTES.match(example.actual)
    if wanted is None or found is None:
        return None
    multiple, have = int(wanted[1]), int(found[1])
    return f"Pad the pitch of that axis to a multiple of {multiple} bytes: {-(-have // multiple) * multiple} instead of {have} bytes."


def _layout(box: Box) -> str | None:
    """The layout of one image that the instruction fills."""
    pattern, image = box.pattern, box.image
    if pattern is None or image is None or len(pattern.xors) > 1 or box.packing is not None:
        return None
    strides = [*(pitch // box.bits for pitch in box.pitches), 1]
    shape = f"S[({','.join(map(str, image))}):({','.join(map(str, strides))})]"
    if not pattern.xors:
        return f"Lay each image out as {shape}."
    shift, mask = pattern.xors[0]
    keeps, length = ((mask & -mask) * 8 // box.bits).bit_length() - 1, mask.bit_count()
    return f"Lay each image out as Swizzle({keeps},{length},{shift}) o {shape}, on a base at a multiple of {pattern.period_bytes} bytes."
