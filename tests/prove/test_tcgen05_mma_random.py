"""tcgen05.mma on drawn views: prover and evaluator say the same of each, clause by clause; some are audited by SMT, too."""

from __future__ import annotations

import copy
import os
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.prove.tcgen05_documents import Json, mma
from tilecheck import check
from tilecheck.contracts.tcgen05_mma import GRAMMAR, sizes
from tilecheck.document import read_call
from tilecheck.errors import InputError
from tilecheck.prove.replay import model_of
from tilecheck.spec import READINGS, Contract, find_contract

EXAMPLES = int(os.environ.get("TILECHECK_MMA_EXAMPLES", "0"))
"""Of a campaign with another seed each time; 0 for the few that are the same in every run."""
POINTS = 200_000 if EXAMPLES else 40_000
FORMS = [
    (GRAMMAR.spell(q), size, in_tmem)
    for q in GRAMMAR.legal()
    if not q["buffer"] and q["factors"] != "block32"
    for size in sizes(q, "")
    for in_tmem in ((True,) if q["shift"] else (False, True))
]
SYMBOLS = [{"name": "i", "min": 0, "max": 1}, {"name": "j", "min": 0, "max": 2}, {"name": "w", "min": 0, "max": 1, "varies": "warp"}]
STARTS = ("i", "j", "1 - i", "j % 2", "i * j", "(i + j) % 2", "w", "warpid", "laneid % 2", "cbx", "1", "i + 1")
ENDS = (
    "1@TLane",
    "16@TLane",
    "32@TLane",
    "64@TLane",
    "1@TCol",
    "2@TCol",
    "8@TCol",
    "120@TCol",
    "500@TCol",
    "R[2:32@TLane]",
    "R[2:64@TLane]",
    "8",
    "64",
    "1024",
)
GUARDS = (None, True, "tx == 0", "elected", "elected and warpid == j", "tx % 64 == j", "warpid == w and elected", "tx < i + 1")
FIELDS = (0, 1, 2, 3, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 24)


def moved(one: Json, count: int, stride: str, begin: str) -> Json:
    """The operand as the slab `begin` of `count` slabs that are a stride apart."""
    extents, strides = one["layout"].split("S[(", 1)[1].split("):(", 1)
    layout = one["layout"].replace(f"S[({extents}):({strides}", f"S[({count},{extents}):({stride},{strides}", 1)
    shape = one["shape"]
    steps = [
        {"op": "slice", "begin": [begin, *(0 for _ in shape)], "extent": [1, *(None for _ in shape)]},
        {"op": "reshape", "shape": shape},
    ]
    return {**one, "shape": [count, *shape], "layout": layout, "view": [*steps, *(one.get("view") or [])]}


