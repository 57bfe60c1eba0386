"""What an opcode asks of its operands, read from the contract's data alone; and the table of all contracts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilecheck.report import scalars
from tilecheck.report.box import box_images
from tilecheck.report.computed import product_text, result_text
from tilecheck.report.console import plain, render
from tilecheck.report.instruction import instruction_rows
from tilecheck.report.picture import lane_grid, register_grid
from tilecheck.report.tmem import maps
from tilecheck.spec import (
    BadSpelling,
    Composition,
    Contract,
    Entry,
    Memory,
    Operand,
    Register,
    Slot,
    TensorMemory,
    contract_hash,
    data,
    find_contract,
    find_entry,
    mnemonic_of,
)
from tilecheck.spec.contract import Parameter, parameter_text
from tilecheck.spec.grammar import dotted
from tilecheck.symbolic.terms import Term, variables

if TYPE_CHECKING:
    from rich.console import RenderableType

LEGAL, ILLEGAL, UNKNOWN = "legal", "illegal", "unknown"
QUESTION = "agree"
ANSWERS = (
    "no instruction, a question about two operands, the view of a writer and that of a reader: does each coordinate name the very bits of one allocation (in "
    "registers of the same thread too) in both, for all values of the symbols and all threads? Proved, or refuted by storage, shape, bounds, replica or image"
)
"""What the opcode that is no instruction asks."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """An opcode, whether it is `legal`, `illegal` or `unknown`, and what stands behind that.

    arch: the architecture asked about, if any.
    """

    opcode: str
    status: str
    contract: Contract | None = None
    bad: BadSpelling | None = None
    entry: Entry | None = None
    arch: str | None = None

    def to_json(self) -> dict[str, object]:
        """The explanation as plain data."""
        document: dict[str, object] = {"opcode": self.opcode, "status": self.status}
        if self.entry is not None:
            document["spelling"] = self.entry.grammar.order()
            document["source"] = self.entry.grammar.source
        if self.opcode == QUESTION:
            document["asks"] = ANSWERS
        if self.bad is not None:
            document |= {"qualifier": self.bad.qualifier, "why": self.bad.why, "nearest": list(self.bad.nearest)}
        if self.contract is not None:
            document |= {"arch_floor": self.contract.arch, "contract_hash": contract_hash(self.contract), "contract": data(self.contract)}
        return document


def explain(opcode: str, arch: str | None = None) -> Explanation:
    """What is known of an opcode; `illegal` also where `arch` is below the form's floor."""
    found, entry = find_contract(opcode), find_entry(mnemonic_of(opcode))
    if opcode == QUESTION:
        return Explanation(opcode, LEGAL)
    if found is None or entry is None:
        return Explanation(opcode, UNKNOWN)
    if isinstance(found, BadSpelling):
        return Explanation(opcode, ILLEGAL, None, found, entry, arch)
    if arch is not None and not found.runs_on(arch):
        return Explanation(opcode, ILLEGAL, found, BadSpelling(arch, f"the form needs {found.needs}"), entry, arch)
    return Explanation(opcode, LEGAL, found, None, entry, arch)


def as_text(explanation: Explanation, *, terminal: bool) -> str:
    """The explanation for people."""
    opcode = plain(explanation.opcode)
    if explanation.opcode == QUESTION:
        return render(_table([("opcode", opcode), ("asks", plain(ANSWERS))]), terminal=terminal)
    if explanation.entry is None:
        from tilecheck.spec.table import BUILT_IN

        mnemonic, known = plain(mnemonic_of(explanation.opcode)), ", ".join(BUILT_IN)
        return f"{opcode}: no contract knows the mnemonic {mnemonic}; there are contracts for {known}\n"
    parts: list[RenderableType] = []
    if explanation.bad is not None:
        fault = plain(f"{explanation.bad.qualifier}: {explanation.bad.why}")
        parts.append(_table([("illegal", opcode), ("at fault", fault), *_spelling(explanation)]))
    elif explanation.contract is not None:
        contract = explanation.contract
        parts += [_table([("opcode", opcode), *_general(contract)])]
        parts += [] if contract.scalar is None else _composed(contract.scalar)
        parts += [*_operands(contract), *_maps(contract)]
        parts += [] if contract.word is None else [_table(rows) for rows in instruction_rows(contract, contract.word)]
        parts += [] if contract.sized is None else _grids(contract)
    return "".join(render(part, terminal=terminal) for part in parts)


