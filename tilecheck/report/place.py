"""Where a counterexample lies: coordinates in words, and the declared elements and bytes behind them, as the evaluator sees them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from tilecheck.layout.trace import SliceCheck, trace
from tilecheck.report.hints import short_name, view_of
from tilecheck.spec.contract import Contract, Memory, Operand
from tilecheck.symbolic.terms import ELECTED, Term, evaluate, variables

if TYPE_CHECKING:
    from tilecheck.call import Call
    from tilecheck.evaluate.views import Coordinate, FixedView
    from tilecheck.layout.view import View
    from tilecheck.prove.verdict import ClauseResult, Counterexample

_BYTE = re.compile(r"\bbyte (-?\d+)")
_MULTIPLE = re.compile(r"^a multiple of (\d+) bytes$")
_BASE = re.compile(r"^base\((.*)\)$")


@dataclass(frozen=True, slots=True)
class Cut:
    """A slice that leaves its axis at a counterexample: the check, and what its start and limit are there."""

    check: SliceCheck
    begin: int
    limit: int


def byte_of(text: str) -> int | None:
    """The byte that an observation names."""
    match = _BYTE.search(text)
    return None if match is None else int(match[1])


def multiple_of(text: str) -> int | None:
    """The N of `a multiple of N bytes`."""
    match = _MULTIPLE.match(text)
    return None if match is None else int(match[1])


def values_of(example: Counterexample, call: Call, contract: Contract) -> dict[str, int]:
    """The value of every name at the counterexample: symbols, and the hardware coordinates of its thread."""
    from tilecheck.evaluate.launch import Launch, Thread

    values = {name: value for name, value in example.symbols if not _BASE.match(name)}
    elected = values.pop("elected", 0)
    if example.lane is not None:
        launch = Launch(call.scope, contract.collective != "thread", _form(call.to_json()["launch"]), contract.warps)
        thread = Thread(example.cta or 0, example.warp or 0, example.lane)
        lanes = max(1, launch.lanes(thread.warp))
        values |= launch.coordinates(thread) | {"elected": int(thread.lane == elected % lanes), ELECTED: elected % lanes}
    return values


def numbers(operand: Operand, call: Call, contract: Contract, example: Counterexample) -> FixedView | None:
    """The evaluator's view of an operand at the counterexample, in numbers; None where not everything is known there."""
    from tilecheck.evaluate.expressions import LimitError
    from tilecheck.evaluate.views import View

    if view_of(operand, call, contract) is None:
        return None
    forms = cast("list[Mapping[str, Any]]", call.to_json()["operands"])
    view, values = View(forms[contract.operands.index(operand)]), values_of(example, call, contract)
    if not values.keys() >= set(view.names):
        return None
    try:
        return view.fixed(values)
    except LimitError:
        return None


def cut(view: View, call: Call, contract: Contract, example: Counterexample) -> Cut | None:
    """The first slice of a view that leaves its axis."""
    values = values_of(example, call, contract)
    for check in trace(view).slices:
        if all(name in values for term in (check.begin, check.limit, check.extent) for name in _names(term)):
            begin, extent, limit = (evaluate(term, values) for term in (check.begin, check.extent, check.limit))
            if begin < 0 or begin + extent > limit:
                return Cut(check, begin, limit)
    return None


def facts(clause: ClauseResult, call: Call, contract: Contract | None) -> list[tuple[str, str]]:
    """What there is to say of a failing clause, as (label, text): the thread, the coordinate, the values, both sides."""
    example = clause.counterexample
    if example is None:
        return [("found", clause.reason)] if clause.reason else []
    if clause.reason and example.lane is None and not example.symbols and not example.atom:
        return [("found", clause.reason)]
    name, operand = short_name(clause.id, contract)
    rows = [("thread", _thread(example, call)), ("where", ""), ("with", _symbols(example, operand))]
    expected, actual = example.expected, example.actual
    if contract is not None:
        rows[1] = ("where", _where(name, operand, call, contract, example))
        expected, actual = _sides(name, operand, call, contract, example)
    rows += [("expected", expected), ("actual", actual)]
    if f"expected {example.expected}, found {example.actual}" not in example.sentence:
        rows.append(("so", example.sentence))
    return [(label, text) for label, text in rows if text]


def _thread(example: Counterexample, call: Call) -> str:
    parts = (("cta", example.cta if call.launch.ctas > 1 else None), ("warp", example.warp), ("lane", example.lane))
    return ", ".join(f"{name} {value}" for name, value in parts if value is not None)


def _symbols(example: Counterexample, operand: Operand | None) -> str:
    """The values, an unknown base in words."""
    parts: list[str] = []
    for name, value in example.symbols:
        base = _BASE.match(name)
        need = operand.align_bytes if isinstance(operand, Memory) else None
        parts.append(f"{name} = {value}" if base is None else f"the base of {base[1]} at {value}" + (f" mod {need}" if need else ""))
    return f"{', '.join(parts)} (the least value{'s' if len(parts) > 1 else ''} to break it)" if parts else ""


