"""The options of the command line, each a field with its default and help: the parser and `[tool.tilecheck]` are made from them.

Defaults are overridden by `[tool.tilecheck]` of pyproject.toml in the working directory, and that by the command line.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tilecheck.errors import InputError

_T = TypeVar("_T")

FORMATS = ("text", "json", "jsonl")
FORMATS_OF: Mapping[str, tuple[str, ...]] = {"check": (*FORMATS, "html"), "draw": ("svg", "html")}
"""The formats of commands that have others; pyproject sets one of FORMATS."""
TOML = "pyproject.toml"


def _option(
    default: _T,
    help: str,  # noqa: A002
    *,
    flag: str = "",
    metavar: str | None = None,
    choices: tuple[str, ...] | None = None,
    least: int = 0,
    most: int | None = None,
    toml: bool = True,
    several: bool = False,
    only: tuple[str, ...] = (),
    kind: type | None = None,
) -> _T:
    """A field. only: the commands that take it (all of them if empty); toml: whether pyproject may set it; kind: that of the default."""
    metadata = {
        "help": help,
        "flag": flag,
        "metavar": metavar,
        "choices": choices,
        "least": least,
        "most": most,
        "toml": toml,
        "several": several,
        "only": only,
        "kind": kind or (str if default is None else type(default)),
    }
    return field(default=default, metadata=metadata)


VALUES = ("predict", "reconstruct", "emit")
DRAWING = (*VALUES, "draw")
PROVING = ("check", "premises", *VALUES)


@dataclass(frozen=True, slots=True)
class Options:
    """What a run was asked for beside the command and its operands."""

    format: str = _option("text", "how the result is written", choices=FORMATS)
    output: str | None = _option(None, "write the result to FILE, whole or not at all", metavar="FILE", toml=False)
    jobs: int = _option(1, "check in N processes", metavar="N", least=1, most=1024, only=("check", "premises"))
    arch: str | None = _option(
        None,
        "the architecture for calls that name none, e.g. sm_90a (emit: for all)",
        metavar="ARCH",
        only=("check", "explain", "premises", "emit", "predict", "reconstruct"),
    )
    strict: bool = _option(False, "hazards are errors: exit status 1", only=("check",))
    together: bool = _option(
        False, "the calls of each JSON file are those of one kernel: check what they share, too", toml=False, only=("check",)
    )
    audit: bool = _option(False, "prove everything again by SMT, and by brute force where that is possible; they must agree", only=PROVING)
    reading: str = _option(
        "",
        "where documents disagree, what this one says: isa, cutlass or tirx",
        choices=("isa", "cutlass", "tirx"),
        toml=False,
        only=("check",),
    )
    rlimit: int | None = _option(
        None,
        "what the solver may spend on one question, in its own units (the same on every machine)",
        metavar="N",
        least=1,
        most=(1 << 32) - 1,
        only=(*PROVING, "recheck"),
        kind=int,
    )
    certificates: str | None = _option(
        None,
        "write the obligations of every call as SMT-LIB 2 into DIR, which must be empty or not exist",
        metavar="DIR",
        toml=False,
        only=("check",),
    )
    solver: str = _option("cvc5", "the solver that answers the certificates", choices=("cvc5", "bitwuzla", "z3"), only=("recheck",))
    timeout: int = _option(60, "seconds that one certificate may take", metavar="SECONDS", least=1, most=86_400, only=("recheck",))
    set: tuple[str, ...] = _option(
        (),
        "value of a symbol: n=4, or n=[1,2,...] for each lane, warp or CTA; repeatable",
        metavar="NAME=VALUE",
        toml=False,
        several=True,
        only=DRAWING,
    )
    elected: int = _option(0, "the lane that elect.sync chooses", metavar="LANE", most=31, toml=False, only=DRAWING)
    dtype: str = _option(
        "float16", "the elements of a layout or a matrix that stands alone", metavar="DTYPE", toml=False, only=("draw", "explain")
    )
    ldo: int | None = _option(
        None, "explain descriptor: the leading offset in bytes", metavar="BYTES", toml=False, only=("explain",), kind=int
    )
    sdo: int | None = _option(
        None, "explain descriptor: the stride offset in bytes", metavar="BYTES", toml=False, only=("explain",), kind=int
    )
    swizzle: int | None = _option(None, "explain descriptor: the swizzle, 0 to 4", metavar="CODE", toml=False, only=("explain",), kind=int)
    major: str | None = _option(
        None,
        "explain descriptor: the axis whose neighbours lie side by side (k unless given)",
        choices=("k", "mn"),
        toml=False,
        only=("explain",),
    )
    rows: int | None = _option(None, "explain descriptor: M or N", metavar="N", least=1, toml=False, only=("explain",), kind=int)
    columns: int | None = _option(None, "explain descriptor: K", metavar="N", least=1, toml=False, only=("explain",), kind=int)
    start: int | None = _option(
        None,
        "explain descriptor: where the matrix starts, in bytes before the swizzle",
        metavar="BYTES",
        toml=False,
        only=("explain",),
        kind=int,
    )
    debug: bool = _option(False, "show the traceback of an error", toml=False)


def add_options(parser: argparse.ArgumentParser, command: str) -> None:
    """The options that a command takes; those not given stay out of the namespace."""
    for one in dataclasses.fields(Options):
        about = one.metadata
        if about["only"] and command not in about["only"]:
            continue
        shown = "" if one.default in (None, False, ()) else f" (default: {one.default})"
        common: dict[str, object] = {"dest": one.name, "default": argparse.SUPPRESS, "help": about["help"] + shown}
        flag = "--" + one.name.replace("_", "-")
        if isinstance(one.default, bool):
            parser.add_argument(flag, action=argparse.BooleanOptionalAction if about["toml"] else "store_true", **common)  # type: ignore[reportArgumentType]
        elif about["choices"]:
            choices = FORMATS_OF.get(command, FORMATS) if one.name == "format" else about["choices"]
            if one.default not in choices and one.default is not None:
                common["help"] = f"{about['help']} (default: {choices[0]})"
            parser.add_argument(flag, choices=choices, **common)  # type: ignore[reportArgumentType]
        else:
            action = "append" if about["several"] else "store"
            parser.add_argument(flag, action=action, metavar=about["metavar"], **common)  # type: ignore[reportArgumentType]


def options_from(given: Mapping[str, object], directory: Path | None = None) -> Options:
    """The options of a command line (a namespace's dict), over pyproject.toml, over the defaults; InputError where one is wrong."""
    values = _from_toml(directory or Path())
    for one in dataclasses.fields(Options):
        if one.name in given:
            values[one.name] = given[one.name] if one.metadata["choices"] else _from_text(one, given[one.name])
    return Options(**values)  # type: ignore[reportArgumentType]


def _from_text(one: dataclasses.Field[object], value: object) -> object:
    flag = f"--{one.name}"
    if one.metadata["kind"] is int:
        text = str(value)
        if not (text.isascii() and text.lstrip("-").isdigit() and len(text) < 20):
            raise InputError(f"found {text[:60]!r}, expected an integer", where=flag)
        return _checked(one, int(text), flag)
    if isinstance(one.default, tuple):
        return tuple(value)  # type: ignore[reportArgumentType]
    return _checked(one, value, flag)


def _checked(one: dataclasses.Field[object], value: object, where: str) -> object:
    about = one.metadata
    if isinstance(value, int) and not isinstance(value, bool):
        least, most = about["least"], about["most"]
        if value < least or (most is not None and value > most):
            raise InputError(f"found {value}, expected {f'{least} to {most}' if most is not None else f'{least} or more'}", where=where)
    if about["choices"] and value not in about["choices"]:
        raise InputError(f"found {str(value)[:60]!r}, expected one of {', '.join(about['choices'])}", where=where)
    if one.name == "arch" and not is_arch(str(value)):
        raise InputError(f"found {str(value)[:60]!r}, expected an architecture such as sm_90a", where=where)
    return value


def is_arch(text: str) -> bool:
    """Whether text names an architecture: sm_, two or three digits, and perhaps a or f."""
    digits = text[3:-1] if text[-1:] in {"a", "f"} else text[3:]
    return text.startswith("sm_") and digits.isascii() and digits.isdigit() and 2 <= len(digits) <= 3


def _from_toml(directory: Path) -> dict[str, object]:
    path = directory / TOML
    if not path.is_file():
        return {}
    import tomllib

    try:
        with path.open("rb") as file:
            document = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"not TOML: {error}", where=TOML) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=TOML) from None
    tool = document.get("tool", {})
    table = tool.get("tilecheck", {}) if isinstance(tool, dict) else {}  # type: ignore[reportUnknownMemberType]
    if not isinstance(table, dict):
        raise InputError(f"[tool] tilecheck is a {type(table).__name__}, expected a table", where=TOML)  # type: ignore[reportUnknownArgumentType]
    return {key: _toml_value(key, value) for key, value in table.items()}  # type: ignore[reportUnknownVariableType]


def _toml_value(key: str, value: object) -> object:
    where = f"{TOML}: [tool.tilecheck] {key[:60]}"
    allowed = {one.name: one for one in dataclasses.fields(Options) if one.metadata["toml"]}
    if key not in allowed:
        raise InputError(f"an unknown key, expected one of {', '.join(allowed)}", where=where)
    one = allowed[key]
    wanted = one.metadata["kind"]
    if type(value) is not wanted:
        words = {bool: "true or false", int: "an integer", str: "text"}
        raise InputError(f"found a value of type {type(value).__name__}, expected {words[wanted]}", where=where)
    return _checked(one, value, where)