def _spelling(explanation: Explanation) -> list[tuple[str, str]]:
    assert explanation.entry is not None
    grammar = explanation.entry.grammar
    rows = [("spelling", grammar.order())]
    rows.extend((slot.place, _values(slot)) for slot in grammar.slots)
    nearest = explanation.bad.nearest if explanation.bad is not None else ()
    rows += [("legal near it" if k == 0 else "", one) for k, one in enumerate(nearest)]
    return [*rows, ("source", grammar.source)]


def _values(slot: Slot) -> str:
    return " ".join(map(dotted, slot.values)) + ("" if slot.required else "  (may be left out)")


def _general(contract: Contract) -> list[tuple[str, str]]:
    who = {
        "thread": "each thread on its own",
        "warp": "all 32 lanes of a warp together",
        "warpgroup": "all 128 lanes of a warpgroup together",
    }
    return [
        ("source", contract.source),
        ("arch", f"{contract.arch} and later" if contract.arch[-1:].isdigit() else contract.needs),
        ("executes", who.get(contract.collective, contract.collective)),
        *_suffixes(contract),
        ("issue", issue_text(contract)),
        *([("or with", contract.variants_text)] if contract.variants else []),
        *(() if contract.space_written else (("note", "legal to the ISA, refuted by space.explicit: no space is written"),)),
    ]


def _suffixes(contract: Contract) -> list[tuple[str, str]]:
    """The last axes of the views: of all, or of each operand."""
    if contract.scalar is not None:
        return [("atom", "one element: views end in no suffix")]
    if not contract.own_atoms:
        return [("atom", f"{contract.atom_text}: the last axes of every view")]
    rows = [f"{operand.name}: {contract.shape_text(operand)}" for operand in contract.operands]
    steps = f"; {', '.join(contract.loops)}: repeat axes, the last ones, in this order of issue" if contract.loops else ""
    return [("last axes", f"{'; '.join(rows)}{steps}")]


def issue_text(contract: Contract) -> str:
    """The PTX statement with the operands' names; registers are numbered in operand order."""
    fields: dict[str, str] = {"opcode": contract.opcode}
    for operand in contract.operands:
        if not isinstance(operand, Register):
            fields[operand.name] = operand.name
            continue
        count = register_count(contract, operand)
        text = ", ".join(f"{operand.name}{k}" for k in range(count))
        fields[operand.name] = text if count == 1 or "{{{" + operand.name + "}}}" in contract.issue else "{" + text + "}"
    fields |= {p.name: p.name for p in contract.parameters if p.operand and (p.required or p.default is not None)}
    fields |= {} if contract.word is None else {"word": "idesc"}
    return contract.statement(fields, shown=True)


def register_count(contract: Contract, operand: Register) -> int:
    """How many registers of a thread the instruction names for an operand."""
    from itertools import product

    from tilecheck.symbolic.terms import evaluate

    axes = contract.atom_of(operand)
    names = [axis.name for axis in axes]
    points = product(*(range(axis.extent) for axis in axes))
    return 1 + max(evaluate(operand.register, dict(zip(names, point, strict=True))) for point in points)


def _composed(composition: Composition) -> list[RenderableType]:
    """What the operands of a scalar composition are."""
    inputs = "registers, or a number for all elements; read; elements of the type of the parameter"
    result = "registers, written; elements of the type of the function's result, each in a slot of its own, no replicas"
    return [_table([(composition.destination, result), ("inputs", f"one for each parameter of the function: {inputs}")])]


def _operands(contract: Contract) -> list[RenderableType]:
    parts = [_table([(one.name, _kind(one)), *(("", text) for text in _demands(one, contract))]) for one in contract.operands]
    rows = [(p.name, _parameter(p, contract)) for p in contract.parameters]
    return [*parts, *([_table([("parameters", ""), *((f"  {name}", text) for name, text in rows)])] if rows else [])]


def _kind(operand: Operand) -> str:
    role = "written" if operand.write else "read"
    where = "registers" if isinstance(operand, Register) else f"{operand.space or 'generic'} memory"
    where = "tensor memory" if isinstance(operand, TensorMemory) else where
    types = f", viewed as {', '.join(operand.dtypes)}" if operand.dtypes else ""
    width = f"of {operand.bits} bits" if operand.bits else "of any width, one for all operands"
    return f"{where}, {role}; elements {width}{types}"


