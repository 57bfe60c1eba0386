"""The structure tier: clauses read off the canonical form of a view. Each function names the tier that proves the clause, or abstains (None).

*structure*: factors and strides alone. *domain*: with intervals and congruences of symbolic starts. *bits*: through XORs, which move aligned blocks
as wholes. What abstains here is decided from the traced view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from tilecheck.call import COORDINATES, Launch
from tilecheck.layout.axes import STORAGE, THREAD_AXES
from tilecheck.layout.strided import Axis, Factor, Strided, coalesced, injective
from tilecheck.layout.tile import swizzles
from tilecheck.prove.problem import Problem, Side
from tilecheck.scopes import LANES, hardware_terms
from tilecheck.spec.contract import Memory, Register
from tilecheck.symbolic import terms
from tilecheck.symbolic.domain import stays_inside
from tilecheck.symbolic.terms import Term, var

Linear = Mapping[str, int]
"""A sum of variables times integers; the constant has the key ""."""


def method(side: Side, *, through: bool = True) -> str:
    """The tier that a proof from the canonical form belongs to. through: whether the swizzles have a say."""
    form = side.strided
    return "bits" if through and form is not None and form.fine else "domain" if side.view.symbolic else "structure"


def index(problem: Problem, entry: Term, low: int, high: int) -> str | None:
    """index.range of one written term."""
    if isinstance(entry, int):
        return None
    context = problem.context
    plain = terms.variables(entry) <= context.environment.keys()
    inside = stays_inside(entry, *((context.environment, low, high, context.known) if plain else (context.coordinates, low, high, {})))
    return "domain" if inside else None


def offsets(side: Side, low: int, high: int) -> bool:
    """index.range of the offsets of all elements, in declared elements."""
    form = side.strided
    if form is None:
        return False
    first, last = form.ends()
    declared = side.tensor.bits
    return first // declared >= low and last // declared + max(0, form.bits // declared - 1) <= high


def swizzled_by(side: Side, xors: tuple[tuple[int, int], ...]) -> bool:
    """Whether the layout's own swizzle, on the offset, is that of the hardware on bytes: the XOR of (a >> shift) & mask over `xors`."""
    own = [one for one in swizzles(side.tensor.layout) if one.swizzle_len]
    if len(xors) != len(own) or len(own) > 1:
        return False
    if not own:
        return True
    one, (shift, mask) = own[0], xors[0]
    keeps = side.tensor.bits << one.per_element
    return one.swizzle_inner and one.atom_len == shift and ((1 << one.swizzle_len) - 1) * keeps == 8 * mask


def contiguous(problem: Problem, side: Side, spec: Memory) -> str | None:
    """The row axes are one run of elements; a run that a swizzle block holds whole stays one."""
    form, row = side.strided, _axes(problem, side, spec.row)
    if form is None or row is None:
        return None
    run = coalesced(factor for axis in row for factor in axis)
    if not run:
        return method(side)
    if len(run) > 1 or run[0][1:] != (STORAGE, form.bits):
        return None
    size = run[0][0] * form.bits
    if form.fine and (form.fine % size or not _multiples(problem, spec, size, form)):
        return None
    return method(side)


def aligned(problem: Problem, side: Side, spec: Memory, bases: Sequence[int]) -> str | None:
    """The start and every stride between rows are multiples of the alignment; a swizzle that moves larger blocks changes nothing of that."""
    form, modulus = side.strided, 8 * spec.align_bytes
    if form is None or (form.fine and form.fine % modulus):
        return None
    offset = form.start.remainder(modulus)
    if offset is None or not bases or any((offset + 8 * base) % modulus for base in bases):
        return None
    return method(side) if _strides(problem, spec, modulus, form) else None


def _multiples(problem: Problem, spec: Memory, size: int, form: Strided) -> bool:
    """Every row starts at a multiple of `size` bits."""
    return form.start.divisible(size) and _strides(problem, spec, size, form)


def _strides(problem: Problem, spec: Memory, size: int, form: Strided) -> bool:
    """Every stride outside the rows is a multiple of `size` bits."""
    outside = form.axes[: len(form.axes) - len(spec.row)]
    return _trailing(problem, spec) and all(stride % size == 0 for axis in outside for _, name, stride in axis if name == STORAGE)


def _trailing(problem: Problem, spec: Memory) -> bool:
    """Whether the row axes are the last of the atom."""
    atom = problem.contract.atom
    return tuple(axis.name for axis in atom[len(atom) - len(spec.row) :]) == spec.row


