"""Where tcgen05.cp puts its rows, and how it widens packed values, against the layouts of CUTLASS and the simulator's bytes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simulator.cute import COPIES
from tests.simulator.transfers import decompressed
from tilecheck.contracts.tmem_copy import GRAMMAR, PACKED
from tilecheck.spec import Contract, Memory, TensorMemory, Unpacking, data, find_contract
from tilecheck.spec.tmem import CELL_BITS, COLUMNS, LANES
from tilecheck.symbolic import terms


def contract(shape: str, packing: str = "", group: int = 1) -> Contract:
    found = find_contract(f"tcgen05.cp.cta_group::{group}.{shape}{packing}")
    assert isinstance(found, Contract)
    return found


def target(form: Contract) -> TensorMemory:
    found = form.operands[0]
    assert isinstance(found, TensorMemory)
    return found


@pytest.mark.parametrize("shape", COPIES)
def test_every_row_goes_to_the_lanes_of_cutlass(shape: str) -> None:
    form = contract(shape)
    operand, (rows, words) = target(form), form.suffix
    image = COPIES[shape].image()  # [row, replica] -> lane
    assert image.shape == (rows, len(operand.shifts))
    for row in range(rows):
        lanes = sorted(terms.evaluate(operand.lane, {"row": row}) + shift for shift in operand.shifts)
        assert lanes == sorted(image[row].tolist())
        assert lanes[-1] < LANES
        assert [terms.evaluate(operand.column, {"row": row, "word": word}) for word in range(words)] == list(range(words))


@pytest.mark.parametrize("qualifiers", list(GRAMMAR.legal()), ids=GRAMMAR.spell)
def test_what_all_forms_have_in_common(qualifiers: dict[str, str]) -> None:
    form = find_contract(GRAMMAR.spell(qualifiers))
    assert isinstance(form, Contract)
    source = form.operands[1]
    assert isinstance(source, Memory)
    assert source.described is not None
    assert {mode.swizzle for mode in source.described.modes} == {0, 1, 2, 3}
    assert {mode.major for mode in source.described.modes} == {"k"}
    assert form.suffix[1] * CELL_BITS == int(qualifiers["shape"].split("x")[1][:-1])
    assert form.suffix[0] == int(qualifiers["shape"].split("x")[0])
    assert (form.single, form.pair, form.collective) == (True, qualifiers["group"] == "cta_group::2", "thread")
    assert form.shared is not None
    assert form.shared.alike == (("cta_group", f".{qualifiers['group']}"),)
    assert form.shared.pool.columns == COLUMNS
    assert data(form)["move"]["unpacks" if qualifiers["packed"] else "dst"]  # type: ignore[index,call-overload]


def widened(one: Unpacking, block: bytes) -> bytes:
    """What the contract says of a block of 16 bytes."""
    number = int.from_bytes(block, "little")
    return bytes((number >> one.bits * k & (1 << one.bits) - 1) << one.low for k in range(16))


@pytest.mark.parametrize("packing", PACKED)
def test_packed_values_become_bytes(packing: str) -> None:
    rows = np.random.default_rng(8).integers(0, 256, (4, 32), dtype=np.uint8)
    wanted = decompressed(rows, f".b8x16.{packing}")
    for row in range(4):
        for start in (0, 16):
            assert widened(PACKED[packing], rows[row, start : start + 16].tobytes()) == wanted[row, start : start + 16].tobytes()


def test_padding_and_values_fill_a_block() -> None:
    """.p64 and .p32 say the bits of padding; 4 bits gain two zeros below, 6 bits two above."""
    for name, one in PACKED.items():
        assert one.bits * 16 + int(name.partition("_p")[2]) == 128
        assert one.bits + one.low == 6
        assert name.startswith(f"b{one.bits}x16")
