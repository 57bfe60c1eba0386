"""Times the TileDispatch pass of apache-tvm-tirx on programs of the same content as call documents.

Run by an interpreter that has the package, not by ours: `PYTHON peer_worker.py < documents.json`. It reads a list of documents of
documents.py, builds a program of each (not timed), runs the pass on one after the other and prints one JSON object: versions, and for each
document the seconds by the clock and on the processor, whether the pass accepted it, and the reason where it did not.
"""

from __future__ import annotations

import json
import re
import sys
import time
from importlib.metadata import version
from pathlib import Path

STARTED = time.perf_counter()
import tvm_tirx as tvm  # noqa: E402  (the import is timed)
from tvm_tirx.script import tirx as T  # noqa: E402, N812  (the name that scripts write)
from tvm_tirx.target import Target  # noqa: E402
from tvm_tirx.tirx import transform  # noqa: E402
from tvm_tirx.tirx.layout import ComposeLayout, Iter, TileLayout  # noqa: E402

IMPORTED = time.perf_counter() - STARTED
TARGET = Target({"kind": "cuda", "arch": "sm_100a"})
LAYOUT = re.compile(r"(?:Swizzle\((\d+),(\d+),(\d+)\) o )?S\[\(([^)]*)\):\(([^)]*)\)\](?: \+ (\d+)(?:@(\w+))?)?")


def layout_of(text):
    """The layout that a document writes."""
    per_element, swizzle, atom, extents, strides, offset, moved = LAYOUT.fullmatch(text).groups()
    factors = []
    for extent, stride in zip(extents.split(","), strides.split(","), strict=True):
        number, _, axis = stride.partition("@")
        factors.append(Iter(int(extent), int(number), axis or "m"))
    tile = TileLayout.from_iters(factors, [], {moved or "m": int(offset)} if offset else {})
    return tile if swizzle is None else ComposeLayout(int(per_element), int(swizzle), int(atom), tile)


def region(tensor, operand, symbols):
    """The view of a tensor that a document describes: all steps but a last slice, and the region that it cuts."""
    begin, extent = [0] * len(tensor.shape), [None] * len(tensor.shape)
    for step in operand.get("view", ()):
        if step["op"] == "view":
            tensor = tensor.view(step["dtype"])
        elif step["op"] == "rearrange":
            tensor = tensor.rearrange(step["pattern"], **step.get("sizes", {}))
        begin, extent = step.get("begin", [0] * len(tensor.shape)), step.get("extent", [None] * len(tensor.shape))
    starts = [eval(b, {}, symbols) if isinstance(b, str) else b for b in begin]
    sizes = [int(whole) if one is None else one for one, whole in zip(extent, tensor.shape, strict=True)]
    return tensor[tuple(slice(b, b + e) for b, e in zip(starts, sizes, strict=True))]


