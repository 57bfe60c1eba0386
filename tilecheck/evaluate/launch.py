"""Who executes: the threads of one launched cluster, their hardware coordinates, and the group axes of a scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, NamedTuple

COORDINATES = ("laneid", "warpid", "wid_in_wg", "wgid", "tid_in_wg", "tx", "cbx", "cby", "cbz")
THREAD_NAMES = frozenset({*COORDINATES, "elected"})
LANE_NAMES = frozenset({"laneid", "tx", "tid_in_wg", "elected"})
WARP_NAMES = frozenset({"warpid", "wid_in_wg"})
DEFAULT_BLOCK = {"thread": 1, "warp": 32, "warpgroup": 128}
BEYOND = {"warp": ("thread",), "warpgroup": ("warp", "thread"), "cta": ("warp", "thread"), "cluster": ("cta", "warp", "thread")}
"""The levels at which a symbol may take several values inside one instance of a scope."""

Warp = tuple[int, int]  # CTA rank, warp of the CTA
Active = dict[Warp, tuple[int, ...]]  # the active lanes of every warp that has any


class Thread(NamedTuple):
    """A thread: CTA rank in the cluster, warp in the CTA, lane in the warp."""

    cta: int
    warp: int
    lane: int


class Launch:
    """One cluster of CTAs of one block shape, at one scope. together: the warps that execute one instruction of a collective."""

    def __init__(self, scope: str, collective: bool, form: Mapping[str, Any] | None, together: int = 1) -> None:
        form = form or {}
        block: Sequence[int] = form.get("block") or [DEFAULT_BLOCK.get(scope, 1)]
        cluster: Sequence[int] = form.get("cluster") or ()
        self.scope = scope
        self.collective = collective
        self.together = together
        self.block = tuple(block) + (1,) * (3 - len(block))
        self.cluster = tuple(cluster) + (1,) * (3 - len(cluster))
        self.one_dimensional = self.block[1] == self.block[2] == 1
        self.ctas = prod(self.cluster)
        self.size = prod(self.block)
        self.warps = (self.size + 31) // 32
        self.cluster_axes = max((k + 1 for k in range(3) if self.cluster[k] > 1), default=1)
        self._coordinates: dict[Thread, dict[str, int]] = {}

    def lanes(self, warp: int) -> int:
        """The existing lanes of a warp."""
        return max(0, min(32, self.size - 32 * warp))

    def exists(self, thread: Thread) -> bool:
        """Whether the launch has this thread."""
        return 0 <= thread.cta < self.ctas and 0 <= thread.warp < self.warps and 0 <= thread.lane < self.lanes(thread.warp)

    @cached_property
    def threads(self) -> tuple[Thread, ...]:
        """Every thread, in the order of counterexamples."""
        return tuple(Thread(c, w, lane) for c in range(self.ctas) for w in range(self.warps) for lane in range(self.lanes(w)))

    @cached_property
    def everyone(self) -> Active:
        """Every lane of every warp."""
        return {(cta, warp): tuple(range(self.lanes(warp))) for cta in range(self.ctas) for warp in range(self.warps)}

    def cta_axes(self, cta: int) -> tuple[int, int, int]:
        """cbx, cby, cbz of a CTA."""
        x, y, _ = self.cluster
        return cta % x, cta // x % y, cta // x // y

    def coordinates(self, thread: Thread) -> dict[str, int]:
        """The hardware coordinates of a thread."""
        if thread not in self._coordinates:
            t = 32 * thread.warp + thread.lane
            numbers = (thread.lane, thread.warp, thread.warp % 4, thread.warp // 4, t % 128, t % self.block[0])
            self._coordinates[thread] = dict(zip(COORDINATES, (*numbers, *self.cta_axes(thread.cta)), strict=True))
        return self._coordinates[thread]

    def instance(self, warp: Warp) -> tuple[int, ...]:
        """The instance of the scope that a warp belongs to."""
        cta, number = warp
        return {"warp": (cta, number), "warpgroup": (cta, number // 4), "cta": (cta,)}.get(self.scope, ())

    def instances(self, active: Active) -> dict[tuple[int, ...], Active]:
        """The executing instances of the scope."""
        found: dict[tuple[int, ...], Active] = {}
        for warp, lanes in active.items():
            found.setdefault(self.instance(warp), {})[warp] = lanes
        return found

    def hull(self, instance: tuple[int, ...], active: Active) -> list[Thread]:
        """The threads that must execute because `active` does: the smallest product of CTAs, warps and lanes around it."""
        lanes = range(32) if self.collective else sorted({lane for lanes in active.values() for lane in lanes})
        warps = sorted({warp for _, warp in active})
        if self.scope == "warpgroup":
            warps = range(4 * instance[1], 4 * instance[1] + 4)
        elif self.together == 4:
            warps = sorted({4 * (warp // 4) + k for warp in warps for k in range(4)})
        return [Thread(cta, warp, lane) for cta in self._cta_hull(active) for warp in warps for lane in lanes]

    def _cta_hull(self, active: Active) -> list[int]:
        xs, ys, zs = (sorted(set(axis)) for axis in zip(*(self.cta_axes(cta) for cta, _ in active), strict=True))
        return [x + self.cluster[0] * (y + self.cluster[1] * z) for z, y, x in product(zs, ys, xs)]

    def extents(self, active: Active) -> tuple[int, ...]:
        """The group extents of an instance whose active set is a product."""
        if self.scope == "thread":
            return ()
        axes = [len(set(axis)) for axis in zip(*(self.cta_axes(cta) for cta, _ in active), strict=True)]
        ctas = tuple(reversed(axes[: self.cluster_axes])) if self.scope == "cluster" else ()
        warps = {"warp": (), "warpgroup": (4,)}.get(self.scope, (len({warp // self.together for _, warp in active}),))
        if self.together == 4 and self.scope == "warpgroup":
            warps = ()
        lanes = () if self.collective else (len({lane for lanes in active.values() for lane in lanes}),)
        return (*ctas, *warps, *lanes)

    @property
    def group_rank(self) -> int:
        """The number of group axes."""
        lanes = 0 if self.collective or self.scope == "thread" else 1
        warpgroup = 1 if self.together == 1 else 0
        return {"thread": 0, "warp": 0, "warpgroup": warpgroup, "cta": 1, "cluster": 1 + self.cluster_axes}[self.scope] + lanes

    def number(self, thread: Thread) -> int:
        """The number of a thread among those that execute an instruction together."""
        return 32 * (thread.warp % self.together) + thread.lane

    def member(self, thread: Thread, number: int) -> Thread:
        """The thread of that number among those that execute together with a thread."""
        return thread._replace(warp=thread.warp - thread.warp % self.together + number // 32, lane=number % 32)

    @property
    def wide_enough(self) -> bool:
        """Whether an instance of the scope holds those who execute together."""
        narrow = () if not self.collective else ("thread",) if self.together == 1 else ("thread", "warp")
        return self.scope not in narrow

    @property
    def inner_levels(self) -> tuple[str, ...]:
        """The levels at which a symbol may take several values inside one instance of the scope."""
        return BEYOND.get(self.scope, ())
