"""The call itself on a page: who executes it, the facts, and each operand as declared and as viewed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from tilecheck.report.pictures.svg import safe

if TYPE_CHECKING:
    from tilecheck.call import Call

LONGEST = 2000
"""The most characters of one value that a page repeats."""


def call_details(call: Call) -> str:
    """The call as a folded section."""
    form = cast("Mapping[str, object]", call.to_json())
    rows = [(label, text) for label, text in _general(form) if text]
    operands = cast("Sequence[Mapping[str, object]]", form.get("operands") or ())
    body = "".join(f"<dt>{safe(label)}</dt><dd><code>{safe(_cut(text))}</code></dd>" for label, text in rows)
    return f"<details><summary>The call</summary><dl>{body}</dl>{''.join(map(_operand, operands))}</details>"


def _general(form: Mapping[str, object]) -> list[tuple[str, str]]:
    launch = cast("Mapping[str, object]", form.get("launch") or {})
    symbols = cast("Sequence[Mapping[str, object]]", form.get("symbols") or ())
    parameters = cast("Mapping[str, object]", form.get("parameters") or {})
    return [
        *_function(cast("Mapping[str, object]", form.get("function") or {})),
        ("scope", str(form.get("scope") or "")),
        ("block", _text(launch.get("block"))),
        ("cluster", _text(launch.get("cluster"))),
        ("architecture", _text(form.get("arch"))),
        ("guard", _text(form.get("guard"))),
        *(
            ("symbol", ", ".join(f"{key} {_text(value)}" if key != "name" else _text(value) for key, value in one.items()))
            for one in symbols
        ),
        *(("assume", _text(fact)) for fact in cast("Sequence[object]", form.get("assume") or ())),
        ("index dtype", _text(form.get("index_dtype"))),
        *((f"parameter {name}", _text(value)) for name, value in parameters.items()),
    ]


def _function(made: Mapping[str, object]) -> list[tuple[str, str]]:
    """A scalar function as its signature and its body."""
    if not made:
        return []
    params = ", ".join(f"{name}: {type_}" for name, type_ in cast("Sequence[tuple[str, str]]", made["params"]))
    return [("function", f"({params}) -> {made['result']}"), ("body", str(made["body"]))]


def _operand(form: Mapping[str, object]) -> str:
    rows: list[tuple[str, object]] = [(key, value) for key, value in form.items() if key not in {"name", "view"} and value is not None]
    steps = cast("Sequence[Mapping[str, object]]", form.get("view") or ())
    rows += [("then", " ".join([str(step["op"]), *(f"{k}={_text(v)}" for k, v in step.items() if k != "op")])) for step in steps]
    body = "".join(f"<dt>{safe(label)}</dt><dd><code>{safe(_cut(_text(value)))}</code></dd>" for label, value in rows)
    return f"<h4>Operand {safe(form.get('name') or '')}</h4><dl>{body}</dl>"


def _text(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"
