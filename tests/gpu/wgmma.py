"""The evidence of wgmma: reconstructs every form on GPU 0, walks every canonical layout byte by byte, and writes docs/evidence (or $OUT).

Run from the repository root: `python -m tests.gpu.wgmma [--only TEXT] [--jobs N]`. Mutants of the emission must be noticed. Needs numpy, cuda-core,
cuda-bindings and an assembler; neither z3 nor sympy.
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

from tests.gpu.documents import Form, Json
from tests.gpu.evidence import mutant_row
from tests.gpu.wgmma_forms import wgmma_forms
from tests.gpu.wgmma_walks import Walk, walk_row, walks
from tilecheck.document import read_call
from tilecheck.reconstruct import reconstruct, write_evidence
from tilecheck.reconstruct.device import gpu
from tilecheck.reconstruct.run import compared_factors, contract_of, observe_factors
from tilecheck.spec import Contract, Memory, Register
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term

Change = Callable[[Contract], Contract]


def everywhere(change: Change) -> Change:
    """The change made to a contract and to its variants."""

    def changed(contract: Contract) -> Contract:
        return dataclasses.replace(change(contract), variants=tuple(change(one) for one in contract.variants))

    return changed


def swapped(name: str, a: int, b: int, count: int) -> Change:
    """Two registers of an operand exchanged."""
    order = tuple(b if k == a else a if k == b else k for k in range(count))

    def register(term: Term) -> Term:
        return terms.table(terms.normal(term), order)

    def change(contract: Contract) -> Contract:
        operands = tuple(
            dataclasses.replace(o, register=register(o.register)) if isinstance(o, Register) and o.name == name else o
            for o in contract.operands
        )
        return dataclasses.replace(contract, operands=operands)

    return everywhere(change)


def fields(moved_to: dict[str, int]) -> Change:
    """Fields of the descriptor at other places."""

    def changed(contract: Contract) -> Contract:
        assert contract.encoding is not None
        moved = tuple(dataclasses.replace(one, low=moved_to.get(one.name, one.low)) for one in contract.encoding.fields)
        return dataclasses.replace(contract, encoding=dataclasses.replace(contract.encoding, fields=moved))

    return everywhere(changed)


def codes(contract: Contract) -> Contract:
    """The codes of tensor maps in place of those of descriptors."""
    assert contract.encoding is not None
    return dataclasses.replace(contract, encoding=dataclasses.replace(contract.encoding, codes=((0, 0), (1, 1), (2, 2), (3, 3))))


def unswizzled(contract: Contract) -> Contract:
    """The start as it lies after the swizzle."""
    operands = tuple(
        dataclasses.replace(
            o, described=dataclasses.replace(o.described, modes=tuple(dataclasses.replace(m, xors=()) for m in o.described.modes))
        )
        if isinstance(o, Memory) and o.described is not None
        else o
        for o in contract.operands
    )
    return dataclasses.replace(contract, operands=operands)


def issue(old: str, new: str) -> Change:
    """Another statement."""

    def changed(contract: Contract) -> Contract:
        return dataclasses.replace(contract, issue=contract.issue.replace(old, new))

    return everywhere(changed)


def without_then(contract: Contract) -> Contract:
    """Later steps add as the first one does."""
    return dataclasses.replace(contract, parameters=tuple(dataclasses.replace(p, then=None) for p in contract.parameters))


HALF = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
BYTES = "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.u8"
SPARSE = "wgmma.mma_async.sp.sync.aligned.m64n24k32.f32.f16.f16"
MUTANTS: tuple[tuple[str, str, Change], ...] = (
    (f"{HALF}, A registers", "registers 1 and 2 of A exchanged", swapped("a", 1, 2, 4)),
    (f"{HALF}, A registers", "registers 0 and 1 of A exchanged", swapped("a", 0, 1, 4)),
    (f"{BYTES}, A registers", "registers 2 and 3 of A exchanged", swapped("a", 2, 3, 4)),
    (f"{HALF}, A shared", "registers 1 and 2 of D exchanged", swapped("d", 1, 2, 32)),
    (f"{HALF}, A shared", "registers 2 and 4 of D exchanged", swapped("d", 2, 4, 32)),
    ("B mn swizzle 0", "the strides of the descriptor exchanged", fields({"ldo_bytes": 32, "sdo_bytes": 16})),
    ("A k swizzle 1", "the codes of tensor maps for the swizzles", everywhere(codes)),
    ("A k swizzle 3 from 160", "the start after the swizzle", everywhere(unswizzled)),
    ("A mn swizzle 3", "the majors of A and B exchanged", issue("{a_major}, {b_major}", "{b_major}, {a_major}")),
    ("accum False, signs 1 1", "later steps do not add", everywhere(without_then)),
    ("accum True, signs -1 1", "the sign of A is left out", issue("{imm_scale_a}", "1")),
    (f"{SPARSE}, A shared, selector 1", "the selector is 0", issue("{sp_sel}", "0")),
)


def one_form(form: Form) -> Json:
    """The evidence of one form, or {"form", "failed"}."""
    started = time.perf_counter()
    try:
        found = reconstruct(read_call(form.document), form.values, form.elected, form=form.name)
    except Exception as error:  # noqa: BLE001 (one form of many: the others go on)
        return {"form": form.name, "failed": f"{type(error).__name__}: {error}"[:400]}
    counts = found.evidence["compared"]
    assert isinstance(counts, dict)
    word = "matches" if found.matches else f"DIFFERS in {counts['different']} bytes: {'; '.join(map(str, found.differences[:2]))}"
    print(f"{word:8} {form.name}: {counts['written_bytes']} bytes computed ({(time.perf_counter() - started) * 1e3:.0f} ms)", flush=True)
    return {**found.evidence, "status": "reconstructed" if found.matches else "different"}


def one_walk(walk: Walk) -> Json:
    """The evidence of one walk."""
    try:
        found = walk_row(walk)
    except Exception as error:  # noqa: BLE001 (as above)
        return {"form": walk.name, "failed": f"{type(error).__name__}: {error}"[:400]}
    print(f"{'matches' if found['matches'] else 'DIFFERS'} {walk.name}: {found['compared']}", flush=True)
    return found


def one_mutant(number: int) -> Json:
    """One mutant of the emission: `noticed` where the products differ, as they must."""
    name, what, change = MUTANTS[number]
    form = next(form for form in wgmma_forms() if form.name == name)
    call = read_call(form.document)
    try:
        observed, placed = observe_factors(call, form.values, contract=change(contract_of(call)))
    except Exception as error:  # noqa: BLE001 (as above)
        return {"form": name, "failed": f"{type(error).__name__}: {error}"[:400]}
    differences, counts = compared_factors(observed, placed)
    different = counts["different"]
    assert isinstance(different, int)
    print(f"{'noticed' if differences else 'MISSED'} {what} ({name}): {different} bytes differ", flush=True)
    return mutant_row(name, "emission", what, "emission", matches=not differences, different=different)


def all_rows(jobs: int, only: str) -> Iterator[tuple[str, list[Json]]]:
    """(kind, rows) of forms, walks and mutants, in processes beside each other."""
    with get_context("spawn").Pool(jobs) as pool:
        yield "forms", list(pool.imap_unordered(one_form, [form for form in wgmma_forms() if only in form.name]))
        yield "walks", list(pool.imap_unordered(one_walk, [walk for walk in walks() if only in walk.name]))
        yield "mutants", list(pool.imap_unordered(one_mutant, [] if only else range(len(MUTANTS))))


def main() -> int:
    """Runs everything; 0 where all forms and walks match and all mutants are noticed."""
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
    write_evidence(out / "wgmma.json", [*good["forms"], *good["walks"]])
    if not options.only:
        mutants = sorted(good["mutants"], key=lambda row: (str(row["form"]), str(row["what"])))
        (out / "mutants-wgmma.json").write_text(json.dumps(mutants, indent=1) + "\n", encoding="utf-8")
    for row in failed:
        print(f"FAILED   {row['form']}: {row['failed']}")
    different = [row["form"] for row in (*good["forms"], *good["walks"]) if row["matches"] is False]
    missed = sum(row["matches"] is True for row in good["mutants"])
    print(f"differ: {different}")
    print(
        f"{len(good['forms'])} forms and {len(good['walks'])} walks, {len(different)} differ, {len(failed)} failed; "
        f"{len(good['mutants'])} mutants: {missed} missed; {time.perf_counter() - started:.1f} s"
    )
    return 1 if different or failed or missed else 0


if __name__ == "__main__":
    sys.exit(main())
