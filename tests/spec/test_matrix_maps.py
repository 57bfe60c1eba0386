"""The maps of ldmatrix, stmatrix and movmatrix against sources that know nothing of the contracts.

Each map has two: the equations of the PTX ISA (9.7.14.5.15 to .17, and the fragments of mma with 8-bit types, for which these forms exist), and the
layouts of CUTLASS 4.x (cute/atom/copy_traits_sm75.hpp, sm100; BSD-3-Clause), transcribed as numbers: thread and value to bit, first mode fastest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tilecheck.evaluate.expressions import term
from tilecheck.spec import Contract, data, find_contract

ATOM = Path(__file__).parent.parent / "data" / "vectors" / "atoms" / "nv_SM80_16x8x16_S32S8S8S32_TN.json"
LDMATRIX_8 = [
    f"ldmatrix.sync.aligned.{shape}.{num}{trans}.shared.{kind}"
    for shape, trans, numbers, kinds in (
        ("m16n16", ".trans", ("x1", "x2"), ("b8", "b8x16.b6x16_p32", "b8x16.b4x16_p64")),
        ("m8n16", "", ("x1", "x2", "x4"), ("b8x16.b6x16_p32", "b8x16.b4x16_p64")),
    )
    for num in numbers
    for kind in kinds
]
STMATRIX_8 = [f"stmatrix.sync.aligned.m16n8.{num}.trans.shared.b8" for num in ("x1", "x2", "x4")]
MOVMATRIX = "movmatrix.sync.aligned.m8n8.trans.b16"
Held = tuple[int, int, int]  # lane, register, bit
Stored = tuple[int, int]  # lane that gives the address of the row, bit of the row


@cache
def contract(opcode: str) -> Any:
    found = find_contract(opcode)
    assert isinstance(found, Contract), opcode
    return json.loads(json.dumps(data(found)))


def operand(opcode: str, kind: str) -> Mapping[str, Any]:
    return next(one for one in contract(opcode)["operands"] if one["kind"] == kind)


def points(axes: Sequence[tuple[str, int]]) -> Iterator[dict[str, int]]:
    for values in product(*(range(extent) for _, extent in axes)):
        yield dict(zip((name for name, _ in axes), values, strict=True))


def units(opcode: str) -> Iterator[tuple[dict[str, int], dict[str, int] | None, int]]:
    """(destination, source or None for zero, bits) of every unit; both by axis name, with the unit's first bit in its word under `bit`."""
    form = contract(opcode)
    atom, parts = form["atom"], form["move"]["parts"]
    bits = 32
    for _, extent in parts:
        bits //= extent
    for at in points([*atom, *parts]):
        source = None
        if not term(form["move"].get("zero", False), at):
            values = [term(one, at) for one in form["move"]["source"]]
            source = placed(dict(zip(at, values, strict=True)), parts, bits)
        yield placed(at, parts, bits), source, bits


def placed(at: dict[str, int], parts: Sequence[tuple[str, int]], bits: int) -> dict[str, int]:
    number = 0
    for name, extent in parts:
        assert 0 <= at[name] < extent
        number = number * extent + at[name]
    return at | {"bit": bits * number}


def held(opcode: str, at: Mapping[str, int]) -> Held:
    one = operand(opcode, "register")
    return term(one["lane"], at), term(one["register"], at), at["bit"]


def stored(opcode: str, at: Mapping[str, int]) -> Stored:
    return term(operand(opcode, "memory")["provider"], at), 32 * at["word"] + at["bit"]


@cache
def loaded(opcode: str) -> dict[Held, Stored | None]:
    """For every bit of every register: the bit of a shared row that it is loaded from, None where it is cleared."""
    found: dict[Held, Stored | None] = {}
    for target, source, bits in units(opcode):
        lane, register, first = held(opcode, target)
        for k in range(bits):
            origin = None if source is None else stored(opcode, source)
            found[lane, register, first + k] = origin and (origin[0], origin[1] + k)
    return found


@cache
def written(opcode: str) -> dict[Stored, Held]:
    """For every bit of every shared row: the register bit that is stored there."""
    found: dict[Stored, Held] = {}
    for target, source, bits in units(opcode):
        assert source is not None
        (row, first), (lane, register, bit) = stored(opcode, target), held(opcode, source)
        found.update({(row, first + k): (lane, register, bit + k) for k in range(bits)})
    return found


def packed(opcode: str) -> int:
    """The bits of an element in memory."""
    return 6 if "b6x16" in opcode else 4 if "b4x16" in opcode else 8


def count(opcode: str) -> int:
    return int(opcode.split(".")[4][1:])


# --- CUTLASS ---------------------------------------------------------------------------------------------------------


def offset(modes: Sequence[tuple[int, int]], index: int) -> int:
    """A layout of (extent, stride) modes, the first fastest; the last takes what remains."""
    total = 0
    for k, (extent, stride) in enumerate(modes):
        digit = index % extent if k < len(modes) - 1 else index
        index //= extent
        total += digit * stride
    return total


