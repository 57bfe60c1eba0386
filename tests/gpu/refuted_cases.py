"""Calls that a contract refutes, to be emitted all the same: misaligned addresses, missing lanes, words that are not consecutive.

Each has a control: the call as it would be legal, which must come out as predicted before the refuted one is tried.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.gpu.async_refuted import refuted
from tests.gpu.documents import DTYPES, Json, bank, document, ordered, register, starts, warp_memory
from tests.gpu.forms import vectors
from tests.gpu.matrix_forms import matrix_bank

ADDRESS = re.compile(r"^(\w\S*matrix\S* .*\[)(%\w+)((?:\+\d+)?\].*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Case:
    """A refuted call. clause: what refutes it; None where a call cannot say it and `rewritten` changes the kernel's text instead.

    what: the kind of case. values: of the symbols. leaving: lanes end before they show anything, so that only what was shown counts.
    """

    name: str
    what: str
    clause: str | None
    document: Json
    control: Json
    values: dict[str, int]
    rewritten: Callable[[str], str] | None = None
    leaving: bool = False


def memory_operand(one: Json) -> Json:
    """The operand that is no register."""
    found = next(operand for operand in one["operands"] if operand["space"] != "register")  # type: ignore[attr-defined, index]
    assert isinstance(found, dict)
    return found


def based(one: Json, align: int, residue: int) -> Json:
    """The call with its memory at an address that is `residue` modulo `align`, and no more known of it."""
    found = copy.deepcopy(one)
    memory_operand(found).update(align=max(1, residue & -residue), base={"mod": align, "is": residue})
    return found


def clause(opcode: str, kind: str) -> str:
    """The clause of the memory operand: src of a load, dst of a store."""
    return f"{'src' if opcode.startswith('ld') else 'dst'}.{kind}"


def off_by(one: Json, align: int, residue: int, values: dict[str, int], what: str) -> Case:
    """The call with its base off by `residue` bytes, and with an aligned base."""
    opcode = str(one["opcode"])
    name = f"{one['id']}, base {residue} modulo {align}"
    return Case(name, what, clause(opcode, "aligned"), {**based(one, align, residue), "id": name}, based(one, align, 0), values)


def plain(opcode: str, vec: int, bits: int) -> Json:
    """ld or st at warp scope, three vectors a lane, in the space it names."""
    space = next(part.split("::")[0] for part in opcode.split(".") if part.split("::")[0] in {"global", "shared", "local"})
    operands = ordered(opcode, bank(vec, DTYPES[bits], permuted=False), warp_memory(space, vec, bits, DTYPES[bits]))
    return document(opcode, opcode, operands, "warp", symbols=starts(vec))


def memory_alignment() -> Iterator[Case]:
    """Every width and vector of ld and st off by half its size; 128-bit vectors off by every smaller power of two; other windows and orders."""
    what = "ld or st off its size"
    for space in ("global", "shared", "local"):
        for text, vec, bits in vectors():
            size = vec * bits // 8
            for mnemonic in ("ld", "st"):
                one = plain(f"{mnemonic}.{space}{text}", vec, bits)
                residues = [size >> k for k in range(1, size.bit_length())] if text == ".v4.b32" else [size // 2]
                yield from (off_by(one, size, residue, {"n": 2 * vec}, what) for residue in residues if residue)
    for window in ("shared::cta", "shared::cluster"):
        for mnemonic in ("ld", "st"):
            yield off_by(plain(f"{mnemonic}.{window}.v4.b32", 4, 32), 16, 8, {"n": 8}, what)
    for text in ("ld.volatile.global", "st.volatile.shared", "ld.relaxed.gpu.global", "st.release.cta.shared", "ld.global.nc"):
        yield off_by(plain(f"{text}.b32", 1, 32), 4, 2, {"n": 2}, what)


def matrix(name: str, opcode: str, num: int, memory: Json, **rest: object) -> Json:
    """ldmatrix or stmatrix by one warp."""
    return document(name, opcode, ordered(opcode, matrix_bank(num, separated=2), memory), "warp", **rest)


def words(num: int, strides: tuple[int, int, int], dtype: str = "uint32") -> Json:
    """Matrices in shared memory: strides of (matrix, row, word) in words."""
    text = ",".join(map(str, strides))
    return {"name": "A", "space": "shared", "dtype": dtype, "shape": [num, 8, 4], "align": 16, "layout": f"S[({num},8,4):({text})]"}


def matrix_opcodes() -> Iterator[tuple[str, int]]:
    for mnemonic in ("ldmatrix", "stmatrix"):
        for num in (1, 2, 4):
            for trans in ("", ".trans"):
                yield f"{mnemonic}.sync.aligned.m8n8.x{num}{trans}.shared.b16", num


def matrix_alignment() -> Iterator[Case]:
    """Every row address off by 8 (of four matrices by 4 and 2 too), and every second one, rows 24 bytes apart."""
    what = "ldmatrix or stmatrix, a used row address off 16 bytes"
    for opcode, num in matrix_opcodes():
        one = matrix(opcode, opcode, num, words(num, (32, 4, 1)))
        for residue in (8, 4, 2) if num == 4 else (8,):
            yield off_by(one, 16, residue, {}, what)
        name = f"{opcode}, rows 24 bytes apart"
        pitched, control = matrix(name, opcode, num, words(num, (48, 6, 1))), matrix(name, opcode, num, words(num, (64, 8, 1)))
        yield Case(name, what, clause(opcode, "aligned"), pitched, control, {})


def collectives() -> Iterator[Json]:
    """One call of every instruction that a whole warp executes."""
    for opcode, num in matrix_opcodes():
        yield matrix(opcode, opcode, num, words(num, (32, 4, 1)))
    opcode = "movmatrix.sync.aligned.m8n8.trans.b16"
    operands: list[Json] = [{**register([8, 4], "S[(8,4):(4@laneid,1@laneid)]", "uint32"), "name": name} for name in ("D", "R")]
    yield document(opcode, opcode, operands, "warp")


def missing_lanes() -> Iterator[Case]:
    """A collective that half a warp executes."""
    for one in collectives():
        name = f"{one['opcode']} by 16 of 32 lanes"
        half = {**one, "id": name, "guard": "laneid < 16"}
        yield Case(name, "16 of 32 lanes, the others wait behind it", "participation", half, one, {})
        yield Case(
            f"{name}, the others gone", "16 of 32 lanes, the others have exited", "participation", half, one, {}, exiting, leaving=True
        )


def exiting(ptx: str) -> str:
    """Rewrites a kernel so that the threads which the guard keeps out end there."""
    assert ptx.count(" bra TC_DONE;") == 1
    return ptx.replace(" bra TC_DONE;", " exit;")


def surplus_lanes() -> Iterator[Case]:
    """Lanes whose row address is not used give a misaligned one, or one far outside; no call can say this, as emission repeats valid ones."""
    what = "unused row addresses misaligned or far out of range"
    for opcode, num in matrix_opcodes():
        if num < 4:
            one = matrix(opcode, opcode, num, words(num, (32, 4, 1)))
            for offset, off in ((2, "off by 2"), (1 << 40, "off by 2^40")):
                rewrite = surplus_off_by(8 * num, offset)
                yield Case(f"{opcode}, addresses of lanes {8 * num} to 31 {off}", what, None, one, one, {}, rewrite)


def surplus_off_by(first: int, offset: int) -> Callable[[str], str]:
    """Rewrites a kernel so that lanes from `first` on add `offset` to the address of its matrix instruction."""

    def rewritten(ptx: str) -> str:
        before, after = (
            f"{{ .reg .pred %x_p; .reg .b32 %x_l; .reg .b64 %x_a;\nmov.u32 %x_l, %laneid;\nsetp.ge.u32 %x_p, %x_l, {first};\n",
            f"@%x_p add.u64 %x_a, %x_a, {offset};\n",
        )
        found, count = ADDRESS.subn(lambda m: f"{before}mov.b64 %x_a, {m[2]};\n{after}{m[1]}%x_a{m[3]} }}", ptx)
        assert count == 1, "one matrix instruction is expected"
        return found

    return rewritten


def scattered_words() -> Iterator[Case]:
    """Vectors and rows whose words are 8 bytes apart: the instruction takes the neighbours."""
    what = "words that are not consecutive"
    for mnemonic in ("ld", "st"):
        for space in ("global", "shared"):
            opcode = f"{mnemonic}.{space}.v4.b32"
            name = f"{opcode}, words 8 bytes apart"
            registers = bank(4, "bits32", permuted=False, repeat=1)
            apart, dense = (document(name, opcode, ordered(opcode, registers, vector(space, stride)), "warp") for stride in (2, 1))
            yield Case(name, what, clause(opcode, "contiguous"), apart, dense, {})
    for opcode, num in matrix_opcodes():
        name = f"{opcode}, words 8 bytes apart"
        scattered, dense = matrix(name, opcode, num, words(num, (64, 8, 2))), matrix(name, opcode, num, words(num, (32, 4, 1)))
        yield Case(name, what, clause(opcode, "contiguous"), scattered, dense, {})


def vector(space: str, stride: int) -> Json:
    """One vector of four words a lane, `stride` words apart."""
    return {"name": "A", "space": space, "dtype": "bits32", "shape": [32, 1, 4], "align": 16, "layout": f"S[(32,1,4):(8,8,{stride})]"}


def all_cases() -> list[Case]:
    """Every case, named uniquely."""
    copies = (Case(name, *rest) for name, *rest in refuted())
    return [*memory_alignment(), *matrix_alignment(), *missing_lanes(), *surplus_lanes(), *scattered_words(), *copies]
