"""Check files: Python files whose functions are marked `@claim` or `@theorem`.

    @claim
    def rows_of_sixteen_bytes(): return apply("ld.global.v4.b32", registers, view, scope="thread")

    @claim(refuted="src.aligned")
    def rows_off_by_one(): return apply(...)

    @theorem(ranks=(1, 2, 3))
    def a_slice_moves_the_origin(t, rank): ...

A claim returns calls and says what their verdict must be; one that comes out otherwise fails the run. A theorem states facts and goals
and must be proved, once for every rank.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar, TypeVar, overload

from tilecheck.errors import InputError

if TYPE_CHECKING:
    from tilecheck.call import Call
    from tilecheck.kernels import Kernel
    from tilecheck.prove.theorem import Theorem
    from tilecheck.prove.verdict import Verdict

_F = TypeVar("_F", bound=Callable[[], object])
_T = TypeVar("_T", bound=Callable[..., object])

MAX_CALLS = 100_000
"""The most calls one claim may return; a generator without end stops here."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a verdict must be: its status, a clause that must fail, a hazard that must be listed."""

    status: str
    clause: str | None = None
    hazard: str | None = None

    def met_by(self, verdict: Verdict) -> bool:
        """Status equal; a refuted call by the named clause (equal, or ending in `.` + it); the named hazard among the hazards."""
        if verdict.status != self.status:
            return False
        if self.clause is not None and self.status == "refuted" and not any(same_clause(c.id, self.clause) for c in verdict.failing):
            return False
        return self.hazard is None or any(h.id == self.hazard for h in verdict.hazards)

    def __str__(self) -> str:
        by = f" by {self.clause}" if self.clause is not None and self.status == "refuted" else ""
        return f"{self.status}{by}" + (f" with the hazard {self.hazard}" if self.hazard is not None else "")


def same_clause(clause: str, named: str) -> bool:
    """Whether a clause id is the one named: `src.aligned` is `src.aligned` and `aligned`."""
    return clause == named or clause.endswith("." + named)


@dataclass(frozen=True, slots=True)
class Marked:
    """One marked function of a check file, and where it stands."""

    kind: ClassVar[str] = "function"
    name: str
    function: Callable[..., object]
    path: str
    line: int

    @property
    def title(self) -> str:
        """`file.py::name`."""
        return f"{self.path}::{self.name}"

    def error(self, what: str) -> InputError:
        """An InputError at the line of the function."""
        return InputError(f"the {self.kind} {self.name} {what}", where=f"{self.path}:{self.line}")


@dataclass(frozen=True, slots=True)
class Claim(Marked):
    """A function that returns calls, and what it claims of them."""

    kind: ClassVar[str] = "claim"
    expectation: Expectation

    def made(self) -> list[Call | Kernel]:
        """The calls and kernels the function returns: one, or each of a list or generator. InputError names the line where it goes wrong."""
        from tilecheck.call import Call
        from tilecheck.kernels import Kernel

        with beside(self.path), _errors_of(self.path, self.line, f"the claim {self.name}"):
            result = self.function()
            if isinstance(result, Call | Kernel):
                return [result]
            if not isinstance(result, Iterable) or isinstance(result, str | bytes | dict):
                kind = type(result).__name__  # type: ignore[reportUnknownArgumentType]
                raise self.error(f"returned a {kind}, expected a call or a list of calls")
            return self._each(result)  # type: ignore[reportUnknownArgumentType]

    def _each(self, result: Iterable[object]) -> list[Call | Kernel]:
        from tilecheck.call import Call
        from tilecheck.kernels import Kernel

        calls: list[Call | Kernel] = []
        for item in result:
            if not isinstance(item, Call | Kernel):
                raise self.error(f"returned a {type(item).__name__} as item {len(calls)}, expected a call")
            if len(calls) == MAX_CALLS:
                raise self.error(f"returned more than {MAX_CALLS} calls")
            calls.append(item)
        if not calls:
            raise self.error("returned no call, expected at least one")
        return calls


