"""Documents of wgmma.mma_async forms: D and A as the warpgroup holds them, matrices in shared memory in every canonical layout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from tests.gpu.documents import Form, Json
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
            **({"size_bytes": 32768} if self.stored.ldo or self.stored.sdo else {}),
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


COMPACT = [(major, swizzle) for major in ("k", "mn") for swizzle in SPANS]
MIXED = {
    "f16": [("f16", "f16"), ("f32", "f16")],
    "bf16": [("f32", "bf16")],
    "tf32": [("f32", "tf32")],
    "e4m3": [("f16", "e5m2"), ("f32", "e4m3")],
    "e5m2": [("f16", "e5m2"), ("f32", "e4m3")],
    "s8": [("s32", "s8"), ("s32", "u8")],
    "u8": [("s32", "u8"), ("s32", "s8")],
    "b1": [("s32", "b1")],
}
GAPPED = (
    Stored("k", 0, 2064, 144),
    Stored("k", 0, 128, 4096),
    Stored("k", 1, 0, 272),
    Stored("k", 2, 0, 640),
    Stored("k", 3, 0, 1072),
    Stored("k", 3, 0, 2048),
    Stored("mn", 0, 144, 2320),
    Stored("mn", 0, 1168, 128),
    Stored("mn", 1, 1040, 272),
    Stored("mn", 2, 2064, 528),
    Stored("mn", 3, 8192, 1152),
    Stored("mn", 3, 4112, 1040),
)
"""Strides that leave gaps, whole periods and not."""
INSIDE = (
    *(Stored("k", 3, start=start) for start in (16, 32, 48, 96, 112, 128, 160, 1024)),
    *(Stored("k", 2, start=start) for start in (32, 48, 96, 512)),
    *(Stored("k", 1, start=start) for start in (16, 32, 64)),
    Stored("k", 0, start=128),
    *(Stored("mn", 3, start=start) for start in (128, 256, 1024)),
    Stored("mn", 2, start=192),
    Stored("mn", 1, start=96),
    Stored("mn", 0, start=48),
)
"""Starts inside a row of the swizzle, and inside its period."""


def named(name: str, document: Json, values: dict[str, int | list[int]] | None = None) -> Form:
    """A form to reconstruct."""
    return Form("wgmma", name, {**document, "id": name}, values or {})


def type_forms() -> Iterator[Form]:
    """Every type of A and B and every N that is asked for, A from shared memory and from registers."""
    for kind, others in MIXED.items():
        for d, b in others:
            sizes = (8, 24, 64, 96, 128, 256) if (kind, d) in {("f16", "f32"), ("s8", "s32")} and b in {"f16", "s8"} else (24, 64)
            for n in sizes:
                opcode = opcode_of(kind, n, d, b)
                yield named(f"{opcode}, A shared", wgmma_document(opcode, Stored(), Stored()))
                yield named(f"{opcode}, A registers", wgmma_document(opcode, None, Stored("k", n // 8 % 4)))
    for n in (8, 64):
        opcode = opcode_of("s8", n, "s32", "u8", satfinite=True)
        yield named(f"{opcode}, A registers", wgmma_document(opcode, None, Stored()))


def stored_forms() -> Iterator[Form]:
    """Every major and swizzle of A and of B, compact, gapped and from inside a row, of every width."""
    half = opcode_of("f16", 128, "f32")
    for major, swizzle in COMPACT:
        yield named(f"A {Stored(major, swizzle).name}", wgmma_document(half, Stored(major, swizzle), Stored(), (1, 1, 4)))
        yield named(f"B {Stored(major, swizzle).name}", wgmma_document(half, Stored(), Stored(major, swizzle), (1, 1, 4)))
        yield named(
            f"both {Stored(major, swizzle).name}, bf16",
            wgmma_document(opcode_of("bf16", 64, "f32"), Stored(major, swizzle), Stored(major, swizzle), (1, 1, 2)),
        )
    for n in (8, 24, 96, 256):
        for major, swizzle in COMPACT:
            yield named(f"B {Stored(major, swizzle).name} n{n}", wgmma_document(opcode_of("f16", n, "f32"), None, Stored(major, swizzle)))
    for kind, d in (("tf32", "f32"), ("e4m3", "f32"), ("s8", "s32"), ("b1", "s32")):
        for swizzle in SPANS:
            stored = Stored("k", swizzle)
            yield named(f"{kind} {stored.name}", wgmma_document(opcode_of(kind, 48, d), stored, stored, (1, 1, 2)))
    for stored in (*GAPPED, *INSIDE):
        opcode = opcode_of("f16", 64, "f32")
        yield named(f"A {stored.name}", wgmma_document(opcode, stored, Stored()))
        yield named(f"B {stored.name}", wgmma_document(opcode, None, stored))


def call_forms() -> Iterator[Form]:
    """Repeats, sums that start from nothing or from D, signs, several warpgroups, stages of a ring."""
    half = opcode_of("f16", 32, "f32")
    yield named("repeats of m, n and k", wgmma_document(half, Stored("mn", 3), Stored("k", 2), (2, 2, 4)))
    yield named("repeats, A registers, D halves", wgmma_document(opcode_of("f16", 32, "f16"), None, Stored("mn", 2), (2, 2, 4)))
    for accum in (True, False, "n > 1"):
        for a, b in ((1, 1), (-1, 1), (1, -1), (-1, -1)):
            parameters: Json = {"accum": accum, "imm_scale_a": a, "imm_scale_b": b}
            document = wgmma_document(
                half, Stored(), Stored(), (1, 1, 2), parameters=parameters, symbols=[{"name": "n", "min": 0, "max": 3}]
            )
            yield named(f"accum {accum}, signs {a} {b}", document, {"n": 1})
            if accum == "n > 1":
                yield named(f"accum {accum} and it is, signs {a} {b}", document, {"n": 2})
    yield named(
        "false pred leaves D",
        wgmma_document(half, Stored(), Stored(), parameters={"pred": "n > 1 or n < 1"}, symbols=[{"name": "n", "min": 0, "max": 3}]),
        {"n": 2},
    )
    yield named("the second of three warpgroups", grouped(half, [384], "wgid == 1", 1))
    yield named("three warpgroups", grouped(half, [384], None, 3))
    yield named("two of three warpgroups", grouped(half, [384], "wgid != 1", 2))
    halves = wgmma_document(opcode_of("f16", 32, "f16"), Stored(), Stored("mn", 2), (1, 2, 2))
    operands_of(halves)[0].update(
        dtype="float16", shape=[1, 2, 64, 32], layout="S[(1,2,4,2,8,4,4,2):(0,16,1@wid_in_wg,2,4@laneid,4,1@laneid,1)]"
    )
    yield named("D of halves as halves", halves)
    for stage in (0, 3, 6):
        yield named(f"stage {stage} of a ring of four", ring(opcode_of("f16", 64, "f32")), {"stage": stage})


def grouped(opcode: str, block: list[int], guard: str | None, count: int) -> Json:
    """A call at cta scope: every warpgroup has registers and a matrix A of its own, B is shared by all."""
    document = wgmma_document(opcode, Stored(), Stored())
    d, a, b = (dict(one) for one in operands_of(document))
    axis = "1@wgid" if count == 3 else "2@wgid"
    d["shape"], d["layout"] = [count, *d["shape"]], d["layout"].replace("S[(", f"S[({count},").replace(":(", f":({axis},")
    if guard == "wgid == 1":
        d["layout"] = d["layout"].replace("2@wgid,", "0,") + " + 1@wgid"
    size = 64 * 64
    a["shape"], a["layout"] = [count, *a["shape"]], a["layout"].replace("S[(", f"S[({count},").replace(":(", f":({size},")
    b["shape"], b["layout"] = [count, *b["shape"]], b["layout"].replace("S[(", f"S[({count},").replace(":(", ":(0,")
    found = {**document, "scope": "cta", "launch": {"block": block}, "operands": [d, a, b]}
    return found | ({"guard": guard} if guard else {})


def operands_of(document: Json) -> list[Any]:
    """The operands of a document."""
    found = document["operands"]
    assert isinstance(found, list)
    return found


def ring(opcode: str, stages: int = 4, steps: int = 4) -> Json:
    """A stage of a ring of matrices, known at run time: `steps` steps along K inside a row of 128 bytes."""
    document = wgmma_document(opcode, Stored(), Stored(), (1, 1, steps))
    operands = [dict(one) for one in operands_of(document)]
    for one in operands[1:]:
        rows = one["shape"][2]
        one["shape"], one["layout"] = (
            [stages, *one["shape"]],
            one["layout"].replace("S[(", f"S[({stages},").replace(":(", f":({64 * rows},"),
        )
        one["view"] = [
            {"op": "slice", "begin": [f"stage % {stages}", 0, 0, 0, 0], "extent": [1, None, None, None, None]},
            {"op": "reshape", "shape": one["shape"][1:]},
        ]
    return {**document, "operands": operands, "symbols": [{"name": "stage", "min": 0, "max": 1023}]}


def sparse_forms() -> Iterator[Form]:
    """A with two of four neighbours (of .tf32 one of two), every selector."""
    for kind, d, b in (("f16", "f32", "f16"), ("f16", "f16", "f16"), ("bf16", "f32", "bf16"), ("tf32", "f32", "tf32")):
        for selector in (0, 1):
            opcode = opcode_of(kind, 24, d, b, sparse=True)
            parameters: Json = {"sp_sel": selector}
            yield named(
                f"{opcode}, A shared, selector {selector}", wgmma_document(opcode, Stored(), Stored(), (1, 1, 2), parameters=parameters)
            )
            yield named(f"{opcode}, A registers, selector {selector}", wgmma_document(opcode, None, Stored("k", 2), parameters=parameters))
    for kind, d, b in (("e4m3", "f32", "e5m2"), ("e5m2", "f16", "e5m2"), ("s8", "s32", "u8"), ("u8", "s32", "u8")):
        opcode = opcode_of(kind, 64, d, b, sparse=True)
        yield named(f"{opcode}, A shared", wgmma_document(opcode, Stored("k", 1), Stored("k", 0), (1, 1, 2)))
        yield named(f"{opcode}, A registers", wgmma_document(opcode, None, Stored()))
    opcode = opcode_of("f16", 64, "f32", sparse=True)
    for stored in (Stored("mn", 0), Stored("mn", 1), Stored("mn", 2), Stored("mn", 3), Stored("k", 3, start=64), Stored("k", 3, start=96)):
        yield named(f"{opcode}, B {stored.name}", wgmma_document(opcode, Stored("mn", 2), stored))


def wgmma_forms() -> tuple[Form, ...]:
    """Every form, each name once."""
    found = (*type_forms(), *stored_forms(), *call_forms(), *sparse_forms())
    assert len({form.name for form in found}) == len(found)
    return found
