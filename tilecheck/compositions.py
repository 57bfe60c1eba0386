"""Calls that apply a scalar function to every element of registers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from tilecheck.call import Call, Launch, Scalar, Symbol, apply
from tilecheck.errors import InputError
from tilecheck.layout.view import Tensor, View
from tilecheck.scalar.function import Function, function_from_json
from tilecheck.symbolic.terms import Expr


def ewise(
    function: Function | Mapping[str, object] | Callable[..., object],
    dst: View | Tensor,
    *inputs: View | Tensor | Scalar | Expr | float,
    scope: str = "thread",
    launch: Launch | None = None,
    guard: object = None,
    assume: Sequence[object] = (),
    symbols: Sequence[Symbol] = (),
    index_dtype: str = "int64",
    arch: str | None = None,
    id: str = "",  # noqa: A002 (the document's name)
    **parameters: object,
) -> Call:
    """The call that puts function(inputs) into each element of dst: inputs are views of dst's group and repeat axes, or numbers for all elements.

    function: a `Function`, its JSON form, or a Python function with annotated types, whose source is read and never run. The rest is as for `apply`.
    InputError: a function that does not read.
    """
    found = function if isinstance(function, Function) else _read(function)
    names = [name for name, _ in found.params]
    operands = [
        one if isinstance(one, View | Tensor | Scalar) else Scalar(names[k] if k < len(names) else f"input{k + 1}", one)
        for k, one in enumerate(inputs)
    ]
    call = apply(
        "ewise",
        dst,
        *operands,
        scope=scope,
        launch=launch,
        guard=guard,
        assume=assume,
        symbols=symbols,
        index_dtype=index_dtype,
        arch=arch,
        id=id,
        **parameters,
    )
    return dataclasses.replace(call, function=found)


def _read(function: Mapping[str, object] | Callable[..., object]) -> Function:
    if isinstance(function, Mapping):
        return function_from_json(cast("Mapping[str, object]", function))
    from tilecheck.scalar.source import function_from_python

    try:
        return function_from_python(function)
    except InputError as error:
        raise InputError(error.message, path=f"function{error.path}") from None
