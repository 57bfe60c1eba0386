"""What the campaigns and the tests of their evidence share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.gpu.documents import Form, Json
from tilecheck.document import read_call
from tilecheck.emit import emit_unchecked
from tilecheck.reconstruct import ptx_sha256, read_evidence
from tilecheck.reconstruct.device import DeviceError, gpu
from tilecheck.reconstruct.run import contract_of
from tilecheck.spec import contract_hash


def has_gpu() -> bool:
    """Whether a GPU of compute capability 9.0 or later is at hand."""
    try:
        return float(gpu(0).info.compute_capability) >= 9
    except DeviceError:
        return False


def stale(evidence: Path, forms: Mapping[str, Form]) -> list[str]:
    """The forms whose PTX or contract is another one than when a GPU ran them."""
    found: list[str] = []
    for entry in read_evidence(evidence):
        form = forms.get(str(entry["form"]))
        if form is not None:
            call = read_call(form.document)
            same = entry["ptx_sha256"] == ptx_sha256(emit_unchecked(call, str(entry["arch"])).normalised)
            if not (same and entry["contract"] == contract_hash(contract_of(call))):
                found.append(form.name)
    return found


def mutant_row(form: str, part: str, what: str, mutated: str, *, matches: bool, different: int) -> Json:
    """One mutant in the evidence: `matches` False where the comparison noticed it. different: bytes."""
    return {"form": form, "part": part, "what": what, "mutated": mutated, "matches": matches, "different_bytes": different}
