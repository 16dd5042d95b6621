"""PodGroups of KAI, their pods, and the BindRequests that the pods get together or not at all.

A pod names its group in an annotation. The names of groups are unique in the cluster: KAI finds pods by the bare name.

Source: KAI-Scheduler 0.12 docs/batch/README.md, pkg/apis/scheduling/v2alpha2/podgroup_types.go,
pkg/scheduler/cache/cluster_info/cluster_info.go; rules KAI-029 to KAI-031, KAI-353, KAI-360 to KAI-376.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from dra_api.allocations import results_of_allocation
from dra_api.objects import BIND_REQUESTS, POD_GROUPS, Obj, namespace_of
from dra_conformance.core import manifests
from dra_conformance.core.events import ObjectChanged
from dra_conformance.core.kai_presets import QUEUE_LABEL
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.bind_request_checks import entries_of
from dra_conformance.steps.gpu_reservations import CONFIG_MAP
from dra_conformance.steps.pods import (
    by_template,
    create_other_namespace,
    create_pod,
    other_namespace,
    pod_object,
    scheduler_of,
)
from dra_conformance.steps.references import POD_GROUP_NAME

_SUB_GROUP = "kai.scheduler/subgroup-name"


@dataclass
class Members:
    """The pods that the scenario created, by namespace and PodGroup."""

    of_group: dict[tuple[str, str], set[str]] = field(default_factory=dict)


def create_group(world: World, group: str, pods: int, namespace: str, **spec: Any) -> None:
    """Create a PodGroup with this minMember, by default in the queue of the scheduler's companions."""
    world.create(
        {
            "apiVersion": POD_GROUPS.api_version,
            "kind": POD_GROUPS.kind,
            "metadata": {"name": world.name(group), "namespace": namespace},
            "spec": {"minMember": pods, "queue": QUEUE_LABEL[1], **spec},
        }
    )


def create_member(
    world: World,
    pod: str,
    group: str,
    template: str,
    *,
    spec: Obj | None = None,
    other: bool = False,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    requests: Mapping[str, str] | None = None,
) -> None:
    """Create a pod of a PodGroup, with a claim from a template unless its name is empty."""
    references = [by_template("gpu", template)] if template else []
    obj = pod_object(world, pod, references, scheduler=scheduler_of(world))
    obj["metadata"].setdefault("annotations", {}).update({POD_GROUP_NAME: world.name(group), **(annotations or {})})
    if labels:
        obj["metadata"].setdefault("labels", {}).update(labels)
    obj["spec"].update(spec or {})
    if requests:
        obj["spec"]["containers"][0].setdefault("resources", {})["requests"] = dict(requests)
        obj["spec"]["containers"][0]["resources"]["limits"] = dict(requests)
    if other:
        obj["metadata"]["namespace"] = other_namespace(world)
    world.state(Members).of_group.setdefault((namespace_of(obj), group), set()).add(pod)
    create_pod(world, obj)


def members(world: World, group: str) -> set[str]:
    """Return the pods of a PodGroup that the scenario has created."""
    return world.state(Members).of_group.get((world.namespace, group), set())


# -- groups and pods ---------------------------------------------------------------------------------------------------


@given('a PodGroup "{group}" that needs {pods:d} pods')
@when('a PodGroup "{group}" that needs {pods:d} pods is created')
def _(world: World, group: str, pods: int) -> None:
    """Create a PodGroup with this minMember."""
    create_group(world, group, pods, world.namespace)


@when('PodGroup "{group}" is changed to need {pods:d} pods')
def _(world: World, group: str, pods: int) -> None:
    """Change minMember of a PodGroup."""
    world.client.patch(POD_GROUPS, world.name(group), {"spec": {"minMember": pods}}, world.namespace)


@given('a PodGroup "{group}" that needs {pods:d} pods in another namespace')
def _(world: World, group: str, pods: int) -> None:
    """Create a PodGroup of this name outside the scenario's namespace."""
    create_group(world, group, pods, create_other_namespace(world))


