"""Call documents: JSON in and out, with errors that name file, line and JSON path, what was found and what was expected."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard, TypeVar

from tilecheck.call import INDEX_DTYPES, SCOPES, VARIES, Call, Launch, Scalar, Symbol, Value, default_launch, require_declared, symbol
from tilecheck.errors import InputError
from tilecheck.kernels import KERNEL_SCHEMA, MAX_CALLS, Kernel
from tilecheck.layout.notation import parse_layout
from tilecheck.layout.view import Tensor, View, step_from_json
from tilecheck.scalar.function import function_from_json
from tilecheck.symbolic.parse import parse
from tilecheck.symbolic.terms import Expr, Term

_T = TypeVar("_T")

CALL_SCHEMA = "tilecheck/call@1"
STATUSES = ("proved", "refuted", "unproved", "vacuous", "error")
SPACES = ("global", "shared", "register", "local", "tmem", "tensormap")
WORDS = frozenset({"format", "mbar", "a_major", "b_major", "a_format", "b_format", "oob_fill", "swizzle", "interleave"})
"""Parameters whose text is a word of its own rather than an expression."""
CONDITIONS = frozenset({"pred", "accum", "neg_a", "neg_b", "sat_d", "ignore_src", "preserve_dst"})
"""Parameters whose text is a condition."""
ARCHITECTURES = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 107, 110, 120, 121)
"""The compute capabilities that PTX ISA 9 names as targets."""
MAX_BYTES = 64 << 20
MAX_RANK = 32
MAX_OPERANDS = 16
LIMIT = 1 << 64


@dataclass(frozen=True, slots=True)
class Entry:
    """One document of a file: the call, where it stands, and what a case file expects of it."""

    call: Call
    where: str
    expect: str | None = None
    clause: str | None = None
    hazard: str | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class KernelEntry:
    """What the calls of a kernel share, as a question of its own behind the entries of its calls; what is expected of the answer."""

    kernel: Kernel
    where: str
    expect: str | None = None
    clause: str | None = None
    hazard: str | None = None
    why: str = ""


AnyEntry = Entry | KernelEntry


def read_file(path: str | Path) -> list[AnyEntry]:
    """Every document of a .json or .jsonl file: one document, a list, or one a line. A kernel is an entry for each call, then one for what they share."""
    name = str(path)
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode("utf-8")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=name) from None
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start} is not UTF-8 text", where=name) from None
    except ValueError as error:  # a null byte in the name
        raise InputError(f"cannot be read: {error}", where=name) from None
    if len(data) > MAX_BYTES:
        raise InputError(f"more than {MAX_BYTES} bytes; at most that many are read", where=name)
    return read_text(text, where=name, lines=name.endswith(".jsonl"))


def read_text(text: str, *, where: str, lines: bool = False) -> list[AnyEntry]:
    """The documents in JSON text; with `lines`, one a line."""
    entries: list[AnyEntry] = []
    if lines:
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                entries.extend(_entries(_load(line, where, number), f"{where}:{number}", "$"))
    else:
        loaded = _load(text, where, None)
        if _is_list(loaded):
            entries.extend(entry for k, item in enumerate(loaded) for entry in _entries(item, where, f"$[{k}]"))
        else:
            entries.extend(_entries(loaded, where, "$"))
    if not entries:
        raise InputError("no document in it, expected a call document", where=where)
    return entries


def read_kernel(document: object, *, where: str = "") -> Kernel:
    """The kernel of one loaded document (a dict as json.loads gives it)."""
    found = _entries(document, where, "$")[-1]
    if not isinstance(found, KernelEntry):
        raise InputError(f"found a call document, expected {KERNEL_SCHEMA!r}", path="$.schema", where=where)
    return found.kernel


def read_call(document: object, *, where: str = "") -> Call:
    """The call of one loaded document (a dict as json.loads gives it)."""
    try:
        return _Reader("$").call(document)
    except InputError as error:
        raise error.in_file(where) if where else error from None


def _load(text: str, where: str, line: int | None) -> object:
    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        result: dict[str, object] = {}
        for key, value in items:
            if key in result:
                raise InputError(f"the key {key[:60]!r} stands twice in one object")
            result[key] = value
        return result

    def constant(word: str) -> object:
        raise InputError(f"found {word}, which JSON does not have")

    place = f"{where}:{line}" if line else where
    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except InputError as error:
        raise error.in_file(place) from None
    except json.JSONDecodeError as error:
        at = f"{where}:{line}:{error.colno}" if line else f"{where}:{error.lineno}:{error.colno}"
        raise InputError(f"not JSON: {error.msg}", where=at) from None
    except RecursionError:
        raise InputError("nested too deeply", where=place) from None
    except ValueError as error:
        raise InputError(f"not JSON: {str(error).split(';')[0][:120]}", where=place) from None


def _entries(loaded: object, where: str, path: str) -> list[AnyEntry]:
    """The entry of a call (or of a case), or those of a kernel."""
    reader = _Reader(path)
    try:
        document = reader.object(loaded, "")
        if "call" not in document and "kernel" not in document:
            return _kernel(document, where, path) if document.get("schema") == KERNEL_SCHEMA else [Entry(reader.call(document), where)]
        what = "call" if "call" in document else "kernel"
        reader.keys(document, "", ("id", "expect", "clause", "hazard", "why", "origin", "sure", what))
        expect = reader.choice(document["expect"], ".expect", STATUSES) if "expect" in document else None
        clause = reader.text(document["clause"], ".clause") if document.get("clause") is not None else None
        hazard = reader.text(document["hazard"], ".hazard") if document.get("hazard") is not None else None
        why = reader.text(document.get("why", ""), ".why")
        if what == "call":
            return [Entry(_Reader(path + ".call").call(document["call"]), where, expect, clause, hazard, why)]
        *calls, shared = _kernel(_Reader(path + ".kernel").object(document["kernel"], ""), where, path + ".kernel")
        assert isinstance(shared, KernelEntry)
        return [*calls, KernelEntry(shared.kernel, where, expect, clause, hazard, why)]
    except InputError as error:
        raise error.in_file(where) from None


def _kernel(document: dict[str, object], where: str, path: str) -> list[AnyEntry]:
    """The entries of the calls of a kernel, which have its arch and launch where they say none, and the one of what they share."""
    reader = _Reader(path)
    reader.keys(document, "", ("schema", "id", "arch", "launch", "calls"), ("schema", "calls"))
    if document["schema"] != KERNEL_SCHEMA:
        raise reader.fail(".schema", f"found {found(document['schema'])}, expected {KERNEL_SCHEMA!r}")
    name = reader.text(document.get("id", ""), ".id")
    common = {key: document[key] for key in ("arch", "launch") if document.get(key) is not None}
    launch = reader.launch(common["launch"], "cta") if "launch" in common else None
    items = reader.items(document["calls"], ".calls", most=MAX_CALLS)
    if not items:
        raise reader.fail(".calls", "found an empty list, expected the calls of the kernel")
    entries: list[Entry] = []
    for k, item in enumerate(items):
        at = f".calls[{k}]"
        own = dict(reader.object(item, at))
        inner = own.get("call", own)
        if "kernel" in own or own.get("schema") == KERNEL_SCHEMA:
            raise reader.fail(at, "found a kernel, expected a call")
        merged = {**common, **{key: value for key, value in reader.object(inner, at).items() if value is not None}}
        one = _entries({**own, "call": merged} if "call" in own else merged, f"{where}: calls[{k}]", path + at)[0]
        assert isinstance(one, Entry)
        if launch is not None and one.call.launch != launch:
            raise reader.fail(
                f"{at}{'.call' if 'call' in own else ''}.launch", "found another launch than that of the kernel, which has one"
            )
        entries.append(one)
    return [*entries, KernelEntry(Kernel(tuple(one.call for one in entries), name), where)]


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def _is_object(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def found(value: object) -> str:
    """A short description of a JSON value for messages."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if _is_object(value):
        return "an object"
    if _is_list(value):
        return f"a list of {len(value)}"
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an integer of {value.bit_length()} bits"
    text = json.dumps(value) if isinstance(value, str | float) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


