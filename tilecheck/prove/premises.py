"""Premises: the weakest facts that would make a call legal.

The lattice: divisibility and range of each symbol, alignment or residue of each base. A premise suffices (the call with it is proved) and is weakest
(one step weaker, it is not proved): the next divisor down, an end of the range moved out by one step, half the modulus. Premises form an antichain.
Where no single fact suffices, pairs of a base or divisibility fact with another symbol's fact are tried.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import lcm

from tilecheck.call import INDEX_DTYPES, Call, Symbol
from tilecheck.layout.view import Tensor, View
from tilecheck.prove.check import check
from tilecheck.prove.verdict import PROVED, REFUTED, UNPROVED, Verdict
from tilecheck.spec import Contract, Memory, find_contract

FACTS = ("aligned", "bounds", "index.range", "storage", "contiguous", "shape", "participation")
"""The clauses that a fact about symbols or bases can turn."""
MAX_STEPS = 80


@dataclass(frozen=True, slots=True)
class Premise:
    """A fact that would make a call legal: its text, and the call that has it."""

    text: str
    call: Call


def premises(call: Call) -> tuple[Premise, ...]:
    """The weakest premises of a call, each proved to suffice; () for a proved call, and where no fact of the lattice helps."""
    verdict = check(call)
    contract = find_contract(call.opcode)
    if verdict.status not in {REFUTED, UNPROVED} or not isinstance(contract, Contract) or not _can_help(verdict):
        return ()
    single = tuple(_weakest(call, contract))
    if single:
        return single
    return tuple(_pairs(call, contract))


def _can_help(verdict: Verdict) -> bool:
    return all(clause.id.endswith(FACTS) for clause in verdict.clauses if clause.status in {REFUTED, UNPROVED})


def proved(call: Call) -> bool:
    """Whether a call is proved."""
    return check(call).status == PROVED


def _weakest(call: Call, contract: Contract) -> Iterator[Premise]:
    yield from _bases(call, contract)
    for symbol in call.symbols:
        yield from _divisors(call, contract, symbol)
        yield from _ranges(call, symbol)


def _pairs(call: Call, contract: Contract) -> Iterator[Premise]:
    """A divisibility or an alignment that turns some clauses, and the weakest facts about the rest."""
    for text, changed in (*_strong_bases(call, contract), *_strong_divisors(call, contract)):
        for found in _weakest(changed, contract):
            yield Premise(f"{text} and {found.text}", found.call)


# --- bases ---------------------------------------------------------------------------------------------------------------


def _memories(call: Call, contract: Contract) -> Iterator[tuple[int, View, int]]:
    for index, (operand, spec) in enumerate(zip(call.operands, contract.operands, strict=False)):
        if isinstance(operand, View) and isinstance(spec, Memory):
            yield index, operand, spec.align_bytes


def _bases(call: Call, contract: Contract) -> Iterator[Premise]:
    """base % m == r, for the least m (a power of two up to the alignment that the instruction asks) with a residue that suffices."""
    for index, view, need in _memories(call, contract):
        known = view.tensor.align or 1
        if known >= need or view.tensor.base is not None:
            continue
        modulus = 2 * known
        while modulus <= need:
            fitting = [r for r in range(0, modulus, known) if proved(_with_base(call, index, modulus, r))]
            for residue in fitting:
                yield Premise(
                    f"base({view.tensor.tensor or view.tensor.name}) % {modulus} == {residue}", _with_base(call, index, modulus, residue)
                )
            if fitting:
                break
            modulus *= 2


def _with_base(call: Call, index: int, modulus: int, residue: int) -> Call:
    view = call.operands[index]
    assert isinstance(view, View)
    t = view.tensor
    align = modulus if residue == 0 else t.align
    base = None if residue == 0 else (modulus, residue)
    changed = View(Tensor(t.name, t.shape, t.dtype, t.space, t.layout, align, base, t.size_bytes, t.tensor), view.steps)
    return dataclasses.replace(call, operands=(*call.operands[:index], changed, *call.operands[index + 1 :]))


def _strong_bases(call: Call, contract: Contract) -> Iterator[tuple[str, Call]]:
    for index, view, need in _memories(call, contract):
        if (view.tensor.align or 1) < need and view.tensor.base is None:
            yield f"base({view.tensor.tensor or view.tensor.name}) % {need} == 0", _with_base(call, index, need, 0)


# --- divisibility --------------------------------------------------------------------------------------------------------


def _with_symbol(call: Call, symbol: Symbol) -> Call:
    return dataclasses.replace(call, symbols=tuple(symbol if s.name == symbol.name else s for s in call.symbols))


def _multiple(symbol: Symbol, multiple: int) -> Symbol:
    return Symbol(symbol.name, symbol.min, symbol.max, multiple, symbol.varies)


def _units(contract: Contract) -> list[int]:
    """The divisors that can matter: those of the alignments in bytes."""
    most = max((o.align_bytes for o in contract.operands if isinstance(o, Memory)), default=1)
    return [d for d in range(2, most + 1) if most % d == 0]


def _divisors(call: Call, contract: Contract, symbol: Symbol) -> Iterator[Premise]:
    """n % d == 0 for every d none of whose proper divisors suffices."""
    found: list[int] = []
    for divisor in _units(contract):
        multiple = lcm(symbol.multiple_of, divisor)
        if multiple == symbol.multiple_of or any(multiple % one == 0 for one in found):
            continue
        changed = _with_symbol(call, _multiple(symbol, multiple))
        if proved(changed):
            found.append(multiple)
            yield Premise(f"{symbol.name} % {multiple} == 0", changed)


def _strong_divisors(call: Call, contract: Contract) -> Iterator[tuple[str, Call]]:
    units = _units(contract)
    if units:
        for symbol in call.symbols:
            multiple = lcm(symbol.multiple_of, units[-1])
            yield f"{symbol.name} % {multiple} == 0", _with_symbol(call, _multiple(symbol, multiple))


# --- ranges --------------------------------------------------------------------------------------------------------------


def _ranges(call: Call, symbol: Symbol) -> Iterator[Premise]:
    """lo <= n <= hi: the largest range around the first value with which the call is proved."""
    low, high = INDEX_DTYPES[call.index_dtype]
    low, high = (low if symbol.min is None else symbol.min), (high if symbol.max is None else symbol.max)
    seed = next((v for v in _seeds(symbol, low, high) if proved(_between(call, symbol, v, v))), None)
    if seed is None or seed == low == high:
        return
    last = _farthest(lambda v: proved(_between(call, symbol, seed, v)), seed, high)
    first = _farthest(lambda v: proved(_between(call, symbol, v, last)), seed, low)
    parts = [f"{symbol.name} >= {first}"] if first > low else []
    parts += [f"{symbol.name} <= {last}"] if last < high else []
    if parts:
        yield Premise(" and ".join(parts), _between(call, symbol, first, last))


def _seeds(symbol: Symbol, low: int, high: int) -> Iterator[int]:
    """A few values near 0 and near the ends, multiples of the declared step."""
    step = symbol.multiple_of
    for value in (0, step, -step, 2 * step, 4 * step, 8 * step, 16 * step, low, high, low + step, high - step):
        if low <= value <= high and value % step == 0:
            yield value


def _between(call: Call, symbol: Symbol, low: int, high: int) -> Call:
    return _with_symbol(call, Symbol(symbol.name, low, high, symbol.multiple_of, symbol.varies))


def _farthest(holds: Callable[[int], bool], start: int, end: int) -> int:
    """The farthest value from `start` towards `end` up to which `holds` (it gets no easier on the way): doubling, then halving."""
    if holds(end):
        return end
    sign = 1 if end > start else -1
    good, reach = 0, 1
    while reach < abs(end - start) and holds(start + sign * reach):
        good, reach = reach, 2 * reach
    bad = min(reach, abs(end - start))
    for _ in range(MAX_STEPS):
        if bad - good <= 1:
            break
        middle = (good + bad) // 2
        if holds(start + sign * middle):
            good = middle
        else:
            bad = middle
    return start + sign * good
