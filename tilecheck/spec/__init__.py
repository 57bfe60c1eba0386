"""The vocabulary contracts are written in, and where contracts are found."""

from tilecheck.spec.contract import AtomAxis, Contract, Memory, Move, Operand, Parameter, Register, data
from tilecheck.spec.grammar import BadSpelling, Exclusion, Floor, Grammar, Slot, arch_has, arch_rank, both, either, is_, other_than, written
from tilecheck.spec.table import Entry, Family, built_in_families, contract_hash, find_contract, find_entry, mnemonic_of

__all__ = [
    "AtomAxis",
    "BadSpelling",
    "Contract",
    "Entry",
    "Exclusion",
    "Family",
    "Floor",
    "Grammar",
    "Memory",
    "Move",
    "Operand",
    "Parameter",
    "Register",
    "Slot",
    "arch_has",
    "arch_rank",
    "both",
    "built_in_families",
    "contract_hash",
    "data",
    "either",
    "find_contract",
    "find_entry",
    "is_",
    "mnemonic_of",
    "other_than",
    "written",
]
