"""Terms as PTX: 64-bit integer arithmetic and predicates, each distinct subterm computed once.

Integers are .s64. PTX `div.s64` truncates, so `//` and `%` are corrected to round down; by a power of two they are `shr.s64` and `and.b64`,
which round down as they are. Shifts clamp (ISA 9.7.8), so amounts beyond 63 give what unbounded integers give modulo 2^64.
Source: PTX ISA 9.7.1 (integer arithmetic), 9.7.6 (comparison), 9.7.8 (logic and shift).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tilecheck.emit.errors import EmissionError
from tilecheck.symbolic import terms
from tilecheck.symbolic.bounds import Interval, all_bounds
from tilecheck.symbolic.terms import Expr, Term

INT64: Interval = (-(1 << 63), (1 << 63) - 1)
WORD = 64
RING = frozenset({"+", "-", "*", "<<", "&", "|", "^", "var", "select", "table"})
"""Operations whose result modulo 2^64 depends on the arguments modulo 2^64 only."""


def known(term: Term, ranges: Mapping[str, Interval]) -> dict[Term, Interval]:
    """The interval of every node; variables without a range take every 64-bit value."""
    return all_bounds(term, {name: ranges.get(name, INT64) for name in terms.variables(term)})


def simplified(term: Term, ranges: Mapping[str, Interval]) -> Term:
    """An equal term for all values in `ranges`: folded, without remainders, comparisons, minima and arms that the ranges decide."""
    folded = terms.normal(term)
    if not isinstance(folded, Expr):
        return folded
    intervals = known(folded, ranges)
    done: dict[Term, Term] = {}

    def new(node: Term) -> Term:
        return done[node] if isinstance(node, Expr) else node

    for node in terms.subterms(folded):
        assert isinstance(node, Expr)
        done[node] = _decided(node, new, intervals)
    return done[folded]


def _decided(node: Expr, new: Callable[[Term], Term], intervals: Mapping[Term, Interval]) -> Term:
    if node.op == "var":
        return node
    low, high = intervals[node]
    if low == high:
        return bool(low) if node.is_truth else low
    if node.op in {"table", "true_in"}:
        index, entries = node.args
        return (terms.table if node.op == "table" else terms.true_in)(new(index), entries)  # type: ignore[arg-type]
    args: list[Term] = list(terms.children(node))
    ends = [intervals[arg] if isinstance(arg, Expr) else (int(arg), int(arg)) for arg in args]
    if node.op in {"<", "<=", "==", "min", "max", "%"} and len(ends) == 2:
        decided = _compared(node.op, args, ends)
        if decided is not None:
            return new(decided)
    return terms.build(node.op, tuple(new(arg) for arg in args))


def _compared(op: str, args: list[Term], ends: list[Interval]) -> Term | None:
    """The result of a comparison, minimum, maximum or remainder that the intervals decide."""
    (a0, a1), (b0, b1) = ends
    below, above = a1 < b0, a0 > b1
    if op == "%":
        return args[0] if a0 >= 0 and a1 < b0 else None
    if op == "min":
        return args[0] if a1 <= b0 else args[1] if b1 <= a0 else None
    if op == "max":
        return args[1] if a1 <= b0 else args[0] if b1 <= a0 else None
    if op == "==":
        return False if below or above else None
    if op == "<":
        return True if below else False if b1 <= a0 else None
    return True if a1 <= b0 else False if above else None


def exact_quotient(term: Term, divisor: int) -> Term:
    """The quotient of a term that is known to be a multiple of `divisor`, a power of two."""
    found = _divided(term, divisor)
    return terms.shr(term, divisor.bit_length() - 1) if found is None else found


def _divided(term: Term, divisor: int) -> Term | None:
    if isinstance(term, int):
        return None if term % divisor else term // divisor
    if term.op == "*" and isinstance(term.args[0], int) and term.args[0] % divisor == 0:
        return terms.mul(term.args[0] // divisor, term.args[1])  # type: ignore[arg-type]
    if term.op == "+":
        parts = [_divided(arg, divisor) for arg in terms.children(term)]
        return None if any(part is None for part in parts) else terms.add(*(part for part in parts if part is not None))
    return None


def fits_64_bits(term: Term, ranges: Mapping[str, Interval]) -> Term | None:
    """None where no intermediate result can leave 64 bits, else the first node that may."""
    if isinstance(term, int):
        return None if isinstance(term, bool) or INT64[0] <= term <= INT64[1] else term
    for node, (low, high) in known(term, ranges).items():
        if low < INT64[0] or high > INT64[1]:
            return node
    return None


class Arithmetic:
    """Collects the PTX lines that compute terms.

    inputs: the register that holds each variable (an .s64), or a special register read once (`%laneid` style terms are the caller's).
    prefix: what every temporary register starts with: `<prefix>s` for integers, `<prefix>p` for predicates.
    """

    def __init__(self, inputs: Mapping[str, str], ranges: Mapping[str, Interval], prefix: str = "%tc_") -> None:
        self.inputs = dict(inputs)
        self.ranges = dict(ranges)
        self.prefix = prefix
        self.lines: list[str] = []
        self._count = {"s": 0, "p": 0, "u": 0, "h": 0}
        self._memo: dict[Term, str] = {}

    def declarations(self) -> list[str]:
        """The `.reg` lines of the temporaries used so far."""
        types = {"s": ".b64", "p": ".pred", "u": ".b32", "h": ".b16"}
        return [f".reg {types[kind]} {self.prefix}{kind}<{count}>;" for kind, count in self._count.items() if count]

    def fresh(self, kind: str = "s") -> str:
        """A new temporary: kind s (64 bits), u (32 bits), h (16 bits) or p (predicate)."""
        name = f"{self.prefix}{kind}{self._count[kind]}"
        self._count[kind] += 1
        return name

    def write(self, line: str) -> None:
        """Appends one line as it is."""
        self.lines.append(line)

    def integer(self, term: Term) -> str:
        """An operand (a register or an immediate) that holds the integer."""
        return self._integer(simplified(term, self.ranges))

    def register(self, term: Term) -> str:
        """A register that holds the integer."""
        return self._register(simplified(term, self.ranges))

    def address(self, term: Term) -> str:
        """A PTX address operand `reg` or `reg+offset`, the constant part of a sum as the offset where it fits 32 bits."""
        term = simplified(term, self.ranges)
        if isinstance(term, Expr) and term.op == "+":
            *rest, last = terms.children(term)
            if isinstance(last, int) and -(1 << 31) <= last < 1 << 31:
                return f"{self._register(terms.add(*rest))}+{last}"
        return self._register(term)

    def predicate(self, term: Term) -> str:
        """A predicate register that holds the condition."""
        return self._predicate(simplified(term, self.ranges))

    def _register(self, term: Term) -> str:
        operand = self._integer(term)
        if operand.startswith("%"):
            return operand
        register = self.fresh()
        self.write(f"mov.b64 {register}, {operand};")
        return register

    def _integer(self, term: Term) -> str:
        if isinstance(term, int):
            return immediate(int(term))
        if term.is_truth:
            raise EmissionError(f"found the condition {term} where an integer was expected")
        if term.op == "var":
            return self._variable(str(term.args[0]))
        if term not in self._memo:
            self._memo[term] = self._node(term)
        return self._memo[term]

    def _variable(self, name: str) -> str:
        if name not in self.inputs:
            raise EmissionError(f"no register holds {name!r}")
        return self.inputs[name]

    def _op(self, instruction: str, *operands: str, kind: str = "s") -> str:
        result = self.fresh(kind)
        self.write(f"{instruction} {', '.join((result, *operands))};")
        return result

    def _node(self, term: Expr) -> str:
        op, args = term.op, list(terms.children(term))
        if op == "table":
            return self._table(args[0], term.args[1])  # type: ignore[arg-type]
        if op == "select":
            condition = self._predicate(args[0])
            return self._op("selp.b64", self._integer(args[1]), self._integer(args[2]), condition)
        if op == "+":
            return self._sum(args)
        if op == "-":
            return self._op("sub.s64", self._register(args[0]), self._integer(args[1]))
        a, b = args
        if op == "*":
            return self._product(a, b)
        if op in {"//", "%"}:
            return self._floor(op, a, b)
        if op in {"tdiv", "tmod"}:
            return self._truncated(op, a, b)
        if op in {"<<", ">>"}:
            instruction = "shl.b64" if op == "<<" else "shr.s64"
            return self._op(instruction, self._register(a), self._amount(b))
        if op in {"^", "&", "|", "min", "max"}:
            name = {"^": "xor.b64", "&": "and.b64", "|": "or.b64", "min": "min.s64", "max": "max.s64"}[op]
            return self._op(name, self._register(a), self._integer(b))
        raise EmissionError(f"the operator {op!r} has no PTX")

    def _sum(self, args: list[Term]) -> str:
        """The sum of all but the last argument, then the last: sums with a common front share it."""
        *front, last = args
        first = self._register(terms.add(*front))
        if isinstance(last, Expr) and last.op == "*" and isinstance(last.args[0], int) and last.args[0] < 0:
            return self._op("sub.s64", first, self._integer(terms.mul(-1, last)))
        return self._op("add.s64", first, self._integer(last))

    def _product(self, a: Term, b: Term) -> str:
        if isinstance(a, int):
            a, b = b, a
        if isinstance(b, int) and b == -1:
            return self._op("neg.s64", self._register(a))
        if isinstance(b, int) and b > 0 and b & (b - 1) == 0:
            return self._op("shl.b64", self._register(a), str(b.bit_length() - 1))
        return self._op("mul.lo.s64", self._register(a), self._integer(b))

    def _amount(self, b: Term) -> str:
        """A shift amount as a 32-bit operand."""
        if isinstance(b, int):
            return str(min(max(int(b), 0), WORD))
        return self._op("cvt.u32.u64", self._register(b), kind="u")

    def _floor(self, op: str, a: Term, b: Term) -> str:
        """The floor quotient or remainder of a and b, for every sign of both."""
        if isinstance(b, int) and b > 0 and b & (b - 1) == 0:
            if op == "//":
                return self._op("shr.s64", self._register(a), str(b.bit_length() - 1))
            return self._op("and.b64", self._register(a), immediate(b - 1))
        top, bottom = self._register(a), self._register(b)
        quotient = self._op("div.s64", top, bottom)
        rest = self._op("sub.s64", top, self._op("mul.lo.s64", quotient, bottom))
        low = known(a, self.ranges)[a][0] if isinstance(a, Expr) else int(a)
        positive = (known(b, self.ranges)[b][0] if isinstance(b, Expr) else int(b)) > 0
        if positive and low >= 0:
            return quotient if op == "//" else rest
        if positive:
            short = self._op("setp.lt.s64", rest, "0", kind="p")
        else:
            differ = self._op("setp.lt.s64", self._op("xor.b64", rest, bottom), "0", kind="p")
            some = self._op("setp.ne.s64", rest, "0", kind="p")
            short = self._op("and.pred", differ, some, kind="p")
        fixed = self._op("sub.s64", quotient, "1") if op == "//" else self._op("add.s64", rest, bottom)
        return self._op("selp.b64", fixed, quotient if op == "//" else rest, short)

    def _truncated(self, op: str, a: Term, b: Term) -> str:
        top, bottom = self._register(a), self._register(b)
        quotient = self._op("div.s64", top, bottom)
        return quotient if op == "tdiv" else self._op("sub.s64", top, self._op("mul.lo.s64", quotient, bottom))

    def _table(self, index: Term, values: tuple[int, ...]) -> str:
        """values[index] as a chain of selections."""
        position = self._register(index)
        result = immediate(values[-1])
        for k in range(len(values) - 2, -1, -1):
            if immediate(values[k]) != result:
                here = self._op("setp.le.s64", position, str(k), kind="p")
                result = self._op("selp.b64", immediate(values[k]), result, here)
        return result

    def _predicate(self, term: Term) -> str:
        if isinstance(term, int):
            register = self.fresh("p")
            self.write(f"setp.{'eq' if term else 'ne'}.s32 {register}, 0, 0;")
            return register
        if not term.is_truth:
            raise EmissionError(f"found the integer {term} where a condition was expected")
        if term not in self._memo:
            self._memo[term] = self._condition(term)
        return self._memo[term]

    def _condition(self, term: Expr) -> str:
        args = list(terms.children(term))
        if term.op == "not":
            return self._op("not.pred", self._predicate(args[0]), kind="p")
        if term.op in {"and", "or"}:
            result = self._predicate(args[0])
            for arg in args[1:]:
                result = self._op(f"{term.op}.pred", result, self._predicate(arg), kind="p")
            return result
        if term.op == "true_in":
            return self._member(args[0], term.args[1])  # type: ignore[arg-type]
        name, (a, b) = {"==": "eq", "<": "lt", "<=": "le"}[term.op], args
        if isinstance(a, int):
            name, a, b = {"eq": "eq", "lt": "gt", "le": "ge"}[name], b, a
        return self._op(f"setp.{name}.s64", self._register(a), self._integer(b), kind="p")

    def _member(self, index: Term, values: tuple[bool, ...]) -> str:
        """Bit index % 64 of word index // 64."""
        words = tuple(sum(1 << k for k, value in enumerate(values[at : at + WORD]) if value) for at in range(0, len(values), WORD))
        word = self._register(terms.table(terms.shr(index, 6), words))
        shifted = self._op("shr.u64", word, self._amount(terms.bit_and(index, WORD - 1)))
        return self._op("setp.ne.s64", self._op("and.b64", shifted, "1"), "0", kind="p")


def immediate(value: int) -> str:
    """A 64-bit constant: decimal, or the two's complement in hexadecimal for the values decimals cannot write."""
    if INT64[0] < value <= INT64[1]:
        return str(value)
    if value == INT64[0] or INT64[1] < value < 1 << WORD:
        return f"0x{value % (1 << WORD):016x}"
    raise EmissionError(f"the number {value} does not fit 64 bits")
