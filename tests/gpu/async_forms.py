"""The asynchronous copies that a GPU reconstructs: cp.async in all its forms, bulk copies in every direction, reductions.

Chunks start at symbols; where several threads copy, each has a chunk of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.gpu.documents import POLICIES, Form, Json, document
from tilecheck.spec import find_entry

BARRIER = "mbarrier::complete_tx::bytes"
POLICY = {"name": "policy", "min": 0}
START = {"name": "n", "min": 0, "max": 2}
DTYPES = {"u": "uint", "s": "int", "b": "bits"}
REDUCTIONS = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}


def side(name: str, space: str, dtype: str, shape: list[int], layout: str, *view: Json, align: int = 16, **rest: object) -> Json:
    """A memory operand."""
    found: Json = {"name": name, "space": space, "dtype": dtype, "shape": shape, "layout": layout, "align": align, **rest}
    return found | ({"view": list(view)} if view else {})


def cut(begin: list[object], extent: list[int]) -> Json:
    """A slice step."""
    return {"op": "slice", "begin": begin, "extent": extent}


def chunks(opcode: str, size: int, name: str, *, bits: int = 32, hint: str = "", swizzled: bool = False, **parameters: object) -> Form:
    """A warp, each lane with two chunks: every fourth of a global row, into padded (or swizzled) shared rows."""
    count = 8 * size // bits
    pitch = 2 * count + 16 * 8 // bits
    layout = f"S[(32,2,{count}):({pitch},{count},1)]"
    if swizzled:
        layout = f"Swizzle({count.bit_length() - 1},3,3) o S[(32,2,{count}):({2 * count},{count},1)]"
    target = side("SM", "shared", f"bits{bits}", [32, 2, count], layout)
    source = side(
        "A",
        "global",
        f"bits{bits}",
        [32, 8, count],
        f"S[(32,8,{count}):({8 * count},{count},1)]",
        cut([0, "4 * n", 0], [32, 4, count]),
        {"op": "rearrange", "pattern": "l (r two) e -> two l r e", "sizes": {"two": 2}},
        cut([1, 0, 0, 0], [1, 32, 2, count]),
        {"op": "rearrange", "pattern": "one l r e -> (one l) r e", "sizes": {}},
    )
    symbols: list[Json] = [{"name": "n", "min": 0, "max": 1}]
    values: dict[str, int | list[int]] = {"n": 1}
    if hint:
        symbols, values = [*symbols, POLICY], {**values, "policy": POLICIES[hint]}
        parameters["cache_policy"] = "policy"
    own = document(
        name, opcode, [target, source], "warp", symbols=symbols, launch={"block": [64], "cluster": None}, guard="warpid == 1",
        parameters={"chunk_bytes": size, **parameters},
    )  # fmt: skip
    return Form("async", name, own, values)


def cp_async() -> Iterator[Form]:
    """Every spelling of cp.async; sizes, element widths, zero fill, predicates, a swizzled destination."""
    entry = find_entry("cp.async")
    assert entry is not None
    for qualifiers in entry.grammar.legal():
        opcode = entry.grammar.spell(qualifiers)
        hint = "first" if qualifiers["hint"] else ""
        for size in (16,) if qualifiers["cop"] == "cg" else (4, 8, 16):
            yield chunks(opcode, size, f"{opcode} of {size} bytes", hint=hint)
    ca, cg = "cp.async.ca.shared.global", "cp.async.cg.shared.global"
    for bits in (8, 16, 64, 128):
        yield chunks(ca, 16, f"{ca}, elements of {bits} bits", bits=bits)
    yield chunks(ca, 4, f"{ca}, 4-bit elements", bits=8)
    yield chunks(ca, 16, f"{ca}, swizzled", swizzled=True)
    for size in (4, 8, 16):
        for held in (0, 1, size - 1, size):
            yield chunks(ca, size, f"{ca} of {size} bytes, src_size {held}", src_size=held)
    yield chunks(cg, 16, f"{cg}, src_size by lane", src_size="laneid % 17")
    yield chunks(cg, 16, f"{cg}, ignore_src by lane", ignore_src="laneid % 3 == 0")
    yield chunks(ca, 8, f"{ca}, pred by lane", pred="laneid % 2 == 1")
    yield chunks(ca, 16, f"{ca}, pred and ignore_src", pred="laneid >= 8", ignore_src="laneid < 16")
    yield chunks("cp.async.cg.shared.global.L2::cache_hint", 16, f"{cg}, hint and src_size", hint="last", src_size="n + 4")


def run_of(
    name: str,
    opcode: str,
    size: int,
    target: tuple[str, str],
    source: tuple[str, str],
    *,
    dtype: str = "bits32",
    bits: int = 32,
    cluster: list[int] | None = None,
    guard: str = "tx == 0",
    elected: int = 0,
    hint: str = "",
    one_tensor: bool = False,
    **parameters: object,
) -> Form:
    """One thread moves two chunks of `size` bytes; the chunks of both sides lie apart, the first starts at 16 n bytes."""
    count, unit = 8 * size // bits, 128 // bits

    def operand(name: str, space: str, begin: str, pitch: int) -> Json:
        whole = count + 2 * unit
        return side(
            name, space, dtype, [2, whole], f"S[(2,{whole}):({whole + pitch * unit},1)]", cut([0, begin], [2, count]),
            **({"tensor": "T", "size_bytes": 8 * size + 256} if one_tensor else {}),
        )  # fmt: skip

    to, come = operand(*target, f"{unit} * n", 1), operand(*source, f"{2 * unit} - {unit} * n", 3)
    if one_tensor:
        come["layout"] = str(come["layout"]) + f" + {3 * count + 8 * unit}"
    symbols: list[Json] = [START]
    values: dict[str, int | list[int]] = {"n": 1}
    if hint:
        symbols, values = [*symbols, POLICY], {**values, "policy": POLICIES[hint]}
        parameters["cache_policy"] = "policy"
    launch = {"block": [64], "cluster": cluster}
    own = document(
        name, opcode, [to, come], "thread", symbols=symbols, launch=launch, guard=guard, parameters={"chunk_bytes": size, **parameters}
    )
    return Form("async", name, own, values, elected)


SHARED, GLOBAL, STAGE = ("D", "shared"), ("A", "global"), ("E", "shared")


def loads() -> Iterator[Form]:
    """Global to shared memory: sizes, windows, hints, an elected thread, a cluster, multicast."""
    plain = f"cp.async.bulk.shared::cluster.global.{BARRIER}"
    for size in (16, 48, 1024, 16384):
        yield run_of(f"{plain} of {size} bytes", plain, size, SHARED, GLOBAL, mbar="shared", expected_bytes=2 * size)
    yield run_of(f"{plain}, bytes", plain, 112, SHARED, GLOBAL, dtype="uint8", bits=8, mbar="shared")
    yield run_of(f"{plain}, elected", plain, 64, SHARED, GLOBAL, guard="elected and warpid == 1", elected=5, mbar="shared")
    yield run_of(f"{plain}, a cluster", plain, 64, SHARED, GLOBAL, cluster=[2, 1, 1], mbar="shared")
    yield run_of(f"{plain}, hint", f"{plain}.L2::cache_hint", 64, SHARED, GLOBAL, hint="first", mbar="shared")
    yield run_of(f"{plain}, pred false in one CTA", plain, 64, SHARED, GLOBAL, cluster=[2], mbar="shared", pred="cbx == 1")
    window = f"cp.async.bulk.shared::cta.global.{BARRIER}"
    yield run_of(window, window, 64, SHARED, GLOBAL, mbar="shared")
    yield run_of(f"{window}, hint", f"{window}.L2::cache_hint", 64, SHARED, GLOBAL, hint="last", mbar="shared")
    many = f"{plain}.multicast::cluster"
    one = "cbx == 0 and tx == 0"
    yield run_of(f"{many} to both", many, 256, SHARED, GLOBAL, cluster=[2, 1, 1], guard=one, mbar="shared", cta_mask=3, expected_bytes=512)
    yield run_of(f"{many} to the other", many, 256, SHARED, GLOBAL, cluster=[2], guard=one, mbar="shared", cta_mask=2)
    yield run_of(f"{many} from each to the next", many, 64, SHARED, GLOBAL, cluster=[4], mbar="shared", cta_mask="1 << (cbx + 1) % 4")
    yield run_of(
        f"{many} to three of 2 x 2",
        many,
        64,
        SHARED,
        GLOBAL,
        cluster=[2, 2],
        guard="tx == 0 and cbx + cby == 2",
        mbar="shared",
        cta_mask=11,
    )
    yield run_of(
        f"{many}, hint",
        f"{many}.L2::cache_hint",
        64,
        SHARED,
        GLOBAL,
        cluster=[2],
        guard=one,
        hint="last",
        mbar="shared",
        cta_mask="3 - n % 2",
    )


def lanes(name: str, opcode: str, target: tuple[str, str], source: tuple[str, str], **parameters: object) -> Form:
    """A warp, each lane with a chunk of 32 bytes of its own."""

    def operand(name: str, space: str, pitch: int) -> Json:
        return side(name, space, "float16", [32, 16], f"S[(32,16):({pitch},1)]")

    own = document(
        name, opcode, [operand(*target, 24), operand(*source, 40)], "warp", launch={"block": [32], "cluster": None},
        parameters={"chunk_bytes": 32, **parameters},
    )  # fmt: skip
    return Form("async", name, own)


def others() -> Iterator[Form]:
    """To global memory, to another CTA, prefetch; a chunk for every lane."""
    store = "cp.async.bulk.global.shared::cta.bulk_group"
    for size in (16, 48, 1024, 16384):
        yield run_of(f"{store} of {size} bytes", store, size, GLOBAL, STAGE)
    yield run_of(f"{store}, hint", f"{store}.L2::cache_hint", 64, GLOBAL, STAGE, hint="first")
    yield run_of(f"{store}, one CTA of two", store, 64, GLOBAL, STAGE, cluster=[2], guard="cbx == 1 and tx == 32")
    remote = f"cp.async.bulk.shared::cluster.shared::cta.{BARRIER}"
    yield run_of(
        f"{remote} from 0 to 1", remote, 64, SHARED, STAGE, cluster=[2, 1, 1], guard="cbx == 0 and tx == 0", mbar="shared", remote_cta_id=1
    )
    yield run_of(
        f"{remote}, exchanged", remote, 256, SHARED, STAGE, cluster=[2, 1, 1], mbar="shared", remote_cta_id="1 - cbx", expected_bytes=512
    )
    yield run_of(
        f"{remote}, a ring of four", remote, 64, SHARED, STAGE, cluster=[2, 2], mbar="shared", remote_cta_id="(cbx + 2 * cby + 1) % 4"
    )
    yield run_of(f"{remote}, one tensor", remote, 64, SHARED, STAGE, cluster=[2], mbar="shared", remote_cta_id="1 - cbx", one_tensor=True)
    yield lanes(f"{store}, every lane", store, GLOBAL, STAGE)
    load = f"cp.async.bulk.shared::cluster.global.{BARRIER}"
    yield lanes(f"{load}, every lane", load, SHARED, GLOBAL, mbar="shared", expected_bytes=1024)
    for hint in ("", "first"):
        opcode = "cp.async.bulk.prefetch.L2.global" + (".L2::cache_hint" if hint else "")
        form = run_of(opcode, opcode, 256, SHARED, GLOBAL, hint=hint)
        form.document["operands"] = form.document["operands"][1:]  # type: ignore[index]
        yield form


def reductions() -> Iterator[Form]:
    """Every operator and type in global memory, and in the shared memory of another CTA."""
    entry = find_entry("cp.reduce.async.bulk")
    assert entry is not None
    for qualifiers in entry.grammar.legal():
        opcode, kind = entry.grammar.spell(qualifiers), qualifiers["type"]
        bits = int(kind.lstrip("bfus"))
        dtype = REDUCTIONS.get(kind) or f"{DTYPES[kind[0]]}{bits}"
        hint = "last" if qualifiers["hint"] else ""
        if qualifiers["dst"] == "global":
            yield run_of(opcode, opcode, 256, GLOBAL, STAGE, dtype=dtype, bits=bits, hint=hint)
            continue
        remote = {"mbar": "shared", "remote_cta_id": "1 - cbx"}
        yield run_of(opcode, opcode, 256, SHARED, STAGE, dtype=dtype, bits=bits, cluster=[2], **remote)


def async_forms() -> list[Form]:
    """Every form of sm_90."""
    return [*cp_async(), *loads(), *others(), *reductions()]


def later_async_forms() -> list[Form]:
    """The stores that skip bytes, which sm_100 has."""
    store = "cp.async.bulk.global.shared::cta.bulk_group"
    return [
        run_of(f"{store}.cp_mask", f"{store}.cp_mask", 64, GLOBAL, STAGE, byteMask=0x0FF1),
        run_of(f"{store}.L2::cache_hint.cp_mask", f"{store}.L2::cache_hint.cp_mask", 64, GLOBAL, STAGE, hint="last", byteMask="n * 257"),
    ]
