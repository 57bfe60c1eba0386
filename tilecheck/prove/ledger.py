"""The ledger of a kernel: what its calls spell, allocate and free, in the order of its program text; all in numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tilecheck.prove.clause import Finding
from tilecheck.prove.shared import Member, named
from tilecheck.prove.verdict import Hazard
from tilecheck.spec import Pool

Said = tuple[str, str, list[Finding]]
"""A clause, what it asks, and what is wrong."""


def spellings(pool: Pool, members: Sequence[Member]) -> Iterator[Said]:
    """Every call writes a qualifier as the first one does that has it."""
    first: dict[str, tuple[str, Member]] = {}
    wrong: dict[str, list[Finding]] = {}
    for member in members:
        for name, written in member.shared.alike:
            before, other = first.setdefault(name, (written, member))
            found = wrong.setdefault(name, [])
            if written != before:
                sentence = f"{named(member)} has {written}, {named(other)} before it {before}"
                found.append(Finding(sentence, f"{before}, as {named(other)}", f"{written} in {named(member)}"))
    for name, found in wrong.items():
        yield f"{name}.opcode", f"all calls of a kernel on {pool.name} have one {name}", found


@dataclass(frozen=True, slots=True)
class Allocation:
    """Columns `low` to `high` - 1, by a call."""

    low: int
    high: int
    by: Member

    @property
    def size(self) -> int:
        """How many columns."""
        return self.high - self.low


@dataclass
class Ledger:
    """What is allocated when each call is reached."""

    pool: Pool
    given: bool = False
    """Whether the kernel allocates anything."""
    hazards: list[Hazard] = field(default_factory=list[Hazard])
    conditions: list[str] = field(default_factory=list[str])
    held: dict[int, tuple[Allocation, ...]] = field(default_factory=dict[int, tuple[Allocation, ...]])
    growing: list[Finding] = field(default_factory=list[Finding])
    beyond: list[Finding] = field(default_factory=list[Finding])
    most: int = 0
    """The most columns that are allocated at one time."""
    unmatched: list[Finding] = field(default_factory=list[Finding])
    frees: bool = False
    closed: Member | None = None

    def held_at(self, member: Member) -> list[tuple[int, int]]:
        """The columns that are allocated when a call is reached."""
        return [(one.low, one.high) for one in self.held[member.index]]

    def clauses(self) -> Iterator[Said]:
        """The clauses about allocations, where the kernel has any."""
        if not (self.given or self.frees):
            return
        name, columns = self.pool.name, self.pool.columns
        yield "allocation.shape", f"no allocation of {name} is larger than one before it", self.growing
        yield "allocation.footprint", f"what is allocated of {name} at one time has at most {columns} columns, each once", self.beyond
        yield (
            "allocation.operands",
            f"what is freed of {name} is allocated, and nothing is allocated after the permit is given up",
            self.unmatched,
        )


def allocations(pool: Pool, members: Sequence[Member]) -> Ledger:
    """The ledger of the calls of a kernel; sizes and places that are no numbers are left to the calls' own verdicts."""
    book = Ledger(pool)
    held: list[Allocation] = []
    last: Allocation | None = None
    for member in members:
        does, size, at = member.shared.does, _number(member, member.shared.size), _number(member, member.shared.at)
        if does == "allocates" and size is not None:
            low = at if at is not None else max((one.high for one in held), default=0)
            found = Allocation(low, low + size, member)
            _allocate(book, held, found, last)
            last = found
        elif does == "frees" and size is not None:
            _free(book, held, member, size, at)
        elif does == "closes":
            book.closed = member
        book.held[member.index] = tuple(held)
    for one in held if book.frees else ():
        book.unmatched.append(
            Finding(f"{named(one.by)} allocates columns {one.low} to {one.high - 1}, which no call frees", "columns that are freed", "kept")
        )
    if held and not book.frees:
        book.hazards.append(
            Hazard("allocation.kept", f"no call frees what {named(held[0].by)} allocates: a kernel frees all before it ends")
        )
    return book


def _allocate(book: Ledger, held: list[Allocation], found: Allocation, last: Allocation | None) -> None:
    columns, who = book.pool.columns, named(found.by)
    book.given = True
    if book.closed is not None:
        sentence = f"{who} allocates after {named(book.closed)}, which gives the permit up"
        book.unmatched.append(Finding(sentence, f"no allocation after calls[{book.closed.index}]", f"calls[{found.by.index}] allocates"))
    if last is not None and found.size > last.size:
        sentence = f"{who} allocates {found.size} columns, {named(last.by)} before it {last.size}"
        book.growing.append(Finding(sentence, f"at most {last.size} columns", f"{found.size} columns"))
    total = found.size + sum(one.size for one in held)
    shared = next((one for one in held if one.low < found.high and found.low < one.high), None)
    if total > max(columns, book.most):
        book.beyond = [one for one in book.beyond if not one.actual.endswith("in all")]  # only the most of them is told
        sizes = " + ".join(f"{one.size} of calls[{one.by.index}]" for one in (*held, found))
        sentence = f"{who} brings what is allocated to {total} columns ({sizes}), a CTA has {columns}"
        book.beyond.insert(0, Finding(sentence, f"at most {columns} columns", f"{total} columns in all"))
    elif total > columns:
        pass
    elif shared is not None:
        sentence = (
            f"{who} allocates columns {found.low} to {found.high - 1}, of which {named(shared.by)} holds {shared.low} to {shared.high - 1}"
        )
        book.beyond.append(Finding(sentence, "columns that no call holds", f"columns {found.low} to {found.high - 1}"))
    elif found.high > columns:
        sentence = f"{who} allocates columns {found.low} to {found.high - 1}, a CTA has 0 to {columns - 1}"
        book.beyond.append(Finding(sentence, f"columns 0 to {columns - 1}", f"columns {found.low} to {found.high - 1}"))
    if found.size < columns:
        book.conditions.append(
            f"{who} writes the address of column {found.low}: what it allocates is where the views of the kernel count it"
        )
    book.most = max(book.most, total)
    held.append(found)


def _free(book: Ledger, held: list[Allocation], member: Member, size: int, at: int | None) -> None:
    """at: None where the address is an expression, which may be that of any allocation of the size."""
    book.frees = True
    fits = [one for one in held if one.size == size and at in {None, one.low}]
    if fits:
        held.remove(fits[-1])
        return
    what = f"{size} columns" + ("" if at is None else f" at column {at}")
    there = ", ".join(f"{one.size} at column {one.low} by calls[{one.by.index}]" for one in held) or "nothing"
    book.unmatched.append(Finding(f"{named(member)} frees {what}, allocated is {there}", f"what is allocated: {there}", what))


def _number(member: Member, name: str) -> int | None:
    """The value of a parameter, None where it is not given as a number."""
    value = member.call.parameter(name) if name else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
