"""Tensor maps that the caller has encoded: what the call states of them is used, what a host call has checked is a condition."""

from __future__ import annotations

from typing import Any

import pytest
from known_cases import disagreements
from test_im2col import call as walk
from test_tma import LOAD, PREFETCH, STORE, call, symbol

from tilecheck.document import read_call
from tilecheck.emit import EmissionError, emit, emit_kernel
from tilecheck.prove.check import check
from tilecheck.reconstruct import predicted

Document = dict[str, Any]
MAP = {"name": "D", "space": "tensormap", "align": None}
REDUCE = "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group"
M, K = symbol("M", 1, 64), symbol("K", 64, 256)


def opaque(opcode: str = LOAD, tensor: Document | None = None, **fields: Any) -> Document:
    return call(opcode, tensor=MAP | (tensor or {}), **fields)


PROVED: dict[str, Document] = {
    "a load": opaque(),
    "a store": opaque(STORE),
    "a reduction": opaque(REDUCE),
    "a prefetch": opaque(PREFETCH),
    "a walk over pixels": walk(tensor=MAP),
    "symbolic extents and strides": opaque(tensor={"shape": ["M", "K"], "layout": "S[(M,K):(K,1)]"}, symbols=[M, K]),
    "an address that is stated": opaque(tensor={"align": 16}),
}
REFUTED: dict[str, tuple[str, Document]] = {
    "no box": ("operands", opaque(box=None)),
    "a box beyond the span": ("box", opaque(image={"shape": [8, 128], "layout": "Swizzle(3,3,3) o S[(8,128):(128,1)]"}, box=[8, 128])),
    "a type there is not": (
        "src.type",
        opaque(image={"dtype": "bits128", "shape": [8, 8], "layout": "S[(8,8):(8,1)]"}, tensor={"dtype": "bits128"}, box=[8, 8], swizzle=0),
    ),
    "a stride of 8 bytes": ("descriptor", opaque(tensor={"layout": "S[(32,128):(132,1)]"})),
    "a rank of 1": ("src.shape", opaque(tensor={"shape": [4096]})),
    "an address at 8 mod 16": ("src.aligned", opaque(tensor={"base": {"mod": 16, "is": 8}})),
    "an image elsewhere": ("dst.image", opaque(image={"layout": "S[(8,64):(64,1)]"})),
    "a column of 12 bytes": ("coords", opaque(coords=[0, 6])),
    "more than the stated allocation": ("src.backing", opaque(tensor={"size_bytes": 8000})),
    "a start outside of the bounding box": ("coords.bounds", walk(tensor=MAP, coords=[0, 0, 9, 0])),
}


@pytest.mark.parametrize("name", PROVED)
def test_a_copy_through_an_opaque_map_is_proved_under_the_condition_that_its_fields_are_those(name):
    verdict = check(read_call(PROVED[name]), audit=True)
    assert verdict.status == "proved", verdict.summary()
    (stated,) = (one for one in verdict.conditions if "has been encoded so" in one)
    assert "format float16" in stated
    assert "swizzle 3" in stated


@pytest.mark.parametrize("name", REFUTED)
def test_what_is_stated_of_an_opaque_map_is_used(name):
    clause, document = REFUTED[name]
    verdict = check(read_call(document), audit=True)
    assert verdict.status == "refuted"
    assert clause in {found.id for found in verdict.failing}


@pytest.mark.parametrize("name", [*PROVED, *REFUTED])
def test_brute_force_says_the_same_of_opaque_maps(name):
    parsed = read_call(PROVED[name] if name in PROVED else REFUTED[name][1])
    assert disagreements(parsed, check(parsed), 200_000) in ([], None)


def test_an_address_that_is_not_stated_is_a_condition_and_one_that_is_stated_is_none():
    unknown, known = check(read_call(PROVED["a load"])), check(read_call(PROVED["an address that is stated"]))
    assert [sum("address of D" in one for one in verdict.conditions) for verdict in (unknown, known)] == [1, 0]


def test_a_tensor_in_global_memory_must_say_where_it_is():
    assert check(read_call(call(tensor={"align": None}))).status == "refuted"


def test_only_tensor_copies_take_a_tensor_map():
    register = {"name": "R", "space": "register", "dtype": "float32", "shape": [1]}
    operand = {"name": "D", "space": "tensormap", "dtype": "float32", "shape": [1]}
    load: Document = {"schema": "tilecheck/call@1", "opcode": "ld.global.b32", "scope": "thread", "operands": [register, operand]}
    assert [found.id for found in check(read_call(load)).failing] == ["src.storage"]


def test_the_image_names_the_bytes_of_the_tensor_that_the_map_describes():
    rows = {row[1]: row[2:] for row in predicted(read_call(PROVED["a load"]), {}, 0).memory}
    assert rows[128 + 16] == ["D", 256]


def test_the_map_is_named_by_its_address_and_not_encoded_again():
    emission = emit(read_call(PROVED["a load"]))
    assert emission.tensor_map is None
    assert "[%tc_ptr_D, {0, 0}]" in emission.instructions[0]
    assert "the tensor map" in emission.sets["%tc_ptr_D"]
    with pytest.raises(EmissionError, match="its map is encoded by the caller"):
        emit_kernel(read_call(PROVED["a load"]))
