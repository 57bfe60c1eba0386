"""Layouts: `Swizzle(p, s, a[, outer]) o ... o S[extents:strides] + R[extents:strides] + offset`, read and evaluated with plain ints.

A logical coordinate is counted row-major over the tensor's shape, split row-major over the extents of S, and each digit times
its stride adds to the value of the stride's axis; `m` is the storage offset in elements, which the swizzles then permute.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tilecheck.evaluate.expressions import Expression

OPENING, CLOSING = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Swizzle:
    """c ^ ((c >> atom) & mask) (inner), or c ^ ((c & mask) << atom) (outer), for c = m >> per_element; the low bits of m stay."""

    per_element: int
    length: int
    atom: int
    outer: bool

    def apply(self, m: int) -> int:
        """The permuted offset."""
        c = m >> self.per_element
        mask = (1 << self.length) - 1
        c ^= ((c & mask) << self.atom) if self.outer else ((c >> self.atom) & mask)
        return (c << self.per_element) | (m & ((1 << self.per_element) - 1))

    @property
    def period_bits(self) -> int:
        """Bits of m at and above this one never change."""
        return self.per_element + self.atom + self.length


@dataclass(frozen=True, slots=True)
class Factor:
    """One digit: its extent, and what one step adds to an axis."""

    extent: Expression
    stride: Expression
    axis: str


@dataclass(frozen=True, slots=True)
class Layout:
    """A layout as written; `fixed` gives it numbers."""

    shards: tuple[Factor, ...]
    replicas: tuple[Factor, ...]
    offsets: tuple[tuple[Expression, str], ...]
    swizzles: tuple[Swizzle, ...]

    def expressions(self) -> Iterator[Expression]:
        """Every extent, stride and offset."""
        for factor in (*self.shards, *self.replicas):
            yield factor.extent
            yield factor.stride
        for offset, _ in self.offsets:
            yield offset

    def fixed(self, values: Mapping[str, int], shape: Sequence[int]) -> FixedLayout:
        """The layout of a tensor of this shape under an assignment of its symbols."""
        offsets: dict[str, int] = {}
        for offset, axis in self.offsets:
            offsets[axis] = offsets.get(axis, 0) + offset.value(values)
        return FixedLayout(
            tuple((f.extent.value(values), f.stride.value(values), f.axis) for f in self.shards),
            tuple((f.extent.value(values), f.stride.value(values), f.axis) for f in self.replicas),
            offsets,
            self.swizzles,
            tuple(shape),
        )


Digit = tuple[int, int, str]


@dataclass(slots=True)
class FixedLayout:
    """A layout in numbers: digits (extent, stride, axis)."""

    shards: tuple[Digit, ...]
    replicas: tuple[Digit, ...]
    offsets: dict[str, int]
    swizzles: tuple[Swizzle, ...]
    shape: tuple[int, ...]
    blocks: list[tuple[list[int], list[int]]] = field(init=False)
    strides: dict[str, list[tuple[int, int]]] = field(init=False)

    def __post_init__(self) -> None:
        self.blocks = align(self.shape, [extent for extent, _, _ in self.shards])
        self.strides = {}
        for factor, (_, stride, axis) in enumerate(self.shards):
            self.strides.setdefault(axis, []).append((factor, stride))

    def digits(self, coordinate: Sequence[int]) -> list[int]:
        """The digits of a coordinate; one outside the shape runs on in the leading digit of its block."""
        found = [0] * len(self.shards)
        for axes, factors in self.blocks:
            index = coordinate[axes[0]]
            for axis in axes[1:]:
                index = index * self.shape[axis] + coordinate[axis]
            for factor in reversed(factors[1:]):
                extent = max(self.shards[factor][0], 1)
                index, found[factor] = index // extent, index % extent
            if factors:
                found[factors[0]] = index
        return found

    def value(self, coordinate: Sequence[int], axis: str) -> int:
        """What the layout says of one axis, before swizzles and without replicas."""
        digits = self.digits(coordinate)
        return self.offsets.get(axis, 0) + sum(digits[factor] * stride for factor, stride in self.strides.get(axis, ()))

    def swizzled(self, m: int) -> int:
        """The storage offset after all swizzles, the rightmost written acting first."""
        for swizzle in self.swizzles:
            m = swizzle.apply(m)
        return m

    def axes(self) -> set[str]:
        """The axes other than m that are written: a digit of extent > 1 and stride != 0, or a non-zero offset."""
        written = {axis for extent, stride, axis in (*self.shards, *self.replicas) if extent > 1 and stride != 0}
        return (written | {axis for axis, value in self.offsets.items() if value}) - {"m"}

    def copies(self) -> Iterator[dict[str, int]]:
        """For each replica, what it adds to each axis; the first adds nothing."""
        for digits in itertools.product(*(range(extent) for extent, _, _ in self.replicas)):
            shift: dict[str, int] = {}
            for digit, (_, stride, axis) in zip(digits, self.replicas, strict=True):
                shift[axis] = shift.get(axis, 0) + digit * stride
            yield shift

    def plain_span(self) -> int:
        """Elements from the base to the last one, before swizzles; 0 for an empty tensor."""
        digits = [digit for digit in (*self.shards, *self.replicas) if digit[2] == "m"]
        if any(extent <= 0 for extent, _, _ in self.shards):
            return 0
        return self.offsets.get("m", 0) + sum((extent - 1) * max(stride, 0) for extent, stride, _ in digits) + 1

    def span(self) -> int:
        """Elements from the base to the last one, through the swizzles.

        A swizzle leaves the bits above its period alone, so the last element is among those in the last period.
        """
        plain = self.plain_span()
        if not self.swizzles or plain <= 0:
            return plain
        period = max(swizzle.period_bits for swizzle in self.swizzles)
        threshold = (plain - 1) >> period << period
        digits = sorted((d for d in (*self.shards, *self.replicas) if d[2] == "m" and d[1] and d[0] > 1), key=lambda d: -abs(d[1]))
        rest = sum((extent - 1) * max(stride, 0) for extent, stride, _ in digits)
        sums = {self.offsets.get("m", 0)}
        for extent, stride, _ in digits:
            rest -= (extent - 1) * max(stride, 0)
            order = range(extent - 1, -1, -1) if stride > 0 else range(extent)
            sums = {total for base in sums for total in _while_at_least(threshold - rest, base, stride, order)}
        return max(self.swizzled(m) for m in sums) + 1


def _while_at_least(bound: int, base: int, stride: int, order: range) -> Iterator[int]:
    for k in order:
        if base + k * stride < bound:
            return
        yield base + k * stride


NO_DIVISOR = (1 << 61) - 1
"""A prime that stands for an extent of 0 where axes and digits are matched: digits of an axis are then those of any other extent."""


def align(shape: Sequence[int], factors: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The smallest runs of axes and digits with equal products: [(axes, digits)], both row-major; where there are no elements, at most one run of all."""
    if 0 not in shape or 0 not in factors:
        return _aligned(shape, factors)
    try:
        return _aligned([extent or NO_DIVISOR for extent in shape], [extent or NO_DIVISOR for extent in factors])
    except ValueError:
        return [(list(range(len(shape))), list(range(len(factors))))]


