"""Mutants of the rules of asynchronous copies, of contracts and of the prover: each turns the case of our own beside it red."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from async_cases import CASES
from mutation import Mutants, Patch, change_contracts, change_grammars, change_memory, noticed

from tilecheck import fitting
from tilecheck.prove import check as checking
from tilecheck.prove import parameters, race
from tilecheck.prove.clause import Clause
from tilecheck.prove.obligation import Obligation
from tilecheck.spec.contract import Contract, Parameter
from tilecheck.symbolic import terms

MUTANTS = Mutants()
mutant = MUTANTS
pytestmark = pytest.mark.usefixtures("fresh")


def change_parameters(patch: Patch, change: Callable[[Parameter], Parameter | None]) -> None:
    """Every contract has other parameters, None for left out."""

    def changed(contract: Contract) -> Contract:
        found = (change(p) for p in contract.parameters)
        return dataclasses.replace(contract, parameters=tuple(p for p in found if p is not None))

    change_contracts(patch, changed)


def of_kind(kind: str, **changes: Any) -> Callable[[Parameter], Parameter]:
    return lambda p: dataclasses.replace(p, **changes) if p.kind == kind else p


def change_goals(patch: Patch, ending: str, change: Callable[[Obligation], Obligation]) -> None:
    """The obligations of the clauses about parameters that end so are changed."""
    original = parameters.clauses

    def clauses(problem: Any) -> Any:
        for clause in original(problem):
            yield clause.asking(change(clause.obligation)) if clause.id.endswith(ending) else clause

    patch.setattr(parameters, "clauses", clauses)


def weakened(goal: Callable[[Obligation], Any]) -> Callable[[Obligation], Obligation]:
    return lambda obligation: dataclasses.replace(obligation, goal=terms.disj(obligation.goal, goal(obligation)))


def dropped(index: int) -> Callable[[Obligation], Obligation]:
    """A conjunct of the goal is gone."""

    def change(obligation: Obligation) -> Obligation:
        parts = list(terms.conjuncts(obligation.goal))
        del parts[index]
        return dataclasses.replace(obligation, goal=terms.conj(*parts))

    return change


# --- contracts ---------------------------------------------------------------------------------------------------------


@mutant(".cg takes what .ca takes", ".cg does not copy 8 bytes")
def _(patch):
    change_parameters(patch, lambda p: dataclasses.replace(p, choices=(4, 8, 16)) if p.choices else p)


@mutant("a chunk may have any multiple of four bytes", ".ca does not copy 12 bytes")
def _(patch):
    change_parameters(patch, lambda p: dataclasses.replace(p, choices=(), step=4) if p.choices else p)


@mutant("a bulk copy takes multiples of eight bytes", "no bulk copy of 24 bytes")
def _(patch):
    change_parameters(patch, lambda p: dataclasses.replace(p, step=8) if p.step == 16 else p)


@mutant("chunks are aligned to four bytes", "eight bytes need an alignment of eight")
def _(patch):
    change_memory(patch, lambda memory: memory if memory.align_bytes else dataclasses.replace(memory, align_bytes=4))


@mutant("chunks are aligned to sixteen bytes", "four bytes need an alignment of four")
def _(patch):
    change_memory(patch, lambda memory: memory if memory.align_bytes else dataclasses.replace(memory, align_bytes=16))


@mutant("bulk copies are aligned to eight bytes", "a bulk destination at 8 modulo 16")
def _(patch):
    change_memory(patch, lambda memory: dataclasses.replace(memory, align_bytes=8) if memory.align_bytes == 16 else memory)


@mutant("bulk copies are aligned to 128 bytes", "a bulk copy needs no more than 16")
def _(patch):
    change_memory(patch, lambda memory: dataclasses.replace(memory, align_bytes=128) if memory.align_bytes == 16 else memory)


@mutant("a source size and ignoring it go together", "the source is ignored and has a size")
def _(patch):
    change_parameters(patch, lambda p: dataclasses.replace(p, unless=None))


@mutant("the source size is at most sixteen whatever the chunk", "a source size beyond a smaller chunk")
def _(patch):
    change_parameters(patch, lambda p: dataclasses.replace(p, most=16) if p.most == "chunk_bytes" else p)


@mutant("the source size is less than the chunk", "all bytes of the chunk")
def _(patch):
    change_parameters(patch, lambda p: dataclasses.replace(p, most=15) if p.most == "chunk_bytes" else p)


@mutant("a barrier may be left out", "a barrier is required")
def _(patch):
    change_parameters(patch, of_kind("barrier", required=False))


@mutant("a policy may be left out", "a hint without a policy")
def _(patch):
    change_parameters(patch, of_kind("u64", required=False))


@mutant("a mask of bytes has 32 bits", "a mask of more than sixteen bytes")
def _(patch):
    change_parameters(patch, lambda p: dataclasses.replace(p, most=(1 << 32) - 1) if p.name == "byteMask" else p)


@mutant("a copy is meant for many threads", "32 lanes issue one copy")
def _(patch):
    # the race remains, so the hazard itself must go missing
    patch.setattr(race, "many", lambda *_: None)


@mutant("a reduction races", "two lanes add to one element")
def _(patch):
    change_contracts(patch, lambda contract: dataclasses.replace(contract, move=dataclasses.replace(contract.move, combine=None)))


@mutant("a reduction takes any type", "signed numbers are not unsigned")
def _(patch):
    change_memory(patch, lambda memory: dataclasses.replace(memory, dtypes=None))


@mutant("a multicast writes the own copy", "two multicasts to one CTA")
def _(patch):
    change_memory(patch, lambda memory: dataclasses.replace(memory, cta=None))


@mutant("a copy to another CTA writes the own copy", "the same offset of a CTA that does not read")
def _(patch):
    change_memory(patch, lambda memory: dataclasses.replace(memory, cta=None))


def without_rule(at: str) -> Callable[[Patch], None]:
    def change(patch: Patch) -> None:
        change_grammars(
            patch, lambda grammar: dataclasses.replace(grammar, exclusions=tuple(rule for rule in grammar.exclusions if rule.at != at))
        )

    return change


mutant("halves are added without .noftz", "halves are added with .noftz")(without_rule("noftz"))
mutant("every operator has every type", "no sum of floats in shared memory")(without_rule("type"))


@mutant("bytes are masked on every architecture", "sm_90 masks no bytes")
def _(patch):
    change_grammars(patch, lambda grammar: dataclasses.replace(grammar, floors=grammar.floors[:1]))


# --- the prover --------------------------------------------------------------------------------------------------------


@mutant("half an element makes a chunk", "half an element is no chunk")
def _(patch):
    original = fitting.chunk_fault
    patch.setattr(parameters, "chunk_fault", lambda contract, call: None if (original(contract, call) or [""])[0].startswith("a whole") else original(contract, call))  # fmt: skip


@mutant("both sides may have elements of any width", "elements of both sides have one width")
def _(patch):
    patch.setattr(Contract, "fitted", _any_width)


def _any_width(contract: Contract, bits: int, size: int) -> Contract:
    found = ORIGINAL(contract, bits, size)
    first, *rest = found.operands
    return dataclasses.replace(found, operands=(first, *(dataclasses.replace(o, bits=16) for o in rest)))


ORIGINAL = Contract.fitted


@mutant("a source size may be negative", "a negative source size")
def _(patch):
    change_goals(patch, ".bounds", dropped(0))


@mutant("a source size may be large", "a source size too large in one lane")
def _(patch):
    change_goals(patch, ".bounds", dropped(-1))


@mutant("source sizes count under a false predicate", "a source size too large under a false predicate")
def _(patch):
    change_goals(patch, ".bounds", lambda obligation: dataclasses.replace(obligation, premise=True))


@mutant("source sizes may wrap", "a source size that wraps on the way")
def _(patch):
    change_goals(patch, ".index.range", lambda obligation: dataclasses.replace(obligation, goal=True))


@mutant("a CTA may copy to itself", "every CTA names itself")
def _(patch):
    change_goals(patch, ".cluster", dropped(-1))


@mutant("a rank may be beyond the cluster", "a rank that is beyond the cluster in its last CTA")
def _(patch):
    change_goals(patch, ".cluster", dropped(1))


@mutant("a mask may be empty", "a mask that a symbol may empty")
def _(patch):
    change_goals(patch, ".cluster", dropped(0))


@mutant("a mask may name any CTA", "a mask with a CTA too many")
def _(patch):
    change_goals(patch, ".cluster", weakened(lambda _: True))


@mutant("barriers may be anywhere", "a barrier in global memory")
def _(patch):
    patch.setattr(parameters, "barrier", lambda *_: None)


def change_totals(patch: Patch, change: Callable[..., Any]) -> None:
    original = parameters._totals
    patch.setattr(parameters, "_totals", lambda problem, target, each: change(original, problem, target, each))


@mutant("a barrier counts one chunk whatever the repeats", "two chunks are expected of two repeats")
def _(patch):
    change_totals(patch, lambda original, problem, target, _: original(problem, target, 64))


@mutant("a barrier counts one thread", "four lanes, four chunks")
def _(patch):
    change_totals(patch, lambda original, problem, target, each: [each for _ in original(problem, target, each)])


@mutant("the bytes of all CTAs add up", "each CTA of a multicast gets all bytes")
def _(patch):
    change_totals(patch, lambda original, problem, target, each: [terms.add(0, *original(problem, target, each))])


@mutant("only the first CTA's barrier is looked at", "one CTA gets more than another")
def _(patch):
    change_totals(patch, lambda original, problem, target, each: original(problem, target, each)[:1])


@mutant("a CTA that gets nothing must expect nothing", "a CTA that gets nothing expects nothing")
def _(patch):
    change_totals(patch, lambda original, problem, target, each: [terms.maximum(1, total) for total in original(problem, target, each)])


@mutant("nobody looks at memory that is read and written", "one half of one allocation")
def _(patch):
    patch.setattr(race, "_pairs", lambda _: [])


@mutant("copies of all CTAs are one", "the same offset of a CTA that does not read")
def _(patch):
    patch.setattr(race, "reaches", lambda *_: True)


@mutant("parameters are decided where nothing executes", "a source size too large in lanes that do not execute")
def _(patch):
    original = parameters.clauses

    def clauses(problem: Any) -> Any:
        for clause in original(problem):
            found: Clause = clause
            yield found.asking(dataclasses.replace(found.obligation, premise=problem.facts))

    patch.setattr(parameters, "clauses", clauses)


@pytest.mark.parametrize("sentence", list(MUTANTS))
def test_a_case_notices_that(sentence, monkeypatch):
    assert noticed(MUTANTS, sentence, CASES, monkeypatch), f"{MUTANTS[sentence][0]!r} does not notice"


def test_the_mutants_reach_what_they_change():
    assert {checking.parameters, race.reaches} == {parameters, parameters.reaches}
