"""Operands in tensor memory: their clauses decided at points, from what the contract says of the instruction and the layout of the view."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

from tilecheck.evaluate.clauses import Observation, Site, declared_sizes, repeats, who
from tilecheck.evaluate.expressions import LimitError, term

if TYPE_CHECKING:
    from tilecheck.evaluate.case import Operand, Scene

LANES, COLUMNS, CELL, SLAB = 128, 512, 32, 32
COLUMN_BYTES = LANES * CELL // 8
"""The bytes of one column of an allocation."""
CLAUSES = ("partition", "footprint", "image", "distinct")
LEVELS = ("cta", "warp", "thread")


def clauses(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """The clauses of an element of such an operand."""
    apart = spec["write"] and (spec.get("behind") or spec.get("alone"))
    return (*(("partition",) if spec["slab"] else ()), "footprint", "image", *(("distinct",) if apart else ()))


def premises(spec: Mapping[str, Any], short: str) -> tuple[str, ...]:
    """The clauses of places that must hold before one is owed."""
    first = spec["behind"][0] if spec.get("behind") else spec["name"]
    return (f"{spec['name']}.image", f"{first}.image") if short == "distinct" else ()


def columns(scene: Scene, operand: Operand) -> int:
    """The columns that are there: of tensor memory, or of the allocation where its size is given."""
    return min([COLUMNS, *(size // COLUMN_BYTES for size in declared_sizes(scene, operand))])


def where(lane: int, bit: int) -> str:
    """A place in words."""
    return f"lane {lane}, column {bit // CELL}" + (f" bit {bit % CELL}" if bit % CELL else "")


def decide(short: str, site: Site, unplaced: Collection[str] = ()) -> Observation | None:
    """A clause of an element; None where it has no place. unplaced: operands whose places are not known."""
    spec = site.operand.matrix
    assert spec is not None
    try:
        if short == "partition":
            return _partition(site, spec)
        if short == "footprint":
            return _footprint(site, spec)
        if short == "distinct":
            return _split(site, spec) or _alone(site, spec)
        return _begin(site, spec) or _behind(site, spec, unplaced) or _beside(site, spec, unplaced) or _walked(site, spec)
    except LimitError:
        return None


def _partition(site: Site, spec: Mapping[str, Any]) -> Observation | None:
    lane, bit = site.fixed.cell(site.coordinate)
    slab = SLAB * (site.thread.warp % 4)
    if not slab <= lane < slab + SLAB:
        return site.fail(f"a lane from {slab} to {slab + SLAB - 1}", where(lane, bit), "is out of reach of the warp")
    if any(site.atom) or not spec["first_lanes"] or lane - slab in spec["first_lanes"]:
        return None
    return site.fail(f"lane {_either(slab + one for one in spec['first_lanes'])}", where(lane, bit), "starts an instruction")


def _either(numbers: Any) -> str:
    return " or ".join(map(str, numbers))


def _footprint(site: Site, spec: Mapping[str, Any]) -> Observation | None:
    lane, bit = site.fixed.cell(site.coordinate)
    there, far = columns(site.scene, site.operand), max(_shifts(spec))
    if lane >= 0 and lane + far < LANES and bit >= 0 and bit + site.operand.bits <= CELL * there:
        return None
    copies = f" and lane {lane + far}" if far else ""
    return site.fail(f"a place in {LANES} lanes of {there} columns", where(lane, bit) + copies, "is not there")


def _first(site: Site) -> tuple[int, int]:
    return site.fixed.cell(site.at((0,) * len(site.atom)))


def _begin(site: Site, spec: Mapping[str, Any]) -> Observation | None:
    """The first element lies where an instruction may start."""
    if any(site.atom):
        return None
    lane, bit = _first(site)
    if bit % spec["first_bits"]:
        unit = spec["first_bits"]
        wanted = f"a multiple of {unit // CELL} columns" if unit > CELL else f"a multiple of {unit} bits"
        return site.fail(wanted, where(lane, bit), "starts an instruction")
    if not spec["slab"] and spec["first_lanes"] and lane not in spec["first_lanes"]:
        return site.fail(f"lane {_either(spec['first_lanes'])}", where(lane, bit), "starts an instruction")
    return None


def _behind(site: Site, spec: Mapping[str, Any], unplaced: Collection[str]) -> Observation | None:
    """The address of the first element is that of another operand's plus a parameter."""
    if any(site.atom) or not spec.get("behind"):
        return None
    name, parameter = spec["behind"]
    other = next(operand for operand in site.scene.case.operands if operand.name == name)
    if name in unplaced:
        return None
    if not (other.named_tensor and site.operand.named_tensor and other.tensor == site.operand.tensor):
        return site.fail(f"a view of the tensor of {name}", f"the tensor {site.operand.tensor}", "starts the second region")
    fixed = site.scene.fixed(other, site.thread)
    far = int(site.scene.case.parameters[parameter])
    (lane, bit), (before, start) = _first(site), fixed.cell((*site.group, *site.repeat, *(0,) * len(other.atom_extents)))
    wanted = (before << 16) * CELL + start + CELL * far
    if (lane << 16) * CELL + bit == wanted:
        return None
    cell, rest = divmod(wanted, CELL)
    expected = where(cell >> 16, (cell & 0xFFFF) * CELL + rest)
    says = f"{expected} ({where(before, start)} of {name} plus {parameter} {far})"
    return site.fail(says, where(lane, bit), "starts the second region")


