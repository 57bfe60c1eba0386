"""agree: whether a writer and a reader see the same image of one allocation, for every symbol value and thread."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import prod

from tilecheck.call import COORDINATES, INDEX_DTYPES, Call, Launch, Scalar, Symbol, apply
from tilecheck.errors import DisagreementError, InputError
from tilecheck.layout.axes import STORAGE
from tilecheck.layout.tile import swizzled, swizzles
from tilecheck.layout.trace import Location
from tilecheck.layout.view import Tensor, View
from tilecheck.prove import addresses, operands
from tilecheck.prove.check import Checker
from tilecheck.prove.clause import Clause, Finding, coordinates, within
from tilecheck.prove.obligation import Obligation, Outcome
from tilecheck.prove.problem import Problem, Side, prepare, repeat_variables
from tilecheck.prove.tiers import RLIMIT, Tiers
from tilecheck.prove.verdict import ClauseResult, Counterexample, Verdict
from tilecheck.scopes import CTA, names_thread
from tilecheck.spec import Contract, Memory, Move, Operand, Register, data
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import ELECTED, Term

QUESTION = "agree"
"""The opcode of a call that asks this of its two operands; no instruction is called so."""
SOURCE = "design: views of one allocation"
NAMES = ("writer", "reader")
EVALUATED = 200_000
COPIES = 4096
"""The most pairs of a copy that is written and one that is read."""
CHOSEN = "elected"
"""The elected lane in counterexamples, as the evaluator and reports name it."""
PARTS: Mapping[str, tuple[tuple[str, int, int], ...]] = {
    "laneid": (("lane", 1, 0),),
    "warpid": (("warp", 1, 4), ("warpgroup", 4, 0)),
    "wid_in_wg": (("warp", 1, 0),),
    "wgid": (("warpgroup", 1, 0),),
    "tid_in_wg": (("lane", 1, 32), ("warp", 32, 0)),
}
"""What a thread axis says of the thread: (part, divisor, modulus), 0 for no modulus."""


def agree(
    writer: View | Tensor,
    reader: View | Tensor,
    *,
    assume: Sequence[object] = (),
    guard: object = None,
    symbols: Sequence[Symbol] = (),
    launch: Launch | None = None,
    index_dtype: str = "int64",
    audit: bool = False,
    rlimit: int = RLIMIT,
) -> Verdict:
    """Whether the element at each coordinate of `writer` is the very bits (and, in registers, the thread) at that coordinate of `reader`.

    Both are views of one allocation, of one shape. The verdict is `proved` for all symbol values and threads, or refuted by the clause `image` at the
    least coordinate (as `repeat`) where they differ, or by `storage`, `shape`, `bounds` or `replica`. launch: needed where a start names a hardware
    coordinate (InputError). In a document the same is a call with the opcode `agree` and the two views as operands.
    """
    call = apply(
        QUESTION, writer, reader, scope="thread", launch=launch, assume=assume, guard=guard, symbols=symbols, index_dtype=index_dtype
    )
    named = (call.guard, *call.assume, *(t for o in call.operands if isinstance(o, View) for t in o.symbolic))
    if launch is None and any(terms.variables(term) & COORDINATES for term in named):
        raise InputError("a start or guard names a hardware coordinate: agree needs a launch")
    return check_agreement(call, audit=audit, rlimit=rlimit)


def check_agreement(call: Call, *, audit: bool = False, rlimit: int = RLIMIT) -> Verdict:
    """The verdict on a call with the opcode `agree`."""
    tiers = Tiers(INDEX_DTYPES[call.index_dtype], rlimit=rlimit, audit=audit)
    asked = dataclasses.replace(call, scope="thread")
    verdict = _Agreement(asked, _contract(*(_kind(o) for o in call.operands[:2])), tiers).verdict()
    return dataclasses.replace(verdict, arch_floor=None, instructions=None, contract_hash=None)


def question(call: Call) -> Contract | None:
    """What a call with the opcode `agree` asks of its operands, as a contract; None for another call, and where they are not two views."""
    views = [operand for operand in call.operands if isinstance(operand, View)]
    return _contract(*(_kind(o) for o in views)) if call.opcode == QUESTION and len(views) == len(call.operands) == len(NAMES) else None


def _kind(operand: View | Scalar) -> tuple[str, int]:
    return (operand.tensor.space, operand.trace.bits) if isinstance(operand, View) else ("", 8)


@lru_cache(maxsize=256)
def _contract(*kinds: tuple[str, int]) -> Contract:
    """Two operands that ask nothing but to be views."""
    found: list[Operand] = []
    for name, (space, bits) in zip(NAMES, (*kinds, *[("", 8)] * (2 - len(kinds))), strict=True):
        write = name == "writer"
        register = Register(name, bits=bits, register=0, write=write)
        found.append(register if space == "register" else Memory(name, space, bits=bits, row=(), align_bytes=1, write=write))
    return Contract(QUESTION, QUESTION, "sm_75", SOURCE, "thread", (), tuple(found), (), Move("", "", source=()), "")


class _Agreement(Checker):
    """Decides the clauses of the question."""

    def run(self) -> str | None:
        """As `Checker.run`."""
        wrong = operands.operand_findings(self.call, self.contract)
        self.static("operands", "two views, and no parameter", wrong)
        if wrong:
            return None
        problem = prepare(self.call, self.contract)
        empty = self.vacuity(problem)
        if empty is not None:
            return empty
        self.clauses(problem, addresses.divisors(problem))
        writer, reader = problem.sides
        same = _storage_findings(writer, reader)
        self.static("storage", "both are views of one allocation, with elements as wide", same)
        whole = [self.clauses(problem, operands.retypes(problem, side)) and side.form.refusal is None for side in problem.sides]
        shape = _shape_findings(writer, reader)
        self.static("shape", "both have one shape of positive extents", shape)
        if same or shape or not all(whole):
            return None
        extents = tuple(extent for extent in writer.shape if isinstance(extent, int))
        placed = True
        for side in problem.sides:
            self.clauses(problem, addresses.indices_in_range(problem, side, extents))
            placed = self.clauses(problem, addresses.bounds(problem, side, extents)) and placed
        if placed:
            self.image(problem, extents)
        return None

    def image(self, problem: Problem, extents: tuple[int, ...]) -> None:
        """The places of all elements, and of their copies."""
        writer, reader = problem.sides
        statement = f"every element of {writer.label} lies where {reader.label} looks for it"
        a, b = (side.trace.locate(coordinates(problem, extents, side=side)) for side in problem.sides)
        goal = _written(problem, a, b)
        if isinstance(goal, str):
            self.add(ClauseResult("image", "unproved", "", 0.0, statement, SOURCE, reason=goal))
            return
        premise = terms.conj(problem.accessing, *(terms.conj(side.defined, within(side)) for side in problem.sides))
        variables = (*problem.symbols, *problem.thread_variables(), *repeat_variables(extents))
        self.clauses(problem, iter([Clause("image", statement, Obligation(variables, premise, goal), source=SOURCE)]))
        if self.tiers.audit:
            self.compare(extents)

    def counterexample(self, problem: Problem, clause: Clause, outcome: Outcome) -> Counterexample:
        """As `Checker.counterexample`; of the clause `image` the evaluator looks at both views itself."""
        if clause.id != "image":
            return super().counterexample(problem, clause, outcome)
        from tilecheck.evaluate.agreement import Agreement
        from tilecheck.evaluate.launch import Thread

        witness = outcome.witness or {}
        values = {v.name: witness.get(v.name, 0) for v in problem.symbols}
        if problem.elects:
            values[CHOSEN] = witness.get(ELECTED, 0)
        thread = Thread(witness.get(CTA, 0), witness.get("warpid", 0), witness.get("laneid", 0))
        count = sum(name.startswith("@r") for name in witness)
        place = tuple(witness[f"@r{k}"] for k in range(count))
        seen = Agreement(data(self.contract), self.call.to_json()).differs(values, thread, place)
        if seen is None:
            raise DisagreementError(
                f"internal error, please report: the prover refutes {clause.id} at {witness}, the evaluator sees one place there; "
                f"call: {json.dumps(self.call.to_json())}"
            )
        writer, reader = problem.sides
        sentence = f"Element {list(place)}: {writer.label} has it at {seen[0]}, {reader.label} looks at {seen[1]}."
        inside = any(names_thread(term) for side in problem.sides for term in side.view.symbolic)
        cta, warp, lane = thread if inside else (None, None, None)
        symbols = tuple((name, value) for name, value in values.items() if name != CHOSEN or inside)
        return Counterexample(symbols, cta, warp, lane, (), place, (), seen[0], seen[1], sentence)

    def compare(self, extents: tuple[int, ...]) -> None:
        """The evaluator's brute force says the same, where it can enumerate."""
        from tilecheck.evaluate.agreement import Agreement
        from tilecheck.evaluate.domain import TooLargeError

        result = self.results["image"]
        try:
            found = Agreement(data(self.contract), self.call.to_json()).first(extents, EVALUATED)
        except TooLargeError:
            return
        example = result.counterexample
        mine = None if example is None else example.repeat
        if result.status != "unproved" and mine != (None if found is None else found[2]):
            raise DisagreementError(
                f"internal error, please report: the prover says {result.status} at {mine}, the evaluator {found}; "
                f"call: {json.dumps(self.call.to_json())}"
            )


