"""Tensor copies on a GPU: every byte of shared memory and of the tensor compared with the prediction, and what the driver encodes.

`python -m tests.gpu.tma_forms --output FILE` writes the evidence. It needs NumPy, cuda.core and cuda.bindings; the calls are those below.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from tilecheck.boxes import box_of
from tilecheck.call import Call
from tilecheck.document import read_call
from tilecheck.emit import Emission, emit_unchecked
from tilecheck.emit.maps import TensorMap
from tilecheck.prove.check import check
from tilecheck.reconstruct.device import DeviceError, Gpu, gpu
from tilecheck.reconstruct.evidence import now, ptx_sha256
from tilecheck.reconstruct.run import predicted
from tilecheck.spec import Contract, contract_hash, find_contract

LOAD = "cp.async.bulk.tensor.{}d.shared::{}.global.tile.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.tensor.{}d.global.shared::cta.tile.bulk_group"
REDUCE = "cp.reduce.async.bulk.tensor.{}d.global.shared::cta.add.tile.bulk_group"
KEEPS = {1: 4, 2: 3, 4: 2, 8: 1}
"""log2 of the elements in a chunk of 16 bytes, by bytes of an element."""
DTYPES = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}
Document = dict[str, Any]


def listed(values: list[int]) -> str:
    return ",".join(map(str, values))


def compact(shape: list[int]) -> list[int]:
    return [prod(shape[k + 1 :]) for k in range(len(shape))]


def document(name: str, opcode: str, shape: list[int], box: list[int], *, size: int = 2, swizzle: int = 0, **more: Any) -> Document:
    """A copy of one box between a compact tensor and the image that the box fills."""
    strides, interleave, stages = more.get("element_strides", [1] * len(box)), more.get("interleave", 0), more.pop("stages", 1)
    ci = {1: 16, 2: 32}.get(interleave, 0) // size
    image = [-(-b // s) for b, s in zip(box, strides, strict=True)]
    image = [image[0], 1, *image[2:], ci] if interleave else image
    span, row = 0 if interleave else {0: 0, 1: 32, 2: 64, 3: 128}[swizzle] // size, image[-1]
    pitch, steps = max(row, span), [1]
    for extent in reversed([*image[1:-1]]):
        steps.insert(0, pitch)
        pitch *= extent
    steps = [pitch, *steps] if len(image) > 1 else steps
    whole = pitch * image[0] if len(image) > 1 else row
    stage = -(-whole * size // 128) * 128 // size
    offset = more.pop("phase", 0) * 128 // size
    pattern = f"Swizzle({KEEPS[size]},{swizzle},3) o " if swizzle else ""
    axes, places = ([stages, *image], [stage, *steps]) if stages > 1 else (image, steps)
    layout = f"{pattern}S[({listed(axes)}):({listed(places)})]" + (f" + {offset}" if offset else "")
    dtype = more.pop("dtype", DTYPES[size])
    shared = {"name": "S", "space": "shared", "dtype": dtype, "shape": axes, "layout": layout, "align": 1024}
    tensor_shape = [*shape, ci] if interleave else shape
    pads = more.pop("pitch", None)
    tensor = {
        "name": "T",
        "space": "global",
        "dtype": dtype,
        "shape": tensor_shape,
        "align": 256,
        "size_bytes": more.pop("size_bytes", 1 << 16),
    }
    tensor["layout"] = f"S[({listed(tensor_shape)}):({listed(pads or compact(tensor_shape))})]"
    loads = "mbarrier" in opcode
    launch = {"block": [32], "cluster": more.pop("cluster", None)}
    guard = "laneid == 0" + (" and cbx == 0" if launch["cluster"] else "")
    fields = {"box": box, "coords": more.pop("coords", [0] * len(box)), "swizzle": swizzle, **({"mbar": "shared"} if loads else {}), **more}
    operands = [shared, tensor] if loads else [tensor, shared]
    call = {
        "schema": "tilecheck/call@1",
        "id": name,
        "opcode": opcode,
        "arch": "sm_90a",
        "scope": "thread",
        "launch": launch,
        "guard": guard,
    }
    return call | {"operands": operands, "parameters": fields}


def forms() -> Iterator[Document]:
    """Every form of sm_90 that moves a box."""
    load = LOAD.format(2, "cta")
    for swizzle in range(4):
        span = {0: 128, 1: 32, 2: 64, 3: 128}[swizzle]
        for width in sorted({16, span // 2, span}):
            for size in (1, 2, 4, 8):
                yield document(
                    f"swizzle {swizzle}, rows of {width} bytes of {size}",
                    load,
                    [32, 256 // size],
                    [9, width // size],
                    size=size,
                    swizzle=swizzle,
                )
        for phase in (1, 3, 7):
            yield document(f"swizzle {swizzle}, phase {phase}", load, [32, 64], [6, span // 2 // 2], swizzle=swizzle, phase=phase)
    for rank in range(1, 6):
        box = [1, 2, 3, 2, 16][-rank:]
        for space in ("cta", "cluster"):
            opcode = LOAD.format(rank, space)
            for swizzle in (0, 1, 3):
                yield document(f"rank {rank} to shared::{space}, swizzle {swizzle}", opcode, [2, 3, 4, 5, 32][-rank:], box, swizzle=swizzle)
        for opcode in (STORE, REDUCE):
            shape = [2, 3, 4, 5, 32][-rank:]
            yield document(
                f"{opcode.split('.')[1]} {opcode[:9]} rank {rank}",
                opcode.format(rank),
                shape,
                box,
                size=4,
                swizzle=2 if box[-1] * 4 <= 64 else 0,
            )
    for strides in ([2, 1], [3, 1], [8, 1]):
        for swizzle in (0, 3):
            yield document(f"strides {strides}, swizzle {swizzle}", load, [64, 64], [24, 32], swizzle=swizzle, element_strides=strides)
    yield document(
        "strides (1, 3, 2), swizzle 2", LOAD.format(4, "cta"), [2, 9, 9, 32], [1, 9, 6, 16], swizzle=2, element_strides=[1, 3, 2, 1]
    )
    for at in ([-3, 0], [-3, -8], [30, 0], [0, 56], [30, 56], [0, -8], [40, 0], [0, 128]):
        yield document(f"load at {at}", load, [32, 64], [8, 32], swizzle=2, coords=at)
        if min(at) >= 0:
            yield document(f"store at {at}", STORE.format(2), [32, 64], [8, 32], swizzle=2, coords=at)
    for inner in (100, 97):
        yield document(f"store past an extent of {inner}", STORE.format(2), [16, inner], [8, 32], coords=[4, 80], pitch=[112, 1])
    for stages in (2, 4):
        yield document(f"{stages} stages", load, [64, 64], [8, 64], swizzle=3, stages=stages, coord_steps=[[8, 0]])
    for interleave, swizzle in ((1, 0), (1, 1), (1, 2), (1, 3), (2, 1)):
        for rank in (3, 4, 5):
            shape, box = [2, 3, 4, 5, 12], [2, 1, 2, 2, 8]
            fields = {"coords": [0, 1, *[0] * (rank - 2)], "interleave": interleave}
            yield document(
                f"interleave {interleave}, swizzle {swizzle}, rank {rank}",
                LOAD.format(rank, "cta"),
                shape[:2] + shape[7 - rank :],
                box[:2] + box[7 - rank :],
                swizzle=swizzle,
                **fields,
            )
    for mask in (1, 2, 3):
        opcode = LOAD.format(2, "cluster") + ".multicast::cluster"
        yield document(f"multicast {mask}", opcode, [32, 64], [8, 64], swizzle=3, cluster=[2], cta_mask=mask)


# --- the kernel -------------------------------------------------------------------------------------------------------

KERNEL = """.version 8.6
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 tk_shared[];
.shared .align 8 .b64 tk_bar;
.visible .entry k(.param .u64 p_map, .param .u64 p_in, .param .u64 p_out){cluster}
{{
{declarations}
.reg .pred %k<6>; .reg .b32 %u<10>; .reg .b64 %d<12>; .reg .b8 %b<2>;
mov.u32 %u0, %tid.x; mov.u32 %u1, %cluster_ctarank; cvt.u64.u32 %d9, %u0;
mov.u64 %d0, tk_shared; add.u64 %d0, %d0, 1023; and.b64 %d0, %d0, -1024;
ld.param.u64 %d1, [p_in]; ld.param.u64 %d2, [p_out]; ld.param.u64 %d3, [p_map];
mul.wide.u32 %d4, %u1, {bytes}; add.u64 %d1, %d1, %d4; add.u64 %d2, %d2, %d4;
mov.u64 %d5, %d9;
IN: setp.ge.u64 %k0, %d5, {bytes}; @%k0 bra INITED;
add.u64 %d6, %d1, %d5; add.u64 %d7, %d0, %d5; ld.global.u8 %u2, [%d6]; st.shared.u8 [%d7], %u2; add.u64 %d5, %d5, 32; bra IN;
INITED: mov.u64 %d8, tk_bar; setp.eq.u32 %k1, %u0, 0; @!%k1 bra READY;
mbarrier.init.shared::cta.b64 [%d8], 1; fence.mbarrier_init.release.cluster;
{expect}
READY: fence.proxy.async; {sync}
{sets}
setp.ne.u32 %k2, %u0, 0; @%k2 bra ISSUED; setp.ne.u32 %k3, %u1, 0; @%k3 bra ISSUED;
{ptx}
{completion}
ISSUED: {wait}
fence.proxy.async; {sync}
mov.u64 %d5, %d9;
OUT: setp.ge.u64 %k0, %d5, {bytes}; @%k0 bra DONE;
add.u64 %d6, %d2, %d5; add.u64 %d7, %d0, %d5; ld.shared.u8 %u2, [%d7]; st.global.u8 [%d6], %u2; add.u64 %d5, %d5, 32; bra OUT;
DONE: ret;
}}
"""
WAIT = """mov.u32 %u4, 0;
TRY: add.u32 %u4, %u4, 1; setp.gt.u32 %k4, %u4, 1048576; @%k4 trap;
mbarrier.try_wait.parity.shared::cta.b64 %k5, [%d8], 0; @!%k5 bra TRY;"""


def kernel(call: Call, emission: Emission, size: int) -> str:
    """The kernel around the snippet; each CTA's barrier expects what the call adds to it."""
    found = find_contract(call.opcode)
    assert isinstance(found, Contract)
    box = box_of(call, found)
    assert box is not None
    loads, mask = found.barrier is not None, call.parameter("cta_mask")
    each = box.transaction_bytes * len(emission.instructions)
    expect = []
    for cta in range(call.launch.ctas if loads else 0):
        own = each if (mask is None and cta == 0) or (isinstance(mask, int) and mask >> cta & 1) else 0
        expect.append(f"setp.eq.u32 %k3, %u1, {cta}; @%k3 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%d8], {own};")
    sync = "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" if call.launch.ctas > 1 else "bar.sync 0;"
    sets = ["mov.u64 %tc_ptr_S, %d0;", "mov.u64 %tc_ptr_T, %d3;", *(["mov.u64 %tc_bar_mbar, %d8;"] if loads else [])]
    fields = {
        "cluster": f" .reqnctapercluster {call.launch.ctas}, 1, 1" if call.launch.ctas > 1 else "",
        "declarations": "\n".join(emission.declarations),
        "bytes": size,
        "expect": "\n".join(expect),
        "sync": sync,
        "sets": "\n".join(sets),
        "ptx": emission.ptx,
        "completion": "\n".join(found.completion),
        "wait": WAIT if loads else "",
    }
    return KERNEL.format(**fields)


