"""Walks over pixels (im2col): every rule with a call that keeps it and one that breaks it, random walks against brute force, and hazards."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from known_cases import disagreements

from tilecheck.document import read_call
from tilecheck.prove.check import check

LOAD = "cp.async.bulk.tensor.{}d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.tensor.{}d.global.shared::cta.im2col_no_offs.bulk_group"
REDUCE = "cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.im2col_no_offs.bulk_group"
PREFETCH = "cp.async.bulk.prefetch.tensor.4d.L2.global.im2col"
WIDE = "cp.async.bulk.tensor.4d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes"
WIDE128 = "cp.async.bulk.tensor.4d.shared::cluster.global.im2col::w::128.mbarrier::complete_tx::bytes"
CAST = LOAD.format(4) + ".multicast::cluster"
Document = dict[str, Any]
SHAPES = {3: [4, 9, 64], 4: [3, 5, 6, 64], 5: [2, 3, 3, 4, 64]}


def call(opcode: str = LOAD.format(4), image: Document | None = None, tensor: Document | None = None, **fields: Any) -> Document:
    """A legal walk over 12 pixels of 64 half words with swizzle 3, over images that a 3 x 3 filter with a margin of 1 reads, with changes."""
    stores, rank = ".global.shared::cta" in opcode, int(opcode.split("tensor.")[1][0])
    extra = {k: fields.pop(k) for k in ("launch", "guard", "symbols", "assume", "arch", "scope") if k in fields}
    spatial = 1 if "::w" in opcode.replace("::cluster", "") else rank - 2
    shared = {"name": "S", "space": "shared", "dtype": "float16", "shape": [12, 64], "align": 1024} | (image or {})
    shared.setdefault("layout", f"Swizzle(3,3,3) o S[({shared['shape'][0]},64):(64,1)]")
    there = {"name": "T", "space": "global", "dtype": "float16", "shape": SHAPES[rank], "align": 16} | (tensor or {})
    corner = 0 if stores else -1
    parameters: Document = {
        "pixel_box_lower_corner": [corner] * spatial,
        "pixel_box_upper_corner": [corner] * spatial,
        "channels_per_pixel": 64,
        "pixels_per_column": 12,
        "coords": [0] * rank,
        "swizzle": 3,
    }
    if not stores:
        parameters["im2col_offsets"] = [0, 0] if spatial == 1 and rank > 3 else [0] * spatial
    if not stores and "prefetch" not in opcode:
        parameters["mbar"] = "shared"
    parameters = {k: v for k, v in (parameters | fields).items() if v is not None}
    operands = [there] if "prefetch" in opcode else [there, shared] if stores else [shared, there]
    return {"schema": "tilecheck/call@1", "opcode": opcode, "scope": "thread", "operands": operands, "parameters": parameters} | extra


def symbol(name: str, low: int, high: int, step: int = 1) -> Document:
    return {"name": name, "min": low, "max": high, "multiple_of": step}


def plain(pixels: int, channels: int, **keys: Any) -> Document:
    """An unswizzled image."""
    return {"shape": [pixels, channels], "layout": f"S[({pixels},{channels}):({channels},1)]", **keys}


SLICES = {"shape": [3, 4, 5, 6, 8], "layout": "S[(3,4,5,6,8):(960,240,48,8,1)]"}
STAGES = {"shape": [2, 12, 64], "layout": "Swizzle(3,3,3) o S[(2,12,64):(1024,64,1)]"}
EIGHT = {"shape": [128, 64]}
Q = [symbol("q", -1, 4)]
LEGAL: dict[str, Document] = {
    "a load": call(),
    "a load of rank 3": call(LOAD.format(3)),
    "a load of rank 5": call(LOAD.format(5)),
    "a store": call(STORE.format(4)),
    "a store past the batch": call(STORE.format(4), coords=[2, 4, 4, 0]),
    "a reduction": call(REDUCE),
    "a prefetch": call(PREFETCH),
    "a multicast": call(CAST, launch={"block": [1], "cluster": [2]}, cta_mask=3, guard="cbx == 0"),
    "an offset into the filter": call(im2col_offsets=[2, 1], coords=[0, -1, -1, 0]),
    "the largest offsets": call(im2col_offsets=[255, 255]),
    "a start at the last pixel": call(coords=[2, 3, 4, 0]),
    "a start before the batch": call(coords=[-5, 0, 0, 0]),
    "a symbolic start inside the box": call(coords=["n", "q", "q", 0], symbols=[symbol("q", -1, 3), symbol("n", -3, 9)]),
    "a symbolic width": call(
        tensor={"shape": [3, 5, "W", 64], "layout": "S[(3,5,W,64):(320*W,64*W,64,1)]"}, symbols=[symbol("W", 2, 900)], coords=[0, 0, 0, 0]
    ),
    "element strides": call(element_strides=[2, 2, 3, 1], coords=[0, 1, 2, 0]),
    "one pixel": call(image=plain(1, 64, align=128), pixels_per_column=1, swizzle=0),
    "channels narrower than the span": call(
        image={"layout": "Swizzle(3,3,3) o S[(12,16):(64,1)]", "shape": [12, 16]}, channels_per_pixel=16
    ),
    "channels past the extent": call(tensor={"shape": [3, 5, 6, 40]}, coords=[0, 0, 0, 8]),
    "a corner at its limit": call(pixel_box_lower_corner=[-128, -128], pixel_box_upper_corner=[127, 127]),
    "stages": call(image=STAGES, coord_steps=[[0, 0, 2, 0]], coords=[0, 0, 0, 0], expected_bytes=2 * 12 * 128),
    "slices of channels": call(
        image=plain(12, 8, align=128), tensor=SLICES, interleave=1, swizzle=0, coords=[0, 3, 0, 0], channels_per_pixel=8
    ),
    "slices of channels, more of them asked for": call(
        image=plain(12, 8, align=128), tensor=SLICES, interleave=1, swizzle=0, channels_per_pixel=32
    ),
    "NaN fill": call(oob_fill=1),
    "a wide walk without a halo": call(WIDE),
    "a wide walk from the left of its box": call(WIDE, coords=[0, -3, -20, 0], im2col_offsets=[0, 31]),
    "a wide walk of 128": call(WIDE128, image=EIGHT, pixels_per_column=None),
    "a prefetch with a halo": call("cp.async.bulk.prefetch.tensor.4d.L2.global.im2col::w", im2col_offsets=[511, 0]),
}
ILLEGAL: dict[str, tuple[str, Document]] = {
    "no corners": ("operands", call(pixel_box_lower_corner=None)),
    "a box": ("operands", call(box=[1, 1, 1, 64])),
    "offsets of a store": ("operands", call(STORE.format(4), im2col_offsets=[0, 0])),
    "pixels of a walk of 128": ("operands", call(WIDE128, image=EIGHT, pixels_per_column=128)),
    "a corner for each dimension": ("box", call(pixel_box_lower_corner=[0, 0, 0, 0])),
    "a lower corner beyond 8 bits": ("box", call(pixel_box_lower_corner=[-129, 0])),
    "an upper corner beyond 8 bits": ("box", call(pixel_box_upper_corner=[0, 128])),
    "a corner beyond 5 bits": ("box", call(LOAD.format(5), pixel_box_lower_corner=[0, 0, -17])),
    "a corner beyond 16 bits": ("box", call(LOAD.format(3), pixel_box_upper_corner=[32768])),
    "a store from outside": ("box", call(STORE.format(4), pixel_box_lower_corner=[0, -1])),
    "a store to outside": ("box", call(STORE.format(4), pixel_box_upper_corner=[1, 0])),
    "257 channels": ("box", call(image=plain(12, 264), channels_per_pixel=264, swizzle=0)),
    "no channel": ("box", call(channels_per_pixel=0)),
    "4 channels of two bytes": ("box", call(image=plain(12, 4), channels_per_pixel=4, swizzle=0)),
    "a slice asked for in part": (
        "box",
        call(image=plain(12, 8, align=128), tensor=SLICES, interleave=1, swizzle=0, coords=[0, 3, 0, 0], channels_per_pixel=4),
    ),
    "channels beyond the span": (
        "box",
        call(image={"shape": [12, 72], "layout": "Swizzle(3,3,3) o S[(12,72):(128,1)]"}, channels_per_pixel=72),
    ),
    "1025 pixels": ("box", call(image=plain(1025, 64), pixels_per_column=1025, swizzle=0)),
    "a column of 256 KiB": (
        "box",
        call(PREFETCH, tensor={"shape": [3, 5, 6, 256]}, channels_per_pixel=256, pixels_per_column=512, swizzle=0),
    ),
    "no pixel": ("box", call(pixels_per_column=0)),
    "a bounding box without a pixel": ("descriptor", call(pixel_box_lower_corner=[3, 0], pixel_box_upper_corner=[-2, 0])),
    "a bounding box that is empty for every width": (
        "descriptor",
        call(
            tensor={"shape": [3, 5, "W", 64], "layout": "S[(3,5,W,64):(320*W,64*W,64,1)]"},
            symbols=[symbol("W", 1, 9)],
            pixel_box_lower_corner=[0, 9],
        ),
    ),
    "an element stride of the batch of 9": ("descriptor", call(element_strides=[9, 1, 1, 1])),
    "an element stride of channels": ("descriptor", call(element_strides=[1, 1, 1, 2])),
    "three element strides": ("descriptor", call(element_strides=[1, 1, 1])),
    "a wide walk without swizzle": ("descriptor", call(WIDE, image={"layout": "S[(12,64):(64,1)]"}, swizzle=0)),
    "a wide walk of slices": ("descriptor", call(WIDE, image=plain(12, 8), tensor=SLICES, interleave=1, swizzle=2, channels_per_pixel=8)),
    "a start left of the box": ("coords.bounds", call(coords=[0, 0, -2, 0])),
    "a start right of the box": ("coords.bounds", call(coords=[0, 0, 5, 0])),
    "a start above the box": ("coords.bounds", call(coords=[0, -2, 0, 0])),
    "a start below the box": ("coords.bounds", call(coords=[0, 4, 0, 0])),
    "a start that may leave the box": ("coords.bounds", call(coords=[0, "q", 0, 0], symbols=Q)),
    "a step out of the box": ("coords.bounds", call(image=STAGES, coord_steps=[[0, 0, 6, 0]])),
    "a start behind a symbolic width": (
        "coords.bounds",
        call(tensor={"shape": [3, 5, "W", 64], "layout": "S[(3,5,W,64):(320*W,64*W,64,1)]"}, symbols=[symbol("W", 1, 900)]),
    ),
    "a wide walk from the right of its box": ("coords.bounds", call(WIDE, coords=[0, 0, 5, 0])),
    "a channel at 8 bytes": ("coords", call(coords=[0, 0, 0, 4])),
    "a negative channel of a store": ("coords", call(STORE.format(4), coords=[0, 0, 0, -8])),
    "a store before the batch": ("coords", call(STORE.format(4), coords=[-1, 0, 0, 0])),
    "one offset of two": ("coords", call(im2col_offsets=[0])),
    "an offset of 256": ("coords", call(im2col_offsets=[0, 256])),
    "a negative offset": ("coords", call(im2col_offsets=["q", 0], symbols=Q)),
    "an offset of 32 in rank 5": ("coords", call(LOAD.format(5), im2col_offsets=[0, 0, 32])),
    "a wide offset of 32": ("coords", call(WIDE, im2col_offsets=[0, 32])),
    "a halo of 512": ("coords", call(WIDE, im2col_offsets=[512, 0])),
    "a halo of 32 of 128": ("coords", call(WIDE128, image=EIGHT, pixels_per_column=None, im2col_offsets=[32, 0])),
    "an offset without a value": ("coords.index.range", call(im2col_offsets=["1 // q", 0], symbols=[symbol("q", 0, 1)])),
    "pixels by channels by one": ("dst.shape", call(image={"shape": [12, 64, 1], "layout": "S[(12,64,1):(64,1,1)]"})),
    "eleven pixels": ("dst.shape", call(image={"shape": [11, 64], "layout": "Swizzle(3,3,3) o S[(11,64):(64,1)]"})),
    "compact narrow channels": (
        "dst.image",
        call(image={"shape": [12, 16], "layout": "Swizzle(3,3,3) o S[(12,16):(16,1)]"}, channels_per_pixel=16),
    ),
    "channels before pixels": ("dst.image", call(image={"shape": [12, 64], "layout": "S[(12,64):(1,12)]"}, swizzle=0)),
    "bytes of a compact image": (
        "expected_bytes.operands",
        call(image={"layout": "Swizzle(3,3,3) o S[(12,16):(64,1)]", "shape": [12, 16]}, channels_per_pixel=16, expected_bytes=1536),
    ),
    "a tensor of another rank": ("src.shape", call(tensor={"shape": [3, 30, 64]})),
}


@pytest.mark.parametrize("name", LEGAL)
def test_a_legal_walk_is_proved(name):
    verdict = check(read_call(LEGAL[name]), audit=True)
    assert verdict.status == "proved", verdict.summary()


@pytest.mark.parametrize("name", ILLEGAL)
def test_a_broken_rule_of_walks_is_refuted_by_its_clause(name):
    clause, document = ILLEGAL[name]
    verdict = check(read_call(document), audit=True)
    assert verdict.status == "refuted", verdict.summary()
    assert clause in {found.id for found in verdict.failing}


@pytest.mark.parametrize("name", [*LEGAL, *ILLEGAL])
def test_brute_force_over_walks_finds_the_same_first_failures(name):
    parsed = read_call(LEGAL[name] if name in LEGAL else ILLEGAL[name][1])
    assert disagreements(parsed, check(parsed), 400_000) in ([], None)


@pytest.mark.parametrize("opcode", [WIDE, WIDE128])
def test_where_halo_pixels_lie_is_not_known_and_the_clause_says_so(opcode):
    pixels = {"pixels_per_column": None, "image": EIGHT} if opcode == WIDE128 else {}
    verdict = check(read_call(call(opcode, im2col_offsets=[2, 0], **pixels)))
    (clause,) = (one for one in verdict.clauses if one.status == "unproved")
    assert (verdict.status, clause.id) == ("unproved", "dst.image")
    assert "halo" in (clause.reason or "")


@pytest.mark.parametrize(
    ("halo", "fields", "status"),
    [
        ("h", {}, "unproved"),
        ("h", {"assume": ["h <= 0"]}, "proved"),
        ("h", {"pred": "h == 0"}, "proved"),
        ("h", {"pred": "false"}, "proved"),
        ("h", {"pred": "h <= 1"}, "unproved"),
        ("h * laneid", {"launch": {"block": [32]}, "guard": "laneid == 0"}, "proved"),
        ("h", {"assume": ["h <= 0"], "image": {"shape": [11, 64]}}, "refuted"),
    ],
)
def test_a_halo_that_is_always_zero_leaves_the_image_known(halo: str, fields: Document, status: str):
    parsed = read_call(call(WIDE, im2col_offsets=[halo, 0], symbols=[symbol("h", 0, 2)], **fields))
    verdict = check(parsed)
    assert verdict.status == status, verdict.summary()
    assert disagreements(parsed, verdict, 400_000) == (None if status == "unproved" else [])


def test_a_box_that_some_widths_leave_empty_is_a_condition_of_a_wide_walk():
    wide = {"shape": [3, 5, "W", 64], "layout": "S[(3,5,W,64):(320*W,64*W,64,1)]"}
    fields = {"coords": [0, 0, "W - 4", 0], "pixel_box_lower_corner": [0], "pixel_box_upper_corner": [-3]}
    document = call(WIDE, tensor=wide, symbols=[symbol("W", 1, 90)], **fields)
    free, bounded = check(read_call(document)), check(read_call(document | {"assume": ["W >= 4"]}))
    assert (free.status, bounded.status, bounded.conditions) == ("proved", "proved", ())
    assert ["bounding box" in one for one in free.conditions] == [True]


# --- hazards ----------------------------------------------------------------------------------------------------------


def stores(step: list[int], **fields: Any) -> list[str]:
    """The hazards of two walks over 12 pixels, a step apart."""
    images = {"shape": [2, 12, 64], "layout": "Swizzle(3,3,3) o S[(2,12,64):(1024,64,1)]"}
    verdict = check(read_call(call(STORE.format(4), image=images, coord_steps=[step], **fields)), audit=True)
    assert verdict.status == "proved", verdict.summary()
    return [hazard.id for hazard in verdict.hazards]


def test_walks_of_a_store_race_where_they_share_a_pixel():
    assert stores([0, 2, 0, 0]) == []
    assert stores([0, 1, 0, 0]) == ["memory.race"]
    assert stores([0, 1, 5, 0]) == ["memory.race"]
    assert stores([1, 0, 0, 0]) == []


def test_walks_over_other_channels_do_not_race():
    tensor = {"shape": [3, 5, 6, 128]}
    assert stores([0, 1, 0, 64], tensor=tensor) == []
    assert stores([0, 1, 0, 56], tensor=tensor) == ["memory.race"]


def test_walks_with_element_strides_race_where_they_share_a_pixel():
    assert stores([0, 0, 1, 0], element_strides=[1, 1, 2, 1]) == ["memory.race"]  # the second lands on the first one's rows
    assert stores([0, 4, 0, 0], element_strides=[1, 1, 2, 1]) == []
    assert stores([0, 1, 0, 0], element_strides=[1, 2, 1, 1]) == []
    assert stores([0, 2, 0, 0], element_strides=[1, 2, 1, 1]) == ["memory.race"]
    assert stores([1, 0, 0, 0], element_strides=[2, 1, 1, 1]) == []


def test_channels_across_the_end_of_a_tensor_leave_a_tail():
    tensor = {"shape": [3, 5, 6, 60], "layout": "S[(3,5,6,60):(1920,384,64,1)]"}
    verdict = check(read_call(call(STORE.format(4), tensor=tensor)), audit=True)
    assert (verdict.status, [hazard.id for hazard in verdict.hazards]) == ("proved", ["store.tail"])


def mutant(rng: random.Random) -> Document:
    """A legal or illegal walk with up to three random changes."""
    document = copy.deepcopy(rng.choice([*LEGAL.values(), *(d for _, d in ILLEGAL.values())]))
    parameters = document["parameters"]
    for _ in range(rng.randint(1, 3)):
        change, operand = rng.randrange(9), rng.choice(document["operands"])
        if change == 0:
            parameters["coords"] = [rng.choice([0, 0, 1, -1, 3, 8]) for _ in parameters["coords"]]
        elif change == 1:
            parameters["swizzle"] = rng.randrange(5)
        elif change == 2:
            operand["align"] = rng.choice([8, 16, 128, 512, 1024])
        elif change == 3:
            which = rng.choice(["lower", "upper"])
            corner = parameters.get(f"pixel_box_{which}_corner") or [0]
            parameters[f"pixel_box_{which}_corner"] = [rng.choice([0, -1, 1, -3, 2]) for _ in corner]
        elif change == 4:
            parameters["element_strides"] = [rng.choice([1, 1, 2, 3]) for _ in parameters["coords"]]
        elif change == 5:
            parameters["channels_per_pixel"] = rng.choice([8, 16, 64])
        elif change == 6 and "im2col_offsets" in parameters:
            parameters["im2col_offsets"] = [rng.choice([0, 0, 1, 2, 31, 32, -1]) for _ in parameters["im2col_offsets"]]
        elif change == 7:
            parameters["pixels_per_column"] = rng.choice([1, 11, 12, 13])
        else:
            parameters["interleave"] = rng.randrange(3)
    return document


@pytest.mark.parametrize("seed", range(150))
def test_random_walks_agree_with_brute_force(seed):
    parsed = read_call(mutant(random.Random(f"im2col-{seed}")))
    assert disagreements(parsed, check(parsed), 60_000) in ([], None)


def symbolic(rng: random.Random) -> Document:
    """A walk whose start, offsets or width are symbols, with random corners and element strides."""
    opcode = rng.choice([LOAD.format(4), STORE.format(4), PREFETCH, WIDE])
    stores, count = opcode == STORE.format(4), 1 if opcode == WIDE else 2
    wide = {"shape": [3, 5, "W", 64], "layout": "S[(3,5,W,64):(320*W,64*W,64,1)]"}
    fields: Document = {
        "pixel_box_lower_corner": [rng.choice([0, 1] if stores else [-1, 0, 1]) for _ in range(count)],
        "pixel_box_upper_corner": [rng.choice([0, -1, -2] if stores else [-2, -1, 0, 1]) for _ in range(count)],
        "element_strides": [*(rng.choice([1, 1, 2]) for _ in range(3)), 1],
        "coords": [rng.choice([0, "q", 1]), rng.choice([0, 1, "q"]), rng.choice([0, 1, "q", "W - 2"]), 0],
    }
    if not stores:
        fields["im2col_offsets"] = [rng.choice([0, 1, "q+1", "q"]) if count == 2 else 0, rng.choice([0, 1, "q+1"])]
    tensor = wide if rng.random() < 0.6 else {"shape": [3, 5, 4, 64]}
    document = call(opcode, tensor=tensor, symbols=[symbol("q", -1, 2), symbol("W", 2, 4)], **fields)
    return document | ({"assume": [rng.choice(["q >= 0", "q <= 1", "W >= 3", "q < W - 1"])]} if rng.random() < 0.5 else {})


@pytest.mark.parametrize("seed", range(50))
def test_random_symbolic_walks_agree_with_brute_force(seed):
    parsed = read_call(symbolic(random.Random(f"im2col-symbolic-{seed}")))
    assert disagreements(parsed, check(parsed), 60_000) in ([], None)


def two_stores(rng: random.Random) -> Document:
    """Two walks of a store, a random step apart, with and without slices."""
    lower, upper, pixels = [rng.choice([0, 1]) for _ in range(2)], [rng.choice([0, -1]) for _ in range(2)], rng.choice([1, 2, 5, 6])
    fields: Document = {
        "image": {"shape": [2, pixels, 64], "layout": f"Swizzle(3,3,3) o S[(2,{pixels},64):(512,64,1)]"},
        "tensor": {"shape": [3, 4, 4, rng.choice([64, 128])]},
        "coords": [rng.choice([0, 1]), lower[0] + rng.choice([0, 1]), lower[1] + rng.choice([0, 1]), 0],
        "coord_steps": [[rng.choice([0, 0, 1]), rng.choice([0, 0, 1, 2]), rng.choice([0, 0, 1]), rng.choice([0, 0, 64, 8])]],
    }
    if rng.random() < 0.3:
        fields |= {"tensor": SLICES, "coords": [0, 0, *lower], "interleave": 1, "swizzle": 0, "channels_per_pixel": 8}
        fields["image"] = {"shape": [2, pixels, 8], "layout": f"S[(2,{pixels},8):(64,8,1)]", "align": 128}
        fields["coord_steps"] = [[rng.choice([0, 0, 1]) for _ in range(4)]]
    strides = [rng.choice([1, 1, 2]) for _ in range(3)] + [rng.choice([1, 1, 2]) if "interleave" in fields else 1]
    corners = {"pixel_box_lower_corner": lower, "pixel_box_upper_corner": upper, "pixels_per_column": pixels}
    return call(STORE.format(4), element_strides=strides, **corners, **fields)


@pytest.mark.parametrize("seed", range(60))
def test_random_stores_race_where_brute_force_says_so(seed):
    parsed = read_call(two_stores(random.Random(f"im2col-race-{seed}")))
    assert disagreements(parsed, check(parsed), 100_000) == []
