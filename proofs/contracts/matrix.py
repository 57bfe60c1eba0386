"""Theorems about ldmatrix, stmatrix and movmatrix: what the register images and address providers are, for every form."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tilecheck import Theorem, all_of, any_of, eq, le, lt, ne, not_, theorem
from tilecheck.spec import Contract, Memory, Register, data, find_contract
from tilecheck.symbolic import Term, evaluate, substitute, terms

NUMBERS = ("x1", "x2", "x4")
PACKED = ("b8x16.b6x16_p32", "b8x16.b4x16_p64")
BYTES = {"m16n16": (("x1", "x2"), ".trans", ("b8", *PACKED)), "m8n16": (NUMBERS, "", PACKED), "m16n8": (NUMBERS, ".trans", ("b8",))}
"""The shapes of 8-bit elements: how many matrices at once, `.trans`, and types."""


def form(opcode: str) -> Contract:
    """The contract of a legal spelling."""
    found = find_contract(opcode)
    assert isinstance(found, Contract)
    return found


def forms(mnemonic: str, trans: str = "") -> Iterator[Contract]:
    """The m8n8 forms of one mnemonic, with or without `.trans`."""
    for num in NUMBERS:
        yield form(f"{mnemonic}.sync.aligned.m8n8.{num}{trans}.shared.b16")


def byte_forms(*shapes: str) -> Iterator[Contract]:
    """The forms of 8-bit elements, of all shapes or some."""
    for shape, (numbers, trans, types) in BYTES.items():
        mnemonic = "stmatrix" if shape == "m16n8" else "ldmatrix"
        for num in numbers if shape in shapes or not shapes else ():
            for kind in types:
                yield form(f"{mnemonic}.sync.aligned.{shape}.{num}{trans}.shared.{kind}")


def every_form() -> Iterator[Contract]:
    """All forms with a shared operand."""
    for mnemonic in ("ldmatrix", "stmatrix"):
        for trans in ("", ".trans"):
            yield from forms(mnemonic, trans)
    yield from byte_forms()


MOVMATRIX = form("movmatrix.sync.aligned.m8n8.trans.b16")


def coordinate(t: Theorem, contract: Contract, suffix: str, *, parts: bool = False) -> dict[str, Term]:
    """A coordinate of the atom (and part) as symbols: axis name -> symbol."""
    axes = (*contract.atom, *(contract.move.parts if parts else ()))
    return {axis.name: t.symbol(f"{axis.name}{suffix}", min=0, max=axis.extent - 1) for axis in axes}


def registers(contract: Contract) -> Register:
    """The first register operand."""
    return next(o for o in contract.operands if isinstance(o, Register))


def memory(contract: Contract) -> Memory:
    """The memory operand."""
    return next(o for o in contract.operands if isinstance(o, Memory))


def source(contract: Contract, at: dict[str, Term]) -> dict[str, Term]:
    """The source unit of a destination unit."""
    return dict(zip(at, (substitute(one, at) for one in contract.move.source), strict=True))


def equal(a: dict[str, Term], b: dict[str, Term]) -> Term:
    """Two coordinates are the same."""
    return all_of(*(eq(a[name], b[name]) for name in a))


def words(contract: Contract) -> int:
    """The words of one instruction."""
    count = 1
    for extent in contract.suffix:
        count *= extent
    return count


@theorem
def every_word_has_a_register_of_its_own_and_every_register_a_word(t: Theorem) -> None:
    """(matrix, row, word) -> (lane, register) is a bijection onto 32 lanes x the registers of the instruction."""
    for k, contract in enumerate((*every_form(), MOVMATRIX)):
        spec = registers(contract)
        assert spec.lane is not None
        a, b = coordinate(t, contract, f"_a{k}"), coordinate(t, contract, f"_b{k}")
        lane, register = substitute(spec.lane, a), substitute(spec.register, a)
        count = words(contract) // 32
        t.show(all_of(le(0, lane), lt(lane, 32), le(0, register), lt(register, count)), f"{contract.opcode}: in range")
        same = all_of(eq(lane, substitute(spec.lane, b)), eq(register, substitute(spec.register, b)))
        t.show(any_of(not_(same), equal(a, b)), f"{contract.opcode}: one to one")
        t.holds(words(contract) == 32 * count, f"{contract.opcode}: as many words as registers")


@theorem
def trans_is_the_transpose(t: Theorem) -> None:
    """With `.trans`, the value of register matrix at (row, column) is the shared one at (column, row); columns count b16 values."""
    for k, contract in enumerate(c for mnemonic in ("ldmatrix", "stmatrix") for c in forms(mnemonic, ".trans")):
        at = coordinate(t, contract, f"_{k}", parts=True)
        matrix, row, word, half = source(contract, at).values()
        column = terms.add(terms.mul(2, at["word"]), at["half"])
        t.show(eq(matrix, at["matrix"]), f"{contract.opcode}: the same matrix")
        t.show(eq(row, column), f"{contract.opcode}: the source row is the column")
        t.show(eq(terms.add(terms.mul(2, word), half), at["row"]), f"{contract.opcode}: the source column is the row")


@theorem
def without_trans_words_stay_where_they_are(t: Theorem) -> None:
    """The source unit of (matrix, row, word, half) is itself."""
    for k, contract in enumerate(c for mnemonic in ("ldmatrix", "stmatrix") for c in forms(mnemonic)):
        at = coordinate(t, contract, f"_{k}", parts=True)
        for name, found in source(contract, at).items():
            t.show(eq(found, at[name]), f"{contract.opcode}: {name}")


@theorem
def a_16x16_matrix_is_loaded_as_its_transpose(t: Theorem) -> None:
    """Byte (row, column) of the register matrix is element (column, row) of the shared one; an element has as many bits as its type says."""
    for k, contract in enumerate(byte_forms("m16n16")):
        at = coordinate(t, contract, f"_{k}", parts=True)
        found, width = source(contract, at), bits_of(contract)
        column = terms.add(terms.mul(4, at["word"]), at["byte"])
        value, bit = (8, 0) if width == 8 else (2, terms.mul(2, at["pair"]))
        number = terms.add(terms.mul(4, found["byte"]), found["pair"]) if "pair" in found else found["byte"]
        first = terms.add(terms.mul(32, found["word"]), terms.mul(value, number))
        t.show(eq(found["matrix"], at["matrix"]), f"{contract.opcode}: the same matrix")
        t.show(eq(found["row"], column), f"{contract.opcode}: the source row is the column")
        t.show(eq(first, terms.add(terms.mul(width, at["row"]), bit)), f"{contract.opcode}: the source element is the row")


def bits_of(contract: Contract) -> int:
    """The bits of an element in memory."""
    kind = contract.qualifiers.get("format") or contract.qualifiers["type"]
    return int(kind[1])


@theorem
def a_packed_element_fills_the_low_bits_of_its_byte(t: Theorem) -> None:
    """Bits of a byte beyond the width of the element are zero, the others come from the payload of the row and never from its padding."""
    for k, contract in enumerate(c for c in byte_forms("m16n16", "m8n16") if c.move.zero is not False):
        at, width = coordinate(t, contract, f"_{k}", parts=True), bits_of(contract)
        cleared = substitute(contract.move.zero, at)
        found = source(contract, at)
        bit = terms.add(terms.mul(32, found["word"]), terms.mul(8, found["byte"]), terms.mul(2, found["pair"]))
        t.show(eq(terms.select(cleared, 1, 0), terms.select(le(width, terms.mul(2, at["pair"])), 1, 0)), f"{contract.opcode}: zeros above")
        t.show(any_of(cleared, all_of(le(0, bit), le(terms.add(bit, 2), 16 * width))), f"{contract.opcode}: payload only")


@theorem
def every_packed_bit_is_loaded_once(t: Theorem) -> None:
    """Two units that are not cleared have different sources, and there are as many as the payload has."""
    for k, contract in enumerate(c for c in byte_forms("m16n16", "m8n16") if c.move.zero is not False):
        a, b = coordinate(t, contract, f"_a{k}", parts=True), coordinate(t, contract, f"_b{k}", parts=True)
        cleared = any_of(substitute(contract.move.zero, a), substitute(contract.move.zero, b))
        same = equal(source(contract, a), source(contract, b))
        t.show(any_of(cleared, not_(same), equal(a, b)), f"{contract.opcode}: one to one")
        filled = sum(not evaluate(contract.move.zero, {"pair": pair}) for pair in range(4))
        t.holds(16 * filled * 2 == 16 * bits_of(contract), f"{contract.opcode}: as many bits as a payload has")


@theorem
def a_stored_16x8_matrix_is_its_transpose(t: Theorem) -> None:
    """Byte (i, c) of a shared row is element (c, i) of the register matrix: row c % 8 of the fragment, its upper half from row 8 on."""
    for k, contract in enumerate(byte_forms("m16n8")):
        at = coordinate(t, contract, f"_{k}", parts=True)
        found = source(contract, at)
        row = terms.add(found["row"], terms.mul(8, terms.floordiv(found["byte"], 2)))
        column = terms.add(terms.mul(2, found["word"]), terms.mod(found["byte"], 2))
        t.show(eq(row, terms.add(terms.mul(4, at["word"]), at["byte"])), f"{contract.opcode}: the source row is the column")
        t.show(eq(column, at["row"]), f"{contract.opcode}: the source column is the row")
        t.show(eq(found["matrix"], at["matrix"]), f"{contract.opcode}: the same matrix")


@theorem
def lanes_provide_every_row_once(t: Theorem) -> None:
    """(matrix, row) -> lane is one to one onto the first lanes, as many as there are rows: never more than a warp has."""
    for k, contract in enumerate(every_form()):
        provider = memory(contract).provider
        assert provider is not None
        a, b = coordinate(t, contract, f"_a{k}"), coordinate(t, contract, f"_b{k}")
        lane, rows = substitute(provider, a), contract.suffix[0] * contract.suffix[1]
        t.holds(rows <= 32, f"{contract.opcode}: {rows} rows")
        t.show(all_of(le(0, lane), lt(lane, rows)), f"{contract.opcode}: among the first {rows} lanes")
        same = all_of(*(eq(a[name], b[name]) for name in ("matrix", "row")))
        t.show(any_of(ne(lane, substitute(provider, b)), same), f"{contract.opcode}: one row a lane")


@theorem
def stmatrix_inverts_ldmatrix(t: Theorem) -> None:
    """Storing what was loaded gives the shared matrix back, unit by unit, with and without `.trans`."""
    for trans in ("", ".trans"):
        for k, (load, store) in enumerate(zip(forms("ldmatrix", trans), forms("stmatrix", trans), strict=True)):
            at = coordinate(t, store, f"_{trans[1:]}{k}", parts=True)
            t.show(equal(source(load, source(store, at)), at), f"{store.opcode} after {load.opcode}")


@theorem
def loading_16x16_what_two_16x8_stored_exchanges_bytes(t: Theorem) -> None:
    """Rows named in the order 0 1 8 9 2 3 10 11 ...: byte b of register r is byte b % 2 + 2r of register b // 2, as CUTLASS has it (SM100_U8x8_LDSM_T)."""
    load = form("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8")
    store = form("stmatrix.sync.aligned.m16n8.x2.trans.shared.b8")
    at = coordinate(t, load, "", parts=True)
    shared = source(load, at)
    lane, row = shared["row"], terms.add(terms.mod(shared["row"], 2), terms.mul(2, terms.floordiv(shared["row"], 4)))
    found = source(store, {**shared, "matrix": terms.mod(terms.floordiv(lane, 2), 2), "row": row})
    own, theirs = registers(load), registers(store)
    assert own.lane is not None
    assert theirs.lane is not None
    register = substitute(own.register, at)
    t.show(eq(substitute(theirs.lane, found), substitute(own.lane, at)), "every value returns to its lane")
    t.show(eq(substitute(theirs.register, found), terms.floordiv(at["byte"], 2)), "register b // 2")
    t.show(eq(found["byte"], terms.add(terms.mod(at["byte"], 2), terms.mul(2, register))), "byte b % 2 + 2r")


