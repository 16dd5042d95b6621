"""The claim that a scheduler would make for the extended resources of a pod on a node, and the names of its requests.

Pure functions. On a node with a device plugin for a resource, the claim has no request for it.

Source: KEP-5004; rules DRA-239 to DRA-242.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from dra_api.objects import Obj
from dra_conformance.oracle import read_claim
from dra_conformance.oracle.obstacles import Names
from dra_conformance.oracle.schema import Claim
from reference_impl.scheduler import extended_resources
from reference_impl.scheduler.cluster_view import ClusterView


def of_pod(view: ClusterView, pod: Obj) -> dict[str, str]:
    """Return the extended resources of a pod that a DeviceClass provides, with the class."""
    return extended_resources.requested(view.pod_needs(pod), view.extended.class_of)


def of_every_node(view: ClusterView, pod: Obj) -> Obj | None:
    """Return the spec of the claim with all requests that no node has a device plugin for; None if there is none."""
    resources = of_pod(view, pod)
    by_plugins = {
        name: 1 for name in resources if any((each.allocatable or {}).get(name) for each in view.candidates())
    }
    wanted = extended_resources.wanted(pod, resources, extended_resources.by_devices(resources, by_plugins))
    spec: Obj = wanted.claim(pod)["spec"]
    return spec if wanted.requests else None


def claim_on(pod: Obj, resources: Mapping[str, str], allocatable: Mapping[str, int] | None) -> Claim | None:
    """Return the claim for a node with these allocatable resources; None if the pod needs none there."""
    wanted = extended_resources.wanted(pod, resources, extended_resources.by_devices(resources, allocatable))
    if not wanted.requests:
        return None
    namespace, name = extended_resources.key_for(pod)
    return read_claim({**wanted.claim(pod), "metadata": {"namespace": namespace, "name": name}})


def names(pod: Obj, resources: Mapping[str, str], others: Mapping[tuple[str, str], str]) -> Names:
    """Return the names of the claim and its requests, and those of `others`."""
    key = extended_resources.key_for(pod)
    containers: defaultdict[str, list[str]] = defaultdict(list)
    resource_of: dict[str, str] = {}
    for mapping in extended_resources.wanted(pod, resources, resources).mappings:
        containers[mapping["requestName"]].append(mapping["containerName"])
        resource_of[mapping["requestName"]] = mapping["resourceName"]
    requests = {
        (key, request): f"extended resource {resource} of container{'s'[: len(containers[request]) != 1]} "
        f"{', '.join(containers[request])} (DeviceClass {resources[resource]})"
        for request, resource in resource_of.items()
    }
    return Names({**others, key: "the extended resources of the pod"}, requests)
