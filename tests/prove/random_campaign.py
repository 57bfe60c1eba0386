"""Random calls of two families: every tier and the evaluator's brute force say the same of each.

    python tests/prove/random_campaign.py --count 2000 --seed 1

Prints the seed, the shares, how often each clause is the only failing one, the features, and every disagreement with a reduced document.
Exit status 1 where something disagrees or a share is too small.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import re
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import HealthCheck, Phase, given, seed, settings

sys.path.insert(0, str(Path(__file__).parent))

import views
from known_cases import OUTSIDE, where

from tilecheck.call import Call
from tilecheck.document import read_call
from tilecheck.evaluate.model import Answer, Model
from tilecheck.layout.notation import parse_layout
from tilecheck.layout.tile import base_tile, swizzles
from tilecheck.prove import active, bits, distinct, domain, enumeration, polynomial, race, smt
from tilecheck.prove import check as checking
from tilecheck.prove.check import EVALUATED, check
from tilecheck.prove.clause import Clause
from tilecheck.prove.enumeration import make_grid
from tilecheck.prove.obligation import Obligation, Outcome
from tilecheck.prove.replay import model_of
from tilecheck.prove.tiers import Tiers
from tilecheck.prove.verdict import Verdict
from tilecheck.spec import BadSpelling, find_contract

Json = dict[str, Any]
ADDRESSED = frozenset({"storage", "participation", "shape", "index.range", "bounds", "operands", "opcode", "space.explicit"})
CLAUSES = (
    "opcode",
    "space.explicit",
    "operands",
    "storage",
    "participation",
    "shape",
    "owner",
    "replica",
    "distinct",
    "contiguous",
    "aligned",
    "bounds",
    "backing",
    "index.range",
)
"""The clauses that these families can fail. `type` is none: every 32-bit dtype is a container of ldmatrix, and ld and st take any."""


PATIENCE = 16


# --- one call --------------------------------------------------------------------------------------------------------


class Forced(Tiers):
    """SMT decides every obligation; enumeration only completes a witness once the symbols are held."""

    def proved(self, tier: str) -> Outcome | None:  # noqa: ARG002 (a proof from the canonical form does not count)
        return None

    def decide(self, obligation: Obligation) -> Outcome:
        if obligation.goal is True or obligation.premise is False:
            return Outcome(holds=True, reason="structure")
        if polynomial.proves(obligation):
            return Outcome(holds=True, reason="polynomial")
        asked = Obligation(self.bounded(obligation.variables), obligation.premise, obligation.goal, obligation.lane)
        found = smt.decide(asked, self.rlimit)
        return found if found.holds is not False else self._completed(asked, found)


def _no_symbols(variables: Any, parts: Any, used: set[str], limit: int = 0) -> Any:
    """As make_grid, but a symbol with several values is too much for it."""
    for variable in variables:
        if variable.role == "symbol" and variable.name in used and variable.values is None and variable.count != 1:
            return f"the symbol {variable.name} is left to the solver"
    return make_grid(variables, parts, used, limit)


@contextlib.contextmanager
def solver_alone() -> Iterator[None]:
    """What depends on symbols is decided by SMT."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(checking, "Tiers", Forced))
        for module in (active, distinct, race):
            stack.enter_context(mock.patch.object(module, "make_grid", _no_symbols))
        yield


@contextlib.contextmanager
def remembering() -> Iterator[None]:
    """Brute force over a call is done once, for the audit and for us, and goes further than an audit does on its own."""
    plain = Model.check

    def once(self: Model, limit: int = EVALUATED) -> Answer:
        if "answer" not in self.__dict__:
            self.__dict__["answer"] = plain(self, PATIENCE * limit)
        return self.__dict__["answer"]

    with mock.patch.object(Model, "check", once):
        yield


TIERS = ("structure", "domain", "polynomial", "bits", "enumeration", "SMT")


def deciding(verdict: Verdict) -> frozenset[str]:
    """The tiers that a verdict names."""
    return frozenset(re.split(r"[, ]", part)[0] for clause in verdict.clauses for part in clause.method.split("; ") if part)


