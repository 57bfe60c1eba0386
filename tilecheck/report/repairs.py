"""Facts about the data of a call under which a failing clause holds. Each is proved before it is said; never another opcode.

A candidate is the call with one fact more: a known alignment, a divisor or a bound of a symbol, an assumption, a guard, a padded pitch.
The first that the prover accepts, without a clause that fails anew, is the repair.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from math import lcm
from typing import TYPE_CHECKING

from tilecheck.errors import TilecheckError
from tilecheck.layout.steps import Slice
from tilecheck.layout.tile import Iter, TileLayout
from tilecheck.layout.view import Tensor, View
from tilecheck.report.hints import short_name, symbols_of, view_of
from tilecheck.report.place import cut
from tilecheck.spec.contract import Contract, Memory, Operand
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Expr, Term

if TYPE_CHECKING:
    from tilecheck.call import Call
    from tilecheck.prove.verdict import ClauseResult, Counterexample

RLIMIT = 1_000_000
"""The solver's limit for a candidate: a repair that is hard to prove is not worth waiting for."""
MOST = 40
"""The most candidates that are tried."""

Candidate = tuple[str, "Call"]


def repair(clause: ClauseResult, call: Call, contract: Contract, failing: frozenset[str]) -> str | None:
    """The first candidate with which the clause is proved and nothing fails that did not before; None where there is none.

    For `index.range` a second one, too: a bound and a wider index type are both there to choose from.
    """
    wanted = 2 if clause.id.endswith("index.range") else 1
    tried = islice(_candidates(clause, call, contract), MOST)
    found = list(islice(((text, what) for text, changed in tried if (what := _proves(changed, clause.id, failing))), wanted))
    if not found:
        return None
    return f"{'; or: '.join(text for text, _ in found)}: with that {found[0][1]} is proved."


def _proves(call: Call, clause: str, failing: frozenset[str]) -> str | None:
    """What a candidate proves: the whole call, or the clause with nothing failing anew; None for neither."""
    from tilecheck.prove.check import check

    try:
        verdict = check(call, rlimit=RLIMIT)
    except TilecheckError:
        return None
    if verdict.status == "proved":
        return "the call"
    states = {one.status for one in verdict.clauses if one.id == clause}
    new = {one.id for one in verdict.clauses if one.status != "proved"} - failing
    return clause if verdict.status == "refuted" and states == {"proved"} and not new else None


def _candidates(clause: ClauseResult, call: Call, contract: Contract) -> Iterator[Candidate]:
    name, operand = short_name(clause.id, contract)
    example, view = clause.counterexample, view_of(operand, call, contract)
    if example is None:
        return
    if view is None or operand is None:
        if name == "index.range":
            yield from _capped(call, example, symbols_of(example))
        return
    place = contract.operands.index(operand)
    if name == "aligned" and isinstance(operand, Memory):
        yield from _aligned(call, place, operand.align_bytes, example)
    elif name == "storage":
        for need in _units(operand):
            yield from _starts(call, place, need, example, "")
            yield from _pitches(call, place, need, "")
    elif name == "contiguous":
        yield from _starts(call, place, _units(operand)[-1], example, "")
    elif name == "bounds":
        yield from _bounded(call, view, contract, example)
    elif name == "index.range":
        yield from _capped(call, example, symbols_of(example))
        if call.index_dtype != "int64":
            yield "Compute the index in 64 bits and say index_dtype int64", dataclasses.replace(call, index_dtype="int64")


