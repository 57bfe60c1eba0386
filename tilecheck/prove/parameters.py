"""Clauses about parameters: chunk sizes, integers with bounds, CTAs of the cluster, and the bytes that a barrier counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod

from tilecheck.call import COORDINATES, INDEX_DTYPES, Call
from tilecheck.fitting import chunk_fault, chunk_text, value_of
from tilecheck.prove import structure
from tilecheck.prove.addresses import in_range
from tilecheck.prove.clause import NOTHING, Clause, Finding, ranges_of
from tilecheck.prove.obligation import Obligation, Outcome, Variable
from tilecheck.prove.problem import Problem
from tilecheck.scopes import CTA, LANES, ground, hardware_terms, written
from tilecheck.sizing import shape_fault
from tilecheck.spec.contract import ADDRESSING, Contract, Memory, Parameter
from tilecheck.spec.instruction import Sized
from tilecheck.symbolic import terms
from tilecheck.symbolic.parse import parse
from tilecheck.symbolic.terms import Expr, Term, var

MOST_THREADS = 1 << 14


def chunk(call: Call, contract: Contract) -> tuple[str, str, list[Finding]] | None:
    """(clause, statement, findings) about the size of a chunk; None where the contract has none."""
    parameter = contract.parameter("chunk")
    if parameter is None:
        return None
    fault = chunk_fault(contract, call)
    sentence = "" if fault is None else f"{parameter.name}: expected {fault[0]}, found {fault[1]}"
    return f"{parameter.name}.shape", f"a chunk has {chunk_text(parameter)}", [] if fault is None else [Finding(sentence, *fault)]


def instruction(call: Call, contract: Contract) -> tuple[str, str, list[Finding]] | None:
    """(clause, statement, findings) about the shape of the instruction, where the call says it."""
    if contract.sized is not None:
        return _size(call, contract, contract.sized)
    parameter = contract.parameter("shape")
    given = None if parameter is None else call.parameter(parameter.name)
    if parameter is None or given is None:
        return None
    wanted = f"[{', '.join(map(str, parameter.choices))}]"
    found = f"[{', '.join(map(str, given))}]" if isinstance(given, tuple) else str(given)
    wrong = [] if given == parameter.choices else [Finding(f"{parameter.name}: expected {wanted}, found {found}", wanted, found)]
    return f"{parameter.name}.shape", f"the shape of the instruction is {wanted}, as the opcode says", wrong


def _size(call: Call, contract: Contract, sized: Sized) -> tuple[str, str, list[Finding]]:
    fault = shape_fault(call, contract)
    sentence = "" if fault is None else f"{sized.parameter}: expected {fault[0]}; found {fault[1]}"
    return (
        f"{sized.parameter}.shape",
        f"the shape of one instruction is one of {sized.text}",
        [] if fault is None else [Finding(sentence, *fault)],
    )


def barrier(call: Call, contract: Contract) -> tuple[str, str, list[Finding]] | None:
    """(clause, statement, findings) about the space of the barrier; None where the contract has none."""
    parameter = contract.barrier
    if parameter is None:
        return None
    space = str(call.parameter(parameter.name))
    sentence = f"{parameter.name} is in {space} space, a barrier is in shared memory"
    return f"{parameter.name}.storage", "the barrier is in shared memory", [] if space == "shared" else [Finding(sentence, "shared", space)]


def clauses(problem: Problem) -> Iterator[Clause]:
    """index.range, and bounds or cluster, of every parameter that says what is accessed; bounds of 64-bit operands that are expressions."""
    call, launch = problem.call, problem.call.launch
    low, high = INDEX_DTYPES[call.index_dtype]
    for parameter in problem.contract.parameters:
        if parameter.kind == "words":
            yield from _words(problem, parameter)
            continue
        plain = parameter.kind == "u64"
        value = value_of(call, parameter) if parameter.kind in ADDRESSING or plain else None
        if value is None or (plain and isinstance(value, int)):  # a number is right or wrong as an operand
            continue
        variables = (*problem.symbols, *problem.thread_variables())
        if plain:
            yield _limited(problem, parameter, value, variables)
            continue
        statement = f"no index of {parameter.name} leaves {call.index_dtype} ({low} to {high})"
        proof = structure.index(problem, value, low, high)

        def whole(value: Term = value, variables: tuple[Variable, ...] = variables) -> Obligation:
            return Obligation(variables, problem.accessing, in_range(value, low, high, ranges_of(problem), hardware_terms(launch)))

        yield Clause(f"{parameter.name}.index.range", statement, whole, point="warp", proof=proof)
        yield _limited(problem, parameter, value, variables)


def _words(problem: Problem, parameter: Parameter) -> Iterator[Clause]:
    """Words of 32 bits that are expressions hold what they say, in every executing thread; numbers are right or wrong as operands."""
    value = problem.call.parameter(parameter.name)
    words = [parse(one) if isinstance(one, str) else one for one in value] if isinstance(value, tuple) else []
    for word in words:
        if not isinstance(word, Expr):
            continue
        own, asked = ground(word, problem.call.launch), written(word, problem.call.launch)
        goal = terms.conj(terms.le(0, own), terms.lt(own, 1 << 32))
        premise = terms.conj(problem.accessing, terms.has_value(asked))
        variables = (*problem.symbols, *problem.thread_variables())
        says = f"every word of {parameter.name} is at least 0 and below 2^32"
        yield Clause(f"{parameter.name}.bounds", says, Obligation(variables, premise, goal), point="warp")


def _limited(problem: Problem, parameter: Parameter, value: Term, variables: tuple[Variable, ...]) -> Clause:
    """The clause that limits a parameter, in every executing thread."""
    launch = problem.call.launch
    name, asks, goal = _limits(problem, parameter, ground(value, launch))
    premise = terms.conj(problem.accessing, terms.has_value(written(value, launch)))
    return Clause(name, asks, Obligation(variables, premise, goal), point="warp")


def _limits(problem: Problem, parameter: Parameter, value: Term) -> tuple[str, str, Term]:
    """(clause, what it asks, the same as a condition) of one parameter."""
    name, ctas = parameter.name, problem.call.launch.ctas
    if parameter.kind == "rank":
        inside = terms.conj(terms.le(0, value), terms.lt(value, ctas))
        statement = f"{name} is the rank of a CTA of the cluster (0 to {ctas - 1}) other than the executing thread's"
        return f"{name}.cluster", statement, terms.conj(inside, terms.ne(value, var(CTA) if ctas > 1 else 0))
    if parameter.kind == "mask":
        every = (1 << ctas) - 1
        statement = f"{name} names at least one CTA, and only CTAs of the cluster (bits 0 to {ctas - 1})"
        return f"{name}.cluster", statement, terms.conj(terms.le(1, value), terms.le(value, every))
    most, step = largest(problem.call, parameter), parameter.step
    asks = f"{name} is at least 0 and at most {most}" + (f", a multiple of {step}" if step > 1 else "")
    steps = terms.eq(terms.mod(value, step), 0) if step > 1 else True
    return f"{name}.bounds", asks, terms.conj(terms.le(0, value), terms.le(value, most), steps)


def largest(call: Call, parameter: Parameter) -> int:
    """The largest value of an integer parameter."""
    if parameter.kind == "u64":
        return parameter.most if isinstance(parameter.most, int) and parameter.most else (1 << 64) - 1
    most = parameter.most if isinstance(parameter.most, int) else call.parameter(parameter.most)
    assert isinstance(most, int)
    return most


def reaches(problem: Problem, spec: Memory, cta: Term) -> Term:
    """Whether the copy of an operand in a CTA is one of those that the executing thread accesses."""
    parameter = next((p for p in problem.contract.parameters if p.name == spec.cta), None)
    if parameter is None:
        return terms.eq(var(CTA), cta)
    value = value_of(problem.call, parameter)
    assert value is not None
    own = ground(value, problem.call.launch)
    return terms.eq(own, cta) if parameter.kind == "rank" else terms.ne(terms.mod(terms.shr(own, cta), 2), 0)


def transaction(problem: Problem, repeats: tuple[int, ...]) -> Iterator[Clause]:
    """What the call adds to the barrier of each CTA that it writes; compared with what the call says, if it says so."""
    parameter, barrier = problem.contract.parameter("bytes"), problem.contract.barrier
    target = next((s.spec for s in problem.sides if isinstance(s.spec, Memory) and s.spec.write), None)
    if parameter is None or barrier is None or target is None:
        return
    chunk_bytes = prod(problem.contract.suffix) * target.bits // 8
    name, each = f"{parameter.name}.operands", chunk_bytes * prod(repeats)
    wanted = value_of(problem.call, parameter)
    statement = f"each instruction adds {chunk_bytes} bytes to the barrier {barrier.name} of every CTA it writes"
    if wanted is None:
        yield Clause(name, statement, NOTHING)
        return
    totals = _totals(problem, target, each)
    wanted = ground(wanted, problem.call.launch)
    statement = f"{statement}, the whole call {parameter.name} = {wanted} to each"
    if isinstance(totals, str):
        yield Clause(name, statement, NOTHING, outcome=Outcome(holds=None, reason=totals))
        return
    varying = {s.name for s in problem.call.symbols if s.varies not in {"grid", "cluster"}}
    if any(terms.variables(term) & varying for term in (*totals, wanted)):
        reason = "what the call adds depends on a symbol that varies inside the cluster"
        yield Clause(name, statement, NOTHING, outcome=Outcome(holds=None, reason=reason))
        return
    goal = terms.conj(*(terms.disj(terms.eq(total, 0), terms.eq(total, wanted)) for total in dict.fromkeys(totals)))
    elected = tuple(v for v in problem.thread_variables() if v.role == "elected")
    premise = terms.conj(problem.facts, terms.has_value(written(wanted, problem.call.launch)))
    yield Clause(name, statement, Obligation((*problem.symbols, *elected), premise, goal), point="symbols")


def _totals(problem: Problem, target: Memory, each: int) -> list[Term] | str:
    """The bytes that each CTA's barrier receives, as terms over the symbols; why nobody knows."""
    launch = problem.call.launch
    if launch.ctas * launch.threads > MOST_THREADS:
        return f"{launch.ctas * launch.threads} threads, more than the {MOST_THREADS} that are added up"
    executes = terms.conj(problem.run.exists, problem.run.activity, problem.run.pred)
    issuing: list[tuple[dict[str, int], Term]] = [({}, executes)]
    for name, count in ((CTA, launch.ctas), ("warpid", launch.warps), ("laneid", LANES)):
        issuing = [
            (own | {name: value}, condition)
            for own, sofar in issuing
            for value in range(count)
            if (condition := terms.substitute(sofar, {name: value})) is not False
        ]
    totals: list[Term] = []
    for cta in range(launch.ctas):
        there = reaches(problem, target, cta)
        counts = Counter(terms.conj(condition, terms.substitute(there, own)) for own, condition in issuing)
        totals.append(terms.add(0, *(terms.mul(each * count, terms.select(condition, 1, 0)) for condition, count in counts.items())))
    return totals


def misplaced(call: Call, parameter: Parameter) -> bool:
    """Whether a value that is one for the whole cluster names a thread coordinate."""
    value = value_of(call, parameter)
    return parameter.kind == "bytes" and isinstance(value, Expr) and bool(terms.variables(value) & COORDINATES)
