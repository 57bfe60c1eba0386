"""A call as a PTX snippet: address arithmetic, then exactly one instruction for each repeat coordinate.

The caller's registers are the operands themselves, at their slots: `%R_5` is slot 5 of operand R. Pointers and symbols are registers
that the caller sets; everything else is declared inside the snippet's own braces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tilecheck.call import Call, Launch
from tilecheck.emit.arithmetic import Arithmetic, fits_64_bits, simplified
from tilecheck.emit.binding import Binding, Bound, Issue
from tilecheck.emit.descriptors import word
from tilecheck.emit.errors import EmissionError
from tilecheck.emit.instruction import instruction_word
from tilecheck.emit.maps import TensorMap, box_of_binding, origin, tensor_map
from tilecheck.emit.maps import coordinates as box_coordinates
from tilecheck.emit.maps import offsets as walk_offsets
from tilecheck.emit.names import Names, comment
from tilecheck.emit.parameters import Operands, barrier_register, listed_words, values
from tilecheck.emit.scalars import scalars, written
from tilecheck.layout.tile import base_tile, swizzles
from tilecheck.scopes import CTA, ground
from tilecheck.spec import Contract, Memory, Register, TensorMemory, arch_has, arch_rank
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import ELECTED, Expr, Term, var

REGISTER_TYPES = {8: ".b16", 16: ".b16", 32: ".b32", 64: ".b64", 128: ".b128"}
"""The class of a register that holds one element of so many bits."""


@dataclass(frozen=True, slots=True)
class Emission:
    """A call as PTX.

    ptx: the snippet. instructions: its instruction for each repeat coordinate, row-major. declarations: the registers the caller
    declares, and `sets` says what each must hold. guard: the condition under which a thread may enter, None for all. tensor_map: what the
    host encodes, where the instruction takes one.
    """

    ptx: str
    instructions: tuple[str, ...]
    arch: str
    declarations: tuple[str, ...]
    sets: Mapping[str, str]
    guard: str | None
    tensor_map: TensorMap | None = None

    @property
    def normalised(self) -> tuple[str, ...]:
        """The instructions with registers numbered in order of appearance and single spaces: what evidence is about."""
        return normalised(self.instructions)


def normalised(instructions: tuple[str, ...]) -> tuple[str, ...]:
    """Instruction lines with registers renamed `%1`, `%2`, ... in order of appearance, white space collapsed."""
    names: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        return names.setdefault(match.group(), f"%{len(names) + 1}")

    return tuple(re.sub(r"%[A-Za-z_][A-Za-z0-9_]*", rename, " ".join(line.split())) for line in instructions)


def architecture(call: Call, contract: Contract, arch: str | None) -> str:
    """The architecture asked for, the call's, or the lowest that has the form (and clusters, where the launch has one)."""
    clusters = call.launch.cluster is not None and arch_rank(contract.arch) < arch_rank("sm_90")
    floors = ("sm_90",) if clusters else contract.floors
    wanted = arch or call.arch or floors[0]
    if not any(arch_has(wanted, floor) for floor in floors):
        raise EmissionError(f"{contract.opcode} does not exist on {wanted}: the lowest architecture is {' or '.join(floors)}")
    return wanted


class Registers:
    """The names of everything a snippet reads and writes."""

    def __init__(self, binding: Binding, issues: list[Issue]) -> None:
        names = Names()
        self.banks: dict[str, str] = {}
        self.slots: dict[str, int] = {}
        self.pointers: dict[str, str] = {}
        pointer_names, symbol_names = Names(), Names()
        widths: dict[str, int] = {}
        for operand in binding.operands:
            if isinstance(operand.spec, Register):
                if widths.setdefault(operand.tensor, operand.spec.bits) != operand.spec.bits:
                    other = f"{widths[operand.tensor]} bits by another operand, of {operand.spec.bits} by {operand.label}"
                    raise EmissionError(
                        f"the registers of {operand.tensor} are taken as registers of {other}: PTX has one width for a register"
                    )
                self.banks[operand.spec.name] = f"%{names.of(operand.tensor)}_"
                own = [issue.slots[operand.spec.name] for issue in issues if operand.spec.name not in issue.instead]
                used = max((slot for slots in own for slot in slots), default=-1) + 1
                self.slots[operand.tensor] = max(used, declared_slots(operand), self.slots.get(operand.tensor, 0))
            else:
                self.pointers[operand.tensor] = f"%tc_ptr_{pointer_names.of(operand.tensor)}"
        self.symbols = {one.name: f"%tc_sym_{symbol_names.of(one.name)}" for one in binding.call.symbols}


