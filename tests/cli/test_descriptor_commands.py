"""`explain descriptor` and `import descriptor` as commands."""

import json

import pytest

from tilecheck.cli import main

WALK = (
    "explain",
    "descriptor",
    "--ldo",
    "16",
    "--sdo",
    "1024",
    "--swizzle",
    "3",
    "--major",
    "k",
    "--dtype",
    "float16",
    "--rows",
    "16",
    "--columns",
    "16",
)


def output(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert main(list(arguments)) == status
    captured = capsys.readouterr()
    return captured.err if status else captured.out


def test_a_walk_is_a_list_of_rows_columns_and_bytes(capsys):
    walk = json.loads(output(capsys, *WALK, "--format", "json"))["walk"]
    assert [entry[:2] for entry in walk] == [[row, column] for row in range(16) for column in range(16)]
    assert walk[0] == [0, 0, 0]
    assert walk[17] == [1, 1, 146]
    assert walk[8 * 16] == [8, 0, 1024]
    assert {byte for _, _, byte in walk} == {
        line * 128 + 16 * (chunk ^ line % 8) + 2 * k for line in range(16) for chunk in range(2) for k in range(8)
    }


def test_a_start_inside_a_line_moves_the_walk_before_the_swizzle(capsys):
    walk = json.loads(output(capsys, *WALK, "--start", "32", "--format", "jsonl"))["walk"]
    assert walk[:2] == [[0, 0, 32], [0, 1, 34]]
    assert walk[16] == [1, 0, 128 + (32 ^ 16)]
    assert walk[2 * 16] == [2, 0, 256]


def test_the_picture_names_what_is_not_read(capsys):
    text = output(capsys, *WALK)
    assert "ldo_bytes  16, not read" in text
    assert "Swizzle(3,3,3) o S[(2,8,16):(512,64,1)]" in text
    assert "128      1.8  1.0    .    .    .    .    .    ." in text


def test_exchanged_roles_are_named(capsys):
    arguments = [*WALK[:2], "--ldo", "128", "--sdo", "256", "--swizzle", "0", "--major", "mn", "--rows", "16", "--columns", "16"]
    text = output(capsys, *arguments)
    assert "ldo_bytes  128 from 8 columns to the next 8" in text
    assert "sdo_bytes  256 from 8 elements along M or N to the next 8" in text


def test_strides_that_alias_are_named(capsys):
    assert "note" not in output(capsys, *WALK)
    text = output(capsys, *WALK[:4], "--sdo", "512", *WALK[6:])
    assert "the strides alias: (row, column) (4, 0) and (8, 0) are read from one place" in text


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"--ldo": "8"}, "--ldo: found 8, expected a multiple of 16 below 262144"),
        ({"--sdo": "262144"}, "--sdo: found 262144, expected a multiple of 16 below 262144"),
        ({"--start": "8"}, "--start: found 8, expected a multiple of 16 below 262144"),
        ({"--swizzle": "5"}, "--swizzle: found 5, expected one of 0, 1, 2, 3 for k-major elements of 16 bits"),
        ({"--swizzle": "4"}, "--swizzle: found 4, expected one of 0, 1, 2, 3 for k-major elements of 16 bits"),
        ({"--major": "mn", "--dtype": "float32"}, "--swizzle: found 3, expected one of 4 for mn-major elements of 32 bits"),
        ({"--dtype": "float64"}, "--swizzle: found 3, expected another --major or --dtype: there is none for k-major elements of 64 bits"),
        ({"--dtype": "half"}, "found the dtype 'half'"),
        ({"--columns": "128"}, "--columns: found rows of 256 bytes, expected at most 128, the span of swizzle 3"),
        ({"--rows": "0"}, "--rows: found 0, expected 1 or more"),
        ({"--rows": "65537"}, "expected at most 65536"),
        ({"--rows": None}, "explain descriptor: needs --rows"),
        ({"--ldo": "x"}, "--ldo: found 'x', expected an integer"),
    ],
)
def test_a_wrong_option_is_named(capsys, changed, words):
    pairs = dict(zip(WALK[2::2], WALK[3::2], strict=True)) | changed
    arguments = [*WALK[:2], *(part for name, value in pairs.items() if value is not None for part in (name, value))]
    error = output(capsys, *arguments, status=2)
    assert words in error
    assert error.count("\n") == 1


def test_the_fields_of_a_matrix_mean_nothing_to_an_opcode(capsys):
    assert "--sdo: means something for `explain descriptor` only" in output(capsys, "explain", "ld.global.b32", "--sdo", "16", status=2)


@pytest.mark.parametrize(
    ("word", "encoding", "start", "descriptor"),
    [
        ("0x4000004000010040", "wgmma", 1024, [16, 1024, 3]),
        ("4611686293305360448", "wgmma", 1024, [16, 1024, 3]),
        ("0x8000002000010000", "wgmma", 0, [16, 512, 2]),
        ("0xC000001000010000", "wgmma", 0, [16, 256, 1]),
        ("0x4000404000010040", "tcgen05", 1024, [16, 1024, 3]),
        ("0x2000402000400000", "tcgen05", 0, [1024, 512, 4]),
    ],
)
def test_a_word_is_decoded(capsys, word, encoding, start, descriptor):
    found = json.loads(output(capsys, "import", "descriptor", word, "--format", "json"))
    assert found == {"word": f"{int(word, 0):#018x}", "encoding": encoding, "start_bytes": start, "descriptor": descriptor}
    text = output(capsys, "import", "descriptor", word)
    assert f"parameter  {descriptor}" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("descriptor", "0x4002004000010040"), "base_offset (bits 51:49) is 1, expected 0"),
        (("descriptor", "0x4010404000010040"), "ldo_mode (bits 52:52) is 1, expected 0"),
        (("descriptor", "0x14000004000010040"), "expected 64 bits"),
        (("descriptor", "-1"), "expected"),
        (("descriptor", "word"), "found 'word', expected a number such as"),
        (("cute", "(8,8):(8,1)"), "found the form 'cute', expected descriptor"),
    ],
)
def test_what_is_no_descriptor_is_refused_in_one_line(capsys, arguments, words):
    error = output(capsys, "import", *arguments, status=2)
    assert words in error
    assert error.count("\n") <= 1 or arguments[1] == "-1"


@pytest.mark.parametrize(("arguments", "status"), [(("-h",), 0), ((), 2), (("descriptor",), 2)])
def test_the_help_of_import_names_both_words(capsys, arguments, status):
    assert main(["import", *arguments]) == status
    printed = capsys.readouterr()
    assert "FORM TEXT" in printed.out + printed.err
    assert "internal error" not in printed.err
