"""Tensor memory in reports: who owns what as lanes by columns, and what would make a clause about it hold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

from tilecheck.sizing import of_shape
from tilecheck.spec.contract import Contract, Operand, Register
from tilecheck.spec.tmem import CELL_BITS, COLUMNS, LANE_SHIFT, LANES, SLAB, TensorMemory
from tilecheck.symbolic.terms import evaluate

if TYPE_CHECKING:
    from tilecheck.layout.strided import Factor
    from tilecheck.prove.verdict import ClauseResult

WIDTH, MOST_LANES = 78, 32
Cell = tuple[int, int]
Atom = tuple[int, ...]


def maps(contract: Contract) -> list[tuple[str, str]]:
    """(title, grid) of each operand in tensor memory: what stands in every cell, its lanes downwards, its columns to the right.

    Of an instruction whose shape the call says: one for each M at which elements lie otherwise, with the least N of at least 16.
    """
    if contract.sized is None:
        return [_map(contract, operand, "") for operand in contract.operands if isinstance(operand, TensorMemory)]
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for form in (contract, *contract.variants):
        for size in contract.sized.sizes:
            m, n, k = size.m, next((n for n in size.n if n >= 16), size.n[-1]), size.k
            for operand in of_shape(form, (m, n, k)).operands:
                if isinstance(operand, TensorMemory):
                    title, grid = _map(form, operand, f", M {m}, N {n}, K {k}")
                    found.setdefault((operand.name, grid), (title, grid))
    return list(found.values())


def _map(contract: Contract, operand: TensorMemory, shape: str) -> tuple[str, str]:
    owner = next((o for o in contract.operands if isinstance(o, Register) and o.lane is not None and len(contract.atom_of(o)) > 1), None)
    number = [o.name for o in contract.operands if isinstance(o, TensorMemory)].index(operand.name)
    names = [axis.name for axis in contract.atom_of(operand)]
    cells = _elements(contract, operand)
    texts: dict[Cell, list[tuple[int, str]]] = {}
    for cell, found in cells.items():
        texts[cell] = [
            (bit, ",".join(map(str, atom)) if owner is None else _owned(contract, owner, dict(zip(names, atom, strict=True)), number))
            for bit, atom in found
        ]
    what = f"({', '.join(names)})" if owner is None else f"T12:{owner.name}1 is register 1 of lane 12"
    halves = ", .l and .h its halves" if owner is not None and operand.bits < CELL_BITS else ""
    return f"{operand.name}{shape}: lanes by columns from the first on; {what}{halves}", _grid(
        texts, _drawn(cells, every=owner is not None)
    )


def _elements(contract: Contract, operand: TensorMemory) -> dict[Cell, list[tuple[int, Atom]]]:
    """For each cell the elements in it, each with its lowest bit."""
    axes = contract.atom_of(operand)
    cells: dict[Cell, list[tuple[int, Atom]]] = {}
    for atom in product(*(range(axis.extent) for axis in axes)):
        at = dict(zip((axis.name for axis in axes), atom, strict=True))
        bit = evaluate(operand.column, at) * operand.bits
        for shift in operand.shifts:
            cells.setdefault((evaluate(operand.lane, at) + shift, bit // CELL_BITS), []).append((bit % CELL_BITS, atom))
    return cells


def _drawn(cells: Mapping[Cell, Sequence[tuple[int, Atom]]], *, every: bool) -> list[int]:
    """The lanes to draw: all, where they are few; else of those that go on alike the first two and the last."""
    lanes = sorted({lane for lane, _ in cells})
    if every and len(lanes) <= MOST_LANES:
        return lanes
    rows: dict[int, dict[int, list[Atom]]] = {lane: {} for lane in lanes}
    for (lane, column), found in cells.items():
        rows[lane][column] = [atom for _, atom in sorted(found)]
    steps = {lane: _step(rows.get(lane - 1), rows[lane]) for lane in lanes}
    begins = {lane for lane in lanes if steps[lane] is None}
    return [lane for lane in lanes if begins & {lane, lane - 1, lane + 1} or lane + 1 not in rows]


def _step(before: Mapping[int, Sequence[Atom]] | None, here: Mapping[int, Sequence[Atom]]) -> Atom | None:
    """By how much every element of a lane is further along each axis than in the lane before; None where they differ in that."""
    if before is None or before.keys() != here.keys():
        return None
    pairs = [pair for column in here for pair in zip(before[column], here[column], strict=True)]
    found = {tuple(b - a for a, b in zip(one, other, strict=True)) for one, other in pairs}
    return found.pop() if len(found) == 1 and any(sum(step) == 1 for step in found) else None


def _owned(contract: Contract, owner: Register, at: dict[str, int], number: int) -> str:
    """The lane and the register of an element; an axis that only the registers have counts the regions."""
    names = [axis.name for axis in contract.atom_of(owner)]
    point = {name: at.get(name, number) for name in names}
    more = [value for name, value in at.items() if name not in names]
    assert owner.lane is not None
    return f"T{evaluate(owner.lane, point)}:{owner.name}{evaluate(owner.register, point)}" + ("lh"[more[0]].join((".", "")) if more else "")


def _grid(cells: Mapping[Cell, list[tuple[int, str]]], lanes: Sequence[int]) -> str:
    """The rows of some lanes; where others are left out between them a row says so."""
    there, columns = sorted({lane for lane, _ in cells}), sorted({column for _, column in cells})
    width = max(3, *(len(_entry(found)) for found in cells.values()))
    shown = columns[: (WIDTH - 16) // (width + 1)]
    lines: list[tuple[str, list[str]]] = []
    for before, lane in zip([None, *lanes], lanes, strict=False):
        if before is not None and there.index(lane) > there.index(before) + 1:
            lines.append(("...", [""] * len(shown)))
        lines.append((str(lane), [_entry(cells.get((lane, column), [])) for column in shown]))
    more = f" ..{columns[-1]}" if len(columns) > len(shown) else ""
    head = "lane \\ column" + "".join(str(column).rjust(width + 1) for column in shown) + more
    return "\n".join([head, *(name.rjust(13) + "".join(entry.rjust(width + 1) for entry in entries) for name, entries in lines)])


def _entry(found: list[tuple[int, str]]) -> str:
    """What stands in a cell, its low bits first."""
    return "/".join(text for _, text in sorted(found))


# --- advice -----------------------------------------------------------------------------------------------------------


def cells_advice(clause: str, operand: Operand | None, result: ClauseResult, contract: Contract) -> str | None:
    """What would make a clause about tensor memory hold, None where it is another operand's; `clause` without the operand."""
    if not isinstance(operand, TensorMemory):
        return None
    example = result.counterexample
    actual = "" if example is None else example.actual
    if clause == "partition" and example is not None and example.warp is not None:
        first = SLAB * (example.warp % 4)
        if "or" in example.expected or example.expected.startswith("lane "):
            return f"Let the rows of an instruction start at {example.expected}."
        return (
            f"Warp {example.warp} reaches lanes {first} to {first + SLAB - 1}: let an axis of four warps have the stride {SLAB}@TLane, or a start "
            f"add {SLAB} * (warpid % 4); eight warps are two to a slab, in other columns."
        )
    if clause == "footprint":
        return f"Start so that the last element is in lane {LANES - 1} and column {COLUMNS - 1} at most, or in the columns that size_bytes gives."
    if clause == "backing":
        return f"Declare a layout within {LANES} lanes and {COLUMNS} columns, and size_bytes of {LANES * CELL_BITS // 8} bytes a column."
    if clause == "replica":
        copies = " + ".join(f"R[{count}:{apart}@TLane]" for count, apart in operand.replicas)
        return (
            f"Give the layout the replicas {copies}."
            if copies
            else "Leave the replicas R[...] out: the instruction has one place for an element."
        )
    if clause == "distinct":
        return _apart(operand, contract)
    return _laid_out(operand, actual, "" if example is None else example.expected, contract) if clause == "image" else None


