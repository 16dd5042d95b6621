"""Pods with claims of their own, and pods that use one claim under several names."""

from __future__ import annotations

from dra_conformance.core import manifests
from dra_conformance.engine.vocabulary import given, when, words
from dra_conformance.engine.world import World
from dra_conformance.steps.claims import claim_object
from dra_conformance.steps.pods import by_name, by_template, create_pod, pod_object, scheduler_of


@given('pods "{prefix}" 1 to {count:d} each using a claim of their own with:')
def _(world: World, prefix: str, count: int, docstring: str) -> None:
    """Create pods prefix-1 …, each with a claim of the same name whose `spec.devices` is the YAML."""
    devices = manifests.parse_value(world.text(docstring))
    for number in range(1, count + 1):
        claim = f"{prefix}-{number}"
        world.create(claim_object(world, claim, {"devices": devices}))
        create_pod(world, pod_object(world, claim, [by_name(claim)], scheduler=scheduler_of(world)))


@when('pods of a monitoring DaemonSet "{name}" for all of "{device_class}" are created for the nodes "{nodes}"')
def _(world: World, name: str, device_class: str, nodes: str) -> None:
    """Create the pods NAME-NODE as the DaemonSet controller does, each with a claim of that name with admin access."""
    exactly = {"deviceClassName": world.name(device_class), "allocationMode": "All", "adminAccess": True}
    for node in words(nodes):
        claim = f"{name}-{node}"
        world.create(claim_object(world, claim, {"devices": {"requests": [{"name": "all", "exactly": exactly}]}}))
        pod = pod_object(world, claim, [by_name(claim)], scheduler=scheduler_of(world))
        field = {"key": "metadata.name", "operator": "In", "values": [world.name(node)]}
        required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        pod["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        create_pod(world, pod)


@given('a pod "{pod}" using claim "{claim}" as "{names}"')
def _(world: World, pod: str, claim: str, names: str) -> None:
    """Create a pod that uses one claim under several names of its own."""
    references = [{"name": name, "resourceClaimName": claim} for name in words(names)]
    create_pod(world, pod_object(world, pod, references, scheduler=scheduler_of(world)))


@given('a pod "{pod}" using template "{templates}" as "{names}"')
def _(world: World, pod: str, templates: str, names: str) -> None:
    """Create a pod with several claims under names of its own: all from one template, or one from each."""
    entries, sources = words(names), words(templates)
    if len(sources) == 1:
        sources *= len(entries)
    references = [by_template(name, template) for name, template in zip(entries, sources, strict=True)]
    create_pod(world, pod_object(world, pod, references, scheduler=scheduler_of(world)))
