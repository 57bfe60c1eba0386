"""wgmma.mma_async as PTX: one statement a step, descriptors of addresses and fields, later steps that always add; assembled for sm_90a."""

from __future__ import annotations

import copy
import re

import pytest

from tests.gpu.wgmma_forms import Stored, opcode_of, ring, wgmma_document, wgmma_forms
from tilecheck import check, emit
from tilecheck.contracts.descriptors import WGMMA
from tilecheck.document import read_call
from tilecheck.emit import EmissionError, assemble, emit_kernel_unchecked, emit_unchecked
from tilecheck.emit.assemble import NoAssemblerError
from tilecheck.spec.descriptor import decode

HALF = opcode_of("f16", 16, "f32")


def parts(statement: str) -> list[str]:
    """The operands of a statement, a braced list as one."""
    return re.findall(r"\{[^}]*\}|[^,\s;]+", statement.partition(" ")[2])


def words(ptx: str, pointers: dict[str, int]) -> dict[str, int]:
    """What every 64-bit temporary holds, the lines worked out one after the other."""
    held = dict(pointers)

    def value(text: str) -> int:
        return held[text] if text.startswith("%") else int(text, 0)

    for line in ptx.splitlines():
        found = re.fullmatch(r"(add|and|or|xor|shr|shl|mov)\.[sbu]64 (%\w+), (\S+?)(?:, (\S+))?;", line.strip())
        if found is None:
            continue
        op, name, a, b = found.groups()
        x, y = value(a), value(b) if b else 0
        result = {"add": x + y, "and": x & y, "or": x | y, "xor": x ^ y, "shr": x >> (y & 63), "shl": x << (y & 63), "mov": x}[op]
        held[name] = result % (1 << 64)
    return held


def test_one_statement_for_every_step_in_their_order():
    call = read_call(wgmma_document(HALF, None, Stored("k", 2), (2, 2, 2)))
    found = emit(call, arch="sm_90a")
    assert len(found.instructions) == check(call).instructions == 8
    first = [parts(one)[0] for one in found.instructions]
    assert first[0] == "{%D_0, %D_1, %D_2, %D_3, %D_4, %D_5, %D_6, %D_7}"
    assert first == [first[k - k % 2] for k in range(8)]  # both steps along K write the same registers
    assert [parts(one)[1] for one in found.instructions[:4]] == ["{%A_0, %A_1, %A_2, %A_3}", "{%A_4, %A_5, %A_6, %A_7}"] * 2
    assert "wgmma.fence" not in found.ptx  # the caller's


def test_operands_are_those_of_the_isa_in_its_order():
    shared = emit(read_call(wgmma_document(HALF, Stored("mn", 3), Stored(), parameters={"imm_scale_b": -1})), arch="sm_90a").instructions[0]
    assert parts(shared)[3:] == ["%tc_p0", "1", "-1", "1", "0"]
    held = emit(read_call(wgmma_document(HALF, None, Stored("mn", 1))), arch="sm_90a").instructions[0]
    assert parts(held)[3:] == ["%tc_p0", "1", "1", "1"]
    words_ = emit(read_call(wgmma_document(opcode_of("tf32", 8, "f32"), Stored(), Stored())), arch="sm_90a").instructions[0]
    assert parts(words_)[3:] == ["%tc_p0", "1", "1"]
    bits = emit(read_call(wgmma_document(opcode_of("b1", 8, "s32"), Stored(), Stored())), arch="sm_90a").instructions[0]
    assert parts(bits)[3:] == ["%tc_p0"]
    sparse = wgmma_document(opcode_of("f16", 8, "f32", sparse=True), Stored(), Stored(), parameters={"sp_sel": 1})
    assert parts(emit(read_call(sparse), arch="sm_90a").instructions[0])[3:] == ["%E_0", "1", "%tc_p0", "1", "1", "0", "0"]


def test_only_the_first_step_asks_accum():
    call = read_call(wgmma_document(HALF, None, Stored(), (1, 1, 4), parameters={"accum": False}))
    found = emit(call, arch="sm_90a")
    asked = [parts(one)[3] for one in found.instructions]
    assert asked[1:] == [asked[1]] * 3
    assert asked[0] != asked[1]
    assert f"setp.ne.s32 {asked[0]}, 0, 0;" in found.ptx
    assert f"setp.eq.s32 {asked[1]}, 0, 0;" in found.ptx


@pytest.mark.parametrize("stored", [Stored("k", 3, start=160), Stored("mn", 2, start=192), Stored("k", 0, 144, 2320), Stored("mn", 0)])
def test_descriptors_name_the_start_before_the_swizzle_and_the_fields(stored):
    document = wgmma_document(HALF, stored, Stored(), (1, 1, 1))
    found = emit(read_call(document), arch="sm_90a")
    base = 0x12400
    held = words(found.ptx, {"%tc_ptr_A": base, "%tc_ptr_B": 0x20000})
    fields = decode(WGMMA, held[parts(found.instructions[0])[1]])
    assert fields["start_bytes"] == base + stored.start
    assert [fields["ldo_bytes"], fields["sdo_bytes"], fields["swizzle"]] == document["parameters"]["a_descriptor"]


def test_a_start_that_is_known_modulo_nothing_is_unswizzled_when_it_runs():
    """The base is known modulo 16 only: such a call is not proved, and what is emitted works the start out of the address."""
    document = copy.deepcopy(wgmma_document(HALF, Stored("k", 3, start=160), Stored()))
    document["operands"][1]["align"] = 16
    assert {one.id for one in check(read_call(document)).failing} == {"a.base.period"}
    found = emit_unchecked(read_call(document), "sm_90a")
    start = 0x12400 + 160
    swizzled = start ^ (start >> 3 & 0x70)
    base = swizzled - (160 ^ (160 >> 3 & 0x70))
    held = words(found.ptx, {"%tc_ptr_A": base, "%tc_ptr_B": 0x20000})
    assert decode(WGMMA, held[parts(found.instructions[0])[1]])["start_bytes"] == start


def test_a_stage_of_a_ring_is_added_to_the_start():
    found = emit(read_call(ring(HALF)), arch="sm_90a")
    assert "%tc_sym_stage" in found.ptx
    assert len(found.instructions) == 4


def test_another_architecture_is_refused():
    with pytest.raises(EmissionError, match="sm_90a"):
        emit_unchecked(read_call(wgmma_document(HALF, None, Stored())), "sm_100a")


SAMPLES = [form for k, form in enumerate(wgmma_forms()) if k % 9 == 0]


@pytest.mark.parametrize("form", SAMPLES, ids=lambda form: form.name)
def test_a_kernel_around_it_assembles(form):
    kernel = emit_kernel_unchecked(read_call(form.document), "sm_90a")
    assert kernel.ptx.index("wgmma.fence") < kernel.ptx.index("wgmma.mma_async") < kernel.ptx.index("wgmma.commit_group")
    try:
        found = assemble(kernel.ptx, "sm_90a")
    except NoAssemblerError:
        pytest.skip("no assembler is installed")
    assert found.ok, found.log
