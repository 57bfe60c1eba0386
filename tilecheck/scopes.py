"""Who executes a call: hardware coordinates, the active threads, and the group coordinates of each.

Everything is a term over three base variables of the executing thread, `@cta` (rank in the cluster), `warpid` and `laneid`, and over
symbols. See docs/explanation/clauses.md, "Who executes".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tilecheck.call import COORDINATES, Call, Launch, Symbol
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import ELECTED, Expr, Term, var

CTA = "@cta"
THREAD = frozenset({CTA, "warpid", "laneid"})
"""The base variables of a thread."""
LANES = 32
MAX_THREADS_LISTED = 1 << 14


@lru_cache(maxsize=512)
def hardware_terms(launch: Launch) -> Mapping[str, Term]:
    """Each hardware coordinate as a term over `@cta`, `warpid` and `laneid`."""
    cta, warp, lane = var(CTA), var("warpid"), var("laneid")
    thread = terms.add(terms.mul(LANES, warp), lane)
    x, y, _ = (*(launch.cluster or ()), 1, 1, 1)[:3]
    one_dimensional = len(launch.block) == 1 or launch.block[0] == launch.threads
    return {
        "laneid": lane,
        "warpid": warp,
        "wid_in_wg": terms.mod(warp, 4) if launch.warps > 4 else warp,
        "wgid": terms.floordiv(warp, 4) if launch.warps > 4 else 0,
        "tid_in_wg": terms.add(terms.mul(LANES, terms.mod(warp, 4) if launch.warps > 4 else warp), lane),
        "tx": thread if one_dimensional else terms.mod(thread, launch.block[0]),
        "cbx": (cta if x == launch.ctas else terms.mod(cta, x)) if launch.ctas > 1 else 0,
        "cby": terms.mod(terms.floordiv(cta, x), y) if y > 1 else 0,
        "cbz": terms.floordiv(cta, x * y) if launch.ctas > x * y else 0,
        ELECTED: _elected_lane(launch),
    }


def _elected_lane(launch: Launch) -> Term:
    """The lane that elect.sync chose in the executing warp: a warp of s lanes elects lane e % s, for some e."""
    partial = launch.threads % LANES
    if not partial:
        return var(ELECTED)
    return terms.select(terms.eq(var("warpid"), launch.warps - 1), terms.mod(var(ELECTED), partial), var(ELECTED))


def ground(term: Term, launch: Launch) -> Term:
    """The term over base variables and symbols only, folded."""
    return terms.substitute(term, hardware_terms(launch))


@dataclass(frozen=True, slots=True)
class Execution:
    """The threads of a call.

    facts: what symbol values satisfy (assumptions, uniform parts of the guard). activity: whether the thread (`@cta`, `warpid`, `laneid`)
    executes the call. pred: the predicate. Ranges of base variables are those of the launch.
    """

    launch: Launch
    facts: Term
    activity: Term
    pred: Term

    @property
    def exists(self) -> Term:
        """Whether the thread is one of the block."""
        return exists(self.launch)

    @property
    def ranges(self) -> dict[str, tuple[int, int]]:
        """The values of the base variables, ends included."""
        return {CTA: (0, self.launch.ctas - 1), "warpid": (0, self.launch.warps - 1), "laneid": (0, LANES - 1), ELECTED: (0, LANES - 1)}


def exists(launch: Launch) -> Term:
    """Whether the thread is one of the block."""
    if launch.threads < LANES:
        return terms.lt(var("laneid"), launch.threads)
    return terms.lt(terms.add(terms.mul(LANES, var("warpid")), var("laneid")), launch.threads)


def written(term: Term, launch: Launch) -> Term:
    """The term over base variables and symbols, otherwise as written: divisions by zero are still there."""
    return terms.replace(term, hardware_terms(launch))


def _defined(condition: Term, launch: Launch) -> Term:
    """The condition over base variables, false where it has no value (a divisor of 0)."""
    return terms.conj(terms.has_value(written(condition, launch)), ground(condition, launch))


def names_thread(term: Term) -> bool:
    """Whether a term, as written, names a hardware coordinate."""
    return bool(terms.variables(term) & COORDINATES)


def execution(call: Call) -> Execution:
    """The facts and the activity of a call."""
    return execution_of(call.launch, call.guard, call.assume, varying_names(call.symbols), call.pred)


def varying_names(symbols: tuple[Symbol, ...]) -> frozenset[str]:
    """The symbols that have not one value for a whole cluster."""
    return frozenset(s.name for s in symbols if s.varies not in {"grid", "cluster"})


@lru_cache(maxsize=512)
def execution_of(launch: Launch, guard: Term, assume: tuple[Term, ...], varying: frozenset[str], pred: Term) -> Execution:
    """The facts and the activity of calls with these; `varying`: see `varying_names`."""
    facts: list[Term] = []
    activity: list[Term] = []
    if launch.threads % LANES:
        activity.append(exists(launch))
    for part in terms.conjuncts(_defined(guard, launch)):
        own = terms.variables(part)
        (activity if own & THREAD or own & varying or ELECTED in own else facts).append(part)
    for assumption in assume:
        (activity if names_thread(assumption) else facts).append(_defined(assumption, launch))
    return Execution(launch, terms.conj(*facts), terms.conj(*activity), _defined(pred, launch))


@dataclass(frozen=True, slots=True)
class GroupAxis:
    """One group axis: what it counts ("cbz", "cby", "cbx", "warpgroup", "warp" or "lane"), the coordinate of the executing thread, and the extent."""

    kind: str
    coordinate: Term
    extent: Term


def group_kinds(scope: str, launch: Launch, collective: str) -> tuple[str, ...]:
    """The group axes of a scope, outermost first."""
    if scope == "thread":
        return ()
    ctas = tuple(name for name, _ in launch.cluster_axes()) if scope == "cluster" else ()
    if collective == "warpgroup":
        return (*ctas, *(("warpgroup",) if scope in {"cta", "cluster"} else ()))
    warps = ("warp",) if scope in {"warpgroup", "cta", "cluster"} else ()
    return (*ctas, *warps, *(("lane",) if collective == "thread" else ()))


def group_axes(call: Call, collective: str) -> tuple[GroupAxis, ...]:
    """The group axes, coordinates and extents as terms; right where the active set is a product (the `participation` clause)."""
    return group_axes_of(call.scope, execution(call), collective)


@lru_cache(maxsize=512)
def group_axes_of(scope: str, run: Execution, collective: str) -> tuple[GroupAxis, ...]:
    """The group axes of calls executed so."""
    return tuple(_axis(scope, run, kind) for kind in group_kinds(scope, run.launch, collective))


def group_terms(call: Call, collective: str) -> tuple[Term, ...]:
    """The group coordinates of the executing thread."""
    return tuple(axis.coordinate for axis in group_axes(call, collective))


def _axis(scope: str, run: Execution, kind: str) -> GroupAxis:
    """Coordinate k is the k-th active one: the number of active ones below. Parts of the activity that name other coordinates are taken as they are."""
    name, values, own, move = _moved(run.launch, kind)
    first = 0
    if scope == "warpgroup" and kind == "warp":
        return GroupAxis(kind, terms.mod(own, 4) if run.launch.warps > 4 else own, 4)
    static = _static_members(run, name, values, move)
    if static is not None:
        ranks = [sum(static[:k]) for k in range(len(static))]
        position = static.index(True) if True in static else 0
        count = sum(static)
        run_of_ones = all(static[position : position + count])
        coordinate = terms.sub(own, position) if run_of_ones else terms.table(own, tuple(ranks))
        return GroupAxis(kind, coordinate if count > 1 else 0, count)
    parts = [part for part in terms.conjuncts(run.activity) if name in terms.variables(part)]
    members = [terms.conj(*(terms.substitute(part, move(value)) for part in parts)) for value in range(values)]
    below = [terms.select(terms.conj(terms.lt(value, own), member), 1, 0) for value, member in enumerate(members)]
    return GroupAxis(kind, terms.add(first, *below), terms.add(*(terms.select(member, 1, 0) for member in members)))


def _moved(launch: Launch, kind: str) -> tuple[str, int, Term, Callable[[int], dict[str, Term]]]:
    """(base variable, number of values, the thread's own value, the substitution that moves the thread to another value)."""
    if kind == "warp":
        return "warpid", launch.warps, var("warpid"), lambda value: {"warpid": value}
    if kind == "warpgroup":  # all four warps execute, or none
        own = hardware_terms(launch)["wgid"]
        return "warpid", -(-launch.warps // 4), own, lambda value: {"warpid": 4 * value}
    if kind == "lane":
        return "laneid", LANES, var("laneid"), lambda value: {"laneid": value}
    own = hardware_terms(launch)[kind]
    x, y, z = (*(launch.cluster or ()), 1, 1, 1)[:3]
    weight, extent = {"cbx": (1, x), "cby": (x, y), "cbz": (x * y, z)}[kind]
    cta = var(CTA)
    return CTA, extent, own, lambda value: {CTA: terms.add(cta, terms.mul(weight, terms.sub(value, own)))}


def _static_members(run: Execution, name: str, values: int, move: Callable[[int], dict[str, Term]]) -> list[bool] | None:
    """Which values of one coordinate are active, where no symbol and no other coordinate has a say."""
    parts = [part for part in terms.conjuncts(run.activity) if name in terms.variables(part)]
    members: list[bool] = []
    for value in range(values):
        member = terms.conj(*(terms.substitute(part, move(value)) for part in parts))
        if isinstance(member, Expr):
            return None
        members.append(bool(member))
    return members
