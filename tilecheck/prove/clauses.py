"""The clauses of a contract at a call: findings that need no symbols, and obligations for those that do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tilecheck.call import INDEX_DTYPES, Call, Scalar, Value
from tilecheck.layout.axes import THREAD_AXES
from tilecheck.layout.span import span
from tilecheck.layout.steps import Slice
from tilecheck.layout.trace import RetypeCheck, SliceCheck
from tilecheck.prove import active
from tilecheck.prove.obligation import Obligation, Outcome, Variable
from tilecheck.prove.problem import Problem, Side, atom_variables, base_residues, repeat_terms, repeat_variables
from tilecheck.prove.tiers import Tiers
from tilecheck.prove.verdict import Counterexample
from tilecheck.scopes import LANES, hardware_terms, names_thread, written
from tilecheck.spec.contract import Contract, Memory, Register
from tilecheck.spec.limits import shared_floor, shared_limit
from tilecheck.symbolic import terms
from tilecheck.symbolic.bounds import all_bounds
from tilecheck.symbolic.parse import is_truth, parse
from tilecheck.symbolic.terms import Expr, Term, var


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong whatever the symbols are."""

    sentence: str
    expected: str = ""
    actual: str = ""

    def example(self) -> Counterexample | None:
        """As a counterexample without a thread; None where there is nothing to compare."""
        if not self.expected and not self.actual:
            return None
        return Counterexample((), None, None, None, (), (), (), self.expected, self.actual, self.sentence)


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause: its id, what it asks, and the obligation (or, where it was decided on the way, the outcome).

    point: what a counterexample names: "row" (thread, repeat, atom), "warp" (the thread), "symbols", "none", or "coordinates" of a view
    (`coordinates` are its variables; `narrows`: how many new elements an old one has).
    """

    id: str
    statement: str
    obligation: Obligation
    point: str = "row"
    source: str = ""
    outcome: Outcome | None = None
    coordinates: tuple[str, ...] = ()
    narrows: int = 0


GENERIC = ("global", "shared", "local")
"""The spaces that a generic address may name."""
NOTHING = Obligation((), True, True)


def operand_findings(call: Call, contract: Contract) -> list[Finding]:
    """What is wrong with the number and kind of operands, and with the parameters."""
    wanted = ", ".join(f"{o.name} ({'registers' if isinstance(o, Register) else o.space})" for o in contract.operands)
    if len(call.operands) != len(contract.operands):
        return [
            Finding(
                f"{len(call.operands)} operands given, {contract.mnemonic} takes {len(contract.operands)}: {wanted}",
                f"{len(contract.operands)} operands",
                f"{len(call.operands)} operands",
            )
        ]
    found = [
        Finding(f"operand {k + 1} ({operand.name}) is a scalar, {contract.mnemonic} takes the view {spec.name} there", "a view", "a scalar")
        for k, (operand, spec) in enumerate(zip(call.operands, contract.operands, strict=True))
        if isinstance(operand, Scalar)
    ]
    return found + parameter_findings(call, contract)


def parameter_findings(call: Call, contract: Contract) -> list[Finding]:
    """What is wrong with the parameters."""
    known = {p.name: p for p in contract.parameters}
    given = {name: value for name, value in call.parameters if value is not None}
    found: list[Finding] = []
    for name, value in given.items():
        if name not in known:
            takes = f"takes {', '.join(known)}" if known else "takes no parameter"
            found.append(Finding(f"the parameter {name} is unknown here: {contract.opcode} {takes}", ", ".join(known), name))
        elif not _fits(value, known[name].kind):
            found.append(
                Finding(f"the parameter {name} is {value}, expected {KINDS[known[name].kind]}", KINDS[known[name].kind], str(value))
            )
    for parameter in contract.parameters:
        if parameter.required and parameter.name not in given:
            found.append(
                Finding(f"the parameter {parameter.name} is missing: {contract.opcode} has it as an operand", parameter.name, "none")
            )
        needs = parameter.needs
        if parameter.name in given and needs is not None and given[parameter.name] is not False and needs not in given:
            found.append(Finding(f"{parameter.name} means nothing without {needs}", needs, "none"))
    return found


KINDS = {"predicate": "a condition", "flag": "true or false", "u64": "an unsigned 64-bit integer"}


def _fits(value: Value, kind: str) -> bool:
    if kind == "flag":
        return isinstance(value, bool)
    if isinstance(value, str):
        value = parse(value, truth=kind == "predicate")
    if kind == "predicate":
        return isinstance(value, bool | Expr) and is_truth(value)
    if isinstance(value, bool) or not isinstance(value, int | Expr):
        return False
    return not is_truth(value) and (isinstance(value, Expr) or 0 <= value < 1 << 64)


def storage_statement(side: Side) -> str:
    """What the storage clause asks."""
    space = "registers" if isinstance(side.spec, Register) else f"{side.spec.space} memory"
    return f"{side.name} is in {space}, with elements of {side.spec.bits} bits"


def storage_findings(side: Side) -> list[Finding]:
    """A wrong space, a wrong width, or a dtype view refused for its sizes."""
    space = "register" if isinstance(side.spec, Register) else side.spec.space
    found: list[Finding] = []
    if side.tensor.space != space and not (space == "" and side.tensor.space in GENERIC):
        found.append(Finding(f"{side.name} is in {side.tensor.space} space, the instruction takes {space} there", space, side.tensor.space))
    if side.trace.refusal is not None:
        found.append(Finding(f"a dtype view of {side.name} is refused: {side.trace.refusal}", "whole elements", side.trace.refusal))
    elif side.trace.bits != side.spec.bits:
        found.append(
            Finding(
                f"{side.name} has elements of {side.trace.bits} bits ({side.trace.dtype}), the instruction moves {side.spec.bits}-bit words",
                f"{side.spec.bits} bits",
                f"{side.trace.bits} bits",
            )
        )
    return found


def type_findings(side: Side) -> list[Finding]:
    """A container the contract does not take."""
    takes = side.spec.dtypes
    if takes is None or side.trace.dtype in takes:
        return []
    return [
        Finding(
            f"{side.name} has elements of type {side.trace.dtype}, the instruction takes {', '.join(takes)}",
            ", ".join(takes),
            side.trace.dtype,
        )
    ]


def retypes(problem: Problem, side: Side) -> Iterator[Clause]:
    """Every dtype view keeps bits together: obligations of the storage clause."""
    statement = storage_statement(side) + "; its dtype views split no element"
    name = f"{side.spec.name}.storage"
    yield Clause(name, statement, NOTHING)
    for check in side.trace.retypes:
        if check.trivial:
            continue
        if isinstance(check.divisible, Expr):
            yield Clause(name, statement, Obligation((*problem.symbols,), problem.facts, check.divisible), point="symbols")
        names = tuple(f"@c{k}" for k in range(len(check.shape)))
        narrows = 0 if check.widens else check.old_bits // check.new_bits
        yield Clause(name, statement, _retype(problem, side, check), point="coordinates", coordinates=names, narrows=narrows)


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
        "all 32 lanes of every executing warp execute, with one pred and one start"
        if problem.collective
        else ("the active threads are a product of warps and lanes" if problem.call.scope != "thread" else "any thread may execute")
    )
    source = f"{problem.contract.source}; group, repeat and atom axes"
    yield Clause("participation", statement, NOTHING, source=source, point="warp", outcome=active.participation(problem, tiers))
    if problem.collective and problem.call.scope != "thread":
        for term in active.uniform_terms(problem):
            yield Clause("participation", statement, NOTHING, source=source, point="warp", outcome=active.uniform(problem, term, tiers))


def repeat_extents(problem: Problem) -> tuple[int, ...] | None:
    """The repeat axes of the first operand; None where its rank is too small or an extent is symbolic."""
    front, back = len(problem.groups), len(problem.contract.atom)
    for side in problem.sides:
        shape = side.trace.shape
        if len(shape) >= front + back:
            middle = shape[front : len(shape) - back]
            return tuple(e for e in middle if isinstance(e, int)) if all(isinstance(e, int) for e in middle) else None
    return None


def own_repeats(problem: Problem, side: Side) -> tuple[int, ...]:
    """The repeat axes of an operand of the right shape."""
    shape = side.trace.shape
    return tuple(e for e in shape[len(problem.groups) : len(shape) - len(problem.contract.atom)] if isinstance(e, int))


def shape_statement(problem: Problem, side: Side) -> str:
    """What the shape clause asks."""
    group = ", ".join(f"{axis.kind} {axis.extent}" for axis in problem.groups) or "none"
    atom = ", ".join(f"{axis.name} {axis.extent}" for axis in problem.contract.atom)
    return f"the shape of {side.name} is group ({group}) + repeat + atom ({atom})"


def shape_findings(problem: Problem, side: Side, repeats: tuple[int, ...] | None) -> list[Finding]:
    """A wrong rank, wrong static extents, or repeats other than those of the first operand."""
    shape, atom = side.trace.shape, problem.contract.suffix
    front, back = len(problem.groups), len(atom)
    text = str([e if isinstance(e, int) else str(e) for e in shape])
    group = [axis.extent for axis in problem.groups]
    wanted = f"{[e if isinstance(e, int) else str(e) for e in group]} + repeat + {list(atom)}"

    def wrong(why: str) -> Finding:
        return Finding(f"the shape of {side.name} is {text}, expected group {wanted}: {why}", wanted, text)

    if len(shape) < front + back:
        return [wrong(f"rank {len(shape)} is less than {front + back}")]
    found: list[Finding] = []
    if any(isinstance(extent, Expr) for extent in shape):
        found.append(wrong("extents of a region are static; slice the symbolic axis"))
    found.extend(
        wrong(f"the group axis {axis.kind} has extent {have}, {axis.extent} are active")
        for axis, have in zip(problem.groups, shape, strict=False)
        if isinstance(axis.extent, int) and isinstance(have, int) and have != axis.extent
    )
    tail = shape[len(shape) - back :]
    found.extend(
        wrong(f"the atom axis {axis.name} has extent {have}, the opcode moves {axis.extent}")
        for axis, have in zip(problem.contract.atom, tail, strict=True)
        if isinstance(have, int) and have != axis.extent
    )
    middle = shape[front : len(shape) - back]
    if not found and repeats is not None and middle != repeats:
        found.append(wrong(f"the repeat axes are {list(middle)}, those of {problem.sides[0].name} are {list(repeats)}"))
    return found


def extents(problem: Problem, side: Side) -> Iterator[Clause]:
    """Group extents that depend on symbols equal the written ones for every value."""
    name, statement = f"{side.spec.name}.shape", shape_statement(problem, side)
    yield Clause(name, statement, NOTHING)
    variables = (*problem.symbols, *problem.thread_variables())
    for axis, have in zip(problem.groups, side.trace.shape, strict=False):
        if isinstance(axis.extent, Expr):
            yield Clause(name, statement, Obligation(variables, problem.active, terms.eq(axis.extent, have)), point="symbols")


def _coordinates(problem: Problem, repeats: tuple[int, ...], atom: Mapping[str, Term] | None = None) -> tuple[Term, ...]:
    replaced = atom or {}
    own = tuple(replaced.get(axis.name, var(axis.name)) for axis in problem.contract.atom)
    return (*problem.group_coordinates(), *repeat_terms(len(repeats)), *own)


def _variables(problem: Problem, repeats: tuple[int, ...], *, lane: bool = True, without: tuple[str, ...] = ()) -> tuple[Variable, ...]:
    return (
        *problem.symbols,
        *problem.thread_variables(lane=lane),
        *repeat_variables(repeats),
        *atom_variables(problem.contract, without=without),
    )


def _element(
    problem: Problem,
    side: Side,
    repeats: tuple[int, ...],
    premise: Term,
    goal: Term,
    extra: tuple[Variable, ...] = (),
    without: tuple[str, ...] = (),
) -> Obligation:
    """An obligation about every accessed element; in a collective its lane is the owner or the provider, a function of the atom."""
    spec = side.spec
    premise = terms.conj(premise, side.defined)
    written = spec.lane if isinstance(spec, Register) else spec.provider
    lane = None if written is None else terms.normal(written)
    if lane is not None:
        premise, goal = (terms.substitute(term, {"laneid": lane}) for term in (premise, goal))
    rest = _variables(problem, repeats, lane=lane is None, without=without)[len(problem.symbols) :]
    return Obligation((*problem.symbols, *extra, *rest), premise, goal, lane)


def ownership(problem: Problem, side: Side, repeats: tuple[int, ...], tiers: Tiers) -> Iterator[Clause]:
    """owner, replica and distinct."""
    yield _owner(problem, side, repeats)
    name = side.spec.name
    copies = side.trace.replicas
    if side.spec.write:
        text = ", ".join(f"{extent}:{stride}@{axis}" for axis, extent, stride in copies)
        outcome = Outcome(holds=not copies, witness={})
        yield Clause(
            f"{name}.replica",
            f"every element of {side.name} is in one place only (its replicas would not be written)",
            NOTHING,
            point="none",
            outcome=outcome,
            coordinates=(text,),
        )
    if isinstance(side.spec, Register) and side.spec.write:
        from tilecheck.prove.distinct import distinct

        yield Clause(
            f"{name}.distinct",
            f"the registers of {side.name} that one thread writes are distinct",
            NOTHING,
            outcome=distinct(problem, side, repeats, tiers, within(side)),
        )


def _owner(problem: Problem, side: Side, repeats: tuple[int, ...]) -> Clause:
    register = side.spec if isinstance(side.spec, Register) else None
    lane = register.lane if register is not None else None
    goal = owner_goal(problem, side, repeats)
    who = f"lane {lane} of the executing warp" if lane is not None else "the executing thread"
    statement = (
        f"every element of {side.name} belongs to {who}" if register is not None else f"{side.name} is the copy of the executing thread"
    )
    return Clause(f"{side.spec.name}.owner", statement, _element(problem, side, repeats, terms.conj(problem.active, within(side)), goal))


def owner_goal(problem: Problem, side: Side, repeats: tuple[int, ...]) -> Term:
    """The thread that the layout names is the one that executes the element."""
    located = side.trace.locate(_coordinates(problem, repeats)).axes
    thread = {name: value for name, value in located.items() if name in THREAD_AXES}
    copies = [(axis, extent, stride) for axis, extent, stride in side.trace.replicas if axis in THREAD_AXES]
    for axis, _, _ in copies:
        thread.setdefault(axis, 0)
    if problem.call.scope == "thread":
        return not thread
    if not isinstance(side.spec, Register):
        return _memory_owner(problem, side, thread)
    here = _owner_coordinates(problem, side.spec)
    uncovered = terms.conj(*(terms.eq(value, 0) for value in _uncovered(problem, set(thread), here)))
    choices = [
        terms.conj(*(terms.eq(terms.add(value, shift.get(axis, 0)), here[axis]) for axis, value in thread.items()))
        for shift in _shifts(copies)
    ]
    return terms.conj(uncovered, terms.disj(*choices))


def _shifts(copies: list[tuple[str, Term, Term]]) -> Iterator[dict[str, int]]:
    """Every choice of replicas, as the shift of each axis."""
    if not copies:
        yield {}
        return
    axis, extent, stride = copies[0]
    assert isinstance(extent, int)
    assert isinstance(stride, int)
    for rest in _shifts(copies[1:]):
        for k in range(extent):
            yield {**rest, axis: rest.get(axis, 0) + k * stride}


def _memory_owner(problem: Problem, side: Side, thread: Mapping[str, Term]) -> Term:
    allowed = {"local": set(THREAD_AXES), "shared": {"cbx", "cby", "cbz"}}.get(side.tensor.space, set[str]())
    here = hardware_terms(problem.call.launch)
    return terms.conj(*(terms.eq(value, here[axis]) if axis in allowed else False for axis, value in thread.items()))


def _owner_coordinates(problem: Problem, register: Register) -> dict[str, Term]:
    """The hardware coordinates of the thread that holds the element."""
    here = hardware_terms(problem.call.launch)
    if register.lane is None:
        return here
    lane = terms.normal(register.lane)
    return {name: terms.substitute(value, {"laneid": lane}) for name, value in here.items()}


def _uncovered(problem: Problem, written: set[str], here: Mapping[str, Term]) -> Iterator[Term]:
    """The base coordinates inside the scope that no written axis covers."""
    covers = {
        "laneid": {"lane"},
        "warpid": {"wid", "wg"},
        "wid_in_wg": {"wid"},
        "wgid": {"wg"},
        "tid_in_wg": {"lane", "wid"},
        "tx": {"lane", "wid", "wg"} if here["tx"] == terms.add(terms.mul(LANES, here["warpid"]), here["laneid"]) else set[str](),
        "cbx": {"cbx"},
        "cby": {"cby"},
        "cbz": {"cbz"},
    }
    covered = set[str]().union(*(covers[axis] for axis in written))
    inside = {
        "warp": ("lane",),
        "warpgroup": ("lane", "wid"),
        "cta": ("lane", "wid", "wg"),
        "cluster": ("lane", "wid", "wg", "cbx", "cby", "cbz"),
    }
    names = {"lane": "laneid", "wid": "wid_in_wg", "wg": "wgid", "cbx": "cbx", "cby": "cby", "cbz": "cbz"}
    for base in inside.get(problem.call.scope, ()):
        if base not in covered:
            yield here[names[base]]


def indices_in_range(problem: Problem, side: Side, repeats: tuple[int, ...]) -> Iterator[Clause]:
    """index.range of an operand: what is written, and the offsets that follow from it."""
    yield from begins_in_range(problem, side)
    yield from offsets_in_range(problem, side, repeats)


def begins_in_range(problem: Problem, side: Side) -> Iterator[Clause]:
    """Starts, symbolic shapes and strides: no intermediate result leaves index_dtype, every divisor is positive."""
    name = f"{side.spec.name}.index.range"
    low, high = INDEX_DTYPES[problem.call.index_dtype]
    statement = f"no index of {side.name} leaves {problem.call.index_dtype} ({low} to {high})"
    yield Clause(name, statement, NOTHING)
    variables = (*problem.symbols, *problem.thread_variables())
    begins = [begin for step in side.view.steps if isinstance(step, Slice) for begin in step.begin]
    written_terms = [*begins, *(t for t in side.view.terms() if isinstance(t, Expr))]
    for entry in dict.fromkeys(t for t in written_terms if isinstance(t, Expr) or not low <= t <= high):
        raw = terms.replace(entry, hardware_terms(problem.call.launch))
        goal = in_range(raw, low, high, _ranges(problem))
        yield Clause(name, statement, Obligation(variables, problem.accessing, goal), point="row", coordinates=(str(entry),))


def _ranges(problem: Problem) -> dict[str, tuple[int, int]]:
    known = {v.name: (v.low, v.high) for v in problem.symbols if v.low is not None and v.high is not None}
    first, last = INDEX_DTYPES[problem.call.index_dtype]
    known |= {
        v.name: (first if v.low is None else v.low, last if v.high is None else v.high) for v in problem.symbols if v.name not in known
    }
    return known | problem.run.ranges


def in_range(term: Term, low: int, high: int, ranges: Mapping[str, tuple[int, int]]) -> Term:
    """Every intermediate result of `term` as written lies in low..high, every divisor is positive, every shift amount fits.

    Arms of select and parts of and/or count where they are reached.
    """
    if isinstance(term, int):
        return isinstance(term, bool) or low <= term <= high
    known = all_bounds(term, ranges) if terms.variables(term) <= ranges.keys() else {}

    def walk(node: Term) -> Term:
        if isinstance(node, int):
            return isinstance(node, bool) or low <= node <= high
        if node.op in {"select", "and", "or"}:
            return _guarded(node, walk)
        parts = [walk(arg) for arg in terms.children(node)]
        args = list(terms.children(node))
        if node.op in {"//", "%", "tdiv", "tmod"}:
            parts.append(terms.lt(0, args[1]))
        if node.op in {"<<", ">>"}:
            parts.append(terms.conj(terms.le(0, args[1]), terms.le(args[1], terms.MAX_SHIFT)))
        if not node.is_truth:
            ends = known.get(node)
            if ends is None or ends[0] < low or ends[1] > high:
                parts.append(terms.conj(terms.le(low, terms.normal(node)), terms.le(terms.normal(node), high)))
        return terms.conj(*parts)

    return walk(term)


def _guarded(node: Expr, walk: Callable[[Term], Term]) -> Term:
    args = list(terms.children(node))
    if node.op == "select":
        condition, then, otherwise = args
        return terms.conj(walk(condition), terms.disj(terms.negate(condition), walk(then)), terms.disj(condition, walk(otherwise)))
    parts: list[Term] = []
    before: list[Term] = []
    for arg in args:
        parts.append(terms.disj(*before, walk(arg)))
        before.append(terms.negate(arg) if node.op == "and" else arg)
    return terms.conj(*parts)


def divisors(problem: Problem) -> Iterator[Clause]:
    """Divisors and shift amounts of the assumptions, the guard and pred."""
    statement = "every divisor of assumptions, guard and pred is positive, every shift amount at least 0"
    call = problem.call
    facts = [written(a, call.launch) for a in call.assume if not names_thread(a)]
    conditions = [written(c, call.launch) for c in (call.guard, *(a for a in call.assume if names_thread(a)))]
    possible = [terms.disj(terms.negate(terms.definedness(fact)), fact) for fact in facts]
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
    goal = terms.definedness(written(call.pred, call.launch))
    if goal is not True:
        yield Clause("index.range", statement, Obligation(variables, problem.active, goal), point="warp")


def offsets_in_range(problem: Problem, side: Side, repeats: tuple[int, ...]) -> Iterator[Clause]:
    """The linear offset of every accessed element fits index_dtype, in elements of the declared dtype, before the swizzle."""
    if not isinstance(side.spec, Memory):
        return
    low, high = INDEX_DTYPES[problem.call.index_dtype]
    linear = side.trace.locate(_coordinates(problem, repeats)).linear
    more = max(0, side.trace.bits // side.tensor.bits - 1)
    name, statement = f"{side.spec.name}.index.range", f"no index of {side.name} leaves {problem.call.index_dtype} ({low} to {high})"
    ranges = _ranges(problem) | {v.name: (0, v.high or 0) for v in (*repeat_variables(repeats), *atom_variables(problem.contract))}
    lowest, highest = all_bounds(linear, ranges)[linear] if isinstance(linear, Expr) else (linear, linear)
    if lowest >= low and highest + more <= high:
        return
    goal = terms.conj(terms.le(low, linear), terms.le(terms.add(linear, more), high))
    premise = terms.conj(problem.accessing, within(side))
    yield Clause(name, statement, _element(problem, side, repeats, premise, goal), coordinates=("offset",))


def within(side: Side) -> Term:
    """Every slice of the view stays inside its axis: elsewhere an element is nowhere."""
    return terms.conj(*(inside(check) for check in side.trace.slices))


def inside(check: SliceCheck) -> Term:
    """A slice stays inside its axis."""
    begin = terms.normal(check.begin)
    return terms.conj(terms.le(0, begin), terms.le(terms.add(begin, check.extent), terms.normal(check.limit)))


def bounds(problem: Problem, side: Side, repeats: tuple[int, ...]) -> Iterator[Clause]:
    """Every slice stays inside its axis, and nothing lies below the base."""
    name = f"{side.spec.name}.bounds"
    statement = f"every region of {side.name} stays inside the axes it is cut from"
    yield Clause(name, statement, NOTHING)
    variables = (*problem.symbols, *problem.thread_variables())
    for check in side.trace.slices:
        goal = inside(check)
        where = (str(check.step), str(check.axis))
        yield Clause(
            name, statement, Obligation(variables, terms.conj(problem.accessing, side.defined), goal), point="row", coordinates=where
        )
    bit = side.trace.locate(_coordinates(problem, repeats)).bit
    ranges = _ranges(problem) | {v.name: (0, v.high or 0) for v in (*repeat_variables(repeats), *atom_variables(problem.contract))}
    lowest = all_bounds(bit, ranges)[bit][0] if isinstance(bit, Expr) else bit
    if lowest < 0:
        yield Clause(name, statement, _element(problem, side, repeats, problem.accessing, terms.le(0, bit)), coordinates=("base",))


def addresses(problem: Problem, side: Side, repeats: tuple[int, ...]) -> Iterator[Clause]:
    """contiguous and aligned."""
    spec = side.spec
    if not isinstance(spec, Memory):
        return
    start = dict.fromkeys(spec.row, 0)
    first = side.trace.locate(_coordinates(problem, repeats, start)).bit
    index: Term = 0
    for axis in problem.contract.atom:
        if axis.name in spec.row:
            index = terms.add(terms.mul(index, axis.extent), var(axis.name))
    here = side.trace.locate(_coordinates(problem, repeats)).bit
    together = terms.eq(here, terms.add(first, terms.mul(spec.bits, index)))
    yield Clause(
        f"{spec.name}.contiguous",
        f"the words of a row of {side.name} are consecutive, {spec.bits // 8} bytes each",
        _element(problem, side, repeats, problem.accessing, together),
    )
    modulus = spec.align_bytes
    values = base_residues(problem, side, modulus)
    base: Term = values[0] if len(values) == 1 else var("@base")
    own = () if isinstance(base, int) else (Variable("@base", "base", None, None, values=values),)
    aligned = terms.eq(terms.mod(terms.add(first, terms.mul(8, base)), 8 * modulus), 0)
    yield Clause(
        f"{spec.name}.aligned",
        f"every row of {side.name} starts at a multiple of {modulus} bytes",
        _element(problem, side, repeats, problem.accessing, aligned, own, spec.row),
    )


def allocation(problem: Problem, side: Side) -> tuple[Term, int | None]:
    """(bytes that the declared layout spans, through its swizzle; the declared size of the allocation, the least where operands differ)."""
    tensor = side.tensor
    bits = terms.mul(terms.normal(span(side.trace.tensor.layout)), tensor.bits)
    needed = terms.floordiv(terms.add(terms.maximum(0, bits), 7), 8)
    given = [
        other.tensor.size_bytes
        for other in problem.sides
        if isinstance(other.tensor.size_bytes, int)
        and (other is side or (tensor.tensor is not None and other.tensor.tensor == tensor.tensor))
    ]
    return needed, min(given) if given else None


def backing(problem: Problem, side: Side) -> Iterator[Clause]:
    """The declared layout fits its allocation, a shared allocation fits the machine."""
    name = f"{side.spec.name}.backing"
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
    needed, size = allocation(problem, side)
    return shared_floor(max(size or 0, needed)) if side.tensor.space == "shared" and isinstance(needed, int) else None
