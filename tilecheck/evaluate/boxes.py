"""The clauses of copies of boxes, decided at points and by brute force: box, descriptor, coords, image and what the tensor asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol

from tilecheck.evaluate.case import Case, Operand, Scene
from tilecheck.evaluate.clauses import Observation, declared_sizes, place, repeats, slices, spot, who
from tilecheck.evaluate.domain import TooLargeError, grid
from tilecheck.evaluate.expressions import Expression, LimitError, Limits
from tilecheck.evaluate.fields import Fields, Problem
from tilecheck.evaluate.launch import THREAD_NAMES, Thread
from tilecheck.evaluate.views import Coordinate, FixedView

ELEMENTS = 1 << 17
"""Elements of a tensor whose axes mix that are looked at one by one; any other is followed along its axes."""
COORDINATE = (-(1 << 31), (1 << 31) - 1)


class Spend(Protocol):
    """Counts points that are looked at; TooLargeError where there are too many."""

    def __call__(self, points: int = 1) -> None:
        """Counts points."""
        ...


def free(points: int = 1) -> None:
    """Counts nothing: one place is looked at."""


Issue = tuple[Thread, Coordinate, Coordinate]  # thread, group, repeat


class Boxes:
    """The clauses of one call that moves boxes."""

    def __init__(self, case: Case, fields: Fields) -> None:
        self.case = case
        self.fields = fields
        operands = {operand.name: operand for operand in case.operands}
        self.tensor = operands[str(fields.spec["tensor"])]
        self.image = operands.get(str(fields.spec["image"]))
        self.barrier = next((str(p["name"]) for p in case.specs.values() if p["kind"] == "barrier"), None)
        self.axes = self._axes()
        self._known: dict[tuple[str, int], list[int]] = {}

    def known(self, operand: Operand, modulus: int) -> list[int]:
        """The residues that the base of an operand may have."""
        key = (operand.tensor, modulus)
        if key not in self._known:
            self._known[key] = self.case.bases[operand.tensor].residues(modulus)
        return self._known[key]

    def _axes(self) -> int | None:
        """The group and repeat axes; None where the shape of the image does not say."""
        groups = self.case.launch.group_rank
        if self.image is None:
            return groups
        count = len(self.image.view.static_shape) - len(self.image.atom_extents)
        return count if self.fields.image is not None and count >= groups else None

    def clauses(self) -> Iterator[str]:
        """Every clause there is, in the order in which they are decided."""
        tensor, image = self.tensor.name, None if self.image is None else self.image.name
        if self.barrier is not None:
            yield f"{self.barrier}.storage"
        yield from (f"{operand.name}.storage" for operand in self.case.operands)
        yield f"{tensor}.type"
        yield "participation"
        yield from ("index.range", "box", "descriptor")
        if image is not None and self.fields.image is not None:
            yield f"{image}.shape"
        if self.axes is not None:
            yield from ("coords", "coords.index.range")
        if self.image is not None and self.fields.image is not None:
            shorts = ("owner", *(("replica",) if self.image.write else ()), "index.range", "bounds", "aligned", "base.period", "image")
            yield from (f"{image}.{short}" for short in shorts)
        yield from (
            f"{tensor}.{short}"
            for short in ("shape", "owner", *(("replica",) if self.tensor.write else ()), "index.range", "bounds", "aligned")
        )
        if self.axes is not None and self.fields.walk is not None:
            yield "coords.bounds"
        yield from (f"{operand.name}.backing" for operand in self.case.operands)

    def own(self, clause: str) -> bool:
        """Whether a clause is decided here."""
        name, _, short = clause.partition(".")
        if clause in {"box", "descriptor", "coords", "coords.index.range", "coords.bounds", f"{self.barrier}.storage"}:
            return True
        if name == self.tensor.name:
            return short in {"type", "shape", "owner", "replica", "index.range", "bounds", "aligned"}
        return self.image is not None and name == self.image.name and short in {"aligned", "base.period", "image"}

    def premises(self, clause: str) -> tuple[str, ...]:
        """The clauses that must hold before this one is owed."""
        name, _, short = clause.partition(".")
        image = () if self.image is None else ("participation", f"{self.image.name}.shape")
        if clause == "coords.bounds" or clause.endswith(".operands"):
            parts = ("storage", "shape", "bounds") if clause == "coords.bounds" else ("type", "storage", "shape", "bounds")
            starts = ("coords.bounds",) if clause != "coords.bounds" else self.premises("coords")
            return (
                "participation",
                *image,
                *starts,
                "box",
                "descriptor",
                "coords",
                "coords.index.range",
                *(f"{self.tensor.name}.{p}" for p in parts),
            )
        if clause in {"box", "descriptor", f"{self.barrier}.storage"} or short == "type":
            return ("operands",)
        if clause in {"coords", "coords.index.range"}:
            refused = () if self.image is None or not self.image.view.refused else (f"{self.image.name}.storage",)
            return ("participation", *image, *refused, *(("coords",) if clause != "coords" and self._miscounted() else ()))
        if name == self.tensor.name:
            base = ("participation", f"{name}.storage")
            return base if short == "shape" else (*base, f"{name}.shape", *((f"{name}.bounds",) if short == "aligned" else ()))
        base = (*image, f"{name}.storage", f"{name}.bounds")
        return (*base, f"{name}.base.period") if short == "image" else base

    # --- points ------------------------------------------------------------------------------------------------------

    def static(self, clause: str) -> Observation | None:
        """The part of a clause that no symbol and no thread matters to."""
        fields, name = self.fields, clause.partition(".")[0]
        if clause == f"{self.barrier}.storage":
            space = self.case.parameters[str(self.barrier)]
            return None if space == "shared" else _said(str(self.barrier), ("shared memory", str(space)))
        if clause == "coords":
            return self._miscounted()
        found: Problem | None = None
        if clause == "box":
            found = fields.box_problem()
        elif clause == "descriptor":
            found = fields.field_problem() or self._varying()
        elif name == self.tensor.name and clause.endswith(".type"):
            found = fields.type_problem()
        elif name == self.tensor.name and clause.endswith(".shape"):
            found = fields.tensor_shape_problem(self.tensor.view.static_shape)
        elif name == self.tensor.name and clause.endswith(".owner"):
            axes = sorted(axis for axis in self.tensor.view.tensor(self._any()).axes() if axis != "m")
            found = ("no thread axis", axes[0]) if axes else None
        return None if found is None else _said(clause if clause in {"box", "descriptor"} else self.tensor.label, found)

    def _any(self) -> Mapping[str, int]:
        return {symbol.name: 0 for symbol in self.case.symbols}

    def _varying(self) -> Problem | None:
        """The tensor map is one for all threads."""
        varying = {symbol.name for symbol in self.case.facts.symbols if symbol.varies != "grid"} | THREAD_NAMES
        found = sorted(set(self.tensor.view.names) & varying)
        return ("one view for all threads", found[0]) if found else None

    def _miscounted(self) -> Observation | None:
        fields = self.fields
        counts = [("coordinates", len(fields.coords), fields.rank), ("coord_steps", len(fields.steps), self.axes or 0)]
        counts += [(f"entries of coord_steps[{k}]", len(step), fields.rank) for k, step in enumerate(fields.steps)]
        counts.append(("offsets", len(fields.moved), len(fields.moves)))
        if fields.spec["rows"]:
            counts.append(("row coordinates", len(fields.rows), int(fields.spec["rows"])))
        wrong = next(((what, have, want) for what, have, want in counts if have != want), None)
        if wrong is not None:
            return _said("coords", (f"{wrong[2]} {wrong[0]}", f"{wrong[1]}"))
        if fields.spec["rows"] and any(step[0] != 0 for step in fields.steps):
            return _said("coords", ("no step of rows", f"{[step[0] for step in fields.steps]}"))
        return None

    def issue(self, clause: str, scene: Scene, issue: Issue) -> Observation | None:
        """coords, aligned or image-wide clauses of one instruction."""
        try:
            if clause == "coords":
                return self._coordinates(scene, issue)
            return self._origin(scene, issue, 0)
        except LimitError:
            return None

    def position(self, scene: Scene, issue: Issue) -> list[int]:
        """The coordinates of one instruction: rows that are chosen, then the column; else outer to inner. LimitError where one has no value."""
        fields, environment = self.fields, scene.environment(issue[0])
        axes = (*issue[1], *issue[2])
        at = [
            Expression(coordinate).value(environment)
            + sum(Expression(step[k]).value(environment) * axis for step, axis in zip(fields.steps, axes, strict=True))
            for k, coordinate in enumerate(fields.coords)
        ]
        return [*(Expression(row).value(environment) for row in fields.rows), at[-1]] if fields.spec["rows"] else at

    def _coordinates(self, scene: Scene, issue: Issue) -> Observation | None:
        fields = self.fields
        at = self.position(scene, issue)
        low = 0 if fields.spec["store"] else COORDINATE[0]
        where = f"{who(scene, issue[0])}{f' repeat {list(issue[2])}' if issue[2] else ''}: coords {at}"
        if not all(low <= one <= COORDINATE[1] for one in at):
            return _at(where, f"coordinates from {low} to {COORDINATE[1]}", f"{at}")
        for (name, below), offset in zip(fields.moves, self.offsets(scene, issue), strict=True):
            if not 0 <= offset < below:
                return _at(f"{who(scene, issue[0])}", f"{name} from 0 to {below - 1}", f"{offset}")
        if fields.packing:
            return None if at[-1] % fields.packing["row"] == 0 else _at(where, f"a multiple of {fields.packing['row']}", f"{at[-1]}")
        inner, unit = at[-1] * fields.bits, 8 * fields.limits["multiple_bytes"]
        if fields.slices is not None or inner % unit == 0:
            return None
        return _at(
            where, f"an innermost coordinate at a multiple of {unit // 8} bytes", f"{at[-1]} x {fields.bits} bits = {inner / 8:g} bytes"
        )

    def offsets(self, scene: Scene, issue: Issue) -> list[int]:
        """By how much the walk of one instruction is moved. LimitError where an offset has no value."""
        environment = scene.environment(issue[0])
        return [Expression(offset).value(environment) for offset in self.fields.moved]

    def start(self, scene: Scene, issue: Issue) -> Observation | None:
        """`coords.bounds`: a walk starts inside its bounding box; a wide one not behind it."""
        fields = self.fields
        try:
            at, extents = self.position(scene, issue), scene.fixed(self.tensor, None).shapes[-1]
        except LimitError:
            return None
        assert fields.walk is not None
        if self.broken(scene.fixed(self.tensor, None)):
            return None
        for k, low, high in zip(fields.spatial, fields.corners[0], fields.corners[1], strict=True):
            last = extents[k] + high - 1
            if at[k] > last or (at[k] < low and not fields.walk["wide"]):
                where = f"{who(scene, issue[0])}{f' repeat {list(issue[2])}' if issue[2] else ''}: coords {at}"
                return _at(
                    where, f"coordinate {k} at most {last}" if fields.walk["wide"] else f"coordinate {k} from {low} to {last}", f"{at[k]}"
                )
        return None

    def index_range(self, scene: Scene, thread: Thread) -> Observation | None:
        """An expression of the coordinates that leaves the index type."""
        fields, limits = self.fields, Limits(*self.case.facts.index_range)
        for text in (*fields.coords, *fields.rows, *fields.moved, *(entry for step in fields.steps for entry in step)):
            try:
                if isinstance(text, str):
                    Expression(text).check(scene.environment(thread), limits)
            except LimitError as trouble:
                return _at(f"{who(scene, thread)}: coords", trouble.expected, trouble.actual)
        return None

    def _origin(self, scene: Scene, issue: Issue, residue: int) -> Observation | None:
        """The first element of an image lies, before the swizzle, at a multiple of 128 bytes."""
        assert self.image is not None
        multiple, zero = int(self.fields.limits["image_align_bytes"]), (0,) * len(self.image.atom_extents)
        bit = self._start(scene.fixed(self.image, issue[0]), issue, 8 * residue)
        if bit % (8 * multiple) == 0:
            return None
        where = f"{who(scene, issue[0])}: {self.image.name} {spot(issue[2], zero)} starts an image"
        base = f" with the base at {residue}" if residue else ""
        actual = f"{place(bit)}{base} ({bit // 8 % multiple} too many)"
        return _at(where, f"a multiple of {multiple} bytes before the swizzle", actual)

    def _start(self, fixed: FixedView, issue: Issue, base: int) -> int:
        """The bit address that the hardware's swizzle takes to the first element of an image; it is its own inverse."""
        assert self.image is not None
        return self.fields.swizzled(base + fixed.address((*issue[1], *issue[2], *(0,) * len(self.image.atom_extents))))

    def residues(self) -> list[int]:
        """The residues of the base of the image that `aligned` is decided at."""
        assert self.image is not None
        period = int(self.fields.pattern["period_bytes"]) if self.fields.pattern else 0
        return self.known(self.image, max(int(self.fields.limits["image_align_bytes"]), period))

    def aligned(self, scene: Scene, issue: Issue, residue: int) -> Observation | None:
        """`aligned` of the image, at a residue of the base."""
        try:
            return self._origin(scene, issue, residue)
        except LimitError:
            return None

    def period(self) -> Observation | None:
        """`base.period`: the base is known modulo the period."""
        if self.image is None or not self.fields.pattern or not self.fields.pattern["xors"]:
            return None
        period = int(self.fields.pattern["period_bytes"])
        known = self.known(self.image, period)
        return None if len(known) == 1 else _said(self.image.label, (f"a base known modulo {period} bytes", f"{len(known)} residues"))

    def imaged(self, scene: Scene, issue: Issue, atom: Coordinate) -> Observation | None:
        """`image`: an element lies where the hardware puts it."""
        assert self.image is not None
        fields, pattern = self.fields, self.fields.pattern
        if pattern is None or fields.image is None:
            return None
        base = self.known(self.image, int(pattern["period_bytes"]))[0] if pattern["xors"] else 0
        try:
            fixed = scene.fixed(self.image, issue[0])
        except LimitError:
            return None
        expected = fields.swizzled(self._start(fixed, issue, 8 * base) + fields.offset(atom)) - 8 * base
        actual = fixed.address((*issue[1], *issue[2], *atom))
        if actual == expected:
            return None
        where = f"{who(scene, issue[0])}: {self.image.name} {spot(issue[2], atom)}"
        return _at(f"{where} is not where the instruction puts it", place(expected), place(actual))

    @property
    def padded(self) -> bool:
        """Whether `backing` of the image asks for the padding of its blocks."""
        return self.image is not None and self.fields.packing is not None and self.fields.image is not None

    def padding_premises(self) -> tuple[str, ...]:
        """The clauses that must hold before the padding is owed: else the blocks are elsewhere."""
        assert self.image is not None
        name = self.image.name
        return ("participation", *(f"{name}.{short}" for short in ("storage", "shape", "bounds", "base.period", "image")))

    def backed(self, scene: Scene, issue: Issue, atom: Coordinate) -> Observation | None:
        """The part of `backing` that a packed image adds: a block ends, with its padding, inside the allocation."""
        assert self.image is not None
        packed, sizes = self.fields.packing, declared_sizes(scene, self.image)
        if packed is None or not sizes or atom[-1] % int(packed["values"]):
            return None
        try:
            at = scene.fixed(self.image, issue[0]).address((*issue[1], *issue[2], *atom))
        except LimitError:
            return None
        end, size = at // 8 + int(packed["block_bytes"]), min(sizes)
        where = f"{who(scene, issue[0])}: {self.image.name} {spot(issue[2], atom)} starts a block"
        return None if end <= size else _at(where, f"a block inside the {size} bytes of the allocation", f"bytes up to {end}")

    def issues(self, scene: Scene, *, pred: bool = True) -> Iterator[Issue]:
        """Every instruction of every thread that executes."""
        extents = () if self.image is None else repeats(scene, self.image)
        for thread in scene.launch.threads:
            if scene.active(thread) and (not pred or scene.predicate(thread)):
                group = scene.group(thread)
                for repeat in grid(extents):
                    yield thread, group, repeat

    # --- the tensor --------------------------------------------------------------------------------------------------

    def tensor_clause(self, short: str, scene: Scene, residue: int = 0, spend: Spend = free) -> Observation | None:
        """A clause about the tensor at one value of the symbols."""
        try:
            fixed = scene.fixed(self.tensor, None)
            if short == "shape":
                wrong = self.fields.tensor_shape_problem(fixed.shapes[-1])
                return None if wrong is None else _said(self.tensor.label, wrong)
            if short == "replica":
                copies = [one for one in fixed.layout.replicas if one[0] > 1 and one[1] != 0]
                return _said(self.tensor.label, ("no replica", f"{copies[0][0]} copies")) if copies else None
            if short == "index.range":
                return self._offsets(scene, fixed, spend)
            outside = slices(self.tensor, fixed, scene.values)
            if short == "bounds":
                return self._bounds(fixed, outside, spend)
            if outside:
                return None
            multiple = self.fields.align_bytes
            bit = 8 * residue + fixed.address((0,) * len(fixed.shapes[-1]))
            return (
                None
                if bit % (8 * multiple) == 0
                else _said(self.tensor.label, (f"an address at a multiple of {multiple} bytes", place(bit)))
            )
        except LimitError as trouble:
            return _said(self.tensor.label, (trouble.expected, trouble.actual)) if short == "index.range" else None

    def _offsets(self, scene: Scene, fixed: FixedView, spend: Spend) -> Observation | None:
        low, high = self.case.facts.index_range
        for expression in (*self.tensor.view.starts(), *(e for e in self.tensor.view.declared() if e.names)):
            expression.check(scene.values, Limits(low, high))
        if slices(self.tensor, fixed, scene.values):
            return None
        if self.opaque and self.broken(fixed):
            return None
        ends = (0, self.tensor.view.bits - 1)
        for bit in ends:
            least, most = extremes(fixed, lambda c, bit=bit: fixed.linear(fixed.source(c, bit)[0]), spend, linear=True)
            if least < low or most > high:
                return _said(self.tensor.label, (f"element offsets from {low} to {high}", f"{least} to {most}"))
        return None

    def _bounds(self, fixed: FixedView, outside: Sequence[tuple[int, str, str]], spend: Spend) -> Observation | None:
        if outside:
            axis, expected, actual = outside[0]
            return _said(f"{self.tensor.label} axis {axis}", (expected, actual))
        if self.opaque and self.broken(fixed):
            return None
        least, _ = extremes(fixed, fixed.address, spend)
        return _said(self.tensor.label, ("byte 0 or later", place(least))) if least < 0 else None

    def geometry(self, scene: Scene, spend: Spend = free) -> dict[str, str]:
        """What extents and strides of the tensor break, at one value of the symbols."""
        try:
            fixed = scene.fixed(self.tensor, None)
        except LimitError:
            return {}
        if slices(self.tensor, fixed, scene.values):
            return {}
        found = self.broken(fixed)
        if min(fixed.shapes[-1], default=1) >= 1 and not rectangular(fixed, fixed.address(_zero(fixed)), self.strides(fixed), spend):
            found["a box of extents and strides"] = "an element elsewhere"
        return found

    @property
    def opaque(self) -> bool:
        """Whether the caller has encoded the map: what it describes is in no allocation that is known."""
        return self.tensor.view.space == "tensormap"

    def strides(self, fixed: FixedView) -> list[int]:
        """The distance in bits from the first element to its neighbour along each axis; 0 where there is none."""
        first = fixed.address(_zero(fixed))
        return [fixed.address(_moved(_zero(fixed), k, 1)) - first if extent > 1 else 0 for k, extent in enumerate(fixed.shapes[-1])]

    def broken(self, fixed: FixedView) -> dict[str, str]:
        """The demands on extents and strides that a map does not meet, with what is found."""
        extents = fixed.shapes[-1]
        strides = self.strides(fixed) if min(extents, default=1) >= 1 else [0] * len(extents)
        return self.fields.geometry_problems(extents, strides)


