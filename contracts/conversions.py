"""`cvt`: conversions between integers, floats, pairs of narrow floats and quadruples of them.

Two single-precision sources make a pair, the first in the upper half; four make a quadruple, the first on top. Source: PTX ISA 9.7.9.21.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilecheck.contracts.registers import (
    BITS,
    DTYPES,
    FTZ,
    INTEGERS,
    ONE,
    RELU,
    ROUNDINGS,
    SAT,
    TO_INTEGER,
    WORD,
    computed,
    flag,
    form,
    one_register,
    parts,
    words,
)
from tilecheck.spec import (
    AtomAxis,
    Computed,
    Contract,
    Entry,
    Exclusion,
    Family,
    Floor,
    Grammar,
    Register,
    Result,
    Slot,
    both,
    either,
    is_,
    other_than,
    written,
)
from tilecheck.spec.grammar import Condition

NARROW = ("u8", "s8")
EIGHTS = ("e4m3x2", "e5m2x2")
SIXES = ("e2m3x2", "e3m2x2", "e2m1x2")
FOURS = ("e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4", "e2m1x4")
CVT_TYPES = (*NARROW, *INTEGERS, "f16", "f32", "f64", "bf16", "tf32", "f16x2", "bf16x2", *EIGHTS, *SIXES, "ue8m0x2", *FOURS)
TO_INT, FROM_INT = is_("type", *NARROW, *INTEGERS), is_("source", *NARROW, *INTEGERS)
TO_PAIR, TO_EIGHT, TO_SIX, TO_FOUR = (is_("type", *types) for types in (("f16x2", "bf16x2"), EIGHTS, SIXES, FOURS))
FROM_F32 = is_("source", "f32")
WIDTH = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
WIDER = either(*(both(is_("type", a), is_("source", *(b for b in WIDTH if WIDTH[b] < WIDTH[a]))) for a in WIDTH))
"""A float from a narrower one: exact, without rounding."""
NARROWER = either(*(both(is_("type", a), is_("source", *(b for b in WIDTH if b != a and WIDTH[b] >= WIDTH[a]))) for a in WIDTH))
SAME = either(*(both(is_("type", a), is_("source", a)) for a in WIDTH))
PLAIN_FORM = both(is_("type", *NARROW, *INTEGERS, *WIDTH), is_("source", *NARROW, *INTEGERS, *WIDTH))
SOURCES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys((*NARROW, *INTEGERS, *WIDTH), (*NARROW, *INTEGERS, *WIDTH)),
    "tf32": ("f32",),
    "f16x2": ("f32", *EIGHTS, *SIXES),
    "bf16x2": ("f32", "ue8m0x2"),
    **dict.fromkeys(EIGHTS, ("f32", "f16x2", "bf16x2")),
    **dict.fromkeys(SIXES, ("f32",)),
    "ue8m0x2": ("f32", "bf16x2"),
    **dict.fromkeys(FOURS, ("f32",)),
}
"""What each type is converted from."""
LATE_RELU = written("late")
RELUS = either(written("relu"), LATE_RELU)
NEEDS = "the rounding that the conversion needs"


def _inside(type_: str) -> tuple[str, ...]:
    """The integer types all of whose values are values of a type: such a conversion has nothing to saturate."""
    ends = {
        kind: (-(1 << int(kind[1:]) - 1), (1 << int(kind[1:]) - 1) - 1) if kind[0] == "s" else (0, (1 << int(kind[1:])) - 1)
        for kind in (*NARROW, *INTEGERS)
    }
    low, high = ends[type_]
    return tuple(kind for kind, (least, most) in ends.items() if low <= least and most <= high)


def _rounded(when: Condition, *roundings: str, what: str = NEEDS) -> Exclusion:
    return Exclusion(
        both(when, other_than(is_("rounding", *roundings))), "rounding", f"{what}: {' or '.join('.' + r for r in roundings if r) or 'none'}"
    )


# fmt: off
CVT = Grammar(
    "cvt",
    (
        Slot("rounding", (*ROUNDINGS, "rna", "rs", *TO_INTEGER)),
        FTZ,
        SAT,
        RELU,
        flag("satfinite"),
        Slot("late", ("relu",)),
        Slot("type", CVT_TYPES, required=True),
        Slot("source", CVT_TYPES, required=True),
    ),
    exclusions=(
        *(Exclusion(both(is_("type", a), other_than(is_("source", *sources))), "source", f".{a} is converted from {', '.join('.' + b for b in sources)}")
          for a, sources in SOURCES.items()),
        Exclusion(both(is_("rounding", "rs"), other_than(either(TO_PAIR, TO_FOUR))), "rounding", ".rs belongs to pairs and quadruples"),
        Exclusion(both(is_("rounding", "rna"), other_than(is_("type", "tf32"))), "rounding", ".rna belongs to .tf32"),
        Exclusion(both(is_("rounding", *TO_INTEGER), other_than(is_("type", *NARROW, *INTEGERS, *WIDTH))), "rounding", "rounds to an integer"),
        Exclusion(both(written("ftz"), other_than(is_("type", *NARROW, *INTEGERS, *WIDTH))), "ftz", "belongs to conversions of .f32"),
        Exclusion(both(written("sat"), other_than(is_("type", *NARROW, *INTEGERS, *WIDTH))), "sat", "belongs to integers and .f16, .f32, .f64"),
        _rounded(both(TO_INT, FROM_INT), ""),
        _rounded(both(TO_INT, is_("source", *WIDTH)), *TO_INTEGER),
        _rounded(both(is_("type", "f16", "f32", "f64"), FROM_INT), *ROUNDINGS),
        _rounded(both(is_("type", "bf16"), either(FROM_INT, is_("source", "f64", "f16"))), *ROUNDINGS),
        _rounded(both(is_("type", "bf16"), FROM_F32), "rn", "rz"),
        _rounded(both(NARROWER, other_than(is_("type", "bf16"))), *ROUNDINGS),
        _rounded(WIDER, ""),
        _rounded(SAME, "", *TO_INTEGER),
        _rounded(is_("type", "tf32"), "rn", "rz", "rna"),
        _rounded(both(TO_PAIR, FROM_F32), "rn", "rz", "rs"),
        _rounded(both(TO_PAIR, other_than(FROM_F32)), "rn"),
        _rounded(either(TO_EIGHT, TO_SIX), "rn"),
        _rounded(is_("type", "ue8m0x2"), "rz", "rp"),
        _rounded(TO_FOUR, "rs"),
        Exclusion(both(written("ftz"), other_than(both(PLAIN_FORM, either(is_("type", "f32"), FROM_F32)))), "ftz", "belongs to conversions of .f32"),
        Exclusion(both(written("sat"), other_than(PLAIN_FORM)), "sat", "belongs to integers and .f16, .f32, .f64"),
        Exclusion(both(written("sat"), either(is_("type", "bf16"), is_("source", "bf16"))), "sat", "is not taken with .bf16"),
        *(Exclusion(both(written("sat"), is_("type", a), is_("source", *_inside(a))), "sat", f"every value of the source is one of .{a}")
          for a in (*NARROW, *INTEGERS)),
        Exclusion(both(either(RELUS, written("satfinite")), is_("type", "f16"), is_("rounding", "rm", "rp")), "rounding",
                  ".relu and .satfinite are taken with .rn or .rz"),
        Exclusion(both(is_("type", "bf16"), is_("source", *NARROW)), "source", ".bf16 is converted from integers of 16 bits and more"),
        Exclusion(both(is_("source", "bf16"), is_("type", *NARROW)), "type", ".bf16 is converted to integers of 16 bits and more"),
        Exclusion(both(either(written("ftz"), written("sat")), either(RELUS, written("satfinite"))), "satfinite",
                  "neither .relu nor .satfinite is taken with .ftz or .sat"),
        Exclusion(both(written("relu"), LATE_RELU), "late", ".relu is written twice"),
        Exclusion(both(LATE_RELU, is_("satfinite", "")), "late", ".relu is written late"),
        Exclusion(both(RELUS, is_("type", *NARROW, *INTEGERS, "f32", "f64", "ue8m0x2")), "relu", "belongs to narrow floats"),
        Exclusion(both(RELUS, is_("type", "f16", "bf16"), other_than(FROM_F32)), "relu", "belongs to conversions from .f32"),
        Exclusion(both(RELUS, is_("rounding", "rna")), "relu", "is not taken with .rna"),
        Exclusion(both(RELUS, is_("type", "bf16x2"), is_("source", "ue8m0x2")), "relu", "belongs to narrow floats"),
        Exclusion(both(written("satfinite"), is_("type", *NARROW, *INTEGERS, "f32", "f64")), "satfinite", "belongs to narrow floats"),
        Exclusion(both(written("satfinite"), is_("type", "f16", "bf16", "f16x2", "bf16x2"), other_than(FROM_F32)), "satfinite", "belongs to conversions from .f32"),
        Exclusion(both(either(TO_EIGHT, TO_SIX, TO_FOUR), is_("satfinite", "")), "satfinite", "is mandatory here"),
    ),
    floors=(
        Floor(both(), "sm_75"),
        Floor(either(is_("type", "bf16", "tf32"), TO_PAIR, is_("source", "bf16"), RELUS, written("satfinite")), "sm_80"),
        Floor(either(TO_EIGHT, is_("source", *EIGHTS)), "sm_89"),
        Floor(either(both(is_("type", "bf16"), other_than(is_("source", "f32"))), both(is_("source", "bf16"), other_than(is_("type", "f32")))), "sm_90"),
        Floor(both(is_("type", "tf32"), is_("rounding", "rn", "rz")), "sm_90"),
        Floor(both(is_("source", "bf16"), written("ftz")), "sm_90"),
        Floor(both(is_("type", "tf32"), is_("rounding", "rn", "rz"), written("satfinite")), "sm_100"),
        Floor(either(TO_SIX, is_("source", *SIXES), is_("type", "ue8m0x2"), is_("source", "ue8m0x2"), both(TO_EIGHT, is_("source", "bf16x2"))), "sm_100f", also=("sm_110f", "sm_120f")),
        Floor(is_("rounding", "rs"), "sm_100a", also=("sm_103a",)),
    ),
    source="PTX ISA 9.7.9.21",
)
# fmt: on


def cvt(q: Mapping[str, str]) -> Contract:
    """The conversion of one value, of two into a pair (the first source in the upper half), of a pair, or of four with random bits."""
    names, target, source = ["a"], q["type"], q["source"]
    pairs = target.endswith("x2") and source == "f32"
    operands = [
        one_register("d", target),
        *(one_register(name, source, number=source == "f32") for name in (["a", "b"] if pairs else names)),
    ]
    if target in FOURS:
        operands[1] = Register("a", bits=32, register=WORD, write=False, dtypes=DTYPES["f32"], atom=(AtomAxis("word", 4),))
        operands[0] = replace(operands[0], atom=ONE)
    if q["rounding"] == "rs":
        operands.append(replace(one_register("rbits", "b32"), dtypes=None, atom=ONE if target in FOURS else None))
    found = replace(form(CVT, q, tuple(operands)), computed=_computed(q, pairs=pairs))
    late = (
        "9.1"
        if target in EIGHTS and source == "bf16x2"
        else "8.7"
        if target in (*FOURS,) or q["rounding"] == "rs"
        else "8.6"
        if found.arch.startswith("sm_100")
        else ""
    )
    return replace(found, isa=late, also=CVT.arch_also(q))


def _computed(q: Mapping[str, str], *, pairs: bool) -> Computed | None:
    """The conversion of every number; None where random bits decide, too."""
    if q["rounding"] == "rs":
        return None
    if not pairs:
        return computed("cvt", q, {"d": q["type"], "a": q["source"]})
    each = BITS[q["type"]] // 2
    results = tuple(Result(bit, each, type_, ((name, 0, q["source"]),)) for (bit, type_), name in zip(parts(q["type"]), "ba", strict=True))
    return Computed("d", "cvt", words(q), results)


FAMILY = Family("conversions", (Entry(CVT, cvt),))
