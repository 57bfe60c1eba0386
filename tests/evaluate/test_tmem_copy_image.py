"""The image that is predicted of tcgen05.cp, against the bytes that a simulated machine holds afterwards: every shape, multicast and decompression."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.simulator.documents import Document
from tests.simulator.forms import PACKINGS, copies, copy
from tests.simulator.machine import Machine, faults
from tests.simulator.run import carry_out
from tilecheck.document import read_call
from tilecheck.evaluate import Image, Model
from tilecheck.spec import Contract, data, find_contract

GROUPS = [copy(shape, 0, packing, group=2) for shape in ("64x128b.warpx2::01_23", "4x256b") for packing in PACKINGS]


def predicted(document: dict[str, Any]) -> Image:
    contract = find_contract(document["opcode"])
    assert isinstance(contract, Contract)
    return Model(data(contract), read_call(document).to_json()).predict({}, 0)


def applied(image: Image, machine: Machine, document: Document) -> np.ndarray:
    """Tensor memory as bytes, [CTA, lane * 2048 + byte of the lane], after the rows of an image."""
    found = np.ascontiguousarray(machine.tmem).view(np.uint8).reshape(machine.ctas, -1).copy()
    base = machine.shared_at[document.operands[1].tensor]
    for _, byte, tensor, what, *more in image.memory:
        where = more[0] if more else {}
        own = where.get("cta", 0)
        if what == "unpacked":
            value, at = 0, 0
            for _, source, bit, bits, *cta in where["sources"]:
                piece = int(machine.shared_bytes(cta[0] if cta else 0, np.array([base + source]))[0]) >> bit & (1 << bits) - 1
                value, at = value | piece << at, at + bits
            found[own, byte] = value << where["low"]
        else:
            assert tensor == "SM"
            found[own, byte] = machine.shared_bytes(where.get("from", 0), np.array([base + what]))[0]
    return found


@pytest.mark.parametrize("form", [*copies(), *GROUPS], ids=lambda form: form["id"])
def test_every_byte_of_tensor_memory_is_as_predicted(form: dict[str, Any]) -> None:
    document = Document(form)
    machine = Machine(document.ctas, 7)
    machine.allocate([document])
    expected = applied(predicted(form), machine, document)
    before = machine.tmem.copy()
    with faults():
        carry_out(machine, document, {})
    assert not np.array_equal(machine.tmem, before)
    assert np.array_equal(np.ascontiguousarray(machine.tmem).view(np.uint8).reshape(machine.ctas, -1), expected)


def test_rows_name_the_bits_of_packed_values() -> None:
    first, second, third, *_ = predicted(copy("32x128b.warpx4", 0, PACKINGS[2])).memory
    assert first == ["TM", 48, None, "unpacked", {"low": 2, "sources": [["SM", 0, 0, 4]]}]
    assert second == ["TM", 49, None, "unpacked", {"low": 2, "sources": [["SM", 0, 4, 4]]}]
    assert third == ["TM", 50, None, "unpacked", {"low": 2, "sources": [["SM", 1, 0, 4]]}]
    straddles = predicted(copy("32x128b.warpx4", 0, PACKINGS[1])).memory[1]
    assert straddles == ["TM", 49, None, "unpacked", {"low": 0, "sources": [["SM", 0, 6, 2], ["SM", 1, 0, 4]]}]


def test_a_byte_that_two_threads_write_is_undefined() -> None:
    form = {**copy("128x128b", 0), "guard": "tx < 2"}
    assert {tuple(row[2:]) for row in predicted(form).memory} == {(None, "undefined")}


def test_rows_name_both_ctas_of_a_pair() -> None:
    rows = predicted(copy("128x128b", 0, group=2)).memory
    assert len(rows) == 2 * 128 * 16
    assert rows[:2] == [["TM", 48, "SM", 0, {"cta": 0, "from": 0}], ["TM", 48, "SM", 0, {"cta": 1, "from": 1}]]
