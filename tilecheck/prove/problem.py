"""A call prepared for proving: its contract, who executes, its operands traced, its variables and premises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import gcd

from tilecheck.call import INDEX_DTYPES, Call
from tilecheck.layout.span import limits
from tilecheck.layout.tile import base_tile
from tilecheck.layout.trace import Trace, trace
from tilecheck.layout.view import Tensor, View
from tilecheck.prove.obligation import Variable
from tilecheck.scopes import CTA, THREAD, Execution, GroupAxis, execution, ground, group_axes, written
from tilecheck.spec.contract import Contract, Operand
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import ELECTED, Expr, Term, var


def lcm(a: int, b: int) -> int:
    """The least common multiple."""
    return a * b // gcd(a, b)


@dataclass(frozen=True, slots=True)
class Side:
    """One operand: the contract's, the call's view, and the view as a function over base variables.

    label: the name in documents, with `#2` and so on for a repeated name. defined: every divisor and shift amount in its view is one;
    where it does not hold, `index.range` fails and no other clause is owed.
    """

    spec: Operand
    view: View
    trace: Trace
    name: str
    label: str
    defined: Term

    @property
    def tensor(self) -> Tensor:
        """The tensor behind the view."""
        return self.view.tensor


@dataclass(frozen=True, slots=True)
class Problem:
    """Everything the clauses are built from."""

    call: Call
    contract: Contract
    run: Execution
    groups: tuple[GroupAxis, ...]
    sides: tuple[Side, ...]
    symbols: tuple[Variable, ...]
    facts: Term

    @property
    def collective(self) -> bool:
        """Whether a whole warp executes one instruction."""
        return self.contract.collective == "warp"

    @property
    def active(self) -> Term:
        """Facts, and the thread executes."""
        return terms.conj(self.facts, self.run.activity)

    @property
    def accessing(self) -> Term:
        """Facts, the thread executes, and its predicate holds."""
        return terms.conj(self.active, self.run.pred)

    def thread_variables(self, *, lane: bool = True) -> tuple[Variable, ...]:
        """The elected lane (where the call uses it) and the thread."""
        ranges = self.run.ranges
        found: list[Variable] = []
        if self.elects:
            found.append(Variable(ELECTED, "elected", *ranges[ELECTED]))
        found.append(Variable(CTA, "cta", *ranges[CTA]))
        found.append(Variable("warpid", "warp", *ranges["warpid"]))
        if lane:
            found.append(Variable("laneid", "lane", *ranges["laneid"]))
        return tuple(found)

    @property
    def elects(self) -> bool:
        """Whether `elected` occurs anywhere."""
        call = self.call
        written_terms = (call.guard, *call.assume, call.pred, *(term for side in self.sides for term in side.view.terms()))
        return any(ELECTED in terms.variables(term) for term in written_terms)

    def group_coordinates(self) -> tuple[Term, ...]:
        """The group coordinates of the executing thread."""
        return tuple(axis.coordinate for axis in self.groups)


def prepare(call: Call, contract: Contract) -> Problem:
    """The problem of a call whose operands are views, as many as the contract has."""
    run = execution(call)
    symbols = tuple(_symbol_variable(call, s.name, s.min, s.max, s.multiple_of) for s in call.symbols)
    ranges = {v.name: (v.low, v.high) for v in symbols if v.low is not None and v.high is not None} | run.ranges
    sides: list[Side] = []
    for spec, operand in zip(contract.operands, call.operands, strict=True):
        assert isinstance(operand, View)
        grounded = operand.map_terms(lambda t: ground(t, call.launch) if isinstance(t, Expr) else t)
        name = operand.tensor.name
        again = sum(side.name == name for side in sides)
        own = dict.fromkeys(term for term in operand.terms() if isinstance(term, Expr))
        defined = terms.conj(*(terms.has_value(written(term, call.launch)) for term in own))
        sides.append(Side(spec, operand, trace(grounded, ranges), name, f"{name}#{again + 1}" if again else name, defined))
    facts = terms.conj(run.facts, *(implied_facts(call, side.tensor) for side in sides))
    groups = group_axes(call, contract.collective)
    return Problem(call, contract, run, groups, tuple(sides), symbols, facts)


def fixed(problem: Problem, values: Mapping[str, int]) -> Problem:
    """The problem with symbols held at values; `name@1`, `name@2` and so on give a varying symbol further ones."""
    held: list[Variable] = []
    for v in problem.symbols:
        given = {value for name, value in values.items() if name.partition("@")[0] == v.name}
        ordered = tuple(sorted(given, key=lambda value: (abs(value), value < 0)))
        held.append(Variable(v.name, v.role, None, None, values=ordered) if v.name in values else v)
    return replace(problem, symbols=tuple(held))


def copied(problem: Problem, term: Term, suffix: str, levels: frozenset[str]) -> Term:
    """The term at another thread: its base variables, and the symbols that vary at `levels`, get names of their own."""
    names = {*THREAD, *(s.name for s in problem.call.symbols if s.varies in levels)}
    return terms.substitute(term, {name: var(f"{name}{suffix}") for name in names})


def copied_variables(problem: Problem, suffix: str, levels: frozenset[str]) -> tuple[Variable, ...]:
    """The variables that `copied` names."""
    names = {s.name for s in problem.call.symbols if s.varies in levels}
    threads = [replace(v, name=f"{v.name}{suffix}", role="atom") for v in problem.thread_variables() if v.name in THREAD]
    return (*(replace(v, name=f"{v.name}{suffix}", role="atom") for v in problem.symbols if v.name in names), *threads)


INSTANCE = {"cta": (CTA,), "warp": (CTA, "warpid"), "thread": (CTA, "warpid", "laneid")}
"""The thread coordinates that fix the value of a symbol that varies at each level."""


def tied(problem: Problem, suffixes: tuple[str, ...], levels: frozenset[str]) -> Term:
    """Copies of a varying symbol are equal wherever two of the threads ("" is the original) are in one instance of its level."""
    parts: list[Term] = []
    for symbol in problem.call.symbols:
        if symbol.varies not in levels:
            continue
        for k, first in enumerate(suffixes):
            for second in suffixes[k + 1 :]:
                apart = (terms.ne(var(f"{c}{first}"), var(f"{c}{second}")) for c in INSTANCE[symbol.varies])
                parts.append(terms.disj(terms.eq(var(f"{symbol.name}{first}"), var(f"{symbol.name}{second}")), *apart))
    return terms.conj(*parts)


def _symbol_variable(call: Call, name: str, low: int | None, high: int | None, step: int) -> Variable:
    """A declared symbol; without bounds it ranges over index_dtype, which is too much to enumerate: such an end stays None."""
    first, _ = INDEX_DTYPES[call.index_dtype]
    return Variable(name, "symbol", first if low is None and first == 0 else low, high, step)


def symbolic(tensor: Tensor) -> bool:
    """Whether the declaration of a tensor names a symbol: its shape, extents, strides or offsets."""
    tile = base_tile(tensor.layout)
    factors = (entry for one in (*tile.shard, *tile.replica) for entry in (one.extent, one.stride))
    return any(isinstance(entry, Expr) for entry in (*tensor.shape, *factors, *(value for _, value in tile.offset)))


def implied_facts(call: Call, tensor: Tensor) -> Term:
    """What the declaration of a symbolic global tensor says: extents of at least 0, and a span that fits index_dtype (in elements)."""
    parts: list[Term] = []
    if not symbolic(tensor):
        return True
    tile = base_tile(tensor.layout)
    extents = (*tensor.shape, *(one.extent for one in (*tile.shard, *tile.replica)))
    parts.extend(terms.le(0, terms.normal(extent)) for extent in extents if isinstance(extent, Expr))
    parts.append(terms.lt(terms.normal(limits(tensor.layout)[1]), INDEX_DTYPES[call.index_dtype][1]))
    return terms.conj(*dict.fromkeys(parts))


def atom_variables(contract: Contract, *, without: tuple[str, ...] = ()) -> tuple[Variable, ...]:
    """The atom axes as variables."""
    return tuple(Variable(axis.name, "atom", 0, axis.extent - 1) for axis in contract.atom if axis.name not in without)


def repeat_variables(extents: tuple[int, ...]) -> tuple[Variable, ...]:
    """The repeat axes as variables `@r0`, `@r1`, ..."""
    return tuple(Variable(f"@r{k}", "repeat", 0, extent - 1) for k, extent in enumerate(extents))


def repeat_terms(count: int) -> tuple[Term, ...]:
    """The repeat coordinates as terms."""
    return tuple(var(f"@r{k}") for k in range(count))


def base_residues(problem: Problem, side: Side, modulus: int) -> tuple[int, ...]:
    """The residues modulo `modulus` of base addresses that satisfy align and base of every operand on the allocation; () if none does."""
    rules: list[tuple[int, int]] = []
    for other in problem.sides:
        same = other is side or (side.tensor.tensor is not None and other.tensor.tensor == side.tensor.tensor)
        if same:
            rules.append((other.tensor.align or 1, 0))
            if other.tensor.base is not None:
                rules.append(other.tensor.base)
    combined = combine(rules)
    if combined is None:
        return ()
    step, start = combined
    shared = gcd(step, modulus)
    return tuple(range(start % shared, modulus, shared))


def combine(rules: list[tuple[int, int]]) -> tuple[int, int] | None:
    """(modulus, residue) equivalent to all congruences (Chinese remainders), None where they contradict each other."""
    modulus, residue = 1, 0
    for other, wanted in rules:
        shared = gcd(modulus, other)
        if (wanted - residue) % shared:
            return None
        rest = other // shared
        factor = 0 if rest == 1 else (wanted - residue) // shared * pow(modulus // shared, -1, rest) % rest
        residue = (residue + modulus * factor) % lcm(modulus, other)
        modulus = lcm(modulus, other)
    return modulus, residue
