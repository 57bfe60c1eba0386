"""`tilecheck draw`: a layout in notation, or the operands of a call, as SVG or as a page. What is drawn need not be legal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tilecheck.errors import InputError
from tilecheck.evaluate.expressions import LimitError
from tilecheck.evaluate.layouts import FixedLayout
from tilecheck.evaluate.layouts import Layout as PlainLayout
from tilecheck.evaluate.layouts import parse_layout as plain_layout
from tilecheck.evaluate.views import View
from tilecheck.layout.dtypes import dtype_bits
from tilecheck.layout.notation import format_layout, parse_layout
from tilecheck.report.pictures.layouts import layout_pictures
from tilecheck.report.pictures.operands import operand_pictures
from tilecheck.report.pictures.svg import Picture, standalone
from tilecheck.report.values import SETTING, integer

if TYPE_CHECKING:
    from tilecheck.call import Call
    from tilecheck.report.values import Values

MOST_TRIES = 1 << 14
LEAST_VALUES = (0, 1, *range(2, 65))
_LAYOUT = re.compile(r"\s*(?:Swizzle\s*\(|[SR]\s*\[)")


@dataclass(frozen=True, slots=True)
class Drawing:
    """Pictures under a title. said: lines about what is drawn, under which values."""

    title: str
    pictures: Sequence[Picture]
    said: Sequence[str] = ()

    def svg(self) -> str:
        """One SVG file."""
        return standalone("  ".join([self.title, *self.said]), self.pictures)

    def html(self) -> str:
        """One page."""
        from tilecheck.report.html import figures, page, safe

        head = f"<h1>{safe(self.title)}</h1>" + "".join(f"<p><code>{safe(line)}</code></p>" for line in self.said)
        return page(self.title, head, figures(self.pictures))


def is_layout(text: str) -> bool:
    """Whether an operand is a layout in notation rather than the name of a file."""
    return bool(_LAYOUT.match(text)) and not Path(text[:200]).is_file()


# --- a layout ---------------------------------------------------------------------------------------------------------


def draw_layout(text: str, settings: Sequence[str], dtype: str) -> Drawing:
    """The drawing of a layout. settings: NAME=INTEGER for its symbols; those not set take the least values with extents from 1 on.

    InputError: a malformed layout, an unknown dtype, a setting that is malformed or names no symbol, no values found.
    """
    try:
        bits = dtype_bits(dtype)
    except InputError as error:
        raise InputError(error.message, where="--dtype") from None
    written = format_layout(parse_layout(text))
    layout = plain_layout(written)
    names = sorted({name for expression in layout.expressions() for name in expression.names})
    values = _completed(layout, names, _settings(settings, names))
    fixed = layout.fixed(values, _extents(layout, values))
    said = [f"{name} = {value}" for name, value in values.items()]
    pictures = layout_pictures(fixed, bits, "The layout")
    return Drawing(written, pictures, [*said, *([] if fixed.axes() else [f"elements of {dtype}"])])


def _extents(layout: PlainLayout, values: Mapping[str, int]) -> list[int]:
    """The extents; InputError where an expression has no value, or an extent is less than 1."""
    for expression in layout.expressions():
        try:
            expression.value(values)
        except LimitError as error:
            raise InputError(f"{expression.text} has no value: found {error.actual}, expected {error.expected}") from None
    found = [factor.extent.value(values) for factor in layout.shards]
    if any(extent < 1 for extent in found):
        raise InputError(f"found the extents {found}, expected 1 or more everywhere")
    return found


def _settings(settings: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    values: dict[str, int] = {}
    for text in settings:
        where = f"--set {text[:80]}"
        match = SETTING.fullmatch(text.strip())
        if match is None or match[2] is None:
            raise InputError("expected NAME=INTEGER", where=where)
        if match[1] not in names:
            raise InputError(f"the layout has no symbol {match[1]!r}; it has {', '.join(names) or 'none'}", where=where)
        if match[1] in values:
            raise InputError(f"{match[1]} is set twice", where=where)
        values[match[1]] = integer(match[2])
    return values


def _completed(layout: PlainLayout, names: Sequence[str], given: Mapping[str, int]) -> dict[str, int]:
    """The given values, and for the rest the least with which every extent is 1 or more."""
    free = [name for name in names if name not in given]
    fault = InputError("no values of its symbols give it extents of 1 or more, as far as they were tried; set them with --set")
    for number, chosen in enumerate(product(LEAST_VALUES, repeat=len(free))):
        values = {**given, **dict(zip(free, chosen, strict=True))}
        try:
            _extents(layout, values)
        except InputError as error:
            fault = fault if free else error
            if number >= MOST_TRIES:
                break
        else:
            return {name: values[name] for name in names}
    raise fault


# --- a call -----------------------------------------------------------------------------------------------------------


def draw_call(call: Call, values: Values, elected: int) -> Drawing:
    """The operands of a call under given values; where the contract cannot be read into them, their declared layouts."""
    from tilecheck.fitting import contract_for

    contract = contract_for(call)
    shown = [f"{name} = {value}" for name, value in values.items()]
    name = f"{call.id}: {call.opcode}" if call.id else call.opcode
    if contract is not None and contract.box is None:
        pictures = operand_pictures(call, contract, values, elected)
        if pictures:
            return Drawing(name, pictures, shown)
    box = contract is not None and contract.box is not None
    why = "`predict` lists the image of the box" if box else "its operands do not fit a contract, or no thread executes"
    return Drawing(name, _declared(call, values), [*shown, f"the declared layouts: {why}"])


def _declared(call: Call, values: Values) -> list[Picture]:
    found: list[Picture] = []
    single = {name: value if isinstance(value, int) else value[0] for name, value in values.items()}
    for form in cast("Sequence[Mapping[str, Any]]", call.to_json()["operands"]):
        if "layout" not in form:
            continue
        view = View(form)
        fixed = _fixed(view, single)
        if fixed is not None:
            found += layout_pictures(fixed, view.declared_bits, str(form.get("name") or form.get("tensor") or "operand"))
    if not found:
        raise InputError("nothing to draw: no operand has elements under these values")
    return found


def _fixed(view: View, values: Mapping[str, int]) -> FixedLayout | None:
    try:
        fixed = view.tensor(values)
    except LimitError:
        return None
    return fixed if prod(fixed.shape) > 0 else None
