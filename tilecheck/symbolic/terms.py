"""Integer and truth terms: immutable trees over named variables, built by constructors that fold what is constant.

A `Term` is a Python int, a Python bool or an `Expr`. Python operators on terms, and the parser, keep what was written (`raw`: nothing is
folded or reordered, so that intermediate results can be checked); the functions of this module fold. `normal` folds a raw term. Integers are unbounded; `//` and `%` floor, `tdiv` and `tmod` truncate;
`^ & | << >>` act on two's complement of unbounded width, as in Python. Divisors and shift amounts that may be 0 or negative
are the business of `index.range`: see `definedness`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import get_ident
from typing import cast

INT_OPS = frozenset({"+", "-", "*", "//", "%", "tdiv", "tmod", "^", "&", "|", "<<", ">>", "min", "max", "select", "table"})
BOOL_OPS = frozenset({"==", "<", "<=", "and", "or", "not", "true_in"})


ELECTED = "@elected"
"""The variable behind the word `elected`: the lane that elect.sync chose; `elected` is `laneid == @elected`."""


class Expr:
    """One node: an operator and its arguments. `("var", name)` is a variable; `("table", index, (v0, v1, ...))` looks up v[index]."""

    __slots__ = ("_hash", "args", "op")

    op: str
    args: tuple[object, ...]
    _hash: int

    def __init__(self, op: str, args: tuple[object, ...]) -> None:
        object.__setattr__(self, "op", op)
        object.__setattr__(self, "args", args)
        object.__setattr__(self, "_hash", hash((op, args)))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("terms are immutable")

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Structural equality; the truth term is `eq(a, b)`."""
        if self is other:
            return True
        return isinstance(other, Expr) and hash(self) == hash(other) and self.op == other.op and self.args == other.args

    def __reduce__(self) -> tuple[type[Expr], tuple[str, tuple[object, ...]]]:
        return (Expr, (self.op, self.args))

    def __bool__(self) -> bool:
        raise TypeError(f"the term {self} has no truth value; write it as a guard or an assumption")

    def __str__(self) -> str:
        from tilecheck.symbolic.show import show

        return show(self)

    def __repr__(self) -> str:
        return f"<term {self}>"

    @property
    def is_truth(self) -> bool:
        """Whether this is a truth term (a comparison, and/or/not)."""
        return self.op in BOOL_OPS

    def __add__(self, other: Term) -> Expr:
        return _written("+", self, other)

    def __radd__(self, other: Term) -> Expr:
        return _written("+", other, self)

    def __sub__(self, other: Term) -> Expr:
        return _written("-", self, other)

    def __rsub__(self, other: Term) -> Expr:
        return _written("-", other, self)

    def __mul__(self, other: Term) -> Expr:
        return _written("*", self, other)

    def __rmul__(self, other: Term) -> Expr:
        return _written("*", other, self)

    def __floordiv__(self, other: Term) -> Expr:
        return _written("//", self, other)

    def __rfloordiv__(self, other: Term) -> Expr:
        return _written("//", other, self)

    def __mod__(self, other: Term) -> Expr:
        return _written("%", self, other)

    def __rmod__(self, other: Term) -> Expr:
        return _written("%", other, self)

    def __xor__(self, other: Term) -> Expr:
        return _written("^", self, other)

    def __rxor__(self, other: Term) -> Expr:
        return _written("^", other, self)

    def __lshift__(self, other: Term) -> Expr:
        return _written("<<", self, other)

    def __rlshift__(self, other: Term) -> Expr:
        return _written("<<", other, self)

    def __rshift__(self, other: Term) -> Expr:
        return _written(">>", self, other)

    def __rrshift__(self, other: Term) -> Expr:
        return _written(">>", other, self)

    def __and__(self, other: Term) -> Expr:
        return _written("and" if self.is_truth else "&", self, other)

    def __rand__(self, other: Term) -> Expr:
        return _written("and" if self.is_truth else "&", other, self)

    def __or__(self, other: Term) -> Expr:
        return _written("or" if self.is_truth else "|", self, other)

    def __ror__(self, other: Term) -> Expr:
        return _written("or" if self.is_truth else "|", other, self)

    def __neg__(self) -> Expr:
        return Expr("-", (0, self))

    def __invert__(self) -> Expr:
        return Expr("not", (self,)) if self.is_truth else Expr("-", (-1, self))

    def __lt__(self, other: Term) -> Expr:
        return _written("<", self, other)

    def __le__(self, other: Term) -> Expr:
        return _written("<=", self, other)

    def __gt__(self, other: Term) -> Expr:
        return _written("<", other, self)

    def __ge__(self, other: Term) -> Expr:
        return _written("<=", other, self)


Term = int | Expr  # bool is an int: truth constants are True and False


