"""Instructions from registers to a register: moves, arithmetic, minimum and maximum.

Each thread computes on its own. An operand ends in the registers that one instruction names for it, one for everything but packs and unpacks: the suffix
is (1,). Packed types are words of raw bits (`f16x2`, `bf16x2`, `u16x2`) or double words (`f32x2`); nothing is packed for the caller. A
source may be a number. Sources: PTX ISA 9.7.1 (integers), 9.7.3 to 9.7.5 (floats), 9.7.9.3 (mov), 9.7.9.4 (packs).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tilecheck.spec import (
    AtomAxis,
    Computed,
    Contract,
    Entry,
    Exclusion,
    Family,
    Floor,
    Grammar,
    Move,
    Parameter,
    Register,
    Result,
    Slot,
    both,
    either,
    is_,
    other_than,
    written,
)
from tilecheck.symbolic import var

WORD, PART = var("word"), var("part")
ONE = (AtomAxis("word", 1),)
ROUNDINGS = ("rn", "rz", "rm", "rp")
TO_INTEGER = ("rni", "rzi", "rmi", "rpi")
INTEGERS = ("u16", "u32", "u64", "s16", "s32", "s64")
HALVES = ("f16", "f16x2", "bf16", "bf16x2")
BITS = {
    "f16": 16,
    "bf16": 16,
    "f16x2": 32,
    "bf16x2": 32,
    "f32x2": 64,
    "u16x2": 32,
    "s16x2": 32,
    "pred": 1,
    "tf32": 32,
    "e4m3x2": 16,
    "e5m2x2": 16,
    "e2m3x2": 16,
    "e3m2x2": 16,
    "ue8m0x2": 16,
    "e2m1x2": 8,
    "e4m3x4": 32,
    "e5m2x4": 32,
    "e2m3x4": 32,
    "e3m2x4": 32,
    "e2m1x4": 16,
    **{f"{kind}{bits}": bits for kind in "bus" for bits in (8, 16, 32, 64, 128)},
    "f32": 32,
    "f64": 64,
}
"""The bits of a register of each type."""
DTYPES = {
    "f16": ("float16", "bits16"),
    "bf16": ("bfloat16", "bits16"),
    "f32": ("float32", "bits32"),
    "f64": ("float64", "bits64"),
    **{f"{kind}{bits}": (f"int{bits}", f"uint{bits}", f"bits{bits}") for kind in "us" for bits in (8, 16, 32, 64)},
}
"""The containers of each type; a packed type is taken in any of its width, as mov takes every operand. Integers of one size are one type to PTX."""
Allowed = Mapping[str, Mapping[str, tuple[str, ...]]]
"""By type, what each slot may hold ("" for nothing); a slot that is not named holds nothing."""


def _rules(allowed: Allowed, slots: tuple[Slot, ...], kind: str = "type") -> tuple[Exclusion, ...]:
    """What no type takes, as exclusions: types with the same qualifiers together."""
    found: list[Exclusion] = []
    for slot in slots:
        by_values: dict[tuple[str, ...], list[str]] = {}
        for type_, takes in allowed.items():
            by_values.setdefault(takes.get(slot.name, ("",)), []).append(type_)
        for values, types in by_values.items():
            takes = " or ".join(f".{value}" for value in values if value) or "nothing"
            when = both(is_(kind, *types), other_than(is_(slot.name, *values)))
            optional = " there" if "" not in values else " at most there"
            found.append(Exclusion(when, slot.name, f"{', '.join('.' + t for t in types)} takes {takes}{optional}"))
    return tuple(found)


def _grammar(
    mnemonic: str,
    slots: tuple[Slot, ...],
    allowed: Allowed,
    floors: tuple[Floor, ...],
    source: str,
    late: tuple[Slot, ...] = (),
    rules: tuple[Exclusion, ...] = (),
) -> Grammar:
    own = (*slots, Slot("type", tuple(allowed), required=True), *late)
    return Grammar(mnemonic, own, (*_rules(allowed, (*slots, *late)), *rules), (Floor(both(), "sm_75"), *floors), source)


def flag(name: str) -> Slot:
    """A qualifier that is written or not."""
    return Slot(name, (name,))


def _may(*values: str) -> tuple[str, ...]:
    return ("", *values)


RND, FTZ, SAT, RELU = Slot("rounding", ROUNDINGS), flag("ftz"), flag("sat"), flag("relu")
MIXED = Slot("mixed", ("f16", "bf16"))
"""The type of the sources that are added or multiplied, where it is not that of the result."""
PLAIN: Mapping[str, tuple[str, ...]] = {}
FLOATS: Allowed = {
    "f32": {"rounding": _may(*ROUNDINGS), "ftz": _may("ftz"), "sat": _may("sat"), "mixed": _may("f16", "bf16")},
    "f64": {"rounding": _may(*ROUNDINGS)},
    **{key: {"rounding": _may("rn"), "ftz": _may("ftz"), "sat": _may("sat")} for key in ("f16", "f16x2")},
    **{key: {"rounding": _may("rn")} for key in ("bf16", "bf16x2")},
    "f32x2": {"rounding": _may(*ROUNDINGS), "ftz": _may("ftz")},
}
SUMS: Allowed = {**dict.fromkeys(INTEGERS, PLAIN), "s32": {"sat": _may("sat")}, **FLOATS}
PAIRS = is_("type", "u16x2", "s16x2")
OF_BF16 = is_("type", "bf16", "bf16x2")
LATE = Floor(either(is_("type", "f32x2"), written("mixed")), "sm_100")
NO_FTZ = (Exclusion(both(written("mixed"), written("ftz")), "ftz", "mixed precision takes no .ftz"),)
ADD = _grammar(
    "add",
    (RND, FTZ, SAT),
    {**SUMS, "u16x2": PLAIN, "s16x2": PLAIN},
    (Floor(either(OF_BF16, PAIRS), "sm_90"), LATE),
    "PTX ISA 9.7.1.1, 9.7.3.3, 9.7.4.1",
    (MIXED,),
    NO_FTZ,
)
SUB = _grammar("sub", (RND, FTZ, SAT), SUMS, (Floor(OF_BF16, "sm_90"), LATE), "PTX ISA 9.7.1.2, 9.7.3.4, 9.7.4.2", (MIXED,), NO_FTZ)
MUL = _grammar(
    "mul",
    (Slot("half", ("lo", "hi", "wide")), RND, FTZ, SAT),
    {
        **{key: {"half": ("lo", "hi", "wide")} for key in ("u16", "u32", "s16", "s32")},
        **{key: {"half": ("lo", "hi")} for key in ("u64", "s64")},
        **{type_: {slot: values for slot, values in takes.items() if slot != "mixed"} for type_, takes in FLOATS.items()},
    },
    (Floor(OF_BF16, "sm_90"), Floor(is_("type", "f32x2"), "sm_100")),
    "PTX ISA 9.7.1.3, 9.7.3.5, 9.7.4.3",
)
FUSED = {"ftz": _may("ftz"), "sat": _may("sat"), "oob": _may("oob"), "relu": _may("relu")}
FMA = _grammar(
    "fma",
    (RND, FTZ, SAT, flag("oob"), RELU),
    {
        "f32": {"rounding": ROUNDINGS, "ftz": _may("ftz"), "sat": _may("sat"), "mixed": _may("f16", "bf16")},
        "f64": {"rounding": ROUNDINGS},
        **{key: {"rounding": ("rn",), **FUSED} for key in ("f16", "f16x2")},
        **{key: {"rounding": ("rn",), "oob": _may("oob"), "relu": _may("relu")} for key in ("bf16", "bf16x2")},
        "f32x2": {"rounding": ROUNDINGS, "ftz": _may("ftz")},
    },
    (Floor(either(OF_BF16, written("relu")), "sm_80"), Floor(written("oob"), "sm_90"), LATE),
    "PTX ISA 9.7.3.6, 9.7.4.4",
    (MIXED,),
    (
        *NO_FTZ,
        Exclusion(both(written("sat"), written("relu")), "relu", ".relu and .sat exclude each other"),
        Exclusion(both(written("oob"), either(written("ftz"), written("sat"))), "oob", ".oob takes neither .ftz nor .sat"),
    ),
)
APPROXIMATE = Slot("mode", ("approx", "full"))


def _one_of(slots: str, types: tuple[str, ...] = ("f32",)) -> tuple[Exclusion, ...]:
    either_way = f"an approximation or a rounding is written ({slots})"
    return (
        Exclusion(both(is_("type", *types), is_("mode", ""), is_("rounding", "")), "rounding", either_way),
        Exclusion(both(written("mode"), written("rounding")), "rounding", either_way),
    )


DIV = _grammar(
    "div",
    (APPROXIMATE, RND, FTZ),
    {
        **dict.fromkeys(INTEGERS, PLAIN),
        "f32": {"mode": _may("approx", "full"), "rounding": _may(*ROUNDINGS), "ftz": _may("ftz")},
        "f64": {"rounding": ROUNDINGS},
    },
    (),
    "PTX ISA 9.7.1.8, 9.7.3.8",
    rules=_one_of(".approx, .full, .rn, .rz, .rm, .rp"),
)
ROOTS: Allowed = {"f32": {"mode": _may("approx"), "rounding": _may(*ROUNDINGS), "ftz": _may("ftz")}, "f64": {"rounding": ROUNDINGS}}
APPROX = Slot("mode", ("approx",))
SQRT = _grammar("sqrt", (APPROX, RND, FTZ), ROOTS, (), "PTX ISA 9.7.3.15", rules=_one_of(".approx, .rn, .rz, .rm, .rp"))
RCP = _grammar(
    "rcp",
    (APPROX, RND, FTZ),
    {**ROOTS, "f64": {"mode": _may("approx"), "rounding": _may(*ROUNDINGS), "ftz": _may("ftz")}},
    (),
    "PTX ISA 9.7.3.13, 9.7.3.14",
    rules=(
        *_one_of(".approx, .rn, .rz, .rm, .rp", ("f32", "f64")),
        Exclusion(both(is_("type", "f64"), is_("mode", "approx"), is_("ftz", "")), "ftz", "the approximation of .f64 is .approx.ftz"),
        Exclusion(both(is_("type", "f64"), is_("mode", ""), written("ftz")), "ftz", "with .f64 only the approximation takes .ftz"),
    ),
)
EX2 = _grammar(
    "ex2",
    (APPROX, FTZ),
    {
        "f32": {"mode": ("approx",), "ftz": _may("ftz")},
        **{key: {"mode": ("approx",)} for key in ("f16", "f16x2")},
        **{key: {"mode": ("approx",), "ftz": ("ftz",)} for key in ("bf16", "bf16x2")},
    },
    (Floor(OF_BF16, "sm_90"),),
    "PTX ISA 9.7.3.21, 9.7.4.10",
)
LG2 = _grammar("lg2", (APPROX, FTZ), {"f32": {"mode": ("approx",), "ftz": _may("ftz")}}, (), "PTX ISA 9.7.3.20")
SIGNS: Allowed = {
    **dict.fromkeys(("s16", "s32", "s64", "f64", "bf16", "bf16x2"), PLAIN),
    **{key: {"ftz": _may("ftz")} for key in ("f32", "f16", "f16x2")},
}
ABS = _grammar("abs", (FTZ,), SIGNS, (Floor(OF_BF16, "sm_80"),), "PTX ISA 9.7.1.10, 9.7.3.9, 9.7.4.6")
NEG = _grammar("neg", (FTZ,), SIGNS, (Floor(OF_BF16, "sm_80"),), "PTX ISA 9.7.1.11, 9.7.3.10, 9.7.4.5")
CHOSEN = {"NaN": _may("NaN"), "xorsign": _may("xorsign"), "abs": _may("abs")}
CHOICES: Allowed = {
    **dict.fromkeys((*INTEGERS, "u16x2", "f64"), PLAIN),
    **{key: {"relu": _may("relu")} for key in ("s32", "s16x2")},
    **{key: {"ftz": _may("ftz"), **CHOSEN} for key in ("f32", "f16", "f16x2")},
    **dict.fromkeys(("bf16", "bf16x2"), CHOSEN),
}
SIGNED = (
    Exclusion(both(written("xorsign"), is_("abs", "")), "abs", ".xorsign needs .abs"),
    Exclusion(
        both(written("abs"), is_("xorsign", ""), other_than(is_("type", "f32"))),
        "abs",
        ".abs without .xorsign belongs to three inputs of .f32",
    ),
)
OF_HALVES = is_("type", *HALVES)


def _choice(mnemonic: str, source: str) -> Grammar:
    slots = (RELU, FTZ, flag("NaN"), flag("xorsign"), flag("abs"))
    three = Floor(both(written("abs"), is_("xorsign", "")), "sm_100")
    floors = (
        Floor(either(OF_HALVES, written("NaN")), "sm_80"),
        Floor(written("xorsign"), "sm_86"),
        Floor(either(PAIRS, written("relu")), "sm_90"),
        three,
    )
    return _grammar(mnemonic, slots, CHOICES, floors, source, rules=SIGNED)


MIN, MAX = _choice("min", "PTX ISA 9.7.1.12, 9.7.3.11, 9.7.4.7"), _choice("max", "PTX ISA 9.7.1.13, 9.7.3.12, 9.7.4.8")
MOV = _grammar(
    "mov", (), dict.fromkeys(("b16", "b32", "b64", "b128", *INTEGERS, "f32", "f64", "pred"), PLAIN), (), "PTX ISA 9.7.9.3, 9.7.9.4"
)


def parts(type_: str) -> tuple[tuple[int, str], ...]:
    """(lowest bit, type) of every number in a register of a type, the lowest first."""
    single, _, count = type_.partition("x")
    each = BITS[type_] // int(count or 1)
    return tuple((each * k, single) for k in range(int(count or 1)))


MODIFIERS = ("half", "rounding", "mode", "ftz", "sat", "satfinite", "oob", "relu", "late", "NaN", "xorsign", "abs")
"""The slots that say how a result is computed."""


def words(q: Mapping[str, str]) -> tuple[str, ...]:
    """What is written of them."""
    return tuple(q[slot] for slot in MODIFIERS if q.get(slot))


def computed(operator: str, q: Mapping[str, str], types: Mapping[str, str]) -> Computed:
    """An operator applied to every number of a register. types: of the registers by operand, the destination first."""
    dst, *sources = types
    every = {name: parts(type_) for name, type_ in types.items()}
    each = BITS[types[dst]] // len(every[dst])
    results = tuple(
        Result(bit, each, type_, tuple((name, *every[name][k]) for name in sources)) for k, (bit, type_) in enumerate(every[dst])
    )
    return Computed(dst, operator, words(q), results)


def one_register(name: str, type_: str, *, number: bool = True, any_type: bool = False) -> Register:
    """One register of a type."""
    bits, write = BITS[type_], name == "d"
    raw = type_ not in DTYPES
    kind = f"b{bits}" if raw and bits > 8 else type_
    dtypes = None if any_type or raw else DTYPES[type_]
    return Register(
        name,
        bits=bits,
        register=0 * WORD,
        write=write,
        dtypes=dtypes,
        number="" if write or not number or bits not in {16, 32, 64} else kind,
        ptx=".b8" if type_ == "e2m1x2" else "",
    )


def form(grammar: Grammar, q: Mapping[str, str], operands: tuple[Register, ...], move: Move | None = None) -> Contract:
    """The contract of an instruction that each thread executes on its own registers."""
    names = ", ".join(f"{{{operand.name}}}" for operand in operands)
    return Contract(
        opcode=grammar.spell(q),
        mnemonic=grammar.mnemonic,
        arch=grammar.arch_floor(q),
        source=grammar.source,
        collective="thread",
        atom=ONE,
        operands=operands,
        parameters=(Parameter("pred", "predicate"), Parameter("preserve_dst", "flag", needs="pred")),
        move=move or Move("", "", source=()),
        issue=f"{{opcode}} {names};",
        qualifiers=q,
        also=grammar.arch_also(q),
        isa="8.6" if q.get("type") == "f32x2" or q.get("mixed") else "",
    )


def _of(grammar: Grammar, names: str) -> Callable[[Mapping[str, str]], Contract]:
    """The contract of an instruction whose operands are of one type; with a mixed type all but the result and the last operand are of that."""

    def contract(q: Mapping[str, str]) -> Contract:
        types = dict.fromkeys(names, q["type"])
        if q.get("mixed"):
            types |= dict.fromkeys(names[1:-1], q["mixed"])
        if q.get("half") == "wide":
            types["d"] = f"{q['type'][0]}{2 * BITS[q['type']]}"
        operands = tuple(one_register(name, type_) for name, type_ in types.items())
        return replace(form(grammar, q, operands), computed=computed(grammar.mnemonic, q, types))

    return contract


def choice(grammar: Grammar) -> Callable[[Mapping[str, str]], Contract]:
    """The lesser or greater of two; of three from sm_100 on."""

    def contract(q: Mapping[str, str]) -> Contract:
        two, three = (
            replace(
                form(grammar, q, tuple(one_register(name, q["type"]) for name in names)),
                computed=computed(grammar.mnemonic, q, dict.fromkeys(names, q["type"])),
            )
            for names in ("dab", "dabc")
        )
        three = replace(three, arch="sm_100", isa="8.8")
        if q["type"] != "f32" or q["xorsign"]:
            return two
        return three if q["abs"] else replace(two, variants=(three,))

    return contract


def mov(q: Mapping[str, str]) -> Contract:
    """The copy of a register; a register of .b32, .b64 or .b128 from its parts, the first in the lowest bits, or into them."""
    bits, sides = BITS[q["type"]], tuple(one_register(name, q["type"], any_type=True) for name in "da")
    one = Computed("d", "mov", (), (Result(0, bits, q["type"], (("a", 0, q["type"]),)),))
    whole = replace(form(MOV, q, sides, Move("d", "a", source=(WORD,))), computed=one)
    counts = [count for count in (2, 4) if q["type"] in {"b32", "b64", "b128"} and bits // count in {16, 32, 64}]
    return replace(whole, variants=tuple(one for count in counts for one in (_pack(whole, bits, count), _unpack(whole, bits, count))))


def _pieces(name: str, bits: int, count: int) -> Register:
    return Register(name, bits=bits // count, register=WORD, write=name == "d", atom=(AtomAxis("word", count),))


def _pack(whole: Contract, bits: int, count: int) -> Contract:
    operands = (replace(whole.operands[0], atom=ONE), _pieces("a", bits, count))
    assert isinstance(operands[0], Register)
    move = Move("d", "a", source=(PART, 0), parts=(AtomAxis("part", count),))
    return replace(whole, operands=operands, move=move, issue="{opcode} {d}, {a};", variants=(), computed=None)


def _unpack(whole: Contract, bits: int, count: int) -> Contract:
    operands = (_pieces("d", bits, count), replace(whole.operands[1], atom=ONE, number=""))
    move = Move("d", "a", source=(0, WORD), parts=(AtomAxis("part", 1),))
    return replace(whole, operands=operands, move=move, issue="{opcode} {d}, {a};", variants=(), computed=None)


def _entries() -> tuple[Entry, ...]:
    shapes = {"dab": (ADD, SUB, MUL, DIV), "dabc": (FMA,), "da": (SQRT, RCP, EX2, LG2, ABS, NEG)}
    plain = tuple(Entry(grammar, _of(grammar, names)) for names, grammars in shapes.items() for grammar in grammars)
    return (*plain, Entry(MIN, choice(MIN)), Entry(MAX, choice(MAX)), Entry(MOV, mov))


FAMILY = Family("registers", _entries())
