"""What mutants of contracts and of the prover are made with, and how a case notices one.

A case is red when its status changes, when no failing clause agrees with the named one, when its hazards change, or when the replay of a
counterexample raises DisagreementError. Modules of mutants use the fixture `fresh`: nothing that was remembered of calls outlives a mutant.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from known_cases import failing, names
from own_cases import Own

from tilecheck import scopes
from tilecheck.call import Call
from tilecheck.document import read_call
from tilecheck.errors import DisagreementError
from tilecheck.prove import addresses, express, operands, owners, problem, structure
from tilecheck.prove import check as checking
from tilecheck.prove.check import check
from tilecheck.prove.clause import NOTHING, Clause
from tilecheck.prove.obligation import Obligation
from tilecheck.prove.verdict import Verdict
from tilecheck.spec import BadSpelling, Contract, Grammar, Memory, find_contract, find_entry, mnemonic_of
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term

Patch = pytest.MonkeyPatch
Mutant = Callable[[Patch], None]


class Mutants(dict[str, tuple[str, Mutant]]):
    """Mutants by sentence, each with the case that notices it; a decorator."""

    def __call__(self, sentence: str, case: str) -> Callable[[Mutant], Mutant]:
        """Notes a mutant."""

        def note(function: Mutant) -> Mutant:
            assert sentence not in self
            self[sentence] = (case, function)
            return function

        return note


def forget() -> None:
    """What is remembered of calls is forgotten, so that a mutant meets every call anew."""
    express.forget()
    for cached in (
        scopes.execution_of,
        scopes.group_axes_of,
        problem.context_of,
        problem.span_bytes,
        problem.own_residues,
        structure.executing,
    ):
        cached.cache_clear()


def judged(call: Call) -> Verdict | None:
    """The verdict, None where the replay of a counterexample notices the mutant."""
    try:
        return check(call)
    except DisagreementError:
        return None


def red(own: Own) -> bool:
    """Whether a case comes out otherwise than it says."""
    verdict = judged(read_call(own.document))
    if verdict is None or verdict.status != own.expect or (own.clause is not None and not names(own.clause, failing(verdict))):
        return True
    return verdict.status == "proved" and {hazard.id for hazard in verdict.hazards} != set((own.hazard or "").split())


def noticed(mutants: Mutants, sentence: str, cases: dict[str, Own], patch: Patch) -> bool:
    """Whether the case of a mutant, which is not red without it, is red with it."""
    case, change = mutants[sentence]
    assert not red(cases[case]), f"{case!r} is red without a mutant"
    forget()
    change(patch)
    return red(cases[case])


def change_contracts(patch: Patch, change: Callable[[Contract], Contract]) -> None:
    """Every contract is read through `change`."""
    known: dict[tuple[str, str], object] = {}

    def find(opcode: str, reading: str = "") -> object:
        if (opcode, reading) not in known:
            found = find_contract(opcode, reading)
            known[opcode, reading] = change(found) if isinstance(found, Contract) else found
        return known[opcode, reading]

    patch.setattr(checking, "find_contract", find)


def change_memory(patch: Patch, change: Callable[[Memory], Memory]) -> None:
    change_contracts(
        patch,
        lambda contract: dataclasses.replace(
            contract, operands=tuple(change(o) if isinstance(o, Memory) else o for o in contract.operands)
        ),
    )


def change_alignment(patch: Patch, change: Callable[[Memory], int]) -> None:
    change_memory(patch, lambda memory: dataclasses.replace(memory, align_bytes=change(memory)))


def change_grammars(patch: Patch, change: Callable[[Grammar], Grammar], spelling: Callable[[str], str] = lambda opcode: opcode) -> None:
    """Every opcode is read by a changed grammar."""
    known: dict[tuple[str, str], object] = {}

    def find(opcode: str, reading: str = "") -> object:
        if (opcode, reading) not in known:
            entry = find_entry(mnemonic_of(opcode))
            if entry is None:
                return None
            qualifiers = change(entry.grammar).read(spelling(opcode))
            known[opcode, reading] = (
                qualifiers
                if isinstance(qualifiers, BadSpelling)
                else dataclasses.replace(entry.form(qualifiers, reading), arch=change(entry.grammar).arch_floor(qualifiers))
            )
        return known[opcode, reading]

    patch.setattr(checking, "find_contract", find)


def change_slot(patch: Patch, name: str, **changes: Any) -> None:
    change_grammars(
        patch,
        lambda grammar: dataclasses.replace(
            grammar, slots=tuple(dataclasses.replace(s, **changes) if s.name == name else s for s in grammar.slots)
        ),
    )


def add_value(patch: Patch, name: str, value: str) -> None:
    change_grammars(
        patch,
        lambda grammar: dataclasses.replace(
            grammar, slots=tuple(dataclasses.replace(s, values=(*s.values, value)) if s.name == name else s for s in grammar.slots)
        ),
    )


def change_obligations(patch: Patch, builder: str, ending: str, change: Callable[[Obligation], Obligation]) -> None:
    """The obligations of the clauses `ending` that `builder` makes are changed."""
    module = next(m for m in (addresses, operands, owners) if hasattr(m, builder))
    original = getattr(module, builder)

    def built(*args: Any, **kwargs: Any) -> Iterator[Clause]:
        for clause in original(*args, **kwargs):
            yield clause.asking(change(clause.obligation)) if clause.id.endswith(ending) else clause

    patch.setattr(module, builder, built)


def silence(patch: Patch, builder: str, ending: str) -> None:
    """No clause `ending` is built."""
    change_obligations(patch, builder, ending, lambda obligation: dataclasses.replace(obligation, goal=True))


def only_at(patch: Patch, builder: str, ending: str, chosen: Callable[[str], bool]) -> None:
    """The goal is looked at where the chosen variables are 0."""

    def first(obligation: Obligation) -> Obligation:
        values = {v.name: 0 for v in obligation.variables if chosen(v.name)}
        return dataclasses.replace(obligation, goal=terms.substitute(obligation.goal, values))

    change_obligations(patch, builder, ending, first)


def change_bounds(patch: Patch, goal: Callable[[Term, Term, Term], Term]) -> None:
    """The goal of each slice, of (begin, end, limit)."""

    def built(own: problem.Problem, side: problem.Side, repeats: tuple[int, ...]) -> Iterator[Clause]:
        name = f"{side.spec.name}.bounds"
        yield Clause(name, "", NOTHING)
        variables = (*own.symbols, *own.thread_variables())
        for check_ in side.trace.slices:
            begin = terms.normal(check_.begin)
            term = goal(begin, terms.add(begin, check_.extent), terms.normal(check_.limit))
            yield Clause(name, "", Obligation(variables, own.accessing, term), point="row")

    patch.setattr(addresses, "bounds", built)


def change_calls(change: Callable[[Call], Call]) -> Callable[[Patch], None]:
    """The prover reads a changed call (the evaluator, which replays, too)."""

    def apply(patch: Patch) -> None:
        original = checking.prepare
        patch.setattr(checking, "prepare", lambda call, contract: original(change(call), contract))

    return apply