def arguments(node: Expr) -> tuple[Term, ...]:
    """The arguments as terms; a variable's name and a lookup's values, which are none, are read otherwise: see `entries`."""
    return cast("tuple[Term, ...]", node.args)


def entries(node: Expr) -> tuple[int, ...]:
    """The values of a lookup (`table`: integers, `true_in`: truth values)."""
    return cast("tuple[int, ...]", node.args[1])


def _written(op: str, a: object, b: object) -> Expr:
    """The node as written; NotImplemented (to Python) for what is no term."""
    if isinstance(a, int | Expr) and isinstance(b, int | Expr):
        return Expr(op, (a, b))
    return NotImplemented


def var(name: str) -> Expr:
    """The variable `name`."""
    return Expr("var", (name,))


def trunc_div(a: int, b: int) -> int:
    """a / b rounded towards zero."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def trunc_mod(a: int, b: int) -> int:
    """a - b * trunc_div(a, b)."""
    return a - b * trunc_div(a, b)


MAX_SHIFT = 4096
"""Shift amounts beyond this many bits are refused: no index is that wide, and 2^(2^60) does not fit a machine."""


def _shift_left(a: int, b: int) -> int:
    if a and b > MAX_SHIFT:
        raise OverflowError(f"a shift by {b} bits")
    return a << b


INT_FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "tdiv": trunc_div,
    "tmod": trunc_mod,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "<<": _shift_left,
    ">>": lambda a, b: a >> b,
}


def _binary(op: str, a: Term, b: Term) -> Term:
    if isinstance(a, int) and isinstance(b, int):
        undefined = (op in {"//", "%", "tdiv", "tmod"} and b == 0) or (op in {"<<", ">>"} and (b < 0 or b > MAX_SHIFT))
        if not undefined:
            return INT_FUNCTIONS[op](a, b)
    return Expr(op, (a, b))


def add(*terms: Term) -> Term:
    """The sum; nested sums are flattened, constants gathered at the end."""
    constant = 0
    rest: list[Term] = []
    for term in terms:
        if isinstance(term, int):
            constant += term
        elif term.op == "+":
            for arg in arguments(term):
                if isinstance(arg, int):
                    constant += arg
                else:
                    rest.append(arg)
        else:
            rest.append(term)
    if constant:
        rest.append(constant)
    if not rest:
        return 0
    return rest[0] if len(rest) == 1 else Expr("+", tuple(rest))


def mul(a: Term, b: Term) -> Term:
    """The product, a constant factor in front."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if isinstance(b, int):
        a, b = b, a
    if isinstance(a, int):
        if a == 0:
            return 0
        if a == 1:
            return b
        assert isinstance(b, Expr)
        if b.op == "*" and isinstance(b.args[0], int):
            return mul(a * b.args[0], arguments(b)[1])
    return Expr("*", (a, b))


def sub(a: Term, b: Term) -> Term:
    """a - b."""
    return 0 if a == b else add(a, mul(-1, b))


def floordiv(a: Term, b: Term) -> Term:
    """a // b, rounded down."""
    return a if _is(b, 1) else _binary("//", a, b)


def mod(a: Term, b: Term) -> Term:
    """a % b, with the sign of b."""
    return 0 if _is(b, 1) else _binary("%", a, b)


def tdiv(a: Term, b: Term) -> Term:
    """a / b, rounded towards zero."""
    return a if _is(b, 1) else _binary("tdiv", a, b)


def tmod(a: Term, b: Term) -> Term:
    """The remainder of tdiv, with the sign of a."""
    return 0 if _is(b, 1) else _binary("tmod", a, b)


def xor(a: Term, b: Term) -> Term:
    """Bitwise exclusive or."""
    return 0 if a == b else a if _is(b, 0) else b if _is(a, 0) else _binary("^", a, b)


def bit_and(a: Term, b: Term) -> Term:
    """Bitwise and."""
    return a if a == b else 0 if _is(a, 0) or _is(b, 0) else _binary("&", a, b)


def bit_or(a: Term, b: Term) -> Term:
    """Bitwise or."""
    return a if _is(b, 0) or a == b else b if _is(a, 0) else _binary("|", a, b)


def shl(a: Term, b: Term) -> Term:
    """a << b."""
    return a if _is(b, 0) else _binary("<<", a, b)


def shr(a: Term, b: Term) -> Term:
    """a >> b, rounded down."""
    return a if _is(b, 0) else _binary(">>", a, b)


def _is(term: Term, value: int) -> bool:
    return isinstance(term, int) and term == value


def minimum(a: Term, b: Term) -> Term:
    """The smaller of two integers."""
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else Expr("min", (a, b))


def maximum(a: Term, b: Term) -> Term:
    """The larger of two integers."""
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else Expr("max", (a, b))


