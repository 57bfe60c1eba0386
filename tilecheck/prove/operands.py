"""Clauses about the operands as a whole: which they are, their storage and type, who participates, their shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from tilecheck.call import Call, Scalar, Value
from tilecheck.layout.trace import RetypeCheck
from tilecheck.layout.view import SPACES, View
from tilecheck.prove import active, structure
from tilecheck.prove.clause import NOTHING, Clause, Finding
from tilecheck.prove.obligation import Obligation, Variable
from tilecheck.prove.parameters import misplaced
from tilecheck.prove.problem import Problem, Side
from tilecheck.prove.scalars import number_fault
from tilecheck.prove.tiers import Tiers
from tilecheck.scalar.compose import missing
from tilecheck.scopes import LANES, names_thread
from tilecheck.spec.contract import KINDS, Contract, Memory, Parameter, Register
from tilecheck.spec.descriptor import FIELD_NAMES, MAJORS
from tilecheck.spec.grammar import arch_has
from tilecheck.spec.tmem import TensorMemory
from tilecheck.symbolic import terms
from tilecheck.symbolic.parse import is_truth, parse
from tilecheck.symbolic.terms import Expr, Term, var

OPAQUE = "tensormap"
"""The space of a tensor map that the caller has encoded."""
GENERIC = ("global", "shared", "local")
"""The spaces that a generic address may name."""


def operand_findings(call: Call, contract: Contract) -> list[Finding]:
    """What is wrong with the number and kind of operands, with the parameters, and with the function."""
    function = function_findings(call, contract)
    if function:
        return function
    if len(call.operands) != len(contract.operands):
        wanted = ", ".join(f"{o.name} ({'registers' if isinstance(o, Register) else o.space})" for o in contract.operands)
        return [
            Finding(
                f"{len(call.operands)} operands given, {contract.mnemonic} takes {len(contract.operands)}: {wanted}",
                f"{len(contract.operands)} operands",
                f"{len(call.operands)} operands",
            )
        ]
    found: list[Finding] = []
    for k, (operand, spec) in enumerate(zip(call.operands, contract.operands, strict=True)):
        if not isinstance(operand, Scalar):
            continue
        if not isinstance(spec, Register) or not spec.number:
            sentence = f"operand {k + 1} ({operand.name}) is a scalar, {contract.mnemonic} takes the view {spec.name} there"
            found.append(Finding(sentence, "a view", "a scalar"))
            continue
        fault = number_fault(operand, spec)
        if fault is not None:
            found.append(Finding(f"operand {k + 1} ({operand.name}) is {fault[1]}, expected {fault[0]}", *fault))
    return found + parameter_findings(call, contract)


def function_findings(call: Call, contract: Contract) -> list[Finding]:
    """A function that is missing, superfluous, or made of what has no PTX."""
    composition = (contract.table or contract).scalar
    if composition is None:
        return [] if call.function is None else [Finding(f"{contract.mnemonic} takes no function", "no function", "a function")]
    if call.function is None:
        return [Finding(f"the function is missing: {contract.mnemonic} applies one to each element", "a function", "none")]
    fault = missing(composition, call.function)
    return [] if fault is None else [Finding(fault, "operations that have PTX", fault)]


def _said(value: object) -> str:
    """A parameter as the document writes it."""
    return f"[{', '.join(map(_said, cast('tuple[object, ...]', value)))}]" if isinstance(value, tuple) else str(value)


def parameter_findings(call: Call, contract: Contract) -> list[Finding]:
    """What is wrong with the parameters."""
    known = {p.name: p for p in contract.parameters}
    given = {name: value for name, value in call.parameters if value is not None}
    found: list[Finding] = []
    for name, value in given.items():
        if name not in known:
            takes = f"takes {', '.join(known)}" if known else "takes no parameter"
            found.append(Finding(f"the parameter {name} is unknown here: {contract.opcode} {takes}", ", ".join(known), name))
        elif not _fits(value, known[name]) or misplaced(call, known[name]):
            wanted = _expected(known[name])
            found.append(Finding(f"the parameter {name} is {_said(value)}, expected {wanted}", wanted, _said(value)))
        elif call.arch is not None and known[name].arch and not arch_has(call.arch, known[name].arch):
            wanted = f"{known[name].arch} for {name}"
            found.append(Finding(f"{name} needs {known[name].arch}, the call is for {call.arch}", wanted, call.arch))
        elif known[name].unless in given:
            other = str(known[name].unless)
            found.append(Finding(f"{name} and {other} exclude each other", f"{name} or {other}", f"{name} and {other}"))
    for parameter in contract.parameters:
        if parameter.required and parameter.name not in given and not elsewhere(call, contract, parameter):
            found.append(
                Finding(f"the parameter {parameter.name} is missing: {contract.opcode} has it as an operand", parameter.name, "none")
            )
        needs = parameter.needs
        if parameter.name in given and needs is not None and given[parameter.name] is not False and needs not in given:
            found.append(Finding(f"{parameter.name} means nothing without {needs}", needs, "none"))
    return found


def elsewhere(call: Call, contract: Contract, parameter: Parameter) -> bool:
    """Whether a parameter describes an operand that is not where the instruction takes it: what is wrong is its storage."""
    pairs = zip(contract.operands, call.operands, strict=False)
    described = ((spec, view) for spec, view in pairs if isinstance(spec, Memory) and spec.described is not None and isinstance(view, View))
    return any(spec.described is not None and spec.described.descriptor == parameter.name and view.tensor.space != spec.space
               for spec, view in described)  # fmt: skip


def _expected(parameter: Parameter) -> str:
    """What a value of a parameter looks like: its choices by name, else its kind."""
    if parameter.kind == "fixed":
        return str(parameter.default)
    if parameter.kind == "words":
        return f"a list of {parameter.choices[0]} unsigned 32-bit integers"
    if parameter.kind == "u64" and parameter.most:
        return f"an unsigned integer of at most {parameter.most}"
    return f"the number {' or '.join(map(str, parameter.choices))}" if parameter.kind == "selector" else KINDS[parameter.kind]


def _fits(value: Value, parameter: Parameter) -> bool:
    """Whether a value is one that a parameter takes, whatever the symbols are."""
    kind = parameter.kind
    if kind == "fixed":
        return type(value) is type(parameter.default) and value == parameter.default
    if kind == "words":
        count = parameter.choices[0]
        whole = isinstance(value, tuple) and len(value) == count and _is_of(value, "coordinates")
        return whole and isinstance(value, tuple) and all(not isinstance(one, int) or 0 <= one < 1 << 32 for one in value)
    if kind == "selector" and value not in parameter.choices:
        return False
    most = parameter.most if kind == "u64" and isinstance(parameter.most, int) else 0
    return _is_of(value, kind) and not (most and isinstance(value, int) and value > most)


def _is_of(value: Value, kind: str) -> bool:
    if kind == "flag":
        return isinstance(value, bool)
    if kind == "barrier":
        return value in SPACES
    if kind == "word":
        return isinstance(value, str)
    if kind == "major":
        return value in MAJORS
    if kind == "descriptor":
        return _is_of(value, "extents") and isinstance(value, tuple) and len(value) == len(FIELD_NAMES)
    if kind == "steps":
        return isinstance(value, tuple) and all(_is_of(one, "coordinates") for one in value)
    if kind in {"extents", "shape", "coordinates"}:
        return isinstance(value, tuple) and all(_is_of(one, "integer" if kind == "coordinates" else "code") for one in value)
    if kind == "immediate":
        return isinstance(value, int) and not isinstance(value, bool) and -(1 << 31) <= value < 1 << 31
    if kind in {"chunk", "code", "selector"}:
        return isinstance(value, int) and not isinstance(value, bool)
    if isinstance(value, str):
        value = parse(value, truth=kind == "predicate")
    if kind == "predicate":
        return isinstance(value, bool | Expr) and is_truth(value)
    if isinstance(value, bool) or not isinstance(value, int | Expr):
        return False
    return not is_truth(value) and (kind != "u64" or isinstance(value, Expr) or 0 <= value < 1 << 64)


def storage_statement(side: Side) -> str:
    """What the storage clause asks."""
    space = "registers" if isinstance(side.spec, Register) else f"{side.spec.space} memory"
    space = "tensor memory" if isinstance(side.spec, TensorMemory) else space
    return f"{side.name} is in {space}, with elements of {side.spec.bits} bits"


def storage_findings(side: Side) -> list[Finding]:
    """A wrong space, a wrong width, or a dtype view refused for its sizes."""
    space = "register" if isinstance(side.spec, Register) else side.spec.space
    found: list[Finding] = []
    mapped = side.tensor.space == OPAQUE and isinstance(side.spec, Memory) and side.spec.opaque
    if side.tensor.space != space and not mapped and not (space == "" and side.tensor.space in GENERIC):
        found.append(Finding(f"{side.name} is in {side.tensor.space} space, the instruction takes {space} there", space, side.tensor.space))
    if side.form.refusal is not None:
        found.append(Finding(f"a dtype view of {side.name} is refused: {side.form.refusal}", "whole elements", side.form.refusal))
    elif side.form.bits != side.spec.bits:
        found.append(
            Finding(
                f"{side.name} has elements of {side.form.bits} bits ({side.form.dtype}), the instruction moves {side.spec.bits}-bit words",
                f"{side.spec.bits} bits",
                f"{side.form.bits} bits",
            )
        )
    return found


def type_statement(side: Side) -> str:
    """What the type clause asks."""
    return f"the elements of {side.name} are of a type the instruction takes"


def type_findings(side: Side) -> list[Finding]:
    """A container the contract does not take."""
    takes = side.spec.dtypes
    if takes is None or side.form.dtype in takes:
        return []
    wanted = ", ".join(takes) or "a type that its parameter names"
    return [Finding(f"{side.name} has elements of type {side.form.dtype}, the instruction takes {wanted}", wanted, side.form.dtype)]


def retypes(problem: Problem, side: Side) -> Iterator[Clause]:
    """Every dtype view keeps bits together: obligations of the storage clause."""
    statement = storage_statement(side) + "; its dtype views split no element"
    name = f"{side.spec.name}.storage"
    yield Clause(name, statement, NOTHING)
    if all(check.trivial for check in side.form.retypes):
        return
    proof = structure.method(side, through=any(check.widens for check in side.form.retypes)) if side.strided is not None else None
    for k, check in enumerate(side.form.retypes if proof else side.trace.retypes):
        if check.trivial:
            continue
        if isinstance(check.divisible, Expr):
            yield Clause(name, statement, Obligation((*problem.symbols,), problem.facts, check.divisible), point="symbols")
        names = tuple(f"@c{k}" for k in range(len(check.shape)))
        narrows = 0 if check.widens else check.old_bits // check.new_bits

        def obligation(index: int = k) -> Obligation:
            return _retype(problem, side, side.trace.retypes[index])

        yield Clause(name, statement, obligation, point="coordinates", coordinates=names, narrows=narrows, proof=proof)


def _retype(problem: Problem, side: Side, check: RetypeCheck) -> Obligation:
    coords = tuple(var(f"@c{k}") for k in range(len(check.domain)))
    variables = tuple(
        Variable(f"@c{k}", "atom", 0, extent - 1 if isinstance(extent, int) else None) for k, extent in enumerate(check.domain)
    )
    within = tuple(terms.lt(c, e) for c, e in zip(coords, check.domain, strict=True) if isinstance(e, Expr))
    premise = terms.conj(problem.active, side.defined, *within)
    first, axes = check.bit_of(coords, 0), check.axes_of(coords, 0)
    goals: list[Term] = [terms.eq(terms.mod(first, check.new_bits), 0)] if check.widens else []
    for j in range(1, check.group):
        goals.append(terms.eq(check.bit_of(coords, j), terms.add(first, j * check.old_bits)))
        other = check.axes_of(coords, j)
        goals.extend(terms.eq(other.get(name, 0), axes.get(name, 0)) for name in {*axes, *other})
    goal = terms.conj(*goals)
    threads = problem.thread_variables() if any(names_thread(term) for term in side.view.terms()) else ()
    return Obligation(
        (*problem.symbols, *threads, *variables), premise if threads else terms.conj(problem.facts, side.defined, *within), goal
    )


def participation(problem: Problem, tiers: Tiers) -> Iterator[Clause]:
    """Who must execute may execute, and agrees on pred and starts."""
    statement = (
        f"all {LANES * problem.contract.warps} lanes of every executing {problem.contract.collective} execute, with one pred and one start"
        if problem.collective
        else ("the active threads are a product of warps and lanes" if problem.call.scope != "thread" else "any thread may execute")
    )
    source = f"{problem.contract.source}; group, repeat and atom axes"
    yield Clause("participation", statement, NOTHING, source=source, point="warp", outcome=active.participation(problem, tiers))
    if problem.collective and active.wide_enough(problem):
        for term in active.uniform_terms(problem):
            yield Clause("participation", statement, NOTHING, source=source, point="warp", outcome=active.uniform(problem, term, tiers))


@dataclass(frozen=True, slots=True)
class Repeats:
    """The repeat axes of a call: those without a name, of the first operand that has them in numbers (None: none has), and each loop by its name."""

    free: tuple[int, ...] | None
    loops: Mapping[str, int]

    def says(self, middle: Sequence[Term], loops: tuple[str, ...]) -> bool:
        """Whether the repeat axes of an operand over some loops are these."""
        free = tuple(middle[: len(middle) - len(loops)])
        looped = zip(loops, middle[len(free) :], strict=True)
        return (self.free is None or free == self.free) and all(self.loops.get(name, have) == have for name, have in looped)

    def in_order(self, names: tuple[str, ...]) -> Iterator[tuple[str, int]]:
        """The loops with their extents, in an order of names."""
        return ((name, self.loops[name]) for name in names)

    @property
    def count(self) -> int:
        """How many instructions there are."""
        return prod((*(self.free or ()), *self.loops.values()))


def repeat_extents(problem: Problem) -> Repeats:
    """The repeat axes, each as the first operand says that has it: of the right rank, with extents in numbers."""
    if not problem.contract.loops:
        return _free_extents(problem)
    free: tuple[int, ...] | None = None
    loops: dict[str, int] = {}
    for side in problem.sides:
        names = problem.contract.loops_of(side.spec)
        middle = side.shape[len(problem.groups) : len(side.shape) - len(problem.atom(side))]
        ranked = len(side.shape) >= len(problem.groups) + len(names) + len(problem.atom(side))
        if not ranked or side.form.refusal is not None or not all(isinstance(extent, int) for extent in middle):
            continue
        numbers = tuple(extent for extent in middle if isinstance(extent, int))
        free = numbers[: len(numbers) - len(names)] if free is None else free
        loops = {**dict(zip(names, numbers[len(numbers) - len(names) :], strict=True)), **loops}
    return Repeats(free, loops)


def _free_extents(problem: Problem) -> Repeats:
    """The same where there are no loops."""
    front = len(problem.groups)
    for side in problem.sides:
        shape = side.shape
        back = len(shape) - len(side.atom)
        middle = tuple(extent for extent in shape[front:back] if isinstance(extent, int))
        if back >= front and len(middle) == back - front and side.form.refusal is None:
            return Repeats(middle, {})
    return Repeats(None, {})


def own_repeats(problem: Problem, side: Side) -> tuple[int, ...]:
    """The repeat axes of an operand of the right shape."""
    shape = side.shape
    return tuple(e for e in shape[len(problem.groups) : len(shape) - len(problem.atom(side))] if isinstance(e, int))


def first_repeats(problem: Problem) -> tuple[int, ...]:
    """The repeat axes of the first operand, none for an instruction without operands."""
    return own_repeats(problem, problem.sides[0]) if problem.sides else ()


def shape_statement(problem: Problem, side: Side) -> str:
    """What the shape clause asks."""
    group = ", ".join(f"{axis.kind} {axis.extent}" for axis in problem.groups) or "none"
    loops = "".join(f" + {name}" for name in problem.contract.loops_of(side.spec))
    atom = ", ".join(f"{axis.name} {axis.extent}" for axis in problem.atom(side))
    return f"the shape of {side.name} is group ({group}) + repeat{loops} + atom ({atom})"


def shape_findings(problem: Problem, side: Side, repeats: Repeats | None) -> list[Finding]:
    """A wrong rank, wrong static extents, or repeats other than those of the operands before."""
    shape, axes, loops = side.shape, side.atom, problem.contract.loops_of(side.spec)
    atom = tuple([axis.extent for axis in axes])
    group = problem.context.extents
    if group is not None and repeats is not None and not loops and shape == (*group, *(repeats.free or ()), *atom):
        return []
    if _as_wanted(problem, shape, atom, loops, repeats):
        return []
    front, back = len(problem.groups), len(atom)
    text = str([e if isinstance(e, int) else str(e) for e in shape])
    group = [axis.extent for axis in problem.groups]
    named = "".join(f" + {name}" for name in loops)
    wanted = f"{[e if isinstance(e, int) else str(e) for e in group]} + repeat{named} + {list(atom)}"

    def wrong(why: str) -> Finding:
        return Finding(f"the shape of {side.name} is {text}, expected group {wanted}: {why}", wanted, text)

    if len(shape) < front + len(loops) + back:
        return [wrong(f"rank {len(shape)} is less than {front + len(loops) + back}")]
    found: list[Finding] = []
    if any(isinstance(extent, Expr) for extent in shape):
        found.append(wrong("extents of a region are static; slice the symbolic axis"))
    found.extend(
        wrong(f"the group axis {axis.kind} has extent {have}, {axis.extent} are active")
        for axis, have in zip(problem.groups, shape, strict=False)
        if isinstance(axis.extent, int) and isinstance(have, int) and have != axis.extent
    )
    tail = shape[len(shape) - back :]
    moves = f"{problem.contract.chunk} makes it" if problem.contract.chunk else "the opcode moves"
    found.extend(
        wrong(f"the atom axis {axis.name} has extent {have}, {moves} {axis.extent}")
        for axis, have in zip(axes, tail, strict=True)
        if isinstance(have, int) and have != axis.extent
    )
    middle = shape[front : len(shape) - back]
    if not found and repeats is not None and not repeats.says(middle, loops):
        found.append(wrong(_other_repeats(problem, middle, loops, repeats)))
    return found


def _as_wanted(problem: Problem, shape: Sequence[Term], atom: tuple[int, ...], loops: tuple[str, ...], repeats: Repeats | None) -> bool:
    """Whether a shape is group, repeat and atom as they are, all in numbers."""
    front, back = len(problem.groups), len(shape) - len(atom)
    if back < front + len(loops) or tuple(shape[back:]) != atom or not all(isinstance(extent, int) for extent in shape):
        return False
    group = all(have == axis.extent or isinstance(axis.extent, Expr) for axis, have in zip(problem.groups, shape, strict=False))
    return group and (repeats is None or repeats.says(shape[front:back], loops))


def _other_repeats(problem: Problem, middle: Sequence[Term], loops: tuple[str, ...], repeats: Repeats) -> str:
    """In which repeat axes an operand differs from those before it."""
    if not loops:
        return f"the repeat axes are {list(middle)}, those of {problem.sides[0].name} are {list(repeats.free or ())}"
    free = len(middle) - len(loops)
    different = [
        f"{have} steps of {name} where the operands before have {repeats.loops[name]}"
        for name, have in zip(loops, middle[free:], strict=True)
        if repeats.loops.get(name, have) != have
    ]
    if repeats.free is not None and tuple(middle[:free]) != repeats.free:
        different.insert(0, f"the repeat axes are {list(middle[:free])}, those of {problem.sides[0].name} are {list(repeats.free)}")
    return "; ".join(different)


def extents(problem: Problem, side: Side) -> Iterator[Clause]:
    """Group extents that depend on symbols equal the written ones for every value."""
    name, statement = f"{side.spec.name}.shape", shape_statement(problem, side)
    yield Clause(name, statement, NOTHING)
    for axis, have in zip(problem.groups, side.shape, strict=False):
        if isinstance(axis.extent, Expr):
            variables = (*problem.symbols, *problem.thread_variables())
            yield Clause(name, statement, Obligation(variables, problem.active, terms.eq(axis.extent, have)), point="symbols")
