"""Scalar compositions for a GPU: every operation at every type, and functions as kernels have them, each with a NumPy reference of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tests.gpu.documents import Form
from tests.scalar.calls import Json, document, operation_document, operations, registers

Array = np.ndarray
Reference = Callable[..., tuple[Array, Array | float]]
"""From arrays of arguments (float64 where they are floats) to (the exact result, how far from it a result may be)."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A function with what NumPy says of it; the error is 0 where the result is exact."""

    name: str
    params: tuple[tuple[str, str], ...]
    result: str
    body: str
    reference: Reference | None
    more: Mapping[str, object] | None = None

    def document(self, repeats: int = 8) -> Json:
        return document(self.params, self.result, self.body, repeats, id=f"ewise, {self.name}", **(self.more or {}))


X, F32, U32 = (("x", "float32"),), "float32", "uint32"
BIG = 1 << 32


def single(x: Array) -> Array:
    """Rounded to float32."""
    return x.astype(np.float32).astype(np.float64)


def silu(x: Array) -> tuple[Array, Array]:
    exact = x / (1 + np.exp(-x))
    return exact, (2**-20 + np.abs(x) * 2**-22) * np.abs(exact) + 2**-149


def silu_affine(x: Array, scale: Array, bias: Array) -> tuple[Array, Array]:
    y, error = silu(x)
    exact = y * scale + bias
    return exact, error * np.abs(scale) + 2**-22 * (np.abs(y * scale) + np.abs(bias)) + 2**-149


def gelu(x: Array) -> tuple[Array, Array]:
    inner = 0.7978845608 * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + np.tanh(inner)), np.abs(x) * (2**-11 + 2**-18) + 2**-149


def hashed(x: Array) -> tuple[Array, float]:
    """The finaliser of MurmurHash3 on 32 bits."""
    h = x.astype(object)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        h = (h ^ (h >> shift)) * factor % BIG
    return (h ^ (h >> 16)).astype(np.float64), 0


SAMPLES = (
    Sample("silu", X, F32, "x / (1 + exp(-x))", silu),
    Sample(
        "silu, scale, bias", (("x", F32), ("scale", F32), ("bias", F32)), F32, "let y = x / (1 + exp(-x)) in y * scale + bias", silu_affine
    ),
    Sample("gelu by tanh", X, F32, "let u = 0.7978845608 * (x + 0.044715 * x * x * x) in 0.5 * x * (1 + tanh(u))", gelu),
    Sample(
        "softplus in two returns",
        X,
        F32,
        "select(x > 20, x, log(1 + exp(x)))",
        lambda x: (np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 30)))), 2**-20 * (1 + np.abs(x))),
    ),
    Sample("leaky relu", X, F32, "select(x < 0, x * 0.125, x)", lambda x: (single(np.where(x < 0, x * 0.125, x)), 0)),
    Sample("clamped", X, F32, "min(max(x, -1), 1)", lambda x: (np.where(np.isnan(x), -1, np.clip(x, -1, 1)), 0)),
    Sample(
        "a hash of 32 bits",
        (("x", U32),),
        U32,
        "let a = (x ^ x >> 16) * 0x85ebca6b in let b = (a ^ a >> 13) * 0xc2b2ae35 in b ^ b >> 16",
        hashed,
    ),
    Sample(
        "the exponent of a float",
        X,
        "int32",
        "int32((as_uint32(x) >> 23) & 0xff) - 127",
        lambda x: (np.array([(int(v) >> 23 & 0xFF) - 127 for v in x.astype(np.float32).view(np.uint32)]), 0),
    ),
    Sample("half to brain", (("x", "float16"),), "bfloat16", "bfloat16(float32(x) * 3)", lambda x: (x * 3, 2.0**-8 * np.abs(x * 3))),
    Sample(
        "quantised to 8 bits",
        (("x", F32), ("s", F32)),
        "int8",
        "int8(min(max(round(x * s), -128), 127))",
        lambda x, s: (np.where(np.isnan(single(x * s)), -128, np.clip(np.rint(single(x * s)), -128, 127)), 0),
    ),
    Sample("a sign that returns early", (("x", "int64"),), "int64", "select(x == 0, 0, select(x < 0, -1, 1))", lambda x: (np.sign(x), 0)),
    Sample(
        "rounded division",
        (("x", "int32"), ("y", "int32")),
        "int32",
        "select(y == 0, 0, select(y == -1, -x, x // y))",
        lambda x, y: (
            np.array(
                [
                    0 if b == 0 else int(np.int32((-int(a) + 2**31) % BIG - 2**31)) if b == -1 else int(a) // int(b)
                    for a, b in zip(x, y, strict=True)
                ]
            ),
            0,
        ),
    ),
    Sample(
        "the square root and its inverse",
        X,
        F32,
        "sqrt(abs(x)) * rsqrt(abs(x) + 1)",
        lambda x: (np.sqrt(np.abs(x)) / np.sqrt(np.abs(x) + 1), 2**-20),
    ),
)


def ewise_forms() -> Iterator[Form]:
    """Every operation and every sample; in place, broadcast, predicated, with numbers."""
    for name in operations():
        yield Form("ewise", f"ewise, {name}", operation_document(name))
    for one in SAMPLES:
        yield Form("ewise", f"ewise, {one.name}", one.document())
    body = "x * scale + bias"
    params = (("x", F32), ("scale", F32), ("bias", F32))
    numbers = document(params, F32, body, 4, id="ewise, numbers for all elements")
    numbers["operands"][2:] = [{"name": "scale", "value": 0.1}, {"name": "bias", "value": -3}]
    yield Form("ewise", numbers["id"], numbers)
    place = document(X, F32, "exp2(x)", 4, id="ewise, in place")
    place["operands"] = [{**one, "tensor": "X"} for one in place["operands"]]
    yield Form("ewise", place["id"], place)
    down = document(X, F32, "x + 1", 3, id="ewise, one place down")
    down["operands"] = [registers("D", F32, 3, tensor="X"), registers("X", F32, 3, tensor="X") | {"layout": "S[(32,3):(1@laneid,1)] + 1"}]
    yield Form("ewise", down["id"], down)
    wide = document((("x", F32), ("row", F32)), F32, "x - row", 4, id="ewise, a tensor broadcast by zero strides")
    wide["operands"][2] = registers("ROW", F32, 1) | {"view": [{"op": "broadcast", "shape": [32, 4]}]}
    yield Form("ewise", wide["id"], wide)
    symbol = {"name": "n", "min": 0, "max": 4}
    for value, kept in ((3, False), (0, True)):
        held = document(X, F32, "-x", 2, id=f"ewise, a predicate with n = {value}", symbols=[symbol])
        held["parameters"] = {"pred": "n > 1", **({"preserve_dst": True} if kept else {})}
        yield Form("ewise", held["id"], held, {"n": value})
    some = document(X, F32, "abs(x)", 2, id="ewise, some lanes", guard="laneid >= 4 and laneid < 16")
    some["operands"] = [{**one, "shape": [12, 2], "layout": "S[(12,2):(1@laneid,1)] + 4@laneid"} for one in some["operands"]]
    yield Form("ewise", some["id"], some)
    cta = document(X, F32, "max(x, 0)", 2, id="ewise, two warps", scope="cta", launch={"block": [64]})
    cta["operands"] = [{**one, "shape": [2, 32, 2], "layout": "S[(2,32,2):(1@warpid,1@laneid,1)]"} for one in cta["operands"]]
    yield Form("ewise", cta["id"], cta)