@contextlib.contextmanager
def counting(abstained: Counter[str]) -> Iterator[None]:
    """Counts the questions each tier leaves to the next."""

    def noting(name: str, plain: Callable[..., Any], open_: Callable[[Any], bool]) -> Callable[..., Any]:
        def asked(*args: Any) -> Any:
            answer = plain(*args)
            abstained[name] += open_(answer)
            return answer

        return asked

    def settled(self: Tiers, clause: Clause) -> Outcome:
        abstained["structure"] += clause.proof is None and clause.obligation.goal is not True
        return settle(self, clause)

    settle = Tiers.settle
    with contextlib.ExitStack() as stack:
        for name, module, function in (
            ("domain", domain, "proves"),
            ("polynomial", polynomial, "proves"),
            ("bits", bits, "proves"),
            ("enumeration", enumeration, "decide"),
            ("SMT", smt, "decide"),
        ):
            open_ = (lambda answer: not answer) if function == "proves" else (lambda answer: answer.holds is None)
            stack.enter_context(mock.patch.object(module, function, noting(name, getattr(module, function), open_)))
        stack.enter_context(mock.patch.object(Tiers, "settle", settled))
        yield


def short(clause: str) -> str:
    """A clause without its operand."""
    return clause.removeprefix("src.").removeprefix("dst.")


def points(verdict: Verdict) -> dict[str, Any]:
    """The point of each failing clause."""
    return {
        c.id: None if c.counterexample is None else where(c.counterexample, symbols=short(c.id) not in {"shape", "backing", "replica"})
        for c in verdict.failing
    }


def hazard_ids(verdict: Verdict) -> set[str]:
    return {hazard.id for hazard in verdict.hazards}


def compared(name: str, one: Verdict, other: Verdict) -> list[str]:
    """Where two verdicts on one call differ."""
    a, b = points(one), points(other)
    found = [] if one.status == other.status else [f"{name}: status {one.status} and {other.status} ({reasons(other)})"]
    if a.keys() != b.keys():
        found.append(f"{name}: failing {sorted(a)} and {sorted(b)} ({reasons(other)})")
    found += [f"{name}: point of {clause}: {a[clause]} and {b[clause]}" for clause in a.keys() & b.keys() if a[clause] != b[clause]]
    if hazard_ids(one) != hazard_ids(other):
        found.append(f"{name}: hazards {hazard_ids(one)} and {hazard_ids(other)}")
    return found


def reasons(verdict: Verdict) -> str:
    return "; ".join(f"{c.id} {c.reason}" for c in verdict.clauses if c.status == "unproved")


def against(answer: Answer, verdict: Verdict) -> list[str]:
    """Where a verdict and brute force differ."""
    if answer.status == "too-large":
        return ["evaluator: too large"]
    ours = {c.id for c in verdict.failing}
    expected = "refuted" if answer.status == "proved" and ours & OUTSIDE else answer.status
    found = [] if verdict.status == expected else [f"evaluator: status {verdict.status} and {expected}"]
    if ours - OUTSIDE != set(answer.failures) and answer.status != "vacuous":
        found.append(f"evaluator: failing {sorted(ours - OUTSIDE)} and {sorted(answer.failures)}")
    if not {short(c) for c in ours} & ADDRESSED and hazard_ids(verdict) != set(answer.hazards) and answer.status != "vacuous":
        found.append(f"evaluator: hazards {hazard_ids(verdict)} and {set(answer.hazards)}")
    mine = points(verdict)
    for clause, point in answer.failures.items():
        first, own = where(point, symbols=short(clause) not in {"shape", "backing", "replica"}), mine.get(clause)
        if own is not None and (
            own[-1] != first[-1] or (own != first and short(clause) != "storage")
        ):  # storage: the element; the rest has no say
            found.append(f"evaluator: point of {clause}: {mine[clause]} and {first}")
    return found


