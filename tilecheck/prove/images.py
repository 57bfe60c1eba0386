"""Clauses about the image of a box in shared memory, and about where the boxes of a call lie: coordinates, origin, swizzle."""

from __future__ import annotations

from collections.abc import Iterator

from tilecheck.boxes import Box, Walked, offset_limits
from tilecheck.call import INDEX_DTYPES, Launch
from tilecheck.layout.axes import STORAGE
from tilecheck.layout.strided import Factor, coalesced
from tilecheck.prove import addresses, owners, structure
from tilecheck.prove.clause import NOTHING, Clause, Finding, element, ranges_of
from tilecheck.prove.clause import coordinates as places
from tilecheck.prove.decisions import Decisions
from tilecheck.prove.obligation import Obligation, Variable
from tilecheck.prove.problem import Problem, Side, base_residues, repeat_terms, repeat_variables
from tilecheck.scopes import ground, hardware_terms, written
from tilecheck.symbolic import terms
from tilecheck.symbolic.domain import ranged, truth
from tilecheck.symbolic.terms import Expr, Term, var

STATEMENT = "every box starts where the instruction can start it: 32-bit coordinates, rows at multiples of 16 bytes, stores at 0 or later"
COORDINATE = (-(1 << 31), (1 << 31) - 1)
"""Coordinates are signed 32-bit operands."""


# --- coordinates ------------------------------------------------------------------------------------------------------


def coordinate_findings(problem: Problem, box: Box, repeats: tuple[int, ...]) -> list[Finding]:
    """Wrong numbers of coordinates, steps and rows, and a step of a row that is chosen."""
    rank, axes, found = box.copy.rank, len(problem.groups) + len(repeats), list[Finding]()

    def counted(what: str, have: int, want: int) -> None:
        if have != want:
            found.append(Finding(f"{what}: {have} given, expected {want}", str(want), str(have)))

    counted("coordinates", len(box.coords), rank)
    counted("coord_steps, one vector for each group and repeat axis", len(box.steps), axes)
    for k, step in enumerate(box.steps):
        counted(f"entries of coord_steps[{k}]", len(step), rank)
    if box.walked is not None:
        counted("im2col_offsets", len(box.walked.offsets), len(offset_limits(box.walked)))
    if box.copy.rows:
        counted("row coordinates", len(box.rows), box.copy.rows)
        found.extend(
            Finding(f"coord_steps[{k}] moves the row by {step[0]}, but rows come from the row coordinates alone", "0", str(step[0]))
            for k, step in enumerate(box.steps)
            if step and step[0] != 0
        )
    return found


def offset_findings(walked: Walked) -> list[Finding]:
    """A wrong number of offsets, and those that are written as numbers outside their limits."""
    limits, have = offset_limits(walked), walked.offsets
    if len(have) != len(limits):
        return [Finding(f"im2col_offsets: {len(have)} given, expected {len(limits)}", str(len(limits)), str(len(have)))]
    return [
        Finding(f"{name} is {one}, expected 0 to {below - 1}", f"0 to {below - 1}", str(one))
        for (name, below), one in zip(limits, have, strict=True)
        if isinstance(one, int) and not 0 <= one < below
    ]


def written_terms(box: Box) -> tuple[Term, ...]:
    """Every term of coordinates, rows, offsets and steps, each once."""
    offsets = () if box.walked is None else box.walked.offsets
    return tuple(dict.fromkeys((*box.coords, *box.rows, *offsets, *(term for step in box.steps for term in step))))


def positions(problem: Problem, box: Box, repeats: tuple[int, ...]) -> tuple[Term, ...]:
    """The coordinates of one instruction over thread and repeat; where rows are chosen, those rows and then the column."""
    launch = problem.call.launch
    axes = (*problem.group_coordinates(), *repeat_terms(len(repeats)))

    def at(k: int) -> Term:
        moved = (terms.mul(ground(step[k], launch), axis) for step, axis in zip(box.steps, axes, strict=True) if step[k] != 0)
        return terms.add(ground(box.coords[k], launch), *moved)

    if box.copy.rows:
        return (*(ground(row, launch) for row in box.rows), at(box.copy.rank - 1))
    return tuple(at(k) for k in range(box.copy.rank))


