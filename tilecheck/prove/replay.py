"""From a witness to a counterexample: the evaluator looks at the same point on its own before anyone sees it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache

from tilecheck.call import Call
from tilecheck.errors import TilecheckError
from tilecheck.evaluate import Model, Point
from tilecheck.prove.clauses import Clause
from tilecheck.prove.obligation import Outcome
from tilecheck.prove.problem import Problem
from tilecheck.prove.verdict import Counterexample
from tilecheck.scopes import CTA
from tilecheck.spec import Contract, data
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import ELECTED


class Disagreement(TilecheckError):
    """The prover and the evaluator disagree: a fault of tilecheck, with what reproduces it."""


@lru_cache(maxsize=64)
def _contract_data(contract_opcode: str, contract: _ByIdentity) -> Mapping[str, object]:
    del contract_opcode
    return data(contract.contract)


class _ByIdentity:
    """A contract as a cache key: contracts are cached by opcode, so identity is enough."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract

    def __hash__(self) -> int:
        return id(self.contract)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and other.contract is self.contract


@lru_cache(maxsize=16)
def model(call: Call, contract: _ByIdentity) -> Model:
    """The evaluator's model of a call."""
    return Model(_contract_data(call.opcode, contract), call.to_json())


def model_of(call: Call, contract: Contract) -> Model:
    """The evaluator's model of a call under a contract."""
    return model(call, _ByIdentity(contract))


def point_of(problem: Problem, clause: Clause, witness: Mapping[str, int]) -> Point:
    """The point a witness names: what the clause has no use for stays empty."""
    symbols = {v.name: witness[v.name] for v in problem.symbols if v.name in witness}
    side = next((s for s in problem.sides if clause.id.startswith(s.spec.name + ".")), None)
    if "@base" in witness and side is not None:
        symbols[f"base({side.tensor.tensor or side.name})"] = witness["@base"]
    if ELECTED in witness:
        symbols["elected"] = witness[ELECTED]
    if clause.point in {"symbols", "none"}:
        return Point(symbols=symbols, cta=None, warp=None, lane=None, group=(), repeat=(), atom=())
    lane = witness.get("laneid")
    if clause.obligation.lane is not None:
        lane = terms.evaluate(clause.obligation.lane, witness)
    thread = {**witness, "laneid": lane if lane is not None else 0}
    group = tuple(terms.evaluate(axis.coordinate, thread) for axis in problem.groups) if clause.point in {"row", "thread"} else ()
    repeat = tuple(value for name, value in witness.items() if name.startswith("@r"))
    names = clause.coordinates if clause.point == "coordinates" else tuple(axis.name for axis in problem.contract.atom)
    atom: tuple[int, ...] = ()
    if clause.point in {"row", "coordinates"}:
        atom = tuple(witness.get(name, 0) for name in names)
    if clause.point == "coordinates":
        repeat = ()
    return Point(symbols=symbols, cta=witness.get(CTA), warp=witness.get("warpid"), lane=lane, group=group, repeat=repeat, atom=atom)


def counterexample(problem: Problem, clause: Clause, outcome: Outcome) -> Counterexample:
    """The counterexample at the witness, its numbers read off by the evaluator; Disagreement when it sees no failure there."""
    point = point_of(problem, clause, outcome.witness or {})
    seen = model_of(problem.call, problem.contract).observe(clause.id, point)
    if seen is None:
        raise Disagreement(
            f"internal error, please report: the prover refutes {clause.id} at {point}, the evaluator sees nothing wrong there; "
            f"call: {json.dumps(problem.call.to_json())}"
        )
    return Counterexample(
        tuple(point.symbols.items()), point.cta, point.warp, point.lane, point.group, point.repeat, point.atom, seen.expected, seen.actual, seen.sentence
    )
