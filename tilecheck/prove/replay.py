"""From a witness to a counterexample: the evaluator looks at the same point on its own before anyone sees it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from tilecheck.call import Call
from tilecheck.errors import DisagreementError
from tilecheck.fitting import Same
from tilecheck.prove.clause import Clause
from tilecheck.prove.obligation import Outcome
from tilecheck.prove.problem import Problem, Side
from tilecheck.prove.verdict import Counterexample
from tilecheck.scopes import CTA, LANES
from tilecheck.spec import Contract, data
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import ELECTED

if TYPE_CHECKING:
    from tilecheck.evaluate import Model, Point
    from tilecheck.evaluate.clauses import Observation


@lru_cache(maxsize=64)
def _contract_data(contract_opcode: str, contract: Same[Contract]) -> Mapping[str, object]:
    del contract_opcode
    return data(contract.it)


@lru_cache(maxsize=16)
def model(call: Same[Call], contract: Same[Contract]) -> Model:
    """The evaluator's model of a call; the evaluator is loaded when a call is first refuted."""
    from tilecheck.evaluate import Model

    return Model(_contract_data(call.it.opcode, contract), call.it.to_json())


def model_of(call: Call, contract: Contract) -> Model:
    """The evaluator's model of a call under a contract."""
    return model(Same(call), Same(contract))


def point_of(problem: Problem, clause: Clause, witness: Mapping[str, int]) -> Point:
    """The point a witness names; coordinates that have no say are 0, clauses about a whole operand have no thread."""
    from tilecheck.evaluate import Point

    symbols = {v.name: witness[v.name] for v in problem.symbols if v.name in witness}
    if ELECTED in witness:
        symbols["elected"] = witness[ELECTED]
    side = next((s for s in problem.sides if clause.id.startswith(s.spec.name + ".")), None)
    if "@base" in witness and side is not None:
        symbols[f"base({allocation_of(problem, side)})"] = witness["@base"]
    if clause.point in {"symbols", "none"} or CTA not in witness:
        atom = _at(clause, witness) if clause.point == "coordinates" else ()
        return Point(symbols=symbols, atom=atom)
    lane = witness.get("laneid", 0) if clause.obligation.lane is None else terms.evaluate(clause.obligation.lane, witness)
    thread = (witness[CTA], witness["warpid"] + lane // LANES, lane % LANES)
    here = {**witness, "warpid": thread[1], "laneid": thread[2]}
    if clause.point == "coordinates":
        return Point(symbols, *thread, atom=_at(clause, witness))
    if clause.point == "issue":
        axes = tuple(terms.evaluate(axis.coordinate, here) for axis in problem.groups)
        return Point(symbols, *thread, axes, tuple(witness[name] for name in sorted(n for n in witness if n.startswith("@r"))))
    if clause.point == "warp" or side is None:
        return Point(symbols, *thread)
    group = tuple(terms.evaluate(axis.coordinate, here) for axis in problem.groups)
    axes = problem.atom(side)
    count = len(side.trace.shape) - len(group) - len(axes)
    repeat = tuple(witness.get(f"@r{k}", 0) for k in range(count))
    return Point(symbols, *thread, group, repeat, tuple(witness.get(axis.name, 0) for axis in axes))


def allocation_of(problem: Problem, side: Side) -> str:
    """The name of an operand's allocation: the one it shares, else its own, told apart from a shared one of that name."""
    if side.tensor.tensor is not None:
        return side.tensor.tensor
    return f"{side.label}#own" if side.label in {other.tensor.tensor for other in problem.sides} else side.label


def _at(clause: Clause, witness: Mapping[str, int]) -> tuple[int, ...]:
    """The coordinate of a view at which a dtype view splits an element; a narrowing one is named by its first new element."""
    found = [witness.get(name, 0) for name in clause.coordinates]
    if clause.narrows:
        found[-1] = (found[-1] + 1) * clause.narrows
    return tuple(found)


def counterexample(problem: Problem, clause: Clause, outcome: Outcome) -> Counterexample:
    """The counterexample at the witness, its numbers read off by the evaluator; DisagreementError when it sees no failure there."""
    from tilecheck.evaluate.domain import TooLargeError

    point = point_of(problem, clause, outcome.witness or {})
    try:
        seen = model_of(problem.call, problem.contract.table or problem.contract).observe(clause.id, point)
    except TooLargeError:
        seen = _named(clause, outcome.witness or {})
    if seen is None:
        raise DisagreementError(
            f"internal error, please report: the prover refutes {clause.id} at {point}, the evaluator sees nothing wrong there; "
            f"call: {json.dumps(problem.call.to_json())}"
        )
    return Counterexample(
        tuple(point.symbols.items()),
        point.cta,
        point.warp,
        point.lane,
        point.group,
        point.repeat,
        point.atom,
        seen.expected,
        seen.actual,
        seen.sentence,
    )


def _named(clause: Clause, witness: Mapping[str, int]) -> Observation:
    """What is known of a failure that the evaluator would have to look for among too many elements: where the witness has it."""
    from tilecheck.evaluate.clauses import Observation

    coordinates = [witness[name] for name in sorted(n for n in witness if n.startswith("@c"))]
    actual = f"element {coordinates} breaks it" if coordinates else "it does not hold"
    return Observation(clause.statement, actual, f"{clause.id}: expected {clause.statement}, found: {actual}.")
