"""A call as a whole PTX kernel that shows every register and byte before and after it.

The kernel loads the register banks, copies the shared and local tensors in, lets the threads of the guard run the snippet, and dumps
everything. Copies go byte by byte in loops and through volatile accesses, so that ptxas can neither drop nor forward what is observed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from tilecheck.boxes import box_of
from tilecheck.emit.arithmetic import Arithmetic
from tilecheck.emit.barrier import Completion
from tilecheck.emit.binding import Binding, Bound
from tilecheck.emit.errors import EmissionError
from tilecheck.emit.maps import TensorMap
from tilecheck.emit.plan import (
    Elected,
    GlobalTensor,
    Json,
    MappedTensor,
    Parameter,
    RegisterBank,
    StagedTensor,
    Uniform,
    Varying,
    to_json,
    words,
)
from tilecheck.emit.snippet import Emission, Registers, checked_condition, coordinates, guard_term, span_term
from tilecheck.scopes import CTA
from tilecheck.spec import Register, arch_rank
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import ELECTED, Expr, Term, var

NAME = "tilecheck_kernel"
SHARED_LIMIT = 232_448
"""Dynamic shared memory of one CTA on sm_90 and sm_100, in bytes."""
DOUBLED = 1024
"""Bases known to be multiples of at most this are placed at odd multiples, so that nothing rests on more alignment than is known."""
VERSIONS = ((0, "8.4"), (100, "8.6"), (103, "8.8"), (107, "9.0"), (120, "8.7"), (121, "8.8"))
"""The PTX ISA version to write, by architecture number (8.3 has .b128, 8.4 all of its orderings); 256-bit accesses need 8.8, .volatile.local needs 9.1."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A complete module with one entry `name`.

    parameters: what it takes, in order. tensors: the allocation behind each operand's label. Launch: `cluster` (or one) CTAs of `block` threads, `shared_bytes` of dynamic shared memory.
    """

    ptx: str
    name: str
    arch: str
    parameters: tuple[Parameter, ...]
    shared_bytes: int
    block: tuple[int, int, int]
    cluster: tuple[int, int, int] | None
    emission: Emission
    tensors: Mapping[str, str]

    def plan(self) -> list[Json]:
        """The parameters as JSON."""
        return [to_json(one) for one in self.parameters]


def residue(operands: list[Bound]) -> tuple[int, int]:
    """(modulus, residue) of an allocation's base that satisfies `align` and `base` of every operand that names it, and no more than that."""
    modulus, rest = 1, 0
    for operand in operands:
        tensor = operand.view.tensor
        for mod, remainder in ((tensor.align or 1, 0), *((tensor.base,) if tensor.base else ())):
            common = gcd(modulus, mod)
            if (remainder - rest) % common:
                raise EmissionError(f"tensor {operand.tensor}: no address is {remainder} modulo {mod} and {rest} modulo {modulus}")
            steps = (remainder - rest) // common * pow(modulus // common, -1, mod // common) % (mod // common)
            rest, modulus = rest + modulus * steps, modulus // common * mod
    return (2 * modulus, rest + modulus) if modulus <= DOUBLED else (modulus, rest)


def tensor_bytes(operands: list[Bound]) -> Term:
    """The bytes of an allocation: `size_bytes`, or the largest span of its declared layouts."""
    found: Term = 0
    for operand in operands:
        tensor = operand.view.tensor
        own = tensor.size_bytes
        if own is None:
            own = terms.floordiv(terms.add(terms.mul(span_term(operand), tensor.bits), 7), 8)
        found = terms.maximum(found, own)
    return found


