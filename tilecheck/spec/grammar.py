"""Opcode spelling as data: the qualifiers of a mnemonic in their written order, and what may not be combined.

A grammar reads an opcode into a mapping slot -> qualifier ("" where none is written), or says which qualifier is at fault.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TypeGuard

RENAMED = {101: 110}
"""Architectures that have another number since PTX ISA 9.0."""
FEW = 200
"""Where no single edit makes a spelling legal, the nearest of all legal ones are named, if they are no more than this."""

Condition = tuple[object, ...]
"""`("is", slot, value, ...)`, `("not", c)`, `("and", c, ...)` or `("or", c, ...)`; "" is an unwritten slot."""


def is_(slot: str, *values: str) -> Condition:
    """The slot holds one of the values ("" for nothing written)."""
    return ("is", slot, *values)


def written(slot: str) -> Condition:
    """The slot holds some qualifier."""
    return ("not", ("is", slot, ""))


def both(*conditions: Condition) -> Condition:
    """All of the conditions."""
    return ("and", *conditions)


def either(*conditions: Condition) -> Condition:
    """At least one of the conditions."""
    return ("or", *conditions)


def other_than(condition: Condition) -> Condition:
    """Not the condition."""
    return ("not", condition)


def _is_condition(part: object) -> TypeGuard[Condition]:
    return isinstance(part, tuple)


def holds(condition: Condition, qualifiers: Mapping[str, str]) -> bool:
    """Whether a condition holds of parsed qualifiers."""
    kind, *rest = condition
    if kind == "is":
        slot, *values = rest
        return qualifiers.get(str(slot), "") in values
    parts = [holds(part, qualifiers) for part in rest if _is_condition(part)]
    return not parts[0] if kind == "not" else all(parts) if kind == "and" else any(parts)


@dataclass(frozen=True, slots=True)
class Slot:
    """One position of the spelling: its name, the qualifiers it takes (without the leading dot), whether it must be written.

    Qualifiers that begin with "::" are written right behind the mnemonic: `tcgen05.wait::ld`.
    """

    name: str
    values: tuple[str, ...]
    required: bool = False

    @property
    def place(self) -> str:
        """The name as it stands for a qualifier in an opcode."""
        return f"::{self.name}" if self.values[0].startswith("::") else f".{self.name}"


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A combination that is not in the ISA: where `when` holds, the qualifier in slot `at` is at fault."""

    when: Condition
    at: str
    why: str


