"""The text of a scalar function, read with Python's `ast`: a binding becomes a call, the rest is Python's own grammar. Nothing is executed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = tuple(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))
TYPES = (*FLOATS, *INTEGERS)
WORDS = {"true": True, "false": False}
BETWEEN: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "shr",
}
BEFORE: dict[type[ast.AST], str] = {ast.USub: "neg", ast.Invert: "inv"}
COMPARED: dict[type[ast.AST], tuple[str, bool]] = {
    ast.Eq: ("eq", False),
    ast.NotEq: ("ne", False),
    ast.Lt: ("lt", False),
    ast.LtE: ("le", False),
    ast.Gt: ("lt", True),
    ast.GtE: ("le", True),
}
"""The operation of a comparison, and whether its sides change places."""
Tree = tuple[Any, ...]
"""(operation, type, argument, ...); ("number", type, value), ("name", type, name) and ("let", type, name, value, body)."""


def python_text(text: str) -> str:
    """The text with `let a = b in c` as `_let(a, b, c)`."""
    found: list[str] = []
    open_: list[str] = []

    def close() -> None:
        while open_ and open_[-1] == "body":
            open_.pop()
            found.append(")")

    words = re.findall(r"[A-Za-z_0-9.]+(?:(?<=[0-9][eE])[-+][0-9]+)?|\S", text)
    skip = False
    for k, word in enumerate(words):
        if skip:
            skip = False
        elif word == "let":
            open_.append("value")
            found.append(f"_let({words[k + 1]},")
            words[k + 1] = ""
            skip = words[k + 2] == "="
            words[k + 2] = "" if skip else words[k + 2]
        elif word == "in":
            close()
            open_[-1] = "body"
            found.append(",")
        elif word in {")", ","}:
            close()
            found.append(word)
            if word == ")":
                open_.pop()
        else:
            if word == "(":
                open_.append("(")
            found.append(word)
    close()
    return _joined(found)


def _joined(words: list[str]) -> str:
    """Words with spaces between, but none inside operators of two characters."""
    text = " ".join(word for word in words if word)
    return re.sub(r"([<>=!/]) (?=[<>=/])", r"\1", text)


class Reader:
    """A function as a tree with types: a number takes the type of what it is combined with."""

    def __init__(self, function: Mapping[str, Any]) -> None:
        self.params: list[tuple[str, str]] = [(str(name), str(type_)) for name, type_ in function["params"]]
        self.result = str(function["result"])
        root = ast.parse(f"({python_text(str(function['body']))})", mode="eval").body
        self.tree = self.typed(root, dict(self.params), self.result)

    def typed(self, node: ast.expr, types: Mapping[str, str], want: str | None) -> Tree:
        """The tree of a node; want: the type of its numbers where nothing inside says it."""
        number = _number(node)
        if number is not None:
            return ("number", want, number)
        if isinstance(node, ast.Name):
            return ("number", "bool", WORDS[node.id]) if node.id in WORDS else ("name", types[node.id], node.id)
        if isinstance(node, ast.BoolOp):
            parts = [self.typed(part, types, None) for part in node.values]
            tree = parts[0]
            for part in parts[1:]:
                tree = ("both" if isinstance(node.op, ast.And) else "either", "bool", tree, part)
            return tree
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ("not", "bool", self.typed(node.operand, types, None))
        if isinstance(node, ast.UnaryOp):
            arg = self.typed(node.operand, types, want)
            return (BEFORE[type(node.op)], arg[1], arg)
        if isinstance(node, ast.Compare):
            return self._compared(node, types)
        if isinstance(node, ast.BinOp):
            return self._together(BETWEEN[type(node.op)], [node.left, node.right], types, want)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._called(node.func.id, node.args, types, want)
        raise ValueError(f"{ast.unparse(node)!r} is no part of a scalar function")

    def _compared(self, node: ast.Compare, types: Mapping[str, str]) -> Tree:
        sides = [node.left, *node.comparators]
        found: list[Tree] = []
        for operator, left, right in zip(node.ops, sides, sides[1:], strict=False):
            op, swapped = COMPARED[type(operator)]
            pair = [right, left] if swapped else [left, right]
            found.append((op, "bool", *self._together(op, pair, types, None)[2:]))
        tree = found[0]
        for other in found[1:]:
            tree = ("both", "bool", tree, other)
        return tree

    def _together(self, op: str, nodes: list[ast.expr], types: Mapping[str, str], want: str | None) -> Tree:
        """An operation on arguments of one type: those that say a type come first, and each is read once."""
        read = {k: self.typed(node, types, None) for k, node in enumerate(nodes) if not _open(node)}
        said = next((tree[1] for tree in read.values()), want)
        return (op, said, *(read[k] if k in read else self.typed(node, types, said) for k, node in enumerate(nodes)))

    def _called(self, name: str, args: list[ast.expr], types: Mapping[str, str], want: str | None) -> Tree:
        if name == "_let":
            bound = str(getattr(args[0], "id", ""))
            value = self.typed(args[1], types, None)
            body = self.typed(args[2], {**types, bound: value[1]}, want)
            return ("let", body[1], bound, value, body)
        if name == "select":
            op, said, then, otherwise = self._together(name, args[1:], types, want)
            return (op, said, self.typed(args[0], types, None), then, otherwise)
        if name in TYPES:
            arg = self.typed(args[0], types, name if _open(args[0]) else None)
            return arg if arg[1] == name else ("cast", name, arg)
        if name.removeprefix("as_") in TYPES:
            arg = self.typed(args[0], types, None)
            return arg if arg[1] == name[3:] else ("as", name[3:], arg)
        tree = self._together(name, args, types, want)
        while len(tree) > 4 and name in {"min", "max"}:
            tree = (name, tree[1], (name, tree[1], tree[2], tree[3]), *tree[4:])
        return tree


def _number(node: ast.expr) -> int | float | None:
    """The number that a node writes, signs included."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    if isinstance(node, ast.Name) and node.id in {"inf", "nan"}:
        return float(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.UnaryOp):
        found = _number(node.operand)
        return None if found is None else -found
    return None


def _open(node: ast.expr) -> bool:
    """Whether a node is made of numbers alone, so that something else says their type."""
    if _number(node) is not None:
        return True
    if isinstance(node, ast.BinOp):
        return _open(node.left) and _open(node.right)
    if isinstance(node, ast.UnaryOp):
        return not isinstance(node.op, ast.Not) and _open(node.operand)
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)) or node.func.id.removeprefix("as_") in TYPES:
        return False
    if node.func.id == "_let":
        return _open(node.args[2])
    return all(_open(arg) for arg in (node.args[1:] if node.func.id == "select" else node.args))


def operations(tree: Tree) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """(operation, types of its arguments, type of its result) of every operation in a tree."""
    op, type_, *parts = tree
    args: list[Tree] = [part for part in parts if isinstance(part, tuple)]
    if op not in {"number", "name", "let"}:
        yield op, tuple(str(arg[1]) for arg in args), str(type_)
    for arg in args:
        yield from operations(arg)
