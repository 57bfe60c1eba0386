"""A call with a number for everything: what the evaluator says of its threads, elements, owners and addresses there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from tilecheck.evaluate.case import Case, Operand, Scene
from tilecheck.evaluate.domain import ELECTED
from tilecheck.evaluate.expressions import LimitError
from tilecheck.evaluate.launch import COORDINATES, THREAD_NAMES, Thread
from tilecheck.evaluate.views import Coordinate, FixedView
from tilecheck.spec.contract import Contract, data

if TYPE_CHECKING:
    from tilecheck.call import Call
    from tilecheck.prove.verdict import Counterexample
    from tilecheck.report.values import Values

MOST_ROWS = 4096
"""The most rows that are looked at for one picture."""
PARTS = {"lane": "laneid", "warp % 4": "wid_in_wg", "warp // 4": "wgid"}
"""The coordinate behind the parts of a thread that the clause `owner` names."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of memory, from the element at its start on: the thread that gives its address, bits from the base (of the tensor)."""

    thread: Thread
    group: Coordinate
    repeat: Coordinate
    atom: Coordinate
    bits: int

    @property
    def coordinate(self) -> Coordinate:
        """The coordinate of the row's first element in the view."""
        return (*self.group, *self.repeat, *self.atom)


class _Run:
    """The scenes of threads that may have values of their own: a symbol's value, or one value a lane, warp or CTA."""

    def __init__(self, case: Case, values: Mapping[str, int | list[int]]) -> None:
        self.case = case
        self.values = values
        self.scenes: dict[tuple[int, ...], Scene] = {}

    def scene(self, thread: Thread) -> Scene:
        index = {"thread": thread.lane, "warp": thread.warp, "cta": thread.cta}
        found: dict[str, int] = {}
        for symbol in self.case.symbols:
            value = self.values[symbol.name]
            found[symbol.name] = value if isinstance(value, int) else value[min(index.get(symbol.varies, 0), len(value) - 1)]
        return self.scenes.setdefault(tuple(found.values()), Scene(self.case, found))

    def active(self, thread: Thread) -> bool:
        return self.case.launch.exists(thread) and self.scene(thread).active(thread)

    def group(self, thread: Thread) -> Coordinate:
        return self.scene(thread).group(thread, self.active)


