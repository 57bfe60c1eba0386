"""Random kernels: prover and evaluator agree on what their calls share, whatever allocates, frees and accesses where."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from kernels import alloc, close, free, loaded, product, shift

from tilecheck import check, kernel
from tilecheck.call import Call
from tilecheck.evaluate.kernel import TooLargeError, failures
from tilecheck.fitting import fitted
from tilecheck.prove.kernel import shared_verdict
from tilecheck.spec import Contract, data, find_contract

N = {"name": "n", "min": 0, "max": 2}
M = {"name": "m", "min": 0, "max": 1, "varies": "cluster"}
W = {"name": "w", "min": 0, "max": 1, "varies": "cta"}
V = {"name": "v", "min": 0, "max": 1, "varies": "warp"}
CONDITIONS = (
    "true",
    "true",
    "n == 1",
    "n > 0",
    "n < 2",
    "cbx == 0",
    "cbx == 1",
    "w == 0",
    "m == n",
    "w != cbx",
    "n == w",
    "cbx == n",
    "v == 0",
    "false",
)
PREDICATES = (None, None, None, None, False, True, "n == 1", "m == 1", "w == 1", "cbx == 0", "warpid == n")
WARPS = ("warpid == 0", "warpid == 1", "warpid == n", "warpid == 1 - m")
PLACES = (0, 0, 32, 64, 96, "64*n", "32*m", "64*w", "64*cbx", "128 - 64*n", "64 // n", "64 - 64*w", "32*n*w", "v * 64")
SIZES = (32, 64, 64, 128, 256)
POINTS = 300_000
COUNTS: Counter[str] = Counter()


@st.composite
def calls(draw: st.DrawFn, one_group: int | None, *, first: bool = False) -> Call:
    """One call of a kernel; first: an allocation."""
    more: dict[str, Any] = {"symbols": [N, M, W, V], "launch": {"block": [64], "cluster": [2]}}
    condition = draw(st.sampled_from(CONDITIONS))
    warp = draw(st.sampled_from(WARPS))
    pred = draw(st.sampled_from(PREDICATES))
    more |= {} if pred is None else {"pred": pred}
    more |= {"assume": [draw(st.sampled_from(("n < 2", "m == 0", "n != w")))]} if draw(st.integers(0, 5)) == 0 else {}
    group = one_group or draw(st.sampled_from((1, 2)))
    kind = "alloc" if first else draw(st.sampled_from(("alloc", "alloc", "free", "free", "close", "product", "loaded", "moved")))
    guard = f"{warp} and {condition}"
    if kind == "alloc":
        place = draw(st.sampled_from((None, None, None, 0, 64, 128)))
        more |= {} if place is None else {"taddr": place}
        return alloc(draw(st.sampled_from(SIZES)), group, guard=guard, **more)
    if kind == "free":
        return free(draw(st.sampled_from(SIZES)), draw(st.sampled_from(PLACES)), group, guard=guard, **more)
    if kind == "close":
        return close(group, guard=guard, **more)
    column = draw(st.sampled_from((0, 0, 32, 64, "32*n", "64*w", "64*cbx", 480)))
    if kind == "loaded":
        return loaded(column, **more)
    more["guard"] = f"elected and {guard}"
    if kind == "moved" or (group == 2 and kind == "product"):
        return shift(f"S[(32,8):(1@TLane,1@TCol)] + {draw(st.sampled_from((0, 32, 64)))}@TCol", group=group, **more)
    return product(column, **more)


@st.composite
def kernels(draw: st.DrawFn) -> list[Call]:
    """A kernel that allocates first; all of its calls are of one CTA group, or of any."""
    group = draw(st.sampled_from((1, 1, 1, 2, None)))
    return [draw(calls(group, first=True)), *draw(st.lists(calls(group), min_size=1, max_size=5))]


def refuted(drawn: list[Call]) -> tuple[str, set[str]] | None:
    """The status of what the calls share, and what is refuted of it, once the evaluator has said the same; None where it cannot."""
    whole = kernel(drawn)
    verdicts = tuple(check(one) for one in whole.calls)
    found = shared_verdict(whole, verdicts)
    contracts = [find_contract(one.opcode) for one in drawn]
    documents = [
        (k, data(fitted(contract, one)), one.to_json(), own.status == "proved")
        for k, (one, contract, own) in enumerate(zip(drawn, contracts, verdicts, strict=True))
        if isinstance(contract, Contract)
    ]
    mine = {clause.id for clause in found.failing} | {hazard.id for hazard in found.hazards}
    try:
        theirs = failures(documents, POINTS)
    except TooLargeError:
        return None
    assert found.status == "unproved" or mine == theirs
    return found.status, mine


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(kernels())
def test_prover_and_evaluator_agree_on_random_kernels(drawn: list[Call]) -> None:
    note(json.dumps(kernel(drawn).to_json()))
    found = refuted(drawn)
    COUNTS.update(["too large"] if found is None else [found[0], *found[1]])
