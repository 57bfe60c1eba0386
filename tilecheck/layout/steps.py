"""The zero-copy steps of a view as data, their JSON forms, and the shape each one makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tilecheck.errors import InputError
from tilecheck.layout.dtypes import dtype_bits
from tilecheck.layout.pattern import fit
from tilecheck.layout.poly import product, quotient, same
from tilecheck.layout.tile import as_term
from tilecheck.symbolic.show import show
from tilecheck.symbolic.terms import Term, eq, floordiv, mod, mul

MAX_RANK = 64

Shape = tuple[Term, ...]
Json = dict[str, object]


def json_term(term: Term) -> int | str:
    """A term in a JSON document: an int, or the text that `symbolic.parse` reads back."""
    return term if isinstance(term, int) else show(term)


def shape_text(shape: Sequence[Term]) -> str:
    """`(2, n, 4)`."""
    return f"({', '.join(str(extent) for extent in shape)})"


@dataclass(frozen=True, slots=True)
class Slice:
    """Coordinate c of the view is begin + c before it; a None extent keeps the whole extent, whatever the begin."""

    begin: tuple[Term, ...]
    extent: tuple[int | None, ...]

    def to_json(self) -> Json:
        """The step of the call document."""
        return {"op": "slice", "begin": [json_term(one) for one in self.begin], "extent": list(self.extent)}

    def after(self, shape: Shape, _bits: int) -> Shape:
        """The shape: each extent where given, else the old one."""
        if not len(self.begin) == len(self.extent) == len(shape):
            raise InputError(
                f"slice: found {len(self.begin)} begins and {len(self.extent)} extents, expected {len(shape)} each, one an axis"
            )
        for one in self.extent:
            if one is not None and one < 1:
                raise InputError(f"slice: found the extent {one}, expected at least 1")
        return tuple(old if new is None else new for new, old in zip(self.extent, shape, strict=True))


@dataclass(frozen=True, slots=True)
class Permute:
    """Axis k of the view is axis order[k] before it."""

    order: tuple[int, ...]

    def to_json(self) -> Json:
        """The step of the call document."""
        return {"op": "permute", "order": list(self.order)}

    def after(self, shape: Shape, _bits: int) -> Shape:
        """The extents in their new order."""
        if sorted(self.order) != list(range(len(shape))):
            raise InputError(
                f"permute: found the order {list(self.order)}, expected each of 0 to {len(shape) - 1} once"
                if shape
                else f"permute: found the order {list(self.order)}, expected [] for rank 0"
            )
        return tuple(shape[k] for k in self.order)


@dataclass(frozen=True, slots=True)
class Rearrange:
    """An einops pattern: axes are split row-major, reordered and joined row-major."""

    pattern: str
    sizes: tuple[tuple[str, Term], ...] = ()

    def to_json(self) -> Json:
        """The step of the call document."""
        return {"op": "rearrange", "pattern": self.pattern, "sizes": {name: json_term(size) for name, size in self.sizes}}

    def after(self, shape: Shape, _bits: int) -> Shape:
        """The extents of the right side."""
        return fit(self.pattern, shape, dict(self.sizes)).shape


@dataclass(frozen=True, slots=True)
class Reshape:
    """The same row-major index under other extents."""

    shape: tuple[Term, ...]

    def to_json(self) -> Json:
        """The step of the call document."""
        return {"op": "reshape", "shape": [json_term(one) for one in self.shape]}

    def after(self, shape: Shape, _bits: int) -> Shape:
        """The new extents, whose product is the old one."""
        for one in self.shape:
            if isinstance(one, int) and one < 1:
                raise InputError(f"reshape: found the extent {one}, expected at least 1")
        if not same(product(self.shape), product(shape)):
            raise InputError(
                f"reshape: found {shape_text(self.shape)} of {product(self.shape)} elements, expected {product(shape)}, those of {shape_text(shape)}"
            )
        return self.shape


@dataclass(frozen=True, slots=True)
class Retype:
    """The same bits read as another dtype along the last axis, low bits first."""

    dtype: str

    def to_json(self) -> Json:
        """The step of the call document."""
        return {"op": "view", "dtype": self.dtype}

    def after(self, shape: Shape, bits: int) -> Shape:
        """The last extent times old bits over new bits; where that is no integer, a best effort (`refusal` says why)."""
        new = dtype_bits(self.dtype)
        if new == bits or not shape:
            return shape
        scaled = mul(shape[-1], bits)
        exact = quotient(scaled, new)
        if exact is None:
            exact = max(1, scaled // new) if isinstance(scaled, int) else floordiv(scaled, new)
        return (*shape[:-1], exact)

    def divisible(self, shape: Shape, bits: int) -> Term:
        """The truth term: the last axis holds a whole number of new elements."""
        new = dtype_bits(self.dtype)
        if new <= bits or not shape or new % bits:
            return True
        return True if quotient(shape[-1], new // bits) is not None else eq(mod(shape[-1], new // bits), 0)

    def refusal(self, shape: Shape, bits: int) -> str | None:
        """Why the step has no shape, as a sentence; None when it has one (or may have)."""
        new = dtype_bits(self.dtype)
        if new == bits:
            return None
        if not shape:
            return f"a view of rank 0 has no last axis to read as {self.dtype}"
        if new % bits and bits % new:
            return f"elements of {bits} bits do not make up elements of {new} bits ({self.dtype}) without splitting bits"
        if self.divisible(shape, bits) is False:
            return f"the last axis has extent {shape[-1]}, which is no multiple of {new // bits}: {new // bits} elements of {bits} bits make one {self.dtype}"
        return None


@dataclass(frozen=True, slots=True)
class Broadcast:
    """Unit axes take the new extent and new axes stand in front, all with stride zero."""

    shape: tuple[Term, ...]

    def to_json(self) -> Json:
        """The step of the call document."""
        return {"op": "broadcast", "shape": [json_term(one) for one in self.shape]}

    def after(self, shape: Shape, _bits: int) -> Shape:
        """The new extents."""
        front = len(self.shape) - len(shape)
        if front < 0:
            raise InputError(f"broadcast: found {shape_text(self.shape)} of rank {len(self.shape)}, expected at least rank {len(shape)}")
        for new, old in zip(self.shape, (1,) * front + shape, strict=True):
            if isinstance(new, int) and new < 1:
                raise InputError(f"broadcast: found the extent {new}, expected at least 1")
            if not (isinstance(old, int) and old == 1) and not same(new, old):
                raise InputError(
                    f"broadcast: found {shape_text(self.shape)}, expected {old} where {shape_text(shape)} has it (only extent 1 can grow)"
                )
        return self.shape


Step = Slice | Permute | Rearrange | Reshape | Retype | Broadcast


def step_terms(step: Step) -> tuple[Term, ...]:
    """Every term of a step, in the order of the document."""
    if isinstance(step, Slice):
        return step.begin
    if isinstance(step, Rearrange):
        return tuple(size for _, size in step.sizes)
    return step.shape if isinstance(step, Reshape | Broadcast) else ()


def map_step(step: Step, change: Callable[[Term], Term]) -> Step:
    """The step with `change` applied to every term in it."""
    if isinstance(step, Slice):
        return Slice(tuple(change(one) for one in step.begin), step.extent)
    if isinstance(step, Rearrange):
        return Rearrange(step.pattern, tuple((name, change(size)) for name, size in step.sizes))
    if isinstance(step, Reshape):
        return Reshape(tuple(change(one) for one in step.shape))
    if isinstance(step, Broadcast):
        return Broadcast(tuple(change(one) for one in step.shape))
    return step


_KEYS: dict[str, tuple[str, ...]] = {
    "slice": ("begin", "extent"),
    "permute": ("order",),
    "rearrange": ("pattern", "sizes"),
    "reshape": ("shape",),
    "view": ("dtype",),
    "broadcast": ("shape",),
}


def step_from_json(obj: object, path: str) -> Step:
    """The step that a JSON object writes; an InputError carries the path of the entry that is wrong."""
    if not isinstance(obj, dict):
        raise InputError(f"found {_kind(obj)}, expected a view step, an object with `op`", path=path)
    entries: dict[str, object] = {str(key): value for key, value in obj.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    op = entries.pop("op", None)
    if not isinstance(op, str) or op not in _KEYS:
        raise InputError(f"found {_kind(op)}, expected one of {', '.join(_KEYS)}", path=f"{path}.op")
    for key in entries:
        if key not in _KEYS[op]:
            raise InputError(f"found an unknown key, expected {' and '.join(_KEYS[op])}", path=f"{path}.{key[:60]}")
    for key in _KEYS[op]:
        if key not in entries and key != "sizes":
            raise InputError(f"found no {key}, expected one in a {op} step", path=path)
    if op == "slice":
        return Slice(_terms(entries["begin"], f"{path}.begin"), _extents(entries["extent"], f"{path}.extent"))
    if op == "permute":
        return Permute(tuple(_integer(one, f"{path}.order[{k}]") for k, one in enumerate(_list(entries["order"], f"{path}.order"))))
    if op == "rearrange":
        return Rearrange(_string(entries["pattern"], f"{path}.pattern"), _sizes(entries.get("sizes"), f"{path}.sizes"))
    if op == "view":
        name = _string(entries["dtype"], f"{path}.dtype")
        try:
            dtype_bits(name)
        except InputError as error:
            raise InputError(error.message, path=f"{path}.dtype") from None
        return Retype(name)
    shape = _terms(entries["shape"], f"{path}.shape")
    return Reshape(shape) if op == "reshape" else Broadcast(shape)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, str | int | float):
        text = repr(value) if not isinstance(value, int) or abs(value) < 1 << 256 else "a huge integer"
        return text if len(text) <= 60 else text[:57] + "..."
    return {"dict": "an object", "list": "a list"}.get(type(value).__name__, type(value).__name__)


def _list(value: object, path: str) -> list[object]:
    if not isinstance(value, list | tuple):
        raise InputError(f"found {_kind(value)}, expected a list", path=path)
    items: list[object] = list(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if len(items) > MAX_RANK:
        raise InputError(f"found {len(items)} entries, expected at most {MAX_RANK}", path=path)
    return items


def _string(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"found {_kind(value)}, expected a string", path=path)
    return value


def _integer(value: object, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"found {_kind(value)}, expected an integer", path=path)
    return value


def json_to_term(value: object, path: str) -> Term:
    """An int, or a string with an integer expression."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise InputError(f"found {_kind(value)}, expected an integer or a string with an expression", path=path)
    try:
        return as_term(value, "this entry")
    except InputError as error:
        raise InputError(error.message, path=path) from None


def _terms(value: object, path: str) -> tuple[Term, ...]:
    return tuple(json_to_term(one, f"{path}[{k}]") for k, one in enumerate(_list(value, path)))


def _extents(value: object, path: str) -> tuple[int | None, ...]:
    found: list[int | None] = []
    for k, one in enumerate(_list(value, path)):
        if one is not None and (isinstance(one, bool) or not isinstance(one, int) or not 1 <= one < 1 << 256):
            raise InputError(f"found {_kind(one)}, expected a positive integer or null (the whole axis)", path=f"{path}[{k}]")
        found.append(one)
    return tuple(found)


def _sizes(value: object, path: str) -> tuple[tuple[str, Term], ...]:
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise InputError(f"found {_kind(value)}, expected an object of axis sizes", path=path)
    entries: dict[str, object] = {str(key): one for key, one in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return tuple((name, json_to_term(one, f"{path}.{name[:60]}")) for name, one in entries.items())