def _zero(fixed: FixedView) -> Coordinate:
    return (0,) * len(fixed.shapes[-1])


def _moved(coordinate: Coordinate, axis: int, by: int) -> Coordinate:
    return tuple(c + by if k == axis else c for k, c in enumerate(coordinate))


def _said(name: str, problem: Problem) -> Observation:
    return Observation(*problem, f"{name}: expected {problem[0]}, found {problem[1]}.")


def _at(where: str, expected: str, actual: str) -> Observation:
    return Observation(expected, actual, f"{where}: expected {expected}, found {actual}.")


def _count(extents: Sequence[int]) -> int:
    total = 1
    for extent in extents:
        total *= max(0, extent)
    return total


def unmixed(fixed: FixedView, *, swizzled: bool = False) -> bool:
    """Whether the place of an element is a sum of one number for each axis: no step that joins axes, no factor across declared axes.

    swizzled: places before the swizzles are meant; else there is none.
    """
    if (fixed.layout.swizzles and not swizzled) or any(step.op not in {"slice", "permute", "broadcast"} for step in fixed.view.steps):
        return False
    return _digits(fixed) is not None


Digits = list[tuple[int, int]]  # extent and stride in elements, the most significant first


def _digits(fixed: FixedView) -> list[Digits] | None:
    """The factors of each declared axis; None where one reaches across axes."""
    factors = [(extent, stride if axis == "m" else 0) for extent, stride, axis in fixed.layout.shards]
    found: list[Digits] = []
    for extent in reversed(fixed.shapes[0]):
        rest, own = extent, Digits()
        while rest > 1:
            if not factors or rest % factors[-1][0]:
                return None
            own.insert(0, factors.pop())
            rest //= own[0][0]
        found.insert(0, own)
    return found if all(extent == 1 for extent, _ in factors) else None


