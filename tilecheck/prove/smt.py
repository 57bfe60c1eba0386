"""The SMT tier: what enumeration cannot reach. The one file that imports z3.

Two encodings of a term. *Bit-vectors* where bits matter (XOR, and, or): every term is encoded modulo 2^k for the k that is asked of it, so that a low
slice of a sum, a product or a XOR needs only low slices of its parts, and comparisons get the width at which nothing can wrap, found from
intervals. *Integers* otherwise: a quotient by a constant becomes a digit, x = c*q + r with 0 <= r < c; products of symbols stay products.
`%`, `/` and `>>` of z3 bit-vectors are never used with their signed meaning by accident: only the functions named here are.
"""

# z3 has no stubs: the checker infers the widest expression from its source where a sort is known here, and leaves its operators untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportReturnType=false
# pyright: reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from tilecheck.prove.obligation import Obligation, Outcome, Variable, narrowed, relevant
from tilecheck.symbolic import terms
from tilecheck.symbolic.bounds import HUGE, Interval, all_bounds
from tilecheck.symbolic.terms import Expr, Term, entries, var

if TYPE_CHECKING:
    import z3

SHIFTS = 160
"""Shifts by more bits than this move every index out of its type."""
BITS = 70
"""Bit operations are taken apart into bits, for the integer encoding, up to this width."""
DIVISORS = 64
"""A divisor that is no constant is taken apart into its values up to this one."""
PATIENCE = 2
"""How often z3 may give up on smaller counterexamples of one obligation."""
FIRST_VALUES = 16
"""The values of a multiplied symbol that a smaller counterexample is looked for at."""
CASES = 24
"""The most values of a multiplied variable that are asked about one by one."""
WIDEST_PRODUCT = 48
"""Products of two variables are bit-blasted up to this width only: integers do them better."""
BIT_OPS = frozenset({"^", "&", "|"})
_local = threading.local()


def context() -> z3.Context:
    """The z3 context of this thread."""
    import z3

    if not hasattr(_local, "context"):
        _local.context = z3.Context()
    found: z3.Context = _local.context
    return found


def solver(rlimit: int) -> z3.Solver:
    """A fresh solver with a deterministic resource limit and a fixed seed."""
    import z3

    made = z3.Solver(ctx=context())
    made.set("rlimit", rlimit)
    made.set("random_seed", 0)
    return made


def floored(op: str, a: Term, b: Term) -> Term:
    """A truncating division, or one by a negative constant, in floor divisions by positive numbers."""
    if op in {"//", "%"}:
        assert isinstance(b, int)
        turned = terms.mul(-1, a)
        return terms.floordiv(turned, -b) if op == "//" else terms.mul(-1, terms.mod(turned, -b))
    size = terms.select(terms.lt(a, 0), terms.mul(-1, a), a)
    by = abs(b) if isinstance(b, int) else terms.select(terms.lt(b, 0), terms.mul(-1, b), b)
    if op == "tmod":
        rest = terms.mod(size, by)
        return terms.select(terms.lt(a, 0), terms.mul(-1, rest), rest)
    whole = terms.floordiv(size, by)
    return terms.select(_opposite(a, b), terms.mul(-1, whole), whole)


def _opposite(a: Term, b: Term) -> Term:
    below, under = terms.lt(a, 0), terms.lt(b, 0)
    return terms.disj(terms.conj(below, terms.negate(under)), terms.conj(terms.negate(below), under))


class Unsupported(Exception):  # noqa: N818 (control flow inside this file)
    """An encoding has no form for a term."""


