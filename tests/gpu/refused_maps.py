"""What cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col refuse, one row for each rule: a call that breaks it, and the arguments as the driver gets them.

`python -m tests.gpu.refused_maps [--out FOLDER]` asks the driver of this machine and writes maps.json. It needs a driver that has the functions, but no
kernel runs. Each base is encoded, each row, which differs from its base in one thing, is not; disputed cases are rows, too.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tilecheck.document import read_call
from tilecheck.emit.binding import bind
from tilecheck.emit.maps import PixelBox, TensorMap, tensor_map
from tilecheck.reconstruct.device import gpu
from tilecheck.reconstruct.evidence import now, write_evidence

Json = dict[str, Any]
TILED, SLICED, WALK = "tiled", "interleaved", "im2col"
BOX = "cp.async.bulk.prefetch.tensor.{}d.L2.global.tile"
PIXELS = "cp.async.bulk.prefetch.tensor.{}d.L2.global.im2col"
OPCODES = {TILED: BOX.format(2), SLICED: BOX.format(3), WALK: PIXELS.format(4)}
TENSORS: dict[str, Json] = {TILED: {"shape": [32, 64]}, SLICED: {"shape": [2, 4, 16, 16], "align": 32}, WALK: {"shape": [3, 5, 6, 64]}}
PARAMETERS: dict[str, Json] = {
    TILED: {"box": [8, 32], "coords": [0, 0]},
    SLICED: {"box": [1, 1, 8], "coords": [0, 0, 0], "interleave": 2, "swizzle": 1},
    WALK: {
        "pixel_box_lower_corner": [0, 0],
        "pixel_box_upper_corner": [0, 0],
        "channels_per_pixel": 32,
        "pixels_per_column": 12,
        "coords": [0, 0, 0, 0],
        "im2col_offsets": [0, 0],
    },
}


@dataclass(frozen=True)
class Row:
    """One rule. base: of which call it is a change; clause: the one that refutes the call; map: the same change of the driver's arguments.

    tensor, fields, rest: what differs in the call; opcode: another one. documented: whether the driver's documentation has the rule.
    """

    name: str
    base: str
    clause: str
    map: Mapping[str, Any]
    tensor: Mapping[str, Any] | None = None
    fields: Mapping[str, Any] | None = None
    opcode: str = ""
    rest: Mapping[str, Any] | None = None
    documented: bool = True

    @property
    def document(self) -> Json:
        """The call."""
        return document(self.base, self.opcode, self.tensor, self.fields) | dict(self.rest or {})


def document(base: str, opcode: str = "", tensor: Mapping[str, Any] | None = None, fields: Mapping[str, Any] | None = None) -> Json:
    """A call that prefetches half words through a tensor map."""
    operand: Json = {"name": "T", "space": "global", "dtype": "uint16", "align": 16} | TENSORS[base] | dict(tensor or {})
    call: Json = {"schema": "tilecheck/call@1", "opcode": opcode or OPCODES[base], "arch": "sm_90a", "scope": "thread"}
    return call | {"operands": [operand], "parameters": PARAMETERS[base] | dict(fields or {})}


def tiled_rows() -> Iterator[Row]:
    """The rules of cuTensorMapEncodeTiled."""
    half = {"symbols": [{"name": "M", "min": 0, "max": 0}]}
    yield Row("tensorRank 6", TILED, "opcode", {"rank": 6}, opcode=BOX.format(6))
    yield Row(
        "a data type there is not",
        TILED,
        "src.type",
        {"data_type": 16},
        tensor={"dtype": "bits128", "shape": [32, 8]},
        fields={"box": [8, 4]},
    )
    nibbles = {"dtype": "float4_e2m1fn", "shape": [32, 256], "align": 32}
    packed = {"data_type": 14, "global_dim": (256, 32), "global_strides": (128,), "box_dim": (128, 8)}
    yield Row("16U4_ALIGN16B on sm_90", TILED, "opcode", packed, tensor=nibbles, fields={"box": [8, 128]})
    yield Row("globalAddress at 8 mod 16", TILED, "src.aligned", {"start": 8}, tensor={"align": 8})
    yield Row("globalAddress at 16 mod 32, interleave 32B", SLICED, "src.aligned", {"start": 16}, tensor={"align": 16})
    layout = "S[(M,64):(64,1)]"
    yield Row("globalDim 0", TILED, "descriptor", {"global_dim": (64, 0)}, tensor={"shape": ["M", 64], "layout": layout}, rest=half)
    yield Row("globalDim 2^32 + 1", TILED, "descriptor", {"global_dim": (64, (1 << 32) + 1)}, tensor={"shape": [(1 << 32) + 1, 64]})
    yield Row("globalStrides 136", TILED, "descriptor", {"global_strides": (136,)}, tensor={"layout": "S[(32,64):(68,1)]"})
    yield Row("globalStrides 2^40", TILED, "descriptor", {"global_strides": (1 << 40,)}, tensor={"layout": f"S[(32,64):({1 << 39},1)]"})
    yield Row(
        "globalStrides below 0", TILED, "descriptor", {"global_strides": (2**64 - 128,)}, tensor={"layout": "S[(32,64):(-64,1)] + 1984"}
    )
    odd = "S[(2,4,16,16):(1024,264,16,1)]"
    yield Row("globalStrides 16 mod 32, interleave 32B", SLICED, "descriptor", {"global_strides": (528, 2048)}, tensor={"layout": odd})
    yield Row("boxDim 0", TILED, "box", {"box_dim": (32, 0)}, fields={"box": [0, 32]})
    yield Row("boxDim 257", TILED, "box", {"box_dim": (32, 257)}, fields={"box": [257, 32]})
    yield Row("boxDim[0] of 8 bytes", TILED, "box", {"box_dim": (4, 8)}, fields={"box": [8, 4]})
    yield Row("boxDim[0] of 8 bytes, interleaved", SLICED, "box", {"box_dim": (4, 1, 1)}, fields={"box": [1, 1, 4]}, documented=False)
    many = {"box_dim": (256, 256), "data_type": 2, "global_strides": (1024,), "global_dim": (256, 256)}
    large = {"shape": [256, 256], "dtype": "uint32"}
    yield Row("a box of 256 KiB", TILED, "box", many, tensor=large, fields={"box": [256, 256]}, documented=False)
    yield Row("elementStrides 0", TILED, "descriptor", {"element_strides": (1, 0)}, fields={"element_strides": [0, 1]})
    yield Row("elementStrides 9", TILED, "descriptor", {"element_strides": (1, 9)}, fields={"element_strides": [9, 1]})
    yield Row("interleave 3", SLICED, "descriptor", {"interleave": 3}, tensor={"shape": [2, 4, 16]}, fields={"interleave": 3})
    yield Row("interleave at rank 2", TILED, "descriptor", {"interleave": 1}, fields={"interleave": 1})
    yield Row("swizzle 7", TILED, "descriptor", {"swizzle": 7}, fields={"swizzle": 7})
    for swizzle in (4, 5, 6):
        yield Row(f"swizzle {swizzle} on sm_90", TILED, "descriptor", {"swizzle": swizzle}, fields={"swizzle": swizzle})
    for swizzle, width in ((1, 24), (2, 40), (3, 72)):
        change = {"swizzle": swizzle, "box_dim": (width, 8), "global_dim": (128, 32), "global_strides": (256,)}
        name = f"boxDim[0] of {2 * width} bytes, swizzle {16 << swizzle}B"
        yield Row(name, TILED, "box", change, tensor={"shape": [32, 128]}, fields={"swizzle": swizzle, "box": [8, width]})
    yield Row("l2Promotion 4", TILED, "descriptor", {"l2_promotion": 4}, fields={"l2_promotion": 4})
    yield Row("oobFill 2", TILED, "descriptor", {"oob_fill": 2}, fields={"oob_fill": 2})
    yield Row("NaN for integers", TILED, "descriptor", {"oob_fill": 1}, fields={"oob_fill": 1})


def walk_rows() -> Iterator[Row]:
    """The rules of cuTensorMapEncodeIm2col that it has for itself, and those it shares."""
    pixels = PixelBox((0, 0), (0, 0), 32, 12)

    def row(name: str, clause: str, fields: Mapping[str, Any], *, documented: bool = True, **change: Any) -> Row:
        return Row(f"im2col, {name}", WALK, clause, {"walk": replace(pixels, **change)}, fields=fields, documented=documented)

    yield Row("im2col, tensorRank 2", WALK, "opcode", {"rank": 2}, opcode=PIXELS.format(2))
    yield row("pixelBoxLowerCorner -129 at rank 4", "box", {"pixel_box_lower_corner": [0, -129]}, lower=(-129, 0))
    yield row("pixelBoxUpperCorner 128 at rank 4", "box", {"pixel_box_upper_corner": [128, 0]}, upper=(0, 128))
    yield row("a bounding box without a pixel", "descriptor", {"pixel_box_upper_corner": [0, -6]}, upper=(-6, 0))
    yield row("channelsPerPixel 0", "box", {"channels_per_pixel": 0}, channels=0)
    yield row("channelsPerPixel 257", "box", {"channels_per_pixel": 257}, channels=257)
    yield row("channelsPerPixel of 8 bytes", "box", {"channels_per_pixel": 4}, channels=4, documented=False)
    yield row("pixelsPerColumn 0", "box", {"pixels_per_column": 0}, pixels=0)
    yield row("pixelsPerColumn 1025", "box", {"pixels_per_column": 1025}, pixels=1025)
    large: Json = {"channels_per_pixel": 256, "pixels_per_column": 457}
    yield row("a column of more than 228 KiB", "box", large, channels=256, pixels=457, documented=False)
    wide: Json = {"swizzle": 1, "channels_per_pixel": 24}
    change = {"swizzle": 1, "walk": replace(pixels, channels=24)}
    yield Row("im2col, channelsPerPixel of 48 bytes, swizzle 32B", WALK, "box", change, fields=wide)
    yield Row("im2col, elementStrides 9", WALK, "descriptor", {"element_strides": (1, 9, 1, 1)}, fields={"element_strides": [1, 1, 9, 1]})
    yield Row("im2col, globalAddress at 8 mod 16", WALK, "src.aligned", {"start": 8}, tensor={"align": 8})
    strides = "S[(3,5,6,64):(2040,408,68,1)]"
    yield Row("im2col, globalStrides 136", WALK, "descriptor", {"global_strides": (136, 816, 4080)}, tensor={"layout": strides})
    yield Row("im2col, NaN for integers", WALK, "descriptor", {"oob_fill": 1}, fields={"oob_fill": 1})


def rows() -> list[Row]:
    """Every row."""
    return [*tiled_rows(), *walk_rows()]


ACCEPTED = (
    ("an inner element stride of 2", TILED, {"element_strides": (2, 1)}),
    ("interleave 32B with swizzle NONE", SLICED, {"swizzle": 0}),
    ("a stride of 0", TILED, {"global_strides": (0,)}),
    ("a stride shorter than a row", TILED, {"global_strides": (16,)}),
    ("globalDim 2^32", TILED, {"global_dim": (64, 1 << 32)}),
)
"""What the driver encodes although the documents say otherwise, or a reader may expect otherwise."""


def made(call: Json) -> TensorMap:
    """The arguments that an emission gives for a call."""
    found = tensor_map(bind(read_call(call)))
    assert found is not None
    return found


def base_map(base: str) -> TensorMap:
    """The arguments of a base."""
    return made(document(base))


def disputed() -> Iterator[tuple[str, TensorMap]]:
    """(id, arguments) of the cases whose label is disputed."""
    lines = (Path(__file__).parents[1] / "data" / "fuzz.jsonl").read_text(encoding="utf-8").splitlines()
    for entry in map(json.loads, lines):
        if entry["id"] in {"fuzz-tma-2-5", "fuzz-tma-2-32"}:
            yield entry["id"], made(entry["call"])


def status(library: Any, wanted: TensorMap, address: int) -> int:
    """What the driver's function returns: 0, or the number of its error. The arguments are handed over as they are, whatever they mean."""

    def array(kind: Any, values: tuple[Any, ...]) -> Any:
        return (kind * max(1, len(values)))(*values)

    room = (ctypes.c_uint8 * 256)()
    place = (ctypes.addressof(room) + 63) // 64 * 64
    size, word, number = ctypes.c_uint64, ctypes.c_uint32, ctypes.c_int
    walk = wanted.walk
    region = [array(word, wanted.box_dim)]
    if walk is not None:
        region = [array(number, walk.lower), array(number, walk.upper), word(walk.channels), word(walk.pixels)]
    codes = [number(one) for one in (wanted.interleave, wanted.swizzle, wanted.l2_promotion, wanted.oob_fill)]
    return int(
        getattr(library, wanted.function)(
            ctypes.c_void_p(place),
            number(wanted.data_type),
            word(wanted.rank),
            ctypes.c_void_p(address + int(wanted.start)),
            array(size, wanted.global_dim),
            array(size, wanted.global_strides),
            *region,
            array(word, wanted.element_strides),
            *codes,
        )
    )


