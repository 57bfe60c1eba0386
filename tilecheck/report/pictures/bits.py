"""Numbers bit by bit: which bits of an address must be 0, what a swizzle XORs into an offset, which bits an index type lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tilecheck.evaluate.layouts import FixedLayout
from tilecheck.evaluate.views import Coordinate
from tilecheck.report.pictures.svg import CHARACTER, Canvas, Picture

CELL, NIBBLE, LINE = 15, 7, 24
INDEX_BITS = {"int32": 32, "uint32": 32, "int64": 64}


@dataclass(frozen=True, slots=True)
class BitRow:
    """A number: its label, the classes of some of its bits, and what is said of it on the right."""

    label: str
    value: int
    text: str
    classes: Mapping[int, str] = field(default_factory=dict[int, str])


def table(rows: Sequence[BitRow], width: int, title: str, notes: Sequence[str] = (), at: Coordinate | None = None) -> Picture:
    """The bits of several numbers below each other, the lowest on the right; negative numbers in two's complement.

    at: the offending element that the last number belongs to, where this picture is the one that marks it.
    """
    canvas = Canvas()
    left = (max(len(row.label) for row in rows) + 1) * CHARACTER
    end = left + _x(width, 0) + CELL
    for bit in range(0, width, 4):
        canvas.text(left + _x(width, bit) + CELL // 2, 11, bit, "c s m")
    for number, row in enumerate(rows):
        y = 18 + number * LINE
        canvas.text(0, y + 14, row.label, "m")
        for bit in range(width - 1, -1, -1):
            x, on = left + _x(width, bit), row.value >> bit & 1
            name = row.classes.get(bit, "")
            canvas.rect(x, y, CELL, 19, name or "cell")
            canvas.text(x + CELL // 2, y + 14, on, "c x b" if name == "wrong" else "c" if on else "c m")
        canvas.text(end + 10, y + 14, row.text)
    if at is not None:
        canvas.offender(left - 3, 15 + (len(rows) - 1) * LINE, end - left + 6, 25, at)
    return canvas.picture(title, notes)


def _x(width: int, bit: int) -> int:
    """Where a bit stands: bits from the left, with a gap above every fourth."""
    return (width - 1 - bit) * CELL + ((width - 1) // 4 - bit // 4) * NIBBLE


def shown_bytes(number: int) -> str:
    """A byte number in decimal and hexadecimal."""
    return f"byte {number} = {hex(number)}"


def nibbles(*numbers: int) -> int:
    """How many bits show all the numbers: whole nibbles, a byte at least."""
    return max(8, *(-(-number.bit_length() // 4) * 4 for number in numbers))


def address(offset_bits: int, residue: int, need: int) -> Picture | None:
    """The byte address of a row start, from an offset and what is known of the base: the bits that must be 0 framed, those that are not marked.

    need: the alignment in bytes, a power of two.
    """
    at = 8 * residue + offset_bits
    if need < 2 or need & (need - 1) or at < 0 or offset_bits < 0 or at % 8:
        return None
    number, low = at // 8, need.bit_length() - 1
    classes = {bit: "wrong" if number >> bit & 1 else "zero" for bit in range(low)}
    rows = [BitRow("address", number, shown_bytes(number), classes)]
    if residue:
        rows = [
            BitRow("base", residue, f"{residue} mod {need}: as far as it is known"),
            BitRow("offset", offset_bits // 8, f"{shown_bytes(offset_bits // 8)} from the base"),
            *rows,
        ]
    width = nibbles(number, offset_bits // 8)
    bad = [bit for bit in range(low - 1, -1, -1) if number >> bit & 1]
    said = f"Bits {low - 1} to 0 must be 0 (a multiple of {need} bytes)" if low > 1 else "Bit 0 must be 0 (a multiple of 2 bytes)"
    wrong = f"; bit{'s' if len(bad) > 1 else ''} {', '.join(map(str, bad))} {'are' if len(bad) > 1 else 'is'} 1." if bad else "."
    return table(rows, width, "The address, bit by bit", [said + wrong])


def swizzled(layout: FixedLayout, declared: Coordinate, element_bits: int) -> Picture | None:
    """What the swizzles of a layout do to the offset of a declared element; None where there are none."""
    m = layout.value(declared, "m")
    if not layout.swizzles or m < 0:
        return None
    rows = [BitRow("offset", m, f"{m} elements, before the swizzle")]
    notes: list[str] = []
    for swizzle in layout.swizzles:
        after = swizzle.apply(m)
        low, high = range(swizzle.per_element, swizzle.per_element + swizzle.length), swizzle.per_element + swizzle.atom
        upper = range(high, high + swizzle.length)
        source, target = (low, upper) if swizzle.outer else (upper, low)
        rows[-1] = BitRow(rows[-1].label, m, rows[-1].text, dict.fromkeys(source, "from"))
        rows.append(BitRow("XOR", m ^ after, "the framed bits above, moved", dict.fromkeys(target, "to")))
        rows.append(BitRow("swizzled", after, f"{after} elements"))
        parameters = f"{swizzle.per_element},{swizzle.length},{swizzle.atom}{',outer' if swizzle.outer else ''}"
        if swizzle.length:
            notes.append(f"Swizzle({parameters}): bits {_range(source)} of the offset are XORed into bits {_range(target)}.")
        m = after
    bits = m * element_bits
    last = rows[-1]
    at = f"byte {bits // 8} = {hex(bits // 8)}" + (f" bit {bits % 8}" if bits % 8 else "")
    rows[-1] = BitRow(last.label, m, f"{m} elements of {element_bits} bits: {at}")
    period = max(swizzle.period_bits for swizzle in layout.swizzles)
    width = nibbles(*(row.value for row in rows), (1 << period) - 1)
    return table(rows, width, "What the swizzle does to the offset", notes) if width <= 96 else None


def _range(bits: range) -> str:
    return f"{bits[-1]} to {bits[0]}" if len(bits) > 1 else str(bits[0])


def out_of_type(value: int, dtype: str, at: Coordinate) -> Picture | None:
    """A value, and which of its bits the index type lacks. at: the element whose index it is, () for none."""
    size = INDEX_BITS[dtype]
    held = size if dtype == "uint32" else size - 1
    width = max(nibbles(value if value >= 0 else ~value) + (4 if value < 0 else 0), size)
    if width > 96:
        return None
    sign = 1 if value < 0 else 0
    classes = {bit: "wrong" for bit in range(held, width) if (value >> bit & 1) != (sign if dtype != "uint32" else 0)}
    said = f"{dtype} holds bits {held - 1} to 0" + ("." if dtype == "uint32" else ", and the sign.")
    return table([BitRow("value", value, f"{value} = {hex(value)}", classes)], width, f"The value against {dtype}", [said], at or None)
