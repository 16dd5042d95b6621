"""Rounds of one pod that comes, is bound and goes, in which each write of the components fails once.

The first round is undisturbed: it shows which writes there are, and that the system works. The device of one round is
the device of the next: one that does not come back stops the sweep.
"""

from __future__ import annotations

from dra_api.objects import BIND_REQUESTS, PODS, RESOURCE_CLAIMS
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import then, when
from dra_conformance.engine.world import Seen, World
from dra_conformance.faults.sweep import Round, fault_called, rounds
from dra_conformance.steps.outcomes import (
    catch_up,
    invalid_allocations,
    look_all_bound,
    look_claims_once,
    look_devices_held,
    look_devices_once,
    look_requests_ended,
)
from dra_conformance.steps.pods import by_template, pod_object, scheduler_of

_KEY = "sweep"


def play(world: World, pod: str, template: str, hook: Round) -> list[str]:
    """One round: a pod comes, is bound, and goes. What went wrong, in words."""
    remove = world.run.fault_points.add(hook)
    try:
        world.create(pod_object(world, pod, [by_template("gpu", template)], scheduler=scheduler_of(world)))
        catch_up(world)
        looks = [look_claims_once, look_all_bound, look_devices_held]
        if world.observer.watches(BIND_REQUESTS):
            looks.append(look_requests_ended)
        wrong = [str(seen) for ok, seen in (world.wait(lambda look=look: look(world)) for look in looks) if not ok]  # type: ignore[misc]
        once, seen = look_devices_once(world)
        wrong += [] if once else [str(seen)]
        wrong += invalid_allocations(world)
        world.client.delete(PODS, pod, world.namespace, grace_period_seconds=0)
        world.wait(lambda: (world.seen(PODS, pod) is None, "there"))
        gone, left = world.wait(lambda: look_empty(world))
        return wrong if gone else [*wrong, f"left when the pod is gone: {left}"]
    finally:
        remove()


def look_empty(world: World) -> Seen:
    """Whether no pod or claim is left in the scenario's namespace.

    BindRequests may be: the garbage collector, which no component is, learns of a new kind of object after half a minute.
    """
    left = [
        f"{resource.plural}: {obj['metadata']['name']}"
        for resource in (PODS, RESOURCE_CLAIMS)
        for obj in world.all_seen(resource)
    ]
    return not left, left or "nothing"


@when(
    'a pod using template "{template}" comes and goes once for each write of the components, and that write is {fault}'
)
def _(world: World, template: str, fault: str) -> None:
    """Play one round undisturbed, then one for each write that it showed, with that write failing."""
    chosen = fault_called(fault)
    components = frozenset(world.scenario.tags.components)
    first = Round(components, world.namespace)
    if wrong := play(world, "round-0", template, first):
        raise Untestable(f"the round without a fault does not end well: {'; '.join(wrong)}")
    told: dict[str, list[str]] = {}
    missed: list[str] = []
    for number, one in enumerate(rounds(first, chosen), start=1):
        wrong = play(world, f"round-{number}", template, one)
        told[str(one.target)] = wrong
        if not one.struck:
            missed.append(str(one.target))
        if any(text.startswith("left when") for text in wrong):
            break  # the next round has no device: it would show nothing new
    world.memory[_KEY] = told
    if len(missed) == len(told):
        raise Untestable(f"no write met its fault: {', '.join(missed)}")
    world.log.emit("sweep", fault=fault, rounds=len(told), missed=missed)


@then("every round has ended as the one without a fault")
def _(world: World) -> None:
    """In each round the pod had its claim once, was bound with a valid allocation, and left nothing behind."""
    told: dict[str, list[str]] = world.memory[_KEY]
    wrong = {write: problems for write, problems in told.items() if problems}
    world.check(
        not wrong,
        "every round ends well",
        expected=f"{len(told)} rounds, each ending with nothing lost, nothing twice and nothing left",
        observed=wrong or f"{len(told)} rounds",
    )
