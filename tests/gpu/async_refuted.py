"""Asynchronous copies that a contract refutes: addresses off their alignment, sizes that do not exist, torn chunks, the own CTA."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator

from tests.gpu.async_forms import GLOBAL, SHARED, STAGE, chunks, run_of
from tests.gpu.documents import Form, Json

BARRIER = "mbarrier::complete_tx::bytes"
LOAD = f"cp.async.bulk.shared::cluster.global.{BARRIER}"
REMOTE = f"cp.async.bulk.shared::cluster.shared::cta.{BARRIER}"
STORE = "cp.async.bulk.global.shared::cta.bulk_group"
CA, CG = "cp.async.ca.shared.global", "cp.async.cg.shared.global"
Refuted = tuple[str, str, str, Json, Json, dict[str, int], Callable[[str], str] | None]
"""(name, what, clause, document, control, values, rewrite)."""


def off_by(form: Form, side: int, align: int, residue: int) -> Refuted:
    """The copy with one side off by `residue` bytes, and with both aligned."""
    wrong, right = copy.deepcopy(form.document), copy.deepcopy(form.document)
    for one, found in ((wrong, residue), (right, 0)):
        one["operands"][side].update(align=residue, base={"mod": align, "is": found})  # type: ignore[index]
    name = f"{form.name}, {('destination', 'source')[side]} {residue} modulo {align}"
    wrong["id"] = name
    return name, "an asynchronous copy off its alignment", f"{('dst', 'src')[side]}.aligned", wrong, right, dict(form.values), None  # type: ignore[arg-type]


def from_register(ptx: str) -> str:
    """Rewrites a kernel so that sizes come from registers, where an assembler does not look at them."""
    found, count = re.subn(
        r"^(cp\.async\.bulk\S+ \[[^]]+\], \[[^]]+\]), (\d+)(.*)$",
        r"{ .reg .b32 %x_n;\nmov.b32 %x_n, \2;\n\1, %x_n\3 }",
        ptx,
        flags=re.MULTILINE,
    )
    assert count, "a bulk copy is expected"
    return found


def sized(size: int) -> Refuted:
    """A store of a size that does not exist; the control has 32 bytes."""
    name = f"{STORE} of {size} bytes"
    wrong, right = (run_of(name, STORE, n, GLOBAL, STAGE, dtype="uint8", bits=8) for n in (size, 32))
    for one in (wrong, right):
        for k, operand in enumerate(one.document["operands"]):  # type: ignore[arg-type]
            operand["layout"] = f"S[(2,{operand['shape'][1]}):({96 + 32 * k},1)]"
    return name, "a bulk copy of a size that does not exist", "chunk_bytes.shape", wrong.document, right.document, {"n": 1}, from_register


def refuted() -> Iterator[Refuted]:
    """Every case."""
    for size in (4, 8, 16):
        form = chunks(CA, size, f"{CA} of {size} bytes")
        yield off_by(form, 0, size, size // 2)
        yield off_by(form, 1, size, size // 2)
    for side in (0, 1):
        yield off_by(chunks(CG, 16, CG), side, 16, 8)
        yield off_by(run_of(STORE, STORE, 64, GLOBAL, STAGE), side, 16, 8)
        yield off_by(run_of(LOAD, LOAD, 64, SHARED, GLOBAL, mbar="shared"), side, 16, 8)
    yield from (sized(size) for size in (8, 24))
    form = chunks(CA, 16, f"{CA}, words of the source 8 bytes apart")
    torn, dense = copy.deepcopy(form.document), copy.deepcopy(form.document)
    torn["operands"][1]["layout"] = "S[(32,8,4):(64,8,2)]"  # type: ignore[index]
    dense["operands"][1]["layout"] = "S[(32,8,4):(64,8,1)]"  # type: ignore[index]
    yield form.name, "words that are not consecutive", "src.contiguous", torn, dense, {"n": 1}, None
    own, other = (
        run_of(f"{REMOTE} to the own CTA", REMOTE, 64, SHARED, STAGE, cluster=[2], mbar="shared", remote_cta_id=rank)
        for rank in ("cbx", "1 - cbx")
    )
    yield own.name, "a copy between CTAs to the own one", "remote_cta_id.cluster", own.document, other.document, {"n": 1}, None
    beyond, full = (chunks(CA, 8, f"{CA} of 8 bytes, src_size {held}", src_size=held) for held in (12, 8))
    yield beyond.name, "more bytes than the chunk", "src_size.bounds", beyond.document, full.document, {"n": 1}, None