def program(document):
    """The function that makes the call of a document: symbols with both bounds are loops, with one the loop without end, without bounds arguments."""
    if "box" in document["parameters"]:
        return box_program(document)
    if document["opcode"].startswith("tcgen05."):
        return load_program(document) if ".ld." in document["opcode"] else product_program(document)
    registers, memory = document["operands"]
    instruction, scope = T.ptx[document["opcode"]], document["scope"]
    launch = T.cuda.LaunchConfig(grid=(1,), block=tuple(document["launch"]["block"]))
    symbols = document["symbols"]
    shape, dtype, align, layout = memory["shape"], memory["dtype"], memory["align"], layout_of(memory["layout"])
    own_shape, own_dtype, own_layout = registers["shape"], registers["dtype"], layout_of(registers["layout"])
    named = [s["name"] for s in symbols]

    if memory["space"] == "global":

        @T.function
        def load(memory_tensor: T.Tensor(shape, dtype, align=align, layout=layout)):
            with T.device_entry(launch=launch):
                own = T.alloc_local(own_shape, own_dtype, layout=own_layout)
                T.cuda.tile.apply(instruction, region(own, registers, {}), region(memory_tensor, memory, {}), scope=scope)

        return load

    if not symbols:

        @T.function
        def static():
            with T.device_entry(launch=launch):
                tile = T.alloc_shared(shape, dtype, align=align, layout=layout)
                own = T.alloc_local(own_shape, own_dtype, layout=own_layout)
                T.cuda.tile.apply(instruction, region(own, registers, {}), region(tile, memory, {}), scope=scope)

        return static

    if len(symbols) == 2:
        first, second = (s["max"] + 1 for s in symbols)

        @T.function
        def loops():
            with T.device_entry(launch=launch):
                tile = T.alloc_shared(shape, dtype, align=align, layout=layout)
                own = T.alloc_local(own_shape, own_dtype, layout=own_layout)
                for i in T.serial(first):
                    for j in T.serial(second):
                        values = dict(zip(named, (i, j), strict=True))
                        T.cuda.tile.apply(instruction, region(own, registers, {}), region(tile, memory, values), scope=scope)

        return loops

    if "min" in symbols[0]:

        @T.function
        def ring(n: T.int32):
            with T.device_entry(launch=launch):
                tile = T.alloc_shared(shape, dtype, align=align, layout=layout)
                own = T.alloc_local(own_shape, own_dtype, layout=own_layout)
                for i in T.serial(n):
                    T.cuda.tile.apply(instruction, region(own, registers, {}), region(tile, memory, {named[0]: i}), scope=scope)

        return ring

    @T.function
    def start(n: T.int32):
        with T.device_entry(launch=launch):
            tile = T.alloc_shared(shape, dtype, align=align, layout=layout)
            own = T.alloc_local(own_shape, own_dtype, layout=own_layout)
            T.cuda.tile.apply(instruction, region(own, registers, {}), region(tile, memory, {named[0]: n}), scope=scope)

    return start


def load_program(document):
    """The same of a load from tensor memory, whose first cell is at address 0."""
    registers, cells = document["operands"]
    launch = T.cuda.LaunchConfig(grid=(1,), block=tuple(document["launch"]["block"]))
    instruction, scope, dtype = T.ptx[document["opcode"]], document["scope"], cells["dtype"]
    there = T.Tensor(cells["shape"], dtype, scope="tmem", layout=layout_of(cells["layout"]))
    own_shape, own_layout = registers["shape"], layout_of(registers["layout"])

    @T.function
    def load():
        with T.device_entry(launch=launch):
            tile = T.cuda.decl_tmem(T.uint32(0), ty_args=[there])
            own = T.alloc_local(own_shape, dtype, layout=own_layout)
            T.cuda.tile.apply(instruction, region(own, registers, {}), region(tile, cells, {}), scope=scope)

    return load


def product_program(document):
    """The same of a product: D in tensor memory at address 0, A and B in shared memory; the descriptors are the peer's to find."""
    sums, left, right = document["operands"]
    launch = T.cuda.LaunchConfig(grid=(1,), block=tuple(document["launch"]["block"]))
    instruction, fields, symbols = T.ptx[document["opcode"]], document["parameters"], document["symbols"]
    there = T.Tensor(sums["shape"], sums["dtype"], scope="tmem", layout=layout_of(sums["layout"]))
    shape, accum, dtype = tuple(fields["instruction_shape"]), fields["accum"], left["dtype"]
    a_shape, a_align, a_layout = left["shape"], left["align"], layout_of(left["layout"])
    b_shape, b_align, b_layout = right["shape"], right["align"], layout_of(right["layout"])
    stages = symbols[0]["max"] + 1 if symbols else 1
    name = symbols[0]["name"] if symbols else ""

    def multiplied(d, a, b, values):
        factors = region(a, left, values), region(b, right, values)
        return T.cuda.tile.apply(instruction, region(d, sums, {}), *factors, scope="thread", instruction_shape=shape, accum=accum)

    if not symbols:

        @T.function
        def static():
            with T.device_entry(launch=launch):
                a = T.alloc_shared(a_shape, dtype, align=a_align, layout=a_layout)
                b = T.alloc_shared(b_shape, dtype, align=b_align, layout=b_layout)
                d = T.cuda.decl_tmem(T.uint32(0), ty_args=[there])
                multiplied(d, a, b, {})

        return static

    @T.function
    def loop():
        with T.device_entry(launch=launch):
            a = T.alloc_shared(a_shape, dtype, align=a_align, layout=a_layout)
            b = T.alloc_shared(b_shape, dtype, align=b_align, layout=b_layout)
            d = T.cuda.decl_tmem(T.uint32(0), ty_args=[there])
            for i in T.serial(stages):
                multiplied(d, a, b, {name: i})

    return loop


