"""Rounds in which one pod is created, bound and deleted, and in which each write of the components fails once.

The first round has no fault: it shows the writes of the components, and that the system works. All rounds use the same
device: the sweep stops if a round does not release it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dra_api.objects import PODS, RESOURCE_CLAIMS
from dra_conformance.core.errors import Untestable
from dra_conformance.core.events import SweepFinished
from dra_conformance.engine.vocabulary import then, when
from dra_conformance.engine.world import Seen, World
from dra_conformance.faults.sweep import Round, fault_called, rounds
from dra_conformance.steps.outcomes import catch_up, problems_of_round
from dra_conformance.steps.pods import add_pod, by_template, pod_object, scheduler_of


@dataclass
class Sweep:
    """Problems of each round, by the write that failed in it."""

    problems: dict[str, list[str]] = field(default_factory=dict)


def play(world: World, pod: str, template: str, hook: Round) -> list[str]:
    """Play one round: a pod is created, bound and deleted. Return its problems."""
    remove = world.run.fault_points.add(hook)
    try:
        add_pod(world, pod_object(world, pod, [by_template("gpu", template)], scheduler=scheduler_of(world)))
        catch_up(world)
        wrong = problems_of_round(world, lambda look: world.wait(lambda: look(world)))
        world.client.delete(PODS, pod, world.namespace, grace_period_seconds=0)
        world.wait(lambda: (world.seen(PODS, pod) is None, "there"))
        gone, left = world.wait(lambda: look_empty(world))
        return wrong if gone else [*wrong, f"left when the pod is gone: {left}"]
    finally:
        remove()


def look_empty(world: World) -> Seen[list[Any]]:
    """Return whether no pod or claim is left in the scenario's namespace.

    BindRequests may be left: the garbage collector, which is not under test, discovers a new kind after half a minute.
    """
    left = [
        f"{resource.plural}: {obj['metadata']['name']}"
        for resource in (PODS, RESOURCE_CLAIMS)
        for obj in world.all_seen(resource)
    ]
    return not left, left


@when('a pod using template "{template}" is created and deleted once for each write, and that write is {fault}')
def _(world: World, template: str, fault: str) -> None:
    """Play one round without a fault, then one round for each write of it, in which this write fails."""
    chosen = fault_called(fault)
    components = frozenset(world.scenario.tags.components)
    first = Round(components, world.namespace)
    if wrong := play(world, "round-0", template, first):
        raise Untestable(f"the round without a fault does not end well: {'; '.join(wrong)}")
    found: dict[str, list[str]] = {}
    missed: list[str] = []
    for number, one in enumerate(rounds(first, chosen), start=1):
        wrong = play(world, f"round-{number}", template, one)
        found[str(one.target)] = wrong
        if not one.struck:
            missed.append(str(one.target))
        if any(text.startswith("left when") for text in wrong):
            break  # the next round would have no device, and show nothing new
    world.state(Sweep).problems = found
    if len(missed) == len(found):
        raise Untestable(f"no write met its fault: {', '.join(missed)}")
    world.log.emit(SweepFinished(fault=fault, rounds=len(found), missed=tuple(missed)))


@then("every round ends like the round without a fault")
def _(world: World) -> None:
    """In each round the pod has one claim, is bound with a valid allocation, and leaves no object behind."""
    found = world.state(Sweep).problems
    wrong = {write: problems for write, problems in found.items() if problems}
    message = f"lost, duplicate and left-over objects of {len(found)} rounds"
    world.check(not wrong, message, expected={}, observed=wrong)
