"""Where everything of one run lies: all memory in one allocation, every byte of which has a number that its fill tells.

Four fills show the four bytes of a 32-bit number that is a bijection of a byte's place, so that four runs tell for every byte where its
value came from; no two bytes of an arena look the same in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tilecheck.emit.kernel import Kernel
from tilecheck.emit.maps import TensorMap
from tilecheck.emit.plan import GlobalTensor, MappedTensor, RegisterBank, StagedTensor, Uniform, Varying
from tilecheck.errors import InputError
from tilecheck.symbolic.parse import parse
from tilecheck.symbolic.terms import evaluate

RUNS = 4
GAP = 256
"""Bytes between two regions: nobody writes them, and they are compared too."""
ALIGN = 256
MOST_BYTES = 1 << 30
MASK = (1 << 64) - 1

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]
Values = Mapping[str, "int | Sequence[int]"]


@dataclass(frozen=True, slots=True)
class MapArgument:
    """A tensor map to encode: its arguments, every one of them a number, of a tensor whose allocation is at `address`."""

    map: TensorMap
    address: int


Argument = int | MapArgument


@dataclass(frozen=True, slots=True)
class Region:
    """`copies` pieces of `size` bytes each, from byte `at` of the arena on: one for the grid, each cta or each thread (`per`).

    role: tensor, before, after or values. slot_bytes: of register banks, else 0.
    """

    role: str
    name: str
    at: int
    size: int
    copies: int
    per: str
    slot_bytes: int = 0

    @property
    def end(self) -> int:
        """The byte behind it."""
        return self.at + self.size * self.copies


@dataclass(frozen=True, slots=True)
class Arena:
    """The regions of a kernel's parameters, placed for an allocation at `address`."""

    address: int
    bytes: int
    regions: tuple[Region, ...]
    arguments: tuple[Argument, ...]
    """The kernel's arguments: 64-bit integers, and tensor maps to encode."""
    fixed: Mapping[int, Sequence[int]]
    """64-bit integers that stand at a byte of the arena instead of its fill."""

    def region(self, role: str, name: str) -> Region:
        """The region of that role and name."""
        return next(one for one in self.regions if one.role == role and one.name == name)

    def fill(self, run: int) -> Bytes:
        """The arena as run `run` begins: byte `run` of every place's mixed number."""
        found = shown(np.arange(self.bytes, dtype=np.uint32), run)
        for at, raw in self.fixed_bytes():
            found[at : at + raw.size] = raw
        return found

    def fixed_bytes(self) -> Iterator[tuple[int, Bytes]]:
        """The bytes that are no fill: where, and what stands there."""
        for at, values in self.fixed.items():
            yield at, np.array([value & MASK for value in values], dtype=np.uint64).view(np.uint8)

    def places(self, runs: Sequence[Bytes]) -> Numbers:
        """The place each byte's value came from, or -1 where four runs show no place of the arena."""
        mixed = np.zeros(self.bytes, dtype=np.uint32)
        for run, content in enumerate(runs):
            mixed |= content.astype(np.uint32) << np.uint32(8 * run)
        found = unmixed(mixed).astype(np.int64)
        found[found >= self.bytes] = -1
        return found

    def describe(self, place: int) -> str:
        """A place in words: the tensor, copy and byte, or the register slot of a thread."""
        if place < 0:
            return "no place of this run"
        for one in self.regions:
            if one.at <= place < one.end:
                copy, byte = divmod(place - one.at, one.size)
                when = f" {one.role}" if one.role in {"before", "after"} else ""
                if one.slot_bytes:
                    return f"{one.name}: thread {copy}, slot {byte // one.slot_bytes}, byte {byte % one.slot_bytes}{when}"
                return f"{one.name}: byte {byte}" + (f" of copy {copy}" if one.copies > 1 else "") + when
        return f"byte {place} between the operands"


