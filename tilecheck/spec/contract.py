"""The vocabulary contracts are written in: what one PTX instruction asks of its operands, as data.

A contract is the *form* of one legal spelling. Its atom is the coordinate suffix of one instruction; expressions over the atom
axes say who owns an element, which register of the instruction holds it, which lane provides a row's address, and which source
unit lands in which destination unit. `data` turns a contract into plain nested tuples, strings and numbers; that is all the
evaluator, the docs and `explain` read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import cast

from tilecheck.spec.box import BoxCopy
from tilecheck.spec.computed import Choice, Computed, Narrow, Scale
from tilecheck.spec.descriptor import MAJORS, Described, Encoding
from tilecheck.spec.grammar import arch_has
from tilecheck.spec.instruction import Sized, Typed, Word
from tilecheck.spec.scalar import Composition
from tilecheck.spec.shared import Shared
from tilecheck.spec.tmem import TensorMemory
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

    lane: None where the executing thread itself holds the element; else an expression over the atom axes (collectives): the thread, counted from
    lane 0 of the warp (of the first warp of the warpgroup) on.
    bits: the width of one element in bits; dtypes: the containers taken, None for any of that width.
    write: True for a destination (its slots must be distinct and in one place only).
    atom: the operand's own suffix, None for the contract's. over: the loops of the contract that its repeat axes end in, None for all of them.
    then: the operand that stands in its place in all steps but the first of the loops it is not over, None where it stands there in all.
    number: the PTX type in which a number or an integer expression may stand in its place, the same for all elements; "" where it must be a view.
    paired: the containers of half the width of which two, side by side, may stand for an element: the view is seen as one of raw elements (see `seen`).
    ptx: the class of its registers, where it is not the one of their width (an element of eight bits is in a .b16 register).
    """

    name: str
    bits: int
    register: Term
    write: bool
    lane: Term | None = None
    dtypes: tuple[str, ...] | None = None
    atom: tuple[AtomAxis, ...] | None = None
    over: tuple[str, ...] | None = None
    then: str | None = None
    number: str = ""
    ptx: str = ""
    paired: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory operand: rows of consecutive elements, each row at an address that is a multiple of `align_bytes`.

    row: the trailing atom axes along which elements must be consecutive; the other atom axes number the rows.
    provider: the lane whose address operand is the start of a row, an expression over the row axes (None: the executing thread).
    surplus: what lanes that provide no row must hold: "repeat" (valid addresses again) or None.
    cta: the parameter (of kind "rank" or "mask") that names the CTAs whose copies are accessed; None: the executing thread's CTA.
    bits of 0: elements of any width, the same in all such operands. align_bytes of 0: the bytes of a row.
    opaque: whether a tensor map that the caller has encoded (space `tensormap`) may stand in its place; the view then states the fields of the map.
    atom, over: as of a register operand. described: it is a matrix that the instruction reads through a descriptor; it then has no rows.
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
    cta: str | None = None
    atom: tuple[AtomAxis, ...] | None = None
    over: tuple[str, ...] | None = None
    described: Described | None = None
    opaque: bool = False


Operand = Register | Memory | TensorMemory


@dataclass(frozen=True, slots=True)
class Parameter:
    """A named parameter of a call.

    kind: one of `KINDS`. required: must be given; needs: another parameter without which this one means nothing; unless: another one that excludes it.
    operand: whether it is a PTX operand (written in the issue template) rather than a property of the call; bits: the width of its register.
    choices, step: the values of a chunk: one of these, or any positive multiple of `step`. An integer is a multiple of `step`, too.
    most: the largest value of an integer, a number or the name of another parameter (the least is 0).
    default: the value of a PTX operand that the call does not give. then: the value in all steps but the first of the loops that the destination is
    not over, None where the steps do not differ. arch: the lowest architecture that has it, "" for that of the opcode.
    """

    name: str
    kind: str
    required: bool = False
    needs: str | None = None
    operand: bool = False
    unless: str | None = None
    bits: int = 64
    choices: tuple[int, ...] = ()
    step: int = 1
    most: int | str = 0
    default: bool | int | str | None = None
    then: bool | None = None
    arch: str = ""


