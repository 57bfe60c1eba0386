"""Malformed documents end in exit status 2 with a message that names the place, and never in a traceback or a hang."""

from __future__ import annotations

import json
import time
from pathlib import Path

import jsonschema
import malformed_documents as malformed
import pytest

from tilecheck.cli import main
from tilecheck.schema import schema

SECONDS = 2.0
STRUCTURE = jsonschema.Draft202012Validator(schema("call"))
STRUCTURAL = list(malformed.structural())
WRONG = [entry for entry in STRUCTURAL if not STRUCTURE.is_valid(entry[2])]
HOSTILE = list(malformed.hostile())
FITTING = [entry for entry in STRUCTURAL if STRUCTURE.is_valid(entry[2])]


def refused(path: Path, capsys: pytest.CaptureFixture[str], *places: str) -> str:
    """The message of a file that is refused: exit status 2 in time, nothing on stdout, one line that names the file and the places."""
    started = time.process_time()
    status = main(["check", str(path)])
    spent = time.process_time() - started
    out, err = capsys.readouterr()
    assert status == 2, (status, out[:500], err[:500])
    assert out == ""
    assert err.startswith("error: "), err[:500]
    assert "internal error" not in err
    assert "Traceback" not in err
    assert err.count("\n") == 1
    assert len(err) < 2000
    assert str(path) in err
    assert err.isprintable() or err[:-1].isprintable()
    for place in places:
        assert place in err, (place, err)
    assert spent < SECONDS
    return err


def written(folder: Path, document: object) -> Path:
    path = folder / "call.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_there_are_more_than_two_hundred() -> None:
    parts = (malformed.raw(), WRONG, HOSTILE, malformed.LAYOUTS, malformed.STEPS, malformed.SIZES)
    assert sum(map(len, parts)) > 600


def test_the_good_document_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(written(tmp_path, malformed.GOOD))]) in {0, 1, 3}, capsys.readouterr().err


