"""The text of a scalar function as a syntax tree; never evaluated as Python.

Grammar, loosest first: `let NAME = ... in ...`, `or`, `and`, `not`, comparisons (chains allowed), `|`, `^`, `&`, `<< >>`, `+ -`, `* / // %`, unary `-` and
`~`, then numbers (decimal, 0x, 0b, `1.5`, `1e-3`, `inf`, `nan`), names, parentheses and functions: those of `FUNCTIONS`, `select`, and types as casts.
"""

from __future__ import annotations

import keyword
import math
import re
from dataclasses import dataclass

from tilecheck.errors import InputError
from tilecheck.scalar.nodes import CASTS, COMPARISONS, FUNCTIONS
from tilecheck.scalar.types import SCALAR_TYPES
from tilecheck.symbolic.tokens import Tokens, quoted

MAX_DEPTH = 60
MAX_HEIGHT = 100
MAX_TOKENS = 1000
MAX_BITS = 64
LEVELS = (("|",), ("^",), ("&",), ("<<", ">>"), ("+", "-"), ("*", "/", "//", "%"))
KEYWORDS = frozenset({"and", "or", "not", "true", "false", "let", "in", "inf", "nan"})
OPERAND_WORDS = frozenset({"dst", "opcode", "pred", "preserve_dst"})
"""Names that mean something else in a contract."""
RESERVED = frozenset({*KEYWORDS, *keyword.kwlist, *FUNCTIONS, *CASTS, *SCALAR_TYPES, "select", *OPERAND_WORDS})
"""What no parameter and no binding is named."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_TOKEN = re.compile(
    r"\s*(?:(?P<float>[0-9]+(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)(?![A-Za-z0-9_.]))"
    r"|(?P<int>0[xX][0-9a-fA-F]+(?![A-Za-z0-9_.])|0[bB][01]+(?![A-Za-z0-9_.])|[0-9]+(?![A-Za-z0-9_.]))"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<op>//|<<|>>|<=|>=|==|!=|[-+*/%^&|~<>(),=]))"
)


@dataclass(frozen=True, slots=True)
class Syntax:
    """One expression as written: what it is, where it begins (column from 1), its parts.

    kind: an operator as text, a function's name, `let`, `select`, `name`, `int`, `float`, `truth`, `neg`, `inv`, `not`, `and`, `or` (of conditions).
    """

    kind: str
    column: int
    parts: tuple[Syntax, ...] = ()
    text: str = ""
    value: int | float = 0


def parse(text: str) -> Syntax:
    """The syntax tree of a text; InputError names the column, what was found and what was expected."""
    found = _Parser(text).whole()
    level, height = [found], 0
    while level:
        level, height = [part for one in level for part in one.parts], height + 1
    if height > MAX_HEIGHT:
        raise InputError(f"{quoted(text)} is {height} operations deep, at most {MAX_HEIGHT} are read; bind parts of it with let")
    return found


def check_name(name: str, what: str) -> None:
    """InputError where a name is no identifier, or a word of the language."""
    if not NAME.match(name):
        raise InputError(f"{what} is named {name[:40]!r}, expected an identifier")
    if name in RESERVED:
        raise InputError(f"{what} is named {name!r}, which is a word of the language")


def _expected(character: str) -> str:
    return "a number such as 1, 0x1f, 1.5 or 1e-3" if character.isdigit() else "a number, a name or an operator"


class _Parser(Tokens):
    def __init__(self, text: str) -> None:
        super().__init__(text, "a function", _TOKEN, KEYWORDS, MAX_TOKENS, _expected)

    def whole(self) -> Syntax:
        found = self.expression()
        self.end()
        return found

    def expression(self) -> Syntax:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise InputError(f"{quoted(self.text)} nests deeper than {MAX_DEPTH} levels")
        try:
            return self.binding() if self.peek() == "let" else self.disjunction()
        finally:
            self.depth -= 1

    def binding(self) -> Syntax:
        column = self.column
        self.need("let")
        if self.at >= len(self.tokens) or self.tokens[self.at][0] != "name" or self.tokens[self.at][1] in KEYWORDS:
            raise self.fail("the name of a binding")
        name, at = self.tokens[self.at][1], self.column
        try:
            check_name(name, "a binding")
        except InputError as error:
            raise InputError(f"column {at} of {quoted(self.text)}: {error.message}") from None
        self.at += 1
        self.need("=")
        value = self.expression()
        self.need("in")
        return Syntax("let", column, (value, self.expression()), name)

    def disjunction(self) -> Syntax:
        found = self.conjunction()
        while self.peek() == "or":
            column = self.column
            self.take("or")
            found = Syntax("or", column, (found, self.conjunction()))
        return found

    def conjunction(self) -> Syntax:
        found = self.negation()
        while self.peek() == "and":
            column = self.column
            self.take("and")
            found = Syntax("and", column, (found, self.negation()))
        return found

    def negation(self) -> Syntax:
        columns: list[int] = []
        while self.peek() == "not":
            columns.append(self.column)
            self.take("not")
        found = self.comparison()
        for column in reversed(columns):
            found = Syntax("not", column, (found,))
        return found

    def comparison(self) -> Syntax:
        left = self.binary(0)
        chain: list[Syntax] = []
        column = self.column
        while operator := self.take(*COMPARISONS, ">", ">="):
            right = self.binary(0)
            swapped = {">": "<", ">=": "<="}.get(operator)
            chain.append(Syntax(swapped or operator, column, (right, left) if swapped else (left, right)))
            left, column = right, self.column
        found = chain[0] if chain else left
        for one in chain[1:]:
            found = Syntax("and", one.column, (found, one))
        return found

    def binary(self, level: int) -> Syntax:
        if level == len(LEVELS):
            return self.unary()
        found = self.binary(level + 1)
        while self.peek() and self.peek() in LEVELS[level]:
            column, operator = self.column, self.take(*LEVELS[level])
            found = Syntax(operator, column, (found, self.binary(level + 1)))
        return found

    def unary(self) -> Syntax:
        signs: list[tuple[str, int]] = []
        while self.peek() in {"-", "~"}:
            column = self.column
            signs.append((self.take("-", "~"), column))
        found = self.atom()
        for sign, column in reversed(signs):
            if sign == "-" and found.kind in {"int", "float"} and not found.text:
                found = Syntax(found.kind, column, text="-", value=-found.value)
            else:
                found = Syntax("neg" if sign == "-" else "inv", column, (found,))
        return found

    def atom(self) -> Syntax:
        column = self.column
        if self.take("("):
            found = self.expression()
            self.need(")")
            return found
        if word := self.take("true", "false"):
            return Syntax("truth", column, value=int(word == "true"))
        if word := self.take("inf", "nan"):
            return Syntax("float", column, value=float(word))
        if self.at >= len(self.tokens):
            raise self.fail("a number, a name or `(`")
        kind, value, _ = self.tokens[self.at]
        if kind == "float":
            if math.isinf(float(value)):
                raise self.fail("a number that a float64 holds; infinity is written inf")
            self.at += 1
            return Syntax("float", column, value=float(value))
        if kind == "int":
            return self.integer(value)
        if kind == "name" and value not in KEYWORDS:
            self.at += 1
            return self.call(value, column) if self.peek() == "(" else Syntax("name", column, text=value)
        raise self.fail("a number, a name or `(`")

    def integer(self, value: str) -> Syntax:
        column = self.column
        if len(value) > 1 and value[0] == "0" and value.isdigit():
            raise self.fail("a number without leading zeros")
        number = int(value, 0) if len(value) <= 70 else 1 << 70
        if number.bit_length() > MAX_BITS:
            raise self.fail(f"an integer of at most {MAX_BITS} bits")
        self.at += 1
        return Syntax("int", column, value=number)

    def call(self, name: str, column: int) -> Syntax:
        known = name in FUNCTIONS or name in CASTS or name in SCALAR_TYPES or name == "select"
        if not known:
            self.at -= 1
            raise self.fail(f"one of the functions select, {', '.join(FUNCTIONS)}, a type, or as_ and a type")
        self.need("(")
        parts = [self.expression()]
        while self.take(","):
            parts.append(self.expression())
        if not self.take(")"):
            raise self.fail("`,` or `)`")
        count = 3 if name == "select" else FUNCTIONS.get(name, 1)
        if len(parts) != count and not (name in {"min", "max"} and len(parts) > count):
            plural = "" if count == 1 else "s"
            raise InputError(f"column {column} of {quoted(self.text)}: {name} takes {count} argument{plural}, found {len(parts)}")
        found = Syntax(name, column, tuple(parts[:count]))
        for part in parts[count:]:
            found = Syntax(name, column, (found, part))
        return found
