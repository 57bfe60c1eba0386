"""Theorems and claims about copies of boxes: swizzles, images, phases, slices, what a barrier counts."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

from tilecheck import Call, ComposeLayout, Launch, S, Tensor, Theorem, TileLayout, apply, claim, eq, symbol, theorem
from tilecheck.boxes import box_of
from tilecheck.spec import BoxCopy, Contract, Pattern, data, find_contract
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term

LOAD = "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
RING = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
SLICES = "cp.async.bulk.tensor.3d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"
REDUCE = "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group"
ONE = Launch((32,))
LINE, CHUNK = 128, 16


def form(opcode: str) -> Contract:
    """The contract of a spelling."""
    found = find_contract(opcode)
    assert isinstance(found, Contract)
    return found


def box_copy() -> BoxCopy:
    """What the load does with its tensor map."""
    found = form(LOAD).box
    assert found is not None
    return found


def swizzled(pattern: Pattern, address: Term) -> Term:
    """Where the byte at an unswizzled absolute address lies."""
    moved = address
    for shift, mask in pattern.xors:
        moved = terms.xor(moved, terms.bit_and(terms.shr(address, shift), mask))
    return moved


@theorem
def a_swizzle_is_an_involution(t: Theorem) -> None:
    """Applied twice it changes nothing, so it is a permutation and its own inverse."""
    for pattern in box_copy().patterns:
        a = t.symbol(f"a_{pattern.code}", min=0)
        t.show(eq(swizzled(pattern, swizzled(pattern, a)), a), pattern.name)


@theorem
def a_swizzle_keeps_chunks_and_lines(t: Theorem) -> None:
    """Bytes stay together in chunks of 16 (of 8 where halves are flipped), and in their line of 128."""
    for pattern in box_copy().patterns:
        a = t.symbol(f"a_{pattern.code}", min=0)
        chunk = CHUNK if pattern.code != 5 else 8
        t.show(eq(terms.mod(swizzled(pattern, a), chunk), terms.mod(a, chunk)), f"{pattern.name}: the place in a chunk")
        t.show(eq(terms.floordiv(swizzled(pattern, a), LINE), terms.floordiv(a, LINE)), f"{pattern.name}: the line")


@theorem
def phases_repeat_with_the_period(t: Theorem) -> None:
    """A swizzle at an address and at the same address some periods later is the same: only the phase, the line modulo the period, counts."""
    for pattern in box_copy().patterns:
        inside = t.symbol(f"inside_{pattern.code}", min=0, max=pattern.period_bytes - 1)
        whole = t.symbol(f"whole_{pattern.code}", min=0, multiple_of=pattern.period_bytes)
        t.show(eq(swizzled(pattern, terms.add(whole, inside)), terms.add(whole, swizzled(pattern, inside))), pattern.name)


@theorem
def an_image_is_injective(t: Theorem) -> None:
    """Two bytes of rows that are pitched at the span are one byte only where row and place in the row are the same."""
    for pattern in (one for one in box_copy().patterns if one.span_bytes):
        span = pattern.span_bytes
        rows = [t.symbol(f"row_{pattern.code}_{k}", min=0, max=1023) for k in range(2)]
        places = [t.symbol(f"place_{pattern.code}_{k}", min=0, max=span - 1) for k in range(2)]
        first, second = (swizzled(pattern, terms.add(terms.mul(span, r), p)) for r, p in zip(rows, places, strict=True))
        same = terms.conj(eq(rows[0], rows[1]), eq(places[0], places[1]))
        t.show(terms.disj(terms.negate(eq(first, second)), same), pattern.name)


@theorem
def slices_tile_the_channels(t: Theorem) -> None:
    """Every channel is in exactly one slice: channel c is element c % Ci of slice c // Ci."""
    for interleave in box_copy().interleaves:
        for size in (1, 2, 4, 8):
            count = interleave.slice_bytes // size
            channel = t.symbol(f"channel_{interleave.code}_{size}", min=0)
            piece, element = terms.floordiv(channel, count), terms.mod(channel, count)
            label = f"interleave {interleave.code}, {size} bytes"
            t.show(eq(terms.add(terms.mul(count, piece), element), channel), f"{label}: the channel")
            t.show(terms.conj(terms.le(0, element), terms.lt(element, count)), f"{label}: inside the slice")


