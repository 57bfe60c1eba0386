"""The cases of tests/data, their verdicts, and the comparison of a verdict with the evaluator's brute force."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from tilecheck.call import Call
from tilecheck.document import read_call
from tilecheck.evaluate import Model, Point
from tilecheck.evaluate.domain import TooLargeError
from tilecheck.evaluate.model import Budget
from tilecheck.prove.check import check
from tilecheck.prove.verdict import Counterexample, Verdict
from tilecheck.spec import BadSpelling, data, find_contract, mnemonic_of

DATA = Path(__file__).parent.parent / "data"
FILES = ("rules.jsonl", "fuzz.jsonl")
MNEMONICS = (
    "ld",
    "st",
    "ldmatrix",
    "stmatrix",
    "movmatrix",
    "mma",
    "add",
    "cp.async",
    "cp.async.bulk",
    "cp.reduce.async.bulk",
    "cp.async.bulk.tensor",
    "cp.reduce.async.bulk.tensor",
    "tcgen05.ld",
    "tcgen05.st",
    "tcgen05.cp",
    "tcgen05.mma",
)
REFUSED_ROW = "the driver encodes no interleaved map whose innermost box is no multiple of 16 bytes (decision 0043)"
DISPUTED = {"fuzz-tma-2-5": ("refuted", "box", REFUSED_ROW), "fuzz-tma-2-32": ("refuted", "box", REFUSED_ROW)}
"""Cases whose label is wrong: the verdict and the clause that are right, and why."""
OUTSIDE = frozenset({"opcode", "space.explicit"})
"""Clauses about the spelling, which the evaluator does not judge."""
THOROUGH = bool(os.environ.get("TILECHECK_THOROUGH"))
POINTS = 2_000_000 if THOROUGH else 4_000
"""Points that brute force may look at in one call; TILECHECK_THOROUGH=1 lets it look at all of them (minutes more)."""


@dataclass(frozen=True)
class Case:
    """One line of a case file."""

    id: str
    expect: str
    clause: str | None
    hazard: str | None
    document: Mapping[str, Any]

    @property
    def mnemonic(self) -> str:
        return mnemonic_of(str(self.document["opcode"]))


@cache
def every_case() -> tuple[Case, ...]:
    lines = (line for name in FILES for line in (DATA / name).read_text(encoding="utf-8").splitlines() if line.strip())
    entries = (json.loads(line) for line in lines)
    cases = (Case(e["id"], e["expect"], e.get("clause"), e.get("hazard"), e["call"]) for e in entries)
    return tuple(replace(case, expect=DISPUTED[case.id][0], clause=DISPUTED[case.id][1]) if case.id in DISPUTED else case for case in cases)


@cache
def cases() -> dict[str, Case]:
    """The cases of the mnemonics that have a contract today."""
    return {case.id: case for case in every_case() if case.mnemonic in MNEMONICS}


@cache
def call_of(case_id: str) -> Call:
    return read_call(cases()[case_id].document)


@cache
def verdict_of(case_id: str) -> Verdict:
    return check(call_of(case_id))


def failing(verdict: Verdict) -> frozenset[str]:
    return frozenset(clause.id for clause in verdict.failing)


def names(clause: str, ids: Iterable[str]) -> bool:
    """Whether the named clause is among the ids (ruling 29): equal, or the end of one after a dot."""
    return any(one == clause or one.endswith("." + clause) for one in ids)


Where = tuple[dict[str, int], int | None, int | None, int | None, tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def where(point: Point | Counterexample, *, symbols: bool = True) -> Where:
    """A point, comparable."""
    values = dict(point.symbols) if symbols else {}
    return values, point.cta, point.warp, point.lane, tuple(point.group), tuple(point.repeat), tuple(point.atom)


def model_of(call: Call) -> Model | None:
    contract = find_contract(call.opcode)
    return None if contract is None or isinstance(contract, BadSpelling) else Model(data(contract), call.to_json())


def disagreements(call: Call, verdict: Verdict, points: int = POINTS, *, strict: bool = True) -> list[str] | None:
    """Where the verdict and brute force differ; None where brute force has too many points (then see `partial`).

    strict: the points of counterexamples name the same symbols; else symbols that have no say may be missing from either.
    """
    model = model_of(call)
    if model is None:
        return []
    answer = model.check(points)
    if answer.status == "too-large":
        return None
    ours = failing(verdict)
    expected = "refuted" if answer.status == "proved" and ours & OUTSIDE else answer.status
    found = [] if verdict.status == expected else [f"status {verdict.status}, the evaluator says {expected}"]
    if ours - OUTSIDE != set(answer.failures):
        found.append(f"failing {sorted(ours - OUTSIDE)}, the evaluator says {sorted(answer.failures)}")
    if verdict.status == answer.status == "proved" and {hazard.id for hazard in verdict.hazards} != answer.hazards:
        found.append(f"hazards {[hazard.id for hazard in verdict.hazards]}, the evaluator says {sorted(answer.hazards)}")
    return found + wrong_points(verdict, answer.failures, strict=strict)


def wrong_points(verdict: Verdict, failures: Mapping[str, Point], *, strict: bool = True) -> list[str]:
    """Counterexamples that are not the evaluator's first failure."""
    found: list[str] = []
    for clause in verdict.failing:
        first, example = failures.get(clause.id), clause.counterexample
        if first is None or example is None:
            continue
        symbols = not clause.id.endswith("shape")
        ours, theirs = where(example, symbols=symbols), where(first, symbols=symbols)
        if not strict:
            common = ours[0].keys() & theirs[0].keys()
            ours, theirs = (({name: one[0][name] for name in common}, *one[1:]) for one in (ours, theirs))
        if ours != theirs:
            found.append(f"{clause.id} at {ours}, the evaluator first fails at {theirs}")
    return found


def owed(clause: str, failed: frozenset[str]) -> bool:
    """Whether a clause is owed where others failed: the table of clauses.md."""
    name, _, short = clause.partition(".")
    if not short or short == "storage" or clause == "index.range":
        return "operands" not in failed or clause == "operands"
    block = ("storage", "aligned", "base.period", "descriptor")
    if "instruction_shape.shape" in failed and short not in {"type", "backing"}:
        return clause in failed
    needs = {"type": ("storage",), "shape": (), "backing": block}.get(short, ("storage", "shape"))
    needs = (*needs, "bounds") if short in {"contiguous", "aligned", "base.period", "descriptor"} else needs
    needs = (*needs, "base.period") if short == "descriptor" else needs
    apart = short in {"type", "backing"} or "participation" not in failed
    return apart and "operands" not in failed and not failed & {f"{name}.{need}" for need in needs}


def partial(call: Call, verdict: Verdict, points: int = 300) -> list[str]:
    """What brute force over the first points says against the verdict."""
    model = model_of(call)
    assert model is not None
    ours, found = failing(verdict), list[str]()
    for clause in (clause for clause in model.clauses if owed(clause, ours)):
        try:
            first = model.first_failure(clause, Budget(20 * points if clause in ours else points))
        except TooLargeError:
            continue
        if (first is None) == (clause in ours):
            found.append(f"{clause} is {'refuted' if clause in ours else 'not refuted'}, the evaluator first fails at {first}")
        elif first is not None:
            found.extend(wrong_points(verdict, {clause: first}))
    return found
