"""Hazards: what is legal but suspicious. Two executing threads, or two repeats, that store to one byte; a destination that overlaps a source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from tilecheck.call import Launch
from tilecheck.prove import structure, tmem_cells
from tilecheck.prove.clause import coordinates
from tilecheck.prove.enumeration import Grid, make_grid
from tilecheck.prove.obligation import Obligation, Variable, relevant
from tilecheck.prove.operands import Repeats, own_repeats, repeat_extents
from tilecheck.prove.parameters import reaches, value_of
from tilecheck.prove.periods import shortened
from tilecheck.prove.problem import Problem, Side, atom_variables, copied, copied_variables, fixed, repeat_terms, repeat_variables, tied
from tilecheck.prove.verdict import Hazard
from tilecheck.scopes import CTA, LANES, THREAD, ground
from tilecheck.spec.contract import Memory, Register
from tilecheck.spec.tmem import CELL_BITS, LANE_BITS, TensorMemory
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import ELECTED, Term, var

if TYPE_CHECKING:
    from tilecheck.prove.enumeration import Array
    from tilecheck.prove.tiers import Tiers

INSTANCE = {"cta": {CTA}, "warp": {CTA, "warpid"}, "thread": {CTA, "warpid", "laneid"}}
"""The thread coordinates that fix the value of a symbol that varies at each level."""
PRIVATE = {"global": set[str](), "tensormap": set[str](), "shared": {CTA}, "local": {CTA, "warpid", "laneid"}, "tmem": {CTA}}
"""The thread coordinates that choose the copy of a tensor in each space."""
EVERY_BYTE = 0xFFFF


def hazards(problem: Problem, repeats: tuple[int, ...], tiers: Tiers) -> tuple[Hazard, ...]:
    """The hazards of a call whose addresses are in bounds."""
    several = many(problem, tiers)
    found = [_race(problem, side, repeats, tiers, several) for side in _stored(problem)]
    found += [next((h for h in (_alias(problem, a, b, repeats, tiers) for a, b in _pairs(problem)) if h), None)]
    found += [several or paired(problem, tiers)]
    return tuple(hazard for hazard in found if hazard is not None)


def _stored(problem: Problem) -> list[Side]:
    """Memory destinations whose elements are replaced; two reductions of one element are no race."""
    combined = problem.contract.move.combine is not None
    stored = (side for side in problem.sides if isinstance(side.spec, Memory | TensorMemory) and side.spec.write and not combined)
    return [side for side in stored if not tmem_cells.second(side.spec)]  # a second region counts with its first


def absences(problem: Problem, repeats: tuple[int, ...]) -> Iterator[tuple[str, str, Obligation]]:
    """(hazard, that there is none, the same as a formula) for every destination that could have one."""
    for side in _stored(problem):
        yield "memory.race", f"no two executing threads or repeats store to one byte of {side.name}", apart(problem, side, repeats)
    for target, source in _pairs(problem):
        statement = f"no instruction reads as one of {source.name} a register that an earlier one of the call wrote as one of {target.name}"
        if not isinstance(target.spec, Register):
            statement = f"no byte is read as one of {source.name} that is written as one of {target.name}"
        yield "alias", statement, _unread(problem, target, source, repeats)
    if issued_once(problem):
        yield "issue.many", "no two threads of one CTA execute the call", alone(problem)
    if _works_in_pairs(problem):
        yield "issue.many", "no threads of both CTAs of a pair execute the call", alone(problem, (CTA,), pair=True)


def _pairs(problem: Problem) -> list[tuple[Side, Side]]:
    """Destinations and sources of one allocation, both in registers or both in memory."""
    named = [side for side in problem.sides if side.tensor.tensor is not None]
    return [
        (a, b)
        for a in named
        for b in named
        if a.spec.write and not b.spec.write and (a.tensor.tensor, a.tensor.space) == (b.tensor.tensor, b.tensor.space)
    ]


def _alias(problem: Problem, target: Side, source: Side, repeats: tuple[int, ...], tiers: Tiers) -> Hazard | None:
    """An instruction reads a register slot that an earlier one of the same thread wrote."""
    if isinstance(target.spec, TensorMemory) and tmem_cells.clear(target, source) and tiers.proved("structure") and not tiers.audit:
        return None
    if tiers.decide(_unread(problem, target, source, repeats)).holds is not False:
        return None
    if isinstance(target.spec, TensorMemory):
        return Hazard(
            "alias", f"a cell is written as one of {target.name} and read as one of {source.name}: what is read depends on the order"
        )
    if isinstance(target.spec, Memory):
        return Hazard(
            "alias", f"a byte is written as one of {target.name} and read as one of {source.name}: what is read depends on the order"
        )
    return Hazard(
        "alias",
        f"a register is written as one of {target.name} and read as one of {source.name} by a later instruction of the call: it reads what was written",
    )


def _unread(problem: Problem, target: Side, source: Side, repeats: tuple[int, ...]) -> Obligation:
    """What is written and what is read do not overlap, as a formula."""
    if isinstance(target.spec, TensorMemory):
        return tmem_cells.unread(problem, target, source)
    if isinstance(target.spec, Memory):
        return _unread_memory(problem, target, source, repeats)
    assert isinstance(target.spec, Register)
    assert isinstance(source.spec, Register)
    whole = repeat_extents(problem)
    inner, here = _elements(problem, target)
    others, there = _elements(problem, source)
    rename = {v.name: var(f"{v.name}@1") for v in others}
    written = target.trace.locate(here).bit
    read = terms.substitute(source.trace.locate(there).bit, rename)
    last = tuple(terms.substitute(step, rename) for step in _steps(problem, source, whole, first=source.spec.then is not None))
    later = _before(_steps(problem, target, whole, first=True), last)
    premise = terms.conj(problem.accessing, target.defined, source.defined, later)
    lane = None if target.spec.lane is None else terms.normal(target.spec.lane)
    if lane is not None and source.spec.lane is not None:
        one_thread = terms.eq(lane, terms.substitute(terms.normal(source.spec.lane), rename))
        held = problem.holder(lane)
        premise, written, read = (terms.substitute(term, held) for term in (premise, written, read))
        premise = terms.conj(premise, one_thread)
    apart = terms.disj(terms.le(terms.add(written, target.spec.bits), read), terms.le(terms.add(read, source.spec.bits), written))
    renamed = (replace(v, name=f"{v.name}@1") for v in others)
    return Obligation((*problem.symbols, *problem.thread_variables(lane=lane is None), *inner, *renamed), premise, apart)


def _elements(problem: Problem, side: Side) -> tuple[list[Variable], tuple[Term, ...]]:
    """(repeat and atom axes of an operand as variables, the coordinates of an element)."""
    repeats = own_repeats(problem, side)
    variables = [*repeat_variables(repeats), *atom_variables(problem.contract, of=side.spec)]
    return variables, coordinates(problem, repeats, side=side)


def _steps(problem: Problem, side: Side, whole: Repeats, *, first: bool) -> tuple[Term, ...]:
    """The repeat coordinates of the first (or last) instruction that names an element of an operand."""
    loops, count = problem.contract.loops_of(side.spec), len(whole.free or ())
    own = repeat_terms(count + len(loops))
    named = dict(zip(loops, own[count:], strict=True))
    return (*own[:count], *(named.get(name, 0 if first else extent - 1) for name, extent in whole.in_order(problem.contract.loops)))


def _before(one: tuple[Term, ...], other: tuple[Term, ...]) -> Term:
    """Whether one instruction is issued before another, by their repeat coordinates."""
    found: Term = False
    for a, b in zip(reversed(one), reversed(other), strict=True):
        found = terms.disj(terms.lt(a, b), terms.conj(terms.eq(a, b), found))
    return found


def _unread_memory(problem: Problem, target: Side, source: Side, repeats: tuple[int, ...]) -> Obligation:
    """No row that one thread writes overlaps a row that a thread reads in the same copy, as a formula."""
    assert isinstance(target.spec, Memory)
    threads, rows, writes, start, width = _stores(problem, target, repeats)
    _, read_rows, reads, read, read_width = _stores(problem, source, repeats)
    inner = [*repeat_variables(repeats), *dict.fromkeys((*rows, *read_rows))]
    rename = {v.name: var(f"{v.name}@1") for v in inner}

    def there(term: Term) -> Term:
        return terms.substitute(copied(problem, term, "@1", LEVELS), rename)

    if target.tensor.space == "shared":
        copy = reaches(problem, target.spec, there(var(CTA)))
    else:
        copy = terms.conj(*(terms.eq(there(var(name)), var(name)) for name in PRIVATE[target.tensor.space]))
    disjoint = terms.disj(terms.le(terms.add(start, width), there(read)), terms.le(terms.add(there(read), read_width), start))
    others = (replace(v, name=f"{v.name}@1") for v in inner)
    variables = (*problem.symbols, *threads, *inner, *copied_variables(problem, "@1", LEVELS), *others)
    return Obligation(variables, terms.conj(writes, there(reads), copy, tied(problem, ("", "@1"), LEVELS)), disjoint)


def alone(problem: Problem, apart: Sequence[str] = ("warpid", "laneid"), *, pair: bool = False) -> Obligation:
    """That no two threads (warps, of a collective) that differ in one of some coordinates execute the call in one CTA, or in one pair of CTAs."""
    whole = problem.collective
    here = of_warp(problem.accessing) if whole else problem.accessing
    there = copied(problem, here, "@1", LEVELS)
    other = terms.disj(*(terms.ne(var(f"{name}@1"), var(name)) for name in apart if not (whole and name == "laneid")))
    mine, theirs = (terms.floordiv(var(name), 2) if pair else var(name) for name in (CTA, f"{CTA}@1"))
    premise = terms.conj(here, there, terms.eq(mine, theirs), tied(problem, ("", "@1"), LEVELS))
    copies = tuple(v for v in copied_variables(problem, "@1", LEVELS) if not (whole and v.name == "laneid@1"))
    return Obligation((*problem.symbols, *problem.thread_variables(lane=not whole), *copies), premise, terms.negate(other))


def of_warp(condition: Term) -> Term:
    """A condition that all lanes of a warp agree on, of its lane 0."""
    return terms.substitute(condition, {"laneid": 0})


def issued_once(problem: Problem) -> bool:
    """Whether the hazard `issue.many` says how many threads of a CTA execute: at thread scope, and of what has no view that groups could share out."""
    return problem.contract.single and (problem.call.scope == "thread" or not problem.sides)


def one_thread(problem: Problem) -> bool:
    """Whether guard and facts leave one warp, and one lane of it: a number, or the elected one."""
    warps, lanes = (problem.context.environment[name] for name in ("warpid", "laneid"))
    if warps.low != warps.high:
        return _lonely(problem.run.activity, problem.call.launch)
    return lanes.low == lanes.high or terms.eq(var("laneid"), var(ELECTED)) in terms.conjuncts(problem.run.activity)


@lru_cache(maxsize=256)
def _lonely(activity: Term, launch: Launch) -> bool:
    """Whether a condition on warp and lane alone holds of one thread of a CTA at most."""
    if not terms.variables(activity) <= {"warpid", "laneid"}:
        return False
    threads = ({"warpid": thread // LANES, "laneid": thread % LANES} for thread in range(launch.threads))
    return sum(bool(terms.evaluate(activity, thread)) for thread in threads if terms.evaluate(terms.has_value(activity), thread)) <= 1


def many(problem: Problem, tiers: Tiers) -> Hazard | None:
    """An instruction of one thread that several threads of a CTA execute."""
    if not issued_once(problem) or problem.call.launch.threads == 1:
        return None
    if one_thread(problem):
        return None
    everyone = problem.run.activity is True and problem.run.pred is True and problem.alone
    if not everyone and tiers.decide(alone(problem)).holds is not False:
        return None
    return Hazard("issue.many", "several threads of a CTA execute an instruction that is meant for one: it is issued once by each")


def _works_in_pairs(problem: Problem) -> bool:
    """Whether one thread of a pair of CTAs issues the instruction for both."""
    return problem.contract.single and problem.contract.pair and problem.call.launch.ctas > 1


def paired(problem: Problem, tiers: Tiers) -> Hazard | None:
    """An instruction for a pair of CTAs that both of them execute."""
    own = problem.context.environment[CTA]
    if not _works_in_pairs(problem) or own.low == own.high:
        return None
    varying = any(s.varies not in {"grid", "cluster"} for s in problem.call.symbols)
    alike = CTA not in terms.variables(problem.accessing) and not varying
    if not alike and tiers.decide(alone(problem, (CTA,), pair=True)).holds is not False:
        return None
    return Hazard("issue.many", "both CTAs of a pair execute an instruction that one thread issues for both: it is issued twice")


def apart(problem: Problem, side: Side, repeats: tuple[int, ...]) -> Obligation:
    """That a memory destination has no race, as a formula."""
    repeats = own_repeats(problem, side) if isinstance(side.spec, TensorMemory) else repeats
    threads, rows, accessing, start, width = _stores(problem, side, repeats)
    return _pair(problem, accessing, [*problem.symbols, *threads], [*repeat_variables(repeats), *rows], start, width, side)


def _stores(problem: Problem, side: Side, repeats: tuple[int, ...]) -> tuple[tuple[Variable, ...], tuple[Variable, ...], Term, Term, int]:
    """(thread, atom axes that choose a row, whether a row is stored, its first bit, its bits)."""
    spec = side.spec
    if isinstance(spec, TensorMemory):
        return tmem_cells.cells(problem, side)
    assert isinstance(spec, Memory)
    atom: tuple[Term, ...] = tuple(0 if axis.name in spec.row else var(axis.name) for axis in problem.contract.atom)
    start = side.trace.locate((*problem.group_coordinates(), *repeat_terms(len(repeats)), *atom)).bit
    rows = atom_variables(problem.contract, without=spec.row)
    lane = spec.provider is None
    threads = problem.thread_variables(lane=lane)
    accessing = problem.accessing
    if spec.provider is not None:
        provided = {"laneid": terms.normal(spec.provider)}
        accessing, start = terms.substitute(accessing, provided), terms.substitute(start, provided)
    return threads, rows, accessing, start, _row_bits(problem, spec)


def _row_bits(problem: Problem, spec: Memory) -> int:
    """The bits of a row, which one thread or warp stores at once."""
    return spec.bits * prod(axis.extent for axis in problem.contract.atom if axis.name in spec.row)


def _race(problem: Problem, side: Side, repeats: tuple[int, ...], tiers: Tiers, several: Hazard | None) -> Hazard | None:
    """several: that several threads of a CTA execute an instruction of one thread."""
    if isinstance(side.spec, TensorMemory):
        if several is not None and tmem_cells.uniform(problem, side):
            return Hazard("memory.race", f"several threads of a CTA store to the cells of {side.name}; which one wins is undefined")
        if several is None and issued_once(problem):
            meet = False if tmem_cells.distinct_digits(side) else tmem_cells.meeting(problem, side)
            if meet is not None:
                says = f"two repeats store to one cell of {side.name}; the later one wins, or adds to it"
                return Hazard("memory.race", says) if meet else None
        if tmem_cells.apart(problem, side) and tiers.proved("structure") and not tiers.audit:
            return None
        repeats = own_repeats(problem, side)
        return _searched(problem, side, repeats, tiers)
    assert isinstance(side.spec, Memory)
    if side.spec.cta is not None or problem.contract.move.bytes is not None:
        if tiers.decide(apart(problem, side, repeats)).holds is not False:
            return None
        where = " in one CTA" if side.spec.cta is not None else ""
        return Hazard("memory.race", f"two accesses store to one byte of {side.name}{where}; which one wins is undefined")
    if structure.apart(problem, side, side.spec, _row_bits(problem, side.spec)) and tiers.proved("structure") and not tiers.audit:
        return None
    return _searched(problem, side, repeats, tiers)


def _searched(problem: Problem, side: Side, repeats: tuple[int, ...], tiers: Tiers) -> Hazard | None:
    """Two accesses that overlap, among all of them where they can be counted."""
    import numpy as np

    threads, rows, accessing, start, width = _stores(problem, side, repeats)
    own = (*threads, *repeat_variables(repeats), *rows)
    matters = terms.add(start, *(var(v.name) for v in own))
    parts, rest = relevant(accessing, terms.eq(matters, 0))
    used = set(terms.variables(terms.conj(terms.eq(matters, 0), *parts)))
    if rest and tiers.least([v for v in problem.symbols if v.name not in used], rest) is None:
        return None
    symbols = shortened(problem.symbols, parts, (start,), tiers.index_range)
    grid = make_grid([*symbols, *threads, *repeat_variables(repeats), *rows], parts, used, tiers.limit)
    if isinstance(grid, str):
        found = tiers.solved(apart(problem, side, repeats), grid)
        if found.holds is not False:
            return None
        least = fixed(problem, found.witness or {})
        if least.symbols == problem.symbols:  # too many threads and elements with every symbol at its value, too
            what = "cell" if isinstance(side.spec, TensorMemory) else "byte"
            return Hazard("memory.race", f"two accesses store to one {what} of {side.name}; which one wins is undefined")
        return _searched(least, side, repeats, tiers)
    if not grid.points:
        return None
    holds = grid.truth(terms.conj(*parts))
    starts = np.broadcast_to(grid.array(start), grid.shape)
    varying = {s.name: s.varies for s in problem.call.symbols if s.varies not in {"grid", "cluster"}}
    return _collide(grid, starts, holds, width, varying, side)


LEVELS = frozenset({"cta", "warp", "thread"})


def _pair(
    problem: Problem, accessing: Term, outer: list[Variable], inner: list[Variable], start: Term, width: int, side: Side
) -> Obligation:
    """Two accesses of different threads, repeats or rows do not overlap."""
    rename = {v.name: var(f"{v.name}@1") for v in inner}

    def there(term: Term) -> Term:
        return terms.substitute(copied(problem, term, "@1", LEVELS), rename)

    threads = [v.name for v in outer if v.name in THREAD]
    other = terms.disj(*(terms.ne(there(var(name)), var(name)) for name in (*threads, *rename)))
    copy = terms.conj(*(terms.eq(there(var(name)), var(name)) for name in PRIVATE[side.tensor.space] if name in threads))
    if isinstance(side.spec, Memory) and side.spec.cta is not None:
        copy = terms.disj(
            *(terms.conj(one, there(one)) for one in (reaches(problem, side.spec, k) for k in range(problem.call.launch.ctas)))
        )
    shared = terms.conj(
        *(
            terms.disj(
                terms.eq(there(var(s.name)), var(s.name)), *(terms.ne(there(var(c)), var(c)) for c in INSTANCE[s.varies] if c in threads)
            )
            for s in problem.call.symbols
            if s.varies in LEVELS
        )
    )
    chosen = _chosen(problem)
    apart = terms.disj(
        terms.le(terms.add(start, width), there(start)),
        terms.le(terms.add(there(start), width), start),
        terms.eq(terms.bit_and(chosen, there(chosen)), 0),
    )
    variables = (*outer, *inner, *copied_variables(problem, "@1", LEVELS), *(replace(v, name=f"{v.name}@1") for v in inner))
    return Obligation(variables, terms.conj(accessing, there(accessing), other, copy, shared), apart)


def _chosen(problem: Problem) -> Term:
    """The bytes of each sixteen that the executing thread writes, as bits. Rows start at multiples of sixteen bytes where a parameter chooses them."""
    parameter = next((p for p in problem.contract.parameters if p.name == problem.contract.move.bytes), None)
    value = None if parameter is None else value_of(problem.call, parameter)
    return EVERY_BYTE if value is None else ground(value, problem.call.launch)


def _collide(grid: Grid, starts: Array, holds: Array, width: int, varying: dict[str, str], side: Side) -> Hazard | None:
    """The first two accesses, for one value of the uniform symbols, that overlap and can happen together."""
    import numpy as np

    uniform = [k for k, v in enumerate(grid.variables) if (v.role == "symbol" and v.name not in varying) or v.name == ELECTED]
    copies = PRIVATE[side.tensor.space]
    outer = uniform + [k for k, v in enumerate(grid.variables) if v.name in copies and k not in uniform]
    inner = [k for k in range(len(grid.variables)) if k not in outer]
    order = [*outer, *inner]
    count = int(np.prod([grid.shape[k] for k in inner], dtype=np.int64)) if inner else 1
    flat = starts.transpose(order).reshape(-1, count)
    mask = holds.transpose(order).reshape(-1, count)
    inside = [k for k in inner if grid.variables[k].name in varying]
    for row in range(flat.shape[0]):
        chosen = np.flatnonzero(mask[row])
        position = chosen[np.argsort(flat[row][chosen], kind="stable")]
        sorted_starts = flat[row][position]
        close = np.flatnonzero(np.diff(sorted_starts) < width)
        if not len(close):
            continue
        if not inside:
            return _hazard(grid, inner, int(position[close[0]]), int(position[close[0] + 1]), int(sorted_starts[close[0]]), side)
        pair = _compatible(grid, inner, position.tolist(), sorted_starts.tolist(), width, varying)
        if pair is not None:
            return _hazard(grid, inner, *pair, side)
    return None


def _point(grid: Grid, inner: list[int], position: int) -> dict[str, int]:
    import numpy as np

    index = np.unravel_index(position, [grid.shape[k] for k in inner])
    return {grid.variables[k].name: grid.values[k][int(i)] for k, i in zip(inner, index, strict=True)}


def _compatible(
    grid: Grid, inner: list[int], positions: list[int], starts: list[int], width: int, varying: dict[str, str]
) -> tuple[int, int, int] | None:
    """Two overlapping accesses whose values of varying symbols can hold together: one value for each instance of the level."""
    points = [_point(grid, inner, position) for position in positions]
    for first in range(len(points)):
        for second in range(first + 1, len(points)):
            if starts[second] - starts[first] >= width:
                break
            a, b = points[first], points[second]
            together = all(
                a.get(name) == b.get(name) or any(a.get(c) != b.get(c) for c in INSTANCE[level]) for name, level in varying.items()
            )
            other = any(a[name] != b[name] for name in a if name not in varying)
            if together and other:
                return positions[first], positions[second], starts[first]
    return None


def _hazard(grid: Grid, inner: list[int], first: int, second: int, start: int, side: Side) -> Hazard:
    a, b = _point(grid, inner, first), _point(grid, inner, second)

    def text(point: dict[str, int]) -> str:
        names = {CTA: "cta", "warpid": "warp", "laneid": "lane"}
        parts = [f"{names[name]} {value}" for name, value in point.items() if name in names]
        repeat = [value for name, value in point.items() if name.startswith("@r")]
        rest = [f"{name} {value}" for name, value in point.items() if name not in names and not name.startswith("@")]
        return ", ".join([*parts, *([f"repeat {repeat}"] if repeat else []), *rest])

    where = f"byte {start // 8}"
    if isinstance(side.spec, TensorMemory):
        where = f"lane {start // LANE_BITS}, column {start % LANE_BITS // CELL_BITS}"
    return Hazard("memory.race", f"two accesses store to {where} of {side.name}: ({text(a)}) and ({text(b)}); which one wins is undefined")
