"""What the calls of a kernel share: checked like a call, told without views and pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from tilecheck.claims import Expectation
from tilecheck.kernels import Kernel

if TYPE_CHECKING:
    from tilecheck.prove.verdict import ClauseResult, Verdict

OK, FAILED, UNDECIDED = 0, 1, 3
"""The exit statuses of outcomes."""
REPAIRS = {
    "arch.opcode": "Write forms of one family, or let each kernel have its own.",
    "opcode": "Write the same qualifier in every call of the kernel.",
    "launch.participation": "Give every call the launch of the kernel, or leave it to the document of the kernel.",
    "allocation.shape": "Allocate the largest part first, or as much each time as before.",
    "allocation.footprint": "Put what is live at one time into allocations of 512 columns in all: pack several buffers into one, or free before.",
    "allocation.operands": "Free each allocation once, with the taddr and ncols of its alloc, and allocate before the permit is given up.",
    "columns.footprint": "Move the view into columns that the kernel allocates before and has not freed, or allocate them.",
    "participation": "Let one of them execute the call: a guard such as `elected and warpid == 0`, and cbx % 2 == 0 for a pair of CTAs.",
    "distinct": "Give what is written and what is read columns of their own.",
}
"""What would make a clause hold, by its id or the end of it."""


@dataclass(frozen=True, slots=True)
class KernelItem:
    """What the calls of one kernel share, as something to check: where the kernel stands, what is expected, and why."""

    kernel: Kernel
    where: str
    expectation: Expectation | None = None
    why: str = ""


class Asked(Protocol):
    """Something to check, of which a verdict may be expected."""

    @property
    def expectation(self) -> Expectation | None:
        """What is expected of the verdict."""
        ...


T = TypeVar("T", bound=Asked)


@dataclass(frozen=True, slots=True)
class Judged(Generic[T]):
    """An item and its verdict."""

    item: T
    verdict: Verdict

    @property
    def as_expected(self) -> bool | None:
        """Whether the verdict is the expected one; None where nothing is expected."""
        expectation = self.item.expectation
        return None if expectation is None else expectation.met_by(self.verdict)

    def exit_status(self, *, strict: bool) -> int:
        """What this outcome alone makes of the run; with `strict` a hazard that is not expected fails it."""
        expectation = self.item.expectation
        named = None if expectation is None else expectation.hazard
        if strict and any(h.id != named for h in self.verdict.hazards):
            return FAILED
        if expectation is not None:
            return OK if expectation.met_by(self.verdict) else FAILED
        return {"proved": OK, "refuted": FAILED}.get(self.verdict.status, UNDECIDED)


@dataclass(frozen=True, slots=True)
class KernelOutcome(Judged[KernelItem]):
    """What the calls of a kernel share, and the verdict on it."""

    @property
    def title(self) -> str:
        """The id of the kernel and where it stands."""
        name, where = self.item.kernel.id, self.item.where
        return where if "::" in where else f"kernel {name} ({where})" if name else f"kernel ({where})"


def settled(item: KernelItem, *, audit: bool = False, rlimit: int | None = None, reading: str = "") -> KernelOutcome:
    """The outcome of what the calls of a kernel share. reading: as of `check`."""
    from tilecheck.prove.kernel import shared_verdict
    from tilecheck.prove.tiers import RLIMIT

    return KernelOutcome(item, shared_verdict(item.kernel, audit=audit, rlimit=RLIMIT if rlimit is None else rlimit, reading=reading))


def facts(clause: ClauseResult) -> list[tuple[str, str]]:
    """(label, text) of a refuted clause: where it fails, both sides, what is wrong."""
    example = clause.counterexample
    if example is None:
        return [("reason", clause.reason or "")]
    at = ", ".join(f"{name} = {value}" for name, value in example.symbols)
    if example.lane is None and example.cta is not None:
        at = ", ".join(part for part in (f"CTA {example.cta}", at) if part)
    elif example.lane is not None:
        at = ", ".join(part for part in (f"lane {example.lane} of warp {example.warp} of CTA {example.cta}", at) if part)
    rows = [("where", at), ("expected", example.expected), ("actual", example.actual), ("so", clause.reason or example.sentence)]
    return [(label, text) for label, text in rows if text]


def repair(clause: ClauseResult) -> str | None:
    """What would make a clause hold."""
    return next((text for name, text in REPAIRS.items() if clause.id == name or clause.id.endswith("." + name)), None)


def summary(outcomes: list[KernelOutcome]) -> str:
    """`2 kernels: 1 proved, 1 refuted`."""
    states = [one.verdict.status for one in outcomes]
    found = ", ".join(f"{states.count(status)} {status}" for status in dict.fromkeys(states))
    expected = [one.as_expected for one in outcomes if one.as_expected is not None]
    text = f"{len(outcomes)} kernel{'' if len(outcomes) == 1 else 's'}: {found}"
    if expected:
        wrong = expected.count(False)
        text += f"; {expected.count(True)} as expected" + (f", {wrong} NOT" if wrong else "")
    return text
