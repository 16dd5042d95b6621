"""Workloads of pods, and the PodGroups that KAI's podgrouper creates for pods that name none.

The harness does what the controllers of workloads do: it creates the pods.

Source: KAI-Scheduler 0.12.0 docs/developer/pod-grouper.md, docs/quickstart/README.md, docs/priority/README.md; rules
KAI-330 to KAI-350, KAI-500 and KAI-501.
"""

from __future__ import annotations

from dra_api.objects import DEPLOYMENTS, JOBS, POD_GROUPS, Obj, meta, name_of, owner_reference
from dra_conformance.core import manifests
from dra_conformance.engine.vocabulary import given, then
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.pods import by_template, create_pod, pod_object, scheduler_of
from dra_conformance.steps.references import reference

_OTHER_CONTROLLER = "dra-conformance.test/workloads"
"""The controller of the Job, so that Kubernetes' own creates and deletes no pods (Job, spec.managedBy)."""


def _labels(world: World, labels: str) -> Obj:
    found: Obj = manifests.parse_value(world.text(labels))
    return found


def _workload(world: World, kind: str, name: str, labels: Obj, spec: Obj) -> None:
    resource = {each.kind: each for each in (DEPLOYMENTS, JOBS)}[kind]
    container = {"name": "main", "image": "registry.k8s.io/pause:3.10"}
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [container], "restartPolicy": "Never" if resource == JOBS else "Always"},
    }
    world.create(
        {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": name, "namespace": world.namespace, "labels": labels},
            "spec": {**spec, "template": template},
        }
    )


@given('a Job "{job}" with the labels {labels}')
def _(world: World, job: str, labels: str) -> None:
    """Create a Job with these labels (YAML), whose pods the scenario creates."""
    _workload(world, JOBS.kind, job, _labels(world, labels), {"managedBy": _OTHER_CONTROLLER})


@given('a Deployment "{deployment}" with the labels {labels}')
def _(world: World, deployment: str, labels: str) -> None:
    """Create a Deployment without replicas with these labels (YAML); the scenario creates pods for it."""
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": deployment}}}
    _workload(world, DEPLOYMENTS.kind, deployment, _labels(world, labels), spec)


@given('a pod "{pod}" of the {owner:object} using template "{template}" with the labels {labels}')
def _(world: World, pod: str, owner: str, template: str, labels: str) -> None:
    """Create a pod that a workload controls, with these labels (YAML); `null` leaves out a label of the run."""
    _create(world, pod, template, _labels(world, labels), reference(world, owner).the_object())


@given('a pod "{pod}" using template "{template}" with the labels {labels}')
def _(world: World, pod: str, template: str, labels: str) -> None:
    """Create a pod without owner, with these labels (YAML); `null` leaves out a label that the run gives to pods."""
    _create(world, pod, template, _labels(world, labels), None)


def _create(world: World, pod: str, template: str, labels: Obj, owner: Obj | None) -> None:
    obj = pod_object(world, pod, [by_template("gpu", template)], scheduler=scheduler_of(world))
    wanted = {**(meta(obj).get("labels") or {}), **labels}
    obj["metadata"]["labels"] = {key: value for key, value in wanted.items() if value is not None}
    if owner is not None:
        obj["metadata"]["ownerReferences"] = [owner_reference(owner, controller=True)]
    create_pod(world, obj)


@then('pod "{pod}" owns no PodGroup')
def _(world: World, pod: str) -> None:
    """The PodGroups that name the pod as an owner come to be gone, and none is created, also if the pod is deleted."""

    def look() -> Seen[str]:
        found = [name_of(one) for one in world.all_seen(POD_GROUPS) if ("Pod", pod) in _owners(one)]
        return not found, in_words(found)

    world.wait(look)
    world.stays(f"PodGroups of pod {pod}", look, expected="none")


def _owners(group: Obj) -> list[tuple[str, str]]:
    return [(str(one.get("kind")), str(one.get("name"))) for one in meta(group).get("ownerReferences") or ()]
