"""Theorems about mma: every fragment is a bijection, products meet where k is the same, and what a contract says survives JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import prod

from tilecheck import S, Scalar, Tensor, Theorem, TileLayout, all_of, any_of, apply, axis, claim, eq, le, lt, ne, not_, theorem
from tilecheck.call import Call
from tilecheck.spec import Contract, Entries, Register, data, find_contract, find_entry
from tilecheck.spec.contract import listed
from tilecheck.symbolic import Term, evaluate, substitute, terms

ENTRY = find_entry("mma")
assert ENTRY is not None
GRAMMAR = ENTRY.grammar
LANE = axis("laneid")
HALF = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


def every_form() -> Iterator[Contract]:
    """The contract of every legal spelling."""
    assert ENTRY is not None
    yield from (ENTRY.contract(qualifiers) for qualifiers in GRAMMAR.legal())


def fragments() -> Iterator[tuple[str, Contract, Register]]:
    """(what it is, a form with it, the operand) for every fragment that some form has, each once."""
    seen: set[object] = set()
    for contract in every_form():
        for operand in contract.operands:
            assert isinstance(operand, Register)
            key = (operand.lane, operand.register, operand.atom)
            if operand.lane is not None and key not in seen:
                seen.add(key)
                yield f"{operand.name} of {contract.opcode}", contract, operand


def sides() -> Iterator[tuple[str, Contract, Entries]]:
    """(what it is, a form with it, the entries) for every map from elements to entries of a matrix, each once."""
    seen: set[object] = set()
    for contract in every_form():
        product = contract.product
        for side in () if product is None else (product.dst, product.left, product.right, product.addend):
            axes = contract.atom_of(next(o for o in contract.operands if o.name == side.operand))
            if (side.at, axes, side.parts) not in seen:
                seen.add((side.at, axes, side.parts))
                yield f"{side.operand} of {contract.opcode}", contract, side


def coordinate(t: Theorem, axes: Mapping[str, int], suffix: str) -> dict[str, Term]:
    """Axis name -> a symbol over its extent."""
    return {name: t.symbol(f"{name}{suffix}", min=0, max=extent - 1) for name, extent in axes.items()}


def equal(a: Mapping[str, Term], b: Mapping[str, Term]) -> Term:
    """Two coordinates are the same."""
    return all_of(*(eq(a[name], b[name]) for name in a))


def axes_of(contract: Contract, side: Entries) -> dict[str, int]:
    """The atom and part axes of an operand with their extents."""
    operand = next(o for o in contract.operands if o.name == side.operand)
    return {axis.name: axis.extent for axis in (*contract.atom_of(operand), *side.parts)}


@theorem
def every_element_has_a_register_of_its_own_and_every_register_an_element(t: Theorem) -> None:
    """(atom) -> (lane, register) is a bijection onto 32 lanes x the registers of the operand."""
    for k, (name, contract, operand) in enumerate(fragments()):
        axes = {axis.name: axis.extent for axis in contract.atom_of(operand)}
        assert operand.lane is not None
        a, b = coordinate(t, axes, f"_a{k}"), coordinate(t, axes, f"_b{k}")
        count, rest = divmod(prod(axes.values()), 32)
        lane, register = substitute(operand.lane, a), substitute(operand.register, a)
        t.show(all_of(le(0, lane), lt(lane, 32), le(0, register), lt(register, count)), f"{name}: in range")
        same = all_of(eq(lane, substitute(operand.lane, b)), eq(register, substitute(operand.register, b)))
        t.show(any_of(not_(same), equal(a, b)), f"{name}: one to one")
        t.holds(rest == 0, f"{name}: as many elements as registers")


@theorem
def every_part_of_an_element_is_an_entry_of_its_own(t: Theorem) -> None:
    """(atom, part) -> indices is one to one, and reaches as many entries as the matrix has."""
    for k, (name, contract, side) in enumerate(sides()):
        axes = axes_of(contract, side)
        a, b = coordinate(t, axes, f"_a{k}"), coordinate(t, axes, f"_b{k}")
        same = all_of(*(eq(substitute(term, a), substitute(term, b)) for _, term in side.at))
        t.show(any_of(not_(same), equal(a, b)), f"{name}: one to one")
        m, n, deep = (int(part) for part in contract.qualifiers["shape"][1:].replace("n", "k").split("k"))
        extents = {"m": m, "n": n, "k": deep, "problem": 4}
        choice = contract.product.choice if contract.product is not None and side is contract.product.left else None
        sizes = extents if choice is None else extents | {"entry": len(choice.offsets[0][1])}
        for index, term in side.at:
            t.show(all_of(le(0, substitute(term, a)), lt(substitute(term, a), sizes[index])), f"{name}: {index} in range")
        held = prod(extents[index] for index, _ in side.at) if choice is None else m * deep // 2
        t.holds(prod(axes.values()) == held, f"{name}: as many parts as entries")


@theorem
def a_permutation_of_k_in_a_and_b_changes_no_product(t: Theorem) -> None:
    """Entries that meet have the same k. Shifted around in both they meet as before; in one alone none of them do."""
    plain = (c for c in every_form() if c.product is not None and c.product.choice is None and c.qualifiers["d"] == c.qualifiers["c"])
    for k, contract in enumerate(plain):
        assert contract.product is not None
        left, right = contract.product.left, contract.product.right
        deep = int(contract.qualifiers["shape"].split("k")[1])
        a = substitute(dict(left.at)["k"], coordinate(t, axes_of(contract, left), f"_a{k}"))
        b = substitute(dict(right.at)["k"], coordinate(t, axes_of(contract, right), f"_b{k}"))
        shift = t.symbol(f"shift_{k}", min=1, max=deep - 1)
        moved = [terms.mod(terms.add(one, shift), deep) for one in (a, b)]
        t.show(any_of(all_of(eq(a, b), eq(*moved)), all_of(ne(a, b), ne(*moved))), f"{contract.opcode}: in both")
        t.show(any_of(ne(a, b), ne(moved[0], b)), f"{contract.opcode}: in A alone")


@theorem
def every_group_of_neighbours_has_metadata_of_its_own_which_names_different_ones(t: Theorem) -> None:
    """Of sparse products: (row, first k) -> (lane, bit) is one to one where the groups differ, and a value names neighbours of the group in ascending order."""
    seen: set[object] = set()
    for k, contract in enumerate(c for c in every_form() if c.product is not None and c.product.choice is not None):
        assert contract.product is not None
        left, choice = contract.product.left, contract.product.choice
        assert choice is not None
        if (choice, left.at) in seen:
            continue
        seen.add((choice, left.at))
        a, b = coordinate(t, axes_of(contract, left), f"_a{k}"), coordinate(t, axes_of(contract, left), f"_b{k}")
        selector = t.symbol(f"f_{k}", min=0, max=contract.by_name("f").choices[-1])
        here, there = ({**point, "f": selector} for point in (a, b))
        same = all_of(*(eq(substitute(term, here), substitute(term, there)) for term in (choice.lane, choice.bit)))
        group = {name: term for name, term in left.at if name in {"m", "k"}}
        t.show(
            any_of(not_(same), *([all_of(*(eq(substitute(one, a), substitute(one, b)) for one in group.values()))])),
            f"{contract.opcode}: its own",
        )
        lane, bit = substitute(choice.lane, here), substitute(choice.bit, here)
        t.show(all_of(le(0, lane), lt(lane, 32), le(0, bit), le(bit, 28), eq(terms.mod(bit, 4), 0)), f"{contract.opcode}: in range")
        wide = 2 * len(choice.offsets[0][1])
        ascending = all(list(offsets) == sorted(set(offsets)) and set(offsets) <= set(range(wide)) for _, offsets in choice.offsets)
        t.holds(ascending and len({offsets for _, offsets in choice.offsets}) == len(choice.offsets), f"{contract.opcode}: neighbours")


@theorem
def the_published_layout_of_int4_b_is_no_bijection(t: Theorem) -> None:
    """((4, 8), 8) : ((32, 1), 8): the first four values of a lane are the last four of the lane before; with 64 for 32 all are different."""

    def index(stride: int, lane: Term, group: Term, value: Term) -> Term:
        return terms.add(terms.mul(stride, lane), group, terms.mul(8, value))

    lane, group, value = t.symbol("lane", min=0, max=2), t.symbol("group", min=0, max=7), t.symbol("value", min=0, max=3)
    t.show(eq(index(32, lane, group, terms.add(value, 4)), index(32, terms.add(lane, 1), group, value)), "two lanes hold one element")
    axes = {"x": 4, "y": 8, "v": 8}
    a, b = coordinate(t, axes, "_a"), coordinate(t, axes, "_b")
    t.show(any_of(ne(index(64, *a.values()), index(64, *b.values())), equal(a, b)), "the right one is one to one")


@theorem
def contracts_survive_json_and_name_their_registers_once(t: Theorem) -> None:
    """The data of every contract reads back as itself, its spelling as its qualifiers, and the statement has one register for each of an operand."""
    for contract in every_form():
        t.holds(json.loads(json.dumps(data(contract))) == listed(data(contract)), f"{contract.opcode}: JSON")
        t.holds(find_contract(contract.opcode) == contract, f"{contract.opcode}: spelling")
        for operand in contract.operands:
            assert isinstance(operand, Register)
            axes = contract.atom_of(operand)
            last = {axis.name: axis.extent - 1 for axis in axes}
            registers = 1 + evaluate(operand.register, last)
            t.holds(32 * registers == prod(axis.extent for axis in axes), f"{contract.opcode}: registers of {operand.name}")
            t.holds(contract.issue.count("{" + operand.name + "}") == 1, f"{contract.opcode}: {operand.name} once in the statement")


def product(b: TileLayout) -> Call:
    """Two steps of M, three of N and four of K over registers in row-major order; B as given."""
    d = Tensor(
        "D", (2, 3, 16, 8), "float32", space="register", layout=TileLayout(S[(2, 3, 2, 8, 4, 2) : (12, 4, 2, 4 @ LANE, 1 @ LANE, 1)])
    )
    a = Tensor("A", (2, 4, 16, 8), "uint32", space="register", layout=TileLayout(S[(2, 4, 2, 8, 2, 4) : (16, 4, 1, 4 @ LANE, 2, 1 @ LANE)]))
    return apply(HALF, d, a, Tensor("B", (3, 4, 8, 8), "uint32", space="register", layout=b), Scalar("C", 0.0), scope="warp")


@claim
def steps_over_m_n_and_k() -> Call:
    """The fragments of the ISA."""
    return product(TileLayout(S[(3, 4, 8, 2, 4) : (8, 2, 4 @ LANE, 1, 1 @ LANE)]))


@claim(refuted="b.owner")
def b_transposed() -> Call:
    """B in the lanes of its transpose."""
    return product(TileLayout(S[(3, 4, 2, 4, 8) : (8, 2, 1, 1 @ LANE, 4 @ LANE)]))
