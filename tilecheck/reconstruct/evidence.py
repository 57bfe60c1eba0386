"""Evidence: which instructions a GPU has reconstructed, as JSON files that docs and releases read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

Json = dict[str, object]

SCHEMA = "tilecheck/evidence@1"


def ptx_sha256(instructions: tuple[str, ...]) -> str:
    """The SHA-256 of normalised instruction lines, joined by line feeds."""
    return hashlib.sha256("\n".join(instructions).encode()).hexdigest()


def now() -> str:
    """The date and time, UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def write_evidence(path: str | Path, entries: Iterable[Mapping[str, object]]) -> None:
    """Writes entries as one JSON document, one a line, sorted by form."""
    rows = sorted((dict(entry) for entry in entries), key=lambda row: str(row.get("form", "")))
    lines = ",\n".join(f" {json.dumps(row, sort_keys=True)}" for row in rows)
    Path(path).write_text(f'{{"schema": {json.dumps(SCHEMA)}, "entries": [\n{lines}\n]}}\n', encoding="utf-8")


def read_evidence(path: str | Path) -> list[Json]:
    """The entries of an evidence file."""
    document = json.loads(Path(path).read_text(encoding="utf-8"))
    if document.get("schema") != SCHEMA:
        raise ValueError(f"{path} is no evidence file: its schema is {document.get('schema')!r}")
    entries: list[Json] = document["entries"]
    return entries
