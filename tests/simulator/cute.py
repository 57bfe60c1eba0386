"""Layouts as CuTe has them, on NumPy arrays, and the layouts that CUTLASS gives the operands of tcgen05.

Colexicographic: the first mode is the fastest. Sources: CUTLASS 4.x, cute/atom/mma_traits_sm100.hpp (canonical layouts of shared matrices),
cute/atom/mma_traits_sm100_frag.hpp (tensor memory, in "virtual addresses": a lane counts 1, a column 128), cute/atom/copy_traits_sm100.hpp (tcgen05.cp).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

Nested = int | tuple["Nested", ...]
Numbers = np.ndarray
ENDLESS = 1 << 40
"""An extent that no coordinate reaches."""
COLUMN = 128
"""What a column of tensor memory counts in virtual addresses."""


def size(shape: Nested) -> int:
    return prod(size(part) for part in shape) if isinstance(shape, tuple) else shape


def position(coordinate: Numbers, shape: Nested, stride: Nested) -> Numbers:
    """Where a coordinate of one mode lies; the last factor goes on past its extent."""
    if not isinstance(shape, tuple):
        return coordinate * stride
    total = np.zeros_like(coordinate)
    for part, step in zip(shape[:-1], stride[:-1], strict=True):
        total += position(coordinate % size(part), part, step)
        coordinate = coordinate // size(part)
    return total + position(coordinate, shape[-1], stride[-1])


@dataclass(frozen=True)
class Layout:
    """shape:stride; called with one coordinate for each mode."""

    shape: tuple[Nested, ...]
    stride: tuple[Nested, ...]

    def __call__(self, *coordinates: Numbers) -> Numbers:
        modes = zip(coordinates, self.shape, self.stride, strict=True)
        return sum(position(np.asarray(at, dtype=np.int64), part, step) for at, part, step in modes)

    def image(self) -> Numbers:
        """Every position, as an array with one axis for each mode."""
        return self(*np.indices([size(part) for part in self.shape], dtype=np.int64))


@dataclass(frozen=True)
class Swizzle:
    """Swizzle<bits, base, shift>: the bits above base + shift are exclusive-ored into those above base."""

    bits: int
    base: int
    shift: int

    def __call__(self, address: Numbers) -> Numbers:
        mask = ((1 << self.bits) - 1) << (self.base + self.shift)
        return address ^ ((address & mask) >> self.shift)


SWIZZLES = {0: Swizzle(0, 4, 3), 1: Swizzle(1, 4, 3), 2: Swizzle(2, 4, 3), 3: Swizzle(3, 4, 3), 4: Swizzle(2, 5, 2)}
"""On byte addresses, by the number that call documents use."""
SPANS = {0: 16, 1: 32, 2: 64, 3: 128, 4: 128}
LAYOUT_TYPES = {0: 0, 6: 1, 4: 2, 2: 3, 1: 4}
"""UMMA::LayoutType (bits 61-63 of a descriptor) -> that number."""


def canonical(major: str, swizzle: int, width: int, leading: int, stride: int) -> Layout:
    """(M or N, K) -> bytes from the start: the canonical layout of make_umma_desc; `width`: bytes of an element, leading and stride in bytes."""
    t, chunks = 16 // width, SPANS[swizzle] // 16
    unit = width
    if major == "k" and swizzle == 0:  # ((8,m),(T,2k)) : ((1T,SBO),(1,LBO))
        return Layout(((8, ENDLESS), (t, ENDLESS)), ((16, stride), (unit, leading)))
    if major == "k":  # ((8,m),(T,2k)) : ((sT,SBO),(1,T))
        return Layout(((8, ENDLESS), (t, ENDLESS)), ((16 * chunks, stride), (unit, 16)))
    if swizzle == 0:  # ((T,1,m),(8,k)) : ((1,T,SBO),(1T,LBO))
        return Layout(((t, 1, ENDLESS), (8, ENDLESS)), ((unit, 16, stride), (16, leading)))
    lines = 4 if swizzle == 4 else 8  # ((T,s,m),(8,k)) : ((1,T,LBO),(sT,SBO)), and (4,k) where atoms have 32 bytes
    return Layout(((t, chunks, ENDLESS), (lines, ENDLESS)), ((unit, 16, leading), (16 * chunks, stride)))


def accumulator(rows: int, columns: int, *, group: int, stationary: bool) -> Layout:
    """(row of this CTA, column) -> virtual address: tmem_frg and tmem_frg_ws; 64 rows of one CTA stand 16 to a partition."""
    if rows == 32:
        return Layout((32, (columns // 4, 4)), (1, (COLUMN, 32)))
    if rows == 64 and (stationary or group == 2):
        return Layout((64, (columns // 2, 2)), (1, (COLUMN, 64)))
    if rows == 64:
        return Layout(((16, 4), columns), ((1, 32), COLUMN))
    return Layout((128, columns), (1, COLUMN))


SCALES = Layout(((32, ENDLESS), ENDLESS, 4), ((1, 4 * COLUMN), COLUMN, 32))
"""(row, scale, replica) -> virtual address, a column being a byte: tmem_sf_frg of the 4x1 data path."""
COPIES = {
    "128x256b": Layout((128, 1), (1, 0)),
    "128x128b": Layout((128, 1), (1, 0)),
    "4x256b": Layout((4, 1), (32, 0)),
    "64x128b.warpx2::02_13": Layout((64, 2), (1, 64)),
    "64x128b.warpx2::01_23": Layout(((32, 2), 2), ((1, 64), 32)),
    "32x128b.warpx4": Layout((32, 4), (1, 32)),
}
"""(row, replica) -> lane, for each shape of tcgen05.cp."""