class _Reader:
    """Reads one document; every error carries the JSON path under `root`."""

    def __init__(self, root: str) -> None:
        self.root = root

    def fail(self, path: str, message: str) -> InputError:
        return InputError(message, path=self.root + path)

    def object(self, value: object, path: str) -> dict[str, object]:
        if not _is_object(value):
            raise self.fail(path, f"found {found(value)}, expected an object")
        return value

    def items(self, value: object, path: str, *, most: int) -> list[object]:
        if not _is_list(value):
            raise self.fail(path, f"found {found(value)}, expected a list")
        if len(value) > most:
            raise self.fail(path, f"found {found(value)}, expected at most {most} entries")
        return value

    def keys(self, value: Mapping[str, object], path: str, allowed: tuple[str, ...], required: tuple[str, ...] = ()) -> None:
        for key in value:
            if key not in allowed:
                raise self.fail(path, f"found the key {key[:60]!r}, expected one of {', '.join(allowed)}")
        for key in required:
            if key not in value:
                raise self.fail(path, f"the key {key!r} is missing")

    def text(self, value: object, path: str) -> str:
        if not isinstance(value, str):
            raise self.fail(path, f"found {found(value)}, expected text")
        if len(value) > 100_000:
            raise self.fail(path, f"found text of {len(value)} characters, expected at most 100000")
        return value

    def choice(self, value: object, path: str, choices: tuple[str, ...]) -> str:
        if not isinstance(value, str) or value not in choices:
            raise self.fail(path, f"found {found(value)}, expected one of {', '.join(choices)}")
        return value

    def integer(self, value: object, path: str, least: int = -LIMIT, most: int = LIMIT) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.fail(path, f"found {found(value)}, expected an integer")
        if not least <= value <= most:
            raise self.fail(path, f"found {found(value)}, expected an integer from {least} to {most}")
        return value

    def guarded(self, path: str, make: Callable[[], _T]) -> _T:
        """The value of `make`, its InputErrors put at `path`."""
        try:
            return make()
        except InputError as error:
            raise InputError(error.message, path=self.root + path + error.path) from None

    def term(self, value: object, path: str, *, truth: bool = False) -> Term:
        if truth and isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self.guarded(path, lambda: parse(value, truth=truth))
        if truth:
            raise self.fail(path, f"found {found(value)}, expected a condition")
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.fail(path, f"found {found(value)}, expected an integer or an expression")
        return self.integer(value, path)

    def call(self, value: object) -> Call:
        document = self.object(value, "")
        keys = ("schema", "id", "opcode", "arch", "scope", "launch", "guard", "index_dtype", "symbols", "assume", "operands", "parameters")
        self.keys(document, "", (*keys, "function"), ("schema", "opcode", "scope", "operands"))
        if document["schema"] != CALL_SCHEMA:
            raise self.fail(".schema", f"found {found(document['schema'])}, expected {CALL_SCHEMA!r}")
        scope = self.choice(document["scope"], ".scope", SCOPES)
        symbols = self.symbols(document.get("symbols"))
        assume = [] if document.get("assume") is None else self.items(document["assume"], ".assume", most=1000)
        operands = self.items(document["operands"], ".operands", most=MAX_OPERANDS)
        call = Call(
            opcode=self.opcode(document["opcode"]),
            operands=tuple(self.operand(item, f".operands[{k}]") for k, item in enumerate(operands)),
            scope=scope,
            launch=self.launch(document.get("launch"), scope),
            guard=True if document.get("guard") is None else self.term(document["guard"], ".guard", truth=True),
            symbols=symbols,
            assume=tuple(self.term(item, f".assume[{k}]", truth=True) for k, item in enumerate(assume)),
            parameters=self.parameters(document.get("parameters")),
            index_dtype=self.choice(
                "int64" if document.get("index_dtype") is None else document["index_dtype"], ".index_dtype", tuple(INDEX_DTYPES)
            ),
            arch=None if document.get("arch") is None else self.arch(document["arch"]),
            id=self.text(document.get("id", ""), ".id"),
            function=None
            if document.get("function") is None
            else self.guarded(".function", lambda: function_from_json(document["function"])),
        )
        self.same_allocation(call)
        self.guarded("", lambda: require_declared(call))
        return call

    def opcode(self, value: object) -> str:
        opcode = self.text(value, ".opcode")
        if not opcode or len(opcode) > 300 or not all(c.isalnum() or c in "._:" for c in opcode):
            raise self.fail(".opcode", f"found {found(opcode)}, expected a PTX opcode")
        return opcode

    def arch(self, value: object) -> str:
        arch = self.text(value, ".arch")
        digits = arch[3:-1] if arch[-1:] in {"a", "f"} else arch[3:]
        if not (arch.startswith("sm_") and digits.isascii() and digits.isdigit() and int(digits) in ARCHITECTURES):
            raise self.fail(
                ".arch", f"found {found(arch)}, expected an architecture such as sm_90a (known: {', '.join(map(str, ARCHITECTURES))})"
            )
        return arch

    def launch(self, value: object, scope: str) -> Launch:
        if value is None:
            return self.guarded(".scope", lambda: default_launch(scope))
        document = self.object(value, ".launch")
        self.keys(document, ".launch", ("block", "cluster"), ("block",))

        def extents(key: str) -> tuple[int, ...]:
            items = self.items(document[key], f".launch.{key}", most=3)
            return tuple(self.integer(item, f".launch.{key}[{k}]", 1, 1 << 16) for k, item in enumerate(items))

        block, cluster = extents("block"), None if document.get("cluster") is None else extents("cluster")
        if scope == "cluster" and cluster is None:
            raise self.fail(".launch", "scope cluster needs a cluster in the launch")
        return self.guarded(".launch", lambda: Launch(block, cluster))

    def symbols(self, value: object) -> tuple[Symbol, ...]:
        items = [] if value is None else self.items(value, ".symbols", most=100)
        result: list[Symbol] = []
        for k, item in enumerate(items):
            path = f".symbols[{k}]"
            document = self.object(item, path)
            self.keys(document, path, ("name", "min", "max", "multiple_of", "varies"), ("name",))
            name = self.text(document["name"], path + ".name")

            def bound(key: str, path: str = path, document: dict[str, object] = document) -> int | None:
                return None if document.get(key) is None else self.integer(document[key], f"{path}.{key}")

            multiple = 1 if document.get("multiple_of") is None else self.integer(document["multiple_of"], path + ".multiple_of", 1)
            varies = "grid" if document.get("varies") is None else self.choice(document["varies"], path + ".varies", VARIES)
            low, high = bound("min"), bound("max")
            declared = self.guarded(
                path, lambda n=name, a=low, b=high, m=multiple, v=varies: symbol(n, min=a, max=b, multiple_of=m, varies=v)
            )
            if any(s.name == declared.name for s in result):
                raise self.fail(path + ".name", f"the symbol {declared.name!r} is declared twice")
            result.append(declared)
        return tuple(result)

    def parameters(self, value: object) -> tuple[tuple[str, Value], ...]:
        document = {} if value is None else self.object(value, ".parameters")
        return tuple((name, self.parameter(item, f".parameters.{name}", name, 0)) for name, item in document.items())

    def parameter(self, value: object, path: str, name: str, depth: int) -> Value:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            return self.integer(value, path)
        if isinstance(value, str):
            if name in WORDS:
                return self.text(value, path)
            return self.term(value, path, truth=name in CONDITIONS)
        if _is_list(value) and depth < 3:
            items = self.items(value, path, most=4096)
            return tuple(self.parameter(item, f"{path}[{k}]", name, depth + 1) for k, item in enumerate(items))
        raise self.fail(path, f"found {found(value)}, expected an integer, text, true, false or a list")

    def operand(self, value: object, path: str) -> View | Scalar:
        document = self.object(value, path)
        if "value" in document:
            self.keys(document, path, ("name", "value"), ("name",))
            name, value = self.name(document["name"], path), document["value"]
            number = value if isinstance(value, float) else self.term(value, path + ".value")
            return self.guarded(path + ".value", lambda: Scalar(name, number))
        keys = ("name", "tensor", "space", "dtype", "shape", "align", "base", "size_bytes", "layout", "view")
        self.keys(document, path, keys, ("name", "space", "dtype", "shape"))
        shape = self.items(document["shape"], path + ".shape", most=MAX_RANK)
        layout = None if document.get("layout") is None else self.text(document["layout"], path + ".layout")

        def make() -> Tensor:
            return Tensor(
                name=self.name(document["name"], path),
                shape=tuple(self.extent(item, f"{path}.shape[{k}]") for k, item in enumerate(shape)),
                dtype=self.text(document["dtype"], path + ".dtype"),
                space=self.choice(document["space"], path + ".space", SPACES),
                layout=None if layout is None else self.guarded(path + ".layout", lambda text=layout: parse_layout(text)),
                align=None if document.get("align") is None else self.integer(document["align"], path + ".align", 1, 1 << 40),
                base=None if document.get("base") is None else self.base(document["base"], path + ".base"),
                size_bytes=None if document.get("size_bytes") is None else self.integer(document["size_bytes"], path + ".size_bytes", 0),
                tensor=None if document.get("tensor") is None else self.text(document["tensor"], path + ".tensor"),
            )

        try:
            tensor = make()
        except InputError as error:
            raise error if error.path.startswith(self.root) else InputError(error.message, path=self.root + path + error.path) from None
        steps = [] if document.get("view") is None else self.items(document["view"], path + ".view", most=64)
        view: View = View(tensor)
        for k, item in enumerate(steps):
            at = f"{path}.view[{k}]"
            step = step_from_json(item, self.root + at)
            view = self.guarded(at, lambda view=view, step=step: view.then(step))
        return view

    def name(self, value: object, path: str) -> str:
        name = self.text(value, path + ".name")
        if not name or len(name) > 200:
            raise self.fail(path + ".name", f"found {found(name)}, expected a name")
        return name

    def extent(self, value: object, path: str) -> Term:
        term = self.term(value, path)
        if isinstance(term, int) and term < 1:
            raise self.fail(path, f"found {found(value)}, expected a positive extent")
        return term

    def base(self, value: object, path: str) -> tuple[int, int]:
        document = self.object(value, path)
        self.keys(document, path, ("mod", "is"), ("mod", "is"))
        modulus = self.integer(document["mod"], path + ".mod", 1, 1 << 40)
        return modulus, self.integer(document["is"], path + ".is", 0, modulus - 1)

    def same_allocation(self, call: Call) -> None:
        spaces: dict[str, str] = {}
        for k, operand in enumerate(call.operands):
            if isinstance(operand, View) and operand.tensor.tensor is not None:
                name, space = operand.tensor.tensor, operand.tensor.space
                if spaces.setdefault(name, space) != space:
                    raise self.fail(
                        f".operands[{k}].space", f"tensor {name!r} is in {space} here and in {spaces[name]} in an operand before"
                    )


