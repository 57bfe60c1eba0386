"""The ledger of a kernel: what its calls spell, allocate and free in each CTA, in the order of its program text.

Every call executes at most once in a CTA. Where it executes for some values of the symbols, or in some CTAs only, the ledger goes on for both: a state has a
condition, and what is wrong in it counts where some values satisfy that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tilecheck.prove.clause import Finding
from tilecheck.prove.executed import OPEN, Common, Executed, Under, common, executed, under
from tilecheck.prove.obligation import Obligation, Outcome
from tilecheck.prove.problem import Problem
from tilecheck.prove.shared import Member, named
from tilecheck.prove.tiers import Tiers
from tilecheck.prove.verdict import Hazard
from tilecheck.scopes import CTA
from tilecheck.spec import Pool
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term, var

Said = tuple[str, str, list[Finding]]
"""A clause, what it asks, and what is wrong."""
MOST_STATES = 128


def spellings(pool: Pool, members: Sequence[Member]) -> Iterator[Said]:
    """Every call writes a qualifier as the first one does that has it."""
    first: dict[str, tuple[str, Member]] = {}
    wrong: dict[str, list[Finding]] = {}
    for member in members:
        for name, written in member.shared.alike:
            before, other = first.setdefault(name, (written, member))
            found = wrong.setdefault(name, [])
            if written != before:
                sentence = f"{named(member)} has {written}, {named(other)} before it {before}"
                found.append(Finding(sentence, f"{before}, as {named(other)}", f"{written} in {named(member)}"))
    for name, found in wrong.items():
        yield f"{name}.opcode", f"all calls of a kernel on {pool.name} have one {name}", found


@dataclass(frozen=True, slots=True)
class Allocation:
    """Columns `low` to `high` - 1, by a call."""

    low: int
    high: int
    by: Member

    @property
    def size(self) -> int:
        """How many columns."""
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class State:
    """What a CTA holds where a condition is true; last: the allocation before; closed: the call that gave the permit up."""

    when: Term = True
    held: tuple[Allocation, ...] = ()
    last: Allocation | None = None
    closed: Member | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """What two states have in common that differ in their condition alone."""
        held = tuple((one.low, one.high, one.by.index) for one in self.held)
        return held, self.last and (self.last.size, self.last.by.index), self.closed and self.closed.index

    def under(self, condition: Term) -> State:
        """The state where a condition holds, too."""
        return replace(self, when=terms.conj(self.when, condition))


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong in a state: the clause, the finding, where. total: the columns in all, of a finding about them."""

    clause: str
    finding: Finding
    when: Term
    total: int = 0


