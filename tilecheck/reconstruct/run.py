"""Running a call on a GPU and comparing every register and byte with the predicted image."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilecheck.call import Call, Scalar
from tilecheck.emit import EmissionError, emit_kernel_unchecked
from tilecheck.emit.kernel import Kernel
from tilecheck.errors import InputError
from tilecheck.evaluate import Model
from tilecheck.evaluate.factors import Factored, Factors
from tilecheck.evaluate.predict import Image
from tilecheck.evaluate.scalar_values import ScalarFunction
from tilecheck.fitting import chosen
from tilecheck.reconstruct.arena import Arena, Bytes, Values, arena, room
from tilecheck.reconstruct.assignment import least_assignment
from tilecheck.reconstruct.computed import with_numbers as with_inputs
from tilecheck.reconstruct.computed import wrong as wrong_results
from tilecheck.reconstruct.device import Gpu, gpu
from tilecheck.reconstruct.evidence import Json, now, ptx_sha256
from tilecheck.reconstruct.factors import Fill, Finder, Placed, filled
from tilecheck.reconstruct.factors import wrong as wrong_factors
from tilecheck.reconstruct.image import Expected, expected
from tilecheck.reconstruct.products import DrawnArena, with_numbers
from tilecheck.reconstruct.products import wrong as wrong_product
from tilecheck.reconstruct.scalars import Result, results, untouched, with_scalars
from tilecheck.spec import BadSpelling, Contract, Memory, contract_hash, data, find_contract

MOST_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Difference:
    """One byte that came out otherwise than predicted: where, where its value should have come from, where it came from."""

    place: str
    expected: str
    actual: str

    def __str__(self) -> str:
        return f"{self.place}: expected {self.expected}, found {self.actual}"

    def to_json(self) -> Json:
        """The three texts."""
        return {"place": self.place, "expected": self.expected, "actual": self.actual}


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """What a GPU says of a prediction. differences: the first ones, described; evidence: what to keep of the run."""

    matches: bool
    differences: tuple[Difference, ...]
    evidence: Json


@dataclass(frozen=True, slots=True)
class Observed:
    """What a GPU left of a kernel's arena, in each of the four runs."""

    kernel: Kernel
    arena: Arena
    runs: Sequence[Bytes]
    gpu: Gpu
    values: Values
    elected: int


def contract_of(call: Call) -> Contract:
    """The contract of a call that can be emitted."""
    found = find_contract(call.opcode)
    if found is None or isinstance(found, BadSpelling):
        raise EmissionError(f"{call.opcode} cannot be reconstructed: no contract reads it")
    return found


def completed(call: Call, values: Values | None) -> dict[str, int | list[int]]:
    """The given values, and the least assignment for the symbols without one; InputError for a value out of its range."""
    given: dict[str, int | list[int]] = {}
    declared = {symbol.name: symbol for symbol in call.symbols}
    for name, value in (values or {}).items():
        if name not in declared:
            raise InputError(f"the call declares no symbol {name!r}")
        given[name] = value if isinstance(value, int) else list(value)
    if len(given) == len(declared):
        return given
    return {**least_assignment(call.substitute(**{name: value for name, value in given.items() if isinstance(value, int)})), **given}


def observe(call: Call, values: Values | None = None, elected: int = 0, device: int = 0, *, contract: Contract | None = None) -> Observed:
    """Runs a call (emitted by `contract`, its own by default) four times and keeps everything it left."""
    if not 0 <= elected < 32:
        raise InputError(f"elected is {elected}, expected a lane from 0 to 31")
    machine = gpu(device)
    kernel = emit_kernel_unchecked(call, machine.arch, contract=contract)
    whole = completed(call, values)
    place = arena(kernel, machine.memory(room(kernel, whole)), whole, elected)
    return Observed(kernel, place, machine.runs(kernel, place), machine, whole, elected)


def compared(observed: Observed, image: Image) -> tuple[tuple[Difference, ...], Json]:
    """(the differences from an image, counts of what was compared)."""
    x, y, z = observed.kernel.block
    wanted = expected(observed.arena, image, observed.kernel.tensors, x * y * z)
    wrong = wanted.wrong(observed.runs)
    counts = _counts(observed.arena, wanted)
    counts["different"] = int(wrong.size)
    if not wrong.size:
        return (), counts
    found = observed.arena.places(observed.runs)
    say = observed.arena.describe
    shown = wrong[:MOST_SHOWN].tolist()
    return tuple(Difference(say(k), _wanted(observed.arena, wanted, k), f"the value of {say(int(found[k]))}") for k in shown), counts


