"""The evidence of mma.sync and of the register instructions that copy bits: reconstructs every form on GPU 0 and writes docs/evidence (or $OUT).

Run from the repository root: `python -m tests.gpu.products [--only TEXT]`. Mutants of the emission must be noticed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.gpu.campaign import Json, later, one_form
from tests.gpu.evidence import mutant_row
from tests.gpu.mma_forms import later_mma_forms, mma_forms
from tests.gpu.register_forms import register_forms
from tilecheck.document import read_call
from tilecheck.errors import TilecheckError
from tilecheck.reconstruct import write_evidence
from tilecheck.reconstruct.device import gpu
from tilecheck.reconstruct.run import compared_product, contract_of, observe_product
from tilecheck.spec import Contract, Register
from tilecheck.symbolic import terms

HALF = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
BYTES = "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32"
QUARTER = "mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32"
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


MUTANTS: tuple[tuple[str, str, Callable[[Contract], Contract]], ...] = (
    (HALF, "registers 1 and 2 of A exchanged", with_register("a", swapped(1, 2, 4))),
    (HALF, "registers 0 and 1 of A exchanged", with_register("a", swapped(0, 1, 4))),
    (HALF, "the registers of B exchanged", with_register("b", swapped(0, 1, 2))),
    (HALF, "registers 0 and 1 of D exchanged", with_register("d", swapped(0, 1, 4))),
    (HALF, "registers 1 and 2 of C exchanged", with_register("c", swapped(1, 2, 4))),
    (
        HALF,
        "C is added in every step",
        lambda c: dataclasses.replace(c, operands=(*c.operands[:3], dataclasses.replace(c.operands[3], then=None))),
    ),  # type: ignore[call-arg]
    (BYTES, "registers 1 and 2 of A exchanged", with_register("a", swapped(1, 2, 4))),
    (BYTES, "the registers of B exchanged", with_register("b", swapped(0, 1, 2))),
    (QUARTER, "the registers of A exchanged", with_register("a", swapped(0, 1, 2))),
    (QUARTER, "registers 2 and 4 of D exchanged", with_register("d", swapped(2, 4, 8))),
    (DOUBLE, "registers 1 and 2 of A exchanged", with_register("a", swapped(1, 2, 4))),
)


def mutant_rows() -> list[Json]:
    """Every mutant of the emission: `noticed` where the products differ, as they must."""
    forms = {form.name: form for form in mma_forms()}
    rows: list[Json] = []
    for opcode, what, change in MUTANTS:
        call = read_call(forms[opcode].document)
        observed, image = observe_product(call, contract=change(contract_of(call)))
        differences, counts = compared_product(observed, image)
        print(f"{'noticed' if differences else 'MISSED'} {what} ({opcode}): {counts['different']} bytes differ", flush=True)
        rows.append(mutant_row(opcode, "emission", what, "emission", matches=not differences, different=counts["different"]))
    return rows


def main() -> int:
    """Runs everything; 0 where all forms match and all mutants are noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", default=os.environ.get("OUT", "docs/evidence"))
    options = parser.parse_args()
    started = time.perf_counter()
    print(gpu(0).info, flush=True)
    rows: dict[str, list[Json]] = {"mma": [], "registers": []}
    failed: list[str] = []
    for form in (form for form in (*register_forms(), *mma_forms()) if options.only in form.name):
        try:
            rows[form.family].append(one_form(form))
        except TilecheckError as error:
            failed.append(form.name)
            print(f"FAILED   {form.name}: {type(error).__name__}: {error}", flush=True)
    bad = [] if options.only else mutant_rows()
    if not options.only:
        rows["mma"].extend(later(form) for form in later_mma_forms())
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    for family, entries in rows.items():
        if entries:
            write_evidence(out / f"{family}.json", entries)
    if bad:
        (out / "mutants-mma.json").write_text(json.dumps(bad, indent=1) + "\n", encoding="utf-8")
    different = [str(row["form"]) for entries in rows.values() for row in entries if row["matches"] is False]
    missed = sum(row["matches"] is True for row in bad)
    print(f"{len(different)} differ, {len(failed)} failed; {len(bad)} mutants: {missed} missed; {time.perf_counter() - started:.1f} s")
    return 1 if different or failed or missed else 0


if __name__ == "__main__":
    sys.exit(main())
