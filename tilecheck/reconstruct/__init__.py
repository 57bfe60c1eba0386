"""Reconstruction: running emitted PTX on a GPU and comparing every register and byte with the image the contract predicts.

Needs numpy, cuda-core and cuda-bindings (extra `gpu`) when something is run; imports neither z3 nor sympy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilecheck.callable import make_callable
from tilecheck.reconstruct.assignment import least_assignment
from tilecheck.reconstruct.evidence import ptx_sha256, read_evidence, write_evidence

if TYPE_CHECKING:
    from tilecheck.reconstruct.run import Difference, Observed, Reconstruction, compared, observe, predicted, reconstruct

__all__ = [
    "Difference",
    "Observed",
    "Reconstruction",
    "compared",
    "least_assignment",
    "observe",
    "predicted",
    "ptx_sha256",
    "read_evidence",
    "reconstruct",
    "write_evidence",
]


make_callable(__name__)


def __getattr__(name: str) -> object:
    """What runs on a GPU is imported when it is first asked for (numpy with it)."""
    if name in __all__:
        from tilecheck.reconstruct import run

        return getattr(run, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
