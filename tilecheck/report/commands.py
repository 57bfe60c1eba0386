"""The commands: each reads its input, does its work and gives the text to write and the exit status."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from tilecheck.errors import InputError
from tilecheck.report import json as answers
from tilecheck.report.items import Item, Outcome, check_item, check_items, exit_status, gather, items_of, with_arch
from tilecheck.report.kernels import FAILED, OK, UNDECIDED
from tilecheck.report.options import Options

if TYPE_CHECKING:
    from tilecheck.report.items import AnyOutcome
    from tilecheck.report.values import Values

MOST_PRODUCTS = 1 << 18
"""The products that `predict` names: some seconds of work, and some megabytes."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a command came to: the text to write (None: nothing, no file either), the exit status, and text for stderr."""

    text: str | None
    status: int = OK
    note: str = ""


class SeveralErrors(InputError):  # noqa: N818 (it is their list)
    """More than one file is wrong."""

    def __init__(self, errors: Sequence[InputError]) -> None:
        super().__init__(f"{len(errors)} files cannot be read")
        self.errors = tuple(errors)


@dataclass(frozen=True, slots=True)
class Request:
    """What one run was asked: the operands of the command, its own flags, the options. terminal: whether a terminal shows the result."""

    operands: tuple[str, ...]
    options: Options
    kernel: bool = False
    terminal: bool = False

    @property
    def operand(self) -> str:
        """The one operand."""
        return self.operands[0]


def check(request: Request) -> Result:
    """The verdicts on every document, claim and theorem."""
    options = request.options
    items, errors = gather(request.operands, together=options.together)
    if errors:
        raise errors[0] if len(errors) == 1 else SeveralErrors(errors)
    if options.certificates is not None and options.reading:
        raise InputError("certificates are written of contracts without a reading: leave out --reading or --certificates")
    if options.certificates is not None:
        from tilecheck.certificates.folder import require_empty

        require_empty(options.certificates)
    found = with_arch(items, options.arch)
    outcomes = check_items(found, jobs=options.jobs, audit=options.audit, rlimit=options.rlimit, reading=options.reading or "")
    if options.certificates is not None:
        _certify(outcomes, options)
    status = exit_status(outcomes, strict=options.strict)
    if options.format == "text":
        from tilecheck.report.text import report

        return Result(report(outcomes, strict=options.strict, terminal=request.terminal), status)
    if options.format == "html":
        from tilecheck.report.html import report as page

        return Result(page(outcomes, strict=options.strict), status)
    return Result(answers.as_lines(outcomes) if options.format == "jsonl" else answers.as_list(outcomes), status)


def _certify(outcomes: Sequence[AnyOutcome], options: Options) -> None:
    """Writes the certificates of every call that was checked."""
    from tilecheck.certificates.folder import write

    assert options.certificates is not None
    limits = {} if options.rlimit is None else {"rlimit": options.rlimit}
    checked = [(one.item.call, one.verdict) for one in outcomes if isinstance(one, Outcome)]
    write(checked, options.certificates, others=[one.item.where for one in outcomes if not isinstance(one, Outcome)], **limits)


def recheck(request: Request) -> Result:
    """A solver's answers to the certificates of a folder: exit status 1 where one contradicts, 3 where one is missing."""
    from tilecheck.certificates.recheck import recheck as run
    from tilecheck.certificates.solvers import Limits

    options = request.options
    report = run(request.operand, options.solver, Limits(options.rlimit, options.timeout))
    return Result(report.text() if options.format == "text" else answers.write(report.to_json(), options.format), report.status)


def explain(request: Request) -> Result:
    """What an opcode asks: exit status 1 where the spelling is illegal, 3 where no contract knows the mnemonic."""
    if request.operand == "descriptor":
        return _explain_descriptor(request.options)
    only = [
        f"--{name}" for name in ("ldo", "sdo", "swizzle", "major", "rows", "columns", "start") if getattr(request.options, name) is not None
    ]
    if only:
        raise InputError("means something for `explain descriptor` only", where=only[0])
    from tilecheck.report import explain as about

    explanation = about.explain(request.operand, request.options.arch)
    status = {about.LEGAL: OK, about.ILLEGAL: FAILED}.get(explanation.status, UNDECIDED)
    if request.options.format == "text":
        return Result(about.as_text(explanation, terminal=request.terminal), status)
    return Result(answers.write(explanation.to_json(), request.options.format), status)


