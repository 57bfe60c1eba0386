"""What a clause about the calls of a kernel is made of: the call it speaks of, a formula, and how a witness names a place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from tilecheck.call import Call
from tilecheck.prove.obligation import Obligation, Variable
from tilecheck.spec import Contract, Shared, data

Thread = tuple[int, int, int]
"""CTA, warp and lane."""
Coordinates = tuple[int, ...]


@dataclass(frozen=True)
class Member:
    """One call of a kernel that shares something: its place in the kernel, its contract, the status of its own verdict, how often it is repeated."""

    index: int
    call: Call
    contract: Contract
    shared: Shared
    status: str
    count: int = 1

    @cached_property
    def data(self) -> Mapping[str, object]:
        """The contract as the evaluator reads it."""
        return data(self.contract.table or self.contract)


def named(member: Member) -> str:
    """A call in words: `calls[2] (load-A, tcgen05.mma.cta_group::1.kind::f16)`."""
    return called(member.index, member.call)


def called(index: int, call: Call) -> str:
    """The call of an index in its kernel, in words."""
    own = f"{call.id}, " if call.id else ""
    return f"calls[{index}] ({own}{call.opcode})"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a clause fails: the thread and the element; `other`: the thread, repeat and atom that it meets there, with symbols of its own.

    known: the symbols of all calls that decide what is allocated there.
    """

    thread: Thread
    group: Coordinates = ()
    repeat: Coordinates = ()
    atom: Coordinates = ()
    other: tuple[Thread, Coordinates, Coordinates] | None = None
    others: Mapping[str, int] | None = None
    known: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A clause about one call of a kernel. question: what the evaluator is asked at a place, as plain data. open: why a refutation of it counts for nothing."""

    id: str
    statement: str
    source: str
    obligation: Obligation
    symbols: tuple[Variable, ...]
    question: tuple[object, ...]
    place: Callable[[Mapping[str, int]], Place]
    open: str = ""
