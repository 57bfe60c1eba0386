"""The contract of a call: the table's, fitted to the call where a parameter fixes an extent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from tilecheck.boxes import box_of
from tilecheck.call import Call, Scalar
from tilecheck.layout.view import View
from tilecheck.once import Same
from tilecheck.scalar.compose import composed
from tilecheck.scalar.function import Function
from tilecheck.sizing import sized_to
from tilecheck.spec import BadSpelling, Contract, find_contract
from tilecheck.spec.contract import AtomAxis, Memory, Operand, Parameter, Register
from tilecheck.symbolic.parse import parse
from tilecheck.symbolic.terms import Expr, Term


def contract_for(call: Call) -> Contract | None:
    """The contract of a call, fitted to it; None where the spelling is illegal or unknown."""
    found = find_contract(call.opcode)
    return None if found is None or isinstance(found, BadSpelling) else fitted(found, call)


def chosen(contract: Contract, call: Call) -> Contract:
    """The variant of a contract that the operands of a call fit, a composition with the function of the call, else the contract itself.

    Where nothing fits it is the one whose operands that tell it apart fit, whatever is wrong with the others, or are in registers where the call has them.
    """
    if contract.scalar is not None and contract.table is None and call.function is not None:
        return _composed(Same(contract), call.function)
    if not contract.variants or (contract.sized is not None and _own_fits(contract, call)):
        return contract
    many = [(k, one) for k, one in enumerate(contract.variants) if len(one.operands) == len(call.operands)]
    for k, one in many:
        if _fits(one, call, range(len(one.operands))):
            return _variant(Same(contract), k)
    telling = [k for k, one in many if _fits(one, call, _apart(contract, one))]
    found = telling if len(telling) == 1 else [k for k, one in many if _placed(contract, one, call)]
    return _variant(Same(contract), found[0]) if found else contract


def _fits(variant: Contract, call: Call, which: Iterable[int]) -> bool:
    """Whether some operands of a call fit those of a variant; the extents of one whose shape the call says are open."""
    pairs = ((variant.operands[k], call.operands[k]) for k in which)
    return all(_suits(given, o, variant.atom_of(o)[-1].extent if variant.sized is None else None) for o, given in pairs)


def _own_fits(contract: Contract, call: Call) -> bool:
    """Whether the operands of a call fit those of the contract itself, so that they fit those of no variant."""
    return len(call.operands) == len(contract.operands) and _fits(contract, call, range(len(contract.operands)))


def _kind(space: str) -> str:
    """The kind of memory: registers, tensor memory, or what has byte addresses."""
    return space if space in {"register", "tmem"} else ""


def _own_kind(operand: Operand) -> str:
    return "register" if isinstance(operand, Register) else _kind(operand.space)


def _apart(contract: Contract, variant: Contract) -> list[int]:
    """The operands by which a variant differs from its contract in kind, width, last extent, or in that a number may stand there."""

    def form(one: Contract, operand: Operand) -> tuple[object, ...]:
        number = isinstance(operand, Register) and bool(operand.number)
        return _own_kind(operand), operand.bits, one.atom_of(operand)[-1].extent, number

    pairs = enumerate(zip(contract.operands, variant.operands, strict=False))
    return [k for k, (own, other) in pairs if form(contract, own) != form(variant, other)]


def _placed(contract: Contract, variant: Contract, call: Call) -> bool:
    """Whether operands are of another kind of memory than in the contract, and the call has all of them where the variant has."""
    kinds = [_own_kind(o) for o in variant.operands]
    moved = [k for k, own in enumerate(contract.operands) if k < len(kinds) and kinds[k] != _own_kind(own)]
    given = [(kinds[k], call.operands[k]) for k in moved]
    return bool(given) and all(isinstance(one, View) and _kind(one.tensor.space) == kind for kind, one in given)


def seen(view: View, operand: Operand) -> View:
    """The view as the instruction takes it: one of numbers of which two fill an element of the operand, as one of raw elements."""
    if isinstance(operand, Register) and operand.paired and view.trace.dtype in operand.paired:
        return _paired(view, operand.bits)
    return view


@lru_cache(maxsize=512)
def _paired(view: View, bits: int) -> View:
    return view.view(f"bits{bits}")


def _suits(view: View | Scalar, operand: Operand, last: int | None) -> bool:
    """Whether a view is in the kind of memory of an operand, with elements as wide and a last axis as long; a number, whether one may stand there."""
    if isinstance(view, Scalar):
        return isinstance(operand, Register) and bool(operand.number)
    view = seen(view, operand)
    alike = _kind(view.tensor.space) == _own_kind(operand) and view.trace.bits == operand.bits
    return alike and (last is None or view.trace.shape[-1:] == (last,))


@lru_cache(maxsize=512)
def _composed(contract: Same[Contract], function: Function) -> Contract:
    return composed(contract.it, function)


@lru_cache(maxsize=512)
def _variant(contract: Same[Contract], index: int) -> Contract:
    return replace(contract.it.variants[index], table=contract.it)


def fitted(contract: Contract, call: Call) -> Contract:
    """The variant that the operands fit, with the extent of its last atom axis and the width of its elements, as the chunk and the first operand say.

    Left as it is where no parameter fixes an extent, or where the first operand is no view; a chunk that is no positive number gives extent 0.
    """
    contract = sized_to(chosen(contract, call), call)
    if contract.box is not None:
        return boxed(contract, call)
    parameter = contract.parameter("chunk")
    if contract.chunk is None or contract.table is not None or parameter is None or not call.operands:
        return contract
    first, chunk = call.operands[0], call.parameter(parameter.name)
    if not isinstance(first, View):
        return contract
    return contract.fitted(first.trace.bits, chunk if isinstance(chunk, int) and not isinstance(chunk, bool) and chunk > 0 else 0)


def boxed(contract: Contract, call: Call) -> Contract:
    """The contract with the image of the box as its atom and the width of the elements of the tensor; no atom where the fields give no image."""
    box = box_of(call, contract)
    if box is None or contract.table is not None:
        return contract
    return _boxed(Same(contract), box.image, box.bits)


@lru_cache(maxsize=512)
def _boxed(same: Same[Contract], image: tuple[int, ...] | None, bits: int) -> Contract:
    contract = same.it
    atom = tuple(AtomAxis(f"box.{k}", extent) for k, extent in enumerate(image or ()))
    operands = tuple(replace(o, bits=bits) if isinstance(o, Memory) else o for o in contract.operands)
    return replace(contract, operands=operands, atom=atom, table=contract)


def value_of(call: Call, parameter: Parameter) -> Term | None:
    """The value of a parameter as a term, None where it is not given (or is a word)."""
    value = call.parameter(parameter.name)
    if isinstance(value, str):
        return None if parameter.kind == "barrier" else parse(value, truth=parameter.kind == "predicate")
    return value if isinstance(value, int | Expr) else None


@dataclass(frozen=True, slots=True)
class Value:
    """An expression in the place of a register operand: the operand's name in the call, what the contract says of it, the term."""

    name: str
    spec: Register
    term: Expr


