"""Bits of arguments: ends of ranges, small numbers, random patterns."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tilecheck.reconstruct.scalars import drawn


def rows(types: Sequence[str], count: int, seed: int = 1) -> list[tuple[int, ...]]:
    """`count` tuples of bits, one for each type."""
    rng = random.Random(seed)
    return [tuple(drawn(type_, rng) for type_ in types) for _ in range(count)]
