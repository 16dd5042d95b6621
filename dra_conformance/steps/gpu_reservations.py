"""Shares of GPUs in BindRequests: reservation pods, GPU groups, the pods that share.

The reservation pods are in the scenario's second namespace. The program in such a pod, which writes the index of its
GPU into an annotation, is simulated: the scenario writes the annotation.

Source: KAI-Scheduler 0.12.0 pkg/binder/binding/resourcereservation/resource_reservation.go; rules KAI-203 to KAI-214.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dra_api.client import NotFound
from dra_api.objects import BIND_REQUESTS, CONFIG_MAPS, PODS, Obj, meta, name_of, owner_reference, uid_of
from dra_conformance.core import manifests
from dra_conformance.core.rules import window
from dra_conformance.engine import namespace
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.faults import Fault
from dra_conformance.steps.bind_request_checks import bound_at, first_version
from dra_conformance.steps.bind_requests import request_object, write
from dra_conformance.steps.faults import arrange
from dra_conformance.steps.pods import BY_HAND, create_other_namespace, create_pod, other_namespace, pod_object

GROUP = "runai-gpu-group"
INDEX = "run.ai/reserve_for_gpu_index"
CONFIG_MAP = "runai/shared-gpu-configmap"
_PLUGINS_SINCE = "0.15"
"""The first release of KAI whose binder has the flag `--plugins`, in place of one flag for each setting."""
_TIMEOUT = 600
"""Seconds, more than a scenario takes: a program counts real time, and only a step that says so lets it run out."""
_ATTEMPTS = 50  # of a binder that never stops making reservation pods


@dataclass
class Settings:
    """How the binder of the scenario reserves GPUs: `flags` are those of KAI."""

    values: dict[str, str] = field(default_factory=lambda: {"reservation-timeout": f"{_TIMEOUT}s"})
    flags: dict[str, str] = field(default_factory=lambda: {"resource-reservation-allocation-timeout": str(_TIMEOUT)})


@given("the binder reserves GPUs for shares")
def _(world: World) -> None:
    """Restart the binder with a reservation namespace of this scenario, and a timeout that no scenario reaches."""
    reservations = create_other_namespace(world)
    if world.run.has_controllers:
        namespace.wait_service_account(world.client, reservations, patience=world.run.patience)
    world.cleanup.callback(namespace.delete, world.client, reservations, world.observer)
    world.cleanup.callback(world.components.kill, "binder")
    start_binder(world)


@when("the binder that reserves GPUs is started")
def _(world: World) -> None:
    """Start the stopped binder with the reservation namespace of this scenario."""
    start_binder(world)


@given("the binder waits {seconds:d} seconds for a reservation")
def _(world: World, seconds: int) -> None:
    """Restart the binder that reserves GPUs with another timeout."""
    settings = world.state(Settings)
    settings.values["reservation-timeout"] = f"{seconds}s"
    settings.flags["resource-reservation-allocation-timeout"] = str(seconds)
    start_binder(world)


@given("the binder reserves no GPU while a pod of the scenario is unschedulable")
def _(world: World) -> None:
    """Restart the binder that reserves GPUs with the scenario's namespace as its scale-adjust namespace."""
    settings = world.state(Settings)
    settings.values["scale-adjust-namespace"] = settings.flags["scale-adjust-namespace"] = world.namespace
    start_binder(world)


@given("the binder names GPUs as CDI devices")
def _(world: World) -> None:
    """Restart the binder that reserves GPUs for a device plugin that uses CDI."""
    settings = world.state(Settings)
    settings.values["cdi-enabled"] = "true"
    settings.flags |= cdi_flags(world.run.options.protocol)
    start_binder(world)


def cdi_flags(revision: str) -> dict[str, str]:
    """Return the flags with which KAI's binder names CDI devices; since 0.15 it is an argument of a plugin."""
    if window.outside_revisions(revision, _PLUGINS_SINCE):
        return {"cdi-enabled": "true"}
    return {"plugins": '{"gpusharing":{"arguments":{"cdiEnabled":"true"}}}'}


def start_binder(world: World) -> None:
    """Start the binder again with the reservation namespace and the settings of the scenario."""
    reservations = other_namespace(world)
    settings = world.state(Settings)
    world.components.restart(
        "binder",
        settings={
            "reservation-namespace": reservations,
            "reservation-service-account": "default",
            **settings.values,
        },
        # KAI's flags, in place of `{flags}`; its binder looks after the reservations of its scheduler's pods only.
        flags=[
            f"--resource-reservation-namespace={reservations}",
            "--resource-reservation-service-account=default",
            f"--scheduler-name={BY_HAND}",
            *(f"--{name}={value}" for name, value in settings.flags.items()),
        ],
    )


@given('a pod "{pod}" that shares {count:d} GPUs')
def _(world: World, pod: str, count: int) -> None:
    """Create a pod for half of each of so many GPUs, as KAI's admission leaves it: it names its ConfigMaps."""
    create_pod(world, _sharing_pod(world, pod, count))


