"""Whether calls can be of one program: one launch, and an architecture that has all of them, looked for among all that there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from tilecheck.evaluate.case import family_has, variant
from tilecheck.evaluate.clauses import SHARED_BYTES
from tilecheck.evaluate.launch import Launch
from tilecheck.evaluate.sized import size_of

Part = tuple[Mapping[str, Any], Mapping[str, Any], str]
"""A contract as data, the document of a call, and an architecture that it needs beside ("": none)."""


def apart(parts: Sequence[Part]) -> set[str]:
    """The clauses that fail of calls that are no one program."""
    found: set[str] = set()
    launches = (Launch(str(call["scope"]), collective=False, form=call.get("launch")) for _, call, _ in parts)
    if len({(one.block, one.cluster) for one in launches}) > 1:
        found.add("launch.participation")
    said = {call["arch"] for _, call, _ in parts if call.get("arch")}
    known = said or {f"sm_{number}{letter}" for number, letter in product(SHARED_BYTES, ("", "f", "a"))}
    needs = [floors for part in parts for floors in _needs(*part)]
    if len(said) > 1 or not any(all(any(_has(arch, floor) for floor in floors) for floors in needs) for arch in known):
        found.add("arch.opcode")
    return found


def _needs(contract: Mapping[str, Any], call: Mapping[str, Any], beside: str) -> Iterator[Sequence[str]]:
    """Lists of architectures of which one each is enough."""
    contract = variant(contract, call)
    yield (str(contract["arch"]), *contract.get("also", ()))
    given: Mapping[str, Any] = call.get("parameters") or {}
    size = size_of(contract, call) if "sized" in contract else None
    wanted = [str(p["arch"]) for p in contract["parameters"] if p.get("arch") and given.get(str(p["name"])) is not None]
    yield from ((one,) for one in (*wanted, str(size["arch"]) if size else "", beside) if one)


def _has(arch: str, floor: str) -> bool:
    """Whether an architecture is at a floor, with a letter or without."""
    if floor[-1].isdigit():
        return int(arch.rstrip("af")[3:]) >= int(floor[3:])
    return family_has(arch, floor)
