"""Texts taken apart into words and signs, which a parser takes one after the other. What does not fit is told with its column."""

from __future__ import annotations

import re
from collections.abc import Callable

from tilecheck.errors import InputError

MAX_LENGTH = 10_000


def quoted(text: str) -> str:
    """A text in messages, long ones cut."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


class Tokens:
    """The tokens of a text: (kind, text, column from 0). Kinds are the group names of the pattern; a name that is a keyword is read as a sign is."""

    def __init__(
        self, text: str, what: str, pattern: re.Pattern[str], keywords: frozenset[str], most: int, expected: Callable[[str], str]
    ) -> None:
        """what: the text, in words. pattern: of one token, leading space included. most: how many are read. expected: instead of a character."""
        if len(text) > MAX_LENGTH:
            raise InputError(f"{what} of {len(text)} characters; at most {MAX_LENGTH} are read")
        self.text = text
        self.keywords = keywords
        self.depth = 0
        self.at = 0
        self.tokens: list[tuple[str, str, int]] = []
        position, end = 0, len(text.rstrip())
        while position < end:
            match = pattern.match(text, position)
            if match is None:
                column = position + len(text[position:]) - len(text[position:].lstrip())
                raise InputError(f"column {column + 1} of {quoted(text)}: found {text[column]!r}, expected {expected(text[column])}")
            kind = str(match.lastgroup)
            self.tokens.append((kind, match.group(kind), match.start(kind)))
            position = match.end()
            if len(self.tokens) > most:
                raise InputError(f"{quoted(text)} has more than {most} words and signs")

    @property
    def column(self) -> int:
        """The column of the next token, from 1; behind the text at its end."""
        return self.tokens[self.at][2] + 1 if self.at < len(self.tokens) else len(self.text) + 1

    def fail(self, expected: str) -> InputError:
        """The error that the next token is not what was expected."""
        found = "the end"
        if self.at < len(self.tokens):
            kind, value, _ = self.tokens[self.at]
            found = f"{kind} {value[:40]!r}" if kind in {"name", "number"} else repr(value[:40])
        return InputError(f"column {self.column} of {quoted(self.text)}: found {found}, expected {expected}")

    def peek(self) -> str:
        """The sign or keyword that comes next, "" for anything else."""
        if self.at >= len(self.tokens):
            return ""
        kind, value, _ = self.tokens[self.at]
        return value if kind == "op" or value in self.keywords else ""

    def take(self, *values: str) -> str:
        """The next token where it is one of these signs or keywords, which is then passed; "" otherwise."""
        found = self.peek()
        if found and found in values:
            self.at += 1
            return found
        return ""

    def need(self, value: str) -> None:
        """Passes a sign or keyword; InputError where another one comes."""
        if not self.take(value):
            raise self.fail(f"`{value}`")

    def end(self) -> None:
        """InputError where something is left."""
        if self.at < len(self.tokens):
            raise self.fail("an operator or the end")
