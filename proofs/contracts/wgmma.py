"""Theorems and claims about wgmma: fragments of a warpgroup are bijections, factors meet where k is the same, rings and steps along K are legal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import prod

from tilecheck import ComposeLayout, S, Tensor, Theorem, TileLayout, all_of, any_of, apply, axis, claim, eq, le, lt, not_, symbol, theorem
from tilecheck.call import Call
from tilecheck.contracts.descriptors import modes
from tilecheck.spec import Contract, Entries, Memory, Register, data, find_contract, find_entry
from tilecheck.spec.contract import listed
from tilecheck.symbolic import Term, evaluate, substitute, terms

ENTRY = find_entry("wgmma.mma_async")
assert ENTRY is not None
GRAMMAR = ENTRY.grammar
WARP, LANE = axis("wid_in_wg"), axis("laneid")
HALF = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
THREADS = 128
SIZES = ("n8", "n24", "n256")
"""The sizes that the theorems over all elements look at: the smallest, one that is no power of two, the largest."""


def forms(*sizes: str) -> Iterator[Contract]:
    """The contracts of the legal spellings with one of these N, and each with A in registers."""
    assert ENTRY is not None
    for qualifiers in GRAMMAR.legal():
        if any(f"{size}k" in qualifiers["shape"] for size in sizes):
            contract = ENTRY.contract(qualifiers)
            yield from (contract, *contract.variants)


def coordinate(t: Theorem, axes: Mapping[str, int], suffix: str) -> dict[str, Term]:
    """Axis name -> a symbol over its extent."""
    return {name: t.symbol(f"{name}{suffix}", min=0, max=extent - 1) for name, extent in axes.items()}


def equal(a: Mapping[str, Term], b: Mapping[str, Term]) -> Term:
    """Two coordinates are the same."""
    return all_of(*(eq(a[name], b[name]) for name in a))


def fragments() -> Iterator[tuple[str, Contract, Register]]:
    """(what it is, a form with it, the operand) for every fragment that some form has, each once."""
    seen: set[object] = set()
    for contract in forms(*SIZES):
        for operand in contract.operands:
            if isinstance(operand, Register) and (key := (operand.lane, operand.register, operand.atom)) not in seen:
                seen.add(key)
                yield f"{operand.name} of {contract.opcode}", contract, operand


def sides() -> Iterator[tuple[str, Contract, Entries, dict[str, int]]]:
    """(what it is, a form with it, the entries, atom and part axes) for every dense map from elements to entries of a matrix, each once."""
    seen: set[object] = set()
    for contract in forms(*SIZES):
        product = contract.product
        for side in () if product is None or product.choice is not None else (product.dst, product.left, product.right):
            operand = next(o for o in contract.operands if o.name == side.operand)
            axes = {axis.name: axis.extent for axis in (*contract.atom_of(operand), *side.parts)}
            if (key := (side.at, tuple(axes.items()))) not in seen:
                seen.add(key)
                yield f"{side.operand} of {contract.opcode}", contract, side, axes


@theorem
def every_element_has_a_register_of_its_own_and_every_register_an_element(t: Theorem) -> None:
    """(atom) -> (thread, register) is a bijection onto 128 threads x the registers of the operand."""
    for k, (name, contract, operand) in enumerate(fragments()):
        axes = {axis.name: axis.extent for axis in contract.atom_of(operand)}
        assert operand.lane is not None
        a, b = coordinate(t, axes, f"_a{k}"), coordinate(t, axes, f"_b{k}")
        count, rest = divmod(prod(axes.values()), THREADS)
        thread, register = substitute(operand.lane, a), substitute(operand.register, a)
        t.show(all_of(le(0, thread), lt(thread, THREADS), le(0, register), lt(register, count)), f"{name}: in range")
        same = all_of(eq(thread, substitute(operand.lane, b)), eq(register, substitute(operand.register, b)))
        t.show(any_of(not_(same), equal(a, b)), f"{name}: one to one")
        t.holds(rest == 0, f"{name}: as many elements as registers")


@theorem
def every_part_of_an_element_is_an_entry_of_its_own(t: Theorem) -> None:
    """(atom, part) -> indices is one to one, and reaches as many entries as the matrix has."""
    for k, (name, contract, side, axes) in enumerate(sides()):
        a, b = coordinate(t, axes, f"_a{k}"), coordinate(t, axes, f"_b{k}")
        same = all_of(*(eq(substitute(term, a), substitute(term, b)) for _, term in side.at))
        t.show(any_of(not_(same), equal(a, b)), f"{name}: one to one")
        m, n, deep = (int(part) for part in contract.qualifiers["shape"][1:].replace("n", "k").split("k"))
        extents = {"m": m, "n": n, "k": deep}
        for index, term in side.at:
            t.show(all_of(le(0, substitute(term, a)), lt(substitute(term, a), extents[index])), f"{name}: {index} in range")
        t.holds(prod(axes.values()) == prod(extents[index] for index, _ in side.at), f"{name}: as many parts as entries")


@theorem
def a_warp_of_d_is_a_fragment_of_mma(t: Theorem) -> None:
    """Rows 16 w to 16 w + 15 and eight columns of D lie in warp w as D of mma.m16n8 does, four registers further for every eight columns."""
    found, small = find_contract(HALF), find_contract("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    assert isinstance(found, Contract)
    assert isinstance(small, Contract)
    whole, part = found.operands[0], small.operands[0]
    assert isinstance(whole, Register)
    assert isinstance(part, Register)
    assert whole.lane is not None
    assert part.lane is not None
    warp, row, block, column = (t.symbol(n, min=0, max=e - 1) for n, e in (("w", 4), ("r", 16), ("b", 8), ("c", 8)))
    here: dict[str, Term] = {"row": terms.add(terms.mul(16, warp), row), "column": terms.add(terms.mul(8, block), column)}
    there: dict[str, Term] = {"row": row, "column": column}
    thread = terms.add(terms.mul(32, warp), substitute(part.lane, there))
    register = terms.add(terms.mul(4, block), substitute(part.register, there))
    t.show(all_of(eq(substitute(whole.lane, here), thread), eq(substitute(whole.register, here), register)))


@theorem
def every_matrix_takes_the_layouts_of_its_width(t: Theorem) -> None:
    """A and B take swizzles 0 to 3, 16-bit ones with either major; a row has 32 bytes, one of a sparse B 64."""
    for contract in forms("n8"):
        for operand in contract.operands:
            if isinstance(operand, Memory) and operand.described is not None:
                row_bytes = contract.atom_of(operand)[-1].extent * operand.bits // 8
                majors = ("k", "mn") if operand.bits == 16 else ("k",)
                wanted = {(m.major, m.swizzle) for m in modes(operand.bits, *majors) if m.swizzle < 4}
                t.holds(
                    row_bytes == (64 if contract.qualifiers["sparse"] and operand.name == "b" else 32),
                    f"{operand.name} of {contract.opcode}: a row",
                )
                t.holds({(m.major, m.swizzle) for m in operand.described.modes} == wanted, f"{operand.name} of {contract.opcode}")


@theorem
def contracts_survive_json_and_name_their_registers_once(t: Theorem) -> None:
    """The data of every contract reads back as itself, its spelling as its qualifiers, and the statement has one register for each of an operand."""
    for contract in forms("n8"):
        t.holds(json.loads(json.dumps(data(contract))) == listed(data(contract)), f"{contract.opcode}: JSON")
        t.holds(GRAMMAR.read(contract.opcode) == contract.qualifiers, f"{contract.opcode}: spelling")
        for operand in contract.operands:
            t.holds(contract.issue.count("{" + operand.name + "}") == 1, f"{contract.opcode}: {operand.name} is named once")
            if isinstance(operand, Register):
                point = {one.name: one.extent - 1 for one in contract.atom_of(operand)}
                count = prod(one.extent for one in contract.atom_of(operand)) // THREADS
                t.holds(evaluate(operand.register, point) == count - 1, f"{contract.opcode}: registers of {operand.name}")


# --- claims -----------------------------------------------------------------------------------------------------------


def sums(columns: int = 64) -> Tensor:
    """D of one instruction of `columns` columns."""
    layout = TileLayout(S[(1, 1, 4, 2, 8, columns // 8, 4, 2) : (0, 0, 1 @ WARP, 2, 4 @ LANE, 4, 1 @ LANE, 1)])
    return Tensor("D", (1, 1, 64, columns), "float32", space="register", layout=layout)


def stages(name: str, rows: int, steps: int) -> Tensor:
    """Four stages of `rows` rows of 128 bytes under the swizzle of 128 bytes, in steps of sixteen along K."""
    layout = TileLayout(S[(4, 1, steps, rows // 8, 8, 16) : (64 * rows, 0, 16, 512, 64, 1)])
    return Tensor(name, (4, 1, steps, rows, 16), "float16", space="shared", layout=ComposeLayout(3, 3, 3, layout), align=1024)


def stage_call(
    columns: int, steps: int, modulus: int, b_descriptor: tuple[int, int, int] = (16, 1024, 3), accum: bool | str = True
) -> Call:
    """A stage of a ring of both factors, chosen at run time."""
    stage = symbol("stage", min=0, max=1023)
    a, b = (
        one[stage % modulus : stage % modulus + 1].reshape(one.shape[1:]) for one in (stages("A", 64, steps), stages("B", columns, steps))
    )
    opcode = f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.f16.f16"
    return apply(opcode, sums(columns), a, b, scope="warpgroup", a_descriptor=(16, 1024, 3), b_descriptor=b_descriptor, accum=accum)


@claim
def a_stage_of_a_ring_in_four_steps_along_k() -> Call:
    """Every step begins 32 bytes on, inside a row of the swizzle; no base offset is needed."""
    return stage_call(256, 4, 4)


@claim(refuted="a.bounds")
def a_stage_past_the_ring() -> Call:
    """Stage 4 of four."""
    return stage_call(64, 4, 5)


@claim(refuted="b.descriptor")
def a_stride_of_two_groups() -> Call:
    """Rows 8 to 15 are looked for where rows 16 to 23 lie."""
    return stage_call(64, 4, 4, b_descriptor=(16, 2048, 3))


@claim(refuted="participation")
def sums_that_only_some_warps_add_to() -> Call:
    """All four warps agree on scale-d."""
    return stage_call(64, 1, 4, accum="wid_in_wg == 0")
