"""Verdict documents (schemas tilecheck/verdict@1 and tilecheck/theorem@1) as one JSON list or one a line."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tilecheck.report.items import AnyOutcome
from tilecheck.report.theorems import TheoremOutcome


def document(outcome: AnyOutcome) -> dict[str, object]:
    """The answer document of one outcome."""
    if isinstance(outcome, TheoremOutcome):
        return outcome.to_json()
    expectation = outcome.item.expectation
    return outcome.verdict.to_json(expect=None if expectation is None else expectation.status, as_expected=outcome.as_expected)


def as_list(outcomes: Sequence[AnyOutcome]) -> str:
    """One JSON list."""
    return pretty([document(outcome) for outcome in outcomes])


def as_lines(outcomes: Sequence[AnyOutcome]) -> str:
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
