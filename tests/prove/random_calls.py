"""Seeded random calls of every scope: mostly legal, with something off in each second one."""

from __future__ import annotations

import random
from itertools import pairwise, product
from math import prod
from typing import Any

from own_cases import Document, call, memory, registers, symbol

BLOCKS: dict[str, tuple[tuple[int, ...], ...]] = {
    "thread": ((1,), (32,), (40,), (8, 8), (64,), (3, 5)),
    "warp": ((32,), (64,), (40,), (8, 8), (16, 3), (4, 4, 4), (20,)),
    "warpgroup": ((128,), (128,), (160,), (256,), (16, 8), (96,)),
    "cta": ((32,), (64,), (96,), (40,), (8, 8), (4, 4, 4), (20,), (160,), (16, 3)),
    "cluster": ((32,), (64,), (8, 4), (20,)),
}
CLUSTERS = ((2,), (1, 2), (2, 2), (2, 1, 2), (1,), (3, 1, 1), (1, 1, 2))
LEVELS = ("grid", "cluster", "cta", "warp", "thread")
Thread = dict[str, int]


def threads(block: tuple[int, ...], cluster: tuple[int, ...]) -> list[Thread]:
    """Every thread with its coordinates."""
    x, y, _ = (*cluster, 1, 1, 1)[:3]
    found: list[Thread] = []
    for cta, t in product(range(prod(cluster)), range(prod(block))):
        warp = t // 32
        found.append(
            {
                "laneid": t % 32,
                "warpid": warp,
                "wid_in_wg": warp % 4,
                "wgid": warp // 4,
                "tid_in_wg": t % 128,
                "tx": t % block[0],
                "cbx": cta % x,
                "cby": cta // x % y,
                "cbz": cta // x // y,
            }
        )
    return found


def condition(rng: random.Random, names: list[str], depth: int = 0) -> str:
    """A condition over coordinates and symbols."""
    kind = rng.random()
    if depth < 2 and kind < 0.25:
        return f" {rng.choice(('and', 'and', 'or'))} ".join(f"({condition(rng, names, depth + 1)})" for _ in range(2))
    if depth < 2 and kind < 0.3:
        return f"not ({condition(rng, names, depth + 1)})"
    if kind < 0.34:
        return "elected"
    name = rng.choice([*names, *names, "warpid", "warpid", "laneid", "tx", "cbx", "cby", "cbz", "wgid", "wid_in_wg", "tid_in_wg"])
    if rng.random() < 0.15:
        return f"{name} % {rng.choice((2, 3, 4))} {rng.choice(('==', '!=', '<'))} {rng.choice((0, 1))}"
    if rng.random() < 0.1:
        return f"{name} {rng.choice(('<', '==', '<='))} {rng.choice([*names, 'warpid', 'laneid', 'cby'])}"
    return f"{name} {rng.choice(('<', '<=', '>', '>=', '==', '!='))} {rng.choice((0, 0, 1, 1, 2, 3, 4, 8, 16, 31, 32))}"


def number(rng: random.Random, names: list[str], most: int) -> str | int:
    """A start, mostly in 0..most."""
    if most == 0 or (rng.random() < 0.3 and not names):
        return rng.choice((0, 0, most))
    name = rng.choice(
        [*names, *names, *names, "warpid", "laneid", "tx", "cbx", "laneid // 32", "warpid % 2"]
        if names
        else ["warpid", "laneid", "cbx", "tx // 32", "warpid % 2"]
    )
    size = most + 1
    return rng.choice(
        (
            name,
            f"{name} % {size}",
            f"min(max({name}, 0), {most})",
            f"{name} // 2",
            f"tmod({name}, {size})",
            f"{most} - {name}",
            f"select({name} < {size}, {name}, 0)",
            f"({name} + 1) % {size}",
            f"tdiv({name}, 2)",
            f"({name} ^ 1) % {size}",
            f"{name} & {most}",
            f"max({name}, 0) >> 1",
        )
    )


def progression(values: list[int]) -> tuple[int, int] | None:
    """(first, step) of an arithmetic progression."""
    step = values[1] - values[0] if len(values) > 1 else 1
    return (values[0], step) if all(b - a == step for a, b in pairwise(values)) else None


def active(guard: str, assume: list[str], values: dict[str, int], everyone: list[Thread], rng: random.Random) -> list[Thread]:
    chosen = rng.randrange(32)
    scope = {
        "tmod": lambda a, b: a - b * int(a / b),
        "tdiv": lambda a, b: int(a / b),
        "select": lambda c, a, b: a if c else b,
        "min": min,
        "max": max,
    }

    def holds(text: str, thread: Thread) -> bool:
        return bool(eval(text, {"__builtins__": {}}, {**scope, **values, **thread, "elected": thread["laneid"] == chosen, "true": True}))

    return [t for t in everyone if holds(guard, t) and all(holds(a, t) for a in assume)]