@given('pods "{prefix}" 1 to {count:d} of PodGroup "{group}" using template "{template}"')
def _(world: World, prefix: str, count: int, group: str, template: str) -> None:
    """Create pods prefix-1 …, each with a claim of its own from the template."""
    for number in range(1, count + 1):
        create_member(world, f"{prefix}-{number}", group, template)


@given('pods "{prefix}" 1 to {count:d} of PodGroup "{group}" without claims')
def _(world: World, prefix: str, count: int, group: str) -> None:
    """Create pods prefix-1 … that need no devices."""
    for number in range(1, count + 1):
        create_member(world, f"{prefix}-{number}", group, "")


@given('pods "{prefix}" 1 to {count:d} of PodGroup "{group}" that share GPUs by {annotations}')
def _(world: World, prefix: str, count: int, group: str, annotations: str) -> None:
    """Create pods prefix-1 … with these annotations (YAML)."""
    wanted: dict[str, str] = manifests.parse_value(annotations)
    for number in range(1, count + 1):
        pod = f"{prefix}-{number}"
        create_member(world, pod, group, "", annotations={CONFIG_MAP: f"{pod}-shares", **wanted})


@given('a pod "{pod}" of PodGroup "{group}" in the other namespace')
def _(world: World, pod: str, group: str) -> None:
    """Create a pod without claims outside the scenario's namespace, after the PodGroup there."""
    create_member(world, pod, group, "", other=True)


@when('a pod "{pod}" of PodGroup "{group}" using template "{template}" is created')
def _(world: World, pod: str, group: str, template: str) -> None:
    """Create a pod with a claim from the template."""
    create_member(world, pod, group, template)


@given('a pod "{pod}" of PodGroup "{group}" using template "{template}" with:')
def _(world: World, pod: str, group: str, template: str, docstring: str) -> None:
    """Create a pod with a claim from the template and additional fields in its spec (YAML)."""
    create_member(world, pod, group, template, spec=manifests.parse_value(world.text(docstring)))


@given('a PodGroup "{group}" of Queue "{queue}" that needs {pods:d} pods, with the sub-groups {minima}')
def _(world: World, group: str, queue: str, pods: int, minima: str) -> None:
    """Create a PodGroup with sub-groups and the minimum of each (YAML)."""
    parts = [{"name": name, "minMember": least} for name, least in manifests.parse_value(minima).items()]
    create_group(world, group, pods, world.namespace, queue=world.name(queue), subGroups=parts)


@given('a PodGroup "{group}" of Queue "{queue}" that needs {pods:d} pods, with sub-groups:')
def _(world: World, group: str, queue: str, pods: int, docstring: str) -> None:
    """Create a PodGroup with these sub-groups (a YAML list), which may name a parent."""
    parts = manifests.parse_value(world.text(docstring))
    create_group(world, group, pods, world.namespace, queue=world.name(queue), subGroups=parts)


@given('pods "{prefix}" 1 to {count:d} of sub-group "{part}" of PodGroup "{group}" using template "{template}"')
def _(world: World, prefix: str, count: int, part: str, group: str, template: str) -> None:
    """Create pods prefix-1 … of a sub-group, each with a claim of its own from the template."""
    for number in range(1, count + 1):
        create_member(world, f"{prefix}-{number}", group, template, labels={_SUB_GROUP: part})


# -- BindRequests ------------------------------------------------------------------------------------------------------


def _ever_named(world: World, namespace: str) -> set[str]:
    """Return the pods of a namespace that a BindRequest has named, also one that was deleted since."""
    return {
        str(event.summary.get("pod"))
        for event in world.log.kept(ObjectChanged)
        if event.resource == BIND_REQUESTS.plural and event.name.startswith(f"{namespace}/")
    }


@then('no pod of PodGroup "{group}" gets a BindRequest')
def _(world: World, group: str) -> None:
    """No BindRequest has ever named a pod of the group, not even a deleted one, once the system is idle."""

    def look() -> Seen[list[Any]]:
        made = sorted(members(world, group) & _ever_named(world, world.namespace))
        return not made, made

    world.stays(f"pods of PodGroup {group} that have a BindRequest", look, expected=[])


