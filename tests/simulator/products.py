"""tcgen05.mma as the hardware does it: from an instruction descriptor, shared descriptors and addresses of tensor memory to cells.

A product has its place in a data path: a lane multiplies with what stands in the same lane of A (where A is in tensor memory), and in its own 32 lanes of the scales.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.simulator import tables
from tests.simulator.cute import COLUMN, SCALES, Numbers, accumulator
from tests.simulator.documents import Document, Issue, UnreadableError, bits_of
from tests.simulator.machine import COLUMNS, LANES, FaultError, Machine, decoded, encoded
from tests.simulator.transfers import cell, decompressed, no_group, repeats, start_of, taddr, walk

FLOATS = {"float16": 0, "bfloat16": 1, "float32": 2}
SMALL = {"float8_e4m3fn": 0, "float8_e5m2": 1, "float6_e2m3fn": 3, "float6_e3m2fn": 4, "float4_e2m1fn": 5}
INTEGERS = {"uint8": 0, "int8": 1}
FORMATS = {
    "f16": FLOATS, "tf32": FLOATS, "f8f6f4": SMALL, "mxf8f6f4": SMALL, "i8": INTEGERS, "mxf4": {"float4_e2m1fn": 1}, "mxf4nvf4": {"float4_e2m1fn": 1},
}  # fmt: skip
"""By kind: the code of each type in an instruction descriptor."""
BYTES = {"f16": 2, "tf32": 4, "f8f6f4": 1, "mxf8f6f4": 1, "i8": 1, "mxf4": 1, "mxf4nvf4": 1}
"""Of what one unit of the walk holds; two values of e2m1 in the mxf4 kinds."""
STEPS = {"f16": 16, "tf32": 8, "f8f6f4": 32, "mxf8f6f4": 32, "i8": 32, "mxf4": 64, "mxf4nvf4": 64}
NARROW = {"e2m1": "float4_e2m1fn", "e2m3": "float6_e2m3fn", "e3m2": "float6_e3m2fn"}
PACKINGS = {4: ".b8x16.b4x16_p64", 6: ".b8x16.b6x16_p32"}
"""How numbers of so many bits lie in shared memory: as tcgen05.cp takes them."""
ACCUMULATORS = {"float16": 0, "float32": 1, "int32": 2}
OPCODE = re.compile(r"tcgen05\.mma(\.ws)?\.cta_group::([12])\.kind::(\w+)(\.block_scale(?:\.scale_vec::(\d)X|\.block(\d+))?)?")


@dataclass(frozen=True)
class Form:
    """What the spelling says."""

    kind: str
    stationary: bool
    group: int
    scales: int
    """Scales along K, 0 without."""
    depth: int = 0
    """K."""

    @classmethod
    def read(cls, opcode: str, depth: int = 0) -> Form:
        found = OPCODE.fullmatch(opcode)
        if not found or (found[1] and (found[2] == "2" or found[4])):
            raise UnreadableError(opcode)
        kind = found[3]
        scales = int(found[5] or (2 if kind == "mxf4" else 1)) if found[4] else 0
        if found[6]:
            scales = STEPS[kind] // int(found[6])
        if depth == 96 and kind.startswith("mxf4"):
            return cls(kind, bool(found[1]), int(found[2]), scales * 3 // 2, depth)
        return cls(kind, bool(found[1]), int(found[2]), scales, STEPS[kind])


def encode_instruction(form: Form, document: Document, ids: Sequence[int]) -> int:
    """The 32 bits of an instruction descriptor."""
    fields: Mapping[str, Any] = document.parameters
    m, n, k = fields["instruction_shape"]
    if k != form.depth:
        raise UnreadableError(f"K = {k}")
    d, a, b = document.operands[:3]
    formats = FORMATS[form.kind]
    codes = [formats[NARROW.get(fields.get(f"{name}_format"), o.dtype)] for name, o in (("a", a), ("b", b))]
    bits = codes[0] << 7 | codes[1] << 10 | bool(fields.get("neg_a")) << 13 | bool(fields.get("neg_b")) << 14
    bits |= (fields.get("a_major", "k") == "mn") << 15 | (fields.get("b_major", "k") == "mn") << 16 | n // 8 << 17
    if form.scales:
        return bits | ids[1] << 4 | (document.operands[3].dtype == "float8_e8m0fnu") << 23 | m // 128 << 27 | ids[0] << 29 | (k == 96) << 31
    return bits | ACCUMULATORS[d.dtype] << 4 | bool(fields.get("sat_d")) << 3 | m // 16 << 24


@dataclass(frozen=True)
class Instruction:
    """The same, decoded as the hardware reads it."""

    kind: str
    types: tuple[str, str]
    signs: tuple[int, int]
    majors: tuple[str, str]
    m: int
    n: int
    result: str
    ids: tuple[int, int]
    scale: str
    saturate: bool

    @classmethod
    def decode(cls, bits: int, form: Form) -> Instruction:
        names = {code: name for name, code in FORMATS[form.kind].items()}
        majors = "mn" if bits >> 15 & 1 else "k", "mn" if bits >> 16 & 1 else "k"
        signs = -1 if bits >> 13 & 1 else 1, -1 if bits >> 14 & 1 else 1
        types, n = (names[bits >> 7 & 7], names[bits >> 10 & 7]), (bits >> 17 & 0x3F) * 8
        if form.scales:
            scale = "float8_e8m0fnu" if bits >> 23 & 1 else "float8_e4m3fn"
            return cls(
                form.kind,
                types,
                signs,
                majors,
                (bits >> 27 & 3) * 128,
                n,
                "float32",
                (bits >> 29 & 3, bits >> 4 & 3),
                scale,
                saturate=False,
            )
        result = {code: name for name, code in ACCUMULATORS.items()}[bits >> 4 & 3]
        return cls(form.kind, types, signs, majors, (bits >> 24 & 0x1F) * 16, n, result, (0, 0), "", saturate=bool(bits >> 3 & 1))


def numbers(raw: Numbers, dtype: str, kind: str) -> Numbers:
    """[..., byte of a row] -> [..., K]: the values of a matrix; tf32 has no low bits."""
    raw = np.ascontiguousarray(raw, dtype=np.uint8)
    if kind in ("mxf4", "mxf4nvf4"):
        return decoded(np.stack([raw & 15, raw >> 4], axis=-1).reshape(*raw.shape[:-1], -1), dtype)
    if kind == "tf32":
        return decoded(raw.view("<u4") & 0xFFFFE000, "float32")
    if bits_of(dtype) < 8:
        return decoded(raw >> 2 & 15 if bits_of(dtype) == 4 else raw & 63, dtype)
    return decoded(raw.view(f"<u{BYTES[kind]}"), dtype)


def data_path(rows: int, columns: int, form: Form) -> tuple[Numbers, Numbers]:
    """[row, column] -> lane, column of cells; rows of 64 and 128 where Triton has a table stand as it says."""
    image = accumulator(rows, columns, group=form.group, stationary=form.stationary).image()
    lane, column = image % COLUMN, image // COLUMN
    if form.group == 1 and rows in (64, 128) and not (form.stationary and rows == 64):
        lane = np.broadcast_to(tables.row_lanes(rows)[:, None], lane.shape)
    return lane, column


class Product:
    """One instruction: its descriptors and addresses are numbers; `pair` are the CTAs that take part."""

    def __init__(self, machine: Machine, form: Form, instruction: int, pair: Sequence[int]) -> None:
        self.machine, self.form, self.pair = machine, form, pair
        self.decoded = Instruction.decode(instruction, form)
        self.rows, self.columns = self.decoded.m // form.group, self.decoded.n
        legal = {1: (32, 64, 128) if form.stationary else (64, 128), 2: (128, 256)}[form.group]
        if (
            self.decoded.m not in legal
            or not self.columns
            or self.columns % (8 * form.group)
            or (form.stationary and self.columns not in (64, 128, 256))
        ):
            raise FaultError("no such shape")
        self.lane, self.column = data_path(self.rows, self.columns, form)

    def from_shared(self, descriptor: int, which: int, across: int, cta: int) -> Numbers:
        """[M or N, K] of an operand in shared memory."""
        kind = self.form.kind
        width = BYTES[kind]
        along = self.form.depth // (2 if kind.startswith("mxf4") else 1)
        start = walk(descriptor, self.decoded.majors[which], width, across, along)[..., None] + np.arange(width)
        raw, dtype = self.machine.shared_bytes(cta, start).reshape(across, -1), self.decoded.types[which]
        if bits_of(dtype) < 8 and not kind.startswith("mxf4"):
            raw = decompressed(raw, PACKINGS[bits_of(dtype)])
        return numbers(raw, dtype, kind)

    def from_tensor(self, address: int, base: int, cta: int) -> Numbers:
        """[lane, K] of A in tensor memory, 32 bytes of a row in eight cells (16 bits: two of a cell), 48 of K 96 in twelve."""
        lane, column, cells = address >> 16, address & 0xFFFF, 12 if self.form.depth == 96 else 8
        if self.decoded.majors[0] != "k" or lane != base or column + cells > COLUMNS:
            raise FaultError("A where it cannot be read")
        return numbers(
            np.ascontiguousarray(self.machine.tmem[cta, :, column : column + cells]).view(np.uint8), self.decoded.types[0], self.form.kind
        )

    def scale(self, address: int, which: int, rows: int, slab: int, cta: int) -> Numbers:
        """[row, scale] as the lanes of one partition see them."""
        count, identity = self.form.scales, self.decoded.ids[which]
        if identity + count > 4:
            raise FaultError("scales that cross a cell")
        image = SCALES(*np.indices((rows, count), dtype=np.int64), np.full((rows, count), slab))
        lane, byte = image % COLUMN, image // COLUMN + (address & 0xFFFF) * 4 + identity
        if address >> 16 or byte.max() >= COLUMNS * 4:
            raise FaultError("outside tensor memory")
        return decoded(self.machine.tmem[cta].view(np.uint8).reshape(LANES, -1)[lane, byte], self.decoded.scale)

    def run(self, d: int, a: int, b: int, scales: Sequence[int], *, a_in_tensor: bool, accumulate: bool, masked: Sequence[int]) -> None:
        """D = A B (+ D) in every CTA; all is read before anything is written."""
        base = d >> 16
        scattered = self.rows == 64 and self.form.group == 1 and not self.form.stationary
        if base not in ((0, 16) if scattered else (0,)) or (d & 0xFFFF) + int(self.column.max()) >= COLUMNS:
            raise FaultError("D where it cannot be")
        share = self.columns // self.form.group
        right = np.concatenate([self.from_shared(b, 1, share, cta) for cta in self.pair]) * self.decoded.signs[1]
        lane, column = self.lane + base, self.column + (d & 0xFFFF)
        results = []
        for cta in self.pair:
            if a_in_tensor:
                by_lane = self.from_tensor(a, base, cta)
            else:
                left = self.from_shared(a, 0, self.rows, cta)
            total = np.zeros(lane.shape, dtype=right.dtype)
            for path in np.unique(lane[0]):  # the columns of one bank, whose rows stand in the same lanes
                here = lane[0] == path
                own = by_lane[lane[:, here][:, 0]] if a_in_tensor else left
                total[:, here] = self.multiplied(
                    own * self.decoded.signs[0], right[here], lane[:, here][:, 0], np.flatnonzero(here), scales, cta
                )
            results.append(total + self.before(cta, lane, column) if accumulate else total)
        for cta, total in zip(self.pair, results, strict=True):
            self.put(cta, lane, column, total, masked)

    def multiplied(self, left: Numbers, right: Numbers, lanes: Numbers, columns: Numbers, scales: Sequence[int], cta: int) -> Numbers:
        """[row, column] of one bank."""
        if not scales:
            return left @ right.T
        total = np.zeros((len(left), len(right)))
        step = left.shape[1] // self.form.scales
        for slab in np.unique(lanes // 32):
            rows = lanes // 32 == slab
            of_a = self.scale(scales[0], 0, self.rows, int(slab), cta)[rows]
            of_b = self.scale(scales[1], 1, self.columns, int(slab), cta)[columns]
            for s in range(self.form.scales):
                part = slice(s * step, (s + 1) * step)
                total[rows] += (left[rows, part] * of_a[:, s : s + 1]) @ (right[:, part] * of_b[:, s : s + 1]).T
        return total

    def before(self, cta: int, lane: Numbers, column: Numbers) -> Numbers:
        raw = self.machine.tmem[cta][lane, column]
        return decoded(raw & 0xFFFF if self.decoded.result == "float16" else raw, self.decoded.result)

    def put(self, cta: int, lane: Numbers, column: Numbers, total: Numbers, masked: Sequence[int]) -> None:
        """Writes the lanes that no mask disables; above a 16-bit result anything may stand."""
        if self.decoded.saturate:
            total = np.clip(total, -(1 << 31), (1 << 31) - 1)
        raw = encoded(total, self.decoded.result).astype(np.uint32)
        if self.decoded.result == "float16":
            raw |= self.machine.noise.integers(0, 1 << 16, raw.shape, dtype=np.uint32) << 16
        if masked:
            words = np.array(masked, dtype=np.int64).reshape(self.form.group, 4)[cta % self.form.group]
            enabled = (words[lane // 32] >> (lane % 32)) & 1 == 0
            raw = np.where(enabled, raw, self.machine.tmem[cta][lane, column])
        self.machine.tmem[cta][lane, column] = raw


def multiply(machine: Machine, document: Document, issue: Issue) -> None:
    """A call: repeats over M, N and K in this order, the first step along K without D unless `accum`."""
    no_group(issue, "product")
    fields = document.parameters
    form = Form.read(document.opcode, fields["instruction_shape"][2])
    d, a, b, *scaled = document.operands
    if d.space != "tmem" or b.space != "shared" or bool(scaled) != bool(form.scales) or len(document.operands) not in (3, 5):
        raise UnreadableError("operands in other spaces")
    if "disable_output_lane" in fields and (form.stationary or form.scales or len(fields["disable_output_lane"]) != 4 * form.group):
        raise UnreadableError("a mask that this form does not have")
    pair = [issue.cta] if form.group == 1 else [issue.cta & ~1, issue.cta | 1]
    if pair[-1] >= machine.ctas:
        raise FaultError("no pair")
    accumulates = fields.get("accum", True)
    if isinstance(accumulates, str):
        raise UnreadableError("accum is a truth value here")
    for mi, ni, ki in repeats((*d.shape[:2], a.shape[1])):
        at = {"d": [np.asarray(mi), np.asarray(ni)], "a": [np.asarray(mi), np.asarray(ki)], "b": [np.asarray(ni), np.asarray(ki)]}
        starts = [taddr(o, at[key], issue.values) for o, key in zip(scaled, "ab", strict=bool(scaled))] if scaled else []
        bits = encode_instruction(form, document, [byte % 4 for _, byte in starts])
        left = (
            cell(taddr(a, at["a"], issue.values))
            if a.space == "tmem"
            else start_of(machine, a, fields["a_descriptor"], at["a"], issue.values)
        )
        right = start_of(machine, b, fields["b_descriptor"], at["b"], issue.values)
        Product(machine, form, bits, pair).run(
            cell(taddr(d, at["d"], issue.values)), left, right, [lane << 16 | byte // 4 for lane, byte in starts],
            a_in_tensor=a.space == "tmem", accumulate=accumulates or ki > 0, masked=fields.get("disable_output_lane", ()),
        )  # fmt: skip
