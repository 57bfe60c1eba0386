"""A predicted image, as `predict` prints it, against what the simulated hardware does to memory filled at random (calls of one CTA)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.simulator.cute import Numbers
from tests.simulator.documents import Document, Operand, Values
from tests.simulator.judge import fill
from tests.simulator.machine import Machine
from tests.simulator.run import carry_out

UNDEFINED = -1


class Memories:
    """The bytes of a machine by tensor and offset from its base; tensor memory by lane and column from its first cell."""

    def __init__(self, machine: Machine, document: Document) -> None:
        self.machine = machine
        self.operands = {operand.tensor: operand for operand in document.operands}
        self.by_name = {operand.name: operand for operand in document.operands} | self.operands

    def operand(self, name: str) -> Operand:
        """By tensor or name; the second of a name is called `NAME#2`."""
        return self.by_name[name.partition("#")[0]]

    def base(self, operand: Operand) -> int:
        return self.machine.shared_at[operand.tensor] if operand.space == "shared" else 0

    def byte(self, tensor: str, offset: int) -> int:
        operand = self.operand(tensor)
        return int(self.machine.memory(operand, 0)[self.base(operand) + offset])

    def slot(self, name: str, where: list[int]) -> int:
        """[cta, warp, lane, slot, byte] -> the offset of the byte in the register file of all threads."""
        operand = self.operand(name)
        _, warp, lane, slot, byte = where
        return (warp * 32 + lane) * self.machine.registers[operand.tensor].shape[-1] + slot * max(1, operand.bits // 8) + byte


def source(memories: Memories, given: list[Any]) -> int:
    """The byte that a source names: of memory, of a register, or a fill."""
    match given:
        case [None, "zero"]:
            return 0
        case [None, "unpacked", {"low": low, "sources": parts}]:
            total, at = 0, low
            for part in parts:
                total |= source(memories, part) << at
                at += part[3]
            return total
        case [None, "undefined"]:
            return UNDEFINED
        case [str() as name, list() as where]:
            operand = memories.operand(name)
            return int(memories.machine.registers[operand.tensor][0].reshape(-1)[memories.slot(name, where)])
        case [str() as tensor, int() as offset]:
            return memories.byte(tensor, offset)
        case [str() as tensor, int() as offset, int() as bit, int() as bits]:
            return (memories.byte(tensor, offset) >> bit) & ((1 << bits) - 1)
    raise ValueError(given)


def image_difference(call: Mapping[str, Any], symbols: Values, image: Mapping[str, list[Any]], seed: int = 0) -> str:
    """What an image says otherwise than the hardware does, "" where nothing; every byte that changes has to be listed."""
    document = Document(call)
    machine = Machine(document.ctas, seed)
    machine.allocate([document])
    fill(machine, document, symbols)
    before = Memories(machine.copy(), document)
    carry_out(machine, document, symbols)
    after = Memories(machine, document)
    listed: dict[str, Numbers] = {}

    def compare(operand: Operand, at: int, want: int) -> bool:
        got = machine.memory(operand, 0)
        key = operand.tensor if operand.space in ("register", "global") else operand.space
        listed.setdefault(key, np.zeros(got.size, dtype=bool))[at] = True
        return want in (UNDEFINED, int(got[at]))

    for name, _, warp, lane, slot, sources, *rest in image["registers"]:
        operand = before.operand(name)
        for byte in range(max(1, operand.bits // 8)):
            want = UNDEFINED if sources is None or rest else source(before, sources[byte])
            if not compare(operand, after.slot(name, [0, warp, lane, slot, byte]), want):
                return f"register {name} {warp}.{lane} slot {slot}"
    for name, offset, *given in image["memory"]:
        operand = before.operand(name)
        if not compare(operand, after.base(operand) + offset, source(before, given)):
            return f"{name} byte {offset}"
    for operand in document.operands:
        key = operand.tensor if operand.space in ("register", "global") else operand.space
        old, new = before.machine.memory(operand, 0), machine.memory(operand, 0)
        if np.any((old != new) & ~listed.get(key, np.zeros(old.size, dtype=bool))):
            return f"{operand.name}: bytes change that the image does not list"
    return ""
