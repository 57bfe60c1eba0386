"""Terms as text that `parse` reads back."""

from __future__ import annotations

from tilecheck.symbolic.terms import ELECTED, Expr, Term, eq, var

_LEVEL = {
    "or": 1,
    "and": 2,
    "not": 3,
    "==": 4,
    "<": 4,
    "<=": 4,
    "!=": 4,
    "|": 5,
    "^": 6,
    "&": 7,
    "<<": 8,
    ">>": 8,
    "+": 9,
    "-": 9,
    "*": 10,
    "//": 10,
    "%": 10,
}
_ELECTED = eq(var("laneid"), var(ELECTED))


def show(term: Term) -> str:
    """`4*i + 2` and the like; `show` then `parse` gives an equal term."""
    return _show(term, 0)


def _show(term: object, level: int) -> str:
    if isinstance(term, bool):
        return "true" if term else "false"
    if isinstance(term, int):
        return f"({term})" if term < 0 and level > 9 else str(term)
    assert isinstance(term, Expr)
    op, args = term.op, term.args
    if term == _ELECTED:
        return "elected"
    if op == "var":
        return str(args[0])
    if op in {"min", "max", "select", "tdiv", "tmod"}:
        return f"{op}({', '.join(_show(arg, 0) for arg in args)})"
    if op in {"table", "true_in"}:
        return f"{op}({_show(args[0], 0)}, {args[1]})"
    if op == "not":
        inner = args[0]
        if isinstance(inner, Expr) and inner.op == "==" and inner != _ELECTED:
            text, own = f"{_show(inner.args[0], 5)} != {_show(inner.args[1], 5)}", 4
        else:
            text, own = f"not {_show(inner, 3)}", 3
    elif op == "-" and args[0] == 0:
        own = _LEVEL["*"]
        text = f"-{_show(args[1], own + 1)}"
    else:
        own = _LEVEL[op]
        joiner = "*" if op == "*" else f" {op} "
        associative = op in {"and", "or"}
        text = joiner.join(_show(arg, own + (1 if k or own == 4 or associative else 0)) for k, arg in enumerate(args))
    return f"({text})" if level > own else text
