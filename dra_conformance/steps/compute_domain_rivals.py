"""Rivals of ComputeDomains: programs that write a Node at the same time, and objects that have a name they need."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from dra_api.objects import (
    COMPUTE_DOMAINS,
    DAEMON_SETS,
    NODES,
    RESOURCE_CLAIM_TEMPLATES,
    name_of,
    namespace_of,
    uid_of,
)
from dra_conformance.core.events import ClockAdvanced
from dra_conformance.engine.vocabulary import given, then
from dra_conformance.engine.world import World
from dra_conformance.faults import Aim, Call
from dra_conformance.steps import faults
from dra_conformance.steps.compute_domains import LABEL, domain

_GONE_SECONDS = 10.0
"""Most seconds in which a controller removes a ComputeDomain, while a request of the driver waits."""


@given('node "{node}" is deleted while the ComputeDomain controller writes it')
def _(world: World, node: str) -> None:
    """Delete the Node just before the controller's next update of it, which then finds no Node."""
    aim = Aim.at("updates", NODES, components=("compute-domain-controller",), namespace="", name=world.name(node))
    faults.before_request(world, aim.meets, lambda: world.client.delete(NODES, world.name(node)))


@given('node "{node}" is labelled for ComputeDomain "{name}" while the ComputeDomain driver writes it')
def _(world: World, node: str, name: str) -> None:
    """Label the Node just before the driver's next update of it, which then conflicts."""
    labels = {"metadata": {"labels": {LABEL: uid_of(domain(world, name))}}}
    aim = Aim.at("updates", NODES, components=("compute-domain-plugin",), namespace="", name=world.name(node))
    faults.before_request(world, aim.meets, lambda: world.client.patch(NODES, world.name(node), labels))


@given('the ComputeDomain "{name}" is deleted while the ComputeDomain driver labels node "{node}"')
def _(world: World, name: str, node: str) -> None:
    """Delete the domain, and wait until it is gone, just before the driver's next update of the Node."""
    doomed = domain(world, name)

    def gone() -> bool:
        found = world.client.find(COMPUTE_DOMAINS, name_of(doomed), namespace_of(doomed))
        return found is None or uid_of(found) != uid_of(doomed)

    def delete() -> None:
        world.client.delete(COMPUTE_DOMAINS, name_of(doomed), namespace_of(doomed), uid=uid_of(doomed))
        world.log.wait_for(gone, _GONE_SECONDS)

    aim = Aim.at("updates", NODES, components=("compute-domain-plugin",), namespace="", name=world.name(node))
    faults.before_request(world, aim.meets, delete)


# -- names that are taken ----------------------------------------------------------------------------------------------

_STEP = 10
"""Seconds that pass at a time."""
_SHOWN = 20
_OWNED = {(resource.group, resource.plural) for resource in (DAEMON_SETS, RESOURCE_CLAIM_TEMPLATES)}


@dataclass(slots=True)
class CountedRequests:
    """Requests of the ComputeDomain controller to create or change a claim template or a DaemonSet, as text."""

    requests: list[str] = field(default_factory=list)


@given("the requests of the ComputeDomain controller for claim templates and DaemonSets are counted")
def _(world: World) -> None:
    """Record its creations and updates of them in all namespaces until the scenario ends, whatever their answer is."""
    counted = world.state(CountedRequests).requests

    def hook(call: Call) -> None:
        info = call.info
        ours = call.component == "compute-domain-controller" and (info.group, info.resource) in _OWNED
        if ours and info.verb in ("create", "update", "patch"):
            counted.append(str(call))

    world.cleanup.callback(world.run.fault_points.add(hook))


@then("the ComputeDomain controller has made at most {count:d} of these requests after {seconds:d} seconds")
def _(world: World, count: int, seconds: int) -> None:
    """As many were counted, or fewer. Time passes in steps: in one jump all attempts would be one."""
    if world.uses_real_time:
        world.clock.wait(threading.Event(), seconds)
    else:
        for _step in range(seconds // _STEP):
            world.pass_time(_STEP)
        world.settle()
    world.log.emit(ClockAdvanced(advanced=seconds))
    counted = [*world.state(CountedRequests).requests]
    observed = f"{len(counted)}: {', '.join(counted[:_SHOWN])}"
    world.check(len(counted) <= count, "requests for taken names", expected=f"at most {count}", observed=observed)
