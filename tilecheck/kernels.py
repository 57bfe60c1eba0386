"""A kernel: calls that are checked together, for what they share. Plain immutable data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tilecheck.call import Call
from tilecheck.errors import InputError

KERNEL_SCHEMA = "tilecheck/kernel@1"
MAX_CALLS = 10_000


@dataclass(frozen=True, slots=True)
class Kernel:
    """The calls of one kernel in the order of its program text. See `kernel`."""

    calls: tuple[Call, ...]
    id: str = ""

    def to_json(self) -> dict[str, object]:
        """The document of the kernel (schema tilecheck/kernel@1); reading it back gives an equal kernel."""
        named = {"id": self.id} if self.id else {}
        return {"schema": KERNEL_SCHEMA, **named, "calls": [call.to_json() for call in self.calls]}


def kernel(calls: Iterable[Call], *, id: str = "") -> Kernel:  # noqa: A002 (the document's name)
    """The calls of one kernel, in the order of its program text, as one thing to check: `check_kernel(kernel(calls))`.

    InputError: no call, something that is no call, or more than 10000 of them.
    """
    found = tuple(calls)
    wrong = next((k for k, one in enumerate(found) if not isinstance(one, Call)), None)  # type: ignore[reportUnnecessaryIsInstance]
    if wrong is not None:
        raise InputError(f"found a {type(found[wrong]).__name__}, expected a call", path=f"$.calls[{wrong}]")
    if not 1 <= len(found) <= MAX_CALLS:
        raise InputError(f"found {len(found)} calls, expected 1 to {MAX_CALLS}", path="$.calls")
    return Kernel(found, id)
