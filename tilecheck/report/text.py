"""Verdicts as text for people: a line for what is proved or as expected, a screen for what is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilecheck.claims import same_clause
from tilecheck.fitting import contract_for
from tilecheck.report import kernels, theorems
from tilecheck.report.console import plain, render
from tilecheck.report.hints import hint
from tilecheck.report.items import AnyOutcome, Outcome
from tilecheck.report.kernels import KernelOutcome
from tilecheck.report.picture import picture
from tilecheck.report.place import facts
from tilecheck.report.theorems import TheoremOutcome
from tilecheck.spec import Contract

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from tilecheck.prove.verdict import ClauseResult, Verdict

STYLES = {"proved": "green", "refuted": "bold red", "unproved": "yellow", "vacuous": "yellow", "error": "yellow"}
STATUS_WIDTH = 8


def report(outcomes: Sequence[AnyOutcome], *, strict: bool, terminal: bool) -> str:
    """The text of a run: every outcome, then the counts. What came out as expected is one line, unless it is all there is to show."""
    alone = len(outcomes) == 1 and outcomes[0].verdict.status != "proved"
    shown = [_full(outcome, strict=strict) if alone else _outcome(outcome, strict=strict) for outcome in outcomes]
    parts = [render(part, terminal=terminal) for one in shown for part in one]
    return "".join(parts) + summary(outcomes)


def screen(outcome: AnyOutcome, *, strict: bool = False, terminal: bool = False) -> str:
    """The text of one outcome, in full."""
    return "".join(render(part, terminal=terminal) for part in _full(outcome, strict=strict))


def _outcome(outcome: AnyOutcome, *, strict: bool) -> list[RenderableType]:
    if isinstance(outcome, TheoremOutcome):
        return _theorem(outcome)
    short = outcome.verdict.status == "proved" if outcome.as_expected is None else outcome.as_expected
    if short and not (strict and outcome.exit_status(strict=True) != 0):
        return [_line(outcome), *_notes(outcome.verdict)]
    return _full(outcome, strict=strict)


def title(outcome: AnyOutcome) -> str:
    """What the outcome is called: the claim or theorem, or the id and where it stands."""
    where = outcome.item.where
    if isinstance(outcome, TheoremOutcome):
        return plain(where)
    if isinstance(outcome, KernelOutcome):
        return plain(outcome.title)
    call = outcome.item.call
    name = where if "::" in where else f"{call.id} ({where})" if call.id else where
    return plain(name)


def _line(outcome: Outcome | KernelOutcome) -> RenderableType:
    verdict = outcome.verdict
    if verdict.status == "proved":
        what = f"{instructions(verdict)}{methods(verdict)}"
    else:
        found = [c for c in ordered(outcome) if c.status == verdict.status]
        why = f"{found[0].id}: {sentence(found[0])}" if found else verdict.reason or ""
        if len(found) > 1:
            why += f" ({len(found) - 1} more clause{' fails' if len(found) == 2 else 's fail'})"
        what = f"as expected{': ' if why else ''}{why}"
    return _row(verdict.status, f"{title(outcome)}: {plain(what)}")


def ordered(outcome: Outcome | KernelOutcome) -> list[ClauseResult]:
    """The clauses, the one that is expected to fail first."""
    named = outcome.item.expectation.clause if outcome.item.expectation is not None else None
    return sorted(outcome.verdict.clauses, key=lambda c: not (named and c.status == "refuted" and same_clause(c.id, named)))


def _theorem(outcome: TheoremOutcome) -> list[RenderableType]:
    row = _row(outcome.verdict.status, f"{title(outcome)}: {theorems.line(outcome)}")
    return [row, *(_indented("", text, label) for label, text in theorems.failures(outcome))]


def _row(status: str, text: str) -> RenderableType:
    from rich.text import Text

    grid = _grid()
    grid.add_row(Text(status.ljust(STATUS_WIDTH), style=STYLES.get(status, "")), Text(text, overflow="fold"))
    return grid


def _grid(indent: int = 0) -> Table:
    from rich.table import Table

    grid = Table.grid(padding=(0, 2, 0, 0), expand=False)
    if indent:
        grid.add_column(width=indent - 2)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    return grid


def sentence(clause: ClauseResult) -> str:
    """What there is to say of a clause in one sentence: its counterexample's, its reason, or what it asks."""
    return clause.counterexample.sentence if clause.counterexample is not None else clause.reason or clause.statement


def instructions(verdict: Verdict) -> str:
    """`3 instructions, `, or nothing where their number is not known."""
    count = verdict.instructions
    return "" if count is None else f"{count} instruction{'' if count == 1 else 's'}, "


def methods(verdict: Verdict) -> str:
    """`12 clauses by enumeration`, or `12 clauses: 8 by structure, 4 by enumeration`."""
    total = len(verdict.clauses)
    counts = Counter(clause.method.split(",")[0] for clause in verdict.clauses if clause.method)
    clauses = f"{total} clause{'' if total == 1 else 's'}"
    if len(counts) == 1 and sum(counts.values()) == total:
        return f"{clauses} by {next(iter(counts))}"
    return clauses + (": " + ", ".join(f"{n} by {method}" for method, n in counts.most_common()) if counts else "")


