"""The statements of scalar functions, run by a model of the ISA, against the evaluator: every operation, random functions, and wrong tables that are noticed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings

from tests.scalar.calls import Json, document, function, name_of, operation_document, operations
from tests.scalar.functions import functions
from tests.scalar.machine import Machine
from tests.scalar.mutants import MUTANTS, TABLE, mutated
from tests.scalar.samples import rows
from tilecheck.document import read_call
from tilecheck.emit import emit_kernel_unchecked, emit_unchecked
from tilecheck.evaluate.scalar_numbers import WIDTH, decoded
from tilecheck.evaluate.scalar_values import ScalarFunction, just
from tilecheck.scalar import SCALAR_TYPES, Function, show
from tilecheck.scalar.compose import composed
from tilecheck.spec import Contract, data

SCALAR = json.loads(json.dumps(data(TABLE)))["scalar"]


def wrong_results(made: Json, contract: Contract, points: list[tuple[int, ...]]) -> list[str]:
    """Where the statements of a function leave something that the evaluator does not admit."""
    names = [name for name, _ in made["params"]]
    issue = composed(contract, Function(tuple(map(tuple, made["params"])), made["result"], made["body"])).issue
    text = issue.format(**{"@": "", "dst": "%out", **{name: f"%in_{name}" for name in names}})
    held = {
        f"%in_{name}": np.array([point[k] for point in points], dtype=np.dtype(f"u{max(WIDTH[type_], 16) // 8}"))
        for k, (name, type_) in enumerate(made["params"])
    }
    machine = Machine(held)
    machine.run(text)
    evaluated = ScalarFunction(made, SCALAR)
    found: list[str] = []
    for point, bits in zip(points, machine.registers["%out"].tolist(), strict=True):
        value = evaluated.value([just(type_, decoded(type_, b)) for (_, type_), b in zip(made["params"], point, strict=True)])
        low = bits % (1 << WIDTH[made["result"]])
        if not value.admits(low):
            found.append(f"{made['body']} of {point}: {decoded(made['result'], low)}, expected {value}")
    return found


def made_of(params, result, node) -> Json:
    return function(params, result, show(node))


@pytest.mark.parametrize("name", operations())
def test_an_operation_computes_what_the_evaluator_says(name):
    made = made_of(*operations()[name])
    assert wrong_results(made, TABLE, rows([type_ for _, type_ in made["params"]], 200)) == []


@settings(max_examples=200, deadline=None)
@given(functions())
def test_a_random_function_computes_what_the_evaluator_says(parts):
    made = made_of(*parts)
    assert wrong_results(made, TABLE, rows([type_ for _, type_ in made["params"]], 20)) == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: f"{name_of(one[0], one[1], one[2])}: {one[3]}")
def test_a_wrong_table_is_noticed(mutant):
    op, types, result, _, change = mutant
    made = made_of(*operations()[name_of(op, types, result)])
    assert wrong_results(made, mutated((op, types, result), change), rows([type_ for _, type_ in made["params"]], 200)) != []


def far(text: str, exact: Callable[[float], float], error: Callable[[float, float], float]) -> int:
    """At how many of 100 numbers some value that a function may give is farther from the exact one than an error of (argument, value) allows."""
    evaluated = ScalarFunction(function([["x", "float32"]], "float32", text), SCALAR)
    found = 0
    for number in map(float, np.linspace(0.1, 20, 100, dtype=np.float32)):
        value, wanted = evaluated.value([just("float32", number)]), exact(number)
        assert value.low is not None
        assert value.high is not None
        found += max(abs(value.low - wanted), abs(value.high - wanted)) > error(number, wanted) + float(np.spacing(np.float32(wanted)))
    return found


def test_exp_and_log_are_as_near_as_the_documentation_says():
    """The evaluator reads their definitions from the table, so they are compared with the exact functions."""

    def of_exp(number: float, wanted: float) -> float:
        return (2**-22 + abs(number) * 2**-23) * wanted

    def of_log(_: float, wanted: float) -> float:
        return 2**-22 * max(1.0, abs(wanted)) + 2**-22 * abs(wanted)

    assert far("exp(x)", math.exp, of_exp) == far("log(x)", math.log, of_log) == 0
    assert far("exp2(x * 1.4427)", math.exp, of_exp) > 90
    assert far("log2(x) * 0.6931", math.log, of_log) > 50


# --- what is issued ------------------------------------------------------------------------------------------------


def test_each_element_has_one_block_and_nothing_is_shared():
    emission = emit_unchecked(read_call(document([["x", "float32"], ["y", "float32"]], "float32", "x * y + 1", repeats=3)))
    assert len(emission.instructions) == 3
    for k, block in enumerate(emission.instructions):
        assert re.findall(r"%[XYD]_\d", block) == [f"%X_{k}", f"%Y_{k}", f"%D_{k}"]
        assert not re.search(r"\b(ld|st|bar|fence|membar)\b|x2\b", block)


def test_a_predicate_stands_before_the_statement_that_writes():
    found = document([["x", "float32"]], "float32", "x + 1", repeats=1, parameters={"pred": "laneid < 3"})
    (block,) = emit_unchecked(read_call(found)).instructions
    assert re.search(r"@%tc_p\d+ mov\.b32 %D_0, ", block)
    assert block.count("@") == 1


def test_numbers_stand_in_registers_once():
    found = document([["x", "int8"], ["y", "bfloat16"]], "float32", "float32(x) + float32(y)", repeats=2)
    found["operands"][1] = {"name": "x", "value": -3}
    found["operands"][2] = {"name": "y", "value": 0.1}
    text = emit_unchecked(read_call(found)).ptx
    assert re.search(r"mov\.b16 %tc_h0, 0xfd;", text)
    assert re.search(r"mov\.b16 %tc_h1, 0x3dcd;", text)


@pytest.mark.parametrize("type_", SCALAR_TYPES)
def test_an_expression_stands_for_a_parameter_of_every_type(type_):
    from tilecheck.emit import assemble, emit_kernel

    for value in ("n", "laneid + n", 3):
        body = "-x" if type_ == "float32" else "float32(x)"
        found = document([["x", type_]], "float32", body, 1, symbols=[{"name": "n", "min": 0, "max": 50}])
        found["operands"][1] = {"name": "x", "value": value}
        kernel = emit_kernel(read_call(found), "sm_90")
        assert assemble(kernel.ptx, "sm_90").ok


def test_a_brain_float_is_rounded_once():
    found = document([["x", "bfloat16"]], "bfloat16", "-x", repeats=1)
    found["operands"][1] = {"name": "x", "value": 1 + 2**-8 + 2**-30}
    assert "0x3f81;" in emit_unchecked(read_call(found)).ptx


def test_a_function_without_ptx_is_not_emitted():
    from tilecheck.emit import EmissionError

    with pytest.raises(EmissionError, match="there is no PTX for exp of float64"):
        emit_unchecked(read_call(document([["x", "float64"]], "float64", "exp(x)")))
    with pytest.raises(EmissionError, match="takes 0 operands, found 2"):
        emit_unchecked(read_call({k: v for k, v in document([["x", "float32"]], "float32", "x").items() if k != "function"}))


def test_equal_parts_are_computed_once():
    (block,) = emit_unchecked(read_call(document([["x", "float32"]], "float32", "exp(x) * exp(x) + exp(x)", repeats=1))).instructions
    assert block.count("ex2.approx") == 1


def test_the_lowest_architecture_is_that_of_what_the_function_uses():
    assert emit_unchecked(read_call(document([["x", "float16"]], "float16", "x + 1"))).arch == "sm_75"
    assert emit_unchecked(read_call(document([["x", "float16"]], "float16", "max(x, 1)"))).arch == "sm_80"
    assert emit_unchecked(read_call(document([["x", "bfloat16"]], "bfloat16", "x + 1"))).arch == "sm_90"


def test_every_operation_is_assembled():
    from tilecheck.emit import assemble

    modules: dict[str, list[str]] = {}
    for name in operations():
        kernel = emit_kernel_unchecked(read_call(operation_document(name, 1)))
        body = "\n".join(kernel.ptx.split("\n")[3:]).replace(kernel.name, f"kernel_{len(modules.setdefault(kernel.arch, []))}")
        modules[kernel.arch].append(body)
    assert set(modules) == {"sm_75", "sm_80", "sm_90"}
    for floor, bodies in modules.items():
        for arch in {floor, "sm_90"}:
            found = assemble("\n".join([".version 8.4", f".target {arch}", ".address_size 64", *bodies]), arch)
            assert found.ok, (arch, found.log)
