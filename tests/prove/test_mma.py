"""mma.sync: a case for every rule, agreed on by prover, SMT and evaluator; mutants of contract and engine that some case notices."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from known_cases import disagreements, failing, names

from tests.gpu.mma_forms import mma_document, spellings
from tilecheck.document import read_call
from tilecheck.errors import DisagreementError, InputError
from tilecheck.prove import operands, structure
from tilecheck.prove.check import check
from tilecheck.spec import AtomAxis, Contract, Register, table
from tilecheck.symbolic import var

Json = dict[str, Any]
HALF = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
HALVES = "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"
DOUBLE = "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64"
BYTES = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
QUARTER = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"
MIXED = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16"
STEPS = {"m": 2, "n": 3, "k": 4}


def call(opcode: str = HALF, steps: dict[str, int] | None = None, free: tuple[int, ...] = (), **rest: Any) -> Json:
    return {"launch": {"block": [32]}, **mma_document(opcode, steps, free, **rest)}


def with_operand(document: Json, number: int, **fields: Any) -> Json:
    found = copy.deepcopy(document)
    found["operands"][number] = {**found["operands"][number], **fields}
    return found


def number(value: object, opcode: str = HALF, steps: dict[str, int] | None = None) -> Json:
    found = call(opcode, steps)
    found["operands"][3] = {"name": "zero", "value": value}
    return found


def symbolic(value: str = "n", opcode: str = HALF, most: int = 3, varies: str = "grid") -> Json:
    return number(value, opcode) | {"symbols": [{"name": "n", "min": 0, "max": most, "varies": varies}]}


def together(document: Json, **tensors: str) -> Json:
    """Operands, by name, in one allocation."""
    found = copy.deepcopy(document)
    for operand in found["operands"]:
        if operand["name"] in tensors:
            operand["tensor"] = tensors[operand["name"]]
    return found


def warps(document: Json, axis: str = "1@warpid") -> Json:
    """A group axis of two warps before the axes of every operand."""
    found = copy.deepcopy(document)
    for operand in found["operands"]:
        operand["shape"] = [2, *operand["shape"]]
        operand["layout"] = operand["layout"].replace("S[(", "S[(2,", 1).replace(":(", f":({axis},", 1)
    return found | {"scope": "cta", "launch": {"block": [64]}}


A16 = "S[(2,8,2,4):({row},4@laneid,{word},1@laneid)]"
CASES: dict[str, tuple[Json, str, str | None]] = {
    "one product": (call(), "proved", None),
    "steps over M, N and K": (call(steps=STEPS), "proved", None),
    "a batch before the steps": (call(steps=STEPS, free=(2,)), "proved", None),
    "a batch of two axes": (call(steps={"k": 2}, free=(2, 2)), "proved", None),
    "accumulators of halves": (call(HALVES, STEPS), "proved", None),
    "doubles": (call(DOUBLE, STEPS), "proved", None),
    "bytes": (call(BYTES, STEPS), "proved", None),
    "four problems at once": (call(QUARTER, STEPS), "proved", None),
    "four problems with halves added to single precision": (call(MIXED, {"m": 2, "n": 3}), "proved", None),
    "C is a number": (number(0.0, steps=STEPS), "proved", None),
    "C is an integer": (number(-7, BYTES), "proved", None),
    "C is an integer for floats": (number(3), "proved", None),
    "C is D, read before it is written": (together(call(steps=STEPS), D="X", C="X"), "proved", None),
    "each of two warps": (warps(call(steps=STEPS)), "proved", None),
    "a predicate of the warp": (call(parameters={"pred": "n > 1"}, symbols=[{"name": "n", "min": 0, "max": 3}]), "proved", None),
    "A may be read from any replica": (with_operand(call(), 1, layout=A16.format(row=1, word=2) + " + R[2:16]"), "proved", None),
    "registers far apart": (with_operand(call(), 1, layout=A16.format(row=7, word=30)), "proved", None),
    "B is the same registers in every step of N": (
        with_operand(call(steps={"n": 2}), 2, layout="S[(2,1,8,2,4):(0,1,4@laneid,1,1@laneid)]"),
        "proved",
        None,
    ),
    "K of A and B differ": (
        with_operand(call(steps=STEPS), 2, shape=[3, 2, 8, 8], layout="S[(3,2,8,2,4):(4,2,4@laneid,1,1@laneid)]"),
        "refuted",
        "b.shape",
    ),
    "M of D and A differ": (
        with_operand(call(steps={"m": 2}), 1, shape=[4, 1, 16, 8], layout="S[(4,1,2,8,2,4):(4,4,1,4@laneid,2,1@laneid)]"),
        "refuted",
        "a.shape",
    ),
    "N of D and C differ": (
        with_operand(call(steps={"n": 2}), 3, shape=[1, 4, 16, 8], layout="S[(1,4,2,8,4,2):(4,4,2,4@laneid,1@laneid,1)]"),
        "refuted",
        "c.shape",
    ),
    "the batch of A differs": (
        with_operand(call(free=(2,)), 1, shape=[3, 1, 1, 16, 8], layout="S[(3,1,1,2,8,2,4):(4,4,4,1,4@laneid,2,1@laneid)]"),
        "refuted",
        "a.shape",
    ),
    "A without steps": (with_operand(call(), 1, shape=[16, 8], layout=A16.format(row=1, word=2)), "refuted", "a.shape"),
    "a batch of B alone": (
        with_operand(call(), 2, shape=[2, 1, 1, 8, 8], layout="S[(2,1,1,8,2,4):(2,2,2,4@laneid,1,1@laneid)]"),
        "refuted",
        "b.shape",
    ),
    "steps over K of a form whose D is no C": (call(MIXED, {"m": 2, "n": 3}, free=(2,)), "proved", None),
    "A of sixteen rows and four words": (
        with_operand(call(), 1, shape=[1, 1, 16, 4], layout="S[(1,1,2,8,4):(4,4,1,4@laneid,1@laneid)]"),
        "refuted",
        "a.shape",
    ),
    "A of halves": (with_operand(call(), 1, dtype="float16"), "refuted", "a.storage"),
    "A in shared memory": (with_operand(call(), 1, space="shared", layout="S[(1,1,16,8):(128,128,8,1)]"), "refuted", "a.storage"),
    "D and C of unsigned integers": (with_operand(with_operand(call(BYTES), 0, dtype="uint32"), 3, dtype="uint32"), "proved", None),
    "D of floats for integers": (with_operand(call(BYTES), 0, dtype="float32"), "refuted", "d.type"),
    "D of integers for floats": (with_operand(call(), 0, dtype="int32"), "refuted", "d.type"),
    "C of floats for integers": (with_operand(call(BYTES), 3, dtype="float32"), "refuted", "c.type"),
    "the two bits of the register of A exchanged (report B08)": (with_operand(call(), 1, layout=A16.format(row=2, word=1)), "proved", None),
    "A in the lanes of its words": (with_operand(call(), 1, layout="S[(2,8,2,4):(1,1@laneid,2,8@laneid)]"), "refuted", "a.owner"),
    "both blocks of A from rows 0 to 7": (with_operand(call(), 1, layout="S[(8,2,2,4):(4@laneid,1,2,1@laneid)]"), "refuted", "a.owner"),
    "B as if it were transposed": (with_operand(call(), 2, layout="S[(1,1,2,4,8):(2,2,1,1@laneid,4@laneid)]"), "refuted", "b.owner"),
    "D with its columns four lanes apart": (
        with_operand(call(), 0, layout="S[(1,1,2,8,2,4):(4,4,2,4@laneid,1,1@laneid)]"),
        "refuted",
        "d.owner d.distinct",
    ),
    "C of the wrong lanes": (with_operand(call(), 3, layout="S[(1,1,2,8,2,4):(4,4,2,4@laneid,1,1@laneid)]"), "refuted", "c.owner"),
    "the second warp's A is not warp 0's": (
        with_operand(warps(call()), 1, layout="S[(2,1,1,2,8,2,4):(4,4,4,1,4@laneid,2,1@laneid)]"),
        "refuted",
        "a.owner",
    ),
    "two registers of D in one slot": (
        with_operand(call(), 0, layout="S[(1,1,2,8,4,2):(4,4,1,4@laneid,1@laneid,1)]"),
        "refuted",
        "d.distinct",
    ),
    "two steps of M in one slot": (
        with_operand(call(steps={"m": 2}), 0, layout="S[(2,1,2,8,4,2):(2,2,2,4@laneid,1@laneid,1)]"),
        "refuted",
        "d.distinct",
    ),
    "two batches in one slot": (
        with_operand(call(free=(2,)), 0, layout="S[(2,1,1,2,8,4,2):(0,4,4,2,4@laneid,1@laneid,1)]"),
        "refuted",
        "d.distinct",
    ),
    "D in two places": (with_operand(call(), 0, layout="S[(1,1,2,8,4,2):(4,4,2,4@laneid,1@laneid,1)] + R[2:16]"), "refuted", "d.replica"),
    "half a warp": (call(guard="laneid < 16"), "refuted", "participation"),
    "a predicate of each lane": (call(parameters={"pred": "laneid < 4"}), "refuted", "participation"),
    "at thread scope": (call() | {"scope": "thread"}, "refuted", "participation"),
    "no C": (call() | {"operands": call()["operands"][:3]}, "refuted", "operands"),
    "A is a number": (
        {**call(), "operands": [*call()["operands"][:1], {"name": "one", "value": 1.0}, *call()["operands"][2:]]},
        "refuted",
        "operands",
    ),
    "C is a fraction for integers": (number(0.5, BYTES), "refuted", "operands"),
    "C is an integer of 33 bits": (number(1 << 31, BYTES), "refuted", "operands"),
    "C is a symbol": (symbolic(), "proved", None),
    "C is a symbol of the warp": (symbolic(varies="warp"), "proved", None),
    "C is a symbol of each lane": (symbolic(varies="thread"), "refuted", "participation"),
    "C is a symbol of each lane, of one value": (symbolic(varies="thread", most=0), "proved", None),
    "C is the lane": (symbolic("n + laneid"), "refuted", "participation"),
    "C is a whole number that no float is": (symbolic("n + 16777214"), "refuted", "c.type"),
    "C is a whole number that no half is": (symbolic("n + 2046", HALVES), "refuted", "c.type"),
    "C is a symbol of 32 bits": (symbolic("n + 2147483644", BYTES), "proved", None),
    "C is a symbol of 33 bits": (symbolic("n + 2147483645", BYTES), "refuted", "c.type"),
    "before sm_80": (call(arch="sm_75"), "refuted", "opcode"),
    "on sm_80": (call(arch="sm_80"), "proved", None),
    "a begin that wraps": (
        with_operand(
            call() | {"symbols": [{"name": "n", "min": 0, "max": 1}], "index_dtype": "int32"},
            1,
            shape=[2, 1, 16, 8],
            layout="S[(2,1,2,8,2,4):(4,4,1,4@laneid,2,1@laneid)]",
            view=[{"op": "slice", "begin": ["n * 2147483647 + n", 0, 0, 0], "extent": [1, 1, 16, 8]}],
        ),
        "refuted",
        "a.index.range a.bounds",
    ),
    "a step of M that leaves A": (
        with_operand(
            call() | {"symbols": [{"name": "n", "min": 0, "max": 2}]},
            1,
            shape=[2, 1, 16, 8],
            layout="S[(2,1,2,8,2,4):(4,4,1,4@laneid,2,1@laneid)]",
            view=[{"op": "slice", "begin": ["n", 0, 0, 0], "extent": [1, 1, 16, 8]}],
        ),
        "refuted",
        "a.bounds",
    ),
    "registers beyond the allocation": (with_operand(call(steps=STEPS), 0, size_bytes=92), "refuted", "d.backing"),
}
HAZARDS: dict[str, tuple[Json, bool]] = {
    "C is D": (together(call(steps=STEPS), D="X", C="X"), False),
    "C is D with its steps exchanged": (
        with_operand(together(call(steps={"m": 2, "n": 2}), D="X", C="X"), 3, layout="S[(2,2,2,8,4,2):(4,8,2,4@laneid,1@laneid,1)]"),
        True,
    ),
    "A is what the first step of K writes": (
        with_operand(together(call(steps={"k": 2}), D="X", A="X"), 1, layout="S[(1,2,2,8,2,4):(8,-4,1,4@laneid,2,1@laneid)] + 4"),
        True,
    ),
    "A of the first step of K is overwritten by it": (
        with_operand(together(call(steps={"k": 2}), D="X", A="X"), 1, layout="S[(1,2,2,8,2,4):(8,4,1,4@laneid,2,1@laneid)]"),
        False,
    ),
    "A of one product is overwritten": (together(call(), D="X", A="X"), False),
    "A behind D": (
        with_operand(together(call(steps={"k": 2}), D="X", A="X"), 1, layout="S[(1,2,2,8,2,4):(8,4,1,4@laneid,2,1@laneid)] + 4"),
        False,
    ),
    "B of a later step of N is D of an earlier one": (
        with_operand(together(call(steps={"n": 2}), D="X", B="X"), 2, layout="S[(2,1,8,2,4):(2,2,4@laneid,1,1@laneid)]"),
        True,
    ),
    "B of each step of N is what an earlier step of M wrote": (
        with_operand(together(call(steps={"m": 2}), D="X", B="X"), 2, layout="S[(1,1,8,2,4):(2,2,4@laneid,1,1@laneid)]"),
        True,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_as_the_sentence_says(name):
    document, expect, clause = CASES[name]
    verdict = check(read_call(document), audit=True)
    assert verdict.status == expect, [(c.id, c.reason) for c in verdict.failing]
    assert failing(verdict) == set((clause or "").split())


@pytest.mark.parametrize("name", CASES)
def test_the_evaluator_says_the_same(name):
    found = read_call(CASES[name][0])
    assert disagreements(found, check(found), 2_000_000) == []


@pytest.mark.parametrize("name", HAZARDS)
def test_a_register_that_is_read_after_it_was_written_is_a_hazard(name):
    document, expected = HAZARDS[name]
    verdict = check(read_call(document), audit=True)
    assert verdict.status == "proved"
    assert [hazard.id for hazard in verdict.hazards] == (["alias"] if expected else [])


def test_the_repeats_are_batch_m_n_and_k():
    assert check(read_call(call(steps=STEPS, free=(2,)))).instructions == 2 * 2 * 3 * 4


def test_the_counterexample_of_a_wrong_lane_is_the_first_one():
    verdict = check(read_call(CASES["B as if it were transposed"][0]))
    example = next(c.counterexample for c in verdict.failing)
    assert example is not None
    assert (example.lane, example.repeat, example.atom) == (0, (0, 0), (0, 4))


def test_the_counterexample_of_a_shared_register_is_the_later_element():
    verdict = check(read_call(CASES["two steps of M in one slot"][0]))
    example = next(c.counterexample for c in verdict.failing)
    assert example is not None
    assert (example.lane, example.repeat, example.atom) == (0, (1, 0), (0, 0))


def test_a_symbol_named_like_an_atom_axis_of_an_operand_is_wrong_input():
    with pytest.raises(InputError, match="word"):
        check(read_call(call() | {"symbols": [{"name": "word", "min": 0, "max": 1}]}))


@pytest.mark.parametrize("opcode", tuple(spellings()))
def test_every_form_is_proved_by_structure_alone(opcode):
    steps = {"m": 2, "n": 2, "k": 2} if opcode != MIXED else {"m": 2}
    verdict = check(read_call(mma_document(opcode, steps)))
    assert verdict.status == "proved"
    assert {clause.method for clause in verdict.clauses} == {"structure"}


# --- mutants ---------------------------------------------------------------------------------------------------------

MUTANTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {}


def mutant(function: Callable[[pytest.MonkeyPatch], None]) -> Callable[[pytest.MonkeyPatch], None]:
    MUTANTS[function.__name__] = function
    return function


def change(patch: pytest.MonkeyPatch, name: str, **fields: Any) -> None:
    """A field of one operand of every form of mma is another."""

    def changed(contract: Contract) -> Contract:
        new = tuple(dataclasses.replace(o, **fields) if o.name == name and isinstance(o, Register) else o for o in contract.operands)
        return dataclasses.replace(contract, operands=new)

    original = table.find_entry("mma")
    assert original is not None
    patch.setattr(table, "_contracts", {})
    patch.setattr(table, "find_entry", lambda _: dataclasses.replace(original, contract=lambda q: changed(original.contract(q))))


@mutant
def a_row_of_a_is_held_by_eight_lanes(patch):
    change(patch, "a", lane=8 * (var("row") % 4) + var("word") % 8)


@mutant
def b_is_held_in_the_lanes_of_its_words(patch):
    change(patch, "b", lane=8 * (var("word") % 4) + var("column"))


@mutant
def d_has_its_columns_four_lanes_apart(patch):
    change(patch, "d", lane=4 * (var("row") % 8) + var("column") % 4)


@mutant
def c_is_not_looked_at(patch):
    change(patch, "c", lane=4 * (var("row") % 8) + var("column") % 4)


@mutant
def d_is_only_read(patch):
    change(patch, "d", write=False)


@mutant
def a_takes_any_width(patch):
    change(patch, "a", bits=16)


@mutant
def d_takes_any_type(patch):
    change(patch, "d", dtypes=None)


@mutant
def c_takes_any_type(patch):
    change(patch, "c", dtypes=None)


@mutant
def c_is_a_view(patch):
    change(patch, "c", number="")


@mutant
def c_is_read_in_every_step(patch):
    change(patch, "c", then=None)


@mutant
def a_repeats_over_n(patch):
    change(patch, "a", over=("n", "k"))


@mutant
def a_has_four_words(patch):
    change(patch, "a", atom=(AtomAxis("row", 16), AtomAxis("word", 4)))


@mutant
def loops_may_differ(patch):
    patch.setattr(operands.Repeats, "says", lambda *_: True)


@mutant
def a_number_is_never_wrong(patch):
    patch.setattr(operands, "number_fault", lambda *_: None)


@mutant
def the_structure_takes_every_slot_for_distinct(patch):
    patch.setattr(structure, "distinct", lambda *_: True)


@mutant
def the_structure_takes_every_owner_for_right(patch):
    patch.setattr(structure, "owner", lambda *_: "structure")


@cache
def _all() -> tuple[tuple[str, Json, str, str | None], ...]:
    hazards = ((name, document, "alias" if expected else "proved", None) for name, (document, expected) in HAZARDS.items())
    return (*((name, *case) for name, case in CASES.items()), *hazards)


def red(name: str, document: Json, expect: str, clause: str | None) -> bool:
    try:
        verdict = check(read_call(document))
    except DisagreementError:
        return True
    if expect == "alias":
        return not any(hazard.id == "alias" for hazard in verdict.hazards)
    if name in HAZARDS and verdict.hazards:
        return True
    return verdict.status != expect or (clause is not None and not names(clause.split()[0], failing(verdict)))


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_noticed(name, monkeypatch):
    MUTANTS[name](monkeypatch)
    assert any(red(*case) for case in _all())
