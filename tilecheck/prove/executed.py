"""Whether a call of a kernel executes in a CTA: a formula over the CTA and over what the symbols of all its calls are.

A symbol that varies by grid or cluster has one value in all calls that name it; one that varies by CTA has one in each CTA. They are the variables `n@grid`
and `n@cta` here. What depends on a symbol that varies inside a CTA is open: it stands for a variable of its own, `@open3` of calls[3].
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tilecheck.call import INDEX_DTYPES, Symbol
from tilecheck.fitting import value_of
from tilecheck.prove.obligation import Variable, relevant
from tilecheck.prove.problem import Problem, implied_facts, lcm, prepare
from tilecheck.prove.shared import Member
from tilecheck.prove.verdict import PROVED
from tilecheck.scopes import CTA, execution_of, ground, varying_names, written
from tilecheck.symbolic import terms
from tilecheck.symbolic.parse import is_truth
from tilecheck.symbolic.terms import ELECTED, Expr, Term, var

OPEN = "@open"
CHOSEN = "elected@grid"
LEVELS = {"grid": "grid", "cluster": "grid", "cta": "cta"}


def name_of(name: str, varies: str, member: Member) -> str:
    """The variable that a symbol of a call is."""
    return f"{name}@{LEVELS.get(varies, member.index)}"


def shown(name: str) -> str:
    """A variable as it is told: the name of the symbol."""
    return name.partition("@")[0] or name


@dataclass(frozen=True, slots=True)
class Executed:
    """warps: for each warp, that it executes the call. whole: that one of them does. place: for each warp, where what is freed begins, and that this has a value."""

    warps: tuple[Term, ...]
    whole: Term
    place: tuple[tuple[Term, Term], ...]

    def begins_at(self, column: int) -> Term:
        """It is executed, and the place is this column."""
        pairs = zip(self.warps, self.place, strict=True)
        return terms.disj(*(terms.conj(runs, defined, terms.eq(at, column)) for runs, (at, defined) in pairs))

    def begins_elsewhere(self, columns: Sequence[int]) -> Term:
        """It is executed, and the place is none of these columns."""
        pairs = zip(self.warps, self.place, strict=True)
        at_none = ((runs, terms.disj(*(terms.eq(at, c) for c in columns)), defined) for runs, (at, defined) in pairs)
        return terms.disj(*(terms.conj(runs, terms.negate(terms.conj(defined, found))) for runs, found, defined in at_none))


def executed(member: Member, ctas: int) -> Executed:
    """When a call executes; ctas: those of the largest cluster that a call of the kernel is launched in."""
    call = member.call
    given = call.pred
    pred = given if isinstance(given, bool) or (isinstance(given, Expr) and given.is_truth) else True
    run = execution_of(call.launch, call.guard, call.assume, varying_names(call.symbols), pred)
    condition = terms.conj(run.facts, run.activity, run.pred, terms.lt(var(CTA), call.launch.ctas) if ctas > call.launch.ctas else True)
    names = {s.name: var(name_of(s.name, s.varies, member)) for s in call.symbols} | {ELECTED: var(CHOSEN)}
    parameter = next((p for p in member.contract.parameters if p.name == member.shared.at), None)
    at = None if parameter is None else value_of(call, parameter)
    at = 0 if at is None or is_truth(at) else at
    begins = ground(at, call.launch), terms.has_value(written(at, call.launch))
    threads: list[dict[str, Term]] = [{**names, "warpid": warp, "laneid": 0} for warp in range(call.launch.warps)]
    warps = tuple(terms.substitute(condition, one) for one in threads)
    place = tuple((terms.substitute(begins[0], one), terms.substitute(begins[1], one)) for one in threads)
    inner = {name_of(s.name, s.varies, member) for s in call.symbols if s.varies not in LEVELS}
    if any(inner & terms.variables(one) for one in warps):
        warps = (terms.eq(var(f"{OPEN}{member.index}"), 1),)
        place = place[:1] if len(set(place)) == 1 else ((var(f"{OPEN}{member.index}.at"), True),)
    if any(inner & terms.variables(part) for one in place for part in one):
        place = ((var(f"{OPEN}{member.index}.at"), True),) * len(warps)
    return Executed(warps, terms.disj(*warps), place)


@dataclass(frozen=True, slots=True)
class Common:
    """What the calls that allocate and free say of their symbols: the variables, and facts that hold of all of them together."""

    variables: tuple[Variable, ...]
    facts: Term

    def seen_by(self, member: Member) -> Mapping[str, Term]:
        """The variables that are symbols of a call that accesses something, as it names them."""
        return {name_of(s.name, s.varies, member): var(s.name) for s in member.call.symbols if s.varies in LEVELS}


def common(members: Sequence[Member], ctas: int) -> Common:
    """The variables and facts of the calls that allocate, free or close."""
    found: dict[str, Variable] = {}
    facts: list[Term] = []
    mixed = len({m.call.index_dtype for m in members}) > 1
    for member in members:
        names = {s.name: var(name_of(s.name, s.varies, member)) for s in member.call.symbols}
        for symbol in member.call.symbols:
            one = _variable(symbol, member, mixed=mixed)
            found[one.name] = _merged(found[one.name], one) if one.name in found else one
        facts.append(terms.substitute(_assumed(member), names))
        openings = (Variable(f"{OPEN}{member.index}", "symbol", 0, 1), Variable(f"{OPEN}{member.index}.at", "symbol", 0, 1 << 20))
        found |= {one.name: one for one in openings}
    found[CHOSEN] = Variable(CHOSEN, "elected", 0, 31)
    return Common((*found.values(), Variable(CTA, "cta", 0, ctas - 1)), terms.conj(*facts))


def _assumed(member: Member) -> Term:
    """What a call says of its symbols, whether it executes or not: the guard aside."""
    call = member.call
    run = execution_of(call.launch, True, call.assume, varying_names(call.symbols), True)
    if member.status != PROVED:
        return run.facts
    sides = prepare(call, member.contract).sides
    return terms.conj(run.facts, *(implied_facts(call, side.tensor) for side in sides if side.declared))


def _variable(symbol: Symbol, member: Member, *, mixed: bool) -> Variable:
    """mixed: calls have several index types, so that a symbol without bounds has those of its call."""
    first, last = INDEX_DTYPES[member.call.index_dtype]
    low = symbol.min if symbol.min is not None else first if mixed or first == 0 else None
    high = symbol.max if symbol.max is not None else last if mixed else None
    return Variable(name_of(symbol.name, symbol.varies, member), "symbol", low, high, symbol.multiple_of)


def _merged(one: Variable, other: Variable) -> Variable:
    """The values that both declarations admit."""
    lows = [v.low for v in (one, other) if v.low is not None]
    highs = [v.high for v in (one, other) if v.high is not None]
    return replace(one, low=max(lows, default=None), high=min(highs, default=None), step=lcm(one.step, other.step))


def ranges(variables: Iterable[Variable]) -> Term:
    """The declarations of variables as a condition."""
    parts: list[Term] = []
    for v in variables:
        own = var(v.name)
        parts += [] if v.low is None else [terms.le(v.low, own)]
        parts += [] if v.high is None else [terms.le(own, v.high)]
        parts += [] if v.step == 1 else [terms.eq(terms.mod(own, v.step), 0)]
    return terms.conj(*parts)


@dataclass(frozen=True, slots=True)
class Under:
    """A state of the ledger, as a call that accesses something sees it: in its CTA, or in the other one of its pair.

    premise: the state is there, and the facts that have a say. extra: variables beside those of the call. names: what each variable of the ledger is.
    """

    premise: Term
    extra: tuple[Variable, ...]
    names: Mapping[str, Term]
    peer: bool

    @property
    def open(self) -> bool:
        """Whether it depends on a symbol that varies inside a CTA."""
        return any(v.name.startswith(OPEN) for v in self.extra)


def under(known: Common, member: Member, problem: Problem, when: Term, *, peer: bool) -> Under:
    """A state under which a call is reached. peer: in the other CTA of its pair, where what varies by CTA has values of its own."""
    mine = known.seen_by(member)
    if peer:
        apart = {v.name: var(f"{v.name}@peer") for v in known.variables if not v.name.endswith("@grid")}
        mine = {**mine, **apart, CTA: other_cta()}
    facts = terms.substitute(terms.conj(known.facts, ranges(v for v in known.variables if v.name in mine and v.name != CTA)), mine)
    there = terms.substitute(when, mine)
    linked, _ = relevant(facts, terms.conj(there, problem.accessing, *(terms.eq(var(v.name), 0) for v in problem.symbols)))
    premise = terms.conj(there, *linked)
    used = terms.variables(premise)
    taken = {v.name for v in problem.symbols} | {CTA}
    renamed = (replace(v, name=next(iter(terms.variables(mine.get(v.name, var(v.name)))))) for v in known.variables)
    return Under(premise, tuple(v for v in renamed if v.name in used and v.name not in taken), mine, peer)


def other_cta() -> Term:
    """The rank of the other CTA of a pair."""
    return terms.add(var(CTA), terms.sub(1, terms.mul(2, terms.mod(var(CTA), 2))))
