"""The tables of tcgen05.mma against independent ones: words put together by hand, shapes by other rules, factors of Triton, lanes by CuTe-style layouts."""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.prove.tcgen05_documents import mma
from tilecheck.contracts.tcgen05_kinds import instruction_word
from tilecheck.contracts.tcgen05_mma import GRAMMAR, sizes
from tilecheck.contracts.tcgen05_places import data_paths
from tilecheck.document import read_call
from tilecheck.fitting import contract_for
from tilecheck.sizing import of_shape, word_values
from tilecheck.spec import READINGS, Contract, TensorMemory, find_contract
from tilecheck.spec.descriptor import NotEncodableError
from tilecheck.spec.instruction import decode_word, encode_word
from tilecheck.symbolic import evaluate

VECTORS = json.loads((Path(__file__).parent.parent / "data" / "vectors" / "tmem.json").read_text(encoding="utf-8"))["vectors"]
ONE, PAIR, WS = "tcgen05.mma.cta_group::1.kind::", "tcgen05.mma.cta_group::2.kind::", "tcgen05.mma.ws.cta_group::1.kind::"


def read(opcode: str) -> dict[str, str]:
    found = GRAMMAR.read(opcode)
    assert isinstance(found, dict)
    return found


def word_of(document: dict[str, Any], **bytes_: int) -> int:
    call = read_call(document)
    contract = contract_for(call)
    assert contract is not None
    assert contract.word is not None
    found = encode_word(contract.word, word_values(call, contract, dict(bytes_)))
    assert isinstance(found, int)
    return found


# bits as mma_sm100_desc.hpp has them: sparse 2, saturate 3, D 4-5, A 7-9, B 10-12, negate 13 14, major 15 16, N>>3 17-22, M>>4 24-28, shift 30-31;
# with factors: SFB id 4-5, scale type 23, SFA id 29-30, K 31
WORDS = {
    "f16 128x256 f32": (mma(f"{ONE}f16", 128, 256), {}, 1 << 4 | 32 << 17 | 8 << 24),
    "bf16 64x64 f32, B along N, -A": (
        mma(f"{ONE}f16", 64, 64, dtype="bfloat16", parameters={"b_major": "mn", "neg_a": True}), {},
        1 << 4 | 1 << 7 | 1 << 10 | 1 << 13 | 1 << 16 | 8 << 17 | 4 << 24),
    "f16 sums": (mma(f"{ONE}f16", 64, 8, sums="float16"), {}, 1 << 17 | 4 << 24),
    "tf32 pair 256x32": (mma(f"{PAIR}tf32", 256, 32), {}, 1 << 4 | 2 << 7 | 2 << 10 | 4 << 17 | 16 << 24),
    "e5m2 and e4m3": (mma(f"{ONE}f8f6f4", 64, 8, dtype="bits8", parameters={"a_format": "e5m2", "b_format": "e4m3"}), {}, 1 << 4 | 1 << 7 | 1 << 17 | 4 << 24),
    "e2m3, e3m2": (mma(f"{ONE}f8f6f4", 64, 8, dtype="bits8", parameters={"a_format": "e2m3", "b_format": "e3m2"}), {}, 1 << 4 | 3 << 7 | 4 << 10 | 1 << 17 | 4 << 24),
    "e2m1 in bytes": (mma(f"{ONE}f8f6f4", 64, 8, dtype="bits8", parameters={"a_format": "e2m1", "b_format": "e2m1"}), {}, 1 << 4 | 5 << 7 | 5 << 10 | 1 << 17 | 4 << 24),
    "s8 saturated": (mma(f"{ONE}i8", 64, 16, parameters={"sat_d": True}), {}, 1 << 3 | 2 << 4 | 1 << 7 | 1 << 10 | 2 << 17 | 4 << 24),
    "u8": (mma(f"{ONE}i8", 128, 16, dtype="uint8"), {}, 2 << 4 | 2 << 17 | 8 << 24),
    "ws 32x64": (mma(f"{WS}f16", 32, 64), {}, 1 << 4 | 8 << 17 | 2 << 24),
    "sparse f16": (mma("tcgen05.mma.sp.cta_group::1.kind::f16", 128, 16), {}, 1 << 2 | 1 << 4 | 2 << 17 | 8 << 24),
    "mxf8 128x128, ids 2 and 1": (mma(f"{ONE}mxf8f6f4.block_scale", 128, 128), {"sfa": 2, "sfb": 1}, 1 << 4 | 16 << 17 | 1 << 23 | 1 << 27 | 2 << 29),
    "mxf4 256x64 of a pair, id 2": (mma(f"{PAIR}mxf4.block_scale", 256, 64), {"sfa": 2, "sfb": 0}, 1 << 7 | 1 << 10 | 8 << 17 | 1 << 23 | 2 << 27 | 2 << 29),
    "mxf4, K 96": (mma(f"{PAIR}mxf4.block_scale", 256, 64, k=96), {"sfa": 0, "sfb": 0}, 1 << 7 | 1 << 10 | 8 << 17 | 1 << 23 | 2 << 27 | 1 << 31),
}  # fmt: skip


