"""The benchmarks: `python -m tests.benchmarks [--peer PYTHON] [--repeats N] [--seed S] [--out FILE] [--page FILE]`, from the repository root.

Every repetition is another document of documents.py. Of each kind: check alone and with reading its JSON, in one process that has checked
before (warm), and the first verdict of a fresh process (cold). With --peer, the TileDispatch pass of apache-tvm-tirx runs on programs of the
same content beside it. Then check_many, import and the command. Without --peer only our side runs; nothing else need be installed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.benchmarks.measure import Sizes, measured
from tests.benchmarks.record import dumped, page, read, table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Times tilecheck, and apache-tvm-tirx beside it.")
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter that has apache-tvm-tirx; without it only our side runs")
    parser.add_argument("--repeats", type=positive, default=200, help="documents of each kind (200)")
    parser.add_argument("--peer-repeats", type=positive, default=40, help="how many of them the peer gets (40)")
    parser.add_argument("--processes", type=positive, default=10, help="fresh processes for each cold number (10)")
    parser.add_argument("--many", type=positive, default=20_000, help="calls of check_many (20000)")
    parser.add_argument("--sample", type=int, default=200, help="how many of them brute force checks, which takes minutes (200)")
    parser.add_argument("--batches", type=positive, default=3, help="runs of check_many, each with its own calls (3)")
    parser.add_argument("--refuted", type=float, default=0.02, help="share of these calls that is illegal (0.02)")
    parser.add_argument("--seed", type=int, default=1, help="seed of all documents (1)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the raw samples as JSON")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the page of the documentation")
    parser.add_argument("--record", type=Path, metavar="FILE", help="measure nothing: take the raw samples from this file")
    chosen = parser.parse_args()
    if chosen.record is not None:
        record = read(chosen.record)
    else:
        numbers = (chosen.repeats, chosen.peer_repeats, chosen.processes, chosen.many, chosen.sample, chosen.batches)
        sizes = Sizes(*numbers, chosen.refuted, chosen.seed)
        record = measured(sizes, chosen.peer, lambda text: print(text, file=sys.stderr, flush=True))
    print(table(record))
    if chosen.out is not None:
        chosen.out.write_text(dumped(record), encoding="utf-8")
    if chosen.page is not None:
        chosen.page.write_text(page(record, chosen.page.stem), encoding="utf-8")
    return 0


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"found {number}, expected a positive number")
    return number


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, RuntimeError, ValueError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        sys.exit(2)
