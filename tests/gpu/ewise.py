"""The evidence of scalar compositions: reconstructs every form on GPU 0 and writes docs/evidence/ewise.json (or $OUT).

Run from the repository root: `python -m tests.gpu.ewise [--only TEXT]`. Every result is compared with what the evaluator says; the samples, too, with NumPy
references written beside them; wrong tables must be noticed. Approximations are measured at 4096 numbers each.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tests.gpu.campaign import Json
from tests.gpu.evidence import mutant_row
from tests.gpu.ewise_forms import SAMPLES, Sample, ewise_forms
from tests.scalar.calls import document, name_of, operation_document
from tests.scalar.mutants import MUTANTS, mutated
from tilecheck.document import read_call
from tilecheck.errors import TilecheckError
from tilecheck.evaluate.scalar_numbers import decoded
from tilecheck.reconstruct import reconstruct, write_evidence
from tilecheck.reconstruct.device import gpu
from tilecheck.reconstruct.run import compared_scalars, observe_scalars, results_of
from tilecheck.reconstruct.scalars import Result

EXACT = {"exp2": np.exp2, "log2": np.log2, "tanh": np.tanh, "rsqrt": lambda x: 1 / np.sqrt(x), "exp": np.exp, "log": np.log}
APPROXIMATIONS = (
    *(("exp2", type_) for type_ in ("float32", "float16", "bfloat16")),
    *(("tanh", type_) for type_ in ("float32", "float16", "bfloat16")),
    ("log2", "float32"),
    ("rsqrt", "float32"),
    ("exp", "float32"),
    ("log", "float32"),
)


def one_form(form) -> Json:
    """The evidence of one form; prints a line where it differs."""
    call = read_call(form.document)
    found = reconstruct(call, form.values, form.elected, form=form.name)
    if not found.matches:
        print(f"DIFFERS {form.name}: {found.evidence['compared']}", flush=True)
        for difference in found.differences[:4]:
            print(f"    {difference}")
    assert call.function is not None
    status = "reconstructed" if found.matches else "different"
    return {**found.evidence, "function": call.function.to_json(), "status": status}


def arrays(results: Sequence[Result]) -> tuple[list[np.ndarray], np.ndarray]:
    """(the arguments, what came out), floats as float64."""
    columns = [np.array([one.arguments[k].low for one in results]) for k in range(len(results[0].arguments))]
    return columns, np.array([decoded(one.expected.type, one.found) for one in results])


def sample_row(sample: Sample) -> Json:
    """A sample against its NumPy reference, where numbers are of moderate size if the reference has an error."""
    call = read_call(sample.document())
    observed, image = observe_scalars(call, seed=7)
    columns, found = arrays(results_of(call, observed, image))
    assert sample.reference is not None
    with np.errstate(all="ignore"):
        exact, error = sample.reference(*columns)
        bound = np.broadcast_to(np.asarray(error, dtype=np.float64), found.shape)
        moderate = np.logical_and.reduce([np.abs(column.astype(np.float64)) <= 16 for column in columns]) | (bound == 0)
        same = (np.isnan(exact.astype(np.float64)) & np.isnan(found.astype(np.float64))) | (exact == found)
        right = same | (np.abs(found.astype(np.float64) - exact.astype(np.float64)) <= bound)
    bad = np.flatnonzero(moderate & ~right)
    for k in bad[:4]:
        print(f"    {sample.name} of {[column[k] for column in columns]}: {found[k]}, NumPy says {exact[k]} within {bound[k]}", flush=True)
    row: Json = {
        "form": f"ewise, {sample.name}, against NumPy",
        "opcode": "ewise",
        "function": call.function.to_json() if call.function else {},
    }
    return row | {
        "arch": observed.kernel.arch,
        "matches": not bad.size,
        "compared": {"values": int(moderate.sum()), "exact": bool((bound == 0).all()), "different": int(bad.size)},
        "device": observed.gpu.info.name,
        "driver": observed.gpu.info.driver,
    }


def measured(op: str, type_: str) -> Json:
    """The largest errors of an approximation at random numbers: relative where the result is at least 1, absolute where it is less."""
    call = read_call(document([["a", type_]], type_, f"{op}(a)", 8))
    worst, most, count = 0.0, 0.0, 0
    for seed in range(4):
        observed, image = observe_scalars(call, seed=seed)
        (x,), found = arrays(results_of(call, observed, image))
        with np.errstate(all="ignore"):
            exact = EXACT[op](x.astype(np.float64))
            good = np.isfinite(exact) & np.isfinite(found) & (np.abs(exact) > 2.0**-14) & (np.abs(exact) < 60000)
            size, error = np.abs(exact[good]), np.abs(found[good] - exact[good])
        worst, most = max(worst, float((error / size)[size >= 1].max(initial=0))), max(most, float(error[size < 1].max(initial=0)))
        count += int(good.sum())
    said: Json = {"values": count}
    said |= {"relative": f"2^{np.log2(worst):.2f}"} if worst else {}
    said |= {"absolute": f"2^{np.log2(most):.2f}"} if most else {}
    print(f"measured {op} of {type_}: {said}", flush=True)
    return {"form": f"ewise, the error of {op} of {type_}", "op": op, "type": type_, "measured": said, "arch": observed.kernel.arch}


def mutant_rows() -> list[Json]:
    """Every wrong table, on the operation that it is wrong about."""
    rows: list[Json] = []
    for op, types, result, what, change in MUTANTS:
        name = name_of(op, types, result)
        call = read_call(operation_document(name))
        observed, image = observe_scalars(call, contract=mutated((op, types, result), change))
        differences, counts = compared_scalars(call, observed, image)
        if not differences:
            print(f"MISSED {what} ({name})", flush=True)
        different = counts["different"]
        assert isinstance(different, int)
        rows.append(mutant_row(f"ewise, {name}", "instruction", what, "emission", matches=not differences, different=different))
    return rows


def main() -> int:
    """Runs everything; 0 where all forms match and all mutants are noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", default=os.environ.get("OUT", "docs/evidence"))
    options = parser.parse_args()
    started = time.perf_counter()
    print(gpu(0).info, flush=True)
    rows: list[Mapping[str, object]] = []
    failed: list[str] = []
    for form in (form for form in ewise_forms() if options.only in form.name):
        try:
            rows.append(one_form(form))
        except TilecheckError as error:
            failed.append(form.name)
            print(f"FAILED   {form.name}: {type(error).__name__}: {error}", flush=True)
    print(f"{len(rows)} forms, {time.perf_counter() - started:.1f} s", flush=True)
    rows += [sample_row(one) for one in SAMPLES if options.only in one.name]
    if not options.only:
        rows += [measured(op, type_) for op, type_ in APPROXIMATIONS]
    bad = [] if options.only else mutant_rows()
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    write_evidence(out / "ewise.json", rows)
    (out / "mutants-ewise.json").write_text(json.dumps(bad, indent=1) + "\n", encoding="utf-8")
    different = [str(row["form"]) for row in rows if row.get("matches") is False]
    missed = sum(row["matches"] is True for row in bad)
    print(f"{len(different)} differ, {len(failed)} failed; {len(bad)} mutants: {missed} missed; {time.perf_counter() - started:.1f} s")
    return 1 if different or failed or missed else 0


if __name__ == "__main__":
    sys.exit(main())
