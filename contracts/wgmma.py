"""`wgmma.mma_async`: a warpgroup multiplies a matrix of 64 rows, from shared memory or its registers, by one from shared memory and adds the product to D.

A is 64 x K, B is K x N, D is 64 x N. D and an A in registers are views of registers, of shape (row, column) or (row, word), a word being a register with as
many neighbours along K (along N, in D of .f16) as it holds; matrices in shared memory are read through a descriptor, A of shape (row, depth) and B of shape
(column, depth). Single bits lie in bytes of eight. The caller fences, commits and waits: the product is there after `wgmma.wait_group`.
Sources: PTX ISA 9.7.15.5 and 9.7.15.6 (shapes, types, fragments, descriptors); the traits of CUTLASS (cute/atom/mma_traits_sm90_gmma.hpp).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilecheck.contracts.descriptors import WGMMA, modes
from tilecheck.contracts.mma import OFFSETS, SHARE
from tilecheck.spec import (
    AtomAxis,
    Choice,
    Contract,
    Described,
    Entries,
    Entry,
    Exclusion,
    Family,
    Floor,
    Grammar,
    Memory,
    Move,
    Parameter,
    Product,
    Register,
    Slot,
    both,
    is_,
    other_than,
    written,
)
from tilecheck.symbolic import var

ROWS = 64
HALVES, BYTES, INTEGERS = ("f16", "bf16"), ("e4m3", "e5m2"), ("s8", "u8")
BITS = {**dict.fromkeys(HALVES, 16), "tf32": 32, **dict.fromkeys((*BYTES, *INTEGERS), 8), "b1": 1}
DEPTH = {kind: 256 // bits for kind, bits in BITS.items()}
"""K of a dense form: 32 bytes; a sparse A has as many neighbours along K, of twice as many."""
EVERY = tuple(range(8, 257, 8))
FEW = (8, 16, 24, *range(32, 257, 16))
"""N of floats, and of integers and single bits."""
PACKED = ("float32", "int32", "uint32", "bits32")
SUMS = {"f16": PACKED, "f32": ("float32", "bits32"), "s32": ("int32", "uint32", "bits32")}
"""The containers of D: a word of two halves is raw bits, a number keeps its type."""
STORED = {
    "f16": ("float16", "bits16"),
    "bf16": ("bfloat16", "bits16"),
    "tf32": ("float32", "bits32"),
    "e4m3": ("float8_e4m3fn", "bits8"),
    "e5m2": ("float8_e5m2", "bits8"),
    "s8": ("int8", "bits8"),
    "u8": ("uint8", "bits8"),
    "b1": ("uint8", "int8", "bits8"),
}
"""The containers of matrices in shared memory."""
ROW, COLUMN, WORD, PART, DEEP = (var(name) for name in ("row", "column", "word", "part", "depth"))
DENSE, SPARSE = is_("sparse", ""), written("sparse")


def _shapes(kind: str, *, sparse: bool) -> tuple[str, ...]:
    if sparse and kind == "b1":
        return ()
    depth = DEPTH[kind] * (2 if sparse else 1)
    return tuple(f"m{ROWS}n{n}k{depth}" for n in (EVERY if kind in (*HALVES, "tf32", *BYTES) else FEW))


def _shape_rules() -> tuple[Exclusion, ...]:
    found: list[Exclusion] = []
    for kind in BITS:
        for sparse, when in ((False, DENSE), (True, SPARSE)):
            shapes = _shapes(kind, sparse=sparse)
            depth = DEPTH[kind] * (2 if sparse else 1)
            steps = "a multiple of 8" if len(shapes) == len(EVERY) else "8, 16, 24 or a multiple of 16"
            text = (
                f"{kind}{', sparse,' if sparse else ''} has K {depth} and N {steps}, at most 256"
                if shapes
                else f"{kind} has no sparse form"
            )
            found.append(Exclusion(both(is_("a", kind), when, other_than(is_("shape", *shapes))), "shape", text))
    return tuple(found)


# fmt: off
GRAMMAR = Grammar(
    "wgmma.mma_async",
    (
        Slot("sparse", ("sp",)),
        Slot("sync", ("sync",), required=True),
        Slot("aligned", ("aligned",), required=True),
        Slot("shape", tuple(dict.fromkeys(s for kind in BITS for sparse in (False, True) for s in _shapes(kind, sparse=sparse))), required=True),
        Slot("satfinite", ("satfinite",)),
        Slot("d", tuple(SUMS), required=True),
        Slot("a", tuple(BITS), required=True),
        Slot("b", tuple(BITS), required=True),
        Slot("op", ("and",)),
        Slot("popc", ("popc",)),
    ),
    exclusions=(
        *(Exclusion(both(is_("a", a), other_than(is_("b", a))), "b", f"with A of .{a} B is .{a} too") for a in (*HALVES, "tf32", "b1")),
        *(Exclusion(both(is_("a", *group), other_than(is_("b", *group))), "b", f"with A of {' or '.join('.' + a for a in group)} B is one of them")
          for group in (BYTES, INTEGERS)),
        *_shape_rules(),
        Exclusion(both(is_("a", "f16", *BYTES), other_than(is_("d", "f16", "f32"))), "d", "floats of at most 16 bits give .f16 or .f32"),
        Exclusion(both(is_("a", "bf16", "tf32"), other_than(is_("d", "f32"))), "d", ".bf16 and .tf32 give .f32"),
        Exclusion(both(is_("a", *INTEGERS, "b1"), other_than(is_("d", "s32"))), "d", "integers and single bits give .s32"),
        Exclusion(both(written("satfinite"), other_than(is_("a", *INTEGERS))), "satfinite", "belongs to integers of 8 bits"),
        Exclusion(both(is_("a", "b1"), is_("op", "")), "op", "single bits need .and"),
        Exclusion(both(is_("a", "b1"), is_("popc", "")), "popc", "single bits need .popc"),
        Exclusion(both(written("op"), other_than(is_("a", "b1"))), "op", "belongs to .b1"),
        Exclusion(both(written("popc"), other_than(is_("a", "b1"))), "popc", "belongs to .b1"),
    ),
    floors=(Floor(both(), "sm_90a"),),
    source="PTX ISA 9.7.15.5, 9.7.15.6",
)
# fmt: on


def shape_of(text: str) -> tuple[int, int]:
    """N and K of a shape such as m64n128k16."""
    n, k = text.removeprefix(f"m{ROWS}n").split("k")
    return int(n), int(k)


def accumulator(kind: str, columns: int) -> tuple[Register, Entries]:
    """D: warp w holds rows 16*w to 16*w + 15 as the fragment of an mma.m16n8 that repeats along N.

    A register of halves has two neighbours of a row, which may be handed in as halves, (row, column).
    """
    thread = 32 * (ROW // 16) + 4 * (ROW % 8)
    if kind == "f16":
        last, parts = AtomAxis("word", columns // 2), (AtomAxis("part", 2),)
        thread, number, at = thread + WORD % 4, 2 * (WORD // 4) + ROW // 8 % 2, 2 * WORD + PART
    else:
        last, parts = AtomAxis("column", columns), ()
        thread, number, at = thread + COLUMN // 2 % 4, 4 * (COLUMN // 8) + 2 * (ROW // 8 % 2) + COLUMN % 2, COLUMN
    found = Register(
        "d",
        bits=32,
        register=number,
        write=True,
        lane=thread,
        dtypes=SUMS[kind],
        atom=(AtomAxis("row", ROWS), last),
        over=("m", "n"),
        paired=STORED["f16"] if kind == "f16" else (),
    )
    return found, Entries("d", kind, (("m", ROW), ("n", at)), parts)


def factor_in_registers(kind: str) -> tuple[Register, Entries]:
    """A in registers: 32 bytes of a row in eight words, four registers to a thread, rows as in D."""
    each = 32 // BITS[kind]
    parts = (AtomAxis("part", each),) if each > 1 else ()
    found = Register(
        "a",
        bits=32,
        register=ROW // 8 % 2 + 2 * (WORD // 4),
        write=False,
        lane=32 * (ROW // 16) + 4 * (ROW % 8) + WORD % 4,
        dtypes=PACKED,
        atom=(AtomAxis("row", ROWS), AtomAxis("word", 8)),
        over=("m", "k"),
    )
    return found, Entries("a", kind, (("m", ROW), ("k", each * WORD + PART if parts else WORD)), parts)


def factor_in_memory(name: str, kind: str, axis: AtomAxis, depth: int) -> tuple[Memory, Entries]:
    """A (axis `row`) or B (axis `column`) in shared memory; 16-bit elements may lie side by side along either axis. depth: K."""
    each = 8 if kind == "b1" else 1
    bits, along = BITS[kind] * each, AtomAxis("depth", depth // each)
    majors = ("k", "mn") if kind in HALVES else ("k",)
    found = Memory(
        name,
        "shared",
        bits=bits,
        row=(),
        align_bytes=16,
        write=False,
        dtypes=STORED[kind],
        atom=(axis, along),
        over=("m" if name == "a" else "n", "k"),
        described=Described(
            f"{name}_descriptor",
            f"{name}_major" if len(majors) > 1 else "",
            across=axis.name,
            along="depth",
            modes=tuple(m for m in modes(bits, *majors) if m.swizzle < 4),
        ),
    )
    parts = (AtomAxis("part", each),) if each > 1 else ()
    across = ("m" if name == "a" else "n", var(axis.name))
    return found, Entries(name, kind, (across, ("k", each * DEEP + PART if parts else DEEP)), parts)


def _metadata() -> Register:
    """The word that says which elements of a row of A are held, which the instruction names in every lane, whichever lanes it takes."""
    thread = var("thread")
    return Register(
        "sp_meta", bits=32, register=0 * thread, write=False, lane=thread, dtypes=PACKED, atom=(AtomAxis("thread", 128),), over=("m", "k")
    )


def _chosen(entries: Entries, kind: str, depth: int) -> tuple[Entries, Choice]:
    """The entries of a sparse A, numbered in their group of neighbours, and which neighbour the metadata says each is: in every warp as in `mma.sp`.

    Half a word is about a row: of types of 16 bits and more one lane of two (of four, the selector says which two) has half of K of rows g and g + 8,
    in the low and the high half; of narrower ones four lanes have rows g and g + 8 of the lower half of K, then of the upper.
    """
    wide, kept = SHARE[BITS[kind]]
    place, half = dict(entries.at)["k"], ROW // 8 % 2
    group = place // kept
    if BITS[kind] >= 16:
        lane, bit = 2 * var("sp_sel") + group // 4, 16 * half + 4 * (group % 4)
    else:
        lane, bit = half + 2 * (group // 8), 4 * (group % 8)
    at = (("m", ROW), ("k", wide * group), ("entry", place % kept))
    thread = 32 * (ROW // 16) + 4 * (ROW % 8) + lane
    assert depth // wide in {8, 16}  # groups of a row
    return replace(entries, at=at), Choice("sp_meta", thread, bit, 4, "k", place % kept, OFFSETS[BITS[kind]])


def _parameters(q: Mapping[str, str], *, shared: bool) -> tuple[Parameter, ...]:
    """shared: whether A lies in shared memory."""
    matrices = ("a", "b") if shared else ("b",)
    found = [Parameter(f"{name}_descriptor", "descriptor", required=True) for name in matrices]
    if q["a"] in HALVES:
        found += [Parameter(f"{name}_major", "major", operand=True, default="k") for name in matrices]
    found.append(Parameter("accum", "predicate", operand=True, default=True, then=True))
    if q["d"] != "s32":
        found += [Parameter(f"imm_scale_{name}", "selector", operand=True, choices=(1, -1), default=1) for name in "ab"]
    if q["sparse"]:
        found.append(Parameter("sp_sel", "selector", required=True, operand=True, choices=(0, 1) if BITS[q["a"]] > 8 else (0,)))
    shape = (ROWS, *shape_of(q["shape"]))
    return (
        *found,
        Parameter("instruction_shape", "shape", choices=shape),
        Parameter("pred", "predicate"),
        Parameter("preserve_dst", "flag", needs="pred"),
    )


def _issue(q: Mapping[str, str], *, shared: bool) -> str:
    fields = ["{{{d}}}", "{a}" if shared else "{{{a}}}", "{b}", *(("{sp_meta}", "{sp_sel}") if q["sparse"] else ()), "{accum}"]
    if q["d"] != "s32":
        fields += ["{imm_scale_a}", "{imm_scale_b}"]
    if q["a"] in HALVES:
        fields += ["{a_major}", "{b_major}"] if shared else ["{b_major}"]
    return f"{{opcode}} {', '.join(fields)};"


def _form(q: Mapping[str, str], *, shared: bool) -> Contract:
    """One form, with A in shared memory or in registers."""
    n, k = shape_of(q["shape"])
    d = accumulator(q["d"], n)
    held = k // 2 if q["sparse"] else k
    a = factor_in_memory("a", q["a"], AtomAxis("row", ROWS), held) if shared else factor_in_registers(q["a"])
    b = factor_in_memory("b", q["b"], AtomAxis("column", n), k)
    factor, choice = _chosen(a[1], q["a"], k) if q["sparse"] else (a[1], None)
    signs = ("imm_scale_a", "imm_scale_b") if q["d"] != "s32" else ()
    return Contract(
        opcode=GRAMMAR.spell(q),
        mnemonic="wgmma.mma_async",
        arch=GRAMMAR.arch_floor(q),
        source=GRAMMAR.source,
        collective="warpgroup",
        atom=(),
        operands=(d[0], a[0], b[0], *((_metadata(),) if q["sparse"] else ())),
        parameters=_parameters(q, shared=shared),
        move=Move("", "", source=()),
        issue=_issue(q, shared=shared),
        qualifiers=q,
        isa="8.2" if q["sparse"] else "",
        loops=("m", "n", "k"),
        proxy="async",
        before=("wgmma.fence.sync.aligned;",),
        completion=("wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"),
        encoding=WGMMA,
        product=Product(d[1], factor, b[1], d[1], q["op"] or "mul", accumulates="accum", signs=signs, choice=choice),
    )


def wgmma(q: Mapping[str, str]) -> Contract:
    """D = A * B, plus D where `accum` holds; over K repeats the later steps add to D whatever it says."""
    return replace(_form(q, shared=True), variants=(_form(q, shared=False),))


FAMILY = Family("wgmma", (Entry(GRAMMAR, wgmma),))