@dataclass(frozen=True, slots=True)
class Floor:
    """Where `when` holds the form needs at least this architecture, e.g. `sm_100` (or a family form such as `sm_100f`).

    also: the floors of further families that have the form, e.g. `sm_120f`.
    """

    when: Condition
    arch: str
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BadSpelling:
    """An illegal opcode: the qualifier at fault, why, and the nearest legal spellings."""

    qualifier: str
    why: str
    nearest: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class Grammar:
    """The spelling of one mnemonic, which may have several parts: `cp.async`."""

    mnemonic: str
    slots: tuple[Slot, ...]
    exclusions: tuple[Exclusion, ...]
    floors: tuple[Floor, ...]
    source: str

    def read(self, opcode: str) -> dict[str, str] | BadSpelling:
        """The qualifiers of `opcode` by slot, or what is wrong with it (with the nearest legal spellings)."""
        head, *tokens = opcode.removeprefix(self.mnemonic).split(".")
        if head:
            tokens.insert(0, head)
        result = self._read(tokens)
        if isinstance(result, BadSpelling):
            return BadSpelling(result.qualifier, result.why, self._nearest(opcode, tokens), self.source)
        return result

    def arch_floor(self, qualifiers: Mapping[str, str]) -> str:
        """The lowest architecture that has the form."""
        return self._floor(qualifiers).arch

    def arch_also(self, qualifiers: Mapping[str, str]) -> tuple[str, ...]:
        """The floors of further families that have the form."""
        return self._floor(qualifiers).also

    def _floor(self, qualifiers: Mapping[str, str]) -> Floor:
        return max((floor for floor in self.floors if holds(floor.when, qualifiers)), key=lambda floor: arch_rank(floor.arch))

    def spell(self, qualifiers: Mapping[str, str]) -> str:
        """The canonical opcode of parsed qualifiers."""
        return self.mnemonic + "".join(dotted(qualifiers[slot.name]) for slot in self.slots if qualifiers.get(slot.name))

    def legal(self) -> Iterator[dict[str, str]]:
        """Every legal combination of qualifiers, in the order of the slots."""
        places = {slot.name: k for k, slot in enumerate(self.slots)}
        last = [max((places[name] for name in _slots_of(rule.when)), default=0) for rule in self.exclusions]
        decided = [[rule.when for rule, at in zip(self.exclusions, last, strict=True) if at == k] for k in range(len(self.slots))]
        yield from self._combine({}, decided)

    def _combine(self, chosen: dict[str, str], decided: list[list[Condition]]) -> Iterator[dict[str, str]]:
        """Every legal extension of `chosen`; decided: the conditions of the exclusions by the last slot that each speaks of."""
        index = len(chosen)
        if index == len(self.slots):
            yield dict(chosen)
            return
        slot = self.slots[index]
        for value in slot.values if slot.required else ("", *slot.values):
            chosen[slot.name] = value
            if not any(holds(condition, chosen) for condition in decided[index]):
                yield from self._combine(chosen, decided)
            del chosen[slot.name]

    def _read(self, tokens: list[str]) -> dict[str, str] | BadSpelling:
        found = {slot.name: "" for slot in self.slots}
        position = 0
        for token in tokens:
            place = next((k for k in range(position, len(self.slots)) if token in self.slots[k].values), None)
            if place is None:
                return self._misplaced(token, found)
            missing = next((s for s in self.slots[position:place] if s.required), None)
            if missing is not None:
                return self._missing(missing, before=token)
            found[self.slots[place].name] = token
            position = place + 1
        missing = next((s for s in self.slots[position:] if s.required), None)
        if missing is not None:
            return self._missing(missing, before="")
        return self._excluded(found) or found

    def _misplaced(self, token: str, found: Mapping[str, str]) -> BadSpelling:
        if token == "":
            return BadSpelling(".", "an empty qualifier between two dots")
        takes = [s for s in self.slots if token in s.values]
        if not takes:
            return BadSpelling(dotted(token), f"{self.mnemonic} has no qualifier {dotted(token)}")
        slot, full = takes[0], all(found[s.name] for s in takes)
        if full and len(takes) > 1:
            places, have = ("".join(map(dotted, texts)) for texts in ((s.name for s in takes), (found[s.name] for s in takes)))
            return BadSpelling(dotted(token), f"{dotted(token)} is superfluous: {places} are written already, as {have}")
        if full:
            again = "is written twice" if found[slot.name] == token else f"cannot be combined with {dotted(found[slot.name])}"
            return BadSpelling(dotted(token), f"{dotted(token)} {again}")
        return BadSpelling(dotted(token), f"{dotted(token)} is written too late: the order is {self.order()}")

    def _missing(self, slot: Slot, *, before: str) -> BadSpelling:
        choices = "|".join(map(dotted, slot.values))
        where = f" before {dotted(before)}" if before else ""
        return BadSpelling(dotted(slot.values[0]) if len(slot.values) == 1 else slot.name, f"{choices} is missing{where}")

    def _excluded(self, qualifiers: Mapping[str, str]) -> BadSpelling | None:
        for rule in self.exclusions:
            if holds(rule.when, qualifiers):
                at = qualifiers.get(rule.at, "")
                return BadSpelling(dotted(at) if at else rule.at, rule.why)
        return None

    def order(self) -> str:
        """The slots in their written order, e.g. `ld{.space}{.vec}.type`."""
        return self.mnemonic + "".join(s.place if s.required else "{" + s.place + "}" for s in self.slots)

    def _nearest(self, opcode: str, tokens: list[str]) -> tuple[str, ...]:
        known = [token for token in tokens if token][: len(self.slots) + 2]
        ordered = self._canonical(known)
        tries: set[str] = set()
        for base in (known, ordered):
            for candidate in self._edits(base):
                result = self._read(candidate)
                if not isinstance(result, BadSpelling):
                    tries.add(self.spell(result))
        if not tries:
            every = [self.spell(qualifiers) for qualifiers in islice(self.legal(), FEW + 1)]
            tries.update(every if len(every) <= FEW else ())
        return tuple(sorted(tries, key=lambda text: (-_closeness(opcode, text), text))[:3])

    def _canonical(self, tokens: list[str]) -> list[str]:
        place = {value: k for k, slot in reversed(list(enumerate(self.slots))) for value in slot.values}
        return list(dict.fromkeys(sorted((t for t in tokens if t in place), key=lambda t: place[t])))

    def _edits(self, tokens: list[str]) -> Iterator[list[str]]:
        yield tokens
        values = [value for slot in self.slots for value in slot.values]
        for k in range(len(tokens)):
            yield tokens[:k] + tokens[k + 1 :]
            for value in values:
                yield [*tokens[:k], value, *tokens[k + 1 :]]
        for k in range(len(tokens) + 1):
            for value in values:
                yield [*tokens[:k], value, *tokens[k:]]


def dotted(qualifier: str) -> str:
    """A qualifier as it is written behind what comes before it."""
    return qualifier if qualifier.startswith("::") else f".{qualifier}"


def _closeness(a: str, b: str) -> float:
    left, right = a.split("."), b.split(".")
    same = 1.0 if sorted(left) == sorted(right) else 0.0
    return same + difflib.SequenceMatcher(a=a, b=b, autojunk=False).ratio()


def _slots_of(condition: Condition) -> set[str]:
    kind, *rest = condition
    if kind == "is":
        return {str(rest[0])}
    return {name for part in rest if _is_condition(part) for name in _slots_of(part)}


def arch_rank(arch: str) -> tuple[int, int]:
    """An order of architectures: by number, then plain < family (`f`) < specific (`a`)."""
    number = int("".join(c for c in arch if c.isdigit()) or 0)
    return RENAMED.get(number, number), {"f": 1, "a": 2}.get(arch[-1:], 0)


def arch_has(arch: str, floor: str) -> bool:
    """Whether a program built for `arch` may use a form whose floor is `floor` (`sm_100`: that and later; `sm_100f`: its family; `sm_90a`: itself)."""
    (have, have_kind), (need, need_kind) = arch_rank(arch), arch_rank(floor)
    if need_kind == 0:
        return have >= need
    if need_kind == 2:
        return have == need and have_kind == 2
    return have // 10 == need // 10 and have >= need and have_kind >= 1


def same_family(arch: str, family: str) -> bool:
    """Whether an architecture, plain, `f` or `a`, has the number of a family such as `sm_120f`."""
    return arch_rank(arch)[0] // 10 == arch_rank(family)[0] // 10
