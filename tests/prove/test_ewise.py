"""Scalar compositions: a case for every rule, agreed on by prover, SMT and evaluator; random calls; aliases of registers, exactly."""

from __future__ import annotations

import copy
import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_cases import disagreements, failing

import tilecheck
from tests.gpu.ewise_forms import ewise_forms
from tests.scalar.calls import document, function, registers
from tests.scalar.functions import functions
from tilecheck import InputError, Launch, Tensor, View, apply, check, ewise, symbol
from tilecheck.document import read_call
from tilecheck.errors import DisagreementError
from tilecheck.evaluate import Model
from tilecheck.evaluate.predict import UnpredictedError
from tilecheck.fitting import contract_for
from tilecheck.prove import check as checking
from tilecheck.scalar import show
from tilecheck.spec import data, find_contract

Json = dict[str, Any]
SILU = ([["x", "float32"], ["scale", "float32"]], "float32", "let y = x / (1 + exp(-x)) in select(y > 0, y * scale, y)")
ADD = ([["x", "int32"], ["y", "int32"]], "int32", "x + y")


def call(made=SILU, repeats: int = 4, **more: Any) -> Json:
    return document(*made, repeats, **more)


def change(found: Json, number: int, **fields: Any) -> Json:
    changed = copy.deepcopy(found)
    changed["operands"][number] |= fields
    return changed


def operand(found: Json, number: int, one: Json) -> Json:
    changed = copy.deepcopy(found)
    changed["operands"][number] = one
    return changed


def without(found: Json, *keys: str) -> Json:
    return {key: value for key, value in found.items() if key not in keys}


def number(value: object) -> Json:
    return {"name": "s", "value": value}


def shaped(shape: list[int], layout: str, **more: Any) -> Json:
    return {"shape": shape, "layout": layout, **more}


