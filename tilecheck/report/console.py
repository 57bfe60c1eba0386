"""Rich renderables as plain or coloured text: 80 columns where nothing is known, no colour unless a terminal reads it."""

from __future__ import annotations

import io
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

WIDTH = 80
WIDEST = 120


def render(what: RenderableType, *, terminal: bool) -> str:
    """The text of a renderable; with `terminal` as wide as it is and in colour (NO_COLOR is heard)."""
    from rich.console import Console

    width = min(shutil.get_terminal_size((WIDTH, 24)).columns, WIDEST) if terminal else WIDTH
    out = io.StringIO()
    console = Console(
        file=out,
        width=max(width, 40),
        force_terminal=terminal,
        color_system="auto" if terminal else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    console.print(what)
    return "".join(line.rstrip() + "\n" for line in out.getvalue().split("\n")[:-1])


def plain(text: str) -> str:
    """Text of a document with everything a terminal would act on, and what no encoding can write, escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
