"""Copies as the hardware does them: TMA tiles, ld and st of global and shared memory, tcgen05.ld, .st and .cp.

From a call only what a kernel would pass is taken: the address of a first element, the fields of a tensor map or descriptor, the names of registers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from tests.simulator import tables
from tests.simulator.cute import COPIES, LAYOUT_TYPES, SPANS, SWIZZLES, Layout, Numbers, canonical
from tests.simulator.documents import Document, Issue, Operand, UnreadableError, Values, bits_of, grid, value
from tests.simulator.machine import COLUMNS, LANES, FaultError, Machine, bits_at, put_bits


def first(operand: Operand, before: Sequence[Numbers], values: Values) -> dict[str, Numbers]:
    """The place of the first element of an atom, at some group and repeat coordinates."""
    return operand.place([*before, *[np.zeros((), dtype=np.int64)] * (len(operand.shape) - len(before))], values)


def shared_address(machine: Machine, operand: Operand, before: Sequence[Numbers], values: Values) -> int:
    return machine.shared_at[operand.tensor] + int(first(operand, before, values)["m"]) // 8


def taddr(operand: Operand, before: Sequence[Numbers], values: Values) -> tuple[int, int]:
    """Lane and byte of the column at which an atom starts, absolute."""
    at = first(operand, before, values)
    return int(at.get("TLane", 0)), (int(at.get("TCol", 0)) * bits_of(operand.declared) + int(at["m"])) // 8


def cell(start: tuple[int, int]) -> int:
    """lane << 16 | column, as instructions take it."""
    lane, byte = start
    if byte % 4:
        raise FaultError("an address of tensor memory between cells")
    return lane << 16 | byte // 4


def repeats(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return iter(np.ndindex(*shape))


def no_group(issue: Issue, what: str) -> None:
    """One thread issues; more of them would do it again."""
    if issue.group or issue.threads.size != 1:
        raise UnreadableError(f"several threads issue one {what}")


# -- TMA ---------------------------------------------------------------------------------------------------------------------------------------


def tile_load(machine: Machine, document: Document, issue: Issue) -> None:
    """cp.async.bulk.tensor ... .shared ... .global.tile: a box into rows that are pitched at the span of the swizzle, XOR on absolute addresses."""
    no_group(issue, "load")
    image, tensor = document.operands
    fields = document.parameters
    box, swizzle = fields["box"], fields.get("swizzle", 0)
    rank, steps = len(box), fields.get("element_strides", [1] * len(box))
    if not re.fullmatch(rf"cp\.async\.bulk\.tensor\.{rank}d\.shared::\w+\.global\.tile\.mbarrier::complete_tx::bytes", document.opcode):
        raise UnreadableError(document.opcode)
    if fields.get("interleave") or tensor.bits < 8 or len(tensor.shape) != rank:
        raise UnreadableError("slices, packed types and other ranks are not simulated")
    base = first(tensor, [], issue.values)["m"]
    strides = [
        int(tensor.place(list(np.eye(rank, dtype=np.int64)[k]), issue.values)["m"] - base) for k in range(rank)
    ]  # what the host encodes
    if strides[-1] != tensor.bits:
        raise FaultError("the innermost stride of a tensor map is one element")
    if (machine.tensors[tensor.tensor].address + int(base) // 8) % 16 or any(step % 128 for step in strides[:-1]):
        raise FaultError("an address or a stride that a tensor map does not take")
    extents = [-(-extent // step) for extent, step in zip(box, steps, strict=True)]
    width = tensor.bits // 8
    pitch = max(extents[-1] * width, SPANS[swizzle] if swizzle else 0)
    if swizzle and extents[-1] * width > SPANS[swizzle]:
        raise FaultError("a box wider than its swizzle")
    at = grid(extents)
    rows = np.ravel_multi_index(at[:-1], extents[:-1]) if rank > 1 else np.zeros(extents, dtype=np.int64)
    offsets = rows * pitch + at[-1] * width
    for repeat in repeats(image.shape[: len(image.shape) - rank]):
        moved = [
            sum(int(value(s, issue.values)) * r for s, r in zip(axis, repeat, strict=True))
            for axis in zip(*fields.get("coord_steps", []), strict=True)
        ]
        start = [int(value(c, issue.values)) + (moved[k] if moved else 0) for k, c in enumerate(fields["coords"])]
        where = [a * step + s for a, step, s in zip(at, steps, start, strict=True)]
        known = np.logical_and.reduce([(w >= 0) & (w < extent) for w, extent in zip(where, tensor.shape, strict=True)])
        source = np.where(known, base + sum(w * s for w, s in zip(where, strides, strict=True)), 0)
        content = machine.tensors[tensor.tensor].content
        machine.inside(source, content.size * 8, "the tensor")
        raw = np.where(known, bits_at(content, source, tensor.bits), 0)
        target = shared_address(machine, image, [np.asarray(r) for r in repeat], issue.values)
        origin = int(SWIZZLES[swizzle](np.asarray(target)))
        if origin % 128:
            raise FaultError("a tile at no multiple of 128 bytes")
        place = SWIZZLES[swizzle](origin + offsets) * 8
        machine.inside(place, machine.shared[issue.cta].size * 8, "shared memory")
        put_bits(machine.shared[issue.cta], place, tensor.bits, raw)


# -- ld and st ---------------------------------------------------------------------------------------------------------------------------------


def access(machine: Machine, document: Document, issue: Issue) -> None:
    """ld and st of global and shared memory: every thread moves its own registers, a vector at a time."""
    loads = document.opcode.startswith("ld")
    registers, memory = document.operands if loads else document.operands[::-1]
    found = re.fullmatch(r"(?:ld|st)\.(global|shared|shared::cta)(?:\.v(\d))?\.[bfsu](\d+)", document.opcode)
    if not found or memory.space != found[1][:6] or registers.space != "register":
        raise UnreadableError(document.opcode)
    vector, bits = int(found[2] or 1), int(found[3])
    count = len(issue.group)
    middle = memory.shape[count:-1]
    thread = [g[:, None] for g in issue.group]
    values = {name: v[:, None] if isinstance(v, np.ndarray) else v for name, v in issue.values.items()}
    file, threads = machine.registers[registers.tensor][issue.cta].reshape(-1), issue.threads[:, None]
    for repeat in repeats(middle):
        before = [*thread, *[np.full((1, 1), r) for r in repeat]]
        start = memory.place([*before, np.zeros((1, 1), dtype=np.int64)], values)["m"] // 8
        base = machine.tensors[memory.tensor].address if memory.space == "global" else machine.shared_at[memory.tensor]
        if np.any((base + start) % (vector * bits // 8)):
            raise FaultError("a vector at no multiple of its size")
        content = machine.memory(memory, issue.cta)
        there = (start + np.arange(vector) * (bits // 8)) * 8 + (0 if memory.space == "global" else base * 8)
        machine.inside(there, content.size * 8, memory.name)
        slots = registers.place([*before, np.arange(vector)[None, :]], values)["m"]
        here = np.broadcast_to(slots + threads * (machine.registers[registers.tensor].shape[-1] * 8), (threads.size, vector))
        machine.inside(here, file.size * 8, registers.name)
        there = np.broadcast_to(there, here.shape)
        if loads:
            put_bits(file, here, bits, bits_at(content, there, bits))
        else:
            put_bits(content, there, bits, bits_at(file, here, bits))


# -- tcgen05.ld and .st ------------------------------------------------------------------------------------------------------------------------


def transfer(machine: Machine, document: Document, issue: Issue) -> None:
    """tcgen05.ld and .st: a warp and the cells of its own 32 lanes."""
    found = re.fullmatch(r"tcgen05\.(ld|st)\.sync\.aligned\.(\w+)\.x(\d+)(\.pack::16b|\.unpack::16b)?\.b32", document.opcode)
    loads, shape, times, packs = found[1] == "ld", found[2], int(found[3]), bool(found[4])
    twice = shape == "16x32bx2"
    operands = document.operands if loads else [document.operands[-1], *document.operands[:-1]]
    registers, memories = operands[0], operands[1:]
    if registers.space != "register" or any(m.space != "tmem" for m in memories):
        raise UnreadableError("operands in another order")
    if times & (times - 1) or times * tables.REGISTERS[shape] > 128:
        raise UnreadableError(document.opcode)
    image = tables.register_image(shape, times)
    suffix = 3 if twice else 2
    for k in range(issue.threads.size):
        values = {name: v[k] if isinstance(v, np.ndarray) else v for name, v in issue.values.items()}
        for repeat in repeats(registers.shape[len(issue.group) : len(registers.shape) - suffix]):
            before = [*[g[k] for g in issue.group], *[np.asarray(r) for r in repeat]]
            rows, columns = image[0, :, 0], image[0, :, 1]
            split = [rows // 16, rows % 16] if twice else [rows]
            slots = (
                registers.place([*[np.full_like(rows, int(b)) for b in before], *split, columns], values)["m"] // 8
            )  # as lane 0 names them
            warp = int(issue.threads[k])
            lanes, cells = reached(
                image, cell(taddr(memories[0], before, values)), warp, document.parameters.get("imm_half_splitoff"), packs, shape
            )
            move(machine, issue.cta, registers, (warp, slots), (lanes, cells), loads=loads, packs=packs)


def reached(image: Numbers, address: int, warp: int, immediate: int | None, packs: bool, shape: str) -> tuple[Numbers, Numbers]:
    """[lane of the warp, register] -> lane and column of tensor memory; packed: the first of two columns."""
    rows, columns = image[..., 0], image[..., 1] * (2 if packs else 1)
    lane, column = np.full_like(rows, address >> 16), np.full_like(rows, address & 0xFFFF)
    if shape == "16x32bx2":
        second = address + immediate
        lane, column = np.where(rows < 16, lane, second >> 16), np.where(rows < 16, column, second & 0xFFFF)
        rows = rows % 16
    if shape != "32x32b" and np.any(lane % 16):
        raise FaultError("16 rows that start inside a half of a partition")
    lanes, cells = lane + rows, column + columns
    if np.any(lanes // 32 != warp % 4):
        raise FaultError("lanes of another warp")
    if cells.max() + packs >= COLUMNS:
        raise FaultError("outside tensor memory")
    return lanes, cells


def move(
    machine: Machine, cta: int, registers: Operand, file: tuple[int, Numbers], cells: tuple[Numbers, Numbers], *, loads: bool, packs: bool
) -> None:
    """Between the registers of a warp and cells; of a packed register the halves go to the low halves of two cells."""
    warp, slots = file
    size = machine.registers[registers.tensor].shape[-1]
    if slots.min() < 0 or slots.max() + 4 > size:
        raise FaultError("a register that is nobody's")
    content = machine.registers[registers.tensor][cta].reshape(-1)
    here = ((warp * 32 + np.arange(32)[:, None]) * size + slots[None, :]) * 8
    lane, column = cells
    tmem = machine.tmem[cta]
    if loads:
        raw = tmem[lane, column]
        put_bits(content, here, 32, (raw & 0xFFFF) | (tmem[lane, column + 1] << 16) if packs else raw)
        return
    raw = bits_at(content, here, 32)
    if packs:  # the upper halves of the cells are unspecified
        tmem[lane, column] = (raw & 0xFFFF) | (machine.noise.integers(0, 1 << 16, raw.shape, dtype=np.uint32) << 16)
        tmem[lane, column + 1] = (raw >> 16) | (machine.noise.integers(0, 1 << 16, raw.shape, dtype=np.uint32) << 16)
    else:
        tmem[lane, column] = raw


# -- descriptors and tcgen05.cp ----------------------------------------------------------------------------------------------------------------


def encode_descriptor(fields: Sequence[int], address: int) -> int:
    """The 64 bits that a kernel passes for [leading, stride, swizzle] and an unswizzled start address."""
    leading, stride, swizzle = fields
    if address % 16 or leading % 16 or stride % 16 or not (0 <= leading < 1 << 18 and 0 <= stride < 1 << 18):
        raise FaultError("a field that cannot be encoded")
    kind = {number: code for code, number in LAYOUT_TYPES.items()}[swizzle]
    return (address & 0x3FFFF) >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | 1 << 46 | kind << 61


def walk(descriptor: int, major: str, width: int, across: int, along: int) -> Numbers:
    """[M or N, K] -> the absolute byte address that the hardware reads for an element of so many bytes."""
    start, leading, stride = (descriptor & 0x3FFF) << 4, (descriptor >> 16 & 0x3FFF) << 4, (descriptor >> 32 & 0x3FFF) << 4
    kind = descriptor >> 61
    if descriptor >> 46 & 7 != 1 or kind not in LAYOUT_TYPES:
        raise FaultError("no descriptor")
    swizzle = LAYOUT_TYPES[kind]
    if (swizzle == 4) != (major == "mn" and width == 4):
        raise FaultError("no canonical layout")
    layout: Layout = canonical(major, swizzle, width, leading, stride)
    return SWIZZLES[swizzle](start + layout(*np.indices((across, along), dtype=np.int64)))


def start_of(machine: Machine, operand: Operand, fields: Sequence[int], before: Sequence[Numbers], values: Values) -> int:
    """The descriptor of an atom: it holds the unswizzled address of the first element."""
    physical = shared_address(machine, operand, before, values)
    return encode_descriptor(fields, int(SWIZZLES[fields[2]](np.asarray(physical))))


def copy_matrix(machine: Machine, document: Document, issue: Issue) -> None:
    """tcgen05.cp: rows of shared memory to lanes of tensor memory, perhaps of both CTAs of a pair, perhaps decompressed."""
    no_group(issue, "copy")
    found = re.fullmatch(r"tcgen05\.cp\.cta_group::([12])\.(\d+)x(\d+)b(\.warp\w+(?:::\w+)?)?(\.b8x16\.b[46]x16_p\d+)?", document.opcode)
    target, source = document.operands
    if target.space != "tmem" or source.space != "shared":
        raise UnreadableError("operands in another order")
    rows, words = int(found[2]), int(found[3]) // 32
    lanes = COPIES[f"{found[2]}x{found[3]}b{found[4] or ''}"].image()
    fields = document.parameters["descriptor"]
    for repeat in repeats(target.shape[:-2]):
        before = [np.asarray(r) for r in repeat]
        descriptor = start_of(machine, source, fields, before, issue.values)
        address = cell(taddr(target, before, issue.values))
        lane, column = address >> 16, address & 0xFFFF
        if column % 4 or np.max(lane + lanes) >= LANES or column + words > COLUMNS:
            raise FaultError("a place in tensor memory that copies cannot start at")
        for cta in [issue.cta] if found[1] == "1" else [issue.cta & ~1, issue.cta | 1]:
            raw = machine.shared_bytes(cta, walk(descriptor, "k", 1, rows, words * 4))
            data = np.ascontiguousarray(decompressed(raw, found[5] or "")).view("<u4")
            for copied in lanes.T:
                machine.tmem[cta, (lane + copied)[:, None], column + np.arange(words)[None, :]] = data


def decompressed(raw: Numbers, how: str) -> Numbers:
    """[row, byte]: sixteen values of 4 or 6 bits from the low bytes of every sixteen; 4-bit values are shifted up by two."""
    if not how:
        return raw
    bits = 4 if "b4x16" in how else 6
    blocks = raw.reshape(raw.shape[0], -1, 16)
    each = np.unpackbits(blocks[..., : 2 * bits], axis=-1, bitorder="little").reshape(*blocks.shape[:-1], 16, bits)
    values = (each << np.arange(bits, dtype=np.uint8)).sum(axis=-1).astype(np.uint8)
    return (values << (2 if bits == 4 else 0)).reshape(raw.shape)