def issuing(problem: Problem, box: Box) -> Term:
    """Facts, and the thread issues an instruction whose coordinates have values."""
    return terms.conj(problem.accessing, *(terms.has_value(written(term, problem.call.launch)) for term in written_terms(box)))


def issue_variables(problem: Problem, repeats: tuple[int, ...]) -> tuple[Variable, ...]:
    """Symbols, thread and repeat."""
    return (*problem.symbols, *problem.thread_variables(), *repeat_variables(repeats))


def coordinates(problem: Problem, box: Box, repeats: tuple[int, ...]) -> Iterator[Clause]:
    """index.range of what is written, and what coordinates ask."""
    low, high = INDEX_DTYPES[problem.call.index_dtype]
    launch = problem.call.launch
    for term in written_terms(box):
        if isinstance(term, Expr):
            statement = f"no index of coords leaves {problem.call.index_dtype} ({low} to {high})"

            def in_range(term: Term = term) -> Obligation:
                goal = addresses.in_range(term, low, high, ranges_of(problem), hardware_terms(launch))
                return Obligation((*problem.symbols, *problem.thread_variables()), problem.accessing, goal)

            yield Clause("coords.index.range", statement, in_range, point="warp", proof=structure.index(problem, term, low, high))
    yield Clause("coords", STATEMENT, NOTHING)
    context = problem.context
    env = {**context.environment, **{v.name: ranged(v.low or 0, v.high or 0) for v in repeat_variables(repeats)}}
    known = dict(context.known)
    for goal in (*demands(box, positions(problem, box, repeats)), *moves(box, launch)):
        if goal is not True:

            def demanded(goal: Term = goal) -> Obligation:
                return Obligation(issue_variables(problem, repeats), issuing(problem, box), goal)

            yield Clause("coords", STATEMENT, demanded, point="issue", proof="domain" if truth(goal, env, known) is True else None)


def demands(box: Box, at: tuple[Term, ...]) -> Iterator[Term]:
    """What each coordinate must be; the innermost last."""
    packed, sliced, unit = box.packing, box.slices, 8 * box.copy.limits.multiple_bytes
    for coordinate in at:
        low = 0 if box.copy.store else COORDINATE[0]
        yield terms.conj(terms.le(low, coordinate), terms.le(coordinate, COORDINATE[1]))
    if packed is not None:
        yield terms.eq(terms.mod(at[-1], packed.row), 0)
    elif sliced is None:
        yield terms.eq(terms.mod(terms.mul(box.bits, at[-1]), unit), 0)


def moves(box: Box, launch: Launch) -> Iterator[Term]:
    """What each offset of a walk must be."""
    for (_, below), one in zip(offset_limits(box.walked), box.walked.offsets, strict=True) if box.walked is not None else ():
        offset = ground(one, launch)
        yield terms.conj(terms.le(0, offset), terms.lt(offset, below))


def starts(problem: Problem, box: Box, tensor: Side, repeats: tuple[int, ...], owed: Term) -> Iterator[Clause]:
    """coords.bounds: where the map is right (`owed`), a walk starts inside its bounding box; a wide one not behind it."""
    assert box.walked is not None
    statement = "every walk starts inside its bounding box" if not box.walked.mode.wide else "no walk starts behind its bounding box"
    yield Clause("coords.bounds", statement, NOTHING)
    at, extents = positions(problem, box, repeats), tensor_extents(tensor)
    premise = terms.conj(issuing(problem, box), tensor.defined, owed)
    for k, lower, upper in zip(box.spatial, box.walked.lower, box.walked.upper, strict=True):
        last = terms.add(extents[k], upper - 1)
        goal = terms.conj(True if box.walked.mode.wide else terms.le(lower, at[k]), terms.le(at[k], last))
        if goal is not True:
            yield Clause("coords.bounds", statement, Obligation(issue_variables(problem, repeats), premise, goal), point="issue")


