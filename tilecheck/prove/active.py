"""The active set of a call: whether it is what the instruction needs, for every symbol value."""

# NumPy's stubs give an array whose kind is known at run time only (int64, Python ints, booleans) no operators.
# pyright: reportOperatorIssue=false, reportUnknownVariableType=false, reportReturnType=false

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from tilecheck.call import COORDINATES
from tilecheck.fitting import scalars_of
from tilecheck.layout.view import View
from tilecheck.prove.enumeration import MAX_POINTS, Grid, make_grid
from tilecheck.prove.obligation import Obligation, Outcome, Variable, confirmed, relevant
from tilecheck.prove.problem import Problem, copied, copied_variables, fixed, tied
from tilecheck.scopes import CTA, LANES, ground, hardware_terms
from tilecheck.spec.contract import Parameter
from tilecheck.symbolic import terms
from tilecheck.symbolic.parse import parse
from tilecheck.symbolic.terms import Expr, Term, var

if TYPE_CHECKING:
    from tilecheck.prove.enumeration import Array
    from tilecheck.prove.tiers import Tiers

LEVEL = {"grid": 0, "cluster": 1, "cta": 2, "warp": 4, "thread": 5}
SCOPE_LEVEL = {"cluster": 1, "cta": 2, "warpgroup": 3, "warp": 4, "thread": 5}


FIRST_VALUES = 64
ALL_LEVELS = frozenset({"cta", "warp", "thread"})
EXPRESSIONS = frozenset({"predicate", "integer", "rank", "mask", "u64", "words"})
"""The kinds of parameters that may be values of the running program."""


def participation(problem: Problem, tiers: Tiers) -> Outcome:
    """Whether the active threads are a product of CTAs, warps and lanes in every instance, whole warps for collectives, whole warpgroups."""
    scope = problem.call.scope
    if not wide_enough(problem):
        return Outcome(holds=False, witness=_first_thread(problem, tiers))
    if scope == "thread":
        return Outcome(holds=True)
    whole = scope == "warpgroup" or problem.contract.warps == 4
    if problem.run.activity is True and problem.call.launch.threads % LANES == 0 and (not whole or problem.call.launch.warps % 4 == 0):
        return Outcome(holds=True)
    known = problem.context.answers.get("participation")
    if known is not None and problem.alone and not tiers.audit and tiers.proved("structure"):
        return known
    outcome = _participation(problem, tiers)
    if outcome.holds is not None and problem.alone:
        problem.context.answers["participation"] = outcome
    return outcome


def wide_enough(problem: Problem) -> bool:
    """Whether an instance of the scope holds those who execute one instruction together."""
    return problem.call.scope not in {"thread": (), "warp": ("thread",), "warpgroup": ("thread", "warp")}[problem.contract.collective]


def _participation(problem: Problem, tiers: Tiers) -> Outcome:
    activity = _activity(problem)
    grid = _thread_grid(problem, activity, whole=True)
    if isinstance(grid, str):
        return _solved(problem, activity, tiers, grid)
    outcome = _judge(problem, grid, activity)
    tiers.compared(outcome, *_obligations(problem, activity))
    return outcome


def _activity(problem: Problem) -> Term:
    """Whether a thread executes; warps beyond those of the launch do not, where fewer than 32 threads are one warp."""
    launch = problem.call.launch
    one = terms.eq(var("warpid"), 0) if launch.threads < LANES and _padded(problem) != problem.thread_variables() else True
    return terms.conj(problem.run.activity, problem.run.exists, one)


def product_obligations(problem: Problem) -> tuple[Obligation, ...]:
    """What `participation` decides, as formulas; none at thread scope."""
    return () if problem.call.scope == "thread" or not wide_enough(problem) else _obligations(problem, _activity(problem))


