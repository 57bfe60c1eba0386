"""`tcgen05.cp` and `tcgen05.shift`: one thread moves a matrix into tensor memory, or the rows of one that is there.

cp: one thread copies a matrix of 32-bit words from shared memory, read through a descriptor, into tensor memory.

Views end in (row, word). The view of tensor memory has exactly the copies that the multicast qualifier writes. Decompression widens packed values of 4 or 6
bits to bytes: both views stay words, each 16 bytes of the source (sixteen values, then padding) become 16 bytes. The copy is there once a commit of the
thread has completed, or for the products that it issues later. Sources: PTX ISA 9.7.16.2.3 (shapes), 9.7.16.4 (decompression), 9.7.16.9 (cp, shift); which rows
each warp of a multicast has, and the lanes of .4x256b, as in CUTLASS 4.7 (cute/atom/copy_traits_sm100.hpp) and in the reference of the tile patterns.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilecheck.contracts.descriptors import TCGEN05, modes
from tilecheck.contracts.tensor_memory import FLOORS, GROUP, WORDS, shared
from tilecheck.spec import (
    AtomAxis,
    Contract,
    Described,
    Entry,
    Exclusion,
    Family,
    Floor,
    Grammar,
    Memory,
    Move,
    Parameter,
    Slot,
    TensorMemory,
    Unpacking,
    both,
    is_,
    other_than,
    written,
)
from tilecheck.spec.tmem import LANES, SLAB
from tilecheck.symbolic import Expr, var

ROW, WORD = var("row"), var("word")
SHAPES: Mapping[str, tuple[int, int]] = {
    "128x256b": (128, 8),
    "4x256b": (4, 8),
    "128x128b": (128, 4),
    "64x128b": (64, 4),
    "32x128b": (32, 4),
}
"""Rows, and words of a row."""
MULTICAST: Mapping[str, tuple[Expr, tuple[int, int]]] = {
    "warpx2::02_13": (ROW, (2, 64)),
    "warpx2::01_23": (ROW % 32 + 64 * (ROW // 32), (2, 32)),
    "warpx4": (ROW, (4, 32)),
}
"""The lane of a row, and the copies: how many, and how many lanes apart."""
PACKED = {"b4x16_p64": Unpacking(4, 2), "b6x16_p32": Unpacking(6, 0)}
START_BITS = 128
"""Columns start at multiples of four cells: CUTLASS and the reference; the ISA does not say (ruling 26)."""

# fmt: off
GRAMMAR = Grammar(
    "tcgen05.cp",
    (
        GROUP,
        Slot("shape", tuple(SHAPES), required=True),
        Slot("multicast", tuple(MULTICAST)),
        Slot("format", ("b8x16",)),
        Slot("packed", ("b6x16_p32", "b4x16_p64")),
    ),
    exclusions=(
        Exclusion(both(is_("shape", "64x128b"), other_than(is_("multicast", "warpx2::02_13", "warpx2::01_23"))), "multicast",
                  ".64x128b needs .warpx2::02_13 or .warpx2::01_23"),
        Exclusion(both(is_("shape", "32x128b"), other_than(is_("multicast", "warpx4"))), "multicast", ".32x128b needs .warpx4"),
        Exclusion(both(is_("shape", "128x256b", "4x256b", "128x128b"), written("multicast")), "multicast", "belongs to .64x128b and .32x128b"),
        Exclusion(both(written("format"), is_("packed", "")), "packed", ".b8x16 needs .b6x16_p32 or .b4x16_p64 behind it"),
        Exclusion(both(written("packed"), is_("format", "")), "packed", "needs .b8x16 before it"),
    ),
    floors=FLOORS,
    source="PTX ISA 9.7.16.9",
)
# fmt: on


def copy(q: Mapping[str, str]) -> Contract:
    """One matrix, copied to the lanes of its shape and multicast."""
    rows, words = SHAPES[q["shape"]]
    lane, copies = MULTICAST.get(q["multicast"], (32 * ROW if rows == 4 else ROW, None))
    atom, pair = (AtomAxis("row", rows), AtomAxis("word", words)), q["group"] == "cta_group::2"
    target = TensorMemory(
        "dst",
        bits=32,
        lane=lane,
        column=WORD,
        write=True,
        dtypes=WORDS,
        first_bits=START_BITS,
        replicas=() if copies is None else (copies,),
    )
    source = Memory(
        "src",
        "shared",
        bits=32,
        row=(),
        align_bytes=16,
        write=False,
        dtypes=WORDS,
        described=Described("descriptor", "", across="row", along="word", modes=modes(32, "k")),
    )
    return Contract(
        opcode=GRAMMAR.spell(q),
        mnemonic=GRAMMAR.mnemonic,
        arch=GRAMMAR.arch_floor(q),
        also=GRAMMAR.arch_also(q),
        source=GRAMMAR.source,
        collective="thread",
        atom=atom,
        operands=(target, source),
        parameters=(Parameter("descriptor", "descriptor", required=True), Parameter("pred", "predicate")),
        move=Move("dst", "src", source=(ROW, WORD), unpacks=PACKED.get(q["packed"])),
        issue="{opcode} [{dst}], {src};",
        qualifiers=q,
        single=True,
        pair=pair,
        proxy="async",
        encoding=TCGEN05,
        shared=shared(q, issuer="pair" if pair else "cta"),
    )


SHIFT = Grammar(
    "tcgen05.shift",
    (GROUP, Slot("way", ("down",), required=True)),
    exclusions=(),
    floors=(Floor(both(), "sm_100a", ("sm_103a", "sm_110a")),),
    source="PTX ISA 9.7.16.9",
)


def shift(q: Mapping[str, str]) -> Contract:
    """Elements of 32 bytes move by one row, in all of 32 rows but the last: of a matrix that products with `.ashift` read (docs/decisions/0098)."""
    pair = q["group"] == "cta_group::2"
    return Contract(
        opcode=SHIFT.spell(q),
        mnemonic=SHIFT.mnemonic,
        arch=SHIFT.arch_floor(q),
        also=SHIFT.arch_also(q),
        source=SHIFT.source,
        collective="thread",
        atom=(AtomAxis("row", 32), AtomAxis("word", 8)),
        operands=(TensorMemory("dst", bits=32, lane=ROW, column=WORD, write=True, dtypes=WORDS, first_lanes=tuple(range(0, LANES, SLAB))),),
        parameters=(Parameter("pred", "predicate"),),
        move=Move("", "", source=()),
        issue="{opcode} [{dst}];",
        qualifiers=q,
        single=True,
        pair=pair,
        proxy="async",
        shared=shared(q, issuer="pair" if pair else "cta"),
    )


FAMILY = Family("tmem_copy", (Entry(GRAMMAR, copy), Entry(SHIFT, shift)))
