"""What reconstruction imports, and its evidence files."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tilecheck.reconstruct import ptx_sha256, read_evidence, write_evidence

CODE = """
import sys
import tests.gpu.forms as forms
from tilecheck.document import read_call
from tilecheck.emit import emit_kernel_unchecked
from tilecheck.reconstruct import least_assignment, predicted, reconstruct
form = next(f for f in forms.all_forms() if "rows and pitch" in f.name)
call = read_call(form.document)
emit_kernel_unchecked(call, "sm_90")
least_assignment(call)
predicted(call, form.values, 0)
print([name for name in ("z3", "sympy", "rich", "tilecheck.prove") if name in sys.modules])
"""


def test_reconstruction_imports_neither_a_solver_nor_the_prover():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_the_package_loads_no_numpy():
    code = "import sys, tilecheck.reconstruct, tilecheck.emit; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_evidence_is_read_back_sorted(tmp_path):
    path = tmp_path / "memory.json"
    write_evidence(path, [{"form": "b", "matches": True}, {"form": "a", "matches": None}])
    assert [entry["form"] for entry in read_evidence(path)] == ["a", "b"]


def test_a_file_of_another_schema_is_refused(tmp_path):
    path = tmp_path / "other.json"
    path.write_text('{"schema": "x", "entries": []}')
    with pytest.raises(ValueError, match="no evidence file"):
        read_evidence(path)


def test_the_hash_is_over_lines():
    assert ptx_sha256(("a", "b")) != ptx_sha256(("ab",))
