"""check: a call to its verdict, clause by clause."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tilecheck.call import INDEX_DTYPES, Call
from tilecheck.errors import DisagreementError, InputError
from tilecheck.fitting import chosen
from tilecheck.prove import addresses, boxes, descriptors, level, operands, owners, parameters, scalars, tmem_cells
from tilecheck.prove.clause import Clause, Finding
from tilecheck.prove.express import express, learn
from tilecheck.prove.obligation import Outcome
from tilecheck.prove.problem import Problem, base_residues, prepare
from tilecheck.prove.race import hazards
from tilecheck.prove.replay import counterexample, model_of
from tilecheck.prove.tiers import RLIMIT, Tiers
from tilecheck.prove.verdict import ERROR, PROVED, REFUTED, UNPROVED, VACUOUS, ClauseResult, Counterexample, Verdict
from tilecheck.sizing import shape_of
from tilecheck.spec import READINGS, BadSpelling, Contract, Memory, TensorMemory, arch_rank, contract_hash, find_contract, mnemonic_of
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term

ACCESSING = (".index.range", ".bounds", ".cluster", ".contiguous", ".aligned", ".descriptor", ".image", ".partition", ".footprint")
"""The clauses that are owed where pred holds."""
NOTICED = 0.01
"""Milliseconds that are worth adding up."""
EVALUATED = 500_000
"""Points that the evaluator looks at in an audit of one call."""


def check(call: Call, *, audit: bool = False, rlimit: int = RLIMIT, reading: str = "") -> Verdict:
    """The verdict on a call: every clause of its contract, each failing one with its least counterexample.

    reading: "isa", "cutlass" or "tirx": where documents disagree, what this one says; "" is what is legal by all of them, or as the decisions say.
    audit: every clause is proved again by SMT, and the call by the evaluator's brute force where it can enumerate; DisagreementError where they differ.
    rlimit: z3's resource limit for one query.
    """
    if call.opcode == "agree":  # no instruction: a question about two views
        from tilecheck.prove.agreement import check_agreement

        return check_agreement(call, audit=audit, rlimit=rlimit)
    if reading and reading not in READINGS:
        raise InputError(f"found the reading {reading!r}, expected one of {', '.join(READINGS)}")
    contract = find_contract(call.opcode, reading)
    if contract is None:
        mnemonic = mnemonic_of(call.opcode)
        return Verdict(call.id, call.opcode, ERROR, None, None, (), reason=f"no contract knows the mnemonic {mnemonic}")
    if isinstance(contract, BadSpelling):
        return Verdict(call.id, call.opcode, REFUTED, None, None, (_bad_spelling(contract),))
    contract = chosen(contract, call)
    _names_apart(call, contract)
    tiers = Tiers(INDEX_DTYPES[call.index_dtype], rlimit=rlimit, audit=audit)
    verdict = express(call, contract, tiers) if _spelled(call, contract) else None
    if verdict is not None:
        return verdict
    verdict = Checker(call, contract, tiers).verdict()
    learn(call, contract, verdict, tiers)
    missed = _compare(call, contract.table or contract, verdict) if audit else ""
    return replace(verdict, reason=missed) if missed and verdict.reason is None else verdict


def check_many(calls: Iterable[Call], *, audit: bool = False, rlimit: int = RLIMIT, reading: str = "") -> list[Verdict]:
    """The verdicts on many calls, in order. The cyclic garbage collector waits meanwhile: verdicts hold no cycles, and it would look at all of them again."""
    with _collector_waiting():
        return [check(call, audit=audit, rlimit=rlimit, reading=reading) for call in calls]


@contextmanager
def _collector_waiting() -> Generator[None]:
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _spelled(call: Call, contract: Contract) -> bool:
    """Whether the architecture has the form, and the state space is written."""
    return contract.space_written and _on_arch(call, contract)


def _on_arch(call: Call, contract: Contract) -> bool:
    return call.arch is None or contract.runs_on(call.arch)


def _names_apart(call: Call, contract: Contract) -> None:
    """InputError where a symbol is named like an atom axis of the contract: in formulas a name means one thing."""
    if not call.symbols:
        return
    taken = {axis.name for operand in contract.operands for axis in contract.atom_of(operand)}
    for symbol in call.symbols:
        if symbol.name in taken:
            raise InputError(
                f"the symbol {symbol.name} has the name of an atom axis of {contract.opcode}; give it another", path="$.symbols"
            )


def _compare(call: Call, contract: Contract, verdict: Verdict) -> str:
    """The evaluator's brute force says the same; clauses that only the prover decides (opcode, space.explicit) aside. What was not compared, in words."""
    answer = model_of(call, contract).check(EVALUATED)
    mine = {c.id for c in verdict.failing} - {"opcode", "space.explicit"}
    status = verdict.status if mine or verdict.status != REFUTED else PROVED
    if UNPROVED in {c.status for c in verdict.clauses}:
        return "not audited by brute force: a clause is unproved"
    if answer.status == "too-large":
        return f"not audited by brute force, which looks at {EVALUATED} points at most: SMT alone has audited the clauses"
    hazards = {h.id for h in verdict.hazards}
    if (
        status != answer.status
        or mine != set(answer.failures)
        or (status == PROVED and verdict.status == PROVED and hazards != set(answer.hazards))
    ):
        raise DisagreementError(
            f"internal error, please report: the prover says {verdict.status} by {sorted(mine)} with {sorted(hazards)}, the evaluator {answer.status} by "
            f"{sorted(answer.failures)} with {sorted(answer.hazards)}; call: {json.dumps(call.to_json())}"
        )
    return ""


