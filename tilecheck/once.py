"""Attributes computed when first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

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
