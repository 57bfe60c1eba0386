"""The rows of tests/data/opcodes.tsv about wgmma: spelling, architecture, registers, descriptors and immediates of every operand."""

from __future__ import annotations

import csv
import re
from itertools import product
from math import prod
from pathlib import Path

import pytest

from tilecheck.contracts.wgmma import GRAMMAR, shape_of
from tilecheck.spec import BadSpelling, Contract, Memory, Register, find_contract
from tilecheck.symbolic import terms

DATA = Path(__file__).parent.parent / "data"
ARCHITECTURES = tuple(f"sm_{n}" for n in ["75", "80", "86", "89", "90", "90a", "100", "100f", "100a", "103a", "110a", "120", "120a"])
with (DATA / "opcodes.tsv").open(encoding="utf-8") as file:
    ROWS = [
        row
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        if row["family"] == "wgmma" and row["opcode"].startswith("wgmma.mma_async")
    ]
LEGAL = [row for row in ROWS if row["expect"] == "legal"]
ILLEGAL = [row for row in ROWS if row["expect"] == "illegal"]


def name(row: dict[str, str]) -> str:
    return f"{row['opcode']} {len(groups(row)[0])} {row['note']}"


def groups(row: dict[str, str]) -> list[list[str]]:
    """The operands of a row, each as its registers, or as the one register or number."""
    found = re.findall(r"\{([^}]*)\}|([\w-]+)", row["operands"])
    return [[one.strip() for one in braced.split(",")] if braced else [single] for braced, single in found]


def count(contract: Contract, register: Register) -> int:
    """The registers of an operand in one thread."""
    axes = contract.atom_of(register)
    points = (dict(zip((a.name for a in axes), atom, strict=True)) for atom in product(*(range(a.extent) for a in axes)))
    return 1 + max(terms.evaluate(register.register, point) for point in points)


def fits(contract: Contract, row: dict[str, str]) -> bool:
    """Whether the operands of a row are those of the issue template of a form, in its order."""
    names = re.findall(r"\{(\w+)\}", contract.issue.replace("{opcode}", ""))
    given = groups(row)
    return len(names) == len(given) and all(_fits(contract, name, one) for name, one in zip(names, given, strict=True))


def _fits(contract: Contract, name: str, given: list[str]) -> bool:
    operand = next((o for o in contract.operands if o.name == name), None)
    if isinstance(operand, Memory):  # a descriptor
        return len(given) == 1 and re.fullmatch(r"d\d", given[0]) is not None
    if operand is not None:
        return len(given) == count(contract, operand) and all(re.fullmatch(r"[fr]\d+", one) for one in given)
    parameter = contract.by_name(name)
    if parameter.kind == "predicate":
        return re.fullmatch(r"p\d", given[0]) is not None
    allowed = parameter.choices if parameter.kind == "selector" else (0, 1)
    return len(given) == 1 and re.fullmatch(r"-?\d+", given[0]) is not None and int(given[0]) in allowed


def forms(opcode: str) -> list[Contract]:
    found = find_contract(opcode)
    return [found, *found.variants] if isinstance(found, Contract) else []


def test_the_table_has_as_many_rows_as_we_think():
    assert (len(ROWS), len(LEGAL), len(ILLEGAL)) == (109, 63, 41)


@pytest.mark.parametrize("row", LEGAL, ids=name)
def test_a_legal_row_is_read_for_its_architectures_with_its_operands(row):
    found = forms(row["opcode"])
    assert found
    assert found[0].opcode == row["opcode"]
    assert (
        {arch for arch in ARCHITECTURES if found[0].runs_on(arch)}
        == {f"sm_{arch}" for arch in row["accepted_13.5"].split(",")}
        == {"sm_90a"}
    )
    assert [fits(form, row) for form in found].count(True) == 1


@pytest.mark.parametrize("row", ILLEGAL, ids=name)
def test_an_illegal_row_is_refused(row):
    assert not any(fits(form, row) for form in forms(row["opcode"]))


AT_FAULT = {
    "wgmma.mma_async.sync.aligned.m64n64k256.s32.b1.b1.xor.popc": ".xor",
    "wgmma.mma_async.sync.aligned.m64n64k8.f32.f16.f16": ".m64n64k8",
    "wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8": ".m64n40k32",
    "wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16": ".m64n12k16",
    "wgmma.mma_async.sync.aligned.m128n64k16.f32.f16.f16": ".m128n64k16",
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.bf16": ".bf16",
    "wgmma.mma_async.sync.aligned.m64n64k16.f16.bf16.bf16": ".f16",
    "wgmma.mma_async.sync.aligned.m64n64k16.satfinite.f32.f16.f16": ".satfinite",
    "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8.satfinite": ".satfinite",
    "wgmma.mma_async.sync.aligned.m64n64k256.s32.b1.b1.and": "popc",
    "wgmma.mma_async.sync.aligned.m64n64k256.s32.b1.b1": "op",
    "wgmma.mma_async.sync.m64n64k16.f32.f16.f16": ".aligned",
    "wgmma.mma_async.aligned.m64n64k16.f32.f16.f16": ".sync",
    "wgmma.mma_async.sp.sync.aligned.m64n64k256.s32.b1.b1.and.popc": ".m64n64k256",
    "wgmma.mma_async.sp.sync.aligned.m64n64k16.f32.f16.f16": ".m64n64k16",
}


@pytest.mark.parametrize("opcode", AT_FAULT)
def test_the_qualifier_at_fault_is_named(opcode):
    found = find_contract(opcode)
    assert isinstance(found, BadSpelling)
    assert found.qualifier == AT_FAULT[opcode]
    assert all(isinstance(find_contract(near), Contract) for near in found.nearest)


@pytest.mark.parametrize("opcode", ["wgmma.fence.sync.aligned", "wgmma.commit_group.sync.aligned", "wgmma.wait_group.sync.aligned"])
def test_what_orders_products_is_no_bad_spelling_of_one(opcode):
    assert find_contract(opcode) is None


def test_every_legal_spelling_is_read_back_and_has_its_shape():
    spellings = [GRAMMAR.spell(q) for q in GRAMMAR.legal()]
    assert len(spellings) == len(set(spellings)) == 1074
    for opcode in spellings[::7]:
        q = GRAMMAR.read(opcode)
        assert isinstance(q, dict)
        assert GRAMMAR.spell(q) == opcode
        n, k = shape_of(q["shape"])
        assert n % 8 == 0
        assert k in (8, 16, 32, 64, 256)
        assert prod(a.extent for a in forms(opcode)[0].atom_of(forms(opcode)[0].operands[0])) == 64 * n // (2 if q["d"] == "f16" else 1)
