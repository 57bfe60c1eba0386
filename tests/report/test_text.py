"""The text of verdicts: one screen for a refuted call, one line for a proved one."""

import dataclasses

import pytest

from tilecheck.call import Call, Launch, apply
from tilecheck.claims import Expectation
from tilecheck.layout.view import Tensor
from tilecheck.prove.facts import Congruence, Premise, Subject
from tilecheck.prove.verdict import ClauseResult, Counterexample, Hazard, Verdict
from tilecheck.report.hints import hint
from tilecheck.report.items import Item, Outcome
from tilecheck.report.picture import picture
from tilecheck.report.text import report, screen
from tilecheck.spec import Contract, find_contract

POINT = Counterexample(
    (("n", 1), ("base(A)", 4)), 0, 0, 5, (5,), (2,), (1,), "a multiple of 16 bytes", "byte 1236 (1236 mod 16 = 4)", "It is off."
)


def load(**more: object) -> Call:
    memory = Tensor("A", (4,), "float32", space="global", align=4)
    return apply(
        "ld.global.v4.b32",
        Tensor("R", (4,), "float32", space="register"),
        memory,
        scope="thread",
        launch=Launch((32,)),
        id="load-A",
        **more,
    )


def contract(opcode: str = "ld.global.v4.b32") -> Contract:
    found = find_contract(opcode)
    assert isinstance(found, Contract)
    return found


def clause(
    name: str, status: str = "proved", method: str = "structure", example: Counterexample | None = None, reason: str | None = None
) -> ClauseResult:
    return ClauseResult(name, status, method, 0.1, f"what {name} asks", "PTX ISA 9.7.9.8", reason, example)


def verdict(status: str, *clauses: ClauseResult, **more: object) -> Verdict:
    return Verdict("load-A", "ld.global.v4.b32", status, "sm_75", 3, clauses, **more)


def outcome(found: Verdict, expectation: Expectation | None = None, call: Call | None = None) -> Outcome:
    return Outcome(Item(call or load(), "calls.jsonl:7", expectation, "rows are bytes"), found)


REFUTED = verdict(
    "refuted", clause("opcode"), clause("src.aligned", "refuted", "enumeration", POINT), hazards=(Hazard("alias", "They overlap."),)
)
SCREEN = """\
refuted   load-A (calls.jsonl:7): ld.global.v4.b32
  src.aligned: what src.aligned asks [PTX ISA 9.7.9.8]
    thread    warp 0, lane 5
    where     repeat 2, word 1
    with      n = 1, the base of A at 4 mod 16 (the least values to break it)
    expected  a multiple of 16 bytes: byte 1232 or 1248
    actual    byte 1236 (1236 mod 16 = 4)
    so        It is off.
        1232            1248            1264
        |---------------|---------------|
            ################
            ^ the row starts at byte 1236
    repair  Say align=16 on A if its allocation has it (its base may be 4 mod
            16: only align=4 is known): with that the call is proved.
    hazard  alias: They overlap.

1 call: 1 refuted
"""


def text(*outcomes: Outcome, strict: bool = False) -> str:
    return report(outcomes, strict=strict, terminal=False)


def test_a_refuted_call_is_one_screen() -> None:
    assert text(outcome(REFUTED)) == SCREEN


def test_a_proved_call_is_one_line() -> None:
    found = verdict(
        "proved", clause("opcode"), clause("src.aligned", method="enumeration, 512 points"), clause("src.bounds", method="enumeration")
    )
    assert text(outcome(found)) == (
        "proved    load-A (calls.jsonl:7): 3 instructions, 3 clauses: 2 by enumeration, 1\n          by structure\n1 call: 1 proved\n"
    )
    assert "1 instruction, 1 clause by structure" in text(outcome(dataclasses.replace(verdict("proved", clause("opcode")), instructions=1)))


def test_a_call_as_expected_is_one_line() -> None:
    expected = outcome(REFUTED, Expectation("refuted", "aligned"))
    lines = text(expected, expected).splitlines()
    assert lines[0] == "refuted   load-A (calls.jsonl:7): as expected: src.aligned: It is off."
    assert lines[-1] == "2 calls: 2 refuted; 2 as expected"


def test_a_refuted_call_alone_is_a_screen_even_as_expected() -> None:
    shown = text(outcome(REFUTED, Expectation("refuted", "aligned")))
    assert "    claim  refuted by aligned (rows are bytes)\n" in shown
    assert "^ the row starts at byte 1236" in shown
    assert shown.endswith("1 call: 1 refuted; 1 as expected\n")


def test_a_call_not_as_expected_is_shown_in_full() -> None:
    found = text(outcome(REFUTED, Expectation("refuted", "bounds")))
    assert "claim  refuted by bounds (rows are bytes); it came out otherwise" in found
    assert "the row starts at byte 1236" in found
    assert found.endswith("1 call: 1 refuted; 0 as expected, 1 NOT\n")


def test_every_failing_clause_is_shown() -> None:
    found = verdict("refuted", clause("dst.shape", "refuted", reason="rank 2"), clause("src.aligned", "refuted", "enumeration", POINT))
    shown = text(outcome(found))
    assert "dst.shape: what dst.shape asks" in shown
    assert "found  rank 2" in shown
    assert "src.aligned: what src.aligned asks" in shown


