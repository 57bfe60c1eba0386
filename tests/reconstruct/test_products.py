"""Products computed again: numbers in every format, and a multiplication in plain Python that stands in for the GPU."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest

from tests.gpu.mma_forms import mma_document
from tilecheck.document import read_call
from tilecheck.emit import emit_kernel_unchecked
from tilecheck.reconstruct.arena import arena
from tilecheck.reconstruct.products import LARGEST_SUM, MOST, DrawnArena, decoded, drawn, encoded, with_numbers, wrong
from tilecheck.reconstruct.run import predicted

HALF = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


@pytest.mark.parametrize(
    ("type_", "bits", "value"),
    [
        ("f16", 0x3C00, 1.0),
        ("bf16", 0xC000, -2.0),
        ("tf32", 0x40400000, 3.0),
        ("f64", 0x3FE0000000000000, 0.5),
        ("e4m3", 0x38, 1.0),
        ("e4m3", 0x7E, 448.0),
        ("e4m3", 0x01, 2.0**-9),
        ("e5m2", 0x3C, 1.0),
        ("e5m2", 0xC5, -5.0),
        ("s8", 0xFF, -1),
        ("u8", 0xFF, 255),
        ("s4", 0x8, -8),
        ("u4", 0xF, 15),
        ("s32", 0xFFFFFFFE, -2),
        ("b1", 1, 1),
    ],
)
def test_numbers_are_read_and_written(type_, bits, value):
    assert decoded(type_, bits) == value
    assert encoded(type_, value) == bits


def test_a_number_that_a_type_does_not_hold_is_refused():
    with pytest.raises(ValueError, match="is no f16"):
        encoded("f16", 2049)


@pytest.mark.parametrize("type_", [*MOST, "s8", "u8", "s4", "u4", "b1"])
def test_drawn_numbers_differ(type_):
    rng = random.Random(3)
    found = {drawn(type_, rng, starts=False) for _ in range(200)}
    assert len(found) > (1 if type_ == "b1" else 6)
    assert all(decoded(type_, bits) == decoded(type_, encoded(type_, decoded(type_, bits))) for bits in found)


def test_the_largest_sums_are_exact():
    assert LARGEST_SUM["f16"] + 64 * MOST["e4m3"] ** 2 <= 2048
    assert LARGEST_SUM["f32"] + 64 * MOST["bf16"] ** 2 <= 1 << 24


def halves(word: int) -> tuple[float, float]:
    return struct.unpack("<ee", struct.pack("<I", word))


def multiplied(place: DrawnArena, run: int) -> np.ndarray:
    """What a run would leave: D = A * B + C by the fragments of PTX ISA 9.7.14.5.8, two steps of K."""
    content = place.fill(run)
    banks = {}
    for region in place.regions:
        if region.role == "before":
            banks[region.name] = content[region.at : region.end].view(np.uint32).reshape(32, -1)
            after = place.region("after", region.name)
            content[after.at : after.end] = content[region.at : region.end]
    a, b = np.zeros((16, 32)), np.zeros((32, 8))
    for lane in range(32):
        group, inside = divmod(lane, 4)
        for step in range(2):
            for r in range(4):
                row, column = group + 8 * (r % 2), 16 * step + 2 * inside + 8 * (r // 2)
                a[row, column : column + 2] = halves(int(banks["A"][lane, 4 * step + r]))
            for r in range(2):
                row = 16 * step + 2 * inside + 8 * r
                b[row : row + 2, group] = halves(int(banks["B"][lane, 2 * step + r]))
    result = a @ b
    d = content[place.region("after", "D").at : place.region("after", "D").end].view(np.float32).reshape(32, -1)
    c = banks["C"].view(np.float32)
    for lane in range(32):
        for r in range(4):
            d[lane, r] = c[lane, r] + result[lane // 4 + 8 * (r // 2), 2 * (lane % 4) + r % 2]
    return content


def test_a_product_in_plain_python_is_what_is_expected_and_a_changed_one_is_not():
    call = read_call(mma_document(HALF, {"k": 2}))
    kernel, image = emit_kernel_unchecked(call, "sm_90"), predicted(call, {}, 0)
    place = with_numbers(arena(kernel, 0, {}, 0), image, kernel.tensors, 32)
    runs = [multiplied(place, run) for run in range(4)]
    bad, computed = wrong(place, image, kernel.tensors, 32, runs)
    assert (bad, computed) == ([], 512)
    at = place.region("after", "D").at + 17
    runs[2][at] ^= 1
    assert wrong(place, image, kernel.tensors, 32, runs)[0] == [at]
    runs[2][at] ^= 1
    runs[0][place.region("after", "A").at] ^= 1
    assert wrong(place, image, kernel.tensors, 32, runs)[0] == [place.region("after", "A").at]