def encoded(machine: Gpu, found: TensorMap, address: int) -> Any:
    """The tensor map in 128 bytes; DeviceError where the driver refuses."""
    d = machine.driver
    dims = [d.cuuint64_t(int(one)) for one in found.global_dim]
    strides = [d.cuuint64_t(int(one)) for one in found.global_strides] or [d.cuuint64_t(16)]
    box, steps = ([d.cuuint32_t(one) for one in values] for values in (found.box_dim, found.element_strides))
    status, result = d.cuTensorMapEncodeTiled(
        d.CUtensorMapDataType(found.data_type),
        found.rank,
        address + int(found.start),
        dims,
        strides,
        box,
        steps,
        d.CUtensorMapInterleave(found.interleave),
        d.CUtensorMapSwizzle(found.swizzle),
        d.CUtensorMapL2promotion(found.l2_promotion),
        d.CUtensorMapFloatOOBfill(found.oob_fill),
    )
    if int(status):
        raise DeviceError(f"cuTensorMapEncodeTiled: {status.name}")
    return np.array([int(word) for word in result.opaque], dtype=np.uint64)


TENSOR, SHARED = 1 << 16, 1 << 15


def ran(machine: Gpu, call: Call, seed: int) -> tuple[Any, Any, Any, Any]:
    """(shared memory of every CTA before and after, the tensor before and after)."""
    rng = np.random.default_rng(seed)
    ctas = call.launch.ctas
    before, tensor = rng.integers(0, 256, (ctas, SHARED), dtype=np.uint8), rng.integers(0, 256, TENSOR, dtype=np.uint8)
    base = machine.memory(1 << 22)
    places = {"map": base, "in": base + 4096, "out": base + (1 << 20), "tensor": base + (1 << 21)}
    emission = emit_unchecked(call, "sm_90a")
    assert emission.tensor_map is not None
    machine.write(places["map"], encoded(machine, emission.tensor_map, places["tensor"]))
    machine.write(places["in"], before)
    machine.write(places["tensor"], tensor)
    loaded = machine.load_text(kernel(call, emission, SHARED), "sm_90a", "k")
    machine.launch(loaded, (ctas, 1, 1), (32, 1, 1), SHARED + 1024, [places["map"], places["in"], places["out"]])
    return before, machine.read(places["out"], before), tensor, machine.read(places["tensor"], tensor)


