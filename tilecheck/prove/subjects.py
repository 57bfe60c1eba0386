"""What a premise may speak of: the symbols, expressions and bases of a call; and values of them at which the call may be legal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import lcm

from tilecheck.boxes import box_of
from tilecheck.call import INDEX_DTYPES, Call, Symbol
from tilecheck.layout.trace import SliceCheck
from tilecheck.layout.view import View
from tilecheck.prove.descriptors import asked_bytes
from tilecheck.prove.facts import Fact, Facts, Subject
from tilecheck.prove.problem import collect_terms, combine
from tilecheck.spec import Contract, Memory
from tilecheck.symbolic import terms
from tilecheck.symbolic.bounds import bounds
from tilecheck.symbolic.terms import Expr, Term, var

MAX_EXPRESSIONS = 8
FAR = 1 << 64
"""Ends of expressions are looked for up to here."""


def symbols_of(call: Call) -> list[Subject]:
    """The symbols that operands, parameters, guard, predicate or assumptions name."""
    written = (*operand_terms(call), *collect_terms(value for _, value in call.parameters))
    used = frozenset[str]().union(*map(_names, written))
    used |= _names(call.guard) | _names(call.pred) | frozenset[str]().union(*map(_names, call.assume))
    return [_subject(call, s) for s in call.symbols if s.name in used]


def operand_terms(call: Call) -> Iterator[Term]:
    """The terms of views, and the expressions that stand in the place of one."""
    for operand in call.operands:
        if isinstance(operand, View):
            yield from operand.terms()
        elif isinstance(operand.value, Expr):
            yield operand.value


def _subject(call: Call, symbol: Symbol) -> Subject:
    low, high = INDEX_DTYPES[call.index_dtype]
    low, high = low if symbol.min is None else symbol.min, high if symbol.max is None else symbol.max
    return Subject(symbol.name, var(symbol.name), symbol.multiple_of, 0, low, high, symbol=symbol.name)


def expressions_of(call: Call, written: Sequence[Term]) -> list[Subject]:
    """Those of some terms that join several symbols, and nothing but symbols."""
    ranges = {s.name: (found.low, found.high) for s in call.symbols for found in (_subject(call, s),)}
    joins = [t for t in dict.fromkeys(written) if isinstance(t, Expr) and len(_names(t)) > 1 and _names(t) <= ranges.keys()]
    ends = [bounds(t, ranges) for t in joins]
    return [
        Subject(str(t), t, low=max(low, -FAR), high=min(high, FAR)) for t, (low, high) in zip(joins[:MAX_EXPRESSIONS], ends, strict=False)
    ]


def bases_of(call: Call, contract: Contract) -> list[tuple[Subject, int]]:
    """The bases of which less is known than the instruction asks, one for each allocation, with what it asks in bytes."""
    found: dict[tuple[str, int], tuple[Subject, int]] = {}
    box = box_of(call, contract)
    for place, (view, spec) in enumerate(zip(call.operands, contract.operands, strict=True)):
        if not isinstance(view, View) or not isinstance(spec, Memory):
            continue
        shared = view.tensor.tensor
        own = [o.tensor for o in call.operands if isinstance(o, View) and (o is view or (shared is not None and o.tensor.tensor == shared))]
        known = combine([rule for t in own for rule in ((t.align or 1, 0), t.base) if rule is not None])
        if known is None:
            continue
        key = (shared or "", -1 if shared else place)
        subject, asked = found.get(key, (Subject(f"base({shared or view.tensor.name})", None, *known, operand=place), 1))
        own_bytes = asked_bytes(call, contract, spec) if box is None else box.asked_bytes(spec.name)
        found[key] = subject, lcm(asked, own_bytes or 1)  # 0: the chunk says it, and is none
    return [(subject, asked) for subject, asked in found.values() if subject.step % asked]


def hints(slices: Sequence[SliceCheck]) -> list[Term]:
    """What may be 0 in a legal instance: the room behind slices of symbolic extents, and starts."""
    room = [terms.sub(terms.sub(check.limit, check.begin), check.extent) for check in slices if isinstance(check.limit, Expr)]
    return [t for t in dict.fromkeys((*room, *(check.begin for check in slices))) if isinstance(t, Expr)]


def value_of(subject: Subject, values: Mapping[str, int]) -> int | None:
    """The value of a symbol or expression; None where it has none, or a symbol of it has none."""
    if subject.term is None or not terms.variables(subject.term) <= values.keys():
        return None
    try:
        return terms.evaluate(subject.term, values)
    except (ArithmeticError, ValueError):
        return None


def roots(term: Term, name: str) -> list[int]:
    """Where a term is 0 as a function of one symbol, the others 0, if it is linear there; both neighbours of a fraction."""
    if name not in _names(term):
        return []
    try:
        first, second, third = (terms.evaluate(term, dict.fromkeys(_names(term), 0) | {name: k}) for k in (0, 1, 2))
    except (ArithmeticError, ValueError):
        return []
    slope = second - first
    if slope == 0 or third - second != slope:
        return []
    return list(dict.fromkeys((-first // slope, -(first // slope))))


def diagonally(choices: Sequence[Sequence[Fact]], most: int) -> Iterator[Facts]:
    """Combinations of one of each, those of small places first."""
    count = 0
    for total in range(sum(len(c) - 1 for c in choices) + 1):
        for places in _sums(total, [len(c) - 1 for c in choices]):
            if count == most:
                return
            count += 1
            yield tuple(c[k] for c, k in zip(choices, places, strict=True))


def _sums(total: int, limits: Sequence[int]) -> Iterator[tuple[int, ...]]:
    if len(limits) == 1:
        if total <= limits[0]:
            yield (total,)
        return
    for first in range(min(total, limits[0]) + 1):
        for rest in _sums(total - first, limits[1:]):
            yield (first, *rest)


def _names(term: Term) -> frozenset[str]:
    return terms.variables(term) if isinstance(term, Expr) else frozenset()
