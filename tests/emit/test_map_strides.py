"""Strides and starts of tensor maps that depend on symbols: what the host encodes is what the driver takes."""

from __future__ import annotations

from typing import Any

import pytest

from tilecheck.document import read_call
from tilecheck.emit import emit
from tilecheck.emit.maps import TensorMap
from tilecheck.reconstruct.arena import settled

Document = dict[str, Any]


def map_of(tensor: Document, *symbols: Document) -> TensorMap:
    """The map of a copy of eight rows of 64 half words."""
    image = {"name": "S", "space": "shared", "dtype": "float16", "shape": [8, 64], "align": 1024}
    document: Document = {
        "schema": "tilecheck/call@1",
        "opcode": "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes",
        "scope": "thread",
        "symbols": list(symbols),
        "operands": [image, {"name": "T", "space": "global", "dtype": "float16", "align": 16} | tensor],
        "parameters": {"coords": [0, 0], "mbar": "shared", "box": [8, 64]},
    }
    found = emit(read_call(document)).tensor_map
    assert found is not None
    return found


def symbol(name: str, low: int, high: int, step: int = 1) -> Document:
    return {"name": name, "min": low, "max": high, "multiple_of": step}


ROWS = {"shape": ["M", 64], "layout": "S[(M,64):(P,1)]"}


@pytest.mark.parametrize(("rows", "pitch", "stride"), [(1, 1, 16), (1, 64, 16), (2, 64, 128), (9, 72, 144)])
def test_the_stride_of_one_row_is_one_that_the_driver_takes(rows, pitch, stride):
    found = settled(map_of(ROWS, symbol("M", 1, 9), symbol("P", 1, 80)), {"M": rows, "P": pitch})
    assert found.global_strides == (stride,)


def test_a_stride_that_is_always_right_is_written_alone():
    several = map_of(ROWS, symbol("M", 2, 9), symbol("P", 1, 80))
    even = map_of(ROWS, symbol("M", 1, 9), symbol("P", 8, 80, 8))
    assert (several.global_strides, even.global_strides) == (("2*P",), ("2*P",))


def test_a_start_that_depends_on_a_symbol_leaves_the_strides_numbers():
    view = [{"op": "slice", "begin": ["n", 8], "extent": [64, 64]}]
    found = map_of({"shape": [128, 128], "view": view}, symbol("n", 0, 64))
    assert (found.start, found.global_strides) == ("256*n + 16", (256,))