SHUFFLED = (0, 0), (0, 1), (1, 0), (1, 1)
"""SM100_U8x8_LDSM_T gives bytes (register, byte) of the instruction to byte k of its first register, those with byte + 2 to its second."""
SM100_U8xN_LDSM_T = {
    1: {"src": ((2, 128), (2, 1024), (4, 256), (2, 0)), "lane": ((4, 256), (8, 8)), "value": ((8, 1), (2, 128), (2, 64), (2, 1024))},
    2: {"src": ((2, 128), (2, 1024), (4, 256), (2, 2048)), "lane": ((4, 256), (8, 8)), "value": ((8, 1), (2, 128), (2, 64), (4, 1024))},
}
SM100_SUx_DU8x16_LDSM_N = {
    1: {"src": ((8, 128), (4, 0)), "lane": ((32, 32),), "value": ((32, 1),)},
    2: {"src": ((16, 128), (2, 0)), "lane": ((32, 32),), "value": ((32, 1), (2, 1024))},
    4: {"src": ((32, 128),), "lane": ((32, 32),), "value": ((32, 1), (4, 1024))},
}
SM100_U8xN_STSM_T = {
    1: {"dst": ((8, 128), (4, 0)), "lane": ((4, 256), (8, 8)), "value": ((8, 1), (2, 128), (2, 64))},
    2: {"dst": ((16, 128), (2, 0)), "lane": ((4, 256), (8, 8)), "value": ((8, 1), (2, 128), (2, 64), (2, 1024))},
    4: {"dst": ((32, 128),), "lane": ((4, 256), (8, 8)), "value": ((8, 1), (2, 128), (2, 64), (4, 1024))},
}


def rows_of(modes: Sequence[tuple[int, int]]) -> dict[int, int]:
    """The bit at which the row of each lane begins -> the first lane that has it."""
    found: dict[int, int] = {}
    for lane in range(32):
        found.setdefault(offset(modes, lane), lane)
    return found


