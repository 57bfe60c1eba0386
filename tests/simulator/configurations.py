"""The GEMMs that the simulator runs."""

from __future__ import annotations

from tests.simulator.programs import Gemm, Matrix

HALF, BRAIN, SINGLE, NIBBLE = "float16", "bfloat16", "float32", "float4_e2m1fn"
GEMMS = (
    Gemm("f16, 128B", "f16", 128, 64, Matrix(HALF), Matrix(HALF), across=(2, 1), tiles=4, stages=3),
    Gemm("bf16, 64B and 32B", "f16", 128, 32, Matrix(BRAIN, swizzle=2), Matrix(BRAIN, swizzle=1), across=(1, 2), shape="16x256b"),
    Gemm(
        "f16, no swizzle, boxes of rank 3", "f16", 128, 48, Matrix(HALF, swizzle=0, planes=True), Matrix(HALF, swizzle=0), shape="16x128b"
    ),
    Gemm("f16, both MN-major", "f16", 128, 128, Matrix(HALF, "mn", planes=True), Matrix(HALF, "mn", 2)),
    Gemm("f16, MN-major without swizzle", "f16", 64, 64, Matrix(HALF, "mn", 0), Matrix(HALF, "mn", 1, planes=True), shape="16x64b"),
    Gemm("f16 into f16, M 64, negated", "f16", 64, 64, Matrix(HALF), Matrix(HALF), result=HALF, shape="16x256b", reversed_sign=True),
    Gemm("f16 into f16, M 128", "f16", 128, 64, Matrix(HALF), Matrix(HALF, "mn"), result=HALF),
    Gemm("tf32, K-major", "tf32", 128, 64, Matrix(SINGLE), Matrix(SINGLE, swizzle=2), across=(1, 2)),
    Gemm(
        "tf32, MN-major by atoms of 32 bytes",
        "tf32",
        128,
        64,
        Matrix(SINGLE, "mn", 4),
        Matrix(SINGLE, "mn", 4, planes=True),
        shape="16x128b",
    ),
    Gemm("fp8, MN-major B", "f8f6f4", 128, 128, Matrix("float8_e4m3fn"), Matrix("float8_e5m2", "mn"), stages=3, tiles=4),
    Gemm("s8 by u8", "i8", 64, 64, Matrix("int8", swizzle=1), Matrix("uint8", swizzle=2), result="int32", shape="16x128b"),
    Gemm("A in tensor memory", "f16", 128, 64, Matrix(HALF), Matrix(HALF), a_in_tensor=True),
    Gemm("A in tensor memory, M 64, scattered", "f16", 64, 64, Matrix(HALF), Matrix(HALF), a_in_tensor=True, shape="16x64b"),
    Gemm("fp8, A in tensor memory", "f8f6f4", 128, 64, Matrix("float8_e5m2"), Matrix("float8_e4m3fn"), a_in_tensor=True, shape="16x64b"),
    Gemm("pair, M 256", "f16", 256, 128, Matrix(HALF), Matrix(HALF, "mn"), group=2, across=(2, 1)),
    Gemm("pair, M 128", "f16", 128, 64, Matrix(BRAIN), Matrix(BRAIN, swizzle=2), group=2, shape="16x256b"),
    Gemm("weight stationary, M 128", "f16", 128, 64, Matrix(HALF), Matrix(HALF), stationary=True),
    Gemm("weight stationary, M 64", "f16", 64, 128, Matrix(HALF, "mn"), Matrix(HALF), stationary=True, shape="16x256b"),
    Gemm("weight stationary, M 32", "tf32", 32, 64, Matrix(SINGLE), Matrix(SINGLE), stationary=True),
    Gemm("weight stationary, M 64, A in tensor memory", "f16", 64, 64, Matrix(HALF), Matrix(HALF), stationary=True, a_in_tensor=True),
    Gemm("scaled fp8", "mxf8f6f4", 128, 128, Matrix("float8_e4m3fn"), Matrix("float8_e5m2"), scales=1, tiles=2),
    Gemm(
        "scaled fp8, N 256", "mxf8f6f4", 128, 256, Matrix("float8_e5m2"), Matrix("float8_e4m3fn", "mn"), scales=1, tiles=2, shape="16x64b"
    ),
    Gemm("scaled fp4, two scales", "mxf4", 128, 128, Matrix(NIBBLE), Matrix(NIBBLE), scales=2, tiles=2),
    Gemm(
        "scaled fp4, four scales",
        "mxf4nvf4",
        128,
        256,
        Matrix(NIBBLE),
        Matrix(NIBBLE, swizzle=2),
        scales=4,
        scale="float8_e4m3fn",
        tiles=2,
        shape="16x256b",
    ),
)

MASK = (0xFFFF0000, 0x1, 0, 0xAAAAAAAA)
"""Output lanes that an mma leaves alone, by partition."""
