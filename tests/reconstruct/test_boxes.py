"""Copies of boxes laid over an arena: a simulated engine in NumPy must match, a wrong byte must not; what the driver is asked to encode."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tests.gpu.tma_forms import FLAT, form, tma_forms
from tilecheck.document import read_call
from tilecheck.emit import emit_kernel_unchecked
from tilecheck.reconstruct import predicted
from tilecheck.reconstruct.arena import RUNS, MapArgument, arena
from tilecheck.reconstruct.encode import DeviceError, encoded
from tilecheck.reconstruct.run import Observed, compared

FORMS = {one.name: one for one in tma_forms()}
NAN = np.frombuffer(bytes.fromhex("f77f"), dtype=np.uint8)


def observed(one, engine):
    """The runs of a form on an engine: a function of (arena, content before, content after)."""
    call = read_call(one.document)
    kernel = emit_kernel_unchecked(call, "sm_90")
    place = arena(kernel, 1 << 20, one.values, 0)
    runs = []
    for run in range(RUNS):
        before = place.fill(run)
        left = before.copy()
        old, new = place.region("before", "S"), place.region("after", "S")
        left[new.at : new.end] = before[old.at : old.end]
        engine(place, before, left)
        runs.append(left)
    seen = Observed(kernel, place, runs, None, one.values, 0)
    return seen, predicted(call, one.values, 0)


def load(one, fill=(0, 0), ctas=(0,)):
    """A load of rows of a 2-dimensional tensor, swizzled by absolute address; `fill` stands outside."""
    shared, tensor = one.document["operands"]
    box, coords = one.document["parameters"]["box"], one.document["parameters"]["coords"]
    size = int(tensor["dtype"].lstrip("uintfloab")) // 8
    extents, swizzle = tensor["shape"], one.document["parameters"]["swizzle"]
    phase = int(shared["layout"].partition(" + ")[2] or 0) * size
    pitch = max(box[1] * size, 16 << swizzle if swizzle else 0)

    def engine(place, before, left):
        source, target = place.region("tensor", "T"), place.region("after", "S")
        for cta in ctas:
            for row in range(box[0]):
                for byte in range(box[1] * size):
                    at = phase + row * pitch + byte
                    at ^= (at >> 3) & (((1 << swizzle) - 1) << 4)
                    i, j = coords[0] + row, coords[1] + byte // size
                    inside = 0 <= i < extents[0] and 0 <= j < extents[1]
                    value = before[source.at + (i * extents[1] + j) * size + byte % size] if inside else fill[byte % 2]
                    left[target.at + cta * target.size + at] = value

    return engine


@pytest.mark.parametrize(
    "name",
    ["swizzle 3, phase 3", "swizzle 2, rows of 16 bytes of 4", "swizzle 0, rows of 64 bytes of 8", "load at [-3, -8]", "load at [30, 56]"],
)
def test_a_right_engine_matches_and_one_wrong_byte_does_not(name):
    one = FORMS[name]
    seen, image = observed(one, load(one))
    differences, counts = compared(seen, image)
    assert (differences, counts["undefined_bytes"]) == ((), 0)
    target = seen.arena.region("after", "S")
    for content in seen.runs:
        content[target.at + image.memory[5][1]] ^= 1
    assert compared(seen, image)[1]["different"] == 1


def test_an_engine_that_does_not_pitch_narrow_rows_is_noticed():
    one = FORMS["swizzle 3, rows of 64 bytes of 2"]
    assert compared(*observed(one, load(one)))[0] == ()
    compact = form("compact", FLAT, [32, 128], [9, 32], swizzle=2)
    assert compared(*observed(one, load(compact)))[1]["different"] > 0


def test_a_multicast_is_expected_in_every_cta_of_its_mask():
    one = FORMS["multicast 3"]
    assert compared(*observed(one, load(one, ctas=(0, 1))))[0] == ()
    assert compared(*observed(one, load(one, ctas=(0,))))[1]["different"] >= 1000
    assert compared(*observed(FORMS["multicast 2"], load(one, ctas=(1,))))[0] == ()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_the_nan_outside_of_a_tensor_is_compared(dtype):
    one = form("nan", FLAT, [32, 64], [2, 16], dtype=dtype, coords=[-1, 0], oob_fill=1)
    assert compared(*observed(one, load(one, fill=NAN)))[0] == ()
    assert compared(*observed(one, load(one)))[1]["different"] == 16 * (int(dtype[-2:]) // 8)


def test_nothing_is_expected_of_a_prefetch():
    one = FORMS["prefetch of rank 2"]
    kernel = emit_kernel_unchecked(read_call(one.document), "sm_90")
    place = arena(kernel, 1 << 20, {}, 0)
    seen = Observed(kernel, place, [place.fill(run) for run in range(RUNS)], None, {}, 0)
    assert compared(seen, predicted(read_call(one.document), {}, 0))[0] == ()


def map_of(one, address=1 << 20):
    kernel = emit_kernel_unchecked(read_call(one.document), "sm_90")
    place = arena(kernel, address, one.values, 0)
    (found,) = (argument for argument in place.arguments if isinstance(argument, MapArgument))
    assert found.address == address + place.region("tensor", "T").at
    return found


def test_a_symbolic_tensor_is_encoded_with_the_values_of_its_symbols():
    found = map_of(FORMS["symbolic tensor"]).map
    assert (found.global_dim, found.global_strides, found.start) == ((72, 5), (144,), 0)


class Driver:
    """Records what it is asked to encode; answers with a status."""

    cuuint64_t = cuuint32_t = CUtensorMapDataType = CUtensorMapInterleave = staticmethod(int)
    CUtensorMapSwizzle = CUtensorMapL2promotion = CUtensorMapFloatOOBfill = staticmethod(int)

    class Status(int):
        name = "CUDA_ERROR_INVALID_VALUE"

    def __init__(self, status=0):
        self.status, self.asked = self.Status(status), ()

    def cuTensorMapEncodeTiled(self, *arguments):
        self.asked = arguments
        return self.status, SimpleNamespace(opaque=[*range(16)])


def test_the_driver_is_given_the_arguments_in_its_order():
    driver, one = Driver(), FORMS["strides (1, 3, 2), swizzle 2"]
    found = map_of(one)
    assert encoded(driver, found).nbytes == 128
    dims, strides = [32, 9, 9, 2], [64, 64 * 9, 64 * 81]
    assert driver.asked == (1, 4, found.address, dims, strides, [16, 6, 9, 1], [1, 2, 3, 1], 0, 2, 0, 0)
    assert encoded(driver, map_of(FORMS["rank 1 to shared::cta, swizzle 0"])).nbytes == 128
    assert driver.asked[4] == [16]


def test_what_the_driver_refuses_is_said_in_one_line():
    with pytest.raises(
        DeviceError, match=r"^the driver refuses the tensor map of T: .* says CUDA_ERROR_INVALID_VALUE of cuTensorMapEncodeTiled\(.*\)$"
    ):
        encoded(Driver(1), map_of(FORMS["rank 3 to shared::cta, swizzle 1"]))
