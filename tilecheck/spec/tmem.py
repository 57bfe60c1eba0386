"""Operands in tensor memory: 128 lanes x 512 columns of 32 bits in each CTA.

A view of space `tmem` names a lane by the axis TLane and a column by the axis TCol, which counts elements of the declared dtype (`m` counts with it).
Coordinates are absolute. The address of a cell is lane << 16 | column. Source: PTX ISA 9.7.16.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilecheck.symbolic.terms import Term

if TYPE_CHECKING:
    from tilecheck.spec.contract import AtomAxis

LANES, COLUMNS, CELL_BITS = 128, 512, 32
LANE_BITS = COLUMNS * CELL_BITS
SLAB = 32
"""The lanes that one warp reaches: warp w those from 32 * (w % 4) on."""
LANE_SHIFT = 16
"""The bits of an address below its lane."""


@dataclass(frozen=True, slots=True)
class TensorMemory:
    """A matrix in tensor memory: atom element (0, 0, ...), the first, is where the instruction's address says, all others lie at fixed distances.

    bits: of an element. lane, column: how many lanes and how many elements (of `bits` bits) behind the first an element lies, terms over the atom axes;
    both are 0 at the first. An element of fewer bits than a cell fills what its column says: 16 bits in the low half of each cell are columns 2 * c,
    packed ones columns c.
    first_lanes: the lanes where the first element may lie: counted from the first lane of the warp's slab (`slab`), else absolute; () for any.
    first_bits: the column of the first element starts at a multiple of so many bits (32: a cell).
    replicas: (count, lanes apart): the view has exactly these copies of every element, all of which the instruction reads or writes.
    slab: whether the executing warp reaches the 32 lanes from 32 * (warpid % 4) on only.
    behind: (operand, parameter): the address of the first element is that of the operand's first element plus the parameter.
    alone: whether no two threads of one instance of the scope may write one cell (else that is the hazard `memory.race` only).
    beside: the operand whose first element lies in the same lane as the first one of this operand, "" for none. note: what is to be said of the map.
    dtypes, atom, over: as of a register operand.
    """

    name: str
    bits: int
    lane: Term
    column: Term
    write: bool
    dtypes: tuple[str, ...] | None = None
    atom: tuple[AtomAxis, ...] | None = None
    over: tuple[str, ...] | None = None
    first_lanes: tuple[int, ...] = (0,)
    first_bits: int = CELL_BITS
    replicas: tuple[tuple[int, int], ...] = ()
    slab: bool = False
    behind: tuple[str, str] | None = None
    alone: bool = False
    beside: str = ""
    note: str = ""

    @property
    def space(self) -> str:
        """The space of its views."""
        return "tmem"

    @property
    def shifts(self) -> tuple[int, ...]:
        """How many lanes each copy of an element lies behind it, ascending, 0 first."""
        found: list[int] = [0]
        for count, apart in self.replicas:
            found = [shift + k * apart for shift in found for k in range(count)]
        return tuple(sorted(found))

    @property
    def asks(self) -> str:
        """What is asked of the places of its elements, in words."""
        cells, rest = divmod(self.first_bits, CELL_BITS)
        at = f"{self.first_bits} bits" if rest else "a column" if cells == 1 else f"{cells} columns"
        start = "the first at the start of a column" if at == "a column" else f"the first at a multiple of {at}"
        if self.first_lanes:
            lanes = " or ".join(map(str, self.first_lanes))
            start += f", in lane {lanes}{' of the slab of the executing warp' if self.slab else ''}"
        copies = "".join(f"; {count} copies {apart} lanes apart" for count, apart in self.replicas)
        second = "" if self.behind is None else f"; the address of the first is that of {self.behind[0]} plus {self.behind[1]}"
        reach = "; all in the 32 lanes from 32 * (warpid % 4) on" if self.slab else ""
        where = f"an element lies {self.lane} lanes and {self.column} elements of {self.bits} bits behind the first"
        level = f"; the first in the same lane as that of {self.beside}" if self.beside else ""
        return f"{where}; {start}{level}{second}{copies}{reach}{f' ({self.note})' if self.note else ''}"