@pytest.mark.parametrize("name", list(malformed.raw()))
def test_a_file_that_is_no_document(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for suffix in (".json", ".jsonl"):
        path = tmp_path / ("call" + suffix)
        path.write_bytes(malformed.raw()[name])
        if (name, suffix) != ("empty list", ".jsonl"):
            refused(path, capsys)


@pytest.mark.parametrize(("path", "document"), [entry[1:] for entry in WRONG], ids=[entry[0] for entry in WRONG])
def test_a_wrong_type_or_key(path: malformed.Path, document: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = refused(written(tmp_path, document), capsys)
    while path and malformed.show(path) not in message:
        path = path[:-1]
    assert path or "$" in message or "call.json" in message


@pytest.mark.parametrize(("name", "document"), [(entry[0], entry[2]) for entry in FITTING], ids=[entry[0] for entry in FITTING])
def test_what_follows_the_schema_never_ends_in_a_traceback(
    name: str, document: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["check", str(written(tmp_path, document))])
    err = capsys.readouterr().err
    assert status in {0, 1, 2, 3}, name
    assert "internal error" not in err
    assert (status == 2) == err.startswith("error: ")


@pytest.mark.parametrize(("name", "place", "document"), HOSTILE, ids=[entry[0] for entry in HOSTILE])
def test_a_hostile_expression(name: str, place: str, document: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(written(tmp_path, document), capsys, place)


@pytest.mark.parametrize("name", list(malformed.LAYOUTS))
def test_a_wrong_layout(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(written(tmp_path, malformed.put(("operands", 0, "layout"), malformed.LAYOUTS[name])), capsys, "$.operands[0]")


@pytest.mark.parametrize("name", list(malformed.STEPS))
def test_a_wrong_view_step(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = [malformed.STEPS[name]]
    refused(written(tmp_path, malformed.put(malformed.VIEW, steps)), capsys, "$.operands[1].view[0]")


@pytest.mark.parametrize("name", list(malformed.SIZES))
def test_an_absurd_size_or_name(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, value = malformed.SIZES[name]
    refused(written(tmp_path, malformed.put(path, value)), capsys, "$")


def test_a_scalar_operand_with_more_than_a_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(written(tmp_path, malformed.put(("operands", 0, "value"), 1)), capsys, "$.operands[0]")


def test_what_cannot_be_opened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(tmp_path / "nowhere.json", capsys)
    refused(tmp_path / "nowhere.py", capsys)
    refused(Path("/dev/zero"), capsys, "at most that many are read")
    assert main(["check", "null\0byte.json"]) == 2
    assert capsys.readouterr().err == "error: null\\x00byte.json: cannot be read: embedded null byte\n"
    refused(tmp_path, capsys, "nothing to check")
    (tmp_path / "folder.json").mkdir()
    refused(tmp_path / "folder.json", capsys, "nothing to check")


def test_the_line_of_the_place_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "call.json"
    path.write_text(json.dumps([malformed.GOOD, malformed.put(("operands", 1, "align"), "wide")], indent=1))
    line = 1 + next(k for k, text in enumerate(path.read_text().split("\n")) if '"wide"' in text)
    refused(path, capsys, f"{path}:{line}: $[1].operands[1].align", 'found "wide"', "expected an integer")


def test_the_line_of_a_jsonl_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text("\n".join([malformed.TEXT, "", json.dumps(malformed.put(("scope",), "lane"))]))
    refused(path, capsys, f"{path}:3: $.scope", 'found "lane"', "expected one of thread, warp")


WELL_FORMED = {
    "no launch at warp scope": {"scope": "warp", "launch": None},
    "empty symbols list is null": {"assume": None},
    "id is missing": {"id": ""},
    "unknown mnemonic": {"opcode": "frobnicate.b32"},
    "illegal spelling": {"opcode": "ld.global.v3.b32"},
    "arch of a family": {"arch": "sm_100f"},
    "unknown parameter": {"parameters": {"colour": 7}},
    "no operand": {"operands": []},
    "one operand": {"operands": malformed.GOOD["operands"][:1]},
    "extent 2^63": {"operands": [malformed.GOOD["operands"][0], {"name": "A", "space": "global", "dtype": "float32", "shape": [1 << 63]}]},
    "scalar operands": {"operands": [{"name": "a", "value": 1}, {"name": "b", "value": "n"}]},
    "contradictory facts": {"assume": ["n < 0"]},
    "a guard that nobody passes": {"guard": False},
    "blocks of three dimensions": {"launch": {"block": [4, 4, 4]}},
    "unicode id": {"id": "größer \U0001f642"},
    "lone surrogate in the id": {"id": "\ud800"},
    "escape sequence in the id": {"id": "\u001b[31m"},
    "markup in the id": {"id": "[bold]x[/bold]"},
    "null in the id": {"id": "a\0b"},
}


@pytest.mark.parametrize("name", list(WELL_FORMED))
def test_a_well_formed_document_near_them(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = {**malformed.GOOD, **WELL_FORMED[name]}
    path = written(tmp_path, document)
    statuses = {main(["check", str(path), "--format", form]) for form in ("text", "json", "jsonl")}
    out, err = capsys.readouterr()
    assert len(statuses) == 1, err
    assert statuses <= {0, 1, 3}, err
    assert all(c == "\n" or c.isprintable() for c in out)


BOX = {
    "schema": "tilecheck/call@1",
    "opcode": "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint",
    "scope": "thread",
    "symbols": [{"name": "n", "min": 0, "max": 3}],
    "operands": [
        {"name": "S", "space": "shared", "dtype": "float16", "shape": [8, 64], "align": 1024},
        {"name": "T", "space": "global", "dtype": "float16", "shape": [64, 64], "align": 16},
    ],
}
RIGHT = {"coords": [0, 0], "mbar": "shared", "box": [8, 64], "cache_policy": 0}
UNREAD = [
    ("expected_bytes", "n > 0"),
    ("coords", ["n < 1", 0]),
    ("pred", "n"),
    ("cache_policy", "n > 1"),
    ("expected_bytes", 3.5),
    ("pred", "n >"),
]
UNREAD += [("nonsense", "n > 1"), ("coords", [{}, 0]), ("coords", ["zz", 0])]
UNFIT = [
    ("expected_bytes", True),
    ("coords", [True, 0]),
    ("coords", "n"),
    ("pred", 1),
    ("box", ["n", 64]),
    ("cache_policy", -1),
    ("mbar", 1),
]
UNFIT += [("nonsense", 1), ("coords", [[0], 0]), ("expected_bytes", [1024])]


@pytest.mark.parametrize(("name", "value"), UNREAD)
def test_a_parameter_that_does_not_read_is_no_verdict(name: str, value: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(written(tmp_path, {**BOX, "parameters": {**RIGHT, name: value}}), capsys, f"parameters.{name}")


@pytest.mark.parametrize(("name", "value"), UNFIT)
def test_a_parameter_that_reads_and_is_of_another_kind_is_refuted(
    name: str, value: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--audit", str(written(tmp_path, {**BOX, "parameters": {**RIGHT, name: value}}))]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert " operands: " in out
    assert f"the parameter {name} is" in out
