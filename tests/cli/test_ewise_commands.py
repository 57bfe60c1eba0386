"""Scalar compositions on the command line: exit statuses, places of errors, reports, predictions, PTX, what `explain` says."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.scalar.calls import document, registers
from tilecheck.cli import main
from tilecheck.schema import schema

SILU: dict[str, Any] = document((("x", "float32"), ("scale", "float32")), "float32", "let y = x / (1 + exp(-x)) in y * scale", 2, id="silu")
CALL = jsonschema.Draft202012Validator(schema("call"))


def run(folder: Path, found: object, *arguments: str, command: str = "check") -> int:
    path = folder / "call.json"
    path.write_text(json.dumps(found), encoding="utf-8")
    return main([command, str(path), *arguments])


def with_function(**change: object) -> dict[str, Any]:
    found = copy.deepcopy(SILU)
    found["function"] |= change
    return found


@pytest.mark.parametrize(
    ("found", "place", "says", "structural"),
    [
        (with_function(body="x +"), "$.function.body", "column 4 of 'x +': found the end", False),
        (with_function(body="x * scale > 0"), "$.function.body", "found a condition, expected the result, float32", False),
        (with_function(body=3), "$.function.body", "found 3, expected text", True),
        (with_function(params=[["x", "f32"]]), "$.function.params[0][1]", "found 'f32', expected one of float16", True),
        (with_function(params=[["x", "float32"], ["let", "float32"]]), "$.function.params[1][0]", "a word of the language", False),
        (with_function(params={}), "$.function.params", "found an object, expected a list of pairs", True),
        (with_function(result="float"), "$.function.result", "found 'float', expected one of", True),
        (with_function(name="f"), "$.function", "found the key 'name', expected one of params, result, body", True),
        ({**SILU, "function": "x"}, "$.function", 'found "x", expected an object with params, result and body', True),
        ({**SILU, "function": {"params": []}}, "$.function", "the key 'result' is missing", True),
    ],
)
def test_a_function_that_does_not_read_is_exit_status_2(found, place, says, structural, tmp_path, capsys):
    assert run(tmp_path, found) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert place in err
    assert says in err
    assert CALL.is_valid(found) is not structural


def test_the_schema_takes_what_is_read(tmp_path, capsys):
    for found in (SILU, {**SILU, "function": None, "opcode": "add.f32"}):
        assert CALL.is_valid(found)
        assert run(tmp_path, found) in {0, 1}, capsys.readouterr().err


def test_a_proved_composition_is_reported_in_every_format(tmp_path, capsys):
    for form in ("text", "json", "jsonl", "html"):
        assert run(tmp_path, SILU, "--format", form, "--audit") == 0
        assert capsys.readouterr().out
    assert run(tmp_path, SILU) == 0
    assert "2 instructions, 27 clauses by structure" in capsys.readouterr().out


def test_a_refuted_composition_names_the_clause_the_thread_and_the_element(tmp_path, capsys):
    found = copy.deepcopy(SILU)
    found["operands"][1]["layout"] = "S[(32,2):(-1@laneid,1)] + 31@laneid"
    for form in ("text", "html", "json"):
        assert run(tmp_path, found, "--format", form) == 1
        out = capsys.readouterr().out
        assert "x.owner" in out
    assert run(tmp_path, found) == 1
    assert "lane 0" in capsys.readouterr().out


def test_html_shows_the_function_and_the_operands(tmp_path, capsys):
    assert run(tmp_path, SILU, "--format", "html") == 0
    out = capsys.readouterr().out
    assert "let y = x / (1 + exp(-x)) in y * scale" in out
    assert "(x: float32, scale: float32) -&gt; float32" in out


def test_premises_are_found_for_a_start(tmp_path, capsys):
    found = copy.deepcopy(SILU)
    found["symbols"] = [{"name": "n", "min": 0, "max": 9}]
    found["operands"][1] = registers("X", "float32", 4) | {"view": [{"op": "slice", "begin": [0, "n"], "extent": [32, 2]}]}
    assert run(tmp_path, found, command="premises") == 0
    assert "n <= 2" in capsys.readouterr().out


def test_certificates_are_written_for_a_composition(tmp_path, capsys):
    found = copy.deepcopy(SILU)
    found["symbols"] = [{"name": "n", "min": 0, "max": 2}]
    found["operands"][1] = registers("X", "float32", 4) | {"view": [{"op": "slice", "begin": [0, "n"], "extent": [32, 2]}]}
    assert run(tmp_path, found, "--certificates", str(tmp_path / "proofs")) == 0
    capsys.readouterr()
    assert main(["recheck", str(tmp_path / "proofs"), "--solver", "z3"]) == 0


def test_the_prediction_says_what_each_element_is_computed_from(tmp_path, capsys):
    found = copy.deepcopy(SILU)
    found["operands"][2] = {"name": "scale", "value": 0.5}
    assert run(tmp_path, found, command="predict") == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first == "D cta 0 warp 0 lane 0 slot 0 bits 0+32 = f32 ewise(f32 X lane 0 slot 0 bit 0, f32 0.5)"
    assert run(tmp_path, found, "--format", "json", command="predict") == 0
    rows = json.loads(capsys.readouterr().out)["registers"]
    assert rows[3][7]["entries"][0]["of"] == [["f32", ["X", [0, 0, 1, 1], 0]], ["f32", 0.5]]


def test_ptx_is_written_whole_or_as_a_snippet(tmp_path, capsys):
    assert run(tmp_path, SILU, command="emit") == 0
    snippet = capsys.readouterr().out
    assert snippet.count("ex2.approx.f32") == 2
    assert run(tmp_path, SILU, "--kernel", "--arch", "sm_90a", command="emit") == 0
    assert ".target sm_90a" in capsys.readouterr().out


def test_explain_lists_the_operations_with_their_ptx_and_errors(capsys):
    assert main(["explain", "ewise"]) == 0
    out = capsys.readouterr().out
    for text in ("one element: views end in no suffix", "exp2(a)", "ex2.approx.T $d, $a;", "error 2^-22 relative", "from sm_90 (bfloat16)"):
        assert text in out
    assert main(["explain", "ewise", "--format", "json"]) == 0
    loaded = json.loads(capsys.readouterr().out)
    assert {one["op"] for one in loaded["contract"]["scalar"]["definitions"]} == {"exp", "log", "div", "sqrt", "floordiv", "mod"}


def test_pictures_of_its_operands_are_drawn(tmp_path, capsys):
    assert run(tmp_path, SILU, "--format", "html", command="draw") == 0
    assert "<svg" in capsys.readouterr().out
