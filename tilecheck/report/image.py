"""A predicted image as text: what every written register slot and byte holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from tilecheck.report.console import plain

Row = Sequence[object]


def as_text(image: Mapping[str, object]) -> str:
    """One line a register slot; runs of bytes with consecutive sources on one line."""
    registers = [_register(row) for row in cast("Sequence[Row]", image.get("registers", ()))]
    memory = [_run(run) for run in _runs(sorted(cast("Sequence[Row]", image.get("memory", ())), key=_by_copy))]
    lines = [*registers, *memory]
    return plain("".join(f"{line}\n" for line in lines)) if lines else "nothing is written\n"


def _register(row: Row) -> str:
    operand, cta, warp, lane, slot, source = row[:6]
    where = f"{operand} cta {cta} warp {warp} lane {lane} slot {slot}"
    if source is None and len(row) > 7:
        return "\n".join(f"{where}{text}" for text in _computed(cast("Mapping[str, Any]", row[7])))
    if source is None:
        return f"{where} = {row[6] if len(row) > 6 else 'undefined'}"
    return f"{where} = {_sources(cast('Sequence[Row]', source))}"


def _computed(made: Mapping[str, Any]) -> list[str]:
    """What each entry of a slot is computed from: `f32 = C ... + A ... * B ...`."""
    return [
        f" bits {entry['bit']}+{entry['bits']} = {_sum(entry, made['by']) if 'plus' in entry else _result(entry, made['by'])}"
        for entry in made["entries"]
    ]


def _sum(entry: Mapping[str, Any], by: str) -> str:
    """`f32 C ... + A ... * B ...`."""
    sign = {"mul": "*", "xor": "xor", "and": "and"}[by]
    kind, start = entry["plus"]
    terms = [f" {sign} ".join(_entry(one) for one in factors) for factors in entry["products"]]
    clamped = f", clamped after each {entry['saturated']} products" if "saturated" in entry else ""
    return f"{kind} {(' - ' if entry.get('negated') else ' + ').join([_entry(start), *terms])}{clamped}"


def _result(entry: Mapping[str, Any], by: str) -> str:
    """`f32 add.rz(f32 A ..., f32 1.5)`."""
    return f"{entry['type']} {by}({', '.join(f'{type_} {_entry(source)}' for type_, source in entry['of'])})"


def _entry(source: Any) -> str:
    """`A lane 3 slot 0 bits 16+16`, with the warp and CTA where they are not the first; `A[32] bits 0+16`; a number; one of several sources that bits of a word choose."""
    if isinstance(source, Mapping):
        made = cast("Mapping[str, Any]", source)
        if "bits" in made:
            return f"{made['bits']:#x}"
        choices = ", ".join(f"{value}: {_entry(one)}" for value, one in made["among"])
        return f"[by {_entry(made['by'])}: {choices}]"
    if not isinstance(source, list | tuple):
        return str(source)
    name, where, bit, *bits = cast("Row", source)
    part = f"bits {bit}+{bits[0]}" if bits else f"bit {bit}"
    if isinstance(where, int):
        return f"{_named(name, [cast('Mapping[str, object]', one)['cta'] for one in bits[1:]])}[{where}] {part}"
    cta, warp, lane, slot = cast("Row", where)
    far = f" cta {cta} warp {warp}" if (cta, warp) != (0, 0) else ""
    return f"{name}{far} lane {lane} slot {slot} {part}"


def _sources(sources: Sequence[Row]) -> str:
    """`A[4..7]` for consecutive bytes of one tensor."""
    parts: list[str] = []
    start = 0
    for k in range(1, len(sources) + 1):
        if k < len(sources) and _follows(sources[k - 1], sources[k]):
            continue
        parts.append(_source(sources[start], sources[k - 1]))
        start = k
    return " ".join(parts)


def _source(first: Row, last: Row) -> str:
    """The bytes from `first` to `last` of a tensor or register slot, or one part of a byte."""
    name, begin, end = first[0], first[1], last[1]
    if name is None:
        return f"{begin}" if len(first) == 2 else f"{begin}:{first[3]}"
    bits = f" bits {first[2]}+{first[3]}" if len(first) == 4 else ""
    if isinstance(begin, list | tuple):
        *place, byte = cast("Row", begin)
        start, stop = byte, cast("Row", end)[-1]
        inside = f"[{start}]" if start == stop else f"[{start}..{stop}]"
        return "{} cta {} warp {} lane {} slot {}".format(name, *place) + f"{inside}{bits}"
    return f"{name}[{begin}]{bits}" if begin == end else f"{name}[{begin}..{end}]"


def _follows(before: Row, after: Row) -> bool:
    if len(before) != 2 or len(after) != 2 or before[0] != after[0] or before[0] is None:
        return False
    left, right = before[1], after[1]
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        a, b = cast("Row", left), cast("Row", right)
        return a[:-1] == b[:-1] and cast("int", b[-1]) == cast("int", a[-1]) + 1
    return cast("int", right) == cast("int", left) + 1


def _runs(rows: Sequence[Row]) -> list[list[Row]]:
    runs: list[list[Row]] = []
    for row in rows:
        if runs and _continues(runs[-1][-1], row):
            runs[-1].append(row)
        else:
            runs.append([row])
    return runs


def _copies(row: Row) -> dict[str, Any]:
    """Which copies of shared memory a byte and its source lie in, and what combines or rounds them."""
    return cast("dict[str, Any]", row[4]) if len(row) > 4 else {}


def _by_copy(row: Row) -> tuple[object, int, int]:
    return row[0], cast("int", _copies(row).get("cta", 0)), cast("int", row[1])


def _combined(row: Row) -> list[Row]:
    return cast("list[Row]", _copies(row).get("sources", []))


def _unpacked(row: Row) -> list[tuple[object, int, int, int, *tuple[object, ...]]]:
    """The parts of a widened value: tensor, byte, first bit, bits, and the CTA where there are several."""
    return cast("list[tuple[object, int, int, int, *tuple[object, ...]]]", _copies(row).get("sources", []))


def _continues(before: Row, after: Row) -> bool:
    if "low" in _copies(before) or "low" in _copies(after):  # a widened value is a line of its own
        return False
    if before[3] == "computed" or after[3] == "computed":
        return False
    if any(_copies(before).get(key) != _copies(after).get(key) for key in ("cta", "from", "by", "to")):
        return False
    if [[name, cast("int", byte) + 1, *cta] for name, byte, *cta in _combined(before)] != [list(one) for one in _combined(after)]:
        return False
    if before[0] != after[0] or cast("int", after[1]) != cast("int", before[1]) + 1 or before[2] != after[2]:
        return False
    left, right = before[3], after[3]
    if isinstance(left, int) and isinstance(right, int):
        return right == left + 1
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        a, b = cast("Row", left), cast("Row", right)
        return a[:-1] == b[:-1] and cast("int", b[-1]) == cast("int", a[-1]) + 1
    return left == right


def _run(run: list[Row]) -> str:
    first, last = run[0], run[-1]
    where = f"{first[0]} byte {first[1]}" if len(run) == 1 else f"{first[0]} bytes {first[1]}..{last[1]}"
    source, place = first[2], first[3]
    copies = _copies(first)
    if "cta" in copies:
        where = where.replace(" ", f" cta {copies['cta']} ", 1)
    if place == "computed":
        return "\n".join(f"{where}{text}" for text in _computed(copies))
    if "low" in copies:
        parts = ", ".join(f"{_named(name, cta)}[{byte}] bits {bit}..{bit + bits - 1}" for name, byte, bit, bits, *cta in _unpacked(first))
        return f"{where} = {parts}" + (f", from bit {copies['low']} on" if copies["low"] else "")
    if isinstance(place, str) and place in {"combined", "rounded"}:
        sources = ", ".join(
            f"{_named(name, cta)}[{begin}..{end}]"
            for (name, begin, *cta), (_, end, *_) in zip(_combined(first), _combined(last), strict=True)
        )
        return (
            f"{where} = {sources} rounded to {copies['to']}"
            if "to" in copies
            else f"{where} = {copies['by']} of what they hold and {sources}"
        )
    if "from" in copies:
        source = _named(source, [copies["from"]])
    if source is None:
        return f"{where} = {place}"
    if isinstance(place, list | tuple):
        cta, warp, lane, slot, byte = cast("Row", place)
        end = cast("Row", last[3])[-1]
        shown = f"byte {byte}" if byte == end else f"bytes {byte}..{end}"
        return f"{where} = {source} cta {cta} warp {warp} lane {lane} slot {slot} {shown}"
    return f"{where} = {source}[{place}]" if place == last[3] else f"{where} = {source}[{place}..{last[3]}]"


def _named(tensor: object, cta: list[object]) -> str:
    return f"{tensor} cta {cta[0]}" if cta else str(tensor)
