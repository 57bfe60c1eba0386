"""Malformed documents by name: what each looks like, and the place its message must name."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

Json = Any

GOOD: dict[str, Json] = {
    "schema": "tilecheck/call@1",
    "id": "load-A",
    "opcode": "ld.global.v4.b32",
    "arch": "sm_90a",
    "scope": "cta",
    "launch": {"block": [64], "cluster": None},
    "guard": "warpid < 2",
    "index_dtype": "int64",
    "symbols": [{"name": "n", "min": 0, "max": 1020, "multiple_of": 4, "varies": "grid"}],
    "assume": ["n <= 1000"],
    "operands": [
        {"name": "R", "space": "register", "dtype": "float32", "shape": [2, 32, 3, 4], "layout": "S[(2,32,3,4):(1@warpid,1@laneid,8,2)]"},
        {
            "name": "A",
            "tensor": "A",
            "space": "global",
            "dtype": "float32",
            "shape": [2, 32, 3, 1024],
            "align": 16,
            "base": {"mod": 16, "is": 0},
            "size_bytes": 786432,
            "layout": "S[(2,32,3,1024):(98304,3072,1024,1)]",
            "view": [{"op": "slice", "begin": [0, 0, 0, "n"], "extent": [2, 32, None, 4]}, {"op": "permute", "order": [0, 1, 2, 3]}],
        },
    ],
    "parameters": {"pred": "n > 0"},
}
"""The document of DESIGN, which is well-formed."""

Path = tuple[str | int, ...]


def show(path: Path) -> str:
    """A JSON path as messages write it."""
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)


def paths(value: Json, above: Path = ()) -> Iterator[Path]:
    """Every path of a document, the document's own first."""
    yield above
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from paths(item, (*above, key))


def at(document: Json, path: Path) -> Json:
    """The value at a path."""
    for part in path:
        document = document[part]
    return document


def put(path: Path, value: Json, document: Json = GOOD) -> Json:
    """The document with another value at a path."""
    if not path:
        return value
    changed = copy.deepcopy(document)
    at(changed, path[:-1])[path[-1]] = value
    return changed


def without(path: Path) -> Json:
    """The good document without one key."""
    changed = copy.deepcopy(GOOD)
    del at(changed, path[:-1])[path[-1]]
    return changed


OTHER_VALUES: dict[str, Json] = {
    "null": None,
    "true": True,
    "7": 7,
    "-1": -1,
    "1.5": 1.5,
    "text": "?",
    "list": [],
    "object": {},
    "nest": [[[[[1]]]]],
}


def structural() -> Iterator[tuple[str, Path, Json]]:
    """Every value replaced by each other kind of value, every key left out, an unknown key in every object: (name, path, document)."""
    for path in paths(GOOD):
        for name, value in OTHER_VALUES.items():
            yield f"{show(path)} is {name}", path, put(path, value)
        if path and isinstance(path[-1], str):
            yield f"no {show(path)}", path[:-1], without(path)
        if isinstance(at(GOOD, path), dict):
            yield f"unknown key in {show(path)}", path, put((*path, "colour"), 1)


TERM_PATHS: tuple[Path, ...] = (
    ("guard",),
    ("assume", 0),
    ("operands", 0, "shape", 2),
    ("operands", 1, "shape", 3),
    ("operands", 1, "view", 0, "begin", 3),
    ("parameters", "pred"),
)
SEGMENTS: dict[str, str] = {
    "python call": "__import__('os').system('true')",
    "attribute": "n.real",
    "lambda": "(lambda: 0)()",
    "comprehension": "[n for n in 1]",
    "f-string": "f'{n}'",
    "power": "2**2**2**2",
    "shifts of shifts": "1<<255<<255<<255<<255",
    "huge factorial": "*".join(["99999999999999999999"] * 20),
    "200 digits": "9" * 200,
    "100000 characters": "n+" * 49_999 + "n",
    "100000 brackets": "(" * 100_000,
    "90 brackets": "(" * 90 + "n" + ")" * 90,
    "100000 minuses": "-" * 100_000 + "n",
    "100000 nots": "not " * 25_000 + "n",
    "200 selects": "select(n<1," * 200 + "n" + ",n)" * 200,
    "empty": "",
    "blank": "   ",
    "operator only": "+",
    "two names": "n n",
    "trailing operator": "n +",
    "single slash": "n/2",
    "assignment": "n=1",
    "walrus": "(n:=1)",
    "float": "1.5",
    "exponent": "1e9",
    "string": "'n'",
    "backslash": "n\\",
    "null byte": "n\0",
    "semicolon": "n;n",
    "undeclared": "zz",
    "dunder": "__builtins__",
    "storage axis": "m + 1",
    "function without arguments": "min()",
    "one argument": "min(n)",
    "unknown function": "pow(n,2)",
    "name as function": "n(1)",
    "full-width digit": "\uff11",
    "unicode operator": "n \u2264 4",
    "emoji": "\U0001f642",
    "lone surrogate": "\ud800",
    "new line": "n\n;",
    "unclosed": "(n",
    "extra bracket": "n)",
    "bad hex": "0x",
    "elected as integer": "elected + 1",
}


