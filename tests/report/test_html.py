"""The page of a run: well-formed and self-contained, each failing element marked once and where the counterexample is, numbers right."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from drawn import bits, figures, lines, offenders, parse, title

from tilecheck.cli import main

ROOT = Path(__file__).resolve().parent.parent.parent
FOUND = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "tests" / "bugs").glob("*.json"))}
BUGS = {name: document for name, document in FOUND.items() if "call" in document}
PITCH = json.loads((ROOT / "docs" / "examples" / "row-pitch-66.json").read_text(encoding="utf-8"))
REGISTERS = {"name": "R", "space": "register", "dtype": "uint32", "shape": [4, 8, 4], "layout": "S[(4,8,4):(1,4@laneid,1@laneid)]"}
AS_ROWS = [
    {"op": "slice", "begin": [0, 0], "extent": [8, 32]},
    {"op": "view", "dtype": "uint32"},
    {"op": "rearrange", "pattern": "r (m w) -> m r w", "sizes": {"w": 4}},
]
TILE = {"name": "SM", "space": "shared", "dtype": "float16", "shape": [8, 64], "align": 128, "view": AS_ROWS}


def matrix(registers: object = None, tile: object = None, **more: object) -> dict[str, Any]:
    operands = [{**REGISTERS, **(registers or {})}, {**TILE, **(tile or {})}]
    opcode = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
    return {"schema": "tilecheck/call@1", "id": "load", "opcode": opcode, "scope": "warp", "operands": operands, **more}


def vector(memory: object, registers: object = None, opcode: str = "ld.global.v4.b32", **more: object) -> dict[str, Any]:
    operands = [
        {"name": "R", "space": "register", "dtype": "uint32", "shape": [4], **(registers or {})},
        {"name": "A", "space": "global", "dtype": "uint32", "shape": [4], "align": 16, **memory},
    ]
    return {"schema": "tilecheck/call@1", "opcode": opcode, "scope": "thread", "operands": operands, **more}


class Ran:
    """The page of some documents, and the verdicts that JSON gives of them."""

    def __init__(self, documents: object, folder: Path, *options: str) -> None:
        source, page, answers = folder / "calls.json", folder / "page.html", folder / "answers.json"
        source.write_text(json.dumps(documents), encoding="utf-8")
        self.status = main(["check", str(source), "--format", "html", "--output", str(page), *options])
        main(["check", str(source), "--format", "json", "--output", str(answers), *options])
        self.text = page.read_text(encoding="utf-8")
        self.root = parse(self.text)
        self.verdicts = json.loads(answers.read_text(encoding="utf-8"))

    def example(self, clause: str) -> dict[str, Any]:
        (found,) = [
            one["counterexample"]
            for verdict in self.verdicts
            for one in verdict["clauses"]
            if one["id"] == clause and one["status"] == "refuted"
        ]
        return found

    def figure(self, start: str) -> Any:
        (found,) = [svg for svg in figures(self.root) if title(svg).startswith(start)]
        return found

    def words(self) -> str:
        return " ".join("".join(self.root.itertext()).split())


MARKED = {
    "src.storage": "The elements that become one",
    "src.aligned": "Address walk",
    "dst.aligned": "Address walk",
    "src.index.range": "The value against",
    "dst.bounds": "The slice on its axis",
    "src.bounds": "The slice on its axis",
    "src.contiguous": "Byte by byte along the row",
    "dst.contiguous": "Byte by byte along the row",
    "b.owner": "Ownership of b",
    "src.partition": "Tensor memory of src",
    "high.distinct": "Tensor memory of high",
}


PLACELESS = {"opcode", "operands", "shape", "type", "box", "descriptor", "explicit", "image"}
"""Clauses about what has no place (a spelling, a shape, a type, a field of a tensor map), or two, in views that no instruction names."""


@pytest.mark.parametrize("name", list(BUGS))
def test_every_real_fault_has_its_page_with_the_element_marked_once(name: str, tmp_path: Path) -> None:
    ran = Ran(BUGS[name]["call"], tmp_path)
    verdict = ran.verdicts[0]
    assert ran.status == {"proved": 0, "refuted": 1, "vacuous": 3}[verdict["status"]]
    failing = [one for one in verdict["clauses"] if one["status"] == "refuted" and one["id"] in MARKED]
    named = {one["id"].removeprefix(f"{one['id'].split('.')[0]}.") for one in verdict["clauses"] if one["status"] == "refuted"}
    assert failing or named <= PLACELESS or verdict["status"] != "refuted"
    assert len(offenders(ran.root)) == len(failing)
    for one in failing:
        at = one["counterexample"]
        figure = ran.figure(MARKED[one["id"]])
        ((where, byte),) = offenders(figure)
        assert where == (*at["group"], *at["repeat"], *at["atom"])
        said = re.search(r"^byte (\d+)", at["actual"])
        assert byte == (int(said[1]) if said else None)
        assert (byte is None) == (one["id"].rpartition(".")[2] in {"range", "bounds", "owner", "partition", "distinct"})


def test_the_page_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    ran = Ran([one["call"] for one in BUGS.values()], tmp_path)
    assert (
        re.findall(r"https?://[^\"<) ]*", ran.text.replace("http://www.w3.org/2000/svg", "").replace("http://www.w3.org/1999/xhtml", ""))
        == []
    )
    tags = {one.tag.rpartition("}")[2] for one in ran.root.iter()}
    assert tags & {"script", "link", "img", "iframe", "object", "image", "foreignObject", "use"} == set()
    assert not re.search(r"url\(|@import|@font-face|\son\w+=", ran.text)
    assert "prefers-color-scheme:dark" in ran.text
    assert "@media print" in ran.text


def test_every_call_is_listed_and_its_link_leads_to_it(tmp_path: Path) -> None:
    ran = Ran([one["call"] for one in BUGS.values()], tmp_path)
    ids = [one.get("id") for one in ran.root.iter() if one.tag.endswith("}article")]
    links = [one.get("href") for one in ran.root.iter() if one.tag.endswith("}a")][1:]
    assert links == [f"#{name}" for name in ids]
    assert len(set(ids)) == len(BUGS)
    count = Counter(verdict["status"] for verdict in ran.verdicts)
    assert f"{len(BUGS)} calls: {count['proved']} proved, {count['refuted']} refuted, {count['vacuous']} vacuous" in ran.words()


def test_both_sides_the_values_the_source_and_the_repair_are_told(tmp_path: Path) -> None:
    words = Ran(BUGS["A03"]["call"], tmp_path).words()
    for part in (
        "expected a multiple of 16 bytes: byte 0 or 16",
        "actual byte 4 (4 mod 16 = 4 with the base at 4 mod 16)",
        "with i = 0, the base of A at 4 mod 16 (the least values to break it)",
        "[PTX ISA 9.7.9.8",
        "Repair Say align=16 on A",
    ):
        assert part in words.replace("expecteda", "expected a").replace("actualbyte", "actual byte").replace("withi", "with i"), part


def test_the_clauses_of_a_call_have_method_time_and_source(tmp_path: Path) -> None:
    ran = Ran(PITCH["call"], tmp_path)
    rows = [one for one in ran.root.iter() if one.tag.endswith("}tr")][1:]
    shown = [["".join(cell.itertext()) for cell in row] for row in rows]
    assert [(row[0], row[1]) for row in shown] == [(one["id"], one["status"]) for one in ran.verdicts[0]["clauses"]]
    for row, one in zip(shown, ran.verdicts[0]["clauses"], strict=True):
        assert row[2] == (one["method"] or "-")
        assert re.fullmatch(r"\d+\.\d{3} ms", row[3])
        assert row[4:] == [one["statement"], one["source"]]


def test_the_address_walk_is_the_one_computed_by_hand(tmp_path: Path) -> None:
    walk = Ran(PITCH["call"], tmp_path).figure("Address walk of src (SM)")
    rows = [line for line in lines(walk, among="e") if line[0].isdigit()]
    assert len(rows) == 16
    for lane, row in enumerate(rows):
        number, line = divmod(lane, 8)
        byte = 132 * line + 16 * number
        assert row == [f"{lane}", f"matrix {number}, row {line}", f"SM[{line}, {8 * number}]", f"{byte}", hex(byte), f"{byte % 16}"]


def test_the_walk_is_drawn_around_the_marked_row(tmp_path: Path) -> None:
    ran = Ran(matrix(tile={"layout": "S[(2,4,64):(1000,64,1)]", "align": 16, "view": AS_ROWS, "shape": [8, 64]}), tmp_path)
    assert ran.verdicts[0]["status"] == "proved"
    far = vector({"shape": [200, 4], "layout": "S[(2,100,4):(401,4,1)]"}, {"shape": [200, 4]})
    ran = Ran(far, tmp_path)
    walk = ran.figure("Address walk")
    assert offenders(walk) == [((100, 0), 1604)]
    shown = [line[1] for line in lines(walk, among="e") if line[0].isdigit()]
    assert shown == [f"repeat {k}" for k in range(92, 108)]
    assert "Rows that are not drawn: 92 before, 92 behind." in ran.words()


@pytest.mark.parametrize("name", ["A03", "A06", "A09", "A11"])
def test_the_bits_of_the_address_are_spelled_out_and_those_that_must_be_0_are_marked(name: str, tmp_path: Path) -> None:
    ran = Ran(BUGS[name]["call"], tmp_path)
    (clause,) = [one for one in ran.verdicts[0]["clauses"] if one["status"] == "refuted"]
    byte = int(re.match(r"byte (\d+)", clause["counterexample"]["actual"])[1])
    need = int(re.fullmatch(r"a multiple of (\d+) bytes", clause["counterexample"]["expected"])[1])
    shown, marks = bits(ran.figure("The address, bit by bit"), "address")
    assert int(shown, 2) == byte
    assert len(shown) % 4 == 0
    marked = {len(marks) - 1 - k for k, mark in enumerate(marks) if mark == "x"}
    assert marked == {bit for bit in range(need.bit_length() - 1) if byte & 1 << bit}
    assert marked
    assert f"byte {byte} = {hex(byte)}" in ran.words()


def test_an_unknown_base_is_added_to_the_offset_bit_by_bit(tmp_path: Path) -> None:
    figure = Ran(
        vector({"shape": [8, 4], "layout": "S[(8,4):(4,1)]", "align": 4, "base": {"mod": 32, "is": 12}}, {"shape": [8, 4]}), tmp_path
    ).figure("The address")
    base, offset, address = (int(bits(figure, label)[0], 2) for label in ("base", "offset", "address"))
    assert (base, offset, address) == (12, 0, 12)


def test_the_owner_of_each_element_stands_beside_the_one_of_the_layout(tmp_path: Path) -> None:
    ran = Ran(matrix({"layout": "S[(4,8,4):(1,1@laneid,8@laneid)]"}), tmp_path)
    figure = ran.figure("Ownership of dst (R)")
    numbers = [line for line in lines(figure, among="c") if all(text.isdigit() for text in line)]
    assert numbers[0::2] == [[f"{4 * row + word}" for word in range(4)] for row in range(8)]
    assert numbers[1::2] == [[f"{row + 8 * word}" for word in range(4)] for row in range(8)]
    assert offenders(figure) == [((0, 0, 1), None)]
    at = ran.example("dst.owner")
    assert (at["expected"], at["actual"]) == ("laneid 1", "laneid 8")
    wrong = [line for line in lines(figure, among="x") if line]
    assert sum(map(len, wrong)) == sum(4 * row + word != row + 8 * word for row in range(8) for word in range(4))


def test_the_grid_of_a_group_compares_the_axis_at_fault(tmp_path: Path) -> None:
    registers = {"shape": [2, 32, 4], "layout": "S[(2,32,4):(1@laneid,1@warpid,1)]"}
    call = vector({"shape": [2, 32, 4], "align": 16}, registers) | {"scope": "cta", "launch": {"block": [64]}}
    ran = Ran(call, tmp_path)
    at = ran.example("dst.owner")
    assert (at["expected"], at["actual"]) == ("laneid 1", "laneid 0")
    figure = ran.figure("Ownership of dst (R)")
    assert offenders(figure) == [((0, 1, 0), None)]
    assert ["0", "0", "0", "0"] in lines(figure, among="x")


def test_shared_slots_are_shown_with_the_element_that_has_them(tmp_path: Path) -> None:
    ran = Ran(matrix({"layout": "S[(2,2,8,4):(1,1,4@laneid,1@laneid)]"}), tmp_path)
    figure = ran.figure("Register slots of dst (R)")
    assert offenders(figure) == [((2, 0, 0), None)]
    assert lines(figure, among="c") == [["[0, 0, 0]", "[1, 0, 0]", "[2, 0, 0]", "[3, 0, 0]"], ["slot 0", "slot 1", "slot 1", "slot 2"]]
    assert lines(figure, among="x") == [["slot 1", "slot 1"]]


def test_neighbours_have_the_byte_where_they_belong_above_the_one_where_they_are(tmp_path: Path) -> None:
    figure = Ran(vector({"shape": [2, 2, 1], "layout": "S[(2,2,1):(1,2,1)]", "view": [{"op": "reshape", "shape": [4]}]}), tmp_path).figure(
        "Byte by byte"
    )
    shown = [line for line in lines(figure, among="c") if line[0].startswith("byte")]
    assert shown == [["byte 0", "byte 4", "byte 12", "byte 8"], ["byte 0", "byte 8", "byte 4", "byte 12"]]
    assert offenders(figure) == [((1,), 8)]


def test_the_xor_of_a_swizzle_is_shown_bit_by_bit(tmp_path: Path) -> None:
    ran = Ran(matrix(tile={"layout": "Swizzle(2,3,4) o S[(8,64):(64,1)]"}), tmp_path)
    drawn = [svg for svg in figures(ran.root) if title(svg).startswith("What the swizzle does")]
    for figure, clause in zip(drawn, ("src.contiguous", "src.aligned"), strict=True):
        at = ran.example(clause)
        offset, xor, swizzled = (int(bits(figure, label)[0], 2) for label in ("offset", "XOR", "swizzled"))
        _, row, word = at["atom"]
        assert offset == 64 * row + 2 * word
        assert xor == (offset >> 6 & 7) << 2
        assert swizzled == offset ^ xor
        assert f"{swizzled} elements of 16 bits: byte {2 * swizzled}" in ran.words()
        assert re.match(rf"byte {2 * swizzled}\b", at["actual"])


def test_an_index_that_wraps_shows_the_bits_its_type_lacks(tmp_path: Path) -> None:
    figure = Ran(BUGS["A15"]["call"], tmp_path).figure("The value against int32")
    shown, marks = bits(figure, "value")
    assert int(shown, 2) == 1 << 31
    assert marks == "x" + "." * 31


def test_who_executes_is_drawn_lane_by_lane(tmp_path: Path) -> None:
    ran = Ran(matrix(guard="laneid < 20", launch={"block": [80]}), tmp_path)
    figure = ran.figure("Who executes")
    cells = [line for line in lines(figure, among="c") if len(line) == 32]
    assert ["".join(line) for line in cells] == ["1" * 20 + "0" * 12, "1" * 20 + "0" * 12, "1" * 16 + "-" * 16]
    assert offenders(figure) == [((0, 0, 20), None)]


@pytest.mark.parametrize(
    ("begin", "extent", "shown"), [(6, 4, ("6", "10")), (-3, 4, ("-3", "1")), (1 << 40, 4, (str(1 << 40), str((1 << 40) + 4)))]
)
def test_a_slice_that_leaves_its_axis_is_drawn_with_its_ends(begin: int, extent: int, shown: tuple[str, str], tmp_path: Path) -> None:
    ran = Ran(vector({"shape": [8], "view": [{"op": "slice", "begin": [begin], "extent": [extent]}]}), tmp_path)
    figure = ran.figure("The slice on its axis")
    words = [text for line in lines(figure) for text in line]
    assert {"0", "8", *shown} <= set(words)
    assert offenders(figure) == [((0,), None)]
    assert ("Not to scale." in ran.words()) == (begin > 8)


def test_a_layout_that_does_not_fit_its_allocation_is_drawn_with_both_sizes(tmp_path: Path) -> None:
    figure = Ran(matrix(tile={"size_bytes": 1000}), tmp_path).figure("The layout in its allocation")
    assert [line[-1] for line in lines(figure)] == ["1000 bytes", "1024 bytes: 24 too many"]


NASTY = "<script>alert('x')</script> & \"q\" \u202e\x1b[31m ]]> <!--"


def test_texts_of_a_document_are_escaped(tmp_path: Path) -> None:
    call = matrix({"name": NASTY}, {"name": NASTY, "layout": "S[(8,64):(66,1)]"}) | {"id": NASTY}
    ran = Ran({"expect": "proved", "why": NASTY, "call": call}, tmp_path)
    assert ran.status == 1
    assert "<script" not in ran.text
    assert "\u202e" not in ran.text
    assert "\x1b" not in ran.text
    assert ran.words().count("<script>alert('x')</script> & \"q\" \\u202e\\x1b[31m ]]> <!--") > 3
    (mark,) = offenders(ran.figure("Address walk"))
    assert mark == ((0, 1, 0), 132)


def test_opcodes_that_are_wrong_or_unknown_have_a_page(tmp_path: Path) -> None:
    known, unknown = PITCH["call"] | {"opcode": "ldmatrix.sync.x3"}, PITCH["call"] | {"opcode": "nothing.like"}
    ran = Ran([known, unknown], tmp_path)
    assert [one["status"] for one in ran.verdicts] == ["refuted", "error"]
    assert "tilecheck explain ldmatrix.sync.x3" in ran.words()
    assert ran.verdicts[1]["reason"] in ran.words()


def test_an_unproved_call_says_why(tmp_path: Path) -> None:
    memory = {"shape": [1 << 40], "view": [{"op": "slice", "begin": ["(n * n) % 4294967295 * 4"], "extent": [4]}]}
    ran = Ran(
        vector(memory, symbols=[{"name": "n"}], assume=["(n * n) % 4294967295 * 4 < 1000000", "n * n % 7 == 3 or n * n * n % 11 < 9"]),
        tmp_path,
        "--rlimit",
        "1",
    )
    verdict = ran.verdicts[0]
    reasons = [one["reason"] for one in verdict["clauses"] if one["status"] == "unproved"]
    assert verdict["status"] == "unproved"
    assert reasons
    for reason in reasons:
        assert " ".join(reason.split()) in ran.words()


def test_a_proved_call_alone_shows_its_operands(tmp_path: Path) -> None:
    ran = Ran(matrix(), tmp_path)
    assert [title(svg) for svg in figures(ran.root)] == ["Ownership of dst (R)", "Address walk of src (SM)"]
    assert offenders(ran.root) == []
    assert figures(Ran([matrix(), matrix()], tmp_path).root) == []


def test_claims_and_theorems_have_their_place(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert (
        main(
            [
                "check",
                str(ROOT / "proofs" / "spec_examples.py"),
                str(ROOT / "proofs" / "layout_laws.py"),
                "--format",
                "html",
                "--output",
                str(page),
            ]
        )
        == 0
    )
    words = " ".join("".join(parse(page.read_text(encoding="utf-8")).itertext()).split())
    assert re.search(r"\d+ theorems: \d+ proved", words)
    assert "layout_laws.py::" in words
    assert "(as expected)" in words


def test_the_same_run_gives_the_same_page_times_aside(tmp_path: Path) -> None:
    calls = [one["call"] for one in BUGS.values()]
    first, second = (re.sub(r"\d+\.\d{3} ms", "", Ran(calls, tmp_path).text) for _ in range(2))
    assert first == second


def test_a_hundred_refuted_calls_stay_small(tmp_path: Path) -> None:
    ran = Ran([PITCH["call"]] * 100, tmp_path)
    assert len(offenders(ran.root)) == 100
    assert len(ran.text) < 3_000_000


def test_a_page_that_cannot_be_written_is_said_before_the_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(ROOT / "docs" / "examples"), "--format", "html", "--output", str(tmp_path / "no" / "page.html")]) == 2
    assert capsys.readouterr().err.startswith("error: --output")


def test_a_wrong_document_leaves_no_page(tmp_path: Path) -> None:
    source, page = tmp_path / "wrong.json", tmp_path / "page.html"
    source.write_text('{"schema": "tilecheck/call@1"}', encoding="utf-8")
    assert main(["check", str(source), "--format", "html", "--output", str(page)]) == 2
    assert not page.exists()
