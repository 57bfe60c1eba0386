"""Every clause, decided at one point: what the instruction expects there, and what the call says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from tilecheck.evaluate.case import DEFINED, Case, Operand, Scene
from tilecheck.evaluate.expressions import Expression, LimitError, Limits
from tilecheck.evaluate.launch import COORDINATES, Thread
from tilecheck.evaluate.views import Coordinate, Extents, FixedView

SHARED_BYTES = {
    75: 65536,
    80: 166912,
    86: 101376,
    87: 166912,
    89: 101376,
    90: 232448,
    100: 232448,
    103: 232448,
    110: 232448,
    120: 101376,
    121: 101376,
}
GENERIC = {"global", "shared", "local"}
MATHEMATICAL = {"predicate", "u64", "bytes"}
"""Kinds of parameters of which only divisors and shift amounts are checked."""
COVERS = {
    "laneid": {"lane"},
    "warpid": {"warp % 4", "warp // 4"},
    "wid_in_wg": {"warp % 4"},
    "wgid": {"warp // 4"},
    "tid_in_wg": {"lane", "warp % 4"},
    "tx": {"lane", "warp % 4", "warp // 4"},
    "cbx": {"cbx"},
    "cby": {"cby"},
    "cbz": {"cbz"},
}
INSIDE = {
    "thread": (),
    "warp": ("lane",),
    "warpgroup": ("lane", "warp % 4"),
    "cta": ("lane", "warp % 4", "warp // 4"),
    "cluster": ("lane", "warp % 4", "warp // 4", "cbx", "cby", "cbz"),
}
OWN_AXES = {
    "register": set(COORDINATES),
    "global": set[str](),
    "tensormap": set[str](),
    "shared": {"cbx", "cby", "cbz"},
    "local": set(COORDINATES),
    "tmem": {"cbx", "cby", "cbz"},
}
PLACES = {"TLane", "TCol"}
"""The axes that say where in tensor memory an element lies, not whose it is."""


@dataclass(frozen=True, slots=True)
class Observation:
    """Why a clause fails at a point."""

    expected: str
    actual: str
    sentence: str


@dataclass(frozen=True)
class Site:
    """One element of one operand, at the thread that answers for it."""

    scene: Scene
    operand: Operand
    thread: Thread
    group: Coordinate
    repeat: Coordinate
    atom: Coordinate
    residue: int = 0

    @cached_property
    def fixed(self) -> FixedView:
        """The operand's view as the thread sees it."""
        return self.scene.fixed(self.operand, self.thread)

    @property
    def coordinate(self) -> Coordinate:
        """The coordinate of the element in the view."""
        return (*self.group, *self.repeat, *self.atom)

    def at(self, atom: Coordinate) -> Coordinate:
        """The coordinate of another element of the same instruction."""
        return (*self.group, *self.repeat, *atom)

    def fail(self, expected: str, actual: str, what: str) -> Observation:
        """An observation about this element."""
        where = f"{who(self.scene, self.thread)}: {self.operand.name} {spot(self.repeat, self.atom)}"
        return Observation(expected, actual, f"{where} {what}: expected {expected}, found {actual}.")


def who(scene: Scene, thread: Thread) -> str:
    """A thread in words."""
    cta = f" of CTA {thread.cta}" if scene.launch.ctas > 1 else ""
    return f"lane {thread.lane} of warp {thread.warp}{cta}"


def spot(repeat: Coordinate, atom: Coordinate) -> str:
    """A repeat and atom coordinate in words."""
    return f"{f'repeat {list(repeat)} ' if repeat else ''}atom {list(atom)}"


def place(bits: int) -> str:
    """A bit offset in words."""
    return f"byte {bits // 8}" + (f" bit {bits % 8}" if bits % 8 else "")


def element(operand: Operand) -> Observation | None:
    """The part of `storage` that no symbol matters to: space and element width."""
    view, space = operand.view, operand.space.split("::")[0]
    mapped = view.space == "tensormap" and operand.opaque
    if view.space != space and not mapped and not (space == "" and view.space in GENERIC):
        return _whole(operand, f"{space or 'generic'} space", f"{view.space} space")
    if view.bits != operand.bits:
        return _whole(operand, f"elements of {operand.bits} bits", f"{view.dtype}, {view.bits} bits")
    return None


