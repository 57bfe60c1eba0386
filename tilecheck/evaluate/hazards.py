"""Hazards: legal but suspicious."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

from tilecheck.evaluate.case import Case, Operand, Scene
from tilecheck.evaluate.clauses import repeats
from tilecheck.evaluate.expressions import LimitError
from tilecheck.evaluate.launch import Thread
from tilecheck.evaluate.views import Coordinate

LEVELS = ("cta", "warp", "thread")
Writer = tuple[Thread, Coordinate, dict[str, int]]


def hazards(case: Case, assignments: Sequence[Mapping[str, int]], spend: Callable[[], None]) -> Iterator[str]:
    """The ids of the hazards of a legal call."""
    stores = [operand for operand in case.operands if operand.write and not operand.register]
    if any(_race(case, operand, assignments, spend) for operand in stores):
        yield "memory.race"
    loads = [operand for operand in case.operands if not operand.write]
    pairs = [
        (a, b) for a in case.operands if a.write for b in loads if a.named_tensor and a.tensor == b.tensor and a.view.space == b.view.space
    ]
    if any(_alias(case, a, b, assignments, spend) for a, b in pairs):
        yield "alias"


def accesses(scene: Scene, operand: Operand, spend: Callable[[], None]) -> Iterator[tuple[Thread, Coordinate, int]]:
    """Every access of an operand under a scene: thread, repeat, first bit.

    A memory row is accessed from the address of its first element on, wherever the view puts the others.
    """
    for thread in scene.launch.threads:
        if not (scene.active(thread) and scene.predicate(thread)):
            continue
        try:
            fixed, group = scene.fixed(operand, thread), scene.group(thread)
        except LimitError:
            continue
        for repeat in product(*(range(extent) for extent in repeats(scene, operand))):
            for atom in operand.atoms_of(thread.lane):
                spend()
                start = operand.row_start(atom)
                bit = fixed.address((*group, *repeat, *start))
                yield thread, repeat, bit + operand.bits * operand.row_index(atom)


def copy_of(space: str, thread: Thread) -> tuple[int, ...]:
    """Which copy of a tensor a thread accesses: its own for local and registers, its CTA's for shared."""
    return () if space == "global" else (thread.cta,) if space == "shared" else tuple(thread)


def _relevant(case: Case, operands: Sequence[Operand]) -> list[str]:
    names = {name for operand in operands for name in operand.view.names} | set(case.activity_names)
    names |= case.pred.names if case.pred is not None else set()
    return [symbol.name for symbol in case.symbols if symbol.name in names]


def _race(case: Case, operand: Operand, assignments: Sequence[Mapping[str, int]], spend: Callable[[], None]) -> bool:
    """Two executing threads, or two repeats of one thread, store to one element."""
    names = _relevant(case, [operand])
    varying = {symbol.name: symbol.varies for symbol in case.varying(LEVELS) if symbol.name in names}
    uniform = [name for name in names if name not in varying]
    seen: set[tuple[int, ...]] = set()
    written: dict[tuple[object, ...], list[Writer]] = {}
    for values in assignments:
        key = tuple(values[name] for name in names)
        if key in seen:
            continue
        seen.add(key)
        shared = tuple(values[name] for name in uniform)
        own = {name: values[name] for name in varying}
        for thread, repeat, bit in accesses(Scene(case, values), operand, spend):
            writers = written.setdefault((shared, copy_of(operand.view.space, thread), bit // operand.bits), [])
            if any(_together(varying, (thread, repeat, own), other) for other in writers):
                return True
            writers.append((thread, repeat, own))
        if not varying:
            written.clear()
    return False


def _together(varying: Mapping[str, str], one: Writer, other: Writer) -> bool:
    """Whether two accesses are two writes of one execution: another thread or repeat, with values that can hold at once."""
    if one[:2] == other[:2]:
        return False
    shared = {level for count, level in enumerate(LEVELS, start=1) if one[0][:count] == other[0][:count]}
    return all(one[2][name] == other[2][name] for name, level in varying.items() if level in shared)


def _alias(case: Case, one: Operand, other: Operand, assignments: Sequence[Mapping[str, int]], spend: Callable[[], None]) -> bool:
    """A destination and a source of one allocation have a bit in common."""
    for values in assignments:
        scene = Scene(case, values)
        bits = [
            {(copy_of(o.view.space, thread), bit + k) for thread, _, bit in accesses(scene, o, spend) for k in range(o.bits)}
            for o in (one, other)
        ]
        if bits[0] & bits[1]:
            return True
    return False