@then('pod "{pod}" of the other namespace gets a BindRequest')
def _(world: World, pod: str) -> None:
    """A BindRequest comes to name the pod outside the scenario's namespace."""

    def look() -> Seen[str]:
        made = sorted(_ever_named(world, other_namespace(world)))
        return pod in made, in_words(made)

    world.eventually(f"pod {pod} of the other namespace has a BindRequest", look, expected=pod)


def _promised(world: World, group: str) -> tuple[Counter[str], list[str]]:
    """Return the pods of a group by the number of their BindRequests, and the devices in these."""
    ours = members(world, group)
    requests = [one for one in world.all_seen(BIND_REQUESTS) if (one.get("spec") or {}).get("podName") in ours]
    devices = [
        f"{result.get('pool')}/{result.get('device')}"
        for request in requests
        for allocation in entries_of(request).values()
        for result in results_of_allocation(allocation)
    ]
    return Counter(str(one["spec"]["podName"]) for one in requests), sorted(devices)


@then('{count:d} pods of PodGroup "{group}" get BindRequests, with a device each')
def _(world: World, count: int, group: str) -> None:
    """This number of pods of the group has one BindRequest each, with one device that no other one has."""

    def look() -> Seen[str]:
        pods, devices = _promised(world, group)
        ok = len(pods) == pods.total() == count and len(devices) == len(set(devices)) == count
        return ok, f"BindRequests of pods {in_words(sorted(pods.elements()))}; devices {in_words(devices)}"

    world.wait(look)
    world.stays(f"the BindRequests of PodGroup {group}", look, expected=f"BindRequests of {count} pods; a device each")


@then('one of the PodGroups "{groups}" gets BindRequests for all its pods, the others get none')
def _(world: World, groups: str) -> None:
    """One group has a BindRequest with a device of its own for each pod; no other one ever gets a BindRequest."""
    names = words(groups)

    def look() -> Seen[str]:
        made = _ever_named(world, world.namespace)
        seen = {group: sorted(members(world, group) & made) for group in names}
        whole = [group for group in names if len(seen[group]) == len(members(world, group))]
        devices = _promised(world, whole[0])[1] if whole else []
        begun = [group for group in names if seen[group]]
        ok = begun == whole and len(whole) == 1 and len(devices) == len(set(devices)) == len(seen[whole[0]])
        return ok, f"BindRequests of {in_words(seen)}; devices {in_words(devices)}"

    world.wait(look)
    expected = "BindRequests of all pods of one PodGroup only; a device each"
    world.stays("one PodGroup is placed as a whole", look, expected=expected)


@then('no BindRequest of PodGroup "{group}" was deleted')
def _(world: World, group: str) -> None:
    """Each BindRequest that has named a pod of the group is still there."""
    check_kept(world, group, members(world, group))


@then('no BindRequest of PodGroup "{group}" was deleted, but those of pod "{pod}"')
def _(world: World, group: str, pod: str) -> None:
    """Each BindRequest that has named another pod of the group is still there."""
    check_kept(world, group, members(world, group) - {pod})


def check_kept(world: World, group: str, pods: Set[str]) -> None:
    """Check that no BindRequest that has named one of these pods of a group was deleted."""

    def look() -> Seen[list[Any]]:
        gone = [
            event.name
            for event in world.log.kept(ObjectChanged)
            if (event.type, event.resource) == ("DELETED", BIND_REQUESTS.plural)
            and event.name.startswith(f"{world.namespace}/")
            and event.summary.get("pod") in pods
        ]
        return not gone, gone

    world.stays(f"BindRequests of PodGroup {group} that were deleted", look, expected=[])


@when('PodGroup "{group}" is deleted')
def _(world: World, group: str) -> None:
    """Delete a PodGroup; its pods stay."""
    world.client.delete(POD_GROUPS, world.name(group), world.namespace)
