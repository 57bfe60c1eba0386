"""Why a call has no PTX."""

from __future__ import annotations

from tilecheck.errors import NotProvedError


class EmissionError(NotProvedError):
    """A call that cannot be written as PTX: a register slot that is no constant, an architecture without the form, a number beyond 64 bits."""
