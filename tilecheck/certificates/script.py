"""One obligation as the text of SMT-LIB 2 files, each of which stands alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilecheck.certificates import bitvectors, integers
from tilecheck.certificates.formula import Formula, NoForm, counted, divides_oddly, formula, has_product, steps_name
from tilecheck.certificates.obligations import SAT, UNKNOWN, UNSAT, Stating
from tilecheck.certificates.text import comment, variable_name
from tilecheck.prove.obligation import Variable

WIDEST_PRODUCT = 48
"""Products of variables, and divisions that are no shifts, are asked in bit-vectors up to this width, in integers beyond."""
MEANING = {
    UNSAT: "unsat means: no values in the declared ranges satisfy the premise without the goal",
    SAT: "sat means: the values below satisfy the premise without the goal",
    UNKNOWN: "tilecheck has no answer to this one; sat means that some values satisfy the premise without the goal",
}


@dataclass(frozen=True, slots=True)
class Script:
    """A file: its logic, the answer expected of a solver, its text; width: bits of its numbers, None in integers."""

    logic: str
    expected: str
    text: str
    width: int | None


def scripts(stating: Stating, about: str) -> tuple[Script, Script | None]:
    """The formula, and where it is one of bit-vectors with arithmetic, the proof that nothing wraps. NoForm where no encoding has a form.

    about: the call, for the comments.
    """
    found = formula(stating.obligation, stating.premise)
    head = [
        *comment(f"tilecheck certificate: {stating.clause} of {about}"),
        *comment(f"asks: {stating.statement}"),
        *(comment(f"source: {stating.source}") if stating.source else ()),
        *(comment(f"decided by: {stating.method}") if stating.method else ()),
        *comment(MEANING[stating.expected]),
    ]
    width, lines = _encoded(found)
    pinned = _witness(stating, found, width)
    if width is None:
        text = _whole(head, integers.logic(found), stating.expected, [*lines, *pinned])
        return Script(integers.logic(found), stating.expected, text, None), None
    head += comment(f"numbers are signed, of {width} bits; that nothing wraps there is the other file's to show")
    formal = bitvectors.asked(found)
    main = Script(bitvectors.LOGIC, stating.expected, _whole(head, bitvectors.LOGIC, stating.expected, [*formal.lines, *pinned]), width)
    steps = bitvectors.no_wrap(found, formal.names)
    if not steps:
        return main, None
    head = [
        *comment(f"tilecheck certificate: nothing wraps in {stating.clause} of {about}"),
        *comment("unsat means: no operation whose arguments keep the ranges written beside them has an exact result outside its own range"),
        *comment(f"every range fits {width} bits, the width of the formula; exact results are computed at a width that holds any of them"),
    ]
    return main, Script(bitvectors.LOGIC, UNSAT, _whole(head, bitvectors.LOGIC, UNSAT, steps), width)


def _encoded(found: Formula) -> tuple[int | None, list[str]]:
    """The width of the bit-vectors; or None, and the formula in integers. NoForm where there is neither."""
    try:
        width = bitvectors.width_of(found)
    except NoForm:
        return None, integers.asked(found)
    if width <= WIDEST_PRODUCT or not (has_product(found) or divides_oddly(found)):
        return width, []
    try:
        return None, integers.asked(found)
    except NoForm:
        return width, []


def _witness(stating: Stating, found: Formula, width: int | None) -> list[str]:
    """The values that make the formula satisfiable, asserted."""
    if stating.witness is None:
        return []
    encoding = integers.Integers(found) if width is None else bitvectors.BitVectors(width, found)
    named = {variable_name(name): value for name, value in _by_steps(stating.obligation.variables, stating.witness).items()}
    names = [variable_name(variable.name) for variable in found.variables]
    lines = [f"(assert {encoding.compare('==', name, encoding.number(named[name]))})" for name in names if name in named]
    return [*comment("the counterexample" if stating.clause != "facts" else "such values"), *lines] if lines else []


def _by_steps(variables: Sequence[Variable], values: Mapping[str, int]) -> dict[str, int]:
    """The values, of variables that count steps the count."""
    found = dict(values)
    for variable in variables:
        if counted(variable) and variable.name in values:
            found[steps_name(variable)] = values[variable.name] // variable.step
    return found


def _whole(head: Sequence[str], logic: str, expected: str, lines: Sequence[str]) -> str:
    status = ["(set-info :smt-lib-version 2.6)", f"(set-logic {logic})", f"(set-info :status {expected})"]
    return "\n".join([*head, *status, *lines, "(check-sat)", "(exit)"]) + "\n"