def wrong(call: Call, seed: int, machine: Gpu) -> tuple[int, int]:
    """(bytes that differ from the prediction, bytes that are written)."""
    shared, found, tensor, left = ran(machine, call, seed)
    twin = call
    if ".add." in call.opcode:
        text = json.loads(json.dumps(call.to_json()))
        twin = read_call(text | {"opcode": call.opcode.replace("cp.reduce", "cp").replace(".add", "")})
    rows = predicted(twin, {}, 0).memory
    mask = call.parameter("cta_mask")
    want, expected = shared.copy(), tensor.copy()
    for name, byte, source, at in rows:
        if name == "T":
            expected[byte] = shared[0, at]
        else:
            for cta in range(call.launch.ctas):
                if mask is None or (isinstance(mask, int) and mask >> cta & 1):
                    want[cta, byte] = tensor[at] if source is not None else 0
    if twin is not call:
        touched = np.array(sorted({row[1] // 4 for row in rows}))
        whole = expected.view(np.uint32)
        whole[touched] += tensor.view(np.uint32)[touched]
    return int((want != found).sum() + (expected != left).sum()), len(rows)


def main() -> int:
    """Runs every form twice with random bytes; 0 where every byte is as predicted."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--output")
    parser.add_argument("--dry", action="store_true", help="only check, predict and emit")
    options = parser.parse_args()
    records, bad, machine = list[dict[str, Any]](), 0, None if options.dry else gpu(0)
    for form in forms():
        call = read_call(form)
        verdict = check(call)
        if verdict.status != "proved":
            print(form["id"], verdict.summary())
            bad += 1
            continue
        emission = emit_unchecked(call, "sm_90a")
        if machine is None:
            predicted(call, {}, 0) if ".add." not in call.opcode else kernel(call, emission, SHARED)
            continue
        try:
            counts = [wrong(call, seed, machine) for seed in range(2)]
        except DeviceError as error:
            print(form["id"], error)
            bad += 1
            break
        different = sum(one for one, _ in counts)
        bad += different > 0
        print(f"{form['id']}: {different} of {counts[0][1]} bytes differ")
        contract = find_contract(call.opcode)
        assert isinstance(contract, Contract)
        info = machine.info
        records.append(
            {
                "form": form["id"],
                "opcode": call.opcode,
                "contract": contract_hash(contract),
                "matches": different == 0,
                "written_bytes": counts[0][1],
                "instructions": len(emission.instructions),
                "ptx_sha256": ptx_sha256(emission.normalised),
                "arch": "sm_90a",
                "device": info.name,
                "driver": info.driver,
                "cuda": info.cuda,
                "date": now(),
            }
        )
    print(len(records), "forms,", bad, "bad")
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:  # noqa: PTH123 (a path of the command line)
            json.dump(records, file, indent=1)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