def _notes(verdict: Verdict) -> list[RenderableType]:
    """Hazards, conditions and premises."""
    from rich.text import Text

    grid = _grid(indent=4)
    for hazard in verdict.hazards:
        grid.add_row("", Text("hazard", style="magenta"), plain(f"{hazard.id}: {hazard.sentence}"))
    for condition in verdict.conditions:
        grid.add_row("", "holds if", plain(condition))
    for premise in verdict.premises:
        grid.add_row("", "premise", plain(premise.text))
    if verdict.reason and verdict.status in {"proved", "refuted"}:
        grid.add_row("", "note", plain(verdict.reason))
    return [grid] if grid.row_count else []


def _full(outcome: AnyOutcome, *, strict: bool) -> list[RenderableType]:
    from rich.text import Text

    if isinstance(outcome, TheoremOutcome):
        return _theorem(outcome)
    verdict = outcome.verdict
    call = None if isinstance(outcome, KernelOutcome) else outcome.item.call
    contract = None if call is None else contract_for(call)
    opcode = "what its calls share" if call is None else call.opcode
    parts: list[RenderableType] = [_row(verdict.status, f"{title(outcome)}: {plain(opcode)}")]
    if outcome.as_expected is not None:
        why = f" ({outcome.item.why})" if outcome.item.why else ""
        otherwise = "" if outcome.as_expected else "; it came out otherwise"
        parts.append(_indented("", f"{outcome.item.expectation}{why}{otherwise}", "claim"))
    elif strict and verdict.hazards:
        parts.append(_indented("not legal", "hazards are errors under --strict", "strict"))
    if verdict.status == "proved":
        parts.append(_indented("", f"{instructions(verdict)}{methods(verdict)}", "proved"))
    elif verdict.reason:
        parts.append(_indented("", verdict.reason, "reason"))
    for clause in ordered(outcome):
        if clause.status != "proved" and (clause.status != verdict.status or verdict.status != "proved"):
            parts.extend(_clause(clause, outcome, contract))
    return [*parts, *_notes(verdict), Text("")]


def _indented(mark: str, text: str, label: str) -> RenderableType:
    from rich.text import Text

    grid = _grid(indent=4)
    grid.add_row("", label, Text(plain(f"{mark}: {text}" if mark else text), overflow="fold"))
    return grid


def _clause(clause: ClauseResult, outcome: Outcome | KernelOutcome, contract: Contract | None) -> list[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    if clause.status != "refuted":
        if clause.status != outcome.verdict.status:
            return []
        return [_indented(clause.id, clause.reason or clause.statement, clause.status)]
    head = Text.assemble((clause.id, "bold red"), f": {plain(clause.statement)}", (f" [{clause.source}]" if clause.source else "", "dim"))
    grid = _grid(indent=4)
    alone = isinstance(outcome, KernelOutcome)
    for label, text in kernels.facts(clause) if alone else facts(clause, outcome.item.call, contract):
        grid.add_row("", label, Text(plain(text), overflow="fold"))
    parts: list[RenderableType] = [Padding(head, (0, 0, 0, 2)), grid]
    drawn = None if alone else picture(clause, contract)
    if drawn is not None:
        parts.append(Padding(Text(drawn, no_wrap=True, overflow="crop"), (0, 0, 0, 8)))
    failing = frozenset(c.id for c in outcome.verdict.failing)
    advice = kernels.repair(clause) if alone else hint(clause, outcome.item.call, contract, failing)
    if advice is not None:
        parts.append(_indented("", advice, "repair"))
    return parts


def summary(outcomes: Sequence[AnyOutcome]) -> str:
    """The counts of a run, a line each for the calls, for what those of a kernel share, and for the theorems."""
    calls = [outcome for outcome in outcomes if isinstance(outcome, Outcome)]
    proofs = [outcome for outcome in outcomes if isinstance(outcome, TheoremOutcome)]
    wholes = [outcome for outcome in outcomes if isinstance(outcome, KernelOutcome)]
    parts = [_count(calls)] if calls or not proofs else []
    parts += [kernels.summary(wholes)] if wholes else []
    return "".join(part + "\n" for part in (*parts, *([theorems.summary(proofs)] if proofs else [])))


def _count(outcomes: Sequence[Outcome]) -> str:
    counts = Counter(outcome.verdict.status for outcome in outcomes)
    total = f"{len(outcomes)} call{'' if len(outcomes) == 1 else 's'}: "
    text = total + ", ".join(f"{counts[status]} {status}" for status in STYLES if counts[status])
    expected = [outcome.as_expected for outcome in outcomes if outcome.as_expected is not None]
    if expected:
        wrong = expected.count(False)
        text += f"; {expected.count(True)} as expected" + (f", {wrong} NOT" if wrong else "")
    return text