def _bad_spelling(bad: BadSpelling) -> ClauseResult:
    nearest = f"; nearest legal: {', '.join(bad.nearest)}" if bad.nearest else ""
    return ClauseResult(
        "opcode",
        REFUTED,
        "grammar",
        0.0,
        f"the spelling is one of the ISA; at fault: {bad.qualifier}",
        bad.source,
        reason=f"{bad.qualifier}: {bad.why}{nearest}",
    )


@dataclass
class Checker:
    """Decides the clauses of a call in order, and gathers what comes of them."""

    call: Call
    contract: Contract
    tiers: Tiers

    def __post_init__(self) -> None:
        self.results: dict[str, ClauseResult] = {}
        self.never = ""
        self.undecided = ""
        self.arch_floor = self.contract.arch
        self.instructions: int | None = None
        self.found_hazards: tuple[object, ...] = ()
        self.conditions: list[str] = []
        self.asked: list[tuple[str, Term]] = []
        self.takes_proofs = not self.tiers.audit and self.tiers.proved("structure") is not None

    def verdict(self) -> Verdict:
        """The verdict on the call."""
        from tilecheck.prove.verdict import Hazard

        vacuous = self.run()
        status, reason = (VACUOUS, vacuous) if vacuous else (self.status(), None)
        found = tuple(h for h in self.found_hazards if isinstance(h, Hazard)) if status == PROVED or not vacuous else ()
        return Verdict(
            self.call.id,
            self.call.opcode,
            status,
            self.arch_floor,
            self.instructions,
            tuple(self.results.values()),
            hazards=found,
            conditions=tuple(self.conditions) if status == PROVED else (),
            asked=tuple(self.asked) if status == PROVED else (),
            contract_hash=contract_hash(self.contract),
            reason=reason,
        )

    def status(self) -> str:
        """What the clauses decided so far make of the call."""
        states = {result.status for result in self.results.values()}
        return REFUTED if REFUTED in states else UNPROVED if UNPROVED in states else PROVED

    def run(self) -> str | None:
        """Decides the clauses in order; the reason where the call is vacuous."""
        self.spelling()
        wrong = operands.operand_findings(self.call, self.contract)
        self.static("operands", "the operands and parameters are those of the instruction", wrong)
        if wrong:
            return None
        self.paired()
        problem = prepare(self.call, self.contract)
        empty = self.vacuity(problem)
        if empty is not None:
            return empty
        self.clauses(problem, addresses.divisors(problem))
        if self.contract.box is not None:
            boxes.decide(self, problem)
            return None
        sized = self.chunk(problem)
        good = self.storage(problem)
        descriptors.fields(self, problem)
        together = self.clauses(problem, operands.participation(problem, self.tiers))
        self.predicated(problem)
        self.clauses(problem, scalars.clauses(problem))
        named = self.clauses(problem, parameters.clauses(problem))
        if together and sized:
            self.accesses(problem, self.shape(problem, good), named=named)
        self.backing(problem, good)
        return None

    def spelling(self) -> None:
        """Whether the architecture has the form, and the state space is written."""
        arch, needs = self.call.arch, self.contract.needs
        too_low = not _on_arch(self.call, self.contract)
        self.static(
            "opcode",
            "the spelling is one of the ISA and the architecture has it",
            [Finding(f"{self.contract.opcode} needs {needs}, the call is for {arch}", expected=needs, actual=str(arch))] if too_low else [],
        )
        self.static(
            "space.explicit",
            "the state space is written: .global, .shared or .local",
            [] if self.contract.space_written else [Finding(f"{self.call.opcode} writes no explicit global, shared or local space")],
        )

    def paired(self) -> None:
        """Whether every CTA has a partner, where the instruction works on pairs of them."""
        launch, wanted = self.call.launch, "a cluster of an even number of CTAs"
        if self.contract.pair:
            found = "no cluster" if launch.cluster is None else f"a cluster of {launch.ctas} CTA{'' if launch.ctas == 1 else 's'}"
            sentence = f"{self.contract.opcode} works on pairs of CTAs, the launch has {found}"
            wrong = [Finding(sentence, wanted, found)] if launch.ctas % 2 else []
            self.static("cluster", f"every CTA has a partner: the launch has {wanted}", wrong)

    def vacuity(self, problem: Problem) -> str | None:
        """Why no thread or no symbol value satisfies the facts; None where one does."""
        for side in problem.sides:
            if not base_residues(problem, side, 1):
                return f"align and base of {side.name} contradict each other"
        if problem.alone and problem.context.inhabited:
            return None
        variables = (*problem.symbols, *problem.thread_variables())
        found = self.tiers.least(variables, terms.conjuncts(problem.active))
        if found is None:
            return "no symbol value satisfies the facts, or no thread executes the call"
        if isinstance(found, str):
            self.add(ClauseResult("facts", UNPROVED, "", 0.0, "some symbol value satisfies the facts", "", reason=found))
        return None

    def static(self, name: str, statement: str, findings: list[Finding]) -> None:
        """A clause that needs no symbols: refuted by the first finding."""
        if not findings:
            self.add(ClauseResult(name, PROVED, "structure", 0.0, statement, self.contract.source))
            return
        example = findings[0].example()
        reason = "; ".join(f.sentence for f in findings)
        self.add(ClauseResult(name, REFUTED, "structure", 0.0, statement, self.contract.source, reason, example))

    def addressing(self, name: str, statement: str, findings: list[Finding]) -> None:
        """A static clause about addresses: owed where some thread executes with pred."""
        if self.never:
            self.add(ClauseResult(name, VACUOUS, "structure", 0.0, statement, self.contract.source, reason=self.never))
        elif findings and self.undecided:
            self.add(ClauseResult(name, UNPROVED, "", 0.0, statement, self.contract.source, reason=self.undecided))
        else:
            self.static(name, statement, findings)

    def add(self, result: ClauseResult) -> None:
        """Notes a result; several obligations of one clause are one result: refuted before unproved before vacuous before proved."""
        known = self.results.setdefault(result.id, result)
        if known is result:
            return
        if known.status == result.status == PROVED and (known.method == "structure" or result.method in {"structure", known.method}):
            method = result.method if known.method == "structure" else known.method
            if method != known.method or result.ms > NOTICED:
                self.results[result.id] = known._replace(ms=known.ms + result.ms, method=method)
            return
        order = (REFUTED, UNPROVED, VACUOUS, PROVED)
        first, second = sorted((known, result), key=lambda r: (order.index(r.status), _least_first(r)))
        methods = dict.fromkeys(m for m in (known.method, result.method) if m and (m != "structure" or first.status != PROVED))
        method = first.method if first.status != PROVED else "; ".join(methods) or "structure"
        self.results[result.id] = first._replace(ms=first.ms + second.ms, method=method)

    def storage(self, problem: Problem) -> set[str]:
        """Storage and type of each operand; the names of those that are right."""
        good: set[str] = set()
        for side in problem.sides:
            name = side.spec.name
            findings = operands.storage_findings(side)
            if findings:
                self.static(f"{name}.storage", operands.storage_statement(side), findings)
                if problem.contract.typed and side.spec.dtypes is not None:
                    self.static(f"{name}.type", operands.type_statement(side), operands.type_findings(side))
            elif self.clauses(problem, operands.retypes(problem, side)):
                good.add(name)
                wrong = operands.type_findings(side)
                if wrong or side.spec.dtypes is not None:
                    self.static(f"{name}.type", operands.type_statement(side), wrong)
        return good

    def shape(self, problem: Problem, good: set[str]) -> dict[str, tuple[int, ...]]:
        """The shape of each operand; the repeat extents of those whose storage and shape are right."""
        right: dict[str, tuple[int, ...]] = {}
        repeats = operands.repeat_extents(problem)
        for side in problem.sides:
            if side.form.refusal is not None:
                continue
            findings = operands.shape_findings(problem, side, repeats)
            if findings:
                self.static(f"{side.spec.name}.shape", operands.shape_statement(problem, side), findings)
            elif self.clauses(problem, operands.extents(problem, side)):
                right[side.spec.name] = operands.own_repeats(problem, side)
        if len(right) == len(problem.sides):
            self.instructions = repeats.count
        return {name: extents for name, extents in right.items() if name in good}

    def chunk(self, problem: Problem) -> bool:
        """The size of a chunk, where the instruction has one; whether it is right."""
        barrier = parameters.barrier(problem.call, problem.contract)
        if barrier is not None:
            self.static(*barrier)
        said = parameters.instruction(problem.call, problem.contract)
        if said is not None:
            self.static(*said)
        if problem.contract.sized is not None:
            if said is None or said[2]:
                return False
            self.needed(problem)
        asked = parameters.chunk(problem.call, problem.contract)
        if asked is not None:
            self.static(*asked)
        return asked is None or not asked[2]

    def needed(self, problem: Problem) -> None:
        """Notes the architecture that the shape of the instruction needs."""
        sized, shape = problem.contract.sized, shape_of(problem.call, problem.contract)
        size = None if sized is None or shape is None else sized.size(shape)
        if size is not None and size.arch and arch_rank(size.arch) > arch_rank(self.arch_floor):
            self.arch_floor = size.arch

    def predicated(self, problem: Problem) -> None:
        """Notes where pred is false wherever the call executes."""
        if problem.run.pred is not True:
            found = self.tiers.least((*problem.symbols, *problem.thread_variables()), terms.conjuncts(problem.accessing))
            self.never = "pred is false wherever the call executes" if found is None else ""
            self.undecided = found if isinstance(found, str) else ""

    def accesses(self, problem: Problem, right: dict[str, tuple[int, ...]], *, named: bool) -> None:
        """The clauses of every operand whose storage and shape are right. named: whether the parameters name what they may."""
        inside: set[str] = set()
        placed: set[str] = set()
        for side in problem.sides:
            repeats = right.get(side.spec.name)
            if repeats is None:
                continue
            self.clauses(problem, owners.ownership(problem, side, repeats, self.tiers))
            self.clauses(problem, addresses.indices_in_range(problem, side, repeats))
            if self.clauses(problem, addresses.bounds(problem, side, repeats)):
                inside.add(side.spec.name)
                if isinstance(side.spec, TensorMemory):
                    tmem_cells.accesses(self, problem, side, side.spec, repeats, inside, placed)
                    if side.spec.beside in inside:
                        self.clauses(problem, level.beside(problem, side, side.spec, repeats))
                elif isinstance(side.spec, Memory) and side.spec.described is not None:
                    descriptors.accesses(self, problem, side, side.spec, repeats)
                else:
                    self.clauses(problem, addresses.addresses(problem, side, repeats))
        if named and len(right) == len(problem.sides):
            self.clauses(problem, parameters.transaction(problem, operands.first_repeats(problem)))
        cells = [side.spec.name for side in problem.sides if isinstance(side.spec, TensorMemory)]
        known = not any(self.refuted(f"{name}.{short}") for name in cells for short in ("image", "distinct"))
        if named and len(inside) == len(problem.sides) and not self.never and known:
            self.found_hazards = hazards(problem, operands.first_repeats(problem), self.tiers)

    def refuted(self, clause: str) -> bool:
        """Whether a clause has been refuted."""
        return clause in self.results and self.results[clause].status == REFUTED

    def backing(self, problem: Problem, good: set[str]) -> None:
        """Whether the allocations of operands whose storage is right hold them."""
        for side in problem.sides:
            if side.spec.name not in good:
                continue
            self.clauses(problem, addresses.backing(problem, side))
            floor = addresses.arch_floor(problem, side)
            if floor is not None and arch_rank(floor) > arch_rank(self.arch_floor):
                self.arch_floor = floor

    def clauses(self, problem: Problem, clauses: Iterator[Clause]) -> bool:
        """Decides clauses one after the other (several of one id are one clause); whether none of them is refuted or open."""
        right = True
        for clause in clauses:
            tier = "structure" if clause.idle else clause.proof
            if tier is not None and self.takes_proofs and not self.never:
                result = ClauseResult(clause.id, PROVED, tier, 0.0, clause.statement, clause.source or self.contract.source)
                self.add(result)
                continue
            started = time.perf_counter()
            outcome = clause.outcome if clause.outcome is not None else self.tiers.settle(clause)
            result = self.result(problem, clause, outcome, (time.perf_counter() - started) * 1e3)
            self.add(result)
            right = right and result.status in {PROVED, VACUOUS}
        return right

    def result(self, problem: Problem, clause: Clause, outcome: Outcome, ms: float) -> ClauseResult:
        """What an outcome makes of a clause."""
        source = clause.source or self.contract.source
        if outcome.holds is None:
            return ClauseResult(clause.id, UNPROVED, "", ms, clause.statement, source, reason=outcome.reason)
        method = outcome.method
        if outcome.holds and self.never and clause.id.endswith(ACCESSING):
            return ClauseResult(clause.id, VACUOUS, method, ms, clause.statement, source, reason=self.never)
        if outcome.holds:
            return ClauseResult(clause.id, PROVED, method, ms, clause.statement, source)
        example = self.counterexample(problem, clause, outcome)
        return ClauseResult(clause.id, REFUTED, method, ms, clause.statement, source, counterexample=example)

    def counterexample(self, problem: Problem, clause: Clause, outcome: Outcome) -> Counterexample:
        """The counterexample of a refuted clause, replayed."""
        return counterexample(problem, clause, outcome)


def _least_first(result: ClauseResult) -> tuple[object, ...]:
    """The place of a counterexample in the order in which they are least."""
    found = result.counterexample
    if found is None:
        return ()
    values = [(abs(value), value < 0) for _, value in found.symbols]
    thread = [-1 if number is None else number for number in (found.cta, found.warp, found.lane)]
    return (values, thread, found.repeat, found.group, found.atom)


class _Noting(Checker):
    """As `Checker`, with every clause that it decides noted."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.noted: list[Clause] = []

    def clauses(self, problem: Problem, clauses: Iterator[Clause]) -> bool:
        """As `Checker.clauses`."""
        return super().clauses(problem, self._note(clauses))

    def _note(self, clauses: Iterator[Clause]) -> Iterator[Clause]:
        for clause in clauses:
            self.noted.append(clause)
            yield clause


def clauses_of(call: Call, contract: Contract, *, rlimit: int = RLIMIT) -> tuple[Clause, ...]:
    """The clauses of a call that `check` decides by a formula, in its order."""
    noting = _Noting(call, contract, Tiers(INDEX_DTYPES[call.index_dtype], rlimit=rlimit))
    noting.verdict()
    return tuple(noting.noted)
