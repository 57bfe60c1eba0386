"""tcgen05.mma as PTX: one statement a step with its words, masks and factors; every form assembled."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest

from tests.emit.test_tmem_emission import parts, run
from tests.emit.test_wgmma_emission import words
from tests.prove.tcgen05_documents import kind_of, mma, scales
from tilecheck import check, emit
from tilecheck.contracts.descriptors import TCGEN05
from tilecheck.contracts.tcgen05_kinds import instruction_word
from tilecheck.contracts.tcgen05_mma import GRAMMAR
from tilecheck.document import read_call
from tilecheck.emit import Emission, EmissionError, assemble, emit_unchecked
from tilecheck.emit.assemble import NoAssemblerError
from tilecheck.spec.descriptor import decode
from tilecheck.spec.instruction import decode_word

F16 = "tcgen05.mma.cta_group::1.kind::f16"
HEAD = ".version 8.8\n.target {arch}\n.address_size 64\n.visible .entry k() {{\n"


def emitted(document: dict[str, Any], arch: str = "sm_100a") -> Emission:
    return emit(read_call(document), arch=arch)


def descriptors(found: Emission, **held: int) -> list[int]:
    """The 32-bit word of every statement."""
    known = run(found.ptx, **held)
    return [next(known[part] for part in parts(one)[3:] if part.startswith("%tc_u")) for one in found.instructions]


def test_the_operands_are_those_of_the_isa_in_its_order():
    assert len(parts(emitted(mma(F16, 64, 8)).instructions[0])) == 5
    masked = parts(emitted(mma(F16, 64, 8, parameters={"disable_output_lane": [1, 2, 3, 4], "scale_input_d": 3})).instructions[0])
    assert masked[4].startswith("{%tc_u")
    assert masked[4].count(",") == 3
    assert masked[6] == "3"
    held = parts(emitted(mma(F16, 64, 8, in_tmem=True)).instructions[0])
    assert [one.startswith("[") for one in held] == [True, True, False, False, False]
    scaled = parts(emitted(mma("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale", 128, 8)).instructions[0])
    assert [one.startswith("[") for one in scaled] == [True, False, False, False, True, True, False]
    stationary = parts(emitted(mma("tcgen05.mma.ws.cta_group::1.kind::f16", 64, 64, parameters={"zero_column_mask": 5})).instructions[0])
    assert len(stationary) == 6
    sparse = parts(emitted(mma("tcgen05.mma.sp.cta_group::1.kind::f16", 128, 16)).instructions[0])
    assert sparse[3].startswith("[")
    assert len(sparse) == 6


def test_steps_are_in_the_order_of_m_n_and_k_and_only_the_first_along_k_asks_accum():
    document = mma(F16, 64, 16, repeats=(2, 2, 3))
    found = emitted(document)
    assert len(found.instructions) == check(read_call(document)).instructions == 12
    known = run(found.ptx, ptr_D=0x100, ptr_A=1 << 12, ptr_B=1 << 14)
    places = [known[parts(one)[0][1:-1]] for one in found.instructions]
    assert [place for place, _ in groupby(places)] == [0x100 + 16 * k for k in range(4)]
    asked = [parts(one)[4] for one in found.instructions]
    assert asked == [asked[0], asked[1], asked[1]] * 4
    assert f"setp.ne.s32 {asked[0]}, 0, 0;" in found.ptx
    assert f"setp.eq.s32 {asked[1]}, 0, 0;" in found.ptx


def test_shared_matrices_are_words_of_the_start_and_the_fields():
    found = emitted(mma(F16, 128, 64, repeats=(1, 1, 2)))
    held = words(found.ptx, {"%tc_ptr_A": 0x4000, "%tc_ptr_B": 0x8000, "%tc_ptr_D": 0})
    first, second = (decode(TCGEN05, held[parts(one)[1]]) for one in found.instructions)
    assert [first[name] for name in ("start_bytes", "ldo_bytes", "sdo_bytes", "swizzle")] == [0x4000, 2048, 128, 0]
    assert second["start_bytes"] == 0x4000 + 2 * 2048


def test_the_word_says_shape_types_and_flags():
    (word,) = descriptors(emitted(mma(F16, 128, 256)), ptr_D=0, ptr_A=0, ptr_B=0)
    assert word == 0x08400010
    document = mma(F16, 64, 8, dtype="bfloat16", parameters={"neg_a": True, "b_major": "mn", "b_descriptor": [128, 256, 0]})
    (word,) = descriptors(emit_unchecked(read_call(document), "sm_100a"), ptr_D=0, ptr_A=0, ptr_B=0)
    assert word == 0x04012000 + (1 << 17) + 0x10 + (1 << 7) + (1 << 10)


def test_the_number_of_a_factor_follows_from_where_it_starts():
    opcode = "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale"
    document = mma(opcode, 128, 8, symbols=[{"name": "i", "min": 0, "max": 3}])
    document["operands"][3] = scales("SFA", "float8_e8m0fnu", 128, 4, 4 * 448)
    document["operands"][3]["view"] = [{"op": "slice", "begin": [0, 0, 0, "i"], "extent": [None, None, None, 1]}]
    found = emitted(document)
    q = GRAMMAR.read(opcode)
    assert isinstance(q, dict)
    for i in range(4):
        (word,) = descriptors(found, ptr_D=0, ptr_A=0, ptr_B=0, ptr_SFA=0, ptr_SFB=0, sym_i=i)
        fields = decode_word(instruction_word(q), word)
        assert (fields["sfa_id"], fields["sfb_id"], fields["scale_type"], fields["m"], fields["n"]) == (i, 0, 1, 1, 1)
        known = run(found.ptx, ptr_D=0, ptr_A=0, ptr_B=0, ptr_SFA=0, ptr_SFB=0, sym_i=i)
        assert known[parts(found.instructions[0])[4][1:-1]] == 448


def test_a_call_without_a_shape_cannot_be_written():
    with pytest.raises(EmissionError, match="M, N and K"):
        emit_unchecked(read_call(mma(F16, 64, 8, parameters={"instruction_shape": None})), "sm_100a")


FORMS = [(GRAMMAR.spell(q), in_tmem) for q in GRAMMAR.legal() for in_tmem in ((True,) if q["shift"] else (False, True))]


@pytest.mark.parametrize("arch", ["sm_100a", "sm_103a"])
def test_every_form_assembles(arch: str):
    """In one kernel, each with its own registers; integers are not on sm_103a."""
    bodies: list[str] = []
    for opcode, in_tmem in FORMS:
        if arch == "sm_103a" and kind_of(opcode) == "i8":
            continue
        smallest = (256 if "cta_group::2" in opcode else 128, 64)
        found = emitted(mma(opcode, *smallest, in_tmem=in_tmem), arch)
        bodies.append("\n".join(["{", *found.declarations, found.ptx, "}"]))
    for group in ("cta_group::1", "cta_group::2"):
        own = [body for body in bodies if group in body]
        try:
            result = assemble(HEAD.format(arch=arch) + "\n".join(own) + "\nret;\n}\n", arch)
        except NoAssemblerError:
            pytest.skip("no assembler is installed")
        assert result.ok, result.log[:2000]


@pytest.mark.parametrize("k", [96])
def test_k_96_assembles_on_sm_103a(k: int):
    found = emitted(mma("tcgen05.mma.cta_group::2.kind::mxf4.block_scale", 256, 64, k=k), "sm_103a")
    (word,) = descriptors(found, ptr_D=0, ptr_A=0, ptr_B=0, ptr_SFA=0, ptr_SFB=0)
    assert word >> 31 == 1
    try:
        result = assemble(HEAD.format(arch="sm_103a") + "\n".join([*found.declarations, found.ptx, "ret;", "}"]), "sm_103a")
    except NoAssemblerError:
        pytest.skip("no assembler is installed")
    assert result.ok, result.log
