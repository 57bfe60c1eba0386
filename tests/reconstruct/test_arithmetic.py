"""The exact reference of arithmetic against NumPy, the math library and cases worked out by hand."""

from __future__ import annotations

import math
import random
import struct
from fractions import Fraction

import numpy as np
import pytest

from tests.gpu.register_forms import forms_of, register_document
from tilecheck.document import read_call
from tilecheck.emit import emit_kernel_unchecked
from tilecheck.reconstruct.arena import arena
from tilecheck.reconstruct.arithmetic import answer
from tilecheck.reconstruct.computed import drawn, with_numbers, wrong
from tilecheck.reconstruct.numbers import FORMATS, NAN, Real, bits_of, ends, finite, integer, real, root, rounded
from tilecheck.reconstruct.run import predicted

KINDS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
RAW = {"f16": np.uint16, "f32": np.uint32, "f64": np.uint64}


def single(value: float) -> int:
    return struct.unpack("<I", struct.pack("<f", value))[0]


def random_bits(type_: str, count: int, seed: int) -> list[int]:
    rng = random.Random(seed)
    return [drawn(type_, rng) for _ in range(count)]


# --- numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", KINDS)
def test_bits_are_the_numbers_that_numpy_reads(type_):
    for bits in random_bits(type_, 3000, 1):
        value = float(np.array(bits, dtype=RAW[type_]).view(KINDS[type_]))
        found = real(type_, bits)
        if math.isnan(value):
            assert found.nan
        elif math.isinf(value):
            assert found == Real(int(value < 0), "inf")
        else:
            assert found.value == Fraction(value)
            assert bits_of(type_, found) == bits


@pytest.mark.parametrize(
    ("type_", "largest"), [("e4m3", 448), ("e5m2", 57344), ("e3m2", 28), ("e2m3", 7.5), ("e2m1", 6), ("f16", 65504), ("tf32", None)]
)
def test_the_largest_number_of_a_format(type_, largest):
    form = FORMATS[type_]
    assert largest is None or form.largest == Fraction(largest)
    assert real(type_, bits_of(type_, Real(1, form.largest))).value == -form.largest


