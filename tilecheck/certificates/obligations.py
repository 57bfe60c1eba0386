"""The obligations behind a verdict, made again from the call: unfolded, each with the answer that is expected of a solver.

The clauses are those that the prover decides. Comparisons whose answer is plain, and what intervals alone show, are kept here, so that a
clause that was proved without a solver has its formula too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from tilecheck.call import INDEX_DTYPES, Call
from tilecheck.prove import active, addresses, operands, owners, race, scalars
from tilecheck.prove.check import clauses_of
from tilecheck.prove.clause import NOTHING, within
from tilecheck.prove.distinct import pair
from tilecheck.prove.enumeration import least
from tilecheck.prove.obligation import Obligation, Variable, relevant
from tilecheck.prove.problem import Problem, Side, base_residues, prepare
from tilecheck.prove.tiers import RLIMIT, Tiers
from tilecheck.prove.verdict import PROVED, REFUTED, UNPROVED, VACUOUS, ClauseResult, Verdict
from tilecheck.spec import BadSpelling, find_contract
from tilecheck.spec.contract import Memory, Register
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term

UNSAT, SAT, UNKNOWN = "unsat", "sat", "unknown"
Stated = tuple[str, str, Obligation]
"""(clause, what it asks, the formula)."""


@dataclass(frozen=True, slots=True)
class Stating:
    """One formula behind a clause.

    expected: what a solver must answer to "premise and not goal". premise: the parts of the obligation's premise that matter.
    witness: values that make it satisfiable, where they are known. method: the tier that decided the clause.
    """

    clause: str
    statement: str
    source: str
    method: str
    obligation: Obligation
    premise: tuple[Term, ...]
    expected: str
    witness: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Uncertified:
    """A clause without a formula, and why it has none."""

    clause: str
    status: str
    method: str
    reason: str


WHY = {
    "opcode": "the spelling is read by the grammar of the contract",
    "space.explicit": "the spelling is read by the grammar of the contract",
    "operands": "operands and parameters are counted and compared by name",
    "participation": "at thread scope any set of threads may execute",
    "storage": "space and element width are compared with the contract's",
    "type": "the element type is one of a list",
    "shape": "rank and extents are numbers, compared one by one",
    "owner": "no thread axis is written",
    "replica": "the layout has no replica",
    "index.range": "no expression is written: every index is a number",
    "backing": "there is no declared size to compare with",
    "base.period": "the residues that align and base allow are counted",
}
"""Why a clause has no formula, by the end of its id."""


def stated(call: Call, verdict: Verdict, rlimit: int = RLIMIT) -> tuple[list[Stating], list[Uncertified]]:
    """The formulas behind every clause of a verdict, and the clauses that have none."""
    contract = find_contract(call.opcode)
    results = {clause.id: clause for clause in verdict.clauses}
    found: list[Stating] = []
    if contract is not None and not isinstance(contract, BadSpelling) and "operands" in results and results["operands"].status == PROVED:
        problem = prepare(call, contract)
        tiers = Tiers(INDEX_DTYPES[call.index_dtype], rlimit=rlimit)
        found = _Stater(problem, verdict, tiers).all()
    covered = {one.clause for one in found}
    rest = [Uncertified(c.id, c.status, c.method, _why(c)) for c in verdict.clauses if c.id not in covered]
    if verdict.status == VACUOUS and not found:
        rest.append(Uncertified("facts", VACUOUS, "structure", verdict.reason or ""))
    return found, rest


def _why(result: ClauseResult) -> str:
    """Why a clause has no formula; for one that fails, what is wrong."""
    if result.status == PROVED:
        return next((why for end, why in WHY.items() if result.id.endswith(end)), "it has no formula yet")
    return result.reason or (result.counterexample.sentence if result.counterexample is not None else result.statement)


class _Stater:
    """Walks the clauses of one call in the order of the prover."""

    def __init__(self, problem: Problem, verdict: Verdict, tiers: Tiers) -> None:
        self.problem = problem
        self.verdict = verdict
        self.tiers = tiers
        self.results = {clause.id: clause for clause in verdict.clauses}
        self.rests: dict[tuple[tuple[Variable, ...], tuple[Term, ...]], bool] = {}

    def all(self) -> list[Stating]:
        """Every formula."""
        _ = (
            self.problem.facts,
            self.problem.active,
            self.problem.accessing,
            *((s.trace, s.defined) for s in self.problem.sides),
        )  # made before
        if not all(base_residues(self.problem, side, 1) for side in self.problem.sides):
            return []
        found = [self.facts()]
        if self.verdict.status == VACUOUS:
            return found
        if any(result.status == VACUOUS for result in self.results.values()):
            found.append(self.never())
        for clause, statement, obligation in self.formulas():
            if clause in self.results:
                found.append(self.one(clause, statement, obligation))
        return [*found, *self.hazards()]

    def formulas(self) -> Iterator[Stated]:
        """Every formula: unfolded where we know how, and what the prover asks beyond."""
        known: dict[tuple[str, Term], set[Term]] = {}
        if self.problem.contract.box is None:
            for clause, statement, obligation in self.clauses():
                known.setdefault((clause, terms.normal(obligation.premise)), set()).update(terms.conjuncts(terms.normal(obligation.goal)))
                yield clause, statement, obligation
        for asked in clauses_of(self.problem.call, self.problem.contract, rlimit=self.tiers.rlimit):
            obligation = asked.obligation
            premise, goal = terms.normal(obligation.premise), terms.normal(obligation.goal)
            if not known.get((asked.id, premise), set[Term]()).issuperset(terms.conjuncts(goal)):
                yield asked.id, asked.statement, obligation

    def facts(self) -> Stating:
        """That some symbol value satisfies the facts and some thread executes: satisfiable, or (vacuous) not."""
        problem = self.problem
        obligation = Obligation((*problem.symbols, *problem.thread_variables()), problem.active, False)
        statement = "some symbol value satisfies the facts, and some thread executes"
        witness = least(obligation.variables, terms.conjuncts(problem.active))
        expected = UNSAT if self.verdict.status == VACUOUS else UNKNOWN if "facts" in self.results else SAT
        known = witness if expected == SAT and isinstance(witness, Mapping) else None
        return Stating(
            "facts", statement, problem.contract.source, "", self.bounded(obligation), terms.conjuncts(problem.active), expected, known
        )

    def never(self) -> Stating:
        """That pred is false wherever the call executes, which makes the clauses about accesses vacuous."""
        problem = self.problem
        obligation = Obligation((*problem.symbols, *problem.thread_variables()), problem.accessing, False)
        parts = terms.conjuncts(problem.accessing)
        return Stating(
            "pred", "pred is false wherever the call executes", problem.contract.source, "", self.bounded(obligation), parts, UNSAT
        )

    def bounded(self, obligation: Obligation) -> Obligation:
        """The obligation with every variable in the range of the index type."""
        return replace(obligation, variables=self.tiers.bounded(obligation.variables))

    def clauses(self) -> Iterator[Stated]:
        """What every clause that was owed asks, unfolded."""
        problem = self.problem
        yield from _kept(addresses.divisors(problem))
        for side in problem.sides:
            if not operands.storage_findings(side):
                yield from _kept(operands.retypes(problem, side))
        yield from self.participation()
        yield from _kept(scalars.clauses(problem))
        repeats = operands.repeat_extents(problem)
        for side in problem.sides:
            if side.trace.refusal is None and not operands.shape_findings(problem, side, repeats):
                yield from _kept(operands.extents(problem, side))
        for side in problem.sides:
            if f"{side.spec.name}.owner" in self.results:
                yield from self.accesses(side)
        for side in problem.sides:
            yield from _kept(addresses.backing(problem, side))

    def participation(self) -> Iterator[Stated]:
        """The active set as formulas, and uniform pred and starts."""
        problem = self.problem
        result = self.results.get("participation")
        if result is None:
            return
        for obligation in active.product_obligations(problem):
            yield "participation", result.statement, obligation
        if problem.collective and problem.call.scope != "thread":
            for term in active.uniform_terms(problem):
                yield "participation", f"{result.statement}: {term}", active.uniform_obligation(problem, term)

    def accesses(self, side: Side) -> Iterator[Stated]:
        """The clauses about the elements of one operand."""
        problem, name = self.problem, side.spec.name
        repeats = operands.own_repeats(problem, side)
        owning = owners.ownership(problem, side, repeats, self.tiers)
        yield from _kept(islice(owning, 2 if side.spec.write else 1))  # the third is decided on the way
        if isinstance(side.spec, Register) and side.spec.write:
            result = self.results[f"{name}.distinct"]
            yield result.id, result.statement, pair(problem, side, repeats, within(side))
        yield from _kept(addresses.indices_in_range(problem, side, repeats, whole=True))
        yield from _kept(addresses.bounds(problem, side, repeats, whole=True))
        if not (isinstance(side.spec, Memory) and side.spec.described is not None):
            yield from _kept(addresses.addresses(problem, side, repeats))

    def one(self, clause: str, statement: str, obligation: Obligation) -> Stating:
        """A formula with the answer that follows from the verdict on its clause."""
        result = self.results[clause]
        asked = self.bounded(obligation)
        parts = self.parts(obligation, whole=result.status == VACUOUS)
        expected, witness = UNSAT, None
        if result.status in {REFUTED, UNPROVED}:
            expected, witness = self.decided(obligation)
        return Stating(clause, statement, result.source, result.method, asked, parts, expected, witness)

    def decided(self, obligation: Obligation) -> tuple[str, Mapping[str, int] | None]:
        """One of the formulas of a clause that does not hold: this one may hold all the same."""
        outcome = self.tiers.decide(replace(obligation, premise=terms.normal(obligation.premise), goal=terms.normal(obligation.goal)))
        if outcome.holds is None:
            return UNKNOWN, None
        return (UNSAT, None) if outcome.holds else (SAT, outcome.witness)

    def parts(self, obligation: Obligation, *, whole: bool = False) -> tuple[Term, ...]:
        """The parts of the premise that share variables with the goal; all of them unless the rest can be satisfied."""
        used, beside = relevant(obligation.premise, obligation.goal)
        rest = tuple(map(terms.normal, beside))
        variables = tuple(v for v in obligation.variables if v.name in frozenset[str]().union(*map(terms.variables, rest)))
        every = tuple(part for part in terms.conjuncts(obligation.premise) if part is not True)
        if whole:
            return every
        if (variables, rest) not in self.rests:
            self.rests[variables, rest] = isinstance(least([_searched(v) for v in variables], rest), Mapping)
        return used if self.rests[variables, rest] else every

    def hazards(self) -> Iterator[Stating]:
        """That no two stores meet, where the clauses about addresses are proved."""
        problem = self.problem
        if not all(self.holds(f"{side.spec.name}.bounds") for side in problem.sides):
            return
        with terms.comparisons_kept():
            absences = list(race.absences(problem, operands.first_repeats(problem)))
        named = [hazard.id for hazard in self.verdict.hazards]
        for hazard, statement, obligation in absences:
            expected, witness = self.decided(obligation)
            if hazard in named and [one for one, _, _ in absences].count(hazard) == 1:
                expected = SAT
            asked, parts = self.bounded(obligation), self.parts(obligation)
            yield Stating(hazard, statement, problem.contract.source, "", asked, parts, expected, witness)

    def holds(self, clause: str) -> bool:
        """Whether a clause is proved."""
        result = self.results.get(clause)
        return result is not None and result.status == PROVED


def _searched(variable: Variable) -> Variable:
    """The variable as `least` takes it: only symbols may be without bounds, so the copy of one is a symbol, too."""
    return variable if variable.count is not None else replace(variable, role="symbol")


def _kept(clauses: Iterator[object]) -> Iterator[Stated]:
    """The formulas of clauses, with comparisons kept."""
    from tilecheck.prove.clause import Clause

    while True:
        with terms.comparisons_kept():
            clause = next(clauses, None)
            if not isinstance(clause, Clause):
                return
            obligation = clause.obligation
        if obligation is not NOTHING and obligation.goal is not True:
            yield clause.id, clause.statement, obligation
