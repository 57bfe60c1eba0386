"""A canvas for SVG: shapes at whole pixels, text of documents escaped, the same calls always the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap

from tilecheck.report.console import plain
from tilecheck.report.pictures.style import PICTURE, colours

CHARACTER = 8
"""Pixels that a character of 12px monospace text takes, rounded up."""
GAP = 12
HEAD = 20


def safe(text: object) -> str:
    """Text for markup, attributes included: what markup or a terminal would act on is escaped."""
    return escape(plain(str(text)))


@dataclass(frozen=True, slots=True)
class Picture:
    """A finished picture. body: the shapes; width and height in pixels; title: what it shows; notes: what there is to say below it."""

    title: str
    body: str
    width: int
    height: int
    notes: tuple[str, ...] = ()

    def svg(self) -> str:
        """The picture as an element of a page that carries the style."""
        return (
            f'<svg class="tc" xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
            f'viewBox="0 0 {self.width} {self.height}" role="img"><title>{safe(self.title)}</title>{self.body}</svg>'
        )


class Canvas:
    """Shapes, and the room they take."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.width = 0
        self.height = 0

    def rect(self, x: int, y: int, width: int, height: int, name: str, title: str = "") -> None:
        """A rectangle of a class; the title is what a pointer over it shows."""
        inner = f"><title>{safe(title)}</title></rect>" if title else "/>"
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" class="{name}"{inner}')
        self._reach(x + width + 2, y + height + 2)

    def text(self, x: int, y: int, text: object, name: str = "") -> None:
        """Text from a point on (its baseline); class e ends there, class c is centred there."""
        shown = str(text)
        self.parts.append(f'<text x="{x}" y="{y}"{f" class={chr(34)}{name}{chr(34)}" if name else ""}>{safe(shown)}</text>')
        names = name.split()
        length = len(plain(shown)) * (CHARACTER - 1 if "s" in names else CHARACTER)
        self._reach(x + (0 if "e" in names else length // 2 if "c" in names else length), y + 5)

    def line(self, x1: int, y1: int, x2: int, y2: int, name: str = "") -> None:
        """A line."""
        self.parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"{f" class={chr(34)}{name}{chr(34)}" if name else ""}/>')
        self._reach(max(x1, x2) + 1, max(y1, y2) + 1)

    def offender(self, x: int, y: int, width: int, height: int, at: Sequence[int], byte: int | None = None) -> None:
        """The frame around the offending element; it says its coordinate, and its byte, as data."""
        where = f' data-at="{",".join(map(str, at))}"' + ("" if byte is None else f' data-byte="{byte}"')
        self.parts.append(f'<g class="offender"{where}><rect x="{x}" y="{y}" width="{width}" height="{height}" class="mark"/></g>')
        self._reach(x + width + 2, y + height + 2)

    def picture(self, title: str, notes: Iterable[str] = ()) -> Picture:
        """What is drawn so far."""
        return Picture(title, "".join(self.parts), self.width, self.height, tuple(note for note in notes if note))

    def _reach(self, x: int, y: int) -> None:
        self.width, self.height = max(self.width, x), max(self.height, y)


def standalone(title: str, pictures: Sequence[Picture]) -> str:
    """One SVG file with the pictures below each other, what there is to say under each."""
    canvas = Canvas()
    canvas.text(GAP, GAP + HEAD - 8, title, "b")
    y = GAP + HEAD + GAP
    for one in pictures:
        canvas.text(GAP, y + 10, one.title, "b")
        y += HEAD
        canvas.parts.append(f'<svg x="{GAP}" y="{y}" width="{one.width}" height="{one.height}">{one.body}</svg>')
        canvas.rect(GAP, y, one.width, one.height, "none")
        y += one.height + 6
        for line in (line for note in one.notes for line in wrap(note, max(80, one.width // CHARACTER))):
            canvas.text(GAP, y + 10, line, "m")
            y += HEAD - 4
        y += GAP
    width, height = canvas.width + GAP, y
    style = f"<style>{colours()}{PICTURE}</style>"
    return (
        f'<svg class="tc" xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img"><title>{safe(title)}</title>{style}<rect class="page" width="{width}" height="{height}"/>{"".join(canvas.parts)}</svg>\n'
    )
