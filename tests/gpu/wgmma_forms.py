"""Documents of wgmma.mma_async forms: D and A as the warpgroup holds them, matrices in shared memory in every canonical layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from tests.gpu.documents import Json
from tilecheck.contracts.wgmma import BITS, GRAMMAR, ROWS, STORED, shape_of

SPANS = {0: 16, 1: 32, 2: 64, 3: 128}
"""Bytes of a line by swizzle."""
PERIODS = {0: 128, 1: 256, 2: 512, 3: 1024}
Factor = tuple[int, str | int]


def text(factors: Sequence[Factor], offset: int = 0) -> str:
    """S[...] of (extent, stride) pairs."""
    shape, strides = ",".join(str(extent) for extent, _ in factors), ",".join(str(stride) for _, stride in factors)
    return f"S[({shape}):({strides})]" + (f" + {offset}" if offset else "")


def registers(
    name: str, dtype: str, group: Sequence[Factor], repeats: Sequence[int], rows: Sequence[Factor], last: Sequence[Factor], size: int
) -> Json:
    """A view of registers: repeats of `size` slots in row-major order, then 64 rows and the last axis."""
    steps = [(extent, size * prod(repeats[k + 1 :])) for k, extent in enumerate(repeats)]
    shape = [*(extent for extent, _ in group), *repeats, ROWS, prod(extent for extent, _ in last)]
    return {"name": name, "space": "register", "dtype": dtype, "shape": shape, "layout": text([*group, *steps, *rows, *last])}


def sums(kind: str, n: int, repeats: Sequence[int], group: Sequence[Factor] = ()) -> Json:
    """D, every step with slots of its own."""
    if kind == "f16":
        rows: list[Factor] = [(4, "1@wid_in_wg"), (2, 1), (8, "4@laneid")]
        return registers("D", "uint32", group, repeats, rows, [(n // 8, 2), (4, "1@laneid")], n // 4)
    rows = [(4, "1@wid_in_wg"), (2, 2), (8, "4@laneid")]
    dtype = "float32" if kind == "f32" else "int32"
    return registers("D", dtype, group, repeats, rows, [(n // 8, 4), (4, "1@laneid"), (2, 1)], n // 2)


def fragment(repeats: Sequence[int], group: Sequence[Factor] = ()) -> Json:
    """A in registers."""
    rows: list[Factor] = [(4, "1@wid_in_wg"), (2, 1), (8, "4@laneid")]
    return registers("A", "uint32", group, repeats, rows, [(2, 2), (4, "1@laneid")], 4)


def words(repeats: Sequence[int], group: Sequence[Factor] = ()) -> Json:
    """The metadata of a sparse A, a word in every lane."""
    steps = [(extent, prod(repeats[k + 1 :])) for k, extent in enumerate(repeats)]
    shape = [*(extent for extent, _ in group), *repeats, 128]
    return {
        "name": "E",
        "space": "register",
        "dtype": "uint32",
        "shape": shape,
        "layout": text([*group, *steps, (4, "1@wid_in_wg"), (32, "1@laneid")]),
    }


@dataclass(frozen=True, slots=True)
class Stored:
    """How a matrix lies in shared memory. ldo, sdo: in bytes, 0 for compact. start: bytes, of the part that is read, behind the base, before the swizzle."""

    major: str = "k"
    swizzle: int = 3
    ldo: int = 0
    sdo: int = 0
    start: int = 0

    @property
    def name(self) -> str:
        """In words."""
        gaps = f" gaps {self.ldo}/{self.sdo}" if self.ldo or self.sdo else ""
        return f"{self.major} swizzle {self.swizzle}{gaps}{f' from {self.start}' if self.start else ''}"


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix of `rows` x `depth` elements of `bits` bits in steps of `step` = (rows, depth), stored so."""

    stored: Stored
    bits: int
    rows: int
    depth: int
    step: tuple[int, int]

    @property
    def elements(self) -> int:
        """The elements that fill a line."""
        return 8 * SPANS[self.stored.swizzle] // self.bits

    def strides(self) -> tuple[int, int]:
        """(ldo, sdo) in bytes: the ones that are given, else those of a compact matrix."""
        span, s = SPANS[self.stored.swizzle], self.stored
        if s.major == "k":
            sdo = s.sdo or 8 * span
            return s.ldo or (-(-self.rows // 8) * sdo if s.swizzle == 0 else 16), sdo
        if s.swizzle:  # spans of rows, then groups of eight along K
            sdo = s.sdo or 8 * span
            return s.ldo or -(-self.depth // 8) * sdo, sdo
        ldo = s.ldo or 128
        return ldo, s.sdo or -(-self.depth // 8) * ldo

    def factors(self, axis: str, extent: int) -> list[Factor]:
        """The factors of the rows or of the depth, in elements."""
        (ldo, sdo), span, e = self.strides(), SPANS[self.stored.swizzle], self.elements
        major = self.stored.major
        if (axis == "row") == (major == "k"):  # lines
            far = ldo if major == "mn" and not self.stored.swizzle else sdo
            return [(extent // 8, 8 * far // self.bits), (8, 8 * span // self.bits)]
        far = sdo if major == "mn" and not self.stored.swizzle else ldo
        if major == "k" and self.stored.swizzle:
            far = -(-self.rows // 8) * sdo  # the next matrix of spans
        return [(extent // e, 8 * far // self.bits), (e, 1)] if extent > e else [(extent, 1)]

    def document(self, name: str, dtype: str, group: Sequence[int] = (), *, more: Json | None = None) -> Json:
        """The operand: group axes of the same matrix, steps of rows and of depth, an instruction; rows that fill no whole line are cut from some that do."""
        if self.stored.major == "mn" and self.rows % self.elements and self.rows > self.elements:
            assert self.step[0] == self.rows
            whole = -(-self.rows // self.elements) * self.elements
            document = replace(self, rows=whole, step=(whole, self.step[1])).document(name, dtype, group, more=more)
            cut_out: Json = {"op": "slice", "begin": [0] * (len(group) + 4), "extent": [None] * (len(group) + 2) + [self.rows, None]}
            return {**document, "view": [cut_out]}
        split = {"row": cut(self.factors("row", self.rows), self.step[0]), "depth": cut(self.factors("depth", self.depth), self.step[1])}
        outer = [*split["row"][0], *split["depth"][0]]
        layout = text(
            [*((extent, 0) for extent in group), *outer, *split["row"][1], *split["depth"][1]], 8 * self.stored.start // self.bits
        )
        if self.stored.swizzle:
            layout = f"Swizzle({(128 // self.bits).bit_length() - 1},{self.stored.swizzle},3) o {layout}"
        shape = [*group, self.rows // self.step[0], self.depth // self.step[1], *self.step]
        return {
            "name": name,
            "space": "shared",
            "dtype": dtype,
            "shape": shape,
            "layout": layout,
            "align": PERIODS[self.stored.swizzle],
            **(more or {}),
        }

    def descriptor(self) -> list[int]:
        """[ldo_bytes, sdo_bytes, swizzle]."""
        return [*self.strides(), self.stored.swizzle]


def cut(factors: Sequence[Factor], inner: int) -> tuple[list[Factor], list[Factor]]:
    """Factors cut where the last `inner` coordinates begin."""
    rest, left, right = inner, list(factors), list[Factor]()
    while rest > 1:
        extent, stride = left.pop()
        if extent <= rest:
            assert rest % extent == 0
            right.insert(0, (extent, stride))
            rest //= extent
            continue
        assert extent % rest == 0
        right.insert(0, (rest, stride))
        left.append((extent // rest, int(stride) * rest))
        rest = 1
    return left or [(1, 0)], right or [(1, 0)]


def opcode_of(kind: str, n: int, d: str, b: str = "", *, sparse: bool = False, satfinite: bool = False) -> str:
    """The spelling of a form."""
    depth = 256 // BITS[kind] * (2 if sparse else 1)
    tail = ".and.popc" if kind == "b1" else ""
    full = ".satfinite" if satfinite else ""
    return f"wgmma.mma_async{'.sp' if sparse else ''}.sync.aligned.m64n{n}k{depth}{full}.{d}.{kind}.{b or kind}{tail}"


def wgmma_document(
    opcode: str, a: Stored | None = None, b: Stored | None = None, steps: tuple[int, int, int] = (1, 1, 1), **rest: object
) -> Json:
    """A call at warpgroup scope; a: None for registers; steps: of m, n and k; rest: what replaces parts of the document, `parameters` added to."""
    q = GRAMMAR.read(opcode)
    assert isinstance(q, dict), q
    (n, k), (ms, ns, ks) = shape_of(q["shape"]), steps
    each = 8 if q["a"] == "b1" else 1
    bits, held = BITS[q["a"]] * each, k // 2 if q["sparse"] else k
    b = b or Stored()
    right = Matrix(b, bits, ns * n, ks * k // each, (n, k // each))
    parameters: Json = {"b_descriptor": right.descriptor()}
    operands = [sums(q["d"], n, (ms, ns))]
    if a is None:
        operands.append(fragment((ms, ks)))
    else:
        left = Matrix(a, bits, ms * ROWS, ks * held // each, (ROWS, held // each))
        parameters["a_descriptor"] = left.descriptor()
        operands.append(left.document("A", STORED[q["a"]][0]))
    operands.append(right.document("B", STORED[q["b"]][0]))
    if q["a"] in {"f16", "bf16"}:
        parameters |= {"b_major": b.major, **({} if a is None else {"a_major": a.major})}
    if q["sparse"]:
        operands.append(words((ms, ks)))
        parameters["sp_sel"] = 0
    given = rest.pop("parameters", {})
    assert isinstance(given, dict)
    document: Json = {
        "schema": "tilecheck/call@1",
        "opcode": opcode,
        "scope": "warpgroup",
        "operands": operands,
        "parameters": {**parameters, **given},
    }
    return document | rest
