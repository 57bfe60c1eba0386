"""The express lane: a call all of whose clauses the canonical forms of its operands prove. It says `proved`, or leaves the call to the tiers.

Which clauses there are, and their words, is a matter of the contract, who executes, and the names of the operands: that is taken from the first
call of a kind that went the whole way. What each clause needs is asked anew of every call, of the same functions as there (`structure`).
"""

from __future__ import annotations

from typing import NamedTuple

from tilecheck.call import INDEX_DTYPES, Call, Launch, Scalar
from tilecheck.layout.view import View
from tilecheck.prove import active, addresses, operands, structure, tmem
from tilecheck.prove.obligation import Outcome
from tilecheck.prove.problem import Problem, Side, base_residues, prepare
from tilecheck.prove.race import hazards
from tilecheck.prove.scalars import number_fault
from tilecheck.prove.tiers import Tiers
from tilecheck.prove.verdict import PROVED, ClauseResult, Verdict
from tilecheck.scopes import GroupAxis
from tilecheck.spec import Contract, arch_rank, contract_hash
from tilecheck.spec.contract import Operand, Register
from tilecheck.spec.limits import shared_limit
from tilecheck.spec.tmem import TensorMemory
from tilecheck.symbolic.terms import Expr

Kind = tuple[str, str, str, int, tuple[str, ...]]
"""Opcode, scope, index type, the identity of the group axes, the names of the operands that are views, the contract's and the call's."""
Lines = tuple[tuple[str, str, str], ...]
"""Id, statement and source of each clause of a proved verdict."""
MOST_KINDS = 4096
Methods = tuple[tuple[str, str], ...]
"""The tier that proves each clause that is not proved by `structure`."""


class _Seen(NamedTuple):
    """What is known of a kind: its contract and group axes, the lines of its verdicts, and those verdicts' clauses by what proved them."""

    contract: Contract
    groups: tuple[GroupAxis, ...]
    lines: Lines
    clauses: dict[Methods, tuple[ClauseResult, ...]]

    def proved(self, methods: Methods) -> tuple[ClauseResult, ...]:
        """The clauses, each proved by its tier."""
        results = self.clauses.get(methods)
        if results is None:
            found = dict(methods)
            results = tuple(
                ClauseResult(name, PROVED, found.get(name, "structure"), 0.0, says, source) for name, says, source in self.lines
            )
            self.clauses[methods] = results
        return results


_known: dict[Kind, _Seen] = {}
_registers: dict[tuple[str, str, int, View], tuple[Contract, tuple[GroupAxis, ...], dict[str, str], tuple[str, Launch, str]]] = {}
"""What was proved of register operands without symbols, by opcode, operand, the identity of the group axes (kept alive beside it), and view."""


def express(call: Call, contract: Contract, tiers: Tiers) -> Verdict | None:
    """The verdict on a call that is proved from canonical forms alone; None where it is not, or where its kind is met for the first time."""
    if not applies(call, contract, tiers):
        return None
    problem = prepare(call, contract)
    known = _known.get(_kind(problem))
    together = None if known is None or known.contract is not contract else _together(problem, tiers)
    if known is None or together is None or _mixed(problem):
        return None
    found = {"participation": together.method}
    for side in problem.sides:
        own = _shared(problem, side)
        if own is None:
            return None
        found |= own
    repeats = operands.repeat_extents(problem)
    floor = contract.arch
    for side in problem.sides:
        if operands.shape_findings(problem, side, repeats) or not _backed(problem, side):
            return None
        needs = addresses.arch_floor(problem, side)
        floor = floor if needs is None or arch_rank(needs) <= arch_rank(floor) else needs
    results = known.proved(tuple(found.items()))
    dangers = hazards(problem, operands.first_repeats(problem), tiers)
    return Verdict(call.id, call.opcode, PROVED, floor, repeats.count, results, hazards=dangers, contract_hash=contract_hash(contract))


def learn(call: Call, contract: Contract, verdict: Verdict, tiers: Tiers) -> None:
    """Notes the clauses of a kind of call."""
    if verdict.status == PROVED and applies(call, contract, tiers):
        if len(_known) >= MOST_KINDS:
            _known.clear()
        problem = prepare(call, contract)
        _known[_kind(problem)] = _Seen(contract, problem.groups, tuple((c.id, c.statement, c.source) for c in verdict.clauses), {})


def forget() -> None:
    """Every kind and every operand is met for the first time again."""
    _known.clear()
    _registers.clear()


def applies(call: Call, contract: Contract, tiers: Tiers) -> bool:
    """Whether only operands have a say: no parameter is given or missing, and proofs from forms count."""
    if call.parameters or tiers.audit or tiers.proved("structure") is None:
        return False
    plain = (
        contract.chunk is None
        and contract.box is None
        and not contract.pair
        and not any(p.required or p.kind == "barrier" for p in contract.parameters)
    )
    if not plain or len(call.operands) != len(contract.operands):
        return False
    return all(isinstance(o, View) or _constant(o, spec) for o, spec in zip(call.operands, contract.operands, strict=True))


