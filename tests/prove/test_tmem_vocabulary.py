"""What the vocabulary of tensor memory says beside what ld and st use of it: replicas, lanes that are absolute, cells of one thread, overlap with a source."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tilecheck.document import read_call
from tilecheck.prove.check import check
from tilecheck.prove.verdict import Verdict
from tilecheck.spec import AtomAxis, Contract, Move, TensorMemory, table
from tilecheck.symbolic import var

ROW, COLUMN = var("row"), var("column")
ATOM = (AtomAxis("row", 8), AtomAxis("column", 4))
D = TensorMemory("d", 32, ROW + 64 * (COLUMN // 2), COLUMN % 2, write=True, atom=ATOM, first_lanes=(0, 16), alone=True)
A = TensorMemory("a", 16, ROW, COLUMN, write=False, atom=ATOM)
SCALES = TensorMemory("s", 8, ROW % 4, 4 * (ROW // 4) + COLUMN, write=False, atom=ATOM, first_bits=8, replicas=((4, 32),))
COPIED = TensorMemory("t", 32, ROW, COLUMN, write=True, atom=ATOM, first_bits=128, replicas=((2, 64),))
BANKED = "S[(8,2,2):(1@TLane,64@TLane,1@TCol)]"


def contract(*operands: TensorMemory) -> Contract:
    return Contract("toy.tmem", "toy", "sm_100f", "none", "thread", (), operands, (), Move("", "", source=()), "{opcode};", single=True)


def operand(name: str, dtype: str, layout: str, shape: tuple[int, ...] = (8, 4), **more: Any) -> dict[str, Any]:
    return {"name": name, "space": "tmem", "dtype": dtype, "shape": list(shape), "layout": layout, **more}


@pytest.fixture
def verdict(monkeypatch):
    def made(specs: tuple[TensorMemory, ...], *operands: dict[str, Any], scope: str = "thread", block: int = 1, **more: Any) -> Verdict:
        monkeypatch.setitem(table._contracts, ("toy.tmem", ""), contract(*specs))  # pyright: ignore[reportPrivateUsage]
        document = {"schema": "tilecheck/call@1", "id": "t", "opcode": "toy.tmem", "scope": scope, "launch": {"block": [block]}}
        return check(read_call({**document, "operands": list(operands), "parameters": {}, **more}), audit=True)

    return made


def failing(found: Verdict) -> set[str]:
    return {clause.id for clause in found.failing}


@pytest.mark.parametrize(
    ("layout", "clauses"),
    [
        (BANKED, set()),
        (f"{BANKED} + 16@TLane + 7@TCol", set()),
        (f"{BANKED} + 8@TLane", {"d.image"}),
        ("S[(8,4):(1@TLane,1@TCol)]", {"d.image"}),
        ("S[(8,2,2):(1@TLane,32@TLane,1@TCol)]", {"d.image"}),
        (f"{BANKED} + 64@TLane", {"d.image", "d.footprint", "d.backing"}),
        (f"{BANKED} + R[2:32@TLane]", {"d.replica"}),
    ],
)
def test_halves_of_columns_lie_in_two_banks(verdict, layout, clauses):
    found = verdict((D,), operand("D", "float32", layout))
    assert failing(found) == clauses, found.summary()


@pytest.mark.parametrize(
    ("layout", "clauses"),
    [
        ("S[(2,4,4):(4@TCol,1@TLane,1@TCol)] + R[4:32@TLane]", set()),
        ("S[(2,4,4):(4@TCol,1@TLane,1@TCol)] + R[(2,2):(64@TLane,32@TLane)] + 3@TCol", set()),
        ("S[(2,4,4):(4@TCol,1@TLane,1@TCol)]", {"s.replica"}),
        ("S[(2,4,4):(4@TCol,1@TLane,1@TCol)] + R[2:64@TLane]", {"s.replica"}),
        ("S[(2,4,4):(4@TCol,1@TLane,1@TCol)] + R[4:32@TLane] + 28@TLane", {"s.image"}),
        ("S[(2,4,4):(4@TCol,1@TLane,1@TCol)] + R[4:32@TLane] + 32@TLane", {"s.image", "s.footprint", "s.backing"}),
        ("S[(2,4,4):(4@TCol,1@TLane,1@TCol)] + R[4:32@TLane] + 2041@TCol", {"s.footprint", "s.backing"}),
        ("S[(2,4,4):(8@TCol,1@TLane,1@TCol)] + R[4:32@TLane]", {"s.image"}),
    ],
)
def test_scales_are_bytes_with_four_copies(verdict, layout, clauses):
    found = verdict((SCALES,), operand("S", "float8_e8m0fnu", layout))
    assert failing(found) == clauses, found.summary()


@pytest.mark.parametrize(("start", "clauses"), [(0, set()), (4, set()), (6, {"t.image"})])
def test_a_copy_starts_at_a_multiple_of_four_columns(verdict, start, clauses):
    found = verdict((COPIED,), operand("T", "uint32", f"S[(8,4):(1@TLane,1@TCol)] + R[2:64@TLane] + {start}@TCol"))
    assert failing(found) == clauses


def test_packed_elements_start_at_a_cell(verdict):
    for start, clauses in ((0, set[str]()), (6, set[str]()), (1, {"a.image"})):
        assert failing(verdict((A,), operand("A", "float16", f"S[(8,4):(1@TLane,1@TCol)] + {start}@TCol"))) == clauses


@pytest.mark.parametrize("scope", ["warp", "cta"])
@pytest.mark.parametrize(("step", "clauses"), [(0, {"d.distinct"}), (1, {"d.distinct"}), (2, set()), (3, set())])
def test_two_threads_of_an_instance_write_cells_of_their_own(verdict, scope, step, clauses):
    shape = (4, 8, 4) if scope == "warp" else (1, 4, 8, 4)
    own = operand("D", "float32", f"S[(4,8,2,2):({step}@TCol,1@TLane,64@TLane,1@TCol)]", shape)
    found = verdict((D,), own, scope=scope, block=4)
    assert failing(found) == clauses
    if clauses:
        example = found.failing[0].counterexample
        assert example is not None
        assert "lane 1 of warp 0 writes too" in example.sentence or "lane 0 of warp 0 writes too" in example.sentence


def test_at_thread_scope_many_issuers_are_a_hazard(verdict):
    found = verdict((D,), operand("D", "float32", BANKED), block=2)
    assert (failing(found), {hazard.id for hazard in found.hazards}) == (set(), {"memory.race", "issue.many"})


def test_a_start_by_the_lane_keeps_threads_apart(verdict):
    view = [{"op": "slice", "begin": [0, "{} * laneid"], "extent": [8, 4]}]
    wide = "S[(8,32):(1@TLane,1@TCol)]"
    plain = replace(D, lane=ROW, column=COLUMN)
    for step, clauses in ((4, set[str]()), (2, {"d.distinct"})):
        view[0]["begin"] = [0, f"{step} * laneid"]
        layout = operand("D", "float32", wide, (8, 32), view=[*view, {"op": "broadcast", "shape": [2, 8, 4]}])
        assert failing(verdict((plain,), layout, scope="warp", block=2)) == clauses


@pytest.mark.parametrize(("start", "hazards"), [(0, {"alias"}), (6, {"alias"}), (8, set()), (100, set())])
def test_a_source_in_the_cells_of_the_destination_is_an_alias(verdict, start, hazards):
    plain = replace(D, lane=ROW, column=COLUMN, alone=False)
    d = operand("D", "float32", "S[(8,4):(1@TLane,1@TCol)]", tensor="T")
    a = operand("A", "float16", f"S[(8,4):(1@TLane,1@TCol)] + {start}@TCol", tensor="T")
    found = verdict((plain, A), d, a)
    assert (failing(found), {hazard.id for hazard in found.hazards}) == (set(), hazards)


def test_a_copy_of_a_source_is_an_alias_too(verdict):
    plain = replace(D, lane=ROW, column=COLUMN, alone=False, first_lanes=())
    scales = operand("S", "float8_e8m0fnu", "S[(2,4,4):(4@TCol,1@TLane,1@TCol)] + R[4:32@TLane]", tensor="T")
    for lane, hazards in ((32, {"alias"}), (40, set[str]())):
        d = operand("D", "float32", f"S[(8,4):(1@TLane,1@TCol)] + {lane}@TLane", tensor="T")
        assert {hazard.id for hazard in verdict((plain, SCALES), d, scales).hazards} == hazards


def test_copies_of_two_repeats_meet(verdict):
    for apart, hazards in ((64, {"memory.race"}), (8, set[str]())):
        shape = (2, 8, 4)
        written = operand("T", "uint32", f"S[(2,8,4):({apart}@TLane,1@TLane,1@TCol)] + R[2:64@TLane]", shape)
        spec = replace(COPIED, first_lanes=())
        found = verdict((spec,), written)
        assert {hazard.id for hazard in found.hazards} == hazards or "t.footprint" in failing(found)
