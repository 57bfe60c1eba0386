"""The table of contracts: each mnemonic, where its rules stand, and what an assembler and a GPU confirmed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tilecheck.report.console import render
from tilecheck.spec import built_in_families, mnemonic_of

EVIDENCE = Path("docs") / "evidence"


@dataclass(frozen=True, slots=True)
class Row:
    """One mnemonic. assembled, reconstructed: how many forms, by architecture; empty where no evidence is at hand."""

    family: str
    mnemonic: str
    spelling: str
    arch: str
    source: str
    assembled: tuple[tuple[str, int], ...]
    reconstructed: tuple[tuple[str, int], ...]

    def to_json(self) -> dict[str, object]:
        """The row as plain data."""
        return {
            "family": self.family,
            "mnemonic": self.mnemonic,
            "spelling": self.spelling,
            "arch_floor": self.arch,
            "specified": self.source,
            "assembled": dict(self.assembled),
            "reconstructed": dict(self.reconstructed),
        }


def rows(root: Path | None = None) -> list[Row]:
    """Every mnemonic with a built-in contract; evidence is read from docs/evidence of the repository at `root`, where there is one."""
    records = list(evidence(root if root is not None else Path(__file__).resolve().parent.parent.parent))
    result: list[Row] = []
    for family in built_in_families():
        for entry in family.entries:
            grammar = entry.grammar
            mine = [r for r in records if mnemonic_of(str(r.get("opcode", ""))) == grammar.mnemonic]
            floor = grammar.floors[0].arch if grammar.floors else ""
            counts = tuple(_counted(mine, kind) for kind in ("assembled", "reconstructed"))
            result.append(Row(family.name, grammar.mnemonic, grammar.order(), floor, grammar.source, *counts))
    return result


def _counted(records: list[Mapping[str, object]], kind: str) -> tuple[tuple[str, int], ...]:
    forms = {(str(r.get("arch", "")), str(r["opcode"])) for r in records if _stands(r, kind)}
    return tuple(sorted(Counter(arch for arch, _ in forms).items()))


def _stands(record: Mapping[str, object], kind: str) -> bool:
    """Whether a record says that its opcode was assembled, or reconstructed with every byte as predicted (which includes assembling)."""
    reconstructed = record.get("matches") is True
    return reconstructed if kind == "reconstructed" else reconstructed or record.get("assembled") is True


def evidence(root: Path) -> Iterator[Mapping[str, object]]:
    """The records of docs/evidence/*.json: every object in them that names an opcode."""
    for path in sorted((root / EVIDENCE).glob("*.json")):
        try:
            loaded = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        yield from _records(loaded, {})


def _records(value: object, above: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    if isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _records(item, above)
    elif isinstance(value, dict):
        found = {**above, **cast("dict[str, object]", value)}
        if "opcode" in value:
            yield found
            return
        plain = {k: v for k, v in found.items() if not isinstance(v, dict | list)}
        for item in cast("dict[str, object]", value).values():
            yield from _records(item, plain)


def as_text(table: list[Row], *, terminal: bool) -> str:
    """The table for people."""
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False, header_style="bold")
    for name in ("mnemonic", "family", "arch", "specified", "assembled", "reconstructed"):
        grid.add_column(name, overflow="fold", no_wrap=name == "mnemonic")
    for row in table:
        cells = (row.mnemonic, row.family, row.arch, row.source, _shown(row.assembled), _shown(row.reconstructed))
        grid.add_row(*(Text(cell) for cell in cells))
    return render(grid, terminal=terminal) + "".join(f"{row.spelling}\n" for row in table)


def _shown(counts: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{n} on {arch}" if arch else str(n) for arch, n in counts) or "-"
