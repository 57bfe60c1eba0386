"""The domain tier: goals that follow from intervals and congruences of single variables. It proves or abstains."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from tilecheck.prove.obligation import Obligation, Variable, narrowed, relevant
from tilecheck.symbolic.domain import ANYTHING, Env, Known, met, ranged, truth
from tilecheck.symbolic.terms import Expr, Term, arguments


def proves(obligation: Obligation) -> bool:
    """Whether the goal holds wherever each variable keeps to its own range and to the conjuncts of the premise that are about it alone."""
    parts, _ = relevant(obligation.premise, obligation.goal)
    return truth(obligation.goal, environment(obligation.variables, parts)) is True


def environment(variables: Sequence[Variable], parts: Sequence[Term]) -> Env:
    """What each variable can be: its declared values, cut by comparisons with constants and by `x % c == r`."""
    env: dict[str, Known] = {}
    for variable in narrowed(tuple(variables), tuple(parts)):
        if variable.values is not None:
            low, high = min(variable.values, default=0), max(variable.values, default=0)
            step = gcd(*(value - low for value in variable.values)) if variable.values else 1
            env[variable.name] = Known(low, high, step, low % step if step else low)
        else:
            low, high = ANYTHING.low if variable.low is None else variable.low, ANYTHING.high if variable.high is None else variable.high
            env[variable.name] = ranged(low, high, variable.step)
    for part in parts:
        found = _congruence(part)
        if found is not None and found[0] in env:
            name, modulus, residue = found
            env[name] = _also(env[name], modulus, residue)
    return env


def _congruence(part: Term) -> tuple[str, int, int] | None:
    """(name, modulus, residue) of `name % modulus == residue`."""
    if not isinstance(part, Expr) or part.op != "==":
        return None
    a, residue = arguments(part)
    if isinstance(a, int):
        a, residue = residue, a
    if not isinstance(a, Expr) or a.op != "%" or not isinstance(residue, int):
        return None
    inner, modulus = arguments(a)
    if not isinstance(inner, Expr) or inner.op != "var" or not isinstance(modulus, int) or modulus < 1:
        return None
    return str(inner.args[0]), modulus, residue


def _also(one: Known, modulus: int, residue: int) -> Known:
    """With one congruence more; where the two contradict each other anything may be said, and the old one stays."""
    if one.modulus == 0 or modulus % one.modulus or (residue - one.residue) % one.modulus:
        return one
    return met(Known(one.low, one.high, modulus, residue % modulus), None, None)