KINDS = {
    "predicate": "a condition",
    "flag": "true or false",
    "u64": "an unsigned 64-bit integer",
    "chunk": "a positive integer, written as a number",
    "integer": "an integer expression",
    "rank": "an integer expression",
    "mask": "an integer expression",
    "selector": "one of a few numbers",
    "barrier": 'the space of a barrier, "shared"',
    "bytes": "an integer expression without thread coordinates",
    "extents": "a list of integers, outer to inner",
    "coordinates": "a list of integer expressions, outer to inner",
    "steps": "a vector of integer expressions for each group and repeat axis",
    "code": "an integer, written as a number",
    "immediate": "an integer of 32 bits, written as a number",
    "word": "a word",
    "descriptor": "three integers [ldo_bytes, sdo_bytes, swizzle], written as numbers",
    "shape": "a list of integers, written as numbers",
    "words": "a list of unsigned 32-bit integers",
    "fixed": "the only value that there is",
    "major": f"a major axis, {' or '.join(repr(m) for m in MAJORS)}",
}
"""The kinds of parameters, and what a value of each looks like.

predicate, flag, u64: as it says. chunk: the bytes that one instruction moves, below 2^32. selector: one of `choices`, written as a number. integer: from 0 to `most`. rank: the rank of a CTA of the cluster other
than the executing thread's. mask: a set of CTAs of the cluster, bit k for rank k, not empty. barrier: completion adds the bytes to a barrier at one offset
in the CTAs of the destination. bytes: what all instructions of the call together add to one such barrier. extents, coordinates, steps, code, word: fields of
a copy of a box (see `BoxCopy`). immediate: stands in the statement as it is, from -2^31 to 2^31 - 1. descriptor, major: how a matrix in shared memory is read (see `Described`). shape: M, N and K of one instruction, which are `choices`, or
as `Sized` says. words: as many as `choices` says. fixed: the default is the only value that there is.
"""


def parameter_text(p: Parameter, move: Move) -> str:
    """What a value of a parameter is, in words."""
    limits = {
        "chunk": f"the bytes of one instruction: {', '.join(map(str, p.choices)) or f'a positive multiple of {p.step}'}",
        "integer": f"an integer from 0 to {p.most}" + (f", a multiple of {p.step}" if p.step > 1 else ""),
        "selector": f"the number {' or '.join(map(str, p.choices))}",
        "rank": "the rank of another CTA of the cluster",
        "mask": "a set of CTAs of the cluster, bit k for rank k, not empty",
        "barrier": "the space of the barrier: shared",
        "bytes": "what the whole call adds to the barrier of one CTA, in bytes",
        "predicate": "a condition: the instruction is executed where it holds",
    }
    roles = {move.length: ": bytes from there on are zero", move.bytes: ": bit k says whether byte k, modulo 16, is written"}
    if p.name == move.blank:
        return "a condition: zeros are written where it holds"
    text = limits.get(p.kind, KINDS[p.kind]) + roles.get(p.name, "")
    if p.then is not None:
        text = "a condition: the first step adds to what stands in the destination where it holds, the later ones always"
    if p.kind == "shape":
        text = f"the list [{', '.join(map(str, p.choices))}]" if p.choices else "M, N and K of one instruction, written as numbers"
    if p.kind == "words":
        text = f"{p.choices[0]} unsigned 32-bit integers"
    return text + ("" if p.default is None else f" ({str(p.default).lower()} by default)")


ADDRESSING = ("integer", "rank", "mask")
"""Kinds whose value is part of what is accessed, as begins are."""


@dataclass(frozen=True, slots=True)
class Unpacking:
    """A copy that widens: each block of 16 bytes of the source begins with 16 packed values of `bits` bits, low bits first; what is behind them is padding.

    Value k becomes byte k of the same block of the destination, from bit `low` of it on; its other bits are zero.
    """

    bits: int
    low: int

    @property
    def text(self) -> str:
        """In words: `, each 16 bytes widened: byte k is bits 4*k to 4*k + 3, from bit 2 on`."""
        moved = f", from bit {self.low} on" if self.low else ""
        return f", each block of 16 bytes widened: byte k is bits {self.bits}*k to {self.bits}*k + {self.bits - 1}{moved}"


