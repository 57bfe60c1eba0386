"""Scalar functions as text: what reads, what does not and where, numbers, types, round trips, Python source."""

from __future__ import annotations

import json
import math
import random
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scalar.functions import functions
from tests.scalar.numpy_reference import dtype, raw
from tilecheck import InputError
from tilecheck.evaluate.scalar_text import Reader, operations, python_text
from tilecheck.evaluate.scalar_values import ScalarFunction, just
from tilecheck.scalar import SCALAR_TYPES, Function, Node, function_from_json, show
from tilecheck.scalar.nodes import CASTS, FUNCTIONS
from tilecheck.scalar.parse import MAX_DEPTH, RESERVED, parse
from tilecheck.scalar.source import function_from_source
from tilecheck.scalar.types import FLOATS, float_bits, float_value
from tilecheck.spec import data, find_contract

SCALAR = json.loads(json.dumps(data(find_contract("ewise"))))["scalar"]
XY = (("x", "float32"), ("y", "float32"))
I = (("i", "int32"), ("j", "int32"))  # noqa: E741


def node(body: str, params=XY, result: str = "float32") -> Node:
    return Function(params, result, body).node


def shown(body: str, params=XY, result: str = "float32") -> str:
    return show(node(body, params, result))


@pytest.mark.parametrize(
    ("body", "params", "result", "means"),
    [
        ("x / (1 + exp(-x))", XY, "float32", "(x / (float32(1.0) + exp((-(x)))))"),
        ("let a = x * y in a + a", XY, "float32", "(let a = (x * y) in (a + a))"),
        ("select(x > 0, x, y)", XY, "float32", "select((float32(0.0) < x), x, y)"),
        ("select(0 < x <= 1, 1, 0)", XY, "float32", "select(((float32(0.0) < x) and (x <= float32(1.0))), float32(1.0), float32(0.0))"),
        (
            "select(not x < y or x != x and true, 1, 0)",
            XY,
            "float32",
            "select(((not (x < y)) or ((x != x) and true)), float32(1.0), float32(0.0))",
        ),
        ("min(x, y, 2)", XY, "float32", "min(min(x, y), float32(2.0))"),
        ("x - y - 1", XY, "float32", "((x - y) - float32(1.0))"),
        ("x * y + x / y", XY, "float32", "((x * y) + (x / y))"),
        ("i & j | i ^ j << 2 + 1", I, "int32", "((i & j) | (i ^ (j << (int32(2) + int32(1)))))"),
        ("-i % j // 3", I, "int32", "(((-(i)) % j) // int32(3))"),
        ("~i", I, "int32", "(~(i))"),
        ("0xff + 0b11", I, "int32", "(int32(255) + int32(3))"),
        ("float32(1) * x", XY, "float32", "(float32(1.0) * x)"),
        ("float32(x)", XY, "float32", "x"),
        ("float32(float16(x))", XY, "float32", "float32(float16(x))"),
        ("as_int32(x)", XY, "int32", "as_int32(x)"),
        ("as_float32(as_uint32(x) ^ 0x80000000)", XY, "float32", "as_float32((as_uint32(x) ^ uint32(2147483648)))"),
        ("float32(x > y)", XY, "float32", "float32((y < x))"),
        ("1e-3 + x * 1.5e2 - inf", XY, "float32", f"((float32({float(np.float32(1e-3))!r}) + (x * float32(150.0))) - float32(inf))"),
        ("select(true, nan, x)", XY, "float32", "select(true, float32(nan), x)"),
        ("select(x < y, (let a = x in a), (let b = y in b))", XY, "float32", "select((x < y), (let a = x in a), (let b = y in b))"),
        ("let a = let b = x in b + 1 in a", XY, "float32", "(let a = (let b = x in (b + float32(1.0))) in a)"),
        ("-1", I, "int32", "int32(-1)"),
        ("--1", I, "int32", "(-(int32(-1)))"),
        ("let p = i < j and i < 3 in select(p, i, j)", I, "int32", "(let p = ((i < j) and (i < int32(3))) in select(p, i, j))"),
    ],
)
def test_a_text_means_one_expression(body, params, result, means):
    assert shown(body, params, result) == means
    assert shown(means, params, result) == means


