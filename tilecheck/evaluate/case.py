"""A contract and a call read together: operands, launch, facts; and one scene of it, with every symbol given a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import product
from math import prod
from typing import Any, cast

from tilecheck.evaluate.composed import composed, function_problem
from tilecheck.evaluate.domain import ELECTED, MOST, Base, Facts, Symbol, TooLargeError, grid
from tilecheck.evaluate.expressions import Expression, LimitError, Limits, term
from tilecheck.evaluate.kinds import is_number, of_kind
from tilecheck.evaluate.launch import THREAD_NAMES, Active, Launch, Thread
from tilecheck.evaluate.sized import sized
from tilecheck.evaluate.views import Coordinate, FixedView, View, flat

DEFINED = Limits()


@lru_cache(maxsize=256)
def _by_lane(holder: Any, names: tuple[str, ...], extents: tuple[int, ...]) -> dict[int, tuple[Coordinate, ...]]:
    found: dict[int, list[Coordinate]] = {}
    for atom in product(*(range(extent) for extent in extents)):
        found.setdefault(term(holder, dict(zip(names, atom, strict=True))), []).append(atom)
    return {lane: tuple(atoms) for lane, atoms in found.items()}


def _tuples(written: Any) -> Any:
    """A term with tuples for lists, which JSON has."""
    return tuple(_tuples(part) for part in cast("list[Any]", written)) if isinstance(written, list | tuple) else written


RUNNING = {"integer", "rank", "mask", "u64", "words"}
"""The kinds of parameters whose value may be one of the running program, conditions aside."""


class Operand:
    """One operand: what the contract says of it, and the view that the call gives.

    bits, chunk_bytes: the width of an element and the bytes of a row, where the contract leaves them open (0).
    """

    def __init__(
        self,
        spec: Mapping[str, Any],
        form: Mapping[str, Any],
        label: str,
        view: View,
        atom: Sequence[tuple[str, int]],
        bits: int,
        chunk_bytes: int,
        loops: Sequence[str] = (),
        *,
        collective: bool = False,
    ) -> None:
        self.name = str(spec["name"])
        self.register = spec["kind"] == "register"
        self.matrix: Mapping[str, Any] | None = spec if spec["kind"] == "tmem" else None
        plain = spec["kind"] == "memory"
        self.bits = int(spec["bits"]) or bits
        self.write = bool(spec["write"])
        self.dtypes: tuple[str, ...] | None = None if spec["dtypes"] is None else tuple(spec["dtypes"])
        self.space = str(spec["space"]) if plain else str(spec["kind"])
        self.row_axes = len(spec["row"]) if plain else 0
        self.align_bytes = int(spec["align_bytes"]) or chunk_bytes if plain else 1
        self.cta: str | None = spec.get("cta") if plain else None
        self.opaque = bool(spec.get("opaque"))
        self.described: Mapping[str, Any] | None = spec.get("described")
        self.slot_term = spec["register"] if self.register else None
        self.holder_term = _tuples(spec["lane"] if self.register else spec.get("provider"))
        if self.matrix is not None and collective:
            self.holder_term = 0  # one lane of those who execute together answers
        self.label = label
        self.tensor = str(form["allocation"])
        self.named_tensor = bool(form.get("tensor"))
        self.size_bytes = None if form.get("size_bytes") is None else Expression(form["size_bytes"])
        self.size_names = frozenset[str]() if self.size_bytes is None else self.size_bytes.names
        self.view = view
        own = spec.get("atom", atom)
        self.atom_names = tuple(str(name) for name, _ in own)
        self.atom_extents = tuple(int(extent) for _, extent in own)
        self.loops: tuple[str, ...] = tuple(spec.get("over", loops))
        self.then: str | None = spec.get("then")

    def holder(self, atom: Coordinate) -> int | None:
        """The thread of a collective, counted from its first lane on, that owns the element or provides its row; None: the executing thread."""
        if self.holder_term is None:
            return None
        return term(self.holder_term, dict(zip(self.atom_names, atom, strict=True)))

    @cached_property
    def atoms(self) -> tuple[Coordinate, ...]:
        """Every atom coordinate, in order. TooLargeError where there are too many to keep."""
        if prod(self.atom_extents) > MOST:
            raise TooLargeError(f"{prod(self.atom_extents)} elements of one instruction")
        return tuple(grid(self.atom_extents))

    @cached_property
    def atoms_by_lane(self) -> dict[int, tuple[Coordinate, ...]]:
        """For an operand with holders, the atom coordinates of each lane."""
        return _by_lane(self.holder_term, self.atom_names, self.atom_extents)

    def atoms_of(self, lane: int) -> tuple[Coordinate, ...]:
        """The atom coordinates that a lane answers for."""
        return self.atoms if self.holder_term is None else self.atoms_by_lane.get(lane, ())

    def answers(self, lane: int, atom: Coordinate) -> bool:
        """Whether a lane answers for an atom coordinate."""
        if self.holder_term is None:
            return all(0 <= c < extent for c, extent in zip(atom, self.atom_extents, strict=True))
        return tuple(atom) in self.atoms_by_lane.get(lane, ())

    def row_start(self, atom: Coordinate) -> Coordinate:
        """The first element of the row of this one."""
        return (*atom[: len(atom) - self.row_axes], *(0,) * self.row_axes)

    def row_index(self, atom: Coordinate) -> int:
        """The place of an element in its row."""
        first = len(atom) - self.row_axes
        return flat(atom[first:], self.atom_extents[first:])

    def previous(self, atom: Coordinate) -> Coordinate | None:
        """The element before this one in its row; None for the first."""
        first = len(atom) - self.row_axes
        found = list(atom)
        for axis in range(len(atom) - 1, first - 1, -1):
            if found[axis]:
                found[axis] -= 1
                return tuple(found)
            found[axis] = self.atom_extents[axis] - 1
        return None


class Case:
    """One contract applied by one call."""

    def __init__(self, contract: Mapping[str, Any], call: Mapping[str, Any]) -> None:
        contract = composed(sized(variant(contract, call), call), call)
        self.pair = bool(contract.get("pair"))
        self.shared: Mapping[str, Any] | None = contract.get("shared")
        """What the call has in common with the other calls of a kernel."""
        self.opcode = str(call.get("opcode") or contract["opcode"])
        self.arch = str(call.get("arch") or "")
        self.atom: tuple[tuple[str, int], ...] = tuple((str(name), int(extent)) for name, extent in contract["atom"])
        self.move: Mapping[str, Any] = contract["move"]
        self.product: Mapping[str, Any] | None = contract.get("product")
        self.computed: Mapping[str, Any] | None = contract.get("computed")
        self.unpredicted = str(contract.get("unpredicted") or "")
        self.numbers: dict[str, float] = {}
        self.single = bool(contract.get("single"))
        self.sized: Mapping[str, Any] | None = contract.get("sized")
        self.typed = "typed" in contract
        self.boxed = "box" in contract
        self.specs: dict[str, Mapping[str, Any]] = {str(parameter["name"]): parameter for parameter in contract["parameters"]}
        self.launch = Launch(
            str(call["scope"]), contract["collective"] != "thread", call.get("launch"), 4 if contract["collective"] == "warpgroup" else 1
        )
        given: Mapping[str, Any] = call.get("parameters") or {}
        self.parameters: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        self.problem = operands_problem(contract, call, self.parameters)
        handed: Sequence[Mapping[str, Any]] = call.get("operands") or ()
        forms = [form for form in handed if "layout" in form]
        if self.problem is None:
            forms = [seen(spec, form) for spec, form in zip(contract["operands"], handed, strict=True) if "layout" in form]
        views = [View(form) for form in forms]
        self.facts = Facts(call, views)
        self.bases: dict[str, Base] = {}
        labels = _labels([str(form.get("name") or "") for form in forms])
        forms = _allocated(forms, labels)
        for form, view in zip(forms, views, strict=True):
            self.bases.setdefault(form["allocation"], Base(form["allocation"])).add(form, view.declared_bits)
        specs: Sequence[Mapping[str, Any]] = contract["operands"] if self.problem is None else ()
        bits = views[0].bits if views else 0
        self.chunk: str | None = contract.get("chunk") if specs else None
        self.chunk_bits = int(specs[0]["bits"]) or bits if specs else 0
        if self.chunk is not None:  # the last atom axis holds a chunk
            count = max(0, self.parameters[self.chunk]) * 8 // self.chunk_bits
            self.atom = (*self.atom[:-1], (self.atom[-1][0], count))
        chunk_bytes = self.parameters[self.chunk] if self.chunk is not None else 0
        self.loops: tuple[str, ...] = tuple(contract.get("loops", ()))
        self.scalars: dict[str, tuple[Expression, str]] = {}
        """The expressions in the place of operands, each with the type that holds its value."""
        every: Sequence[Mapping[str, Any]] = call.get("operands") or ()
        for spec, form in zip(specs, every, strict=False):
            if "layout" not in form:
                name, value = str(spec["name"]), form["value"]
                written = Expression(value) if isinstance(value, str) else None
                if written is not None and written.constant is None:
                    self.scalars[name] = (written, str(spec["number"]))
                else:
                    self.numbers[name] = value if not isinstance(value, str) else (written and written.constant) or 0
        viewed = [spec for spec, form in zip(specs, call.get("operands") or (), strict=False) if "layout" in form]
        self.operands = tuple(
            Operand(*four, self.atom, bits, chunk_bytes, self.loops, collective=self.launch.collective)
            for four in zip(viewed, forms, labels, views, strict=False)
        )
        guard = call.get("guard")
        self.conditions = (*([] if guard is None else [_condition(guard)]), *self.facts.conditions)
        pred = self.parameters.get("pred")
        self.pred = None if pred is None or self.problem is not None else _condition(pred)
        named = [n for n, spec in self.specs.items() if spec["kind"] == "predicate" and spec["operand"]] if self.problem is None else []
        self.conditional = {name: _condition(self.parameters[name]) for name in named if name in self.parameters}
        """The conditions that are operands."""
        running = [n for n, spec in self.specs.items() if spec["kind"] in RUNNING and spec["operand"] and n in self.parameters]
        self.uniform = [] if self.problem is not None else [(n, Expression(text)) for n in running for text in _texts(self.parameters[n])]
        """The integers that are operands and no numbers."""
        self._active: dict[tuple[int, ...], dict[Thread, bool]] = {}
        self._groups: dict[tuple[int, ...], dict[Thread, Coordinate]] = {}
        self.executing: dict[tuple[int, ...], Active] = {}

    @cached_property
    def repeat_axes(self) -> tuple[Coordinate | None, dict[str, int]]:
        """(the repeat axes without a name, the extent of each loop), as the first operand says that has them in numbers."""
        free: Coordinate | None = None
        loops: dict[str, int] = {}
        for operand in self.operands:
            found, named = operand.view.static_shape, len(operand.loops)
            axes = found[self.launch.group_rank : len(found) - len(operand.atom_extents)]
            numbers = tuple(extent for extent in axes if extent is not None)
            ranked = len(found) >= self.launch.group_rank + named + len(operand.atom_extents)
            if operand.view.refused or not ranked or len(numbers) < len(axes):
                continue
            if free is None:
                free = numbers[: len(numbers) - named]
            for name, extent in zip(operand.loops, numbers[len(numbers) - named :], strict=True):
                loops.setdefault(name, extent)
        return free, loops

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The declared symbols, then the elected lane where the call uses it."""
        words = {n for n, spec in self.specs.items() if spec["kind"] in {"barrier", "word", "major", "fixed"}}
        texts = (Expression(text) for n, v in self.parameters.items() if n not in words for text in _texts(v))
        numbers = (value for value, _ in self.scalars.values())
        used = [*self.conditions, *texts, *numbers, *(e for o in self.operands for e in o.view.indices)]
        elected = any(ELECTED in expression.names for expression in used)
        return (*self.facts.symbols, *([Symbol(ELECTED, 0, 31, 1, "grid", bounded=True)] if elected else []))

    @cached_property
    def selective(self) -> bool:
        """Whether some threads may execute and others not."""
        return any(condition.names & THREAD_NAMES for condition in self.conditions)

    @cached_property
    def activity_names(self) -> tuple[str, ...]:
        """The symbols that decide who executes."""
        return self.symbols_in(self.conditions)

    def symbols_in(self, expressions: Iterable[Expression]) -> tuple[str, ...]:
        """The symbols (and `elected`) that occur in expressions."""
        names = {name for expression in expressions for name in expression.names}
        return tuple(symbol.name for symbol in self.symbols if symbol.name in names)

    def varying(self, levels: Iterable[str]) -> tuple[Symbol, ...]:
        """The symbols that vary at one of the levels."""
        return tuple(symbol for symbol in self.symbols if symbol.varies in set(levels))

    def active_memo(self, values: Mapping[str, int]) -> dict[Thread, bool]:
        """What is known of who is active under these values."""
        return self._active.setdefault(tuple(values[name] for name in self.activity_names), {})

    def groups_memo(self, values: Mapping[str, int]) -> dict[Thread, Coordinate]:
        """What is known of group coordinates under these values."""
        return self._groups.setdefault(tuple(values[name] for name in self.activity_names), {})