def _wanted(place: Arena, wanted: Expected, k: int) -> str:
    made = next((one for one in wanted.combined if k in one.at), None)
    if made is not None:
        own = () if made.by.startswith("round.") else (made.before,)
        return f"{made.by} of {' and '.join(place.describe(one[0]) for one in (*own, *made.sources))}"
    constant = int(wanted.constant[k])
    return f"the constant {constant}" if constant >= 0 else f"the value of {place.describe(int(wanted.source[k]))}"


def _counts(place: Arena, wanted: Expected) -> Json:
    """Register slots and memory bytes compared, how many of each changed place, and how many are undefined."""
    moved = (wanted.source != np.arange(place.bytes)) | (wanted.constant >= 0)
    made = np.zeros(place.bytes, dtype=np.bool_)
    made[[at for one in wanted.combined for at in one.at]] = True
    registers = memory = written = undefined = 0
    for one in place.regions:
        if one.role not in {"tensor", "after"}:
            continue
        here = slice(one.at, one.end)
        skipped = wanted.undefined[here]
        before = np.arange(one.at, one.end) if one.role == "tensor" else None
        if before is None:
            old = next(r for r in place.regions if r.role == "before" and r.name == one.name)
            before = np.arange(old.at, old.end)
        changed = (wanted.source[here] != before) | (wanted.constant[here] >= 0)
        if one.slot_bytes:
            registers += int((~skipped).sum()) // one.slot_bytes
        else:
            memory += int((~skipped).sum())
        written += int(((changed & ~skipped & moved[here]) | made[here]).sum())
        undefined += int(skipped.sum())
    return {
        "registers": registers,
        "memory_bytes": memory,
        "written_bytes": written,
        "undefined_bytes": undefined,
        "arena_bytes": place.bytes,
    }


def predicted(call: Call, values: Values, elected: int, contract: Mapping[str, Any] | None = None) -> Image:
    """The image of the evaluator, from the contract as data and the call's document only."""
    document = json.loads(json.dumps(call.to_json()))
    source = data(contract_of(call)) if contract is None else contract
    return Model(json.loads(json.dumps(source)), document).predict(values, elected)


def reconstruct(call: Call, values: Values | None = None, elected: int = 0, device: int = 0, *, form: str = "") -> Reconstruction:
    """Runs a call on GPU `device` and compares every register slot and byte of the launch with the predicted image.

    The call should be proved; nothing here asks the prover. values: of symbols; the others take the least assignment. elected: e in 0..31,
    the lane of each warp that elect.sync is taken to have chosen.
    """
    if contract_of(call).product is not None:
        return _product(call, values, elected, device, form)
    if contract_of(call).scalar is not None:
        return _scalars(call, values, elected, device, form)
    if computes(call):
        return _computed(call, values, elected, device, form)
    observed = observe(call, values, elected, device)
    image = predicted(call, observed.values, elected)
    differences, counts = compared(observed, image)
    return Reconstruction(not differences, differences, evidence_of(call, observed, counts, form=form))


def _product(call: Call, values: Values | None, elected: int, device: int, form: str) -> Reconstruction:
    """The same for a call that computes: its registers hold numbers whose sums are exact."""
    if in_memory(call):
        observed, placed = observe_factors(call, values, elected, device)
        differences, counts = compared_factors(observed, placed)
        return Reconstruction(not differences, differences, evidence_of(call, observed, counts, form=form))
    observed, image = observe_product(call, values, elected, device)
    assert isinstance(observed.arena, DrawnArena)
    differences, counts = compared_product(observed, image)
    return Reconstruction(not differences, differences, evidence_of(call, observed, counts, form=form))


def in_memory(call: Call) -> bool:
    """Whether a call multiplies what lies in memory: such products are compared as those of whole matrices."""
    return any(isinstance(operand, Memory) for operand in contract_of(call).operands)


def _target(call: Call, arch: str) -> str:
    """The architecture to emit for: that of the machine, or its specific form where the instruction exists there only."""
    return f"{arch}a" if not contract_of(call).runs_on(arch) and contract_of(call).runs_on(f"{arch}a") else arch


def factors_of(call: Call, values: Values, elected: int) -> list[Factors]:
    """What the evaluator says a product of matrices is."""
    document = json.loads(json.dumps(call.to_json()))
    case = Model(json.loads(json.dumps(data(contract_of(call)))), document).case
    assert case.product is not None
    return list(Factored(case, case.product, values, elected).factors())


