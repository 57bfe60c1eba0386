"""`explain descriptor`, the walk of a shared matrix as data and drawn; `import descriptor`, the fields of a 64-bit word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilecheck.contracts.descriptors import ENCODINGS, MODES
from tilecheck.errors import InputError
from tilecheck.layout.dtypes import dtype_bits
from tilecheck.report.console import plain
from tilecheck.spec.contract import Memory
from tilecheck.spec.descriptor import MAJORS, STRIDE_BELOW_BYTES, UNIT_BYTES, Mode, NotEncodableError, decode, described_walk, encode

if TYPE_CHECKING:
    from tilecheck.call import Call
    from tilecheck.report.options import Options
    from tilecheck.spec.contract import Contract, Operand
    from tilecheck.symbolic.terms import Term

LINE_BYTES = 128
MOST_ELEMENTS = 1 << 16
MOST_LINES = 64
"""Lines of shared memory that are drawn."""
NEEDED = ("ldo", "sdo", "swizzle", "rows", "columns")


@dataclass(frozen=True, slots=True)
class Walk:
    """A matrix with its descriptor: rows M or N, columns K; the start in bytes from a base at a multiple of the period, before the swizzle."""

    mode: Mode
    dtype: str
    ldo: int
    sdo: int
    rows: int
    columns: int
    start: int
    width: int = 0
    """The bits of an element, where no dtype says it."""

    @property
    def bits(self) -> int:
        """The bits of an element."""
        return self.width or dtype_bits(self.dtype)

    @property
    def strides(self) -> Mapping[str, int]:
        """The strides by field, in bytes."""
        return {"ldo_bytes": self.ldo, "sdo_bytes": self.sdo}

    def elements(self) -> tuple[tuple[int, int, int], ...]:
        """(row, column, byte) of every element."""
        return described_walk(self.mode, self.bits, self.ldo, self.sdo, self.rows, self.columns, self.start)


def walk_of(options: Options) -> Walk:
    """The walk that the options of `explain descriptor` name; InputError where one is missing or wrong."""
    missing = [f"--{name}" for name in NEEDED if getattr(options, name) is None]
    if missing:
        raise InputError(f"needs {', '.join(missing)}", where="explain descriptor")
    bits, major = dtype_bits(options.dtype), options.major or MAJORS[0]
    for name in ("ldo", "sdo", "start"):
        value = getattr(options, name) or 0
        if value % UNIT_BYTES or value >= STRIDE_BELOW_BYTES:
            raise InputError(f"found {value}, expected a multiple of {UNIT_BYTES} below {STRIDE_BELOW_BYTES}", where=f"--{name}")
    mode = next((m for m in MODES if (m.major, m.swizzle) == (major, options.swizzle) and bits in m.widths), None)
    if mode is None:
        takes = [str(m.swizzle) for m in MODES if m.major == major and bits in m.widths]
        wanted = f"one of {', '.join(takes)}" if takes else "another --major or --dtype: there is none"
        raise InputError(f"found {options.swizzle}, expected {wanted} for {major}-major elements of {bits} bits", where="--swizzle")
    rows, columns = options.rows or 0, options.columns or 0
    if rows * columns > MOST_ELEMENTS:
        raise InputError(f"found {rows} x {columns} elements, expected at most {MOST_ELEMENTS}", where="--rows, --columns")
    row = columns * bits
    if mode.next_span is None and row > 8 * mode.span_bytes:
        raise InputError(
            f"found rows of {row // 8} bytes, expected at most {mode.span_bytes}, the span of swizzle {mode.swizzle}", where="--columns"
        )
    return Walk(mode, options.dtype, options.ldo or 0, options.sdo or 0, rows, columns, options.start or 0)


def to_json(walk: Walk) -> dict[str, object]:
    """The walk as data."""
    return {"walk": [list(one) for one in walk.elements()]}


def as_text(walk: Walk) -> str:
    """The walk for people: what each field does, the layout, the words, and which element each 16 bytes begin with."""
    mode, inner = walk.mode, "K" if walk.mode.major == "k" else "M or N"
    outer = "rows" if walk.mode.major == "k" else "columns"
    unread = [name for name in walk.strides if name not in mode.read()]
    about = [
        (
            "matrix",
            f"{walk.rows} rows (M or N) x {walk.columns} columns (K) of {walk.dtype}, {mode.major}-major: neighbours along {inner} side by side",
        ),
        ("swizzle", f"{mode.swizzle}, {mode.name}: {_equation(mode)}"),
        ("line", f"{mode.span_bytes} bytes along {inner}; {mode.lines} {outer} follow each other, one line each"),
        (mode.next_lines, f"{walk.strides[mode.next_lines]} from {mode.lines} {outer} to the next {mode.lines}"),
    ]
    if mode.next_span is not None:
        each = mode.elements(walk.bits)
        about.append((mode.next_span, f"{walk.strides[mode.next_span]} from {each} elements along {inner} to the next {each}"))
    about += [(name, f"{walk.strides[name]}, not read") for name in unread]
    twice = aliased(walk)
    if twice is not None:
        about.append(("note", f"the strides alias: (row, column) {twice[0]} and {twice[1]} are read from one place"))
    about += [("layout", layout_text(walk)), ("in CuTe", cute_text(walk)), *_words(walk)]
    width = max(len(name) for name, _ in about)
    head = "\n".join(f"{name.ljust(width)}  {text}" for name, text in about)
    return f"{head}\n\n{picture(walk)}\n"


def aliased(walk: Walk) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """The first two elements that are read from one place, None where there are none."""
    seen: dict[Term, tuple[int, int]] = {}
    for row in range(walk.rows):
        for column in range(walk.columns):
            at = (row, column) if walk.mode.major == "k" else (column, row)
            first = seen.setdefault(walk.mode.offset(walk.bits, walk.strides, *at), (row, column))
            if first != (row, column):
                return first, (row, column)
    return None


def _equation(mode: Mode) -> str:
    if not mode.xors:
        return "bytes stay where they are"
    moved = " ^ ".join(f"((byte >> {shift}) & {mask:#x})" for shift, mask in mode.xors)
    return f"byte ^ {moved} of the absolute address, period {mode.period_bytes} bytes"


def _words(walk: Walk) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for encoding in ENCODINGS:
        try:
            word = encode(encoding, walk.start, (walk.ldo, walk.sdo, walk.mode.swizzle))
        except NotEncodableError as gap:
            found.append((encoding.name, f"none: {gap}"))
        else:
            found.append((encoding.name, f"{word:#018x} for a base at 0"))
    return found


def _digits(walk: Walk) -> tuple[list[tuple[int, int]], list[tuple[int, int]]] | None:
    """(extent, stride in elements) of rows and of columns, the most significant first; None where they are no whole elements or do not divide."""
    mode, bits = walk.mode, walk.bits
    lines, inner = (walk.rows, walk.columns) if mode.major == "k" else (walk.columns, walk.rows)
    each = mode.elements(bits)
    found: list[list[tuple[int, int]]] = []
    for extent, size, stride, following in (
        (lines, mode.lines, 8 * mode.span_bytes, 8 * walk.strides[mode.next_lines]),
        (inner, each, bits, 8 * walk.strides[mode.next_span] if mode.next_span else 0),
    ):
        if extent > size and extent % size:
            return None
        pieces = [(extent, stride)] if extent <= size else [(extent // size, following), (size, stride)]
        found.append([(count, bytes_ // bits) for count, bytes_ in pieces])
    return (found[0], found[1]) if mode.major == "k" else (found[1], found[0])


def layout_text(walk: Walk) -> str:
    """The layout of such a matrix in notation: shape (rows, columns), offsets in elements."""
    digits = _digits(walk)
    if digits is None:
        return "none in notation: the extents are no whole groups or spans"
    factors = [*digits[0], *digits[1]]
    shape, strides = (",".join(str(pair[k]) for pair in factors) for k in (0, 1))
    text = f"S[({shape}):({strides})]" + (f" + {8 * walk.start // walk.bits}" if walk.start else "")
    for shift, mask in walk.mode.xors:
        keeps = ((mask & -mask) * 8 // walk.bits).bit_length() - 1
        text = f"Swizzle({keeps},{mask.bit_count()},{shift}) o {text}"
    return text


def cute_text(walk: Walk) -> str:
    """The same as CuTe prints it, the first mode of each axis the fastest."""
    digits = _digits(walk)
    if digits is None:
        return "none: the extents are no whole groups or spans"
    shape, strides = (
        ",".join(f"({','.join(f'_{pair[k]}' for pair in reversed(axis))})" if len(axis) > 1 else f"_{axis[0][k]}" for axis in digits)
        for k in (0, 1)
    )
    if not walk.mode.xors:
        return f"({shape}):({strides})"
    (shift, mask) = walk.mode.xors[0]
    base = (mask & -mask).bit_length() - 1
    return f"Sw<{mask.bit_count()},{base},{shift}> o smem_ptr[{walk.bits}b](unset) o ({shape}):({strides})"


def picture(walk: Walk) -> str:
    """Lines of 128 bytes of shared memory in chunks of 16: the element (row.column) that each chunk begins with, as it is read."""
    cells: dict[int, str] = {}
    for row, column, byte in walk.elements():
        if byte % UNIT_BYTES == 0:
            cells.setdefault(byte // UNIT_BYTES, f"{row}.{column}")
    per = LINE_BYTES // UNIT_BYTES
    lines = sorted({chunk // per for chunk in cells})
    width = max((len(text) for text in cells.values()), default=1)
    head = "byte".ljust(8) + " ".join(f"+{k * UNIT_BYTES}".rjust(width) for k in range(per))
    drawn = [
        f"{line * LINE_BYTES}".ljust(8) + " ".join(cells.get(line * per + k, ".").rjust(width) for k in range(per))
        for line in lines[:MOST_LINES]
    ]
    more = [f"... {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
    title = "row.column at the start of each 16 bytes, behind the XOR; byte from a base at a multiple of the period"
    return "\n".join([title, head, *drawn, *more])


# --- advice -----------------------------------------------------------------------------------------------------------


def matrix_advice(clause: str, operand: Operand | None, call: Call, contract: Contract) -> str | None:
    """What would make a clause about a matrix hold, None where it is another operand's or nothing can be said; `clause` without the operand."""
    if not isinstance(operand, Memory) or operand.described is None:
        return None
    if not isinstance(call.parameter(operand.described.descriptor), tuple):
        return None
    from tilecheck.prove.descriptors import field_findings, matrix_of

    matrix = matrix_of(call, contract, operand)
    mode = matrix.mode
    if mode is None or field_findings(matrix):
        return None
    if clause == "base.period":
        return f"Say align={mode.period_bytes} on the matrix, or where its base lies in the period (base)."
    if clause != "descriptor":
        return None
    rows, columns = matrix.extent(matrix.described.across), matrix.extent(matrix.described.along)
    layout = layout_text(Walk(mode, "", matrix.ldo, matrix.sdo, rows, columns, 0, operand.bits))
    if "[" not in layout:
        each, inner = mode.elements(operand.bits), matrix.inner
        return f"A line of swizzle {mode.swizzle} holds {each} elements, {inner} are no whole lines: begin at a line, or take a swizzle of which they are."
    return f"With these fields the matrix of each instruction lies as {layout}; name the fields of the layout it has, or lay it out so."


