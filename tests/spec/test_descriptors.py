"""Canonical layouts of shared matrices against CUTLASS's and Triton's, the two words against CUTLASS's bit fields, and what `explain descriptor` makes of them."""

from __future__ import annotations

import ctypes
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import pytest

from tilecheck.contracts.descriptors import ENCODINGS, MODES, TCGEN05, WGMMA
from tilecheck.layout.notation import parse_layout
from tilecheck.layout.tile import base_tile
from tilecheck.layout.trace import trace
from tilecheck.layout.view import Tensor
from tilecheck.report.descriptor import Walk, as_text, cute_text, layout_text
from tilecheck.spec.descriptor import Mode, NotEncodableError, decode, described_walk, encode

VECTORS = json.loads((Path(__file__).parent.parent / "data" / "vectors" / "nvmma_shared.json").read_text(encoding="utf-8"))["vectors"]
NAMES = [f"{mode.major}-{mode.swizzle}" for mode in MODES]

# --- CUTLASS ----------------------------------------------------------------------------------------------------------

Nested = int | tuple["Nested", ...]


def colex(index: int, shape: Nested, stride: Nested) -> int:
    """CuTe's evaluation of a layout at an index: the first mode is the fastest; the last one takes what is left."""
    if isinstance(shape, int):
        assert isinstance(stride, int)
        return index * stride
    assert isinstance(stride, tuple)
    total = 0
    for k, (one, step) in enumerate(zip(shape, stride, strict=True)):
        size = flat_size(one)
        if k == len(shape) - 1:
            return total + colex(index, one, step)
        total += colex(index % size, one, step)
        index //= size
    return total


def flat_size(shape: Nested) -> int:
    return shape if isinstance(shape, int) else prod(flat_size(one) for one in shape)


def cutlass(
    major: str, swizzle: int, t: int, lbo: int, sbo: int
) -> tuple[tuple[Nested, Nested], tuple[Nested, Nested], tuple[int, int, int]]:
    """(shape, stride) of (row, column) in elements and the Swizzle<B, M, S> on bytes, as the comments of mma_traits_sm90_gmma.hpp have it.

    t: elements of 16 bytes; lbo, sbo in elements. Open extents are 0: the last mode of an axis takes what is left.
    """
    s = {0: 1, 1: 2, 2: 4, 3: 8, 4: 8}[swizzle]
    if major == "k":
        if swizzle == 0:  # ((8,m),(T,2)):((1T,SBO),(1,LBO))
            return ((8, 0), (t, 0)), ((t, sbo), (1, lbo)), (0, 4, 3)
        return ((8, 0), (t, 2 * s)), ((s * t, sbo), (1, t)), (swizzle, 4, 3)  # ((8,m),(T,2)):((sT,SBO),(1,T))
    if swizzle == 0:  # ((T,1,m),(8,k)):((1,T,SBO),(1T,LBO))
        return ((t, 1, 0), (8, 0)), ((1, t, sbo), (t, lbo)), (0, 4, 3)
    if swizzle == 4:  # Sw<2,5,2> o ((T,8,m),(4,k)):((1,T,LBO),(8T,SBO))
        return ((t, 8, 0), (4, 0)), ((1, t, lbo), (8 * t, sbo)), (2, 5, 2)
    return ((t, s, 0), (8, 0)), ((1, t, lbo), (s * t, sbo)), (swizzle, 4, 3)  # ((T,s,m),(8,k)):((1,T,LBO),(sT,SBO))


def swizzled(byte: int, bms: tuple[int, int, int]) -> int:
    b, m, s = bms
    mask = ((1 << b) - 1) << (m + s)
    return byte ^ (byte & mask) >> s


