"""Wrong contracts of asynchronous copies that a reconstruction must notice: zero fill, the CTA written, the operator, the bytes moved."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from tests.gpu.async_forms import BARRIER
from tests.gpu.mutants import Data, Mutant
from tilecheck.spec import Contract

CA, CG = "cp.async.ca.shared.global", "cp.async.cg.shared.global"
REMOTE = f"cp.async.bulk.shared::cluster.shared::cta.{BARRIER}"
MANY = f"cp.async.bulk.shared::cluster.global.{BARRIER}.multicast::cluster"
STORE = "cp.async.bulk.global.shared::cta.bulk_group"
REDUCE = "cp.reduce.async.bulk.global.shared::cta.bulk_group"


def move(**changes: object) -> Callable[[Data], None]:
    """A move with other fields, None for left out."""

    def apply(contract: Data) -> None:
        contract["move"] = {k: v for k, v in (contract["move"] | changes).items() if v is not None}  # type: ignore[operator]

    return apply


def own_copy(contract: Data) -> None:
    """The destination is the executing thread's copy."""
    for operand in contract["operands"]:  # type: ignore[attr-defined]
        operand.pop("cta", None)


def issued(old: str, new: str) -> Callable[[Contract], Contract]:
    """Another statement."""
    return lambda c: dataclasses.replace(c, issue=c.issue.replace(old, new))


def spelled(old: str, new: str) -> Callable[[Contract], Contract]:
    """Another opcode."""
    return lambda c: dataclasses.replace(c, opcode=c.opcode.replace(old, new))


def async_mutants() -> list[Mutant]:
    """The seeded mutants."""
    return [
        Mutant("zero fill", f"{CA} of 16 bytes, src_size 15", "src_size has no say", move(length=None)),
        Mutant("zero fill", f"{CG}, src_size by lane", "src_size has no say", move(length=None)),
        Mutant("zero fill", f"{CG}, ignore_src by lane", "ignore_src has no say", move(blank=None)),
        Mutant("zero fill", f"{CA} of 8 bytes, src_size 1", "src_size not written", emits=issued("{, src_size}", "")),
        Mutant("zero fill", f"{CG}, ignore_src by lane", "ignore_src not written", emits=issued("{, ignore_src}", "")),
        Mutant("destination CTA", f"{REMOTE}, exchanged", "the own copy", own_copy),
        Mutant("destination CTA", f"{MANY} to both", "the own copy only", own_copy),
        Mutant("destination CTA", f"{MANY} to the other", "the own copy", own_copy),
        Mutant("operator", f"{REDUCE}.add.u32", "exclusive or", move(combine="xor.u32")),
        Mutant("operator", f"{REDUCE}.min.s32", "unsigned", move(combine="min.u32")),
        Mutant("operator", f"{REDUCE}.add.u64", "two sums of 32 bits", move(combine="add.u32")),
        Mutant("operator", f"{REDUCE}.max.u32", "the least", emits=spelled(".max.", ".min.")),
        Mutant("operator", f"{REDUCE}.add.u32", "copied", move(combine=None)),
        Mutant("walk", f"{STORE} of 48 bytes", "16 bytes of every chunk", emits=issued("{chunk_bytes}", "16")),
        Mutant("walk", f"{CA} of 16 bytes", "4 bytes of every chunk", emits=issued("{chunk_bytes}", "4")),
    ]
