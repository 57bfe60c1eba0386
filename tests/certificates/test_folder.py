"""Folders of certificates: what is in them, that they are whole, and that nothing in them can change unseen."""

from __future__ import annotations

import hashlib
import json
import threading
from pathlib import Path

import pytest
from known_cases import call_of, cases, verdict_of

from tilecheck.call import Call
from tilecheck.certificates import folder, recheck
from tilecheck.certificates.folder import read, write
from tilecheck.cli import main
from tilecheck.document import read_call
from tilecheck.prove.check import check
from tilecheck.prove.verdict import PROVED, REFUTED
from tilecheck.symbolic import terms

SOLVERS = ("z3", "cvc5", "bitwuzla")
EXAMPLE = Path(__file__).parent.parent.parent / "docs" / "examples" / "row-pitch-66.json"
IDS = tuple(cases())[::20]
CALL = {
    "schema": "tilecheck/call@1",
    "id": "pitch",
    "opcode": "ld.global.v4.b32",
    "scope": "thread",
    "symbols": [{"name": "n", "min": 0, "max": 60, "multiple_of": 4}],
    "assume": ["n <= 56"],
    "operands": [
        {"name": "R", "space": "register", "dtype": "float32", "shape": [4], "layout": "S[4:1]"},
        {
            "name": "A",
            "space": "global",
            "dtype": "float32",
            "shape": [64],
            "align": 16,
            "view": [{"op": "slice", "begin": ["n"], "extent": [4]}],
        },
    ],
}


def package(solver: str) -> None:
    pytest.importorskip({"z3": "z3"}.get(solver, solver))


@pytest.fixture
def document(tmp_path: Path) -> str:
    path = tmp_path / "call.json"
    path.write_text(json.dumps(CALL), encoding="utf-8")
    return str(path)


@pytest.fixture
def certificates(tmp_path: Path, document: str, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["check", document, "--certificates", str(tmp_path / "c")]) == 0
    capsys.readouterr()
    return tmp_path / "c"


def manifest(directory: Path) -> dict[str, object]:
    (path,) = directory.glob("*/manifest.json")
    return json.loads(path.read_text(encoding="utf-8"))


def repair(directory: Path) -> None:
    """Makes every recorded hash that of the file as it is now."""

    def digest(path: Path) -> str:
        return hashlib.sha256(path.read_bytes()).hexdigest()

    index = json.loads((directory / "certificates.json").read_text())
    for entry in index["calls"]:
        path = directory / entry["folder"] / "manifest.json"
        document = json.loads(path.read_text())
        for one in document["obligations"]:
            for file in filter(None, (one, one["no_wrap"])):
                file["sha256"] = digest(path.parent / file["file"])
        path.write_text(json.dumps(document))
        entry["manifest_sha256"] = digest(path)
    (directory / "certificates.json").write_text(json.dumps(index))


def told(capsys: pytest.CaptureFixture[str], *arguments: str, status: int) -> str:
    """What the one line on stderr, or for other statuses the result, says."""
    assert main(list(arguments)) == status, capsys.readouterr()
    captured = capsys.readouterr()
    if status == 2:
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        return captured.err
    return captured.out


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solver_confirms_every_certificate_of_a_proved_call(solver, certificates, capsys):
    package(solver)
    text = told(capsys, "recheck", str(certificates), "--solver", solver, status=0)
    assert f"{len(read(certificates))} files, {solver}: " in text
    assert " 1 sat, 0 unknown, 0 skipped" in text  # the facts can be satisfied


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solver_confirms_the_counterexample_of_a_refuted_call(solver, tmp_path, capsys):
    package(solver)
    told(capsys, "check", str(EXAMPLE), "--certificates", str(tmp_path / "c"), status=0)
    expected = [one.clause for one in read(tmp_path / "c") if one.expected == "sat"]
    assert expected == ["facts", "src.aligned"]
    told(capsys, "recheck", str(tmp_path / "c"), "--solver", solver, status=0)


@pytest.mark.parametrize("case_id", IDS)
def test_every_clause_has_its_formulas_or_a_reason(case_id, tmp_path):
    write([(call_of(case_id), verdict_of(case_id))], tmp_path / "c")
    document = manifest(tmp_path / "c")
    certified = {one["clause"] for one in document["obligations"]}
    reasons = {one["clause"]: one["reason"] for one in document["uncertified"]}
    statuses = {clause.id: clause.status for clause in verdict_of(case_id).clauses}
    assert statuses.keys() <= certified | reasons.keys()
    assert all(reasons.values())
    for one in document["obligations"]:
        status = statuses.get(one["clause"])
        assert status != PROVED or one["expected"] == "unsat", one
        assert status != REFUTED or {"sat"} & {o["expected"] for o in document["obligations"] if o["clause"] == one["clause"]}
    assert not recheck.recheck(tmp_path / "c", "z3").disagreements