# --- import -----------------------------------------------------------------------------------------------------------


def imported(text: str) -> dict[str, object]:
    """The fields of a 64-bit word written in hexadecimal (0x...) or decimal; InputError where it is no descriptor.

    The two encodings differ in a constant bit: a word is that of one of them at most.
    """
    try:
        word = int(text, 0)
    except ValueError:
        raise InputError(f"found {plain(text)[:60]!r}, expected a number such as 0x4000004000010040", where="import descriptor") from None
    faults: list[str] = []
    for encoding in ENCODINGS:
        try:
            fields = decode(encoding, word)
        except NotEncodableError as gap:
            faults.append(f"{encoding.name}: {gap}")
        else:
            descriptor = [fields["ldo_bytes"], fields["sdo_bytes"], fields["swizzle"]]
            return {"word": f"{word:#018x}", "encoding": encoding.name, "start_bytes": fields["start_bytes"], "descriptor": descriptor}
    raise InputError(f"found {text[:60]}, expected a word of one of the encodings ({'; '.join(faults)})", where="import descriptor")


def imported_text(found: Mapping[str, object]) -> str:
    """The same for people."""
    descriptor = found["descriptor"]
    assert isinstance(descriptor, list)
    ldo, sdo, swizzle = (int(value) for value in descriptor)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    name = next(mode.name for mode in MODES if mode.swizzle == swizzle)
    rows = [
        ("word", f"{found['word']}, a descriptor of {found['encoding']}"),
        ("start", f"byte {found['start_bytes']} of shared memory, before the swizzle"),
        ("ldo_bytes", f"{ldo}"),
        ("sdo_bytes", f"{sdo}"),
        ("swizzle", f"{swizzle}, {name}"),
        ("parameter", f"[{ldo}, {sdo}, {swizzle}]"),
    ]
    return "".join(f"{name.ljust(9)}  {text}\n" for name, text in rows)
