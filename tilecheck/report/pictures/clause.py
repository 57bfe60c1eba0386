"""The pictures of a failing clause, at its counterexample."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilecheck.evaluate.case import Operand
from tilecheck.evaluate.launch import Thread
from tilecheck.evaluate.views import Coordinate, FixedView
from tilecheck.report.hints import short_name, view_of
from tilecheck.report.pictures import bits, cells, lines, owners, walk
from tilecheck.report.pictures.seen import Row, Seen
from tilecheck.report.pictures.svg import Picture
from tilecheck.report.place import cut

if TYPE_CHECKING:
    from tilecheck.call import Call
    from tilecheck.prove.verdict import ClauseResult, Counterexample
    from tilecheck.spec.contract import Contract

MOST_ROWS = 16
_OWNER = re.compile(r"^(\w+(?: (?:%|//) 4)?) -?\d+")
_BYTES = re.compile(r"(\d+) bytes$")
_CELL = re.compile(r"^lane (-?\d+), column (-?\d+)")
_IN_TYPE = re.compile(r"<=|^an index from")
_VALUE = re.compile(r"(-?\d+)$")


@dataclass(frozen=True, slots=True)
class Failure:
    """A failing clause with its point, and the evaluator's view of the operand there."""

    example: Counterexample
    call: Call
    contract: Contract
    seen: Seen
    name: str
    operand: Operand | None
    thread: Thread | None

    @property
    def coordinate(self) -> Coordinate:
        """The coordinate of the element."""
        return (*self.example.group, *self.example.repeat, *self.example.atom)


def pictures(clause: ClauseResult, call: Call, contract: Contract | None) -> list[Picture]:
    """What shows why a clause fails; nothing where there is no counterexample, or nothing to draw."""
    example = clause.counterexample
    if example is None or contract is None:
        return []
    seen = Seen.at(example, call, contract)
    if seen is None:
        return []
    name, operand = short_name(clause.id, contract)
    thread = None if example.lane is None else Thread(example.cta or 0, example.warp or 0, example.lane)
    found = Failure(example, call, contract, seen, name, None if operand is None else seen.operands.get(operand.name), thread)
    draw = DRAWN.get(name)
    return [] if draw is None else [one for one in draw(found) if one is not None]


def _row(found: Failure, operand: Operand, thread: Thread) -> Row | None:
    """The row that has the failing element."""
    fixed, atom = found.seen.fixed(operand, thread), operand.row_start(found.example.atom)
    if fixed is None:
        return None
    coordinate = (*found.example.group, *found.example.repeat, *atom)
    return Row(thread, found.example.group, found.example.repeat, atom, fixed.address(coordinate))


def _residue(found: Failure, operand: Operand) -> int:
    """What the base is modulo the alignment: as the counterexample has it, or the one residue that is known."""
    known = found.seen.case.bases[operand.tensor].residues(operand.align_bytes)
    return dict(found.example.symbols).get(f"base({operand.tensor})", known[0] if known else 0)


def _swizzle(fixed: FixedView | None, coordinate: Coordinate) -> Picture | None:
    return None if fixed is None else bits.swizzled(fixed.layout, fixed.source(coordinate)[0], fixed.view.declared_bits)


def _aligned(found: Failure) -> list[Picture | None]:
    operand, thread = found.operand, found.thread
    row = None if operand is None or thread is None or not found.seen.complete else _row(found, operand, thread)
    if operand is None or thread is None or row is None:
        return []
    residue, rows = _residue(found, operand), found.seen.rows(operand, thread, found.example.repeat)
    rows = rows if row in rows else [row]
    return [
        walk.address_walk(found.seen, operand, rows, most=MOST_ROWS, offender=row, residue=residue),
        bits.address(row.bits, residue, operand.align_bytes),
        _swizzle(found.seen.fixed(operand, thread), row.coordinate),
    ]


def _contiguous(found: Failure) -> list[Picture | None]:
    operand, thread = found.operand, found.thread
    row = None if operand is None or thread is None or not found.seen.complete else _row(found, operand, thread)
    if operand is None or thread is None or row is None:
        return []
    shown = walk.neighbours(found.seen, operand, row, found.example.atom)
    return [shown, _swizzle(found.seen.fixed(operand, thread), found.coordinate)]


def _owner(found: Failure) -> list[Picture | None]:
    axis = _OWNER.match(found.example.expected)
    if found.operand is None or found.thread is None or axis is None or not found.seen.complete:
        return []
    return [owners.ownership(found.seen, found.operand, found.thread, found.example.repeat, axis=axis[1], marked=found.coordinate)]


def _cells(found: Failure) -> list[Picture | None]:
    """The cells of an operand in tensor memory, the element marked, and where it should lie."""
    operand, example = found.operand, found.example
    if operand is None or operand.matrix is None or found.thread is None or not example.atom or not found.seen.complete:
        return []
    wanted = _CELL.match(example.expected)
    place = (int(wanted[1]), int(wanted[2])) if wanted else None
    return [cells.tensor_memory(found.seen, operand, found.thread, example.group, example.repeat, marked=found.coordinate, wanted=place)]