@st.composite
def documents(draw: st.DrawFn) -> tuple[Json, str]:
    """A legal product with up to three things about it changed, and a reading of the documents."""
    opcode, size, in_tmem = draw(st.sampled_from(FORMS))
    n = size.n[0] if draw(st.booleans()) else draw(st.sampled_from([one for one in size.n if one <= 64] or [size.n[0]]))
    repeats = tuple(draw(st.sampled_from([(1, 1, 1), (1, 1, 1), (1, 1, 2), (2, 1, 1), (1, 2, 1), (2, 1, 2)])))
    document = mma(opcode, size.m, n, k=size.k, in_tmem=in_tmem, repeats=repeats, symbols=SYMBOLS)
    document = copy.deepcopy(document)
    kinds = ["start", "start", "end", "fields", "guard", "accum", "shape", "mask", "base", "repeats", "launch", "pred"]
    for what in draw(st.lists(st.sampled_from(kinds), max_size=3)):
        index = draw(st.integers(0, len(document["operands"]) - 1))
        one = document["operands"][index]
        cells = one["space"] == "tmem"
        if what == "start":
            stride = draw(
                st.sampled_from(
                    ["16@TLane", "32@TLane", "64@TLane", "1@TCol", "8@TCol", "64@TCol"] if cells else ["8", "64", "512", "4096"]
                )
            )
            document["operands"][index] = moved(one, draw(st.sampled_from([1, 2, 3, 4])), stride, draw(st.sampled_from(STARTS)))
        elif what == "end":
            end = draw(st.sampled_from([end for end in ENDS if cells or "@" not in end]))
            document["operands"][index] = {**one, "layout": f"{one['layout']} + {end}"}
        elif what == "fields":
            fields = list(document["parameters"]["b_descriptor"])
            fields[draw(st.integers(0, 2))] = draw(st.sampled_from(FIELDS))
            document["parameters"]["b_descriptor"] = fields
        elif what == "guard":
            document["guard"] = draw(st.sampled_from(GUARDS))
        elif what == "accum":
            document["parameters"]["accum"] = draw(st.sampled_from([True, "i == 0", "w == 0", "j // i == 0"]))
        elif what == "shape":
            document["parameters"]["instruction_shape"][draw(st.integers(0, 2))] = draw(st.sampled_from([8, 16, 32, 64, 96, 128, 256]))
        elif what == "mask":
            words = [draw(st.sampled_from([0, "i", "i - 1", (1 << 32) - 1, "1 << 31"])) for _ in range(draw(st.sampled_from([4, 8])))]
            document["parameters"]["disable_output_lane"] = words
        elif what == "base":
            document["operands"][index] = {**one, "align": draw(st.sampled_from([16, 128, 1024]))}
        elif what == "repeats":
            shape = list(one["shape"])
            shape[draw(st.integers(0, 1))] += 1
            document["operands"][index] = {**one, "shape": shape}
        elif what == "launch":
            document["launch"] = {
                "block": [draw(st.sampled_from([1, 32, 64, 128, 160]))],
                "cluster": draw(st.sampled_from([None, [2], [3], [2, 2]])),
            }
        else:
            document["parameters"]["pred"] = draw(st.sampled_from(["i == 0", "w == 0", "laneid == 0", "i < 0"]))
    return document, draw(st.sampled_from(["", "", *READINGS]))


@settings(max_examples=EXAMPLES or 40, deadline=None, derandomize=not EXAMPLES, suppress_health_check=list(HealthCheck))
@given(documents())
def test_prover_and_evaluator_agree(drawn: tuple[Json, str]) -> None:
    document, reading = drawn
    try:
        call = read_call(document)
    except InputError:
        return
    verdict, contract = check(call, reading=reading), find_contract(call.opcode, reading)
    assert isinstance(contract, Contract)
    assert verdict.status != "unproved", (verdict.summary(), document)
    answer = model_of(call, contract).check(POINTS)
    if answer.status != "too-large":
        ours = {one.id for one in verdict.failing}
        assert (answer.status, set(answer.failures)) == (verdict.status, ours), document
        if answer.status == "proved":
            assert set(answer.hazards) == {hazard.id for hazard in verdict.hazards}, document


@settings(max_examples=EXAMPLES // 6 or 8, deadline=None, derandomize=not EXAMPLES, suppress_health_check=list(HealthCheck))
@given(documents())
def test_an_audit_finds_nothing(drawn: tuple[Json, str]) -> None:
    document, reading = drawn
    try:
        check(read_call(document), audit=True, reading=reading)
    except InputError:
        return


def test_the_drawn_views_reach_every_outcome() -> None:
    found: list[str] = []

    @settings(max_examples=150, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(documents())
    def each(drawn: tuple[Any, str]) -> None:
        try:
            verdict = check(read_call(drawn[0]), reading=drawn[1])
        except InputError:
            return
        found.append(verdict.status)
        found.extend(clause.id for clause in verdict.failing)

    each()
    assert {"proved", "refuted", "a.image", "d.image", "d.footprint", "b.descriptor", "instruction_shape.shape"} <= set(found)
    assert found.count("proved") > 20