def _obligations(problem: Problem, activity: Term) -> tuple[Obligation, ...]:
    """What participation asks, as formulas: each instance is its own hull; where instances are warps or warpgroups, all have equal extents."""
    if problem.call.scope in {"warp", "warpgroup"} and not problem.collective:
        return hull_obligation(problem, activity), _even_obligation(problem, activity)
    return (hull_obligation(problem, activity),)


def _solved(problem: Problem, activity: Term, tiers: Tiers, why: str) -> Outcome:
    """The solver's answer: the least symbol values of all that are asked."""
    found = [tiers.solved(obligation, why) for obligation in _obligations(problem, activity)]
    refuted = [_at_symbols(problem, one, tiers) for one in found if one.holds is False]
    if refuted:
        names = [v.name for v in _outer(problem)]
        return min(refuted, key=lambda one: [(abs(value), value < 0) for value in ((one.witness or {}).get(name, 0) for name in names)])
    return next((one for one in found if one.holds is None), found[0])


def _outer(problem: Problem) -> list[Variable]:
    """The symbols that have one value inside an instance of the scope."""
    return [v for v in problem.symbols if _varies(problem, v) <= SCOPE_LEVEL[problem.call.scope]]


def _at_symbols(problem: Problem, found: Outcome, tiers: Tiers) -> Outcome:
    """The first thread at the symbol values that the solver found; a symbol that varies inside an instance gets its least value.

    Such a symbol is looked at in the values found and in its first ones: further values could only name an earlier thread.
    """
    outer = {v.name for v in _outer(problem)}
    symbols = {v.name for v in problem.symbols}
    held = _held(problem, found, symbols - outer)
    there = confirmed(found, participation(held, tiers))
    if there.holds is None:
        return there
    kept = {name: value for name, value in (there.witness or {}).items() if name in outer or name not in symbols}
    return replace(there, witness=_complete(problem, kept))


def _held(problem: Problem, found: Outcome, inner: set[str]) -> Problem:
    """The problem at the symbol values that the solver found; symbols of `inner` have their first values beside."""
    held = fixed(problem, found.witness or {})
    if not inner:
        return held
    budget = min(FIRST_VALUES, int((MAX_POINTS / (problem.call.launch.threads * problem.call.launch.ctas)) ** (1 / len(inner))))
    symbols = (_with_first(v, own, budget) if v.name in inner else v for v, own in zip(held.symbols, problem.symbols, strict=True))
    return replace(held, symbols=tuple(symbols))


def _with_first(held: Variable, own: Variable, count: int) -> Variable:
    """A held symbol with its first values beside."""
    values = dict.fromkeys((*(held.values or ()), *islice(own.ordered(), count)))
    return replace(own, low=None, high=None, step=1, values=tuple(sorted(values, key=lambda value: (abs(value), value < 0))))


def _symbols(problem: Problem) -> list[Variable]:
    """The symbols; those that vary inside an instance of the scope come behind the others and need not be least."""
    outer = _outer(problem)
    return [*outer, *(replace(v, role="atom") for v in problem.symbols if v not in outer)]


def hull_obligation(problem: Problem, activity: Term) -> Obligation:
    """A thread executes where active threads of its instance share each of its coordinates: the active set is its own smallest product.

    Each copy of a thread is one of those that share a coordinate, whatever the symbols are that vary inside the instance; for collectives the
    lane is shared by all.
    """
    scope, collective = problem.call.scope, problem.collective
    here = hardware_terms(problem.call.launch)
    cta, warp, group, lane = var(CTA), var("warpid"), terms.floordiv(var("warpid"), 4), var("laneid")
    lanes: list[list[Term]] = [] if collective else [[lane]]
    links: dict[str, list[list[Term]]] = {
        "warp": [[cta, warp, *(() if collective else (lane,))]],
        "warpgroup": [[cta, group, *(() if collective else (lane,))]],
        "cta": [[cta, group if problem.contract.warps == 4 else warp], *([cta, *link] for link in lanes)],
        "cluster": [
            *([here[name]] for name, _ in problem.call.launch.cluster_axes()),
            [group if problem.contract.warps == 4 else warp],
            *lanes,
        ],
    }
    variables = [*_symbols(problem), *_padded(problem)]
    premise: list[Term] = [problem.facts]
    for k, link in enumerate(links[scope], start=1):
        suffix = f"@{k}"
        variables.extend(copied_variables(problem, suffix, ALL_LEVELS))
        premise.append(copied(problem, terms.conj(problem.facts, activity), suffix, ALL_LEVELS))
        premise.extend(terms.eq(copied(problem, term, suffix, ALL_LEVELS), term) for term in link)
    outside = frozenset(level for level in ALL_LEVELS if LEVEL[level] <= SCOPE_LEVEL[scope])  # one value for the whole instance
    premise.append(tied(problem, ("", *(f"@{k}" for k in range(1, len(links[scope]) + 1))), outside))
    return Obligation(tuple(variables), terms.conj(*premise), activity)


