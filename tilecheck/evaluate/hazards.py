"""Hazards: legal but suspicious."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

from tilecheck.evaluate import tmem
from tilecheck.evaluate.case import Case, Operand, Scene
from tilecheck.evaluate.clauses import repeats
from tilecheck.evaluate.domain import grid
from tilecheck.evaluate.expressions import Expression, LimitError
from tilecheck.evaluate.launch import Thread
from tilecheck.evaluate.parameters import copies, value
from tilecheck.evaluate.views import Coordinate

LEVELS = ("cta", "warp", "thread")
Writer = tuple[Thread, Coordinate, dict[str, int]]


def hazards(case: Case, assignments: Sequence[Mapping[str, int]], spend: Callable[[], None]) -> Iterator[str]:
    """The ids of the hazards of a legal call."""
    combined = case.move.get("combine") is not None
    stores = [operand for operand in case.operands if operand.write and not operand.register and not combined]
    groups = [[o, *(p for p in stores if _second(p, o))] for o in stores if o.matrix is None or not o.matrix.get("behind")]
    if any(_race(case, group, assignments, spend) for group in groups):
        yield "memory.race"
    loads = [operand for operand in case.operands if not operand.write]
    pairs = [
        (a, b) for a in case.operands if a.write for b in loads if a.named_tensor and a.tensor == b.tensor and a.view.space == b.view.space
    ]
    if any(_alias(case, a, b, assignments, spend) for a, b in pairs):
        yield "alias"
    once = case.single and (case.launch.scope == "thread" or not case.operands)
    pairs_ = case.single and case.pair and case.launch.ctas > 1
    if (once and _many(case, assignments, spend)) or (pairs_ and _many(case, assignments, spend, pair=True)):
        yield "issue.many"


def accesses(scene: Scene, operand: Operand, spend: Callable[[], None]) -> Iterator[tuple[Thread, Coordinate, int, int]]:
    """Every access of an operand under a scene: thread, repeat, first bit, and how many bits it lies behind the start of its row.

    A memory row is accessed from the address of its first element on, wherever the view puts the others.
    """
    for thread in scene.launch.threads:
        if not (scene.active(thread) and scene.predicate(thread)):
            continue
        try:
            fixed, group = scene.fixed(operand, thread), scene.group(thread)
        except LimitError:
            continue
        for repeat in grid(repeats(scene, operand)):
            for atom in operand.atoms_of(scene.launch.number(thread)):
                spend()
                start = operand.row_start(atom)
                bit = fixed.address((*group, *repeat, *start))
                behind = operand.bits * operand.row_index(atom)
                yield thread, repeat, bit + behind, behind


def written_units(scene: Scene, operand: Operand, thread: Thread, bit: int, behind: int) -> Sequence[int]:
    """What an access writes, counted in elements; in bytes where a parameter chooses the bytes of each sixteen of a row."""
    if operand.matrix is not None:
        return tmem.numbers(operand.matrix, bit)
    mask = scene.case.move.get("bytes")
    if mask is None:
        return (bit // operand.bits,)
    chosen = value(scene, str(mask), thread)
    return [(bit + k) // 8 for k in range(0, operand.bits, 8) if chosen >> (behind + k) // 8 % 16 & 1]


def _relevant(case: Case, operands: Sequence[Operand]) -> list[str]:
    names = {name for operand in operands for name in operand.view.names} | set(case.activity_names)
    given = [case.parameters[operand.cta] for operand in operands if operand.cta is not None]
    given += [case.parameters[str(case.move["bytes"])]] if case.move.get("bytes") is not None else []
    names |= {name for one in given for name in Expression(one).names}
    names |= case.pred.names if case.pred is not None else set()
    return [symbol.name for symbol in case.symbols if symbol.name in names]


def _second(operand: Operand, first: Operand) -> bool:
    """Whether an operand is a second region of the same instruction."""
    behind = None if operand.matrix is None else operand.matrix.get("behind")
    return bool(behind) and behind[0] == first.name


def _race(case: Case, group: Sequence[Operand], assignments: Sequence[Mapping[str, int]], spend: Callable[[], None]) -> bool:
    """Two executing threads, or two repeats of one thread, store to one element."""
    for varying, touched in _executions(case, group, assignments):
        written: dict[tuple[object, ...], list[Writer]] = {}
        for scene, own in touched:
            for operand in group:
                for thread, repeat, bit, behind in accesses(scene, operand, spend):
                    units = written_units(scene, operand, thread, bit, behind)
                    for place in product(copies(scene, operand, thread), units):
                        writers = written.setdefault(place, [])
                        if any(_together(varying, (thread, repeat, own), other) for other in writers):
                            return True
                        writers.append((thread, repeat, own))
    return False


def _executions(
    case: Case, operands: Sequence[Operand], assignments: Sequence[Mapping[str, int]]
) -> Iterator[tuple[Mapping[str, str], list[tuple[Scene, dict[str, int]]]]]:
    """For each value of the uniform symbols that matter: (the level of each varying one, the scenes with their values of those)."""
    names = _relevant(case, operands)
    varying = {symbol.name: symbol.varies for symbol in case.varying(LEVELS) if symbol.name in names}
    found: dict[tuple[int, ...], dict[tuple[int, ...], tuple[Scene, dict[str, int]]]] = {}
    for values in assignments:
        shared = tuple(values[name] for name in names if name not in varying)
        own = {name: values[name] for name in varying}
        found.setdefault(shared, {}).setdefault(tuple(own.values()), (Scene(case, values), own))
    for scenes in found.values():
        yield varying, list(scenes.values())


def _together(varying: Mapping[str, str], one: Writer, other: Writer) -> bool:
    """Whether two accesses are two writes of one execution: another thread or repeat, with values that can hold at once."""
    if one[:2] == other[:2]:
        return False
    return _compatible(varying, one, other)


def _compatible(varying: Mapping[str, str], one: Writer, other: Writer) -> bool:
    """Whether the values of varying symbols of two accesses can hold at once: threads of one instance of a level share them."""
    shared = {level for count, level in enumerate(LEVELS, start=1) if one[0][:count] == other[0][:count]}
    return all(one[2][name] == other[2][name] for name, level in varying.items() if level in shared)


def _alias(case: Case, one: Operand, other: Operand, assignments: Sequence[Mapping[str, int]], spend: Callable[[], None]) -> bool:
    """A destination and a source of one allocation have a bit in common; in registers one that is written before it is read."""
    for varying, touched in _executions(case, [one, other], assignments):
        written: dict[tuple[object, ...], list[Writer]] = {}
        read: dict[tuple[object, ...], list[Writer]] = {}
        for scene, own in touched:
            for operand, found in ((one, written), (other, read)):
                for thread, repeat, bit, _ in accesses(scene, operand, spend):
                    for copy in copies(scene, operand, thread):
                        units = range(bit, bit + operand.bits) if operand.matrix is None else tmem.numbers(operand.matrix, bit)
                        for unit in units:
                            found.setdefault((copy, unit), []).append((thread, repeat, own))
        for key in written.keys() & read.keys():
            pairs = ((a, b) for a in written[key] for b in read[key] if _compatible(varying, a, b))
            if any(not one.register or step(case, one, a[1], last=False) < step(case, other, b[1], last=True) for a, b in pairs):
                return True
    return False


def step(case: Case, operand: Operand, repeat: Coordinate, *, last: bool) -> Coordinate:
    """The repeat coordinates of the first (last) instruction that names an element of an operand, in the order of issue."""
    count = len(repeat) - len(operand.loops)
    own = dict(zip(operand.loops, repeat[count:], strict=True))
    only_first = operand.then is not None
    return (*repeat[:count], *(own.get(name, case.repeat_axes[1][name] - 1 if last and not only_first else 0) for name in case.loops))


def _many(case: Case, assignments: Sequence[Mapping[str, int]], spend: Callable[[], None], *, pair: bool = False) -> bool:
    """Two threads of one CTA, or of different CTAs of a pair, execute the call."""
    for varying, touched in _executions(case, [], assignments):
        found: dict[int, list[Writer]] = {}
        for scene, own in touched:
            for thread in scene.launch.threads:
                spend()
                if scene.active(thread) and scene.predicate(thread):
                    writers = found.setdefault(thread.cta // 2 if pair else thread.cta, [])
                    one: Writer = (thread, (), own)
                    if any(_together(varying, one, other) for other in writers if not pair or other[0].cta != thread.cta):
                        return True
                    writers.append(one)
    return False