class Encoding:
    """What the two encodings share: variables with ranges, truth terms, definitions of digits."""

    logic = ""

    def __init__(self, variables: Sequence[Variable], ranges: Mapping[str, Interval]) -> None:
        self.context = context()
        self.variables = {v.name: v for v in variables}
        self.ranges = ranges
        self.definitions: list[z3.BoolRef] = []
        self.truths: dict[Term, z3.BoolRef] = {}
        self.known: dict[Term, Interval] = {}
        self.fresh = 0

    def bounds(self, term: Term) -> Interval:
        """The interval of a term."""
        if isinstance(term, int):
            return int(term), int(term)
        if term not in self.known:
            self.known.update(all_bounds(term, self.ranges))
        return self.known[term]

    def name(self, stem: str) -> str:
        """A name for a fresh variable."""
        self.fresh += 1
        return f"{stem}!{self.fresh}"

    def truth(self, term: Term) -> z3.BoolRef:
        """A truth term."""
        import z3

        if isinstance(term, int):
            return z3.BoolVal(bool(term), self.context)
        if term not in self.truths:
            self.truths[term] = self._truth(term)
        return self.truths[term]

    def _truth(self, term: Expr) -> z3.BoolRef:
        import z3

        args: list[Term] = list(terms.children(term))
        if term.op == "and":
            return z3.And([self.truth(arg) for arg in args])
        if term.op == "or":
            return z3.Or([self.truth(arg) for arg in args])
        if term.op == "not":
            return z3.Not(self.truth(args[0]))
        if term.op == "true_in":
            values = entries(term)
            return z3.Or([self.truth(terms.eq(args[0], k)) for k, value in enumerate(values) if value])
        return self.compare(term.op, args[0], args[1])

    def compare(self, op: str, a: Term, b: Term) -> z3.BoolRef:
        """a == b, a < b or a <= b."""
        raise NotImplementedError

    def range_of(self, variable: Variable) -> z3.BoolRef:
        """The declared range of a variable."""
        raise NotImplementedError

    def value(self, model: z3.ModelRef, variable: Variable) -> int:
        """The value of a variable in a model."""
        raise NotImplementedError

    @staticmethod
    def domain(variable: Variable) -> Term:
        """The declared range of a variable as a term."""
        own = var(variable.name)
        if variable.values is not None:
            return terms.disj(*(terms.eq(own, value) for value in variable.values))
        parts: list[Term] = []
        if variable.low is not None:
            parts.append(terms.le(variable.low, own))
        if variable.high is not None:
            parts.append(terms.le(own, variable.high))
        if variable.step != 1:
            parts.append(terms.eq(terms.mod(own, variable.step), 0))
        return terms.conj(*parts)


