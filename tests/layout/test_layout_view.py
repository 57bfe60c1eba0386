"""Tensors and views: what is accepted, what is refused, and what an error says."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilecheck.errors import InputError
from tilecheck.layout import ComposeLayout, S, Slice, Tensor, TileLayout, View, step_from_json, trace
from tilecheck.layout.poly import difference, quotient, same
from tilecheck.symbolic import Expr, evaluate, parse, var

n, k = var("n"), var("k")
A = Tensor("A", (16, 8), "float32", space="shared")


def test_a_tensor_is_row_major_and_aligned_to_its_element_by_default() -> None:
    assert A.layout == TileLayout(S[(16, 8) : (8, 1)])
    assert (A.align, A.base, A.size_bytes, A.tensor, A.bits) == (4, None, None, None, 32)
    assert Tensor("B", (16,), "int4").align == 1
    assert Tensor("B", (4, 4), "uint8", layout="S[16:1]").layout == TileLayout(S[16])


@pytest.mark.parametrize(
    ("view", "shape"),
    [
        (A[2:10, :], (8, 8)),
        (A[2:10], (8, 8)),
        (A[3], (1, 8)),
        (A[..., 3], (16, 1)),
        (A[n : n + 4, 2 * k : 2 * k + 2], (4, 2)),
        (A[4 * n + 4 : 4 * (n + 2)], (4, 8)),
        (A.sub([n, 0], [4, None]), (4, 8)),
        (A.sub(["n + 1", 0], [4, None]), (4, 8)),
        (A[:, 0:4], (16, 4)),
        (A[-1], (1, 8)),
        (A[0:2000], (2000, 8)),
        (A.permute(1, 0), (8, 16)),
        (A.permute([1, 0]), (8, 16)),
        (A.reshape(4, 4, 8), (4, 4, 8)),
        (A.reshape((128,)), (128,)),
        (A.rearrange("(a b) c -> b (a c)", a=4), (4, 32)),
        (A.view("float16"), (16, 16)),
        (A.view("bits128"), (16, 2)),
        (A.view("int4"), (16, 64)),
        (A[3].broadcast(4, 5, 8), (4, 5, 8)),
        (A.reshape(16, 1, 8).broadcast(2, 16, 3, 8), (2, 16, 3, 8)),
        (Tensor("G", (n, k), "float32").rearrange("a b -> (b a)"), (k * n,)),
        (Tensor("G", (n, 4 * k), "float32").view("float64"), (n, 2 * k)),
    ],
)
def test_a_view_has_the_shape_its_steps_make(view: View, shape: tuple[int | Expr, ...]) -> None:
    assert len(view.shape) == len(shape)
    assert all(same(a, b) for a, b in zip(view.shape, shape, strict=True))


def test_the_dtype_follows_the_last_dtype_view() -> None:
    assert A.view("float16").view("uint64").dtype == "uint64"
    assert A[3].dtype == "float32"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Tensor("T", (16, 8), "float32", layout="S[(16,4):(4,1)]"), "found a layout of (16, 4) = 64 elements, expected 128"),
        (lambda: Tensor("T", (n, 8), "float32", layout="S[(n,4):(4,1)]"), "expected 8*n"),
        (lambda: Tensor("T", (n,), "float32", space="shared"), "found the symbolic n in shared space"),
        (lambda: Tensor("T", (8,), "float32", space="shared", layout="S[8:k]"), "found the symbolic k"),
        (lambda: Tensor("T", (8,), "float32", space="sharde"), "expected one of global, shared"),
        (lambda: Tensor("T", (8,), "floot32"), "did you mean float32"),
        (lambda: Tensor("T", (0,), "float32"), "found the extent 0"),
        (lambda: Tensor("T", (8,), "float32", align=0), "found align 0"),
        (lambda: Tensor("T", (8,), "float32", base=(16, 16)), "expected 0 <= is < mod"),
        (lambda: Tensor("T", (8,), "float32", size_bytes=-4), "found size_bytes -4"),
        (lambda: Tensor("T", (1,) * 100, "float32"), "rank 100"),
        (lambda: Tensor("T", (2.0,), "float32"), "found float"),
        (lambda: A[0:0], "found the extent 0"),
        (lambda: A[4:2], "found the extent -2"),
        (lambda: A[0:n], "found the extent n"),
        (lambda: A[n:], "without an end"),
        (lambda: A[0:8:2], "found a step"),
        (lambda: A[0, 0, 0], "found an index of 3 entries"),
        (lambda: A[..., ...], "one ellipsis"),
        (lambda: A[1.5], "found float"),
        (lambda: A.sub([0], [4]), "expected 2 each"),
        (lambda: A.sub([0, 0], [4, 0]), "found the extent 0"),
        (lambda: A.permute(0, 0), "expected each of 0 to 1 once"),
        (lambda: A.permute(0), "expected each of 0 to 1 once"),
        (lambda: A.reshape(127), "found (127) of 127 elements, expected 128"),
        (lambda: A.reshape(-1), "found the extent -1"),
        (lambda: A.view("foo"), "found the dtype 'foo'"),
        (lambda: A.broadcast(16, 16), "only extent 1 can grow"),
        (lambda: A.broadcast(16), "expected at least rank 2"),
        (lambda: A[3].broadcast(0, 8), "found the extent 0"),
        (lambda: A.rearrange("a b -> a"), "found b on one side only"),
        (lambda: Tensor("G", (n,), "float32").reshape(n, 2), "of 2*n elements, expected n"),
    ],
)
def test_what_is_no_tensor_or_view_is_an_input_error(make: object, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        make()  # type: ignore[operator]


def test_strided_parts_are_reshaped_and_sliced() -> None:
    odd = A.reshape(8, 2, 8)[:, 1]
    assert trace(odd).locate([3, 0, 5]).linear == (2 * 3 + 1) * 8 + 5


def test_a_whole_symbolic_axis_may_remain() -> None:
    view = Tensor("G", (n, 8), "float32")[:, 0:4]
    assert view.shape == (n, 4)


STEPS = [
    {"op": "slice", "begin": [0, "n + 1"], "extent": [2, None]},
    {"op": "permute", "order": [1, 0]},
    {"op": "rearrange", "pattern": "(a b) c -> b a c", "sizes": {"b": 4}},
    {"op": "reshape", "shape": [4, "n*2"]},
    {"op": "view", "dtype": "uint32"},
    {"op": "broadcast", "shape": [2, 3]},
]


@pytest.mark.parametrize("document", STEPS, ids=[str(step["op"]) for step in STEPS])
def test_a_step_is_read_from_json_and_written_back(document: dict[str, object]) -> None:
    assert step_from_json(document, "$").to_json() == document


@pytest.mark.parametrize(
    ("document", "path", "words"),
    [
        (None, "$.view[0]", "found null, expected a view step"),
        ([], "$.view[0]", "found a list"),
        ({}, "$.view[0].op", "found null, expected one of slice"),
        ({"op": "flip"}, "$.view[0].op", "found 'flip'"),
        ({"op": ["slice"]}, "$.view[0].op", "found a list"),
        ({"op": "permute", "order": [0], "axes": []}, "$.view[0].axes", "unknown key"),
        ({"op": "permute"}, "$.view[0]", "found no order"),
        ({"op": "permute", "order": "01"}, "$.view[0].order", "expected a list"),
        ({"op": "permute", "order": [0, True]}, "$.view[0].order[1]", "found True, expected an integer"),
        ({"op": "permute", "order": [0, 1.0]}, "$.view[0].order[1]", "found 1.0"),
        ({"op": "slice", "begin": [0, "n +"], "extent": [1, 1]}, "$.view[0].begin[1]", "column 4"),
        ({"op": "slice", "begin": [0, None], "extent": [1, 1]}, "$.view[0].begin[1]", "found null"),
        ({"op": "slice", "begin": [0, 1 << 300], "extent": [1, 1]}, "$.view[0].begin[1]", "301 bits"),
        ({"op": "slice", "begin": [0, "n < 1"], "extent": [1, 1]}, "$.view[0].begin[1]", "expected an integer"),
        ({"op": "slice", "begin": [0], "extent": ["4"]}, "$.view[0].extent[0]", "expected a positive integer or null"),
        ({"op": "slice", "begin": [0], "extent": [0]}, "$.view[0].extent[0]", "found 0"),
        ({"op": "slice", "begin": [0] * 100, "extent": [1]}, "$.view[0].begin", "at most 64"),
        ({"op": "view", "dtype": 32}, "$.view[0].dtype", "expected a string"),
        ({"op": "view", "dtype": "u32"}, "$.view[0].dtype", "found the dtype 'u32'"),
        ({"op": "rearrange", "pattern": "a -> a", "sizes": [1]}, "$.view[0].sizes", "expected an object"),
        ({"op": "rearrange", "pattern": "a -> a", "sizes": {"a": 1.5}}, "$.view[0].sizes.a", "found 1.5"),
        ({"op": "reshape", "shape": {"a": 1}}, "$.view[0].shape", "found an object"),
    ],
)
def test_a_wrong_step_names_its_path(document: object, path: str, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)) as caught:
        step_from_json(document, "$.view[0]")
    assert caught.value.path == path


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=6
)


@settings(deadline=None)
@given(st.sampled_from(STEPS), st.sampled_from(["op", "begin", "extent", "order", "pattern", "sizes", "shape", "dtype"]), JSON)
def test_any_json_gives_a_step_or_an_input_error(document: dict[str, object], key: str, value: object) -> None:
    try:
        step = step_from_json({**document, key: value}, "$")
        A.then(step)
    except InputError as error:
        length = len(str(error))
    else:
        length = 0
    assert length < 1000


def test_a_step_keeps_the_expression_as_it_was_written() -> None:
    step = step_from_json({"op": "slice", "begin": ["4 + n*2 - n"], "extent": [1]}, "$")
    assert isinstance(step, Slice)
    assert step.to_json()["begin"] == ["4 + n*2 - n"]


def test_views_are_values() -> None:
    first, second = (A[n : n + 4].view("uint16") for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)
    assert repr(first) == repr(second)


def test_views_survive_pickling_and_copying() -> None:
    view = Tensor("G", (n, 8), "float32")[k : k + 4].view("uint16")
    again = pickle.loads(pickle.dumps(view))
    assert again == view == copy.deepcopy(view)
    assert trace(again).locate([1, 2]) == trace(view).locate([1, 2])


def test_tensors_and_views_are_immutable() -> None:
    with pytest.raises(AttributeError):
        A.name = "B"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        A[0:1].steps = ()  # type: ignore[misc]


TERMS = st.recursive(
    st.integers(-5, 5).map(lambda value: value) | st.sampled_from([n, k, var("s")]),
    lambda inner: st.tuples(st.sampled_from("+-*"), inner, inner).map(
        lambda t: {"+": t[1] + t[2], "-": t[1] - t[2], "*": t[1] * t[2]}[t[0]]
    ),
    max_leaves=6,
)
VALUES = st.fixed_dictionaries({"n": st.integers(-9, 9), "k": st.integers(-9, 9), "s": st.integers(-9, 9)})


@settings(deadline=None)
@given(TERMS, TERMS, VALUES)
def test_polynomials_agree_with_their_values(a: int | Expr, b: int | Expr, values: dict[str, int]) -> None:
    assert evaluate(difference(a, b), values) == evaluate(a, values) - evaluate(b, values)
    if same(a, b):
        assert evaluate(a, values) == evaluate(b, values)
    found = quotient(a, b)
    if found is not None:
        assert evaluate(found, values) * evaluate(b, values) == evaluate(a, values)


@settings(deadline=None)
@given(TERMS, TERMS)
def test_a_product_divides_by_its_factors(a: int | Expr, b: int | Expr) -> None:
    whole = a * b
    found = quotient(whole, b)
    assert same(b, 0) or (found is not None and same(found, a))


def test_importing_layouts_loads_no_heavy_library() -> None:
    code = "import sys, tilecheck.layout, tilecheck.layout.algebra, tilecheck.layout.exact; print([m for m in ('numpy','sympy','z3','einops') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=".")
    assert done.stdout.strip() == "[]"


def test_a_pasted_layout_of_the_design_is_accepted() -> None:
    sm = Tensor("SM", (1024, 64), "float16", space="shared", align=1024, layout=ComposeLayout(3, 3, 3, TileLayout(S[(1024, 64) : (64, 1)])))
    start = parse("8*n")
    view = sm[start : start + 8, :].view("uint32").rearrange("r (m w) -> m r w", m=8)
    assert view.shape == (8, 8, 4)
    for i, m, r, w in [(0, 0, 0, 0), (3, 7, 5, 2), (127, 1, 6, 3)]:
        row, chunk = 8 * i + r, m ^ (r % 8)
        assert evaluate(trace(view).locate([m, r, w]).bit, {"n": i}) == (row * 64 + chunk * 8) * 16 + 32 * w
