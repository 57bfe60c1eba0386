"""What the evaluator says a product is the sum of, against the formulas of the ISA and against plain matrices."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.gpu.mma_forms import mma_document
from tilecheck.contracts.mma import MMA, mma, shape_of
from tilecheck.evaluate import Model
from tilecheck.spec import data

Json = dict[str, Any]
FORMS = {
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32": (16, 32),
    "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16": (16, 16),
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32": (32, 32),
    "mma.sync.aligned.m16n8k32.row.col.s32.s4.u4.s32": (4, 32),
    "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32": (8, 32),
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64": (64, 64),
}
"""Bits of an entry of A and B, and of C and D."""
HALF = next(iter(FORMS))


def predicted(document: Json, **values: int) -> list[list[Any]]:
    found = MMA.read(document["opcode"])
    assert isinstance(found, dict)
    return Model(data(mma(found)), document).predict(values).registers


def place(index: tuple[int, int], axis: str, rows: int, bits: int) -> tuple[int, int, int]:
    """(lane, register, bit) of entry (row or column, k) of A or B, or (row, column) of C and D: PTX ISA 9.7.14.5, solved for the lane."""
    first, second = index
    each = max(1, 32 // bits)
    if axis in "ab":
        word = second // each
        register = word // 4 if axis == "b" or rows == 8 else first // 8 + 2 * (word // 4)
        return 4 * (first % 8) + word % 4, register, second % each * bits
    lane, pair = 4 * (first % 8) + second // 2, second % 2
    return (lane, first // 8, 16 * pair) if bits == 16 else (lane, 2 * (first // 8) + pair, 0)


@pytest.mark.parametrize("opcode", FORMS)
def test_every_entry_of_d_is_the_row_of_a_times_the_column_of_b(opcode):
    bits, wide = FORMS[opcode]
    m, n, k = shape_of(opcode.split(".")[3])
    slots = {(row[3], row[4]): row for row in predicted(mma_document(opcode))}
    for i, j in product(range(m), range(n)):
        lane, register, bit = place((i, j), "d", m, wide)
        row = slots[lane, register]
        assert row[:3] == ["D", 0, 0]
        assert row[5:7] == [None, "computed"]
        entry = next(one for one in row[7]["entries"] if one["bit"] == bit)
        assert (entry["bits"], entry["plus"][1]) == (wide, ["C", [0, 0, lane, register], bit, wide])
        expected = []
        for deep in range(k):
            (a_lane, a, a_bit), (b_lane, b, b_bit) = place((i, deep), "a", m, bits), place((j, deep), "b", m, bits)
            expected.append([["A", [0, 0, a_lane, a], a_bit, bits], ["B", [0, 0, b_lane, b], b_bit, bits]])
        assert sorted(entry["products"]) == sorted(expected)


def test_steps_of_k_are_added_up_and_c_is_added_once():
    one, two = (predicted(mma_document(HALF, {"k": steps})) for steps in (1, 2))
    for first, both in zip(one, two, strict=True):
        short, long = first[7]["entries"][0], both[7]["entries"][0]
        assert short["plus"] == long["plus"]
        assert (len(short["products"]), len(long["products"])) == (16, 32)


def test_c_may_be_a_number():
    document = mma_document(HALF)
    document["operands"][3] = {"name": "zero", "value": 2.5}
    assert all(row[7]["entries"][0]["plus"] == ["f32", 2.5] for row in predicted(document))


def test_c_may_be_an_expression():
    document = mma_document(HALF, symbols=[{"name": "n", "min": 0, "max": 9}])
    document["operands"][3] = {"name": "number", "value": "3 * n - 1"}
    assert all(row[7]["entries"][0]["plus"] == ["f32", 11] for row in predicted(document, n=4))


def test_a_false_predicate_leaves_d_undefined_or_as_it_was():
    document = mma_document(HALF, symbols=[{"name": "n", "min": 0, "max": 1}], parameters={"pred": "n > 0"})
    assert {tuple(row[5:]) for row in predicted(document, n=0)} == {(None, "undefined")}
    assert len(predicted(document, n=0)) == 128
    document["parameters"]["preserve_dst"] = True
    assert predicted(document, n=0) == []


def test_what_reads_what_an_earlier_step_wrote_is_not_predicted():
    document = mma_document(HALF, {"k": 2})
    document["operands"][0]["tensor"] = document["operands"][1]["tensor"] = "X"
    document["operands"][1]["layout"] = "S[(1,2,2,8,2,4):(8,-4,1,4@laneid,2,1@laneid)] + 4"
    with pytest.raises(ValueError, match="earlier instruction"):
        predicted(document)


def test_a_sparse_product_is_not_predicted():
    with pytest.raises(ValueError, match="is not predicted"):
        predicted(mma_document("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"))
