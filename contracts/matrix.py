"""`ldmatrix` and `stmatrix`, m8n8.b16: a warp moves 8x8 matrices of 16-bit values between shared rows and registers.

Sources: PTX ISA 9.7.14.5.15 (ldmatrix), 9.7.14.5.16 (stmatrix); register images reconstructed on a GPU (docs/evidence).
"""

from __future__ import annotations

from collections.abc import Mapping

from tilecheck.spec import AtomAxis, Contract, Entry, Family, Floor, Grammar, Memory, Move, Parameter, Register, Slot, both
from tilecheck.symbolic import var

CONTAINERS = ("float32", "int32", "uint32", "bits32")


def _grammar(mnemonic: str, arch: str, source: str) -> Grammar:
    slots = (
        Slot("sync", ("sync",), required=True),
        Slot("aligned", ("aligned",), required=True),
        Slot("shape", ("m8n8",), required=True),
        Slot("num", ("x1", "x2", "x4"), required=True),
        Slot("trans", ("trans",)),
        Slot("space", ("shared", "shared::cta")),
        Slot("type", ("b16",), required=True),
    )
    return Grammar(mnemonic, slots, exclusions=(), floors=(Floor(both(), arch),), source=source)


LDMATRIX = _grammar("ldmatrix", "sm_75", "PTX ISA 9.7.14.5.15")
STMATRIX = _grammar("stmatrix", "sm_90", "PTX ISA 9.7.14.5.16")


def _contract(grammar: Grammar, q: Mapping[str, str]) -> Contract:
    """Word (matrix, row, word) is register `matrix` of lane 4*row + word; lane 8*matrix + row provides the address of that row.

    A b32 word holds two b16 values, columns 2*word (low half) and 2*word + 1. With `.trans` the register matrix is the
    transpose of the shared one. Lanes beyond 8*num repeat the addresses of lower lanes (ISA: needed on sm_75).
    """
    load = grammar is LDMATRIX
    num = int(q["num"][1:])
    matrix, row, word, half = var("matrix"), var("row"), var("word"), var("half")
    register = Register("dst" if load else "src", bits=32, register=matrix, write=load, lane=4 * row + word, dtypes=CONTAINERS)
    memory = Memory(
        "src" if load else "dst",
        "shared",
        bits=32,
        row=("word",),
        align_bytes=16,
        write=not load,
        provider=8 * matrix + row,
        surplus="repeat",
        dtypes=CONTAINERS,
    )
    transposed = (matrix, 2 * word + half, row // 2, row % 2)
    return Contract(
        opcode=grammar.spell(q),
        mnemonic=grammar.mnemonic,
        arch=grammar.arch_floor(q),
        source=grammar.source,
        collective="warp",
        atom=(AtomAxis("matrix", num), AtomAxis("row", 8), AtomAxis("word", 4)),
        operands=(register, memory) if load else (memory, register),
        parameters=(Parameter("pred", "predicate"), *((Parameter("preserve_dst", "flag", needs="pred"),) if load else ())),
        move=Move("dst", "src", source=transposed if q["trans"] else (matrix, row, word, half), parts=(AtomAxis("half", 2),)),
        issue="{opcode} {{{dst}}}, [{src}];" if load else "{opcode} [{dst}], {{{src}}};",
        qualifiers=q,
        space_written=bool(q["space"]),
    )


def ldmatrix(q: Mapping[str, str]) -> Contract:
    """The load of `num` matrices."""
    return _contract(LDMATRIX, q)


def stmatrix(q: Mapping[str, str]) -> Contract:
    """The store of `num` matrices."""
    return _contract(STMATRIX, q)


FAMILY = Family("matrix", (Entry(LDMATRIX, ldmatrix), Entry(STMATRIX, stmatrix)))
