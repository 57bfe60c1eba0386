"""SMT-LIB 2 text of terms: one definition for each operation, in an encoding that says what numbers and operations are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from tilecheck.symbolic import terms
from tilecheck.symbolic.show import show
from tilecheck.symbolic.terms import Expr, Term, entries

SHORT = 72
"""Truth terms up to this many characters stand where they are used."""
SHOWN = 40
"""Terms of up to this many nodes are shown in comments."""


class Encoding(Protocol):
    """What integers are: a sort, its literals, comparisons and operations."""

    @property
    def sort(self) -> str:
        """The sort of integers."""
        ...

    def number(self, value: int) -> str:
        """A literal."""
        ...

    def compare(self, op: str, a: str, b: str) -> str:
        """a == b, a < b or a <= b."""
        ...

    def operation(self, node: Expr, args: list[str], text: Text) -> str:
        """An operation on integers, its arguments already written; NoForm where there is none."""
        ...


def variable_name(name: str) -> str:
    """The SMT-LIB symbol of a variable: `v.n` for what a user or a contract names, `h.cta` for what tilecheck does; `.1` and so on for copies."""
    own = name.removeprefix("@")
    return ("v." if own == name else "h.") + own.replace("@", ".").replace("/", ".by.")


class Text:
    """Definitions of terms, each once, arguments first.

    given: names of nodes that are written already, or stand for something else. prefix: in front of every name.
    """

    def __init__(self, encoding: Encoding, given: Mapping[Term, str] | None = None, prefix: str = "") -> None:
        self.encoding = encoding
        self.prefix = prefix
        self.lines: list[str] = []
        self.names: dict[Term, str] = dict(given or {})
        self.count = 0

    def of(self, term: Term) -> str:
        """The name of a term, its definitions written first."""
        for node in terms.subterms(term):
            if node not in self.names and isinstance(node, Expr):
                self.names[node] = self._node(node)
        return self.argument(term)

    def argument(self, term: Term) -> str:
        """A literal, or the name of a node that is written."""
        if isinstance(term, bool):
            return "true" if term else "false"
        return self.encoding.number(term) if isinstance(term, int) else self.names[term]

    def define(self, stem: str, sort: str, body: str) -> str:
        """Writes a definition and gives its name."""
        self.count += 1
        name = f"{self.prefix}{stem}{self.count}"
        self.lines.append(f"(define-fun {name} () {sort} {body})")
        return name

    def _node(self, node: Expr) -> str:
        if node.op == "var":
            return variable_name(str(node.args[0]))
        args = [self.argument(arg) for arg in terms.children(node)]
        if not node.is_truth:
            return self.define("t", self.encoding.sort, self.encoding.operation(node, args, self))
        text = self._truth(node, args)
        return text if len(text) <= SHORT else self.define("p", "Bool", text)

    def _truth(self, node: Expr, args: list[str]) -> str:
        if node.op in {"and", "or", "not"}:
            return f"({node.op} {' '.join(args)})"
        if node.op == "true_in":
            return any_of(self.encoding.compare("==", args[0], self.encoding.number(k)) for k, value in enumerate(entries(node)) if value)
        return self.encoding.compare(node.op, *args)


def any_of(parts: Iterable[str]) -> str:
    """At least one of the parts."""
    return _joined("or", list(parts), "false")


def all_of(parts: Iterable[str]) -> str:
    """Every one of the parts."""
    return _joined("and", list(parts), "true")


def _joined(op: str, parts: list[str], empty: str) -> str:
    return empty if not parts else parts[0] if len(parts) == 1 else f"({op} {' '.join(parts)})"


def looked_up(encoding: Encoding, index: str, values: tuple[int, ...]) -> str:
    """values[index], the last value for an index beyond."""
    text = encoding.number(values[-1])
    for k in range(len(values) - 2, -1, -1):
        text = f"(ite {encoding.compare('==', index, encoding.number(k))} {encoding.number(values[k])} {text})"
    return text


def comment(text: str, width: int = 130) -> list[str]:
    """Text as comment lines: nothing in it can end a comment."""
    words = "".join(c if c.isascii() and c.isprintable() else "?" for c in " ".join(text.split())).split(" ")
    lines, line = list[str](), ";"
    for word in words:
        if len(line) + len(word) + 1 > width and line != ";":
            lines.append(line)
            line = ";  "
        line += f" {word}"
    return [*lines, line]


def shown(term: Term) -> str:
    """The term as tilecheck writes it; "" for one that is long."""
    size = 0
    todo: list[Term] = [term]
    while todo and size <= SHOWN:
        size += 1
        todo.extend(terms.children(todo.pop()))
    return show(term) if size <= SHOWN else ""
