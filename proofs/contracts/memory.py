"""Theorems about ld and st: one vector is consecutive words in any registers, and a store is the inverse of a load."""

from __future__ import annotations

import json

from tilecheck import Theorem, eq, theorem
from tilecheck.spec import Contract, Memory, Register, data, find_contract
from tilecheck.symbolic import substitute, terms

VECTORS = ("b8", "b16", "b32", "b64", "b128", "v2.b8", "v4.b8", "v2.b16", "v4.b16", "v2.b32", "v4.b32", "v2.b64", "v8.b32", "v4.b64")


def form(mnemonic: str, vector: str) -> Contract:
    """The global form of one vector."""
    found = find_contract(f"{mnemonic}.global.{vector}")
    assert isinstance(found, Contract)
    return found


@theorem
def every_word_has_its_own_register(t: Theorem) -> None:
    """word -> register is the identity: as many registers as words, in operand order."""
    for k, vector in enumerate(VECTORS):
        for mnemonic in ("ld", "st"):
            contract = form(mnemonic, vector)
            word = t.symbol(f"word_{mnemonic}{k}", min=0, max=contract.atom[0].extent - 1)
            spec = next(o for o in contract.operands if isinstance(o, Register))
            t.show(eq(substitute(spec.register, {"word": word}), word), contract.opcode)


@theorem
def the_alignment_is_the_size_of_the_vector(t: Theorem) -> None:
    """A vector is aligned to all the bytes it moves, at most 32; it is then inside one 32-byte sector."""
    for k, vector in enumerate(VECTORS):
        contract = form("ld", vector)
        spec = next(o for o in contract.operands if isinstance(o, Memory))
        size = spec.bits * contract.atom[0].extent // 8
        t.holds(spec.align_bytes == size and 32 % size == 0, f"{contract.opcode}: {size} bytes")
        start = t.symbol(f"start_{k}", min=0, multiple_of=size)
        t.show(eq(terms.floordiv(start, 32), terms.floordiv(terms.add(start, size - 1), 32)), f"{contract.opcode}: one sector")


@theorem
def a_store_writes_back_what_a_load_read(t: Theorem) -> None:
    """Word by word, load after store is the identity."""
    for k, vector in enumerate(VECTORS):
        load, store = form("ld", vector), form("st", vector)
        word = t.symbol(f"word_{k}", min=0, max=load.atom[0].extent - 1)
        register = substitute(store.move.source[0], {"word": word})
        t.show(eq(substitute(load.move.source[0], {"word": register}), word), vector)


@theorem
def contracts_survive_json(t: Theorem) -> None:
    """The data of every form is the same after JSON, tuples and lists aside."""
    for vector in VECTORS:
        for mnemonic in ("ld", "st"):
            once = json.dumps(data(form(mnemonic, vector)))
            t.holds(json.dumps(json.loads(once)) == once, f"{mnemonic}.global.{vector}")
