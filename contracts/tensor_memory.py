"""Tensor memory: what the contracts of all `tcgen05` instructions say of it in the same words.

Source: PTX ISA 9.7.16.1 to 9.7.16.5.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilecheck.spec import Floor, Pool, Shared, Slot, both
from tilecheck.spec.tmem import COLUMNS

WORDS = ("float32", "int32", "uint32", "bits32")
"""The containers of cells: raw bits."""
TENSOR_MEMORY = Pool("tensor memory", "tmem", COLUMNS)
GROUP = Slot("group", ("cta_group::1", "cta_group::2"), required=True)
FLOORS = (Floor(both(), "sm_100f", also=("sm_110f",)),)


def shared(
    q: Mapping[str, str], *, does: str = "", size: str = "", at: str = "", issuer: str = "", apart: tuple[tuple[str, str], ...] = ()
) -> Shared:
    """What a call shares with the others of its kernel: the CTA group, where its spelling has one, and the rest as `Shared` says."""
    alike = (("cta_group", f".{q['group']}"),) if q.get("group") else ()
    return Shared(TENSOR_MEMORY, "PTX ISA 9.7.16", alike, does, size, at, issuer, apart)
