"""What `import tilecheck` loads, and that every public name is there."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tilecheck

HEAVY = ("numpy", "z3", "sympy", "rich", "importlib.metadata", "einops")


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_tilecheck_loads_nothing_heavy():
    assert run(f"import sys, tilecheck; print([m for m in {HEAVY} if m in sys.modules])") == "[]"


@pytest.mark.parametrize("name", tilecheck.__all__)
def test_every_public_name_is_there(name):
    assert getattr(tilecheck, name) is not None


def test_emit_is_a_function_even_after_its_package_was_imported():
    code = (
        "import tilecheck.emit, tilecheck.reconstruct; from tilecheck import emit, reconstruct, S, Tensor, apply, Launch\n"
        "R = Tensor('R', (4,), 'float32', space='register'); A = Tensor('A', (4,), 'float32', align=16)\n"
        "print(len(emit(apply('ld.global.v4.b32', R, A, scope='thread')).instructions), callable(reconstruct))"
    )
    assert run(code) == "1 True"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        tilecheck.nothing  # noqa: B018
