"""The contract of a scalar composition, with the function of the call: operands and what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilecheck.evaluate.scalar_numbers import WIDTH
from tilecheck.evaluate.scalar_values import ScalarFunction

LETTERS = {"float": "f", "bfloat": "bf", "int": "s", "uint": "u"}


def composed(contract: Mapping[str, Any], call: Mapping[str, Any]) -> Mapping[str, Any]:
    """The contract with a destination of the function's result and a source of each parameter; another contract as it is."""
    scalar, function = contract.get("scalar"), call.get("function")
    if scalar is None or function is None or contract["operands"]:
        return contract
    own = [(str(scalar["destination"]), str(function["result"]), True), *((str(n), str(t), False) for n, t in function["params"])]
    of = [[name, 0, _letters(type_)] for name, type_, _ in own[1:]]
    result = {"bit": 0, "bits": WIDTH[own[0][1]], "type": _letters(own[0][1]), "of": of}
    computed = {"dst": own[0][0], "operator": contract["mnemonic"], "words": [], "results": [result]}
    return {**contract, "operands": [_operand(name, type_, write=write) for name, type_, write in own], "computed": computed}


def _letters(type_: str) -> str:
    """What PTX calls a type."""
    return f"{LETTERS[type_.rstrip('0123456789')]}{WIDTH[type_]}"


def _operand(name: str, type_: str, *, write: bool) -> Mapping[str, Any]:
    width = WIDTH[type_]
    return {
        "kind": "register",
        "name": name,
        "bits": width,
        "write": write,
        "dtypes": [type_],
        "lane": None,
        "register": 0,
        "number": "" if write else _letters(type_),
    }


def function_problem(contract: Mapping[str, Any], call: Mapping[str, Any]) -> tuple[str, str] | None:
    """(expected, found) where a function is missing or superfluous, or made of an operation that the contract does not have."""
    scalar, function = contract.get("scalar"), call.get("function")
    if scalar is None:
        return None if function is None else ("no function", "a function")
    if function is None:
        return "a function", "none"
    fault = ScalarFunction(function, scalar).fault
    return None if fault is None else ("operations that have PTX", fault)
