"""The image that is predicted of tcgen05.mma, computed with NumPy, against the cells that a simulated machine holds afterwards."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from tests.evaluate.cell_products import Json, compared, form_of, predicted
from tests.prove.tcgen05_documents import mma
from tests.simulator.configurations import GEMMS, MASK
from tests.simulator.products import NARROW
from tests.simulator.programs import build
from tilecheck.evaluate.predict import UnpredictedError

ONE, PAIR, WS = "tcgen05.mma.cta_group::1.kind::", "tcgen05.mma.cta_group::2.kind::", "tcgen05.mma.ws.cta_group::1.kind::"


def issued(document: Json) -> Json:
    """By one thread of the launch."""
    return {**document, "guard": "tx == 0 and cbx == 0"}


FORMS: dict[str, tuple[tuple[str, int, int], Json]] = {
    "M 64": ((ONE + "f16", 64, 8), {}),
    "M 128, f16 sums": ((ONE + "f16", 128, 16), {"sums": "float16", "parameters": {"accum": True}}),
    "tf32, added": ((ONE + "tf32", 128, 16), {"parameters": {"accum": True}}),
    "repeats, not added": ((ONE + "f16", 64, 8), {"repeats": (2, 3, 2)}),
    "repeats, added": ((ONE + "f16", 64, 8), {"repeats": (2, 2, 3), "parameters": {"accum": True, "neg_b": True}}),
    "both negated": ((ONE + "f8f6f4", 64, 8), {"parameters": {"neg_a": True, "neg_b": True}}),
    "8 bits into f16": ((ONE + "f8f6f4", 64, 8), {"sums": "float16", "dtype": "float8_e5m2"}),
    "integers": ((ONE + "i8", 64, 8), {"repeats": (1, 1, 2), "parameters": {"accum": True}}),
    "A in tensor memory, M 64": ((ONE + "f16", 64, 8), {"in_tmem": True, "repeats": (1, 2, 2)}),
    "A in tensor memory, M 128": ((ONE + "tf32", 128, 16), {"in_tmem": True, "parameters": {"accum": True}}),
    "bytes in tensor memory": ((ONE + "i8", 128, 16), {"in_tmem": True}),
    "pair, M 256": ((PAIR + "f16", 256, 32), {"parameters": {"accum": True}}),
    "pair, M 128": ((PAIR + "tf32", 128, 32), {"repeats": (2, 1, 2)}),
    "pair, M 128, A in tensor memory": ((PAIR + "f16", 128, 32), {"in_tmem": True, "repeats": (1, 1, 2)}),
    "pair, M 256, A in tensor memory": ((PAIR + "tf32", 256, 32), {"in_tmem": True}),
    "pair, f16 sums": ((PAIR + "f16", 128, 32), {"sums": "float16", "parameters": {"accum": True, "neg_a": True}}),
    ".ws, M 32": ((WS + "f16", 32, 64), {"parameters": {"accum": True}}),
    ".ws, M 64": ((WS + "tf32", 64, 64), {"repeats": (1, 1, 2)}),
    ".ws, M 128": ((WS + "tf32", 128, 64), {"parameters": {"zero_column_mask": 0}}),
    ".ws, M 32, A in tensor memory": ((WS + "i8", 32, 64), {"in_tmem": True}),
    ".ws, M 64, A in tensor memory": ((WS + "f16", 64, 64), {"in_tmem": True, "sums": "float16"}),
    ".ws, M 128, A in tensor memory": ((WS + "tf32", 128, 64), {"in_tmem": True}),
    "mxf8f6f4": ((ONE + "mxf8f6f4.block_scale", 128, 8), {"parameters": {"accum": True, "neg_a": True}}),
    "mxf8f6f4, pair": ((PAIR + "mxf8f6f4.block_scale.block32", 256, 16), {}),
    "mxf4": ((ONE + "mxf4.block_scale.scale_vec::2X", 128, 8), {"repeats": (1, 2, 2)}),
    "mxf4, A in tensor memory": ((ONE + "mxf4.block_scale", 128, 8), {"in_tmem": True, "parameters": {"accum": True}}),
    "mxf4, pair": ((PAIR + "mxf4.block_scale", 256, 16), {}),
    "mxf4nvf4, two factors": ((ONE + "mxf4nvf4.block_scale.scale_vec::2X", 128, 8), {}),
    "mxf4nvf4, four factors": ((ONE + "mxf4nvf4.block_scale.scale_vec::4X", 128, 40), {}),
    "mxf4nvf4, blocks of 16, pair": ((PAIR + "mxf4nvf4.block_scale.block16", 256, 48), {}),
    "K 96": ((PAIR + "mxf4.block_scale.block32", 256, 16), {"k": 96}),
    "K 96, A in tensor memory": ((PAIR + "mxf4nvf4.block_scale.block32", 256, 16), {"k": 96, "in_tmem": True}),
    "factors of a pair in their own slabs": ((PAIR + "mxf8f6f4.block_scale", 128, 32), {}),
    "factors of M 128 of a pair, A in tensor memory": ((PAIR + "mxf4.block_scale", 128, 48), {"in_tmem": True}),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_cell_is_as_predicted(name: str) -> None:
    args, more = FORMS[name]
    document = issued(mma(*args, **more))
    assert compared(document, whole=".block" not in args[0] and args[1] < 256) == 0


@pytest.mark.parametrize("a", NARROW)
@pytest.mark.parametrize("kind", ["f8f6f4", "mxf8f6f4.block_scale"])
@pytest.mark.parametrize("in_tmem", [False, True])
def test_numbers_of_four_and_six_bits(a: str, kind: str, *, in_tmem: bool) -> None:
    for b in NARROW:
        document = issued(mma(ONE + kind, 128, 16, dtype="uint8", in_tmem=in_tmem, parameters={"a_format": a, "b_format": b}))
        assert compared(document, whole=False) == 0


@pytest.mark.parametrize("gemm", GEMMS if os.environ.get("TILECHECK_THOROUGH") else GEMMS[::3], ids=lambda gemm: gemm.name)
def test_every_major_and_swizzle(gemm: Any) -> None:
    call = build(replace(gemm, tiles=2)).documents["mma next"]
    used = {symbol["name"]: symbol["max"] for symbol in call["symbols"]}
    assert compared(call, used, whole=False) == 0


@pytest.mark.parametrize(
    ("opcode", "m", "n"), [(ONE + "f16", 64, 8), (ONE + "f16", 128, 16), (PAIR + "tf32", 128, 32), (PAIR + "f16", 256, 32)]
)
@pytest.mark.parametrize("sums", ["float32", "float16"])
def test_lanes_that_a_mask_names_are_not_written(opcode: str, m: int, n: int, sums: str) -> None:
    if sums == "float16" and "tf32" in opcode:
        return
    masks = [*MASK, 0x0000FFFF, 0, 0x80000001, 0x12345678][: 8 if opcode.startswith(PAIR) else 4]
    document = issued(mma(opcode, m, n, sums=sums, parameters={"disable_output_lane": masks, "accum": True}))
    assert compared(document, whole=m < 256) == 0
    written = {row[1] // 2048 for row in predicted(document) if len(row) < 5 or not row[4].get("cta")}
    assert written.isdisjoint({32 * k + bit for k, mask in enumerate(masks[:4]) for bit in range(32) if mask >> bit & 1})


def test_factors_of_two_types() -> None:
    document = issued(mma(ONE + "f16", 64, 8, parameters={"accum": True}))
    document["operands"][2]["dtype"] = "bfloat16"
    assert compared(document) == 0


@pytest.mark.parametrize("in_tmem", [False, True])
def test_rows_in_the_upper_half_of_each_slab(*, in_tmem: bool) -> None:
    masks = {"disable_output_lane": [0x00FF0000, 0xFFFFFFFF, 0, 0x55555555], "accum": True}
    document = issued(mma(ONE + "f16", 64, 8, in_tmem=in_tmem, parameters=masks))
    for operand in document["operands"][: 1 + in_tmem]:
        operand["layout"] += " + 16@TLane"
    assert compared(document) == 0


@pytest.mark.parametrize("rank", [2, 3])
def test_the_pair_is_that_of_the_issuing_cta(rank: int) -> None:
    document = mma(PAIR + "f16", 128, 32, parameters={"accum": True})
    document |= {"guard": f"tx == 0 and cbx == {rank}", "launch": {"block": [128], "cluster": [4, 1, 1]}}
    assert compared(document) == 0
    assert {row[4]["cta"] for row in predicted(document)} == {2, 3}


@pytest.mark.parametrize(("steps", "large"), [(1, 2**31 - 5), (2, 2**31 - 5), (2, 5 - 2**31)])
def test_sums_of_integers_are_clamped_after_each_step(steps: int, large: int) -> None:
    document = issued(mma(ONE + "i8", 64, 8, repeats=(1, 1, steps), parameters={"sat_d": True, "accum": True}))
    assert compared(document, large=large) == 0


# --- what is not predicted ---------------------------------------------------------------------------------------------


def refused(document: Json) -> str:
    with pytest.raises(UnpredictedError) as found:
        predicted(document, 1 << 18)
    return str(found.value)


def test_what_is_not_modelled_is_said() -> None:
    assert "metadata" in refused(issued(mma("tcgen05.mma.sp.cta_group::1.kind::f16", 128, 16)))
    assert ".ashift" in refused(issued(mma(ONE + "f16.ashift", 128, 16, in_tmem=True)))
    assert "zero_column_mask" in refused(issued(mma(WS + "f16", 32, 64, parameters={"zero_column_mask": 5})))
    assert "scale_input_d" in refused(issued(mma(ONE + "f16", 64, 8, parameters={"scale_input_d": 2})))
    assert "limit" in refused(issued(mma(ONE + "f8f6f4", 128, 128)))


def test_what_reads_what_an_earlier_step_wrote_is_not_predicted() -> None:
    document = issued(mma(ONE + "f16", 64, 8, repeats=(1, 2, 1), in_tmem=True))
    for operand in document["operands"][:2]:
        operand["tensor"] = "T"
    document["operands"][1]["layout"] = document["operands"][1]["layout"].replace("+ 768@TCol", "+ 0@TCol")
    assert "lane 0, column 0, is read as a after" in refused(document)


def test_a_cell_that_is_written_twice_is_undefined() -> None:
    both = {**mma(PAIR + "f16", 128, 32), "guard": "tx == 0"}
    rows = predicted(both)
    assert {tuple(row[2:4]) for row in rows} == {(None, "undefined")}
    assert len(rows) == 2 * 4 * 64 * 32


def test_nothing_is_written_where_pred_is_false() -> None:
    document = issued(mma(ONE + "f16", 64, 8, parameters={"pred": False}))
    assert predicted(document) == []


def test_a_row_names_the_cell_and_the_ctas() -> None:
    document = issued(mma(PAIR + "f16", 128, 32, parameters={"accum": True}))
    rows = predicted(document)
    label, byte, none, word, made = next(row for row in rows if row[1] == 64 * 2048 and row[4]["cta"] == 1)
    assert (label, byte, none, word, made["by"]) == ("D", 64 * 2048, None, "computed", "mul")
    (entry,) = made["entries"]
    assert entry["plus"] == ["f32", ["D", 64 * 2048, 0, 32, {"cta": 1}]]
    assert entry["products"][0] == [["A", 0, 0, 16, {"cta": 1}], ["B", 0, 0, 16, {"cta": 1}]]
    assert (entry["bit"], entry["bits"], entry["type"], entry["of"]) == (0, 32, "f32", ["f16", "f16"])


# --- mutants of the contract -------------------------------------------------------------------------------------------

SCALED, BANKED = (PAIR + "mxf4.block_scale", 256, 16, False), (PAIR + "f16", 128, 32, True)
TERMS: dict[str, tuple[str, ...]] = {
    "dst": ("m", "n", "slab", "cta"),
    "left": ("m", "k", "block"),
    "right": ("n", "k"),
    "sfa": ("m", "block", "slab"),
    "sfb": ("n", "block", "slab", "cta"),
}
"""By side of the product of SCALED: its indices."""
MUTANTS = [*((SCALED, side, name) for side, names in TERMS.items() for name in names), (BANKED, "dst", "part"), (BANKED, "left", "part")]
COUNTS = {"m": "M", "n": "N", "k": "K", "part": 2, "slab": 4, "block": 2, "cta": 2}


def form(opcode: str, m: int, n: int, *, in_tmem: bool, **more: Any) -> tuple[Json, Json]:
    """A call, and the contract with the only variant that it has."""
    document = issued(mma(opcode, m, n, in_tmem=in_tmem, **more))
    whole = form_of(document)
    own = next(one for one in (whole, *whole["variants"]) if (one["operands"][1]["kind"] == "tmem") == in_tmem)
    return document, own | {"variants": ()}


def changed(contract: Json, side: str, name: str) -> Json:
    """The contract with one index of one side moved on by one, cyclically."""

    def moved(entries: Json) -> Json:
        at = tuple((own, ("%", ("+", term, 1), COUNTS[name]) if own == name else term) for own, term in entries["at"])
        assert at != entries["at"]
        return {**entries, "at": at}

    product = contract["product"]
    if side in product:
        return contract | {"product": product | {side: moved(product[side])}}
    return contract | {"product": product | {"factors": tuple(moved(one) if one["operand"] == side else one for one in product["factors"])}}


@pytest.mark.parametrize(("own", "side", "name"), MUTANTS, ids=lambda one: one if isinstance(one, str) else one[0])
def test_a_changed_term_of_the_contract_is_noticed(own: tuple[str, int, int, bool], side: str, name: str) -> None:
    opcode, m, n, in_tmem = own
    document, contract = form(opcode, m, n, in_tmem=in_tmem)
    assert compared(document, contract=changed(contract, side, name), whole=False) > 0


@pytest.mark.parametrize("field", ["skips", "saturates", "signs", "accumulates"])
def test_a_field_that_lacks_is_noticed(field: str) -> None:
    kind, given = (
        ("i8", {"sat_d": True, "accum": True}) if field == "saturates" else ("f16", {"neg_a": True, "disable_output_lane": [*MASK]})
    )
    document, contract = form(ONE + kind, 64, 8, in_tmem=False, parameters=given)
    lacking = contract | {"product": {name: value for name, value in contract["product"].items() if name != field}}
    large = 2**31 - 5 if field == "saturates" else 0
    assert compared(document, contract=contract, large=large) == 0
    assert compared(document, contract=lacking, large=large) > 0


@pytest.mark.parametrize("change", [{"low": 1}, {"run": 2}, {"bits": 3}])
def test_a_changed_packing_is_noticed(change: Json) -> None:
    named = {"a_format": "e2m1", "b_format": "e2m1"}
    document, contract = form(ONE + "f8f6f4", 64, 8, in_tmem=True, dtype="uint8", parameters=named)
    left = contract["product"]["left"]
    wrong = left | {"narrow": tuple({**one, **change} for one in left["narrow"])}
    with pytest.raises(AssertionError) if "bits" in change else nullcontext():
        assert compared(document, contract=contract | {"product": contract["product"] | {"left": wrong}}) > 0
