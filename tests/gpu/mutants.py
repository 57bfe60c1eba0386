"""Wrong contracts that a reconstruction must notice: owner, provider, walk, word order, width, transposition.

A mutant of the prediction changes the contract's data before the evaluator reads it, and is compared with what the right kernel did. A
mutant of the emission changes the contract that the kernel is written from, and is compared with the right prediction.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass

from tests.gpu.documents import Json
from tilecheck.spec import Contract, Memory, Register, data, find_contract
from tilecheck.symbolic import parse
from tilecheck.symbolic.terms import Term

LDX4, STX4 = "ldmatrix.sync.aligned.m8n8.x4.shared.b16, dense", "stmatrix.sync.aligned.m8n8.x4.shared.b16, dense"
MOVE = "movmatrix.sync.aligned.m8n8.trans.b16, separated slots"
LDT, STT = "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16, dense", "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16, dense"
Data = dict[str, object]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A wrong contract, or a wrong call. part: what is wrong; form: the reconstructed form it stands in for; one of `predicts`, `emits` and `calls` applies it."""

    part: str
    form: str
    what: str
    predicts: Callable[[Data], None] | None = None
    emits: Callable[[Contract], Contract] | None = None
    calls: Callable[[Json], Json] | None = None
    """The document that the prediction is made from."""


def contract_data(opcode: str) -> Data:
    """The contract of an opcode as JSON data, fresh."""
    found = find_contract(opcode)
    assert isinstance(found, Contract)
    return copy.deepcopy(json.loads(json.dumps(data(found))))


def owner(operand: str, lane: object) -> Callable[[Data], None]:
    def apply(contract: Data) -> None:
        for one in contract["operands"]:
            if one["name"] == operand:
                one["lane"] = lane

    return apply


def source(*terms: object) -> Callable[[Data], None]:
    def apply(contract: Data) -> None:
        contract["move"]["source"] = list(terms)

    return apply


def halves(*terms: object) -> Callable[[Data], None]:
    """Splits each element in two and takes the halves from elsewhere."""

    def apply(contract: Data) -> None:
        contract["move"]["parts"] = [["half", 2]]
        contract["move"]["source"] = list(terms)

    return apply


def memory(**changes: object) -> Callable[[Contract], Contract]:
    return lambda c: dataclasses.replace(
        c, operands=tuple(dataclasses.replace(o, **changes) if isinstance(o, Memory) else o for o in c.operands)
    )


def register(order: Term) -> Callable[[Contract], Contract]:
    return lambda c: dataclasses.replace(
        c, operands=tuple(dataclasses.replace(o, register=order) if isinstance(o, Register) else o for o in c.operands)
    )


def spelled(opcode: str) -> Callable[[Contract], Contract]:
    return lambda c: dataclasses.replace(c, opcode=opcode)


def _minus(a: object, name: str) -> list[object]:
    return ["+", a, ["*", -1, name]]


TRANSPOSED = ("matrix", ["+", ["*", 2, "word"], "half"], ["//", "row", 2], ["%", "row", 2])
STRAIGHT = ("matrix", "row", "word", "half")


def mutants() -> list[Mutant]:
    """The seeded mutants."""
    ld, st, ld2 = "ld.global.v4.b32", "st.global.v4.b32", "ld.shared.v2.b32"
    return [
        Mutant("owner", LDX4, "lane 8*word + row", owner("dst", ["+", ["*", 8, "word"], "row"])),
        Mutant("owner", STX4, "lane 8*word + row", owner("src", ["+", ["*", 8, "word"], "row"])),
        Mutant("owner", LDX4, "neighbouring words exchanged", owner("dst", ["+", ["*", 4, "row"], ["^", "word", 1]])),
        Mutant("owner", STT, "neighbouring rows exchanged", owner("src", ["+", ["*", 4, ["^", "row", 1]], "word"])),
        Mutant("transposition", LDX4, "as with .trans", source(*TRANSPOSED)),
        Mutant("transposition", LDT, "as without .trans", source(*STRAIGHT)),
        Mutant("transposition", STX4, "as with .trans", source(*TRANSPOSED)),
        Mutant("transposition", STT, "as without .trans", source(*STRAIGHT)),
        Mutant("transposition", LDT, "written without .trans", emits=spelled("ldmatrix.sync.aligned.m8n8.x4.shared.b16")),
        Mutant("word order", LDX4, "halves of a word exchanged", source("matrix", "row", "word", _minus(1, "half"))),
        Mutant(
            "word order",
            STT,
            "halves of a transposed word exchanged",
            source("matrix", ["+", ["*", 2, "word"], _minus(1, "half")], *TRANSPOSED[2:]),
        ),
        Mutant("owner", MOVE, "lane 8*word + row", owner("src", ["+", ["*", 8, "word"], "row"])),
        Mutant("transposition", MOVE, "no transposition", source("row", "word", "half")),
        Mutant("word order", MOVE, "halves of a word exchanged", source(["+", ["*", 2, "word"], _minus(1, "half")], *TRANSPOSED[2:])),
        Mutant("word order", ld, "words descending", source(_minus(3, "word"))),
        Mutant("word order", st, "words exchanged in pairs", source(["^", "word", 1])),
        Mutant("word order", ld2, "words exchanged", source(_minus(1, "word"))),
        Mutant("word order", LDX4, "matrices descending", source(_minus(3, "matrix"), "row", "word", "half")),
        Mutant("word order", ld, "registers named in descending order", emits=register(parse("3 - word"))),
        Mutant("walk", ld, "every second word", source(["%", ["*", 2, "word"], 4])),
        Mutant("walk", st, "the first word twice", source(["*", 2, ["//", "word", 2]])),
        Mutant("walk", LDX4, "eight rows at consecutive addresses of one", emits=memory(row=("row", "word"), provider=parse("matrix"))),
        Mutant("provider", LDX4, "neighbouring lanes exchanged", emits=memory(provider=parse("8*matrix + (row ^ 1)"))),
        Mutant("provider", LDX4, "lane 4*row + matrix", emits=memory(provider=parse("4*row + matrix"))),
        Mutant("provider", STX4, "matrices exchanged in pairs", emits=memory(provider=parse("8*(matrix ^ 1) + row"))),
        Mutant("width", "ld.global.b16", "8 bits, zero-extended", emits=spelled("ld.global.b8")),
        Mutant("width", "st.global.b16", "8 bits", emits=spelled("st.global.b8")),
        Mutant("width", ld, "the low half of every word twice", halves("word", 0)),
        Mutant("width", "st.shared.b32", "16 bits", emits=spelled("st.shared.b16")),
    ]
