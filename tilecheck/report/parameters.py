"""What would make a clause about a parameter hold: the values it may have, and how to say them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tilecheck.fitting import chunk_text, value_of
from tilecheck.layout.view import View
from tilecheck.spec.contract import Contract, Parameter

if TYPE_CHECKING:
    from tilecheck.call import Call
    from tilecheck.prove.verdict import ClauseResult

_BYTES = re.compile(r"^(\d+) bytes$")


def parameter_advice(clause: ClauseResult, call: Call, contract: Contract) -> str | None:
    """One sentence, None where the clause is about no parameter or nothing can be said."""
    name, _, short = clause.id.partition(".")
    parameter = next((p for p in contract.parameters if p.name == name), None)
    if parameter is None:
        return None
    if parameter.kind == "chunk":
        return _chunk(parameter, call)
    if short == "index.range":
        return f"Bound the symbols of {name} (min, max) so that every intermediate result fits, or declare a wider index_dtype."
    ctas = call.launch.ctas
    if parameter.kind == "rank" and ctas == 1:
        return "Launch a cluster: without one there is no other CTA."
    if parameter.kind == "rank":
        return (
            f"Name another CTA, for instance (rank + 1) % {ctas} of the own rank, or let the guard keep out the CTA that would name itself."
        )
    if parameter.kind == "mask":
        return f"Let the mask be from 1 to {(1 << ctas) - 1}: bit k is the CTA of rank k of a cluster of {ctas}."
    if parameter.kind == "integer":
        written = value_of(call, parameter)
        most = parameter.most if isinstance(parameter.most, int) else call.parameter(parameter.most)
        bounded = f"min(max({written}, 0), {most})" + (f" // {parameter.step} * {parameter.step}" if parameter.step > 1 else "")
        return f"Bound it, {bounded} for instance, or declare or assume what bounds its symbols."
    if parameter.kind == "barrier":
        return f'Put the barrier in shared memory: {name}="shared".'
    if parameter.kind != "bytes":
        return None
    found = None if clause.counterexample is None else _BYTES.match(clause.counterexample.actual)
    return None if found is None else f"Expect what arrives there, {found[1]} bytes, or let fewer or other threads issue the copy."


def _chunk(parameter: Parameter, call: Call) -> str:
    """The chunks that there are, also in elements of the first operand."""
    first = call.operands[0] if call.operands else None
    sizes = parameter.choices or (parameter.step,)
    bits = first.trace.bits if isinstance(first, View) else 0
    whole = [f"{size * 8 // bits} for {size} bytes" for size in sizes if bits and size * 8 % bits == 0]
    elements = (
        f", a last axis of elements of {bits} bits as long as that ({', '.join(whole)}{'' if parameter.choices else ' and so on'})"
        if whole
        else ""
    )
    return f"Move {chunk_text(parameter)} at once{elements}; what is left over needs copies of its own."
