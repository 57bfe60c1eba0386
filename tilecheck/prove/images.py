"""Clauses about the image of a box in shared memory, and about where the boxes of a call lie: coordinates, origin, swizzle, hazards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tilecheck.boxes import Box
from tilecheck.call import INDEX_DTYPES
from tilecheck.layout.axes import STORAGE
from tilecheck.layout.strided import Factor, coalesced, injective
from tilecheck.layout.tile import swizzles
from tilecheck.prove import addresses, owners, parameters, race, structure
from tilecheck.prove.clause import NOTHING, Clause, Finding, element, ranges_of
from tilecheck.prove.clause import coordinates as places
from tilecheck.prove.decisions import Decisions
from tilecheck.prove.obligation import Obligation, Variable
from tilecheck.prove.problem import Problem, Side, base_residues, copied, copied_variables, repeat_terms, repeat_variables, tied
from tilecheck.prove.verdict import Hazard
from tilecheck.scopes import THREAD, ground, hardware_terms, written
from tilecheck.spec.contract import Memory
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import ELECTED, Expr, Term, var

STATEMENT = "every box starts where the instruction can start it: 32-bit coordinates, rows at multiples of 16 bytes, stores at 0 or later"
COORDINATE = (-(1 << 31), (1 << 31) - 1)
"""Coordinates are signed 32-bit operands."""
LEVELS = frozenset({"cta", "warp", "thread"})
MOST_ELEMENTS = 1 << 17
"""Elements of a tensor whose places are compared one by one."""


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
    if box.copy.rows:
        counted("row coordinates", len(box.rows), box.copy.rows)
        found.extend(
            Finding(f"coord_steps[{k}] moves the row by {step[0]}, but rows come from the row coordinates alone", "0", str(step[0]))
            for k, step in enumerate(box.steps)
            if step and step[0] != 0
        )
    return found


def written_terms(box: Box) -> tuple[Term, ...]:
    """Every term of coordinates, rows and steps, each once."""
    return tuple(dict.fromkeys((*box.coords, *box.rows, *(term for step in box.steps for term in step))))


def positions(problem: Problem, box: Box, repeats: tuple[int, ...]) -> tuple[Term, ...]:
    """The coordinates of one instruction over thread and repeat; where rows are chosen, those rows and then the column."""
    launch = problem.call.launch
    axes = (*problem.group_coordinates(), *repeat_terms(len(repeats)))

    def at(k: int) -> Term:
        moved = (terms.mul(ground(step[k], launch), axis) for step, axis in zip(box.steps, axes, strict=True))
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
    launch, variables = problem.call.launch, issue_variables(problem, repeats)
    for term in written_terms(box):
        if isinstance(term, Expr):
            statement = f"no index of coords leaves {problem.call.index_dtype} ({low} to {high})"
            goal = addresses.in_range(term, low, high, ranges_of(problem), hardware_terms(launch))
            threads = (*problem.symbols, *problem.thread_variables())
            proof = structure.index(problem, term, low, high)
            yield Clause("coords.index.range", statement, Obligation(threads, problem.accessing, goal), point="warp", proof=proof)
    premise = issuing(problem, box)
    yield Clause("coords", STATEMENT, NOTHING)
    for goal in demands(box, positions(problem, box, repeats)):
        if goal is not True:
            yield Clause("coords", STATEMENT, Obligation(variables, premise, goal), point="issue")


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
        statement = f"the base of {image.name} is known modulo {pattern.period_bytes} bytes, the period of swizzle {pattern.code}"
        checker.static(f"{name}.base.period", statement, period_findings(image, pattern.period_bytes, bases))
        if len(bases) != 1:
            return True
    checker.clauses(problem, iter((imaged(problem, image, box, repeats, bases[0] if pattern.xors else 0),)))
    return True


def period_findings(image: Side, period: int, bases: tuple[int, ...]) -> list[Finding]:
    """A base that is not known modulo the period."""
    if len(bases) == 1:
        return []
    step = bases[1] - bases[0]
    sentence = f"the base of {image.name} is known modulo {step} bytes, the swizzle acts on addresses modulo {period}"
    return [Finding(sentence, f"align, or base, modulo {period} bytes", f"modulo {step} bytes")]


def period_bytes(box: Box) -> int:
    """The bytes modulo which the base has a say: the period of the swizzle, and the alignment of an origin."""
    return max(box.copy.limits.image_align_bytes, box.pattern.period_bytes if box.pattern is not None else 0)


def origin(problem: Problem, image: Side, box: Box, repeats: tuple[int, ...]) -> Clause:
    """Every image starts, before its swizzle, at a multiple of 128 bytes: the address that the swizzle takes to its first element."""
    multiple = box.copy.limits.image_align_bytes
    bases = base_residues(problem, image, period_bytes(box))

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
    pattern = box.pattern
    own = [one for one in swizzles(image.tensor.layout) if one.swizzle_len]
    if pattern is None or len(pattern.xors) != len(own):
        return False
    if not own:
        return True
    one, keeps, (shift, mask) = own[0], image.tensor.bits << own[0].per_element, pattern.xors[0]
    return one.swizzle_inner and one.atom_len == shift and len(own) == 1 and ((1 << one.swizzle_len) - 1) * keeps == 8 * mask


# --- hazards ----------------------------------------------------------------------------------------------------------


def sole(problem: Problem) -> bool:
    """Whether activity leaves one thread at most: one CTA, one warp, one lane by an equation."""
    launch = problem.call.launch
    if launch.ctas != 1:
        return False
    held = {str(arg.args[0]) for part in terms.conjuncts(problem.run.activity) for arg in _equated(part)}
    return (launch.warps == 1 or "warpid" in held) and (launch.threads == 1 or "laneid" in held)


def _equated(part: Term) -> Iterator[Expr]:
    """The thread coordinates that a condition makes equal to a constant or to the elected lane."""
    if isinstance(part, Expr) and part.op == "==":
        for one, other in (part.args, part.args[::-1]):
            fixed = isinstance(other, int) or (isinstance(other, Expr) and other.op == "var" and other.args[0] == ELECTED)
            if isinstance(one, Expr) and one.op == "var" and one.args[0] in THREAD and fixed:
                yield one


def hazards(checker: Decisions, problem: Problem, box: Box, repeats: tuple[int, ...]) -> tuple[Hazard, ...]:
    """memory.race, store.tail, coords.unused; issue.many is that of the instruction."""
    found: list[Hazard | None] = []
    sides = {side.spec.name: side for side in problem.sides}
    image, tensor = sides.get(box.copy.image or ""), sides[box.copy.tensor]
    if image is not None and image.spec.write:
        found.append(loaded_twice(checker, problem, box, image, repeats))
    if box.copy.store:
        found += [written_twice(checker, problem, box, tensor, repeats), tail(checker, problem, box, tensor, repeats)]
    if box.copy.rows and box.coords[0] != 0:
        found.append(Hazard("coords.unused", f"coords[0] is {box.coords[0]}: rows come from the row coordinates, it has no meaning"))
    found.append(None if sole(problem) and not checker.tiers.audit else race.many(problem, checker.tiers))
    return tuple(hazard for hazard in found if hazard is not None)


def loaded_twice(checker: Decisions, problem: Problem, box: Box, image: Side, repeats: tuple[int, ...]) -> Hazard | None:
    """Two instructions load to one byte of one CTA.

    Images are runs of whole rows before the swizzle, which moves no two bytes to one place: they meet where their origins are nearer than their size.
    """
    assert isinstance(image.spec, Memory)
    size = box.row_bits if not box.pitches else box.pitches[0] * (box.image or (1,))[0]
    if sole(problem) and apart(problem, image, size) and not checker.tiers.audit:
        return None
    pattern = box.pattern
    bases = base_residues(problem, image, pattern.period_bytes) if pattern is not None else (0,)
    first = start(problem, image, box, repeats, bases[0])
    reached = [parameters.reaches(problem, image.spec, cta) for cta in range(problem.call.launch.ctas)]
    obligation = pair(
        problem,
        repeats,
        terms.conj(issuing(problem, box), image.defined),
        lambda there: terms.conj(
            terms.lt(terms.sub(first, there(first)), size),
            terms.lt(terms.sub(there(first), first), size),
            terms.disj(*(terms.conj(here, there(here)) for here in reached)),
        ),
    )
    if checker.tiers.decide(obligation).holds is not False:
        return None
    return Hazard("memory.race", f"two instructions load to one byte of {image.name}; which one wins is undefined")


def pair(problem: Problem, repeats: tuple[int, ...], premise: Term, meets: Callable[[Callable[[Term], Term]], Term]) -> Obligation:
    """That no two instructions, of different threads or repeats, meet; `meets` says when, given how a term reads at the other one."""
    inner = repeat_variables(repeats)
    rename = {v.name: var(f"{v.name}@1") for v in inner}

    def there(term: Term) -> Term:
        return terms.substitute(copied(problem, term, "@1", LEVELS), rename)

    names = [v.name for v in problem.thread_variables() if v.name in THREAD]
    other = terms.disj(*(terms.ne(there(var(name)), var(name)) for name in (*names, *rename)))
    variables = (
        *issue_variables(problem, repeats),
        *copied_variables(problem, "@1", LEVELS),
        *(replace(v, name=f"{v.name}@1") for v in inner),
    )
    both = terms.conj(premise, there(premise), other, tied(problem, ("", "@1"), LEVELS))
    return Obligation(variables, both, terms.negate(meets(there)))


def apart(problem: Problem, image: Side, size: int) -> bool:
    """Whether images of `size` bits at different repeats of one thread have different places."""
    form = image.strided
    if form is None:
        return False
    inner = form.axes[len(problem.groups) : len(form.axes) - len(problem.contract.atom)]
    return injective(((extent, stride) for axis in inner for extent, _, stride in axis), size)


def tensor_extents(tensor: Side) -> tuple[Term, ...]:
    """The extents of the tensor as terms."""
    return tuple(terms.normal(extent) for extent in tensor.shape)


def written_twice(checker: Decisions, problem: Problem, box: Box, tensor: Side, repeats: tuple[int, ...]) -> Hazard | None:
    """Two instructions store to one element: their boxes meet inside the tensor. Two reductions of one element are no race."""
    if box.copy.types is not None:
        return None
    if overlapping(tensor):
        return Hazard("memory.race", f"elements of {tensor.name} share bytes: a store writes them more than once")
    if not repeats and sole(problem):
        return None
    own, extents = positions(problem, box, repeats), tensor_extents(tensor)
    obligation = pair(problem, repeats, issuing(problem, box), lambda there: met(box, own, tuple(there(term) for term in own), extents))
    if checker.tiers.decide(obligation).holds is not False:
        return None
    return Hazard("memory.race", f"two instructions store to one element of {tensor.name}; which one wins is undefined")


def overlapping(tensor: Side) -> bool:
    """Whether elements of the tensor share bytes, as its strides say in numbers; of vast tensors whether they may."""
    form = tensor.strided
    if form is None:
        return False
    factors = [(extent, stride) for axis in form.axes for extent, _, stride in axis]
    if injective(factors, form.bits):
        return False
    total, places = 1, {0}
    for extent, stride in factors:
        total *= extent
        if total > MOST_ELEMENTS:
            return True
        places = {place + k * stride for place in places for k in range(extent)}
    return len(places) < total


def met(box: Box, one: tuple[Term, ...], other: tuple[Term, ...], extents: tuple[Term, ...]) -> Term:
    """Two boxes have an element of the tensor in common, element strides of the box included."""
    if box.copy.rows:
        columns = _overlap(one[-1], other[-1], box.extents[-1], 1, extents[-1])
        rows = terms.disj(*(terms.conj(terms.eq(a, b), terms.lt(a, extents[0])) for a in one[:-1] for b in other[:-1]))
        return terms.conj(rows, columns)
    spans = [1 if box.slices is not None and k == 1 else extent for k, extent in enumerate(box.extents)]
    return terms.conj(*(_overlap(*four) for four in zip(one, other, spans, box.strides, extents, strict=False)))


def _overlap(a: Term, b: Term, extent: int, stride: int, limit: Term) -> Term:
    """Samples from a and from b, `extent` // `stride` of them, have one in common below `limit`."""
    count = -(-extent // stride)
    reach = (count - 1) * stride
    near = terms.conj(terms.le(terms.sub(a, b), reach), terms.le(terms.sub(b, a), reach))
    aligned = terms.eq(terms.mod(terms.sub(a, b), stride), 0)
    return terms.conj(near, aligned, terms.lt(terms.maximum(a, b), limit))


def tail(checker: Decisions, problem: Problem, box: Box, tensor: Side, repeats: tuple[int, ...]) -> Hazard | None:
    """A row stored across the end of an extent that is no multiple of 16 bytes is cut at the next one."""
    if box.slices is not None:
        return None
    limit, unit = tensor_extents(tensor)[-1], 8 * box.copy.limits.multiple_bytes
    start = positions(problem, box, repeats)[-1]
    across = terms.conj(
        terms.lt(start, limit), terms.lt(limit, terms.add(start, box.extents[-1])), terms.ne(terms.mod(terms.mul(box.bits, limit), unit), 0)
    )
    if across is False:
        return None
    outcome = checker.tiers.decide(Obligation(issue_variables(problem, repeats), issuing(problem, box), terms.negate(across)))
    if outcome.holds is not False:
        return None
    return Hazard(
        "store.tail", f"a row is stored across the end of {tensor.name}: bytes up to the next multiple of 16 behind the extent are written"
    )
