"""Everything a run checks, gathered from files, directories, check files and stdin, and what came out of it."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tilecheck.claims import Claim, Expectation, TheoremClaim, collect, has_claims
from tilecheck.errors import DisagreementError, InputError
from tilecheck.kernels import Kernel
from tilecheck.report.kernels import FAILED, OK, UNDECIDED, Judged, KernelItem, KernelOutcome, settled
from tilecheck.report.theorems import TheoremItem, TheoremOutcome, proved, theorem_items

if TYPE_CHECKING:
    from tilecheck.call import Call
    from tilecheck.document import AnyEntry

STDIN = "<stdin>"
SUFFIXES = (".json", ".jsonl", ".py")
BAD_INPUT = 2
"""The exit status where the input or the command is wrong; the others are those of outcomes."""


@dataclass(frozen=True, slots=True)
class Item:
    """One call to check: where it stands (`file:line` or `file.py::claim`), what is expected of it, and why."""

    call: Call
    where: str
    expectation: Expectation | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Outcome(Judged[Item]):
    """One call and its verdict."""


AnyItem = Item | KernelItem | TheoremItem
AnyOutcome = Outcome | KernelOutcome | TheoremOutcome


def exit_status(outcomes: Sequence[AnyOutcome], *, strict: bool) -> int:
    """0 all proved or as expected, 1 something refuted or not as expected, 3 nothing of that but something undecided."""
    found = {outcome.exit_status(strict=strict) for outcome in outcomes}
    return FAILED if FAILED in found else UNDECIDED if UNDECIDED in found else OK


def gather(paths: Sequence[str], *, together: bool = False) -> tuple[list[AnyItem], list[InputError]]:
    """The items of every path in order, and one error for each file that is wrong. together: as of `items_of`."""
    items: list[AnyItem] = []
    errors: list[InputError] = []
    for path in paths:
        try:
            files = [path] if path == "-" or not Path(path).is_dir() else _files_of(path)
        except InputError as error:
            errors.append(error)
            continue
        for file in files:
            try:
                items.extend(items_of(file, together=together))
            except InputError as error:
                errors.append(error)
    return items, errors


def items_of(path: str, *, together: bool = False) -> list[AnyItem]:
    """The items of one file, `-` for stdin. together: the calls of a JSON file that stand alone in it are those of one kernel."""
    if path.endswith(".py"):
        if not Path(path).is_file():
            raise InputError("cannot be read: no such file", where=path)
        return [item for one in collect(path) for item in marked_items(one)]
    found: list[AnyItem] = [_from_entry(entry) for entry in entries_of(path)]
    calls = tuple(item.call for item in found if isinstance(item, Item))
    if not together or not calls or any(isinstance(item, KernelItem) for item in found):
        return found
    return [*found, KernelItem(Kernel(calls), STDIN if path == "-" else path)]


def entries_of(path: str) -> list[AnyEntry]:
    """The documents of one JSON file or of stdin; errors name the line, too."""
    from tilecheck.document import read_file, read_text
    from tilecheck.report.locate import with_line

    if path == "-":
        text = _stdin()
        try:
            return read_text(text, where=STDIN, lines=_is_lines(text))
        except InputError as error:
            raise with_line(error, text) from error
    try:
        return read_file(path)
    except InputError as error:
        if not error.path or error.where != path:
            raise
        if not Path(path).is_file():  # a pipe is read once
            raise
        raise with_line(error, Path(path).read_text(encoding="utf-8", errors="replace")) from error


def marked_items(one: Claim | TheoremClaim) -> Sequence[AnyItem]:
    """The items of a marked function."""
    return theorem_items(one) if isinstance(one, TheoremClaim) else claim_items(one)


def claim_items(one: Claim) -> list[AnyItem]:
    """The calls and kernels of a claim as items; one without an id gets the claim's title. What is claimed of a kernel is about what its calls share; they are proved."""
    made = one.made()
    titles = [one.title] if len(made) == 1 else [f"{one.title}[{k}]" for k in range(len(made))]
    return [item for what, title in zip(made, titles, strict=True) for item in _claimed(what, title, one.expectation)]


def _claimed(what: Call | Kernel, title: str, expectation: Expectation) -> list[AnyItem]:
    if not isinstance(what, Kernel):
        return [Item(what if what.id else dataclasses.replace(what, id=title), title, expectation)]
    inner = [_claimed(call, f"{title}.calls[{k}]", Expectation("proved"))[0] for k, call in enumerate(what.calls)]
    return [*inner, KernelItem(what if what.id else dataclasses.replace(what, id=title), title, expectation)]


def with_arch(items: Sequence[AnyItem], arch: str | None) -> list[AnyItem]:
    """The items, calls that name no architecture given this one."""
    return list(items) if arch is None else [_with_arch(item, arch) for item in items]


def _with_arch(item: AnyItem, arch: str) -> AnyItem:
    if isinstance(item, TheoremItem):
        return item
    if isinstance(item, KernelItem):
        calls = tuple(_for_arch(call, arch) for call in item.kernel.calls)
        return dataclasses.replace(item, kernel=dataclasses.replace(item.kernel, calls=calls))
    return dataclasses.replace(item, call=_for_arch(item.call, arch))


