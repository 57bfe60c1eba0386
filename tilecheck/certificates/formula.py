"""Formulas to be written: variables with ranges, a premise and a goal; what is asked is whether the premise can hold without the goal."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilecheck.prove.obligation import Obligation, Variable, narrowed
from tilecheck.symbolic import terms
from tilecheck.symbolic.bounds import Interval, all_bounds
from tilecheck.symbolic.terms import Expr, Term, var


class NoForm(Exception):  # noqa: N818 (control flow of this package)
    """An encoding has no form for a formula; says why."""


@dataclass(frozen=True, slots=True)
class Formula:
    """Whether some values of the variables satisfy every part of the premise and not the goal.

    variables: those that occur, and those without a value; all bounded. narrowed: ends that single comparisons of the premise add, where they do. bounds: the interval of
    every node, from these.
    """

    variables: tuple[Variable, ...]
    premise: tuple[Term, ...]
    goal: Term
    narrowed: tuple[Variable, ...]
    bounds: dict[Term, Interval]

    def interval(self, term: Term) -> Interval:
        """The claimed interval of a term."""
        return self.bounds[term] if isinstance(term, Expr) else (int(term), int(term))

    @property
    def nodes(self) -> tuple[Expr, ...]:
        """Every distinct node, arguments first."""
        found = dict.fromkeys(node for part in (*self.premise, self.goal) for node in terms.subterms(part))
        return tuple(node for node in found if isinstance(node, Expr))


def steps_name(variable: Variable) -> str:
    """The name of the variable that counts the steps of another."""
    return f"{variable.name}/{variable.step}"


def counted(variable: Variable) -> bool:
    """Whether the values of a variable are written as step * count: where the step is no power of two."""
    return variable.values is None and variable.step & (variable.step - 1) != 0


def formula(obligation: Obligation, premise: tuple[Term, ...]) -> Formula:
    """The formula of an obligation with bounded variables, under the given parts of its premise."""
    names = frozenset[str]().union(*(terms.variables(part) for part in (*premise, obligation.goal)))
    used = tuple(v for v in obligation.variables if v.name in names or v.count == 0)
    within = tuple(_kept(v, n) for v, n in zip(used, narrowed(used, premise), strict=True))
    steps = {v.name: terms.mul(v.step, var(steps_name(v))) for v in used if counted(v)}
    if steps:
        premise = tuple(terms.substitute(part, steps) for part in premise)
        goal = terms.substitute(obligation.goal, steps)
    else:
        goal = obligation.goal
    variables, within = tuple(map(_by_steps, used)), tuple(map(_by_steps, within))
    ranges = {v.name: ends(v) for v in within}
    bounds: dict[Term, Interval] = {}
    for part in (*premise, goal):
        bounds |= all_bounds(part, ranges)
    return Formula(variables, premise, goal, within, bounds)


def _kept(declared: Variable, within: Variable) -> Variable:
    """The narrower ends, unless they exclude each other (a premise that contradicts itself is for the solver) or the variable counts steps."""
    return declared if counted(declared) or (within.low or 0) > (within.high or 0) else within


def _by_steps(variable: Variable) -> Variable:
    if not counted(variable):
        return variable
    low, high = ends(variable)
    return replace(variable, name=steps_name(variable), low=-(-low // variable.step), high=high // variable.step, step=1)


def ends(variable: Variable) -> Interval:
    """The least and the greatest value of a bounded variable."""
    if variable.values is not None:
        return min(variable.values, default=0), max(variable.values, default=0)
    assert variable.low is not None
    assert variable.high is not None
    return variable.low, variable.high


DIVISIONS = frozenset({"//", "%", "tdiv", "tmod"})


def has_product(formula: Formula) -> bool:
    """Whether two terms that are no constants are multiplied, or something is divided by one."""
    return any(
        all(isinstance(arg, Expr) for arg in node.args) if node.op == "*" else node.op in DIVISIONS and isinstance(node.args[1], Expr)
        for node in formula.nodes
    )


def divides_oddly(formula: Formula) -> bool:
    """Whether something is divided by a constant that is no power of two."""
    divisors = (terms.arguments(node)[1] for node in formula.nodes if node.op in DIVISIONS)
    return any(isinstance(divisor, int) and divisor & (divisor - 1) != 0 for divisor in divisors)
