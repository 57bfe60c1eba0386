"""Random calls of ld, st, ldmatrix and stmatrix for Hypothesis: mostly legal ones, and then one mutation that breaks a clause.

A `Draft` is a call in plain pieces: who executes, and for each operand the axes of its final shape as digits (extent, stride, axis). `render`
hides the final view behind steps (slices, permutations, reshapes, dtype views, broadcasts) and writes the document.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from math import prod
from typing import Any

from hypothesis import strategies as st

from tilecheck.evaluate.expressions import Expression, LimitError
from tilecheck.evaluate.launch import COORDINATES, Launch
from tilecheck.evaluate.layouts import parse_layout
from tilecheck.evaluate.views import width

Json = dict[str, Any]
FAMILIES = ("memory", "matrix")
POINTS = 3_000
"""About how many (thread, repeat, atom, symbol) points a call has at most."""
DTYPES = {
    1: ("uint1",),
    2: ("uint2",),
    4: ("float4_e2m1fn", "int4"),
    8: ("uint8", "float8_e4m3fn", "bits8"),
    16: ("float16", "bfloat16", "int16"),
    32: ("float32", "int32", "uint32", "bits32"),
    64: ("float64", "int64", "bits64", "complex64"),
    128: ("bits128", "complex128"),
}
LANE_GUARDS = (
    "laneid < 16",
    "8 <= laneid and laneid < 24",
    "laneid % 2 == 0",
    "laneid % 3 == 1",
    "laneid // 8 == 2",
    "(laneid & 3) == 1",
    "laneid == 5",
    "laneid > 27",
    "not (laneid >= 4)",
    "laneid >= 30 or laneid == 29",
    "(laneid ^ 3) < 4",
    "2 * laneid + 1 < 20",
)
WARP_GUARDS = (
    "warpid == 1",
    "warpid < 2",
    "warpid >= 1",
    "warpid % 2 == 0",
    "warpid != 0",
    "wid_in_wg == 0",
    "wgid < 1",
    "not (warpid == 0)",
)
CTA_GUARDS = ("cbx == 0", "cby == 0", "cbx + 1 > 1", "cbz < 1")


class Source:
    """Choices of a random source that Hypothesis seeds: one draw, so that no example is a copy of another with one choice changed."""

    def __init__(self, rng: random.Random, points: int) -> None:
        self.rng = rng
        self.points = points

    def pick(self, *options: Any) -> Any:
        return self.rng.choice(options)

    def number(self, low: int, high: int) -> int:
        return self.rng.randint(low, high)

    def chance(self, percent: int) -> bool:
        return self.rng.random() * 100 < percent

    def order(self, count: int) -> list[int]:
        return self.rng.sample(range(count), count)


@dataclass
class Digit:
    """One digit of a layout."""

    extent: int
    stride: int | str
    axis: str = "m"


@dataclass
class Axis:
    """One axis of a shape: its digits, and the slice that cuts it, in units of the leading digit (`room`: the extent before it)."""

    digits: list[Digit]
    begin: int | str = 0
    room: int | str | None = None

    @property
    def extent(self) -> int:
        return prod(digit.extent for digit in self.digits) if len(self.digits) > 1 else self.digits[0].extent

    @property
    def inner(self) -> int:
        return prod(digit.extent for digit in self.digits[1:])

    def grow(self, by: int) -> None:
        """More (or less) room."""
        if isinstance(self.room, str):
            self.room = f"{self.room} + {by}" if by > 0 else f"{self.room} - {-by}"
        else:
            self.room = max(1, (self.room or self.digits[0].extent) + by)

    def sliced(self) -> bool:
        return self.begin != 0 or self.room is not None


@dataclass
class Operand:
    """One operand of a draft, in elements of its final dtype."""

    name: str
    space: str
    dtype: str
    axes: list[Axis]
    offset: dict[str, int | str] = field(default_factory=dict)
    replicas: list[Digit] = field(default_factory=list)
    swizzles: list[list[Any]] = field(default_factory=list)
    align: int | None = None
    base: Json | None = None
    size: int | None = None
    spare: int | None = None
    flaw: str = ""
    tensor: str | None = None
    unit: int = 1
    weight: int = 1
    steps: list[Json] = field(default_factory=list)

    def digits(self) -> Iterable[Digit]:
        return (digit for axis in self.axes for digit in axis.digits)


@dataclass
class Part:
    """One group axis: how many take part, and the coordinate of the k-th, first + k * step."""

    kind: str
    count: int
    first: int
    step: int


@dataclass
class Draft:
    """A call in pieces. `unit`: elements of an aligned row; `atoms`: the extents of the atom."""

    family: str
    load: bool
    spelling: dict[str, str]
    bits: int
    atoms: tuple[int, ...]
    unit: int
    scope: str
    block: list[int]
    cluster: list[int] | None
    guard: list[str] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    symbols: list[Json] = field(default_factory=list)
    assume: list[str] = field(default_factory=list)
    parameters: Json = field(default_factory=dict)
    index_dtype: str = "int64"
    arch: str | None = None
    repeats: tuple[int, ...] = ()
    register: Operand = None  # type: ignore[assignment]
    memory: Operand = None  # type: ignore[assignment]
    anywhere: bool = False
    opcode: str | None = None
    edit: Callable[[Json], None] | None = None

    @property
    def collective(self) -> bool:
        return self.family == "matrix"

    @property
    def align_bytes(self) -> int:
        return self.unit * self.bits // 8

    @property
    def launch(self) -> Launch:
        return _launch(self.scope, self.collective, tuple(self.block), None if self.cluster is None else tuple(self.cluster))

    def uniform(self, text: str) -> bool:
        """Whether a condition binds symbols alone."""
        varying = {s["name"] for s in self.symbols if s.get("varies", "grid") not in {"grid", "cluster"}}
        return not expression(text).names & {*COORDINATES, "elected", *varying}

    def environments(self) -> list[dict[str, int]]:
        """Every value of the symbols with every thread that accesses memory."""
        ranges = [[v for v in range(s["min"], s["max"] + 1) if v % s.get("multiple_of", 1) == 0] for s in self.symbols]
        names = [s["name"] for s in self.symbols]
        pred = self.parameters.get("pred")
        conditions = [expression(c) for c in (*self.guard, *self.assume, *([pred] if isinstance(pred, str) else []))]
        early = [c for c in conditions if not c.names & {*COORDINATES, "elected"}]
        late = [c for c in conditions if c not in early]
        threads = [{**self.launch.coordinates(thread), "elected": e} for thread in self.launch.threads for e in (False, True)]
        found: list[dict[str, int]] = []
        for values in product(*ranges):
            own = dict(zip(names, values, strict=True))
            if holding(early, own):
                found.extend(env for env in ({**own, **thread} for thread in threads) if holding(late, env))
        return found


@cache
def _launch(scope: str, collective: bool, block: tuple[int, ...], cluster: tuple[int, ...] | None) -> Launch:
    return Launch(scope, collective, {"block": block, "cluster": cluster})


@cache
def expression(text: str | int) -> Expression:
    return Expression(text)


def holding(conditions: Iterable[Expression], values: dict[str, int]) -> bool:
    try:
        return all(condition.value(values) for condition in conditions)
    except LimitError:
        return False


def outcomes(text: str, environments: list[dict[str, int]]) -> set[int] | None:
    """The values of an expression; None where it has none somewhere."""
    own, names = expression(text), sorted(expression(text).names)
    try:
        return {own.value(dict(zip(names, key, strict=True))) for key in {tuple(env[name] for name in names) for env in environments}}
    except LimitError:
        return None


# --- who executes ----------------------------------------------------------------------------------------------------


def progression(values: list[int]) -> tuple[int, int, int] | None:
    """(count, first, step) of evenly spaced values."""
    step = values[1] - values[0] if len(values) > 1 else 0
    return (len(values), values[0], step) if all(b - a == step for a, b in zip(values, values[1:], strict=False)) else None


def parts_of(draft: Draft) -> list[Part] | None:
    """The group axes of the active threads, None where they are no product of evenly spaced coordinates."""
    launch, conditions = draft.launch, [expression(c) for c in draft.guard]
    active = [t for t in launch.threads if holding(conditions, {**launch.coordinates(t), "elected": t.lane == 0})]
    if not active or draft.scope == "thread":
        return [] if active else None
    ctas = sorted({t.cta for t in active})
    warps, lanes = sorted({t.warp for t in active}), sorted({t.lane for t in active})
    if len(active) != len(ctas) * len(warps) * len(lanes) or (draft.collective and len(lanes) < 32):
        return None
    lists: list[tuple[str, list[int]]] = []
    if draft.scope == "cluster":
        axes = [sorted(set(values)) for values in zip(*(launch.cta_axes(c) for c in ctas), strict=True)]
        if prod(map(len, axes)) != len(ctas):
            return None
        lists += [(("cbx", "cby", "cbz")[k], axes[k]) for k in reversed(range(launch.cluster_axes))]
    if draft.scope == "warpgroup":
        if any(4 * (w // 4) + k not in warps for w in warps for k in range(4)):
            return None
        lists.append(("warp", [0, 1, 2, 3]))
    elif draft.scope in {"cta", "cluster"}:
        lists.append(("warp", warps))
    if not draft.collective:
        lists.append(("lane", lanes))
    found = [(kind, progression(values)) for kind, values in lists]
    return [Part(kind, *numbers) for kind, numbers in found if numbers is not None] if all(n for _, n in found) else None


def who(s: Source, draft: Draft) -> None:
    """Scope, launch and guard, so that the active set is a product."""
    if draft.collective:
        draft.scope = s.pick("warp", "cta", "warp", "warpgroup", "cluster", "cta", "warp")
    else:
        draft.scope = s.pick(*("thread", "warp", "cta", "warp", "thread", "cluster", "cta") * 2, "warpgroup")
    whole = {
        "thread": ([1], [32], [8, 4], [20], [40], [64]),
        "warp": ([32], [64], [16, 2], [4, 4, 4], [20], [96], [48], [32]),
        "warpgroup": ([128], [64, 2], [32, 2, 2], [128], [256]),
        "cta": ([32], [64], [96], [32, 2], [8, 4, 2], [20], [48], [64], [33, 1], [128]),
        "cluster": ([32], [64], [16], [8, 4]),
    }[draft.scope]
    draft.block = list(s.pick(*whole))
    if draft.scope == "cluster":
        draft.cluster = list(s.pick([2], [1, 2], [2, 2], [2, 1, 2], [1], [2, 1], [3]))
    elif s.chance(10) and prod(draft.block) <= 64:
        draft.cluster = list(s.pick([2], [1, 2], [2, 1]))
    guards = [
        (40, WARP_GUARDS, len(draft.launch.threads) > 32),
        (35, LANE_GUARDS, not draft.collective),
        (50, CTA_GUARDS, draft.cluster is not None),
    ]
    for percent, options, possible in guards:
        if possible and s.chance(percent):
            _guarded(draft, s.pick(*options))
    if not draft.collective and s.chance(8) and (draft.scope == "thread" or not draft.load):
        _guarded(draft, "elected")
        draft.anywhere = "elected" in draft.guard and draft.scope != "thread"
    for text in ("laneid < 16", "warpid == 0", "wgid == 1"):
        if parts_of(draft) is None:
            _guarded(draft, text)
    if prod(draft.block) == 256 and draft.scope == "warpgroup" and draft.collective:
        _guarded(draft, "wgid == 1")
    if parts_of(draft) is None:
        draft.block, draft.guard = [128] if draft.scope == "warpgroup" else [32], []
    draft.parts = parts_of(draft) or []


def _guarded(draft: Draft, text: str) -> None:
    """Adds a condition where the active set stays a product (or becomes one)."""
    before = parts_of(draft)
    draft.guard.append(text)
    if parts_of(draft) is None or (before == [] and draft.scope != "thread"):
        draft.guard.pop()


# --- symbols, facts, pred --------------------------------------------------------------------------------------------


def symbols(s: Source, draft: Draft) -> None:
    """Up to two symbols, a few values each; facts that bind them."""
    points = max(1, len(draft.launch.threads) if not draft.collective else 128 * prod(p.count for p in draft.parts))
    points *= prod(draft.repeats) * (1 if draft.collective else prod(draft.atoms))
    room = max(2, min(20, s.points // points))
    for name in ("a", "k")[: s.pick(1, 2, 1, 0, 1)]:
        count = s.number(2, room) if room > 2 else 2
        low = s.pick(-3, 0, -7, 1, -10, -1, 0, 5)
        step = s.pick(1, 1, 1, 2, 3)
        declared: Json = {"name": name, "min": low, "max": low + (count - 1) * step}
        if step > 1:
            declared["multiple_of"] = step
        if s.chance(20):
            declared["varies"] = s.pick("warp", "cluster", "cta", *(() if draft.collective else ("thread",)))
        draft.symbols.append(declared)
        room = max(1, room // count)
        if room < 2:
            break
    names = [d["name"] for d in draft.symbols]
    if names and s.chance(30):
        draft.assume.append(
            s.pick("{0} > -2", "{0} % 2 == 0", "{0} < 6", "{0} != 1", "{0} + {1} <= 4", "not ({0} < -2)", "{0} * {1} >= 0").format(
                names[0], names[-1]
            )
        )
    if names and s.chance(25):
        _restrict(s, draft, names[-1])
    if s.chance(25):
        predicate(s, draft, names)


def _restrict(s: Source, draft: Draft, name: str) -> None:
    """A condition on a symbol in the guard: a fact where it is uniform."""
    declared = next(d for d in draft.symbols if d["name"] == name)
    if (
        declared.get("varies", "grid") in {"grid", "cluster"}
        or draft.scope == "thread"
        or (draft.scope == "warp" and declared["varies"] != "thread")
    ):
        options = ["{0} > -3", "{0} % 3 != 1", "{0} <= 4", "({0} >> 1) < 3"]
        if draft.scope == "thread":
            options += ["laneid // 8 == {0}", "laneid < {0} + 9", "laneid % 3 == {0} % 3"]
        elif draft.scope == "warp" and prod(draft.block) % 32 == 0:
            options += ["warpid == {0}", "warpid <= {0}", "warpid % 2 == {0} % 2"]
        draft.guard.append(s.pick(*options).format(name))


def predicate(s: Source, draft: Draft, names: list[str]) -> None:
    """pred, warp-uniform for collectives, and sometimes preserve_dst."""
    varying = {d["name"] for d in draft.symbols if d.get("varies") == "thread"}
    options = [
        "true",
        "warpid < 1",
        *(f"{n} > -1" for n in names if not draft.collective or n not in varying),
        *(f"{n} % 2 == 0" for n in names),
    ]
    if not draft.collective:
        options += ["laneid < 20", "elected", *(f"laneid + {n} < 30" for n in names), "tx % 2 == 1 or laneid == 0"]
    draft.parameters["pred"] = s.pick(*options)
    if draft.load and s.chance(40):
        draft.parameters["preserve_dst"] = s.pick(True, False)


STARTS = (
    "{0}",
    "{0} + 3",
    "2 * {0}",
    "7 - {0}",
    "-{0}",
    "{0} // 2",
    "{0} % 5",
    "{0} // 3 + {1}",
    "min({0}, {1})",
    "max({0}, -2)",
    "min(max({0}, 0), 6)",
    "select({0} > 2, {0}, {1})",
    "{0} & 7",
    "({0} ^ 3) & 15",
    "{0} | 1",
    "{0} << 1",
    "{0} >> 1",
    "tdiv({0}, 2)",
    "tmod({0}, 4)",
    "{0} * {1}",
    "{0} - {1}",
    "({0} + {1}) % 3",
    "3 * {0} - 2 * {1}",
    "{0} * {0}",
    "{0} % 3 + {1} % 2",
    "({0} - 1) // 4",
)
UNIFORM = (
    "warpid",
    "wid_in_wg + {0}",
    "wgid",
    "cbx",
    "warpid * {0}",
    "cbx + 2 * cby",
    "min(warpid, {0})",
    "(warpid + {0}) % 3",
    "laneid // 32 + {0}",
)
DIVERGENT = (
    "laneid",
    "laneid % 4 + {0}",
    "(laneid + {0}) % 8",
    "tx // 4",
    "select(elected, {0}, 0)",
    "select(laneid < {0}, 1, 0)",
    "laneid ^ 5",
    "tid_in_wg // 8",
    "select(laneid % 2 == 0, {0}, {1})",
    "laneid * {0}",
    "max(laneid - 20, {0})",
)


def start(s: Source, draft: Draft, environments: list[dict[str, int]]) -> tuple[str, int] | None:
    """(a start of at least 0 for everyone who accesses, its largest value)."""
    names = [d["name"] for d in draft.symbols if not (draft.collective and d.get("varies") == "thread")]
    templates = [t for t in (*(STARTS if names else ()), *UNIFORM, *(() if draft.collective else DIVERGENT)) if names or "{" not in t]
    weights = templates[:26] * 2 + templates[26:] if names else templates
    text = s.pick(*weights).format(*(names or ["0"]), *(names[-1:] or ["0"]))
    found = outcomes(text, environments)
    if not found or max(found) - min(found) > 40:
        return None
    low, high = min(found), max(found)
    if low != 0 and (low < 0 or s.chance(50)):
        text = s.pick(f"({text}) + {-low}", f"{-low} + ({text})", f"({text}) - ({low})") if low < 0 else f"({text}) - {low}"
        low, high = 0, high - low
    return text, high


# --- operands --------------------------------------------------------------------------------------------------------


def injective(s: Source, extents: list[int]) -> tuple[list[int], int]:
    """(strides, offset) that put every coordinate in a place of its own."""
    pairs = [(i, j) for i, a in enumerate(extents) for j, b in enumerate(extents) if i != j and a == 2 and b > 1 and prod(extents) == a * b]
    strides = [1] * len(extents)
    if pairs and s.chance(20):
        i, j = s.pick(*pairs)
        strides[i], strides[j] = s.pick(3, 1, 5), 2
    else:
        current = 1
        for k in s.order(len(extents)):
            strides[k] = current * s.pick(1, 1, 1, 2, 3)
            current = strides[k] * extents[k]
    offset = s.pick(0, 0, 0, 1, 4, 3)
    for k, extent in enumerate(extents):
        if s.chance(10):
            offset += (extent - 1) * strides[k]
            strides[k] = -strides[k]
    return strides, offset


def ownership(s: Source, draft: Draft) -> tuple[list[list[Digit]], dict[str, int], tuple[str, int]]:
    """(digits of each group axis, offsets, (axis, weight) of a lane) that name the executing thread."""
    parts, launch = draft.parts, draft.launch
    warp = next((p for p in parts if p.kind == "warp"), None)
    actives = [
        t
        for t in launch.threads
        if holding([expression(c) for c in draft.guard if draft_static(c)], {**launch.coordinates(t), "elected": t.lane == 0})
    ]
    warps = sorted({t.warp for t in actives}) or [0]
    names = ["plain"]
    if draft.scope in {"cta", "cluster"} and max(warps) < 4:
        names += ["wid", "tid"]
    if draft.scope in {"cta", "cluster"} and launch.one_dimensional:
        names.append("tx")
    if draft.scope == "cta" and warp is not None and (warp.count, warp.first, warp.step) == (8, 0, 1):
        names = ["wgid", "plain"]
    if draft.scope == "warpgroup":
        names = ["wid", "tid", *(["tx"] if launch.warps == 4 and launch.one_dimensional else []), *(["plain"] if launch.warps == 4 else [])]
    scheme = s.pick(*names)
    lane_axis = {"tid": "tid_in_wg", "tx": "tx"}.get(scheme, "laneid")
    warp_axis, weight = {"tid": ("tid_in_wg", 32), "tx": ("tx", 32), "wid": ("wid_in_wg", 1)}.get(scheme, ("warpid", 1))
    digits: list[list[Digit]] = []
    offset: dict[str, int] = {}
    for part in parts:
        axis, scale = (lane_axis, 1) if part.kind == "lane" else (warp_axis, weight) if part.kind == "warp" else (part.kind, 1)
        if scheme == "wgid" and part.kind == "warp":
            digits.append([Digit(2, 1, "wgid"), Digit(4, 1, "wid_in_wg")])
            continue
        digits.append([Digit(part.count, scale * part.step if part.count > 1 else s.pick(0, 1, 7), axis)])
        if part.first:
            offset[axis] = offset.get(axis, 0) + scale * part.first
    return digits, offset, (lane_axis, 1)


def draft_static(text: str) -> bool:
    return expression(text).names <= {*COORDINATES, "elected"}


def register_operand(s: Source, draft: Draft) -> None:
    groups, offset, (lane_axis, _) = ownership(s, draft)
    own = draft.atoms[:1] if draft.collective else draft.atoms
    strides, first = injective(s, [*draft.repeats, *own])
    axes = [Axis(digits) for digits in groups] + [Axis([Digit(e, k)]) for e, k in zip((*draft.repeats, *own), strides, strict=True)]
    if draft.collective:
        axes += [Axis([Digit(8, 4, lane_axis)]), Axis([Digit(4, 1, lane_axis)])]
    made = Operand("R", "register", s.pick(*DTYPES[draft.bits]), axes, {**offset, **({"m": first} if first else {})})
    if not draft.load:
        if draft.repeats and s.chance(10):
            axes[len(groups)].digits[0].stride = 0
        if s.chance(10):
            made.replicas.append(
                s.pick(
                    Digit(2, 8), *(() if draft.scope == "thread" else (Digit(2, 1, "warpid"), Digit(3, 32, "laneid"), Digit(2, 1, "cbx")))
                )
            )
    if draft.anywhere:
        made.offset.pop("laneid", None)
        made.replicas = [Digit(32, 1, "laneid")]
    draft.register = made


def memory_operand(s: Source, draft: Draft, environments: list[dict[str, int]]) -> None:
    """Rows of `unit` elements at multiples of it, axes in any order, padded; slices with starts."""
    extents = [part.count for part in draft.parts] + [*draft.repeats, *draft.atoms]
    axes = [Axis([Digit(extent, 0)]) for extent in extents]
    row = axes[-1]
    for k, axis in enumerate(axes):
        unit = draft.unit if axis is row else 1
        own = start(s, draft, environments) if s.chance(55 if axis is row else 12) else None
        if own is not None and (own[1] <= 6 or unit < 16):
            text, high = own
            axis.begin = f"{unit} * ({text})" if unit > 1 else text
            axis.room = axis.extent + unit * (high + s.pick(0, 0, 1, 3))
        elif s.chance(12):
            axis.begin = unit * s.pick(0, 1, 2)
            axis.room = axis.extent + int(axis.begin) + unit * s.pick(0, 1)
    full = row.room or row.extent
    row.digits[0].stride = 1
    current = (full + draft.unit - 1) // draft.unit * draft.unit + draft.unit * s.pick(0, 0, 1, 3)
    for k in s.order(len(axes) - 1):
        axis = axes[k]
        axis.digits[0].stride = current
        current *= axis.room or axis.extent
        current += draft.unit * s.pick(0, 0, 1, 5)
    space = draft.spelling["space"].split("::")[0]
    made = Operand("A", space, s.pick(*DTYPES[draft.bits]), axes, unit=draft.unit)
    first = draft.unit * s.pick(0, 0, 0, 1, 3)
    for axis in axes[:-1]:
        digit = axis.digits[0]
        if s.chance(6):
            digit.stride = 0
        elif s.chance(8) and not axis.sliced():
            first += (digit.extent - 1) * int(digit.stride)
            digit.stride = -int(digit.stride)
    if first:
        made.offset["m"] = first
    names = frozenset().union(*(expression(axis.begin).names for axis in axes))
    made.weight = len({tuple(env[name] for name in sorted(names)) for env in environments}) or 1
    if names & {*COORDINATES, "elected"}:
        made.weight *= len(draft.launch.threads) // 2 + 1
    own_axes(s, draft, made)
    swizzle(s, draft, made)
    address_base(s, draft, made)
    if s.chance(10):
        made.tensor = s.pick("buf", "A")
    if s.chance(30):
        made.spare = s.pick(0, 0, 1, 64)
    draft.memory = made


def reach(operand: Operand) -> int:
    """About how many elements the layout spans."""
    return sum(abs(int(axis.digits[0].stride)) * (axis.room or axis.extent) for axis in operand.axes if axis.digits[0].axis == "m")


def own_axes(s: Source, draft: Draft, made: Operand) -> None:
    """Thread axes where memory may have them: any in local memory, CTA axes in shared memory."""
    for axis, part in zip(made.axes, draft.parts, strict=False):
        digit = axis.digits[0]
        if axis.sliced() or part.kind == "warp" or part.count == 1:
            continue
        if (made.space == "local" and part.kind == "lane") or (made.space == "shared" and part.kind in {"cbx", "cby", "cbz"}):
            if s.chance(40):
                name = "laneid" if part.kind == "lane" else part.kind
                digit.stride, digit.axis = part.step, name
                if part.first:
                    made.offset[name] = part.first


def swizzle(s: Source, draft: Draft, made: Operand) -> None:
    """XOR swizzles that keep rows whole."""
    if not s.chance(30):
        return
    least = (draft.unit - 1).bit_length()
    for _ in range(s.pick(1, 1, 2)):
        length = s.pick(1, 2, 3, 0)
        made.swizzles.append([least + s.pick(0, 0, 1), length, length + s.pick(0, 1, 2), s.chance(25)])


def address_base(s: Source, draft: Draft, made: Operand) -> None:
    """An alignment that suffices, by `align` or by `base` with an offset that makes up for its residue."""
    needed, element = draft.align_bytes, draft.bits // 8
    made.align = s.pick(needed, needed, 2 * needed, 128)
    if s.chance(20):
        made.align = element
        residue = element * s.number(0, draft.unit - 1)
        made.base = {"mod": needed * s.pick(1, 2), "is": residue}
        if residue:
            made.offset["m"] = int(made.offset.get("m", 0)) + draft.unit - residue // element
            if made.swizzles:
                made.swizzles = []


# --- spellings -------------------------------------------------------------------------------------------------------


def memory_spelling(s: Source) -> tuple[bool, dict[str, str], int, int]:
    """(load, qualifiers, bits, vector length)."""
    load = s.chance(50)
    space = s.pick("global", "shared", "local", "global", "shared", "shared::cta", "shared::cluster", "global")
    bits, vec = s.pick(
        (32, 4), (32, 1), (32, 2), (16, 2), (16, 4), (8, 4), (64, 2), (64, 1), (128, 1), (8, 1), (16, 1), (32, 4), (32, 8), (64, 4), (8, 2)
    )
    if vec * bits == 256:
        space = "global"
    kinds = {8: ("b8", "u8", "s8"), 16: ("b16", "u16", "s16"), 32: ("b32", "u32", "f32"), 64: ("b64", "s64", "f64"), 128: ("b128",)}
    found = {"space": space, "vec": f"v{vec}" if vec > 1 else "", "type": s.pick(*kinds[bits])}
    if s.chance(25):
        more: list[dict[str, str]] = [{"order": "volatile"}]
        if space != "local":
            more += [{"order": "relaxed", "scope": "gpu"}, {"order": "acquire" if load else "release", "scope": "cta"}]
        if space == "global":
            more += [{"l1": "L1::evict_first"}, {"hint": "L2::cache_hint"}]
            more += [{"nc": "nc"}, {"cop": "cg"}, {"prefetch": "L2::128B"}] if load else [{"cop": "wt"}]
        found |= s.pick(*more)
    return load, found, bits, vec


SLOTS = ("mmio", "order", "scope", "space", "cop", "nc", "l1", "l2", "hint", "prefetch", "vec", "type")


def opcode_of(draft: Draft) -> str:
    q = draft.spelling
    if draft.collective:
        parts = ["ldmatrix" if draft.load else "stmatrix", "sync", "aligned", "m8n8", q["num"], q["trans"], q["space"], "b16"]
    else:
        parts = ["ld" if draft.load else "st", *(q.get(slot, "") for slot in SLOTS)]
    return ".".join(part for part in parts if part)


def spelled(s: Source, family: str) -> Draft:
    """A draft with a spelling and nothing else."""
    if family == "memory":
        load, spelling, bits, vec = memory_spelling(s)
        draft = Draft(family, load, spelling, bits, (vec,), vec, "thread", [1], None)
        if "hint" in spelling:
            draft.parameters["cache_policy"] = s.pick(1 << 60, 0x12F0000000000000, 0)
    else:
        load, num = s.chance(50), s.pick(1, 2, 4)
        spelling = {"num": f"x{num}", "trans": s.pick("", "trans"), "space": s.pick("shared", "shared::cta")}
        draft = Draft(family, load, spelling, 32, (num, 8, 4), 4, "warp", [32], None)
    return draft


def legal(s: Source, family: str) -> Draft:
    """A draft that breaks no clause, as far as the generator knows."""
    draft = spelled(s, family)
    who(s, draft)
    busy = len(draft.launch.threads) * (draft.atoms[0] if draft.collective else prod(draft.atoms))
    draft.repeats = s.pick((), (2,), (3,), (1,), (2, 2), (4,)) if busy <= 256 else s.pick((), (2,), (1,))
    symbols(s, draft)
    environments = draft.environments()
    register_operand(s, draft)
    for _ in range(5):
        memory_operand(s, draft, environments)
        if draft.memory.space != "shared" or reach(draft.memory) * draft.bits <= 8 * 200_000:
            break
    if s.chance(25):
        starts = " ".join(str(axis.begin) for axis in draft.memory.axes)
        signed = "-" in starts or "//" in starts or any(d["min"] < 0 for d in draft.symbols)
        draft.index_dtype = "int32" if signed else s.pick("int32", "uint32", "uint32")
    if s.chance(10):
        draft.arch = s.pick("sm_100a", "sm_103", "sm_110a", "sm_120")
    if draft.family == "memory" and draft.memory.space == "global" and s.chance(90):
        ranges: dict[str, tuple[int, int]] = {}
        _symbolic(s, draft, ranges)
        for declared in draft.symbols:
            low, high = ranges.get(declared["name"], (0, 0))
            declared.setdefault("min", max(low, -1))
            declared.setdefault("max", min(high, 3 if declared["name"] == "i" else 2 * draft.unit + 1))
    return draft


# --- steps -----------------------------------------------------------------------------------------------------------


def times(value: int | str, factor: int) -> int | str:
    return value if factor == 1 or value == 0 else value * factor if isinstance(value, int) else f"{factor} * ({value})"


def shape_of(operand: Operand) -> list[Any]:
    """The extents: integers, or a text where a digit is symbolic."""
    return [axis.extent if len(axis.digits) == 1 else whole(digit.extent for digit in axis.digits) for axis in operand.axes]


def whole(extents: Iterable[int | str]) -> int | str:
    """The product of the extents of an axis's digits, of which one may be symbolic."""
    found: int | str = 1
    for extent in extents:
        found = times(extent, found) if isinstance(found, int) else times(found, int(extent))
    return found


