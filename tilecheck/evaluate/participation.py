"""Participation: who must execute, and what must be the same for all lanes of a warp."""

from __future__ import annotations

from tilecheck.evaluate.case import Scene
from tilecheck.evaluate.clauses import Observation, who
from tilecheck.evaluate.expressions import Expression, LimitError
from tilecheck.evaluate.launch import LANE_NAMES, WARP_NAMES, Thread


def participation(scene: Scene, thread: Thread) -> Observation | None:
    """Whether a thread must execute and may not, or executes with other values than its warp."""
    launch = scene.launch
    if not launch.wide_enough:
        if not scene.active(thread):
            return None
        unit = "warp" if launch.together == 1 else "warpgroup"
        together = f"all {32 * launch.together} lanes execute it together"
        return Observation(
            f"a scope of at least a {unit}", f"{launch.scope} scope", f"A {unit} instruction at {launch.scope} scope: {together}."
        )
    if launch.scope == "thread":
        return None
    found = _undetermined(scene, thread) or _missing(scene, thread)
    if found is not None or not scene.active(thread):
        return found
    return _divergent(scene, thread) if launch.collective else _uneven(scene, thread)


def _undetermined(scene: Scene, thread: Thread) -> Observation | None:
    """A thread that may or may not execute, by a symbol that takes several values inside one instance of the scope."""
    executes = scene.active(thread)
    if all(other.active(thread) == executes for other in scene.inside()):
        return None
    expected, actual = f"{who(scene, thread)} to execute always or never", "it depends on a symbol that varies inside the scope"
    return Observation(
        expected, actual, f"{who(scene, thread)} may or may not execute: {actual}, so no coordinate counts the active threads."
    )


def _missing(scene: Scene, thread: Thread) -> Observation | None:
    """An inactive thread inside the smallest product around the active ones."""
    instance = scene.launch.instance(thread[:2])
    members = scene.launch.instances(scene.settled()).get(instance)
    if scene.active(thread) or not members or thread not in scene.launch.hull(instance, members):
        return None
    reason = "is switched off" if scene.launch.exists(thread) else "does not exist"
    unit = "warp" if scene.launch.together == 1 else "warpgroup"
    needs = (
        f"all {32 * scene.launch.together} lanes of a {unit}"
        if scene.launch.collective
        else f"a product of warps and lanes at {scene.launch.scope} scope"
    )
    return Observation(f"{who(scene, thread)} executes", f"it {reason}", f"{needs}: {who(scene, thread)} must execute, but {reason}.")


def _uneven(scene: Scene, thread: Thread) -> Observation | None:
    """At warp and warpgroup scope, an instance with other extents than the first one."""
    launch = scene.launch
    if launch.scope not in {"warp", "warpgroup"}:
        return None
    instance, instances = launch.instance(thread[:2]), launch.instances(scene.settled())
    mine, first = launch.extents(instances[instance]), launch.extents(instances[min(instances)])
    if mine == first:
        return None
    sentence = f"{launch.scope} {list(instance)} has group extents {list(mine)}, the first executing {launch.scope} {list(first)}."
    return Observation(f"group extents {list(first)}", f"{list(mine)}", sentence)


def _divergent(scene: Scene, thread: Thread) -> Observation | None:
    """A predicate, a number or a start of a collective that is not what its first active lane has (with the least values it may have)."""
    case, apart = scene.case, scene.launch.together > 1
    changing = LANE_NAMES | (WARP_NAMES if apart else frozenset[str]()) | {symbol.name for symbol in case.varying(_levels(scene))}
    starts = [(operand.name, start) for operand in case.operands for start in operand.view.starts()]
    numbers = [(name, value) for name, (value, _) in case.scalars.items()]
    named = [
        (name, start)
        for name, start in [*([("pred", case.pred)] if case.pred else []), *case.conditional.items(), *case.uniform, *numbers, *starts]
        if start.names & changing
    ]
    if not named:
        return None
    first, leader = _first(scene, thread)
    for name, expression in named:
        here, there = _value(expression, scene, thread), _value(expression, first, leader)
        if here is not None and there is not None and here != there:
            if not _apart(scene, thread, first, leader):
                leader, there = _another(scene, thread, expression, here) or (leader, there)
            sentence = (
                f"{name}: {expression.text!r} is {here} in {who(scene, thread)} and {there} in {_where(leader, apart=apart)}; "
                f"a {'warpgroup' if apart else 'warp'} needs one value."
            )
            return Observation(f"{there}, as in {_where(leader, apart=apart)}", f"{here}", sentence)
    return None


def _levels(scene: Scene) -> tuple[str, ...]:
    """The levels at which a symbol takes several values among those who execute together."""
    return ("thread",) if scene.launch.together == 1 else ("warp", "thread")


def _apart(scene: Scene, thread: Thread, other: Scene, member: Thread) -> bool:
    """Whether two threads may have the values of two scenes: another value of a symbol is that of another instance of its level."""
    changed = (s.varies for s in scene.case.varying(_levels(scene)) if scene.values[s.name] != other.values[s.name])
    return member != thread and all(level == "thread" or member[:2] != thread[:2] for level in changed)


def _another(scene: Scene, thread: Thread, expression: Expression, here: int) -> tuple[Thread, int] | None:
    """A thread that executes together with this one, with the first values it may have that give the expression another value."""
    for other in scene.alternatives(_levels(scene)):
        for number in range(32 * scene.launch.together):
            member = scene.launch.member(thread, number)
            if scene.launch.exists(member) and other.active(member) and _apart(scene, thread, other, member):
                there = _value(expression, other, member)
                if there is not None and there != here:
                    return member, there
    return None


def _where(leader: Thread, *, apart: bool) -> str:
    """The first thread in words."""
    return f"lane {leader.lane}" + (f" of warp {leader.warp}" if apart else "")


def _first(scene: Scene, thread: Thread) -> tuple[Scene, Thread]:
    """The first active lane of those who execute together with a thread, over the values that vary among them in their order."""
    launch = scene.launch
    for other in scene.alternatives(_levels(scene)):
        for number in range(32 * launch.together):
            member = launch.member(thread, number)
            if launch.exists(member) and other.active(member):
                return other, member
    return scene, thread


def _value(expression: Expression, scene: Scene, thread: Thread) -> int | None:
    try:
        return expression.value(scene.environment(thread))
    except LimitError:
        return None