def _units(operand: Operand) -> list[int]:
    """The bytes that a word, and then a row, wants to start at."""
    word = max(1, operand.bits // 8)
    return sorted({word, operand.align_bytes}) if isinstance(operand, Memory) else [word]


def _aligned(call: Call, place: int, need: int, example: Counterexample) -> Iterator[Candidate]:
    tensor = _view(call, place).tensor
    residue = next((value for name, value in example.symbols if name.startswith("base(")), 0)
    before = ""
    if residue:
        text = f"Say align={need} on {tensor.name} if its allocation has it (its base may be {residue} mod {need}: only align={tensor.align} is known)"
        call = _with_tensor(call, place, lambda one: dataclasses.replace(one, align=need))
        yield text, call
        before = f"Say align={need} on {tensor.name} if its allocation has it, and "
    yield from _starts(call, place, need, example, before)
    yield from _pitches(call, place, need, before)


def _starts(call: Call, place: int, need: int, example: Counterexample, before: str) -> Iterator[Candidate]:
    """Divisors of symbols, of starts that are sums of several, and of plain starts."""
    view = _view(call, place)
    unit = max(1, need * 8 // view.tensor.bits)
    used = frozenset[str]().union(*(_names(term) for term in view.terms()))
    names = [name for name in symbols_of(example) if name in used]
    divisors = [d for d in range(2, unit + 1) if unit % d == 0]
    begins = [begin for step in view.steps if isinstance(step, Slice) for begin in step.begin]
    declare, assume, start = ("declare", "assume", "start") if before else ("Declare", "Assume", "Start")
    for name in names:
        for divisor in divisors:
            multiple = lcm(_step(call, name), divisor)
            yield f"{before}{declare} {name} with multiple_of={multiple}", _with_multiple(call, name, multiple)
    for begin in begins:
        if isinstance(begin, Expr) and len(_names(begin)) > 1 and _names(begin) <= set(names):
            for divisor in divisors:
                fact = terms.eq(terms.mod(begin, divisor), 0)
                yield f"{before}{assume} {fact}", dataclasses.replace(call, assume=(*call.assume, fact))
    if len(names) > 1:
        changed = call
        for name in names:
            changed = _with_multiple(changed, name, lcm(_step(call, name), unit))
        yield f"{before}{declare} {', '.join(names)} with multiple_of={unit}", changed
    for number, step in enumerate(view.steps):
        for axis, begin in enumerate(step.begin if isinstance(step, Slice) else ()):
            for divisor in divisors if isinstance(begin, int) else ():
                if isinstance(begin, int) and begin % divisor:
                    moved = begin - begin % divisor
                    text = (
                        f"{before}{start} the slice of {view.tensor.name} at element {moved} of axis {axis}, for instance, not at {begin}"
                    )
                    yield text, _with_begin(call, place, number, axis, moved)


def _pitches(call: Call, place: int, need: int, before: str) -> Iterator[Candidate]:
    """Strides of nested rows padded to a multiple of `need` bytes, from the k-th smallest on."""
    tensor = _view(call, place).tensor
    unit = need * 8 // tensor.bits
    if unit < 2 or not isinstance(tensor.layout, TileLayout):
        return
    shard = tensor.layout.shard
    rows = sorted(
        (one.stride, one.extent, k)
        for k, one in enumerate(shard)
        if one.effective and one.axis == "m" and isinstance(one.stride, int) and isinstance(one.extent, int)
    )
    if len(rows) != sum(one.effective for one in shard) or any(b < a * extent or a < 1 for (a, extent, _), (b, _, _) in pairwise(rows)):
        return
    for first in range(len(rows)):
        strides = [stride for stride, _, _ in rows]
        for k in range(first, len(rows)):
            least = strides[k] if k == 0 else max(strides[k], strides[k - 1] * rows[k - 1][1])
            strides[k] = -(-least // unit) * unit
        changes = [(old, new) for (old, _, _), new in zip(rows, strides, strict=True) if old != new]
        if not changes:
            continue
        padded = {k: stride for (_, _, k), stride in zip(rows, strides, strict=True)}
        layout = dataclasses.replace(
            tensor.layout, shard=tuple(Iter(one.extent, padded.get(k, one.stride), one.axis) for k, one in enumerate(shard))
        )
        what = ", ".join(
            f"{new} instead of {old} {tensor.dtype} ({_size(new, tensor)} instead of {_size(old, tensor)} bytes)" for old, new in changes
        )
        text = f"{before}{'pad' if before else 'Pad'} the pitch of {tensor.name} to a multiple of {need} bytes, for instance {what}"
        yield text, _with_tensor(call, place, lambda one, padded=layout: dataclasses.replace(one, layout=padded))


def _size(elements: int, tensor: Tensor) -> int:
    return elements * tensor.bits // 8


def _bounded(call: Call, view: View, contract: Contract, example: Counterexample) -> Iterator[Candidate]:
    found = cut(view, call, contract, example)
    if found is None:
        return
    begin, limit, extent = found.check.begin, found.check.limit, found.check.extent
    names = _names(begin) | _names(limit)
    declared = [name for name in symbols_of(example) if name in names]
    yield from _capped(call, example, [name for name in declared if name in _names(begin)])
    if not isinstance(begin, Expr):
        return
    inside = (
        terms.le(begin, limit - extent) if isinstance(limit, int) and isinstance(extent, int) else terms.le(terms.add(begin, extent), limit)
    )
    fact, both = terms.le(0, begin) if found.begin < 0 else inside, terms.conj(terms.le(0, begin), inside)
    for one in (fact, both):
        if names <= set(declared):
            yield f"Assume {one}", dataclasses.replace(call, assume=(*call.assume, one))
        else:
            yield f"Let only threads with {one} execute it (a guard)", dataclasses.replace(call, guard=terms.conj(call.guard, one))


def _capped(call: Call, example: Counterexample, names: list[str]) -> Iterator[Candidate]:
    """A bound of one symbol just before its least failing value."""
    values = dict(example.symbols)
    for one in call.symbols:
        value = values.get(one.name)
        if one.name not in names or value is None:
            continue
        end = {"max": value - one.multiple_of} if value > 0 else {"min": value + one.multiple_of}
        ((which, bound),) = end.items()
        kept = {"min": one.min, "max": one.max, **end}
        symbol = type(one)(one.name, kept["min"], kept["max"], one.multiple_of, one.varies)
        symbols = tuple(symbol if s.name == one.name else s for s in call.symbols)
        yield f"Declare {one.name} with {which}={bound}", dataclasses.replace(call, symbols=symbols)


def _view(call: Call, place: int) -> View:
    view = call.operands[place]
    assert isinstance(view, View)
    return view


def _step(call: Call, name: str) -> int:
    return next((s.multiple_of for s in call.symbols if s.name == name), 1)


def _with_multiple(call: Call, name: str, multiple: int) -> Call:
    symbols = tuple(type(s)(s.name, s.min, s.max, multiple, s.varies) if s.name == name else s for s in call.symbols)
    return dataclasses.replace(call, symbols=symbols)


def _with_begin(call: Call, place: int, number: int, axis: int, begin: int) -> Call:
    view = _view(call, place)
    step = view.steps[number]
    assert isinstance(step, Slice)
    changed = Slice(tuple(begin if k == axis else old for k, old in enumerate(step.begin)), step.extent)
    return _with_view(call, place, View(view.tensor, (*view.steps[:number], changed, *view.steps[number + 1 :])))


def _with_tensor(call: Call, place: int, change: Callable[[Tensor], Tensor]) -> Call:
    """The call with the tensor of an operand changed, in every operand on its allocation."""
    name = _view(call, place).tensor.tensor
    for k, operand in enumerate(call.operands):
        if isinstance(operand, View) and (k == place or (name is not None and operand.tensor.tensor == name)):
            call = _with_view(call, k, View(change(operand.tensor), operand.steps))
    return call


def _with_view(call: Call, place: int, view: View) -> Call:
    return dataclasses.replace(call, operands=tuple(view if k == place else old for k, old in enumerate(call.operands)))


def _names(term: Term) -> frozenset[str]:
    return frozenset() if isinstance(term, int) else terms.variables(term)
