"""Call documents read on their own terms: expressions, layouts, view steps, executing threads. Imports nothing of tilecheck."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from tests.simulator.cute import Numbers

Values = Mapping[str, Any]
"""Symbols and hardware coordinates; numbers or arrays."""
OPERATORS = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.BitXor: lambda a, b: a ^ b,
    ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b,
    ast.LShift: lambda a, b: a << b,
    ast.RShift: lambda a, b: a >> b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
}


class UnreadableError(Exception):
    """A document that this reader cannot carry out: a shape that does not fit, a step that cannot be taken."""


@cache
def parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def value(term: Any, values: Values) -> Any:
    """The value of an expression."""
    return evaluated(parsed(term), values) if isinstance(term, str) else term


def evaluated(node: ast.expr, values: Values) -> Any:
    match node:
        case ast.Constant(value=number):
            return number
        case ast.Name(id=name):
            return values[name]
        case ast.BinOp(left=left, op=operator, right=right):
            return OPERATORS[type(operator)](evaluated(left, values), evaluated(right, values))
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return OPERATORS[type(operator)](evaluated(left, values), evaluated(right, values))
        case ast.BoolOp(op=operator, values=terms):
            return reduce(np.logical_and if isinstance(operator, ast.And) else np.logical_or, [evaluated(term, values) for term in terms])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -evaluated(operand, values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return np.logical_not(evaluated(operand, values))
    raise UnreadableError(ast.dump(node))


def bits_of(dtype: str) -> int:
    return int(re.search(r"(\d+)", dtype)[1])  # float8_e4m3fn, float4_e2m1fn, bits32 and int8 all name their width first


def numpy_type(dtype: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, dtype) if hasattr(ml_dtypes, dtype) else dtype)


FACTORS = re.compile(r"([SR])\[\(?([^:\]]*?)\)?:\(?([^\]]*?)\)?\]")
SWIZZLES = re.compile(r"Swizzle\((\d+),\s*(\d+),\s*(\d+)\)\s*o\s*")


@dataclass(frozen=True)
class Pieces:
    """A layout as written: swizzles in order of writing, (extent, stride, axis) of shards and replicas, offsets."""

    swizzles: tuple[tuple[int, ...], ...]
    shards: tuple[tuple[int, int, str], ...]
    replicas: tuple[tuple[int, int, str], ...]
    offsets: tuple[tuple[int, str], ...]


@cache
def read_layout(text: str) -> Pieces:
    swizzles = tuple(tuple(map(int, found)) for found in SWIZZLES.findall(text))
    kinds: dict[str, tuple[tuple[int, int, str], ...]] = {"S": (), "R": ()}
    for kind, extents, strides in FACTORS.findall(text):
        steps = [step.partition("@") for step in strides.split(",")]
        kinds[kind] = tuple((int(n), int(s[0]), s[2] or "m") for n, s in zip(extents.split(","), steps, strict=True))
    offsets = tuple(
        (int(sign + number), axis or "m")
        for sign, number, axis in re.findall(r"([+-])\s*(\d+)(?:@(\w+))?\s*(?=$|[+-])", FACTORS.sub("", text))
    )
    return Pieces(swizzles, kinds["S"], kinds["R"], offsets)


def split(linear: Numbers, shape: Sequence[int]) -> list[Numbers]:
    """Row-major coordinates; the first one goes on past its extent."""
    found: list[Numbers] = []
    for extent in reversed(shape[1:]):
        found.insert(0, linear % extent)
        linear = linear // extent
    return [linear, *found]


def joined(coordinates: Sequence[Numbers], shape: Sequence[int]) -> Numbers:
    total = np.zeros((), dtype=np.int64)
    for at, extent in zip(coordinates, shape, strict=True):
        total = total * extent + at
    return total


@dataclass(frozen=True)
class Rearrangement:
    """An einops pattern over known extents: the names of each axis on both sides."""

    left: tuple[tuple[str, ...], ...]
    right: tuple[tuple[str, ...], ...]
    extents: Mapping[str, int]

    @classmethod
    def read(cls, pattern: str, sizes: Mapping[str, int], shape: Sequence[int]) -> Rearrangement:
        left, right = (
            tuple(tuple((group or single).split()) for group, single in re.findall(r"\(([^)]*)\)|(\S+)", side))
            for side in pattern.split("->")
        )
        extents = {"1": 1, **sizes}
        for names, extent in zip(left, shape, strict=True):
            known = prod(extents[name] for name in names if name in extents)
            for name in names:
                extents.setdefault(name, extent // known)
            if prod(extents[name] for name in names) != extent:
                raise UnreadableError(pattern)
        return cls(left, right, extents)

    def shape(self) -> list[int]:
        return [prod(self.extents[name] for name in names) for names in self.right]

    def back(self, coordinates: Sequence[Numbers]) -> list[Numbers]:
        """The coordinates on the left of those on the right."""
        found: dict[str, Numbers] = {"1": np.zeros((), dtype=np.int64)}
        for names, at in zip(self.right, coordinates, strict=True):
            if names:
                found |= zip(names, split(at, [self.extents[name] for name in names]), strict=True)
        return [joined([found[name] for name in names], [self.extents[name] for name in names]) for names in self.left]


class Operand:
    """A view of an allocation: where each of its elements lies, in bits on `m` and in units on the other axes."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.name: str = document["name"]
        self.tensor: str = document.get("tensor", self.name)
        self.space: str = document["space"]
        self.declared: str = document["dtype"]
        self.layout = read_layout(document["layout"])
        self.align: int = document.get("align", max(1, bits_of(self.declared) // 8))
        self.size_bytes: int | None = document.get("size_bytes")
        self.shapes: list[list[int]] = [document["shape"]]
        self.steps: list[tuple[Any, ...]] = []
        self.dtype = self.declared
        for step in document.get("view", []):
            self.take(step, self.shapes[-1])

    @property
    def shape(self) -> list[int]:
        return self.shapes[-1]

    @property
    def bits(self) -> int:
        return bits_of(self.dtype)

    @property
    def replicas(self) -> int:
        return prod(extent for extent, _, _ in self.layout.replicas)

    def take(self, step: Mapping[str, Any], shape: list[int]) -> None:
        """Notes a view step and the shape behind it."""
        match step["op"]:
            case "slice":
                self.steps.append(("slice", step["begin"]))
                self.shapes.append([have if want is None else want for have, want in zip(shape, step["extent"], strict=True)])
            case "permute":
                self.steps.append(("permute", step["order"]))
                self.shapes.append([shape[k] for k in step["order"]])
            case "reshape":
                self.steps.append(("reshape", shape, step["shape"]))
                self.shapes.append(list(step["shape"]))
            case "rearrange":
                found = Rearrangement.read(step["pattern"], step.get("sizes", {}), shape)
                self.steps.append(("rearrange", found))
                self.shapes.append(found.shape())
            case "view":
                before, self.dtype = self.dtype, step["dtype"]
                old, new = bits_of(before), bits_of(self.dtype)
                self.steps.append(("view", old, new))
                self.shapes.append([*shape[:-1], shape[-1] * old // new])
            case other:
                raise UnreadableError(other)

    def place(self, coordinates: Sequence[Any], values: Values, replica: int = 0) -> dict[str, Numbers]:
        """Where elements lie: axis -> position, `m` in bits."""
        at, rest = [np.asarray(c, dtype=np.int64) for c in coordinates], np.zeros((), dtype=np.int64)
        for step in reversed(self.steps):
            match step:
                case ("slice", begin):
                    at = [c + value(b, values) for c, b in zip(at, begin, strict=True)]
                case ("permute", order):
                    at = [at[order.index(k)] for k in range(len(order))]
                case ("reshape", old, new):
                    at = split(joined(at, new), old)
                case ("rearrange", found):
                    at = found.back(at)
                case ("view", old, new) if new >= old:
                    at = [*at[:-1], at[-1] * (new // old)]
                case ("view", old, new):
                    rest = rest + at[-1] % (old // new) * new
                    at = [*at[:-1], at[-1] // (old // new)]
        return self.stored(joined(at, self.shapes[0]), rest, replica)

    def stored(self, linear: Numbers, rest: Numbers, replica: int) -> dict[str, Numbers]:
        """Where the declared layout puts an element."""
        layout = self.layout
        found: dict[str, Numbers] = {"m": np.zeros((), dtype=np.int64)}
        terms = [
            (at * stride, axis)
            for at, (_, stride, axis) in zip(split(linear, [n for n, _, _ in layout.shards]), layout.shards, strict=True)
        ]
        copies = split(np.asarray(replica), [n for n, _, _ in layout.replicas]) if layout.replicas else []
        terms += [(at * stride, axis) for at, (_, stride, axis) in zip(copies, layout.replicas, strict=True)]
        for term, axis in [*terms, *layout.offsets]:
            found[axis] = found.get(axis, 0) + term
        m = found["m"]
        for keep, length, distance in reversed(layout.swizzles):
            m = m ^ ((((m >> keep) >> distance) & ((1 << length) - 1)) << keep)
        return found | {"m": m * bits_of(self.declared) + rest}

    @cached_property
    def span(self) -> int:
        """Bytes from the base behind the last element of the declared layout."""
        ends = self.stored(np.arange(prod(self.shapes[0])), np.zeros((), dtype=np.int64), 0)["m"]
        return (int(np.max(ends)) + bits_of(self.declared) + 7) // 8


@dataclass(frozen=True)
class Issue:
    """What executes a call together: the threads of one CTA, by group coordinate."""

    cta: int
    group: tuple[Numbers, ...]
    threads: Numbers
    values: Values


class Document:
    """A call: its operands, its parameters and who executes it."""

    def __init__(self, call: Mapping[str, Any]) -> None:
        self.call = call
        self.opcode: str = call["opcode"]
        self.operands = [Operand(o) for o in call["operands"] if "space" in o]
        self.parameters: Mapping[str, Any] = call.get("parameters", {})
        self.scope: str = call["scope"]
        self.threads = prod(call["launch"]["block"])
        self.ctas = prod(call["launch"].get("cluster") or [1])

    def active(self, symbols: Values, cta: int) -> Iterator[tuple[Numbers, dict[str, Any]]]:
        """The executing threads of each instance of the scope in a CTA, and their coordinates."""
        linear = np.arange(self.threads)
        own: dict[str, Any] = {
            "tx": linear,
            "warpid": linear // 32,
            "laneid": linear % 32,
            "wid_in_wg": linear // 32 % 4,
            "wgid": linear // 128,
        }
        own |= {"tid_in_wg": linear % 128, "cbx": cta, "cby": 0, "cbz": 0, "elected": linear % 32 == 0, **symbols}
        runs = np.broadcast_to(np.asarray(value(self.call.get("guard") or "1 == 1", own), dtype=bool), linear.shape)
        sizes = {"thread": 1, "warp": 32, "warpgroup": 128}
        for threads in np.split(linear, range(sizes.get(self.scope, self.threads), self.threads, sizes.get(self.scope, self.threads))):
            chosen = threads[runs[threads]]
            if chosen.size:
                yield chosen, {name: v[chosen] if isinstance(v, np.ndarray) else v for name, v in own.items()}

    def issues(self, symbols: Values, *, collective: bool) -> Iterator[Issue]:
        """One for each instance of the scope; group coordinates count active warps and lanes. Threads that all issue one mma or cp count once."""
        once = self.scope == "thread" and self.opcode.startswith(("tcgen05.mma.", "tcgen05.cp."))
        found = self.every(symbols, collective=collective)
        if not once:
            yield from found
            return
        seen: set[int] = set()
        for issue in found:
            who = issue.cta // (2 if "cta_group::2" in self.opcode else 1)
            if who not in seen:
                yield issue
            seen.add(who)

    def every(self, symbols: Values, *, collective: bool) -> Iterator[Issue]:
        """Every instance of the scope."""
        for cta in range(self.ctas):
            for threads, values in self.active(symbols, cta):
                warps, warp = np.unique(threads // 32, return_inverse=True)
                if collective and self.scope == "thread":
                    raise UnreadableError("a warp executes this together")
                lanes = np.concatenate([np.arange(np.count_nonzero(threads // 32 == w)) for w in warps])
                if collective:
                    first = np.searchsorted(threads // 32, warps)
                    group = () if self.scope == "warp" else (np.arange(len(warps)),)
                    yield Issue(cta, group, warps, {n: v[first] if isinstance(v, np.ndarray) else v for n, v in values.items()})
                else:
                    group = {"thread": (), "warp": (lanes,)}.get(self.scope, (warp, lanes))
                    yield Issue(cta, group, threads, values)


def grid(extents: Sequence[int]) -> list[Numbers]:
    """The coordinates of a box, one array for each axis."""
    return list(np.indices(tuple(extents), dtype=np.int64)) if extents else []