def _distinct(found: Failure) -> list[Picture | None]:
    if found.operand is None or found.thread is None or not found.seen.complete:
        return []
    if found.operand.matrix is not None:
        return _cells(found)
    return [owners.slots(found.seen, found.operand, found.thread, found.coordinate)]


def _participation(found: Failure) -> list[Picture | None]:
    return [owners.executing(found.seen, found.thread)] if found.thread is not None and found.seen.complete else []


def _bounds(found: Failure) -> list[Picture | None]:
    _, operand = short_name(f"{found.operand.name}.bounds" if found.operand else "", found.contract)
    view = view_of(operand, found.call, found.contract)
    leaves = None if view is None else cut(view, found.call, found.contract, found.example)
    if leaves is None or not isinstance(leaves.check.extent, int):
        return []
    return [lines.slice_on_axis(leaves.begin, leaves.begin + leaves.check.extent, leaves.limit, found.coordinate)]


def _backing(found: Failure) -> list[Picture | None]:
    allowed, needed = _BYTES.search(found.example.expected), _BYTES.search(found.example.actual)
    return [lines.span_in_allocation(int(allowed[1]), int(needed[1]))] if allowed and needed else []


def _index_range(found: Failure) -> list[Picture | None]:
    value = _VALUE.search(found.example.actual)
    return (
        [bits.out_of_type(int(value[1]), found.call.index_dtype, found.coordinate)]
        if value and _IN_TYPE.search(found.example.expected)
        else []
    )


def _storage(found: Failure) -> list[Picture | None]:
    """The old elements that a dtype view joins or tears apart."""
    operand, atom = found.operand, found.example.atom
    fixed = None if operand is None or not atom else found.seen.fixed(operand, found.thread)
    if operand is None or fixed is None:
        return []
    for level, step in enumerate(fixed.view.steps):
        shape = fixed.shapes[level + 1]
        inside = len(shape) == len(atom) and all(0 <= c < extent for c, extent in zip(atom, shape, strict=True))
        if step.op != "view" or step.new_bits == step.old_bits or not inside:
            continue
        first, _ = fixed.backs[level](atom, 0)
        wide = step.new_bits > step.old_bits
        begin = first[-1] if wide else first[-1] - 1
        if begin < 0:
            return []
        old = [(*first[:-1], begin + k) for k in range(step.new_bits // step.old_bits if wide else 2)]
        return _joined(operand, fixed, level, atom, old, step.new_bits if wide else 0)
    return []


def _joined(operand: Operand, fixed: FixedView, level: int, at: Coordinate, old: list[Coordinate], new_bits: int) -> list[Picture | None]:
    """at: the new element; new_bits: the width that they make up, 0 for neighbours that a narrowing view wants next to each other."""
    width = fixed.view.steps[level].old_bits
    if new_bits:
        places = [fixed.address(one, 0, level) for one in old]
    else:
        places = [fixed.linear(declared) * fixed.view.declared_bits + bit for declared, bit in (fixed.source(one, 0, level) for one in old)]
    expected = [places[0], *(before + width for before in places[:-1])]
    wrong = [k for k, (a, b) in enumerate(zip(expected, places, strict=True)) if a != b]
    size = new_bits // 8
    torn = next((k for k, bit in enumerate(places) if size and bit // new_bits != places[0] // new_bits), 0)
    texts = [f"{operand.label}[{', '.join(map(str, fixed.source(one, 0, level)[0]))}]" for one in old]
    title = f"The elements that become one of {new_bits} bits" if new_bits else "Neighbours that the view cuts into smaller elements"
    where = wrong[0] if wrong else torn
    first = max(0, min(where - 4, len(old) - walk.MOST_CELLS))
    cells = list(zip(texts, expected, places, strict=True))[first : first + walk.MOST_CELLS]
    frame = (0, len(cells) - 1) if new_bits else (where, where)
    found: list[Picture | None] = [walk.strip(cells, frame, at, places[wrong[0] if wrong else 0] // 8, title, size)]
    if not wrong and size:
        found.append(bits.address(places[0], 0, size))
    declared = fixed.source(old[where], 0, level)[0]
    return [*found, bits.swizzled(fixed.layout, declared, fixed.view.declared_bits) if wrong and new_bits else None]


DRAWN: dict[str, Callable[[Failure], list[Picture | None]]] = {
    "aligned": _aligned,
    "contiguous": _contiguous,
    "owner": _owner,
    "distinct": _distinct,
    "participation": _participation,
    "bounds": _bounds,
    "backing": _backing,
    "index.range": _index_range,
    "storage": _storage,
    "partition": _cells,
    "footprint": _cells,
    "image": _cells,
}