@dataclass
class Sample:
    """What one call came to."""

    mutation: str
    status: str
    failing: tuple[str, ...] = ()
    features: frozenset[str] = frozenset()
    problems: list[str] = field(default_factory=list)
    times: tuple[float, ...] = ()
    tiers: frozenset[str] = frozenset()
    """The tiers that decided at least one clause."""
    abstained: Counter[str] = field(default_factory=Counter[str])
    points: dict[str, Any] = field(default_factory=dict)


def forced(document: Json) -> bool:
    """Whether this call is one of the third that SMT decides alone."""
    return zlib.crc32(json.dumps(document, sort_keys=True).encode()) % 3 == 0


def judged(document: Json, *, alone: bool | None = None) -> Sample:
    """Every tier and the evaluator on one call; `alone`: SMT alone too (None: for a third of the calls)."""
    sample = Sample(document["id"], "unread", features=features(document))
    clock = [time.perf_counter()]

    def stage(name: str, work: Callable[[], list[str]]) -> None:
        try:
            sample.problems += work()
        except Exception as error:  # noqa: BLE001 (every fault is listed)
            sample.problems.append(f"{name}: {type(error).__name__}: {str(error).split('; call: {')[0][:1500]}")
        clock.append(time.perf_counter())

    found: list[Verdict] = []

    def default() -> list[str]:
        with counting(sample.abstained):
            found.append(check(read_call(document)))
        sample.tiers = deciding(found[0])
        sample.status, sample.failing = found[0].status, tuple(c.id for c in found[0].failing)
        sample.points = points(found[0])
        return [f"default: unproved: {reasons(found[0])}"] if reasons(found[0]) else []

    def audit() -> list[str]:
        call = read_call(document)
        with remembering():
            problems = compared("audit", found[0], check(call, audit=True))
            answer = answered(call)
        return problems + ([] if answer is None else against(answer, found[0]))

    def solver() -> list[str]:
        with solver_alone():
            return compared("SMT alone", found[0], check(read_call(document)))

    stage("default", default)
    if found and not unbounded(document):  # an audit would ask SMT again what only SMT can say
        stage("audit", audit)
    if found and (forced(document) if alone is None else alone):
        stage("SMT alone", solver)
    sample.times = tuple(b - a for a, b in zip(clock, clock[1:], strict=False))
    return sample


def unbounded(document: Json) -> bool:
    return any(s.get("min") is None or s.get("max") is None for s in document["symbols"])


def clamped(document: Json, ranges: Json) -> Json:
    """The document with its unbounded symbols in small ranges."""
    return document | {"symbols": [{**s, "min": ranges[s["name"]][0], "max": ranges[s["name"]][1]} for s in document["symbols"]]}


def judged_pair(document: Json, ranges: Json) -> Sample:
    """A call with unbounded symbols, against the same call with small ranges, which brute force reaches."""
    whole, small = judged(document, alone=False), judged(clamped(document, ranges))
    whole.problems += [f"clamped: {problem}" for problem in small.problems]
    if "unread" in {whole.status, small.status}:
        return whole
    if whole.status == "proved" and small.status not in {"proved", "vacuous"}:
        whole.problems.append(f"open: proved, but {small.status} when clamped: {small.failing}")
    gates = {c for c in whole.failing if short(c) in ADDRESSED} - set(small.failing)
    for clause in set(small.failing) - set(whole.failing) if not gates and small.status == "refuted" else ():
        whole.problems.append(f"open: {clause} holds, but fails when clamped")
    gates = {c for c in small.failing if short(c) in ADDRESSED} - set(whole.failing)
    for clause in whole.failing:
        mine, other = whole.points[clause], small.points.get(clause)
        if mine is None or small.status == "vacuous" or not mine[0].keys() >= ranges.keys():
            continue
        inside = all(low <= mine[0][name] <= high for name, (low, high) in ranges.items())
        if inside and other is None and not gates:
            whole.problems.append(f"open: {clause} fails at {mine}, but holds when clamped")
        elif other is not None and (mine != other if inside else spiral(mine[0]) > spiral(other[0])):
            whole.problems.append(f"open: point of {clause}: {mine}, but {other} when clamped")
    return whole


