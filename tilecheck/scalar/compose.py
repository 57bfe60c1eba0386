"""A scalar function as the contract of one element: its operands, and the statements that its operations become."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from tilecheck.scalar.function import Function
from tilecheck.scalar.nodes import COMPARISONS, SYMBOLS, Node
from tilecheck.scalar.parse import parse
from tilecheck.scalar.typed import typed
from tilecheck.scalar.types import BITS, BOOL, PTX
from tilecheck.spec.computed import Computed, Result
from tilecheck.spec.contract import Contract, Register
from tilecheck.spec.grammar import arch_rank
from tilecheck.spec.scalar import Composition, Definition, Instruction

CLASSES = {"p": ".pred", "h": ".b16", "r": ".b32", "l": ".b64"}
"""The classes of registers by their letter in a statement."""
OWN = "%te_"
"""What the names of a function's own registers begin with."""
SIGNS = {op: sign for sign, op in (*SYMBOLS.items(), *COMPARISONS.items())}
Key = tuple[str, tuple[str, ...], str]


class MissingError(Exception):
    """An operation for which the composition has neither an instruction nor a definition at its types."""


@dataclass(frozen=True, slots=True)
class Written:
    """A function as statements: the issue template of one element, the lowest architectures of its operations, or (fault) what has no PTX."""

    issue: str
    floors: tuple[str, ...] = ()
    fault: str | None = None


@lru_cache(maxsize=1024)
def written(composition: Composition, function: Function) -> Written:
    """The statements of a function."""
    writer = _Writer(composition)
    try:
        return Written(writer.issue(function), tuple(writer.floors))
    except MissingError as error:
        return Written("", fault=str(error))


def composed(contract: Contract, function: Function) -> Contract:
    """The contract of a composition with a function: its operands are the destination and the parameters, one issue computes one element.

    An operation that has no PTX (see `missing`) leaves nothing to issue.
    """
    assert contract.scalar is not None
    destination, found = contract.scalar.destination, written(contract.scalar, function)
    operands = (
        _register(destination, function.result, write=True),
        *(_register(name, type_, write=False) for name, type_ in function.params),
    )
    result = Result(0, BITS[function.result], PTX[function.result], tuple((name, 0, PTX[type_]) for name, type_ in function.params))
    return replace(
        contract,
        operands=operands,
        issue=found.issue,
        arch=max((contract.arch, *found.floors), key=arch_rank),
        computed=Computed(destination, contract.mnemonic, (), (result,)),
        scalar=None,
        table=contract,
    )


def missing(composition: Composition, function: Function) -> str | None:
    """The first operation of a function that has no PTX, in words; None where all have."""
    return written(composition, function).fault


def _register(name: str, type_: str, *, write: bool) -> Register:
    return Register(name, bits=BITS[type_], register=0, write=write, dtypes=(type_,), number="" if write else PTX[type_])


@lru_cache(maxsize=8)
def _by_key(composition: Composition) -> dict[Key, Instruction]:
    return {(one.op, one.types, one.result): one for one in composition.instructions}


@lru_cache(maxsize=8)
def _definitions(composition: Composition) -> dict[tuple[str, str], Definition]:
    return {(one.op, one.type): one for one in composition.definitions}


@lru_cache(maxsize=256)
def defined(definition: Definition, count: int) -> Node:
    """The body of a definition as a typed expression of `count` arguments."""
    return typed(parse(definition.body), definition.body, dict.fromkeys("abc"[:count], definition.type), definition.type)


def said(node: Node) -> str:
    """An operation at its types, in words: `exp of float64`."""
    types = ", ".join(dict.fromkeys(arg.type for arg in node.args))
    name = {"cast": f"a cast to {node.type}", "as": f"as_{node.type}", "neg": "-", "inv": "~"}.get(node.op, SIGNS.get(node.op, node.op))
    return f"{name} of {types}"


@dataclass
class _Writer:
    """Collects the statements of one element."""

    composition: Composition
    lines: list[str] = field(default_factory=list[str])
    floors: list[str] = field(default_factory=list[str])
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CLASSES, 0))

    def issue(self, function: Function) -> str:
        """The statements in braces of their own: an issue template that names the operands, the predicate before the one that writes."""
        names = {name: f"{{{name}}}" for name, _ in function.params}
        result = self.value(function.node, names, {})
        bits = max(BITS[function.result], 16)
        last = f"{{@}}mov.b{bits} {{{self.composition.destination}}}, {result};"
        declared = [f".reg {CLASSES[letter]} {OWN}{letter}<{count}>;" for letter, count in self.counts.items() if count]
        return "\n".join(["{{", *declared, *self.lines, last, "}}"])

    def fresh(self, letter: str) -> str:
        """A new register of the statements' own."""
        self.counts[letter] += 1
        return f"{OWN}{letter}{self.counts[letter] - 1}"

    def value(self, node: Node, names: Mapping[str, str], done: dict[Node, str]) -> str:
        """The register that holds the value of a node; one that was met before is computed once."""
        if node.op in {"parameter", "name"}:
            return names[node.name]
        if node.op == "let":
            return self.value(node.args[1], {**names, node.name: self.value(node.args[0], names, done)}, done)
        if node not in done:
            done[node] = self._number(node) if node.op == "number" else self._operation(node, names, done)
        return done[node]

    def _number(self, node: Node) -> str:
        register = self.fresh(_letter(node.type))
        if node.type == BOOL:
            self.lines.append(f"setp.{'eq' if node.bits else 'ne'}.s32 {register}, 0, 0;")
        else:
            self.lines.append(f"mov.b{max(BITS[node.type], 16)} {register}, {node.bits:#x};")
        return register

    def _operation(self, node: Node, names: Mapping[str, str], done: dict[Node, str]) -> str:
        args = [self.value(arg, names, done) for arg in node.args]
        found = _by_key(self.composition).get((node.op, tuple(arg.type for arg in node.args), node.type))
        if found is not None:
            return self._instruction(found, args)
        definition = _definitions(self.composition).get((node.op, node.type))
        if definition is None:
            raise MissingError(f"there is no PTX for {said(node)}")
        return self.value(defined(definition, len(args)), dict(zip("abc", args, strict=False)), {})

    def _instruction(self, one: Instruction, args: list[str]) -> str:
        fields = {**dict(zip("abc", args, strict=False)), "d": self.fresh(_letter(one.result))}

        def filled(match: re.Match[str]) -> str:
            if match[1] not in fields:
                fields[match[1]] = self.fresh(match[1][0])
            return fields[match[1]]

        self.lines.extend(re.sub(r"\$([a-z][0-9]*)", filled, line) for line in one.statements)
        if one.arch:
            self.floors.append(one.arch)
        return fields["d"]


def _letter(type_: str) -> str:
    return "p" if type_ == BOOL else {16: "h", 32: "r", 64: "l"}[max(BITS[type_], 16)]
