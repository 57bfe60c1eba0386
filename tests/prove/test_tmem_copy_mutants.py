"""Mutants of the contract of tcgen05.cp: each turns the case beside it red."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
from mutation import Mutants, Patch, change_contracts, change_memory, noticed
from own_cases import Own

from tests.prove.tmem_copy_cases import CASES, plain
from tilecheck.spec import Contract, Memory, TensorMemory
from tilecheck.symbolic import var

MUTANTS = Mutants()
mutant = MUTANTS
pytestmark = pytest.mark.usefixtures("fresh")
OWN = {name: Own("refuted" if clause else "proved", make(), clause or None) for name, (make, clause) in CASES.items()}
OWN["every thread"] = Own("proved", plain(guard=True), None, "issue.many memory.race")


def change_target(patch: Patch, change: Callable[[TensorMemory], TensorMemory]) -> None:
    def changed(contract: Contract) -> Contract:
        operands = tuple(change(o) if isinstance(o, TensorMemory) else o for o in contract.operands)
        return dataclasses.replace(contract, operands=operands)

    change_contracts(patch, changed)


@mutant("rows lie in neighbouring lanes", "4x256b, swizzle 0")
def _(patch: Patch) -> None:
    change_target(patch, lambda dst: dataclasses.replace(dst, lane=var("row")))


@mutant("rows 32 to 63 follow", "64x128b.warpx2::01_23, swizzle 0")
def _(patch: Patch) -> None:
    change_target(patch, lambda dst: dataclasses.replace(dst, lane=var("row")))


@mutant("every form has four replicas", "64x128b.warpx2::02_13, swizzle 0")
def _(patch: Patch) -> None:
    change_target(patch, lambda dst: dataclasses.replace(dst, replicas=((4, 32),)))


@mutant("replicas are not asked for", "no replica")
def _(patch: Patch) -> None:
    change_target(patch, lambda dst: dataclasses.replace(dst, replicas=()))


@mutant("a copy starts in any column", "a column that is no multiple of four")
def _(patch: Patch) -> None:
    change_target(patch, lambda dst: dataclasses.replace(dst, first_bits=32))


@mutant("a copy starts in any lane", "a lane on")
def _(patch: Patch) -> None:
    change_target(patch, lambda dst: dataclasses.replace(dst, first_lanes=()))


@mutant("words lie in every second column", "128x256b, swizzle 0")
def _(patch: Patch) -> None:
    change_target(patch, lambda dst: dataclasses.replace(dst, column=2 * var("word")))


@mutant("cells are halves", "halves in tensor memory")
def _(patch: Patch) -> None:
    change_target(patch, lambda dst: dataclasses.replace(dst, bits=16, dtypes=None))


@mutant("a group of lines has four", "four rows and no more")
def _(patch: Patch) -> None:
    change_memory(patch, lambda src: _modes(src, lines=4))


@mutant("without a swizzle words are consecutive", "128x256b, swizzle 0")
def _(patch: Patch) -> None:
    change_memory(patch, lambda src: _modes(src, next_span=None))


def _modes(src: Memory, **changes: object) -> Memory:
    assert src.described is not None
    changed = tuple(dataclasses.replace(mode, **changes) for mode in src.described.modes)  # type: ignore[arg-type]
    return dataclasses.replace(src, described=dataclasses.replace(src.described, modes=changed))


@mutant("origins lie anywhere", "a start inside 16 bytes")
def _(patch: Patch) -> None:
    change_memory(patch, lambda src: dataclasses.replace(src, align_bytes=4))


@mutant("bytes are words", "bytes in shared memory")
def _(patch: Patch) -> None:
    change_memory(patch, lambda src: dataclasses.replace(src, bits=8, dtypes=None))


@mutant("a pair needs no partner", "an odd cluster")
def _(patch: Patch) -> None:
    change_contracts(patch, lambda contract: dataclasses.replace(contract, pair=False))


@mutant("any number of threads issues it", "every thread")
def _(patch: Patch) -> None:
    change_contracts(patch, lambda contract: dataclasses.replace(contract, single=False))


@mutant("every architecture has it", "a plain architecture")
def _(patch: Patch) -> None:
    change_contracts(patch, lambda contract: dataclasses.replace(contract, arch="sm_90", also=()))


@pytest.mark.parametrize("sentence", list(MUTANTS))
def test_a_case_notices_that(sentence: str, monkeypatch: Patch) -> None:
    assert noticed(MUTANTS, sentence, OWN, monkeypatch), f"{MUTANTS[sentence][0]!r} does not notice"
