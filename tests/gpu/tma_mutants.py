"""Wrong tensor copies that a reconstruction must notice: views with another pitch, swizzle or phase; CTAs written, tail, operator, type."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable

from tests.gpu.async_mutants import move, own_copy, spelled
from tests.gpu.documents import Json
from tests.gpu.mutants import Data, Mutant
from tilecheck.spec import Contract


def viewed(old: str, new: str) -> Callable[[Json], Json]:
    """Another layout of the image."""

    def apply(document: Json) -> Json:
        text = json.dumps(document)
        assert old in text
        return json.loads(text.replace(old, new))

    return apply


def limited(multiple_bytes: int) -> Callable[[Data], None]:
    """Stores are clipped at another multiple."""

    def apply(contract: Data) -> None:
        contract["box"]["limits"]["multiple_bytes"] = multiple_bytes  # type: ignore[index]

    return apply


def kept(contract: Data) -> None:
    """No format rounds."""
    for one in contract["box"]["formats"]:  # type: ignore[index]
        one["rounded"] = False


def as_type(name: str, other: str) -> Callable[[Contract], Contract]:
    """The tensor map of a type says another one."""

    def apply(contract: Contract) -> Contract:
        assert contract.box is not None
        codes = {one.name: one.code for one in contract.box.formats}
        formats = tuple(dataclasses.replace(one, code=codes[other]) if one.name == name else one for one in contract.box.formats)
        return dataclasses.replace(contract, box=dataclasses.replace(contract.box, formats=formats))

    return apply


def tma_mutants() -> list[Mutant]:
    """The seeded mutants."""
    return [
        Mutant("pitch", "swizzle 3, rows of 64 bytes of 2", "rows follow each other", calls=viewed("(9,32):(64,1)", "(9,32):(32,1)")),
        Mutant("pitch", "swizzle 1, rows of 16 bytes of 4", "rows follow each other", calls=viewed("(9,4):(8,1)", "(9,4):(4,1)")),
        Mutant("swizzle", "swizzle 3, rows of 128 bytes of 2", "that of 64 bytes", calls=viewed("Swizzle(3,3,3)", "Swizzle(3,2,3)")),
        Mutant("swizzle", "swizzle 1, rows of 32 bytes of 1", "none", calls=viewed("Swizzle(4,1,3) o ", "")),
        Mutant("swizzle", "reduction of rank 3", "that of 32 bytes", calls=viewed("Swizzle(2,2,3)", "Swizzle(2,1,3)")),
        Mutant("phase", "swizzle 3, phase 3", "another line", calls=viewed(" + 192", " + 64")),
        Mutant("walk", "strides [2, 1], swizzle 3", "the next row", calls=viewed('"coords": [0, 0]', '"coords": [1, 0]')),
        Mutant("walk", "store of rank 4", "the next element", calls=viewed('"coords": [0, 0, 0, 0]', '"coords": [0, 0, 0, 1]')),
        Mutant("destination CTA", "multicast 2", "the own copy", own_copy),
        Mutant("destination CTA", "multicast 3", "the own copy only", own_copy),
        Mutant("destination CTA", "multicast to the other", "the own copy", own_copy),
        Mutant("type", "rounded to tf32 at [3, 8]", "copied", kept),
        Mutant("tail", "store past an extent of 97", "clipped at the extent", limited(2)),
        Mutant("tail", "store past an extent of 100", "clipped at 32 bytes", limited(32)),
        Mutant("operator", "add of uint32", "exclusive or", move(combine="xor")),
        Mutant("operator", "add of int32", "copied", move(combine=None)),
        Mutant("operator", "max of uint32", "the least", emits=spelled(".max.", ".min.")),
        Mutant("type", "min of uint32", "signed", emits=as_type("uint32", "int32")),
        Mutant("type", "add of float16", "bfloat16", emits=as_type("float16", "bfloat16")),
    ]
