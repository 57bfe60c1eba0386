"""check_kernel: what the calls of one kernel share, decided over all of them: spellings that agree, allocations, cells, who issues.

Contracts say what their calls have in common with others (`Shared`); a call that is refuted on its own owes nothing here but its allocation.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tilecheck.call import INDEX_DTYPES, Call
from tilecheck.errors import DisagreementError
from tilecheck.fitting import chosen, fitted
from tilecheck.kernels import Kernel, kernel
from tilecheck.prove import issuers, ledger
from tilecheck.prove.cells import held_cells, overlaps, sides_in
from tilecheck.prove.check import check
from tilecheck.prove.clause import Finding
from tilecheck.prove.executed import shown, under
from tilecheck.prove.obligation import Outcome
from tilecheck.prove.problem import Problem, prepare
from tilecheck.prove.shared import Asked, Member, named
from tilecheck.prove.tiers import RLIMIT, Tiers
from tilecheck.prove.together import Part, architectures, launches, lowest
from tilecheck.prove.verdict import PROVED, REFUTED, UNPROVED, ClauseResult, Counterexample, Hazard, NotLegal, Verdict
from tilecheck.scopes import CTA
from tilecheck.spec import Contract, Pool, data, find_contract
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import ELECTED

EVALUATED = 500_000
"""Points that the evaluator looks at in an audit of one kernel."""
OPCODE = "kernel"
"""What stands in the place of an opcode in the verdict on what calls share; no instruction is called so."""


@dataclass(frozen=True, slots=True)
class KernelVerdict:
    """The answer about a kernel: a verdict for each call, and one on what they share. Only `proved` is legal; it has no truth value."""

    calls: tuple[Verdict, ...]
    shared: Verdict

    def __bool__(self) -> bool:
        raise TypeError("a verdict has no truth value: compare .status, or call .raise_for_status()")

    @property
    def every(self) -> tuple[Verdict, ...]:
        """The verdicts on the calls, then the one on what they share."""
        return (*self.calls, self.shared)

    @property
    def status(self) -> str:
        """`refuted` where one of them is; else what is undecided first; `proved` where all are."""
        states = [one.status for one in self.every]
        return next((s for s in (REFUTED, *(s for s in states if s != PROVED)) if s in states), PROVED)

    def raise_for_status(self) -> None:
        """NotLegal, with the first verdict that is not `proved`, unless all are; a refuted one comes first."""
        wrong = sorted((one for one in self.every if one.status != PROVED), key=lambda one: one.status != REFUTED)
        if wrong:
            raise NotLegal(wrong[0])


def check_kernel(calls: Kernel | Iterable[Call], *, audit: bool = False, rlimit: int = RLIMIT, reading: str = "") -> KernelVerdict:
    """The verdicts on the calls of one kernel, given in the order of its program text, and on what they share.

    audit, rlimit, reading: as of `check`; in an audit the evaluator decides what they share on its own, too.
    """
    whole = calls if isinstance(calls, Kernel) else kernel(calls)
    verdicts = tuple(check(call, audit=audit, rlimit=rlimit, reading=reading) for call in whole.calls)
    return KernelVerdict(verdicts, shared_verdict(whole, verdicts, audit=audit, rlimit=rlimit, reading=reading))


def shared_verdict(
    whole: Kernel, verdicts: Sequence[Verdict] | None = None, *, audit: bool = False, rlimit: int = RLIMIT, reading: str = ""
) -> Verdict:
    """The verdict on what the calls of a kernel share; `verdicts`: those on the calls, where they are known already."""
    found = verdicts or tuple(check(call, rlimit=rlimit, reading=reading) for call in whole.calls)
    members: list[Member] = []
    parts: list[Part] = []
    for k, (call, own) in enumerate(zip(whole.calls, found, strict=True)):
        contract = find_contract(call.opcode, reading)
        if isinstance(contract, Contract):
            variant = chosen(contract, call)
            raised = "" if own.arch_floor in {None, variant.arch} else own.arch_floor
            parts.append(Part(k, call, variant, raised or ""))
        if isinstance(contract, Contract) and contract.shared is not None:
            contract = fitted(contract, call)
            assert contract.shared is not None
            count = own.instructions if own.status == PROVED and own.instructions is not None else 1
            members.append(Member(k, call, contract, contract.shared, own.status, count))
    checker = _Checker(whole, parts, audit=audit, rlimit=rlimit)
    checker.program()
    for pool in dict.fromkeys(m.shared.pool for m in members):
        checker.run(pool, [m for m in members if m.shared.pool == pool])
    answer = checker.verdict()
    if audit:
        _compare(members, checker)
    return answer


@dataclass
class _Checker:
    whole: Kernel
    parts: list[Part]
    audit: bool
    rlimit: int
    results: dict[str, ClauseResult] = field(default_factory=dict[str, ClauseResult])
    hazards: list[Hazard] = field(default_factory=list[Hazard])
    conditions: list[str] = field(default_factory=list[str])

    def program(self) -> None:
        """The clauses about all calls as one program, where there are several."""
        if len(self.parts) > 1:
            self.static("arch.opcode", "one architecture has the forms of all calls", "PTX ISA 11.1.2", architectures(self.parts))
            self.static("launch.participation", "all calls are executed in one launch", "PTX ISA 2.2", launches(self.parts))

    def run(self, pool: Pool, members: list[Member]) -> None:
        """Every clause about what the calls have of one pool."""
        source = members[0].shared.source
        for name, statement, wrong in ledger.spellings(pool, members):
            self.static(name, statement, source, wrong)
        acting = next((m for m in members if m.shared.does), members[0])
        book = ledger.allocations(pool, members, self.tiers(acting))
        for name, statement in book.clauses():
            self.booked(book, name, statement, members)
        self.hazards += book.hazards
        self.conditions += book.conditions
        for member in members:
            if member.status != PROVED:
                continue
            tiers, problem = self.tiers(member), prepare(member.call, member.contract)
            clauses = [*issuers.clauses(member, problem), *overlaps(member, problem)]
            if book.given:
                clauses += self.held(book, member, problem)
            for clause in clauses:
                started = time.perf_counter()
                outcome = tiers.decide(clause.obligation)
                self.add(members, member, clause, outcome, (time.perf_counter() - started) * 1e3)

    def tiers(self, member: Member) -> Tiers:
        """How obligations about a call are decided."""
        return Tiers(INDEX_DTYPES[member.call.index_dtype], rlimit=self.rlimit, audit=self.audit)

    def held(self, book: ledger.Ledger, member: Member, problem: Problem) -> Iterator[Asked]:
        """What is asked of the columns that a call accesses, in each state of the ledger, in the other CTA of a pair as well."""
        if not sides_in(member, problem):
            return
        source, name = member.shared.source, "columns.footprint"
        statement = f"every column of {book.pool.name} that is accessed is allocated before and not freed"
        missing = book.undecided or book.contradicted(member, problem)
        if missing:
            self.note(ClauseResult(name, UNPROVED, "", 0.0, statement, source, reason=f"{named(member)}: {missing}"))
            return
        for held, when in book.held_at(member).items():
            for peer in (False, True) if member.contract.pair else (False,):
                where = under(book.known, member, problem, when, peer=peer)
                if not peer or not terms.variables(when) <= {v.name for v in book.known.variables if v.name.endswith("@grid")}:
                    yield from held_cells(member, problem, held, where, book.values)

    def booked(self, book: ledger.Ledger, name: str, statement: str, members: Sequence[Member]) -> None:
        """A clause about the ledger: what is wrong in a state counts where some values of the symbols lead there."""
        source, started = members[0].shared.source, time.perf_counter()
        if book.undecided:
            self.note(ClauseResult(name, UNPROVED, "", 0.0, statement, source, reason=book.undecided))
            return
        wrong, unsure = list[tuple[ledger.Wrong, Outcome]](), ""
        for one in book.findings(name):
            outcome = book.witness(one.when)
            if outcome.holds is False and not book.open(one.when):
                wrong.append((one, outcome))
            elif outcome.holds is not True:
                unsure = f"{one.finding.sentence}, where that may be: {outcome.reason}" if outcome.holds is None else book.unsure(one)
        method, ms = "; ".join(book.methods) or "structure", (time.perf_counter() - started) * 1e3
        if wrong:
            first, where = wrong[0]
            reason = "; ".join(one.finding.sentence for one, _ in wrong if one.total in {0, first.total})
            example = first.finding.example() if first.when is True else self.replayed(book, first, where, members)
            self.note(ClauseResult(name, REFUTED, method, ms, statement, source, reason, example))
        elif unsure:
            self.note(ClauseResult(name, UNPROVED, "", ms, statement, source, reason=unsure))
        else:
            self.note(ClauseResult(name, PROVED, method, ms, statement, source))

    def replayed(self, book: ledger.Ledger, wrong: ledger.Wrong, outcome: Outcome, members: Sequence[Member]) -> Counterexample:
        """The counterexample of what is wrong in a state, after the evaluator has looked at it on its own."""
        from tilecheck.evaluate.kernel import fails

        values = {**book.base, **(outcome.witness or {})}
        cta = values.pop(CTA)
        if not fails(_documents(members), wrong.clause, values, cta):
            raise DisagreementError(
                f"internal error, please report: the prover refutes {wrong.clause} at {values} in CTA {cta}, the evaluator sees nothing wrong there"
            )
        used = [v.name for v in book.known.variables if v.name in terms.variables(wrong.when) and v.name != CTA]
        symbols = tuple((shown(name), values[name]) for name in used)
        at = " and ".join(f"{name} is {value}" for name, value in symbols)
        told = f"{wrong.finding.sentence}, in CTA {cta}" + (f" where {at}" if at else "")
        return Counterexample(symbols, cta, None, None, (), (), (), wrong.finding.expected, wrong.finding.actual, told)

    def static(self, name: str, statement: str, source: str, wrong: list[Finding]) -> None:
        """A clause that no symbol matters to."""
        if not wrong:
            self.note(ClauseResult(name, PROVED, "structure", 0.0, statement, source))
            return
        reason = "; ".join(one.sentence for one in wrong)
        self.note(ClauseResult(name, REFUTED, "structure", 0.0, statement, source, reason, wrong[0].example()))

    def add(self, members: Sequence[Member], member: Member, clause: Asked, outcome: Outcome, ms: float) -> None:
        """A clause that was decided by a formula about one call."""
        source = clause.source
        if outcome.holds is None:
            reason = f"{named(member)}: {outcome.reason}"
            self.note(ClauseResult(clause.id, UNPROVED, "", ms, clause.statement, source, reason=reason))
        elif outcome.holds:
            self.note(ClauseResult(clause.id, PROVED, outcome.method, ms, clause.statement, source))
        elif clause.open:
            self.note(ClauseResult(clause.id, UNPROVED, "", ms, clause.statement, source, reason=f"{named(member)}: {clause.open}"))
        elif clause.id in self.results and self.results[clause.id].status == REFUTED:
            self.note(ClauseResult(clause.id, REFUTED, outcome.method, ms, clause.statement, source))
        else:
            example = _example(members, member, clause, outcome)
            self.note(ClauseResult(clause.id, REFUTED, outcome.method, ms, clause.statement, source, counterexample=example))

    def note(self, result: ClauseResult) -> None:
        """Several results of one clause are one: the first refuted one, else the first that is open, else proved."""
        known = self.results.get(result.id)
        order = (REFUTED, UNPROVED, PROVED)
        if known is None:
            self.results[result.id] = result
        elif order.index(result.status) < order.index(known.status):
            self.results[result.id] = result._replace(ms=known.ms + result.ms)
        elif known.status == PROVED:
            methods = dict.fromkeys(m for one in (known, result) for m in one.method.split("; ") if m != "structure")
            self.results[result.id] = known._replace(ms=known.ms + result.ms, method="; ".join(methods) or "structure")
        else:
            self.results[result.id] = known._replace(ms=known.ms + result.ms)

    def verdict(self) -> Verdict:
        """What they come to."""
        states = {one.status for one in self.results.values()}
        status = REFUTED if REFUTED in states else UNPROVED if UNPROVED in states else PROVED
        reason = None if self.results else "its calls share nothing that a contract speaks of"
        return Verdict(
            self.whole.id,
            OPCODE,
            status,
            lowest(self.parts) if self.parts else None,
            None,
            tuple(self.results.values()),
            hazards=tuple(self.hazards),
            conditions=tuple(self.conditions) if status == PROVED else (),
            reason=reason,
        )


def _example(members: Sequence[Member], member: Member, clause: Asked, outcome: Outcome) -> Counterexample:
    """The counterexample at a witness, after the evaluator has looked at it on its own."""
    from tilecheck.evaluate.kernel import observe

    witness = dict(outcome.witness or {})
    declared = {s.name for s in member.call.symbols}
    symbols = {v.name: witness[v.name] for v in clause.symbols if v.name in witness and v.name in declared}
    beside = {shown(v.name): witness[v.name] for v in clause.symbols if v.name in witness and v.name not in declared}
    if ELECTED in witness:
        symbols["elected"] = witness[ELECTED]
    point = clause.place(witness)
    seen = observe(_documents(members), member.index, clause.question, symbols, point)
    if seen is None:
        raise DisagreementError(
            f"internal error, please report: the prover refutes {clause.id} of {named(member)} at {symbols}, {point}, "
            "the evaluator sees nothing wrong there"
        )
    expected, actual, sentence = seen
    return Counterexample(
        tuple({**beside, **symbols}.items()),
        *point.thread,
        point.group,
        point.repeat,
        point.atom,
        expected,
        actual,
        f"{named(member)}: {sentence}",
    )


def _documents(members: Sequence[Member]) -> list[tuple[int, Mapping[str, object], Mapping[str, object], bool]]:
    return [(m.index, m.data, m.call.to_json(), m.status == PROVED) for m in members]


def _compare(members: Sequence[Member], checker: _Checker) -> None:
    """The evaluator's brute force says the same of what the calls share, as far as it can look at everything."""
    from tilecheck.evaluate.kernel import TooLargeError, failures
    from tilecheck.evaluate.together import apart

    try:
        theirs = failures(_documents(members), EVALUATED) if members else set[str]()
    except TooLargeError:
        return
    if len(checker.parts) > 1:
        theirs |= apart([(data(p.contract.table or p.contract), p.call.to_json(), p.raised) for p in checker.parts])
    mine = {one.id for one in checker.results.values() if one.status == REFUTED} | {hazard.id for hazard in checker.hazards}
    if UNPROVED not in {one.status for one in checker.results.values()} and mine != theirs:
        raise DisagreementError(
            f"internal error, please report: the prover refutes {sorted(mine)} of the kernel, the evaluator {sorted(theirs)}"
        )
