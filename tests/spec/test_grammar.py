"""The spelling of opcodes, against what two assemblers and the ISA say (tests/data/opcodes.tsv)."""

from __future__ import annotations

import csv
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

import pytest

from tilecheck.spec import BadSpelling, Contract, Grammar, arch_has, arch_rank, find_contract, find_entry, mnemonic_of
from tilecheck.spec.grammar import holds

DATA = Path(__file__).parent.parent / "data"
SEED = 7
FAMILIES = ("ld", "st", "ldmatrix", "stmatrix", "movmatrix")


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    family: str
    opcode: str
    operands: str
    expect: str
    min_arch: str
    note: str

    @property
    def id(self) -> str:
        return f"{self.opcode} {self.operands}"


def rows() -> list[Row]:
    with (DATA / "opcodes.tsv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [Row(r["family"], r["opcode"], r["operands"], r["expect"], r["min_arch"], r["note"]) for r in lines if r["family"] in FAMILIES]


WIDTHS = {"h": 16, "sh": 16, "uh": 16, "r": 32, "f": 32, "s": 32, "u": 32, "d": 64, "fd": 64, "sd": 64, "ud": 64, "q": 128, "b": 16}
"""The width in bits of each class of registers of the table's operands."""


def about_operands(row: Row) -> bool:
    """Whether a row is about its operands rather than its spelling. The stated rule, one of:

    a sink `_` among the registers of a form of less than 256 bits; a policy without `.L2::cache_hint` or the reverse; another number of registers than the vector (or
    matrices) that the opcode writes; registers of another width than the type (than b32 for ldmatrix and stmatrix).
    """
    braces = re.search(r"\{([^}]*)\}", row.operands)
    listed = [part.strip() for part in braces[1].split(",")] if braces else []
    wide = re.search(r"\.v8\.\w32$|\.v4\.\w64$", row.opcode) is not None
    if ("_" in listed and not wide) or ("pol" in re.split(r"[ ,]+", row.operands)) != ("L2::cache_hint" in row.opcode):
        return True
    wanted = re.search(r"\.[vx](\d+)(?=\.|$)", row.opcode)
    each = 2 if ".m16n16." in row.opcode else 1
    if listed and len(listed) != each * int(wanted[1] if wanted else 1):
        return True
    registers = [
        name for name in listed or re.findall(r"\b[a-z]+\d+\b", re.sub(r"\[[^\]]*\]", "", row.operands)) if re.fullmatch(r"[a-z]+\d+", name)
    ]
    bits = (
        32
        if row.family.endswith("matrix")
        else int(re.search(r"\.[busf](\d+)$", row.opcode)[1])
        if re.search(r"\.[busf](\d+)$", row.opcode)
        else None
    )
    return bits is not None and any(
        WIDTHS.get(re.sub(r"\d", "", name), bits) < max(bits, 16)
        or (row.family.endswith("matrix") and WIDTHS.get(re.sub(r"\d", "", name)) != 32)
        for name in registers
    )


ROWS = rows()
LEGAL = [row for row in ROWS if row.expect == "legal"]
ILLEGAL = [row for row in ROWS if row.expect == "illegal" and not about_operands(row)]


def read(opcode: str) -> Contract | BadSpelling:
    found = find_contract(opcode)
    assert found is not None
    return found


def test_the_table_has_as_many_rows_as_we_think():
    assert {family: sum(row.family == family for row in LEGAL) for family in FAMILIES} == {
        "ld": 121,
        "st": 75,
        "ldmatrix": 30,
        "stmatrix": 21,
        "movmatrix": 1,
    }
    assert sum(row.expect == "illegal" for row in ROWS) == len(ILLEGAL) + 16


def test_no_legal_row_is_about_operands():
    assert [row.id for row in LEGAL if about_operands(row)] == []


@pytest.mark.parametrize("row", LEGAL, ids=lambda row: row.id)
def test_a_legal_spelling_is_read_with_its_floor(row):
    found = read(row.opcode)
    assert isinstance(found, Contract), f"{found.qualifier}: {found.why}"
    assert found.arch == row.min_arch
    assert found.opcode == row.opcode


@pytest.mark.parametrize("row", ILLEGAL, ids=lambda row: row.id)
def test_an_illegal_spelling_is_refused_by_the_qualifier_at_fault(row):
    found = read(row.opcode)
    assert isinstance(found, BadSpelling)
    assert found.why
    assert found.source.startswith("PTX ISA")
    tokens = row.opcode.split(".")[1:]
    entry = find_entry(mnemonic_of(row.opcode))
    assert entry is not None
    slots = {slot.name for slot in entry.grammar.slots} | {f".{slot.values[0]}" for slot in entry.grammar.slots}
    assert found.qualifier in {f".{token}" for token in tokens} or found.qualifier in slots


@pytest.mark.parametrize("row", ILLEGAL, ids=lambda row: row.id)
def test_the_suggested_spellings_are_legal(row):
    found = read(row.opcode)
    assert isinstance(found, BadSpelling)
    assert found.nearest
    assert len(set(found.nearest)) == len(found.nearest) <= 3
    for suggestion in found.nearest:
        assert isinstance(read(suggestion), Contract), suggestion


@pytest.mark.parametrize("row", [row for row in ROWS if row.expect == "illegal" and about_operands(row)], ids=lambda row: row.id)
def test_a_row_about_operands_has_a_legal_spelling(row):
    assert isinstance(read(row.opcode), Contract)


@pytest.mark.parametrize("type_", ["b8", "b16", "u8", "u16"])
@pytest.mark.parametrize("space", ["global", "shared", "local", "const", "param"])
def test_the_forms_that_crash_assemblers_are_refused(space, type_):
    found = read(f"ld.{space}.v8.{type_}")
    assert isinstance(found, BadSpelling)
    assert found.qualifier == ".v8"


AT_FAULT = {
    "ld.global.v3.b32": ".v3",
    "ld.global.v16.b8": ".v16",
    "ld.global.v4.b128": ".v4",
    "ld.global.v8.b64": ".v8",
    "ld.shared.v8.b32": ".v8",
    "ld.local.v4.b64": ".v4",
    "ld.global.f16": ".f16",
    "ld.global": "type",
    "ld": "type",
    "ld.b32.global": ".global",
    "ld.global.global.b32": ".global",
    "ld.global.shared.b32": ".shared",
    "ld.relaxed.global.b32": ".relaxed",
    "ld.gpu.global.b32": ".gpu",
    "ld.acquire.gpu.local.b32": ".acquire",
    "ld.release.gpu.global.b32": ".release",
    "st.acquire.gpu.global.b32": ".acquire",
    "ld.shared.nc.b32": ".nc",
    "ld.volatile.global.nc.b32": ".nc",
    "ld.global.lu.nc.b32": ".lu",
    "st.const.b32": ".const",
    "st.global.nc.b32": ".nc",
    "st.global.ca.b32": ".ca",
    "st.global.L2::128B.b32": ".L2::128B",
    "ld.shared.L2::128B.b32": ".L2::128B",
    "ld.global.L2::evict_last.v4.b32": ".L2::evict_last",
    "ld.shared.L1::no_allocate.b32": ".L1::no_allocate",
    "ld.volatile.global.L2::cache_hint.b32": ".L2::cache_hint",
    "ld.global.ca.L1::evict_last.b32": ".ca",
    "ld.mmio.global.b32": ".mmio",
    "ld.global..b32": ".",
    "ld.global.b32.": ".",
    "ldmatrix.sync.m8n8.x4.shared.b16": ".aligned",
    "ldmatrix.aligned.m8n8.x4.shared.b16": ".sync",
    "ldmatrix.sync.aligned.x4.shared.b16": "shape",
    "ldmatrix.sync.aligned.m8n8.x3.shared.b16": ".x3",
    "ldmatrix.sync.aligned.m8n8.shared.b16": "num",
    "ldmatrix.sync.aligned.m8n8.x4.global.b16": ".global",
    "ldmatrix.sync.aligned.m8n8.x4.shared::cluster.b16": ".shared::cluster",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b8": ".b8",
    "stmatrix.sync.aligned.m8n8.x4.shared.trans.b16": ".trans",
    "stmatrix.sync.aligned.m8n8.x4.shared": "type",
    "ldmatrix.sync.aligned.m16n16.x2.shared.b8": "trans",
    "ldmatrix.sync.aligned.m16n16.x4.trans.shared.b8": ".x4",
    "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b16": ".b16",
    "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16": "format",
    "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8.b4x16_p64": ".b4x16_p64",
    "ldmatrix.sync.aligned.m8n16.x1.trans.shared.b8x16.b6x16_p32": ".trans",
    "ldmatrix.sync.aligned.m8n16.x1.shared.b8": ".b8",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b8x16.b6x16_p32": ".b8x16",
    "ldmatrix.sync.aligned.m16n8.x1.trans.shared.b8": ".m16n8",
    "ldmatrix.sync.aligned.m8n16.x1.shared.b4x16_p64": "type",
    "stmatrix.sync.aligned.m16n8.x4.shared.b8": "trans",
    "stmatrix.sync.aligned.m16n8.x4.trans.shared.b16": ".b16",
    "stmatrix.sync.aligned.m8n8.x4.trans.shared.b8": ".b8",
    "stmatrix.sync.aligned.m16n16.x1.trans.shared.b8": ".m16n16",
    "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8x16.b4x16_p64": ".b8x16",
    "movmatrix.sync.aligned.m8n8.b16": ".trans",
    "movmatrix.sync.aligned.m8n8.trans.b8": ".b8",
    "movmatrix.sync.aligned.m8n8.x2.trans.b16": ".x2",
    "movmatrix.sync.aligned.m16n16.trans.b8": ".m16n16",
}


@pytest.mark.parametrize("opcode", AT_FAULT)
def test_the_qualifier_at_fault_is_named(opcode):
    found = read(opcode)
    assert isinstance(found, BadSpelling)
    assert found.qualifier == AT_FAULT[opcode]


@pytest.mark.parametrize(
    ("opcode", "suggestion"),
    [
        ("ld.global.v3.b32", "ld.global.v2.b32"),
        ("ld.b32.global", "ld.global.b32"),
        ("ldmatrix.sync.m8n8.x4.shared.b16", "ldmatrix.sync.aligned.m8n8.x4.shared.b16"),
        ("ld.global.f16", "ld.global.b16"),
        ("st.global.ca.b32", "st.global.b32"),
        ("ld.relaxed.global.b32", "ld.relaxed.gpu.global.b32"),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.trans.b16", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"),
        ("ldmatrix.sync.aligned.m16n16.x2.shared.b8", "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8"),
        ("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p32", "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64"),
        ("stmatrix.sync.aligned.m16n8.x4.b8", "stmatrix.sync.aligned.m16n8.x4.trans.b8"),
        ("movmatrix.sync.aligned.m8n8.b16", "movmatrix.sync.aligned.m8n8.trans.b16"),
    ],
)
def test_the_nearest_legal_spelling_is_suggested(opcode, suggestion):
    found = read(opcode)
    assert isinstance(found, BadSpelling)
    assert suggestion in found.nearest


