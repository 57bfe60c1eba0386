"""The silicon maps: on a GPU every bit of every form spells the place it came from; writes docs/evidence/bitplanes.json (or $OUT).

Run from the repository root: `python -m tests.gpu.bitplanes [--only TEXT] [--out FOLDER]`; with --only the other rows of the file stay. Needs
numpy, cuda-core, cuda-bindings and an assembler; neither z3 nor sympy.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.gpu.forms import Form, register_forms
from tests.gpu.tags import Numbers, Tags, counts, describe, different, predicted_origins
from tilecheck.call import Call
from tilecheck.document import read_call
from tilecheck.emit import emit_kernel_unchecked
from tilecheck.emit.kernel import Kernel
from tilecheck.errors import TilecheckError
from tilecheck.reconstruct import predicted, read_evidence, write_evidence
from tilecheck.reconstruct.arena import Arena, Argument, Bytes, Values, arena, room
from tilecheck.reconstruct.device import DeviceInfo, gpu
from tilecheck.reconstruct.image import expected
from tilecheck.reconstruct.run import Observed, completed, evidence_of

Json = dict[str, object]

EVIDENCE = Path("docs") / "evidence" / "bitplanes.json"
MOST_SHOWN = 4


class Machine(Protocol):
    """What runs a kernel: `tilecheck.reconstruct.device.Gpu`, or a simulation."""

    @property
    def arch(self) -> str: ...
    @property
    def info(self) -> DeviceInfo: ...
    def memory(self, size: int) -> int: ...
    def load(self, kernel: Kernel) -> Any: ...
    def write(self, address: int, content: Bytes) -> None: ...
    def launch(self, loaded: Any, grid: Sequence[int], block: Sequence[int], shared_bytes: int, arguments: Sequence[Argument]) -> None: ...
    def read(self, address: int, like: Bytes) -> Bytes: ...


@dataclass(frozen=True, slots=True)
class Staged:
    """A form laid out on a machine. wanted: the map that the contract predicts, bit by bit."""

    form: Form
    call: Call
    kernel: Kernel
    arena: Arena
    values: Values
    wanted: Numbers


def staged(form: Form, machine: Machine) -> Staged:
    """The form's kernel, its arena in the machine's memory, and its predicted map."""
    call = read_call(form.document)
    kernel = emit_kernel_unchecked(call, machine.arch)
    values = completed(call, form.values)
    place = arena(kernel, machine.memory(room(kernel, values)), values, form.elected)
    x, y, z = kernel.block
    image = predicted(call, values, form.elected)
    return Staged(form, call, kernel, place, values, predicted_origins(expected(place, image, kernel.tensors, x * y * z)))


def silicon_map(one: Staged, machine: Machine) -> Numbers:
    """For every bit of the arena where it came from: two launches of one loaded kernel for each digit of a tag."""
    tags = Tags(one.arena.bytes)
    loaded = machine.load(one.kernel)
    sides: dict[bool, list[Bytes]] = {False: [], True: []}
    for digit in range(tags.digits):
        for complemented, contents in sides.items():
            fill = tags.shown(digit, complemented=complemented)
            for at, raw in one.arena.fixed_bytes():
                fill[at : at + raw.size] = raw
            machine.write(one.arena.address, fill)
            machine.launch(loaded, one.kernel.cluster or (1, 1, 1), one.kernel.block, one.kernel.shared_bytes, one.arena.arguments)
            contents.append(machine.read(one.arena.address, fill))
    return tags.origins(sides[False], sides[True])


def differences(one: Staged, found: Numbers) -> list[str]:
    """The first bits that came from elsewhere than predicted, in words."""
    return [
        f"{describe(one.arena, k)}: expected {describe(one.arena, int(one.wanted[k]))}, found {describe(one.arena, int(found[k]))}"
        for k in different(one.wanted, found)[:MOST_SHOWN].tolist()
    ]


def row(one: Staged, found: Numbers, machine: Machine) -> Json:
    """The evidence of one form."""
    number: Json = {**counts(one.arena, one.wanted, found), "runs": 2 * Tags(one.arena.bytes).digits}
    seen = Observed(one.kernel, one.arena, (), machine, one.values, one.form.elected)  # type: ignore[arg-type]
    evidence = evidence_of(one.call, seen, number, form=one.form.name)
    return {**evidence, "status": "every bit traced" if evidence["matches"] else "different"}


def traced(forms: Iterable[Form], machine: Machine) -> tuple[list[Json], list[str]]:
    """(the evidence of every form, the names of those that did not run); prints a line for each."""
    rows: list[Json] = []
    failed: list[str] = []
    for form in forms:
        started = time.perf_counter()
        try:
            one = staged(form, machine)
            found = silicon_map(one, machine)
        except TilecheckError as error:
            failed.append(form.name)
            print(f"FAILED   {form.name}: {type(error).__name__}: {error}", flush=True)
            continue
        rows.append(row(one, found, machine))
        number = rows[-1]["compared"]
        assert isinstance(number, dict)
        word = "traced" if rows[-1]["matches"] else f"DIFFERS in {number['different']} bits"
        print(
            f"{word:8} {form.name}: {number['moved_bits']} bits moved, {number['kept_bits']} kept, {number['undefined_bits']} undefined, "
            f"{number['runs']} runs ({(time.perf_counter() - started) * 1e3:.0f} ms)",
            flush=True,
        )
        print(*(f"    {text}\n" for text in differences(one, found)), sep="", end="")
    return rows, failed


def merged(rows: Sequence[Json], path: Path) -> list[Json]:
    """The rows, and those of the file at `path` that are of other forms which still exist."""
    new, known = {str(one["form"]) for one in rows}, {form.name for form in register_forms()}
    old = read_evidence(path) if path.exists() else []
    return [*rows, *(one for one in old if one["form"] in known - new)]


def main() -> int:
    """Traces the forms; 0 where every bit of all of them comes from where its contract says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", default=os.environ.get("OUT", str(EVIDENCE.parent)))
    options = parser.parse_args()
    started = time.perf_counter()
    machine = gpu(0)
    print(machine.info, flush=True)
    rows, failed = traced((form for form in register_forms() if options.only in form.name), machine)
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    write_evidence(out / EVIDENCE.name, merged(rows, EVIDENCE) if options.only else rows)
    wrong = [one for one in rows if not one["matches"]]
    print(
        f"{len(rows)} forms of {len({one['opcode'] for one in rows})} opcodes: {total(rows, 'moved_bits')} bits moved, {total(rows, 'kept_bits')} kept, "
        f"{total(rows, 'undefined_bits')} undefined, {len(wrong)} forms differ, {len(failed)} failed; {time.perf_counter() - started:.1f} s"
    )
    return 1 if wrong or failed else 0


def total(rows: Iterable[Json], name: str) -> int:
    """The sum of a count."""
    return sum(one["compared"][name] for one in rows)  # type: ignore[index]


if __name__ == "__main__":
    sys.exit(main())
