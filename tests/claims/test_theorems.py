"""Theorems of check files: how they are collected, proved and told."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from tilecheck.claims import has_claims, theorem
from tilecheck.cli import main
from tilecheck.errors import InputError
from tilecheck.schema import schema

ROOT = Path(__file__).parent.parent.parent
HEAD = "from tilecheck import R, Tensor, apply, claim, theorem\n"
CALL = 'apply("ld.global.v4.b32", Tensor("R", (4,), "float32", "register"), Tensor("A", (4,), "float32", align=16), scope="thread")'
HOLDS = "@theorem\ndef holds(t):\n    n = t.symbol('n', min=0, max=9)\n    t.show(n < 10, 'below ten')\n"
RANKED = "@theorem(ranks=(1, 2))\ndef ranked(t, rank):\n    parts = [t.index(f'c{k}', 4) for k in range(rank)]\n    t.show(sum(parts) < 4 * rank)\n"
FAILS = {
    "refuted": ("t.show(t.symbol('n', min=0, max=9) < 7, 'below seven')", ("below seven: it fails for n = 7", "1 goal, 1 refuted")),
    "vacuous": ("n = t.symbol('n', min=0)\n    t.given(n < 0)\n    t.show(n < 5)", ("the given facts contradict each other",)),
    "nothing": ("t.symbol('n')", ("it shows nothing",)),
}
WRONG = {
    "an error": ("@theorem\ndef one(t):\n    t.shew(1)  # here", "the theorem one raised AttributeError"),
    "an error at a rank": (
        "@theorem(ranks=(0, 1))\ndef one(t, rank):\n    1 / rank  # here",
        "the theorem one[rank=0] raised ZeroDivisionError",
    ),
    "an undeclared name": ("@theorem\ndef one(t):\n    t.show('n <')  # here", ""),
    "a wrong rank": ("@theorem(ranks=(1, 1))  # here\ndef one(t, rank): pass", "expected different integers"),
    "an argument too few": ("@theorem(ranks=(1,))  # here\ndef one(t): pass", "TypeError"),
    "the name of a claim": (
        f"@claim\ndef one(): return {CALL}\n\n@theorem  # here\ndef one(t): pass",
        "the theorem one has the name of the claim",
    ),
}


def check_file(folder: Path, body: str, name: str = "laws.py") -> str:
    path = folder / name
    path.write_text(HEAD + body, encoding="utf-8")
    return str(path)


def test_theorems_are_proved_beside_claims(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = check_file(tmp_path, f"{HOLDS}\n{RANKED}\n@claim\ndef one(): return {CALL}\n")
    assert main(["check", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    words = "".join(out.split())
    for name in ("holds:1goalin", "ranked[rank=1]:1goalin", "ranked[rank=2]:1goalin", "one:1instruction"):
        assert f"proved{path}::{name}" in words
    assert "1 call: 1 proved; 1 as expected\n3 theorems: 3 proved in " in out
    assert main(["check", path, "--jobs", "2"]) == 0


@pytest.mark.parametrize("name", list(FAILS))
def test_a_theorem_that_is_not_proved_fails_the_run(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body, words = FAILS[name]
    path = check_file(tmp_path, f"@theorem\ndef one(t):\n    {body}\n\n{HOLDS}")
    assert main(["check", path]) == 1
    out = capsys.readouterr().out
    for text in words:
        assert "".join(text.split()) in "".join(out.split())
    assert "1 NOT proved" in out
    assert max(map(len, out.splitlines())) <= 80
    assert main(["check", path, "--format", "json"]) == 1
    assert [found["as_expected"] for found in json.loads(capsys.readouterr().out)] == [False, True]


def test_an_unproved_theorem_fails_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hard = "[t.symbol(x, min=1) for x in 'abc']\n    t.show('a*a*a + b*b*b != c*c*c', 'Fermat')"
    path = check_file(tmp_path, f"@theorem\ndef one(t):\n    {hard}\n")
    assert main(["check", path, "--rlimit", "10000"]) == 1
    out = capsys.readouterr().out
    assert "unproved  Fermat: " in out
    assert "1 theorem: 1 unproved in" in out


@pytest.mark.parametrize("name", list(WRONG))
def test_a_wrong_theorem_ends_in_2_and_names_the_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body, words = WRONG[name]
    path = check_file(tmp_path, body)
    assert main(["check", path]) == 2
    out, err = capsys.readouterr()
    line = 1 + next(k for k, text in enumerate(Path(path).read_text(encoding="utf-8").split("\n")) if "# here" in text)
    assert out == ""
    assert err.startswith(f"error: {path}:{line}: ")
    assert words in err
    assert err.count("\n") == 1


def test_the_json_answer_follows_its_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = check_file(tmp_path, f"{RANKED}\n@theorem\ndef one(t):\n    {FAILS['refuted'][0]}\n")
    assert main(["check", path, "--format", "jsonl"]) == 1
    answers = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    jsonschema.Draft202012Validator.check_schema(schema("theorem"))
    for answer in answers:
        jsonschema.Draft202012Validator(schema("theorem")).validate(answer)
    assert [answer["id"] for answer in answers] == [f"{path}::ranked[rank=1]", f"{path}::ranked[rank=2]", f"{path}::one"]
    assert [(g["label"], g["status"], g["values"]) for g in answers[2]["goals"]] == [("below seven", "refuted", {"n": 7})]


def test_a_file_of_theorems_alone_is_a_check_file(tmp_path: Path) -> None:
    for text, found in (
        ("from tilecheck import theorem\n@theorem\ndef a(t): ...", True),
        ("from tilecheck import theorem as law\n@law(ranks=(1,))\ndef a(t, rank): ...", True),
        ("import tilecheck\n@tilecheck.theorem\ndef a(t): ...", True),
        ("def theorem(t): ...", False),
    ):
        path = tmp_path / "file.py"
        path.write_text(text)
        assert has_claims(path) is found, text


def test_the_mark_leaves_the_function_alone() -> None:
    def one(t: object) -> object:
        return t

    assert theorem(one) is one
    assert theorem(ranks=(1, 2))(one) is one
    for ranks in ((-1,), (True,), ("1",)):
        with pytest.raises(InputError):
            theorem(ranks=ranks)


def test_no_call_is_found_where_there_are_theorems_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["emit", check_file(tmp_path, HOLDS)]) == 2
    assert "found 0 calls, expected one" in capsys.readouterr().err


def test_all_proofs_of_the_project_hold(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(ROOT / "proofs"), "--format", "json"]) == 0
    answers = json.loads(capsys.readouterr().out)
    assert {answer["schema"] for answer in answers} == {"tilecheck/theorem@1", "tilecheck/verdict@1"}


def test_pytest_makes_an_item_of_every_rank(tmp_path: Path) -> None:
    check_file(tmp_path, f"{RANKED}\n@theorem\ndef one(t):\n    {FAILS['refuted'][0]}\n\n@theorem\ndef two(t):\n    1 / 0\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:tilecheck", "-p", "tilecheck.pytest_plugin"]
    done = subprocess.run(
        [*command, "--tilecheck", "-v"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 1, done.stdout + done.stderr
    for line in ("laws.py::ranked[rank=1] PASSED", "laws.py::ranked[rank=2] PASSED", "laws.py::one FAILED", "laws.py::two FAILED"):
        assert line in done.stdout
    assert "below seven: it fails for n = 7" in done.stdout
    assert "the theorem two raised ZeroDivisionError" in done.stdout
    assert "Traceback" not in done.stdout
