"""Snippets and kernels: one instruction a repeat, the caller's registers, refusals, the parameter plan."""

from __future__ import annotations

import json

import pytest

from tilecheck.call import Launch, apply, symbol
from tilecheck.document import read_call
from tilecheck.emit import EmissionError, emit, emit_kernel, emit_kernel_unchecked, emit_unchecked, normalised
from tilecheck.emit.binding import bind, looked_up
from tilecheck.emit.kernel import residue, version
from tilecheck.emit.names import Names
from tilecheck.errors import NotProvedError
from tilecheck.layout import S
from tilecheck.layout.view import Tensor
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import evaluate, var


def loads(**changes):
    registers = Tensor("R", (2, 32, 3, 4), "float32", "register", layout="S[(2,32,3,4):(1@warpid,1@laneid,8,2)]")
    memory = Tensor("A", (2, 32, 3, 4), "float32", align=16)
    return apply("ld.global.v4.b32", registers, memory, scope="cta", launch=Launch((64,)), **changes)


def test_three_loads_of_64_threads_name_separated_slots():
    assert emit(loads()).instructions == (
        "ld.global.v4.b32 {%R_0, %R_2, %R_4, %R_6}, [%tc_s6];",
        "ld.global.v4.b32 {%R_8, %R_10, %R_12, %R_14}, [%tc_s6+16];",
        "ld.global.v4.b32 {%R_16, %R_18, %R_20, %R_22}, [%tc_s6+32];",
    )


def test_a_repeat_of_7_by_15_is_105_loads_in_row_major_order():
    memory = Tensor("A", (15, 2, 7, 2), "float32", align=16, layout=S[(15, 2, 7, 2) : (4, 1, 60, 2)])
    registers = Tensor("R", (15, 2, 7, 2), "float32", "register", layout=S[(15, 2, 7, 2) : (8, 2, 120, 4)])
    call = apply("ld.global.v4.b32", registers.rearrange("i b j d -> j i (d b)"), memory.rearrange("i b j d -> j i (d b)"), scope="thread")
    instructions = emit(call).instructions
    assert len(instructions) == 105
    for k, line in enumerate(instructions):
        j, i = divmod(k, 15)
        first = 120 * j + 8 * i
        where = 4 * (60 * j + 4 * i)
        place = f"%tc_ptr_A+{where}" if where else "%tc_ptr_A"
        assert line == f"ld.global.v4.b32 {{%R_{first}, %R_{first + 2}, %R_{first + 4}, %R_{first + 6}}}, [{place}];"


def interleaved():
    memory = Tensor("SM", (16, 4, 2), "uint32", "shared", align=16, layout="S[(16,4,2):(8,1,128)]")
    registers = Tensor("R", (2, 2, 8, 4), "uint32", "register", layout="S[(2,2,8,4):(8,2,4@laneid,1@laneid)]", size_bytes=48)
    view = memory.rearrange("(r m) w k -> k m r w", r=8, m=2)
    return apply("ldmatrix.sync.aligned.m8n8.x2.shared.b16", registers, view, scope="warp")


def test_ldmatrix_names_the_slots_of_spec_and_lanes_repeat_the_rows():
    emission = emit(interleaved())
    assert normalised(emission.instructions) == (
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%1, %2}, [%3];",
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%4, %5}, [%3+512];",
    )
    assert "{%R_0, %R_2}" in emission.instructions[0]
    assert "{%R_8, %R_10}" in emission.instructions[1]
    assert ".reg .b32 %R_<12>;" in emission.declarations
    offset = next(bind(interleaved()).issues()).bytes["src"]
    for lane in range(32):
        matrix, row = lane % 16 // 8, lane % 8
        assert evaluate(offset, {"laneid": lane}) == 4 * (8 * (2 * row + matrix))


def test_what_is_not_proved_is_not_emitted():
    registers, memory = Tensor("R", (4,), "float32", "register"), Tensor("A", (4,), "float32", align=8)
    call = apply("ld.global.v4.b32", registers, memory, scope="thread")
    for emitter in (emit, emit_kernel):
        with pytest.raises(NotProvedError, match="refuted"):
            emitter(call)
    assert len(emit_unchecked(call).instructions) == 1


def test_a_slot_that_depends_on_a_symbol_is_refused_by_name():
    n = symbol("n", min=0, max=8, multiple_of=4)
    registers, memory = Tensor("R", (12,), "float32", "register"), Tensor("A", (4,), "float32", align=16)
    with pytest.raises(
        EmissionError, match=r"operand R: the slot of register 0 .* depends on the symbol n: registers have no run-time index"
    ):
        emit(apply("ld.global.v4.b32", registers[n : n + 4], memory, scope="thread"))


