"""Walks over pixels as PTX: the statement, the arguments of the tensor map, and what an assembler says."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from tilecheck.document import read_call
from tilecheck.emit import assemble, emit
from tilecheck.emit.assemble import NoAssemblerError
from tilecheck.emit.maps import map_data

PROVE = Path(__file__).parent.parent / "prove"
sys.path.insert(0, str(PROVE))
found = importlib.util.spec_from_file_location("im2col_cases", PROVE / "test_im2col.py")
assert found is not None
assert found.loader is not None
im2col = importlib.util.module_from_spec(found)
found.loader.exec_module(im2col)
CALLS = im2col.LEGAL
try:
    assemble("", "sm_90")
    MISSING = False
except NoAssemblerError:
    MISSING = True


def emitted(name):
    return emit(read_call(CALLS[name]))


def test_coordinates_and_offsets_are_written_innermost_first():
    (statement,) = emitted("an offset into the filter").instructions
    assert statement.endswith("[%tc_ptr_S], [%tc_ptr_T, {0, -1, -1, 0}], [%tc_bar_mbar], {1, 2};")


def test_a_store_names_no_offsets():
    (statement,) = emitted("a store past the batch").instructions
    assert statement.endswith("[%tc_ptr_T, {0, 4, 4, 2}], [%tc_ptr_S];")


def test_the_tensor_map_of_a_walk_is_data_innermost_first():
    document = im2col.call(pixel_box_lower_corner=[-1, 0], pixel_box_upper_corner=[0, -2], element_strides=[1, 3, 2, 1])
    emission = emit(read_call(document))
    assert emission.tensor_map is not None
    assert emission.tensor_map.function == "cuTensorMapEncodeIm2col"
    assert map_data(emission.tensor_map) == {
        "tensor": "T",
        "tensorDataType": 6,
        "tensorRank": 4,
        "globalAddress": 0,
        "globalDim": [64, 6, 5, 3],
        "globalStrides": [128, 768, 3840],
        "pixelBoxLowerCorner": [0, -1],
        "pixelBoxUpperCorner": [-2, 0],
        "channelsPerPixel": 64,
        "pixelsPerColumn": 12,
        "elementStrides": [1, 2, 3, 1],
        "interleave": 0,
        "swizzle": 3,
        "l2Promotion": 0,
        "oobFill": 0,
    }


def test_a_wide_walk_has_corners_of_the_width_and_a_mode():
    emission = emit(read_call(CALLS["a wide walk of 128"]))
    assert emission.tensor_map is not None
    arguments = map_data(emission.tensor_map)
    assert emission.tensor_map.function == "cuTensorMapEncodeIm2colWide"
    assert {name: arguments[name] for name in ("pixelBoxLowerCornerWidth", "pixelBoxUpperCornerWidth", "mode", "pixelsPerColumn")} == {
        "pixelBoxLowerCornerWidth": -1,
        "pixelBoxUpperCornerWidth": -1,
        "mode": "W128",
        "pixelsPerColumn": 128,
    }
    assert "cuTensorMapEncodeIm2colWide(" in emission.ptx


@pytest.mark.skipif(MISSING, reason="no assembler is installed (extra `assemble`)")
@pytest.mark.parametrize("name", CALLS)
def test_a_legal_walk_assembles(name):
    emission = emitted(name)
    head = [f".version 9.0\n.target {emission.arch}\n.address_size 64", ".visible .entry k() {", *emission.declarations]
    assembled = assemble("\n".join([*head, emission.ptx, "ret;\n}\n"]), emission.arch)
    assert assembled.ok, assembled.log
