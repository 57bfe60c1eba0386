"""Each clause failing alone, at its first point, with both numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from calls import LANES, call, cut, load, matrix, model, tensor

from tilecheck.evaluate import Model, Observation, Point


def failure(subject: dict[str, Any]) -> tuple[str, Point, Observation, Model]:
    """The only failing clause of a call, where it fails first, and what is seen there."""
    checked = model(subject)
    answer = checked.check()
    assert answer.status == "refuted", answer
    assert len(answer.failures) == 1, answer.failures
    clause, point = next(iter(answer.failures.items()))
    seen = model(subject).observe(clause, point)
    assert seen is not None
    return clause, point, seen, checked


def told(subject: dict[str, Any]) -> tuple[str, str, str]:
    """The failing clause, what was expected and what was found."""
    clause, _, seen, _ = failure(subject)
    assert seen.expected in seen.sentence or "product" in seen.sentence or clause == "participation"
    return clause, seen.expected, seen.actual


N = {"name": "n", "min": 0, "max": 15}
N_TO_64 = {"name": "n", "min": 0, "max": 64}
WARP_REGISTERS = "S[(32,1):(1@laneid,1)]"


def warp_load(
    registers: str = WARP_REGISTERS, memory: str = "S[(32,1):(1,1)]", lanes: int = 32, scope: str = "warp", **more: Any
) -> dict[str, Any]:
    """`ld.global.b32`, one word per lane."""
    lead = [] if scope == "warp" else [4] if scope == "warpgroup" else [2]
    return call(
        "ld.global.b32",
        tensor("R", "register", "float32", [*lead, lanes, 1], registers),
        tensor("A", "global", "float32", [*lead, lanes, 1], memory),
        scope=scope,
        **more,
    )


def test_a_legal_call_has_no_failure():
    checked = model(load())
    assert checked.check().status == "proved"
    assert checked.clauses == (
        "operands",
        "dst.storage",
        "src.storage",
        "participation",
        "dst.shape",
        "src.shape",
        "dst.owner",
        "src.owner",
        "dst.replica",
        "dst.distinct",
        "index.range",
        "dst.index.range",
        "src.index.range",
        "dst.bounds",
        "src.bounds",
        "dst.backing",
        "src.backing",
        "src.contiguous",
        "src.aligned",
    )
    assert all(checked.first_failure(clause) is None for clause in checked.clauses)


@pytest.mark.parametrize(
    ("change", "actual"),
    [
        ({"operands": []}, "0 operands"),
        ({"parameters": {"foo": 1}}, "the unknown parameter foo"),
        ({"parameters": {"preserve_dst": True}}, "preserve_dst alone"),
        ({"parameters": {"pred": "n + 1"}, "symbols": [N]}, "'n + 1'"),
        ({"parameters": {"pred": 1}}, "1"),
        ({"opcode": "ld.global.L2::cache_hint.v4.b32"}, "none"),
        ({"opcode": "ld.global.L2::cache_hint.v4.b32", "parameters": {"cache_policy": -1}}, "-1"),
        ({"opcode": "ld.global.L2::cache_hint.v4.b32", "parameters": {"cache_policy": "n > 0"}}, "'n > 0'"),
        ({"parameters": {"pred": True, "preserve_dst": 1}}, "1"),
    ],
)
def test_operands(change: dict[str, Any], actual: str):
    clause, _, found = told({**load(), **change})
    assert (clause, found) == ("operands", actual)


def test_a_scalar_is_no_view():
    subject = load()
    subject["operands"][1] = {"name": "k", "value": 3}
    assert told(subject) == ("operands", "a view for src", "the scalar k")


@pytest.mark.parametrize(
    "parameters", [{"pred": False, "preserve_dst": True}, {"pred": None}, {"preserve_dst": False}, {"pred": "laneid < 4 or false"}]
)
def test_parameters_that_are_right(parameters: dict[str, Any]):
    assert model(load(parameters=parameters)).check().status == "proved"


def test_storage_of_the_wrong_space_or_width():
    subject = load()
    subject["operands"][1]["space"] = "local"
    assert told(subject) == ("src.storage", "global space", "local space")
    subject = load()
    subject["operands"][0]["dtype"] = "int16"
    assert told(subject) == ("dst.storage", "elements of 32 bits", "int16, 16 bits")


def retyped(
    layout: str, begin: Any = 0, shape: tuple[int, ...] = (4, 8), dtype: str = "float16", new: str = "float32", **more: Any
) -> dict[str, Any]:
    opcode = {"float32": "ld.global.b32", "uint8": "ld.global.b8"}[new]
    extent = [4, None] if isinstance(begin, int) and begin == 0 else [4, 4]
    source = tensor(
        "A",
        "global",
        dtype,
        list(shape),
        layout,
        cut(0, begin, extent=extent),
        {"op": "view", "dtype": new},
        {"op": "reshape", "shape": [-1]},
        align=256,
    )
    ratio = {"float16": 16, "float32": 32}[dtype] * (4 if extent[1] else shape[1]) // {"float32": 32, "uint8": 8}[new]
    source["view"][-1]["shape"] = [4 * ratio, 1]
    return call(opcode, tensor("R", "register", new, [4 * ratio, 1], f"S[{4 * ratio},1]"), source, **more)


@pytest.mark.parametrize(
    ("subject", "coordinate", "expected", "actual"),
    [
        (retyped("S[(4,8):(11,1)]"), (1, 0), "a multiple of 4 bytes", "byte 22 (22 mod 4 = 2)"),
        (retyped("S[(4,8):(16,2)]"), (0, 0), "byte 2", "byte 4"),
        (retyped("S[(4,8):(32,2)]", dtype="float32", new="uint8"), (0, 4), "byte 4", "byte 8"),
        (retyped("S[(4,9):(16,1)]", shape=(4, 9)), (), "a last axis of a multiple of 32 bits", "144 bits (16 too many)"),
        (retyped("Swizzle(0,1,1) o S[(4,8):(8,1)]"), (0, 1), "byte 8", "byte 4"),
    ],
)
def test_a_refused_dtype_view_is_reported_at_its_first_coordinate(
    subject: dict[str, Any], coordinate: tuple[int, ...], expected: str, actual: str
):
    clause, point, seen, _ = failure(subject)
    assert (clause, point.atom, seen.expected, seen.actual) == ("src.storage", coordinate, expected, actual)


def test_a_dtype_view_from_an_odd_start_is_refused_for_that_start():
    clause, point, seen, checked = failure(retyped("S[(4,8):(8,1)]", begin="n", symbols=[{"name": "n", "min": 0, "max": 4}]))
    assert (clause, dict(point.symbols), point.atom, seen.actual) == ("src.storage", {"n": 1}, (0, 0), "byte 2 (2 mod 4 = 2)")
    assert checked.observe(clause, replace(point, symbols={"n": 2})) is None
    lane = model(retyped("S[(4,8):(8,1)]", begin="laneid % 5", block=[4]))
    assert lane.check().failures == {"src.storage": Point({}, 0, 0, 1, atom=(0, 0))}


def test_a_narrowing_view_of_a_swizzled_axis_of_stride_one_is_legal():
    assert model(retyped("Swizzle(0,1,1) o S[(4,8):(8,1)]", dtype="float32", new="uint8")).check().status == "proved"


def test_a_dtype_view_across_lanes_is_refused():
    subject = call(
        "st.global.b32",
        tensor("A", "global", "float32", [32, 1], "S[32,1]"),
        tensor("R", "register", "float16", [32, 2], "S[(32,2):(1@laneid,16@laneid)]", {"op": "view", "dtype": "float32"}),
        scope="warp",
    )
    assert told(subject)[0] == "src.storage"


def test_type_is_asked_where_the_contract_lists_containers():
    subject = matrix()
    subject["operands"][1]["dtype"] = "bits32"
    assert model(subject).check().status == "proved"
    subject["operands"][0]["dtype"] = "complex64"
    subject["operands"][0]["view"] = [{"op": "view", "dtype": "bits32"}]
    subject["operands"][0].update(shape=[1, 8, 2], layout="S[(1,8,2):(1,4@laneid,1@laneid)]")
    assert model(subject).check().status == "refuted"
    subject = matrix()
    subject["operands"][1]["dtype"] = "float8_e5m2"
    subject["operands"][1].update(
        shape=[4, 8, 16], layout="S[4,8,16]", view=[cut(0, 0, 0, extent=[1, None, None]), {"op": "view", "dtype": "float32"}]
    )
    assert model(subject).check().status == "proved"
    subject["operands"][1]["view"][1]["dtype"] = "int32"
    assert model(subject).check().status == "proved"
    subject["operands"][1].update(dtype="uint4", shape=[4, 8, 32], layout="S[4,8,32]")
    assert model(subject).check().status == "proved"


def test_shape_of_the_wrong_rank_atom_group_or_repeat():
    subject = load()
    subject["operands"][0].update(shape=[2, 2], layout="S[2,2]")
    assert model(subject).check().failures == {"dst.shape": Point(), "src.shape": Point()}
    seen = [model(subject).observe(clause, Point()) for clause in ("dst.shape", "src.shape")]
    assert [(s.expected, s.actual) for s in seen if s] == [("shape (*repeat, 4)", "shape (2, 2)"), ("repeat extents [2], as dst has", "[]")]
    subject = warp_load(guard="laneid < 16")
    subject["operands"][0].update(shape=[16, 1], layout="S[(16,1):(1@laneid,1)]")
    assert told(subject) == ("src.shape", "shape (16, *repeat, 1)", "shape (32, 1)")


def test_repeat_axes_are_the_same_for_every_operand():
    subject = load()
    subject["operands"][0].update(shape=[2, 4], layout="S[2,4]")
    assert told(subject) == ("src.shape", "repeat extents [2], as dst has", "[]")


def test_extents_of_a_region_are_static():
    subject = call(
        "ld.global.b32",
        tensor("R", "register", "float32", [1, 1], "S[1,1]"),
        tensor("A", "global", "float32", ["n", 1], "S[n,1]"),
        symbols=[{"name": "n", "min": 1, "max": 1}],
    )
    assert told(subject) == ("src.shape", "positive static extents", "shape (?, 1)")


def test_group_extents_follow_the_guard_for_every_value():
    subject = warp_load(
        "S[(2,32,1):(1@warpid,1@laneid,1)]",
        "S[2,32,1]",
        scope="cta",
        block=[128],
        guard="warpid < n",
        symbols=[{"name": "n", "min": 1, "max": 4}],
    )
    answer = model(subject).check()
    assert answer.failures == {"dst.shape": Point({"n": 1}), "src.shape": Point({"n": 1})}
    seen = model(subject).observe("dst.shape", Point({"n": 1}))
    assert seen is not None
    assert (seen.expected, seen.actual) == ("shape (1, 32, *repeat, 1)", "shape (2, 32, 1)")
    assert model(subject).observe("dst.shape", Point({"n": 2})) is None
    assert model({**subject, "assume": ["n == 2"]}).check().status == "proved"


@pytest.mark.parametrize(
    ("subject", "expected", "actual"),
    [
        (warp_load("S[(32,1):(1,1)]"), "lane 1", "lane 0 (no axis of the layout names it)"),
        (warp_load("S[(32,1):(1@laneid,1)] + 2@laneid"), "laneid 0", "laneid 2"),
        (warp_load("S[(32,1):(1@laneid,1)] + 1@warpid"), "warpid 0", "warpid 1"),
        (warp_load("S[(32,1):(1@tx,1)]", block=[8, 4]), "lane 1", "lane 0 (no axis of the layout names it)"),
        (warp_load("S[(32,1):(1@TLane,1)]"), "no axis TLane here", "the layout's axis TLane"),
        (
            warp_load("S[(2,32,1):(1,1@laneid,1)]", "S[2,32,1]", scope="cta", block=[64]),
            "warp % 4 1",
            "warp % 4 0 (no axis of the layout names it)",
        ),
        (load(registers="S[4:1] + 0@laneid + 1@warpid"), "no axis warpid here", "the layout's axis warpid"),
        (load(memory="S[64:1] + 1@laneid"), "no axis laneid here", "the layout's axis laneid"),
        (matrix(registers="S[(1,8,4):(1,1@laneid,8@laneid)]"), "laneid 1", "laneid 8"),
    ],
)
def test_owner(subject: dict[str, Any], expected: str, actual: str):
    clause, wanted, found = told(subject)
    assert clause.endswith(".owner")
    assert (wanted, found) == (expected, actual)


@pytest.mark.parametrize(
    "registers",
    [
        "S[(32,1):(1@laneid,1)]",
        "S[(32,1):(1@tx,7)]",
        "S[(32,1):(1@tid_in_wg,7)]",
        "S[(4,8,1):(8@laneid,1@laneid,9)]",
        "S[(32,1):(1@laneid,1)] + 0@warpid",
    ],
)
def test_lanes_may_be_named_in_several_ways(registers: str):
    assert model(warp_load(registers)).check().status == "proved"


def test_warps_may_be_split_into_warpgroups():
    axes = "S[(2,4,32,1):(1@wgid,1@wid_in_wg,1@laneid,1)]"
    subject = call(
        "ld.global.b32",
        tensor("R", "register", "float32", [8, 32, 1], axes),
        tensor("A", "global", "float32", [8, 32, 1], "S[8,32,1]"),
        scope="cta",
        block=[256],
    )
    assert model(subject).check().status == "proved"
    subject["operands"][0]["layout"] = "S[(2,128,1):(1@wgid,1@tid_in_wg,1)]"
    assert model(subject).check().status == "proved"
    subject["operands"][0]["layout"] = "S[(2,128,1):(0,1@tid_in_wg,1)]"
    assert told(subject) == ("dst.owner", "warp // 4 1", "warp // 4 0 (no axis of the layout names it)")


def test_cluster_axes_come_z_y_x():
    axes = "S[(2,3,1,32,1):(1@cby,1@cbx,1@warpid,1@laneid,1)]"
    subject = call(
        "ld.global.b32",
        tensor("R", "register", "float32", [2, 3, 1, 32, 1], axes),
        tensor("A", "global", "float32", [2, 3, 1, 32, 1], "S[2,3,1,32,1]"),
        scope="cluster",
        cluster=[3, 2, 1],
    )
    assert model(subject).check().status == "proved"
    subject["operands"][0]["layout"] = "S[(2,3,1,32,1):(1@cby,1,1@warpid,1@laneid,1)]"
    assert told(subject) == ("dst.owner", "cbx 1", "cbx 0 (no axis of the layout names it)")
    subject["guard"] = "cbx == 0"
    assert set(model(subject).check().failures) == {"dst.shape", "src.shape"}


def test_local_and_shared_copies_belong_to_the_executing_thread_or_cta():
    def store(layout: str, space: str, scope: str = "warp", **more: Any) -> dict[str, Any]:
        lead = [2] if scope == "cluster" else []
        registers = "S[(2,1,32,1):(1@cbx,1@warpid,1@laneid,1)]" if lead else WARP_REGISTERS
        shape = [*lead, *([1] if lead else []), 32, 1]
        return call(
            f"st.{space}.b32",
            tensor("A", space, "float32", shape, layout),
            tensor("R", "register", "float32", shape, registers),
            scope=scope,
            **more,
        )

    assert model(store("S[(32,1):(1@laneid,1)]", "local")).check().status == "proved"
    assert model(store("S[(32,1):(0,1)]", "local")).check().hazards == frozenset()
    assert told(store("S[(32,1):(2@laneid,1)]", "local")) == ("dst.owner", "laneid 1", "laneid 2")
    assert told(store("S[(32,1):(1@laneid,1)]", "shared")) == ("dst.owner", "no axis laneid here", "the layout's axis laneid")
    cluster = {"scope": "cluster", "cluster": [2, 1, 1]}
    assert model(store("S[(2,1,32,1):(1@cbx,1,1,1)]", "shared", **cluster)).check().status == "proved"
    assert told(store("S[(2,1,32,1):(1,1,1,1)] + 1@cbx", "shared", **cluster)) == ("dst.owner", "cbx 0", "cbx 1")


def test_replicas_bind_destinations_only():
    assert told(load(registers="S[4:1] + R[2:4]")) == ("dst.replica", "no replica of a destination", "2 copies, 4 apart on m")
    assert model(load(registers="S[4:1] + R[2:0] + R[1:9]")).check().status == "proved"


def test_distinct_names_the_earlier_element():
    subject = call(
        "ld.global.v4.b32",
        tensor("R", "register", "float32", [3, 4], "S[(3,4):(2,1)]"),
        tensor("A", "global", "float32", [3, 4], "S[3,4]", align=16),
    )
    clause, point, seen, checked = failure(subject)
    assert (clause, point.repeat, point.atom) == ("dst.distinct", (1,), (0,))
    assert (seen.expected, seen.actual) == ("a slot of its own", "slot 2, already the slot of repeat [0] atom [2]")
    assert checked.observe(clause, replace(point, repeat=(0,), atom=(3,))) is None
    assert model(load(registers="S[(2,2):(2,4)]")).check().status == "proved"


def test_distinct_counts_the_elements_of_one_lane():
    registers = tensor("R", "register", "uint32", [2, 8, 4], "S[(2,8,4):(0,4@laneid,1@laneid)]")
    memory = tensor("SM", "shared", "uint32", [2, 8, 4], "S[2,8,4]", align=16)
    clause, point, _, _ = failure(call("ldmatrix.sync.aligned.m8n8.x2.shared.b16", registers, memory, scope="warp"))
    assert (clause, point.lane, point.atom) == ("dst.distinct", 0, (1, 0, 0))


def test_index_range_of_starts():
    wide = load(begin="max(min(n * n, 60), 0) * 0", symbols=[{"name": "n", "min": 0, "max": 65537}], index_dtype="int32")
    checked = model(wide)
    assert checked.check().status == "too-large"
    seen = checked.observe("src.index.range", Point({"n": 65537}, 0, 0, 0, atom=(0,)))
    assert seen is not None
    assert seen.actual == "n * n = 4295098369"
    assert checked.observe("src.index.range", Point({"n": 46340}, 0, 0, 0, atom=(0,))) is None


def test_index_range_of_element_offsets():
    subject = call(
        "ld.global.b8",
        tensor("R", "register", "uint8", [1], "S[1:1]"),
        tensor("A", "global", "uint8", [2, 1], "S[(2,1):(2147483648,1)]", cut("n", 0, extent=[1, None]), {"op": "reshape", "shape": [1]}),
        symbols=[{"name": "n", "min": 0, "max": 1}],
        index_dtype="int32",
    )
    assert told(subject) == ("src.index.range", "-2147483648 <= element offset <= 2147483647", "element offset 2147483648")
    assert model({**subject, "index_dtype": "uint32"}).check().status == "proved"


def test_index_range_of_divisors_in_guard_assumption_and_pred():
    zero = {"name": "k", "min": 0, "max": 2}
    guard = load(symbols=[zero], guard="laneid // k < 9")
    assert told(guard) == ("index.range", "a positive divisor", "k = 0")
    assert failure(guard)[1] == Point({"k": 0}, 0, 0, 0)
    assumption = load(symbols=[zero], assume=["8 % k == 0"])
    assert failure(assumption)[:2] == ("index.range", Point({"k": 0}))
    assert model(load(symbols=[zero], assume=["8 % k == 0", "k > 0"])).check().status == "proved"
    pred = load(symbols=[zero], parameters={"pred": "8 >> (k - 1) > 0"})
    assert told(pred)[0] == "index.range"
    assert model(load(symbols=[zero], guard="k > 0 and laneid // k < 9")).check().status == "proved"
    start = load(symbols=[zero], begin="8 // k")
    assert "src.index.range" in model(start).check().failures


def test_bounds_of_slices():
    clause, point, seen, checked = failure(load(begin="4 * n", symbols=[{**N, "max": 16}]))
    assert (clause, dict(point.symbols), point.atom) == ("src.bounds", {"n": 16}, (0,))
    assert (seen.expected, seen.actual) == ("0 <= begin, begin + 4 <= 64", "begin 64, end 68")
    assert checked.observe(clause, replace(point, symbols={"n": 15})) is None
    assert told(load(begin="4 * n - 4", symbols=[N])) == ("src.bounds", "0 <= begin, begin + 4 <= 64", "begin -4, end 0")
    assert model(load(begin="4 * n", symbols=[{**N, "max": 16}], parameters={"pred": "n < 16"})).check().status == "proved"
    subject = load(begin=1)
    subject["operands"][1]["view"][0]["extent"] = [None]
    subject["operands"][0].update(shape=[64], layout="S[64:1]")
    assert set(model(subject).check().failures) == {"dst.shape", "src.shape"}


def test_bounds_below_the_base():
    clause, point, seen, _ = failure(load(memory="S[64:1] + -4"))
    assert (clause, point.atom, seen.expected, seen.actual) == ("src.bounds", (0,), "byte 0 or later", "byte -16")
    assert model(load(memory="S[64:-1] + 63", begin=4)).check().failures.keys() == {"src.contiguous", "src.aligned"}


def test_backing():
    assert told(load(size_bytes=255)) == ("src.backing", "a span of at most 255 bytes", "256 bytes")
    assert model(load(size_bytes=256)).check().status == "proved"
    swizzled = call(
        "ld.shared.b32",
        tensor("R", "register", "float32", [1], "S[1:1]"),
        tensor("A", "shared", "float32", [10], "Swizzle(0,2,2) o S[10:1]", cut(0, extent=[1]), size_bytes=40),
    )
    assert told(swizzled) == ("src.backing", "a span of at most 40 bytes", "48 bytes")


@pytest.mark.parametrize(
    ("arch", "limit"), [(None, 232448), ("sm_75", 65536), ("sm_80", 166912), ("sm_86", 101376), ("sm_90a", 232448), ("sm_120a", 101376)]
)
def test_backing_by_architecture(arch: str | None, limit: int):
    def of(words: int) -> dict[str, Any]:
        memory = tensor("A", "shared", "float32", [words], f"S[{words}:1]", cut(0, extent=[1]))
        return call("ld.shared.b32", tensor("R", "register", "float32", [1], "S[1:1]"), memory, arch=arch)

    assert model(of(limit // 4)).check().status == "proved"
    assert told(of(limit // 4 + 1)) == ("src.backing", f"at most {limit} bytes of shared memory", f"{limit + 4} bytes")


def test_contiguous():
    clause, point, seen, checked = failure(load(memory="S[(16,4):(8,2)]"))
    assert (clause, point.atom, seen.expected, seen.actual) == ("src.contiguous", (1,), "byte 4", "byte 8")
    assert checked.observe(clause, replace(point, atom=(0,))) is None


def test_aligned():
    clause, point, seen, checked = failure(load(begin="2 * n", symbols=[N]))
    assert (clause, dict(point.symbols)) == ("src.aligned", {"n": 1})
    assert (seen.expected, seen.actual) == ("a multiple of 16 bytes", "byte 8 (8 mod 16 = 8)")
    assert checked.observe(clause, replace(point, symbols={"n": 2})) is None
    assert checked.observe(clause, replace(point, atom=(1,))) is None


def test_aligned_looks_at_every_base_that_is_left():
    clause, point, seen, checked = failure(load(align=4))
    assert (clause, dict(point.symbols), seen.actual) == ("src.aligned", {"base(A)": 4}, "byte 4 (4 mod 16 = 4 with the base at 4 mod 16)")
    assert checked.observe(clause, replace(point, symbols={"base(A)": 0})) is None
    assert checked.observe(clause, replace(point, symbols={"base(A)": 2})) is None
    with pytest.raises(ValueError, match="gives no base"):
        checked.observe(clause, replace(point, symbols={}))
    assert model(load(align=4, base={"mod": 32, "is": 16})).check().status == "proved"
    assert model(load(align=4, begin=1, base={"mod": 16, "is": 12})).check().status == "proved"
    assert told(load(align=4, base={"mod": 16, "is": 8}))[0] == "src.aligned"
    assert model(load(align=8, base={"mod": 16, "is": 4})).check().status == "vacuous"


def test_operands_of_one_tensor_share_its_base():
    subject = load(align=4)
    subject["operands"][1]["tensor"] = "buffer"
    assert dict(failure(subject)[1].symbols) == {"base(buffer)": 4}
    subject["operands"][0].update(tensor="buffer", align=16)
    assert model(subject).check().status == "proved"


@pytest.mark.parametrize(
    ("guard", "thread"),
    [
        ("laneid % 2 == 0", (0, 0, 1)),
        ("laneid < 16", (0, 0, 16)),
        ("laneid != 3", (0, 0, 3)),
        ("elected", (0, 0, 1)),
        ("laneid < 16 or laneid > 20", (0, 0, 16)),
    ],
)
def test_a_collective_needs_all_lanes(guard: str, thread: tuple[int, int, int]):
    clause, point, seen, _ = failure(matrix(guard=guard))
    assert (clause, (point.cta, point.warp, point.lane)) == ("participation", thread)
    assert (seen.expected, seen.actual) == (f"lane {thread[2]} of warp 0 executes", "it is switched off")


def test_a_collective_needs_lanes_that_exist_and_a_warp():
    assert told(matrix(block=[16]))[1:] == ("lane 16 of warp 0 executes", "it does not exist")
    assert told(matrix(scope="thread")) == ("participation", "a scope of at least a warp", "thread scope")


def test_a_collective_needs_one_start_and_one_pred():
    clause, point, seen, _ = failure(matrix(begin="laneid // 16"))
    assert (clause, point.lane, seen.expected, seen.actual) == ("participation", 16, "0, as in lane 0", "1")
    assert told(matrix(parameters={"pred": "laneid < 8"})) == ("participation", "True, as in lane 0", "False")
    assert model(matrix(begin="laneid // 32")).check().status == "proved"
    assert model(matrix(begin="warpid % 4", block=[256])).check().status == "proved"


@pytest.mark.parametrize(
    ("level", "status"), [("grid", "proved"), ("cluster", "proved"), ("cta", "proved"), ("warp", "proved"), ("thread", "refuted")]
)
def test_a_start_that_varies_by_thread_is_not_uniform(level: str, status: str):
    answer = model(matrix(begin="n", symbols=[{"name": "n", "min": 0, "max": 3, "varies": level}])).check()
    assert answer.status == status
    if status == "refuted":
        assert answer.failures == {"participation": Point({"n": 1}, 0, 0, 0)}


@pytest.mark.parametrize(("level", "failing"), [("grid", None), ("warp", None), ("thread", Point({"n": 0}, 0, 0, 0))])
def test_a_guard_that_varies_by_thread_switches_lanes_off(level: str, failing: Point | None):
    answer = model(matrix(guard="n == 1", symbols=[{"name": "n", "min": 0, "max": 1, "varies": level}])).check()
    assert answer.failures == ({} if failing is None else {"participation": failing})


def test_who_executes_may_not_vary_inside_the_scope():
    subject = warp_load(guard="n == 1", symbols=[{"name": "n", "min": 0, "max": 1, "varies": "thread"}])
    assert told(subject) == (
        "participation",
        "lane 0 of warp 0 to execute always or never",
        "it depends on a symbol that varies inside the scope",
    )
    assert failure(subject)[1] == Point({"n": 0}, 0, 0, 0)
    assert model({**subject, "symbols": [{"name": "n", "min": 0, "max": 1, "varies": "warp"}]}).check().status == "proved"
    assert model({**subject, "assume": ["n == 1"]}).check().status == "proved"


def test_the_active_set_of_a_cta_is_a_product():
    layouts = ("S[(2,32,1):(1@warpid,1@laneid,1)]", "S[2,32,1]")
    ragged = warp_load(*layouts, scope="cta", block=[64], guard="warpid == 0 or laneid < 16")
    clause, point, seen, _ = failure(ragged)
    assert (clause, (point.cta, point.warp, point.lane)) == ("participation", (0, 1, 16))
    assert seen.actual == "it is switched off"
    assert told(warp_load(*layouts, scope="cta", block=[48]))[2] == "it does not exist"
    assert told(warp_load(*layouts, scope="cta", block=[64], guard="warpid != laneid % 2"))[0] == "participation"


def test_every_warp_and_warpgroup_has_the_same_extents():
    subject = warp_load(block=[64], guard="warpid == 0 or laneid < 16")
    assert told(subject) == ("participation", "group extents [32]", "[16]")
    assert failure(subject)[1] == Point({}, 0, 1, 0)
    group = warp_load("S[(4,32,1):(1@wid_in_wg,1@laneid,1)]", "S[4,32,1]", scope="warpgroup", block=[96])
    assert told(group)[1:] == ("lane 0 of warp 3 executes", "it does not exist")
    assert model({**group, "launch": {"block": [128]}}).check().status == "proved"
    assert told({**group, "launch": {"block": [256]}, "guard": "warpid != 6"})[1] == "lane 0 of warp 6 executes"


def test_coordinates_count_active_warps_and_lanes():
    subject = warp_load(
        "S[(2,8,1):(2@warpid,4@laneid,1)] + 1@warpid + 3@laneid",
        "S[2,8,1]",
        lanes=8,
        scope="cta",
        block=[128],
        guard="warpid % 2 == 1 and laneid % 4 == 3",
    )
    assert model(subject).check().status == "proved"
    assert [row[1:5] for row in model(subject).predict({}).registers][:3] == [[0, 1, 3, 0], [0, 1, 7, 0], [0, 1, 11, 0]]


def test_a_thread_dependent_start_is_read_by_each_thread():
    subject = warp_load("S[(2,32,1):(1@warpid,1@laneid,1)]", "S[2,32,1]", scope="cta", block=[64])
    subject["operands"][1].update(shape=[2, 40, 1], layout="S[2,40,1]", view=[cut(0, "warpid * 9", 0, extent=[None, 32, None])])
    clause, point, seen, _ = failure(subject)
    assert (clause, (point.cta, point.warp, point.lane), point.group) == ("src.bounds", (0, 1, 0), (1, 0))
    assert seen.actual == "begin 9, end 41"


def test_contradictory_facts_are_vacuous():
    assert model(load(symbols=[N], assume=["n > 3", "n < 2"])).check().status == "vacuous"
    assert model(load(symbols=[N], guard="n > 20")).check().status == "vacuous"
    assert model(load(symbols=[{**N, "multiple_of": 4, "min": 1, "max": 3}])).check().status == "vacuous"
    assert model(load(begin=99, parameters={"pred": "1 > 2"})).check().status == "proved"


def test_symbolic_extents_are_facts():
    def of(begin: str, *assume: str) -> dict[str, Any]:
        return call(
            "ld.global.b32",
            tensor("R", "register", "float32", [1], "S[1:1]"),
            tensor("A", "global", "float32", ["n"], "S[n:1]", cut(begin, extent=[1])),
            symbols=[{"name": "n", "min": -3, "max": 3}, {"name": "i", "min": 0, "max": 3}],
            assume=list(assume),
        )

    assert model(of("i", "i < n")).check().status == "proved"
    assert model(of("i", "i <= n")).check().failures == {"src.bounds": Point({"n": 0, "i": 0}, 0, 0, 0, atom=(0,))}
    assert model(of("0", "n < 0")).check().status == "vacuous"


def test_symbols_without_bounds_are_too_many():
    assert model(load(begin="n % 16 * 4", symbols=[{"name": "n"}])).check().status == "too-large"
    assert model(load(begin="n % 16 * 4", symbols=[N_TO_64])).check(limit=3).status == "too-large"
    assert model(load(begin="n % 16 * 4", symbols=[N_TO_64])).check().status == "proved"


def test_values_are_taken_in_the_order_0_1_minus_1():
    subject = load(begin="n", symbols=[{"name": "n", "min": -5, "max": 100}], guard="n != 0 and n != 4 and n < 60")
    assert model(subject).check().failures == {"src.bounds": Point({"n": -1}, 0, 0, 0, atom=(0,))}


def test_elected_is_one_existing_lane_of_each_warp():
    subject = warp_load("S[(1,1):(1,1)] + 3@laneid", "S[1,1]", lanes=1, guard="elected", block=[8])
    answer = model(subject).check()
    assert answer.failures == {"dst.owner": Point({"elected": 0}, 0, 0, 0, (0,), (), (0,))}
    assert model(load(begin="laneid * 9", block=[4], guard="elected")).check().failures["src.aligned"] == Point(
        {"elected": 1}, 0, 0, 1, atom=(0,)
    )


def test_malformed_points_are_refused():
    checked = model(load(begin="n", symbols=[N]))
    with pytest.raises(ValueError, match=r"no clause 'src\.distinct'"):
        checked.observe("src.distinct", Point())
    with pytest.raises(ValueError, match="names no thread"):
        checked.observe("src.bounds", Point({"n": 0}))
    with pytest.raises(ValueError, match="no value for n"):
        checked.observe("src.bounds", Point({"m": 0}, 0, 0, 0, atom=(0,)))
    with pytest.raises(ValueError, match="is none of src"):
        checked.observe("src.bounds", Point({"n": 0}, 0, 0, 0, atom=(0, 0)))
    with pytest.raises(ValueError, match="decided at a thread"):
        checked.observe("participation", Point({"n": 0}))


@pytest.mark.parametrize(
    "point",
    [
        Point({"n": 16}, 0, 0, 0, atom=(0,)),
        Point({"n": 1}, 0, 0, 32, atom=(0,)),
        Point({"n": 1}, 0, 0, 0, atom=(4,)),
        Point({"n": 2}, 0, 0, 0, atom=(0,)),
        Point({"n": 1}, 0, 0, 5, atom=(0,)),
    ],
)
def test_points_outside_the_domain_show_nothing(point: Point):
    checked = model(load(begin="n", symbols=[N], assume=["n != 2"], guard="laneid != 5"))
    assert checked.observe("src.aligned", replace(point, symbols={"n": 1}, lane=0, atom=(0,))) is not None
    assert checked.observe("src.aligned", point) is None


def test_the_lanes_of_a_collective_are_owners_and_providers():
    subject = matrix(memory="S[(1,8,4):(32,4,2)]")
    clause, point, _, checked = failure({**subject})
    assert (clause, point.lane, point.atom) == ("src.contiguous", 0, (0, 0, 1))
    assert checked.observe(clause, replace(point, lane=1)) is None
    assert checked.observe(clause, replace(point, lane=1, atom=(0, 1, 1))) is not None
    assert LANES in subject["operands"][0]["layout"]