def _axes(problem: Problem, side: Side, names: Sequence[str]) -> list[Axis] | None:
    """The factors of atom axes."""
    form, atom = side.strided, problem.contract.atom
    if form is None:
        return None
    first = len(form.axes) - len(atom)
    return [form.axes[first + k] for k, axis in enumerate(atom) if axis.name in names]


def memory_owner(side: Side) -> str | None:
    """The copy of a memory operand: no thread axis is written, and none is needed."""
    form, places = side.strided, {STORAGE, "TLane"} if side.tensor.space == "tmem" else {STORAGE}
    if form is None or not places.issuperset(form.other) or any(one.effective and one.axis not in places for one in side.replicas):
        return None
    return "structure" if all(name in places for axis in form.axes for _, name, _ in axis) else None


def owner(problem: Problem, side: Side, spec: Register) -> str | None:
    """The thread axes that a register view writes, as sums of the executing thread's coordinates, are those coordinates."""
    form = side.strided
    if form is None or any(one.axis in THREAD_AXES and one.effective for one in side.replicas):
        return None
    front, held = len(problem.groups), side.digits
    if held is None:
        return None
    sums: dict[str, dict[str, int]] = {name: {"": value} for name, value in form.other.items()}
    places: list[tuple[Term, Axis]] = [(axis.coordinate, form.axes[k]) for k, axis in enumerate(problem.groups)]
    places += [(0, axis) for axis in form.axes[front : len(form.axes) - len(problem.atom(side))]]
    for coordinate, factors in places:
        written = coalesced(factor for factor in factors if factor[1] != STORAGE)
        if not written:
            continue
        whole = len(coalesced(factors)) == 1
        linear = _linear(_of_unit(problem, coordinate))
        if not whole or linear is None or coordinate == 0:
            return None
        _, name, stride = written[0]
        found = sums.setdefault(name, {})
        for variable, weight in linear.items():
            found[variable] = found.get(variable, 0) + weight * stride
    for number, (_, name, stride, _) in enumerate(held):
        if name != STORAGE and stride:
            sums.setdefault(name, {})[f"@d{number}"] = stride
    lane = None if spec.lane is None else {f"@d{number}": weight for number, (_, _, _, weight) in enumerate(held) if weight}
    return _owned(problem, sums, lane, {f"@d{number}": extent for number, (extent, _, _, _) in enumerate(held)})


def _owned(problem: Problem, sums: dict[str, dict[str, int]], lane: Linear | None, extents: Mapping[str, int]) -> str | None:
    """lane: the thread of the executing warp or warpgroup that holds an element, where the instruction says it; extents: of the digits in it."""
    if problem.call.scope == "thread":
        return None if sums else "structure"
    here = executing(problem.call.launch)
    if lane is not None and problem.contract.warps > 1:
        here = _in_warpgroup(problem.call.launch, lane, extents)
    elif lane is not None:
        here = {name: _at_lane(linear, lane) for name, linear in here.items()}
    for name, found in sums.items():
        if {k: v for k, v in found.items() if v} != here.get(name):
            return None
    return "structure" if _covers(problem, set(sums)) else None


def _of_unit(problem: Problem, coordinate: Term) -> Term:
    """A group coordinate over the warpgroup, where warpgroups execute."""
    if problem.contract.warps == 1:
        return coordinate
    return terms.substitute(coordinate, {"warpid": terms.mul(problem.contract.warps, var("wgid"))})


