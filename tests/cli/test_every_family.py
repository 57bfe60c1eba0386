"""Every command answers for a legal call of every instruction, and none ends in an internal error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from known_cases import cases

from tests.gpu.ewise_forms import ewise_forms
from tests.gpu.im2col_forms import walk_forms
from tests.gpu.mma_forms import mma_forms, sparse_forms
from tests.gpu.register_forms import arithmetic_forms, register_forms
from tests.gpu.wgmma_forms import wgmma_forms
from tilecheck.cli import main
from tilecheck.spec import mnemonic_of

KINDS = {
    "register": register_forms,
    "arithmetic": arithmetic_forms,
    "mma": mma_forms,
    "sparse mma": sparse_forms,
    "scalar function": ewise_forms,
    "walk": walk_forms,
    "wgmma": wgmma_forms,
}
COMMANDS = ("check", "premises", "emit", "predict", "draw")


def legal() -> dict[str, dict[str, Any]]:
    """The first legal call of each mnemonic."""
    found: dict[str, dict[str, Any]] = {}
    for case in cases().values():
        if case.expect == "proved":
            found.setdefault(case.mnemonic, dict(case.document))
    for name, forms in KINDS.items():
        for form in forms():
            found.setdefault(f"{mnemonic_of(form.document['opcode'])}, {name}", form.document)
    return found


LEGAL = legal()


@pytest.mark.parametrize("name", LEGAL)
def test_every_command_answers(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "call.json"
    path.write_text(json.dumps(LEGAL[name]), encoding="utf-8")
    for command in COMMANDS:
        status = main([command, str(path)])
        printed = capsys.readouterr()
        assert "internal error" not in printed.err, f"{command}: {printed.err}"
        assert status == 0 or (status, printed.err.count("\n")) in {(1, 1), (2, 1)}, f"{command}: {status} {printed.err}"
        assert printed.out or printed.err, command
    assert main(["explain", LEGAL[name]["opcode"]]) == 0
    assert "internal error" not in capsys.readouterr().err
    assert main(["check", str(path), "--format", "html", "--output", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