@given('a pod "{pod}" that shares {count:d} GPUs, with:')
def _(world: World, pod: str, count: int, docstring: str) -> None:
    """Create one with more annotations and with these containers (YAML)."""
    obj, wanted = _sharing_pod(world, pod, count), manifests.parse_value(world.text(docstring))
    obj["metadata"]["annotations"] |= wanted["annotations"]
    obj["spec"]["containers"] = wanted["containers"]
    create_pod(world, obj)


def _sharing_pod(world: World, pod: str, count: int) -> Obj:
    annotations = {"gpu-fraction": "0.5", CONFIG_MAP: f"{pod}-shares"}
    if count > 1:
        annotations["gpu-fraction-num-devices"] = str(count)
    obj = pod_object(world, pod, [], scheduler=BY_HAND)
    obj["metadata"]["annotations"] = annotations
    return obj


@given('a ConfigMap "{name}" of pod "{pod}" for GPU {index:d}')
def _(world: World, name: str, pod: str, index: int) -> None:
    """Create a ConfigMap with the share of a GPU, as a binder creates it, whose owner is a pod of the scenario."""
    owner = world.client.get(PODS, pod, world.namespace)
    settings = {"GPU_PORTION": "0.50", "RUNAI_NUM_OF_GPUS": "0.50"}
    world.create(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "namespace": world.namespace,
                "ownerReferences": [owner_reference({"apiVersion": "v1", "kind": "Pod", **owner})],
            },
            "data": {"NVIDIA_VISIBLE_DEVICES": str(index)} if name.endswith("-evar") else settings,
        }
    )


@given('a BindRequest "{name}" of pod "{pod}" to "{node}" for GPU groups "{groups}"')
@when('a BindRequest "{name}" of pod "{pod}" to "{node}" for GPU groups "{groups}" is created')
def _(world: World, name: str, pod: str, node: str, groups: str) -> None:
    """Create a BindRequest for half of a GPU of each group."""
    write(world, _request(world, name, pod, node, groups))


@given('a BindRequest "{name}" of pod "{pod}" to "{node}" for GPU groups "{groups}" with backoffLimit {limit:d}')
@when(
    'a BindRequest "{name}" of pod "{pod}" to "{node}" for GPU groups "{groups}" with backoffLimit {limit:d} is created'
)
def _(world: World, name: str, pod: str, node: str, groups: str, limit: int) -> None:
    """Create one that is tried again."""
    obj = _request(world, name, pod, node, groups)
    obj["spec"]["backoffLimit"] = limit
    write(world, obj)


def _request(world: World, name: str, pod: str, node: str, groups: str) -> Obj:
    wanted = [world.name(group) for group in words(groups)]
    obj = request_object(world, name, pod, node)
    obj["spec"] |= {
        "receivedResourceType": "Fraction",
        "receivedGPU": {"count": len(wanted), "portion": "0.50"},
        "selectedGPUGroups": wanted,
    }
    return obj


def reservations_of(world: World, group: str) -> list[Obj]:
    """Return the reservation pods of a group of the scenario as last seen."""
    return _reservations(world, world.name(group))


def _reservations(world: World, group: str) -> list[Obj]:
    pods = world.observer.list(PODS, other_namespace(world))
    return [pod for pod in pods if (meta(pod).get("labels") or {}).get(GROUP) == group]


@given('the reservation pod of GPU group "{group}" reports GPU {index:d}')
@when('the reservation pod of GPU group "{group}" reports GPU {index:d}')
def _(world: World, group: str, index: int) -> None:
    """Wait for the reservation pod, and write the index of its GPU in place of its program (simulated)."""
    _report(world, _first(world, f"GPU group {group}", lambda: reservations_of(world, group)), index)
    world.settle()


@when('the reservation pod of the GPU of pod "{pod}" reports GPU {index:d}')
def _(world: World, pod: str, index: int) -> None:
    """The same for the only GPU group of the pod's BindRequest, which a scheduler has named."""

    def found() -> list[Obj]:
        specs = [request.get("spec") or {} for request in world.all_seen(BIND_REQUESTS)]
        of_pod = next((spec for spec in specs if spec.get("podName") == pod), {})
        groups = of_pod.get("selectedGPUGroups") or ()
        return _reservations(world, str(groups[0])) if groups else []

    _report(world, _first(world, f"the GPU of pod {pod}", found), index)
    world.settle()


def _first(world: World, holder: str, find: Callable[[], list[Obj]]) -> Obj:
    """Wait for reservation pods, and return the first of them. Raises Untestable if none comes."""
    found: list[Obj] = []

    def look() -> Seen[list[str]]:
        nonlocal found
        found = find()
        return bool(found), [name_of(one) for one in found]

    world.require(f"{holder} has a reservation pod", look)
    return found[0]


