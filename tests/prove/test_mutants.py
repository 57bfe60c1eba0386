"""Mutants of alignment, spelling, participation and range clauses: each turns at least one case of tests/data red.

A case is red when its status changes, when no failing clause agrees with the named one, when brute force would disagree with the set of
failing clauses (a mutant of the prover, not of the contract), or when the replay of a counterexample raises DisagreementError.
Where the case files hold nothing that a mutant could turn (no case has an `arch`, a partial warp, a `pred` on an address), our own cases must.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from known_cases import call_of, cases, failing, names, verdict_of
from own_cases import CASES

from tilecheck import scopes
from tilecheck.call import Call
from tilecheck.document import read_call
from tilecheck.errors import DisagreementError
from tilecheck.layout.trace import Trace
from tilecheck.prove import active, clauses, problem
from tilecheck.prove import check as checking
from tilecheck.prove.check import check
from tilecheck.prove.obligation import Obligation, Outcome
from tilecheck.prove.verdict import Verdict
from tilecheck.spec import BadSpelling, Contract, Exclusion, Floor, Grammar, Memory, find_contract, find_entry, mnemonic_of
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term

Patch = pytest.MonkeyPatch
Mutant = Callable[[Patch], None]
BY_FILES: dict[str, Mutant] = {}
BY_OWN_CASES: dict[str, Mutant] = {}


def mutant(sentence: str, *, own: bool = False) -> Callable[[Mutant], Mutant]:
    def note(function: Mutant) -> Mutant:
        assert sentence not in {*BY_FILES, *BY_OWN_CASES}
        (BY_OWN_CASES if own else BY_FILES)[sentence] = function
        return function

    return note


# --- tools -----------------------------------------------------------------------------------------------------------


def change_contracts(patch: Patch, change: Callable[[Contract], Contract]) -> None:
    """Every contract is read through `change`."""
    known: dict[str, object] = {}

    def find(opcode: str) -> object:
        if opcode not in known:
            found = find_contract(opcode)
            known[opcode] = change(found) if isinstance(found, Contract) else found
        return known[opcode]

    patch.setattr(checking, "find_contract", find)


def change_memory(patch: Patch, change: Callable[[Memory], Memory]) -> None:
    change_contracts(patch, lambda contract: dataclasses.replace(
        contract, operands=tuple(change(o) if isinstance(o, Memory) else o for o in contract.operands)))


def change_alignment(patch: Patch, change: Callable[[Memory], int]) -> None:
    change_memory(patch, lambda memory: dataclasses.replace(memory, align_bytes=change(memory)))


def change_grammars(patch: Patch, change: Callable[[Grammar], Grammar], spelling: Callable[[str], str] = lambda opcode: opcode) -> None:
    """Every opcode is read by a changed grammar."""
    known: dict[str, object] = {}

    def find(opcode: str) -> object:
        if opcode not in known:
            entry = find_entry(mnemonic_of(opcode))
            if entry is None:
                return None
            qualifiers = change(entry.grammar).read(spelling(opcode))
            known[opcode] = qualifiers if isinstance(qualifiers, BadSpelling) else dataclasses.replace(
                entry.contract(qualifiers), arch=change(entry.grammar).arch_floor(qualifiers))
        return known[opcode]

    patch.setattr(checking, "find_contract", find)


def change_slot(patch: Patch, name: str, **changes: Any) -> None:
    change_grammars(patch, lambda grammar: dataclasses.replace(
        grammar, slots=tuple(dataclasses.replace(s, **changes) if s.name == name else s for s in grammar.slots)))


def add_value(patch: Patch, name: str, value: str) -> None:
    change_grammars(patch, lambda grammar: dataclasses.replace(
        grammar, slots=tuple(dataclasses.replace(s, values=(*s.values, value)) if s.name == name else s for s in grammar.slots)))


def change_obligations(patch: Patch, builder: str, ending: str, change: Callable[[Obligation], Obligation]) -> None:
    """The obligations of the clauses `ending` that `builder` makes are changed."""
    original = getattr(clauses, builder)

    def built(*args: Any, **kwargs: Any) -> Iterator[clauses.Clause]:
        for clause in original(*args, **kwargs):
            yield dataclasses.replace(clause, obligation=change(clause.obligation)) if clause.id.endswith(ending) else clause

    patch.setattr(clauses, builder, built)


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
    def built(own: problem.Problem, side: problem.Side, repeats: tuple[int, ...]) -> Iterator[clauses.Clause]:
        name = f"{side.spec.name}.bounds"
        yield clauses.Clause(name, "", clauses.NOTHING)
        variables = (*own.symbols, *own.thread_variables())
        for check_ in side.trace.slices:
            begin = terms.normal(check_.begin)
            term = goal(begin, terms.add(begin, check_.extent), terms.normal(check_.limit))
            yield clauses.Clause(name, "", Obligation(variables, own.accessing, term), point="row")

    patch.setattr(clauses, "bounds", built)


def change_calls(change: Callable[[Call], Call]) -> Callable[[Patch], None]:
    """The prover reads a changed call (the evaluator, which replays, too)."""
    def apply(patch: Patch) -> None:
        original = checking.prepare
        patch.setattr(checking, "prepare", lambda call, contract: original(change(call), contract))

    return apply


# --- alignment -------------------------------------------------------------------------------------------------------


@mutant("the alignment is half")
def _(patch):
    change_alignment(patch, lambda memory: max(1, memory.align_bytes // 2))


@mutant("the alignment is twice")
def _(patch):
    change_alignment(patch, lambda memory: memory.align_bytes * 2)


@mutant("the alignment is one byte more")
def _(patch):
    change_alignment(patch, lambda memory: memory.align_bytes + 1)


@mutant("the alignment is that of one word")
def _(patch):
    change_alignment(patch, lambda memory: memory.bits // 8)


@mutant("alignment is checked at the first repeat only")
def _(patch):
    only_at(patch, "addresses", ".aligned", lambda name: name.startswith("@r"))


@mutant("alignment is checked in the first thread only")
def _(patch):
    only_at(patch, "addresses", ".aligned", lambda name: name in {"@cta", "warpid", "laneid"})


@mutant("alignment is checked at the first row of a matrix only")
def _(patch):
    only_at(patch, "addresses", ".aligned", lambda name: name in {"matrix", "row"})


@mutant("alignment is checked at the first value of every symbol only")
def _(patch):
    def first(obligation: Obligation) -> Obligation:
        values = {v.name: 0 for v in obligation.variables if v.role == "symbol"}
        return dataclasses.replace(obligation, goal=terms.substitute(obligation.goal, values))

    change_obligations(patch, "addresses", ".aligned", first)


@mutant("the base is taken as a multiple of everything")
def _(patch):
    patch.setattr(clauses, "base_residues", lambda *_: (0,))


@mutant("the base residue is ignored")
def _(patch):
    original = problem.combine
    patch.setattr(problem, "combine", lambda rules: original([rule for rule in rules if rule[1] == 0]))


@mutant("the declared alignment is ignored where a residue is known")
def _(patch):
    original = problem.combine
    patch.setattr(problem, "combine", lambda rules: original(rules[1:] if len(rules) > 1 else rules))


@mutant("residues are combined wrongly: the last one for the common modulus", own=True)
def _(patch):
    original = problem.combine

    def combine(rules: list[tuple[int, int]]) -> tuple[int, int] | None:
        found = original(rules)
        return None if found is None else (found[0], rules[-1][1])

    patch.setattr(problem, "combine", combine)


@mutant("residues are combined wrongly: the larger modulus alone counts", own=True)
def _(patch):
    patch.setattr(problem, "combine", max)


@mutant("alignment is checked before the swizzle")
def _(patch):
    original = Trace.locate
    patch.setattr(Trace, "locate", lambda self, coords: dataclasses.replace(found := original(self, coords), bit=found.plain_bit))


@mutant("rows need not be consecutive")
def _(patch):
    silence(patch, "addresses", ".contiguous")


# --- spelling --------------------------------------------------------------------------------------------------------


@mutant("the type f16 is read")
def _(patch):
    add_value(patch, "type", "f16")


@mutant("sync may be left out")
def _(patch):
    change_slot(patch, "sync", required=False)


@mutant("an empty qualifier is skipped, and the shape with it")
def _(patch):
    change_grammars(
        patch, lambda grammar: dataclasses.replace(grammar, slots=tuple(dataclasses.replace(s, required=s.required and s.name != "shape") for s in grammar.slots)),
        lambda opcode: opcode.replace("..", "."))


@mutant("a space need not be written")
def _(patch):
    change_contracts(patch, lambda contract: dataclasses.replace(contract, space_written=True))


@mutant("the vector v3 is read", own=True)
def _(patch):
    add_value(patch, "vec", "v3")


@mutant("the exclusion of wide vectors outside global memory is dropped", own=True)
def _(patch):
    def dropped(rules: tuple[Exclusion, ...]) -> tuple[Exclusion, ...]:
        return tuple(rule for rule in rules if "global memory only" not in rule.why or rule.at != "vec")

    change_grammars(patch, lambda grammar: dataclasses.replace(grammar, exclusions=dropped(grammar.exclusions)))


@mutant("qualifiers may come in any order", own=True)
def _(patch):
    def sorted_by_slot(opcode: str) -> str:
        entry = find_entry(mnemonic_of(opcode))
        assert entry is not None
        place = {value: k for k, slot in enumerate(entry.grammar.slots) for value in slot.values}
        first, *rest = opcode.split(".")
        return ".".join([first, *sorted(rest, key=lambda token: place.get(token, 99))])

    change_grammars(patch, lambda grammar: grammar, sorted_by_slot)


@mutant("the floor of wide vectors is dropped", own=True)
def _(patch):
    def dropped(floors: tuple[Floor, ...]) -> tuple[Floor, ...]:
        return tuple(floor for floor in floors if floor.arch != "sm_100")

    change_grammars(patch, lambda grammar: dataclasses.replace(grammar, floors=dropped(grammar.floors)))


@mutant("the architecture is not compared with the floor", own=True)
def _(patch):
    patch.setattr(checking, "arch_has", lambda *_: True)


@mutant("an architecture must be above the floor", own=True)
def _(patch):
    original = checking.arch_has
    patch.setattr(checking, "arch_has", lambda arch, floor: original(arch, floor) and arch != floor)


# --- participation ---------------------------------------------------------------------------------------------------


def quiet_participation(patch: Patch) -> None:
    patch.setattr(active, "participation", lambda *_: Outcome(holds=True))


@mutant("participation always holds")
def _(patch):
    quiet_participation(patch)
    patch.setattr(active, "uniform_terms", lambda *_: ())


@mutant("the active set need not be whole")
def _(patch):
    quiet_participation(patch)


@mutant("the guard is ignored")
def _(patch):
    change_calls(lambda call: dataclasses.replace(call, guard=True))(patch)


@mutant("assumptions are ignored")
def _(patch):
    change_calls(lambda call: dataclasses.replace(call, assume=()))(patch)


@mutant("a collective needs no whole warp")
def _(patch):
    original = active.participation

    def lenient(own: problem.Problem, *rest: Any) -> Outcome:
        contract = dataclasses.replace(own.contract, collective="thread")
        return original(dataclasses.replace(own, contract=contract), *rest)

    patch.setattr(active, "participation", lenient)


@mutant("a collective may stand at thread scope")
def _(patch):
    original = active.participation
    patch.setattr(active, "participation", lambda own, *rest: Outcome(holds=True) if own.call.scope == "thread" else original(own, *rest))


@mutant("group extents count every warp and lane")
def _(patch):
    patch.setattr(scopes, "_static_members", lambda run, name, values, move: [True] * values)


@mutant("group coordinates are not counted from the first active one")
def _(patch):
    original = scopes._axis

    def axis(call: Call, run: scopes.Execution, kind: str) -> scopes.GroupAxis:
        found = original(call, run, kind)
        own = {"warp": terms.var("warpid"), "lane": terms.var("laneid")}.get(kind, found.coordinate)
        return dataclasses.replace(found, coordinate=own if found.extent != 1 else found.coordinate)

    patch.setattr(scopes, "_axis", axis)


@mutant("starts of collectives need not be uniform", own=True)
def _(patch):
    patch.setattr(active, "uniform_terms", lambda *_: ())


@mutant("a partial last warp is taken as whole", own=True)
def _(patch):
    patch.setattr(scopes, "exists", lambda _: True)


@mutant("varying symbols are taken as uniform", own=True)
def _(patch):
    change_calls(lambda call: dataclasses.replace(
        call, symbols=tuple(type(s)(s.name, s.min, s.max, s.multiple_of, "grid") for s in call.symbols)))(patch)


@mutant("coordinates that no axis covers need not be 0")
def _(patch):
    patch.setattr(clauses, "_uncovered", lambda *_: ())


@mutant("any thread may own a register")
def _(patch):
    patch.setattr(clauses, "owner_goal", lambda *_: True)


# --- ranges ----------------------------------------------------------------------------------------------------------


@mutant("a region must end before the end")
def _(patch):
    change_bounds(patch, lambda begin, end, limit: terms.conj(terms.le(0, begin), terms.lt(end, limit)))


@mutant("a region may end one behind the end")
def _(patch):
    change_bounds(patch, lambda begin, end, limit: terms.conj(terms.le(0, begin), terms.le(end, terms.add(limit, 1))))


@mutant("a negative start is ignored")
def _(patch):
    change_bounds(patch, lambda begin, end, limit: terms.le(end, limit))


@mutant("the end of a region is ignored")
def _(patch):
    change_bounds(patch, lambda begin, end, limit: terms.conj(terms.le(0, begin), terms.lt(begin, limit)))


@mutant("index.range looks at final results only")
def _(patch):
    patch.setattr(clauses, "in_range", lambda term, low, high, ranges: (
        terms.conj(terms.le(low, terms.normal(term)), terms.le(terms.normal(term), high)) if not isinstance(term, int) else low <= term <= high))


@mutant("index.range takes every index as 64 bits wide")
def _(patch):
    patch.setattr(clauses, "INDEX_DTYPES", dict.fromkeys(clauses.INDEX_DTYPES, (-(1 << 63), (1 << 63) - 1)))


@mutant("index.range ignores divisors of indices", own=True)
def _(patch):
    patch.setattr(clauses, "in_range", lambda *_: True)


@mutant("index.range ignores divisors of conditions", own=True)
def _(patch):
    patch.setattr(clauses, "divisors", lambda *_: ())


@mutant("index.range ignores the offset of an element", own=True)
def _(patch):
    patch.setattr(clauses, "offsets_in_range", lambda *_: ())


@mutant("addresses are owed where pred is false", own=True)
def _(patch):
    patch.setattr(problem.Problem, "accessing", property(lambda self: self.active))


@mutant("the largest value of a symbol is left out")
def _(patch):
    original = problem._symbol_variable
    patch.setattr(problem, "_symbol_variable", lambda *args: dataclasses.replace(found := original(*args), high=None if found.high is None else found.high - 1))


@mutant("the multiple of a symbol is ignored", own=True)
def _(patch):
    original = problem._symbol_variable
    patch.setattr(problem, "_symbol_variable", lambda *args: dataclasses.replace(original(*args), step=1))


@mutant("the declared size of an allocation is ignored")
def _(patch):
    original = clauses.allocation
    patch.setattr(clauses, "allocation", lambda own, side: (original(own, side)[0], None))


@mutant("shared memory is a megabyte")
def _(patch):
    patch.setattr(clauses, "shared_limit", lambda _: 1 << 22)


@mutant("the largest shared allocation is that of sm_75 everywhere", own=True)
def _(patch):
    patch.setattr(clauses, "shared_limit", lambda _: 65_536)


# --- the run ---------------------------------------------------------------------------------------------------------

SPELLING = frozenset({"opcode", "space.explicit"})


def forget() -> None:
    """What is remembered of calls is forgotten, so that a mutant meets every call anew."""
    scopes.execution.cache_clear()


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    for case_id in cases():
        verdict_of(case_id)  # before any mutant
    forget()
    yield
    forget()


def judged(call: Call) -> Verdict | None:
    """The verdict, None where the replay of a counterexample notices the mutant."""
    try:
        return check(call)
    except DisagreementError:
        return None


def red_cases(*, contract: bool) -> Iterator[str]:
    for case_id, case in cases().items():
        verdict = judged(call_of(case_id))
        wrong = verdict is None or verdict.status != case.expect
        wrong = wrong or (verdict is not None and case.clause is not None and not names(case.clause, failing(verdict)))
        if wrong or (not contract and verdict is not None and failing(verdict) - SPELLING != failing(verdict_of(case_id)) - SPELLING):
            yield case_id


def red_own_cases() -> Iterator[str]:
    for sentence, own in CASES.items():
        verdict = judged(read_call(own.document))
        if verdict is None or verdict.status != own.expect or (own.clause is not None and not names(own.clause, failing(verdict))):
            yield sentence


@pytest.mark.parametrize("sentence", list(BY_FILES))
def test_a_case_of_the_files_notices_that(sentence, monkeypatch):
    BY_FILES[sentence](monkeypatch)
    first = next(red_cases(contract=checking.find_contract is not find_contract), None)
    assert first is not None, "no case notices"
    print(f"noticed first by {first}")


@pytest.mark.parametrize("sentence", list(BY_OWN_CASES))
def test_an_own_case_notices_that(sentence, monkeypatch):
    BY_OWN_CASES[sentence](monkeypatch)
    first = next(red_own_cases(), None)
    assert first is not None, "no case notices"
    print(f"noticed first by {first}")


def test_without_a_mutant_no_case_is_red():
    assert list(red_cases(contract=False)) == []


def test_there_are_at_least_twenty_mutants_that_the_files_notice():
    assert len(BY_FILES) >= 20
