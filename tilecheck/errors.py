"""The errors a user can meet: wrong input, a refused view, a call that is not proved."""

from __future__ import annotations


class TilecheckError(Exception):
    """Base of every error tilecheck raises on purpose."""


class InputError(TilecheckError):
    """Input that cannot be read or does not follow the schema (exit status 2).

    Says what was found and what was expected; `path` is a JSON path (`$.operands[0].shape`), `where` a file and line.
    """

    def __init__(self, message: str, *, path: str = "", where: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.where = where

    def at(self, prefix: str) -> InputError:
        """The same error with `prefix` put in front of its path."""
        return InputError(self.message, path=prefix + self.path, where=self.where)

    def in_file(self, where: str) -> InputError:
        """The same error, known to come from file and line `where`."""
        return InputError(self.message, path=self.path, where=where)

    def __str__(self) -> str:
        place = ": ".join(part for part in (self.where, self.path) if part)
        return f"{place}: {self.message}" if place else self.message


class NotProvedError(TilecheckError):
    """An operation that needs a proved call was given one that is not."""


class DisagreementError(TilecheckError):
    """Two parts of tilecheck that must agree do not: a fault of tilecheck, with what reproduces it."""