def hostile() -> Iterator[tuple[str, str, Json]]:
    """Hostile expressions at every place an expression may stand: (name, place, document)."""
    for path in TERM_PATHS:
        for name, text in SEGMENTS.items():
            yield f"{name} at {show(path)}", show(path[:2]), put(path, text)


LAYOUTS: dict[str, str] = {
    "empty": "",
    "no S": "(2,32,3,4):(1,1,8,2)",
    "unclosed": "S[(2,32,3,4):(1,1,8,2)",
    "replica alone": "R[2:1]",
    "unknown axis": "S[4:1@lane]",
    "two axes": "S[4:1@laneid@warpid]",
    "fewer strides": "S[(2,32,3,4):(1,1,8)]",
    "two colons": "S[4:1:1]",
    "zero extent": "S[(0,4):(1,1)]",
    "negative extent": "S[(-2,4):(1,1)]",
    "atom_len below swizzle_len": "Swizzle(3,3,2) o S[4:1]",
    "two swizzle numbers": "Swizzle(3,3) o S[4:1]",
    "huge swizzle": "Swizzle(99999999999,3,3) o S[4:1]",
    "negative swizzle": "Swizzle(-1,3,3) o S[4:1]",
    "swizzle without o": "Swizzle(3,3,3) S[4:1]",
    "a word behind": "S[4:1] x",
    "dangling plus": "S[4:1] +",
    "a million factors": "S[" + "1," * 29_000 + "1]",
    "70000 characters": "S[4:" + " " * 70_000 + "1]",
    "brackets": "S" + "[" * 50_000,
    "round brackets": "S[" + "(" * 50_000,
    "1000 swizzles": "Swizzle(3,3,3) o " * 1000 + "S[4:1]",
    "null byte": "S[4:1\0]",
    "float stride": "S[4:1.5]",
    "not the shape's size": "S[(2,32,3,5):(1,1,8,2)]",
    "does not split the shape": "S[(7,11):(1,1)]",
    "python": "S[__import__('os')]",
    "undeclared": "S[(2,32,3,4):(zz,1,8,2)]",
    "surrogate": "S[\ud800]",
    "condition": "S[(2,32,3,4):(1<2,1,8,2)]",
    "huge shift": "S[(2,32,3,4):(1<<(1<<60),1,8,2)]",
}
VIEW = ("operands", 1, "view")
STEPS: dict[str, Json] = {
    "unknown step": {"op": "transpose"},
    "no op": {"begin": [0]},
    "short slice": {"op": "slice", "begin": [0], "extent": [1]},
    "begin and extent differ": {"op": "slice", "begin": [0, 0, 0, 0], "extent": [1, 1, 1]},
    "zero extent": {"op": "slice", "begin": [0] * 4, "extent": [0, 1, 1, 1]},
    "symbolic extent": {"op": "slice", "begin": [0] * 4, "extent": ["n", 1, 1, 1]},
    "condition as begin": {"op": "slice", "begin": ["n < 1", 0, 0, 0], "extent": [1] * 4},
    "order twice": {"op": "permute", "order": [0, 0, 1, 2]},
    "order out of range": {"op": "permute", "order": [0, 1, 2, 4]},
    "short order": {"op": "permute", "order": [0, 1]},
    "order of text": {"op": "permute", "order": ["a", 1, 2, 3]},
    "negative order": {"op": "permute", "order": [-1, 0, 1, 2]},
    "million axes": {"op": "permute", "order": list(range(100_000))},
    "pattern without arrow": {"op": "rearrange", "pattern": "a b c d"},
    "two arrows": {"op": "rearrange", "pattern": "a b c d -> a -> b"},
    "unknown name": {"op": "rearrange", "pattern": "a b c d -> a b c e"},
    "repeated name": {"op": "rearrange", "pattern": "a a c d -> a c d"},
    "wrong rank": {"op": "rearrange", "pattern": "a b -> b a"},
    "open bracket": {"op": "rearrange", "pattern": "(a b c d -> a b c d"},
    "size does not divide": {"op": "rearrange", "pattern": "(a b) c d e -> a b c d e", "sizes": {"b": 3}},
    "unknown size": {"op": "rearrange", "pattern": "a b c d -> d c b a", "sizes": {"z": 3}},
    "two unknown sizes": {"op": "rearrange", "pattern": "(x y) b c d -> x y b c d"},
    "hostile pattern": {"op": "rearrange", "pattern": "__import__('os') -> a"},
    "long pattern": {"op": "rearrange", "pattern": "a " * 100_000 + "-> a"},
    "deep pattern": {"op": "rearrange", "pattern": "(" * 50_000},
    "size zero": {"op": "rearrange", "pattern": "(a b) c d e -> a b c d e", "sizes": {"b": 0}},
    "reshape to another size": {"op": "reshape", "shape": [5]},
    "reshape to zero": {"op": "reshape", "shape": [0]},
    "reshape to nothing": {"op": "reshape", "shape": []},
    "negative reshape": {"op": "reshape", "shape": [-1]},
    "reshape text": {"op": "reshape", "shape": "all"},
    "unknown dtype": {"op": "view", "dtype": "float33"},
    "no dtype": {"op": "view"},
    "dtype number": {"op": "view", "dtype": 16},
    "broadcast of an axis": {"op": "broadcast", "shape": [3, 32, 3, 4]},
    "lower rank broadcast": {"op": "broadcast", "shape": [4]},
    "negative broadcast": {"op": "broadcast", "shape": [-1, 2, 32, 3, 4]},
    "step with extra key": {"op": "permute", "order": [0, 1, 2, 3], "sizes": {}},
    "step is text": "permute",
    "step is null": None,
    "huge begin": {"op": "slice", "begin": [1 << 400, 0, 0, 0], "extent": [1] * 4},
    "huge extent": {"op": "slice", "begin": [0] * 4, "extent": [1 << 400, 1, 1, 1]},
}
SIZES: dict[str, tuple[Path, Json]] = {
    "extent 10^40": (("operands", 1, "shape", 3), 10**40),
    "a million axes": (("operands", 1, "shape"), [1] * 1_000_000),
    "extent zero": (("operands", 1, "shape", 3), 0),
    "negative extent": (("operands", 1, "shape", 3), -4),
    "align 0": (("operands", 1, "align"), 0),
    "align -16": (("operands", 1, "align"), -16),
    "align 10^30": (("operands", 1, "align"), 10**30),
    "negative block": (("launch", "block"), [-32]),
    "zero block": (("launch", "block"), [0]),
    "empty block": (("launch", "block"), []),
    "four block axes": (("launch", "block"), [1, 1, 1, 1]),
    "10^9 threads": (("launch", "block"), [1000, 1000, 1000]),
    "10^9 threads in x": (("launch", "block"), [10**9]),
    "1025 threads": (("launch", "block"), [1025]),
    "65 in z": (("launch", "block"), [1, 1, 65]),
    "17 CTAs": (("launch", "cluster"), [17]),
    "10^6 CTAs": (("launch", "cluster"), [100, 100, 100]),
    "empty cluster": (("launch", "cluster"), []),
    "negative size": (("operands", 1, "size_bytes"), -1),
    "size 10^40": (("operands", 1, "size_bytes"), 10**40),
    "base mod 0": (("operands", 1, "base"), {"mod": 0, "is": 0}),
    "base is its mod": (("operands", 1, "base"), {"mod": 16, "is": 16}),
    "negative residue": (("operands", 1, "base"), {"mod": 16, "is": -1}),
    "base without is": (("operands", 1, "base"), {"mod": 16}),
    "multiple of 0": (("symbols", 0, "multiple_of"), 0),
    "negative multiple": (("symbols", 0, "multiple_of"), -4),
    "min 10^40": (("symbols", 0, "min"), 10**40),
    "symbol named laneid": (("symbols", 0, "name"), "laneid"),
    "symbol named min": (("symbols", 0, "name"), "min"),
    "symbol named and": (("symbols", 0, "name"), "and"),
    "symbol named elected": (("symbols", 0, "name"), "elected"),
    "symbol with a space": (("symbols", 0, "name"), "n m"),
    "symbol without a name": (("symbols", 0, "name"), ""),
    "symbol name of 10^5": (("symbols", 0, "name"), "n" * 100_000),
    "symbol declared twice": (("symbols",), [{"name": "n"}, {"name": "n"}]),
    "no symbol declared": (("symbols",), []),
    "1000 symbols": (("symbols",), [{"name": f"n{k}"} for k in range(1000)]),
    "1000 operands": (("operands",), GOOD["operands"] * 500),
    "wrong schema": (("schema",), "tilecheck/call@2"),
    "schema of a verdict": (("schema",), "tilecheck/verdict@1"),
    "unknown scope": (("scope",), "block"),
    "scope in capitals": (("scope",), "CTA"),
    "unknown index_dtype": (("index_dtype",), "int16"),
    "unknown arch": (("arch",), "gfx90a"),
    "arch number": (("arch",), "sm_"),
    "arch sm_90x": (("arch",), "sm_90x"),
    "opcode with spaces": (("opcode",), "ld.global .b32"),
    "opcode of 10^5": (("opcode",), "ld" + ".v4" * 33_000),
    "opcode with markup": (("opcode",), "ld.[bold]"),
    "opcode with a newline": (("opcode",), "ld.global.b32\n"),
    "opcode with an escape": (("opcode",), "\u001b[31mld"),
    "unknown space": (("operands", 1, "space"), "constant"),
    "unknown dtype": (("operands", 1, "dtype"), "fp32"),
    "empty name": (("operands", 1, "name"), ""),
    "unknown varies": (("symbols", 0, "varies"), "lane"),
    "id of 10^6": (("id",), "x" * 1_000_000),
    "cluster scope without cluster": (("scope",), "cluster"),
    "cta scope without launch": (("launch",), None),
    "parameter object": (("parameters", "box"), {"a": 1}),
    "parameter float": (("parameters", "box"), 1.5),
    "parameter too deep": (("parameters", "box"), [[[[1]]]]),
    "parameter of 5000": (("parameters", "box"), [1] * 5000),
    "pred number": (("parameters", "pred"), "n"),
    "parameter undeclared": (("parameters", "coords"), ["n", "zz"]),
    "two spaces of one tensor": (("operands", 0, "tensor"), "A"),
}