@dataclass(frozen=True, slots=True)
class Move:
    """What one instruction does (dst "": it writes nothing): destination unit (atom coordinate, part) <- source unit, for every atom coordinate.

    parts: axes that split an element into units, low bits first (the last axis varies fastest), e.g. (AtomAxis("half", 2),) for b16 halves of a
    b32 word. source: one expression per atom axis and part axis, over those axes: the coordinate of the source unit.
    zero: a condition over the same axes; a destination unit where it holds is zero and has no source.
    From memory to memory every byte of a destination element comes from the same byte of the source element. length, blank: parameters: bytes of a row
    from `length` on are zero, all of them where the condition `blank` holds. bytes: a parameter whose bit k says whether byte k, modulo 16, of a row is
    written. combine: the operator and type by which the source is combined with what stands in the destination, e.g. "add.u32";
    of a copy of boxes the operator alone, the type being that of the tensor map. unpacks: how packed values are widened on the way.
    """

    dst: str
    src: str
    source: tuple[Term, ...]
    parts: tuple[AtomAxis, ...] = ()
    zero: Term = False
    length: str | None = None
    blank: str | None = None
    bytes: str | None = None
    combine: str | None = None
    unpacks: Unpacking | None = None


@dataclass(frozen=True, slots=True)
class Entries:
    """What an operand of a product holds: each of its units (an atom coordinate and a part) is one entry of a matrix.

    type: the PTX type of an entry, "" for that of the elements (see `Typed`). at: for each index of the matrix its name and its value, a term over atom
    and part axes. parts: axes that split an element into units, low bits first, as in `Move`. bits: of an entry, where it is narrower than its unit, and
    low: the lowest bit of the unit that it fills; narrow: the same for some types. cta, copy: the names of two axes more, "" for none: which CTA of a pair
    (0 or 1) has the entry, and in which of the operand's copies it is read.
    """

    operand: str
    type: str
    at: tuple[tuple[str, Term], ...]
    parts: tuple[AtomAxis, ...] = ()
    bits: int = 0
    low: int = 0
    narrow: tuple[Narrow, ...] = ()
    cta: str = ""
    copy: str = ""


