"""Every case of tests/data of an instruction that has a contract gets its verdict, and brute force agrees with it."""

from __future__ import annotations

import json
import random

import pytest
from known_cases import DATA, DISPUTED, FILES, Case, call_of, cases, disagreements, every_case, failing, names, partial, verdict_of

from tilecheck.call import Call
from tilecheck.document import read_call
from tilecheck.prove.check import check
from tilecheck.spec import mnemonic_of

SEED = 2

NEEDS_SMT: frozenset[str] = frozenset()
"""Cases that enumeration cannot reach and that no other tier decides: exactly the unproved ones."""

IDS = tuple(cases())


@pytest.mark.parametrize("case_id", IDS)
def test_a_case_has_its_status_and_its_clause(case_id):
    case, verdict = cases()[case_id], verdict_of(case_id)
    assert verdict.status == ("unproved" if case_id in NEEDS_SMT else case.expect), verdict.summary()
    if verdict.status == "refuted":
        assert case.clause is None or names(case.clause, failing(verdict)), f"failing {sorted(failing(verdict))}, expected {case.clause}"
    if case.hazard is not None:
        assert case.hazard in {hazard.id for hazard in verdict.hazards}


def test_a_disputed_label_is_the_opposite_of_the_verdict_and_its_clause_says_why():
    labels = {
        entry["id"]: entry["expect"] for name in FILES for entry in map(json.loads, (DATA / name).read_text(encoding="utf-8").splitlines())
    }
    for case_id, (status, clause, why) in DISPUTED.items():
        assert (labels[case_id], verdict_of(case_id).status, why != "") == ("proved", status, True)
        (found,) = verdict_of(case_id).failing
        assert (found.id, "no multiple of 16" in (found.reason or "")) == (clause, True)


def test_only_cases_with_unbounded_symbols_are_unproved():
    unproved = {case_id for case_id in IDS if verdict_of(case_id).status == "unproved"}
    assert unproved == NEEDS_SMT
    assert all(any("min" not in s or "max" not in s for s in cases()[case_id].document["symbols"]) for case_id in unproved)


def test_an_unproved_case_says_why():
    for case_id in NEEDS_SMT:
        assert all(clause.reason for clause in verdict_of(case_id).clauses if clause.status == "unproved")


def test_no_unproved_case_refutes_a_clause_that_its_file_does_not_name():
    for case_id in NEEDS_SMT:
        case = cases()[case_id]
        assert case.expect != "proved" or not failing(verdict_of(case_id))


def test_the_case_files_hold_as_many_cases_as_we_think():
    assert (len(every_case()), len(IDS)) == (708, 708)


@pytest.mark.parametrize(
    "opcode", ["red.async.relaxed.cluster.shared::cluster.add.u32", "wgmma.fence.sync.aligned", "tcgen05.guardrails", "x"]
)
def test_another_mnemonic_is_an_error(opcode: str):
    verdict = check(read_call({**cases()["ld-doc-105-compact"].document, "opcode": opcode}))
    assert (verdict.status, verdict.clauses) == ("error", ())
    assert mnemonic_of(opcode) in (verdict.reason or "")


def values(case: Case, rng: random.Random) -> dict[str, int]:
    """A value of each symbol, from its declaration."""
    found = {}
    for declared in case.document["symbols"]:
        low, high = declared.get("min", -70), declared.get("max", 1030)
        step = declared.get("multiple_of", 1)
        found[declared["name"]] = rng.randint(-(-low // step), high // step) * step
    return found


def fixed_calls(case_id: str) -> list[Call]:
    """The call with symbols set to two seeded values of each."""
    rng = random.Random(f"{SEED}-{case_id}")
    return [call_of(case_id).substitute(**values(cases()[case_id], rng)) for _ in range(2)]


@pytest.mark.parametrize("case_id", IDS)
def test_brute_force_agrees_with_the_verdict(case_id):
    found = disagreements(call_of(case_id), verdict_of(case_id))
    if found is None:
        found = partial(call_of(case_id), verdict_of(case_id)) if case_id not in NEEDS_SMT else []
        print(f"seed {SEED}")
        for call in fixed_calls(case_id) if cases()[case_id].document["symbols"] else ():
            verdict = check(call)
            found += disagreements(call, verdict) or []
            if verdict_of(case_id).status == "proved" and verdict.status not in {"proved", "vacuous"}:
                found.append(f"proved for all symbols, but {verdict.status} for {call.to_json()}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("case_id", [i for i in IDS if cases()[i].expect == "refuted"])
def test_a_refuted_clause_has_a_counterexample_in_words(case_id):
    for clause in verdict_of(case_id).failing:
        example = clause.counterexample
        assert (example is not None and example.expected and example.actual and example.sentence) or clause.reason


def test_every_verdict_follows_its_schema():
    jsonschema = pytest.importorskip("jsonschema")
    from tilecheck.schema import schema

    validator = jsonschema.Draft202012Validator(schema("verdict"))
    for case in (*cases().values(), *(case for case in every_case()[::9] if case.id not in cases())):
        verdict = verdict_of(case.id) if case.id in cases() else check(read_call(case.document))
        validator.validate(verdict.to_json(expect=case.expect, as_expected=verdict.status == case.expect))


def test_a_verdict_does_not_depend_on_what_was_checked_before():
    """The same call in reverse order, read afresh, gives the same answer up to times."""

    def plain(document):
        return {**document, "clauses": [{**clause, "ms": 0} for clause in document["clauses"]]}

    for case_id in reversed(IDS[::3]):
        assert plain(check(read_call(cases()[case_id].document)).to_json()) == plain(verdict_of(case_id).to_json())
