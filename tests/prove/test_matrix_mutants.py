"""Mutants of the byte forms of ldmatrix and stmatrix and of movmatrix: each turns the case of our own beside it red (see test_mutants.py)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from mutation import Mutants, Patch, change_contracts, change_grammars, change_memory, change_obligations, noticed
from own_cases import CASES

from tilecheck.prove import active, problem
from tilecheck.prove.obligation import Obligation, Outcome
from tilecheck.spec import AtomAxis, Contract, Register
from tilecheck.symbolic import terms, var

MUTANTS = Mutants()
mutant = MUTANTS
pytestmark = pytest.mark.usefixtures("fresh")


def change_registers(patch: Patch, change: Callable[[Contract, Register], Register]) -> None:
    change_contracts(
        patch,
        lambda contract: dataclasses.replace(
            contract, operands=tuple(change(contract, o) if isinstance(o, Register) else o for o in contract.operands)
        ),
    )


def drop_rule(patch: Patch, slot: str, shape: str) -> None:
    """The exclusion at a slot for a shape is gone."""
    change_grammars(
        patch,
        lambda grammar: dataclasses.replace(
            grammar, exclusions=tuple(rule for rule in grammar.exclusions if not (rule.at == slot and rule.why.startswith(shape)))
        ),
    )


@mutant("sixteen rows are held by sixteen groups of two lanes", "a 16x16 matrix of bytes is two registers in each lane")
def _(patch):
    def change(contract: Contract, register: Register) -> Register:
        return dataclasses.replace(register, lane=2 * var("row") + var("word") % 2) if 16 in contract.suffix else register

    change_registers(patch, change)


@mutant("rows 8 to 15 are in the register of rows 0 to 7", "both registers of a 16x16 matrix are one")
def _(patch):
    change_registers(patch, lambda contract, register: dataclasses.replace(register, write=False) if 16 in contract.suffix else register)


@mutant("eight rows of a 16x16 matrix are loaded", "a 16x16 matrix of bytes has sixteen rows")
def _(patch):
    change_contracts(
        patch, lambda contract: dataclasses.replace(contract, atom=tuple(AtomAxis(a.name, min(a.extent, 8)) for a in contract.atom))
    )


@mutant("only the first eight rows of a matrix are aligned", "the ninth row of a 16x16 matrix is aligned too")
def _(patch):
    def first(obligation: Obligation) -> Obligation:
        return dataclasses.replace(obligation, goal=terms.disj(terms.le(8, var("row")), obligation.goal))

    change_obligations(patch, "addresses", ".aligned", first)


@mutant("packed rows are twelve bytes apart", "rows of twelve payload bytes one behind the other")
def _(patch):
    change_memory(patch, lambda memory: dataclasses.replace(memory, align_bytes=4))


@mutant("m16n16 need not be transposed", "m16n16 without .trans")
def _(patch):
    drop_rule(patch, "trans", "m16n16")


@mutant("m16n8 need not be transposed", "m16n8 without .trans")
def _(patch):
    drop_rule(patch, "trans", "m16n8")


@mutant("m8n16 may be transposed", "m8n16 with .trans")
def _(patch):
    drop_rule(patch, "trans", "m8n16")


@mutant("a family floor is a plain one", "m16n16 on plain sm_120")
def _(patch):
    change_contracts(patch, lambda contract: dataclasses.replace(contract, arch=contract.arch.rstrip("f"), also=()))


@mutant("only the first family has a form", "m16n16 in the family of sm_120")
def _(patch):
    change_contracts(patch, lambda contract: dataclasses.replace(contract, also=()))


@mutant("the floor of matrices of bytes is that of m8n8", "m16n8 on sm_90")
def _(patch):
    change_grammars(patch, lambda grammar: dataclasses.replace(grammar, floors=grammar.floors[:1]))


@mutant("movmatrix reads columns", "the source of movmatrix in the lanes of its columns")
def _(patch):
    def change(_: Contract, register: Register) -> Register:
        return register if register.write else dataclasses.replace(register, lane=var("row") + 8 * var("word"))

    change_registers(patch, change)


@mutant("each lane executes movmatrix on its own", "half a warp executes movmatrix")
def _(patch):
    original = active.participation

    def lenient(own: problem.Problem, *rest: Any) -> Outcome:
        return original(dataclasses.replace(own, contract=dataclasses.replace(own.contract, collective="thread")), *rest)

    patch.setattr(active, "participation", lenient)


@pytest.mark.parametrize("sentence", list(MUTANTS))
def test_a_case_notices_that(sentence, monkeypatch):
    assert noticed(MUTANTS, sentence, CASES, monkeypatch), f"{MUTANTS[sentence][0]!r} does not notice"
