"""Brute force over the clauses of copies of boxes: the first point at which each fails, and the hazards of a legal call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import prod

from tilecheck.evaluate.boxes import ELEMENTS, Boxes, Issue, Spend, unmixed
from tilecheck.evaluate.case import Case, Scene
from tilecheck.evaluate.clauses import Observation
from tilecheck.evaluate.domain import TooLargeError
from tilecheck.evaluate.expressions import Expression, LimitError
from tilecheck.evaluate.fields import Fields
from tilecheck.evaluate.launch import THREAD_NAMES, Thread
from tilecheck.evaluate.parameters import copies
from tilecheck.evaluate.views import Coordinate, FixedView

Where = tuple[Mapping[str, int], int | None, int | None, int | None, Coordinate, Coordinate, Coordinate]
"""Symbols, CTA, warp, lane, group, repeat, atom."""


def _apart(fixed: FixedView) -> bool:
    """Whether every axis passes all that the axes of smaller strides reach."""
    extents = fixed.shapes[-1]
    zero = (0,) * len(extents)
    first, reach = fixed.address(zero), fixed.view.bits
    steps = [fixed.address(tuple(int(j == k) for j in range(len(zero)))) - first for k, extent in enumerate(extents) if extent > 1]
    for stride, extent in sorted(zip(steps, (extent for extent in extents if extent > 1), strict=True)):
        if stride < reach:
            return False
        reach += (extent - 1) * stride
    return True


NOWHERE: Where = ({}, None, None, None, (), (), ())
Writer = tuple[Issue, Mapping[str, int]]
LEVELS = ("cta", "warp", "thread")


class BoxPoints(Boxes):
    """The clauses at points: `scenes` gives the first scene for every combination of values of some symbols."""

    def __init__(self, case: Case, fields: Fields, scenes: Callable[[set[str]], Iterator[Scene]]) -> None:
        super().__init__(case, fields)
        self.scenes = scenes

    # --- one point ---------------------------------------------------------------------------------------------------

    def observe(
        self, clause: str, scene: Scene, thread: Thread | None, at: tuple[Coordinate, Coordinate, Coordinate], symbols: Mapping[str, int]
    ) -> Observation | None:
        """Why a clause fails at a point; None where it holds, or where the point is outside its domain. at: group, repeat and atom."""
        found = self.static(clause)
        if found is not None:
            return found
        group, repeat, atom = at
        name, _, short = clause.partition(".")
        if clause == "descriptor":
            problems = self.geometry(scene) if self._readable(scene) else {}
            if not problems and self._readable(scene) and not self._addressed(scene):
                problems = {"an address of the map at a multiple of what it asks": "none is possible"}
            return None if not problems else self.described(*next(iter(problems.items())))
        if name == self.tensor.name:
            if not self._readable(scene):
                return None
            return self.tensor_clause(short, scene, symbols.get(f"base({self.tensor.tensor})", self._residues()[0]))
        if short == "base.period":
            return self.period()
        if thread is None or not (scene.active(thread) and scene.predicate(thread)):
            return None
        if clause == "coords.index.range":
            return self.index_range(scene, thread)
        if scene.group(thread) != tuple(group):
            return None
        issue = (thread, tuple(group), tuple(repeat))
        if clause == "coords":
            return self.issue(clause, scene, issue)
        if clause == "coords.bounds":
            return self.start(scene, issue)
        assert self.image is not None
        if short == "backing":
            return self.backed(scene, issue, tuple(atom))
        if short == "aligned":
            residues = self.residues()
            residue = symbols.get(f"base({self.image.tensor})", residues[0])
            return self.aligned(scene, issue, residue) if residue in residues and not any(atom) else None
        return self.imaged(scene, issue, tuple(atom))

    def described(self, demand: str, actual: str) -> Observation:
        """A demand on extents and strides that is not met."""
        return Observation(demand, actual, f"descriptor of {self.tensor.label}: expected {demand}, found {actual}.")

    def _readable(self, scene: Scene) -> bool:
        """Whether the view of the tensor can be read without a thread, and has the rank of the map."""
        names = self.tensor.view.names
        ranked = self.fields.tensor_shape_problem(self.tensor.view.static_shape) is None
        return ranked and all(name in scene.values for name in names) and THREAD_NAMES.isdisjoint(names)

    def _residues(self) -> list[int]:
        return self.known(self.tensor, self.fields.align_bytes)

    # --- every point -------------------------------------------------------------------------------------------------

    def first(self, clause: str, spend: Spend) -> Where | None:
        """The first point at which a clause fails."""
        if self.static(clause) is not None:
            return NOWHERE
        name, _, short = clause.partition(".")
        settled = {"type", "owner"} if None in self.tensor.view.static_shape[-1:] else {"type", "owner", "shape"}
        if clause in {"box", f"{self.barrier}.storage"} or (name == self.tensor.name and short in settled):
            return None
        if clause == "descriptor":
            return self._first_geometry(spend)
        if name == self.tensor.name:
            return self._first_of_tensor(short, spend)
        if short == "base.period":
            return NOWHERE if self.period() is not None else None
        if clause == "coords.index.range":
            return self._first_thread(spend)
        return self._first_issue(clause, spend)

    def _first_geometry(self, spend: Spend) -> Where | None:
        """The first values, where no values meet every demand; else the host sees to it."""
        if not THREAD_NAMES.isdisjoint(self.tensor.view.names) or self.fields.tensor_shape_problem(self.tensor.view.static_shape):
            return None
        names, right, first, together, address = set(self.tensor.view.names), False, None, False, False
        for scene in self.scenes(names):
            spend()
            if self.tensor_clause("shape", scene) or self.tensor_clause("bounds", scene, spend=spend):
                return None
            broken = self.geometry(scene, spend)
            if "a box of extents and strides" in broken:
                return self._symbolic(scene, names)
            first = first or self._symbolic(scene, names)
            addressed = self._addressed(scene)
            right, address = right or not broken, address or addressed
            together = together or (addressed and not broken)
        return None if together or (right and not address) else first

    def _addressed(self, scene: Scene) -> bool:
        """Whether some address is right, in a map that the caller has encoded; any other must be right whatever it is."""
        return not self.opaque or any(self.tensor_clause("aligned", scene, residue) is None for residue in self._residues())

    def _declared(self, scene: Scene) -> dict[str, int]:
        """The values of the declared symbols: no thread is named, so no lane is elected."""
        return {symbol.name: scene.values[symbol.name] for symbol in self.case.facts.symbols}

    def _symbolic(self, scene: Scene, names: set[str]) -> Where:
        return (self._declared(scene) if names else {}, None, None, None, (), (), ())

    def _first_of_tensor(self, short: str, spend: Spend) -> Where | None:
        names = set(self.tensor.view.names)
        if not THREAD_NAMES.isdisjoint(names):
            return None
        residues = self._residues() if short == "aligned" else [0]
        entrusted, first = short == "aligned" and self.tensor.view.space == "tensormap", None
        for scene in self.scenes(names):
            for residue in residues:
                spend()
                if self.tensor_clause(short, scene, residue, spend) is None:
                    if entrusted:  # some address is right: whoever encoded the map has seen to it
                        return None
                elif first is None:
                    base = {f"base({self.tensor.tensor})": residue} if len(residues) > 1 else {}
                    values = self._declared(scene) if names or short == "aligned" else {}
                    first = ({**values, **base}, None, None, None, (), (), ())
                if first is not None and not entrusted:
                    return first
        return first

    def _first_thread(self, spend: Spend) -> Where | None:
        for scene in self.scenes({symbol.name for symbol in self.case.symbols}):
            for thread in scene.launch.threads:
                spend()
                if scene.active(thread) and scene.predicate(thread) and self.index_range(scene, thread) is not None:
                    return (scene.values, thread.cta, thread.warp, thread.lane, (), (), ())
        return None

    def _names(self, clause: str) -> set[str]:
        """The symbols that a clause about instructions depends on."""
        names = {*self.case.activity_names, *(self.case.pred.names if self.case.pred is not None else ())}
        if clause in {"coords", "coords.bounds"}:
            texts = (*self.fields.coords, *self.fields.rows, *self.fields.moved, *(entry for step in self.fields.steps for entry in step))
            names |= {name for text in texts if isinstance(text, str) for name in Expression(text).names}
            return names | (set(self.tensor.view.names) if clause == "coords.bounds" else set())
        return names | set(self.image.view.names if self.image is not None else ())

    def _first_issue(self, clause: str, spend: Spend) -> Where | None:
        """The first instruction, and for `image` the first element of it, at which a clause fails."""
        residues, base = [0], ""
        if clause.endswith(".aligned") and self.image is not None:
            residues = self.residues()
            base = f"base({self.image.tensor})"
        for scene in self.scenes(self._names(clause)):
            for residue in residues:
                for issue in self.issues(scene):
                    symbols = {**scene.values, **({base: residue} if len(residues) > 1 else {})}
                    for atom in self._atoms(clause):
                        spend()
                        if self._fails(clause, scene, issue, residue, atom) is not None:
                            cta, warp, lane = issue[0]
                            return (symbols, cta, warp, lane, issue[1], issue[2], () if clause.startswith("coords") else atom)
        return None

    def _atoms(self, clause: str) -> Iterator[Coordinate]:
        if clause.endswith((".image", ".backing")) and self.image is not None:
            return product(*(range(extent) for extent in self.image.atom_extents))
        return iter(((0,) * (len(self.image.atom_extents) if self.image is not None else 0),))

    def _fails(self, clause: str, scene: Scene, issue: Issue, residue: int, atom: Coordinate) -> Observation | None:
        if clause == "coords":
            return self.issue(clause, scene, issue)
        if clause == "coords.bounds":
            return self.start(scene, issue)
        if clause.endswith(".backing"):
            return self.backed(scene, issue, atom)
        return self.imaged(scene, issue, atom) if clause.endswith(".image") else self.aligned(scene, issue, residue)

    def haloed(self, spend: Spend) -> bool:
        """Whether an instruction loads halo pixels into an image."""
        halo = self.fields.halo
        if self.image is None or not isinstance(halo, str):
            return self.image is not None and not self.fields.plain
        for scene in self._every():
            for thread in scene.launch.threads:
                spend()
                try:
                    if scene.active(thread) and scene.predicate(thread) and Expression(halo).value(scene.environment(thread)) != 0:
                        return True
                except LimitError:
                    continue
        return False

    # --- hazards -----------------------------------------------------------------------------------------------------

    def hazards(self, spend: Spend) -> Iterator[str]:
        """The ids of the hazards of a legal call."""
        stored = self.fields.spec["store"]
        if (self.image is not None and self.image.write and self._meet(self._loaded, spend)) or (
            stored and self.fields.spec["types"] is None and self._written_twice(spend)
        ):
            yield "memory.race"
        if stored and self._tail(spend):
            yield "store.tail"
        if self.fields.spec["rows"] and self._unused(spend):
            yield "coords.unused"
        if self.case.launch.scope == "thread" and self._many(spend):
            yield "issue.many"

    def _written_twice(self, spend: Spend) -> bool:
        """A place of the tensor is stored twice; of a walk over elements that share places any two are taken to be."""
        shared = self._overlapping()
        if shared and self.fields.walk is not None:
            return True
        return self._meet(self._stored_places if shared else self._stored, spend)

    def _unused(self, spend: Spend) -> bool:
        """An instruction has a row coordinate in coords[0], where rows are chosen one by one."""
        for scene in self._every():
            for issue in self.issues(scene):
                spend()
                try:
                    self.position(scene, issue)
                    if Expression(self.fields.coords[0]).value(scene.environment(issue[0])) != 0:
                        return True
                except LimitError:
                    continue
        return False

    def _overlapping(self) -> bool:
        """Whether elements of the tensor share a place, whatever box is stored; symbolic tensors are not looked at."""
        if self.tensor.view.declared_names:
            return False
        for scene in self.scenes(set(self.tensor.view.names)):
            fixed = scene.fixed(self.tensor, None)
            extents = fixed.shapes[-1]
            if prod(extents) > ELEMENTS:
                if not unmixed(fixed):
                    raise TooLargeError("a tensor of too many elements")
                return not _apart(fixed)
            places = {fixed.address(c) for c in product(*(range(extent) for extent in extents))}
            if len(places) < prod(extents):
                return True
        return False

    def _every(self) -> Iterator[Scene]:
        yield from self.scenes({symbol.name for symbol in self.case.symbols})

    def _meet(self, places: Callable[[Scene, Issue], Iterator[object]], spend: Spend) -> bool:
        """Two instructions have a place in common, with values of varying symbols that can hold at once, or one has a place twice."""
        varying = {symbol.name: symbol.varies for symbol in self.case.varying(LEVELS)}
        written: dict[object, list[Writer]] = {}
        for scene in self._every():
            uniform = tuple(value for name, value in scene.values.items() if name not in varying)
            for issue in self.issues(scene):
                own = set[object]()
                for at in places(scene, issue):
                    spend()
                    others = written.setdefault((uniform, at), [])
                    if at in own or any(self._together(varying, (issue, scene.values), other) for other in others):
                        return True
                    own.add(at)
                    others.append((issue, scene.values))
            if not varying:
                written.clear()
        return False

    def _together(self, varying: Mapping[str, str], one: Writer, other: Writer) -> bool:
        """Whether two writes are of two instructions of one execution."""
        if (one[0][0], one[0][2]) == (other[0][0], other[0][2]):
            return False
        shared = {level for count, level in enumerate(LEVELS, start=1) if one[0][0][:count] == other[0][0][:count]}
        return all(one[1][name] == other[1][name] for name, level in varying.items() if level in shared)

    def _loaded(self, scene: Scene, issue: Issue) -> Iterator[object]:
        """The places in shared memory that an instruction writes: copy of the tensor, bit."""
        assert self.image is not None
        fixed = scene.fixed(self.image, issue[0])
        atoms = [fixed.address((*issue[1], *issue[2], *atom)) for atom in product(*(range(e) for e in self.image.atom_extents))]
        for copy in copies(scene, self.image, issue[0]):
            for bit in atoms:
                yield copy, bit

    def _stored(self, scene: Scene, issue: Issue) -> Iterator[Coordinate]:
        """The elements of the tensor that an instruction writes."""
        try:
            at = self.position(scene, issue)
        except LimitError:
            return
        extents = scene.fixed(self.tensor, None).shapes[-1]
        for element in self.elements(at, extents):
            if all(0 <= c < extent for c, extent in zip(element, extents, strict=False)):
                yield element

    def _stored_places(self, scene: Scene, issue: Issue) -> Iterator[object]:
        """The places of the elements that an instruction writes."""
        fixed = scene.fixed(self.tensor, None)
        inner = [range(extent) for extent in fixed.shapes[-1][self.fields.rank :]]
        for element in self._stored(scene, issue):
            yield from (fixed.address((*element, *slot)) for slot in product(*inner))

    def elements(self, at: list[int], extents: Sequence[int], moved: Sequence[int] = ()) -> Iterator[Coordinate]:
        """The coordinates of the tensor that a box at a position samples (without the axis of a slice).

        extents: of the tensor. moved: by how much a walk reads beside the pixels that it visits, along its axes.
        """
        fields = self.fields
        if fields.walk is not None:
            offsets = dict(zip(fields.spatial, moved, strict=False))
            for pixel in fields.visited(at, extents):
                there = tuple(one + offsets.get(k, 0) for k, one in enumerate(pixel))
                yield from ((there,) if fields.interleave else ((*there[:-1], there[-1] + c) for c in range(fields.channels)))
            return
        steps = [range(0, extent, stride) for extent, stride in zip(fields.box, fields.strides, strict=True)]
        if fields.spec["rows"]:
            yield from ((row, at[-1] + c) for row in at[:-1] for c in steps[-1])
            return
        if fields.slices is not None:
            steps[1] = range(1)
        yield from (tuple(a + c for a, c in zip(at, offset, strict=True)) for offset in product(*steps))

    def _tail(self, spend: Spend) -> bool:
        """A stored row inside the tensor crosses the end of an extent that is no multiple of 16 bytes."""
        if self.fields.slices is not None:
            return False
        for scene in self._every():
            extents = scene.fixed(self.tensor, None).shapes[-1]
            extent = extents[-1]
            if extent * self.fields.bits % (8 * self.fields.limits["multiple_bytes"]) == 0:
                continue
            for issue in self.issues(scene):
                spend()
                try:
                    *outer, start = self.position(scene, issue)
                except LimitError:
                    continue
                if self.fields.spec["rows"]:
                    inside = any(row < extents[0] for row in outer)
                else:
                    inside = all(one < limit for one, limit in zip(outer, extents, strict=False))
                if inside and start < extent < start + self.fields.box[-1]:
                    return True
        return False

    def _many(self, spend: Spend) -> bool:
        """Two threads of one CTA execute the call at thread scope, with values that can hold at once."""
        varying = {symbol.name: symbol.varies for symbol in self.case.varying(LEVELS)}
        seen: dict[object, list[Writer]] = {}
        for scene in self._every():
            uniform = tuple(value for name, value in scene.values.items() if name not in varying)
            for thread in scene.launch.threads:
                if not (scene.active(thread) and scene.predicate(thread)):
                    continue
                spend()
                others = seen.setdefault((uniform, thread.cta), [])
                own: Writer = ((thread, (), ()), scene.values)
                if any(other[0][0] != thread and self._together(varying, own, other) for other in others):
                    return True
                others.append(own)
        return False
