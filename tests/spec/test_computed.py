"""What register instructions say they compute: parts that tile the destination, sources of the right types, words of the spelling."""

from __future__ import annotations

import pytest

from tests.gpu.register_forms import computing, forms_of
from tilecheck.contracts.registers import BITS
from tilecheck.spec import Contract, Register

FORMS = list(computing())
SINGLE = {"e4m3": 8, "e5m2": 8, "e2m3": 8, "e3m2": 8, "ue8m0": 8, "e2m1": 4}


def width(type_: str) -> int:
    return SINGLE.get(type_) or BITS[type_]


def test_every_form_says_what_it_computes_but_those_with_random_bits():
    silent = {opcode for opcode, contract in FORMS if contract.computed is None}
    assert silent == {opcode for opcode, _ in FORMS if ".rs." in opcode}


@pytest.mark.parametrize("mnemonic", sorted({contract.mnemonic for _, contract in FORMS}))
def test_results_tile_the_destination_and_sources_lie_in_their_registers(mnemonic):
    for opcode, contract in FORMS:
        made = contract.computed
        if contract.mnemonic != mnemonic or made is None:
            continue
        registers = {o.name: o for o in contract.operands if isinstance(o, Register)}
        ranges = sorted((one.bit, one.bit + one.bits) for one in made.results)
        ends = [0, *(end for _, end in ranges)]
        assert [start for start, _ in ranges] == ends[:-1], opcode
        assert ends[-1] == registers[made.dst].bits, opcode
        assert registers[made.dst].write, opcode
        read = {name for one in made.results for name, _, _ in one.of}
        assert read == {name for name, o in registers.items() if not o.write}, opcode
        for one in made.results:
            assert width(one.type) <= one.bits, opcode
            assert all(bit + width(type_) <= registers[name].bits for name, bit, type_ in one.of), opcode


def test_the_words_are_those_of_the_spelling_and_the_types_the_rest():
    for opcode, contract in FORMS:
        made = contract.computed
        if made is None:
            continue
        tokens = opcode.split(".")
        types = [token for token in tokens[1:] if token not in made.words]
        assert made.operator == tokens[0] == contract.mnemonic
        assert sorted((*made.words, *types)) == sorted(tokens[1:]), opcode
        assert made.results[0].type in {types[0], types[0].split("x")[0]} or "wide" in made.words, opcode


def test_the_first_source_of_a_pair_is_its_upper_half():
    for opcode in ("cvt.rn.bf16x2.f32", "cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.satfinite.e2m1x2.f32"):
        (contract,) = forms_of(opcode)
        assert isinstance(contract, Contract)
        assert contract.computed is not None
        low, high = contract.computed.results
        assert ([name for name, _, _ in low.of], [name for name, _, _ in high.of]) == (["b"], ["a"])
        assert low.bit < high.bit
