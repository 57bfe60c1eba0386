"""The fragments of mma.sync against the formulas of the ISA, the traits of CUTLASS and the layouts of Triton, element by element."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from math import prod
from pathlib import Path

import pytest

from tilecheck.contracts.mma import MMA, mma, shape_of
from tilecheck.spec import Contract, Entries
from tilecheck.symbolic import terms

VECTORS = json.loads((Path(__file__).parent.parent / "data" / "vectors" / "mma.json").read_text(encoding="utf-8"))
WRONG = ("SM80_16x8x32_S32S4S4S32_TN", "B")
"""The operand that is wrong in its source."""
SPELLINGS = tuple(MMA.spell(q) for q in MMA.legal() if not q["sparse"] and not q["scaling"])
Place = tuple[int, int, int]
"""Lane, register, and the number of the entry in its register, low bits first."""


def contract(opcode: str) -> Contract:
    found = MMA.read(opcode)
    assert isinstance(found, dict)
    return mma(found)


def entries(form: Contract, side: Entries) -> Iterator[tuple[Place, dict[str, int]]]:
    """Every entry of an operand: where it is, and its indices."""
    register = next(o for o in form.operands if o.name == side.operand)
    axes = form.atom_of(register)
    for atom in product(*(range(axis.extent) for axis in axes)):
        point = dict(zip((axis.name for axis in axes), atom, strict=True))
        lane, number = terms.evaluate(register.lane, point), terms.evaluate(register.register, point)
        for part in product(*(range(axis.extent) for axis in side.parts)):
            here = point | dict(zip((axis.name for axis in side.parts), part, strict=True))
            place = 0
            for digit, axis in zip(part, side.parts, strict=True):
                place = place * axis.extent + digit
            yield (lane, number, place), {name: terms.evaluate(term, here) for name, term in side.at}


def sides(form: Contract) -> dict[str, Entries]:
    assert form.product is not None
    return {"A": form.product.left, "B": form.product.right, "C": form.product.addend, "D": form.product.dst}


INDICES = {"A": ("m", "k"), "B": ("n", "k"), "C": ("m", "n"), "D": ("m", "n")}


def table(form: Contract, name: str) -> dict[tuple[int, int], tuple[int, int]]:
    """(lane, number of the value in the lane) -> (row, column), for the first of several problems."""
    found = list(entries(form, sides(form)[name]))
    each = 1 + max(place[2] for place, _ in found)
    return {
        (lane, register * each + number): tuple(at[index] for index in INDICES[name])
        for (lane, register, number), at in found
        if at.get("problem", 0) == 0
    }


# --- each map is a bijection -----------------------------------------------------------------------------------------


def test_there_are_as_many_spellings_as_we_think():
    assert len(SPELLINGS) == len(set(SPELLINGS)) == 160


@pytest.mark.parametrize("opcode", SPELLINGS)
def test_every_fragment_is_a_bijection_onto_its_matrices(opcode):
    form = contract(opcode)
    m, n, k = shape_of(form.qualifiers["shape"])
    four = 4 if form.qualifiers["shape"] == "m8n8k4" and form.qualifiers["a"] == "f16" else 1
    for name, extents in {"A": (m, k), "B": (n, k), "C": (m, n), "D": (m, n)}.items():
        found = list(entries(form, sides(form)[name]))
        assert len(found) == four * prod(extents)
        assert len({place for place, _ in found}) == len(found)
        assert {(at.get("problem", 0), *(at[index] for index in INDICES[name])) for _, at in found} == set(
            product(range(four), *(range(extent) for extent in extents))
        )
        lanes = {lane: {register for (one, register, _), _ in found if one == lane} for lane in range(32)}
        assert all(registers == set(range(len(lanes[0]))) for registers in lanes.values())


# --- the formulas of the ISA -----------------------------------------------------------------------------------------


def isa(name: str, m: int, bits: int, lane: int, register: int, number: int) -> tuple[int, int]:
    """Row and column (of B: column and row) of an element of an m16n8 or m8n8 fragment, PTX ISA 9.7.14.5.2 to 9.7.14.5.13, in one form."""
    group, inside, each = lane // 4, lane % 4, max(1, 32 // bits)
    if name == "A":
        return group + (8 * (register % 2) if m == 16 else 0), each * (inside + 4 * (register // 2 if m == 16 else register)) + number
    if name == "B":
        return group, each * (inside + 4 * register) + number
    if bits == 16:
        return group + 8 * register, 2 * inside + number
    return group + 8 * (register // 2), 2 * inside + register % 2


WIDTHS = {"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "f32": 32, "s32": 32}


@pytest.mark.parametrize("opcode", [o for o in SPELLINGS if "m8n8k4" not in o or "f64" in o])
def test_every_element_is_where_the_isa_puts_it(opcode):
    form = contract(opcode)
    m, _, _ = shape_of(form.qualifiers["shape"])
    for name in "ABCD":
        bits = WIDTHS.get(form.qualifiers[name.lower()], 8)
        for (lane, register, number), at in entries(form, sides(form)[name]):
            assert tuple(at[index] for index in INDICES[name]) == isa(name, m, bits, lane, register, number)


def quarter(name: str, layout: str, type_: str, lane: int, i: int) -> tuple[int, int, int]:
    """Problem, row and column (of B: column and row) of element i of a lane, PTX ISA 9.7.14.5.1."""
    problem, x, half = lane % 16 // 4, lane % 4, lane // 16
    if name in "CD":
        if type_ == "f16":
            return problem, x + 4 * half, i
        return problem, (lane & 1) + (i & 2) + 4 * half, (i & 4) + (lane & 2) + (i & 1)
    inner = (layout == "row") == (name == "A")
    return (problem, x + 4 * half, i) if inner else (problem, i + 4 * half, x)


@pytest.mark.parametrize("opcode", [o for o in SPELLINGS if "m8n8k4" in o and "f64" not in o])
def test_the_four_problems_of_m8n8k4_lie_where_the_isa_puts_them(opcode):
    form = contract(opcode)
    q = form.qualifiers
    for name in "ABCD":
        layout = q["alayout"] if name == "A" else q["blayout"]
        for (lane, register, number), at in entries(form, sides(form)[name]):
            each = 1 if name in "CD" and q[name.lower()] == "f32" else 2
            found = quarter(name, layout, q[name.lower()], lane, each * register + number)
            assert (at["problem"], *(at[index] for index in INDICES[name])) == found


# --- the traits of CUTLASS -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("atom", VECTORS["atoms"])
def test_cutlass_has_the_same_fragments(atom):
    vector = VECTORS["atoms"][atom]
    form = contract(vector["ptx"])
    for name in "ABC":
        ours = table(form, name)
        theirs = {
            (lane, value): tuple(place)
            for lane, values in zip(vector["lanes"], vector[name], strict=True)
            for value, place in enumerate(values)
        }
        assert (ours == theirs) == ((atom, name) != WRONG), name


def test_the_wrong_operand_of_cutlass_covers_160_of_256_elements():
    atom, name = WRONG
    places = [tuple(place) for values in VECTORS["atoms"][atom][name] for place in values]
    assert (len(places), len(set(places))) == (256, 160)


def test_every_type_and_shape_of_cutlass_is_compared():
    forms = {contract(vector["ptx"]).qualifiers["a"] for vector in VECTORS["atoms"].values()}
    assert forms == {"f16", "bf16", "tf32", "f64", "s8", "s4", "b1", "e4m3", "e5m2"}


# --- the layouts of Triton -------------------------------------------------------------------------------------------


def linear(bases: list[list[int]], index: int) -> tuple[int, int]:
    picked = [base for bit, base in enumerate(bases) if index >> bit & 1]
    return sum(base[0] for base in picked), sum(base[1] for base in picked)


OF_WIDTH = {1: "m16n8k8.row.col.f32.tf32.tf32.f32", 2: "m16n8k16.row.col.f32.f16.f16.f32", 4: "m16n8k32.row.col.s32.s8.s8.s32"}
OPERANDS = [
    vector
    for vector in VECTORS["gluon"]
    if vector["op"] == "mma_v2_C"
    or (vector["inputs"]["k_width"] in OF_WIDTH and 8 * vector["inputs"]["k_width"] <= max(vector["inputs"]["shape"]))
]


@pytest.mark.parametrize("vector", OPERANDS, ids=lambda vector: vector["id"])
def test_triton_has_the_same_fragments(vector):
    found, inputs = vector["expect"]["linear_layout"], vector["inputs"]
    name = inputs.get("operand", "C")
    form = contract(f"mma.sync.aligned.{OF_WIDTH[inputs.get('k_width', 2)]}")
    for (lane, value), (row, column) in table(form, name).items():
        one, other = linear(found["lane_bases"], lane), linear(found["reg_bases"], value)
        theirs = (one[0] + other[0], one[1] + other[1])
        assert (row, column) == (theirs if name != "B" else theirs[::-1])


def test_triton_says_something_about_every_operand():
    assert {vector["inputs"].get("operand", "C") for vector in OPERANDS} == {"A", "B", "C"}
    assert len(OPERANDS) > 60
