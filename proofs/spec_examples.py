"""Every worked example of the reference document for ld, ldmatrix and tensor copies, with its numbers."""

from __future__ import annotations

from typing import Any

from tilecheck import Call, ComposeLayout, Launch, R, S, Tensor, TileLayout, View, apply, axis, claim

warpid, laneid = axis("warpid"), axis("laneid")
THREAD = Launch(block=(1,))


def interleaved(register_strides: tuple[int, ...]) -> Call:
    """`A_std` of shape (7, 15, 4): addresses 60 j + 4 i + word, 105 vector loads."""
    memory = Tensor("A", (15, 2, 7, 2), "float32", align=16, layout=TileLayout(S[(15, 2, 7, 2) : (4, 1, 60, 2)]))
    registers = Tensor("R", (15, 2, 7, 2), "float32", space="register", layout=TileLayout(S[(15, 2, 7, 2) : register_strides]))
    pattern = "i b j d -> j i (d b)"
    return apply("ld.global.v4.b32", registers.rearrange(pattern), memory.rearrange(pattern), scope="thread", launch=THREAD)


@claim
def loads_105_with_the_memory_strides_in_registers() -> Call:
    return interleaved((4, 1, 60, 2))


@claim
def loads_105_with_slots_two_apart() -> Call:
    return interleaved((8, 2, 120, 4))


@claim(refuted="src.contiguous")
def words_in_the_order_of_the_original_axes_are_not_consecutive() -> Call:
    """Without exchanging b and d the four words of one instruction lie at 0, 2, 1, 3."""
    memory = Tensor("A", (15, 2, 7, 2), "float32", align=16, layout=TileLayout(S[(15, 2, 7, 2) : (4, 1, 60, 2)]))
    registers = Tensor("R", (7, 15, 4), "float32", space="register")
    return apply("ld.global.v4.b32", registers, memory.rearrange("i b j d -> j i (b d)"), scope="thread", launch=THREAD)


def sixty_four_threads(shape: tuple[int, ...] = (2, 32, 3, 4)) -> Call:
    """Three 128-bit loads a thread for 64 threads; slots 8 a repeat, 2 a word."""
    registers = Tensor(
        "R", (2, 32, 3, 4), "float32", space="register", layout=TileLayout(S[(2, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 8, 2)])
    )
    memory = Tensor("A", shape, "float32", align=16)
    return apply("ld.global.v4.b32", registers, memory, scope="cta", launch=Launch(block=(64,)))


@claim
def three_loads_a_thread_for_64_threads() -> Call:
    return sixty_four_threads()


@claim(refuted="src.shape")
def the_group_axes_are_warp_then_lane() -> Call:
    return sixty_four_threads((32, 2, 3, 4))


def ldmatrix_x2(register_layout: TileLayout, *, guard: str = "true") -> Call:
    """`S_std[k, m, r, w] = SM[2 r + m, w, k]`: even rows are matrix 0, odd rows matrix 1; two instructions."""
    shared = Tensor("SM", (16, 4, 2), "uint32", space="shared", align=16, layout=TileLayout(S[(16, 4, 2) : (8, 1, 128)]))
    registers = Tensor("R", (2, 2, 8, 4), "uint32", space="register", layout=register_layout, size_bytes=48)
    view: View = shared.rearrange("(r m) w k -> k m r w", r=8, m=2)
    return apply("ldmatrix.sync.aligned.m8n8.x2.shared.b16", registers, view, scope="warp", guard=guard)


SLOTS = TileLayout(S[(2, 2, 8, 4) : (8, 2, 4 @ laneid, 1 @ laneid)])


@claim
def ldmatrix_x2_writes_slots_0_2_8_10_of_12_words() -> Call:
    return ldmatrix_x2(SLOTS)


@claim(refuted="participation")
def half_a_warp_may_not_execute_ldmatrix() -> Call:
    return ldmatrix_x2(SLOTS, guard="laneid < 16")


@claim(refuted="dst.owner")
def rows_and_words_exchanged_belong_to_other_lanes() -> Call:
    return ldmatrix_x2(TileLayout(S[(2, 2, 8, 4) : (8, 2, 1 @ laneid, 8 @ laneid)]))


@claim(refuted="dst.replica")
def a_destination_with_replicas_is_written_in_one_place_only() -> Call:
    return ldmatrix_x2(TileLayout(S[(2, 2, 8, 4) : (4, 1, 4 @ laneid, 1 @ laneid)] + R[2:2]))


# --- tensor copies ----------------------------------------------------------------------------------------------------