def spiral(values: dict[str, int]) -> list[tuple[int, bool]]:
    """The order of symbol values: 0, 1, -1, 2, ..."""
    return [(abs(value), value < 0) for value in values.values()]


def answered(call: Call) -> Answer | None:
    contract = find_contract(call.opcode)
    return None if contract is None or isinstance(contract, BadSpelling) else model_of(call, contract).check(EVALUATED)


# --- features --------------------------------------------------------------------------------------------------------

THREADS = re.compile(r"\b(laneid|warpid|wid_in_wg|wgid|tid_in_wg|tx|cb[xyz]|elected)\b")


def features(document: Json) -> frozenset[str]:
    """What occurs in a call."""
    found = {f"scope {document['scope']}", f"index {document.get('index_dtype', 'int64')}"}
    launch, guard = document["launch"], str(document.get("guard", ""))
    names = [s["name"] for s in document["symbols"]]
    words = re.compile(rf"\b({'|'.join(names)})\b") if names else re.compile(r"(?!)")
    tests = {
        "2-D/3-D block": len(launch["block"]) > 1,
        "cluster": launch.get("cluster") is not None,
        "guard": bool(guard),
        "elected": "elected" in guard,
        "partial warp": eval("*".join(map(str, launch["block"]))) % 32 != 0,
        "guard with symbols": bool(words.search(guard)),
        "assume": bool(document.get("assume")),
        "pred": "pred" in document["parameters"],
        "preserve_dst": "preserve_dst" in document["parameters"],
        "symbols": bool(names),
        "arch": "arch" in document,
        "negative range": any(s.get("min") is None or s["min"] < 0 for s in document["symbols"]),
        "unbounded symbol": unbounded(document),
    }
    found |= {f"varies {s['varies']}" for s in document["symbols"] if s.get("varies", "grid") != "grid"}
    found |= {name for name, holds in tests.items() if holds}
    for operand in document["operands"]:
        if "layout" in operand:
            found |= set(_operand_features(operand, words))
    return frozenset(found)


def _operand_features(operand: Json, words: re.Pattern[str]) -> Iterator[str]:
    layout = parse_layout(operand["layout"])
    tile = base_tile(layout)
    strides = [one.stride for one in (*tile.shard, *tile.replica) if one.axis == "m" and one.effective]
    numbers = [n for n in strides if isinstance(n, int)]
    tests = {
        "stride no power of two": any(abs(n) & (abs(n) - 1) for n in numbers),
        "negative stride": any(n < 0 for n in numbers),
        "symbolic stride": len(numbers) < len(strides),
        "symbolic extent": any(isinstance(n, str) for n in operand["shape"]),
        "replica": bool(tile.replica),
        "base residue": "base" in operand,
        "size_bytes": "size_bytes" in operand,
        "local": operand["space"] == "local",
        "swizzle inner": any(one.swizzle_inner for one in swizzles(layout)),
        "swizzle outer": any(not one.swizzle_inner for one in swizzles(layout)),
        "swizzles chained": len(swizzles(layout)) > 1,
        "thread axis in memory": operand["space"] != "register" and "@" in operand["layout"],
    }
    yield from (name for name, holds in tests.items() if holds)
    yield from (f"axis {one.axis}" for one in tile.shard if one.axis != "m" and one.effective)
    bits = views.width(operand["dtype"])
    for step in operand.get("view", ()):
        yield step["op"] if step["op"] != "view" else f"view {'up' if views.width(step['dtype']) > bits else 'down'}"
        bits = views.width(step["dtype"]) if step["op"] == "view" else bits
        begins = " ".join(str(b) for b in step.get("begin", ()))
        yield from (name for name, pattern in (("symbolic start", words), ("hardware start", THREADS)) if pattern.search(begins))


# --- reduction -------------------------------------------------------------------------------------------------------


def kind(problem: str) -> str:
    """What a reduction must keep of a problem."""
    return re.sub(r"[\[({'].*", "", problem)[:130]