def observe_factors(
    call: Call,
    values: Values | None = None,
    elected: int = 0,
    device: int = 0,
    *,
    contract: Contract | None = None,
    fill: Fill | None = None,
    factors: Sequence[Factors] | None = None,
) -> tuple[Observed, list[Placed]]:
    """Runs a call that multiplies matrices in memory over numbers (random ones, or those of `fill`), and the places of its factors.

    factors: what the evaluator says, where it is known already.
    """
    machine, whole = gpu(device), completed(call, values)
    kernel = emit_kernel_unchecked(call, _target(call, machine.arch), contract=contract)
    x, y, z = kernel.block
    plain = arena(kernel, machine.memory(room(kernel, whole)), whole, elected)
    finder = Finder(plain, kernel.tensors, x * y * z)
    placed = [finder.placed(one) for one in factors or factors_of(call, whole, elected)]
    place = filled(plain, placed, fill)
    return Observed(kernel, place, machine.runs(kernel, place), machine, whole, elected), placed


def compared_factors(observed: Observed, placed: list[Placed]) -> tuple[tuple[Difference, ...], Json]:
    """(the differences from products computed again, counts of what was compared)."""
    assert isinstance(observed.arena, DrawnArena)
    bad, computed = wrong_factors(observed.arena, placed, observed.runs)
    say = observed.arena.describe
    shown = tuple(Difference(say(k), "the sum of products of its entry, or what it held", "another value") for k in bad[:MOST_SHOWN])
    after = [r for r in observed.arena.regions if r.role == "after"]
    counts: Json = {
        "registers": sum(r.size * r.copies // r.slot_bytes for r in after if r.slot_bytes),
        "memory_bytes": sum(r.size * r.copies for r in after if not r.slot_bytes),
        "written_bytes": computed,
        "undefined_bytes": 0,
        "arena_bytes": observed.arena.bytes,
        "different": len(bad),
    }
    return shown, counts


def observe_product(
    call: Call, values: Values | None = None, elected: int = 0, device: int = 0, *, contract: Contract | None = None
) -> tuple[Observed, Image]:
    """Runs a call that computes products over numbers, and what the evaluator says of it; contract: the one it is emitted by, its own by default."""
    machine, whole = gpu(device), completed(call, values)
    kernel = emit_kernel_unchecked(call, machine.arch, contract=contract)
    image = predicted(call, whole, elected)
    x, y, z = kernel.block
    place = with_numbers(arena(kernel, machine.memory(room(kernel, whole)), whole, elected), image, kernel.tensors, x * y * z)
    return Observed(kernel, place, machine.runs(kernel, place), machine, whole, elected), image


def compared_product(observed: Observed, image: Image) -> tuple[tuple[Difference, ...], Json]:
    """(the differences from products computed again, counts of what was compared)."""
    x, y, z = observed.kernel.block
    assert isinstance(observed.arena, DrawnArena)
    bad, computed = wrong_product(observed.arena, image, observed.kernel.tensors, x * y * z, observed.runs)
    say = observed.arena.describe
    shown = tuple(Difference(say(k), "the sum of products of its entry, or what it held", "another value") for k in bad[:MOST_SHOWN])
    undefined = sum(len(row) == 7 for row in image.registers)
    registers = sum(r.size * r.copies // r.slot_bytes for r in observed.arena.regions if r.role == "after" and r.slot_bytes)
    counts: Json = {
        "registers": registers - undefined,
        "memory_bytes": 0,
        "written_bytes": computed,
        "undefined_bytes": 0,
        "arena_bytes": observed.arena.bytes,
        "different": len(bad),
    }
    return shown, counts


def computes(call: Call) -> bool:
    """Whether a call computes its results from numbers, a number that is moved included, rather than copying bits."""
    contract = chosen(contract_of(call), call)
    source = next((o for spec, o in zip(contract.operands, call.operands, strict=False) if spec.name == contract.move.src), None)
    return contract.computed is not None and (not contract.move.dst or isinstance(source, Scalar))


def _computed(call: Call, values: Values | None, elected: int, device: int, form: str) -> Reconstruction:
    """The same for arithmetic: its registers hold numbers of every kind."""
    observed, image = observe_computed(call, values, elected, device)
    differences, counts = compared_computed(observed, image)
    return Reconstruction(not differences, differences, evidence_of(call, observed, counts, form=form))


def observe_computed(
    call: Call, values: Values | None = None, elected: int = 0, device: int = 0, *, contract: Contract | None = None
) -> tuple[Observed, Image]:
    """Runs a call of arithmetic over random numbers, and what the evaluator says of it; contract: as for `observe`."""
    machine, whole = gpu(device), completed(call, values)
    kernel = emit_kernel_unchecked(call, machine.arch, contract=contract)
    image = predicted(call, whole, elected)
    x, y, z = kernel.block
    place = with_inputs(arena(kernel, machine.memory(room(kernel, whole)), whole, elected), image, kernel.tensors, x * y * z)
    return Observed(kernel, place, machine.runs(kernel, place), machine, whole, elected), image


def compared_computed(observed: Observed, image: Image) -> tuple[tuple[Difference, ...], Json]:
    """(the differences from results computed again, counts of what was compared)."""
    x, y, z = observed.kernel.block
    assert isinstance(observed.arena, DrawnArena)
    bad, computed, exact = wrong_results(observed.arena, image, observed.kernel.tensors, x * y * z, observed.runs)
    say = observed.arena.describe
    shown = tuple(Difference(say(k), "the result for its inputs, or what it held", "another value") for k in bad[:MOST_SHOWN])
    registers = sum(r.size * r.copies // r.slot_bytes for r in observed.arena.regions if r.role == "after" and r.slot_bytes)
    counts: Json = {
        "registers": registers - sum(len(row) == 7 for row in image.registers),
        "memory_bytes": 0,
        "written_bytes": computed,
        "undefined_bytes": 0,
        "arena_bytes": observed.arena.bytes,
        "exact": exact,
        "different": len(bad),
    }
    return shown, counts


def _scalars(call: Call, values: Values | None, elected: int, device: int, form: str) -> Reconstruction:
    """The same for a call that applies a scalar function: its registers hold numbers of the function's types."""
    observed, image = observe_scalars(call, values, elected, device)
    differences, counts = compared_scalars(call, observed, image)
    return Reconstruction(not differences, differences, evidence_of(call, observed, counts, form=form))


def observe_scalars(
    call: Call, values: Values | None = None, elected: int = 0, device: int = 0, *, contract: Contract | None = None, seed: int = 1
) -> tuple[Observed, Image]:
    """Runs a call that applies a scalar function over random numbers, and which slots the evaluator says it reads; contract: as for `observe`."""
    assert call.function is not None
    machine, whole = gpu(device), completed(call, values)
    kernel = emit_kernel_unchecked(call, machine.arch, contract=contract)
    image = predicted(call, whole, elected)
    x, y, z = kernel.block
    types = [type_ for _, type_ in call.function.params]
    place = with_scalars(arena(kernel, machine.memory(room(kernel, whole)), whole, elected), image, kernel.tensors, x * y * z, types, seed)
    return Observed(kernel, place, machine.runs(kernel, place), machine, whole, elected), image


def results_of(call: Call, observed: Observed, image: Image) -> list[Result]:
    """What came out in every computed slot, beside what the evaluator says of the function."""
    assert call.function is not None
    assert isinstance(observed.arena, DrawnArena)
    x, y, z = observed.kernel.block
    scalar = json.loads(json.dumps(data(contract_of(call))))["scalar"]
    function = ScalarFunction(call.function.to_json(), scalar)
    return list(results(observed.arena, image, function, observed.kernel.tensors, x * y * z, observed.runs))


def compared_scalars(call: Call, observed: Observed, image: Image) -> tuple[tuple[Difference, ...], Json]:
    """(the differences from what the function gives, counts of what was compared)."""
    assert isinstance(observed.arena, DrawnArena)
    x, y, z = observed.kernel.block
    found = results_of(call, observed, image)
    bad = [one for one in found if not one.expected.admits(one.found)]
    shown = [Difference(one.place, one.wanted, one.got) for one in bad[:MOST_SHOWN]]
    stray = untouched(observed.arena, image, observed.kernel.tensors, x * y * z, observed.runs)
    shown += [Difference(observed.arena.describe(k), "what it held", "another value") for k in stray[:MOST_SHOWN]]
    fixed = sum(one.expected.exact for one in found)
    free = sum(one.expected.low is None for one in found)
    registers = sum(r.size * r.copies // r.slot_bytes for r in observed.arena.regions if r.role == "after" and r.slot_bytes)
    counts: Json = {
        "registers": registers - sum(len(row) == 7 for row in image.registers),
        "memory_bytes": 0,
        "undefined_bytes": 0,
        "arena_bytes": observed.arena.bytes,
        "exact": fixed,
        "within_error": len(found) - fixed - free,
        "unspecified": free,
        "different": len(bad) + len(stray),
    }
    return tuple(shown), counts


def evidence_of(call: Call, observed: Observed, counts: Json, *, form: str) -> Json:
    """What to keep of one reconstruction."""
    info, emission = observed.gpu.info, observed.kernel.emission
    contract = contract_of(call)
    return {
        "form": form or call.id or call.opcode,
        "opcode": call.opcode,
        "contract": contract_hash(contract),
        "scope": call.scope,
        "values": dict(observed.values),
        "elected": observed.elected,
        "matches": counts["different"] == 0,
        "compared": counts,
        "instructions": len(emission.instructions),
        "ptx_sha256": ptx_sha256(emission.normalised),
        "arch": observed.kernel.arch,
        "device": info.name,
        "compute_capability": info.compute_capability,
        "driver": info.driver,
        "cuda": info.cuda,
        "date": now(),
    }
