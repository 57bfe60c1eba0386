"""Seeded changes of call documents: a stride, a swizzle, a lane, a column, a field of a descriptor, a data path."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from tests.simulator.programs import Call

Mutation = Callable[[random.Random, Call], str | None]
"""Changes a document in place and says how; None where there is nothing of the kind."""


def chosen(noise: random.Random, call: Call, having: str = "") -> Call | None:
    """An operand whose layout matches."""
    found = [o for o in call["operands"] if "layout" in o and re.search(having, o["layout"])]
    return noise.choice(found) if found else None


def stride(noise: random.Random, call: Call) -> str | None:
    operand = chosen(noise, call)
    assert operand
    head, body = re.fullmatch(r"(.*?S\[.*?:\()(.*)", operand["layout"]).groups()
    strides, tail = body[: body.index(")")].split(","), body[body.index(")") :]
    at = noise.randrange(len(strides))
    number, _, axis = strides[at].partition("@")
    other = noise.choice(
        [int(number) * 2, int(number) // 2, int(number) + 1, int(number) + 8, int(noise.choice(strides).partition("@")[0]), 0]
    )
    strides[at] = f"{other}@{axis}" if axis else str(other)
    before, operand["layout"] = operand["layout"], head + ",".join(strides) + tail
    return f"{operand['name']}: {before} -> {operand['layout']}" if operand["layout"] != before else None


def exchange(noise: random.Random, call: Call) -> str | None:
    """Two strides of a layout in each other's place."""
    operand = chosen(noise, call)
    assert operand
    found = re.search(r"S\[\((.*?)\):\((.*?)\)\]", operand["layout"])
    if not found:
        return None
    strides = found[2].split(",")
    if len(strides) < 2:
        return None
    a, b = noise.sample(range(len(strides)), 2)
    if strides[a] == strides[b]:
        return None
    strides[a], strides[b] = strides[b], strides[a]
    operand["layout"] = operand["layout"].replace(found[2], ",".join(strides), 1)
    return f"{operand['name']}: strides {a} and {b} exchanged"


def swizzle(noise: random.Random, call: Call) -> str | None:
    operand = chosen(noise, call, "Swizzle")
    if operand and noise.random() < 0.7:
        keep, length, distance = map(int, re.search(r"Swizzle\((\d+),(\d+),(\d+)\)", operand["layout"]).groups())
        new = noise.choice(
            [
                (keep, (length + 1) % 4, distance),
                (keep + 1, length, distance),
                (max(keep - 1, 0), length, distance),
                (keep, length, distance + 1),
                None,
            ]
        )
        text = f"Swizzle({','.join(map(str, new))}) o " if new else ""
        operand["layout"] = re.sub(r"Swizzle\(.*?\) o ", text, operand["layout"])
        return f"{operand['name']}: {text or 'no swizzle'}"
    if "swizzle" in call["parameters"]:
        call["parameters"]["swizzle"] = (call["parameters"]["swizzle"] + noise.randrange(1, 4)) % 4
        return f"swizzle {call['parameters']['swizzle']}"
    return None


def offset(noise: random.Random, call: Call) -> str | None:
    """A lane base, a column, a start in elements."""
    operand = chosen(noise, call)
    assert operand
    axis = {"tmem": noise.choice(["@TLane", "@TCol"]), "register": noise.choice(["", "@laneid", "@wid_in_wg"])}.get(operand["space"], "")
    step = noise.choice([16, 32, 64] if axis == "@TLane" else [1, 2, 4, 8, 64])
    operand["layout"] += f" + {step}{axis}"
    return f"{operand['name']}: + {step}{axis}"


def base(noise: random.Random, call: Call) -> str | None:
    """An offset that is written already."""
    operand = chosen(noise, call, r"\+ \d+@")
    if not operand:
        return None
    operand["layout"] = re.sub(
        r"\+ (\d+)@", lambda m: f"+ {max(0, int(m[1]) + noise.choice([-4, -1, 1, 4, 16]))}@", operand["layout"], count=1
    )
    return f"{operand['name']}: {operand['layout']}"


def replicas(noise: random.Random, call: Call) -> str | None:
    operand = chosen(noise, call, r"R\[")
    if not operand:
        return None
    new = noise.choice([" + R[2:64@TLane]", " + R[2:32@TLane]", " + R[4:16@TLane]", " + R[4:1@TLane]", ""])
    operand["layout"] = re.sub(r" \+ R\[.*?\]", new, operand["layout"])
    return f"{operand['name']}: {new or 'no replicas'}"


