"""Parameters that say what an instruction accesses: chunk sizes, bounded integers, CTAs of the cluster, bytes of a barrier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, cast

from tilecheck.evaluate.clauses import Observation, repeats, who
from tilecheck.evaluate.domain import TooLargeError
from tilecheck.evaluate.expressions import Expression, LimitError, Limits
from tilecheck.evaluate.kinds import integers
from tilecheck.evaluate.launch import Thread
from tilecheck.evaluate.sized import shape_problem

if TYPE_CHECKING:
    from tilecheck.evaluate.case import Case, Operand, Scene

LIMITED = {
    "integer": ("index.range", "bounds"),
    "rank": ("index.range", "cluster"),
    "mask": ("index.range", "cluster"),
    "u64": ("bounds",),
    "words": ("bounds",),
}
"""The clauses about the value of a parameter of each kind; of an operand of 64 bits only where it is an expression."""


def chunk_problem(parameter: Mapping[str, Any], value: int, bits: int) -> Observation | None:
    """Why a chunk of so many bytes is none of the instruction's, or holds no whole number of elements."""
    choices, step = parameter.get("choices") or (), int(parameter.get("step", 1))
    if value not in choices if choices else value <= 0 or value % step or value >> 32:
        expected = f"one of {list(choices)} bytes" if choices else f"a positive multiple of {step} bytes below 2^32"
    elif value * 8 % bits:
        expected = f"a whole number of elements of {bits} bits"
    else:
        return None
    return Observation(expected, f"{value} bytes", f"{parameter['name']}: expected {expected}, found {value} bytes.")


def instruction_problem(parameter: Mapping[str, Any], value: object) -> Observation | None:
    """Why a list is not the shape of the instruction."""
    wanted = list(parameter["choices"])
    return None if value == wanted else Observation(f"{wanted}", f"{value}", f"{parameter['name']}: expected {wanted}, found {value}.")


def size_problem(name: str, case: Case) -> Observation | None:
    """Why a list is none of the shapes of the instruction."""
    assert case.sized is not None
    found = shape_problem(case.sized, case.parameters, case.arch)
    return None if found is None else Observation(*found, f"{name}: expected {found[0]}, found {found[1]}.")


def expressed(value: object) -> bool:
    """Whether a value, or one of a list of values, is an expression."""
    return isinstance(value, str) or (isinstance(value, list) and any(isinstance(one, str) for one in cast("list[object]", value)))


def lonely(ctas: int) -> Observation | None:
    """A launch in which a CTA has no partner, of an instruction that works on pairs."""
    expected, actual = "a cluster of an even number of CTAs", f"{ctas} CTA{'' if ctas == 1 else 's'}"
    return Observation(expected, actual, f"expected {expected}, found {actual}.") if ctas & 1 else None


def value(scene: Scene, name: str, thread: Thread | None) -> int:
    """The value of an integer parameter in one thread; LimitError where it has none."""
    return Expression(scene.case.parameters[name]).value(scene.environment(thread))


def limited(scene: Scene, parameter: Mapping[str, Any], thread: Thread) -> Observation | None:
    """A value outside what the parameter may be, in one executing thread."""
    name, kind, ctas = str(parameter["name"]), parameter["kind"], scene.launch.ctas
    if kind == "words":
        return _words(scene, name, thread)
    try:
        found = value(scene, name, thread)
    except LimitError:
        return None
    if kind == "rank":
        right, expected = 0 <= found < ctas and found != thread.cta, f"the rank of another CTA among 0 to {ctas - 1}"
    elif kind == "mask":
        right, expected = 0 < found < 1 << ctas, f"a set of CTAs among 0 to {ctas - 1}: a mask from 1 to {(1 << ctas) - 1}"
    elif kind == "u64":
        most = int(parameter.get("most") or (1 << 64) - 1)
        right, expected = 0 <= found <= most, f"0 <= {name} <= {most}"
    else:
        most = scene.case.parameters[parameter["most"]] if isinstance(parameter["most"], str) else parameter["most"]
        step = int(parameter.get("step", 1))
        right, expected = 0 <= found <= most and not found % step, f"0 <= {name} <= {most}"
        expected += f", a multiple of {step}" if step > 1 else ""
    if right:
        return None
    own = f" (it is CTA {thread.cta} itself)" if kind == "rank" and found == thread.cta else ""
    actual = f"{name} = {found}{own}"
    return Observation(expected, actual, f"{who(scene, thread)}: expected {expected}, found {actual}.")