@theorem
def a_barrier_counts_the_bytes_of_the_image(t: Theorem) -> None:
    """The bytes of a transaction are those of the elements of the image, whatever element strides and pitches are."""
    for rows, columns, stride, swizzle in product((1, 5, 64), (8, 32, 64), (1, 2, 3), (0, 3)):
        call = tile(rows, columns, stride=stride, swizzle=swizzle)
        box = box_of(call, form(LOAD))
        assert box is not None
        elements = len(range(0, rows, stride)) * columns
        t.holds(box.transaction_bytes == 2 * elements, f"box ({rows}, {columns}), stride {stride}, swizzle {swizzle}")


@theorem
def contracts_survive_json(t: Theorem) -> None:
    """The data of every form is the same after JSON."""
    for opcode in (LOAD, RING, SLICES, STORE, REDUCE, "cp.async.bulk.prefetch.tensor.2d.L2.global"):
        once = json.dumps(data(form(opcode)))
        t.holds(json.dumps(json.loads(once)) == once, opcode)


# --- claims ------------------------------------------------------------------------------------------------------------


def tile(rows: int, columns: int, *, stride: int = 1, swizzle: int = 3, pitch: int | None = None) -> Call:
    """A box of half words into one image."""
    samples, step = -(-rows // stride), pitch if pitch is not None else max(columns, 64 if swizzle else 0)
    plain = TileLayout(S[(samples, columns) : (step, 1)])
    image = Tensor(
        "SM", (samples, columns), "float16", space="shared", align=1024, layout=ComposeLayout(3, 3, 3, plain) if swizzle else plain
    )
    tensor = Tensor("A", (1024, 1024), "float16", align=16)
    fields: dict[str, Any] = {
        "box": (rows, columns),
        "coords": (0, 0),
        "element_strides": (stride, 1),
        "swizzle": swizzle,
        "mbar": "shared",
    }
    return apply(LOAD, image, tensor, scope="thread", launch=ONE, guard="laneid == 0", **fields)


@claim
def a_tile_of_64_by_64() -> Call:
    """Rows of 128 bytes fill the span of swizzle 3."""
    return tile(64, 64)


@claim
def a_narrow_tile_is_pitched_at_the_span() -> Call:
    """Rows of 64 bytes lie 128 bytes apart."""
    return tile(64, 32)


@claim(refuted="dst.image")
def a_narrow_tile_that_is_compact() -> Call:
    """The hardware leaves half of each line free."""
    return tile(64, 32, pitch=32)


@claim
def a_ring_of_stages() -> Call:
    """Tile i of a row of tiles goes to stage i % 4."""
    i = symbol("i", min=0, max=1000)
    plain = TileLayout(S[(4, 128, 64) : (8192, 64, 1)])
    ring = Tensor("SM", (4, 128, 64), "float16", space="shared", align=1024, layout=ComposeLayout(3, 3, 3, plain))
    tensor = Tensor("A", (128, 65536), "float16", align=16)
    stage = ring.sub((i % 4, 0, 0), (1, 128, 64)).reshape(128, 64)
    fields: dict[str, Any] = {"box": (128, 64), "coords": (0, 64 * i), "swizzle": 3, "mbar": "shared"}
    return apply(LOAD, stage, tensor, scope="thread", launch=ONE, guard="laneid == 0", **fields)


@claim(refuted="coords")
def a_column_off_16_bytes() -> Call:
    """Four half words are eight bytes."""
    image = Tensor("SM", (8, 64), "float16", space="shared", align=128)
    tensor = Tensor("A", (1024, 1024), "float16", align=16)
    return apply(LOAD, image, tensor, scope="thread", launch=ONE, guard="laneid == 0", box=(8, 64), coords=(0, 4), mbar="shared")
