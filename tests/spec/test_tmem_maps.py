"""Who holds what of tensor memory, against two sources: the equations of the ISA, and every table that Triton computes for its loads."""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilecheck.contracts.tmem import LOAD, REDUCE, STORE, load, reduce, store
from tilecheck.spec import Contract, Register, TensorMemory, find_contract
from tilecheck.symbolic.terms import evaluate

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent.parent / "data" / "vectors" / "tmem.json").read_text(encoding="utf-8"))[
    "vectors"
]
ISA = {
    "32x32b": lambda lane, r: (lane, r),
    "16x64b": lambda lane, r: (lane // 4 + 8 * (lane % 2), lane // 2 % 2 + 2 * r),
    "16x128b": lambda lane, r: (lane // 4 + 8 * (r % 2), lane % 4 + 4 * (r // 2)),
    "16x256b": lambda lane, r: (lane // 4 + 8 * (r // 2 % 2), r % 2 + 2 * (lane % 4) + 8 * (r // 4)),
    "16x32bx2": lambda lane, r: (lane // 16, lane % 16, r),
}
"""PTX ISA 9.7.16.8: the coordinate of register r of a lane."""


def held(contract: Contract) -> dict[tuple[int, int], tuple[int, ...]]:
    """(lane, register) -> the atom coordinate."""
    operand = next(o for o in contract.operands if isinstance(o, Register))
    axes, lane = contract.atom_of(operand), operand.lane
    assert lane is not None
    found: dict[tuple[int, int], tuple[int, ...]] = {}
    for atom in product(*(range(axis.extent) for axis in axes)):
        at = dict(zip((axis.name for axis in axes), atom, strict=True))
        key = evaluate(lane, at), evaluate(operand.register, at)
        assert key not in found
        found[key] = atom
    return found


@pytest.mark.parametrize(("grammar", "make"), [(LOAD, load), (STORE, store), (REDUCE, reduce)])
def test_registers_are_those_of_the_isa(grammar, make):
    seen: set[tuple[str, str]] = set()
    for q in grammar.legal():
        if (q["shape"], q["count"]) in seen:
            continue
        seen.add((q["shape"], q["count"]))
        image = held(make(q))
        count = len(image) // 32
        assert image.keys() == set(product(range(32), range(count)))
        assert all(image[lane, r] == ISA[q["shape"]](lane, r) for lane, r in image)


def test_every_form_of_a_shape_and_count_has_the_same_registers():
    for q in LOAD.legal():
        one, packed = load({**q, "packing": ""}), load({**q, "packing": "pack::16b"})
        other = store({**q, "packing": "unpack::16b" if q["packing"] else ""})
        assert held(one) == held(packed) == held(other)


@pytest.mark.parametrize("q", [q for q in LOAD.legal() if q["count"] == "x2"], ids=LOAD.spell)
def test_regions_are_rectangles_of_cells_or_of_their_low_halves(q):
    for region in (o for o in load(q).operands if isinstance(o, TensorMemory)):
        axes = load(q).atom_of(region)
        points = [dict(zip((a.name for a in axes), atom, strict=True)) for atom in product(*(range(a.extent) for a in axes))]
        places = [(evaluate(region.lane, at), evaluate(region.column, at) * region.bits) for at in points]
        rows, bits = {row for row, _ in places}, sorted({bit for _, bit in places})
        assert rows == set(range(32 if q["shape"] == "32x32b" else 16))
        assert bits == list(range(0, 32 * len(bits), 32))  # one to a cell, in its low half where it is narrower
        assert len(set(places)) == len(places) == len(rows) * len(bits)
        if q["packing"]:
            assert [axis.name for axis in axes] == ["row", "column", "half"]
            assert all(bit == 64 * at["column"] + 32 * at["half"] for at, (_, bit) in zip(points, places, strict=True))
        assert (region.slab, region.first_lanes) == (True, (0,) if len(rows) == 32 else (0, 16))


# --- the tables of Triton ---------------------------------------------------------------------------------------------


def linear(number: int, bases: list[list[int]]) -> tuple[int, int]:
    row = column = 0
    for bit, (down, right) in enumerate(bases):
        if number >> bit & 1:
            row, column = row ^ down, column ^ right
    return row, column


def places(inputs: dict[str, Any]) -> dict[tuple[int, int], tuple[int, int]]:
    """Where an accumulator stands: logical element -> (lane, column in elements), the first of several places."""
    return _places(json.dumps({key: inputs[key] for key in ("block", "col_stride", "shape")}))


@cache
def _places(key: str) -> dict[tuple[int, int], tuple[int, int]]:
    inputs, keys = json.loads(key), ("block", "col_stride", "shape")
    (vector,) = [v for v in VECTORS if v["op"] == "tmem" and all(v["inputs"][key] == inputs[key] for key in keys)]
    layout = vector["expect"]["linear_layout"]
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for lane, column in product(range(1 << len(layout["rows"])), range(1 << len(layout["cols"]))):
        (a, b), (c, d) = linear(lane, layout["rows"]), linear(column, layout["cols"])
        found.setdefault((a ^ c, b ^ d), (lane, column))
    return found


LOADED = [v for v in VECTORS if v["op"] == "tmem_reg"]


@pytest.mark.parametrize("vector", LOADED, ids=lambda v: v["id"])
def test_what_triton_loads_is_what_the_contract_loads(vector):
    """Each run of registers is one instruction in x1: its elements lie from the first one on as the contract has them, in lanes that the warp reaches."""
    inputs, layout = vector["inputs"], vector["expect"]["linear_layout"]
    half = inputs["dtype"] == "f16"
    unit, spread = (2 if half else 1), half and inputs["col_stride"] == 2
    variant = inputs["instr_variant"].removesuffix("_splitn")
    split = variant == "32x32b" and inputs["block"][0] == 64
    shape = "16x32bx2" if split else variant
    contract = find_contract(f"tcgen05.ld.sync.aligned.{shape}.x1{'.pack::16b' if spread else ''}.b32")
    assert isinstance(contract, Contract)
    image, where = held(contract), places(inputs)
    regions = [o for o in contract.operands if isinstance(o, TensorMemory)]
    each = len(image) // 32
    count = 1 << len(layout["reg_bases"])
    assert count % (each * unit) == 0
    offsets: set[int] = set()
    for warp, run in product(range(inputs["num_warps"]), range(count // (each * unit))):
        starts: dict[int, tuple[int, int]] = {}
        for (lane, register), atom in sorted(image.items(), key=lambda item: item[1]):
            access, region = (atom[0], regions[atom[0]]) if split else (0, regions[0])
            for part in range(unit):
                number = (run * each + register) * unit + part
                row = column = 0
                for value, bases in ((number, layout["reg_bases"]), (lane, layout["lane_bases"]), (warp, layout["warp_bases"])):
                    down, right = linear(value, bases)
                    row, column = row ^ down, column ^ right
                tlane, element = where[row, column]
                bit = element * (16 if half else 32)
                at = dict(zip(("row", "column"), atom[-2:], strict=True)) | {"half": part}
                behind = evaluate(region.lane, at), evaluate(region.column, at) * region.bits
                if half and not spread:
                    behind = behind[0], behind[1] + 16 * part  # two neighbours are one word
                start = starts.setdefault(access, (tlane, bit))
                assert (tlane, bit) == (start[0] + behind[0], start[1] + behind[1])
        for lane, bit in starts.values():
            assert lane - 32 * (warp % 4) in regions[0].first_lanes
            assert bit % 32 == 0
        if split:
            offsets.add(((starts[1][0] - starts[0][0]) << 16) + (starts[1][1] - starts[0][1]) // 32)
    assert len(offsets) <= 1  # one immediate for all instructions of a load


def test_the_tables_are_as_many_as_we_think():
    assert (len(LOADED), len([v for v in VECTORS if v["op"] == "tmem"])) == (290, 60)


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["op"] == "tmem" and v["inputs"]["block"][0] == 128], ids=lambda v: v["id"])
def test_rows_of_128_are_lanes(vector):
    """The load of 32 lanes by each of four warps reads rows in their order."""
    for (row, column), (lane, element) in places(vector["inputs"]).items():
        if row < 128 and column < vector["inputs"]["block"][1]:
            assert (lane, element) == (row, column * vector["inputs"]["col_stride"])


def test_tables_have_no_element_twice():
    for vector in LOADED[::7]:
        layout, inputs = vector["expect"]["linear_layout"], vector["inputs"]
        bases = np.array([*layout["reg_bases"], *layout["lane_bases"], *layout["warp_bases"]])
        numbers = [linear(k, bases.tolist()) for k in range(1 << len(bases))]
        assert set(numbers) == set(product(*map(range, inputs["shape"])))
