"""einops patterns such as `(r m) w k -> k m r w`: the only file that knows `einops.parsing`, whose interface is undocumented."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tilecheck.errors import InputError
from tilecheck.layout.poly import product, quotient, same
from tilecheck.symbolic.terms import Term

MAX_LENGTH = 1000
_ELLIPSIS = "…"

Groups = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Rearrangement:
    """A pattern fitted to a shape: split each axis into `left`, reorder the atoms by `order`, join them into `right`."""

    left: tuple[Term, ...]
    order: tuple[int, ...]
    shape: tuple[Term, ...]

    @property
    def right(self) -> tuple[Term, ...]:
        """The extents of the atoms in their new order."""
        return tuple(self.left[k] for k in self.order)


def fit(pattern: str, shape: Sequence[Term], sizes: Mapping[str, Term]) -> Rearrangement:
    """The rearrangement that `pattern` makes of `shape`; one unknown size in a group follows from the others."""
    left, right = parse_pattern(pattern)
    left, right = _expanded(pattern, left, right, len(shape))
    known = _sizes(pattern, left, shape, sizes)
    names = [name for group in left for name in group]
    order = tuple(names.index(name) for group in right for name in group)
    return Rearrangement(tuple(known[name] for name in names), order, tuple(product(known[name] for name in group) for group in right))


@lru_cache(maxsize=512)
def parse_pattern(pattern: str) -> tuple[Groups, Groups]:
    """The groups of axis names on both sides; unit axes are empty groups, an ellipsis is the group `…`."""
    if len(pattern) > MAX_LENGTH:
        raise InputError(f"found a pattern of {len(pattern)} characters, expected at most {MAX_LENGTH}")
    sides = pattern.split("->")
    if len(sides) != 2:
        raise InputError(f"pattern {pattern!r}: found {len(sides) - 1} arrows, expected one `->`")
    left, right = (_side(pattern, side) for side in sides)
    if any(_ELLIPSIS in group and len(group) > 1 for group in left) or "(...)" in sides[0].replace(" ", ""):
        raise InputError(f"pattern {pattern!r}: found an ellipsis in brackets on the left, expected it there without brackets")
    before, after = ({name for group in side for name in group} for side in (left, right))
    if before != after:
        lost = ", ".join(sorted(name.replace(_ELLIPSIS, "...") for name in before ^ after))
        raise InputError(f"pattern {pattern!r}: found {lost} on one side only; a rearrange neither drops nor repeats an axis")
    return left, right


def _side(pattern: str, side: str) -> Groups:
    from einops import EinopsError
    from einops.parsing import ParsedExpression

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = ParsedExpression(side)
    except (EinopsError, ValueError) as error:
        sentence = " ".join(str(error).split())
        raise InputError(f"pattern {pattern!r}: {sentence}") from None
    if parsed.has_non_unitary_anonymous_axes:
        raise InputError(f"pattern {pattern!r}: found a number as an axis, expected names (or 1); give sizes by name")
    return tuple((group,) if isinstance(group, str) else tuple(str(name) for name in group) for group in parsed.composition)


def _expanded(pattern: str, left: Groups, right: Groups, rank: int) -> tuple[Groups, Groups]:
    """The ellipsis replaced by as many names as the rank asks for."""
    whole = (_ELLIPSIS,)
    count = rank - len(left) + 1 if whole in left else 0
    if (whole in left and count < 0) or (whole not in left and len(left) != rank):
        least = "at least " if whole in left else ""
        raise InputError(f"pattern {pattern!r}: found a view of rank {rank}, expected {least}{len(left) - (whole in left)}")
    names = tuple(f"{_ELLIPSIS}{k}" for k in range(count))
    at = left.index(whole) if whole in left else 0
    new_left = left[:at] + tuple((name,) for name in names) + left[at + 1 :] if whole in left else left
    new_right: list[tuple[str, ...]] = []
    bare = "(...)" not in pattern.split("->")[1].replace(" ", "")
    for group in right:
        if group == whole and bare:
            new_right.extend((name,) for name in names)
        elif _ELLIPSIS in group:
            k = group.index(_ELLIPSIS)
            new_right.append(group[:k] + names + group[k + 1 :])
        else:
            new_right.append(group)
    return new_left, tuple(new_right)


def _sizes(pattern: str, left: Groups, shape: Sequence[Term], sizes: Mapping[str, Term]) -> dict[str, Term]:
    known = dict(sizes)
    names = {name for group in left for name in group}
    for name, size in sizes.items():
        if name not in names or name.startswith(_ELLIPSIS):
            raise InputError(f"pattern {pattern!r}: found a size for {name!r}, expected an axis of the pattern")
        if isinstance(size, int) and size < 1:
            raise InputError(f"pattern {pattern!r}: found size {size} for {name!r}, expected at least 1")
    for group, extent in zip(left, shape, strict=True):
        unknown = [name for name in group if name not in known]
        if len(unknown) > 1:
            raise InputError(f"pattern {pattern!r}: found no sizes for {', '.join(unknown)}, expected all but one of them")
        total = product(known[name] for name in group if name in known)
        rest = quotient(extent, total) if unknown else None
        if rest is not None:
            known[unknown[0]] = rest
        elif unknown or not same(total, extent):
            text = f"({' '.join(group)})"
            raise InputError(
                f"pattern {pattern!r}: found an axis of extent {extent} for {text}, expected a multiple of {total}"
                if unknown
                else f"pattern {pattern!r}: found an axis of extent {extent} for {text}, expected {total}"
            )
    return known
