"""The page about what assemblers tolerate, against the rows of tests/data/opcodes.tsv of all instructions that have a contract."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from tilecheck.spec import Contract, arch_has, find_contract, find_entry, mnemonic_of

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "reference" / "assemblers.md").read_text(encoding="utf-8")
ARCHITECTURES = tuple(f"sm_{n}" for n in ["75", "80", "86", "89", "90", "90a", "100", "100f", "100a", "103a", "110a", "120", "120a"])
with (ROOT / "tests" / "data" / "opcodes.tsv").open(encoding="utf-8") as file:
    ROWS = [row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if find_entry(mnemonic_of(row["opcode"]))]
LEGAL = [row for row in ROWS if row["expect"] == "legal"]


def accepted(row: dict[str, str], version: str = "13.5") -> list[str]:
    cell = row[f"accepted_{version}"]
    return [] if cell == "-" else [f"sm_{part}" for part in cell.split(",")]


def form(row: dict[str, str]) -> Contract | None:
    """The form of a row, of as many operands where it has several."""
    found = find_contract(row["opcode"])
    if not isinstance(found, Contract):
        return None
    count = len(re.findall(r"\{[^}]*\}|\[[^]]*\]|[^,\s]+", row["operands"]))
    return next((one for one in found.variants if found.mnemonic in {"min", "max"} and len(one.operands) == count), found)


def exists(row: dict[str, str], contract: Contract, arch: str) -> bool:
    """Whether the ISA has a row on an architecture, with the operand that is written last too where it is a parameter of fewer."""
    last = next((p for p in contract.parameters if p.name == row["note"].replace("-", "_")), None)
    return contract.runs_on(arch) and (last is None or not last.arch or arch_has(arch, last.arch))


def written(title: str, columns: int) -> list[list[str]]:
    """The rows of a table of the page, by the first words of its heading row."""
    (table,) = re.findall(rf"^\| {re.escape(title)} \|.*\n\| ---.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    rows = [[cell.strip() for cell in line.strip("|\n").split(" | ")] for line in table.splitlines()]
    assert all(len(row) == columns for row in rows)
    return rows


def test_the_page_lists_every_illegal_row_that_an_assembler_takes():
    listed = sorted((row[0].strip("| `"), row[1].strip("`")) for row in written("opcode | operands | against the ISA | accepted on", 4))
    assert listed == sorted((row["opcode"], row["operands"]) for row in ROWS if row["expect"] == "illegal" and accepted(row))


def test_the_architectures_of_each_illegal_row_are_those_of_the_table():
    names = {"every architecture": ARCHITECTURES, "sm_80 and later": ARCHITECTURES[1:], "sm_100 and later": ARCHITECTURES[6:]}
    known = {(row["opcode"], row["operands"]): tuple(accepted(row)) for row in ROWS}
    for opcode, operands, _, cell in written("opcode | operands | against the ISA | accepted on", 4):
        where = cell.rstrip(" |")
        if not where.startswith("at random"):
            listed = names.get(where, tuple(where.split(", ")))
            assert listed == known[opcode.strip("| `"), operands.strip("`")], opcode


def test_the_page_lists_every_legal_row_that_is_taken_on_more_architectures():
    listed = {row[0].strip("| `"): row[2].rstrip(" |").split(", ") for row in written("opcode | the ISA | also accepted on", 3)}
    found = {}
    for row in LEGAL:
        contract = form(row)
        more = [] if contract is None else [arch for arch in accepted(row) if not contract.runs_on(arch)]
        if more:
            found[row["opcode"]] = more
    assert listed == found


def test_no_legal_row_is_refused_where_the_isa_has_it():
    for row in LEGAL:
        contract = form(row)
        assert contract is None or [arch for arch in ARCHITECTURES if exists(row, contract, arch) and arch not in accepted(row)] == [], row[
            "opcode"
        ]


def test_the_page_lists_every_legal_row_that_the_older_assembler_lacks():
    listed = {row[0].strip("| `") for row in written("opcode | missing in 13.0", 2)}
    assert listed == {row["opcode"] for row in LEGAL if accepted(row) != accepted(row, "13.0")}
