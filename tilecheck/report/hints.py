"""One sentence for a failing clause: what would make it hold. Taken from the clause and the call's data; never another opcode.

A repair that can be written as data is proved first (`repairs`); the sentences here are for the rest.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tilecheck.boxes import box_of
from tilecheck.spec import arch_rank
from tilecheck.spec.contract import Contract, Memory, Operand, Register
from tilecheck.symbolic import terms

if TYPE_CHECKING:
    from tilecheck.call import Call
    from tilecheck.layout.view import View
    from tilecheck.prove.verdict import ClauseResult, Counterexample

GENERAL: dict[str, str] = {
    "cluster": "Launch clusters of an even number of CTAs (launch.cluster), or take a spelling for one CTA.",
    "replica": "Leave the replica R[...] (or the broadcast) out of the destination: an element is written in one place.",
    "distinct": "Give every element that one thread receives a slot of its own.",
    "index.range": "Bound the symbols (min, max) so that every intermediate result fits, or declare a wider index_dtype.",
    "base.period": "State the base's residue for the whole period (align= or base=) if the allocation has it.",
}


def short_name(clause: str, contract: Contract | None) -> tuple[str, Operand | None]:
    """The clause without its operand, and that operand of the contract."""
    head, _, rest = clause.partition(".")
    operand = None if contract is None else next((o for o in contract.operands if o.name == head), None)
    return (rest, operand) if operand is not None else (clause, None)


def view_of(operand: Operand | None, call: Call, contract: Contract | None) -> View | None:
    """The view that the call hands to an operand of the contract."""
    from tilecheck.fitting import seen
    from tilecheck.layout.view import View

    if operand is None or contract is None:
        return None
    place = contract.operands.index(operand)
    found = call.operands[place] if place < len(call.operands) else None
    return seen(found, operand) if isinstance(found, View) else None


def hint(clause: ClauseResult, call: Call, contract: Contract | None, failing: frozenset[str] = frozenset()) -> str | None:
    """What would make the clause hold, or None where nothing can be said from the data. failing: the ids of all failing clauses."""
    name, operand = short_name(clause.id, contract)
    if name == "opcode":
        return _opcode(call, contract)
    if contract is None:
        return _agreement(clause, call) if call.opcode == "agree" else None
    from tilecheck.report.repairs import repair

    return repair(clause, call, contract, failing | {clause.id}) or _advice(name, operand, clause, call, contract)


def _agreement(clause: ClauseResult, call: Call) -> str | None:
    """What would let a writer and a reader see one image."""
    from tilecheck.layout.view import View

    found = [operand for operand in call.operands if isinstance(operand, View)]
    if clause.id == "operands" or len(found) != 2:
        return "Give two views, the writer's first, and no parameter."
    writer, reader = found
    if clause.id == "image" and str(writer.tensor.layout) == str(reader.tensor.layout):
        return f"Let the steps of both views lead to the same elements: their layouts are one, the regions of {writer.tensor.name} and {reader.tensor.name} are not."
    if clause.id == "image":
        layout = f"{writer.tensor.layout} of {writer.tensor.dtype}"
        return f"Let {reader.tensor.name} look where {writer.tensor.name} writes, by its layout {layout}; or let {writer.tensor.name} write by that of {reader.tensor.name}."
    if clause.id.endswith(("bounds", "index.range")):
        return "Bound the symbols (min, max, assume) so that the region stays inside the tensor."
    if clause.id == "storage" and (writer.tensor.tensor is None or writer.tensor.tensor != reader.tensor.tensor):
        return f"Let {writer.tensor.name} and {reader.tensor.name} name one `tensor`, if they lie in one allocation."
    return f"Let both views have the space, the shape and the width of the elements of {writer.tensor.name}."


def _advice(name: str, operand: Operand | None, clause: ClauseResult, call: Call, contract: Contract) -> str | None:
    from tilecheck.report.box import box_advice
    from tilecheck.report.descriptor import matrix_advice
    from tilecheck.report.parameters import parameter_advice
    from tilecheck.report.tmem import cells_advice

    advice = box_advice(name, clause, call, contract) or matrix_advice(name, operand, call, contract)
    advice = advice or cells_advice(name, operand, clause, contract) or parameter_advice(clause, call, contract)
    if advice is not None:
        return advice
    if name == "operands":
        chosen = _selector(call, contract)
        if chosen is not None:
            return chosen
        names = ", ".join(o.name for o in contract.operands)
        parameters = ", ".join(p.name + (" (required)" if p.required else "") for p in contract.parameters)
        first = f"Give the operands {names} in this order" if names else "Give no operands"
        return first + (f"; the parameters it takes are {parameters}." if parameters else ".")
    if name == "participation":
        return _together(contract)
    if name == "shape":
        return _shape(operand, call, contract)
    if name == "space.explicit":
        spaces = [view.tensor.space for view in (view_of(o, call, contract) for o in contract.operands if isinstance(o, Memory)) if view]
        return "Write the state space that the operand is in as a qualifier" + (f": .{spaces[0]}." if spaces else ".")
    if name == "aligned":
        return _aligned(clause, operand, call, contract)
    if name in {"storage", "type", "owner", "contiguous"}:
        return _of_operand(name, operand, call, contract)
    if name in {"bounds", "backing"}:
        return _extent(name, clause, operand, call, contract)
    return GENERAL.get(name)


def _selector(call: Call, contract: Contract) -> str | None:
    """The nearest number, not smaller where there is one, that a parameter takes instead of the one it has."""
    for parameter in contract.parameters:
        given = call.parameter(parameter.name)
        if parameter.kind == "selector" and isinstance(given, int) and given not in parameter.choices:
            other = min(parameter.choices, key=lambda choice: (choice < given, abs(choice - given)))
            return f"{parameter.name} takes {', '.join(map(str, parameter.choices))}: {other} instead of {given}, for instance."
    return None


def _together(contract: Contract) -> str:
    unit = "warpgroup" if contract.warps > 1 else "warp"
    return f"Let the guard hold for all {32 * contract.warps} lanes of a {unit} or for none, and conditions and starts be the same in all of them."


def _opcode(call: Call, contract: Contract | None) -> str:
    if contract is None:
        return f"`tilecheck explain {call.opcode}` says what is wrong with the spelling, and which legal ones are near."
    box, needs = box_of(call, contract), contract.needs
    packed = None if box is None else box.packing
    if box is None or packed is None or (call.arch is not None and box.copy.has(call.arch, packed.arch)):
        return f"The form exists on {needs}: check it for such an architecture, or for none."
    if arch_rank(packed.arch) > arch_rank(contract.arch):
        needs = box.copy.needs(packed.arch)
    return f"Tensor maps of {packed.format} are loaded on {needs}: check it for such an architecture, or for none."


def _shape(operand: Operand | None, call: Call, contract: Contract) -> str:
    """The shape this operand would have: the group of the scope, the repeats of the operands that end right, one instruction."""
    from tilecheck.scopes import group_axes

    view = view_of(operand, call, contract)
    axes = ", ".join(f"{axis.name} {axis.extent}" for axis in contract.atom)
    if operand is not None and contract.own_atoms:
        last = f"End the shape of {operand.name} with {contract.shape_text(operand)}"
        return f"{last}, behind the group axes of the scope and shared repeats; a loop has the same extent in every operand."
    advice = f"End the shape with the axes of one instruction ({axes}), behind the group axes of the scope and shared repeats"
    group = [axis.extent for axis in group_axes(call, contract.collective)]
    if view is None or not all(isinstance(extent, int) for extent in group):
        return advice + "."
    wanted = [*group, *_repeats(view.shape, call, contract, len(group)), *contract.suffix]
    text = f"For instance a region of shape {wanted} of {view.tensor.name}"
    extents = [extent for extent in view.shape if isinstance(extent, int)]
    atom = prod(contract.suffix)
    if len(extents) != len(view.shape) or prod(extents) % atom == 0:
        return f"{text}. {advice}."
    return f"{text}: its {prod(extents)} elements now are no whole number of instructions ({atom} elements each). {advice}."


def _repeats(shape: tuple[object, ...], call: Call, contract: Contract, front: int) -> list[int]:
    """The repeat axes of an operand whose shape ends with the atom; without one, as many of the own as are there."""
    back = len(contract.suffix)
    shapes = [one.shape for one in (view_of(o, call, contract) for o in contract.operands) if one is not None]
    right = [one for one in shapes if len(one) >= front + back and one[len(one) - back :] == contract.suffix]
    chosen = right[0] if right else shape
    return [extent for extent in chosen[front : max(front, len(chosen) - back)] if isinstance(extent, int)]


def _aligned(clause: ClauseResult, operand: Operand | None, call: Call, contract: Contract) -> str | None:
    view = view_of(operand, call, contract)
    if view is None or not isinstance(operand, Memory):
        return None
    need, tensor = operand.align_bytes, view.tensor
    example = clause.counterexample
    residues = {} if example is None else {name: value for name, value in example.symbols if name.startswith("base(")}
    if any(residues.values()):
        known = f"its base is only known to be a multiple of {tensor.align}" if tensor.align else "nothing more is known of its base"
        return f"Say align={need} (or base=, the residue) on the tensor {tensor.name} if its allocation has it: {known}."
    names = [] if example is None else symbols_of(example)
    elements = f"{need} bytes ({need * 8 // operand.bits} elements of {operand.bits} bits)"
    if names:
        return f"Let every row start at a multiple of {elements}: declare that as multiple_of, or assume it, of {', '.join(names)}."
    return f"Let every row start at a multiple of {elements} from an aligned base: the starts and the strides between rows decide."


def _of_operand(name: str, operand: Operand | None, call: Call, contract: Contract) -> str | None:
    if operand is None:
        return None
    if name == "storage":
        return _storage(operand, call, contract)
    if name == "type" and view_of(operand, call, contract) is None:
        return f"Bound the symbols (min, max, assume) so that every value is a .{getattr(operand, 'number', '')}, or take a wider type."
    if name == "type":
        return f"View it as one of {', '.join(operand.dtypes)}: the bits stay the same." if operand.dtypes else None
    if name == "contiguous":
        return _contiguous(operand, call, contract) if isinstance(operand, Memory) else None
    lane = operand.lane if isinstance(operand, Register) else None
    if lane is None:
        return "Let the thread axes of the layout follow the group axes of the view: the thread that executes an element holds it."
    axes = ", ".join(axis.name for axis in contract.atom_of(operand))
    return f"Let the layout send element ({axes}) to {'laneid' if contract.warps == 1 else 'tid_in_wg'} {lane}."


def _storage(operand: Operand, call: Call, contract: Contract) -> str:
    view = view_of(operand, call, contract)
    want = "register" if isinstance(operand, Register) else operand.space.split("::")[0]
    if not want and view is not None:
        return f"Write the state space of {view.tensor.name} as a qualifier: .{view.tensor.space}."
    if view is not None and view.tensor.space != want:
        return f"Hand it a view of a {want} tensor: {view.tensor.name} is in {view.tensor.space} space (PTX order, destination first)."
    return f"View it as elements of {operand.bits} bits: view(dtype) needs a last axis of stride 1 that starts and ends on whole words."


def _contiguous(operand: Memory, call: Call, contract: Contract) -> str:
    from tilecheck.layout.tile import swizzles

    view, row = view_of(operand, call, contract), " and ".join(operand.row)
    stride = f"Give the {row} axis stride 1 in elements of {operand.bits} bits"
    found = swizzles(view.tensor.layout) if view is not None else ()
    if view is None or not found:
        return stride + "."
    unit = 1 << min(one.per_element for one in found)
    return f"{stride}, and let no row cross a multiple of {unit} elements of {view.tensor.name}: the swizzle keeps only these together."


def _extent(name: str, clause: ClauseResult, operand: Operand | None, call: Call, contract: Contract) -> str | None:
    view = view_of(operand, call, contract)
    if name == "backing":
        return None if view is None else f"Declare size_bytes of the whole allocation of {view.tensor.name}, or a layout that fits it."
    from tilecheck.report.place import cut

    example = clause.counterexample
    found = None if view is None or example is None else cut(view, call, contract, example)
    if found is None:
        return "Let the slice begin at 0 or later and end within the axis."
    begin, limit, extent = found.check.begin, found.check.limit, found.check.extent
    if found.limit < 1 or (isinstance(extent, int) and extent > found.limit):
        return f"The axis has {found.limit} elements and the slice takes {extent}: no start fits."
    if isinstance(begin, int):
        return f"Start the slice between 0 and {terms.sub(limit, extent)} there, not at {begin}."
    return f"Keep {begin} between 0 and {terms.sub(limit, extent)} there."


def symbols_of(example: Counterexample) -> list[str]:
    """The symbols of a counterexample, base residues and the elected lane aside."""
    return [name for name, _ in example.symbols if not name.startswith("base(") and name != "elected"]
