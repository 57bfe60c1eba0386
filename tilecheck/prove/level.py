"""Operands in tensor memory of one instruction that start in the same lane."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilecheck.prove import structure, tmem
from tilecheck.prove.clause import Clause, element
from tilecheck.prove.obligation import Obligation, Variable
from tilecheck.prove.operands import own_repeats
from tilecheck.prove.problem import Problem, Side, repeat_variables
from tilecheck.spec.tmem import TensorMemory
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term, var

OTHER = "@beside"
"""What the names of the repeat axes begin with that the other operand has alone."""


def beside(problem: Problem, side: Side, spec: TensorMemory, repeats: tuple[int, ...]) -> Iterator[Clause]:
    """The first element of every instruction is in the lane of that of another operand: a part of `image`."""
    other = next(s for s in problem.sides if s.spec.name == spec.beside)
    says = f"{side.name} is laid out as the instruction has it: {spec.asks}"
    yield Clause(f"{spec.name}.image", says, lambda: _beside(problem, side, other, repeats), proof=proof(side, other))


def proof(side: Side, other: Side) -> str | None:
    """Neither view moves along the lanes outside the atom, and both start in one lane."""
    lanes: list[int] = []
    for one in (side, other):
        form = one.strided
        begins = None if form is None else tmem.begins(form, one)
        if begins is None or len(begins) != 1:
            return None
        lanes += begins
    return structure.method(side, through=False) if lanes[0] == lanes[1] else None


def _beside(problem: Problem, side: Side, other: Side, repeats: tuple[int, ...]) -> Obligation:
    contract = problem.contract
    mine, theirs = contract.loops_of(side.spec), contract.loops_of(other.spec)
    free = len(repeats) - len(mine)
    extents = own_repeats(problem, other)
    names: dict[str, Term] = {f"@r{k}": var(f"@r{k}") for k in range(free)}
    own = dict(zip(mine, range(free, len(repeats)), strict=True))
    extra: list[Variable] = []
    for k, loop in enumerate(theirs, start=free):
        if loop in own:
            names[f"@r{k}"] = var(f"@r{own[loop]}")
        else:
            names[f"@r{k}"] = var(f"{OTHER}{k}")
            extra.append(replace(repeat_variables(extents)[k], name=f"{OTHER}{k}", role="atom"))
    lane, _ = tmem.place(problem, side, repeats, first=True)
    there, _ = tmem.place(problem, other, extents, first=True)
    premise = terms.conj(problem.accessing, other.defined)
    goal = terms.eq(lane, terms.substitute(there, names))
    found = element(problem, side, repeats, premise, goal, without=tuple(axis.name for axis in side.atom))
    return Obligation((*found.variables, *extra), found.premise, found.goal, found.lane)