class Integers(Encoding):
    """Integers: quotients by constants are digits, products of variables are products."""

    logic = "integers"

    def __init__(self, variables: Sequence[Variable], ranges: Mapping[str, Interval]) -> None:
        super().__init__(variables, ranges)
        self.memo: dict[Term, z3.ArithRef] = {}
        self.digits: dict[tuple[Term, int], tuple[z3.ArithRef, z3.ArithRef]] = {}

    def compare(self, op: str, a: Term, b: Term) -> z3.BoolRef:
        """The comparison of integers."""
        left, right = self.integer(a), self.integer(b)
        return left == right if op == "==" else left < right if op == "<" else left <= right

    def range_of(self, variable: Variable) -> z3.BoolRef:
        """The declared range."""
        return self.truth(self.domain(variable))

    def value(self, model: z3.ModelRef, variable: Variable) -> int:
        """The value in a model, the completion's where it is free."""
        return int(model.eval(self.integer(var(variable.name)), model_completion=True).as_long())

    def integer(self, term: Term) -> z3.ArithRef:
        """An integer term."""
        import z3

        if isinstance(term, int):
            return z3.IntVal(int(term), self.context)
        if term not in self.memo:
            self.memo[term] = self._integer(term)
        return self.memo[term]

    def _integer(self, term: Expr) -> z3.ArithRef:
        import z3

        op = term.op
        if op == "var":
            return self._variable(str(term.args[0]))
        args: list[Term] = list(terms.children(term))
        if op == "+":
            return z3.Sum([self.integer(arg) for arg in args])
        if op == "select":
            return z3.If(self.truth(args[0]), self.integer(args[1]), self.integer(args[2]))
        if op == "table":
            return self._table(args[0], entries(term))
        a, b = args
        if op == "-":
            return self.integer(a) - self.integer(b)
        if op == "*":
            return self.integer(a) * self.integer(b)
        if op in {"min", "max"}:
            first = terms.le(a, b) if op == "min" else terms.le(b, a)
            return z3.If(self.truth(first), self.integer(a), self.integer(b))
        return self._divided(op, a, b)

    def _variable(self, name: str) -> z3.ArithRef:
        import z3

        step = self.variables[name].step if name in self.variables else 1
        own = z3.Int(name, self.context)
        return own if step == 1 else step * own

    def _table(self, index: Term, values: tuple[int, ...]) -> z3.ArithRef:
        import z3

        result = z3.IntVal(values[-1], self.context)
        for k in range(len(values) - 2, -1, -1):
            result = z3.If(self.truth(terms.eq(index, k)), z3.IntVal(values[k], self.context), result)
        return result

    def _divided(self, op: str, a: Term, b: Term) -> z3.ArithRef:
        import z3

        if op in {"<<", ">>"} and isinstance(b, Expr):
            return self._shifted(op, a, b)
        if op in {"<<", ">>"}:
            if not isinstance(b, int) or not 0 <= b <= terms.MAX_SHIFT:
                raise Unsupported(f"a shift by {b}")
            return self.integer(a) * (1 << b) if op == "<<" else self.digit(a, 1 << b)[0]
        if op == "&" and isinstance(b, int) and b >= 0 and b & (b + 1) == 0:
            return self.digit(a, b + 1)[1]
        if op in BIT_OPS:
            return self._bitwise(op, a, b)
        if op in {"tdiv", "tmod"} or (isinstance(b, int) and b < 0):
            return self.integer(floored(op, a, b))
        if isinstance(b, int):
            if b == 0:
                raise Unsupported("a division by 0")
            return self.digit(a, b)[0 if op == "//" else 1]
        left, right = self.integer(a), self.integer(b)  # z3 floors for positive divisors only
        if self.bounds(b)[0] > 0:
            return left / right if op == "//" else left % right
        turned = self.integer(terms.mul(-1, a)) / self.integer(terms.mul(-1, b))
        quotient = z3.If(right > 0, left / right, turned)
        return quotient if op == "//" else left - right * quotient

    def _bitwise(self, op: str, a: Term, b: Term) -> z3.ArithRef:
        """A bit operation of numbers of few bits, bit by bit: where products of symbols keep bit-vectors from it."""
        import z3

        low, high = min(self.bounds(a)[0], self.bounds(b)[0]), max(self.bounds(a)[1], self.bounds(b)[1])
        width = max(low, high, -low - 1, -high - 1, 0).bit_length() + (1 if low < 0 else 0)
        if width > BITS:
            raise Unsupported(f"the bit operation {op} of {width} bits")
        join: dict[str, Callable[[z3.BoolRef, z3.BoolRef], z3.BoolRef]] = {"^": z3.Xor, "&": z3.And, "|": z3.Or}
        parts: list[z3.ArithRef] = []
        for k in range(width):
            one, other = (terms.eq(terms.mod(terms.floordiv(side, 1 << k), 2), 1) for side in (a, b))
            weight = -(1 << k) if low < 0 and k == width - 1 else 1 << k
            parts.append(z3.If(join[op](self.truth(one), self.truth(other)), z3.IntVal(weight, self.context), z3.IntVal(0, self.context)))
        return z3.Sum(parts) if parts else z3.IntVal(0, self.context)

    def _shifted(self, op: str, a: Term, b: Expr) -> z3.ArithRef:
        """A shift by an amount that is no constant: by each amount up to SHIFTS; beyond, all that matters is the sign."""
        import z3

        huge = terms.mul(1 << SHIFTS, a) if op == "<<" else terms.select(terms.lt(a, 0), -1, 0)
        result = self.integer(huge)
        low, high = self.bounds(b)
        for amount in range(min(high, SHIFTS), max(low, 0) - 1, -1):
            there = terms.mul(1 << amount, a) if op == "<<" else terms.floordiv(a, 1 << amount)
            result = z3.If(self.truth(terms.eq(b, amount)), self.integer(there), result)
        return result

    def digit(self, term: Term, radix: int) -> tuple[z3.ArithRef, z3.ArithRef]:
        """(term div radix, term mod radix), both floored."""
        import z3

        key = (term, radix)
        if key not in self.digits:
            quotient, remainder = z3.Int(self.name("q"), self.context), z3.Int(self.name("r"), self.context)
            self.definitions.append(z3.And(self.integer(term) == radix * quotient + remainder, remainder >= 0, remainder < radix))
            self.digits[key] = (quotient, remainder)
        return self.digits[key]