def reduced(document: Json, holds: Callable[[Json], bool], tries: int = 250) -> Json:
    """A smaller document for which the same holds."""
    progress = True
    while progress and tries > 0:
        progress = False
        for smaller in smaller_documents(document):
            tries -= 1
            if tries < 0:
                break
            if smaller != document and holds(smaller):
                document, progress = smaller, True
                break
    return document


def fails_like(problem: str, judge: Callable[[Json], Sample]) -> Callable[[Json], bool]:
    """Whether a document has a problem of the same kind."""

    def holds(document: Json) -> bool:
        try:
            return any(kind(p) == kind(problem) for p in judge(document).problems)
        except Exception:  # noqa: BLE001 (no document that can be read)
            return False

    return holds


def smaller_documents(document: Json) -> Iterator[Json]:
    """Documents with one thing less."""

    def copy() -> Json:
        return json.loads(json.dumps(document))

    for key in ("guard", "index_dtype", "arch"):
        if key in document:
            made = copy()
            del made[key]
            yield made
    for name in document["parameters"]:
        made = copy()
        del made["parameters"][name]
        yield made
    if document["launch"].get("cluster"):
        yield copy() | {"launch": {"block": document["launch"]["block"], "cluster": None}}
    if len(document["launch"]["block"]) > 1:
        yield copy() | {"launch": {**document["launch"], "block": [views.prod(document["launch"]["block"])]}}
    for k in range(len(document.get("assume", ()))):
        made = copy()
        del made["assume"][k]
        yield made
    parts = str(document.get("guard", "")).split(" and ")
    for k in range(len(parts) if len(parts) > 1 else 0):
        yield copy() | {"guard": " and ".join(part for i, part in enumerate(parts) if i != k)}
    yield from _fewer_symbols(document, copy)
    yield from _smaller_operands(document, copy)


def _fewer_symbols(document: Json, copy: Callable[[], Json]) -> Iterator[Json]:
    for k, declared in enumerate(document["symbols"]):
        values = {value for value in (declared.get("min"), declared.get("max"), 0, 1) if value is not None}
        for value in sorted(values, key=abs):
            text = re.sub(rf"\b{declared['name']}\b", f"({value})" if value < 0 else str(value), json.dumps({**document, "symbols": []}))
            yield json.loads(text) | {"symbols": document["symbols"][:k] + document["symbols"][k + 1 :]}
        for key in ("varies", "multiple_of"):
            if key in declared:
                made = copy()
                del made["symbols"][k][key]
                yield made
        low, high = declared.get("min"), declared.get("max")
        if low is not None and high is not None and high > low:
            for ends in ((low, low), (high, high), (0, high), (low, 0), (low + 1, high), (low, high - 1)):
                if low <= ends[0] <= ends[1] <= high and ends != (low, high):
                    made = copy()
                    made["symbols"][k] |= {"min": ends[0], "max": ends[1]}
                    yield made


def _smaller_operands(document: Json, copy: Callable[[], Json]) -> Iterator[Json]:
    for k, operand in enumerate(document["operands"]):
        for key in ("size_bytes", "base", "align"):
            if key in operand:
                made = copy()
                del made["operands"][k][key]
                yield made
        layout = str(operand.get("layout", ""))
        for simpler in (
            re.sub(r"Swizzle\([^)]*\) o ", "", layout, count=1),
            re.sub(r" \+ R\[.*?\)\]", "", layout),
            re.sub(r"\] [+-] \d+$", "]", layout),
        ):
            if simpler != layout:
                made = copy()
                made["operands"][k]["layout"] = simpler
                yield made
        for i, step in enumerate(operand.get("view", ())):
            made = copy()
            del made["operands"][k]["view"][i]
            yield made
            for j, begin in enumerate(step.get("begin", ())):
                if begin != 0:
                    made = copy()
                    made["operands"][k]["view"][i]["begin"][j] = 0
                    yield made
                for inner in re.findall(r"\(([^()]*)\)", str(begin)) if isinstance(begin, str) else ():
                    made = copy()
                    made["operands"][k]["view"][i]["begin"][j] = inner
                    yield made


# --- the campaign ----------------------------------------------------------------------------------------------------


