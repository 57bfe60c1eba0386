"""Mutants of the contracts of tcgen05.ld and st and of what the prover knows of tensor memory: each turns the case beside it red."""

from __future__ import annotations

import dataclasses

import pytest
from mutation import Mutants, Patch, change_contracts, noticed
from own_cases import Own
from test_tmem import CASES, cells, document, registers

from tilecheck.layout.strided import coalesced
from tilecheck.prove import structure, tmem, tmem_cells
from tilecheck.spec import Contract, Register, TensorMemory
from tilecheck.symbolic import terms, var

MUTANTS = Mutants()
mutant = MUTANTS
pytestmark = pytest.mark.usefixtures("fresh")
ROW, COLUMN, HALF = var("row"), var("column"), var("half")
OWN = {
    name: Own(status, made, min(clauses, key=lambda one: (not one.endswith("partition"), one), default=None), " ".join(hazards))
    for name, (made, status, clauses, hazards) in CASES.items()
}


def image(shape: str, suffix: list[int], layout: str, columns: int, rows: str = "16") -> Own:
    """Four warps with the registers of a shape."""
    held = registers([4, *suffix], layout)
    matrix = cells([4, int(rows), columns], f"S[(4,{rows},{columns}):(32@TLane,1@TLane,1@TCol)]")
    return Own("proved", document(f"ld.sync.aligned.{shape}.b32", held, matrix))


OWN["16x64b"] = image("16x64b.x2", [16, 4], "S[(4,2,8,2,2):(1@wid_in_wg,1@laneid,4@laneid,1,2@laneid)]", 4)
OWN["16x128b"] = image("16x128b.x2", [16, 8], "S[(4,2,8,2,4):(1@wid_in_wg,1,4@laneid,2,1@laneid)]", 8)
OWN["16x256b"] = image("16x256b.x2", [16, 16], "S[(4,2,8,2,4,2):(1@wid_in_wg,2,4@laneid,4,1@laneid,1)]", 16)
OWN["16 rows from lane 16 on"] = Own(
    "proved",
    document(
        "ld.sync.aligned.16x64b.x1.b32",
        registers([4, 16, 2], "S[(4,2,8,2):(1@wid_in_wg,1@laneid,4@laneid,2@laneid)]"),
        cells([4, 16, 2], "S[(4,16,2):(32@TLane,1@TLane,1@TCol)] + 16@TLane"),
    ),
)
OWN["packed"] = Own(
    "proved",
    document(
        "ld.sync.aligned.32x32b.x4.pack::16b.b32",
        registers([4, 32, 4], "S[(4,32,4):(1@wid_in_wg,1@laneid,1)]"),
        cells([4, 32, 4, 2], "S[(4,32,4,2):(32@TLane,1@TLane,4@TCol,2@TCol)]", "float16"),
    ),
)


def change_cells(patch: Patch, **changes: object) -> None:
    """Every operand in tensor memory with other fields; a function makes one of the operand."""

    def one(operand: TensorMemory) -> TensorMemory:
        made = {name: value(operand) if callable(value) else value for name, value in changes.items()}
        return dataclasses.replace(operand, **made)

    change_contracts(
        patch,
        lambda contract: dataclasses.replace(
            contract, operands=tuple(one(o) if isinstance(o, TensorMemory) else o for o in contract.operands)
        ),
    )


def change_registers(patch: Patch, **changes: object) -> None:
    def changed(contract: Contract) -> Contract:
        operands = (dataclasses.replace(o, **changes) if isinstance(o, Register) else o for o in contract.operands)
        return dataclasses.replace(contract, operands=tuple(operands))

    change_contracts(patch, changed)


# --- contracts --------------------------------------------------------------------------------------------------------