TEXT = json.dumps(GOOD)


def raw() -> dict[str, bytes]:
    """Files that are no JSON document at all."""
    text = TEXT.encode()
    found: dict[str, bytes] = {f"cut at {k}": text[:k] for k in range(0, len(text) - 1, max(1, len(text) // 70))}
    return found | {
        "blank": b" \n\t ",
        "null": b"null",
        "a number": b"7",
        "text": b'"call"',
        "true": b"true",
        "empty list": b"[]",
        "list of null": b"[null]",
        "list of list": b"[[]]",
        "empty object": b"{}",
        "two documents": text + text,
        "trailing comma": text[:-1] + b",}",
        "comment": b"// call\n" + text,
        "single quotes": text.replace(b'"', b"'"),
        "duplicate key": text[:-1] + b', "scope": "warp"}',
        "duplicate inner key": text.replace(b'"mod": 16', b'"mod": 16, "mod": 8'),
        "NaN": text.replace(b"1020", b"NaN"),
        "Infinity": text.replace(b"1020", b"Infinity"),
        "-Infinity": text.replace(b"1020", b"-Infinity"),
        "1e400": text.replace(b"1020", b"1e400"),
        "10^5 digits": text.replace(b"1020", b"9" * 100_000),
        "4000 digits": text.replace(b"1020", b"9" * 4000),
        "not UTF-8": text.replace(b"load-A", b"load-\xff"),
        "UTF-16": TEXT.encode("utf-16"),
        "byte order mark": b"\xef\xbb\xbf" + text,
        "null bytes": b"\0" * 100,
        "null byte within": text.replace(b"load-A", b"load\0A"),
        "control character": text.replace(b"load-A", b"load\x1bA"),
        "bad escape": text.replace(b"load-A", b"load\\xA"),
        "half an escape": text.replace(b"load-A", b"load\\u12"),
        "100000 lists": b"[" * 100_000,
        "100000 closed lists": b"[" * 100_000 + b"]" * 100_000,
        "100000 objects": b'{"a":' * 100_000,
        "a cubin": b"\x7fELF\x02\x01\x01" + bytes(range(256)),
        "deep parameter": text.replace(b'"n > 0"', b"[" * 5000 + b"]" * 5000),
        "case without call": b'{"id": "x", "expect": "proved"}',
        "case with unknown key": b'{"wish": "proved", "call": ' + text + b"}",
        "case with unknown status": b'{"expect": "legal", "call": ' + text + b"}",
        "case with list as clause": b'{"expect": "refuted", "clause": [1], "call": ' + text + b"}",
        "case of null": b'{"expect": "proved", "call": null}',
        "case in a case": b'{"call": {"call": ' + text + b"}}",
        "second of a list": b"[" + text + b", 7]",
    }
