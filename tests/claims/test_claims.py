"""Check files: how claims are collected, and when they fail."""

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tilecheck.claims import claim, collect, has_claims
from tilecheck.cli import main
from tilecheck.errors import InputError

HEAD = """
from tilecheck.call import Launch, apply
from tilecheck.claims import claim
from tilecheck.layout import S, TileLayout
from tilecheck.layout.view import Tensor

R = Tensor("R", (4,), "float32", space="register")


def load(align=16, opcode="ld.global.v4.b32", **more):
    return apply(opcode, R, Tensor("A", (4,), "float32", space="global", align=align), scope="thread", **more)


def store():
    return apply("st.global.v4.b32", Tensor("A", (4,), "float32", space="global", align=16), R, scope="thread", launch=Launch((32,)))
"""


def check_file(folder: Path, body: str, name: str = "proofs.py") -> str:
    path = folder / name
    path.write_text(HEAD + body, encoding="utf-8")
    return str(path)


def line_of(path: str, text: str) -> int:
    return 1 + next(k for k, line in enumerate(Path(path).read_text(encoding="utf-8").split("\n")) if text in line)


AS_THEY_SAY = {
    "proved": "@claim\ndef one(): return load()",
    "called without arguments": "@claim()\ndef one(): return load()",
    "refuted by the clause": '@claim(refuted="src.aligned")\ndef one(): return load(4)',
    "refuted by its short name": '@claim(refuted="aligned")\ndef one(): return load(4)',
    "refuted spelling": '@claim(refuted="opcode")\ndef one(): return load(opcode="ld.global.v3.b32")',
    "vacuous": '@claim(vacuous=True)\ndef one(): return load(guard="false")',
    "error": '@claim(error=True)\ndef one(): return load(opcode="frobnicate.b32")',
    "hazard": '@claim(hazard="memory.race")\ndef one(): return store()',
    "a list": "@claim\ndef one(): return [load(), load(32)]",
    "a tuple": "@claim\ndef one(): return load(), load(32)",
    "a generator": "@claim\ndef one():\n    yield load()\n    yield load(32)",
}
OTHERWISE = {
    "refuted, said proved": ("@claim\ndef one(): return load(4)", "src.aligned"),
    "proved, said refuted": ('@claim(refuted="src.aligned")\ndef one(): return load()', "refuted by src.aligned"),
    "refuted by another clause": ('@claim(refuted="bounds")\ndef one(): return load(4)', "refuted by bounds"),
    "proved, said vacuous": ("@claim(vacuous=True)\ndef one(): return load()", "vacuous"),
    "proved, said unproved": ("@claim(unproved=True)\ndef one(): return load()", "unproved"),
    "without the hazard": ('@claim(hazard="alias")\ndef one(): return store()', "with the hazard alias"),
    "the second of a list": ("@claim\ndef one(): return [load(), load(4)]", "::one[1]"),
}
WRONG = {
    "a syntax error": ("def one(:", "not Python", "def one(:"),
    "an import error": ("import nonexistent_module", "the import raised ModuleNotFoundError", "import nonexistent"),
    "an error at import": ("1 / 0", "ZeroDivisionError", "1 / 0"),
    "an exit at import": ("import sys\nsys.exit(0)", "SystemExit", "sys.exit"),
    "no claim": ("def one(): return load()", "no claim in it", None),
    "two of one name": (
        "@claim\ndef one(): return load()\n\n@claim\ndef one(): return load(32)  # again",
        "has the name of the claim in line",
        None,
    ),
    "an error in a claim": ("@claim\ndef one():\n    return load(nothing)  # here", "the claim one raised NameError", "# here"),
    "a wrong layout": (
        '@claim\ndef one():\n    return Tensor("A", (4,), "float32", space="shared", layout=TileLayout(S[5]))  # here',
        "",
        "# here",
    ),
    "no call": ("@claim\ndef one(): return 7  # here", "returned a int, expected a call", "@claim"),
    "nothing": ("@claim\ndef one(): pass", "returned a NoneType", "@claim"),
    "an empty list": ("@claim\ndef one(): return []", "returned no call", "@claim"),
    "a list of others": ("@claim\ndef one(): return [load(), R]", "item 1", "@claim"),
    "an argument": ("@claim\ndef one(n): return load()", "TypeError", "@claim"),
    "two statuses": ('@claim(refuted="aligned", vacuous=True)  # here\ndef one(): return load()', "refuted and vacuous", "# here"),
    "no clause": ('@claim(refuted="")  # here\ndef one(): return load()', "expected the id of a clause", "# here"),
    "an undeclared symbol": ('@claim\ndef one():\n    return load(guard="zz < 1")', "'zz' is not a declared symbol", None),
}


