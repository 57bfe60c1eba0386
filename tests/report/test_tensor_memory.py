"""Pictures of tensor memory: what `explain` draws in each cell, against CUTLASS's layouts and the tables of Triton."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.prove.tcgen05_documents import mma
from tests.simulator.cute import COLUMN, COPIES, SCALES, accumulator
from tests.simulator.tables import register_image
from tilecheck.cli import main
from tilecheck.report.tmem import maps
from tilecheck.spec import Contract, find_contract


def grids(opcode: str) -> list[tuple[str, dict[tuple[int, int], str]]]:
    """(title, what is drawn by lane and column) of every picture."""
    contract = find_contract(opcode)
    assert isinstance(contract, Contract)
    found: list[tuple[str, dict[tuple[int, int], str]]] = []
    for title, grid in maps(contract):
        head, *lines = grid.splitlines()
        columns = [int(text) for text in head.removeprefix("lane \\ column").split() if not text.startswith("..")]
        rows = [line.split() for line in lines if line.split() != ["..."]]
        cells = {(int(lane), column): text for lane, *texts in rows for column, text in zip(columns, texts, strict=True)}
        found.append((title, cells))
    return found


@pytest.mark.parametrize(
    ("opcode", "group", "stationary", "shapes"),
    [
        ("tcgen05.mma.cta_group::1.kind::tf32", 1, False, {(64, 16), (128, 16)}),
        ("tcgen05.mma.cta_group::2.kind::tf32", 2, False, {(128, 32), (256, 32)}),
        ("tcgen05.mma.ws.cta_group::1.kind::tf32", 1, True, {(32, 64), (64, 64), (128, 64)}),
    ],
)
def test_an_accumulator_is_drawn_where_cutlass_has_it(opcode: str, group: int, stationary: bool, shapes: set[tuple[int, int]]):
    drawn: set[tuple[int, int]] = set()
    for title, cells in grids(opcode):
        if not title.startswith("d, "):
            continue
        m, n = map(int, re.findall(r"[MN] (\d+)", title))
        image = accumulator(m // group, n, group=group, stationary=stationary).image()
        for (lane, column), text in cells.items():
            row, of = map(int, text.split(","))
            assert divmod(image[row, of], COLUMN) == (column, lane), (title, lane, column)
        edges = {int(lane) for lane in np.unique(image % COLUMN)}
        assert {min(edges), max(edges)} <= {lane for lane, _ in cells}
        drawn.add((m, n))
    assert drawn == shapes


def test_factors_are_drawn_with_their_copies():
    (sfa,) = [cells for title, cells in grids("tcgen05.mma.cta_group::1.kind::mxf4.block_scale") if title.startswith("sfa")]
    assert {lane // 32 for lane, _ in sfa} == {0, 1, 2, 3}
    for (lane, column), text in sfa.items():
        for one in text.split("/"):
            row, factor = map(int, one.split(","))
            assert SCALES(np.array(row), np.array(factor), np.array(lane // 32)) in {
                lane + COLUMN * byte for byte in range(4 * column, 4 * column + 4)
            }


@pytest.mark.parametrize("shape", COPIES)
def test_a_copy_is_drawn_where_cutlass_has_it(shape: str):
    ((_, cells),) = grids(f"tcgen05.cp.cta_group::1.{shape}")
    image = COPIES[shape].image()
    for (lane, _), text in cells.items():
        row = int(text.split(",")[0])
        assert lane in np.atleast_1d(image[row]), (lane, text)
    assert {lane for lane, _ in cells} >= {int(image.min()), int(image.max())}


@pytest.mark.parametrize("shape", ["16x64b", "16x128b", "16x256b", "32x32b"])
def test_registers_are_drawn_where_triton_has_them(shape: str):
    ((_, cells),) = grids(f"tcgen05.ld.sync.aligned.{shape}.x4.b32")
    image = register_image(shape, 4)
    assert len({lane for lane, _ in cells}) == (32 if shape == "32x32b" else 16)
    for (lane, column), text in cells.items():
        thread, register = map(int, re.findall(r"\d+", text.replace("dst", " ")))
        assert tuple(image[thread, register]) == (lane, column)


def test_lanes_that_go_on_alike_are_left_out(capsys: pytest.CaptureFixture[str]):
    assert main(["explain", "tcgen05.mma.cta_group::2.kind::f16"]) == 0
    out = capsys.readouterr().out
    assert "d of 16 bits, a of 16 bits in tensor memory" in " ".join(out.split())
    assert "   64  0,16" in out
    assert out.count("...") < 12
    assert main(["explain", "tcgen05.shift.cta_group::1.down"]) == 0
    assert "dst from what stands there; no image is predicted" in capsys.readouterr().out
    assert main(["explain", "tcgen05.cp.cta_group::1.128x256b"]) == 0
    assert re.search(r"^moves +dst <- src$", capsys.readouterr().out, re.MULTILINE)


def test_what_a_product_computes_is_told(capsys: pytest.CaptureFixture[str]):
    def told(opcode: str) -> str:
        assert main(["explain", opcode]) == 0
        return " ".join(capsys.readouterr().out.split())

    scaled = told("tcgen05.mma.cta_group::2.kind::mxf4.block_scale")
    assert (
        "the sum over k of a[m, k, block] * b[n, k] * sfa[m, block, slab] * sfb[n, block, slab, cta], times -1 where neg_a holds" in scaled
    )
    assert (
        "cta is 0 in the CTA of the pair whose rank is even, 1 in the other; copy is the number of the copy of sfa and sfb that is read"
        in scaled
    )
    assert "in a and b .e2m1 is 4 bits, 16 side by side at the start of 16 bytes" in told("tcgen05.mma.cta_group::1.kind::f8f6f4")
    assert "clamps its sums where sat_d holds; the lanes that disable_output_lane names are left alone" in told(
        "tcgen05.mma.cta_group::1.kind::i8"
    )
    assert "no image is predicted: which elements of A there are is said by metadata" in told("tcgen05.mma.sp.cta_group::1.kind::f16")


def test_cells_of_a_product_are_lines(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    def lines(name: str, more: dict[str, object]) -> list[str]:
        document = mma("tcgen05.mma.cta_group::2.kind::" + name, 256, 32, **more) | {"guard": "tx == 0 and cbx == 0"}
        (tmp_path / "call.json").write_text(json.dumps(document))
        main(["predict", str(tmp_path / "call.json")])
        return capsys.readouterr().out.splitlines()

    first, second, *_ = lines("f16", {"sums": "float16", "parameters": {"neg_a": True, "accum": True}})
    assert first.startswith(
        "D cta 0 byte 0 bits 0+16 = f16 D cta 0[0] bits 0+16 - A cta 0[0] bits 0+16 * B cta 0[0] bits 0+16 - A cta 0[2]"
    )
    assert second == "D cta 0 bytes 2..3 = undefined"
    last = lines("i8", {"parameters": {"sat_d": True}})[-1]
    assert last.startswith("D cta 1 byte 260220 bits 0+32 = s32 0 + A cta 1[")
    assert last.endswith(", clamped after each 32 products")
