"""Tensors, and views of them through zero-copy steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

from tilecheck.errors import InputError
from tilecheck.layout.dtypes import dtype_bits
from tilecheck.layout.notation import parse_layout
from tilecheck.layout.poly import difference, product, same
from tilecheck.layout.steps import (
    MAX_RANK,
    Broadcast,
    Permute,
    Rearrange,
    Reshape,
    Retype,
    Shape,
    Slice,
    Step,
    map_step,
    shape_text,
    step_from_json,
    step_terms,
)
from tilecheck.layout.tile import Layout, Spec, TileLayout, as_term, base_tile, compact, map_layout
from tilecheck.layout.trace import Location, RetypeCheck, SliceCheck, Trace, trace
from tilecheck.symbolic.terms import Expr, Term

__all__ = [
    "SPACES",
    "Broadcast",
    "Location",
    "Permute",
    "Rearrange",
    "Reshape",
    "Retype",
    "RetypeCheck",
    "Slice",
    "SliceCheck",
    "Step",
    "Tensor",
    "Trace",
    "View",
    "step_from_json",
    "trace",
]

SPACES = ("global", "shared", "register", "local", "tmem", "tensormap")
SYMBOLIC = ("global", "tensormap")
"""The spaces of tensors whose shape and strides may be symbolic."""


class Viewable:
    """What tensors and views share: each method adds one step."""

    __slots__ = ()

    @property
    def parts(self) -> tuple[Tensor, tuple[Step, ...]]:
        """The tensor and the steps."""
        raise NotImplementedError

    @property
    def extents(self) -> Shape:
        """The current shape."""
        raise NotImplementedError

    def then(self, step: Step) -> View:
        """The view after one more step."""
        tensor, steps = self.parts
        return View(tensor, (*steps, step))

    def __getitem__(self, key: object) -> View:
        """`A[n:n+8, :, 3]`: coordinate c is begin + c before it; an integer index keeps the axis with extent 1."""
        items = _filled(_tuple(key), len(self.extents))
        pairs = [_interval(item) for item in items]
        return self.then(Slice(tuple(begin for begin, _ in pairs), tuple(extent for _, extent in pairs)))

    def sub(self, begin: Sequence[object], extent: Sequence[int | None]) -> View:
        """The region that starts at `begin`; a None extent keeps the whole axis."""
        begins = tuple(as_term(one, "a begin") for one in begin)
        return self.then(Slice(begins, tuple(None if one is None else _positive(as_term(one, "an extent")) for one in extent)))

    def permute(self, *order: int | Sequence[int]) -> View:
        """Axis k of the view is axis order[k]."""
        found: list[int] = []
        for one in _flat(order):
            number = as_term(one, "an axis number")
            if not isinstance(number, int):
                raise InputError(f"permute: found {number}, expected an axis number")
            found.append(number)
        return self.then(Permute(tuple(found)))

    def rearrange(self, pattern: str, **sizes: object) -> View:
        """The einops rearrangement of the axes."""
        return self.then(Rearrange(pattern, tuple((name, as_term(size, f"the size of {name}")) for name, size in sizes.items())))

    def reshape(self, *shape: object) -> View:
        """The same row-major index under other extents."""
        return self.then(Reshape(tuple(as_term(one, "an extent") for one in _flat(shape))))

    def view(self, dtype: str) -> View:
        """The same bits along the last axis as another dtype."""
        return self.then(Retype(dtype))

    def broadcast(self, *shape: object) -> View:
        """Unit axes and new leading axes take the extents of `shape`, with stride zero."""
        return self.then(Broadcast(tuple(as_term(one, "an extent") for one in _flat(shape))))


@dataclass(frozen=True, slots=True)
class Tensor(Viewable):
    """A named allocation.

    shape and strides count elements of dtype; align, size_bytes and base = (mod, is) count bytes; the element at
    lexicographic index i lies where `layout` sends i. Tensors of one name in `tensor` share an allocation.
    """

    name: str
    shape: Shape
    dtype: str
    space: str = "global"
    layout: Layout = field(default_factory=TileLayout)
    align: int | None = None
    base: tuple[int, int] | None = None
    size_bytes: Term | None = None
    tensor: str | None = None

    def __init__(
        self,
        name: str,
        shape: Sequence[object],
        dtype: str,
        space: str = "global",
        layout: Layout | Spec | str | None = None,
        align: int | None = None,
        base: tuple[int, int] | None = None,
        size_bytes: Term | None = None,
        tensor: str | None = None,
    ) -> None:
        bits = dtype_bits(dtype)
        if space not in SPACES:
            raise InputError(f"tensor {name}: found the space {space[:60]!r}, expected one of {', '.join(SPACES)}")
        extents = tuple(as_term(one, f"the shape of {name}") for one in shape)
        found = _layout(layout, extents)
        _check_shape(name, extents, found)
        if space not in SYMBOLIC:
            _check_static(name, space, extents, base_tile(found))
        _check_allocation(name, align, base, size_bytes)
        values: dict[str, object] = {"name": name, "shape": extents, "dtype": dtype, "space": space, "layout": found, "base": base}
        values |= {"align": max(1, bits // 8) if align is None else align, "size_bytes": size_bytes, "tensor": tensor}
        for key, value in values.items():
            object.__setattr__(self, key, value)

    @property
    def parts(self) -> tuple[Tensor, tuple[Step, ...]]:
        """The tensor itself and no step."""
        return self, ()

    @property
    def extents(self) -> Shape:
        """The declared shape."""
        return self.shape

    @property
    def bits(self) -> int:
        """Bits of one element."""
        return dtype_bits(self.dtype)


@dataclass(frozen=True, slots=True)
class View(Viewable):
    """A tensor seen through steps, the first one applied first."""

    tensor: Tensor
    steps: tuple[Step, ...] = ()
    _trace: Trace = field(init=False, repr=False, compare=False)
    _symbolic: tuple[Expr, ...] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_trace", trace(self))
        object.__setattr__(self, "_symbolic", None)

    @property
    def parts(self) -> tuple[Tensor, tuple[Step, ...]]:
        """The tensor and the steps."""
        return self.tensor, self.steps

    def map_terms(self, change: Callable[[Term], Term]) -> View:
        """The view with `change` applied to every term of the tensor and of the steps."""
        tensor = self.tensor
        changed = Tensor(
            tensor.name,
            tuple(change(one) for one in tensor.shape),
            tensor.dtype,
            tensor.space,
            map_layout(tensor.layout, change),
            tensor.align,
            tensor.base,
            tensor.size_bytes,
            tensor.tensor,
        )
        return View(changed, tuple(map_step(step, change) for step in self.steps))

    def terms(self) -> tuple[Term, ...]:
        """Every term of the tensor and of the steps, in the order of the document."""
        tile = base_tile(self.tensor.layout)
        found: list[Term] = [*self.tensor.shape]
        for one in (*tile.shard, *tile.replica):
            found += (one.extent, one.stride)
        found += [value for _, value in tile.offset]
        for step in self.steps:
            found += step_terms(step)
        return tuple(found)

    @property
    def symbolic(self) -> tuple[Expr, ...]:
        """The terms that are no plain integers, each once, in the order of the document."""
        if self._symbolic is None:
            found = dict.fromkeys(term for term in self.terms() if isinstance(term, Expr))
            object.__setattr__(self, "_symbolic", tuple(found))
        return self._symbolic or ()

    @property
    def trace(self) -> Trace:
        """The view as a function, its terms as written."""
        return self._trace

    @property
    def shape(self) -> Shape:
        """The shape after the last step."""
        return self._trace.shape

    @property
    def extents(self) -> Shape:
        """The shape after the last step."""
        return self._trace.shape

    @property
    def dtype(self) -> str:
        """The dtype after the last step."""
        return self._trace.dtype


def _layout(layout: Layout | Spec | str | None, shape: Shape) -> Layout:
    if layout is None:
        return compact(shape)
    if isinstance(layout, str):
        return parse_layout(layout)
    return TileLayout(layout) if isinstance(layout, Spec) else layout


def _check_shape(name: str, shape: Shape, layout: Layout) -> None:
    if len(shape) > MAX_RANK:
        raise InputError(f"tensor {name}: found rank {len(shape)}, expected at most {MAX_RANK}")
    for one in shape:
        if isinstance(one, int) and one < 1:
            raise InputError(f"tensor {name}: found the extent {one}, expected at least 1")
    extents = tuple(one.extent for one in base_tile(layout).shard)
    if not same(product(extents), product(shape)):
        raise InputError(
            f"tensor {name}: found a layout of {shape_text(extents)} = {product(extents)} elements, "
            f"expected {product(shape)}, those of the shape {shape_text(shape)}"
        )


def _check_static(name: str, space: str, shape: Shape, tile: TileLayout) -> None:
    terms = [*shape, *(value for _, value in tile.offset)]
    for one in (*tile.shard, *tile.replica):
        terms += [one.extent, one.stride]
    for term in terms:
        if isinstance(term, Expr):
            raise InputError(
                f"tensor {name}: found the symbolic {term} in {space} space, expected an integer (only global tensors and tensor maps may be symbolic)"
            )


def _check_allocation(name: str, align: int | None, base: tuple[int, int] | None, size_bytes: Term | None) -> None:
    if align is not None and align < 1:
        raise InputError(f"tensor {name}: found align {align}, expected at least 1 byte")
    if isinstance(size_bytes, int) and size_bytes < 0:
        raise InputError(f"tensor {name}: found size_bytes {size_bytes}, expected at least 0")
    if base is not None and not 0 <= base[1] < base[0]:
        raise InputError(f"tensor {name}: found base {base[1]} mod {base[0]}, expected 0 <= is < mod")


def _tuple(key: object) -> tuple[object, ...]:
    return key if isinstance(key, tuple) else (key,)  # pyright: ignore[reportUnknownVariableType]


def _flat(items: Sequence[object]) -> Sequence[object]:
    """One sequence given alone stands for its items."""
    if len(items) == 1 and isinstance(items[0], list | tuple):
        return tuple(items[0])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return items


def _filled(items: tuple[object, ...], rank: int) -> list[object]:
    """The index with its ellipsis, or its end, filled with whole axes."""
    at = next((k for k, item in enumerate(items) if item is Ellipsis), len(items))
    given = [item for item in items if item is not Ellipsis]
    if len(given) > rank or len(items) - len(given) > 1:
        raise InputError(f"found an index of {len(items)} entries, expected at most {rank}, the rank (and one ellipsis)")
    return [*given[:at], *[slice(None)] * (rank - len(given)), *given[at:]]


def _interval(item: object) -> tuple[Term, int | None]:
    """(begin, extent) of one index entry."""
    if not isinstance(item, slice):
        return as_term(item, "an index"), 1
    item = cast("slice[object, object, object]", item)
    if item.step is not None:
        raise InputError("found a step in a slice, expected begin:end (reshape and slice, or permute, for strided parts)")
    begin = 0 if item.start is None else as_term(item.start, "a begin")
    if item.stop is None:
        if isinstance(begin, int) and begin == 0:
            return 0, None
        raise InputError(f"found the slice {begin}: without an end, expected one: the extent must be a positive integer")
    return begin, _positive(difference(as_term(item.stop, "an end"), begin))


def _positive(extent: Term) -> int:
    if not isinstance(extent, int) or extent < 1:
        raise InputError(f"found the extent {extent}, expected a positive integer")
    return extent