@mutant("halves of rows are exchanged in 16x64b", "16x64b")
def _(patch):
    change_registers(patch, lane=4 * (ROW % 8) + 2 * (ROW // 8) + COLUMN % 2)


@mutant("16x64b counts columns by rows", "16x64b")
def _(patch):
    change_registers(patch, lane=2 * ROW + COLUMN % 2)


@mutant("16x128b is 16x256b", "16x128b")
def _(patch):
    change_registers(patch, lane=4 * (ROW % 8) + COLUMN // 2 % 4)


@mutant("16x256b is 16x128b", "16x256b")
def _(patch):
    change_registers(patch, lane=4 * (ROW % 8) + COLUMN % 4)


@mutant("a lane holds a column", "every warp has its own 32 lanes")
def _(patch):
    change_registers(patch, lane=COLUMN)


@mutant("regions have every other lane", "every warp has its own 32 lanes")
def _(patch):
    change_cells(patch, lane=2 * ROW)


@mutant("regions have every other column", "every warp has its own 32 lanes")
def _(patch):
    change_cells(patch, column=2 * COLUMN)


@mutant("packed halves lie side by side", "packed")
def _(patch):
    change_cells(patch, column=2 * COLUMN + HALF)


@mutant("packed halves lie in cells in the order of halves", "packed")
def _(patch):
    change_cells(patch, column=2 * COLUMN + 8 * HALF)


@mutant("a start is any lane", "a start inside the slab")
def _(patch):
    change_cells(patch, first_lanes=(), slab=False)


@mutant("sixteen rows start at lane 0", "16 rows from lane 16 on")
def _(patch):
    change_cells(patch, first_lanes=(0,))


@mutant("sixteen rows start at any multiple of 8", "the second region starts at row 8")
def _(patch):
    change_cells(patch, first_lanes=(0, 8, 16))


@mutant("halves start anywhere in a cell", "halves in the wrong half of a cell")
def _(patch):
    change_cells(patch, first_bits=16)


@mutant("cells start at even columns", "two regions side by side")
def _(patch):
    change_cells(patch, first_bits=64)


@mutant("the second region is anywhere", "the second region is elsewhere")
def _(patch):
    change_cells(patch, behind=None)


@mutant("loads take copies", "every warp has its own 32 lanes")
def _(patch):
    change_cells(patch, replicas=((2, 32),))


@mutant("cells are of any type", "a reduction of another type")
def _(patch):
    change_cells(patch, dtypes=None)
    change_registers(patch, dtypes=None)


@mutant("the immediate has any width", "the immediate is too wide")
def _(patch):
    def changed(contract: Contract) -> Contract:
        wide = (dataclasses.replace(p, kind="code") if p.kind == "immediate" else p for p in contract.parameters)
        return dataclasses.replace(contract, parameters=tuple(wide))

    change_contracts(patch, changed)


@mutant("each lane loads on its own", "half a warp")
def _(patch):
    change_contracts(patch, lambda contract: dataclasses.replace(contract, collective="thread"))


@mutant("the result is in lane 0", "a reduction")
def _(patch):
    change_registers(patch, lane=0 * ROW)


# --- the prover -------------------------------------------------------------------------------------------------------


@mutant("all warps reach all lanes", "the lane field is 0 for all warps")
def _(patch):
    patch.setattr(tmem, "partition_proof", lambda *_: "structure")


@mutant("a fifth warp has a fifth slab", "eight warps share four slabs")
def _(patch):
    original = terms.mod
    patch.setattr(tmem, "partition_proof", lambda *_: None)
    patch.setattr(tmem.terms, "mod", lambda a, b: a if str(a) == "warpid" and b == 4 else original(a, b))


@mutant("there are 1024 columns", "a column behind the last")
def _(patch):
    patch.setattr(tmem, "COLUMNS", 1024)


@mutant("an allocation has all columns", "behind an allocation of 32 columns")
def _(patch):
    patch.setattr(tmem, "columns", lambda *_: 512)


@mutant("the form of a view says too much of its lanes", "reversed rows")
def _(patch):
    patch.setattr(tmem, "image_proof", lambda *_: "structure")
    patch.setattr(tmem, "partition_proof", lambda *_: "structure")


@mutant("the canonical form proves every start", "halves in the wrong half of a cell")
def _(patch):
    patch.setattr(tmem, "begin_proof", lambda *_: "structure")


@mutant("the canonical form proves every offset", "the second region is elsewhere")
def _(patch):
    patch.setattr(tmem, "behind_proof", lambda *_: "structure")


@mutant("regions of two tensors are one", "regions of two allocations")
def _(patch):
    patch.setattr(tmem, "shared", lambda *_: True)


@mutant("accesses may share a cell", "one region twice is stored twice")
def _(patch):
    patch.setattr(tmem_cells, "owes", lambda _: False)


@mutant("half a cell is enough", "unpacked regions share a cell")
def _(patch):
    patch.setattr(tmem_cells, "rectangle", lambda *_: (16, 1))


@mutant("no two stores meet", "eight warps store to one cell")
def _(patch):
    patch.setattr(tmem_cells, "apart", lambda *_: True)


@mutant("a second region counts for itself", "the second region of one repeat is the first of the next")
def _(patch):
    patch.setattr(tmem_cells, "following", lambda *_: None)


@mutant("CTAs share their tensor memory", "each CTA has its own tensor memory")
def _(patch):
    from tilecheck.prove import race

    patch.setattr(structure, "one_instance", lambda *_: False)
    patch.setitem(race.PRIVATE, "tmem", set())


@mutant("warpgroups are one", "two warpgroups store to one cell")
def _(patch):
    patch.setattr(structure, "one_instance", lambda *_: True)


@mutant("any declared layout fits", "a declared layout that leaves tensor memory")
def _(patch):
    patch.setattr(tmem, "backed", lambda *_: True)


@mutant("the first digit of a sum is all of it", "eight warps in eight slabs")
def _(patch):
    patch.setattr(tmem, "_lane_at", lambda _, coordinate: 32 * (coordinate % 4))


@mutant("the sign of a stride does not count", "reversed columns")
def _(patch):
    patch.setattr(tmem, "_on", lambda axis, name: coalesced((e, name, abs(s) if own == name else 0) for e, own, s in axis))


@pytest.mark.parametrize("sentence", list(MUTANTS))
def test_a_case_notices_that(sentence, monkeypatch):
    assert noticed(MUTANTS, sentence, OWN, monkeypatch), f"{MUTANTS[sentence][0]!r} does not notice"
