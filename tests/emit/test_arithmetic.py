"""Terms as PTX: simplification, constants, and a differential test of the written lines against `terms.evaluate`."""

from __future__ import annotations

import random
import re

import pytest

from tests.gpu.arithmetic import NAMES, RANGES, inside, problems, random_term, samples
from tilecheck.emit import EmissionError
from tilecheck.emit.arithmetic import Arithmetic, exact_quotient, fits_64_bits, immediate, simplified
from tilecheck.symbolic import parse, terms
from tilecheck.symbolic.terms import evaluate, trunc_div, var

WORD = 1 << 64


def signed(value: int) -> int:
    return (value + (WORD >> 1)) % WORD - (WORD >> 1)


class Machine:
    """Straight-line PTX on 64-bit registers, written from the ISA and not from the emitter."""

    def __init__(self, registers: dict[str, int]) -> None:
        self.registers = dict(registers)

    def value(self, operand: str) -> int:
        return self.registers[operand] if operand.startswith("%") else signed(int(operand, 0))

    def step(self, line: str) -> None:
        name, _, rest = line.rstrip(";").partition(" ")
        target, *sources = [part.strip() for part in rest.split(",")]
        args = [self.value(one) for one in sources]
        self.registers[target] = self.result(name, args)

    def result(self, name: str, args: list[int]) -> int:
        op, *kinds = name.split(".")
        a, b = (*args, 0)[:2]
        if op == "setp":
            return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[kinds[0]]
        if op == "selp":
            return a if args[2] else b
        if kinds[-1] == "pred":
            return {"and": a and b, "or": a or b, "not": not a}[op]
        if op == "div":
            return signed(trunc_div(a, b)) if b else 0xDEAD
        if op == "cvt":
            return a % (1 << 32)
        if op in {"shl", "shr"}:
            amount = min(b % (1 << 32), 64)
            return signed(a << amount) if op == "shl" else (a % WORD >> amount if kinds[0] == "u64" else a >> amount)
        results = {"mov": a, "neg": -a, "add": a + b, "sub": a - b, "mul": a * b, "and": a & b, "or": a | b, "xor": a ^ b}
        return signed(results[op] if op in results else min(a, b) if op == "min" else max(a, b))


def test_written_lines_compute_what_terms_evaluate_to():
    checked = 0
    for term in problems(seed=7, count=300):
        arithmetic = Arithmetic({name: f"%{name}" for name in NAMES}, RANGES)
        register = arithmetic.register(term)
        for point in samples(seed=3, count=40):
            wanted = inside(term, point)
            if wanted is None:
                continue
            machine = Machine({f"%{name}": value for name, value in point.items()})
            for line in arithmetic.lines:
                machine.step(line)
            assert machine.value(register) == wanted, f"{term} at {point}:\n" + "\n".join(arithmetic.lines)
            checked += 1
    assert checked > 10_000


def test_simplification_keeps_the_value_of_every_term_in_range():
    rng = random.Random(5)
    for _ in range(500):
        term = random_term(rng, 4)
        short = simplified(term, RANGES)
        for point in samples(seed=1, count=30):
            if inside(term, point) is not None:
                assert evaluate(short, point) == evaluate(term, point), f"{term} became {short}"


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("laneid % 32", "laneid"),
        ("laneid // 32", "0"),
        ("max(laneid, -4)", "laneid"),
        ("min(n, 100) % 128", "n"),
        ("select(laneid < 32, n, 7)", "n"),
    ],
)
def test_ranges_decide_what_they_can(text, short):
    assert simplified(parse(text), {"laneid": (0, 31), "n": (0, 90)}) == parse(short)


def test_a_common_subterm_is_computed_once():
    arithmetic = Arithmetic({"n": "%n", "laneid": "%l"}, {})
    for offset in (0, 16, 48):
        assert arithmetic.address(terms.add(parse("laneid * 12"), parse("n * n"), offset)).startswith("%tc_s")
    assert len(arithmetic.lines) == 3


def test_a_constant_part_becomes_the_offset_where_it_fits_32_bits():
    arithmetic = Arithmetic({"n": "%n"}, {})
    assert arithmetic.address(parse("n - 8")) == "%n+-8"
    assert arithmetic.address(terms.add(var("n"), 1 << 31)) == "%tc_s0"


def test_division_by_a_power_of_two_needs_no_division():
    arithmetic = Arithmetic({"n": "%n"}, {})
    arithmetic.register(parse("n // 8 * 8 + n % 8"))
    assert not any(line.startswith("div") for line in arithmetic.lines)


def test_division_of_a_non_negative_number_is_not_corrected():
    arithmetic = Arithmetic({"n": "%n"}, {"n": (0, 9)})
    arithmetic.register(parse("n // 3"))
    assert [line.split()[0] for line in arithmetic.lines][:1] == ["mov.b64"]
    assert not any("setp" in line for line in arithmetic.lines)


def test_a_sign_is_corrected_by_a_negative_divisor_too():
    arithmetic = Arithmetic({"n": "%n", "d": "%d"}, {})
    register = arithmetic.register(parse("n % d"))
    for n in range(-9, 10):
        for d in (-4, -3, 2, 5):
            machine = Machine({"%n": n, "%d": d})
            for line in arithmetic.lines:
                machine.step(line)
            assert machine.value(register) == n % d


@pytest.mark.parametrize(("value", "text"), [(-5, "-5"), (-(1 << 63), "0x8000000000000000"), ((1 << 64) - 1, "0xffffffffffffffff")])
def test_constants_are_written_as_ptx_reads_them(value, text):
    assert immediate(value) == text
    assert re.fullmatch(r"-?\d+|0x[0-9a-f]{16}", text)


def test_a_constant_beyond_64_bits_is_refused():
    with pytest.raises(EmissionError, match="does not fit 64 bits"):
        immediate(1 << 64)


def test_exact_quotients_need_no_shift_where_every_part_is_a_multiple():
    assert exact_quotient(terms.add(terms.mul(32, var("n")), 64), 8) == terms.add(terms.mul(4, var("n")), 8)
    assert evaluate(exact_quotient(terms.xor(var("n"), 8), 8), {"n": 24}) == 2


def test_an_intermediate_result_that_may_leave_64_bits_is_found():
    assert fits_64_bits(parse("n * n < 5", truth=True), {"n": (0, 1 << 31)}) is None
    assert fits_64_bits(parse("n * n < 5", truth=True), {}) == parse("n * n")
