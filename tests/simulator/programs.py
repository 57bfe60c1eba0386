"""GEMMs as call documents: TMA loads into a ring of stages, tcgen05.mma (and .cp) on them, tcgen05.ld into registers, st.global.

A program is a list of (document, symbols); what is symbolic is the step along K (`kt`) and the stage of the ring (`stage`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from tests.simulator.documents import Document, bits_of
from tests.simulator.machine import Machine, decoded, encoded
from tests.simulator.run import carry_out

Call = dict[str, Any]
TMA = "cp.async.bulk.tensor.{}d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
ONE = "warpid == 0 and laneid == 0"
SPANS = {0: 16, 1: 32, 2: 64, 3: 128, 4: 128}
STEPS = {"f16": 16, "tf32": 8, "f8f6f4": 32, "i8": 32, "mxf8f6f4": 32, "mxf4": 64, "mxf4nvf4": 64}
RESULTS = {16: "float16", 32: "float32"}


def listed(values: Any) -> str:
    return f"({','.join(map(str, values))})"


def text(factors: list[tuple[int, int | str]]) -> str:
    """S[...] of (extent, stride) pairs."""
    return f"S[{listed(n for n, _ in factors)}:{listed(s for _, s in factors)}]"


def pattern(swizzle: int, bits: int) -> str:
    """The swizzle of a layout that counts elements of so many bits."""
    if not swizzle:
        return ""
    keep = (16 * 8 // bits).bit_length() - 1
    return f"Swizzle({keep + 1},2,2) o " if swizzle == 4 else f"Swizzle({keep},{swizzle},3) o "


@dataclass(frozen=True)
class Matrix:
    """A or B: its type, major, swizzle, and where the product reads it."""

    dtype: str
    major: str = "k"
    swizzle: int = 3
    planes: bool = False
    """Whether one load brings several spans as a box of rank 3; otherwise a load repeats."""


@dataclass(frozen=True)
class Gemm:
    """One configuration. m and n are those of an instruction, summed over the CTAs of a pair; `across` repeats it along M and N."""

    name: str
    kind: str
    m: int
    n: int
    a: Matrix
    b: Matrix
    result: str = "float32"
    across: tuple[int, int] = (1, 1)
    tiles: int = 3
    stages: int = 2
    group: int = 1
    stationary: bool = False
    a_in_tensor: bool = False
    shape: str = "32x32b"
    """Of tcgen05.ld."""
    reversed_sign: bool = False
    scales: int = 0
    """Of a row in one instruction."""
    scale: str = "float8_e8m0fnu"

    @property
    def k(self) -> int:
        return STEPS[self.kind]

    @property
    def steps(self) -> int:
        """Instructions along K in a stage."""
        spans = [SPANS[x.swizzle] * 8 // bits_of(x.dtype) for x in (self.a, self.b) if x.major == "k" and x.swizzle]
        return max(1, min([64 * 16 // bits_of(self.a.dtype), *spans]) // self.k)

    @property
    def depth(self) -> int:
        """Along K, in a stage."""
        return self.steps * self.k

    @property
    def blocks(self) -> int:
        """Blocks of four scales along K, in a stage."""
        return self.steps * self.scales // 4

    @property
    def rows(self) -> int:
        """Of one CTA, in one instruction."""
        return self.m // self.group

    @property
    def opcode(self) -> str:
        scale = f".block_scale.scale_vec::{self.scales}X" if self.scales else ""
        return f"tcgen05.mma{'.ws' if self.stationary else ''}.cta_group::{self.group}.kind::{self.kind}{scale}"

    def call(
        self, name: str, opcode: str, operands: list[Call], parameters: Call, *, scope: str = "thread", guard: str | None = ONE
    ) -> Call:
        symbols = [{"name": "kt", "min": 0, "max": self.tiles - 1}, {"name": "stage", "min": 0, "max": self.stages - 1}]
        used = [s for s in symbols if re.search(rf"\b{s['name']}\b", json.dumps([operands, parameters]))]
        launch = {"block": [128], "cluster": [2, 1, 1] if self.group == 2 else None}
        found: Call = {"schema": "tilecheck/call@1", "id": f"{self.name}/{name}", "opcode": opcode, "scope": scope, "launch": launch}
        found |= {"symbols": used, "operands": operands, "parameters": parameters}
        return found | ({"guard": guard} if guard else {})


@dataclass
class Program:
    """Documents by name, the order in which they are carried out, what global memory holds at first, and the product."""

    gemm: Gemm
    documents: dict[str, Call]
    steps: list[tuple[str, dict[str, int]]]
    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    product: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def result(self, changed: Mapping[str, Call] | None = None, seed: int = 1) -> np.ndarray:
        """C in global memory after all calls."""
        calls = {**self.documents, **(changed or {})}
        documents = {name: Document(call) for name, call in calls.items()}
        machine = Machine(self.gemm.group, seed)
        machine.allocate(documents.values())
        for tensor, raw in self.inputs.items():
            content = machine.tensors[tensor].content
            content[: raw.nbytes] = np.ascontiguousarray(raw).view(np.uint8).reshape(-1)
        for name, symbols in self.steps:
            carry_out(machine, documents[name], symbols)
        count = self.product.size * bits_of(self.gemm.result) // 8
        raw = machine.tensors["C"].content[:count].view(f"<u{bits_of(self.gemm.result) // 8}")
        return decoded(raw, self.gemm.result).reshape(self.product.shape)


@dataclass(frozen=True)
class Staged:
    """A or B in shared memory: `rows` of M or N and `depth` of K for each CTA and stage."""

    gemm: Gemm
    name: str
    matrix: Matrix
    rows: int
    """Along M or N in one instruction, of one CTA."""
    repeats: int

    @property
    def bits(self) -> int:
        return bits_of(self.matrix.dtype)

    @property
    def span(self) -> int:
        """Elements in a line."""
        return SPANS[self.matrix.swizzle] * 8 // self.bits

    @property
    def lines(self) -> int:
        return self.rows * self.repeats if self.matrix.major == "k" else self.gemm.depth

    @property
    def planes(self) -> int:
        """How many spans lie side by side along the inner axis."""
        return -(-self.inner // self.span)

    @property
    def inner(self) -> int:
        return self.gemm.depth if self.matrix.major == "k" else self.rows * self.repeats

    @property
    def box(self) -> int:
        """Elements of a line that are filled: a box may be narrower than its span."""
        return min(self.span, self.inner)

    @property
    def stage(self) -> int:
        return self.planes * self.lines * self.span

    def operand(self, factors: list[tuple[int, int]], shape: list[int], begin: list[Any], pairs: int = 1) -> Call:
        """`pairs`: elements of the matrix in one of the view, two where a load takes 4-bit values for bytes."""
        layout = pattern(self.matrix.swizzle, self.bits * pairs) + text([(self.gemm.stages, self.stage // pairs), *factors])
        view = [{"op": "slice", "begin": begin, "extent": [1, *[None] * (len(shape) - 1)]}]
        size = self.gemm.stages * self.stage * self.bits // 8
        period = {0: 128, 1: 256, 2: 512, 3: 1024, 4: 512}[self.matrix.swizzle]
        found: Call = {
            "name": self.name,
            "tensor": f"s{self.name}",
            "space": "shared",
            "dtype": self.matrix.dtype if pairs == 1 else "uint8",
            "shape": shape,
            "layout": layout,
        }
        return found | {"align": period, "size_bytes": size, "view": view}

    def load(self) -> Call:
        """Both CTAs of a pair load their own half of the rows."""
        pairs = 8 // self.bits if self.bits < 8 else 1
        gemm, planes, lines, span, box = self.gemm, self.planes, self.lines, self.span // pairs, self.box // pairs
        total, depth = self.rows * self.repeats * gemm.group, gemm.depth // pairs
        whole = [total, depth * gemm.tiles] if self.matrix.major == "k" else [depth * gemm.tiles, total]
        source: Call = {
            "name": f"{self.name}g",
            "space": "global",
            "dtype": self.matrix.dtype if pairs == 1 else "uint8",
            "shape": whole,
            "layout": text([(whole[0], whole[1]), (whole[1], 1)]),
        }
        source |= {"align": 128}
        along, mine = f"kt*{depth}", f"cbx*{self.rows * self.repeats}" if gemm.group == 2 else 0
        coords: list[Any] = [mine, along] if self.matrix.major == "k" else [along, mine]
        at: Call = {"swizzle": self.matrix.swizzle, "mbar": "shared"}
        factors = [(planes, lines * span), (lines, span), (box, 1)]
        image = [gemm.stages, planes, lines, box]
        target = self.operand(factors, image, ["stage", 0, 0, 0], pairs)
        if self.matrix.planes:
            source["view"] = [{"op": "rearrange", "pattern": "r (p s) -> p r s", "sizes": {"s": box}}]
            inner = coords[1]
            chunk = f"kt*{planes}" if inner == along else f"cbx*{planes}" if inner else 0
            target["view"].append({"op": "reshape", "shape": image[1:]})
            return gemm.call(
                f"load {self.name}", TMA.format(3), [target, source], at | {"box": [planes, lines, box], "coords": [chunk, coords[0], 0]}
            )
        steps = [[0, 0], [0, box]]
        return gemm.call(
            f"load {self.name}", TMA.format(2), [target, source], at | {"box": [lines, box], "coords": coords, "coord_steps": steps}
        )

    def read(self) -> tuple[Call, list[int]]:
        """(repeat, step, M or N, K) and the descriptor."""
        gemm, lines, span, bits = self.gemm, self.lines, self.span, self.bits
        plane, k = lines * span, gemm.k
        shape = [self.repeats, gemm.steps, self.rows, k]
        line = span * bits // 8
        if self.matrix.major == "k" and self.matrix.swizzle:
            factors, descriptor = (
                [(self.repeats, self.rows * span), (gemm.steps, k), (self.rows, span), (k, 1)],
                [16, 8 * line, self.matrix.swizzle],
            )
        elif self.matrix.major == "k":
            chunks = k // span
            factors = [(self.repeats, self.rows * span), (gemm.steps, chunks * plane), (self.rows, span), (chunks, plane), (span, 1)]
            descriptor = [plane * bits // 8, 8 * line, 0]
        else:
            chunks = self.rows // span
            factors = [(self.repeats, chunks * plane), (gemm.steps, k * span), (chunks, plane), (span, 1), (k, span)]
            lead, stride = plane * bits // 8, (4 if self.matrix.swizzle == 4 else 8) * line
            descriptor = [lead, stride, self.matrix.swizzle] if self.matrix.swizzle else [stride, lead, 0]
        found = self.operand(factors, [gemm.stages, *shape], ["stage", 0, 0, 0, 0])
        found["view"].append({"op": "reshape", "shape": shape})
        return found, descriptor


def random_matrix(noise: np.random.Generator, shape: list[int], dtype: str) -> np.ndarray:
    low = 0 if dtype.startswith("uint") else -3
    return noise.integers(low, 4, shape).astype(np.float64)


def build(gemm: Gemm) -> Program:
    """All documents of a GEMM, with random matrices."""
    from tests.simulator.epilogue import registers_to_global, scales_to_tensor, through_tensor

    sides = {
        "A": Staged(gemm, "A", gemm.a, gemm.rows, gemm.across[0]),
        "B": Staged(gemm, "B", gemm.b, gemm.n // gemm.group, gemm.across[1]),
    }
    documents: dict[str, Call] = {}
    (a, a_fields), (b, b_fields) = sides["A"].read(), sides["B"].read()
    parameters: Call = {
        "instruction_shape": [gemm.m, gemm.n, gemm.k],
        "b_descriptor": b_fields,
        "a_major": gemm.a.major,
        "b_major": gemm.b.major,
    }
    if gemm.kind == "tf32":
        parameters |= {"a_format": "tf32", "b_format": "tf32"}
    if gemm.reversed_sign:
        parameters["neg_a"] = True
    documents["load B"] = sides["B"].load()
    if gemm.a_in_tensor:
        documents |= through_tensor(gemm)
        a = documents.pop("A")
    else:
        documents["load A"] = sides["A"].load()
        parameters["a_descriptor"] = a_fields
    operands = [accumulated(gemm), a, b]
    if gemm.scales:
        documents |= scales_to_tensor(gemm)
        operands += [documents.pop("SFA"), documents.pop("SFB")]
    guard = f"cbx == 0 and {ONE}" if gemm.group == 2 else ONE
    for name, accumulates in (("first", False), ("next", True)):
        documents[f"mma {name}"] = gemm.call(f"mma {name}", gemm.opcode, operands, parameters | {"accum": accumulates}, guard=guard)
    loop = list(documents)
    documents |= registers_to_global(gemm)
    steps: list[tuple[str, dict[str, int]]] = []
    for kt in range(gemm.tiles):
        symbols = {"kt": kt, "stage": kt % gemm.stages}
        steps += [(name, symbols) for name in loop if not name.startswith("mma")]
        steps.append(("mma next" if kt else "mma first", symbols))
    steps += [(name, {}) for name in documents if name not in loop]
    program = Program(gemm, documents, steps)
    fill(program)
    return program


def accumulated(gemm: Gemm) -> Call:
    """D: (M repeat, N repeat, row, column); 16-bit results take every second element of a cell. Repeats along M go on to the right, too."""
    bits = bits_of(gemm.result)
    cell = 32 // bits
    step = f"{cell}@TCol"
    columns = columns_of(gemm)
    path: list[tuple[int, str]]
    if gemm.rows == 32:
        path = [(32, "1@TLane"), (4, "32@TLane"), (gemm.n // 4, step)]
    elif gemm.rows == 64 and (gemm.stationary or gemm.group == 2):
        path = [(64, "1@TLane"), (2, "64@TLane"), (gemm.n // 2, step)]
    elif gemm.rows == 64:
        path = [(4, "32@TLane"), (16, "1@TLane"), (gemm.n, step)]
    else:
        path = [(128, "1@TLane"), (gemm.n, step)]
    repeats = [(gemm.across[0], f"{gemm.across[1] * columns * cell}@TCol"), (gemm.across[1], f"{columns * cell}@TCol")]
    return {
        "name": "D", "tensor": "T", "space": "tmem", "dtype": gemm.result, "shape": [*gemm.across, gemm.rows, gemm.n], "layout": text([*repeats, *path]),
    }  # fmt: skip


def columns_of(gemm: Gemm) -> int:
    """Columns of tensor memory that one instruction's D takes."""
    if gemm.rows == 32:
        return gemm.n // 4
    return gemm.n // 2 if gemm.rows == 64 and (gemm.stationary or gemm.group == 2) else gemm.n


