"""Layouts as text: `Swizzle(3,3,3) o S[(8,64):(64,1)] + R[2:1@warpid] + 4@laneid`, read and written without loss.

layout  = { "Swizzle(" per_element "," swizzle_len "," atom_len [", outer"] ")" "o" } tile
tile    = "S[" factors "]" { "+" "R[" factors "]" | ("+" | "-") offset }
factors = extents [":" strides]; one integer expression, or "(" expressions ")"; a stride or an offset may end in "@" axis
"""

from __future__ import annotations

import re
from functools import lru_cache

from tilecheck.errors import InputError
from tilecheck.layout.axes import AXES, STORAGE, OnAxis, as_offset, near
from tilecheck.layout.tile import MAX_FACTORS, MAX_SWIZZLES, ComposeLayout, Iter, Layout, R, S, Spec, TileLayout, base_tile, swizzles
from tilecheck.symbolic.parse import parse
from tilecheck.symbolic.show import show
from tilecheck.symbolic.terms import Term

MAX_LENGTH = 60_000
MAX_DEPTH = 64

_SWIZZLE = re.compile(r"\s*Swizzle\s*\(\s*(\d{1,9})\s*,\s*(\d{1,9})\s*,\s*(\d{1,9})\s*(?:,\s*(inner|outer)\s*)?\)\s*o(?![A-Za-z0-9_])")


def format_layout(layout: Layout) -> str:
    """The notation that `parse_layout` reads back to an equal layout."""
    front = "".join(
        f"Swizzle({one.per_element},{one.swizzle_len},{one.atom_len}{'' if one.swizzle_inner else ',outer'}) o "
        for one in reversed(swizzles(layout))
    )
    tile = base_tile(layout)
    text = f"{front}S[{_factors_text(tile.shard)}]"
    if tile.replica:
        text += f" + R[{_factors_text(tile.replica)}]"
    for name, value in tile.offset:
        shown = show(value)
        sign, shown = ("-", str(-value)) if isinstance(value, int) and value < 0 else ("+", shown)
        if not isinstance(value, int) and value.op != "var":
            shown = f"({shown})"
        text += f" {sign} {shown}" + ("" if name == STORAGE else f"@{name}")
    return text


def _factors_text(factors: tuple[Iter, ...]) -> str:
    extents = [show(one.extent) for one in factors]
    strides = [show(one.stride) + ("" if one.axis == STORAGE else f"@{one.axis}") for one in factors]
    if len(factors) == 1:
        return f"{extents[0]}:{strides[0]}"
    return f"({','.join(extents)}):({','.join(strides)})"


@lru_cache(maxsize=4096)
def parse_layout(text: str) -> Layout:
    """The layout that `text` writes; InputError with the column, what was found and what was expected."""
    if len(text) > MAX_LENGTH:
        raise InputError(f"found a layout of {len(text)} characters, expected at most {MAX_LENGTH}")
    reader = _Reader(text)
    found: list[tuple[int, int, int, bool]] = []
    while match := _SWIZZLE.match(text, reader.at):
        found.append((int(match[1]), int(match[2]), int(match[3]), match[4] != "outer"))
        reader.at = match.end()
        if len(found) > MAX_SWIZZLES:
            raise reader.error("another swizzle", f"at most {MAX_SWIZZLES}")
    try:
        result: Layout = reader.tile()
        for per_element, swizzle_len, atom_len, inner in reversed(found):
            result = ComposeLayout(per_element, swizzle_len, atom_len, result, inner)
    except InputError as error:
        raise error if error.message.startswith("column ") else reader.located(error, 0) from None
    return result