def _explain_descriptor(options: Options) -> Result:
    """The walk of a shared matrix."""
    from tilecheck.report import descriptor

    walk = descriptor.walk_of(options)
    if options.format == "text":
        return Result(descriptor.as_text(walk))
    return Result(rows_of(descriptor.to_json(walk)) if options.format == "json" else answers.compact(descriptor.to_json(walk)))


def import_(request: Request) -> Result:
    """What a foreign form says, in the words of a call document."""
    form, text = request.operands
    if form != "descriptor":
        raise InputError(f"found the form {form[:60]!r}, expected descriptor", where="import")
    from tilecheck.report import descriptor

    found = descriptor.imported(text)
    if request.options.format == "text":
        return Result(descriptor.imported_text(found))
    return Result(answers.write(found, request.options.format))


def premises(request: Request) -> Result:
    """The weakest facts under which the calls of a document would be proved: exit status 1 where a refuted one has none."""
    from tilecheck.report import premises as lacking

    options = request.options
    items, errors = gather(request.operands)
    if errors:
        raise errors[0] if len(errors) == 1 else SeveralErrors(errors)
    items = with_arch(items, options.arch)
    found = lacking.outcomes_of(items, request.operand, jobs=options.jobs, audit=options.audit, rlimit=options.rlimit)
    status = lacking.exit_status(found)
    if options.format == "text":
        return Result(lacking.as_text(found, terminal=request.terminal), status)
    return Result(answers.as_lines(found) if options.format == "jsonl" else answers.as_list(found), status)


def contracts(request: Request) -> Result:
    """The table of contracts."""
    from tilecheck.report import contracts as table

    rows = table.rows()
    if request.options.format == "text":
        return Result(table.as_text(rows, terminal=request.terminal))
    documents = [row.to_json() for row in rows]
    return Result("".join(map(answers.compact, documents)) if request.options.format == "jsonl" else answers.pretty(documents))


def schema(request: Request) -> Result:
    """A JSON Schema."""
    from tilecheck.schema import SCHEMAS

    name = request.operand or "call"
    if name not in SCHEMAS:
        raise InputError(f"found {name[:60]!r}, expected one of {', '.join(SCHEMAS)}", where="schema")
    return Result(answers.write(SCHEMAS[name](), request.options.format))


def emit(request: Request) -> Result:
    """The PTX of a proved call, as a snippet or a whole kernel."""
    outcome, refused = _proved(request)
    if refused is not None:
        return refused
    from tilecheck.emit import emit as snippet
    from tilecheck.emit import emit_kernel

    call, options = outcome.item.call, request.options
    if options.set and not request.kernel:
        raise InputError("means something with --kernel only: a snippet leaves symbols to its caller", where="--set")
    document: dict[str, object] = {"id": call.id, "opcode": call.opcode}
    if request.kernel:
        kernel = emit_kernel(call, arch=options.arch)
        values = _values(request, outcome)
        document |= {"arch": kernel.arch, "name": kernel.name, "block": kernel.block, "cluster": kernel.cluster}
        document |= {"shared_bytes": kernel.shared_bytes, "parameters": kernel.plan(), "values": values, "elected": options.elected}
        ptx = "".join(f"// {name} = {value}\n" for name, value in values.items()) + kernel.ptx
    else:
        ptx = snippet(call, arch=options.arch).ptx
    if options.format == "text":
        return Result(ptx if ptx.endswith("\n") else ptx + "\n")
    return Result(answers.write({**document, "ptx": ptx}, options.format))


def predict(request: Request) -> Result:
    """The image a proved call writes; exit status 1 and no image for any other, and where it names more than MOST_PRODUCTS products."""
    outcome, refused = _proved(request)
    if refused is not None:
        return Result(None, FAILED, refused.note)
    from tilecheck.evaluate import Model
    from tilecheck.evaluate.predict import UnpredictedError
    from tilecheck.spec import BadSpelling, data, find_contract

    call = outcome.item.call
    contract = find_contract(call.opcode)
    if contract is None or isinstance(contract, BadSpelling):
        return Result(None, FAILED, f"no image: {call.opcode} writes nothing\n")
    try:
        image = Model(data(contract), call.to_json()).predict(_values(request, outcome), request.options.elected, most=MOST_PRODUCTS)
    except UnpredictedError as gap:
        return Result(None, FAILED, f"no image: {gap}\n")
    document: Mapping[str, object] = image.to_json()
    if request.options.format == "text":
        from tilecheck.report.image import as_text

        return Result(as_text(document))
    return Result(answers.compact(document) if request.options.format == "jsonl" else rows_of(document))


