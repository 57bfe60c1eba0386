"""Clauses about matrices that an instruction reads through a descriptor: its fields, where it starts, the period, the whole walk, the backing block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tilecheck.call import Call
from tilecheck.layout.axes import STORAGE
from tilecheck.layout.strided import Factor, coalesced
from tilecheck.prove import addresses, structure
from tilecheck.prove.clause import Clause, Finding, coordinates, element, variables_of
from tilecheck.prove.decisions import Decisions
from tilecheck.prove.obligation import Obligation, Variable
from tilecheck.prove.problem import Problem, Side, base_residues
from tilecheck.spec.contract import AtomAxis, Contract, Memory
from tilecheck.spec.descriptor import MAJORS, STRIDE_BELOW_BYTES, UNIT_BYTES, Described, Mode
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term, var


@dataclass(frozen=True, slots=True)
class Matrix:
    """A described operand with the fields that a call gives it; mode: None where no canonical layout has that major, swizzle and width."""

    spec: Memory
    described: Described
    atom: tuple[AtomAxis, ...]
    major: str
    ldo: int
    sdo: int
    swizzle: int
    mode: Mode | None

    @property
    def strides(self) -> Mapping[str, int]:
        """The strides by field, in bytes."""
        return {"ldo_bytes": self.ldo, "sdo_bytes": self.sdo}

    def extent(self, axis: str) -> int:
        """The extent of an atom axis."""
        return next(one.extent for one in self.atom if one.name == axis)

    @property
    def lines(self) -> int:
        """The lines of one instruction."""
        return self.extent(self.described.axes(self.major)[0])

    @property
    def inner(self) -> int:
        """The elements of a line."""
        return self.extent(self.described.axes(self.major)[1])

    def offset(self, mode: Mode, renamed: Mapping[str, Term] | None = None) -> Term:
        """The bits of an element behind the origin, before the swizzle, over the atom axes. renamed: terms for some of them."""
        line, inner = ((renamed or {}).get(name, var(name)) for name in self.described.axes(self.major))
        return mode.offset(self.spec.bits, self.strides, line, inner)


def matrix_of(call: Call, contract: Contract, spec: Memory) -> Matrix:
    """The matrix that a call makes of an operand of a contract that describes it."""
    described = spec.described
    assert described is not None
    fields, major = call.parameter(described.descriptor), call.parameter(described.major) if described.major else None
    assert isinstance(fields, tuple)
    ldo, sdo, swizzle = (value for value in fields if isinstance(value, int))
    major = major if isinstance(major, str) else MAJORS[0]
    return _matrix(spec, contract.atom_of(spec), major, ldo, sdo, swizzle)


@lru_cache(maxsize=1024)
def _matrix(spec: Memory, atom: tuple[AtomAxis, ...], major: str, ldo: int, sdo: int, swizzle: int) -> Matrix:
    described = spec.described
    assert described is not None
    return Matrix(spec, described, atom, major, ldo, sdo, swizzle, described.mode(major, swizzle, spec.bits))


def asked_bytes(call: Call, contract: Contract, spec: Memory) -> int:
    """The bytes modulo which an operand needs to know its base: the period of its swizzle, else what its rows start at multiples of."""
    if spec.described is None or call.parameter(spec.described.descriptor) is None:
        return spec.align_bytes
    mode = matrix_of(call, contract, spec).mode
    return spec.align_bytes if mode is None else max(spec.align_bytes, mode.period_bytes)


def statement(side: Side, matrix: Matrix) -> str:
    """What the clause `descriptor` asks."""
    return (
        f"the fields of {matrix.described.descriptor} are those of a canonical layout, and every element of {side.name} lies where the "
        "instruction reads it"
    )


def field_findings(matrix: Matrix) -> list[Finding]:
    """What is wrong with the fields alone."""
    found: list[Finding] = []
    name, mode = matrix.described.descriptor, matrix.mode
    for field, value in matrix.strides.items():
        if value % UNIT_BYTES or not 0 <= value < STRIDE_BELOW_BYTES:
            wanted = f"a multiple of {UNIT_BYTES} from 0 to below {STRIDE_BELOW_BYTES}"
            found.append(Finding(f"{field} of {name} is {value}, expected {wanted}", wanted, str(value)))
    if mode is None:
        takes = [m.swizzle for m in matrix.described.modes if m.major == matrix.major and matrix.spec.bits in m.widths]
        what = f"{matrix.major}-major elements of {matrix.spec.bits} bits"
        wanted = f"{', '.join(map(str, takes))}" if takes else f"another major: there are no {what} here"
        found.append(Finding(f"swizzle of {name} is {matrix.swizzle}, expected {wanted} ({what})", wanted, str(matrix.swizzle)))
    elif mode.next_span is None and matrix.inner > mode.elements(matrix.spec.bits):
        row = f"{matrix.inner * matrix.spec.bits // 8} bytes"
        sentence = f"a row of one instruction has {row}, more than the span of swizzle {mode.swizzle}, {mode.span_bytes} bytes"
        found.append(Finding(sentence, f"at most {mode.span_bytes} bytes", row))
    return found


def fields(checker: Decisions, problem: Problem) -> None:
    """The clause `descriptor` of every described operand, as far as its fields decide it."""
    for side in problem.sides:
        described = side.spec.described if isinstance(side.spec, Memory) else None
        if isinstance(side.spec, Memory) and described is not None and problem.call.parameter(described.descriptor) is not None:
            matrix = matrix_of(problem.call, problem.contract, side.spec)
            checker.static(f"{side.spec.name}.descriptor", statement(side, matrix), field_findings(matrix))


def accesses(checker: Decisions, problem: Problem, side: Side, spec: Memory, repeats: tuple[int, ...]) -> None:
    """aligned, base.period, descriptor and the block of backing, of an operand that is in bounds."""
    matrix = matrix_of(problem.call, problem.contract, spec)
    placed = checker.clauses(problem, iter((origin(problem, side, spec, repeats),)))
    mode = matrix.mode
    if mode is None:
        return
    bases = base_residues(problem, side, mode.period_bytes)
    if mode.xors:
        checker.addressing(*addresses.base_period(side, mode.period_bytes, mode.swizzle, bases))
        if len(bases) != 1 and not checker.never:
            return
    if field_findings(matrix):
        return
    walked = checker.clauses(problem, iter((walk(problem, side, matrix, mode, repeats, bases),)))
    if placed and walked and len(bases) == 1:
        checker.clauses(problem, block(problem, side, matrix, mode, repeats, bases[0]))


# --- where it starts --------------------------------------------------------------------------------------------------


def origin(problem: Problem, side: Side, spec: Memory, repeats: tuple[int, ...]) -> Clause:
    """The first element of every instruction is at a multiple of 16 bytes, which no swizzle changes."""
    bases = base_residues(problem, side, spec.align_bytes)

    def obligation() -> Obligation:
        base: Term = bases[0] if len(bases) == 1 else var("@base")
        own = () if isinstance(base, int) else (Variable("@base", "base", None, None, values=bases),)
        begin = terms.add(first(problem, side, repeats), terms.mul(8, base))
        goal = terms.eq(terms.mod(begin, 8 * spec.align_bytes), 0)
        return element(problem, side, repeats, problem.accessing, goal, own, tuple(zero(side)))

    says = f"the first element of {side.name} in every instruction is at a multiple of {spec.align_bytes} bytes"
    return Clause(f"{spec.name}.aligned", says, obligation, proof=origin_proof(side, 8 * spec.align_bytes, bases))


def origin_proof(side: Side, modulus: int, bases: tuple[int, ...]) -> str | None:
    """Start and strides outside the atom are multiples of `modulus` bits, and so are the blocks that a swizzle moves."""
    form = side.strided
    if form is None or (form.fine and form.fine % modulus):
        return None
    offset = form.start.remainder(modulus)
    if offset is None or not bases or any((offset + 8 * base) % modulus for base in bases):
        return None
    outside = form.axes[: len(form.axes) - len(side.atom)]
    even = all(stride % modulus == 0 for axis in outside for _, name, stride in axis if name == STORAGE)
    return structure.method(side) if even else None


def zero(side: Side) -> dict[str, Term]:
    """The first element of an instruction."""
    return {axis.name: 0 for axis in side.atom}


def first(problem: Problem, side: Side, repeats: tuple[int, ...]) -> Term:
    """The bit at which the first element of an instruction lies."""
    return side.trace.locate(coordinates(problem, repeats, zero(side), side=side)).bit


def start(problem: Problem, side: Side, mode: Mode, repeats: tuple[int, ...], base: int) -> Term:
    """The absolute bit address in the descriptor: the one that the swizzle takes to the first element."""
    return mode.hashed(terms.add(first(problem, side, repeats), 8 * base))


# --- the walk ---------------------------------------------------------------------------------------------------------


def walk(problem: Problem, side: Side, matrix: Matrix, mode: Mode, repeats: tuple[int, ...], bases: tuple[int, ...]) -> Clause:
    """Every element lies where the instruction reads it; without a swizzle whatever the base is."""
    base = bases[0] if mode.xors else 0

    def obligation() -> Obligation:
        here = terms.add(side.trace.locate(coordinates(problem, repeats, side=side)).bit, 8 * base)
        there = mode.hashed(terms.add(start(problem, side, mode, repeats, base), matrix.offset(mode)))
        return element(problem, side, repeats, problem.accessing, terms.eq(here, there))

    return Clause(f"{matrix.spec.name}.descriptor", statement(side, matrix), obligation, proof=walk_proof(side, matrix, mode, base))


def walk_proof(side: Side, matrix: Matrix, mode: Mode, base: int) -> str | None:
    """The digits of the atom axes are those of the mode, and the view has its swizzle, on a base that is a multiple of the period."""
    form, wanted = side.strided, digits(matrix, mode)
    if form is None or wanted is None or base or not structure.swizzled_by(side, mode.xors):
        return None
    axes = form.axes[len(form.axes) - len(side.atom) :]
    for axis, one in zip(axes, side.atom, strict=True):
        expected: list[Factor] = [(extent, STORAGE, stride) for extent, stride in wanted[one.name] if extent != 1]
        if coalesced(axis) != coalesced(expected):
            return None
    return structure.method(side)


@lru_cache(maxsize=1024)
def digits(matrix: Matrix, mode: Mode) -> dict[str, list[tuple[int, int]]] | None:
    """The digits (extent, stride in bits) of each atom axis, the most significant first; None where they do not divide the extent."""
    bits, strides, outer = matrix.spec.bits, matrix.strides, matrix.described.axes(matrix.major)
    next_span = 0 if mode.next_span is None else strides[mode.next_span]
    found: dict[str, list[tuple[int, int]]] = {}
    for name, size, stride, following in (
        (outer[0], mode.lines, 8 * mode.span_bytes, strides[mode.next_lines]),
        (outer[1], mode.elements(bits), bits, next_span),
    ):
        extent = matrix.extent(name)
        if extent <= size:
            found[name] = [(extent, stride)]
        elif extent % size:
            return None
        else:
            found[name] = [(extent // size, 8 * following), (size, stride)]
    return found


# --- backing ----------------------------------------------------------------------------------------------------------


def block(problem: Problem, side: Side, matrix: Matrix, mode: Mode, repeats: tuple[int, ...], base: int) -> Iterator[Clause]:
    """Whole groups of lines, and whole spans where the mode wants them, are inside the allocation; nothing where the elements are all there is."""
    lines = -(-matrix.lines // mode.lines) * mode.lines
    needed, declared = addresses.allocation(problem, side)
    if (lines == matrix.lines and not mode.whole) or not isinstance(needed, int):
        return
    size = needed if declared is None else declared
    what = f"groups of {mode.lines} lines" + (f" with spans of {mode.span_bytes} bytes" if mode.whole else "")
    says = f"the allocation of {side.name} holds its declared layout, and the whole {what} that the instruction reads from"

    def obligation() -> Obligation:
        axis, span = matrix.described.axes(matrix.major)[0], 8 * mode.span_bytes
        at = terms.add(start(problem, side, mode, repeats, base), matrix.offset(mode))
        at = terms.sub(at, terms.mod(at, span)) if mode.whole else mode.hashed(at)
        low = terms.sub(at, 8 * base)
        goal = terms.conj(terms.le(0, low), terms.le(terms.add(low, span if mode.whole else matrix.spec.bits), 8 * size))
        padded = (
            Variable(v.name, v.role, 0, lines - 1) if v.name == axis and v.role == "atom" else v
            for v in variables_of(problem, side, repeats)
        )
        return Obligation(tuple(padded), terms.conj(problem.accessing, side.defined), goal)

    proof = block_proof(side, mode, (lines - matrix.lines) * 8 * mode.span_bytes, base, 8 * size)
    yield Clause(f"{matrix.spec.name}.backing", says, obligation, proof=proof)


def block_proof(side: Side, mode: Mode, padding: int, base: int, size: int) -> str | None:
    """The elements, the padding behind them and the rest of its span are inside: an upper bound on what the block is. `padding`, `size`: in bits."""
    form, span = side.strided, 8 * mode.span_bytes
    if form is None or base % mode.span_bytes or not structure.swizzled_by(side, mode.xors):
        return None
    low, high = form.ends()
    return structure.method(side) if low >= 0 and -(-(high + form.bits + padding) // span) * span <= size else None
