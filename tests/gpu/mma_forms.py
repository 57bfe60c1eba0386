"""Every mma.sync form: documents whose registers lie as the instruction wants them, dense, separated and over repeats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod

from tests.gpu.documents import Form, Json
from tilecheck.contracts.mma import MMA, mma
from tilecheck.spec import Contract, Register
from tilecheck.symbolic import terms

DTYPES = {"f16": "uint32", "f32": "float32", "f64": "float64", "s32": "int32"}


def held(contract: Contract, spec: Register) -> Callable[[tuple[int, ...]], tuple[int, int]]:
    """(lane, register) of an element, as the contract says."""
    names = tuple(axis.name for axis in contract.atom_of(spec))

    def at(atom: tuple[int, ...]) -> tuple[int, int]:
        point = dict(zip(names, atom, strict=True))
        lane = -1 if spec.lane is None else terms.evaluate(spec.lane, point)
        return lane, terms.evaluate(spec.register, point)

    return at


def count(contract: Contract, spec: Register) -> int:
    """The registers of an operand in one lane."""
    at = held(contract, spec)
    return 1 + max(at(atom)[1] for atom in product(*(range(axis.extent) for axis in contract.atom_of(spec))))


def layout(contract: Contract, spec: Register, repeats: Sequence[int] = (), *, apart: int = 1, first: int = 0, group: str = "") -> str:
    """S[...] of an operand: each atom axis in factors of two that are digits of the lane or of the register; repeats in row-major order before it.

    apart: slots from one register to the next. group: `extent:stride` of the group axes.
    """
    at, axes, size = held(contract, spec), contract.atom_of(spec), count(contract, spec)
    factors = [tuple(part.split(":")) for part in group.split()]
    for k, extent in enumerate(repeats):
        factors.append((str(extent), str(apart * size * prod(repeats[k + 1 :]))))
    for k, axis in enumerate(axes):
        weight = axis.extent // 2
        while weight:
            lane, number = at(tuple(weight if j == k else 0 for j in range(len(axes))))
            assert (lane <= 0) != (number == 0)
            factors.append(("2", f"{lane}@laneid" if lane > 0 else str(apart * number)))
            weight //= 2
    shape, strides = ",".join(extent for extent, _ in factors), ",".join(stride for _, stride in factors)
    return f"S[({shape}):({strides})]" + (f" + {first}" if first else "")


def view(contract: Contract, spec: Register, steps: dict[str, int], free: Sequence[int] = (), groups: str = "", **how: int) -> Json:
    """An operand as a view of registers of its own."""
    repeats = (*free, *(steps.get(name, 1) for name in contract.loops_of(spec)))
    extents = [int(part.split(":")[0]) for part in groups.split()]
    shape = [*extents, *repeats, *(axis.extent for axis in contract.atom_of(spec))]
    dtype = (
        spec.dtypes[0]
        if spec.dtypes and spec.bits == 64
        else DTYPES[spec.number or contract.qualifiers["d"]]
        if spec.dtypes and len(spec.dtypes) == 2
        else "uint32"
    )
    return {
        "name": spec.name.upper(),
        "space": "register",
        "dtype": dtype,
        "shape": shape,
        "layout": layout(contract, spec, repeats, group=groups, **how),
    }


def mma_document(opcode: str, steps: dict[str, int] | None = None, free: Sequence[int] = (), **rest: object) -> Json:
    """A call of a form, D, A, B and C in registers of their own, side by side; `steps` gives the loops their extents."""
    found = MMA.read(opcode)
    assert isinstance(found, dict), found
    contract = mma(found)
    operands = [view(contract, spec, steps or {}, free) for spec in contract.operands if isinstance(spec, Register)]
    selectors = {p.name: p.choices[-1] for p in contract.parameters if p.kind == "selector"}
    own = {"schema": "tilecheck/call@1", "id": opcode, "opcode": opcode, "scope": "warp", "operands": operands}
    return {**own, **({"parameters": selectors} if selectors else {}), **rest}


def spellings() -> Iterator[str]:
    """Every legal spelling of a product that is neither sparse nor scaled."""
    return (MMA.spell(q) for q in MMA.legal() if not q["sparse"] and not q["scaling"])


def other_spellings() -> Iterator[str]:
    """Every legal spelling of a sparse or scaled product."""
    return (MMA.spell(q) for q in MMA.legal() if q["sparse"] or q["scaling"])


SM_90 = tuple(opcode for opcode in spellings() if "kind::" not in opcode)
SPARSE_SM_90 = tuple(opcode for opcode in other_spellings() if "kind::" not in opcode)


def mma_forms() -> Iterator[Form]:
    """Every form of sm_90 over two steps of K; steps of M and N, a batch, separated registers, C in place and as a number, scopes, a predicate."""
    for opcode in SM_90:
        yield Form("mma", opcode, mma_document(opcode, {"k": 2}))
    half = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    bytes_ = "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32"
    yield Form("mma", f"{half}, 2 x 3 x 2 steps", mma_document(half, {"m": 2, "n": 3, "k": 2}))
    yield Form("mma", f"{half}, a batch of 2", mma_document(half, {"k": 2}, (2,)))
    yield Form("mma", f"{bytes_}, separated registers", _spread(mma_document(bytes_, {"k": 2})))
    yield Form("mma", f"{half}, C in the registers of D", _in_place(mma_document(half, {"m": 2, "k": 2})))
    yield Form("mma", f"{half}, C is 0.5", _number(mma_document(half, {"k": 2}), 0.5))
    yield Form("mma", f"{bytes_}, C is -3", _number(mma_document(bytes_, {"k": 2}), -3))
    for scope, axis, warps in (("warpgroup", "1@wid_in_wg", 4), ("cta", "1@warpid", 2)):
        yield Form("mma", f"{half}, {scope} scope", _grouped(mma_document(half), scope, axis, warps))
    symbols = [{"name": "n", "min": 0, "max": 4}]
    yield Form("mma", f"{half}, C is 3*n - 5", _number({**mma_document(half, {"k": 2}), "symbols": symbols}, "3*n - 5"), {"n": 4})
    yield Form("mma", f"{bytes_}, C is -n", _number({**mma_document(bytes_, {"k": 2}), "symbols": symbols}, "-n"), {"n": 3})
    halves = "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"
    yield Form("mma", f"{halves}, C is n", _number({**mma_document(halves, {"k": 2}), "symbols": symbols}, "n"), {"n": 3})
    for value, preserved in ((3, False), (0, True)):
        parameters = {"pred": "n > 1", **({"preserve_dst": True} if preserved else {})}
        name = f"{half}, a predicate that {'holds' if value else 'does not'}"
        yield Form("mma", name, mma_document(half, symbols=symbols, parameters=parameters), {"n": value})


def sparse_forms() -> Iterator[Form]:
    """Every sparse form of sm_90 over two steps of K, with every selector of those that have several."""
    for opcode in SPARSE_SM_90:
        document = mma_document(opcode, {"k": 2})
        contract = mma(MMA.read(opcode))  # type: ignore[arg-type]
        for choice in contract.by_name("f").choices:
            name = opcode if len(contract.by_name("f").choices) == 1 else f"{opcode}, selector {choice}"
            yield Form("mma", name, {**document, "parameters": {"f": choice}})
    half = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
    yield Form("mma", f"{half}, 2 x 2 x 2 steps", mma_document(half, {"m": 2, "n": 2, "k": 2}))


def later_mma_forms() -> Iterator[Form]:
    """The forms of later architectures: assembled."""
    for opcode in (one for one in (*spellings(), *other_spellings()) if "kind::" in one):
        yield Form("mma", opcode, mma_document(opcode, {"k": 2}))


def _operands(document: Json) -> list[Json]:
    return document["operands"]  # type: ignore[return-value]


def _spread(document: Json) -> Json:
    """Registers three slots apart from the second on."""
    contract = mma(MMA.read(str(document["opcode"])))  # type: ignore[arg-type]
    registers = [spec for spec in contract.operands if isinstance(spec, Register)]
    return {**document, "operands": [view(contract, spec, {"k": 2}, apart=3, first=1) for spec in registers]}


def _in_place(document: Json) -> Json:
    return {**document, "operands": [{**one, "tensor": "X"} if one["name"] in {"C", "D"} else one for one in _operands(document)]}


def _number(document: Json, value: float | str) -> Json:
    return {**document, "operands": [*_operands(document)[:3], {"name": "C", "value": value}]}


def _grouped(document: Json, scope: str, axis: str, warps: int) -> Json:
    operands = [
        {
            **one,
            "shape": [warps, *one["shape"]],  # type: ignore[misc]
            "layout": str(one["layout"]).replace("S[(", f"S[({warps},", 1).replace(":(", f":({axis},", 1),
        }
        for one in _operands(document)
    ]
    return {**document, "scope": scope, "operands": operands, "launch": {"block": [32 * warps]}}
