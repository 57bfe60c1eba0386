"""Whether two views put each element in one place: plain numbers, coordinate by coordinate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from tilecheck.evaluate.case import Operand, Scene
from tilecheck.evaluate.expressions import LimitError
from tilecheck.evaluate.launch import THREAD_NAMES, Thread
from tilecheck.evaluate.model import Model
from tilecheck.evaluate.views import Coordinate

PARTS: Mapping[str, tuple[tuple[str, int, int], ...]] = {
    "laneid": (("lane", 1, 0),),
    "warpid": (("warp", 1, 4), ("warpgroup", 4, 0)),
    "wid_in_wg": (("warp", 1, 0),),
    "wgid": (("warpgroup", 1, 0),),
    "tid_in_wg": (("lane", 1, 32), ("warp", 32, 0)),
}
"""What a thread axis says: (part of the thread, divisor, modulus), 0 for no modulus."""
TX = (("lane", 1, 32), ("warp", 32, 4), ("warpgroup", 128, 0))
"""The same of the thread number of a one-dimensional block."""


class Place(NamedTuple):
    """Where an element lies: its first bit from the base of the allocation (of a thread's registers), and the thread or CTA that the layout names.

    slot_bits: of a register; 0 in memory.
    """

    bit: int
    axes: tuple[tuple[str, int], ...]
    slot_bits: int

    def __str__(self) -> str:
        lane = [("lane", 0)] if self.slot_bits and "lane" not in dict(self.axes) else []
        named = [f"{name} {value}" for name, value in (*lane, *self.axes)]
        at = f"byte {self.bit // 8}" if self.bit % 8 == 0 else f"bit {self.bit}"
        if self.slot_bits and self.bit % self.slot_bits == 0:
            at = f"slot {self.bit // self.slot_bits}"
        return f"{at}{' of ' if named else ''}{', '.join(named)}"


class Agreement:
    """Two views of one call, the writer's first."""

    def __init__(self, contract: Mapping[str, Any], call: Mapping[str, Any]) -> None:
        self.model = Model(contract, call)
        self.case = self.model.case
        self.writer, self.reader = self.case.operands

    def places(self, scene: Scene, thread: Thread, operand: Operand, coordinate: Coordinate, spend: Callable[[], None]) -> Iterator[Place]:
        """Where an element of a view lies: itself, then its copies."""
        fixed = scene.fixed(operand, thread)
        layout, bits = fixed.layout, operand.view.declared_bits
        declared, inside = fixed.source(coordinate)
        for shift in layout.copies():
            spend()
            axes = {axis: layout.value(declared, axis) + shift.get(axis, 0) for axis in layout.axes() - {"TCol"}}
            tcol = layout.value(declared, "TCol") + shift.get("TCol", 0) if operand.view.space == "tmem" else 0
            m = layout.swizzled(layout.value(declared, "m") + shift.get("m", 0))
            yield Place((m + tcol) * bits + inside, self._parts(axes), operand.view.bits if operand.view.space == "register" else 0)

    def differs(
        self, values: Mapping[str, int], thread: Thread, coordinate: Coordinate, spend: Callable[[], None] = lambda: None
    ) -> tuple[str, str] | None:
        """(where the writer puts the element, where the reader looks for it and it is not), as words; None where there is no such place, or the point is none of the call."""
        scene = Scene(self.case, values)
        if not (self.case.facts.declared(values) and self.case.facts.hold(values) and scene.active(thread) and scene.predicate(thread)):
            return None
        try:
            written = list(dict.fromkeys(self.places(scene, thread, self.writer, coordinate, spend)))
            known = set(written)
            looked = next((place for place in self.places(scene, thread, self.reader, coordinate, spend) if place not in known), None)
        except LimitError:
            return None
        more = len(written) - 1
        return None if looked is None else (f"{written[0]}{f' and {more} other places' if more else ''}", str(looked))

    def first(self, shape: Sequence[int], limit: int) -> tuple[dict[str, int], Thread, Coordinate] | None:
        """The first point, in the order of counterexamples, at which they differ. TooLargeError beyond a number of points."""
        from tilecheck.evaluate.model import Budget

        budget = Budget(limit)
        inside = any(not THREAD_NAMES.isdisjoint(one.view.names) for one in (self.writer, self.reader))
        for scene in self.model.scenes({symbol.name for symbol in self.case.symbols}):
            threads = [thread for thread in scene.launch.threads if scene.active(thread) and scene.predicate(thread)]
            for thread in threads if inside else threads[:1]:
                for coordinate in product(*(range(extent) for extent in shape)):
                    if self.differs(scene.values, thread, coordinate, budget.spend):
                        return scene.values, thread, coordinate
        return None

    def _parts(self, axes: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
        """Thread axes as lane, warp of the warpgroup and warpgroup, the others by their own names; zeros are left out."""
        found: dict[str, int] = {}
        for axis, value in axes.items():
            flat = axis == "tx" and self.case.launch.block[1:] == (1, 1)
            for part, divisor, modulus in TX if flat else PARTS.get(axis, ((axis, 1, 0),)):
                found[part] = value // divisor % modulus if modulus else value // divisor
        return tuple(sorted((part, value) for part, value in found.items() if value))
