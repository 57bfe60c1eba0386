"""Assembling PTX without a GPU: nvJitLink in this process, or ptxas, whichever is installed (extra `assemble`).

Illegal spellings can crash assemblers (`ld.*.v8.b8` does), so only emitted PTX, whose spelling a contract has read, goes in.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tilecheck.errors import TilecheckError


@dataclass(frozen=True, slots=True)
class Assembled:
    """What the assembler said: `ok`, its log (empty where it had nothing to say), and the machine code."""

    ok: bool
    log: str
    cubin: bytes = b""
    assembler: str = ""


class NoAssemblerError(TilecheckError):
    """Neither nvJitLink nor ptxas is installed."""


def assemble(ptx: str, arch: str) -> Assembled:
    """Assembles a PTX module for `arch` (such as sm_90a); NoAssemblerError where no assembler is installed."""
    return _assembler()(ptx, arch)


@cache
def _assembler() -> Callable[[str, str], Assembled]:
    if (linker := _nvjitlink()) is not None:
        return lambda ptx, arch: _with_nvjitlink(linker, ptx, arch)
    path = _ptxas()
    if path is not None:
        return lambda ptx, arch: _with_ptxas(path, ptx, arch)
    raise NoAssemblerError(
        "no assembler is installed: pip install 'tilecheck[assemble]' (cuda-bindings and nvidia-nvjitlink), "
        "or nvidia-cuda-nvcc for its ptxas, or put ptxas on the PATH"
    )


def _nvjitlink() -> Any:
    """The module cuda.bindings.nvjitlink with its library loaded, or None."""
    try:
        linker: Any = import_module("cuda.bindings.nvjitlink")
        linker.version()
    except (ImportError, RuntimeError, OSError):
        return None
    return linker


def _ptxas() -> str | None:
    """The path of ptxas: PyPI's nvidia-cuda-nvcc, else on the PATH."""
    found = find_spec("nvidia")
    for place in (found.submodule_search_locations or []) if found else []:
        for path in sorted(Path(place).glob("*/bin/ptxas")):
            return str(path)
    return shutil.which("ptxas")


def _with_nvjitlink(nvjitlink: Any, ptx: str, arch: str) -> Assembled:
    text = ptx.encode()
    handle = nvjitlink.create(1, [f"-arch={arch}"])
    try:
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, text, len(text), "tilecheck.ptx")
        nvjitlink.complete(handle)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, cubin)
        return Assembled(ok=True, log="", cubin=bytes(cubin), assembler="nvJitLink")
    except nvjitlink.nvJitLinkError as error:
        log = bytearray(nvjitlink.get_error_log_size(handle))
        nvjitlink.get_error_log(handle, log)
        return Assembled(ok=False, log=log.decode(errors="replace").rstrip("\0\n") or str(error), assembler="nvJitLink")
    finally:
        nvjitlink.destroy(handle)


def _with_ptxas(path: str, ptx: str, arch: str) -> Assembled:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "tilecheck.ptx"), Path(folder, "tilecheck.cubin")
        source.write_text(ptx, encoding="utf-8")
        done = subprocess.run([path, f"-arch={arch}", str(source), "-o", str(target)], capture_output=True, text=True, check=False)  # noqa: S603 (our own paths)
        log = (done.stdout + done.stderr).strip()
        ok = done.returncode == 0 and target.exists()
        return Assembled(ok=ok, log=log, cubin=target.read_bytes() if ok else b"", assembler="ptxas")
