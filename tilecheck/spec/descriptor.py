"""The vocabulary of shared matrices: what an instruction reads through an explicit descriptor (ldo_bytes, sdo_bytes, swizzle).

A matrix is M or N long *across* and K long *along*. Its major axis is the one whose neighbours lie side by side: `inner`; the other one counts
*lines*. Element (line, inner) lies, before the swizzle and behind the origin, at

    (inner % e) * bits + (inner // e) * next_span + (line % lines) * span + (line // lines) * next_lines

with e the elements that fill a span, and next_span, next_lines the fields that the mode names. The swizzle then acts on the absolute byte address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term

MAJORS = ("k", "mn")
FIELD_NAMES = ("ldo_bytes", "sdo_bytes", "swizzle")
"""What the entries of a descriptor parameter are."""
UNIT_BYTES = 16
"""Origins and strides are multiples of this."""
STRIDE_BELOW_BYTES = 1 << 18
"""Strides are below this: fourteen bits of units."""


@dataclass(frozen=True, slots=True)
class Mode:
    """One canonical layout of a shared matrix.

    major, swizzle: which one it is, as the call says it. span_bytes: of a line, that lie side by side. lines: of a group, a span apart.
    next_lines: the field between groups of lines. next_span: the field between spans of a line, None where an instruction has one span only.
    whole: whether the spans that hold an element must be backed to their ends. period_bytes, xors: of the swizzle (see `Pattern`).
    widths: the bits of an element that it takes.
    """

    major: str
    swizzle: int
    name: str
    span_bytes: int
    lines: int
    next_lines: str
    next_span: str | None
    whole: bool
    period_bytes: int
    xors: tuple[tuple[int, int], ...]
    widths: tuple[int, ...]

    def elements(self, bits: int) -> int:
        """The elements of `bits` bits that fill a span."""
        return 8 * self.span_bytes // bits

    def read(self) -> tuple[str, ...]:
        """The fields that the hardware reads."""
        return tuple(dict.fromkeys(name for name in (self.next_lines, self.next_span) if name is not None))

    @property
    def text(self) -> str:
        """The layout in words: `k-major, swizzle 3: 8 lines of 128 bytes, then sdo_bytes; byte ^ ((byte >> 3) & 0x70)`."""
        spans = "one span to a line" if self.next_span is None else f"{self.next_span} from span to span"
        moved = "".join(f"; byte ^ ((byte >> {shift}) & {mask:#x})" for shift, mask in self.xors)
        return f"{self.major}-major, swizzle {self.swizzle}: {self.lines} lines of {self.span_bytes} bytes, then {self.next_lines}; {spans}{moved}"

    def offset(self, bits: int, strides: Strides, line: Term, inner: Term) -> Term:
        """The bits of element (line, inner) behind the origin, before the swizzle; coordinates may be terms."""
        each = self.elements(bits)
        parts = [
            terms.mul(bits, terms.mod(inner, each)),
            terms.mul(8 * self.span_bytes, terms.mod(line, self.lines)),
            terms.mul(8 * strides[self.next_lines], terms.floordiv(line, self.lines)),
        ]
        if self.next_span is not None:
            parts.append(terms.mul(8 * strides[self.next_span], terms.floordiv(inner, each)))
        return terms.add(*parts)

    def hashed(self, bit: Term) -> Term:
        """Where the swizzle puts what would lie at an absolute bit address; it is its own inverse."""
        moved = bit
        for shift, mask in self.xors:
            moved = terms.xor(moved, terms.bit_and(terms.shr(bit, shift), 8 * mask))
        return moved


Strides = Mapping[str, int]
"""Bytes by field: `ldo_bytes` and `sdo_bytes`."""


@dataclass(frozen=True, slots=True)
class Described:
    """How a memory operand is read.

    descriptor: the parameter (of kind "descriptor") with its fields. major: the parameter (of kind "major") that says which axis is the major one,
    "" where it is always K. across, along: the atom axes of the operand that are M or N, and K. modes: the canonical layouts it may have.
    """

    descriptor: str
    major: str
    across: str
    along: str
    modes: tuple[Mode, ...]

    def mode(self, major: str, swizzle: int, bits: int) -> Mode | None:
        """The canonical layout of that major, swizzle and width, None where there is none."""
        return next((m for m in self.modes if m.major == major and m.swizzle == swizzle and bits in m.widths), None)

    @property
    def asks(self) -> str:
        """What is asked of the addresses of the operand, in words."""
        return (
            f"every element lies where {self.descriptor} makes the instruction read it, in a canonical layout ({self._modes}); the first element of each "
            f"instruction is at a multiple of {UNIT_BYTES} bytes"
        )

    @property
    def _modes(self) -> str:
        """The layouts by major and swizzle."""
        majors = dict.fromkeys(mode.major for mode in self.modes)
        return "; ".join(f"{major}-major: swizzle {', '.join(str(m.swizzle) for m in self.modes if m.major == major)}" for major in majors)

    def axes(self, major: str) -> tuple[str, str]:
        """(the atom axis of the lines, the inner one)."""
        return (self.across, self.along) if major == "k" else (self.along, self.across)


@lru_cache(maxsize=1024)
def described_walk(mode: Mode, bits: int, ldo: int, sdo: int, rows: int, columns: int, start: int = 0) -> tuple[tuple[int, int, int], ...]:
    """(row, column, byte) of every element of a matrix: row M or N, column K; the byte at which it starts, from a base at a multiple of the period.

    start: the byte, before the swizzle, of element (0, 0). Elements of less than a byte are named by the byte they lie in.
    """
    strides, found = {"ldo_bytes": ldo, "sdo_bytes": sdo}, list[tuple[int, int, int]]()
    for row in range(rows):
        for column in range(columns):
            line, inner = (row, column) if mode.major == "k" else (column, row)
            bit = mode.hashed(terms.add(8 * start, mode.offset(bits, strides, line, inner)))
            assert isinstance(bit, int)
            found.append((row, column, bit // 8))
    return tuple(found)


# --- the words that hold a descriptor ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BitField:
    """Bits `low` to `low + bits - 1` of a word hold a value in units of `unit`. always: what it must be, None for a field of the call."""

    name: str
    low: int
    bits: int
    unit: int = 1
    always: int | None = None


@dataclass(frozen=True, slots=True)
class Encoding:
    """How an instruction's 64-bit word holds a descriptor.

    fields: every field, `start_bytes` and those of `FIELD_NAMES` among them; bits that none has are 0. codes: the number of each swizzle there.
    source: document and section.
    """

    name: str
    fields: tuple[BitField, ...]
    codes: tuple[tuple[int, int], ...]
    source: str

    def code(self, swizzle: int) -> int | None:
        """The number of a swizzle in the word."""
        return dict(self.codes).get(swizzle)

    def swizzle(self, code: int) -> int | None:
        """The swizzle of a number in the word."""
        return next((ours for ours, theirs in self.codes if theirs == code), None)


class NotEncodableError(ValueError):
    """A field that the word cannot hold, or a word that holds none."""


def encode(encoding: Encoding, start_bytes: int, fields: Sequence[int]) -> int:
    """The word of a descriptor whose matrix starts, before the swizzle, at a shared address; `fields` are ldo_bytes, sdo_bytes, swizzle.

    The address is taken modulo 2^18. Raises NotEncodableError where a field does not fit.
    """
    ldo, sdo, swizzle = fields
    code = encoding.code(swizzle)
    if code is None:
        raise NotEncodableError(
            f"swizzle is {swizzle}, expected one of {', '.join(str(ours) for ours, _ in encoding.codes)} for {encoding.name}"
        )
    values = {"start_bytes": start_bytes % STRIDE_BELOW_BYTES, "ldo_bytes": ldo, "sdo_bytes": sdo, "swizzle": code}
    word = 0
    for one in encoding.fields:
        value = values.get(one.name, one.always or 0)
        if value % one.unit or not 0 <= value // one.unit < 1 << one.bits:
            limit = f"a multiple of {one.unit} from 0 to below {one.unit << one.bits}"
            raise NotEncodableError(f"{one.name} is {value}, expected {limit}")
        word |= value // one.unit << one.low
    return word


def decode(encoding: Encoding, word: int) -> dict[str, int]:
    """The fields of a word: `start_bytes`, `ldo_bytes`, `sdo_bytes`, `swizzle` as the call writes them.

    Raises NotEncodableError for a word of more than 64 bits, bits outside the fields, a field that is not what it must be (the base offset and the
    absolute mode of ldo are such), and an unknown swizzle.
    """
    if not 0 <= word < 1 << 64:
        raise NotEncodableError(f"the word is {word:#x}, expected 64 bits")
    rest, found = word, dict[str, int]()
    for one in encoding.fields:
        value = word >> one.low & ((1 << one.bits) - 1)
        rest &= ~(((1 << one.bits) - 1) << one.low)
        if one.always is not None and value != one.always:
            raise NotEncodableError(
                f"{one.name} (bits {one.low + one.bits - 1}:{one.low}) is {value}, expected {one.always} for {encoding.name}"
            )
        if one.always is None:
            found[one.name] = value * one.unit
    if rest:
        raise NotEncodableError(f"bit {rest.bit_length() - 1} of the word is set, expected 0 for {encoding.name}")
    swizzle = encoding.swizzle(found["swizzle"])
    if swizzle is None:
        codes = ", ".join(str(theirs) for _, theirs in encoding.codes)
        raise NotEncodableError(f"the swizzle field is {found['swizzle']}, expected one of {codes} for {encoding.name}")
    return found | {"swizzle": swizzle}