def _for_arch(call: Call, arch: str) -> Call:
    return call if call.arch else dataclasses.replace(call, arch=arch)


def check_items(
    items: Sequence[AnyItem], *, jobs: int = 1, audit: bool = False, rlimit: int | None = None, reading: str = ""
) -> list[AnyOutcome]:
    """The outcome of every item, in order; with `jobs` > 1 the calls in that many processes.

    audit: everything is proved again in other ways. rlimit: the solver's limit for one question, None for its own. reading: as of `check`.
    """
    one = partial(_checked, audit=audit, rlimit=rlimit, reading=reading)
    calls = [item for item in items if isinstance(item, Item)]
    jobs = min(jobs, len(calls))
    if jobs <= 1:
        return [one(item) for item in items]
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(jobs) as pool:
        checked = pool.map(one, calls, chunksize=max(1, len(calls) // (4 * jobs)))
        others = iter([one(item) for item in items if not isinstance(item, Item)])  # functions stay in the process that collected them
        return [next(checked if isinstance(item, Item) else others) for item in items]


def check_item(item: Item, *, audit: bool = False, rlimit: int | None = None, reading: str = "") -> Outcome:
    """The outcome of one call; CheckFailedError where tilecheck itself fails."""
    from tilecheck.prove.check import check

    limits = {} if rlimit is None else {"rlimit": rlimit}
    try:
        return Outcome(item, check(item.call, audit=audit, reading=reading, **limits))
    except InputError as error:
        raise InputError(error.message, path=error.path, where=error.where or item.where) from error
    except Exception as error:
        raise CheckFailedError.from_item(error, item.call.id or item.call.opcode, item.where, item.call) from error


class CheckFailedError(Exception):
    """The checker itself failed on an item. reproducer: the call document, where two parts of tilecheck disagree about it."""

    def __init__(self, message: str, reproducer: str = "") -> None:
        super().__init__(message)
        self.reproducer = reproducer

    @classmethod
    def from_item(cls, error: Exception, name: str, where: str, call: Call | None = None) -> CheckFailedError:
        """What is told of an error on an item."""
        if not isinstance(error, DisagreementError):
            return cls(f"{type(error).__name__}: {error}, while checking {name} of {where}")
        what = str(error).removeprefix("internal error, please report: ").partition("; call: {")[0]
        return cls(f"{what}, while checking {name} of {where}", "" if call is None else json.dumps(call.to_json()))


def _checked(item: AnyItem, *, audit: bool, rlimit: int | None, reading: str) -> AnyOutcome:
    if isinstance(item, Item):
        return check_item(item, audit=audit, rlimit=rlimit, reading=reading)
    kernel = isinstance(item, KernelItem)
    try:
        if isinstance(item, KernelItem):
            return settled(item, audit=audit, rlimit=rlimit, reading=reading)
        return proved(item, audit=audit, rlimit=rlimit)
    except InputError:
        raise
    except Exception as error:
        raise CheckFailedError.from_item(error, "the kernel" if kernel else "the theorem", item.where) from error


def _from_entry(entry: AnyEntry) -> Item | KernelItem:
    from tilecheck.document import Entry

    expected = None if entry.expect is None else Expectation(entry.expect, entry.clause, entry.hazard)
    if isinstance(entry, Entry):
        return Item(entry.call, entry.where, expected, entry.why)
    return KernelItem(entry.kernel, entry.where, expected, entry.why)


def _files_of(directory: str) -> list[str]:
    """The files to check below a directory, sorted; hidden directories are left out, and Python files without claims and theorems."""
    found = [file for file in _walk(directory) if not file.endswith(".py") or has_claims(file) or _is_broken(file)]
    if not found:
        raise InputError("nothing to check in it, expected .json or .jsonl documents or .py files with claims or theorems", where=directory)
    return found


def _walk(directory: str) -> Iterator[str]:
    def refuse(error: OSError) -> None:
        raise InputError(f"cannot be read: {error.strerror}", where=str(error.filename))

    files: list[str] = []
    for folder, folders, names in os.walk(directory, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "__pycache__"]
        files.extend(str(Path(folder) / name) for name in names if name.endswith(SUFFIXES) and not name.startswith("."))
    yield from sorted(files)


def _is_broken(path: str) -> bool:
    """Whether a Python file speaks of tilecheck and does not parse: a check file that must not be skipped."""
    try:
        source = Path(path).read_bytes()
        if b"tilecheck" not in source:
            return False
        compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return True
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=path) from None
    return False


def _stdin() -> str:
    from tilecheck.document import MAX_BYTES

    if sys.stdin is None:  # type: ignore[reportUnnecessaryComparison] (it is None where the caller closed it)
        raise InputError("there is none", where=STDIN)
    try:
        data = sys.stdin.buffer.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise InputError(f"more than {MAX_BYTES} bytes; at most that many are read", where=STDIN)
        return data.decode("utf-8")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=STDIN) from None
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start} is not UTF-8 text", where=STDIN) from None


def _is_lines(text: str) -> bool:
    """Whether text holds one document a line: more than one line, and the first is a JSON object of its own."""
    lines = [line for line in text.split("\n") if line.strip()]
    return len(lines) > 1 and lines[0].lstrip().startswith("{") and lines[0].rstrip().endswith("}") and lines[1].lstrip().startswith("{")