def split(scene: Scene, operand: Operand, thread: Thread | None, coordinate: Coordinate) -> Observation | None:
    """The other part of `storage`: a refused dtype view, at one of its coordinates (() for its extents)."""
    for level, step in enumerate(operand.view.steps):
        if step.op == "view":
            found = _split(scene, operand, thread, coordinate, level)
            if found is not None:
                return found
    return None


def _whole(operand: Operand, expected: str, actual: str) -> Observation:
    return Observation(expected, actual, f"{operand.name} ({operand.label}): expected {expected}, found {actual}.")


def _split(scene: Scene, operand: Operand, thread: Thread | None, coordinate: Coordinate, level: int) -> Observation | None:
    step = operand.view.steps[level]
    wide, narrow = max(step.new_bits, step.old_bits), min(step.new_bits, step.old_bits)
    if wide % narrow:
        return _whole(operand, f"elements of a multiple or a part of {step.old_bits} bits", f"{step.new_bits} bits")
    try:
        fixed = scene.fixed(operand, thread)
    except LimitError:
        return None
    row_bits = fixed.shapes[level][-1] * step.old_bits
    if row_bits % step.new_bits:
        return _whole(
            operand, f"a last axis of a multiple of {step.new_bits} bits", f"{row_bits} bits ({row_bits % step.new_bits} too many)"
        )
    shape = fixed.shapes[level + 1]
    if len(coordinate) != len(shape) or not all(0 <= c < extent for c, extent in zip(coordinate, shape, strict=True)):
        return None
    first, _ = fixed.backs[level](coordinate, 0)
    if step.new_bits > step.old_bits:
        return _joined(operand, fixed, level, first)
    if step.new_bits == step.old_bits or first[-1] == 0 or coordinate[-1] * step.new_bits % step.old_bits:
        return None
    return _follows(operand, fixed, level, (*first[:-1], first[-1] - 1), fixed.linear)


