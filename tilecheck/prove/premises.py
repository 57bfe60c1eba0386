"""Premises: the weakest facts that would make a call legal.

The lattice. A premise is a conjunction of facts, at most one congruence and one range for each subject. Subjects are the symbols that the call uses; the
starts, pitches and extents that join several symbols (`n + k`), and what is left of a symbolic extent behind a start (`N - n`); the bases of memory
operands. Congruences: value % m == r, for symbols and expressions with m a multiple of the declared one by a divisor of the widest alignment that the
instruction asks, in bytes; for bases with m up to the alignment asked of them. Ranges: low <= value <= high, whole intervals, not of bases.
Not searched: other divisors, unions of intervals, other relations between symbols, facts about coordinates (guards, pred), sizes and shapes.

The search. A premise generalises a legal instance: symbols and bases at fixed values, at most MAX_INSTANCES tried, the first ones near 0, the ends and
the zeros of starts. Around it the weakest single facts are looked for, and where none suffices one conjunction: everything known of the instance, each
fact in turn weakened as far as the others allow. Of single facts about one subject the one that leaves most values is given; one that leaves a single
value only where nothing else suffices. An instance that accesses nothing (its predicate is false) is none. At most MAX_CHECKS calls are checked.

The promise. A premise is checked again as a document: the call with it is proved, and with each fact one step weaker it is refuted (the modulus without
one of its primes, an end moved out to the next value). None follows from another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import lcm

from tilecheck.call import INDEX_DTYPES, Call
from tilecheck.document import read_call
from tilecheck.fitting import fitted, scalars_of
from tilecheck.layout.trace import trace
from tilecheck.layout.view import View
from tilecheck.prove.agreement import question
from tilecheck.prove.check import check
from tilecheck.prove.facts import Congruence, Fact, Facts, Premise, Range, Subject, assumed, declared, grid
from tilecheck.prove.obligation import Obligation
from tilecheck.prove.problem import prepare
from tilecheck.prove.subjects import bases_of, diagonally, expressions_of, hints, operand_terms, roots, symbols_of, value_of
from tilecheck.prove.tiers import Tiers
from tilecheck.prove.verdict import PROVED, REFUTED, UNPROVED, VACUOUS, Verdict
from tilecheck.spec import Contract, Memory, find_contract
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Expr

RLIMIT = 1_000_000
"""The solver's limit for one question about a candidate; where it gives up, a candidate counts as not sufficient."""
MAX_CHECKS = 400
MAX_INSTANCES = 64
MAX_VALUES = 14
"""Values of one symbol that instances take."""
LEGAL_INSTANCES = 4
"""Legal instances around which single facts are looked for."""
GUIDED = 6
"""Times in a row that the end of a range is cut by counterexamples before it is halved."""
FIXED = ("opcode", "space.explicit", "operands", "type")
"""The clauses that do not depend on symbols or bases."""


def premises(call: Call, *, audit: bool = False, rlimit: int | None = None) -> tuple[Premise, ...]:
    """The weakest premises of a call, each sufficient without the others; () for a proved call, and where no fact of the lattice helps.

    audit, rlimit: as for `check`. InputError: a call that has no document.
    """
    return with_premises(call, audit=audit, rlimit=rlimit).premises


def with_premises(call: Call, *, audit: bool = False, rlimit: int | None = None) -> Verdict:
    """The verdict on a call with its premises; where there is none, `reason` says why."""
    verdict = check(call, audit=audit, rlimit=RLIMIT if rlimit is None else rlimit)
    found = find_contract(call.opcode)
    contract = fitted(found, call) if isinstance(found, Contract) else question(call)
    if verdict.status not in {REFUTED, UNPROVED}:
        return verdict
    several = contract is not None and len(contract.operands) == len(call.operands)
    moving = {f"{value.spec.name}.type" for value in scalars_of(call, contract)} if contract is not None and several else set[str]()
    fixed = [c.id for c in verdict.failing if c.id.endswith(FIXED) and c.id not in moving]
    if fixed or contract is None:
        return replace(verdict, reason=f"no premise: {_and(fixed) or 'the call'} can be changed by no fact about symbols or bases")
    search = _Search(read_call(call.to_json()), contract, audit=audit, rlimit=RLIMIT if rlimit is None else rlimit)
    found = search.premises()
    return replace(verdict, premises=found, reason=verdict.reason if found else search.reason())


def _and(names: Iterable[str]) -> str:
    return " and ".join(dict.fromkeys(names))


