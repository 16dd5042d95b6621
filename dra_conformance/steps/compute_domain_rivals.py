"""Concurrent writers of ComputeDomains: changes to a Node while a driver is about to write it."""

from __future__ import annotations

from dra_api.objects import NODES, uid_of
from dra_conformance.engine.vocabulary import given
from dra_conformance.engine.world import World
from dra_conformance.faults import Aim
from dra_conformance.steps import faults
from dra_conformance.steps.compute_domains import LABEL, domain


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