def combinations(grammar: Grammar, count: int) -> Iterator[tuple[str, dict[str, str]]]:
    """Seeded spellings in the order of the slots, each slot written or not, and their qualifiers."""
    rng = random.Random(f"{SEED}-{grammar.mnemonic}")
    for _ in range(count):
        chosen = {slot.name: rng.choice(slot.values) if slot.required or rng.random() < 0.25 else "" for slot in grammar.slots}
        yield grammar.spell(chosen), chosen


@pytest.mark.parametrize("mnemonic", FAMILIES)
def test_a_legal_combination_reads_back_as_itself_and_moves_at_most_256_bits(mnemonic):
    print(f"seed {SEED}")
    entry = find_entry(mnemonic)
    assert entry is not None
    legal = 0
    for opcode, chosen in combinations(entry.grammar, 4_000):
        found = entry.grammar._read(opcode.split(".")[1:])
        if isinstance(found, BadSpelling):
            assert any(holds(rule.when, chosen) for rule in entry.grammar.exclusions), f"{opcode}: {found}"
            continue
        legal += 1
        assert found == chosen
        if mnemonic in {"ld", "st"}:
            bits = int(found["type"][1:]) * int(found["vec"][1:] or 1)
            assert bits <= 256
            assert bits <= 128 or found["space"] in {"global", ""}
    assert legal > 200


