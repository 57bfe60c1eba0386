"""Numbers in the place of register operands: what a constant may be, and clauses about the value of an expression."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from tilecheck.call import Scalar
from tilecheck.fitting import scalars_of
from tilecheck.prove import structure
from tilecheck.prove.clause import Clause
from tilecheck.prove.obligation import Obligation
from tilecheck.prove.problem import Problem
from tilecheck.scopes import ground, written
from tilecheck.spec.contract import Register
from tilecheck.symbolic import terms
from tilecheck.symbolic.parse import is_truth
from tilecheck.symbolic.terms import Expr

WHOLE = {"f16": 1 << 11, "bf16": 1 << 8, "tf32": 1 << 11, "f32": 1 << 24, "f64": 1 << 53}
"""Every integer up to this magnitude is a number of the type."""
SINGLE = ((1 << 25) - 1) << 103
BEYOND = {"f16": 65_520, "bf16": 511 << 119, "tf32": SINGLE, "f32": SINGLE, "f64": (1 << 1024) - (1 << 970)}
"""The least magnitude that rounds to infinity."""


def range_of(type_: str) -> tuple[int, int]:
    """The integers, ends included, that a PTX type holds one by one; of raw bits those that are so many bits, signed or unsigned."""
    if type_ in WHOLE:
        return -WHOLE[type_], WHOLE[type_]
    kind, size = type_[0], int(type_[1:])
    return (0 if kind == "u" else -(1 << (size - 1))), ((1 << (size - 1)) if kind == "s" else 1 << size) - 1


def number_fault(operand: Scalar, spec: Register) -> tuple[str, str] | None:
    """(expected, found) where a number is none of the type that the contract says, or an expression no integer; the range of an expression is a clause."""
    value = operand.value
    if isinstance(value, bool | Expr):
        return (f"a number of type {spec.number}", str(value)) if is_truth(value) else None
    if spec.number in BEYOND:
        held = abs(value) < BEYOND[spec.number] or abs(value) == inf or value != value  # noqa: PLR0124 (NaN)
        return None if held else (f"a number that .{spec.number} holds", str(value))
    low, high = range_of(spec.number)
    return None if isinstance(value, int) and low <= value <= high else (f"an integer from {low} to {high}", str(value))


def clauses(problem: Problem) -> Iterator[Clause]:
    """`X.type`: in every thread that executes, the expression has a value, and the type of the operand holds it."""
    launch = problem.call.launch
    for value in scalars_of(problem.call, problem.contract):
        low, high = range_of(value.spec.number)
        term = ground(value.term, launch)
        goal = terms.conj(terms.has_value(written(value.term, launch)), terms.le(low, term), terms.le(term, high))
        statement = f"the value of {value.name} is an integer from {low} to {high}, as .{value.spec.number} holds them"
        yield Clause(
            f"{value.spec.name}.type",
            statement,
            Obligation((*problem.symbols, *problem.thread_variables()), problem.accessing, goal),
            point="warp",
            proof=structure.index(problem, value.term, low, high),
        )
