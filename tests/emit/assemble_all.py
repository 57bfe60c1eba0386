"""Assembles every legal spelling with an explicit space for each family's lowest architecture that has it: about 60000, two minutes.

Run from the repository root: `python -m tests.emit.assemble_all`. Assemblers run in child processes, which a crash ends, not this one.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from multiprocessing import Pool

from tilecheck.emit import assemble
from tilecheck.emit.kernel import version
from tilecheck.report.explain import register_count
from tilecheck.spec import Contract, Parameter, Register, built_in_families

CLASSES = {8: "h", 16: "h", 32: "r", 64: "d", 128: "q"}
HEAD = """.version {version}
.target {arch}
.address_size 64
.visible .entry k(.param .u64 p) {{
.reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .b128 %q<8>; .reg .b64 %ptr, %policy;
ld.param.u64 %ptr, [p]; mov.b64 %policy, 0x1000000000000000;
"""
CHUNK = 300
Target = tuple[str, str]  # architecture, PTX version


def value(parameter: Parameter, contract: Contract) -> str:
    """Any value of a parameter."""
    if parameter.kind == "coordinates":
        assert contract.box is not None
        count = contract.box.offsets if parameter.bits == 16 else contract.box.rows + 1 if contract.box.rows else contract.box.rank
        return ", ".join([f"%{CLASSES[parameter.bits]}0"] * count)
    if parameter.kind == "chunk":
        return str((*parameter.choices, parameter.step)[0])
    return {"barrier": "%ptr", "u64": "%policy"}.get(parameter.kind) or f"%{CLASSES[parameter.bits]}0"


def instruction(contract: Contract) -> str:
    """The contract's instruction on any registers."""
    fields = {"opcode": contract.opcode} | {p.name: value(p, contract) for p in contract.parameters if p.operand and p.required}
    for operand in contract.operands:
        fields[operand.name] = "%ptr"
        if isinstance(operand, Register):
            count = register_count(contract, operand)
            text = ", ".join(f"%{CLASSES[operand.bits]}{k}" for k in range(count))
            fields[operand.name] = text if "{{{" in contract.issue or count == 1 else "{" + text + "}"
    return contract.statement(fields)


def refused(job: tuple[Target, list[str]]) -> list[tuple[str, str]]:
    """(instruction, log) of those that do not assemble."""
    (arch, ptx), lines = job
    head = HEAD.format(version=ptx, arch=arch)
    if assemble(head + "\n".join(lines) + "\nret;\n}\n", arch).ok:
        return []
    logs = [(line, assemble(f"{head}{line}\nret;\n}}\n", arch)) for line in lines]
    return [(line, found.log.split("error   : ")[-1].splitlines()[0]) for line, found in logs if not found.ok]


def main() -> int:
    """Prints how many assemble and why the others do not; 0 where all do."""
    by: dict[Target, list[str]] = defaultdict(list)
    for entry in (entry for family in built_in_families() for entry in family.entries):
        for qualifiers in entry.grammar.legal():
            contract = entry.contract(qualifiers)
            for arch in contract.floors if contract.space_written else ():
                by[arch, version(arch, contract.opcode, contract.isa)].append(instruction(contract))
    jobs = [(target, lines[at : at + CHUNK]) for target, lines in by.items() for at in range(0, len(lines), CHUNK)]
    with Pool() as pool:
        bad = [one for found in pool.imap_unordered(refused, jobs) for one in found]
    print({f"{arch}, PTX {ptx}": len(lines) for (arch, ptx), lines in by.items()}, f"{len(bad)} refused")
    for log, count in Counter(log for _, log in bad).most_common():
        print(f"{count:6} {log}, e.g. {next(line for line, why in bad if why == log)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
