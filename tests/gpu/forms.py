"""The calls that a GPU reconstructs: one document for every form of ld, st, ldmatrix, stmatrix and movmatrix that sm_90 has.

Addresses start at symbols, registers are separated or permuted, and no two threads store to one byte unless the form is about that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.gpu.async_forms import async_forms, later_async_forms
from tests.gpu.documents import DTYPES, POLICIES, TYPED, WIDTHS, Form, Json, bank, document, ordered, register, starts, warp_memory
from tests.gpu.im2col_forms import walk_forms
from tests.gpu.matrix_forms import byte_forms, matrix_forms
from tests.gpu.tma_forms import later_tma_forms, tma_forms

__all__ = ["Form", "all_forms", "later_forms", "register_forms", "wide_forms"]


def plain(opcode: str, vec: int, bits: int, *, dtype: str = "", permuted: bool = False, name: str = "", **parameters: object) -> Form:
    """One ld or st at warp scope in the space it names, with its start at 2 vectors."""
    kind = dtype or DTYPES[bits]
    space = next(part.split("::")[0] for part in opcode.split(".") if part.split("::")[0] in {"global", "shared", "local"})
    operands = ordered(opcode, bank(vec, kind, permuted=permuted), warp_memory(space, vec, bits, kind))
    own = document(name or opcode, opcode, operands, "warp", symbols=starts(vec), parameters=parameters)
    return Form("memory", name or opcode, own, {"n": 2 * vec})


def vectors(widest: int = 128) -> Iterator[tuple[str, int, int]]:
    """(vector qualifier and type, vector length, element bits) of every raw width up to `widest` bits."""
    for name, bits in WIDTHS.items():
        yield f".{name}", 1, bits
        for vec in (2, 4):
            if bits < 128 and vec * bits <= widest:
                yield f".v{vec}.{name}", vec, bits


def memory_widths() -> Iterator[Form]:
    """Every width and vector of ld and st in global, shared and local memory; every typed scalar."""
    number = 0
    for space in ("global", "shared", "local"):
        for text, vec, bits in vectors():
            for mnemonic in ("ld", "st"):
                number += 1
                yield plain(f"{mnemonic}.{space}{text}", vec, bits, permuted=number % 3 == 0)
    for name, dtype in TYPED.items():
        bits = int(name[1:])
        for mnemonic in ("ld", "st"):
            yield plain(f"{mnemonic}.global.{name}", 1, bits, dtype=dtype)
            if bits >= 32:
                yield plain(f"{mnemonic}.shared.v2.{name}", 2, bits, dtype=dtype, permuted=True)
    for mnemonic in ("ld", "st"):
        yield plain(f"{mnemonic}.global.v4.f32", 4, 32, dtype="float32", permuted=True)
        yield plain(f"{mnemonic}.shared.v4.u32", 4, 32, dtype="int32")


def memory_qualifiers() -> Iterator[Form]:
    """Every cache operator, eviction priority, prefetch size, hint, ordering and window of ld and st."""
    v4, v2, one = (".v4.b32", 4, 32), (".v2.b64", 2, 64), (".b32", 1, 32)
    for space in ("global", "shared", "local"):
        for operator in ("ca", "cg", "cs", "lu", "cv"):
            yield plain(f"ld.{space}.{operator}{v4[0]}", *v4[1:])
        for operator in ("wb", "cg", "cs", "wt"):
            yield plain(f"st.{space}.{operator}{v4[0]}", *v4[1:], permuted=True)
    for priority in ("evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate"):
        yield plain(f"ld.global.L1::{priority}{v2[0]}", *v2[1:])
        yield plain(f"st.global.L1::{priority}{v4[0]}", *v4[1:])
        yield plain(f"ld.global.nc.L1::{priority}{v4[0]}", *v4[1:], permuted=True)
    for size in ("64B", "128B", "256B"):
        yield plain(f"ld.global.L2::{size}{v4[0]}", *v4[1:])
        yield plain(f"ld.global.nc.L1::no_allocate.L2::{size}{v2[0]}", *v2[1:])
    for word, policy in POLICIES.items():
        yield plain(f"ld.global.L2::cache_hint{v4[0]}", *v4[1:], name=f"ld hint {word}", cache_policy=policy)
        yield plain(f"st.global.L2::cache_hint{v4[0]}", *v4[1:], name=f"st hint {word}", cache_policy=policy)
    yield plain("ld.global.nc.L1::evict_last.L2::cache_hint.L2::128B.v4.b32", 4, 32, cache_policy=POLICIES["last"])
    for opcode in ("ld.global.nc.b32", "ld.global.ca.nc.b32", "ld.global.cg.nc.v4.b32", "ld.global.cs.nc.v2.b64", "ld.global.nc.b128"):
        yield plain(opcode, *_width(opcode))
    yield plain("ld.weak.local.v2.b64", 2, 64)
    yield plain("st.weak.local.v4.b32", 4, 32)
    for space in ("global", "shared"):
        for order in ("weak", "volatile"):
            yield plain(f"ld.{order}.{space}{v4[0]}", *v4[1:])
            yield plain(f"st.{order}.{space}{v2[0]}", *v2[1:], permuted=True)
        for scope in ("cta", "cluster", "gpu", "sys"):
            for order, mnemonic in (("relaxed", "ld"), ("acquire", "ld"), ("relaxed", "st"), ("release", "st")):
                yield plain(f"{mnemonic}.{order}.{scope}.{space}{one[0]}", *one[1:])
    yield plain("ld.mmio.relaxed.sys.global.b32", 1, 32)
    yield plain("st.mmio.relaxed.sys.global.b32", 1, 32)
    for window in ("shared::cta", "shared::cluster"):
        for text, vec, bits in (v4, v2, one):
            yield plain(f"ld.{window}{text}", vec, bits)
            yield plain(f"st.{window}{text}", vec, bits, permuted=True)


def _width(opcode: str) -> tuple[int, int]:
    """(vector length, element bits) that a spelling writes."""
    parts = opcode.split(".")
    vec = next((int(part[1:]) for part in parts if part in {"v2", "v4", "v8"}), 1)
    return vec, int(parts[-1][1:])


def threads_form(name: str, opcode: str, *, block: list[int], memory: Json, registers: Json, scope: str, **rest: object) -> Form:
    """A form with a launch of its own."""
    values: Mapping[str, int | list[int]] = rest.pop("values", {})  # type: ignore[assignment]
    elected = int(rest.pop("elected", 0))  # type: ignore[arg-type]
    launch = {"block": block, "cluster": rest.pop("cluster", None)}
    return Form("memory", name, document(name, opcode, ordered(opcode, registers, memory), scope, launch=launch, **rest), values, elected)


def tile(space: str, shape: list[int], layout: str, *, align: int = 16, view: list[Json] | None = None) -> Json:
    """The memory operand A of 32-bit words."""
    return {
        "name": "A",
        "space": space,
        "dtype": "bits32",
        "shape": shape,
        "layout": layout,
        "align": align,
        **({"view": view} if view else {}),
    }


def memory_scopes() -> Iterator[Form]:
    """Thread, warp, warpgroup, CTA and cluster scope, in global and shared memory."""
    for mnemonic in ("ld", "st"):
        for space in ("global", "shared"):
            op = f"{mnemonic}.{space}.v4.b32"
            yield threads_form(
                f"{op} at warpgroup scope",
                op,
                block=[128],
                scope="warpgroup",
                registers=register([4, 32, 2, 4], "S[(4,32,2,4):(1@wid_in_wg,1@laneid,4,1)] + 3", "bits32"),
                memory=tile(space, [4, 32, 2, 4], "S[(4,32,2,4):(256,8,4,1)]"),
            )
            yield threads_form(
                f"{op} at cta scope, three warps",
                op,
                block=[96],
                scope="cta",
                registers=register([3, 32, 2, 4], "S[(3,32,2,4):(1@warpid,1@laneid,1,2)]", "bits32"),
                memory=tile(space, [3, 32, 2, 4], "S[(3,32,2,4):(256,4,128,1)]"),
            )
            yield threads_form(
                f"{op} at cta scope, block 16x2x4",
                op,
                block=[16, 2, 4],
                scope="cta",
                registers=register([4, 32, 4], "S[(4,32,4):(1@warpid,1@laneid,2)]", "bits32"),
                memory=tile(space, [4, 32, 4], "S[(4,32,4):(128,4,1)]"),
            )
            yield from _cluster_forms(op, space)
    yield from _thread_scope()


def _cluster_forms(op: str, space: str) -> Iterator[Form]:
    own = space == "shared"
    yield threads_form(
        f"{op} at cluster scope [2]",
        op,
        block=[64],
        cluster=[2],
        scope="cluster",
        registers=register([2, 2, 32, 4], "S[(2,2,32,4):(1@cbx,1@warpid,1@laneid,2)]", "bits32"),
        memory=tile(space, [2, 2, 32, 4], f"S[(2,2,32,4):({'1@cbx' if own else '1024'},128,4,1)]"),
    )
    yield threads_form(
        f"{op} at cluster scope [2,1,2]",
        op,
        block=[32],
        cluster=[2, 1, 2],
        scope="cluster",
        registers=register([2, 1, 2, 1, 32, 4], "S[(2,1,2,1,32,4):(1@cbz,1@cby,1@cbx,1@warpid,1@laneid,1)]", "bits32"),
        memory=tile(space, [2, 1, 2, 1, 32, 4], f"S[(2,1,2,1,32,4):({'1@cbz' if own else '256'},0,{'1@cbx' if own else '512'},0,4,1)]"),
    )


def _thread_scope() -> Iterator[Form]:
    """Thread scope, with lane-dependent, negative and floor arithmetic starts, hardware coordinates and varying symbols."""
    cases = (
        ("laneid * 4", [32], {}),
        ("warpid // 2 * 128 + warpid % 2 * 512 + laneid * 4", [128], {}),
        ("tx * 4", [96], {}),
        ("(n - 40) // 8 * 4 + 40 + 4 * laneid", [32], {"n": -13}),
        ("4 * ((n - laneid) % 37)", [32], {"n": -5}),
        ("tdiv(n, 3) * 4 + 256 + laneid * 4", [32], {"n": -35}),
        ("select(laneid < n, laneid, 63 - laneid) * 4", [32], {"n": 9}),
        ("(laneid ^ n % 8) * 4", [32], {"n": -3}),
        ("4 * (max(min(laneid, n), 0) + max(laneid, n + 3))", [32], {"n": 11}),
        ("((laneid << 3) >> 1 & 0xfc | 0) + 4 * (n - n // 7 * 7)", [32], {"n": -20}),
        ("wid_in_wg * 128 + wgid * 512 + 4 * (tid_in_wg % 32)", [160], {}),
        ("4 * (tmod(n, 7) + 6) + 4 * laneid", [32], {"n": -40}),
    )
    for mnemonic in ("ld", "st"):
        for begin, block, values in cases:
            symbols: list[Json] = [{"name": "n", "min": -40, "max": 40}] if values else []
            op = f"{mnemonic}.global.v4.b32"
            if mnemonic == "st" and "min(" in begin:
                values = {"n": 35}  # noqa: PLW2901 (other values let two lanes store to one place)
            yield threads_form(
                f"{op} at thread scope, start {begin}",
                op,
                block=block,
                scope="thread",
                symbols=symbols,
                values=values,
                registers=register([4], "S[4:3] + 1", "bits32"),
                memory=tile("global", [2048], "S[2048:1]", view=[{"op": "slice", "begin": [begin], "extent": [4]}]),
            )
    yield from _varying()


def _varying() -> Iterator[Form]:
    for varies, count in (("thread", 32), ("warp", 2), ("cta", 1)):
        values = [28, 404] if varies == "warp" else [4 * ((k * 29 + 7) % 128) for k in range(count)]
        begin = {"thread": "v", "warp": "v + 4 * laneid", "cta": "v + 4 * tx"}[varies]
        for mnemonic in ("ld", "st"):
            op = f"{mnemonic}.global.v4.b32"
            yield threads_form(
                f"{op}, start varies by {varies}",
                op,
                block=[32 if varies == "thread" else 64],
                scope="thread",
                values={"v": values},
                symbols=[{"name": "v", "min": 0, "max": 1024, "multiple_of": 4, "varies": varies}],
                registers=register([4], "S[4:1]", "bits32"),
                memory=tile("global", [2048], "S[2048:1]", view=[{"op": "slice", "begin": [begin], "extent": [4]}]),
            )


def memory_guards() -> Iterator[Form]:
    """Guards that leave sub-ranges of warps and lanes, the elected lane, predicates with and without preserve_dst."""
    for mnemonic in ("ld", "st"):
        op = f"{mnemonic}.shared.v2.b32"
        for guard, warps, lanes in (
            ("warpid >= 2", 2, 32),
            ("laneid < 16", 4, 16),
            ("warpid == 1 and laneid >= 8", 1, 24),
            ("warpid % 2 == 1", 2, 32),
        ):
            whose = {
                "warpid >= 2": "2@warpid",
                "laneid < 16": "",
                "warpid == 1 and laneid >= 8": "1@warpid + 8@laneid",
                "warpid % 2 == 1": "1@warpid",
            }[guard]
            step = "2@warpid" if "%" in guard else "1@warpid"
            yield threads_form(
                f"{op}, guard {guard}",
                op,
                block=[128],
                scope="cta",
                guard=guard,
                registers=register(
                    [warps, lanes, 2], f"S[({warps},{lanes},2):({step},1@laneid,3)]{' + ' + whose if whose else ''}", "bits32"
                ),
                memory=tile("shared", [warps, lanes, 2], f"S[({warps},{lanes},2):({2 * lanes},2,1)]", align=8),
            )
        yield threads_form(
            f"{op} at thread scope, guard elected",
            op,
            block=[48],
            scope="thread",
            guard="elected",
            elected=21,
            registers=register([2], "S[2:2]", "bits32"),
            memory=tile("shared", [256], "S[256:1]", align=8, view=[{"op": "slice", "begin": ["2 * laneid + 64 * warpid"], "extent": [2]}]),
        )
        yield threads_form(
            f"{op} at thread scope, guard tx % 3 == 1",
            op,
            block=[80],
            scope="thread",
            guard="tx % 3 == 1",
            registers=register([2], "S[2:-1] + 1", "bits32"),
            memory=tile("shared", [256], "S[256:1]", align=8, view=[{"op": "slice", "begin": ["2 * tx"], "extent": [2]}]),
        )
    yield from _predicates()


def _predicates() -> Iterator[Form]:
    for op in ("ld.global.v4.b32", "ld.shared.b64", "st.global.v4.b32", "st.shared.b16"):
        vec, bits = _width(op)
        space = op.split(".")[1]
        for pred, value in (("laneid % 2 == 0", 0), ("n > 0", 0), ("laneid >= n and laneid != 17", 2 * vec)):
            for preserve in (True, False) if op.startswith("ld") else (None,):
                name = f"{op}, pred {pred}" + ("" if preserve is None else ", preserve_dst" if preserve else ", dst not preserved")
                parameters: Json = {"pred": pred, **({"preserve_dst": preserve} if preserve else {})}
                operands = ordered(op, bank(vec, DTYPES[bits], permuted=True), warp_memory(space, vec, bits, DTYPES[bits]))
                yield Form("memory", name, document(name, op, operands, "warp", symbols=starts(vec), parameters=parameters), {"n": value})


def memory_examples() -> Iterator[Form]:
    """The worked examples of SPEC, dtype views, symbolic shapes, base residues, full shared memory, partial warps, large clusters."""
    yield threads_form(
        "SPEC: 64 threads, three 128-bit loads each",
        "ld.global.v4.b32",
        block=[64],
        scope="cta",
        registers=register([2, 32, 3, 4], "S[(2,32,3,4):(1@warpid,1@laneid,8,2)]", "float32"),
        memory={
            "name": "A",
            "space": "global",
            "dtype": "float32",
            "shape": [2, 32, 3, 64],
            "align": 16,
            "base": {"mod": 32, "is": 16},
            "view": [{"op": "slice", "begin": [0, 0, 0, "n"], "extent": [2, 32, 3, 4]}],
        },
        symbols=[{"name": "n", "min": 0, "max": 60, "multiple_of": 4}],
        values={"n": 20},
    )
    pattern: list[Json] = [{"op": "rearrange", "pattern": "i b j d -> j i (d b)", "sizes": {}}]
    layout, dense = "S[(15,2,7,2):(4,1,60,2)]", "S[(15,2,7,2):(8,2,120,4)]"
    for mnemonic in ("ld", "st"):
        for strides in (layout, dense):
            yield threads_form(
                f"SPEC: {mnemonic} of 105 vectors, register strides {strides}",
                f"{mnemonic}.global.v4.b32",
                block=[1],
                scope="thread",
                registers={**register([15, 2, 7, 2], strides, "float32"), "view": pattern},
                memory={
                    "name": "A",
                    "space": "global",
                    "dtype": "float32",
                    "shape": [15, 2, 7, 2],
                    "align": 16,
                    "layout": layout,
                    "view": pattern,
                },
            )
        half: list[Json] = [
            {"op": "slice", "begin": ["r", 0, 0], "extent": [1, 32, 8]},
            {"op": "view", "dtype": "uint32"},
            {"op": "reshape", "shape": [32, 4]},
        ]
        yield threads_form(
            f"{mnemonic} of halves seen as words, symbolic rows and pitch",
            f"{mnemonic}.global.v4.u32",
            block=[32],
            scope="warp",
            registers=register([32, 4], "S[(32,4):(1@laneid,1)]", "uint32"),
            memory={
                "name": "A",
                "space": "global",
                "dtype": "float16",
                "shape": ["rows", 32, 8],
                "align": 16,
                "layout": "S[(rows,32,8):(pitch,8,1)]",
                "view": half,
            },
            symbols=[
                {"name": "rows", "min": 1, "max": 8},
                {"name": "pitch", "min": 256, "max": 1024, "multiple_of": 8},
                {"name": "r", "min": 0, "max": 7},
            ],
            assume=["r < rows"],
            values={"rows": 3, "pitch": 264, "r": 2},
        )
        yield threads_form(
            f"{mnemonic} in 200000 bytes of shared memory",
            f"{mnemonic}.shared.v2.b64",
            block=[256],
            scope="cta",
            registers=register([8, 32, 2], "S[(8,32,2):(1@warpid,1@laneid,2)]", "bits64"),
            memory={
                "name": "A",
                "space": "shared",
                "dtype": "bits64",
                "shape": [12500, 2],
                "align": 128,
                "layout": "S[(12500,2):(2,1)]",
                "view": [{"op": "slice", "begin": ["n", 0], "extent": [256, 2]}, {"op": "reshape", "shape": [8, 32, 2]}],
            },
            symbols=[{"name": "n", "min": 0, "max": 12244}],
            values={"n": 12244},
        )
    yield from _odd_launches()


def _odd_launches() -> Iterator[Form]:
    for mnemonic in ("ld", "st"):
        yield threads_form(
            f"{mnemonic} at thread scope, block 5x3x3",
            f"{mnemonic}.shared.b64",
            block=[5, 3, 3],
            scope="thread",
            registers=register([1], "S[1:1] + 2", "bits64"),
            memory={
                "name": "A",
                "space": "shared",
                "dtype": "bits64",
                "shape": [96],
                "align": 8,
                "view": [{"op": "slice", "begin": ["2 * (32 * warpid + laneid) + tx % 2"], "extent": [1]}],
            },
        )
        yield threads_form(
            f"{mnemonic} at cluster scope [4,2,2]",
            f"{mnemonic}.global.v4.b32",
            block=[32],
            cluster=[4, 2, 2],
            scope="cluster",
            registers=register([2, 2, 4, 1, 32, 4], "S[(2,2,4,1,32,4):(1@cbz,1@cby,1@cbx,1@warpid,1@laneid,1)]", "bits32"),
            memory=tile("global", [2, 2, 4, 1, 32, 4], "S[(2,2,4,1,32,4):(1024,512,128,0,4,1)]"),
        )
        yield threads_form(
            f"{mnemonic} at thread scope in a cluster, start cbx * 256 + cby * 128 + 4 * laneid",
            f"{mnemonic}.global.v4.b32",
            block=[32],
            cluster=[2, 2],
            scope="thread",
            registers=register([4], "S[4:1]", "bits32"),
            memory=tile(
                "global", [512], "S[512:1]", view=[{"op": "slice", "begin": ["cbx * 256 + cby * 128 + 4 * laneid"], "extent": [4]}]
            ),
        )


def wide_forms() -> Iterator[Form]:
    """The 256-bit forms, which sm_90 does not have."""
    for text, vec, bits, dtype in (
        (".v8.b32", 8, 32, ""),
        (".v4.b64", 4, 64, ""),
        (".v8.f32", 8, 32, "float32"),
        (".v4.s64", 4, 64, "int64"),
    ):
        for mnemonic in ("ld", "st"):
            yield plain(f"{mnemonic}.global{text}", vec, bits, dtype=dtype)
    yield plain("ld.global.L1::no_allocate.L2::evict_last.L2::256B.v8.b32", 8, 32)
    yield plain("ld.global.nc.L2::evict_first.v4.b64", 4, 64)
    yield plain("st.global.L1::evict_last.L2::evict_normal.v4.b64", 4, 64)


def memory_forms() -> Iterator[Form]:
    """All ld and st forms."""
    yield from memory_widths()
    yield from memory_qualifiers()
    yield from memory_scopes()
    yield from memory_guards()
    yield from memory_examples()


def later_forms() -> list[Form]:
    """The forms that sm_90 does not have."""
    return [*wide_forms(), *later_async_forms(), *later_tma_forms(), *byte_forms()]


def all_forms() -> list[Form]:
    """Every form, named uniquely."""
    return [*register_forms(), *async_forms(), *tma_forms(), *walk_forms()]


def register_forms() -> list[Form]:
    """The forms that move bits between registers and memory or registers, each bit on its own."""
    return [*memory_forms(), *matrix_forms()]
