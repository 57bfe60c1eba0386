"""A call: one opcode applied to views under a scope, a launch, a guard and facts about symbols. Plain immutable data."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from tilecheck.errors import InputError
from tilecheck.layout.axes import AXES
from tilecheck.scalar.function import Function
from tilecheck.symbolic import terms
from tilecheck.symbolic.from_sympy import from_sympy, is_sympy
from tilecheck.symbolic.parse import FUNCTIONS, KEYWORDS, NAME, is_truth, parse
from tilecheck.symbolic.terms import Expr, Term

if TYPE_CHECKING:
    from tilecheck.layout.view import Tensor, View

SCOPES = ("thread", "warp", "warpgroup", "cta", "cluster")
INDEX_DTYPES: dict[str, tuple[int, int]] = {
    "int32": (-(1 << 31), (1 << 31) - 1),
    "uint32": (0, (1 << 32) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
}
VARIES = ("grid", "cluster", "cta", "warp", "thread")
DEFAULT_BLOCK = {"thread": 1, "warp": 32, "warpgroup": 128}
MAX_THREADS = 1024
MAX_CLUSTER = 16
RESERVED = frozenset({*AXES, *FUNCTIONS, *KEYWORDS, "elected"}) - {"m"}
COORDINATES = frozenset({*AXES, terms.ELECTED}) - {"m", "TLane", "TCol"}
"""The hardware coordinates that an expression may name."""

Value = None | bool | int | str | Expr | tuple["Value", ...]
"""A parameter: a term, a word, or a (nested) tuple of them."""


class Symbol(Expr):
    """A variable with declared facts; in terms it is the plain variable of that name."""

    __slots__ = ("max", "min", "multiple_of", "name", "varies")

    name: str
    min: int | None
    max: int | None
    multiple_of: int
    varies: str

    def __init__(self, name: str, min: int | None, max: int | None, multiple_of: int, varies: str) -> None:  # noqa: A002 (the DESIGN's names)
        super().__init__("var", (name,))
        for key, value in (("name", name), ("min", min), ("max", max), ("multiple_of", multiple_of), ("varies", varies)):
            object.__setattr__(self, key, value)

    def __reduce__(self) -> tuple[type[Symbol], tuple[object, ...]]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return (Symbol, (self.name, self.min, self.max, self.multiple_of, self.varies))

    __hash__ = Expr.__hash__

    def __eq__(self, other: object) -> bool:
        """Two symbols are equal when their facts are, too; a symbol equals the plain variable of its name."""
        if isinstance(other, Symbol) and self.facts() != other.facts():
            return False
        return Expr.__eq__(self, other)

    def facts(self) -> tuple[int | None, int | None, int, str]:
        """(min, max, multiple_of, varies)."""
        return self.min, self.max, self.multiple_of, self.varies

    def to_json(self) -> dict[str, object]:
        """The declaration in the call document."""
        document: dict[str, object] = {"name": self.name}
        if self.min is not None:
            document["min"] = self.min
        if self.max is not None:
            document["max"] = self.max
        if self.multiple_of != 1:
            document["multiple_of"] = self.multiple_of
        if self.varies != "grid":
            document["varies"] = self.varies
        return document


def symbol(
    name: str,
    *,
    min: int | None = None,  # noqa: A002 (the DESIGN's names)
    max: int | None = None,  # noqa: A002
    multiple_of: int = 1,
    varies: str = "grid",
) -> Symbol:
    """A symbol with facts: `min <= n <= max`, `n % multiple_of == 0`, one value for each grid, cluster, cta, warp or thread.

    InputError: a name that is no identifier, or that an axis, a function or a word of the expression language has.
    """
    if not NAME.match(name):
        raise InputError(f"a symbol is named {name[:40]!r}, expected an identifier")
    if name in RESERVED:
        raise InputError(f"a symbol is named {name!r}, which an axis, a function or a word of the expression language has")
    if multiple_of < 1:
        raise InputError(f"symbol {name}: multiple_of is {multiple_of}, expected a positive integer")
    if varies not in VARIES:
        raise InputError(f"symbol {name}: varies is {varies!r}, expected one of {', '.join(VARIES)}")
    return Symbol(name, min, max, multiple_of, varies)


@dataclass(frozen=True, slots=True)
class Launch:
    """The launch: threads of a block (x, y, z; trailing ones may be left out) and CTAs of a cluster (x, y, z), or None."""

    block: tuple[int, ...]
    cluster: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        limits = (1024, 1024, 64)
        if not 1 <= len(self.block) <= 3 or any(not 1 <= n <= limit for n, limit in zip(self.block, limits, strict=False)):
            raise InputError(f"block is {list(self.block)}, expected 1 to 3 extents of at most 1024, 1024 and 64", path=".block")
        if self.threads > MAX_THREADS:
            raise InputError(f"block {list(self.block)} has {self.threads} threads, at most {MAX_THREADS} are possible", path=".block")
        if self.cluster is not None:
            if not 1 <= len(self.cluster) <= 3 or any(n < 1 for n in self.cluster):
                raise InputError(f"cluster is {list(self.cluster)}, expected 1 to 3 positive extents", path=".cluster")
            if self.ctas > MAX_CLUSTER:
                raise InputError(f"cluster {list(self.cluster)} has {self.ctas} CTAs, at most {MAX_CLUSTER} are possible", path=".cluster")

    @property
    def threads(self) -> int:
        """The threads of one block."""
        total = 1
        for extent in self.block:
            total *= extent
        return total

    @property
    def ctas(self) -> int:
        """The CTAs of one cluster (1 without one)."""
        total = 1
        for extent in self.cluster or ():
            total *= extent
        return total

    @property
    def warps(self) -> int:
        """The warps of one block, a partial last one included."""
        return -(-self.threads // 32)

    def cluster_axes(self) -> tuple[tuple[str, int], ...]:
        """The declared cluster axes z, y, x as (axis, extent): trailing extents of 1 are undeclared, x always counts."""
        extents = list(self.cluster or ())
        while len(extents) > 1 and extents[-1] == 1:
            extents.pop()
        return tuple(reversed(list(zip(("cbx", "cby", "cbz"), extents, strict=False))))


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar operand: a name and a number or term (`apply` reads text, SymPy expressions and NumPy numbers, too); InputError: an infinity or NaN."""

    name: str
    value: Term | float

    def __post_init__(self) -> None:
        if isinstance(self.value, float) and not math.isfinite(self.value):
            raise InputError(f"found {self.value} as {self.name}, expected a finite number that a float64 holds")