def test_a_slot_that_depends_on_the_lane_is_refused_by_name():
    call = read_call(
        {
            "schema": "tilecheck/call@1",
            "opcode": "ld.global.b32",
            "scope": "warp",
            "operands": [
                {
                    "name": "R",
                    "space": "register",
                    "dtype": "float32",
                    "shape": [64],
                    "layout": "S[64:1]",
                    "view": [{"op": "slice", "begin": ["laneid"], "extent": [1]}, {"op": "broadcast", "shape": [32, 1]}],
                },
                {"name": "A", "space": "global", "dtype": "float32", "shape": [32, 1]},
            ],
        }
    )
    with pytest.raises(EmissionError, match="the coordinate laneid"):
        emit_unchecked(call)


def test_a_slot_is_constant_where_facts_leave_one_value():
    n = symbol("n", min=0, max=15)
    registers, memory = Tensor("R", (24,), "float32", "register"), Tensor("A", (4,), "float32", align=16)
    begin = terms.mul(4, terms.floordiv(n, 8))
    call = apply("ld.global.v4.b32", registers[begin : terms.add(begin, 4)], memory, scope="thread", assume=[n >= 8])
    assert emit(call).instructions == ("ld.global.v4.b32 {%R_4, %R_5, %R_6, %R_7}, [%tc_ptr_A];",)


def test_a_collective_register_must_be_one_slot_in_every_lane():
    memory = Tensor("A", (1, 8, 4), "uint32", "shared", align=16)
    registers = Tensor("R", (1, 8, 4), "uint32", "register", layout="S[(1,8,2,2):(0,4@laneid,2@laneid,1@laneid)] + 0")
    twisted = Tensor("R", (1, 8, 4), "uint32", "register", layout="S[(1,2,4,4):(0,1,4@laneid,1@laneid)]")
    assert len(emit(apply("ldmatrix.sync.aligned.m8n8.x1.shared.b16", registers, memory, scope="warp")).instructions) == 1
    with pytest.raises(EmissionError, match="must be the same slot in every lane"):
        emit_unchecked(apply("ldmatrix.sync.aligned.m8n8.x1.shared.b16", twisted, memory, scope="warp"))


def test_a_predicate_guards_the_one_instruction():
    lines = emit(loads(pred="laneid % 2 == 0", preserve_dst=True)).instructions
    assert all(line.startswith("@%tc_p0 ld.global.v4.b32 {") for line in lines)


def test_the_guard_is_a_comment_of_the_snippet_and_a_branch_of_the_kernel():
    registers = Tensor("R", (1, 32, 3, 4), "float32", "register", layout="S[(1,32,3,4):(0,1@laneid,8,2)] + 1@warpid")
    memory = Tensor("A", (1, 32, 3, 4), "float32", align=16)
    call = apply("ld.global.v4.b32", registers, memory, scope="cta", launch=Launch((64,)), guard="warpid == 1")
    emission = emit(call)
    assert emission.guard == "warpid == 1"
    assert "// only threads with warpid == 1 may enter" in emission.ptx
    assert "bra" not in emission.ptx
    assert "bra TC_DONE;" in emit_kernel(call).ptx


def test_a_guard_that_may_leave_64_bits_is_refused():
    n = symbol("n")
    with pytest.raises(EmissionError, match="may leave 64 bits"):
        emit_kernel_unchecked(loads(guard=n * n < 7, symbols=[n]))


@pytest.mark.parametrize("policy", [0x12F0000000000000, (1 << 64) - 1])
def test_a_cache_policy_is_a_register_operand(policy):
    registers, memory = Tensor("R", (4,), "float32", "register"), Tensor("A", (4,), "float32", align=16)
    emission = emit(apply("ld.global.L2::cache_hint.v4.f32", registers, memory, scope="thread", cache_policy=policy))
    assert emission.instructions == ("ld.global.L2::cache_hint.v4.f32 {%R_0, %R_1, %R_2, %R_3}, [%tc_ptr_A], %tc_s0;",)
    assert emission.arch == "sm_80"


def test_architectures_below_the_floor_are_refused():
    registers, memory = Tensor("R", (8,), "float32", "register"), Tensor("A", (8,), "float32", align=32)
    call = apply("ld.global.v8.f32", registers, memory, scope="thread")
    assert emit(call).arch == "sm_100"
    assert ".version 8.8\n.target sm_100\n" in emit_kernel(call).ptx
    with pytest.raises(EmissionError, match="does not exist on sm_90"):
        emit(call, arch="sm_90")


def test_a_cluster_needs_sm_90():
    registers = Tensor("R", (2, 1, 32, 1), "float32", "register", layout="S[(2,1,32,1):(1@cbx,0,1@laneid,0)]")
    call = apply("ld.global.b32", registers, Tensor("A", (2, 1, 32, 1), "float32"), scope="cluster", launch=Launch((32,), (2,)))
    kernel = emit_kernel(call)
    assert kernel.arch == "sm_90"
    assert ".reqnctapercluster 2, 1, 1" in kernel.ptx
    assert "%cluster_ctaid.x" in kernel.emission.ptx