@pytest.mark.parametrize(
    ("body", "column", "says"),
    [
        ("", 1, r"found the end, expected a number, a name or `\(`"),
        ("x +", 4, "found the end, expected a number"),
        ("x + * y", 5, r"found '\*', expected a number"),
        ("x y", 3, "found name 'y', expected an operator or the end"),
        ("(x", 3, r"found the end, expected `\)`"),
        ("x)", 2, r"found '\)', expected an operator or the end"),
        ("min(x", 6, r"found the end, expected `,` or `\)`"),
        ("min(x)", 1, "min takes 2 arguments, found 1"),
        ("exp(x, y)", 1, "exp takes 1 argument, found 2"),
        ("sin(x)", 1, "found name 'sin', expected one of the functions select, min"),
        ("x $ y", 3, r"found '\$', expected a number, a name or an operator"),
        ("x . y", 3, r"found '.', expected"),
        ("1.5.2", 1, "expected a number such as"),
        ("0x + x", 1, "expected a number such as"),
        ("007 + x", 1, "found '007', expected a number without leading zeros"),
        (f"{1 << 64} * x", 1, "expected an integer of at most 64 bits"),
        ("x + 1e400", 5, "found '1e400', expected a number that a float64 holds; infinity is written inf"),
        ("z", 1, r"found the name 'z', expected a parameter or a binding \(x, y\)"),
        ("let x = 1 in x", 1, "x is bound a second time"),
        ("let a = x in let a = y in a", 14, "a is bound a second time"),
        ("(let a = x in a) + (let a = y in a)", 21, "a is bound a second time"),
        ("let exp = x in exp", 5, "a binding is named 'exp', which is a word of the language"),
        ("let dst = x in dst", 5, "a binding is named 'dst'"),
        ("let lambda = x in x", 5, "a binding is named 'lambda'"),
        ("let a x in a", 7, "found name 'x', expected `=`"),
        ("let a = x", 10, "found the end, expected `in`"),
        ("let 3 = x in x", 5, "found '3', expected the name of a binding"),
        ("x + let a = y in a", 5, "found name 'let', expected a number"),
        ("x < y", 3, "found a condition, expected the result, float32"),
        ("select(x, x, y)", 8, "found float32, expected a condition"),
        ("select(1, x, y)", 8, "found a number, expected a condition"),
        ("select(x < y, x, x < y)", 20, "found a condition, expected float32 as beside it"),
        ("x and y", 1, "found float32, expected a condition"),
        ("not x", 5, "found float32, expected a condition"),
        ("(x < y) + 1", 4, "found a condition, expected a number"),
        ("(x < y) + x", 4, "found a condition, expected a number"),
        ("float16(x) + y", 14, "found float32, expected float16 as beside it; a cast is written"),
        ("float32(float16(x) + 1) + float64(y)", 27, "found float64, expected float32"),
        ("as_int16(x)", 10, "found float32 of 32 bits, expected a type of the 16 bits of int16"),
        ("as_float32(x < y)", 14, "found a condition, expected a type"),
        ("as_float32(1)", 12, r"the type of 1 is open, expected one, as in float32\(1\)"),
        ("let t = 2 in x * t", 9, "the type of 2 is open"),
        ("select(1 < 2, x, y)", 10, "the type of its numbers is open"),
        ("select(true == true, x, y)", 8, "found a condition, expected a number"),
        ("uint8(256) + uint8(1)", 7, r"found 256, expected an integer from 0 to 255 \(uint8\)"),
        ("float32(int32(1.5))", 15, r"found 1.5, expected an integer \(int32\)"),
        ("float32(int8(-129))", 14, "found -129, expected an integer from -128 to 127"),
        ("float32(uint16(nan))", 16, "found nan, expected an integer"),
        ("x * 1e39", 5, "found 1e[+]39, which is beyond the range of float32"),
        ("x = y", 3, "found '=', expected an operator or the end"),
        ("true", 1, "found a condition, expected the result, float32"),
    ],
)
def test_an_error_names_the_column_what_was_found_and_what_was_expected(body, column, says):
    with pytest.raises(InputError, match=says) as caught:
        node(body)
    assert caught.value.path == ".body"
    assert f"column {column} of " in caught.value.message


