"""`tilecheck premises`: the text that can be pasted, the document, the exit statuses."""

import json
from pathlib import Path

import jsonschema
import pytest

from tilecheck.cli import main
from tilecheck.schema import schema

BUGS = Path(__file__).parent.parent / "bugs"
REGISTERS = {"name": "R", "space": "register", "dtype": "float32", "shape": [4]}
CALL = {
    "schema": "tilecheck/call@1",
    "id": "one",
    "opcode": "ld.global.v4.b32",
    "scope": "thread",
    "symbols": [{"name": "n"}],
    "operands": [
        REGISTERS,
        {"name": "A", "space": "global", "dtype": "float32", "shape": [1024], "view": [{"op": "slice", "begin": ["n"], "extent": [4]}]},
    ],
}


def run(capsys, *arguments, status=0):
    found = main(["premises", *map(str, arguments)])
    captured = capsys.readouterr()
    assert found == status, captured.out + captured.err
    return captured.out


def written(path, *documents):
    path.write_text(json.dumps(list(documents)), encoding="utf-8")
    return path


def test_the_text_has_every_form_of_every_fact(tmp_path, capsys):
    out = run(capsys, written(tmp_path / "calls.json", CALL))
    words = " ".join(out.split())
    assert "premise n % 4 == 0 and base(A) % 16 == 0 and 0 <= n and n <= 1020" in words
    assert 'say "symbols": {"name": "n", "multiple_of": 4, "min": 0, "max": 1020}' in words
    assert 'or "assume": ["n % 4 == 0", "0 <= n and n <= 1020"]' in words
    assert 'and "operands": {"name": "A", "align": 16}' in words
    assert out.endswith("1 call: 1 with a premise\n")
    assert max(map(len, out.splitlines())) <= 80


def test_what_the_text_says_can_be_pasted_into_the_document(tmp_path, capsys):
    lines = run(capsys, written(tmp_path / "calls.json", CALL)).splitlines()
    symbols, operands = ({}, {})
    for line in lines:
        _, found, text = line.partition('"symbols": ')
        symbols |= json.loads(text) if found else {}
        _, found, text = line.partition('"operands": ')
        operands |= json.loads(text) if found else {}
    memory = {**CALL["operands"][1], **operands}
    said = {**CALL, "symbols": [{**CALL["symbols"][0], **symbols}], "operands": [REGISTERS, memory]}
    assert main(["check", str(written(tmp_path / "said.json", said))]) == 0


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("A06", 0, "premise idx % 4 == 0"),
        ("A18", 0, "1 call: 1 proved"),
        ("A10", 1, "no premise: space.explicit can be changed by no fact"),
        ("A01", 1, "of every base as much is known as the instruction asks"),
        ("A07", 3, "no symbol value satisfies the facts"),
    ],
)
def test_the_exit_status_says_whether_every_call_is_helped(name, status, words, capsys):
    assert words in " ".join(run(capsys, BUGS / f"{name}.json", status=status).split())


def test_one_that_nothing_helps_decides_the_status_of_many(tmp_path, capsys):
    documents = [json.loads((BUGS / f"{name}.json").read_text(encoding="utf-8")) for name in ("A03", "A07", "A10")]
    path = written(tmp_path / "calls.json", *documents)
    out = run(capsys, path, status=1)
    assert out.endswith("3 calls: 1 with a premise, 1 refuted without one, 1 undecided\n")
    assert run(capsys, path, "--jobs", "2", status=1) == out


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_the_documents_follow_the_schema(form, tmp_path, capsys):
    path = written(tmp_path / "calls.json", CALL, json.loads((BUGS / "A18.json").read_text(encoding="utf-8")))
    out = run(capsys, path, "--format", form)
    helped, proved = json.loads(out) if form == "json" else map(json.loads, out.splitlines())
    for document in (helped, proved):
        jsonschema.validate(document, schema("verdict"))
    assert proved["premises"] == []
    (premise,) = helped["premises"]
    assert premise["weakest"] is True
    assert premise["facts"] == [
        {"text": "n % 4 == 0", "assume": "n % 4 == 0", "symbol": {"name": "n", "multiple_of": 4}, "operand": None},
        {"text": "base(A) % 16 == 0", "assume": None, "symbol": None, "operand": {"index": 1, "name": "A", "align": 16}},
        {"text": "0 <= n and n <= 1020", "assume": "0 <= n and n <= 1020", "symbol": {"name": "n", "min": 0, "max": 1020}, "operand": None},
    ]


def test_a_residue_is_written_as_the_base(tmp_path, capsys):
    memory = {**CALL["operands"][1], "view": [{"op": "slice", "begin": [1], "extent": [4]}]}
    out = run(capsys, written(tmp_path / "calls.json", {**CALL, "symbols": [], "operands": [REGISTERS, memory]}))
    assert 'say "operands": {"name": "A", "base": {"mod": 16, "is": 12}}' in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["missing.json"], "missing.json: cannot be read"), (["--jobs", "0", "x.json"], "--jobs"), (["--format", "html", "x.json"], "html")],
)
def test_wrong_input_is_status_2(arguments, said, capsys):
    assert main(["premises", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_document_of_the_wrong_form_is_named_by_path(tmp_path, capsys):
    path = written(tmp_path / "calls.json", {**CALL, "symbols": [{"name": "n", "min": "low"}]})
    assert main(["premises", str(path)]) == 2
    err = capsys.readouterr().err
    assert ".symbols[0].min" in err
    assert err.count("\n") == 1


def test_a_file_of_theorems_alone_has_no_call(tmp_path, capsys):
    path = tmp_path / "laws.py"
    path.write_text(
        "from tilecheck import theorem\n@theorem\ndef law(t):\n    n = t.symbol('n')\n    t.show(n < n + 1)\n", encoding="utf-8"
    )
    assert main(["premises", str(path)]) == 2
    assert "found no call" in capsys.readouterr().err