def _storage_findings(writer: Side, reader: Side) -> list[Finding]:
    """What keeps two views from being of one allocation with elements of one width."""
    names = [side.tensor.tensor for side in (writer, reader)]
    own = [
        f"its own (no `tensor` is named) of {side.label}" if name is None else f"{name} of {side.label}"
        for side, name in zip((writer, reader), names, strict=True)
    ]
    pairs = (("space", writer.tensor.space, reader.tensor.space), ("bits of an element", str(writer.form.bits), str(reader.form.bits)))
    found = [Finding(f"{what}: {a} of {writer.label}, {b} of {reader.label}", f"one {what}, {a}", str(b)) for what, a, b in pairs if a != b]
    if None in names or names[0] != names[1]:
        found.insert(0, Finding(f"allocation: {own[0]}, {own[1]}", "one `tensor` named by both", ", ".join(own)))
    return found


def _shape_findings(writer: Side, reader: Side) -> list[Finding]:
    a, b = writer.shape, reader.shape
    shown = tuple(str(list(shape)) for shape in (a, b))
    if a != b or not all(isinstance(extent, int) and extent > 0 for extent in a):
        return [Finding(f"{writer.label} has the shape {shown[0]}, {reader.label} {shown[1]}", shown[0], shown[1])]
    return []


