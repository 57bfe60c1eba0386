"""Kinds of parameters: what a value of each looks like."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import isfinite
from typing import Any, cast

from tilecheck.evaluate.expressions import Expression
from tilecheck.evaluate.launch import THREAD_NAMES
from tilecheck.evaluate.scalar_numbers import rounded

FLOATS = {"f16": "float16", "bf16": "bfloat16", "tf32": "float32", "f32": "float32", "f64": "float64"}
SPACES = {"global", "shared", "register", "local", "tmem", "tensormap"}


def _list_of(kind: str, value: object) -> bool:
    """Whether a value is a list of parameters of a kind."""
    return isinstance(value, list) and all(of_kind({"kind": kind}, one) for one in cast("list[object]", value))


def of_kind(parameter: Mapping[str, Any], value: object) -> bool:
    """Whether a value is one that a parameter of this kind takes, whatever the symbols are."""
    kind = str(parameter["kind"])
    if kind == "flag":
        return isinstance(value, bool)
    if kind == "predicate":
        return isinstance(value, bool) or (isinstance(value, str) and Expression(value).is_condition)
    if kind == "barrier":
        return value in SPACES
    if kind == "fixed":
        return type(value) is type(parameter["default"]) and value == parameter["default"]
    if kind == "words":
        listed = cast("list[object]", value) if _list_of("integer", value) else []
        return len(listed) == parameter["choices"][0] and all(not isinstance(one, int) or 0 <= one < 1 << 32 for one in listed)
    if kind == "word":
        return isinstance(value, str)
    if kind == "major":
        return value in {"k", "mn"}
    if kind == "descriptor":
        return _list_of("code", value) and len(cast("list[object]", value)) == 3
    if kind == "steps":
        return isinstance(value, list) and all(_list_of("integer", step) for step in cast("list[object]", value))
    if kind in {"extents", "shape", "coordinates"}:
        return _list_of("integer" if kind == "coordinates" else "code", value)
    number = isinstance(value, int) and not isinstance(value, bool)
    if kind == "selector":
        return number and value in parameter["choices"]
    if kind == "immediate":
        return number and -(1 << 31) <= cast("int", value) < 1 << 31
    if kind in {"chunk", "code"}:
        return number
    if isinstance(value, str):
        found = Expression(value)
        return not found.is_condition and not (kind == "bytes" and found.names & THREAD_NAMES)
    if kind == "u64":
        return isinstance(value, int) and number and 0 <= value <= int(parameter.get("most") or (1 << 64) - 1)
    return number


def is_number(type_: str, value: object) -> bool:
    """Whether a value is a number that a register of a PTX type holds, or an expression of integers."""
    if isinstance(value, str):
        written = Expression(value)
        if written.constant is None or written.is_condition:
            return not written.is_condition
        value = written.constant
    if isinstance(value, bool) or not isinstance(value, int | float) or (isinstance(value, float) and not isfinite(value)):
        return False
    if is_float(type_):
        return isfinite(rounded(FLOATS[type_], Fraction(value)))
    low, high = integers(type_)
    return isinstance(value, int) and low <= value <= high


def is_float(type_: str) -> bool:
    """Whether a PTX type is one of floats."""
    return type_.lstrip("b").startswith("f") or type_ == "tf32"


SIGNIFICANT = {"f16": 11, "bf16": 8, "tf32": 11, "f32": 24, "f64": 53}
"""The significant bits of each type of floats."""


def integers(type_: str) -> tuple[int, int]:
    """The least and the greatest of the integers that a PTX type holds without a gap."""
    if is_float(type_):
        return -(2 ** SIGNIFICANT[type_]), 2 ** SIGNIFICANT[type_]
    size = int(type_[1:])
    ends = {"s": (-(1 << (size - 1)), (1 << (size - 1)) - 1), "u": (0, (1 << size) - 1), "b": (-(1 << (size - 1)), (1 << size) - 1)}
    return ends[type_[0]]
