"""`tilecheck check`: what it reads, the exit statuses, the formats."""

import dataclasses
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from tilecheck.call import Call
from tilecheck.cli import main
from tilecheck.prove.verdict import Verdict
from tilecheck.schema import schema

RULES = Path(__file__).parent.parent / "data" / "rules.jsonl"
CASES = {case["id"]: case for case in map(json.loads, RULES.read_text(encoding="utf-8").splitlines())}
PROVED, REFUTED, UNPROVED, ERROR = "ld-row-stride-32B", "ld-base-align-4", "ld-runtime-mod", "mma-base"
RACING = "st-global"


def call(name: str) -> dict[str, object]:
    if name in {ERROR, UNPROVED}:
        return {**CASES[PROVED]["call"], "id": name, "opcode": "frobnicate.b32" if name == ERROR else "ld.global.v4.b32"}
    return CASES[name]["call"]


@pytest.fixture(autouse=True)
def undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """The prover abstains on the call named UNPROVED, whatever it could do."""
    import tilecheck.prove.check
    from tilecheck.prove.verdict import ClauseResult

    check = tilecheck.prove.check.check

    def abstaining(call: Call, **more: object) -> Verdict:
        found = check(call, **more)
        if call.id != UNPROVED:
            return found
        open_clause = ClauseResult("src.bounds", "unproved", "", 0.1, "every region of A stays inside", "PTX ISA", reason="too many points")
        return dataclasses.replace(found, status="unproved", clauses=(*found.clauses, open_clause))

    monkeypatch.setattr(tilecheck.prove.check, "check", abstaining)


def case(name: str, **expectation: object) -> dict[str, object]:
    return {"id": name, **expectation, "call": call(name)}


def write(path: Path, *documents: object) -> str:
    text = json.dumps(documents[0]) if path.suffix == ".json" else "".join(json.dumps(document) + "\n" for document in documents)
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("names", "status"),
    [
        ([PROVED], 0),
        ([REFUTED], 1),
        ([UNPROVED], 3),
        ([ERROR], 3),
        ([PROVED, UNPROVED], 3),
        ([PROVED, REFUTED], 1),
        ([REFUTED, UNPROVED, ERROR], 1),
        ([ERROR, PROVED], 3),
    ],
)
def test_the_exit_status_of_plain_documents(names: list[str], status: int, tmp_path: Path) -> None:
    assert main(["check", write(tmp_path / "calls.jsonl", *map(call, names))]) == status


@pytest.mark.parametrize(
    ("document", "status"),
    [
        (case(PROVED, expect="proved"), 0),
        (case(REFUTED, expect="refuted"), 0),
        (case(REFUTED, expect="refuted", clause="aligned"), 0),
        (case(REFUTED, expect="refuted", clause="src.aligned"), 0),
        (case(REFUTED, expect="refuted", clause="ligned"), 1),
        (case(REFUTED, expect="refuted", clause="dst.aligned"), 1),
        (case(REFUTED, expect="proved"), 1),
        (case(PROVED, expect="refuted"), 1),
        (case(UNPROVED, expect="unproved"), 0),
        (case(UNPROVED, expect="proved"), 1),
        (case(ERROR, expect="error"), 0),
        (case(RACING, expect="proved"), 0),
        (case(RACING, expect="proved", hazard="memory.race"), 0),
        (case(RACING, expect="proved", hazard="alias"), 1),
        (case(PROVED), 0),
        (case(REFUTED), 1),
    ],
)
def test_the_exit_status_of_cases(document: object, status: int, tmp_path: Path) -> None:
    assert main(["check", write(tmp_path / "case.json", document)]) == status


def test_under_strict_hazards_are_errors_unless_expected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = write(tmp_path / "plain.json", call(RACING))
    assert main(["check", plain]) == 0
    assert main(["check", plain, "--strict"]) == 1
    assert "hazards are errors under --strict" in capsys.readouterr().out
    assert main(["check", write(tmp_path / "case.json", case(RACING, expect="proved")), "--strict"]) == 1
    assert main(["check", write(tmp_path / "named.json", case(RACING, expect="proved", hazard="memory.race")), "--strict"]) == 0


def test_a_directory_is_read_in_sorted_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "b" / "c").mkdir(parents=True)
    (tmp_path / ".hidden").mkdir()
    write(tmp_path / "z.json", {**call(PROVED), "id": "4"})
    write(tmp_path / "b" / "a.jsonl", {**call(PROVED), "id": "1"}, {**call(PROVED), "id": "2"})
    write(tmp_path / "b" / "c" / "a.json", {**call(PROVED), "id": "3"})
    (tmp_path / ".hidden" / "broken.json").write_text("{")
    (tmp_path / "b" / "notes.txt").write_text("nothing")
    (tmp_path / "b" / "helper.py").write_text("raise SystemExit('not imported')")
    assert main(["check", str(tmp_path), "--format", "jsonl"]) == 0
    assert [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()] == ["1", "2", "3", "4"]


