"""Every ldmatrix and stmatrix form that sm_90 has: dense, scattered and swizzled rows, separated slots, all scopes, symbol starts, pred."""

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
    """All ldmatrix and stmatrix forms: dense, scattered and swizzled rows, separated slots, every scope, symbol starts, pred."""
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
