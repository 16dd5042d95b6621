"""Concurrent writers of ComputeDomains: changes to a Node while a driver is about to write it."""

from __future__ import annotations

from dra_api.objects import NODES, uid_of
from dra_conformance.engine.vocabulary import given
from dra_conformance.engine.world import World
from dra_conformance.faults import Call
from dra_conformance.steps import faults
from dra_conformance.steps.compute_domains import LABEL, domain


@given('node "{node}" is labelled for ComputeDomain "{name}" while the ComputeDomain driver writes it')
def _(world: World, node: str, name: str) -> None:
    """Label the Node just before the driver's next update of it, which then conflicts."""
    labels = {"metadata": {"labels": {LABEL: uid_of(domain(world, name))}}}

    def wanted(call: Call) -> bool:
        info = call.info
        named = (info.resource, info.subresource, info.name) == (NODES.plural, "", world.name(node))
        return named and info.verb in ("update", "patch") and call.component == "compute-domain-plugin"

    faults.before_request(world, wanted, lambda: world.client.patch(NODES, world.name(node), labels))