def shapes(opcode: str) -> str:
    return opcode.split(".")[3]


@pytest.mark.parametrize(
    ("mnemonic", "count"),
    [("ldmatrix", {"m8n8": 18, "m16n16": 18, "m8n16": 18}), ("stmatrix", {"m8n8": 18, "m16n8": 9}), ("movmatrix", {"m8n8": 1})],
)
def test_a_matrix_grammar_has_so_many_spellings_of_each_shape(mnemonic, count):
    entry = find_entry(mnemonic)
    assert entry is not None
    found = [entry.grammar.spell(qualifiers) for qualifiers in entry.grammar.legal()]
    assert len(set(found)) == len(found)
    assert Counter(map(shapes, found)) == count
    assert all(isinstance(read(opcode), Contract) for opcode in found)


def test_the_first_legal_spellings_of_ld_are_plain_ones():
    entry = find_entry("ld")
    assert entry is not None
    found = [entry.grammar.spell(qualifiers) for qualifiers in islice(entry.grammar.legal(), 40)]
    assert found[:3] == ["ld.b8", "ld.b16", "ld.b32"]
    assert all(isinstance(read(opcode), Contract) for opcode in found)


def test_long_nonsense_is_refused_fast():
    for opcode in ("ld" + ".x" * 140, "ld" + ".global" * 40, "ld." + "b" * 290, "ldmatrix" + ".sync" * 58):
        assert isinstance(read(opcode), BadSpelling)


