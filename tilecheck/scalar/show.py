"""A typed function as text, which reads back as the same nodes: every number has its type written."""

from __future__ import annotations

from tilecheck.scalar.nodes import COMPARISONS, FUNCTIONS, SYMBOLS, Node
from tilecheck.scalar.types import BOOL, FLOATS, float_value, integer_range

SIGNS = {op: sign for sign, op in (*SYMBOLS.items(), *COMPARISONS.items())}
JOINED = {"both": "and", "either": "or"}


def show(node: Node) -> str:
    """The text of a typed expression, with parentheses around every operation."""
    args = [show(arg) for arg in node.args]
    if node.op in {"parameter", "name"}:
        return node.name
    if node.op == "number":
        return _number(node)
    if node.op == "let":
        return f"(let {node.name} = {args[0]} in {args[1]})"
    if node.op in SIGNS:
        return f"({args[0]} {SIGNS[node.op]} {args[1]})"
    if node.op in JOINED:
        return f"({args[0]} {JOINED[node.op]} {args[1]})"
    if node.op == "not":
        return f"(not {args[0]})"
    if node.op in {"neg", "inv"}:
        return f"({'-' if node.op == 'neg' else '~'}({args[0]}))"
    if node.op == "cast":
        return f"{node.type}({args[0]})"
    if node.op == "as":
        return f"as_{node.type}({args[0]})"
    assert node.op == "select" or node.op in FUNCTIONS
    return f"{node.op}({', '.join(args)})"


def _number(node: Node) -> str:
    if node.type == BOOL:
        return "true" if node.bits else "false"
    if node.type in FLOATS:
        return f"{node.type}({float_value(node.type, node.bits)!r})"
    low, high = integer_range(node.type)
    return f"{node.type}({node.bits - (high - low + 1) if node.bits > high else node.bits})"
