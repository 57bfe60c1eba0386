"""The memories of a few CTAs as bytes: global tensors, shared memory by absolute address, tensor memory, the registers of every thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field

import numpy as np

from tests.simulator.cute import Numbers
from tests.simulator.documents import Document, Operand, UnreadableError, Values, bits_of, numpy_type

SHARED_BYTES = 232448 + 4096
LANES, COLUMNS = 128, 512
THREADS = 256


class FaultError(Exception):
    """What the hardware refuses, or does to memory that is nobody's: no image can come of it."""


def bits_at(memory: Numbers, position: Numbers, bits: int) -> Numbers:
    """The elements of so many bits at bit positions of bytes, as unsigned numbers."""
    if bits < 8:
        return (memory[position // 8] >> (position % 8).astype(np.uint8)) & ((1 << bits) - 1)
    width = bits // 8
    raw = memory[position[..., None] // 8 + np.arange(width)]
    return np.ascontiguousarray(raw).view(f"<u{width}")[..., 0]


def put_bits(memory: Numbers, position: Numbers, bits: int, elements: Numbers) -> None:
    """Writes elements, given as unsigned numbers."""
    if bits < 8:
        raw = np.broadcast_to(np.asarray(elements, dtype=np.uint8), position.shape)
        for shift in range(0, 8, bits):
            here = position % 8 == shift
            memory[position[here] // 8] = (memory[position[here] // 8] & (0xFF ^ ((1 << bits) - 1) << shift)) | raw[here] << shift
        return
    width = bits // 8
    raw = np.ascontiguousarray(elements, dtype=f"<u{width}")[..., None].view(np.uint8)
    memory[position[..., None] // 8 + np.arange(width)] = raw


def decoded(raw: Numbers, dtype: str) -> Numbers:
    """The values of raw bits, as float64 (integers: int64)."""
    kind = numpy_type(dtype)
    if bits_of(dtype) < 8:
        return np.ascontiguousarray(raw, dtype=np.uint8).view(kind).astype(np.float64)
    found = np.ascontiguousarray(raw, dtype=f"<u{bits_of(dtype) // 8}").view(kind)
    with np.errstate(invalid="ignore"):  # signalling NaN among arbitrary bits
        return found.astype(np.int64 if kind.kind in "iu" else np.float64)


def encoded(values: Numbers, dtype: str) -> Numbers:
    """The raw bits of values."""
    found = np.ascontiguousarray(np.asarray(values).astype(numpy_type(dtype)))
    return found.view(f"<u{max(1, bits_of(dtype) // 8)}")


@dataclass
class Global:
    """A tensor in global memory: it starts at an address that its declared alignment allows, and no more."""

    address: int
    content: Numbers


@dataclass
class Machine:
    """`seed` chooses what memory holds before anything is written."""

    ctas: int
    seed: int = 0
    shared_at: dict[str, int] = field(default_factory=dict)
    shared_sizes: dict[str, int] = field(default_factory=dict)
    tensors: dict[str, Global] = field(default_factory=dict)
    registers: dict[str, Numbers] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.noise = np.random.default_rng(self.seed)
        self.shared = self.noise.integers(0, 256, (self.ctas, SHARED_BYTES), dtype=np.uint8)
        self.tmem = self.noise.integers(0, 1 << 32, (self.ctas, LANES, COLUMNS), dtype=np.uint32)

    def allocate(self, documents: Iterable[Document]) -> None:
        """Gives every tensor of these calls a place: an odd multiple of its alignment, shared ones behind each other."""
        found: dict[tuple[str, str], list[Operand]] = {}
        for document in documents:
            for operand in document.operands:
                found.setdefault((operand.space, operand.tensor), []).append(operand)
        free = 1024
        for (space, tensor), operands in found.items():
            said = [o.size_bytes for o in operands if o.size_bytes]
            size = max(said or [o.span for o in operands])
            align = min(o.align for o in operands)
            if space == "shared":
                self.shared_at[tensor] = (-(-free // align) | 1) * align
                free, self.shared_sizes[tensor] = self.shared_at[tensor] + size, size
                if free > SHARED_BYTES:
                    raise FaultError(f"{free} bytes of shared memory")
            elif space == "global":
                self.tensors[tensor] = Global(((1 << 20) // align | 1) * align, self.noise.integers(0, 256, size, dtype=np.uint8))
            elif space == "register":
                self.registers[tensor] = self.noise.integers(0, 256, (self.ctas, THREADS, size), dtype=np.uint8)

    def copy(self) -> Machine:
        """The same memories, to compare with later."""
        return deepcopy(self)

    def shared_bytes(self, cta: int, address: Numbers) -> Numbers:
        self.inside(address, SHARED_BYTES, "shared memory")
        return self.shared[cta, address]

    def inside(self, address: Numbers, limit: int, what: str) -> None:
        if address.size and (int(address.min()) < 0 or int(address.max()) >= limit):
            raise FaultError(f"outside {what}")

    # -- memory through views: what a call means -------------------------------------------------------------------------------------------

    def spots(self, operand: Operand, coordinates: Sequence[Numbers], values: Values, scope: str, replica: int = 0) -> Numbers:
        """Where a view keeps elements: bit positions in its flattened memory."""
        at = operand.place(coordinates, values, replica)
        m = at["m"]
        if operand.space == "tmem":
            lane, column = at.get("TLane", 0), at.get("TCol", 0)
            m = column * bits_of(operand.declared) + m + np.asarray(lane) * (COLUMNS * 32)
            if (
                np.min(lane) < 0
                or np.max(lane) >= LANES
                or np.min(column) < 0
                or np.max(column) * bits_of(operand.declared) >= COLUMNS * 32
            ):
                raise FaultError("outside tensor memory")
        elif operand.space == "register":
            self.inside(np.asarray(m), self.registers[operand.tensor].shape[-1] * 8, "the registers of a thread")
            m = m + self.owner(at, values, scope) * (self.registers[operand.tensor].shape[-1] * 8)
        elif operand.space == "shared":
            self.inside(np.asarray(m), self.shared_sizes[operand.tensor] * 8, operand.name)
            m = m + 8 * self.shared_at[operand.tensor]
        return np.broadcast_arrays(np.asarray(m, dtype=np.int64), *coordinates)[0] if len(coordinates) else np.asarray(m)

    def owner(self, at: dict[str, Numbers], values: Values, scope: str) -> Numbers:
        """The thread that owns a register: an axis inside the scope that is not written counts 0, one beyond it is the executing thread's."""
        warp, lane = values["warpid"], values["laneid"]
        if scope == "thread" or "warpid" in at:
            warp = at.get("warpid", warp)
        elif scope == "warpgroup":
            warp = warp // 4 * 4 + at.get("wid_in_wg", 0)
        elif scope == "cta":
            warp = at.get("wgid", 0) * 4 + at.get("wid_in_wg", 0)
        if scope != "thread":
            lane = at.get("laneid", 0)
        if "tid_in_wg" in at or "tx" in at:
            raise UnreadableError("threads are named by warp and lane here")
        return np.asarray(warp * 32 + lane)

    def memory(self, operand: Operand, cta: int) -> Numbers:
        """The bytes that the positions of `spots` count."""
        match operand.space:
            case "tmem":
                return self.tmem[cta].reshape(-1).view(np.uint8)
            case "register":
                return self.registers[operand.tensor][cta].reshape(-1)
            case "shared":
                return self.shared[cta]
        return self.tensors[operand.tensor].content

    def read(self, operand: Operand, coordinates: Sequence[Numbers], values: Values, cta: int, scope: str, replica: int = 0) -> Numbers:
        """Raw elements through a view."""
        memory, spots = self.memory(operand, cta), self.spots(operand, coordinates, values, scope, replica)
        self.inside(spots, memory.size * 8, operand.name)
        return bits_at(memory, spots, operand.bits)

    def write(self, operand: Operand, coordinates: Sequence[Numbers], values: Values, cta: int, scope: str, raw: Numbers) -> None:
        """Raw elements through a view, into every replica."""
        memory = self.memory(operand, cta)
        for replica in range(operand.replicas):
            spots = self.spots(operand, coordinates, values, scope, replica)
            self.inside(spots, memory.size * 8, operand.name)
            put_bits(memory, spots, operand.bits, np.broadcast_to(raw, spots.shape))


@contextmanager
def faults() -> Iterator[None]:
    """Whatever an impossible document runs into becomes a FaultError or stays UnreadableError."""
    try:
        yield
    except (IndexError, ValueError, KeyError, TypeError, ZeroDivisionError, OverflowError) as error:
        raise UnreadableError(f"{type(error).__name__}: {error}") from error
