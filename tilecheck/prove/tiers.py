"""The tiers, cheap and exact first: structure, polynomial, domain, bits, enumeration, SMT. Each answers exactly or abstains, and the outcome names the one that did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tilecheck.errors import DisagreementError
from tilecheck.prove import bits, combined, domain, enumeration, polynomial
from tilecheck.prove.obligation import Obligation, Outcome, Variable, relevant
from tilecheck.prove.periods import shortened
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term

if TYPE_CHECKING:
    from tilecheck.prove.clause import Clause

RLIMIT = 20_000_000
"""z3's own measure of work for one query, the same on every machine; about ten seconds."""


_PROVED = {tier: Outcome(holds=True, reason=tier) for tier in ("structure", "domain", "polynomial", "bits")}


@dataclass(frozen=True, slots=True)
class Tiers:
    """How obligations are decided.

    index_range: the values of a symbol without bounds. limit: points that may be enumerated. rlimit: z3's resource limit for one query.
    solver: whether SMT may be asked. audit: whether every answer of another tier is asked of SMT too.
    """

    index_range: tuple[int, int]
    limit: int = enumeration.MAX_POINTS
    rlimit: int = RLIMIT
    solver: bool = True
    audit: bool = False

    def bounded(self, variables: Sequence[Variable]) -> tuple[Variable, ...]:
        """The variables with the range of the index type where they have no bound."""
        low, high = self.index_range
        return tuple(
            v if v.values is not None else replace(v, low=low if v.low is None else v.low, high=high if v.high is None else v.high)
            for v in variables
        )

    def asked(self, obligation: Obligation) -> Obligation:
        """The obligation with an end to every symbol: its range or, where it matters modulo a period only, the values of one nearest to 0."""
        return self._short(replace(obligation, variables=self.bounded(obligation.variables)))

    def _short(self, obligation: Obligation) -> Obligation:
        symbols = shortened(obligation.variables, (obligation.premise,), (obligation.goal,), self.index_range)
        return replace(obligation, variables=symbols)

    def proved(self, tier: str) -> Outcome | None:
        """The outcome where the canonical form of a view has proved a clause; None where such proofs do not count."""
        return _PROVED[tier]

    def settle(self, clause: Clause) -> Outcome:
        """The outcome of a clause: by its proof where it has one (compared with the other tiers in an audit), else of its obligation."""
        outcome = self.proved(clause.proof) if clause.proof else None
        if outcome is None:
            return self.decide(clause.obligation)
        if self.audit:
            other = self.decide(clause.obligation)
            if other.holds is False:
                raise DisagreementError(
                    f"internal error, please report: the tier {clause.proof} proves {clause.id}, {other.reason} refutes it at {other.witness}"
                )
        return outcome

    def decide(self, obligation: Obligation) -> Outcome:
        """The outcome of an obligation; a witness gives every variable its least failing value."""
        if obligation.goal is True or obligation.premise is False:
            return _PROVED["structure"]
        for tier, proof in (("polynomial", polynomial.proves), ("domain", domain.proves), ("bits", bits.proves)):
            if proof(obligation):
                self.compared(_PROVED[tier], obligation)
                return _PROVED[tier]
        few = min(self.limit, enumeration.FEW_POINTS) if self.solver else self.limit
        obligation = self._short(obligation)
        outcome = enumeration.decide(obligation, few)
        if outcome.holds is not None:
            self.compared(outcome, obligation)
            points = f", {outcome.points} points" if outcome.points else ""
            return replace(outcome, reason=f"enumeration{points}" if points else "structure")
        proof, left = combined.decide(obligation, self.decide)
        if proof is not None:
            self.compared(proof, obligation)
            return proof
        asked = replace(obligation, variables=self.bounded(obligation.variables))
        if not self.solver:
            return enumeration.refuted_first(asked, self.limit) or outcome
        from tilecheck.prove import smt

        found = smt.decide(replace(asked, goal=left.goal), self.rlimit)
        if found.holds is None:
            outcome = enumeration.decide(obligation, self.limit)
            if outcome.holds is not None:
                return replace(outcome, reason=f"enumeration, {outcome.points} points")
            return enumeration.refuted_first(asked, self.limit) or replace(found, reason=f"{outcome.reason}; {found.reason}")
        return found if found.holds else self._completed(asked, found)

    def solved(self, obligation: Obligation, reason: str) -> Outcome:
        """The solver's answer alone, where enumeration abstained for `reason`; a witness has every variable of the obligation that matters."""
        if not self.solver:
            return Outcome(holds=None, reason=reason)
        from tilecheck.prove import smt

        found = smt.decide(self.asked(obligation), self.rlimit)
        return replace(found, reason=f"{reason}; {found.reason}") if found.holds is None else found

    def compared(self, outcome: Outcome, *obligations: Obligation) -> None:
        """In an audit: the solver says the same of all obligations together, where it has an answer; DisagreementError otherwise."""
        if not self.audit or outcome.holds is None:
            return
        from tilecheck.prove import smt

        found = [smt.decide(self.asked(o), self.rlimit) for o in obligations]
        answers = {one.holds for one in found}
        holds = False if False in answers else None if None in answers else True
        if holds is not None and holds != outcome.holds:
            asked = "; ".join(f"{o.premise} => {o.goal} (witness {one.witness})" for o, one in zip(obligations, found, strict=True))
            raise DisagreementError(
                f"internal error, please report: a tier says {outcome.holds} (witness {outcome.witness}), SMT {holds} of {asked}"
            )

    def _completed(self, obligation: Obligation, found: Outcome) -> Outcome:
        """The witness of a solver with the rest of the variables least: enumerated once the symbols have their values."""
        witness = dict(found.witness or {})
        fixed = {v.name: witness[v.name] for v in obligation.variables if v.role in {"symbol", "base"} and v.name in witness}
        others = tuple(v for v in obligation.variables if v.name not in fixed)
        parts, rest = relevant(obligation.premise, obligation.goal)
        smaller = Obligation(others, *(terms.substitute(t, fixed) for t in (terms.conj(*parts), obligation.goal)), lane=obligation.lane)
        refined = enumeration.decide(smaller, self.limit)
        if refined.holds is False and refined.witness is not None:
            witness = {**witness, **refined.witness, **fixed}
        linked = terms.variables(terms.conj(*parts)) | terms.variables(obligation.goal)
        completed = self.least([v for v in obligation.variables if v.name not in linked], rest)
        if completed is None:
            return Outcome(holds=True, reason=found.reason)
        if isinstance(completed, str):
            return Outcome(holds=None, reason=completed)
        return replace(found, witness={v.name: completed.get(v.name, witness.get(v.name, 0)) for v in obligation.variables})

    def least(self, variables: Sequence[Variable], parts: Sequence[Term]) -> Mapping[str, int] | str | None:
        """The least values that satisfy all parts, None where there are none, or why nobody knows."""
        variables = self.bounded(variables)
        found = enumeration.least(variables, tuple(parts))
        if not isinstance(found, str) or not self.solver:
            return found
        from tilecheck.prove import smt

        try:
            values, _ = smt.satisfy(self.bounded(variables), parts, self.rlimit)
        except smt.Unsupported as gap:
            return f"{found}; the solver does not decide it ({gap})"
        if values is None:
            return None
        rest = {v.name: next(v.ordered(), 0) for v in self.bounded(variables) if v.name not in values}
        return values | rest