def channel_slices(interleave: int = 2, swizzle: int = 1) -> Call:
    """Rank 3, uint16, interleave 2: Ci = 16, three issues for three successive channel slices of eight pixels."""
    plain = TileLayout(S[(3, 1, 1, 8, 16) : (128, 128, 128, 16, 1)])
    layout = ComposeLayout(3, 1, 3, plain) if swizzle else plain
    image = Tensor("SM", (3, 1, 1, 8, 16), "uint16", space="shared", align=256, layout=layout)
    tensor = Tensor("A", (2, 8, 64, 16), "uint16", align=32)
    opcode = "cp.async.bulk.tensor.3d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
    fields: dict[str, Any] = {
        "box": (1, 1, 8),
        "coords": (0, 0, 0),
        "coord_steps": ((0, 1, 0),),
        "interleave": interleave,
        "swizzle": swizzle,
    }
    return apply(opcode, image, tensor, scope="thread", launch=THREAD, mbar="shared", expected_bytes=768, **fields)


@claim
def three_channel_slices() -> Call:
    return channel_slices()


@claim(refuted="descriptor")
def slices_of_32_bytes_need_their_swizzle() -> Call:
    return channel_slices(swizzle=0)


def packed_nibbles(strides: tuple[int, ...]) -> Call:
    """Sixteen nibbles fill the low eight of each sixteen bytes; the barrier counts the payload."""
    image = Tensor("SM", (8, 128), "float4_e2m1fn", space="shared", align=128, layout=TileLayout(S[(8, 8, 16) : strides]))
    tensor = Tensor("A", (64, 256), "float4_e2m1fn", align=32)
    opcode = "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
    fields: dict[str, Any] = {"box": (8, 128), "coords": (0, 0), "mbar": "shared", "format": "float4_e2m1fn", "expected_bytes": 512}
    return apply(opcode, image, tensor, scope="thread", launch=THREAD, **fields)


@claim
def sixteen_nibbles_a_block() -> Call:
    return packed_nibbles((256, 32, 1))


@claim(refuted="dst.image")
def nibbles_are_not_dense() -> Call:
    return packed_nibbles((128, 16, 1))


# --- tcgen05 MMA ------------------------------------------------------------------------------------------------------

TLane, TCol = axis("TLane"), axis("TCol")
BANKED = TileLayout(S[(1, 1, 64, 2, 64) : (0 @ TCol, 0 @ TCol, 1 @ TLane, 64 @ TLane, 1 @ TCol)])
"""D of M 64, N 128 of .ws: columns 0 to 63 in lanes 0 to 63, columns 64 to 127 beside them in lanes 64 to 127."""


def stationary(d: View, n: int, stages: int) -> Call:
    """M 64 in instructions of N columns: A in tensor memory with its two banks, B staged for each instruction one behind the other."""
    banks = TileLayout(S[(1, 1, 2, 64, 16) : (0 @ TCol, 0 @ TCol, 64 @ TLane, 1 @ TLane, 1 @ TCol)] + 256 @ TCol)
    a = Tensor("A", (1, 1, 2, 64, 16), "float16", space="tmem", layout=banks)
    plain = ComposeLayout(3, 3, 3, TileLayout(S[(stages, 1, n, 16) : (64 * n, 0, 64, 1)]))
    b = Tensor("B", (stages, 1, n, 16), "float16", space="shared", align=1024, layout=plain)
    fields: dict[str, Any] = {"instruction_shape": (64, n, 16), "b_descriptor": (16, 1024, 3), "accum": False}
    return apply("tcgen05.mma.ws.cta_group::1.kind::f16", d, a, b, scope="thread", launch=THREAD, **fields)


def whole() -> Tensor:
    """D as the one instruction of N 128 leaves it."""
    return Tensor("D", (1, 1, 64, 128), "float32", space="tmem", layout=BANKED)


@claim
def one_instruction_of_128_columns() -> Call:
    return stationary(whole().rearrange("m n r c -> m n r c"), 128, 1)


@claim(refuted="d.image")
def two_of_64_columns_are_not_its_columns_in_their_order() -> Call:
    """Each of the two has its own boundary between the banks, at 32 columns: cutting D and B into columns 0 to 63 and 64 to 127 is another operation."""
    return stationary(whole().rearrange("m n r (j c) -> m (n j) r c", j=2), 64, 2)


@claim
def two_of_64_columns_with_the_columns_that_each_holds() -> Call:
    """Instruction j has columns 32 j to 32 j + 31 of either bank: a permuted view of D, and B staged in that order."""
    return stationary(whole().rearrange("m n r (bank j c) -> m (n j) r (bank c)", bank=2, j=2), 64, 2)
