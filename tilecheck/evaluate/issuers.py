"""Who issues a call, in plain numbers: two issuers where one may be, none in the other CTA of a pair.

A symbol that varies by CTA, warp or thread has a value of its own in each: what one warp does says nothing of the values in another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tilecheck.evaluate.case import Scene
from tilecheck.evaluate.clauses import who
from tilecheck.evaluate.launch import Thread
from tilecheck.evaluate.model import Model

Seen = tuple[str, str, str]
INSIDE = ("warp", "thread")


def executes(model: Model, scene: Scene, thread: Thread) -> bool:
    """Whether a thread exists, the facts hold, and it executes with pred."""
    return _admitted(model, scene) and scene.active(thread) and scene.predicate(thread)


def _admitted(model: Model, scene: Scene) -> bool:
    """Whether declarations and facts allow the values of the symbols."""
    return model.case.facts.hold(scene.values) and all(s.admits(scene.values[s.name]) for s in model.case.symbols if s.name in scene.values)


def two(model: Model, scene: Scene, thread: Thread, other_scene: Scene, other: Thread, issuer: str) -> Seen | None:
    """Two issuers of one CTA, or of one pair of CTAs."""
    unit = thread.cta // 2 == other.cta // 2 if issuer == "pair" else thread.cta == other.cta
    whole = model.case.launch.collective
    same = thread[:2] == other[:2] if whole else thread == other
    if not unit or same or not executes(model, other_scene, other):
        return None
    what = "warp" if whole else "thread"
    words = [f"warp {t.warp} of CTA {t.cta}" if whole else f"{who(s, t)}" for s, t in ((scene, thread), (other_scene, other))]
    where = "pair of CTAs" if issuer == "pair" else "CTA"
    return f"one {what} of a {where}", f"{words[0]} and {words[1]}", f"{words[0]} and {words[1]} issue it, one {what} of a {where} may"


def lonely(model: Model, scene: Scene, thread: Thread, others: Mapping[str, int]) -> Seen | None:
    """No warp of the other CTA of the pair executes, at values of its own; `n@2` is what n is in warp 2 of it, where it varies by warp or thread."""
    peer = thread.cta ^ 1
    own = {s.name: others[s.name] for s in model.case.varying(("cta",)) if s.name in others}
    inner = [s.name for s in model.case.varying(INSIDE)]
    for warp in range(model.case.launch.warps):
        found = {name: others[f"{name}@{warp}"] for name in inner if f"{name}@{warp}" in others}
        there = Scene(model.case, {**scene.values, **own, **found})
        if not _admitted(model, there) or executes(model, there, Thread(peer, warp, 0)):
            return None
    where = f"CTA {peer}" + (f", where {', '.join(f'{n} is {v}' for n, v in own.items())}," if own else "")
    return f"a warp of CTA {peer}, too", "none", f"warp {thread.warp} of CTA {thread.cta} executes it, no warp of {where} does"


def _may_pass(model: Model, scene: Scene, thread: Thread) -> bool:
    """Whether a thread does not execute for some values of what varies from warp to warp."""
    alternatives = [one for one in scene.alternatives(INSIDE) if model.case.facts.hold(one.values)]
    return bool(alternatives) and not all(executes(model, one, thread) for one in alternatives)


def issued_twice(model: Model, scenes: Sequence[Scene], issuer: str, spend: Callable[[], None]) -> bool:
    """Whether two issuers meet, or a CTA of a pair has none."""
    if not model.case.varying(("cta", *INSIDE)):
        return any(_fixed(scene, issuer, spend) for scene in scenes)
    shared = [s.name for s in model.case.symbols if s.varies in {"grid", "cluster"}]
    groups: dict[tuple[int, ...], list[Scene]] = {}
    for scene in scenes:
        groups.setdefault(tuple(scene.values[name] for name in shared), []).append(scene)
    return any(_varying(model, group, issuer, spend) for group in groups.values())


def _fixed(scene: Scene, issuer: str, spend: Callable[[], None]) -> bool:
    whole = scene.launch.collective
    issuing: set[tuple[int, ...]] = set()
    for thread in scene.launch.threads:
        spend()
        if scene.active(thread) and scene.predicate(thread):
            issuing.add(thread[:2] if whole else tuple(thread))
    units = [one[0] // 2 if issuer == "pair" else one[0] for one in issuing]
    return len(units) != len(set(units)) or (issuer == "each" and any(cta ^ 1 not in units for cta in units))


Instance = tuple[Thread, tuple[int, ...], tuple[int, ...]]
"""A thread that executes, the values of its CTA, the values of its warp."""


def _varying(model: Model, scenes: Sequence[Scene], issuer: str, spend: Callable[[], None]) -> bool:
    """The same where threads have values of their own; scenes: those of one value of what all share."""
    launch, whole = model.case.launch, model.case.launch.collective
    threads = [t for t in launch.threads if not whole or t.lane == 0]
    found: set[Instance] = set()
    for scene in scenes:
        own = [tuple(scene.values[s.name] for s in model.case.varying((level,))) for level in ("cta", "warp")]
        for thread in threads:
            spend()
            if scene.active(thread) and scene.predicate(thread):
                found.add((thread, own[0], own[1]))
    for one in found:
        for other in found:
            spend()
            if _meet(one, other, issuer):
                return True
    return issuer == "each" and any(_alone(model, scenes, cta, spend) for cta in {one[0].cta ^ 1 for one in found})


def _meet(one: Instance, other: Instance, issuer: str) -> bool:
    """Whether two different threads may execute at once, in one CTA or pair."""
    (thread, cta, warp), (there, cta_there, warp_there) = one, other
    if thread == there or thread.cta // 2 != there.cta // 2 or (issuer != "pair" and thread.cta != there.cta):
        return False
    return thread.cta != there.cta or (cta == cta_there and (thread.warp != there.warp or warp == warp_there))


def _alone(model: Model, scenes: Sequence[Scene], cta: int, spend: Callable[[], None]) -> bool:
    """Whether for some values of a CTA no warp of it executes."""
    return any(all(_idle(model, one, cta, warp, spend) for warp in range(model.case.launch.warps)) for one in _of_ctas(model, scenes))


def _of_ctas(model: Model, scenes: Sequence[Scene]) -> Iterator[Scene]:
    seen: set[tuple[int, ...]] = set()
    for scene in scenes:
        own = tuple(scene.values[s.name] for s in model.case.varying(("cta",)))
        if own not in seen:
            seen.add(own)
            yield scene


def _idle(model: Model, scene: Scene, cta: int, warp: int, spend: Callable[[], None]) -> bool:
    spend()
    return _may_pass(model, scene, Thread(cta, warp, 0))


__all__ = ["executes", "issued_twice", "lonely", "two"]