def _joined(operand: Operand, fixed: FixedView, level: int, first: Coordinate) -> Observation | None:
    """Several old elements make a new one: they are consecutive bits, from a multiple of the new width on."""
    step = operand.view.steps[level]
    start = fixed.address(first, 0, level)
    for k in range(step.new_bits // step.old_bits - 1):
        found = _follows(operand, fixed, level, (*first[:-1], first[-1] + k), fixed.element)
        if found is not None:
            return found
    if start % step.new_bits == 0:
        return None
    size = step.new_bits // 8
    actual = f"{place(start)} ({start // 8} mod {size} = {start // 8 % size})" if size and start % 8 == 0 else place(start)
    return _whole(operand, f"a multiple of {size} bytes" if size else f"a multiple of {step.new_bits} bits", actual)


def _follows(operand: Operand, fixed: FixedView, level: int, here: Coordinate, offset: Callable[[Coordinate], int]) -> Observation | None:
    """The old element after `here` is the next element of the storage, in the same thread."""
    after, bits = (*here[:-1], here[-1] + 1), operand.view.declared_bits
    (one, one_bit), (two, two_bit) = fixed.source(here, 0, level), fixed.source(after, 0, level)
    expected, actual = offset(one) * bits + one_bit + operand.view.steps[level].old_bits, offset(two) * bits + two_bit
    if expected != actual:
        return _whole(operand, place(expected), place(actual))
    axes = sorted(fixed.layout.axes() - ({"TCol"} if operand.view.space == "tmem" else set()))
    owners = [tuple(fixed.layout.value(declared, axis) for axis in axes) for declared in (one, two)]
    if owners[0] != owners[1]:
        return _whole(operand, f"{axes} {list(owners[0])}", f"{list(owners[1])}")
    return None


def container(operand: Operand) -> Observation | None:
    """`type`: the container is one the contract takes."""
    if operand.dtypes is None or operand.view.dtype in operand.dtypes:
        return None
    return _whole(operand, f"one of {', '.join(operand.dtypes)}", operand.view.dtype)


def form(case: Case, operand: Operand) -> Observation | None:
    """The part of `shape` that no symbol matters to: rank, static extents, atom and repeat extents."""
    found, groups, atom = operand.view.static_shape, case.launch.group_rank, operand.atom_extents
    expected = f"shape ({', '.join([*('?' * groups), '*repeat', *operand.loops, *map(str, atom)])})"
    if operand.view.refused:
        return None
    if any(extent is None or extent <= 0 for extent in found):
        return _whole(operand, "positive static extents", _shape(found))
    if len(found) < groups + len(operand.loops) + len(atom) or found[len(found) - len(atom) :] != atom:
        return _whole(operand, expected, _shape(found))
    if case.boxed:
        return None
    (free, loops), repeat = case.repeat_axes, found[groups : len(found) - len(atom)]
    named = len(repeat) - len(operand.loops)
    wanted = (*(repeat[:named] if free is None else free), *(loops.get(*pair) for pair in zip(operand.loops, repeat[named:], strict=True)))
    if repeat != wanted:
        whose = "the operands before it have" if operand.loops else f"{case.operands[0].name} has"
        return _whole(operand, f"repeat extents {list(wanted)}, as {whose}", f"{list(repeat)}")
    return None


def _shape(extents: Extents) -> str:
    return f"shape ({', '.join('?' if extent is None else str(extent) for extent in extents)})"


def shape(scene: Scene, operand: Operand) -> Observation | None:
    """Rank, group, repeat and atom extents."""
    launch, found = scene.launch, operand.view.static_shape
    if operand.view.refused:
        return None
    active = scene.executing() if scene.case.selective else launch.everyone
    for instance in launch.instances(active).values() if launch.group_rank else ():
        group = launch.extents(instance)
        if found[: launch.group_rank] != group:
            expected = f"shape ({', '.join([*map(str, group), '*repeat', *operand.loops, *map(str, operand.atom_extents)])})"
            return _whole(operand, expected, _shape(found))
    return form(scene.case, operand)


def owner(site: Site) -> Observation | None:
    """The thread that executes the element is the one the layout says, in one replica at least."""
    if outside(site):
        return None
    scene, operand, layout = site.scene, site.operand, site.fixed.layout
    written = sorted(layout.axes() - (PLACES if operand.view.space == "tmem" else set()))
    foreign = [axis for axis in written if axis not in OWN_AXES[operand.view.space]]
    if scene.launch.scope == "thread":
        foreign = written
    if foreign:
        return site.fail(f"no axis {foreign[0]} here", f"the layout's axis {foreign[0]}", "is placed on threads")
    own = scene.launch.coordinates(site.thread)
    wrong: tuple[str, int] | None = None
    for copy in layout.copies():
        says = {axis: site.fixed.axis(site.coordinate, axis) + copy.get(axis, 0) for axis in written}
        wrong = next(((axis, says[axis]) for axis in written if says[axis] != own[axis]), None)
        if wrong is None:
            break
    if wrong is not None:
        return site.fail(f"{wrong[0]} {own[wrong[0]]}", f"{wrong[0]} {wrong[1]}", "belongs to another thread")
    return _uncovered(site, written) if operand.register else None


def _uncovered(site: Site, written: list[str]) -> Observation | None:
    launch, thread = site.scene.launch, site.thread
    covered = {part for axis in written if axis != "tx" or launch.one_dimensional for part in COVERS[axis]}
    cta = launch.cta_axes(thread.cta)
    own = {"lane": thread.lane, "warp % 4": thread.warp % 4, "warp // 4": thread.warp // 4, "cbx": cta[0], "cby": cta[1], "cbz": cta[2]}
    for part in INSIDE[launch.scope]:
        if part not in covered and own[part] != 0:
            return site.fail(f"{part} {own[part]}", f"{part} 0 (no axis of the layout names it)", "belongs to another thread")
    return None


def replica(scene: Scene, operand: Operand) -> Observation | None:
    """A destination lives in one place only."""
    for extent, stride, axis in operand.view.tensor(scene.values).replicas:
        if extent > 1 and stride != 0:
            return _whole(operand, "no replica of a destination", f"{extent} copies, {stride} apart on {axis}")
    return None


def slot(fixed: FixedView, coordinate: Coordinate) -> int:
    """The register slot of an element, counted in elements of the final dtype."""
    if coordinate not in fixed.slots:
        fixed.slots[coordinate] = fixed.address(coordinate) // fixed.view.bits
    return fixed.slots[coordinate]


def distinct(site: Site) -> Observation | None:
    """No earlier element of the same thread has this slot."""
    if outside(site):
        return None
    shared = _also_written(site)
    if shared is not None:
        return shared
    own = slot(site.fixed, site.coordinate)
    atoms = site.operand.atoms_of(site.scene.launch.number(site.thread))
    for repeat in product(
        *(range(r + 1 if k == 0 else e) for k, (r, e) in enumerate(zip(site.repeat, repeats(site.scene, site.operand), strict=True)))
    ):
        for atom in atoms:
            if (repeat, atom) >= (site.repeat, site.atom):
                return None
            if slot(site.fixed, (*site.group, *repeat, *atom)) == own:
                return taken(site, own, repeat, atom)
    return None


def _also_written(site: Site) -> Observation | None:
    """A register that is one of an earlier destination of the same allocation."""
    case, own = site.scene.case, site.operand
    first = site.fixed.address(site.coordinate)
    for other in case.operands[: case.operands.index(own)] if own.named_tensor else ():
        if not (other.register and other.write and other.named_tensor and other.tensor == own.tensor):
            continue
        fixed = site.scene.fixed(other, site.thread)
        if slices(other, fixed, site.scene.environment(site.thread)):
            continue
        for repeat in product(*map(range, repeats(site.scene, other))):
            for atom in other.atoms_of(site.scene.launch.number(site.thread)):
                there = fixed.address((*site.group, *repeat, *atom))
                if first < there + other.bits and there < first + own.bits:
                    return site.fail("a slot of its own", f"a slot of {other.name} {spot(repeat, atom)}", "shares a register")
    return None


def taken(site: Site, own: int, repeat: Coordinate, atom: Coordinate) -> Observation:
    """Two elements in one slot."""
    return site.fail("a slot of its own", f"slot {own}, already the slot of {spot(repeat, atom)}", "shares a register")


def repeats(scene: Scene, operand: Operand) -> Coordinate:
    """The repeat extents of an operand of the right shape."""
    found = operand.view.static_shape
    middle = found[scene.launch.group_rank : len(found) - len(operand.atom_extents)]
    return tuple(extent or 0 for extent in middle)


def index_range(site: Site) -> Observation | None:
    """No intermediate result of an index expression, and no element offset in memory, leaves the index type."""
    low, high = site.scene.case.facts.index_range
    try:
        if not site.fixed.in_range:
            indices(site.operand, site.scene.environment(site.thread), Limits(low, high))
            site.fixed.in_range = True
        if site.operand.register or site.operand.matrix is not None or outside(site):  # offsets of elements outside their axes mean nothing
            return None
        bits = (0, site.operand.view.bits - 1)
        ends = [site.fixed.linear(site.fixed.source(site.coordinate, bit)[0]) for bit in bits]
    except LimitError as trouble:
        return site.fail(trouble.expected, trouble.actual, "has an index out of range")
    offset = next((offset for offset in ends if not low <= offset <= high), None)
    if offset is None:
        return None
    return site.fail(f"{low} <= element offset <= {high}", f"element offset {offset}", "has an index out of range")


def indices(operand: Operand, environment: Mapping[str, int], limits: Limits) -> None:
    """LimitError where an index expression breaks the limits."""
    for expression in operand.view.starts():
        expression.check(environment, limits)
    for expression in operand.view.declared():
        if expression.names:
            expression.check(environment, limits)


def conditions_range(scene: Scene, thread: Thread | None) -> Observation | None:
    """Divisors and shift amounts of guard, assumptions, pred and scalar parameters."""
    case = scene.case
    expressions: list[tuple[str, Expression]] = [("an assumption", fact) for fact in case.facts.facts] if thread is None else []
    if thread is not None and scene.launch.exists(thread):
        expressions = [("the guard", condition) for condition in case.conditions]
        if scene.active(thread):
            expressions += [] if case.pred is None else [("pred", case.pred)]
            others = {n: v for n, v in case.parameters.items() if n in case.specs and case.specs[n]["kind"] in MATHEMATICAL}
            expressions += [(n, Expression(v)) for n, v in others.items() if n != "pred" and isinstance(v, str)]
    environment = scene.environment(thread)
    for name, expression in expressions:
        try:
            expression.check(environment, DEFINED)
        except LimitError as trouble:
            where = f"{who(scene, thread)}: " if thread is not None else ""
            sentence = f"{where}{name} {expression.text!r}: expected {trouble.expected}, found {trouble.actual}."
            return Observation(trouble.expected, trouble.actual, sentence)
    return None


def bounds(site: Site) -> Observation | None:
    """Every slice is inside its axis, and the element is not below the base."""
    for axis, expected, actual in outside(site):
        return site.fail(expected, actual, f"leaves axis {axis}")
    if site.operand.matrix is not None:
        return None  # a matter of `footprint`
    address = site.fixed.address(site.coordinate)
    return None if address >= 0 else site.fail("byte 0 or later", place(address), "lies below the base")


def outside(site: Site) -> list[tuple[int, str, str]]:
    """The slices of the view that leave their axis, as the thread sees it."""
    fixed = site.fixed
    if fixed.outside is None:
        fixed.outside = slices(site.operand, fixed, site.scene.environment(site.thread))
    return fixed.outside


def slices(operand: Operand, fixed: FixedView, environment: Mapping[str, int]) -> list[tuple[int, str, str]]:
    """The slices that leave their axis: (axis, expected, found)."""
    found: list[tuple[int, str, str]] = []
    for step, old, new in zip(operand.view.steps, fixed.shapes, fixed.shapes[1:], strict=False):
        for axis, (expression, extent) in enumerate(zip(step.expressions, new, strict=True) if step.op == "slice" else ()):
            begin = expression.value(environment)
            if begin < 0 or begin + extent > old[axis]:
                found.append((axis, f"0 <= begin, begin + {extent} <= {old[axis]}", f"begin {begin}, end {begin + extent}"))
    return found


def backing(scene: Scene, operand: Operand) -> Observation | None:
    """The declared layout fits the allocation, and the allocation the architecture."""
    view = operand.view
    try:
        span = view.tensor(scene.values).span() * view.declared_bits
        size = min((one.value(scene.values) for one in _sizes(scene, operand)), default=None)
    except LimitError:
        return None
    needed = -(-span // 8)
    if size is not None and needed > size:
        return _whole(operand, f"a span of at most {size} bytes", f"{needed} bytes")
    number = int("".join(filter(str.isdigit, scene.case.arch)) or 0)
    limit = SHARED_BYTES[max((known for known in SHARED_BYTES if known <= number), default=75)] if number else max(SHARED_BYTES.values())
    allocated = max(needed, size or 0)
    if view.space == "shared" and allocated > limit:
        return _whole(operand, f"at most {limit} bytes of shared memory", f"{allocated} bytes")
    return None


def declared_sizes(scene: Scene, operand: Operand) -> list[int]:
    """The declared sizes of the allocation of an operand, in bytes; of them the least counts. LimitError where one has no value."""
    return [one.value(scene.values) for one in _sizes(scene, operand)]


def _sizes(scene: Scene, operand: Operand) -> Iterator[Expression]:
    """The declared sizes of the allocation of an operand: its own, and those of others that name the same tensor."""
    for other in scene.case.operands:
        same = other is operand or (operand.named_tensor and other.named_tensor and other.tensor == operand.tensor)
        if same and other.size_bytes is not None:
            yield other.size_bytes


def contiguous(site: Site) -> Observation | None:
    """An element of a row follows the one before it."""
    before = site.operand.previous(site.atom)
    if before is None:
        return None
    expected = site.fixed.address(site.at(before)) + site.operand.view.bits
    actual = site.fixed.address(site.coordinate)
    return None if actual == expected else site.fail(place(expected), place(actual), "does not follow the element before it")


def aligned(site: Site) -> Observation | None:
    """A row starts at a multiple of the alignment."""
    if site.operand.previous(site.atom) is not None:
        return None
    needed = site.operand.align_bytes
    bits = 8 * site.residue + site.fixed.address(site.coordinate)
    if bits % (8 * needed) == 0:
        return None
    base = f" with the base at {site.residue} mod {needed}" if site.residue else ""
    actual = f"{place(bits)} ({bits // 8} mod {needed} = {bits // 8 % needed}{base})"
    return site.fail(f"a multiple of {needed} bytes", actual, "starts a row")


ELEMENT_CLAUSES: dict[str, Callable[[Site], Observation | None]] = {
    "owner": owner,
    "distinct": distinct,
    "index.range": index_range,
    "bounds": bounds,
    "contiguous": contiguous,
    "aligned": aligned,
}
UNDER_PRED = {"index.range", "bounds", "contiguous", "aligned", "descriptor", "backing", "partition", "footprint", "image"}