def test_the_plan_names_every_parameter_in_order():
    n, v = symbol("n", min=0, max=60, multiple_of=4), symbol("v", min=0, max=1, varies="warp")
    registers = Tensor("R", (4,), "float32", "register", size_bytes=48)
    memory = Tensor("SM", (68,), "float32", "shared", align=16)
    call = apply("ld.shared.v4.b32", registers[4:8], memory[n : n + 4], scope="thread", launch=Launch((64,)), symbols=[n, v])
    kernel = emit_kernel_unchecked(call)
    assert kernel.plan() == [
        {"role": "registers", "name": "R", "slots": 12, "slot_bytes": 4, "threads": 64},
        {"role": "staged", "name": "SM", "space": "shared", "bytes": 272, "copies": 1, "align": 32, "residue": 16},
        {"role": "uniform", "symbol": "n"},
        {"role": "varying", "symbol": "v", "varies": "warp", "threads": 64},
        {"role": "elected"},
    ]
    assert json.loads(json.dumps(kernel.plan())) == kernel.plan()
    assert kernel.ptx.count(".param .u64") == 7


def test_a_symbolic_tensor_has_a_symbolic_size():
    rows = symbol("rows", min=4, max=9)
    memory = Tensor("A", (rows, 4), "float32", align=16, layout=S[(rows, 4) : (4, 1)])
    call = apply("ld.global.v4.b32", Tensor("R", (1, 4), "float32", "register"), memory[0:1, :], scope="thread")
    size = next(one for one in emit_kernel(call).plan() if one["role"] == "global")["bytes"]
    assert isinstance(size, str)
    from tilecheck.symbolic import parse

    assert evaluate(parse(size), {"rows": 7}) == 7 * 4 * 4


@pytest.mark.parametrize(
    ("align", "base", "expected"),
    [(16, None, (32, 16)), (16, (32, 16), (64, 48)), (4, (6, 2), (24, 20)), (2048, None, (2048, 0)), (1, None, (2, 1))],
)
def test_bases_satisfy_what_is_known_and_no_more(align, base, expected):
    memory = Tensor("A", (1,), "float32", align=align, base=base)
    operand = bind(apply("ld.global.b32", Tensor("R", (1,), "float32", "register"), memory, scope="thread")).operands[1]
    assert residue([operand]) == expected


def test_contradictory_bases_are_refused():
    memory = Tensor("A", (1,), "float32", align=16, base=(32, 8))
    with pytest.raises(EmissionError, match="no address"):
        emit_kernel_unchecked(apply("ld.global.b32", Tensor("R", (1,), "float32", "register"), memory, scope="thread"))


def test_a_million_repeats_are_not_written():
    registers = Tensor("R", (1000, 1000, 1), "float32", "register", layout=S[(1000, 1000, 1) : (1000, 1, 1)])
    call = apply("ld.global.b32", registers, Tensor("A", (1000, 1000, 1), "float32"), scope="thread")
    with pytest.raises(EmissionError, match="1000000 repeats"):
        emit_unchecked(call)


def test_names_that_ptx_cannot_write_stay_apart():
    names = Names()
    assert [names.of(key) for key in ("A b", "A_b", "tc_s", "9", "A b")] == ["A_b", "A_b_n2", "rtc_s", "r9", "A_b"]


def test_a_line_feed_in_a_name_does_not_leave_its_comment():
    registers, memory = Tensor("R\nret;", (1,), "float32", "register"), Tensor("A", (1,), "float32")
    ptx = emit_unchecked(apply("ld.global.b32", registers, memory, scope="thread", id="x\ntrap;")).ptx
    assert not any(line.startswith(("ret", "trap")) for line in ptx.splitlines())


def test_rows_of_lanes_are_digits_where_they_can_be():
    lane = var("laneid")
    assert looked_up(lane, tuple(k // 8 for k in range(16))) == terms.mod(terms.floordiv(lane, 8), 2)
    assert looked_up(lane, (3, 1, 2, 0)) == terms.table(terms.mod(lane, 4), (3, 1, 2, 0))
    for values in ((0, 1, 2, 3) * 8, (0, 0, 1, 1) * 4, (5, 5, 5, 5), (0, 2, 1, 3)):
        for k in range(32):
            assert evaluate(looked_up(lane, values), {"laneid": k}) == values[k % len(values)]


def test_the_ptx_version_follows_architecture_and_form():
    assert [version("sm_75"), version("sm_90a"), version("sm_100"), version("sm_100f"), version("sm_103a")] == [
        "8.4",
        "8.4",
        "8.6",
        "8.8",
        "8.8",
    ]
    assert version("sm_75", "ld.volatile.local.b32") == "9.1"


def test_an_operand_named_like_the_allocation_of_another_is_not_given_its_registers():
    view = {"space": "register", "dtype": "float32", "shape": [4, 1]}
    operands = [{"name": "D", "tensor": "A", **view}, {"name": "A", **view}, {"name": "B", **view}]
    document = {"schema": "tilecheck/call@1", "opcode": "add.f32", "scope": "thread", "operands": operands}
    with pytest.raises(EmissionError, match="operand A has the name of the allocation of D"):
        emit(read_call(document))
    operands[1]["tensor"] = "A"
    assert "add.f32 %A_0, %A_0, %B_0;" in emit(read_call(document)).ptx
