"""tcgen05.cp on drawn views: prover and evaluator say the same of each, clause by clause; some are audited by SMT, too."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.prove.tmem_copy_cases import changed
from tests.simulator.forms import COPIES, PACKINGS, copy
from tilecheck import check
from tilecheck.document import read_call
from tilecheck.errors import InputError
from tilecheck.prove.replay import model_of
from tilecheck.spec import Contract, find_contract

POINTS = 300_000
GUARDS = (None, "tx == 0", "elected", "warpid < 2 and laneid == n", "tx % 64 == n", True)
TARGETS = (
    " + 4@TCol",
    " + 2@TCol",
    " + 510@TCol",
    " + 1@TLane",
    " + 32@TLane + 8@TCol",
    " + R[2:32@TLane]",
    " + R[2:64@TLane]",
    " + R[2:8@TCol]",
    " + R[1:5@TLane]",
)
SOURCES = ("S[({r},{w}):({w},1)]", "S[({r},{w}):(40,1)]", "Swizzle(2,3,3) o S[({r},{w}):(32,1)]", "Swizzle(2,1,3) o S[({r},{w}):(8,1)] + 4")


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A legal copy with up to three things about it changed."""
    shape, swizzle = draw(st.sampled_from(sorted(COPIES))), draw(st.integers(0, 3))
    document = copy(shape, swizzle, draw(st.sampled_from(PACKINGS)), group=draw(st.sampled_from([1, 1, 1, 2])))
    rows, words = document["operands"][0]["shape"]
    for what in draw(
        st.lists(st.sampled_from(["fields", "target", "source", "guard", "start", "backing", "base", "stage"]), max_size=3, unique=True)
    ):
        if what == "fields":
            fields = list(document["parameters"]["descriptor"])
            fields[draw(st.integers(0, 2))] = draw(st.sampled_from([0, 1, 2, 3, 4, 16, 64, 128, 256, 512, 1024, 4096, 24]))
            document = changed(document, parameters={"descriptor": fields})
        elif what == "target":
            layout = document["operands"][0]["layout"].replace(" + 12@TCol", "")
            document = changed(document, target={"layout": layout + draw(st.sampled_from(TARGETS))})
        elif what == "source":
            layout = draw(st.sampled_from(SOURCES)).format(r=rows, w=words)
            document = changed(document, source={"shape": [rows, words], "layout": layout, "view": []})
        elif what == "guard":
            symbols = [{"name": "n", "min": 0, "max": 2, "varies": draw(st.sampled_from(["grid", "cta", "warp"]))}]
            document = changed(document, guard=draw(st.sampled_from(GUARDS)), symbols=symbols)
        elif what == "start":
            view = [{"op": "slice", "begin": [0, draw(st.sampled_from(["4*k", "k", "cbx", 0]))], "extent": [None, words]}]
            layout = document["operands"][0]["layout"]
            if f",{words}):" in layout or f",{words})" in layout:
                wide = layout.replace(f",{words}):", f",{words + 8}):")
                symbols = [*document["symbols"], {"name": "k", "min": 0, "max": 3}]
                document = changed(document, target={"shape": [rows, words + 8], "layout": wide, "view": view}, symbols=symbols)
        elif what == "backing":
            document = changed(document, source={"size_bytes": draw(st.sampled_from([256, 384, 512, 2048, 4096, 16384, 1 << 18]))})
        elif what == "base":
            document = changed(document, source={"align": draw(st.sampled_from([16, 128, 512, 1024]))})
        else:
            document = changed(document, source={"base": {"mod": 1024, "is": draw(st.sampled_from([0, 16, 256, 520]))}, "align": 8})
    return document


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(documents())
def test_prover_and_evaluator_agree(document: dict[str, Any]) -> None:
    try:
        call = read_call(document)
    except InputError:
        return
    verdict, contract = check(call), find_contract(call.opcode)
    assert isinstance(contract, Contract)
    answer = model_of(call, contract).check(POINTS)
    if answer.status != "too-large":
        ours = {one.id for one in verdict.failing}
        assert (answer.status, set(answer.failures)) == (verdict.status, ours), document
        if answer.status == "proved":
            assert set(answer.hazards) == {hazard.id for hazard in verdict.hazards}, document


@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(documents())
def test_an_audit_finds_nothing(document: dict[str, Any]) -> None:
    try:
        check(read_call(document), audit=True)
    except InputError:
        return