def test_what_is_too_long_or_too_deep_does_not_read():
    for body, says in (
        ("x" + " " * 10_000, "a function of 10001 characters"),
        ("(" * (MAX_DEPTH + 1) + "x" + ")" * (MAX_DEPTH + 1), "nests deeper than 60 levels"),
        ("x" + " + x" * 600, "more than 1000 words and signs"),
        ("x" + " + x" * 120, "121 operations deep, at most 100"),
        ("-" * 200 + "x", "201 operations deep"),
        ("not " * 200 + "x < y", "operations deep"),
    ):
        with pytest.raises(InputError, match=says):
            node(body)
    assert node("x" + " + x" * 99).op == "add"


@pytest.mark.parametrize(
    ("change", "path", "says"),
    [
        ({"params": 3}, ".params", "found 3, expected a list of pairs"),
        ({"params": [["x"]]}, ".params[0]", "found a list of 1, expected a name and a type"),
        ({"params": [["x", "float32"], "y"]}, ".params[1]", 'found "y", expected a name and a type'),
        ({"params": [["x", 32]]}, ".params[0][1]", "found 32, expected text"),
        ({"params": [["x", "float8"]]}, ".params[0][1]", "found 'float8', expected one of float16, bfloat16"),
        ({"params": [["x", "bool"]]}, ".params[0][1]", "found 'bool', expected one of"),
        ({"params": [["1x", "float32"]]}, ".params[0][0]", "a parameter is named '1x', expected an identifier"),
        ({"params": [["min", "float32"]]}, ".params[0][0]", "a parameter is named 'min', which is a word of the language"),
        ({"params": [["x", "float32"], ["x", "float32"]]}, ".params[1][0]", "found the parameter x twice"),
        ({"params": [[f"x{k}", "int8"] for k in range(16)]}, ".params", "found 16 parameters, expected at most 15"),
        ({"result": "f32"}, ".result", "found 'f32', expected one of"),
        ({"result": None}, ".result", "found null, expected text"),
        ({"body": 1}, ".body", "found 1, expected text"),
        ({"body": "x +"}, ".body", "column 4"),
        ({"name": "f"}, "", "found the key 'name', expected one of params, result, body"),
    ],
)
def test_a_document_that_is_no_function_says_where(change, path, says):
    with pytest.raises(InputError) as caught:
        function_from_json({"params": [["x", "float32"]], "result": "float32", "body": "x", **change})
    assert caught.value.path == path
    assert says in caught.value.message


def test_a_function_has_all_of_its_keys():
    for key in ("params", "result", "body"):
        with pytest.raises(InputError, match=f"the key '{key}' is missing"):
            function_from_json({k: v for k, v in {"params": [], "result": "int8", "body": "1"}.items() if k != key})
    with pytest.raises(InputError, match="expected an object with params, result and body"):
        function_from_json([1])


def test_a_function_is_json_without_loss():
    found = Function(XY, "float32", "let a = x in  a*y")
    assert function_from_json(json.loads(json.dumps(found.to_json()))) == found


@settings(max_examples=300, deadline=None)
@given(functions())
def test_what_is_shown_reads_as_the_same_expression(made):
    params, result, expression = made
    assert Function(tuple(map(tuple, params)), result, show(expression)).node == expression


@settings(max_examples=300, deadline=None)
@given(functions())
def test_the_evaluator_reads_the_same_operations(made):
    params, result, expression = made
    tree = Reader({"params": params, "result": result, "body": show(expression)}).tree
    assert sorted(map(str, operations(tree))) == sorted(map(str, used(expression)))


def used(expression: Node):
    if expression.op not in {"number", "name", "parameter", "let"}:
        yield expression.op, tuple(arg.type for arg in expression.args), expression.type
    for arg in expression.args:
        yield from used(arg)


def test_bindings_become_calls_that_python_reads():
    assert python_text("let a = let b = x in b in (let c = a in c, 2)") == "_let(a, _let(b, x , b ) , ( _let(c, a , c ) , 2 ) )"
    assert python_text("x>=1 and 1e-3<=y") == "x >= 1 and 1e-3 <= y"


def test_every_word_of_the_language_is_reserved():
    assert {*FUNCTIONS, *CASTS, *SCALAR_TYPES, "let", "in", "select", "inf", "nan", "true", "dst", "opcode", "if"} <= RESERVED
    assert parse("x").kind == "name"


