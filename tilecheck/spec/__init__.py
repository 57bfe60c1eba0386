"""The vocabulary contracts are written in, and where contracts are found."""

from tilecheck.spec.box import BoxCopy, Format, Interleave, Packing, Pattern, Walk
from tilecheck.spec.computed import Choice, Computed, Narrow, Result, Scale
from tilecheck.spec.contract import AtomAxis, Contract, Entries, Memory, Move, Operand, Parameter, Product, Register, Unpacking, data
from tilecheck.spec.descriptor import Described, Mode
from tilecheck.spec.grammar import BadSpelling, Exclusion, Floor, Grammar, Slot, arch_has, arch_rank, both, either, is_, other_than, written
from tilecheck.spec.instruction import NumberType, Size, Sized, Typed, Word, WordField
from tilecheck.spec.scalar import Composition, Definition, Instruction
from tilecheck.spec.shared import Pool, Shared
from tilecheck.spec.table import (
    NEIGHBOURS,
    READINGS,
    Entry,
    Family,
    built_in_families,
    contract_hash,
    find_contract,
    find_entry,
    mnemonic_of,
)
from tilecheck.spec.tmem import TensorMemory

__all__ = [
    "NEIGHBOURS",
    "READINGS",
    "AtomAxis",
    "BadSpelling",
    "BoxCopy",
    "Choice",
    "Composition",
    "Computed",
    "Contract",
    "Definition",
    "Described",
    "Entries",
    "Entry",
    "Exclusion",
    "Family",
    "Floor",
    "Format",
    "Grammar",
    "Instruction",
    "Interleave",
    "Memory",
    "Mode",
    "Move",
    "Narrow",
    "NumberType",
    "Operand",
    "Packing",
    "Parameter",
    "Pattern",
    "Pool",
    "Product",
    "Register",
    "Result",
    "Scale",
    "Shared",
    "Size",
    "Sized",
    "Slot",
    "TensorMemory",
    "Typed",
    "Unpacking",
    "Walk",
    "Word",
    "WordField",
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
