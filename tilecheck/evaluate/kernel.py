"""What the calls of a kernel share, decided in plain numbers: from the contracts as data, the documents of the calls, and every point of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Protocol

from tilecheck.evaluate.case import Operand, Scene
from tilecheck.evaluate.clauses import repeats, who
from tilecheck.evaluate.domain import TooLargeError, grid
from tilecheck.evaluate.expressions import LimitError
from tilecheck.evaluate.launch import Thread
from tilecheck.evaluate.model import Budget, Model
from tilecheck.evaluate.views import Coordinate

__all__ = ["TooLargeError", "failures", "observe"]

CELL = 32
Document = tuple[int, Mapping[str, Any], Mapping[str, Any], bool]
"""The place of a call in its kernel, its contract as data, its document, whether it is proved on its own."""
Columns = tuple[int, int]
Seen = tuple[str, str, str]
"""What is expected, what is found, and a sentence."""


class Place(Protocol):
    """Where a clause is looked at (see `prove.shared.Place`)."""

    @property
    def thread(self) -> tuple[int, int, int]: ...
    @property
    def group(self) -> Coordinate: ...
    @property
    def repeat(self) -> Coordinate: ...
    @property
    def atom(self) -> Coordinate: ...
    @property
    def other(self) -> tuple[tuple[int, int, int], Coordinate, Coordinate] | None: ...
    @property
    def others(self) -> Mapping[str, int] | None: ...


def observe(
    contract: Mapping[str, Any], call: Mapping[str, Any], question: Sequence[Any], symbols: Mapping[str, int], place: Place
) -> Seen | None:
    """Why a clause about one call fails at a place; None where it holds there, or is not owed."""
    model = Model(contract, call)
    scene, thread = Scene(model.case, symbols), Thread(*place.thread)
    if not _executes(model, scene, thread):
        return None
    if question[0] == "issuer":
        assert place.other is not None
        return _two(model, scene, thread, Scene(model.case, {**symbols, **(place.others or {})}), Thread(*place.other[0]), str(question[1]))
    if question[0] == "peer":
        return _lonely(model, scene, thread)
    if question[0] == "held":
        operand = model.operands[str(question[1])]
        return _outside(scene, thread, operand, (place.group, place.repeat, place.atom), question[2])
    assert place.other is not None
    written, read = model.operands[str(question[1])], model.operands[str(question[2])]
    mine = set(_cells(scene, thread, written, (*place.group, *place.repeat, *place.atom)))
    theirs = set(_cells(scene, thread, read, (*place.group, *place.other[1], *place.other[2])))
    shared = sorted(mine & theirs)
    if not shared:
        return None
    lane, column = shared[0]
    cell = f"lane {lane}, column {column}"
    sentence = f"{cell} is written as {written.label}{list(place.repeat + place.atom)} and read as {read.label}{list(place.other[1] + place.other[2])}"
    return f"no cell of {written.label} among those of {read.label}", cell, sentence


def _executes(model: Model, scene: Scene, thread: Thread) -> bool:
    """Whether a thread exists, the facts hold, and it executes with pred."""
    held = model.case.facts.hold(scene.values) and all(s.admits(scene.values[s.name]) for s in model.case.symbols if s.name in scene.values)
    return held and scene.active(thread) and scene.predicate(thread)


# --- who issues -------------------------------------------------------------------------------------------------------


def _two(model: Model, scene: Scene, thread: Thread, other_scene: Scene, other: Thread, issuer: str) -> Seen | None:
    """Two issuers of one CTA, or of one pair of CTAs."""
    unit = thread.cta // 2 == other.cta // 2 if issuer == "pair" else thread.cta == other.cta
    whole = model.case.launch.collective
    same = thread[:2] == other[:2] if whole else thread == other
    if not unit or same or not _executes(model, other_scene, other):
        return None
    what = "warp" if whole else "thread"
    words = [f"warp {t.warp} of CTA {t.cta}" if whole else f"{who(s, t)}" for s, t in ((scene, thread), (other_scene, other))]
    where = "pair of CTAs" if issuer == "pair" else "CTA"
    return f"one {what} of a {where}", f"{words[0]} and {words[1]}", f"{words[0]} and {words[1]} issue it, one {what} of a {where} may"


def _lonely(model: Model, scene: Scene, thread: Thread) -> Seen | None:
    """No warp of the other CTA of the pair executes."""
    peer = thread.cta ^ 1
    if any(_executes(model, scene, Thread(peer, warp, 0)) for warp in range(model.case.launch.warps)):
        return None
    return f"a warp of CTA {peer}, too", "none", f"warp {thread.warp} of CTA {thread.cta} executes it, no warp of CTA {peer} does"


# --- cells ------------------------------------------------------------------------------------------------------------


def _cells(scene: Scene, thread: Thread, operand: Operand, coordinate: Coordinate) -> Iterator[tuple[int, int]]:
    """(lane, column) of an element, then of its replicas."""
    fixed = scene.fixed(operand, thread)
    lane, bit = fixed.cell(coordinate)
    for shift in fixed.layout.copies():
        columns = shift.get("TCol", 0) + shift.get("m", 0)
        yield lane + shift.get("TLane", 0), (bit + columns * operand.view.declared_bits) // CELL


def _outside(
    scene: Scene, thread: Thread, operand: Operand, where: tuple[Coordinate, Coordinate, Coordinate], held: Sequence[Columns]
) -> Seen | None:
    """An element whose column is in no allocation."""
    group, repeat, atom = where
    lane, column = next(_cells(scene, thread, operand, (*group, *repeat, *atom)))
    if any(low <= column < high for low, high in held):
        return None
    said = ", ".join(f"{low} to {high - 1}" for low, high in held) or "none"
    sentence = f"element {list(repeat + atom)} of {operand.label} is in lane {lane}, column {column}; allocated columns are {said}"
    return f"a column among {said}", f"column {column}", sentence


# --- every point ------------------------------------------------------------------------------------------------------


def failures(documents: Sequence[Document], limit: int) -> set[str]:
    """The clauses that fail of all calls of a kernel that share one pool. TooLargeError where there are more points than the limit."""
    budget, found = Budget(limit), set[str]()
    groups = dict.fromkeys(str(contract["shared"]["pool"]["name"]) for _, contract, _, _ in documents)
    for name in groups:
        members = [one for one in documents if one[1]["shared"]["pool"]["name"] == name]
        held = _book(members, found)
        for k, contract, call, proved in members:
            if proved:
                model = Model(contract, call)
                assert model.case.shared is not None  # of the variant that the call has
                found |= set(_of_call(model, model.case.shared, held[k], budget.spend))
    return found


def _book(members: Sequence[Document], found: set[str]) -> dict[int, list[Columns] | None]:
    """What is allocated when each call is reached (None: the kernel allocates nothing); what is wrong with it goes to `found`."""
    spelled: dict[str, str] = {}
    held: list[Columns] = []
    at_call: dict[int, list[Columns]] = {}
    limit = int(members[0][1]["shared"]["pool"]["columns"])
    sizes, closed, frees = list[int](), False, False
    for k, contract, call, _ in members:
        shared = contract["shared"]
        given: Mapping[str, Any] = call.get("parameters") or {}
        for name, text in shared["alike"]:
            if spelled.setdefault(str(name), str(text)) != text:
                found.add(f"{name}.opcode")
        size, place = given.get(shared["size"]), given.get(shared["at"])
        size = size if isinstance(size, int) else None
        if shared["does"] == "closes":
            closed = True
        elif shared["does"] == "allocates" and size is not None:
            start = place if isinstance(place, int) else max([high for _, high in held], default=0)
            found |= {"allocation.operands"} if closed else set[str]()
            found |= {"allocation.shape"} if sizes and sizes[-1] < size else set[str]()
            taken = [column for low, high in held for column in range(low, high)]
            new = range(start, start + size)
            if len(taken) + size > limit or set(taken) & set(new) or start + size > limit:
                found.add("allocation.footprint")
            sizes.append(size)
            held.append((start, start + size))
        elif shared["does"] == "frees" and size is not None:
            frees = True
            fits = [one for one in held if one[1] - one[0] == size and (not isinstance(place, int) or one[0] == place)]
            if fits:
                held.remove(fits[-1])
            else:
                found.add("allocation.operands")
        at_call[k] = list(held)
    if frees and held:
        found.add("allocation.operands")
    return {k: at_call[k] if sizes else None for k in at_call}


def _of_call(model: Model, shared: Mapping[str, Any], held: list[Columns] | None, spend: Callable[[], None]) -> Iterator[str]:
    """The clauses of one call that fail somewhere."""
    scenes = list(model.scenes({symbol.name for symbol in model.case.symbols}))
    if shared["issuer"] and _issued_twice(model, scenes, str(shared["issuer"]), spend):
        yield "issue.participation"
    pool = str(shared["pool"]["space"])
    inside = {operand.name: Cells(operand, spend) for operand in model.case.operands if operand.view.space == pool}
    if held is not None and any(_strays(scene, cells, held) for scene in scenes for cells in inside.values()):
        yield "columns.footprint"
    for first, second in shared["apart"]:
        if first in inside and second in inside and any(_meet(scene, inside[first], inside[second]) for scene in scenes):
            yield f"{first}.distinct"


def _issued_twice(model: Model, scenes: Sequence[Scene], issuer: str, spend: Callable[[], None]) -> bool:
    """Whether two issuers meet, or a CTA of a pair has none. Symbols that vary inside a cluster are left to the prover."""
    if any(symbol.varies not in {"grid", "cluster"} for symbol in model.case.symbols):
        raise TooLargeError("a symbol that varies")
    whole = model.case.launch.collective
    for scene in scenes:
        issuing: set[tuple[int, ...]] = set()
        for thread in scene.launch.threads:
            spend()
            if scene.active(thread) and scene.predicate(thread):
                issuing.add(thread[:2] if whole else tuple(thread))
        units = [one[0] // 2 if issuer == "pair" else one[0] for one in issuing]
        if len(units) != len(set(units)) or (issuer == "each" and any(cta ^ 1 not in units for cta in units)):
            return True
    return False


class Cells:
    """The cells that a thread accesses as one operand, worked out once for all threads and symbol values that see the same."""

    def __init__(self, operand: Operand, spend: Callable[[], None]) -> None:
        self.operand, self.spend = operand, spend
        self.known: dict[tuple[object, ...], frozenset[tuple[int, int]]] = {}

    def of(self, scene: Scene, thread: Thread) -> frozenset[tuple[int, int]]:
        """(lane, column) of every element in every repeat, replicas included. LimitError where the view has no value."""
        operand, group, number = self.operand, scene.group(thread), scene.launch.number(thread)
        environment = scene.environment(thread)
        seen = (group, number if operand.holder_term is not None else None, *(environment[name] for name in operand.view.names))
        if seen not in self.known:
            found: set[tuple[int, int]] = set()
            for repeat, atom in product(grid(repeats(scene, operand)), operand.atoms_of(number)):
                self.spend()
                found.update(_cells(scene, thread, operand, (*group, *repeat, *atom)))
            self.known[seen] = frozenset(found)
        return self.known[seen]


def _accessing(scene: Scene) -> Iterator[Thread]:
    return (thread for thread in scene.launch.threads if scene.active(thread) and scene.predicate(thread))


def _strays(scene: Scene, cells: Cells, held: Sequence[Columns]) -> bool:
    """Whether a cell is in no allocation."""
    columns = {column for low, high in held for column in range(low, high)}
    try:
        return any(column not in columns for thread in _accessing(scene) for _, column in cells.of(scene, thread))
    except LimitError:
        return False


def _meet(scene: Scene, written: Cells, read: Cells) -> bool:
    """Whether a thread writes a cell as one operand and reads it as another."""
    try:
        return any(not written.of(scene, thread).isdisjoint(read.of(scene, thread)) for thread in _accessing(scene))
    except LimitError:
        return False
