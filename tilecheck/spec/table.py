"""Where contracts are found: a static table for the built-in families, entry points for third parties.

A family is a module with `FAMILY: Family`. Its module is imported when one of its mnemonics is first asked for.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tilecheck.errors import TilecheckError
from tilecheck.spec.contract import Contract, data
from tilecheck.spec.grammar import BadSpelling, Grammar

BUILT_IN: dict[str, str] = {
    "ld": "tilecheck.contracts.memory",
    "st": "tilecheck.contracts.memory",
    "ldmatrix": "tilecheck.contracts.matrix",
    "stmatrix": "tilecheck.contracts.matrix",
    "movmatrix": "tilecheck.contracts.matrix",
    "mma": "tilecheck.contracts.mma",
    "wgmma.mma_async": "tilecheck.contracts.wgmma",
    "tcgen05.cp": "tilecheck.contracts.tmem_copy",
    "tcgen05.shift": "tilecheck.contracts.tmem_copy",
    **dict.fromkeys(
        ("tcgen05.alloc", "tcgen05.dealloc", "tcgen05.relinquish_alloc_permit", "tcgen05.commit", "tcgen05.wait", "tcgen05.fence"),
        "tilecheck.contracts.tmem_alloc",
    ),
    "tcgen05.ld": "tilecheck.contracts.tmem",
    "tcgen05.ld.red": "tilecheck.contracts.tmem",
    "tcgen05.st": "tilecheck.contracts.tmem",
    "tcgen05.mma": "tilecheck.contracts.tcgen05_mma",
    "cvt": "tilecheck.contracts.conversions",
    "ewise": "tilecheck.contracts.ewise",
    **dict.fromkeys(
        ("add", "sub", "mul", "div", "fma", "sqrt", "rcp", "ex2", "lg2", "abs", "neg", "min", "max", "mov"), "tilecheck.contracts.registers"
    ),
    "cp.async": "tilecheck.contracts.cp_async",
    "cp.async.bulk": "tilecheck.contracts.bulk",
    "cp.async.bulk.prefetch": "tilecheck.contracts.bulk",
    "cp.reduce.async.bulk": "tilecheck.contracts.bulk",
    "cp.async.bulk.tensor": "tilecheck.contracts.tma",
    "cp.async.bulk.prefetch.tensor": "tilecheck.contracts.tma",
    "cp.reduce.async.bulk.tensor": "tilecheck.contracts.tma",
}
NEIGHBOURS = (
    "add.cc",
    "sub.cc",
    "cvt.pack",
    "cp.async.commit_group",
    "cp.async.wait_group",
    "cp.async.wait_all",
    "cp.async.mbarrier",
    "cp.async.bulk.commit_group",
    "cp.async.bulk.wait_group",
    "wgmma.fence",
    "wgmma.commit_group",
    "wgmma.wait_group",
)
"""Mnemonics of the ISA that begin like one of ours and have no contract: an opcode of theirs is no bad spelling of ours."""
ENTRY_POINTS = "tilecheck.contracts"


READINGS = ("isa", "cutlass", "tirx")
"""Documents that disagree here and there. Without a reading a contract asks what is legal by all of them, or as a decision says."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One mnemonic of a family: its grammar, and the function from parsed qualifiers to the contract.

    read: the contract as one of `READINGS` has it, None where the documents agree.
    """

    grammar: Grammar
    contract: Callable[[Mapping[str, str]], Contract]
    read: Callable[[Mapping[str, str], str], Contract] | None = None

    def form(self, qualifiers: Mapping[str, str], reading: str) -> Contract:
        """The contract of parsed qualifiers under a reading, "" for none."""
        return self.contract(qualifiers) if not reading or self.read is None else self.read(qualifiers, reading)


@dataclass(frozen=True, slots=True)
class Family:
    """The contracts of one module, by mnemonic."""

    name: str
    entries: tuple[Entry, ...]

    def entry(self, mnemonic: str) -> Entry | None:
        """The entry of a mnemonic, or None."""
        return next((e for e in self.entries if e.grammar.mnemonic == mnemonic), None)


_contracts: dict[tuple[str, str], Contract | BadSpelling] = {}


def mnemonic_of(opcode: str) -> str:
    """The longest known mnemonic that an opcode begins with, else its part before the first dot."""
    parts = opcode.split(".")
    begins = (".".join(parts[:count]) for count in range(len(parts), 1, -1))
    return next((text for text in (begin.partition("::")[0] for begin in begins) if text in BUILT_IN or text in NEIGHBOURS), parts[0])


def find_entry(mnemonic: str) -> Entry | None:
    """The entry for a mnemonic: built in first, then entry points; None where nobody knows it."""
    if mnemonic in BUILT_IN:
        return _family(BUILT_IN[mnemonic]).entry(mnemonic)
    return _from_entry_points(mnemonic)


def find_contract(opcode: str, reading: str = "") -> Contract | BadSpelling | None:
    """The contract of a spelling, what is wrong with the spelling, or None for an unknown mnemonic. reading: one of `READINGS`."""
    found = _contracts.get((opcode, reading))
    if found is None:
        entry = find_entry(mnemonic_of(opcode))
        if entry is None:
            return None
        qualifiers = entry.grammar.read(opcode)
        found = qualifiers if isinstance(qualifiers, BadSpelling) else entry.form(qualifiers, reading)
        _contracts[opcode, reading] = found
    return found


def built_in_families() -> tuple[Family, ...]:
    """Every built-in family, each once."""
    return tuple(_family(module) for module in dict.fromkeys(BUILT_IN.values()))


_hashes: dict[str, tuple[Contract, str]] = {}


def contract_hash(contract: Contract) -> str:
    """The first 16 hex digits of the SHA-256 of the contract's JSON: what a verdict rests on."""
    cached = _hashes.get(contract.opcode)
    if cached is None or cached[0] is not contract:
        cached = _hashes[contract.opcode] = (contract, _hashed(contract))
    return cached[1]


def _hashed(contract: Contract) -> str:
    text = json.dumps(data(contract), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _family(module: str) -> Family:
    family = importlib.import_module(module).FAMILY
    if not isinstance(family, Family):
        raise TilecheckError(f"{module}.FAMILY is a {type(family).__name__}, expected tilecheck.spec.Family")
    return family


def _from_entry_points(mnemonic: str) -> Entry | None:
    from importlib.metadata import entry_points

    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda p: (p.name, p.value)):
        family = point.load()
        if not isinstance(family, Family):
            raise TilecheckError(
                f"entry point {point.name} = {point.value} gives a {type(family).__name__}, expected tilecheck.spec.Family"
            )
        entry = family.entry(mnemonic)
        if entry is not None:
            return entry
    return None