def scalars_of(call: Call, contract: Contract) -> Iterator[Value]:
    """The expressions among the operands of a call."""
    for operand, spec in zip(call.operands, contract.operands, strict=False):
        if isinstance(operand, Scalar) and isinstance(operand.value, Expr) and isinstance(spec, Register):
            yield Value(operand.name, spec, operand.value)


def chunk_fault(contract: Contract, call: Call) -> tuple[str, str] | None:
    """(expected, found) where the chunk is not one of the instruction's, or holds no whole number of elements; the contract is fitted or the table's."""
    parameter = contract.parameter("chunk")
    if parameter is None:
        return None
    value = call.parameter(parameter.name)
    assert isinstance(value, int)
    if not _takes(parameter, value):
        return chunk_text(parameter), f"{value} bytes"
    bits = contract.operands[0].bits
    if 8 * value % bits:
        return f"a whole number of elements of {bits} bits", f"{value} bytes"
    return None


def _takes(parameter: Parameter, value: int) -> bool:
    return value in parameter.choices if parameter.choices else 0 < value < 1 << 32 and value % parameter.step == 0


def chunk_text(parameter: Parameter) -> str:
    """The sizes that a chunk may have, in words."""
    if parameter.choices:
        *some, last = map(str, parameter.choices)
        return f"{', '.join(some)} or {last} bytes" if some else f"{last} bytes"
    return f"a positive multiple of {parameter.step} bytes below 2^32"
