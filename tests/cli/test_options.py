"""Options: defaults, `[tool.tilecheck]` of pyproject.toml over them, the command line over both."""

from pathlib import Path

import pytest

from tilecheck.cli import main
from tilecheck.errors import InputError
from tilecheck.report.options import Options, options_from


def toml(folder: Path, text: str) -> Path:
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    return folder


def test_the_command_line_goes_over_pyproject_and_that_over_the_defaults(tmp_path: Path) -> None:
    assert options_from({}, tmp_path) == Options()
    folder = toml(tmp_path, '[tool.tilecheck]\nformat = "json"\njobs = 4\nstrict = true\narch = "sm_90a"\n')
    assert options_from({}, folder) == Options(format="json", jobs=4, strict=True, arch="sm_90a")
    audited = toml(tmp_path, "[tool.tilecheck]\naudit = true\nrlimit = 1000\n")
    assert options_from({}, audited) == Options(audit=True, rlimit=1000)
    assert options_from({"audit": False, "rlimit": "7"}, audited) == Options(rlimit=7)
    folder = toml(tmp_path, '[tool.tilecheck]\nformat = "json"\njobs = 4\nstrict = true\narch = "sm_90a"\n')
    assert options_from({"format": "text", "jobs": "2", "strict": False}, folder) == Options(jobs=2, arch="sm_90a")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tool.tilecheck]\ncolour = 1", "colour"),
        ('[tool.tilecheck]\noutput = "x"', "output"),
        ('[tool.tilecheck]\nset = ["n=4"]', "set"),
        ("[tool.tilecheck]\njobs = true", "expected an integer"),
        ('[tool.tilecheck]\njobs = "2"', "expected an integer"),
        ("[tool.tilecheck]\njobs = 0", "expected 1 to 1024"),
        ("[tool.tilecheck]\njobs = 2.0", "expected an integer"),
        ("[tool.tilecheck]\nstrict = 1", "expected true or false"),
        ("[tool.tilecheck]\naudit = 1", "expected true or false"),
        ('[tool.tilecheck]\nrlimit = "many"', "expected an integer"),
        ("[tool.tilecheck]\nrlimit = 0", "expected 1 to 4294967295"),
        ('[tool.tilecheck]\nformat = "xml"', "expected one of text, json, jsonl"),
        ('[tool.tilecheck]\narch = "90"', "sm_90a"),
        ("[tool.tilecheck]\nformat = []", "expected text"),
        ("[tool]\ntilecheck = 3", "expected a table"),
        ("[tool.tilecheck\n", "not TOML"),
    ],
)
def test_a_wrong_table_ends_in_2(
    text: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(toml(tmp_path, text))
    assert main(["contracts"]) == 2
    err = capsys.readouterr().err
    assert "pyproject.toml" in err
    assert words in err
    assert err.count("\n") == 1


def test_a_pyproject_without_the_table_is_fine(tmp_path: Path) -> None:
    assert options_from({}, toml(tmp_path, '[tool]\n[project]\nname = "x"')) == Options()


def test_strict_of_pyproject_can_be_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(toml(tmp_path, "[tool.tilecheck]\nstrict = true"))
    assert main(["check", "--no-strict", "-", "--format", "yaml"]) == 2
    assert options_from({"strict": False}).strict is False
    assert options_from({}).strict is True


def test_numbers_are_integers() -> None:
    for text in ("1.5", "1e3", "\uff11", "9" * 30, ""):
        with pytest.raises(InputError, match="expected an integer"):
            options_from({"jobs": text}, Path("/nowhere"))