Item = tuple[str, Json, Json | None]
"""A family, a document, and the ranges that clamp its unbounded symbols."""


def items(family: str, count: int, number: int, *, points: int = views.POINTS, unbounded_too: bool = False) -> list[Item]:
    """`count` different documents of a family, seeded."""
    found: dict[str, Item] = {}

    def collect(drawn: Any) -> None:
        document, ranges = drawn if unbounded_too else (drawn, None)
        if len(found) < count:
            found[json.dumps(document, sort_keys=True)] = (family, document, ranges)

    run = settings(
        max_examples=count + count // 5 + 10, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    seed(number)(run(given((views.open_calls if unbounded_too else views.calls)(family, points))(collect)))()
    return list(found.values())


def judged_item(item: Item) -> Sample:
    _, document, ranges = item
    return judged(document) if ranges is None else judged_pair(document, ranges)


def reduced_item(item: Item, problem: str) -> Json:
    """The smallest document found that has a problem of the same kind."""
    _, document, ranges = item
    if ranges is None:
        return reduced(document, fails_like(problem, lambda d: judged(d, alone=problem.startswith("SMT"))))
    return reduced(document, fails_like(problem, lambda d: judged_pair(d, {s["name"]: ranges[s["name"]] for s in d["symbols"]})), tries=120)


def _work(job: tuple[int, Item]) -> tuple[int, Sample]:
    return job[0], judged_item(job[1])


LATE = 150
"""Seconds without any answer after which what is left is called a disagreement: every question has its limit."""


def answered_in_time(found: Any, todo: list[Item]) -> Iterator[tuple[Item, Sample]]:
    """The samples as they come; those that do not come, as such."""
    left = dict(enumerate(todo))
    while left:
        try:
            number, sample = found.next(timeout=LATE)
        except multiprocessing.TimeoutError:
            yield from ((item, Sample(item[1]["id"], "unread", problems=[f"no answer in {LATE} s"])) for item in left.values())
            return
        yield left.pop(number), sample


def _reduce(job: tuple[Item, str]) -> tuple[Item, str, Json]:
    return *job, reduced_item(*job)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="calls of each family")
    parser.add_argument("--unbounded", type=int, help="calls of each family with unbounded symbols (default: half of --count)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--family", choices=views.FAMILIES)
    options = parser.parse_args()
    families = [options.family] if options.family else list(views.FAMILIES)
    more = options.count // 2 if options.unbounded is None else options.unbounded
    print(f"seed {options.seed}: {options.count} calls of each of {', '.join(families)}, and {more} with unbounded symbols", flush=True)
    began = time.perf_counter()
    todo = [item for family in families for item in items(family, options.count, options.seed)]
    todo += [item for family in families for item in (items(family, more, options.seed, unbounded_too=True) if more else [])]
    results: list[tuple[Item, Sample]] = []
    with multiprocessing.get_context("spawn").Pool(options.workers) as pool:
        for item, sample in answered_in_time(pool.imap_unordered(_work, enumerate(todo)), todo):
            results.append((item, sample))
            if sample.problems:
                told(item, sample)
            if len(results) % 500 == 0:
                print(f"{len(results)} of {len(todo)} calls, {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
        for item, problem, smaller in pool.imap_unordered(_reduce, chosen(results)):
            print(
                f"\nREDUCED: {problem}",
                json.dumps(smaller),
                *([] if item[2] is None else [f"ranges: {json.dumps(item[2])}"]),
                sep="\n  ",
                flush=True,
            )
    bad = sum(bool(sample.problems) for _, sample in results)
    missed: list[str] = []
    for family in families:
        missed += report(family, [sample for item, sample in results if item[0] == family and item[2] is None])
        report(f"{family}, unbounded", [sample for item, sample in results if item[0] == family and item[2] is not None])
    missed += tier_quotas(results)
    missed += clause_quotas([sample for item, sample in results if item[2] is None], options.count * len(families))
    print(f"\nseed {options.seed}: {len(results)} calls, {bad} disagreements, {time.perf_counter() - began:.0f} s", *missed, sep="\n  ")
    return 1 if bad or missed else 0


def told(item: Item, sample: Sample) -> None:
    """Prints a disagreement."""
    print(f"\nDISAGREEMENT ({item[0]}, {sample.mutation or 'no mutation'})", *sample.problems, json.dumps(item[1]), sep="\n  ")
    print(*([] if item[2] is None else [f"  ranges: {json.dumps(item[2])}"]), flush=True)


def chosen(results: list[tuple[Item, Sample]]) -> list[tuple[Item, str]]:
    """Two disagreements of each kind, the shortest documents first."""
    found: dict[str, list[tuple[Item, str]]] = {}
    for item, sample in sorted(results, key=lambda result: len(json.dumps(result[0][1]))):
        for problem in sample.problems[:1] if sample.status != "unread" else ():
            found.setdefault(kind(problem), []).append((item, problem))
    return [job for jobs in found.values() for job in jobs[:2]]


def report(name: str, samples: list[Sample]) -> list[str]:
    """Prints the shares of a family; the quotas it misses."""
    if not samples:
        return []
    statuses = Counter(sample.status for sample in samples)
    shown = Counter(feature for sample in samples for feature in sample.features)
    total = len(samples)
    print(f"\n{name}: {total} calls, {sum(bool(s.problems) for s in samples)} disagreements")
    print("  " + ", ".join(f"{status} {100 * n / total:.1f} %" for status, n in statuses.most_common()))
    print("  only failing clause: " + ", ".join(f"{clause} {n}" for clause, n in alone(samples).items()))
    print("  features: " + ", ".join(f"{feature} {n}" for feature, n in shown.most_common()))
    print(
        "  seconds: "
        + ", ".join(
            f"{what} {sum(s.times[k] for s in samples if len(s.times) > k):.0f}" for k, what in enumerate(("check", "audit", "SMT alone"))
        )
    )
    shares = {
        **{status: (statuses[status], 30) for status in ("proved", "refuted")},
        **{feature: (shown[feature], 25) for feature in QUARTERS},
    }
    return [
        f"{name}: {what} in {100 * n / total:.1f} % of the calls, wanted {least} %"
        for what, (n, least) in shares.items()
        if 100 * n < least * total
    ]


def tier_quotas(results: list[tuple[Item, Sample]]) -> list[str]:
    """Prints in how many calls each tier decides a clause, and what it left to others; the tiers that decide in less than a tenth.

    The polynomial tier is for symbolic strides, which global tensors alone have: its tenth is one of the memory family.
    """
    missed: list[str] = []
    print()
    for name, tiers in (("all calls", [tier for tier in TIERS if tier != "polynomial"]), ("memory", ["polynomial"])):
        samples = [sample for item, sample in results if name in {"all calls", item[0]}]
        decided = Counter(tier for sample in samples for tier in sample.tiers)
        left: Counter[str] = sum((sample.abstained for sample in samples), Counter[str]())
        shares = (f"{tier} decides in {100 * decided[tier] / max(1, len(samples)):.1f} % (abstains {left[tier]} times)" for tier in tiers)
        print(f"tiers, of {name}: " + ", ".join(shares))
        missed += [
            f"the tier {tier} decides in {decided[tier]} calls, wanted a tenth" for tier in tiers if 10 * decided[tier] < len(samples)
        ]
    return missed


QUARTERS = ("negative range", "stride no power of two", "symbolic start")


def alone(samples: list[Sample]) -> dict[str, int]:
    """How often each clause is the only failing one."""
    only = Counter(short(sample.failing[0]) for sample in samples if len(sample.failing) == 1)
    return {clause: only[clause] for clause in CLAUSES}


def clause_quotas(samples: list[Sample], count: int) -> list[str]:
    """The clauses that are the only failing one in too few calls: 20 of 4000, fewer in a smaller campaign."""
    least = min(20, count // 200)
    return [f"{clause} is the only failing clause in {n} calls, wanted {least}" for clause, n in alone(samples).items() if n < least]


if __name__ == "__main__":
    sys.exit(main())
