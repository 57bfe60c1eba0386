"""The worked examples of SPEC, with their numbers."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from calls import LANES, call, load, matrix, model, tensor

import tilecheck.evaluate
from tilecheck.evaluate import Model
from tilecheck.spec import data, find_contract

REARRANGE = {"op": "rearrange", "pattern": "i b j d -> j i (d b)"}


def words(rows: list[list[object]], lane: int = 0) -> dict[int, int]:
    """The word each slot of a lane holds."""
    return {row[4]: row[5][0][1] // 4 for row in rows if row[3] == lane}  # type: ignore[index]


def interleaved(strides: str = "(8,2,120,4)"):
    return call(
        "ld.global.v4.b32",
        tensor("R", "register", "float32", [15, 2, 7, 2], f"S[(15,2,7,2):{strides}]", REARRANGE),
        tensor("A", "global", "float32", [15, 2, 7, 2], "S[(15,2,7,2):(4,1,60,2)]", REARRANGE, align=16),
        block=[1],
    )


def test_a_hundred_and_five_loads_read_words_60j_plus_4i_plus_word():
    image = model(interleaved("(4,1,60,2)")).predict({})
    assert words(image.registers) == {
        60 * j + 4 * i + word: 60 * j + 4 * i + word for j in range(7) for i in range(15) for word in range(4)
    }


def test_separated_slots_keep_the_order_of_the_words():
    subject = model(interleaved())
    assert subject.check().status == "proved"
    image = subject.predict({})
    expected = {120 * j + 8 * i + 2 * word: 60 * j + 4 * i + word for j in range(7) for i in range(15) for word in range(4)}
    assert words(image.registers) == expected
    assert len(expected) == 105 * 4


def test_sixty_four_threads_load_three_vectors_each():
    subject = model(
        call(
            "ld.global.v4.b32",
            tensor("R", "register", "float32", [2, 32, 3, 4], "S[(2,32,3,4):(1@warpid,1@laneid,8,2)]"),
            tensor("A", "global", "float32", [2, 32, 3, 4], "S[(2,32,3,4):(384,12,4,1)]", align=16),
            scope="cta",
            block=[64],
        )
    )
    assert subject.check().status == "proved"
    image = subject.predict({})
    assert len(image.registers) == 64 * 12
    assert image.registers[64 * 12 - 1] == ["R", 0, 1, 31, 22, [["A", 4 * (384 + 31 * 12 + 11) + k] for k in range(4)]]


def x2(opcode: str = "ldmatrix.sync.aligned.m8n8.x2.shared.b16"):
    return call(
        opcode,
        tensor("R", "register", "uint32", [2, 2, 8, 4], "S[(2,2,8,4):(8,2,4@laneid,1@laneid)]"),
        tensor(
            "SM",
            "shared",
            "uint32",
            [16, 4, 2],
            "S[(16,4,2):(8,1,128)]",
            {"op": "rearrange", "pattern": "(r m) w k -> k m r w", "sizes": {"r": 8, "m": 2}},
            align=16,
        ),
        scope="warp",
    )


def test_ldmatrix_x2_fills_slots_0_2_8_10_by_the_formulas_of_the_page():
    subject = model(x2())
    assert subject.check().status == "proved"
    image = subject.predict({})

    def at(row: int, word: int, k: int) -> int:
        return 8 * row + word + 128 * k

    for lane in range(32):
        g, q = lane // 4, lane % 4
        assert words(image.registers, lane) == {0: at(2 * g, q, 0), 2: at(2 * g + 1, q, 0), 8: at(2 * g, q, 1), 10: at(2 * g + 1, q, 1)}


def test_ldmatrix_trans_loads_the_transpose_of_each_matrix():
    image = model(x2("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16")).predict({})
    slots = {(row[3], row[4]): row[5] for row in image.registers}
    for lane in range(32):
        g, q = lane // 4, lane % 4
        low, high = (2 * (8 * (2 * (2 * q + half))) * 2 + 2 * g for half in (0, 1))  # row 2q + half of the even rows, column g, in bytes
        assert slots[lane, 0] == [["SM", low], ["SM", low + 1], ["SM", high], ["SM", high + 1]]


@pytest.mark.parametrize("trans", ["", ".trans"])
def test_stmatrix_is_the_inverse_of_ldmatrix(trans: str):
    memory = tensor("SM", "shared", "uint32", [1, 8, 4], "S[(1,8,4):(32,4,1)]", align=16)
    registers = tensor("R", "register", "uint32", [1, 8, 4], LANES)
    loaded = model(call(f"ldmatrix.sync.aligned.m8n8.x1{trans}.shared.b16", registers, memory, scope="warp")).predict({})
    stored = model(call(f"stmatrix.sync.aligned.m8n8.x1{trans}.shared.b16", memory, registers, scope="warp")).predict({})
    sources = {(row[1], row[2], row[3], row[4], k): byte for row in loaded.registers for k, (_, byte) in enumerate(row[5])}
    assert {tuple(row[3]): row[1] for row in stored.memory} == sources
    assert all(row[2] == "R" for row in stored.memory)
    assert len(sources) == 128


def test_every_store_form_names_the_register_byte_it_comes_from():
    subject = model(
        call(
            "st.global.v2.b16",
            tensor("A", "global", "float16", [32, 2], "S[(32,2):(2,1)]", align=4),
            tensor("R", "register", "float16", [32, 2], "S[(32,2):(1@laneid,3)]"),
            scope="warp",
        )
    )
    assert subject.check().status == "proved"
    memory = subject.predict({}).memory
    assert memory[:4] == [
        ["A", 0, "R", [0, 0, 0, 0, 0]],
        ["A", 1, "R", [0, 0, 0, 0, 1]],
        ["A", 2, "R", [0, 0, 0, 3, 0]],
        ["A", 3, "R", [0, 0, 0, 3, 1]],
    ]
    assert len(memory) == 128


def test_bytes_written_twice_are_undefined():
    everyone = call(
        "st.global.b32", tensor("A", "global", "float32", [1], "S[1:1]"), tensor("R", "register", "float32", [1], "S[1:1]"), block=[2]
    )
    assert model(everyone).predict({}).memory == [["A", byte, None, "undefined"] for byte in range(4)]
    assert model(everyone).check().hazards == {"memory.race"}


@pytest.mark.parametrize(("space", "rows"), [("shared", 2), ("local", 2)])
def test_each_cta_and_each_thread_has_a_copy_of_its_own(space: str, rows: int):
    store = call(
        f"st.{space}.b8",
        tensor("A", space, "uint8", [1], "S[1:1]"),
        tensor("R", "register", "uint8", [1], "S[1:1]"),
        block=[1],
        cluster=[2, 1, 1],
    )
    memory = model(store).predict({}).memory
    assert memory == [["A", 0, "R", [cta, 0, 0, 0, 0]] for cta in range(rows)]
    assert model(store).check().hazards == frozenset()


def test_a_false_pred_leaves_the_destination_undefined_or_preserved():
    subject = load(block=[1], symbols=[{"name": "n", "min": 0, "max": 1}], parameters={"pred": "n > 0"})
    assert [row[4:] for row in model(subject).predict({"n": 0}).registers] == [[slot, None, "undefined"] for slot in range(4)]
    assert len(model(subject).predict({"n": 1}).registers) == 4
    subject["parameters"]["preserve_dst"] = True
    assert model(subject).predict({"n": 0}).registers == []


@pytest.mark.parametrize(
    ("level", "values", "expected"),
    [("thread", [0, 4, 8, 12], [0, 16, 32, 48]), ("cta", [0, 8], [0, 0, 0, 0]), ("cluster", 4, [16, 16, 16, 16])],
)
def test_varying_symbols_take_one_value_per_lane_or_cta(level: str, values: object, expected: list[int]):
    subject = load(begin="n", block=[4], symbols=[{"name": "n", "min": 0, "max": 60, "multiple_of": 4, "varies": level}])
    image = model(subject).predict({"n": values})  # type: ignore[dict-item]
    assert [row[5][0][1] for row in image.registers if row[4] == 0] == expected


def test_a_varying_symbol_needs_enough_values():
    subject = load(begin="n", block=[4], symbols=[{"name": "n", "min": 0, "max": 60, "varies": "thread"}])
    with pytest.raises(ValueError, match="n varies by thread and has 2 values"):
        model(subject).predict({"n": [0, 4]})
    with pytest.raises(ValueError, match="no value for n"):
        model(subject).predict({})


def test_the_elected_lane_alone_executes():
    image = model(load(begin="laneid * 4", memory="S[64:1]", guard="elected", block=[8])).predict({}, elected=3)
    assert {(row[3], row[4], row[5][0][1]) for row in image.registers} == {(3, slot, 4 * (12 + slot)) for slot in range(4)}


def test_a_repeated_operand_name_is_marked():
    subject = load(block=[1])
    subject["operands"][1]["name"] = "R"
    image = model(subject).predict({})
    assert image.registers[0] == ["R", 0, 0, 0, 0, [["R#2", k] for k in range(4)]]
    assert image.to_json() == {"registers": image.registers, "memory": []}


def test_a_source_register_is_read_from_the_replica_that_its_thread_owns():
    store = call(
        "st.global.b32",
        tensor("A", "global", "float32", [32, 1], "S[(32,1):(1,1)]"),
        tensor("R", "register", "float32", [32, 1], "S[(32,1):(0,1)] + R[32:1@laneid] + R[32:0]"),
        scope="warp",
    )
    assert model(store).check().status == "proved"
    assert model(store).predict({}).memory[4 * 7] == ["A", 28, "R", [0, 0, 7, 0, 0]]


def test_ldmatrix_predicts_sub_regions_by_run_time_stage():
    image = model(matrix(begin="n % 4", symbols=[{"name": "n", "min": 0, "max": 99}])).predict({"n": 7})
    assert words(image.registers, 5)[0] == 3 * 32 + 5


def test_the_evaluator_imports_nothing_of_the_prover():
    for path in Path(tilecheck.evaluate.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = (
                [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else [a.name for a in node.names]
                if isinstance(node, ast.Import)
                else []
            )
            for module in modules:
                assert not module.startswith("tilecheck") or module.startswith(("tilecheck.evaluate", "tilecheck.errors")), (path, module)
                assert module.split(".")[0] not in {"numpy", "sympy", "z3", "einops"}, (path, module)


def packed(kind: str):
    """One 8x16 matrix of packed elements: rows of 16 bytes, one register a lane."""
    registers = tensor("R", "register", "uint32", [1, 8, 4], "S[(1,8,4):(1,4@laneid,1@laneid)]")
    memory = tensor("A", "shared", "uint32", [1, 8, 4], "S[(1,8,4):(32,4,1)]", align=16)
    return call(f"ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.{kind}", registers, memory, scope="warp")


def test_six_bit_elements_are_cut_where_bytes_end_and_cleared_above():
    sources = {row[3]: row[5] for row in model(packed("b6x16_p32")).predict({}).registers}
    top = [None, "zero", 6, 2]
    first = [["A", 0, 0, 6], top, ["A", 0, 6, 2], ["A", 1, 0, 4], top, ["A", 1, 4, 4], ["A", 2, 0, 2], top, ["A", 2, 2, 6], top]
    assert sources[0] == first
    assert sources[1] == [[source[0], source[1] + 3, *source[2:]] if source[0] else source for source in first]
    assert sources[31][-2] == ["A", 7 * 16 + 11, 2, 6]


def test_four_bit_elements_stand_in_the_low_half_of_their_bytes():
    sources = {row[3]: row[5] for row in model(packed("b4x16_p64")).predict({}).registers}
    top = [None, "zero", 4, 4]
    assert sources[0] == [["A", 0, 0, 4], top, ["A", 0, 4, 4], top, ["A", 1, 0, 4], top, ["A", 1, 4, 4], top]
    assert sources[31][-2] == ["A", 7 * 16 + 7, 4, 4]


def moved(target: str = "", source: str = "", repeats: int = 1, **more: object):
    shape = [repeats, 8, 4]
    layouts = [f"S[({repeats},8,4):(1,4@laneid,1@laneid)]{tail}" for tail in (target, source)]
    operands = [tensor(name, "register", "uint32", shape, layout, **more) for name, layout in zip("RF", layouts, strict=True)]
    return call("movmatrix.sync.aligned.m8n8.trans.b16", *operands, scope="warp")


def test_movmatrix_takes_halves_from_the_lanes_of_a_column():
    rows = {row[3]: row[5] for row in model(moved()).predict({}).registers}
    for lane in range(32):
        row, column = 2 * (lane % 4), lane // 4
        origins = [[0, 0, 4 * (row + half) + column // 2, 0, 2 * (column % 2) + byte] for half in range(2) for byte in range(2)]
        assert rows[lane] == [["F", origin] for origin in origins]


def test_a_matrix_that_is_transposed_twice_is_where_it_was():
    image = model(moved(" + 1", "", 2, tensor="X"))
    assert image.check().hazards == {"alias"}
    rows = {(row[3], row[4]): row[5] for row in image.predict({}).registers}
    assert all(rows[lane, 2] == [["F", [0, 0, lane, 0, byte]] for byte in range(4)] for lane in range(32))
    assert rows[1, 1][0] == ["F", [0, 0, 8, 0, 0]]


def test_one_repeat_reads_every_register_before_it_writes_one():
    alone, together = (model(moved(**more)).predict({}).registers for more in ({}, {"tensor": "X"}))
    assert alone == together


@pytest.mark.parametrize(
    "subject",
    [
        moved(" + 1", "", 2, tensor="X"),
        call("st.global.b32", tensor("A", "global", "uint32", [1], "S[1:1]"), tensor("R", "register", "uint32", [1], "S[1:1]")),
    ],
)
def test_parts_of_bytes_go_to_registers_that_nobody_reads_only(subject):
    contract = json.loads(json.dumps(data(find_contract(subject["opcode"]))))
    axes = [name for name, _ in contract["atom"]]
    contract["move"] |= {"parts": [["pair", 16]], "source": [*axes, "pair"]}
    with pytest.raises(ValueError, match="whole bytes, not in units of 2 bits"):
        Model(contract, subject).predict({})
