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


def arithmetic_forms() -> Iterator[Form]:
    """Every form of sm_90 that computes, each over two repeats of a warp; numbers and expressions as sources, results in the place of a source, predicates."""
    for opcode, contract in computing():
        if contract.runs_on("sm_90"):
            yield Form("registers", f"{opcode}{_count(contract)}", register_document(opcode, contract))
    symbols = [{"name": "n", "min": -9, "max": 9}]
    each = [{"name": "n", "min": -100, "max": 100, "varies": "thread"}]
    for opcode, place, value in (
        ("add.f32", 2, 1.5),
        ("fma.rn.f16x2", 3, 0x3C00BC00),
        ("mul.lo.s32", 1, -7),
        ("mov.u32", 1, 0xFFFFFFF9),
        ("cvt.rn.f16.f32", 1, 0.1),
    ):
        yield Form("registers", f"{opcode}, a source is {value}", _with(opcode, place, value))
    for opcode, place, value in (
        ("add.s32", 2, "n"),
        ("sub.u16", 1, "n * n"),
        ("mul.f32", 2, "n"),
        ("add.f16", 2, "n"),
        ("fma.rn.bf16", 3, "n"),
        ("add.f64", 1, "n"),
        ("mul.lo.s64", 2, "n << 40"),
        ("mov.b32", 1, "n"),
        ("mov.b64", 1, "n"),
        ("add.f16x2", 2, "(n + 10) * 65537"),
    ):
        yield Form("registers", f"{opcode}, a source is {value}", _with(opcode, place, value, symbols=symbols), {"n": -7})
    lanes: list[int] = [3 * lane - 47 for lane in range(32)]
    yield Form("registers", "add.s32, a source is a symbol of each lane", _with("add.s32", 2, "n + laneid", symbols=each), {"n": lanes})
    yield Form("registers", "mul.f32, a source is a symbol of each lane", _with("mul.f32", 2, "n", symbols=each), {"n": lanes})
    (fma,) = forms_of("fma.rn.f32")
    document_ = register_document("fma.rn.f32", fma)
    operands: list[Json] = document_["operands"]  # type: ignore[assignment]
    in_place = [{**one, "tensor": "X"} if one["name"] in {"D", "C"} else one for one in operands]
    yield Form("registers", "fma.rn.f32, the result in the place of C", {**document_, "operands": in_place})
    declared = [{"name": "n", "min": 0, "max": 4}]
    for value, preserved in ((3, False), (0, True)):
        parameters = {"pred": "n > 1", **({"preserve_dst": True} if preserved else {})}
        name = f"fma.rn.f32, a predicate that {'holds' if value else 'does not'}"
        yield Form("registers", name, register_document("fma.rn.f32", fma, symbols=declared, parameters=parameters), {"n": value})


def later_register_forms() -> Iterator[Form]:
    """The forms of later architectures: assembled."""
    for opcode, contract in computing():
        if not contract.runs_on("sm_90"):
            yield Form("registers", f"{opcode}{_count(contract)}", register_document(opcode, contract))


def computing() -> Iterator[tuple[str, Contract]]:
    """Every spelling that computes, with its contract and with each of its variants."""
    for opcode in (one for one in spellings() if not one.startswith("mov.")):
        yield from ((opcode, contract) for contract in forms_of(opcode))


def _count(contract: Contract) -> str:
    """What tells a variant from the form itself."""
    return ", three inputs" if contract.mnemonic in {"min", "max"} and len(contract.operands) == 4 else ""


def _with(opcode: str, place: int, value: float | str, **rest: object) -> Json:
    """A call of a form with a number or an expression in the place of an operand."""
    found = register_document(opcode, forms_of(opcode)[0], **rest)
    operands: list[Json] = list(found["operands"])  # type: ignore[call-overload]
    operands[place] = {"name": "number", "value": value}
    return {**found, "operands": operands}
