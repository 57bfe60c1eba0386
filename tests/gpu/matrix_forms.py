"""Every ldmatrix, stmatrix and movmatrix form that sm_90 has (dense, scattered and swizzled rows, separated slots, all scopes, symbol starts, pred),
and the forms of 8-bit elements, which it has not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.gpu.documents import Form, Json, document, ordered, register


def matrix_bank(num: int, *, warps: str = "", separated: int = 1, repeat: int = 0) -> Json:
    """Registers (warp..., repeat, matrix, row, word), lane 4 * row + word, `separated` slots apart."""
    shape, strides = [num, 8, 4], [str(separated), "4@laneid", "1@laneid"]
    if repeat:
        shape, strides = [repeat, *shape], [str(num * separated), *strides]
    for extent, axis in (part.split(":") for part in reversed(warps.split()) if part):
        shape, strides = [int(extent), *shape], [axis, *strides]
    return register(shape, f"S[({','.join(map(str, shape))}):({','.join(strides)})]", "uint32")


def matrix_forms() -> Iterator[Form]:
    """All ldmatrix and stmatrix forms of sm_90, and movmatrix: dense, scattered and swizzled rows, separated slots, every scope, symbol starts, pred."""
    for mnemonic in ("ldmatrix", "stmatrix"):
        for num in (1, 2, 4):
            for trans in ("", ".trans"):
                for space in ("shared", "shared::cta"):
                    op = f"{mnemonic}.sync.aligned.m8n8.x{num}{trans}.{space}.b16"
                    yield from _matrix_rows(op, num)
                if num == 4:
                    yield from _matrix_scopes(f"{mnemonic}.sync.aligned.m8n8.x{num}{trans}.shared.b16", num)
    yield from _matrix_conditions()
    interleaved: Json = {
        "name": "SM",
        "space": "shared",
        "dtype": "uint32",
        "shape": [16, 4, 2],
        "align": 16,
        "layout": "S[(16,4,2):(8,1,128)]",
        "view": [{"op": "rearrange", "pattern": "(r m) w k -> k m r w", "sizes": {"r": 8, "m": 2}}],
    }
    registers = register([2, 2, 8, 4], "S[(2,2,8,4):(8,2,4@laneid,1@laneid)]", "uint32", size_bytes=48)
    op = "ldmatrix.sync.aligned.m8n8.x2.shared.b16"
    yield _matrix("SPEC: ldmatrix of interleaved rows into separated registers", op, registers, interleaved, "warp")
    yield from movmatrix_forms()


MOVMATRIX = "movmatrix.sync.aligned.m8n8.trans.b16"


def fragment(name: str, slots: str, group: str = "", **rest: object) -> Json:
    """Registers of 8x8 matrices: `slots` is `extent:stride` of the repeats, `group` of the group axes, both separated by spaces."""
    factors = [part.split(":") for part in (*group.split(), *slots.split())]
    shape = [*(int(extent) for extent, _ in factors), 8, 4]
    strides = [*(stride for _, stride in factors), "4@laneid", "1@laneid"]
    return {
        **register(shape, f"S[({','.join(map(str, shape))}):({','.join(strides)})]{rest.pop('tail', '')}", "uint32", **rest),
        "name": name,
    }


def movmatrix_forms() -> Iterator[Form]:
    """One matrix; repeats in separated and descending slots; a replicated source; every scope; guard and pred; in place."""

    def transposed(what: str, target: Json, source: Json, scope: str = "warp", **rest: object) -> Form:
        values: Mapping[str, int | list[int]] = rest.pop("values", {})  # type: ignore[assignment]
        name = f"{MOVMATRIX}, {what}"
        return Form("matrix", name, document(name, MOVMATRIX, [target, source], scope, **rest), values)

    yield transposed("one matrix", fragment("R", ""), fragment("F", ""))
    yield transposed("separated slots", fragment("R", "3:3", tail=" + 2"), fragment("F", "3:-2", tail=" + 5"))
    yield transposed("a replicated source", fragment("R", ""), fragment("F", "", tail=" + R[2:3]"))
    for scope, group, block in (("warpgroup", "4:1@wid_in_wg", 128), ("cta", "3:1@warpid", 96)):
        yield transposed(f"{scope} scope", fragment("R", "2:1", group), fragment("F", "2:4", group), scope, launch={"block": [block]})
    group = "2:1@cbx 2:1@warpid"
    yield transposed(
        "cluster scope", fragment("R", "2:2", group), fragment("F", "2:1", group), "cluster", launch={"block": [64], "cluster": [2]}
    )
    yield transposed("guard warpid == 2", fragment("R", "2:1"), fragment("F", "2:2"), launch={"block": [128]}, guard="warpid == 2")
    for pred, value in (("n > 8", 16), ("n <= 8", 16), ("warpid == 1", 0)):
        yield transposed(
            f"pred {pred}",
            fragment("R", "2:1", "2:1@warpid"),
            fragment("F", "2:3", "2:1@warpid"),
            "cta",
            values={"n": value},
            launch={"block": [64]},
            symbols=[{"name": "n", "min": 0, "max": 16}],
            parameters={"pred": pred, "preserve_dst": True},
        )
    yield transposed("in place", fragment("R", "3:2", tensor="X"), fragment("F", "3:2", tensor="X"))
    yield transposed(
        "each repeat reads what the one before wrote", fragment("R", "3:1", tail=" + 1", tensor="X"), fragment("F", "3:1", tensor="X")
    )


def byte_forms() -> Iterator[Form]:
    """Every form of 8-bit elements: the rows of a tile of bytes, 48 bytes apart, and registers in descending slots."""
    shapes = (
        ("ldmatrix", "m16n16", 16, (1, 2), ".trans", ("b8", "b8x16.b6x16_p32", "b8x16.b4x16_p64")),
        ("ldmatrix", "m8n16", 8, (1, 2, 4), "", ("b8x16.b6x16_p32", "b8x16.b4x16_p64")),
        ("stmatrix", "m16n8", 8, (1, 2, 4), ".trans", ("b8",)),
    )
    for mnemonic, shape, rows, numbers, trans, types in shapes:
        for num in numbers:
            for kind in types:
                op = f"{mnemonic}.sync.aligned.{shape}.x{num}{trans}.shared.{kind}"
                count = rows // 8 * num
                registers = register(
                    [num, rows, 4], f"S[({num},{rows // 8},8,4):({-rows // 8},-1,4@laneid,1@laneid)] + {count - 1}", "uint32"
                )
                memory: Json = {
                    "name": "A",
                    "space": "shared",
                    "dtype": "uint8",
                    "shape": [num * rows, 48],
                    "align": 16,
                    "view": [
                        {"op": "slice", "begin": [0, "n"], "extent": [num * rows, 16]},
                        {"op": "view", "dtype": "uint32"},
                        {"op": "rearrange", "pattern": "(k r) w -> k r w", "sizes": {"k": num}},
                    ],
                }
                symbols = [{"name": "n", "min": 0, "max": 32, "multiple_of": 16}]
                yield _matrix(op, op, registers, memory, "warp", values={"n": 16}, symbols=symbols)


def _matrix(name: str, op: str, registers: Json, memory: Json, scope: str, **rest: object) -> Form:
    values: Mapping[str, int | list[int]] = rest.pop("values", {})  # type: ignore[assignment]
    return Form("matrix", name, document(name, op, ordered(op, registers, memory), scope, **rest), values)


def _matrix_rows(op: str, num: int) -> Iterator[Form]:
    """Dense rows; rows 80 bytes apart with the matrices interleaved; the rows of a swizzled half-precision tile from a symbol on."""
    dense = {"name": "A", "space": "shared", "dtype": "uint32", "shape": [num, 8, 4], "align": 16, "layout": f"S[({num},8,4):(32,4,1)]"}
    yield _matrix(f"{op}, dense", op, matrix_bank(num), dense, "warp")
    scattered = {
        "name": "A",
        "space": "shared",
        "dtype": "float32",
        "shape": [2, 8, num, 4],
        "align": 16,
        "layout": f"S[(2,8,{num},4):(4,{20 * num},20,1)]",
        "view": [{"op": "rearrange", "pattern": "k r m w -> k m r w", "sizes": {}}],
    }
    yield _matrix(f"{op}, scattered rows", op, matrix_bank(num, separated=3, repeat=2), scattered, "warp")
    for swizzle, columns in (("Swizzle(2,3,3)", 32), ("Swizzle(3,3,3)", 64), ("Swizzle(3,2,3)", 32), ("Swizzle(3,1,4,outer)", 64)):
        if swizzle == "Swizzle(2,3,3)":
            dtype, per_row, view = "uint32", columns, []
        else:
            dtype, per_row, view = "float16", columns, [{"op": "view", "dtype": "uint32"}]
        words = 4 * num
        half = 2 if dtype == "float16" else 1
        tile_ = {
            "name": "A",
            "space": "shared",
            "dtype": dtype,
            "shape": [64, per_row],
            "align": 1024,
            "layout": f"{swizzle} o S[(64,{per_row}):({per_row},1)]",
            "view": [
                {"op": "slice", "begin": ["n", 0], "extent": [8, words * half]},
                *view,
                {"op": "rearrange", "pattern": "r (m w) -> m r w", "sizes": {"w": 4}},
            ],
        }
        symbols = [{"name": "n", "min": 0, "max": 56, "multiple_of": 4}]
        yield _matrix(f"{op}, {swizzle} of {dtype}", op, matrix_bank(num, separated=2), tile_, "warp", values={"n": 12}, symbols=symbols)


def _matrix_scopes(op: str, num: int) -> Iterator[Form]:
    """Warpgroup, CTA and cluster scope, and one warp of four."""

    def rows(warps: list[int], strides: list[str]) -> Json:
        shape = [*warps, 2, num, 8, 4]
        return {
            "name": "A",
            "space": "shared",
            "dtype": "int32",
            "shape": shape,
            "align": 16,
            "layout": f"S[({','.join(map(str, shape))}):({','.join([*strides, str(32 * num), '32', '4', '1'])})]",
        }

    each = 64 * num
    yield _matrix(f"{op} at warpgroup scope", op, matrix_bank(num, warps="4:1@wid_in_wg", repeat=2), rows([4], [str(each)]), "warpgroup")
    yield _matrix(
        f"{op} at cta scope", op, matrix_bank(num, warps="3:1@warpid", repeat=2), rows([3], [str(each)]), "cta", launch={"block": [96]}
    )
    yield _matrix(
        f"{op} at cluster scope",
        op,
        matrix_bank(num, warps="2:1@cbx 2:1@warpid", repeat=2),
        rows([2, 2], ["1@cbx", str(each)]),
        "cluster",
        launch={"block": [64], "cluster": [2]},
    )
    yield _matrix(
        f"{op}, guard warpid == 2", op, matrix_bank(num, repeat=2), rows([], []), "warp", launch={"block": [128]}, guard="warpid == 2"
    )


def _matrix_conditions() -> Iterator[Form]:
    for mnemonic in ("ldmatrix", "stmatrix"):
        op = f"{mnemonic}.sync.aligned.m8n8.x2.shared.b16"
        for pred in ("n > 8", "n <= 8", "warpid == 1"):
            memory: Json = {
                "name": "A",
                "space": "shared",
                "dtype": "uint32",
                "shape": [2, 64, 2, 4],
                "align": 16,
                "layout": "S[(2,64,2,4):(512,8,4,1)]",
                "view": [{"op": "slice", "begin": [0, "n", 0, 0], "extent": [2, 8, 2, 4]}, {"op": "permute", "order": [0, 2, 1, 3]}],
            }
            parameters: Json = {"pred": pred, **({"preserve_dst": True} if mnemonic == "ldmatrix" else {})}
            yield _matrix(
                f"{op}, pred {pred}",
                op,
                matrix_bank(2, warps="2:1@warpid", separated=2),
                memory,
                "cta",
                values={"n": 16},
                launch={"block": [64]},
                symbols=[{"name": "n", "min": 0, "max": 56, "multiple_of": 8}],
                parameters=parameters,
            )
