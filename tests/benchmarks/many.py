"""check_many in a process of its own: `python -m tests.benchmarks.many SEED COUNT SHARE SAMPLE` prints one JSON object.

The calls are made before the clock starts. Afterwards every verdict is compared with what the generator says of its document, and a random
sample with brute force: the evaluator, which shares no code with the prover. A symbol without bounds is given 0..7 for that.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import time
from typing import Any

from tests.benchmarks.documents import operand_keys, stream
from tilecheck import Verdict, check, check_many
from tilecheck.document import read_call
from tilecheck.evaluate import Model
from tilecheck.spec import Contract, data, find_contract

Document = dict[str, Any]


def bounded(document: Document) -> Document:
    """The document with 0..7 for every symbol that lacks a bound."""
    return {**document, "symbols": [{"min": 0, "max": 7} | symbol for symbol in document["symbols"]]}


def agrees(document: Document, verdict: Verdict) -> bool:
    """Whether brute force finds the same status and the same failing clauses."""
    contract = find_contract(document["opcode"])
    assert isinstance(contract, Contract)
    small = bounded(document)
    mine = verdict if small == document else check(read_call(small))
    answer = Model(data(contract), small).check()
    return verdict.status == mine.status == answer.status and {c.id for c in mine.failing} == set(answer.failures)


def measure(seed: int, count: int, share: float, sample: int) -> Document:
    drawn = stream(seed, count, share)
    calls = [read_call(document) for document, _ in drawn]
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    verdicts = check_many(calls)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    unexpected = sum(
        verdict.status != ("refuted" if clause else "proved") or (clause is not None and clause not in {c.id for c in verdict.failing})
        for (_, clause), verdict in zip(drawn, verdicts, strict=True)
    )
    picked = random.Random(f"sample {seed}").sample(range(count), min(sample, count))
    return {
        "seed": seed,
        "calls": count,
        "refuted": sum(verdict.status == "refuted" for verdict in verdicts),
        "distinct_operands": len({key for document, _ in drawn for key in operand_keys(document)}),
        "wall_s": wall,
        "cpu_s": cpu,
        "unexpected": unexpected,
        "sampled": len(picked),
        "sampled_refuted": sum(verdicts[k].status == "refuted" for k in picked),
        "agreeing": sum(agrees(drawn[k][0], verdicts[k]) for k in picked),
    }


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))))
