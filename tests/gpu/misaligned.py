"""What a GPU does with calls that a contract refutes, each in a process of its own; writes docs/evidence/misaligned.json (or $OUT).

A fault leaves a CUDA context unusable, so one process runs the control (it must come out as predicted), then the refuted call, and says how
it ended. Run from the repository root: `python -m tests.gpu.misaligned [--only TEXT] [--out FOLDER] [--jobs N]`. Needs numpy, cuda-core,
cuda-bindings and an assembler; neither z3 nor sympy.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from math import prod
from pathlib import Path

from tests.gpu.refuted_cases import Case, all_cases
from tests.gpu.tags import resting
from tilecheck.document import read_call
from tilecheck.emit import emit_kernel_unchecked, emit_unchecked
from tilecheck.evaluate import Model
from tilecheck.reconstruct import predicted, ptx_sha256, write_evidence
from tilecheck.reconstruct.arena import arena, room
from tilecheck.reconstruct.device import DeviceError, Gpu, gpu
from tilecheck.reconstruct.evidence import now
from tilecheck.reconstruct.image import expected
from tilecheck.reconstruct.run import contract_of
from tilecheck.spec import contract_hash, data

Json = dict[str, object]

SECONDS, LAUNCH_SECONDS = 60, 8
"""How long one process may take, the start of CUDA included, and how long the refuted call in it."""
ENDLESS = f"no end within {LAUNCH_SECONDS} s"
FAULT = re.compile(r"CUDA_ERROR_\w+")


def reading(outcome: str) -> str:
    """What an outcome says of a refutation: fault, hang, differs, laxer (than the document) or unknown."""
    known = {"as the view says": "laxer", "differs": "differs", ENDLESS: "hang"}
    return "fault" if FAULT.fullmatch(outcome) else known.get(outcome, "unknown")


def refuted_by(document: Json) -> list[str]:
    """The clauses that the independent evaluator refutes."""
    call = read_call(document)
    contract, own = (json.loads(json.dumps(one)) for one in (data(contract_of(call)), call.to_json()))
    return sorted(Model(contract, own).check().failures)


@dataclasses.dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: in words, how many bytes differ from what the view says, and how many of these are as they were before."""

    outcome: str
    different_bytes: int = 0
    unchanged_bytes: int = 0


def attempt(case: Case, machine: Gpu, *, control: bool) -> Ended:
    """Runs a case or its control."""
    call = read_call(case.control if control else case.document)
    kernel = emit_kernel_unchecked(call, machine.arch)
    if case.rewritten and not control:
        kernel = dataclasses.replace(kernel, ptx=case.rewritten(kernel.ptx))
    place = arena(kernel, machine.memory(room(kernel, case.values)), case.values, 0)
    try:
        runs = machine.runs(kernel, place)
    except DeviceError as error:
        found = FAULT.search(str(error))
        return Ended(found.group() if found else str(error))
    wrong = expected(place, predicted(call, case.values, 0), kernel.tensors, prod(kernel.block)).wrong(runs)
    found = place.places(runs)
    if case.leaving and not control:
        wrong = wrong[found[wrong] != wrong]
    unchanged = found[wrong] == resting(place)[wrong]
    return Ended("differs" if wrong.size else "as the view says", int(wrong.size), int(unchanged.sum()))


def evidence(case: Case, machine: Gpu, control: Ended, ended: Ended) -> Json:
    """The row of one case."""
    call = read_call(case.document)
    return {
        "form": case.name,
        "opcode": call.opcode,
        "contract": contract_hash(contract_of(call)),
        "what": case.what,
        "clause": case.clause,
        "refuted": refuted_by(case.document),
        "values": case.values,
        "control": control.outcome,
        "outcome": ended.outcome,
        "reading": reading(ended.outcome),
        "different_bytes": ended.different_bytes,
        "unchanged_bytes": ended.unchanged_bytes,
        "rewritten": case.rewritten is not None,
        "ptx_sha256": ptx_sha256(emit_unchecked(call, machine.arch).normalised),
        "arch": machine.arch,
        "device": machine.info.name,
        "compute_capability": machine.info.compute_capability,
        "driver": machine.info.driver,
        "cuda": machine.info.cuda,
        "date": now(),
    }


def one_case(case: Case) -> None:
    """Prints the row of one case and ends the process: a context that has faulted cannot be taken down in order."""

    def leave(row: Json) -> None:
        print(json.dumps(row), flush=True)
        os._exit(0)

    machine = gpu(0)
    control = attempt(case, machine, control=True)
    if control.outcome != "as the view says":
        leave(evidence(case, machine, control, Ended("not tried")))
    threading.Timer(LAUNCH_SECONDS, leave, (evidence(case, machine, control, Ended(ENDLESS)),)).start()
    leave(evidence(case, machine, control, attempt(case, machine, control=False)))


def in_a_process(name: str) -> Json:
    """The evidence of the case of that name; a process that says nothing is an outcome too."""
    command = [sys.executable, "-m", "tests.gpu.misaligned", "--case", name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return {"form": name, "control": "unknown", "outcome": f"no end within {SECONDS} s", "reading": "unknown"}
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        last = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
        return {"form": name, "control": "unknown", "outcome": f"exit status {done.returncode}: {last}", "reading": "unknown"}


def problem(row: Json) -> str:
    """Why a row is no evidence, or ""."""
    if row["control"] != "as the view says":
        return f"its control: {row['control']}"
    return f"no known outcome: {row['outcome']}" if row["reading"] == "unknown" else ""


def main() -> int:
    """Runs the cases; 0 where every control is as predicted and every outcome has a reading."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--case", default="")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--out", default=os.environ.get("OUT", "docs/evidence"))
    options = parser.parse_args()
    cases = {case.name: case for case in all_cases()}
    if options.case:
        one_case(cases[options.case])
    started = time.perf_counter()
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(in_a_process, (name for name in cases if options.only in name)))
    for row in rows:
        print(f"{row['reading']:8} {row['form']}: {row['outcome']} {problem(row) and 'PROBLEM: ' + problem(row)}")
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    write_evidence(out / "misaligned.json", rows)
    bad = [row for row in rows if problem(row)]
    print(
        f"{len(rows)} cases: {dict(Counter(str(row['reading']) for row in rows))}, {len(bad)} problems; {time.perf_counter() - started:.1f} s"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