def group_axes(scope: str, members: list[Thread], cluster: tuple[int, ...], *, collective: bool) -> list[tuple[str, list[int]]]:
    """(axis, active values) of each group axis, by the first instance."""
    if scope == "thread":
        return []
    first = members[0]
    same = {
        "warp": ("cbx", "cby", "cbz", "warpid"),
        "warpgroup": ("cbx", "cby", "cbz", "wgid"),
        "cta": ("cbx", "cby", "cbz"),
        "cluster": (),
    }[scope]
    own = [t for t in members if all(t[name] == first[name] for name in same)]
    names = [name for name, _ in zip(("cbx", "cby", "cbz"), trimmed(cluster), strict=False)][::-1] if scope == "cluster" else []
    names += ["warpid"] if scope != "warp" else []
    names += [] if collective else ["laneid"]
    return [(name, sorted({t[name] for t in own})) for name in names]


def trimmed(cluster: tuple[int, ...]) -> tuple[int, ...]:
    found = list(cluster)
    while len(found) > 1 and found[-1] == 1:
        found.pop()
    return tuple(found)


def register_factors(axes: list[tuple[str, list[int]]], scope: str, rng: random.Random) -> tuple[list[tuple[int, str]], dict[str, int]]:
    """Factors of the group axes (extent, stride) and offsets by axis."""
    factors: list[tuple[int, str]] = []
    offsets: dict[str, int] = {}
    for name, values in axes:
        found = progression(values) or (values[0], 1)
        axis = rng.choice(("wid_in_wg", "warpid")) if name == "warpid" and scope == "warpgroup" else name
        first = found[0] % 4 if axis == "wid_in_wg" else found[0]
        factors.append((len(values), f"{found[1]}@{axis}"))
        if first:
            offsets[axis] = first
    return factors, offsets


def damaged(text: str, rng: random.Random) -> str:
    """A layout with one number or axis changed."""
    choice = rng.randrange(6)
    if choice == 0:
        return text.replace("@laneid", f"@{rng.choice(('tx', 'warpid', 'tid_in_wg'))}")
    if choice == 1:
        return text.replace("@warpid", f"@{rng.choice(('wgid', 'wid_in_wg', 'laneid'))}")
    if choice == 2:
        return text + rng.choice((" + 1@laneid", " + 1@warpid", " + 1@cbx", " + 3", " + 1@wgid", " + 0@tx"))
    if choice == 3:
        return text.replace("1@", f"{rng.choice((0, 2, -1))}@", 1)
    if choice == 4:
        return text + rng.choice(
            (" + R[2:1@warpid]", " + R[2:16@laneid]", " + R[2:64]", " + R[32:1@laneid]", " + R[(2,2):(1@cbx,1@warpid)]")
        )
    return text.replace("@cbx", "@cby")


def strides_of(extents: list[int], rng: random.Random, pads: tuple[int, ...], unit: int) -> list[int]:
    """Strides of a padded, permuted compact layout, all multiples of `unit`."""
    order = list(range(len(extents)))
    rng.shuffle(order)
    found, running = [0] * len(extents), unit
    for k in order:
        found[k] = running
        running = running * extents[k] + unit * rng.choice(pads)
    return found


def text_of(factors: list[tuple[int, str]], offsets: dict[str, int]) -> str:
    if not factors:
        factors = [(1, "1")]
    text = f"S[({','.join(str(e) for e, _ in factors)}):({','.join(s for _, s in factors)})]"
    return text + "".join(f" + {value}@{axis}" for axis, value in offsets.items())


