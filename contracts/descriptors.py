"""Shared matrices: the canonical layouts that a descriptor can name, and the two words that hold one; wgmma and tcgen05 contracts take them from here.

Sources: PTX ISA 9.7.15.5.1 (wgmma) and 9.7.16.5 (tcgen05), canonical layouts; CUTLASS 4.7, cute/atom/mma_traits_sm90_gmma.hpp and
mma_traits_sm100.hpp, the layouts in units of 16 bytes; mode 4 in CUTLASS and in the reference of the tile patterns alone. Modes 0 to 3 of both
majors as measured on an H200.
"""

from __future__ import annotations

from tilecheck.spec.descriptor import UNIT_BYTES, BitField, Encoding, Mode

LDO, SDO = "ldo_bytes", "sdo_bytes"
SWIZZLES = ((1, "32B", 32, 256, 0x10), (2, "64B", 64, 512, 0x30), (3, "128B", 128, 1024, 0x70))
"""Number, name, span and period in bytes, and the bits that the bits three places higher are added to."""
ANY, NARROW, WIDE = (4, 8, 16, 32), (8, 16), (32,)
"""Widths in bits: of K-major matrices, of MN-major ones, and of those with atoms of 32 bytes."""
MODES = (
    Mode("k", 0, "none", 16, 8, SDO, LDO, whole=False, period_bytes=16, xors=(), widths=ANY),
    *(Mode("k", n, name, span, 8, SDO, None, whole=False, period_bytes=period, xors=((3, mask),), widths=ANY)
      for n, name, span, period, mask in SWIZZLES),
    Mode("mn", 0, "none", 16, 8, LDO, SDO, whole=True, period_bytes=16, xors=(), widths=NARROW),
    *(Mode("mn", n, name, span, 8, SDO, LDO, whole=True, period_bytes=period, xors=((3, mask),), widths=NARROW)
      for n, name, span, period, mask in SWIZZLES),
    Mode("mn", 4, "128B, atoms of 32B", 128, 4, SDO, LDO, whole=True, period_bytes=512, xors=((2, 0x60),), widths=WIDE),
)  # fmt: skip


def modes(bits: int, *majors: str) -> tuple[Mode, ...]:
    """The canonical layouts of elements of `bits` bits with one of these majors ("k", "mn")."""
    return tuple(mode for mode in MODES if bits in mode.widths and mode.major in majors)


_COMMON = (
    BitField("start_bytes", 0, 14, UNIT_BYTES),
    BitField(LDO, 16, 14, UNIT_BYTES),
    BitField(SDO, 32, 14, UNIT_BYTES),
    BitField("base_offset", 49, 3, always=0),
)
WGMMA = Encoding("wgmma", (*_COMMON, BitField("swizzle", 62, 2)), ((0, 0), (1, 3), (2, 2), (3, 1)), "PTX ISA 9.7.15.5.1.2.2")
TCGEN05 = Encoding(
    "tcgen05",
    (*_COMMON, BitField("version", 46, 3, always=1), BitField("ldo_mode", 52, 1, always=0), BitField("swizzle", 61, 3)),
    ((0, 0), (1, 6), (2, 4), (3, 2), (4, 1)),
    "PTX ISA 9.7.16.4.1",
)
ENCODINGS = (WGMMA, TCGEN05)
