"""Emitted kernels assembled by nvJitLink or ptxas, for the lowest architecture that has the form."""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator

import pytest

from tests.gpu.forms import all_forms, wide_forms
from tilecheck.call import apply
from tilecheck.document import read_call
from tilecheck.emit import assemble, emit_kernel_unchecked
from tilecheck.emit.assemble import NoAssemblerError
from tilecheck.layout.view import Tensor
from tilecheck.spec import Contract, Register, find_contract, find_entry

module = importlib.import_module("tilecheck.emit.assemble")
SPACES = ("global", "shared", "shared::cta", "shared::cluster", "local")
try:
    assemble("", "sm_90")
    MISSING = False
except NoAssemblerError:
    MISSING = True
pytestmark = pytest.mark.skipif(MISSING, reason="no assembler is installed (extra `assemble`)")


def fragment(shape: tuple[int, ...]) -> str:
    """The registers of matrices: four lanes a row, eight rows a register."""
    *matrices, rows, words = shape
    groups, count = rows // 8, matrices[0] if matrices else 1
    return f"S[({count},{groups},8,{words}):({groups},1,4@laneid,1@laneid)]"


def call_of(opcode: str):
    """A call of the plainest operands that an opcode takes."""
    contract = find_contract(opcode)
    assert isinstance(contract, Contract)
    shape = tuple(axis.extent for axis in contract.atom)
    operands = []
    for operand in contract.operands:
        dtype = f"bits{operand.bits}"
        if isinstance(operand, Register):
            operands.append(
                Tensor(operand.name, shape, dtype, "register", layout=fragment(shape) if contract.collective == "warp" else None)
            )
        else:
            operands.append(Tensor("A", shape, dtype, operand.space, align=operand.align_bytes))
    policy = {"cache_policy": 1 << 60} if any(p.name == "cache_policy" for p in contract.parameters) else {}
    return apply(opcode, *operands, scope=contract.collective, **policy)


def assembled(opcode: str) -> str:
    kernel = emit_kernel_unchecked(call_of(opcode))
    assert opcode in kernel.ptx
    found = assemble(kernel.ptx, kernel.arch)
    return "" if found.ok else f"{opcode} for {kernel.arch}: {found.log}"


def spellings(mnemonic: str, seed: int, count: int) -> Iterator[str]:
    """Legal spellings drawn at random: some qualifiers left out, the others any."""
    entry = find_entry(mnemonic)
    assert entry is not None
    rng = random.Random(seed)
    grammar = entry.grammar
    found: set[str] = set()
    while len(found) < count:
        tokens = {slot.name: rng.choice(slot.values) if slot.required or rng.random() < 0.35 else "" for slot in grammar.slots}
        tokens["space"] = rng.choice(SPACES)
        opcode = grammar.spell(tokens)
        if isinstance(grammar._read(opcode.split(".")[1:]), dict) and opcode not in found:
            found.add(opcode)
            yield opcode


def plain(mnemonic: str) -> Iterator[str]:
    entry = find_entry(mnemonic)
    assert entry is not None
    for space in ("global", "shared", "local"):
        for vec in ("", "v2", "v4", "v8"):
            for kind in next(slot for slot in entry.grammar.slots if slot.name == "type").values:
                opcode = ".".join(part for part in (mnemonic, space, vec, kind) if part)
                if isinstance(entry.grammar._read(opcode.split(".")[1:]), dict):
                    yield opcode


def single(mnemonic: str) -> Iterator[str]:
    """Every qualifier once, with what it needs."""
    needs = {
        "scope": {"order": "relaxed"},
        "relaxed": {"scope": "gpu"},
        "acquire": {"scope": "gpu"},
        "release": {"scope": "gpu"},
        "mmio": {"order": "relaxed", "scope": "sys"},
        "l2": {"vec": "v8"},
    }
    entry = find_entry(mnemonic)
    assert entry is not None
    for slot in entry.grammar.slots:
        for value in slot.values:
            tokens = {s.name: "" for s in entry.grammar.slots} | {"space": "global", "type": "b32"}
            tokens |= {**needs.get(slot.name, {}), **needs.get(value, {}), slot.name: value}
            opcode = entry.grammar.spell(tokens)
            if tokens["space"] in SPACES and isinstance(entry.grammar._read(opcode.split(".")[1:]), dict):
                yield opcode


