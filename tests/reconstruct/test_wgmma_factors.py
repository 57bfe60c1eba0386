"""Products of matrices as factors: the places and the sums that the entry by entry image has, sparse ones included."""

from __future__ import annotations

import numpy as np
import pytest

from tests.gpu.wgmma_forms import Stored, opcode_of, wgmma_document
from tilecheck.document import read_call
from tilecheck.emit import emit_kernel_unchecked
from tilecheck.reconstruct.arena import arena
from tilecheck.reconstruct.factors import WIDTHS, Finder, bits_of, expected, filled, numbers_of, rows_of, wrong
from tilecheck.reconstruct.products import decoded, value_of
from tilecheck.reconstruct.run import factors_of, predicted

CALLS = {
    "dense, from memory": wgmma_document(
        opcode_of("f16", 8, "f32"), Stored("mn", 3), Stored("k", 2), (1, 1, 2), parameters={"accum": False}
    ),
    "dense, from registers": wgmma_document(opcode_of("e4m3", 8, "f16", "e5m2"), None, Stored("k", 0), parameters={"imm_scale_a": -1}),
    "single bits": wgmma_document(opcode_of("b1", 8, "s32"), Stored(), Stored()),
    "sparse halves": wgmma_document(opcode_of("f16", 8, "f32", sparse=True), Stored(), Stored("mn", 0), (1, 1, 2)),
    "sparse bytes": wgmma_document(opcode_of("s8", 8, "s32", "u8", sparse=True), None, Stored()),
    "sparse words": wgmma_document(opcode_of("tf32", 8, "f32", sparse=True), None, Stored(), parameters={"sp_sel": 1}),
}


@pytest.mark.parametrize("name", CALLS)
def test_factors_say_what_the_image_says_entry_by_entry(name):
    call = read_call(CALLS[name])
    kernel = emit_kernel_unchecked(call, "sm_90a")
    image = predicted(call, {}, 0)
    plain = arena(kernel, 1 << 32, {}, 0)
    finder = Finder(plain, kernel.tensors, 128)
    placed = [finder.placed(one) for one in factors_of(call, {}, 0)]
    place = filled(plain, placed)
    before, after = place.fill(0), expected(place, placed, 0)

    def bits(source):
        at, bit = finder.place(source)
        word = int.from_bytes(bytes(before[at : at + 5]), "little")
        return word >> bit & (1 << source[3]) - 1

    def read(type_, source):
        if isinstance(source, dict):
            source = next(where for value, where in source["among"] if value == bits(source["by"]))
        return decoded(type_, bits(source))

    rows = image.registers[:: max(1, len(image.registers) // 40)]
    assert len(image.registers) == sum(len({tuple(e.slot) for e in one.factors.entries}) for one in placed)
    for row in rows:
        for entry in row[7]["entries"]:
            at, bit = finder.place([row[0], row[1:5], entry["bit"], entry["bits"]], "after")
            found = int.from_bytes(bytes(after[at : at + 5]), "little") >> bit & (1 << entry["bits"]) - 1
            assert decoded(entry["type"], found) == value_of(entry, row[7]["by"], read)
    assert wrong(place, placed, [expected(place, placed, run) for run in range(4)])[0] == []


def test_a_product_that_came_out_otherwise_is_noticed():
    call = read_call(CALLS["dense, from memory"])
    kernel = emit_kernel_unchecked(call, "sm_90a")
    finder = Finder(plain := arena(kernel, 1 << 32, {}, 0), kernel.tensors, 128)
    placed = [finder.placed(one) for one in factors_of(call, {}, 0)]
    place = filled(plain, placed)
    runs = [expected(place, placed, run) for run in range(4)]
    changed = int(placed[0].out.at[5])
    runs[2][changed] ^= 1
    assert wrong(place, placed, runs)[0] == [changed]


@pytest.mark.parametrize("kind", WIDTHS)
def test_numbers_are_encoded_and_decoded(kind):
    values = np.array([0, 1] if kind == "b1" else [0, 1, 2, 3] if kind == "u8" else [-3, -1, 0, 1, 2], dtype=np.float64)
    assert numbers_of(kind, bits_of(kind, values)).tolist() == values.tolist()


def test_a_sparse_row_has_its_zeros():
    call = read_call(CALLS["sparse halves"])
    kernel = emit_kernel_unchecked(call, "sm_90a")
    finder = Finder(plain := arena(kernel, 1 << 32, {}, 0), kernel.tensors, 128)
    (one,) = (finder.placed(found) for found in factors_of(call, {}, 0))
    content = filled(plain, [one]).fill(0)
    rows = rows_of(one, content)
    assert rows.shape == (64, 64)
    assert ((rows.reshape(64, 16, 4) != 0).sum(axis=2) <= 2).all()
