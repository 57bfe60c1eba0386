"""The contract of a call that says the shape and the types of an instruction: extents, places and dtypes with numbers for M, N and K."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from tilecheck.call import Call
from tilecheck.layout.view import View
from tilecheck.once import Same
from tilecheck.spec.contract import AtomAxis, Contract, Memory, Operand, Register
from tilecheck.spec.grammar import arch_has
from tilecheck.spec.instruction import ENTRIES, NumberType, Typed
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term

Shape = tuple[int, ...]
Said = tuple[tuple[str, str | None], ...]
"""For each operand that has a type: the dtype of its view, and the type that a parameter names."""


def shape_of(call: Call, contract: Contract) -> Shape | None:
    """The shape that a call says of one instruction, None where it says none in numbers."""
    given = None if contract.sized is None else call.parameter(contract.sized.parameter)
    if not isinstance(given, tuple) or not all(isinstance(entry, int) and not isinstance(entry, bool) for entry in given):
        return None
    return tuple(entry for entry in given if isinstance(entry, int))


def shape_fault(call: Call, contract: Contract) -> tuple[str, str] | None:
    """(expected, found) where the shape is none of the instruction's, or the architecture or a parameter asks another one."""
    sized, shape = contract.sized, shape_of(call, contract)
    assert sized is not None
    found = f"[{', '.join(map(str, shape or ()))}]"
    size = None if shape is None else sized.size(shape)
    if shape is None or size is None:
        others = [name for name, sizes in sized.others if any(one.has(shape or ()) for one in sizes)]
        more = f" (the reading {' or '.join(others)} takes it: {sized.why})" if others else ""
        return sized.text, found + more
    if call.arch is not None and size.arch and not arch_has(call.arch, size.arch):
        return f"{size.arch} for K {size.k}", f"{found} on {call.arch}"
    for parameter, value, step in sized.multiples:
        if call.parameter(parameter) == value and shape[1] % step:
            return f"N a multiple of {step}, as {parameter} is {value}", found
    return None


def type_of(typed: Typed, call: Call, contract: Contract) -> NumberType | None:
    """The type of the elements of an operand, None where there is none."""
    return next(
        (typed.of(view.trace.dtype, call.parameter(typed.parameter) if typed.parameter else None)
         for spec, view in zip(contract.operands, call.operands, strict=False)
         if spec.name == typed.operand and isinstance(view, View)),
        None,
    )  # fmt: skip


def sized_to(contract: Contract, call: Call) -> Contract:
    """The contract with the numbers of the shape of a call, where it has one of the instruction's, and the dtypes that the types allow."""
    if contract.sized is None and not contract.typed:
        return contract
    shape = shape_of(call, contract)
    if shape is None or contract.sized is None or contract.sized.size(shape) is None:
        shape = None
    dtypes = {
        spec.name: view.trace.dtype
        for spec, view in zip(contract.operands, call.operands, strict=False)
        if isinstance(view, View) and view.trace.refusal is None
    }
    said = tuple((dtypes.get(t.operand, ""), call.parameter(t.parameter) if t.parameter else None) for t in contract.typed)
    return _sized(Same(contract), shape, tuple((dtype, named if isinstance(named, str) else None) for dtype, named in said))


def of_shape(contract: Contract, shape: Shape) -> Contract:
    """The contract with the numbers of one of its shapes (M, N, K), whatever the types."""
    return replace(contract, operands=tuple(_shaped(contract, operand, shape) for operand in contract.operands))


@lru_cache(maxsize=512)
def _sized(same: Same[Contract], shape: Shape | None, said: Said) -> Contract:
    contract = same.it
    operands = contract.operands if shape is None else of_shape(contract, shape).operands
    types = {t.operand: t.of(dtype, named) for t, (dtype, named) in zip(contract.typed, said, strict=True)}
    found = {t.operand: allowed(t, named, types) for t, (_, named) in zip(contract.typed, said, strict=True)}
    along = {t.operand for t in contract.typed if (own := types.get(t.operand)) is not None and own.name in t.along}
    operands = tuple(_typed(o, found[o.name], k_only=o.name in along) if o.name in found else o for o in operands)
    return replace(contract, operands=operands, table=contract.table or contract)


