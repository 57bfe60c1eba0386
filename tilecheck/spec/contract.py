"""The vocabulary contracts are written in: what one PTX instruction asks of its operands, as data.

A contract is the *form* of one legal spelling. Its atom is the coordinate suffix of one instruction; expressions over the atom
axes say who owns an element, which register of the instruction holds it, which lane provides a row's address, and which source
unit lands in which destination unit. `data` turns a contract into plain nested tuples, strings and numbers; that is all the
evaluator, the docs and `explain` read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from tilecheck.spec.grammar import arch_has
from tilecheck.symbolic.terms import Expr, Term, var

Data = None | bool | int | str | tuple["Data", ...] | Mapping[str, "Data"]


@dataclass(frozen=True, slots=True)
class AtomAxis:
    """One axis of the coordinate suffix of an instruction: its name and extent in elements."""

    name: str
    extent: int


@dataclass(frozen=True, slots=True)
class Register:
    """A register operand: each atom element sits in register `register` (operand order) of lane `lane`.

    lane: None where the executing thread itself holds the element; else an expression over the atom axes (collectives).
    bits: the width of one element in bits; dtypes: the containers taken, None for any of that width.
    write: True for a destination (its slots must be distinct and in one place only).
    """

    name: str
    bits: int
    register: Term
    write: bool
    lane: Term | None = None
    dtypes: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory operand: rows of consecutive elements, each row at an address that is a multiple of `align_bytes`.

    row: the trailing atom axes along which elements must be consecutive; the other atom axes number the rows.
    provider: the lane whose address operand is the start of a row, an expression over the row axes (None: the executing thread).
    surplus: what lanes that provide no row must hold: "repeat" (valid addresses again) or None.
    """

    name: str
    space: str
    bits: int
    row: tuple[str, ...]
    align_bytes: int
    write: bool
    provider: Term | None = None
    surplus: str | None = None
    dtypes: tuple[str, ...] | None = None


Operand = Register | Memory


@dataclass(frozen=True, slots=True)
class Parameter:
    """A named parameter of a call.

    kind: "predicate" (a condition), "flag" (true or false) or "u64" (an unsigned 64-bit operand).
    required: must be given; needs: another parameter without which this one means nothing.
    operand: whether it is a PTX operand (written in the issue template) rather than a property of the call.
    """

    name: str
    kind: str
    required: bool = False
    needs: str | None = None
    operand: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """What one instruction does: destination unit (atom coordinate, part) <- source unit, for every atom coordinate.

    parts: axes that split an element into units, low bits first (the last axis varies fastest), e.g. (AtomAxis("half", 2),) for b16 halves of a
    b32 word. source: one expression per atom axis and part axis, over those axes: the coordinate of the source unit.
    zero: a condition over the same axes; a destination unit where it holds is zero and has no source.
    """

    dst: str
    src: str
    source: tuple[Term, ...]
    parts: tuple[AtomAxis, ...] = ()
    zero: Term = False


@dataclass(frozen=True, slots=True)
class Contract:
    """The specification of one PTX instruction form.

    collective: "thread" (each thread on its own) or "warp" (all 32 lanes of a warp together).
    operands: in PTX order. issue: the PTX statement, with {opcode} and operand names to fill in.
    arch: the lowest architecture that has the form; also: the floors of further families that have it.
    """

    opcode: str
    mnemonic: str
    arch: str
    source: str
    collective: str
    atom: tuple[AtomAxis, ...]
    operands: tuple[Operand, ...]
    parameters: tuple[Parameter, ...]
    move: Move
    issue: str
    qualifiers: Mapping[str, str] = field(default_factory=dict[str, str])
    space_written: bool = True
    also: tuple[str, ...] = ()

    @property
    def floors(self) -> tuple[str, ...]:
        """The floors of the form: it exists on an architecture that is at one of them."""
        return (self.arch, *self.also)

    @property
    def needs(self) -> str:
        """The floors in words: `sm_90 or later`, `sm_90a`, `sm_100f, sm_110f or sm_120f`."""
        if self.arch[-1:].isdigit():
            return f"{self.arch} or later"
        return " or ".join(part for part in (", ".join(self.floors[:-1]), self.floors[-1]) if part)

    def runs_on(self, arch: str) -> bool:
        """Whether the form exists on an architecture."""
        return any(arch_has(arch, floor) for floor in self.floors)

    @property
    def suffix(self) -> tuple[int, ...]:
        """The extents of the atom."""
        return tuple(axis.extent for axis in self.atom)

    def axes(self) -> tuple[Expr, ...]:
        """The atom axes as terms."""
        return tuple(var(axis.name) for axis in self.atom)


def term_data(term: Term | None) -> Data:
    """A term as nested tuples: an int, a name, or (operator, argument, ...)."""
    if term is None or isinstance(term, int):
        return term
    if term.op == "var":
        return str(term.args[0])
    return (term.op, *(term_data(arg) if isinstance(arg, int | Expr) else _plain(arg) for arg in term.args))


def _plain(value: object) -> Data:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in cast("tuple[object, ...]", value))
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in cast("Mapping[object, object]", value).items()}
    raise TypeError(f"no data form for {type(value).__name__}")


def data(contract: Contract) -> dict[str, Data]:
    """The contract as plain data (JSON without loss, tuples for lists): the only form the evaluator reads.

    `also`, and `zero` of the move, stand there only where the contract has them.
    """
    return {
        "schema": "tilecheck/contract@1",
        "opcode": contract.opcode,
        "mnemonic": contract.mnemonic,
        "qualifiers": dict(contract.qualifiers),
        "arch": contract.arch,
        **({"also": contract.also} if contract.also else {}),
        "source": contract.source,
        "collective": contract.collective,
        "space_written": contract.space_written,
        "atom": _extents(contract.atom),
        "operands": tuple(_operand_data(operand) for operand in contract.operands),
        "parameters": tuple(
            {"name": p.name, "kind": p.kind, "required": p.required, "needs": p.needs, "operand": p.operand} for p in contract.parameters
        ),
        "move": {
            "dst": contract.move.dst,
            "src": contract.move.src,
            "parts": _extents(contract.move.parts),
            "source": tuple(term_data(term) for term in contract.move.source),
            **({} if contract.move.zero is False else {"zero": term_data(contract.move.zero)}),
        },
        "issue": contract.issue,
    }


def _extents(axes: tuple[AtomAxis, ...]) -> Data:
    return tuple((axis.name, axis.extent) for axis in axes)


def _operand_data(operand: Operand) -> dict[str, Data]:
    common: dict[str, Data] = {"name": operand.name, "bits": operand.bits, "write": operand.write, "dtypes": operand.dtypes}
    if isinstance(operand, Register):
        return {"kind": "register", **common, "lane": term_data(operand.lane), "register": term_data(operand.register)}
    return {
        "kind": "memory",
        **common,
        "space": operand.space,
        "row": operand.row,
        "align_bytes": operand.align_bytes,
        "provider": term_data(operand.provider),
        "surplus": operand.surplus,
    }
