"""Register instructions: a case for every rule, agreed on by prover, SMT and evaluator; mutants that some case notices."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from known_cases import disagreements, failing

from tests.gpu.register_forms import forms_of, register_document, register_forms, spellings
from tilecheck import InputError, Scalar, Tensor, apply, symbol
from tilecheck.document import read_call, read_text
from tilecheck.errors import DisagreementError
from tilecheck.evaluate import Model
from tilecheck.evaluate.predict import UnpredictedError
from tilecheck.prove import check as checking
from tilecheck.prove import operands, scalars
from tilecheck.prove.check import check
from tilecheck.spec import Contract, Register, data, find_contract, table

Json = dict[str, Any]


def call(opcode: str, variant: int = 0, repeats: int = 2, **rest: Any) -> Json:
    return register_document(opcode, forms_of(opcode)[variant], repeats, **rest)


def change(document: Json, number: int, **fields: Any) -> Json:
    found = copy.deepcopy(document)
    found["operands"][number] = {**found["operands"][number], **fields}
    return found


def number(document: Json, place: int, value: object) -> Json:
    found = copy.deepcopy(document)
    found["operands"][place] = {"name": "number", "value": value}
    return found


def symbolic(document: Json, place: int, value: str, low: int = -100, high: int = 100, **rest: Any) -> Json:
    """The document with an expression of a symbol n in the place of an operand. rest: of the document, and `varies` of n."""
    declared = {"name": "n", "min": low, "max": high, "varies": rest.pop("varies", "grid")}
    return number(document, place, value) | {"symbols": [declared]} | rest


CASES: dict[str, tuple[Json, str, str]] = {
    "a source is a symbol": (symbolic(call("add.s32"), 2, "n"), "proved", ""),
    "a source is a symbol that may be negative": (symbolic(call("add.u32"), 2, "n"), "refuted", "b.type"),
    "a negative symbol that is not reached": (symbolic(call("add.u32"), 2, "n", parameters={"pred": "n >= 0"}), "proved", ""),
    "an expression that leaves 16 bits": (symbolic(call("add.s16"), 2, "n * n * n"), "refuted", "b.type"),
    "a lane in an expression": (symbolic(call("add.s16"), 2, "n + laneid * 1000"), "proved", ""),
    "a lane that leads beyond the type": (symbolic(call("add.s16"), 2, "n + laneid * 1100"), "refuted", "b.type"),
    "a symbol of each lane": (symbolic(call("add.s32"), 2, "n", varies="thread"), "proved", ""),
    "a quotient without a value": (symbolic(call("add.s32"), 2, "100 // n"), "refuted", "b.type"),
    "a quotient with one": (symbolic(call("add.s32"), 2, "100 // n", assume=["n != 0"]), "proved", ""),
    "the result is a symbol": (symbolic(call("add.s32"), 0, "n"), "refuted", "operands"),
    "whole numbers of a float": (symbolic(call("mul.f32"), 1, "n + 16777116"), "proved", ""),
    "a whole number that no float is": (symbolic(call("mul.f32"), 1, "n + 16777117"), "refuted", "a.type"),
    "whole numbers of a half": (symbolic(call("add.f16"), 2, "20 * n"), "proved", ""),
    "a whole number that no half is": (symbolic(call("add.f16"), 2, "21 * n"), "refuted", "b.type"),
    "whole numbers of a bfloat16": (symbolic(call("add.bf16"), 2, "2 * n + 56"), "proved", ""),
    "the bits of a pair": (symbolic(call("fma.rn.f16x2"), 3, "n * 65537 + 4294901760", -100, -1), "proved", ""),
    "more bits than a pair has": (symbolic(call("fma.rn.f16x2"), 3, "n * 65537 + 4294901760", -100, 1), "refuted", "c.type"),
    "a symbol moved": (symbolic(call("mov.u32"), 1, "n * n"), "proved", ""),
    "a sum": (call("add.f32"), "proved", ""),
    "a source is a number": (number(call("add.f32"), 2, 1.5), "proved", ""),
    "both sources are numbers": (number(number(call("mul.f32"), 1, 2), 2, 0.5), "proved", ""),
    "an integer number": (number(call("add.s32"), 2, -1), "proved", ""),
    "an unsigned number": (number(call("add.u32"), 2, (1 << 32) - 1), "proved", ""),
    "a packed number is its bits": (number(call("fma.rn.f16x2"), 3, 0x3C003C00), "proved", ""),
    "the result is no number": (number(call("add.f32"), 0, 1.0), "refuted", "operands"),
    "a fraction for integers": (number(call("add.s32"), 2, 1.5), "refuted", "operands"),
    "a negative number for unsigned ones": (number(call("add.u32"), 2, -1), "refuted", "operands"),
    "a number of 33 bits": (number(call("add.s32"), 2, 1 << 31), "refuted", "operands"),
    "a fraction for packed halves": (number(call("add.f16x2"), 2, 1.5), "refuted", "operands"),
    "one source too few": (call("add.f32") | {"operands": call("add.f32")["operands"][:2]}, "refuted", "operands"),
    "a third input of max on sm_100": (call("max.f32", 1, arch="sm_100"), "proved", ""),
    "a third input of max on sm_90": (call("max.f32", 1, arch="sm_90"), "refuted", "opcode"),
    "two inputs of max on sm_90": (call("max.f32", arch="sm_90"), "proved", ""),
    "packed halves": (call("fma.rn.relu.bf16x2"), "proved", ""),
    "packed halves as halves": (change(call("add.f16x2"), 1, dtype="float16"), "refuted", "a.storage"),
    "two floats as one double word": (call("add.f32x2"), "proved", ""),
    "floats as integers": (change(call("add.f32"), 1, dtype="int32"), "refuted", "a.type"),
    "signed and unsigned integers are one type": (change(call("add.s32"), 1, dtype="uint32"), "proved", ""),
    "integers as floats": (change(call("add.s32"), 2, dtype="float32"), "refuted", "b.type"),
    "bfloat16 as float16": (change(call("add.bf16"), 1, dtype="float16"), "refuted", "a.type"),
    "mov takes any type of the width": (change(call("mov.u32"), 1, dtype="float32"), "proved", ""),
    "mov of another width": (change(call("mov.u32"), 1, dtype="uint16"), "refuted", "a.storage"),
    "a wide product is twice as wide": (call("mul.wide.u32"), "proved", ""),
    "a wide product of one width": (change(call("mul.wide.u32"), 0, dtype="uint32"), "refuted", "d.storage"),
    "mixed precision": (call("fma.rn.f32.f16"), "proved", ""),
    "mixed precision of single ones": (change(call("add.f32.f16"), 1, dtype="float32"), "refuted", "a.storage"),
    "two floats converted to a pair": (call("cvt.rn.f16x2.f32"), "proved", ""),
    "a pair of halves from floats": (change(call("cvt.rn.f16x2.f32"), 0, dtype="float16"), "refuted", "d.storage"),
    "a float converted to an integer": (call("cvt.rni.s32.f32"), "proved", ""),
    "an integer as a float": (change(call("cvt.rni.s32.f32"), 1, dtype="int32"), "refuted", "a.type"),
    "a number converted": (number(call("cvt.rn.bf16.f32"), 1, 0.1), "proved", ""),
    "four floats with random bits": (call("cvt.rs.satfinite.e4m3x4.f32"), "proved", ""),
    "three floats with random bits": (
        change(call("cvt.rs.satfinite.e4m3x4.f32"), 1, shape=[32, 2, 3], layout="S[(32,2,3):(1@laneid,3,1)]"),
        "refuted",
        "a.shape",
    ),
    "pairs of 8-bit floats before sm_89": (call("cvt.rn.satfinite.e4m3x2.f32", arch="sm_86"), "refuted", "opcode"),
    "two halves packed": (call("mov.b32", 1), "proved", ""),
    "a word unpacked": (call("mov.b32", 2), "proved", ""),
    "four halves packed": (call("mov.b64", 3), "proved", ""),
    "three halves packed": (
        change(call("mov.b32", 1), 1, shape=[32, 2, 3], layout="S[(32,2,3):(1@laneid,3,1)]"),
        "refuted",
        "a.storage a.shape",
    ),
    "halves packed into memory": (change(call("mov.b32", 1), 0, space="shared", layout="S[(32,2,1):(2,1,1)]"), "refuted", "d.storage"),
    "a third input of max in memory": (change(call("max.f32", 1), 3, space="shared", layout="S[(32,2,1):(2,1,1)]"), "refuted", "c.storage"),
    "both halves of an unpacked word in one register": (
        change(call("mov.b32", 2), 0, layout="S[(32,2,2):(1@laneid,1,0)]"),
        "refuted",
        "d.distinct",
    ),
    "two repeats in one register": (change(call("add.f32"), 0, layout="S[(32,2,1):(1@laneid,0,1)]"), "refuted", "d.distinct"),
    "a source is one register for all repeats": (change(call("add.f32"), 1, layout="S[(32,2,1):(1@laneid,0,1)]"), "proved", ""),
    "a result in two places": (change(call("add.f32"), 0, layout="S[(32,2,1):(1@laneid,1,1)] + R[2:4]"), "refuted", "d.replica"),
    "the lanes of a source reversed": (change(call("add.f32"), 2, layout="S[(32,2,1):(-1@laneid,1,1)] + 31@laneid"), "refuted", "b.owner"),
    "no suffix": (change(call("add.f32"), 1, shape=[32, 2], layout="S[(32,2):(1@laneid,1)]"), "refuted", "a.shape"),
    "other repeats": (change(call("add.f32"), 1, shape=[32, 3, 1], layout="S[(32,3,1):(1@laneid,1,1)]"), "refuted", "a.shape"),
    "a source in shared memory": (change(call("add.f32"), 1, space="shared", layout="S[(32,2,1):(2,1,1)]"), "refuted", "a.storage"),
    "bf16 sums before sm_90": (call("add.bf16", arch="sm_80"), "refuted", "opcode"),
    "registers beyond the allocation": (change(call("add.f32"), 1, size_bytes=4), "refuted", "a.backing"),
    "some lanes of a warp": (
        call("add.f32")
        | {
            "guard": "laneid < 8",
            "operands": [{**o, "shape": [8, 2, 1], "layout": o["layout"].replace("32", "8")} for o in call("add.f32")["operands"]],
        },
        "proved",
        "",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_as_the_sentence_says(name):
    document, expect, clause = CASES[name]
    verdict = check(read_call(document), audit=True)
    assert verdict.status == expect, [(c.id, c.reason) for c in verdict.failing]
    assert failing(verdict) == set(clause.split())


@pytest.mark.parametrize("name", CASES)
def test_the_evaluator_says_the_same(name):
    found = read_call(CASES[name][0])
    assert disagreements(found, check(found), 2_000_000) == []


@pytest.mark.parametrize("form", tuple(register_forms()), ids=lambda form: form.name)
def test_a_form_for_the_gpu_is_proved(form):
    verdict = check(read_call(form.document), audit=True)
    assert verdict.status == "proved"
    assert [hazard.id for hazard in verdict.hazards] == (["alias"] if "reads what" in form.name else [])


@pytest.mark.parametrize(
    "mnemonic", ["mov", "add", "sub", "mul", "div", "fma", "min", "max", "abs", "neg", "sqrt", "rcp", "ex2", "lg2", "cvt"]
)
def test_every_form_is_proved_by_structure_alone(mnemonic):
    for opcode in (one for one in spellings() if one.startswith(f"{mnemonic}.")):
        for contract in forms_of(opcode):
            verdict = check(read_call(register_document(opcode, contract)))
            assert verdict.status == "proved", opcode
            assert {clause.method for clause in verdict.clauses} == {"structure"}


def test_python_takes_terms_and_text():
    n = symbol("n", min=0, max=5)
    d, a = (Tensor(name, (1,), "int32", space="register") for name in "DA")
    for value in (n, 2 * n + 1, "n + laneid", "select(elected, n, 7)", sympy.Symbol("n") * 3):
        found = apply("add.s32", d, a, Scalar("b", value), scope="thread", symbols=[n])
        assert check(found, audit=True).status == "proved"
        assert found.substitute(n=3).symbols == ()
        assert read_call(found.to_json()) == found
    with pytest.raises(InputError, match="is a condition"):
        apply("add.s32", d, a, Scalar("b", "n > 0"), scope="thread", symbols=[n])


def test_python_takes_plain_numbers_and_expressions_as_operands():
    n = symbol("n", min=0, max=5)
    d, a = (Tensor(name, (1,), "float32", space="register") for name in "DA")
    for value in (3, 3.0, "n + 1", n, np.int32(3), np.float32(1.5), np.float64(0.1), sympy.Symbol("n") * 3):
        found = apply("add.f32", d, a, value, scope="thread", symbols=[n])
        assert check(found, audit=True).status == "proved"
        assert read_call(json.loads(json.dumps(found.to_json()))) == found
    for value in (None, [1], True, n > 0, "q", "n > 0", Fraction(1, 3), np.zeros(1), object()):
        with pytest.raises(InputError, match=r"^\.operands\[2\]: "):
            apply("add.f32", d, a, value, scope="thread", symbols=[n])  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_no_operand_is_an_infinity_or_nan(value):
    d, a = (Tensor(name, (1,), "float32", space="register") for name in "DA")
    document = json.dumps(apply("add.f32", d, a, 1, scope="thread").to_json()).replace('"value": 1}', '"value": 1e400}')
    with pytest.raises(InputError, match="expected a finite number that a float64 holds"):
        Scalar("s", value)
    with pytest.raises(InputError, match=r"^\.operands\[2\]: .* expected a finite number"):
        apply("add.f32", d, a, value, scope="thread")
    with pytest.raises(InputError, match=r"\$\.operands\[2\]\.value: found inf"):
        read_text(document, where="x")
    largest = apply("add.f64", *(Tensor(name, (1,), "float64", space="register") for name in "DA"), 1.7976931348623157e308, scope="thread")
    assert check(largest, audit=True).status == "proved"


def decided(opcode: str, dtype: str, value: str, n: tuple[int, int], m: tuple[int, int]) -> tuple[str, dict[str, int] | None]:
    """The status of an operation on an expression of n and m, and their values in the counterexample."""
    symbols = [symbol("n", min=n[0], max=n[1]), symbol("m", min=m[0], max=m[1])]
    d, a = (Tensor(name, (1,), dtype, space="register") for name in "DA")
    verdict = check(apply(opcode, d, a, value, scope="thread", symbols=symbols))
    found = next((clause.counterexample for clause in verdict.clauses if clause.counterexample is not None), None)
    return verdict.status, None if found is None else dict(found.symbols)


def test_a_term_with_itself_is_folded_before_the_question_is_asked():
    wide = (0, (1 << 32) - 1)
    assert decided("add.u32", "uint32", "((n ^ n) * (m + n)) | tdiv(m | n, 10)", wide, (-5, 5)) == ("proved", None)


def test_where_every_tier_abstains_the_first_point_may_refute():
    wide, narrow = (0, 1 << 62), (-(1 << 15), (1 << 15) - 1)
    assert decided("add.u16", "uint16", "65536 ^ (n * m)", wide, narrow) == ("refuted", {"n": 0, "m": 0})
    assert decided("add.u16", "uint16", "65535 ^ (n * m)", wide, narrow)[0] == "unproved"
    assert decided("add.u16", "uint16", "(65535 ^ (n * m)) + m // 9", wide, narrow) == ("refuted", {"n": 0, "m": 9})


def predicted(document: Json, **values: int | list[int]) -> list[list[Any]]:
    contract = find_contract(document["opcode"])
    assert isinstance(contract, Contract)
    return Model(data(contract), document).predict(values).registers


def test_a_pack_has_its_first_part_in_the_low_half():
    rows = {tuple(row[3:5]): row[5] for row in predicted(call("mov.b32", 1))}
    assert rows[7, 1] == [["A", [0, 0, 7, slot, byte]] for slot in (2, 3) for byte in (0, 1)]


def test_an_unpack_has_the_low_half_first():
    rows = {tuple(row[3:5]): row[5] for row in predicted(call("mov.b32", 2))}
    assert rows[7, 2] == [["A", [0, 0, 7, 1, byte]] for byte in (0, 1)]
    assert rows[7, 3] == [["A", [0, 0, 7, 1, byte]] for byte in (2, 3)]


def test_arithmetic_names_its_sources():
    row = next(row for row in predicted(call("fma.rz.f32")) if row[3:5] == [7, 1])
    sources = [["f32", [name, [0, 0, 7, 1], 0]] for name in "ABC"]
    assert row[5:] == [None, "computed", {"by": "fma.rz", "entries": [{"bit": 0, "bits": 32, "type": "f32", "of": sources}]}]


def test_a_pair_is_computed_half_by_half():
    row = next(row for row in predicted(call("cvt.rn.f16x2.f32")) if row[3:5] == [7, 1])
    assert [(one["bit"], one["of"][0][1][0]) for one in row[7]["entries"]] == [(0, "B"), (16, "A")]
    halves = predicted(number(call("fma.rn.f16x2"), 3, 0x3C00BC00))[0][7]["entries"]
    assert [one["of"][2][1] for one in halves] == [{"bits": 0xBC00}, {"bits": 0x3C00}]


@pytest.mark.parametrize(
    ("opcode", "place", "number_", "sources"),
    [
        ("cvt.rn.f16x2.f32", 1, 1.5, [None, 1.5]),
        ("cvt.rn.bf16x2.f32", 2, 3, [3, None]),
        ("cvt.rn.satfinite.e4m3x2.f32", 1, 0.25, [None, 0.25]),
        ("cvt.rz.satfinite.ue8m0x2.f32", 2, 2.0, [2.0, None]),
        ("add.f16x2", 2, 0x3C003800, [{"bits": 0x3800}, {"bits": 0x3C00}]),
        ("add.f32x2", 2, -1, [{"bits": 0xFFFFFFFF}, {"bits": 0xFFFFFFFF}]),
        ("add.f32", 2, 1.5, [1.5]),
        ("add.s32", 2, -1, [-1]),
    ],
)
def test_a_number_is_bits_where_the_register_in_whose_place_it_stands_holds_several(opcode, place, number_, sources):
    """sources: what stands in the place of the number for each part of the result, None where the part has another source."""
    entries = predicted(number(call(opcode), place, number_))[0][7]["entries"]
    found = [[source for _, source in one["of"] if not isinstance(source, list)] for one in entries]
    assert found == [[] if source is None else [source] for source in sources]


def test_an_expression_is_a_number_of_a_pair_that_is_converted():
    entries = predicted(symbolic(call("cvt.rn.f16x2.f32"), 1, "n * n"), n=-3)[0][7]["entries"]
    assert entries[1]["of"] == [["f32", 9]]
    packed = predicted(symbolic(call("add.f16x2"), 2, "n"), n=-3)[0][7]["entries"]
    assert [one["of"][1][1] for one in packed] == [{"bits": 0xFFFD}, {"bits": 0xFFFF}]


def test_a_number_is_moved():
    rows = predicted(symbolic(call("mov.u32"), 1, "n * n"), n=-3)
    assert {json.dumps(row[7]["entries"][0]["of"]) for row in rows} == {'[["u32", 9]]'}


def test_a_symbol_of_each_lane_has_its_own_value():
    lanes = list(range(32))
    rows = predicted(symbolic(call("add.s32"), 2, "n + laneid", varies="thread"), n=lanes)
    assert all(row[7]["entries"][0]["of"][1] == ["s32", 2 * row[3]] for row in rows)


def test_what_reads_what_an_earlier_instruction_wrote_is_not_predicted():
    document = call("add.f32")
    document["operands"][0] |= {"tensor": "X", "layout": "S[(32,2,1):(1@laneid,1,1)] + 1"}
    document["operands"][1] |= {"tensor": "X"}
    with pytest.raises(UnpredictedError, match="earlier instruction"):
        predicted(document)


# --- mutants ---------------------------------------------------------------------------------------------------------

MUTANTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {}


def mutant(function: Callable[[pytest.MonkeyPatch], None]) -> Callable[[pytest.MonkeyPatch], None]:
    MUTANTS[function.__name__] = function
    return function


def every(patch: pytest.MonkeyPatch, changed: Callable[[Contract], Contract]) -> None:
    original = table.find_entry

    def entry(mnemonic: str) -> Any:
        found = original(mnemonic)
        return found and dataclasses.replace(found, contract=lambda q: changed(found.contract(q)))

    patch.setattr(table, "_contracts", {})
    patch.setattr(table, "find_entry", entry)


def registers(patch: pytest.MonkeyPatch, changed: Callable[[Register], Register]) -> None:
    every(patch, lambda c: dataclasses.replace(c, operands=tuple(changed(o) if isinstance(o, Register) else o for o in c.operands)))


@mutant
def results_are_only_read(patch):
    registers(patch, lambda o: dataclasses.replace(o, write=False))


@mutant
def any_type_will_do(patch):
    registers(patch, lambda o: dataclasses.replace(o, dtypes=None))


@mutant
def no_number_will_do(patch):
    registers(patch, lambda o: dataclasses.replace(o, number=""))


@mutant
def results_may_be_numbers(patch):
    registers(patch, lambda o: dataclasses.replace(o, number=o.number or "f32"))


@mutant
def there_are_no_variants(patch):
    every(patch, lambda contract: dataclasses.replace(contract, variants=()))


@mutant
def a_variant_needs_no_architecture(patch):
    every(patch, lambda c: dataclasses.replace(c, variants=tuple(dataclasses.replace(v, arch="sm_75") for v in c.variants)))


@mutant
def every_number_fits(patch):
    patch.setattr(operands, "number_fault", lambda *_: None)


@mutant
def any_expression_fits(patch):
    patch.setattr(scalars, "clauses", lambda _: iter(()))


@mutant
def floats_hold_one_integer_more(patch):
    patch.setattr(scalars, "WHOLE", {name: most + 1 for name, most in scalars.WHOLE.items()})


@mutant
def the_first_variant_is_taken(patch):
    patch.setattr(checking, "chosen", lambda contract, _: contract.variants[0] if contract.variants else contract)


def red(document: Json, expect: str, clause: str) -> bool:
    try:
        verdict = check(read_call(document))
    except DisagreementError:
        return True
    return verdict.status != expect or failing(verdict) != set(clause.split())


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_noticed(name, monkeypatch):
    MUTANTS[name](monkeypatch)
    assert any(red(*case) for case in CASES.values())


# --- random expressions ----------------------------------------------------------------------------------------------

TYPED = ("add.s16", "add.u16", "add.s32", "add.u32", "add.s64", "add.f16", "add.f32", "add.bf16", "fma.rn.f16x2")


def random_expression(rng: random.Random, depth: int = 0) -> str:
    if depth > 2 or rng.random() < 0.3:
        return rng.choice(("n", "k", "laneid", "warpid", str(rng.choice((0, 1, 3, 7, 255, 256, 2047, 32767, 65535, 1 << 24)))))
    a, b = (random_expression(rng, depth + 1) for _ in range(2))
    forms = (f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"min({a}, {b})", f"max({a}, {b})", f"({a} // {b})", f"({a} % {b})")
    return rng.choice((*forms, f"select({a} < {b}, {a}, {b})", f"select(elected, {a}, {b})"))


def test_random_expressions_are_decided_alike_by_prover_and_evaluator():
    rng, seen = random.Random(11), {"proved": 0, "refuted": 0}
    for number_ in range(80):
        opcode = rng.choice(TYPED)
        place = rng.randrange(1, len(forms_of(opcode)[0].operands))
        document = number(call(opcode, repeats=1), place, random_expression(rng))
        low = rng.randint(-6, 2)
        symbols = [
            {"name": "n", "min": low, "max": low + rng.randint(0, 5)},
            {"name": "k", "min": 0, "max": 2, "varies": rng.choice(("grid", "warp", "thread"))},
        ]
        document |= {"symbols": symbols, "id": f"random {number_}"}
        if rng.random() < 0.4:
            document["parameters"] = {"pred": rng.choice(("n > 0", "laneid < 20", "k != 1", "n * k >= 0"))}
        found = read_call(document)
        verdict = check(found, audit=number_ % 4 == 0)
        assert verdict.status in seen, (document["operands"][place], verdict.summary())
        assert disagreements(found, verdict, 2_000_000) == [], document["operands"][place]
        seen[verdict.status] += 1
    assert min(seen.values()) > 12, seen
