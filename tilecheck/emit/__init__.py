"""Proved calls as PTX: a snippet of one instruction a repeat coordinate, or a whole kernel; assembling them."""

from __future__ import annotations

from dataclasses import replace

from tilecheck.call import Call
from tilecheck.callable import make_callable
from tilecheck.emit.assemble import Assembled, assemble
from tilecheck.emit.binding import bind
from tilecheck.emit.errors import EmissionError
from tilecheck.emit.kernel import Kernel, write_kernel
from tilecheck.emit.snippet import Emission, Registers, architecture, normalised, write_snippet
from tilecheck.errors import NotProvedError
from tilecheck.spec import Contract, arch_rank

__all__ = [
    "Assembled",
    "Emission",
    "EmissionError",
    "Kernel",
    "assemble",
    "emit",
    "emit_kernel",
    "emit_kernel_unchecked",
    "emit_unchecked",
    "normalised",
]


make_callable(__name__)


def emit(call: Call, arch: str | None = None) -> Emission:
    """The snippet of a proved call, for `arch` (default: the call's, or the floor of its verdict); NotProvedError where it is not proved, there or at all."""
    return emit_unchecked(call, _proved_on(call, arch))


def emit_kernel(call: Call, arch: str | None = None) -> Kernel:
    """A whole kernel around the snippet of a proved call; `arch` and errors as of `emit`."""
    return emit_kernel_unchecked(call, _proved_on(call, arch))


def emit_unchecked(call: Call, arch: str | None = None, *, contract: Contract | None = None) -> Emission:
    """The snippet of a call that nobody checked; `contract` stands in for the call's own (to test what a wrong contract does)."""
    binding = bind(call, contract)
    issues = list(binding.issues())
    return write_snippet(binding, architecture(call, binding.contract, arch), issues, Registers(binding, issues))


def emit_kernel_unchecked(call: Call, arch: str | None = None, *, contract: Contract | None = None) -> Kernel:
    """The kernel of a call that nobody checked; `contract` as in `emit_unchecked`."""
    binding = bind(call, contract)
    issues = list(binding.issues())
    registers = Registers(binding, issues)
    emission = write_snippet(binding, architecture(call, binding.contract, arch), issues, registers, accounted=True)
    return write_kernel(binding, emission, registers)


def _proved_on(call: Call, arch: str | None) -> str:
    """The architecture to write for, on which the call is proved: the one asked for, the call's, or the floor of its verdict."""
    from tilecheck.prove.check import check

    verdict = check(call)
    if verdict.status != "proved":
        raise NotProvedError(f"{call.opcode} is not emitted: the call is {verdict.status}")
    wanted = architecture(call, bind(call).contract, arch)
    if arch is None and call.arch is None:
        return max(wanted, verdict.arch_floor or wanted, key=arch_rank)
    there = verdict if wanted == call.arch else check(replace(call, arch=wanted))
    if there.status != "proved":
        why = "; ".join(clause.reason or clause.id for clause in there.failing)
        raise EmissionError(f"{call.opcode} is not emitted for {wanted}, where the call is {there.status}: {why}")
    return wanted
