"""The line of a JSON text that a JSON path such as `$[3].operands[0].shape` leads to."""

from __future__ import annotations

import json
import re

from tilecheck.errors import InputError

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_INDEX = re.compile(r"\[(\d+)\]")


def with_line(error: InputError, text: str) -> InputError:
    """The error with the line of its JSON path behind the file."""
    line = line_of(text, error.path) if error.path.startswith("$") else None
    return error if line is None or ":" in error.where.rsplit("/", 1)[-1] else error.in_file(f"{error.where}:{line}")


def line_of(text: str, path: str) -> int | None:
    """The line where the value at `path` starts, or the deepest one on the way there; None where the text is no JSON."""
    try:
        position = _position(text, _after_space(text, 0), path[1:])
    except (ValueError, IndexError, RecursionError, StopIteration):
        return None
    return text.count("\n", 0, position) + 1


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _position(text: str, at: int, path: str) -> int:
    while path:
        index = _INDEX.match(path)
        if index is not None and text[at] == "[":
            found = _item(text, at, int(index[1]))
            rest = path[index.end() :]
        elif path.startswith(".") and text[at] == "{":
            found, rest = _member(text, at, path[1:])
        else:
            return at
        if found is None:
            return at
        at, path = found, rest
    return at


def _item(text: str, at: int, index: int) -> int | None:
    at = _after_space(text, at + 1)
    for _ in range(index):
        if text[at] == "]":
            return None
        at = _after_space(text, _end(text, at))
        if text[at] != ",":
            return None
        at = _after_space(text, at + 1)
    return at


def _member(text: str, at: int, path: str) -> tuple[int | None, str]:
    """Where the value of the member lies whose key `path` starts with, and the path behind the key."""
    best: tuple[int | None, str] = (None, path)
    length = -1
    at = _after_space(text, at + 1)
    while text[at] == '"':
        key, at = _DECODER.raw_decode(text, at)
        value = _after_space(text, _after_space(text, at) + 1)
        rest = path[len(key) :]
        if path.startswith(key) and rest[:1] in {"", ".", "["} and len(key) > length:
            best, length = (value, rest), len(key)
        at = _after_space(text, _end(text, value))
        if text[at] != ",":
            break
        at = _after_space(text, at + 1)
    return best


def _end(text: str, at: int) -> int:
    return _DECODER.raw_decode(text, at)[1]
