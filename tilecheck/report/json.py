"""Verdict documents (schema tilecheck/verdict@1) as one JSON list or one a line."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tilecheck.report.items import Outcome


def document(outcome: Outcome) -> dict[str, object]:
    """The answer document of one outcome."""
    expectation = outcome.item.expectation
    return outcome.verdict.to_json(expect=None if expectation is None else expectation.status, as_expected=outcome.as_expected)


def as_list(outcomes: Sequence[Outcome]) -> str:
    """One JSON list."""
    return pretty([document(outcome) for outcome in outcomes])


def as_lines(outcomes: Sequence[Outcome]) -> str:
    """One document a line."""
    return "".join(compact(document(outcome)) for outcome in outcomes)


def pretty(value: object) -> str:
    """Indented JSON with a newline at the end."""
    return json.dumps(value, indent=2) + "\n"


def compact(value: object) -> str:
    """JSON on one line."""
    return json.dumps(value) + "\n"


def write(value: object, form: str) -> str:
    """A value in the format `json` or `jsonl`."""
    return compact(value) if form == "jsonl" else pretty(value)
