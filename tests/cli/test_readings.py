"""--reading: what one of the documents says where they disagree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.prove.tcgen05_documents import mma
from tilecheck import InputError, check
from tilecheck.cli import main
from tilecheck.document import read_call

LOOSE = mma("tcgen05.mma.cta_group::1.kind::f16", 128, 24)


@pytest.fixture
def loose(tmp_path: Path) -> str:
    path = tmp_path / "loose.json"
    path.write_text(json.dumps(LOOSE), encoding="utf-8")
    return str(path)


def test_a_looser_reading_is_named_and_may_be_chosen(loose: str, capsys: pytest.CaptureFixture[str]):
    assert main(["check", loose]) == 1
    assert "the reading isa or cutlass takes it" in " ".join(capsys.readouterr().out.split())
    assert main(["check", "--reading", "isa", loose]) == 0
    assert main(["check", "--reading", "tirx", loose]) == 1


def test_an_unknown_reading_is_a_wrong_command(loose: str):
    assert main(["check", "--reading", "rumour", loose]) == 2
    with pytest.raises(InputError, match="rumour"):
        check(read_call(LOOSE), reading="rumour")


def test_certificates_have_no_reading(loose: str, tmp_path: Path):
    assert main(["check", "--reading", "isa", "--certificates", str(tmp_path / "out"), loose]) == 2


def test_a_reading_changes_nothing_where_documents_agree():
    document = mma("tcgen05.mma.cta_group::1.kind::f16", 64, 8)
    assert {check(read_call(document), reading=reading).status for reading in ("", "isa", "cutlass", "tirx")} == {"proved"}
