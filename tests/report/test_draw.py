"""`tilecheck draw`: cells against formulas written here, what is cut is said, wrong input ends in status 2 and leaves no file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from drawn import bits, figures, lines, offenders, parse, title

from tilecheck.cli import main

ROOT = Path(__file__).resolve().parent.parent.parent
FOUND = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "tests" / "bugs").glob("*.json"))}
BUGS = {name: document["call"] for name, document in FOUND.items() if "call" in document}
LOAD = {
    "schema": "tilecheck/call@1",
    "id": "load",
    "opcode": "ld.global.v2.b32",
    "scope": "cta",
    "launch": {"block": [64]},
    "guard": "warpid == 1",
    "symbols": [{"name": "n", "min": 3, "max": 40, "multiple_of": 2}],
    "operands": [
        {"name": "R", "space": "register", "dtype": "uint32", "shape": [1, 32, 2], "layout": "S[(1,32,2):(1,1@laneid,1)] + 1@warpid"},
        {
            "name": "A",
            "space": "global",
            "dtype": "uint32",
            "shape": [1, 32, 64],
            "align": 8,
            "view": [{"op": "slice", "begin": [0, 0, "n"], "extent": [1, 32, 2]}],
        },
    ],
}


def draw(folder: Path, operand: str, *options: str, name: str = "drawn.svg"):
    """The root of what is drawn."""
    assert main(["draw", operand, "--output", str(folder / name), *options]) == 0
    return parse((folder / name).read_text(encoding="utf-8"))


def document(folder: Path, call: object) -> str:
    path = folder / "call.json"
    path.write_text(json.dumps(call), encoding="utf-8")
    return str(path)


def picture(root, start: str):
    """The lines of texts of the picture whose heading starts so; in a file of SVG the heading stands before it."""
    headings = [one for one in root if one.tag.endswith("}text")]
    at = [k for k, one in enumerate(root) if one in headings and (one.text or "").startswith(start)]
    assert len(at) == 1
    return next(one for one in list(root)[at[0] :] if one.tag.endswith("}svg"))


def swizzle(m: int) -> int:
    return m ^ (m >> 3 & 0b111000)


def test_a_swizzled_layout_has_the_byte_of_every_chunk(tmp_path: Path) -> None:
    root = draw(tmp_path, "Swizzle(3,3,3) o S[(8,64):(64,1)]")
    rows = lines(picture(root, "The layout by coordinate"), among="c")
    bytes_ = [[2 * swizzle(64 * i + 8 * k) for k in range(8)] for i in range(8)]
    assert rows[0] == [str(8 * k) for k in range(8)]
    assert rows[1::2] == [[str(byte) for byte in row] for row in bytes_]
    assert rows[2::2] == [[hex(byte) for byte in row] for row in bytes_]


def test_the_lines_of_memory_name_the_coordinate_that_lies_there(tmp_path: Path) -> None:
    root = draw(tmp_path, "Swizzle(3,3,3) o S[(8,64):(64,1)]")
    rows = lines(picture(root, "The layout in memory"), among="c")[1:]
    assert len(rows) == 8
    for i, row in enumerate(rows):
        for k, name in enumerate(row):
            line, column = map(int, name.split(","))
            assert 2 * swizzle(64 * line + column) == 128 * i + 16 * k


def test_the_xor_of_the_first_moved_element_is_shown(tmp_path: Path) -> None:
    figure = picture(draw(tmp_path, "Swizzle(3,3,3) o S[(8,64):(64,1)]"), "What the swizzle does to the offset of element [1, 0]")
    assert [int(bits(figure, label)[0], 2) for label in ("offset", "XOR", "swizzled")] == [64, 8, 72]


def test_elements_that_do_not_stay_together_have_cells_of_their_own(tmp_path: Path) -> None:
    root = draw(tmp_path, "S[(4,4):(1,4)]", "--dtype", "float32")
    rows = lines(picture(root, "The layout by coordinate"), among="c")
    assert rows[1::2] == [[str(4 * (i + 4 * j)) for j in range(4)] for i in range(4)]


def test_elements_below_a_byte_name_their_bit(tmp_path: Path) -> None:
    rows = lines(picture(draw(tmp_path, "S[3:1]", "--dtype", "int4"), "The layout by coordinate"), among="c")
    assert rows[1] == ["0", "0.4", "1"]


def test_a_thread_layout_has_lane_and_slot_in_each_cell(tmp_path: Path) -> None:
    root = draw(tmp_path, "S[(8,4,2):(4@laneid,1@laneid,1)] + 2@warpid")
    rows = lines(picture(root, "The layout by coordinate"), among="c")
    assert rows[1::2] == [[f"w2 l{4 * i + j // 2}" for j in range(8)] for i in range(8)]
    assert rows[2::2] == [[f"m {j % 2}" for j in range(8)] for _ in range(8)]


def test_elements_on_the_same_bytes_are_said(tmp_path: Path) -> None:
    root = draw(tmp_path, "S[(4,8):(0,1)]")
    assert "Red: several elements lie on the same bytes." in "".join(root.itertext())
    assert lines(picture(root, "The layout in memory"), among="x") == [["0,0 +3"]]
    assert "Red" not in "".join(draw(tmp_path, "S[(4,8):(8,1)]").itertext())


def test_large_layouts_are_cut_and_say_so(tmp_path: Path) -> None:
    root = draw(tmp_path, "S[(1000000,1000000):(1000000,1)]", "--dtype", "float32")
    words = " ".join(" ".join(root.itertext()).split())
    assert "The first 32 of 1000000 rows are drawn." in words
    assert re.search(r"The first 128 of 1000000 columns are drawn\.", words)
    assert (tmp_path / "drawn.svg").stat().st_size < 400_000


def test_symbols_of_a_layout_are_set_or_least(tmp_path: Path) -> None:
    least, given = draw(tmp_path, "S[(n // 2,4):(k,1)]"), draw(tmp_path, "S[(n // 2,4):(k,1)]", "--set", "n=6", "--set", "k=8")
    assert "k = 0  n = 2" in "".join(least.itertext())
    rows = lines(picture(given, "The layout by coordinate"), among="c")
    assert [row[0] for row in rows[1::2]] == ["0", "16", "32"]


def test_the_suffix_says_whether_it_is_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert draw(tmp_path, "S[4:1]", name="drawn.html").tag.endswith("}html")
    assert draw(tmp_path, "S[4:1]", name="drawn.svg").tag.endswith("}svg")
    assert main(["draw", "S[4:1]"]) == 0
    assert parse(capsys.readouterr().out).tag.endswith("}svg")
    assert main(["draw", "S[4:1]", "--format", "html"]) == 0
    assert parse(capsys.readouterr().out).tag.endswith("}html")


def test_light_and_dark_stand_in_the_file_itself(tmp_path: Path) -> None:
    text = "".join(draw(tmp_path, "S[4:1]").itertext())
    assert "prefers-color-scheme:dark" in text
    assert "url(" not in text


def test_a_document_draws_the_owners_and_the_walk(tmp_path: Path) -> None:
    root = draw(tmp_path, document(tmp_path, LOAD), "--set", "n=6")
    owners = lines(picture(root, "Ownership of dst (R)"), among="c")
    assert owners[1::2] == [[f"lane {lane}", f"lane {lane}"] for lane in range(32)]
    assert owners[2::2] == [["slot 0", "slot 1"]] * 32
    walk = [line for line in lines(picture(root, "Address walk of src (A)"), among="e") if ":" in line[0]]
    assert walk == [[f"1:{lane}", f"A[0, {lane}, 6]", str(256 * lane + 24), hex(256 * lane + 24), "0"] for lane in range(32)]
    assert offenders(root) == []


def test_a_document_takes_the_least_values(tmp_path: Path) -> None:
    assert "n = 4" in "".join(draw(tmp_path, document(tmp_path, LOAD)).itertext())


def test_one_value_a_lane_is_drawn_lane_by_lane(tmp_path: Path) -> None:
    call = {
        "schema": "tilecheck/call@1",
        "opcode": "ld.global.b32",
        "scope": "thread",
        "launch": {"block": [32]},
        "symbols": [{"name": "n", "min": 0, "max": 63, "varies": "thread"}],
        "operands": [
            {"name": "R", "space": "register", "dtype": "uint32", "shape": [1]},
            {"name": "A", "space": "global", "dtype": "uint32", "shape": [64], "view": [{"op": "slice", "begin": ["n"], "extent": [1]}]},
        ],
    }
    values = [7 * lane % 64 for lane in range(32)]
    root = draw(tmp_path, document(tmp_path, call), "--set", f"n={values}")
    walk = [line for line in lines(picture(root, "Address walk of src (A)"), among="e") if line[0].isdigit()]
    assert [line[1:3] for line in walk] == [[f"A[{value}]", str(4 * value)] for value in values]


@pytest.mark.parametrize("name", [name for name in BUGS if name != "A07"])
def test_every_real_fault_is_drawn(name: str, tmp_path: Path) -> None:
    root = draw(tmp_path, document(tmp_path, BUGS[name]))
    assert figures(root)
    assert title(root).startswith(name)


def test_without_a_contract_the_declared_layouts_are_drawn(tmp_path: Path) -> None:
    root = draw(tmp_path, document(tmp_path, LOAD | {"opcode": "nothing.like"}), "--set", "n=6")
    words = "".join(root.itertext())
    assert "R by coordinate" in words
    assert "A in memory" in words
    assert "the declared layouts: its operands do not fit a contract" in words


def test_names_of_a_document_are_escaped(tmp_path: Path) -> None:
    name = "<script>x</script> & \"q\" 'a' \x00\u202e"
    operands = [{**LOAD["operands"][0], "name": name}, {**LOAD["operands"][1], "name": name}]
    for file in ("drawn.svg", "drawn.html"):
        root = draw(tmp_path, document(tmp_path, LOAD | {"id": name, "operands": operands}), name=file)
        text = (tmp_path / file).read_text(encoding="utf-8")
        assert "<script" not in text
        assert "\u202e" not in text
        assert "<script>x</script> & \"q\" 'a' \\x00\\u202e" in "".join(root.itertext())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["S[(4,8:(0,1)]"], "column 13"),
        (["S[(4,8):(0,1@foo)]"], "found the axis 'foo'"),
        (["Swizzle(3,4,3) o S[8:1]"], "atom_len"),
        (["Swizzle(3,3,3) S[8:1]"], "column 1"),
        (["S[0:1]"], "expected at least 1"),
        (["S[n:1]", "--set", "n=0"], "expected 1 or more everywhere"),
        (["S[n:1]", "--set", "m=4"], "no symbol 'm'"),
        (["S[n:1]", "--set", "n"], "expected NAME=INTEGER"),
        (["S[n:1]", "--set", "n=[1,2]"], "expected NAME=INTEGER"),
        (["S[n:1]", "--set", "n=4", "--set", "n=5"], "set twice"),
        (["S[4 // 0:1]"], "4 // 0 has no value"),
        (["S[4:1 % n]", "--set", "n=0"], "1 % n has no value"),
        (["S[n - n:1]"], "set them with --set"),
        (["S[4:1]", "--dtype", "half"], "the dtype 'half'"),
        (["nothing.json"], "no such file"),
        ([""], "cannot be read"),
    ],
)
def test_wrong_input_ends_in_2_with_one_line_and_leaves_no_file(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["draw", *arguments, "--output", "drawn.svg"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert words.lower() in err.lower()
    assert list(tmp_path.iterdir()) == []


def test_documents_are_told_as_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for call, words in (
        ({**LOAD, "scope": "grid"}, "$.scope"),
        ([LOAD, LOAD], "found 2 calls, expected one"),
        (BUGS["A07"], "no values of the symbols"),
        ({**LOAD, "operands": []}, "nothing to draw"),
    ):
        assert main(["draw", document(tmp_path, call)]) == 2
        assert words in capsys.readouterr().err
    assert main(["draw", document(tmp_path, LOAD), "--set", "n=5"]) == 2
    assert main(["draw", document(tmp_path, LOAD), "--format", "json"]) == 2


def test_the_same_layout_gives_the_same_bytes(tmp_path: Path) -> None:
    texts = []
    for _ in range(2):
        draw(tmp_path, "Swizzle(3,3,3) o S[(8,64):(64,1)]")
        texts.append((tmp_path / "drawn.svg").read_bytes())
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("file", "operand"),
    [("swizzle.svg", "Swizzle(3,3,3) o S[(8,64):(64,1)]"), ("row-pitch-66.svg", str(ROOT / "docs" / "examples" / "row-pitch-66.json"))],
)
def test_the_pictures_of_the_book_are_what_is_drawn(file: str, operand: str, tmp_path: Path) -> None:
    draw(tmp_path, operand)
    assert (ROOT / "docs" / "how-to" / "pictures" / file).read_text(encoding="utf-8") == (tmp_path / "drawn.svg").read_text(
        encoding="utf-8"
    )
