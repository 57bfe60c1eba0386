"""A run as one page: the counts, every call with its clauses, and for each that fails the point, both sides and the pictures.

The page needs nothing from elsewhere: no script, no font, no image. It is well-formed XML, too, and the same run gives the same bytes,
measured times aside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tilecheck.errors import InputError
from tilecheck.fitting import contract_for
from tilecheck.report import kernels, theorems
from tilecheck.report.hints import hint
from tilecheck.report.html_call import call_details
from tilecheck.report.html_style import stylesheet
from tilecheck.report.items import AnyOutcome, Outcome
from tilecheck.report.kernels import KernelOutcome
from tilecheck.report.pictures.clause import pictures
from tilecheck.report.pictures.operands import operand_pictures
from tilecheck.report.pictures.svg import Picture, safe
from tilecheck.report.place import facts
from tilecheck.report.text import STYLES, instructions, methods, ordered, sentence, summary, title
from tilecheck.report.theorems import TheoremOutcome
from tilecheck.spec import Contract
from tilecheck.version import version

if TYPE_CHECKING:
    from tilecheck.prove.verdict import ClauseResult

BESIDE = {"expected", "actual"}


def report(outcomes: Sequence[AnyOutcome], *, strict: bool) -> str:
    """The page of a run."""
    counts = Counter(outcome.verdict.status for outcome in outcomes)
    badges = " ".join(badge(status, f"{counts[status]} {status}") for status in STYLES if counts[status])
    lines = "".join(f"<p>{safe(line)}</p>" for line in summary(outcomes).splitlines())
    head = f"<h1>tilecheck</h1><p>{badges}</p>{lines}"
    contents = "".join(_entry(number, outcome) for number, outcome in enumerate(outcomes, start=1))
    alone = len(outcomes) == 1
    body = "".join(_article(number, outcome, strict=strict, alone=alone) for number, outcome in enumerate(outcomes, start=1))
    nav = f'<nav aria-label="Calls"><ol>{contents}</ol></nav>' if not alone else ""
    return page("tilecheck report", head, nav + body)


def page(name: str, head: str, body: str) -> str:
    """A whole page from the markup of its head and body."""
    return (
        '<!DOCTYPE html>\n<html lang="en" xmlns="http://www.w3.org/1999/xhtml"><head><meta charset="utf-8"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/><meta name="color-scheme" content="light dark"/>'
        '<meta name="referrer" content="no-referrer"/>'
        f"<title>{safe(name)}</title><style>{stylesheet()}</style></head>\n<body>"
        f'<a class="skip" href="#main">To the calls</a><header>{head}</header>\n<main id="main">{body}</main>\n'
        f"<footer>tilecheck {safe(version())}. Addresses are bytes from the base of a tensor unless a base is named.</footer></body></html>\n"
    )


def badge(status: str, text: str = "") -> str:
    """A status as a small label."""
    return f'<span class="badge {safe(status)}">{safe(text or status)}</span>'


def figures(drawn: Iterable[Picture]) -> str:
    """Pictures, each in a frame of its own that scrolls, with its notes below."""
    return "".join(
        f'<figure><figcaption><b>{safe(one.title)}</b></figcaption><div class="scroll" tabindex="0" role="region" '
        f'aria-label="{safe(one.title)}">{one.svg()}</div>'
        + (f"<figcaption>{' '.join(map(safe, one.notes))}</figcaption>" if one.notes else "")
        + "</figure>"
        for one in drawn
    )


def _entry(number: int, outcome: AnyOutcome) -> str:
    verdict = outcome.verdict
    if isinstance(outcome, TheoremOutcome):
        why = theorems.line(outcome)
    else:
        found = [clause for clause in ordered(outcome) if clause.status == verdict.status]
        what = "what its calls share" if isinstance(outcome, KernelOutcome) else outcome.item.call.opcode
        why = what if verdict.status == "proved" else found[0].id if found else outcome.verdict.reason or ""
        if verdict.status != "proved" and found:
            why = f"{found[0].id}: {sentence(found[0])}"
    expected = "" if outcome.as_expected is not False else f' <strong class="refuted">{"not as expected"}</strong>'
    return f'<li>{badge(verdict.status)}<a href="#call-{number}">{safe(title(outcome))}</a><span class="muted">{safe(why)}{expected}</span></li>'


def _article(number: int, outcome: AnyOutcome, *, strict: bool, alone: bool) -> str:
    head = f"<header>{badge(outcome.verdict.status)}<h2>{safe(title(outcome))}</h2></header>"
    body = _theorem(outcome) if isinstance(outcome, TheoremOutcome) else _call(outcome, strict=strict, alone=alone)
    return f'<article id="call-{number}">{head}{body}</article>\n'


def _theorem(outcome: TheoremOutcome) -> str:
    rows = "".join(f"<dt>{safe(status)}</dt><dd>{safe(text)}</dd>" for status, text in theorems.failures(outcome))
    return f"<p>{safe(theorems.line(outcome))}</p>" + (f"<dl>{rows}</dl>" if rows else "")


def _call(outcome: Outcome | KernelOutcome, *, strict: bool, alone: bool) -> str:
    verdict = outcome.verdict
    call = None if isinstance(outcome, KernelOutcome) else outcome.item.call
    contract = None if call is None else contract_for(call)
    parts = ["<p>What its calls share.</p>" if call is None else f"<p><code>{safe(call.opcode)}</code></p>"]
    if outcome.as_expected is not None:
        why = f": {outcome.item.why}" if outcome.item.why else ""
        came = "as expected" if outcome.as_expected else "it came out otherwise"
        parts.append(f"<p>Expected: {safe(f'{outcome.item.expectation}{why}')} <strong>({came})</strong></p>")
    if verdict.status == "proved":
        parts.append(f"<p>Proved: {safe(instructions(verdict) + methods(verdict))}.</p>")
    elif verdict.reason:
        parts.append(f"<p>{safe(verdict.reason)}</p>")
    if strict and verdict.hazards:
        parts.append('<p class="note">Hazards are errors under --strict.</p>')
    parts += [f'<p class="note"><b>Hazard {safe(one.id)}</b> {safe(one.sentence)}</p>' for one in verdict.hazards]
    parts += [f'<p class="note"><b>Holds if</b> {safe(one)}</p>' for one in verdict.conditions]
    parts += [f'<p class="note"><b>Premise</b> {safe(one.text)}</p>' for one in verdict.premises]
    failing = frozenset(clause.id for clause in verdict.failing)
    shown = [clause for clause in ordered(outcome) if clause.status == "refuted" or clause.status == verdict.status != "proved"]
    parts += [_clause(clause, outcome, contract, failing) for clause in shown]
    parts.append(_clauses(outcome))
    parts.append("" if call is None else call_details(call))
    if alone and verdict.status == "proved" and contract is not None and isinstance(outcome, Outcome):
        parts.append(_operands(outcome, contract))
    return "".join(parts)


def _clause(clause: ClauseResult, outcome: Outcome | KernelOutcome, contract: Contract | None, failing: frozenset[str]) -> str:
    source = f' <span class="muted">[{safe(clause.source)}]</span>' if clause.source else ""
    head = f"<h3><code>{safe(clause.id)}</code> {safe(clause.status)}</h3><p>{safe(clause.statement)}{source}</p>"
    if clause.status != "refuted":
        return f'<section class="clause {safe(clause.status)}">{head}<p>{safe(clause.reason or "")}</p></section>'
    call = None if isinstance(outcome, KernelOutcome) else outcome.item.call
    found = kernels.facts(clause) if call is None else facts(clause, call, contract)
    rows = "".join(f"<dt>{safe(label)}</dt><dd>{safe(text)}</dd>" for label, text in found if label not in BESIDE)
    sides = dict(found)
    beside = "".join(
        f'<div class="side {label}"><b>{label}</b><code>{safe(sides[label])}</code></div>'
        for label in ("expected", "actual")
        if label in sides
    )
    advice = kernels.repair(clause) if call is None else hint(clause, call, contract, failing)
    return (
        f'<section class="clause">{head}'
        + (f"<dl>{rows}</dl>" if rows else "")
        + (f'<div class="sides">{beside}</div>' if beside else "")
        + ("" if call is None else figures(pictures(clause, call, contract)))
        + (f'<div class="repair"><b>Repair</b> {safe(advice)}</div>' if advice else "")
        + "</section>"
    )


def _clauses(outcome: Outcome | KernelOutcome) -> str:
    clauses = outcome.verdict.clauses
    if not clauses:
        return ""
    rows = "".join(
        f"<tr><td><code>{safe(one.id)}</code></td><td>{badge(one.status)}</td><td>{safe(one.method or '-')}</td>"
        f'<td class="ms">{one.ms:.3f} ms</td><td>{safe(one.statement)}</td><td class="muted">{safe(one.source)}</td></tr>'
        for one in clauses
    )
    heads = "".join(f"<th>{name}</th>" for name in ("clause", "status", "method", "time", "what it asks", "source"))
    count = len(clauses)
    return (
        f"<details><summary>{'All ' if count > 1 else ''}{count} clause{'s' if count > 1 else ''}: method, time and source</summary>"
        f'<div class="scroll" tabindex="0" role="region" aria-label="Clauses"><table class="stack"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div></details>'
    )


def _operands(outcome: Outcome, contract: Contract) -> str:
    """The pictures of a proved call's operands, under the least values of its symbols; nothing where no values are found."""
    from tilecheck.report.values import completed

    call = outcome.item.call
    try:
        values = completed(call, {}, outcome.verdict.asked)
    except InputError:
        return ""
    drawn = operand_pictures(call, contract, values)
    chosen = ", ".join(f"{name} = {value}" for name, value in values.items())
    under = f" with {chosen}" if chosen else ""
    return f"<h4>{safe(f'The operands{under}')}</h4>{figures(drawn)}" if drawn else ""