def _ends(low: int, high: int, digits: Digits) -> tuple[int, int]:
    """The least and the greatest sum of digits times strides over the numbers from low to high."""
    if not digits:
        return 0, 0
    (extent, stride), rest = digits[0], digits[1:]
    size = _count([inner for inner, _ in rest])
    if low == 0 and high == extent * size - 1:
        reach = [(inner - 1) * step for inner, step in digits]
        return sum(min(0, one) for one in reach), sum(max(0, one) for one in reach)
    (first, begin), (last, end) = divmod(low, size), divmod(high, size)
    if first == last:
        parts = [(first, _ends(begin, end, rest))]
    else:
        parts = [(first, _ends(begin, size - 1, rest)), (last, _ends(0, end, rest))]
        parts += [(whole, _ends(0, size - 1, rest)) for whole in (first + 1, last - 1) if first < whole < last]
    return min(digit * stride + least for digit, (least, _) in parts), max(digit * stride + most for digit, (_, most) in parts)


def _along(fixed: FixedView, digits: Sequence[Digits], axis: int, slope: int = 0) -> tuple[int, int]:
    """How far, in elements before the swizzle, an axis of an unmixed view leads from its first element, less `slope` for each step: least and greatest."""
    zero, extent = _zero(fixed), fixed.shapes[-1][axis]
    if extent == 1:
        return 0, 0
    here, there = (fixed.source(_moved(zero, axis, k))[0] for k in (0, 1))
    declared = next((k for k, (a, b) in enumerate(zip(here, there, strict=True)) if a != b), None)
    if declared is None:  # broadcast
        return min(0, -slope * (extent - 1)), max(0, -slope * (extent - 1))
    own, place, tilted = digits[declared], 1, Digits()
    for size, stride in reversed(own):
        tilted.insert(0, (size, stride - slope * place))
        place *= size
    begin = here[declared]
    first, _ = _ends(begin, begin, tilted)
    least, most = _ends(begin, begin + extent - 1, tilted)
    return least - first, most - first