@pytest.mark.parametrize("status", ["unproved", "vacuous", "error"])
def test_what_is_not_decided_says_why(status: str) -> None:
    assert "reason  no thread executes it" in text(outcome(verdict(status, clause("opcode"), reason="no thread executes it")))
    assert "unproved  src.bounds: too many points" in text(
        outcome(verdict("unproved", clause("src.bounds", "unproved", "", reason="too many points")))
    )


def test_conditions_and_premises_are_listed() -> None:
    base = Subject("base(A)", None, step=4, operand=1)
    premise = Premise((Congruence(base, 16, 0),), load(), weakest=True, assumable=True)
    shown = text(outcome(verdict("refuted", clause("opcode"), conditions=("k % 16 == 0",), premises=(premise,))))
    assert "    holds if  k % 16 == 0\n" in shown
    assert "    premise   base(A) % 16 == 0\n" in shown


def test_no_line_is_wider_than_80_columns_and_none_is_coloured() -> None:
    long = "a very long word " * 20 + "x" * 300
    point = dataclasses.replace(POINT, sentence=long, expected=long, symbols=tuple((f"symbol{k}", 10**15) for k in range(20)))
    found = verdict(
        "refuted", clause("src.aligned", "refuted", "enumeration", point), clause("src.bounds", "refuted", "", None, long), reason=long
    )
    shown = text(outcome(found, Expectation("proved"), load(guard="laneid < 1")))
    assert max(map(len, shown.splitlines())) <= 80
    assert "\x1b" not in shown
    assert all(line == line.rstrip() for line in shown.splitlines())
    assert shown.isascii()


def test_a_terminal_gets_colour_unless_it_wants_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in report([outcome(REFUTED)], strict=False, terminal=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[31" not in report([outcome(REFUTED)], strict=False, terminal=True)


def test_text_of_a_document_reaches_no_terminal_as_it_is() -> None:
    hostile = dataclasses.replace(load(), id="\x1b[31m[bold]\ud800\r\nx")
    shown = screen(outcome(REFUTED, call=hostile))
    assert "\\x1b[31m[bold]\\ud800\\r" in shown
    assert shown.isascii()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("operands", "dst, src in this order; the parameters it takes are pred, preserve_dst"),
        ("dst.shape", "(word 4)"),
        ("src.bounds", "begin at 0 or later"),
        ("src.backing", "size_bytes of the whole allocation of A"),
        ("src.contiguous", "the word axis stride 1 in elements of 32 bits"),
        ("src.storage", "32 bits"),
        ("dst.replica", "R[...]"),
        ("dst.distinct", "slot of its own"),
        ("dst.owner", "thread axes"),
        ("participation", "all 32 lanes"),
        ("src.index.range", "Bound the symbols"),
    ],
)
def test_hints_come_from_the_clause_and_the_data(name: str, words: str) -> None:
    given = hint(clause(name, "refuted", "", POINT), load(), contract())
    assert given is not None
    assert words in given
    assert "ld." not in given


def test_hints_name_no_opcode_for_a_wrong_spelling() -> None:
    given = hint(clause("opcode", "refuted"), dataclasses.replace(load(), opcode="ld.global.b32.v4"), None)
    assert given == "`tilecheck explain ld.global.b32.v4` says what is wrong with the spelling, and which legal ones are near."
    assert hint(clause("src.aligned", "refuted"), load(), None) is None


def test_the_hint_for_an_unaligned_start_names_the_symbol() -> None:
    point = dataclasses.replace(POINT, symbols=(("n", 1), ("base(A)", 0)))
    given = hint(clause("src.aligned", "refuted", "", point), load(), contract())
    assert (
        given == "Let every row start at a multiple of 16 bytes (4 elements of 32 bits): declare that as multiple_of, or assume it, of n."
    )


def test_pictures_of_neighbours_axes_and_lanes() -> None:
    apart = dataclasses.replace(POINT, expected="byte 4", actual="byte 8")
    assert picture(clause("src.contiguous", "refuted", "", apart), contract()) == (
        "    4   8\n====....####\n= the element before, . where this one belongs, # where it is"
    )
    outside = dataclasses.replace(POINT, expected="0 <= begin, begin + 4 <= 64", actual="begin -8, end -4")
    drawn = picture(clause("src.bounds", "refuted", "", outside), contract())
    assert drawn is not None
    assert drawn.splitlines()[2] == "##  -8 to -4"
    lane = dataclasses.replace(POINT, atom=(0, 1, 2), expected="laneid 6", actual="laneid 9")
    grid = picture(clause("dst.owner", "refuted", "", lane), contract("ldmatrix.sync.aligned.m8n8.x4.shared.b16"))
    assert grid is not None
    assert grid.splitlines()[2].split() == ["1", "4", "5", "[", "6]", "7"]
    for nothing in (dataclasses.replace(POINT, actual="somewhere"), dataclasses.replace(POINT, actual="byte 1" + "0" * 30)):
        assert (picture(clause("src.aligned", "refuted", "", nothing), contract()) is None) == (nothing.actual == "somewhere")
