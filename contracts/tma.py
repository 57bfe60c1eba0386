"""`cp.async.bulk.tensor`, its reduction and its prefetch: one thread moves a box of a tensor between global and shared memory.

The global operand is the view that the tensor map describes: its shape, strides, start and dtype are the fields of the map. The shared operand is the
image of the box, or of the pixels that an im2col mode visits. Sources: PTX ISA 5.5 (tensors), 9.7.9.27.1.2 (copy), 9.7.9.27.1.3 (reduction), 9.7.9.27.1.4 (prefetch); CUDA driver API,
cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col and cuTensorMapEncodeIm2colWide; CUDA C++ Programming Guide (128-byte alignment in shared memory); the image
of boxes narrower than the span of their swizzle, interleaved images, the multiple of 16 bytes of inner coordinates, and where the walk of im2col goes on
past a corner, as measured on an H200.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilecheck.spec import (
    BoxCopy,
    Contract,
    Entry,
    Exclusion,
    Family,
    Floor,
    Format,
    Grammar,
    Interleave,
    Memory,
    Move,
    Packing,
    Parameter,
    Pattern,
    Slot,
    Walk,
    both,
    either,
    is_,
    other_than,
    written,
)

PATTERNS = (
    Pattern(0, "none", 0, 16, ()),
    Pattern(1, "32B", 32, 256, ((3, 0x10),)),
    Pattern(2, "64B", 64, 512, ((3, 0x30),)),
    Pattern(3, "128B", 128, 1024, ((3, 0x70),)),
    Pattern(4, "128B, atoms of 32B", 128, 512, ((2, 0x60),), arch="sm_100"),
    Pattern(5, "128B, atoms of 32B, halves flipped", 128, 512, ((2, 0x60), (4, 0x08)), arch="sm_100"),
    Pattern(6, "128B, atoms of 64B", 128, 256, ((1, 0x40),), arch="sm_100"),
)
"""PTX ISA 5.5.7; the equation of 5 is inferred: which of two lines is flipped stands in a figure only."""
INTERLEAVES = (Interleave(1, 16, 16, (0, 1, 2, 3)), Interleave(2, 32, 32, (1,)))
"""Swizzled or not, slices follow each other (measured on an H200); the driver also encodes slices of 32 bytes with other swizzles."""
FLOAT8 = ("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
FORMATS = (
    Format("uint8", 0, ("uint8", "int8", "bool", "bits8", "float8_e8m0fnu", *FLOAT8)),
    Format("uint16", 1, ("uint16", "int16", "bits16")),
    Format("uint32", 2, ("uint32", "bits32")),
    Format("int32", 3, ("int32",)),
    Format("uint64", 4, ("uint64", "bits64", "complex64")),
    Format("int64", 5, ("int64",)),
    Format("float16", 6, ("float16",), floating=True),
    Format("float32", 7, ("float32",), floating=True),
    Format("float64", 8, ("float64",), floating=True),
    Format("bfloat16", 9, ("bfloat16",), floating=True),
    Format("tf32", 11, ("float32",), floating=True, rounded=True),
    Format("float4_e2m1fn", 14, ("float4_e2m1fn",)),
)
"""CUtensorMapDataType; a dtype without a type of its own is moved as the unsigned integer of its width. That tf32 is rounded was measured on an H200."""
FP4 = Packing("float4_e2m1fn", 16, 8, 16, row=128, align_bytes=32, patterns=(0, 3), arch="sm_100")
CORNER_BITS = {3: 16, 4: 8, 5: 5}
"""The bits of a corner and of an offset of im2col, by rank (PTX ISA 5.5.4.1)."""
WIDE = {
    "im2col::w": Walk(1, 16, wide=True, halo_below=512, offset_below=32, patterns=(2, 3, 4)),
    "im2col::w::128": Walk(1, 16, wide=True, halo_below=32, halo_every=32, offset_below=32, pixels=128, patterns=(2, 3, 4)),
}
"""PTX ISA 5.5.5; which swizzles they take: cuTensorMapEncodeIm2colWide."""
REDUCTIONS = {
    "add": ("uint32", "int32", "uint64", "float32", "float16", "bfloat16"),
    "min": ("uint32", "int32", "uint64", "int64", "float16", "bfloat16"),
    "max": ("uint32", "int32", "uint64", "int64", "float16", "bfloat16"),
    "inc": ("uint32",),
    "dec": ("uint32",),
    "and": ("uint32", "int32", "uint64"),
    "or": ("uint32", "int32", "uint64"),
    "xor": ("uint32", "int32", "uint64"),
}
"""By operator. The ISA lists 64 bits for the bitwise ones; with a tensor map of int64 each of them is an illegal instruction to an H200."""

RANKS = ("1d", "2d", "3d", "4d", "5d")
TO_GLOBAL = is_("dst", "global")
FROM_GLOBAL = is_("src", "global")
ROWS = is_("mode", "tile::gather4", "tile::scatter4")
IM2COL = is_("mode", "im2col", "im2col::w", "im2col::w::128", "im2col_no_offs")
BY_GROUPS = ("sm_110f",)
BASIC = ("sm_120f",)
"""Where loads to .shared::cluster take neither types below a byte nor other atoms than 16 bytes (PTX ISA 5.5.1, 5.5.7: sm_120a; its family alike)."""
HINT = Slot("hint", ("L2::cache_hint",))

# fmt: off
COMMON = (
    Exclusion(both(ROWS, other_than(is_("dim", "2d"))), "dim", "rows are chosen from a 2-dimensional tensor"),
    Exclusion(both(IM2COL, is_("dim", "1d", "2d")), "dim", "im2col takes 3 to 5 dimensions"),
)
COPY = Grammar(
    "cp.async.bulk.tensor",
    (
        Slot("dim", RANKS, required=True),
        Slot("dst", ("shared::cta", "shared::cluster", "global"), required=True),
        Slot("src", ("global", "shared::cta"), required=True),
        Slot("mode", ("tile", "tile::gather4", "tile::scatter4", "im2col", "im2col::w", "im2col::w::128", "im2col_no_offs")),
        Slot("completion", ("mbarrier::complete_tx::bytes", "bulk_group"), required=True),
        Slot("multicast", ("multicast::cluster",)),
        Slot("group", ("cta_group::1", "cta_group::2")),
        HINT,
    ),
    exclusions=(
        Exclusion(both(TO_GLOBAL, FROM_GLOBAL), "src", "global memory is written from .shared::cta"),
        Exclusion(both(other_than(TO_GLOBAL), other_than(FROM_GLOBAL)), "src", "shared memory is written from .global"),
        Exclusion(both(TO_GLOBAL, is_("completion", "mbarrier::complete_tx::bytes")), "completion", "a store completes as .bulk_group"),
        Exclusion(both(other_than(TO_GLOBAL), is_("completion", "bulk_group")), "completion", "a load completes on a barrier"),
        Exclusion(both(TO_GLOBAL, is_("mode", "tile::gather4", "im2col", "im2col::w", "im2col::w::128")), "mode", "a mode of loads"),
        Exclusion(both(other_than(TO_GLOBAL), is_("mode", "tile::scatter4", "im2col_no_offs")), "mode", "a mode of stores"),
        Exclusion(both(written("multicast"), other_than(is_("dst", "shared::cluster"))), "multicast", "exists for .shared::cluster only"),
        Exclusion(both(written("group"), TO_GLOBAL), "group", "a CTA group belongs to loads"),
        *COMMON,
    ),
    floors=(
        Floor(both(), "sm_90"),
        Floor(either(both(is_("mode", "tile::gather4", "im2col::w"), is_("dst", "shared::cta"))), "sm_100"),
        Floor(either(both(is_("mode", "tile::gather4", "im2col::w"), is_("dst", "shared::cluster")), is_("mode", "tile::scatter4", "im2col::w::128"),
                     written("group")), "sm_100f", also=BY_GROUPS),
    ),
    source="PTX ISA 9.7.9.27.1.2",
)
REDUCE = Grammar(
    "cp.reduce.async.bulk.tensor",
    (
        Slot("dim", RANKS, required=True),
        Slot("dst", ("global",), required=True),
        Slot("src", ("shared::cta",), required=True),
        Slot("op", tuple(REDUCTIONS), required=True),
        Slot("mode", ("tile", "im2col_no_offs")),
        Slot("completion", ("bulk_group",), required=True),
        HINT,
    ),
    exclusions=COMMON,
    floors=(Floor(both(), "sm_90"),),
    source="PTX ISA 9.7.9.27.1.3",
)
PREFETCH = Grammar(
    "cp.async.bulk.prefetch.tensor",
    (
        Slot("dim", RANKS, required=True),
        Slot("level", ("L2",), required=True),
        Slot("src", ("global",), required=True),
        Slot("mode", ("tile", "tile::gather4", "im2col", "im2col::w", "im2col::w::128")),
        HINT,
    ),
    exclusions=COMMON,
    floors=(Floor(both(), "sm_90"), Floor(is_("mode", "tile::gather4", "im2col::w", "im2col::w::128"), "sm_100f", also=BY_GROUPS)),
    source="PTX ISA 9.7.9.27.1.4",
)
# fmt: on
BOX = (Parameter("box", "extents", required=True),)
COLUMN = (Parameter("pixels_per_column", "code", required=True),)
WALK = (
    Parameter("pixel_box_lower_corner", "extents", required=True),
    Parameter("pixel_box_upper_corner", "extents", required=True),
    Parameter("channels_per_pixel", "code", required=True),
)
FIELDS = (
    Parameter("coords", "coordinates", required=True, operand=True, bits=32),
    Parameter("coord_steps", "steps"),
    Parameter("element_strides", "extents"),
    Parameter("swizzle", "code"),
    Parameter("interleave", "code"),
    Parameter("l2_promotion", "code"),
    Parameter("oob_fill", "code"),
    Parameter("format", "word"),
)


def _walk(rank: int, mode: str) -> Walk | None:
    """How a mode visits pixels."""
    if "im2col" not in mode or rank not in CORNER_BITS:
        return None
    bits = CORNER_BITS[rank]
    return WIDE.get(mode) or Walk(rank - 2, bits, 0 if mode == "im2col_no_offs" else bits)


def _contract(grammar: Grammar, q: Mapping[str, str]) -> Contract:
    """A box between the tensor that the map describes and its image in shared memory."""
    store, prefetch = q.get("dst") == "global", grammar is PREFETCH
    mask = "cta_mask" if q.get("multicast") else None
    image = None if prefetch else Memory("src" if store else "dst", "shared", bits=0, row=(), align_bytes=128, write=not store, cta=mask)
    tensor = Memory("dst" if store else "src", "global", bits=0, row=(), align_bytes=16, write=store, opaque=True)
    rows = 4 if q["mode"] in {"tile::gather4", "tile::scatter4"} else 0
    walk = _walk(int(q["dim"][0]), q["mode"])
    offsets = walk is not None and q["mode"] != "im2col_no_offs"
    loads = (Parameter("mbar", "barrier", required=True, operand=True), Parameter("expected_bytes", "bytes"))
    operands = (tensor,) if image is None else (tensor, image) if store else (image, tensor)
    box = BoxCopy(
        rank=int(q["dim"][0]),
        mode=q["mode"] or "tile",
        image=None if image is None else image.name,
        tensor=tensor.name,
        store=store,
        rows=rows,
        patterns=PATTERNS,
        interleaves=INTERLEAVES,
        formats=FORMATS,
        packing=FP4,
        types=REDUCTIONS[q["op"]] if "op" in q else None,
        walk=walk,
        offsets=0 if walk is None or not offsets else 2 if walk.wide else walk.spatial,
        basic=BASIC if q.get("dst") == "shared::cluster" else (),
    )
    where = "[{" + tensor.name + "}, {{{coords}}}]"
    sides = where if image is None else f"{where}, [{{src}}]" if store else f"[{{dst}}], {where}, [{{mbar}}]"
    sides += ", {{{im2col_offsets}}}" if offsets else ""
    return Contract(
        opcode=grammar.spell(q),
        mnemonic=grammar.mnemonic,
        arch=grammar.arch_floor(q),
        source=grammar.source,
        collective="thread",
        atom=(),
        operands=operands,
        parameters=(
            Parameter("pred", "predicate"),
            *(BOX if walk is None else WALK),
            *(COLUMN if walk is not None and not walk.pixels else ()),
            *FIELDS,
            *((Parameter("gather4", "coordinates", required=True, operand=True, bits=32),) if rows else ()),
            *((Parameter("im2col_offsets", "coordinates", required=True, operand=True, bits=16),) if offsets else ()),
            *(() if store or prefetch else loads),
            *((Parameter(mask, "mask", required=True, operand=True, bits=16),) if mask else ()),
            *((Parameter("cache_policy", "u64", required=True, operand=True),) if q["hint"] else ()),
        ),
        move=Move("" if prefetch else "dst", "src", source=(), combine=q.get("op")),
        issue="{opcode} " + sides + "{, cta_mask}{, cache_policy};",
        qualifiers=q,
        also=grammar.arch_also(q),
        isa="8.6" if q.get("dst") == "shared::cta" else "",
        single=True,
        pair=q.get("group") == "cta_group::2",
        proxy="async",
        completion=("cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;") if store else (),
        box=box,
    )


def copy(q: Mapping[str, str]) -> Contract:
    """The load or store of one box."""
    return _contract(COPY, q)


def reduce(q: Mapping[str, str]) -> Contract:
    """The reduction of one image into a box of global memory."""
    return _contract(REDUCE, q)


def prefetch(q: Mapping[str, str]) -> Contract:
    """The prefetch of one box into L2; nothing is written."""
    return _contract(PREFETCH, q)


FAMILY = Family("tma", (Entry(COPY, copy), Entry(PREFETCH, prefetch), Entry(REDUCE, reduce)))