def test_a_mnemonic_nobody_knows_has_no_contract():
    assert find_contract("frobnicate.b32") is None
    assert find_contract("ldu.global.b32") is None
    assert find_contract("") is None


@pytest.mark.parametrize(
    ("arch", "floor", "has"),
    [
        ("sm_90", "sm_75", True),
        ("sm_75", "sm_75", True),
        ("sm_70", "sm_75", False),
        ("sm_100", "sm_90", True),
        ("sm_120", "sm_100", True),
        ("sm_90a", "sm_90", True),
        ("sm_90", "sm_90a", False),
        ("sm_90a", "sm_90a", True),
        ("sm_100a", "sm_90a", False),
        ("sm_100", "sm_90a", False),
        ("sm_103a", "sm_100a", False),
        ("sm_100f", "sm_100f", True),
        ("sm_100a", "sm_100f", True),
        ("sm_103a", "sm_100f", True),
        ("sm_103f", "sm_100f", True),
        ("sm_103", "sm_100f", False),
        ("sm_100", "sm_100f", False),
        ("sm_120a", "sm_100f", False),
        ("sm_110f", "sm_100f", False),
        ("sm_100f", "sm_103f", False),
        ("sm_100f", "sm_100a", False),
    ],
)
def test_an_architecture_has_the_forms_of_its_floor(arch, floor, has):
    assert arch_has(arch, floor) is has


def test_architectures_are_ordered_by_number_then_by_kind():
    order = ["sm_75", "sm_90", "sm_90a", "sm_100", "sm_100f", "sm_100a", "sm_103", "sm_120"]
    assert all(arch_rank(low) < arch_rank(high) for low, high in pairwise(order))
