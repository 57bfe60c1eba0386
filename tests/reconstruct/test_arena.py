"""Arenas: numbered places, four fills that tell them, regions at their residues, expected places of an image."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tests.gpu.forms import all_forms
from tilecheck.call import Launch, apply, symbol
from tilecheck.document import read_call
from tilecheck.emit import emit_kernel_unchecked
from tilecheck.errors import InputError
from tilecheck.evaluate.predict import Image
from tilecheck.layout.view import Tensor
from tilecheck.reconstruct.arena import RUNS, Arena, arena, mixed, room, unmixed
from tilecheck.reconstruct.image import expected
from tilecheck.reconstruct.run import Observed, compared, completed, predicted


def form(name):
    return next(one for one in all_forms() if one.name == name)


def placed(name, address=1 << 20):
    one = form(name)
    call = read_call(one.document)
    kernel = emit_kernel_unchecked(call, "sm_90")
    return call, kernel, arena(kernel, address, one.values, one.elected), one.values


def test_numbers_are_mixed_and_unmixed():
    numbers = np.random.default_rng(1).integers(0, 1 << 32, 100_000, dtype=np.uint32)
    assert (unmixed(mixed(numbers)) == numbers).all()
    assert np.unique(mixed(np.arange(1 << 16, dtype=np.uint32)) & 0xFF).size == 256


def test_four_fills_tell_every_place():
    _, _, place, _ = placed("ld.shared.v4.b32")
    assert (place.places([place.fill(run) for run in range(RUNS)]) == np.arange(place.bytes)).all()


@pytest.mark.parametrize("address", [1 << 20, (1 << 20) + 512])
def test_regions_lie_apart_and_where_the_plan_wants_them(address):
    _, kernel, place, _ = placed("SPEC: 64 threads, three 128-bit loads each", address)
    plan = next(one for one in kernel.plan() if one["role"] == "global")
    region = place.region("tensor", "A")
    assert (address + region.at) % plan["align"] == plan["residue"]
    ends = sorted((one.at, one.end) for one in place.regions)
    assert all(end + 256 <= at for (_, end), (at, _) in pairwise(ends))
    assert ends[-1][1] < place.bytes <= room(kernel, form("SPEC: 64 threads, three 128-bit loads each").values)


def simulated_load(call, kernel, place: Arena, values):
    """What a correct GPU leaves of `ld.global.v4.b32` at warp scope, from the layouts of forms.py written out by hand."""
    runs = []
    for run in range(RUNS):
        left = place.fill(run)
        for name in ("R",):
            before, after = place.region("before", name), place.region("after", name)
            left[after.at : after.end] = left[before.at : before.end]
        memory, after = place.region("tensor", "A"), place.region("after", "R")
        for lane in range(32):
            for repeat in range(3):
                for word in range(4):
                    source = memory.at + 4 * (lane * 52 + repeat * 16 + values["n"] + word)
                    target = after.at + lane * after.size + 4 * (8 * repeat + 2 * word)
                    left[target : target + 4] = left[source : source + 4]
        runs.append(left)
    return runs


def observed(name):
    call, kernel, place, values = placed(name)
    return call, Observed(kernel, place, simulated_load(call, kernel, place, values), None, values, 0)


def test_a_right_run_matches_the_prediction():
    call, seen = observed("ld.global.v4.b32")
    differences, counts = compared(seen, predicted(call, seen.values, 0))
    assert differences == ()
    assert counts["registers"] == 32 * 23
    assert counts["memory_bytes"] == seen.arena.region("tensor", "A").size
    assert counts["written_bytes"] == 32 * 3 * 16
    assert counts["undefined_bytes"] == 0


@pytest.mark.parametrize(
    ("role", "name", "byte", "says"),
    [
        ("after", "R", 4, "R: thread 0, slot 1, byte 0 after"),
        ("after", "R", 0, "R: thread 0, slot 0, byte 0 after"),
        ("tensor", "A", 9, "A: byte 9"),
        ("before", "R", 2, "R: thread 0, slot 0, byte 2 before"),
        ("tensor", "A", -3, "between the operands"),
    ],
)
def test_one_wrong_byte_anywhere_is_noticed_and_named(role, name, byte, says):
    call, seen = observed("ld.global.v4.b32")
    at = seen.arena.region(role, name).at + byte
    other = seen.arena.region("tensor", "A").at + 100
    for run, content in enumerate(seen.runs):
        content[at] = seen.arena.fill(run)[other]
    differences, counts = compared(seen, predicted(call, seen.values, 0))
    assert counts["different"] == 1
    assert says in differences[0].place
    assert differences[0].actual == "the value of A: byte 100"


def test_a_source_off_by_a_multiple_of_256_bytes_is_noticed():
    call, seen = observed("ld.global.v4.b32")
    after, memory = seen.arena.region("after", "R"), seen.arena.region("tensor", "A")
    for run, content in enumerate(seen.runs):
        content[after.at] = seen.arena.fill(run)[memory.at + 4 * seen.values["n"] + 256]
    assert compared(seen, predicted(call, seen.values, 0))[1]["different"] == 1


def test_undefined_and_zero_bytes_of_an_image():
    _, kernel, place, _ = placed("ld.global.v4.b32")
    image = Image([["R", 0, 0, 3, 2, None, "undefined"], ["R", 0, 0, 4, 0, None, "zero"]], [["A", 5, None, "undefined"]])
    wanted = expected(place, image, kernel.tensors, 32)
    after = place.region("after", "R")
    assert wanted.undefined.sum() == 5
    assert wanted.undefined[after.at + 3 * after.size + 8]
    assert wanted.undefined[place.region("tensor", "A").at + 5]
    assert (wanted.constant[after.at + 4 * after.size : after.at + 4 * after.size + 4] == 0).all()
    runs = [place.fill(run) for run in range(RUNS)]
    assert wanted.wrong(runs).size > 0


def test_copies_follow_the_cta_and_the_thread():
    call, kernel, place, values = placed("st.shared.v4.b32 at cluster scope [2]")
    wanted = expected(place, predicted(call, values, 0), kernel.tensors, 64)
    after, bank = place.region("after", "A"), place.region("before", "R")
    assert (after.copies, after.per) == (2, "cta")
    assert wanted.source[after.at + after.size + 16] == bank.at + (64 + 1) * bank.size


def test_values_that_vary_are_given_a_lane_a_warp_or_a_cta():
    one = form("ld.global.v4.b32, start varies by warp")
    kernel = emit_kernel_unchecked(read_call(one.document), "sm_90")
    place = arena(kernel, 0, one.values, 0)
    values = next(iter(place.fixed.values()))
    assert list(values) == [28] * 32 + [404] * 32
    assert (place.fill(2) == place.fill(3)).sum() >= 8 * 64
    with pytest.raises(InputError, match="found 1 values, expected 2, one a warp"):
        arena(kernel, 0, {"v": [4]}, 0)


def test_a_size_beyond_any_memory_is_refused():
    memory = Tensor("A", (1 << 40, 4), "float32", align=16)
    call = apply("ld.global.v4.b32", Tensor("R", (1, 4), "float32", "register"), memory[0:1, :], scope="thread")
    with pytest.raises(InputError, match="bytes of device memory"):
        room(emit_kernel_unchecked(call), {})


def test_unset_symbols_take_the_least_assignment_and_unknown_names_are_refused():
    n, m = symbol("n", min=4, max=60, multiple_of=4), symbol("m", min=0, max=9)
    memory = Tensor("A", (128,), "float32", align=16)
    call = apply(
        "ld.global.v4.b32",
        Tensor("R", (4,), "float32", "register"),
        memory[n : n + 4],
        scope="thread",
        launch=Launch((1,)),
        assume=[m > 2, n > m],
        symbols=[n, m],
    )
    assert completed(call, {"m": 5}) == {"n": 8, "m": 5}
    assert completed(call, None) == {"n": 4, "m": 3}
    with pytest.raises(InputError, match="no symbol 'k'"):
        completed(call, {"k": 1})
