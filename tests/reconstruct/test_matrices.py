"""Images of register to register moves and of bytes that are put together from parts, against plain integer arithmetic on a filled arena."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.gpu.forms import all_forms, later_forms
from tilecheck.document import read_call
from tilecheck.emit import emit_kernel_unchecked
from tilecheck.reconstruct.arena import RUNS, Arena, Bytes, arena
from tilecheck.reconstruct.run import Observed, compared, predicted

FORMS = {form.name: form for form in [*all_forms(), *later_forms()]}
MOVMATRIX = "movmatrix.sync.aligned.m8n8.trans.b16"


def differences(name: str, run: Callable[[Arena, Bytes], None], arch: str = "sm_90") -> int:
    """How many bytes differ from the image where `run` is what a GPU did to the arena."""
    form = FORMS[name]
    call = read_call(form.document)
    kernel = emit_kernel_unchecked(call, arch)
    place = arena(kernel, 1 << 20, form.values, form.elected)
    runs: list[Bytes] = []
    for number in range(RUNS):
        left = place.fill(number)
        for region in place.regions:
            if region.role == "after":
                before = place.region("before", region.name)
                left[region.at : region.end] = left[before.at : before.end]
        run(place, left)
        runs.append(left)
    _, counts = compared(Observed(kernel, place, runs, None, form.values, 0), predicted(call, form.values, 0))  # type: ignore[arg-type]
    found = counts["different"]
    assert isinstance(found, int)
    return found


def words(place: Arena, left: Bytes, name: str) -> np.ndarray:
    """The registers of 32 lanes after the run: [lane, slot], a copy."""
    region = place.region("after", name)
    return left[region.at : region.end].view(np.uint32).reshape(32, -1).copy()


def put(place: Arena, left: Bytes, name: str, values: np.ndarray) -> None:
    region = place.region("after", name)
    left[region.at : region.end] = values.astype(np.uint32).reshape(-1).view(np.uint8)


def transposed(column: np.ndarray) -> np.ndarray:
    """One register of 32 lanes as an 8x8 matrix of halves, transposed."""
    return column.astype(np.uint32).view(np.uint16).reshape(8, 8).T.copy().view(np.uint32).reshape(32)


def in_place(slots: list[tuple[int, int]]) -> Callable[[Arena, Bytes], None]:
    """(target, source) slots of X, one repeat after the other."""

    def run(place: Arena, left: Bytes) -> None:
        found = words(place, left, "X")
        for target, source in slots:
            found[:, target] = transposed(found[:, source])
        put(place, left, "X", found)

    return run


def test_movmatrix_into_other_registers():
    def run(place: Arena, left: Bytes) -> None:
        results, sources = words(place, left, "R"), words(place, left, "F")
        for repeat in range(3):
            results[:, 2 + 3 * repeat] = transposed(sources[:, 5 - 2 * repeat])
        put(place, left, "R", results)

    assert differences(f"{MOVMATRIX}, separated slots", run) == 0
    assert differences(f"{MOVMATRIX}, separated slots", lambda *_: None) == 3 * 32 * 4


def test_movmatrix_in_place():
    assert differences(f"{MOVMATRIX}, in place", in_place([(0, 0), (2, 2), (4, 4)])) == 0
    assert differences(f"{MOVMATRIX}, in place", in_place([(0, 0), (2, 2)])) > 0


def test_a_repeat_reads_what_the_one_before_wrote():
    name = f"{MOVMATRIX}, each repeat reads what the one before wrote"
    assert differences(name, in_place([(1, 0), (2, 1), (3, 2)])) == 0
    assert differences(name, in_place([(3, 2), (2, 1), (1, 0)])) > 0


def unpacked(bits: int, shift: int) -> Callable[[Arena, Bytes], None]:
    """ldmatrix m8n16.x1 of rows 48 bytes apart from byte 16 on, each element `shift` bits up in its byte."""

    def run(place: Arena, left: Bytes) -> None:
        memory, found = place.region("before", "A"), words(place, left, "R")
        for lane in range(32):
            at = memory.at + 48 * (lane // 4) + 16
            row = int.from_bytes(left[at : at + 16].tobytes(), "little")
            elements = [(row >> bits * (4 * (lane % 4) + k) & (1 << bits) - 1) << shift for k in range(4)]
            found[lane, 0] = int.from_bytes(bytes(elements), "little")
        put(place, left, "R", found)

    return run


@pytest.mark.parametrize(("kind", "bits"), [("b6x16_p32", 6), ("b4x16_p64", 4)])
def test_packed_elements_are_compared_bit_by_bit(kind, bits):
    name = f"ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.{kind}"
    assert differences(name, unpacked(bits, 0), "sm_100a") == 0
    assert differences(name, unpacked(bits, 1), "sm_100a") > 100


def test_a_loaded_transpose_of_bytes():
    def run(place: Arena, left: Bytes) -> None:
        memory, found = place.region("before", "A"), words(place, left, "R")
        tile = np.array([left[memory.at + 48 * row + 16 : memory.at + 48 * row + 32] for row in range(16)]).T.copy()
        for half in range(2):  # descending slots
            found[:, 1 - half] = tile[8 * half : 8 * half + 8].copy().view(np.uint32).reshape(32)
        put(place, left, "R", found)

    assert differences("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8", run, "sm_120a") == 0


def test_a_stored_transpose_of_bytes():
    def run(place: Arena, left: Bytes) -> None:
        target, held = place.region("after", "A"), words(place, left, "R")[:, 0]
        matrix = np.zeros((16, 8), dtype=np.uint8)
        for lane in range(32):
            for k, byte in enumerate(int(held[lane]).to_bytes(4, "little")):
                matrix[lane // 4 + 8 * (k // 2), 2 * (lane % 4) + k % 2] = byte
        for row in range(8):
            left[target.at + 48 * row + 16 : target.at + 48 * row + 32] = matrix[:, row]

    assert differences("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8", run, "sm_100a") == 0
