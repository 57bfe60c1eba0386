"""Reads pictures back: the texts of an SVG with their places, the marks, the bits."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import defaultdict

SVG = "{http://www.w3.org/2000/svg}"


def parse(page: str) -> ET.Element:
    """The root of a page or file; ParseError where it is not well-formed."""
    return ET.fromstring(page.removeprefix("<!DOCTYPE html>\n"))


def figures(root: ET.Element) -> list[ET.Element]:
    """The pictures of a page or of a file of its own."""
    return [one for one in root.iter(f"{SVG}svg") if one is not root]


def title(svg: ET.Element) -> str:
    return svg.findtext(f"{SVG}title") or ""


def texts(svg: ET.Element) -> list[tuple[int, int, str, str]]:
    """(y, x, class, text) of every text."""
    return sorted((int(t.get("y")), int(t.get("x")), t.get("class", ""), t.text or "") for t in svg.iter(f"{SVG}text"))


def lines(svg: ET.Element, *, among: str = "") -> list[list[str]]:
    """The texts of every line, from left to right; with `among` those of that class only."""
    found: dict[int, list[str]] = defaultdict(list)
    for y, _, name, text in texts(svg):
        if not among or among in name.split():
            found[y].append(text)
    return list(found.values())


def offenders(root: ET.Element) -> list[tuple[tuple[int, ...], int | None]]:
    """(coordinate, byte) of every mark."""
    found = []
    for one in root.iter():
        if one.get("class") == "offender":
            at = one.get("data-at")
            byte = one.get("data-byte")
            found.append((tuple(map(int, at.split(","))) if at else (), None if byte is None else int(byte)))
    return found


def bits(svg: ET.Element, label: str) -> tuple[str, str]:
    """The bits of a number in a bit table, and the class letter of each cell's text: x where it is marked."""
    rows: dict[int, list[tuple[int, str, str]]] = defaultdict(list)
    for y, x, name, text in texts(svg):
        rows[y].append((x, name, text))
    for row in rows.values():
        if any(text == label for _, _, text in row):
            cells = [(name, text) for _, name, text in sorted(row) if "c" in name.split() and re.fullmatch("[01]", text)]
            return "".join(text for _, text in cells), "".join("x" if "x" in name.split() else "." for name, _ in cells)
    raise AssertionError(f"no number {label!r} in {title(svg)}")
