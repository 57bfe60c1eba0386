"""The evaluator's scalar functions against NumPy: every operation that is exact or rounded once, and random functions of them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings

from tests.scalar.calls import function, operations
from tests.scalar.functions import APPROXIMATE, EXACT, functions
from tests.scalar.numpy_reference import Reference, dtype, raw
from tests.scalar.samples import rows
from tilecheck.evaluate.scalar_numbers import decoded
from tilecheck.evaluate.scalar_text import Reader
from tilecheck.evaluate.scalar_text import operations as operations_of
from tilecheck.evaluate.scalar_values import ScalarFunction, Value, just
from tilecheck.scalar import Node, show
from tilecheck.spec import data, find_contract

SCALAR = json.loads(json.dumps(data(find_contract("ewise"))))["scalar"]
OPERATIONS = operations()


def evaluated(params, result, body, points) -> list[Value]:
    found = ScalarFunction(function(params, result, body), SCALAR)
    return [found.value([just(type_, decoded(type_, bits)) for (_, type_), bits in zip(params, point, strict=True)]) for point in points]


def referenced(params, node: Node, points) -> tuple[np.ndarray, np.ndarray]:
    columns = {
        name: np.array([point[k] for point in points], dtype=raw(type_)).view(dtype(type_)) for k, (name, type_) in enumerate(params)
    }
    return Reference(columns).value(node, {})


def disagreements(params, result, node: Node, points) -> list[str]:
    """Where the evaluator does not give NumPy's number, or leaves open what NumPy knows."""
    values, loose = referenced(params, node, points)
    found: list[str] = []
    for point, value, expected, free in zip(points, evaluated(params, result, show(node), points), values, loose, strict=True):
        bits = int(np.array([expected], dtype=dtype(result)).view(raw(result))[0])
        if free:
            continue
        if not value.exact or not value.admits(bits):
            found.append(
                f"{show(node)} of {[decoded(t, b) for (_, t), b in zip(params, point, strict=True)]}: {value}, NumPy says {expected!r}"
            )
    return found


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name.split()[0] not in APPROXIMATE])
def test_an_operation_is_what_numpy_computes(name):
    params, result, node = OPERATIONS[name]
    assert disagreements(params, result, node, rows([type_ for _, type_ in params], 300)) == []


@settings(max_examples=300, deadline=None)
@given(functions(EXACT))
def test_a_random_function_is_what_numpy_computes(made):
    params, result, node = made
    assert disagreements(params, result, node, rows([type_ for _, type_ in params], 12)) == []


@pytest.mark.parametrize(
    "body",
    [" + ".join(["x"] * 90), "(x + " * 50 + "x" + ")" * 50, "min(1, " * 50 + "x" + ")" * 50, "(1 < x) == (" * 50 + "x < 1" + ")" * 50],
)
def test_the_type_of_a_long_expression_is_found_in_one_reading(body):
    tree = Reader({"params": [["x", "float32"]], "result": "float32", "body": body}).tree
    assert tree[1] == ("bool" if "==" in body else "float32")
    assert all(type_ in {"float32", "bool"} for _, types, _ in operations_of(tree) for type_ in types)
