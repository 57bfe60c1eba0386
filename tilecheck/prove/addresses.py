"""Clauses about addresses: index ranges, bounds, contiguity, alignment, backing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tilecheck.call import INDEX_DTYPES
from tilecheck.layout.steps import Slice
from tilecheck.prove import structure, tmem
from tilecheck.prove.clause import NOTHING, Clause, Finding, coordinates, element, inside, ranges_of, within
from tilecheck.prove.obligation import Obligation, Variable
from tilecheck.prove.problem import Problem, Side, atom_variables, base_residues, collect_terms, repeat_variables
from tilecheck.scopes import hardware_terms, names_thread, written
from tilecheck.spec.contract import ADDRESSING, Memory, Register
from tilecheck.spec.limits import shared_floor, shared_limit
from tilecheck.spec.tmem import TensorMemory
from tilecheck.symbolic import terms
from tilecheck.symbolic.bounds import all_bounds
from tilecheck.symbolic.bounds import bounds as bounds_of
from tilecheck.symbolic.terms import Expr, Term, var


def indices_in_range(problem: Problem, side: Side, repeats: tuple[int, ...], *, whole: bool = False) -> Iterator[Clause]:
    """index.range of an operand: what is written, and the offsets that follow from it. whole: also what intervals alone show."""
    yield from begins_in_range(problem, side, whole=whole)
    yield from offsets_in_range(problem, side, repeats, whole=whole)


def begins_in_range(problem: Problem, side: Side, *, whole: bool = False) -> Iterator[Clause]:
    """Starts, symbolic shapes and strides: no intermediate result leaves index_dtype, every divisor is positive."""
    name = f"{side.spec.name}.index.range"
    low, high = INDEX_DTYPES[problem.call.index_dtype]
    statement = f"no index of {side.name} leaves {problem.call.index_dtype} ({low} to {high})"
    yield Clause(name, statement, NOTHING)
    begins = [begin for step in side.view.steps if isinstance(step, Slice) for begin in step.begin]
    for entry in dict.fromkeys((*(t for t in begins if isinstance(t, Expr) or not low <= t <= high), *side.view.symbolic)):
        proof = structure.index(problem, entry, low, high)

        def obligation(entry: Term = entry) -> Obligation:
            goal = in_range(entry, low, high, {} if whole else ranges_of(problem), hardware_terms(problem.call.launch))
            return Obligation((*problem.symbols, *problem.thread_variables()), problem.accessing, goal)

        yield Clause(name, statement, obligation, proof=proof)


def in_range(term: Term, low: int, high: int, ranges: Mapping[str, tuple[int, int]], hardware: Mapping[str, Term] | None = None) -> Term:
    """Every intermediate result of `term` as written lies in low..high, every divisor is positive, every shift amount fits.

    hardware: what the hardware coordinates in the term are; the result is over these. Literals count as they are written, also beside
    coordinates that are constant in this launch. Arms of select and parts of and/or count where they are reached.
    """
    coordinates = hardware or {}

    def value(node: Term) -> Term:
        return terms.substitute(node, coordinates)

    def walk(node: Term) -> Term:
        if isinstance(node, int):
            return isinstance(node, bool) or low <= node <= high
        if node.op in {"select", "and", "or"}:
            return _guarded(node, walk, value)
        args = list(terms.children(node))
        parts = [walk(arg) for arg in args]
        if node.op in {"//", "%", "tdiv", "tmod"}:
            parts.append(terms.lt(0, value(args[1])))
        if node.op in {"<<", ">>"}:
            parts.append(terms.conj(terms.le(0, value(args[1])), terms.le(value(args[1]), terms.MAX_SHIFT)))
        if not node.is_truth:
            found = value(node)
            ends = bounds_of(found, ranges) if terms.variables(found) <= ranges.keys() else None
            if ends is None or ends[0] < low or ends[1] > high:
                parts.append(terms.conj(terms.le(low, found), terms.le(found, high)))
        return terms.conj(*parts)

    return walk(term)


def _guarded(node: Expr, walk: Callable[[Term], Term], value: Callable[[Term], Term]) -> Term:
    args = list(terms.children(node))
    if node.op == "select":
        condition, then, otherwise = args
        holds = value(condition)
        return terms.conj(walk(condition), terms.disj(terms.negate(holds), walk(then)), terms.disj(holds, walk(otherwise)))
    parts: list[Term] = []
    before: list[Term] = []
    for arg in args:
        parts.append(terms.disj(*before, walk(arg)))
        before.append(terms.negate(value(arg)) if node.op == "and" else value(arg))
    return terms.conj(*parts)


def divisors(problem: Problem) -> Iterator[Clause]:
    """Divisors and shift amounts of the assumptions, the guard and pred."""
    call = problem.call
    kinds = {p.name: p.kind for p in problem.contract.parameters}
    others = [v for name, v in call.parameters if isinstance(v, Expr) and name != "pred" and kinds.get(name) not in ADDRESSING]
    others += [v for name, value in call.parameters if kinds.get(name) == "words" for v in collect_terms((value,))]
    if problem.context.undivided and not others:
        return
    statement = "every divisor of assumptions, guard, pred and other operands is positive, every shift amount at least 0"
    facts = [written(a, call.launch) for a in call.assume if not names_thread(a)]
    conditions = [written(c, call.launch) for c in (call.guard, *(a for a in call.assume if names_thread(a)))]
    possible = [terms.disj(terms.negate(terms.has_value(fact)), fact) for fact in facts]
    variables = (*problem.symbols, *problem.thread_variables())
    for index, fact in enumerate(facts):
        goal = terms.definedness(fact)
        if goal is not True:
            premise = terms.conj(*possible[:index], *possible[index + 1 :])
            yield Clause("index.range", statement, Obligation(problem.symbols, premise, goal), point="symbols")
    for condition in conditions:
        goal = terms.definedness(condition)
        if goal is not True:
            yield Clause("index.range", statement, Obligation(variables, terms.conj(problem.run.exists, *facts), goal), point="warp")
    for condition in (call.pred, *others):
        goal = terms.definedness(written(condition, call.launch))
        if goal is not True:
            yield Clause("index.range", statement, Obligation(variables, problem.active, goal), point="warp")


def offsets_in_range(problem: Problem, side: Side, repeats: tuple[int, ...], *, whole: bool = False) -> Iterator[Clause]:
    """The linear offset of every accessed element fits index_dtype, in elements of the declared dtype, before the swizzle."""
    if not isinstance(side.spec, Memory):
        return
    low, high = INDEX_DTYPES[problem.call.index_dtype]
    if structure.offsets(side, low, high) and not whole:
        return
    linear = side.trace.locate(coordinates(problem, repeats, side=side)).linear
    more = max(0, side.trace.bits // side.tensor.bits - 1)
    name, statement = f"{side.spec.name}.index.range", f"no index of {side.name} leaves {problem.call.index_dtype} ({low} to {high})"
    ranges = ranges_of(problem) | {
        v.name: (0, v.high or 0) for v in (*repeat_variables(repeats), *atom_variables(problem.contract, of=side.spec))
    }
    lowest, highest = all_bounds(linear, ranges)[linear] if isinstance(linear, Expr) else (linear, linear)
    if lowest >= low and highest + more <= high and not whole:
        return
    goal = terms.conj(terms.le(low, linear), terms.le(terms.add(linear, more), high))
    premise = terms.conj(problem.accessing, within(side))
    yield Clause(name, statement, element(problem, side, repeats, premise, goal))


def bounds(problem: Problem, side: Side, repeats: tuple[int, ...], *, whole: bool = False) -> Iterator[Clause]:
    """Every slice stays inside its axis, and nothing lies below the base. whole: also what intervals alone show."""
    name = f"{side.spec.name}.bounds"
    statement = f"every region of {side.name} stays inside the axes it is cut from"
    placed = isinstance(side.spec, TensorMemory)
    if side.strided is not None and (placed or side.strided.ends()[0] >= 0):
        yield Clause(
            name, statement, lambda: bounds_obligation(problem, side, repeats), proof="domain" if side.view.symbolic else "structure"
        )
        return
    yield Clause(name, statement, NOTHING)
    variables = (*problem.symbols, *problem.thread_variables())
    for check in side.trace.slices:
        goal = inside(check)
        yield Clause(name, statement, Obligation(variables, terms.conj(problem.accessing, side.defined), goal))
    if placed:  # what lies below lane or column 0 is a matter of `footprint`
        return
    bit = side.trace.locate(coordinates(problem, repeats, side=side)).bit
    own = (*repeat_variables(repeats), *atom_variables(problem.contract, of=side.spec))
    ranges = ranges_of(problem) | {v.name: (0, v.high or 0) for v in own}
    lowest = all_bounds(bit, ranges)[bit][0] if isinstance(bit, Expr) else bit
    if lowest < 0 or whole:
        yield Clause(name, statement, element(problem, side, repeats, problem.accessing, terms.le(0, bit)))


def bounds_obligation(problem: Problem, side: Side, repeats: tuple[int, ...]) -> Obligation:
    """All that bounds asks, as one formula."""
    bit = side.trace.locate(coordinates(problem, repeats, side=side)).bit
    above = isinstance(side.spec, TensorMemory) or terms.le(0, bit)
    goal = terms.conj(*(inside(check) for check in side.trace.slices), above)
    return element(problem, side, repeats, problem.accessing, goal)


def addresses(problem: Problem, side: Side, repeats: tuple[int, ...]) -> Iterator[Clause]:
    """contiguous and aligned."""
    spec = side.spec
    if not isinstance(spec, Memory):
        return
    yield Clause(
        f"{spec.name}.contiguous",
        f"the words of a row of {side.name} are consecutive, {f'{spec.bits} bits' if spec.bits % 8 else f'{spec.bits // 8} bytes'} each",
        lambda: contiguous(problem, side, repeats, spec),
        proof=structure.contiguous(problem, side, spec),
    )
    values = base_residues(problem, side, spec.align_bytes)
    yield Clause(
        f"{spec.name}.aligned",
        f"every row of {side.name} starts at a multiple of {spec.align_bytes} bytes",
        lambda: aligned(problem, side, repeats, spec, values),
        proof=structure.aligned(problem, side, spec, values),
    )


def first_bit(problem: Problem, side: Side, repeats: tuple[int, ...], spec: Memory) -> Term:
    """The first bit of a row."""
    return side.trace.locate(coordinates(problem, repeats, dict.fromkeys(spec.row, 0))).bit


def contiguous(problem: Problem, side: Side, repeats: tuple[int, ...], spec: Memory) -> Obligation:
    """Element k of a row is k elements behind the first."""
    index: Term = 0
    for axis in problem.contract.atom:
        if axis.name in spec.row:
            index = terms.add(terms.mul(index, axis.extent), var(axis.name))
    here = side.trace.locate(coordinates(problem, repeats)).bit
    together = terms.eq(here, terms.add(first_bit(problem, side, repeats, spec), terms.mul(spec.bits, index)))
    return element(problem, side, repeats, problem.accessing, together)


def aligned(problem: Problem, side: Side, repeats: tuple[int, ...], spec: Memory, values: tuple[int, ...]) -> Obligation:
    """Every row starts at a multiple of the alignment, at every base that align and base allow (`values`: residues in bytes)."""
    base: Term = values[0] if len(values) == 1 else var("@base")
    own = () if isinstance(base, int) else (Variable("@base", "base", None, None, values=values),)
    begin = terms.add(first_bit(problem, side, repeats, spec), terms.mul(8, base))
    goal = terms.eq(terms.mod(begin, 8 * spec.align_bytes), 0)
    return element(problem, side, repeats, problem.accessing, goal, own, spec.row)


def base_period(side: Side, period: int, swizzle: int, bases: tuple[int, ...]) -> tuple[str, str, list[Finding]]:
    """The clause base.period: its id, its statement, and a base that is not known modulo the period of a hardware swizzle. period: bytes."""
    name, statement = (
        f"{side.spec.name}.base.period",
        f"the base of {side.name} is known modulo {period} bytes, the period of swizzle {swizzle}",
    )
    if len(bases) == 1:
        return name, statement, []
    step = bases[1] - bases[0]
    sentence = f"the base of {side.name} is known modulo {step} bytes, the swizzle acts on addresses modulo {period}"
    return name, statement, [Finding(sentence, f"align, or base, modulo {period} bytes", f"modulo {step} bytes")]


def allocation(problem: Problem, side: Side) -> tuple[Term, int | None]:
    """(bytes that the declared layout spans, through its swizzle; the declared size of the allocation, the least where operands differ)."""
    given = [other.tensor.size_bytes for other in problem.sharing(side) if isinstance(other.tensor.size_bytes, int)]
    return side.span_bytes, min(given) if given else None


def backing(problem: Problem, side: Side) -> Iterator[Clause]:
    """The declared layout fits its allocation, a shared allocation fits the machine."""
    name = f"{side.spec.name}.backing"
    if isinstance(side.spec, TensorMemory):
        yield tmem.backing(problem, side, side.spec)
        return
    needed, size = allocation(problem, side)
    per = " of each thread" if isinstance(side.spec, Register) else ""
    statement = f"the allocation of {side.name}{per} holds its declared layout"
    if size is not None:
        fits = terms.le(needed, size)
        static = isinstance(fits, bool)
        yield Clause(
            name, statement, Obligation(() if static else problem.symbols, True if static else problem.facts, fits), point="symbols"
        )
    else:
        yield Clause(name, statement, NOTHING)
    if side.tensor.space == "shared" and isinstance(needed, int):
        most = shared_limit(problem.call.arch)
        text = f"{statement}, and a CTA has at most {most} bytes of shared memory"
        yield Clause(name, text, Obligation((), True, terms.le(max(size or 0, needed), most)), point="symbols")


def arch_floor(problem: Problem, side: Side) -> str | None:
    """The architecture that a shared allocation of this size needs."""
    if side.tensor.space != "shared":
        return None
    needed, size = allocation(problem, side)
    return shared_floor(max(size or 0, needed)) if isinstance(needed, int) else None