def declared_slots(operand: Bound) -> int:
    """The slots of a register operand in one thread: `size_bytes`, or the span of its layout (through its swizzles, rounded up)."""
    size = operand.view.tensor.size_bytes
    bits = int(size) * 8 if isinstance(size, int) else span_elements(operand) * operand.view.tensor.bits
    return -(-bits // operand.trace.bits)


def span_elements(operand: Bound) -> int:
    """Elements from the base to the last one of a static layout; through a swizzle rounded up to its block."""
    span = span_term(operand)
    if isinstance(span, Expr):
        raise EmissionError(f"operand {operand.label}: the span of its layout depends on symbols ({span})")
    return span


def span_term(operand: Bound) -> Term:
    """1 + the largest offset on `m` that the declared layout reaches, in elements, rounded up to the block of its largest swizzle."""
    layout = operand.view.tensor.layout
    tile = base_tile(layout)
    offsets = [value for name, value in tile.offset if name == "m"]
    reach = [terms.maximum(0, terms.mul(terms.sub(one.extent, 1), one.stride)) for one in (*tile.shard, *tile.replica) if one.axis == "m"]
    span = terms.add(1, *offsets, *reach)
    for one in swizzles(layout):
        block = one.per_element + one.atom_len + one.swizzle_len
        span = terms.shl(terms.shr(terms.add(span, (1 << block) - 1), block), block)
    return span


def coordinates(arithmetic: Arithmetic, launch: Launch, wanted: frozenset[str]) -> None:
    """Writes the lines that read the base variables from special registers, and makes them inputs."""
    if wanted & {"warpid", "laneid"}:
        thread = _linear(arithmetic, "%tid", launch.block)
        if "warpid" in wanted:
            arithmetic.inputs["warpid"] = arithmetic.fresh()
            arithmetic.write(f"shr.u64 {arithmetic.inputs['warpid']}, {thread}, 5;")
        if "laneid" in wanted:
            arithmetic.inputs["laneid"] = arithmetic.fresh()
            arithmetic.write(f"and.b64 {arithmetic.inputs['laneid']}, {thread}, 31;")
    if CTA in wanted:
        arithmetic.inputs[CTA] = _linear(arithmetic, "%cluster_ctaid", launch.cluster) if launch.cluster and launch.ctas > 1 else "0"


def _linear(arithmetic: Arithmetic, special: str, extents: tuple[int, ...]) -> str:
    """The linear index x + X * (y + Y * z) of a special register with .x, .y and .z, as a 64-bit register."""
    total = arithmetic.fresh("u")
    arithmetic.write(f"mov.u32 {total}, {special}.x;")
    weight = extents[0]
    for part, extent in zip("yz", extents[1:], strict=False):
        if extent > 1:
            own, new = arithmetic.fresh("u"), arithmetic.fresh("u")
            arithmetic.write(f"mov.u32 {own}, {special}.{part};")
            arithmetic.write(f"mad.lo.u32 {new}, {own}, {weight}, {total};")
            total = new
        weight *= extent
    wide = arithmetic.fresh()
    arithmetic.write(f"cvt.u64.u32 {wide}, {total};")
    return wide


def guard_term(call: Call) -> Term:
    """The condition under which a thread executes the call: the guard, and the assumptions that name hardware coordinates."""
    own = [a for a in call.assume if terms.variables(ground(a, call.launch)) & {CTA, "warpid", "laneid", ELECTED}]
    return terms.conj(call.guard, *own)


def write_snippet(binding: Binding, arch: str, issues: list[Issue], registers: Registers, *, accounted: bool = False) -> Emission:
    """The snippet of a bound call. accounted: each instruction with what tells its barriers how many bytes will come."""
    call = binding.call
    pointers = {f"@ptr:{tensor}": name for tensor, name in registers.pointers.items()}
    arithmetic = Arithmetic({**pointers, **registers.symbols, ELECTED: "%tc_elected"}, binding.ranges)
    cells = {o.tensor for o in binding.operands if isinstance(o.spec, TensorMemory)}
    for tensor in (t for t in registers.pointers if t in cells):
        wide = arithmetic.fresh()
        arithmetic.write(f"cvt.u64.u32 {wide}, {registers.pointers[tensor]};")
        arithmetic.inputs[f"@ptr:{tensor}"] = wide
    tensors = {o.spec.name: o.tensor for o in binding.operands if not isinstance(o.spec, Register)}
    addresses = [{name: terms.add(var(f"@ptr:{tensors[name]}"), offset) for name, offset in issue.bytes.items()} for issue in issues]
    box = box_of_binding(binding)
    if box is not None:
        memory = [o for o in binding.operands if isinstance(o.spec, Memory)]
        addresses = [
            {o.spec.name: terms.add(var(f"@ptr:{o.tensor}"), origin(binding, box, o, issue.repeat)) for o in memory} for issue in issues
        ]
    matrices = {o.spec.name: o for o in binding.operands if isinstance(o.spec, Memory) and o.spec.described is not None}
    words = [{n: word(binding, o, var(f"@ptr:{o.tensor}"), issue.bytes[n]) for n, o in matrices.items()} for issue in issues]
    told = [] if binding.contract.word is None else [instruction_word(binding, issue.repeat) for issue in issues]
    starts = [] if box is None else [box_coordinates(binding, box, issue.repeat) for issue in issues]
    moved = () if box is None else walk_offsets(binding, box)
    pred = checked_condition(binding, binding.run.pred, "pred")
    extras, numbers = values(binding), scalars(binding)
    used = [
        *(simplified(a, binding.ranges) for issue in addresses for a in issue.values()),
        simplified(pred, binding.ranges),
        *extras.values(),
        *numbers.values(),
        *(term for start in starts for term in start),
        *moved,
        *told,
        *listed_words(binding),
    ]
    names = frozenset(name for term in used for name in terms.variables(term))
    coordinates(arithmetic, call.launch, names)
    prefix = "" if pred is True else f"@{arithmetic.predicate(pred)} "
    others = Operands(binding, arithmetic, extras)
    operands = others.fields()
    constants = {name: written(number, numbers.get(name, 0), arithmetic) for name, number in binding.numbers.items()}
    places = [{name: others.address(name, term) for name, term in one.items() if name not in matrices} for one in addresses]
    later = others.later() if any(binding.later(issue.repeat) for issue in issues) else {}
    for place, one, issue in zip(places, words, issues, strict=True):
        place.update({name: arithmetic.register(term) for name, term in one.items()})
        place.update(later if binding.later(issue.repeat) else {})
    known: dict[Term, str] = {}
    for place, term in zip(places, told, strict=False):
        if term not in known:
            known[term] = others.narrow(term, 32)
        place["word"] = known[term]
    for place, start in zip(places, starts, strict=False):
        place["coords"] = others.listed(start, 32)
        if moved:
            place["im2col_offsets"] = others.listed(moved, 16)
    account = others.accounting(pred) if accounted else []
    instructions = tuple(
        _predicated(prefix, binding.contract, registers, issue, {**operands, **constants, **place})
        for issue, place in zip(issues, places, strict=True)
    )
    declarations, sets = _interface(binding, registers, names)
    guard = guard_term(call)
    head = _head(binding, arch, declarations, sets, None if guard is True else str(guard))
    statements = (line for instruction in instructions for line in (*account, instruction))
    body = ["{", *arithmetic.declarations(), *arithmetic.lines, *statements, "}"]
    found = tensor_map(binding)
    if found is not None:
        head.append(comment(f"// the tensor map of {found.tensor} is made by {found}"))
    return Emission("\n".join([*head, *body, ""]), instructions, arch, declarations, sets, None if guard is True else str(guard), found)


def checked_condition(binding: Binding, condition: Term, what: str) -> Term:
    """A condition over base variables; EmissionError where an intermediate result may leave 64 bits."""
    grounded = simplified(binding.ground(condition), binding.ranges)
    node = fits_64_bits(grounded, binding.ranges)
    if node is not None:
        raise EmissionError(f"{what}: {node} may leave 64 bits; bound the symbols in it")
    return grounded


def _predicated(prefix: str, contract: Contract, registers: Registers, issue: Issue, others: Mapping[str, str]) -> str:
    """The statement under a predicate: before it, or, where the template has several, at its {@}."""
    if "{@}" in contract.issue:
        return _instruction(contract, registers, issue, {**others, "@": prefix})
    return prefix + _instruction(contract, registers, issue, others)


def _instruction(contract: Contract, registers: Registers, issue: Issue, others: Mapping[str, str]) -> str:
    """The contract's issue template, filled."""
    fields = {"opcode": contract.opcode, **others}
    for name, slots in issue.slots.items():
        bank = registers.banks[issue.instead.get(name, name)]
        text = ", ".join(f"{bank}{slot}" for slot in slots)
        braced = "{{{" + name + "}}}" in contract.issue
        fields[name] = text if braced or len(slots) == 1 else "{" + text + "}"
    return contract.statement(fields)


def _interface(binding: Binding, registers: Registers, names: frozenset[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """What the caller declares, and what each of those registers holds."""
    declarations: list[str] = []
    sets: dict[str, str] = {}
    for operand in binding.operands:
        if isinstance(operand.spec, Register):
            bank, count = registers.banks[operand.spec.name], registers.slots[operand.tensor]
            if any(o.tensor == operand.tensor for o in binding.operands[: binding.operands.index(operand)]):
                continue
            declarations.append(f".reg {operand.spec.ptx or REGISTER_TYPES[operand.spec.bits]} {bank}<{count}>;")
            sets[f"{bank}0..{count - 1}"] = f"the slots of {operand.label}, {operand.spec.bits} bits each"
    for tensor, name in registers.pointers.items():
        if any(o.tensor == tensor and isinstance(o.spec, TensorMemory) for o in binding.operands):
            declarations.append(f".reg .b32 {name};")
            sets[name] = f"the address of lane 0 and column 0 of {tensor} in tensor memory"
            continue
        bound = next(o for o in binding.operands if o.tensor == tensor)
        declarations.append(f".reg .b64 {name};")
        base = bound.view.tensor.base
        residue = f", {base[1]} modulo {base[0]}" if base else ""
        if binding.contract.box is not None and bound.spec.name == binding.contract.box.tensor:
            sets[name] = f"the address of the tensor map of {tensor}, a multiple of 64"
            continue
        sets[name] = f"the address of {tensor} in {bound.view.tensor.space} memory, a multiple of {bound.view.tensor.align}{residue}"
    barrier = barrier_register(binding)
    if barrier is not None:
        declarations.append(f".reg .b64 {barrier};")
        sets[barrier] = "the address of the barrier in shared memory, at the same offset in every CTA"
    for symbol, name in registers.symbols.items():
        if symbol in names:
            declarations.append(f".reg .b64 {name};")
            sets[name] = f"the symbol {symbol}"
    if ELECTED in names:
        declarations.append(".reg .b64 %tc_elected;")
        sets["%tc_elected"] = "the lane of each warp that elect.sync chose"
    return tuple(declarations), sets


def _head(binding: Binding, arch: str, declarations: tuple[str, ...], sets: Mapping[str, str], guard: str | None) -> list[str]:
    """The comment above a snippet."""
    call = binding.call
    name = f" ({comment(call.id)})" if call.id else ""
    lines = [f"// {call.opcode}{name} for {arch}, scope {call.scope}, block {'x'.join(map(str, call.launch.block))}"]
    lines += [f"// the caller declares {line}" for line in declarations]
    lines += [comment(f"// {register} holds {meaning}") for register, meaning in sets.items()]
    if guard is not None:
        lines.append(comment(f"// only threads with {guard} may enter"))
    return lines