def _even_obligation(problem: Problem, activity: Term) -> Obligation:
    """Two warps (of two executing instances, at one value of the symbols) have equally many active lanes."""
    rename = {name: var(f"{name}@1") for name in (CTA, "warpid")}
    lanes = [terms.substitute(activity, {"laneid": lane}) for lane in range(LANES)]
    there = [terms.substitute(lane, rename) for lane in lanes]
    count, other = (terms.add(*(terms.select(lane, 1, 0) for lane in each)) for each in (lanes, there))
    threads = [v for v in problem.thread_variables() if v.name != "laneid"]
    copies = (replace(v, name=f"{v.name}@1", role="atom") for v in threads if v.name in rename)
    premise = terms.conj(problem.facts, terms.disj(*lanes), terms.disj(*there))
    return Obligation((*_symbols(problem), *threads, *copies), premise, terms.eq(count, other))


def _padded(problem: Problem) -> tuple[Variable, ...]:
    """The thread variables, with the warps that a last, partial warpgroup lacks."""
    threads = problem.thread_variables()
    if problem.call.scope != "warpgroup" and problem.contract.warps == 1:
        return threads
    return tuple(Variable(v.name, v.role, 0, -(-((v.high or 0) + 1) // 4) * 4 - 1) if v.role == "warp" else v for v in threads)


def _first_thread(problem: Problem, tiers: Tiers) -> dict[str, int]:
    """The least symbols and the first thread that executes."""
    variables = (*problem.symbols, *problem.thread_variables())
    found = tiers.least(variables, terms.conjuncts(problem.active))
    return {v.name: next(v.ordered(), 0) for v in variables} if found is None or isinstance(found, str) else dict(found)


def _thread_grid(problem: Problem, term: Term, *, whole: bool = False) -> Grid | str:
    """The grid of the symbols a term depends on (through the facts) and of every thread of the cluster.

    whole: with the warps that a last, partial warpgroup lacks.
    """
    parts, _ = relevant(problem.facts, term)
    names = terms.variables(terms.conj(terms.eq(term, 0) if not _truth(term) else term, *parts))
    symbols = [v for v in problem.symbols if v.name in names]
    threads = _padded(problem) if whole else problem.thread_variables()
    return make_grid((*symbols, *threads), parts, {v.name for v in (*symbols, *threads)}, 8 * MAX_POINTS)


def _truth(term: Term) -> bool:
    return isinstance(term, bool) or (not isinstance(term, int) and term.is_truth)


def _split(problem: Problem, grid: Grid, activity: Array, facts: Array) -> tuple[Grid, Array, Array | None]:
    """The activity without the axes of symbols that vary inside an instance, and where those make it undetermined.

    That is where of the values that satisfy the facts some make a thread active and some do not.
    """
    import numpy as np

    inner = [k for k, v in enumerate(grid.variables) if v.role == "symbol" and _varies(problem, v) > SCOPE_LEVEL[problem.call.scope]]
    active = np.logical_and(activity, facts)
    if not inner:
        return grid, active, None
    some = active.any(axis=tuple(inner))
    every = np.logical_and(some, np.logical_or(activity, np.logical_not(facts)).all(axis=tuple(inner)))
    kept = [k for k in range(len(grid.variables)) if k not in inner]
    smaller = Grid([grid.variables[k] for k in kept], [grid.values[k] for k in kept])
    return smaller, every, np.logical_and(some, np.logical_not(every))


def _varies(problem: Problem, variable: Variable) -> int:
    return next((LEVEL[s.varies] for s in problem.call.symbols if s.name == variable.name), 0)


def _judge(problem: Problem, grid: Grid, activity: Term) -> Outcome:
    import numpy as np

    facts = terms.conj(*relevant(problem.facts, activity)[0])
    points = grid.points
    grid, active, undetermined = _split(problem, grid, *np.broadcast_arrays(grid.truth(activity), grid.truth(facts)))
    bad = _broken(problem, active)
    if undetermined is not None:
        bad = np.logical_or(bad, undetermined)
    if not bad.any():
        return Outcome(holds=True, points=points)
    witness = grid.at(tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape)))
    return Outcome(holds=False, points=points, witness=_complete(problem, witness))


def _complete(problem: Problem, witness: dict[str, int]) -> dict[str, int]:
    """The witness with the least values of the symbols that have no say."""
    from tilecheck.prove.enumeration import least

    missing = [v for v in problem.symbols if v.name not in witness]
    facts = tuple(terms.substitute(part, witness) for part in terms.conjuncts(problem.facts))
    found = least(missing, tuple(part for part in facts if part is not True))
    return witness | (dict(found) if found is not None and not isinstance(found, str) else {})


def _broken(problem: Problem, active: Array) -> Array:
    """For each thread: it is missing (or, if active, stands outside) where the set must be whole. Last axes: CTA, warp, lane."""
    import numpy as np

    scope = problem.call.scope
    bad = _torn(active, problem.contract.warps) if problem.collective else np.zeros_like(active)
    if scope in {"warp", "warpgroup"}:
        return bad | _uneven(active, warps=4 if scope == "warpgroup" else 1, lanes_count=not problem.collective)
    inside = (-1, -2) if scope == "cta" else (-1, -2, -3)
    box = np.ones_like(active)
    for axis in (-1, -2):
        box = box & active.any(axis=tuple(a for a in inside if a != axis), keepdims=True)
    if scope == "cluster":
        box = box & _cluster_box(problem, active)
    return bad | (box & ~active)


def _torn(active: Array, warps: int) -> Array:
    """The threads missing where some of those execute that must do so together: a warp, or `warps` warps."""
    import numpy as np

    together = active.reshape(*active.shape[:-2], -1, 32 * warps)
    missing: Array = np.logical_and(together.any(axis=-1, keepdims=True), np.logical_not(together))
    return missing.reshape(active.shape)


def _cluster_box(problem: Problem, active: Array) -> Array:
    """Where each axis of the cluster has an active CTA: the smallest product of CTAs around the active ones."""
    import numpy as np

    x, y, z = (*(problem.call.launch.cluster or ()), 1, 1, 1)[:3]
    executing = active.any(axis=(-1, -2)).reshape(*active.shape[:-3], z, y, x)
    box = np.ones_like(executing)
    for axis in (-1, -2, -3):
        box = box & executing.any(axis=tuple(a for a in (-1, -2, -3) if a != axis), keepdims=True)
    return box.reshape(*active.shape[:-3], x * y * z)[..., None, None]


def _first_count(counts: Array, executing: Array) -> Array:
    """The number of active lanes of the first executing warp of the cluster."""
    import numpy as np

    flat = np.where(executing, counts, 0).reshape(*counts.shape[:-3], -1)
    index = np.argmax(flat > 0, axis=-1)
    return np.take_along_axis(flat, index[..., None], axis=-1)[..., None, None]


def _uneven(active: Array, warps: int, *, lanes_count: bool) -> Array:
    """For instances of `warps` warps: threads missing from the product of their warps and lanes.

    Where lanes are a group axis, also the active ones of instances with another number of lanes than the first.
    """
    import numpy as np

    bad = np.zeros_like(active)
    counts = np.zeros((*active.shape[:-1], 1), dtype=np.int64)
    for begin in range(0, active.shape[-2], warps):
        part = active[..., begin : begin + warps, :]
        lanes = part.any(axis=-2, keepdims=True)
        if not lanes_count:  # a collective takes all 32
            lanes = np.broadcast_to(lanes.any(axis=-1, keepdims=True), lanes.shape)
        bad[..., begin : begin + warps, :] = lanes & ~part
        counts[..., begin : begin + warps, :] = lanes.sum(axis=-1, keepdims=True)
    return bad | (active & (counts != _first_count(counts, counts > 0))) if lanes_count else bad


def _differing(problem: Problem) -> frozenset[str]:
    """The levels at which a symbol may have several values among those who execute one instruction together."""
    return frozenset({"thread"} if problem.contract.warps == 1 else {"warp", "thread"})


def _varying(problem: Problem) -> set[str]:
    return {s.name for s in problem.call.symbols if s.varies in _differing(problem)}


def uniform_terms(problem: Problem) -> Iterator[Term]:
    """What those who execute together must agree on: pred, parameters and numbers that are operands, and the starts of every operand, where they could differ."""
    written = [t for side in problem.sides for t in side.view.symbolic]
    if not written and problem.run.pred is True and not problem.call.parameters and all(isinstance(o, View) for o in problem.call.operands):
        return
    differs = _varying(problem) | ({"laneid"} if problem.contract.warps == 1 else {"laneid", "warpid"})
    varying = differs | COORDINATES
    given = [
        *(v for p in problem.contract.parameters if p.operand for v in _expressions(problem, p)),
        *(scalar.term for scalar in scalars_of(problem.call, problem.contract)),
    ]
    conditions = [problem.run.pred, *(ground(value, problem.call.launch) for value in given)]
    if not any(terms.variables(term) & varying for term in (*conditions, *written)):
        return
    begins = (terms.normal(check.begin) for side in problem.sides for check in side.trace.slices)
    for term in dict.fromkeys((*conditions, *begins)):
        if terms.variables(term) & differs and not _of_warpgroup(problem, term, differs):
            yield term


def _expressions(problem: Problem, parameter: Parameter) -> Iterator[Term]:
    """What a parameter is, where it is a value of the running program; a vector of them one by one."""
    value = problem.call.parameter(parameter.name)
    if parameter.kind in EXPRESSIONS and value is not None:
        entries = value if isinstance(value, tuple) else (value,)
        yield from (
            parse(one, truth=parameter.kind == "predicate") if isinstance(one, str) else one
            for one in entries
            if isinstance(one, int | str | Expr)
        )


def _of_warpgroup(problem: Problem, term: Term, differs: set[str]) -> bool:
    """Whether a term names the warp only through its warpgroup."""
    return problem.contract.warps > 1 and not terms.variables(_in_unit(problem, term)) & (differs - {"warpid"} | {INNER})


UNIT, INNER = "@unit", "@inner"
"""The executing warp or warpgroup, and the warp inside it."""


def _in_unit(problem: Problem, term: Term) -> Term:
    """The term over the executing unit and the warp inside it."""
    warps = problem.contract.warps
    return term if warps == 1 else terms.substitute(term, {"warpid": terms.add(terms.mul(warps, var(UNIT)), var(INNER))})


def _in_warps(problem: Problem, values: Mapping[str, int]) -> dict[str, int]:
    """Values over the executing unit as values of the base variables."""
    found = {name: value for name, value in values.items() if name not in {UNIT, INNER}}
    return found if INNER not in values else {**found, "warpid": problem.contract.warps * values[UNIT] + values[INNER]}


def _unit_variables(problem: Problem) -> tuple[Variable, ...]:
    """The thread variables, the warp as unit and warp inside it; what differs inside a unit has the role of a lane."""
    *others, warp, lane = problem.thread_variables()
    if problem.contract.warps == 1:
        return (*others, warp, lane)
    last = -(-problem.call.launch.warps // problem.contract.warps) - 1
    return (*others, Variable(UNIT, "warp", 0, last), Variable(INNER, "lane", 0, problem.contract.warps - 1), lane)


def uniform_obligation(problem: Problem, term: Term) -> Obligation:
    """Two active lanes of one warp (of one warpgroup) have one value of the term."""
    levels = _differing(problem)
    suffix = "@1"
    own = var("warpid") if problem.contract.warps == 1 else terms.floordiv(var("warpid"), problem.contract.warps)
    other = copied(problem, terms.conj(problem.facts, problem.run.activity), suffix, levels)
    same = (terms.eq(copied(problem, part, suffix, levels), part) for part in (var(CTA), own))
    there = copied(problem, term, suffix, levels)
    goal = (
        terms.eq(there, term)
        if not _truth(term)
        else terms.disj(terms.conj(there, term), terms.conj(terms.negate(there), terms.negate(term)))
    )
    variables = (*problem.symbols, *problem.thread_variables(), *copied_variables(problem, suffix, levels))
    return Obligation(variables, terms.conj(problem.active, other, *same, tied(problem, ("", suffix), levels)), goal)


def uniform(problem: Problem, term: Term, tiers: Tiers) -> Outcome:
    """Whether a term has one value for all lanes of each executing warp (of each warpgroup, where four warps execute together)."""
    import numpy as np

    exists = terms.lt(var("warpid"), problem.call.launch.warps) if problem.contract.warps > 1 else True
    activity, value = (_in_unit(problem, one) for one in (terms.conj(problem.run.activity, exists), term))
    asked = terms.conj(activity, terms.eq(value, 0) if not _truth(value) else value)
    parts = relevant(problem.facts, asked)[0]
    names = terms.variables(terms.conj(asked, *parts))
    symbols = [v for v in problem.symbols if v.name in names]
    threads = _unit_variables(problem)
    grid = make_grid((*symbols, *threads), parts, {v.name for v in (*symbols, *threads)}, 8 * MAX_POINTS)
    if isinstance(grid, str):
        found = tiers.solved(uniform_obligation(problem, term), grid)
        return found if found.holds is not False else confirmed(found, uniform(_held(problem, found, _varying(problem)), term, tiers))
    active = np.logical_and(grid.truth(activity), grid.truth(terms.conj(*parts)))
    values = np.broadcast_to(grid.array(value), grid.shape)
    differing = _varying(problem)
    axes = [k for k, v in enumerate(grid.variables) if v.role == "lane" or v.name in differing]
    kept = [k for k in range(values.ndim) if k not in axes]
    flat_values = values.transpose(*kept, *axes).reshape(*(grid.shape[k] for k in kept), -1)
    flat_active = active.transpose(*kept, *axes).reshape(flat_values.shape)
    first = np.take_along_axis(flat_values, np.argmax(flat_active, axis=-1)[..., None], axis=-1)
    flat_bad = np.logical_and(flat_active, flat_values != first)
    tiers.compared(Outcome(holds=not flat_bad.any()), uniform_obligation(problem, term))
    if not flat_bad.any():
        return Outcome(holds=True, points=grid.points)
    bad = flat_bad.reshape(*(grid.shape[k] for k in kept), *(grid.shape[k] for k in axes)).transpose(np.argsort([*kept, *axes]))
    witness = grid.at(tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape)))
    return Outcome(holds=False, points=grid.points, witness=_complete(problem, _in_warps(problem, witness)))


__all__ = ["participation", "uniform", "uniform_terms"]
