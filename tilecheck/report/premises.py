"""The `premises` command: what every call of a document lacks, with each fact as it is written down."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from tilecheck.errors import InputError
from tilecheck.report.console import plain, render
from tilecheck.report.items import FAILED, OK, UNDECIDED, AnyItem, CheckFailedError, Item, Outcome
from tilecheck.report.text import STATUS_WIDTH, STYLES, title

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tilecheck.prove.facts import Premise
    from tilecheck.prove.verdict import Verdict

LEGAL, HELPED, HELPLESS, OPEN = "proved", "with a premise", "refuted without one", "undecided"


def outcomes_of(items: Sequence[AnyItem], where: str, *, jobs: int = 1, audit: bool = False, rlimit: int | None = None) -> list[Outcome]:
    """The verdict with premises on every call, in order, with `jobs` > 1 in that many processes; InputError where there is no call."""
    calls = [Item(item.call, item.where) for item in items if isinstance(item, Item)]
    if not calls:
        raise InputError("found no call, expected at least one", where=where)
    one = partial(_answered, audit=audit, rlimit=rlimit)
    jobs = min(jobs, len(calls))
    if jobs <= 1:
        return [one(item) for item in calls]
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(one, calls))


def _answered(item: Item, *, audit: bool, rlimit: int | None) -> Outcome:
    from tilecheck.prove.premises import with_premises

    try:
        return Outcome(item, with_premises(item.call, audit=audit, rlimit=rlimit))
    except InputError as error:
        raise InputError(error.message, path=error.path, where=error.where or item.where) from error
    except Exception as error:
        raise CheckFailedError.from_item(error, item.call.id or item.call.opcode, item.where, item.call) from error


def kind(verdict: Verdict) -> str:
    """What came of a call: already legal, helped by a premise, refuted without one, or undecided."""
    if verdict.status == "proved":
        return LEGAL
    return HELPED if verdict.premises else HELPLESS if verdict.status == "refuted" else OPEN


def exit_status(outcomes: Sequence[Outcome]) -> int:
    """0 every call is proved or has a premise, 1 a refuted one has none, 3 nothing of that but something undecided."""
    kinds = {kind(outcome.verdict) for outcome in outcomes}
    return FAILED if HELPLESS in kinds else UNDECIDED if OPEN in kinds else OK


def as_text(outcomes: Sequence[Outcome], *, terminal: bool = False) -> str:
    """Every call with its premises, then the counts."""
    counts = Counter(kind(outcome.verdict) for outcome in outcomes)
    total = f"{len(outcomes)} call{'' if len(outcomes) == 1 else 's'}: "
    shown = "".join(render(part, terminal=terminal) for outcome in outcomes for part in _outcome(outcome))
    return shown + total + ", ".join(f"{counts[one]} {one}" for one in (LEGAL, HELPED, HELPLESS, OPEN) if counts[one]) + "\n"


def _outcome(outcome: Outcome) -> list[RenderableType]:
    from rich.text import Text

    verdict = outcome.verdict
    head = Text.assemble(
        (verdict.status.ljust(STATUS_WIDTH), STYLES.get(verdict.status, "")), f"  {title(outcome)}: {plain(verdict.opcode)}"
    )
    rows = [(c.status, c.id) for c in verdict.clauses if c.status == verdict.status] if verdict.status != LEGAL else []
    if verdict.reason:
        rows.append(("reason", verdict.reason))
    if len(verdict.premises) > 1:
        rows.append(("legal if", "one of these holds, whichever:"))
    for premise in verdict.premises:
        rows += [("premise", premise.text), *ways(premise)]
        if not premise.weakest:
            rows.append(("", "(whether less would do is undecided)"))
    return [head, _table(rows)] if rows else [head]


def _table(rows: Sequence[tuple[str, str]]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0), expand=False)
    grid.add_column(width=2)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in rows:
        grid.add_row("", label, Text(plain(text), overflow="fold"))
    return grid


def ways(premise: Premise) -> list[tuple[str, str]]:
    """How the facts of a premise are written into the document, as (label, text): keys of symbols and operands, or assumptions."""
    from tilecheck.prove.facts import operand_name

    symbols: dict[str, dict[str, object]] = {}
    operands: list[str] = []
    others: list[str] = []
    for fact in premise.facts:
        keys, subject = fact.declaration, fact.subject
        if keys is not None and subject.symbol is not None:
            symbols.setdefault(subject.symbol, {"name": subject.symbol}).update(keys)
        elif keys is not None and subject.operand is not None:
            operands.append(f'"operands": {json.dumps({"name": operand_name(premise.call, subject.operand), **keys})}')
        else:
            others.append(str(fact.condition))
    said = [f'"symbols": {json.dumps(keys)}' for keys in symbols.values()]
    said += [f'"assume": {json.dumps(others)}'] if others else []
    rows = [("say" if k == 0 else "and", text) for k, text in enumerate(said)]
    if symbols and premise.assumable:
        rows.append(("or", f'"assume": {json.dumps([str(f.condition) for f in premise.facts if f.condition is not None])}'))
    return rows + [("and" if rows or k else "say", text) for k, text in enumerate(operands)]
