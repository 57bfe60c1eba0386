"""One GPU through cuda.core: loading a kernel, running it over an arena, and what the device is called."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilecheck.emit import assemble
from tilecheck.emit.kernel import Kernel
from tilecheck.reconstruct.arena import RUNS, Arena, Argument, Bytes, MapArgument
from tilecheck.reconstruct.encode import DeviceError, encoded


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """What evidence says of a device."""

    name: str
    compute_capability: str
    driver: str
    cuda: str


class Gpu:
    """A device with a stream and one growing allocation."""

    def __init__(self, number: int) -> None:
        core, driver = _libraries()
        self.driver: Any = driver
        self.core: Any = core
        try:
            self.device: Any = core.Device(number)
            self.device.set_current()
            self.stream: Any = self.device.create_stream()
        except Exception as error:  # noqa: BLE001 (whatever CUDA raises, there is no GPU to use)
            raise DeviceError(f"GPU {number} cannot be used: {error}") from None
        self.info = self._info()
        self._buffer: Any = None
        self._room = 0

    @property
    def arch(self) -> str:
        """The architecture to emit for, e.g. sm_90."""
        return "sm_" + self.info.compute_capability.replace(".", "")

    def _info(self) -> DeviceInfo:
        capability = self.device.compute_capability
        version = int(self._ask(self.driver.cuDriverGetVersion))
        return DeviceInfo(
            str(self.device.name), f"{capability[0]}.{capability[1]}", driver_version(), f"{version // 1000}.{version % 1000 // 10}"
        )

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A driver call, its error raised."""
        status, *rest = function(*arguments)
        if int(status):
            raise DeviceError(f"{function.__name__}: {status.name if hasattr(status, 'name') else status}")
        return rest[0] if rest else None

    def memory(self, size: int) -> int:
        """The address of an allocation of at least `size` bytes, kept from run to run."""
        if size > self._room:
            if self._buffer is not None:
                self._buffer.close(self.stream)
            self._room = max(size, 1 << 24)
            self._buffer = self.device.memory_resource.allocate(self._room, stream=self.stream)
            self.stream.sync()
        return int(self._buffer.handle)

    def load(self, kernel: Kernel) -> Any:
        """The kernel, assembled for this device, with its shared memory and cluster allowed."""
        loaded = self.load_text(kernel.ptx, kernel.arch, kernel.name)
        function, attribute = self._function(loaded), self.driver.CUfunction_attribute
        if kernel.shared_bytes > 48 << 10:
            self._ask(
                self.driver.cuFuncSetAttribute, function, attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel.shared_bytes
            )
        if kernel.cluster and math.prod(kernel.cluster) > 8:
            self._ask(self.driver.cuFuncSetAttribute, function, attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)
        return loaded

    def _function(self, loaded: Any) -> Any:
        return self._ask(self.driver.cuKernelGetFunction, self.driver.CUkernel(int(loaded.handle)))

    def load_text(self, ptx: str, arch: str, name: str) -> Any:
        """The entry `name` of a PTX module."""
        found = assemble(ptx, arch)
        if not found.ok:
            raise DeviceError(f"{name} does not assemble: {found.log}")
        return self.core.ObjectCode.from_cubin(found.cubin).get_kernel(name)

    def write(self, address: int, content: npt.NDArray[Any]) -> None:
        """Copies an array to the device, in the order of the stream that kernels run on, to the end."""
        whole = np.ascontiguousarray(content)
        self._ask(self.driver.cuMemcpyHtoDAsync, address, whole.ctypes.data, whole.nbytes, self._stream)
        self._sync()

    def read(self, address: int, like: Bytes) -> Bytes:
        """Copies as many bytes as `like` has from the device."""
        content = np.empty_like(like)
        self._ask(self.driver.cuMemcpyDtoHAsync, content.ctypes.data, address, content.nbytes, self._stream)
        self._sync()
        return content

    @property
    def _stream(self) -> Any:
        return self.driver.CUstream(int(self.stream.handle))

    def _sync(self) -> None:
        """Waits for everything on the stream."""
        try:
            self.stream.sync()
        except Exception as error:  # noqa: BLE001 (cuda.core raises its own classes)
            raise DeviceError(f"a kernel failed: {error}") from None

    def launch(self, loaded: Any, grid: Sequence[int], block: Sequence[int], shared_bytes: int, arguments: Sequence[Argument]) -> None:
        """Runs a kernel to its end; arguments are 64-bit integers, and tensor maps, which are passed by value. `grid` counts CTAs."""
        held = [encoded(self.driver, one) if isinstance(one, MapArgument) else np.uint64(one % (1 << 64)).reshape(1) for one in arguments]
        places = np.array([one.ctypes.data for one in held], dtype=np.uint64)
        sizes = (*grid, *block, shared_bytes)
        self._ask(self.driver.cuLaunchKernel, self._function(loaded), *sizes, self._stream, int(places.ctypes.data), 0)
        self._sync()

    def runs(self, kernel: Kernel, arena: Arena) -> Sequence[Bytes]:
        """The arena after each of the four fills."""
        loaded = self.load(kernel)
        found: list[Bytes] = []
        for run in range(RUNS):
            fill = arena.fill(run)
            self.write(arena.address, fill)
            self.launch(loaded, kernel.cluster or (1, 1, 1), kernel.block, kernel.shared_bytes, arena.arguments)
            found.append(self.read(arena.address, fill))
        return found


@cache
def gpu(number: int) -> Gpu:
    """The device of that number, opened once."""
    return Gpu(number)


def _libraries() -> tuple[Any, Any]:
    """cuda.core (experimental in its older versions) and the driver bindings."""
    try:
        driver: Any = import_module("cuda.bindings.driver")
        core: Any = import_module("cuda.core")
        if not hasattr(core, "Device"):
            core = import_module("cuda.core.experimental")
    except ImportError:
        raise DeviceError("a GPU run needs cuda-core and cuda-bindings: pip install 'tilecheck[gpu]'") from None
    return core, driver


def driver_version() -> str:
    """The version of the kernel driver, e.g. 580.159.04, or "" where it does not say."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8")
    except OSError:
        return ""
    found = re.search(r"\b(\d{3}\.\d+(?:\.\d+)?)\b", text)
    return found.group(1) if found else ""
