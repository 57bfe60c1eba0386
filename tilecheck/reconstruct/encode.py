"""Tensor maps made by the driver from the arguments that an emission gives as data."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tilecheck.emit.maps import TensorMap
from tilecheck.errors import TilecheckError
from tilecheck.reconstruct.arena import MapArgument


class DeviceError(TilecheckError):
    """No usable GPU, a tensor map that the driver refuses, or a kernel that did not assemble, launch or finish."""


def _region(driver: Any, found: TensorMap) -> list[object]:
    """The arguments that say what is moved."""
    walk = found.walk
    if walk is None:
        return [[driver.cuuint32_t(one) for one in found.box_dim]]
    corners: list[object] = [walk.lower[0], walk.upper[0]] if walk.wide else [list(walk.lower), list(walk.upper)]
    return [*corners, driver.cuuint32_t(walk.channels), driver.cuuint32_t(walk.pixels)]


def encoded(driver: Any, wanted: MapArgument) -> npt.NDArray[np.uint64]:
    """The 128 bytes of a tensor map; DeviceError where the driver refuses it."""
    found = wanted.map
    wide = "" if found.walk is None else found.walk.wide
    dims = [driver.cuuint64_t(int(one)) for one in found.global_dim]
    strides = [driver.cuuint64_t(int(one)) for one in found.global_strides] or [driver.cuuint64_t(16)]  # a pointer even for rank 1
    status, result = getattr(driver, found.function)(
        driver.CUtensorMapDataType(found.data_type),
        found.rank,
        wanted.address + int(found.start),
        dims,
        strides,
        *_region(driver, found),
        [driver.cuuint32_t(one) for one in found.element_strides],
        driver.CUtensorMapInterleave(found.interleave),
        *([driver.CUtensorMapIm2ColWideMode[f"CU_TENSOR_MAP_IM2COL_WIDE_MODE_{wide}"]] if wide else []),
        driver.CUtensorMapSwizzle(found.swizzle),
        driver.CUtensorMapL2promotion(found.l2_promotion),
        driver.CUtensorMapFloatOOBfill(found.oob_fill),
    )
    if int(status):
        raise DeviceError(f"the driver refuses the tensor map of {found.tensor}: {found.function} says {status.name} of {found}")
    return np.array([int(word) for word in result.opaque], dtype=np.uint64)
