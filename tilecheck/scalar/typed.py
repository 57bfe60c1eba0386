"""From syntax to typed nodes: a number takes the type of what it is combined with; nothing else is converted by itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tilecheck.errors import InputError
from tilecheck.scalar.nodes import CASTS, COMPARISONS, FUNCTIONS, SYMBOLS, Node
from tilecheck.scalar.parse import Syntax
from tilecheck.scalar.types import BITS, BOOL, FLOATS, SCALAR_TYPES, float_bits, integer_range
from tilecheck.symbolic.tokens import quoted

LOGIC = {"and": "both", "or": "either", "not": "not"}


def typed(syntax: Syntax, text: str, parameters: Mapping[str, str], result: str) -> Node:
    """The typed expression that a body is; InputError names the column, the type found and the one expected."""
    typer = _Typer(text)
    node = typer.node(syntax, {name: Node("parameter", type_, name=name) for name, type_ in parameters.items()}, result)
    if node.type != result:
        raise typer.fail(syntax, f"found {typer.said(node.type)}, expected the result, {typer.said(result)}")
    return node


class _Typer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.bound: set[str] = set()

    def fail(self, at: Syntax, message: str) -> InputError:
        return InputError(f"column {at.column} of {quoted(self.text)}: {message}")

    def said(self, type_: str) -> str:
        return "a condition" if type_ == BOOL else type_

    def open(self, syntax: Syntax) -> bool:
        """Whether an expression is made of numbers alone, whose type is still open."""
        if syntax.kind in {"int", "float"}:
            return True
        if syntax.kind == "select":
            return self.open(syntax.parts[1]) and self.open(syntax.parts[2])
        numeric = syntax.kind in SYMBOLS or syntax.kind in FUNCTIONS or syntax.kind in {"neg", "inv"}
        return (numeric and all(self.open(part) for part in syntax.parts)) or (syntax.kind == "let" and self.open(syntax.parts[1]))

    def node(self, syntax: Syntax, names: Mapping[str, Node], want: str | None) -> Node:
        """The typed node; want: the type of open numbers in it, where something says it."""
        kind, parts = syntax.kind, syntax.parts
        if kind in {"int", "float"}:
            return self.number(syntax, want)
        if kind == "truth":
            return Node("number", BOOL, bits=int(syntax.value))
        if kind == "name":
            return self.named(syntax, names)
        if kind == "let":
            return self.binding(syntax, names, want)
        if kind in LOGIC:
            return Node(LOGIC[kind], BOOL, tuple(self.condition(part, names) for part in parts))
        if kind in COMPARISONS:
            return Node(COMPARISONS[kind], BOOL, self.same(syntax, parts, names, None))
        if kind == "select":
            test = self.condition(parts[0], names)
            arms = self.same(syntax, parts[1:], names, want, conditions=True)
            return Node("select", arms[0].type, (test, *arms))
        if kind in SCALAR_TYPES:
            return self.cast(syntax, names)
        if kind in CASTS:
            return self.reinterpreted(syntax, names)
        args = self.same(syntax, parts, names, want)
        return Node(SYMBOLS.get(kind, kind), args[0].type, args)

    def named(self, syntax: Syntax, names: Mapping[str, Node]) -> Node:
        found = names.get(syntax.text)
        if found is None:
            known = ", ".join(names) or "none"
            raise self.fail(syntax, f"found the name {syntax.text[:40]!r}, expected a parameter or a binding ({known})")
        return found

    def binding(self, syntax: Syntax, names: Mapping[str, Node], want: str | None) -> Node:
        if syntax.text in names or syntax.text in self.bound:
            raise self.fail(syntax, f"{syntax.text} is bound a second time, expected a new name")
        value = self.node(syntax.parts[0], names, None)
        self.bound.add(syntax.text)
        body = self.node(syntax.parts[1], {**names, syntax.text: Node("name", value.type, name=syntax.text)}, want)
        return Node("let", body.type, (value, body), syntax.text)

    def condition(self, syntax: Syntax, names: Mapping[str, Node]) -> Node:
        if self.open(syntax):
            raise self.fail(syntax, "found a number, expected a condition")
        found = self.node(syntax, names, None)
        if found.type != BOOL:
            raise self.fail(syntax, f"found {found.type}, expected a condition")
        return found

    def same(
        self, whole: Syntax, parts: Sequence[Syntax], names: Mapping[str, Node], want: str | None, *, conditions: bool = False
    ) -> tuple[Node, ...]:
        """The parts, all of one type: that of the first whose type is not open, else the wanted one."""
        found: dict[int, Node] = {k: self.node(part, names, want) for k, part in enumerate(parts) if not self.open(part)}
        type_ = next(iter(found.values())).type if found else want
        if type_ is None:
            raise self.fail(whole, "the type of its numbers is open, expected one, as in float32(1)")
        nodes: list[Node] = []
        for k, part in enumerate(parts):
            one = found[k] if k in found else self.node(part, names, type_)
            if one.type != type_:
                raise self.fail(part, f"found {self.said(one.type)}, expected {self.said(type_)} as beside it; a cast is written")
            if one.type == BOOL and not conditions:
                raise self.fail(part, "found a condition, expected a number")
            nodes.append(one)
        return tuple(nodes)

    def number(self, syntax: Syntax, want: str | None) -> Node:
        value = syntax.value
        if want is None:
            raise self.fail(syntax, f"the type of {value} is open, expected one, as in float32({value})")
        if want == BOOL:
            raise self.fail(syntax, f"found the number {value}, expected a condition")
        if want in FLOATS:
            bits = float_bits(want, float(value))
            if bits is None:
                raise self.fail(syntax, f"found {value}, which is beyond the range of {want}")
            return Node("number", want, bits=bits)
        low, high = integer_range(want)
        if isinstance(value, float):
            shown = "nan" if math.isnan(value) else value
            raise self.fail(syntax, f"found {shown}, expected an integer ({want})")
        if not low <= value <= high:
            raise self.fail(syntax, f"found {value}, expected an integer from {low} to {high} ({want})")
        return Node("number", want, bits=value % (1 << BITS[want]))

    def cast(self, syntax: Syntax, names: Mapping[str, Node]) -> Node:
        target = syntax.kind
        found = self.node(syntax.parts[0], names, target if self.open(syntax.parts[0]) else None)
        return found if found.type == target else Node("cast", target, (found,))

    def reinterpreted(self, syntax: Syntax, names: Mapping[str, Node]) -> Node:
        target = CASTS[syntax.kind]
        found = self.node(syntax.parts[0], names, None)
        if found.type == BOOL or BITS[found.type] != BITS[target]:
            have = "a condition" if found.type == BOOL else f"{found.type} of {BITS[found.type]} bits"
            raise self.fail(syntax.parts[0], f"found {have}, expected a type of the {BITS[target]} bits of {target}")
        return found if found.type == target else Node("as", target, (found,))