@pytest.mark.parametrize("name", list(AS_THEY_SAY))
def test_a_claim_that_comes_out_as_it_says_passes(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = check_file(tmp_path, AS_THEY_SAY[name])
    assert main(["check", path]) == 0, capsys.readouterr()
    assert "as expected" in capsys.readouterr().out


@pytest.mark.parametrize("name", list(OTHERWISE))
def test_a_claim_that_comes_out_otherwise_fails_the_run(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body, words = OTHERWISE[name]
    path = check_file(tmp_path, body)
    assert main(["check", path, "--format", "text"]) == 1
    out = "".join(capsys.readouterr().out.split())
    assert f"{path}::one" in out
    assert words.replace(" ", "") in out
    assert "1NOT" in out


@pytest.mark.parametrize("name", list(WRONG))
def test_a_wrong_check_file_ends_in_2_and_names_the_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body, words, line = WRONG[name]
    path = check_file(tmp_path, body)
    assert main(["check", path]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {path}")
    assert words in err
    assert "Traceback" not in err
    assert err.count("\n") == 1
    if line == "@claim":
        assert f"{path}:{1 + HEAD.count(chr(10))}: " in err
    elif line is not None:
        assert f"{path}:{line_of(path, line)}: " in err
    assert main(["check", path, "--debug"]) == 2
    assert capsys.readouterr().err.rstrip().endswith(err.rstrip().split(": ")[-1])


def test_the_json_answer_names_the_claim(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = check_file(tmp_path, '@claim(refuted="aligned")\ndef one(): return [load(4), load(8, id="mine")]')
    assert main(["check", path, "--format", "json"]) == 0
    answers = json.loads(capsys.readouterr().out)
    assert [a["id"] for a in answers] == [f"{path}::one[0]", "mine"]
    assert [(a["expect"], a["as_expected"]) for a in answers] == [("refuted", True)] * 2


def test_files_of_one_name_and_helpers_of_one_name_do_not_meet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder, align in (("a", 16), ("b", 4)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "common_helper.py").write_text(f"ALIGN = {align}\n")
        status = "" if align == 16 else '(refuted="aligned")'
        check_file(
            tmp_path / folder,
            f"from common_helper import ALIGN\n\n@claim{status}\ndef one():\n    import common_helper\n"
            "    assert common_helper.ALIGN == ALIGN\n    return load(ALIGN)",
        )
    path_before = list(sys.path)
    assert main(["check", str(tmp_path)]) == 0, capsys.readouterr()
    assert sys.path == path_before
    out = "".join(capsys.readouterr().out.split())
    assert "a/proofs.py::one" in out
    assert "b/proofs.py::one" in out


def test_claims_are_found_without_running_the_file(tmp_path: Path) -> None:
    for text, found in (
        ("from tilecheck import claim\n@claim\ndef a(): ...", True),
        ("import tilecheck\n@tilecheck.claim(refuted='x')\ndef a(): ...", True),
        ("from tilecheck import claim as said\n@said\ndef a(): ...", True),
        ("from tilecheck import claim\ndef a(): return claim", False),
        ("raise SystemExit", False),
        ("def broken(:", False),
        ("\0", False),
    ):
        path = tmp_path / "file.py"
        path.write_text(text)
        assert has_claims(path) is found, text


def test_a_broken_check_file_in_a_directory_is_not_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_file(tmp_path, AS_THEY_SAY["proved"], "good.py")
    check_file(tmp_path, "def one(:", "broken.py")
    (tmp_path / "template.py").write_text("{{ name }} is no Python")
    assert main(["check", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert "broken.py" in err
    assert "template.py" not in err


def test_a_claim_imported_from_another_file_is_not_collected_twice(tmp_path: Path) -> None:
    check_file(tmp_path, AS_THEY_SAY["proved"], "first_claims.py")
    path = check_file(tmp_path, "from first_claims import one\n\n@claim\ndef two(): return load()", "second.py")
    assert [c.name for c in collect(path)] == ["two"]


def test_the_mark_leaves_the_function_alone() -> None:
    def one() -> int:
        return 7

    assert claim(one) is one
    assert claim(refuted="x")(one) is one
    with pytest.raises(InputError):
        claim(vacuous=True, error=True)


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "tilecheck.pytest_plugin", *arguments]
    root = str(Path(__file__).parent.parent.parent)
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "PYTHONPATH": root}
    )


def installed() -> list[str]:
    """Nothing where the plugin is found by its entry point."""
    return ["-p", "no:tilecheck"] if any(p.name == "tilecheck" for p in entry_points(group="pytest11")) else []


def test_pytest_collects_claims_where_asked(tmp_path: Path) -> None:
    check_file(tmp_path, "@claim\ndef holds(): return load()\n\n@claim\ndef does_not(): return [load(), load(4)]\n")
    (tmp_path / "no_claims.py").write_text("raise SystemExit")
    done = run_pytest(tmp_path, *installed(), "--tilecheck", "-v")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "proofs.py::holds PASSED" in done.stdout
    assert "proofs.py::does_not FAILED" in done.stdout
    assert "src.aligned: every row of A starts at a multiple of 16 bytes" in done.stdout
    assert "Traceback" not in done.stdout
    assert "1 failed, 1 passed" in done.stdout
    assert run_pytest(tmp_path, *installed()).returncode == 5


def test_pytest_names_what_cannot_be_collected(tmp_path: Path) -> None:
    check_file(tmp_path, "@claim\ndef one(): return load()\n\n1 / 0  # here\n")
    done = run_pytest(tmp_path, *installed(), "--tilecheck")
    assert done.returncode == 2
    assert "the import raised ZeroDivisionError" in done.stdout
    check_file(tmp_path, "@claim\ndef one(): return 7\n")
    done = run_pytest(tmp_path, *installed(), "--tilecheck")
    assert done.returncode == 1
    assert "returned a int, expected a call" in done.stdout
