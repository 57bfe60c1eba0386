"""Which registers and which addresses each instruction of a call names: terms over the executing thread and the symbols."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod

from tilecheck.call import INDEX_DTYPES, Call, Scalar
from tilecheck.emit.arithmetic import exact_quotient, simplified
from tilecheck.emit.errors import EmissionError
from tilecheck.emit.numbers import encoded
from tilecheck.fitting import fitted, seen
from tilecheck.layout.view import Trace, View, trace
from tilecheck.scalar.compose import missing
from tilecheck.scopes import LANES, Execution, execution, ground, group_terms
from tilecheck.spec import BadSpelling, Contract, Memory, Operand, Register, TensorMemory, find_contract
from tilecheck.spec.tmem import CELL_BITS, LANE_SHIFT
from tilecheck.symbolic import terms
from tilecheck.symbolic.bounds import Interval
from tilecheck.symbolic.terms import Expr, Term, var

MAX_POINTS = 1 << 20
"""Threads x symbol values at which a register slot is compared before it counts as varying."""

MOST_INSTRUCTIONS = 1 << 16


@dataclass(frozen=True, slots=True)
class Bound:
    """One operand of a call: the contract's, the caller's view, and the view as a function."""

    spec: Operand
    view: View
    trace: Trace
    label: str
    """The operand's name in the document; a repeated name gets `#2`, `#3`, ..."""
    tensor: str
    """The name of its allocation: `tensor`, else the label."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One instruction: for each register operand its slots in operand order, for each memory operand the byte offset of the lane's address.

    In tensor memory it is what the address of the first element adds to that of lane 0 and column 0 (lane << 16 | column). instead: for an operand in whose place another one stands in this step, the name of that one, whose slots are given.
    """

    repeat: tuple[int, ...]
    slots: Mapping[str, tuple[int, ...]]
    bytes: Mapping[str, Term]
    instead: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Number:
    """A number in the place of `count` registers of `bits` bits, each of which holds `pattern`."""

    count: int
    bits: int
    pattern: int


@dataclass(frozen=True, slots=True)
class Written:
    """As `Number`, of an expression whose value each register holds as a number of a PTX type of `entry` bits, one beside the other."""

    count: int
    bits: int
    type: str
    entry: int
    term: Term


