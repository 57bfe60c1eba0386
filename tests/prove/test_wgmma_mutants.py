"""Mutants of the contract of wgmma and of what the prover knows of warpgroups: each turns the case beside it red."""

from __future__ import annotations

import dataclasses

import pytest
from mutation import Mutants, Patch, change_contracts, change_memory, noticed
from own_cases import Own

from tests.gpu.wgmma_forms import Stored, opcode_of, wgmma_document
from tests.prove.wgmma_cases import CASES
from tilecheck import fitting, scopes
from tilecheck.prove import active, parameters, problem, structure
from tilecheck.spec import Contract, Register
from tilecheck.symbolic import terms, var

MUTANTS = Mutants()
mutant = MUTANTS
pytestmark = pytest.mark.usefixtures("fresh")
OWN = {name: Own("refuted" if clause else "proved", make(), clause or None) for name, (make, clause) in CASES.items()}
OWN["words of A in shared memory"] = Own("proved", wgmma_document(opcode_of("tf32", 8, "f32"), Stored(), Stored()))


def change_register(patch: Patch, name: str, change) -> None:
    def changed(contract: Contract) -> Contract:
        operands = tuple(change(o) if isinstance(o, Register) and o.name == name else o for o in contract.operands)
        return dataclasses.replace(contract, operands=operands, variants=tuple(changed(one) for one in contract.variants))

    change_contracts(patch, changed)


def change_parameter(patch: Patch, name: str, **changes: object) -> None:
    def changed(contract: Contract) -> Contract:
        return dataclasses.replace(
            contract, parameters=tuple(dataclasses.replace(p, **changes) if p.name == name else p for p in contract.parameters)
        )

    change_contracts(patch, changed)


@mutant("the first warp holds all of D", "both factors in shared memory")
def _(patch):
    change_register(patch, "d", lambda d: dataclasses.replace(d, lane=terms.mod(terms.normal(d.lane), 32)))


@mutant("warps hold rows in turns", "both factors in shared memory")
def _(patch):
    row = var("row")
    change_register(patch, "d", lambda d: dataclasses.replace(d, lane=32 * (row % 4) + 4 * (row // 8) + var("column") // 2 % 4))


@mutant("the words of A lie in lanes by row alone", "A in registers")
def _(patch):
    change_register(patch, "a", lambda a: dataclasses.replace(a, lane=32 * (var("row") // 16) + 4 * (var("row") % 8)))


@mutant("D need not be in one place", "replicas of D")
def _(patch):
    change_register(patch, "d", lambda d: dataclasses.replace(d, write=False))


@mutant("D is of any type", "D of integers")
def _(patch):
    change_register(patch, "d", lambda d: dataclasses.replace(d, dtypes=None))


@mutant("each warp executes on its own", "two of three warpgroups")
def _(patch):
    change_contracts(patch, lambda contract: dataclasses.replace(contract, collective="warp"))


@mutant("a warp is wide enough", "one warp")
def _(patch):
    patch.setattr(active, "wide_enough", lambda own: own.call.scope != "thread")


@mutant("whole warps are enough", "three of four warps of a second warpgroup")
def _(patch):
    original = active._torn
    patch.setattr(active, "_torn", lambda found, _: original(found, 1))


@mutant("warps may have values of their own", "a stage by a symbol of warps")
def _(patch):
    patch.setattr(active, "_differing", lambda _: frozenset({"thread"}))


@mutant("what names the warp counts as named through its warpgroup", "a stage by warp")
def _(patch):
    patch.setattr(active, "_of_warpgroup", lambda *_: True)


@mutant("conditions that are operands may differ", "accum by warp")
def _(patch):
    change_parameter(patch, "accum", operand=False)


@mutant("group axes count warps", "two of three warpgroups")
def _(patch):
    original = scopes.group_kinds
    patch.setattr(scopes, "group_kinds", lambda scope, launch, _: original(scope, launch, "warp"))


@mutant("every register is one of the first warp", "no warp in D")
def _(patch):
    patch.setattr(structure, "_covers", lambda *_: True)


@mutant("an element is held by a lane of the first warp", "the second of three warpgroups")
def _(patch):
    patch.setattr(problem.Problem, "holder", lambda _, lane: {"laneid": terms.mod(terms.normal(lane), 32)})


@mutant("the number of a thread counts as its lane", "D by warp")
def _(patch):
    patch.setattr(structure, "_in_warpgroup", lambda _, thread, __: {"laneid": dict(thread), "wid_in_wg": {}, "warpid": {}})
    patch.setattr(problem.Problem, "holder", lambda _, lane: {"laneid": terms.normal(lane)})


@mutant("matrices are of any type", "B of another type")
def _(patch):
    change_memory(patch, lambda memory: dataclasses.replace(memory, dtypes=None))


@mutant("a sign may be 0", "a sign of 0")
def _(patch):
    change_parameter(patch, "imm_scale_a", choices=(1, 0, -1))


@mutant("the shape of the instruction is not looked at", "another shape of the instruction")
def _(patch):
    patch.setattr(parameters, "instruction", lambda *_: None)


@mutant("the variant is chosen by widths alone", "words of A in shared memory")
def _(patch):
    patch.setattr(fitting, "_suits", lambda view, operand, last: view.trace.bits == operand.bits and view.trace.shape[-1:] == (last,))
    patch.setattr(fitting, "_placed", lambda *_: False)


@mutant("every architecture has it", "the plain architecture")
def _(patch):
    change_contracts(patch, lambda contract: dataclasses.replace(contract, arch="sm_90"))


@pytest.mark.parametrize("sentence", list(MUTANTS))
def test_a_case_notices_that(sentence, monkeypatch):
    assert noticed(MUTANTS, sentence, OWN, monkeypatch), f"{MUTANTS[sentence][0]!r} does not notice"