def main() -> int:
    """Asks the driver; 0 where it refuses every row and encodes every base."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--out", default=os.environ.get("OUT", "docs/evidence"))
    options = parser.parse_args()
    machine = gpu(0)
    address, library = machine.memory(1 << 20), ctypes.CDLL("libcuda.so.1")
    asked = [(f"base: {base}", base_map(base), False) for base in (TILED, SLICED, WALK)]
    asked += [(row.name, replace(base_map(row.base), **row.map), True) for row in rows()]
    asked += [(f"accepted: {name}", replace(base_map(base), **change), False) for name, base, change in ACCEPTED]
    asked += [(f"case {case}", found, True) for case, found in disputed()]
    asked += [(f"case {case}, 16 bytes", replace(found, box_dim=(8, *found.box_dim[1:])), False) for case, found in disputed()]
    device = {"device": machine.info.name, "driver": machine.info.driver, "cuda": machine.info.cuda, "date": now()}
    entries: list[Json] = []
    for name, wanted, refused in asked:
        found = status(library, wanted, address)
        entries.append({"form": name, "function": wanted.function, "status": found, "refused": found != 0, "expected": refused} | device)
        print(f"{name}: {found}{'' if (found != 0) == refused else '  UNEXPECTED'}")
    write_evidence(Path(options.out) / "maps.json", entries)
    wrong = sum(entry["refused"] != entry["expected"] for entry in entries)
    print(f"{len(entries)} maps, {wrong} otherwise than expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