def extremes(fixed: FixedView, of: Callable[[Coordinate], int], spend: Spend, *, linear: bool = False) -> tuple[int, int]:
    """The least and the greatest value over all elements of a view. TooLargeError where there are too many to look at.

    of: their bit addresses, or (linear) their offsets in elements before the swizzle.
    """
    extents = fixed.shapes[-1]
    if not _count(extents):
        return (0, 0)
    digits = _digits(fixed) if unmixed(fixed, swizzled=linear) else None
    if digits is not None:
        spend(len(extents))
        unit, first = 1 if linear else fixed.view.declared_bits, of(_zero(fixed))
        lines = [_along(fixed, digits, axis) for axis in range(len(extents))]
        return first + unit * sum(least for least, _ in lines), first + unit * sum(most for _, most in lines)
    if _count(extents) > ELEMENTS:
        raise TooLargeError("a tensor of too many elements")
    spend(_count(extents))
    values = [of(c) for c in grid(extents)]
    return min(values), max(values)


def rectangular(fixed: FixedView, first: int, strides: Sequence[int], spend: Spend) -> bool:
    """Whether every element lies at the first plus its coordinates times the strides. TooLargeError where all that is looked at does, and there is more."""
    extents = fixed.shapes[-1]
    digits = _digits(fixed) if unmixed(fixed) else None
    if digits is not None:
        spend(len(extents))
        unit = fixed.view.declared_bits
        return all(_along(fixed, digits, axis, stride // unit) == (0, 0) for axis, stride in enumerate(strides))
    spend(min(_count(extents), ELEMENTS))
    for c in islice(_coordinates(extents), ELEMENTS):
        if fixed.address(c) != first + sum(s * x for s, x in zip(strides, c, strict=True)):
            return False
    if _count(extents) > ELEMENTS:
        raise TooLargeError("a tensor of too many elements")
    return True


def _coordinates(extents: Sequence[int]) -> Iterator[Coordinate]:
    """Every coordinate, the last axis the fastest, one after the other."""
    if not extents:
        yield ()
        return
    for one in range(extents[0]):
        for rest in _coordinates(extents[1:]):
            yield (one, *rest)