def _demands(operand: Operand, contract: Contract) -> list[str]:
    if isinstance(operand, Register):
        axes = ", ".join(axis.name for axis in contract.atom_of(operand))
        who = "the executing thread" if operand.lane is None else f"{'lane' if contract.warps == 1 else 'thread'} {operand.lane}"
        texts = [f"element ({axes}) is register {operand.register} of {who}"]
        texts += ["every element of a thread in a slot of its own, no replicas"] if operand.write else []
        if operand.then is not None:
            steps = ", ".join(name for name in contract.loops if name not in contract.loops_of(operand))
            texts.append(f"read in the first step of {steps} only; {operand.then} stands in its place in the later ones")
        texts += [f"or a view of {' or '.join(operand.paired)}, two of which side by side are an element"] if operand.paired else []
        return texts + (
            [f"or a number of type {operand.number}, or an integer expression, the same for all elements"] if operand.number else []
        )
    if isinstance(operand, TensorMemory):
        return [operand.asks]
    texts = [contract.rows_text(operand), *(() if operand.described is None else (mode.text for mode in operand.described.modes))]
    if operand.cta is not None:
        texts.append(
            f"in the CTA{'s' if contract.by_name(operand.cta).kind == 'mask' else ''} that {operand.cta} names, at the address of the executing CTA"
        )
    if operand.provider is not None:
        surplus = "; further lanes repeat valid addresses" if operand.surplus == "repeat" else ""
        texts.append(f"lane {operand.provider} gives the address of a row{surplus}")
    return texts


def _parameter(parameter: Parameter, contract: Contract) -> str:
    text = parameter_text(parameter, contract.move) + (", required" if parameter.required else "")
    text += f", only with {parameter.needs}" if parameter.needs else ""
    return text + (f", not with {parameter.unless}" if parameter.unless else "")


def _names(contract: Contract) -> str:
    return ", ".join(axis.name for axis in contract.atom)


def _cells(contract: Contract, computed: str | None) -> list[RenderableType]:
    """Which register of which lane stands in which cell of tensor memory."""
    sides = (", ".join(o.name for o in contract.operands if o.write == write) for write in (True, False))
    copied = sum(isinstance(o, Register) for o in contract.operands) == 1
    says = " <- ".join(sides) + (": each cell and the register that holds it" if copied else "") if copied or computed is None else computed
    return [_table([("moves" if copied or computed is None else "computes", says)]), *_grids(contract)]


def _grids(contract: Contract) -> list[RenderableType]:
    """Which element stands in which cell of tensor memory."""
    from rich.padding import Padding
    from rich.text import Text

    return [Padding(Text(f"{title}\n{grid}", no_wrap=True, overflow="crop"), (1, 0, 0, 2)) for title, grid in maps(contract)]


def _maps(contract: Contract) -> list[RenderableType]:
    """What goes where, as an equation, and the ownership and address lanes as tables."""
    from rich.padding import Padding
    from rich.text import Text

    move = contract.move
    if contract.scalar is not None:
        return [_table([("computes", "dst = the function of the inputs, made of:"), *_operations(contract.scalar)])]
    computed = computed_text(contract)
    if any(isinstance(operand, TensorMemory) for operand in contract.operands) and not contract.loops:
        return _cells(contract, computed)
    if computed is not None:
        drawn = [Padding(Text(f"{title}\n{grid}", no_wrap=True, overflow="crop"), (1, 0, 0, 2)) for title, grid in fragments(contract)]
        return [_table([("computes", computed)]), *drawn]
    if contract.box is not None:
        drawn = [Padding(Text(f"{title}\n{grid}", no_wrap=True, overflow="crop"), (1, 0, 0, 2)) for title, grid in box_images(contract.box)]
        return [_table([("moves", contract.box.moves)]), *drawn]
    if not move.dst:
        return [_table([("moves", "nothing: no register and no memory is written")])]
    left = _names(contract) + "".join(f"; {part.name}" for part in move.parts)
    count = len(contract.atom)
    right = ", ".join(str(term) for term in move.source[:count]) + "".join(f"; {term}" for term in move.source[count:])
    parts: list[RenderableType] = [
        _table([("moves", f"{move.dst}[{left}] <- {move.src}[{right}]{'' if move.unpacks is None else move.unpacks.text}")])
    ]
    if move.parts:
        units = ", ".join(f"{part.name} 0..{part.extent - 1}" for part in move.parts)
        parts.append(_table([("", f"({units}: the parts of an element, low bits first)")]))
    if move.zero is not False:
        parts.append(_table([("", f"and 0 where {move.zero}")]))
    if move.combine is not None:
        parts.append(_table([("", f"combined with what stands there by {move.combine}")]))
    for title, drawn in tables(contract):
        parts.append(Padding(Text(f"{title}\n{drawn}", no_wrap=True, overflow="crop"), (1, 0, 0, 2)))
    return parts


