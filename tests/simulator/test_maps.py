"""The simulator's maps against each other's sources: CUTLASS's layouts, Triton's tables, the equations of the ISA."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.simulator.cute import COLUMN, COPIES, SCALES, SPANS, SWIZZLES, accumulator, canonical
from tests.simulator.products import Form, Instruction, data_path, encode_instruction
from tests.simulator.tables import REGISTERS, VECTORS, linear, register_image
from tests.simulator.transfers import decompressed, encode_descriptor

SHARED = json.loads((Path(__file__).parent.parent / "data" / "vectors" / "nvmma_shared.json").read_text(encoding="utf-8"))["vectors"]


def equation(shape: str, lane: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """PTX ISA 9.7.16.8: (row, column) of register r of a lane."""
    match shape:
        case "16x64b":
            return lane // 4 + 8 * (lane % 2) + 0 * r, lane // 2 % 2 + 2 * r
        case "16x128b":
            return lane // 4 + 8 * (r % 2), lane % 4 + 4 * (r // 2)
        case "16x256b":
            return lane // 4 + 8 * (r // 2 % 2), r % 2 + 2 * (lane % 4) + 8 * (r // 4)
    return lane + 0 * r, r + 0 * lane


@pytest.mark.parametrize("shape", REGISTERS)
def test_register_tables_are_the_equations_of_the_isa(shape: str):
    for power in range(8):
        if REGISTERS[shape] << power > 128:
            continue
        image = register_image(shape, 1 << power)
        row, column = equation(shape, np.arange(32)[:, None], np.arange(image.shape[1])[None, :])
        assert np.array_equal(image[..., 0], row)
        assert np.array_equal(image[..., 1], column)


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["op"] == "tmem_reg"], ids=lambda v: v["id"])
def test_every_register_table_is_made_of_instructions(vector: dict[str, Any]):
    """Whatever Triton loads with an instruction keeps to the lanes of that instruction; the registers come in its order."""
    layout, inputs = vector["expect"]["linear_layout"], vector["inputs"]
    shape = inputs["instr_variant"].removesuffix("_splitn")
    lanes = linear(np.arange(32), layout["lane_bases"])
    if shape == "32x32b" and inputs["block"][0] == 64:
        assert np.array_equal(lanes[:16, 0], np.arange(16))  # .16x32bx2
        assert np.array_equal(lanes[16:, 0], np.arange(16))
        return
    unit = 2 if inputs["dtype"] == "f16" else 1  # two of them in a register, also where .pack::16b brings them there
    image = register_image(shape, 1)[:, 0]
    assert np.array_equal(lanes[:, 0], image[:, 0])
    assert np.array_equal(lanes[:, 1], image[:, 1] * unit)


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["op"] == "tmem"], ids=lambda v: v["id"])
def test_accumulators_stand_where_triton_puts_them(vector: dict[str, Any]):
    """Blocks of 64 rows stand 16 to a partition, two of them side by side in lanes; more columns follow to the right."""
    layout, inputs = vector["expect"]["linear_layout"], vector["inputs"]
    (block, n), step = inputs["block"], inputs["col_stride"]
    rows = linear(np.arange(128), layout["rows"])[:, 0]
    columns = linear(np.arange(1 << len(layout["cols"])), layout["cols"])[:, 1]
    image = accumulator(block, n, group=1, stationary=False).image()
    lane, column = image % COLUMN, image // COLUMN
    assert np.array_equal(rows[lane[:, 0]], np.arange(block))
    assert np.array_equal(columns[column[0] * step], np.arange(n))
    path = data_path(block, n, Form("f16", stationary=False, group=1, scales=0))
    assert np.array_equal(path[0], lane)
    assert np.array_equal(path[1], column)


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["op"] == "tmem_scales"], ids=lambda v: v["id"])
def test_scales_stand_where_triton_puts_them(vector: dict[str, Any]):
    layout, (rows, count) = vector["expect"]["linear_layout"], vector["inputs"]["shape"]
    lane_part = linear(np.arange(128), layout["rows"])
    byte_part = linear(np.arange(1 << len(layout["cols"])), layout["cols"])
    for replica in range(4):
        row, scale = np.indices((rows, min(count, 4)))
        image = SCALES(row, scale, np.full_like(row, replica))
        found = lane_part[image % COLUMN] ^ byte_part[image // COLUMN]
        assert np.array_equal(found[..., 0], row)
        assert np.array_equal(found[..., 1], scale)


@pytest.mark.parametrize("vector", [v for v in SHARED if v["inputs"]["swizzle_byte_width"]], ids=lambda v: v["id"])
def test_canonical_matrices_lie_where_triton_puts_them(vector: dict[str, Any]):
    inputs, layout = vector["inputs"], vector["expect"]["linear_layout"]
    width, swizzle = inputs["element_bitwidth"] // 8, {32: 1, 64: 2, 128: 3}[inputs["swizzle_byte_width"]]
    span = SPANS[swizzle] // width
    rows, columns = inputs["shape"]
    lines, inner = (columns, rows) if inputs["transposed"] else (rows, columns)
    plane = max(lines, 8) * SPANS[swizzle]
    line, at = np.indices((lines, inner))
    walk = canonical("k", swizzle, width, 16, 8 * SPANS[swizzle])
    address = SWIZZLES[swizzle](at // span * plane + walk(line, at % span))
    across = canonical("mn", swizzle, width, plane, 8 * SPANS[swizzle])
    assert np.array_equal(address, SWIZZLES[swizzle](across(at, line)))
    found = linear(address // width, layout["offset_bases"])
    assert np.array_equal(found[..., 0], at if inputs["transposed"] else line)
    assert np.array_equal(found[..., 1], line if inputs["transposed"] else at)


@pytest.mark.parametrize(
    ("rows", "group", "stationary"),
    [(128, 1, False), (64, 1, False), (64, 2, False), (128, 2, False), (32, 1, True), (64, 1, True), (128, 1, True)],
)
def test_data_paths_are_injective(rows: int, group: int, stationary: bool):
    image = accumulator(rows, 64, group=group, stationary=stationary).image()
    assert np.unique(image).size == rows * 64


def test_copies_fill_every_lane_of_their_partitions():
    for shape, layout in COPIES.items():
        lanes = np.sort(layout.image().ravel())
        assert np.array_equal(lanes, [0, 32, 64, 96] if shape == "4x256b" else np.arange(128))


def test_atoms_of_32_bytes_go_round_in_four_lines():
    address = np.arange(1024)
    assert np.array_equal(SWIZZLES[4](address), address ^ (address >> 2) & 0x60)
    assert np.array_equal(
        canonical("mn", 4, 4, 4096, 512)(np.arange(64), np.full(64, 5)), np.arange(64) // 32 * 4096 + np.arange(64) % 32 * 4 + 512 + 128
    )


def test_packed_values_are_unpacked():
    raw = np.zeros((1, 16), dtype=np.uint8)
    raw[0, :3] = [0x21, 0x43, 0x05]
    assert list(decompressed(raw, ".b8x16.b4x16_p64")[0, :5]) == [4, 8, 12, 16, 20]
    assert list(decompressed(raw, ".b8x16.b6x16_p32")[0, :4]) == [0x21, 0x0C, 0x14, 1]


def test_descriptors_have_the_bits_that_cutlass_gives_them():
    assert encode_descriptor([16, 1024, 3], 0x20) == 0x4000_4040_0001_0002
    assert encode_descriptor([1024, 512, 4], 0) == 1 << 61 | 1 << 46 | 32 << 32 | 64 << 16


def test_instruction_descriptors_are_decoded_as_encoded():
    class Call:
        parameters = {"instruction_shape": [128, 256, 16], "b_major": "mn", "neg_a": True}
        operands = [type("O", (), {"dtype": name}) for name in ("float32", "bfloat16", "bfloat16")]

    form = Form.read("tcgen05.mma.cta_group::1.kind::f16")
    bits = encode_instruction(form, Call, [])  # type: ignore[arg-type]
    assert bits == 1 << 4 | 1 << 7 | 1 << 10 | 1 << 13 | 1 << 16 | 32 << 17 | 8 << 24
    found = Instruction.decode(bits, form)
    assert (found.m, found.n, found.majors, found.signs, found.result) == (128, 256, ("k", "mn"), (-1, 1), "float32")


def test_the_simulator_imports_nothing_of_tilecheck():
    """What it agrees with it did not read: only the test that compares both knows the library."""
    for path in Path(__file__).parent.glob("*.py"):
        if not path.name.startswith("test_"):
            assert not re.search(r"^\s*(?:from|import) (?:tilecheck|contracts)", path.read_text(encoding="utf-8"), re.MULTILINE), path.name
