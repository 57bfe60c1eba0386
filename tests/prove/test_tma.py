"""Copies of boxes: every rule with a call that keeps it and one that breaks it, random boxes against brute force, conditions and bytes."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from known_cases import disagreements

from tilecheck.document import read_call
from tilecheck.prove.check import check
from tilecheck.prove.premises import premises

LOAD = "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"
CAST = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
GATHER = "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes"
SCATTER = "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group"
PREFETCH = "cp.async.bulk.prefetch.tensor.2d.L2.global.tile"
Document = dict[str, Any]


def call(opcode: str = LOAD, image: Document | None = None, tensor: Document | None = None, **fields: Any) -> Document:
    """A legal copy of eight rows of 64 half words with swizzle 3, with changes."""
    stores, extra = (
        ".global.shared::cta" in opcode,
        {k: fields.pop(k) for k in ("launch", "guard", "symbols", "assume", "arch", "scope") if k in fields},
    )
    rows = 4 if "gather4" in opcode or "scatter4" in opcode else 8
    shared = {"name": "S", "space": "shared", "dtype": "float16", "shape": [rows, 64], "align": 1024} | (image or {})
    shared.setdefault("layout", f"Swizzle(3,3,3) o S[({rows},64):(64,1)]")
    there = {"name": "T", "space": "global", "dtype": "float16", "shape": [32, 128], "align": 16} | (tensor or {})
    gathers = {"box": [1, 64], "gather4": [3, 1, 2, 0]} if rows == 4 else {"box": [8, 64]}
    barrier = {} if stores or "prefetch" in opcode else {"mbar": "shared"}
    parameters = {"coords": [0, 0], "swizzle": 3, **gathers, **barrier, **fields}
    operands = [there] if "prefetch" in opcode else [there, shared] if stores else [shared, there]
    parameters = {k: v for k, v in parameters.items() if v is not None}
    return {"schema": "tilecheck/call@1", "opcode": opcode, "scope": "thread", "operands": operands, "parameters": parameters} | extra


def linear(*shape: int, **keys: Any) -> Document:
    """An unswizzled image."""
    compact = ",".join(map(str, shape))
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.insert(0, strides[0] * extent)
    return {"shape": list(shape), "layout": f"S[({compact}):({','.join(map(str, strides))})]", **keys}


def symbol(name: str, low: int, high: int, step: int = 1) -> Document:
    return {"name": name, "min": low, "max": high, "multiple_of": step}


SPAN = {"shape": [8, 32], "layout": "Swizzle(3,3,3) o S[(8,32):(64,1)]"}
STAGES = {"shape": [4, 8, 64], "layout": "Swizzle(3,3,3) o S[(4,8,64):(512,64,1)]"}
PHASE = {"shape": [4, 64], "layout": "Swizzle(3,3,3) o S[(4,64):(64,1)] + 64"}
FP4 = {"dtype": "float4_e2m1fn"}
N = symbol("n", -4, 40)
LEGAL: dict[str, Document] = {
    "load": call(),
    "store": call(STORE),
    "a box at the end of the tensor": call(coords=[28, 96]),
    "a negative coordinate of a load": call(coords=[-3, -8]),
    "a row pitched at the span": call(image=SPAN, box=[8, 32]),
    "a start at phase 1": call(image=PHASE, box=[4, 64]),
    "stages with steps": call(image=STAGES, coord_steps=[[8, 0]]),
    "a symbolic coordinate that is a multiple": call(coords=["n", "8 * n"], symbols=[N]),
    "bytes that are expected": call(image=STAGES, coord_steps=[[8, 0]], expected_bytes=4096),
    "an unknown base without swizzle": call(image=linear(8, 64, align=128), swizzle=0),
    "element strides": call(image=linear(4, 64, align=128), swizzle=0, element_strides=[2, 1]),
    "overlapping rows of a load": call(tensor={"layout": "S[(32,128):(8,1)]"}),
    "a zero stride": call(tensor={"layout": "S[(32,128):(0,1)]"}),
    "one row without a stride of its own": call(tensor={"shape": [1, 128], "layout": "S[(1,128):(3,1)]"}),
    "NaN fill of a float": call(oob_fill=1),
    "a multicast": call(CAST, launch={"block": [1], "cluster": [2]}, cta_mask=3, guard="cbx == 0"),
    "gathered rows": call(GATHER),
    "scattered rows": call(SCATTER),
    "a prefetch": call(PREFETCH),
    "the 64-byte atoms of later machines": call(image={"layout": "Swizzle(5,1,1) o S[(8,64):(64,1)]"}, swizzle=6),
    "a packed format": call(
        image=FP4 | {"shape": [8, 128], "layout": "S[(8,8,16):(256,32,1)]", "align": 128},
        tensor=FP4 | {"shape": [32, 256], "align": 32},
        box=[8, 128],
        swizzle=0,
    ),
}


def packed(size_bytes: int | None = None, *, pred: str | None = None, **changes: Any) -> Document:
    """Eight rows of 128 nibbles, sixteen of them in the low half of each block of sixteen bytes."""
    sized = {} if size_bytes is None else {"size_bytes": size_bytes}
    image = FP4 | {"shape": [8, 128], "layout": "S[(8,8,16):(256,32,1)]", "align": 1024} | sized | changes.pop("image", {})
    return call(image=image, tensor=FP4 | {"shape": [32, 256], "align": 32}, **{"box": [8, 128], "swizzle": 0, "pred": pred} | changes)


SWIZZLED_FP4 = {"layout": "Swizzle(5,3,3) o S[(8,8,16):(256,32,1)]"}
LEGAL |= {
    "a packed image whose padding is allocated": packed(1024),
    "a packed swizzled image whose padding is allocated": packed(1024, image=SWIZZLED_FP4, swizzle=3),
    "a packed image cut from a larger tensor": packed(
        2040,
        image={"shape": [16, 128], "layout": "S[(16,8,16):(256,32,1)]", "view": [{"op": "slice", "begin": [0, 0], "extent": [8, 128]}]},
    ),
    "a packed image that nothing is written to": packed(1016, pred="false"),
}
LEGAL["a policy that is a symbol"] = call(f"{PREFETCH}.L2::cache_hint", cache_policy="n + 4", symbols=[N])
SYMBOLIC = {"shape": [32, "K"], "layout": "S[(32,K):(K,1)]"}
ILLEGAL: dict[str, tuple[str, Document]] = {
    "a box of another rank": ("box", call(box=[8])),
    "a box of 257": ("box", call(image={"shape": [257, 64], "layout": "Swizzle(3,3,3) o S[(257,64):(64,1)]"}, box=[257, 64])),
    "a box of 256 KiB": ("box", call(PREFETCH, tensor={"dtype": "float32", "shape": [256, 256]}, box=[256, 256], swizzle=0)),
    "an interleaved row of 8 bytes": (
        "box",
        call(
            "cp.async.bulk.prefetch.tensor.3d.L2.global.tile",
            tensor={"shape": [2, 4, 16, 8]},
            box=[1, 1, 4],
            coords=[0, 0, 0],
            interleave=1,
            swizzle=0,
        ),
    ),
    "a row of 12 bytes": ("box", call(image=linear(8, 6), box=[8, 6], swizzle=0)),
    "a row beyond the span": ("box", call(image={"shape": [8, 128], "layout": "Swizzle(3,3,3) o S[(8,128):(128,1)]"}, box=[8, 128])),
    "two rows of a gather": ("box", call(GATHER, box=[2, 64])),
    "a swizzle there is not": ("descriptor", call(swizzle=7)),
    "a swizzle the architecture has not": (
        "descriptor",
        call(image={"layout": "Swizzle(5,1,1) o S[(8,64):(64,1)]"}, swizzle=6, arch="sm_90a"),
    ),
    "an element stride of 9": ("descriptor", call(image=linear(1, 64), swizzle=0, element_strides=[9, 1])),
    "an inner element stride": ("descriptor", call(image=linear(8, 32), swizzle=0, element_strides=[1, 2])),
    "a promotion of 4": ("descriptor", call(l2_promotion=4)),
    "NaN fill of integers": ("descriptor", call(image={"dtype": "int16"}, tensor={"dtype": "int16"}, oob_fill=1)),
    "interleave of rank 2": ("descriptor", call(interleave=1)),
    "a negative stride": ("descriptor", call(tensor={"layout": "S[(32,128):(-128,1)] + 3968"})),
    "a stride of 8 bytes": ("descriptor", call(tensor={"layout": "S[(32,128):(132,1)]"})),
    "an inner stride of 2": ("descriptor", call(tensor={"layout": "S[(32,128):(256,2)]"})),
    "two strides on one axis": ("descriptor", call(tensor={"layout": "S[(2,16,128):(8192,128,1)]"})),
    "a swizzled tensor": ("descriptor", call(tensor={"layout": "Swizzle(3,3,3) o S[(32,128):(128,1)]"})),
    "a stride that is odd for every value": (
        "descriptor",
        call(tensor={"shape": [32, "K"], "layout": "S[(32,K):(2*K+1,1)]"}, symbols=[symbol("K", 128, 160)]),
    ),
    "a view that depends on the lane": (
        "descriptor",
        call(tensor={"view": [{"op": "slice", "begin": ["laneid", 0], "extent": [16, None]}]}, launch={"block": [2]}),
    ),
    "a column of 12 bytes": ("coords", call(coords=[0, 6])),
    "a column that may be off": ("coords", call(coords=[0, "4 * n"], symbols=[N])),
    "a negative row of a store": ("coords", call(STORE, coords=["n", 0], symbols=[N])),
    "a negative row of a scatter": ("coords", call(SCATTER, gather4=[0, 1, -1, 2])),
    "a coordinate beyond 32 bits": ("coords", call(coords=[1 << 31, 0])),
    "a repeat that walks off 16 bytes": ("coords", call(image=STAGES, coord_steps=[[0, 4]])),
    "a step of rows that are chosen": (
        "coords",
        call(GATHER, image={"shape": [2, 4, 64], "layout": "Swizzle(3,3,3) o S[(2,4,64):(256,64,1)]"}, coord_steps=[[1, 0]]),
    ),
    "a divisor of 0": ("coords.index.range", call(coords=["8 // n", 0], symbols=[symbol("n", 0, 4)])),
    "a compact narrow row": ("dst.image", call(image={"shape": [8, 32], "layout": "Swizzle(3,3,3) o S[(8,32):(32,1)]"}, box=[8, 32])),
    "a phase that the view does not say": ("dst.image", call(image={"layout": "S[(8,64):(64,1)]"})),
    "another swizzle": ("dst.image", call(image={"layout": "Swizzle(3,2,3) o S[(8,64):(64,1)]"})),
    "a swizzle of the offset on a base at 128": (
        "dst.image",
        call(image={"align": 128, "base": {"mod": 1024, "is": 128}, "layout": "Swizzle(3,3,3) o S[(8,64):(64,1)]"}),
    ),
    "an unknown phase": ("dst.base.period", call(image={"align": 128})),
    "an origin at 64": ("dst.aligned", call(image=linear(8, 64, align=64), swizzle=0)),
    "a stage at 64 mod 128": ("dst.aligned", call(image=linear(3, 1, 32, align=128), box=[1, 32], swizzle=0, coord_steps=[[1, 0]])),
    "a tensor at 8 mod 16": ("src.aligned", call(tensor={"align": 8})),
    "a view that starts at 8 bytes": ("src.aligned", call(tensor={"view": [{"op": "slice", "begin": [0, 4], "extent": [32, 120]}]})),
    "a view beyond the tensor": ("src.bounds", call(tensor={"view": [{"op": "slice", "begin": [1, 0], "extent": [32, 128]}]})),
    "a tensor larger than its allocation": ("src.backing", call(tensor={"size_bytes": 8000})),
    "a packed image that ends with its payload": ("dst.backing", packed(1016)),
    "a packed swizzled image that ends with its payload": ("dst.backing", packed(1016, image=SWIZZLED_FP4, swizzle=3)),
    "a packed image at the end of a larger tensor": (
        "dst.backing",
        packed(
            2040,
            image={"shape": [16, 128], "layout": "S[(16,8,16):(256,32,1)]", "view": [{"op": "slice", "begin": [8, 0], "extent": [8, 128]}]},
        ),
    ),
    "a negative policy": ("cache_policy.bounds", call(f"{PREFETCH}.L2::cache_hint", cache_policy="n", symbols=[N])),
    "a policy of 65 bits": ("cache_policy.bounds", call(f"{PREFETCH}.L2::cache_hint", cache_policy="1 << (n + 25)", symbols=[N])),
    "a tensor of rank 1": ("src.shape", call(tensor={"shape": [4096]})),
    "an image of other rows": ("dst.shape", call(image={"shape": [7, 64], "layout": "Swizzle(3,3,3) o S[(7,64):(64,1)]"})),
    "an image of bytes": ("dst.storage", call(image={"dtype": "uint8"})),
    "a barrier in global memory": ("mbar.storage", call(mbar="global")),
    "no barrier": ("operands", call(mbar=None)),
    "a barrier of a store": ("operands", call(STORE, mbar="shared")),
    "a dtype of 128 bits": (
        "src.type",
        call(image=linear(8, 8, dtype="bits128"), tensor={"dtype": "bits128", "shape": [32, 32]}, box=[8, 8], swizzle=0),
    ),
    "tf32 over half words": ("src.type", call(format="tf32")),
    "a bitwise reduction of floats": ("dst.type", call("cp.reduce.async.bulk.tensor.2d.global.shared::cta.and.tile.bulk_group")),
    "a bitwise reduction of int64": (
        "dst.type",
        call(
            "cp.reduce.async.bulk.tensor.2d.global.shared::cta.or.tile.bulk_group",
            image=linear(8, 16, dtype="int64"),
            tensor={"dtype": "int64"},
            box=[8, 16],
            swizzle=0,
        ),
    ),
    "a mask beyond the cluster": ("cta_mask.cluster", call(CAST, launch={"block": [1], "cluster": [2]}, cta_mask=4)),
    "bytes that are not moved": ("expected_bytes.operands", call(expected_bytes=2048)),
    "the bytes of one of two multicasts": (
        "expected_bytes.operands",
        call(CAST, launch={"block": [1], "cluster": [2]}, cta_mask=3, expected_bytes=1024),
    ),
}


ATOMS_OF_32 = {"image": {"layout": "Swizzle(4,2,2) o S[(8,64):(64,1)]"}, "swizzle": 4}
CLUSTER = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"


@pytest.mark.parametrize("arch", ["sm_90a", "sm_100", "sm_103a", "sm_110f", "sm_120", "sm_120a", "sm_120f", "sm_121a"])
@pytest.mark.parametrize("opcode", [LOAD, CLUSTER])
def test_the_family_of_sm_120_loads_no_nibbles_and_no_larger_atoms_to_the_cluster(opcode: str, arch: str):
    has = arch != "sm_90a" and (opcode == LOAD or not arch.startswith("sm_12"))
    for clause, document in (("opcode", packed(opcode=opcode, arch=arch)), ("descriptor", call(opcode, **ATOMS_OF_32, arch=arch))):
        assert [found.id for found in check(read_call(document), audit=True).failing] == ([] if has else [clause])


@pytest.mark.parametrize(
    ("group", "cluster", "right"),
    [
        (2, None, False),
        (2, [1], False),
        (2, [3], False),
        (2, [3, 3], False),
        (2, [2], True),
        (2, [3, 2], True),
        (1, None, True),
        (1, [3], True),
    ],
)
def test_a_pair_of_ctas_needs_a_cluster_of_pairs(group: int, cluster: list[int] | None, right: bool):
    parsed = read_call(call(f"{CLUSTER}.cta_group::{group}", launch={"block": [1], "cluster": cluster}))
    verdict = check(parsed, audit=True)
    assert [found.id for found in verdict.failing] == ([] if right else ["cluster"])
    assert disagreements(parsed, verdict, 200_000) == []


def test_a_store_with_larger_atoms_is_not_refused_by_the_family_of_sm_120():
    assert check(read_call(call(STORE, **ATOMS_OF_32, arch="sm_120a")), audit=True).status == "proved"


@pytest.mark.parametrize("name", LEGAL)
def test_a_legal_copy_is_proved(name):
    verdict = check(read_call(LEGAL[name]), audit=True)
    assert verdict.status == "proved", verdict.summary()


@pytest.mark.parametrize("name", ILLEGAL)
def test_a_broken_rule_is_refuted_by_its_clause(name):
    clause, document = ILLEGAL[name]
    verdict = check(read_call(document), audit=True)
    assert verdict.status == "refuted"
    assert clause in {found.id for found in verdict.failing}


@pytest.mark.parametrize("name", [*LEGAL, *ILLEGAL])
def test_brute_force_finds_the_same_first_failures(name):
    document = LEGAL[name] if name in LEGAL else ILLEGAL[name][1]
    parsed = read_call(document)
    assert disagreements(parsed, check(parsed), 200_000) in ([], None)


HAZARDS = {
    "store.tail": call(STORE, tensor={"shape": [32, 100], "layout": "S[(32,100):(104,1)]"}, coords=[0, 64]),
    "coords.unused": call(GATHER, coords=[1, 0]),
    "issue.many": call(launch={"block": [32]}),
    "memory.race": call(image={"shape": [2, 8, 64], "layout": "Swizzle(3,3,3) o S[(2,8,64):(0,64,1)]"}, coord_steps=[[8, 0]]),
}


@pytest.mark.parametrize("hazard", HAZARDS)
def test_a_suspicious_copy_is_proved_with_its_hazard(hazard):
    verdict = check(read_call(HAZARDS[hazard]), audit=True)
    assert verdict.status == "proved", verdict.summary()
    assert hazard in {found.id for found in verdict.hazards}


def test_multicasts_race_in_the_ctas_that_their_masks_share():
    both = {"launch": {"block": [1], "cluster": [2]}}
    every, next_one = (check(read_call(call(CAST, cta_mask=mask, **both)), audit=True) for mask in (3, "1 << cbx"))
    assert [[h.id for h in verdict.hazards] for verdict in (every, next_one)] == [["memory.race"], []]


def test_boxes_of_a_store_that_meet_race():
    images = {"shape": [2, 8, 64], "layout": "Swizzle(3,3,3) o S[(2,8,64):(512,64,1)]"}
    near = check(read_call(call(STORE, image=images, coord_steps=[[4, 0]])), audit=True)
    apart = check(read_call(call(STORE, image=images, coord_steps=[[8, 0]])), audit=True)
    assert [[h.id for h in verdict.hazards] for verdict in (near, apart)] == [["memory.race"], []]


@pytest.mark.parametrize(
    ("stride", "box", "races"), [(0, 8, True), (8, 8, True), (64, 8, False), (0, 1, False), (32, 1, False), (56, 2, True)]
)
def test_a_store_races_with_itself_where_its_rows_share_bytes(stride: int, box: int, races: bool):
    image = None if box == 8 else linear(box, 64)
    fields = {} if box == 8 else {"box": [box, 64], "swizzle": None}
    document = call(STORE, image, tensor={"layout": f"S[(32,128):({stride},1)]"}, **fields)
    assert store_hazards(document) == (["memory.race"] if races else [])


def store_hazards(document: Document) -> list[str]:
    """The hazards of a legal call, the same by proof and by brute force."""
    parsed = read_call(document)
    verdict = check(parsed)
    assert verdict.status == "proved", verdict.summary()
    assert disagreements(parsed, verdict, 2_000_000) == []
    return [hazard.id for hazard in verdict.hazards]


ROW = symbol("r", 0, 40)


@pytest.mark.parametrize(
    ("rows", "races", "fields"),
    [
        ([1, 1, 2, 3], True, {}),
        ([0, 1, 2, 3], False, {}),
        (["r", 1, 2, 3], True, {}),
        (["r", 1, 2, 3], False, {"assume": ["r > 3"]}),
        (["r", 1, 2, 3], False, {"pred": "r > 3"}),
        ([40, 40, 2, 3], False, {}),
        ([1, 1, 2, 3], False, {"coords": [0, 128]}),
        ([1, 1, 2, 3], False, {"pred": "r < 0"}),
    ],
)
def test_a_row_that_one_scatter_names_twice_races(rows: list[Any], races: bool, fields: Document):
    assert store_hazards(call(SCATTER, gather4=rows, symbols=[ROW], **fields)) == (["memory.race"] if races else [])


def test_a_reduction_of_one_row_twice_is_no_race_and_rows_that_share_bytes_are_one():
    shared = {"layout": "S[(32,128):(32,1)]"}
    assert store_hazards(call(SCATTER, tensor=shared, gather4=[0, 2, 4, 6])) == []
    assert store_hazards(call(SCATTER, tensor=shared, gather4=[0, 1, 4, 6])) == ["memory.race"]


@pytest.mark.parametrize(
    ("coords", "tail"), [([0, 64], True), ([31, 64], True), ([32, 64], False), (["r", 64], True), (["r + 32", 64], False)]
)
def test_rows_behind_the_end_of_a_tensor_leave_no_tail(coords: list[Any], tail: bool):
    cut = {"shape": [32, 100], "layout": "S[(32,100):(104,1)]"}
    assert store_hazards(call(STORE, tensor=cut, coords=coords, symbols=[ROW])) == (["store.tail"] if tail else [])


@pytest.mark.parametrize(("rows", "tail"), [([64, 65, 66, 67], False), ([64, 65, 3, 67], True)])
def test_rows_that_a_scatter_drops_leave_no_tail(rows: list[int], tail: bool):
    cut = {"shape": [32, 60], "layout": "S[(32,60):(64,1)]"}
    assert store_hazards(call(SCATTER, tensor=cut, gather4=rows)) == (["store.tail"] if tail else [])


@pytest.mark.parametrize(
    ("first", "said", "fields"),
    [("r", True, {}), ("r - r", False, {}), ("r", False, {"assume": ["r <= 0"]}), ("r", False, {"pred": "r == 0"}), (0, False, {})],
)
def test_a_row_coordinate_that_is_never_other_than_zero_is_not_suspicious(first: Any, said: bool, fields: Document):
    assert store_hazards(call(GATHER, coords=[first, 0], symbols=[ROW], **fields)) == (["coords.unused"] if said else [])


@pytest.mark.parametrize("seed", range(40))
def test_random_stores_to_shared_bytes_race_where_brute_force_says_so(seed: int):
    rng = random.Random(f"shared-bytes-{seed}")
    columns, stride, moved = rng.choice([8, 16, 24]), 8 * rng.randrange(4), 8 * rng.randrange(3)
    box = [rng.choice([1, 2, 3]), rng.choice([8, 16])]
    steps = rng.choice([1, 2]) if box[0] > 1 else 1
    image = linear(2, -(-box[0] // steps), box[1])
    image["layout"] = f"S[(2,{image['shape'][1]},{box[1]}):(512,{box[1]},1)]"
    tensor = {"shape": [6, columns], "layout": f"S[(6,{columns}):({stride},1)]"}
    place = [rng.randrange(7), 8 * rng.randrange(3)]
    strides = {"element_strides": [steps, 1]}
    store_hazards(call(STORE, image, tensor, coords=place, box=box, swizzle=None, coord_steps=[[rng.randrange(3), moved]], **strides))


def test_a_symbolic_pitch_leaves_a_condition_and_a_declared_one_none():
    free = check(read_call(call(tensor=SYMBOLIC, symbols=[symbol("K", 64, 4096)])))
    known = check(read_call(call(tensor=SYMBOLIC, symbols=[symbol("K", 64, 4096, 8)])))
    assert (free.status, known.status, known.conditions) == ("proved", "proved", ())
    (condition,) = free.conditions
    assert "multiple of 16 bytes" in condition


def test_a_load_says_what_it_adds_to_its_barrier():
    verdict = check(read_call(LEGAL["a packed format"]))
    statement = next(c.statement for c in verdict.clauses if c.id == "expected_bytes.operands")
    assert "adds 512 bytes" in statement


def test_a_packed_format_is_refused_by_opcode_where_the_architecture_has_none():
    verdict = check(read_call(LEGAL["a packed format"] | {"arch": "sm_90a"}))
    assert "opcode" in {found.id for found in verdict.failing}


def mutant(rng: random.Random) -> Document:
    """A legal or illegal copy with up to three random changes."""
    document = copy.deepcopy(rng.choice([*LEGAL.values(), *(d for _, d in ILLEGAL.values())]))
    parameters = document["parameters"]
    for _ in range(rng.randint(1, 3)):
        change = rng.randrange(8)
        operand = rng.choice(document["operands"])
        if change == 0:
            parameters["coords"] = [rng.choice([0, -8, 4, 8, 24]) for _ in parameters["coords"]]
        elif change == 1:
            parameters["swizzle"] = rng.randrange(4)
        elif change == 2:
            operand["align"] = rng.choice([8, 16, 64, 128, 512, 1024])
        elif change == 3:
            parameters["box"] = [max(1, extent + rng.choice([0, 0, -1, 8])) for extent in parameters["box"]]
        elif change == 4:
            parameters["element_strides"] = [rng.choice([1, 1, 2, 3]) for _ in parameters["box"]]
        elif change == 5:
            operand["base"] = {"mod": 1024, "is": rng.choice([0, 128, 256, 64])}
        elif change == 6:
            parameters["coord_steps"] = [[rng.choice([0, 8, 4]), rng.choice([0, 8, 4])] for _ in range(rng.randrange(3))]
        else:
            parameters["interleave"] = rng.randrange(3)
    return document


@pytest.mark.parametrize("seed", range(150))
def test_random_boxes_agree_with_brute_force(seed):
    parsed = read_call(mutant(random.Random(f"tma-{seed}")))
    assert disagreements(parsed, check(parsed), 60_000) in ([], None)


def test_an_audit_says_what_brute_force_has_not_looked_at():
    free = [symbol("n", 0, 1 << 20)]
    vast = call(coords=["n", 0], symbols=free, image={"shape": [8, 64]})
    verdict = check(read_call(vast), audit=True)
    assert (verdict.status, "not audited by brute force" in (verdict.reason or "")) == ("proved", True)
    assert check(read_call(vast)).reason is None
    assert check(read_call(call()), audit=True).reason is None


@pytest.mark.parametrize(
    ("name", "premise"),
    [
        ("a column that may be off", "n % 2 == 0"),
        ("a negative row of a store", "0 <= n"),
        ("an unknown phase", "base(S) % 1024 == 0"),
        ("a tensor at 8 mod 16", "base(T) % 16 == 0"),
    ],
)
def test_a_premise_speaks_of_coordinates_and_of_periods(name, premise):
    assert [one.text for one in premises(read_call(ILLEGAL[name][1]))] == [premise]
