"""What a whole kernel does around asynchronous copies: a barrier in each CTA, fences between the proxies, waiting until everything has arrived.

Each CTA has one barrier that expects a single arrival, of its thread 0, once every thread of the cluster has issued its copies and announced their
bytes; its phase ends when all of them have come (PTX ISA 9.7.13.15). A wait that takes too long traps, so that a wrong count is an error, not a hang.
"""

from __future__ import annotations

from tilecheck.call import Launch
from tilecheck.emit.arithmetic import Arithmetic
from tilecheck.emit.parameters import BARRIER
from tilecheck.spec import Contract

LABEL = "tc_barrier"
PATIENCE = 1 << 20
"""How often a thread looks at a barrier before it traps."""


class Completion:
    """The statements of a kernel that wait for what its snippet issues."""

    def __init__(self, contract: Contract, launch: Launch) -> None:
        self.contract, self.launch = contract, launch
        self.barrier = None if contract.barrier is None else f"{BARRIER}_{contract.barrier.name}"
        self.fenced = contract.proxy == "async"

    def declarations(self) -> list[str]:
        """The barrier in shared memory."""
        return [] if self.barrier is None else [f".shared .align 8 .b64 {LABEL};"]

    def synchronised(self) -> list[str]:
        """All threads that can see each other's shared memory meet."""
        if self.launch.ctas > 1:
            return ["barrier.cluster.arrive.release;", "barrier.cluster.wait.acquire;"]
        return ["bar.sync 0;"]

    def before(self, arithmetic: Arithmetic) -> list[str]:
        """Before the snippet: the barrier is initialised, and what was written is seen by the other proxy and the other CTAs."""
        lines: list[str] = []
        if self.barrier is not None:
            first = self._first(arithmetic, lines)
            lines += [
                f"mov.u64 {self.barrier}, {LABEL};",
                f"@{first} mbarrier.init.shared::cta.b64 [{self.barrier}], 1;",
                f"@{first} fence.mbarrier_init.release.cluster;",
            ]
        if self.fenced:
            lines.append("fence.proxy.async;")
        return [*lines, *self.synchronised()] if lines else []

    def _first(self, arithmetic: Arithmetic, lines: list[str]) -> str:
        found = arithmetic.fresh("p")
        lines.append(f"setp.eq.s64 {found}, {arithmetic.inputs['@thread']}, 0;")
        return found

    def after(self, arithmetic: Arithmetic) -> list[str]:
        """After the snippet, by all threads: what was issued has arrived."""
        if self.barrier is None:
            return []
        lines = self.synchronised()
        first, done, late = self._first(arithmetic, lines), arithmetic.fresh("p"), arithmetic.fresh("p")
        count = arithmetic.fresh("u")
        return [
            *lines,
            f"@{first} mbarrier.arrive.shared::cta.b64 _, [{self.barrier}];",
            f"mov.u32 {count}, 0;",
            "TC_WAIT:",
            f"add.u32 {count}, {count}, 1;",
            f"setp.gt.u32 {late}, {count}, {PATIENCE};",
            f"@{late} trap;",
            f"mbarrier.try_wait.parity.shared::cta.b64 {done}, [{self.barrier}], 0;",
            f"@!{done} bra TC_WAIT;",
            *self.synchronised(),
        ]
