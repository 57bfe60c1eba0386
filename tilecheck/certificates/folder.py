"""A folder of certificates: an index, and for each call a folder with a manifest and the files of its obligations.

    certificates.json            tilecheck/certificates@1: the calls, and the hash of each manifest
    0001-load-A/manifest.json    tilecheck/certificate@1: the call document, the obligations, and the hash of each file
    0001-load-A/03-src.aligned.smt2, 03-src.aligned.no-wrap.smt2, ...

A folder of a call is made under a temporary name and renamed when it is whole; the index is written last.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tilecheck.call import Call
from tilecheck.certificates.formula import NoForm
from tilecheck.certificates.obligations import SAT, UNKNOWN, UNSAT, Uncertified, stated
from tilecheck.certificates.script import Script, scripts
from tilecheck.errors import InputError
from tilecheck.prove.tiers import RLIMIT
from tilecheck.prove.verdict import Verdict
from tilecheck.version import version

INDEX, MANIFEST = "certificates.json", "manifest.json"
INDEX_SCHEMA, MANIFEST_SCHEMA = "tilecheck/certificates@1", "tilecheck/certificate@1"
LONGEST_NAME = 60


def require_empty(directory: str | Path) -> Path:
    """The directory, which must be empty or not exist; InputError otherwise."""
    path = Path(directory)
    where = f"--certificates {directory}"
    if path.exists() and not path.is_dir():
        raise InputError("is a file, expected an empty directory or none", where=where)
    try:
        if path.is_dir() and any(path.iterdir()):
            raise InputError("the directory is not empty", where=where)
        if not path.absolute().parent.is_dir():
            raise InputError("the directory around it does not exist", where=where)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=where) from None
    return path


def certify(calls: Iterable[Call], directory: str | Path, *, rlimit: int = RLIMIT) -> list[Verdict]:
    """Checks calls and writes their certificates; the verdicts in order. InputError where the directory is not empty or cannot be written."""
    from tilecheck.prove.check import check

    require_empty(directory)
    checked = [(call, check(call, rlimit=rlimit)) for call in calls]
    write(checked, directory, rlimit=rlimit)
    return [verdict for _, verdict in checked]


def write(checked: Sequence[tuple[Call, Verdict]], directory: str | Path, *, rlimit: int = RLIMIT, others: Sequence[str] = ()) -> None:
    """Writes the certificates of checked calls. others: what was checked too and has none, such as theorems.

    rlimit: for formulas of refuted clauses, which are decided one by one. InputError where the directory is not empty or cannot be written.
    """
    path = require_empty(directory)
    entries: list[dict[str, object]] = []
    made = not path.exists()
    try:
        path.mkdir(exist_ok=True)
        for number, (call, verdict) in enumerate(checked, start=1):
            name = f"{number:04d}-{_slug(call.id or call.opcode)}"
            manifest = _write_call(path, name, call, verdict, rlimit)
            entries.append(
                {"folder": name, "id": call.id, "opcode": call.opcode, "status": verdict.status, "manifest_sha256": _hash(manifest)}
            )
        index = {"schema": INDEX_SCHEMA, "tool": {"version": version()}, "calls": entries, "without": list(others)}
        _store(path / f".{INDEX}", _json(index))
        (path / f".{INDEX}").replace(path / INDEX)
    except BaseException as error:
        _remove(path, entries, made=made)
        if isinstance(error, OSError):
            raise InputError(f"cannot be written: {error.strerror}", where=f"--certificates {directory}") from None
        raise


def _remove(path: Path, entries: Sequence[Mapping[str, object]], *, made: bool) -> None:
    """Takes back what was written before an error."""
    (path / f".{INDEX}").unlink(missing_ok=True)
    for entry in entries:
        shutil.rmtree(path / str(entry["folder"]), ignore_errors=True)
    if made:
        shutil.rmtree(path, ignore_errors=True)


def _store(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _write_call(path: Path, name: str, call: Call, verdict: Verdict, rlimit: int) -> str:
    """Writes the folder of one call; gives the text of its manifest."""
    found, rest = stated(call, verdict, rlimit)
    temporary = path / f".{name}"
    temporary.mkdir()
    try:
        obligations: list[dict[str, object]] = []
        for number, one in enumerate(found, start=1):
            try:
                main, steps = scripts(one, _about(call))
            except NoForm as gap:
                status = next((clause.status for clause in verdict.clauses if clause.id == one.clause), "")
                rest.append(Uncertified(one.clause, status, one.method, f"no encoding has a form for {one.statement}: {gap}"))
                continue
            stem = f"{number:02d}-{_slug(one.clause)}"
            entry = _written(temporary, f"{stem}.smt2", main)
            wrap = None if steps is None else _written(temporary, f"{stem}.no-wrap.smt2", steps)
            about = {"clause": one.clause, "statement": one.statement, "source": one.source, "method": one.method}
            obligations.append({**about, **entry, "no_wrap": wrap})
        manifest = _json(_manifest(call, verdict, obligations, rest))
        _store(temporary / MANIFEST, manifest)
        temporary.replace(path / name)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return manifest


def _about(call: Call) -> str:
    return f"{call.opcode} ({call.id})" if call.id else call.opcode


def _written(folder: Path, name: str, script: Script) -> dict[str, object]:
    _store(folder / name, script.text)
    return {"file": name, "sha256": _hash(script.text), "logic": script.logic, "width": script.width, "expected": script.expected}


def _manifest(call: Call, verdict: Verdict, obligations: list[dict[str, object]], rest: Sequence[Uncertified]) -> dict[str, object]:
    uncertified = [{"clause": u.clause, "status": u.status, "method": u.method, "reason": u.reason} for u in rest]
    return {
        "schema": MANIFEST_SCHEMA,
        "tool": {"version": version(), "contract_hash": verdict.contract_hash},
        "status": verdict.status,
        "reason": verdict.reason,
        "call": call.to_json(),
        "obligations": obligations,
        "uncertified": uncertified,
    }


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text)[:LONGEST_NAME].strip(".") or "call"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _json(document: Mapping[str, object]) -> str:
    return json.dumps(document, indent=1) + "\n"


@dataclass(frozen=True, slots=True)
class Certificate:
    """One file of a folder that was read: where it lies, what it says, its logic and the expected answer."""

    name: str
    clause: str
    logic: str
    expected: str
    text: str


def read(directory: str | Path) -> list[Certificate]:
    """Every file of a folder of certificates, its hash checked; InputError where it is none, or something in it has changed."""
    path = Path(directory)
    index = _document(path, INDEX, INDEX_SCHEMA, None)
    found: list[Certificate] = []
    for k, entry in enumerate(_objects(index, "calls", str(path / INDEX))):
        where = f"{path / INDEX}: $.calls[{k}]"
        folder = _text(entry, "folder", where)
        manifest = _document(path, f"{_plain(folder, where)}/{MANIFEST}", MANIFEST_SCHEMA, _text(entry, "manifest_sha256", where))
        for j, one in enumerate(_objects(manifest, "obligations", str(path / folder / MANIFEST))):
            found.extend(_certificates(path, folder, one, f"{path / folder / MANIFEST}: $.obligations[{j}]"))
    return found


def _certificates(path: Path, folder: str, one: Mapping[str, object], where: str) -> list[Certificate]:
    clause = _text(one, "clause", where)
    wrap = one.get("no_wrap")
    files = [one] if wrap is None else [one, _object(wrap, f"{where}.no_wrap")]
    found: list[Certificate] = []
    for file, more in zip(files, ("", " (no wrap)"), strict=False):
        name = f"{folder}/{_plain(_text(file, 'file', where), where)}"
        expected = _text(file, "expected", where)
        if expected not in {UNSAT, SAT, UNKNOWN}:
            raise InputError(f"found {expected[:40]!r}, expected unsat, sat or unknown", where=f"{where}.expected")
        text = _hashed(path, name, _text(file, "sha256", where))
        found.append(Certificate(name, clause + more, _text(file, "logic", where), expected, text))
    return found


def _document(path: Path, name: str, schema: str, digest: str | None) -> Mapping[str, object]:
    """A JSON document of a schema; its hash is checked where one is known."""
    where = str(path / name)
    text = _read(path, name) if digest is None else _hashed(path, name, digest)
    try:
        document = _object(json.loads(text), where)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", where=where) from None
    if document.get("schema") != schema:
        raise InputError(f"found the schema {str(document.get('schema'))[:60]!r}, expected {schema!r}", where=where)
    return document


def _hashed(path: Path, name: str, digest: str) -> str:
    text = _read(path, name)
    if _hash(text) != digest:
        raise InputError("has changed since it was written: its hash is not the recorded one", where=str(path / name))
    return text


def _read(path: Path, name: str) -> str:
    if not path.is_dir():
        raise InputError("no such directory, expected a folder of certificates", where=str(path))
    try:
        with (path / name).open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        why = "is no folder of certificates: it has no" if name == INDEX else "is missing a file:"
        raise InputError(f"{why} {name}", where=str(path)) from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", where=str(path / name)) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path / name)) from None


def _plain(name: str, where: str) -> str:
    """A name inside the folder, never a way out of it."""
    if not name or name.startswith(".") or "/" in name or "\\" in name or "\0" in name:
        raise InputError(f"found the name {name[:60]!r}, expected one of a file in the folder", where=where)
    return name


def _object(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise InputError(f"found a {type(value).__name__}, expected an object", where=where)
    return cast("Mapping[str, object]", value)


def _objects(document: Mapping[str, object], key: str, where: str) -> list[Mapping[str, object]]:
    value = document.get(key)
    if not isinstance(value, list):
        raise InputError(f"found a {type(value).__name__}, expected a list", where=f"{where}: $.{key}")
    return [_object(one, f"{where}: $.{key}[{k}]") for k, one in enumerate(cast("list[object]", value))]


def _text(document: Mapping[str, object], key: str, where: str) -> str:
    value = document.get(key)
    if not isinstance(value, str):
        raise InputError(f"found a {type(value).__name__}, expected text", where=f"{where}.{key}")
    return value