def _words(scene: Scene, name: str, thread: Thread) -> Observation | None:
    """A word that 32 bits do not hold."""
    for k, one in enumerate(scene.case.parameters[name]):
        try:
            found = Expression(one).value(scene.environment(thread))
        except LimitError:
            continue
        if not 0 <= found < 1 << 32:
            expected, actual = f"0 <= {name}[{k}] < 2^32", f"{name}[{k}] = {found}"
            return Observation(expected, actual, f"{who(scene, thread)}: expected {expected}, found {actual}.")
    return None


def number(scene: Scene, name: str, thread: Thread) -> float:
    """The number that stands in the place of an operand, in one thread."""
    written = scene.case.scalars.get(name)
    return scene.case.numbers[name] if written is None else written[0].value(scene.environment(thread))


def held(scene: Scene, name: str, thread: Thread) -> Observation | None:
    """A number in the place of an operand that its type does not hold, or that has no value, in one executing thread."""
    written, type_ = scene.case.scalars[name]
    low, high = integers(type_)
    expected = f"an integer from {low} to {high}"
    try:
        found = written.value(scene.environment(thread))
    except LimitError as trouble:
        return Observation(
            trouble.expected, trouble.actual, f"{who(scene, thread)}: {name}: expected {trouble.expected}, found {trouble.actual}."
        )
    if low <= found <= high:
        return None
    actual = f"{name} = {found}"
    return Observation(expected, actual, f"{who(scene, thread)}: expected {expected}, as .{type_} holds them, found {actual}.")


def in_range(scene: Scene, parameter: Mapping[str, Any], thread: Thread) -> Observation | None:
    """An intermediate result of the parameter's expression leaves the index type."""
    name = str(parameter["name"])
    try:
        Expression(scene.case.parameters[name]).check(scene.environment(thread), Limits(*scene.case.facts.index_range))
    except LimitError as trouble:
        sentence = f"{who(scene, thread)}: {name}: expected {trouble.expected}, found {trouble.actual}."
        return Observation(trouble.expected, trouble.actual, sentence)
    return None


def copies(scene: Scene, operand: Operand, thread: Thread) -> Sequence[tuple[int, ...]]:
    """The copies of a tensor that a thread accesses: its own (local, register), or those of its CTA or of the CTAs that a parameter names (shared)."""
    space = operand.view.space
    if space in {"global", "tensormap"}:
        return ((),)
    if space not in {"shared", "tmem"}:
        return (tuple(thread),)
    if operand.cta is None:
        return ((thread.cta,),)
    found = value(scene, operand.cta, thread)
    if scene.case.specs[operand.cta]["kind"] == "rank":
        return ((found,),)
    return tuple((cta,) for cta in range(scene.launch.ctas) if found >> cta & 1)


def transaction(case: Case, scene: Scene, spend: Callable[[], None]) -> Observation | None:
    """A CTA whose barrier receives other bytes than the call says, where it receives any."""
    name = next((str(p["name"]) for p in case.specs.values() if p["kind"] == "bytes"), None)
    target = next((o for o in case.operands if o.write and not o.register), None)
    if name is None or name not in case.parameters or target is None:
        return None
    try:
        expected = value(scene, name, None)
    except LimitError:
        return None
    each = prod(target.atom_extents) * target.bits // 8 * prod(repeats(scene, target))
    totals = dict.fromkeys(range(scene.launch.ctas), 0)
    for thread in scene.launch.threads:
        spend()
        if scene.active(thread) and scene.predicate(thread):
            for (cta,) in copies(scene, target, thread):
                totals[cta] = totals.get(cta, 0) + each
    wrong = next((cta for cta, total in totals.items() if total not in {0, expected}), None)
    if wrong is None:
        return None
    actual = f"{totals[wrong]} bytes"
    return Observation(f"{expected} bytes", actual, f"The call adds {actual} to the barrier of CTA {wrong}, {name} says {expected}.")


def settled(case: Case) -> None:
    """TooLargeError where what a barrier receives depends on symbols that threads of one cluster have values of their own for."""
    varying = {symbol.name for symbol in case.varying(("cta", "warp", "thread"))}
    used = {name for condition in (*case.conditions, *([case.pred] if case.pred else [])) for name in condition.names}
    for parameter in case.specs.values():
        given = case.parameters.get(str(parameter["name"]))
        if parameter["kind"] in {"rank", "mask", "bytes"} and isinstance(given, str):
            used |= Expression(given).names
    if varying & used:
        raise TooLargeError("what a barrier receives depends on a symbol that varies inside the cluster")