def box_program(document):
    """The same of a tensor copy: the image in shared memory, the tensor an argument; a loop over the stages where there is a symbol."""
    image, tensor = document["operands"]
    instruction, fields, symbols = T.ptx[document["opcode"]], document["parameters"], document["symbols"]
    launch = T.cuda.LaunchConfig(grid=(1,), block=tuple(document["launch"]["block"]))
    shape, dtype, align, layout = tensor["shape"], tensor["dtype"], tensor["align"], layout_of(tensor["layout"])
    own_shape, own_align, own_layout = image["shape"], image["align"], layout_of(image["layout"])

    def copied(tile, whole, barrier, values):
        coords = tuple(eval(c, {}, values) if isinstance(c, str) else c for c in fields["coords"])
        steps = tuple(tuple(step) for step in fields["coord_steps"])
        return T.cuda.tile.apply(
            instruction, region(tile, image, values), region(whole, tensor, values), scope="thread", box=tuple(fields["box"]), coords=coords,
            coord_steps=steps, swizzle=fields["swizzle"], mbar=barrier.ptr_to([0]),
        )  # fmt: skip

    if not symbols:

        @T.function
        def static(whole: T.Tensor(shape, dtype, align=align, layout=layout)):
            with T.device_entry(launch=launch):
                tile = T.alloc_shared(own_shape, dtype, align=own_align, layout=own_layout)
                barrier = T.alloc_shared((1,), "uint64")
                copied(tile, whole, barrier, {})

        return static

    (symbol,) = symbols
    if "max" in symbol:
        stages = symbol["max"] + 1

        @T.function
        def loop(whole: T.Tensor(shape, dtype, align=align, layout=layout)):
            with T.device_entry(launch=launch):
                tile = T.alloc_shared(own_shape, dtype, align=own_align, layout=own_layout)
                barrier = T.alloc_shared((1,), "uint64")
                for i in T.serial(stages):
                    copied(tile, whole, barrier, {symbol["name"]: i})

        return loop

    @T.function
    def ring(whole: T.Tensor(shape, dtype, align=align, layout=layout), n: T.int32):
        with T.device_entry(launch=launch):
            tile = T.alloc_shared(own_shape, dtype, align=own_align, layout=own_layout)
            barrier = T.alloc_shared((1,), "uint64")
            for i in T.serial(n):
                copied(tile, whole, barrier, {symbol["name"]: i})

    return ring


def sample(module):
    """One run of the pass."""
    wall, cpu, reason = time.perf_counter(), time.process_time(), None
    try:
        transform.TileDispatch()(module)
    except RuntimeError as error:
        lines = str(error).strip().splitlines()
        reason = lines[1] if len(lines) > 1 else lines[0]
    return {
        "wall_ms": (time.perf_counter() - wall) * 1e3,
        "cpu_ms": (time.process_time() - cpu) * 1e3,
        "accepted": reason is None,
        "reason": reason,
    }


def main():
    documents = json.load(sys.stdin)
    with TARGET:
        modules = [transform.BindTarget(TARGET)(tvm.IRModule({"main": program(document)})) for document in documents]
        samples = [sample(module) for module in modules]
    print(
        json.dumps(
            {
                "package": f"apache-tvm-tirx {version('apache-tvm-tirx')}",
                "python": ".".join(map(str, sys.version_info[:3])),
                "import_s": IMPORTED,
                "samples": samples,
                "worker": Path(__file__).name,
            }
        )
    )


if __name__ == "__main__":
    main()
