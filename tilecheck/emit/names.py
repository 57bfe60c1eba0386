"""PTX names for what documents call by any text."""

from __future__ import annotations

PREFIX = "tc_"
"""Begins every name that is ours; names of operands never do."""


def clean(text: str) -> str:
    """Letters, digits and `_` only, not beginning with a digit or with our prefix."""
    word = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in text)
    return word if word[:1].isalpha() and not word.startswith(PREFIX) else f"r{word}"


def comment(text: str) -> str:
    """Text that stays on its line."""
    return "".join(c if c.isprintable() else " " for c in text)


class Names:
    """Hands out one distinct PTX name for each key."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}

    def of(self, key: str) -> str:
        """The name of `key`, the same at every call."""
        if key not in self._given:
            name, number = clean(key), 1
            while name in self._given.values():
                number += 1
                name = f"{clean(key)}_n{number}"
            self._given[key] = name
        return self._given[key]