class BitVectors(Encoding):
    """Sliced bit-vectors: `low(term, k)` is the term modulo 2^k; comparisons use the width at which nothing wraps."""

    logic = "bit-vectors"
    WIDEST = 400

    def __init__(self, variables: Sequence[Variable], ranges: Mapping[str, Interval]) -> None:
        super().__init__(variables, ranges)
        self.memo: dict[tuple[Term, int], z3.BitVecRef] = {}
        self.digits: dict[tuple[Term, int], tuple[z3.BitVecRef, z3.BitVecRef]] = {}

    def width(self, *bounds: Interval) -> int:
        """The bits of a signed number that can be any value of the intervals."""
        needed = max(max(low, high, -low - 1, -high - 1, 0).bit_length() for low, high in bounds) + 1
        if needed > self.WIDEST:
            raise Unsupported(f"{needed} bits")
        return needed

    def compare(self, op: str, a: Term, b: Term) -> z3.BoolRef:
        """The comparison at a width that holds both."""
        k = self.width(self.bounds(a), self.bounds(b))
        left, right = self.low(a, k), self.low(b, k)
        return left == right if op == "==" else left < right if op == "<" else left <= right

    def range_of(self, variable: Variable) -> z3.BoolRef:
        """The declared range, and the sign extension of the variable's own width."""
        return self.truth(self.domain(variable))

    def value(self, model: z3.ModelRef, variable: Variable) -> int:
        """The signed value in a model."""
        return int(model.eval(self._variable(variable.name), model_completion=True).as_signed_long())

    def _variable(self, name: str) -> z3.BitVecRef:
        import z3

        return z3.BitVec(name, self.width(self.ranges[name]), self.context)

    def low(self, term: Term, k: int) -> z3.BitVecRef:
        """The term modulo 2^k, k bits wide."""
        import z3

        if isinstance(term, int):
            return z3.BitVecVal(int(term) % (1 << k), k, self.context)
        key = (term, k)
        if key not in self.memo:
            self.memo[key] = self._low(term, k)
        return self.memo[key]

    def resized(self, vector: z3.BitVecRef, k: int) -> z3.BitVecRef:
        """A signed vector at another width."""
        import z3

        size = vector.size()
        return vector if size == k else z3.Extract(k - 1, 0, vector) if size > k else z3.SignExt(k - size, vector)

    def _low(self, term: Expr, k: int) -> z3.BitVecRef:
        import z3

        op = term.op
        if op == "var":
            return self.resized(self._variable(str(term.args[0])), k)
        args: list[Term] = list(terms.children(term))
        if op == "+":
            total = self.low(args[0], k)
            for arg in args[1:]:
                total = total + self.low(arg, k)
            return total
        if op == "select":
            return z3.If(self.truth(args[0]), self.low(args[1], k), self.low(args[2], k))
        if op == "table":
            values = entries(term)
            result: z3.BitVecRef = self.low(values[-1], k)
            for index in range(len(values) - 2, -1, -1):
                result = z3.If(self.truth(terms.eq(args[0], index)), self.low(values[index], k), result)
            return result
        a, b = args
        if op in {"-", "*", "^", "&", "|"}:
            return self._ring(op, a, b, k)
        if op in {"min", "max"}:
            first = terms.le(a, b) if op == "min" else terms.le(b, a)
            return z3.If(self.truth(first), self.low(a, k), self.low(b, k))
        return self._divided(op, a, b, k)

    def _ring(self, op: str, a: Term, b: Term, k: int) -> z3.BitVecRef:
        """Operations whose low bits depend on low bits alone."""
        import z3

        if op == "*" and isinstance(a, int) and a > 0:
            zeros = (a & -a).bit_length() - 1
            if zeros >= k:
                return self.low(0, k)
            if zeros:
                odd = terms.mul(a >> zeros, b)
                return z3.Concat(self.low(odd, k - zeros), z3.BitVecVal(0, zeros, self.context))
        if op == "*" and isinstance(a, Expr) and isinstance(b, Expr) and k > WIDEST_PRODUCT:
            raise Unsupported(f"a product of two variables at {k} bits")
        left, right = self.low(a, k), self.low(b, k)
        table: dict[str, Callable[[], object]] = {
            "-": lambda: left - right,
            "*": lambda: left * right,
            "^": lambda: left ^ right,
            "&": lambda: left & right,
            "|": lambda: left | right,
        }
        return table[op]()

    def _divided(self, op: str, a: Term, b: Term, k: int) -> z3.BitVecRef:
        import z3

        if op in {"<<", ">>"} and isinstance(b, Expr):
            return self._shifted(op, a, b, k)
        if isinstance(b, Expr) and self.bounds(b)[0] >= -DIVISORS and self.bounds(b)[1] <= DIVISORS:
            return self._by_each(op, a, b, k)
        if op in {"tdiv", "tmod"} or (isinstance(b, int) and b < 0 and op in {"//", "%"}):
            return self.low(floored(op, a, b), k)
        if isinstance(b, Expr):
            return self._by_quotient(op, a, b, k)
        if b < (0 if op in {"<<", ">>"} else 1):
            raise Unsupported(f"the divisor or shift amount {b}")
        if op == "<<":
            return self._ring("*", 1 << b, a, k) if b < k else self.low(0, k)
        if op == ">>" or (b & (b - 1) == 0 and op == "//"):
            shift = b if op == ">>" else b.bit_length() - 1
            return z3.Extract(shift + k - 1, shift, self.low(a, shift + k))
        if b & (b - 1) == 0:
            bits = b.bit_length() - 1
            if bits >= k:
                return self.low(a, k)
            return z3.ZeroExt(k - bits, self.low(a, bits)) if bits else self.low(0, k)
        return self.resized(self.digit(a, b)[0 if op == "//" else 1], k)

    def _by_each(self, op: str, a: Term, b: Expr, k: int) -> z3.BitVecRef:
        """A division by a symbol of few values: by each but 0, where it has no value."""
        import z3

        low, high = self.bounds(b)
        result = self.low(0, k)
        for divisor in range(low, high + 1):
            if divisor == 0:
                continue
            result = z3.If(self.truth(terms.eq(b, divisor)), self._divided(op, a, divisor, k), result)
        return result

    def _by_quotient(self, op: str, a: Term, b: Expr, k: int) -> z3.BitVecRef:
        """A division by a symbol with few quotients: a // b = v where v*b <= a < (v+1)*b, or for negative b the other way round."""
        import z3

        low, high = self.bounds(terms.floordiv(a, b))
        if high - low > DIVISORS:
            raise Unsupported(f"the divisor {b}")
        result = self.low(0, k)
        for value in range(low, high + 1):
            near, far = terms.mul(value, b), terms.mul(value + 1, b)
            here = terms.conj(terms.le(near, a), terms.lt(a, far))
            if self.bounds(b)[0] <= 0:
                here = terms.disj(terms.conj(terms.lt(0, b), here), terms.conj(terms.lt(b, 0), terms.lt(far, a), terms.le(a, near)))
            found = self.low(value if op == "//" else terms.sub(a, near), k)
            result = z3.If(self.truth(here), found, result)
        return result

    def _shifted(self, op: str, a: Term, b: Expr, k: int) -> z3.BitVecRef:
        """A shift by an amount that is no constant: by each amount up to SHIFTS; beyond, nothing but the sign is left."""
        import z3

        huge = 0 if op == "<<" else terms.select(terms.lt(a, 0), -1, 0)
        result = self.low(huge, k)
        low, high = self.bounds(b)
        for amount in range(min(high, SHIFTS), max(low, 0) - 1, -1):
            there = self._divided(op, a, amount, k) if amount else self.low(a, k)
            result = z3.If(self.truth(terms.eq(b, amount)), there, result)
        return result

    def digit(self, term: Term, radix: int) -> tuple[z3.BitVecRef, z3.BitVecRef]:
        """(term div radix, term mod radix) as signed vectors, at a width at which radix * quotient + remainder cannot wrap."""
        import z3

        key = (term, radix)
        if key not in self.digits:
            low, high = self.bounds(term)
            k = self.width((low - radix, high + radix))
            quotient, remainder = z3.BitVec(self.name("q"), k, self.context), z3.BitVec(self.name("r"), k, self.context)
            first, last = (z3.BitVecVal(value, k, self.context) for value in (low // radix, high // radix))
            number = z3.BitVecVal(radix, k, self.context)
            self.definitions.append(
                z3.And(
                    self.low(term, k) == number * quotient + remainder,
                    remainder >= 0,
                    remainder < number,
                    quotient >= first,
                    quotient <= last,
                )
            )
            self.digits[key] = (quotient, remainder)
        return self.digits[key]


def ranges_of(variables: Sequence[Variable]) -> dict[str, Interval]:
    """The interval of each variable."""
    found: dict[str, Interval] = {}
    for v in variables:
        if v.values is not None:
            found[v.name] = min(v.values, default=0), max(v.values, default=0)
        else:
            found[v.name] = -HUGE if v.low is None else v.low, HUGE if v.high is None else v.high
    return found


def encodings(*parts: Term) -> list[type[Encoding]]:
    """The encodings to try, the one that fits first."""
    bits = any(isinstance(node, Expr) and node.op in BIT_OPS for part in parts for node in terms.subterms(part))
    return [BitVectors, Integers] if bits else [Integers, BitVectors]


class Query:
    """Whether some values of the variables satisfy all parts; asked again with more constraints for least values."""

    def __init__(self, made: type[Encoding], variables: Sequence[Variable], parts: Sequence[Term], rlimit: int) -> None:
        self.encoding = made(variables, ranges_of(variables))
        self.solver = solver(rlimit)
        self.variables = variables
        self.parts = parts
        self.rlimit = rlimit
        constraints = [self.encoding.truth(part) for part in parts]
        constraints += [self.encoding.range_of(v) for v in variables]
        for constraint in (*constraints, *self.encoding.definitions):
            self.solver.add(constraint)
        self.sent = len(self.encoding.definitions)
        self.patience = PATIENCE

    def nearer(self, *more: Term) -> dict[str, int] | None:
        """As `ask`, for a smaller counterexample; where z3 gives up too often the one that is known stays: it is one all the same."""
        if not self.patience:
            return None
        try:
            return self.ask(*more)
        except Unsupported:
            self.patience -= 1
            return None

    def ask(self, *more: Term) -> dict[str, int] | None:
        """The values of a model; None where there is none; Unsupported where z3 gives up."""
        import z3

        extra = [self.encoding.truth(part) for part in more]
        for definition in self.encoding.definitions[self.sent :]:
            self.solver.add(definition)
        self.sent = len(self.encoding.definitions)
        self.solver.push()
        for constraint in extra:
            self.solver.add(constraint)
        answer = self.solver.check()
        try:
            if answer == z3.unknown:
                raise Unsupported(f"z3 gave up: {self.solver.reason_unknown()}")
            if answer == z3.unsat:
                return None
            model = self.solver.model()
            return {v.name: self.encoding.value(model, v) for v in self.variables}
        finally:
            self.solver.pop()


class Cases(Query):
    """As `Query`, with one query for each value of a variable that is multiplied: with a number in its place a product is none.

    z3 is slow at products of variables, and its limit does not hold there.
    """

    def __init__(self, made: type[Encoding], chosen: Variable, variables: Sequence[Variable], parts: Sequence[Term], rlimit: int) -> None:
        self.chosen = chosen
        self.variables = variables
        self.parts = parts
        self.rlimit = rlimit
        self.patience = PATIENCE
        self.encoding = made((), {})
        self.made = made
        self.others = [v for v in variables if v is not chosen]
        self.queries: dict[int, Query | None] = {}

    def ask(self, *more: Term) -> dict[str, int] | None:
        """As `Query.ask`: the values of the first case that has some."""
        for value in self.chosen.ordered():
            held = {self.chosen.name: value}
            query = self._query(value)
            found = None if query is None else query.ask(*(terms.substitute(part, held) for part in more))
            if found is not None:
                return {v.name: value if v is self.chosen else found[v.name] for v in self.variables}
        return None

    def _query(self, value: int) -> Query | None:
        """The case of a value; None where a part does not hold whatever the others are (the rest need not have a value then)."""
        if value not in self.queries:
            held = [terms.substitute(part, {self.chosen.name: value}) for part in self.parts]
            self.queries[value] = None if any(part is False for part in held) else _query(self.made, self.others, held, self.rlimit)
        return self.queries[value]


def _query(made: type[Encoding], variables: Sequence[Variable], parts: Sequence[Term], rlimit: int) -> Query:
    """The query, taken apart by the values of a variable with few of them that is multiplied, where there is one."""
    few = [v for v in variables if v.count is not None and 1 < v.count <= CASES and any(_partners(part, v.name) for part in parts)]
    if not few:
        return Query(made, variables, parts, rlimit)
    return Cases(made, min(few, key=lambda v: v.count or 0), variables, parts, rlimit)


def satisfy(variables: Sequence[Variable], parts: Sequence[Term], rlimit: int) -> tuple[dict[str, int] | None, str]:
    """(values that satisfy all parts with the symbols least in their order, or None; the encoding). Unsupported where nobody knows."""
    query, values = _some(variables, parts, rlimit)
    return (None if values is None else _least(query, values)), query.encoding.logic


def _some(variables: Sequence[Variable], parts: Sequence[Term], rlimit: int) -> tuple[Query, dict[str, int] | None]:
    """The query of the encoding that decides, and some values of the variables that occur. Unsupported where none does."""
    names = frozenset[str]().union(*(terms.variables(part) for part in parts))
    used = [v for v in narrowed(tuple(variables), tuple(parts)) if v.name in names]
    reasons: list[str] = []
    for made in encodings(*parts):
        try:
            query = _query(made, used, parts, rlimit)
            return query, query.ask()
        except Unsupported as gap:
            reasons.append(f"{made.logic}: {gap}")
    raise Unsupported("; ".join(reasons))


def _least(query: Query, values: dict[str, int]) -> dict[str, int]:
    """The least values of the symbols, one after the other: by absolute value, the positive one first."""
    fixed: dict[str, int] = {}
    for variable in query.variables:
        if variable.role in {"symbol", "base"}:
            values = _smaller(query, variable, values, fixed)
            fixed[variable.name] = values[variable.name]
    return values


def _smaller(query: Query, variable: Variable, values: dict[str, int], fixed: Mapping[str, int]) -> dict[str, int]:
    """The values with this variable nearest to 0.

    z3's limit does not hold where it solves polynomials over a range. So a variable that is multiplied is looked at in its first values, one by one: with
    a number in its place a product is none. Beyond them it is least for the values of those it is multiplied with, each of which was made least before.
    """
    partners = frozenset[str]().union(*(_partners(part, variable.name) for part in query.parts))
    if not partners:
        return _nearest(query, variable, values, [terms.eq(var(name), value) for name, value in fixed.items()])
    if not partners - {variable.name} <= fixed.keys():
        for value in islice(variable.ordered(), FIRST_VALUES):
            if _order(value) >= _order(values[variable.name]):
                return values
            found = _at(query, {**fixed, variable.name: value})[1]
            if found is not None:
                return {**values, **found, variable.name: value}
    others = [v for v in query.variables if v.role == "symbol" and v.name in partners and v.name not in fixed and v is not variable]
    for one in (*others, variable):
        held = {name: values[name] for name in {*partners, *fixed} if name != one.name}
        narrower = _at(query, held)[0]
        if narrower is not None:
            free = all(v.name != one.name for v in narrower.variables)  # nothing is asked of it any more
            values = {**values, one.name: next(one.ordered())} if free else _nearest(narrower, one, values, [])
    return values


def _partners(part: Term, name: str) -> set[str]:
    """What a variable is multiplied with, divided by or shifted by, or divides and shifts; itself for its powers."""
    found: set[str] = set()
    for node in terms.subterms(part):
        if isinstance(node, Expr) and node.op in {"*", "//", "%", "tdiv", "tmod", "<<", ">>"} and isinstance(node.args[1], Expr):
            names = terms.variables(node)
            if name in names and (node.op != "*" or isinstance(node.args[0], Expr)):
                found |= names
    return found


def _at(query: Query, numbers: Mapping[str, int]) -> tuple[Query | None, dict[str, int] | None]:
    """The query with numbers in the place of variables, and some values of the others; None where z3 gives up on it."""
    if not query.patience:
        return None, None
    try:
        others = [v for v in query.variables if v.name not in numbers]
        return _some(others, [terms.substitute(part, numbers) for part in query.parts], query.rlimit)
    except Unsupported:
        query.patience -= 1
        return None, None


def _order(value: int) -> tuple[int, bool]:
    return abs(value), value < 0


def _nearest(query: Query, variable: Variable, values: dict[str, int], known: Sequence[Term]) -> dict[str, int]:
    """The values with this variable nearest to 0: ranges around 0 are doubled until one holds a value, then halved."""
    own = var(variable.name)
    low, high, reach = 0, abs(values[variable.name]), 0
    while low < high:
        middle = min(reach, high - 1) if reach >= 0 else (low + high) // 2
        found = query.nearer(*known, terms.le(-middle, own), terms.le(own, middle))
        if found is None:
            low, reach = middle + 1, 2 * reach + 1 if reach >= 0 else reach
        else:
            values, high, reach = {**values, **found}, abs(found[variable.name]), -1
    if values[variable.name] < 0:
        found = query.nearer(*known, terms.eq(own, -values[variable.name]))
        values = values if found is None else {**values, **found}
    return values


def decide(obligation: Obligation, rlimit: int) -> Outcome:
    """Proves by refuting the negation; a failing obligation gets least symbols, the rest of the witness is enumerated by the caller."""
    parts, rest = relevant(obligation.premise, obligation.goal)
    try:
        values, logic = satisfy(obligation.variables, (*parts, terms.negate(obligation.goal)), rlimit)
        if values is not None and rest:
            others, _ = satisfy(obligation.variables, rest, rlimit)
            values = None if others is None else {**others, **values}
    except Unsupported as gap:
        return Outcome(holds=None, reason=f"the solver does not decide it ({gap})")
    if values is None:
        return Outcome(holds=True, reason=f"SMT, {logic}")
    return Outcome(holds=False, witness=values, reason=f"SMT, {logic}")