def call_to_json(call: Call) -> dict[str, object]:
    """The document of a call; absent and default keys are left out, reading it back gives an equal call."""
    document: dict[str, object] = {"schema": CALL_SCHEMA}
    if call.id:
        document["id"] = call.id
    document["opcode"] = call.opcode
    if call.arch is not None:
        document["arch"] = call.arch
    if call.function is not None:
        document["function"] = call.function.to_json()
    document["scope"] = call.scope
    document["launch"] = {"block": list(call.launch.block), "cluster": None if call.launch.cluster is None else list(call.launch.cluster)}
    if call.guard is not True:
        document["guard"] = value_to_json(call.guard)
    if call.index_dtype != "int64":
        document["index_dtype"] = call.index_dtype
    document["symbols"] = [s.to_json() for s in call.symbols]
    if call.assume:
        document["assume"] = [value_to_json(a) for a in call.assume]
    document["operands"] = [operand_to_json(o) for o in call.operands]
    document["parameters"] = {name: value_to_json(value) for name, value in call.parameters}
    return document


def operand_to_json(operand: View | Scalar) -> dict[str, object]:
    """The document of one operand."""
    if isinstance(operand, Scalar):
        return {"name": operand.name, "value": operand.value if isinstance(operand.value, float) else value_to_json(operand.value)}
    tensor = operand.tensor
    document: dict[str, object] = {"name": tensor.name}
    if tensor.tensor is not None:
        document["tensor"] = tensor.tensor
    document |= {"space": tensor.space, "dtype": tensor.dtype, "shape": [value_to_json(n) for n in tensor.shape]}
    if tensor.align is not None:
        document["align"] = tensor.align
    if tensor.base is not None:
        document["base"] = {"mod": tensor.base[0], "is": tensor.base[1]}
    if tensor.size_bytes is not None:
        document["size_bytes"] = tensor.size_bytes
    document["layout"] = str(tensor.layout)
    if operand.steps:
        document["view"] = [step.to_json() for step in operand.steps]
    return document


def value_to_json(value: Value) -> object:
    """A term or parameter as JSON: numbers, text, true, false, null or lists."""
    if isinstance(value, tuple):
        return [value_to_json(item) for item in value]
    return str(value) if isinstance(value, Expr) else value


__all__ = [
    "AnyEntry",
    "Entry",
    "KernelEntry",
    "call_to_json",
    "operand_to_json",
    "read_call",
    "read_file",
    "read_kernel",
    "read_text",
    "value_to_json",
]
