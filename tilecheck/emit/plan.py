"""What a whole kernel takes: its parameters in order, as data from which a harness can lay out memory and launch it."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from tilecheck.emit.maps import TensorMap, map_data

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class GlobalTensor:
    """One 64-bit pointer to the tensor itself, of `bytes` bytes (an integer, or text over the uniform symbols).

    The address is `residue` modulo `align` (bytes).
    """

    name: str
    bytes: int | str
    align: int
    residue: int


@dataclass(frozen=True, slots=True)
class MappedTensor:
    """128 bytes by value, at a multiple of 64: the tensor map that the host encodes with the arguments in `map`, of a tensor of `bytes` bytes.

    The address of the tensor is `residue` modulo `align` (bytes); sizes and arguments are integers, or text over the uniform symbols.
    """

    name: str
    bytes: int | str
    align: int
    residue: int
    map: TensorMap


@dataclass(frozen=True, slots=True)
class StagedTensor:
    """Two 64-bit pointers, to what each copy holds before and to where it is dumped after: one copy a CTA (shared) or a thread (local).

    bytes: of one copy; copy k starts at k * bytes. CTA k is the rank in the cluster; thread k is rank * threads + linear thread.
    In the kernel the copy lies at an address that is `residue` modulo `align`.
    """

    name: str
    space: str
    bytes: int
    copies: int
    align: int
    residue: int


@dataclass(frozen=True, slots=True)
class RegisterBank:
    """Two 64-bit pointers, to the registers of each thread before and after: `slots` of `slot_bytes` a thread, thread k at k * slots * slot_bytes."""

    name: str
    slots: int
    slot_bytes: int
    threads: int


@dataclass(frozen=True, slots=True)
class Uniform:
    """One 64-bit integer: the value of a symbol, the same in the whole cluster."""

    symbol: str


@dataclass(frozen=True, slots=True)
class Varying:
    """One 64-bit pointer to a 64-bit integer for each of `threads` threads: the values of a symbol that varies by CTA, warp or thread."""

    symbol: str
    varies: str
    threads: int


@dataclass(frozen=True, slots=True)
class Elected:
    """One 64-bit integer e in 0..31: in a warp of s lanes, lane e % s is the one that elect.sync is taken to have chosen."""


Parameter = GlobalTensor | MappedTensor | StagedTensor | RegisterBank | Uniform | Varying | Elected


def to_json(parameter: Parameter) -> Json:
    """A parameter as a JSON object; `role` names its kind."""
    roles = {
        GlobalTensor: "global",
        MappedTensor: "tensor map",
        StagedTensor: "staged",
        RegisterBank: "registers",
        Uniform: "uniform",
        Varying: "varying",
        Elected: "elected",
    }
    fields = asdict(parameter) | ({"map": map_data(parameter.map)} if isinstance(parameter, MappedTensor) else {})
    return {"role": roles[type(parameter)], **fields}


def words(parameter: Parameter) -> int:
    """How many kernel parameters it takes."""
    return 2 if isinstance(parameter, StagedTensor | RegisterBank) else 1
