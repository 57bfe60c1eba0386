"""The evidence of mma.sync and of the register instructions: reconstructs every form on GPU 0 and writes docs/evidence (or $OUT).

Run from the repository root: `python -m tests.gpu.products [--only TEXT] [--jobs N]`. Mutants of the emission must be noticed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path

from tests.gpu.campaign import Json, later, one_form
from tests.gpu.documents import Form
from tests.gpu.evidence import mutant_row
from tests.gpu.mma_forms import later_mma_forms, mma_forms, sparse_forms
from tests.gpu.register_forms import arithmetic_forms, later_register_forms, register_forms
from tilecheck.document import read_call
from tilecheck.reconstruct import write_evidence
from tilecheck.reconstruct.device import gpu
from tilecheck.reconstruct.run import compared_computed, compared_product, computes, contract_of, observe_computed, observe_product
from tilecheck.spec import Contract, Register
from tilecheck.symbolic import terms

HALF = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
BYTES = "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32"
QUARTER = "mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32, selector 1"
DOUBLE = "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64"


def with_register(name: str, change: Callable[[terms.Term], terms.Term]) -> Callable[[Contract], Contract]:
    """The contract with the registers of an operand in another order."""

    def changed(contract: Contract) -> Contract:
        operands = tuple(
            dataclasses.replace(o, register=change(o.register)) if isinstance(o, Register) and o.name == name else o
            for o in contract.operands
        )
        return dataclasses.replace(contract, operands=operands)

    return changed


def swapped(a: int, b: int, count: int) -> Callable[[terms.Term], terms.Term]:
    order = [b if k == a else a if k == b else k for k in range(count)]
    return lambda term: terms.table(terms.normal(term), tuple(order))


def without_later_steps(contract: Contract) -> Contract:
    """The contract with C in the place of D in all steps."""
    c = contract.operands[3]
    assert isinstance(c, Register)
    return dataclasses.replace(contract, operands=(*contract.operands[:3], dataclasses.replace(c, then=None), *contract.operands[4:]))


def with_text(old: str, new: str) -> Callable[[Contract], Contract]:
    """The contract with another statement."""

    def changed(contract: Contract) -> Contract:
        assert old in contract.issue
        return dataclasses.replace(contract, issue=contract.issue.replace(old, new), variants=())

    return changed


MUTANTS: tuple[tuple[str, str, Callable[[Contract], Contract]], ...] = (
    (HALF, "registers 1 and 2 of A exchanged", with_register("a", swapped(1, 2, 4))),
    (HALF, "registers 0 and 1 of A exchanged", with_register("a", swapped(0, 1, 4))),
    (HALF, "the registers of B exchanged", with_register("b", swapped(0, 1, 2))),
    (HALF, "registers 0 and 1 of D exchanged", with_register("d", swapped(0, 1, 4))),
    (HALF, "registers 1 and 2 of C exchanged", with_register("c", swapped(1, 2, 4))),
    (HALF, "C is added in every step", without_later_steps),
    (BYTES, "registers 1 and 2 of A exchanged", with_register("a", swapped(1, 2, 4))),
    (BYTES, "the registers of B exchanged", with_register("b", swapped(0, 1, 2))),
    (QUARTER, "the registers of A exchanged", with_register("a", swapped(0, 1, 2))),
    (QUARTER, "registers 2 and 4 of D exchanged", with_register("d", swapped(2, 4, 8))),
    (DOUBLE, "registers 1 and 2 of A exchanged", with_register("a", swapped(1, 2, 4))),
    (SPARSE, "registers 1 and 2 of A exchanged", with_register("a", swapped(1, 2, 4))),
    (SPARSE, "registers 1 and 2 of B exchanged", with_register("b", swapped(1, 2, 4))),
    (SPARSE, "the other lanes give the metadata", with_text("{f}", "0")),
    (f"{HALF}, C is 3*n - 5", "C is added in every step", without_later_steps),
    ("sub.rn.f32", "the sources exchanged", with_text("{a}, {b}", "{b}, {a}")),
    ("div.rn.f64", "the sources exchanged", with_text("{a}, {b}", "{b}, {a}")),
    ("fma.rn.f32", "a factor and the addend exchanged", with_text("{b}, {c}", "{c}, {b}")),
    ("cvt.rn.f16x2.f32", "the halves exchanged", with_text("{a}, {b}", "{b}, {a}")),
    ("add.rz.f32", "another rounding", with_text("{opcode}", "add.rn.f32")),
    ("add.ftz.f32", "no flush to zero", with_text("{opcode}", "add.f32")),
    ("min.f32", "NaN wins", with_text("{opcode}", "min.NaN.f32")),
    ("mul.hi.s32", "the low half", with_text("{opcode}", "mul.lo.s32")),
    ("fma.rn.relu.f16x2", "no clamp", with_text("{opcode}", "fma.rn.f16x2")),
    ("ex2.approx.f32", "the logarithm", with_text("{opcode}", "lg2.approx.f32")),
)


def all_forms() -> list[Form]:
    """Every form that a GPU of sm_90 runs; those that take longest first."""
    return [*sparse_forms(), *mma_forms(), *register_forms(), *arithmetic_forms()]


def one_mutant(number: int) -> Json:
    """One mutant of the emission: `noticed` where the results differ, as they must."""
    name, what, change = MUTANTS[number]
    form = next(form for form in all_forms() if form.name == name)
    call = read_call(form.document)
    try:
        run, compare = (observe_computed, compared_computed) if computes(call) else (observe_product, compared_product)
        observed, image = run(call, form.values, contract=change(contract_of(call)))
        differences, counts = compare(observed, image)
    except Exception as error:  # noqa: BLE001 (whatever goes wrong is told at the end, beside what went right)
        return {"form": name, "failed": f"{type(error).__name__}: {error}"[:400]}
    different = counts["different"]
    assert isinstance(different, int)
    print(f"{'noticed' if differences else 'MISSED'} {what} ({name}): {different} bytes differ", flush=True)
    return mutant_row(name, "emission", what, "emission", matches=not differences, different=different)


def one(form: Form) -> Json:
    """The evidence of one form."""
    try:
        return {"family": form.family, **one_form(form)}
    except Exception as error:  # noqa: BLE001 (as above)
        return {"form": form.name, "failed": f"{type(error).__name__}: {error}"[:400]}


def one_later(form: Form) -> Json:
    """The evidence of a form of a later architecture."""
    try:
        return {"family": form.family, **later(form)}
    except Exception as error:  # noqa: BLE001 (as above)
        return {"form": form.name, "failed": f"{type(error).__name__}: {error}"[:400]}


def all_rows(jobs: int, only: str) -> Iterator[tuple[str, list[Json]]]:
    """(kind, rows) of forms, forms of later architectures and mutants, in processes beside each other."""
    with get_context("spawn").Pool(jobs) as pool:
        yield "forms", list(pool.imap_unordered(one, [form for form in all_forms() if only in form.name]))
        yield "mutants", list(pool.imap_unordered(one_mutant, [] if only else range(len(MUTANTS))))
        future = [] if only else [*later_mma_forms(), *later_register_forms()]
        yield "later", list(pool.imap_unordered(one_later, future, chunksize=8))


def main() -> int:
    """Runs everything; 0 where all forms match and all mutants are noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=min(12, os.cpu_count() or 1))
    parser.add_argument("--out", default=os.environ.get("OUT", "docs/evidence"))
    options = parser.parse_args()
    started = time.perf_counter()
    print(gpu(0).info, flush=True)
    rows = dict(all_rows(options.jobs, options.only))
    failed = [row for kind in rows.values() for row in kind if "failed" in row]
    good = {kind: [row for row in found if "failed" not in row] for kind, found in rows.items()}
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    for family in ("mma", "registers"):
        found = [row for row in (*good["forms"], *good["later"]) if row["family"] == family]
        write_evidence(out / f"{family}.json", [{key: value for key, value in row.items() if key != "family"} for row in found])
    if not options.only:
        mutants = sorted(good["mutants"], key=lambda row: (str(row["form"]), str(row["what"])))
        (out / "mutants-mma.json").write_text(json.dumps(mutants, indent=1) + "\n", encoding="utf-8")
    for row in failed:
        print(f"FAILED   {row['form']}: {row['failed']}")
    different = [str(row["form"]) for row in good["forms"] if row["matches"] is False]
    refused = [str(row["form"]) for row in good["later"] if not row["assembled"]]
    missed = sum(row["matches"] is True for row in good["mutants"])
    print(f"differ: {different}; refused: {refused}")
    print(
        f"{len(good['forms'])} forms: {len(different)} differ, {len(failed)} failed; {len(good['later'])} later ones: {len(refused)} refused; "
        f"{len(good['mutants'])} mutants: {missed} missed; {time.perf_counter() - started:.1f} s"
    )
    return 1 if different or failed or missed or refused else 0


if __name__ == "__main__":
    sys.exit(main())