def allowed(typed: Typed, named: str | None, types: dict[str, NumberType | None]) -> tuple[str, ...]:
    """The dtypes that the elements of an operand may have, as far as the types of other operands decide."""
    found: list[str] = []
    for one in typed.types:
        others = [(types.get(other), takes) for own, other, takes in typed.needs if own == one.name]
        if any(other is not None and other.name not in takes for other, takes in others):
            continue
        if named is None:
            found += one.dtypes
        elif named == one.name:
            found += (*one.dtypes, *one.held)
    return tuple(dict.fromkeys(found))


def _shaped(contract: Contract, operand: Operand, shape: Shape) -> Operand:
    sized, entries = contract.sized, dict(zip(ENTRIES, shape, strict=True))
    assert sized is not None
    values: dict[str, Term] = {**entries}
    extents = dict(sized.extents).get(operand.name)
    if extents is None or isinstance(operand, Register):
        return operand
    numbers = [terms.evaluate(extent, entries) for extent in extents]
    axes = contract.atom_of(operand)
    atom = tuple(AtomAxis(axis.name, number) for axis, number in zip(axes, numbers, strict=True) if number)
    values |= {axis.name: 0 for axis, number in zip(axes, numbers, strict=True) if not number}
    if isinstance(operand, Memory):
        return replace(operand, atom=atom)
    start = dict(sized.starts).get(operand.name)
    return replace(
        operand,
        atom=atom,
        lane=terms.substitute(operand.lane, values),
        column=terms.substitute(operand.column, values),
        replicas=next((copies for name, m, copies in sized.copies if name == operand.name and m == shape[0]), operand.replicas),
        first_lanes=next((lanes for name, m, lanes in sized.begins if name == operand.name and m == shape[0]), operand.first_lanes),
        first_bits=operand.first_bits if start is None else terms.evaluate(start, entries),
        note="; ".join(text for name, m, text in sized.notes if name == operand.name and m == shape[0]) or operand.note,
    )


def _typed(operand: Operand, dtypes: tuple[str, ...], *, k_only: bool) -> Operand:
    if isinstance(operand, Memory) and operand.described is not None and k_only:
        modes = tuple(mode for mode in operand.described.modes if mode.major == "k")
        return replace(operand, dtypes=dtypes, described=replace(operand.described, modes=modes))
    return replace(operand, dtypes=dtypes)


def word_values(call: Call, contract: Contract, bytes_: dict[str, Term]) -> dict[str, Term]:
    """What the fields of the word of a call hold. bytes_: for operands whose place matters the byte of its cell in which the first element lies."""
    word, shape = contract.word, shape_of(call, contract)
    assert word is not None
    entries = dict(zip(ENTRIES, shape or (), strict=False))
    types = {t.operand: type_of(t, call, contract) for t in contract.typed}
    found: dict[str, Term] = {}
    for one in word.fields:
        kind, of = one.source[0], one.source[1]
        number = one.source[2] if len(one.source) > 2 and isinstance(one.source[2], int) else 1
        name = str(of)
        if kind == "size":
            found[one.name] = entries[name] // number
        elif kind == "is":
            found[one.name] = int(entries[name] == number)
        elif kind == "type":
            own = types[name]
            found[one.name] = 0 if own is None else own.code
        elif kind == "flag":
            found[one.name] = int(call.parameter(name) is True)
        elif kind == "major":
            found[one.name] = int(call.parameter(name) == "mn")
        elif kind == "byte":
            found[one.name] = bytes_[name]
        else:
            assert isinstance(of, int)
            found[one.name] = of
    return found
