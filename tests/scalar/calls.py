"""Call documents of scalar compositions: a warp, each lane with a few elements in registers of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilecheck.contracts.ewise import COMPOSITION
from tilecheck.scalar import Node, show
from tilecheck.scalar.types import BOOL
from tilecheck.spec import Definition, Instruction

Json = dict[str, Any]
Params = Sequence[Sequence[str]]


def function(params: Params, result: str, body: str) -> Json:
    return {"params": [list(pair) for pair in params], "result": result, "body": body}


def registers(name: str, dtype: str, repeats: int = 4, **more: Any) -> Json:
    layout = f"S[(32,{repeats}):(1@laneid,1)]"
    return {"name": name, "space": "register", "dtype": dtype, "shape": [32, repeats], "layout": layout, **more}


def document(params: Params, result: str, body: str, repeats: int = 4, **more: Any) -> Json:
    """The call of a function on registers of its own for the result and each parameter."""
    operands = [registers("D", result, repeats), *(registers(name.upper(), type_, repeats) for name, type_ in params)]
    return {
        "schema": "tilecheck/call@1",
        "id": body if len(body) < 60 else body[:57] + "...",
        "opcode": "ewise",
        "scope": "warp",
        "launch": {"block": [32]},
        "function": function(params, result, body),
        "operands": operands,
        **more,
    }


def argument(name: str, type_: str) -> Node:
    """A parameter; for a condition, whether a parameter is not 0."""
    if type_ != BOOL:
        return Node("parameter", type_, name=name)
    return Node("ne", BOOL, (Node("parameter", "uint32", name=name), Node("number", "uint32")))


def expression_of(op: str, types: Sequence[str], result: str) -> tuple[Params, str, Node]:
    """(parameters, result, expression) of one operation; a condition comes out as 1 or 0."""
    params = [[name, "uint32" if type_ == BOOL else type_] for name, type_ in zip("abc", types, strict=False)]
    node = Node(op, result, tuple(argument(name, type_) for name, type_ in zip("abc", types, strict=False)))
    if result == BOOL:
        node = Node("select", "uint32", (node, Node("number", "uint32", bits=1), Node("number", "uint32")))
    return params, node.type, node


def arity(one: Definition) -> int:
    return 1 if one.op in {"exp", "log", "sqrt"} else 2


def operations() -> Mapping[str, tuple[Params, str, Node]]:
    """Every operation of the composition at every type, by a name."""
    found: dict[str, tuple[Params, str, Node]] = {}
    for one in COMPOSITION.instructions:
        found[name_of(one.op, one.types, one.result)] = expression_of(one.op, one.types, one.result)
    for one in COMPOSITION.definitions:
        types = (one.type,) * arity(one)
        found[name_of(one.op, types, one.type)] = expression_of(one.op, types, one.type)
    return found


def name_of(op: str, types: Sequence[str], result: str) -> str:
    return f"{op} of {', '.join(types)}" + (f" to {result}" if op in {"cast", "as"} else "")


def operation_document(name: str, repeats: int = 4) -> Json:
    params, result, node = operations()[name]
    return document(params, result, show(node), repeats, id=f"ewise, {name}")


def instruction(name: str) -> Instruction | None:
    """The instruction of an operation by its name; None for one that is defined."""
    return next((one for one in COMPOSITION.instructions if name_of(one.op, one.types, one.result) == name), None)
