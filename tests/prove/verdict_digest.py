"""Prints one line per case: id, status, failing clauses and counterexamples. Two z3 versions must print the same.

python tests/prove/verdict_digest.py > newest.txt
PYTHONPATH=old-z3 python tests/prove/verdict_digest.py > oldest.txt
cmp newest.txt oldest.txt
"""

from __future__ import annotations

import sys
from pathlib import Path

from tilecheck import check
from tilecheck.document import Entry, read_file

ROOT = Path(__file__).parents[1]
MNEMONICS = ("ld", "st", "ldmatrix", "stmatrix", "movmatrix")


def main() -> None:
    import z3

    print("z3", z3.get_version_string(), file=sys.stderr)
    paths = [ROOT / "data" / "rules.jsonl", ROOT / "data" / "fuzz.jsonl", *sorted((ROOT / "bugs").glob("*.json"))]
    for path in paths:
        for entry in read_file(path):
            if not isinstance(entry, Entry) or entry.call.opcode.split(".")[0] not in MNEMONICS:
                continue
            verdict = check(entry.call)
            failing = [(c.id, c.counterexample.sentence if c.counterexample else c.reason) for c in verdict.failing]
            print(entry.call.id, verdict.status, failing, [h.id for h in verdict.hazards])


if __name__ == "__main__":
    main()
