"""Random boxes, loaded, stored and combined: the predicted image applied to bytes against NumPy arrays that are cut, padded and swizzled as a whole."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.gpu.tma_forms import LOAD, REDUCE, SPANS, STORE, Form, bytes_of, form
from tilecheck.document import read_call
from tilecheck.prove.check import check
from tilecheck.reconstruct import predicted

OPCODES = {"load": (LOAD, "cta"), "store": (STORE,), "add": (REDUCE, "add"), "xor": (REDUCE, "xor"), "max": (REDUCE, "max")}


def drawn(seed: int) -> tuple[str, Form]:
    """What is done, and a form of it: any rank, swizzle, element strides, coordinates around the tensor."""
    rng = random.Random(seed)
    what, rank, swizzle = rng.choice(list(OPCODES)), rng.randint(1, 4), rng.randint(0, 3)
    dtype = rng.choice(("uint8", "uint16", "uint32", "uint64")) if what in {"load", "store"} else rng.choice(("uint32", "uint64"))
    size = bytes_of(dtype)
    inner = 16 * rng.randint(1, (SPANS[swizzle] or 64) // 16) // size
    shape = [*(rng.randint(1, 6) for _ in range(rank - 1)), 16 * rng.randint(1, 6) // size]
    box, strides = [*(rng.randint(1, 4) for _ in range(rank - 1)), inner], [*(rng.choice((1, 1, 2, 3)) for _ in range(rank - 1)), 1]
    least = -2 if what == "load" else 0
    at = [*(rng.randint(least, extent) for extent in shape[:-1]), 16 * rng.randint(least, shape[-1] * size // 16) // size]
    template, *parts = OPCODES[what]
    fields = {"coords": at, "swizzle": swizzle, "element_strides": strides, "phase": rng.choice((0, 0, 1, 5))}
    return what, form(f"random {seed}", template.format(rank, *parts), shape, box, dtype=dtype, **fields)


def image_bytes(one: Form) -> np.ndarray:
    """Where in shared memory each byte of the image lies: rows at their pitch, then the swizzle of the address; shape (samples..., bytes of an element)."""
    fields, size = one.document["parameters"], bytes_of(one.document["operands"][0]["dtype"])
    counts = [len(range(0, extent, step)) for extent, step in zip(fields["box"], fields["element_strides"], strict=True)]
    pitch = max(counts[-1] * size, SPANS[fields["swizzle"]])
    outer = np.arange(np.prod(counts[:-1], dtype=int)).reshape(counts[:-1])[..., None, None] * pitch
    shared = next(operand for operand in one.document["operands"] if operand["space"] == "shared")
    first = int(shared["layout"].partition(" + ")[2] or 0) * size
    address = first + outer + np.arange(counts[-1])[:, None] * size + np.arange(size)
    lines = address // 128 % (1 << fields["swizzle"])
    return address ^ (lines << 4)


def sampled(one: Form) -> tuple[np.ndarray, ...]:
    """The coordinates in the tensor of every sample, by axis."""
    fields = one.document["parameters"]
    axes = [
        c + np.arange(0, extent, step) for c, extent, step in zip(fields["coords"], fields["box"], fields["element_strides"], strict=True)
    ]
    return tuple(np.meshgrid(*axes, indexing="ij"))


def left_by(what: str, one: Form, shared: np.ndarray, tensor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(shared memory, the tensor's allocation) afterwards."""
    described = next(operand for operand in one.document["operands"] if operand["space"] == "global")
    extents, dtype = described["shape"], described["dtype"]
    shared, tensor = shared.copy(), tensor.copy()
    places, there = image_bytes(one), sampled(one)
    inside = np.logical_and.reduce([(c >= 0) & (c < extent) for c, extent in zip(there, extents, strict=True)])
    whole = tensor[: np.prod(extents) * bytes_of(dtype)].view(dtype).reshape(extents)
    if what == "load":
        values = np.zeros(inside.shape, dtype)
        values[inside] = whole[tuple(c[inside] for c in there)]
        shared[places] = values[..., None].view(np.uint8).reshape(places.shape)
        return shared, tensor
    values = shared[places].copy().view(dtype)[..., 0]
    at = tuple(c[inside] for c in there)
    combine = {"store": lambda _, new: new, "add": np.add, "xor": np.bitwise_xor, "max": np.maximum}[what]
    whole[at] = combine(whole[at], values[inside])
    return shared, tensor


def applied(what: str, rows: list[list[object]], shared: np.ndarray, tensor: np.ndarray, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """The same by the rows of the prediction."""
    after = {"S": shared.copy(), "T": tensor.copy()}
    before = {"S": shared, "T": tensor}
    if what in {"load", "store"}:
        for label, byte, source, place in rows:
            after[label][byte] = 0 if source is None else before[source][place]
        return after["S"], after["T"]
    size = bytes_of(dtype)
    for k in range(0, len(rows), size):
        element = rows[k : k + size]
        at = [row[1] for row in element]
        assert {(row[0], row[3], row[4]["by"]) for row in element} == {("T", "combined", f"{what}.u{8 * size}")}
        (source,) = zip(*(row[4]["sources"] for row in element), strict=True)
        old, new = after["T"][at].view(dtype), shared[[byte for _, byte in source]].view(dtype)
        after["T"][at] = {"add": np.add, "xor": np.bitwise_xor, "max": np.maximum}[what](old, new).view(np.uint8)
    return after["S"], after["T"]


@pytest.mark.parametrize("seed", range(150))
def test_a_random_box_leaves_what_numpy_says(seed: int):
    what, one = drawn(seed)
    call = read_call(one.document)
    verdict = check(call)
    assert verdict.status == "proved", verdict.summary()
    rng = np.random.default_rng(seed)
    shared, tensor = rng.integers(0, 256, 16 << 10, dtype=np.uint8), rng.integers(0, 256, 48 << 10, dtype=np.uint8)
    dtype = one.document["operands"][0]["dtype"]
    got, want = applied(what, predicted(call, {}, 0).memory, shared, tensor, dtype), left_by(what, one, shared, tensor)
    assert all(np.array_equal(a, b) for a, b in zip(got, want, strict=True))
