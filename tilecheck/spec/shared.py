"""The vocabulary of what the calls of one kernel share: a pool of which they hold parts, spellings that must agree, who issues them.

A contract says it of its own calls; what the calls of a kernel make of it together is decided by the engine (`check_kernel`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pool:
    """What calls take parts of: its name, and how many columns each CTA has of it. space: the space of operands that lie in it."""

    name: str
    space: str
    columns: int


@dataclass(frozen=True, slots=True)
class Shared:
    """What a call of an instruction has in common with the other calls of its kernel that share the same pool.

    alike: (qualifier, how it is written here), for each qualifier that all these calls write in the same way.
    does: "allocates" or "frees" columns, "closes" the pool (nothing is allocated after it), or "" for none of that.
    size, at: the parameters that say how many columns are allocated or freed, and at which column they begin.
    issuer: who issues one instruction: "cta", one thread (one warp, for a collective) of a CTA; "pair", one thread of a pair of CTAs;
    "each", one warp of each CTA of a pair; "" for any number of threads.
    apart: pairs of operands, one that is written and one that is read, that have no cell of the pool in common.
    source: document and section.
    """

    pool: Pool
    source: str
    alike: tuple[tuple[str, str], ...] = ()
    does: str = ""
    size: str = ""
    at: str = ""
    issuer: str = ""
    apart: tuple[tuple[str, str], ...] = ()