def warps(made=SILU, block: int = 64, **more: Any) -> Json:
    found = call(made, scope="cta", launch={"block": [block]}, **more)
    shape = shaped([block // 32, 32, 4], f"S[({block // 32},32,4):(1@warpid,1@laneid,1)]")
    return found | {"operands": [one | shape for one in found["operands"]]}


BROADCAST = {"view": [{"op": "broadcast", "shape": [32, 4]}]}
CASES: dict[str, tuple[Json, str, str]] = {
    "silu": (call(), "proved", ""),
    "a number for all elements": (operand(call(), 2, number(0.5)), "proved", ""),
    "only numbers": (operand(operand(call(), 1, number(1)), 2, number(0.5)), "proved", ""),
    "a number as the result": (operand(call(), 0, number(1)), "refuted", "operands"),
    "a number that the type does not hold": (operand(call(ADD), 2, number(1 << 31)), "refuted", "operands"),
    "a fraction for an integer": (operand(call(ADD), 2, number(0.5)), "refuted", "operands"),
    "a number beyond the type": (operand(call(), 2, number(1e39)), "refuted", "operands"),
    "the largest number of the type": (operand(call(), 2, number(3.4028235e38)), "proved", ""),
    "a number that rounds beyond the type": (operand(call(([["x", "float16"]], "float16", "-x")), 1, number(65520)), "refuted", "operands"),
    "a number that rounds into the type": (operand(call(([["x", "float16"]], "float16", "-x")), 1, number(65519.99)), "proved", ""),
    "one input too few": (call() | {"operands": call()["operands"][:2]}, "refuted", "operands"),
    "one input too many": (call() | {"operands": [*call()["operands"], number(1)]}, "refuted", "operands"),
    "no inputs, as the function has none": (call(([], "uint8", "200"), 2), "proved", ""),
    "no function": (without(call(), "function"), "refuted", "operands"),
    "a function for an instruction": (call() | {"opcode": "add.f32"}, "refuted", "operands"),
    "a parameter that nobody knows": (call(parameters={"mbar": "shared"}), "refuted", "operands"),
    "preserve_dst without pred": (call(parameters={"preserve_dst": True}), "refuted", "operands"),
    "a predicate": (call(parameters={"pred": "laneid < 3", "preserve_dst": True}), "proved", ""),
    "an exponential of doubles": (call(([["x", "float64"]], "float64", "exp(x)")), "refuted", "operands"),
    "bits of floats": (call(([["x", "float32"]], "float32", "x & x")), "refuted", "operands"),
    "a true quotient of integers": (call(([["x", "int32"]], "int32", "x / x")), "refuted", "operands"),
    "sums of bytes": (call(([["x", "int8"]], "int8", "x + x")), "refuted", "operands"),
    "bytes by wider integers": (call(([["x", "int8"]], "int8", "int8(int16(x) * 2)")), "proved", ""),
    "an input of another type": (change(call(), 1, dtype="int32"), "refuted", "x.type"),
    "raw bits as an input": (change(call(), 1, dtype="bits32"), "refuted", "x.type"),
    "an unsigned input for a signed one": (change(call(ADD), 2, dtype="uint32"), "refuted", "y.type"),
    "a result of another type": (change(call(), 0, dtype="uint32"), "refuted", "dst.type"),
    "an input of another width": (change(call(), 1, dtype="float16"), "refuted", "x.storage"),
    "a result of another width": (change(call(), 0, dtype="float64"), "refuted", "dst.storage"),
    "an input in shared memory": (change(call(), 1, space="shared", layout="S[(32,4):(4,1)]"), "refuted", "x.storage"),
    "a result in global memory": (change(call(), 0, space="global", layout="S[(32,4):(4,1)]"), "refuted", "dst.storage"),
    "halves of words, viewed as halves": (
        operand(
            call(([["x", "float16"]], "float16", "x * 2")), 1, registers("X", "uint32", 2) | {"view": [{"op": "view", "dtype": "float16"}]}
        ),
        "proved",
        "",
    ),
    "other repeats": (change(call(), 1, **shaped([32, 3], "S[(32,3):(1@laneid,1)]")), "refuted", "x.shape"),
    "a suffix is a repeat": (change(call(), 1, **shaped([32, 4, 1], "S[(32,4,1):(1@laneid,1,1)]")), "refuted", "x.shape"),
    "no group axis": (change(call(), 1, **shaped([4], "S[4:1]")), "refuted", "x.shape"),
    "several repeat axes": (
        call() | {"operands": [one | shaped([32, 2, 3], "S[(32,2,3):(1@laneid,3,1)]") for one in call()["operands"]]},
        "proved",
        "",
    ),
    "no repeat axes": (call() | {"operands": [one | shaped([32], "S[32:1@laneid]") for one in call()["operands"]]}, "proved", ""),
    "a tensor broadcast by zero strides": (operand(call(), 2, registers("S", "float32", 1) | BROADCAST), "proved", ""),
    "a tensor of one element without a broadcast": (operand(call(), 2, registers("S", "float32", 1)), "refuted", "scale.shape"),
    "a result broadcast": (operand(call(), 0, registers("D", "float32", 1) | BROADCAST), "refuted", "dst.distinct"),
    "a source of one lane for all lanes": (change(call(), 1, **shaped([32, 4], "S[(32,4):(0,1)]")), "refuted", "x.owner"),
    "a result in two places": (change(call(), 0, layout="S[(32,4):(1@laneid,1)] + R[2:4]"), "refuted", "dst.replica"),
    "two elements in one register": (change(call(), 0, layout="S[(32,4):(1@laneid,0)]"), "refuted", "dst.distinct"),
    "an input in reversed lanes": (change(call(), 1, layout="S[(32,4):(-1@laneid,1)] + 31@laneid"), "refuted", "x.owner"),
    "a result in the next lane": (change(call(), 0, layout="S[(32,4):(1@laneid,1)] + 1@laneid"), "refuted", "dst.owner"),
    "registers in any order": (change(call(), 1, layout="S[(32,4):(1@laneid,-2)] + 6"), "proved", ""),
    "an input outside its axis": (
        operand(call(), 1, registers("X", "float32", 4) | {"view": [{"op": "slice", "begin": [0, 1], "extent": [32, 4]}]}),
        "refuted",
        "x.bounds",
    ),
    "a start that is known": (
        operand(
            call(symbols=[{"name": "n", "min": 0, "max": 3}]),
            1,
            registers("X", "float32", 8) | {"view": [{"op": "slice", "begin": [0, "n"], "extent": [32, 4]}]},
        ),
        "proved",
        "",
    ),
    "a start beyond the registers": (
        operand(
            call(symbols=[{"name": "n", "min": 0, "max": 6}]),
            1,
            registers("X", "float32", 8) | {"view": [{"op": "slice", "begin": [0, "n"], "extent": [32, 4]}]},
        ),
        "refuted",
        "x.bounds",
    ),
    "registers beyond the allocation": (change(call(), 1, size_bytes=12), "refuted", "x.backing"),
    "two warps": (warps(), "proved", ""),
    "a partial last warp": (warps(block=64) | {"launch": {"block": [40]}}, "refuted", "participation"),
    "some lanes": (
        call(guard="laneid < 8") | {"operands": [one | shaped([8, 4], "S[(8,4):(1@laneid,1)]") for one in call()["operands"]]},
        "proved",
        "",
    ),
    "lanes that are no product": (warps() | {"guard": "warpid == 0 or laneid == 1"}, "refuted", "participation"),
    "brain floats before sm_90": (call(([["x", "bfloat16"]], "bfloat16", "x + 1"), arch="sm_86"), "refuted", "opcode"),
    "brain floats from sm_90 on": (call(([["x", "bfloat16"]], "bfloat16", "x + 1"), arch="sm_90a"), "proved", ""),
    "fused brain floats from sm_80 on": (call(([["x", "bfloat16"]], "bfloat16", "fma(x, x, x)"), arch="sm_80"), "proved", ""),
    "a qualifier": (call() | {"opcode": "ewise.f32"}, "refuted", "opcode"),
    "nobody": (call(guard="laneid > 31"), "vacuous", ""),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_as_the_sentence_says(name):
    found, expect, clause = CASES[name]
    verdict = check(read_call(found), audit=True)
    assert verdict.status == expect, [(c.id, c.reason) for c in verdict.failing]
    assert failing(verdict) == set(clause.split())


@pytest.mark.parametrize("name", CASES)
def test_the_evaluator_says_the_same(name):
    found = read_call(CASES[name][0])
    assert disagreements(found, check(found), 2_000_000) == []


@pytest.mark.parametrize("form", [form for form in ewise_forms() if " of " not in form.name], ids=lambda form: form.name)
def test_a_form_for_the_gpu_is_proved_without_hazards(form):
    verdict = check(read_call(form.document), audit=True)
    assert verdict.status == "proved"
    assert verdict.hazards == ()


def test_every_operation_is_proved_by_structure_alone():
    for form in ewise_forms():
        if " of " in form.name:
            verdict = check(read_call(form.document))
            assert verdict.status == "proved", form.name
            assert {clause.method for clause in verdict.clauses} == {"structure"}


@settings(max_examples=60, deadline=None)
@given(functions(), st.sampled_from(("x", "uint32", "float32", "float16", "int8")))
def test_a_random_function_has_the_verdict_of_the_evaluator(made, dtype):
    """On operands that fit, and on ones of a type that may not."""
    params, result, node = made
    found = document(params, result, show(node), 2)
    if dtype != "x":
        found = change(found, 1, dtype=dtype)
    one = read_call(found)
    verdict = check(one, audit=True)
    assert disagreements(one, verdict, 100_000) == []
    assert (verdict.status == "proved") == (dtype in {"x", params[0][1]})


# --- aliases -------------------------------------------------------------------------------------------------------

ONE = ([["x", "float32"]], "float32", "x + 1")


def moved(first: int, second: int, count: int, strides: tuple[int, int] = (1, 1)) -> Json:
    """ewise(f, R[first...], R[second...]) in one thread."""
    operands = [
        {
            "name": name,
            "tensor": "R",
            "space": "register",
            "dtype": "float32",
            "shape": [count],
            "layout": f"S[{count}:{stride}] + {start}",
            "size_bytes": 256,
        }
        for name, start, stride in (("D", first, strides[0]), ("X", second, strides[1]))
    ]
    return {"schema": "tilecheck/call@1", "opcode": "ewise", "scope": "thread", "function": function(*ONE), "operands": operands}


@pytest.mark.parametrize(
    ("first", "second", "hazards"), [(1, 0, ["alias"]), (0, 1, []), (0, 0, []), (7, 0, []), (6, 0, ["alias"]), (0, 6, []), (0, 7, [])]
)
def test_an_element_that_is_overwritten_before_it_is_read_is_an_alias(first, second, hazards):
    """ewise(f, R[1:8], R[0:7]) is one: each element reads what the one before wrote."""
    found = read_call(moved(first, second, 7))
    verdict = check(found, audit=True)
    assert verdict.status == "proved"
    assert [hazard.id for hazard in verdict.hazards] == hazards
    assert disagreements(found, verdict, 100_000) == []


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 12), st.integers(0, 12), st.integers(1, 6), st.sampled_from((1, 2, 3, -1)), st.sampled_from((0, 1, 2, 3, -1)))
def test_aliases_are_exact(first, second, count, stride, other):
    """The hazard stands exactly where computing in order differs from computing all at once."""
    first, second = first + (count if stride < 0 else 0), second + (count if other < 0 else 0)
    written, read = [first + stride * k for k in range(count)], [second + other * k for k in range(count)]
    later = any(read[k] in written[:k] for k in range(count))
    verdict = check(read_call(moved(first, second, count, (stride, other))))
    assert verdict.status == "proved"
    assert [hazard.id for hazard in verdict.hazards] == (["alias"] if later else [])


def plain_registers(name: str = "R") -> Tensor:
    return Tensor(name, (8,), "float32", space="register")


def test_views_of_one_tensor_object_are_of_one_allocation():
    r = plain_registers()
    hazards = {k: [h.id for h in check(ewise(function(*ONE), r[k:7], r[0 : 7 - k]), audit=True).hazards] for k in (0, 1, 2)}
    assert hazards == {0: [], 1: ["alias"], 2: ["alias"]}
    assert [h.id for h in check(read_call(ewise(function(*ONE), r[1:8], r[0:7]).to_json()), audit=True).hazards] == ["alias"]
    assert not check(ewise(function(*ONE), r[0:7], r[1:8]), audit=True).hazards


def test_views_of_two_tensor_objects_of_one_name_are_not():
    assert not check(ewise(function(*ONE), plain_registers()[1:8], plain_registers()[0:7]), audit=True).hazards
    other, r = plain_registers(), plain_registers()
    call = apply("fma.rn.f32", r[1:8], r[0:7], r[0:7], other[0:7], scope="thread")
    assert [o.tensor.tensor for o in call.operands if isinstance(o, View)] == ["R_2", "R_2", "R_2", None]


def test_one_of_several_inputs_may_alias():
    found = call(ADD)
    found["operands"] = [
        registers("D", "int32", 4, tensor="R"),
        registers("X", "int32", 4),
        registers("Y", "int32", 5, tensor="R")
        | {"layout": "S[(32,5):(1@laneid,1)]", "view": [{"op": "slice", "begin": [0, 0], "extent": [32, 4]}]},
    ]
    assert check(read_call(found)).hazards == ()
    found["operands"][0] = registers("D", "int32", 5, tensor="R") | {"view": [{"op": "slice", "begin": [0, 1], "extent": [32, 4]}]}
    assert [hazard.id for hazard in check(read_call(found), audit=True).hazards] == ["alias"]


def test_the_size_that_one_operand_declares_binds_the_others_of_its_allocation():
    found = moved(0, 0, 5)
    del found["operands"][0]["size_bytes"]
    found["operands"][1] = {**found["operands"][1], "shape": [5], "layout": "S[5:0]", "size_bytes": 16}
    one = read_call(found)
    verdict = check(one, audit=True)
    assert failing(verdict) == {"dst.backing"}
    assert disagreements(one, verdict, 100_000) == []


# --- random registers ----------------------------------------------------------------------------------------------


@st.composite
def placed(draw, name: str, dtype: str, shape: tuple[int, ...], axes: tuple[str, ...]) -> Json:
    """A register operand whose factors are mostly those of the threads, with strides, offsets and replicas of any kind."""
    odd = draw(st.integers(0, 5)) == 0
    strides = []
    for k, _ in enumerate(shape):
        thread = f"{draw(st.sampled_from((1, 1, 1, 0, -1) if odd else (1,)))}@{axes[k]}" if k < len(axes) else None
        strides.append(thread or str(draw(st.sampled_from((0, 1, 2, 3, -1, 4)))))
    text = f"S[({','.join(map(str, shape))}):({','.join(strides)})]"
    if odd and draw(st.booleans()):
        text += f" + R[2:{draw(st.sampled_from((0, 3, 16)))}]"
    text += f" + {draw(st.integers(0, 6))}"
    if odd and draw(st.booleans()):
        text += f" + {draw(st.integers(0, 3))}@laneid"
    found = {"name": name, "space": "register", "dtype": dtype, "shape": list(shape), "layout": text}
    found |= {"tensor": draw(st.sampled_from(("R", "S")))} if draw(st.booleans()) else {}
    return found | ({"size_bytes": draw(st.sampled_from((16, 64, 256)))} if draw(st.booleans()) else {})


@st.composite
def random_calls(draw) -> Json:
    scope, lanes = draw(st.sampled_from(("thread", "warp", "cta"))), draw(st.sampled_from((4, 32)))
    group = {"thread": (), "warp": (lanes,), "cta": (2, lanes)}[scope]
    axes = {"thread": (), "warp": ("laneid",), "cta": ("warpid", "laneid")}[scope]
    repeat = draw(st.sampled_from(((), (1,), (3,), (2, 2))))
    types = draw(st.lists(st.sampled_from(("float32", "uint32", "int16")), min_size=2, max_size=3))
    params = [[name, type_] for name, type_ in zip("xyz", types[1:], strict=False)]
    body = f"{types[0]}({' + '.join(f'float64({name})' for name, _ in params)})"
    operands = [draw(placed(name, type_, (*group, *repeat), axes)) for name, type_ in zip("DXYZ", types, strict=False)]
    if draw(st.integers(0, 4)) == 0:
        operands[-1] = {"name": "n", "value": draw(st.sampled_from((0, 1, -1, 40_000, 0.5)))}
    found: Json = {
        "schema": "tilecheck/call@1",
        "opcode": "ewise",
        "scope": scope,
        "launch": {"block": [64 if scope == "cta" else 32]},
        "function": function(params, types[0], body),
        "operands": operands,
    }
    if lanes == 4:
        found["guard"] = "laneid < 4"
    if draw(st.integers(0, 3)) == 0:
        found["parameters"] = {"pred": draw(st.sampled_from(("laneid == 1", "laneid < 2 and warpid == 0", "laneid > 40")))}
    return found


@settings(max_examples=200, deadline=None)
@given(random_calls())
def test_prover_and_evaluator_agree_on_random_registers(document_):
    found = read_call(document_)
    assert disagreements(found, check(found, audit=True), 200_000) == []


# --- prediction ----------------------------------------------------------------------------------------------------


def predicted(found: Json, **values: int) -> list[list[Any]]:
    return Model(json.loads(json.dumps(data(find_contract("ewise")))), read_call(found).to_json()).predict(values).registers


def test_a_prediction_names_what_each_element_is_computed_from():
    found = operand(change(call(repeats=2), 1, layout="S[(32,2):(1@laneid,-3)] + 4"), 2, number(0.5))
    rows = predicted(found)
    assert len(rows) == 64
    sources = [["f32", ["X", [0, 0, 7, 1], 0]], ["f32", 0.5]]
    assert rows[15] == [
        "D",
        0,
        0,
        7,
        1,
        None,
        "computed",
        {"by": "ewise", "entries": [{"bit": 0, "bits": 32, "type": "f32", "of": sources}]},
    ]


def test_without_its_predicate_a_result_is_undefined_or_untouched():
    rows = predicted(call(ONE, 1, parameters={"pred": "laneid == 2"}))
    assert [row[6] for row in rows] == ["computed" if lane == 2 else "undefined" for lane in range(32)]
    rows = predicted(call(ONE, 1, parameters={"pred": "laneid == 2", "preserve_dst": True}))
    assert [row[3] for row in rows] == [2]


def test_an_element_that_reads_what_another_wrote_is_not_predicted():
    with pytest.raises(UnpredictedError, match="slot 1 is read after"):
        predicted(moved(1, 0, 7))
    assert len(predicted(moved(0, 1, 7))) == 7


# --- the clauses have teeth ----------------------------------------------------------------------------------------


def test_a_prover_that_overlooks_a_type_is_found_out(monkeypatch):
    monkeypatch.setattr(checking.operands, "type_findings", lambda _: [])
    with pytest.raises(DisagreementError):
        check(read_call(CASES["an input of another type"][0]), audit=True)


def test_a_prover_that_overlooks_the_function_is_found_out(monkeypatch):
    monkeypatch.setattr(checking.operands, "function_findings", lambda *_: [])
    with pytest.raises(DisagreementError):
        check(read_call(CASES["an exponential of doubles"][0]), audit=True)


@pytest.mark.parametrize("name", ["an input of another type", "bytes by wider integers", "a result of another width"])
def test_a_composition_with_another_type_is_found_out(name, monkeypatch):
    from tilecheck import fitting

    real = fitting.composed

    def wrong(contract, made):
        found = real(contract, made)
        operands = tuple(dataclasses.replace(one, dtypes=("int32", "uint8", "float64"), bits=64) for one in found.operands)
        return dataclasses.replace(found, operands=operands)

    monkeypatch.setattr(fitting, "composed", wrong)
    fitting._composed.cache_clear()
    try:
        with pytest.raises(DisagreementError):
            check(read_call(CASES[name][0]), audit=True)
    finally:
        fitting._composed.cache_clear()


# --- Python --------------------------------------------------------------------------------------------------------


def silu_affine(x: float32, scale: float32, bias: float32) -> float32:  # noqa: F821 (names of types, never evaluated)
    """Read, never run."""
    y = x / (T.float32(1) + T.exp(-x))  # noqa: F821
    return y * scale + bias


def test_the_example_of_the_specification_is_proved():
    r = Tensor("R", (2, 32, 4), "float32", space="register", layout="S[(2,32,4):(1@warpid,1@laneid,1)]")
    found = ewise(silu_affine, r, r, 2.0, 1, scope="cta", launch=Launch((64,)))
    assert found.function.body == "let y = (x / (float32(1) + exp((-x)))) in ((y * scale) + bias)"
    assert [getattr(one, "name", None) for one in found.operands[2:]] == ["scale", "bias"]
    verdict = check(found, audit=True)
    assert verdict.status == "proved"
    assert verdict.instructions == 4
    assert read_call(found.to_json()) == found


def test_a_call_keeps_its_function_when_symbols_are_replaced():
    n = symbol("n", min=0, max=4)
    r = Tensor("R", (8,), "float32", space="register")
    found = ewise({"params": [["x", "float32"]], "result": "float32", "body": "-x"}, r[0:4], r[n : n + 4])
    assert found.scope == "thread"
    assert found.substitute(n=2).function == found.function
    assert check(found.substitute(n=2)).status == "proved"
    assert check(found.substitute(n=5)).status == "vacuous"


def test_a_number_may_be_an_expression():
    n = symbol("n", min=0, max=100)
    r = Tensor("R", (4,), "int32", space="register")
    made = {"params": [["x", "int32"], ["y", "int32"]], "result": "int32", "body": "x + y"}
    assert check(ewise(made, r, r, n), audit=True).status == "proved"
    made["params"][1][1] = "int8"
    made["body"] = "x + int32(y)"
    m = symbol("m", min=0, max=200)
    assert failing(check(ewise(made, r, r, m), audit=True)) == {"y.type"}


def test_a_function_that_does_not_read_says_where():
    r = Tensor("R", (4,), "float32", space="register")
    with pytest.raises(InputError, match=r"\.body: column 5 of 'x \+ y'"):
        ewise({"params": [["x", "float32"]], "result": "float32", "body": "x + y"}, r, r)
    with pytest.raises(InputError, match="cannot be read"):
        ewise(len, r, r)


def test_the_contract_of_a_call_has_the_operands_of_its_function():
    found = contract_for(read_call(call()))
    assert [one.name for one in found.operands] == ["dst", "x", "scale"]
    assert tilecheck.ewise is ewise
