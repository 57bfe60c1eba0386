"""Scalar compositions: a typed scalar function of the caller, applied to every element of registers.

The atom is one scalar element: views end in no suffix, every coordinate behind the group axes selects one application of the function. Each thread computes
its own elements, in row-major order of the repeat axes: it reads the inputs of an element, then writes its destination. Nothing is staged, synchronised or
packed. An input may be a number, which stands there for all elements; a tensor is broadcast only by a view that says so. Elements have exactly the types that
the function's parameters and result have. Sources: SPEC "Scalar compositions"; PTX ISA 9.7.1 to 9.7.6, 9.7.8, 9.7.9.21 (cvt).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilecheck.spec import Composition, Contract, Definition, Entry, Family, Floor, Grammar, Instruction, Move, Parameter, both

EWISE = Grammar(
    "ewise",
    slots=(),
    exclusions=(),
    floors=(Floor(both(), "sm_75"),),
    source="PTX ISA 9.7.1 to 9.7.6, 9.7.8, 9.7.9.21 (scalar compositions)",
)
FLOATS = {"float16": ("f16", 16), "bfloat16": ("bf16", 16), "float32": ("f32", 32), "float64": ("f64", 64)}
INTEGERS = {f"{kind}{bits}": (f"{letter}{bits}", bits) for kind, letter in (("int", "s"), ("uint", "u")) for bits in (8, 16, 32, 64)}
TYPES = {**FLOATS, **INTEGERS}
"""The PTX type and the bits of each type."""
WIDE = {name: value for name, value in INTEGERS.items() if value[1] > 8}
"""The integers that PTX computes with; those of 8 bits are only converted and chosen."""
SOME_FLOATS = ("float16", "bfloat16")
ONE = {"float16": "0x3C00", "bfloat16": "0x3F80", "float32": "0x3F800000", "float64": "0x3FF0000000000000"}
LETTER = {16: "h", 32: "r", 64: "l"}


def _same(op: str, type_: str, statement: str, count: int = 2, arch: str = "", **error: str) -> Instruction:
    """An operation whose arguments and result have one type."""
    return Instruction(op, (type_,) * count, type_, (f"{statement} {', '.join(('$d', '$a', '$b', '$c')[: count + 1])};",), arch, **error)


def _floats() -> Iterator[Instruction]:
    """Sums and products are written .rn, so that ptxas fuses none of them."""
    for type_, (t, _) in FLOATS.items():
        late, middle = ("sm_90", "sm_80") if type_ == "bfloat16" else ("", "")
        half = "sm_80" if type_ in SOME_FLOATS else ""
        yield from (_same(op, type_, f"{op}.rn.{t}", arch=late) for op in ("add", "sub", "mul"))
        yield _same("fma", type_, f"fma.rn.{t}", 3, middle)
        yield from (_same(op, type_, f"{op}.{t}", 1, middle) for op in ("neg", "abs"))
        yield from (_same(op, type_, f"{op}.{t}", arch=half) for op in ("min", "max"))
        if type_ not in SOME_FLOATS:
            yield _same("div", type_, f"div.rn.{t}")
            yield _same("sqrt", type_, f"sqrt.rn.{t}", 1)
        if type_ != "bfloat16":
            modes = {"floor": "rmi", "ceil": "rpi", "trunc": "rzi", "round": "rni"}
            yield from (_same(op, type_, f"cvt.{mode}.{t}.{t}", 1) for op, mode in modes.items())
    yield from _approximations()


def _approximations() -> Iterator[Instruction]:
    """Errors: PTX ISA 9.7.3.17 (rsqrt), 9.7.3.20 to 22 and 9.7.4.9, 10; ex2 and rsqrt of f32 as the CUDA C++ Programming Guide bounds them, 2 ulp."""
    yield _same("exp2", "float32", "ex2.approx.f32", 1, relative="2^-22")
    yield _same("exp2", "float16", "ex2.approx.f16", 1, relative="2^-9.9")
    yield _same("exp2", "bfloat16", "ex2.approx.ftz.bf16", 1, "sm_90", relative="2^-7", absolute="2^-126")
    yield _same("log2", "float32", "lg2.approx.f32", 1, relative="2^-22", absolute="2^-22")
    yield _same("rsqrt", "float32", "rsqrt.approx.f32", 1, relative="2^-22")
    yield _same("tanh", "float32", "tanh.approx.f32", 1, relative="2^-11")
    yield _same("tanh", "float16", "tanh.approx.f16", 1, absolute="2^-10.987")
    yield _same("tanh", "bfloat16", "tanh.approx.bf16", 1, "sm_90", absolute="2^-8")


def _integers() -> Iterator[Instruction]:
    """Integers wrap. Shifts clamp: an amount beyond the width shifts everything out; it is read as an unsigned number."""
    for type_, (t, bits) in WIDE.items():
        signed = t[0] == "s"
        yield from (_same(op, type_, f"{op}.{t}") for op in ("add", "sub"))
        yield _same("mul", type_, f"mul.lo.{t}")
        yield _same("mulhi", type_, f"mul.hi.{t}")
        yield from (_same(op, type_, f"{op}.{t}") for op in ("min", "max"))
        yield _same("neg", type_, f"neg.s{bits}", 1)
        yield _same("inv", type_, f"not.b{bits}", 1)
        yield from (_same(op, type_, f"{op}.b{bits}") for op in ("and", "or", "xor"))
        yield from (_same(op, type_, f"{name}.{t}") for op, name in (("tdiv", "div"), ("tmod", "rem")))
        if signed:
            yield _same("abs", type_, f"abs.{t}", 1)
        else:
            yield from (_same(op, type_, f"{name}.{t}") for op, name in (("floordiv", "div"), ("mod", "rem")))
        yield from _shifts(type_, t, bits)
        if bits > 16:
            yield _same("brev", type_, f"brev.b{bits}", 1)
            yield from (_counted(op, type_, bits) for op in ("popc", "clz"))


def _shifts(type_: str, t: str, bits: int) -> Iterator[Instruction]:
    amount = {16: ("cvt.u32.u16 $r0, $b;",), 32: (), 64: ("min.u64 $l0, $b, 64;", "cvt.u32.u64 $r0, $l0;")}[bits]
    by = "$r0" if amount else "$b"
    yield Instruction("shl", (type_, type_), type_, (*amount, f"shl.b{bits} $d, $a, {by};"))
    yield Instruction("shr", (type_, type_), type_, (*amount, f"shr.{t} $d, $a, {by};"))


def _counted(op: str, type_: str, bits: int) -> Instruction:
    statements = (f"{op}.b32 $d, $a;",) if bits == 32 else (f"{op}.b64 $r0, $a;", "cvt.u64.u32 $d, $r0;")
    return Instruction(op, (type_,), type_, statements)


def _conditions() -> Iterator[Instruction]:
    """Comparisons of floats are false for NaN, but `!=`."""
    for type_, (t, _) in {**FLOATS, **WIDE}.items():
        unequal = "neu" if type_ in FLOATS else "ne"
        for op, name in (("eq", "eq"), ("ne", unequal), ("lt", "lt"), ("le", "le")):
            arch = "sm_90" if type_ == "bfloat16" else ""
            yield Instruction(op, (type_, type_), "bool", (f"setp.{name}.{t} $d, $a, $b;",), arch)
    yield Instruction("both", ("bool", "bool"), "bool", ("and.pred $d, $a, $b;",))
    yield Instruction("either", ("bool", "bool"), "bool", ("or.pred $d, $a, $b;",))
    yield Instruction("not", ("bool",), "bool", ("not.pred $d, $a;",))
    chosen = ("and.pred $p0, $a, $b;", "not.pred $p1, $a;", "and.pred $p1, $p1, $c;", "or.pred $d, $p0, $p1;")
    yield Instruction("select", ("bool", "bool", "bool"), "bool", chosen)
    for type_, (_, bits) in TYPES.items():
        yield Instruction("select", ("bool", type_, type_), type_, (f"selp.b{max(bits, 16)} $d, $b, $c, $a;",))
        one = ONE.get(type_, "1")
        yield Instruction("cast", ("bool",), type_, (f"selp.b{max(bits, 16)} $d, {one}, 0, $a;",))


def _casts() -> Iterator[Instruction]:
    """To an integer towards zero, clamped to its range; to a float to nearest even; integers modulo their width."""
    for from_, (f, size) in TYPES.items():
        for to, (t, bits) in TYPES.items():
            if from_ == to:
                continue
            if size == bits:
                yield Instruction("as", (from_,), to, (f"mov.b{max(bits, 16)} $d, $a;",))
            rounding = "" if from_ in INTEGERS and to in INTEGERS else ".rzi" if to in INTEGERS else ".rn"
            if from_ in FLOATS and to in FLOATS and bits > size:
                rounding = ""
            brief = {from_, to} & {"float32", "int8", "uint8"}
            arch = "" if "bfloat16" not in {from_, to} else "sm_80" if brief else "sm_90"
            yield Instruction("cast", (from_,), to, _converted(f, t, rounding, small=min(size, bits) == 8), arch)


def _converted(from_: str, to: str, rounding: str, *, small: bool) -> tuple[str, ...]:
    """PTX converts no integer of 8 bits from or to bf16; by f32, which holds both, it is exact."""
    if small and from_ == "bf16":
        return ("cvt.f32.bf16 $r0, $a;", f"cvt.rzi.{to}.f32 $d, $r0;")
    if small and to == "bf16":
        return (f"cvt.rn.f32.{from_} $r0, $a;", "cvt.rn.bf16.f32 $d, $r0;")
    return (f"cvt{rounding}.{to}.{from_} $d, $a;",)


def _definitions() -> Iterator[Definition]:
    """exp and log by their base-two instructions; quotients that round down by those that truncate; 16-bit floats by float32, which rounds the same."""
    yield Definition("exp", "float32", "exp2(a * 1.4426950408889634)")
    yield Definition("log", "float32", "log2(a) * 0.6931471805599453")
    for type_ in SOME_FLOATS:
        yield Definition("div", type_, f"{type_}(float32(a) / float32(b))")
        yield Definition("sqrt", type_, f"{type_}(sqrt(float32(a)))")
    for type_ in (name for name, (t, _) in WIDE.items() if t[0] == "s"):
        rest = "let r = a - q * b in select(r != 0 and (r ^ b) < 0"
        yield Definition("floordiv", type_, f"let q = tdiv(a, b) in {rest}, q - 1, q)")
        yield Definition("mod", type_, f"let q = tdiv(a, b) in {rest}, r + b, r)")


COMPOSITION = Composition("dst", (*_floats(), *_integers(), *_conditions(), *_casts()), tuple(_definitions()))


def ewise(q: Mapping[str, str]) -> Contract:
    """The composition without a function: a call's function says which operands there are and what is issued for each element."""
    return Contract(
        opcode=EWISE.spell(q),
        mnemonic="ewise",
        arch=EWISE.arch_floor(q),
        source=EWISE.source,
        collective="thread",
        atom=(),
        operands=(),
        parameters=(Parameter("pred", "predicate"), Parameter("preserve_dst", "flag", needs="pred")),
        move=Move("", "", source=()),
        issue="the statements of the function",
        qualifiers=q,
        scalar=COMPOSITION,
    )


FAMILY = Family("ewise", (Entry(EWISE, ewise),))
