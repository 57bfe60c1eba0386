"""The nodes of a typed scalar function, and the operations it is made of."""

from __future__ import annotations

from dataclasses import dataclass

from tilecheck.scalar.types import BOOL, SCALAR_TYPES

SYMBOLS = {
    "|": "or",
    "^": "xor",
    "&": "and",
    "<<": "shl",
    ">>": "shr",
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "//": "floordiv",
    "%": "mod",
}
"""The operations of two numbers that are written between them, loosest first."""
COMPARISONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le"}
"""`a > b` is `b < a`, `a >= b` is `b <= a`."""
FUNCTIONS = {
    "min": 2,
    "max": 2,
    "abs": 1,
    "fma": 3,
    "exp": 1,
    "exp2": 1,
    "log": 1,
    "log2": 1,
    "sqrt": 1,
    "rsqrt": 1,
    "tanh": 1,
    "floor": 1,
    "ceil": 1,
    "trunc": 1,
    "round": 1,
    "tdiv": 2,
    "tmod": 2,
    "mulhi": 2,
    "popc": 1,
    "clz": 1,
    "brev": 1,
}
"""The operations that are written as functions, and how many numbers of one type each takes (min and max: at least); the result is of that type."""
CASTS = {f"as_{name}": name for name in SCALAR_TYPES}
"""The same bits as another type of the width."""


@dataclass(frozen=True, slots=True)
class Node:
    """One typed expression.

    op: `parameter` and `name` (of a binding) with `name`; `number` with its `bits`; `let` with `name` and (value, body); `select` with (condition, then,
    otherwise); `not`, `both`, `either` of conditions; `cast` and `as`; else an operation of `SYMBOLS`, `COMPARISONS` or `FUNCTIONS`, `neg` or `inv`.
    type: a scalar type, or `bool`.
    """

    op: str
    type: str
    args: tuple[Node, ...] = ()
    name: str = ""
    bits: int = 0

    @property
    def is_condition(self) -> bool:
        """Whether this is a condition rather than a number."""
        return self.type == BOOL
