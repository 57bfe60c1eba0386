"""`tcgen05.alloc`, `dealloc`, `relinquish_alloc_permit`, `commit`, `wait` and `fence`: what a kernel does around its instructions on tensor memory.

They hand no tile over; they are here for what the calls of a kernel share: one CTA group, columns that are allocated before they are accessed, one
thread that issues. `wait` and `fence` share nothing. What they allocate has a place in the columns that the views of the kernel count: `taddr`, the address that `alloc` writes.
Sources: PTX ISA 9.7.16.7.1 (alloc, dealloc, relinquish_alloc_permit), 9.7.16.12.1 (commit), 9.7.16.8.5 (wait), 9.7.16.11.1 (fence), 9.7.16.5 (who issues).
"""

from __future__ import annotations

from collections.abc import Mapping

from tilecheck.contracts.tensor_memory import FLOORS, GROUP, shared
from tilecheck.spec import AtomAxis, Contract, Entry, Exclusion, Family, Grammar, Memory, Move, Parameter, Slot, both, is_, written
from tilecheck.spec.tmem import COLUMNS

SIZES = (32, 64, 128, 256, 512)
STEP = 32
ALIGNED = (Slot("sync", ("sync",), required=True), Slot("aligned", ("aligned",), required=True))
ALLOC = Grammar(
    "tcgen05.alloc",
    (GROUP, *ALIGNED, Slot("space", ("shared::cta",)), Slot("type", ("b32",), required=True)),
    exclusions=(),
    floors=FLOORS,
    source="PTX ISA 9.7.16.7.1",
)
DEALLOC = Grammar(
    "tcgen05.dealloc", (GROUP, *ALIGNED, Slot("type", ("b32",), required=True)), exclusions=(), floors=FLOORS, source="PTX ISA 9.7.16.7.1"
)
RELINQUISH = Grammar("tcgen05.relinquish_alloc_permit", (GROUP, *ALIGNED), exclusions=(), floors=FLOORS, source="PTX ISA 9.7.16.7.1")
COMMIT = Grammar(
    "tcgen05.commit",
    (
        GROUP,
        Slot("completion", ("mbarrier::arrive::one",), required=True),
        Slot("space", ("shared::cluster",)),
        Slot("multicast", ("multicast::cluster",)),
        Slot("type", ("b64",), required=True),
    ),
    exclusions=(Exclusion(both(written("multicast"), is_("space", "")), "multicast", "is written behind .shared::cluster"),),
    floors=FLOORS,
    source="PTX ISA 9.7.16.12.1",
)
WAIT = Grammar(
    "tcgen05.wait", (Slot("for", ("::ld", "::st"), required=True), *ALIGNED), exclusions=(), floors=FLOORS, source="PTX ISA 9.7.16.8.5"
)
FENCE = Grammar(
    "tcgen05.fence",
    (Slot("side", ("::before_thread_sync", "::after_thread_sync"), required=True),),
    exclusions=(),
    floors=FLOORS,
    source="PTX ISA 9.7.16.11.1",
)
SIZE = Parameter("ncols", "selector", required=True, operand=True, choices=SIZES)


def _contract(grammar: Grammar, q: Mapping[str, str], issue: str, parameters: tuple[Parameter, ...], does: str = "") -> Contract:
    """What the six have in common: no tile, one warp (one thread for a commit or fence) that issues. does: as in `Shared`."""
    pair, warp = q.get("group") == "cta_group::2", grammar not in {COMMIT, FENCE}
    sized = does in {"allocates", "frees"}
    return Contract(
        opcode=grammar.spell(q),
        mnemonic=grammar.mnemonic,
        arch=grammar.arch_floor(q),
        also=grammar.arch_also(q),
        source=grammar.source,
        collective="warp" if warp else "thread",
        atom=(AtomAxis("word", 1),) if does == "allocates" else (),
        operands=(Memory("dst", "shared", 32, row=("word",), align_bytes=4, write=True, provider=0),) if does == "allocates" else (),
        parameters=(*parameters, Parameter("pred", "predicate")),
        move=Move("", "", source=()),
        issue=issue,
        qualifiers=q,
        space_written="space" not in q or bool(q["space"]),
        single=grammar is COMMIT,
        pair=pair,
        shared=None
        if "group" not in q
        else shared(
            q,
            does=does,
            size="ncols" if sized else "",
            at="taddr" if sized else "",
            issuer=("each" if pair else "cta") if warp else ("pair" if pair else "cta"),
        ),
    )


def alloc(q: Mapping[str, str]) -> Contract:
    """Takes `ncols` columns of all lanes and writes their address to dst; `taddr`: that address, as the views of the kernel count columns."""
    place = Parameter("taddr", "selector", choices=tuple(range(0, COLUMNS, STEP)))
    return _contract(ALLOC, q, "{opcode} [{dst}], {ncols};", (SIZE, place), "allocates")


def dealloc(q: Mapping[str, str]) -> Contract:
    """Gives back what `alloc` took: the same address and number of columns."""
    place = Parameter("taddr", "integer", required=True, operand=True, bits=32, most=COLUMNS - STEP, step=STEP)
    return _contract(DEALLOC, q, "{opcode} {taddr}, {ncols};", (place, SIZE), "frees")


def relinquish(q: Mapping[str, str]) -> Contract:
    """The CTA allocates nothing more."""
    return _contract(RELINQUISH, q, "{opcode};", (), "closes")


def commit(q: Mapping[str, str]) -> Contract:
    """A barrier completes once what the executing thread has issued is done: in every CTA of the mask, with `.multicast::cluster`."""
    mask = (Parameter("cta_mask", "mask", required=True, operand=True, bits=16),) if q["multicast"] else ()
    return _contract(
        COMMIT,
        q,
        "{opcode} [{mbar}]" + (", {cta_mask};" if mask else ";"),
        (Parameter("mbar", "barrier", required=True, operand=True), *mask),
    )


def wait(q: Mapping[str, str]) -> Contract:
    """The warp goes on when what it has loaded is in its registers, or what it has stored is in tensor memory."""
    return _contract(WAIT, q, "{opcode};", ())


def fence(q: Mapping[str, str]) -> Contract:
    """What a thread has issued stays before, or behind, the point where threads meet."""
    return _contract(FENCE, q, "{opcode};", ())


FAMILY = Family(
    "tmem_alloc",
    (
        Entry(ALLOC, alloc),
        Entry(DEALLOC, dealloc),
        Entry(RELINQUISH, relinquish),
        Entry(COMMIT, commit),
        Entry(WAIT, wait),
        Entry(FENCE, fence),
    ),
)