@pytest.mark.parametrize("mnemonic", ["ld", "st"])
def test_every_type_vector_and_space_assembles(mnemonic):
    opcodes = list(plain(mnemonic))
    assert len(opcodes) > 100
    assert [log for log in map(assembled, opcodes) if log] == []


@pytest.mark.parametrize("mnemonic", ["ld", "st"])
def test_every_qualifier_assembles(mnemonic):
    opcodes = list(single(mnemonic))
    values = {part for opcode in opcodes for part in opcode.split(".")}
    entry = find_entry(mnemonic)
    wanted = {value for slot in entry.grammar.slots for value in slot.values if slot.name not in {"space", "vec"}}
    assert wanted <= values
    assert [log for log in map(assembled, opcodes) if log] == []


@pytest.mark.parametrize("mnemonic", ["ld", "st"])
def test_random_legal_spellings_assemble(mnemonic):
    assert [log for log in map(assembled, spellings(mnemonic, seed=11, count=120)) if log] == []


@pytest.mark.parametrize(("mnemonic", "count"), [("ldmatrix", 36), ("stmatrix", 18), ("movmatrix", 1)])
def test_every_matrix_form_assembles(mnemonic, count):
    grammar = find_entry(mnemonic).grammar
    opcodes = [grammar.spell(q) for q in grammar.legal() if q.get("space", "none")]
    assert len(opcodes) == count
    assert [log for log in map(assembled, opcodes) if log] == []


@pytest.mark.parametrize("arch", ["sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121f"])
def test_the_byte_forms_assemble_for_every_family_that_has_them(arch):
    for opcode in (
        "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8",
        "ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64",
        "stmatrix.sync.aligned.m16n8.x4.trans.shared.b8",
    ):
        kernel = emit_kernel_unchecked(call_of(opcode), arch)
        assert assemble(kernel.ptx, arch).ok, opcode
        assert not assemble(kernel.ptx.replace(arch, "sm_100"), "sm_100").ok, opcode


def test_reconstructed_forms_assemble_for_sm_90():
    for form in all_forms()[::6]:
        kernel = emit_kernel_unchecked(read_call(form.document), "sm_90")
        found = assemble(kernel.ptx, "sm_90")
        assert found.ok, f"{form.name}: {found.log}"


def test_the_256_bit_forms_assemble_for_sm_100_and_not_below():
    for form in wide_forms():
        kernel = emit_kernel_unchecked(read_call(form.document))
        assert kernel.arch == "sm_100"
        assert assemble(kernel.ptx, "sm_100").ok
        assert not assemble(kernel.ptx.replace("sm_100", "sm_90"), "sm_90").ok


def test_a_refusal_says_what_the_assembler_said():
    kernel = emit_kernel_unchecked(call_of("ld.global.v4.b32"))
    found = assemble(kernel.ptx.replace("ld.global.v4.b32", "ld.global.v3.b32"), kernel.arch)
    assert not found.ok
    assert "v3" in found.log or "error" in found.log


def test_ptxas_says_the_same_as_nvjitlink():
    path = module._ptxas()
    if path is None:
        pytest.skip("no ptxas is installed")
    kernel = emit_kernel_unchecked(call_of("st.shared.v2.b64"))
    assert module._with_ptxas(path, kernel.ptx, kernel.arch).ok
    wrong = module._with_ptxas(path, kernel.ptx.replace("st.shared.v2.b64", "st.shared.v5.b64"), kernel.arch)
    assert not wrong.ok
    assert wrong.log


def test_without_any_assembler_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(module, "_nvjitlink", lambda: None)
    monkeypatch.setattr(module, "_ptxas", lambda: None)
    module._assembler.cache_clear()
    try:
        with pytest.raises(NoAssemblerError, match=r"pip install 'tilecheck\[assemble\]'"):
            assemble("", "sm_90")
    finally:
        module._assembler.cache_clear()
