# ruff: noqa: ARG002 (a stand-in has the signatures of what it stands for)
"""Silicon maps: tags tell every bit and every fault apart, simulated wrong maps are noticed, evidence covers every form."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from tests.gpu.bitplanes import differences, merged, row, silicon_map, staged, traced
from tests.gpu.evidence import has_gpu, stale  # noqa: F401 (a skipif names has_gpu)
from tests.gpu.forms import register_forms
from tests.gpu.simulated import Simulated
from tests.gpu.tags import INVERTED, MIXED, ONE, UNDEFINED, ZERO, Tags, different, predicted_origins
from tilecheck.reconstruct import predicted, read_evidence, write_evidence
from tilecheck.reconstruct.device import gpu
from tilecheck.reconstruct.image import Expected, Part, expected

EVIDENCE = Path(__file__).parents[2] / "docs" / "evidence" / "bitplanes.json"
FORMS = {form.name: form for form in register_forms()}
CHOSEN = [
    "ld.global.b8",
    "ld.shared.v2.b16",
    "st.local.v4.b8",
    "st.global.b128",
    "ld.global.v4.b32, pred laneid % 2 == 0, dst not preserved",
    "ld.global.v4.b32, start varies by thread",
    "st.shared.v2.b32 at thread scope, guard elected",
    "st.shared.v4.b32 at cluster scope [2]",
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16, scattered rows",
    "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16, Swizzle(3,3,3) of float16",
]


def simulated(name: str) -> tuple:
    machine = Simulated()
    one = staged(FORMS[name], machine)
    machine.origins = one.wanted.copy()
    return one, machine


@pytest.mark.parametrize("size", [1, 2, 3, 64, 1000])
def test_no_two_bits_have_one_tag(size):
    tags = Tags(size)
    shown = [tags.shown(digit, complemented=False) for digit in range(tags.digits)]
    complements = [tags.shown(digit, complemented=True) for digit in range(tags.digits)]
    assert all((one ^ other == 0xFF).all() for one, other in zip(shown, complements, strict=True))
    columns = np.stack([np.unpackbits(one, bitorder="little") for one in shown])
    assert np.unique(columns, axis=1).shape[1] == 8 * size
    assert columns[-1].all()
    assert tags.origins(shown, complements).tolist() == list(range(8 * size))


def test_constants_inverted_and_mixed_bits_are_no_places():
    tags = Tags(4)
    straight = [tags.shown(digit, complemented=False) for digit in range(tags.digits)]
    complements = [tags.shown(digit, complemented=True) for digit in range(tags.digits)]
    for contents in (straight, complements):
        for one in contents:
            bit = [int(one[k // 8]) >> k % 8 & 1 for k in range(32)]
            one[0] = 0 | 1 << 1 | (1 - bit[9]) << 2 | (bit[4] & bit[5]) << 3 | (bit[4] | bit[7]) << 4 | (bit[20] ^ bit[8]) << 5
    assert tags.origins(straight, complements)[:6].tolist() == [ZERO, ONE, INVERTED, MIXED, MIXED, MIXED]


@pytest.mark.parametrize("name", CHOSEN)
def test_a_device_that_does_as_predicted_is_traced(name):
    one, machine = simulated(name)
    found = row(one, silicon_map(one, machine), machine)
    assert found["matches"] is True
    assert found["compared"]["moved_bits"] > 0


@pytest.mark.parametrize("name", CHOSEN)
def test_the_map_of_bits_is_the_map_of_bytes(name):
    one, machine = simulated(name)
    image = predicted(one.call, one.values, one.form.elected)
    said = expected(one.arena, image, one.kernel.tensors, math.prod(one.kernel.block))
    assert said.wrong(machine.runs(one.kernel, one.arena)).size == 0


def test_bytes_put_together_from_parts_are_traced():
    one, machine = simulated("ld.global.b32")
    cut = {700: (Part(300, 2, 6, 0), Part(301, 0, 2, 6)), 701: (Part(5, 4, 4, 0),), 702: ()}
    size = one.arena.bytes
    said = Expected(np.arange(size), np.full(size, -1, dtype=np.int16), np.zeros(size, dtype=np.bool_), cut)
    machine.origins = predicted_origins(said)
    assert machine.origins[5600:5624].tolist() == [*range(2402, 2408), 2408, 2409, *range(44, 48), *[ZERO] * 12]
    assert said.wrong(machine.runs(one.kernel, one.arena)).size == 0
    assert np.array_equal(silicon_map(one, machine), machine.origins)


def a_moved_bit(one) -> int:
    """A bit of a destination that comes from elsewhere than from the byte before it, in the middle of the form."""
    target = next(region for region in one.arena.regions if region.role in {"tensor", "after"} and _moves(one, region))
    places = np.arange(8 * target.at, 8 * target.end)
    moved = places[(one.wanted[places] >= 0) & (one.wanted[places] != places)]
    return int(moved[moved.size // 2])


def _moves(one, region) -> bool:
    operand = one.form.document["operands"][0]["name"]
    return region.name == operand


@pytest.mark.parametrize("name", CHOSEN)
def test_one_swapped_bit_is_noticed(name):
    one, machine = simulated(name)
    k = a_moved_bit(one)
    machine.origins[k], machine.origins[k ^ 1] = machine.origins[k ^ 1], machine.origins[k]
    found = silicon_map(one, machine)
    assert different(one.wanted, found).tolist() == sorted((k, k ^ 1))
    assert all("expected" in text for text in differences(one, found))


@pytest.mark.parametrize("origin", ["zero", "one", "elsewhere", "unwritten"])
def test_one_wrong_bit_is_noticed(origin):
    one, machine = simulated("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16, dense")
    k = a_moved_bit(one)
    bank = one.arena.region("after", "R")
    own = k - 8 * bank.at + 8 * one.arena.region("before", "R").at
    wrong = {"zero": ZERO, "one": ONE, "elsewhere": int(one.wanted[k]) + 128, "unwritten": own}[origin]
    machine.origins[k] = wrong
    found = silicon_map(one, machine)
    assert different(one.wanted, found).tolist() == [k]
    assert found[k] == wrong


@pytest.mark.parametrize("fault", ["inverted", "or", "and"])
def test_gates_are_noticed(fault):
    one, machine = simulated("ld.global.v4.b32")
    k = a_moved_bit(one)
    other = int(one.wanted[k ^ 8])

    def changed(before, after):
        mine = after[k]
        after[k] = {"inverted": 1 - mine, "or": mine | before[other], "and": mine & before[other]}[fault]
        return after

    machine.changed = changed
    found = silicon_map(one, machine)
    assert different(one.wanted, found).tolist() == [k]
    assert found[k] == (INVERTED if fault == "inverted" else MIXED)


def test_a_write_beside_the_operands_is_noticed():
    one, machine = simulated("st.global.v4.b32")
    tensor = one.arena.region("tensor", "A")
    for k in (8 * tensor.at - 1, 8 * tensor.end):
        machine.origins = one.wanted.copy()
        machine.origins[k] = a_moved_bit(one)
        assert different(one.wanted, silicon_map(one, machine)).tolist() == [k]


def test_undefined_bits_are_not_compared_and_counted():
    one, machine = simulated("ld.shared.b64, pred n > 0, dst not preserved")
    found = row(one, silicon_map(one, machine), machine)
    assert found["matches"] is True
    assert found["compared"]["undefined_bits"] == int((one.wanted == UNDEFINED).sum()) == 3 * 32 * 64


def test_a_form_that_differs_is_said_to(capsys):
    class Swapping(Simulated):
        def changed(self, before, after):
            return np.roll(after, 1)

        @property
        def origins(self):
            return np.arange(8 * self.content.size)

        @origins.setter
        def origins(self, value):
            pass

    rows, failed = traced([FORMS["ld.global.b32"]], Swapping())
    assert not failed
    assert [one["matches"] for one in rows] == [False]
    assert "DIFFERS" in capsys.readouterr().out


def test_rows_of_other_forms_stay(tmp_path):
    path = tmp_path / "bitplanes.json"
    write_evidence(path, [{"form": "ld.global.b8", "new": 0}, {"form": "ld.global.b16", "new": 0}, {"form": "a form that is no more"}])
    rows = merged([{"form": "ld.global.b8", "new": 1}], path)
    assert sorted((row["form"], row["new"]) for row in rows) == [("ld.global.b16", 0), ("ld.global.b8", 1)]


def test_evidence_traces_every_bit_of_every_form():
    entries = {str(entry["form"]): entry for entry in read_evidence(EVIDENCE)}
    assert [name for name in FORMS if name not in entries] == []
    assert [name for name, entry in entries.items() if entry["matches"] is not True or entry["compared"]["different"]] == []
    assert all(entry["device"] not in {"", "simulated"} for entry in entries.values())


def test_every_opcode_moves_bits_in_some_form():
    moved: dict[str, int] = {}
    for entry in read_evidence(EVIDENCE):
        moved[str(entry["opcode"])] = moved.get(str(entry["opcode"]), 0) + entry["compared"]["moved_bits"]
    assert {str(form.document["opcode"]) for form in FORMS.values()} <= {opcode for opcode, count in moved.items() if count}


def test_the_evidence_is_of_the_ptx_and_contracts_that_stand_here():
    old = stale(EVIDENCE, FORMS)
    if old:  # an error for a release only
        pytest.skip(f"stale evidence, run tests/gpu/bitplanes.py again: {len(old)} forms, the first is {old[0]}")


@pytest.mark.gpu
@pytest.mark.skipif("not has_gpu()", reason="needs a GPU of compute capability 9.0")
def test_this_gpu_moves_every_bit_as_predicted():
    rows, failed = traced(FORMS.values(), gpu(0))
    assert not failed
    assert [one["form"] for one in rows if not one["matches"]] == []
