# ruff: noqa: ARG002 (a stand-in has the signatures of what it stands for)
"""A device without a GPU: it moves the bits of an arena as a map says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.gpu.tags import INVERTED, MIXED, ONE, UNDEFINED, ZERO, Numbers, bits
from tilecheck.emit.kernel import Kernel
from tilecheck.reconstruct.arena import Bytes
from tilecheck.reconstruct.device import DeviceInfo, Gpu


class Simulated:
    """What a launch does to the arena is `origins`: for every bit the place whose value it takes, ZERO, ONE, or UNDEFINED (noise)."""

    runs = Gpu.runs
    arch = "sm_90"
    info = DeviceInfo("simulated", "9.0", "", "")

    def __init__(self) -> None:
        self.origins: Numbers = np.zeros(0, dtype=np.int64)
        self.content: Bytes = np.zeros(0, dtype=np.uint8)
        self.noise = np.random.default_rng(1)

    def memory(self, size: int) -> int:
        """An address."""
        return 1 << 40

    def load(self, kernel: Kernel) -> Kernel:
        """The kernel itself."""
        return kernel

    def write(self, address: int, content: Bytes) -> None:
        """Keeps the bytes."""
        self.content = content.copy()

    def launch(self, loaded: Kernel, grid: Sequence[int], block: Sequence[int], shared_bytes: int, arguments: Sequence[int]) -> None:
        """Moves every bit at once."""
        before, origins = bits(self.content), self.origins
        assert before.size == origins.size
        assert not np.isin(origins, (INVERTED, MIXED)).any()
        after = before[origins.clip(0)]
        after[origins == ZERO], after[origins == ONE] = 0, 1
        free = origins == UNDEFINED
        after[free] = self.noise.integers(0, 2, int(free.sum()))
        self.content = np.packbits(self.changed(before, after), bitorder="little")

    def changed(self, before: Bytes, after: Bytes) -> Bytes:
        """A place for faults that no map can express."""
        return after

    def read(self, address: int, like: Bytes) -> Bytes:
        """The bytes as they stand."""
        return self.content.copy()
