"""Instructions whose shape the call says, in words: the fields of the instruction descriptor, the shapes, where elements lie for each M."""

from __future__ import annotations

from collections.abc import Iterator

from tilecheck.spec import Contract, Sized, TensorMemory, Word
from tilecheck.symbolic.terms import substitute

Rows = list[tuple[str, str]]


def instruction_rows(contract: Contract, word: Word) -> Iterator[Rows]:
    """The tables of one instruction: (title, text) and then its rows."""
    bits = [(f"  {f.low + f.bits - 1}:{f.low}" if f.bits > 1 else f"  {f.low}", f"{f.name}: {f.text}") for f in word.fields]
    yield [("idesc", f"bits of {word.name}, {word.source}"), *bits]
    if contract.sized is not None:
        yield [("shapes", "of one instruction"), *(("", size.text) for size in contract.sized.sizes)]
        yield [("lies at", "lane; column in elements: behind the first element"), *_places(contract, contract.sized)]


def _places(contract: Contract, sized: Sized) -> Iterator[tuple[str, str]]:
    """The map of every operand in tensor memory; where it is the same for all M once."""
    seen: set[tuple[str, int]] = set()
    for form in (contract, *contract.variants):
        for operand in form.operands:
            if not isinstance(operand, TensorMemory) or (operand.name, operand.bits) in seen:
                continue
            seen.add((operand.name, operand.bits))
            maps = {size.m: (*_map(operand, size.m), _begins(form, operand, size.m)) for size in sized.sizes}
            bits = f" of {operand.bits} bits" if operand.name in {"d", "a"} else ""
            for k, (m, (lane, column, begins)) in enumerate(maps.items()):
                same = len(set(maps.values())) == 1
                if k == 0 or not same:
                    yield f"  {operand.name}{bits}{'' if same else f', M {m}'}", f"{lane}; {column}{begins}"


def _map(operand: TensorMemory, m: int) -> tuple[str, str]:
    lane, column = (str(substitute(term, {"M": m})) for term in (operand.lane, operand.column))
    return lane, column


def _begins(contract: Contract, operand: TensorMemory, m: int) -> str:
    """Where the first element may lie with an M, where that is said for each M."""
    assert contract.sized is not None
    lanes = next((lanes for name, of, lanes in contract.sized.begins if (name, of) == (operand.name, m)), ())
    return f"; the first in lane {' or '.join(map(str, lanes))}" if lanes else ""
