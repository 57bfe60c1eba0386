"""agree: a writer's view and a reader's, one image or the least coordinate where they differ; every verdict against the evaluator's brute force."""

from __future__ import annotations

import json
import random
from itertools import product
from typing import Any

import pytest

from tilecheck import ComposeLayout, InputError, Launch, S, Tensor, TileLayout, agree, axis, check, parse_layout, symbol
from tilecheck.cli import main
from tilecheck.document import read_call
from tilecheck.errors import DisagreementError
from tilecheck.evaluate import agreement as brute
from tilecheck.prove import agreement

LANE, WARP = axis("laneid"), axis("warpid")
N, K = symbol("n", min=0, max=60), symbol("k", min=0, max=60)


def registers(layout: str, shape: tuple[int, ...] = (16, 8), **rest: Any) -> Tensor:
    return Tensor("R", shape, "uint32", space="register", layout=parse_layout(layout), **{"tensor": "R"} | rest)


def shared(layout: str = "S[(64,64):(64,1)]", shape: tuple[int, ...] = (64, 64), dtype: str = "float32", **rest: Any) -> Tensor:
    return Tensor("SM", shape, dtype, space="shared", align=1024, layout=parse_layout(layout), **{"tensor": "SM"} | rest)


FRAGMENT = "S[(2,8,2,4):(1,4@laneid,2,1@laneid)]"
PLAIN = shared()
ROWS = Tensor(
    "SM", (64, 64), "float16", space="shared", align=1024, tensor="SM", layout=ComposeLayout(3, 3, 3, TileLayout(S[(64, 64) : (64, 1)]))
)
PAIRS: dict[str, tuple[Any, Any, str]] = {
    "one view": (registers(FRAGMENT), registers(FRAGMENT), "proved"),
    "another factorisation of one function": (shared("S[(8,8,64):(512,64,1)]"), shared("S[(64,64):(64,1)]"), "proved"),
    "a transposed transpose": (PLAIN.permute((1, 0)).permute((1, 0)), PLAIN, "proved"),
    "a transpose": (PLAIN.permute((1, 0)), PLAIN, "image"),
    "rows cut at one symbol": (PLAIN[N : N + 2, :], PLAIN[N : N + 2, :], "proved"),
    "rows cut at two symbols": (PLAIN[N : N + 2, :], PLAIN[K : K + 2, :], "image"),
    "a slice of a slice": (PLAIN[N : N + 4, :].sub((1, 0), (2, 64)), PLAIN[N + 1 : N + 3, :], "proved"),
    "a slice of a slice off by one row": (PLAIN[N : N + 4, :].sub((1, 0), (2, 64)), PLAIN[N + 2 : N + 4, :], "image"),
    "words of a swizzled tile of halves": (ROWS.view("uint32"), shared("Swizzle(2, 3, 3) o S[(64,32):(32,1)]", (64, 32)), "proved"),
    "words with the constants of halves": (ROWS.view("uint32"), shared("Swizzle(3, 3, 3) o S[(64,32):(32,1)]", (64, 32)), "image"),
    "a swizzle on one side": (ROWS, shared("S[(64,64):(64,1)]", dtype="float16"), "image"),
    "raw bits and floats": (PLAIN, PLAIN.view("bits32"), "proved"),
    "elements of two widths": (PLAIN, shared(dtype="float16"), "storage"),
    "registers and shared memory": (registers("S[(16,8):(8,1)]"), shared("S[(16,8):(8,1)]", (16, 8)), "storage"),
    "two allocations": (shared(tensor="X"), shared(tensor="Y"), "storage"),
    "one name, two allocations": (shared(tensor=None), shared(tensor=None), "storage"),
    "a named allocation and a tensor of that name": (shared(tensor=None), shared(tensor="SM"), "storage"),
    "two shapes": (PLAIN[0:16, :], PLAIN[0:32, :], "shape"),
    "a region beyond the tensor": (PLAIN[N + 3 : N + 5, :], PLAIN[N + 3 : N + 5, :], "writer.bounds reader.bounds"),
    "registers exchanged": (registers("S[(2,8,2,4):(2,4@laneid,1,1@laneid)]"), registers(FRAGMENT), "image"),
    "lanes exchanged": (registers("S[(2,8,2,4):(1,1@laneid,2,8@laneid)]"), registers(FRAGMENT), "image"),
    "warp and lane, or the thread of the warpgroup": (
        registers("S[(4,32,2):(1@warpid,1@laneid,1)]", (4, 32, 2)).rearrange("w l r -> (w l) r"),
        registers("S[(128,2):(1@tid_in_wg,1)]", (128, 2)),
        "proved",
    ),
    "the warp of the CTA, or of its warpgroup": (
        registers("S[(8,32,1):(1@warpid,1@laneid,1)]", (8, 32, 1)),
        registers("S[(2,4,32,1):(1@wgid,1@wid_in_wg,1@laneid,1)]", (2, 4, 32, 1)).rearrange("g w l r -> (g w) l r"),
        "proved",
    ),
    "the warps of one warpgroup for those of two": (
        registers("S[(8,32,1):(1@warpid,1@laneid,1)]", (8, 32, 1)),
        registers("S[(2,4,32,1):(0,1@wid_in_wg,1@laneid,1)]", (2, 4, 32, 1)).rearrange("g w l r -> (g w) l r"),
        "image",
    ),
    "a copy that is written": (registers(FRAGMENT + " + R[2:8]"), registers(FRAGMENT), "proved"),
    "the same copies": (registers(FRAGMENT + " + R[2:8]"), registers(FRAGMENT + " + R[2:8]"), "proved"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_it_is_as_the_sentence_says(name):
    writer, reader, expected = PAIRS[name]
    verdict = agree(writer, reader, audit=True)
    assert verdict.status == ("proved" if expected == "proved" else "refuted"), verdict.summary()
    assert {c.id for c in verdict.failing} == (set() if expected == "proved" else set(expected.split()))


def test_the_counterexample_is_the_least_coordinate_and_says_both_places():
    verdict = agree(registers("S[(2,8,2,4):(2,4@laneid,1,1@laneid)]"), registers(FRAGMENT))
    found = verdict.counterexample
    assert found is not None
    assert (found.repeat, found.expected, found.actual) == ((0, 4), "slot 1 of lane 0", "slot 2 of lane 0")
    assert found.sentence == "Element [0, 4]: R has it at slot 1 of lane 0, R#2 looks at slot 2 of lane 0."


def test_symbols_come_before_coordinates():
    found = agree(PLAIN[N : N + 2, :], PLAIN[K : K + 2, :]).counterexample
    assert found is not None
    assert (found.symbols, found.repeat) == ((("n", 0), ("k", 1)), (0, 0))


def test_facts_may_make_two_views_one():
    assert agree(PLAIN[N : N + 2, :], PLAIN[K : K + 2, :], assume=["n == k"], symbols=[N, K]).status == "proved"
    assert agree(PLAIN[N : N + 2, :], PLAIN[K : K + 2, :], assume=["n < k", "k < n"]).status == "vacuous"


def test_a_start_of_each_warp_needs_a_launch():
    rows = PLAIN.sub(("8*warpid", 0), (8, 64))
    other = PLAIN.sub(("8*(tid_in_wg // 32)", 0), (8, 64))
    with pytest.raises(InputError, match="needs a launch"):
        agree(rows, other)
    assert agree(rows, other, launch=Launch((128,)), audit=True).status == "proved"
    found = agree(rows, other, launch=Launch((256,)), guard="warpid >= 4", audit=True)
    assert found.status == "refuted"


ELECTED_STARTS = [
    ("laneid", "laneid*laneid", "elected", (2, 2)),
    ("laneid", "laneid + select(elected, 1, 0)", "elected", (0, 0)),
    ("laneid", "select(elected, laneid, 0)", None, (1, 0)),
    ("laneid", "select(elected, laneid, 0)", "elected", None),
    ("0", "select(elected, 0, 1)", "elected", None),
    ("0", "select(elected, 1, 0)", None, (0, 0)),
]


@pytest.mark.parametrize(("writer", "reader", "guard", "least"), ELECTED_STARTS)
def test_the_elected_lane_has_a_say(writer, reader, guard, least):
    """least: (lane, elected lane) of the least place where the two differ."""
    tensor = Tensor("G", (64,), "uint32")
    verdict = agree(tensor.sub((writer,), (1,)), tensor.sub((reader,), (1,)), guard=guard, launch=Launch((8,)), audit=True)
    assert verdict.status == ("proved" if least is None else "refuted"), verdict.summary()
    if least is not None:
        assert verdict.counterexample is not None
        assert (verdict.counterexample.lane, dict(verdict.counterexample.symbols)) == (least[0], {"elected": least[1]})


COPIES: dict[str, tuple[str, str, str]] = {
    "a copy in other lanes": ("S[4:1] + R[8:4@laneid]", "S[4:1] + 4@laneid", "proved"),
    "a copy in lanes that have none": ("S[4:1] + R[8:4@laneid]", "S[4:1] + 5@laneid", "image"),
    "a lane behind the last copy": ("S[4:1] + R[7:4@laneid]", "S[4:1] + 28@laneid", "image"),
    "the same copies in two factors": ("S[4:1] + R[8:4@laneid]", "S[4:1] + R[(2,4):(4@laneid,8@laneid)]", "proved"),
    "some of the copies": ("S[4:1] + R[8:4@laneid]", "S[4:1] + R[2:8@laneid] + 4@laneid", "proved"),
    "one copy too many": ("S[4:1] + R[8:4@laneid]", "S[4:1] + R[9:4@laneid]", "image"),
    "the same copies, moved": ("S[4:1] + R[8:4@laneid]", "S[4:1] + R[8:4@laneid] + 4@laneid", "image"),
    "the same copies, named as threads": (
        "S[4:1] + R[(2,2):(1@wid_in_wg,4@laneid)]",
        "S[4:1] + R[(2,2):(32@tid_in_wg,4@tid_in_wg)]",
        "proved",
    ),
    "a copy in other slots": ("S[4:1] + R[2:8]", "S[4:1] + 8", "proved"),
    "slots between the copies": ("S[4:1] + R[2:8]", "S[4:1] + 4", "image"),
    "a copy of another element": ("S[4:1] + R[4:1]", "S[4:1] + 3", "proved"),
    "a copy that nobody writes": ("S[4:1]", "S[4:1] + R[2:8]", "image"),
}


@pytest.mark.parametrize("name", COPIES)
def test_the_writer_writes_all_its_copies_and_the_reader_may_look_at_each_of_its_own(name):
    writer, reader, expected = COPIES[name]
    verdict = agree(registers(writer, (4,)), registers(reader, (4,)), audit=True)
    assert (verdict.status if verdict.status == "proved" else next(c.id for c in verdict.failing)) == expected, verdict.summary()


def test_copies_in_memory_are_places_too():
    writer = shared("S[4:1] + R[2:8]", (4,))
    assert agree(writer, shared("S[4:1] + 8", (4,)), audit=True).status == "proved"
    assert agree(writer, shared("S[4:1] + 9", (4,)), audit=True).status == "refuted"
    swizzled = shared("Swizzle(0, 1, 3) o S[4:2] + R[2:8]", (4,))
    assert agree(swizzled, shared("S[4:2] + R[2:9]", (4,)), audit=True).status == "proved"
    assert agree(swizzled, shared("S[4:2] + R[2:8]", (4,)), audit=True).status == "refuted"


def test_copies_of_elements_of_another_width_are_counted_in_bits():
    """Eight halves behind are four words behind."""
    halves = shared("S[8:1] + R[2:8]", (8,), "float16").view("uint32")
    assert agree(halves, shared("S[4:1] + R[2:4]", (4,), "uint32"), audit=True).status == "proved"
    assert agree(halves, shared("S[4:1] + R[2:8]", (4,), "uint32"), audit=True).status == "refuted"


def test_a_copy_that_is_not_written_is_told_with_the_number_of_those_that_are():
    found = agree(registers("S[4:1] + R[8:4@laneid]", (4,)), registers("S[4:1] + 5@laneid", (4,))).counterexample
    assert found is not None
    assert (found.expected, found.actual) == ("slot 0 of lane 0 and 7 other places", "slot 0 of lane 5")


def test_random_copies_agree_where_sets_of_places_do():
    rng = random.Random(8)
    decided = {"proved": 0, "refuted": 0}
    for _ in range(120):
        sides: list[tuple[int, list[tuple[int, int, int]]]] = []
        for _ in range(2):
            base = rng.choice((0, 0, 1, 2, 4))
            sides.append((base, [(rng.choice((2, 2, 4)), rng.choice((1, 2, 4)), rng.randrange(2)) for _ in range(rng.randrange(3))]))

        def text(base: int, copies: list[tuple[int, int, int]]) -> str:
            factors = (
                f" + R[({','.join(str(n) for n, _, _ in copies)}):({','.join(f'{s}@laneid' if lane else str(s) for _, s, lane in copies)})]"
            )
            return f"S[2:16]{factors if copies else ''} + {base}"

        def places(base: int, copies: list[tuple[int, int, int]]) -> set[tuple[int, int]]:
            found = {(base, 0)}
            for count, step, lane in copies:
                found = {(m + k * step * (not lane), at + k * step * lane) for m, at in found for k in range(count)}
            return found

        verdict = agree(*(registers(text(*one), (2,)) for one in sides), audit=True)
        assert verdict.status == ("proved" if places(*sides[1]) <= places(*sides[0]) else "refuted"), sides
        decided[verdict.status] += 1
    assert min(decided.values()) > 15


def test_a_document_asks_the_same():
    view = {"tensor": "G", "space": "global", "dtype": "float32", "shape": [4, 8]}
    operands = [{"name": "W", **view, "layout": "S[(4,8):(16,1)]"}, {"name": "R", **view, "layout": "S[(4,8):(8,1)]"}]
    verdict = check(read_call({"schema": "tilecheck/call@1", "opcode": "agree", "scope": "thread", "operands": operands}), audit=True)
    assert [c.id for c in verdict.failing] == ["image"]
    one = {"schema": "tilecheck/call@1", "opcode": "agree", "scope": "thread", "operands": operands[:1]}
    assert [c.id for c in check(read_call(one)).failing] == ["operands"]
    scalar = one | {"operands": [operands[0], {"name": "x", "value": 1}]}
    assert [c.id for c in check(read_call(scalar)).failing] == ["operands"]


def test_random_layouts_agree_where_plain_dictionaries_do():
    rng = random.Random(5)
    decided = {"proved": 0, "refuted": 0}
    for _ in range(150):
        extents = [rng.choice((1, 2, 3, 4)) for _ in range(3)]
        strides = [rng.choice((1, 2, 4, 6, 8, "1@laneid", "2@laneid", "8@laneid")) for _ in extents]
        changed = list(strides)
        if rng.random() < 0.6:
            changed[rng.randrange(3)] = rng.choice((1, 2, 3, "1@laneid"))
        texts = [f"S[({','.join(map(str, extents))}):({','.join(map(str, one))})]" for one in (strides, changed)]
        verdict = agree(*(registers(text, tuple(extents)) for text in texts), audit=True)

        def place(point: tuple[int, ...], factors: list[Any]) -> tuple[int, int]:
            lane = sum(x * int(str(s).split("@")[0]) for x, s in zip(point, factors, strict=True) if "@" in str(s))
            return lane, sum(x * s for x, s in zip(point, factors, strict=True) if isinstance(s, int))

        different = [p for p in product(*(range(n) for n in extents)) if place(p, strides) != place(p, changed)]
        assert verdict.status == ("refuted" if different else "proved")
        if different:
            assert verdict.counterexample is not None
            assert verdict.counterexample.repeat == min(different)
        decided[verdict.status] += 1
    assert min(decided.values()) > 30


def test_a_prover_that_looks_at_lanes_only_is_noticed(monkeypatch):
    monkeypatch.setattr(agreement, "_same", lambda *_, **__: True)
    with pytest.raises(DisagreementError):
        agree(PLAIN.permute((1, 0)), PLAIN, audit=True)


def test_an_evaluator_that_sees_one_place_everywhere_is_noticed(monkeypatch):
    monkeypatch.setattr(brute.Agreement, "differs", lambda *_: None)
    with pytest.raises(DisagreementError):
        agree(PLAIN.permute((1, 0)), PLAIN)


@pytest.mark.parametrize("command", ["emit", "predict", "reconstruct"])
def test_a_question_is_neither_emitted_nor_predicted(command, tmp_path, capsys):
    view = {"tensor": "G", "space": "global", "dtype": "float32", "shape": [4, 8]}
    document = {
        "schema": "tilecheck/call@1",
        "opcode": "agree",
        "scope": "thread",
        "operands": [{"name": "W", **view}, {"name": "R", **view}],
    }
    path = tmp_path / "question.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert main([command, str(path)]) in {1, 2}
    told = capsys.readouterr()
    assert "internal error" not in told.out + told.err
    assert "agree" in told.out + told.err
