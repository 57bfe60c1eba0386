"""Theorems and claims about cp.async and the bulk copies: chunks, ranks, masks, what a barrier counts, legal and illegal views."""

from __future__ import annotations

import json

from tilecheck import Call, ComposeLayout, Launch, S, Tensor, Theorem, TileLayout, apply, claim, eq, ne, symbol, theorem
from tilecheck.spec import Contract, Memory, data, find_contract
from tilecheck.symbolic import terms

CA, CG = "cp.async.ca.shared.global", "cp.async.cg.shared.global"
BARRIER = "mbarrier::complete_tx::bytes"
LOAD = f"cp.async.bulk.shared::cluster.global.{BARRIER}"
REMOTE = f"cp.async.bulk.shared::cluster.shared::cta.{BARRIER}"
STORE = "cp.async.bulk.global.shared::cta.bulk_group"
REDUCE = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32"
WIDTHS = (4, 8, 16, 32, 64, 128)


def form(opcode: str) -> Contract:
    """The contract of a spelling."""
    found = find_contract(opcode)
    assert isinstance(found, Contract)
    return found


@theorem
def a_fitted_row_holds_the_chunk(t: Theorem) -> None:
    """Whatever the width of the elements, the row of a fitted contract has the bytes of the chunk, aligned to itself (cp.async) or to 16."""
    for opcode, sizes in ((CA, (4, 8, 16)), (CG, (16,)), (STORE, (16, 48, 4096)), (REMOTE, (16, 160))):
        for size in sizes:
            for bits in (b for b in WIDTHS if 8 * size % b == 0):
                contract = form(opcode).fitted(bits, size)
                for side in contract.operands:
                    assert isinstance(side, Memory)
                    t.holds(side.bits * contract.atom[-1].extent == 8 * size, f"{opcode}, {size} bytes of {bits}-bit elements")
                    t.holds(side.align_bytes == (size if opcode in {CA, CG} else 16), f"{opcode}, {size} bytes: alignment")


@theorem
def a_chunk_of_cp_async_lies_in_one_unit_of_sixteen_bytes(t: Theorem) -> None:
    """A chunk at a multiple of its size crosses no multiple of 16."""
    for size in (4, 8, 16):
        start = t.symbol(f"start_{size}", min=0, multiple_of=size)
        t.show(eq(terms.floordiv(start, 16), terms.floordiv(terms.add(start, size - 1), 16)), f"{size} bytes")


@theorem
def a_step_round_the_ring_is_another_cta(t: Theorem) -> None:
    """(rank + step) % ctas is a CTA of the cluster, and another one, for every step from 1 to ctas - 1; step 0 is the own CTA."""
    for ctas in range(2, 17):
        rank = t.symbol(f"rank_{ctas}", min=0, max=ctas - 1)
        step = t.symbol(f"step_{ctas}", min=1, max=ctas - 1)
        there = terms.mod(terms.add(rank, step), ctas)
        t.show(ne(there, rank), f"{ctas} CTAs: another one")
        t.show(terms.conj(terms.le(0, there), terms.lt(there, ctas)), f"{ctas} CTAs: of the cluster")


@theorem
def contracts_survive_json(t: Theorem) -> None:
    """The data of every form is the same after JSON."""
    for opcode in (CA, CG, LOAD, REMOTE, STORE, REDUCE, "cp.async.bulk.prefetch.L2.global"):
        once = json.dumps(data(form(opcode)))
        t.holds(json.dumps(json.loads(once)) == once, opcode)


# --- claims ------------------------------------------------------------------------------------------------------------


def staged(swizzle: bool) -> Call:
    """A tile of 64 rows of 64 halves, one 16-byte chunk a thread and repeat, into a stage of a ring of three."""
    stage = symbol("stage", min=0, max=2)
    rows = TileLayout(S[(3, 64, 64) : (4096, 64, 1)])
    layout = ComposeLayout(3, 3, 3, rows) if swizzle else rows
    ring = Tensor("SM", (3, 64, 64), "float16", space="shared", align=1024, layout=layout)
    tile = Tensor("A", (64, 512), "float16", space="global", align=16)
    column = symbol("column", min=0, max=448, multiple_of=64)
    pattern = "(r w l) (c e) -> w (l c) r e"
    sizes = {"w": 4, "l": 4, "c": 8, "r": 4}
    target = ring[stage : stage + 1, :, :].reshape((64, 64)).rearrange(pattern, **sizes)
    return apply(CG, target, tile[:, column : column + 64].rearrange(pattern, **sizes), scope="cta", launch=Launch((128,)), chunk_bytes=16)


@claim
def a_ring_of_stages() -> Call:
    """Each of 128 threads copies four chunks of a row-major tile."""
    return staged(swizzle=False)


@claim
def a_swizzled_ring_of_stages() -> Call:
    """A 128-byte swizzle moves chunks of 16 bytes as wholes."""
    return staged(swizzle=True)


@claim(refuted="dst.contiguous")
def a_swizzle_in_elements() -> Call:
    """The same swizzle without its unit of eight elements tears chunks apart."""
    rows = ComposeLayout(0, 3, 3, TileLayout(S[(64, 64) : (64, 1)]))
    ring = Tensor("SM", (64, 64), "float16", space="shared", align=1024, layout=rows)
    tile = Tensor("A", (64, 64), "float16", space="global", align=16)
    return apply(CG, ring.rearrange("r (c e) -> r c e", c=8), tile.rearrange("r (c e) -> r c e", c=8), scope="thread", chunk_bytes=16)


@claim(refuted="src.aligned")
def an_odd_leading_dimension() -> Call:
    """Rows of 65 halves: the second one starts at byte 130."""
    rows = Tensor("A", (8, 65), "float16", space="global", align=16)
    return apply(CA, Tensor("SM", (8, 8), "float16", space="shared", align=16), rows[:, 0:8], scope="thread", chunk_bytes=16)


def exchanged(rank: str) -> Call:
    """Half of one allocation to the other half in another CTA, by one elected thread of each CTA of a cluster of four."""
    whole = TileLayout(S[(2, 256) : (256, 1)])
    shared = Tensor("X", (2, 256), "float32", space="shared", align=16, layout=whole, tensor="X")
    launch, one = Launch((128,), (4,)), "elected and warpid == 0"
    return apply(
        REMOTE,
        shared[1, :],
        shared[0, :],
        scope="thread",
        launch=launch,
        guard=one,
        chunk_bytes=1024,
        mbar="shared",
        remote_cta_id=rank,
        expected_bytes=1024,
    )


@claim
def a_ring_of_ctas() -> Call:
    """Each CTA sends to the next one, and every barrier gets one chunk."""
    return exchanged("(cbx + 1) % 4")


@claim(refuted="remote_cta_id.cluster")
def the_last_cta_has_no_next_one() -> Call:
    """Without the remainder the last CTA names a fifth one."""
    return exchanged("cbx + 1")


@claim(refuted="expected_bytes.operands")
def all_send_to_the_first() -> Call:
    """Three CTAs send to CTA 0, whose barrier then counts three chunks; CTA 0 sends to CTA 1."""
    return exchanged("select(cbx == 0, 1, 0)")
