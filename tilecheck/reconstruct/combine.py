"""Bytes that a reduction combines with what stood there, or that a load rounds: what each element must become in a run.

Integers wrap (PTX ISA 9.7.13.14, `red`); `.inc` and `.dec` count up to the source and wrap. Sums of floats round to nearest even; where a NaN comes out
only that it is one is compared, and sums of 32-bit floats with a subnormal operand or result are not compared (documents differ on flushing).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilecheck.reconstruct.arena import Bytes, shown

Array = npt.NDArray[Any]
TYPES: Mapping[str, str] = {
    "u32": "uint32",
    "s32": "int32",
    "u64": "uint64",
    "s64": "int64",
    "b32": "uint32",
    "b64": "uint64",
    "f16": "float16",
    "bf16": "uint16",
    "f32": "float32",
    "f64": "float64",
    "tf32": "uint32",
}
WIDTHS = {name: np.dtype(kind).itemsize for name, kind in TYPES.items()}
ORDERED = ("inc", "dec")
"""Operators whose result depends on the order in which several sources arrive."""


def _inc(old: Array, source: Array) -> Array:
    return np.where(old >= source, 0, old + np.uint32(1)).astype(old.dtype)


def _dec(old: Array, source: Array) -> Array:
    return np.where((old == 0) | (old > source), source, old - np.uint32(1)).astype(old.dtype)


def _numbers(choose: Callable[[Array, Array], Array], old: Array, source: Array) -> Array:
    """The chosen one; of a number and a NaN (a signalling one too, on an H200) the number."""
    return np.where(old != old, source, np.where(source != source, old, choose(old, source)))  # noqa: PLR0124 (a NaN differs from itself)


def _to_tf32(bits: Array) -> Array:
    """Ten digits of a float32, to nearest even; a NaN becomes 7FFFE000 (both measured on an H200)."""
    wide = bits.astype(np.uint64)
    rounded = (wide + np.uint64(0xFFF) + (wide >> np.uint64(13) & np.uint64(1))) & np.uint64(0xFFFFE000)
    return np.where(np.isnan(bits.view(np.float32)), 0x7FFFE000, rounded).astype(np.uint32)


OPERATORS: Mapping[str, Callable[[Array, Array], Array]] = {
    "add": lambda a, b: a + b,
    "min": lambda a, b: _numbers(np.minimum, a, b),
    "max": lambda a, b: _numbers(np.maximum, a, b),
    "inc": _inc,
    "dec": _dec,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "round": lambda _, b: _to_tf32(b),
}


@dataclass(frozen=True, slots=True)
class Combined:
    """One element: the places of its bytes, low first, where they stood before, and the bytes of every source; by: e.g. `add.u32`, `round.tf32`."""

    by: str
    at: tuple[int, ...]
    before: tuple[int, ...]
    sources: tuple[tuple[int, ...], ...]

    @property
    def settled(self) -> bool:
        """Whether the result does not depend on an order."""
        operator, kind = self.by.split(".")
        return len(self.sources) == 1 or (operator not in ORDERED and "f" not in kind)


def element_bytes(by: str) -> int:
    """The bytes of an element of an operator's type."""
    return WIDTHS[by.split(".")[1]]


def wrong(elements: Sequence[Combined], run: int, content: Bytes) -> list[int]:
    """The first byte of every element that a run left otherwise."""
    found: list[int] = []
    for one in elements:
        operator, kind = one.by.split(".")
        now = np.array([content[list(one.at)]]).view(TYPES[kind])
        old = _filled(one.before, run, kind)
        for source in one.sources:
            with np.errstate(all="ignore"):
                old = _apply(operator, kind, old, _filled(source, run, kind))
        if old is not None and not _same(kind, old, now):
            found.append(one.at[0])
    return found


def _filled(places: Sequence[int], run: int, kind: str) -> Array:
    """An element as a run begins."""
    return np.array([shown(np.array(places, dtype=np.uint32), run)]).view(TYPES[kind])


def _apply(operator: str, kind: str, old: Array | None, source: Array) -> Array | None:
    """The combination; None where it is not compared."""
    if old is None:
        return None
    if kind == "bf16":
        return _to_bf16(OPERATORS[operator](_from_bf16(old), _from_bf16(source)))
    result = OPERATORS[operator](old, source)
    if kind == "f32" and any(np.any((x != 0) & (np.abs(x) < np.finfo(np.float32).tiny)) for x in (old, source, result)):
        return None
    return result


def _from_bf16(bits: Array) -> Array:
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _to_bf16(value: Array) -> Array:
    """Rounded to nearest even; float32 has more than twice the digits, so rounding twice is rounding once."""
    bits = value.view(np.uint32).astype(np.uint64)
    rounded = (bits + np.uint64(0x7FFF) + (bits >> np.uint64(16) & np.uint64(1))) >> np.uint64(16)
    return np.where(np.isnan(value), 0x7FFF, rounded).astype(np.uint16)


def _same(kind: str, wanted: Array, found: Array) -> bool:
    if kind == "bf16":
        wanted, found = _from_bf16(wanted), _from_bf16(found)
    if wanted.dtype.kind == "f":
        return bool(np.all((wanted == found) | (np.isnan(wanted) & np.isnan(found))))
    return bool(np.all(wanted == found))
