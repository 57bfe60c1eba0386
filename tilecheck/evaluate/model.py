"""The model of one call: clauses at points, and brute force over every point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

from tilecheck.evaluate import clauses, descriptors, parameters, tmem
from tilecheck.evaluate.box_image import BoxImage
from tilecheck.evaluate.box_points import BoxPoints
from tilecheck.evaluate.case import Case, Operand, Scene
from tilecheck.evaluate.cell_products import CellProducts
from tilecheck.evaluate.cells import CellImage
from tilecheck.evaluate.clauses import ELEMENT_CLAUSES, UNDER_PRED, Observation, Site
from tilecheck.evaluate.computed import Computations
from tilecheck.evaluate.copied_cells import CellCopies
from tilecheck.evaluate.domain import TooLargeError, grid
from tilecheck.evaluate.expressions import LimitError
from tilecheck.evaluate.fields import specialised
from tilecheck.evaluate.hazards import hazards
from tilecheck.evaluate.launch import THREAD_NAMES, Thread
from tilecheck.evaluate.participation import participation
from tilecheck.evaluate.predict import Image, Prediction, UnpredictedError, Values
from tilecheck.evaluate.products import Products
from tilecheck.evaluate.views import Coordinate

LIMIT = 2_000_000
PRED_POINTS = 200_000
"""The points at which `observe` looks for a thread that executes with pred; beyond them one is taken for granted."""
PLACED = {"storage", "shape", "bounds"}
"""The clauses without which the places of an operand are not known."""
ADDRESSED = {"storage", "participation", "shape", "bounds"}
"""The clauses without which the accesses of a call are not known."""


@dataclass(frozen=True, slots=True)
class Point:
    """Where a clause is decided: symbols in declaration order (then `elected`, then `base(TENSOR)`), thread, coordinates."""

    symbols: Mapping[str, int] = field(default_factory=dict[str, int])
    cta: int | None = None
    warp: int | None = None
    lane: int | None = None
    group: Coordinate = ()
    repeat: Coordinate = ()
    atom: Coordinate = ()

    def thread(self) -> Thread:
        """The thread, which the clause must have."""
        if self.cta is None or self.warp is None or self.lane is None:
            raise ValueError("the point names no thread")
        return Thread(self.cta, self.warp, self.lane)


@dataclass(frozen=True, slots=True)
class Answer:
    """What brute force says of a call: "proved", "refuted", "vacuous" or "too-large"."""

    status: str
    failures: dict[str, Point] = field(default_factory=dict[str, Point])
    hazards: frozenset[str] = frozenset()


class Budget:
    """How many points may still be looked at."""

    def __init__(self, limit: int) -> None:
        self.left = limit

    def spend(self, points: int = 1) -> None:
        """Count points; TooLargeError when there are too many."""
        self.left -= points
        if self.left < 0:
            raise TooLargeError("more points than the limit")


class Model:
    """One contract (as data) applied by one call (its document)."""

    def __init__(self, contract: Mapping[str, Any], call: Mapping[str, Any]) -> None:
        contract, fields = specialised(contract, call)
        self.case = Case(contract, call)
        self.boxes = None if fields is None or self.case.problem is not None else BoxPoints(self.case, fields, self.scenes)
        """The clauses of a copy of a box."""
        self.operands = {operand.name: operand for operand in self.case.operands}
        described = [o for o in self.case.operands if o.described is not None and o.described["descriptor"] in self.case.parameters]
        self.matrices = {o.name: descriptors.Matrix(self.case, o) for o in described}
        """The operands that are read through a descriptor."""
        given = [p for p in self.case.specs.values() if p["name"] in self.case.parameters and p["kind"] in parameters.LIMITED]
        given = [p for p in given if p["kind"] not in {"u64", "words"} or parameters.expressed(self.case.parameters[p["name"]])]
        self.unplaced: set[str] = set()
        """The operands that have been found to have no known places."""
        self.limited = tuple(f"{p['name']}.{short}" for p in given for short in parameters.LIMITED[p["kind"]])
        """The clauses about parameters that say what is accessed."""
        self.scalars = tuple(f"{name}.type" for name in self.case.scalars)
        """The clauses about the values of expressions in the place of operands."""
        self.shapes = tuple(
            f"{p['name']}.shape" for p in self.case.specs.values() if p["kind"] == "shape" and p["name"] in self.case.parameters
        )
        """The clauses about the shape that the call says of the instruction."""
        self.clauses = ("operands", *self._operand_clauses()) if self.case.problem is None else ("operands",)

    def _operand_clauses(self) -> Iterator[str]:
        operands = self.case.operands
        if self.case.pair:
            yield "cluster"
        given = [p for p in self.case.specs.values() if p["name"] in self.case.parameters]
        if self.boxes is not None:
            yield from (*self.limited, *self.boxes.clauses(), *(f"{p['name']}.operands" for p in given if p["kind"] == "bytes"))
            return
        yield from (f"{p['name']}.storage" for p in given if p["kind"] == "barrier")
        yield from self.shapes
        if self.case.chunk is not None:
            yield f"{self.case.chunk}.shape"
        yield from (f"{o.name}.storage" for o in operands)
        yield from (f"{o.name}.type" for o in operands if o.dtypes is not None)
        yield from self.scalars
        yield "participation"
        yield from (f"{o.name}.shape" for o in operands)
        yield from (f"{o.name}.owner" for o in operands)
        yield from (f"{o.name}.replica" for o in operands if o.write or o.matrix is not None)
        yield from (f"{o.name}.distinct" for o in operands if o.register and o.write)
        yield "index.range"
        yield from self.limited
        yield from (f"{p['name']}.operands" for p in given if p["kind"] == "bytes")
        yield from (f"{o.name}.index.range" for o in operands)
        yield from (f"{o.name}.bounds" for o in operands)
        yield from (f"{o.name}.backing" for o in operands if o.name not in self.matrices)
        yield from (f"{o.name}.contiguous" for o in operands if not o.register and o.described is None and o.matrix is None)
        yield from (f"{o.name}.aligned" for o in operands if not o.register and o.matrix is None)
        yield from (f"{o.name}.{short}" for o in operands if o.matrix is not None for short in tmem.clauses(o.matrix))
        yield from (f"{o.name}.{short}" for o in operands if o.name in self.matrices for short in ("base.period", "descriptor", "backing"))

    def _parts(self, clause: str) -> tuple[Operand | None, str]:
        if clause not in self.clauses:
            raise ValueError(f"no clause {clause!r} here; there are {', '.join(self.clauses)}")
        name, _, short = clause.partition(".")
        return (self.operands[name], short) if name in self.operands else (None, clause)

    # --- one point -----------------------------------------------------------------------------------------------

    def observe(self, clause: str, point: Point) -> Observation | None:
        """Why the clause fails at the point; None where it holds, or where the point is outside the clause's domain."""
        operand, short = self._parts(clause)
        if short == "base.period" and not self._accessing():
            return None
        if short == "operands":
            return self._operands()
        if operand is None and clause.endswith(".storage") and self.boxes is None:
            return self._barrier(clause)
        if clause == "cluster":
            return parameters.lonely(self.case.launch.ctas)
        if clause == f"{self.case.chunk}.shape":
            return self._chunk()
        if clause in self.shapes:
            return self._shaped(clause)
        if operand is not None and short == "type" and self.boxes is None:
            return clauses.container(operand)
        values = self._values(point)
        scene = Scene(self.case, values)
        if self.boxes is not None and (self.boxes.own(clause) or (point.cta is not None and self._pads(operand, short))):
            admitted = not point.symbols or (self._admitted(scene) and self.case.facts.hold(scene.values))
            thread = None if point.cta is None else point.thread()
            return self.boxes.observe(clause, scene, thread, (point.group, point.repeat, point.atom), point.symbols) if admitted else None
        if clause.endswith(".operands"):
            held = self._admitted(scene) and self.case.facts.hold(scene.values)
            return parameters.transaction(self.case, scene, lambda: None) if held else None
        if clause in self.limited or clause in self.scalars:
            return self._limited(clause, scene, point.thread())
        if operand is None:
            thread = None if point.cta is None else point.thread()
            return self._call_clause(short, scene, thread)
        if short == "storage":
            return clauses.element(operand) or self._split(scene, operand, point)
        matrix = self.matrices.get(operand.name)
        if matrix is not None and point.cta is None and short in {"base.period", "descriptor"}:
            return matrix.period() if short == "base.period" else matrix.fields()
        if short in {"shape", "replica"} or (short == "backing" and point.cta is None):
            return self._operand_clause(short, scene, operand)
        return self._element(short, scene, operand, point)

    def _operands(self) -> Observation | None:
        if self.case.problem is None:
            return None
        expected, actual = self.case.problem
        return Observation(expected, actual, f"{self.case.opcode}: expected {expected}, found {actual}.")

    def _barrier(self, clause: str) -> Observation | None:
        name = clause.partition(".")[0]
        space = str(self.case.parameters[name])
        return (
            None
            if space == "shared"
            else Observation("shared memory", space, f"{name} is in {space} memory, a barrier is in shared memory.")
        )

    def _chunk(self) -> Observation | None:
        case = self.case
        return (
            None if case.chunk is None else parameters.chunk_problem(case.specs[case.chunk], case.parameters[case.chunk], case.chunk_bits)
        )

    def _shaped(self, clause: str) -> Observation | None:
        name = clause.partition(".")[0]
        if self.case.sized is not None:
            return parameters.size_problem(name, self.case)
        return parameters.instruction_problem(self.case.specs[name], self.case.parameters[name])

    def _limited(self, clause: str, scene: Scene, thread: Thread) -> Observation | None:
        """`P.index.range`, `P.bounds`, `P.cluster`, or `X.type` of an expression, in one thread."""
        name, _, short = clause.partition(".")
        if not (self._admitted(scene) and self.case.facts.hold(scene.values)):
            return None
        if not (scene.active(thread) and scene.predicate(thread)):
            return None
        if clause in self.scalars:
            return parameters.held(scene, name, thread)
        decide = parameters.in_range if short == "index.range" else parameters.limited
        return decide(scene, self.case.specs[name], thread)

    def _values(self, point: Point) -> dict[str, int]:
        missing = [symbol.name for symbol in self.case.facts.symbols if symbol.name not in point.symbols]
        if missing and point.symbols:
            raise ValueError(f"the point gives no value for {', '.join(missing)}")
        given = {symbol.name: point.symbols[symbol.name] for symbol in self.case.facts.symbols if symbol.name in point.symbols}
        elected = {symbol.name: point.symbols.get(symbol.name, 0) for symbol in self.case.symbols[len(self.case.facts.symbols) :]}
        return {**given, **elected}

    def _split(self, scene: Scene, operand: Operand, point: Point) -> Observation | None:
        thread = None if point.cta is None else point.thread()
        if not all(name in scene.values or (thread and name in THREAD_NAMES) for name in operand.view.names):
            return None
        if scene.values and not (self._admitted(scene) and self.case.facts.hold(scene.values)):
            return None
        if thread is not None and not scene.active(thread):
            return None
        return clauses.split(scene, operand, thread, tuple(point.atom))

    def _call_clause(self, short: str, scene: Scene, thread: Thread | None) -> Observation | None:
        facts = self.case.facts
        if not self._admitted(scene):
            return None
        if short == "participation":
            if thread is None:
                raise ValueError("participation is decided at a thread")
            return participation(scene, thread) if facts.hold(scene.values) else None
        found = clauses.conditions_range(scene, None)
        if found is not None or thread is None:
            return found if thread is None and facts.possible(scene.values) else None
        return clauses.conditions_range(scene, thread) if facts.hold(scene.values) else None

    def _admitted(self, scene: Scene) -> bool:
        return len(scene.values) == len(self.case.symbols) and all(s.admits(scene.values[s.name]) for s in self.case.symbols)

    def _operand_clause(self, short: str, scene: Scene, operand: Operand) -> Observation | None:
        if short == "shape":
            found = clauses.form(self.case, operand)
            if found is not None and not scene.values:
                return found
            symbolic = self.case.selective and bool(self.case.activity_names)
        else:
            symbolic = bool(operand.view.declared_names | operand.size_names)
        if symbolic and not (self._admitted(scene) and self.case.facts.hold(scene.values)):
            return None
        decide = {"shape": clauses.shape, "replica": clauses.replica, "backing": clauses.backing}[short]
        if operand.matrix is not None and short != "shape":
            decide = {"replica": tmem.replica, "backing": tmem.backing}[short]
        return decide(scene, operand)

    def _element(self, short: str, scene: Scene, operand: Operand, point: Point) -> Observation | None:
        thread, matrix = point.thread(), self.matrices.get(operand.name)
        extents = operand.view.static_shape
        if matrix is not None and short == "backing":
            extents = (*extents[: len(extents) - len(matrix.padded)], *matrix.padded)
        coordinate = (*point.group, *point.repeat, *point.atom)
        if (
            len(point.atom) != len(operand.atom_extents)
            or len(coordinate) != len(extents)
            or len(point.group) != self.case.launch.group_rank
        ):
            raise ValueError(f"the point's coordinate {list(coordinate)} is none of {operand.name}")
        if not all(0 <= c < (extent or 0) for c, extent in zip(coordinate, extents, strict=True)):
            return None
        if not (self._admitted(scene) and self.case.facts.hold(scene.values) and scene.active(thread)):
            return None
        if tuple(point.group) != scene.group(thread) or (_under_pred(short, operand) and not scene.predicate(thread)):
            return None
        if short in {"owner", "distinct", "contiguous", "aligned", *tmem.CLAUSES} and not operand.answers(
            scene.launch.number(thread), point.atom
        ):
            return None
        residue = self._residue(operand, point) if short == "aligned" else 0
        if residue is None:
            return None
        return self._decide(short, Site(scene, operand, thread, tuple(point.group), tuple(point.repeat), tuple(point.atom), residue))

    def _decide(self, short: str, site: Site) -> Observation | None:
        matrix = self.matrices.get(site.operand.name)
        if matrix is not None and short in {"aligned", "descriptor", "backing"}:
            return descriptors.decide(matrix, short, site)
        if site.operand.matrix is not None and short in tmem.CLAUSES:
            return tmem.decide(short, site, self.unplaced)
        return _decide(short, site)

    def _residue(self, operand: Operand, point: Point) -> int | None:
        residues = self.case.bases[operand.tensor].residues(operand.align_bytes)
        given = point.symbols.get(f"base({operand.tensor})", residues[0] if len(residues) == 1 else None)
        if given is None:
            raise ValueError(f"the point gives no base({operand.tensor})")
        return given if given in residues else None

    def predict(self, values: Values, elected: int = 0, *, most: int | None = None) -> Image:
        """What the call leaves in registers and memory; `values` gives every symbol a number, or a list where it varies.

        most: how many products may be named, None for any number; UnpredictedError where there are more.
        """
        if self.case.product is not None:
            made = Products if self.operands[str(self.case.product["dst"]["operand"])].register else CellProducts
            found = made(self.case, self.case.product, values, elected)
            if most is not None and found.count > most:
                more = "" if made is CellProducts else "; `reconstruct` has none"
                raise UnpredictedError(f"it would name {found.count} products, the limit is {most}{more}")
            return found.image()
        if self.boxes is not None:
            return BoxImage(self.boxes, values, elected).image()
        if self.case.computed is not None and self.case.move["src"] not in self.operands:
            return Computations(self.case, self.case.computed, values, elected).image()
        if self.case.launch.collective and any(operand.matrix is not None for operand in self.case.operands):
            return CellImage(self.case, values, elected).image()
        if not self.case.move["dst"]:
            if any(operand.write for operand in self.case.operands):
                why = self.case.unpredicted and f": {self.case.unpredicted}"
                raise UnpredictedError(f"what {self.case.opcode} computes is not predicted{why}")
            return Image([], [])
        prediction = Prediction(self.case, values, elected)
        if prediction.copies and prediction.target.matrix is not None:
            return CellCopies(prediction).image()
        return prediction.image()

    # --- every point ---------------------------------------------------------------------------------------------

    @cached_property
    def assignments(self) -> list[dict[str, int]]:
        """Every assignment of the symbols that satisfies the facts, in order. TooLargeError where they cannot be counted."""
        return [values for values in self._candidates() if self.case.facts.hold(values)]

    def _candidates(self) -> Iterator[dict[str, int]]:
        symbols = self.case.symbols
        if not all(symbol.bounded for symbol in symbols):
            raise TooLargeError("a symbol without bounds")
        if prod(symbol.count() for symbol in symbols) > LIMIT or any(symbol.count() > len(symbol.values()) for symbol in symbols):
            raise TooLargeError("too many values of the symbols")
        return self.case.facts.assignments(symbols, {})

    def scenes(self, names: set[str]) -> Iterator[Scene]:
        """One scene, the first, for every combination of values of the symbols that matter."""
        order = [symbol.name for symbol in self.case.symbols if symbol.name in names]
        seen: set[Coordinate] = set()
        for values in self.assignments:
            key = tuple(values[name] for name in order)
            if key not in seen:
                seen.add(key)
                yield Scene(self.case, values)

    def first_failure(self, clause: str, budget: Budget | None = None) -> Point | None:
        """The first point in the order of counterexamples at which the clause fails."""
        budget = budget or Budget(LIMIT * 100)
        operand, short = self._parts(clause)
        if short == "base.period" and not self._accessed(budget):
            return None
        if self.boxes is not None and self.boxes.own(clause):
            found = self.boxes.first(clause, budget.spend)
            return None if found is None else Point(*found)
        if short == "operands" or (operand is not None and short == "type"):
            failed = self._operands() if operand is None else clauses.container(operand)
            return Point() if failed else None
        if operand is None and clause.endswith(".storage") and self.boxes is None:
            return Point() if self._barrier(clause) else None
        if clause == "cluster":
            return Point() if parameters.lonely(self.case.launch.ctas) else None
        if clause == f"{self.case.chunk}.shape":
            return Point() if self._chunk() else None
        if clause in self.shapes:
            return Point() if self._shaped(clause) else None
        if clause.endswith(".operands"):
            return self._first_transaction(budget)
        if clause in self.limited or clause in self.scalars:
            return self._first_limited(clause, budget)
        if operand is None:
            return self._first_of_call(short, budget)
        if short == "storage":
            return self._first_split(operand, budget)
        if operand.name in self.matrices and short in {"base.period", "descriptor", "backing"}:
            return self._first_whole(short, operand, budget) or (
                None if short == "base.period" else self._first_element(short, operand, budget)
            )
        if self._pads(operand, short):
            assert self.boxes is not None
            found = self._first_of_operand(short, operand, budget) or self.boxes.first(clause, budget.spend)
            return Point(*found) if isinstance(found, tuple) else found
        if short in {"shape", "replica", "backing"}:
            return self._first_of_operand(short, operand, budget)
        return self._first_element(short, operand, budget)

    def _first_whole(self, short: str, operand: Operand, budget: Budget) -> Point | None:
        """The part of a clause about a matrix, or a padded image, that no element matters to."""
        if short == "backing":
            return self._first_of_operand(short, operand, budget)
        matrix = self.matrices[operand.name]
        return Point() if (matrix.period() if short == "base.period" else matrix.fields()) else None

    def _first_of_call(self, short: str, budget: Budget) -> Point | None:
        if short == "index.range":
            for values in self._candidates() if self.case.facts.facts else ():
                scene = Scene(self.case, values)
                if self.case.facts.possible(values) and clauses.conditions_range(scene, None):
                    return Point(values)
        for scene in self.scenes({symbol.name for symbol in self.case.symbols}):
            for thread in self._considered(short):
                budget.spend()
                found = participation(scene, thread) if short == "participation" else clauses.conditions_range(scene, thread)
                if found:
                    return Point(scene.values, *thread)
        return None

    def _first_limited(self, clause: str, budget: Budget) -> Point | None:
        for scene in self.scenes({symbol.name for symbol in self.case.symbols}):
            for thread in scene.launch.threads:
                budget.spend()
                if self._limited(clause, scene, thread):
                    return Point(scene.values, *thread)
        return None

    def _first_transaction(self, budget: Budget) -> Point | None:
        parameters.settled(self.case)
        for scene in self.scenes({symbol.name for symbol in self.case.symbols}):
            if parameters.transaction(self.case, scene, budget.spend):
                return Point(scene.values)
        return None

    def _considered(self, short: str) -> Iterator[Thread]:
        launch = self.case.launch
        if short == "participation" and launch.scope != "thread":  # lanes and warps that do not exist may be missed too
            padded = launch.scope == "warpgroup" or launch.together == 4
            warps = -(-launch.warps // 4) * 4 if padded else launch.warps
            return (Thread(cta, warp, lane) for cta in range(launch.ctas) for warp in range(warps) for lane in range(32))
        return iter(launch.threads)

    def _first_of_operand(self, short: str, operand: Operand, budget: Budget) -> Point | None:
        names = {*operand.view.declared_names, *operand.size_names}
        if short == "shape":
            names = set(self.case.activity_names) if self.case.selective and not clauses.form(self.case, operand) else set[str]()
        for scene in self.scenes(names):
            budget.spend()
            if self._operand_clause(short, scene, operand):
                return Point(scene.values if names else {})
        return None

    def _first_split(self, operand: Operand, budget: Budget) -> Point | None:
        if clauses.element(operand):
            return Point()
        if all(step.op != "view" for step in operand.view.steps):
            return None
        inside = not THREAD_NAMES.isdisjoint(operand.view.names)
        names = set(operand.view.names) | set(self.case.activity_names if inside else ())
        for scene in self.scenes(names):
            for thread in (thread for thread in self.case.launch.threads if scene.active(thread)) if inside else (None,):
                for coordinate in self._storage_coordinates(scene, operand, thread):
                    budget.spend()
                    if clauses.split(scene, operand, thread, coordinate):
                        return _split_point(scene.values if operand.view.names else {}, thread, coordinate)
        return None

    def _storage_coordinates(self, scene: Scene, operand: Operand, thread: Thread | None) -> Iterator[Coordinate]:
        yield ()
        try:
            shapes = scene.fixed(operand, thread).shapes
        except LimitError:
            return
        for step, shape in zip(operand.view.steps, shapes[1:], strict=True):
            if step.op == "view":
                yield from grid([extent or 0 for extent in shape])

    def _first_element(self, short: str, operand: Operand, budget: Budget) -> Point | None:
        if len(operand.view.static_shape) < self.case.launch.group_rank + len(operand.atom_extents):
            return None
        relevant = {*operand.view.names, *self.case.activity_names}
        if self.case.pred is not None and _under_pred(short, operand):
            relevant |= self.case.pred.names
        if operand.matrix is not None and operand.matrix.get("behind"):
            relevant |= {name for other in self.case.operands for name in other.view.names}
        residues = self.case.bases[operand.tensor].residues(operand.align_bytes) if short == "aligned" else [0]
        base = f"base({operand.tensor})"
        for scene in self.scenes(relevant):
            for residue in residues:
                for site in self._sites(short, scene, operand, residue, budget):
                    if self._decide(short, site):
                        symbols = {**scene.values, **({base: residue} if len(residues) > 1 else {})}
                        return Point(symbols, *site.thread, site.group, site.repeat, site.atom)
        return None

    def _sites(self, short: str, scene: Scene, operand: Operand, residue: int, budget: Budget) -> Iterator[Site]:
        """The elements at which a clause is owed; threads that see the same addresses as an earlier one are left out."""
        seen: set[tuple[object, ...]] = set()
        extents = clauses.repeats(scene, operand)
        others = self.case.operands if operand.matrix is not None and operand.matrix.get("behind") else ()
        grouped = operand.matrix is not None and scene.launch.scope != "thread"
        own = operand.view.tensor(scene.values).axes() - (clauses.PLACES if operand.view.space == "tmem" else set())
        everywhere = not operand.register and not operand.view.declared_names and not own
        for thread in scene.launch.threads:
            if not scene.active(thread) or (_under_pred(short, operand) and not scene.predicate(thread)):
                continue
            atoms, group = self._atoms(short, operand, scene.launch.number(thread)), scene.group(thread)
            environment = scene.environment(thread)
            key = (
                thread if short == "owner" and not everywhere else None,
                thread.warp if short == "partition" else thread if short == "distinct" and grouped else None,
                *(environment[name] for other in others for name in other.view.names),
                group,
                scene.launch.number(thread) if operand.holder_term is not None else None,
                *(environment[name] for name in operand.view.names),
            )
            if key in seen:
                continue
            seen.add(key)
            for repeat in grid(extents):
                for atom in atoms:
                    budget.spend()
                    yield Site(scene, operand, thread, group, repeat, atom, residue)

    def _atoms(self, short: str, operand: Operand, number: int) -> tuple[Coordinate, ...]:
        matrix = self.matrices.get(operand.name)
        return operand.atoms_of(number) if matrix is None or short != "backing" else matrix.block if matrix.partial else ()

    def check(self, limit: int = LIMIT) -> Answer:
        """Every clause that is owed, at every point."""
        budget = Budget(limit)
        if self.case.problem is not None:
            return Answer("refuted", {"operands": Point()})
        try:
            if not self.satisfiable():
                return Answer("vacuous")
            if self.boxes is not None and self.boxes.haloed(budget.spend):
                return Answer("too-large")  # where halo pixels lie is not known
            self.unplaced = set()
            failures = self._failures(budget)
            addressed = all(self._parts(clause)[1] not in ADDRESSED for clause in failures) and failures.keys().isdisjoint(self.limited)
            addressed = addressed and failures.keys().isdisjoint(self._fixed())
            cells = [operand.name for operand in self.case.operands if operand.matrix is not None]
            addressed = addressed and failures.keys().isdisjoint(f"{name}.{short}" for name in cells for short in ("image", "distinct"))
            if self.boxes is not None:
                found = frozenset(self.boxes.hazards(budget.spend) if not failures else ())
                return Answer("refuted" if failures else "proved", failures, found)
            found = frozenset(hazards(self.case, self.assignments, budget.spend) if addressed else ())
        except TooLargeError:
            return Answer("too-large")
        return Answer("refuted" if failures else "proved", failures, found)

    def satisfiable(self) -> bool:
        """Whether some assignment satisfies the facts and lets some thread execute."""
        if not all(base.consistent() for base in self.case.bases.values()):
            return False
        return any(any(scene.active(thread) for thread in scene.launch.threads) for scene in self.scenes(set(self.case.activity_names)))

    def _accessed(self, budget: Budget) -> bool:
        """Whether some thread executes with pred, for some values of the symbols."""
        if self.case.pred is None:
            return True
        for values in self._candidates():
            budget.spend()
            scene = Scene(self.case, values)
            if self.case.facts.hold(values):
                for thread in scene.launch.threads:
                    budget.spend()
                    if scene.active(thread) and scene.predicate(thread):
                        return True
        return False

    def _accessing(self) -> bool:
        """As `_accessed`, taken for granted where that is too much to look at."""
        try:
            return self._accessed(Budget(PRED_POINTS))
        except TooLargeError:
            return True

    def _failures(self, budget: Budget) -> dict[str, Point]:
        failures: dict[str, Point] = {}
        for clause in self.clauses:
            if all(needed not in failures for needed in self._premises(clause)):
                operand, short = self._parts(clause)
                needed = self._element_premises(operand, short)
                if operand is not None and any(other in failures for other in needed):
                    point = self._first_whole(short, operand, budget)
                else:
                    point = self.first_failure(clause, budget)
                if point is not None:
                    failures[clause] = point
                    self.unplaced |= {operand.name} if operand is not None and short in PLACED else set()
        return failures

    def _pads(self, operand: Operand | None, short: str) -> bool:
        """Whether a clause is `backing` of an image with padding."""
        return self.boxes is not None and self.boxes.padded and operand is self.boxes.image and short == "backing"

    def _element_premises(self, operand: Operand | None, short: str) -> tuple[str, ...]:
        """The clauses that must hold before the part of a clause about a matrix, or a padded image, is owed that names elements."""
        if self.boxes is not None and self._pads(operand, short):
            return self.boxes.padding_premises()
        if operand is None or operand.name not in self.matrices or short not in {"descriptor", "backing"}:
            return ()
        name = operand.name
        owed = ("participation", *(f"{name}.{part}" for part in ("storage", "shape", "bounds", "base.period")))
        return owed if short == "descriptor" else (*owed, f"{name}.aligned", f"{name}.descriptor")

    def _fixed(self) -> tuple[str, ...]:
        """The clauses about parameters that fix extents."""
        chunk = () if self.case.chunk is None else (f"{self.case.chunk}.shape",)
        return chunk if self.case.sized is None else (*chunk, f"{self.case.sized['parameter']}.shape")

    def _premises(self, clause: str) -> tuple[str, ...]:
        """The clauses that must hold before this one is owed."""
        operand, short = self._parts(clause)
        sized = self._fixed()
        if self.boxes is not None and (self.boxes.own(clause) or clause.endswith(".operands")):
            return (*self.boxes.premises(clause), *(self.limited if clause.endswith(".operands") else ()))
        if clause.endswith(".operands"):
            shapes = (f"{o.name}.{part}" for o in self.case.operands for part in ("storage", "shape"))
            return (*sized, "participation", *shapes, *self.limited)
        if clause in self.limited or clause in self.scalars or clause in self.shapes:
            return ("operands",)
        if operand is None or short in {"storage", "type"}:
            if short != "type" or self.case.typed:
                return ("operands",)
            return (f"{clause.split('.', maxsplit=1)[0]}.storage",)
        name = operand.name
        if short == "shape":
            return (*sized, "participation")
        if short == "backing":
            return (f"{name}.storage",)
        if short == "descriptor":
            return ("operands",)
        owed = (*sized, f"{name}.storage", "participation", f"{name}.shape")
        if operand.matrix is not None and short in tmem.CLAUSES:
            return (*owed, f"{name}.bounds", *tmem.premises(operand.matrix, short))
        return (*owed, f"{name}.bounds") if short in {"contiguous", "aligned", "base.period"} else owed


def _under_pred(short: str, operand: Operand) -> bool:
    """Whether a clause is owed where pred holds; registers are distinct whatever it is."""
    return short in UNDER_PRED or (short == "distinct" and operand.matrix is not None)


def _split_point(symbols: Mapping[str, int], thread: Thread | None, coordinate: Coordinate) -> Point:
    return Point(symbols, atom=coordinate) if thread is None else Point(symbols, *thread, atom=coordinate)


def _decide(short: str, site: Site) -> Observation | None:
    try:
        return ELEMENT_CLAUSES[short](site)
    except LimitError:
        return None
