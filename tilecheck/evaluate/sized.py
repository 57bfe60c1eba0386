"""The contract of a call that says the shape and the types of an instruction: numbers for M, N and K, the dtypes that the types allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from tilecheck.evaluate.expressions import term
from tilecheck.evaluate.views import View

NAMES: tuple[str, ...] = ("M", "N", "K")


def shape_of(contract: Mapping[str, Any], call: Mapping[str, Any]) -> list[int] | None:
    """The shape that a call says, where it is a list of integers."""
    parameters: Mapping[str, Any] = call.get("parameters") or {}
    given = parameters.get(contract["sized"]["parameter"])
    entries = cast("list[object]", given) if isinstance(given, list) else [None]
    numbers = [one for one in entries if isinstance(one, int) and not isinstance(one, bool)]
    return numbers if len(numbers) == len(entries) else None


def _size(sized: Mapping[str, Any], shape: Sequence[int] | None) -> Mapping[str, Any] | None:
    if shape is None or len(shape) != len(NAMES):
        return None
    m, n, k = shape
    return next((one for one in sized["sizes"] if one["m"] == m and n in one["n"] and one["k"] == k), None)


def size_of(contract: Mapping[str, Any], call: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What the instruction says of the shape that a call says, None where it is none of its shapes."""
    return _size(contract["sized"], shape_of(contract, call))


def shape_problem(sized: Mapping[str, Any], parameters: Mapping[str, Any], arch: str) -> tuple[str, str] | None:
    """Why a shape is none of the instruction's: (expected, found)."""
    shape = parameters[sized["parameter"]]
    size, found = _size(sized, shape), f"{shape}"
    if size is None:
        sizes = "; ".join(f"M {one['m']}, N among {list(one['n'])}, K {one['k']}" for one in sized["sizes"])
        others = [str(name) for name, other in sized["others"] if _size({"sizes": other}, shape) is not None]
        return sizes, found + (f" (the reading {' or '.join(others)} takes it: {sized['why']})" if others else "")
    if arch and size["arch"] not in {"", arch}:
        return f"{size['arch']} for K {size['k']}", f"{found} on {arch}"
    for name, value, step in sized["multiples"]:
        if parameters.get(name) == value and shape[1] % step:
            return f"N a multiple of {step}, as {name} is {value}", found
    return None


def sized(contract: Mapping[str, Any], call: Mapping[str, Any]) -> Mapping[str, Any]:
    """The contract with what the call decides; as it is where there is nothing."""
    operands, values = list(contract["operands"]), dict[str, int]()
    if "sized" in contract:
        shape = shape_of(contract, call)
        if shape is not None and _size(contract["sized"], shape) is not None:
            operands = [_shaped(contract["sized"], spec, shape) for spec in operands]
            values = dict(zip(NAMES, shape, strict=True))
    types = dict[str, str]()
    if "typed" in contract:
        operands, types = _typed(contract["typed"], operands, call)
    found = {**contract, "operands": operands}
    if contract.get("product") and ("sized" in contract or "typed" in contract):
        found["product"] = _product(contract["product"], contract["operands"], operands, values, types)
    return found


def _product(
    data: Mapping[str, Any],
    before: Sequence[Mapping[str, Any]],
    operands: Sequence[Mapping[str, Any]],
    values: Mapping[str, int],
    types: Mapping[str, str],
) -> Mapping[str, Any]:
    """A product with the shape, the axes that are not there, and the types."""
    absent: dict[str, dict[str, int]] = {}
    for old, new in zip(before, operands, strict=True):
        there = {str(axis) for axis, _ in new["atom"]}
        absent[str(old["name"])] = {str(axis): 0 for axis, _ in old["atom"] if axis not in there}

    def entries(side: Mapping[str, Any]) -> Mapping[str, Any]:
        known = {**values, **absent[str(side["operand"])]}
        at = [[name, filled(form, known)] for name, form in side["at"]]
        return {**side, "at": at, "type": side["type"] or types.get(str(side["operand"]), "")}

    sides = {name: entries(data[name]) for name in ("dst", "left", "right", "addend")}
    return {**data, **sides, **({"factors": [entries(one) for one in data["factors"]]} if data.get("factors") else {})}


def _shaped(how: Mapping[str, Any], spec: Mapping[str, Any], shape: Sequence[int]) -> Mapping[str, Any]:
    name, values = spec["name"], dict(zip(NAMES, shape, strict=True))
    found: dict[str, Any] = dict(spec)
    for operand, extents in how["extents"]:
        if operand == name:
            pairs = [(axis, term(extent, values)) for (axis, _), extent in zip(spec["atom"], extents, strict=True)]
            found["atom"] = [[axis, extent] for axis, extent in pairs if extent]
            values |= {axis: 0 for axis, extent in pairs if not extent}
    if spec["kind"] == "tmem":
        found["lane"], found["column"] = (filled(spec[place], values) for place in ("lane", "column"))
        found["first_bits"] = next((term(start, values) for operand, start in how["starts"] if operand == name), spec["first_bits"])
        copies = (replicas for operand, m, replicas in how["copies"] if operand == name and m == shape[0])
        found["replicas"] = next(copies, spec["replicas"])
        begins = (lanes for operand, m, lanes in how["begins"] if operand == name and m == shape[0])
        found["first_lanes"] = next(begins, spec["first_lanes"])
    return found


def filled(form: Any, values: Mapping[str, int]) -> Any:
    """A term with numbers for some of its names."""
    if isinstance(form, str):
        return values.get(form, form)
    if not isinstance(form, list | tuple):
        return form
    operator, *parts = cast("list[Any]", form)
    return (operator, *(filled(part, values) for part in parts))


def _typed(typed: Sequence[Mapping[str, Any]], operands: list[Any], call: Mapping[str, Any]) -> tuple[list[Any], dict[str, str]]:
    """The operands with the dtypes that they may have, and the types that their elements have."""
    forms: Sequence[Mapping[str, Any]] = call.get("operands") or ()
    parameters: Mapping[str, Any] = call.get("parameters") or {}
    views = {spec["name"]: View(form) for spec, form in zip(operands, forms, strict=False) if "layout" in form}
    dtypes = {name: view.dtype for name, view in views.items() if not view.refused}
    own: dict[str, str] = {}
    takes: dict[str, list[str]] = {}
    kept: set[str] = set()
    for one in typed:
        named = parameters.get(one["parameter"]) if one["parameter"] else None
        named = named if isinstance(named, str) else None
        dtype = dtypes.get(one["operand"], "")
        fits = [
            t
            for t in one["types"]
            if (named == t["name"] and dtype in (*t["dtypes"], *t["held"])) or (named is None and dtype in t["dtypes"])
        ]
        if fits:
            own[one["operand"]] = fits[0]["name"]
        found: list[str] = []
        for t in one["types"]:
            if any(type_ == t["name"] and own.get(other, others[0]) not in others for type_, other, others in one["needs"]):
                continue
            found += [*t["dtypes"]] if named is None else [*t["dtypes"], *t["held"]] if named == t["name"] else []
        takes[one["operand"]] = found
        if own.get(one["operand"]) in one["along"]:
            kept.add(one["operand"])
    result: list[Any] = []
    for spec in operands:
        changed = {**spec, "dtypes": takes[spec["name"]]} if spec["name"] in takes else spec
        if spec["name"] in kept and spec.get("described"):
            described = spec["described"]
            changed = {**changed, "described": {**described, "modes": [m for m in described["modes"] if m["major"] == "k"]}}
        result.append(changed)
    return result, own
