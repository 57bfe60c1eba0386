"""The raw samples as JSON, as a table, and as the page of the documentation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from tests.benchmarks.documents import KINDS

Record = dict[str, Any]
RATIO, SLOW_PEER_MS, RATE, IMPORT_MS, COMMAND_MS = 10.0, 5.0, 5000, 60.0, 600.0


def read(path: Path) -> Record:
    """The record in a file; ValueError where it is another kind of JSON."""
    record: Record = json.loads(path.read_text(encoding="utf-8"))
    if record.get("schema") != "tilecheck/benchmarks@1":
        raise ValueError(f"{path}: found schema {record.get('schema')!r}, expected tilecheck/benchmarks@1")
    return record


def dumped(record: Record) -> str:
    """JSON with lists of samples on one line each, numbers to a tenth of a microsecond."""

    def short(value: object) -> object:
        if isinstance(value, float):
            return round(value, 4)
        if isinstance(value, dict):
            return {name: short(one) for name, one in value.items()}
        return [short(one) for one in value] if isinstance(value, list | tuple) else value

    def written(value: object, depth: int) -> str:
        if not isinstance(value, dict) or depth > 3:
            return json.dumps(value)
        pad = " " * (depth + 1)
        return "{\n" + ",\n".join(f"{pad}{json.dumps(k)}: {written(v, depth + 1)}" for k, v in value.items()) + f"\n{pad[1:]}}}"

    return written(short(record), 0) + "\n"


def spread(samples: Sequence[float]) -> tuple[float, float, float]:
    """Least, median, 95th percentile."""
    ninety_fifth = quantiles(samples, n=20, method="inclusive")[-1] if len(samples) > 1 else samples[0]
    return min(samples), median(samples), ninety_fifth


def three(samples: Sequence[float]) -> str:
    return " / ".join(f"{value:.3g}" if value < 100 else f"{value:.0f}" for value in spread(samples))


def of(samples: Iterable[Record], name: str) -> list[float]:
    return [sample[name] for sample in samples]


def ratio(case: Record) -> float:
    """How many times longer the peer's pass takes than check, median by median, both warm."""
    return median(of(case["peer"]["warm"], "wall_ms")) / median(case["check"]["wall_ms"])


def rows(record: Record) -> list[list[str]]:
    """A row for each case."""
    found: list[list[str]] = []
    for kind in (kind for kind in KINDS if kind.name in record["cases"]):
        case = record["cases"][kind.name]
        row = [kind.title, three(case["check"]["wall_ms"]), three(case["json"]["wall_ms"]), three(of(case["cold"], "wall_ms"))]
        if "peer" in case:
            samples = [*case["peer"]["first"], *case["peer"]["warm"]]
            accepted = sum(sample["accepted"] for sample in samples)
            verdict = f"{accepted} of {len(samples)}"
            row += [three(of(case["peer"]["warm"], "wall_ms")), three(of(case["peer"]["first"], "wall_ms")), verdict, f"{ratio(case):.1f}"]
        found.append(row)
    return found


def heads(record: Record) -> list[str]:
    peer = any("peer" in case for case in record["cases"].values())
    return ["call", "check", "JSON + check", "cold", *(("peer", "peer, first", "accepted", "times") if peer else ())]


def goals(record: Record) -> list[tuple[str, bool]]:
    """What is wanted, what was measured, and whether the one is the other."""
    cases = record["cases"]
    found: list[tuple[str, bool]] = []
    for what, name, limit in (("check", "check", "warm_ms"), ("JSON and check", "json", "json_ms")):
        limits = {kind.name: float(getattr(kind, limit)) for kind in KINDS if kind.name in cases}
        for most in sorted(set(limits.values()) - {0}):
            worst = max((one for one in limits if limits[one] == most), key=lambda kind: median(cases[kind][name]["wall_ms"]))
            value, cpu = (median(cases[worst][name][column]) for column in ("wall_ms", "cpu_ms"))
            those = (
                ""
                if most == min(limits.values()) or limit == "json_ms"
                else f" for {', '.join(one for one in limits if limits[one] == most)}"
            )
            sentence = (
                f"{what}, warm median at most {most} ms{those}: {value:.3f} ms in the slowest case, {worst} ({cpu:.3f} ms on the processor)"
            )
            found.append((sentence, value <= most))
    slow = [kind for kind, case in cases.items() if "peer" in case and median(of(case["peer"]["warm"], "wall_ms")) > SLOW_PEER_MS]
    if slow:
        least = min(slow, key=lambda kind: ratio(cases[kind]))
        value = ratio(cases[least])
        found.append(
            (f"{RATIO:.0f} times faster where the peer takes over {SLOW_PEER_MS:.0f} ms: {value:.1f} times in {least}", value >= RATIO)
        )
    for kind in (kind for kind in KINDS if kind.times and "peer" in cases.get(kind.name, {})):
        value = ratio(cases[kind.name])
        found.append((f"{kind.times} times faster for {kind.name}: {value:.0f} times", value >= kind.times))
    rate, cpu_rate = (median([batch["calls"] / batch[name] for batch in record["many"]]) for name in ("wall_s", "cpu_s"))
    sentence = f"check_many, {RATE} different legal calls a second: {rate:.0f} by the clock, {cpu_rate:.0f} by processor time"
    found.append((sentence, rate >= RATE))
    found += [over_bare(record, "tilecheck", "import tilecheck"), over_bare(record, "check", "from tilecheck import check")]
    wall, cpu = (median(record["command"][column]) for column in ("wall_ms", "cpu_ms"))
    sentence = f"tilecheck check on one document, under {COMMAND_MS:.0f} ms: {wall:.0f} ms ({cpu:.0f} ms on the processor)"
    found.append((sentence, wall < COMMAND_MS))
    loaded = record["command"]["loaded"]
    listed = ", ".join(loaded) or "none"
    found.append((f"z3 and SymPy are not loaded by it; of the dependencies are: {listed}", not {"z3", "sympy"} & set(loaded)))
    return found


