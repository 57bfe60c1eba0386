"""tcgen05.mma: the cases of the documents, every form with its smallest and its largest shapes, and for every rule a call that breaks it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.prove.tcgen05_documents import Json, accumulator, fields, in_cells, mma, operand, scales
from tilecheck import check
from tilecheck.contracts.tcgen05_mma import GRAMMAR, sizes
from tilecheck.document import read_call

F16 = "tcgen05.mma.cta_group::1.kind::f16"
PAIR = "tcgen05.mma.cta_group::2.kind::f16"
STATIONARY = "tcgen05.mma.ws.cta_group::1.kind::f16"
MX8 = "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale"
NV4 = "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X"
MX4_PAIR = "tcgen05.mma.cta_group::2.kind::mxf4.block_scale"


def failing(document: Json, **more: Any) -> set[str]:
    """The clauses that fail; counterexamples are replayed on the way."""
    return {clause.id for clause in check(read_call(document), **more).failing}


def changed(document: Json, index: int, **fields_: Any) -> Json:
    found = copy.deepcopy(document)
    found["operands"][index] |= fields_
    return found


FORMS = [
    (GRAMMAR.spell(q), size.m, n, size.k, in_tmem)
    for q in GRAMMAR.legal()
    if not q["buffer"]
    for size in sizes(q, "")
    for n in dict.fromkeys((size.n[0], size.n[len(size.n) // 2], size.n[-1]))
    for in_tmem in ((True,) if q["shift"] else (False, True))
]


def test_every_form_takes_its_shapes_with_a_in_either_memory():
    assert len(FORMS) == 610
    wrong = [form for form in FORMS if check(read_call(mma(*form[:3], k=form[3], in_tmem=form[4]))).status != "proved"]
    assert wrong == []


AUDITED = [form for k, form in enumerate(FORMS) if k % 89 == 0 and form[2] <= 64]


@pytest.mark.parametrize("form", AUDITED, ids=str)
def test_both_sides_agree_on_a_form(form: tuple[str, int, int, int, bool]):
    verdict = check(read_call(mma(*form[:3], k=form[3], in_tmem=form[4], guard="tx == 0")), audit=True)
    assert (verdict.status, verdict.reason) == ("proved", None)


# --- shapes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("opcode", "m", "n", "readings"),
    [
        (F16, 128, 24, {"isa", "cutlass"}),
        (F16, 64, 12, set[str]()),
        (F16, 256, 64, set[str]()),
        (F16, 64, 264, set[str]()),
        (PAIR, 256, 48, {"isa", "cutlass"}),
        (PAIR, 64, 64, set[str]()),
        ("tcgen05.mma.cta_group::1.kind::i8", 128, 24, {"isa", "tirx"}),
        ("tcgen05.mma.cta_group::1.kind::i8", 64, 40, set[str]()),
        (STATIONARY, 128, 32, set[str]()),
        (MX8, 64, 64, set[str]()),
        ("tcgen05.mma.cta_group::1.kind::f16.ashift", 64, 64, set[str]()),
    ],
)
def test_a_shape_that_not_all_documents_have_is_refused_and_says_who_has_it(opcode: str, m: int, n: int, readings: set[str]):
    document = mma(
        opcode,
        m if "ws" not in opcode and (m, "cta_group::1" in opcode) in {(64, True), (128, True)} else 128,
        n,
        in_tmem="ashift" in opcode,
    )
    document["parameters"]["instruction_shape"] = [m, n, document["parameters"]["instruction_shape"][2]]
    verdict = check(read_call(document))
    found = next(c for c in verdict.failing if c.id == "instruction_shape.shape")
    for reading in ("isa", "cutlass", "tirx"):
        other = {c.id for c in check(read_call(document), reading=reading).failing}
        assert ("instruction_shape.shape" not in other) == (reading in readings)
    assert all(reading in str(found.reason) for reading in readings)


def test_a_k_that_the_kind_has_not_is_a_wrong_shape():
    document = mma(F16, 128, 64)
    document["parameters"]["instruction_shape"] = [128, 64, 32]
    assert failing(document) == {"instruction_shape.shape"}


def test_k_96_is_for_pairs_with_m_256_on_sm_103a():
    document = mma(MX4_PAIR, 256, 64, k=96)
    verdict = check(read_call(document))
    assert (verdict.status, verdict.arch_floor) == ("proved", "sm_103a")
    assert failing({**document, "arch": "sm_103a"}) == set()
    assert failing({**document, "arch": "sm_100a"}) == {"instruction_shape.shape"}
    one = mma("tcgen05.mma.cta_group::1.kind::mxf4.block_scale", 128, 64, k=96)
    assert failing(one) == {"instruction_shape.shape"}
    assert failing(one, reading="tirx") == set()


def test_two_named_factors_of_a_row_have_no_k_96():
    named = mma("tcgen05.mma.cta_group::2.kind::mxf4.block_scale.scale_vec::2X", 256, 64, k=96)
    block = mma("tcgen05.mma.cta_group::2.kind::mxf4nvf4.block_scale.block32", 256, 64, k=96)
    assert (failing(named), failing(block)) == ({"instruction_shape.shape"}, set())


def test_cutlass_has_the_fine_steps_of_n_for_a_in_shared_memory_only():
    for opcode, m, n in ((F16, 128, 24), (PAIR, 256, 16)):
        found = [
            failing(mma(opcode, m, n, in_tmem=in_tmem), reading=reading) for reading in ("isa", "cutlass") for in_tmem in (False, True)
        ]
        assert found == [set(), set(), set(), {"instruction_shape.shape"}]


def test_a_renamed_architecture_is_the_one_it_is_now():
    def on(arch: str, opcode: str, **more: Any) -> set[str]:
        return failing({**mma(opcode, 128, 64, **more), "arch": arch})

    for arch in ("sm_101a", "sm_110a"):
        assert (
            on(arch, "tcgen05.mma.cta_group::1.kind::i8")
            == on(arch, "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X")
            == set()
        )
        assert on(arch, F16, parameters={"scale_input_d": 1}) == {"operands"}
    assert on("sm_100a", F16, parameters={"scale_input_d": 1}) == set()


def test_sparse_products_scale_d_too():
    document = mma("tcgen05.mma.sp.cta_group::1.kind::f16", 128, 64, parameters={"scale_input_d": 3})
    assert failing(document) == set()
    assert failing({**document, "parameters": {**document["parameters"], "scale_input_d": 16}}) == {"operands"}


def test_four_banks_are_by_analogy():
    clauses = {c.id: c.statement for c in check(read_call(mma(STATIONARY, 32, 64, in_tmem=True))).clauses}
    assert "by analogy" in clauses["a.image"]
    assert "by analogy" not in {c.id: c.statement for c in check(read_call(mma(STATIONARY, 64, 64, in_tmem=True))).clauses}["a.image"]


def test_b_of_bytes_along_n_asks_for_more_of_n():
    document = mma("tcgen05.mma.cta_group::1.kind::f8f6f4", 64, 24, parameters={"b_major": "mn", "b_descriptor": [16, 128, 0]})
    assert "instruction_shape.shape" in failing(document)


@pytest.mark.parametrize("shape", [[128, 64], [128, 64, 16, 1], [0, 0, 0], []])
def test_a_list_of_another_length_is_no_shape(shape: list[int]):
    document = mma(F16, 128, 64)
    document["parameters"]["instruction_shape"] = shape
    assert failing(document) == {"instruction_shape.shape"}


@pytest.mark.parametrize("shape", [None, "128", 128, [128, "n", 16], [128, True, 16]])
def test_what_is_no_list_of_numbers_is_no_parameter(shape: object):
    document = mma(F16, 128, 64, symbols=[{"name": "n", "min": 64, "max": 64}])
    document["parameters"]["instruction_shape"] = shape
    assert failing(document) == {"operands"}


# --- parameters and operands ------------------------------------------------------------------------------------------

OPERANDS = {
    "a descriptor for A in tensor memory": mma(F16, 128, 64, in_tmem=True, parameters={"a_descriptor": [16, 128, 0]}),
    "no descriptor of B": mma(F16, 128, 64, parameters={"b_descriptor": None}),
    "A in tensor memory along M": mma(F16, 128, 64, in_tmem=True, parameters={"a_major": "mn"}),
    "a mask of 4 words for a pair": mma(PAIR, 256, 64, parameters={"disable_output_lane": [0] * 4}),
    "a mask with a word of 33 bits": mma(F16, 128, 64, parameters={"disable_output_lane": [0, 0, 0, 1 << 32]}),
    "a mask and factors": mma(MX8, 128, 64, parameters={"disable_output_lane": [0] * 4}),
    "a mask and .ws": mma(STATIONARY, 128, 64, parameters={"disable_output_lane": [0] * 4}),
    "a column mask without .ws": mma(F16, 128, 64, parameters={"zero_column_mask": 0}),
    "a column mask that shifts": mma(STATIONARY, 128, 64, parameters={"zero_column_mask": 1 << 56}),
    "D scaled by 16": mma(F16, 128, 64, parameters={"scale_input_d": 16}),
    "D scaled, of bytes": mma("tcgen05.mma.cta_group::1.kind::f8f6f4", 128, 64, parameters={"scale_input_d": 1}),
    "saturated floats": mma(F16, 128, 64, parameters={"sat_d": True}),
    "negated integers": mma("tcgen05.mma.cta_group::1.kind::i8", 128, 64, parameters={"neg_a": True}),
    "factors that are not there": {**mma(MX8, 128, 64), "operands": mma(MX8, 128, 64)["operands"][:3]},
}


@pytest.mark.parametrize("what", OPERANDS)
def test_what_the_instruction_does_not_have_is_a_wrong_operand(what: str):
    assert failing(OPERANDS[what]) == {"operands"}


TAKEN = {
    "masks": mma(F16, 128, 64, parameters={"disable_output_lane": [0, 1, (1 << 32) - 1, "m"]}, symbols=[{"name": "m", "min": 0, "max": 9}]),
    "masks of a pair": mma(PAIR, 256, 64, parameters={"disable_output_lane": [0] * 8}),
    "a column mask": mma(STATIONARY, 64, 64, parameters={"zero_column_mask": 3}),
    "D scaled": mma("tcgen05.mma.cta_group::1.kind::tf32", 128, 64, parameters={"scale_input_d": 15}),
    "saturated integers": mma("tcgen05.mma.cta_group::1.kind::i8", 128, 64, parameters={"sat_d": True}),
    "flags that say what is so": mma("tcgen05.mma.cta_group::1.kind::i8", 128, 64, parameters={"neg_a": False, "sat_d": False}),
    "A in tensor memory along K": mma(F16, 128, 64, in_tmem=True, parameters={"a_major": "k"}),
    "accum and pred": mma(F16, 128, 64, parameters={"accum": "i > 0", "pred": "i < 3"}, symbols=[{"name": "i", "min": 0, "max": 7}]),
}


@pytest.mark.parametrize("what", TAKEN)
def test_what_the_instruction_has_is_taken(what: str):
    assert failing(TAKEN[what]) == set()


def test_a_word_of_a_mask_that_may_not_fit_is_out_of_bounds():
    symbols = [{"name": "m", "min": -1, "max": 9}]
    document = mma(F16, 64, 8, parameters={"disable_output_lane": [0, 0, 0, "m"]}, symbols=symbols)
    assert failing(document) == failing(document, audit=True) == {"disable_output_lane.bounds"}


def test_b_in_tensor_memory_and_d_elsewhere_are_wrong_storage():
    document = mma(F16, 128, 64, parameters={"b_descriptor": None})
    document["operands"][2] = operand("B", "tmem", "float16", [1, 1, 64, 16], "S[(1,1,64,16):(0@TCol,0@TCol,1@TLane,1@TCol)]")
    assert failing(document) == {"b.storage"}
    document = mma(F16, 128, 64)
    document["operands"][0] |= {"space": "shared", "layout": None}
    assert failing(document) == {"d.storage"}


# --- types ------------------------------------------------------------------------------------------------------------

TYPES = {
    "tf32 is named": (mma("tcgen05.mma.cta_group::1.kind::tf32", 64, 8, parameters={"a_format": None}), {"a.type"}),
    "tf32 is of floats": (
        mma("tcgen05.mma.cta_group::1.kind::tf32", 64, 8, dtype="float16"),
        {"a.storage", "a.type", "b.storage", "b.type"},
    ),
    "f16 sums are of f16 factors": (mma(F16, 64, 8, dtype="bfloat16", sums="float16"), {"d.type"}),
    "f16 sums of f16 factors": (mma(F16, 64, 8, sums="float16"), set[str]()),
    "f16 sums of bytes": (mma("tcgen05.mma.cta_group::1.kind::f8f6f4", 64, 8, sums="float16"), set[str]()),
    "an unknown format": (mma(F16, 64, 8, parameters={"a_format": "f32"}), {"a.type"}),
    "narrow types in bytes": (
        mma("tcgen05.mma.cta_group::1.kind::f8f6f4", 64, 8, dtype="uint8", parameters={"a_format": "e2m1", "b_format": "e3m2"}),
        set[str](),
    ),
    "bytes without a type": (mma("tcgen05.mma.cta_group::1.kind::f8f6f4", 64, 8, dtype="uint8"), {"a.type", "b.type"}),
    "raw halves with a name": (mma(F16, 64, 8, parameters={"a_format": "f16"}), set[str]()),
    "integers": (mma("tcgen05.mma.cta_group::1.kind::i8", 64, 8, dtype="uint8"), set[str]()),
    "integers give integers": (mma("tcgen05.mma.cta_group::1.kind::i8", 64, 8, sums="float32"), {"d.type"}),
}


@pytest.mark.parametrize("what", TYPES)
def test_types(what: str):
    document, wrong = TYPES[what]
    assert failing(document) == failing(document, audit=True) == wrong


def test_factors_have_one_type_and_blocks_of_16_take_two():
    document = mma(NV4, 128, 32)
    assert failing(changed(changed(document, 3, dtype="float8_e4m3fn"), 4, dtype="float8_e4m3fn")) == set()
    assert failing(changed(document, 3, dtype="float8_e4m3fn")) == {"sfb.type"}
    assert failing(changed(mma(MX8, 128, 32), 3, dtype="float8_e4m3fn")) == {"sfa.type"}


def test_narrow_types_are_k_major_only():
    more = {"b_format": "e2m1", "b_major": "mn", "b_descriptor": [128, 256, 0]}
    document = mma("tcgen05.mma.cta_group::1.kind::f8f6f4", 64, 32, dtype="uint8", parameters={"a_format": "e4m3", **more})
    assert failing(document) == {"b.descriptor"}


# --- places -----------------------------------------------------------------------------------------------------------

IDENTITY = "S[(1,1,64,64):(0@TCol,0@TCol,1@TLane,1@TCol)]"
PLACES = {
    "rows of M 64 are scattered": (changed(mma(F16, 64, 64), 0, layout=IDENTITY), {"d.image"}),
    "in the upper half of the slabs": (changed(mma(F16, 64, 64), 0, layout=accumulator("float32", (1, 1), "scattered", 64, 64)["layout"] + " + 16@TLane"), set[str]()),
    "in the middle of them": (changed(mma(F16, 64, 64), 0, layout=accumulator("float32", (1, 1), "scattered", 64, 64)["layout"] + " + 8@TLane"), {"d.image"}),
    "past the last lane": (changed(mma(F16, 128, 64), 0, layout="S[(1,1,128,64):(0@TCol,0@TCol,1@TLane,1@TCol)] + 16@TLane"), {"d.footprint", "d.backing", "d.image"}),
    "past the last column": (changed(mma(F16, 128, 64), 0, layout="S[(1,1,128,64):(0@TCol,0@TCol,1@TLane,1@TCol)] + 449@TCol"), {"d.footprint", "d.backing"}),
    "halves side by side": (changed(mma(F16, 128, 64, sums="float16"), 0, layout="S[(1,1,128,64):(0@TCol,0@TCol,1@TLane,1@TCol)]"), {"d.image"}),
    "halves in the upper half of a cell": (
        changed(mma(F16, 128, 64, sums="float16"), 0, layout="S[(1,1,128,64):(0@TCol,0@TCol,1@TLane,2@TCol)] + 1@TCol"), {"d.image"}),
    "columns of .ws M 64 are folded": (changed(mma(STATIONARY, 64, 64), 0, layout=IDENTITY), {"d.image"}),
    "A and D in different halves": (changed(mma(F16, 64, 64, in_tmem=True), 1, layout=in_cells("float16", (1, 1), F16, 64, 16, 384)["layout"] + " + 16@TLane"), {"a.image"}),
    "A without its second copy": (changed(mma(PAIR, 128, 64, in_tmem=True), 1, layout="S[(1,1,64,16):(0@TCol,0@TCol,1@TLane,1@TCol)] + 768@TCol"), {"a.replica"}),
    "factors without copies": (changed(mma(MX8, 128, 32), 3, layout="S[(1,1,4,32,1):(0@TCol,0@TCol,4@TCol,1@TLane,1@TCol)] + 1792@TCol"), {"sfa.replica"}),
    "a factor in any byte": (changed(mma(MX8, 128, 32), 3, layout=scales("S", "x", 128, 1, 4 * 448 + 3)["layout"]), set[str]()),
    "two factors in odd bytes": (
        changed(mma("tcgen05.mma.cta_group::1.kind::mxf4.block_scale", 128, 32), 3, layout=scales("S", "x", 128, 2, 4 * 448 + 1)["layout"]), {"sfa.image"}),
    "two factors in the upper half": (
        changed(mma("tcgen05.mma.cta_group::1.kind::mxf4.block_scale", 128, 32), 3, layout=scales("S", "x", 128, 2, 4 * 448 + 2)["layout"]), set[str]()),
    "four factors in two cells": (changed(mma(NV4, 128, 32), 3, layout=scales("S", "x", 128, 4, 4 * 448 + 2)["layout"]), {"sfa.image"}),
}  # fmt: skip


@pytest.mark.parametrize("what", PLACES)
def test_places(what: str):
    document, wrong = PLACES[what]
    assert failing(document) == wrong


def test_a_flat_a_of_ws_with_m_64_lacks_its_banks():
    document = mma(STATIONARY, 64, 64, in_tmem=True)
    flat = operand("A", "tmem", "float16", [1, 1, 64, 16], "S[(1,1,64,16):(0@TCol,0@TCol,1@TLane,1@TCol)] + 768@TCol")
    document["operands"][1] = flat
    assert failing(document) == {"a.shape"}


def test_the_readings_of_a_with_scattered_rows():
    document = mma(F16, 64, 64, in_tmem=True)
    tirx = changed(document, 1, layout="S[(1,1,64,16):(0@TCol,0@TCol,1@TLane,1@TCol)] + 768@TCol")
    assert (failing(document), failing(tirx)) == (set(), {"a.image"})
    assert (failing(document, reading="tirx"), failing(tirx, reading="tirx")) == ({"a.image"}, set())
    high = changed(document, 1, layout="S[(1,1,64,16):(0@TCol,0@TCol,1@TLane,1@TCol)] + 16@TLane + 768@TCol")
    assert failing(high, reading="tirx") == {"a.image"}
    assert failing(document, reading="isa") == failing(document, reading="cutlass") == set()


def test_the_readings_of_factors_of_b_for_m_128_of_a_pair():
    document = mma("tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale", 128, 64)
    halves = "S[(1,1,2,32,1):(0@TCol,0@TCol,64@TLane,1@TLane,1@TCol)] + R[2:32@TLane] + 1856@TCol"
    cutlass = changed(document, 4, layout=halves)
    assert (failing(document), failing(cutlass)) == (set(), {"sfb.image", "sfb.replica", "sfb.footprint"})
    assert (failing(cutlass, reading="cutlass"), "sfb.image" in failing(document, reading="cutlass")) == (set(), True)
    clause = next(c for c in check(read_call(document)).clauses if c.id == "sfb.image")
    assert "0103" in clause.statement


@pytest.mark.parametrize(
    ("d", "a", "clauses"),
    [
        (0, 0, set()),
        (0, 16, {"a.image"}),
        ("16*i", "16*i", set()),
        ("16 - 16*i", "16 - 16*i", set()),
        (0, "16*i", {"a.image"}),
        ("16*i", 0, {"a.image"}),
        ("16*i", "16 - 16*i", {"a.image"}),
        ("16*i", "16*(i % 2)", set()),
    ],
)
def test_rows_of_a_start_in_the_lane_of_d_for_every_start(d: object, a: object, clauses: set[str]):
    def rows(lane: object, columns: int, begin: int, width: int) -> dict[str, Any]:
        """The 16 lanes from `lane` on of each slab, and some columns."""
        part = {"op": "slice", "begin": [0, 0, 0, lane, begin], "extent": [None, None, None, 16, width]}
        layout = f"S[(1,1,4,32,{columns}):(0@TCol,0@TCol,32@TLane,1@TLane,1@TCol)]"
        return {"shape": [1, 1, 4, 32, columns], "layout": layout, "view": [part, {"op": "reshape", "shape": [1, 1, 64, width]}]}

    document = {**mma(F16, 64, 64, in_tmem=True), "symbols": [{"name": "i", "min": 0, "max": 1}]}
    document["operands"][0] |= rows(d, 512, 0, 64)
    document["operands"][1] |= rows(a, 1024, 128, 16)
    assert failing(document, audit=True) == clauses


# --- who issues, and in what order ------------------------------------------------------------------------------------


def test_threads_that_all_issue_are_a_hazard_at_thread_scope():
    document = {**mma(F16, 64, 8), "guard": None}
    verdict = check(read_call(document), audit=True)
    assert (verdict.status, {h.id for h in verdict.hazards}) == ("proved", {"issue.many", "memory.race"})
    assert not check(read_call(mma(F16, 64, 8))).hazards


@pytest.mark.parametrize(
    ("guard", "cluster", "varies", "hazards"),
    [
        ("tx == 0", [2], "grid", {"issue.many"}),
        ("tx == 0 and cbx == 0", [2], "grid", set()),
        ("tx == 0 and cbx % 2 == 1", [4], "grid", set()),
        ("tx == 0 and cbx < 3", [4], "grid", {"issue.many"}),
        ("tx == 0 and cbx % 2 == i", [4], "cluster", set()),
        ("tx == 0 and cbx % 2 == i", [4], "cta", {"issue.many"}),
        ("tx == 0 and (cbx == 0 or cbx == 3)", [4], "grid", set()),
        ("tx == 0 and (cbx == 1 or cbx == 2)", [4], "grid", set()),
        (None, [2], "grid", {"issue.many", "memory.race"}),
    ],
)
def test_both_ctas_of_a_pair_that_issue_are_a_hazard(guard: str | None, cluster: list[int], varies: str, hazards: set[str]):
    symbols = [{"name": "i", "min": 0, "max": 1, "varies": varies}]
    document = {**mma(PAIR, 256, 32), "guard": guard, "symbols": symbols, "launch": {"block": [64], "cluster": cluster}}
    verdict = check(read_call(document), audit=True)
    assert (verdict.status, {hazard.id for hazard in verdict.hazards}) == ("proved", hazards)


def test_lanes_that_write_one_accumulator_are_not_distinct():
    document = mma(F16, 64, 8)
    document |= {"scope": "warp", "guard": None, "launch": {"block": [32], "cluster": None}}
    for one in document["operands"]:
        one["shape"] = [32, *one["shape"]]
        factor = "0@TCol" if one["space"] == "tmem" else "0"
        one["layout"] = one["layout"].replace("S[(", "S[(32,").replace(":(", f":({factor},")
    assert failing(document) == {"d.distinct"}
    apart = changed(document, 0, layout=document["operands"][0]["layout"].replace(":(0@TCol", ":(8@TCol"))
    assert failing(apart) == set()


def test_repeats_are_products_of_m_n_and_k():
    document = mma(F16, 64, 16, repeats=(2, 3, 4))
    verdict = check(read_call(document))
    assert (verdict.status, verdict.instructions) == ("proved", 24)
    document["operands"][2] |= {"view": [{"op": "slice", "begin": [0, 0, 0, 0], "extent": [None, 3, None, None]}]}
    assert failing(document) == {"b.shape"}


def test_repeats_that_meet_in_d_are_a_race():
    document = mma(F16, 64, 16, repeats=(1, 2, 1))
    document["operands"][0]["layout"] = document["operands"][0]["layout"].replace(",16@TCol", ",8@TCol", 1)
    assert {h.id for h in check(read_call(document)).hazards} == {"memory.race"}


def test_a_pair_needs_a_partner():
    assert failing({**mma(PAIR, 256, 64), "launch": {"block": [128], "cluster": None}}) == {"cluster"}
    assert failing({**mma(PAIR, 256, 64), "launch": {"block": [128], "cluster": [1, 2, 1]}}) == set()


def test_stages_of_a_ring_and_steps_along_k_are_legal_for_every_stage():
    document = mma(F16, 128, 64, symbols=[{"name": "i", "min": 0}])
    stage = [{"op": "slice", "begin": ["i % 4", 0, 0, 0], "extent": [1, None, None, None]}]
    document["operands"][1] = operand(
        "A", "shared", "float16", [4, 4, 128, 16], "Swizzle(3,3,3) o S[(4,4,128,16):(8192,16,64,1)]", align=1024, view=stage
    )
    document["operands"][2] = operand("B", "shared", "float16", [1, 4, 64, 16], "Swizzle(3,3,3) o S[(1,4,64,16):(0,16,64,1)]", align=1024)
    document["parameters"] |= {"a_descriptor": [16, 1024, 3], "b_descriptor": [16, 1024, 3]}
    assert failing(document) == set()
    document["operands"][1]["align"] = 512
    assert failing(document) == {"a.base.period"}


def test_a_wrong_descriptor_names_the_element():
    document = mma(F16, 64, 16, parameters={"a_descriptor": [fields(64)[0] + 16, 128, 0]})
    (found,) = check(read_call(document)).failing
    assert found.id == "a.descriptor"
    assert found.counterexample is not None
    assert found.counterexample.atom == (0, 8)
