"""What the calls of a kernel share, decided in plain numbers: from the contracts as data, the documents of the calls, and every point of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Protocol

from tilecheck.evaluate.case import Operand, Scene
from tilecheck.evaluate.clauses import repeats
from tilecheck.evaluate.domain import TooLargeError, grid
from tilecheck.evaluate.expressions import LimitError
from tilecheck.evaluate.issuers import executes, issued_twice, lonely, two
from tilecheck.evaluate.launch import Thread
from tilecheck.evaluate.ledger import LEVELS, Columns, Document, Ledger, Walk
from tilecheck.evaluate.model import Budget, Model
from tilecheck.evaluate.tmem import CELL
from tilecheck.evaluate.views import Coordinate

__all__ = ["TooLargeError", "fails", "failures", "observe"]

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
    @property
    def known(self) -> Mapping[str, int] | None: ...


def observe(documents: Sequence[Document], index: int, question: Sequence[Any], symbols: Mapping[str, int], place: Place) -> Seen | None:
    """Why a clause about one call fails at a place; None where it holds there, or is not owed. documents: those of all calls that share the pool."""
    contract, call = next(one[1:3] for one in documents if one[0] == index)
    model = Model(contract, call)
    scene, thread = Scene(model.case, symbols), Thread(*place.thread)
    if not executes(model, scene, thread):
        return None
    if question[0] == "issuer":
        assert place.other is not None
        return two(model, scene, thread, Scene(model.case, {**symbols, **(place.others or {})}), Thread(*place.other[0]), str(question[1]))
    if question[0] == "peer":
        return lonely(model, scene, thread, place.others or {})
    if question[0] == "held":
        book, known = Ledger(documents), place.known or {}
        held = book.walk(known, thread.cta ^ int(question[2])).held[index]
        stray = _outside(scene, thread, model.operands[str(question[1])], (place.group, place.repeat, place.atom), held)
        return stray if book.holds(known) and _agrees(model, scene, known, peer=bool(question[2])) else None
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


def _agrees(model: Model, scene: Scene, known: Mapping[str, int], *, peer: bool) -> bool:
    """Whether a call has the symbols as the allocations of the kernel have them; of those of the other CTA of its pair only what is one for both."""
    kept = {"grid", "cluster"} if peer else {*LEVELS}
    names = {s.name: f"{s.name}@{LEVELS[s.varies]}" for s in model.case.facts.symbols if s.varies in kept}
    return all(known.get(key, scene.values[name]) == scene.values[name] for name, key in names.items())


def fails(documents: Sequence[Document], clause: str, known: Mapping[str, int], cta: int) -> bool:
    """Whether a clause about what calls allocate and free fails in a CTA, at values of their symbols."""
    return Ledger(documents).failing(clause, known, cta)


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
    """The clauses that fail of all calls of a kernel, pool by pool, and its hazards. TooLargeError where there are more points than the limit."""
    budget, found = Budget(limit), set[str]()
    groups = dict.fromkeys(str(contract["shared"]["pool"]["name"]) for _, contract, _, _ in documents)
    for name in groups:
        members = [one for one in documents if one[1]["shared"]["pool"]["name"] == name]
        found |= _spelled(members)
        book = Ledger(members)
        holdings = Holdings(book, budget.spend)
        found |= holdings.failing
        for k, contract, call, proved in members:
            if proved:
                model = Model(contract, call)
                assert model.case.shared is not None  # of the variant that the call has
                found |= set(_of_call(model, model.case.shared, holdings if book.given else None, k, budget.spend))
    return found


def _spelled(members: Sequence[Document]) -> set[str]:
    """The clauses about qualifiers that two calls write differently."""
    spelled: dict[str, str] = {}
    pairs = ((str(name), str(text)) for _, contract, _, _ in members for name, text in contract["shared"]["alike"])
    return {f"{name}.opcode" for name, text in pairs if spelled.setdefault(name, text) != text}


class Holdings:
    """What every CTA holds at all values of the symbols; failing: what is wrong with it, and the hazard of a kernel that keeps what it allocates."""

    def __init__(self, book: Ledger, spend: Callable[[], None]) -> None:
        self.walks: list[tuple[Mapping[str, int], int, Walk]] = []
        for values in book.assignments(spend):
            for cta in range(book.ctas):
                spend()
                self.walks.append((values, cta, book.walk(values, cta)))
        if not self.walks:
            raise TooLargeError("no values of the symbols that all calls admit")
        self.failing = {clause for _, _, walk in self.walks for clause in walk.failing}
        if any(walk.kept for _, _, walk in self.walks):
            self.failing.add("allocation.operands" if any(walk.freed for _, _, walk in self.walks) else "allocation.kept")

    def at(self, model: Model, index: int) -> Iterator[tuple[Scene, int, set[tuple[Columns, ...]]]]:
        """For each scene of a call and each CTA that accesses: what the CTA (and the other one of its pair) may hold there."""
        levels = {s.name: f"{s.name}@{LEVELS[s.varies]}" for s in model.case.facts.symbols if s.varies in LEVELS}
        for peer in (0, 1) if model.case.pair else (0,):
            names = {name: key for name, key in levels.items() if not peer or key.endswith("@grid")}
            names = {name: key for name, key in names.items() if key in self.walks[0][0]}
            found: dict[tuple[int, ...], set[tuple[Columns, ...]]] = {}
            for values, cta, walk in self.walks:
                found.setdefault((cta, *(values[key] for key in names.values())), set()).add(walk.held[index])
            for scene in model.scenes({symbol.name for symbol in model.case.symbols}):
                for cta in range(scene.launch.ctas):
                    yield scene, cta, found.get((cta ^ peer, *(scene.values[name] for name in names)), set())


def _of_call(model: Model, shared: Mapping[str, Any], held: Holdings | None, index: int, spend: Callable[[], None]) -> Iterator[str]:
    """The clauses of one call that fail somewhere."""
    scenes = list(model.scenes({symbol.name for symbol in model.case.symbols}))
    if shared["issuer"] and issued_twice(model, scenes, str(shared["issuer"]), spend):
        yield "issue.participation"
    pool = str(shared["pool"]["space"])
    inside = {operand.name: Cells(operand, spend) for operand in model.case.operands if operand.view.space == pool}
    if held is not None and any(_strays(*one, cells) for one in held.at(model, index) for cells in inside.values()):
        yield "columns.footprint"
    for first, second in shared["apart"]:
        if first in inside and second in inside and any(_meet(scene, inside[first], inside[second]) for scene in scenes):
            yield f"{first}.distinct"


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


def _strays(scene: Scene, cta: int, holdings: set[tuple[Columns, ...]], cells: Cells) -> bool:
    """Whether a thread of a CTA accesses a cell that is in no allocation, for one of the things that may be held."""
    allocated = [{column for low, high in held for column in range(low, high)} for held in holdings]
    threads = (thread for thread in _accessing(scene) if thread.cta == cta) if allocated else ()
    try:
        return any(column not in columns for thread in threads for _, column in cells.of(scene, thread) for columns in allocated)
    except LimitError:
        return False


def _meet(scene: Scene, written: Cells, read: Cells) -> bool:
    """Whether a thread writes a cell as one operand and reads it as another."""
    try:
        return any(not written.of(scene, thread).isdisjoint(read.of(scene, thread)) for thread in _accessing(scene))
    except LimitError:
        return False
