"""Real public faults: the verdict of each, and a text report from which a person can name the fault and a repair."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tilecheck import check
from tilecheck.cli import main
from tilecheck.document import read_call

DOCUMENTS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(__file__).parent.glob("*.json"))}
ELEMENT = r"element [A-Z]+\[\d+(, \d+)*\]"
TOLD = {
    "A01": ("element (1, 0) of A", ("byte 6", "byte 4 or 8", "A[1, 0]", "A[1, 1]", "different 4-byte words"), "4 instead of 3 float16"),
    "A02": ("element (0, 0) of A", ("byte 2", "byte 0 or 4", "A[0, 1]", "A[0, 2]", "different 4-byte words"), "at element 0 of axis 1"),
    "A03": ("element A[0]", ("byte 4", "byte 0 or 16", "i = 0, the base of A at 4 mod 16"), "Say align=16 on A"),
    "A06": ("element SM[1]", ("byte 4", "byte 0 or 16", "idx = 1"), "Declare idx with multiple_of=4"),
    "A09": ("repeat 1, word 0: element A[1, 0]", ("byte 20", "byte 16 or 32", "lda = 5"), "Declare lda with multiple_of=4"),
    "A10": ("atom axis word", ("extent 3", "the opcode moves 4"), "a region of shape [2, 4]"),
    "A11": ("repeat 0, word 0: element A[0, 0]", ("byte 8", "byte 0 or 16", "the base of A at 8 mod 16"), "Say align=16 on A"),
    "A15": (
        "element A[524288, 0]",
        ("element offset 2147483648", "<= 2147483647 (int32)", "tok = 524288"),
        "Declare tok with max=524287; or",
    ),
    "A17": ("element A[2147483648]", ("the index 2147483648", "to 2147483647 (int32)"), "say index_dtype int64"),
    "A14": (
        "Element [1, 0]",
        ("A has it at byte 64", "emitted looks at byte 32"),
        "Let emitted look where A writes, by its layout S[(4,8):(16,1)]",
    ),
    "A23": ("Element [1, 0]", ("SM has it at byte 144", "recast looks at byte 128"), "Let recast look where SM writes"),
    "B03": ("Element [1, 0, 0]", ("SM has it at byte 128", "provided looks at byte 0"), "Let provided look where SM writes"),
    "B08": (
        "Element [0, 4]",
        ("P has it at slot 1 of lane 0", "A looks at slot 2 of lane 0"),
        "Let A look where P writes, by its layout S[(2,8,2,4):(2,4@laneid,1,1@laneid)]",
    ),
    "B02": ("element (1, 0) of SM", ("byte 130", "byte 128 or 132", "SM[1, 0]", "different 4-byte words"), "72 instead of 65 float16"),
    "B06": (
        "at fault: trans",
        ("m16n16 needs .trans", "nearest legal: ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8"),
        "`tilecheck explain ldmatrix.sync.aligned.m16n16.x2.shared.b8` says what is wrong",
    ),
    "B09": (
        "column 0, word 1: element B[0, 0, 0, 1]",
        ("laneid 1", "laneid 2"),
        "send element (column, word) to laneid 4*column + word % 4",
    ),
    "B13": ("atom axis word", ("extent 2", "the opcode moves 4"), "a region of shape [3, 4]"),
    "B15": ("element A[0, 64]", ("warp 1", "begin 64*warpid = 64", "end <= 64 on axis 1", "the last index is 63"), "with 64*warpid <= 63"),
    "C01": ("repeat (0, 0), row 8, depth 0: element A[0, 0, 8, 0]", ("byte 16384", "byte 1024", "sdo_bytes 1024 would"), "name the fields"),
    "C02": ("row 0, depth 8: element A[0, 0, 0, 8]", ("byte 128", "byte 16"), "lies as S[(8,8,2,8):(1024,8,64,1)]"),
    "C03": ("row 1, depth 0: element A[0, 0, 1, 0]", ("byte 144", "byte 128", "before the XOR"), "lies as Swizzle(3,3,3) o S["),
    "C04": (
        "column 32, depth 0: element B[128, 0]",
        ("byte 8336", "byte 16384"),
        "A line of swizzle 3 holds 64 elements, 96 are no whole lines",
    ),
    "C05": (
        "warpgroup axis 1, repeat (0, 0), column 32, depth 0: element B[128, 0]",
        ("warp 4", "byte 8336", "byte 16384"),
        "begin at a line, or take a swizzle of which they are",
    ),
    "C06": ("column 0, depth 1: element B[0, 0, 0, 1]", ("byte 32", "byte 16"), "lies as Swizzle(3,1,3) o S[(8,2,8):(1,64,16)]"),
    "C07": (
        "row 0, depth 8: element A[0, 0, 0, 8]",
        ("byte 256", "byte 128", "ldo_bytes and sdo_bytes exchanged would"),
        "name the fields",
    ),
    "C11": (
        "repeat (0, 0), row 0, depth 1: element A[0, 0, 0, 1]",
        ("byte 160 (128 before the XOR)", "byte 64"),
        "lies as Swizzle(3,2,2) o S[(4,32,2,4):(256,1,128,32)]",
    ),
    "D06": ("element SM[0]", ("a multiple of 128 bytes", "byte 64"), "start at a multiple of 128 bytes"),
    "D08": ("repeat 1", ("element SM[1, 0]", "byte 32"), "Pad the pitch of SM to a multiple of 128 bytes, for instance 64 instead of 16"),
    "E01": ("a row of the box", ("96 bytes", "the span of swizzle 1 is 32 bytes"), "rows of at most 32 bytes, or take swizzle 0"),
    "E04": ("the stride of axis 0 of A", ("a multiple of 16 bytes", "1022 bytes"), "1024 instead of 1022 bytes"),
    "E12": ("expected_bytes", ("expected 1024 bytes", "actual 2048 bytes"), "Expect what arrives there, 2048 bytes"),
    "E14": ("the shape of SM", ("[64, 4]", "the opcode moves 8"), "a region of shape [64, 8]"),
    "E17": ("the stride of axis 0 of A", ("a multiple of 16 bytes", "568 bytes"), "576 instead of 568 bytes"),
    "E10": ("element A[896]", ("cta = 3, stage = 1", "end <= 1000 on axis 0", "the last index is 999"), "Declare cta with max=2"),
    "E11": ("element SM[0, 32]", ("byte 128", "byte 144"), "no row cross a multiple of 4 elements of SM: the swizzle"),
    "F01": (
        "warp axis 1, row 0, column 0: element ACC[1, 0, 0]",
        ("warp 1", "a lane from 32 to 63", "lane 0, column 0"),
        "an axis of four warps have the stride 32@TLane",
    ),
    "F04": (
        "element HIGH[0, 0, 0]",
        ("lane 0, column 1", "already written as low [0, 0, 1]"),
        "begin 2 columns or 16 lanes beside the first",
    ),
    "F08": (
        "element ACC[0, 64]",
        ("warp 1", "a lane from 32 to 63", "lane 0, column 64"),
        "eight warps are two to a slab, in other columns",
    ),
    "F05": ("the parameter ncols", ("48", "32 or 64 or 128 or 256 or 512"), "64 instead of 48"),
    "F06": (
        "calls[3] (scale-3, tcgen05.alloc",
        ("at most 512 columns", "608 columns", "512 of calls[0] + 32 of calls[1] + 32 of calls[2] + 32 of calls[3]"),
        "pack several buffers into one",
    ),
    "F14": ("box", ("a row of the box is 1 x 32 bits = 4 bytes", "no multiple of 16"), "make another axis the one of unit stride"),
    "F07": (
        "calls[1] (done, tcgen05.commit.cta_group::2",
        (".cta_group::2", ".cta_group::1", "calls[0] (product, tcgen05.mma.cta_group::1"),
        "Write the same qualifier in every call",
    ),
    "G06": ("group axis warp", ("extent 1", "2 are active"), "a region of shape [2, 32, 16, 1]"),
    "G01": ("chunk_bytes", ("expected 4, 8 or 16 bytes", "found 6 bytes"), "2 for 4 bytes, 4 for 8 bytes, 8 for 16 bytes"),
    "G04": ("element SM[0, 1]", ("byte 4", "byte 16"), "Give the element axis stride 1"),
}
"""By document: the coordinate, the numbers on both sides, the repair; spaces and line breaks do not count."""


OTHERS = {"A07": "vacuous"} | dict.fromkeys(
    ("A18", "A19", "B05", "B10", "D09", "D10", "E06", "E16", "E19", "G07", "G08", "C08", "C09", "C12", "F02", "F11"), "proved"
)
"""The documents that are not refuted."""


def report(document: object, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    path = folder / "document.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    status = main(["check", str(path)])
    return status, capsys.readouterr().out


@pytest.mark.parametrize("name", list(DOCUMENTS))
def test_every_document_gives_its_status_by_its_clause(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document: dict[str, Any] = DOCUMENTS[name]
    status, out = report(document, tmp_path, capsys)
    assert status == 0, out
    assert document["expect"] == OTHERS.get(name, "refuted")
    assert ("clause" in document) == (document["expect"] == "refuted")
    assert out.endswith(f"1 {'call' if 'call' in document else 'kernel'}: 1 {document['expect']}; 1 as expected\n")


def test_every_refuted_document_is_told() -> None:
    assert set(TOLD) == {name for name, document in DOCUMENTS.items() if document["expect"] == "refuted"}


@pytest.mark.parametrize("name", list(TOLD))
def test_the_report_names_the_coordinate_both_numbers_the_source_and_a_repair(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = DOCUMENTS[name]
    status, out = report(document.get("call") or document["kernel"], tmp_path, capsys)
    assert status == 1
    clause = DOCUMENTS[name]["clause"]
    if "kernel" in document:
        out = out[out.index("refuted ") :]
    told = next(part for part in re.split(r"\n(?=  [a-z_.]+: )", out) if re.match(rf"  (\w+\.)*{re.escape(clause)}: ", part))
    words = " ".join(told.split())
    where, numbers, repair = TOLD[name]
    assert where in words, out
    for number in numbers:
        assert number in words, out
    source = r"\[design: views of one allocation\]" if document.get("call", {}).get("opcode") == "agree" else r"\[PTX ISA \d+(\.\d+)+"
    assert re.search(source, words), out
    assert repair in words.partition(" repair ")[2], out
    assert max(map(len, out.splitlines())) <= 80
    assert out.count("\n") <= 32


@pytest.mark.parametrize("name", [name for name, (where, _, _) in TOLD.items() if where.startswith("element A[") or "word 0" in where])
def test_coordinates_are_words(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out = report(DOCUMENTS[name]["call"], tmp_path, capsys)
    assert re.search(rf"    where     (repeat \d+, )?(word|element) 0: {ELEMENT}\n", out), out


def test_one_line_names_the_expected_clause_and_counts_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "two.json"
    path.write_text(json.dumps([DOCUMENTS["A10"], DOCUMENTS["B05"]]), encoding="utf-8")
    assert main(["check", str(path)]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "as expected: dst.shape: the shape of R is [2, 3]" in words
    assert re.search(r"the opcode moves 4 \(\d more clauses fail\)", words)


def test_scales_that_are_major_along_m_have_rows_of_boxes_that_are_long_enough() -> None:
    """The repair of F14: the axis of unit stride comes last, and one column of the box is a row of 128 words."""
    document = json.loads(json.dumps(DOCUMENTS["F14"]["call"]))
    target, source = document["operands"]
    target["shape"], source["shape"], document["parameters"]["box"] = [1, 128], [56, 4096], [1, 128]
    assert check(read_call(document), audit=True).status == "proved"
