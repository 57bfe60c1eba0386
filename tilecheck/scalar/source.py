"""A scalar function from the source of a Python function, which is read and never run.

Parameters and result are annotated with types: `float32`, `"float32"` or `T.float32`. The body binds names, returns, and returns under `if`; functions are those of
the language, whatever module they are written with (`T.exp`, `math.exp`). Every binding gets a name of its own. An `if` becomes a `select` for each name that it
binds; one under which something returns becomes a `select` of all that follows, which is written once for each path that goes on.
"""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence

from tilecheck.errors import InputError
from tilecheck.scalar.function import Function
from tilecheck.scalar.parse import RESERVED

BETWEEN: Mapping[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.And: "and",
    ast.Or: "or",
}
BEFORE: Mapping[type[ast.AST], str] = {ast.USub: "-", ast.Invert: "~", ast.Not: "not ", ast.UAdd: ""}

MAX_STATEMENTS = 500
"""The statements of all paths that are read."""


def function_from_python(function: Callable[..., object]) -> Function:
    """The scalar function that a Python function writes; InputError names the line, what was found and what was expected."""
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        name = getattr(function, "__name__", type(function).__name__)
        raise InputError(f"the source of {name} cannot be read, expected a function of a file") from None
    return function_from_source(text)


def function_from_source(text: str) -> Function:
    """The scalar function that the text of one Python function writes."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise InputError(f"not Python: {error}") from None
    except (RecursionError, MemoryError):
        raise InputError("the function is nested too deeply") from None
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        raise InputError("found no function, expected the source of one, written with def")
    try:
        return _Source(tree.body[0]).function()
    except RecursionError:
        raise InputError(f"{tree.body[0].name} is nested too deeply") from None


class _Source:
    def __init__(self, definition: ast.FunctionDef) -> None:
        self.definition = definition
        self.taken: set[str] = set()
        self.count = 0

    def fail(self, node: ast.AST, message: str) -> InputError:
        return InputError(f"line {getattr(node, 'lineno', 1)} of {self.definition.name}: {message}")

    def function(self) -> Function:
        arguments = self.definition.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
            raise self.fail(self.definition, "found defaults, * or keywords, expected plain parameters")
        params = [(one.arg, self.annotation(one.annotation, one.arg)) for one in (*arguments.posonlyargs, *arguments.args)]
        self.taken.update(name for name, _ in params)
        body = self.statements(self.definition.body, {name: name for name, _ in params}, self.definition)
        return Function(tuple(params), self.annotation(self.definition.returns, "the result"), body)

    def annotation(self, node: ast.expr | None, what: str) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        if isinstance(node, ast.Name | ast.Attribute):
            return self.called(node)
        raise self.fail(self.definition, f"{what} has no type, expected an annotation such as float32")

    def called(self, node: ast.expr) -> str:
        """The last part of a name: `T.exp` is exp."""
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Attribute):
            return node.attr
        raise self.fail(node, f"found {ast.unparse(node)[:40]!r}, expected a name")

    def statements(self, rest: Sequence[ast.stmt], names: Mapping[str, str], last: ast.AST) -> str:
        """What the statements return."""
        if not rest:
            raise self.fail(last, "found a path that returns nothing, expected a return")
        first, *after = rest
        self.counted(first)
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            return self.statements(after, names, first)
        if isinstance(first, ast.Pass):
            return self.statements(after, names, first)
        if isinstance(first, ast.Return) and first.value is not None:
            return self.text(first.value, names)
        if isinstance(first, ast.If) and after and not any(isinstance(part, ast.Return) for part in ast.walk(first)):
            bindings: list[tuple[str, str]] = []
            joined = self.joined(first, names, bindings)
            return "".join(f"let {name} = {value} in " for name, value in bindings) + self.statements(after, joined, first)
        if isinstance(first, ast.If):
            then, otherwise = (self.statements([*branch, *after], names, first) for branch in (first.body, first.orelse))
            return f"select({self.text(first.test, names)}, {then}, {otherwise})"
        if isinstance(first, ast.Assign | ast.AnnAssign | ast.AugAssign):
            target, value = self.assigned(first, names)
            new = self.fresh(target)
            return f"let {new} = {value} in {self.statements(after, {**names, target: new}, first)}"
        raise self.unknown(first)

    def unknown(self, node: ast.stmt) -> InputError:
        return self.fail(node, f"found {ast.unparse(node).splitlines()[0][:40]!r}, expected a binding, an if or a return")

    def counted(self, node: ast.stmt) -> None:
        self.count += 1
        if self.count > MAX_STATEMENTS:
            raise self.fail(
                node, f"found more than {MAX_STATEMENTS} statements on its paths; what follows an if that may return is read for each path"
            )

    def joined(self, node: ast.If, names: Mapping[str, str], bindings: list[tuple[str, str]]) -> Mapping[str, str]:
        """The names after an if that goes on: its bindings are added, and one that selects for each name that has two values."""
        test = self.text(node.test, names)
        then, otherwise = (self.straight(branch, names, bindings) for branch in (node.body, node.orelse))
        after = dict(names)
        for name in {**then, **otherwise}:
            one, other = then.get(name, ""), otherwise.get(name, "")
            if one and other and one != other:
                new = self.fresh(name)
                bindings.append((new, f"select({test}, {one}, {other})"))
                after[name] = new
            else:
                after[name] = one if one == other else ""
        return after

    def straight(self, rest: Sequence[ast.stmt], names: Mapping[str, str], bindings: list[tuple[str, str]]) -> Mapping[str, str]:
        """The names after statements that return nothing; their bindings are added."""
        for node in rest:
            self.counted(node)
            if isinstance(node, ast.If):
                names = self.joined(node, names, bindings)
            elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
                target, value = self.assigned(node, names)
                bindings.append((self.fresh(target), value))
                names = {**names, target: bindings[-1][0]}
            elif not isinstance(node, ast.Pass) and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                raise self.unknown(node)
        return names

    def bound(self, node: ast.AST, name: str, names: Mapping[str, str]) -> str:
        """What a name stands for; one that nothing binds is left to the language."""
        if names.get(name) == "":
            raise self.fail(node, f"found the name {name!r}, which not every path binds")
        if name not in names and name in self.taken:
            raise self.fail(node, f"found the name {name!r}, which nothing binds here")
        return names.get(name, name)

    def assigned(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, names: Mapping[str, str]) -> tuple[str, str]:
        """(the name that is bound, the value)."""
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if len(targets) != 1 or not isinstance(targets[0], ast.Name) or node.value is None:
            raise self.fail(node, f"found {ast.unparse(node)[:40]!r}, expected one name and its value")
        value, name = self.text(node.value, names), targets[0].id
        if isinstance(node, ast.AugAssign):
            if type(node.op) not in BETWEEN:
                raise self.fail(node, f"found {ast.unparse(node)[:40]!r}, expected arithmetic")
            value = f"{self.bound(node, name, names)} {BETWEEN[type(node.op)]} ({value})"
        return name, value

    def fresh(self, name: str) -> str:
        """A name that nothing has yet."""
        number, new = 1, name
        while new in self.taken or new in RESERVED:
            number += 1
            new = f"{name}_{number}"
        self.taken.add(new)
        return new

    def text(self, node: ast.expr, names: Mapping[str, str]) -> str:
        """An expression in the language."""
        if isinstance(node, ast.Constant):
            return self.constant(node)
        if isinstance(node, ast.Name):
            return self.bound(node, node.id, names)
        if isinstance(node, ast.Attribute):
            return node.attr
        if isinstance(node, ast.BinOp) and type(node.op) in BETWEEN:
            return f"({self.text(node.left, names)} {BETWEEN[type(node.op)]} {self.text(node.right, names)})"
        if isinstance(node, ast.UnaryOp):
            return f"({BEFORE[type(node.op)]}{self.text(node.operand, names)})"
        if isinstance(node, ast.BoolOp):
            return "(" + f" {BETWEEN[type(node.op)]} ".join(self.text(part, names) for part in node.values) + ")"
        if isinstance(node, ast.Compare) and all(type(op) in BETWEEN for op in node.ops):
            parts = (f"{BETWEEN[type(op)]} {self.text(side, names)}" for op, side in zip(node.ops, node.comparators, strict=True))
            return f"({self.text(node.left, names)} {' '.join(parts)})"
        if isinstance(node, ast.IfExp):
            return f"select({', '.join(self.text(part, names) for part in (node.test, node.body, node.orelse))})"
        if isinstance(node, ast.Call) and not node.keywords:
            return f"{self.called(node.func)}({', '.join(self.text(arg, names) for arg in node.args)})"
        raise self.fail(node, f"found {ast.unparse(node)[:40]!r}, expected arithmetic, a comparison or a function")

    def constant(self, node: ast.Constant) -> str:
        value = node.value
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, float) and math.isinf(value):
            raise self.fail(node, "found a number beyond float64, expected one that it holds; infinity is written math.inf")
        if isinstance(value, int | float):
            return repr(value)
        raise self.fail(node, f"found {ast.unparse(node)[:40]}, expected a number")
