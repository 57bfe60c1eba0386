"""Values for the symbols of one run: `--set n=4` and `n=[1,2,...]`, what is not set taken from the least assignment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tilecheck.errors import InputError

if TYPE_CHECKING:
    from tilecheck.call import Call, Symbol
    from tilecheck.symbolic.terms import Term

Values = dict[str, "int | list[int]"]

_INTEGER = r"-?(?:0[xX][0-9a-fA-F]{1,64}|[0-9]{1,78})"
SETTING = re.compile(rf"([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?:({_INTEGER})|\[\s*({_INTEGER}(?:\s*,\s*{_INTEGER})*)\s*,?\s*\])")


def parse_settings(settings: Sequence[str], call: Call) -> Values:
    """The values that `--set` gives; InputError names the setting that is malformed, unknown, repeated or against the symbol's range."""
    declared = {s.name: s for s in call.symbols}
    values: Values = {}
    for text in settings:
        where = f"--set {text[:80]}"
        match = SETTING.fullmatch(text.strip())
        if match is None:
            raise InputError("expected NAME=INTEGER or NAME=[INTEGER, ...]", where=where)
        name = match[1]
        if name not in declared:
            known = ", ".join(declared) or "none"
            raise InputError(f"the call declares no symbol {name!r}; it declares {known}", where=where)
        if name in values:
            raise InputError(f"{name} is set twice", where=where)
        numbers = [integer(part) for part in (match[2] or match[3]).split(",")]
        for number in numbers:
            _in_range(declared[name], number, where)
        if match[2] is None and declared[name].varies == "grid":
            raise InputError(f"{name} has one value for the whole grid, expected {name}=INTEGER", where=where)
        if match[2] is None:
            _right_length(call, declared[name], numbers, where)
        values[name] = numbers[0] if match[2] is not None else numbers
    return values


def _right_length(call: Call, declared: Symbol, numbers: Sequence[int], where: str) -> None:
    """One value for each CTA, warp or lane, by the level at which the symbol varies."""
    launch = call.launch
    sizes = {
        "cluster": ("cluster", 1),
        "cta": ("CTA", launch.ctas),
        "warp": ("warp", launch.warps),
        "thread": ("lane", min(32, launch.threads)),
    }
    unit, count = sizes.get(declared.varies, ("grid", 1))
    if len(numbers) != count:
        raise InputError(
            f"{declared.name} varies by {declared.varies} and is given {len(numbers)} values, expected {count}, one a {unit}", where=where
        )


def require_lane(call: Call, elected: int) -> None:
    """InputError where no warp has the lane that is said to be elected."""
    lanes = min(32, call.launch.threads)
    if elected >= lanes:
        raise InputError(
            f"found {elected}, expected a lane from 0 to {lanes - 1}: the warps of this launch have no other", where="--elected"
        )


def integer(text: str) -> int:
    """The integer that a setting writes, decimal or hexadecimal."""
    return int(text, 16) if "x" in text.lower() else int(text)


def _in_range(declared: Symbol, value: int, where: str) -> None:
    low, high, step = declared.min, declared.max, declared.multiple_of
    if (low is not None and value < low) or (high is not None and value > high) or value % step:
        ends = f"from {'...' if low is None else low} to {'...' if high is None else high}"
        multiple = f", a multiple of {step}" if step != 1 else ""
        raise InputError(f"{value} is not a value of {declared.name}: {ends}{multiple}", where=where)


def _require_facts(facts: Sequence[tuple[str, Term]], values: Mapping[str, int | list[int]]) -> None:
    """InputError where given values contradict a fact that names them alone. facts: each with what it is called."""
    from tilecheck.symbolic.terms import evaluate, variables

    for called, fact in facts:
        names = sorted(variables(fact)) if not isinstance(fact, int) else []
        if not names or not all(name in values for name in names):
            continue
        lists = [value for value in (values[name] for name in names) if isinstance(value, list)]
        for k in range(max(map(len, lists), default=1)):
            chosen = {name: _of_instance(values[name], k) for name in names}
            if not evaluate(fact, chosen):
                shown = ", ".join(f"{name}={value}" for name, value in chosen.items())
                raise InputError(f"{shown} contradicts {called}", where="--set")


def _of_instance(value: int | list[int], index: int) -> int:
    return value if isinstance(value, int) else value[min(index, len(value) - 1)]


def completed(call: Call, given: Mapping[str, int | list[int]], asked: Sequence[tuple[str, Term]] = ()) -> Values:
    """Every symbol's value: the given ones, and for the rest the least assignment that satisfies all facts, pred and what a verdict `asked`."""
    _require_facts([(f"the assumption {fact}", fact) for fact in call.assume], given)
    _require_facts([(f"the condition that {text}", term) for text, term in asked], given)
    if all(s.name in given for s in call.symbols):
        return dict(given)
    from tilecheck.reconstruct.assignment import least_assignment
    from tilecheck.symbolic.terms import substitute

    single = {name: value for name, value in given.items() if isinstance(value, int)}
    least = least_assignment(call.substitute(**single) if single else call, [substitute(term, single) for _, term in asked])
    return {**least, **given}
