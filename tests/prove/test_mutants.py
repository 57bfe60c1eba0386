"""Mutants of alignment, spelling, participation and range clauses: each turns at least one case of tests/data red.

A case is red when its status changes, when no failing clause agrees with the named one, when brute force would disagree with the set of
failing clauses (a mutant of the prover, not of the contract), or when the replay of a counterexample raises DisagreementError.
Where the case files hold nothing that a mutant could turn (no case has an `arch`, a partial warp, a `pred` on an address), our own cases must.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from known_cases import call_of, cases, failing, names, verdict_of
from mutation import (
    Mutant,
    Mutants,
    Patch,
    add_value,
    change_alignment,
    change_bounds,
    change_calls,
    change_contracts,
    change_grammars,
    change_obligations,
    change_slot,
    forget,
    judged,
    noticed,
    only_at,
    silence,
)
from own_cases import CASES

from tilecheck import scopes
from tilecheck.call import Call
from tilecheck.layout import strided
from tilecheck.layout.trace import Trace
from tilecheck.prove import active, addresses, owners, problem, structure
from tilecheck.prove import check as checking
from tilecheck.prove.obligation import Obligation, Outcome
from tilecheck.spec import Contract, Exclusion, Floor, find_contract, find_entry, mnemonic_of
from tilecheck.symbolic import domain, terms
from tilecheck.symbolic.domain import constant

BY_FILES, BY_OWN_CASES = Mutants(), Mutants()


def mutant(sentence: str, *, by: str = "", own: str = "") -> Callable[[Mutant], Mutant]:
    """A mutant, and the case that notices it: one of the files, or one of our own."""
    assert sentence not in {*BY_FILES, *BY_OWN_CASES}
    return BY_OWN_CASES(sentence, own) if own else BY_FILES(sentence, by)


# --- alignment -------------------------------------------------------------------------------------------------------


@mutant("the alignment is half", by="ld-v8b32-align16")
def _(patch):
    change_alignment(patch, lambda memory: max(1, memory.align_bytes // 2))


@mutant("the alignment is twice", by="ld-doc-105-compact")
def _(patch):
    change_alignment(patch, lambda memory: memory.align_bytes * 2)


@mutant("the alignment is one byte more", by="ld-doc-105-compact")
def _(patch):
    change_alignment(patch, lambda memory: memory.align_bytes + 1)


@mutant("the alignment is that of one word", by="ld-base-align-4")
def _(patch):
    change_alignment(patch, lambda memory: memory.bits // 8)


@mutant("alignment is checked at the first repeat only", by="ld-shared-swz-word")
def _(patch):
    only_at(patch, "addresses", ".aligned", lambda name: name.startswith("@r"))


@mutant("alignment is checked in the first thread only", by="fuzz-ldst-2-55")
def _(patch):
    only_at(patch, "addresses", ".aligned", lambda name: name in {"@cta", "warpid", "laneid"})


@mutant("alignment is checked at the first row of a matrix only", by="fuzz-matrix-2-1")
def _(patch):
    only_at(patch, "addresses", ".aligned", lambda name: name in {"matrix", "row"})


@mutant("alignment is checked at the first value of every symbol only", by="ld-loop-misaligned")
def _(patch):
    def first(obligation: Obligation) -> Obligation:
        values = {v.name: 0 for v in obligation.variables if v.role == "symbol"}
        return dataclasses.replace(obligation, goal=terms.substitute(obligation.goal, values))

    change_obligations(patch, "addresses", ".aligned", first)


@mutant("the base is taken as a multiple of everything", by="ld-base-align-4")
def _(patch):
    patch.setattr(addresses, "base_residues", lambda *_: (0,))


@mutant("the base residue is ignored", by="fuzz-ldst-2-85")
def _(patch):
    original = problem.combine
    patch.setattr(problem, "combine", lambda rules: original([rule for rule in rules if rule[1] == 0]))


@mutant("the declared alignment is ignored where a residue is known", own="an alignment beside a residue of a larger modulus")
def _(patch):
    original = problem.combine
    patch.setattr(problem, "combine", lambda rules: original(rules[1:] if len(rules) > 1 else rules))


@mutant("residues are combined wrongly: the last one for the common modulus", own="an alignment beside a residue that alone is off")
def _(patch):
    original = problem.combine

    def combine(rules: list[tuple[int, int]]) -> tuple[int, int] | None:
        found = original(rules)
        return None if found is None else (found[0], rules[-1][1])

    patch.setattr(problem, "combine", combine)


@mutant("residues are combined wrongly: the larger modulus alone counts", own="an alignment beside a residue of a larger modulus")
def _(patch):
    patch.setattr(problem, "combine", max)


@mutant("alignment is checked before the swizzle", by="ld-shared-swz-word")
def _(patch):
    original = Trace.locate
    patch.setattr(Trace, "locate", lambda self, coords: dataclasses.replace(found := original(self, coords), bit=found.plain_bit))


@mutant("rows need not be consecutive", by="ld-word-stride-2")
def _(patch):
    silence(patch, "addresses", ".contiguous")


# --- proofs from the canonical form ---


def proves_always(patch: Patch, decider: str) -> None:
    patch.setattr(structure, decider, lambda *_: "structure")


for _decider, _case in (
    ("aligned", "fuzz-matrix-2-1"),
    ("contiguous", "ld-word-stride-2"),
    ("owner", "ld-dst-thread-axis"),
    ("distinct", "ld-dst-overlap"),
):
    mutant(f"the canonical form proves {_decider} of every view", by=_case)(lambda patch, own=_decider: proves_always(patch, own))


@mutant("the canonical form proves every index in range", by="ld-runtime-wrap32")
def _(patch):
    proves_always(patch, "index")
    proves_always(patch, "offsets")


@mutant("the canonical form proves that no accesses meet", own="all threads store to one word")
def _(patch):
    proves_always(patch, "apart")


@mutant("a canonical form leaves the start out", by="ld-word-reversed")
def _(patch):
    original = strided.Strided.__init__

    def made(self: strided.Strided, axes: Any, start: Any, *rest: Any) -> None:
        original(self, axes, constant(0), *rest)

    patch.setattr(strided.Strided, "__init__", made)


@mutant("a canonical form takes slices on trust", by="ld-loop-misaligned")
def _(patch):
    def sliced(self: Any, axes: Any, step: Any, before: Any) -> Any:
        return [
            factors if extent is None else self.cut(strided.coalesced(factors), 0, extent)
            for factors, extent in zip(axes, step.extent, strict=True)
        ]

    patch.setattr(strided._Builder, "sliced", sliced)


@mutant("the domain takes every remainder for zero", by="ld-word-reversed")
def _(patch):
    patch.setattr(domain.Known, "remainder", lambda *_: 0)
    patch.setattr(domain.Known, "divisible", lambda *_: True)


# --- spelling --------------------------------------------------------------------------------------------------------


@mutant("the type f16 is read", by="fuzz-ldst-2-26")
def _(patch):
    add_value(patch, "type", "f16")


@mutant("sync may be left out", by="fuzz-matrix-2-6")
def _(patch):
    change_slot(patch, "sync", required=False)


@mutant("an empty qualifier is skipped, and the shape with it", by="fuzz-matrix-2-36")
def _(patch):
    change_grammars(
        patch,
        lambda grammar: dataclasses.replace(
            grammar, slots=tuple(dataclasses.replace(s, required=s.required and s.name != "shape") for s in grammar.slots)
        ),
        lambda opcode: opcode.replace("..", "."),
    )


@mutant("a space need not be written", by="ld-generic-space")
def _(patch):
    change_contracts(patch, lambda contract: dataclasses.replace(contract, space_written=True))


@mutant("the vector v3 is read", own="a vector of three")
def _(patch):
    add_value(patch, "vec", "v3")


@mutant("the exclusion of wide vectors outside global memory is dropped", own="a 256-bit vector in shared memory")
def _(patch):
    def dropped(rules: tuple[Exclusion, ...]) -> tuple[Exclusion, ...]:
        return tuple(rule for rule in rules if "global memory only" not in rule.why or rule.at != "vec")

    change_grammars(patch, lambda grammar: dataclasses.replace(grammar, exclusions=dropped(grammar.exclusions)))


@mutant("qualifiers may come in any order", own="qualifiers in another order")
def _(patch):
    def sorted_by_slot(opcode: str) -> str:
        entry = find_entry(mnemonic_of(opcode))
        assert entry is not None
        place = {value: k for k, slot in enumerate(entry.grammar.slots) for value in slot.values}
        first, *rest = opcode.split(".")
        return ".".join([first, *sorted(rest, key=lambda token: place.get(token, 99))])

    change_grammars(patch, lambda grammar: grammar, sorted_by_slot)


@mutant("the floor of wide vectors is dropped", own="a 256-bit vector on sm_90")
def _(patch):
    def dropped(floors: tuple[Floor, ...]) -> tuple[Floor, ...]:
        return tuple(floor for floor in floors if floor.arch != "sm_100")

    change_grammars(patch, lambda grammar: dataclasses.replace(grammar, floors=dropped(grammar.floors)))


@mutant("the architecture is not compared with the floor", own="stmatrix before sm_90")
def _(patch):
    patch.setattr(Contract, "runs_on", lambda *_: True)


@mutant("an architecture must be above the floor", own="ldmatrix on sm_75")
def _(patch):
    original = Contract.runs_on
    patch.setattr(Contract, "runs_on", lambda self, arch: original(self, arch) and arch not in self.floors)


# --- participation ---------------------------------------------------------------------------------------------------


def quiet_participation(patch: Patch) -> None:
    patch.setattr(active, "participation", lambda *_: Outcome(holds=True))


@mutant("participation always holds", by="ldm-thread-scope")
def _(patch):
    quiet_participation(patch)
    patch.setattr(active, "uniform_terms", lambda *_: ())


@mutant("the active set need not be whole", by="ldm-thread-scope")
def _(patch):
    quiet_participation(patch)


@mutant("the guard is ignored", by="ld-cta-guard")
def _(patch):
    change_calls(lambda call: dataclasses.replace(call, guard=True))(patch)


@mutant("assumptions are ignored", by="ld-sym-tensor-n4")
def _(patch):
    change_calls(lambda call: dataclasses.replace(call, assume=()))(patch)


@mutant("a collective needs no whole warp", by="ldm-divergent-lane-even")
def _(patch):
    original = active.participation

    def lenient(own: problem.Problem, *rest: Any) -> Outcome:
        contract = dataclasses.replace(own.contract, collective="thread")
        return original(dataclasses.replace(own, contract=contract), *rest)

    patch.setattr(active, "participation", lenient)


@mutant("a collective may stand at thread scope", by="ldm-thread-scope")
def _(patch):
    original = active.participation
    patch.setattr(active, "participation", lambda own, *rest: Outcome(holds=True) if own.call.scope == "thread" else original(own, *rest))


@mutant("group extents count every warp and lane", by="ld-cta-guard")
def _(patch):
    patch.setattr(scopes, "_static_members", lambda _run, _name, values, _move: [True] * values)


@mutant("group coordinates are not counted from the first active one", by="ld-cta-guard")
def _(patch):
    original = scopes._axis

    def axis(call: Call, run: scopes.Execution, kind: str) -> scopes.GroupAxis:
        found = original(call, run, kind)
        own = {"warp": terms.var("warpid"), "lane": terms.var("laneid")}.get(kind, found.coordinate)
        return dataclasses.replace(found, coordinate=own if found.extent != 1 else found.coordinate)

    patch.setattr(scopes, "_axis", axis)


@mutant("starts of collectives need not be uniform", own="a start of ldmatrix depends on the lane")
def _(patch):
    patch.setattr(active, "uniform_terms", lambda *_: ())


@mutant("a partial last warp is taken as whole", own="a last warp that is not whole")
def _(patch):
    patch.setattr(scopes, "exists", lambda _: True)


@mutant("varying symbols are taken as uniform", own="a guard that each thread decides")
def _(patch):
    change_calls(
        lambda call: dataclasses.replace(call, symbols=tuple(type(s)(s.name, s.min, s.max, s.multiple_of, "grid") for s in call.symbols))
    )(patch)


@mutant("coordinates that no axis covers need not be 0", by="fuzz-ldst-2-78")
def _(patch):
    patch.setattr(owners, "_uncovered", lambda *_: ())


@mutant("any thread may own a register", by="ld-dst-thread-axis")
def _(patch):
    patch.setattr(owners, "owner_goal", lambda *_: True)


# --- ranges ----------------------------------------------------------------------------------------------------------


@mutant("a region must end before the end", by="ld-loop-start")
def _(patch):
    change_bounds(patch, lambda begin, end, limit: terms.conj(terms.le(0, begin), terms.lt(end, limit)))


@mutant("a region may end one behind the end", by="fuzz-ldst-2-45")
def _(patch):
    change_bounds(patch, lambda begin, end, limit: terms.conj(terms.le(0, begin), terms.le(end, terms.add(limit, 1))))


@mutant("a negative start is ignored", by="ld-loop-neg")
def _(patch):
    change_bounds(patch, lambda _, end, limit: terms.le(end, limit))


@mutant("the end of a region is ignored", by="ld-sym-tensor-over")
def _(patch):
    change_bounds(patch, lambda begin, _, limit: terms.conj(terms.le(0, begin), terms.lt(begin, limit)))


@mutant("index.range looks at final results only", by="ld-runtime-wrap32")
def _(patch):
    patch.setattr(
        addresses,
        "in_range",
        lambda term, low, high, *_: (
            terms.conj(terms.le(low, terms.normal(term)), terms.le(terms.normal(term), high))
            if not isinstance(term, int)
            else low <= term <= high
        ),
    )


@mutant("index.range takes every index as 64 bits wide", own="an intermediate result that wraps")
def _(patch):
    patch.setattr(addresses, "INDEX_DTYPES", dict.fromkeys(addresses.INDEX_DTYPES, (-(1 << 63), (1 << 63) - 1)))


@mutant("index.range ignores divisors of indices", own="a divisor that may be zero")
def _(patch):
    patch.setattr(addresses, "in_range", lambda *_: True)


@mutant("index.range ignores divisors of conditions", own="a divisor of the guard")
def _(patch):
    patch.setattr(addresses, "divisors", lambda *_: ())


@mutant("index.range ignores the offset of an element", own="an accessed offset that wraps")
def _(patch):
    patch.setattr(addresses, "offsets_in_range", lambda *_, **__: ())


@mutant("addresses are owed where pred is false", own="addresses are owed under pred")
def _(patch):
    patch.setattr(problem.Problem, "accessing", property(lambda self: self.active))


@mutant("the largest value of a symbol is left out", by="ld-loop-oob")
def _(patch):
    original = problem._symbol_variable
    patch.setattr(
        problem,
        "_symbol_variable",
        lambda *args: dataclasses.replace(found := original(*args), high=None if found.high is None else found.high - 1),
    )


@mutant("the multiple of a symbol is ignored", own="a multiple")
def _(patch):
    original = problem._symbol_variable
    patch.setattr(problem, "_symbol_variable", lambda *args: dataclasses.replace(original(*args), step=1))


@mutant("the declared size of an allocation is ignored", by="fuzz-ldst-2-93")
def _(patch):
    original = addresses.allocation
    patch.setattr(addresses, "allocation", lambda own, side: (original(own, side)[0], None))


@mutant("shared memory is a megabyte", by="ld-smem-over-limit")
def _(patch):
    patch.setattr(addresses, "shared_limit", lambda _: 1 << 22)


@mutant("the largest shared allocation is that of sm_75 everywhere", own="the largest shared allocation of sm_80")
def _(patch):
    patch.setattr(addresses, "shared_limit", lambda _: 65_536)


# --- the run ---------------------------------------------------------------------------------------------------------

SPELLING = frozenset({"opcode", "space.explicit"})


@pytest.fixture(autouse=True)
def _before(fresh: None) -> None:
    for case_id in cases():
        verdict_of(case_id)  # before any mutant
    forget()


def red(case_id: str, *, contract: bool) -> bool:
    """Whether a case of the files has another status, no failing clause that is named, or (no mutant of a contract) other failing clauses."""
    case, verdict = cases()[case_id], judged(call_of(case_id))
    if verdict is None or verdict.status != case.expect or (case.clause is not None and not names(case.clause, failing(verdict))):
        return True
    return not contract and failing(verdict) - SPELLING != failing(verdict_of(case_id)) - SPELLING


@pytest.mark.parametrize("sentence", list(BY_FILES))
def test_a_case_of_the_files_notices_that(sentence, monkeypatch):
    expected, change = BY_FILES[sentence]
    change(monkeypatch)
    contract = checking.find_contract is not find_contract
    noticed = next((i for i in (expected, *cases()) if red(i, contract=contract)), None)
    assert noticed is not None, "no case notices"
    print(f"noticed by {noticed}")


@pytest.mark.parametrize("sentence", list(BY_OWN_CASES))
def test_an_own_case_notices_that(sentence, monkeypatch):
    assert noticed(BY_OWN_CASES, sentence, CASES, monkeypatch), f"{BY_OWN_CASES[sentence][0]!r} does not notice"


def test_without_a_mutant_no_case_is_red():
    assert [case_id for case_id in cases() if red(case_id, contract=False)] == []


def test_there_are_at_least_twenty_mutants_that_the_files_notice():
    assert len(BY_FILES) >= 20
