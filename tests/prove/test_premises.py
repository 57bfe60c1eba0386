"""Premises: each suffices in every form it is written in, each is weakest, none follows from another, and the reports get the fact they lack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilecheck import InputError, Tensor, apply, check, symbol
from tilecheck.document import read_call, read_file
from tilecheck.prove.premises import premises, with_premises

ROOT = Path(__file__).parents[1]
RULES = {entry.call.id: entry.call for entry in read_file(ROOT / "data" / "rules.jsonl")}
ROW = Tensor("R", (4,), "float32", space="register")
MEMORY = Tensor("A", (1024,), "float32", align=16)
UNALIGNED = Tensor("A", (1024,), "float32")
REPORTED = {
    "A03": ["base(A) % 16 == 0"],
    "A06": ["idx % 4 == 0"],
    "A09": ["lda % 4 == 0"],
    "A11": ["base(A) % 16 == 0"],
    "A15": ["tok <= 524287"],
}
"""The fact that each report says is missing (A15: tok < 524288)."""


def of(name):
    return next(entry.call for entry in read_file(ROOT / "bugs" / f"{name}.json"))


def load(view, **more):
    return apply("ld.global.v4.b32", ROW, view, scope="thread", **more)


def at(*begin, memory=MEMORY, **more):
    view = memory.sub(begin, (1,) * (len(begin) - 1) + (4,))
    return load(view.reshape(4) if len(begin) > 1 else view, **more)


def texts(call):
    return [premise.text for premise in premises(call)]


def said(call, facts, *, assume):
    """The call document with facts written by hand from the answer document."""
    document = call.to_json()
    for fact in facts:
        if fact["operand"] is not None:
            keys = dict(fact["operand"])
            operand = document["operands"][keys.pop("index")]
            assert operand["name"] == keys.pop("name")
            operand.update(keys)
        elif fact["symbol"] is not None and not assume:
            next(s for s in document["symbols"] if s["name"] == fact["symbol"]["name"]).update(fact["symbol"])
        else:
            assert fact["assume"] is not None
            document.setdefault("assume", []).append(fact["assume"])
    return check(read_call(json.loads(json.dumps(document)))).status


def weaker(call, fact, others):
    """The fact one step weaker in the lattice, as facts of the answer document, made from its text alone; [] says nothing."""
    text = fact["text"]
    if " % " in text:
        subject, _, rest = text.rpartition(" % ")
        modulus, residue = map(int, rest.split(" == "))
        half = {"text": "", "assume": f"{subject} % {modulus // 2} == {residue % (modulus // 2)}", "symbol": None, "operand": None}
        if fact["operand"] is not None:
            keys = (
                {"align": modulus // 2}
                if residue % (modulus // 2) == 0
                else {"base": {"mod": modulus // 2, "is": residue % (modulus // 2)}}
            )
            half |= {"assume": None, "operand": {"index": fact["operand"]["index"], "name": fact["operand"]["name"], **keys}}
        yield [half]
        return
    step = next((s.multiple_of for s in call.symbols if fact["symbol"] is not None and s.name == fact["symbol"]["name"]), 1)
    for other in others:
        subject, _, rest = other["text"].rpartition(" % ")
        if subject and subject.strip("()") in text:
            step = int(rest.split(" == ")[0])
    parts = text.split(" and ")
    for k, part in enumerate(parts):
        left, _, right = part.partition(" <= ")
        moved = f"{int(left) - step} <= {right}" if left.lstrip("-").isdigit() else f"{left} <= {int(right) + step}"
        yield [{"text": "", "assume": " and ".join([*parts[:k], moved, *parts[k + 1 :]]), "symbol": None, "operand": None}]


def assert_promise(call):
    """Every premise suffices as written, declared or assumed; one step weaker is refuted; () for a proved call."""
    verdict = with_premises(call)
    if verdict.status == "proved":
        assert verdict.premises == ()
        assert verdict.reason is None
    for premise in verdict.premises:
        facts = json.loads(json.dumps(premise.to_json()))["facts"]
        assert said(call, facts, assume=False) == "proved"
        assert not premise.assumable or said(call, facts, assume=True) == "proved"
        assert premise.weakest
        for k, fact in enumerate(facts):
            assert said(call, [*facts[:k], *facts[k + 1 :]], assume=False) == "refuted", f"{fact['text']} is not needed"
            if "<=" in fact["text"] or " % " in fact["text"]:
                for less in weaker(call, fact, facts):
                    assert said(call, [*facts[:k], *less, *facts[k + 1 :]], assume=False) == "refuted", (
                        f"weaker than {fact['text']}: {less}"
                    )
    return verdict


@pytest.mark.parametrize("name", list(REPORTED))
def test_a_report_that_needs_an_assumption_gets_the_fact_it_names(name):
    assert texts(of(name)) == REPORTED[name]
    assert_promise(of(name))


@pytest.mark.parametrize(
    ("call", "facts"),
    [
        (RULES["ld-loop-oob"], ["i <= 15"]),
        (RULES["ld-loop-neg"], ["1 <= i"]),
        (RULES["ld-loop-misaligned"], ["i % 2 == 0"]),
        (RULES["ld-runtime-unbounded"], ["0 <= n and n <= 255"]),
        (RULES["ld-v8b32-align16"], ["base(A) % 32 == 0"]),
        (RULES["ld-sym-tensor-over"], ["4 <= n - 4*i"]),
        (at(symbol("n", min=0, max=1000) + 2), ["n % 4 == 2"]),
        (at(symbol("n", multiple_of=4) - 100), ["100 <= n and n <= 1120"]),
        (load(UNALIGNED[1:5]), ["base(A) % 16 == 12"]),
        (at(symbol("n", min=0, max=1000), memory=Tensor("A", (1024,), "float32", align=8, base=(16, 8))), ["n % 4 == 2"]),
        (at(symbol("n", min=0, max=500) + symbol("k", min=0, max=500)), ["(n + k) % 4 == 0"]),
        (load(Tensor("A", (symbol("N"),), "float32", align=16)[0:4]), ["4 <= N"]),
        (load(Tensor("A", (4,), "float32", align=16).sub((symbol("n", min=0, max=9),), (4,))), ["n == 0"]),
    ],
)
def test_one_fact_where_one_does(call, facts):
    assert texts(call) == facts
    assert_promise(call)


@pytest.mark.parametrize(
    ("call", "facts"),
    [
        (at(symbol("n", min=0, max=2000)), ["n % 4 == 0 and n <= 1020"]),
        (at(symbol("n", min=0, max=1020), memory=UNALIGNED), ["n % 4 == 0 and base(A) % 16 == 0"]),
        (at(symbol("n"), memory=UNALIGNED), ["n % 4 == 0 and base(A) % 16 == 0 and 0 <= n and n <= 1020"]),
        (at(symbol("n", multiple_of=4), memory=Tensor("A", (symbol("N"),), "float32", align=16)), ["0 <= n and 4 <= N - n"]),
        (
            at(symbol("i", min=0, max=99), symbol("j", min=0, max=99), memory=Tensor("M", (64, 64), "float32", align=16)),
            ["j % 4 == 0 and i <= 63 and j <= 60"],
        ),
    ],
)
def test_facts_together_where_one_does_not_do(call, facts):
    assert texts(call) == facts
    assert_promise(call)


def test_a_pitch_that_joins_two_symbols_is_a_subject():
    names = [symbol("lda", min=64, max=512), symbol("p", min=0, max=7)]
    tensor = Tensor("A", (2, 64), "float32", align=16, layout="S[(2,64):(lda+p,1)]")
    call = apply("ld.global.v4.b32", Tensor("R", (2, 4), "float32", space="register"), tensor[0:2, 0:4], scope="thread", symbols=names)
    assert texts(call) == ["(lda + p) % 4 == 0"]
    (premise,) = premises(call)
    assert premise.to_json()["facts"][0]["symbol"] is None


def test_a_shared_allocation_gets_its_alignment_once():
    row = Tensor("SM", (64,), "float32", space="shared", tensor="smem")
    call = apply("st.shared.v4.b32", row[0:4], ROW, scope="thread")
    assert texts(call) == ["base(smem) % 16 == 0"]


@pytest.mark.parametrize("name", ["A18", "A07", "A10"])
def test_proved_vacuous_and_misshapen_calls_have_none(name):
    assert premises(of(name)) == ()


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (of("A01"), "uses no symbol, and of every base as much is known"),
        (of("A10"), "space.explicit can be changed by no fact"),
        (RULES["ldm-loop-lane-trip"], "participation fails"),
        (at(symbol("n", min=1, max=3)), "src.aligned fails"),
        (at(symbol("n", min=0, max=1000), assume=["n % 2 == 1"]), "src.aligned fails"),
    ],
)
def test_a_call_that_nothing_helps_says_why(call, why):
    verdict = with_premises(call)
    assert verdict.status == "refuted"
    assert verdict.premises == ()
    assert why in verdict.reason


def test_a_fact_under_which_nothing_is_accessed_is_no_premise():
    call = at(symbol("n", min=0, max=3000) + 1024, pred="n > 2000")
    assert check(dataclass_with(call, "n <= 2000")).status == "proved"
    assert premises(call) == ()


def dataclass_with(call, assumption):
    document = call.to_json()
    document["assume"] = [assumption]
    return read_call(document)


def chunk(chunk_bytes, align, src_size=None):
    """A copy of one chunk of half words from memory that is aligned less than the chunk."""
    shared, there = Tensor("S", (8,), "float16", "shared", align=16), Tensor("T", (8,), "float16", align=align)
    more = {} if src_size is None else {"src_size": src_size}
    return apply("cp.async.ca.shared.global", shared, there, scope="thread", chunk_bytes=chunk_bytes, **more)


def test_the_chunk_says_what_alignment_is_missing():
    size = symbol("n", min=0, max=40)
    assert texts(chunk(16, 2)) == ["base(T) % 16 == 0"]
    assert texts(chunk(16, 16)) == []
    assert texts(chunk(16, 16, src_size=size)) == ["n <= 16"]
    assert texts(chunk(16, 2, src_size=size)) == ["base(T) % 16 == 0 and n <= 16"]


def test_a_chunk_of_no_size_has_no_premise():
    assert [texts(chunk(size, 2)) for size in (0, -16)] == [[], []]


def test_a_fact_that_contradicts_the_others_is_no_premise():
    assert texts(at(symbol("n", min=0, max=1000), assume=["n % 8 == 4 or n % 2 == 1"])) == ["n % 2 == 0"]
    assert texts(at(symbol("n", min=0, max=1000), assume=["n != 0"])) == ["n % 4 == 0"]


def test_the_search_is_bounded(monkeypatch):
    monkeypatch.setattr("tilecheck.prove.premises.MAX_CHECKS", 5)
    verdict = with_premises(at(symbol("n"), symbol("k"), memory=Tensor("M", (64, 64), "float32")))
    assert verdict.premises == ()
    assert "5 calls" in verdict.reason


def test_a_call_without_a_document_is_wrong_input():
    with pytest.raises(InputError):
        premises(load(Tensor("A" * 300, (4,), "float32")))


START = st.sampled_from(["n", "n + 1", "n - 8", "2*n", "n + k", "4*n + k", "4*n", "k", "n // 2", "60 - n", "max(n, k)"])


@st.composite
def calls(draw):
    bounds = st.sampled_from([(0, 7), (0, 40), (-4, 100), (3, 90)])
    (low, high), (first, last) = draw(bounds), draw(st.sampled_from([(0, 3), (0, 16), (1, 2)]))
    names = [symbol("n", min=low, max=high, multiple_of=draw(st.sampled_from([1, 2, 3]))), symbol("k", min=first, max=last)]
    memory = Tensor("A", (draw(st.sampled_from([16, 60, 128])),), "float32", align=draw(st.sampled_from([4, 8, 16])))
    more = {"assume": [draw(st.sampled_from(["n != 3", "n >= k", "n % 3 != 1"]))]} if draw(st.booleans()) else {}
    row = Tensor("R", (draw(st.sampled_from([2, 4])),), "float32", space="register")
    opcode = f"ld.global.v{row.shape[0]}.b32"
    return apply(opcode, row, memory.sub((draw(START),), row.shape), scope="thread", symbols=names, **more)


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(calls())
def test_what_is_returned_suffices_is_weakest_and_follows_from_no_other(call):
    found = assert_promise(call).premises
    for one in found:
        for other in found:
            if one is not other:
                assert not follows(call, one, other), f"{other.text} follows from {one.text}"


def follows(call, one, other):
    """Whether every value of n and k and every base that satisfies one premise satisfies the other, by trying them."""
    declared = {s.name: s for s in call.symbols}
    values = [
        {"n": n, "k": k, "base": base}
        for n in range(declared["n"].min, declared["n"].max + 1, 1)
        for k in range(declared["k"].min, declared["k"].max + 1)
        for base in range(0, 16, 4)
        if n % declared["n"].multiple_of == 0
        and base % call.operands[1].tensor.align == 0
        and all(holds(str(a), {"n": n, "k": k}) for a in call.assume)
    ]
    return all(holds(other.text, v) for v in values if holds(one.text, v))


def holds(text, values):
    return eval(text.replace("base(A)", "base"), {"__builtins__": {}, "max": max}, values)
