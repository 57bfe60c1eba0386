"""Hazards of copies of boxes: two that write one place, rows stored past an end, coordinates without a meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations

from tilecheck.boxes import Box, Walked
from tilecheck.layout.strided import coalesced, injective
from tilecheck.prove import parameters, race
from tilecheck.prove.decisions import Decisions
from tilecheck.prove.images import issue_variables, issuing, positions, start, tensor_extents
from tilecheck.prove.obligation import Obligation, Variable
from tilecheck.prove.problem import Problem, Side, base_residues, copied, copied_variables, repeat_variables, tied
from tilecheck.prove.verdict import Hazard
from tilecheck.scopes import THREAD, ground
from tilecheck.spec.contract import Memory
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import ELECTED, Expr, Term, var

LEVELS = frozenset({"cta", "warp", "thread"})
MOST_ELEMENTS = 1 << 17
"""Elements of a tensor whose places are compared one by one."""


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
        found.append(unused(checker, problem, box, repeats))
    found.append(None if sole(problem) and not checker.tiers.audit else race.many(problem, checker.tiers))
    return tuple(hazard for hazard in found if hazard is not None)


def unused(checker: Decisions, problem: Problem, box: Box, repeats: tuple[int, ...]) -> Hazard | None:
    """A row coordinate other than 0 where rows are chosen one by one."""
    obligation = Obligation(
        issue_variables(problem, repeats), issuing(problem, box), terms.eq(ground(box.coords[0], problem.call.launch), 0)
    )
    if checker.tiers.decide(obligation).holds is not False:
        return None
    return Hazard("coords.unused", f"coords[0] is {box.coords[0]}: rows come from the row coordinates, it has no meaning")


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


def pair(
    problem: Problem,
    repeats: tuple[int, ...],
    premise: Term,
    meets: Callable[[Callable[[Term], Term]], Term],
    each: tuple[Variable, ...] = (),
) -> Obligation:
    """That no two instructions, of different threads or repeats, meet; `meets` says when, given how a term reads at the other one.

    each: further variables that each of the two has for itself.
    """
    inner = repeat_variables(repeats)
    rename = {v.name: var(f"{v.name}@1") for v in (*inner, *each)}
    apart = {v.name: var(f"{v.name}@1") for v in inner}

    def there(term: Term) -> Term:
        return terms.substitute(copied(problem, term, "@1", LEVELS), rename)

    names = [v.name for v in problem.thread_variables() if v.name in THREAD]
    other = terms.disj(*(terms.ne(there(var(name)), var(name)) for name in (*names, *apart)))
    variables = (
        *issue_variables(problem, repeats),
        *copied_variables(problem, "@1", LEVELS),
        *each,
        *(replace(v, name=f"{v.name}@1") for v in (*inner, *each)),
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


def written_twice(checker: Decisions, problem: Problem, box: Box, tensor: Side, repeats: tuple[int, ...]) -> Hazard | None:
    """A store writes an element, or a byte of two elements, twice: in one instruction or in two. Two reductions of one element are no race."""
    if box.copy.types is not None:
        return None
    strides = shared_strides(tensor)
    if box.walked is not None and overlapping(tensor):
        return Hazard("memory.race", f"elements of {tensor.name} share bytes: a walk may write them more than once")
    own, extents = positions(problem, box, repeats), tensor_extents(tensor)
    variables, premise = issue_variables(problem, repeats), issuing(problem, box)
    if strides:
        apart = differences(box, extents)
        within = Obligation((*variables, *apart), premise, terms.negate(placed_twice(box, own, extents, strides, apart)))
        if checker.tiers.decide(within).holds is False:
            return Hazard("memory.race", f"elements of {tensor.name} share bytes: a store writes them more than once")
    elif box.copy.rows:
        twice = rows_twice(own, extents)
        if twice is not False and checker.tiers.decide(Obligation(variables, premise, terms.negate(twice))).holds is False:
            return Hazard("memory.race", f"an instruction stores a row of {tensor.name} more than once; which one wins is undefined")
    if not repeats and sole(problem):
        return None
    if box.walked is not None:
        return walked_twice(checker, problem, box, box.walked, tensor, repeats)
    if strides:
        apart = differences(box, extents)
        obligation = pair(
            problem, repeats, premise, lambda there: placed(box, own, tuple(there(term) for term in own), extents, strides, apart)
        )
        obligation = replace(obligation, variables=(*obligation.variables, *apart))
    else:
        obligation = pair(problem, repeats, premise, lambda there: met(box, own, tuple(there(term) for term in own), extents))
    if checker.tiers.decide(obligation).holds is not False:
        return None
    what = "byte" if strides else "element"
    return Hazard("memory.race", f"two instructions store to one {what} of {tensor.name}; which one wins is undefined")


def rows_twice(at: tuple[Term, ...], extents: tuple[Term, ...]) -> Term:
    """Two of the chosen rows are one row of the tensor, and some of it is written."""
    rows = terms.disj(*(terms.conj(terms.eq(a, b), terms.lt(a, extents[0])) for a, b in combinations(at[:-1], 2)))
    return terms.conj(rows, terms.lt(at[-1], extents[-1]))


def shared_strides(tensor: Side) -> tuple[int, ...]:
    """The stride of each axis in bits, where elements of the tensor share bytes as its strides say in numbers; else ()."""
    form = tensor.strided
    if form is None or injective(((extent, stride) for axis in form.axes for extent, _, stride in axis), form.bits):
        return ()
    axes = [coalesced(axis) for axis in form.axes]
    return tuple(axis[-1][2] if axis else 0 for axis in axes) if all(len(axis) <= 1 for axis in axes) else ()


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


def samples(box: Box) -> tuple[tuple[int, int], ...]:
    """(elements, step) of a box along each axis that coordinates count, chosen rows one at a time."""
    counts = [(-(-extent // stride), stride) for extent, stride in zip(box.extents, box.strides, strict=True)]
    if box.copy.rows:
        counts[0] = (1, 1)
    if box.slices is not None:
        counts[1] = (1, 1)
    return tuple(counts)


def differences(box: Box, extents: tuple[Term, ...]) -> tuple[Variable, ...]:
    """How many elements one of two places in a box is behind the other, along each axis of the tensor; a slice is taken whole."""
    counts = [count for count, _ in samples(box)] + [extent for extent in extents[box.copy.rank :] if isinstance(extent, int)]
    return tuple(Variable(f"@d{k}", "atom", 1 - count, count - 1) for k, count in enumerate(counts))


def placed(
    box: Box,
    one: tuple[Term, ...],
    other: tuple[Term, ...],
    extents: tuple[Term, ...],
    strides: tuple[int, ...],
    apart: tuple[Variable, ...],
) -> Term:
    """Elements inside the tensor of two boxes, `apart` from each other, lie in one place."""
    if box.copy.rows:
        pairs = [((a, one[-1]), (b, other[-1])) for a in one[:-1] for b in other[:-1]]
        return terms.disj(*(_placed(box, a, b, extents, strides, apart) for a, b in pairs))
    return _placed(box, one, other, extents, strides, apart)


def placed_twice(box: Box, at: tuple[Term, ...], extents: tuple[Term, ...], strides: tuple[int, ...], apart: tuple[Variable, ...]) -> Term:
    """Two elements of one box, or of rows that one instruction chooses, lie in one place inside the tensor."""
    boxes = [(row, at[-1]) for row in at[:-1]] if box.copy.rows else [at]
    moved = terms.disj(*(terms.ne(var(v.name), 0) for v in apart))
    return terms.disj(
        *(terms.conj(moved, _placed(box, one, one, extents, strides, apart)) for one in boxes),
        *(_placed(box, one, other, extents, strides, apart) for one, other in combinations(boxes, 2)),
    )


def _placed(
    box: Box,
    one: tuple[Term, ...],
    other: tuple[Term, ...],
    extents: tuple[Term, ...],
    strides: tuple[int, ...],
    apart: tuple[Variable, ...],
) -> Term:
    inside, offset = list[Term](), list[Term]()
    steps = (*(step for _, step in samples(box)), *(1 for _ in extents[box.copy.rank :]))
    starts = ((*at, *(0 for _ in extents[box.copy.rank :])) for at in (one, other))
    for a, b, step, extent, stride, by in zip(*starts, steps, extents, strides, apart, strict=True):
        far = var(by.name)
        inside.append(terms.lt(terms.add(a, terms.mul(step, terms.maximum(far, 0))), extent))
        inside.append(terms.lt(terms.add(b, terms.mul(step, terms.maximum(terms.mul(-1, far), 0))), extent))
        offset.append(terms.mul(stride, terms.add(terms.sub(a, b), terms.mul(step, far))))
    return terms.conj(*inside, terms.eq(terms.add(*offset), 0))


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


def walked_twice(checker: Decisions, problem: Problem, box: Box, walked: Walked, tensor: Side, repeats: tuple[int, ...]) -> Hazard | None:
    """Two walks store to one pixel of the tensor, and to a channel that they share."""
    own, extents = positions(problem, box, repeats), tensor_extents(tensor)
    place = numbered(box, walked, own, extents)
    each = () if place is not None else (Variable("@p", "atom", 0, walked.pixels - 1),)
    pixel = visited(box, walked, own, extents, var("@p"))

    def meets(there: Callable[[Term], Term]) -> Term:
        if box.slices is None:
            channels = _overlap(own[-1], there(own[-1]), walked.channels, 1, extents[-1])
        else:
            channels = terms.conj(terms.eq(own[1], there(own[1])), terms.lt(own[1], extents[1]))
        if place is not None:
            return terms.conj(channels, _overlap(place[0], there(place[0]), walked.pixels, 1, place[1]))
        same = (terms.eq(axis, there(axis)) for axis in pixel)
        return terms.conj(channels, *same, terms.lt(pixel[0], extents[0]))

    if checker.tiers.decide(pair(problem, repeats, issuing(problem, box), meets, each)).holds is not False:
        return None
    return Hazard("memory.race", f"two instructions store to one element of {tensor.name}; which one wins is undefined")


def numbered(box: Box, walked: Walked, at: tuple[Term, ...], extents: tuple[Term, ...]) -> tuple[Term, Term] | None:
    """(the place of a start among all pixels that walks visit, how many there are); None where a walk leaves pixels out."""
    if any(box.strides[k] != 1 for k in (0, *box.spatial)):
        return None
    place, count = at[0], extents[0]
    for k, lower, upper in zip(box.spatial, walked.lower, walked.upper, strict=True):
        size = terms.add(extents[k], upper - lower)
        place, count = terms.add(terms.mul(place, size), at[k], -lower), terms.mul(count, size)
    return place, count


def visited(box: Box, walked: Walked, at: tuple[Term, ...], extents: tuple[Term, ...], number: Term) -> tuple[Term, ...]:
    """The batch and spatial coordinates of one pixel of a walk: along each axis first from the start to its end, then from corner to corner."""
    carry, found = number, list[Term]()
    for k, lower, upper in reversed(list(zip(box.spatial, walked.lower, walked.upper, strict=True))):
        step, last = box.strides[k], terms.add(extents[k], upper - 1)
        first = terms.add(terms.floordiv(terms.sub(last, at[k]), step), 1)
        size = terms.add(terms.floordiv(terms.sub(last, lower), step), 1)
        rest, before = terms.sub(carry, first), terms.lt(carry, first)
        again = terms.add(lower, terms.mul(step, terms.mod(rest, size)))
        found.append(terms.select(before, terms.add(at[k], terms.mul(step, carry)), again))
        carry = terms.select(before, 0, terms.add(1, terms.floordiv(rest, size)))
    return (terms.add(at[0], terms.mul(box.strides[0], carry)), *reversed(found))


def tail(checker: Decisions, problem: Problem, box: Box, tensor: Side, repeats: tuple[int, ...]) -> Hazard | None:
    """A row of the tensor stored across the end of an extent that is no multiple of 16 bytes is cut at the next one."""
    if box.slices is not None:
        return None
    (*outer, limit), unit = tensor_extents(tensor), 8 * box.copy.limits.multiple_bytes
    *at, start = positions(problem, box, repeats)
    if box.copy.rows:
        inside = terms.disj(*(terms.lt(row, outer[0]) for row in at))
    else:
        inside = terms.conj(*(terms.lt(one, extent) for one, extent in zip(at, outer, strict=True)))
    across = terms.conj(
        inside,
        terms.lt(start, limit),
        terms.lt(limit, terms.add(start, box.extents[-1])),
        terms.ne(terms.mod(terms.mul(box.bits, limit), unit), 0),
    )
    if across is False:
        return None
    outcome = checker.tiers.decide(Obligation(issue_variables(problem, repeats), issuing(problem, box), terms.negate(across)))
    if outcome.holds is not False:
        return None
    return Hazard(
        "store.tail", f"a row is stored across the end of {tensor.name}: bytes up to the next multiple of 16 behind the extent are written"
    )
