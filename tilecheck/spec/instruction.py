"""The vocabulary of instructions whose shape and types a 32-bit word in a register says, the instruction descriptor.

The shape of one instruction, (M, N, K), is a parameter of the call: extents of atoms and places of elements are terms over its entries, and a call
has the contract in which they are numbers. The types are those of the views, or as a parameter says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from tilecheck.spec.descriptor import NotEncodableError
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Term

ENTRIES: tuple[str, ...] = ("M", "N", "K")
"""The names of the entries of a shape, in terms."""


@dataclass(frozen=True, slots=True)
class Size:
    """Shapes that an instruction may have: one M, several N, one K. arch: the lowest architecture that has them, "" for that of the opcode."""

    m: int
    n: tuple[int, ...]
    k: int
    arch: str = ""

    def has(self, shape: tuple[int, ...]) -> bool:
        """Whether a shape is one of these."""
        return len(shape) == len(ENTRIES) and shape[0] == self.m and shape[1] in self.n and shape[2] == self.k

    @property
    def text(self) -> str:
        """These shapes in words: `M 64, N 8 to 256 in steps of 8, K 16`."""
        return f"M {self.m}, N {_run(self.n)}, K {self.k}{f' (from {self.arch})' if self.arch else ''}"


def _run(numbers: tuple[int, ...]) -> str:
    """Numbers in words, a run of equal steps by its ends."""
    steps = {b - a for a, b in pairwise(numbers)}
    if len(numbers) > 3 and len(steps) == 1:
        return f"{numbers[0]} to {numbers[-1]} in steps of {steps.pop()}"
    for first in range(1, len(numbers) - 3):
        rest = numbers[first:]
        if len({b - a for a, b in pairwise(rest)}) == 1:
            return f"{', '.join(map(str, numbers[:first]))}, {_run(rest)}"
    return ", ".join(map(str, numbers))


@dataclass(frozen=True, slots=True)
class NumberType:
    """A type of numbers: its PTX name, its number in the word, the dtypes that have it of themselves, and those in which a parameter must name it."""

    name: str
    code: int
    dtypes: tuple[str, ...]
    held: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Typed:
    """The types that the elements of an operand may have.

    parameter: the one (of kind "word") that names the type, "" where only the dtype of the view says it. needs: (type, operand, types): elements have
    the type only where those of another operand, which stands before, have one of the types. along: types of matrices that are K-major only.
    """

    operand: str
    types: tuple[NumberType, ...]
    parameter: str = ""
    needs: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    along: tuple[str, ...] = ()

    def of(self, dtype: str, named: object = None) -> NumberType | None:
        """The type of elements of a dtype, as a parameter names it or of themselves; None where there is none, or several."""
        if named is not None:
            return next((t for t in self.types if t.name == named and dtype in (*t.dtypes, *t.held)), None)
        return next((t for t in self.types if dtype in t.dtypes), None)


@dataclass(frozen=True, slots=True)
class Sized:
    """What the shape of an instruction decides, which the call gives.

    parameter: the one of kind "shape" with M, N and K. sizes: the shapes that there are. extents: for each operand the extents of its atom axes, terms
    over M, N and K; an axis of extent 0 is not there, its coordinate is 0. starts: for some operands what `first_bits` is, terms. copies: (operand, M,
    replicas): what the replicas of an operand are with that M. begins: (operand, M, lanes): the lanes in
    which its first element may lie with that M. multiples: (parameter, value, n): where the parameter has the value, N is a multiple of n. notes: (operand, M, text): what is to be said of an operand with that M.
    others: the shapes that another reading of the documents takes, by its name; why: where the documents disagree.
    """

    parameter: str
    sizes: tuple[Size, ...]
    extents: tuple[tuple[str, tuple[Term, ...]], ...]
    starts: tuple[tuple[str, Term], ...] = ()
    copies: tuple[tuple[str, int, tuple[tuple[int, int], ...]], ...] = ()
    begins: tuple[tuple[str, int, tuple[int, ...]], ...] = ()
    multiples: tuple[tuple[str, str, int], ...] = ()
    notes: tuple[tuple[str, int, str], ...] = ()
    others: tuple[tuple[str, tuple[Size, ...]], ...] = ()
    why: str = ""

    def size(self, shape: tuple[int, ...]) -> Size | None:
        """The sizes that a shape is one of."""
        return next((size for size in self.sizes if size.has(shape)), None)

    @property
    def text(self) -> str:
        """The shapes in words."""
        return "; ".join(size.text for size in self.sizes)


@dataclass(frozen=True, slots=True)
class WordField:
    """Bits `low` to `low + bits - 1` of the word.

    source: what they hold. ("size", name, unit): an entry of the shape, divided by the unit. ("is", name, value): 1 where an entry of the shape has that
    value. ("type", operand): the number of the type of its elements. ("flag", parameter): 1 where it is true. ("major", parameter): 1 where it is "mn".
    ("byte", operand): the byte of its cell in which the first element of the operand lies. ("always", value).
    """

    name: str
    low: int
    bits: int
    source: tuple[str | int, ...]

    @property
    def mask(self) -> int:
        """The largest value it holds."""
        return (1 << self.bits) - 1

    @property
    def text(self) -> str:
        """What it holds, in words."""
        kind, of, *rest = self.source
        says = {
            "size": f"{of} / {rest[0] if rest else 1}",
            "is": f"1 where {of} is {rest[0] if rest else 1}",
            "type": f"the type of {of}",
            "flag": str(of),
            "major": f'1 where {of} is "mn"',
            "byte": f"the byte of its cell in which {of} starts",
            "always": str(of),
        }
        return says[str(kind)]


@dataclass(frozen=True, slots=True)
class Word:
    """The word of an instruction: every field; bits that none has are 0. source: document and section."""

    name: str
    fields: tuple[WordField, ...]
    source: str
    bits: int = 32

    def field(self, name: str) -> WordField:
        """The field of a name that the word has."""
        return next(one for one in self.fields if one.name == name)


def encode_word(word: Word, values: Mapping[str, Term]) -> Term:
    """The word whose fields hold values (0 where none is given); a value that is no number is taken to fit.

    Raises NotEncodableError where a number does not fit, a field has another value than the one it always has, or there is no such field.
    """
    for name in values:
        if all(one.name != name for one in word.fields):
            raise NotEncodableError(f"{word.name} has no field {name}, expected one of {', '.join(one.name for one in word.fields)}")
    found: list[Term] = []
    for one in word.fields:
        always = one.source[1] if one.source[0] == "always" else None
        value = values.get(one.name, always if isinstance(always, int) else 0)
        if isinstance(value, int) and (not 0 <= value <= one.mask or (always is not None and value != always)):
            wanted = f"a number from 0 to {one.mask}" if always is None else str(always)
            raise NotEncodableError(f"{one.name} of {word.name} is {value}, expected {wanted}")
        found.append(terms.mul(1 << one.low, value))
    return terms.add(0, *found)


def decode_word(word: Word, number: int) -> dict[str, int]:
    """The values of the fields of a word.

    Raises NotEncodableError for a number of more bits, for bits outside the fields, and for a field that is not what it always is.
    """
    if not 0 <= number < 1 << word.bits:
        raise NotEncodableError(f"the word is {number:#x}, expected {word.bits} bits")
    rest, found = number, dict[str, int]()
    for one in word.fields:
        value = number >> one.low & one.mask
        rest &= ~(one.mask << one.low)
        if one.source[0] == "always" and value != one.source[1]:
            raise NotEncodableError(
                f"{one.name} (bits {one.low + one.bits - 1}:{one.low}) is {value}, expected {one.source[1]} for {word.name}"
            )
        found[one.name] = value
    if rest:
        raise NotEncodableError(f"bit {rest.bit_length() - 1} of the word is set, expected 0 for {word.name}")
    return found
