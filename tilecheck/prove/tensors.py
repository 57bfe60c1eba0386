"""Clauses about the tensor that a tensor map describes: rank, bounds, address, and extents and strides as fields of the map."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tilecheck.boxes import Box, Walked
from tilecheck.call import INDEX_DTYPES
from tilecheck.layout.axes import STORAGE
from tilecheck.layout.poly import quotient
from tilecheck.layout.strided import coalesced
from tilecheck.layout.tile import base_tile
from tilecheck.prove import addresses, structure
from tilecheck.prove.clause import NOTHING, Clause, Finding, inside
from tilecheck.prove.decisions import Decisions
from tilecheck.prove.obligation import Obligation, Outcome, Variable
from tilecheck.prove.operands import OPAQUE
from tilecheck.prove.problem import Problem, Side, base_residues
from tilecheck.scopes import names_thread
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Expr, Term, var


@dataclass(frozen=True, slots=True)
class Demand:
    """What one field of the map must satisfy: in words, as a condition, and what it is."""

    statement: str
    holds: Term
    actual: str
    spared: Term = False
    """What makes the demand idle: an axis of one element has no stride. `holds` has it already."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """The fields of the map that the view gives: extents in elements, strides and start in bits; an axis of one element has stride 0."""

    extents: tuple[Term, ...]
    strides: tuple[Term, ...]


def accesses(checker: Decisions, problem: Problem, tensor: Side, box: Box) -> bool:
    """shape, owner, index.range, bounds, aligned and descriptor; whether the tensor is known."""
    name = tensor.spec.name
    statement = f"{tensor.name} has the axes of the tensor map"
    wrong = shape_findings(tensor, box)
    checker.static(f"{name}.shape", statement, wrong)
    if wrong:
        return False
    checker.static(f"{name}.owner", f"{tensor.name} is one for all threads", owner_findings(tensor))
    if tensor.spec.write:
        checker.static(f"{name}.replica", f"every element of {tensor.name} is in one place only", replica_findings(tensor))
    if any(names_thread(term) for term in tensor.view.symbolic):
        return False
    if not checker.clauses(problem, sliced(problem, tensor, box, statement)):
        return False
    owed = demanded(tensor, box) if tensor.tensor.space == OPAQUE else True
    checker.clauses(problem, index_range(problem, tensor, owed))
    if not checker.clauses(problem, bounds(problem, tensor, owed)):
        return False
    address = aligned(problem, tensor, box)
    if tensor.tensor.space != OPAQUE:
        checker.clauses(problem, iter((address,)))
        return described(checker, problem, tensor, box)
    right = entrusted(checker, problem, address)
    return described(checker, problem, tensor, box, addressed(problem, tensor, box) if right else True)


def shape_findings(tensor: Side, box: Box) -> list[Finding]:
    """A rank other than that of the map (and its slices), a slice of another size."""
    sliced = box.slices if box.copy.rank in box.copy.limits.interleaved_ranks else None
    wanted, have = box.copy.rank + (1 if sliced is not None else 0), len(tensor.shape)
    if have != wanted:
        return [Finding(f"{tensor.name} has rank {have}, the tensor map {wanted} axes", f"rank {wanted}", f"rank {have}")]
    last = tensor.shape[-1]
    if sliced is not None and isinstance(last, int) and last != 8 * sliced.slice_bytes // box.bits:
        size = 8 * sliced.slice_bytes // box.bits
        return [Finding(f"the last axis of {tensor.name} has {last} elements, a slice {size}", str(size), str(last))]
    return []


def sliced(problem: Problem, tensor: Side, box: Box, statement: str) -> Iterator[Clause]:
    """A symbolic last axis is one slice for every value of the symbols."""
    last = tensor.shape[-1]
    if box.slices is None or isinstance(last, int):
        return
    goal = terms.eq(terms.normal(last), 8 * box.slices.slice_bytes // box.bits)
    premise = terms.conj(problem.facts, tensor.defined)
    yield Clause(f"{tensor.spec.name}.shape", statement, Obligation(problem.symbols, premise, goal), point="symbols")


def owner_findings(tensor: Side) -> list[Finding]:
    """A thread axis that the layout writes."""
    tile = base_tile(tensor.tensor.layout)
    named = [one.axis for one in (*tile.shard, *tile.replica) if one.axis != STORAGE and one.effective]
    named += [axis for axis, value in tile.offset if axis != STORAGE and value != 0]
    return (
        [Finding(f"the layout of {tensor.name} names {named[0]}: global memory is one for all threads", "no thread axis", named[0])]
        if named
        else []
    )


def replica_findings(tensor: Side) -> list[Finding]:
    """A replica of what is written."""
    named = [one.axis for one in tensor.replicas if one.effective]
    return [Finding(f"{tensor.name} has replicas on {named[0]}", "no replica", named[0])] if named else []


def variables_of(tensor: Side) -> tuple[tuple[Variable, ...], tuple[Term, ...], Term]:
    """(the coordinates of the tensor as variables, as terms, that they are inside symbolic extents)."""
    extents = tensor.shape
    names = tuple(f"@c{k}" for k in range(len(extents)))
    variables = tuple(
        Variable(name, "atom", 0, extent - 1 if isinstance(extent, int) else None) for name, extent in zip(names, extents, strict=True)
    )
    within = terms.conj(*(terms.lt(var(name), terms.normal(e)) for name, e in zip(names, extents, strict=True) if isinstance(e, Expr)))
    return variables, tuple(var(name) for name in names), within


def index_range(problem: Problem, tensor: Side, owed: Term = True) -> Iterator[Clause]:
    """What is written, and where `owed` the offset of every element."""
    yield from addresses.begins_in_range(problem, tensor)
    low, high = INDEX_DTYPES[problem.call.index_dtype]
    if structure.offsets(tensor, low, high):
        return
    variables, here, within = variables_of(tensor)
    linear = tensor.trace.locate(here).linear
    more = max(0, tensor.trace.bits // tensor.tensor.bits - 1)
    goal = terms.conj(terms.le(low, linear), terms.le(terms.add(linear, more), high))
    premise = terms.conj(problem.facts, tensor.defined, within, *(inside(check) for check in tensor.trace.slices))
    name, statement = f"{tensor.spec.name}.index.range", f"no index of {tensor.name} leaves {problem.call.index_dtype} ({low} to {high})"
    symbols = problem.symbols if tensor.view.symbolic else ()
    premise = terms.conj(premise if symbols else within, owed)
    yield Clause(name, statement, Obligation((*symbols, *variables), premise, goal), point="symbols")


def bounds(problem: Problem, tensor: Side, owed: Term = True) -> Iterator[Clause]:
    """Every slice stays inside its axis, and where `owed` nothing lies below the base."""
    name, statement = f"{tensor.spec.name}.bounds", f"every region of {tensor.name} stays inside the axes it is cut from"
    form = tensor.strided
    proved = form is not None and form.ends()[0] >= 0
    yield Clause(name, statement, NOTHING, proof=("domain" if tensor.view.symbolic else "structure") if proved else None)
    if proved:
        return
    symbols, premise = (problem.symbols, terms.conj(problem.facts, tensor.defined)) if tensor.view.symbolic else ((), True)
    for check in tensor.trace.slices:
        yield Clause(name, statement, Obligation(symbols, premise, inside(check)), point="symbols")
    variables, here, within = variables_of(tensor)
    goal = terms.le(0, tensor.trace.locate(here).bit)
    obligation = Obligation((*symbols, *variables), terms.conj(premise, within, owed), goal)
    yield Clause(name, statement, obligation, point="symbols")


def aligned(problem: Problem, tensor: Side, box: Box) -> Clause:
    """The address of the tensor is a multiple of what its format and interleaving ask."""
    multiple = box.align_bytes
    bases, modulus = base_residues(problem, tensor, multiple), 8 * multiple
    form = tensor.strided
    offset = form.start.remainder(modulus) if form is not None and not form.fine else None
    proof = structure.method(tensor) if offset is not None and not any((offset + 8 * base) % modulus for base in bases) else None

    def obligation() -> Obligation:
        base: Term = bases[0] if len(bases) == 1 else var("@base")
        own = () if isinstance(base, int) else (Variable("@base", "base", None, None, values=bases),)
        goal = terms.eq(terms.mod(terms.add(tensor.trace.locate((0,) * len(tensor.shape)).bit, terms.mul(8, base)), modulus), 0)
        return Obligation((*problem.symbols, *own), terms.conj(problem.facts, tensor.defined), goal)

    statement = f"the address of {tensor.name} is a multiple of {multiple} bytes"
    return Clause(f"{tensor.spec.name}.aligned", statement, obligation, point="symbols", proof=proof)


def addressed(problem: Problem, tensor: Side, box: Box) -> Term:
    """Some address that is possible is a multiple of what is asked."""
    bit, multiple = tensor.trace.locate((0,) * len(tensor.shape)).bit, box.align_bytes
    bases = base_residues(problem, tensor, multiple)
    return terms.disj(*(terms.eq(terms.mod(terms.add(bit, 8 * base), 8 * multiple), 0) for base in bases))


def entrusted(checker: Decisions, problem: Problem, clause: Clause) -> bool:
    """A clause about the address in a map that the caller has encoded: proved, refuted where no base satisfies it, else a condition. Not refuted."""
    asked = clause.obligation
    outcome = checker.tiers.decide(asked)
    never = (
        outcome.holds is True or checker.tiers.decide(Obligation(asked.variables, asked.premise, terms.negate(asked.goal))).holds is True
    )
    if never:
        return checker.clauses(problem, iter((Clause(clause.id, clause.statement, asked, clause.point, outcome=outcome),)))
    checker.clauses(problem, iter((Clause(clause.id, clause.statement, NOTHING),)))
    checker.conditions.append(f"{clause.statement}: the host call that encodes the map checks it")
    bases = [value for v in asked.variables if v.role == "base" for value in v.values or ()] or [0]
    checker.asked.append((checker.conditions[-1], terms.disj(*(terms.substitute(asked.goal, {"@base": base}) for base in bases))))
    return True


# --- extents and strides ----------------------------------------------------------------------------------------------


def described(checker: Decisions, problem: Problem, tensor: Side, box: Box, beside: Term = True) -> bool:
    """The descriptor clauses that the view decides; what a host call has still to check becomes a condition, where all can hold `beside` others."""
    found = geometry(tensor)
    if isinstance(found, Finding):
        checker.static("descriptor", f"{tensor.name} is a box of extents and strides", [found])
        return False
    right = True
    if not isinstance(found, Geometry):
        right = checker.clauses(problem, iter((rectangular(problem, tensor),)))
        found = measured(tensor)
    open_demands: list[Demand] = []
    for demand in demands(tensor, box, found):
        if demand.holds is False and not tensor.view.symbolic:
            checker.static(
                "descriptor", demand.statement, [Finding(f"{demand.statement}, found {demand.actual}", demand.statement, demand.actual)]
            )
            right = False
        elif demand.holds is not True:
            open_demands.append(demand)
    right = _symbolic(checker, problem, tensor, open_demands, beside) and right
    if tensor.tensor.space == OPAQUE:
        checker.conditions.append(f"the tensor map {tensor.name} has been encoded so: {fields_text(box, found)}")
    return right


def fields_text(box: Box, found: Geometry) -> str:
    """The fields that a map must have, outer to inner."""
    shown = {
        "format": box.format.name if box.format is not None else box.dtype,
        "extents": _list(found.extents),
        "strides": _list(tuple(exact(stride) for stride in found.strides[:-1])) + " bytes",
        "element strides": _list(box.strides),
        "interleave": box.interleave,
        "swizzle": box.swizzle,
        "fill": box.fill,
    }
    if box.walked is None:
        shown["box"] = _list(box.extents)
    else:
        walked = box.walked
        shown |= {
            "lower corner": _list(walked.lower),
            "upper corner": _list(walked.upper),
            "channels": walked.channels,
            "pixels": walked.pixels,
        }
    return ", ".join(f"{name} {value}" for name, value in shown.items())


def exact(bits: Term) -> Term:
    """Bytes of a stride in bits."""
    whole = quotient(bits, 8)
    return terms.floordiv(bits, 8) if whole is None else whole


def _list(values: tuple[Term, ...]) -> str:
    return "[" + ", ".join(map(str, values)) + "]"


def demanded(tensor: Side, box: Box) -> Term:
    """That extents and strides are right: what is owed of a map alone is owed here."""
    found = geometry(tensor)
    if isinstance(found, Finding):
        return True
    return terms.conj(*(demand.holds for demand in demands(tensor, box, found if found is not None else measured(tensor))))


def _symbolic(checker: Decisions, problem: Problem, tensor: Side, asked: list[Demand], beside: Term) -> bool:
    """Demands on symbols: proved, refuted where no value satisfies all of them, and the condition `beside`, else conditions."""

    def decide(goal: Term) -> Outcome:
        return checker.tiers.decide(Obligation(problem.symbols, problem.facts, goal))

    left = [demand for demand in asked if decide(demand.holds).holds is not True]
    if not left:
        return True
    together = terms.conj(beside, *(demand.holds for demand in left))
    never = decide(terms.negate(together))
    if never.holds is not False:
        alone = next((demand for demand in left if decide(terms.negate(demand.holds)).holds is True), None)
        address = [] if beside is True else [f"the address of {tensor.name} is right"]
        statement = alone.statement if alone is not None else " and ".join([*address, *(demand.statement for demand in left)])
        outcome = decide(together) if never.holds else never
        return checker.clauses(problem, iter((Clause("descriptor", statement, NOTHING, point="symbols", outcome=outcome),)))
    for demand in left:
        spared = "" if decide(terms.negate(demand.spared)).holds is True else ", or the axis has one element"
        checker.conditions.append(f"{demand.statement}{spared}: {demand.actual}")
        checker.asked.append((checker.conditions[-1], demand.holds))
    return True


def geometry(tensor: Side) -> Geometry | Finding | None:
    """The fields from the canonical form of the view; None where it has none that is exact."""
    form = tensor.strided
    if form is None or form.fine or not form.storage_only:
        return None
    strides: list[Term] = []
    for k, axis in enumerate(form.axes):
        digits = coalesced(axis)
        if len(digits) > 1:
            text = " and ".join(f"{extent} x {_elements(stride, form.bits)}" for extent, _, stride in digits)
            if tensor.view.symbolic:
                return None
            sentence = f"axis {k} of {tensor.name} has several strides ({text} elements), a tensor map has one"
            return Finding(sentence, "one stride for each axis", text)
        strides.append(digits[0][2] if digits else 0)
    return Geometry(tensor.shape, tuple(strides))


def _elements(bits: int, each: int) -> str:
    return str(Fraction(bits, each))


def measured(tensor: Side) -> Geometry:
    """The fields from the trace: the distance from the first element to its neighbours."""
    zero = (0,) * len(tensor.shape)
    first = tensor.trace.locate(zero).bit

    def stride(k: int) -> Term:
        if tensor.shape[k] == 1:
            return 0
        return terms.sub(tensor.trace.locate(tuple(1 if j == k else 0 for j in range(len(zero)))).bit, first)

    return Geometry(tuple(terms.normal(extent) for extent in tensor.shape), tuple(stride(k) for k in range(len(zero))))


def rectangular(problem: Problem, tensor: Side) -> Clause:
    """Every element lies at the start plus its coordinates times the strides."""
    variables, here, within = variables_of(tensor)
    first = tensor.trace.locate((0,) * len(here)).bit
    parts = (terms.mul(stride, coordinate) for stride, coordinate in zip(measured(tensor).strides, here, strict=True))
    goal = terms.eq(tensor.trace.locate(here).bit, terms.add(first, *parts))
    premise = terms.conj(problem.facts, tensor.defined, within)
    statement = f"{tensor.name} is a box of extents and strides"
    symbols = problem.symbols if tensor.view.symbolic else ()
    return Clause("descriptor", statement, Obligation((*symbols, *variables), premise if symbols else within, goal), point="symbols")


def demands(tensor: Side, box: Box, found: Geometry) -> Iterator[Demand]:
    """What extents and strides must be, outer to inner."""
    limits, multiple, packed = box.copy.limits, box.align_bytes, box.packing
    dimensions = box.copy.rank
    for k, extent in enumerate(found.extents[:dimensions]):
        text, within = f"axis {k} of {tensor.name}", terms.conj(terms.le(1, extent), terms.le(extent, limits.extent))
        if within is not True:
            yield Demand(f"the extent of {text} is from 1 to 2^32", within, str(extent))
        if packed is not None and k == dimensions - 1:
            yield Demand(f"the extent of {text} is a multiple of {packed.row}", terms.eq(terms.mod(extent, packed.row), 0), str(extent))
    if box.walked is not None:
        yield from inhabited(tensor, box, box.walked, found)
    inner = len(found.strides) - 1
    for k, stride in enumerate(found.strides):
        single = terms.eq(terms.normal(found.extents[k]), 1)
        if single is True:
            continue
        text, actual = f"the stride of axis {k} of {tensor.name}", _bytes(stride)
        if k == inner:
            yield Demand(f"{text}, the innermost, is one element", terms.disj(single, terms.eq(stride, box.bits)), actual, single)
        elif box.slices is not None and k == inner - 1:
            size = 8 * box.slices.slice_bytes
            yield Demand(f"{text} is one slice of {size // 8} bytes", terms.disj(single, terms.eq(stride, size)), actual, single)
        else:
            least = terms.conj(terms.le(0, stride), terms.lt(stride, 8 * limits.stride_below_bytes))
            holds = terms.conj(terms.eq(terms.mod(stride, 8 * multiple), 0), least)
            yield Demand(f"{text} is a multiple of {multiple} bytes from 0 to below 2^40", terms.disj(single, holds), actual, single)


def inhabited(tensor: Side, box: Box, walked: Walked, found: Geometry) -> Iterator[Demand]:
    """The bounding box of a walk has a pixel, along each of its axes."""
    for k, lower, upper in zip(box.spatial, walked.lower, walked.upper, strict=False):
        size = terms.add(found.extents[k], upper - lower)
        yield Demand(f"the bounding box has a pixel along axis {k} of {tensor.name}", terms.le(1, size), f"{size} pixels")


def _bytes(stride: Term) -> str:
    whole = quotient(stride, 8)
    return f"{stride} bits" if whole is None else f"{whole} bytes"