def fill(program: Program) -> None:
    """Random matrices and their product."""
    gemm = program.gemm
    noise = np.random.default_rng(prod(map(ord, gemm.name)) % (1 << 32))
    m, n, k = gemm.m * gemm.across[0], gemm.n * gemm.across[1], gemm.depth * gemm.tiles
    a, b = random_matrix(noise, [m, k], gemm.a.dtype), random_matrix(noise, [n, k], gemm.b.dtype)
    for name, matrix, values in (("Ag", gemm.a, a), ("Bg", gemm.b, b)):
        raw = encoded(values if matrix.major == "k" else values.T, matrix.dtype)
        program.inputs[name] = raw[:, ::2] | raw[:, 1::2] << 4 if bits_of(matrix.dtype) == 4 else raw
    if gemm.scales:
        length = gemm.k // gemm.scales
        for name, rows, values, each in (("SFAg", m, a, gemm.m), ("SFBg", n, b, gemm.n)):
            exponents = noise.integers(-2, 3, [rows, k // length])
            np.multiply(values, np.repeat(2.0**exponents, length, axis=1), out=values)
            raw = (exponents + 127).astype(np.uint8) if gemm.scale == "float8_e8m0fnu" else encoded(2.0**exponents, gemm.scale)
            # [tile, repeat, four scales, 128 rows, row % 32, row // 32, scale]: tcgen05.cp brings 32 rows of 16 bytes to 32 lanes of 4 cells
            blocked = raw.reshape(rows // each, each // 128, 4, 32, gemm.tiles, gemm.blocks, 4)
            program.inputs[name] = blocked.transpose(4, 0, 5, 1, 3, 2, 6)
    program.product = a @ b.T * (-1 if gemm.reversed_sign else 1)
