"""Tensors too large to look at element by element: their ends and strides against brute force on small ones, and calls with them."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from tilecheck.document import read_call
from tilecheck.evaluate.boxes import extremes, rectangular
from tilecheck.evaluate.views import FixedView, View
from tilecheck.prove.check import check

LOAD = "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes"


def drawn(rng: random.Random) -> FixedView:
    """A view of a tensor of two axes of several factors, cut, turned around or broadcast."""
    factors = [[rng.randint(1, 4) for _ in range(rng.randint(1, 3))] for _ in range(2)]
    shape = [1, 1]
    for axis, own in enumerate(factors):
        for extent in own:
            shape[axis] *= extent
    flat = [extent for own in factors for extent in own]
    strides = [rng.choice([0, 1, 2, 4, 8, -3, 16]) for _ in flat]
    if rng.random() < 0.4:  # as of one stride for each axis
        steps = [step for own in reversed(factors) for step in reversed(own)]
        strides, place = [], 1
        for step in steps:
            strides.insert(0, place)
            place *= step
    begin = [rng.randrange(extent) for extent in shape]
    steps = [{"op": "slice", "begin": begin, "extent": [rng.randint(1, e - b) for e, b in zip(shape, begin, strict=True)]}]
    if rng.random() < 0.3:
        steps.append({"op": "permute", "order": [1, 0]})
    layout = f"S[({','.join(map(str, flat))}):({','.join(map(str, strides))})] + 5"
    return FixedView(View({"space": "global", "dtype": "float16", "shape": shape, "layout": layout, "view": steps}), {})


@pytest.mark.parametrize("seed", range(200))
def test_ends_and_strides_are_those_of_every_element(seed: int):
    fixed = drawn(random.Random(seed))
    extents = fixed.shapes[-1]
    every = list(product(*(range(extent) for extent in extents)))
    places = [fixed.address(c) for c in every]
    offsets = [fixed.linear(fixed.source(c)[0]) for c in every]
    assert extremes(fixed, fixed.address, lambda _points=1: None) == (min(places), max(places))
    assert extremes(fixed, lambda c: fixed.linear(fixed.source(c)[0]), lambda _points=1: None, linear=True) == (min(offsets), max(offsets))
    first = fixed.address((0, 0))
    strides = [fixed.address(tuple(int(j == k) for j in range(2))) - first if e > 1 else 0 for k, e in enumerate(extents)]
    straight = all(place == first + strides[0] * i + strides[1] * j for (i, j), place in zip(every, places, strict=True))
    assert rectangular(fixed, first, strides, lambda _points=1: None) == straight


def load(index_dtype: str = "int64", symbols: tuple[Any, ...] = (), **tensor: Any) -> dict[str, Any]:
    return {
        "schema": "tilecheck/call@1",
        "opcode": LOAD,
        "scope": "thread",
        "index_dtype": index_dtype,
        "symbols": list(symbols),
        "operands": [
            {"name": "S", "space": "shared", "dtype": "float16", "shape": [8, 64], "align": 1024},
            {"name": "T", "space": "global", "dtype": "float16", "align": 16} | tensor,
        ],
        "parameters": {"coords": [0, 0], "mbar": "shared", "box": [8, 64]},
    }


ROWS, PITCH = {"name": "M", "min": 1 << 24, "max": 1 << 25}, {"name": "P", "min": 1, "max": 7}
VAST = {
    "a pitch that leaves int32": ("src.index.range", load("int32", shape=[1 << 20, 64], layout="S[(1048576,64):(4096,1)]")),
    "rows that leave int32": ("src.index.range", load("int32", shape=[1 << 22, 1024])),
    "rows below the base": ("src.bounds", load(shape=[1 << 22, 1024], layout="S[(4194304,1024):(-1024,1)]")),
    "a swizzled tensor": ("descriptor", load(shape=[4096, 4096], layout="Swizzle(3,3,3) o S[(4096,4096):(4096,1)]")),
    "a pitch of a few bytes": ("descriptor", load(symbols=(ROWS, PITCH), shape=["M", 64], layout="S[(M,64):(P,1)]")),
    "rows beyond any map": ("descriptor", load(symbols=({"name": "M", "min": 1 << 40, "max": 1 << 41},), shape=["M", 64])),
    "two strides": ("descriptor", load(shape=[1 << 22, 64], layout="S[(2048,2048,64):(64,131080,1)]")),
    "words of a view that leave int32": (
        "src.index.range",
        load("int32", shape=[1 << 20, 128], dtype="uint8", layout="S[(1048576,128):(4096,1)]", view=[{"op": "view", "dtype": "float16"}]),
    ),
}


@pytest.mark.parametrize("name", VAST)
def test_a_fault_of_a_tensor_that_nobody_can_look_at_whole_is_refuted(name: str):
    clause, document = VAST[name]
    verdict = check(read_call(document))
    assert (verdict.status, [found.id for found in verdict.failing]) == ("refuted", [clause])
    assert all(found.counterexample is not None and found.counterexample.actual for found in verdict.failing)


@pytest.mark.parametrize("shape", [[1 << 31, 64], [1 << 20, 4096]])
def test_a_vast_tensor_is_proved_and_audited(shape: list[int]):
    verdict = check(read_call(load(shape=shape)), audit=True)
    assert (verdict.status, verdict.reason) == ("proved", None)


def test_an_audit_gives_up_on_a_chunk_of_four_gigabytes():
    chunk = (1 << 32) - 16
    tensor = {"name": "T", "space": "global", "dtype": "uint8", "shape": [chunk], "align": 16}
    document = {"schema": "tilecheck/call@1", "opcode": "cp.async.bulk.prefetch.L2.global", "scope": "thread", "operands": [tensor]}
    verdict = check(read_call(document | {"parameters": {"chunk_bytes": chunk}}), audit=True)
    assert (verdict.status, "not audited by brute force" in (verdict.reason or "")) == ("proved", True)


def test_an_audit_gives_up_on_more_repeats_than_fit_in_memory():
    tensor = {"name": "T", "space": "global", "dtype": "uint8", "shape": [1 << 40, 16], "align": 16}
    document = {"schema": "tilecheck/call@1", "opcode": "cp.async.bulk.prefetch.L2.global", "scope": "thread", "operands": [tensor]}
    verdict = check(read_call(document | {"parameters": {"chunk_bytes": 16}}), audit=True)
    assert (verdict.status, "not audited by brute force" in (verdict.reason or "")) == ("proved", True)