def field(noise: random.Random, call: Call) -> str | None:
    """A field of a descriptor."""
    names = [name for name in ("descriptor", "a_descriptor", "b_descriptor") if name in call["parameters"]]
    if not names:
        return None
    name, at = noise.choice(names), noise.randrange(3)
    fields = list(call["parameters"][name])
    fields[at] = (
        (fields[at] + noise.randrange(1, 5)) % 5
        if at == 2
        else noise.choice([fields[at] * 2, fields[at] // 2, fields[at] + 16, fields[1 - at], 128])
    )
    if fields == call["parameters"][name]:
        return None
    call["parameters"][name] = fields
    return f"{name} = {fields}"


SPELLINGS = (
    ("32x32b", "16x32bx2"), ("16x64b", "16x128b"), ("16x128b", "16x256b"), ("16x256b", "16x64b"), (".pack::16b", ""), (".x32.", ".x16."), (".x16.", ".x8."),
    ("tcgen05.mma.ws.", "tcgen05.mma."), ("tcgen05.mma.cta", "tcgen05.mma.ws.cta"), ("cta_group::1", "cta_group::2"), ("cta_group::2", "cta_group::1"),
    ("kind::f16", "kind::tf32"), ("kind::f8f6f4", "kind::i8"), ("32x128b.warpx4", "64x128b.warpx2::02_13"), ("02_13", "01_23"), ("01_23", "02_13"),
    ("128x128b", "128x256b"), ("128x256b", "128x128b"), (".b4x16_p64", ".b6x16_p32"), (".b6x16_p32", ".b4x16_p64"), (".b8x16.b4x16_p64", ""), (".v4.", ".v2."),
    (".2d.", ".3d."), ("tcgen05.ld", "tcgen05.st"), ("32x128b.warpx4", "128x128b"), ("tcgen05.st", "tcgen05.ld"),
)  # fmt: skip


def spelling(noise: random.Random, call: Call) -> str | None:
    """Another data path, shape or qualifier."""
    found = [(a, b) for a, b in SPELLINGS if a in call["opcode"]]
    if not found:
        return None
    call["opcode"] = call["opcode"].replace(*noise.choice(found))
    return call["opcode"]


def shape(noise: random.Random, call: Call) -> str | None:
    """The shape of an instruction, or the major of an operand."""
    fields = call["parameters"]
    if "instruction_shape" not in fields:
        return None
    if noise.random() < 0.4:
        name = noise.choice(["a_major", "b_major"])
        fields[name] = "k" if fields.get(name) == "mn" else "mn"
        return f"{name} = {fields[name]}"
    at = noise.randrange(3)
    fields["instruction_shape"] = [
        n * (1 if k != at else 2) if noise.random() < 0.5 else n // (1 if k != at else 2) for k, n in enumerate(fields["instruction_shape"])
    ]
    return f"instruction_shape = {fields['instruction_shape']}"


def start(noise: random.Random, call: Call) -> str | None:
    """Where a slice begins, or the coordinates of a box."""
    if "coords" in call["parameters"] and noise.random() < 0.5:
        steps = call["parameters"].get("coord_steps")
        target = noise.choice([call["parameters"]["coords"], *(steps or [])])
        at = noise.randrange(len(target))
        target[at] = (
            f"{target[at]} + {noise.choice([1, 8, 64])}" if isinstance(target[at], str) else target[at] + noise.choice([1, 8, 64, -8])
        )
        return f"coordinates {target}"
    slices = [(o, step) for o in call["operands"] for step in o.get("view", []) if step["op"] == "slice"]
    if not slices:
        return None
    operand, step = noise.choice(slices)
    at = noise.randrange(len(step["begin"]))
    step["begin"][at] = (
        f"{step['begin'][at]} + {noise.choice([1, 8])}"
        if isinstance(step["begin"][at], str)
        else step["begin"][at] + noise.choice([1, 8, 16])
    )
    return f"{operand['name']} begins at {step['begin']}"


def alignment(noise: random.Random, call: Call) -> str | None:
    found = [o for o in call["operands"] if o.get("align", 1) > 1]
    if not found:
        return None
    operand = noise.choice(found)
    operand["align"] //= noise.choice([2, 4, 8])
    return f"{operand['name']} aligned to {operand['align']}"


def permutation(noise: random.Random, call: Call) -> str | None:
    """The letters on the right of a rearrangement in another order."""
    steps = [step for o in call["operands"] for step in o.get("view", []) if step["op"] == "rearrange"]
    if not steps:
        return None
    step = noise.choice(steps)
    left, right = step["pattern"].split(" -> ")
    names = re.findall(r"\w+", right)
    a, b = noise.sample(names, 2)
    step["pattern"] = f"{left} -> " + re.sub(r"\w+", lambda m: {a: b, b: a}.get(m[0], m[0]), right)
    return step["pattern"]


MUTATIONS: tuple[Mutation, ...] = (stride, exchange, swizzle, offset, base, replicas, field, spelling, shape, start, alignment, permutation)


def mutants(call: Call, count: int, seed: int) -> Iterator[tuple[str, str, Call]]:
    """So many changed documents: the kind of change, how, and the document."""
    noise, made = random.Random(f"{seed} {call['id']}"), 0
    for _ in range(20 * count):
        if made == count:
            return
        changed: Any = deepcopy(call)
        mutation = noise.choice(MUTATIONS)
        how = mutation(noise, changed)
        if how and changed != call:
            made += 1
            yield mutation.__name__, how, changed
