"""What a CTA holds of a pool when each call of a kernel is reached: in plain numbers, one CTA and one value of every symbol at a time.

Symbols that vary by grid or cluster have one value in all calls, those that vary by CTA one in each CTA; they are `n@grid` and `n@cta` here.
What depends on a symbol that varies inside a CTA is too much to look at, unless the values say what happens: `@open3`, whether calls[3] executes, and
`@open3.at`, the column that it frees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

from tilecheck.evaluate.case import Case, Scene
from tilecheck.evaluate.domain import ELECTED, Symbol, TooLargeError
from tilecheck.evaluate.expressions import Expression, LimitError
from tilecheck.evaluate.launch import Thread

Document = tuple[int, Mapping[str, Any], Mapping[str, Any], bool]
"""The place of a call in its kernel, its contract as data, its document, whether it is proved on its own."""
Columns = tuple[int, int]
Values = Mapping[str, int]
LEVELS = {"grid": "grid", "cluster": "grid", "cta": "cta"}


@dataclass
class Walk:
    """What one CTA does: the clauses that fail, what is held when each call is reached, what is held at the end, whether something is freed."""

    failing: set[str] = field(default_factory=set[str])
    held: dict[int, tuple[Columns, ...]] = field(default_factory=dict[int, tuple[Columns, ...]])
    kept: bool = False
    freed: bool = False


class Act:
    """One call, and when it allocates, frees or closes."""

    def __init__(self, document: Document) -> None:
        self.index, contract, call, proved = document
        shared: Mapping[str, Any] = contract["shared"]
        given: Mapping[str, Any] = call.get("parameters") or {}
        self.case = Case(contract, call)
        size, place, pred = given.get(shared["size"]), given.get(shared["at"]), given.get("pred")
        self.size = size if isinstance(size, int) and not isinstance(size, bool) else None
        self.place = _place(place)
        self.does = str(shared["does"]) if self.size is not None or shared["does"] not in {"allocates", "frees"} else ""
        self.pred = Expression(("false", "true")[pred]) if isinstance(pred, bool) else Expression(pred) if isinstance(pred, str) else None
        if self.pred is not None and not self.pred.is_condition:
            self.pred = None
        free, loops = self.case.repeat_axes if proved else ((), {})
        self.count = min(prod(free or ()) * prod(loops.values()), 1 << 10)

    def key(self, symbol: Symbol) -> str | None:
        """The name of a symbol in all calls; None where it varies inside a CTA."""
        return f"{symbol.name}@{LEVELS[symbol.varies]}" if symbol.varies in LEVELS else None

    @property
    def inner(self) -> set[str]:
        """The symbols that vary inside a CTA."""
        return {s.name for s in self.case.symbols if self.key(s) is None}

    def _open(self, values: Values, suffix: str = "") -> int:
        """What happens, of what depends on a symbol that varies inside a CTA."""
        if f"@open{self.index}{suffix}" not in values:
            raise TooLargeError("what a call does depends on a symbol that varies inside a CTA")
        return values[f"@open{self.index}{suffix}"]

    def begins(self, values: Values, cta: int) -> int | None:
        """The column at which it frees; None where the address has no value."""
        if not isinstance(self.place, Expression):
            return self.place or 0
        if self.place.names & self.inner:
            return self._open(values, ".at")
        scene = self._scene(values)
        return _value(self.place, scene, self._running(scene, cta)[0] if not self._chosen else Thread(cta, 0, 0))

    def executes(self, values: Values, cta: int) -> bool:
        """Whether it executes in a CTA."""
        return bool(self._open(values)) if self._chosen else bool(self._running(self._scene(values), cta))

    @property
    def _chosen(self) -> bool:
        used = [*self.case.conditions, *([self.pred] if self.pred else [])]
        return any(expression.names & self.inner for expression in used)

    def _scene(self, values: Values) -> Scene:
        """The call at values of the symbols."""
        inner = self.inner
        own = {s.name: values.get(key, 0) for s in self.case.symbols if (key := self.key(s)) is not None}
        return Scene(self.case, {**own, **dict.fromkeys(inner, 0)})

    def holds(self, values: Values) -> bool:
        """Whether what the call says of its symbols holds, for some values of those that vary inside a CTA."""
        inner = [s for s in self.case.facts.symbols if self.key(s) is None]
        own = {s.name: values[key] for s in self.case.facts.symbols if (key := self.key(s)) is not None}
        if not all(s.admits(own[s.name]) for s in self.case.facts.symbols if s.name in own):
            return False
        _countable(inner)
        return any(self.case.facts.hold(one) for one in self.case.facts.assignments(inner, own))

    def _running(self, scene: Scene, cta: int) -> list[Thread]:
        """The first lane of each warp of a CTA that executes it."""
        found: list[Thread] = []
        for warp in range(self.case.launch.warps):
            thread = Thread(cta, warp, 0)
            if scene.active(thread) and (self.pred is None or _value(self.pred, scene, thread)):
                found.append(thread)
        return found


def _place(written: object) -> int | Expression | None:
    """Where something begins: a number, an expression that is none, or nothing that is an integer."""
    if isinstance(written, str):
        found = Expression(written)
        return None if found.is_condition else found
    return written if isinstance(written, int) and not isinstance(written, bool) else None


def _value(expression: Expression, scene: Scene, thread: Thread) -> int | None:
    try:
        return expression.value(scene.environment(thread))
    except LimitError:
        return None


def _countable(symbols: Sequence[Symbol]) -> None:
    if any(not s.bounded or s.count() > len(s.values()) for s in symbols):
        raise TooLargeError("a symbol without bounds, or with many values")


class Ledger:
    """The calls of a kernel that share one pool."""

    def __init__(self, members: Sequence[Document]) -> None:
        self.order = [one[0] for one in members]
        self.acts = {one[0]: Act(one) for one in members if one[1]["shared"]["does"]}
        self.columns = int(members[0][1]["shared"]["pool"]["columns"])
        self.ctas = max(Case(contract, call).launch.ctas for _, contract, call, _ in members)
        self.given = any(act.does == "allocates" for act in self.acts.values())

    def walk(self, values: Values, cta: int) -> Walk:
        """What one CTA does."""
        found, held, sizes = Walk(), list[Columns](), list[int]()
        closed = False
        for index in self.order:
            act = self.acts.get(index)
            if act is not None and act.does and act.executes(values, cta):
                if act.does == "closes":
                    closed = True
                elif act.does == "frees":
                    found.freed = True
                    self._free(act, (values, cta), held, found)
                else:
                    found.failing |= {"allocation.operands"} if closed else set[str]()
                    for _ in range(act.count):
                        self._allocate(act, held, sizes, found)
            found.held[index] = tuple(sorted(held))
        found.kept = bool(held)
        return found

    def _allocate(self, act: Act, held: list[Columns], sizes: list[int], found: Walk) -> None:
        assert act.size is not None
        start = act.place if isinstance(act.place, int) else max([high for _, high in held], default=0)
        taken = [column for low, high in held for column in range(low, high)]
        new = range(start, start + act.size)
        if sizes and sizes[-1] < act.size:
            found.failing.add("allocation.shape")
        if len(taken) + act.size > self.columns or set(taken) & set(new) or new.stop > self.columns:
            found.failing.add("allocation.footprint")
        sizes.append(act.size)
        held.append((start, new.stop))

    def _free(self, act: Act, where: tuple[Values, int], held: list[Columns], found: Walk) -> None:
        assert act.size is not None
        start = act.begins(*where) if any(high - low == act.size for low, high in held) else None
        fits = [one for one in held if start is not None and one == (start, start + act.size)]
        if fits:
            held.remove(fits[-1])
        else:
            found.failing.add("allocation.operands")

    def holds(self, values: Values) -> bool:
        """Whether everything that calls say of their symbols holds."""
        return all(act.holds(values) for act in self.acts.values())

    def names(self) -> dict[str, list[int]]:
        """The symbols, each with the values that all declarations admit."""
        found: dict[str, list[int]] = {}
        for act in self.acts.values():
            own = [s for s in act.case.symbols if act.key(s) is not None]
            _countable(own)
            for s in own:
                key = str(act.key(s))
                found[key] = [value for value in found.get(key, s.values()) if s.admits(value)]
        return found

    def assignments(self, spend: Callable[[], None]) -> Iterator[dict[str, int]]:
        """Every assignment of the symbols under which all facts hold."""
        domains = self.names()
        for values in product(*domains.values()):
            spend()
            one = dict(zip(domains, values, strict=True))
            if self.holds(one):
                yield one

    def failing(self, clause: str, values: Values, cta: int) -> bool:
        """Whether a clause fails in a CTA at values of the symbols; what is kept counts, in a kernel that frees."""
        walk = self.walk(values, cta)
        return self.holds(values) and (clause in walk.failing or (clause == "allocation.operands" and walk.kept))


__all__ = ["ELECTED", "Columns", "Document", "Ledger", "Values", "Walk"]
