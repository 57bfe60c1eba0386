"""tilecheck: proves whether a tensor view may legally be handed to a PTX tile instruction, or shows the smallest reason why not.

Names are loaded when first used: importing this package loads none of numpy, z3, sympy and rich.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilecheck.call import Call, Launch, Scalar, apply, symbol
    from tilecheck.certificates.folder import certify
    from tilecheck.certificates.recheck import recheck
    from tilecheck.claims import claim, theorem
    from tilecheck.compositions import ewise
    from tilecheck.emit import emit, emit_kernel, emit_kernel_unchecked, emit_unchecked
    from tilecheck.errors import InputError, NotProvedError, TilecheckError
    from tilecheck.kernels import Kernel, kernel
    from tilecheck.layout import ComposeLayout, R, S, Tensor, TileLayout, View, axis, parse_layout
    from tilecheck.prove.agreement import agree
    from tilecheck.prove.check import check, check_many
    from tilecheck.prove.facts import Premise
    from tilecheck.prove.kernel import KernelVerdict, check_kernel
    from tilecheck.prove.premises import premises
    from tilecheck.prove.theorem import Theorem
    from tilecheck.prove.verdict import Counterexample, NotLegal, Verdict
    from tilecheck.reconstruct import reconstruct
    from tilecheck.symbolic.written import all_of, any_of, eq, le, lt, maximum, minimum, ne, not_, select, tdiv, tmod
    from tilecheck.version import version

_WHERE = {
    "tilecheck.call": ("Call", "Launch", "Scalar", "apply", "symbol"),
    "tilecheck.certificates.folder": ("certify",),
    "tilecheck.certificates.recheck": ("recheck",),
    "tilecheck.claims": ("claim", "theorem"),
    "tilecheck.emit": ("emit", "emit_kernel", "emit_kernel_unchecked", "emit_unchecked"),
    "tilecheck.compositions": ("ewise",),
    "tilecheck.errors": ("InputError", "NotProvedError", "TilecheckError"),
    "tilecheck.kernels": ("Kernel", "kernel"),
    "tilecheck.layout": ("ComposeLayout", "R", "S", "Tensor", "TileLayout", "View", "axis", "parse_layout"),
    "tilecheck.prove.agreement": ("agree",),
    "tilecheck.prove.check": ("check", "check_many"),
    "tilecheck.prove.facts": ("Premise",),
    "tilecheck.prove.kernel": ("KernelVerdict", "check_kernel"),
    "tilecheck.prove.premises": ("premises",),
    "tilecheck.prove.theorem": ("Theorem",),
    "tilecheck.prove.verdict": ("Counterexample", "NotLegal", "Verdict"),
    "tilecheck.reconstruct": ("reconstruct",),
    "tilecheck.symbolic.written": ("all_of", "any_of", "eq", "le", "lt", "maximum", "minimum", "ne", "not_", "select", "tdiv", "tmod"),
    "tilecheck.version": ("version",),
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names}

__all__ = [
    "Call",
    "ComposeLayout",
    "Counterexample",
    "InputError",
    "Kernel",
    "KernelVerdict",
    "Launch",
    "NotLegal",
    "NotProvedError",
    "Premise",
    "R",
    "S",
    "Scalar",
    "Tensor",
    "Theorem",
    "TileLayout",
    "TilecheckError",
    "Verdict",
    "View",
    "agree",
    "all_of",
    "any_of",
    "apply",
    "axis",
    "certify",
    "check",
    "check_kernel",
    "check_many",
    "claim",
    "emit",
    "emit_kernel",
    "emit_kernel_unchecked",
    "emit_unchecked",
    "eq",
    "ewise",
    "kernel",
    "le",
    "lt",
    "maximum",
    "minimum",
    "ne",
    "not_",
    "parse_layout",
    "premises",
    "recheck",
    "reconstruct",
    "select",
    "symbol",
    "tdiv",
    "theorem",
    "tmod",
    "version",
]


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'tilecheck' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
