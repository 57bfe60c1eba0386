"""Calls of kernels on tensor memory, to be checked together."""

from __future__ import annotations

from typing import Any

from tilecheck.call import Call
from tilecheck.document import read_call

ALLOC = "tcgen05.alloc.cta_group::{}.sync.aligned.shared::cta.b32"
FREE = "tcgen05.dealloc.cta_group::{}.sync.aligned.b32"
CLOSE = "tcgen05.relinquish_alloc_permit.cta_group::{}.sync.aligned"
COMMIT = "tcgen05.commit.cta_group::{}.mbarrier::arrive::one.shared::cluster.b64"
HANDLE: dict[str, Any] = {"name": "H", "space": "shared", "dtype": "uint32", "shape": [1], "align": 4}


def call(opcode: str, operands: tuple[dict[str, Any], ...] = (), **more: Any) -> Call:
    """A call; `more`: keys of the document, or parameters."""
    keys = {"scope", "guard", "launch", "symbols", "id", "assume", "arch"}
    document = {"schema": "tilecheck/call@1", "opcode": opcode, "scope": "warp", "guard": "warpid == 0", "launch": {"block": [128]}}
    document |= {key: value for key, value in more.items() if key in keys}
    return read_call(document | {"operands": list(operands), "parameters": {k: v for k, v in more.items() if k not in keys}})


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
