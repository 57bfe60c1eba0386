"""The least values of a call's symbols that satisfy every fact and let some thread pass guard and predicate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, islice, product

from tilecheck.call import INDEX_DTYPES, Call, Symbol
from tilecheck.errors import InputError
from tilecheck.layout.tile import base_tile
from tilecheck.layout.view import View
from tilecheck.scopes import CTA, LANES, execution
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import ELECTED, Expr, Term

MOST_VALUES = 1 << 14
"""Values of one symbol that are tried."""
MOST_TRIES = 1 << 20


def least_assignment(call: Call, asked: Sequence[Term] = ()) -> dict[str, int]:
    """The least values, symbols by declaration, each in the order 0, 1, -1, 2, -2, ...; one value for a symbol that varies.

    They satisfy declared ranges, assumptions, guard, implied facts of symbolic shapes, what is `asked` of the symbols beside, and some active thread has
    `pred`. InputError where none is found.
    """
    run = execution(call)
    if not call.symbols:
        return {}
    facts = [run.facts, *_implied(call), *asked]
    found = _search(list(call.symbols), call, terms.conjuncts(terms.conj(*facts)), {})
    for values in islice(found, MOST_TRIES):
        if _executes(call, terms.conj(run.activity, run.pred), values):
            return values
    conditions = ", conditions" if asked else ""
    raise InputError(f"no values of the symbols satisfy all facts{conditions} and pred, as far as they were tried; set them")


def _search(symbols: list[Symbol], call: Call, facts: tuple[Term, ...], chosen: dict[str, int]) -> Iterator[dict[str, int]]:
    """Assignments in order, cut off where a fact over the chosen symbols alone fails."""
    if not symbols:
        yield dict(chosen)
        return
    first, *rest = symbols
    own = [fact for fact in facts if first.name in terms.variables(fact) and terms.variables(fact) <= {*chosen, first.name}]
    for value in islice(_values(first, call), MOST_VALUES):
        chosen[first.name] = value
        if all(_holds(fact, chosen) for fact in own):
            yield from _search(rest, call, facts, chosen)
    chosen.pop(first.name, None)


def _values(symbol: Symbol, call: Call) -> Iterator[int]:
    """The symbol's values in the order 0, 1, -1, 2, -2, ..."""
    least, most = INDEX_DTYPES[call.index_dtype]
    low = least if symbol.min is None else symbol.min
    high = most if symbol.max is None else symbol.max
    step = symbol.multiple_of
    first = -(-low // step) if low > 0 else high // step if high < 0 else 0
    for k in count(abs(first)):
        if k * step > max(abs(low), abs(high)):
            return
        for value in dict.fromkeys((k * step, -k * step)):
            if low <= value <= high:
                yield value


def _holds(fact: Term, values: dict[str, int]) -> bool:
    try:
        return bool(terms.evaluate(fact, values))
    except (ArithmeticError, ValueError):
        return False


def _executes(call: Call, condition: Term, values: dict[str, int]) -> bool:
    """Whether some thread satisfies the condition."""
    left = terms.substitute(condition, {**values, ELECTED: 0})
    if not isinstance(left, Expr):
        return bool(left)
    launch = call.launch
    threads = product(range(launch.ctas), range(launch.threads))
    return any(_holds(left, {CTA: cta, "warpid": t // LANES, "laneid": t % LANES}) for cta, t in threads)


def _implied(call: Call) -> Iterator[Term]:
    """Of tensors with a symbolic extent or stride: extents are at least 0 and the span fits the index type."""
    most = INDEX_DTYPES[call.index_dtype][1]
    for operand in call.operands:
        if not isinstance(operand, View):
            continue
        tile = base_tile(operand.tensor.layout)
        parts: list[Term] = [*operand.tensor.shape, *(part for one in tile.shard for part in (one.extent, one.stride))]
        if any(isinstance(part, Expr) for part in parts):
            yield from (terms.le(0, extent) for extent in operand.tensor.shape if isinstance(extent, Expr))
            spans = (terms.maximum(0, terms.mul(terms.sub(one.extent, 1), one.stride)) for one in tile.shard if one.axis == "m")
            yield terms.le(terms.add(*spans), most)
