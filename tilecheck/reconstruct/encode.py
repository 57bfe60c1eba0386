"""Tensor maps made by the driver from the arguments that an emission gives as data."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tilecheck.errors import TilecheckError
from tilecheck.reconstruct.arena import MapArgument


class DeviceError(TilecheckError):
    """No usable GPU, a tensor map that the driver refuses, or a kernel that did not assemble, launch or finish."""


def encoded(driver: Any, wanted: MapArgument) -> npt.NDArray[np.uint64]:
    """The 128 bytes of a tensor map (cuTensorMapEncodeTiled); DeviceError where the driver refuses it."""
    found = wanted.map
    dims = [driver.cuuint64_t(int(one)) for one in found.global_dim]
    strides = [driver.cuuint64_t(int(one)) for one in found.global_strides] or [driver.cuuint64_t(16)]  # a pointer even for rank 1
    box, steps = ([driver.cuuint32_t(one) for one in values] for values in (found.box_dim, found.element_strides))
    status, result = driver.cuTensorMapEncodeTiled(
        driver.CUtensorMapDataType(found.data_type),
        found.rank,
        wanted.address + int(found.start),
        dims,
        strides,
        box,
        steps,
        driver.CUtensorMapInterleave(found.interleave),
        driver.CUtensorMapSwizzle(found.swizzle),
        driver.CUtensorMapL2promotion(found.l2_promotion),
        driver.CUtensorMapFloatOOBfill(found.oob_fill),
    )
    if int(status):
        raise DeviceError(f"the driver refuses the tensor map of {found.tensor}: cuTensorMapEncodeTiled says {status.name} of {found}")
    return np.array([int(word) for word in result.opaque], dtype=np.uint64)