@pytest.mark.parametrize("what", WORDS)
def test_words_are_those_put_together_by_hand(what: str):
    document, bytes_, wanted = WORDS[what]
    assert word_of(document, **bytes_) == wanted
    word = instruction_word(read(document["opcode"]))
    assert encode_word(word, decode_word(word, wanted)) == wanted


def test_what_a_word_cannot_hold_is_refused():
    word = instruction_word(read(f"{ONE}f16"))
    for bad in ({"n": 64}, {"m": -1}, {"sparse": 1}, {"no_field": 0}):
        with pytest.raises(NotEncodableError):
            encode_word(word, bad)
    for number in (1 << 32, -1, 1 << 6, 1 << 30, 1 << 2):
        with pytest.raises(NotEncodableError):
            decode_word(word, number)


def legal(opcode: str, m: int, n: int, k: int, reading: str, *, shared: bool = True) -> bool:
    return any(size.has((m, n, k)) for size in sizes(read(opcode), reading, shared=shared))


def wanted(kind: str, group: int, m: int, n: int, reading: str, *, shared: bool) -> bool:
    """Whether documents take M and N, by ruling 25 and disagreement 1: steps rather than lists."""
    fine = reading == "isa" or (reading == "cutlass" and shared)
    if kind.startswith("mx"):
        return m in ((128, 256) if group == 2 else (128,)) and n % (8 * group) == 0
    if m not in {64 * group, 128 * group}:
        return False
    if group == 2:
        return n % (16 if fine and kind != "i8" else 32) == 0
    if kind == "i8":
        return n == 8 or n % 16 == 0 or (n == 24 and reading in {"isa", "tirx"})
    return n % (16 if m == 128 and not fine else 8) == 0


@pytest.mark.parametrize("reading", ["", *READINGS])
@pytest.mark.parametrize(
    ("kind", "k"), [("f16", 16), ("tf32", 8), ("f8f6f4", 32), ("i8", 32), ("mxf8f6f4.block_scale", 32), ("mxf4.block_scale", 64)]
)
def test_every_m_and_n_by_the_steps(kind: str, k: int, reading: str):
    for group, opcode in ((1, ONE), (2, PAIR)):
        for m, n in product((16, 32, 64, 96, 128, 192, 256, 512), range(4, 289, 4)):
            for shared in (True, False):
                found = legal(opcode + kind, m, n, k, reading, shared=shared)
                assert found == (n <= 256 and wanted(kind, group, m, n, reading, shared=shared)), (kind, group, m, n, shared)
            assert not legal(opcode + kind, m, n, k // 2, reading)


def test_stationary_shapes():
    found = {(m, n) for m, n in product((16, 32, 64, 128, 256), range(8, 513, 8)) if legal(f"{WS}f16", m, n, 16, "")}
    assert found == set(product((32, 64, 128), (64, 128, 256)))


def fitted(document: dict[str, Any], name: str) -> TensorMemory:
    contract = contract_for(read_call(document))
    assert contract is not None
    found = next(o for o in contract.operands if o.name == name)
    assert isinstance(found, TensorMemory)
    return found


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["op"] == "tmem_scales"], ids=lambda v: v["id"])
def test_factors_lie_as_triton_has_them(vector: dict[str, Any]):
    """Each row of a table of factors, four (of K) at a time: the bit of a lane or of a byte column moves a coordinate."""
    layout = vector["expect"]["linear_layout"]
    rows, columns = vector["inputs"]["shape"]
    for m, name in ((128, "sfa"), (rows, "sfb")):
        operand = fitted(mma(f"{ONE}mxf4nvf4.block_scale.scale_vec::4X", 128, max(m, 8) if name == "sfb" else 8), name)
        count = 128 if name == "sfa" else rows
        places: dict[tuple[int, int], set[tuple[int, int]]] = {}
        for lane, byte in product(range(1 << len(layout["rows"])), range(1 << len(layout["cols"]))):
            at = [0, 0]
            for bits, bases in ((lane, layout["rows"]), (byte, layout["cols"])):
                for k, basis in enumerate(bases):
                    if bits >> k & 1:
                        at = [a ^ b for a, b in zip(at, basis, strict=True)]
            places.setdefault((at[0], at[1]), set()).add((lane, byte))
        assert columns % 4 == 0
        axis = "row" if name == "sfa" else "column"
        for row, factor in product(range(min(count, rows)), range(4)):
            own = {axis: row, "factor": factor}
            lane, byte = evaluate(operand.lane, own), evaluate(operand.column, own)
            assert {(lane + shift, byte) for shift in operand.shifts} == places[row, factor], (row, factor)