LETTERS = "abcdefghij"


def undo_permute(s: Source, operand: Operand) -> None:
    """Before it, axis order[k] was where axis k is now."""
    order = s.order(len(operand.axes))
    before: list[Axis] = [operand.axes[0]] * len(order)
    for k, axis in zip(order, operand.axes, strict=True):
        before[k] = axis
    operand.axes = before
    if s.chance(40):
        pattern = f"{' '.join(LETTERS[: len(order)])} -> {' '.join(LETTERS[k] for k in order)}"
        operand.steps.insert(0, {"op": "rearrange", "pattern": pattern, "sizes": {}})
    else:
        operand.steps.insert(0, {"op": "permute", "order": order})


def undo_split(s: Source, operand: Operand) -> None:
    """Before it, two neighbouring axes were one."""
    spots = [k for k in range(len(operand.axes) - 1) if not (operand.axes[k].sliced() or operand.axes[k + 1].sliced())]
    if not spots:
        return
    k = s.pick(*spots)
    letters = list(LETTERS[: len(operand.axes)])
    if s.chance(50):
        operand.steps.insert(0, {"op": "reshape", "shape": shape_of(operand)})
    else:
        left = [*letters[:k], f"({letters[k]} {letters[k + 1]})", *letters[k + 2 :]]
        sizes = {letters[k + 1]: operand.axes[k + 1].extent} if s.chance(50) else {letters[k]: operand.axes[k].extent}
        operand.steps.insert(0, {"op": "rearrange", "pattern": f"{' '.join(left)} -> {' '.join(letters)}", "sizes": sizes})
    operand.axes[k : k + 2] = [Axis([*operand.axes[k].digits, *operand.axes[k + 1].digits])]