def _written(problem: Problem, a: Location, b: Location) -> Term | str:
    """Every copy of an element that the reader may look at is one that the writer writes, as a term; why that cannot be said."""
    writer, reader = problem.sides
    registers = isinstance(writer.spec, Register)
    if not writer.trace.replicas and not reader.trace.replicas:
        return _same(problem, a, b, registers=registers)
    both = [_shifts(side) for side in problem.sides]
    found = [shifts for shifts in both if not isinstance(shifts, str)]
    if len(found) < len(both):
        return next(shifts for shifts in both if isinstance(shifts, str))
    own, others = found
    if set(own) == set(others) and (not _stored(own) or _one_unit(writer, reader)):
        first = dict.fromkeys(dict(own[0]), 0)  # a finite set that is moved into itself stays where it is
        return _same(problem, *(_moved(side, at, tuple(first.items())) for side, at in ((writer, a), (reader, b))), registers=registers)
    if len(own) * len(others) > COPIES:
        return f"{len(own)} copies of an element are written and {len(others)} read: too many to compare"
    parts: list[Term] = []
    for looked in (_moved(reader, b, shift) for shift in others):
        equal = [_same(problem, _moved(writer, a, shift), looked, registers=registers) for shift in own]
        why = next((one for one in equal if isinstance(one, str)), None)
        if why is not None:
            return why
        parts.append(terms.disj(*(one for one in equal if not isinstance(one, str))))
    return terms.conj(*parts)