def select(condition: Term, then: Term, otherwise: Term) -> Term:
    """`then` where the condition holds, else `otherwise`."""
    if isinstance(condition, bool):
        return then if condition else otherwise
    return then if then == otherwise and type(then) is type(otherwise) else Expr("select", (condition, then, otherwise))


def table(index: Term, values: tuple[int, ...]) -> Term:
    """values[index] for 0 <= index < len(values); an arithmetic progression becomes a linear term."""
    if isinstance(index, int):
        return values[index]
    step = values[1] - values[0] if values[1:] else 0
    if all(value == values[0] + step * k for k, value in enumerate(values)):
        return add(values[0], mul(step, index))
    return Expr("table", (index, values))


def true_in(index: Term, values: tuple[bool, ...]) -> Term:
    """Whether values[index] is true."""
    if isinstance(index, int):
        return values[index]
    if all(values):
        return True
    return Expr("true_in", (index, values)) if any(values) else False


_keeping: set[int] = set()
"""The threads that keep comparisons."""


@contextmanager
def comparisons_kept() -> Generator[None]:
    """In this thread `eq`, `lt` and `le` build the comparison also where its answer is plain: for formulas that others are to check."""
    own = get_ident()
    nested = own in _keeping
    _keeping.add(own)
    try:
        yield
    finally:
        if not nested:
            _keeping.discard(own)


def eq(a: Term, b: Term) -> Term:
    """a == b."""
    if _keeping and get_ident() in _keeping:
        return Expr("==", (a, b))
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return True if a == b else Expr("==", (a, b))


def ne(a: Term, b: Term) -> Term:
    """a != b."""
    return negate(eq(a, b))


def lt(a: Term, b: Term) -> Term:
    """a < b."""
    if _keeping and get_ident() in _keeping:
        return Expr("<", (a, b))
    if isinstance(a, int) and isinstance(b, int):
        return a < b
    return False if a == b else Expr("<", (a, b))


def le(a: Term, b: Term) -> Term:
    """a <= b."""
    if _keeping and get_ident() in _keeping:
        return Expr("<=", (a, b))
    if isinstance(a, int) and isinstance(b, int):
        return a <= b
    return True if a == b else Expr("<=", (a, b))


def conj(*terms: Term) -> Term:
    """All of the terms hold."""
    kept: list[Term] = []
    for term in terms:
        if isinstance(term, bool):
            if not term:
                return False
        elif isinstance(term, Expr) and term.op == "and":
            kept.extend(arguments(term))
        else:
            kept.append(term)
    kept = list(dict.fromkeys(kept))
    if not kept:
        return True
    return kept[0] if len(kept) == 1 else Expr("and", tuple(kept))


def disj(*terms: Term) -> Term:
    """At least one of the terms holds."""
    kept: list[Term] = []
    for term in terms:
        if isinstance(term, bool):
            if term:
                return True
        elif isinstance(term, Expr) and term.op == "or":
            kept.extend(arguments(term))
        else:
            kept.append(term)
    kept = list(dict.fromkeys(kept))
    if not kept:
        return False
    return kept[0] if len(kept) == 1 else Expr("or", tuple(kept))


def negate(term: Term) -> Term:
    """The term does not hold."""
    if isinstance(term, bool):
        return not term
    if isinstance(term, Expr) and term.op == "not":
        return arguments(term)[0]
    return Expr("not", (term,))


def conjuncts(term: Term) -> tuple[Term, ...]:
    """The parts of a conjunction; () for True."""
    if isinstance(term, Expr) and term.op == "and":
        return arguments(term)
    return () if term is True else (term,)


def children(term: Term) -> Iterator[Term]:
    """The argument terms of a node (a table's values are not among them)."""
    if isinstance(term, Expr) and term.op != "var":
        for arg in term.args:
            if isinstance(arg, int | Expr):
                yield arg


def variables(term: Term) -> frozenset[str]:
    """The names of the variables that occur in a term."""
    found: set[str] = set()
    seen: set[int] = set()
    todo: list[Term] = [term]
    while todo:
        node = todo.pop()
        if not isinstance(node, Expr) or id(node) in seen:
            continue
        seen.add(id(node))
        if node.op == "var":
            found.add(str(node.args[0]))
        else:
            todo.extend(children(node))
    return frozenset(found)


def build(op: str, args: tuple[Term, ...]) -> Term:
    """The node `op(args)` through the folding constructors."""
    if op in BUILDERS:
        return BUILDERS[op](*args)
    raise ValueError(f"unknown operator {op!r}")


BUILDERS: dict[str, Callable[..., Term]] = {
    "+": add,
    "-": sub,
    "*": mul,
    "//": floordiv,
    "%": mod,
    "tdiv": tdiv,
    "tmod": tmod,
    "^": xor,
    "&": bit_and,
    "|": bit_or,
    "<<": shl,
    ">>": shr,
    "min": minimum,
    "max": maximum,
    "select": select,
    "==": eq,
    "<": lt,
    "<=": le,
    "and": conj,
    "or": disj,
    "not": negate,
}