@dataclass
class Ledger:
    """What is allocated when each call is reached."""

    pool: Pool
    tiers: Tiers
    known: Common
    given: bool = False
    """Whether the kernel allocates anything."""
    frees: bool = False
    hazards: list[Hazard] = field(default_factory=list[Hazard])
    conditions: list[str] = field(default_factory=list[str])
    reached: dict[int, tuple[State, ...]] = field(default_factory=dict[int, tuple[State, ...]])
    wrong: list[Wrong] = field(default_factory=list[Wrong])
    methods: dict[str, None] = field(default_factory=dict[str, None])
    undecided: str = ""
    """Why nothing is known of what is allocated."""
    base: Mapping[str, int] = field(default_factory=dict[str, int])
    """Values that satisfy all facts."""

    def decide(self, when: Term, goal: Term) -> Outcome:
        """Whether a condition holds wherever the facts and another one do."""
        outcome = self.tiers.decide(Obligation(self.known.variables, terms.conj(self.known.facts, when), goal))
        if outcome.holds is not None and outcome.method != "structure":
            self.methods[outcome.method] = None
        return outcome

    def witness(self, when: Term) -> Outcome:
        """Values that lead to a state: refuted with them, proved where there are none."""
        return Outcome(holds=False, witness=self.base) if when is True else self.decide(True, terms.negate(when))

    def open(self, when: Term) -> bool:
        """Whether a state depends on a symbol that varies inside a CTA."""
        return any(name.startswith(OPEN) for name in terms.variables(when))

    def unsure(self, wrong: Wrong) -> str:
        """Why it is not known whether something is wrong."""
        calls = {name.removeprefix(OPEN).partition(".")[0] for name in terms.variables(wrong.when) if name.startswith(OPEN)}
        which = ", ".join(f"calls[{index}]" for index in sorted(calls, key=int))
        return f"{wrong.finding.sentence}, where it depends on a symbol that varies inside a CTA what {which} does"

    def contradicted(self, member: Member, problem: Problem) -> str:
        """Why what a call says of the symbols holds of no kernel with these allocations; "" where it may."""
        where = under(self.known, member, problem, True, peer=False)
        if where.premise is True:
            return ""
        found = self.tiers.least((*problem.symbols, *where.extra), terms.conjuncts(terms.conj(problem.facts, where.premise)))
        reason = found if isinstance(found, str) else "no values satisfy both"
        return "" if isinstance(found, Mapping) else f"what it and the allocations say of the symbols holds of one kernel: {reason}"

    def values(self, witness: Mapping[str, int], where: Under) -> dict[str, int]:
        """What the variables of the ledger are at a witness of a call that accesses something."""
        found: dict[str, int] = {}
        for v in self.known.variables:
            as_seen = where.names.get(v.name, var(v.name))
            if v.name != CTA:
                found[v.name] = terms.evaluate(as_seen, witness) if terms.variables(as_seen) <= witness.keys() else self.base.get(v.name, 0)
        return found

    def split(self, state: State, conditions: Sequence[Term]) -> list[State | None]:
        """The state under each of some conditions, None where it cannot be."""
        if any(condition is True for condition in conditions):
            return [state if condition is True else None for condition in conditions]
        possible = [c for c in conditions if c is not False and self.decide(state.when, terms.negate(c)).holds is not True]
        if len(possible) == 1:
            return [state if c is possible[0] else None for c in conditions]
        return [state.under(c) if any(c is one for one in possible) else None for c in conditions]

    def held_at(self, member: Member) -> dict[tuple[tuple[int, int], ...], Term]:
        """The columns that may be allocated when a call is reached, and when they are."""
        found: dict[tuple[tuple[int, int], ...], Term] = {}
        for state in self.reached[member.index]:
            held = tuple(sorted((one.low, one.high) for one in state.held))
            found[held] = terms.disj(found.get(held, False), state.when)
        return found

    def clauses(self) -> Iterator[tuple[str, str]]:
        """The clauses about allocations, and what each asks, where the kernel has any."""
        if not (self.given or self.frees):
            return
        name, columns = self.pool.name, self.pool.columns
        yield "allocation.shape", f"no allocation of {name} is larger than one before it"
        yield "allocation.footprint", f"what is allocated of {name} at one time has at most {columns} columns, each once"
        yield "allocation.operands", f"what is freed of {name} is allocated, and nothing is allocated after the permit is given up"

    def findings(self, clause: str) -> list[Wrong]:
        """What is wrong of a clause, each once where it is known and once where it is open; the most columns in all come first."""
        own: dict[tuple[str, bool], Wrong] = {}
        for one in self.wrong:
            if one.clause == clause:
                key = one.finding.sentence, self.open(one.when)
                own[key] = one if key not in own else replace(one, when=terms.disj(own[key].when, one.when))
        return sorted(own.values(), key=lambda one: -one.total)


def allocations(pool: Pool, members: Sequence[Member], tiers: Tiers) -> Ledger:
    """The ledger of the calls of a kernel; sizes and places that are no numbers are left to the calls' own verdicts."""
    acting = [member for member in members if member.shared.does]
    ctas = max((m.call.launch.ctas for m in members), default=1)
    book = Ledger(pool, tiers, common(acting, ctas))
    book.given = any(m.shared.does == "allocates" and _number(m, m.shared.size) is not None for m in acting)
    if acting:
        found = tiers.least(book.known.variables, terms.conjuncts(book.known.facts))
        if found is None or isinstance(found, str):
            calls = ", ".join(f"calls[{m.index}]" for m in acting)
            book.undecided = f"what {calls} say of the symbols holds of one kernel: {found or 'no values satisfy all of them'}"
            return book
        book.base = found
    states = [State()]
    for member in members:
        if member.shared.does:
            after: dict[tuple[object, ...], State] = {}
            for one in _after(book, states, member, executed(member, ctas)):
                known = after.get(one.key)
                after[one.key] = one if known is None else replace(one, when=terms.disj(known.when, one.when))
            states = list(after.values())
        if len(states) > MOST_STATES:
            book.undecided = f"more than {MOST_STATES} cases of which calls execute, up to {named(member)}"
            return book
        book.reached[member.index] = tuple(states)
    _end(book, states)
    return book


def _after(book: Ledger, states: Sequence[State], member: Member, run: Executed) -> Iterator[State]:
    """The states behind a call."""
    for state in states:
        here, passed = book.split(state, (run.whole, terms.negate(run.whole)))
        if passed is not None:
            yield passed
        if here is not None:
            yield from _executed(book, here, member, run)