def test_clauses_proved_without_a_solver_are_certified(certificates):
    found = {one["clause"]: one for one in manifest(certificates)["obligations"]}
    assert {"dst.distinct", "dst.bounds", "src.index.range", "src.bounds", "src.contiguous", "src.aligned"} <= found.keys()
    assert found["src.aligned"]["no_wrap"] is not None


def test_the_variant_that_operands_fit_is_certified(tmp_path):
    """mov.b32 into a vector of two halves has an atom of two, as its verdict."""
    halves = {"name": "H", "space": "register", "dtype": "float16", "shape": [2], "layout": "S[2:1]"}
    word = {"name": "W", "space": "register", "dtype": "uint32", "shape": [1], "layout": "S[1:1]"}
    for layout, status in (("S[2:1]", PROVED), ("S[2:0]", REFUTED)):
        document = {"schema": "tilecheck/call@1", "opcode": "mov.b32", "scope": "thread", "operands": [{**halves, "layout": layout}, word]}
        verdict = check(call := read_call(document))
        assert verdict.status == status
        write([(call, verdict)], tmp_path / status)
        assert not recheck.recheck(tmp_path / status, "z3").disagreements
        known = {one["clause"] for key in ("obligations", "uncertified") for one in manifest(tmp_path / status)[key]}
        assert {clause.id for clause in verdict.clauses} <= known
    assert "d.distinct" in {one.clause for one in read(tmp_path / REFUTED) if one.expected == "sat"}


def test_files_stand_alone_and_say_what_they_are(certificates):
    (path,) = certificates.glob("*/*-src.aligned.smt2")
    text = path.read_text(encoding="utf-8")
    for words in (
        "; tilecheck certificate: src.aligned of ld.global.v4.b32 (pitch)",
        "; asks: every row of A starts at a multiple of 16 bytes",
        "; source: PTX ISA",
        "(set-logic QF_BV)",
        "(set-info :status unsat)",
        "; the goal does not hold: 32*n % 128 == 0",
        "(check-sat)",
    ):
        assert words in text, words


def test_the_same_call_gives_the_same_bytes(tmp_path):
    call = read_call(CALL)
    for name in ("a", "b"):
        folder.certify([call], tmp_path / name)
    first, second = ({p.relative_to(tmp_path / n): p.read_bytes() for p in (tmp_path / n).rglob("*") if p.is_file()} for n in ("a", "b"))
    assert first == second


def test_a_verdict_is_the_same_with_certificates(tmp_path, document, capsys):
    plain = json.loads(told(capsys, "check", document, "--format", "json", status=0))
    more = json.loads(told(capsys, "check", document, "--format", "json", "--certificates", str(tmp_path / "d"), status=0))
    for one in (*plain[0]["clauses"], *more[0]["clauses"]):
        one["ms"] = 0
    assert plain == more


def test_a_directory_with_something_in_it_is_refused(tmp_path, document, capsys):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "notes.txt").write_text("mine")
    assert "not empty" in told(capsys, "check", document, "--certificates", str(tmp_path / "c"), status=2)
    assert [p.name for p in (tmp_path / "c").iterdir()] == ["notes.txt"]


def test_a_file_or_a_missing_parent_is_refused(tmp_path, document, capsys):
    assert "is a file" in told(capsys, "check", document, "--certificates", document, status=2)
    assert "does not exist" in told(capsys, "check", document, "--certificates", str(tmp_path / "no" / "c"), status=2)


def test_nothing_is_left_where_writing_fails(tmp_path, monkeypatch):
    plain, calls = folder.scripts, list[str]()

    def failing(stating: object, about: str) -> object:
        calls.append(about)
        if len(calls) > 12:
            raise OSError(28, "No space left on device")
        return plain(stating, about)

    monkeypatch.setattr(folder, "scripts", failing)
    with pytest.raises(folder.InputError, match="No space left on device"):
        folder.certify([read_call(CALL)] * 3, tmp_path / "c")
    assert not (tmp_path / "c").exists()
    (tmp_path / "c").mkdir()
    with pytest.raises(folder.InputError):
        folder.certify([read_call(CALL)] * 3, tmp_path / "c")
    assert list((tmp_path / "c").iterdir()) == []


