"""The vocabulary of scalar compositions: which PTX each operation of a scalar function becomes, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Instruction:
    """An operation at one type (`tilecheck.scalar.nodes` names the operations), and the statements that compute it.

    types: of the arguments; result: of what comes out; `bool` is a predicate register. In the statements $a, $b and $c are the arguments, $d is the
    result; $p0, $h0, $r0, $l0 and so on are registers of the statements' own: predicates, of 16, 32 and 64 bits.
    arch: the lowest architecture that has it, "" for any. relative, absolute: for an approximation, its largest error as a power of two (`2^-22`), relative
    to the exact value or not; of two the larger error is allowed. Without either the result is exact, or rounded to nearest even.
    """

    op: str
    types: tuple[str, ...]
    result: str
    statements: tuple[str, ...]
    arch: str = ""
    relative: str = ""
    absolute: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """An operation at one type that is no instruction but a scalar function of others; `body` names its arguments a, b, c."""

    op: str
    type: str
    body: str


@dataclass(frozen=True, slots=True, eq=False)
class Composition:
    """What a scalar function may be made of. destination: the name of the operand that holds the result. One is equal to itself alone."""

    destination: str
    instructions: tuple[Instruction, ...]
    definitions: tuple[Definition, ...]
