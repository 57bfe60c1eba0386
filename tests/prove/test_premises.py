"""Premises: each suffices, each is weakest, and the reports that need an assumption get the right one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilecheck import check
from tilecheck.document import read_file
from tilecheck.prove.premises import premises

ROOT = Path(__file__).parents[1]


def of(name: str):
    return next(entry.call for entry in read_file(ROOT / "bugs" / f"{name}.json"))


@pytest.mark.parametrize(
    ("name", "fact"), [("A03", "base(A) % 16 == 0"), ("A06", "idx % 4 == 0"), ("A09", "lda % 4 == 0"), ("A11", "base(A) % 16 == 0")]
)
def test_a_report_that_needs_an_assumption_gets_it(name, fact):
    found = premises(of(name))
    assert fact in [premise.text for premise in found]
    assert all(check(premise.call).status == "proved" for premise in found)


def test_the_range_is_the_largest():
    call = next(e.call for e in read_file(ROOT / "data" / "rules.jsonl") if e.call.id == "ld-loop-oob")
    assert [premise.text for premise in premises(call)] == ["i <= 15"]


def test_both_ends_of_an_unbounded_start_are_named():
    call = next(e.call for e in read_file(ROOT / "data" / "rules.jsonl") if e.call.id == "ld-runtime-unbounded")
    assert [premise.text for premise in premises(call)] == ["n >= 0 and n <= 255"]


@pytest.mark.parametrize("name", ["A18", "A07", "A10"])
def test_proved_vacuous_and_misshapen_calls_have_none(name):
    assert premises(of(name)) == ()
