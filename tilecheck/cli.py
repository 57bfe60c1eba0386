"""The command line: `tilecheck check PATH...`, explain, premises, emit, predict, reconstruct, draw, contracts, schema.

Exit status: 0 all proved (or all as expected, for claims and case files); 1 something refuted (or not as expected, or a theorem not proved); 3 nothing refuted
but something unproved, vacuous or without a contract; 2 the input or the command is wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from tilecheck.errors import InputError, TilecheckError
from tilecheck.report.commands import COMMANDS as HANDLERS
from tilecheck.report.commands import Request, SeveralErrors
from tilecheck.report.items import BAD_INPUT, CheckFailedError
from tilecheck.report.kernels import OK
from tilecheck.report.options import add_options, options_from

ABOUT = """Proves that a tensor view may legally be handed to a PTX tile instruction,
or shows the smallest concrete reason why not."""
EPILOG = """exit status:
  0  all proved (or all as expected, for claims and case files)
  1  something refuted (or not as expected, or a theorem not proved)
  2  the input or the command is wrong
  3  nothing refuted, but something unproved, vacuous or without a contract"""
EPILOGS = {
    "premises": """exit status:
  0  every call is proved already or has a premise
  1  a call is refuted, and no premise was found
  2  the input or the command is wrong
  3  nothing of that, but a call is unproved, vacuous or without a contract"""
}
"""Of the commands whose exit statuses mean something else."""
INTERRUPTED = 130
COMMANDS: dict[str, tuple[str, str, str]] = {
    "check": ("PATH", "+", "check documents (.json, .jsonl, - for stdin), check files (.py), and directories of them"),
    "explain": (
        "OPCODE",
        "",
        "what an opcode asks of its operands, or what is wrong with its spelling; `descriptor`: how a shared matrix is read",
    ),
    "premises": ("DOC", "", "the weakest facts under which the calls of a document would be proved"),
    "emit": ("DOC", "", "the PTX of a proved call"),
    "predict": ("DOC", "", "the registers and bytes that a proved call writes"),
    "reconstruct": ("DOC", "", "run a proved call on a GPU and compare every register and byte"),
    "draw": ("DOC|LAYOUT", "", "the operands of a call, or a layout in notation, as SVG or a page"),
    "import": ("FORM TEXT", "2", "what a foreign form says, as data of a call: `descriptor 0x...`, the 64-bit word of wgmma or tcgen05"),
    "recheck": ("DIR", "", "have another solver answer the certificates that check --certificates wrote"),
    "contracts": ("", "", "the instructions that have a contract, and what stands behind them"),
    "schema": ("NAME", "?", "the JSON Schema of a call (or `case`, `kernel`, `verdict`, `theorem`)"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and gives its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else BAD_INPUT if stop.code else OK
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 (a fault of ours is one line, too)
        if "--debug" in arguments:
            import traceback

            traceback.print_exception(error)
        from tilecheck.report.console import plain

        for line in _explanations(error):
            print(plain(line), file=sys.stderr)
        return BAD_INPUT


def _explanations(error: Exception) -> list[str]:
    """What stderr says of an error: one line for each wrong file, or that tilecheck itself failed (and the call document that shows it)."""
    if isinstance(error, SeveralErrors):
        return [f"error: {one}" for one in error.errors]
    if isinstance(error, TilecheckError):
        return [f"error: {error}"]
    if isinstance(error, CheckFailedError) and error.reproducer:
        return [f"internal error, please report it with the call in the next line: {' '.join(str(error).split())}", error.reproducer]
    what = str(error) if isinstance(error, CheckFailedError) else f"{type(error).__name__}: {error}"
    return [f"internal error ({' '.join(what.split())[:400]}), please report it; --debug shows the traceback"]


def _run(arguments: list[str]) -> int:
    given = vars(_parser().parse_args(arguments))
    command = str(given.pop("command"))
    options = options_from(given)
    if options.output is not None:
        _writable(options.output)
    operand = cast("str | list[str] | None", given.get("operand")) or ""
    operands = (operand,) if isinstance(operand, str) else tuple(operand)
    terminal = options.output is None and sys.stdout.isatty()
    request = Request(operands, options, kernel=bool(given.get("kernel")), terminal=terminal)
    result = HANDLERS[command](request)
    sys.stderr.write(result.note)
    if result.text is not None:
        _write(result.text, options.output)
    return result.status


def _parser() -> argparse.ArgumentParser:
    from tilecheck.version import version

    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="tilecheck", description=ABOUT, epilog=EPILOG, formatter_class=form, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"tilecheck {version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (operand, count, text) in COMMANDS.items():
        about = "\n".join(textwrap.wrap(text[0].upper() + text[1:] + ".", 78))
        one = commands.add_parser(
            name, help=text, description=about, epilog=EPILOGS.get(name, EPILOG), formatter_class=form, allow_abbrev=False
        )
        if operand and count.isdigit():
            for word in operand.split():  # one by one: argparse cannot print the help of several names of one argument
                one.add_argument("operand", metavar=word, action="append")
        elif operand and count:
            one.add_argument("operand", metavar=operand, nargs=count)
        elif operand:
            one.add_argument("operand", metavar=operand)
        if name == "emit":
            one.add_argument("--kernel", action="store_true", help="a whole kernel around the call, which shows every register and byte")
        add_options(one, name)
    return parser


def _writable(path: str) -> None:
    """InputError where a file cannot come to lie at `path`, said before the work."""
    target = Path(path).resolve()
    if target.is_dir() or not target.parent.is_dir():
        raise InputError("is a directory" if target.is_dir() else "its directory does not exist", where=f"--output {path}")


def _write(text: str, path: str | None) -> None:
    """Text to stdout, or to a file: under a temporary name first, so that the file is whole or stays as it was."""
    if path is None:
        encoding = sys.stdout.encoding or "utf-8"
        try:
            sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
            sys.stdout.flush()
        except BrokenPipeError:  # the reader has seen enough; the exit status stays that of the command
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    target = Path(path).resolve()
    data = text.encode("utf-8", "backslashreplace")
    temporary: Path | None = None
    try:
        if target.exists() and not target.is_file():  # a device or a pipe
            target.write_bytes(data)
            return
        mode = target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask()
        handle, name = tempfile.mkstemp(prefix=".tilecheck-", dir=target.parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        temporary.chmod(mode)
        temporary.replace(target)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise InputError(f"cannot be written: {error.strerror}", where=f"--output {path}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