# --- numbers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", FLOATS)
def test_a_number_is_rounded_once_as_numpy_does(type_):
    rng = random.Random(1)
    for _ in range(3000):
        raw64 = struct.unpack("<d", struct.pack("<Q", rng.getrandbits(64)))[0]
        value = rng.choice((raw64, rng.uniform(-4, 4), rng.uniform(-1, 1) * 2.0 ** rng.randint(-160, 130), float(rng.randint(-3000, 3000))))
        if type_ == "bfloat16":  # ml_dtypes rounds twice: only numbers of float32
            value = float(np.float32(value)) if abs(value) < 3e38 else value
        with np.errstate(all="ignore"):
            wanted = np.float64(value).astype(dtype(type_)) if type_ != "bfloat16" else np.float32(value).astype(dtype(type_))
        bits = float_bits(type_, value)
        if bits is None:
            assert np.isinf(wanted)
            assert math.isfinite(value)
        elif math.isnan(value):
            assert math.isnan(float_value(type_, bits))
        else:
            assert bits == int(wanted.view(raw(type_)))
            assert float_value(type_, bits) == float(wanted)


def test_a_brain_float_is_not_rounded_by_way_of_single():
    assert float_bits("bfloat16", 1 + 2**-8 + 2**-30) == 0x3F81
    assert float_bits("bfloat16", 1 + 2**-8) == 0x3F80
    assert float_bits("float32", -0.0) == 0x80000000


# --- Python source -------------------------------------------------------------------------------------------------

SOURCES = {
    "a return": ("def f(x: float32) -> float32:\n    return x + 1", "(x + 1)"),
    "types as text and as attributes": ("def f(x: 'float32', y: T.int8) -> T.float32:\n    return x * T.float32(y)", "(x * float32(y))"),
    "bindings": (
        "def f(x: float32) -> float32:\n    '''Says.'''\n    y = x * 2\n    y += 1\n    z: float32 = y\n    return z",
        "let y = (x * 2) in let y_2 = y + (1) in let z = y_2 in z",
    ),
    "an early return": ("def f(x: float32) -> float32:\n    if x < 0:\n        return -x\n    return x", "select((x < 0), (-x), x)"),
    "if and else": (
        "def f(x: float32) -> float32:\n    if x < 0:\n        y = x\n    elif x > 1:\n        y = x * 2\n    else:\n        pass\n        y = x + 1\n    return math.exp(y)",
        "let y = x in let y_2 = (x * 2) in let y_3 = (x + 1) in let y_4 = select((x > 1), y_2, y_3) in let y_5 = select((x < 0), y, y_4) in exp(y_5)",
    ),
    "an if that binds on one path": (
        "def f(x: float32) -> float32:\n    y = x\n    if x < 0:\n        t = -x\n        y = t\n    return y",
        "let y = x in let t = (-x) in let y_2 = t in let y_3 = select((x < 0), y_2, y) in y_3",
    ),
    "an if under which one path returns": (
        "def f(x: float32) -> float32:\n    y = x\n    if x < 0:\n        y = -x\n        if x < 1:\n            return x\n    return y",
        "let y = x in select((x < 0), let y_2 = (-x) in select((x < 1), x, y_2), y)",
    ),
    "a conditional expression": ("def f(x: float32) -> float32:\n    return x if 0 < x <= 1 and not x == 1 else 0.5", None),
    "integers": ("def f(i: uint32) -> uint32:\n    return ~i >> 3 & 0xFF ^ (i << 2 | i % 7 // 2)", None),
    "a name that is a word of the language": (
        "def f(x: float32) -> float32:\n    max_ = 1 * x\n    dst = max_\n    return dst",
        "let max_ = (1 * x) in let dst_2 = max_ in dst_2",
    ),
}


@pytest.mark.parametrize("name", SOURCES)
def test_python_source_becomes_text(name):
    source, body = SOURCES[name]
    found = function_from_source(source)
    assert body is None or found.body == body


def test_ifs_one_after_the_other_are_read_once_each():
    source = (
        "def f(x: float32) -> float32:\n    y = x\n"
        + "".join(f"    if x > {i}:\n        y = y + {i}\n" for i in range(25))
        + "    return y"
    )
    body = function_from_source(source).body
    assert body.count("select") == 25
    assert len(body) < 80 * 25


