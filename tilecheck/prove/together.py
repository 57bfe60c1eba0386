"""What calls of one kernel have in common because they are one program: its launch, and the architecture that it is built for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilecheck.call import Call, Launch
from tilecheck.prove.clause import Finding
from tilecheck.prove.shared import called
from tilecheck.sizing import shape_of
from tilecheck.spec import Contract, arch_rank
from tilecheck.spec.grammar import arch_has

Floors = tuple[str, ...]
"""Architectures of which one is enough."""
LETTERS = ("", "f", "a")


@dataclass(frozen=True, slots=True)
class Part:
    """One call of a kernel with its contract; raised: an architecture that its own verdict asks for beside, "" for none."""

    index: int
    call: Call
    contract: Contract
    raised: str = ""

    @property
    def name(self) -> str:
        """The call in words."""
        return called(self.index, self.call)

    @property
    def needs(self) -> list[Floors]:
        """What the form needs, what the shape of the instruction needs, and what each parameter needs."""
        shape, sized = shape_of(self.call, self.contract), self.contract.sized
        size = None if shape is None or sized is None else sized.size(shape)
        given = {name for name, value in self.call.parameters if value is not None}
        extra = [(p.arch,) for p in self.contract.parameters if p.arch and p.name in given]
        beside = ((one,) for one in (self.raised, size.arch if size is not None else "") if one)
        return [self.contract.floors, *dict.fromkeys((*beside, *extra))]

    def runs_on(self, arch: str) -> bool:
        """Whether an architecture has all that the call needs."""
        return all(any(arch_has(arch, floor) for floor in floors) for floors in self.needs)

    @property
    def floor(self) -> str:
        """What the call needs, in words."""
        return " and ".join(" or ".join(floors) for floors in self.needs)


def lowest(parts: Sequence[Part]) -> str | None:
    """The lowest architecture that has all that some calls need, None where there is none."""
    numbers = {arch_rank(floor)[0] for part in parts for floors in part.needs for floor in floors}
    every = sorted((f"sm_{number}{letter}" for number in numbers for letter in LETTERS), key=arch_rank)
    return next((arch for arch in every if all(part.runs_on(arch) for part in parts)), None)


def architectures(parts: Sequence[Part]) -> list[Finding]:
    """Calls that no architecture has together, or not the one that a call is said to be for; calls that are said to be for different ones."""
    said = [part for part in parts if part.call.arch is not None]
    other = next((part for part in said if part.call.arch != said[0].call.arch), None)
    if other is not None:
        sentence = f"{other.name} is for {other.call.arch}, {said[0].name} before it for {said[0].call.arch}"
        return [Finding(sentence, f"{said[0].call.arch}, as {said[0].name}", f"{other.call.arch} in {other.name}")]
    lacking = next((part for part in parts if said and not part.runs_on(said[0].call.arch or "")), None)
    if lacking is not None:
        sentence = f"{lacking.name} needs {lacking.floor}, {said[0].name} is for {said[0].call.arch}"
        return [Finding(sentence, f"{said[0].call.arch}, as {said[0].name}", f"{lacking.floor} in {lacking.name}")]
    for k, part in enumerate(parts):
        if lowest(parts[: k + 1]) is None:
            against = next((one for one in parts[:k] if lowest((one, part)) is None), None)
            before = [against] if against is not None else parts[:k]
            needs = ", ".join(f"{one.name} {one.floor}" for one in before)
            return [
                Finding(f"{part.name} needs {part.floor}, {needs}: no architecture has them all", needs, f"{part.floor} in {part.name}")
            ]
    return []


def launches(parts: Sequence[Part]) -> list[Finding]:
    """Calls that are said to be launched differently."""
    first = parts[0]
    other = next((part for part in parts if whole(part.call.launch) != whole(first.call.launch)), None)
    if other is None:
        return []
    mine, theirs = told(other.call.launch), told(first.call.launch)
    sentence = f"{other.name} is launched in {mine}, {first.name} before it in {theirs}"
    return [Finding(sentence, f"{theirs}, as {first.name}", f"{mine} in {other.name}")]


def whole(launch: Launch) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The extents of a launch in three dimensions."""
    return (*launch.block, 1, 1)[:3], (*(launch.cluster or ()), 1, 1, 1)[:3]


def told(launch: Launch) -> str:
    """A launch in words."""
    return f"blocks of {list(launch.block)}" + (f" and clusters of {list(launch.cluster)}" if launch.cluster else "")