class _Reader:
    """A cursor over the text; it splits at brackets without recursion and leaves expressions to `symbolic.parse`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def error(self, found: str, expected: str, column: int | None = None) -> InputError:
        return self.located(InputError(f"found {found}, expected {expected}"), self.at if column is None else column)

    def located(self, error: InputError, column: int) -> InputError:
        quoted = self.text if len(self.text) <= 60 else self.text[:57] + "..."
        return InputError(f"column {column + 1} of {quoted!r}: {error.message}")

    def skip(self) -> str:
        """Moves past blanks; the character there, or nothing at the end."""
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.text[self.at] if self.at < len(self.text) else ""

    def found(self) -> str:
        self.skip()
        rest = re.match(r"\w+|.", self.text[self.at : self.at + 40])
        return repr(rest[0]) if rest else "the end"

    def tile(self) -> TileLayout:
        self.skip()
        if not self.text.startswith("S", self.at) or not self.bracket_follows():
            raise self.error(self.found(), "`S[` or `Swizzle(per_element,swizzle_len,atom_len[,outer]) o`")
        spec = self.factors()
        while sign := self.skip():
            if sign not in "+-":
                raise self.error(self.found(), "`+`, `-` or the end")
            self.at += 1
            self.skip()
            if sign == "+" and self.text.startswith("R", self.at) and self.bracket_follows():
                spec += self.factors()
                continue
            start = self.at
            end = self.end_of_piece(start, "+-", len(self.text))
            offset = as_offset(self.on_axis(start, end))
            spec = spec + offset if sign == "+" else spec - offset
            self.at = end
        return TileLayout(spec)

    def bracket_follows(self) -> bool:
        return re.compile(r"[SR]\s*\[").match(self.text, self.at) is not None

    def factors(self) -> Spec:
        builder = S if self.text[self.at] == "S" else R
        begin = self.text.index("[", self.at) + 1
        end = self.end_of_piece(begin, "]", len(self.text))
        if end >= len(self.text):
            raise self.error("the end", "`]`", end)
        self.at = end + 1
        pieces = self.split(begin, end, ":")
        if len(pieces) > 2:
            raise self.error("':'", "`]` (one colon stands between extents and strides)", pieces[1][1])
        extents = [self.expression(*piece) for piece in self.items(*pieces[0])]
        strides = [self.on_axis(*piece) for piece in self.items(*pieces[1])] if len(pieces) == 2 else None
        try:
            return builder[tuple(extents)] if strides is None else builder[tuple(extents) : tuple(strides)]
        except InputError as error:
            raise self.located(error, begin) from None

    def items(self, begin: int, end: int) -> list[tuple[int, int]]:
        """The expressions of `(a, b)`, `a, b` or `a`; one trailing comma is allowed."""
        while begin < end and self.text[begin].isspace():
            begin += 1
        while begin < end and self.text[end - 1].isspace():
            end -= 1
        if begin < end and self.text[begin] == "(" and self.end_of_piece(begin + 1, ")", end) == end - 1:
            begin, end = begin + 1, end - 1
            if not self.text[begin:end].strip():
                return []
        pieces = self.split(begin, end, ",")
        if len(pieces) > 1 and not self.text[slice(*pieces[-1])].strip():
            pieces.pop()
        if len(pieces) > MAX_FACTORS:
            raise self.error(f"{len(pieces)} factors", f"at most {MAX_FACTORS}", begin)
        return pieces

    def split(self, begin: int, end: int, separator: str) -> list[tuple[int, int]]:
        pieces: list[tuple[int, int]] = []
        while True:
            stop = self.end_of_piece(begin, separator, end)
            pieces.append((begin, stop))
            if stop >= end:
                return pieces
            begin = stop + 1

    def end_of_piece(self, begin: int, stops: str, end: int) -> int:
        """The first of `stops` outside brackets from `begin` on, or `end`; a sign after an operator is no stop."""
        opened: list[str] = []
        previous = ""
        for at in range(begin, end):
            character = self.text[at]
            if not opened and character in stops and not (character in "+-" and (not previous or previous in "+-*/%^&|<>,:@(")):
                return at
            if character in "([":
                opened.append(")" if character == "(" else "]")
                if len(opened) > MAX_DEPTH:
                    raise self.error(f"{len(opened)} open brackets", f"at most {MAX_DEPTH}", at)
            elif character in ")]" and (not opened or opened.pop() != character):
                raise self.error(repr(character), f"one of `{' '.join(stops)}` first", at)
            if not character.isspace():
                previous = character
        if opened:
            raise self.error("the end" if end == len(self.text) else repr(self.text[end]), f"`{opened[-1]}`", end)
        return end

    def on_axis(self, begin: int, end: int) -> OnAxis | Term:
        pieces = self.split(begin, end, "@")
        value = self.expression(*pieces[0])
        if len(pieces) == 1:
            return value
        if len(pieces) > 2:
            raise self.error("'@'", "one axis only", pieces[1][1])
        name = self.text[slice(*pieces[1])].strip()
        if name not in AXES:
            raise self.error(f"the axis {name[:40]!r}", f"one of {', '.join(AXES)}{near(name, AXES)}", pieces[1][0])
        return OnAxis(value, name)

    def expression(self, begin: int, end: int) -> Term:
        piece = self.text[begin:end]
        if not piece.strip():
            raise self.error(repr(self.text[end]) if end < len(self.text) else "the end", "an integer expression", end)
        try:
            return parse(piece.strip())
        except InputError as error:
            raise self.located(error, begin + len(piece) - len(piece.lstrip())) from None
