"""The operands of a call under given values: registers as ownership grids, memory as address walks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilecheck.evaluate.case import Operand
from tilecheck.evaluate.launch import Thread
from tilecheck.report.pictures import bits, cells, owners, walk
from tilecheck.report.pictures.seen import Seen
from tilecheck.report.pictures.svg import Picture

if TYPE_CHECKING:
    from tilecheck.call import Call
    from tilecheck.report.values import Values
    from tilecheck.spec.contract import Contract

MOST_ROWS = 32


def operand_pictures(call: Call, contract: Contract, values: Values, elected: int = 0) -> list[Picture]:
    """A grid or a walk of every operand, as the first executing thread or warp has it.

    Nothing where the operands are not the contract's, their shapes are wrong, or no thread executes.
    """
    seen = Seen.under(values, elected, call, contract)
    thread = None if seen is None else first_thread(seen)
    if seen is None or thread is None or any(seen.repeats(operand) is None for operand in seen.case.operands):
        return []
    found: list[Picture] = []
    for operand in seen.case.operands:
        found += _of(seen, operand, thread)
    return found


def first_thread(seen: Seen) -> Thread | None:
    """The first thread that executes."""
    return next((thread for thread in seen.case.launch.threads if seen.active(thread)), None)


def _of(seen: Seen, operand: Operand, thread: Thread) -> list[Picture]:
    repeat = (0,) * len(seen.repeats(operand) or ())
    if operand.register:
        drawn = owners.ownership(seen, operand, thread, repeat)
        return [] if drawn is None else [drawn]
    if operand.matrix is not None:
        drawn = cells.tensor_memory(seen, operand, thread, seen.group(thread), repeat)
        return [] if drawn is None else [drawn]
    rows = seen.rows(operand, thread, repeat)
    pictures = [walk.address_walk(seen, operand, rows, most=MOST_ROWS)]
    for row in rows:
        fixed = seen.fixed(operand, row.thread)
        if fixed is not None and fixed.layout.swizzles:
            declared = fixed.source(row.coordinate)[0]
            if fixed.linear(declared) != fixed.element(declared):
                pictures.append(bits.swizzled(fixed.layout, declared, fixed.view.declared_bits))
                break
    return [one for one in pictures if one is not None]
