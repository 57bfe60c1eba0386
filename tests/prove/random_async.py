"""Seeded random asynchronous copies of every scope: mostly legal, with something off in each second one."""

from __future__ import annotations

import random
from typing import Any

from own_cases import Document, call, symbol
from random_calls import LEVELS, active, condition, group_axes, number, strides_of, threads

from tilecheck.spec import find_entry

BLOCKS: dict[str, tuple[tuple[int, ...], ...]] = {
    "thread": ((1,), (1,), (4,), (2, 2), (33,)),
    "warp": ((4,), (8,), (2, 2), (34,)),
    "warpgroup": ((128,),),
    "cta": ((4,), (8,), (2, 4), (40,)),
    "cluster": ((4,), (2, 2)),
}
CLUSTERS = ((2,), (1, 2), (2, 2), (3, 1, 1), (1, 1, 2))
MNEMONICS = ("cp.async", "cp.async", "cp.async.bulk", "cp.async.bulk", "cp.async.bulk", "cp.reduce.async.bulk", "cp.async.bulk.prefetch")
TYPES = {8: "uint8", 16: "float16", 32: "float32", 64: "float64", 128: "bits128", 4: "float4_e2m1fn"}


def view(
    rng: random.Random, name: str, space: str, rows: list[int], count: int, bits: int, dtype: str, names: list[str], size: int
) -> Document:
    """Rows of a chunk each, in a padded array of stages, one of which a start chooses."""
    stages = rng.choice((1, 1, 2, 4)) if names or rng.random() < 0.4 else 1
    unit = count if rng.random() < 0.9 else max(1, count // 2)
    strides = strides_of([stages, *rows], rng, (0, 0, 1), unit)
    if rng.random() < 0.05:
        strides[rng.randrange(len(strides))] = 0
    shape = [stages, *rows, count]
    text = f"S[({','.join(map(str, shape))}):({','.join(map(str, strides))},1)]"
    if rng.random() < 0.05:
        text = text[:-3] + rng.choice(("2", "0", "-1")) + ")]"
    if rng.random() < 0.1:
        text += rng.choice((f" + {count}", " + 1", f" + {2 * count}", " - 4", " + 1@cbx", " + R[2:8]"))
    if rng.random() < 0.2:
        text = rng.choice((f"Swizzle({max(0, count.bit_length() - 1)},2,2) o ", "Swizzle(2,1,3) o ", "Swizzle(0,2,2) o ")) + text
    begin = number(rng, names, stages - 1) if stages > 1 else 0
    whole = [None for _ in shape[1:]]
    found: Document = {"name": name, "space": space, "dtype": dtype, "shape": shape, "layout": text}
    found["align"] = rng.choice((16, 16, 16, 16, 128, max(1, size), 8, 4))
    found["view"] = [{"op": "slice", "begin": [begin, *(0 for _ in whole)], "extent": [1, *whole]}, {"op": "reshape", "shape": shape[1:]}]
    if rng.random() < 0.1:
        found["base"] = {"mod": rng.choice((16, 32)), "is": rng.choice((0, 4, 8))}
    return found


def value(rng: random.Random, names: list[str], most: int) -> str | int:
    """A value that is mostly in 0..most."""
    if rng.random() < 0.4:
        return rng.choice((0, 1, most, most, most + 1, most // 2, -1)) if rng.random() < 0.3 else rng.randint(0, most)
    return number(rng, names, most)


def parameters(rng: random.Random, contract: Any, size: int, names: list[str], ctas: int, repeats: int) -> dict[str, Any]:
    """Values of the parameters that the contract has."""
    found: dict[str, Any] = {"pred": condition(rng, names)} if rng.random() < 0.2 else {}
    fill = rng.choice(("", "", "src_size", "ignore_src", "both" if rng.random() < 0.1 else ""))
    for parameter in contract.parameters:
        name, kind = parameter.name, parameter.kind
        if kind == "chunk":
            found[name] = size if rng.random() < 0.93 else rng.choice((size + 4, 2 * size, 0, 12, 24))
        elif kind == "barrier":
            found[name] = "shared" if rng.random() < 0.97 else "global"
        elif kind == "rank":
            found[name] = rng.choice((f"({rank()} + 1) % {ctas}", f"{ctas - 1} - {rank()}", value(rng, names, ctas - 1), f"{rank()} ^ 1"))
        elif kind == "mask":
            found[name] = rng.choice(
                ((1 << ctas) - 1, 1, f"1 << {rank()}", value(rng, names, (1 << ctas) - 1), f"1 << ({rank()} + 1) % {ctas}")
            )
        elif kind == "bytes" and rng.random() < 0.5:
            each = size * repeats
            found[name] = rng.choice((each, each, 2 * each, f"{each} * (1 + 0)", *(f"{each} * {n}" for n in names)))
        elif name == "src_size" and fill in {"src_size", "both"}:
            found[name] = value(rng, names, size)
        elif name == "ignore_src" and fill in {"ignore_src", "both"}:
            found[name] = condition(rng, names)
        elif name == "byteMask":
            found[name] = value(rng, names, 0xFFFF)
        elif name == "cache_policy":
            found[name] = rng.choice((0, 1 << 60, *names, *(f"{n} // {m}" for n in names for m in names[:1])))
    if rng.random() < 0.04 and found:
        found.pop(rng.choice(sorted(found)))
    return found


def rank() -> str:
    """The rank of the executing CTA in a cluster of one or two axes, as far as the generator goes."""
    return "(cbx + cby)"


def random_async_call(rng: random.Random) -> Document:
    """A call with small domains."""
    scope = rng.choice(("thread", "thread", "warp", "cta", "cta", "cluster", "warpgroup" if rng.random() < 0.2 else "warp"))
    block = rng.choice(BLOCKS[scope])
    entry = find_entry(rng.choice(MNEMONICS))
    assert entry is not None
    qualifiers = rng.choice(list(entry.grammar.legal()))
    contract = entry.contract(qualifiers)
    wide = any(p.kind in {"rank", "mask"} for p in contract.parameters)
    cluster = rng.choice(CLUSTERS) if scope == "cluster" or rng.random() < (0.9 if wide else 0.15) else None
    ctas = 1
    for extent in cluster or ():
        ctas *= extent
    symbols = [
        symbol(
            name,
            *rng.choice(((0, 3), (-2, 5), (1, 2), (0, 7))),
            rng.choice(LEVELS) if rng.random() < 0.3 else "grid",
            rng.choice((1, 1, 2)),
        )
        for name in ("n", "v")[: rng.choice((0, 1, 1, 2))]
    ]
    names = [s["name"] for s in symbols]
    everyone = threads(block, cluster or (1,))
    for _ in range(50):
        guard = rng.choice(
            (condition(rng, names), "laneid == 0 and warpid == 0", "elected and warpid == 0", "true", "laneid == 0 and cbx == 0")
        )
        assume = [condition(rng, names) for _ in range(rng.choice((0, 0, 0, 1)))]
        values = {s["name"]: rng.choice([v for v in range(s["min"], s["max"] + 1) if v % s["multiple_of"] == 0]) for s in symbols}
        members = active(guard, assume, values, everyone, rng)
        if members:
            break
    else:
        return random_async_call(rng)
    group = [len(found) for _, found in group_axes(scope, members, cluster or (1,), collective=False)]
    repeat = [rng.choice((1, 2, 2, 3)) for _ in range(rng.choice((0, 0, 1, 1, 2)))]
    chunk = next(p for p in contract.parameters if p.kind == "chunk")
    size = rng.choice(chunk.choices or (16, 16, 32, 48))
    fixed = contract.operands[0].bits
    bits = fixed or rng.choice([b for b in (4, 8, 16, 32, 64, 128) if 8 * size % b == 0 and size * 8 // b <= 32])
    dtypes = contract.operands[0].dtypes
    dtype = (rng.choice(dtypes) if dtypes else f"bits{bits}") if fixed else TYPES[bits]
    if rng.random() < 0.04:
        dtype = TYPES[bits]
    count = max(1, 8 * size // bits)
    operands: list[Document] = []
    for one, name in zip(contract.operands, "DSX", strict=False):
        space = one.space if rng.random() < 0.97 else rng.choice(("global", "shared", "local"))
        operands.append(view(rng, name, space, [*group, *repeat], count, bits, dtype, names, size))
    if len(operands) == 2 and operands[0]["space"] == operands[1]["space"] and rng.random() < 0.5:
        for operand in operands:
            operand["tensor"] = "T"
    repeats = 1
    for extent in repeat:
        repeats *= extent
    document = call(
        contract.opcode, operands, scope, block, cluster, symbols=symbols, assume=assume,
        parameters=parameters(rng, contract, size, names, ctas, repeats),
    )  # fmt: skip
    if guard != "true":
        document["guard"] = guard
    if rng.random() < 0.1:
        document["index_dtype"] = rng.choice(("int32", "uint32"))
    return document