def tensor_extents(tensor: Side) -> tuple[Term, ...]:
    """The extents of the tensor as terms."""
    return tuple(terms.normal(extent) for extent in tensor.shape)


# --- the image --------------------------------------------------------------------------------------------------------


def accesses(checker: Decisions, problem: Problem, image: Side, box: Box, repeats: tuple[int, ...]) -> bool:
    """Owner, index.range, bounds, aligned, base.period and image; whether every address is known."""
    checker.clauses(problem, owners.ownership(problem, image, repeats, checker.tiers))
    checker.clauses(problem, addresses.indices_in_range(problem, image, repeats))
    if not checker.clauses(problem, addresses.bounds(problem, image, repeats)):
        return False
    checker.clauses(problem, iter((origin(problem, image, box, repeats),)))
    pattern = box.pattern
    if pattern is None:
        return True
    name, bases = image.spec.name, base_residues(problem, image, pattern.period_bytes)
    if pattern.xors:
        checker.addressing(*addresses.base_period(image, pattern.period_bytes, pattern.code, bases))
        if len(bases) != 1 and not checker.never:
            return True
    if box.walked is not None and box.walked.halo != 0:
        statement = f"no instruction loads a halo: {image.name} has the pixels of the walk alone"
        checker.clauses(problem, iter((Clause(f"{name}.image", statement, no_halo(problem, box)),)))
    if checker.clauses(problem, iter((imaged(problem, image, box, repeats, bases[0] if pattern.xors else 0),))):
        checker.clauses(problem, padded(problem, image, box, repeats))
    return True


def no_halo(problem: Problem, box: Box) -> Obligation:
    """No instruction loads halo pixels, whose places are not known."""
    halo = 0 if box.walked is None else ground(box.walked.halo, problem.call.launch)
    return Obligation((*problem.symbols, *problem.thread_variables()), issuing(problem, box), terms.eq(halo, 0))


def origin(problem: Problem, image: Side, box: Box, repeats: tuple[int, ...]) -> Clause:
    """Every image starts, before its swizzle, at a multiple of 128 bytes: the address that the swizzle takes to its first element."""
    multiple = box.copy.limits.image_align_bytes
    bases = base_residues(problem, image, box.asked_bytes(image.spec.name))

    def obligation() -> Obligation:
        base: Term = bases[0] if len(bases) == 1 else var("@base")
        own = () if isinstance(base, int) else (Variable("@base", "base", None, None, values=bases),)
        begin = start(problem, image, box, repeats, base)
        return element(problem, image, repeats, problem.accessing, terms.eq(terms.mod(begin, 8 * multiple), 0), own, tuple(_zero(problem)))

    statement = f"every image of {image.name} starts, before the swizzle, at a multiple of {multiple} bytes"
    return Clause(f"{image.spec.name}.aligned", statement, obligation, proof=origin_proof(problem, image, box, 8 * multiple, bases))


def _zero(problem: Problem) -> dict[str, Term]:
    return {axis.name: 0 for axis in problem.contract.atom}


def start(problem: Problem, image: Side, box: Box, repeats: tuple[int, ...], base: Term) -> Term:
    """The bit address at which an image starts before its swizzle."""
    return hashed(box, terms.add(image.trace.locate(places(problem, repeats, _zero(problem))).bit, terms.mul(8, base)))


def origin_proof(problem: Problem, image: Side, box: Box, modulus: int, bases: tuple[int, ...]) -> str | None:
    """Start and strides outside the image are multiples of `modulus` bits, and the swizzle of the view is that of the box."""
    form, swizzled = image.strided, box.pattern is not None and bool(box.pattern.xors)
    if form is None or not same_swizzle(image, box) or (swizzled and any(bases)):
        return None
    offset = form.start.remainder(modulus)
    if offset is None or any((offset + 8 * base) % modulus for base in bases):
        return None
    outside = form.axes[: len(form.axes) - len(problem.contract.atom)]
    even = all(stride % modulus == 0 for axis in outside for _, name, stride in axis if name == STORAGE)
    return structure.method(image, through=swizzled) if even else None