def random_call(rng: random.Random) -> Document:
    """A call with small domains."""
    scope = rng.choice(("thread", "warp", "warp", "warpgroup", "cta", "cta", "cta", "cluster"))
    collective = rng.random() < 0.3 and scope != "thread"
    block = rng.choice(BLOCKS[scope])
    cluster = rng.choice(CLUSTERS) if scope == "cluster" or rng.random() < 0.15 else None
    symbols = [
        symbol(
            name,
            *rng.choice(((0, 3), (-2, 5), (1, 2), (0, 7))),
            rng.choice(LEVELS) if rng.random() < 0.4 else "grid",
            rng.choice((1, 1, 1, 2)),
        )
        for name in ("n", "v")[: rng.choice((0, 1, 1, 2))]
    ]
    names = [s["name"] for s in symbols]
    everyone = threads(block, cluster or (1,))
    for _ in range(50):
        guard = condition(rng, names) if rng.random() < 0.7 else "true"
        assume = [condition(rng, names) for _ in range(rng.choice((0, 0, 0, 1)))]
        values = {s["name"]: rng.choice([v for v in range(s["min"], s["max"] + 1) if v % s["multiple_of"] == 0]) for s in symbols}
        members = active(guard, assume, values, everyone, rng)
        if members:
            break
    else:
        return random_call(rng)
    axes = group_axes(scope, members, cluster or (1,), collective=collective)
    if collective:
        load, num = rng.random() < 0.5, rng.choice((1, 2))
        opcode = f"{'ld' if load else 'st'}matrix.sync.aligned.m8n8.x{num}.shared.b16"
        atom, space = [num, 8, 4], "shared"
    else:
        load, words = rng.random() < 0.6, rng.choice((1, 1, 2))
        space = rng.choice(("global", "global", "shared", "local"))
        opcode = f"{'ld' if load else 'st'}.{space}{'' if words == 1 else f'.v{words}'}.b32"
        atom = [words]
    repeat = [rng.choice((1, 2, 2, 3)) for _ in range(rng.choice((0, 0, 1, 1, 2)))]
    group = [len(found) for _, found in axes]
    factors, offsets = register_factors(axes, scope, rng)
    slots = strides_of([*repeat, atom[0]], rng, (0, 0, 1), 1)
    shape = [*group, *repeat, *atom]
    rest = [(e, str(s)) for e, s in zip([*repeat, atom[0]], slots, strict=True)]
    own = text_of([*factors, *rest, *([(8, "4@laneid"), (4, "1@laneid")] if collective else [])], offsets)
    if rng.random() < 0.2:
        own = damaged(own, rng)
    target = registers(shape, own)
    source = random_memory(rng, group, repeat, atom, names, space, collective=collective)
    parameters: dict[str, Any] = {"pred": condition(rng, names)} if rng.random() < 0.2 else {}
    document = call(
        opcode, [target, source] if load else [source, target], scope, block, cluster, symbols=symbols, assume=assume, parameters=parameters
    )
    if guard != "true":
        document["guard"] = guard
    if rng.random() < 0.15:
        document["index_dtype"] = rng.choice(("int32", "uint32"))
    return document


def random_memory(
    rng: random.Random, group: list[int], repeat: list[int], atom: list[int], names: list[str], space: str, *, collective: bool
) -> Document:
    words = atom[-1]
    rows = [*group, *repeat, *atom[:-1]]
    stages = rng.choice((1, 1, 2, 4, 8)) if names or rng.random() < 0.4 else 1
    unit = words if rng.random() < 0.92 else max(1, words // 2)
    strides = strides_of([stages, *rows], rng, (0, 0, 1, 2), unit)
    if rng.random() < 0.05 and len(rows) > 0:
        strides[rng.randrange(len(strides))] = 0
    shape = [stages, *rows, words]
    text = f"S[({','.join(map(str, shape))}):({','.join(map(str, strides))},1)]"
    if rng.random() < 0.06:
        text = text[:-3] + rng.choice(("2", "0", "-1")) + ")]"
    if rng.random() < 0.1:
        text += rng.choice((" + 4", " + 1", " - 4", " + 1@cbx", " + 1@laneid", " + R[2:8]"))
    if rng.random() < 0.2:
        text = (
            rng.choice(("Swizzle(2,2,2) o ", "Swizzle(2,1,3) o ", "Swizzle(0,2,2) o ", "Swizzle(2,2,3,outer) o ", "Swizzle(1,1,1) o "))
            + text
        )
    begin = number(rng, names, stages - 1) if stages > 1 else 0
    view: list[Document] = [
        {"op": "slice", "begin": [begin, *(0 for _ in shape[1:])], "extent": [1, *(None for _ in shape[1:])]},
        {"op": "reshape", "shape": shape[1:]},
    ]
    more: dict[str, Any] = {}
    if rng.random() < 0.15:
        more["base"] = {"mod": rng.choice((16, 32, 12)), "is": rng.choice((0, 4, 8))}
    found = memory(shape, text, space=space, align=rng.choice((16, 16, 16, 8, 4, 128, 48)), view=view, **more)
    if rng.random() < 0.06:
        found["size_bytes"] = rng.choice((64, 256, 1024))
    if rng.random() < 0.2:
        half_text = found["layout"]
        found["dtype"] = "float16"
        prefix, body, tail = half_text.partition("S[")
        factors, _, others = tail.partition("]")
        extents, _, steps = factors.partition(":")
        numbers = [int(s) for s in steps.strip("()").split(",")]
        doubled = [2 * s for s in numbers[:-1]]
        extents = extents[1:-1].split(",")
        extents[-1] = str(2 * int(extents[-1]))
        found["layout"] = f"{prefix}{body}({','.join(extents)}):({','.join(map(str, [*doubled, numbers[-1]]))})]{others}"
        found["shape"] = [*shape[:-1], 2 * words]
        view[0]["extent"] = [1, *(None for _ in shape[1:])]
        view[1]["shape"] = [*shape[1:-1], 2 * words]
        view.append({"op": "view", "dtype": "uint32"})
    return found