def over_bare(record: Record, name: str, words: str) -> tuple[str, bool]:
    """What an import takes more than a bare interpreter."""
    wall, cpu = (median(record["import"][name][column]) - median(record["import"]["bare"][column]) for column in ("wall_ms", "cpu_ms"))
    return f"{words}, under {IMPORT_MS:.0f} ms over a bare interpreter: {wall:.1f} ms ({cpu:.1f} ms on the processor)", wall < IMPORT_MS


def about(record: Record) -> list[str]:
    """The machine, the documents, the calls of check_many, in sentences."""
    here, sizes, cases, batches = record["before"], record["sizes"], record["cases"], record["many"]
    versions = ", ".join(f"{name} {number}" for name, number in here["versions"].items() if number)
    peers = sorted({f"{case['peer']['package']} on Python {case['peer']['python']}" for case in cases.values() if "peer" in case})
    counts = "; ".join(f"{name} {case['documents']}, {case['operands']}, {case['contexts']}" for name, case in cases.items())
    slowest = ", ".join(f"{name} {ms:.1f}" for name, ms in record["import"]["slowest"][:6])
    first, mixed = batches[0], record["mixed"]
    calls, unexpected = (sum(batch[name] for batch in (*batches, mixed)) for name in ("calls", "unexpected"))
    share, rate = 100 * mixed["refuted"] / mixed["calls"], mixed["calls"] / mixed["wall_s"]
    return [
        (
            f"Machine: {here['processor']}, {here['processors']} processors, {here['system']}; load {here['load'][0]:.1f} before and "
            f"{record['after']['load'][0]:.1f} after."
        ),
        *busy(here),
        f"Versions: Python {here['python']}, {versions}; commit {here['commit']}; {here['date']}; seed {sizes['seed']}.",
        *(f"Peer: {peer}." for peer in peers),
        f"Distinct documents, operands and contexts (launch, symbols, index type) of each case: {counts}.",
        (
            f"check_many: {calls} calls of the cases that load registers mixed in {len(batches) + 1} processes, all of them legal but in the last, "
            f"where {share:.1f} % are refuted, each with its least counterexample replayed: {rate:.0f} calls a second there; "
            f"{first['distinct_operands']} of {2 * first['calls']} operands of the first process are distinct."
        ),
        (
            f"Verdicts of check_many: {unexpected} differ from what the generator says of the call; brute force agrees with {mixed['agreeing']} of "
            f"{mixed['sampled']} drawn at random from the last process, {mixed['sampled_refuted']} of them refuted."
        ),
        f"Own milliseconds of the slowest modules of `from tilecheck import check`: {slowest}.",
    ]


def busy(here: Record) -> list[str]:
    """What to think of figures from a machine that had other work."""
    if here["load"][0] < 0.5 * (here["processors"] or 1):
        return []
    return ["The machine had other work: these figures are upper bounds, and those of two columns are no fair comparison."]


def table(record: Record) -> str:
    """For a terminal."""
    lines = [heads(record), *rows(record)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    wanted = [f"{'met' if met else 'MISSED'}: {sentence}" for sentence, met in goals(record)]
    return "\n".join(["Milliseconds by the clock: least / median / 95th percentile.", "", *text, "", *wanted, "", *about(record)])


def page(record: Record, name: str = "benchmarks") -> str:
    """The page of the documentation; name: of the record and of the page, without their ends."""
    lines = [heads(record), ["---"] * len(heads(record)), *rows(record)]
    wanted = [f"| {sentence} | {'yes' if met else '**no**'} |" for sentence, met in goals(record)]
    return "\n".join(
        [
            TOP.format(name=name),
            *("| " + " | ".join(line) + " |" for line in lines),
            MIDDLE,
            *wanted,
            BOTTOM.format(name=name),
            *(f"- {sentence}" for sentence in about(record)),
            "",
        ]
    )


TOP = """# Benchmarks

<!-- Written by `python -m tests.benchmarks --record docs/evidence/{name}.json --page docs/reference/{name}.md`. -->

Milliseconds by the clock: least / median / 95th percentile. Every repetition is another call: sizes, strides, padding, slots, starts, names
and dtypes are drawn from a seed, and no operand of a case occurs twice, so that no answer can be remembered. *check*: the verdict on a call
that has been made, in a process that has checked before. *JSON + check*: from the text of the document. *cold*: import, reading and check in
a fresh process. *peer*: the `TileDispatch` pass of apache-tvm-tirx on programs of the same content, import and construction excluded; it
checks the view and lowers it. *peer, first*: the first pass of a process. *accepted*: how many of these programs, all legal, the peer takes.
*times*: peer by check, medians.
"""
MIDDLE = """
## What is wanted

| | met |
| --- | --- |"""
BOTTOM = """
## How it was measured

`python -m tests.benchmarks [--peer PYTHON] [--seed S] [--out FILE] [--page FILE]`; `docs/evidence/{name}.json` has the raw samples.
"""
