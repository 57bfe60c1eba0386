"""Theorems about ldmatrix and stmatrix: what the register images and address providers are, for every form."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tilecheck import Theorem, all_of, any_of, eq, le, lt, ne, not_, theorem
from tilecheck.spec import Contract, Memory, Register, data, find_contract
from tilecheck.symbolic import Term, substitute, terms, var

NUMBERS = ("x1", "x2", "x4")


def forms(mnemonic: str, trans: str = "") -> Iterator[Contract]:
    """The forms of one mnemonic, with or without `.trans`."""
    for num in NUMBERS:
        found = find_contract(f"{mnemonic}.sync.aligned.m8n8.{num}{trans}.shared.b16")
        assert isinstance(found, Contract)
        yield found


def every_form() -> Iterator[Contract]:
    """All twelve forms."""
    for mnemonic in ("ldmatrix", "stmatrix"):
        for trans in ("", ".trans"):
            yield from forms(mnemonic, trans)


def coordinate(t: Theorem, contract: Contract, suffix: str, *, parts: bool = False) -> dict[str, Term]:
    """A coordinate of the atom (and part) as symbols: axis name -> symbol."""
    axes = (*contract.atom, *(contract.move.parts if parts else ()))
    return {axis.name: t.symbol(f"{axis.name}{suffix}", min=0, max=axis.extent - 1) for axis in axes}


def registers(contract: Contract) -> Register:
    """The register operand."""
    return next(o for o in contract.operands if isinstance(o, Register))


def memory(contract: Contract) -> Memory:
    """The memory operand."""
    return next(o for o in contract.operands if isinstance(o, Memory))


def equal(a: dict[str, Term], b: dict[str, Term]) -> Term:
    """Two coordinates are the same."""
    return all_of(*(eq(a[name], b[name]) for name in a))


@theorem
def every_word_has_a_register_of_its_own_and_every_register_a_word(t: Theorem) -> None:
    """(matrix, row, word) -> (lane, register) is a bijection onto 32 lanes x num registers."""
    for k, contract in enumerate(every_form()):
        spec = registers(contract)
        assert spec.lane is not None
        a, b = coordinate(t, contract, f"_a{k}"), coordinate(t, contract, f"_b{k}")
        lane, register = substitute(spec.lane, a), substitute(spec.register, a)
        count = contract.atom[0].extent
        t.show(all_of(le(0, lane), lt(lane, 32), le(0, register), lt(register, count)), f"{contract.opcode}: in range")
        same = all_of(eq(lane, substitute(spec.lane, b)), eq(register, substitute(spec.register, b)))
        t.show(any_of(not_(same), equal(a, b)), f"{contract.opcode}: one to one")
        t.holds(contract.atom[0].extent * 8 * 4 == 32 * count, f"{contract.opcode}: as many words as registers")


@theorem
def trans_is_the_transpose(t: Theorem) -> None:
    """With `.trans`, the value of register matrix at (row, column) is the shared one at (column, row); columns count b16 values."""
    for k, contract in enumerate(c for mnemonic in ("ldmatrix", "stmatrix") for c in forms(mnemonic, ".trans")):
        at = coordinate(t, contract, f"_{k}", parts=True)
        matrix, row, word, half = (substitute(source, at) for source in contract.move.source)
        column = terms.add(terms.mul(2, at["word"]), at["half"])
        t.show(eq(matrix, at["matrix"]), f"{contract.opcode}: the same matrix")
        t.show(eq(row, column), f"{contract.opcode}: the source row is the column")
        t.show(eq(terms.add(terms.mul(2, word), half), at["row"]), f"{contract.opcode}: the source column is the row")


@theorem
def without_trans_words_stay_where_they_are(t: Theorem) -> None:
    """The source unit of (matrix, row, word, half) is itself."""
    for k, contract in enumerate(c for mnemonic in ("ldmatrix", "stmatrix") for c in forms(mnemonic)):
        at = coordinate(t, contract, f"_{k}", parts=True)
        for name, source in zip(at, contract.move.source, strict=True):
            t.show(eq(substitute(source, at), at[name]), f"{contract.opcode}: {name}")


@theorem
def lanes_provide_every_row_once(t: Theorem) -> None:
    """(matrix, row) -> lane is one to one onto the first 8 * num lanes."""
    for k, contract in enumerate(every_form()):
        provider = memory(contract).provider
        assert provider is not None
        a, b = coordinate(t, contract, f"_a{k}"), coordinate(t, contract, f"_b{k}")
        lane, rows = substitute(provider, a), 8 * contract.atom[0].extent
        t.show(all_of(le(0, lane), lt(lane, rows)), f"{contract.opcode}: among the first {rows} lanes")
        same = all_of(*(eq(a[name], b[name]) for name in ("matrix", "row")))
        t.show(any_of(ne(lane, substitute(provider, b)), same), f"{contract.opcode}: one row a lane")


@theorem
def stmatrix_inverts_ldmatrix(t: Theorem) -> None:
    """Storing what was loaded gives the shared matrix back, unit by unit, with and without `.trans`."""
    for trans in ("", ".trans"):
        for k, (load, store) in enumerate(zip(forms("ldmatrix", trans), forms("stmatrix", trans), strict=True)):
            at = coordinate(t, store, f"_{trans[1:]}{k}", parts=True)
            register = dict(zip(at, (substitute(source, at) for source in store.move.source), strict=True))
            back = dict(zip(at, (substitute(source, register) for source in load.move.source), strict=True))
            t.show(equal(back, at), f"{store.opcode} after {load.opcode}")


@theorem
def contracts_survive_json(t: Theorem) -> None:
    """The data of every form is the same after JSON, tuples and lists aside."""
    for contract in every_form():
        once = json.dumps(data(contract))
        t.holds(json.dumps(json.loads(once)) == once, contract.opcode)


@theorem
def an_owner_is_named_by_lane_alone(t: Theorem) -> None:
    """Every expression of a form is over its atom and parts: nothing else has a say."""
    for contract in every_form():
        spec, parts = registers(contract), {axis.name for axis in (*contract.atom, *contract.move.parts)}
        expressions = (spec.lane, spec.register, memory(contract).provider, *contract.move.source)
        t.holds(all(terms.variables(e) <= parts for e in expressions if e is not None), contract.opcode)
        t.show(eq(substitute(spec.register, {"matrix": var("matrix")}), var("matrix")), f"{contract.opcode}: register = matrix")