def test_json_is_a_list_and_jsonl_one_a_line_and_both_follow_the_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(
        tmp_path / "calls.jsonl", *map(call, (PROVED, REFUTED, UNPROVED, ERROR, RACING)), case(REFUTED, expect="refuted", clause="aligned")
    )
    main(["check", path, "--format", "json"])
    listed = json.loads(capsys.readouterr().out)
    main(["check", path, "--format", "jsonl"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [entry["id"] for entry in listed] == [entry["id"] for entry in lines]
    assert [entry["status"] for entry in lines] == ["proved", "refuted", "unproved", "error", "proved", "refuted"]
    assert (lines[0]["expect"], lines[0]["as_expected"]) == (None, None)
    assert (lines[5]["expect"], lines[5]["as_expected"]) == ("refuted", True)
    jsonschema.Draft202012Validator.check_schema(schema("verdict"))
    validator = jsonschema.Draft202012Validator(schema("verdict"))
    for entry in (*listed, *lines):
        validator.validate(entry)


def test_several_processes_give_the_same_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "cases.jsonl", *[case for case in CASES.values() if case["call"]["opcode"].startswith(("ld.", "st."))])

    def run(*more: str) -> list[object]:
        main(["check", path, "--format", "jsonl", *more])
        answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        for answer in answers:
            for clause in answer["clauses"]:
                del clause["ms"]
        return answers

    assert run() == run("--jobs", "3")


@pytest.mark.parametrize("form", ["json", "jsonl", "list"])
def test_stdin_is_read(form: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    calls = [call(PROVED), call(PROVED)]
    text = {"json": json.dumps(calls[0], indent=1), "jsonl": "\n".join(map(json.dumps, calls)), "list": json.dumps(calls)}[form]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert main(["check", "-", "--format", "jsonl"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == (1 if form == "json" else 2)


def test_a_wrong_stdin_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for data, words in ((b"{", "<stdin>:1:2"), (b"\xff", "not UTF-8"), (b'{\n"schema": 1}', "<stdin>:1: $")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert main(["check", "-"]) == 2
        assert words in capsys.readouterr().err


def test_arch_is_for_calls_that_name_none(tmp_path: Path) -> None:
    wide = CASES["ld-v8b32"]["call"]
    path = write(tmp_path / "wide.json", wide)
    assert main(["check", path]) == 0
    assert main(["check", path, "--arch", "sm_90a"]) == 1
    assert main(["check", write(tmp_path / "named.json", {**wide, "arch": "sm_100"}), "--arch", "sm_90a"]) == 0


def test_one_wrong_file_among_several_ends_in_2_and_no_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = write(tmp_path / "good.json", call(PROVED))
    bad = write(tmp_path / "bad.json", {**call(PROVED), "scope": "lane"})
    other = write(tmp_path / "other.json", {**call(PROVED), "launch": 7})
    output = tmp_path / "out.json"
    output.write_text("as it was")
    assert main(["check", good, bad, other, "--output", str(output), "--format", "json"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split(": ")[1] for line in err.splitlines()] == [f"{bad}:1", f"{other}:1"]
    assert output.read_text() == "as it was"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.json", "good.json", "other.json", "out.json"]


def test_output_is_written_whole_with_the_mode_of_a_new_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, output = write(tmp_path / "good.json", call(PROVED)), tmp_path / "out.json"
    assert main(["check", good, "--output", str(output), "--format", "json"]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads(output.read_text())[0]["status"] == "proved"
    (tmp_path / "plain").touch()
    assert output.stat().st_mode == (tmp_path / "plain").stat().st_mode
    output.chmod(0o600)
    assert main(["check", good, "--output", str(output)]) == 0
    assert output.stat().st_mode & 0o777 == 0o600
    link = tmp_path / "link"
    link.symlink_to(output)
    assert main(["check", good, "--output", str(link), "--format", "jsonl"]) == 0
    assert link.is_symlink()
    assert json.loads(output.read_text())["status"] == "proved"
    assert main(["check", good, "--output", os.devnull]) == 0


@pytest.mark.parametrize("place", [".", "nowhere/out.json"])
def test_an_output_that_cannot_be_is_said_before_the_work(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "missing.json"), "--output", str(tmp_path / place)]) == 2
    assert "--output" in capsys.readouterr().err


def test_a_fault_of_the_checker_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import tilecheck.prove.check

    def broken(_: object, **more: object) -> None:
        raise ZeroDivisionError("integer\nmodulo by zero")

    monkeypatch.setattr(tilecheck.prove.check, "check", broken)
    path = write(tmp_path / "call.json", call(PROVED))
    assert main(["check", path]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.startswith("internal error (ZeroDivisionError: integer modulo by zero, while checking ld-row-stride-32B of ")
    assert "please report" in err
    assert main(["check", path, "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_disagreement_is_an_internal_error_with_its_call(
    jobs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import tilecheck.prove.check
    from tilecheck.errors import DisagreementError

    check = tilecheck.prove.check.check

    def disagreeing(call: Call, **more: object) -> Verdict:
        if call.id == REFUTED:
            raise DisagreementError(
                f"internal error, please report: one says proved,\nthe other refuted; call: {json.dumps(call.to_json())}"
            )
        return check(call, **more)

    monkeypatch.setattr(tilecheck.prove.check, "check", disagreeing)
    path, output = write(tmp_path / "calls.jsonl", call(PROVED), call(REFUTED)), tmp_path / "out.json"
    assert main(["check", path, "--audit", "--jobs", jobs, "--output", str(output)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert not output.exists()
    told, document, end = err.split("\n")
    assert told.startswith(
        "internal error, please report it with the call in the next line: one says proved, the other refuted, while checking"
    )
    assert end == ""
    again = write(tmp_path / "again.json", json.loads(document))
    monkeypatch.setattr(tilecheck.prove.check, "check", check)
    assert main(["check", again]) == 1


def test_audit_and_rlimit_reach_the_prover(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tilecheck.prove.check

    check, seen = tilecheck.prove.check.check, list[object]()

    def noting(call: Call, **more: object) -> Verdict:
        seen.append(more)
        return check(call, **more)

    monkeypatch.setattr(tilecheck.prove.check, "check", noting)
    path = write(tmp_path / "call.json", call(PROVED))
    assert main(["check", path]) == 0
    assert main(["check", path, "--audit", "--rlimit", "5000000"]) == 0
    assert main(["predict", path, "--audit"]) == 0
    plain = {"audit": False, "reading": ""}
    assert seen == [plain, {**plain, "audit": True, "rlimit": 5000000}, {**plain, "audit": True}]


def test_an_interrupt_is_no_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import tilecheck.prove.check

    def stopped(_: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tilecheck.prove.check, "check", stopped)
    assert main(["check", write(tmp_path / "call.json", call(PROVED))]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = f"{sys.executable} -m tilecheck check {RULES} --format json; echo status $? >&2"
    done = subprocess.run(
        ["sh", "-c", f"({command}) | head -c 10"], capture_output=True, text=True, timeout=120, check=False, env=environment()
    )
    assert done.stdout == "[\n  {\n    "
    assert done.stderr == "status 0\n"


def environment() -> dict[str, str]:
    root = Path(__file__).parent.parent.parent
    return {**os.environ, "PYTHONPATH": str(root)}


def test_importing_the_command_line_is_light() -> None:
    heavy = (
        "numpy",
        "z3",
        "sympy",
        "rich",
        "importlib.metadata",
        "tilecheck.prove.check",
        "tilecheck.contracts.memory",
        "jsonschema",
        "asyncio",
    )
    code = f"import sys, tilecheck.cli; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, env=environment())
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fly"],
        ["check"],
        ["check", "--format", "xml", "a"],
        ["check", "a", "--jobs", "0"],
        ["check", "a", "--jobs", "x"],
        ["check", "a", "--rlimit", "0"],
        ["check", "a", "--rlimit", "4294967296"],
        ["explain", "ld.global.b32", "--audit"],
        ["check", "a", "--arch", "gfx90a"],
        ["check", "a", "--form", "json"],
        ["explain"],
        ["schema", "image"],
        ["predict", "a", "--elected", "32"],
        ["contracts", "ld"],
        ["check", "a", "--set", "n=4"],
    ],
)
def test_a_wrong_command_ends_in_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err
    assert "Traceback" not in err


def test_help_states_the_exit_statuses(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--help"], ["check", "--help"], ["predict", "--help"]):
        assert main(arguments) == 0
        out = capsys.readouterr().out
        assert "3  nothing refuted, but something unproved, vacuous or without a contract" in out
        assert all(len(line) <= 80 for line in out.splitlines())
    assert main(["--version"]) == 0
