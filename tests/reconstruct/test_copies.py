"""Predicted copies laid over an arena, and the elements of a reduction against plain integers and fractions."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest

from tests.gpu.async_forms import async_forms
from tilecheck.document import read_call
from tilecheck.emit import emit_kernel_unchecked
from tilecheck.reconstruct import predicted
from tilecheck.reconstruct.arena import arena, shown
from tilecheck.reconstruct.combine import Combined, element_bytes, wrong
from tilecheck.reconstruct.image import expected

FORMS = {form.name: form for form in async_forms()}
WRAP = {"u32": 32, "s32": 32, "b32": 32, "u64": 64, "s64": 64, "b64": 64}
REDUCE = "cp.reduce.async.bulk.global.shared::cta.bulk_group"


def laid(name: str):
    form = FORMS[name]
    kernel = emit_kernel_unchecked(read_call(form.document), "sm_90")
    place = arena(kernel, 1 << 20, form.values, form.elected)
    return place, expected(place, predicted(read_call(form.document), form.values, form.elected), kernel.tensors, math.prod(kernel.block))


def signed(value: int, kind: str) -> int:
    bits = WRAP[kind]
    return value - (1 << bits) if kind[0] == "s" and value >> bits - 1 else value


def plain(operator: str, kind: str, old: int, source: int) -> int:
    """The combination of two elements as unsigned integers."""
    a, b, mask = signed(old, kind), signed(source, kind), (1 << WRAP[kind]) - 1
    found = {
        "add": a + b,
        "min": min(a, b),
        "max": max(a, b),
        "inc": 0 if a >= b else a + 1,
        "dec": b if a == 0 or a > b else a - 1,
        "and": a & b,
        "or": a | b,
        "xor": a ^ b,
    }[operator]
    return found & mask


def element(places: tuple[int, ...], run: int) -> int:
    return int.from_bytes(bytes(int(shown(np.array([p], dtype=np.uint32), run)[0]) for p in places), "little")


def written(one: Combined, value: int, size: int) -> np.ndarray:
    content = np.zeros(size, dtype=np.uint8)
    for k, place in enumerate(one.at):
        content[place] = value >> 8 * k & 255
    return content


@pytest.mark.parametrize(
    "name", [name for name in FORMS if name.startswith("cp.reduce") and name.rsplit(".", 1)[1] in WRAP and "hint" not in name]
)
def test_integers_combine_as_integers_do(name):
    place, found = laid(name)
    operator, kind = name.rsplit(".", 2)[1:]
    assert len(found.combined) * element_bytes(f"{operator}.{kind}") in {512, 1024}
    for one in found.combined[::17]:
        for run in range(4):
            old, (source,) = element(one.before, run), (element(s, run) for s in one.sources)
            right = plain(operator, kind, old, source)
            assert wrong([one], run, written(one, right, place.bytes)) == []
            assert wrong([one], run, written(one, right ^ 1, place.bytes)) == [one.at[0]]


def test_floats_are_summed_to_the_nearest():
    _, found = laid(f"{REDUCE}.add.f64")
    one = found.combined[0]
    old, source = (struct.unpack("<d", element(places, 0).to_bytes(8, "little"))[0] for places in (one.before, one.sources[0]))
    right = int.from_bytes(struct.pack("<d", old + source), "little")
    assert wrong([one], 0, written(one, right, max(one.at) + 1)) == []
    assert wrong([one], 0, written(one, right ^ 1, max(one.at) + 1)) == [one.at[0]]


def test_of_a_number_and_a_nan_the_number_stays():
    one = Combined("max.bf16", (0, 1), (2, 3), ((4, 5),))
    fills = {(2, 3): 0x7FAE, (4, 5): 0x3DC2}
    import tilecheck.reconstruct.combine as module

    def filled(places, run, kind):
        del run, kind
        return np.array([[fills[tuple(places)]]], dtype=np.uint16)

    original, module._filled = module._filled, filled
    try:
        assert wrong([one], 0, np.array([0xC2, 0x3D], dtype=np.uint8)) == []
        assert wrong([one], 0, np.array([0xAE, 0x7F], dtype=np.uint8)) == [0]
    finally:
        module._filled = original


MEASURED = """3f801000>3f800000 3f803000>3f804000 bf801000>bf800000 00001000>00000000 00003000>00004000 00001001>00002000 007fffff>00800000
7f7fffff>7f800000 7f7fefff>7f7fe000 7f800000>7f800000 ff800000>ff800000 7f800001>7fffe000 ffffffff>7fffe000 80000001>80000000 ffc01234>7fffe000
3f800fff>3f800000 3f801001>3f802000 007ff000>00800000 007fefff>007fe000 3f805000>3f804000 3f807000>3f808000"""
"""What an H200 made of a float32 that it loaded with a tensor map of tf32."""


def test_tf32_is_rounded_as_measured():
    import tilecheck.reconstruct.combine as module

    for pair in MEASURED.split():
        before, after = (int(text, 16) for text in pair.split(">"))
        assert int(module.OPERATORS["round"](None, np.array([before], dtype=np.uint32))[0]) == after, pair


def test_an_exchange_takes_the_bytes_of_the_other_copy():
    place, found = laid("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes, exchanged")
    before, after = place.region("before", "E"), place.region("after", "D")
    moved = np.flatnonzero((found.source[after.at : after.end] >= before.at) & (found.source[after.at : after.end] < before.end))
    assert moved.size == 2 * 2 * 256
    for k in moved.tolist():
        cta, source = k // after.size, int(found.source[after.at + k]) - before.at
        assert source // before.size == 1 - cta


def test_what_is_not_listed_stays():
    place, found = laid("cp.async.ca.shared.global, pred by lane")
    before, after = place.region("before", "SM"), place.region("after", "SM")
    kept = found.source[after.at : after.end] == np.arange(before.at, before.end)
    assert int((~kept).sum()) == 16 * 2 * 8  # half of the lanes, two chunks of eight bytes each