@theorem
def movmatrix_transposes(t: Theorem) -> None:
    """Value (row, column) of the result is value (column, row) of the source."""
    at = coordinate(t, MOVMATRIX, "", parts=True)
    row, word, half = source(MOVMATRIX, at).values()
    t.show(eq(row, terms.add(terms.mul(2, at["word"]), at["half"])), "the source row is the column")
    t.show(eq(terms.add(terms.mul(2, word), half), at["row"]), "the source column is the row")


@theorem
def movmatrix_twice_is_the_identity(t: Theorem) -> None:
    """Every unit comes back to its place."""
    at = coordinate(t, MOVMATRIX, "", parts=True)
    t.show(equal(source(MOVMATRIX, source(MOVMATRIX, at)), at))


@theorem
def movmatrix_is_stmatrix_and_ldmatrix_trans(t: Theorem) -> None:
    """One matrix stored and loaded transposed (or stored transposed and loaded) leaves what movmatrix leaves, in the same lanes."""
    for stored, loaded in (("", ".trans"), (".trans", "")):
        store, load = next(forms("stmatrix", stored)), next(forms("ldmatrix", loaded))
        at = coordinate(t, MOVMATRIX, stored[1:], parts=True)
        through = source(store, source(load, {"matrix": 0, **at}))
        t.show(equal(source(MOVMATRIX, at), {name: through[name] for name in at}), f"{store.opcode}, {load.opcode}")
        for one, own in ((store, MOVMATRIX.operands[1]), (load, MOVMATRIX.operands[0])):
            lane = registers(one).lane
            assert isinstance(own, Register)
            assert own.lane is not None
            assert lane is not None
            t.show(eq(substitute(lane, {"matrix": 0, **at}), substitute(own.lane, at)), f"{one.opcode}: the same lanes")


@theorem
def contracts_survive_json(t: Theorem) -> None:
    """The data of every form is the same after JSON, tuples and lists aside."""
    for contract in (*every_form(), MOVMATRIX):
        once = json.dumps(data(contract))
        t.holds(json.dumps(json.loads(once)) == once, contract.opcode)


@theorem
def an_owner_is_named_by_lane_alone(t: Theorem) -> None:
    """Every expression of a form is over its atom and parts: nothing else has a say."""
    for contract in (*every_form(), MOVMATRIX):
        parts = {axis.name for axis in (*contract.atom, *contract.move.parts)}
        owners = [e for o in contract.operands if isinstance(o, Register) for e in (o.lane, o.register)]
        owners += [o.provider for o in contract.operands if isinstance(o, Memory)]
        expressions = (*owners, *contract.move.source, contract.move.zero)
        t.holds(all(terms.variables(e) <= parts for e in expressions if e is not None), contract.opcode)
