"""Every refuted case of the data files has a text and a page."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tilecheck.document import read_call
from tilecheck.prove.check import check
from tilecheck.report import html, text
from tilecheck.report.items import Item, Outcome
from tilecheck.spec import mnemonic_of

DATA = Path(__file__).parent.parent / "data"
FAMILIES: dict[str, list[dict[str, Any]]] = defaultdict(list)
for name in ("rules.jsonl", "fuzz.jsonl"):
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        if document["expect"] == "refuted":
            FAMILIES[mnemonic_of(document["call"]["opcode"])].append(document)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_refuted_case_is_told(family: str):
    for document in FAMILIES[family]:
        call = read_call(document["call"])
        outcome = Outcome(Item(call, document["id"]), check(call))
        if outcome.verdict.status != "refuted":
            continue  # a label that is disputed
        told = text.report([outcome], strict=False, terminal=False)
        page = html.report([outcome], strict=False)
        for clause in outcome.verdict.failing:
            assert clause.id in told, document["id"]
            assert clause.id in page, document["id"]