def draw(request: Request) -> Result:
    """A layout, or the operands of a call, as SVG or a page; by the name of the file to write, where it says which."""
    from tilecheck.report.draw import draw_call, draw_layout, is_layout

    options = request.options
    suffix = "" if options.output is None else options.output.rpartition(".")[2].lower()
    form = {"svg": "svg", "html": "html", "htm": "html"}.get(suffix, options.format)
    if is_layout(request.operand):
        drawing = draw_layout(request.operand, options.set, options.dtype)
    else:
        from tilecheck.report.values import completed, parse_settings, require_lane

        call = _one_call(request).call
        require_lane(call, options.elected)
        drawing = draw_call(call, completed(call, parse_settings(options.set, call)), options.elected)
    return Result(drawing.html() if form == "html" else drawing.svg())


def rows_of(document: Mapping[str, object]) -> str:
    """A JSON object whose members are lists, one row of them a line."""
    members: list[str] = []
    for name, rows in document.items():
        if isinstance(rows, list | tuple) and rows:
            lines = ",\n".join(f"  {json.dumps(row)}" for row in cast("Sequence[object]", rows))
            members.append(f"{json.dumps(name)}: [\n{lines}\n]")
        else:
            members.append(f"{json.dumps(name)}: {json.dumps(rows)}")
    return "{" + ",\n".join(members) + "}\n"


def reconstruct(request: Request) -> Result:
    """Runs a proved call on a GPU: exit status 1 where a register or byte differs from the image."""
    outcome, refused = _proved(request)
    if refused is not None:
        return refused
    from tilecheck.reconstruct import reconstruct as run

    call, options = outcome.item.call, request.options
    found = run(call, values=_values(request, outcome), elected=options.elected)
    status = OK if found.matches else FAILED
    if options.format != "text":
        differences = [one.to_json() for one in found.differences]
        document: dict[str, object] = {"id": call.id, "opcode": call.opcode, "matches": found.matches, "differences": differences}
        document["evidence"] = found.evidence
        return Result(json.dumps(document, default=str, indent=None if options.format == "jsonl" else 2) + "\n", status)
    shown = [str(one) for one in found.differences]
    what = "every register and byte is as predicted" if found.matches else f"{len(shown)} differences from the prediction"
    head = (f"{call.id}: " if call.id else "") + f"{call.opcode}: {what}"
    more = [f"  and {len(shown) - 20} more"] if len(shown) > 20 else []
    return Result("\n".join([head, *(f"  {line}" for line in shown[:20]), *more]) + "\n", status)


def _values(request: Request, outcome: Outcome) -> Values:
    from tilecheck.report.values import completed, parse_settings, require_lane

    call = outcome.item.call
    require_lane(call, request.options.elected)
    return completed(call, parse_settings(request.options.set, call), outcome.verdict.asked)


def _proved(request: Request) -> tuple[Outcome, Result | None]:
    """The one call of the document, checked; where it is not proved, the result that says so on stderr."""
    item = _one_call(request)
    if request.options.set:
        from tilecheck.report.values import parse_settings

        parse_settings(request.options.set, item.call)  # a wrong setting is told before the work
    outcome = check_item(item, audit=request.options.audit, rlimit=request.options.rlimit)
    if outcome.verdict.status == "proved":
        return outcome, None
    from tilecheck.report.text import screen

    status = FAILED if outcome.verdict.status == "refuted" else UNDECIDED
    return outcome, Result(None, status, screen(outcome))


def _one_call(request: Request) -> Item:
    """The one call of the document, nothing expected of it."""
    items = with_arch(items_of(request.operand), request.options.arch)
    calls = [item for item in items if isinstance(item, Item)]
    if len(calls) != 1:
        raise InputError(f"found {len(calls)} calls, expected one", where=request.operand)
    return Item(calls[0].call, calls[0].where)


COMMANDS: dict[str, Callable[[Request], Result]] = {
    "check": check,
    "explain": explain,
    "premises": premises,
    "emit": emit,
    "predict": predict,
    "reconstruct": reconstruct,
    "recheck": recheck,
    "contracts": contracts,
    "draw": draw,
    "import": import_,
    "schema": schema,
}
