"""What is computed once: attributes when they are first asked for, and keys of caches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast, overload

_T = TypeVar("_T")


class once(Generic[_T]):  # noqa: N801 (a decorator)
    """As functools.cached_property, without its lock, which costs more than most of what is computed here: two threads may compute one value twice."""

    def __init__(self, make: Callable[[Any], _T]) -> None:
        self.make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type[object], name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type[object]) -> once[_T]: ...

    @overload
    def __get__(self, instance: object, owner: type[object]) -> _T: ...

    def __get__(self, instance: object | None, owner: type[object]) -> once[_T] | _T:
        if instance is None:
            return self
        value = self.make(instance)
        instance.__dict__[self.name] = value
        return value


class Same(Generic[_T]):
    """Something as a cache key by its identity: contracts are cached by opcode; calls that are equal may say different things (1, 1.0, true)."""

    def __init__(self, it: _T) -> None:
        self.it = it

    def __hash__(self) -> int:
        return id(self.it)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and cast("Same[object]", other).it is self.it