def normal(term: Term) -> Term:
    """The term folded: constants gathered, sums flattened, no `-` nodes."""
    return substitute(term, {})


def substitute(term: Term, values: Mapping[str, Term]) -> Term:
    """The term with variables replaced, folded."""
    memo: dict[Expr, Term] = {}

    def walk(node: Term) -> Term:
        if not isinstance(node, Expr):
            return node
        if node in memo:
            return memo[node]
        if node.op == "var":
            result: Term = values.get(str(node.args[0]), node)
        elif node.op in {"table", "true_in"}:
            maker: Callable[..., Term] = table if node.op == "table" else true_in
            result = maker(walk(arguments(node)[0]), entries(node))
        else:
            result = build(node.op, tuple(walk(arg) for arg in children(node)))
        memo[node] = result
        return result

    return walk(term)


def replace(term: Term, values: Mapping[str, Term]) -> Term:
    """The term with variables replaced and nothing else changed, except that operations on constants alone fold."""
    if not isinstance(term, Expr):
        return term
    if term.op == "var":
        return values.get(str(term.args[0]), term)
    if not variables(term) & values.keys():
        return term
    args = tuple(replace(arg, values) if isinstance(arg, int | Expr) else arg for arg in term.args)
    if term.op not in {"table", "true_in"} and all(isinstance(arg, int) for arg in args):
        return build(term.op, cast("tuple[int, ...]", args))
    if term.op == "select" and isinstance(args[0], bool):
        return cast("Term", args[1] if args[0] else args[2])
    return Expr(term.op, args)


def evaluate(term: Term, values: Mapping[str, int]) -> int:
    """The value under an assignment of every variable; ZeroDivisionError, OverflowError or ValueError where undefined."""
    if isinstance(term, int):
        return term
    op, args = term.op, arguments(term)
    if op == "var":
        return values[str(args[0])]
    if op == "select":
        return evaluate(args[1] if evaluate(args[0], values) else args[2], values)
    if op == "and":
        return all(evaluate(arg, values) for arg in args)
    if op == "or":
        return any(evaluate(arg, values) for arg in args)
    if op in {"table", "true_in"}:
        return entries(term)[evaluate(args[0], values)]
    numbers = [evaluate(arg, values) for arg in args]
    if op == "+":
        return sum(numbers)
    if op == "not":
        return not numbers[0]
    a, b = numbers
    if op == "-":
        return a - b
    if op == "*":
        return a * b
    if op == "min":
        return min(a, b)
    if op == "max":
        return max(a, b)
    if op == "==":
        return a == b
    if op == "<":
        return a < b
    if op == "<=":
        return a <= b
    return INT_FUNCTIONS[op](a, b)


def has_value(term: Term) -> Term:
    """The condition under which `term` has a value in mathematical integers: no divisor is 0 and no shift amount negative where it counts."""
    return definedness(term, divisor=lambda right: negate(eq(right, 0)))


def _positive(right: Term) -> Term:
    return lt(0, right)


def definedness(term: Term, *, divisor: Callable[[Term], Term] = _positive) -> Term:
    """The condition under which every division and shift that the value of `term` depends on has a positive (or, for shifts, non-negative) right side.

    divisor: what is asked of a divisor instead.
    An arm of `select` counts where it is chosen; later parts of `and` and `or` count where the earlier ones leave the answer open.
    """
    if not isinstance(term, Expr) or term.op == "var":
        return True

    def within(part: Term) -> Term:
        return definedness(part, divisor=divisor)

    args: list[Term] = list(children(term))
    if term.op == "select":
        condition, then, otherwise = args
        return conj(within(condition), disj(negate(condition), within(then)), disj(condition, within(otherwise)))
    if term.op in {"and", "or"}:
        parts: list[Term] = []
        before: list[Term] = []
        for arg in args:
            parts.append(disj(*before, within(arg)))
            before.append(negate(arg) if term.op == "and" else arg)
        return conj(*parts)
    parts = [within(arg) for arg in args]
    if term.op in {"//", "%", "tdiv", "tmod"}:
        parts.append(divisor(args[1]))
    if term.op in {"<<", ">>"}:
        parts.append(conj(le(0, args[1]), le(args[1], MAX_SHIFT)))
    return conj(*parts)


def subterms(term: Term) -> Iterable[Term]:
    """Every distinct node, arguments before the nodes that use them."""
    order: dict[Expr, None] = {}
    todo: list[tuple[Term, bool]] = [(term, False)]
    while todo:
        node, done = todo.pop()
        if not isinstance(node, Expr) or node in order:
            continue
        if done:
            order[node] = None
            continue
        todo.append((node, True))
        todo.extend((child, False) for child in children(node))
    return order
