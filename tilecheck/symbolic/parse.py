"""Expressions as people write them, parsed into terms; never evaluated as Python.

Grammar, loosest first: `or`, `and`, `not`, comparisons (`== != < <= > >=`, chains allowed), `|`, `^`, `&`, `<< >>`, `+ -`,
`* // %`, unary `-`, then integers (decimal, 0x, 0b, with _), names, parentheses and the functions min, max, select, tdiv, tmod.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from tilecheck.errors import InputError
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Expr, Term
from tilecheck.symbolic.tokens import Tokens, quoted

MAX_DEPTH = 60
MAX_TOKENS = 400
MAX_BITS = 256
FUNCTIONS = {"min": 2, "max": 2, "select": 3, "tdiv": 2, "tmod": 2}
"""The functions of the language and how many arguments they take (min and max: at least)."""
KEYWORDS = frozenset({"and", "or", "not", "true", "false", "True", "False"})
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F_]+|0[bB][01_]+|[0-9][0-9_]*(?![A-Za-z.]))|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<op>//|<<|>>|<=|>=|==|!=|[-+*%^&|<>(),]))"
)
_LEVELS = (("|",), ("^",), ("&",), ("<<", ">>"), ("+", "-"), ("*", "//", "%"))
_COMPARISONS: dict[str, Callable[[Term, Term], Term]] = {
    "==": lambda a, b: raw("==", a, b),
    "!=": lambda a, b: terms.negate(raw("==", a, b)),
    "<": lambda a, b: raw("<", a, b),
    "<=": lambda a, b: raw("<=", a, b),
    ">": lambda a, b: raw("<", b, a),
    ">=": lambda a, b: raw("<=", b, a),
}


def parse(text: str, *, truth: bool = False) -> Term:
    """The term that `text` writes: an integer, or with `truth` a condition.

    InputError names the column, what was found and what was expected.
    """
    if not truth and len(text) <= PLAIN and text.isascii() and text.isdigit():
        return int(text)
    return _parsed(text, truth=truth)


PLAIN = 30
"""Digits of a number that needs no parser."""


@lru_cache(maxsize=4096)
def _parsed(text: str, *, truth: bool) -> Term:
    return _Parser(text).whole(truth=truth)


def raw(operator: str, a: Term, b: Term) -> Term:
    """The node as written; only two constants fold."""
    return terms.build(operator, (a, b)) if isinstance(a, int) and isinstance(b, int) else Expr(operator, (a, b))


def is_truth(term: Term) -> bool:
    """Whether a term is a truth value rather than an integer."""
    return isinstance(term, bool) if isinstance(term, int) else term.is_truth


def _expected(character: str) -> str:
    hints = {"/": "an integer operator (division is `//` or tdiv)", ".": "an integer", "=": "`==`", "!": "`!=` or `not`"}
    return hints.get(character, "an integer, a name or an operator")


class _Parser(Tokens):
    def __init__(self, text: str) -> None:
        super().__init__(text, "an expression", _TOKEN, KEYWORDS, MAX_TOKENS, _expected)

    def whole(self, *, truth: bool) -> Term:
        term = self.disjunction()
        self.end()
        if is_truth(term) != truth:
            wanted, got = ("a condition", "an integer") if truth else ("an integer", "a condition")
            raise InputError(f"{quoted(self.text)} is {got}, expected {wanted}")
        return term

    def disjunction(self) -> Term:
        term = self.conjunction()
        while self.take("or"):
            term = raw("or", self.truth(term), self.truth(self.conjunction()))
        return term

    def conjunction(self) -> Term:
        term = self.negation()
        while self.take("and"):
            term = raw("and", self.truth(term), self.truth(self.negation()))
        return term

    def negation(self) -> Term:
        count = 0
        while self.take("not"):
            count += 1
        term = self.comparison()
        if count:
            term = self.truth(term)
            return terms.negate(term) if count % 2 else term
        return term

    def comparison(self) -> Term:
        left = self.binary(0)
        parts: list[Term] = []
        while operator := self.take(*_COMPARISONS):
            right = self.integer(self.binary(0))
            parts.append(_COMPARISONS[operator](self.integer(left), right))
            left = right
        return terms.conj(*parts) if parts else left

    def binary(self, level: int) -> Term:
        if level == len(_LEVELS):
            return self.unary()
        term = self.binary(level + 1)
        while operator := self.take(*_LEVELS[level]):
            right = self.integer(self.binary(level + 1))
            term = self.checked(raw(operator, self.integer(term), right))
        return term

    def unary(self) -> Term:
        minus = 0
        while self.take("-"):
            minus += 1
        self.take("+")
        term = self.atom()
        if minus:
            term = self.integer(term)
            return raw("-", 0, term) if minus % 2 else term
        return term

    def atom(self) -> Term:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise InputError(f"{quoted(self.text)} nests deeper than {MAX_DEPTH} levels")
        try:
            return self._atom()
        finally:
            self.depth -= 1

    def _atom(self) -> Term:
        if self.take("("):
            term = self.disjunction()
            self.need(")")
            return term
        if word := self.take("true", "True", "false", "False"):
            return word.lower() == "true"
        if self.at >= len(self.tokens):
            raise self.fail("an integer, a name or `(`")
        kind, value, _ = self.tokens[self.at]
        if kind == "number":
            return self.number(value)
        if kind == "name" and value not in KEYWORDS:
            self.at += 1
            if self.peek() == "(":
                return self.call(value)
            return terms.var(value) if value != "elected" else terms.eq(terms.var("laneid"), terms.var(terms.ELECTED))
        raise self.fail("an integer, a name or `(`")

    def number(self, value: str) -> Term:
        if len(value) > 100:
            raise self.fail(f"an integer of at most {MAX_BITS} bits")
        try:
            number = int(value, 0) if value[:2].lower() in {"0x", "0b"} else int(value)
        except ValueError:
            raise self.fail("an integer") from None
        self.at += 1
        return self.checked(number)

    def call(self, name: str) -> Term:
        if name not in FUNCTIONS:
            self.at -= 1
            raise self.fail(f"one of the functions {', '.join(FUNCTIONS)}")
        count = FUNCTIONS[name]
        self.take("(")
        args = [self.disjunction()]
        while self.take(","):
            args.append(self.disjunction())
        self.need(")")
        if len(args) != count and not (name in {"min", "max"} and len(args) > count):
            raise InputError(f"{quoted(self.text)}: {name} takes {count} arguments, found {len(args)}")
        if name == "select":
            condition, then, otherwise = self.truth(args[0]), self.integer(args[1]), self.integer(args[2])
            return terms.select(condition, then, otherwise) if isinstance(condition, bool) else Expr("select", (condition, then, otherwise))
        result = self.integer(args[0])
        for arg in args[1:]:
            result = raw(name, result, self.integer(arg))
        return result

    def truth(self, term: Term) -> Term:
        if not is_truth(term):
            raise InputError(f"{quoted(self.text)}: {_short(term)} is an integer, expected a condition")
        return term

    def integer(self, term: Term) -> Term:
        if is_truth(term):
            raise InputError(f"{quoted(self.text)}: {_short(term)} is a condition, expected an integer")
        return term

    def checked(self, term: Term) -> Term:
        if isinstance(term, int) and term.bit_length() > MAX_BITS:
            raise InputError(f"{quoted(self.text)}: an integer of {term.bit_length()} bits; at most {MAX_BITS} are read")
        return term


def _short(term: Term) -> str:
    text = str(term)
    return text if len(text) <= 40 else text[:37] + "..."