@dataclass(frozen=True, slots=True)
class Call:
    """One opcode applied to operands in PTX order (destination first). See `apply`; function: what a scalar composition computes, see `ewise`."""

    opcode: str
    operands: tuple[View | Scalar, ...]
    scope: str
    launch: Launch
    guard: Term = True
    symbols: tuple[Symbol, ...] = ()
    assume: tuple[Term, ...] = ()
    parameters: tuple[tuple[str, Value], ...] = ()
    index_dtype: str = "int64"
    arch: str | None = None
    id: str = ""
    function: Function | None = None

    def parameter(self, name: str) -> Value:
        """The value of a parameter, None where it is not given."""
        return dict(self.parameters).get(name)

    @property
    def pred(self) -> Term:
        """The predicate: a condition, true where none is given."""
        value = self.parameter("pred")
        if value is None:
            return True
        if isinstance(value, str):
            return parse(value, truth=True)
        return value if isinstance(value, Expr | bool) else terms.ne(value, 0) if isinstance(value, int) else True

    def substitute(self, **values: int | Expr) -> Call:
        """The call with symbols replaced everywhere: operands, guard, assumptions and parameters; replaced symbols are no longer declared."""
        from tilecheck.layout.view import View

        replace: Mapping[str, Term] = values

        def term(value: Term) -> Term:
            return terms.replace(value, replace)

        def parameter(value: Value) -> Value:
            if isinstance(value, tuple):
                return tuple(parameter(item) for item in value)
            return term(value) if isinstance(value, Expr) else value

        operands = tuple(
            o.map_terms(term) if isinstance(o, View) else Scalar(o.name, o.value if isinstance(o.value, float) else term(o.value))
            for o in self.operands
        )
        parts: list[Term] = [term(a) for a in self.assume]
        parts.extend(_range_facts(s, term(s)) for s in self.symbols if s.name in replace)
        changed = dataclasses.replace(
            self,
            operands=operands,
            guard=term(self.guard),
            assume=tuple(a for a in parts if a is not True),
            parameters=tuple((k, parameter(v)) for k, v in self.parameters),
            symbols=tuple(s for s in self.symbols if s.name not in replace),
        )
        new = [s for s in collect_symbols(v for v in values.values() if isinstance(v, Expr)) if s not in changed.symbols]
        return dataclasses.replace(changed, symbols=(*changed.symbols, *new))

    def to_json(self) -> dict[str, object]:
        """The call document (schema tilecheck/call@1); reading it back gives an equal call."""
        from tilecheck.document import call_to_json

        return call_to_json(self)


