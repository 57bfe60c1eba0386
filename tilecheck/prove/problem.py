"""A call prepared for proving: its contract, who executes, its operands traced, its variables and premises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import gcd
from typing import NamedTuple

from tilecheck.call import INDEX_DTYPES, Call, Launch, Symbol, Value
from tilecheck.fitting import fitted as fitted_to
from tilecheck.fitting import scalars_of, seen
from tilecheck.layout.axes import STORAGE
from tilecheck.layout.span import limits, span
from tilecheck.layout.strided import Strided, strided
from tilecheck.layout.tile import Iter, Layout, TileLayout, base_tile
from tilecheck.layout.trace import Trace, trace
from tilecheck.layout.view import Tensor, View
from tilecheck.once import once
from tilecheck.prove.domain import environment
from tilecheck.prove.enumeration import least
from tilecheck.prove.lanes import Piece, atom_pieces
from tilecheck.prove.obligation import Outcome, Variable
from tilecheck.scopes import (
    CTA,
    LANES,
    THREAD,
    Execution,
    GroupAxis,
    execution_of,
    ground,
    group_axes_of,
    hardware_terms,
    varying_names,
    written,
)
from tilecheck.spec.contract import AtomAxis, Contract, Operand
from tilecheck.symbolic import terms
from tilecheck.symbolic.domain import Env, Known, known, ranged
from tilecheck.symbolic.terms import ELECTED, Expr, Term, var


def collect_terms(values: Iterable[Value]) -> Iterator[Expr]:
    """The terms in parameters, nested tuples included."""
    for value in values:
        if isinstance(value, Expr):
            yield value
        elif isinstance(value, tuple):
            yield from collect_terms(value)


def lcm(a: int, b: int) -> int:
    """The least common multiple."""
    return a * b // gcd(a, b)


class Side:
    """One operand: the contract's, the call's view, and the view as a function over base variables.

    label: the name in documents, with `#2` and so on for a repeated name.
    """

    def __init__(self, spec: Operand, view: View, label: str, context: Context, atom: tuple[AtomAxis, ...]) -> None:
        self.spec = spec
        self.atom = atom
        self.view = view
        self.tensor = view.tensor
        self.name = view.tensor.name
        self.label = label
        self.context = context

    @once
    def trace(self) -> Trace:
        """The view as a function over base variables."""
        if not self.view.symbolic:
            return self.view.trace
        grounded = self.view.map_terms(lambda t: ground(t, self.context.launch) if isinstance(t, Expr) else t)
        return trace(grounded, self.context.ranges)

    @once
    def span_bytes(self) -> Term:
        """The bytes that the declared layout spans, through its swizzle."""
        if isinstance(self.tensor.layout, TileLayout):
            plain = _plain_span(self.tensor.layout)
            if plain is not None:
                return (max(0, plain * self.tensor.bits) + 7) // 8
        return span_bytes((self.trace.tensor if self.declared else self.tensor).layout, self.tensor.bits)

    @once
    def digits(self) -> list[Piece] | None:
        """The digits of the atom coordinate of a register element, on its layout and in the lane that holds it; None where the two do not fit."""
        form, lane = self.strided, getattr(self.spec, "lane", None)
        return None if form is None else atom_pieces(form.axes[len(form.axes) - len(self.atom) :], lane, self.atom)

    @once
    def declared(self) -> bool:
        """Whether the declaration of the tensor names a symbol."""
        return bool(self.view.symbolic) and symbolic(self.tensor)

    @property
    def replicas(self) -> tuple[Iter, ...]:
        """The replica factors of the declared layout."""
        return base_tile(self.tensor.layout).replica

    @property
    def form(self) -> Trace:
        """The view as written: its shape, dtype and steps, where no term matters."""
        return self.view.trace

    @once
    def shape(self) -> tuple[Term, ...]:
        """The shape after the last step."""
        shape = self.view.trace.shape
        return shape if all(isinstance(extent, int) for extent in shape) else self.trace.shape

    @once
    def defined(self) -> Term:
        """Every divisor and shift amount in the view is one; where it does not hold, `index.range` fails and no other clause is owed."""
        return terms.conj(*(terms.has_value(written(term, self.context.launch)) for term in self.view.symbolic))

    @once
    def strided(self) -> Strided | None:
        """The canonical form of the view under facts and activity, where it has one."""
        context = self.context
        return strided(self.view.trace, lambda t: ground(t, context.launch), context.environment, context.known)


MOST_KNOWN = 1024
"""Terms that a context remembers."""


@dataclass(frozen=True)
class Context:
    """What calls of one scope, launch, guard and facts share, whatever their operands.

    symbols: as variables. conditions: guard, assumptions and pred, as written. answers: what was decided of these alone, by question; knowledge: of terms.
    """

    run: Execution
    groups: tuple[GroupAxis, ...]
    symbols: tuple[Variable, ...]
    index: tuple[int, int]
    conditions: tuple[Term, ...]
    answers: dict[str, Outcome] = field(default_factory=dict[str, Outcome], compare=False)
    knowledge: dict[Term, Known] = field(default_factory=dict[Term, Known], compare=False)

    @property
    def launch(self) -> Launch:
        """The launch."""
        return self.run.launch

    @once
    def extents(self) -> tuple[int, ...] | None:
        """The extents of the group axes, where they are numbers."""
        found = tuple(axis.extent for axis in self.groups if isinstance(axis.extent, int))
        return found if len(found) == len(self.groups) else None

    @once
    def ranges(self) -> dict[str, tuple[int, int]]:
        """Intervals, ends included."""
        return {v.name: (v.low, v.high) for v in self.symbols if v.low is not None and v.high is not None} | self.run.ranges

    @once
    def bounded(self) -> tuple[Variable, ...]:
        """The symbols, those without a bound in the range of the index type."""
        low, high = self.index
        return tuple(
            v
            if v.low is not None and v.high is not None
            else Variable(v.name, v.role, low if v.low is None else v.low, high if v.high is None else v.high, v.step, v.values)
            for v in self.symbols
        )

    @once
    def environment(self) -> Env:
        """What facts and activity say of each symbol and base variable on its own."""
        low, high = self.index
        among = who_alone(self.run)
        if among is not None:
            found = {v.name: ranged(low if v.low is None else v.low, high if v.high is None else v.high, v.step) for v in self.symbols}
            return {**among.environment, **found}
        base = [Variable(name, "lane", *ends) for name, ends in self.run.ranges.items()]
        return environment((*self.bounded, *base), (*terms.conjuncts(self.run.facts), *terms.conjuncts(self.run.activity)))

    @property
    def known(self) -> dict[Term, Known]:
        """What is known of terms in this environment, as far as it was asked."""
        if len(self.knowledge) > MOST_KNOWN:
            self.knowledge.clear()
        return self.knowledge

    @once
    def coordinates(self) -> Env:
        """The same, with every hardware coordinate by its own name."""
        if self.run.activity is True:
            return {**hardware_coordinates(self.launch), **self.environment}
        known_here = {name: known(term, self.environment) for name, term in hardware_terms(self.launch).items()}
        return {**self.environment, **known_here}

    @once
    def undivided(self) -> bool:
        """Whether every divisor and shift amount of the conditions is one, whatever the symbols are."""
        return all(condition is True or always_defined(condition, self.launch) for condition in self.conditions)

    @once
    def inhabited(self) -> bool:
        """Whether some symbol values surely satisfy the facts, and some thread executes there."""
        among = who_alone(self.run)
        if among is not None:
            return among.inhabited and all(v.count for v in self.bounded)
        base = [Variable(name, "lane", *ends) for name, ends in self.run.ranges.items()]
        found = least((*self.bounded, *base), (*terms.conjuncts(self.run.facts), *terms.conjuncts(self.run.activity)))
        return found is not None and not isinstance(found, str)


class Among(NamedTuple):
    """Base variables under conditions that name no symbol: what each can be, and whether some thread executes."""

    environment: Env
    inhabited: bool


@lru_cache(maxsize=512)
def who_alone(run: Execution) -> Among | None:
    """What facts and activity say where they are about the thread alone; None where they name a symbol."""
    if run.facts is True and run.activity is True:
        return Among(base_coordinates(run.launch), inhabited=True)
    parts = (*terms.conjuncts(run.facts), *terms.conjuncts(run.activity))
    if not terms.variables(terms.conj(*parts)) <= run.ranges.keys():
        return None
    base = [Variable(name, "lane", *ends) for name, ends in run.ranges.items()]
    return Among(environment(base, parts), isinstance(least(base, parts), Mapping))


@lru_cache(maxsize=512)
def always_defined(condition: Term, launch: Launch) -> bool:
    """Whether every divisor and shift amount of a condition is one, whatever the symbols are."""
    return terms.definedness(written(condition, launch)) is True


@dataclass(frozen=True)
class Problem:
    """Everything the clauses are built from."""

    call: Call
    contract: Contract
    context: Context
    sides: tuple[Side, ...]
    symbols: tuple[Variable, ...]

    @property
    def run(self) -> Execution:
        """Who executes."""
        return self.context.run

    @property
    def groups(self) -> tuple[GroupAxis, ...]:
        """The group axes."""
        return self.context.groups

    @once
    def facts(self) -> Term:
        """What symbol values satisfy: facts of the call, and those that the operands imply."""
        return terms.conj(self.run.facts, *(implied_facts(self.call, side.tensor) for side in self.sides if side.declared))

    @property
    def collective(self) -> bool:
        """Whether whole warps execute one instruction together."""
        return self.contract.collective != "thread"

    def holder(self, lane: Term) -> dict[str, Term]:
        """The base variables of the thread that holds an element, by its number in the executing warp or warpgroup (whose first warp is `warpid`)."""
        lane = terms.normal(lane)
        if self.contract.warps == 1:
            return {"laneid": lane}
        return {"laneid": terms.mod(lane, LANES), "warpid": terms.add(var("warpid"), terms.floordiv(lane, LANES))}

    @once
    def active(self) -> Term:
        """Facts, and the thread executes."""
        return terms.conj(self.facts, self.run.activity)

    @once
    def accessing(self) -> Term:
        """Facts, the thread executes, and its predicate holds."""
        return terms.conj(self.active, self.run.pred)

    def thread_variables(self, *, lane: bool = True) -> tuple[Variable, ...]:
        """The elected lane (where the call uses it) and the thread; without its lane: the warp, or the first warp of the warpgroup, that executes."""
        if lane or self.contract.warps == 1:
            return self.threads if lane else self.threads[:-1]
        return (*self.threads[:-2], replace(self.threads[-2], step=self.contract.warps))

    @once
    def threads(self) -> tuple[Variable, ...]:
        """The elected lane (where the call uses it), CTA, warp and lane."""
        ranges = self.run.ranges
        found = [Variable(ELECTED, "elected", *ranges[ELECTED])] if self.elects else []
        return (*found, *(Variable(name, role, *ranges[name]) for name, role in ((CTA, "cta"), ("warpid", "warp"), ("laneid", "lane"))))

    @once
    def elects(self) -> bool:
        """Whether `elected` occurs anywhere."""
        call = self.call
        parameters = collect_terms(value for _, value in call.parameters)
        numbers = (value.term for value in scalars_of(call, self.contract))
        written_terms = (call.guard, *call.assume, *parameters, *numbers, *(term for side in self.sides for term in side.view.symbolic))
        return any(ELECTED in terms.variables(term) for term in written_terms)

    @property
    def alone(self) -> bool:
        """Whether facts and symbols are those of the context: the operands add none, and no symbol is held."""
        return self.symbols is self.context.symbols and not any(side.declared for side in self.sides)

    def sharing(self, side: Side) -> tuple[Side, ...]:
        """The operands in the allocation of one of them, itself included."""
        name = side.tensor.tensor
        return (side,) if name is None else tuple(other for other in self.sides if other.tensor.tensor == name)

    def atom(self, side: Side) -> tuple[AtomAxis, ...]:
        """The atom axes of an operand."""
        return side.atom

    def group_coordinates(self) -> tuple[Term, ...]:
        """The group coordinates of the executing thread."""
        return tuple(axis.coordinate for axis in self.groups)


@lru_cache(maxsize=512)
def base_coordinates(launch: Launch) -> dict[str, Known]:
    """What a launch alone says of the base variables."""
    return {name: ranged(*ends) for name, ends in Execution(launch, True, True, True).ranges.items()}


@lru_cache(maxsize=512)
def hardware_coordinates(launch: Launch) -> dict[str, Known]:
    """What a launch alone says of every hardware coordinate."""
    return {name: known(term, base_coordinates(launch)) for name, term in hardware_terms(launch).items()}


def _plain_span(tile: TileLayout) -> int | None:
    """The largest value on `m` plus 1, in elements; None for a symbolic layout."""
    last = 0
    for name, value in tile.offset:
        if name == STORAGE:
            if isinstance(value, Expr):
                return None
            last += value
    for one in (*tile.shard, *tile.replica):
        extent, stride = one.extent, one.stride
        if one.axis == STORAGE:
            if isinstance(extent, Expr) or isinstance(stride, Expr):
                return None
            last += max(0, (extent - 1) * stride)
    return last + 1


@lru_cache(maxsize=4096)
def span_bytes(layout: Layout, bits: int) -> Term:
    """The bytes that a layout of elements of `bits` spans."""
    return terms.floordiv(terms.add(terms.maximum(0, terms.mul(terms.normal(span(layout)), bits)), 7), 8)


def prepare(call: Call, contract: Contract) -> Problem:
    """The problem of a call whose operands are those of the contract; numbers have no side."""
    contract = fitted_to(contract, call)
    context = context_of(call.scope, call.launch, call.guard, call.assume, call.symbols, call.pred, contract.collective, call.index_dtype)
    sides: list[Side] = []
    for spec, operand in zip(contract.operands, call.operands, strict=True):
        if not isinstance(operand, View):
            continue
        name = operand.tensor.name
        again = sum([side.name == name for side in sides]) if sides else 0
        sides.append(Side(spec, seen(operand, spec), f"{name}#{again + 1}" if again else name, context, contract.atom_of(spec)))
    return Problem(call, contract, context, tuple(sides), context.symbols)


@lru_cache(maxsize=512)
def context_of(
    scope: str,
    launch: Launch,
    guard: Term,
    assume: tuple[Term, ...],
    symbols: tuple[Symbol, ...],
    pred: Term,
    collective: str,
    index_dtype: str,
) -> Context:
    """What calls with these share."""
    index = INDEX_DTYPES[index_dtype]
    variables = tuple(_symbol_variable(s, index) for s in symbols)
    run = execution_of(launch, guard, assume, varying_names(symbols), pred)
    return Context(run, group_axes_of(scope, run, collective), variables, index, (guard, *assume, pred))


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


def _symbol_variable(declared: Symbol, index: tuple[int, int]) -> Variable:
    """A declared symbol; without bounds it ranges over index_dtype, which is too much to enumerate: such an end stays None."""
    low = index[0] if declared.min is None and index[0] == 0 else declared.min
    return Variable(declared.name, "symbol", low, declared.max, declared.multiple_of)


def symbolic(tensor: Tensor) -> bool:
    """Whether the declaration of a tensor names a symbol: its shape, extents, strides or offsets."""
    tile = base_tile(tensor.layout)
    factors = (entry for one in (*tile.shard, *tile.replica) for entry in (one.extent, one.stride))
    return any(isinstance(entry, Expr) for entry in (*tensor.shape, *factors, *(value for _, value in tile.offset)))


def implied_facts(call: Call, tensor: Tensor) -> Term:
    """What the declaration of a symbolic global tensor says: extents of at least 0, and a span that fits index_dtype (in elements)."""
    parts: list[Term] = []
    tile = base_tile(tensor.layout)
    extents = (*tensor.shape, *(one.extent for one in (*tile.shard, *tile.replica)))
    parts.extend(terms.le(0, terms.normal(extent)) for extent in extents if isinstance(extent, Expr))
    parts.append(terms.lt(terms.normal(limits(tensor.layout)[1]), INDEX_DTYPES[call.index_dtype][1]))
    return terms.conj(*dict.fromkeys(parts))


def atom_variables(contract: Contract, *, of: Operand | None = None, without: tuple[str, ...] = ()) -> tuple[Variable, ...]:
    """The atom axes as variables. of: an operand that may have its own."""
    axes = contract.atom if of is None else contract.atom_of(of)
    return tuple(Variable(axis.name, "atom", 0, axis.extent - 1) for axis in axes if axis.name not in without)


def repeat_variables(extents: tuple[int, ...]) -> tuple[Variable, ...]:
    """The repeat axes as variables `@r0`, `@r1`, ..."""
    return tuple(Variable(f"@r{k}", "repeat", 0, extent - 1) for k, extent in enumerate(extents))


def repeat_terms(count: int) -> tuple[Term, ...]:
    """The repeat coordinates as terms."""
    return tuple(var(f"@r{k}") for k in range(count))


def base_residues(problem: Problem, side: Side, modulus: int) -> tuple[int, ...]:
    """The residues modulo `modulus` of base addresses that satisfy align and base of every operand on the allocation; () if none does."""
    if side.tensor.tensor is None:
        return own_residues(side.tensor.align or 1, side.tensor.base, modulus)
    rules: list[tuple[int, int]] = []
    for other in problem.sides:
        if other.tensor.tensor == side.tensor.tensor:
            rules.append((other.tensor.align or 1, 0))
            if other.tensor.base is not None:
                rules.append(other.tensor.base)
    return _residues(rules, modulus)


@lru_cache(maxsize=1024)
def own_residues(align: int, base: tuple[int, int] | None, modulus: int) -> tuple[int, ...]:
    """The residues of an allocation of one operand."""
    return _residues([(align, 0), *([] if base is None else [base])], modulus)


def _residues(rules: list[tuple[int, int]], modulus: int) -> tuple[int, ...]:
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
