"""The evidence campaign: reconstructs every form on GPU 0 and writes docs/evidence (or $OUT).

Run from the repository root: `python -m tests.gpu.campaign [--only TEXT] [--family NAME] [--out FOLDER]`. Needs numpy, cuda-core, cuda-bindings and an
assembler; neither z3 nor sympy.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from tests.gpu import arithmetic
from tests.gpu.async_mutants import async_mutants
from tests.gpu.evidence import mutant_row
from tests.gpu.forms import Form, all_forms, later_forms
from tests.gpu.mutants import contract_data, mutants
from tests.gpu.tma_mutants import tma_mutants
from tilecheck.document import read_call
from tilecheck.emit import assemble, emit_kernel_unchecked
from tilecheck.errors import TilecheckError
from tilecheck.reconstruct import compared, observe, predicted, ptx_sha256, reconstruct, write_evidence
from tilecheck.reconstruct.device import gpu
from tilecheck.reconstruct.run import contract_of
from tilecheck.spec import contract_hash

Json = dict[str, object]


def one_form(form: Form) -> Json:
    """The evidence of one form; prints a line."""
    started = time.perf_counter()
    found = reconstruct(read_call(form.document), form.values, form.elected, form=form.name)
    counts = found.evidence["compared"]
    assert isinstance(counts, dict)
    word = "matches" if found.matches else f"DIFFERS in {counts['different']} bytes"
    print(
        f"{word:8} {form.name}: {counts['registers']} registers, {counts['memory_bytes']} bytes, {counts['undefined_bytes']} undefined "
        f"({(time.perf_counter() - started) * 1e3:.0f} ms)",
        flush=True,
    )
    for difference in found.differences[:4]:
        print(f"    {difference}")
    return {**found.evidence, "status": "reconstructed" if found.matches else "different"}


def later(form: Form) -> Json:
    """A form of a later architecture, which nobody runs here: assembled for the lowest that has it."""
    call = read_call(form.document)
    kernel = emit_kernel_unchecked(call)
    found = assemble(kernel.ptx, kernel.arch)
    print(f"{'assembled' if found.ok else 'REFUSED'} {form.name} for {kernel.arch}: not reconstructed {found.log}", flush=True)
    return {
        "form": form.name,
        "opcode": call.opcode,
        "contract": contract_hash(contract_of(call)),
        "arch": kernel.arch,
        "matches": None,
        "status": "assembled, not reconstructed" if found.ok else "refused",
        "assembled": found.ok,
        "assembler": found.assembler,
        "ptx_sha256": ptx_sha256(kernel.emission.normalised),
    }


def mutant_rows(forms: dict[str, Form]) -> list[Json]:
    """Every mutant against its form: `noticed` where the comparison fails, as it must."""
    rows: list[Json] = []
    for one in (one for one in (*mutants(), *async_mutants(), *tma_mutants()) if one.form in forms):
        form = forms[one.form]
        call = read_call(form.document)
        wrong = one.emits(contract_of(call)) if one.emits else None
        seen = observe(call, form.values, form.elected, contract=wrong)
        contract = None
        if one.predicts:
            contract = contract_data(call.opcode)
            one.predicts(contract)
        other = read_call(one.calls(form.document)) if one.calls else call
        differences, counts = compared(seen, predicted(other, seen.values, form.elected, contract))
        where = "emission" if one.emits else "prediction"
        print(
            f"{'noticed' if differences else 'MISSED'} mutant of the {where}, {one.part}: {one.what} ({one.form}): {counts['different']} bytes differ"
        )
        rows.append(mutant_row(one.form, one.part, one.what, where, matches=not differences, different=counts["different"]))
    return rows


def main() -> int:
    """Runs everything; 0 where all forms match and all mutants are noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--family", default="", help="memory, matrix, async or tma")
    parser.add_argument("--out", default=os.environ.get("OUT", "docs/evidence"))
    options = parser.parse_args()
    started = time.perf_counter()
    print(gpu(0).info, flush=True)
    forms = [form for form in all_forms() if options.only in form.name and options.family in form.family]
    rows: dict[str, list[Json]] = {"memory": [], "matrix": [], "async": [], "tma": []}
    failed: list[str] = []
    for form in forms:
        try:
            rows[form.family].append(one_form(form))
        except TilecheckError as error:
            failed.append(form.name)
            print(f"FAILED   {form.name}: {type(error).__name__}: {error}", flush=True)
    for form in (form for form in later_forms() if options.only in form.name and options.family in form.family):
        rows[form.family].append(later(form))
    bad = mutant_rows({form.name: form for form in all_forms() if options.family in form.family}) if not options.only else []
    count, wrong = arithmetic.run()
    print(f"arithmetic: {count} values compared, {len(wrong)} differ", *wrong[:5], sep="\n  ")
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    for family, entries in rows.items():
        if entries:
            write_evidence(out / f"{family}.json", entries)
    if bad:
        (out / f"mutants{'-' if options.family else ''}{options.family}.json").write_text(
            json.dumps(bad, indent=1) + "\n", encoding="utf-8"
        )
    different = [str(row["form"]) for entries in rows.values() for row in entries if row["matches"] is False]
    missed = sum(row["matches"] is True for row in bad)
    print(
        f"{len(forms)} forms: {len(different)} differ, {len(failed)} failed; {len(bad)} mutants: {missed} missed; {time.perf_counter() - started:.1f} s"
    )
    return 1 if different or failed or missed or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
