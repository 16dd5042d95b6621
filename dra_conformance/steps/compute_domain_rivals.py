"""Concurrent writers of ComputeDomains: what happens while a driver or a controller is about to write a Node."""

from __future__ import annotations

from dra_api.objects import COMPUTE_DOMAINS, NODES, name_of, namespace_of, uid_of
from dra_conformance.engine.vocabulary import given
from dra_conformance.engine.world import World
from dra_conformance.faults import Aim
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