@pytest.mark.parametrize("type_", ["f16", "bf16", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1"])
def test_every_number_of_a_small_format_survives_rounding(type_):
    form = FORMATS[type_]
    for bits in range(1 << form.bits):
        number = real(type_, bits)
        if isinstance(number.size, Fraction):
            assert all(rounded(form, number, mode) == number for mode in ("rn", "rna", "rz", "rm", "rp"))
            assert bits_of(type_, number) == bits


@pytest.mark.parametrize("mode", ["rn", "rna", "rz", "rm", "rp"])
def test_a_rounded_number_is_a_neighbour_on_the_right_side(mode):
    form, rng = FORMATS["f16"], random.Random(2)
    for _ in range(500):
        value = Fraction(rng.randint(-(1 << 40), 1 << 40), 1 << rng.randint(26, 60))
        found = rounded(form, finite(value), mode).value
        unit = max(Fraction(2) ** (math.floor(math.log2(abs(found or 1))) - 10), Fraction(2) ** -24)
        assert abs(found - value) <= (unit / 2 if mode in {"rn", "rna"} else unit)
        assert {"rz": abs(found) <= abs(value), "rm": found <= value, "rp": found >= value}.get(mode, True)


def test_ties_go_to_even_or_away():
    half_up = finite(1 + Fraction(3, 1 << 11))
    assert rounded(FORMATS["f16"], half_up, "rn").value == 1 + Fraction(2, 1 << 10)
    assert rounded(FORMATS["f16"], finite(1 + Fraction(1, 1 << 11)), "rn").value == 1
    assert rounded(FORMATS["f16"], finite(1 + Fraction(1, 1 << 11)), "rna").value == 1 + Fraction(1, 1 << 10)


def test_overflow_goes_where_the_mode_goes():
    beyond = finite(Fraction(70000))
    assert [rounded(FORMATS["f16"], beyond, mode).size for mode in ("rn", "rz", "rm", "rp")] == ["inf", 65504, 65504, "inf"]
    assert [rounded(FORMATS["f16"], beyond.negated(), mode).size for mode in ("rm", "rp")] == ["inf", 65504]


def test_roots_round_as_the_math_library_rounds_them():
    rng = random.Random(3)
    for _ in range(500):
        value = rng.random() * 10.0 ** rng.randint(-300, 300)
        found = rounded(FORMATS["f64"], finite(root(Fraction(value), 52)), "rn")
        assert found.value == Fraction(math.sqrt(value))


# --- operators -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", KINDS)
@pytest.mark.parametrize(("operator", "function"), [("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_operators_round_to_nearest_as_numpy_does(type_, operator, function):
    a, b = (np.array(random_bits(type_, 800, seed), dtype=RAW[type_]) for seed in (4, 5))
    found = function(a.view(KINDS[type_]), b.view(KINDS[type_])).view(RAW[type_])
    for x, y, z in zip(a.tolist(), b.tolist(), found.tolist(), strict=True):
        assert answer(f"{operator}.rn", type_, [(type_, x), (type_, y)]).takes(type_, z), (hex(x), hex(y), hex(z))


def test_a_product_is_added_without_rounding_in_between():
    a, c = (1 << 12) + 1, -(1 << 24) - (1 << 13)
    inputs = [("f32", single(float(v))) for v in (a, a, c)]
    assert answer("fma.rn", "f32", inputs).bits == single(1.0)
    assert answer("mul.rn", "f32", inputs[:2]).bits == single(float(a * a - 1))


WORKED = [
    ("add.rm", "f32", (1.0, -1.0), -0.0),
    ("add.rn", "f32", (1.0, -1.0), 0.0),
    ("add.ftz", "f32", (2.0**-140, 2.0**-141), 0.0),
    ("add.sat", "f32", (0.75, 0.75), 1.0),
    ("add.sat", "f32", (-3.0, 1.0), 0.0),
    ("add.sat", "f32", (math.inf, -math.inf), 0.0),
    ("min", "f32", (0.0, -0.0), -0.0),
    ("max", "f32", (-0.0, 0.0), 0.0),
    ("min", "f32", (math.nan, 3.0), 3.0),
    ("min.NaN", "f32", (math.nan, 3.0), math.nan),
    ("max.xorsign.abs", "f32", (-5.0, 3.0), -5.0),
    ("max.xorsign.abs", "f32", (-5.0, -3.0), 5.0),
    ("max.abs", "f32", (-5.0, 3.0, 4.0), 5.0),
    ("sqrt.rn", "f32", (-1.0,), math.nan),
    ("sqrt.rn", "f32", (-0.0,), -0.0),
    ("rcp.rn", "f32", (-0.0,), -math.inf),
    ("rcp.rz", "f32", (3.0,), 0.3333333),
    ("div.rn", "f32", (0.0, 0.0), math.nan),
    ("neg.ftz", "f32", (2.0**-140,), -0.0),
    ("lg2.approx", "f32", (0.0,), -math.inf),
    ("ex2.approx", "f32", (-math.inf,), 0.0),
]


@pytest.mark.parametrize(("by", "type_", "inputs", "value"), WORKED)
def test_special_cases(by, type_, inputs, value):
    found = answer(by, type_, [(type_, single(one)) for one in inputs])
    assert found.takes(type_, single(value))
    assert not found.takes(type_, single(1.5))
    if not math.isnan(value):
        assert not found.takes(type_, single(value) ^ 1 << 31)


@pytest.mark.parametrize(
    ("by", "type_", "inputs", "value"),
    [
        ("add", "s32", ((1 << 31) - 1, 1), -(1 << 31)),
        ("add.sat", "s32", ((1 << 31) - 1, 1), (1 << 31) - 1),
        ("sub", "u16", (0, 1), 65535),
        ("mul.hi", "s32", (-2, 3), -1),
        ("mul.lo", "u64", (1 << 63, 2), 0),
        ("mul.wide", "s32", (-7, 300), -2100),
        ("div", "s16", (-7, 2), -3),
        ("max.relu", "s32", (-7, -2), 0),
        ("min", "s16", (-7, 2), -7),
        ("abs", "s16", (-32768,), -32768),
        ("neg", "s64", (5,), -5),
    ],
)
def test_integers(by, type_, inputs, value):
    kind = "s16" if by == "mul.wide" else type_
    found = answer(by, type_, [(kind, one % (1 << int(kind[1:]))) for one in inputs])
    assert integer(type_, found.bits) == value


def test_what_the_isa_leaves_open_may_be_anything():
    for inputs in ([("s32", 5), ("s32", 0)], [("s32", 1 << 31), ("s32", (1 << 32) - 1)]):
        assert answer("div", "s32", inputs).takes("s32", 12345)


@pytest.mark.parametrize(
    ("by", "to", "source", "value"),
    [
        ("cvt.rni", "s32", ("f32", single(2.5)), 2),
        ("cvt.rpi", "s32", ("f32", single(2.25)), 3),
        ("cvt.rzi", "u8", ("f32", single(-3.0)), 0),
        ("cvt.rzi", "u8", ("f32", single(300.0)), 255),
        ("cvt.rzi", "s32", ("f32", single(math.nan)), 0),
        ("cvt.rzi", "s64", ("f32", single(math.nan)), -(1 << 63)),
        ("cvt.sat", "s8", ("s32", 200), 127),
        ("cvt", "s8", ("s32", 200), -56),
        ("cvt", "u32", ("s16", 65535), (1 << 32) - 1),
    ],
)
def test_conversions_to_integers(by, to, source, value):
    assert integer(to, answer(by, to, [source]).bits) == value


@pytest.mark.parametrize(
    ("by", "to", "source", "value"),
    [
        ("cvt.rn.satfinite", "e4m3", single(1000.0), 448),
        ("cvt.rn.satfinite.relu", "e4m3", single(-3.0), 0),
        ("cvt.rn.satfinite", "e5m2", single(-1e9), -57344),
        ("cvt.rn", "f16", single(1e9), None),
        ("cvt.rz", "f16", single(1e9), 65504),
        ("cvt.rna", "tf32", single(1 + 2.0**-11), 1 + 2.0**-10),
        ("cvt.rni", "f32", single(-2.5), -2),
        ("cvt.rp", "f16", single(2.0**-140), 2.0**-24),
    ],
)
def test_conversions_to_floats(by, to, source, value):
    found = real(to, answer(by, to, [("f32", source)]).bits)
    assert found.infinite if value is None else found.value == Fraction(value)


@pytest.mark.parametrize(("by", "function"), [("ex2.approx", lambda x: 2.0**x), ("lg2.approx", math.log2), ("sqrt.approx", math.sqrt)])
def test_an_approximation_is_right_within_its_bound_and_not_beyond(by, function):
    rng = random.Random(6)
    for _ in range(200):
        x = struct.unpack("<f", struct.pack("<f", rng.uniform(2.5, 60)))[0]
        best = single(function(x))
        found = answer(by, "f32", [("f32", single(x))])
        assert found.takes("f32", best)
        assert not found.takes("f32", best + 9)
        assert not found.takes("f32", best - 9)


# --- the comparison --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "opcode", ["sub.rm.f32", "fma.rn.relu.bf16x2", "mul.wide.s16", "cvt.rn.satfinite.e5m2x2.f32", "cvt.rn.f16x2.e4m3x2", "min.s16x2.relu"]
)
def test_right_results_match_and_a_changed_one_does_not(opcode):
    opcode = {"min.s16x2.relu": "min.relu.s16x2"}.get(opcode, opcode)
    call = read_call(register_document(opcode, forms_of(opcode)[0]))
    kernel, image = emit_kernel_unchecked(call, "sm_90"), predicted(call, {}, 0)
    place = with_numbers(arena(kernel, 0, {}, 0), image, kernel.tensors, 32)
    runs = [place.fill(run) for run in range(4)]
    for content in runs:
        for region in place.regions:
            if region.role == "before":
                after = place.region("after", region.name)
                content[after.at : after.end] = content[region.at : region.end]
    first, computed, _ = wrong(place, image, kernel.tensors, 32, runs)
    assert len(first) > computed // 3
    _repair(place, image, runs)
    assert wrong(place, image, kernel.tensors, 32, runs)[0] == []
    at = place.region("after", "D").at + 9 * place.region("after", "D").slot_bytes
    runs[1][at] ^= 4
    assert wrong(place, image, kernel.tensors, 32, runs)[0] in ([at], [])  # a NaN may be any


def _repair(place, image, runs):
    """Puts the right results where they belong."""
    for run, content in enumerate(runs):
        before = place.fill(run)
        for row in image.registers:
            target = place.region("after", row[0])
            at = target.at + row[3] * target.size + row[4] * target.slot_bytes
            word = int.from_bytes(content[at : at + target.slot_bytes].tobytes(), "little")
            for entry in row[7]["entries"]:
                inputs = []
                for type_, (label, where, bit) in entry["of"]:
                    source = place.region("before", label)
                    start = source.at + where[2] * source.size + where[3] * source.slot_bytes
                    inputs.append((type_, int.from_bytes(before[start : start + source.slot_bytes].tobytes(), "little") >> bit))
                inputs = [(type_, bits % (1 << (8 if type_[0] == "e" else int(type_.lstrip("bfsu"))))) for type_, bits in inputs]
                mask = (1 << entry["bits"]) - 1
                word = word & ~(mask << entry["bit"]) | answer(row[7]["by"], entry["type"], inputs).bits << entry["bit"]
            content[at : at + target.slot_bytes] = np.frombuffer(word.to_bytes(target.slot_bytes, "little"), dtype=np.uint8)


@pytest.mark.parametrize("type_", ["f16", "bf16", "f32", "f64", "e4m3", "s16", "u32", "b64"])
def test_drawn_numbers_are_of_every_kind(type_):
    found = set(random_bits(type_, 400, 7))
    assert len(found) > 60
    if type_ in KINDS:
        numbers = [real(type_, bits) for bits in found]
        assert any(one.nan for one in numbers)
        assert any(one.infinite for one in numbers)
        assert any(one.zero for one in numbers)
    elif type_[0] in "su":
        assert {bits for bits in found if integer(type_, bits) in ends(type_)}


def test_nothing_is_no_number_but_nan():
    assert NAN.nan
    assert bits_of("f16", NAN) == 0x7FFF
