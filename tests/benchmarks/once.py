"""The first verdict of a process: `python once.py < document.json` prints what import, reading and check took together, in milliseconds.

Run with the repository root in PYTHONPATH. Nothing but sys and time is loaded before the clock starts.
"""

import sys
import time

TEXT = sys.stdin.read()
STARTED = time.perf_counter(), time.process_time()

import json  # noqa: E402  (the import is timed)

from tilecheck import check  # noqa: E402
from tilecheck.document import read_call  # noqa: E402

CALL = read_call(json.loads(TEXT))
READ = time.perf_counter()
VERDICT = check(CALL)
ENDED = time.perf_counter(), time.process_time()

print(
    json.dumps(
        {
            "wall_ms": (ENDED[0] - STARTED[0]) * 1e3,
            "cpu_ms": (ENDED[1] - STARTED[1]) * 1e3,
            "check_ms": (ENDED[0] - READ) * 1e3,
            "status": VERDICT.status,
            "loaded": [name for name in ("z3", "sympy", "numpy", "einops", "rich") if name in sys.modules],
        }
    )
)