def _beside(site: Site, spec: Mapping[str, Any], unplaced: Collection[str]) -> Observation | None:
    """The first element lies in the lane of that of another operand of the same instruction."""
    name = spec.get("beside")
    if any(site.atom) or not name or name in unplaced:
        return None
    other = next(operand for operand in site.scene.case.operands if operand.name == name)
    fixed, (lane, bit) = site.scene.fixed(other, site.thread), _first(site)
    free = len(site.repeat) - len(site.operand.loops)
    own = dict(zip(site.operand.loops, site.repeat[free:], strict=True))
    steps = ((own[loop],) if loop in own else range(site.scene.case.repeat_axes[1][loop]) for loop in other.loops)
    for step in product(*steps):
        there, start = fixed.cell((*site.group, *site.repeat[:free], *step, *(0,) * len(other.atom_extents)))
        if there != lane:
            return site.fail(f"lane {there}, where {name} starts ({where(there, start)})", where(lane, bit), "starts in another lane")
    return None


def _walked(site: Site, spec: Mapping[str, Any]) -> Observation | None:
    """An element lies as far behind the first as the instruction says."""
    (lane, bit), (first, start) = site.fixed.cell(site.coordinate), _first(site)
    at = dict(zip(site.operand.atom_names, site.atom, strict=True))
    wanted = first + term(spec["lane"], at), start + site.operand.bits * term(spec["column"], at)
    return None if (lane, bit) == wanted else site.fail(where(*wanted), where(lane, bit), "is elsewhere in the instruction")


