"""Straight-line PTX on arrays of register contents, written from the ISA with NumPy: what the statements of a scalar function compute.

Approximations are the exact functions, rounded; quotients by 0 are some number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np

from tests.scalar.numpy_reference import cast, chosen, counted, dtype, floating, narrowed, whole

Array = np.ndarray
TYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"} | {
    f"{letter}{bits}": f"{kind}{bits}" for letter, kind in (("s", "int"), ("u", "uint"), ("b", "uint")) for bits in (8, 16, 32, 64)
}
COMPARED = {"eq": np.equal, "ne": np.not_equal, "neu": np.not_equal, "lt": np.less, "le": np.less_equal}
ROUNDED = {"rmi": "floor", "rpi": "ceil", "rzi": "trunc", "rni": "round"}
APPROXIMATED: Mapping[str, Callable[[Array], Array]] = {"ex2": np.exp2, "lg2": np.log2, "rsqrt": lambda x: 1 / np.sqrt(x), "tanh": np.tanh}


class Machine:
    """registers: by name, the raw bits of each as unsigned integers (conditions as truth values)."""

    def __init__(self, registers: Mapping[str, Array]) -> None:
        self.registers = dict(registers)
        self.count = len(next(iter(self.registers.values())))

    def run(self, text: str) -> None:
        """Every statement of a block; declarations and braces do nothing."""
        for line in re.split(r"[;\n{}]", text):
            if line.strip() and not line.strip().startswith(".reg"):
                self.step(line.strip())

    def typed(self, operand: str, type_: str) -> Array:
        """The content of an operand, read as a type: the low bits of a wider register."""
        bits = dtype(type_).itemsize * 8
        unsigned = np.dtype(f"u{bits // 8}")
        if not operand.startswith("%"):
            return np.full(self.count, int(operand, 0) % (1 << bits), dtype=unsigned).view(dtype(type_))
        held = self.registers[operand]
        assert held.dtype.itemsize * 8 == max(bits, 16), f"{operand} is a register of {held.dtype.itemsize * 8} bits, read as {type_}"
        return held.astype(unsigned).view(dtype(type_))

    def put(self, target: str, value: Array) -> None:
        """A result in a register: of 8 bits sign- or zero-extended, as cvt does."""
        if value.dtype == np.bool_:
            self.registers[target] = value
            return
        wide = value.astype(np.int16 if value.dtype.kind == "i" else np.uint16) if value.dtype.itemsize == 1 else value
        self.registers[target] = wide.view(np.dtype(f"u{wide.dtype.itemsize}"))

    def step(self, line: str) -> None:
        opcode, _, rest = line.partition(" ")
        target, *sources = [part.strip() for part in rest.split(",")]
        with np.errstate(all="ignore"):
            self.put(target, self.result(opcode.split("."), sources))

    def result(self, words: list[str], sources: list[str]) -> Array:
        op, *mods, last = words
        if last == "pred":
            parts = [self.registers[one] for one in sources]
            return ~parts[0] if op == "not" else parts[0] & parts[1] if op == "and" else parts[0] | parts[1]
        type_ = TYPES[last]
        if op == "selp":
            return np.where(self.registers[sources[2]], self.typed(sources[0], type_), self.typed(sources[1], type_))
        if op == "cvt":
            return self.converted(mods, self.typed(sources[0], type_), type_)
        if op in {"shl", "shr"}:
            return self.shifted(op, type_, sources)
        args = [self.typed(one, type_) for one in sources]
        if op == "mov":
            return args[0]
        if op == "setp":
            return COMPARED[mods[0]](args[0], args[1])
        if op in {"popc", "clz"}:
            return counted(op, type_, args[0]).astype(np.uint32)
        if op in APPROXIMATED:
            return narrowed(APPROXIMATED[op](args[0].astype(np.float64)), "float64", type_)
        if dtype(type_).kind not in "iu":
            return floating(op, type_, args) if op not in {"min", "max"} else chosen(op, args[0], args[1])
        name = {"mul": "mulhi" if "hi" in mods else "mul", "div": "tdiv", "rem": "tmod", "not": "inv"}.get(op, op)
        return whole(name, type_, args[0], args[-1])[0]

    def converted(self, mods: list[str], value: Array, from_: str) -> Array:
        *rounding, last = mods
        to = TYPES[last]
        if to == from_ and rounding:
            return floating(ROUNDED[rounding[0]], to, [value])
        if rounding and rounding[0] in ROUNDED:
            return cast(floating(ROUNDED[rounding[0]], from_, [value]), from_, to)
        return cast(value, from_, to)

    def shifted(self, op: str, type_: str, sources: list[str]) -> Array:
        """The amount is a 32-bit register, clamped to the width."""
        value, amount = self.typed(sources[0], type_), self.typed(sources[1], "uint32")
        bits = dtype(type_).itemsize * 8
        near = np.minimum(amount, bits - 1).astype(value.dtype)
        if op == "shl":
            return np.where(amount >= bits, 0, value << near).astype(value.dtype)
        return np.where(amount >= bits, np.where(value < 0, -1, 0) if value.dtype.kind == "i" else 0, value >> near).astype(value.dtype)
