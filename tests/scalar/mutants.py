"""Wrong tables of a scalar composition, each of which a comparison of results must notice."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

from tilecheck.spec import Contract, Instruction, find_contract

TABLE = find_contract("ewise")
assert isinstance(TABLE, Contract)
Key = tuple[str, tuple[str, ...], str]
Change = Callable[[Instruction], tuple[str, ...]]


def rewritten(pattern: str, text: str) -> Change:
    return lambda one: tuple(re.sub(pattern, text, line) for line in one.statements)


SWAP = rewritten(r"\$a, \$b", "$b, $a")
MUTANTS: tuple[tuple[str, tuple[str, ...], str, str, Change], ...] = (
    ("sub", ("float32",) * 2, "float32", "operands exchanged", SWAP),
    ("sub", ("uint16",) * 2, "uint16", "operands exchanged", SWAP),
    ("div", ("float64",) * 2, "float64", "operands exchanged", SWAP),
    ("add", ("float32",) * 2, "float32", "a difference", rewritten("add", "sub")),
    ("mul", ("int32",) * 2, "int32", "the high half", rewritten("lo", "hi")),
    ("mulhi", ("int16",) * 2, "int16", "as unsigned", rewritten("s16", "u16")),
    ("min", ("float16",) * 2, "float16", "the greater", rewritten("min", "max")),
    ("max", ("int64",) * 2, "int64", "as unsigned", rewritten("s64", "u64")),
    ("shr", ("int32",) * 2, "int32", "without its sign", rewritten("s32", "u32")),
    ("shl", ("int64",) * 2, "int64", "its amount not clamped", lambda one: ("cvt.u32.u64 $r0, $b;", one.statements[-1])),
    ("tdiv", ("int16",) * 2, "int16", "as unsigned", rewritten("s16", "u16")),
    ("tmod", ("uint32",) * 2, "uint32", "the quotient", rewritten("rem", "div")),
    ("neg", ("float32",), "float32", "the magnitude", rewritten("neg", "abs")),
    ("floor", ("float32",), "float32", "rounded to nearest", rewritten("rmi", "rni")),
    ("trunc", ("float64",), "float64", "rounded down", rewritten("rzi", "rmi")),
    ("lt", ("float32",) * 2, "bool", "also where equal", rewritten("lt", "le")),
    ("le", ("uint64",) * 2, "bool", "as signed", rewritten("u64", "s64")),
    ("ne", ("float64",) * 2, "bool", "equality", rewritten("neu", "eq")),
    ("both", ("bool", "bool"), "bool", "one of both", rewritten("and", "or")),
    ("not", ("bool",), "bool", "the condition itself", lambda _: ("or.pred $d, $a, $a;",)),
    ("select", ("bool", "int8", "int8"), "int8", "arms exchanged", rewritten(r"\$b, \$c", "$c, $b")),
    ("select", ("bool", "bool", "bool"), "bool", "one arm", lambda one: (*one.statements[:3], "or.pred $d, $p0, $p0;")),
    ("cast", ("float32",), "int32", "rounded to nearest", rewritten("rzi", "rni")),
    ("cast", ("int8",), "int32", "without its sign", rewritten("s8", "u8")),
    ("cast", ("uint32",), "float32", "as signed", rewritten("u32", "s32")),
    ("cast", ("bool",), "float16", "the integer 1", rewritten("0x3C00", "1")),
    ("as", ("float32",), "uint32", "converted", lambda _: ("cvt.rzi.u32.f32 $d, $a;",)),
    ("exp2", ("float32",), "float32", "the logarithm", rewritten("ex2", "lg2")),
    ("tanh", ("float16",), "float16", "the power of two", rewritten("tanh", "ex2")),
    ("popc", ("uint64",), "uint64", "leading zeros", rewritten("popc", "clz")),
    ("brev", ("int32",), "int32", "no reversal", rewritten("brev", "mov")),
)
"""Operation, types, result, what is wrong, the statements instead."""


def mutated(key: Key, change: Change) -> Contract:
    """The composition with other statements of one instruction."""
    assert TABLE.scalar is not None
    changed = [
        dataclasses.replace(one, statements=change(one)) if (one.op, one.types, one.result) == key else one
        for one in TABLE.scalar.instructions
    ]
    assert changed != list(TABLE.scalar.instructions)
    return dataclasses.replace(TABLE, scalar=dataclasses.replace(TABLE.scalar, instructions=tuple(changed)))
