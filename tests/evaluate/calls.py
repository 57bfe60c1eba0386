"""Small calls to start from, and a shorthand for models of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tilecheck.evaluate import Model
from tilecheck.spec import BadSpelling, data, find_contract

DATA = Path(__file__).parent.parent / "data"
LANES = "S[(1,8,4):(1,4@laneid,1@laneid)]"
OURS = ("ld", "st", "ldmatrix", "stmatrix")


def contract(opcode: str) -> dict[str, Any]:
    """The contract of an opcode as plain data, through JSON, so that no object of `spec` can hide in it."""
    found = find_contract(opcode)
    assert found is not None
    assert not isinstance(found, BadSpelling), found
    return json.loads(json.dumps(data(found)))


def model(call: dict[str, Any]) -> Model:
    """The model of a call."""
    return Model(contract(call["opcode"]), call)


def tensor(name: str, space: str, dtype: str, shape: list[Any], layout: str, *view: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An operand."""
    return {"name": name, "space": space, "dtype": dtype, "shape": shape, "layout": layout, "view": list(view), **more}


def cut(*begin: Any, extent: list[Any]) -> dict[str, Any]:
    """A slice step."""
    return {"op": "slice", "begin": list(begin), "extent": extent}


def call(opcode: str, *operands: dict[str, Any], scope: str = "thread", **more: Any) -> dict[str, Any]:
    """A call; `block`, `cluster`, `symbols` and the other keys of the document as keywords."""
    launch = {"block": more.pop("block", [32]), "cluster": more.pop("cluster", None)}
    return {
        "schema": "tilecheck/call@1",
        "id": "test",
        "opcode": opcode,
        "scope": scope,
        "launch": launch,
        "symbols": [],
        "parameters": {},
        "operands": list(operands),
        **more,
    }


def load(*, registers: str = "S[4:1]", memory: str = "S[64:1]", begin: Any = 0, align: int = 16, **more: Any) -> dict[str, Any]:
    """`ld.global.v4.b32` at thread scope: four words of 64 from `begin` on."""
    source = {key: more.pop(key) for key in ("base", "size_bytes") if key in more}
    return call(
        "ld.global.v4.b32",
        tensor("R", "register", "float32", [4], registers),
        tensor("A", "global", "float32", [64], memory, cut(begin, extent=[4]), align=align, **source),
        **more,
    )


def matrix(*, registers: str = LANES, memory: str = "S[(1,8,4):(32,4,1)]", begin: Any = 0, **more: Any) -> dict[str, Any]:
    """`ldmatrix.x1` at warp scope."""
    opcode = "ldmatrix.sync.aligned.m8n8.x1.shared.b16"
    source = tensor("SM", "shared", "uint32", [4, 8, 4], memory.replace("(1,8", "(4,8"), cut(begin, 0, 0, extent=[1, None, None]), align=16)
    return call(opcode, tensor("R", "register", "uint32", [1, 8, 4], registers), source, **{"scope": "warp", **more})


def cases(name: str) -> list[dict[str, Any]]:
    """The case files' entries for the instructions that have contracts."""
    entries = [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text().splitlines()]
    return [entry for entry in entries if entry["call"]["opcode"].split(".")[0] in OURS]