def _in_warpgroup(launch: Launch, thread: Linear, extents: Mapping[str, int]) -> dict[str, Linear]:
    """Each thread axis of a thread of the executing warpgroup, over the digits of its number in the warpgroup and over `wgid`; as far as it is a sum."""
    group = {"wgid": 1} if launch.warps > 4 else dict[str, int]()
    own = {name: linear for name, linear in executing(launch).items() if name[:2] == "cb"}
    found: dict[str, Linear] = {**own, "wgid": group, "tid_in_wg": thread}
    if len(launch.block) == 1 or launch.block[0] == launch.threads:
        found["tx"] = {**{name: 128 * weight for name, weight in group.items()}, **thread}
    lanes = {name: weight for name, weight in thread.items() if weight < LANES}
    warps = {name: weight // LANES for name, weight in thread.items() if weight >= LANES}
    if sum((extents[name] - 1) * weight for name, weight in lanes.items()) < LANES and all(
        weight % LANES == 0 for name, weight in thread.items() if name in warps
    ):
        found |= {"laneid": lanes, "wid_in_wg": warps, "warpid": {**{name: 4 * weight for name, weight in group.items()}, **warps}}
    return found


def _at_lane(linear: Linear, lane: Linear) -> Linear:
    """A sum with the lane replaced by another sum."""
    weight = linear.get("laneid", 0)
    return {
        **{name: value for name, value in linear.items() if name != "laneid"},
        **{name: weight * value for name, value in lane.items() if weight},
    }


@lru_cache(maxsize=512)
def executing(launch: Launch) -> dict[str, Linear]:
    """Each thread axis of the executing thread, as a linear sum where it is one."""
    found: dict[str, Linear] = {}
    for name, term in hardware_terms(launch).items():
        linear = _linear(term)
        if linear is not None:
            found[name] = {variable: weight for variable, weight in linear.items() if weight}
    return found


COVERS = {
    "laneid": ("laneid",),
    "warpid": ("warpid",),
    "wid_in_wg": ("wid_in_wg",),
    "wgid": ("wgid",),
    "tid_in_wg": ("laneid", "wid_in_wg"),
    "tx": ("laneid", "warpid"),
    "cbx": ("cbx",),
    "cby": ("cby",),
    "cbz": ("cbz",),
}
"""What a written axis names of a thread."""


def _covers(problem: Problem, written: set[str]) -> bool:
    """Whether every coordinate inside the scope is named by a written axis, or has the value 0 only."""
    launch, scope = problem.call.launch, problem.call.scope
    named = {part for name in written for part in COVERS.get(name, ())}
    lanes = "laneid" in named or (launch.threads == 1 and not problem.collective)
    inside = "wid_in_wg" in named and (scope == "warpgroup" or launch.warps <= 4 or "wgid" in named)
    warps = scope == "warp" or launch.warps == 1 or "warpid" in named or inside
    ctas = scope != "cluster" or all(extent == 1 or name in named for name, extent in launch.cluster_axes())
    return lanes and warps and ctas


def _linear(term: Term) -> dict[str, int] | None:
    """A term as a sum of variables times integers."""
    if isinstance(term, int):
        return {"": term}
    if term.op == "var":
        return {str(term.args[0]): 1}
    if term.op == "*":
        a, b = terms.children(term)
        factor, inner = (a, b) if isinstance(a, int) else (b, a)
        found = _linear(inner)
        return None if not isinstance(factor, int) or found is None else {name: weight * factor for name, weight in found.items()}
    if term.op != "+":
        return None
    total: dict[str, int] = {}
    for arg in terms.children(term):
        found = _linear(arg)
        if found is None:
            return None
        for name, weight in found.items():
            total[name] = total.get(name, 0) + weight
    return total


def distinct(problem: Problem, side: Side) -> bool:
    """The slots of one thread are the values of an injective sum of digits: repeats, and the atom axes that the lane does not fix."""
    form = side.strided
    if form is None:
        return False
    front, back, held = len(problem.groups), len(form.axes) - len(problem.atom(side)), side.digits
    if held is None:
        return False
    free: list[Factor] = [factor for axis in form.axes[front:back] for factor in axis]
    free += [(extent, name, stride) for extent, name, stride, weight in held if not weight]
    fixed = [(extent, weight) for extent, _, _, weight in held if weight]
    return injective(fixed, 1) and injective(((extent, stride if name == STORAGE else 0) for extent, name, stride in free), form.bits)


def apart(problem: Problem, side: Side, spec: Memory, width: int) -> bool:
    """No two accesses of `width` bits overlap: all executing threads are indices of the view, and its rows are different places."""
    form = side.strided
    if form is None or not form.storage_only:
        return False
    varying = any(s.varies not in {"grid", "cluster"} for s in problem.call.symbols) or any(
        terms.variables(term) & COORDINATES for term in side.view.symbolic
    )
    if not one_instance(problem, side) or varying or (form.fine and (form.fine % width or not _multiples(problem, spec, width, form))):
        return False
    outside = form.axes[: len(form.axes) - len(spec.row)]
    return _trailing(problem, spec) and injective(((extent, stride) for axis in outside for extent, _, stride in axis), width)


def one_instance(problem: Problem, side: Side) -> bool:
    """Whether one instance of the scope executes, so that group coordinates tell all executing threads apart."""
    launch, scope = problem.call.launch, problem.call.scope
    if side.tensor.space == "tmem" and scope == "warp":
        among = problem.context.environment["warpid"]
        return among.low == among.high
    ctas = 1 if side.tensor.space == "tmem" else launch.ctas  # each CTA has its own tensor memory
    if scope == "cluster":
        return ctas == 1 or side.tensor.space == "global"
    most = {"thread": launch.threads, "warp": launch.warps, "warpgroup": -(-launch.warps // 4), "cta": 1}[scope]
    return ctas * most == 1
