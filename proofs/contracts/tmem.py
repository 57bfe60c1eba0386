"""Theorems and claims about tcgen05.ld and st: register images are bijections, loads and stores are inverse, packing takes low halves, both accesses are covered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from math import prod

from tilecheck import Launch, R, S, Tensor, Theorem, TileLayout, all_of, any_of, apply, axis, claim, eq, le, lt, not_, symbol, theorem
from tilecheck.call import Call
from tilecheck.contracts.tmem import LOAD, REDUCE, SHAPES, SPLIT, STORE, load, reduce, store
from tilecheck.layout.view import View
from tilecheck.spec import Contract, Grammar, Register, TensorMemory, data
from tilecheck.spec.contract import listed
from tilecheck.symbolic import Expr, Term, substitute, terms

LANE, WARP, ROW, COLUMN = axis("laneid"), axis("wid_in_wg"), axis("TLane"), axis("TCol")
MAKE = ((LOAD, load), (STORE, store), (REDUCE, reduce))


def qualifiers(grammar: Grammar) -> Iterator[dict[str, str]]:
    """The legal spellings of the smallest, of the second and of the largest count of each shape."""
    for q in grammar.legal():
        if q["count"] in {"x1", "x2", f"x{SHAPES[q['shape']][2]}"}:
            yield q


def forms() -> Iterator[Contract]:
    """The contracts of these spellings."""
    for grammar, make in MAKE:
        for q in qualifiers(grammar):
            yield make(q)


def held(contract: Contract) -> Register:
    """The registers of the matrix."""
    return next(o for o in contract.operands if isinstance(o, Register) and o.name in {"dst", "src"})


def regions(contract: Contract) -> list[TensorMemory]:
    """The operands in tensor memory."""
    return [o for o in contract.operands if isinstance(o, TensorMemory)]


def coordinate(t: Theorem, contract: Contract, operand: Register | TensorMemory, suffix: str) -> dict[str, Term]:
    """An atom coordinate of an operand as symbols: axis name -> symbol."""
    return {a.name: t.symbol(f"{a.name}{suffix}", min=0, max=a.extent - 1) for a in contract.atom_of(operand)}


def equal(a: dict[str, Term], b: dict[str, Term]) -> Term:
    """Two coordinates are the same."""
    return all_of(*(eq(a[name], b[name]) for name in a))


def images() -> Iterator[tuple[str, Contract, Register]]:
    """(what it is, a form with it, the registers) for every register image, each once."""
    seen: set[object] = set()
    for contract in forms():
        for operand in contract.operands:
            if isinstance(operand, Register) and (key := (operand.lane, operand.register, operand.atom)) not in seen:
                seen.add(key)
                yield f"{operand.name} of {contract.opcode}", contract, operand


ISA: dict[str, Callable[[Expr, Expr], tuple[Expr, ...]]] = {
    "32x32b": lambda lane, r: (lane, r),
    "16x64b": lambda lane, r: (lane // 4 + 8 * (lane % 2), lane // 2 % 2 + 2 * r),
    "16x128b": lambda lane, r: (lane // 4 + 8 * (r % 2), lane % 4 + 4 * (r // 2)),
    "16x256b": lambda lane, r: (lane // 4 + 8 * (r // 2 % 2), r % 2 + 2 * (lane % 4) + 8 * (r // 4)),
    SPLIT: lambda lane, r: (lane // 16, lane % 16, r),
}
"""PTX ISA 9.7.16.8: the coordinate of register r of a lane."""


@theorem
def every_element_has_a_register_of_its_own_and_every_register_an_element(t: Theorem) -> None:
    """(atom) -> (lane, register) is a bijection onto 32 lanes x at most 128 registers: as many elements as registers, and none without one.

    The element that the ISA gives to register r of lane l is the one that the contract has there.
    """
    for k, (name, contract, operand) in enumerate(images()):
        assert operand.lane is not None
        at = coordinate(t, contract, operand, f"_{k}")
        count, rest = divmod(prod(x.extent for x in contract.atom_of(operand)), 32)
        lane, register = substitute(operand.lane, at), substitute(operand.register, at)
        t.show(all_of(le(0, lane), lt(lane, 32), le(0, register), lt(register, count)), f"{name}: in range")
        t.holds(rest == 0 and count <= 128, f"{name}: as many elements as registers")
        own, number = t.symbol(f"l{k}", min=0, max=31), t.symbol(f"r{k}", min=0, max=count - 1)
        point = ISA[contract.qualifiers["shape"]](own, number)[: len(contract.atom_of(operand))]
        there = dict(zip((x.name for x in contract.atom_of(operand)), point, strict=True))
        inside = (all_of(le(0, c), lt(c, x.extent)) for c, x in zip(point, contract.atom_of(operand), strict=True))
        t.show(all_of(*inside), f"{name}: an element")
        t.show(all_of(eq(substitute(operand.lane, there), own), eq(substitute(operand.register, there), number)), f"{name}: onto")


@theorem
def loads_and_stores_are_inverse(t: Theorem) -> None:
    """Load and store of one shape, count and packing have the same registers and the same regions."""
    for q in qualifiers(LOAD):
        one, other = load(q), store({**q, "packing": "un" + q["packing"] if q["packing"] else ""})
        mine, theirs = held(one), held(other)
        t.holds((mine.lane, mine.register, mine.atom) == (theirs.lane, theirs.register, theirs.atom), f"{one.opcode}: registers")
        places = [[(r.lane, r.column, r.bits, r.atom, r.first_lanes, r.behind) for r in regions(c)] for c in (one, other)]
        t.holds(places[0] == places[1], f"{one.opcode}: regions")


@theorem
def packing_takes_the_low_halves_of_neighbours(t: Theorem) -> None:
    """Half h of word (row, column) is the low half of cell (row, 2 * column + h): twice the columns, each cell once."""
    for k, q in enumerate(q for q in qualifiers(LOAD) if q["packing"]):
        packed, plain = load(q), load({**q, "packing": ""})
        for region, whole in zip(regions(packed), regions(plain), strict=True):
            a, b = (coordinate(t, packed, region, f"_{region.name}{side}{k}") for side in "ab")
            lane, bit = substitute(region.lane, a), terms.mul(region.bits, substitute(region.column, a))
            cell = terms.add(terms.mul(2, a["column"]), a["half"])
            t.show(all_of(eq(lane, substitute(whole.lane, a)), eq(bit, terms.mul(32, cell))), f"{packed.opcode}: {region.name}")
            same = all_of(eq(lane, substitute(region.lane, b)), eq(bit, terms.mul(region.bits, substitute(region.column, b))))
            t.show(any_of(not_(same), equal(a, b)), f"{packed.opcode}: {region.name}, one to one")


@theorem
def both_accesses_are_covered(t: Theorem) -> None:
    """Every element of each region of .16x32bx2 is in a register: low in lanes 0 to 15, high in lanes 16 to 31."""
    for k, q in enumerate(q for q in qualifiers(LOAD) if q["shape"] == SPLIT):
        contract = load(q)
        registers = held(contract)
        assert registers.lane is not None
        for number, region in enumerate(regions(contract)):
            at = coordinate(t, contract, region, f"_{number}_{k}")
            lane = substitute(registers.lane, {**at, "access": number})
            t.show(all_of(le(16 * number, lane), lt(lane, 16 * number + 16)), f"{contract.opcode}: {region.name}")
        t.holds([region.name for region in regions(contract)] == ["low", "high"], f"{contract.opcode}: their order")
        t.holds([region.behind for region in regions(contract)] == [None, ("low", "imm_half_splitoff")], f"{contract.opcode}: behind")


@theorem
def a_region_stays_in_its_slab_and_half(t: Theorem) -> None:
    """From every lane where it may start, a region of 32 rows fills the slab and one of 16 rows a half of it."""
    for k, contract in enumerate(forms()):
        for region in regions(contract):
            at = coordinate(t, contract, region, f"_{region.name}{k}")
            for first in region.first_lanes:
                lane = terms.add(first, substitute(region.lane, at))
                rows = contract.atom_of(region)[0].extent
                t.show(all_of(le(first, lane), lt(lane, first + rows), lt(lane, 32)), f"{contract.opcode}: {region.name} from lane {first}")


@theorem
def contracts_survive_json_and_name_their_operands_once(t: Theorem) -> None:
    """The data of every contract reads back as itself, its spelling as its qualifiers; the statement has one address, and registers of each operand."""
    for grammar, make in MAKE:
        for q in qualifiers(grammar):
            contract = make(q)
            t.holds(json.loads(json.dumps(data(contract))) == listed(data(contract)), f"{contract.opcode}: JSON")
            t.holds(grammar.read(contract.opcode) == contract.qualifiers, f"{contract.opcode}: spelling")
            t.holds(contract.issue.count("[") == 1, f"{contract.opcode}: one address")
            for operand in contract.operands:
                named = contract.issue.count("{" + operand.name + "}")
                t.holds(named == (0 if operand.name == "high" else 1), f"{contract.opcode}: {operand.name}")


# --- claims -----------------------------------------------------------------------------------------------------------


def tensor(shape: tuple[int, ...], layout: TileLayout, dtype: str = "float32", name: str = "ACC") -> Tensor:
    """A tensor in tensor memory."""
    return Tensor(name, shape, dtype, "tmem", layout=layout)


def accumulator(columns: int = 256) -> Tensor:
    """128 rows of an accumulator, 32 to a warp."""
    return tensor((4, 32, columns), TileLayout(S[(4, 32, columns) : (32 @ ROW, 1 @ ROW, 1 @ COLUMN)]))


def row_registers(columns: int) -> Tensor:
    """A row of each lane."""
    layout = TileLayout(S[(4, 32, columns) : (1 @ WARP, 1 @ LANE, 1)])
    return Tensor("R", (4, 32, columns), "float32", "register", layout=layout)


def rows(view: View | Tensor, count: int) -> Call:
    """Four warps load their rows."""
    return apply(f"tcgen05.ld.sync.aligned.32x32b.x{count}.b32", row_registers(count), view, scope="warpgroup", launch=Launch(block=(128,)))


@claim
def an_epilogue_loads_its_columns_in_a_loop() -> Call:
    """Step i of an epilogue, 32 columns each."""
    i = symbol("i", min=0, max=7)
    return rows(accumulator()[:, :, 32 * i : 32 * i + 32], 32)


@claim(refuted="bounds")
def an_epilogue_with_one_step_too_many() -> Call:
    """Eight steps are columns 0 to 255."""
    i = symbol("i", min=0, max=8)
    return rows(accumulator()[:, :, 32 * i : 32 * i + 32], 32)


@claim(refuted="image")
def every_other_column() -> Call:
    """An instruction takes consecutive columns."""
    return rows(tensor((4, 32, 8), TileLayout(S[(4, 32, 8) : (32 @ ROW, 1 @ ROW, 2 @ COLUMN)])), 8)


@claim(refuted="replica")
def a_load_from_copies() -> Call:
    """A load has one place for an element."""
    layout = TileLayout(S[(4, 32, 8) : (32 @ ROW, 1 @ ROW, 1 @ COLUMN)] + R[2 : 8 @ COLUMN])
    return rows(tensor((4, 32, 8), layout), 8)


@claim
def sixteen_rows_of_each_slab() -> Call:
    """An accumulator of 64 rows, 16 to a warp."""
    layout = TileLayout(S[(4, 2, 8, 8, 2) : (1 @ WARP, 1 @ LANE, 4 @ LANE, 1, 2 @ LANE)])
    registers = Tensor("R", (4, 16, 16), "float32", "register", layout=layout)
    view = tensor((4, 16, 16), TileLayout(S[(4, 16, 16) : (32 @ ROW, 1 @ ROW, 1 @ COLUMN)]))
    return apply("tcgen05.ld.sync.aligned.16x64b.x8.b32", registers, view, scope="warpgroup", launch=Launch(block=(128,)))