def _report(world: World, reservation: Obj, index: int) -> None:
    patch = {"metadata": {"annotations": {INDEX: str(index)}}}
    world.client.patch(PODS, name_of(reservation), patch, other_namespace(world))


@when('the reservation pod of GPU group "{group}" is deleted')
def _(world: World, group: str) -> None:
    """Delete the reservation pod of a group, as the eviction of pods from a node may."""
    for pod in reservations_of(world, group):
        world.client.delete(PODS, name_of(pod), other_namespace(world), grace_period_seconds=0)
    world.settle()


@when('each reservation pod of GPU group "{group}" reports GPU {index:d} until pod "{pod}" is bound')
def _(world: World, group: str, index: int, pod: str) -> None:
    """The same for each reservation pod that comes: a failed attempt may have deleted the first one."""
    reported: set[str] = set()

    def look() -> Seen[list[Obj]]:
        waiting = [one for one in reservations_of(world, group) if uid_of(one) not in reported]
        bound = (world.seen(PODS, pod) or {}).get("spec", {}).get("nodeName")
        return bool(bound or waiting), waiting

    for _attempt in range(_ATTEMPTS):
        waiting = world.wait(look)[1]
        if not waiting:  # the pod is bound, or no reservation pod comes
            break
        for one in waiting:
            reported.add(uid_of(one))
            with contextlib.suppress(NotFound):
                _report(world, one, index)
    world.settle()


@given("the API server answers {code:d} to the next {count:d} {what} of reservation pods")
def _(world: World, code: int, count: int, what: str) -> None:
    """Reject the next creations or deletions of pods in the reservation namespace."""
    arrange(world, Fault(code=code), count=count, what=what, kind=PODS.kind, namespace=other_namespace(world))


@then('GPU group "{group}" has one reservation pod, on "{node}"')
def _(world: World, group: str, node: str) -> None:
    """One pod of the reservation namespace has the group's label, one GPU and the node, and no other comes."""
    expected = [{"node": world.name(node), "GPUs": "1"}]

    def look() -> Seen[list[Any]]:
        found = []
        for pod in reservations_of(world, group):
            limits = [(one.get("resources") or {}).get("limits") or {} for one in pod["spec"]["containers"]]
            gpus = "+".join(str(each["nvidia.com/gpu"]) for each in limits if "nvidia.com/gpu" in each)
            found.append({"node": pod["spec"].get("nodeName"), "GPUs": gpus})
        return found == expected, found

    world.wait(look)
    world.stays(f"reservation pods of GPU group {group}", look, expected=expected)


@then('GPU group "{group}" has no reservation pod')
def _(world: World, group: str) -> None:
    """The reservation pod of the group is deleted."""

    def look() -> Seen[list[str]]:
        found = [name_of(pod) for pod in reservations_of(world, group)]
        return not found, found

    world.eventually(f"reservation pods of GPU group {group}", look, expected=[])


def labels_of(world: World, pod: str) -> dict[str, str]:
    """Return the labels with which a pod names its GPU groups."""
    labels: dict[str, str] = meta(world.seen(PODS, pod) or {}).get("labels") or {}
    return {key: value for key, value in labels.items() if key.partition("/")[0] == GROUP}


@then('pod "{pod}" has the labels of GPU groups "{groups}"')
def _(world: World, pod: str, groups: str) -> None:
    """The label of the only group, or one label for each of several groups."""
    names = [world.name(group) for group in words(groups)]
    expected = {GROUP: names[0]} if len(names) == 1 else {f"{GROUP}/{name}": name for name in names}

    def look() -> Seen[dict[str, str]]:
        found = labels_of(world, pod)
        return found == expected, found

    world.eventually(f"GPU groups of pod {pod}", look, expected=expected)


@then('pod "{pod}" has no label of a GPU group')
def _(world: World, pod: str) -> None:
    """The pod is in no GPU group."""

    def look() -> Seen[dict[str, str]]:
        found = labels_of(world, pod)
        return not found, found

    world.eventually(f"GPU groups of pod {pod}", look, expected={})


@then('pod "{pod}" gets its GPU groups first, then its ConfigMaps, then its node')
def _(world: World, pod: str) -> None:
    """The versions of the pod in the log, and those of both ConfigMaps, have this order."""
    world.wait(lambda: (bool(bound_at(world, pod)), "not bound"))
    stored = [
        int(meta(world.client.find(CONFIG_MAPS, name, world.namespace) or {}).get("resourceVersion") or 0)
        for name in (f"{pod}-shares-0", f"{pod}-shares-0-evar")
    ]
    labelled = first_version(world, PODS, pod, lambda summary: bool(summary.get("gpuGroups")))
    bound = bound_at(world, pod)
    world.check(
        0 < labelled < min(stored) and max(stored) < bound,
        f"order of the writes for pod {pod}",
        expected="versions a, b and c, d: a below b and c, both below d",
        observed=f"versions {labelled or 'none'}, {stored[0] or 'none'} and {stored[1] or 'none'}, {bound or 'none'}",
    )