@dataclass(frozen=True, slots=True)
class Product:
    """What one instruction computes: dst = addend + the sum of left times right over the indices that dst lacks.

    combine: how two entries are multiplied: "mul", or for single bits "xor" or "and". accumulates: the condition (a parameter) without which the first
    step of the call adds nothing. signs: parameters (1 or -1, or a flag that is -1) that every product is multiplied by. choice: where `left` is sparse,
    which index each of its entries has. scales, factors: what the entries of left and of right are multiplied by, parts of words or entries of their own.
    saturates: the flag by which each instruction clamps its sums. skips: the parameter whose bits say which lanes of dst are left alone: its words are
    those of 128 lanes in each CTA. unknown: parameters with which no image is predicted, unless they are 0, and why.
    """

    dst: Entries
    left: Entries
    right: Entries
    addend: Entries
    combine: str = "mul"
    accumulates: str | None = None
    signs: tuple[str, ...] = ()
    choice: Choice | None = None
    scales: tuple[Scale, Scale] | None = None
    factors: tuple[Entries, Entries] | None = None
    saturates: str | None = None
    skips: str | None = None
    unknown: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Contract:
    """The specification of one PTX instruction form.

    collective: "thread" (each thread on its own), "warp" (all 32 lanes of a warp together) or "warpgroup" (all 128 of a warpgroup).
    operands: in PTX order. issue: the PTX statement, with {opcode} and operand names to fill in; `{, name}` is written where the parameter is given.
    arch: the lowest architecture that has the form; also: the floors of further families that have it; isa: the lowest PTX version, "" for any.
    chunk: the parameter that says how many bytes the last atom axis holds; in the table that axis has extent 0 (see `fitted`).
    loops: the names of the last repeat axes of a call, the slowest first; each operand repeats over the loops it is `over`, behind the repeat axes
    without a name, which all operands share. product, computed: what is computed, where the destination is no copy of bits; unpredicted: why neither is said.
    variants: the same opcode with other operands; a call has the first one that its operands fit in number, bits and last extent, else the one
    that the operands by which it differs from the contract fit, else the contract itself (see `chosen`).
    single: whether one thread is meant to issue it. pair: whether it works on a pair of CTAs of the cluster, whose ranks differ in the last bit.
    proxy: "async" where memory is accessed through the async proxy. completion: the statements by which the issuing thread waits for it (where
    no barrier parameter does). before: the statements that it executes first. encoding: the word that holds a descriptor. box: what is done with a tensor map; its atom in the table is empty (see `fitted`).
    scalar: what a scalar function of the call may be made of; the function says the operands, of which the table has none (see `chosen`).
    shared: what its calls have in common with the other calls of a kernel, None for nothing.
    sized: what the shape that the call gives decides; in the table the extents of atoms are 0 then (see `sized_to`). typed: the types of the elements of
    operands. word: the instruction descriptor. reading: the reading of documents that disagree, "" for the one that all accept.
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
    isa: str = ""
    chunk: str | None = None
    single: bool = False
    pair: bool = False
    proxy: str = "generic"
    completion: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    encoding: Encoding | None = None
    box: BoxCopy | None = None
    loops: tuple[str, ...] = ()
    product: Product | None = None
    computed: Computed | None = None
    unpredicted: str = ""
    variants: tuple[Contract, ...] = ()
    scalar: Composition | None = None
    shared: Shared | None = None
    sized: Sized | None = None
    typed: tuple[Typed, ...] = ()
    word: Word | None = None
    reading: str = ""
    table: Contract | None = field(default=None, compare=False, repr=False)
    """The contract as it stands in the table, where this one is fitted to a call."""

    @property
    def warps(self) -> int:
        """The warps that execute one instruction together (1 where lanes are on their own, too)."""
        return 4 if self.collective == "warpgroup" else 1

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

    def atom_of(self, operand: Operand) -> tuple[AtomAxis, ...]:
        """The suffix of an operand: its own, or the contract's."""
        return self.atom if operand.atom is None else operand.atom

    def loops_of(self, operand: Operand) -> tuple[str, ...]:
        """The loops that the repeat axes of an operand end in."""
        return self.loops if operand.over is None else operand.over

    @property
    def suffix(self) -> tuple[int, ...]:
        """The extents of the atom."""
        return tuple(axis.extent for axis in self.atom)

    @property
    def barrier(self) -> Parameter | None:
        """The barrier to which completion adds the bytes."""
        return next((p for p in self.parameters if p.kind == "barrier"), None)

    def statement(self, fields: Mapping[str, str], *, shown: bool = False) -> str:
        """The PTX statement with the given operands; optional ones that are not given are left out (shown: written `{, name}`)."""

        def one(match: re.Match[str]) -> str:
            name = match[1]
            known = shown and any(p.name == name for p in self.parameters)
            return f", {{{name}}}" if name in fields else f"{{{{, {name}}}}}" if known else ""

        return re.sub(r"\{, (\w+)\}", one, self.issue).format(**{"@": "", **fields})

    def by_name(self, name: str) -> Parameter:
        """The parameter of a name that the contract has."""
        return next(p for p in self.parameters if p.name == name)

    def parameter(self, kind: str) -> Parameter | None:
        """The parameter of a kind that occurs once."""
        return next((p for p in self.parameters if p.kind == kind), None)

    @property
    def atom_text(self) -> str:
        """The atom axes with their extents, in words: `row 8, word 4`; an open one with what fixes it."""
        if self.box is not None and not self.atom:
            return "the image of the box" if self.box.walk is None else "the image of the walk: pixels, channels"
        return ", ".join(
            f"{a.name} {a.extent}" if a.extent or not self.chunk else f"{a.name} (as many as fill {self.chunk})" for a in self.atom
        )

    def shape_text(self, operand: Operand) -> str:
        """The loops and atom axes of an operand that has its own, in words: `m, k, row 16, word 8`."""
        terms_ = {} if self.sized is None else dict(self.sized.extents)
        extents = terms_.get(operand.name, tuple(axis.extent for axis in self.atom_of(operand)))
        axes = zip(self.atom_of(operand), extents, strict=True)
        return ", ".join((*self.loops_of(operand), *(f"{axis.name} {axis.extent or extent}" for axis, extent in axes)))

    @property
    def variants_text(self) -> str:
        """The operands of the variants, in words: `d of 32 bits, a of 2 x 16 bits`; "" where there are none."""
        texts: list[str] = []
        for one in self.variants:
            moved = {
                o.name
                for o, own in zip(one.operands, self.operands, strict=False)
                if isinstance(o, TensorMemory) != isinstance(own, TensorMemory)
            }
            counts = [(o, one.atom_of(o)[-1].extent, " in tensor memory" if o.name in moved else "") for o in one.operands]
            operands = ", ".join(f"{o.name} of {f'{n} x ' if n > 1 else ''}{o.bits} bits{where}" for o, n, where in counts)
            texts.append(operands + ("" if one.arch == self.arch else f" (from {one.arch})"))
        return "; ".join(texts)

    @property
    def own_atoms(self) -> bool:
        """Whether operands have suffixes of their own."""
        return any(operand.atom is not None for operand in self.operands)

    def alignment_text(self, operand: Memory) -> str:
        """What rows of an operand start at multiples of: `16 bytes`, or the parameter that says it."""
        return f"{operand.align_bytes} byte{'' if operand.align_bytes == 1 else 's'}" if operand.align_bytes else str(self.chunk)

    def rows_text(self, operand: Memory | TensorMemory) -> str:
        """What is asked of the addresses of an operand, in words."""
        if self.box is not None:
            return self.box.asks(operand.name)
        if isinstance(operand, TensorMemory):
            return operand.asks
        if operand.described is not None:
            return operand.described.asks
        return (
            f"elements along {' and '.join(operand.row)} are consecutive; each row starts at a multiple of {self.alignment_text(operand)}"
        )

    def fitted(self, bits: int, chunk_bytes: int) -> Contract:
        """The contract for elements of `bits` bits and chunks of `chunk_bytes` bytes: the last atom axis holds as many elements as fill a chunk."""
        operands = tuple(
            replace(o, bits=o.bits or bits, align_bytes=o.align_bytes or chunk_bytes) if isinstance(o, Memory) else o for o in self.operands
        )
        *outer, last = self.atom
        atom = (*outer, AtomAxis(last.name, 8 * chunk_bytes // operands[0].bits))
        return replace(self, operands=operands, atom=atom, table=self)

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

    What only some contracts have (`also`, `isa`, `chunk`, `zero` of the move and the like) stands there where it is not the default.
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
        "parameters": tuple(_parameter_data(parameter) for parameter in contract.parameters),
        "move": _move_data(contract.move),
        "issue": contract.issue,
        **_written(contract, {"isa": "", "chunk": None, "single": False, "proxy": "generic", "completion": (), "before": (), "loops": ()}),
        **_written(contract, {"pair": False, "unpredicted": ""}),
        **({} if contract.encoding is None else {"encoding": _fields(contract.encoding)}),
        **({} if contract.box is None else {"box": _box_data(contract.box)}),
        **({} if contract.product is None else {"product": _product_data(contract.product)}),
        **({} if contract.computed is None else {"computed": _fields(contract.computed)}),
        **({} if contract.scalar is None else {"scalar": _fields(contract.scalar)}),
        **({} if contract.shared is None else {"shared": _fields(contract.shared)}),
        **({} if contract.sized is None else {"sized": _terms(contract.sized)}),
        **({"typed": _fields(contract.typed)} if contract.typed else {}),
        **({} if contract.word is None else {"word": _fields(contract.word)}),
        **_written(contract, {"reading": ""}),
        **({"variants": tuple(data(one) for one in contract.variants)} if contract.variants else {}),
    }


def listed(value: object) -> object:
    """Plain data with lists for tuples, as it is read back from JSON."""
    if isinstance(value, Mapping):
        return {str(key): listed(item) for key, item in cast("Mapping[object, object]", value).items()}
    return [listed(item) for item in cast("tuple[object, ...]", value)] if isinstance(value, tuple) else value


def _product_data(product: Product) -> Data:
    sides = {name: _entries_data(getattr(product, name)) for name in ("dst", "left", "right", "addend")}
    more = {name: _terms(getattr(product, name)) for name in ("choice", "scales") if getattr(product, name) is not None}
    written = _written(product, {"accumulates": None, "signs": (), "saturates": None, "skips": None, "unknown": ()})
    factors = {} if product.factors is None else {"factors": tuple(_entries_data(one) for one in product.factors)}
    return {**sides, "combine": product.combine, **written, **more, **factors}


def _terms(value: object) -> Data:
    """A dataclass (or a tuple of them) whose fields may be terms."""
    if isinstance(value, tuple):
        return tuple(_terms(item) for item in cast("tuple[object, ...]", value))
    if is_dataclass(value):
        return {one.name: _terms(getattr(value, one.name)) for one in fields(value)}
    return term_data(value) if isinstance(value, Expr) else _plain(value)


def _entries_data(entries: Entries) -> Data:
    return {
        "operand": entries.operand,
        "type": entries.type,
        "at": tuple((name, term_data(term)) for name, term in entries.at),
        "parts": _extents(entries.parts),
        "bits": entries.bits,
        "low": entries.low,
        **({"narrow": _fields(entries.narrow)} if entries.narrow else {}),
        **_written(entries, {"cta": "", "copy": ""}),
    }


def _written(
    value: Parameter | Register | Memory | TensorMemory | Move | Entries | Product | Contract, defaults: Mapping[str, Data]
) -> dict[str, Data]:
    """The fields that differ from their defaults."""
    return {name: _plain(getattr(value, name)) for name, default in defaults.items() if getattr(value, name) != default}


def _fields(value: object) -> Data:
    """A dataclass of the vocabulary as a mapping, its parts likewise."""
    if isinstance(value, tuple):
        return tuple(_fields(item) for item in cast("tuple[object, ...]", value))
    if is_dataclass(value):
        return {one.name: _fields(getattr(value, one.name)) for one in fields(value)}
    return _plain(value)


def _box_data(box: BoxCopy) -> Data:
    """What is done with a tensor map; the families that lack something where there are any."""
    return {one.name: _fields(getattr(box, one.name)) for one in fields(box) if one.name != "basic" or box.basic}


def _parameter_data(p: Parameter) -> Data:
    common: dict[str, Data] = {"name": p.name, "kind": p.kind, "required": p.required, "needs": p.needs, "operand": p.operand}
    return common | _written(
        p, {"unless": None, "bits": 64, "choices": (), "step": 1, "most": 0, "default": None, "then": None, "arch": ""}
    )


def _move_data(move: Move) -> Data:
    return {
        "dst": move.dst,
        "src": move.src,
        "parts": _extents(move.parts),
        "source": tuple(term_data(term) for term in move.source),
        **({} if move.zero is False else {"zero": term_data(move.zero)}),
        **({} if move.unpacks is None else {"unpacks": _fields(move.unpacks)}),
        **_written(move, {"length": None, "blank": None, "bytes": None, "combine": None}),
    }


def _extents(axes: tuple[AtomAxis, ...]) -> Data:
    return tuple((axis.name, axis.extent) for axis in axes)


def _operand_data(operand: Operand) -> dict[str, Data]:
    common: dict[str, Data] = {"name": operand.name, "bits": operand.bits, "write": operand.write, "dtypes": operand.dtypes}
    if isinstance(operand, Register):
        return {
            "kind": "register",
            **common,
            "lane": term_data(operand.lane),
            "register": term_data(operand.register),
            **({} if operand.atom is None else {"atom": _extents(operand.atom)}),
            **_written(operand, {"over": None, "then": None, "number": "", "ptx": "", "paired": ()}),
        }
    if isinstance(operand, TensorMemory):
        return {
            "kind": "tmem",
            **common,
            "lane": term_data(operand.lane),
            "column": term_data(operand.column),
            "first_lanes": operand.first_lanes,
            "first_bits": operand.first_bits,
            "replicas": _plain(operand.replicas),
            "slab": operand.slab,
            **({} if operand.atom is None else {"atom": _extents(operand.atom)}),
            **_written(operand, {"over": None, "behind": None, "alone": False, "beside": "", "note": ""}),
        }
    return {
        "kind": "memory",
        **common,
        "space": operand.space,
        "row": operand.row,
        "align_bytes": operand.align_bytes,
        "provider": term_data(operand.provider),
        "surplus": operand.surplus,
        **({} if operand.atom is None else {"atom": _extents(operand.atom)}),
        **({} if operand.described is None else {"described": _fields(operand.described)}),
        **_written(operand, {"cta": None, "over": None, "opaque": False}),
    }