def cute_element(layout: Mapping[str, Any], rows: str, lane: int, value: int) -> tuple[int, int]:
    """(lane of the row, 8-bit column) behind bit `value` of a lane's registers."""
    bit = offset(layout["lane"], lane) + offset(layout["value"], value)
    return rows_of(layout[rows])[bit // 128 * 128], bit % 128 // 8


@pytest.mark.parametrize("opcode", LDMATRIX_8)
def test_a_load_of_bytes_is_that_of_cutlass(opcode):
    wide = ".m16n16." in opcode
    layout = (SM100_U8xN_LDSM_T if wide else SM100_SUx_DU8x16_LDSM_N)[count(opcode)]
    for lane, register, byte in product(range(32), range((2 if wide else 1) * count(opcode)), range(4)):
        value = 32 * register + 8 * byte
        if wide:
            k = next(k for k in range(4) if SHUFFLED[k] == (register % 2, byte % 2))
            value = 32 * (2 * (register // 2) + byte // 2) + 8 * k
        assert first_bit(opcode, lane, register, byte) == element_bit(opcode, *cute_element(layout, "src", lane, value))


def first_bit(opcode: str, lane: int, register: int, byte: int) -> Stored:
    origin = loaded(opcode)[lane, register, 8 * byte]
    assert origin is not None
    return origin


def element_bit(opcode: str, row: int, column: int) -> Stored:
    """The first bit of element `column` of a packed row."""
    return row, packed(opcode) * column


@pytest.mark.parametrize("opcode", STMATRIX_8)
def test_a_store_of_bytes_is_that_of_cutlass(opcode):
    layout = SM100_U8xN_STSM_T[count(opcode)]
    for lane, register, byte in product(range(32), range(count(opcode)), range(4)):
        row, column = cute_element(layout, "dst", lane, 32 * register + 8 * byte)
        assert written(opcode)[row, 8 * column] == (lane, register, 8 * byte)


# --- the ISA ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opcode", LDMATRIX_8)
def test_a_load_of_bytes_follows_the_equations_of_the_isa(opcode):
    """m16n16: four threads hold a row, each four consecutive columns, across rows g and g + 8; .trans: columns of the stored matrix. m8n16: row g."""
    wide = ".m16n16." in opcode
    each = 2 if wide else 1
    for lane, register, byte in product(range(32), range(each * count(opcode)), range(4)):
        matrix, row, column = register // each, lane // 4 + 8 * (register % each), 4 * (lane % 4) + byte
        at, element = (column, row) if wide else (row, column)
        assert first_bit(opcode, lane, register, byte) == element_bit(opcode, (16 if wide else 8) * matrix + at, element)


@pytest.mark.parametrize("opcode", STMATRIX_8)
def test_a_store_of_bytes_follows_the_accumulator_of_the_isa(opcode):
    """The four elements of a register are those of an m16n8 accumulator: row g or g + 8, column 2q + (i & 1); stored column by column."""
    for lane, register, i in product(range(32), range(count(opcode)), range(4)):
        row, column = lane // 4 + (8 if i >= 2 else 0), 2 * (lane % 4) + (i & 1)
        assert written(opcode)[8 * register + column, 8 * row] == (lane, register, 8 * i)


@cache
def fragment(name: str) -> list[list[list[int]]]:
    """table[lane][value] = [row, column] of an operand of mma.m16n8k16 with 8-bit types."""
    return json.loads(ATOM.read_text(encoding="utf-8"))["operands"][name]["table"]


def test_a_loaded_transpose_is_the_a_fragment_of_an_mma():
    opcode = "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8"
    for lane, value in product(range(32), range(8)):
        row, column = fragment("A")[lane][value]
        assert first_bit(opcode, lane, value // 4, value % 4) == (column, 8 * row)


def test_a_loaded_8x16_matrix_is_the_b_fragment_of_an_mma():
    opcode = "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32"
    for lane, value in product(range(32), range(4)):
        n, k = fragment("B")[lane][value]
        assert first_bit(opcode, lane, 0, value) == (n, 6 * k)


def test_a_stored_16x8_matrix_is_the_c_fragment_of_an_mma():
    opcode = "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8"
    for lane, value in product(range(32), range(4)):
        row, column = fragment("C")[lane][value]
        assert written(opcode)[column, 8 * row] == (lane, 0, 8 * value)


# --- expansion -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opcode", LDMATRIX_8)
def test_a_byte_holds_its_element_in_its_low_bits_and_zeros_above(opcode):
    for (lane, register, bit), origin in loaded(opcode).items():
        if bit % 8 >= packed(opcode):
            assert origin is None
        else:
            row, first = first_bit(opcode, lane, register, bit // 8)
            assert origin == (row, first + bit % 8)


@pytest.mark.parametrize("opcode", [opcode for opcode in LDMATRIX_8 if "m8n16.x1" in opcode])
def test_four_lanes_unpack_a_row_as_integer_arithmetic_does(opcode):
    bits, row = packed(opcode), 0x0123456789ABCDEF_FEDCBA9876543210
    for lane in range(4):
        word = sum((row >> origin[1] & 1) << bit for (at, _, bit), origin in loaded(opcode).items() if at == lane and origin)
        elements = [row >> bits * (4 * lane + k) & (1 << bits) - 1 for k in range(4)]
        assert word.to_bytes(4, "little") == bytes(elements)


def test_shifting_a_4_bit_fragment_left_by_two_centres_every_element():
    """What CUTLASS (fp4_shift_A, mma_traits_sm120.hpp) does before an mma that wants the element in bits 2 to 5: no bit crosses into another byte."""
    centred = {bit + 2 for (_, _, bit), origin in loaded("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64").items() if origin}
    assert centred == {8 * byte + bit for byte in range(4) for bit in range(2, 6)}


@pytest.mark.parametrize("opcode", LDMATRIX_8)
def test_every_packed_bit_is_loaded_once_and_padding_never(opcode):
    origins = [origin for origin in loaded(opcode).values() if origin is not None]
    rows = (16 if ".m16n16." in opcode else 8) * count(opcode)
    assert sorted(origins) == [(row, bit) for row in range(rows) for bit in range(16 * packed(opcode))]


@pytest.mark.parametrize("opcode", STMATRIX_8)
def test_every_register_bit_is_stored_once(opcode):
    assert sorted(written(opcode).values()) == list(product(range(32), range(count(opcode)), range(32)))
    assert len(written(opcode)) == 8 * count(opcode) * 128


# --- movmatrix -------------------------------------------------------------------------------------------------------


def moved() -> dict[tuple[int, int], tuple[int, int]]:
    """(lane, bit) of the destination -> (lane, bit) of the source."""
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for target, source, bits in units(MOVMATRIX):
        assert source is not None
        (lane, _, bit), (origin, _, first) = held(MOVMATRIX, target), held(MOVMATRIX, source)
        found.update({(lane, bit + k): (origin, first + k) for k in range(bits)})
    return found


def test_movmatrix_follows_the_isa():
    """Lane l holds columns 2q and 2q + 1 of row g of the input, and rows 2q and 2q + 1 of column g of it in the result."""
    inputs = {(lane // 4, 2 * (lane % 4) + half): (lane, 16 * half) for lane in range(32) for half in range(2)}
    for lane, half, bit in product(range(32), range(2), range(16)):
        origin, first = inputs[2 * (lane % 4) + half, lane // 4]
        assert moved()[lane, 16 * half + bit] == (origin, first + bit)


def shuffled(values: Sequence[int], lane: int) -> int:
    """movmatrix by two shuffles, as ggml writes it for GPUs without it (ggml-cuda/mma.cuh, MIT; TileLang has the same): lanes and shifts."""
    low, column = 2 * (lane % 4), lane // 4
    one = values[4 * low + column // 2] >> column % 2 * 16 & 0x0000FFFF
    two = values[4 * (low + 1) + column // 2] << (column + 1) % 2 * 16 & 0xFFFF0000
    return one | two


def test_movmatrix_is_two_shuffles():
    values = [(0x9E3779B1 * (lane + 1)) & 0xFFFFFFFF for lane in range(32)]
    for lane in range(32):
        word = sum((values[origin] >> first & 1) << bit for (at, bit), (origin, first) in moved().items() if at == lane)
        assert word == shuffled(values, lane)