def linear(number: int, bases: list[list[int]]) -> tuple[int, int]:
    """The coordinates that the bits of a number move to."""
    at = [0, 0]
    for bit, basis in enumerate(bases):
        if number >> bit & 1:
            at = [a ^ b for a, b in zip(at, basis, strict=True)]
    return at[0], at[1]


@cache
def block(m: int, n: int, step: int) -> tuple[tuple[int, ...], dict[tuple[int, int], tuple[int, int]]]:
    """The lanes in which D of one instruction may start, and for each element how many lanes and elements it lies behind the first."""
    contract = find_contract(f"{ONE}f16")
    assert isinstance(contract, Contract)
    form = next(one for one in (contract, *contract.variants) if one.operands[0].bits == 32 // step)
    d = of_shape(form, (m, n, 16)).operands[0]
    assert isinstance(d, TensorMemory)
    points = [{"row": row, "column": column} for row, column in product(range(m), range(n))]
    return d.first_lanes, {(at["row"], at["column"]): (evaluate(d.lane, at), evaluate(d.column, at)) for at in points}


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["op"] == "tmem"], ids=lambda v: v["id"])
def test_every_block_of_an_accumulator_lies_as_triton_has_it(vector: dict[str, Any]):
    """From the first element of a block on, D of one instruction of its size; every second column: numbers of 16 bits in the low halves."""
    inputs, layout = vector["inputs"], vector["expect"]["linear_layout"]
    m, n = inputs["block"]
    lanes, behind = block(m, n, inputs["col_stride"])
    places: dict[tuple[int, int], tuple[int, int]] = {}
    for lane, column in product(range(1 << len(layout["rows"])), range(1 << len(layout["cols"]))):
        (a, b), (c, e) = linear(lane, layout["rows"]), linear(column, layout["cols"])
        places.setdefault((a ^ c, b ^ e), (lane, column))
    looked = 0
    for top, left in product(range(0, inputs["shape"][0], m), range(0, inputs["shape"][1], n)):
        first = places[top, left]
        assert first[0] in lanes
        for (row, column), (down, right) in behind.items():
            assert places[top + row, left + column] == (first[0] + down, first[1] + right), (top + row, left + column)
            looked += 1
    assert looked == inputs["shape"][0] * inputs["shape"][1]


def cute(path: str, n: int, row: int, column: int) -> tuple[int, int]:
    """(lane, column) by the layouts of tmem_frg and tmem_frg_ws: (shape):(stride) over row and column, a lane 1, a column 128 lanes away."""
    layouts: dict[str, tuple[list[tuple[int, int]], list[tuple[int, int]]]] = {
        "A": ([(128, 1)], [(n, 128)]),
        "B": ([(64, 1)], [(n // 2, 128), (2, 64)]),
        "C": ([(16, 1), (4, 32)], [(n, 128)]),
        "D": ([(128, 1)], [(n, 128)]),
        "E": ([(64, 1)], [(n // 2, 128), (2, 64)]),
        "F": ([(16, 1), (4, 32)], [(n, 128)]),
        "G": ([(32, 1)], [(n // 4, 128), (4, 32)]),
    }
    address = 0
    for coordinate, digits in zip((row, column), layouts[path], strict=True):
        rest = coordinate
        for extent, stride in digits:
            address += rest % extent * stride
            rest //= extent
    return address % 128, address // 128


@pytest.mark.parametrize(("opcode", "m", "n"), [
    (f"{ONE}f16", 64, 24), (f"{ONE}f16", 128, 256), (f"{PAIR}f16", 128, 96), (f"{PAIR}f16", 256, 32),
    (f"{WS}f16", 32, 64), (f"{WS}f16", 64, 128), (f"{WS}f16", 128, 64),
])  # fmt: skip
def test_data_paths_are_those_of_cute(opcode: str, m: int, n: int):
    group = int(opcode.split("cta_group::")[1][0])
    for sums, step in (("float32", 1), ("float16", 2)):
        operand = fitted(mma(opcode, m, n, sums=sums), "d")
        for row, column in product(range(m // group), range(n)):
            at = {"row": row, "column": column}
            lane, cell = cute(data_paths(read(opcode))[m], n, row, column)
            assert (evaluate(operand.lane, at), evaluate(operand.column, at)) == (lane, step * cell)
