"""A typed scalar function as data: parameters, result, and a body as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from tilecheck.errors import InputError
from tilecheck.scalar.nodes import Node
from tilecheck.scalar.parse import check_name, parse
from tilecheck.scalar.typed import typed
from tilecheck.scalar.types import SCALAR_TYPES

MAX_PARAMETERS = 15


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function: `params` as (name, type), the type of the `result`, and the `body` that computes it from them.

    InputError, with the JSON path inside the function, where a type or name is none, or the body does not read or is of another type.
    """

    params: tuple[tuple[str, str], ...]
    result: str
    body: str

    def __post_init__(self) -> None:
        if len(self.params) > MAX_PARAMETERS:
            raise InputError(f"found {len(self.params)} parameters, expected at most {MAX_PARAMETERS}", path=".params")
        for k, (name, type_) in enumerate(self.params):
            try:
                check_name(name, "a parameter")
            except InputError as error:
                raise InputError(error.message, path=f".params[{k}][0]") from None
            if name in {other for other, _ in self.params[:k]}:
                raise InputError(f"found the parameter {name} twice, expected a new name", path=f".params[{k}][0]")
            _require_type(type_, f".params[{k}][1]")
        _require_type(self.result, ".result")
        try:
            self.node  # noqa: B018 (a body that does not read is no function)
        except InputError as error:
            raise InputError(error.message, path=".body") from None

    @property
    def node(self) -> Node:
        """The body as a typed expression."""
        return _node(self.params, self.result, self.body)

    def to_json(self) -> dict[str, object]:
        """The function in the call document."""
        return {"params": [list(pair) for pair in self.params], "result": self.result, "body": self.body}


def _require_type(type_: str, path: str) -> None:
    if type_ not in SCALAR_TYPES:
        raise InputError(f"found {type_[:40]!r}, expected one of {', '.join(SCALAR_TYPES)}", path=path)


@lru_cache(maxsize=512)
def _node(params: tuple[tuple[str, str], ...], result: str, body: str) -> Node:
    return typed(parse(body), body, dict(params), result)


def function_from_json(value: object) -> Function:
    """The function that a JSON object is: `params` (pairs of text), `result` and `body`; InputError with the path of what is wrong in it."""
    if not isinstance(value, Mapping):
        raise InputError(f"found {_found(value)}, expected an object with params, result and body")
    document = cast("Mapping[object, object]", value)
    for key in document:
        if key not in {"params", "result", "body"}:
            raise InputError(f"found the key {str(key)[:60]!r}, expected one of params, result, body")
    for key in ("params", "result", "body"):
        if key not in document:
            raise InputError(f"the key {key!r} is missing")
    params = document["params"]
    if not isinstance(params, list | tuple):
        raise InputError(f"found {_found(params)}, expected a list of pairs", path=".params")
    pairs: list[tuple[str, str]] = []
    for k, pair in enumerate(cast("list[object]", params)):
        shown = _found(pair)
        items = cast("list[object]", pair) if isinstance(pair, list | tuple) else []
        if len(items) != 2:
            raise InputError(f"found {shown}, expected a name and a type", path=f".params[{k}]")
        name, type_ = (_text(item, f".params[{k}][{at}]") for at, item in enumerate(items))
        pairs.append((name, type_))
    return Function(tuple(pairs), _text(document["result"], ".result"), _text(document["body"], ".body"))


def _text(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"found {_found(value)}, expected text", path=path)
    return value


def _found(value: object) -> str:
    from tilecheck.document import found

    if isinstance(value, tuple):
        return f"a tuple of {len(cast('tuple[object, ...]', value))}"
    return found(value)
