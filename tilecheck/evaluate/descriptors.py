"""Matrices that an instruction reads through a descriptor: their clauses decided at points, from the contract's modes and the call's fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

from tilecheck.evaluate.clauses import Observation, Site, place, who
from tilecheck.evaluate.expressions import LimitError
from tilecheck.evaluate.views import Coordinate

if TYPE_CHECKING:
    from tilecheck.evaluate.case import Case, Operand

UNIT, BELOW = 16, 1 << 18
CLAUSES = ("aligned", "base.period", "descriptor")
"""The clauses of such an operand that are decided here, and a part of `backing`."""


class Matrix:
    """One operand with the descriptor that the call gives it."""

    def __init__(self, case: Case, operand: Operand) -> None:
        spec = operand.described
        assert spec is not None
        self.case, self.operand, self.spec = case, operand, spec
        self.parameter = str(spec["descriptor"])
        self.ldo, self.sdo, self.swizzle = (int(value) for value in case.parameters[self.parameter])
        self.major = str(case.parameters.get(spec["major"]) or "k") if spec["major"] else "k"
        self.mode = self._mode(self.major, self.swizzle)
        names = operand.atom_names
        across, along = names.index(str(spec["across"])), names.index(str(spec["along"]))
        self.across, self.along = across, along
        self._bases: dict[int, int] = {}
        self._origins: dict[tuple[int, int, Coordinate], int] = {}

    def _mode(self, major: str, swizzle: int) -> Mapping[str, Any] | None:
        found = (m for m in self.spec["modes"] if m["major"] == major and m["swizzle"] == swizzle and self.operand.bits in m["widths"])
        return next(found, None)

    @cached_property
    def bases(self) -> list[int]:
        """The residues that the base may have modulo the period of the swizzle."""
        return self.case.bases[self.operand.tensor].residues(int(self.mode["period_bytes"]) if self.mode else UNIT)

    def shape(self, mode: Mapping[str, Any]) -> tuple[int, int]:
        """(lines, elements of a line) of one instruction."""
        rows, columns = self.operand.atom_extents[self.across], self.operand.atom_extents[self.along]
        return (rows, columns) if mode["major"] == "k" else (columns, rows)

    # --- what is wrong with the fields -------------------------------------------------------------------------------

    def field_problem(self) -> tuple[str, str] | None:
        """A field that cannot be encoded, or that names no canonical layout."""
        for name, value in (("ldo_bytes", self.ldo), ("sdo_bytes", self.sdo)):
            if value < 0 or value % UNIT or value >= BELOW:
                return f"{name} to be a multiple of {UNIT} from 0 to below {BELOW}", f"{name} {value}"
        if self.mode is None:
            there = sorted(m["swizzle"] for m in self.spec["modes"] if m["major"] == self.major and self.operand.bits in m["widths"])
            return f"a swizzle among {there} for {self.major}-major elements of {self.operand.bits} bits", f"swizzle {self.swizzle}"
        row = self.shape(self.mode)[1] * self.operand.bits
        if self.mode["next_span"] is None and row > 8 * self.mode["span_bytes"]:
            return f"a row of at most {self.mode['span_bytes']} bytes", f"{row // 8} bytes"
        return None

    def fields(self) -> Observation | None:
        """The part of `descriptor` that no symbol matters to."""
        return self._said(self.field_problem(), self.parameter)

    def period(self) -> Observation | None:
        """`base.period`: one residue of the base is possible."""
        if self.mode is None or not self.mode["xors"] or len(self.bases) == 1:
            return None
        return self._said((f"a base known modulo {self.mode['period_bytes']} bytes", f"{len(self.bases)} residues"), self.operand.label)

    @staticmethod
    def _said(problem: tuple[str, str] | None, what: str) -> Observation | None:
        return None if problem is None else Observation(*problem, f"{what}: expected {problem[0]}, found {problem[1]}.")

    # --- the walk ----------------------------------------------------------------------------------------------------

    @staticmethod
    def swizzled(mode: Mapping[str, Any], bit: int) -> int:
        """Where the hardware puts what would lie at an absolute bit address; it is its own inverse."""
        byte, inside = divmod(bit, 8)
        moved = byte
        for shift, mask in mode["xors"]:
            moved ^= byte >> shift & mask
        return 8 * moved + inside

    def offset(self, mode: Mapping[str, Any], ldo: int, sdo: int, row: int, column: int) -> int:
        """The bits of an element behind the origin, before the swizzle: row M or N, column K."""
        line, inner = (row, column) if mode["major"] == "k" else (column, row)
        stride = {"ldo_bytes": ldo, "sdo_bytes": sdo, None: 0}
        spans, within = divmod(inner * self.operand.bits, 8 * int(mode["span_bytes"]))
        groups, lines = divmod(line, int(mode["lines"]))
        return within + 8 * (spans * stride[mode["next_span"]] + lines * int(mode["span_bytes"]) + groups * stride[mode["next_lines"]])

    def _base(self, mode: Mapping[str, Any]) -> int:
        period = int(mode["period_bytes"])
        if period not in self._bases:
            self._bases[period] = 8 * self.case.bases[self.operand.tensor].residues(period)[0]
        return self._bases[period]

    def _origin(self, mode: Mapping[str, Any], site: Site) -> int:
        """The absolute bit address in the descriptor, from a base at a multiple of the period."""
        first = site.at((0,) * len(self.operand.atom_extents))
        key = (id(mode), id(site.fixed), first)
        if key not in self._origins:
            self._origins[key] = self.swizzled(mode, self._base(mode) + site.fixed.address(first))
        return self._origins[key]

    def _read(self, mode: Mapping[str, Any], ldo: int, sdo: int, site: Site, atom: Coordinate) -> tuple[int, int]:
        """Where the instruction reads an element: the bit before the swizzle, and the one behind it, both from the base."""
        before = self._origin(mode, site) + self.offset(mode, ldo, sdo, atom[self.across], atom[self.along])
        return before - self._base(mode), self.swizzled(mode, before) - self._base(mode)

    def walked(self, site: Site) -> Observation | None:
        """`descriptor`: an element lies where the instruction reads it."""
        mode = self.mode
        if mode is None:
            return None
        before, expected = self._read(mode, self.ldo, self.sdo, site, site.atom)
        actual = site.fixed.address(site.coordinate)
        if actual == expected:
            return None
        unswizzled = self.swizzled(mode, actual + self._base(mode)) - self._base(mode)
        wanted, found = _both(place(expected), place(before)), _both(place(actual), place(unswizzled))
        spot = f"{f'repeat {list(site.repeat)} ' if site.repeat else ''}(row {site.atom[self.across]}, column {site.atom[self.along]})"
        hint = next(self._explanations(site), "no change of a single field makes the instruction read this view")
        where = f"{who(site.scene, site.thread)}: {self.operand.name} {spot}"
        return Observation(wanted, found, f"{where} is read at {wanted}, the view has it at {found}; {hint}.")

    def _explanations(self, site: Site) -> Iterator[str]:
        """Changes of one field by which the whole instruction would read the view; a field that gives the failing element its place comes first."""
        strides = self._strides(site)
        for name, ldo, sdo in strides:
            if self.mode is not None and self._fits(self.mode, ldo, sdo, site):
                yield name
        if self.mode is not None and self.ldo != self.sdo and self._fits(self.mode, self.sdo, self.ldo, site):
            yield "ldo_bytes and sdo_bytes exchanged would read it there"
        for other in self.spec["modes"]:
            if self.operand.bits in other["widths"] and other is not self.mode and self._fits(other, self.ldo, self.sdo, site):
                yield f"swizzle {other['swizzle']}, {other['major']}-major, would read it there"

    def _strides(self, site: Site) -> Iterator[tuple[str, int, int]]:
        """Values of one stride that give the failing element its place."""
        mode = self.mode
        assert mode is not None
        row, column = site.atom[self.across], site.atom[self.along]
        wanted = self.swizzled(mode, self._base(mode) + site.fixed.address(site.coordinate)) - self._origin(mode, site)
        bare = self.offset(mode, 0, 0, row, column)
        for is_ldo, other in ((True, self.sdo), (False, self.ldo)):
            rest = self.offset(mode, 0, other, row, column) if is_ldo else self.offset(mode, other, 0, row, column)
            weight = (self.offset(mode, 1, 0, row, column) if is_ldo else self.offset(mode, 0, 1, row, column)) - bare
            value, left = divmod(wanted - rest, weight) if weight else (0, 1)
            if not left and 0 <= value < BELOW and not value % UNIT:
                name, ldo, sdo = ("ldo_bytes", value, other) if is_ldo else ("sdo_bytes", other, value)
                yield f"{name} {value} would read it there", ldo, sdo

    def _fits(self, mode: Mapping[str, Any], ldo: int, sdo: int, site: Site) -> bool:
        """Whether the instruction would read the whole atom of the view with these fields."""
        if mode["next_span"] is None and self.shape(mode)[1] * self.operand.bits > 8 * mode["span_bytes"]:
            return False
        if mode["xors"] and len(self.case.bases[self.operand.tensor].residues(int(mode["period_bytes"]))) > 1:
            return False
        return all(self._read(mode, ldo, sdo, site, atom)[1] == site.fixed.address(site.at(atom)) for atom in self.operand.atoms)

    # --- where it starts, and what backs it --------------------------------------------------------------------------

    def aligned(self, site: Site) -> Observation | None:
        """`aligned`: the first element of an instruction is at a multiple of 16 bytes."""
        if any(site.atom):
            return None
        needed, bit = self.operand.align_bytes, 8 * site.residue + site.fixed.address(site.coordinate)
        if bit % (8 * needed) == 0:
            return None
        base = f" with the base at {site.residue} mod {needed}" if site.residue else ""
        return site.fail(f"a multiple of {needed} bytes", f"{place(bit)}{base}", "starts a matrix")

    @cached_property
    def padded(self) -> tuple[int, ...]:
        """The atom extents with the lines filled up to whole groups."""
        found = list(self.operand.atom_extents)
        if self.mode is not None:
            axis, size = (self.across if self.major == "k" else self.along), int(self.mode["lines"])
            found[axis] = -(-found[axis] // size) * size
        return tuple(found)

    @property
    def partial(self) -> bool:
        """Whether more than the elements must be backed."""
        return self.mode is not None and (self.padded != self.operand.atom_extents or bool(self.mode["whole"]))

    @cached_property
    def block(self) -> tuple[Coordinate, ...]:
        """The coordinates of the atom with its lines filled up."""
        return tuple(product(*(range(extent) for extent in self.padded)))

    def backed(self, site: Site) -> Observation | None:
        """The other part of `backing`: an element (of a line that fills a group up), or the whole span around it, is inside the allocation."""
        mode = self.mode
        if mode is None or not self.partial or len(self.bases) != 1:
            return None
        size = self._allocated(site)
        before, behind = self._read(mode, self.ldo, self.sdo, site, site.atom)
        length = 8 * int(mode["span_bytes"])
        base = self._base(mode)
        low, high = ((before + base) // length * length - base, length) if mode["whole"] else (behind, self.operand.bits)
        if low >= 0 and low + high <= 8 * size:
            return None
        actual = f"{place(low)} to {place(low + high)}"
        return site.fail(f"a block inside the {size} bytes of the allocation", actual, "is in a block that is not backed")

    def _allocated(self, site: Site) -> int:
        """The bytes of the allocation: declared, or spanned by the layout."""
        view, own = self.operand.view, self.operand
        shared = [o for o in self.case.operands if o is own or (own.named_tensor and o.named_tensor and o.tensor == own.tensor)]
        sizes = [o.size_bytes.value(site.scene.values) for o in shared if o.size_bytes is not None]
        return min(sizes) if sizes else -(-view.tensor(site.scene.values).span() * view.declared_bits // 8)


def decide(matrix: Matrix, short: str, site: Site) -> Observation | None:
    """A clause of an element; None where it has no address."""
    try:
        return {"aligned": matrix.aligned, "descriptor": matrix.walked, "backing": matrix.backed}[short](site)
    except LimitError:
        return None


def _both(place_text: str, before: str) -> str:
    return place_text if place_text == before else f"{place_text} ({before.removeprefix('byte ')} before the XOR)"
