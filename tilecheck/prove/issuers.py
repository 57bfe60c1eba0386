"""Who issues the instructions of a kernel: one thread (one warp, for a collective) of a CTA or of a pair of CTAs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tilecheck.prove.executed import other_cta
from tilecheck.prove.obligation import Obligation, Variable
from tilecheck.prove.problem import Problem
from tilecheck.prove.race import LEVELS, alone, of_warp
from tilecheck.prove.shared import Asked, Member, Place, Thread
from tilecheck.scopes import CTA, LANES
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term, var

ISSUE = "issue.participation"


def clauses(member: Member, problem: Problem) -> Iterator[Asked]:
    """That one instruction has one issuer."""
    issuer = member.shared.issuer
    if not issuer:
        return
    unit = "warp" if problem.collective else "thread"
    where = "pair of CTAs" if issuer == "pair" else "CTA"
    statement = f"one {unit} of a {where} issues an instruction" + (", in each CTA of a pair" if issuer == "each" else "")
    source, symbols = member.shared.source, problem.symbols

    def met(witness: Mapping[str, int]) -> Place:
        names = {s.name for s in problem.call.symbols}
        others = {n: witness.get(f"{n}@1", witness.get(n, 0)) for n in names if n in witness or f"{n}@1" in witness}
        return Place(_thread(witness), other=(_thread(witness, "@1"), (), ()), others=others)

    yield Asked(
        ISSUE, statement, source, alone(problem, (CTA, "warpid", "laneid"), pair=issuer == "pair"), symbols, ("issuer", issuer), met
    )
    if issuer == "each":
        yield Asked(ISSUE, statement, source, accompanied(problem), symbols, ("peer",), lambda w: _met_alone(problem, w))


def accompanied(problem: Problem) -> Obligation:
    """Where a warp executes the call, one of the other CTA of its pair does, whatever the symbols are there that vary by CTA or inside it.

    `w@1` is what w is in the other CTA, `w@1.2` in warp 2 of it.
    """
    here = of_warp(problem.accessing)
    facts: list[Term] = []
    parts: list[Term] = []
    copies: dict[str, Variable] = {}
    for warp in range(problem.call.launch.warps):
        names = {s.name: f"{s.name}@1" if s.varies == "cta" else f"{s.name}@1.{warp}" for s in problem.call.symbols if s.varies in LEVELS}
        there: dict[str, Term] = {name: var(own) for name, own in names.items()}
        parts.append(terms.substitute(here, {**there, CTA: other_cta(), "warpid": warp}))
        facts.append(terms.substitute(problem.facts, there))
        copies |= {names[v.name]: replace(v, name=names[v.name], role="atom") for v in problem.symbols if v.name in names}
    variables = (*problem.symbols, *problem.thread_variables(lane=False), *copies.values())
    return Obligation(variables, terms.conj(here, *facts), terms.disj(*parts))


def _met_alone(problem: Problem, witness: Mapping[str, int]) -> Place:
    """A warp, and what the symbols are in the other CTA of its pair."""
    own = {s.name: f"{s.name}@1" for s in problem.call.symbols}
    found = {name: witness[copy] for name, copy in own.items() if copy in witness}
    inner = (
        (f"{name}@{copy.partition('@1.')[2]}", value) for copy, value in witness.items() for name in own if copy.startswith(f"{name}@1.")
    )
    return Place(_thread(witness), others={**found, **dict(inner)})


def _thread(witness: Mapping[str, int], suffix: str = "") -> Thread:
    cta, warp, lane = (witness.get(f"{name}{suffix}", 0) for name in (CTA, "warpid", "laneid"))
    return cta, warp + lane // LANES, lane % LANES
