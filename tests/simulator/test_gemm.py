"""The library against the simulator: what is proved gives the right product, and its image is the hardware's; mutants of each call of each product."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.simulator.configurations import GEMMS
from tests.simulator.forms import copies, transfers
from tests.simulator.images import image_difference
from tests.simulator.judge import judged
from tests.simulator.mutants import mutants
from tests.simulator.programs import Call, Gemm, build
from tilecheck.document import read_call
from tilecheck.errors import InputError
from tilecheck.evaluate import Model
from tilecheck.prove.check import check
from tilecheck.prove.verdict import Verdict
from tilecheck.spec import Contract, data, find_contract

MUTANTS = int(os.environ.get("TILECHECK_SIMULATED_MUTANTS", "2"))
"""Of each call."""
SEED = int(os.environ.get("TILECHECK_SIMULATED_SEED", "1"))


@cache
def verdict(text: str) -> Verdict:
    return check(read_call(json.loads(text)))


def judged_at(call: Call, found: Verdict) -> str:
    """What goes wrong at the ends of every symbol, or where a counterexample says."""
    ends = [{s["name"]: s[end] for s in call["symbols"]} for end in ("min", "max")]
    told = [dict(c.counterexample.symbols) for c in found.clauses if c.counterexample is not None]
    ends += [{name: value for name, value in {**ends[0], **one}.items() if not name.startswith("base(")} for one in told]
    return next((wrong for symbols in {tuple(s.items()): s for s in ends}.values() if (wrong := judged(call, symbols))), "")


def campaign(calls: Iterable[Call], count: int = MUTANTS, seed: int = SEED) -> Counter[str]:
    """Mutants of calls by what came of them; one that is proved does what its (changed) views say, and no answer is missing."""
    counts: Counter[str] = Counter()
    for call in calls:
        for kind, how, mutant in mutants(call, count, seed):
            try:
                found = check(read_call(mutant))
            except InputError:
                continue  # not a call at all
            wrong = judged_at(mutant, found)
            assert found.status in {"proved", "refuted"}, (call["id"], kind, how, found.summary())
            assert found.status == "refuted" or not wrong, (call["id"], kind, how, wrong)
            counts[f"{found.status} and {'wrong' if wrong else 'right'}"] += 1
    return counts


def of_every_shape() -> list[Call]:
    return [*transfers("ld"), *transfers("st"), *copies()]


@pytest.mark.parametrize("gemm", GEMMS, ids=lambda gemm: gemm.name)
def test_every_call_is_proved_and_the_product_is_numpys(gemm: Gemm):
    program = build(gemm)
    for call in program.documents.values():
        found = verdict(json.dumps(call))
        assert found.status == "proved", (call["id"], found.summary())
    assert np.array_equal(program.result(), program.product)


def test_every_shape_is_proved():
    """Those of tcgen05.ld, .st and .cp, whose images the simulator has shown to be right."""
    for call in of_every_shape():
        found = verdict(json.dumps(call))
        assert found.status == "proved", (call["id"], found.summary())


def test_no_mutant_of_a_product_is_proved_wrongly():
    counts = campaign(call for gemm in GEMMS for call in build(gemm).documents.values())
    print(f"\n{dict(counts)}")
    assert counts["refuted and wrong"] > 9 * counts["refuted and right"]


def test_no_mutant_of_a_shape_is_proved_wrongly():
    counts = campaign(of_every_shape(), max(1, MUTANTS // 2))
    print(f"\n{dict(counts)}")
    assert counts["refuted and wrong"] > 9 * counts["refuted and right"]


# --- images -----------------------------------------------------------------------------------------------------------------------------------


def predicted(call: Call, symbols: dict[str, int]) -> dict[str, list[Any]]:
    """What `predict` prints."""
    contract = find_contract(call["opcode"])
    assert isinstance(contract, Contract)
    model = Model(json.loads(json.dumps(data(contract))), json.loads(json.dumps(read_call(call).to_json())))
    return model.predict(symbols).to_json()


def small(call: Call) -> bool:
    """One CTA and few enough bytes to name them all."""
    return not call["launch"]["cluster"] and not re.search(r"\.x(?:8|16|32|64|128)\.|\.mma\.|^st\.global", call["opcode"])


def test_predicted_images_of_every_shape_are_the_hardwares():
    for call in filter(small, of_every_shape()):
        assert image_difference(call, {}, predicted(call, {})) == "", call["id"]


@pytest.mark.parametrize("gemm", GEMMS[::3], ids=lambda gemm: gemm.name)
def test_predicted_images_of_loads_are_the_hardwares(gemm: Gemm):
    for call in filter(small, build(gemm).documents.values()):
        symbols = {symbol["name"]: symbol["max"] for symbol in call["symbols"]}
        assert image_difference(call, symbols, predicted(call, symbols)) == "", call["id"]