def mixed(numbers: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """A bijection of 32-bit numbers whose every byte depends on all of the number (the finaliser of MurmurHash3)."""
    x = numbers.copy()
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x ^= x >> np.uint32(shift)
        x *= np.uint32(factor)
    return x ^ (x >> np.uint32(16))


def unmixed(numbers: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """The inverse of `mixed`."""
    x = numbers ^ (numbers >> np.uint32(16))
    x *= np.uint32(pow(0xC2B2AE35, -1, 1 << 32))
    x ^= (x >> np.uint32(13)) ^ (x >> np.uint32(26))
    x *= np.uint32(pow(0x85EBCA6B, -1, 1 << 32))
    return x ^ (x >> np.uint32(16))


def shown(numbers: npt.NDArray[np.uint32], run: int) -> Bytes:
    """What run `run` shows of numbered places."""
    return (mixed(numbers) >> np.uint32(8 * run)).astype(np.uint8)


def room(kernel: Kernel, values: Values) -> int:
    """Bytes that certainly hold the arena of a kernel."""
    total = 2 * GAP
    for one in kernel.parameters:
        if isinstance(one, GlobalTensor | MappedTensor):
            total += tensor_bytes(one, values) + one.align + 2 * GAP
        elif isinstance(one, StagedTensor):
            total += 2 * (one.bytes * one.copies + 2 * GAP)
        elif isinstance(one, RegisterBank):
            total += 2 * (one.slots * one.slot_bytes * one.threads + 2 * GAP)
        elif isinstance(one, Varying):
            total += 8 * one.threads + 2 * GAP
    if total > MOST_BYTES:
        raise InputError(
            f"a run of this call takes {total} bytes of device memory, at most {MOST_BYTES} are used: bind its sizes to smaller values"
        )
    return total


def tensor_bytes(tensor: GlobalTensor | MappedTensor, values: Values) -> int:
    """The size of a global tensor, its symbols given values."""
    return max(0, _number(tensor.bytes, values))


def _number(written: int | str, values: Values) -> int:
    """A number that is written as text over the uniform symbols."""
    if isinstance(written, int):
        return written
    return evaluate(parse(written), {name: value for name, value in values.items() if isinstance(value, int)})


def settled(found: TensorMap, values: Values) -> TensorMap:
    """The arguments of a tensor map, its symbols given values."""

    def each(written: Sequence[int | str]) -> tuple[int, ...]:
        return tuple(_number(one, values) for one in written)

    dims, strides = each(found.global_dim), each(found.global_strides)
    return replace(found, start=_number(found.start, values), global_dim=dims, global_strides=strides)


class _Placer:
    def __init__(self, address: int) -> None:
        self.address = address
        self.end = GAP
        self.regions: list[Region] = []

    def put(
        self, role: str, name: str, size: int, copies: int, per: str, *, slot_bytes: int = 0, align: int = ALIGN, residue: int = 0
    ) -> int:
        """Places a region at an address that is `residue` modulo `align`; its address."""
        at = self.end + (residue - self.address - self.end) % align
        self.regions.append(Region(role, name, at, size, copies, per, slot_bytes))
        self.end = at + size * copies + GAP
        return self.address + at


def arena(kernel: Kernel, address: int, values: Values, elected: int) -> Arena:
    """The arena of a kernel in an allocation at `address` of at least `room` bytes."""
    placer = _Placer(address)
    arguments: list[Argument] = []
    fixed: dict[int, Sequence[int]] = {}
    for one in kernel.parameters:
        if isinstance(one, GlobalTensor | MappedTensor):
            at = placer.put("tensor", one.name, tensor_bytes(one, values), 1, "grid", align=one.align, residue=one.residue)
            arguments.append(at if isinstance(one, GlobalTensor) else MapArgument(settled(one.map, values), at))
        elif isinstance(one, StagedTensor):
            per = "cta" if one.space == "shared" else "thread"
            arguments += [placer.put(role, one.name, one.bytes, one.copies, per) for role in ("before", "after")]
        elif isinstance(one, RegisterBank):
            size = one.slots * one.slot_bytes
            arguments += [
                placer.put(role, one.name, size, one.threads, "thread", slot_bytes=one.slot_bytes) for role in ("before", "after")
            ]
        elif isinstance(one, Uniform):
            arguments.append(_uniform(values[one.symbol], one.symbol))
        elif isinstance(one, Varying):
            at = placer.put("values", one.symbol, 8, one.threads, "thread")
            arguments.append(at)
            fixed[at - address] = spread(one, values[one.symbol], kernel)
        else:
            arguments.append(elected)
    return Arena(address, placer.end, tuple(placer.regions), tuple(arguments), fixed)


def _uniform(value: int | Sequence[int], name: str) -> int:
    if isinstance(value, int):
        return value
    if len(set(value)) != 1:
        raise InputError(f"{name} has one value in the whole cluster, found {len(value)}")
    return value[0]


def spread(symbol: Varying, value: int | Sequence[int], kernel: Kernel) -> list[int]:
    """The value of a varying symbol for each thread of the cluster, from one value, or one a lane, warp of the CTA, or CTA (as `predict` reads them)."""
    x, y, z = kernel.block
    threads = x * y * z
    if isinstance(value, int):
        return [value] * symbol.threads
    each = {"cta": "CTA", "warp": "warp", "thread": "lane"}[symbol.varies]
    numbers = [{"CTA": k // threads, "warp": k % threads // 32, "lane": k % threads % 32} for k in range(symbol.threads)]
    wanted = [one[each] for one in numbers]
    if len(value) <= max(wanted):
        raise InputError(f"{symbol.symbol}: found {len(value)} values, expected {max(wanted) + 1}, one a {each}")
    return [value[k] for k in wanted]