def test_a_call_that_cannot_be_checked_has_a_manifest_without_obligations(tmp_path):
    document = {**CALL, "opcode": "ld.global.v4.b32.v4"}
    (verdict,) = folder.certify([read_call(document)], tmp_path / "c")
    assert verdict.status == REFUTED
    assert manifest(tmp_path / "c")["obligations"] == []


# --- changes ---------------------------------------------------------------------------------------------------------


def changed(certificates: Path, pattern: str, old: str, new: str) -> Path:
    (path,) = certificates.glob(pattern)
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


CHANGES = {
    "a constant": ("*/*-src.aligned.smt2", "(_ bv32 ", "(_ bv31 "),
    "a premise": ("*/*-src.bounds.smt2", "(assert (bvsle v.n (_ bv56 ", "(assert (bvsle v.n (_ bv62 "),
    "a range": ("*/*-src.aligned.no-wrap.smt2", "(bvsle v.n (_ bv56 ", "(bvsle v.n (_ bv90 "),
}


@pytest.mark.parametrize("what", ["a constant", "a range"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_change_is_seen_and_where_its_hash_is_repaired_contradicted(what, solver, certificates, capsys):
    package(solver)
    path = changed(certificates, *CHANGES[what])
    error = told(capsys, "recheck", str(certificates), "--solver", solver, status=2)
    assert f"{path}: has changed since it was written" in error
    repair(certificates)
    text = told(capsys, "recheck", str(certificates), "--solver", solver, status=1)
    assert f"disagreement: {path.parent.name}/{path.name}: found sat, expected unsat" in text


def test_a_weakened_premise_is_contradicted(certificates, capsys):
    """Bounds need n <= 56, from the assumption: without it, and the range that follows from it, n = 60 would still do, 64 not."""
    paths = [p for p in certificates.glob("*/*-src.bounds.smt2") if "premise: n <= 56" in p.read_text()]
    path = paths[0]
    text = path.read_text().replace("(bvsle v.n (_ bv56 ", "(bvsle v.n (_ bv100 ")
    assert text.count("bv100") == 2
    path.write_text(text)
    told(capsys, "recheck", str(certificates), "--solver", "z3", status=2)
    repair(certificates)
    assert "found sat, expected unsat" in told(capsys, "recheck", str(certificates), "--solver", "z3", status=1)


def test_a_changed_expectation_is_a_changed_manifest(certificates, capsys):
    (path,) = certificates.glob("*/manifest.json")
    path.write_text(path.read_text().replace('"expected": "unsat"', '"expected": "sat"', 1))
    assert f"{path}: has changed" in told(capsys, "recheck", str(certificates), "--solver", "z3", status=2)


def test_a_missing_file_is_named(certificates, capsys):
    (path,) = certificates.glob("*/*-src.aligned.smt2")
    path.unlink()
    assert path.name in told(capsys, "recheck", str(certificates), "--solver", "z3", status=2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("[]", "found a list, expected an object"),
        ("{}", "found the schema 'None', expected 'tilecheck/certificates@1'"),
        ('{"schema": "tilecheck/certificates@1"}', "$.calls: found a NoneType, expected a list"),
        ('{"schema": "tilecheck/certificates@1", "calls": [3]}', "$.calls[0]: found a int, expected an object"),
        ('{"schema": "tilecheck/certificates@1", "calls": [{"folder": "../x", "manifest_sha256": ""}]}', "found the name '../x'"),
        ('{"schema": "tilecheck/certificates@1", "calls": [{"folder": "x"}]}', "$.calls[0].manifest_sha256: found a NoneType"),
        ('{"schema": "tilecheck/certificates@1", "calls": [{"folder": "x", "manifest_sha256": ""}]}', "is missing a file: x/manifest.json"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_broken_index_is_told_in_one_line(text, words, tmp_path, capsys):
    (tmp_path / "certificates.json").write_text(text)
    assert words in told(capsys, "recheck", str(tmp_path), "--solver", "z3", status=2)


def test_a_folder_that_is_none_is_told(tmp_path, capsys):
    assert "is no folder of certificates" in told(capsys, "recheck", str(tmp_path), "--solver", "z3", status=2)
    assert "no such directory" in told(capsys, "recheck", str(tmp_path / "no"), "--solver", "z3", status=2)


# --- solvers ---------------------------------------------------------------------------------------------------------


def test_a_missing_solver_is_told(certificates, capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "bitwuzla", None)
    error = told(capsys, "recheck", str(certificates), "--solver", "bitwuzla", status=2)
    assert "--solver: bitwuzla cannot be imported; install tilecheck[recheck]" in error


def test_what_a_solver_does_not_answer_is_listed(tmp_path, capsys):
    """A product of symbols within one unit of work."""
    package("cvc5")
    operands = [
        CALL["operands"][0],
        {**CALL["operands"][1], "shape": [1 << 40], "view": [{**CALL["operands"][1]["view"][0], "begin": ["n * k"]}]},
    ]
    symbols = [{"name": "n", "min": 0, "max": 1 << 20}, {"name": "k", "min": 0, "max": 1 << 19}]
    folder.certify([read_call({**CALL, "operands": operands, "symbols": symbols, "assume": []})], tmp_path / "c")
    text = told(capsys, "recheck", str(tmp_path / "c"), "--solver", "cvc5", "--rlimit", "1", status=3)
    assert "  unknown: 0001-pitch/" in text


def test_a_logic_that_a_solver_does_not_read_is_skipped_and_counted(tmp_path, capsys):
    package("bitwuzla")
    document = json.loads((Path(__file__).parent.parent / "bugs" / "A09.json").read_text())
    folder.certify([read_call(document["call"])], tmp_path / "c")
    text = told(capsys, "recheck", str(tmp_path / "c"), "--solver", "bitwuzla", status=0)
    assert "skipped: bitwuzla does not read QF_NIA" in text
    found = json.loads(told(capsys, "recheck", str(tmp_path / "c"), "--solver", "bitwuzla", "--format", "json", status=0))
    assert found["counts"]["skipped"] == sum(one["answer"] == "skipped" for one in found["answers"]) > 0
    assert found["disagreements"] == []


def test_a_file_that_a_solver_cannot_read_is_unanswered(certificates, capsys):
    path = changed(certificates, "*/*-src.aligned.smt2", "(check-sat)", "(check-sat")
    repair(certificates)
    text = told(capsys, "recheck", str(certificates), "--solver", "z3", status=3)
    assert f"unknown: {path.parent.name}/{path.name}" in text


def test_comparisons_are_kept_in_one_thread_and_only_inside():
    seen: list[object] = []
    with terms.comparisons_kept():
        other = threading.Thread(target=lambda: seen.append(terms.le(1, 2)))
        other.start()
        other.join()
        with terms.comparisons_kept():
            pass
        assert isinstance(terms.eq(1, 1), terms.Expr)
    assert seen == [True]
    assert terms.eq(1, 1) is True


def test_the_python_functions_are_exported():
    import tilecheck

    assert (tilecheck.certify, tilecheck.recheck) == (folder.certify, recheck.recheck)
    assert isinstance(read_call(CALL), Call)


def test_a_copy_of_an_unbounded_symbol_is_certified(tmp_path):
    """A start that varies between CTAs: participation and races are about two values of it."""
    registers = {"name": "R", "space": "register", "dtype": "bits32", "shape": [4, 8, 4], "layout": "S[(4,8,4):(1,4@laneid,1@laneid)]"}
    view = [{"op": "slice", "begin": [0, 0, "4 * (min(max(i, 0), 2))"], "extent": [None, 8, 4]}]
    memory = {"name": "A", "space": "shared", "dtype": "float32", "shape": [4, 8, 12], "layout": "S[(4,8,12):(96,12,1)]", "align": 16}
    document = {
        "schema": "tilecheck/call@1",
        "opcode": "stmatrix.sync.aligned.m8n8.x4.shared.b16",
        "scope": "warp",
        "launch": {"block": [64], "cluster": [2]},
        "symbols": [{"name": "i", "varies": "cta"}],
        "assume": ["warpid % 2 == 0"],
        "operands": [{**memory, "view": view}, registers],
        "parameters": {"pred": "i > -2"},
    }
    (verdict,) = folder.certify([read_call(document)], tmp_path / "c")
    assert verdict.status == PROVED
    report = recheck.recheck(tmp_path / "c", "z3")
    assert (report.disagreements, report.unanswered) == ((), ())
    assert "memory.race" in {one.certificate.clause for one in report.answers}


def test_a_premise_that_names_no_variable_and_is_false_stays():
    from tilecheck.certificates.obligations import _Stater
    from tilecheck.prove.obligation import Obligation, Variable

    stater = object.__new__(_Stater)
    stater.rests = {}
    n = terms.var("n")
    with terms.comparisons_kept():
        premise = terms.conj(terms.le(0, n), terms.eq(1, 0))
    obligation = Obligation((Variable("n", "symbol", 0, 5),), premise, terms.lt(n, 3))
    assert stater.parts(obligation) == terms.conjuncts(premise)
