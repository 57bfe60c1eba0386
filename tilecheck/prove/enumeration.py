"""The enumeration tier: every coordinate and every symbol value at once, in NumPy. Exact, or it abstains.

Values are bounded in Python ints first; where an intermediate could leave int64, NumPy computes on Python ints instead.
"""

# NumPy's stubs give an array whose kind is known at run time only (int64, Python ints, booleans) no operators.
# pyright: reportOperatorIssue=false, reportArgumentType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from tilecheck.prove.obligation import Obligation, Outcome, Variable, narrowed, relevant
from tilecheck.symbolic import terms
from tilecheck.symbolic.bounds import Interval, all_bounds
from tilecheck.symbolic.terms import Expr, Term, entries

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[tuple[int, ...], np.dtype[np.generic]]

MAX_POINTS = 1 << 20
FEW_POINTS = 1 << 16
"""Up to here enumeration is quicker than the solver; beyond, it is what remains where the solver abstains."""
FIRST = 64
"""The first values of a variable that are looked at where every tier abstains."""
SAMPLES = 4096
SAFE = 1 << 62


class Grid:
    """Values of variables, each along an axis of its own, in counterexample order."""

    def __init__(self, variables: Sequence[Variable], values: Sequence[Sequence[int]]) -> None:
        self.variables = tuple(variables)
        self.values = tuple(tuple(v) for v in values)
        self.axis = {v.name: k for k, v in enumerate(self.variables)}

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the axes."""
        return tuple(len(v) for v in self.values)

    @property
    def points(self) -> int:
        """The number of points."""
        total = 1
        for extent in self.shape:
            total *= extent
        return total

    def array(self, term: Term) -> Array:
        """The values of a term over the grid; broadcastable to its shape (axes the term does not use have extent 1)."""
        import numpy as np

        ranges = {v.name: (min(vals, default=0), max(vals, default=0)) for v, vals in zip(self.variables, self.values, strict=True)}
        wide = any(abs(end) >= SAFE for end in _ends(term, ranges))
        kind: type = object if wide else np.int64
        memo: dict[Term, Array] = {}

        def of(node: object) -> Array:
            if isinstance(node, Expr):
                return memo[node]
            return np.asarray(node, dtype=bool if isinstance(node, bool) else kind)

        with np.errstate(all="ignore"):
            for node in terms.subterms(term):
                assert isinstance(node, Expr)
                memo[node] = self._variable(node, kind) if node.op == "var" else _apply(node, of)
        return of(term)

    def truth(self, term: Term) -> Array:
        """A condition over the grid as booleans, broadcast to its shape."""
        import numpy as np

        return np.broadcast_to(self.array(term).astype(bool), self.shape)

    def _variable(self, node: Expr, kind: type) -> Array:
        import numpy as np

        axis = self.axis[str(node.args[0])]
        shape = [1] * len(self.variables)
        shape[axis] = -1
        return np.asarray(self.values[axis], dtype=kind).reshape(shape)

    def at(self, index: Sequence[int]) -> dict[str, int]:
        """The values at one index."""
        return {v.name: vals[i] for v, vals, i in zip(self.variables, self.values, index, strict=True)}


def _ends(term: Term, ranges: Mapping[str, Interval]) -> Iterator[int]:
    """The ends of what every node of a term may be, and every number in it."""
    if isinstance(term, int):
        yield term
        return
    for interval in all_bounds(term, ranges).values():
        yield from interval
    for node in terms.subterms(term):
        if isinstance(node, Expr):
            yield from (arg for arg in terms.children(node) if isinstance(arg, int))
            yield from entries(node) if node.op == "table" else ()


def _apply(node: Expr, of: Callable[[object], Array]) -> Array:
    """One node on arrays; undefined operations (a divisor of 0, a negative shift) give some value: index.range refuses them."""
    import numpy as np

    op = node.op
    if op in {"table", "true_in"}:
        values = entries(node)
        index = of(node.args[0]).astype(np.int64)
        return np.asarray(values)[np.clip(index, 0, len(values) - 1)]
    args = [of(arg) for arg in node.args]
    if op == "+":
        total = args[0]
        for arg in args[1:]:
            total = total + arg
        return total
    if op in {"and", "or"}:
        join = np.logical_and if op == "and" else np.logical_or
        result = args[0].astype(bool)
        for arg in args[1:]:
            result = join(result, arg.astype(bool))
        return result
    if op == "not":
        return np.logical_not(args[0].astype(bool))
    if op == "select":
        return np.where(args[0].astype(bool), args[1], args[2])
    a, b = args
    if op in {"//", "%", "tdiv", "tmod"}:
        b = np.where(b == 0, 1, b)
    if op in {"<<", ">>"}:
        b = np.clip(b, 0, 62 if b.dtype != object else terms.MAX_SHIFT)
    return _BINARY[op](a, b)


def _binary_table() -> dict[str, Callable[[Array, Array], Array]]:
    import numpy as np

    def tdiv(a: Array, b: Array) -> Array:
        quotient = abs(a) // abs(b)
        return np.where((a < 0) == (b < 0), quotient, -quotient)

    return {
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "//": lambda a, b: a // b,
        "%": lambda a, b: a % b,
        "tdiv": tdiv,
        "tmod": lambda a, b: a - b * tdiv(a, b),
        "^": lambda a, b: a ^ b,
        "&": lambda a, b: a & b,
        "|": lambda a, b: a | b,
        "<<": lambda a, b: a << b,
        ">>": lambda a, b: a >> b,
        "min": np.minimum,
        "max": np.maximum,
        "==": lambda a, b: np.asarray(a == b),
        "<": lambda a, b: np.asarray(a < b),
        "<=": lambda a, b: np.asarray(a <= b),
    }


class _Lazy(dict[str, "Callable[[Array, Array], Array]"]):
    """Filled on first use, so that importing this module does not import NumPy."""

    def __missing__(self, key: str) -> Callable[[Array, Array], Array]:
        self.update(_binary_table())
        return self[key]


_BINARY = _Lazy()


def make_grid(variables: Sequence[Variable], parts: tuple[Term, ...], used: set[str], limit: int = MAX_POINTS) -> Grid | str:
    """The grid of the variables in `used`, values that single-variable parts exclude left out; or why it cannot be enumerated."""
    chosen = narrowed(tuple(v for v in variables if v.name in used), parts)
    values: list[list[int]] = []
    total = 1
    for variable in chosen:
        size = variable.count
        if size is None:
            return f"the symbol {variable.name} has no bounds: enumeration needs its min and max"
        if size > limit:
            return f"the symbol {variable.name} has {size} values; at most {limit} points are enumerated"
        own = [part for part in parts if terms.variables(part) == frozenset({variable.name})]
        kept = _filtered(variable, list(variable.ordered()), own)
        values.append(kept)
        total *= len(kept)
        if total > limit:
            return f"more than {limit} points ({' x '.join(str(len(v)) for v in values)} values of {', '.join(v.name for v in chosen)})"
    return Grid(chosen, values)


def _filtered(variable: Variable, values: list[int], parts: Sequence[Term]) -> list[int]:
    for part in parts:
        if not values:
            break
        mask = Grid((variable,), (values,)).truth(part)
        values = [value for value, keep in zip(values, mask.tolist(), strict=True) if keep]
    return values


def decide(obligation: Obligation, limit: int = MAX_POINTS) -> Outcome:
    """Looks at every point; the witness is the least failing one in the order of the roles."""
    import numpy as np

    if obligation.goal is True or obligation.premise is False:
        return Outcome(holds=True)
    parts, rest = relevant(obligation.premise, obligation.goal)
    used = set(terms.variables(terms.conj(obligation.goal, *parts)))
    if obligation.lane is not None:
        used |= terms.variables(obligation.lane)
    grid = make_grid(obligation.variables, parts, used, limit)
    if isinstance(grid, str):
        return Outcome(holds=None, reason=grid)
    if not grid.points:
        return Outcome(holds=True)
    failing = np.logical_and(grid.truth(terms.conj(*parts)), np.logical_not(grid.truth(obligation.goal)))
    if not failing.any():
        return Outcome(holds=True, points=grid.points)
    index = least_index(grid, failing, obligation.lane)
    witness = grid.at(index)
    others = least(tuple(v for v in obligation.variables if v.name not in witness), rest)
    if others is None:
        return Outcome(holds=True, points=grid.points)
    if isinstance(others, str):
        return Outcome(holds=None, points=grid.points, reason=others)
    return Outcome(
        holds=False, points=grid.points, witness={v.name: witness.get(v.name, others.get(v.name, 0)) for v in obligation.variables}
    )


def refuted_first(obligation: Obligation, limit: int) -> Outcome | None:
    """The refutation at the first values in counterexample order, None where nothing fails there.

    Of the last variable with many values a few are looked at, of those before it the first that its facts admit: what fails is the least failing point.
    """
    parts, _ = relevant(obligation.premise, obligation.goal)
    used = terms.variables(terms.conj(obligation.goal, *parts))
    chosen = narrowed(tuple(v for v in obligation.variables if v.name in used), parts)
    many = [k for k, v in enumerate(chosen) if v.count is None or v.count > FIRST]
    few: dict[str, Variable] = {}
    for k, variable in enumerate(chosen[: many[-1] + 1] if many else ()):
        own = [part for part in parts if terms.variables(part) == frozenset({variable.name})]
        values = _filtered(variable, list(islice(variable.ordered(), FIRST)), own)
        few[variable.name] = replace(variable, values=tuple(values if k == many[-1] else values[:1]))
    found = decide(replace(obligation, variables=tuple(few.get(v.name, v) for v in obligation.variables)), limit)
    return replace(found, reason=f"enumeration, {found.points} points") if found.holds is False else None


def least_index(grid: Grid, failing: Array, lane: Term | None) -> tuple[int, ...]:
    """The first failing index; where the lane is a function of the atom, it goes before repeat and atom."""
    import numpy as np

    first = np.unravel_index(int(np.argmax(failing)), failing.shape)
    if lane is None:
        return tuple(int(i) for i in first)
    lead = sum(v.role in {"symbol", "base", "elected", "cta", "warp"} for v in grid.variables)
    prefix = tuple(int(i) for i in first[:lead])
    inside = failing[prefix]
    lanes = np.broadcast_to(grid.array(lane), grid.shape)[prefix]
    smallest = np.where(inside, lanes, np.iinfo(np.int64).max)
    tail = np.unravel_index(int(np.argmin(smallest)), smallest.shape)
    return (*prefix, *(int(i) for i in tail))


def _holds(condition: Term, values: Mapping[str, int]) -> bool:
    """Whether a condition surely holds at a point: not where it divides by zero or shifts by a negative number."""
    try:
        return bool(terms.evaluate(condition, values))
    except (ArithmeticError, ValueError):
        return False


def least(variables: Sequence[Variable], parts: tuple[Term, ...]) -> Mapping[str, int] | str | None:
    """The least assignment of the variables that satisfies all parts; None where there is none, or why nobody knows.

    An unbounded symbol is looked for among its first values in counterexample order: what is found there is the least.
    """
    names = {v.name for v in variables}
    pending = tuple(part for part in parts if terms.variables(part) <= names or not terms.variables(part))
    if any(part is False for part in pending):
        return None
    first = {v.name: value for v in narrowed(tuple(variables), pending) for value in islice(v.ordered(), 1)}
    if len(first) == len(variables) and all(_holds(part, first) for part in pending):
        return first
    import numpy as np

    found: dict[str, int] = {}
    remaining = list(variables)
    while remaining:
        chosen, _ = relevant(terms.conj(*pending), terms.var(remaining[0].name))
        used = set(terms.variables(terms.conj(terms.eq(terms.var(remaining[0].name), 0), *chosen)))
        own = narrowed(tuple(v for v in remaining if v.name in used), chosen)
        remaining = [v for v in remaining if v.name not in used]
        sampled = any(v.count is None or v.count > SAMPLES for v in own)
        budget = max(2, int(MAX_POINTS ** (1 / len(own)))) if len(own) > 1 and sampled else SAMPLES
        values = [
            list(islice(v.ordered(), SAMPLES if len(own) == 1 else max(budget, v.count if v.role != "symbol" and v.count else 0)))
            for v in own
        ]
        values = [
            _filtered(v, vals, [p for p in chosen if terms.variables(p) == frozenset({v.name})])
            for v, vals in zip(own, values, strict=True)
        ]
        grid = Grid(own, values)
        if grid.points > 16 * MAX_POINTS:
            return f"more than {16 * MAX_POINTS} points"
        holds = grid.truth(terms.conj(*chosen)) if grid.points else np.zeros(0, dtype=bool)
        if not holds.any():
            cut = any(v.count is None or v.count > len(vals) for v, vals in zip(own, values, strict=True)) and any(
                v.count != 0 for v in own
            )
            unseen = [v.name for v in own if v.count is None or (v.role == "symbol" and v.count > budget)]
            return f"no value of {', '.join(unseen)} was found that satisfies the facts" if cut and unseen else None
        found |= grid.at(tuple(int(i) for i in np.unravel_index(int(np.argmax(holds)), holds.shape)))
    return found