def _operations(composition: Composition) -> list[tuple[str, str]]:
    """What a scalar function may be made of."""
    found: list[tuple[str, str]] = []
    for row in scalars.rows(composition):
        error = f"; error {row.error}" if row.error else ""
        found += [(f"  {row.written}", f"{row.types}{error}"), ("", row.ptx), *([("", f"from {row.arch}")] if row.arch else [])]
    return found


def computed_text(contract: Contract) -> str | None:
    """What an instruction computes, None where it copies bits."""
    if contract.product is not None:
        return product_text(contract.product, [p.name for p in contract.parameters if p.kind == "flag"])
    if contract.computed is not None and not contract.move.dst:
        return result_text(contract.computed)
    if contract.move.dst or not any(operand.write for operand in contract.operands):
        return None
    written = ", ".join(operand.name for operand in contract.operands if operand.write)
    sources = ", ".join(operand.name for operand in contract.operands if not operand.write)
    why = contract.unpredicted and f": {contract.unpredicted}"
    return f"{written} from {sources or 'what stands there'}; no image is predicted{why}"


def fragments(contract: Contract) -> list[tuple[str, str]]:
    """(title, grid) of each operand of a product: lane and register of every element over the last two atom axes, the outer ones 0.

    An operand that only a variant has in registers follows.
    """
    found: list[tuple[str, str]] = []
    own = {operand.name for operand in contract.operands if isinstance(operand, Register)}
    others = [o for one in contract.variants if contract.warps > 1 for o in one.operands if o.name not in own]
    for operand in (*contract.operands, *others):
        axes = contract.atom_of(operand)
        if not isinstance(operand, Register) or operand.lane is None or len(axes) < 2:
            continue
        *outer, down, across = axes
        fixed = dict.fromkeys((axis.name for axis in outer), 0)
        names = ", ".join(axis.name for axis in axes) + ("" if not outer else f", {', '.join(axis.name for axis in outer)} 0")
        whose = "lane 12" if contract.warps == 1 else "thread 12 of the warpgroup"
        title = f"{operand.name}[{names}]: T12:{operand.name}1 is register 1 of {whose}"
        found.append((title, register_grid(operand, down, across, fixed)))
    return found


def tables(contract: Contract) -> list[tuple[str, str]]:
    """(title, grid) of the lanes that own the elements of each register operand, over the last two atom axes."""
    found: list[tuple[str, str]] = []
    for operand in contract.operands:
        if isinstance(operand, TensorMemory):
            continue
        lane = operand.lane if isinstance(operand, Register) else operand.provider
        if lane is None or len(contract.atom) < 2:
            continue
        if isinstance(operand, Register):
            found.append((f"lane that holds {operand.name}[{_names(contract)}]{_for_all(lane, contract)}", _grid(lane, contract)))
        else:
            axes = ", ".join(_row_axes(operand, contract))
            found.append((f"lane that gives the address of row ({axes}) of {operand.name}", _rows(lane, operand, contract)))
    return found


def _row_axes(operand: Memory, contract: Contract) -> list[str]:
    return [axis.name for axis in contract.atom if axis.name not in operand.row]


def _for_all(lane: Term, contract: Contract) -> str:
    fixed = [axis.name for axis in contract.atom[:-2]]
    used = variables(lane) if not isinstance(lane, int) else frozenset[str]()
    return f", the same for every {', '.join(fixed)}" if fixed and not used & set(fixed) else f", {', '.join(fixed)} 0" if fixed else ""


def _grid(lane: Term, contract: Contract) -> str:
    outer: Mapping[str, int] = {axis.name: 0 for axis in contract.atom[:-2]}
    return lane_grid(lane, contract.atom[-2], contract.atom[-1], dict(outer))


def _rows(lane: Term, operand: Memory, contract: Contract) -> str:
    axes = [axis for axis in contract.atom if axis.name not in operand.row]
    if len(axes) != 2:
        return str(lane)
    down, across = axes if axes[1].extent <= 8 else reversed(axes)
    return lane_grid(lane, down, across, {})


def _table(rows: list[tuple[str, str]]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, min_width=12)
    grid.add_column(overflow="fold")
    for label, text in rows:
        grid.add_row(Text(label, style="bold"), Text(text, overflow="fold"))
    return grid