class Seen:
    """One contract applied by one call, every symbol with its value.

    complete: whether every symbol has one; moving: the names that may differ from lane to lane.
    """

    def __init__(
        self,
        case: Case,
        scene: Callable[[Thread], Scene],
        group: Callable[[Thread], Coordinate],
        *,
        complete: bool,
        moving: frozenset[str] = frozenset(),
    ) -> None:
        self.case = case
        self.scene = scene
        self.group = group
        self.complete = complete
        self.moving = THREAD_NAMES | moving
        self.operands = {operand.name: operand for operand in case.operands}

    @classmethod
    def at(cls, example: Counterexample, call: Call, contract: Contract) -> Seen | None:
        """The call at a counterexample; None where its operands are not those of the contract. Incomplete without all values."""
        case = Case(data(contract), call.to_json())
        if case.problem is not None:
            return None
        known = {name: value for name, value in example.symbols if not name.startswith("base(")}
        names = [symbol.name for symbol in case.symbols]
        values = {name: known.get(name, 0) if name == ELECTED else known[name] for name in names if name in known or name == ELECTED}
        scene = Scene(case, values)
        return cls(case, lambda _: scene, scene.group, complete=len(values) == len(names))

    @classmethod
    def under(cls, values: Values, elected: int, call: Call, contract: Contract) -> Seen | None:
        """The call under given values; None where its operands are not those of the contract."""
        case = Case(data(contract), call.to_json())
        if case.problem is not None:
            return None
        run = _Run(case, {**values, ELECTED: elected})
        lists = frozenset(name for name, value in values.items() if not isinstance(value, int))
        return cls(case, run.scene, run.group, complete=True, moving=lists)

    def active(self, thread: Thread) -> bool:
        """Whether a thread executes."""
        return self.case.launch.exists(thread) and self.scene(thread).active(thread)

    def fixed(self, operand: Operand, thread: Thread | None) -> FixedView | None:
        """The operand's view in numbers, as a thread sees it; None where it has none."""
        scene = self.scene(thread or Thread(0, 0, 0))
        known = scene.values.keys() | (THREAD_NAMES if thread is not None else frozenset[str]())
        if not known >= set(operand.view.names):
            return None
        try:
            return scene.fixed(operand, thread)
        except LimitError:
            return None

    def repeats(self, operand: Operand) -> Coordinate | None:
        """The repeat extents; None where the shape is not right."""
        found, group, atom = operand.view.static_shape, self.case.launch.group_rank, operand.atom_extents
        known = [extent for extent in found if extent is not None]
        if len(known) < group + len(atom) or len(known) != len(found) or tuple(known[len(known) - len(atom) :]) != atom:
            return None
        return tuple(known[group : len(known) - len(atom)])

    def element(self, operand: Operand, thread: Thread, coordinate: Coordinate) -> str:
        """The declared element behind one of the view, `SM[1, 0]`."""
        fixed = self.fixed(operand, thread)
        return operand.label if fixed is None else f"{operand.label}[{', '.join(map(str, fixed.source(coordinate)[0]))}]"

    def lanes(self, thread: Thread) -> list[Thread]:
        """The threads of a thread's warp that execute."""
        return [one for one in (thread._replace(lane=lane) for lane in range(32)) if self.active(one)]

    def rows(self, operand: Operand, thread: Thread, repeat: Coordinate) -> list[Row]:
        """Rows to compare: those of one collective instruction, of the lanes of one warp, or of the repeats of one thread."""
        found: list[Row] = []
        for holder, group, at, atom in self._starts(operand, thread, repeat):
            fixed = self.fixed(operand, holder)
            if fixed is not None:
                found.append(Row(holder, group, at, atom, fixed.address((*group, *at, *atom))))
            if len(found) >= MOST_ROWS:
                break
        return found

    def _starts(self, operand: Operand, thread: Thread, repeat: Coordinate) -> Iterator[tuple[Thread, Coordinate, Coordinate, Coordinate]]:
        starts = [atom for atom in operand.atoms if operand.row_index(atom) == 0]
        if operand.holder_term is not None:
            group = self.group(thread)
            yield from ((self.case.launch.member(thread, operand.holder(atom) or 0), group, repeat, atom) for atom in starts)
            return
        lanes = self.lanes(thread) if self.case.launch.group_rank or not self.moving.isdisjoint(operand.view.names) else []
        if len(lanes) > 1:
            yield from ((lane, self.group(lane), repeat, atom) for lane in lanes for atom in starts)
            return
        extents, group = self.repeats(operand) or (), self.group(thread)
        yield from ((thread, group, at, atom) for at in product(*(range(extent) for extent in extents)) for atom in starts)

    def owners(self, operand: Operand, thread: Thread, coordinate: Coordinate, axis: str) -> tuple[int, int] | None:
        """What one thread coordinate is in the thread that executes an element, and what the layout says of it.

        Of several replicas the layout's is the one that agrees on every axis, if there is one, else the first.
        """
        fixed = self.fixed(operand, thread)
        own = self.case.launch.coordinates(thread)
        name = PARTS.get(axis, axis)
        if fixed is None or name not in COORDINATES:
            return None
        written = fixed.layout.axes() & set(COORDINATES)
        if axis not in written:
            return own[name], 0
        copies = [{one: fixed.axis(coordinate, one) + copy.get(one, 0) for one in written} for copy in fixed.layout.copies()]
        chosen = next((copy for copy in copies if all(copy[one] == own[one] for one in written)), copies[0])
        return own[name], chosen[axis]