@dataclass(frozen=True, slots=True)
class Binding:
    """A call bound to its contract.

    repeat: the extents of all repeat axes, the loops of the contract last. ranges: the values of base variables and symbols, as far as they are known.
    numbers: the numbers and expressions that stand in the place of register operands, by the contract's names.
    """

    call: Call
    contract: Contract
    operands: tuple[Bound, ...]
    group: tuple[Term, ...]
    repeat: tuple[int, ...]
    run: Execution
    ranges: Mapping[str, Interval]
    numbers: Mapping[str, Number | Written] = field(default_factory=dict[str, "Number | Written"])

    def issues(self) -> Iterator[Issue]:
        """The instructions, in row-major order of the repeat axes."""
        if prod(self.repeat) > MOST_INSTRUCTIONS:
            raise EmissionError(f"{prod(self.repeat)} repeats are as many instructions, at most {MOST_INSTRUCTIONS} are written")
        specs = [spec for spec in self.contract.operands if isinstance(spec, Register)]
        bound = {operand.spec.name: operand for operand in self.operands}
        known: dict[tuple[str, tuple[int, ...]], tuple[int, ...]] = {}
        for repeat in product(*(range(extent) for extent in self.repeat)):
            instead = {spec.name: str(spec.then) for spec in specs if spec.then is not None and self._later(spec, repeat)}
            slots: dict[str, tuple[int, ...]] = {}
            for spec in specs:
                operand = bound.get(instead.get(spec.name, spec.name))
                if operand is not None and isinstance(operand.spec, Register):
                    own = self._own(operand.spec, repeat)
                    if (operand.label, own) not in known:
                        known[operand.label, own] = self._slots(operand, operand.spec, own)
                    slots[spec.name] = known[operand.label, own]
            offsets = {o.spec.name: self._bytes(o, o.spec, repeat) for o in self.operands if isinstance(o.spec, Memory)}
            offsets |= {o.spec.name: self._cell(o, o.spec, repeat) for o in self.operands if isinstance(o.spec, TensorMemory)}
            yield Issue(repeat, slots, offsets, instead)

    def _own(self, spec: Operand, repeat: tuple[int, ...]) -> tuple[int, ...]:
        """The repeat coordinates of an operand in one instruction."""
        loops, over = self.contract.loops, self.contract.loops_of(spec)
        free = len(repeat) - len(loops)
        return (*repeat[:free], *(step for name, step in zip(loops, repeat[free:], strict=True) if name in over))

    def later(self, repeat: tuple[int, ...]) -> bool:
        """Whether an instruction is another step than the first of the loops that the destination is not over."""
        return any(self._later(spec, repeat) for spec in self.contract.operands if spec.write)

    def _later(self, spec: Operand, repeat: tuple[int, ...]) -> bool:
        """Whether an instruction is another step than the first of the loops that an operand is not over."""
        loops, over = self.contract.loops, self.contract.loops_of(spec)
        return any(step for name, step in zip(loops, repeat[len(repeat) - len(loops) :], strict=True) if name not in over)

    def ground(self, term: Term) -> Term:
        """The term over base variables and symbols."""
        return ground(term, self.call.launch)

    def _bit(self, operand: Bound, repeat: tuple[int, ...], atom: tuple[Term, ...]) -> Term:
        return self.ground(operand.trace.locate((*self.group, *repeat, *atom)).bit)

    def _slots(self, operand: Bound, spec: Register, repeat: tuple[int, ...]) -> tuple[int, ...]:
        """The slot behind each register of the instruction, in operand order; the same for every lane that holds a part of it."""
        found: dict[int, int] = {}
        axes = self.contract.atom_of(spec)
        for atom in product(*(range(axis.extent) for axis in axes)):
            names = {axis.name: value for axis, value in zip(axes, atom, strict=True)}
            position = terms.evaluate(spec.register, names)
            lane = None if spec.lane is None else terms.evaluate(spec.lane, names)
            bit = self._constant(
                self._bit(operand, repeat, atom), lane, f"operand {operand.label}: the slot of register {position} of repeat {list(repeat)}"
            )
            slot, rest = divmod(bit, spec.bits)
            if rest or slot < 0:
                raise EmissionError(
                    f"operand {operand.label}: register {position} of repeat {list(repeat)} starts at bit {bit}, no whole {spec.bits}-bit slot"
                )
            if found.setdefault(position, slot) != slot:
                raise EmissionError(
                    f"operand {operand.label}: register {position} of repeat {list(repeat)} is slot {found[position]} in one lane and slot {slot} in another"
                    f" (atom coordinate {list(atom)}): a register operand must be the same slot in every lane"
                )
        return tuple(found[position] for position in sorted(found))

    def _constant(self, bit: Term, lane: int | None, what: str) -> int:
        """The one value of a bit offset in the lane (None: in all); EmissionError says what it depends on."""
        bit = simplified(bit, self.ranges)
        if isinstance(bit, int):
            return bit
        own = sorted(terms.variables(bit))
        values = self._values(bit if lane is None else terms.substitute(bit, self._holder(lane)))
        if values is not None and len(values) == 1:
            return next(iter(values))
        on = ", ".join(f"the coordinate {name}" if name in self.run.ranges else f"the symbol {name}" for name in own)
        raise EmissionError(
            f"{what} depends on {on}: registers have no run-time index, so a slot must be a compile-time constant, the same in every thread"
        )

    def _holder(self, lane: int) -> dict[str, Term]:
        """The base variables of the thread of that number among those that execute together."""
        warps = self.contract.warps
        if warps == 1:
            return {"laneid": lane}
        first = terms.mul(warps, terms.floordiv(var("warpid"), warps))
        return {"laneid": lane % LANES, "warpid": terms.add(first, lane // LANES)}

    def _values(self, bit: Term) -> set[int] | None:
        """Every value over the active threads and the symbol ranges, or None where they are too many."""
        if isinstance(bit, int):
            return {bit}
        multiples = [terms.eq(terms.mod(var(s.name), s.multiple_of), 0) for s in self.call.symbols if s.multiple_of > 1]
        facts = terms.conj(self.run.facts, self.run.activity, *multiples)
        names = sorted(terms.variables(bit) | terms.variables(facts))
        ranges = [self.ranges.get(name) for name in names]
        if any(one is None for one in ranges) or prod(high - low + 1 for low, high in (r for r in ranges if r)) > MAX_POINTS:
            return None
        found: set[int] = set()
        for point in product(*(range(low, high + 1) for low, high in (r for r in ranges if r))):
            values = dict(zip(names, point, strict=True))
            if terms.evaluate(facts, values):
                found.add(terms.evaluate(bit, values))
                if len(found) > 1:
                    break
        return found

    def _bytes(self, operand: Bound, spec: Memory, repeat: tuple[int, ...]) -> Term:
        """The byte offset from the tensor's base that the executing lane gives as its address: the first element of the row it provides."""
        if self.contract.box is not None:
            return 0  # see emit/maps.py
        if spec.described is not None:  # the first element of the matrix
            atom = (0,) * len(self.contract.atom_of(spec))
            return exact_quotient(simplified(self._bit(operand, self._own(spec, repeat), atom), self.ranges), 8)
        rows = self._rows(spec)
        atom = tuple(rows[axis.name] if axis.name not in spec.row else 0 for axis in self.contract.atom)
        bit = simplified(self._bit(operand, repeat, atom), self.ranges)
        return exact_quotient(bit, 8)

    def _cell(self, operand: Bound, spec: TensorMemory, repeat: tuple[int, ...]) -> Term:
        """The address of the first element of the instruction, from that of lane 0 and column 0 on."""
        atom = (0,) * len(self.contract.atom_of(spec))
        found = operand.trace.locate((*self.group, *self._own(spec, repeat), *atom))
        bit = simplified(self.ground(found.bit), self.ranges)
        column = terms.floordiv(bit, CELL_BITS) if spec.first_bits < CELL_BITS else exact_quotient(bit, CELL_BITS)
        return simplified(terms.add(terms.mul(1 << LANE_SHIFT, self.ground(found.axes.get("TLane", 0))), column), self.ranges)

    def byte_of_cell(self, name: str, repeat: tuple[int, ...]) -> Term:
        """The byte of its cell in which the first element of an operand lies."""
        operand = next(o for o in self.operands if o.spec.name == name)
        atom = (0,) * len(self.contract.atom_of(operand.spec))
        bit = self._bit(operand, self._own(operand.spec, repeat), atom)
        return simplified(terms.floordiv(terms.mod(bit, CELL_BITS), 8), self.ranges)

    def _rows(self, spec: Memory) -> dict[str, Term]:
        """The row whose address the executing lane provides, as one term for each row-numbering axis."""
        axes = [axis for axis in self.contract.atom if axis.name not in spec.row]
        if spec.provider is None:
            if any(axis.extent > 1 for axis in axes):
                raise EmissionError(f"operand {spec.name} has several rows and no provider of their addresses")
            return {axis.name: 0 for axis in axes}
        rows: dict[int, tuple[int, ...]] = {}
        for row in product(*(range(axis.extent) for axis in axes)):
            rows[terms.evaluate(spec.provider, dict(zip((axis.name for axis in axes), row, strict=True)))] = row
        count = len(rows)
        if sorted(rows) != list(range(count)):
            raise EmissionError(f"the rows of operand {spec.name} are provided by lanes {sorted(rows)}, expected 0 to {count - 1}")
        return {axis.name: looked_up(var("laneid"), tuple(rows[k][place] for k in range(count))) for place, axis in enumerate(axes)}


def looked_up(index: Term, values: tuple[int, ...]) -> Term:
    """values[index % len(values)], as (index // a) % b where the values are such digits, else as a table."""
    count, b = len(values), max(values) + 1
    for a in range(1, count + 1):
        if count % (a * b) == 0 and all(value == (k // a) % b for k, value in enumerate(values)):
            return terms.mod(terms.floordiv(index, a), b)
    return terms.table(terms.mod(index, count), values)


def bind(call: Call, contract: Contract | None = None) -> Binding:
    """The call bound to its contract (or to another one of the same shape); EmissionError where the pieces do not fit."""
    if contract is None:
        found = find_contract(call.opcode)
        if found is None or isinstance(found, BadSpelling):
            why = "no contract knows the mnemonic" if found is None else f"{found.qualifier}: {found.why}"
            raise EmissionError(f"{call.opcode} cannot be emitted: {why}")
        contract = found
    composition, function = contract.scalar, call.function
    fault = None if composition is None or function is None else missing(composition, function)
    if fault is not None:
        raise EmissionError(f"{call.opcode} cannot be emitted: {fault}")
    contract = fitted(contract, call)
    if len(call.operands) != len(contract.operands):
        raise EmissionError(f"{call.opcode} takes {len(contract.operands)} operands, found {len(call.operands)}")
    run = execution(call)
    ranges: dict[str, Interval] = dict(run.ranges)
    for one in call.symbols:
        low, high = INDEX_DTYPES[call.index_dtype]
        ranges[one.name] = (low if one.min is None else one.min, high if one.max is None else one.max)
    known = {name: ends for name, ends in ranges.items() if not name.startswith("@")}
    operands: list[Bound] = []
    numbers: dict[str, Number | Written] = {}
    for spec, view in zip(contract.operands, call.operands, strict=True):
        if isinstance(view, Scalar):
            numbers[spec.name] = _number(contract, spec, view)
            continue
        same = sum(1 for other in operands if other.view.tensor.name == view.tensor.name)
        label = view.tensor.name if not same else f"{view.tensor.name}#{same + 1}"
        taken = seen(view, spec)
        operands.append(Bound(spec, taken, trace(taken, known), label, view.tensor.tensor or label))
    for one in operands:
        other = next((o for o in operands if o.view.tensor.tensor == one.label), None)
        if one.view.tensor.tensor is None and other is not None:
            raise EmissionError(
                f"operand {one.label} has the name of the allocation of {other.label}, which it does not share: rename one, or name the `tensor`"
            )
    group = group_terms(call, contract.collective)
    shaped = [o for o in operands if contract.box is None or o.spec.name != contract.box.tensor]  # a tensor has no repeat axes
    return Binding(call, contract, tuple(operands), group, _repeat(shaped, len(group), contract), run, ranges, numbers)


def _number(contract: Contract, spec: Operand, scalar: Scalar) -> Number | Written:
    """A number as the bits of the registers in whose place it stands; a register of several entries holds it in each."""
    if not isinstance(spec, Register) or not spec.number:
        raise EmissionError(f"operand {scalar.name} is a scalar, expected a view")
    axes = contract.atom_of(spec)
    points = (dict(zip((axis.name for axis in axes), atom, strict=True)) for atom in product(*(range(axis.extent) for axis in axes)))
    count = len({terms.evaluate(spec.register, point) for point in points})
    value = scalar.value
    bits, pattern = encoded(spec.number, 0 if isinstance(value, Expr) else value)
    if isinstance(value, Expr):
        return Written(count, spec.bits, spec.number, bits, value)
    return Number(count, spec.bits, sum(pattern << at for at in range(0, spec.bits, bits)))


def _repeat(operands: list[Bound], groups: int, contract: Contract) -> tuple[int, ...]:
    """The repeat extents of the call: those without a name, which all operands share, then every loop."""
    free: tuple[int, ...] | None = None
    loops: dict[str, int] = {}
    for operand in operands:
        shape, atoms, names = operand.trace.shape, len(contract.atom_of(operand.spec)), contract.loops_of(operand.spec)
        if len(shape) < groups + len(names) + atoms or any(isinstance(extent, Expr) for extent in shape):
            raise EmissionError(
                f"operand {operand.label} has the shape {shape}, expected {groups} group axes, repeats and an atom of {atoms}"
            )
        own = tuple(int(extent) for extent in shape[groups : len(shape) - atoms] if not isinstance(extent, Expr))
        first, named = own[: len(own) - len(names)], dict(zip(names, own[len(own) - len(names) :], strict=True))
        if (free is not None and first != free) or any(loops.get(name, extent) != extent for name, extent in named.items()):
            raise EmissionError(f"operand {operand.label} repeats {own}, another operand otherwise")
        free, loops = first, {**loops, **named}
    return (*(free or ()), *(loops.get(name, 1) for name in contract.loops))