def _range_facts(declared: Symbol, value: Term) -> Term:
    parts: list[Term] = []
    if declared.min is not None:
        parts.append(terms.le(declared.min, value))
    if declared.max is not None:
        parts.append(terms.le(value, declared.max))
    if declared.multiple_of != 1:
        parts.append(terms.eq(terms.mod(value, declared.multiple_of), 0))
    return terms.conj(*parts)


def collect_symbols(values: Iterable[object]) -> list[Symbol]:
    """The declared symbols in terms (and tuples of terms), each once, in order of appearance; InputError when two of one name differ."""
    found: dict[str, Symbol] = {}
    todo = list(values)
    while todo:
        value = todo.pop(0)
        if isinstance(value, tuple | list):
            todo = [*cast("Iterable[object]", value), *todo]
        elif isinstance(value, Symbol):
            known = found.setdefault(value.name, value)
            if known.facts() != value.facts():
                raise InputError(f"two symbols named {value.name!r} with different facts in one call")
        elif isinstance(value, Expr):
            todo = [*terms.children(value), *todo]
    return list(found.values())


BOOLS = "a plain truth value, expected a term or text: == and != of terms compare how they are written; write eq(a, b), ne(a, b) or text"
"""Why Python's True and False are no conditions: `n == 3` is False for every symbol n."""


def as_term(value: object, *, truth: bool) -> Term:
    """A term from an int, a term or text; InputError where it is a condition and an integer was expected, or the reverse, or a plain bool."""
    if isinstance(value, str):
        return parse(value, truth=truth)
    if truth and isinstance(value, bool):
        raise InputError(f"found {value}: {BOOLS}")
    if is_sympy(value):
        value = from_sympy(value)
    if isinstance(value, int | Expr):
        if is_truth(value) != truth:
            wanted, got = ("a condition", "an integer") if truth else ("an integer", "a condition")
            raise InputError(f"found {got} ({value}), expected {wanted}")
        return value
    raise InputError(f"found a {type(value).__name__}, expected {'a condition' if truth else 'an integer'}")


def apply(
    opcode: str,
    *operands: View | Tensor | Scalar | Expr | float | str,
    scope: str,
    launch: Launch | None = None,
    guard: object = None,
    assume: Sequence[object] = (),
    symbols: Sequence[Symbol] = (),
    index_dtype: str = "int64",
    arch: str | None = None,
    id: str = "",  # noqa: A002 (the document's name)
    **parameters: object,
) -> Call:
    """The call `opcode` on `operands` (PTX order, destination first); checks nothing yet but that the pieces fit together.

    operands: views, or numbers and integer expressions (terms, text, SymPy), which are named `input1`, ... by their place unless a `Scalar` names them.
    guard, assume: conditions (terms or text). symbols: declarations of names that text uses, or an order of declaration.
    Symbols used as terms declare themselves. Views of one Tensor object are views of one allocation: where it names no `tensor`, the call does.
    InputError: an unknown scope or index_dtype, an undeclared name.
    """
    from tilecheck.layout.view import View

    if scope not in SCOPES:
        raise InputError(f"scope is {scope!r}, expected one of {', '.join(SCOPES)}")
    if index_dtype not in INDEX_DTYPES:
        raise InputError(f"index_dtype is {index_dtype!r}, expected one of {', '.join(INDEX_DTYPES)}")
    views = _shared(tuple(_operand(o, k) for k, o in enumerate(operands)))
    values = {name: _freeze(value) for name, value in parameters.items()}
    values = {name: _read(name, value) for name, value in values.items()}
    if isinstance(parameters.get("pred"), bool):
        raise InputError(f"pred: {BOOLS}")
    condition = True if guard is None else as_term(guard, truth=True)
    assumed = tuple(as_term(a, truth=True) for a in assume)
    used: list[object] = [*symbols]
    for operand in views:
        used.extend(operand.terms() if isinstance(operand, View) else (operand.value,))
    used.extend((condition, *assumed, *values.values()))
    call = Call(
        opcode,
        views,
        scope,
        launch or default_launch(scope),
        condition,
        tuple(collect_symbols(used)),
        assumed,
        tuple(values.items()),
        index_dtype,
        arch,
        id,
    )
    require_declared(call)
    return call


