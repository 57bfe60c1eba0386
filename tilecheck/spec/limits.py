"""Limits of the machine that belong to no single instruction."""

from __future__ import annotations

from functools import lru_cache

from tilecheck.spec.grammar import arch_rank

SHARED_BYTES = (
    (75, 65_536),
    (80, 166_912),
    (86, 101_376),
    (87, 166_912),
    (89, 101_376),
    (90, 232_448),
    (100, 232_448),
    (103, 232_448),
    (110, 232_448),
    (120, 101_376),
    (121, 101_376),
)
"""The largest shared allocation of one CTA in bytes, by architecture number. Source: CUDA C++ Programming Guide, compute capabilities."""


@lru_cache(maxsize=256)
def shared_limit(arch: str | None) -> int:
    """The largest shared allocation in bytes on `arch`; without one, on any architecture."""
    if arch is None:
        return max(limit for _, limit in SHARED_BYTES)
    number = arch_rank(arch)[0]
    return next((limit for known, limit in reversed(SHARED_BYTES) if known <= number), SHARED_BYTES[0][1])


@lru_cache(maxsize=4096)
def shared_floor(size_bytes: int) -> str:
    """The lowest architecture with room for a shared allocation of that many bytes."""
    return f"sm_{next((known for known, limit in SHARED_BYTES if limit >= size_bytes), SHARED_BYTES[-1][0])}"
