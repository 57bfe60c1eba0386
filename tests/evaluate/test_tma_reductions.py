"""Predicted images of reductions of boxes, and of copies in a cluster, applied to bytes and compared with what NumPy makes of the same arrays."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tilecheck.document import read_call
from tilecheck.evaluate import Model
from tilecheck.prove.check import check
from tilecheck.report.image import as_text
from tilecheck.spec import Contract, data, find_contract

REDUCE = "cp.reduce.async.bulk.tensor.{}d.global.shared::cta.{}.tile.bulk_group"
LOAD = "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
CAST = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
PTX = {"uint32": "u32", "int32": "s32", "uint64": "u64", "int64": "s64", "float16": "f16", "bfloat16": "bf16", "float32": "f32"}
CONTAINER = {"bfloat16": "uint16"}
ROWS, COLUMNS = 6, 40
Document = dict[str, Any]


def document(opcode: str, dtype: str, box: list[int], layout: str, coords: list[int], **more: Any) -> Document:
    """A box of a tensor of 6 rows of 40 elements, 48 apart, and its image."""
    image = {"name": "S", "space": "shared", "dtype": dtype, "shape": more.pop("image", box), "layout": layout, "align": 1024}
    tensor = {"name": "T", "space": "global", "dtype": dtype, "shape": [ROWS, COLUMNS], "layout": f"S[({ROWS},{COLUMNS}):(48,1)]"}
    tensor |= {"align": 16, "size_bytes": 4096}
    loads = "mbarrier" in opcode
    found = {key: more.pop(key) for key in ("launch", "guard", "scope") if key in more}
    parameters = {"box": box, "coords": coords, **more, **({"mbar": "shared"} if loads else {})}
    operands = [image, tensor] if loads else [tensor, image]
    return {"schema": "tilecheck/call@1", "opcode": opcode, "scope": "thread", "operands": operands, "parameters": parameters} | found


def predicted(document: Document) -> list[list[Any]]:
    """The rows of memory of a call that is proved, by the contract as data alone."""
    parsed = read_call(document)
    verdict = check(parsed, audit=True)
    assert verdict.status == "proved", verdict.summary()
    contract = find_contract(document["opcode"])
    assert isinstance(contract, Contract)
    return Model(json.loads(json.dumps(data(contract))), json.loads(json.dumps(parsed.to_json()))).predict({}).memory


def line(byte: np.ndarray, swizzle: int) -> np.ndarray:
    """Where the swizzle of the hardware puts a byte: chunks of 16 bytes of a line, exchanged by the number of the line."""
    chunk, number = byte // 16 % 8, byte // 128 % 8
    return byte + 16 * ((chunk ^ number % (1 << swizzle)) - chunk)


def combined(operator: str, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    functions = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    if operator in {"inc", "dec"}:
        up = np.where(old >= new, 0, old + 1)
        down = np.where((old == 0) | (old > new), new, old - 1)
        return (up if operator == "inc" else down).astype(old.dtype)
    return functions[operator](old, new)


def applied(rows: list[list[Any]], shared: np.ndarray, tensor: np.ndarray, dtype: str) -> np.ndarray:
    """The tensor after the elements that the rows name are combined one by one."""
    left, size = tensor.copy(), np.dtype(CONTAINER.get(dtype, dtype)).itemsize
    assert len(rows) % size == 0
    for k in range(0, len(rows), size):
        group = rows[k : k + size]
        (kind,) = {row[4]["by"] for row in group}
        operator, type_ = kind.split(".")
        assert type_ == PTX[dtype]
        assert [row[1] for row in group] == list(range(group[0][1], group[0][1] + size))
        assert all(row[:1] + row[2:4] == ["T", None, "combined"] for row in group)
        at = [row[1] for row in group]
        for sources in zip(*(row[4]["sources"] for row in group), strict=True):
            assert {name for name, _ in sources} == {"S"}
            source = shared[[byte for _, byte in sources]].view(dtype)
            left[at] = combined(operator, left[at].view(dtype), source).view(np.uint8)
    return left


@pytest.mark.parametrize(("operator", "dtype"), [
    ("add", "uint32"), ("add", "int32"), ("add", "uint64"), ("min", "int64"), ("max", "int32"), ("min", "float16"),
    ("inc", "uint32"), ("dec", "uint32"), ("and", "uint64"), ("or", "int32"), ("xor", "uint32"), ("add", "float32"),
])  # fmt: skip
@pytest.mark.parametrize("swizzle", [0, 1, 2, 3])
def test_a_box_is_combined_through_its_swizzle(operator, dtype, swizzle):
    size = np.dtype(dtype).itemsize
    width, keeps = (32 << max(0, swizzle - 1)) // size, {2: 3, 4: 2, 8: 1}[size]
    pattern = f"Swizzle({keeps},{swizzle},3) o " if swizzle else ""
    rng = np.random.default_rng(swizzle)
    shared = rng.integers(0, 100, 4 * width * size // size, dtype=np.uint8).astype(dtype).view(np.uint8)
    tensor = rng.integers(0, 100, 4096 // size, dtype=np.uint8).astype(dtype).view(np.uint8)
    rows = predicted(
        document(REDUCE.format(2, operator), dtype, [4, width], f"{pattern}S[(4,{width}):({width},1)]", [3, 16 // size], swizzle=swizzle)
    )
    want = tensor.copy()
    grid = np.ndarray((ROWS, COLUMNS), dtype, buffer=want, strides=(48 * size, size))
    plain = np.arange(4 * width * size).reshape(4, width, size)
    box = shared[line(plain, swizzle) if swizzle else plain].copy().view(dtype)[..., 0]
    kept = min(width, COLUMNS - 16 // size)
    there = grid[3:6, 16 // size : 16 // size + kept]
    there[...] = combined(operator, there.copy(), box[:3, :kept])
    assert np.array_equal(applied(rows, shared, tensor, dtype), want)
    assert not np.array_equal(tensor, want)


def test_two_repeats_that_meet_are_two_sources_of_one_element():
    twice = document(REDUCE.format(2, "add"), "uint32", [2, 8], "S[(2,2,8):(32,8,1)]", [0, 0], image=[2, 2, 8], coord_steps=[[1, 0]])
    rows = predicted(twice)
    assert {row[1] // (48 * 4): len(row[4]["sources"]) for row in rows} == {0: 1, 1: 2, 2: 1}
    assert next(row[4]["sources"] for row in rows if row[1] == 48 * 4 + 5) == [["S", 37], ["S", 133]]
    assert "add.u32 of what they hold and S[" in as_text({"memory": rows})


def test_bits_of_bfloat16_are_combined_as_that():
    rows = predicted(document(REDUCE.format(2, "add"), "bfloat16", [1, 8], "S[(1,8):(8,1)]", [0, 0]))
    assert {row[4]["by"] for row in rows} == {"add.bf16"}


def test_a_load_of_tf32_rounds_what_is_inside():
    rows = predicted(document(LOAD, "float32", [1, 8], "S[(1,8):(8,1)]", [0, 36], format="tf32"))
    assert [row[:4] for row in rows] == [["S", k, None, "rounded" if k < 16 else "zero"] for k in range(32)]
    assert [row[4] for row in rows[:16]] == [{"to": "tf32", "sources": [["T", 144 + k]]} for k in range(16)]
    assert as_text({"memory": rows}) == "S bytes 0..15 = T[144..159] rounded to tf32\nS bytes 16..31 = zero\n"


def test_a_multicast_writes_the_ctas_of_its_mask():
    rows = predicted(
        document(CAST, "uint16", [2, 8], "S[(2,8):(8,1)]", [5, 8], launch={"block": [1], "cluster": [4]}, guard="cbx == 1", cta_mask=0b1001)
    )
    assert {row[4]["cta"] for row in rows} == {0, 3}
    for row in rows:
        line_, byte = divmod(row[1], 16)
        assert row[2:4] == (["T", 2 * (48 * 5 + 8) + byte] if line_ == 0 else [None, "zero"])
    assert "S cta 3 bytes 16..31 = zero" in as_text({"memory": rows})


def test_a_store_in_a_cluster_says_whose_shared_memory_it_reads():
    store = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"
    rows = predicted(document(store, "uint16", [1, 8], "S[(1,8):(8,1)]", ["cbx", 0], launch={"block": [1], "cluster": [2]}))
    assert [row[4] for row in rows] == [{"from": 0}] * 16 + [{"from": 1}] * 16
    assert [row[3] for row in rows] == [*range(16)] * 2
