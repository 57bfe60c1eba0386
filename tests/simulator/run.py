"""Carries out calls one after the other."""

from __future__ import annotations

import numpy as np

from tests.simulator.documents import Document, UnreadableError, Values
from tests.simulator.machine import Machine, faults
from tests.simulator.products import multiply
from tests.simulator.transfers import access, copy_matrix, tile_load, transfer

INSTRUCTIONS = (
    ("cp.async.bulk.tensor.", tile_load, False),
    ("tcgen05.ld.", transfer, True),
    ("tcgen05.st.", transfer, True),
    ("tcgen05.cp.", copy_matrix, False),
    ("tcgen05.mma.", multiply, False),
    ("ld.", access, False),
    ("st.", access, False),
)
"""By how a spelling begins; whether a warp executes it together."""


def carry_out(machine: Machine, document: Document, symbols: Values) -> None:
    """What the hardware does for a call: FaultError where it refuses, UnreadableError where the document means nothing to this simulator."""
    with faults(), np.errstate(all="ignore"):
        found = [entry[1:] for entry in INSTRUCTIONS if document.opcode.startswith(entry[0])]
        if not found:
            raise UnreadableError(document.opcode)
        does, collective = found[0]
        for issue in document.issues(symbols, collective=collective):
            does(machine, document, issue)