def imaged(problem: Problem, image: Side, box: Box, repeats: tuple[int, ...], base: int) -> Clause:
    """Every element lies where the instruction puts it."""
    swizzle = f"swizzle {box.swizzle} of the absolute address" if box.swizzle else "no swizzle"
    row = (
        f"rows of {box.row_bits // 8} bytes"
        if not box.pitches or box.pitches[-1] == box.row_bits
        else f"rows {box.pitches[-1] // 8} bytes apart"
    )
    statement = f"every element of {image.name} lies where the box puts it: {row}, {swizzle}"

    def obligation() -> Obligation:
        here = terms.add(image.trace.locate(places(problem, repeats)).bit, 8 * base)
        goal = terms.eq(here, hashed(box, terms.add(start(problem, image, box, repeats, base), linear(problem, box))))
        return element(problem, image, repeats, problem.accessing, goal)

    return Clause(f"{image.spec.name}.image", statement, obligation, proof=image_proof(image, box, base))


def padded(problem: Problem, image: Side, box: Box, repeats: tuple[int, ...]) -> Iterator[Clause]:
    """backing of a packed image: its blocks are inside the allocation with their padding; nothing where the allocation has no declared size."""
    packed, (_, size) = box.packing, addresses.allocation(problem, image)
    if packed is None or size is None:
        return
    block, inner = 8 * packed.block_bytes, problem.contract.atom[-1].name
    statement = f"the allocation of {image.name} holds the blocks of {packed.block_bytes} bytes of its image whole, with their padding"

    def obligation() -> Obligation:
        first = terms.eq(terms.mod(var(inner), packed.values), 0)
        end = terms.add(image.trace.locate(places(problem, repeats)).bit, block)
        return element(problem, image, repeats, terms.conj(problem.accessing, first), terms.le(end, 8 * size))

    form = image.strided
    behind = block - 8 * packed.payload_bytes
    unswizzled = form is not None and not (box.pattern and box.pattern.xors) and same_swizzle(image, box)
    fits = form is not None and unswizzled and form.ends()[1] + form.bits + behind <= 8 * size
    yield Clause(f"{image.spec.name}.backing", statement, obligation, proof=structure.method(image) if fits else None)


def linear(problem: Problem, box: Box) -> Term:
    """The bits of an element behind the first, before the swizzle."""
    *outer, last = problem.contract.atom
    total: list[Term] = [terms.mul(pitch, var(axis.name)) for axis, pitch in zip(outer, box.pitches, strict=True)]
    digits = box.inner
    if len(digits) == 1:
        return terms.add(*total, terms.mul(box.bits, var(last.name)))
    (_, step), (size, bits) = digits
    inner = var(last.name)
    return terms.add(*total, terms.mul(step, terms.floordiv(inner, size)), terms.mul(bits, terms.mod(inner, size)))


def hashed(box: Box, bit: Term) -> Term:
    """The bit address after the swizzle."""
    result = bit
    pattern = box.pattern
    for shift, mask in () if pattern is None else pattern.xors:
        result = terms.xor(result, terms.bit_and(terms.shr(bit, shift), 8 * mask))
    return result


def image_proof(image: Side, box: Box, base: int) -> str | None:
    """The strides of the view are the pitches of the box, and its swizzle is that of the box on a base that is a multiple of the period."""
    form, pattern = image.strided, box.pattern
    if form is None or pattern is None or base or not same_swizzle(image, box):
        return None
    wanted: list[tuple[tuple[int, int], ...]] = [
        ((extent, pitch),) for extent, pitch in zip((box.image or ())[:-1], box.pitches, strict=True)
    ]
    wanted.append(box.inner)
    axes = form.axes[len(form.axes) - len(wanted) :]
    for axis, digits in zip(axes, wanted, strict=True):
        expected: list[Factor] = [(extent, STORAGE, stride) for extent, stride in digits if extent != 1]
        if coalesced(axis) != coalesced(expected):
            return None
    return structure.method(image)


def same_swizzle(image: Side, box: Box) -> bool:
    """Whether the layout's own swizzle, on the offset, is the pattern's."""
    return box.pattern is not None and structure.swizzled_by(image, box.pattern.xors)
