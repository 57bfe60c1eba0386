"""Verdicts as text for people: a line for what is proved or as expected, a screen for what is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilecheck.report.console import plain, render
from tilecheck.report.hints import hint
from tilecheck.report.items import Outcome
from tilecheck.report.picture import picture
from tilecheck.spec import BadSpelling, Contract, find_contract

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from tilecheck.prove.verdict import ClauseResult, Counterexample, Verdict

STYLES = {"proved": "green", "refuted": "bold red", "unproved": "yellow", "vacuous": "yellow", "error": "yellow"}
STATUS_WIDTH = 8


def report(outcomes: Sequence[Outcome], *, strict: bool, terminal: bool) -> str:
    """The text of a run: every outcome, then the counts. What came out as expected is one line, unless it is all there is to show."""
    alone = len(outcomes) == 1 and outcomes[0].verdict.status != "proved"
    shown = [_full(outcome, strict=strict) if alone else _outcome(outcome, strict=strict) for outcome in outcomes]
    parts = [render(part, terminal=terminal) for one in shown for part in one]
    return "".join(parts) + _summary(outcomes)


def screen(outcome: Outcome, *, strict: bool = False, terminal: bool = False) -> str:
    """The text of one outcome, in full."""
    return "".join(render(part, terminal=terminal) for part in _full(outcome, strict=strict))


def _outcome(outcome: Outcome, *, strict: bool) -> list[RenderableType]:
    short = outcome.verdict.status == "proved" if outcome.as_expected is None else outcome.as_expected
    if short and not (strict and outcome.exit_status(strict=True) != 0):
        return [_line(outcome), *_notes(outcome.verdict)]
    return _full(outcome, strict=strict)


def title(outcome: Outcome) -> str:
    """What the outcome is called: the claim, or the id and where it stands."""
    call, where = outcome.item.call, outcome.item.where
    name = where if "::" in where else f"{call.id} ({where})" if call.id else where
    return plain(name)


def _line(outcome: Outcome) -> RenderableType:
    verdict = outcome.verdict
    if verdict.status == "proved":
        what = f"{_instructions(verdict)}{_methods(verdict)}"
    else:
        first = next((c for c in verdict.clauses if c.status == verdict.status), None)
        why = verdict.reason or "" if first is None else f"{first.id}: {_sentence(first)}"
        what = f"as expected{': ' if why else ''}{why}"
    return _row(verdict.status, f"{title(outcome)}: {plain(what)}")


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


def _sentence(clause: ClauseResult) -> str:
    return clause.counterexample.sentence if clause.counterexample is not None else clause.reason or clause.statement


def _instructions(verdict: Verdict) -> str:
    count = verdict.instructions
    return "" if count is None else f"{count} instruction{'' if count == 1 else 's'}, "


def _methods(verdict: Verdict) -> str:
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
        grid.add_row("", "premise", plain(premise))
    return [grid] if grid.row_count else []


def _full(outcome: Outcome, *, strict: bool) -> list[RenderableType]:
    from rich.text import Text

    verdict, call = outcome.verdict, outcome.item.call
    found = find_contract(call.opcode)
    contract = None if found is None or isinstance(found, BadSpelling) else found
    parts: list[RenderableType] = [_row(verdict.status, f"{title(outcome)}: {plain(call.opcode)}")]
    if outcome.as_expected is not None:
        why = f" ({outcome.item.why})" if outcome.item.why else ""
        otherwise = "" if outcome.as_expected else "; it came out otherwise"
        parts.append(_indented("", f"{outcome.item.expectation}{why}{otherwise}", "claim"))
    elif strict and verdict.hazards:
        parts.append(_indented("not legal", "hazards are errors under --strict", "strict"))
    if verdict.status == "proved":
        parts.append(_indented("", f"{_instructions(verdict)}{_methods(verdict)}", "proved"))
    elif verdict.reason:
        parts.append(_indented("", verdict.reason, "reason"))
    for clause in verdict.clauses:
        if clause.status != "proved" and (clause.status != verdict.status or verdict.status != "proved"):
            parts.extend(_clause(clause, outcome, contract))
    return [*parts, *_notes(verdict), Text("")]


def _indented(mark: str, text: str, label: str) -> RenderableType:
    from rich.text import Text

    grid = _grid(indent=4)
    grid.add_row("", label, Text(plain(f"{mark}: {text}" if mark else text), overflow="fold"))
    return grid


def _clause(clause: ClauseResult, outcome: Outcome, contract: Contract | None) -> list[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    if clause.status != "refuted":
        if clause.status != outcome.verdict.status:
            return []
        return [_indented(clause.id, clause.reason or clause.statement, clause.status)]
    head = Text.assemble((clause.id, "bold red"), f": {plain(clause.statement)}", (f" [{clause.source}]" if clause.source else "", "dim"))
    grid = _grid(indent=4)
    for label, text in _facts(clause):
        grid.add_row("", label, Text(plain(text), overflow="fold"))
    parts: list[RenderableType] = [Padding(head, (0, 0, 0, 2)), grid]
    drawn = picture(clause, contract)
    if drawn is not None:
        parts.append(Padding(Text(drawn, no_wrap=True, overflow="crop"), (0, 0, 0, 8)))
    advice = hint(clause, outcome.item.call, contract)
    if advice is not None:
        parts.append(_indented("", advice, "repair"))
    return parts


def _facts(clause: ClauseResult) -> list[tuple[str, str]]:
    example = clause.counterexample
    if example is None:
        return [("reason", clause.reason)] if clause.reason else []
    rows = [("thread", _thread(example)), ("where", _coordinate(example)), ("with", ", ".join(f"{n} = {v}" for n, v in example.symbols))]
    rows += [("expected", example.expected), ("actual", example.actual), ("so", example.sentence)]
    return [(label, text) for label, text in rows if text]


def _thread(example: Counterexample) -> str:
    parts = (("cta", example.cta), ("warp", example.warp), ("lane", example.lane))
    return ", ".join(f"{name} {value}" for name, value in parts if value is not None)


def _coordinate(example: Counterexample) -> str:
    parts = (("repeat", example.repeat), ("group", example.group), ("atom", example.atom))
    return ", ".join(f"{name} ({', '.join(map(str, value))})" for name, value in parts if value)


def _summary(outcomes: Sequence[Outcome]) -> str:
    counts = Counter(outcome.verdict.status for outcome in outcomes)
    total = f"{len(outcomes)} call{'' if len(outcomes) == 1 else 's'}: "
    text = total + ", ".join(f"{counts[status]} {status}" for status in STYLES if counts[status])
    expected = [outcome.as_expected for outcome in outcomes if outcome.as_expected is not None]
    if expected:
        wrong = expected.count(False)
        text += f"; {expected.count(True)} as expected" + (f", {wrong} NOT" if wrong else "")
    return text + "\n"