class _SpentError(Exception):
    """MAX_CHECKS calls were checked."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the check of one candidate says: its status, the ids of what fails, and the symbol values of the counterexamples."""

    status: str
    failing: frozenset[str]
    examples: tuple[dict[str, int], ...]


class _Search:
    def __init__(self, call: Call, contract: Contract, *, audit: bool, rlimit: int) -> None:
        self.call, self.contract, self.audit, self.rlimit = call, contract, audit, rlimit
        self.unit = lcm(*(o.align_bytes or 1 for o in contract.operands if isinstance(o, Memory)))
        self.symbols = symbols_of(call)
        self.slices = [c for o in call.operands if isinstance(o, View) for c in trace(o).slices]
        self.expressions = expressions_of(call, list(operand_terms(call)))
        self.rooms = expressions_of(call, [check.limit - check.begin for check in self.slices if isinstance(check.limit, Expr)])
        self.bases = bases_of(call, contract)
        self.known: dict[frozenset[Fact], _Answer] = {}
        self.checks = 0
        self.instances = 0
        self.always: frozenset[str] | None = None
        self.spent = False

    def premises(self) -> tuple[Premise, ...]:
        found: list[Facts] = []
        degenerate: list[Facts] = []
        try:
            legal = self.legal_instances()
            for instance in legal:
                self.singles(instance, found, degenerate)
            if legal and not found:
                joined = self.joined(legal[0])
                (degenerate if any(_single(f) for f in joined) else found).append(joined)
        except _SpentError:
            self.spent = True
        return self.antichain([p for facts in found or degenerate[:1] for p in self.certified(facts)])

    def reason(self) -> str:
        """Why there is no premise."""
        if not self.symbols and not self.bases:
            return "no premise: the call uses no symbol, and of every base as much is known as the instruction asks"
        if self.spent:
            return f"no premise found in {MAX_CHECKS} calls that were checked"
        tried = "the only instance" if self.instances == 1 else f"each of the {self.instances} instances tried"
        what = "(symbols and bases at fixed values)"
        if self.always is None:
            return f"no premise found: the facts exclude {tried} {what}"
        if not self.always:
            return f"no premise found: something fails in {tried} {what}"
        return f"no premise found: in {tried} {what}, {_and(sorted(self.always))} fail{'s' if len(self.always) == 1 else ''}"

    # --- asking ----------------------------------------------------------------------------------------------------------

    def ask(self, facts: Iterable[Fact]) -> _Answer:
        """The answer about the call with facts; _SpentError at the limit."""
        facts = tuple(fact for fact in facts if isinstance(fact, Congruence) or fact.says_low or fact.says_high)
        key = frozenset(facts)
        if key not in self.known:
            if self.checks >= MAX_CHECKS:
                raise _SpentError
            self.checks += 1
            verdict = check(declared(self.call, facts), rlimit=self.rlimit)
            examples = tuple(dict(c.counterexample.symbols) for c in verdict.failing if c.counterexample is not None)
            self.known[key] = _Answer(
                _status(verdict), frozenset(c.id for c in verdict.clauses if c.status in {REFUTED, UNPROVED}), examples
            )
        return self.known[key]

    def suffices(self, *facts: Fact) -> bool:
        return self.ask(facts).status == PROVED

    # --- instances -------------------------------------------------------------------------------------------------------

    def legal_instances(self) -> list[Facts]:
        """The first legal instances, as facts."""
        choices: list[list[Fact]] = [[Range(s, v, v) for v in self.values(s)] for s in self.symbols]
        for base, asked in self.bases:
            modulus = lcm(base.step, asked)
            choices.append([Congruence(base, modulus, r) for r in range(base.start, modulus, base.step)])
        legal: list[Facts] = []
        for instance in diagonally(choices, MAX_INSTANCES) if choices else ():
            answer = self.ask(instance)
            self.instances += 1
            if answer.status == PROVED:
                legal.append(instance)
            elif answer.failing:
                self.always = answer.failing if self.always is None else self.always & answer.failing
            if len(legal) == LEGAL_INSTANCES:
                break
        return legal

    def values(self, symbol: Subject) -> list[int]:
        """Values near the zeros of starts and extents, near 0, and the ends; inside the declared range, multiples of the declared step."""
        zeros = [root for term in hints(self.slices) for root in roots(term, symbol.text)]
        wanted = (*zeros, 0, *(k * symbol.step for k in (1, 2, 3, 4, 8, 16)), symbol.low, symbol.high)
        inside = (min(max(value, symbol.low), symbol.high) for value in wanted)
        rounded = (value + r for value in inside for r in ((-value) % symbol.step, (-value) % symbol.step - symbol.step))
        return list(dict.fromkeys(value for value in rounded if symbol.low <= value <= symbol.high))[:MAX_VALUES]

    def value(self, subject: Subject, instance: Facts) -> int | None:
        """The value of a symbol or expression in an instance."""
        return value_of(subject, {f.subject.text: f.low for f in instance if isinstance(f, Range)})

    # --- single facts ----------------------------------------------------------------------------------------------------

    def singles(self, instance: Facts, found: list[Facts], degenerate: list[Facts]) -> None:
        """Adds the weakest single facts that hold in an instance, unless one found before holds there."""
        if any(self.holds(fact, instance) for (fact,) in found):
            return
        for fact in instance:
            if isinstance(fact, Congruence):
                found.extend((one,) for one in self.least(fact, ()))
        for subject in (*self.symbols, *self.expressions, *self.rooms):
            value = self.value(subject, instance)
            if value is not None and all(fact.subject != subject for (fact,) in found):
                one = max(self.about(subject, value), key=_preference, default=None)
                if one is not None:
                    (degenerate if _single(one) else found).append((one,))

    def about(self, subject: Subject, value: int) -> Iterator[Fact]:
        """The weakest congruence and the weakest range of one subject that suffice alone and allow a value."""
        point = Range(subject, value, value)
        if not self.suffices(point):
            return
        if subject not in self.rooms:
            yield from self.least(self.strongest(subject, value), ())
        wide = self.extended(point, ()).on_grid(subject.step, subject.start)
        if wide is not None:
            yield wide

    def holds(self, fact: Fact, instance: Facts) -> bool:
        if fact.subject.operand is not None:
            assert isinstance(fact, Congruence)
            return any(
                isinstance(f, Congruence) and f.subject == fact.subject and f.residue % fact.modulus == fact.residue for f in instance
            )
        value = self.value(fact.subject, instance)
        if value is None:
            return False
        return value % fact.modulus == fact.residue if isinstance(fact, Congruence) else fact.low <= value <= fact.high

    def strongest(self, subject: Subject, value: int) -> Congruence:
        modulus = lcm(subject.step, self.unit)
        return Congruence(subject, modulus, value % modulus)

    def least(self, strong: Congruence, others: Facts) -> list[Congruence]:
        """The congruence of least modulus that suffices with the others; [] where none does, or where nothing need be said."""
        step, most = strong.subject.step, strong.modulus // strong.subject.step
        for modulus in (step * k for k in range(1, most + 1) if most % k == 0):
            fact = Congruence(strong.subject, modulus, strong.residue % modulus)
            if modulus == step:
                if self.suffices(*others):
                    return []
            elif self.suffices(fact, *others):
                return [fact]
        return []

    def extended(self, fact: Range, others: Facts) -> Range:
        """The largest range around a sufficient one that suffices with the others; the upper end first."""
        fact = replace(fact, high=self.end(fact, others, upper=True))
        return replace(fact, low=self.end(fact, others, upper=False))

    def end(self, fact: Range, others: Facts, *, upper: bool) -> int:
        """The farthest end that suffices. Counterexamples cut what is left; where they do so too slowly, it is halved."""
        good, far = (fact.high, fact.subject.high) if upper else (fact.low, fact.subject.low)
        sign = 1 if upper else -1
        rounds = 0
        while good != far:
            rounds += 1
            probe = far if rounds % GUIDED else (good + far + (1 if upper else 0)) // 2
            answer = self.ask((replace(fact, high=probe) if upper else replace(fact, low=probe), *others))
            if answer.status == PROVED:
                good = probe
                continue
            seen = [value_of(fact.subject, example) for example in answer.examples]
            failing = [v for v in seen if v is not None and sign * good < sign * v <= sign * probe]
            if failing:
                far = sign * min(sign * v for v in failing) - sign
            elif probe == far and rounds % GUIDED:
                rounds = GUIDED - 1
                far -= sign
            else:
                far = probe - sign
        return good

    # --- conjunctions ----------------------------------------------------------------------------------------------------

    def joined(self, instance: Facts) -> Facts:
        """A conjunction around a legal instance, every fact of it as weak as the others allow.

        At first no congruence of a symbol or expression is part of it; those whose range then keeps one value get theirs.
        """
        congruent: set[Subject] = set()
        while True:
            facts = self.weakened(instance, congruent)
            stuck = {fact.subject for fact in facts if _single(fact)} - set(self.rooms)
            if stuck <= congruent:
                return facts
            congruent |= stuck

    def weakened(self, instance: Facts, congruent: set[Subject]) -> Facts:
        """The values of an instance as ranges, congruences of some subjects and of bases, each in turn weakened as far as the others allow."""
        values = {s: self.value(s, instance) for s in (*self.symbols, *self.expressions, *self.rooms)}
        ranges = [Range(s, v, v) for s, v in values.items() if v is not None]
        moduli = [self.strongest(s, v) for s, v in values.items() if v is not None and s in congruent]
        moduli += [fact for fact in instance if isinstance(fact, Congruence)]
        moduli = [fact for fact in moduli if fact.modulus != fact.subject.step]
        ranges = self.wider(ranges, moduli)
        for fact in tuple(moduli):
            place = moduli.index(fact)
            moduli[place : place + 1] = self.least(fact, (*(m for m in moduli if m is not fact), *ranges))
        return (*moduli, *self.wider(ranges, moduli))

    def wider(self, ranges: Sequence[Range], moduli: Sequence[Congruence]) -> list[Range]:
        """The ranges, each extended as far as the others and the congruences allow, with ends on its subject's grid."""
        left = list(ranges)
        for fact in ranges:
            place = left.index(fact)
            wide = self.extended(fact, (*left[:place], *left[place + 1 :], *moduli))
            kept = wide.on_grid(*grid(fact.subject, moduli))
            left[place : place + 1] = [] if kept is None else [kept]
        return left

    # --- the promise -----------------------------------------------------------------------------------------------------

    def certified(self, facts: Facts) -> Iterator[Premise]:
        """The premise, where the document with it is proved; weakened further where a step weaker suffices, too."""
        while True:
            steps = [
                (*facts[:k], *(() if one is None else (one,)), *facts[k + 1 :])
                for k, fact in enumerate(facts)
                for one in self.steps(fact, facts)
            ]
            found = [self.status(declared(self.call, step)) for step in steps]
            if PROVED not in found:
                break
            facts = steps[found.index(PROVED)]
        call = declared(self.call, facts)
        if self.status(call) == PROVED:
            yield Premise(facts, call, weakest=set(found) <= {REFUTED}, assumable=self.status(assumed(self.call, facts)) == PROVED)

    def steps(self, fact: Fact, facts: Facts) -> Iterator[Fact | None]:
        return fact.weaker(grid(fact.subject, facts)[0])

    def status(self, call: Call) -> str:
        """The status of a call read from its document."""
        return _status(check(read_call(call.to_json()), audit=self.audit, rlimit=self.rlimit))

    def antichain(self, found: list[Premise]) -> tuple[Premise, ...]:
        """The premises that follow from no other; of several that say the same, the first."""
        kept: list[Premise] = []
        for one in found:
            if any(self.implies(one, other) for other in kept):
                continue
            kept = [other for other in kept if not self.implies(other, one)]
            kept.append(one)
        return tuple(kept)

    def implies(self, one: Premise, other: Premise) -> bool:
        """Whether one premise follows from the other: for bases by arithmetic, for symbols by proof."""
        for fact in other.facts:
            if isinstance(fact, Congruence) and fact.subject.operand is not None:
                same = [f for f in one.facts if isinstance(f, Congruence) and f.subject == fact.subject]
                if not any(f.modulus % fact.modulus == 0 and f.residue % fact.modulus == fact.residue for f in same):
                    return False
        given, goal = (terms.conj(*(terms.normal(f.condition) for f in p.facts if f.condition is not None)) for p in (one, other))
        problem = prepare(self.call, self.contract)
        tiers = Tiers(INDEX_DTYPES[self.call.index_dtype], rlimit=self.rlimit)
        return tiers.decide(Obligation(problem.symbols, terms.conj(problem.facts, given), goal)).holds is True


def _status(verdict: Verdict) -> str:
    """The status of a verdict; a proof in which a clause is never owed, as no thread accesses anything, counts as vacuous."""
    empty = verdict.status == PROVED and any(c.status == VACUOUS for c in verdict.clauses)
    return VACUOUS if empty else verdict.status


def _single(fact: Fact) -> bool:
    """Whether a fact leaves one value of a symbol or expression."""
    return fact.subject.operand is None and fact.values == 1


def _preference(fact: Fact) -> tuple[int, bool]:
    """Of incomparable facts about one subject the one that leaves most values; of a congruence and a range that leave as many, the first unless it is one."""
    return fact.values, isinstance(fact, Congruence) != _single(fact)