def _aligned(shape: Sequence[int], factors: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    blocks: list[tuple[list[int], list[int]]] = []
    axis = factor = 0
    while axis < len(shape) and factor < len(factors):
        axes, digits, left, right = [axis], [factor], shape[axis], factors[factor]
        axis, factor = axis + 1, factor + 1
        while left != right and (axis < len(shape) if left < right else factor < len(factors)):
            if left < right:
                left, axes, axis = left * shape[axis], [*axes, axis], axis + 1
            else:
                right, digits, factor = right * factors[factor], [*digits, factor], factor + 1
        if left != right:
            raise ValueError(f"the layout's extents {list(factors)} do not make up the shape {list(shape)}")
        blocks.append((axes, digits))
    return blocks


def parse_layout(text: str) -> Layout:
    """The layout that a text writes."""
    rest, swizzles = text.strip(), list[Swizzle]()
    while match := re.match(r"Swizzle\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*(?:,\s*(inner|outer)\s*)?\)\s*o\s*", rest):
        swizzles.append(Swizzle(int(match[1]), int(match[2]), int(match[3]), match[4] == "outer"))
        rest = rest[match.end() :]
    shards, replicas, offsets = list[Factor](), list[Factor](), list[tuple[Expression, str]]()
    for sign, part in summands(rest):
        body = re.fullmatch(r"([SR])\s*\[(.*)\]", part.strip(), re.DOTALL)
        if body is None or sign == "-":
            offsets.append(_on_axis(part if sign == "+" else f"-({_closed(part)}"))
        else:
            (shards if body[1] == "S" else replicas).extend(_factors(body[2]))
    return Layout(tuple(shards), tuple(replicas), tuple(offsets), tuple(reversed(swizzles)))


def summands(text: str) -> list[tuple[str, str]]:
    """The terms of a sum with their signs: + and - outside all brackets, where they stand between two terms."""
    found, depth, sign, start = list[tuple[str, str]](), 0, "+", 0
    for position, character in enumerate(text):
        depth += (character in OPENING) - (character in CLOSING)
        before = text[start:position].strip()
        if character in "+-" and depth == 0 and before and before[-1] not in "+-*/%&|^<>":
            found.append((sign, text[start:position]))
            sign, start = character, position + 1
    return [*found, (sign, text[start:])]


def _closed(part: str) -> str:
    value, *axis = split(part, "@")
    return f"{value})" + "".join(f"@{name}" for name in axis)


def split(text: str, separator: str) -> list[str]:
    """The parts of a text between separators outside all brackets."""
    parts, depth, start = list[str](), 0, 0
    for position, character in enumerate(text):
        depth += (character in OPENING) - (character in CLOSING)
        if character == separator and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


def _factors(body: str) -> list[Factor]:
    extents, *strides = [_items(part) for part in split(body, ":")]
    if not strides:
        compact = ["*".join(f"({extent})" for extent in extents[k + 1 :]) or "1" for k in range(len(extents))]
        strides = [compact]
    if len(strides) != 1 or len(strides[0]) != len(extents):
        raise ValueError(f"{body!r} has not one stride for each extent")
    return [Factor(_integer(extent), *_on_axis(stride)) for extent, stride in zip(extents, strides[0], strict=True)]


def _items(text: str) -> list[str]:
    inner = text.strip()
    if inner.startswith("(") and _closing(inner) == len(inner) - 1:
        inner = inner[1:-1]
    return [item.strip() for item in split(inner, ",") if item.strip()]


def _closing(text: str) -> int:
    """Where the bracket that opens a text closes."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character in OPENING) - (character in CLOSING)
        if depth == 0:
            return position
    return -1


def _on_axis(text: str) -> tuple[Expression, str]:
    value, *axis = split(text, "@")
    return _integer(value), axis[0].strip() if axis else "m"


def _integer(text: str) -> Expression:
    text = text.strip()
    return Expression(int(text) if re.fullmatch(r"-?\d+", text) else text)