def _where(name: str, operand: Operand | None, call: Call, contract: Contract, example: Counterexample) -> str:
    view = view_of(operand, call, contract)
    if name == "storage" and view is not None:
        return f"element {_tuple(example.atom)} of {view.tensor.name} seen as {view.dtype}" if example.atom else ""
    from tilecheck.scopes import group_kinds

    kinds = group_kinds(call.scope, call.launch, contract.collective)
    parts = [f"{kind} axis {k}" for kind, k in zip(kinds, example.group, strict=False)]
    if example.repeat:
        parts.append(f"repeat {example.repeat[0] if len(example.repeat) == 1 else _tuple(example.repeat)}")
    parts += [
        f"{axis.name} {k}" for axis, k in zip(contract.atom if operand is None else contract.atom_of(operand), example.atom, strict=False)
    ]
    text = ", ".join(parts)
    fixed = None if operand is None else numbers(operand, call, contract, example)
    coordinate = (*example.group, *example.repeat, *example.atom)
    if view is None or fixed is None or not example.atom or not _inside(coordinate, fixed.shapes[-1]):
        return text
    return f"{text}: element {view.tensor.name}{_bracket(fixed.source(coordinate)[0])}"


def _sides(name: str, operand: Operand | None, call: Call, contract: Contract, example: Counterexample) -> tuple[str, str]:
    """What is expected and what is found, with every number that a reader wants."""
    expected, actual = example.expected, example.actual
    view, at, need = view_of(operand, call, contract), byte_of(example.actual), multiple_of(example.expected)
    if at is not None and need is not None:
        low = at - at % need
        expected = f"{expected}: byte {low} or {low + need}"
    if view is None or operand is None:
        return expected, actual
    if name == "storage":
        return _straddles(operand, view, call, contract, example) or (expected, actual)
    if name == "bounds":
        found = cut(view, call, contract, example)
        return (expected, actual) if found is None else _leaves(view, found)
    if name == "index.range":
        offset = re.match(r"^element offset (-?\d+)$", actual)
        if offset is not None:
            actual += f" (byte {int(offset[1]) * view.tensor.bits // 8})"
        return f"{expected} ({call.index_dtype})", actual
    return expected, actual


def _leaves(view: View, found: Cut) -> tuple[str, str]:
    from tilecheck.layout.steps import Slice

    check = found.check
    plain = all(isinstance(step, Slice) for step in view.steps[: check.step])
    axis = f"axis {check.axis} of {view.tensor.name}" + ("" if plain else f" behind its first {check.step} steps")
    end = found.begin + int(str(check.extent)) if isinstance(check.extent, int) else found.limit
    begin = str(found.begin) if isinstance(check.begin, int) else f"{check.begin} = {found.begin}"
    actual = f"begin {begin}, end {end}: " + ("before the first index, 0" if found.begin < 0 else f"the last index is {found.limit - 1}")
    return f"0 <= begin and end <= {found.limit} on {axis}", actual


def _straddles(operand: Operand, view: View, call: Call, contract: Contract, example: Counterexample) -> tuple[str, str] | None:
    """The old elements that a dtype view tears apart or joins wrongly, with their bytes."""
    fixed = numbers(operand, call, contract, example)
    if fixed is None:
        return None
    for level, step in enumerate(fixed.view.steps):
        if step.op != "view" or step.new_bits == step.old_bits or not _inside(example.atom, fixed.shapes[level + 1]):
            continue
        (*outer, last), _ = fixed.backs[level](example.atom, 0)
        count = step.new_bits // step.old_bits if step.new_bits > step.old_bits else 2
        first = last if step.new_bits > step.old_bits else last - 1
        if first < 0:
            return None
        places = [_place(fixed, (*outer, first + k), level, view.tensor.name) for k in range(count)]
        for (one, at), (two, next_at) in pairwise(places):
            if next_at != at + step.old_bits:
                return f"{two} behind {one}, at {_byte(at + step.old_bits)}", f"{one} at {_byte(at)}, {two} at {_byte(next_at)}"
        start, size = places[0][1], step.new_bits // 8
        if step.new_bits > step.old_bits and start % step.new_bits and start % 8 == 0 and size:
            low = start // 8 - start // 8 % size
            torn = f"{places[0][0]} at {_byte(start)} and {places[-1][0]} at {_byte(places[-1][1])} lie in different {size}-byte words"
            return f"a multiple of {size} bytes: byte {low} or {low + size}", f"{example.actual}: {torn}"
    return None


def _place(fixed: FixedView, coordinate: Coordinate, level: int, name: str) -> tuple[str, int]:
    return f"{name}{_bracket(fixed.source(coordinate, 0, level)[0])}", fixed.address(coordinate, 0, level)


def _byte(bits: int) -> str:
    return f"byte {bits // 8}" + (f" bit {bits % 8}" if bits % 8 else "")


def _inside(coordinate: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return len(coordinate) == len(shape) and all(0 <= c < extent for c, extent in zip(coordinate, shape, strict=True))


def _bracket(coordinate: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, coordinate))}]"


def _tuple(coordinate: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, coordinate))})"


def _names(term: Term) -> frozenset[str]:
    return frozenset() if isinstance(term, int) else variables(term)


def _form(value: object) -> Mapping[str, Any] | None:
    return cast("Mapping[str, Any] | None", value)
