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


# --- sparse and scaled products --------------------------------------------------------------------------------------

SPARSE = {
    "m16n8k16.row.col.f32.f16.f16.f32": (16, 4, 2),
    "m16n8k32.row.col.f32.bf16.bf16.f32": (16, 4, 2),
    "m16n8k8.row.col.f32.tf32.tf32.f32": (32, 2, 1),
    "m16n8k16.row.col.f32.tf32.tf32.f32": (32, 2, 1),
    "m16n8k32.row.col.s32.s8.u8.s32": (8, 4, 2),
    "m16n8k64.row.col.s32.u8.s8.s32": (8, 4, 2),
    "m16n8k64.row.col.s32.s4.s4.s32": (4, 8, 4),
    "m16n8k128.row.col.s32.u4.s4.s32": (4, 8, 4),
}
"""Bits of an entry, neighbours that four bits of metadata are about, and how many of those A has."""


def metadata(bits: int, words: int, selector: int, row: int, group: int) -> tuple[int, int]:
    """(lane, lowest bit) of the metadata of a group of neighbours of a row: the figures of PTX ISA 9.7.14.6.2. words: bits of metadata of a row."""
    four, upper = 4 * (row % 8), row >= 8
    if words == 16:
        return four + selector, 16 * upper + 4 * group
    if words == 32 and bits >= 16:
        return four + 2 * selector + group // 4, 16 * upper + 4 * (group % 4)
    if words == 32:
        return four + 2 * selector + upper, 4 * group
    return four + 2 * (group // 8) + upper, 4 * (group % 8)


def chosen(bits: int, value: int) -> tuple[int, ...]:
    """The neighbours that four bits of metadata name, in order (PTX ISA 9.7.14.6.1)."""
    low, high = value & 3, value >> 2
    if bits == 32:
        return (low // 2,) if high == low + 1 and low % 2 == 0 else ()
    return (low, high) if bits > 4 else (2 * low, 2 * low + 1, 2 * high, 2 * high + 1)


@pytest.mark.parametrize("opcode", SPARSE)
def test_metadata_says_which_entries_of_b_a_sparse_row_meets(opcode):
    bits, wide, kept = SPARSE[opcode]
    m, _, k = shape_of(opcode.split(".")[0])
    document = mma_document(f"mma.sp::ordered_metadata.sync.aligned.{opcode}")
    selector = document["parameters"]["f"]
    slots = {(row[3], row[4]): row for row in predicted(document)}
    for i, j in ((0, 0), (3, 5), (9, 2), (15, 7)):
        lane, register, _ = place((i, j), "d", m, 32)
        (entry,) = slots[lane, register][7]["entries"]
        assert len(entry["products"]) == k // wide * kept
        for number, (a, b) in enumerate(entry["products"]):
            group, own = number // kept, number % kept
            a_lane, a_register, a_bit = place((i, number), "a", m, bits)
            assert a == ["A", [0, 0, a_lane, a_register], a_bit, bits]
            e_lane, e_bit = metadata(bits, 4 * k // wide, selector, i, group)
            assert b["by"] == ["E", [0, 0, e_lane, 0], e_bit, 4]
            assert [value for value, _ in b["among"]] == sorted((v for v, _ in b["among"]), key=lambda v: (v & 3, v >> 2))
            for value, source in b["among"]:
                b_lane, b_register, b_bit = place((j, wide * group + chosen(bits, value)[own]), "b", m, bits)
                assert source == ["B", [0, 0, b_lane, b_register], b_bit, bits]


def test_every_ordered_pair_of_neighbours_is_named():
    document = mma_document("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    (_, b), *_ = predicted(document)[0][7]["entries"][0]["products"]
    assert {value for value, _ in b["among"]} == {0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110}


def test_scales_belong_to_rows_columns_and_chunks_of_k():
    opcode = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
    document = mma_document(opcode)
    document["parameters"] |= {"thread_id_a": 1, "thread_id_b": 3}
    slots = {(row[3], row[4]): row for row in predicted(document)}
    for i, j in ((0, 0), (5, 6), (12, 3)):
        lane, register, _ = place((i, j), "d", 16, 32)
        (entry,) = slots[lane, register][7]["entries"]
        assert entry["of"] == ["e2m1", "e2m1", "ue4m3", "ue4m3"]
        found = {k: pair[2:] for k, pair in enumerate(entry["products"])}
        for k, (a, b) in found.items():
            assert a == ["SCALE_A", [0, 0, 4 * (i % 8) + 2 + i // 8, 0], 8 * (k // 16), 8]
            assert b == ["SCALE_B", [0, 0, 4 * j + 3, 0], 8 * (k // 16), 8]