@dataclass(frozen=True, slots=True)
class TheoremClaim(Marked):
    """A function that states facts and goals; `ranks` empty: of the context alone, else once for each rank."""

    kind: ClassVar[str] = "theorem"
    ranks: tuple[int, ...] = ()

    @property
    def cases(self) -> tuple[int | None, ...]:
        """The rank of each time that it is proved; None where it takes none."""
        return self.ranks or (None,)

    def case_name(self, rank: int | None) -> str:
        """The name of one of them: `name`, or `name[rank=2]`."""
        return self.name if rank is None else f"{self.name}[rank={rank}]"

    def build(self, context: Theorem, rank: int | None) -> None:
        """Runs the function; InputError names the line where it goes wrong."""
        with beside(self.path), _errors_of(self.path, self.line, f"the theorem {self.case_name(rank)}"):
            self.function(*((context,) if rank is None else (context, rank)))


_collecting: ContextVar[tuple[str, list[Claim | TheoremClaim]] | None] = ContextVar("collecting", default=None)


@overload
def claim(function: _F, /) -> _F: ...
@overload
def claim(
    *, refuted: str | None = None, vacuous: bool = False, unproved: bool = False, error: bool = False, hazard: str | None = None
) -> Callable[[_F], _F]: ...
def claim(
    function: _F | None = None,
    /,
    *,
    refuted: str | None = None,
    vacuous: bool = False,
    unproved: bool = False,
    error: bool = False,
    hazard: str | None = None,
) -> _F | Callable[[_F], _F]:
    """Marks a function of a check file: the call (or every call) that it returns must be proved, or what the one keyword says.

    refuted: the clause that must fail. hazard: one that must be listed beside the verdict.
    The function stays as it is; outside a check file the mark does nothing.
    """
    said = {"refuted": refuted is not None, "vacuous": vacuous, "unproved": unproved, "error": error}
    statuses = [name for name, given in said.items() if given]
    if len(statuses) > 1:
        raise InputError(f"a claim says {' and '.join(statuses)}, expected one of them")
    if refuted is not None and not (isinstance(refuted, str) and refuted):  # type: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"refuted is {refuted!r}, expected the id of a clause")
    expectation = Expectation(statuses[0] if statuses else "proved", refuted, hazard)

    def mark(function: _F) -> _F:
        collecting = _collecting.get()
        if collecting is not None and function.__module__ == collecting[0]:
            collecting[1].append(Claim(*_place(function), expectation))
        return function

    return mark if function is None else mark(function)


@overload
def theorem(function: _T, /) -> _T: ...
@overload
def theorem(*, ranks: Sequence[int] = ()) -> Callable[[_T], _T]: ...
def theorem(function: _T | None = None, /, *, ranks: Sequence[int] = ()) -> _T | Callable[[_T], _T]:
    """Marks a function of a check file as a theorem: `f(t)`, or with `ranks` `f(t, rank)` for each of them, must be proved.

    t is a `Theorem`: symbols, given facts, and what to show. The function stays as it is; outside a check file the mark does nothing.
    """
    fixed = tuple(ranks)
    if any(isinstance(rank, bool) or not isinstance(rank, int) or rank < 0 for rank in fixed) or len(set(fixed)) != len(fixed):  # type: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"ranks is {ranks!r}, expected different integers of at least 0")

    def mark(function: _T) -> _T:
        collecting = _collecting.get()
        if collecting is not None and function.__module__ == collecting[0]:
            collecting[1].append(TheoremClaim(*_place(function), fixed))
        return function

    return mark if function is None else mark(function)


def _place(function: Callable[..., object]) -> tuple[str, Callable[..., object], str, int]:
    """(name, function, file, line) of a marked function."""
    code = getattr(function, "__code__", None)
    return getattr(function, "__name__", "?"), function, collecting_path(), getattr(code, "co_firstlineno", 1)


