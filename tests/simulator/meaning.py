"""What a call says by its views: which values its destination holds afterwards, read and written through the views alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.simulator.cute import Numbers
from tests.simulator.documents import Document, Issue, Operand, UnreadableError, Values, grid, value
from tests.simulator.machine import Machine, decoded, encoded
from tests.simulator.products import NARROW, Form
from tests.simulator.transfers import decompressed


@dataclass
class Expected:
    """Elements of a destination: raw bits through a view."""

    operand: Operand
    coordinates: list[Numbers]
    values: Values
    cta: int
    raw: Numbers
    bits: int = 0
    """How many low bits of an element count, all of them where 0."""


def meant(machine: Machine, document: Document, symbols: Values) -> list[Expected]:
    """Every element that a call writes, from the memories before it."""
    collective = document.opcode.startswith(("tcgen05.ld.", "tcgen05.st."))
    found: list[Expected] = []
    for issue in document.issues(symbols, collective=collective):
        if document.opcode.startswith("cp.async.bulk.tensor."):
            found += loaded(machine, document, issue)
        elif document.opcode.startswith("tcgen05.cp."):
            found += copied(machine, document, issue)
        elif document.opcode.startswith("tcgen05.mma."):
            found += multiplied(machine, document, issue)
        else:
            found += moved(machine, document, issue)
    return found


def loaded(machine: Machine, document: Document, issue: Issue) -> Iterator[Expected]:
    image, tensor = document.operands
    fields, rank = document.parameters, len(document.parameters["box"])
    at = grid(image.shape)
    steps = fields.get("element_strides", [1] * rank)
    start = [value(c, issue.values) for c in fields["coords"]]
    where = [s + step * a for s, step, a in zip(start, steps, at[-rank:], strict=True)]
    for moves, repeat in zip(fields.get("coord_steps", []), at[:-rank], strict=True):
        where = [w + value(m, issue.values) * repeat for w, m in zip(where, moves, strict=True)]
    known = np.logical_and.reduce([(w >= 0) & (w < extent) for w, extent in zip(where, tensor.shape, strict=True)])
    raw = machine.read(tensor, [np.where(known, w, 0) for w in where], issue.values, issue.cta, document.scope)
    yield Expected(image, at, issue.values, issue.cta, np.where(known, raw, 0))


def copied(machine: Machine, document: Document, issue: Issue) -> Iterator[Expected]:
    target, source = document.operands
    if target.shape != source.shape:
        raise UnreadableError("shapes")
    at = grid(target.shape)
    how = re.search(r"\.b8x16\.\w+", document.opcode)
    for cta in [issue.cta] if "cta_group::1" in document.opcode else [issue.cta & ~1, issue.cta | 1]:
        raw = np.ascontiguousarray(machine.read(source, at, issue.values, cta, document.scope), dtype="<u4")
        data = decompressed(raw.view(np.uint8).reshape(-1, raw.shape[-1] * 4), how[0] if how else "")
        yield Expected(target, at, issue.values, cta, np.ascontiguousarray(data).view("<u4").reshape(raw.shape))


def moved(machine: Machine, document: Document, issue: Issue) -> Iterator[Expected]:
    """ld and st of every kind; `.16x32bx2` has two regions, a packed word two halves."""
    loads = document.opcode.startswith(("ld.", "tcgen05.ld."))
    operands = document.operands if loads else [document.operands[-1], *document.operands[:-1]]
    registers, memories = operands[0], operands[1:]
    inner = registers.shape[len(issue.group) :]
    if not document.opcode.startswith("tcgen05.") and memories[0].shape != registers.shape:
        raise UnreadableError("shapes")
    for k in range(issue.threads.size):
        values = {name: v[k] if isinstance(v, np.ndarray) else v for name, v in issue.values.items()}
        at = grid(inner)
        own = [np.full(inner, g[k]) for g in issue.group]
        yield from exchanged(machine, document, issue.cta, values, (registers, memories), [*own, *at], loads=loads)


def exchanged(
    machine: Machine,
    document: Document,
    cta: int,
    values: Values,
    operands: tuple[Operand, list[Operand]],
    at: list[Numbers],
    *,
    loads: bool,
) -> Iterator[Expected]:
    registers, memories = operands
    for access, memory in enumerate(memories):
        mine = at
        if len(memories) == 2:
            mine = [a[..., access, :, :] for a in at]
        there = [*mine[:-3], *mine[-2:]] if len(memories) == 2 else mine
        halves = len(memory.shape) > len(there)
        if halves:
            there = [np.stack([a, a], axis=-1) for a in there]
            there.append(np.broadcast_to(np.arange(2), there[0].shape))
        if loads:
            raw = machine.read(memory, there, values, cta, document.scope).astype(np.uint64)
            yield Expected(registers, mine, values, cta, raw[..., 0] | raw[..., 1] << np.uint64(16) if halves else raw)
        else:
            raw = machine.read(registers, mine, values, cta, document.scope).astype(np.uint64)
            yield Expected(
                memory, there, values, cta, np.stack([raw & np.uint64(0xFFFF), raw >> np.uint64(16)], axis=-1) if halves else raw
            )


def matrix(machine: Machine, operand: Operand, document: Document, values: Values, cta: int, dtype: str) -> Numbers:
    raw = machine.read(operand, grid(operand.shape), values, cta, document.scope)
    if operand.bits == 32 and dtype == "float32" and "kind::tf32" in document.opcode:
        raw = raw & np.uint32(0xFFFFE000)
    return decoded(raw, dtype)


def multiplied(machine: Machine, document: Document, issue: Issue) -> Iterator[Expected]:
    """D = A B (+ D), from matrices read through the views of each CTA."""
    form, fields = Form.read(document.opcode), document.parameters
    if {fields.get("a_format"), fields.get("b_format")} & NARROW.keys():
        raise UnreadableError("a view of bytes does not say where narrower numbers lie")
    d, scales = document.operands[0], document.operands[3:]
    pair = [issue.cta] if form.group == 1 else [issue.cta & ~1, issue.cta | 1]
    read: dict[str, Any] = {}
    for cta in pair:
        for name, operand in zip("DABST", document.operands, strict=False):
            read[f"{name}{cta}"] = matrix(machine, operand, document, issue.values, cta, operand.dtype)
    right = np.concatenate([read[f"B{cta}"] for cta in pair], axis=2) * (-1 if fields.get("neg_b") else 1)
    for cta in pair:
        left = read[f"A{cta}"] * (-1 if fields.get("neg_a") else 1)
        if scales:
            left = scaled(left, read[f"S{cta}"])
        mine = scaled(right, read[f"T{cta}"]) if scales else right
        if left.ndim == 5:  # two banks of A: one for each half of the columns
            halves = mine.shape[2] // 2
            parts = [np.einsum("mkrx,nkcx->mnrc", left[:, :, h], mine[:, :, h * halves : (h + 1) * halves]) for h in range(2)]
            total = np.concatenate(parts, axis=-1)
        else:
            total = np.einsum("mkrx,nkcx->mnrc", left, mine, optimize=True)
        if total.shape != tuple(d.shape):
            raise UnreadableError("shapes")
        if fields.get("accum", True):
            total = total + read[f"D{cta}"]
        raw = encoded(total, d.dtype)
        if fields.get("disable_output_lane"):
            words = np.array(fields["disable_output_lane"], dtype=np.int64).reshape(form.group, 4)[cta % form.group]
            lane = np.broadcast_to(d.place(grid(d.shape), issue.values)["TLane"], raw.shape)
            off = (words[lane // 32] >> (lane % 32)) & 1 == 1
            raw = np.where(off, machine.read(d, grid(d.shape), issue.values, cta, document.scope), raw)
        yield Expected(d, grid(d.shape), issue.values, cta, raw)


def scaled(values: Numbers, scales: Numbers) -> Numbers:
    """[repeat, step, row, K] times [repeat, step, row, scale]."""
    return values * np.repeat(scales, values.shape[-1] // scales.shape[-1], axis=-1)


Key = tuple[str, str, int]
"""Which memory: its space, the tensor of global memory and of registers, the CTA."""


def key_of(part: Expected) -> Key:
    space, tensor = part.operand.space, part.operand.tensor
    return space, tensor if space in ("register", "global") else "", 0 if space == "global" else part.cta


def difference(machine: Machine, before: Machine, document: Document, expected: list[Expected]) -> str:
    """What a call did that it did not say, "" where nothing: a destination with another value, or memory changed that is no destination."""
    touched: dict[Key, Numbers] = {}
    raced = written_twice(machine, document, expected)
    for part in expected:
        key = key_of(part)
        mask = touched.setdefault(key, np.zeros(machine.memory(part.operand, part.cta).size, dtype=bool))
        for replica in range(part.operand.replicas):
            got = machine.read(part.operand, part.coordinates, part.values, part.cta, document.scope, replica)
            spots = machine.spots(part.operand, part.coordinates, part.values, document.scope, replica) // 8
            known = np.broadcast_to(~raced[key][spots] if key in raced else np.True_, got.shape)
            if not same(got[known], np.broadcast_to(part.raw, got.shape)[known], part.operand.dtype):
                return f"{part.operand.name} holds other values"
            for byte in range(max(1, part.operand.bits // 8)):
                mask[spots + byte] = True
            if part.operand.space == "tmem" and part.operand.bits == 16:  # above a 16-bit value a cell may hold anything
                mask[spots // 4 * 4 + 2], mask[spots // 4 * 4 + 3] = True, True
    for space, tensor, cta, old, new in memories(before, machine):
        mask = touched.get((space, tensor, cta))
        if np.any((old != new) if mask is None else (old != new) & ~mask):
            return f"{space} memory changed beside the destination"
    return ""


def written_twice(machine: Machine, document: Document, expected: list[Expected]) -> dict[Key, Numbers]:
    """The bytes of memory that two threads, repeats or elements write: what they hold then is undefined, a hazard and no fault (`memory.race`)."""
    counts: dict[Key, Numbers] = {}
    for part in expected:
        if part.operand.space != "register":
            count = counts.setdefault(key_of(part), np.zeros(machine.memory(part.operand, part.cta).size, dtype=np.int64))
            spots = machine.spots(part.operand, part.coordinates, part.values, document.scope) // 8
            count += np.bincount(spots.ravel(), minlength=count.size)
    return {key: count > 1 for key, count in counts.items()}


def same(got: Numbers, want: Numbers, dtype: str) -> bool:
    if np.array_equal(got, want):
        return True
    if dtype not in ("float16", "float32"):
        return False
    with np.errstate(all="ignore"):  # sums of arbitrary bits may round in another order
        return bool(
            np.allclose(decoded(got, dtype), decoded(want, dtype), rtol=1e-6 if dtype == "float32" else 1e-3, atol=0, equal_nan=True)
        )


def memories(before: Machine, after: Machine) -> Iterator[tuple[str, str, int, Numbers, Numbers]]:
    for cta in range(after.ctas):
        yield "shared", "", cta, before.shared[cta], after.shared[cta]
        yield "tmem", "", cta, before.tmem[cta].reshape(-1).view(np.uint8), after.tmem[cta].reshape(-1).view(np.uint8)
        for name, file in after.registers.items():
            yield "register", name, cta, before.registers[name][cta].reshape(-1), file[cta].reshape(-1)
    for name, tensor in after.tensors.items():
        yield "global", name, 0, before.tensors[name].content, tensor.content
