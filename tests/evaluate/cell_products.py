"""Images of products in tensor memory computed with NumPy, beside what a simulated machine leaves there."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tests.simulator.documents import Document, bits_of
from tests.simulator.judge import small
from tests.simulator.machine import Machine, decoded, encoded, faults
from tests.simulator.products import NARROW
from tests.simulator.run import carry_out
from tilecheck.document import read_call
from tilecheck.evaluate import Model
from tilecheck.evaluate.cell_products import CellProducts
from tilecheck.spec import Contract, data, find_contract

Json = dict[str, Any]
TYPES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "tf32": "float32",
    "f32": "float32",
    "s32": "int32",
    "s8": "int8",
    "u8": "uint8",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "ue8m0": "float8_e8m0fnu",
    "ue4m3": "float8_e4m3fn",
    **NARROW,
}
A_COLUMN, SCALE_COLUMN = 384, 448
"""From where on A and the factors of `mma` documents lie in tensor memory."""
SAMPLE = 400
"""Entries that are computed of a large product."""


def form_of(document: Json) -> Json:
    contract = find_contract(document["opcode"])
    assert isinstance(contract, Contract)
    return data(contract)


class Some(CellProducts):
    """A product of which some entries are named."""

    every: set[tuple[int, int]]

    def image(self) -> Any:
        self.every = {(cta, bit) for cta, bit, _ in self._written()}
        return super().image()

    def _cell(self, cta: int, bit: int, several: Any) -> Iterator[Any]:
        if random.Random(f"{cta} {bit}").random() * len(self.every) < SAMPLE:
            yield from super()._cell(cta, bit, several)


class Values:
    """The numbers that a machine holds at sources of an image."""

    def __init__(self, machine: Machine, document: Document) -> None:
        self.machine, self.spaces, self.known = machine, {o.tensor: o.space for o in document.operands}, dict[Any, Any]()

    def at(self, source: Any, type_: str) -> Any:
        if not isinstance(source, list):
            return source
        key = (id(source), type_)
        if key not in self.known:
            self.known[key] = self.read(source, type_)
        return self.known[key]

    def read(self, source: Any, type_: str) -> Any:
        tensor, byte, bit, bits, *more = source
        cta = more[0]["cta"] if more else 0
        shared = self.spaces[tensor] == "shared"
        memory = self.machine.shared[cta] if shared else self.machine.tmem[cta].reshape(-1).view(np.uint8)
        first = byte + (self.machine.shared_at[tensor] if shared else 0)
        raw = int.from_bytes(memory[first : first + 8].tobytes(), "little") >> bit & (1 << bits) - 1
        if type_ == "tf32":
            raw &= 0xFFFFE000
        assert bits == bits_of(TYPES[type_])
        return decoded(np.array([raw], dtype=np.uint32), TYPES[type_])[0]

    def sum(self, entry: Mapping[str, Any]) -> Any:
        total, sign, clamped = self.at(entry["plus"][1], entry["plus"][0]), -1 if entry.get("negated") else 1, entry.get("saturated")
        for number, factors in enumerate(entry["products"], start=1):
            one = sign
            for source, type_ in zip(factors, entry["of"], strict=True):
                one = one * self.at(source, type_)
            total = total + one
            if clamped and number % clamped == 0:
                total = min(max(total, -(1 << 31)), (1 << 31) - 1)
        return total


def filled(machine: Machine, document: Document, accumulator: str, types: Mapping[str, str]) -> None:
    """Small numbers everywhere, other ones in each copy."""
    for operand in document.operands[1:3]:
        if operand.space == "shared":
            start, size = machine.shared_at[operand.tensor], machine.shared_sizes[operand.tensor]
            for cta in range(machine.ctas):
                machine.shared[cta, start : start + size] = noise(machine, size, types[operand.name])
    cells = machine.tmem.view(np.uint8).reshape(machine.ctas, 128, 2048)
    a, *scales = document.operands[1], *document.operands[3:]
    for cta in range(machine.ctas):
        wide = small(machine.noise, (128, 512), accumulator).astype(np.uint32)
        machine.tmem[cta] = (
            wide | machine.noise.integers(0, 1 << 16, wide.shape, dtype=np.uint32) << 16 if accumulator == "float16" else wide
        )
        if a.space == "tmem":
            cells[cta, :, 4 * A_COLUMN : 4 * SCALE_COLUMN] = noise(machine, 128 * 4 * (SCALE_COLUMN - A_COLUMN), types["A"]).reshape(
                128, -1
            )
        if scales:
            where = cells[cta, :, 4 * SCALE_COLUMN :]
            where[:] = small(machine.noise, where.shape, "float8_e8m0fnu")
            if scales[0].dtype != "float8_e8m0fnu":
                where[:] = small(machine.noise, where.shape, scales[0].dtype) & 0x7F


def noise(machine: Machine, size: int, dtype: str) -> np.ndarray:
    if bits_of(dtype) < 8:
        return machine.noise.integers(0, 256, size, dtype=np.uint8)
    return small(machine.noise, size * 8 // bits_of(dtype), dtype).view(np.uint8)


def compared(
    document: Json, symbols: Mapping[str, int] | None = None, contract: Json | None = None, *, whole: bool = True, large: int = 0
) -> int:
    """How many cells differ; cells that are undefined are not compared, all others are."""
    call, symbols = Document(document), symbols or {}
    model = Model(contract or form_of(document), read_call(document).to_json())
    assert model.case.product is not None
    found = Some(model.case, model.case.product, symbols, 0)
    if whole:
        found._cell = super(Some, found)._cell  # type: ignore[method-assign]
    image = found.image()
    machine = Machine(call.ctas, 5)
    machine.allocate([call])
    formats = {
        name: TYPES.get(document["parameters"].get(f"{name.lower()}_format"), call.operands[k].dtype) for k, name in ((1, "A"), (2, "B"))
    }
    filled(machine, call, call.operands[0].dtype, formats)
    if large:
        machine.tmem[:, :, :256] = large & 0xFFFFFFFF
    values, expected = Values(machine.copy(), call), machine.tmem.copy().view(np.uint8).reshape(machine.ctas, -1)
    before, known = machine.tmem.copy(), np.ones(expected.shape, dtype=bool)
    for label, byte, source, what, *more in image.memory:
        assert (label, source) == ("D", None)
        cta = more[0].get("cta", 0) if more else 0
        if what == "undefined":
            known[cta, byte] = False
            continue
        (entry,) = more[0]["entries"]
        raw = encoded(np.array([values.sum(entry)]), TYPES[entry["type"]]).view(np.uint8)
        assert len(raw) == entry["bits"] // 8
        expected[cta, byte : byte + len(raw)] = raw
    if not whole:
        listed = {(row[4].get("cta", 0) if len(row) > 4 else 0, row[1] // 4) for row in image.memory}
        for cta, bit in found.every:
            if (cta, bit // 32) not in listed:
                known[cta, bit // 8 : bit // 8 + 4] = False
    with faults():
        carry_out(machine, call, symbols)
    assert not np.array_equal(machine.tmem, before)
    after = machine.tmem.view(np.uint8).reshape(machine.ctas, -1)
    return int(np.count_nonzero((after != expected) & known))


def predicted(document: Json, most: int | None = None) -> list[list[Any]]:
    """The rows of memory."""
    return Model(form_of(document), read_call(document).to_json()).predict({}, 0, most=most).memory
