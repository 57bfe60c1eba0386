"""What explain and predict say of matrices of bytes and of registers as sources."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.gpu.forms import all_forms, later_forms
from tilecheck.cli import main

FORMS = {form.name: form for form in [*all_forms(), *later_forms()]}
PACKED = "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b6x16_p32"
MOVMATRIX = "movmatrix.sync.aligned.m8n8.trans.b16"


def output(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert main([*arguments]) == status
    return capsys.readouterr().out


def predicted(name: str, folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    path = folder / "call.json"
    path.write_text(json.dumps(FORMS[name].document), encoding="utf-8")
    return output(capsys, "predict", str(path), *options)


def test_explain_says_which_bits_are_cleared_and_where_the_form_exists(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "explain", PACKED)
    assert "sm_100f, sm_110f or sm_120f" in text
    assert "and 0 where 3 <= pair" in text
    assert "register 2*matrix + row // 8" in " ".join(text.split())


def test_explain_draws_all_sixteen_rows_of_addresses(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "explain", PACKED)
    rows = text.partition("gives the address of row")[2].splitlines()
    assert [line.split() for line in rows if line.strip() and line.split()[0].isdigit()] == [[str(k), str(k)] for k in range(16)]


def test_explain_names_every_family_where_an_architecture_has_no_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert "the form needs sm_100f, sm_110f or sm_120f" in output(capsys, "explain", PACKED, "--arch", "sm_100", status=1)
    output(capsys, "explain", PACKED, "--arch", "sm_121a")


def test_explain_shows_both_register_operands_of_movmatrix(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "explain", MOVMATRIX)
    assert "dst[row, word; half] <- src[2*word + half, row // 2; row % 2]" in text
    assert "lane that holds dst[row, word]" in text
    assert "lane that holds src[row, word]" in text


def test_contracts_lists_movmatrix(capsys: pytest.CaptureFixture[str]) -> None:
    assert "movmatrix.sync.aligned.shape.trans.type" in output(capsys, "contracts")


def test_predict_names_registers_as_sources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = predicted(f"{MOVMATRIX}, one matrix", tmp_path, capsys).splitlines()
    assert len(lines) == 32
    assert lines[9] == ("R cta 0 warp 0 lane 9 slot 0 = F cta 0 warp 0 lane 9 slot 0[0..1] F cta 0 warp 0 lane 13 slot 0[0..1]")


def test_predict_shows_cleared_bits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = predicted("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64", tmp_path, capsys, "--set", "n=16").splitlines()
    assert lines[0] == (
        "R cta 0 warp 0 lane 0 slot 0 = A[16] bits 0+4 zero:4 A[16] bits 4+4 zero:4 A[17] bits 0+4 zero:4 A[17] bits 4+4 zero:4"
    )
