"""mma and register instructions as PTX: one instruction for each step, C in the first over K and D in the later ones, numbers as bits; assembled."""

from __future__ import annotations

import random
import re

import pytest

from tests.gpu.mma_forms import mma_document, other_spellings, spellings
from tests.gpu.register_forms import forms_of, register_document
from tests.gpu.register_forms import spellings as register_spellings
from tilecheck.document import read_call
from tilecheck.emit import EmissionError, assemble, emit, emit_kernel, emit_unchecked
from tilecheck.emit.assemble import NoAssemblerError
from tilecheck.emit.numbers import encoded

HALF = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
try:
    assemble("", "sm_90")
    MISSING = False
except NoAssemblerError:
    MISSING = True
assembling = pytest.mark.skipif(MISSING, reason="no assembler is installed (extra `assemble`)")


def operands(line: str) -> list[str]:
    return re.findall(r"\{([^}]*)\}", line)


def bank(name: str, first: int, count: int) -> str:
    return ", ".join(f"%{name}_{first + k}" for k in range(count))


def test_steps_are_issued_in_the_order_m_n_k_with_c_first_and_d_later():
    lines = emit(read_call(mma_document(HALF, {"m": 2, "n": 3, "k": 4}))).instructions
    steps = [(m, n, k) for m in range(2) for n in range(3) for k in range(4)]
    assert len(lines) == len(steps)
    for line, (m, n, k) in zip(lines, steps, strict=True):
        d = 4 * (3 * m + n)
        c = bank("C" if k == 0 else "D", d, 4)
        assert operands(line) == [bank("D", d, 4), bank("A", 4 * (4 * m + k), 4), bank("B", 2 * (4 * n + k), 2), c]


def test_a_batch_comes_before_the_steps():
    lines = emit(read_call(mma_document(HALF, {"k": 2}, (2,)))).instructions
    assert [operands(line)[0] for line in lines] == [bank("D", 0, 4)] * 2 + [bank("D", 4, 4)] * 2


def test_a_number_for_c_stands_in_a_register_in_the_first_step_only():
    document = mma_document(HALF, {"k": 2})
    document["operands"][3] = {"name": "C", "value": 1.5}
    found = emit(read_call(document))
    assert "mov.b32 %tc_u0, 0x3fc00000;" in found.ptx
    assert [operands(line)[3] for line in found.instructions] == [", ".join(["%tc_u0"] * 4), bank("D", 0, 4)]
    assert not any("%C_" in line for line in found.declarations)


def expression(opcode, place, value, low=0, high=9, **rest):
    document = mma_document(opcode, {"k": 2}) if opcode.startswith("mma") else register_document(opcode, forms_of(opcode)[0])
    document["operands"][place] = {"name": "number", "value": value}
    return read_call({**document, "symbols": [{"name": "n", "min": low, "max": high}], **rest})


@pytest.mark.parametrize(
    ("opcode", "place", "value", "lines"),
    [
        ("add.s32", 2, "n", ["cvt.u32.u64 %tc_u0, %tc_sym_n;"]),
        ("add.s64", 2, "n", []),
        ("add.f32", 2, "n", ["cvt.rn.f32.s64 %tc_u0, %tc_sym_n;"]),
        ("add.f16", 2, "n", ["cvt.rn.f16.s64 %tc_h0, %tc_sym_n;"]),
        ("add.bf16", 2, "n", ["cvt.rn.f32.s64 %tc_u0, %tc_sym_n;", "shr.b32 %tc_u0, %tc_u0, 16;", "cvt.u16.u32 %tc_h0, %tc_u0;"]),
        (HALF, 3, "n", ["cvt.rn.f32.s64 %tc_u0, %tc_sym_n;"]),
        (HALF.replace("f32.f16.f16.f32", "f16.f16.f16.f16"), 3, "n", ["mov.b32 %tc_u0, {%tc_h0, %tc_h0};"]),
    ],
)
def test_an_expression_is_put_into_a_register_of_the_type(opcode, place, value, lines):
    found = emit(expression(opcode, place, value))
    assert all(line in found.ptx for line in lines)
    assert "%tc_sym_n" in found.sets
    assert (found.sets["%tc_sym_n"], ".reg .b64 %tc_sym_n;" in found.declarations) == ("the symbol n", True)


def test_an_expression_whose_steps_may_leave_64_bits_is_not_emitted():
    call = expression("add.s32", 2, "(n * n) // (1 << 62)", -(1 << 40), 1 << 40)
    with pytest.raises(EmissionError, match="may leave 64 bits"):
        emit_unchecked(call)


@assembling
def test_expressions_assemble():
    for opcode, place in (("add.s32", 2), ("sub.u16", 1), ("add.f64", 2), ("fma.rn.bf16", 3), (HALF, 3), ("mov.b64", 1)):
        kernel = emit_kernel(expression(opcode, place, "2 * n + 1"))
        assert assemble(kernel.ptx, kernel.arch).ok, opcode


def test_a_number_for_packed_accumulators_stands_in_both_halves():
    document = mma_document("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16")
    document["operands"][3] = {"name": "C", "value": 1.0}
    assert "mov.b32 %tc_u0, 0x3c003c00;" in emit(read_call(document)).ptx


def test_metadata_and_selectors_follow():
    line = emit(read_call(mma_document("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"))).instructions[0]
    assert line.endswith("%E_0, 1;")


def test_a_pack_has_its_parts_in_braces():
    contract = forms_of("mov.b32")[1]
    assert emit(read_call(register_document("mov.b32", contract, 1))).instructions == ("mov.b32 %D_0, {%A_0, %A_1};",)


def test_registers_of_two_widths_in_one_allocation_are_refused():
    document = register_document("mov.b32", forms_of("mov.b32")[1], 1)
    for one in document["operands"]:
        one["tensor"] = "X"
    with pytest.raises(EmissionError, match="one width"):
        emit_unchecked(read_call(document))


@pytest.mark.parametrize(
    ("type_", "value", "bits"),
    [
        ("f16", 1, 0x3C00),
        ("bf16", 1.0, 0x3F80),
        ("bf16", 1 + 2.0**-8, 0x3F80),
        ("bf16", 1 + 3 * 2.0**-8, 0x3F82),
        ("f32", -2.0, 0xC0000000),
        ("f64", 0.5, 0x3FE0000000000000),
        ("s32", -1, 0xFFFFFFFF),
        ("u16", 65535, 0xFFFF),
    ],
)
def test_numbers_are_bits_rounded_to_nearest_even(type_, value, bits):
    assert encoded(type_, value)[1] == bits


def test_a_number_that_is_too_large_is_refused():
    with pytest.raises(EmissionError, match="too large"):
        encoded("f16", 1e6)


def sample(opcodes: list[str], count: int) -> list[str]:
    """Seeded spellings."""
    return random.Random(5).sample(opcodes, count)


@assembling
@pytest.mark.parametrize("opcode", [*sample(list(spellings()), 30), *sample(list(other_spellings()), 20)])
def test_a_product_assembles(opcode):
    kernel = emit_kernel(read_call(mma_document(opcode, {"m": 2, "k": 2})))
    found = assemble(kernel.ptx, kernel.arch)
    assert found.ok, found.log


@assembling
def test_register_instructions_assemble():
    for opcode in sample(list(register_spellings()), 150):
        for contract in forms_of(opcode):
            kernel = emit_kernel(read_call(register_document(opcode, contract)))
            found = assemble(kernel.ptx, kernel.arch)
            assert found.ok, f"{opcode}: {found.log}"
