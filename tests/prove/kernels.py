"""Calls of kernels on tensor memory, to be checked together."""

from __future__ import annotations

from typing import Any

from tilecheck.call import Call
from tilecheck.document import read_call

ALLOC = "tcgen05.alloc.cta_group::{}.sync.aligned.shared::cta.b32"
FREE = "tcgen05.dealloc.cta_group::{}.sync.aligned.b32"
CLOSE = "tcgen05.relinquish_alloc_permit.cta_group::{}.sync.aligned"
COMMIT = "tcgen05.commit.cta_group::{}.mbarrier::arrive::one.shared::cluster.b64"
SHIFT = "tcgen05.shift.cta_group::{}.down"
HANDLE: dict[str, Any] = {"name": "H", "space": "shared", "dtype": "uint32", "shape": [1], "align": 4}


def call(opcode: str, operands: tuple[dict[str, Any], ...] = (), **more: Any) -> Call:
    """A call; `more`: keys of the document, or parameters."""
    keys = {"scope", "guard", "launch", "symbols", "id", "assume", "arch"}
    document = {"schema": "tilecheck/call@1", "opcode": opcode, "scope": "warp", "guard": "warpid == 0", "launch": {"block": [128]}}
    document |= {key: value for key, value in more.items() if key in keys}
    return read_call(document | {"operands": list(operands), "parameters": {k: v for k, v in more.items() if k not in keys}})


def product(column: object = 0, factor: object = None, **more: Any) -> Call:
    """A product of 128 x 64 x 16 in columns from `column` on; factor: the column of A in tensor memory, None for a matrix in shared memory."""
    symbols = more.pop("symbols", [])
    whole = "S[(1,1,128,512):(0@TCol,0@TCol,1@TLane,1@TCol)]"
    target: dict[str, Any] = {"name": "D", "space": "tmem", "dtype": "float32", "shape": [1, 1, 128, 512], "layout": whole}
    target["view"] = [{"op": "slice", "begin": [0, 0, 0, column], "extent": [None, None, None, 64]}]
    pattern = "Swizzle(3,3,3) o S[(1,1,{},16):(0,16,64,1)]"
    shared = {"space": "shared", "dtype": "float16", "align": 1024}
    left: dict[str, Any] = {"name": "A", **shared, "shape": [1, 1, 128, 16], "layout": pattern.format(128)}
    if factor is not None:
        left = {"name": "A", "space": "tmem", "dtype": "float16", "shape": [1, 1, 128, 1024], "layout": whole.replace("512", "1024")}
        left["view"] = [{"op": "slice", "begin": [0, 0, 0, f"2*({factor})"], "extent": [None, None, None, 16]}]
    right = {"name": "B", **shared, "shape": [1, 1, 64, 16], "layout": pattern.format(64)}
    fields = {"instruction_shape": [128, 64, 16], "accum": False, "b_descriptor": [16, 1024, 3]}
    fields |= {} if factor is not None else {"a_descriptor": [16, 1024, 3]}
    own = {"scope": "thread", "guard": "elected and warpid == 0", "symbols": symbols}
    return call("tcgen05.mma.cta_group::1.kind::f16", (target, left, right), **{**own, **fields, **more})


def loaded(column: object, count: int = 32, **more: Any) -> Call:
    """A warpgroup reads `count` columns of all lanes into registers."""
    registers = {
        "name": "R",
        "space": "register",
        "dtype": "uint32",
        "shape": [4, 32, count],
        "layout": f"S[(4,32,{count}):(1@wid_in_wg,1@laneid,1)]",
    }
    cells: dict[str, Any] = {
        "name": "D",
        "space": "tmem",
        "dtype": "uint32",
        "shape": [4, 32, 512],
        "layout": "S[(4,32,512):(32@TLane,1@TLane,1@TCol)]",
    }
    cells["view"] = [{"op": "slice", "begin": [0, 0, column], "extent": [None, None, count]}]
    return call(f"tcgen05.ld.sync.aligned.32x32b.x{count}.b32", (registers, cells), **{"scope": "warpgroup", "guard": True, **more})


def alloc(ncols: int, group: int = 1, **more: Any) -> Call:
    return call(ALLOC.format(group), (HANDLE,), ncols=ncols, **more)


def free(ncols: int, taddr: object = 0, group: int = 1, **more: Any) -> Call:
    return call(FREE.format(group), ncols=ncols, taddr=taddr, **more)


def close(group: int = 1, **more: Any) -> Call:
    return call(CLOSE.format(group), **more)


def commit(group: int = 1, **more: Any) -> Call:
    return call(COMMIT.format(group), mbar="shared", **{"scope": "thread", "guard": "tx == 0", **more})


def shift(layout: str, shape: tuple[int, ...] = (32, 8), group: int = 1, **more: Any) -> Call:
    """Rows of cells by one; `more`: dtype and view of the cells, or as of `call`."""
    cells: dict[str, Any] = {"name": "A", "space": "tmem", "dtype": "uint32", "shape": list(shape), "layout": layout}
    cells |= {key: more.pop(key) for key in ("view", "dtype") if key in more}
    return call(SHIFT.format(group), (cells,), **{"scope": "thread", "guard": "tx == 0", **more})
