"""Documents of kernels on the command line: answers, exit statuses, formats, and what is wrong with a document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tilecheck.cli import main
from tilecheck.schema import schema

BUGS = Path(__file__).parent.parent / "bugs"
HANDLE = {"name": "H", "space": "shared", "dtype": "uint32", "shape": [1], "align": 4}
OPCODE = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"


def alloc(ncols: int, name: str = "", **more: Any) -> dict[str, Any]:
    document = {"schema": "tilecheck/call@1", "id": name, "opcode": OPCODE, "scope": "warp", "guard": "warpid == 0", "operands": [HANDLE]}
    return {**document, "parameters": {"ncols": ncols}, **more}


def kernel(*calls: object, **more: object) -> dict[str, Any]:
    return {"schema": "tilecheck/kernel@1", "id": "k", "launch": {"block": [64]}, "calls": list(calls), **more}


def run(folder: Path, document: object, *options: str, lines: bool = False) -> int:
    path = folder / ("kernel.jsonl" if lines else "kernel.json")
    texts = [json.dumps(one) for one in document] if lines and isinstance(document, list) else [json.dumps(document)]
    path.write_text("\n".join(texts), encoding="utf-8")
    return main(["check", str(path), *options])


def test_a_kernel_is_answered_for_behind_its_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, kernel(alloc(256, "a"), alloc(256, "b")), "--format", "json", "--audit") == 0
    answers = json.loads(capsys.readouterr().out)
    assert [(one["id"], one["status"]) for one in answers] == [("a", "proved"), ("b", "proved"), ("k", "proved")]
    assert [one["id"] for one in answers[-1]["hazards"]] == ["allocation.kept"]


def test_exit_status_1_where_what_is_shared_is_refuted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, kernel(alloc(512, "a"), alloc(256, "b"))) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "calls[1] (b, tcgen05.alloc" in out
    assert "512 of calls[0] + 256 of calls[1]" in out
    assert out.endswith("2 calls: 2 proved 1 kernel: 1 refuted")


def test_strict_fails_a_hazard(tmp_path: Path) -> None:
    assert run(tmp_path, kernel(alloc(512))) == 0
    assert run(tmp_path, kernel(alloc(512)), "--strict") == 1


def test_calls_of_a_file_are_a_kernel_only_where_it_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls = [alloc(512), alloc(512)]
    for lines in (False, True):
        assert run(tmp_path, calls, lines=lines) == 0
        assert run(tmp_path, calls, "--together", lines=lines) == 1
    assert run(tmp_path, [kernel(alloc(512)), kernel(alloc(512))]) == 0
    assert "2 kernels: 2 proved" in capsys.readouterr().out


def test_a_case_says_what_is_expected_of_the_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = kernel(alloc(512), alloc(512))
    assert run(tmp_path, {"expect": "refuted", "clause": "footprint", "kernel": two}) == 0
    assert run(tmp_path, {"expect": "refuted", "clause": "opcode", "kernel": two}) == 1
    assert run(tmp_path, {"expect": "proved", "kernel": two}) == 1
    assert "1 kernel: 1 refuted; 0 as expected, 1 NOT" in capsys.readouterr().out
    small = {"expect": "refuted", "clause": "operands", "call": alloc(48)}
    assert run(tmp_path, kernel(small, alloc(32))) == 0


def test_arch_and_launch_are_those_of_the_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, kernel(alloc(32), arch="sm_90a")) == 1
    assert run(tmp_path, kernel(alloc(32, arch="sm_100a"), arch="sm_90a")) == 0
    capsys.readouterr()
    assert run(tmp_path, kernel(alloc(32, guard=True))) == 1
    assert "warp 0 of CTA 0 and warp 1 of CTA 0" in " ".join(capsys.readouterr().out.split())


def test_every_format_shows_a_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("text", "json", "jsonl", "html"):
        assert run(tmp_path, kernel(alloc(512), alloc(32)), "--format", form) == 1
        assert "allocation.footprint" in capsys.readouterr().out


WRONG = {
    "no calls": (kernel(), "$.calls"),
    "a key": (kernel(alloc(32), call=1), "$"),
    "no list": (kernel() | {"calls": alloc(32)}, "$.calls"),
    "a kernel in a kernel": (kernel(kernel(alloc(32))), "$.calls[0]"),
    "another launch": (kernel(alloc(32), alloc(32, launch={"block": [32]})), "$.calls[1].launch"),
    "another launch in a case": (kernel({"call": alloc(32, launch={"block": [32]})}), "$.calls[0].call.launch"),
    "a call that is none": (kernel(alloc(32), {**alloc(32), "scope": "grid"}), "$.calls[1].scope"),
    "a case of something else": ({"expect": "proved", "kernel": alloc(32)}, "$.kernel"),
    "a launch that is none": (kernel(alloc(32), launch={"block": [0]}), "$.launch.block[0]"),
    "a schema that is none": ({**kernel(alloc(32)), "schema": "tilecheck/kernel@2"}, "$"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_a_document_is_told_by_its_path(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document, path = WRONG[name]
    assert run(tmp_path, document) == 2
    error = capsys.readouterr().err
    assert f": {path}" in error, error
    assert "internal" not in error


def test_documents_follow_the_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(schema("kernel"))
    good = kernel(alloc(32), {"expect": "proved", "call": alloc(32)}, arch="sm_100a")
    validator.validate(good)
    validator.validate(json.loads((BUGS / "F06.json").read_text(encoding="utf-8"))["kernel"])
    for name in ("no calls", "a key", "no list", "a launch that is none", "a schema that is none"):
        assert not validator.is_valid(WRONG[name][0]), name
    cases = jsonschema.Draft202012Validator(schema("case"))
    cases.validate({"expect": "refuted", "kernel": good})
    assert not cases.is_valid({"expect": "refuted"})


def test_a_claim_may_return_a_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = """
from tilecheck import Launch, Tensor, apply, claim, kernel

def alloc(ncols):
    handle = Tensor("H", (1,), "uint32", space="shared")
    return apply("{opcode}", handle, scope="warp", launch=Launch(block=(32,)), ncols=ncols)

@claim
def fits(): return kernel([alloc(256), alloc(256)])

@claim(refuted="allocation.footprint")
def does_not_fit(): return kernel([alloc(512), alloc(32)])
""".replace("{opcode}", OPCODE)
    path = tmp_path / "claims.py"
    path.write_text(source, encoding="utf-8")
    assert main(["check", str(path)]) == 0
    assert "2 kernels: 1 proved, 1 refuted; 2 as expected" in capsys.readouterr().out