BRANCHES = """def f(x: "int32", y: "int32") -> "int32":
    z = x
    if x < y:
        z = z + 3
        if y == 2:
            z = z * 5
            t = z
        elif x < 0:
            t = y
        else:
            t = z - y
        z = z + t
    else:
        z += y
        y = abs(y * 0 + 7)
    if z > 4:
        if y == 7:
            return z * 100
        z = z - 1
    return z * 10 + y
"""


def test_ifs_compute_what_python_does():
    scope: dict[str, Any] = {}
    exec(BRANCHES, scope)
    found = ScalarFunction(function_from_source(BRANCHES).to_json(), SCALAR)
    for x in range(-4, 6):
        for y in range(-4, 8):
            assert found.value([just("int32", x), just("int32", y)]).low == scope["f"](x, y)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("x = 1", "found no function"),
        ("def f(x: float32) -> float32 return x", "not Python"),
        ("def f(x) -> float32:\n    return x", "x has no type, expected an annotation such as float32"),
        ("def f(x: float32):\n    return x", "the result has no type"),
        ("def f(*x: float32) -> float32:\n    return x", "found defaults, \\* or keywords"),
        ("def f(x: float32 = 1) -> float32:\n    return x", "found defaults"),
        ("def f(x: float32) -> float32:\n    pass", "line 2 of f: found a path that returns nothing"),
        ("def f(x: float32) -> float32:\n    if x < 0:\n        return x", "line 2 of f: found a path that returns nothing"),
        (
            "def f(x: float32) -> float32:\n    while x < 0:\n        x += 1\n    return x",
            "line 2 of f: found 'while x < 0:', expected a binding, an if or a return",
        ),
        ("def f(x: float32) -> float32:\n    a, b = x, x\n    return a", "expected one name and its value"),
        ("def f(x: float32) -> float32:\n    return x ** 2", r"line 2 of f: found 'x \*\* 2', expected arithmetic"),
        ("def f(x: float32) -> float32:\n    return [x][0]", "expected arithmetic, a comparison or a function"),
        ("def f(x: float32) -> float32:\n    return 'x'", "expected a number"),
        ("def f(x: float32) -> float32:\n    return exp(x=x)", "expected arithmetic"),
        ("def f(x: float32) -> float32:\n    return y", "found the name 'y'"),
        ("def f(x: float32) -> float64:\n    return x", "found float32, expected the result, float64"),
        ("def f(x: float32) -> float32:\n    x **= 2\n    return x", r"line 2 of f: found 'x \*\*= 2', expected arithmetic"),
        ("def f(x: float32) -> float32:\n    return", "expected a binding, an if or a return"),
        (
            "def f(x: float32) -> float32:\n    if x < 0:\n        y = x\n    return y",
            "line 4 of f: found the name 'y', which not every path binds",
        ),
        (
            "def f(x: float32) -> float32:\n    if x < 0:\n        y = x\n    y += 1\n    return x",
            "line 4 of f: found the name 'y', which not every",
        ),
        (
            "def f(x: float32) -> float32:\n    y = x\n    y = x\n    return y_2",
            "line 4 of f: found the name 'y_2', which nothing binds here",
        ),
        (
            "def f(x: float32) -> float32:\n    y = x\n    if x < 0:\n        print(x)\n    return y",
            r"line 4 of f: found 'print\(x\)', expected a binding, an if or a return",
        ),
        (
            "def f(x: float32) -> float32:\n" + "    if x < 0:\n        if x < 1:\n            return x\n" * 30 + "    return x",
            "found more than 500 statements on its paths",
        ),
        ("def f(x: float32) -> float32:\n    return " + "x + " * 5000 + "x", "nested too deeply"),
        ("def f(x: float32) -> float32:\n    return x + 1e400", "line 2 of f: found a number beyond float64"),
    ],
)
def test_python_that_is_no_scalar_function_says_what_and_where(source, says):
    with pytest.raises(InputError, match=says):
        function_from_source(source)


@settings(max_examples=50, deadline=None)
@given(st.text(alphabet="xy()+-*/<=>~&|^,. 01elt nids", max_size=30))
def test_no_text_is_more_than_an_error(body):
    try:
        found = Function(XY, "float32", body)
    except InputError as error:
        message = str(error)
    else:
        message = show(found.node)
    assert message
    assert "\n" not in message
