"""tcgen05.ld, ld.red and st as PTX: one statement a repeat, addresses of 32 bits, immediates in their place; every form assembled."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.emit.assemble_all import instruction
from tilecheck import check, emit
from tilecheck.contracts.tmem import LOAD, REDUCE, STORE, load, reduce, store
from tilecheck.document import read_call
from tilecheck.emit import EmissionError, assemble, emit_kernel_unchecked
from tilecheck.emit.assemble import NoAssemblerError

Json = dict[str, Any]
HEAD = """.version 8.8
.target {arch}
.address_size 64
.visible .entry k() {{
.reg .b32 %r<128>; .reg .b32 %redval;
.reg .b32 %where;
mov.b32 %where, 0;
"""


def document(opcode: str, *operands: Json, scope: str = "warpgroup", block: int = 128, **more: Any) -> Json:
    found = {"schema": "tilecheck/call@1", "id": "t", "opcode": f"tcgen05.{opcode}", "scope": scope, "launch": {"block": [block]}}
    return {**found, "operands": list(operands), "parameters": {}, **more}


def registers(shape: list[int], layout: str, name: str = "R") -> Json:
    return {"name": name, "space": "register", "dtype": "uint32", "shape": shape, "layout": layout}


def cells(shape: list[int], layout: str, name: str = "T", dtype: str = "uint32", **more: Any) -> Json:
    return {"name": name, "space": "tmem", "dtype": dtype, "shape": shape, "layout": layout, **more}


def parts(statement: str) -> list[str]:
    """The operands of a statement, a braced list as one."""
    return re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s;]+", statement.partition(" ")[2])


def run(ptx: str, **held: int) -> dict[str, int]:
    """What every temporary holds in one thread, the lines worked out one after the other. held: `tid`, pointers and symbols."""
    known = {"%tid.x": held.pop("tid", 0)} | {f"%tc_{name}": value for name, value in held.items()}

    def value(text: str) -> int:
        return known[text] if text.startswith("%") else int(text, 0)

    for line in ptx.splitlines():
        found = re.fullmatch(r"(add|and|or|xor|shr|shl|mov|cvt|mul\.lo|sub)((?:\.\w+)*) (%\w+), (\S+?)(?:, (\S+))?;", line.strip())
        if found is None:
            continue
        op, _, name, a, b = found.groups()
        x, y = value(a), value(b) if b else 0
        made = {"add": x + y, "sub": x - y, "and": x & y, "or": x | y, "xor": x ^ y, "shr": x >> y, "shl": x << min(y, 63), "mul.lo": x * y}
        known[name] = made.get(op, x) % (1 << (32 if "_u" in name else 64))
    return known


def addresses(call: Json, **held: int) -> list[int]:
    found = emit(read_call(call))
    known = run(found.ptx, **held)
    return [known[place[1:-1]] for one in found.instructions for place in parts(one) if place.startswith("[")]


def test_one_statement_a_repeat_each_with_its_address():
    call = document(
        "ld.sync.aligned.32x32b.x8.b32",
        registers([4, 3, 32, 8], "S[(4,3,32,8):(1@wid_in_wg,8,1@laneid,1)]"),
        cells([4, 3, 32, 8], "S[(4,3,32,8):(32@TLane,16@TCol,1@TLane,1@TCol)] + 100@TCol"),
    )
    found = emit(read_call(call))
    assert len(found.instructions) == check(read_call(call)).instructions == 3
    assert [parts(one)[0] for one in found.instructions] == ["{" + ", ".join(f"%R_{8 * k + j}" for j in range(8)) + "}" for k in range(3)]
    for warp in range(4):
        assert addresses(call, tid=32 * warp + 7, ptr_T=0) == [(32 * warp << 16) + 100 + 16 * k for k in range(3)]
        assert addresses(call, tid=32 * warp, ptr_T=64)[0] == (32 * warp << 16) + 164


def test_a_store_names_its_place_first():
    call = document(
        "st.sync.aligned.16x64b.x2.unpack::16b.b32",
        cells([4, 16, 4, 2], "S[(4,16,4,2):(32@TLane,1@TLane,4@TCol,2@TCol)] + 16@TLane + 20@TCol", dtype="float16"),
        registers([4, 16, 4], "S[(4,2,8,2,2):(1@wid_in_wg,1@laneid,4@laneid,1,2@laneid)]"),
    )
    (one,) = emit(read_call(call)).instructions
    assert parts(one)[1:] == ["{%R_0, %R_1}"]
    assert addresses(call, tid=96, ptr_T=0) == [(96 + 16 << 16) + 10]


def test_a_start_that_a_symbol_says():
    view = [{"op": "slice", "begin": [0, 0, "8 * i"], "extent": [4, 32, 8]}]
    call = document(
        "ld.sync.aligned.32x32b.x8.b32",
        registers([4, 32, 8], "S[(4,32,8):(1@wid_in_wg,1@laneid,1)]"),
        cells([4, 32, 512], "S[(4,32,512):(32@TLane,1@TLane,1@TCol)]", view=view),
        symbols=[{"name": "i", "min": 0, "max": 63}],
    )
    assert addresses(call, tid=64, ptr_T=0, sym_i=9) == [(64 << 16) + 72]


@pytest.mark.parametrize(("opcode", "offset"), [("ld", 8), ("st", 16 << 16), ("st", (16 << 16) + 8), ("ld", 0)])
def test_the_immediate_stands_where_the_isa_has_it(opcode, offset):
    own = f"S[(16,4):(1@TLane,1@TCol)] + {offset >> 16}@TLane + {offset & 0xFFFF}@TCol"
    regions = [cells([16, 4], "S[(16,4):(1@TLane,1@TCol)]", tensor="T"), cells([16, 4], own, tensor="T")]
    held = registers([2, 16, 4], "S[(2,16,4):(16@laneid,1@laneid,1)]")
    operands = [held, *regions] if opcode == "ld" else [*regions, held]
    name = f"{opcode}.sync.aligned.16x32bx2.x4.b32"
    call = document(name, *operands, scope="warp", block=32, parameters={"imm_half_splitoff": offset})
    (one,) = emit(read_call(call)).instructions
    listed = "{%R_0, %R_1, %R_2, %R_3}"
    assert len(parts(one)) == 3
    assert [parts(one)[k] for k in (0, 2)] == ([listed, str(offset)] if opcode == "ld" else [parts(one)[0], listed])
    assert parts(one)[1] == (parts(one)[1] if opcode == "ld" else str(offset))
    assert addresses(call, tid=5, ptr_T=32) == [32]


def test_a_reduction_has_a_register_of_its_own():
    call = document(
        "ld.red.sync.aligned.32x32b.x2.min.u32",
        registers([32, 2], "S[(32,2):(1@laneid,1)]"),
        registers([32], "S[(32):(1@laneid)] + 3", "M"),
        cells([32, 2], "S[(32,2):(1@TLane,1@TCol)] + 64@TLane"),
        scope="warp",
        guard="warpid == 2",
    )
    (one,) = emit(read_call(call)).instructions
    assert parts(one)[:2] == ["{%R_0, %R_1}", "%M_3"]
    assert addresses(call, tid=64, ptr_T=0) == [64 << 16]


def test_the_caller_sets_an_address_of_32_bits():
    call = document(
        "ld.sync.aligned.32x32b.x1.b32",
        registers([4, 32, 1], "S[(4,32,1):(1@wid_in_wg,1@laneid,1)]"),
        cells([4, 32, 1], "S[(4,32,1):(32@TLane,1@TLane,1@TCol)]"),
    )
    found = emit(read_call(call))
    assert ".reg .b32 %tc_ptr_T;" in found.declarations
    assert found.sets["%tc_ptr_T"] == "the address of lane 0 and column 0 of T in tensor memory"
    assert found.arch == "sm_100f"
    with pytest.raises(EmissionError, match="a kernel cannot show tmem memory"):
        emit_kernel_unchecked(read_call(call))
    with pytest.raises(EmissionError, match="sm_120a"):
        emit(read_call(call), arch="sm_120a")


FORMS = [
    *(("sm_100a", load(q)) for q in LOAD.legal()),
    *(("sm_100a", store(q)) for q in STORE.legal()),
    *(("sm_103a", reduce(q)) for q in REDUCE.legal() if q["count"] in {"x2", "x16", "x128"}),
]


@pytest.mark.parametrize("arch", ["sm_100a", "sm_103a"])
def test_every_form_assembles(arch):
    lines: list[str] = []
    for own, contract in FORMS:
        if own != arch:
            continue
        fields = {"opcode": contract.opcode, "imm_half_splitoff": "16", "redval": "%redval"}
        for operand in contract.operands:
            fields.setdefault(operand.name, "%where")
        count = max((int(n) for n in re.findall(r"\.x(\d+)\.", contract.opcode)), default=1)
        count *= {"16x128b": 2, "16x256b": 4}.get(str(contract.qualifiers["shape"]), 1)
        listed = ", ".join(f"%r{k}" for k in range(count))
        fields["dst" if ".ld" in contract.opcode else "src"] = listed
        lines.append(contract.statement(fields))
    assert len(lines) == {"sm_100a": 148, "sm_103a": 72}[arch]
    try:
        found = assemble(HEAD.format(arch=arch) + "\n".join(lines) + "\nret;\n}\n", arch)
    except NoAssemblerError:
        pytest.skip("no assembler is installed (extra `assemble`)")
    assert found.ok, found.log[:400]


@pytest.mark.parametrize("offset", [-8, 8 - (16 << 16), (1 << 31) - 1, -(1 << 31)])
def test_immediates_of_either_sign_assemble(offset):
    line = f"tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {{%r0}}, [%where], {offset};"
    try:
        found = assemble(HEAD.format(arch="sm_100a") + line + "\nret;\n}\n", "sm_100a")
    except NoAssemblerError:
        pytest.skip("no assembler is installed (extra `assemble`)")
    assert found.ok, found.log[:400]


@pytest.mark.parametrize("name", ["ld", "st"])
def test_an_emitted_snippet_assembles(name):
    held = registers([4, 2, 32, 8], "S[(4,2,32,8):(1@wid_in_wg,8,1@laneid,1)]")
    matrix = cells([4, 2, 32, 8], "S[(4,2,32,8):(32@TLane,8@TCol,1@TLane,1@TCol)]")
    found = emit(read_call(document(f"{name}.sync.aligned.32x32b.x8.b32", *([held, matrix] if name == "ld" else [matrix, held]))))
    body = "\n".join((*found.declarations, *(f"mov.b32 {one}, 0;" for one in found.sets if one.startswith("%tc_ptr")), found.ptx))
    try:
        made = assemble(f".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k() {{\n{body}\nret;\n}}\n", "sm_100a")
    except NoAssemblerError:
        pytest.skip("no assembler is installed (extra `assemble`)")
    assert made.ok, made.log[:400]


def test_the_table_of_all_forms_writes_them_too():
    (q, *_) = LOAD.legal()
    assert instruction(load(q)).startswith("tcgen05.ld.sync.aligned.32x32b.x1.b32 ")
