"""Pods with claims of their own, and pods that use one claim under several names."""

from __future__ import annotations

from dra_api.objects import PODS, RESOURCE_CLAIMS
from dra_conformance.core import manifests
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import World, in_words
from dra_conformance.steps.claims import claim_object
from dra_conformance.steps.pods import by_name, by_template, create_pod, pod_object, scheduler_of

POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
"""The annotation that kube-controller-manager writes on a claim from a template: the pod's own name for it."""


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


@given('pods "{prefix}" 1 to {count:d} each using template "{template}" as "{names}"')
def _(world: World, prefix: str, count: int, template: str, names: str) -> None:
    """Create pods prefix-1 …, each with claims of its own from the template under these names."""
    for number in range(1, count + 1):
        references = [by_template(name, template) for name in words(names)]
        create_pod(world, pod_object(world, f"{prefix}-{number}", references, scheduler=scheduler_of(world)))


@then("each claim of every pod is annotated with the entry that it was created for")
def _(world: World) -> None:
    """Each claim that a pod's status names has the annotation of its entry (resource.kubernetes.io/pod-claim-name)."""
    pods, wrong = world.all_seen(PODS), {}
    wanted = {
        str(entry["resourceClaimName"]): entry["name"]
        for pod in pods
        for entry in (pod.get("status") or {}).get("resourceClaimStatuses") or ()
        if entry.get("resourceClaimName")
    }
    world.check(bool(wanted), "claims in the status of pods", expected="at least one", observed="none")
    for claim, entry in wanted.items():
        annotations = world.get(RESOURCE_CLAIMS, claim)["metadata"].get("annotations") or {}
        if annotations.get(POD_CLAIM_NAME) != entry:
            wrong[claim] = f"{annotations.get(POD_CLAIM_NAME)} instead of {entry}"
    world.check(not wrong, "annotations of claims", expected="those of their entries", observed=in_words(wrong))