class Scene:
    """A case with every symbol given a value (that all threads share, where it varies)."""

    def __init__(self, case: Case, values: Mapping[str, int]) -> None:
        self.case = case
        self.launch = case.launch
        self.values = dict(values)

    @cached_property
    def _active(self) -> dict[Thread, bool]:
        return self.case.active_memo(self.values)

    def environment(self, thread: Thread | None) -> dict[str, int]:
        """The values of all names in one thread; `elected` is true in one existing lane of each warp."""
        if thread is None:
            return self.values
        elected = thread.lane == self.values.get(ELECTED, 0) % max(1, self.launch.lanes(thread.warp))
        return {**self.values, **self.launch.coordinates(thread), ELECTED: elected}

    def active(self, thread: Thread) -> bool:
        """Whether a thread exists and satisfies the guard and every assumption about threads."""
        if thread not in self._active:
            self._active[thread] = self.launch.exists(thread) and self._conditions(thread)
        return self._active[thread]

    def _conditions(self, thread: Thread) -> bool:
        environment = self.environment(thread)
        try:
            return all(condition.value(environment) for condition in self.case.conditions)
        except LimitError:
            return False

    def predicate(self, thread: Thread) -> bool:
        """Whether `pred` holds for a thread."""
        try:
            return self.case.pred is None or bool(self.case.pred.value(self.environment(thread)))
        except LimitError:
            return False

    def executing(self) -> Active:
        """The active lanes of every warp that has any."""
        key = tuple(self.values[name] for name in self.case.activity_names)
        if key not in self.case.executing:
            found: dict[tuple[int, int], list[int]] = {}
            for thread in self.launch.threads:
                if self.active(thread):
                    found.setdefault((thread.cta, thread.warp), []).append(thread.lane)
            self.case.executing[key] = {warp: tuple(lanes) for warp, lanes in found.items()}
        return self.case.executing[key]

    def group(self, thread: Thread, active: Callable[[Thread], bool] | None = None) -> Coordinate:
        """The group coordinate: on each axis, how many active CTAs, warps or lanes come before this thread's.

        `active` says who executes where threads have values of their own.
        """
        if active is not None:
            return self._group(thread, active)
        known = self.case.groups_memo(self.values)
        if thread not in known:
            known[thread] = self._group(thread, self.active)
        return known[thread]

    def _group(self, thread: Thread, active: Callable[[Thread], bool]) -> Coordinate:
        launch, scope = self.launch, self.launch.scope
        if scope == "thread":
            return ()
        lanes = () if launch.collective else (sum(active(thread._replace(lane=k)) for k in range(thread.lane)),)
        if scope == "warp" or (scope == "warpgroup" and launch.together == 4):
            return lanes
        first = 4 * (thread.warp // 4) if scope == "warpgroup" else 0
        own = thread.warp - thread.warp % launch.together
        warps = (sum(active(thread._replace(warp=k)) for k in range(first, own, launch.together)),)
        return (*self._cta_group(thread, active), *warps, *lanes) if scope == "cluster" else (*warps, *lanes)

    def _cta_group(self, thread: Thread, active: Callable[[Thread], bool]) -> Coordinate:
        x, y, _ = self.launch.cluster
        own = self.launch.cta_axes(thread.cta)
        strides = (1, x, x * y)
        before = [
            sum(active(thread._replace(cta=thread.cta - back * stride)) for back in range(1, own[k] + 1))
            for k, stride in enumerate(strides[: self.launch.cluster_axes])
        ]
        return tuple(reversed(before))

    def fixed(self, operand: Operand, thread: Thread | None) -> FixedView:
        """The operand's view in numbers, as a thread sees it. LimitError where it has none."""
        names = operand.view.names
        inside = thread is not None and not THREAD_NAMES.isdisjoint(names)
        return operand.view.fixed(self.environment(thread) if inside else self.values)

    def alternatives(self, levels: Iterable[str]) -> Iterator[Scene]:
        """The scenes of threads that may differ in what varies at these levels, in order."""
        free = self.case.varying(levels)
        if not free:
            yield self
            return
        kept = {name: value for name, value in self.values.items() if name not in {symbol.name for symbol in free}}
        for values in self.case.facts.assignments(free, kept):
            if self.case.facts.hold(values):
                yield Scene(self.case, values)

    def inside(self) -> Iterator[Scene]:
        """The scenes of threads of one instance of the scope, where a symbol that decides who executes varies inside it."""
        levels = [
            level for level in self.launch.inner_levels if any(s.name in self.case.activity_names for s in self.case.varying((level,)))
        ]
        return self.alternatives(levels) if levels else iter(())

    def settled(self) -> Active:
        """The active lanes of every warp, as far as they are active with every value that varies inside the scope."""
        found = self.executing()
        for other in self.inside():
            there = other.executing()
            found = {warp: tuple(lane for lane in lanes if lane in there.get(warp, ())) for warp, lanes in found.items()}
        return {warp: lanes for warp, lanes in found.items() if lanes}


def seen(spec: Mapping[str, Any], form: Mapping[str, Any]) -> Mapping[str, Any]:
    """The operand as the instruction takes it: a view of numbers of which two fill an element, as one of raw elements."""
    if not spec.get("paired") or View(form).dtype not in spec["paired"]:
        return form
    return {**form, "view": [*(form.get("view") or ()), {"op": "view", "dtype": f"bits{spec['bits']}"}]}


def variant(contract: Mapping[str, Any], call: Mapping[str, Any]) -> Mapping[str, Any]:
    """The variant whose operands are as many, in registers where those of the call are, as wide and as long at the end, numbers where they may stand.

    Where there is none, the only one of which that is true for the operands in which it differs from the contract; else the first one with an operand in
    registers, or in memory, where the call has it and the contract has not; else the contract itself.
    """
    forms: Sequence[Mapping[str, Any]] = call.get("operands") or ()
    variants = [one for one in contract.get("variants", ()) if len(one["operands"]) == len(forms)]
    unfit = [[k for k, form in enumerate(forms) if not _fit(one, one["operands"][k], form)] for one in variants]
    own = contract["operands"]
    for one, wrong in zip(variants, unfit, strict=True):
        if not wrong:
            return one
    near: list[Mapping[str, Any]] = []
    for one, wrong in zip(variants, unfit, strict=True):
        if all(k >= len(own) or _form(contract, own[k]) == _form(one, one["operands"][k]) for k in wrong):
            near.append(one)
    if len(near) == 1:
        return near[0]
    for one in variants:
        pairs = [(_form(one, s)[0], _form(contract, mine)[0], f) for s, mine, f in zip(one["operands"], own, forms, strict=False)]
        moved = [(kind, f) for kind, mine, f in pairs if kind != mine]
        if moved and all("layout" in f and _memory(f["space"]) == kind for kind, f in moved):
            return one
    return contract


def _form(contract: Mapping[str, Any], spec: Mapping[str, Any]) -> tuple[object, ...]:
    """What an operand is told by."""
    return _memory(spec.get("space", spec["kind"])), spec["bits"], spec.get("atom", contract["atom"])[-1][1], bool(spec.get("number"))


def _memory(space: str) -> str:
    """The kind of memory of a space: registers, tensor memory, or what has byte addresses."""
    return space if space in {"register", "tmem"} else ""


def _fit(contract: Mapping[str, Any], spec: Mapping[str, Any], form: Mapping[str, Any]) -> bool:
    """Whether a view is what an operand is told by; a number, whether one may stand there."""
    if "layout" not in form:
        return bool(spec.get("number"))
    view = View(seen(spec, form))
    kind, bits, extent, _ = _form(contract, spec)
    alike = _memory(view.space) == kind and view.bits == bits
    return alike and ("sized" in contract or view.static_shape[-1:] == (extent,))


def _condition(source: object) -> Expression:
    return Expression(("true" if source else "false") if isinstance(source, bool) else str(source))


def _texts(value: Any) -> Iterator[str]:
    """The expressions in a parameter, nested lists included."""
    if isinstance(value, str):
        yield value
    for item in cast("list[Any]", value) if isinstance(value, list) else ():
        yield from _texts(item)


def _labels(names: Sequence[str]) -> list[str]:
    """Operand names, a repeated one marked #2, #3, ..."""
    return [name if name not in names[:k] else f"{name}#{names[:k].count(name) + 1}" for k, name in enumerate(names)]


def _allocated(forms: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> list[Mapping[str, Any]]:
    """The operands with the name of their allocation: the one they share, else their own, told apart from a shared one of that name."""
    shared = {str(form["tensor"]) for form in forms if form.get("tensor")}
    own = (f"{label}#own" if label in shared else label for label in labels)
    return [{**form, "allocation": str(form.get("tensor") or name)} for form, name in zip(forms, own, strict=True)]


def family_has(arch: str, floor: str) -> bool:
    """Whether an architecture is at a floor with a letter: its family from a number on (`sm_100f`), or itself (`sm_100a`)."""
    if not floor.endswith("f"):
        return arch == floor
    number = int("".join(filter(str.isdigit, floor)))
    own = int("".join(filter(str.isdigit, arch)))
    return arch[-1:] in {"a", "f"} and own // 10 == number // 10 and own >= number


def elsewhere(contract: Mapping[str, Any], forms: Sequence[Mapping[str, Any]], parameter: str) -> bool:
    """Whether a parameter describes an operand that is in another memory than the instruction takes it from."""
    for spec, form in zip(contract["operands"], forms, strict=False):
        described = spec.get("described")
        if described and described["descriptor"] == parameter and form.get("space") != spec["space"]:
            return True
    return False


def operands_problem(contract: Mapping[str, Any], call: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[str, str] | None:
    """What is wrong with the function, the operands and the parameters: (expected, found)."""
    fault = function_problem(contract, call)
    if fault is not None:
        return fault
    wanted = [str(spec["name"]) for spec in contract["operands"]]
    forms: Sequence[Mapping[str, Any]] = call.get("operands") or ()
    if len(forms) != len(wanted):
        return f"{len(wanted)} operands ({', '.join(wanted)})", f"{len(forms)} operands"
    for name, form, spec in zip(wanted, forms, contract["operands"], strict=True):
        if "layout" in form:
            continue
        if not spec.get("number"):
            return f"a view for {name}", f"the scalar {form.get('name')}"
        if not is_number(str(spec["number"]), form.get("value")):
            return f"{name} to be a number of type {spec['number']}", f"{form.get('value')!r}"
    parameters = {str(parameter["name"]): parameter for parameter in contract["parameters"]}
    for name in given:
        if name not in parameters:
            return f"parameters among {', '.join(parameters)}", f"the unknown parameter {name}"
    for name, parameter in parameters.items():
        if name not in given:
            if parameter["required"] and not elsewhere(contract, forms, name):
                return f"the parameter {name}", "none"
            continue
        floor, arch = parameter.get("arch"), call.get("arch")
        if floor and arch and not family_has(str(arch), str(floor)):
            return f"{floor} for {name}", str(arch)
        unless = parameter.get("unless")
        if unless is not None and unless in given:
            return f"{name} or {unless}", "both"
        if parameter["needs"] and parameter["needs"] not in given and given[name] is not False:
            return f"{name} only together with {parameter['needs']}", f"{name} alone"
        if not of_kind(parameter, given[name]):
            one = (
                f"the number {' or '.join(map(str, parameter['choices']))}" if parameter["kind"] == "selector" else f"a {parameter['kind']}"
            )
            return f"{name} to be {one}", f"{given[name]!r}"
    return None