def _executed(book: Ledger, state: State, member: Member, run: Executed) -> Iterator[State]:
    size = _number(member, member.shared.size)
    if member.shared.does == "allocates" and size is not None:
        for _ in range(min(member.count, book.pool.columns)):
            state = _allocate(book, state, member, size)
        yield state
    elif member.shared.does == "frees" and size is not None:
        yield from _free(book, state, member, size, run)
    else:
        yield replace(state, closed=member) if member.shared.does == "closes" else state


def _allocate(book: Ledger, state: State, member: Member, size: int) -> State:
    columns, who, held, last = book.pool.columns, named(member), state.held, state.last
    at = _number(member, member.shared.at)
    low = at if at is not None else max((one.high for one in held), default=0)
    found = Allocation(low, low + size, member)

    def wrong(clause: str, sentence: str, expected: str, actual: str, total: int = 0) -> None:
        book.wrong.append(Wrong(f"allocation.{clause}", Finding(sentence, expected, actual), state.when, total))

    if state.closed is not None:
        sentence = f"{who} allocates after {named(state.closed)}, which gives the permit up"
        wrong("operands", sentence, f"no allocation after calls[{state.closed.index}]", f"calls[{member.index}] allocates")
    if last is not None and size > last.size:
        sentence = f"{who} allocates {size} columns, {named(last.by)} before it {last.size}"
        wrong("shape", sentence, f"at most {last.size} columns", f"{size} columns")
    total = size + sum(one.size for one in held)
    shared = next((one for one in held if one.low < found.high and found.low < one.high), None)
    if total > columns:
        sizes = " + ".join(f"{one.size} of calls[{one.by.index}]" for one in (*held, found))
        sentence = f"{who} brings what is allocated to {total} columns ({sizes}), a CTA has {columns}"
        wrong("footprint", sentence, f"at most {columns} columns", f"{total} columns in all", total)
    elif shared is not None:
        sentence = f"{who} allocates columns {low} to {found.high - 1}, of which {named(shared.by)} holds {shared.low} to {shared.high - 1}"
        wrong("footprint", sentence, "columns that no call holds", f"columns {low} to {found.high - 1}")
    elif found.high > columns:
        sentence = f"{who} allocates columns {low} to {found.high - 1}, a CTA has 0 to {columns - 1}"
        wrong("footprint", sentence, f"columns 0 to {columns - 1}", f"columns {low} to {found.high - 1}")
    if size < columns:
        where = f"{who} writes the address of column {low}: what it allocates is where the views of the kernel count it"
        book.conditions += [where] if where not in book.conditions else []
    return replace(state, held=(*held, found), last=found)


def _free(book: Ledger, state: State, member: Member, size: int, run: Executed) -> Iterator[State]:
    """The state with each allocation freed that the address may be of; with none where it is of no allocation of the size."""
    book.frees = True
    starts = list(dict.fromkeys(one.low for one in state.held if one.size == size))
    *fits, none = book.split(state, (*(run.begins_at(low) for low in starts), run.begins_elsewhere(starts)))
    for low, there in zip(starts, fits, strict=True):
        if there is not None:
            freed = next(one for one in reversed(there.held) if (one.low, one.size) == (low, size))
            yield replace(there, held=tuple(one for one in there.held if one is not freed))
    if none is None:
        return
    at = _number(member, member.shared.at)
    what = f"{size} columns at {'another column' if at is None else f'column {at}'}"
    there = ", ".join(f"{one.size} at column {one.low} by calls[{one.by.index}]" for one in none.held) or "nothing"
    finding = Finding(f"{named(member)} frees {what}, allocated is {there}", f"what is allocated: {there}", what)
    book.wrong.append(Wrong("allocation.operands", finding, none.when))
    yield none


def _end(book: Ledger, states: Sequence[State]) -> None:
    """What is held when the kernel ends."""
    for state in states:
        for one in state.held:
            sentence = f"{named(one.by)} allocates columns {one.low} to {one.high - 1}, which no call frees"
            if book.frees:
                book.wrong.append(Wrong("allocation.operands", Finding(sentence, "columns that are freed", "kept"), state.when))
    kept = next((one for state in states for one in state.held), None)
    if kept is not None and not book.frees:
        book.hazards.append(Hazard("allocation.kept", f"no call frees what {named(kept.by)} allocates: a kernel frees all before it ends"))


def _number(member: Member, name: str) -> int | None:
    """The value of a parameter, None where it is not given as a number."""
    value = member.call.parameter(name) if name else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
