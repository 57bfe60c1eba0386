"""Does a call do what its views say? On memory filled at random, the hardware's image against the views'."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.simulator.documents import Document, UnreadableError, Values, grid
from tests.simulator.machine import FaultError, Machine, encoded, faults
from tests.simulator.meaning import difference, meant
from tests.simulator.run import carry_out

SCALE_BYTES = np.arange(125, 130, dtype=np.uint8)


def small(noise: np.random.Generator, shape: Any, dtype: str) -> np.ndarray:
    """Raw bits of small integers (scales: powers of two), whose products are exact."""
    if dtype.startswith("float8_e8m0"):
        return noise.choice(SCALE_BYTES, shape)
    if dtype.startswith("float4"):
        return noise.integers(0, 16, shape).astype(np.uint8)
    if dtype.startswith("uint32"):
        return noise.integers(0, 1 << 32, shape, dtype=np.uint32)
    low = 0 if dtype.startswith("uint") else -4
    return encoded(noise.integers(low, 5, shape), dtype)


def fill(machine: Machine, document: Document, symbols: Values) -> None:
    """Small numbers where the views read them, in all replicas; the whole of shared memory, too, as the type of its last operand has them."""
    products = document.opcode.startswith("tcgen05.mma.")
    for operand in document.operands:
        if operand.space == "shared" and products and operand.bits >= 8:
            count = machine.shared[0].size * 8 // operand.bits
            for cta in range(machine.ctas):
                machine.shared[cta] = small(machine.noise, count, operand.dtype).view(np.uint8)
    if not products:
        return
    for issue in document.issues(symbols, collective=False):
        for operand in document.operands:
            for cta in range(machine.ctas):
                at = grid(operand.shape)
                machine.write(operand, at, issue.values, cta, document.scope, small(machine.noise, operand.shape, operand.dtype))


def judged(call: Mapping[str, Any], symbols: Values, seed: int = 0) -> str:
    """ "" where the call does what its views say, else what goes wrong."""
    try:
        with faults(), np.errstate(all="ignore"):
            document = Document(call)
            machine = Machine(document.ctas, seed)
            machine.allocate([document])
            fill(machine, document, symbols)
            before = machine.copy()
            expected = meant(machine, document, symbols)
            carry_out(machine, document, symbols)
            return difference(machine, before, document, expected)
    except FaultError as fault:
        return f"fault: {fault}"
    except UnreadableError as error:
        return f"unreadable: {error}"
