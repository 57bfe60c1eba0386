"""Every form of the register instructions: documents with dense and separated registers, packs and unpacks, numbers as sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.gpu.documents import Form, Json, document
from tilecheck.contracts import conversions, registers
from tilecheck.spec import Contract, Register, find_contract

DTYPES = {8: "uint8", 16: "uint16", 32: "uint32", 64: "uint64", 128: "bits128"}


def spellings() -> Iterator[str]:
    """Every legal spelling but that of predicates, of which there are no views."""
    for entry in (*registers.FAMILY.entries, *conversions.FAMILY.entries):
        yield from (entry.grammar.spell(q) for q in entry.grammar.legal() if q["type"] != "pred")


def forms_of(opcode: str) -> tuple[Contract, ...]:
    """The contract of a spelling and its variants."""
    found = find_contract(opcode)
    assert isinstance(found, Contract)
    return found, *found.variants


def view(spec: Register, contract: Contract, repeats: int, *, apart: int = 1, first: int = 0, lanes: bool = True) -> Json:
    """An operand of `repeats` instructions, its registers `apart` slots from each other."""
    size = contract.atom_of(spec)[-1].extent
    group, stride = ("32,", "1@laneid,") if lanes else ("", "")
    return {
        "name": spec.name.upper(),
        "space": "register",
        "dtype": spec.dtypes[0] if spec.dtypes else DTYPES[spec.bits],
        "shape": [*([32] if lanes else []), repeats, size],
        "layout": f"S[({group}{repeats},{size}):({stride}{size * apart},{apart})]" + (f" + {first}" if first else ""),
    }


def register_document(opcode: str, contract: Contract, repeats: int = 2, **rest: object) -> Json:
    """A warp's call of a form, every operand in registers of its own."""
    operands = [view(spec, contract, repeats) for spec in contract.operands if isinstance(spec, Register)]
    return document(opcode, opcode, operands, "warp", launch={"block": [32]}, **rest)


def register_forms() -> Iterator[Form]:
    """The forms that copy bits: moves of every width, packs and unpacks, dense and separated, descending, in place, under a predicate."""
    for opcode in (one for one in spellings() if one.startswith("mov.")):
        for contract in forms_of(opcode):
            sizes = "x".join(str(contract.atom_of(o)[-1].extent) for o in contract.operands)
            yield Form("registers", f"{opcode}, {sizes}", register_document(opcode, contract, 3))
    (mov,) = forms_of("mov.u32")
    d, a = (o for o in mov.operands if isinstance(o, Register))

    def moved(what: str, target: Mapping[str, object], source: Mapping[str, object], **rest: object) -> Form:
        values: Mapping[str, int | list[int]] = rest.pop("values", {})  # type: ignore[assignment]
        return Form(
            "registers",
            f"mov.u32, {what}",
            document(f"mov.u32, {what}", "mov.u32", [dict(target), dict(source)], "warp", launch={"block": [32]}, **rest),
            values,
        )

    yield moved("separated slots", view(d, mov, 3, apart=3, first=1), view(a, mov, 3, apart=2))
    yield moved("descending slots", view(d, mov, 3), {**view(a, mov, 3), "layout": "S[(32,3,1):(1@laneid,-1,1)] + 2"})
    yield moved("one place down", {**view(d, mov, 3), "tensor": "X"}, {**view(a, mov, 3, first=1), "tensor": "X"})
    yield moved(
        "one place up, each reads what the one before wrote",
        {**view(d, mov, 3, first=1), "tensor": "X"},
        {**view(a, mov, 3), "tensor": "X"},
    )
    symbol = {"name": "n", "min": 0, "max": 4}
    yield moved("a predicate that holds", view(d, mov, 2), view(a, mov, 2), symbols=[symbol], parameters={"pred": "n > 1"}, values={"n": 3})
    yield moved(
        "a predicate that does not",
        view(d, mov, 2),
        view(a, mov, 2),
        symbols=[symbol],
        parameters={"pred": "n > 1", "preserve_dst": True},
        values={"n": 0},
    )
    yield moved(
        "some lanes",
        {**view(d, mov, 2), "shape": [12, 2, 1], "layout": "S[(12,2,1):(1@laneid,1,1)] + 4@laneid"},
        {**view(a, mov, 2), "shape": [12, 2, 1], "layout": "S[(12,2,1):(1@laneid,1,1)] + 4@laneid"},
        guard="laneid >= 4 and laneid < 16",
    )
