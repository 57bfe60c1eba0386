"""Seeded random calls of wgmma.mma_async: legal ones, and ones with something about them changed."""

from __future__ import annotations

import copy
import random
import re
from typing import Any

from tests.gpu.wgmma_forms import SPANS, Stored, opcode_of, operands_of, wgmma_document

Json = dict[str, Any]
KINDS = (("f16", "f32"), ("f16", "f16"), ("bf16", "f32"), ("tf32", "f32"), ("e4m3", "f32"), ("e5m2", "f16"), ("s8", "s32"), ("b1", "s32"))
GUARDS = (
    "wgid == 0",
    "warpid < 4",
    "warpid > 3",
    "wgid != 1",
    "warpid != 2",
    "laneid < 31",
    "wid_in_wg < 3",
    "wgid == n",
    "warpid // 4 == n % 2",
)
CONDITIONS = (True, False, "n > 0", "wgid == 0", "warpid // 4 == 1", "warpid < 2", "laneid == n", "tid_in_wg < 128", "m_ > 0")
STARTS = ("n", "n % 2", "wgid", "wgid % 2", "warpid", "warpid // 4", "(warpid // 4 + n) % 2", "m_ % 2")


def stored(rng: random.Random, *majors: str) -> Stored:
    """A canonical layout, sometimes with gaps, sometimes from inside a row."""
    major, swizzle = rng.choice(majors), rng.choice(tuple(SPANS))
    span = SPANS[swizzle]
    gap = rng.choice((0, 0, 16, 64, span, 1024))
    ldo = sdo = 0
    if gap:
        sdo = 8 * span + gap if swizzle or major == "k" else 128 * 2 + gap
        ldo = 16 * sdo if major == "k" and not swizzle else 4 * sdo if swizzle else 128
    start = rng.choice((0, 0, 0, 16, 32, 48, 128, 256)) if major == "k" else 0
    return Stored(major, swizzle, ldo, sdo, start)


def random_call(seed: int) -> Json:
    """One call."""
    rng = random.Random(seed)
    kind, d = rng.choice(KINDS)
    majors = ("k", "mn") if kind in {"f16", "bf16"} else ("k",)
    sparse = kind != "b1" and rng.random() < 0.15
    opcode = opcode_of(kind, rng.choice((8, 16, 24)), d, sparse=sparse)
    a = None if rng.random() < 0.4 else stored(rng, *majors)
    b = stored(rng, *(("mn",) if sparse and len(majors) > 1 else ("k",) if sparse else majors))
    if b.major == "mn" and b.swizzle > 1:  # a line of a few columns has no whole span
        b = Stored("mn", b.swizzle % 2)
    steps = (rng.choice((1, 1, 2)), 1, rng.choice((1, 2)))
    document: Json = copy.deepcopy(wgmma_document(opcode, a, b, steps))
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        rng.choice((_fields, _layout, _guard, _conditions, _alignment, _stage))(rng, document)
    return {**document, "id": f"wgmma-{seed}"}


def _symbols(document: Json, rng: random.Random) -> None:
    names = re.findall(r"\b(n|m_)\b", str([document.get("guard"), document["parameters"], [o.get("view") for o in operands_of(document)]]))
    levels = {"n": "grid", "m_": rng.choice(("cta", "warp", "thread"))}
    known = {one["name"]: one for one in document.get("symbols", [])}
    for name in dict.fromkeys(names):
        known.setdefault(name, {"name": name, "min": 0, "max": rng.choice((0, 1, 2)), "varies": levels[name]})
    if known:
        document["symbols"] = list(known.values())


def _fields(rng: random.Random, document: Json) -> None:
    """A field of a descriptor, or a major, changed."""
    names = [name for name in document["parameters"] if name.endswith(("_descriptor", "_major"))]
    name = rng.choice(names)
    if name.endswith("_major"):
        document["parameters"][name] = "mn" if document["parameters"][name] == "k" else "k"
        return
    fields = list(document["parameters"][name])
    k = rng.randrange(3)
    fields[k] = rng.randrange(5) if k == 2 else fields[k] + rng.choice((-16, 16, 128, 8, 1024, 1 << 18))
    document["parameters"][name] = rng.choice((fields, [fields[1], fields[0], fields[2]]))


def _layout(rng: random.Random, document: Json) -> None:
    """A stride of a layout changed, or an offset added."""
    one = rng.choice(operands_of(document))
    if rng.random() < 0.3:
        one["layout"] += rng.choice((" + 8", " + 4", " + 1@wid_in_wg", " + 1@laneid", " + R[2:1]", " + R[2:1@wgid]", " + 0@warpid"))
        return
    head, _, tail = one["layout"].rpartition(":(")
    strides = tail.split(")")[0].split(",")
    k = rng.randrange(len(strides))
    number, _, axis = strides[k].partition("@")
    changed = rng.choice((int(number) + 1, 2 * int(number), 0, int(number) + 8))
    strides[k] = f"{changed}{'@' + rng.choice((axis, axis, 'warpid', 'tid_in_wg')) if axis else ''}"
    one["layout"] = f"{head}:({','.join(strides)}){tail.partition(')')[2]}"


def _guard(rng: random.Random, document: Json) -> None:
    """Other threads, or another scope."""
    document["launch"] = {"block": rng.choice(([128], [256], [224], [32, 4], [64, 2, 2], [160]))}
    if rng.random() < 0.7:
        document["guard"] = rng.choice(GUARDS)
    if rng.random() < 0.15:
        document["scope"] = rng.choice(("warp", "thread", "cta"))
    _symbols(document, rng)


def _conditions(rng: random.Random, document: Json) -> None:
    """accum or pred that may differ between warps."""
    document["parameters"]["accum" if rng.random() < 0.6 else "pred"] = rng.choice(CONDITIONS)
    if document["parameters"].get("pred") in (True, False):
        document["parameters"]["pred"] = "n < 2"
    if rng.random() < 0.5:
        document["launch"] = {"block": rng.choice(([128], [256]))}
    _symbols(document, rng)


def _alignment(rng: random.Random, document: Json) -> None:
    """Another alignment, base or size."""
    one = rng.choice(operands_of(document)[1:])
    if one["space"] != "shared":
        return
    one["align"] = rng.choice((16, 128, 256, 512, 1024, 2048))
    if rng.random() < 0.5:
        one["base"] = {"mod": 1024, "is": rng.choice((0, 256, 512, 128))}
    if rng.random() < 0.3:
        one["size_bytes"] = rng.choice((1024, 4096, 8192, 16384, 300000))


def _stage(rng: random.Random, document: Json) -> None:
    """B as a stage of a ring of two, chosen at run time."""
    one = operands_of(document)[2]
    if "view" in one:
        return
    bits = {"float16": 16, "bfloat16": 16, "float32": 32}.get(one["dtype"], 8)
    size = 8 * rng.choice((16384, 16384, 16384 + 128)) // bits
    one["shape"], one["layout"] = [2, *one["shape"]], one["layout"].replace("S[(", "S[(2,", 1).replace(":(", f":({size},", 1)
    one["view"] = [
        {"op": "slice", "begin": [rng.choice(STARTS), *[0] * 4], "extent": [1, None, None, None, None]},
        {"op": "reshape", "shape": one["shape"][1:]},
    ]
    if rng.random() < 0.5:
        document["launch"] = {"block": rng.choice(([128], [256]))}
    _symbols(document, rng)