def _apart(operand: TensorMemory, contract: Contract) -> str:
    if operand.behind is None:
        return "Let one thread issue it (scope thread, a guard such as `elected and warpid == 0`), or give each thread cells of its own."
    rows, width = _size(operand, contract)
    return f"Let the second region begin {width} column{'' if width == 1 else 's'} or {rows} lanes beside the first, and {operand.behind[1]} say so."


def _size(operand: TensorMemory, contract: Contract) -> tuple[int, int]:
    """Lanes and columns of one instruction."""
    axes = contract.atom_of(operand)
    last = {axis.name: axis.extent - 1 for axis in axes}
    return evaluate(operand.lane, last) + 1, (evaluate(operand.column, last) * operand.bits) // CELL_BITS + 1


_PLACE = re.compile(r"lane (-?\d+), column (-?\d+)")


def _laid_out(operand: TensorMemory, actual: str, expected: str, contract: Contract) -> str:
    """Where the instruction has its elements: the immediate that would name the view, or the layout."""
    here, others = _PLACE.search(actual), _PLACE.findall(expected)
    if operand.behind is not None and " plus " in expected and here is not None and len(others) == 2:
        lane, column = (int(a) - int(b) for a, b in zip(here.groups(), others[1], strict=True))
        return f"{operand.behind[1]} {(lane << LANE_SHIFT) + column} would name it ({lane} lanes and {column} columns behind {operand.behind[0]})."
    if expected.startswith(("a multiple", "lane")) and "column" not in expected.partition("(")[0].replace("columns", ""):
        return f"Let the first element of an instruction start at {expected}."
    if expected.startswith("a view of"):
        return (
            f"Give both regions the same `tensor`: they are views of one allocation, as {operand.behind[0] if operand.behind else 'it'} is."
        )
    layout = layout_text(operand, contract)
    return (
        f"Let one instruction's elements lie as {layout}, in elements of {operand.bits} bits."
        if layout
        else "Let the elements lie as said."
    )


def layout_text(operand: TensorMemory, contract: Contract) -> str:
    """The layout of one instruction, "" where it has none."""
    from tilecheck.prove.tmem import LANE, digits

    found = digits(operand, tuple((axis.name, axis.extent) for axis in contract.atom_of(operand)))
    if found is None:
        return ""
    extents: list[int] = []
    strides: list[str] = []
    for lanes, bits in found:
        for extent, on_lane, on_column in _refined(lanes, bits):
            if on_lane and on_column:
                return ""
            extents.append(extent)
            strides.append(f"{on_lane}@{LANE}" if on_lane else f"{on_column // operand.bits}@TCol")
    return f"S[({','.join(map(str, extents))}):({','.join(strides)})]"


def _refined(lanes: Sequence[Factor], bits: Sequence[Factor]) -> list[tuple[int, int, int]]:
    """The common digits of one axis: (extent, stride on lanes, stride in bits), the most significant first."""
    left, right = [(e, s) for e, _, s in lanes], [(e, s) for e, _, s in bits]
    found: list[tuple[int, int, int]] = []
    while left and right:
        (a, down), (b, along) = left.pop(), right.pop()
        common = min(a, b)
        found.append((common, down, along))
        if a > common:
            left.append((a // common, down * common))
        if b > common:
            right.append((b // common, along * common))
    return found[::-1]