def _split(site: Site, spec: Mapping[str, Any]) -> Observation | None:
    """No cell of the second region is one of the first, in one instruction."""
    if not spec.get("behind"):
        return None
    other = next(operand for operand in site.scene.case.operands if operand.name == spec["behind"][0])
    fixed = site.scene.fixed(other, site.thread)
    lane, bit = site.fixed.cell(site.coordinate)
    for atom in other.atoms:
        row, start = fixed.cell((*site.group, *site.repeat, *atom))
        if (row, start // CELL) == (lane, bit // CELL):
            return site.fail("a cell of its own", f"{where(lane, bit)}, already written as {other.name} {list(atom)}", "shares a cell")
    return None


def _alone(site: Site, spec: Mapping[str, Any]) -> Observation | None:
    """No other thread of the instance writes a cell of this element."""
    scene, launch = site.scene, site.scene.launch
    if not spec.get("alone") or launch.scope == "thread" or launch.collective:
        return None
    own = _taken(site.fixed.cell(site.coordinate), spec)
    varying = {symbol.name: symbol.varies for symbol in scene.case.varying(LEVELS)}
    for other in scene.alternatives(LEVELS) if varying else (scene,):
        for thread in launch.threads:
            if thread == site.thread or thread.cta != site.thread.cta or launch.instance(thread[:2]) != launch.instance(site.thread[:2]):
                continue
            shared = {level for count, level in enumerate(LEVELS, start=1) if thread[:count] == site.thread[:count]}
            if any(level in shared and other.values[name] != scene.values[name] for name, level in varying.items()):
                continue
            if not (other.active(thread) and other.predicate(thread)):
                continue
            fixed, group = other.fixed(site.operand, thread), other.group(thread)
            key = tuple(fixed.values.items()), group
            if key not in fixed.taken:
                steps = product(*(range(extent) for extent in repeats(other, site.operand)))
                places = (fixed.cell((*group, *step, *atom)) for step in steps for atom in site.operand.atoms)
                fixed.taken[key] = {cell for found in places for cell in _taken(found, spec)}
            meeting = sorted(own & fixed.taken[key])
            if meeting:
                lane, column = meeting[0]
                says = f"lane {lane}, column {column}, which {who(other, thread)} writes too"
                return site.fail("a cell of its own", says, "shares a cell")
    return None


def _taken(place: tuple[int, int], spec: Mapping[str, Any]) -> set[tuple[int, int]]:
    """The cells of an element and of its copies."""
    lane, bit = place
    last = (bit + int(spec["bits"]) - 1) // CELL
    return {(lane + shift, column) for shift in _shifts(spec) for column in range(bit // CELL, last + 1)}


def numbers(spec: Mapping[str, Any], bit: int) -> list[int]:
    """The cells of an element at a bit of tensor memory, and of its copies, numbered through all lanes."""
    last = (bit + int(spec["bits"]) - 1) // CELL
    return [number + shift * COLUMNS for shift in _shifts(spec) for number in range(bit // CELL, last + 1)]


def _shifts(spec: Mapping[str, Any]) -> list[int]:
    """How many lanes each copy lies behind the first, ascending."""
    digits = product(*([k * apart for k in range(count)] for count, apart in spec["replicas"]))
    return sorted(sum(shift) for shift in digits)


def replica_bits(spec: Mapping[str, Any]) -> list[int]:
    """How many bits of tensor memory each copy lies behind the first, in the order of its number."""
    digits = product(*([k * apart for k in range(count)] for count, apart in spec["replicas"]))
    return [sum(shift) * COLUMNS * CELL for shift in digits]


def replica(scene: Scene, operand: Operand) -> Observation | None:
    """The copies of the view are those of the instruction."""
    spec = operand.matrix
    assert spec is not None
    found: list[tuple[int, int, tuple[tuple[str, int], ...]]] = []
    effective = [one for one in operand.view.tensor(scene.values).replicas if one[0] > 1 and one[1]]
    for digits in product(*(range(extent) for extent, _, _ in effective)):
        shift: dict[str, int] = {}
        for digit, (_, stride, axis) in zip(digits, effective, strict=True):
            shift[axis] = shift.get(axis, 0) + digit * stride
        lane, column = shift.pop("TLane", 0), shift.pop("TCol", 0) + shift.pop("m", 0)
        found.append((lane, column, tuple(sorted((axis, value) for axis, value in shift.items() if value))))
    wanted = _shifts(spec)
    if sorted(found) == [(lane, 0, ()) for lane in wanted]:
        return None
    expected, actual = f"copies in lanes {_plus(wanted)}", f"copies in lanes {_plus(sorted(lane for lane, _, _ in found))}"
    if any(column or axes for _, column, axes in found):
        actual = f"{len(found)} copies, not all in the same columns"
    return Observation(expected, actual, f"{operand.name} ({operand.label}): expected {expected}, found {actual}.")


def _plus(lanes: Collection[int]) -> str:
    return ", ".join(f"+{lane}" if lane >= 0 else str(lane) for lane in lanes)


def backing(scene: Scene, operand: Operand) -> Observation | None:
    """The declared layout lies in the lanes and columns that there are, and the allocation in tensor memory."""
    try:
        layout, there = operand.view.tensor(scene.values), columns(scene, operand)
    except LimitError:
        return None
    own = operand.size_bytes.value(scene.values) if operand.size_bytes is not None else 0
    ends: list[int] = []
    for axes in (("TLane",), ("TCol", "m")):
        start = sum(layout.offsets.get(axis, 0) for axis in axes)
        far = [(extent - 1) * stride for extent, stride, axis in (*layout.shards, *layout.replicas) if axis in axes]
        ends += [start + sum(f for f in far if f < 0), start + sum(f for f in far if f > 0)]
    bits, (low, high, first, last) = operand.view.declared_bits, ends
    actual = f"lanes {low} to {high}, columns {first * bits // CELL} to {((last + 1) * bits - 1) // CELL}"
    if own > COLUMN_BYTES * COLUMNS:
        expected, actual = f"an allocation of at most {COLUMN_BYTES * COLUMNS} bytes", f"{own} bytes"
    elif low >= 0 and high < LANES and first >= 0 and (last + 1) * bits <= CELL * there:
        return None
    else:
        expected = f"{LANES} lanes of {there} columns"
    return Observation(expected, actual, f"{operand.name} ({operand.label}): expected {expected}, found {actual}.")
