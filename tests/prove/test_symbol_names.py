"""A symbol named like an atom axis would be one variable with it in every formula."""

import pytest

from tilecheck.document import read_call
from tilecheck.errors import InputError
from tilecheck.prove.check import check

DOCUMENT = {
    "schema": "tilecheck/call@1",
    "opcode": "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
    "scope": "warp",
    "operands": [
        {"name": "R", "space": "register", "dtype": "uint32", "shape": [4, 8, 4], "layout": "S[(4,8,4):(1,4@laneid,1@laneid)]"},
        {"name": "A", "space": "shared", "dtype": "uint32", "shape": [4, 8, 8], "align": 16, "layout": "S[(4,8,8):(64,8,1)]"},
    ],
}


def started(name: str) -> dict[str, object]:
    """Rows that start one word off where the symbol is 8 or more, and at 16 bytes where it is in the range of the axis `row`."""
    registers, memory = DOCUMENT["operands"]
    view = [{"op": "slice", "begin": [0, 0, f"{name} // 8"], "extent": [4, 8, 4]}]
    return DOCUMENT | {"symbols": [{"name": name, "min": 0, "max": 15}], "operands": [registers, {**memory, "view": view}]}


def test_a_symbol_of_another_name_is_refuted():
    verdict = check(read_call(started("q")))
    assert [clause.id for clause in verdict.failing] == ["src.aligned"]


@pytest.mark.parametrize("name", ["matrix", "row", "word"])
def test_a_symbol_named_like_an_atom_axis_is_wrong_input(name):
    with pytest.raises(InputError, match=f"the symbol {name} has the name of an atom axis"):
        check(read_call(started(name)))


def test_an_axis_of_another_contract_is_no_matter():
    document = started("row") | {"opcode": "ld.shared.v4.b32", "scope": "thread"}
    assert check(read_call(document)).status == "refuted"


@pytest.mark.parametrize("chunk", [4, 8, 16])
def test_an_operand_named_like_the_allocation_of_another_has_a_base_of_its_own(chunk):
    """A in shared memory, beside B in an allocation called A whose base is known better: nothing is known of the one from the other."""
    document = {
        "schema": "tilecheck/call@1",
        "id": "named",
        "opcode": "cp.async.ca.shared.global",
        "scope": "thread",
        "launch": {"block": [32], "cluster": None},
        "operands": [
            {"name": "A", "space": "shared", "dtype": "uint8", "shape": [chunk], "align": 4, "layout": f"S[({chunk}):(1)]"},
            {
                "name": "B",
                "tensor": "A",
                "space": "global",
                "dtype": "uint8",
                "shape": [chunk],
                "align": 4,
                "base": {"mod": 16, "is": 0},
                "layout": f"S[({chunk}):(1)]",
            },
        ],
        "parameters": {"chunk_bytes": chunk},
    }
    verdict = check(read_call(document), audit=True)
    assert [c.id for c in verdict.failing] == ([] if chunk == 4 else ["dst.aligned"])
    if chunk > 4:
        assert dict(verdict.failing[0].counterexample.symbols) == {"base(A#own)": 4}