def cutlass_walk(mode: Mode, bits: int, ldo: int, sdo: int, rows: int, columns: int, start: int) -> Iterator[tuple[int, int, int]]:
    (row_shape, column_shape), (row_stride, column_stride), bms = cutlass(
        mode.major, mode.swizzle, 128 // bits, ldo * 8 // bits, sdo * 8 // bits
    )
    for row in range(rows):
        for column in range(columns):
            element = colex(row, row_shape, row_stride) + colex(column, column_shape, column_stride)
            yield row, column, swizzled(start + element * bits // 8, bms)


def sizes(mode: Mode, bits: int) -> tuple[int, int]:
    """Extents with several groups of lines and, where there is a next span, several spans."""
    inner = mode.elements(bits) * 2 if mode.next_span else mode.elements(bits)
    return (24, inner) if mode.major == "k" else (inner, 16)


def cutlass_agrees(mode: Mode, rng: random.Random) -> bool:
    for bits in mode.widths:
        rows, columns = sizes(mode, bits)
        for _ in range(3):
            ldo, sdo, start = (16 * rng.randrange(1, 300) for _ in range(3))
            if list(described_walk(mode, bits, ldo, sdo, rows, columns, start)) != list(
                cutlass_walk(mode, bits, ldo, sdo, rows, columns, start)
            ):
                return False
    return True


@pytest.mark.parametrize("mode", MODES, ids=NAMES)
def test_a_canonical_layout_is_that_of_cutlass_on_every_element(mode):
    assert cutlass_agrees(mode, random.Random(mode.name))


def mutants(mode: Mode) -> Iterator[tuple[str, Mode]]:
    other = {"ldo_bytes": "sdo_bytes", "sdo_bytes": "ldo_bytes"}
    yield "span", replace(mode, span_bytes=mode.span_bytes * 2)
    yield "lines", replace(mode, lines=12 - mode.lines)
    yield "next lines", replace(mode, next_lines=other[mode.next_lines])
    if mode.next_span is not None:
        yield "next span", replace(mode, next_span=other[mode.next_span])
        yield "no next span", replace(mode, next_span=None)
    yield "major", replace(mode, major="mn" if mode.major == "k" else "k")
    for shift, mask in mode.xors:
        yield "no XOR", replace(mode, xors=())
        yield "shift", replace(mode, xors=((shift + 1, mask),))
        yield "mask", replace(mode, xors=((shift, mask ^ (mask & -mask)),))


@pytest.mark.parametrize("mode", MODES, ids=NAMES)
def test_every_changed_entry_of_a_layout_is_noticed(mode):
    for what, changed in mutants(mode):
        rng = random.Random(what)
        bits = mode.widths[-1]
        rows, columns = sizes(mode, bits)
        ldo, sdo, start = (16 * rng.randrange(1, 300) for _ in range(3))
        expected = list(cutlass_walk(mode, bits, ldo, sdo, rows, columns, start))
        assert list(described_walk(changed, bits, ldo, sdo, rows, columns, start)) != expected, what


# --- Triton -----------------------------------------------------------------------------------------------------------


def triton_bytes(vector: Mapping[str, Any]) -> dict[tuple[int, int], int]:
    """The byte of every element of a matrix that Triton lays out."""
    bases, bits = vector["expect"]["linear_layout"]["offset_bases"], vector["inputs"]["element_bitwidth"]
    found: dict[tuple[int, int], int] = {}
    for offset in range(1 << len(bases)):
        chosen = [base for k, base in enumerate(bases) if offset >> k & 1]
        row, column = 0, 0
        for base in chosen:
            row, column = row ^ base[0], column ^ base[1]
        found[row, column] = offset * bits // 8
    return found


def steps(mode: Mode, bits: int, inner: int) -> range:
    """Where the instructions begin along the inner axis: K-major ones every 32 bytes (16 without a swizzle, where a chunk is a line)."""
    return range(0, inner, min(inner, (256 if mode.swizzle else 128) // bits)) if mode.major == "k" else range(0, inner, inner)


def triton_agrees(vector: Mapping[str, Any]) -> bool:
    """Every element of the matrix lies where some descriptor reads it: one for a whole MN-major matrix, one for each step along K."""
    inputs = vector["inputs"]
    bits, width, (rows, columns) = inputs["element_bitwidth"], inputs["swizzle_byte_width"], inputs["shape"]
    major = "mn" if inputs["transposed"] else "k"
    swizzle = {0: 0, 32: 1, 64: 2, 128: 3}[width]
    mode = next(m for m in MODES if (m.major, m.swizzle) == (major, swizzle))
    lines, inner = (rows, columns) if major == "k" else (columns, rows)
    panel, group = lines * mode.span_bytes, mode.lines * mode.span_bytes
    strides = {mode.next_lines: group, mode.next_span or "ldo_bytes": panel}
    expected, each = triton_bytes(vector), mode.elements(bits)
    for first in steps(mode, bits, inner):
        start = first // each * panel + first % each * bits // 8
        count = min(inner, inner if major == "mn" else (256 if swizzle else 128) // bits)
        shape = (lines, count) if major == "k" else (count, lines)
        for row, column, byte in described_walk(mode, bits, strides["ldo_bytes"], strides["sdo_bytes"], *shape, start):
            at = (row, column + first) if major == "k" else (row + first, column)
            if expected[at] != byte:
                return False
    return True


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["id"])
def test_a_shared_matrix_of_triton_lies_where_descriptors_read_it(vector):
    inputs = vector["inputs"]
    bits, width, (rows, columns) = inputs["element_bitwidth"], inputs["swizzle_byte_width"], inputs["shape"]
    inner = (rows if inputs["transposed"] else columns) * bits // 8
    canonical = width > 0 or inner == 16
    assert triton_agrees(vector) == canonical  # without a swizzle Triton's lines are whole rows: canonical only where these are 16 bytes


# --- the words --------------------------------------------------------------------------------------------------------


class GmmaDescriptor(ctypes.LittleEndianStructure):
    """mma_sm90_desc.hpp, bit fields in order."""

    _fields_ = (
        ("start_address_", ctypes.c_uint64, 14), ("p0", ctypes.c_uint64, 2),
        ("leading_byte_offset_", ctypes.c_uint64, 14), ("p1", ctypes.c_uint64, 2),
        ("stride_byte_offset_", ctypes.c_uint64, 14), ("p2", ctypes.c_uint64, 2),
        ("p3", ctypes.c_uint64, 1), ("base_offset_", ctypes.c_uint64, 3), ("p4", ctypes.c_uint64, 4),
        ("p5", ctypes.c_uint64, 6), ("layout_type_", ctypes.c_uint64, 2),
    )  # fmt: skip


class UmmaDescriptor(ctypes.LittleEndianStructure):
    """mma_sm100_desc.hpp, bit fields in order."""

    _fields_ = (
        ("start_address_", ctypes.c_uint64, 14), ("p0", ctypes.c_uint64, 2),
        ("leading_byte_offset_", ctypes.c_uint64, 14), ("p1", ctypes.c_uint64, 2),
        ("stride_byte_offset_", ctypes.c_uint64, 14), ("version_", ctypes.c_uint64, 2),
        ("p2", ctypes.c_uint64, 1), ("base_offset_", ctypes.c_uint64, 3), ("lbo_mode_", ctypes.c_uint64, 1), ("p3", ctypes.c_uint64, 3),
        ("p4", ctypes.c_uint64, 5), ("layout_type_", ctypes.c_uint64, 3),
    )  # fmt: skip


GMMA_TYPES = {0: 0, 3: 1, 2: 2, 1: 3}
"""INTERLEAVE, B128, B64, B32 of SM90::GMMA::LayoutType, by swizzle."""
UMMA_TYPES = {0: 0, 4: 1, 3: 2, 2: 4, 1: 6}
"""SWIZZLE_NONE, SWIZZLE_128B_BASE32B, SWIZZLE_128B, SWIZZLE_64B, SWIZZLE_32B of UMMA::LayoutType, by swizzle."""


def word_of(structure: ctypes.Structure) -> int:
    return int.from_bytes(bytes(structure), "little")


@pytest.mark.parametrize("swizzle", range(5))
def test_words_are_those_of_the_bit_fields_of_cutlass(swizzle):
    rng = random.Random(swizzle)
    for _ in range(20):
        start, ldo, sdo = (rng.randrange(1 << 14) for _ in range(3))
        fields = (16 * ldo, 16 * sdo, swizzle)
        common = {"start_address_": start, "leading_byte_offset_": ldo, "stride_byte_offset_": sdo}
        assert encode(TCGEN05, 16 * start, fields) == word_of(UmmaDescriptor(**common, version_=1, layout_type_=UMMA_TYPES[swizzle]))
        if swizzle < 4:
            assert encode(WGMMA, 16 * start, fields) == word_of(GmmaDescriptor(**common, layout_type_=GMMA_TYPES[swizzle]))


@pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda e: e.name)
def test_a_word_is_read_as_it_was_written(encoding):
    rng = random.Random(encoding.name)
    for swizzle, _ in encoding.codes:
        start, ldo, sdo = (16 * rng.randrange(1 << 14) for _ in range(3))
        found = decode(encoding, encode(encoding, start, (ldo, sdo, swizzle)))
        assert found == {"start_bytes": start, "ldo_bytes": ldo, "sdo_bytes": sdo, "swizzle": swizzle}


def test_an_address_counts_modulo_two_to_the_eighteenth():
    assert encode(WGMMA, (1 << 18) + 64, (16, 1024, 3)) == encode(WGMMA, 64, (16, 1024, 3))


@pytest.mark.parametrize("fields", [(8, 0, 0), (1 << 18, 0, 0), (0, -16, 0), (0, 0, 5), (0, 0, 4)])
def test_a_field_that_does_not_fit_is_not_written(fields):
    with pytest.raises(NotEncodableError):
        encode(WGMMA, 0, fields)


@pytest.mark.parametrize(
    ("encoding", "word", "words"),
    [
        (WGMMA, 1 << 49, "base_offset"),
        (WGMMA, 1 << 46, "bit 46"),
        (WGMMA, 1 << 14, "bit 14"),
        (WGMMA, 1 << 64, "64 bits"),
        (TCGEN05, 0, "version"),
        (TCGEN05, 1 << 46 | 1 << 52, "ldo_mode"),
        (TCGEN05, 1 << 46 | 2 << 49, "base_offset"),
        (TCGEN05, 1 << 46 | 3 << 61, "swizzle"),
        (TCGEN05, 1 << 46 | 1 << 53, "bit 53"),
    ],
)
def test_a_word_that_is_no_descriptor_says_why(encoding, word, words):
    with pytest.raises(NotEncodableError, match=words):
        decode(encoding, word)


def test_no_word_is_one_of_both_encodings():
    wgmma, tcgen05 = encode(WGMMA, 64, (16, 1024, 3)), encode(TCGEN05, 64, (16, 1024, 3))
    for encoding, word in ((TCGEN05, wgmma), (WGMMA, tcgen05)):
        with pytest.raises(NotEncodableError):
            decode(encoding, word)


# --- what is shown ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES, ids=NAMES)
def test_the_layout_shown_is_the_walk(mode):
    bits = mode.widths[-1]
    rows, columns = sizes(mode, bits)
    shown = Walk(mode, {32: "float32", 16: "float16"}[bits], 2048, 1024, rows, columns, 64)
    layout = parse_layout(layout_text(shown))
    extents = [one.extent for one in base_tile(layout).shard]
    assert prod(int(extent) for extent in extents if isinstance(extent, int)) == rows * columns
    located = trace(Tensor("X", (rows, columns), shown.dtype, space="shared", layout=layout))
    found = [(row, column, located.locate((row, column)).bit) for row in range(rows) for column in range(columns)]
    assert [(row, column, int(bit) // 8) for row, column, bit in found if isinstance(bit, int)] == list(shown.elements())


def test_the_cute_text_is_that_of_cute():
    mode = next(m for m in MODES if (m.major, m.swizzle) == ("k", 3))
    assert cute_text(Walk(mode, "float16", 16, 1024, 64, 64, 0)) == "Sw<3,4,3> o smem_ptr[16b](unset) o ((_8,_8),_64):((_64,_512),_1)"
    plain = next(m for m in MODES if (m.major, m.swizzle) == ("mn", 0))
    assert cute_text(Walk(plain, "float16", 128, 256, 64, 16, 0)) == "((_8,_8),(_8,_2)):((_1,_128),(_8,_64))"


def test_the_picture_shows_every_element_that_starts_sixteen_bytes():
    mode = next(m for m in MODES if (m.major, m.swizzle) == ("k", 3))
    lines = as_text(Walk(mode, "float16", 16, 1024, 8, 64, 0)).splitlines()
    grid = lines[lines.index("") + 3 :]
    assert [line.split()[1:] for line in grid] == [[f"{row}.{8 * (k ^ row)}" for k in range(8)] for row in range(8)]