def _shifts(side: Side) -> tuple[tuple[tuple[str, int], ...], ...] | str:
    """What each copy of an element adds to the axes, each set once, the element itself first; why that is not known."""
    replicas = side.trace.replicas
    numbers = [(axis, extent, stride) for axis, extent, stride in replicas if isinstance(extent, int) and isinstance(stride, int)]
    if len(numbers) < len(replicas):
        return f"the copies of elements of {side.label} depend on symbols"
    if prod(extent for _, extent, _ in numbers) > COPIES:
        return f"{side.label} has too many copies of each element to compare"
    wide = any(not retype.trivial and retype.old_bits != retype.new_bits for retype in side.trace.retypes)
    if wide and swizzles(side.tensor.layout) and any(axis == STORAGE for axis, _, _ in numbers):
        return f"the copies of elements of {side.label} are swizzled apart where a dtype view joins or splits them"
    found: dict[tuple[tuple[str, int], ...], None] = {}
    for digits in product(*(range(extent) for _, extent, _ in numbers)):
        shift = dict.fromkeys((axis for axis, _, _ in numbers), 0)
        for digit, (axis, _, stride) in zip(digits, numbers, strict=True):
            shift[axis] += digit * stride
        found[tuple(sorted(shift.items()))] = None
    return tuple(found)


def _stored(shifts: Sequence[tuple[tuple[str, int], ...]]) -> bool:
    """Whether copies lie at other places of the storage."""
    return any(axis in {STORAGE, "TCol"} for axis, _ in shifts[0])


def _one_unit(writer: Side, reader: Side) -> bool:
    """Whether a step of the storage offset is as many bits in both layouts, wherever it starts."""
    return writer.tensor.bits == reader.tensor.bits and not any(swizzles(side.tensor.layout) for side in (writer, reader))


def _moved(side: Side, place: Location, shift: tuple[tuple[str, int], ...]) -> Location:
    """The place of a copy of an element."""
    added, layout, bits = dict(shift), side.tensor.layout, side.tensor.bits
    linear = terms.add(place.linear, added.get(STORAGE, 0))
    m = swizzled(layout, linear)
    step = added.get("TCol", 0) if side.tensor.space == "tmem" else 0
    bit = terms.add(place.bit, terms.mul(bits, terms.add(step, terms.add(m, terms.mul(-1, place.m)))))
    names = dict.fromkeys((*place.axes, *(axis for axis in added if axis != STORAGE)))
    axes = {name: terms.add(place.axes.get(name, 0), added.get(name, 0)) for name in names}
    return replace(place, axes=axes, linear=linear, m=m, bit=bit)


def _same(problem: Problem, a: Location, b: Location, *, registers: bool) -> Term | str:
    """Two locations are one, as a term; why that cannot be said."""
    parts = [_parts(one.axes, one_dimensional=len(problem.call.launch.block) == 1) for one in (a, b)]
    for part in parts:
        if isinstance(part, str):
            return part
    first, second = (part for part in parts if not isinstance(part, str))
    if not registers and set(first) != set(second):
        return "one view names a CTA or thread, the other is of the executing one's own copy"
    names = dict.fromkeys((*first, *second))
    return terms.conj(terms.eq(a.bit, b.bit), *(terms.eq(first.get(name, 0), second.get(name, 0)) for name in names))


def _parts(axes: Mapping[str, Term], *, one_dimensional: bool) -> dict[str, Term] | str:
    """Thread axes as lane, warp of the warpgroup and warpgroup, the others by their own names; why they say one thing twice."""
    found: dict[str, Term] = {}
    for axis, value in axes.items():
        if axis == "TCol":
            continue
        whole = axis == "tx" and one_dimensional
        says = (("lane", 1, 32), ("warp", 32, 4), ("warpgroup", 128, 0)) if whole else PARTS.get(axis, ((axis, 1, 0),))
        for part, divisor, modulus in says:
            if part in found:
                return f"the thread axes of a view say its {part} twice"
            shifted = value if divisor == 1 else terms.floordiv(value, divisor)
            found[part] = shifted if not modulus else terms.mod(shifted, modulus)
    return found


__all__ = ["agree", "check_agreement"]