def _shared(operands: tuple[View | Scalar, ...]) -> tuple[View | Scalar, ...]:
    """The operands with a name for the allocation of each Tensor object that several of them see and that names none."""
    from tilecheck.layout.view import View

    tensors = [operand.tensor for operand in operands if isinstance(operand, View)]
    objects = {id(tensor): tensor for tensor in tensors}
    named: dict[int, Tensor] = {}
    for key, tensor in objects.items():
        if tensor.tensor is None and sum(other is tensor for other in tensors) > 1:
            taken = {name for other in objects.values() if other is not tensor for name in (other.name, other.tensor)}
            taken |= {one.tensor for one in named.values()}
            name, count = tensor.name, 1
            while name in taken:
                count += 1
                name = f"{tensor.name}_{count}"
            named[key] = dataclasses.replace(tensor, tensor=name)
    return tuple(
        dataclasses.replace(operand, tensor=named[id(operand.tensor)])
        if isinstance(operand, View) and id(operand.tensor) in named
        else operand
        for operand in operands
    )


def _operand(operand: object, at: int) -> View | Scalar:
    """An operand as a view or scalar; what is no view is a number, text or an expression."""
    from tilecheck.layout.view import Tensor, View

    if isinstance(operand, View | Tensor):
        return operand if isinstance(operand, View) else View(operand)
    name, value = (operand.name, cast("object", operand.value)) if isinstance(operand, Scalar) else (f"input{at}", operand)
    try:
        return Scalar(name, _number(value))
    except InputError as error:
        raise InputError(error.message, path=f".operands[{at}]") from None


def _number(value: object) -> Term | float:
    """The value of a scalar operand: a real number (NumPy's, too) as Python's own, all else as a term."""
    if isinstance(value, str | bool | Expr) or is_sympy(value):
        return as_term(value, truth=False)
    if not isinstance(value, numbers.Real):
        raise InputError(f"found a {type(value).__name__}, expected a view, a number or an integer expression")
    if isinstance(value, numbers.Integral):
        return int(value)
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if math.isfinite(found) and found != value:
        raise InputError(f"found {value}, expected a number that a float64 holds")
    return found


def default_launch(scope: str) -> Launch:
    """One instance of the scope: 1, 32 or 128 threads; InputError at cta and cluster scope."""
    if scope not in DEFAULT_BLOCK:
        raise InputError(f"scope {scope} needs a launch")
    return Launch((DEFAULT_BLOCK[scope],))


def require_declared(call: Call) -> None:
    """InputError when an expression names something that is neither a declared symbol nor a hardware coordinate."""
    from tilecheck.layout.view import View

    known = {s.name for s in call.symbols} | COORDINATES
    places: list[tuple[str, object]] = [("guard", call.guard), *((f"assume[{k}]", a) for k, a in enumerate(call.assume))]
    for k, operand in enumerate(call.operands):
        values: Iterable[object] = operand.symbolic if isinstance(operand, View) else (operand.value,)
        places.extend((f"operands[{k}]", value) for value in values)
    places.extend((f"parameters.{name}", value) for name, value in call.parameters)
    for place, value in places:
        for name in sorted(_names(value) - known):
            raise InputError(f"{name!r} is not a declared symbol", path=f".{place}")


def _names(value: object) -> frozenset[str]:
    if isinstance(value, tuple):
        return frozenset[str]().union(*(_names(item) for item in cast("tuple[object, ...]", value)))
    return terms.variables(value) if isinstance(value, Expr) else frozenset()


def _read(name: str, value: Value) -> Value:
    """A parameter with its text read, as a document's is: an expression, a condition, or (a few) a word."""
    from tilecheck.document import CONDITIONS, WORDS

    if isinstance(value, tuple):
        return tuple(_read(name, item) for item in value)
    return parse(value, truth=name in CONDITIONS) if isinstance(value, str) and name not in WORDS else value


def _freeze(value: object) -> Value:
    if value is None or isinstance(value, bool | int | str | Expr):
        return value
    if is_sympy(value):
        return from_sympy(value)
    if isinstance(value, list | tuple):
        return tuple(_freeze(item) for item in cast("Iterable[object]", value))
    raise InputError(f"a parameter is a {type(value).__name__}, expected an integer, a word, a term or a list")
