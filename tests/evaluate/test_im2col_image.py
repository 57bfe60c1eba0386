"""Predicted images of walks over pixels: what an H200 wrote, and plain nested loops over the output pixels of a convolution."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from tilecheck.document import read_call
from tilecheck.evaluate import Model
from tilecheck.evaluate.predict import UnpredictedError
from tilecheck.prove.check import check
from tilecheck.spec import Contract, data, find_contract

LOAD = "cp.async.bulk.tensor.{}d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group"
WIDE = "cp.async.bulk.tensor.4d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes"
SHAPE = [3, 5, 6, 16]
Document = dict[str, Any]


def call(opcode: str, pixels: int, shape: list[int], lower: list[int], upper: list[int], **fields: Any) -> Document:
    """A walk over half words, 16 channels of each pixel, without swizzle."""
    channels = fields.pop("channels", 16)
    image = {"name": "S", "space": "shared", "dtype": "uint16", "shape": [pixels, channels], "align": 1024, "size_bytes": 16384}
    image |= fields.pop("image", {})
    tensor = {"name": "T", "space": "global", "dtype": "uint16", "shape": shape, "align": 32} | fields.pop("tensor", {})
    loads = "mbarrier" in opcode
    parameters: Document = {
        "pixel_box_lower_corner": lower,
        "pixel_box_upper_corner": upper,
        "channels_per_pixel": channels,
        "pixels_per_column": pixels,
        **({"mbar": "shared", "im2col_offsets": [0] * len(lower)} if loads else {}),
        **fields,
    }
    operands = [image, tensor] if loads else [tensor, image]
    return {"schema": "tilecheck/call@1", "opcode": opcode, "scope": "thread", "operands": operands, "parameters": parameters}


def rows(document: Document) -> dict[int, list[Any]]:
    """What each written byte holds, of a call that is proved."""
    parsed = read_call(document)
    verdict = check(parsed)
    assert verdict.status == "proved", verdict.summary()
    contract = find_contract(document["opcode"])
    assert isinstance(contract, Contract)
    image = Model(json.loads(json.dumps(data(contract))), json.loads(json.dumps(parsed.to_json()))).predict({})
    return {row[1]: row[2:] for row in image.memory}


def chunks(document: Document) -> str:
    """The image in chunks of 16 bytes: the tensor's element that each begins with, 0 for a fill, . for what is not written."""
    found = rows(document)
    last = max(found) // 16 + 1
    read = [found.get(16 * k) for k in range(last)]
    return " ".join("." if one is None else "0" if one[0] is None else str(one[1] // 2) for one in read)


H200 = {
    "corners that differ": (
        call(LOAD.format(4), 40, SHAPE, [0, -1], [-2, 0], coords=[0, 0, -1, 0]),
        (
            "0 0 0 8 16 24 32 40 48 56 64 72 80 88 0 0 96 104 112 120 128 136 144 152 160 168 176 184 0 0 192 200 208 216 224 232 240 248 256 264 272 280 0 0 "
            "480 488 496 504 512 520 528 536 544 552 560 568 0 0 576 584 592 600 608 616 624 632 640 648 656 664 0 0 672 680 688 696 704 712 720 728"
        ),
    ),
    "an offset from the middle": (
        call(LOAD.format(4), 40, SHAPE, [-1, -1], [-1, -1], coords=[1, 2, 3, 0], im2col_offsets=[2, 1]),
        (
            "928 936 944 952 0 0 0 0 0 0 0 0 0 0 0 0 1056 1064 1072 1080 1088 1096 1104 1112 1120 1128 1136 1144 1152 1160 1168 1176 1184 1192 1200 1208 1216 1224 "
            "1232 1240 1248 1256 1264 1272 1280 1288 1296 1304 1312 1320 1328 1336 1344 1352 1360 1368 1376 1384 1392 1400 1408 1416 1424 1432 0 0 0 0 0 0 0 0 0 0 "
            "0 0 0 0 0 0"
        ),
    ),
    "a start off the grid": (
        call(LOAD.format(4), 24, SHAPE, [-1, -1], [-1, -1], coords=[0, 0, 0, 0], element_strides=[1, 2, 2, 1]),
        "0 8 32 40 64 72 0 0 208 216 240 248 0 0 0 0 0 0 0 0 592 600 624 632 0 0 784 792 816 824 0 0 0 0 0 0 0 0 1072 1080 1104 1112 0 0 1264 1272 1296 1304",
    ),
    "every other image": (
        call(LOAD.format(4), 33, [3, 2, 4, 16], [0, 0], [0, 0], coords=[0, 0, 0, 0], element_strides=[2, 1, 1, 1]),
        " ".join(str(8 * k) for k in (*range(16), *range(32, 48))) + " 0" * 34,
    ),
    "rank 5": (
        call(LOAD.format(5), 40, [2, 3, 3, 4, 8], [0, 0, 0], [-1, 0, -1], coords=[0, 1, 1, 1, 0], im2col_offsets=[1, 0, 1], channels=8),
        "240 248 264 272 280 392 400 408 424 432 440 456 464 472 488 496 504 520 528 536 552 560 568" + " 0" * 17,
    ),
    "channels on both sides": (call(LOAD.format(4), 4, SHAPE, [0, 0], [0, 0], coords=[0, 0, 0, -8]), "0 0 0 16 0 32 0 48"),
    "narrow rows under a wide swizzle": (
        call(
            LOAD.format(4),
            4,
            [2, 2, 3, 64],
            [0, 0],
            [0, 0],
            coords=[0, 0, 0, 0],
            swizzle=3,
            image={"layout": "Swizzle(3,3,3) o S[(4,16):(64,1)]"},
        ),
        "0 8 . . . . . . 72 64 . . . . . . . . 128 136 . . . . . . 200 192",
    ),
    "a slice of channels": (
        call(LOAD.format(4), 10, [3, 4, 5, 6, 8], [0, -1], [0, 0], coords=[0, 2, 0, -1], im2col_offsets=[0, 1], interleave=1, channels=8),
        "480 488 496 504 512 520 0 528 536 544",
    ),
}
"""Calls with what an H200 left in shared memory (driver 580.159), coordinates outer to inner."""


@pytest.mark.parametrize("name", H200)
def test_a_walk_leaves_what_an_h200_left(name):
    document, wanted = H200[name]
    assert chunks(document) == wanted


@pytest.mark.parametrize(("filter_h", "filter_w"), list(product(range(3), range(2))))
def test_a_walk_gathers_the_column_of_a_convolution(filter_h, filter_w):
    """Output pixels of a 3 x 2 filter with a margin of 1 and steps (2, 1), in order: one tap of the filter for each."""
    batch, height, width = SHAPE[:3]
    outputs = [(n, h, w) for n in range(batch) for h in range(-1, height + 1 - 2, 2) for w in range(-1, width + 1 - 1)]
    document = call(
        LOAD.format(4),
        len(outputs),
        SHAPE,
        [-1, -1],
        [-1, 0],
        coords=[0, -1, -1, 0],
        im2col_offsets=[filter_h, filter_w],
        element_strides=[1, 2, 1, 1],
    )
    found = rows(document)
    for pixel, (n, h, w) in enumerate(outputs):
        here, there = h + filter_h, w + filter_w
        inside = 0 <= here < height and 0 <= there < width
        first = 32 * ((n * height + here) * width + there)
        assert found[32 * pixel] == (["T", first] if inside else [None, "zero"])


def test_a_store_writes_its_pixels_and_the_rest_of_their_last_16_bytes():
    tensor = {"shape": [2, 3, 4, 12], "layout": "S[(2,3,4,12):(192,64,16,1)]", "size_bytes": 1024}
    found = rows(call(STORE, 7, SHAPE, [0, 1], [-1, 0], coords=[0, 1, 2, 0], tensor=tensor))
    pixels = [(0, 1, 2), (0, 1, 3), (1, 0, 1), (1, 0, 2), (1, 0, 3), (1, 1, 1), (1, 1, 2)]
    wanted = {2 * (192 * n + 64 * h + 16 * w) + k: ["S", 32 * p + k] for p, (n, h, w) in enumerate(pixels) for k in range(32)}
    assert found == wanted


def test_pixels_behind_the_batch_are_not_stored():
    found = rows(call(STORE, 12, SHAPE, [0, 0], [0, 0], coords=[2, 4, 4, 0]))
    assert sorted({byte // 32 for byte in found}) == [88, 89]


def test_how_a_wide_walk_goes_on_is_not_predicted():
    document = call(WIDE, 8, [2, 3, 9, 64], [0], [0], coords=[0, 0, 0, 0], channels=64, swizzle=3, im2col_offsets=[0, 0])
    document["operands"][0]["layout"] = "Swizzle(3,3,3) o S[(8,64):(64,1)]"
    with pytest.raises(UnpredictedError, match="figures"):
        rows(document)
