"""Predicted images of copies of boxes against plain arithmetic: swizzle, pitch, fill, slices, packed nibbles, the tail of a store."""

from __future__ import annotations

import json
from typing import Any

from tilecheck.document import read_call
from tilecheck.evaluate import Model
from tilecheck.prove.check import check
from tilecheck.spec import Contract, data, find_contract

LOAD = "cp.async.bulk.tensor.{}d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"


def call(opcode: str, image: dict[str, Any], tensor: dict[str, Any], **fields: Any) -> dict[str, Any]:
    shared = {"name": "S", "space": "shared", "dtype": "uint16", "align": 1024} | image
    there = {"name": "T", "space": "global", "dtype": "uint16", "align": 32} | tensor
    loads = "mbarrier" in opcode
    operands = [shared, there] if loads else [there, shared]
    parameters = {"coords": [0] * len(fields["box"]), **fields, **({"mbar": "shared"} if loads else {})}
    return {"schema": "tilecheck/call@1", "opcode": opcode, "scope": "thread", "operands": operands, "parameters": parameters}


def rows(document: dict[str, Any]) -> dict[int, list[Any]]:
    """What each written byte holds, of a call that is proved."""
    parsed = read_call(document)
    assert check(parsed).status == "proved"
    contract = find_contract(document["opcode"])
    assert isinstance(contract, Contract)
    image = Model(json.loads(json.dumps(data(contract))), json.loads(json.dumps(parsed.to_json()))).predict({})
    assert not image.registers
    return {row[1]: row[2:] for row in image.memory}


def test_chunks_of_a_swizzled_box_are_exclusive_ors_of_chunk_and_line():
    found = rows(
        call(
            LOAD.format(2), {"shape": [8, 64], "layout": "Swizzle(3,3,3) o S[(8,64):(64,1)]"}, {"shape": [64, 256]}, box=[8, 64], swizzle=3
        )
    )
    assert len(found) == 1024
    for row in range(8):
        for chunk in range(8):
            assert found[128 * row + 16 * (chunk ^ row)] == ["T", 512 * row + 16 * chunk]


def test_a_narrow_row_leaves_the_rest_of_its_span_alone():
    found = rows(
        call(LOAD.format(2), {"shape": [4, 16], "layout": "Swizzle(3,3,3) o S[(4,16):(64,1)]"}, {"shape": [64, 64]}, box=[4, 16], swizzle=3)
    )
    assert sorted(found) == sorted(128 * row + 16 * (chunk ^ row) + k for row in range(4) for chunk in range(2) for k in range(16))


def test_what_lies_outside_the_tensor_is_filled():
    found = rows(call(LOAD.format(2), {"shape": [4, 8]}, {"shape": [6, 8]}, box=[4, 8], coords=[4, 0]))
    assert [found[16 * row] for row in range(4)] == [["T", 64], ["T", 80], [None, "zero"], [None, "zero"]]
    nan = call(
        LOAD.format(2), {"shape": [2, 8], "dtype": "float16"}, {"shape": [6, 8], "dtype": "float16"}, box=[2, 8], coords=[-1, 0], oob_fill=1
    )
    assert [rows(nan)[16 * row] for row in range(2)] == [[None, "nan"], ["T", 0]]


def test_a_slice_of_channels_lies_behind_the_next():
    image = {"shape": [1, 1, 8, 8], "layout": "Swizzle(3,1,3) o S[(1,1,8,8):(64,64,8,1)]"}
    found = rows(call(LOAD.format(3), image, {"shape": [2, 4, 16, 8]}, box=[1, 1, 8], coords=[1, 2, 4], interleave=1, swizzle=1))
    assert [found[16 * pixel] for pixel in range(8)] == [["T", 2 * (8 * 4 * 16 + 2 * 128 + 8 * (4 + pixel))] for pixel in range(8)]


def test_packed_nibbles_fill_half_of_each_block_and_leave_the_rest_undefined():
    nibbles = {"dtype": "float4_e2m1fn"}
    image = nibbles | {"shape": [2, 128], "layout": "S[(2,8,16):(256,32,1)]"}
    found = rows(call(LOAD.format(2), image, nibbles | {"shape": [4, 256]}, box=[2, 128]))
    for block in range(16):
        source = 128 * (block // 8) + 8 * (block % 8)
        assert [found[16 * block + k] for k in range(16)] == [["T", source + k] for k in range(8)] + [[None, "undefined"]] * 8


def test_a_store_ends_at_the_next_multiple_of_16_bytes():
    tensor = {"shape": [4, 20], "layout": "S[(4,20):(32,1)]", "size_bytes": 256}
    found = rows(call(STORE, {"shape": [2, 16]}, tensor, box=[2, 16], coords=[1, 8]))
    assert sorted(found) == [64 * row + 16 + k for row in (1, 2) for k in range(32)]
    assert found[64 + 16] == ["S", 0]


def test_an_interleaved_box_that_the_driver_refuses_is_refuted():
    image, tensor = {"shape": [1, 1, 4, 8]}, {"shape": [2, 4, 16, 8]}
    refused = check(read_call(call(LOAD.format(3), image, tensor, box=[1, 1, 4], interleave=1)))
    taken = check(read_call(call(LOAD.format(3), {"shape": [1, 1, 8, 8]}, tensor, box=[1, 1, 8], interleave=1)))
    assert (refused.status, [clause.id for clause in refused.failing]) == ("refuted", ["box"])
    assert (taken.status, taken.conditions) == ("proved", ())
