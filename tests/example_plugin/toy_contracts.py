"""`toy`: a made-up load of pairs, two words from an address that is a multiple of 8 bytes."""

from __future__ import annotations

from collections.abc import Mapping

from tilecheck.spec import AtomAxis, Contract, Entry, Family, Floor, Grammar, Memory, Move, Parameter, Register, Slot, both
from tilecheck.symbolic import var

TOY = Grammar(
    "toy",
    (Slot("space", ("global", "shared"), required=True), Slot("type", ("b32",), required=True)),
    exclusions=(),
    floors=(Floor(both(), "sm_80"),),
    source="The toy book, chapter 1",
)


def toy(q: Mapping[str, str]) -> Contract:
    """Word k of the pair is register k."""
    word = var("word")
    return Contract(
        opcode=TOY.spell(q),
        mnemonic="toy",
        arch=TOY.arch_floor(q),
        source=TOY.source,
        collective="thread",
        atom=(AtomAxis("word", 2),),
        operands=(
            Register("dst", bits=32, register=word, write=True),
            Memory("src", q["space"], bits=32, row=("word",), align_bytes=8, write=False),
        ),
        parameters=(Parameter("pred", "predicate"),),
        move=Move("dst", "src", source=(word,)),
        issue="{opcode} {dst}, [{src}];",
        qualifiers=q,
    )


FAMILY = Family("toy", (Entry(TOY, toy),))
