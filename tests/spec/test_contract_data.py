"""A contract is data: it serialises without loss, and its hash is the same in every process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tilecheck.evaluate import Model
from tilecheck.evaluate.expressions import term
from tilecheck.spec import Contract, Memory, Register, built_in_families, contract_hash, data, find_contract
from tilecheck.spec.contract import listed

ROOT = Path(__file__).parent.parent.parent
MATRICES = [
    f"{kind}matrix.sync.aligned.m8n8.{num}{trans}{space}.b16"
    for kind in ("ld", "st")
    for num in ("x1", "x2", "x4")
    for trans in ("", ".trans")
    for space in ("", ".shared", ".shared::cta")
]
COPIES = [
    f"{opcode}.{space}{vector}.b{bits}"
    for opcode in ("ld", "st")
    for space in ("global", "shared", "local", "shared::cluster")
    for bits in (8, 16, 32, 64)
    for vector in ("", ".v2", ".v4")
    if vector != ".v4" or bits < 64
]
OTHERS = [
    "ld.global.v8.b32",
    "st.global.v4.b64",
    "ld.global.b128",
    "ld.global.L2::cache_hint.v4.b32",
    "ld.acquire.gpu.global.u32",
    "ld.const.f64",
    "ld.b32",
]
OPCODES = [*MATRICES, *COPIES, *OTHERS]


def contract(opcode: str) -> Contract:
    found = find_contract(opcode)
    assert isinstance(found, Contract), opcode
    return found


@pytest.mark.parametrize("opcode", OPCODES)
def test_a_contract_is_json_without_loss(opcode):
    found = data(contract(opcode))
    assert json.loads(json.dumps(found)) == listed(found)


@pytest.mark.parametrize("opcode", OPCODES[::5])
def test_the_evaluator_reads_the_json_as_it_reads_the_data(opcode):
    found = contract(opcode)
    matrix = "matrix" in opcode
    shape = list(found.suffix)
    layout = f"S[({','.join(map(str, shape))}):({','.join(['1', '4@laneid', '1@laneid'] if matrix else ['1'])})]"
    bits = found.operands[0].bits
    register = {"name": "R", "space": "register", "dtype": f"uint{bits}" if bits <= 64 else "bits128", "shape": shape, "layout": layout}
    memory = next(o for o in found.operands if isinstance(o, Memory))
    strides = [str(4 * 8 * 4), "4", "1"] if matrix else ["1"]
    source = register | {
        "name": "A",
        "space": memory.space.split("::")[0] or "global",
        "layout": f"S[({','.join(map(str, shape))}):({','.join(strides)})]",
        "align": 32,
    }
    operands = [source if isinstance(o, Memory) else register for o in found.operands]
    call = {
        "schema": "tilecheck/call@1",
        "opcode": opcode,
        "scope": "warp" if matrix else "thread",
        "launch": {"block": [32]},
        "operands": operands,
        "symbols": [],
        "parameters": {"cache_policy": 0} if "cache_hint" in opcode else {},
    }
    first, second = (Model(form, call).check() for form in (data(found), json.loads(json.dumps(data(found)))))
    assert first == second
    if matrix and ".shared" in opcode:
        assert first.status == "proved"


@pytest.mark.parametrize("opcode", OPCODES)
def test_registers_and_providers_stay_inside_the_instruction(opcode):
    """Every element has a register, a lane below 32 and (matrices) a provider below 32; no two elements share a register of a lane."""
    form = json.loads(json.dumps(data(contract(opcode))))
    points: list[dict[str, int]] = [{}]
    for name, extent in form["atom"]:
        points = [point | {name: k} for point in points for k in range(extent)]
    for operand in form["operands"]:
        lanes = [0 if operand.get("lane") is None else term(operand["lane"], point) for point in points]
        assert all(0 <= lane < 32 for lane in lanes)
        if operand["kind"] == "register":
            slots = [(lane, term(operand["register"], point)) for lane, point in zip(lanes, points, strict=True)]
            assert len(set(slots)) == len(points)
            assert {slot for _, slot in slots} == set(range(len({slot for _, slot in slots})))
        elif operand["provider"] is not None:
            assert all(0 <= term(operand["provider"], point) < 32 for point in points)


@pytest.mark.parametrize("opcode", MATRICES)
def test_a_matrix_moves_each_half_word_once(opcode):
    form = data(contract(opcode))
    num = contract(opcode).suffix[0]
    sources = set()
    for matrix in range(num):
        for row in range(8):
            for word in range(4):
                for half in range(2):
                    point = {"matrix": matrix, "row": row, "word": word, "half": half}
                    sources.add(tuple(term(part, point) for part in form["move"]["source"]))
    assert len(sources) == num * 64


def test_a_transposed_matrix_is_the_transpose():
    """Lane 4*row + word holds columns 2*word and 2*word + 1 of the transposed row: rows 2*word and 2*word + 1, column `row`."""
    source = data(contract("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16"))["move"]["source"]
    for row in range(8):
        for column in range(8):
            point = {"matrix": 0, "row": row, "word": column // 2, "half": column % 2}
            _, their_row, their_word, their_half = (term(part, point) for part in source)
            assert (their_row, 2 * their_word + their_half) == (column, row)


@pytest.mark.parametrize("opcode", COPIES)
def test_the_alignment_of_a_copy_is_its_whole_size(opcode):
    found = contract(opcode)
    memory = next(o for o in found.operands if isinstance(o, Memory))
    assert memory.align_bytes == memory.bits // 8 * found.suffix[0]
    register = next(o for o in found.operands if isinstance(o, Register))
    assert register.write is opcode.startswith("ld")
    assert memory.write is opcode.startswith("st")


def test_the_hash_of_a_contract_is_the_same_in_every_process():
    code = "import json, sys\nfrom tilecheck.spec import contract_hash, find_contract\nprint(json.dumps([contract_hash(find_contract(o)) for o in json.load(sys.stdin)]))"
    ours = [contract_hash(contract(opcode)) for opcode in OPCODES]
    for seed in ("0", "1234"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(OPCODES),
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
        )
        assert json.loads(done.stdout) == ours


def test_contracts_of_different_forms_have_different_hashes():
    hashes = {contract_hash(contract(opcode)) for opcode in OPCODES}
    assert len(hashes) == len(OPCODES)


def test_a_changed_alignment_changes_the_hash():
    import dataclasses

    found = contract("ld.global.b32")
    changed = tuple(dataclasses.replace(o, align_bytes=8) if isinstance(o, Memory) else o for o in found.operands)
    assert contract_hash(dataclasses.replace(found, operands=changed)) != contract_hash(found)


def test_the_built_in_families_are_found_by_their_mnemonics():
    mnemonics = [entry.grammar.mnemonic for family in built_in_families() for entry in family.entries]
    assert {"ld", "st", "ldmatrix", "stmatrix"} <= set(mnemonics)
    assert len(set(mnemonics)) == len(mnemonics)