def undo_merge(s: Source, operand: Operand) -> None:
    """Before it, one axis was two."""
    spots = [
        (k, d)
        for k, axis in enumerate(operand.axes)
        if not axis.sliced() and len(operand.axes) < 8
        for d in (2, 3, 4)
        if isinstance(axis.digits[0].extent, int)
        and isinstance(axis.digits[0].stride, int)
        and axis.digits[0].extent % d == 0
        and axis.digits[0].extent > d
    ]
    if not spots:
        return
    k, inner = s.pick(*spots)
    axis = operand.axes[k]
    head, rest = axis.digits[0], axis.digits[1:]
    stride = int(head.stride)
    new = [Axis([Digit(head.extent // inner, stride * inner, head.axis)]), Axis([Digit(inner, stride, head.axis), *rest])]
    shape = shape_of(operand)
    operand.axes[k : k + 1] = new
    letters = list(LETTERS[: len(operand.axes)])
    if s.chance(50):
        operand.steps.insert(0, {"op": "reshape", "shape": shape})
    else:
        right = [*letters[:k], f"({letters[k]} {letters[k + 1]})", *letters[k + 2 :]]
        operand.steps.insert(0, {"op": "rearrange", "pattern": f"{' '.join(letters)} -> {' '.join(right)}", "sizes": {}})


def undo_slice(s: Source, operand: Operand) -> None:
    """Before it, every axis had its room."""
    if not any(axis.sliced() for axis in operand.axes):
        return
    begins, extents = [], []
    for axis in operand.axes:
        begins.append(times(axis.begin, axis.inner))
        extents.append(None if not axis.sliced() and s.chance(50) else axis.extent)
        axis.digits = [
            Digit(axis.room if axis.room is not None else axis.digits[0].extent, axis.digits[0].stride, axis.digits[0].axis),
            *axis.digits[1:],
        ]
        axis.begin, axis.room = 0, None
    operand.steps.insert(0, {"op": "slice", "begin": begins, "extent": extents})


def undo_crop(s: Source, operand: Operand) -> None:
    """Before it, one more axis was longer: a slice with a plain number."""
    spots = [axis for axis in operand.axes[:-1] if not axis.sliced()]
    if not spots:
        return
    axis = s.pick(*spots)
    head, begin = axis.digits[0], s.pick(1, 2)
    if head.axis == "m" and isinstance(head.stride, int) and begin * head.stride % operand.unit:
        return
    if head.axis != "m" and isinstance(head.stride, int):
        operand.offset[head.axis] = int(operand.offset.get(head.axis, 0)) - begin * head.stride
    if head.axis == "m" and isinstance(head.stride, int) and head.stride < 0:
        operand.offset["m"] = int(operand.offset.get("m", 0)) - begin * head.stride
    axis.begin, axis.room = begin, head.extent + begin + s.pick(0, 1)
    undo_slice(s, operand)


def undo_narrower(s: Source, operand: Operand) -> None:
    """Before it, elements were a fraction as wide: every stride counts more of them."""
    bits = width(operand.dtype)
    options = [b for b in (8, 16, 32, 4, 64, 1) if b < bits and bits // b <= 8]
    if not options or operand.axes[-1].extent > 512 or not affordable(s, operand):
        return
    new = s.pick(*options)
    factor = bits // new
    widened(operand, factor)
    last = operand.axes[-1]
    tail = last.digits[-1]
    if tail.axis == "m" and tail.stride == factor:
        if len(last.digits) == 1:
            last.begin, last.room = times(last.begin, factor), None if last.room is None else times(last.room, factor)
        tail.extent, tail.stride = tail.extent * factor, 1
    else:
        last.digits.append(Digit(factor, 1))
    operand.steps.insert(0, {"op": "view", "dtype": operand.dtype})
    operand.dtype = s.pick(*DTYPES[new])


def affordable(s: Source, operand: Operand) -> bool:
    """Whether brute force can look at every element of a dtype view, for each value of what the view depends on."""
    return prod(shape_of(operand)) * operand.weight <= s.points


def widened(operand: Operand, factor: int) -> None:
    """Every stride of storage times a factor."""
    operand.unit *= factor
    for digit in (*operand.digits(), *operand.replicas):
        if digit.axis == "m":
            digit.stride = times(digit.stride, factor)
    if "m" in operand.offset:
        operand.offset["m"] = times(operand.offset["m"], factor)
    for one in operand.swizzles:
        one[0] += factor.bit_length() - 1


def undo_wider(s: Source, operand: Operand) -> None:
    """Before it, elements were wider: a run of neighbours on the last axis was one."""
    bits, last = width(operand.dtype), operand.axes[-1]
    tail = last.digits[-1]
    numbers = [d.stride for axis in operand.axes for d in axis.digits if d.axis == "m" and d is not tail] + [
        d.stride for d in operand.replicas if d.axis == "m"
    ]
    numbers.append(operand.offset.get("m", 0))
    if (
        not affordable(s, operand)
        or len(last.digits) > 1
        or tail.axis != "m"
        or tail.stride != 1
        or last.sliced()
        or not all(isinstance(n, int) for n in numbers)
    ):
        return
    options = [
        r
        for r in (2, 4, 8)
        if bits * r <= 128
        and tail.extent % r == 0
        and all(int(n) % r == 0 for n in numbers)
        and all(one[0] >= r.bit_length() - 1 for one in operand.swizzles)
    ]
    if not options:
        return
    ratio = s.pick(*options)
    for digit in (*operand.digits(), *operand.replicas):
        if digit.axis == "m" and digit is not tail:
            digit.stride = int(digit.stride) // ratio
    if "m" in operand.offset:
        operand.offset["m"] = int(operand.offset["m"]) // ratio
    for one in operand.swizzles:
        one[0] -= ratio.bit_length() - 1
    tail.extent //= ratio
    operand.unit = max(1, operand.unit // ratio)
    operand.steps.insert(0, {"op": "view", "dtype": operand.dtype})
    operand.dtype = s.pick(*DTYPES[bits * ratio])


def undo_broadcast(s: Source, operand: Operand) -> None:
    """Before it, axes of stride 0 had extent 1 (a leading one was not there)."""
    still = [
        k
        for k, axis in enumerate(operand.axes)
        if not axis.sliced() and axis.extent > 1 and all(d.stride == 0 and d.axis == "m" for d in axis.digits)
    ]
    if not still:
        return
    operand.steps.insert(0, {"op": "broadcast", "shape": shape_of(operand)})
    for k in still:
        operand.axes[k] = Axis([Digit(1, s.pick(0, 1))])
    if 0 in still and len(operand.axes) > 1 and s.chance(50):
        del operand.axes[0]


UNDO = (
    undo_permute,
    undo_split,
    undo_narrower,
    undo_merge,
    undo_wider,
    undo_crop,
    undo_permute,
    undo_narrower,
    undo_split,
    undo_wider,
    undo_wider,
)


def render(s: Source, operand: Operand) -> Json:
    """The operand's document."""
    flawed(s, operand)
    first = any(isinstance(axis.room, str) for axis in operand.axes)  # a symbolic extent: the slice comes first of all steps
    if not first and s.chance(60):
        undo_slice(s, operand)
    for _ in range(s.pick(0, 1, 2, 3)):
        s.pick(*(u for u in UNDO if not (first and u is undo_crop)))(s, operand)
        if not first and s.chance(40):
            undo_slice(s, operand)
        if s.chance(70):
            undo_broadcast(s, operand)
    undo_slice(s, operand)
    if operand.space != "register" and not first and s.chance(25):
        undo_narrower(s, operand)
    document: Json = {
        "name": operand.name,
        "space": operand.space,
        "dtype": operand.dtype,
        "shape": shape_of(operand),
        "layout": layout_text(s, operand),
    }
    for key, value in (("tensor", operand.tensor), ("align", operand.align), ("base", operand.base), ("size_bytes", operand.size)):
        if value is not None:
            document[key] = value
    numbers = [n for digit in operand.digits() for n in (digit.extent, digit.stride)]
    if operand.spare is not None and all(isinstance(n, int) for n in numbers):
        document["size_bytes"] = max(0, span_bytes(document) + operand.spare)
    if operand.steps:
        document["view"] = operand.steps
    return document


def span_bytes(document: Json) -> int:
    shape = [int(extent) for extent in document["shape"]]
    return -(-max(0, parse_layout(document["layout"]).fixed({}, shape).span()) * width(document["dtype"]) // 8)


def layout_text(s: Source, operand: Operand) -> str:
    digits = [Digit(d.extent, d.stride, d.axis) for d in operand.digits()]
    if len(digits) > 1 and s.chance(20):
        digits = [d for d in digits if d.extent != 1] or digits[:1]
    spots = [k for k, d in enumerate(digits) if d.extent in {4, 8, 32, 6} and isinstance(d.stride, int)]
    if spots and s.chance(15):
        k = s.pick(*spots)
        one = digits[k]
        digits[k : k + 1] = [Digit(one.extent // 2, 2 * int(one.stride), one.axis), Digit(2, one.stride, one.axis)]
    text = f"S[({','.join(str(d.extent) for d in digits)}):({','.join(on_axis(d.stride, d.axis) for d in digits)})]"
    if operand.replicas:
        text += (
            f" + R[({','.join(str(d.extent) for d in operand.replicas)}):({','.join(on_axis(d.stride, d.axis) for d in operand.replicas)})]"
        )
    for axis, value in operand.offset.items():
        if value != 0:
            text += f" - {on_axis(-value, axis)}" if isinstance(value, int) and value < 0 else f" + {on_axis(value, axis)}"
    for per_element, length, atom, outer in operand.swizzles:
        text = f"Swizzle({per_element},{length},{atom}{',outer' if outer else ''}) o {text}"
    return text


def on_axis(value: int | str, axis: str) -> str:
    written = str(value) if isinstance(value, int) else f"({value})"
    return written if axis == "m" else f"{written}@{axis}"


def document(s: Source, draft: Draft) -> Json:
    """The call document of a draft."""
    for part in [part for part in draft.guard if s.chance(12)]:  # an assumption that names a coordinate is a condition like the guard
        if draft.uniform(part) or expression(part).names & {*COORDINATES, "elected"}:
            draft.guard.remove(part)
            draft.assume.append(part)
    guard = " and ".join(f"({part})" for part in draft.guard) if len(draft.guard) > 1 or s.chance(50) else "".join(draft.guard)
    operands = [render(s, draft.register), render(s, draft.memory)]
    made: Json = {
        "schema": "tilecheck/call@1",
        "id": "random",
        "opcode": draft.opcode or opcode_of(draft),
        "scope": draft.scope,
        "launch": {"block": draft.block, "cluster": draft.cluster},
        "symbols": draft.symbols,
        "assume": draft.assume,
        "operands": operands if draft.load else operands[::-1],
        "parameters": draft.parameters,
    }
    for key, value, default in (("guard", guard, ""), ("index_dtype", draft.index_dtype, "int64"), ("arch", draft.arch, None)):
        if value != default:
            made[key] = value
    if draft.edit is not None:
        draft.edit(made)
    return json.loads(json.dumps(made))


# --- mutations -------------------------------------------------------------------------------------------------------

Mutation = Callable[[Source, Draft], None]
MUTATIONS: dict[str, Mutation] = {}


def mutation(clause: str) -> Callable[[Mutation], Mutation]:
    def add(function: Mutation) -> Mutation:
        MUTATIONS[clause] = function
        return function

    return add


@mutation("opcode")
def break_opcode(s: Source, draft: Draft) -> None:
    """An architecture below the floor, or a spelling that does not exist."""
    if s.chance(50):
        draft.arch = s.pick("sm_70", "sm_53") if draft.load or not draft.collective else s.pick("sm_80", "sm_75", "sm_89")
        return
    old = opcode_of(draft)
    if draft.collective:
        draft.opcode = s.pick(
            old.replace(".sync", ""),
            old.replace("m8n8", "m8n16"),
            old.replace(".b16", ".b8"),
            old.replace(".aligned.m8n8", ".m8n8.aligned"),
        )
    else:
        draft.opcode = s.pick(
            f"{old}.b32", old.replace(draft.spelling["type"], "b24"), old.replace(".", ".v3.", 1), old.replace(".", ".sync.", 1)
        )


@mutation("space.explicit")
def break_space(s: Source, draft: Draft) -> None:
    """No space, or one that is not explicit."""
    draft.spelling["space"] = "" if draft.collective else s.pick("", "const", "param") if draft.load else ""


@mutation("operands")
def break_operands(s: Source, draft: Draft) -> None:
    """Operands or parameters that the instruction does not have, or lacks."""

    def drop(made: Json) -> None:
        made["operands"].pop()

    def extra(made: Json) -> None:
        made["operands"].append({**made["operands"][0], "name": "more"})

    def scalar(made: Json) -> None:
        made["operands"][1] = {"name": "x", "value": 5}

    def unknown(made: Json) -> None:
        made["parameters"]["box"] = [1, 2]

    def number(made: Json) -> None:
        made["parameters"]["pred"] = 5

    def alone(made: Json) -> None:
        made["parameters"].pop("pred", None)
        made["parameters"]["preserve_dst"] = True

    def policy(made: Json) -> None:
        if made["parameters"].pop("cache_policy", None) is None or s.chance(30):
            made["parameters"]["cache_policy"] = s.pick(1, -1, (1 << 64) - 1)
            made["symbols"] = made["symbols"] or [{"name": "n", "min": 0, "max": 1}]

    draft.edit = s.pick(drop, extra, scalar, unknown, number, alone, policy)


@mutation("storage")
def break_storage(s: Source, draft: Draft) -> None:
    """A wrong space, a wrong width, a dtype view that splits elements."""
    operand = s.pick(draft.memory, draft.register)
    kind = s.pick("space", "dtype", "odd", "stride", "extent", "odd")
    numbers = (n for axis in operand.axes for n in (axis.room or 0, *(value for d in axis.digits for value in (d.extent, d.stride))))
    if kind == "space" and any(isinstance(n, str) for n in numbers):
        operand = draft.register  # only global tensors may be symbolic
    if kind == "space":
        operand.space = s.pick(*(space for space in ("register", "global", "shared", "local") if space != operand.space))
    elif kind == "dtype":
        operand.dtype = s.pick(*(name for bits, names in DTYPES.items() if bits != draft.bits and bits >= 8 for name in names))
    else:
        operand.flaw = kind


def flawed(s: Source, operand: Operand) -> None:
    """A dtype view that splits elements, where the mutation asks for one."""
    bits = width(operand.dtype)
    if not operand.flaw or bits < 16 or isinstance(operand.axes[-1].room or operand.axes[-1].extent, str):
        return
    factor = s.pick(*(f for f in (2, 4) if bits // f >= 8))
    widened(operand, factor)
    last = operand.axes[-1]
    last.digits.append(Digit(factor, s.pick(2, 0, factor) if operand.flaw == "stride" else 1))
    operand.steps.insert(0, {"op": "view", "dtype": operand.dtype})
    operand.dtype = s.pick(*DTYPES[bits // factor])
    undo_slice(s, operand)
    if operand.flaw == "odd":
        digits, extent = last.digits, last.extent
        operand.axes[-1] = last = Axis([Digit(extent + factor, 1)] if len(digits) == 2 and digits[0].stride == factor else digits)
        begins: list[int | str] = [0] * len(operand.axes)
        begins[-1] = s.pick(1, factor - 1)
        if operand.space == "register" or last.extent == extent:
            operand.offset["m"] = int(operand.offset.get("m", 0)) + 1
        else:
            operand.steps.insert(0, {"op": "slice", "begin": begins, "extent": [*shape_of(operand)[:-1], extent]})
    if operand.flaw == "extent":
        last.digits = [Digit(last.extent + s.pick(1, factor - 1), 1)]


@mutation("participation")
def break_participation(s: Source, draft: Draft) -> None:
    """An active set that is no product, partial warps, or what must be uniform and is not."""
    names = [d["name"] for d in draft.symbols] or ["1"]
    if draft.collective:
        kind = s.pick("guard", "start", "pred", "varies", "scope", "block")
        if kind == "guard":
            draft.guard.append(s.pick(*LANE_GUARDS, "elected", f"laneid < 31 + {names[0]}", f"laneid >= {names[0]}", "tx != 9"))
        elif kind == "start":
            row = draft.memory.axes[-1]
            row.begin = s.pick(
                f"4 * (laneid // 16) + {row.begin}",
                f"{row.begin} + select(elected, 4, 0)",
                f"{row.begin} + 4 * (tx % 2)",
                f"({row.begin}) ^ (tid_in_wg & 4)",
            )
            row.grow(4)
        elif kind == "pred":
            draft.parameters["pred"] = s.pick(
                "laneid < 16", "elected", f"laneid > {names[0]}", "tx < 7 or warpid > 0", "tid_in_wg % 2 == 0"
            )
        elif kind == "varies" and draft.symbols:
            draft.symbols[0]["varies"] = "thread"
        elif kind == "scope":
            draft.scope = "thread"
        else:
            draft.block = [prod(draft.block) - s.pick(4, 1, 16)]
        return
    if draft.scope == "thread":
        return
    draft.guard.append(
        s.pick(
            "laneid < 16 or warpid == 0",
            "tx < 21",
            f"laneid >= warpid + {names[0]}",
            "laneid % 2 == warpid % 2",
            "cbx == 0 or laneid < 3",
            "t < 5".replace("t", "tid_in_wg"),
            "elected or warpid > 0",
            "laneid + 32 * warpid < 33",
        )
    )
    if s.chance(30):
        draft.guard.pop()
        draft.block = [prod(draft.block) - s.pick(4, 1, 12)] if prod(draft.block) > 12 else draft.block


@mutation("shape")
def break_shape(s: Source, draft: Draft) -> None:
    """An extent too large or too small, an axis too many or too few, a guard that changes the extents."""
    operand = s.pick(draft.memory, draft.register)
    kind = s.pick("extent", "drop", "unit", "guard", "swap", "symbol")
    axis = s.pick(*operand.axes)
    if kind == "extent":
        axis.digits[0].extent += s.pick(1, 2)
        if axis.room is not None:
            axis.grow(2)
    elif kind == "drop" and len(operand.axes) > 1:
        operand.axes.remove(axis)
    elif kind == "swap" and len(operand.axes) > 1:
        operand.axes[0], operand.axes[-1] = operand.axes[-1], operand.axes[0]
    elif kind == "guard" and not draft.collective:
        draft.guard.append(s.pick("laneid < 3", "laneid >= 1", "warpid == 0"))
    elif kind == "symbol" and draft.symbols:
        name = draft.symbols[0]["name"]
        draft.guard.append(
            s.pick(f"warpid < 1 + {name}", *(() if draft.collective else (f"laneid < 28 + {name}", f"laneid % 2 == 0 or {name} > 0")))
        )
    else:
        operand.axes.insert(0, Axis([Digit(s.pick(1, 2), 0)]))


@mutation("owner")
def break_owner(s: Source, draft: Draft) -> None:
    """Elements that belong to another thread."""
    threads = [d for d in draft.register.digits() if d.axis != "m" and d.extent > 1]
    kind = s.pick("offset", "stride", "axis", "missing", "memory", "reverse")
    if kind == "memory":
        draft.memory.axes[0].digits[0].axis = s.pick("laneid", "warpid", "cbx")
        draft.memory.axes[0].digits[0].stride = s.pick(1, 2)
    elif kind == "offset" or not threads:
        name = s.pick("laneid", "warpid", "tx", "wgid", "cbx", "tid_in_wg")
        draft.register.offset[name] = int(draft.register.offset.get(name, 0)) + s.pick(1, -1, 4)
    else:
        digit = s.pick(*threads)
        if kind == "stride":
            digit.stride = int(digit.stride) * 2
        elif kind == "axis":
            digit.axis = s.pick(*(a for a in ("laneid", "warpid", "wid_in_wg", "tx", "tid_in_wg", "wgid", "cbx") if a != digit.axis))
        elif kind == "missing":
            digit.stride = 0
        else:
            draft.register.offset[digit.axis] = int(draft.register.offset.get(digit.axis, 0)) + (digit.extent - 1) * int(digit.stride)
            digit.stride = -int(digit.stride)


@mutation("replica")
def break_replica(s: Source, draft: Draft) -> None:
    """A destination with copies."""
    if draft.load:
        draft.register.replicas.append(
            s.pick(Digit(2, 64), Digit(2, 1, "warpid"), Digit(3, 32, "laneid"), Digit(2, 1, "cbx"), Digit(4, 16))
        )
    else:
        draft.memory.replicas.append(s.pick(Digit(2, 4096), Digit(3, 1), Digit(2, 512)))


@mutation("distinct")
def break_distinct(s: Source, draft: Draft) -> None:
    """Two elements in one register."""
    slots = [axis.digits[0] for axis in draft.register.axes if axis.digits[0].axis == "m" and axis.digits[0].extent > 1]
    if slots:
        digit = s.pick(*slots)
        digit.stride = s.pick(0, *(int(d.stride) for d in slots if d is not digit), *(2 * int(d.stride) for d in slots if d is not digit))


@mutation("contiguous")
def break_contiguous(s: Source, draft: Draft) -> None:
    """Elements of a row that do not follow each other."""
    row = draft.memory.axes[-1]
    kind = s.pick("stride", "swizzle", "reverse", "gap")
    if kind == "swizzle":
        draft.memory.swizzles = [[0, 1, s.pick(1, 2, 3), s.chance(30)]]
    elif kind == "gap" and row.extent % 2 == 0 and not row.sliced() and row.extent > 2:
        row.digits = [Digit(row.extent // 2, s.pick(3, 4, row.extent)), Digit(2, 1)]
    elif kind == "reverse":
        draft.memory.offset["m"] = int(draft.memory.offset.get("m", 0)) + (row.room if isinstance(row.room, int) else row.extent) - 1
        row.digits[0].stride = -1
    else:
        row.digits[0].stride = s.pick(2, 0, 3, draft.unit)


@mutation("aligned")
def break_aligned(s: Source, draft: Draft) -> None:
    """A row that starts where it may not."""
    memory, element = draft.memory, max(1, draft.bits // 8)
    others = [axis.digits[0] for axis in memory.axes[:-1] if axis.digits[0].axis == "m" and axis.extent > 1]
    kind = s.pick("align", "offset", "stride", "begin", "base")
    if kind == "stride" and others:
        digit = s.pick(*others)
        more = s.pick(1, 2, draft.unit // 2 or 1)
        digit.stride = digit.stride + more if isinstance(digit.stride, int) else f"{digit.stride} + {more}"
    elif kind == "begin" and memory.axes[-1].sliced():
        row = memory.axes[-1]
        row.begin = f"({row.begin}) + {s.pick(1, draft.unit // 2 or 1)}" if isinstance(row.begin, str) else row.begin + 1
        row.grow(draft.unit)
    elif kind == "offset" and draft.unit > 1:
        memory.offset["m"] = int(memory.offset.get("m", 0)) + s.pick(1, draft.unit // 2)
    elif kind == "base":
        memory.align, memory.base = 1, {"mod": 2 * draft.align_bytes, "is": s.pick(draft.align_bytes // 2, 1, element)}
    else:
        memory.align = s.pick(draft.align_bytes // 2, 1, 3) or 1
        memory.base = None


@mutation("bounds")
def break_bounds(s: Source, draft: Draft) -> None:
    """A region that leaves its axis, or lies below the base."""
    memory = draft.memory
    cut = [axis for axis in memory.axes if axis.sliced()]
    kind = s.pick("room", "begin", "low", "base", "register")
    if kind == "base" or (not cut and kind != "register"):
        memory.offset["m"] = -draft.unit * s.pick(1, 4)
    elif kind == "register":
        axis = s.pick(*(a for a in draft.register.axes if a.digits[0].axis == "m"), *draft.register.axes[:1])
        axis.begin, axis.room = s.pick(1, "1"), axis.digits[0].extent
    else:
        axis = s.pick(*cut)
        unit = draft.unit if axis is memory.axes[-1] else 1
        axis.begin = str(axis.begin)
        if kind == "room":
            axis.grow(-unit)
        elif kind == "begin":
            axis.begin = f"{axis.begin} + {s.pick(1, 2, 4) * unit}"
        else:
            axis.begin = f"{axis.begin} - {s.pick(1, 2) * unit}"


@mutation("backing")
def break_backing(s: Source, draft: Draft) -> None:
    """An allocation too small for the layout, or too large for the machine."""
    operand = s.pick(draft.memory, draft.memory, draft.register)
    if operand.space == "shared" and s.chance(40):
        operand.size = s.pick(232_449, 300_000)
        operand.spare = None
        if s.chance(50):
            draft.arch, operand.size = s.pick(
                ("sm_90a", 232_456),
                ("sm_100", 232_449),
                ("sm_120", 101_377),
                ("sm_121", 101_377),
                ("sm_103", 232_449),
                ("sm_110a", 232_449),
                ("sm_89" if not draft.collective or draft.load else "sm_90", 240_000),
            )
    else:
        operand.spare = -s.pick(1, 2, 8)


@mutation("index.range")
def break_index_range(s: Source, draft: Draft) -> None:
    """An intermediate result that wraps, a divisor that is no divisor, an offset too large."""
    memory = draft.memory
    names = [d["name"] for d in draft.symbols] or ["warpid"]
    kind = s.pick("wrap", "unsigned", "divisor", "shift", "offset", "guard", "pred")
    axis = s.pick(*(a for a in memory.axes if a.sliced()), memory.axes[-1])
    if not axis.sliced():
        axis.room = axis.extent
    text = f"({axis.begin})"
    if kind == "wrap":
        draft.index_dtype = "int32"
        axis.begin = s.pick(
            f"{text} + 2147483647 - 2147483647",
            f"{text} + ({names[0]} + 2147483640) * 0",
            f"{text} + (({names[0]} << 31) >> 40) * 0",
            f"{text} - 2147483648 + 2147483647 + 1",
        )
    elif kind == "unsigned":
        draft.index_dtype = "uint32"
        axis.begin = s.pick(f"{text} - 1 + 1", f"{text} + max(0 - warpid, 0)", f"{text} + 0 * ({names[0]} - 2)")
    elif kind == "divisor":
        axis.begin = s.pick(f"{text} + 0 * (7 // {names[0]})", f"{text} + 0 * (7 % ({names[-1]} - 1))", f"{text} + 0 * tdiv(5, {names[0]})")
    elif kind == "shift":
        axis.begin = s.pick(f"{text} + (0 << {names[0]})", f"{text} + (0 >> ({names[-1]} - 1))")
    elif kind == "guard":
        draft.guard.append(
            s.pick(f"warpid // ({names[0]} + 1) >= 0", f"{names[0]} == 0 or 4 % {names[0]} >= 0 or 4 // ({names[0]} - 1) < 9")
        )
    elif kind == "pred":
        draft.parameters["pred"] = s.pick(f"3 // {names[0]} >= -9", f"(1 << {names[0]}) > 0", f"{names[0]} != 0 and 5 % {names[0]} < 5")
    else:
        others = [a.digits[0] for a in memory.axes[:-1] if a.digits[0].axis == "m" and a.extent > 1]
        if others and memory.space == "global":
            draft.index_dtype = s.pick("int32", "uint32")
            s.pick(*others).stride = draft.unit << s.pick(31, 30, 29)


def made(rng: random.Random, family: str, points: int = POINTS) -> Json:
    """A call document of a family, its mutation (or "") as its id."""
    s = Source(rng, points)
    draft = legal(s, family)
    broken = s.pick(*MUTATIONS) if s.chance(57) else ""
    if broken:
        MUTATIONS[broken](s, draft)
    return document(s, draft) | {"id": broken}


def calls(family: str, points: int = POINTS) -> st.SearchStrategy[Json]:
    """Call documents of a family, for brute force over about so many points."""
    return st.randoms(use_true_random=True).map(lambda rng: made(rng, family, points))


# --- unbounded symbols -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Opening:
    """A start over symbols without bounds: the start and its largest value, the facts that bound it, and ranges to clamp the symbols to."""

    start: str
    high: int
    ranges: dict[str, tuple[int, int]]
    facts: tuple[str, ...] = ()
    steps: tuple[tuple[str, int], ...] = ()


def openings(s: Source, name: str, other: str) -> Opening:
    """A start that stays between 0 and `high`."""
    ring, top, wide = s.pick(4, 2, 3, 5, 8, 7), s.pick(3, 1, 2, 6), {name: (-9, 11)}
    both = {name: (-3, 6), other: (-2, 5)}
    return s.pick(
        Opening(f"{name} % {ring}", ring - 1, wide),
        Opening(f"({name} // 3) % {ring}", ring - 1, wide),
        Opening(
            f"({name} + {other}) % {ring}", ring - 1, both, (f"{name} <= 1000", f"{other} < 77", f"{name} > -1000", f"{other} > -5000")
        ),
        Opening(f"{name} & {s.pick(3, 7, 1)}", 7, wide),
        Opening(f"({name} ^ 5) & 7", 7, wide),
        Opening(f"({name} >> 2) & 3", 3, wide),
        Opening(f"({name} >> 1) % {ring}", ring - 1, wide),
        Opening(f"min(max({name}, 0), {top})", top, wide),
        Opening(f"select({name} < 0, 0, min({name}, {top}))", top, wide),
        Opening(f"max(min({name}, {top}), 0)", top, wide),
        Opening(f"tmod({name}, 4) + 3", 6, wide),
        Opening(f"{name} - {ring} * ({name} // {ring})", ring - 1, wide),
        Opening(f"{name}", top, wide, (f"{name} >= 0", f"{name} <= {top}")),
        Opening(f"{name}", top, wide, (f"0 <= {name} and {name} < {top + 1}",)),
        Opening(f"{name} + 4", 4 + top, wide, (f"not ({name} < -4)", f"{name} <= {top}")),
        Opening(f"{name} // 4", top, {name: (-5, 30)}, (f"{name} >= 0", f"{name} < {4 * top + 4}")),
        Opening(f"{name} // 4 + 2", 2 + top, {name: (-13, 20)}, (f"{name} >= -8", f"{name} <= {4 * top + 1}")),
        Opening(f"{name} // 6", top, {name: (-6, 40)}, (f"{name} >= 0", f"{name} <= {6 * top + 3}"), ((name, 3),)),
        Opening(f"{name} - {other}", top, both, (f"{name} >= {other}", f"{name} - {other} <= {top}")),
        Opening(f"min({name}, {other})", top, both, (f"{name} >= 0 and {other} >= 0", f"{other} <= {top}")),
        Opening(f"(-{name}) // 2", 3, wide, (f"{name} <= 0", f"{name} >= -6")),
        Opening(f"(-{name}) % {ring}", ring - 1, wide),
        Opening(f"{name} * {other}", 6, both, (f"0 <= {name} and {name} <= 3", f"{other} >= 0", f"{other} <= 2")),
        Opening(f"{name} % {other}", ring - 1, both, (f"{other} >= 1", f"{other} <= {ring}")),
        Opening(f"{name} // {other}", top, both, (f"{other} >= 1", f"{name} >= 0", f"{name} <= {top}")),
        Opening(f"tdiv({name}, 2) + 1", 1 + top, wide, (f"{name} > -4", f"{name} < {2 * top + 2}")),
        Opening(f"({name} + warpid) % {ring}", ring - 1, wide, (f"{name} < 9223372036854775800",)),
        Opening(f"({name} % 4) ^ {s.pick(1, 3)}", 3, wide),
        Opening(f"({name} % 2) * 2 + ({name} // 2) % 2", 3, wide),
        Opening(f"select({name} > {other}, {name} - {other}, 0) % {ring}", ring - 1, both, (f"{name} < 50", f"{other} > -50")),
    )


def open_draft(s: Source, family: str) -> tuple[Draft, dict[str, tuple[int, int]]]:
    """A draft whose starts, shape and strides depend on symbols without bounds, and ranges to clamp them to."""
    draft = spelled(s, family)
    who(s, draft)
    busy = len(draft.launch.threads) * (draft.atoms[0] if draft.collective else prod(draft.atoms))
    draft.repeats = s.pick((), (2,), (3,)) if busy <= 128 else ()
    if s.chance(15):
        predicate(s, draft, [])
    register_operand(s, draft)
    memory_operand(s, draft, [])
    memory, ranges = draft.memory, dict[str, tuple[int, int]]()
    for axis in memory.axes:
        axis.begin, axis.room = 0, None
    if draft.collective or memory.space != "global" or s.chance(30):
        chosen = [s.pick(memory.axes[-1], memory.axes[-1], *memory.axes)]
        for axis, names in zip(chosen, (("i", "j"),), strict=True):
            _opened(s, draft, axis, openings(s, *names), ranges)
    else:
        _symbolic(s, draft, ranges)
    if prod(high - low + 1 for low, high in ranges.values()) * busy > 2 * s.points:
        ranges = {name: (max(low, -4), min(high, 5)) for name, (low, high) in ranges.items()}
    memory.weight = prod(high - low + 1 for low, high in ranges.values())
    if any(expression(axis.begin).names & {*COORDINATES, "elected"} for axis in memory.axes):
        memory.weight *= len(draft.launch.threads)
    if s.chance(15):
        name = next(iter(ranges))
        draft.parameters["pred"] = s.pick(f"{name} > -2", f"{name} % 2 == 0", f"{name} < 1000")
    return draft, ranges


def _opened(s: Source, draft: Draft, axis: Axis, opening: Opening, ranges: dict[str, tuple[int, int]]) -> None:
    unit = draft.unit if axis is draft.memory.axes[-1] else 1
    axis.begin, axis.room = times(opening.start, unit), axis.extent + unit * (opening.high + s.pick(0, 0, 1))
    for other in draft.memory.axes[:-1]:
        if axis is draft.memory.axes[-1] and other.digits[0].axis == "m" and s.chance(70):
            other.digits[0].stride = (
                int(other.digits[0].stride) + int(axis.room) - axis.extent if int(other.digits[0].stride) > 0 else other.digits[0].stride
            )
    draft.memory.offset.pop("m", None) if draft.memory.base is None else None
    for other in draft.memory.axes:
        if isinstance(other.digits[0].stride, int) and other.digits[0].stride < 0:
            other.digits[0].stride = -other.digits[0].stride
    for name, clamp in opening.ranges.items():
        ranges[name] = clamp
        draft.symbols.append({"name": name})
        if s.chance(15):
            draft.symbols[-1]["varies"] = s.pick("warp", "cta", "cluster", *(() if draft.collective else ("thread",)))
    for name, step in opening.steps:
        next(d for d in draft.symbols if d["name"] == name)["multiple_of"] = step
    for fact in opening.facts:
        varying = any(d.get("varies", "grid") not in {"grid", "cluster"} for d in draft.symbols)
        (draft.assume if varying or s.chance(60) else draft.guard).append(fact)


def _symbolic(s: Source, draft: Draft, ranges: dict[str, tuple[int, int]]) -> None:
    """A global tensor with a symbolic row length, or a symbolic stride."""
    memory, unit = draft.memory, draft.unit
    memory.offset, memory.swizzles, memory.base, memory.align, memory.spare = {}, [], None, 2 * draft.align_bytes, None
    row, others = memory.axes[-1], memory.axes[:-1]
    for k, axis in enumerate(others):
        axis.digits[0] = Digit(axis.extent, unit * (k + 1), "m")
    if s.chance(60):
        begin, facts = s.pick(
            (f"{unit} * i", ("i >= 0", f"i < n // {unit}")),
            (f"{unit} * i", (f"0 <= i and {unit} * i + {unit} <= n", "i < 4611686018427387904")),
            (f"n - {unit}", (f"n >= {unit}", f"n % {unit} == 0")),
            (f"min({unit} * max(i, 0), n - {unit})", (f"n % {unit} == 0", f"n >= {unit}", "i < 1000")),
        )
        row.begin, row.room = begin, "n"
        names = ["n", *(["i"] if "i" in begin else [])]
        ranges |= {"n": (-1, 4 * unit + 1)} | ({"i": (-2, 6)} if "i" in begin else {})
        draft.assume += facts
        if others and s.chance(85):
            others[0].digits[0].stride = s.pick("n", f"{unit} * n", f"n // {unit} * {unit}", f"n + {unit}")
            if f"n % {unit} == 0" not in draft.assume and s.chance(70):
                draft.assume.append(f"n % {unit} == 0")
    else:
        names = ["ld"]
        axis = s.pick(*others) if others else row
        axis.digits[0].stride = (
            s.pick("ld", f"{unit} * ld", "ld + 0", f"ld // {unit} * {unit}", f"(ld + {unit - 1}) // {unit} * {unit}")
            if axis is not row
            else "ld"
        )
        ranges["ld"] = (-unit, 6 * unit)
        if axis is row:
            draft.assume.append("ld == 1")
        draft.assume += s.pick(
            ("ld >= 0",),
            (f"ld >= {unit}", f"ld % {unit} == 0"),
            (f"ld > 0 and ld % {unit} == 0",),
            ("ld >= 0", f"ld % {2 * unit} == 0"),
            (f"ld % {unit} == 0",),
        )
    draft.symbols += [{"name": name} for name in names]


def break_open(s: Source, draft: Draft) -> None:
    """A start, a fact or an alignment that no longer suffices."""
    memory = draft.memory
    cut = [axis for axis in memory.axes if axis.sliced()]
    kind = s.pick("room", "begin", "fact", "low", "align", "factor")
    axis = s.pick(*(cut or memory.axes))
    if kind == "room" and axis.room is not None:
        axis.grow(-s.pick(1, draft.unit))
    elif kind == "begin" and cut:
        axis.begin = f"{axis.begin} + {s.pick(1, draft.unit)}"
    elif kind == "low" and cut:
        axis.begin = f"{axis.begin} - {s.pick(1, draft.unit)}"
    elif kind == "fact" and (draft.assume or draft.guard):
        facts = draft.assume or draft.guard
        facts.pop(s.number(0, len(facts) - 1))
    elif kind == "factor" and draft.unit > 1 and cut:
        axis.begin = str(axis.begin).replace(f"{draft.unit} * ", f"{draft.unit // 2} * ")
    else:
        memory.align = s.pick(draft.align_bytes // 2, 1) or 1


def opened(rng: random.Random, family: str, points: int = POINTS) -> tuple[Json, Json]:
    """A document with unbounded symbols, and the ranges to clamp them to."""
    s = Source(rng, points)
    draft, ranges = open_draft(s, family)
    broken = s.chance(45)
    if broken:
        break_open(s, draft)
    if s.chance(15):
        draft.index_dtype = s.pick("int32", "int32", "uint32")
    whole = document(s, draft) | {"id": "open, broken" if broken else "open"}
    used = {d["name"] for d in draft.symbols}
    return whole, {
        name: [max(0, low) if draft.index_dtype == "uint32" else low, high] for name, (low, high) in ranges.items() if name in used
    }


def open_calls(family: str, points: int = POINTS) -> st.SearchStrategy[tuple[Json, Json]]:
    """Call documents with unbounded symbols, each with small ranges for them."""
    return st.randoms(use_true_random=True).map(lambda rng: opened(rng, family, points))
