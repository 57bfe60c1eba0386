"""Matrices read through a descriptor: every rule with a matrix that keeps it and one that breaks it, random ones against brute force, the cases' geometry."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import matrix_reader
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from known_cases import disagreements, every_case, failing
from matrix_reader import COLUMNS, DTYPES, ROWS, document, known, reads  # noqa: F401 (a fixture of every test here)

from tilecheck.contracts.descriptors import MODES
from tilecheck.document import read_call
from tilecheck.layout.view import View
from tilecheck.prove.check import check, clauses_of
from tilecheck.prove.premises import premises
from tilecheck.prove.tiers import Tiers
from tilecheck.report.hints import hint
from tilecheck.spec import Contract, find_contract, table
from tilecheck.spec.descriptor import Mode

Document = dict[str, Any]
POINTS = 60_000
N = {"name": "n", "min": 0, "max": 9}
RING = {
    "operand": {
        "shape": [4, 8, 4, 16],
        "view": [{"op": "slice", "begin": ["n % 4", 0, 0, 0], "extent": [1, None, None, None]}, {"op": "permute", "order": [0, 2, 1, 3]}],
    },
    "symbols": [N],
}
"""A stage of four, with four steps along K inside the span, repeats (1, 4)."""
ROW8 = "Swizzle(3,3,3) o S[(16,16):(64,1)]"


def ring(layout: str, fields: list[int], **more: Any) -> Document:
    return document(8, 16, 16, fields, layout, **copy.deepcopy(RING), **more)


LEGAL: dict[str, Document] = {
    "128B, K-major": document(16, 16, 16, [16, 1024, 3], ROW8),
    "64B, K-major": document(16, 16, 16, [16, 512, 2], "Swizzle(3,2,3) o S[(16,16):(32,1)]", align=512),
    "32B, K-major": document(16, 16, 16, [16, 256, 1], "Swizzle(3,1,3) o S[(16,16):(16,1)]", align=256),
    "unswizzled, K-major": document(16, 16, 16, [128, 256, 0], "S[(2,8,2,8):(128,8,64,1)]", align=16),
    "unswizzled, MN-major: the roles are exchanged": document(16, 16, 16, [256, 128, 0], "S[(2,8,2,8):(64,1,128,8)]", major="mn", align=16),
    "128B, MN-major": document(64, 16, 16, [16, 1024, 3], "Swizzle(3,3,3) o S[(64,16):(1,64)]", major="mn"),
    "128B, MN-major, two spans": document(128, 16, 16, [4096, 1024, 3], "Swizzle(3,3,3) o S[(2,64,16):(2048,1,64)]", major="mn"),
    "64B, MN-major": document(32, 16, 16, [16, 512, 2], "Swizzle(3,2,3) o S[(32,16):(1,32)]", major="mn"),
    "32B, MN-major": document(16, 16, 16, [16, 256, 1], "Swizzle(3,1,3) o S[(16,16):(1,16)]", major="mn"),
    "atoms of 32 bytes": document(32, 8, 32, [16, 512, 4], "Swizzle(3,2,2) o S[(32,8):(1,32)]", major="mn", align=512),
    "atoms of 32 bytes, gapped groups": document(32, 8, 32, [16, 1024, 4], "Swizzle(3,2,2) o S[(32,2,4):(1,256,32)]", major="mn", align=512),
    "four bits": document(8, 64, 4, [16, 1024, 3], "Swizzle(5,3,3) o S[(8,64):(256,1)]"),
    "eight bits, MN-major": document(16, 16, 8, [128, 256, 0], "S[(16,2,8):(1,128,16)]", major="mn", align=16),
    "tf32, K-major": document(8, 8, 32, [16, 1024, 3], "Swizzle(2,3,3) o S[(8,8):(32,1)]"),
    "a ldo that is not read": document(16, 16, 16, [4096, 1024, 3], ROW8),
    "gapped groups": document(16, 16, 16, [16, 4096, 3], "Swizzle(3,3,3) o S[(2,8,16):(2048,64,1)]"),
    "groups that are no multiple of the period": document(16, 16, 16, [16, 1040, 3], "Swizzle(3,3,3) o S[(2,8,16):(520,64,1)]"),
    "a start inside a line": document(16, 16, 16, [16, 1024, 3], ROW8 + " + 16"),
    "a start at the end of a line": document(16, 16, 16, [16, 1024, 3], ROW8 + " + 48"),
    "a start in a later line": document(8, 16, 16, [16, 1024, 3], "Swizzle(3,3,3) o S[(8,16):(64,1)] + 64"),
    "a base of known residue": document(8, 16, 16, [128, 0, 0], "S[(8,2,8):(8,64,1)]", align=8, operand={"base": {"mod": 16, "is": 0}}),
    "a stage of four, four steps along K": ring("Swizzle(3,3,3) o S[(4,8,4,16):(512,64,16,1)]", [16, 1024, 3]),
    "stages that are no multiple of the period": ring("Swizzle(3,3,3) o S[(4,8,4,16):(576,64,16,1)]", [16, 1024, 3]),
    "a thread of a warp": document(8, 16, 16, [128, 0, 0], "S[(8,2,8):(8,64,1)]", launch={"block": [32]}, guard="laneid == 0"),
    "a matrix for each warp": document(8, 16, 16, [16, 1024, 3], "Swizzle(3,3,3) o S[(2,8,16):(512,64,1)]", warp=True, scope="cta",
        launch={"block": [64]}, operand={"shape": [2, 8, 16]}),
    "a start that the warp chooses": document(8, 16, 16, [16, 1024, 3], "Swizzle(3,3,3) o S[(2,8,64):(512,64,1)]", warp=True, scope="warp",
        launch={"block": [64]}, operand={"shape": [2, 8, 64], "view": [{"op": "slice", "begin": ["warpid", 0, "16 * warpid"], "extent": [1, None, 16]},
                                                                       {"op": "reshape", "shape": [8, 16]}]}),
    "one group of lines read for all, as the view says": document(16, 16, 16, [16, 0, 3], "Swizzle(3,3,3) o S[(2,8,16):(0,64,1)]"),
    "a view of bytes": document(
        8, 16, 16, [16, 1024, 3], "Swizzle(4,3,3) o S[(8,32):(128,1)]",
        operand={"dtype": "uint8", "shape": [8, 32], "view": [{"op": "view", "dtype": "float16"}]},
    ),
    "a partial span with its whole block": document(8, 16, 16, [16, 1024, 3], "Swizzle(3,3,3) o S[(8,16):(1,64)]", major="mn"),
    "a false pred": document(8, 16, 16, [16, 2048, 3], "Swizzle(3,3,3) o S[(8,16):(64,1)] + 4", parameters={"pred": "1 == 0"}),
    "four rows with the block of eight": document(4, 8, 32, [64, 128, 0], "S[(4,2,4):(4,16,1)]", align=16, operand={"size_bytes": 192}),
    "a swizzle of the view that moves nothing": document(8, 8, 16, [16, 1024, 0], "Swizzle(3,3,3) o S[(8,8):(8,1)]"),
}  # fmt: skip

BROKEN: dict[str, tuple[str, Document]] = {
    "a sdo of 2^18": ("descriptor", document(16, 16, 16, [16, 1 << 18, 3], ROW8)),
    "a ldo of 2^18 that is not read": ("descriptor", document(16, 16, 16, [1 << 18, 1024, 3], ROW8)),
    "a ldo of 8 that is not read": ("descriptor", document(16, 16, 16, [8, 1024, 3], ROW8)),
    "a negative sdo": ("descriptor", document(16, 16, 16, [16, -1024, 3], ROW8)),
    "swizzle 5": ("descriptor", document(16, 16, 16, [16, 1024, 5], ROW8)),
    "swizzle 4 of half words": ("descriptor", document(16, 16, 16, [16, 1024, 4], ROW8)),
    "swizzle 4, K-major": ("descriptor", document(8, 8, 32, [16, 1024, 4], "Swizzle(3,2,2) o S[(8,8):(32,1)]")),
    "swizzle 3 of words, MN-major": ("descriptor", document(32, 8, 32, [16, 1024, 3], "Swizzle(2,3,3) o S[(32,8):(1,32)]", major="mn")),
    "four bits, MN-major": ("descriptor", document(32, 64, 4, [16, 1024, 3], "Swizzle(5,3,3) o S[(32,64):(1,256)]", major="mn")),
    "a row longer than its span": ("descriptor", document(8, 32, 16, [16, 256, 1], "Swizzle(3,1,3) o S[(8,32):(32,1)]", align=256)),
    "a ldo that makes no gapped words legal": ("descriptor", document(8, 16, 16, [64, 1024, 3], "Swizzle(3,3,3) o S[(8,2,8):(64,32,1)]")),
    "exchanged strides": ("descriptor", document(16, 16, 16, [256, 128, 0], "S[(2,8,2,8):(128,8,64,1)]", align=16)),
    "roles of K-major in MN-major": ("descriptor", document(16, 16, 16, [128, 256, 0], "S[(2,8,2,8):(64,1,128,8)]", major="mn", align=16)),
    "another swizzle than the view": ("descriptor", document(16, 16, 16, [16, 1024, 2], ROW8)),
    "a swizzle where the view has none": ("descriptor", document(16, 16, 16, [16, 1024, 3], "S[(16,16):(64,1)]")),
    "no swizzle where the view has one": ("descriptor", document(16, 8, 16, [16, 128, 0], "Swizzle(3,3,3) o S[(16,8):(8,1)]")),
    "a plain row-major tile": ("descriptor", document(8, 16, 16, [16, 128, 0], "S[(8,16):(128,1)]")),
    "another major": ("descriptor", document(16, 16, 16, [16, 1024, 3], ROW8, major="mn")),
    "a gap in the groups": ("descriptor", document(24, 16, 16, [16, 1024, 3], "Swizzle(3,3,3) o S[(24,16):(64,1)]",
        operand={"shape": [32, 16], "layout": "Swizzle(3,3,3) o S[(32,16):(64,1)]",
                 "view": [{"op": "reshape", "shape": [2, 16, 16]}, {"op": "slice", "begin": [0, 4, 0], "extent": [2, 12, 16]},
                          {"op": "reshape", "shape": [24, 16]}]})),
    "MN spans with the wrong ldo": ("descriptor", document(128, 16, 16, [1024, 1024, 3], "Swizzle(3,3,3) o S[(2,64,16):(2048,1,64)]", major="mn")),
    "a subtile that starts inside an atom": ("descriptor", document(96, 16, 16, [2048, 1024, 3], "Swizzle(3,3,3) o S[(3,64,16):(1024,1,64)]", major="mn",
        operand={"shape": [192, 16], "view": [{"op": "slice", "begin": [96, 0], "extent": [96, None]}]})),
    "a base offset": ("descriptor", document(8, 16, 16, [16, 1024, 3], "Swizzle(3,3,3) o S[(8,16):(64,1)]", align=None, operand={"base": {"mod": 1024, "is": 128}})),
    "a base aligned to less than the period": ("base.period", document(16, 16, 16, [16, 1024, 3], ROW8, align=512)),
    "512 bytes are the period of 64B and of atoms of 32 bytes": ("base.period", document(32, 8, 32, [16, 512, 4], "Swizzle(3,2,2) o S[(32,8):(1,32)]", major="mn", align=256)),
    "a start off 16 bytes": ("aligned", document(8, 8, 16, [16, 128, 0], "S[(8,8):(8,1)] + 4")),
    "a base off 16 bytes": ("aligned", document(8, 8, 16, [16, 128, 0], "S[(8,8):(8,1)]", align=8)),
    "repeats off 16 bytes": ("aligned", document(8, 8, 16, [16, 128, 0], "S[(3,8,8):(68,8,1)]", operand={"shape": [3, 8, 8]})),
    "four rows without the block of eight": ("backing", document(4, 8, 32, [64, 128, 0], "S[(4,2,4):(4,16,1)]", align=16)),
    "a partial span without its whole block": ("backing", document(8, 8, 16, [16, 1024, 3], "Swizzle(3,3,3) o S[(8,8):(1,64)]", major="mn",
        operand={"size_bytes": 1008, "layout": "Swizzle(3,3,3) o S[(8,8):(1,64)]"})),
    "four lines without the rest of their group": ("backing", document(8, 4, 16, [16, 1024, 3], "Swizzle(3,3,3) o S[(8,4):(1,64)]", major="mn")),
    "a block that is not backed in the second repeat only": ("backing", document(16, 8, 16, [512, 256, 1], "Swizzle(3,1,3) o S[(2,1,16,1,8):(520,264,1,128,16)]",
        major="mn", operand={"shape": [2, 16, 8]})),
    "a declared layout that does not fit": ("backing", document(16, 16, 16, [16, 1024, 3], ROW8, operand={"size_bytes": 1024})),
    "warps that share lines out of step": ("descriptor", document(8, 16, 16, [16, 1024, 3], "Swizzle(3,3,3) o S[(2,8,16):(40,64,1)]", warp=True,
        scope="cta", launch={"block": [64]}, operand={"shape": [2, 8, 16], "layout": "S[(2,8,16):(512,64,1)]"})),
    "atoms of 32 bytes with lines 64 bytes apart, as in a comment of CUTLASS (report C11)": ("descriptor",
        document(32, 8, 32, [16, 512, 4], "Swizzle(3,2,2) o S[(32,8):(1,16)]", major="mn", align=512)),
    "a start that the warp chooses off 16 bytes": ("aligned", document(8, 16, 16, [16, 1024, 3], "Swizzle(3,3,3) o S[(2,8,64):(512,64,1)]", warp=True,
        scope="warp", launch={"block": [64]}, operand={"shape": [2, 8, 64],
            "view": [{"op": "slice", "begin": ["warpid", 0, "4 * warpid"], "extent": [1, None, 16]}, {"op": "reshape", "shape": [8, 16]}]})),
    "a start that a lane chooses": ("participation", document(8, 16, 16, [16, 1024, 3], "Swizzle(3,3,3) o S[(8,64):(64,1)]", warp=True,
        scope="warp", operand={"shape": [8, 64], "view": [{"op": "slice", "begin": [0, "laneid % 2 * 16"], "extent": [None, 16]}]})),
    "another space": ("storage", document(16, 16, 16, [16, 1024, 3], ROW8, operand={"space": "global"})),
    "another width": ("storage", document(16, 16, 16, [16, 1024, 3], ROW8, operand={"dtype": "uint8"})),
    "another shape": ("shape", document(16, 16, 16, [16, 1024, 3], "Swizzle(3,3,3) o S[(16,8):(64,1)]", operand={"shape": [16, 8]})),
    "a stage beyond the ring": ("bounds", ring("Swizzle(3,3,3) o S[(4,8,4,16):(512,64,16,1)]", [16, 1024, 3]) | {"symbols": [N | {"min": -1}]}),
    "two entries": ("operands", document(16, 16, 16, [16, 1024], ROW8)),
    "a symbol in a field": ("operands", document(16, 16, 16, [16, "n", 3], ROW8, symbols=[N])),
    "a major there is not": ("operands", document(16, 16, 16, [16, 1024, 3], ROW8, major="n")),
    "no descriptor": ("operands", document(16, 16, 16, [16, 1024, 3], ROW8, parameters={"a_descriptor": None})),
    "owned by threads": ("owner", document(8, 16, 16, [128, 0, 0], "S[(8,2,8):(8,64,1)] + 1@laneid")),
}  # fmt: skip
BROKEN["a stage beyond the ring"][1]["operands"][0]["view"][0]["begin"][0] = "n"


@pytest.mark.parametrize("name", LEGAL)
def test_what_keeps_the_rules_is_proved(name):
    call = read_call(LEGAL[name])
    verdict = check(call)
    assert verdict.status == ("proved"), verdict.summary()
    assert disagreements(call, verdict, POINTS) in ([], None)


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_a_rule_is_refuted_by_its_clause(name):
    clause, form = BROKEN[name]
    call = read_call(form)
    verdict = check(call)
    assert verdict.status == "refuted", verdict.summary()
    assert any(one == clause or one.endswith("." + clause) for one in failing(verdict)), sorted(failing(verdict))
    assert disagreements(call, verdict, POINTS) in ([], None)


@pytest.mark.parametrize("name", [name for name in LEGAL if "pred" not in name])
def test_an_audit_agrees(name):
    assert check(read_call(LEGAL[name]), audit=True).status == "proved"


# --- what a counterexample says ---------------------------------------------------------------------------------------


def sentence(form: Document) -> str:
    verdict = check(read_call(form))
    example = next(c for c in verdict.failing if c.id == "a.descriptor").counterexample
    assert example is not None
    return example.sentence


def test_a_counterexample_names_row_and_column_and_both_addresses():
    text = sentence(document(16, 16, 16, [16, 1056, 3], ROW8))
    assert "(row 8, column 0)" in text
    assert "byte 1040 (1056 before the XOR)" not in text  # byte 1056 lies in line 8: nothing is moved there
    assert "read at byte 1056" in text
    assert "has it at byte 1024" in text
    shifted = sentence(document(16, 16, 16, [16, 1024, 3], "Swizzle(3,3,3) o S[(16,16):(72,1)]"))
    assert "(row 1, column 0) is read at byte 144 (128 before the XOR), the view has it at byte 128 (144 before the XOR)" in shifted


@pytest.mark.parametrize(
    ("words", "form"),
    [
        ("sdo_bytes 1024 would read it there", document(16, 16, 16, [16, 2048, 3], ROW8)),
        ("ldo_bytes 2048 would read it there", document(16, 16, 16, [128, 128, 0], "S[(2,8,2,8):(64,8,1024,1)]")),
        ("ldo_bytes and sdo_bytes exchanged would read it there", BROKEN["exchanged strides"][1]),
        ("swizzle 3, k-major, would read it there", BROKEN["another swizzle than the view"][1]),
        ("no change of a single field makes the instruction read this view", BROKEN["a plain row-major tile"][1]),
    ],
)
def test_a_counterexample_names_the_field_that_explains_it(words, form):
    assert words in sentence(form)


def test_a_field_that_explains_it_is_right_for_the_whole_matrix():
    form = document(16, 16, 16, [16, 2048, 3], ROW8)
    form["parameters"]["a_descriptor"][1] = 1024
    assert check(read_call(form)).status == "proved"


# --- the geometry of the cases ----------------------------------------------------------------------------------------

MATRICES = {"A": "a_descriptor", "B": "b_descriptor", "SM": "descriptor"}
DECIDED = ("descriptor", "base.period", "aligned", "backing")
"""Clauses about one matrix; other rules of the cases are those of the instruction around it."""


@cache
def geometries() -> dict[str, tuple[str, str | None, Document]]:
    """Each matrix of a case that names a descriptor, alone: (expect, clause, document) by the id of the case and the operand."""
    bits = {"float16": 16, "bfloat16": 16, "float32": 32, "uint32": 32, "float8_e5m2": 8, "float8_e4m3fn": 8}
    found: dict[str, tuple[str, str | None, Document]] = {}
    for case in every_case():
        given = case.document.get("parameters") or {}
        views = read_call(case.document).operands if set(MATRICES.values()) & given.keys() else ()
        for operand, view in zip(case.document["operands"], views, strict=False):
            field = MATRICES.get(operand["name"])
            if field not in given or operand["space"] != "shared" or operand["dtype"] not in bits or case.clause in {"storage", "opcode"}:
                continue
            assert isinstance(view, View)
            rows, columns = view.shape[-2:]
            assert isinstance(rows, int)
            assert isinstance(columns, int)
            kept = {key: case.document[key] for key in ("launch", "symbols", "assume", "guard") if case.document.get(key) is not None}
            major = given.get(f"{operand['name'].lower()}_major", "k")
            form = document(
                rows, columns, bits[operand["dtype"]], given[field], operand["layout"], major=major, align=None, operand=operand, **kept
            )
            found[f"{case.id}:{operand['name']}"] = (case.expect, case.clause, form)
    return found


def known_shape(form: Document) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        known(patch)
        return hasattr(find_contract(form["opcode"]), "operands")


def test_every_matrix_of_a_legal_case_is_legal_alone():
    legal = {name: form for name, (expect, _, form) in geometries().items() if expect == "proved"}
    assert len(legal) > 100
    for name, form in legal.items():
        verdict = check(read_call(form))
        assert verdict.status == "proved", f"{name}: {verdict.summary()}"


def test_a_case_that_a_matrix_refutes_is_refuted_by_the_clause_of_that_matrix():
    refuted: dict[str, list[tuple[str, Document]]] = {}
    for name, (expect, clause, form) in geometries().items():
        if expect == "refuted" and clause in DECIDED and known_shape(form):
            refuted.setdefault(name.partition(":")[0], []).append((clause, form))
    assert len(refuted) > 35
    assert {name for name in refuted if name.startswith("desc-")} == {
        "desc-mma-sdo-range", "desc-mma-swz5", "desc-mma-swz4-f16", "desc-mma-unswz-k-swapped", "desc-mma-unswz-mn-swapped", "desc-mma-mn-swz-ldo",
        "desc-cp-ldo-wrong",
    }  # fmt: skip
    for name, matrices in refuted.items():
        clauses = {one for _, form in matrices for one in failing(check(read_call(form)))}
        assert f"a.{matrices[0][0]}" in clauses, name


# --- random ones ------------------------------------------------------------------------------------------------------


def factors(mode: Mode, bits: int, rows: int, columns: int, ldo: int, sdo: int) -> list[list[list[int]]]:
    """Extents and strides (in elements) of rows and of columns, written down anew from the table of the page."""
    lines, inner = (rows, columns) if mode.major == "k" else (columns, rows)
    span = {0: 16, 1: 32, 2: 64, 3: 128, 4: 128}[mode.swizzle]
    group = 4 if mode.swizzle == 4 else 8
    next_lines, next_span = (ldo, sdo) if mode.major == "mn" and mode.swizzle == 0 else (sdo, ldo)
    each = span * 8 // bits
    line = [[-(-lines // group), min(group, lines)], [next_lines * 8 // bits, span * 8 // bits]]
    along = [[-(-inner // each), min(each, inner)], [next_span * 8 // bits, 1]]
    return [line, along] if mode.major == "k" else [along, line]


def swizzle_text(mode: Mode, bits: int) -> str:
    if mode.swizzle == 0:
        return ""
    keeps, length, shift = (16, {1: 1, 2: 2, 3: 3}[mode.swizzle], 3) if mode.swizzle < 4 else (32, 2, 2)
    return f"Swizzle({(keeps * 8 // bits).bit_length() - 1},{length},{shift}) o "


def random_matrix(rng: random.Random) -> Document:
    """Mostly the layout that the fields describe, with something off in each second one."""
    mode = rng.choice(MODES)
    bits = rng.choice(mode.widths)
    line = rng.choice((8, 16)) if mode.swizzle != 4 else rng.choice((4, 8))
    inner = mode.elements(bits) * rng.choice((1, 2) if mode.next_span else (1,)) if mode.major == "mn" or not mode.swizzle else 256 // bits
    rows, columns = (line, inner) if mode.major == "k" else (inner, line)
    if rows not in {4, 8, 16, 32, 64, 128} or columns not in {4, 8, 16, 32, 64}:
        return random_matrix(rng)
    ldo, sdo = (rng.choice((128, 256, 1024, 1040, 512, 2048, 64)) for _ in range(2))
    parts = factors(mode, bits, rows, columns, ldo, sdo)
    fields = [ldo, sdo, mode.swizzle]
    major = mode.major
    fault = rng.random()
    if fault < 0.12:
        fields[rng.randrange(2)] = rng.choice((16, 32, 144, 2064, 1 << 18, 24))
    elif fault < 0.2:
        fields[2] = rng.randrange(6)
    elif fault < 0.25:
        major = "mn" if major == "k" else "k"
    elif fault < 0.35:
        axis = rng.choice(parts)
        axis[1][rng.randrange(2)] += rng.choice((1, 8, -8, 64))
    extents = ",".join(str(e) for part in parts for e in part[0])
    strides = ",".join(str(max(0, s)) for part in parts for s in part[1])
    start = rng.choice((0, 0, 128, 256, 512, 1024, 4096)) // bits * (1 if rng.random() < 0.9 else 3)
    layout = f"{swizzle_text(mode, bits)}S[({extents}):({strides})]" + (f" + {start}" if start else "")
    operand: Document = {"align": rng.choice((1024, 1024, 1024, 512, 256, 128, 16, 8))}
    if rng.random() < 0.15:
        operand["base"] = {"mod": 1024, "is": rng.choice((0, 128, 256, 16, 8))}
        operand["align"] = 1
    if rng.random() < 0.2:
        operand["size_bytes"] = rng.choice((1024, 2048, 4096, 8192, 16384))
    if rng.random() < 0.3:
        layout = layout.replace(
            f"S[({extents}):({strides})", f"S[(2,{extents}):({rng.choice((4096, 8192, 4104, 520)) * 16 // bits},{strides})"
        )
        operand |= {"shape": [2, rows, columns]}
        if rng.random() < 0.6:
            operand["view"] = [{"op": "slice", "begin": [rng.choice(("n % 2", "n // 4", "n & 1", 1)), 0, 0], "extent": [1, None, None]}]
    return document(rows, columns, bits, fields, layout, major=major, operand=operand, symbols=[{"name": "n", "min": 0, "max": 5}])


@given(rng=st.randoms(use_true_random=False))
@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_prover_and_evaluator_agree_on_random_matrices(rng):
    form = random_matrix(rng)
    call = read_call(form)
    verdict = check(call)
    assert verdict.status != "unproved", json.dumps(form)
    assert disagreements(call, verdict, POINTS) in ([], None), json.dumps(form)


def test_random_matrices_are_legal_and_illegal():
    rng = random.Random("matrices")
    seen = [check(read_call(random_matrix(rng))) for _ in range(60)]
    assert {verdict.status for verdict in seen} == {"proved", "refuted"}
    assert {clause for verdict in seen for clause in failing(verdict)} >= {"a.descriptor", "a.aligned", "a.base.period", "a.backing"}


def test_what_the_canonical_form_proves_the_other_tiers_prove_too():
    rng, proved = random.Random("tiers"), 0
    tiers = Tiers((-(1 << 63), (1 << 63) - 1))
    for _ in range(60):
        call = read_call(random_matrix(rng))
        contract = find_contract(call.opcode)
        assert contract is not None
        for clause in clauses_of(call, contract):  # pyright: ignore[reportArgumentType]
            if clause.proof is not None and clause.id in {"a.descriptor", "a.aligned", "a.backing"}:
                proved += 1
                assert tiers.decide(clause.obligation).holds is True, f"{clause.id} of {json.dumps(call.to_json())}"
    assert proved > 40


def test_the_width_of_elements_changes_nothing_in_bytes():
    assert set(DTYPES) == {bits for mode in MODES for bits in mode.widths}


# --- what would make it legal -----------------------------------------------------------------------------------------


def advised(form: Document, clause: str) -> str:
    call = read_call(form)
    contract = find_contract(call.opcode)
    assert isinstance(contract, Contract)
    failed = next(one for one in check(call).failing if one.id == clause)
    return hint(failed, call, contract) or ""


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, (clause, form) in BROKEN.items()
        if clause == "descriptor" and len(form["operands"][0]["shape"]) == 2 and "view" not in form["operands"][0]
    ],
)
def test_the_layout_that_is_advised_is_the_one_that_is_read(name):
    form = copy.deepcopy(BROKEN[name][1])
    text = advised(form, "a.descriptor")
    found = re.search(r"lies as (.*); name", text)
    if found is None:  # a field is wrong in itself
        example = next(c for c in check(read_call(form)).failing if c.id == "a.descriptor").counterexample
        assert example is not None
        assert example.warp is None
        return
    operand = form["operands"][0]
    operand["layout"], operand["align"] = found[1], 1024
    operand.pop("base", None)
    assert check(read_call(form)).status == "proved"


def test_an_alignment_is_a_premise_where_the_period_is_not_known():
    call = read_call(BROKEN["a base aligned to less than the period"][1])
    found = [str(fact) for premise in premises(call) for fact in premise.facts]
    assert any("1024" in fact for fact in found), found


def test_a_width_of_lines_is_no_premise():
    assert premises(read_call(BROKEN["a plain row-major tile"][1])) == ()


# --- mutants ----------------------------------------------------------------------------------------------------------


def mutants(mode: Mode) -> Iterator[tuple[str, Mode]]:
    other = {"ldo_bytes": "sdo_bytes", "sdo_bytes": "ldo_bytes"}
    yield "span", replace(mode, span_bytes=mode.span_bytes * 2)
    yield "lines", replace(mode, lines=12 - mode.lines)
    yield "next lines", replace(mode, next_lines=other[mode.next_lines])
    if mode.next_span is not None:
        yield "next span", replace(mode, next_span=other[mode.next_span])
    for shift, mask in mode.xors:
        yield "no XOR", replace(mode, xors=())
        yield "shift", replace(mode, xors=((shift + 1, mask),))
        yield "mask", replace(mode, xors=((shift, mask ^ (mask & -mask)),))
        yield "period", replace(mode, period_bytes=2 * mode.period_bytes)


def legal_of(mode: Mode) -> list[Document]:
    """A matrix of each width with gapped strides, on a base of exactly the period."""
    found: list[Document] = []
    for bits in mode.widths:
        inner = mode.elements(bits) * (2 if mode.next_span else 1)
        rows, columns = (16, inner) if mode.major == "k" else (inner, 16)
        if rows in ROWS and columns in COLUMNS:
            parts = factors(mode, bits, rows, columns, 2064, 1040)
            extents, strides = (",".join(str(one) for part in parts for one in part[k]) for k in (0, 1))
            layout = f"{swizzle_text(mode, bits)}S[({extents}):({strides})]"
            period = {0: 16, 1: 256, 2: 512, 3: 1024, 4: 512}[mode.swizzle]
            found.append(
                document(
                    rows, columns, bits, [2064, 1040, mode.swizzle], layout, major=mode.major, align=period, operand={"size_bytes": 1 << 17}
                )
            )
    return found


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: f"{mode.major}-{mode.swizzle}")
def test_a_wrong_entry_of_a_layout_refutes_a_legal_matrix(mode, monkeypatch):
    calls = [read_call(form) for form in legal_of(mode)]
    assert calls
    assert {check(call).status for call in calls} == {"proved"}
    for what, changed in mutants(mode):
        monkeypatch.setattr(matrix_reader, "MODES", tuple(changed if one is mode else one for one in MODES))
        monkeypatch.setattr(table, "_contracts", {})
        assert "refuted" in {check(call).status for call in calls}, what
