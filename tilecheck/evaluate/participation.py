"""Participation: who must execute, and what must be the same for all lanes of a warp."""

from __future__ import annotations

from tilecheck.evaluate.case import Scene
from tilecheck.evaluate.clauses import Observation, who
from tilecheck.evaluate.expressions import Expression, LimitError
from tilecheck.evaluate.launch import LANE_NAMES, Thread


def participation(scene: Scene, thread: Thread) -> Observation | None:
    """Whether a thread must execute and may not, or executes with other values than its warp."""
    launch = scene.launch
    if launch.scope == "thread":
        if not launch.collective or not scene.active(thread):
            return None
        return Observation(
            "a scope of at least a warp", "thread scope", "A warp instruction at thread scope: all 32 lanes execute it together."
        )
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
    needs = "all 32 lanes of a warp" if scene.launch.collective else f"a product of warps and lanes at {scene.launch.scope} scope"
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
    """A predicate or a start of a collective that is not what the warp's first active lane has (with the least values it may have)."""
    changing = LANE_NAMES | {symbol.name for symbol in scene.case.varying(("thread",))}
    case = scene.case
    starts = [(operand.name, start) for operand in case.operands for start in operand.view.starts()]
    named = [(name, start) for name, start in [*([("pred", case.pred)] if case.pred else []), *starts] if start.names & changing]
    if not named:
        return None
    first, leader = _first(scene, thread)
    for name, expression in named:
        here, there = _value(expression, scene, thread), _value(expression, first, leader)
        if here is not None and there is not None and here != there:
            sentence = (
                f"{name}: {expression.text!r} is {here} in {who(scene, thread)} and {there} in lane {leader.lane}; a warp needs one value."
            )
            return Observation(f"{there}, as in lane {leader.lane}", f"{here}", sentence)
    return None


def _first(scene: Scene, thread: Thread) -> tuple[Scene, Thread]:
    """The first active lane of a thread's warp, over the values that vary by thread in their order."""
    for other in scene.alternatives(("thread",)):
        for lane in range(scene.launch.lanes(thread.warp)):
            if other.active(thread._replace(lane=lane)):
                return other, thread._replace(lane=lane)
    return scene, thread


def _value(expression: Expression, scene: Scene, thread: Thread) -> int | None:
    try:
        return expression.value(scene.environment(thread))
    except LimitError:
        return None