def _constant(operand: Scalar, spec: Operand) -> bool:
    """Whether a number stands where one may, and has nothing to prove."""
    return isinstance(spec, Register) and bool(spec.number) and not isinstance(operand.value, Expr) and number_fault(operand, spec) is None


def _kind(problem: Problem) -> Kind:
    call = problem.call
    names = tuple(name for side in problem.sides for name in (side.spec.name, side.name))
    return problem.contract.opcode, call.scope, call.index_dtype, id(problem.groups), names


def _together(problem: Problem, tiers: Tiers) -> Outcome | None:
    """Facts, activity and uniformity, which have nothing to do with where elements lie: the proof of participation, None where one of them is open."""
    context = problem.context
    if not (problem.alone and context.inhabited and context.undivided and all(isinstance(axis.extent, int) for axis in problem.groups)):
        return None
    outcome = active.participation(problem, tiers)
    if outcome.holds is not True or (problem.collective and next(active.uniform_terms(problem), None) is not None):
        return None
    return outcome


def _mixed(problem: Problem) -> bool:
    """Whether two destinations are views of one allocation, whose registers must be told apart."""
    named = [
        side.tensor.tensor
        for side in problem.sides
        if isinstance(side.spec, Register) and side.spec.write and side.tensor.tensor is not None
    ]
    return len(named) != len(set(named))


def _shared(problem: Problem, side: Side) -> dict[str, str] | None:
    """As `_operand`; a register operand is looked at once, as its clauses depend on the group axes and on the launch alone."""
    if not isinstance(side.spec, Register) or side.view.symbolic or side.tensor.tensor is not None:
        return _operand(problem, side)
    key = (problem.contract.opcode, side.spec.name, id(problem.groups), side.view)
    known = _registers.get(key)
    if (
        known is not None
        and known[0] is problem.contract
        and known[3] == (problem.call.scope, problem.call.launch, problem.call.index_dtype)
    ):
        return known[2]
    found = _operand(problem, side)
    if found is not None:
        if len(_registers) >= MOST_KINDS:
            _registers.clear()
        _registers[key] = (problem.contract, problem.groups, found, (problem.call.scope, problem.call.launch, problem.call.index_dtype))
    return found


def _operand(problem: Problem, side: Side) -> dict[str, str] | None:
    """The tiers that prove the clauses of an operand, those of `structure` left out; None where one is not proved."""
    name, spec, form = side.spec.name, side.spec, side.strided
    if form is None or operands.storage_findings(side) or operands.type_findings(side) or not base_residues(problem, side, 1):
        return None
    matrix = isinstance(spec, TensorMemory)
    if not matrix and spec.write and any(one.effective for one in side.replicas):
        return None
    place = structure.method(side, through=False)
    found = {f"{name}.index.range": place, f"{name}.bounds": place}
    retypes = [check for check in side.form.retypes if not check.trivial]
    if retypes:
        found[f"{name}.storage"] = structure.method(side, through=any(check.widens for check in side.form.retypes))
    low, high = INDEX_DTYPES[problem.call.index_dtype]
    if (
        (not matrix and form.ends()[0] < 0)
        or form.far > high
        or not all(structure.index(problem, entry, low, high) for entry in side.view.symbolic)
    ):
        return None
    return found if _placed(problem, side, spec, found) else None


def _placed(problem: Problem, side: Side, spec: Operand, found: dict[str, str]) -> bool:
    """Owner, registers and addresses; adds the tiers of the last."""
    if isinstance(spec, TensorMemory):
        places = tmem.proofs(problem, side, spec)
        found.update(places or {})
        return places is not None and structure.memory_owner(side) is not None
    if isinstance(spec, Register):
        return structure.owner(problem, side, spec) is not None and (not spec.write or structure.distinct(problem, side))
    low, high = INDEX_DTYPES[problem.call.index_dtype]
    together = structure.contiguous(problem, side, spec)
    aligned = structure.aligned(problem, side, spec, base_residues(problem, side, spec.align_bytes))
    if together is None or aligned is None or structure.memory_owner(side) is None or not structure.offsets(side, low, high):
        return False
    found[f"{spec.name}.contiguous"], found[f"{spec.name}.aligned"] = together, aligned
    return True


def _backed(problem: Problem, side: Side) -> bool:
    """The allocation holds the declared layout, and the machine the allocation."""
    if isinstance(side.spec, TensorMemory):
        return tmem.backed(problem, side)
    needed, size = addresses.allocation(problem, side)
    if not isinstance(needed, int) or (size is not None and needed > size):
        return False
    return side.tensor.space != "shared" or max(needed, size or 0) <= shared_limit(problem.call.arch)