def parameters_of(binding: Binding, registers: Registers, described: TensorMap | None = None) -> tuple[Parameter, ...]:
    """The parameters of the kernel: tensors (one behind the map that describes it), register banks, symbols, the elected lane."""
    launch = binding.call.launch
    threads = launch.ctas * launch.threads
    box = box_of(binding.call, binding.contract)
    block = box.packing.block_bytes if box is not None and box.packing is not None else 1
    found: list[Parameter] = []
    for tensor in dict.fromkeys(o.tensor for o in binding.operands):
        own = [o for o in binding.operands if o.tensor == tensor]
        first = own[0]
        space = first.view.tensor.space
        if isinstance(first.spec, Register):
            found.append(RegisterBank(tensor, registers.slots[tensor], first.spec.bits // 8, threads))
            continue
        if space == "tensormap":
            raise EmissionError(
                f"tensor {tensor}: its map is encoded by the caller; a whole kernel needs the tensor itself, in global memory"
            )
        if space not in {"global", "shared", "local"}:
            raise EmissionError(f"tensor {tensor}: a kernel cannot show {space} memory")
        size = tensor_bytes(own)
        if isinstance(size, int) and space == "shared":
            size = -(-size // block) * block
        align, rest = residue(own)
        if space == "global":
            place = (tensor, size if isinstance(size, int) else str(size), align, rest)
            mapped = described if described is not None and described.tensor == tensor else None
            found.append(GlobalTensor(*place) if mapped is None else MappedTensor(*place, mapped))
        elif isinstance(size, Expr):
            raise EmissionError(f"tensor {tensor}: its size {size} depends on symbols, which only global tensors may")
        else:
            found.append(StagedTensor(tensor, space, size, launch.ctas if space == "shared" else threads, align, rest))
    for symbol in binding.call.symbols:
        uniform = symbol.varies in {"grid", "cluster"}
        found.append(Uniform(symbol.name) if uniform else Varying(symbol.name, symbol.varies, threads))
    return (*found, Elected())


class _Writer:
    """Writes the text around the snippet."""

    def __init__(self, binding: Binding, registers: Registers, parameters: tuple[Parameter, ...]) -> None:
        self.binding, self.registers, self.parameters = binding, registers, parameters
        self.a = Arithmetic({}, {}, "%tk_")
        self.after: list[str] = []
        self.completion = Completion(binding.contract, binding.call.launch)
        self.labels = 0
        self.shared_bytes = 0
        self.local_lines: list[str] = []
        self.zero = ""
        """Holds 0 (the elected lane >> 8), which ptxas cannot know: loops over local memory start there, so none of it becomes registers."""

    def prologue(self) -> None:
        """Thread numbers, parameters, register banks and copies of staged tensors; collects what is written afterwards."""
        a, launch = self.a, self.binding.call.launch
        coordinates(a, launch, frozenset({"warpid", "laneid", CTA}))
        self.zero = a.fresh()
        count = sum(words(one) for one in self.parameters)
        a.write(f"ld.param.u64 {self.zero}, [tc_p{count - 1}];")
        a.write(f"shr.u64 {self.zero}, {self.zero}, 8;")
        a.inputs["@thread"] = a.register(terms.add(terms.mul(32, var("warpid")), var("laneid")))
        a.inputs["@global_thread"] = a.register(
            terms.add(terms.mul(launch.threads, var(CTA)), var("@thread")) if launch.ctas > 1 else var("@thread")
        )
        number = 0
        cursor: Term | None = None
        for parameter in self.parameters:
            if isinstance(parameter, MappedTensor):
                self._map(parameter, number)
                number += 1
                continue
            pointers = [self._load(number + k) for k in range(words(parameter))]
            number += len(pointers)
            if isinstance(parameter, RegisterBank):
                self._bank(parameter, *pointers)
            elif isinstance(parameter, StagedTensor):
                cursor = self._staged(parameter, cursor, *pointers)
            else:
                self._plain(parameter, pointers[0])
        if cursor is not None:
            self._fit(cursor)
            a.write("bar.sync 0;")
            self.after.insert(0, "bar.sync 0;")
        for line in self.completion.before(a):
            a.write(line)
        self.after = [*self.completion.after(a), *self.after]

    def _fit(self, cursor: Term) -> None:
        """Where alignment might not fit beside full shared memory, a trap for the case that it does not."""
        if self.shared_bytes > SHARED_LIMIT:
            self.shared_bytes = SHARED_LIMIT
            over = self.a.predicate(terms.lt(terms.add(var("@tc_shared"), SHARED_LIMIT), cursor))
            self.a.write(f"@{over} trap;")

    def _load(self, number: int) -> str:
        register = self.a.fresh()
        self.a.write(f"ld.param.u64 {register}, [tc_p{number}];")
        return register

    def _map(self, tensor: MappedTensor, number: int) -> None:
        """The generic address of a tensor map among the parameters: the register the snippet reads."""
        pointer = self.registers.pointers[tensor.name]
        self.a.write(f"mov.b64 {pointer}, tc_p{number};")
        self.a.write(f"cvta.param.u64 {pointer}, {pointer};")

    def _plain(self, parameter: Parameter, register: str) -> None:
        """A tensor's pointer, a symbol, or the elected lane: the register the snippet reads."""
        if isinstance(parameter, GlobalTensor):
            self.a.write(f"mov.b64 {self.registers.pointers[parameter.name]}, {register};")
        elif isinstance(parameter, Uniform):
            self.a.write(f"mov.b64 {self.registers.symbols[parameter.symbol]}, {register};")
        elif isinstance(parameter, Varying):
            place = self._at(register, terms.mul(8, var("@global_thread")))
            self.a.write(f"ld.volatile.global.b64 {self.registers.symbols[parameter.symbol]}, [{place}];")
        else:
            self.a.write(f"mov.b64 %tc_elected, {register};")

    def _at(self, pointer: str, offset: Term) -> str:
        """A register that holds pointer + offset."""
        self.a.inputs[f"@{pointer}"] = pointer
        return self.a.register(terms.add(var(f"@{pointer}"), offset))

    def _bank(self, bank: RegisterBank, before: str, after: str) -> None:
        spec = next(o.spec for o in self.binding.operands if o.tensor == bank.name)
        prefix, size = self.registers.banks[spec.name], bank.slot_bytes
        offset = terms.mul(bank.slots * size, var("@global_thread"))
        source, target = self._at(before, offset), self._at(after, offset)
        for slot in range(bank.slots):
            name, at = f"{prefix}{slot}", slot * size
            if size == 16:
                low, high = self.a.fresh(), self.a.fresh()
                self.a.write(f"ld.volatile.global.v2.b64 {{{low}, {high}}}, [{source}+{at}];")
                self.a.write(f"mov.b128 {name}, {{{low}, {high}}};")
                self.after.append(f"mov.b128 {{{low}, {high}}}, {name};")
                self.after.append(f"st.volatile.global.v2.b64 [{target}+{at}], {{{low}, {high}}};")
            else:
                self.a.write(f"ld.volatile.global.b{8 * size} {name}, [{source}+{at}];")
                self.after.append(f"st.volatile.global.b{8 * size} [{target}+{at}], {name};")

    def _staged(self, tensor: StagedTensor, cursor: Term | None, before: str, after: str) -> Term | None:
        """Places a shared or local copy, copies it in, and plans its dump; the next free shared address."""
        a, shared = self.a, tensor.space == "shared"
        if shared:
            start = cursor if cursor is not None else self._symbol("tc_shared")
            self.shared_bytes += tensor.bytes + tensor.align
        else:
            label = f"tc_local_{len(self.local_lines)}"
            self.local_lines.append(f".local .align 16 .b8 {label}[{tensor.bytes + tensor.align}];")
            start = self._symbol(label)
        base = terms.add(start, terms.mod(terms.sub(tensor.residue, start), tensor.align))
        pointer = self.registers.pointers[tensor.name]
        a.write(f"mov.b64 {pointer}, {a.register(base)};")
        offset = terms.mul(tensor.bytes, var(CTA) if shared else var("@global_thread"))
        source, target = self._at(before, offset), self._at(after, offset)
        store = "st.volatile.shared.b8" if shared else "st.local.b8"
        load = "ld.volatile.shared.b8" if shared else "ld.local.b8"
        for line in self._loop(tensor, "ld.volatile.global.b8", source, store, pointer):
            a.write(line)
        self.after.extend(self._loop(tensor, load, pointer, "st.volatile.global.b8", target))
        return terms.add(base, tensor.bytes) if shared else cursor

    def _symbol(self, label: str) -> Term:
        register = self.a.fresh()
        self.a.write(f"mov.u64 {register}, {label};")
        self.a.inputs[f"@{label}"] = register
        return var(f"@{label}")

    def _loop(self, tensor: StagedTensor, load: str, source: str, store: str, target: str) -> list[str]:
        """Copies tensor.bytes bytes: of a CTA's copy each thread every threads-th byte, of a thread's own copy all of them."""
        a = self.a
        index, x, y, end, value = a.fresh(), a.fresh(), a.fresh(), a.fresh("p"), a.fresh("u")
        self.labels += 1
        again, done = f"TC_COPY_{self.labels}", f"TC_COPIED_{self.labels}"
        shared = tensor.space == "shared"
        first = a.inputs["@thread"] if shared else self.zero
        step = self.binding.call.launch.threads if shared else 1
        return [
            f"mov.b64 {index}, {first};",
            f"{again}:",
            f"setp.ge.u64 {end}, {index}, {tensor.bytes};",
            f"@{end} bra {done};",
            f"add.u64 {x}, {source}, {index};",
            f"add.u64 {y}, {target}, {index};",
            f"{load} {value}, [{x}];",
            f"{store} [{y}], {value};",
            f"add.u64 {index}, {index}, {step};",
            f"bra {again};",
            f"{done}:",
        ]

    def guard(self) -> tuple[list[str], list[str]]:
        """(register declarations, the branch that keeps inactive threads out of the snippet)."""
        call = self.binding.call
        condition = checked_condition(self.binding, guard_term(call), "guard")
        if condition is True:
            return [], []
        arithmetic = Arithmetic({**self.registers.symbols, ELECTED: "%tc_elected"}, self.binding.ranges, "%tg_")
        coordinates(arithmetic, call.launch, terms.variables(condition))
        inside = arithmetic.predicate(condition)
        return arithmetic.declarations(), [*arithmetic.lines, f"@!{inside} bra TC_DONE;"]


def write_kernel(binding: Binding, emission: Emission, registers: Registers) -> Kernel:
    """The module around a snippet."""
    call = binding.call
    parameters = parameters_of(binding, registers, emission.tensor_map)
    writer = _Writer(binding, registers, parameters)
    writer.prologue()
    declared, guard = writer.guard()
    block = _three(call.launch.block)
    cluster = _three(call.launch.cluster) if call.launch.cluster else None
    shared = sum(one.bytes for one in parameters if isinstance(one, StagedTensor) and one.space == "shared")
    if shared > SHARED_LIMIT:
        raise EmissionError(f"{shared} bytes of shared memory, more than the {SHARED_LIMIT} of a CTA")
    declarations = _declarations(emission, registers)
    lines = [
        f".version {version(emission.arch, call.opcode, binding.contract.isa)}",
        f".target {emission.arch}",
        ".address_size 64",
        "",
        *([".extern .shared .align 16 .b8 tc_shared[];"] if writer.shared_bytes else []),
        *writer.completion.declarations(),
        f".visible .entry {NAME}(",
        *_parameter_lines(parameters),
        ")",
        f".reqntid {block[0]}, {block[1]}, {block[2]}",
        *([f".reqnctapercluster {cluster[0]}, {cluster[1]}, {cluster[2]}"] if cluster else []),
        "{",
        *declarations,
        *writer.a.declarations(),
        *declared,
        *writer.local_lines,
        *writer.a.lines,
        *guard,
        "",
        *binding.contract.before,
        emission.ptx,
        *binding.contract.completion,
        *(["TC_DONE:"] if guard else []),
        *writer.after,
        "ret;",
        "}",
        "",
    ]
    return Kernel(
        "\n".join(lines),
        NAME,
        emission.arch,
        parameters,
        writer.shared_bytes,
        block,
        cluster,
        emission,
        {o.label: o.tensor for o in binding.operands},
    )


def _three(extents: tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z = (*extents, 1, 1)[:3]
    return x, y, z


def _declarations(emission: Emission, registers: Registers) -> list[str]:
    """The registers of the snippet's interface, those it does not read included."""
    lines = list(emission.declarations)
    for name in (*registers.symbols.values(), "%tc_elected"):
        line = f".reg .b64 {name};"
        if line not in lines:
            lines.append(line)
    return lines


def _parameter_lines(parameters: tuple[Parameter, ...]) -> list[str]:
    types = [
        ".align 64 .b8 tc_p{}[128]" if isinstance(one, MappedTensor) else ".u64 tc_p{}" for one in parameters for _ in range(words(one))
    ]
    return [f"  .param {text.format(k)}{',' if k < len(types) - 1 else ''}" for k, text in enumerate(types)]


def version(arch: str, opcode: str = "", isa: str = "") -> str:
    """The PTX ISA version of a module: the lowest that knows the architecture and the form (`isa`: the contract's own), at least 8.4."""
    number, kind = arch_rank(arch)
    parts = opcode.split(".")
    wide = "v8" in parts or ("v4" in parts and opcode.endswith("64"))
    found = next(text for least, text in reversed(VERSIONS) if number >= least)
    return max(found, isa, "8.8" if wide or kind == 1 else "", "9.1" if {"volatile", "local"} <= set(parts) else "")