_path: ContextVar[str] = ContextVar("path", default="")


def collecting_path() -> str:
    """The check file that is being imported, as it was named."""
    return _path.get()


def has_claims(path: str | Path) -> bool:
    """Whether a Python file marks a function with `claim` or `theorem`, found without running it; False where it is no Python that can be read."""
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    names = {"claim", "theorem"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tilecheck":
            names.update(alias.asname for alias in node.names if alias.name in {"claim", "theorem"} and alias.asname)
    return any(
        _decorator_name(decorator) in names
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for decorator in node.decorator_list
    )


def _decorator_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def collect(path: str | Path) -> list[Claim | TheoremClaim]:
    """The claims and theorems of a check file in the order they are written; InputError where it cannot be imported, has none, or has one name twice."""
    shown = str(path)
    absolute = os.path.realpath(shown)
    name = f"tilecheck_check_file_{hashlib.sha256(absolute.encode(errors='surrogateescape')).hexdigest()[:12]}"
    found: list[Claim | TheoremClaim] = []
    tokens = _collecting.set((name, found)), _path.set(shown)
    try:
        with beside(shown), _errors_of(shown, 1, "the import"):
            _import(absolute, name)
    finally:
        _collecting.reset(tokens[0])
        _path.reset(tokens[1])
    if not found:
        raise InputError("no claim in it and no theorem, expected functions marked @claim or @theorem", where=shown)
    known: dict[str, Claim | TheoremClaim] = {}
    for one in found:
        first = known.setdefault(one.name, one)
        if first is not one:
            more = " (one may return a list of calls)" if one.kind == first.kind == "claim" else ""
            raise one.error(f"has the name of the {first.kind} in line {first.line}; each needs its own{more}")
    return found


def _import(path: str, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError("no Python file, expected one ending in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


_origin: dict[str, str] = {}
"""Top-level modules that check files imported from their own directory, by name: that directory."""


@contextmanager
def beside(path: str) -> Generator[None]:
    """The directory of a check file on sys.path; a helper of that name from another directory does not stand in for its own."""
    directory = str(Path(path).resolve().parent)
    for name in [n for n, other in _origin.items() if other != directory and _is_in(directory, n)]:
        for loaded in [m for m in sys.modules if m == name or m.startswith(name + ".")]:
            del sys.modules[loaded]
        del _origin[name]
    before = set(sys.modules)
    sys.path.insert(0, directory)
    try:
        yield
    finally:
        if directory in sys.path:
            sys.path.remove(directory)
        new = {name.split(".")[0] for name in set(sys.modules) - before}
        _origin.update((name, directory) for name in new if _is_in(directory, name))


def _is_in(directory: str, module: str) -> bool:
    return (Path(directory) / f"{module}.py").is_file() or (Path(directory) / module).is_dir()


@contextmanager
def _errors_of(path: str, line: int, what: str) -> Generator[None]:
    """Errors of user code as InputErrors at the line of the check file (or of a file beside it) where they came from."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except SyntaxError as error:
        raise InputError(f"not Python: {error.msg}", where=f"{error.filename or path}:{error.lineno or line}") from error
    except InputError as error:
        if error.where:
            raise
        raise InputError(error.message, path=error.path, where=f"{path}:{_line(error, path) or line}") from error
    except BaseException as error:
        text = str(error).split("\n", 1)[0][:300]
        kind = type(error).__name__
        raise InputError(f"{what} raised {kind}" + (f": {text}" if text else ""), where=f"{path}:{_line(error, path) or line}") from error


def _line(error: BaseException, path: str) -> int | None:
    absolute = os.path.realpath(path)
    found: int | None = None
    trace = error.__traceback__
    while trace is not None:
        if os.path.realpath(trace.tb_frame.f_code.co_filename) == absolute:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found
