"""The fragments of wgmma against the formulas of the ISA, the traits of CUTLASS and the layouts of Triton, element by element."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from tilecheck.contracts.wgmma import BITS, EVERY, FEW, GRAMMAR, ROWS, shape_of
from tilecheck.spec import Contract, Entries, Memory, Register, data, find_contract
from tilecheck.symbolic import terms

VECTORS = json.loads((Path(__file__).parent.parent / "data" / "vectors" / "wgmma.json").read_text(encoding="utf-8"))
KINDS = {"f16": "f16.f16", "bf16": "bf16.bf16", "tf32": "tf32.tf32", "e4m3": "e4m3.e5m2", "s8": "s8.u8", "b1": "b1.b1.and.popc"}
SUMS = {"f16": ("f16", "f32"), "e4m3": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "s8": ("s32",), "b1": ("s32",)}


def opcode(kind: str, n: int, d: str) -> str:
    return f"wgmma.mma_async.sync.aligned.m64n{n}k{256 // BITS[kind]}.{d}.{KINDS[kind]}"


FORMS = [
    (kind, n, d) for kind in KINDS for d in SUMS[kind] for n in ((8, 24, 64, 96, 128, 256) if d == "f32" and kind == "f16" else (8, 48))
]


def contract(spelling: str, *, registers: bool = False) -> Contract:
    found = find_contract(spelling)
    assert isinstance(found, Contract), found
    return found.variants[0] if registers else found


def entries(form: Contract, side: Entries) -> list[tuple[tuple[int, ...], dict[str, int]]]:
    """As `_entries`, once for each form and operand."""
    key = (form.opcode, side.operand, next(isinstance(o, Register) for o in form.operands if o.name == side.operand))
    if key not in KNOWN:
        KNOWN[key] = list(_entries(form, side))
    return KNOWN[key]


KNOWN: dict[tuple[str, str, bool], list[tuple[tuple[int, ...], dict[str, int]]]] = {}


def _entries(form: Contract, side: Entries) -> Iterator[tuple[tuple[int, ...], dict[str, int]]]:
    """Every entry: its thread, register and number in the register (its element and number in the element, in memory), and its indices."""
    operand = next(o for o in form.operands if o.name == side.operand)
    axes = form.atom_of(operand)
    for atom in product(*(range(axis.extent) for axis in axes)):
        point = dict(zip((axis.name for axis in axes), atom, strict=True))
        where = atom
        if isinstance(operand, Register):
            assert operand.lane is not None
            where = (terms.evaluate(operand.lane, point), terms.evaluate(operand.register, point))
        for number in range(side.parts[0].extent if side.parts else 1):
            here = {**point, "part": number}
            yield (*where, number), {name: terms.evaluate(term, here) for name, term in side.at}


def sides(form: Contract) -> dict[str, Entries]:
    assert form.product is not None
    return {"A": form.product.left, "B": form.product.right, "D": form.product.dst}


INDICES = {"A": ("m", "k"), "B": ("n", "k"), "D": ("m", "n")}


@pytest.mark.parametrize(("kind", "n", "d"), FORMS)
@pytest.mark.parametrize("registers", [False, True])
def test_every_operand_is_a_bijection_onto_its_matrix(kind, n, d, registers):
    form = contract(opcode(kind, n, d), registers=registers)
    extents = {"A": (ROWS, 256 // BITS[kind]), "B": (n, 256 // BITS[kind]), "D": (ROWS, n)}
    for name, side in sides(form).items():
        found = list(entries(form, side))
        assert len({where for where, _ in found}) == len(found)
        assert sorted(tuple(at[index] for index in INDICES[name]) for _, at in found) == list(product(*map(range, extents[name])))
        if isinstance(next(o for o in form.operands if o.name == side.operand), Register):
            held = {thread: {(register, number) for (one, register, number), _ in found if one == thread} for thread in (0, 31, 32, 127)}
            assert {where[0] for where, _ in found} == set(range(128))
            assert all(one == held[0] for one in held.values())


def isa(name: str, bits: int, thread: int, register: int, number: int) -> tuple[int, int]:
    """Row and column of an element of D or of A in registers, PTX ISA 9.7.15.5.1, in one form."""
    warp, lane = divmod(thread, 32)
    row = 16 * warp + lane // 4
    if name == "A":
        return row + 8 * (register % 2), 32 // bits * (lane % 4 + 4 * (register // 2)) + number
    if bits == 16:
        return row + 8 * (register % 2), 8 * (register // 2) + 2 * (lane % 4) + number
    return row + 8 * (register // 2 % 2), 8 * (register // 4) + 2 * (lane % 4) + register % 2


@pytest.mark.parametrize(("kind", "n", "d"), FORMS)
def test_every_element_of_registers_is_where_the_isa_puts_it(kind, n, d):
    form = contract(opcode(kind, n, d), registers=True)
    for name, bits in (("A", BITS[kind]), ("D", 16 if d == "f16" else 32)):
        for (thread, register, number), at in entries(form, sides(form)[name]):
            assert tuple(at[index] for index in INDICES[name]) == isa(name, bits, thread, register, number)


@pytest.mark.parametrize("atom", VECTORS["atoms"])
def test_cutlass_has_the_same_operands(atom):
    vector, kind = VECTORS["atoms"][atom], "f16" if "F16F16" in atom else "tf32"
    form = contract(opcode(kind, 64, "f32"))
    found = {(thread, register): (at["m"], at["n"]) for (thread, register, _), at in entries(form, sides(form)["D"])}
    assert found == {(t, v): tuple(place) for t, values in enumerate(vector["C"]) for v, place in enumerate(values)}
    for name in "AB":  # one table for all threads: the whole matrix
        (whole,) = vector[name]
        assert sorted(map(tuple, whole)) == sorted(
            tuple(at[index] for index in INDICES[name]) for _, at in entries(form, sides(form)[name])
        )


def linear(bases: list[list[int]], index: int) -> tuple[int, int]:
    picked = [base for bit, base in enumerate(bases) if index >> bit & 1]
    return sum(base[0] for base in picked), sum(base[1] for base in picked)


@pytest.mark.parametrize("vector", VECTORS["gluon"], ids=lambda vector: vector["id"])
def test_triton_has_the_same_fragments(vector):
    found, inputs = vector["expect"]["linear_layout"], vector["inputs"]
    _, n, k = inputs["instr_shape"]
    if vector["op"] == "wgmma_C":
        form, name, each = contract(opcode("f16", n, "f32")), "D", 1
    else:
        kind = {8: "tf32", 16: "f16", 32: "e4m3"}[k]
        form, name, each = contract(opcode(kind, 64, "f32"), registers=True), "A", 32 // BITS[kind]
    for (thread, register, number), at in entries(form, sides(form)[name]):
        parts = (
            linear(found["warp_bases"], thread // 32),
            linear(found["lane_bases"], thread % 32),
            linear(found["reg_bases"], register * each + number),
        )
        assert tuple(at[index] for index in INDICES[name]) == tuple(map(sum, zip(*parts, strict=True)))


def test_triton_says_something_about_both_operands():
    assert sum(vector["op"] == "wgmma_C" for vector in VECTORS["gluon"]) == 162
    assert sum(vector["op"] == "wgmma_A_reg" for vector in VECTORS["gluon"]) == 3


def test_a_contract_is_data_that_json_does_not_change():
    for spelling in (opcode("f16", 64, "f32"), opcode("b1", 48, "s32"), "wgmma.mma_async.sp.sync.aligned.m64n64k64.f16.e4m3.e5m2"):
        written = data(contract(spelling))
        read = json.loads(json.dumps(written))
        assert json.dumps(read, sort_keys=True) == json.dumps(written, sort_keys=True)
        assert [one["kind"] for one in read["variants"][0]["operands"]][:3] == ["register", "register", "memory"]


def test_matrices_in_shared_memory_have_32_bytes_of_a_row_and_a_sparse_right_one_64():
    for q in GRAMMAR.legal():
        n, k = shape_of(q["shape"])
        assert n in (EVERY if q["d"] != "s32" else FEW)
        if n == 64 and q["d"] != "f16":
            form = contract(GRAMMAR.spell(q))
            sizes = {o.name: form.atom_of(o)[-1].extent * o.bits // 8 for o in form.operands if isinstance(o, Memory)}
            assert sizes == {"a": 32, "b": 64 if q["sparse"] else 32}
            assert k * BITS[q["a"]] == (512 if q["sparse"] else 256)
