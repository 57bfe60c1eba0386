"""The evaluator's own walk: against equations written down anew, and sensitive to every entry of a layout in the contract's data."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.prove.matrix_reader import READER, document, reader
from tilecheck.contracts.descriptors import MODES
from tilecheck.evaluate import Model
from tilecheck.spec import BadSpelling, data

NAMES = [f"{mode.major}-{mode.swizzle}" for mode in MODES]
LDO, SDO = 2064, 1040


def contract(opcode: str) -> dict[str, Any]:
    """The data of the reader, as it comes back from JSON."""
    qualifiers = READER.read(opcode)
    assert not isinstance(qualifiers, BadSpelling)
    return json.loads(json.dumps(data(reader(qualifiers))))


def byte(major: str, swizzle: int, bits: int, row: int, column: int) -> int:
    """The byte of an element from an origin at 0: SPEC, "Shared matrix descriptors", sentence by sentence."""
    line, inner = (row, column) if major == "k" else (column, row)
    width = 128 if swizzle == 4 else 16 << swizzle
    rows = 4 if swizzle == 4 else 8
    exchanged = major == "mn" and swizzle == 0
    group, chunk = (LDO, SDO) if exchanged else (SDO, LDO)
    low = inner * bits // 8
    at = low % width + low // width * chunk + line % rows * width + line // rows * group
    if swizzle == 4:
        return at ^ at >> 2 & 96
    return at ^ at >> 3 & {0: 0, 1: 16, 2: 48, 3: 112}[swizzle]


def matrix(major: str, swizzle: int, bits: int) -> tuple[int, int, dict[str, Any], Model]:
    """(rows, columns, document, model) of a matrix of several groups and spans."""
    each = (128 if swizzle == 4 else 16 << swizzle) * 8 // bits
    inner = each if major == "k" and swizzle else 2 * each
    rows, columns = (16, inner) if major == "k" else (inner, 16)
    form = document(rows, columns, bits, [LDO, SDO, swizzle], f"S[({rows},{columns}):({columns},1)]", major=major)
    return rows, columns, form, Model(contract(form["opcode"]), form)


def cases() -> Iterator[tuple[str, int, int]]:
    for mode in MODES:
        for bits in mode.widths:
            each = mode.elements(bits)
            if each <= 32 or (mode.major == "k" and each <= 64):
                yield mode.major, mode.swizzle, bits


@pytest.mark.parametrize(("major", "swizzle", "bits"), list(cases()))
def test_the_walk_is_that_of_the_specification(major, swizzle, bits):
    rows, columns, _, model = matrix(major, swizzle, bits)
    found = model.matrices["a"]
    assert found.mode is not None
    for row in range(rows):
        for column in range(columns):
            at = found.swizzled(found.mode, found.offset(found.mode, LDO, SDO, row, column))
            assert at // 8 == byte(major, swizzle, bits, row, column), (row, column)


def changes(mode: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    other = {"ldo_bytes": "sdo_bytes", "sdo_bytes": "ldo_bytes"}
    yield "span_bytes", mode["span_bytes"] * 2
    yield "lines", 12 - mode["lines"]
    yield "next_lines", other[mode["next_lines"]]
    yield "widths", []
    yield "swizzle", 7
    yield "major", "mn" if mode["major"] == "k" else "k"
    if mode["next_span"] is not None:
        yield "next_span", other[mode["next_span"]]
    if mode["xors"]:
        yield "xors", []
        yield "xors", [[mode["xors"][0][0] + 1, mode["xors"][0][1]]]
        yield "period_bytes", mode["period_bytes"] * 2


def legal(major: str, swizzle: int, bits: int, rows: int, columns: int, form: dict[str, Any]) -> dict[str, Any]:
    """The document with the layout that its descriptor reads, on a base of exactly the period."""
    each, lines = (128 if swizzle == 4 else 16 << swizzle) * 8 // bits, 4 if swizzle == 4 else 8
    group, chunk = (LDO, SDO) if major == "mn" and swizzle == 0 else (SDO, LDO)
    line = f"{16 // lines},{lines}", f"{group * 8 // bits},{each}"
    inner_extent = columns if major == "k" else rows
    inner = f"{max(1, inner_extent // each)},{min(each, inner_extent)}", f"{chunk * 8 // bits},1"
    first, second = (line, inner) if major == "k" else (inner, line)
    keeps, length, shift = (32, 2, 2) if swizzle == 4 else (16, swizzle, 3)
    text = f"S[({first[0]},{second[0]}):({first[1]},{second[1]})]"
    if swizzle:
        text = f"Swizzle({(keeps * 8 // bits).bit_length() - 1},{length},{shift}) o {text}"
    found = copy.deepcopy(form)
    found["operands"][0] |= {"layout": text, "align": {0: 16, 1: 256, 2: 512, 3: 1024, 4: 512}[swizzle], "size_bytes": 1 << 17}
    return found


@pytest.mark.parametrize(("major", "swizzle", "bits"), [case for case in cases() if case[2] in {16, 32}])
def test_every_entry_of_a_layout_is_read(major, swizzle, bits):
    rows, columns, form, _ = matrix(major, swizzle, bits)
    form = legal(major, swizzle, bits, rows, columns, form)
    right = contract(form["opcode"])
    assert Model(right, form).check(1 << 20).status == "proved"
    described = right["operands"][0]["described"]
    place = next(k for k, mode in enumerate(described["modes"]) if (mode["major"], mode["swizzle"]) == (major, swizzle))
    for name, value in changes(described["modes"][place]):
        changed = copy.deepcopy(right)
        changed["operands"][0]["described"]["modes"][place][name] = value
        assert Model(changed, form).check(1 << 20).status == "refuted", f"{name} = {value}"
